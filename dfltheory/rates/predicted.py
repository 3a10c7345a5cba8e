r"""The exponents that a theorem predicts, from the registry: nothing about rates is typed here.

Under its schedule a bound is a sum of monomials c T^a K^b (1 - lam)^d ... (:meth:`Theorem.rate`).  A sum of
terms, of which any may be there, promises in a parameter p the *worst* exponent among those that matter at
the given constants: the largest for what grows (T, K, m, rho, sigma), the least for what shrinks (the gap
1 - lam).  Constants that vanish, as sigma_l = 0, take their terms away and so isolate a regime.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds.rates import Monomial, scheduled
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tree import from_text
from dfltheory.errors import InputError, UnknownNameError

PARAMETERS = ("T", "K", "m", "gap", "rho", "sigma_l", "sigma_g", "sigma_u", "sigma_v")
"""What a rate is fitted in; ``gap`` is 1 - lam, and ``rho`` is rho0 where the schedule has rho0/sqrt(T)."""
_SAME = {"1 - lam": "gap", "sigma": "sigma_l", "rho0": "rho"}
_ROUNDING = 1e-9
"""The share of a bound below which a term is taken for the rounding of a zero."""
_FASTER = 50
"""A local exponent this far out, at 10^12, is an exponential's."""
Order = Fraction | float
"""An exponent: a fraction, or -inf."""


def parameter_named(name: str) -> str:
    """The parameter of this name or of another name for it."""
    name = _SAME.get(name, name)
    if name not in PARAMETERS:
        raise UnknownNameError("parameter of a rate", name, {*PARAMETERS, *_SAME})
    return name


@dataclass(frozen=True)
class Prediction:
    """``exponent`` of ``parameter`` that the statement ``source`` promises, and the monomials that set it.

    ``slack``: how far terms that were neglected can bend the bound's own exponent at the points; ``logs``:
    the power of log(parameter) that goes with it.
    """

    parameter: str
    exponent: Fraction
    monomials: tuple[str, ...]
    source: tuple[str, str]
    slack: float = 0.0
    logs: Fraction = Fraction(0)

    def __str__(self) -> str:
        times = f" log({self.parameter})^({self.logs})" if self.logs else ""
        return f"{self.parameter}^({self.exponent}){times} from {' + '.join(self.monomials)}"


def predict(
    theorem: Theorem, parameter: str, points: Sequence[Mapping[str, float]], negligible: float = 0.01
) -> Prediction:
    """The exponent that a theorem's rate promises in one parameter.

    Parameters
    ----------
    points : values by glossary name, one mapping for each point. A name that is left out counts as 1 (0.5
        where 1 is the end of its range). nan or inf means unknown: its monomials are never negligible
    negligible : terms below this share of the sum at every point make no promise; for ``T`` all do that are
        not zero, since its limit is infinity whatever the points

    Raises
    ------
    InputError where no monomial is left, or one has no order in the parameter.
    """
    parameter = parameter_named(parameter)
    rows = rate_of(theorem)
    unsure = np.array([any(unknown(theorem, row, values) for values in points) for row in rows])
    sizes = np.array([[_size_or_zero(theorem, row, values) for row in rows] for values in points])
    total = sizes.sum(axis=1, keepdims=True)
    share = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0).max(axis=0)
    matters = unsure | (share > (_ROUNDING if parameter == "T" else negligible))
    kept = [row for row, yes in zip(rows, matters) if yes]
    if not kept:
        raise InputError(f"the rate of {theorem} is zero at these constants: nothing is predicted")
    found = {str(row): order(theorem, row, parameter) for row in kept}
    shrinks = parameter == "gap"  # the interesting limit of which is zero
    worst = min(found.values()) if shrinks else max(found.values())
    if not isinstance(worst, Fraction):
        raise InputError(f"{theorem} falls faster than any power of {parameter} at these constants")
    ruling = tuple(name for name, e in found.items() if e == worst)
    sign = -1 if shrinks else 1
    slack = sum(
        float(s) * max(0.0, sign * float(order(theorem, row, parameter) - worst))
        for row, s, yes in zip(rows, share, matters)
        if s > _ROUNDING and not yes
    )
    logs = _logarithms(theorem, parameter, worst, points[-1])
    return Prediction(parameter, worst, ruling, (theorem.key, theorem.variant), slack, logs)


def _logarithms(
    theorem: Theorem, parameter: str, exponent: Fraction, values: Mapping[str, float]
) -> Fraction:
    """b where the bound under its schedule is of order p^exponent log(p)^b as p grows: monomials have no
    logarithms, but the bound does."""
    symbol = GLOSSARY["rho0" if parameter == "rho" else "lam" if parameter == "gap" else parameter].symbol
    bound = scheduled(theorem, theorem.expand(sp.Add(*theorem.parts.values())))
    if parameter == "gap" or not any(symbol in log.free_symbols for log in bound.atoms(sp.log)):
        return Fraction(0)
    near, far = 10**3, 10**6  # digits of p
    given = {s.name: values.get(s.name, 1.0) for s in bound.free_symbols}
    known = {name: value if math.isfinite(value) else 1.0 for name, value in given.items()}
    rise = _rise(bound, {symbol.name}, (f"1e{near}", f"1e{far}"), known)
    power = (rise - float(exponent) * math.log(10) * (far - near)) / math.log(far / near)
    found = Fraction(round(2 * power), 2)
    if abs(power - float(found)) > 0.02:
        raise InputError(f"{theorem} has no order {parameter}^a log({parameter})^b at these constants")
    return found


@dataclass(frozen=True)
class Piece:
    """From ``start`` to ``end`` of a parameter one monomial is the largest of a bound."""

    start: float
    end: float
    monomial: str
    exponent: Order


def predicted_regimes(
    theorem: Theorem, parameter: str, values: Mapping[str, float], start: float, end: float
) -> tuple[Piece, ...]:
    """Which monomial rules where, as one parameter runs from ``start`` to ``end`` and the rest is fixed."""
    parameter = parameter_named(parameter)
    if not 0 < start < end < np.inf:
        raise InputError(f"regimes lie between two numbers 0 < start < end, not {start} and {end}")
    rows, grid = rate_of(theorem), np.geomspace(start, end, 2001)
    lam, rho = (lambda v: {"lam": 1 - v}), (lambda v: {"rho0": v, "rho": v})
    named = {"gap": lam, "rho": rho}.get(parameter, lambda v: {parameter: v})
    points = [{**values, **named(value)} for value in grid]
    ruling = np.array([[size(theorem, row, here) for row in rows] for here in points]).argmax(axis=1)
    cuts = [0, *(np.flatnonzero(np.diff(ruling)) + 1), len(grid)]
    spans = ((grid[a], grid[min(b, len(grid) - 1)], rows[ruling[a]]) for a, b in itertools.pairwise(cuts))
    return tuple(Piece(float(a), float(b), str(row), order(theorem, row, parameter)) for a, b, row in spans)


def predicted_transient(theorem: Theorem, values: Mapping[str, float]) -> dict[str, Fraction]:
    """The exponents of the transient time: from it on the terms that lead as T -> infinity are the largest.

    Where c T^-a meets c' T^-b with b > a, T = (c'/c)^(1/(b - a)): an exponent in each parameter.  Of several
    terms the one whose meeting is the latest at ``values`` counts.
    """
    rows = [row for row in rate_of(theorem) if size(theorem, row, values) > 0]
    if not rows:
        raise InputError(f"the rate of {theorem} is zero at these constants: it has no transient")
    slowest = max(order(theorem, row, "T") for row in rows)
    leading = [row for row in rows if order(theorem, row, "T") == slowest]
    lead = max(leading, key=lambda row: size(theorem, row, values))
    later = [row for row in rows if order(theorem, row, "T") < slowest]
    if not later:
        raise InputError(f"every term of the rate of {theorem} has the same order in T: it has no transient")

    def power(row: Monomial) -> float:
        return float(1 / (slowest - order(theorem, row, "T")))

    last = max(
        later, key=lambda row: (size(theorem, row, values) / size(theorem, lead, values)) ** power(row)
    )
    names = [p for p in PARAMETERS if p != "T"]
    apart = slowest - order(theorem, last, "T")
    found = {p: (order(theorem, last, p) - order(theorem, lead, p)) / apart for p in names}
    return {p: e for p, e in found.items() if isinstance(e, Fraction) and e}


# -- one monomial ----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def order(theorem: Theorem, row: Monomial, parameter: str) -> Order:
    """The exponent of a monomial in a parameter, whose atoms may be functions of it, as 1 - lam^Q of 1 - lam:
    d log / d log parameter in the parameter's limit, other quantities at typical values.

    -inf for what falls faster than any power, as (1 - 1/sqrt(K))^K.
    """
    parameter = parameter_named(parameter)
    names = {"gap": {"lam"}, "rho": {"rho", "rho0"}}.get(parameter, {parameter})
    found, _, symbols = _compiled(theorem, row)
    if not names & set(symbols):
        return Fraction(0)
    places = ("0." + 12 * "9", "0." + 14 * "9") if parameter == "gap" else ("1e12", "1e14")
    typical = {name: 0.5 if GLOSSARY[name].high == 1 else 3.0 for name in symbols}
    slope = _rise(found, names, places, typical) / math.log(100)
    slope = -slope if parameter == "gap" else slope
    if slope < -_FASTER:
        return -math.inf
    exact = Fraction(slope).limit_denominator(12)
    if abs(float(exact) - slope) > 1e-3:
        raise InputError(f"{row} of {theorem} is not a power of {parameter}: its order there is {slope:.4g}")
    return exact


def unknown(theorem: Theorem, row: Monomial, values: Mapping[str, float]) -> list[str]:
    """Return the quantities of a monomial whose values are nan or infinite."""
    return [name for name in _compiled(theorem, row)[2] if not np.isfinite(values.get(name, 1.0))]


def size(theorem: Theorem, row: Monomial, values: Mapping[str, float]) -> float:
    """Return the value of a monomial; names that are left out of ``values``, or not finite there, count as 1
    (0.5 where 1 is the end of their range)."""
    _, function, names = _compiled(theorem, row)
    given = (values.get(name, 0.5 if GLOSSARY[name].high == 1 else 1.0) for name in names)
    with np.errstate(all="ignore"):
        value = abs(float(function(*(np.float64(v if np.isfinite(v) else 1.0) for v in given))))
    return np.inf if np.isnan(value) else value  # something over zero


def _size_or_zero(theorem: Theorem, row: Monomial, values: Mapping[str, float]) -> float:
    return 0.0 if unknown(theorem, row, values) else size(theorem, row, values)


@lru_cache(maxsize=256)
def rate_of(theorem: Theorem) -> tuple[Monomial, ...]:
    """The leading monomials of the bound under its schedule, worked out once."""
    return theorem.rate()


@lru_cache(maxsize=4096)
def _compiled(theorem: Theorem, row: Monomial) -> tuple[Any, Any, tuple[str, ...]]:
    """The monomial, whose atoms the registry names by their text, in glossary symbols under the schedule."""
    own = {d.symbol.name: d.symbol for d in theorem.definitions}
    factors = (from_text(atom, own) ** sp.Rational(e) for atom, e in row.exponents)
    found = scheduled(theorem, theorem.expand(row.coefficient * sp.Mul(*factors)))
    symbols = sorted(found.free_symbols, key=lambda s: s.name)
    return found, sp.lambdify(symbols, found, modules="numpy"), tuple(s.name for s in symbols)


def _rise(
    expression: Any, names: Iterable[str], places: tuple[str, str], values: Mapping[str, float]
) -> float:
    """log |expression| at the second less at the first of two ``places`` of the quantities ``names``, numbers
    as text for mpmath, as they are far out; the other quantities are at ``values``."""
    import mpmath

    symbols = sorted(expression.free_symbols, key=lambda s: s.name)
    function = sp.lambdify(symbols, expression, modules="mpmath")
    with mpmath.workdps(80):
        given = ([mpmath.mpf(at if s.name in names else values[s.name]) for s in symbols] for at in places)
        one, two = (mpmath.log(abs(function(*point))) for point in given)
        return float(two - one)
