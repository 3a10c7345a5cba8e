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
        """How the rounds are combined.

        A bound on each round that does not depend on the horizon is a bound on the
        largest expectation over the rounds.
        """
        stated = self.theorem.lhs.aggregate
        if stated == "each" and "T" not in self.theorem.needs:
            return "max"
        return stated

    @property
    def unmeasured(self) -> str | None:
        """Why the run did not measure the left-hand side, or None."""
        return None if self.missing is None else self.missing.reason

    @cached_property
    def missing(self) -> MissingMeasure | None:
        """Why the run did not measure the left-hand side, and what to do; or None."""
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
        """The measure at these rounds, (S, R).

        An upper end: infinite if it is unknown, because the run had diverged before
        that round, or because the value is not finite. Overflow is not a measurement:
        an intermediate result may overflow where the measure does not.
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
        """Return by how much samples of f - f* may be too large."""
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
        """The quantities whose expectations give the left-hand side, (S, k).

        Every round of a minimum or a maximum; the single mean or sum otherwise. They
        are infinite where the samples are, that is, where they are unknown.
        """
        return self._aggregate(self.samples)

    @cached_property
    def least_columns(self) -> FloatArray:
        """The columns at their lower end: what is unknown is at least 0.

        All planned rounds count, also those after the end of the run: which rounds are
        known depends on the samples.
        """
        return self._aggregate(np.maximum(self._known_samples - self._above_gap, 0.0))

    @property
    def _known_samples(self) -> FloatArray:
        return np.where(np.isfinite(self.samples), self.samples, 0.0)

    @property
    def known_columns(self) -> FloatArray:
        """The columns that an estimate is made of.

        They give the least of the known rounds, and otherwise a lower end.
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
                raise InputError(
                    f"{self.theorem}: the aggregate {aggregate!r} is not judged by runs"
                )

    def over_columns(self, values: ArrayLike) -> FloatArray:
        """Return the left-hand side of each column of ``values`` (..., k).

        It is their largest for a maximum, else their least (of a mean, a sum or a last
        round the only one).
        """
        columns = np.asarray(values)
        return columns.max(axis=-1) if self.is_maximum else columns.min(axis=-1)

    @property
    def horizons(self) -> NDArray[np.int64]:
        """The horizon at which each of the rounds is the last that is covered."""
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
        """Whether every round that the theorem covers was measured, and is finite."""
        return not self.thinned and self._is_finite

    @property
    def seeds(self) -> int:
        """Number of seeds of the run."""
        return self.run.grad_norm_sq.shape[0]

    @property
    def exact(self) -> bool:
        """Whether each seed is an expectation, given its start.

        A measure that depends only on the start is one in every run.
        """
        return is_deterministic(self.run) or bool(self._at_start.all())

    @property
    def seeds_differ(self) -> bool:
        """Whether the left-hand side is not the same for all seeds."""
        return bool((self.columns != self.columns[:1]).any())

    @property
    def _at_start(self) -> NDArray[np.bool_]:
        """The rounds whose measure depends only on the models of the start."""
        return self.rounds + rounds_ahead(self.theorem.lhs.measure) == 0

    @property
    def equal_rounds(self) -> NDArray[np.bool_]:
        """The rounds at which the seeds cannot differ: the start, if they share it."""
        return self._at_start & (self.samples == self.samples[:1]).all(axis=0)

    # -- rounding --------------------------------------------------------------------

    def lowered(self, values: ArrayLike) -> FloatArray:
        """Values of the left-hand side at the lower end of their rounding error."""
        return self._aggregate_rounding.lowered(values)

    def raised(self, values: ArrayLike) -> FloatArray:
        """Values of the left-hand side at the upper end of their rounding error."""
        return self._aggregate_rounding.raised(values)

    @property
    def _aggregate_rounding(self) -> RoundingError:
        """A sum over n rounds has n times the error of one of them."""
        error = self.rounding
        n = self.rounds.size if self.theorem.lhs.aggregate == "sum" else 1
        return replace(error, root=error.root * math.sqrt(n), shift=error.shift * n)

    @cached_property
    def rounding(self) -> RoundingError:
        """Rounding error of the measure in one round.

        Of a run from elsewhere also that of its digits.
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
    bounds : (S,) array, optional
        The bounds of the seeds' own starts, if the start is random too. Each seed is
        then compared with its own bound. Which round is the least may depend on the
        start: for the lower end E[min_t Y_t/b] <= 1 follows from min_t E[Y_t | start]
        <= b(start), and for the upper one E Y_t <= E b is a statement on the mean of
        Y_t - b.
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
            raise InputError(f"{left.theorem}: the aggregate {other!r} has no interval")


def distribution_free_upper_end(left: LeftHandSide, confidence: float) -> float:
    """Return the upper end by a proved bound on every sample, or infinity."""
    most = proved_ceiling(left)
    if not math.isfinite(most):
        return math.inf
    tail = (1 - confidence) / 2
    if left.is_maximum:
        return evidence.upper_limit_of_largest(left.columns, most, tail)
    columns = averages(left.samples, few=True)[1] if left.is_minimum else left.columns
    return evidence.upper_limit(columns, most, tail)


def per_start_columns(left: LeftHandSide, columns: FloatArray) -> FloatArray:
    """Return the columns (S, k) that are compared with each start's own bound.

    Which round is the least may depend on the start. Every round is below the bound of
    a maximum.
    """
    return columns.min(axis=1, keepdims=True) if left.is_minimum else columns


def proved_ceiling(left: LeftHandSide) -> float:
    """Return :func:`~dfltheory.verdicts.measures.ceiling` from proved constants.

    They are those of the task: constants that the caller gave, or stated of a run that
    was measured elsewhere, do not count.
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
