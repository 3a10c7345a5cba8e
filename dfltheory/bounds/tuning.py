"""Admissible step sizes, the best one, and which term dominates where."""

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
    """A range of a quantity in which one term of the bound is the largest.

    Attributes
    ----------
    low, high : the ends of the range
    term : name of the term
    share_low, share_high : the share of the bound that the term has at each end
    """

    low: float
    high: float
    term: str
    share_low: float
    share_high: float


def step_name(theorem: Statement, name: str | None = None) -> str:
    """Return ``name`` if the theorem contains it; by default its first step size.

    Raises
    ------
    InputError
        The theorem does not contain ``name``, or has no step size.
    """
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
    """Return the step sizes that an equality among the conditions ties to ``name``.

    Each is a formula that contains ``name``.
    """
    tied: dict[str, Expr] = {}
    solved, _ = equalities(expanded_conditions(theorem), theorem.glossary)
    for step, solution in solved.items():
        contained = symbol_names([solution])
        other_steps = [other for other in theorem.step_names if other in contained]
        if name in other_steps:
            tied[step] = solution
        elif name == step and other_steps:
            other = theorem.symbols[other_steps[0]]
            formula = sp.solve(solution - theorem.symbols[step], other)[0]
            tied[other_steps[0]] = formula
    return tied


def _with_step(
    theorem: Statement, name: str, steps: object, values: dict[str, object]
) -> dict[str, object]:
    """Return ``values`` with a step size, and with those that are tied to it."""
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
    """Return at which values every condition holds.

    ``values`` are numbers or arrays that broadcast together, and the result is an array
    of their common shape.
    """
    shapes = [np.asarray(value).shape for value in values.values()]
    all_true = np.ones(np.broadcast_shapes(*shapes), dtype=bool)
    with np.errstate(all="ignore"):
        for *_, holds in theorem.check_conditions(**values):
            all_true &= holds
    return all_true


def _unit(
    name: str, values: dict[str, object], glossary: Mapping[str, Quantity]
) -> float:
    """Return a typical size of a step size in the units of the given quantities.

    Their sizes determine scales of f, x and v, by least squares of logarithms. The
    search is the same in all units because the grid consists of multiples of it.
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

    Parameters
    ----------
    theorem : the statement
    name : the step size, by default the first one of the theorem
    **values : numbers for the other quantities; a step size that an equality ties to
        ``name`` follows from it and need not be given

    Raises
    ------
    ConditionError
        No step size within 22 orders of magnitude of what the given quantities suggest
        is admissible.
    InputError
        A quantity is given by several numbers.
    """
    name = step_name(theorem, name)
    for given, value in values.items():
        if np.asarray(value).ndim:
            raise InputError(
                f"{given} has several values, but a step size is computed for one value"
                " of each quantity: pass a number"
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
    """Return the interval between the smallest and the largest admissible value.

    Parameters
    ----------
    holds : maps values to whether each is admissible
    grid : increasing values that are tried; the ends are found between its points

    Returns
    -------
    StepSizeRange or None
        Its low end is 0, and its high end inf, if that end of the grid is admissible.
        None if no value of the grid is admissible.
    """
    admissible_indices = np.flatnonzero(np.broadcast_to(holds(grid), grid.shape))
    if not admissible_indices.size:
        return None
    first, last = int(admissible_indices[0]), int(admissible_indices[-1])
    grid_values = grid.tolist()
    low, high = 0.0, np.inf
    if first > 0:
        low = admissible_edge(holds, grid_values[first], grid_values[first - 1])
    if last < len(grid_values) - 1:
        high = admissible_edge(holds, grid_values[last], grid_values[last + 1])
    return StepSizeRange(low, high)


def admissible_edge(
    holds: Callable[[float], object], inside: float, outside: float, whole: bool = False
) -> float:
    """Return the last admissible value on the way to one that is not, by bisection.

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
    """Return an admissible number near the end of a range, with few digits.

    Parameters
    ----------
    edge : the end of the range
    inside : a number in the range, which the result does not pass
    holds : returns whether a number is admissible
    whole : is the range one of whole numbers?

    Returns
    -------
    float
        ``edge`` itself if rounding it to 3 to 16 digits leaves the range.
    """
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
    """Return ``value`` with so many digits, rounded up (direction 1) or down (-1)."""
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
    """Return the admissible step size with the smallest bound, and that bound.

    For the parameters see :func:`admissible_steps`.

    Raises
    ------
    ConditionError
        No step size that is tried is admissible, or the bound is nan at all of them.
    """
    name = step_name(theorem, name)
    steps = admissible_steps(theorem, name, **values)
    unit = _unit(name, values, theorem.glossary)
    low = float(np.log(max(steps.low, 1e-14 * unit)))
    high = float(np.log(min(steps.high, 1e8 * unit)))

    def bound(log_step: np.ndarray | float) -> Number:
        inside = np.clip(np.exp(log_step), steps.low, steps.high)
        return theorem.evaluate(
            where="ignore", **_with_step(theorem, name, inside, values)
        )

    grid = np.linspace(low, high, 2001)

    def bound_at(log_step: float) -> float:
        return float(bound(log_step))

    bounds_on_grid = np.broadcast_to(bound(grid), grid.shape)
    if low > high or np.isnan(bounds_on_grid).all():
        raise ConditionError(
            f"no {name} on the grid meets the conditions of {theorem}: use less"
            " extreme values"
        )
    best_index = int(np.nanargmin(bounds_on_grid))
    bracket = (grid[max(best_index - 1, 0)], grid[min(best_index + 1, len(grid) - 1)])
    # slow to import, and few ask for the best step
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        bound_at, bounds=bracket, method="bounded", options={"xatol": 1e-12}
    )
    candidates = [
        (bound_at(x), float(np.clip(np.exp(x), steps.low, steps.high)))
        for x in (minimum.x, low, high)
    ]
    least, step = min(candidates)
    return step, least


def dominance(
    theorem: Statement, vary: str, over: object, **values: object
) -> list[Regime]:
    """Return which term of the bound is the largest in which range of a quantity.

    Conditions are not checked.

    Parameters
    ----------
    theorem : the statement
    vary : name of the quantity
    over : its values
    **values : the other quantities, numbers or arrays of the shape of ``over``

    Returns
    -------
    list of Regime
        In increasing order of the quantity.

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
    not_finite = np.argwhere(~np.isfinite(table))
    if len(not_finite):
        k, i = not_finite[0]
        raise InputError(
            f"the term {names[k]} is {table[k, i]} at {vary} = {grid[i]:.6g}: use less"
            " extreme values"
        )
    largest = np.abs(table).max(axis=0)
    # scaled, as the sum of large terms may overflow
    scaled = table / np.where(largest > 0, largest, 1)
    total = scaled.sum(axis=0)
    shares = scaled / np.where(total == 0, 1, total)
    dominant = table.argmax(axis=0)
    starts = np.flatnonzero(np.r_[True, dominant[1:] != dominant[:-1]])
    ends = np.r_[starts[1:] - 1, len(grid) - 1]
    return [
        Regime(
            float(grid[i]),
            float(grid[j]),
            names[int(k)],
            float(shares[k, i]),
            float(shares[k, j]),
        )
        for i, j, k in zip(starts, ends, dominant[starts], strict=True)
    ]
