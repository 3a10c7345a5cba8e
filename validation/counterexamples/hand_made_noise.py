"""Problems with noise, constructed by hand, that refute false versions of statements.

They are those of :mod:`dfltheory.counterexamples.crowds`, some with more clients than a
search can afford. Runs of the training core decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dfltheory.counterexamples.crowds import Crowd, crowd_instance, with_runs
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.instance import Instance

HAND_MADE_CROWDS = (
    Crowd(256, 0.0, 2, 0.45, 0.45, 4000),
    Crowd(256, 0.5, 1, 0.85, 1.0, 4000),
    Crowd(512, 0.98, 1, 0.75, 1.45, 8000),
    Crowd(2048, 0.15, 1, 0.92, 1.05, 200),
)
"""Found by hand."""
MOST_ROUNDS = 50_000
"""Longest run that is proposed."""
MOST_WORK = 10**10
"""Largest product of the rounds and the weights of a network that is run."""
FIRST_NUMBER_OF_RUNS, SECOND_NUMBER_OF_RUNS = 16, 64
"""Numbers of independent runs that are tried, in this order."""
ERROR = 0.001
"""Each of the two lower limits is above the mean with a probability of at most ERROR/2,
so that both are below it with at least 1 - ERROR. This assumes nothing about the
distribution of the runs, and holds for a single problem.
"""


def biased_by_noise(theorem: Theorem) -> Iterator[Instance]:
    """Yield the crowds that a statement covers."""
    for crowd in HAND_MADE_CROWDS:
        instance = crowd_instance(theorem, crowd, MOST_ROUNDS)
        if instance is not None:
            yield instance


def exceeded(theorem: Theorem, instance: Instance) -> Verdict:
    """Compare independent runs of the training core with a statement.

    The verdict is violated if the lower confidence limit of the mean over the runs
    exceeds the bound, and all assumptions and conditions hold. More runs are made only
    if the mean over the first exceeds the bound.
    """
    verdict = _compared(theorem, instance, FIRST_NUMBER_OF_RUNS)
    if verdict.kind == "undecided" and verdict.ratio > 1:
        return _compared(theorem, instance, SECOND_NUMBER_OF_RUNS)
    return verdict


def _compared(theorem: Theorem, instance: Instance, runs: int) -> Verdict:
    history = with_runs(instance, runs).run(progress=False)
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


__all__ = ["HAND_MADE_CROWDS", "biased_by_noise", "exceeded", "noisy_witness"]
