"""A theorem's left-hand side, as measured by one run or one experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.exact import average_over, exactly
from dfltheory.training.history import History
from dfltheory.training.instance import Instance
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic
from dfltheory.verdicts.run_values import RunValues, run_values

_CLOSED_FORM_ROUNDS = 200
"""Horizon beyond which a mean over rounds is computed in closed form, where there is
one.
"""
_CLOSED_FORM_CLIENTS = 16
"""Largest number of clients for a closed form, which needs the map of all second
moments.
"""
_MOST_ROUNDS = 10**5
"""Largest horizon that is simulated round by round."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The left-hand side at one point.

    Attributes
    ----------
    estimate : float
    deviations : (seeds,) array or None
        Relative deviation of each seed from the estimate; None where nothing is random.
    values : mapping
        The run's values by glossary name.
    """

    estimate: float
    deviations: NDArray[np.float64] | None
    values: Mapping[str, float]


def measure(run: History | Instance | Measured, theorem: Theorem) -> Measured:
    """Return what a run or an experiment measures of a theorem's left-hand side.

    An experiment gives its exact expectations where they can be computed, else it is
    run with its seeds.

    Raises
    ------
    InputError
        If the run diverged or measured no round of the left-hand side, or if an
        experiment is too long to be simulated.
    """
    if isinstance(run, Measured):
        return run
    if isinstance(run, Instance):
        return _measure_experiment(run, theorem)
    left = LeftHandSide(run, theorem)
    if not left.samples.size:
        raise InputError(f"the run measured no round that {theorem} is about")
    if theorem.lhs.aggregate == "sum" and left.unmeasured:
        raise InputError(f"{theorem}: {left.unmeasured}")
    means = left.columns.mean(axis=0)
    # for a minimum (maximum) over rounds, the seeds deviate at the round of the least
    # (largest) mean
    per_seed = left.columns[:, means.argmax() if left.is_maximum else means.argmin()]
    estimate = float(per_seed.mean())
    if not np.isfinite(estimate):
        raise InputError("the run diverged: it has no exponent")
    deviations = None
    if len(per_seed) > 1 and estimate != 0 and not is_deterministic(run):
        deviations = per_seed / estimate - 1
    return Measured(estimate, deviations, _means(run_values(run, theorem)))


def together(points: Sequence[Measured]) -> NDArray[np.float64] | None:
    """Return the deviations of all points, (seeds, points).

    None if nothing is random at any point.
    """
    known = {len(p.deviations) for p in points if p.deviations is not None}
    if not known:
        return None
    if len(known) > 1:
        raise InputError(
            f"all points need the same number of seeds, not {sorted(known)}"
        )
    zero = np.zeros(known.pop())
    return np.stack(
        [zero if p.deviations is None else p.deviations for p in points], axis=1
    )


def known_values(experiment: Instance, theorem: Theorem) -> dict[str, float]:
    """Return the values of an experiment by glossary name.

    They come from its first two rounds.
    """
    run = _expectation(replace(experiment, rounds=2))
    run.rounds = experiment.rounds
    return _means(run_values(run, theorem))


def mean_in_closed_form(experiment: Instance, theorem: Theorem) -> float | None:
    """Return a mean or a sum over the rounds 0..T-1, at any horizon T.

    Returns
    -------
    float or None
        None for other left-hand sides and for experiments without a closed form: SAM,
        other tasks than quadratics, changing networks, more than 16 clients.
    """
    lhs = theorem.lhs
    over_all_rounds = lhs.aggregate in ("mean", "sum") and lhs.rounds(2) == range(2)
    if (
        not over_all_rounds
        or experiment.task.m > _CLOSED_FORM_CLIENTS
        or _has_ascent_step(experiment)
    ):
        return None
    try:
        with np.errstate(all="ignore"):  # where the experiment diverges
            means = average_over(
                experiment.algorithm,
                experiment.task,
                experiment.network,
                experiment.rounds,
                experiment.x0,
            )
    except InputError:  # not an affine recursion, or too large
        return None
    summands = len(lhs.rounds(experiment.rounds)) if lhs.aggregate == "sum" else 1
    return summands * means[lhs.measure] if lhs.measure in means else None


def _measure_experiment(experiment: Instance, theorem: Theorem) -> Measured:
    if experiment.rounds > _CLOSED_FORM_ROUNDS:
        estimate = mean_in_closed_form(experiment, theorem)
        if estimate is not None and not np.isfinite(estimate):
            raise InputError("the experiment diverges: it has no exponent")
        if estimate is not None:
            return Measured(estimate, None, known_values(experiment, theorem))
    if experiment.rounds > _MOST_ROUNDS:
        raise InputError(
            f"T = {experiment.rounds} rounds are too many to simulate: take T <="
            f" {_MOST_ROUNDS} (longer horizons need means or sums over all rounds,"
            f" without SAM, of at most {_CLOSED_FORM_CLIENTS} quadratic clients)"
        )
    return measure(_expectation(experiment), theorem)


def _expectation(experiment: Instance) -> History:
    """Return exact expectations where they can be computed, else sampled runs."""
    if _has_ascent_step(experiment):
        return experiment.run(progress=False)
    try:
        return exactly(experiment)
    except InputError:  # not an affine recursion
        return experiment.run(progress=False)


def _has_ascent_step(experiment: Instance) -> bool:
    """Return whether the algorithm uses SAM.

    Its round is not affine however small rho is.
    """
    return experiment.algorithm.theory_values().get("rho", 0.0) > 0


def _means(values: RunValues) -> dict[str, float]:
    """Return values by glossary name, means over seeds."""
    return {name: float(np.mean(value)) for name, value in values.items()}
