"""Problems with noise, constructed by hand, that refute false versions of statements.

Many identical clients have noise and a gradient with a minimum between two slopes, so
that their disagreement biases their mean gradient. The exact expectation needs affine
gradients, so that :mod:`dfltheory.counterexamples.certify` does not cover them:
:func:`exceeded` decides by runs of the training core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.counterexamples.growth.member import algorithm, hyperparameter
from dfltheory.counterexamples.problems import TASKS
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.training.instance import Instance
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


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
        T, if the statement has no schedule.
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
        lam, steps = self.lam, float(self.steps)
        return {"m": self.clients, "lam": lam, "K": steps, "L": 1.0, "sigma_g": 0.0}

    @property
    def spread(self) -> float:
        """Standard deviation of a client's difference from the mean, over eta."""
        if self.steps > 1:
            return self.steps**0.5
        return self.lam / (1 - self.lam**2) ** 0.5

    def network(self) -> np.ndarray:
        """Return W."""
        average = np.full((self.clients, self.clients), 1 / self.clients)
        return self.lam * np.eye(self.clients) + (1 - self.lam) * average


CROWDS = (
    Crowd(256, 0.0, 2, 0.45, 0.45, 4000),
    Crowd(256, 0.5, 1, 0.85, 1.0, 4000),
    Crowd(512, 0.98, 1, 0.75, 1.45, 8000),
    Crowd(2048, 0.15, 1, 0.92, 1.05, 200),
)
"""Found by hand. Disagreement exceeds the other terms of a bound only if the noise of
the mean model, sigma^2/m, is small enough.
"""
MOST_ROUNDS = 50_000
"""Longest run that is proposed."""
MOST_WORK = 10**10
"""Largest product of the rounds and the weights of a network that is run."""
REACH = 64.0
"""Distance from 0 at which the gradient of a dip becomes constant."""
GRID = 2.0**-20
"""The kinks of a dip are multiples of it. With a number of clients that is a power of
two, too, the mean of their equal gradients is exact.
"""
FEW, MANY = 16, 64
"""Numbers of independent runs that are tried, in this order."""
ERROR = 0.001
"""Each of the two lower limits is above the mean with a probability of at most ERROR/2,
so that both are below it with at least 1 - ERROR. This assumes nothing about the
distribution of the runs, and holds for a single problem.
"""


def dip(depth: float, turn: float) -> Ramps:
    """Return f'(x) = |x| - b for x > -r, and x + 2 r - b for x < -r."""
    b, r = (float(GRID * np.round(number / GRID)) for number in (depth, turn))
    knots, widths = [-REACH, -r, 0.0], [REACH - r, r, REACH]
    return Ramps.one([knots], [widths], [[1.0, -1.0, 1.0]], [2 * r - b - REACH])


def biased_by_noise(theorem: Theorem) -> Iterator[Instance]:
    """Yield dips with noise of the values 1 and -1.

    A client's model is as often left as right of the mean model, where its gradient is
    larger. The mean model is stationary where the mean gradient is 0, and the gradient
    there is about -b.
    """
    for crowd in CROWDS:
        known = crowd.numbers
        is_exact = "LocalSGD" in theorem.scope.names
        if is_exact != (crowd.steps > 1):
            continue
        if theorem.schedule:
            known["T"] = _fewest_rounds(theorem, known)
        else:
            known["T"] = crowd.rounds
            known["eta"] = _largest_step(theorem, known)
        if known["T"] > MOST_ROUNDS:
            continue
        chosen = algorithm(theorem, known)
        size = crowd.spread * hyperparameter(chosen, "eta")
        ramps = dip(crowd.depth * size, crowd.turn * size).repeated(crowd.clients)
        described = ramps.describe(0) | {"sigma": 1.0}
        fields: dict[str, Any] = {**described}
        del fields["name"]
        task = TASKS[str(described["name"])](**fields)
        W = crowd.network() if chosen.needs_topology else None
        x0 = np.zeros((crowd.clients, 1))
        sources = {"task": (task, described)}
        yield Instance(task, chosen, W, round(known["T"]), x0=x0, sources=sources)


def _admissible(theorem: Theorem, known: dict[str, float]) -> bool:
    """Return whether all conditions hold."""
    names = {str(symbol) for c in theorem.conditions for symbol in c.slack.free_symbols}
    needed = {name: known[name] for name in theorem.needs if name in known}
    needed |= {
        name: 1.0 for name in theorem.needs if name not in (names | known.keys())
    }
    return all(bool(ok) for _, _, ok in theorem.check_conditions(**needed))


def _largest_step(theorem: Theorem, known: dict[str, float]) -> float:
    """Return about the largest step size that the conditions allow, by bisection."""
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        if _admissible(theorem, known | {"eta": middle}):
            low = middle
        else:
            high = middle
    return low * (1 - 1e-9)


def _fewest_rounds(theorem: Theorem, known: dict[str, float]) -> int:
    """Return the smallest number of rounds that the conditions allow, by bisection."""
    low, high = 1, 10**12
    while low < high:
        middle = (low + high) // 2
        if _admissible(theorem, known | {"T": middle}):
            high = middle
        else:
            low = middle + 1
    return low


def exceeded(theorem: Theorem, instance: Instance) -> Verdict:
    """Compare independent runs of the training core with a statement.

    The verdict is violated if the lower confidence limit of the mean over the runs
    exceeds the bound, and all assumptions and conditions hold. More runs are made only
    if the mean over the first exceeds the bound.
    """
    verdict = _compared(theorem, instance, FEW)
    if verdict.kind == "undecided" and verdict.ratio > 1:
        return _compared(theorem, instance, MANY)
    return verdict


def _compared(theorem: Theorem, instance: Instance, runs: int) -> Verdict:
    history = instance.run(seeds=runs, evaluate_every=1, progress=False)
    return compare(history, theorem, confidence=1 - ERROR)


def noisy_witness(theorem: Theorem) -> Verdict | None:
    """Return the verdict on the first problem of :func:`biased_by_noise` that refutes.

    Large problems are left out.
    """
    for instance in biased_by_noise(theorem):
        if instance.rounds * instance.task.m**2 <= MOST_WORK:
            verdict = exceeded(theorem, instance)
            if verdict.kind == "violated":
                return verdict
    return None


__all__ = ["CROWDS", "biased_by_noise", "exceeded", "noisy_witness"]
