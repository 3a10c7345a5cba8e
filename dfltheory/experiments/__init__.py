"""Experiment files, sweeps over grids of runs, results and reports."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfltheory.experiments.cases import Case, Outcome, perform, perform_all
    from dfltheory.experiments.report import Study

_MODULES = {
    "Case": "dfltheory.experiments.cases",
    "Outcome": "dfltheory.experiments.cases",
    "Study": "dfltheory.experiments.report",
    "perform": "dfltheory.experiments.cases",
    "perform_all": "dfltheory.experiments.cases",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Case",
    "Outcome",
    "Study",
    "perform",
    "perform_all",
]
