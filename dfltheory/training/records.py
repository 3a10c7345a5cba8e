"""Algorithms in files: what is written, and how their classes are found again."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields
from types import ModuleType
from typing import Any

from dfltheory.algorithms.base import Algorithm

AlgorithmRecord = tuple[str, dict[str, object] | str, str, str]
"""Name and hyperparameters of an algorithm, and the module and name of its class."""


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


def recorded(algorithm: Algorithm[Any]) -> AlgorithmRecord:
    """Return the name, the hyperparameters, and the module and name of the class."""
    if isinstance(algorithm, Recorded):
        return (
            algorithm.called,
            algorithm.hyperparameters,
            algorithm.module,
            algorithm.kind,
        )
    kind = type(algorithm)
    return algorithm.name, asdict(algorithm), kind.__module__, kind.__qualname__


def algorithm_of(document: AlgorithmRecord) -> Algorithm[Any]:
    """Return the algorithm that :func:`recorded` describes.

    A file runs no code: the class is looked up only in modules that have been imported,
    and only among the attributes that they have already.
    """
    name, values, module, kind = document
    found: object = sys.modules.get(module)
    for part in kind.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType | type) else None
    if (
        isinstance(found, type)
        and issubclass(found, Algorithm)
        and isinstance(values, dict)
    ):
        given: dict[str, Any] = dict(values)
        for f in fields(found):  # tuples are lists in JSON
            value = values.get(f.name)
            if isinstance(f.default, tuple) and isinstance(value, list):
                given[f.name] = tuple(value)
        try:
            return found(**given)
        except (TypeError, ValueError):  # the class has changed since
            pass
    if not isinstance(values, str):
        values = ", ".join(f"{k}={v!r}" for k, v in values.items())
    return Recorded(module, kind, name, values)


__all__ = ["AlgorithmRecord", "Recorded", "algorithm_of", "recorded"]
