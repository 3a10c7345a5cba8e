"""Both sides of a statement, measured in runs of the training core."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import largest_gradient
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.left_sides import ADDS_UP, sizes_of
from dfltheory.counterexamples.score import FLOOR, ratio_at
from dfltheory.errors import InputError
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import measured, rounds_ahead
from dfltheory.verdicts.rounding import measure_error
from dfltheory.verdicts.statistics import (
    Interval,
    max_interval,
    mean_interval,
    min_interval,
)
from dfltheory.verdicts.value_sources import Values

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

SIGNED_MEASURES = ("loss", "two_block_value")
"""Measures that may be negative, so that unknown rounds cannot count as 0."""
SETTLED_ROUNDS = 200
"""Number of final rounds whose measure may take only a few distinct values if the state
is to count as stationary.
"""


def lowered_measure(run: History, theorem: Theorem) -> np.ndarray:
    """Return the theorem's measure in every round in which it is known, (S, R).

    Values are lower limits that allow for rounding error.
    """
    name = theorem.lhs.measure
    data = measured(run, name)
    if data is None:
        raise InputError(f"the run does not measure {name}, which {theorem} bounds")
    return LeftHandSide(run, theorem).lowered(
        data[:, : run.rounds + 1 - rounds_ahead(name)]
    )


def deterministic_result(
    run: History,
    theorem: Theorem,
    values: Values,
    batch: CandidateBatch,
    T: int,
    only: bool,
    period: int,
) -> tuple[dict[str, float], float | None]:
    """Return the result of a deterministic run at its worst horizon, and at T.

    The second result is the ratio at T, or None if it is unknown. Rounds that were not
    run repeat the last ``period`` ones if both the exact expectation and the run are
    stationary; otherwise they count as 0. The largest value of the rounds that were run
    is a lower limit of a maximum, and is known if it refutes the bound. With ``only``,
    no horizon except T is evaluated.
    """
    data = lowered_measure(run, theorem)[0]
    floor = _floor(theorem, batch, values, data)
    is_stationary = (
        bool(period)
        and len(np.unique(data[-SETTLED_ROUNDS:])) <= 4
        and bool(data[-1] > 0)
    )
    if not is_stationary:
        known, repeats = np.append(data, 0.0), 1
    elif theorem.lhs.measure in ADDS_UP:
        last = _last_value(run, theorem, values, batch, T) if period == 1 else 0.0
        known, repeats = np.append(data, last), 1
    else:
        known, repeats = data, period
    run_horizons: set[int] = set()
    if not only:
        run_horizons = {int(h) for h in np.geomspace(1, run.rounds - 1, 60)}
    rows = {
        horizon: ratio_at(theorem, known, values, horizon, floor, repeats)
        for horizon in sorted(run_horizons | {T})
    }
    reached = rows.keys() if only or run.rounds > T else run_horizons
    best = max((rows[h] for h in sorted(reached)), key=itemgetter("ratio"))
    at_T = rows[T]["ratio"]
    left = theorem.lhs
    refuted = (
        left.aggregate == "max" and left.measure not in SIGNED_MEASURES and at_T > 1
    )
    known_at_T = run.rounds >= T or is_stationary or refuted
    return {
        "rounds": run.rounds,
        **best,
        "still": is_stationary,
    }, at_T if known_at_T else None


def _floor(
    theorem: Theorem, batch: CandidateBatch, values: Values, data: np.ndarray
) -> float:
    """Return the value below which the measure ``data`` counts as zero."""
    if batch.two_blocks:
        return 0.0
    if theorem.lhs.measure in GRADIENT_MEASURES:
        return FLOOR * float(np.max(largest_gradient(theorem, batch, values))) ** 2
    return FLOOR * data.max()


def _last_value(
    run: History, theorem: Theorem, values: Values, batch: CandidateBatch, T: int
) -> np.ndarray:
    """Return a lower limit (1,) of the measure of a stationary state up to horizon T.

    It allows for rounding errors that add up over T rounds.
    """
    sizes = sizes_of(theorem, batch, simulate(batch, 1), values, T)
    largest = 0.0 if run.model_sq is None else np.sqrt(run.model_sq.max())
    sizes = replace(sizes, size=np.maximum(sizes.size, largest))
    last_round = lowered_measure(run, theorem)[0][-1:]
    return measure_error(theorem.lhs, sizes).lowered(last_round)


def noisy_result(
    run: History, theorem: Theorem, values: Values, confidence: float
) -> dict[str, float]:
    """Return the mean over seeds, its lower confidence limit, and the bound.

    The keys are those of :attr:`.certificate.Certificate.core`.
    """
    T, span = run.rounds, theorem.lhs.rounds(run.rounds)
    left = _interval(
        theorem, lowered_measure(run, theorem)[:, span.start : span.stop], confidence
    )
    bound = ratio_at(theorem, np.zeros(1), values, T)["bound"]
    return {
        "rounds": T,
        "T": T,
        "ratio": left.estimate / bound,
        "low": left.low / bound,
        "measured": left.estimate,
        "bound": bound,
        "seeds": run.seeds,
        "still": False,
    }


def _interval(theorem: Theorem, samples: np.ndarray, confidence: float) -> Interval:
    """Return the confidence interval of the left-hand side.

    ``samples`` (S, R) is the measure of S runs in every round.
    """
    match theorem.lhs.aggregate:
        case "min":
            return min_interval(samples, confidence)
        case "max":
            return max_interval(samples, confidence)
        case "mean" | "last":
            return mean_interval(samples, confidence)
        case "sum":
            return mean_interval(samples.sum(axis=1, keepdims=True), confidence)
    raise InputError(
        f"{theorem}: the aggregate {theorem.lhs.aggregate!r} has no interval"
    )


__all__ = ["deterministic_result", "lowered_measure", "noisy_result"]
