"""Test the convergence theorems of decentralized federated learning against runs.

>>> import dfltheory as dfl
>>> W = dfl.graphs.metropolis(dfl.graphs.ring(16))
>>> task = dfl.tasks.quadratic(m=16, d=10, sigma=0.1, seed=0)
>>> algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=5, rho=0.01)
>>> run = dfl.train(algorithm, task, W, rounds=100, seeds=8)
>>> print(dfl.compare(run, "dfedsam.theorem_4_5"))

Subpackages and names are loaded on first use, so ``import dfltheory`` imports neither
torch nor sympy.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from dfltheory.version import __version__ as __version__

# huge pages for tensors of at least 2 MB; torch reads this at its first allocation
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

if TYPE_CHECKING:
    from dfltheory import (
        algorithms,
        bound_atlas,
        bounds,
        checks,
        counterexamples,
        exact,
        experiments,
        graphs,
        models,
        plots,
        proofs,
        rates,
        tasks,
        testing,
        training,
        verdicts,
    )
    from dfltheory.bound_atlas import atlas
    from dfltheory.checks.run import audit
    from dfltheory.constants import NetworkConstants, ProblemConstants
    from dfltheory.counterexamples import falsify
    from dfltheory.errors import DFLTheoryError
    from dfltheory.exact import exact_history
    from dfltheory.plugin import reduces_to, respects
    from dfltheory.rates import rate_fit
    from dfltheory.training.history import History
    from dfltheory.training.instance import Instance
    from dfltheory.training.loop import train
    from dfltheory.verdicts.bound_logger import BoundLogger
    from dfltheory.verdicts.compare import compare

_SUBPACKAGES = (
    "algorithms",
    "bound_atlas",
    "bounds",
    "checks",
    "counterexamples",
    "exact",
    "experiments",
    "graphs",
    "models",
    "plots",
    "proofs",
    "rates",
    "tasks",
    "testing",
    "training",
    "verdicts",
)
"""Subpackages and modules that are imported when they are first used."""
_NAMES = {
    "train": "dfltheory.training.loop",
    "History": "dfltheory.training.history",
    "Instance": "dfltheory.training.instance",
    "compare": "dfltheory.verdicts.compare",
    "BoundLogger": "dfltheory.verdicts.bound_logger",
    "atlas": "dfltheory.bound_atlas",
    "audit": "dfltheory.checks.run",
    "respects": "dfltheory.plugin",
    "reduces_to": "dfltheory.plugin",
    "falsify": "dfltheory.counterexamples",
    "exact_history": "dfltheory.exact",
    "rate_fit": "dfltheory.rates",
    "ProblemConstants": "dfltheory.constants",
    "NetworkConstants": "dfltheory.constants",
    "DFLTheoryError": "dfltheory.errors",
}
"""Modules of the names that are imported when they are first used."""


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"dfltheory.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'dfltheory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_SUBPACKAGES, *_NAMES, "__version__"])


__all__ = [
    "BoundLogger",
    "DFLTheoryError",
    "History",
    "Instance",
    "NetworkConstants",
    "ProblemConstants",
    "algorithms",
    "atlas",
    "audit",
    "bound_atlas",
    "bounds",
    "checks",
    "compare",
    "counterexamples",
    "exact",
    "exact_history",
    "experiments",
    "falsify",
    "graphs",
    "models",
    "plots",
    "proofs",
    "rate_fit",
    "rates",
    "reduces_to",
    "respects",
    "tasks",
    "testing",
    "train",
    "training",
    "verdicts",
]
