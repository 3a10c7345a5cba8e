"""Whether all conditions of a statement can hold together.

This is proved for all constants where it can be, else shown by a witness. A
contradiction is an error if a product of conditions proves it. Where random points meet
no witness, a warning says so: the region may be thin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from dfltheory.bounds.inequalities.by_form import Glossary, nonnegative, positive
from dfltheory.bounds.regions import (
    Points,
    admissible_points,
    at,
    equalities,
    expanded_conditions,
    values_at,
)
from dfltheory.bounds.symbols import GLOSSARY, step_names
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import (
    AuditFinding,
    audit_check,
    error,
    note,
    point_text,
    warning,
)
from dfltheory.checks.logarithms import contradiction

_e = sp.Symbol("e_small", positive=True)
_T = GLOSSARY["T"].symbol
_RATIOS = (sp.S.One, sp.Rational(1, 2), sp.Integer(2))
_POINTS = 2000


@audit_check("conditions")
def check_satisfiable(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield one finding on whether the conditions can hold together.

    They are proved for every value of the constants, met at a witness, contradictory,
    or not met by any point tried.
    """
    conditions = expanded_conditions(theorem)
    if not conditions:
        return
    path = small_steps(conditions, theorem.glossary)
    if path is not None:
        yield note("conditions", str(path), certificate="proved")
        return
    rng = np.random.default_rng(0)
    points = admissible_points((), conditions, _POINTS, rng, theorem.glossary)
    if len(next(iter(points.values()), ())):
        yield _witness(theorem, conditions, points)
        return
    product = contradiction(conditions, theorem.glossary)
    if product:
        yield error(
            "conditions",
            f"cannot be met together: proved, {product}",
            certificate="proved",
        )
        return
    yield warning(
        "conditions",
        "no random point satisfies all of them (searched, not proved)",
        certificate="searched",
    )


def _witness(
    theorem: Theorem, conditions: Sequence[Condition], points: Points
) -> AuditFinding:
    """Return the admissible point farthest from the edges as a witness.

    It is checked in exact arithmetic.
    """
    sides = values_at([side for c in conditions for side in (c.left, c.right)], points)
    pairs = zip(sides[::2], sides[1::2], strict=True)
    slack = np.min([_relative_slack(less, more) for less, more in pairs], axis=0)
    i = int(np.argmax(slack))
    point = at(points, i)
    exact = {theorem.symbols[n]: sp.Rational(v) for n, v in point.items()}
    met = all(_is_nonnegative(c.slack.xreplace(exact)) for c in conditions)
    return note(
        "conditions",
        f"{'they are met together' if met else 'they are met, to rounding,'} at"
        f" {point_text(point)}{' (exact arithmetic)' if met else ''}; that step sizes"
        " exist for all constants is not proved",
        point=point,
        certificate="witness" if met else "searched",
    )


def _relative_slack(less: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return by which share a condition holds; 0 where a side is infinite, as log 0."""
    with np.errstate(invalid="ignore"):
        share = (more - less) / (np.abs(more) + np.abs(less) + 1e-300)
    return np.where(np.isfinite(share), share, 0.0)


def _is_nonnegative(slack: Expr) -> bool:
    """Return whether a slack without symbols is a real number of at least 0."""
    value = sp.N(slack, 30)
    return bool(value.is_extended_real and value >= 0)


# -- for every value of the constants


@dataclass(frozen=True)
class SmallSteps:
    """The way on which all conditions hold in the end.

    Each step size is a multiple of e, and T = 1/e^2.
    """

    steps: dict[str, Expr]
    long: bool
    demands: tuple[Condition, ...]

    def __str__(self) -> str:
        way = [f"{n} = {v}".replace("e_small", "e") for n, v in self.steps.items()]
        way += ["T = 1/e^2"] if self.long else []
        if not way:
            return (
                "demands on the constants alone:"
                f" {'; '.join(c.name for c in self.demands)}"
            )
        names = " and ".join(c.name for c in self.demands)
        given = f" that satisfy {names}" if names else ""
        return (
            f"they can be met together: for all values of the other quantities{given},"
            f" every small enough e > 0 does so with {', '.join(way)} (proved, by the"
            " lowest power of e in each)"
        )


def small_steps(
    conditions: Sequence[Condition], glossary: Glossary = GLOSSARY
) -> SmallSteps | None:
    """Return a proof that small steps meet every condition, or None.

    It proves that for all constants some step sizes and horizons do.
    """
    equal, rest = equalities(conditions, glossary)
    free = {n for c in conditions for n in _names(c.slack)}
    every_step = [name for name in step_names(glossary) if glossary[name].low == 0]
    steps = [n for n in every_step if n in free and n not in equal]
    moved = {*every_step, "T"}
    moved |= {name for name, value in equal.items() if _names(value) & moved}
    demands = tuple(
        c for c in rest if c.slack.free_symbols and not _names(c.slack) & moved
    )
    in_range = [c for name in equal for c in _range_conditions(name, glossary)]
    moving = [*(c for c in rest if c not in demands), *in_range]
    for ratios in itertools.product(_RATIOS, repeat=max(len(steps) - 1, 0)):
        way = {n: r * _e for n, r in zip(steps, (sp.S.One, *ratios), strict=False)}
        put = {glossary[n].symbol: v for n, v in way.items()}
        put |= {glossary[n].symbol: v.xreplace(put) for n, v in equal.items()}
        slacks = ((c.slack.xreplace({**put, _T: _e**-2}), c.strict) for c in moving)
        if all(
            _holds_for_small_steps(slack, strict, glossary) for slack, strict in slacks
        ):
            shown = {n: put[glossary[n].symbol] for n in (*steps, *equal)}
            return SmallSteps(shown, "T" in free, demands)
    return None


def _range_conditions(name: str, glossary: Glossary) -> Iterator[Condition]:
    """Yield the ends of the range of a quantity as conditions."""
    quantity = glossary[name]
    text = f"range of {name}"
    if quantity.low > -math.inf:
        low = sp.Rational(quantity.low)
        yield Condition(text, low, quantity.symbol, strict=quantity.open_low)
    if quantity.high < math.inf:
        high = sp.Rational(quantity.high)
        yield Condition(text, quantity.symbol, high, strict=quantity.open_high)


def _names(expr: Expr) -> set[str]:
    return {s.name for s in expr.free_symbols}


def _holds_for_small_steps(slack: Expr, strict: bool, glossary: Glossary) -> bool:
    """Return whether a slack is positive (not negative) for every small e > 0.

    The coefficients of the slack as a polynomial in e decide, unless the slack has
    this sign for all e > 0.
    """
    if nonnegative(slack, glossary):
        numerator, _ = sp.fraction(sp.together(slack))
        if not strict or positive(numerator, glossary):
            return True
    over, under = sp.fraction(sp.together(sp.expand(slack)))
    power = sp.Poly(under, _e).degree() if under.is_polynomial(_e) else 0
    if under.has(_e) and sp.expand(under / _e**power).has(_e):
        return False
    polynomial = sp.expand(over / under * _e**power)
    if polynomial == 0:
        return not strict
    if not polynomial.is_polynomial(_e):
        return False
    coefficients = [
        _simplify(c, glossary) for c in sp.Poly(polynomial, _e).all_coeffs()[::-1]
    ]
    lowest = next(c for c in coefficients if c != 0)
    if positive(lowest, glossary):
        return True
    return not strict and all(nonnegative(c, glossary) for c in coefficients)


def _simplify(coefficient: Expr, glossary: Glossary) -> Expr:
    factored = sp.factor(coefficient)
    if positive(factored, glossary) or nonnegative(factored, glossary):
        return factored
    return sp.expand(coefficient)


__all__ = ["SmallSteps", "check_satisfiable", "small_steps"]
