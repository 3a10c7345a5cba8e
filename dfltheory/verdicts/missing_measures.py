"""What a run did not measure of a left-hand side, and how it is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.theorem import LeftSide
from dfltheory.verdicts.measures import METRICS, FloatOrArray, measured

if TYPE_CHECKING:
    from dfltheory.training.history import History

EVERY_ROUND = "measure every round: evaluate_every = 1"


class MissingMeasure(NamedTuple):
    """What a run lacks of a left-hand side, and how it is recorded.

    The remedy is empty if no change of the run provides it.
    """

    reason: str
    remedy: str = ""

    @property
    def message(self) -> str:
        """The reason, and the remedy if there is one."""
        return f"{self.reason}: {self.remedy}" if self.remedy else self.reason


def missing_measure(
    run: History,
    lhs: LeftSide,
    aggregate: str,
    in_span: NDArray[np.bool_],
    thinned: bool,
) -> MissingMeasure | None:
    """Return what was not measured, or None.

    Parameters
    ----------
    run : History
    lhs : LeftSide
        The left-hand side of the theorem.
    aggregate : str
        How its rounds are combined.
    in_span : (R,) array of bool
        Which measured rounds it covers.
    thinned : bool
        Whether the run left out rounds that it covers.
    """
    if aggregate == "each":
        return MissingMeasure(
            "its bound on each round contains the horizon T, so that it is one bound"
            " for each t: state it at T (aggregate = last)"
        )
    if measured(run, lhs.measure) is None:
        return MissingMeasure(
            f"its left-hand side ({lhs.measure}, {lhs.aggregate}) is not what this run"
            " measured",
            how_to_record(run, lhs.measure),
        )
    if run.stopped_at is not None:
        return MissingMeasure(
            f"the run was stopped by a callback after {run.stopped_at} of {run.rounds}"
            " rounds",
            "let the run end, without the callback that stops it",
        )
    if not lhs.rounds(run.rounds):
        return MissingMeasure(
            f"its left-hand side covers no round of a run of T = {run.rounds} rounds",
            "train another number of rounds",
        )
    if not in_span.any():
        return MissingMeasure(
            "none of the rounds that it covers was measured", EVERY_ROUND
        )
    if lhs.aggregate == "sum" and thinned:
        planned = len(lhs.rounds(run.rounds))
        return MissingMeasure(
            f"its left-hand side is a sum over {planned} rounds, of which"
            f" {np.count_nonzero(in_span)} were measured",
            EVERY_ROUND,
        )
    return None


def invalid_measure(
    run: History, name: str, in_span: NDArray[np.float64], error: FloatOrArray
) -> MissingMeasure | None:
    """Return why measured values cannot be those of a left-hand side, or None.

    Parameters
    ----------
    name : str
        The measure.
    in_span : (S, R) array
        Its values in the rounds that the theorem covers.
    error : array
        Rounding error of a value that is 0.
    """
    if run.diverged_at is None and np.isnan(in_span).any():
        return MissingMeasure(
            f"its left-hand side ({name}) is not a number in some round"
        )
    # intervals, evidence and rounding margins are those of quantities >= 0
    if (in_span < -error).any():
        return MissingMeasure(
            f"its left-hand side ({name}) must not be negative, and falls to"
            f" {in_span.min():.3g} here"
        )
    return None


def how_to_record(run: History, measure: str) -> str:
    """Return how a run records a measure."""
    if run.stated is not None:
        recorded = ", ".join(run.measures()) or "none"
        return (
            f"record {measure} in every round, as a measure of that name (the run has"
            f" {recorded})"
        )
    if measure in METRICS:
        return (
            f"record it: train(..., metrics=[dfl.verdicts.{measure}]), on a task with a"
            " known minimizer x_star, as quadratic"
        )
    return (
        f"record it by a metric of your own: train(..., metrics=[{measure}]), where"
        f" {measure}(task, models, mean) returns it for every seed"
    )


__all__ = ["MissingMeasure", "how_to_record", "invalid_measure", "missing_measure"]
