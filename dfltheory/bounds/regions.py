"""Random points of the region where conditions hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Condition, symbol_names
from dfltheory.bounds.quantity import Glossary, Quantity
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.symbols import GLOSSARY, step_names, with_quantities
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

Points = dict[str, np.ndarray]
Compiled = tuple[list[str], Callable[..., list[np.ndarray]]]
_ATTEMPTS = 40
"""Number of rounds of draws, after which fewer points are returned."""


_RELATIONS = (
    Condition("mu <= L", GLOSSARY["mu"].symbol, GLOSSARY["L"].symbol),
    Condition("mu_each <= L", GLOSSARY["mu_each"].symbol, GLOSSARY["L"].symbol),
    Condition("-lam_min <= lam", -GLOSSARY["lam_min"].symbol, GLOSSARY["lam"].symbol),
)
"""Inequalities between constants that every problem and every network satisfies."""


def _half(curvature: str, distance: str) -> Expr:
    """Return half a squared distance times a curvature."""
    return GLOSSARY[curvature].symbol * GLOSSARY[distance].symbol / 2


_MODEL_RELATIONS = (
    Condition("x0_spread", GLOSSARY["x0_spread"].symbol, GLOSSARY["x0_sq"].symbol),
    Condition("gap_now, smooth", GLOSSARY["gap_now"].symbol, _half("L", "dist_now")),
    Condition("gap_now, convex", _half("mu", "dist_now"), GLOSSARY["gap_now"].symbol),
)
"""Inequalities between measures of one model, by their definition and curvature."""

_START_RELATIONS = (
    Condition("f0_gap, smooth", GLOSSARY["f0_gap"].symbol, _half("L", "x_star_sq")),
    Condition("f0_gap, convex", _half("mu", "x_star_sq"), GLOSSARY["f0_gap"].symbol),
)
"""Inequalities between f0_gap and x_star_sq, which is the squared distance of round 0
and bounds f0_gap only where that is taken at round 0.
"""


def relations(names: Iterable[str]) -> tuple[Condition, ...]:
    """Return inequalities between constants that hold for every problem and network.

    Only inequalities whose quantities are all among ``names`` are returned.
    """
    return _among(names, (*_RELATIONS, *_MODEL_RELATIONS))


def relations_of(theorem: Statement, names: Iterable[str]) -> tuple[Condition, ...]:
    """Return the :func:`relations`, and those between f0_gap and x_star_sq.

    The latter hold only if the theorem takes f0_gap at round 0, as x_star_sq is.
    """
    at_start = _START_RELATIONS if theorem.lhs.start == 0 else ()
    return _among(names, (*_RELATIONS, *_MODEL_RELATIONS, *at_start))


def _among(
    names: Iterable[str], inequalities: tuple[Condition, ...]
) -> tuple[Condition, ...]:
    """Return the inequalities whose quantities are all among ``names``."""
    known = set(names)
    return tuple(c for c in inequalities if symbol_names([c.slack]) <= known)


def draw_values(
    names: Iterable[str],
    size: int,
    rng: np.random.Generator,
    glossary: Glossary = GLOSSARY,
) -> Points:
    """Return random values of quantities, by name: arrays (size,).

    Values are in the ranges of the quantities, over many orders of magnitude; closed
    ends at 0 and 1 are drawn, too.
    """
    ordered = sorted(names, key=list(glossary).index)
    return {name: _values(glossary[name], size, rng) for name in ordered}


def _values(entry: Quantity, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return ``size`` random values of a quantity, all of them in its range."""
    name = entry.name
    if name == "T":
        return np.floor(10.0 ** rng.uniform(0, 8, size))
    if not _has_usual_range(entry):
        return _values_in_range(entry, size, rng)
    if entry.integer:
        high = 1 if name == "t" else 0
        # one client has no network, so lam, q and delta have no meaning for it
        low = 1 if name == "m" else 0
        return (
            np.floor(
                2.0 ** rng.uniform(low, {"Q": 3, "t": 4, "m": 9}.get(name, 6), size)
            )
            - high
        )
    if entry.high == 1:
        plain, near = rng.uniform(0, 1, size), 1 - 10.0 ** rng.uniform(-3, 0, size)
        value = np.where(rng.random(size) < 0.5, plain, near)
        return np.maximum(1 - value, 1e-3) if entry.open_low else value
    if entry.step:
        return 10.0 ** rng.uniform(-6, 1, size)
    value = 10.0 ** rng.uniform(-2, 2, size)
    may_vanish = entry.low == 0 and not entry.open_low
    return np.where(rng.random(size) < 0.1, 0.0, value) if may_vanish else value


def _has_usual_range(entry: Quantity) -> bool:
    """Return whether the values that are drawn for glossary quantities are in a range.

    These are counts from 1 on, numbers between 0 and 1, and nonnegative numbers.
    """
    if entry.integer:
        starts_at_one = entry.low == 1 and not entry.open_low
        return math.isinf(entry.high) and (starts_at_one or entry.name == "t")
    return entry.low == 0 and (entry.high == 1 or math.isinf(entry.high))


def _values_in_range(
    entry: Quantity, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return random values between the ends of any range, many of them near the ends.

    Distances from the end of a half-line spread over orders of magnitude.
    """
    if entry.integer:
        return _whole_values_in_range(entry, size, rng)
    inner = 0.0
    distances = 10.0 ** rng.uniform(-2, 2, size)
    if math.isfinite(entry.low) and math.isfinite(entry.high):
        shares = rng.beta(0.5, 0.5, size)
        values = entry.low + (entry.high - entry.low) * shares
        inner = 1e-3 * (entry.high - entry.low)
    elif math.isfinite(entry.low):
        values = entry.low + distances
    elif math.isfinite(entry.high):
        values = entry.high - distances
    else:
        values = distances * rng.choice((-1.0, 1.0), size)
    lowest = entry.low + inner if entry.open_low else entry.low
    highest = entry.high - inner if entry.open_high else entry.high
    return np.clip(values, lowest, highest)


def _whole_values_in_range(
    entry: Quantity, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Return random whole numbers between the ends of a range."""
    lowest, highest = np.ceil(entry.low), np.floor(entry.high)
    if entry.open_low and lowest == entry.low:
        lowest += 1
    if entry.open_high and highest == entry.high:
        highest -= 1
    distances = np.floor(2.0 ** rng.uniform(0, 6, size)) - 1
    if math.isfinite(lowest):
        return np.minimum(lowest + distances, highest)
    if math.isfinite(highest):
        return highest - distances
    return distances * rng.choice((-1.0, 1.0), size)


def compiled(exprs: Sequence[Expr]) -> Compiled:
    """Return sorted names of the free symbols of ``exprs``, and a compiled function.

    The function takes one array for each name, and returns one value for each
    expression.
    """
    return _compiled(tuple(map(sp.sympify, exprs)))


@lru_cache(512)
def _compiled(exprs: tuple[Expr, ...]) -> Compiled:
    free = sorted({symbol for e in exprs for symbol in e.free_symbols}, key=str)
    names = [symbol.name for symbol in free]
    return names, sp.lambdify(free, list(exprs), modules="numpy", cse=True)


def values_at(exprs: Sequence[Expr], points: Points) -> list[np.ndarray]:
    """Return the values of each expression at ``points``: arrays (points,)."""
    names, function = compiled(exprs)
    size = len(next(iter(points.values())))
    with np.errstate(all="ignore"):
        values = function(*(points[n] for n in names))
    return [np.broadcast_to(np.asarray(v, dtype=float), (size,)) for v in values]


def admissible_points(
    names: Iterable[str],
    conditions: Sequence[Condition],
    size: int,
    rng: np.random.Generator,
    glossary: Glossary = GLOSSARY,
) -> Points:
    """Return at most ``size`` random points at which all ``conditions`` hold.

    The :func:`relations` between the quantities hold as well. An equality, which is two
    conditions, is solved for a step size, see :func:`equalities`. The arrays are
    shorter than ``size`` where few random points are admissible, and empty where none
    is.
    """
    wanted = set(names) | symbol_names(c.slack for c in conditions)
    equal, rest = equalities((*conditions, *relations(wanted)), glossary)
    sides = [side for c in rest for side in (c.left, c.right)]
    batches: list[Points] = []
    count = 0
    for _ in range(_ATTEMPTS):
        points = draw_values(wanted, 4 * size, rng, glossary)
        for name, solution in equal.items():
            points[name] = values_at([solution], points)[0]
        is_admissible = np.ones(4 * size, dtype=bool)
        if sides:
            values = values_at(sides, points)
            for c, left, right in zip(rest, values[::2], values[1::2], strict=True):
                is_admissible &= (left < right) if c.strict else (left <= right)
        batches.append({n: v[is_admissible] for n, v in points.items()})
        count += int(is_admissible.sum())
        if count >= size:
            break
    joined: Points = {}
    for name in sorted(wanted):
        joined[name] = np.concatenate([points[name] for points in batches])[:size]
    return joined


def equalities(
    conditions: Sequence[Condition], glossary: Glossary = GLOSSARY
) -> tuple[dict[str, Expr], list[Condition]]:
    """Return the equalities among conditions as {quantity: solution}, and the others.

    They are pairs left <= right, right <= left, solved for a step size if there is
    one.

    Raises
    ------
    InputError
        Neither a step size nor a single quantity can be solved for.
    """
    solutions: dict[str, Expr] = {}
    rest = list(conditions)
    for first in conditions:
        for second in conditions:
            if first is second or first not in rest or second not in rest:
                continue
            if sp.expand(first.slack + second.slack) == 0:
                name, solution = _solve_equality(first, glossary)
                solutions[name] = solution
                rest.remove(first)
                rest.remove(second)
    return solutions, rest


def _solve_equality(equality: Condition, glossary: Glossary) -> tuple[str, Expr]:
    """Return a quantity of an equality and the formula that it equals."""
    inside = symbol_names([equality.slack])
    for name in step_names(glossary)[::-1]:
        if name in inside:
            return name, sp.solve(equality.slack, glossary[name].symbol)[0]
    for alone, other in (
        (equality.left, equality.right),
        (equality.right, equality.left),
    ):
        if isinstance(alone, sp.Symbol) and alone not in sp.sympify(other).free_symbols:
            return alone.name, other
    raise InputError(
        f"the equality {equality} must have a step size in it, or a quantity alone on"
        " one side"
    )


def expanded_conditions(theorem: Statement) -> tuple[Condition, ...]:
    """Return the conditions of a statement with its definitions replaced."""
    return tuple(
        Condition(c.name, theorem.expand(c.left), theorem.expand(c.right), c.strict)
        for c in theorem.conditions
    )


def domain_of(theorem: Statement) -> tuple[Condition, ...]:
    """Return the inequalities that hold wherever a statement applies.

    They are its conditions, the :func:`relations_of` its quantities, the step sizes
    that its schedule imposes, and the rounds that a bound on each round covers.
    """
    inequalities = [
        *expanded_conditions(theorem),
        *relations_of(theorem, theorem.needs),
    ]
    for name in theorem.scheduled:
        if name in theorem.needs:
            step, rule = theorem.glossary[name].symbol, theorem.schedule[name]
            inequalities += [Condition(name, step, rule), Condition(name, rule, step)]
    if "t" in theorem.needs:
        t, lhs = theorem.glossary["t"].symbol, theorem.lhs
        inequalities += [
            Condition("first", lhs.first, t),
            Condition("last", t, lhs.last),
        ]
    return tuple(inequalities)


def points_of(theorem: Statement, size: int = 2000, seed: int = 0) -> Points:
    """Return random admissible values of everything that ``theorem`` needs.

    Raises
    ------
    InputError
        No random point is admissible.
    """
    rng = np.random.default_rng(seed)
    points = admissible_points(
        theorem.needs, domain_of(theorem), size, rng, theorem.glossary
    )
    if not len(next(iter(points.values()), ())):
        raise InputError(
            f"no point was found at which all conditions of {theorem} hold"
        )
    return points


@cache
def has_points(theorem: Statement) -> bool:
    """Return whether a point was found at which all conditions of ``theorem`` hold."""
    try:
        points_of(theorem, 200)
    except InputError:
        return False
    return True


def bound_at(theorem: Statement, points: Points) -> np.ndarray:
    """Return the bound at each point, (points,), whether or not the conditions hold.

    Points may contain quantities that the statement does not need.
    """
    size = len(next(iter(points.values())))
    values = {name: points[name] for name in theorem.needs}
    return np.broadcast_to(theorem.evaluate(where="ignore", **values), size)


def joint_glossary(first: Statement, second: Statement) -> Glossary | None:
    """Return the joint glossary of two statements.

    None if they add different quantities with the same name.
    """
    quantities_of_first = {quantity.name: quantity for quantity in first.quantities}
    if any(
        quantities_of_first.get(quantity.name, quantity) != quantity
        for quantity in second.quantities
    ):
        return None
    return with_quantities((*first.quantities, *second.quantities))


_MOST_POINTS = 50
"""Most points at which a finding in double precision is computed again."""


def smallest_of(where: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return indices at which ``where`` holds, those with the least ``order`` first.

    At most 50 are returned, since each is computed again by :func:`precise_value`.
    """
    indices = np.flatnonzero(where)
    return indices[np.argsort(order[indices])][:_MOST_POINTS]


def precise_value(expr: Expr, point: Mapping[str, float]) -> float:
    """Return the value of an expression at a point, computed in 60 digits.

    Double precision loses all digits of a formula such as (1 + x)^K - 1 - K x.
    """
    digits = {x: sp.Float(point[x.name], 60) for x in expr.free_symbols}
    value = expr.xreplace(digits).evalf(30)
    return float(value) if value.is_real else np.nan


def at(points: Points, index: int) -> dict[str, float]:
    """Return the point with an index, as plain numbers by name."""
    return {name: float(values[index]) for name, values in points.items()}
