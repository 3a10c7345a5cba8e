"""Exponents that a theorem predicts, derived from its bound under its schedule.

Under its schedule, a bound is a sum of monomials c T^a K^b (1 - lam)^d ...
(`Theorem.rate`). Any of the terms may be attained, so the bound guarantees only the
worst exponent among the terms that are not negligible at the given constants: the
largest exponent for a quantity that increases (T, K, m, rho, sigma), and the smallest
for one that tends to zero (1 - lam). Constants equal to zero, such as sigma_l = 0,
remove their terms and isolate a regime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import mpmath
import numpy as np
import sympy as sp
from sympy import Expr

from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.rates import Monomial, with_schedule
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tree import from_text
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.rates.power_laws import Exponent

GAP = "1 - lam"
QUANTITIES = (
    "T",
    "K",
    "m",
    GAP,
    "rho",
    "rho0",
    "sigma_l",
    "sigma_g",
    "sigma_u",
    "sigma_v",
)
"""Quantities in which a rate predicts an exponent. If the schedule is rho =
rho0/sqrt(T), rho means rho0.
"""

_ROUNDING = 1e-9
"""Fraction of a bound below which a term is the rounding error of zero."""
_EXPONENT_ROUNDING = 1e-6
"""Rounding error of an exponent that is fitted to exact expectations, up to T = 10^13.
"""
_NEGLIGIBLE = 0.01
"""Fraction of a bound below which a term is neglected."""
_FASTEST = 50
"""A local exponent at 10^12 below minus this counts as faster than any power."""

GrowthOrder = Fraction | float
"""An exponent: a fraction, or -inf."""
RateVerdict = Literal["consistent", "worse", "undecided"]


@dataclass(frozen=True)
class Prediction:
    """The exponent that a theorem guarantees in one quantity.

    Attributes
    ----------
    exponent : Fraction
    terms : tuple of str
        Monomials of the bound with this exponent.
    slack : float
        Largest amount by which neglected terms change the bound's exponent at the
        points.
    quantities : frozenset of str
        Glossary names that the rate contains at these points.
    """

    exponent: Fraction
    terms: tuple[str, ...]
    slack: float = 0.0
    quantities: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Transience:
    """A predicted linear speed-up, and when it begins.

    Attributes
    ----------
    decay : float
        Exponent in T of the term proportional to 1/m.
    growth : float
        Exponent in m of the horizon beyond which this term is the largest.
    """

    decay: float
    growth: float


def predict(
    theorem: Theorem, vary: str, points: Sequence[Mapping[str, float]]
) -> Prediction:
    """Return the exponent that a theorem's rate guarantees in one quantity.

    Parameters
    ----------
    theorem : Theorem
        With a schedule.
    vary : str
        One of `QUANTITIES`.
    points : sequence of mappings
        Values by glossary name, one mapping for each point. Terms with a missing or
        infinite value are never neglected; others are neglected if they are below 1 %
        of the rate at every point. For ``T``, only terms that are zero are neglected,
        since the claim concerns T to infinity.

    Returns
    -------
    Prediction

    Raises
    ------
    InputError
        If no term remains, or the bound decreases faster than any power.
    """
    check_quantity(vary)
    rows = rate_of(theorem)
    sizes = np.array(
        [[size(theorem, row, values) for row in rows] for values in points]
    )
    known = np.where(np.isfinite(sizes), sizes, 0.0)
    total = known.sum(axis=1, keepdims=True)
    shares = np.divide(known, total, out=np.zeros_like(known), where=total > 0).max(
        axis=0
    )
    matters = ~np.isfinite(sizes).all(axis=0) | (
        shares > (_ROUNDING if vary == "T" else _NEGLIGIBLE)
    )
    orders = [order(theorem, row, vary) for row in rows]
    relevant_orders = [
        exponent for exponent, used in zip(orders, matters, strict=True) if used
    ]
    if not relevant_orders:
        raise InputError(
            f"the rate of {theorem} is zero at these constants: it predicts nothing"
        )
    worst = min(relevant_orders) if vary == GAP else max(relevant_orders)
    if not isinstance(worst, Fraction):
        raise InputError(
            f"{theorem} decreases faster than any power of {vary} at these constants"
        )
    terms: list[str] = []
    names: set[str] = set()
    slack = 0.0
    for row, exponent, share, used in zip(rows, orders, shares, matters, strict=True):
        if used and exponent == worst:
            terms.append(str(row))
        if used or share > _ROUNDING:
            names.update(_compiled(theorem, row)[2])
        if not used and share > _ROUNDING:
            excess = worst - exponent if vary == GAP else exponent - worst
            slack += float(share) * max(0.0, float(excess))
    return Prediction(worst, tuple(terms), slack, frozenset(names - symbols_of(vary)))


def check_quantity(vary: str) -> None:
    """Raise UnknownNameError unless a rate can predict an exponent in ``vary``."""
    if vary not in QUANTITIES:
        raise UnknownNameError("quantity of a rate", vary, set(QUANTITIES))


def has_logarithm(theorem: Theorem, vary: str) -> bool:
    """Return whether the scheduled bound contains a logarithm of the quantity."""
    bound = with_schedule(theorem, theorem.expand(sp.Add(*theorem.parts.values())))
    names = symbols_of(vary)
    return not names.isdisjoint(symbol_names(bound.atoms(sp.log)))


def judge(
    exponent: Exponent, predicted: float | None, vary: str = "T", slack: float = 0.0
) -> RateVerdict:
    """Return the verdict on a predicted upper bound.

    Parameters
    ----------
    exponent : Exponent
        Measured.
    predicted : float or None
        None if nothing is predicted.
    vary : str
        The varied quantity. For 1 - lam, which tends to zero, smaller exponents are
        worse.
    slack : float
        Error of the prediction at the points.

    Returns
    -------
    {"consistent", "worse", "undecided"}
        "worse" if the interval excludes the prediction on its worse side; "undecided"
        if there is no prediction, or an end of the interval is infinite.
    """
    if predicted is None:
        return "undecided"
    low, high = exponent.low, exponent.high
    if vary == GAP:
        predicted, low, high = -predicted, -high, -low
    if low > predicted + slack + _EXPONENT_ROUNDING:
        return "worse"
    if high <= predicted:
        return "consistent"
    return "consistent" if math.isfinite(low) and math.isfinite(high) else "undecided"


def predicted_transient(
    theorem: Theorem, values: Mapping[str, float]
) -> Transience | None:
    """Return the linear speed-up that a theorem's rate guarantees.

    Beyond the transient time, the term that decreases most slowly in T is the largest.
    The terms c T^-a and c' T^-b with b > a are equal at T = (c'/c)^(1/(b - a)). Among
    several terms, the last intersection determines the time; if constants are unknown,
    the weakest guarantee is returned.

    Returns
    -------
    Transience or None
        None if the slowest term is not proportional to 1/m or has unknown constants, or
        if no term decreases faster in T.
    """
    sizes = {row: size(theorem, row, values) for row in rate_of(theorem)}
    orders = {row: order(theorem, row, "T") for row, term in sizes.items() if term > 0}
    slowest = max(orders.values(), default=-math.inf)
    leading = [row for row in orders if orders[row] == slowest]
    faster = [row for row in orders if orders[row] < slowest]
    lead = max((sizes[row] for row in leading), default=math.inf)
    if (
        not faster
        or math.isinf(lead)
        or any(order(theorem, row, "m") != -1 for row in leading)
    ):
        return None
    times, growth = {}, {}
    for row in faster:
        power = 1 / float(slowest - orders[row])
        times[row] = (sizes[row] / lead) ** power
        growth[row] = power * float(order(theorem, row, "m") + 1)
    latest = max(times.values())
    return Transience(
        float(slowest), max(growth[row] for row in faster if times[row] == latest)
    )


# -- one monomial


@lru_cache(maxsize=4096)
def order(theorem: Theorem, row: Monomial, vary: str) -> GrowthOrder:
    """Return the exponent of a monomial in a quantity, with typical values of others.

    Factors may be functions of the quantity, such as 1 - lam^Q of 1 - lam, so the
    exponent is d log / d log in the quantity's limit. It is -inf for expressions that
    decrease faster than any power, such as (1 - 1/sqrt(K))^K.
    """
    names = symbols_of(vary)
    expression, _, symbols = _compiled(theorem, row)
    if not names & set(symbols):
        return Fraction(0)
    places = ("0." + 12 * "9", "0." + 14 * "9") if vary == GAP else ("1e12", "1e14")
    log_values = []
    with mpmath.workdps(80):
        arguments = sorted(expression.free_symbols, key=str)
        function = sp.lambdify(arguments, expression, modules="mpmath")
        for place in places:
            values = {
                name: 0.5 if theorem.glossary[name].high == 1 else 3.0
                for name in symbols
            }
            values |= dict.fromkeys(names, mpmath.mpf(place))
            value = function(*(values[name] for name in symbols))
            log_values.append(mpmath.log(abs(value)))
        slope = float((log_values[1] - log_values[0]) / mpmath.log(100))
    if vary == GAP:
        slope = -slope
    if slope < -_FASTEST:
        return -math.inf
    exact = Fraction(slope).limit_denominator(12)
    if abs(float(exact) - slope) > 1e-3:
        raise InputError(
            f"{row} of {theorem} is not a power of {vary}: its local exponent is"
            f" {slope:.4g}"
        )
    return exact


def size(theorem: Theorem, row: Monomial, values: Mapping[str, float]) -> float:
    """Return a monomial's value; inf if it divides by zero or a value is unknown."""
    _, function, names = _compiled(theorem, row)
    numbers = [np.float64(values.get(name, math.nan)) for name in names]
    with np.errstate(all="ignore"):
        value = abs(float(function(*numbers)))
    return value if math.isfinite(value) and np.isfinite(numbers).all() else math.inf


@lru_cache(maxsize=256)
def rate_of(theorem: Theorem) -> tuple[Monomial, ...]:
    """Return the leading monomials of the bound under its schedule."""
    return theorem.rate()


def symbols_of(vary: str) -> set[str]:
    """Return the glossary names through which a monomial depends on a quantity."""
    if vary == GAP:
        return {"lam"}
    if vary in ("rho", "rho0"):
        return {"rho", "rho0"}
    return {vary}


@lru_cache(maxsize=4096)
def _compiled(
    theorem: Theorem, row: Monomial
) -> tuple[Expr, Callable[..., np.ndarray], tuple[str, ...]]:
    """Return a scheduled monomial as an expression and as a function of its symbols."""
    defined_symbols = {d.symbol.name: d.symbol for d in theorem.definitions}
    product = row.coefficient
    for atom, exponent in row.exponents:
        product = product * from_text(atom, defined_symbols) ** sp.Rational(exponent)
    expression = with_schedule(theorem, theorem.expand(product))
    symbols = sorted(expression.free_symbols, key=str)
    return (
        expression,
        sp.lambdify(symbols, expression, modules="numpy"),
        tuple(map(str, symbols)),
    )
