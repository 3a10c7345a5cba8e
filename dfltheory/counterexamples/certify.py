"""Confirmation of a counterexample by the training core.

The core runs the instance up to its horizon, or to a shorter one if that suffices.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from dfltheory import number_format as numerals
from dfltheory.counterexamples.batch import Batch
from dfltheory.counterexamples.candidate_values import SIMULATED, counterexample_values
from dfltheory.counterexamples.confirm import abnormal, unconfirmed
from dfltheory.counterexamples.core import FULL
from dfltheory.counterexamples.core_evaluation import (
    deterministic_result,
    lowered_measure,
    noisy_result,
)
from dfltheory.counterexamples.networks import group_means_suffice
from dfltheory.counterexamples.score import at_horizon
from dfltheory.counterexamples.shared_numbers import scheduled
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
suffice if the bound is exceeded by a wide margin.
"""
RUN_LIMITS = ((4000, 40000), (20000, 80000))
"""Largest number of further runs, and of their rounds in total. The second pair is used
if the mean exceeds the bound but its lower confidence limit does not.
"""
CONFIDENCE = 0.999
"""Confidence of the lower limit, jointly over all numbers of runs that are tried."""
SIGN_RUNS = 16
"""Number of runs that must agree if the result is the same for both signs of the noise.
"""


class ConditionSlack(TypedDict):
    """One condition of a theorem at an instance."""

    condition: str
    slack: float
    holds: bool


@dataclass(frozen=True)
class Certificate:
    """Two independent evaluations of an instance, and whether the theorem covers it.

    They are the exact expectation in floating point, and runs of the training core.

    Attributes
    ----------
    exact : dict
        ``ratio, measured, bound`` at the horizon ``T`` of the instance.
    core : dict
        ``rounds`` that were run; ``measured, bound, ratio`` at the horizon ``T`` of the
        ratio; with noise ``low``, the lower confidence limit; and ``still``, whether
        the state is stationary, so that the measure is known in all later rounds.
    core_at_horizon : float or None
        The core's ratio at the horizon of the instance, if it ran that far or is
        stationary, or if the rounds that it ran alone exceed the bound there.
    conditions : list of dict
        Each condition with its slack.
    obstacles : list of str
        Why the theorem does not cover the instance; empty if it does.
    undecided : list of str
        Why floating point cannot decide (:mod:`.confirm`); empty if it can.
    """

    exact: dict[str, float]
    core: dict[str, float]
    core_at_horizon: float | None
    conditions: list[ConditionSlack] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return core_says(asdict(self))

    @property
    def violated(self) -> bool:
        """Whether the instance refutes the statement, confirmed at 50 digits.

        It does if both evaluations exceed the bound and the theorem covers the
        instance.
        """
        return self.suspected and not self.undecided

    @property
    def suspected(self) -> bool:
        """Whether the instance refutes the statement in floating point.

        It does if both evaluations exceed the bound and the theorem covers the
        instance.
        """
        core_ratio = max(
            self.core.get("low", self.core["ratio"]), self.core_at_horizon or 0.0
        )
        return not self.obstacles and self.exact["ratio"] > 1 and core_ratio > 1


def core_says(certificate: Mapping[str, Any]) -> str:
    """Describe the result of the training core in words.

    Parameters
    ----------
    certificate : mapping
        ``exact``, ``core`` and ``core_at_horizon`` of a certificate.
    """
    core, same = certificate["core"], certificate.get("core_at_horizon")
    T = int(certificate["exact"]["T"])
    if same is not None:
        if core["rounds"] >= T:
            reason = "run in full"
        elif core["still"]:
            reason = f"its state repeats after {core['rounds']:.0f} rounds"
        else:
            reason = f"by its first {core['rounds']:.0f} rounds alone"
        return f"{number(same)} at T = {T} ({reason})"
    row = (
        f"{number(core['ratio'])} at T = {core['T']:.0f}, {number(core['measured'])}"
        f" against the bound {number(core['bound'])}"
    )
    if core.get("low") is None:
        return row
    return f"{row}, and at least {number(core['low'])} with confidence 99.9 %"


def number(value: float) -> str:
    """Return a number with four digits; ``none`` for nan."""
    return numerals.number(float(value), 4, "none")


def certify(instance: Instance, theorem: Theorem) -> Certificate:
    """Evaluate an instance by its exact expectation and by the training core.

    The assumptions and conditions of the theorem are checked, too.
    """
    batch, T = _batch(instance, theorem), instance.rounds
    noisy = batch.is_random
    only = noisy or scheduled(theorem)  # the step sizes belong to this horizon
    several = _numbers_of_runs(batch, T)
    confidence = 1 - (1 - CONFIDENCE) / len(several)
    enough = _runs(T, *RUN_LIMITS[0]) if noisy else several[0]
    exact: dict[str, float] = {}
    core: dict[str, float] = {}
    at_T, period = None, 0
    off = 0.0  # relative error of the bound from rounding of the constants
    values: Values = {}
    run: History | None = None
    at_once = noisy or (only and T <= SIMULATED)
    for rounds, seeds in itertools.product((T,) if at_once else CORE_ROUNDS, several):
        if exact and exact["ratio"] <= 1.0 and seeds < enough:
            continue
        run = _measured_run(instance, theorem, rounds, seeds)
        if noisy or not values:
            values = counterexample_values(run, theorem, batch, T)
            exact, period = at_horizon(theorem, batch, values, T)
        off = _relative_error(theorem, values, exact)
        if noisy:
            core, at_T = noisy_result(run, theorem, values, confidence), None
        else:
            core, at_T = deterministic_result(
                run, theorem, values, batch, T, only, period
            )
        exceeds = max(core.get("low", core["ratio"]), at_T or 0.0) > 1.0
        # the bound must also be exceeded at the instance's horizon if it can be run
        exceeds &= noisy or at_T is not None or T > FULL
        if seeds < enough and not exceeds:
            continue
        # more runs or rounds cannot change the verdict
        if exceeds or exact["ratio"] <= 1.0 + off or (noisy and core["ratio"] <= 1.0):
            break
    assert run is not None  # the first numbers of rounds and runs are always tried
    obstacles, conditions = _check_scope(run, theorem, values)
    if 1 < exact["ratio"] <= 1 + off:
        obstacles.append(
            f"it exceeds the bound by a relative {exact['ratio'] - 1:.1g}, which may be"
            f" a rounding error (up to {off:.1g})"
        )
    if theorem.scope.samplewise and batch.noise_ramps is not None:
        obstacles.append(
            "it assumes that samples are as smooth as the clients, but this noise"
            " depends on the state"
        )
    data = lowered_measure(run, theorem)
    if batch.noise_ramps is not None and np.ptp(data, axis=0).max() > 1e-9 * data.max():
        obstacles.append(
            "its runs depend on the random signs of the noise, and the exact"
            " expectation covers only one of them"
        )
    certificate = Certificate(exact, core, at_T, conditions, obstacles)
    return replace(certificate, undecided=_doubts(theorem, values, certificate))


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


def _batch(instance: Instance, theorem: Theorem) -> Batch:
    """Return the instance as a batch of one candidate.

    Each group of identical clients is reduced to one client if that is exact.
    """
    batch = Batch.of(instance)
    return batch.grouped() if group_means_suffice(theorem) else batch


def _numbers_of_runs(batch: Batch, T: int) -> list[int]:
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
    batch, T = _batch(instance, theorem), instance.rounds
    in_full = batch.is_random or (scheduled(theorem) and T <= SIMULATED)
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
    exact, core = certificate.exact, certificate.core
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


__all__ = ["Certificate", "certify", "core_says", "exact_expectation", "number"]
