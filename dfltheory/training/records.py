"""Algorithms and facts in files: what is written of them, and how they are found again."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields
from functools import reduce
from types import ModuleType
from typing import Any

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError


@dataclass(frozen=True)
class Recorded(Algorithm):
    """An algorithm that a file names and that nobody has imported: its hyperparameters are text."""

    module: str
    kind: str
    called: str
    letters: str

    @property
    def name(self) -> str:
        return self.called

    @property
    def draws(self) -> bool:
        return True  # for all that is known


def recorded(algorithm: Algorithm) -> list[Any]:
    """Name, hyperparameters, and where the class is found."""
    if isinstance(algorithm, Recorded):
        return [algorithm.called, algorithm.letters, algorithm.module, algorithm.kind]
    kind = type(algorithm)
    return [algorithm.name, asdict(algorithm), kind.__module__, kind.__qualname__]


def algorithm_of(document: list[Any]) -> Algorithm:
    """The algorithm of :func:`recorded`'s list.

    Only modules that have been imported are looked into, and only what they hold already: a file runs no code
    (a module's attributes may be imported as they are asked for).
    """
    name, letters, module, kind = document
    found: Any = reduce(_held, kind.split("."), sys.modules.get(module))
    if isinstance(found, type) and issubclass(found, Algorithm) and isinstance(letters, dict):
        pairs = {f.name for f in fields(found) if isinstance(f.default, tuple)}  # lists in JSON
        given: dict[str, Any] = {
            k: tuple(v) if k in pairs and isinstance(v, list) else v for k, v in letters.items()
        }
        try:
            return found(**given)
        except (TypeError, ValueError):  # the class has changed since
            pass
    text = letters if isinstance(letters, str) else ", ".join(f"{k}={v!r}" for k, v in letters.items())
    return Recorded(module, kind, name, text)


def _held(at: Any, part: str) -> Any:
    return vars(at).get(part) if isinstance(at, (ModuleType, type)) else None


def refuse_unwritable(algorithm: Algorithm) -> None:
    """One clear line unless every hyperparameter is one that a file can hold."""
    for f in fields(algorithm):
        value = getattr(algorithm, f.name)
        if not plain(value):
            raise InputError(
                f"{type(algorithm).__name__}: {f.name} is a {type(value).__name__}, which no file can hold:"
                " give numbers, text, or lists of them, and make the rest in init or in the class"
            )


def plain(value: Any) -> bool:
    """Is it made of None, truth values, numbers and text alone?"""
    if isinstance(value, (list, tuple)):
        return all(map(plain, value))
    if isinstance(value, dict):
        return all(isinstance(k, str) and plain(v) for k, v in value.items())
    return value is None or isinstance(value, (bool, int, float, str, np.generic))


__all__ = ["Recorded", "algorithm_of", "plain", "recorded", "refuse_unwritable"]
