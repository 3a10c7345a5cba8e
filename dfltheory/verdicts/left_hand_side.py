"""The left-hand side of a theorem as one run measured it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.arrays import FloatArray
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.training.history import History
from dfltheory.training.stated_values import DISCRETE
from dfltheory.verdicts import evidence
from dfltheory.verdicts.measures import (
    ceiling,
    gap_excess,
    is_deterministic,
    measured,
    rounds_ahead,
    stated_digits,
)
from dfltheory.verdicts.missing_measures import (
    MissingMeasure,
    invalid_measure,
    missing_measure,
)
from dfltheory.verdicts.rounding import RoundingError, measure_error
from dfltheory.verdicts.run_sizes import Sizes, run_sizes
from dfltheory.verdicts.simultaneous_limits import averages, upper_of_minimum
from dfltheory.verdicts.statistics import (
    Interval,
    Method,
    upper_of_maximum,
    upper_of_mean,
)


@dataclass(frozen=True, eq=False)
class LeftHandSide:
    """The left-hand side of a theorem, measured over the theorem's rounds.

    Attributes
    ----------
    run : History
    theorem : Theorem
    step_error : float
        Relative difference of the run's step sizes and those of the theorem's schedule.
    """

    run: History
    theorem: Theorem
    step_error: float = 0.0

    @property
    def aggregate(self) -> str:
        """How the rounds are combined: "min", "max", "mean", "sum", "last" or "each".

        If a bound on each round does not depend on T, it bounds the maximum ("max").
        """
        stated = self.theorem.lhs.aggregate
        if stated == "each" and "T" not in self.theorem.needs:
            return "max"
        return stated

    @property
    def unmeasured(self) -> str | None:
        """Why the left-hand side was not measured, in words; None if it was."""
        return None if self.missing is None else self.missing.reason

    @cached_property
    def missing(self) -> MissingMeasure | None:
        """Why the left-hand side was not measured, with a remedy; None if it was."""
        in_span = self._in_span
        missing = missing_measure(
            self.run, self.theorem.lhs, self.aggregate, in_span, self.thinned
        )
        if missing is not None:
            return missing
        data = measured(self.run, self.theorem.lhs.measure)
        assert data is not None, "else the measure is missing"
        return invalid_measure(
            self.run, self.theorem.lhs.measure, data[:, in_span], self.rounding.of_zero
        )

    @cached_property
    def _in_span(self) -> NDArray[np.bool_]:
        span = self.theorem.lhs.rounds(self.run.rounds)
        rounds_measured = self.run.rounds_measured
        return (rounds_measured >= span.start) & (rounds_measured < span.stop)

    @cached_property
    def rounds(self) -> NDArray[np.int64]:
        """The measured rounds that the theorem covers."""
        return self.run.rounds_measured[self._in_span]

    @cached_property
    def samples(self) -> FloatArray:
        """Upper ends of the measure at :attr:`rounds`, (S, R).

        Unknown values are infinite: those of rounds after divergence, and values that
        are not finite, since an intermediate result may have overflowed where the
        measure itself does not.
        """
        data = measured(self.run, self.theorem.lhs.measure)
        if data is None:
            raise InputError(f"{self.theorem}: {self.unmeasured}")
        in_span = data[:, self._in_span].astype(float)
        rounded_zero = (in_span < 0) & (in_span >= -self.rounding.of_zero)
        in_span = np.where(rounded_zero, 0.0, in_span)
        return np.where(np.isfinite(in_span), in_span, np.inf)

    @cached_property
    def unknown(self) -> str | None:
        """Why the measure is unknown in some of these rounds, or None."""
        if self._is_finite:
            if not self._above_gap:
                return None
            return f"f* may exceed its lower bound {self.run.constants.f_star:.3g}"
        if self.run.diverged_at is None:
            return f"{self.theorem.lhs.measure} is not finite in some round"
        return f"the run stopped at round {self.run.diverged_at} of {self.run.rounds}"

    @cached_property
    def _is_finite(self) -> bool:
        return bool(np.isfinite(self.samples).all())

    @cached_property
    def _above_gap(self) -> float:
        """By how much samples of f - f* may be too large; 0 for other measures."""
        return gap_excess(self.run, self.theorem.lhs.measure)

    @property
    def is_minimum(self) -> bool:
        """Whether a minimum over rounds is bounded."""
        return self.aggregate == "min"

    @property
    def is_maximum(self) -> bool:
        """Whether a maximum over rounds is bounded."""
        return self.aggregate == "max"

    @cached_property
    def columns(self) -> FloatArray:
        """Upper ends of the quantities whose expectations are compared, (S, k).

        They are all rounds for a minimum or a maximum, and otherwise the mean or sum
        over the rounds, k = 1. Unknown ones are infinite.
        """
        return self._aggregate(self.samples)

    @cached_property
    def least_columns(self) -> FloatArray:
        """Lower ends of the columns, (S, k); unknown values are at least 0.

        Rounds after divergence are included. Leaving them out would be a choice that
        depends on the samples.
        """
        return self._aggregate(np.maximum(self._known_samples - self._above_gap, 0.0))

    @property
    def _known_samples(self) -> FloatArray:
        return np.where(np.isfinite(self.samples), self.samples, 0.0)

    @property
    def known_columns(self) -> FloatArray:
        """The columns of the printed estimate, (S, k).

        Unknown rounds are infinite for a minimum, which ignores them, and otherwise 0.
        """
        if self.is_minimum:
            return self.columns
        return self._aggregate(self._known_samples)

    def _aggregate(self, samples: FloatArray) -> FloatArray:
        match self.aggregate:
            case "min" | "max":
                return samples
            case "mean" | "last":
                return samples.mean(axis=1, keepdims=True)
            case "sum":
                return samples.sum(axis=1, keepdims=True)
            case aggregate:
                raise InputError(f"{self.theorem}: {_unknown_aggregate(aggregate)}")

    def over_columns(self, values: ArrayLike) -> FloatArray:
        """Return the left-hand side for values of the columns, (..., k) to (...).

        It is the largest column for a maximum, and otherwise the smallest one, which is
        the only one for a mean, a sum or the last round.
        """
        columns = np.asarray(values)
        return columns.max(axis=-1) if self.is_maximum else columns.min(axis=-1)

    @property
    def horizons(self) -> NDArray[np.int64]:
        """For each of :attr:`rounds`, the T at which it is the last covered round."""
        return (
            self.rounds
            + self.run.rounds
            - (self.theorem.lhs.rounds(self.run.rounds).stop - 1)
        )

    @property
    def thinned(self) -> bool:
        """Whether the run left out rounds that the theorem covers."""
        return self.rounds.size < len(self.theorem.lhs.rounds(self.run.rounds))

    @property
    def complete(self) -> bool:
        """Whether the measure is known and finite in every round that is covered."""
        return not self.thinned and self._is_finite

    @property
    def seeds(self) -> int:
        """Number of seeds of the run."""
        return self.run.grad_norm_sq.shape[0]

    @property
    def exact(self) -> bool:
        """Whether nothing but the start is random, so that each seed is an expectation.

        This is so in a run without randomness, and for a measure that depends only on
        the start.
        """
        return is_deterministic(self.run) or bool(self._at_start.all())

    @property
    def seeds_differ(self) -> bool:
        """Whether some seed has another left-hand side than the first one."""
        return bool((self.columns != self.columns[:1]).any())

    @property
    def _at_start(self) -> NDArray[np.bool_]:
        """Mask of :attr:`rounds` whose measure depends only on the start, (R,)."""
        return self.rounds + rounds_ahead(self.theorem.lhs.measure) == 0

    @property
    def equal_rounds(self) -> NDArray[np.bool_]:
        """Mask of :attr:`rounds` in which nothing is random: a common start, (R,)."""
        return self._at_start & (self.samples == self.samples[:1]).all(axis=0)

    # -- rounding --------------------------------------------------------------------

    def lowered(self, values: ArrayLike) -> FloatArray:
        """Return values of the left-hand side, lowered by their rounding error."""
        return self._aggregate_rounding.lowered(values)

    def raised(self, values: ArrayLike) -> FloatArray:
        """Return values of the left-hand side, raised by their rounding error."""
        return self._aggregate_rounding.raised(values)

    @property
    def _aggregate_rounding(self) -> RoundingError:
        """Rounding error of the left-hand side: n times that of a round for a sum."""
        error = self.rounding
        n = self.rounds.size if self.theorem.lhs.aggregate == "sum" else 1
        return replace(error, root=error.root * math.sqrt(n), shift=error.shift * n)

    @cached_property
    def rounding(self) -> RoundingError:
        """Rounding error of the measure in one round.

        For a run that was measured elsewhere, it includes the digits lost in printing.
        """
        error = measure_error(self.theorem.lhs, self.sizes)
        if self.theorem.lhs.measure in DISCRETE:
            return error
        digits = stated_digits(self.run)
        return replace(error, relative=np.add(error.relative, digits))

    @cached_property
    def sizes(self) -> Sizes:
        """Magnitudes that the rounding errors are multiples of."""
        sizes = run_sizes(self.run, self.theorem.lhs)
        return replace(sizes, step_error=self.step_error)


# -- the interval of the left-hand side


def measured_interval(
    left: LeftHandSide,
    confidence: float,
    bounds: FloatArray | None = None,
    method: Method = "student",
) -> Interval:
    """Return the left-hand side over the theorem's rounds, with an interval over seeds.

    Parameters
    ----------
    left : LeftHandSide
    confidence : float
        Level of the two-sided interval.
    bounds : (S,) array, optional
        The bound of each seed's own start, if the starts differ. Each seed is then
        compared with its own bound b. For the lower end, min_t E[Y_t | start] <=
        b(start) implies E[min_t Y_t/b] <= 1, so the round of the minimum may depend on
        the start. For the upper end, E Y_t <= E b is a statement on the mean of
        Y_t - b.
    method : str
        As for :func:`~dfltheory.verdicts.compare.compare`.
    """
    columns, tail = left.columns, (1 - confidence) / 2
    estimate = float(left.over_columns(left.known_columns.mean(axis=0)))
    if left.exact:
        return _ends_of_expectation(left, estimate)
    bound_of_starts = np.zeros(()) if bounds is None else bounds
    shifted = columns
    if bound_of_starts.ndim:
        shifted = columns - (bound_of_starts - bound_of_starts.mean())[:, None]
    high = _upper_end(left, shifted, tail, method)
    least = left.least_columns
    if bound_of_starts.ndim:
        least = (
            evidence.in_bounds(per_start_columns(left, least), bound_of_starts)
            * bound_of_starts.mean()
        )
    finite = least[:, np.isfinite(least).all(axis=0)]
    low = estimate
    if finite.size and left.is_maximum:
        low = evidence.largest_lower_limit(finite, tail)
    elif finite.size:
        low = evidence.least_lower_limit(finite, tail)
    return Interval(estimate, min(low, estimate), max(high, estimate))


def _ends_of_expectation(left: LeftHandSide, estimate: float) -> Interval:
    """Return the interval of a left-hand side without randomness.

    It has a width only if the measure is unknown in some round.
    """
    if left.unknown is None:
        return Interval(estimate, estimate, estimate)
    low = float(left.over_columns(left.least_columns.mean(axis=0)))
    high = float(left.over_columns(left.columns.mean(axis=0)))
    return Interval(estimate, low, high)


def _upper_end(
    left: LeftHandSide, columns: FloatArray, tail: float, method: Method
) -> float:
    match left.aggregate:
        case "min":
            return upper_of_minimum(columns, tail, left.equal_rounds)
        case "max":
            return upper_of_maximum(columns, tail, left.equal_rounds, method)
        case "mean" | "last" | "sum":
            return upper_of_mean(columns, tail, method)
        case other:
            raise InputError(f"{left.theorem}: {_unknown_aggregate(other)}")


def _unknown_aggregate(name: str) -> str:
    return f"aggregate = {name!r} is not one of min, max, mean, sum, last"


def distribution_free_upper_end(left: LeftHandSide, confidence: float) -> float:
    """Return an upper limit for any distribution; inf without a proved bound of Y."""
    most = proved_ceiling(left)
    if not math.isfinite(most):
        return math.inf
    tail = (1 - confidence) / 2
    if left.is_maximum:
        return evidence.upper_limit_of_largest(left.columns, most, tail)
    columns = averages(left.samples, few=True)[1] if left.is_minimum else left.columns
    return evidence.upper_limit(columns, most, tail)


def per_start_columns(left: LeftHandSide, columns: FloatArray) -> FloatArray:
    """Return the columns that are compared with the bound of each seed's own start.

    For a minimum it is the smallest column (S, 1), since its round may depend on the
    start. For other left-hand sides the columns (S, k) are unchanged.
    """
    return columns.min(axis=1, keepdims=True) if left.is_minimum else columns


def proved_ceiling(left: LeftHandSide) -> float:
    """Return a proved upper bound of the samples; inf without one.

    It uses only constants of the task, not given or stated ones (see ``ceiling``).
    """
    if left.run.stated is not None:
        return math.inf
    values = left.run.constants.known() | {"T": left.run.rounds}
    return ceiling(values, left.run, left.theorem.lhs)


__all__ = [
    "LeftHandSide",
    "distribution_free_upper_end",
    "measured_interval",
    "per_start_columns",
    "proved_ceiling",
]
