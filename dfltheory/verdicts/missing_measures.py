"""Why a left-hand side was not measured in a run, and how to record it."""

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
    """Why a left-hand side was not measured, and how to record it.

    ``remedy`` is empty if no change of the run helps.
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
    """Return why the run did not measure a left-hand side, or None if it did.

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
            "it bounds every round t, and its bound contains the horizon T, so that"
            " there is a different bound for each t: state it at T (aggregate = last)"
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
    """Return why measured values are not valid for a left-hand side, or None.

    Parameters
    ----------
    run : History
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
    # confidence limits, e-values and rounding errors assume nonnegative values
    if (in_span < -error).any():
        return MissingMeasure(
            f"its left-hand side ({name}) must not be negative, and falls to"
            f" {in_span.min():.3g} here"
        )
    return None


def how_to_record(run: History, measure: str) -> str:
    """Return how to record a measure in a run like this one, in words."""
    if run.stated is not None:
        recorded = ", ".join(run.measures()) or "none"
        return (
            f"record {measure} in every round, as a measure of that name (the run"
            f" contains {recorded})"
        )
    if measure in METRICS:
        return (
            f"record it: train(..., metrics=[dfl.verdicts.{measure}]), on a task with a"
            " known minimizer x_star, such as quadratic"
        )
    return (
        f"record it by a metric of your own: train(..., metrics=[{measure}]), where"
        f" {measure}(task, models, mean) returns it for every seed"
    )


__all__ = ["MissingMeasure", "how_to_record", "invalid_measure", "missing_measure"]
