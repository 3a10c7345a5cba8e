"""Units in which the step size and one of the widths are 1."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory import algorithms
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification
from dfltheory.errors import UnknownNameError

UNITS = {
    "knots": (0, 1),
    "widths": (0, 1),
    "slopes": (1, -2),
    "left": (1, -1),
    "sigma": (1, -1),
    "curve": (1, -2),
}
"""Exponents of the units of f and x in the fields of a one-block task."""
LED = ("knots", "widths", "slopes", "left")
"""Parts of noise that depends on the state, in the order of ``led``."""
UNITLESS_HYPERPARAMETERS = frozenset(("name", "decay", "weight_decay", "participation"))
"""Hyperparameters without a unit."""


class Units(Simplification):
    """Measure x in units of a width, and f such that the step size is 1."""

    name = "units"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance in units in which eta and one of the widths are 1."""
        eta = instance["algorithm"].get("eta")
        if "b" in instance["task"] or not eta:
            return
        widths = instance["task"]["widths"]
        for width in sorted({width for row in widths for width in row if width}):
            length = 1 / width
            scaled = in_units(instance, eta * length**2, length)
            if scaled is not None:
                yield scaled

    def is_simpler(self, candidate: Document, instance: Document) -> bool:
        """Return whether only the candidate has these units."""
        return _normalized(candidate) and not _normalized(instance)


def _normalized(instance: Document) -> bool:
    """Return whether eta and one of the widths are 1."""
    widths = [width for row in instance["task"]["widths"] for width in row]
    return instance["algorithm"].get("eta") == 1 and 1 in widths


def in_units(instance: Document, value: float, length: float) -> Document | None:
    """Return the instance with f scaled by ``value`` and x by ``length``.

    The result is None if the unit of a hyperparameter is unknown.
    """
    powers = _powers_of_hyperparameters(instance["algorithm"])
    if powers is None:
        return None
    scaled = deepcopy(instance)

    def factor(powers: tuple[int, int]) -> float:
        return value ** powers[0] * length ** powers[1]

    task = scaled["task"]
    for name, exponents in UNITS.items():
        if name in task:
            task[name] = _times(task[name], factor(exponents))
    if task.get("led"):
        task["led"] = [
            _times(part, factor(UNITS[name]))
            for name, part in zip(LED, task["led"], strict=True)
        ]
    for name, exponents in powers.items():
        scaled["algorithm"][name] = _times(scaled["algorithm"][name], factor(exponents))
    scaled["run"]["x0"] = _times(scaled["run"]["x0"], length)
    return scaled


NestedNumbers = float | list["NestedNumbers"]
"""A number, or nested lists of numbers."""


def _times(value: NestedNumbers, factor: float) -> NestedNumbers:
    """Multiply all numbers by a factor.

    The results are rounded to 15 digits, so that 1 is recovered exactly.
    """
    if isinstance(value, list):
        return [_times(inner, factor) for inner in value]
    return float(f"{value * factor:.15g}")


def _powers_of_hyperparameters(
    algorithm: Document,
) -> dict[str, tuple[int, int]] | None:
    """Return the exponents of f and x in each hyperparameter with a unit.

    The result is None if the unit of a hyperparameter is unknown.
    """
    try:
        names = algorithms.get(algorithm["name"]).glossary
    except UnknownNameError:
        return None
    powers: dict[str, tuple[int, int]] = {}
    for field, value in algorithm.items():
        if field in UNITLESS_HYPERPARAMETERS or not isinstance(value, float):
            continue
        quantity = GLOSSARY.get(names.get(field, field))
        if quantity is None:
            return None
        exponents = (int(quantity.unit.f), int(quantity.unit.x))
        if exponents != (0, 0):
            powers[field] = exponents
    return powers


__all__ = ["Units", "in_units"]
