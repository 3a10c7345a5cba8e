"""Verification of a counterexample in rational numbers.

It uses neither torch nor the search. Every number is rounded to six digits, so that a
reader can check it by hand. Supported are two clients on the line with ramps, K local
steps (SAM, momentum, duals), Q gossip steps, and noise under which all signs lead to
the same state. The measure is constant once the state repeats, or once gradients are
provably constant in all later rounds. Unknown rounds count as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import numpy as np

from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.bounds.rational_values import RationalValues
from dfltheory.bounds.theorem import Theorem
from dfltheory.counterexamples.digits import about, short_fraction
from dfltheory.counterexamples.rational_clients import (
    ZERO,
    Hyperparameters,
    LocalWork,
    RationalClients,
    six_digits,
)
from dfltheory.errors import InputError
from dfltheory.graphs import cited_constants
from dfltheory.verdicts.measures import Gap
from dfltheory.verdicts.run_values import RunValues, run_values
from dfltheory.verdicts.value_sources import Source, Values

MOST_ROUNDS, MOST_BITS = 5000, 30000
"""Limits of the computation: rounds, and bits of a number, which grow in each step."""
OPTIONAL: Mapping[str, float] = {"rho": 0, "Q": 1, "alpha": 0, "lam": 0}
"""Hyperparameters other than eta and K, with their defaults."""
SUPPORTED = {"dfedsam", "dfedavg", "fedavg", "dfedsgpsm", "dfedadmmsam", "dfedadmm"}
"""Names of the algorithms that are implemented in rational numbers."""
NO_EFFECT = {"decay": 1, "weight_decay": 0, "participation": 1, "offset": None}
"""Values at which a hyperparameter has no effect."""
HALVES = [[0.5, 0.5], [0.5, 0.5]]
"""The mixing matrix of a server with two clients."""


class Exact(NamedTuple):
    """Both sides in rational numbers.

    Attributes
    ----------
    left : Fraction
        The left-hand side, or a lower bound of it.
    right : Fraction
        The bound.
    values : dict
        Quantities by glossary name.
    why : str
        Why the left-hand side is known in rounds that were not computed.
    """

    left: Fraction
    right: Fraction
    values: dict[str, Fraction]
    why: str

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        sides = (
            f"{short_fraction(self.left)} {'>' if self.left > self.right else '<='}"
            f" {short_fraction(self.right)}"
        )
        ratio = about(self.left / self.right, 6) if self.right else "inf"
        return f"in rational numbers {sides}, ratio {ratio}; {values}; {self.why}"


class Limits(NamedTuple):
    """Limits of a computation: number of rounds, and bits of a denominator."""

    rounds: int
    bits: int


class FractionRun(Source):
    """Values in rational numbers, which have no rounding error.

    Only exactly known numbers are values. Derived quantities are omitted, since roots
    are irrational; cited constants, also irrational, are rounded up.
    """

    refutes = True

    def __init__(
        self, constants: Values, start_value: Fraction, x0_sq: Fraction, W: np.ndarray
    ):
        self._constants, self._start_value, self._x0_sq = constants, start_value, x0_sq
        self._W = W

    def constants(self, theorem: Theorem) -> Values:
        """Return the exact constants of the instance."""
        return self._constants

    def cited_push_sum(self) -> Values:
        """Return the cited C and q of the network, rounded up to six digits."""
        cited = cited_constants(self._W)
        up, down = Context(6, ROUND_CEILING), Context(6, ROUND_FLOOR)
        return {
            "C": Fraction(up.create_decimal_from_float(cited.C)),
            "q": 1 - Fraction(down.create_decimal_from_float(cited.one_minus_q)),
        }

    def start(self, theorem: Theorem) -> Values:
        """Return the mean square of the start, the only quantity known of it."""
        return {"x0_sq": self._x0_sq}

    def gap(self, theorem: Theorem) -> Gap:
        """Return the gap f - f*, with rounding error 0."""
        return Gap(self._start_value - self._constants["f_star"], Fraction(0))

    def derived(self, theorem: Theorem, values: Values) -> Values:
        """Return nothing, since roots are irrational."""
        return {}


def _in_scope(theorem: Theorem, name: str, given: Mapping[str, Any]) -> None:
    """Raise InputError if the theorem excludes the algorithm or a hyperparameter."""
    of_package = set()
    for algorithm in theorem.scope.algorithms:
        if not isinstance(algorithm, str):
            algorithm = f"{algorithm.__module__}:{algorithm.__qualname__}"
        if ":" not in algorithm or algorithm.startswith("dfltheory."):
            of_package.add(algorithm.rpartition(":")[2].lower())
    if name not in of_package:
        raise InputError(
            f"{theorem} covers {', '.join(theorem.scope.names)}, and this instance runs"
            f" {name}"
        )
    for field, value in theorem.scope.hyperparameters.items():
        if field in given and given[field] != value:
            raise InputError(
                f"{theorem} covers {field} = {value!r}, and this instance has"
                f" {given[field]!r}"
            )


class _Instance(NamedTuple):
    """The numbers of an instance.

    ``values`` are its hyperparameters, ``start`` the clients' starting points,
    ``weight`` the mixing weight between them, and ``horizon`` the number of rounds.
    """

    clients: RationalClients
    values: Hyperparameters
    start: list[Fraction]
    weight: Fraction
    horizon: int


class _State(NamedTuple):
    """Models and duals of the two clients."""

    models: list[Fraction]
    duals: list[Fraction]


class _Trajectory(NamedTuple):
    """The measure (``data``) and the mean models of the computed rounds.

    The measure keeps its last value for ``repeated`` further rounds, for the reason
    ``why``.
    """

    data: list[Fraction]
    means: list[Fraction]
    repeated: int
    why: str


def verify_rationally(
    instance: Mapping[str, Any], theorem: Theorem, effort: Limits | None = None
) -> Exact:
    """Evaluate both sides of a theorem for the instance of a counterexample file.

    Parameters
    ----------
    instance : mapping
        The instance as plain data.
    theorem : Theorem
        The statement.
    effort : Limits, optional
        Limits of the computation, ``MOST_ROUNDS`` and ``MOST_BITS`` by default. Unknown
        rounds beyond them count as 0.

    Raises
    ------
    InputError
        The theorem does not cover the instance, or it cannot be evaluated in rational
        numbers.
    """
    numbers = _read(instance, theorem)
    path = _trajectory(numbers, theorem, effort or Limits(MOST_ROUNDS, MOST_BITS))
    span = theorem.lhs.rounds(numbers.horizon)
    end = len(path.data) + path.repeated
    left = _left_hand_side(path, theorem, span)
    why = path.why if end >= span.stop else f"the rounds after {end - 1} count as 0"
    values = _values(numbers, path, theorem)
    missing = set(theorem.needs) - set(values)
    if missing:
        raise InputError(
            f"rational values are unknown for {', '.join(sorted(missing))}"
        )
    known = {name: Fraction(values[name]) for name in theorem.needs}
    exact = RationalValues(theorem, known)
    for condition in theorem.conditions:
        slack = exact.slack(condition)
        if slack < 0 or (condition.strict and slack == 0):
            raise InputError(
                f"in rational numbers condition {condition.name} fails by"
                f" {about(-slack, 15)}"
            )
    return Exact(left, exact.bound(), known, why)


def _read(instance: Mapping[str, Any], theorem: Theorem) -> _Instance:
    """Read the numbers of an instance, after checking that it is supported."""
    task, run = instance["task"], instance["run"]
    hyperparameters = dict(instance["algorithm"])
    name, start = hyperparameters.pop("name"), [six_digits(row[0]) for row in run["x0"]]
    if ":" in name:
        known = ", ".join(sorted(SUPPORTED))
        raise InputError(
            f"rational numbers are implemented for {known}, not for {name}"
        )
    active = {
        field: value
        for field, value in hyperparameters.items()
        if field not in NO_EFFECT or value != NO_EFFECT[field]
    }
    other_steps = name not in SUPPORTED or set(active) - {"eta", "K", *OPTIONAL}
    added_noise = task.get("sigma") and not task.get("led")
    other_problem = (
        "b" in task or len(start) != 2 or theorem.lhs.measure not in GRADIENT_MEASURES
    )
    if other_steps or added_noise or other_problem:
        raise InputError(
            "rational numbers need two clients with ramps, no noise, gradient steps and"
            " gossip"
        )
    _in_scope(theorem, name, active)
    chosen = {**OPTIONAL, **active}
    values = Hyperparameters(
        eta=six_digits(chosen["eta"]),
        K=chosen["K"],
        rho=six_digits(chosen["rho"]),
        Q=chosen["Q"],
        alpha=six_digits(chosen["alpha"]),
        lam=six_digits(chosen["lam"]),
    )
    weight = _weight(instance.get("topology", {}).get("matrix", HALVES), theorem)
    if theorem.scope.common_start and start[0] != start[1]:
        raise InputError(
            f"{theorem} needs a common start, not {start[0]} and {start[1]}"
        )
    if 0 < values.lam < values.eta:
        raise InputError(f"the penalty {values.lam} must be >= eta = {values.eta}")
    return _Instance(RationalClients(task), values, start, weight, int(run["rounds"]))


def _weight(matrix: list[list[float]], theorem: Theorem) -> Fraction:
    """Return the weight between two clients; InputError unless equal, in (0, 1)."""
    law = theorem.scope.network
    if callable(law):
        broken = law(np.array(matrix, dtype=float))
        if broken is not None:
            raise InputError(f"{theorem} does not cover this network: {broken}")
    weight, other = six_digits(matrix[0][1]), six_digits(matrix[1][0])
    if not 0 < weight == other < 1:
        raise InputError(f"the weights {weight}, {other} must be equal, in (0, 1)")
    return weight


def _trajectory(numbers: _Instance, theorem: Theorem, effort: Limits) -> _Trajectory:
    """Compute rounds until the measure is constant, or an effort limit is reached."""
    clients, values = numbers.clients, numbers.values
    state = _State(numbers.start, [ZERO, ZERO])
    mixing = (1 - 2 * numbers.weight) ** values.Q
    data: list[Fraction] = []
    means: list[Fraction] = []
    for t in range(min(theorem.lhs.rounds(numbers.horizon).stop, effort.rounds + 1)):
        x, dual = state
        means.append(sum(x, ZERO) / 2)
        shift = _auxiliary_shift(values, theorem) * sum(dual, ZERO) / 2
        data.append(clients.mean_gradient(means[-1] - shift) ** 2)
        steps = [clients.steps(i, x[i], dual[i], values) for i in (0, 1)]
        total = steps[0].model + steps[1].model
        difference = steps[1].model - steps[0].model
        mixed = [(total - side * mixing * difference) / 2 for side in (1, -1)]
        later = _State(mixed, [step.dual for step in steps])
        why = _stationary(state, later, steps, mixing, values)
        if why:
            return _Trajectory(
                data,
                means,
                numbers.horizon,
                f"from round {t} on the mean does not move, as {why}",
            )
        if t >= theorem.lhs.start:
            repeated = _rounds_with_equal_gradients(state, later, steps, numbers)
            if repeated:
                return _Trajectory(
                    data,
                    means,
                    repeated,
                    f"from round {t} on gradients stay as they are",
                )
        if x[0].denominator.bit_length() > effort.bits:
            break
        state = later
    return _Trajectory(data, means, 0, f"all {numbers.horizon} rounds were computed")


def _auxiliary_shift(values: Hyperparameters, theorem: Theorem) -> Fraction:
    """Return the factor of the mean dual in DFedADMM's auxiliary point w^t.

    It is 0 for other measures.
    """
    lam = values.lam
    if theorem.lhs.measure != "grad_norm_sq_w" or not lam:
        return ZERO
    contraction = (1 - values.eta / lam) ** values.K
    return lam * contraction / (1 - contraction)


def _stationary(
    state: _State,
    later: _State,
    steps: list[LocalWork],
    mixing: Fraction,
    values: Hyperparameters,
) -> str:
    """Return why the mean model never moves again; empty if that is unknown."""
    x, new = state.models, later.models
    opposite = steps[0].direction * steps[1].direction == -1 and sum(new) == sum(x)
    separating = steps[1].direction * (new[1] - new[0] - x[1] + x[0]) >= 0
    unlimited = steps[0].room == steps[1].room == inf
    if opposite and separating and unlimited and mixing >= 0 == values.lam:
        return "constant gradients separate the clients"
    return "the state repeats" if later == state else ""


def _rounds_with_equal_gradients(
    state: _State, later: _State, steps: list[LocalWork], numbers: _Instance
) -> int:
    """Return for how many further rounds identical clients have the same gradients."""
    x, new = state.models, later.models
    if numbers.values.lam != 0 or x[0] != x[1] or new[0] != new[1]:
        return 0
    distance = abs(new[0] - x[0])
    room = min(steps[0].room, steps[1].room, numbers.horizon * distance)
    return int(room // distance)


def _left_hand_side(path: _Trajectory, theorem: Theorem, span: range) -> Fraction:
    """Return the left-hand side over the rounds ``span``; unknown rounds count as 0."""
    data, end = path.data, len(path.data) + path.repeated
    computed = data[span.start : span.stop]
    repeated = max(0, min(span.stop, end) - max(len(data), span.start))
    total = sum(computed, ZERO) + repeated * data[-1]
    match theorem.lhs.aggregate:
        case "mean" | "last":
            return total / len(span)
        case "min":
            return min(computed or data[-1:]) if end >= span.stop else ZERO
        case "max":
            return max([*computed, *data[-1:]]) if end > span.start else ZERO
        case "sum":
            return total
        case other:
            raise InputError(
                f"{theorem}: the aggregate {other!r} is not checked in rational numbers"
            )


def _values(numbers: _Instance, path: _Trajectory, theorem: Theorem) -> RunValues:
    """Return the values of the instance by glossary name."""
    contraction = abs(1 - 2 * numbers.weight)
    constants: Values = numbers.values._asdict()
    constants.update({"lam": contraction, "q": contraction, "m": 2, "C": 1, "delta": 1})
    constants.update(numbers.clients.constants())
    constants.update({"lam_admm": numbers.values.lam, "T": numbers.horizon})
    x0_sq = sum((value**2 for value in numbers.start), ZERO) / 2
    start = path.means[: theorem.lhs.start + 1][-1]
    stays = float(1 - numbers.weight)
    W = np.array([[stays, 1 - stays], [1 - stays, stays]])
    run = FractionRun(constants, numbers.clients.value(start), x0_sq, W)
    return run_values(run, theorem)
