"""Step sizes of candidates.

They are those of the schedule, or fractions of the largest ones that the conditions
admit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dfltheory.bounds.regions import compiled, equalities, expanded_conditions
from dfltheory.bounds.symbols import STEP
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.reach import hyperparameters, searched_algorithm
from dfltheory.counterexamples.shared_numbers import requires_schedule

if TYPE_CHECKING:
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.theorem import Theorem

STEP_SIZE_MARGIN = 1e-9
"""Relative distance of the largest step size from the limit of the conditions."""
OUTSIDE = 1e-3
"""Step size if the conditions admit none. The candidate's fitness then measures the
violation.
"""
STEP_SIZE_GRID = 100 * 10.0 ** (-np.arange(0, 40) / 5)
"""Multiples that are tried first."""
HALVINGS = 12
"""Number of bisection steps after the grid."""


def candidate_step_sizes(
    theorem: Theorem,
    read: Reader,
    free: dict[str, Quantity],
    known: dict[str, np.ndarray],
    shared: dict[str, float],
    m: int,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return step sizes (P,) by field, and which candidates are consistent.

    A candidate is consistent if its step sizes have the ratios that the batch shares.
    """
    cls, P = searched_algorithm(theorem), len(read.u)
    _, fixed = hyperparameters(theorem)
    names = {name: cls.glossary.get(name, name) for name, q in free.items() if q.step}
    values = {n: np.ones(P) for n in theorem.needs} | known
    for name, value in {**cls.implied, **fixed, **shared}.items():
        if isinstance(value, (int, float)):
            values[cls.glossary.get(name, name)] = np.broadcast_to(float(value), P)
    values["m"] = np.full(P, float(m))
    if "T" not in shared:
        values["T"] = np.full(P, 1000.0)
    if requires_schedule(theorem):
        read.share()
        return _of_schedule(theorem, free, names, values)
    towards = _directions(read, free, names, known, shared)
    part = largest_multiple(theorem, towards, values) * read.share()
    sizes = {name: direction * part for name, direction in towards.items()}
    for name, arguments, rule in _ties(theorem):
        if name in sizes:
            all_values = values | sizes
            sizes[name] = rule(*(all_values[n] for n in arguments))
    return {name: sizes[term] for name, term in names.items()}, np.ones(P, dtype=bool)


def _of_schedule(
    theorem: Theorem,
    free: dict[str, Quantity],
    names: dict[str, str],
    values: dict[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the step sizes of the schedule, as in :func:`candidate_step_sizes`."""
    P = len(values["m"])
    sizes: dict[str, np.ndarray] = {}
    for name, term in names.items():
        arguments, rule = _rules(theorem)[term]
        sizes[name] = np.broadcast_to(rule(*(values[n] for n in arguments)), P) * 1.0
    first = next(iter(sizes.values()), np.ones(P))
    same = np.ones(P, dtype=bool)
    for name, size in sizes.items():
        if free[name].unit == STEP:
            same &= np.isclose(size / first, size[0] / first[0], rtol=1e-9)
    return sizes, same


def _directions(
    read: Reader,
    free: dict[str, Quantity],
    names: dict[str, str],
    known: dict[str, np.ndarray],
    shared: dict[str, float],
) -> dict[str, np.ndarray]:
    """Return step sizes up to a common multiple."""
    towards: dict[str, np.ndarray] = {}
    for name, term in names.items():
        if free[name].unit == STEP:
            L = known["L_u" if "L_u" in known else "L"]
            towards[term] = np.broadcast_to(shared.get(name, 1.0) / L, len(read.u))
        else:
            towards[term] = read.log(1e-3, 1e2) / known["L_v"]
    return towards


def largest_multiple(
    theorem: Theorem, towards: dict[str, np.ndarray], values: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the largest multiple (P,) of the step sizes that all conditions admit.

    It is at most 100, and ``OUTSIDE`` if no multiple is admitted.
    """
    P = len(next(iter(values.values())))
    grid = np.repeat(STEP_SIZE_GRID[:, None], P, axis=1)
    good = _is_admitted(theorem, towards, values, grid)
    top = good.argmax(0)
    high = grid[top, np.arange(P)]
    low, high = high, np.where(top > 0, high * 10**0.2, high)
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        inside = _is_admitted(theorem, towards, values, middle[None])[0]
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(good.any(0), low * (1 - STEP_SIZE_MARGIN), OUTSIDE)


def _is_admitted(
    theorem: Theorem,
    towards: dict[str, np.ndarray],
    values: dict[str, np.ndarray],
    size: np.ndarray,
) -> np.ndarray:
    """Return whether all conditions on step sizes hold at these multiples."""
    ties = _ties(theorem)
    all_values = values | {
        name: direction * size for name, direction in towards.items()
    }
    for name, arguments, rule in ties:
        tied = np.broadcast_to(rule(*(all_values[n] for n in arguments)), size.shape)
        all_values[name] = tied * (1 - 1e-12)
    sizes = {*towards, *(name for name, _, _ in ties)}
    relevant = _conditions_on(theorem, frozenset(sizes))
    good = np.ones(size.shape, dtype=bool)
    with np.errstate(all="ignore"):
        grid = {
            name: np.broadcast_to(all_values[name], size.shape)
            for name in theorem.needs
        }
        for condition, slack, holds in theorem.check_conditions(**grid):
            scale = 1e-9 if condition.name in _names_of_ties(theorem) else 0.0
            good &= holds | (np.abs(slack) <= scale) | (condition.name not in relevant)
    return good


@lru_cache(maxsize=64)
def _conditions_on(theorem: Theorem, names: frozenset[str]) -> frozenset[str]:
    """Return the names of the conditions that contain one of the quantities."""
    condition_names = set()
    for condition in expanded_conditions(theorem):
        if names & {symbol.name for symbol in condition.slack.free_symbols}:
            condition_names.add(condition.name)
    return frozenset(condition_names)


class _Tie:
    """The rule by which an equality determines a step size."""

    def __init__(self, function: Any):
        self._function = function

    def __call__(self, *values: Any) -> Any:
        with np.errstate(all="ignore"):  # such sizes are not admitted
            return self._function(*values)[0]


@lru_cache(maxsize=64)
def _ties(theorem: Theorem) -> list[tuple[str, list[str], _Tie]]:
    """Return step sizes that equality conditions determine: name, arguments, rule."""
    ties = []
    solved, _ = equalities(expanded_conditions(theorem), theorem.glossary)
    for name, solution in solved.items():
        if not theorem.glossary[name].step:  # as T == 5
            continue
        arguments, function = compiled([solution])
        ties.append((name, arguments, _Tie(function)))
    return ties


@lru_cache(maxsize=64)
def _names_of_ties(theorem: Theorem) -> frozenset[str]:
    """Return the names of the conditions that determine a step size."""
    conditions = expanded_conditions(theorem)
    _, untied = equalities(conditions, theorem.glossary)
    return frozenset(c.name for c in conditions) - frozenset(c.name for c in untied)


@lru_cache(maxsize=64)
def _rules(theorem: Theorem) -> dict[str, tuple[list[str], Any]]:
    """Return the arguments and the rule of each step size in the schedule."""
    rules = {}
    for name, rule in theorem.schedule.items():
        symbols = sorted(sp.sympify(rule).free_symbols, key=str)
        rules[name] = ([str(s) for s in symbols], sp.lambdify(symbols, rule, "numpy"))
    return rules


__all__ = ["largest_multiple", "candidate_step_sizes"]
