"""Algorithms in files: what is written, and how their classes are found again."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields
from functools import reduce
from types import ModuleType
from typing import Any

from dfltheory.algorithms.base import Algorithm


@dataclass(frozen=True)
class Recorded(Algorithm):
    """An algorithm of a file whose class has not been imported.

    Its hyperparameters are text.
    """

    module: str
    kind: str
    called: str
    hyperparameters: str

    @property
    def name(self) -> str:
        """The name in the file."""
        return self.called

    @property
    def draws(self) -> bool:
        """True: it is not known that the algorithm draws nothing."""
        return True


def recorded(algorithm: Algorithm) -> list[Any]:
    """Return the name, the hyperparameters, and the module and name of the class."""
    if isinstance(algorithm, Recorded):
        return [
            algorithm.called,
            algorithm.hyperparameters,
            algorithm.module,
            algorithm.kind,
        ]
    kind = type(algorithm)
    return [algorithm.name, asdict(algorithm), kind.__module__, kind.__qualname__]


def algorithm_of(document: list[Any]) -> Algorithm:
    """Return the algorithm of a list of :func:`recorded`.

    A file runs no code: the class is looked up only in modules that have been imported,
    and only among the attributes that they have already.
    """
    name, values, module, kind = document
    found: Any = reduce(_held, kind.split("."), sys.modules.get(module))
    if (
        isinstance(found, type)
        and issubclass(found, Algorithm)
        and isinstance(values, dict)
    ):
        # lists in JSON
        pairs = {f.name for f in fields(found) if isinstance(f.default, tuple)}
        given: dict[str, Any] = {
            k: tuple(v) if k in pairs and isinstance(v, list) else v
            for k, v in values.items()
        }
        try:
            return found(**given)
        except (TypeError, ValueError):  # the class has changed since
            pass
    if not isinstance(values, str):
        values = ", ".join(f"{k}={v!r}" for k, v in values.items())
    return Recorded(module, kind, name, values)


def _held(at: Any, part: str) -> Any:
    return vars(at).get(part) if isinstance(at, (ModuleType, type)) else None


__all__ = ["Recorded", "algorithm_of", "recorded"]
