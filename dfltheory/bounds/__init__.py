"""Convergence theorems as data: bounds in named terms with units and conditions.

>>> from dfltheory import bounds
>>> theorem = bounds.get("dfedsam.theorem_4_5", variant="corrected")
>>> theorem.evaluate(L=1, K=5, T=1000, Q=1, m=16, eta=0.005, rho=0.01, lam=0.8,
...                  sigma_l=1, sigma_g=1, f0_gap=1)  # doctest: +ELLIPSIS
0.1...

Importing this package does not import SymPy; the first theorem does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dfltheory.bounds.registry import get, keys, resting_on, statements, variants

if TYPE_CHECKING:
    from dfltheory.bounds.document import theorem_from_document, theorem_to_document
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.rates import leading
    from dfltheory.bounds.reference import load
    from dfltheory.bounds.scope import Scope
    from dfltheory.bounds.status import Status
    from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
    from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
    from dfltheory.bounds.tuning import admissible_steps, best_step, dominance

_LAZY = {
    "GLOSSARY": "dfltheory.bounds.symbols",
    "NEUTRAL": "dfltheory.bounds.symbols",
    "Condition": "dfltheory.bounds.theorem",
    "Definition": "dfltheory.bounds.theorem",
    "LeftSide": "dfltheory.bounds.theorem",
    "Scope": "dfltheory.bounds.scope",
    "Theorem": "dfltheory.bounds.theorem",
    "Status": "dfltheory.bounds.status",
    "admissible_steps": "dfltheory.bounds.tuning",
    "best_step": "dfltheory.bounds.tuning",
    "dominance": "dfltheory.bounds.tuning",
    "leading": "dfltheory.bounds.rates",
    "load": "dfltheory.bounds.reference",
    "theorem_from_document": "dfltheory.bounds.document",
    "theorem_to_document": "dfltheory.bounds.document",
    "Quantity": "dfltheory.bounds.quantity",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'dfltheory.bounds' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "GLOSSARY",
    "NEUTRAL",
    "Condition",
    "Definition",
    "LeftSide",
    "Scope",
    "Status",
    "Theorem",
    "admissible_steps",
    "best_step",
    "dominance",
    "get",
    "keys",
    "leading",
    "load",
    "Quantity",
    "resting_on",
    "statements",
    "theorem_from_document",
    "theorem_to_document",
    "variants",
]
