"""Records of algorithms in files, and lookup of their classes."""

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
    """An algorithm from a file whose class has not been imported.

    Attributes
    ----------
    module, kind : str
        Module and qualified name of the class.
    called : str
        Name of the algorithm.
    hyperparameters : str
        The hyperparameters as text.
    """

    module: str
    kind: str
    called: str
    hyperparameters: str

    @property
    def name(self) -> str:
        """The algorithm's name in the file."""
        return self.called

    @property
    def draws(self) -> bool:
        """True, because the algorithm may draw random numbers."""
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

    Files never run code: the class is looked up only in modules that have been
    imported, and only among their existing attributes.
    """
    name, values, module, kind = document
    known_class = _imported_algorithm(module, kind)
    if known_class is not None and isinstance(values, dict):
        arguments: dict[str, Any] = dict(values)
        for f in fields(known_class):  # tuples are lists in JSON
            value = values.get(f.name)
            if isinstance(f.default, tuple) and isinstance(value, list):
                arguments[f.name] = tuple(value)
        try:
            return known_class(**arguments)
        except (TypeError, ValueError):  # the class has changed
            pass
    if not isinstance(values, str):
        values = ", ".join(f"{k}={v!r}" for k, v in values.items())
    return Recorded(module, kind, name, values)


def _imported_algorithm(module: str, kind: str) -> type[Algorithm[Any]] | None:
    """Return an algorithm class by its qualified name, if its module is imported."""
    owner: object = sys.modules.get(module)
    for part in kind.split("."):
        if not isinstance(owner, ModuleType | type):
            return None
        owner = vars(owner).get(part)
    if isinstance(owner, type) and issubclass(owner, Algorithm):
        return owner
    return None


__all__ = ["AlgorithmRecord", "Recorded", "algorithm_of", "recorded"]
