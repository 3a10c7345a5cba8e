"""Search for problems that satisfy a theorem's assumptions but violate its bound.

:func:`falsify` searches families of problems whose constants are known exactly, first
globally, then locally. The training core confirms each hit in a separate run.
:func:`replay` runs a saved counterexample. A search without a hit proves nothing; it
reports how much was searched. :mod:`rational <dfltheory.counterexamples.rational>`
checks a counterexample in exact fractions, independently of the training core.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfltheory.counterexamples.certificate import Certificate
    from dfltheory.counterexamples.falsification import falsify
    from dfltheory.counterexamples.finding import Finding
    from dfltheory.counterexamples.saved import replay
    from dfltheory.training.instance import Instance

_MODULES = {
    "Certificate": "dfltheory.counterexamples.certificate",
    "Finding": "dfltheory.counterexamples.finding",
    "Instance": "dfltheory.training.instance",
    "falsify": "dfltheory.counterexamples.falsification",
    "replay": "dfltheory.counterexamples.saved",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Certificate", "Finding", "Instance", "falsify", "replay"]
