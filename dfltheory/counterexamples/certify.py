"""Confirmation of a counterexample by the training core.

The core runs the instance up to its horizon, or to a shorter one if that suffices.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import SIMULATED, counterexample_values
from dfltheory.counterexamples.certificate import Certificate, ConditionSlack
from dfltheory.counterexamples.confirm import abnormal, unconfirmed
from dfltheory.counterexamples.core import FULL
from dfltheory.counterexamples.core_evaluation import (
    deterministic_result,
    lowered_measure,
    noisy_result,
)
from dfltheory.counterexamples.long_noise import (
    ParabolaBlocks,
    closed_form_left,
    noisy_blocks,
)
from dfltheory.counterexamples.networks import group_means_suffice
from dfltheory.counterexamples.problems import RampTask, has_exact_expectation
from dfltheory.counterexamples.run_certificate import certify_by_runs_alone
from dfltheory.counterexamples.score import at_horizon, ratio_at
from dfltheory.counterexamples.shared_numbers import requires_schedule
from dfltheory.verdicts.applicability import obstacle_of
from dfltheory.verdicts.measures import METRICS
from dfltheory.verdicts.rounding import bound_error
from dfltheory.verdicts.value_sources import Values

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History
    from dfltheory.training.instance import Instance

CORE_ROUNDS = (300, 3000, FULL)
"""Numbers of rounds that the core runs, tried in turn until the bound is exceeded."""
FIRST_RUNS = (16, 64)
"""Numbers of independent runs of an instance with noise that are tried first. They
suffice if the bound is exceeded by a wide margin, and the first if the exact
expectation does not exceed the bound.
"""
RUN_LIMITS = ((4000, 40000), (20000, 80000))
"""Largest number of further runs, and of their rounds in total. The second pair is used
if the mean exceeds the bound but its lower confidence limit does not.
"""
CERTIFICATE_CONFIDENCE = 0.999
"""Confidence of the lower limit, jointly over all numbers of runs that are tried."""
FIRST_ROUNDS = 32
"""Number of rounds that the core runs if the whole run is known in closed form."""
MOST_STANDARD_ERRORS = 5.0
"""Largest difference of their mean from the closed form, in standard errors."""
CERTIFICATE_MARGIN = 1e-6
"""Relative rounding error that is allowed for the closed form."""
SIGN_RUNS = 16
"""Number of runs that must agree if the result is the same for both signs of the noise.
"""


def certify(instance: Instance, theorem: Theorem) -> Certificate:
    """Evaluate an instance by its exact expectation and by the training core.

    The assumptions and conditions of the theorem are checked, too. Runs with noise that
    are too long for the core are evaluated in closed form (:mod:`.long_noise`), and the
    core runs their first rounds. If the exact expectation is unknown, the certificate
    does not contain it, and runs alone decide (:mod:`.run_certificate`).
    """
    task = instance.task
    if isinstance(task, RampTask) and not has_exact_expectation(task):
        return certify_by_runs_alone(instance, theorem)
    blocks = noisy_blocks(instance)
    if blocks is not None:
        return _certify_in_closed_form(instance, theorem, blocks)
    return _certify_by_runs(instance, theorem)


def _certify_by_runs(instance: Instance, theorem: Theorem) -> Certificate:
    batch = _batch(instance, theorem)
    evaluation = _decisive_evaluation(instance, theorem, batch)
    obstacles, conditions = _check_scope(evaluation.run, theorem, evaluation.values)
    obstacles += _further_obstacles(theorem, batch, evaluation)
    certificate = Certificate(
        evaluation.exact,
        evaluation.core,
        evaluation.core_at_horizon,
        conditions,
        obstacles,
    )
    doubts = _doubts(theorem, evaluation.values, certificate)
    return replace(certificate, undecided=doubts)


def _certify_in_closed_form(
    instance: Instance, theorem: Theorem, blocks: ParabolaBlocks
) -> Certificate:
    """Evaluate a long run with noise by its closed form, and its first rounds by runs.

    The core confirms the ratio if the mean of its runs agrees with the closed form over
    the rounds that it runs.
    """
    exact, values, run = _closed_form_sides(instance, theorem, blocks, FIRST_RUNS[-1])
    first = {**values, "T": float(run.rounds)}
    core = noisy_result(run, theorem, first, CERTIFICATE_CONFIDENCE)
    span = theorem.lhs.rounds(run.rounds)
    samples = lowered_measure(run, theorem)[:, span.start : span.stop].mean(1)
    standard_error = float(samples.std(ddof=1)) / len(samples) ** 0.5
    formula = closed_form_left(theorem, blocks, values, run.rounds)
    deviation = abs(float(samples.mean()) - formula)
    allowed = MOST_STANDARD_ERRORS * standard_error
    at_T = exact["ratio"] if deviation <= allowed else None
    obstacles, conditions = _check_scope(run, theorem, values)
    if 1 < exact["ratio"] <= 1 + CERTIFICATE_MARGIN:
        obstacles.append(
            f"it exceeds the bound by a relative {exact['ratio'] - 1:.1g}, which may be"
            f" a rounding error of the closed form (up to {CERTIFICATE_MARGIN:g})"
        )
    certificate = Certificate(exact, core, at_T, conditions, obstacles)
    return replace(certificate, undecided=_doubts(theorem, values, certificate))


def _closed_form_sides(
    instance: Instance, theorem: Theorem, blocks: ParabolaBlocks, seeds: int
) -> tuple[dict[str, float], Values, History]:
    """Return both sides by the closed form, the values, and runs of the first rounds.

    The bound is infinite if a quantity depends on rounds that are not run.
    """
    T = instance.rounds
    run = _measured_run(instance, theorem, FIRST_ROUNDS, seeds)
    batch = _batch(instance, theorem)
    values = counterexample_values(run, theorem, batch, FIRST_ROUNDS) | {"T": float(T)}
    measured = closed_form_left(theorem, blocks, values, T)
    bound = ratio_at(theorem, np.zeros(1), values, T)["bound"]
    if "S2" in theorem.needs:  # the largest second moment is that of a late round
        bound = float("inf")
    ratio = measured / bound if bound > 0 else float("inf")
    exact: dict[str, float] = {
        "T": T,
        "measured": measured,
        "bound": bound,
        "ratio": ratio,
        "still": False,
    }
    return exact, values, run


def _measured_run(
    instance: Instance, theorem: Theorem, rounds: int, seeds: int
) -> History:
    """Run the training core, with every round measured."""
    measure = theorem.lhs.measure
    return instance.run(
        rounds=rounds,
        seeds=seeds,
        evaluate_every=1,
        progress=False,
        metrics=[METRICS[measure]] if measure in METRICS else [],
    )


def _batch(instance: Instance, theorem: Theorem) -> CandidateBatch:
    """Return the instance as a batch of one candidate.

    Each group of identical clients is reduced to one client if that is exact.
    """
    batch = CandidateBatch.of(instance)
    return batch.grouped() if group_means_suffice(theorem) else batch


def _numbers_of_runs(batch: CandidateBatch, T: int) -> list[int]:
    """Return the numbers of independent runs to try, in order."""
    if batch.noise_ramps is not None:
        return [SIGN_RUNS]
    if not batch.is_random:
        return [1]
    return sorted({*FIRST_RUNS, *(_runs(T, *most) for most in RUN_LIMITS)})


def _runs(T: int, most: int, rounds: int) -> int:
    """Return a number of runs at horizon T.

    It is at most ``most``, and at most ``rounds`` in total unless that allows fewer
    than ``FIRST_RUNS[-1]`` runs.
    """
    return min(most, max(FIRST_RUNS[-1], rounds // T))


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """The exact expectation of an instance and one run of the core.

    ``exact``, ``core`` and ``core_at_horizon`` are those of :class:`Certificate`.
    ``period`` is the number of final rounds that repeat in the exact expectation, and
    ``bound_error`` is the relative rounding error of the bound.
    """

    run: History
    values: Values
    exact: dict[str, float]
    core: dict[str, float]
    core_at_horizon: float | None
    period: int
    bound_error: float


def _decisive_evaluation(
    instance: Instance, theorem: Theorem, batch: CandidateBatch
) -> _Evaluation:
    """Run the core with more rounds or runs until these cannot change the verdict."""
    T = instance.rounds
    numbers_of_runs = _numbers_of_runs(batch, T)
    confidence = 1 - (1 - CERTIFICATE_CONFIDENCE) / len(numbers_of_runs)
    enough = _runs(T, *RUN_LIMITS[0]) if batch.is_random else numbers_of_runs[0]
    in_full = batch.is_random or (requires_schedule(theorem) and T <= SIMULATED)
    numbers_of_rounds = (T,) if in_full else CORE_ROUNDS
    latest: _Evaluation | None = None
    for rounds, seeds in itertools.product(numbers_of_rounds, numbers_of_runs):
        run = _measured_run(instance, theorem, rounds, seeds)
        latest = _evaluation(run, theorem, batch, T, confidence, latest)
        if _decides(latest, batch, T, seeds >= enough):
            break
    assert latest is not None  # the first numbers of rounds and runs are always tried
    return latest


def _evaluation(
    run: History,
    theorem: Theorem,
    batch: CandidateBatch,
    T: int,
    confidence: float,
    previous: _Evaluation | None,
) -> _Evaluation:
    """Evaluate one run of the core.

    Without noise, the exact expectation is that of the ``previous`` evaluation.
    """
    if previous is None or batch.is_random:
        values = counterexample_values(run, theorem, batch, T)
        exact, period = at_horizon(theorem, batch, values, T)
    else:
        values, exact, period = previous.values, previous.exact, previous.period
    if batch.is_random:
        core, at_T = noisy_result(run, theorem, values, confidence), None
    else:
        # the step sizes of a schedule belong to the horizon T
        core, at_T = deterministic_result(
            run, theorem, values, batch, T, requires_schedule(theorem), period
        )
    bound_error = _relative_error(theorem, values, exact)
    return _Evaluation(run, values, exact, core, at_T, period, bound_error)


def _decides(
    evaluation: _Evaluation, batch: CandidateBatch, T: int, enough_runs: bool
) -> bool:
    """Return whether more runs or rounds cannot change the verdict."""
    if evaluation.exact["ratio"] <= 1.0:
        return True
    core, at_T = evaluation.core, evaluation.core_at_horizon
    exceeds = max(core.get("low", core["ratio"]), at_T or 0.0) > 1.0
    # the bound must also be exceeded at the instance's horizon if it can be run
    exceeds &= batch.is_random or at_T is not None or T > FULL
    if exceeds or not enough_runs:
        return exceeds
    if evaluation.exact["ratio"] <= 1.0 + evaluation.bound_error:
        return True
    return batch.is_random and core["ratio"] <= 1.0


def _further_obstacles(
    theorem: Theorem, batch: CandidateBatch, evaluation: _Evaluation
) -> list[str]:
    """Return obstacles due to rounding errors or to noise that depends on the state."""
    obstacles = []
    ratio, bound_error = evaluation.exact["ratio"], evaluation.bound_error
    if 1 < ratio <= 1 + bound_error:
        obstacles.append(
            f"it exceeds the bound by a relative {ratio - 1:.1g}, which may be"
            f" a rounding error (up to {bound_error:.1g})"
        )
    if batch.noise_ramps is None:
        return obstacles
    if theorem.scope.samplewise:
        obstacles.append(
            "it assumes that samples are as smooth as the clients, but this noise"
            " depends on the state"
        )
    data = lowered_measure(evaluation.run, theorem)
    if np.ptp(data, axis=0).max() > 1e-9 * data.max():
        obstacles.append(
            "its runs depend on the random signs of the noise, and the exact"
            " expectation covers only one of them"
        )
    return obstacles


def exact_expectation(
    instance: Instance, theorem: Theorem
) -> tuple[dict[str, float], list[str]]:
    """Return the exact expectation at the horizon, and the obstacles.

    Constants and conditions are those of :func:`certify`, from a short run. The
    training core does not confirm the ratio.

    Returns
    -------
    dict
        ``ratio, measured, bound, T, still``.
    list of str
        Why the theorem does not cover the instance, including a ratio that may exceed 1
        only because of rounding.
    """
    blocks = noisy_blocks(instance, longer_than=CORE_ROUNDS[0])
    if blocks is not None:
        exact, values, run = _closed_form_sides(instance, theorem, blocks, 1)
        return exact, _check_scope(run, theorem, values)[0]
    batch, T = _batch(instance, theorem), instance.rounds
    in_full = batch.is_random or (requires_schedule(theorem) and T <= SIMULATED)
    run = _measured_run(instance, theorem, T if in_full else CORE_ROUNDS[0], 1)
    values = counterexample_values(run, theorem, batch, T)
    exact, _ = at_horizon(theorem, batch, values, T)
    off = _relative_error(theorem, values, exact)
    obstacles, _ = _check_scope(run, theorem, values)
    if 1 < exact["ratio"] <= 1 + off:
        obstacles.append(f"the bound has a relative rounding error of up to {off:.1g}")
    if theorem.scope.samplewise and batch.noise_ramps is not None:
        obstacles.append("it assumes that samples are as smooth as the clients")
    return exact, obstacles


def _relative_error(theorem: Theorem, values: Values, exact: dict[str, float]) -> float:
    """Return the relative rounding error of the bound if it is exceeded, else 0."""
    if not (exact["ratio"] > 1 and exact["bound"]):
        return 0.0
    return float(bound_error(theorem, values)) / exact["bound"]


def _doubts(theorem: Theorem, values: Values, certificate: Certificate) -> list[str]:
    """Return why floating point cannot decide; empty if it can.

    Reasons are numbers close to overflow or underflow, or a refutation that is not
    confirmed at 50 digits.
    """
    exact, core = certificate.sides, certificate.core
    at_horizon = values | {"T": exact["T"]}
    doubts = abnormal(theorem, at_horizon, exact)
    if doubts or not certificate.suspected:
        return doubts
    doubts = unconfirmed(theorem, at_horizon, exact["bound"], exact["measured"])
    at_once = certificate.core_at_horizon
    if at_once is not None and at_once > 1:
        return doubts
    core_measured = core.get("low", core["ratio"]) * core["bound"]
    at_core = values | {"T": core["T"]}
    return doubts + unconfirmed(
        theorem, at_core, core["bound"], core_measured, conditions=False
    )


def _check_scope(
    run: History, theorem: Theorem, values: Values
) -> tuple[list[str], list[ConditionSlack]]:
    """Return why the theorem does not cover the run, and each condition's slack."""
    outside = obstacle_of(run, theorem, values)
    if any(name not in values for name in theorem.needs):
        return [outside or "some quantity is unknown"], []
    needed = {name: values[name] for name in theorem.needs}
    conditions: list[ConditionSlack] = [
        {"condition": c.name, "slack": float(np.asarray(slack)), "holds": bool(ok)}
        for c, slack, ok in theorem.check_conditions(**needed)
    ]
    broken = [
        f"condition {c['condition']} fails by {-c['slack']:.3g}"
        for c in conditions
        if not c["holds"]
    ]
    return broken or ([] if outside is None else [outside]), conditions


__all__ = ["certify", "exact_expectation"]
