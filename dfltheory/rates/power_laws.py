r"""Power laws through points on logarithmic axes, with intervals that say what the points can say.

Three things make an exponent uncertain, and each has its part in the interval: chance (Student's, from the
scatter about the line or from the seeds), a bend (a curve that is no power law has no one exponent: its
local slopes), and the way ahead (a claim about a limit is not settled by slopes that still move: where they
lead).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError

Array = NDArray[Any]
Limit = Literal["up", "down"]
"""The end that a claim is about: x to infinity, or x to zero."""
_STRAIGHT = 1e-9
"""Slopes that differ by less are equal to rounding."""


@dataclass(frozen=True)
class Exponent:
    """y ~ exp(intercept) x^estimate, with a two-sided interval [low, high] and the largest misfit of log y.

    ``bends``: the points lie on no straight line, beyond what chance explains (where nothing is known of
    chance, any departure counts).  The interval then holds the local slopes too, and what they lead to.
    """

    estimate: float
    low: float
    high: float
    intercept: float
    misfit: float
    points: int
    bends: bool = False

    def at(self, x: Any) -> Any:
        """The fitted power law at x."""
        return np.exp(self.intercept) * np.asarray(x, dtype=float) ** self.estimate


def fit_exponent(
    x: Any,
    y: Any,
    confidence: float = 0.95,
    bend: bool = True,
    *,
    deviations: Any = None,
    limit: Limit | None = None,
) -> Exponent:
    """Least squares of log y on log x.

    Parameters
    ----------
    x, y : at least 3 points, positive
    bend : widen the interval by the slopes of neighbouring points, where the points bend
    deviations : (seeds, points), what each seed's value departs from y by, as a share of y: the interval is
        then Student's over the seeds, who may share their chance between points.  Without it, Student's
        from the scatter about the line.
    limit : the end of the axis that is claimed about: slopes that still move there widen the interval up to
        where they lead (:func:`where_slopes_lead`)
    """
    from scipy import stats

    a, b = _logs(x, y)
    if len(a) < 3:
        raise InputError(f"an exponent with an interval needs at least 3 points, not {len(a)}")
    if not 0 < confidence < 1:
        raise InputError(f"confidence = {confidence} must lie strictly between 0 and 1, as in 0.95")
    if not np.ptp(a) > 0:
        raise InputError("the points of a fit must not all have the same x")
    centred = a - a.mean()
    weights = centred / (centred @ centred)
    slope = float(weights @ b)
    intercept = float(b.mean() - slope * a.mean())
    residual = b - intercept - slope * a
    if deviations is None:
        error = np.sqrt(residual @ residual / (len(a) - 2) * (weights @ weights))
        freedom, bends = len(a) - 2, bend
    else:
        chance = _deviations(deviations, len(a))
        freedom = len(chance) - 1
        error = (chance @ weights).std(ddof=1) / np.sqrt(len(chance))
        bends = bend and _misfit_beyond_chance(residual, chance)
    half = float(stats.t.isf((1 - confidence) / 2, freedom) * error)
    low, high = slope - half, slope + half
    if bends:
        ends = _local_slopes(a, b)
        if limit is not None:
            last = ends[-1] if limit == "up" else ends[0]
            lead = where_slopes_lead(x, y, limit)
            # a continuation is as uncertain as it is long
            ends = np.append(ends, [lead, lead + (lead - last)] if np.isfinite(lead) else lead)
        low, high = min(low, float(ends.min())), max(high, float(ends.max()))
    elif limit is not None and deviations is not None and len(a) >= 6:
        # chance may hide a bend: the half next to the limit has its say too
        order = np.argsort(a if limit == "down" else -a)[: len(a) // 2]
        near = fit_exponent(
            np.exp(a[order]), np.exp(b[order]), confidence, False, deviations=np.asarray(deviations)[:, order]
        )
        low, high = min(low, near.low), max(high, near.high)
    return Exponent(slope, low, high, intercept, float(np.abs(residual).max()), len(a), bends)


def where_slopes_lead(x: Any, y: Any, limit: Limit) -> float:
    """The exponent to which the local slopes tend at one end, by continuing their last two changes.

    Changes that shrink by a ratio r from one pair of points to the next add up to a limit; changes that do
    not shrink lead anywhere (an infinite exponent); slopes that go to and fro stay where they are.  With 3
    points, which show one change, the ratio is taken as 1/2.
    """
    a, b = _logs(x, y)
    slopes = _local_slopes(a, b)
    slopes = slopes if limit == "up" else slopes[::-1]
    if len(slopes) < 2:
        raise InputError(f"slopes that move need at least 3 different x, not {len(slopes) + 1}")
    last = slopes[-1] - slopes[-2]
    if abs(last) < _STRAIGHT:
        return float(slopes[-1])
    before = slopes[-2] - slopes[-3] if len(slopes) > 2 else 2 * last
    if before * last <= 0:
        return float(slopes[-1])
    ratio = last / before
    return float(slopes[-1] + last * ratio / (1 - ratio)) if ratio < 1 else float(np.copysign(np.inf, last))


def _local_slopes(a: Array, b: Array) -> Array:
    order = np.argsort(a, kind="stable")
    steps = np.diff(a[order])
    return np.diff(b[order])[steps > 0] / steps[steps > 0]


def _misfit_beyond_chance(residual: Array, chance: Array, level: float = 0.05) -> bool:
    """The F test of a straight line, each point's variance being that of its mean over seeds."""
    from scipy import stats

    seeds, points = chance.shape
    variance = chance.var(axis=0, ddof=1) / seeds
    if not (variance > 0).all():
        return bool(np.abs(residual[variance == 0]).max() > _STRAIGHT)
    return bool(stats.f.sf(np.sum(residual**2 / variance) / (points - 2), points - 2, seeds - 1) < level)


def _deviations(given: Any, points: int) -> Array:
    chance = np.asarray(given, dtype=float)
    if chance.ndim != 2 or chance.shape[1] != points or len(chance) < 2:
        raise InputError(f"deviations of shape {chance.shape} must be (seeds >= 2, {points} points)")
    if not np.isfinite(chance).all():
        raise InputError("deviations must be finite numbers")
    return chance


def _logs(x: Any, y: Any) -> tuple[Array, Array]:
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(f"x and y must be two lists of one length, not of shapes {a.shape} and {b.shape}")
    if not ((a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)).all():
        raise InputError("a power law is fitted to positive finite numbers alone")
    return np.log(a), np.log(b)


@dataclass(frozen=True)
class Regimes:
    """Two power laws that meet at ``knee``, the transient point; ``before`` and ``after`` it."""

    before: Exponent
    after: Exponent
    knee: float
    gain: float
    """Residual sum of squares of one line over that of two: near 1, there is but one regime."""


def fit_regimes(x: Any, y: Any, confidence: float = 0.95) -> Regimes:
    """The best split of the points (at least 3 on each side) into two power laws."""
    a, b = _logs(x, y)
    order = np.argsort(a)
    a, b = a[order], b[order]
    if len(a) < 6:
        raise InputError(f"two regimes need at least 6 points, not {len(a)}")

    def misfit(a: Array, b: Array) -> float:
        slope, intercept = np.polyfit(a, b, 1)
        return float(((b - slope * a - intercept) ** 2).sum())

    cut = min(range(3, len(a) - 2), key=lambda k: misfit(a[:k], b[:k]) + misfit(a[k:], b[k:]))
    first = fit_exponent(np.exp(a[:cut]), np.exp(b[:cut]), confidence)
    last = fit_exponent(np.exp(a[cut:]), np.exp(b[cut:]), confidence)
    parallel = abs(first.estimate - last.estimate) < 1e-9
    meet = a[cut] if parallel else (last.intercept - first.intercept) / (first.estimate - last.estimate)
    two = misfit(a[:cut], b[:cut]) + misfit(a[cut:], b[cut:])
    gain = misfit(a, b) / two if two > 0 else np.inf
    return Regimes(first, last, float(np.exp(np.clip(meet, a[0], a[-1]))), float(gain))
