"""The left-hand side of a theorem, measured in one run or one experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.exact import average_over, exactly
from dfltheory.training.history import History
from dfltheory.training.instance import Instance
from dfltheory.verdicts.applicability import obstacle_of
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic
from dfltheory.verdicts.run_values import RunValues, run_values

_CLOSED_FORM_ROUNDS = 200
"""Horizon above which a mean over rounds is computed in closed form, if possible."""
_CLOSED_FORM_CLIENTS = 16
"""Largest number of clients for the closed form, which needs all second moments."""
_MOST_ROUNDS = 10**5
"""Largest horizon that is simulated round by round."""
_ROUNDING_SHARE = 0.01
"""Largest relative rounding error of a point in a fit."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The left-hand side at one point.

    Attributes
    ----------
    estimate : float
        The left-hand side, a mean over seeds or an expectation.
    deviations : (seeds,) array or None
        Relative deviation of each seed from the estimate; None if nothing is random.
    values : mapping
        The run's values by glossary name, means over seeds.
    obstacle : str or None
        Why the theorem does not cover the run, regardless of its step sizes.
    rounded : bool
        Whether rounding may change the estimate by more than 1 %, as for gradients near
        the resolution of the floating-point type.
    """

    estimate: float
    deviations: NDArray[np.float64] | None
    values: Mapping[str, float]
    obstacle: str | None = None
    rounded: bool = False


def measure(run: History | Instance | Measured, theorem: Theorem) -> Measured:
    """Measure a theorem's left-hand side in a run or an experiment.

    For an experiment, exact expectations are computed if possible; otherwise it is run
    with its seeds. What is measured already is returned unchanged.

    Raises
    ------
    InputError
        If the run diverged or did not measure every round of the left-hand side, or if
        an experiment is too long to be simulated.
    """
    if isinstance(run, Measured):
        return run
    if isinstance(run, Instance):
        return _measure_experiment(run, theorem)
    left = LeftHandSide(run, theorem)
    if left.missing is not None:
        raise InputError(f"{theorem}: {left.missing.message}")
    means = left.columns.mean(axis=0)
    # for a minimum or maximum over rounds, use the round of the extreme mean
    per_seed = left.columns[:, means.argmax() if left.is_maximum else means.argmin()]
    estimate = float(per_seed.mean())
    if not np.isfinite(estimate):
        raise InputError("the run diverged: it has no exponent")
    if not left.complete:
        planned = len(theorem.lhs.rounds(run.rounds))
        raise InputError(
            f"{theorem} concerns {planned} rounds, but the run measured only"
            f" {left.rounds.size} of them: train with evaluate_every = 1"
        )
    deviations = None
    if len(per_seed) > 1 and estimate != 0 and not is_deterministic(run):
        deviations = per_seed / estimate - 1
    values = run_values(run, theorem)
    return Measured(
        estimate,
        deviations,
        _means(values),
        _obstacle(run, theorem, values) or left.unknown,
        _is_rounded(left, estimate),
    )


def _is_rounded(left: LeftHandSide, estimate: float) -> bool:
    """Return whether rounding may change a value by more than 1 %."""
    lowest, highest = float(left.lowered(estimate)), float(left.raised(estimate))
    tolerance = _ROUNDING_SHARE * estimate
    return lowest < estimate - tolerance or highest > estimate + tolerance


def _obstacle(run: History, theorem: Theorem, values: RunValues) -> str | None:
    """Return why the theorem does not cover the run, or None.

    As in `compare`, except that constant factors do not change an exponent: a rate
    needs neither the constants of an O(.), nor constants that only the bound contains,
    nor exactly the scheduled step sizes.
    """
    conditions = symbol_names(
        theorem.expand(side) for c in theorem.conditions for side in (c.left, c.right)
    )
    known = {
        name: value
        for name, value in values.items()
        if name in theorem.needs or name not in theorem.schedule
    }
    for name in set(theorem.needs) - conditions - {"B"}:
        if not np.isfinite(known.get(name, np.nan)).all():
            known[name] = 1.0  # any finite value, because only the bound contains it
    stated = replace(theorem, order=False) if theorem.order else theorem
    return obstacle_of(run, stated, known)


def stacked_deviations(points: Sequence[Measured]) -> NDArray[np.float64] | None:
    """Return the deviations of all points as one array (seeds, points).

    None if nothing is random. InputError if the points have different numbers of seeds.
    """
    known = {len(p.deviations) for p in points if p.deviations is not None}
    if not known:
        return None
    if len(known) > 1:
        raise InputError(
            f"all points need the same number of seeds, not {sorted(known)}"
        )
    # a point without randomness does not deviate
    zero = np.zeros(known.pop())
    return np.stack(
        [zero if p.deviations is None else p.deviations for p in points], axis=1
    )


def known_values(experiment: Instance, theorem: Theorem) -> dict[str, float]:
    """Return an experiment's values by glossary name, from its first two rounds."""
    return _means(run_values(_first_rounds(experiment), theorem))


def _first_rounds(experiment: Instance) -> History:
    """Run two rounds of an experiment, but report its full number of rounds."""
    run = _expectation(replace(experiment, rounds=2))
    run.rounds = experiment.rounds
    return run


def mean_in_closed_form(experiment: Instance, theorem: Theorem) -> float | None:
    """Return a mean or sum over the rounds 0..T-1 in closed form, for any horizon T.

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
        with np.errstate(all="ignore"):  # the experiment may diverge
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
    """Return the left-hand side in closed form for long horizons, else by rounds."""
    if experiment.rounds > _CLOSED_FORM_ROUNDS:
        estimate = mean_in_closed_form(experiment, theorem)
        if estimate is not None and not np.isfinite(estimate):
            raise InputError("the experiment diverges: it has no exponent")
        if estimate is not None:
            run = _first_rounds(experiment)
            values = run_values(run, theorem)
            obstacle = _obstacle(run, theorem, values)
            return Measured(estimate, None, _means(values), obstacle)
    if experiment.rounds > _MOST_ROUNDS:
        raise InputError(
            f"T = {experiment.rounds} rounds are too many to simulate: use T <="
            f" {_MOST_ROUNDS} (longer horizons need means or sums over all rounds,"
            f" without SAM, of at most {_CLOSED_FORM_CLIENTS} quadratic clients)"
        )
    return measure(_expectation(experiment), theorem)


def _expectation(experiment: Instance) -> History:
    """Return exact expectations if they can be computed, else sampled runs."""
    if _has_ascent_step(experiment):
        return experiment.run(progress=False)
    try:
        return exactly(experiment)
    except InputError:  # not an affine recursion
        return experiment.run(progress=False)


def _has_ascent_step(experiment: Instance) -> bool:
    """Return whether the algorithm uses SAM, whose rounds are never affine."""
    return experiment.algorithm.theory_values().get("rho", 0.0) > 0


def _means(values: RunValues) -> dict[str, float]:
    """Return the mean over seeds of each value."""
    return {name: float(np.mean(value)) for name, value in values.items()}
