"""A second evaluation of bound and conditions, at 50 digits.

A finding is undecided if its bound or a side of a condition overflows or underflows, or
if the evaluation at 50 digits does not confirm the refutation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import mpmath

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.enclosures import ENCLOSURE_DIGITS, Enclosure, Evaluation
from dfltheory.bounds.evaluation import CONDITION_ROUNDING
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SMALLEST, LARGEST = 1e-290, 1e300
"""Bounds and sides of conditions outside of this range may be inaccurate because of
underflow or overflow.
"""
BOUND_TOLERANCE = 1e-6
"""Largest relative deviation of a bound in floating point from the bound at 50 digits.
"""


def abnormal(
    theorem: Theorem, values: Mapping[str, float], exact: Mapping[str, float]
) -> list[str]:
    """Return why floating point cannot evaluate the bound or a condition.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    values : mapping
        Quantities by name.
    exact : mapping
        ``measured`` and ``bound`` at the horizon of ``values``.

    Returns
    -------
    list of str
        Reasons; empty if floating point can evaluate them.
    """
    reasons = []
    if not _is_normal(exact["bound"]):
        reasons.append(
            f"the bound is {exact['bound']:g} in floating point, which is outside of"
            f" [{SMALLEST:g}, {LARGEST:g}]"
        )
    if not math.isfinite(exact["measured"]):
        reasons.append(f"the measured value is {exact['measured']:g} in floating point")
    needed = {name: values[name] for name in theorem.needs if name in values}
    if len(needed) < len(theorem.needs):
        return reasons  # missing quantities are reported as obstacles
    evaluation = Evaluation(theorem, needed)
    for condition, *sides in theorem.condition_sides(**needed):
        formulas = (condition.left, condition.right)
        for formula, value in zip(formulas, map(float, sides), strict=True):
            if not (
                _is_normal(value) or (value == 0 and _may_be_zero(evaluation, formula))
            ):
                reasons.append(
                    f"a side of condition {condition.name} is {value:g} in floating"
                    f" point, which is outside of [{SMALLEST:g}, {LARGEST:g}]"
                )
    return reasons


def unconfirmed(
    theorem: Theorem,
    values: Mapping[str, float],
    bound: float,
    measured: float,
    conditions: bool = True,
) -> list[str]:
    """Return why the evaluation at 50 digits does not confirm a refutation.

    Parameters
    ----------
    theorem : Theorem
        The refuted statement.
    values : mapping
        All quantities that the theorem needs, including the horizon T.
    bound, measured : float
        Both sides in floating point; ``measured`` exceeds ``bound``.
    conditions : bool
        Whether to confirm the conditions, too.

    Returns
    -------
    list of str
        Reasons; empty if the refutation is confirmed.
    """
    evaluation = Evaluation(theorem, {name: values[name] for name in theorem.needs})
    reasons: list[str] = []
    try:
        reasons += _bound_obstacles(evaluation.bound, bound, measured)
        for condition in theorem.conditions if conditions else ():
            if not _condition_holds(evaluation, condition):
                reasons.append(
                    f"condition {condition.name} is not confirmed at {ENCLOSURE_DIGITS}"
                    " digits"
                )
    except InputError as error:
        reasons.append(str(error))
    return reasons


def _bound_obstacles(enclosure: Enclosure, bound: float, measured: float) -> list[str]:
    """Return why the bound at 50 digits does not confirm a refutation."""
    reasons = []
    deviation = max(abs(enclosure.low - bound), abs(enclosure.high - bound))
    if not deviation <= BOUND_TOLERANCE * abs(enclosure.low):
        reasons.append(
            f"the bound is {bound:.6g} in floating point and"
            f" {mpmath.nstr(enclosure.high, 6)} at {ENCLOSURE_DIGITS} digits"
        )
    if not measured > enclosure.high:
        reasons.append(
            f"the measured value does not exceed the bound at {ENCLOSURE_DIGITS} digits"
        )
    return reasons


def _condition_holds(evaluation: Evaluation, condition: Condition) -> bool:
    """Return whether a condition holds at 50 digits, up to the allowed rounding."""
    left = evaluation.enclosure(condition.left)
    right = evaluation.enclosure(condition.right)
    if condition.strict:
        return bool(left.high < right.low)
    return bool(
        left.high <= right.low + CONDITION_ROUNDING * max(left.size, right.size)
    )


def _is_normal(value: float) -> bool:
    """Return whether a number is far from underflow and overflow."""
    return SMALLEST <= abs(value) <= LARGEST


def _may_be_zero(evaluation: Evaluation, formula: Expr) -> bool:
    """Return whether a side may be exactly zero, rather than underflow to it.

    It may also be zero because larger terms cancel.
    """
    try:
        enclosure = evaluation.enclosure(formula)
    except InputError:
        return False
    return bool(enclosure.low <= 0 <= enclosure.high or enclosure.size > SMALLEST)


__all__ = ["abnormal", "unconfirmed"]
