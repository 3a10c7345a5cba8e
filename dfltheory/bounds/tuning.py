"""Largest step, best step, and which term dominates where."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Number, symbol_names
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.regions import compiled, equalities, expanded_conditions
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.units import Expr
from dfltheory.errors import ConditionError, InputError

_GRID = 10.0 ** np.linspace(-22, 22, 4401)
"""Step sizes that are tried, as multiples of their :func:`_unit`."""


@dataclass(frozen=True)
class StepSizeRange:
    """Admissible values ``low <= step <= high``.

    ``high`` is inf if no condition bounds it.
    """

    low: float
    high: float


@dataclass(frozen=True)
class Regime:
    """From ``low`` to ``high`` the term is the largest.

    Its share of the bound runs from the one to the other.
    """

    low: float
    high: float
    term: str
    share_low: float
    share_high: float


def step_name(theorem: Statement, name: str | None = None) -> str:
    """Return the step size of a theorem: ``name``, or its first one."""
    if name is not None:
        if name not in theorem.needs:
            raise InputError(
                f"{theorem} has no {name}; it depends on {', '.join(theorem.needs)}"
            )
        return name
    steps = theorem.step_names
    if not steps:
        raise InputError(
            f"{theorem} has no step size; it depends on {', '.join(theorem.needs)}"
        )
    return steps[0]


@cache
def tied_steps(theorem: Statement, name: str) -> dict[str, Expr]:
    """Return step sizes that a condition ties to ``name`` by an equality.

    They are expressions in ``name``.
    """
    tied: dict[str, Expr] = {}
    solved, _ = equalities(expanded_conditions(theorem), theorem.glossary)
    for step, solution in solved.items():
        names = symbol_names([solution])
        inside = [name for name in theorem.step_names if name in names]
        if name in inside:
            tied[step] = solution
        elif name == step and inside:
            other = theorem.symbols[inside[0]]
            tied[inside[0]] = sp.solve(solution - theorem.symbols[step], other)[0]
    return tied


def _with_step(
    theorem: Statement, name: str, steps: object, values: dict[str, object]
) -> dict[str, object]:
    """``values`` with this step size, and with those that are tied to it."""
    all_values = {**values, name: np.asarray(steps, dtype=float)}
    for tied_name, expr in tied_steps(theorem, name).items():
        names, function = compiled([expr])
        missing = [n for n in names if n not in all_values]
        if missing:
            raise InputError(
                f"{theorem} determines {tied_name} from {name} and"
                f" {', '.join(missing)}: pass {missing[0]}=..."
            )
        (all_values[tied_name],) = function(
            *(np.asarray(all_values[n], dtype=float) for n in names)
        )
    return all_values


def all_hold(theorem: Statement, values: Mapping[str, object]) -> np.ndarray:
    """Return whether every condition holds, at each of the ``values``.

    The ``values`` broadcast together.
    """
    shapes = [np.asarray(value).shape for value in values.values()]
    good = np.ones(np.broadcast_shapes(*shapes), dtype=bool)
    with np.errstate(all="ignore"):
        for *_, ok in theorem.check_conditions(**values):
            good &= ok
    return good


def _unit(
    name: str, values: dict[str, object], glossary: Mapping[str, Quantity]
) -> float:
    """Return one step size in the units of the given quantities.

    Their sizes give the scales of f, x and v (by least squares of their logarithms),
    and these that of the step, so that the search is the same in all units.
    """
    plain = {
        n: v for n, v in values.items() if n in glossary and isinstance(v, (int, float))
    }
    sizes = {n: abs(float(v)) for n, v in plain.items() if 0 < abs(v) < np.inf}
    rows = [
        np.array(glossary[quantity].unit.scales)[:, 1].astype(float)
        for quantity in (*sizes, name)
    ]
    scales = np.linalg.lstsq(
        np.array(rows[:-1]).reshape(-1, 3), np.log([*sizes.values()]), rcond=None
    )[0]
    return float(np.exp(np.array(rows[-1]) @ scales))


def admissible_steps(
    theorem: Statement, name: str | None = None, **values: object
) -> StepSizeRange:
    """Return the interval of step sizes at which every condition holds.

    The other quantities are given numbers.

    A step size that the conditions tie to this one by an equality moves with it and
    need not be given.

    Raises
    ------
    ConditionError
        No step size within 22 orders of magnitude of what the given quantities suggest
        is admissible.
    InputError
        A quantity is given by several numbers.
    """
    name = step_name(theorem, name)
    if lists := [n for n, v in values.items() if np.asarray(v).ndim]:
        raise InputError(
            f"{lists[0]} has several values, but a step size is computed for one value"
            " of each quantity"
        )
    grid = _unit(name, values, theorem.glossary) * _GRID

    def holds(steps: np.ndarray | float) -> np.ndarray:
        return all_hold(theorem, _with_step(theorem, name, steps, values))

    admissible_interval = interval(holds, grid)
    if admissible_interval is None:
        raise ConditionError(
            f"no {name} meets the conditions of {theorem} at the given constants"
        )
    return admissible_interval


def interval(
    holds: Callable[[np.ndarray | float], np.ndarray], grid: np.ndarray
) -> StepSizeRange | None:
    """Return the interval of the values that ``holds``, beyond the ``grid``."""
    admissible_indices = np.flatnonzero(np.broadcast_to(holds(grid), grid.shape))
    if not admissible_indices.size:
        return None
    first, last, grid_values = (
        int(admissible_indices[0]),
        int(admissible_indices[-1]),
        grid.tolist(),
    )
    low, high = 0.0, np.inf
    if first > 0:
        low = admissible_edge(holds, grid_values[first], grid_values[first - 1])
    if last < len(grid_values) - 1:
        high = admissible_edge(holds, grid_values[last], grid_values[last + 1])
    return StepSizeRange(low, high)


def admissible_edge(
    holds: Callable[[float], object], inside: float, outside: float, whole: bool = False
) -> float:
    """Return the end of the admissible values between an admissible and another one.

    Parameters
    ----------
    holds : callable
        Whether a value is admissible.
    inside, outside : float
        An admissible value, and one that is not.
    whole : bool
        Whether only whole numbers are values.
    """
    for _ in range(200):
        middle = (inside + outside) / 2
        if whole:
            middle = float(
                math.floor(middle) if inside < outside else math.ceil(middle)
            )
        if middle in (inside, outside):
            break
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return float(inside)


def rounded_inwards(
    edge: float, inside: float, holds: Callable[[float], bool], whole: bool
) -> float:
    """Return the end of a range with as few digits as possible, on its inner side."""
    direction = 1 if inside >= edge else -1
    if whole and edge < 1000:
        return edge
    for digits in range(3, 17):
        value = round_towards(edge, direction, digits)
        beyond = value > inside if direction > 0 else value < inside
        if not beyond and holds(value):
            return value
    return edge


def round_towards(value: float, direction: int, digits: int) -> float:
    """``value`` with so many digits, rounded up (1) or down (-1)."""
    if value == 0 or not math.isfinite(value):
        return value
    rounded = float(f"{value:.{digits - 1}e}")
    if (rounded - value) * direction >= 0:
        return rounded
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return float(f"{rounded + direction * unit:.{digits - 1}e}")


def best_step(
    theorem: Statement, name: str | None = None, **values: object
) -> tuple[float, float]:
    """Return the admissible step size at which the bound is least, and that bound.

    Raises
    ------
    ConditionError
        No step size that is tried is admissible, or the bound is a number at none of
        them.
    """
    name = step_name(theorem, name)
    interval = admissible_steps(theorem, name, **values)
    unit = _unit(name, values, theorem.glossary)
    low = float(np.log(max(interval.low, 1e-14 * unit)))
    high = float(np.log(min(interval.high, 1e8 * unit)))

    def bound(log_step: np.ndarray | float) -> Number:
        inside = np.clip(np.exp(log_step), interval.low, interval.high)
        return theorem.evaluate(
            where="ignore", **_with_step(theorem, name, inside, values)
        )

    grid = np.linspace(low, high, 2001)

    def bound_at(log_step: float) -> float:
        return float(bound(log_step))

    values_there = np.broadcast_to(bound(grid), grid.shape)
    if low > high or np.isnan(values_there).all():
        raise ConditionError(
            f"no {name} on the grid meets the conditions of {theorem}: use less"
            " extreme values"
        )
    best_index = int(np.nanargmin(values_there))
    bracket = (grid[max(best_index - 1, 0)], grid[min(best_index + 1, len(grid) - 1)])
    # slow to import, and few ask for the best step
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        bound_at, bounds=bracket, method="bounded", options={"xatol": 1e-12}
    )
    candidates = [
        (bound_at(x), float(np.clip(np.exp(x), interval.low, interval.high)))
        for x in (minimum.x, low, high)
    ]
    least, step = min(candidates)
    return step, least


def dominance(
    theorem: Statement, vary: str, over: object, **values: object
) -> list[Regime]:
    """Which term rules in which regime of ``vary`` (increasing values ``over``).

    Conditions are not asked.

    Raises
    ------
    InputError
        The theorem does not depend on ``vary``, or a term is not finite somewhere.
    """
    if vary not in theorem.needs:
        raise InputError(
            f"{theorem} does not depend on {vary!r}; it depends on"
            f" {', '.join(theorem.needs)}"
        )
    grid = np.asarray(over, dtype=float).ravel()
    grid = np.unique(np.round(grid) if theorem.glossary[vary].integer else grid)
    values[vary] = grid
    terms = theorem.evaluate_terms(where="ignore", **values)
    names = list(terms)
    table = np.array([np.broadcast_to(terms[n], grid.shape) for n in names])
    for k, i in np.argwhere(~np.isfinite(table))[:1]:
        raise InputError(
            f"the term {names[k]} is {table[k, i]} at {vary} = {grid[i]:.6g}: use less"
            " extreme values"
        )
    largest = np.abs(table).max(axis=0)
    # whose sum is in the range of numbers
    scaled = table / np.where(largest > 0, largest, 1)
    total = scaled.sum(axis=0)
    shares = scaled / np.where(total == 0, 1, total)
    ruler = table.argmax(axis=0)
    starts = np.flatnonzero(np.r_[True, ruler[1:] != ruler[:-1]])
    ends = np.r_[starts[1:] - 1, len(grid) - 1]
    return [
        Regime(
            float(grid[i]),
            float(grid[j]),
            names[int(k)],
            float(shares[k, i]),
            float(shares[k, j]),
        )
        for i, j, k in zip(starts, ends, ruler[starts], strict=True)
    ]
