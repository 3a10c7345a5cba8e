"""Whether an instance refutes a statement, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.certify import exact_expectation
from dfltheory.counterexamples.document import Document, built
from dfltheory.counterexamples.rational import (
    MOST_BITS,
    MOST_ROUNDS,
    Exact,
    Limits,
    verify_rationally,
)
from dfltheory.errors import DFLTheoryError, InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

EFFORTS = (
    Limits(60, 4000),
    Limits(120, 12000),
    Limits(MOST_ROUNDS, MOST_BITS),
)
"""Limits of the computation in fractions, tried in turn."""
REJECTED = 0.0
"""The ratio of an instance that the statement does not cover."""


def in_fractions(
    instance: Document, theorem: Theorem, effort: Limits | None = None
) -> Exact | None:
    """Return both sides of the statement in fractions.

    The result is None if the statement does not cover the instance, or if it cannot be
    evaluated in fractions.
    """
    try:
        return verify_rationally(instance, theorem, effort)
    except (InputError, ArithmeticError):
        return None


class RatioInFractions:
    """Computes the ratio measured / bound of instances in exact fractions."""

    def __init__(self, theorem: Theorem, effort: Limits):
        self.theorem = theorem
        self.effort = effort

    def __call__(self, instance: Document) -> float:
        """Return the ratio; ``REJECTED`` if it is unknown."""
        exact = in_fractions(instance, self.theorem, self.effort)
        if exact is None or not exact.right > 0:
            return REJECTED
        return float(exact.left / exact.right)


class RatioInFloatingPoint:
    """Computes the ratio measured / bound by the exact expectation in floats."""

    def __init__(self, theorem: Theorem):
        self.theorem = theorem

    def __call__(self, instance: Document) -> float:
        """Return the ratio; ``REJECTED`` if there are obstacles."""
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
    """Return the function that computes ratios while an instance is simplified.

    It uses fractions if they refute the statement for this instance, else floats. The
    limits of the computation are the smallest that suffice for this instance, since
    instances whose state never repeats are expensive.
    """
    for effort in EFFORTS:
        in_rationals = RatioInFractions(theorem, effort)
        if in_rationals(instance) > 1:
            return in_rationals
    return RatioInFloatingPoint(theorem)


__all__ = ["RatioInFloatingPoint", "RatioInFractions", "in_fractions", "ratio_of"]
