"""Does a bound hold on a run: values of the run by name, applicability, intervals, verdicts."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfltheory.verdicts.compare import Verdict, compare
    from dfltheory.verdicts.reading import dist_sq
    from dfltheory.verdicts.statistics import Interval, mean_interval, min_interval

_MODULES = {
    "Interval": "dfltheory.verdicts.statistics",
    "Verdict": "dfltheory.verdicts.compare",
    "compare": "dfltheory.verdicts.compare",
    "dist_sq": "dfltheory.verdicts.reading",
    "mean_interval": "dfltheory.verdicts.statistics",
    "min_interval": "dfltheory.verdicts.statistics",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Interval",
    "Verdict",
    "compare",
    "dist_sq",
    "mean_interval",
    "min_interval",
]
