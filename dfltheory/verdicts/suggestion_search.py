"""Search for changes of quantities at which every condition of a theorem holds.

Conditions need not be monotone. Therefore admissible values are found on a grid, and
the ends of their range by bisection. The printed value is rounded inwards and tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from itertools import combinations

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dfltheory.arrays import FloatArray
from dfltheory.bounds.clauses import Number, symbol_names
from dfltheory.bounds.regions import equalities, expanded_conditions, values_at
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import (
    admissible_edge,
    all_hold,
    interval,
    round_towards,
    rounded_inwards,
    tied_steps,
)
from dfltheory.errors import InputError
from dfltheory.verdicts.suggestions import (
    Change,
    NumberValues,
    Suggestion,
    Suggestions,
    number_text,
)
from dfltheory.verdicts.tried_values import (
    COARSE_FACTORS,
    LONGEST_RUN,
    STEP_FACTORS,
    distance_from,
    tried_values,
)

Derive = Callable[[NumberValues], Mapping[str, Number]]
"""Returns quantities that are computed from others, such as rho0 from rho and T."""

CHOSEN_QUANTITIES = ("T", "rho", "rho0", "Q", "K", "K_u", "K_v", "alpha")
"""Glossary names that may be changed by default, in addition to the step sizes."""

NOTHING_HELPS = "no change of this run helps"
"""Beginning of the note if nothing is suggested."""

_SAME = 1e-6
"""Relative difference up to which a step size counts as that of the schedule."""

_MOST_ALTERNATIVES = 4
"""Largest number of alternatives that are returned."""


def suggest(
    theorem: Theorem,
    values: NumberValues,
    *,
    names: Collection[str] | None = None,
    derive: Derive | None = None,
) -> Suggestions:
    """Search for changes at which every condition of a theorem holds.

    Parameters
    ----------
    theorem : Theorem
        A statement with conditions.
    values : mapping
        Its quantities by glossary name. A step size that equals the scheduled one
        continues to follow the schedule if another quantity changes. So does a step
        size that the statement replaces by its schedule.
    names : collection of str, optional
        The quantities that may be changed, T and hyperparameters of the algorithm; by
        default T, the step sizes and :data:`CHOSEN_QUANTITIES`.
    derive : callable, optional
        Returns quantities that are computed from the others.

    Returns
    -------
    Suggestions
        At most four alternatives; none, but a note, if no change of one or two
        quantities helps.
    """
    search = _Search(theorem, values, names, derive)
    singles = [
        suggestion for name in search.names for suggestion in search.single(name)
    ]
    alternatives = singles or [
        suggestion
        for first, second in combinations(search.names, 2)
        for suggestion in search.pair(first, second)
    ]
    largest = search.largest_step()
    if not alternatives and len(largest) > 1:
        changes = (Change(name, v, v, v) for name, v in largest.items())
        alternatives = [Suggestion(tuple(changes))]
    note = "" if alternatives else search.hopeless()
    return Suggestions(tuple(alternatives[:_MOST_ALTERNATIVES]), largest, note)


class _Search:
    """The conditions of one theorem as a function of changed quantities."""

    def __init__(
        self,
        theorem: Theorem,
        values: NumberValues,
        names: Collection[str] | None,
        derive: Derive | None,
    ):
        self.theorem = theorem
        self.derive = derive
        self.values = {name: float(np.mean(value)) for name, value in values.items()}
        conditions = [theorem.expand(c.slack) for c in theorem.conditions]
        self.in_conditions = symbol_names(conditions)
        self.followed = self._followed_steps()
        allowed = {*CHOSEN_QUANTITIES, *theorem.step_names} if names is None else names
        reached = set(self.in_conditions)
        for step in self.followed:
            if step in reached or step not in theorem.needs:
                reached |= symbol_names([self._rule(step)])
        order = ("T", *theorem.step_names, *CHOSEN_QUANTITIES[1:], *sorted(allowed))
        self.names = [
            name
            for name in dict.fromkeys(order)
            if name in allowed
            and name in reached
            and name in theorem.glossary
            and name in self.values
        ]

    # -- values after a change ---------------------------------------------------------

    def _rule(self, name: str) -> sp.Expr:
        """Return the formula of the schedule for a step size."""
        return sp.sympify(self.theorem.schedule[name])

    def _followed_steps(self) -> tuple[str, ...]:
        """Return the step sizes that follow the schedule.

        Each equals the scheduled value, or the statement replaces it by this value.
        """
        steps = set(self.theorem.glossary) & set(self.theorem.schedule)
        followed: list[str] = []
        for name in steps - {"Q"}:
            if name not in self.theorem.needs:
                followed.append(name)
                continue
            if not self.theorem.glossary[name].step:
                continue
            symbols = symbol_names([self._rule(name)])
            if name not in self.values or not symbols <= set(self.values):
                continue
            scheduled = self._scheduled_value(name, self.values)
            if math.isclose(float(scheduled), self.values[name], rel_tol=_SAME):
                followed.append(name)
        return tuple(sorted(followed))

    def _scheduled_value(self, name: str, values: NumberValues) -> Number:
        """Return the value of the schedule for a step size."""
        rule = self._rule(name)
        symbols = sorted(rule.free_symbols, key=str)
        numbers = [np.asarray(values[str(s)], dtype=float) for s in symbols]
        with np.errstate(all="ignore"):
            return sp.lambdify(symbols, rule, modules="numpy")(*numbers)

    def at(self, changes: NumberValues) -> dict[str, Number]:
        """Return the values that the theorem needs after some changes, or arrays."""
        values = {**self.values, **changes}
        for name in self.followed:
            if name not in changes and self._rule_is_known(name, values):
                values[name] = self._scheduled_value(name, values)
        values.update(self.tied(changes, values))
        if self.derive is not None:
            values.update(self.derive(values))
        return {name: values[name] for name in self.theorem.needs}

    def tied(self, changes: NumberValues, values: NumberValues) -> dict[str, Number]:
        """Return step sizes that an equality among the conditions ties to a change."""
        step_sizes: dict[str, Number] = {}
        for name in set(changes) & set(self.theorem.step_names):
            for tied_name, solution in tied_steps(self.theorem, name).items():
                if tied_name in changes:
                    continue
                symbols = sorted(solution.free_symbols, key=str)
                numbers = [np.asarray(values[str(s)], dtype=float) for s in symbols]
                with np.errstate(all="ignore"):
                    formula = sp.lambdify(symbols, solution, modules="numpy")
                    step_sizes[tied_name] = formula(*numbers)
        return step_sizes

    def _rule_is_known(self, name: str, values: NumberValues) -> bool:
        return symbol_names([self._rule(name)]) <= set(values)

    def holds(self, changes: NumberValues) -> NDArray[np.bool_]:
        """Return whether all conditions hold for each change; not if out of range."""
        shape = np.broadcast_shapes(*(np.shape(value) for value in changes.values()))
        with suppress(InputError, KeyError):
            all_conditions = all_hold(self.theorem, self.at(changes))
            return np.broadcast_to(all_conditions, shape)
        return np.zeros(shape, dtype=bool)

    # -- one change --------------------------------------------------------------------

    def grid(self, name: str, factors: FloatArray = STEP_FACTORS) -> FloatArray:
        """Return the values of a quantity that are tried, in increasing order."""
        exact = self._equal_values().get(name)
        entry = self.theorem.glossary[name]
        return tried_values(entry, self.values[name], exact, factors)

    def _equal_values(self) -> dict[str, float]:
        """Return the values that equalities among the conditions fix, by name."""
        fixed: dict[str, float] = {}
        with suppress(InputError, KeyError):
            solved = equalities(
                expanded_conditions(self.theorem), self.theorem.glossary
            )[0]
            points = {n: np.atleast_1d(v) for n, v in self.values.items()}
            for name, solution in solved.items():
                value = float(values_at([sp.sympify(solution)], points)[0][0])
                if math.isfinite(value):
                    fixed[name] = value
        return fixed

    def single(self, name: str) -> Iterator[Suggestion]:
        """Yield the nearest change of one quantity; nothing if no change suffices."""
        grid = self.grid(name)
        admissible = self.holds({name: grid})
        if not admissible.any():
            return
        change = self._change(name, grid, admissible)
        if change is not None:
            yield self._suggestion((change,))

    def _change(
        self, name: str, grid: FloatArray, admissible: NDArray[np.bool_]
    ) -> Change | None:
        """Return the admissible range that is nearest to the present value.

        It consists of adjacent admissible points of the grid, with ends refined by
        bisection. None if rounding leaves no admissible value.
        """
        entry = self.theorem.glossary[name]
        places = np.flatnonzero(admissible)
        near = int(places[np.argmin(distance_from(grid[places], self.values[name]))])
        first, last = near, near
        while first > 0 and admissible[first - 1]:
            first -= 1
        while last < len(grid) - 1 and admissible[last + 1]:
            last += 1

        def holds(value: float) -> bool:
            return bool(self.holds({name: value}).all())

        low = -math.inf if first == 0 else grid[first]
        high = math.inf if last == len(grid) - 1 else grid[last]
        if first > 0:
            edge = admissible_edge(holds, grid[first], grid[first - 1], entry.integer)
            low = rounded_inwards(edge, grid[last], holds, entry.integer)
        if last < len(grid) - 1:
            edge = admissible_edge(holds, grid[last], grid[last + 1], entry.integer)
            high = rounded_inwards(edge, grid[first], holds, entry.integer)
        if entry.integer and high == grid[0]:
            low = high
        value = low if self.values[name] <= grid[near] else high
        if not math.isfinite(value):
            value = float(grid[near])
        if low > high or not holds(value):
            return None
        return Change(name, float(value), float(low), float(high))

    def _suggestion(self, changes: tuple[Change, ...]) -> Suggestion:
        """Return changes with the step sizes that follow from them."""
        chosen = {change.name: change.value for change in changes}
        values = {**self.values, **chosen}
        tied = {name: float(value) for name, value in self.tied(chosen, values).items()}
        scheduled: dict[str, float] = {}
        for name in self.followed:
            if name in chosen or name in tied or not self._rule_is_known(name, values):
                continue
            value = float(self._scheduled_value(name, values))
            present = self.values.get(name, math.nan)
            if not math.isclose(value, present, rel_tol=_SAME):
                scheduled[name] = self._with_few_digits(name, value, chosen)
        return Suggestion(changes, scheduled, tied)

    def _with_few_digits(self, name: str, value: float, chosen: NumberValues) -> float:
        """Return a scheduled value with 8 digits, if every condition holds there."""
        rounded = float(f"{value:.8g}")
        if name in self.theorem.needs and not self.holds({**chosen, name: rounded}):
            return value
        return rounded

    # -- two changes -------------------------------------------------------------------

    def pair(self, one: str, other: str) -> Iterator[Suggestion]:
        """Yield the nearest values of two quantities; nothing if none suffice."""
        first, second = self._coarse_grid(one), self._coarse_grid(other)
        admissible = self.holds({one: first[:, None], other: second[None, :]})
        if not admissible.any():
            return
        distance = (
            distance_from(first, self.values[one])[:, None]
            + distance_from(second, self.values[other])[None, :]
        )
        distance = np.where(admissible, distance, np.inf)
        i, j = np.unravel_index(int(distance.argmin()), distance.shape)
        chosen = {one: float(first[i]), other: float(second[j])}
        changes: list[Change] = []
        for name in (one, other):
            rounded = self._rounded_of_pair(name, chosen)
            chosen[name] = rounded
            changes.append(Change(name, rounded, rounded, rounded))
        if self.holds(chosen).all():
            yield self._suggestion(tuple(changes))

    def _coarse_grid(self, name: str) -> FloatArray:
        """Return the values that are tried together with those of another quantity."""
        grid = self.grid(name, COARSE_FACTORS)
        if name == "T":
            return grid[:: max(1, len(grid) // 100)]
        return grid

    def _rounded_of_pair(self, name: str, chosen: Mapping[str, float]) -> float:
        """Return the value with the fewest digits at which every condition holds."""
        for digits in range(1, 17):
            value = float(f"{chosen[name]:.{digits}g}")
            if self.holds({**chosen, name: value}).all():
                return value
        return chosen[name]

    # -- step sizes, and the note if nothing helps -------------------------------------

    def largest_step(self) -> dict[str, float]:
        """Return the present step sizes times the largest admissible factor.

        They are rounded down; empty if no condition bounds them, or no factor holds.
        """
        steps = {
            name: self.values[name]
            for name in self.theorem.step_names
            if name in self.values and name in self.theorem.needs
        }
        if not steps or not set(steps) & self.in_conditions:
            return {}

        def holds(factor: FloatArray | float) -> NDArray[np.bool_]:
            return self.holds({name: step * factor for name, step in steps.items()})

        admissible = interval(holds, STEP_FACTORS)
        if admissible is None or not math.isfinite(admissible.high):
            return {}
        for digits in range(3, 17):
            rounded = {
                name: round_towards(step * admissible.high, -1, digits)
                for name, step in steps.items()
            }
            if self.holds(rounded).all():
                return rounded
        return {}

    def hopeless(self) -> str:
        """Return why no change of the run is suggested, in words."""
        with suppress(InputError, KeyError):
            checked = self.theorem.check_conditions(**self.at({}))
            failing = [condition for condition, _, holds in checked if not holds]
            for condition in failing:
                names = symbol_names([self.theorem.expand(condition.slack)])
                if not names & set(self.names):
                    return (
                        f"{NOTHING_HELPS}: {condition.name} depends only on the problem"
                        f" and the network{self._of_problem(names)}"
                    )
        return (
            f"{NOTHING_HELPS}: no run of reasonable length (T <="
            f" {number_text(LONGEST_RUN)}) is covered, with changes of one or two"
            " hyperparameters"
        )

    def _of_problem(self, names: Collection[str]) -> str:
        """Return the constants of a condition, and a change of one, in words."""
        known = sorted(set(names) & set(self.values))
        values_text = ", ".join(f"{name} = {self.values[name]:.3g}" for name in known)
        for name in known:
            for suggestion in self.single(name):
                return (
                    f" ({values_text}); a problem or network with {suggestion} is"
                    " covered"
                )
        return f" ({values_text})" if values_text else ""


__all__ = ["NOTHING_HELPS", "Derive", "suggest"]
