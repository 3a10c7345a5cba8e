"""Random points of the region where conditions hold: what checks and searches are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Condition, Statement
from dfltheory.bounds.symbols import GLOSSARY, step_names
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

Points = dict[str, np.ndarray]
_ROUNDS = 40


def draw(names: Iterable[str], size: int, rng: np.random.Generator) -> Points:
    """``size`` values of each glossary name, over many orders of magnitude and with the ends of ranges."""
    return {name: _values(name, size, rng) for name in sorted(names, key=list(GLOSSARY).index)}


def _values(name: str, size: int, rng: np.random.Generator) -> np.ndarray:
    entry = GLOSSARY[name]
    if name == "T":
        return np.floor(10.0 ** rng.uniform(0, 8, size))
    if entry.whole:
        high = 1 if name == "t" else 0
        low = 1 if name == "m" else 0  # one client has no network: what lam, q or delta say of it is nothing
        return np.floor(2.0 ** rng.uniform(low, {"Q": 3, "t": 4, "m": 9}.get(name, 6), size)) - high
    if entry.high == 1:
        plain, near = rng.uniform(0, 1, size), 1 - 10.0 ** rng.uniform(-3, 0, size)
        value = np.where(rng.random(size) < 0.5, plain, near)
        return np.maximum(1 - value, 1e-3) if entry.open_low else value
    if name in step_names():
        return 10.0 ** rng.uniform(-6, 1, size)
    value = 10.0 ** rng.uniform(-2, 2, size)
    may_vanish = entry.low == 0 and not entry.open_low
    return np.where(rng.random(size) < 0.1, 0.0, value) if may_vanish else value


def compiled(exprs: Sequence[Expr]) -> tuple[list[str], object]:
    """The free names of ``exprs``, in the glossary's order, and their compiled values."""
    return _compiled(tuple(map(sp.sympify, exprs)))


@lru_cache(512)
def _compiled(exprs: tuple[Expr, ...]) -> tuple[list[str], object]:
    found = {s.name for e in exprs for s in e.free_symbols}
    names = [name for name in GLOSSARY if name in found]
    return names, sp.lambdify([GLOSSARY[n].symbol for n in names], list(exprs), modules="numpy", cse=True)


def values_of(exprs: Sequence[Expr], points: Points) -> list[np.ndarray]:
    """The values of ``exprs`` at ``points``."""
    names, function = compiled(exprs)
    size = len(next(iter(points.values())))
    with np.errstate(all="ignore"):
        values = function(*(points[n] for n in names))  # type: ignore[operator]
    return [np.broadcast_to(np.asarray(v, dtype=float), (size,)) for v in values]


def admissible(
    names: Iterable[str], conditions: Sequence[Condition], size: int, rng: np.random.Generator
) -> Points:
    """At most ``size`` random points at which all ``conditions`` (in glossary symbols) hold.

    Two conditions that say an equality are solved for a step size. Fewer points than asked for come back
    where the region is thin; none where it was not hit at all.
    """
    wanted = set(names) | {s.name for c in conditions for s in (c.left - c.right).free_symbols}
    equal, rest = equalities(conditions)
    sides = [side for c in rest for side in (c.left, c.right)]
    kept: list[Points] = []
    count = 0
    for _ in range(_ROUNDS):
        points = draw(wanted, 4 * size, rng)
        for name, solution in equal.items():
            points[name] = values_of([solution], points)[0]
        good = np.ones(4 * size, dtype=bool)
        if sides:
            values = values_of(sides, points)
            for c, left, right in zip(rest, values[::2], values[1::2], strict=True):
                good &= (left < right) if c.strict else (left <= right)
        kept.append({n: v[good] for n, v in points.items()})
        count += int(good.sum())
        if count >= size:
            break
    return {n: np.concatenate([k[n] for k in kept])[:size] for n in sorted(wanted)}


def pushed(points: Points, conditions: Sequence[Condition]) -> Points:
    """The points with all their step sizes made as large as ``conditions`` allow, by one factor each; where
    there is no step size, with T as small. Constants of a proof are used up there."""
    steps = [n for n in step_names() if n in points]
    names, way = (steps, 1.0) if steps else ([n for n in ("T",) if n in points], -1.0)
    slacks = [c.slack for c in equalities(conditions)[1]]
    size = len(next(iter(points.values()), ()))
    if not names or not slacks or not size:
        return points
    low, high = np.zeros(size), np.full(size, 90.0)

    def moved(power: np.ndarray) -> Points:
        return {n: v * np.exp(way * power) if n in names else v for n, v in points.items()}

    def allowed(power: np.ndarray) -> np.ndarray:
        return np.all([slack >= 0 for slack in values_of(slacks, moved(power))], axis=0)

    free = allowed(high)
    for _ in range(60):
        middle = (low + high) / 2
        good = allowed(middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return moved(np.where(free, 0.0, low))


def alone(points: Points, conditions: Sequence[Condition]) -> Points:
    """The points with all quantities that may vanish at 0, but one at a time, where the conditions hold so.
    A term that is too small shows where no other is there to cover it."""
    names = [n for n in points if GLOSSARY[n].low == 0 and not GLOSSARY[n].open_low and not GLOSSARY[n].whole]
    names = [n for n in names if GLOSSARY[n].high != 1]
    moved = [{n: v if n == kept or n not in names else 0 * v for n, v in points.items()} for kept in names]
    joined = {n: np.concatenate([at_one[n] for at_one in moved]) for n in points} if moved else points
    slacks = values_of([c.slack for c in conditions], joined) if conditions else []
    good = np.all([s >= 0 for s in slacks], axis=0) if slacks else slice(None)
    return {n: v[good] for n, v in joined.items()}


def equalities(conditions: Sequence[Condition]) -> tuple[dict[str, Expr], list[Condition]]:
    """Pairs left <= right, right <= left as {quantity: solution}, a step size where there is one; the others.

    Raises
    ------
    InputError
        Neither a step size nor a quantity that stands alone is there to be solved for.
    """
    equal: dict[str, Expr] = {}
    rest = list(conditions)
    for first in conditions:
        for second in conditions:
            if first is second or first not in rest or second not in rest:
                continue
            if sp.expand(first.slack + second.slack) == 0:
                name, solution = _solved(first)
                equal[name] = solution
                rest.remove(first)
                rest.remove(second)
    return equal, rest


def _solved(equality: Condition) -> tuple[str, Expr]:
    """What an equality says of one quantity."""
    inside = {s.name for s in equality.slack.free_symbols}
    for name in step_names()[::-1]:
        if name in inside:
            return name, sp.solve(equality.slack, GLOSSARY[name].symbol)[0]
    for alone, other in ((equality.left, equality.right), (equality.right, equality.left)):
        if isinstance(alone, sp.Symbol) and alone not in sp.sympify(other).free_symbols:
            return alone.name, other
    raise InputError(f"the equality {equality} must have a step size in it, or a quantity alone on one side")


def conditions_of(theorem: Statement) -> tuple[Condition, ...]:
    """The conditions of a statement with its definitions replaced."""
    return tuple(
        Condition(c.name, theorem.expand(c.left), theorem.expand(c.right), c.strict)
        for c in theorem.conditions
    )


def points_of(theorem: Statement, size: int = 2000, seed: int = 0) -> Points:
    """Random admissible values of everything that ``theorem`` needs."""
    points = admissible(theorem.needs, conditions_of(theorem), size, np.random.default_rng(seed))
    if not len(next(iter(points.values()), ())):
        raise InputError(f"no point was found at which all conditions of {theorem} hold")
    return points


@cache
def has_points(theorem: Statement) -> bool:
    """Was a point found at which all conditions of ``theorem`` hold?"""
    try:
        points_of(theorem, 200)
    except InputError:
        return False
    return True


def at(points: Points, index: int) -> dict[str, float]:
    """One of the points, as plain numbers."""
    return {name: float(values[index]) for name, values in points.items()}
