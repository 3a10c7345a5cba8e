"""Many identical clients whose noise biases their mean gradient.

The gradient has a minimum between two slopes. Disagreeing clients are on both slopes,
so that the mean of their gradients is larger than the gradient at their mean model. The
mean model is stationary where the former is 0 and the latter is not. The exact
expectation needs affine gradients; :mod:`.run_certificate` decides such problems by
runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.growth.member import algorithm
from dfltheory.counterexamples.problems import task_of
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import searches_convex
from dfltheory.errors import DFLTheoryError
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


WEIGHT_DECIMALS = 15
"""Number of decimals of weights, which keep the files of large networks small."""


@dataclass(frozen=True)
class Crowd:
    """Many clients with W = lam I + (1 - lam) 11'/m, or with exact averages.

    Attributes
    ----------
    clients : int
    lam : float
    steps : int
        K
    depth, turn : float
        The numbers b and r of :func:`dip`, divided by the standard deviation of the
        noise in a client's difference from the mean.
    rounds : int
        Smallest T.
    """

    clients: int
    lam: float
    steps: int
    depth: float
    turn: float
    rounds: int

    @property
    def numbers(self) -> dict[str, float]:
        """The quantities of a statement, with L = sigma_l = 1."""
        return {
            "m": float(self.clients),
            "lam": self.lam,
            "K": float(self.steps),
            "L": 1.0,
            "sigma_l": 1.0,
            "sigma_g": 0.0,
        }

    @property
    def spread(self) -> float:
        """Standard deviation of a client's difference from the mean, over eta."""
        if self.steps > 1:
            return self.steps**0.5
        return self.lam / (1 - self.lam**2) ** 0.5

    def network(self) -> np.ndarray:
        """Return W."""
        weight = round((1 - self.lam) / self.clients, WEIGHT_DECIMALS)
        W = np.full((self.clients, self.clients), weight)
        np.fill_diagonal(W, 1 - (self.clients - 1) * weight)
        return W


CROWDS = (
    Crowd(128, 0.0, 2, 0.43, 0.62, 2000),
    Crowd(256, 0.99, 1, 0.72, 1.2, 6000),
    Crowd(128, 0.5, 1, 0.92, 1.17, 2000),
)
"""The crowds that a search tries.

Their disagreement exceeds the other terms of a bound only if the noise of the mean
model, sigma^2/m, is small enough.
"""
LONGEST_RUN = 20_000
"""Largest number of rounds of a crowd."""
REACH = 64.0
"""Distance from 0 at which the gradient of a dip becomes constant."""
GRID = 2.0**-20
"""The kinks of a dip are multiples of it. With a number of clients that is a power of
two, too, the mean of their equal gradients is exact.
"""
LARGEST_STEP_SIZE = 2.0
"""Largest eta L that is considered if a statement has no schedule."""


def dip(depth: float, turn: float) -> Ramps:
    """Return f'(x) = |x| - b for x > -r, and x + 2 r - b for x < -r."""
    b, r = (float(GRID * np.round(number / GRID)) for number in (depth, turn))
    knots, widths = [-REACH, -r, 0.0], [REACH - r, r, REACH]
    return Ramps.one([knots], [widths], [[1.0, -1.0, 1.0]], [2 * r - b - REACH])


def has_crowds(theorem: Theorem) -> bool:
    """Return whether crowds can violate a statement.

    Their mean gradient is biased, their functions are not convex, and they have noise.
    """
    return (
        theorem.lhs.measure == "grad_norm_sq"
        and "sigma_l" in theorem.needs
        and not (theorem.order or searches_convex(theorem))
    )


def crowd_instance(
    theorem: Theorem, crowd: Crowd, longest: int = LONGEST_RUN
) -> Instance | None:
    """Return the run of a crowd under a statement.

    It has the largest step size that the conditions allow. The result is None if the
    statement does not cover the crowd, or only in more than ``longest`` rounds. Clients
    start at 0, and their noise takes the values 1 and -1.
    """
    try:
        numbers = _with_step_size(theorem, crowd)
        if numbers is None or numbers["T"] > longest:
            return None
        chosen = algorithm(theorem, numbers)
    except DFLTheoryError:  # the statement needs numbers that a crowd does not have
        return None
    used = chosen.theory_values()
    averaged = crowd.lam == 0 or chosen.needs_topology
    if "eta" not in used or used.get("K", 1) != crowd.steps or not averaged:
        return None
    size = crowd.spread * used["eta"]
    ramps = dip(crowd.depth * size, crowd.turn * size).repeated(crowd.clients)
    described = ramps.describe(0) | {"sigma": 1.0}
    task = task_of(described)
    W = crowd.network() if chosen.needs_topology else None
    x0 = np.zeros((crowd.clients, 1))
    sources = {"task": (task, described)}
    return Instance(task, chosen, W, int(numbers["T"]), x0=x0, sources=sources)


def _with_step_size(theorem: Theorem, crowd: Crowd) -> dict[str, float] | None:
    """Return the numbers of a crowd with T and, without a schedule, with eta.

    T is the smallest that the conditions allow, and eta the largest. The result is None
    if there are no such numbers.
    """
    known = _neutral_numbers(theorem) | crowd.numbers
    if theorem.schedule:
        known["T"] = max(crowd.rounds, _fewest_rounds(theorem, known))
    elif "eta" in theorem.needs:
        known["T"] = crowd.rounds
        known["eta"] = _largest_step(theorem, known)
    else:
        return None
    return known if conditions_hold(theorem, known) else None


def _neutral_numbers(theorem: Theorem) -> dict[str, float]:
    """Return the quantities at which mechanisms are absent, such as momentum."""
    numbers = {}
    for name in theorem.needs:
        value = theorem.glossary[name].neutral
        if isinstance(value, int | float):
            numbers[name] = float(value)
    return numbers


def conditions_hold(theorem: Theorem, known: dict[str, float]) -> bool:
    """Return whether the ``known`` numbers satisfy all conditions of a statement.

    They do not if a condition contains another quantity.
    """
    in_conditions: set[str] = set()
    for condition in theorem.conditions:
        in_conditions |= {str(symbol) for symbol in condition.slack.free_symbols}
    if not in_conditions <= known.keys():
        return False
    # quantities that are in no condition have no influence
    values = {name: known.get(name, 1.0) for name in theorem.needs}
    return all(bool(holds) for _, _, holds in theorem.check_conditions(**values))


def _largest_step(theorem: Theorem, known: dict[str, float]) -> float:
    """Return about the largest step size that the conditions allow, by bisection."""
    low, high = 0.0, LARGEST_STEP_SIZE
    for _ in range(60):
        middle = (low + high) / 2
        if conditions_hold(theorem, known | {"eta": middle}):
            low = middle
        else:
            high = middle
    return low * (1 - 1e-9)


def _fewest_rounds(theorem: Theorem, known: dict[str, float]) -> int:
    """Return the smallest number of rounds that the conditions allow, by bisection."""
    low, high = 1, 10**12
    while low < high:
        middle = (low + high) // 2
        if conditions_hold(theorem, known | {"T": middle}):
            high = middle
        else:
            low = middle + 1
    return low


def seconds_of_runs(instance: Instance, runs: int) -> float:
    """Return about how many seconds of processor time ``runs`` runs take.

    The training core multiplies by a dense W in each round.
    """
    clients = instance.task.m
    per_run = 4.5e-7 * clients
    if instance.network is not None:
        per_run += 2e-9 * clients**2
    return instance.rounds * (1.2e-3 + runs * per_run)


def with_runs(instance: Instance, runs: int, seed: int = 0) -> Instance:
    """Return an instance with this number of independent runs."""
    return replace(instance, seeds=runs, seed=seed)


__all__ = [
    "CROWDS",
    "Crowd",
    "conditions_hold",
    "crowd_instance",
    "dip",
    "has_crowds",
    "seconds_of_runs",
    "with_runs",
]
