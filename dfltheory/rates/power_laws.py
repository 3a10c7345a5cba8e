"""Power laws fitted on logarithmic axes, with an interval for the exponent.

The interval accounts for three sources of uncertainty:

* randomness: Student's t, from the scatter about the line or from independent seeds;
* curvature: a curve that is not a power law has no single exponent, so the interval
  contains the local slopes;
* extrapolation: if slopes still change, they do not decide a claim about a limit, so
  the interval contains the slope that they tend to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dfltheory.arrays import FloatArray
from dfltheory.errors import InputError

Limit = Literal["up", "down"]
"""The limit of a claim: x to infinity ("up"), or x to zero ("down")."""

_ROUNDING = 1e-9
"""Differences of slopes and residuals below this are treated as rounding errors."""


@dataclass(frozen=True)
class Exponent:
    """A fitted power law y = exp(intercept) x^estimate.

    Attributes
    ----------
    estimate : float
        Exponent of the least-squares line.
    low, high : float
        Two-sided interval of the exponent.
    intercept : float
        log(y) of the line at x = 1.
    bends : bool
        Whether the points deviate from a line by more than randomness can explain. The
        interval then contains the local slopes.
    """

    estimate: float
    low: float
    high: float
    intercept: float
    bends: bool = False

    def at(self, x: ArrayLike) -> FloatArray:
        """Return the fitted power law at ``x``."""
        return np.exp(self.intercept) * np.asarray(x, dtype=float) ** self.estimate


def fit_exponent(
    x: ArrayLike,
    y: ArrayLike,
    confidence: float = 0.95,
    bend: bool = True,
    *,
    deviations: ArrayLike | None = None,
    limit: Limit | None = None,
) -> Exponent:
    """Fit log y = intercept + exponent log x by least squares.

    Parameters
    ----------
    x, y : (n,) array_like
        At least 3 positive points.
    confidence : float
        Level of the interval.
    bend : bool
        Whether curvature widens the interval.
    deviations : (seeds, n) array_like, optional
        Relative deviation of each seed from y. The Student interval is then computed
        over the seeds, which may be correlated between points. By default it is
        computed from the scatter about the line.
    limit : {"up", "down"}, optional
        Limit of the claim. If slopes still change near it, the interval is widened to
        the slope that they tend to (`limiting_slope`).

    Returns
    -------
    Exponent

    Raises
    ------
    InputError
        If there are fewer than 3 points, or they are not positive, or all x are equal,
        or a claim about a limit has fewer than 3 distinct x, or another argument is out
        of its range.
    """
    log_x, log_y = _logarithms(x, y)
    if len(log_x) < 3:
        raise InputError(
            f"an exponent with an interval needs at least 3 points, not {len(log_x)}"
        )
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie strictly between 0 and 1")
    if limit is not None and limit not in get_args(Limit):
        raise InputError(f"limit = {limit!r} must be 'up', 'down' or None")
    if not np.ptp(log_x) > 0:
        raise InputError(
            f"all points have x = {np.exp(log_x[0]):.6g}: an exponent needs different x"
        )
    distinct = len(np.unique(log_x))
    if limit is not None and distinct < 3:
        raise InputError(
            f"an exponent at a limit needs at least 3 distinct x, not {distinct}"
        )
    centered = log_x - log_x.mean()
    weights = centered / (centered @ centered)
    slope = float(weights @ log_y)
    intercept = float(log_y.mean() - slope * log_x.mean())
    residual = log_y - intercept - slope * log_x
    samples = None if deviations is None else np.asarray(deviations, dtype=float)
    if samples is not None and (len(samples) < 2 or samples.shape[1:] != log_x.shape):
        raise InputError(
            f"deviations of shape {samples.shape} must be (seeds >= 2, {len(log_x)}"
            " points)"
        )
    if samples is None:
        degrees_of_freedom = len(log_x) - 2
        variance = residual @ residual / degrees_of_freedom
        error = np.sqrt(variance * (weights @ weights))
        bends = bend
    else:
        degrees_of_freedom = len(samples) - 1
        error = (samples @ weights).std(ddof=1) / np.sqrt(len(samples))
        bends = bend and _bends_beyond_randomness(log_x, log_y, samples)
    quantile = stats.t.isf((1 - confidence) / 2, degrees_of_freedom)
    half_width = float(quantile * error)
    covered = [slope - half_width, slope + half_width]
    if bends:
        covered += _possible_slopes(log_x, log_y, limit)
    elif limit is not None and samples is not None and len(log_x) >= 6:
        # noise may hide curvature, so include the interval of the points near the limit
        order = np.argsort(log_x if limit == "down" else -log_x)[: len(log_x) // 2]
        near = fit_exponent(
            np.exp(log_x[order]),
            np.exp(log_y[order]),
            confidence,
            False,
            deviations=samples[:, order],
        )
        covered += [near.low, near.high]
    return Exponent(slope, min(covered), max(covered), intercept, bends)


def _possible_slopes(
    log_x: FloatArray, log_y: FloatArray, limit: Limit | None
) -> list[float]:
    """Return the local slopes and their extrapolation to the limit."""
    slopes = _local_slopes(log_x, log_y)
    possible = [float(slope) for slope in slopes]
    if limit is None:
        return possible
    last = slopes[-1] if limit == "up" else slopes[0]
    limiting = limiting_slope(np.exp(log_x), np.exp(log_y), limit)
    if np.isfinite(limiting):
        # the error of an extrapolation is estimated by its length
        return [*possible, limiting, float(limiting + (limiting - last))]
    return [*possible, limiting]


def limiting_slope(x: ArrayLike, y: ArrayLike, limit: Limit) -> float:
    """Return the exponent that the local slopes tend to in a limit.

    The last two changes of the slope are continued as a geometric series. If the
    changes do not decrease, the exponent is infinite; if they oscillate, it is the last
    slope. With 3 points there is only one change, and the ratio of the series is set to
    1/2.

    Parameters
    ----------
    x, y : (n,) array_like
        At least 3 positive points with distinct x.
    limit : {"up", "down"}
        x to infinity, or x to zero.
    """
    slopes = _local_slopes(*_logarithms(x, y))
    if limit == "down":
        slopes = slopes[::-1]
    if len(slopes) < 2:
        raise InputError(
            f"changing slopes need at least 3 distinct x, not {len(slopes) + 1}"
        )
    change = slopes[-1] - slopes[-2]
    if abs(change) < _ROUNDING:
        return float(slopes[-1])
    change_before = slopes[-2] - slopes[-3] if len(slopes) > 2 else 2 * change
    if change_before * change <= 0:
        return float(slopes[-1])
    ratio = change / change_before
    if ratio >= 1:
        return float(np.copysign(np.inf, change))
    return float(slopes[-1] + change * ratio / (1 - ratio))


def _local_slopes(log_x: FloatArray, log_y: FloatArray) -> FloatArray:
    """Return the slopes between neighboring points, in the order of x."""
    order = np.argsort(log_x, kind="stable")
    steps = np.diff(log_x[order])
    return np.diff(log_y[order])[steps > 0] / steps[steps > 0]


def _bends_beyond_randomness(
    log_x: FloatArray, log_y: FloatArray, samples: FloatArray, level: float = 0.05
) -> bool:
    """Return whether t tests of polynomial contrasts reject a straight line.

    Each contrast, the component of log y along a polynomial of degree 2, 3, ... in log
    x, is zero for a line. Its variance is estimated from the same contrast of each
    seed, so deviations that are common to all points, such as a seed's own start,
    cancel. The level is divided by the number of contrasts.
    """
    seeds, points = samples.shape
    scaled = (log_x - log_x.mean()) / np.ptp(log_x)
    powers = np.vander(scaled, points, increasing=True)
    distinct = len(np.unique(log_x))
    contrasts = np.linalg.qr(powers[:, :distinct])[0][:, 2:]
    if not contrasts.size:
        return False
    sizes = np.abs(log_y @ contrasts)
    errors = (samples @ contrasts).std(axis=0, ddof=1) / np.sqrt(seeds)
    critical = float(stats.t.isf(level / (2 * contrasts.shape[1]), seeds - 1))
    return bool((sizes > np.maximum(critical * errors, _ROUNDING)).any())


def _logarithms(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return log x and log y; InputError unless both are (n,) and positive."""
    x_values, y_values = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x_values.ndim != 1 or x_values.shape != y_values.shape:
        raise InputError(
            "x and y must be two lists of equal length, not of shapes"
            f" {x_values.shape} and {y_values.shape}"
        )
    numbers = np.concatenate([x_values, y_values])
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        wrong = numbers[~(np.isfinite(numbers) & (numbers > 0))]
        raise InputError(
            f"x and y contain {wrong[0]:g}: a power law is fitted to positive finite"
            " numbers only"
        )
    return np.log(x_values), np.log(y_values)
