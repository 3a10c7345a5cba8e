"""Whether an instance refutes a statement, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.certify import exact_expectation
from dfltheory.counterexamples.document import Document, built
from dfltheory.counterexamples.rational import BITS, ROUNDS, Effort, Exact, verify
from dfltheory.errors import DFLTheoryError, InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

EFFORTS = (Effort(60, 4000), Effort(120, 12000), Effort(ROUNDS, BITS))
REJECTED = 0.0
"""The ratio of an instance that the statement does not cover."""


def in_fractions(
    instance: Document, theorem: Theorem, effort: Effort | None = None
) -> Exact | None:
    """Return both sides in fractions.

    None where the statement does not cover the instance, or no fractions are known.
    """
    try:
        return verify(instance, theorem, effort)
    except (InputError, ArithmeticError):
        return None


class RatioInFractions:
    """measured / bound in exact fractions."""

    def __init__(self, theorem: Theorem, effort: Effort):
        self.theorem = theorem
        self.effort = effort

    def __call__(self, instance: Document) -> float:
        """Return left / right in fractions; ``REJECTED`` where it is unknown."""
        exact = in_fractions(instance, self.theorem, self.effort)
        if exact is None or not exact.right > 0:
            return REJECTED
        return float(exact.left / exact.right)


class RatioInFloatingPoint:
    """measured / bound of the exact expectation, with its margins for rounding."""

    def __init__(self, theorem: Theorem):
        self.theorem = theorem

    def __call__(self, instance: Document) -> float:
        """Return the ratio of the exact expectation; ``REJECTED`` with obstacles."""
        try:
            with np.errstate(all="ignore"):
                known = built(instance, self.theorem.scope.algorithms)
                exact, obstacles = exact_expectation(known, self.theorem)
        except (DFLTheoryError, ArithmeticError):
            return REJECTED
        return REJECTED if obstacles else float(exact["ratio"])


def ratio_of(
    instance: Document, theorem: Theorem
) -> RatioInFractions | RatioInFloatingPoint:
    """In fractions where they refute the statement already, else in floating point.

    The effort is the smallest one that suffices for the given instance, as instances
    whose rounds never repeat are costly.
    """
    for effort in EFFORTS:
        in_rationals = RatioInFractions(theorem, effort)
        if in_rationals(instance) > 1:
            return in_rationals
    return RatioInFloatingPoint(theorem)


__all__ = ["RatioInFloatingPoint", "RatioInFractions", "in_fractions", "ratio_of"]
