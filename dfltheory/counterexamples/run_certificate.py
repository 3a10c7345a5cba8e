"""Counterexamples that are decided by independent runs alone.

They have noise and gradients that are not affine, so that their exact expectation is
unknown. The mean over the runs refutes a bound if its lower confidence limit exceeds
the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfltheory.counterexamples.certificate import Certificate, ConditionSlack
from dfltheory.counterexamples.crowds import CROWDS
from dfltheory.verdicts.compare import compare

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.instance import Instance
    from dfltheory.verdicts.verdict import Verdict

JOINT_ERROR = 0.001
"""Largest probability that a search refutes a true statement by runs. It is divided
equally among all crowds, of which each is tested at most once.
"""
RUNS_CONFIDENCE = 1 - 2 * JOINT_ERROR / len(CROWDS)
"""Confidence of the interval of one test. Its lower limit is above the mean with a
probability of at most half of the remainder, whatever the distribution of the runs.
"""


def verdict_on_runs(instance: Instance, theorem: Theorem) -> Verdict:
    """Compare the independent runs of an instance with a statement."""
    run = instance.run(evaluate_every=1, progress=False)
    return compare(run, theorem, confidence=RUNS_CONFIDENCE)


def certify_by_runs_alone(instance: Instance, theorem: Theorem) -> Certificate:
    """Return the certificate of an instance without an exact expectation."""
    verdict = verdict_on_runs(instance, theorem)
    core = {
        "rounds": verdict.rounds,
        "T": verdict.rounds,
        "ratio": verdict.ratio,
        "low": verdict.ratio_ci[0],
        "measured": verdict.measured.estimate,
        "bound": verdict.bound,
        "seeds": verdict.seeds,
        "still": False,
    }
    obstacles, undecided = [], []
    if verdict.kind == "not applicable":
        obstacles.append(verdict.reason)
    elif core["low"] > 1 and verdict.kind != "violated":  # due to rounding errors
        undecided.append(verdict.reason)
    return Certificate(
        None, core, None, _conditions(theorem, verdict), obstacles, undecided
    )


def _conditions(theorem: Theorem, verdict: Verdict) -> list[ConditionSlack]:
    """Return each condition with its slack; none if the theorem does not apply."""
    if not verdict.at:
        return []
    return [
        {"condition": condition.name, "slack": float(slack), "holds": bool(holds)}
        for condition, slack, holds in theorem.check_conditions(**verdict.at)
    ]


__all__ = ["certify_by_runs_alone", "verdict_on_runs"]
