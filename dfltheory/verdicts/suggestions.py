"""What would make a theorem apply: changes of hyperparameters or of the horizon.

:func:`suggest` searches one quantity at a time, with all others fixed, for the nearest
value at which every condition holds. A step size that follows the schedule is
computed again when another quantity changes. If no single change helps, pairs are
tried. Conditions need not be monotone: admissible values are found on a grid, the end
of their range by bisection, and the printed value is rounded inwards and tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dfltheory.bounds import registry
from dfltheory.bounds.regions import conditions_of, equalities, values_of
from dfltheory.bounds.scope import LAWS
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import all_hold, interval, tied_steps
from dfltheory.errors import InputError
from dfltheory.verdicts.run_values import RunValues

Values = Mapping[str, Any]
Array = NDArray[np.float64]
Derive = Callable[[Values], Mapping[str, Any]]
"""Returns quantities that are computed from others, as rho0 from rho and T."""

LONGEST_RUN = 10_000_000
"""Largest T that is suggested."""
MOST_STEPS = 100
"""Largest number of local steps or of gossip steps that is suggested."""
STEP_FACTORS: Array = 10.0 ** np.linspace(-8, 8, 1601)
"""Multiples of a step size or a SAM radius that are tried."""
COARSE_FACTORS: Array = 10.0 ** np.linspace(-8, 8, 161)
"""As STEP_FACTORS, for changes of two quantities."""
HYPERPARAMETERS = ("T", "rho", "rho0", "Q", "K", "K_u", "K_v", "alpha")
"""Quantities of the glossary that a user chooses, in addition to step sizes."""
_SAME = 1e-6
"""A step size that differs by less, relatively, follows the schedule."""


@dataclass(frozen=True)
class Change:
    """Values of one quantity: ``low <= value <= high``.

    Attributes
    ----------
    name : str
        Glossary name.
    value : float
        The value nearest to the present one; the one that is printed.
    low, high : float
        Range of the admissible values around it; -inf and inf where the search met no
        end.
    """

    name: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isfinite(self.low) and math.isfinite(self.high):
            if self.low == self.high:
                return f"{self.name} = {_text(self.value)}"
            return f"{_text(self.low)} <= {self.name} <= {_text(self.high)}"
        if math.isfinite(self.high):
            return f"{self.name} <= {_text(self.high)}"
        if math.isfinite(self.low):
            return f"{self.name} >= {_text(self.low)}"
        return f"{self.name} = {_text(self.value)}"


@dataclass(frozen=True)
class Suggestion:
    """Changes that together make every condition hold.

    Attributes
    ----------
    changes : tuple of Change
        The changed quantities.
    scheduled : dict
        Step sizes that the schedule gives after the change, by name.
    tied : dict
        Step sizes that a condition ties to a changed one, by name.
    """

    changes: tuple[Change, ...]
    scheduled: Mapping[str, float] = field(default_factory=dict)
    tied: Mapping[str, float] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, float]:
        """The values to be put in, by glossary name."""
        return {
            **{c.name: c.value for c in self.changes},
            **self.scheduled,
            **self.tied,
        }

    def __str__(self) -> str:
        text = " with ".join(map(str, self.changes))
        if self.scheduled:
            text += f" ({' and '.join(self.scheduled)} by the schedule)"
        if self.tied:
            tied = " and ".join(f"{n} = {_text(v)}" for n, v in self.tied.items())
            text += f" (and {tied})"
        return text


@dataclass(frozen=True)
class Suggestions:
    """What would make a theorem apply to a run.

    Attributes
    ----------
    alternatives : tuple of Suggestion
        Each of them suffices.
    largest_step : dict
        The largest admissible step sizes, everything else being fixed; empty if there
        is none.
    note : str
        What is to be said in addition, as which runs the scope covers.
    """

    alternatives: tuple[Suggestion, ...] = ()
    largest_step: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.alternatives or self.note)

    def __str__(self) -> str:
        if not self.alternatives:
            return self.note
        text = f"applies for {', or '.join(map(str, self.alternatives))}"
        return f"{text}; {self.note}" if self.note else text

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, for JSON."""
        return {
            "text": str(self),
            "alternatives": [
                {
                    "changes": [
                        {
                            "name": change.name,
                            "value": change.value,
                            "low": _finite(change.low),
                            "high": _finite(change.high),
                        }
                        for change in suggestion.changes
                    ],
                    "scheduled": dict(suggestion.scheduled),
                    "tied": dict(suggestion.tied),
                }
                for suggestion in self.alternatives
            ],
            "largest_step": dict(self.largest_step),
            "note": self.note,
        }


def suggestions_from_dict(document: Any) -> Suggestions:
    """Return what :meth:`Suggestions.to_dict` wrote.

    Raises
    ------
    InputError
        If a field is missing or has another type.
    """
    try:
        alternatives = tuple(map(_suggestion_from_dict, document["alternatives"]))
        largest = _numbers_by_name(document["largest_step"])
        return Suggestions(alternatives, largest, str(document["note"]))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise InputError(
            f"suggestions of a verdict cannot be read ({type(wrong).__name__}:"
            f" {wrong}): they must be as Suggestions.to_dict writes them"
        ) from wrong


def _suggestion_from_dict(entry: Mapping[str, Any]) -> Suggestion:
    changes = []
    for change in entry["changes"]:
        low, high = change["low"], change["high"]
        low = -math.inf if low is None else float(low)
        high = math.inf if high is None else float(high)
        changes.append(Change(str(change["name"]), float(change["value"]), low, high))
    scheduled, tied = (_numbers_by_name(entry[key]) for key in ("scheduled", "tied"))
    return Suggestion(tuple(changes), scheduled, tied)


def _numbers_by_name(table: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in table.items()}


def suggest(
    theorem: Theorem,
    values: Values,
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
        Its quantities by glossary name, numbers. A step size that equals the
        schedule's follows the schedule when another quantity changes; so does one that
        the statement itself fixes by its schedule.
    names : collection of str, optional
        The quantities that may be changed, T and hyperparameters of the algorithm; by
        default T, the step sizes and :data:`HYPERPARAMETERS`.
    derive : callable, optional
        Returns quantities that are computed from the others.

    Returns
    -------
    Suggestions
        No alternatives, and a note, if no change of one or two quantities helps.
    """
    search = _Search(theorem, values, names, derive)
    singles = [found for name in search.names for found in search.single(name)]
    alternatives = singles or [
        found
        for one, other in combinations(search.names, 2)
        for found in search.pair(one, other)
    ]
    largest = search.largest_step()
    if not alternatives and len(largest) > 1:
        alternatives = [search.exactly(largest)]
    note = "" if alternatives else search.hopeless()
    return Suggestions(tuple(alternatives[:4]), largest, note)


class _Search:
    """The conditions of one theorem as a function of changed quantities."""

    def __init__(
        self,
        theorem: Theorem,
        values: Values,
        names: Collection[str] | None,
        derive: Derive | None,
    ):
        self.theorem = theorem
        self.derive = derive
        self.values = {name: _number(value) for name, value in values.items()}
        self.in_conditions = _names_in_conditions(theorem)
        self.followed = self._followed()
        allowed = {*HYPERPARAMETERS, *theorem.step_names} if names is None else names
        reached = set(self.in_conditions)
        for step in self.followed:
            if step in reached or step not in theorem.needs:
                reached |= _names_in(self._rule(step))
        order = ("T", *theorem.step_names, *HYPERPARAMETERS[1:], *sorted(allowed))
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
        return sp.sympify(self.theorem.schedule[name])

    def _followed(self) -> tuple[str, ...]:
        """The step sizes that equal the schedule's or that the statement replaces."""
        steps = set(self.theorem.glossary) & set(self.theorem.schedule)
        found = []
        for name in steps:
            if not self.theorem.glossary[name].step:
                continue
            if name not in self.theorem.needs:
                found.append(name)
                continue
            symbols = _names_in(self._rule(name))
            if name not in self.values or not symbols <= set(self.values):
                continue
            scheduled = self._scheduled(name, self.values)
            if math.isclose(float(scheduled), self.values[name], rel_tol=_SAME):
                found.append(name)
        return tuple(sorted(found))

    def _scheduled(self, name: str, values: Values) -> Any:
        rule = self._rule(name)
        symbols = sorted(rule.free_symbols, key=str)
        numbers = [np.asarray(values[str(s)], dtype=float) for s in symbols]
        with np.errstate(all="ignore"):
            return sp.lambdify(symbols, rule, modules="numpy")(*numbers)

    def at(self, changes: Values) -> dict[str, Any]:
        """All values after some changes, which may be arrays."""
        values = {**self.values, **changes}
        for name in self.followed:
            if name not in changes and self._rule_is_known(name, values):
                values[name] = self._scheduled(name, values)
        values.update(self.tied(changes, values))
        if self.derive is not None:
            values.update(self.derive(values))
        return {name: values[name] for name in self.theorem.needs}

    def tied(self, changes: Values, values: Values) -> dict[str, Any]:
        """Step sizes that a condition ties to a changed one by an equality."""
        found: dict[str, Any] = {}
        for name in set(changes) & set(self.theorem.step_names):
            for other, solution in tied_steps(self.theorem, name).items():
                if other in changes:
                    continue
                symbols = sorted(solution.free_symbols, key=str)
                numbers = [np.asarray(values[str(s)], dtype=float) for s in symbols]
                with np.errstate(all="ignore"):
                    formula = sp.lambdify(symbols, solution, modules="numpy")
                    found[other] = formula(*numbers)
        return found

    def _rule_is_known(self, name: str, values: Values) -> bool:
        return _names_in(self._rule(name)) <= set(values)

    def holds(self, changes: Values) -> NDArray[np.bool_]:
        """Whether every condition holds, at each of the changed values."""
        shape = np.broadcast_shapes(*(np.shape(value) for value in changes.values()))
        with suppress(InputError, KeyError):
            good = all_hold(self.theorem, self.at(changes))
            return np.broadcast_to(good, shape)
        return np.zeros(shape, dtype=bool)

    # -- one change --------------------------------------------------------------------

    def grid(self, name: str, factors: Array = STEP_FACTORS) -> Array:
        """Return the values of a quantity that are tried, in increasing order."""
        entry, value = self.theorem.glossary[name], self.values[name]
        if name == "T":
            points = np.unique(np.round(np.geomspace(1, LONGEST_RUN, 600)))
        elif entry.integer:
            points = np.arange(entry.low, MOST_STEPS + 1.0)
        elif entry.high == 1:
            points = np.linspace(max(entry.low, 0.0), 1.0, 401)
        else:
            points = factors * (abs(value) or 1.0)
        exact = self._equal_values().get(name)
        if exact is not None:
            points = np.unique(np.append(points, exact))
        inside = (points > entry.low) if entry.open_low else (points >= entry.low)
        inside &= (points < entry.high) if entry.open_high else (points <= entry.high)
        return points[inside]

    def _equal_values(self) -> dict[str, float]:
        """Values that equalities among the conditions fix, by name."""
        fixed: dict[str, float] = {}
        with suppress(InputError, KeyError):
            solved = equalities(conditions_of(self.theorem), self.theorem.glossary)[0]
            points = {n: np.atleast_1d(v) for n, v in self.values.items()}
            for name, solution in solved.items():
                value = float(values_of([sp.sympify(solution)], points)[0][0])
                if math.isfinite(value):
                    fixed[name] = value
        return fixed

    def single(self, name: str) -> Iterator[Suggestion]:
        """Return the nearest change of one quantity, if there is one."""
        grid = self.grid(name)
        good = self.holds({name: grid})
        if not good.any():
            return
        change = self._change(name, grid, good)
        if change is not None:
            yield self._suggestion((change,))

    def _change(self, name: str, grid: Array, good: NDArray[np.bool_]) -> Change | None:
        entry = self.theorem.glossary[name]
        places = np.flatnonzero(good)
        near = int(places[np.argmin(_distance(grid[places], self.values[name]))])
        first, last = near, near
        while first > 0 and good[first - 1]:
            first -= 1
        while last < len(grid) - 1 and good[last + 1]:
            last += 1

        def holds(value: float) -> bool:
            return bool(self.holds({name: np.asarray(value)}).all())

        low = -math.inf if first == 0 else grid[first]
        high = math.inf if last == len(grid) - 1 else grid[last]
        if first > 0:
            edge = _edge(holds, grid[first], grid[first - 1], entry.integer)
            low = _rounded(edge, grid[last], holds, entry.integer)
        if last < len(grid) - 1:
            edge = _edge(holds, grid[last], grid[last + 1], entry.integer)
            high = _rounded(edge, grid[first], holds, entry.integer)
        if entry.integer and high == grid[0]:
            low = high
        value = low if self.values[name] <= grid[near] else high
        if not math.isfinite(value):
            value = float(grid[near])
        if low > high or not holds(value):
            return None
        return Change(name, float(value), float(low), float(high))

    def _suggestion(self, changes: tuple[Change, ...]) -> Suggestion:
        chosen = {change.name: change.value for change in changes}
        values = {**self.values, **chosen}
        tied = {name: float(value) for name, value in self.tied(chosen, values).items()}
        scheduled = {
            name: float(self._scheduled(name, values))
            for name in self.followed
            if name not in chosen
            and name not in tied
            and self._rule_is_known(name, values)
            and _names_in(self._rule(name)) & set(chosen)
        }
        return Suggestion(changes, scheduled, tied)

    # -- two changes -------------------------------------------------------------------

    def pair(self, one: str, other: str) -> Iterator[Suggestion]:
        """The nearest values of two quantities at which every condition holds."""
        first, second = self._coarse(one), self._coarse(other)
        good = self.holds({one: first[:, None], other: second[None, :]})
        if not good.any():
            return
        distance = (
            _distance(first, self.values[one])[:, None]
            + _distance(second, self.values[other])[None, :]
        )
        distance = np.where(good, distance, np.inf)
        i, j = np.unravel_index(int(distance.argmin()), distance.shape)
        chosen = {one: float(first[i]), other: float(second[j])}
        changes = []
        for name in (one, other):
            rounded = self._rounded_of_pair(name, chosen)
            chosen[name] = rounded
            changes.append(Change(name, rounded, rounded, rounded))
        if self.holds({name: np.asarray(v) for name, v in chosen.items()}).all():
            yield self._suggestion(tuple(changes))

    def _coarse(self, name: str) -> Array:
        grid = self.grid(name, COARSE_FACTORS)
        if name == "T":
            return grid[:: max(1, len(grid) // 100)]
        return grid

    def _rounded_of_pair(self, name: str, chosen: Mapping[str, float]) -> float:
        """Return the value with few digits at which every condition holds."""
        for digits in range(1, 17):
            value = float(f"{chosen[name]:.{digits}g}")
            changed = {**chosen, name: value}
            if self.holds({n: np.asarray(v) for n, v in changed.items()}).all():
                return value
        return chosen[name]

    # -- step sizes, and what to say if nothing helps ----------------------------------

    def largest_step(self) -> dict[str, float]:
        """The present step sizes times the largest admissible factor, rounded down."""
        steps = {
            name: self.values[name]
            for name in self.theorem.step_names
            if name in self.values and name in self.theorem.needs
        }
        if not steps or not set(steps) & self.in_conditions:
            return {}

        def holds(factor: Any) -> NDArray[np.bool_]:
            return self.holds({name: step * factor for name, step in steps.items()})

        found = interval(holds, STEP_FACTORS)
        if found is None or not math.isfinite(found.high):
            return {}
        for digits in range(3, 17):
            rounded = {
                name: _round_towards(step * found.high, -1, digits)
                for name, step in steps.items()
            }
            if self.holds({n: np.asarray(v) for n, v in rounded.items()}).all():
                return rounded
        return {}

    def exactly(self, values: Mapping[str, float]) -> Suggestion:
        """These values, at which every condition holds."""
        return Suggestion(tuple(Change(n, v, v, v) for n, v in values.items()))

    def hopeless(self) -> str:
        """Why no change is suggested."""
        with suppress(InputError, KeyError):
            checked = self.theorem.check_conditions(**self.at({}))
            failing = [condition for condition, _, holds in checked if not holds]
            for condition in failing:
                names = _names_in(self.theorem.expand(condition.slack))
                if not names & set(self.names):
                    return (
                        f"no hyperparameter changes that: {condition.name} is about"
                        " the problem and the network"
                    )
        return (
            "no run of reasonable length is covered: no change of one or two"
            f" hyperparameters helps up to T = {_text(LONGEST_RUN)}"
        )


def suggestions_for(
    values: RunValues, hyperparameters: Collection[str], kind: str
) -> Suggestions:
    """Return what would make a theorem apply to a run that it does not apply to.

    Parameters
    ----------
    values : RunValues
        The values of the run.
    hyperparameters : collection of str
        The algorithm's own, by glossary name.
    kind : str
        The kind of the obstacle
        (:class:`~dfltheory.verdicts.applicability.Obstacle`).
    """
    theorem = values.theorem
    if kind == "scope":
        return Suggestions(note=scope_note(theorem))
    if kind == "form":
        return Suggestions(note=_statements_with_constants(theorem))
    if kind not in ("schedule", "condition"):
        return Suggestions()
    known = {}
    for name, value in values.known.items():
        if name in theorem.glossary and np.all(np.isfinite(value)):
            known[name] = float(np.mean(value))
    if not set(theorem.needs) <= set(known):
        return Suggestions()
    derive = _derivation(values, known)
    if kind == "schedule":
        on_schedule = _on_schedule(theorem, known)
        if on_schedule is not None:
            return on_schedule
    names = {"T", *hyperparameters}
    if "rho" in names:
        names.add("rho0")
    return suggest(theorem, known, names=names, derive=derive)


def _statements_with_constants(theorem: Theorem) -> str:
    """Which variants of a registered key a run can be compared with."""
    if not theorem.order or not registry.known(theorem.key, theorem.variant):
        return ""
    others = [
        variant
        for variant in registry.variants(theorem.key)
        if not registry.get(theorem.key, variant).order
    ]
    if not others:
        return ""
    return f"with constants: variant {', '.join(others)} of {theorem.key}"


def _derivation(values: RunValues, known: Mapping[str, float]) -> Derive:
    """How quantities that the run does not know by itself follow from the others."""
    theorem, source = values.theorem, values.source
    independent = {n: v for n, v in known.items() if n not in ("rho0", "S2")}
    followed = []
    for name, value in source.derived(theorem, independent).items():
        if math.isclose(float(np.mean(value)), known.get(name, math.nan)):
            followed.append(name)

    def derive(changed: Values) -> dict[str, Any]:
        kept = {n: v for n, v in changed.items() if n not in followed}
        found = source.derived(theorem, kept)
        return {name: found[name] for name in followed if name in found}

    return derive


def _on_schedule(theorem: Theorem, known: Mapping[str, float]) -> Suggestions | None:
    """Return the step sizes of a corollary's schedule, if its conditions hold there."""
    with suppress(InputError):
        if not all_hold(theorem, {name: known[name] for name in theorem.needs}).all():
            return None
        changes = []
        for name, value in theorem.step_sizes(**known).items():
            if name in known and name not in theorem.needs:
                rounded = float(f"{value:.8g}")
                changes.append(Change(name, rounded, rounded, rounded))
        changes = [c for c in changes if not math.isclose(c.value, known[c.name])]
        return Suggestions((Suggestion(tuple(changes)),)) if changes else None
    return None


def _names_in(formula: sp.Expr) -> set[str]:
    return {str(symbol) for symbol in formula.free_symbols}


def _names_in_conditions(theorem: Theorem) -> set[str]:
    names: set[str] = set()
    for condition in theorem.conditions:
        names |= _names_in(theorem.expand(condition.slack))
    return names


def _distance(values: Array, present: float) -> Array:
    """How far values are from the present one, by their ratio where both are
    positive.
    """
    with np.errstate(all="ignore"):
        ratio = np.abs(np.log(values / present)) if present > 0 else values * np.nan
    return np.where(np.isfinite(ratio), ratio, np.abs(values - present) + 100.0)


def _edge(
    holds: Callable[[float], bool], good: float, bad: float, whole: bool
) -> float:
    """Return the end of the admissible values between an admissible and another one."""
    for _ in range(200):
        middle = (good + bad) / 2
        if whole:
            middle = float(math.floor(middle) if good < bad else math.ceil(middle))
        if middle in (good, bad):
            break
        if holds(middle):
            good = middle
        else:
            bad = middle
    return float(good)


def _rounded(
    edge: float, inside: float, holds: Callable[[float], bool], whole: bool
) -> float:
    """Return the end of a range with as few digits as possible, on its inner side."""
    direction = 1 if inside >= edge else -1
    if whole and edge < 1000:
        return edge
    for digits in range(3, 17):
        value = _round_towards(edge, direction, digits)
        beyond = value > inside if direction > 0 else value < inside
        if not beyond and holds(value):
            return value
    return edge


def _round_towards(value: float, direction: int, digits: int) -> float:
    """``value`` with so many digits, rounded up (1) or down (-1)."""
    if value == 0 or not math.isfinite(value):
        return value
    rounded = float(f"{value:.{digits - 1}e}")
    if (rounded - value) * direction >= 0:
        return rounded
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return float(f"{rounded + direction * unit:.{digits - 1}e}")


def _number(value: Any) -> float:
    return float(np.mean(value))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(value: float) -> str:
    """Return a number as it is printed: 9, 0.00134, 1.1e5."""
    if math.isfinite(value) and value == int(value) and abs(value) < 10_000:
        return str(int(value))
    text = repr(float(value))
    if 1e-4 <= abs(value) < 10_000:
        return text
    mantissa, _, exponent = f"{value:.16e}".partition("e")
    for digits in range(17):
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    return f"{mantissa}e{int(exponent)}"


def scope_note(theorem: Theorem) -> str:
    """Which runs the scope of a theorem covers, in one line."""
    scope = theorem.scope
    law = "a law of its own" if callable(scope.network) else LAWS[scope.network]
    parts = [f"algorithm {', '.join(scope.names)}"]
    if scope.network == "none":
        parts.append("no network")
    else:
        kinds = "one fixed matrix"
        if scope.sequence != ("fixed",):
            kinds = f"matrices that are {', '.join(scope.sequence)}"
        parts.append(f"network: {kinds}, {law}")
    for name, value in scope.letters.items():
        parts.append(f"{name} = {value}")
    if scope.common_start:
        parts.append("all clients start at one model")
    if scope.participation == "full":
        parts.append("all clients take part in every round")
    return f"covers {'; '.join(parts)}"


__all__ = [
    "Change",
    "Suggestion",
    "Suggestions",
    "scope_note",
    "suggest",
    "suggestions_for",
    "suggestions_from_dict",
]
