"""Check of a bound on a run: values by name, applicability, intervals and verdicts."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfltheory.verdicts.bound_logger import BoundLogger
    from dfltheory.verdicts.compare import compare
    from dfltheory.verdicts.measures import dist_sq
    from dfltheory.verdicts.run_values import RunValues, run_values
    from dfltheory.verdicts.statistics import Interval, mean_interval, min_interval
    from dfltheory.verdicts.verdict import Verdict

_MODULES = {
    "BoundLogger": "dfltheory.verdicts.bound_logger",
    "Interval": "dfltheory.verdicts.statistics",
    "RunValues": "dfltheory.verdicts.run_values",
    "Verdict": "dfltheory.verdicts.verdict",
    "compare": "dfltheory.verdicts.compare",
    "dist_sq": "dfltheory.verdicts.measures",
    "mean_interval": "dfltheory.verdicts.statistics",
    "min_interval": "dfltheory.verdicts.statistics",
    "run_values": "dfltheory.verdicts.run_values",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "BoundLogger",
    "Interval",
    "RunValues",
    "Verdict",
    "compare",
    "dist_sq",
    "mean_interval",
    "min_interval",
    "run_values",
]
