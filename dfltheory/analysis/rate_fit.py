r"""Do measured rates show the exponents that a corollary predicts?

``fit_exponent`` fits log y = c + e log x with a confidence interval; ``fit_regimes`` two such lines with a
knee; ``rate_fit`` measures a theorem's left-hand side along one parameter under the corollary's schedule
(exactly on quadratics without SAM, by the training core elsewhere), fits, and holds the fitted exponent
against the predicted one. A prediction is refuted only when the interval excludes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]
Standing = Literal["consistent", "refuted", "faster", "no prediction"]


@dataclass(frozen=True)
class Exponent:
    """y ~ exp(intercept) x^estimate, with a two-sided interval [low, high] and the largest misfit of log y.

    The interval is Student's for noisy points, and in any case no narrower than the spread of the slopes
    between neighbouring points, for a curve that bends is no power law over its whole range.
    """

    estimate: float
    low: float
    high: float
    intercept: float
    misfit: float
    points: int

    def at(self, x: Any) -> Any:
        """The fitted power law at x."""
        return np.exp(self.intercept) * np.asarray(x, dtype=float) ** self.estimate


def fit_exponent(x: Any, y: Any, confidence: float = 0.95, bend: bool = True) -> Exponent:
    """Least squares of log y on log x.  ``bend`` widens the interval by the slopes of neighbouring points."""
    from scipy import stats

    a, b = _logs(x, y)
    if len(a) < 3:
        raise InputError(f"an exponent with an interval needs at least 3 points, not {len(a)}")
    centred = a - a.mean()
    if not np.ptp(a) > 0:
        raise InputError("the points of a fit must not all have the same x")
    slope = float(centred @ b / (centred @ centred))
    intercept = float(b.mean() - slope * a.mean())
    residual = b - intercept - slope * a
    error = np.sqrt(residual @ residual / (len(a) - 2) / (centred @ centred))
    half = float(stats.t.isf((1 - confidence) / 2, len(a) - 2) * error)
    low, high = slope - half, slope + half
    if bend:
        order = np.argsort(a)
        local = np.diff(b[order]) / np.diff(a[order])
        low, high = min(low, float(local.min())), max(high, float(local.max()))
    return Exponent(slope, low, high, intercept, float(np.abs(residual).max()), len(a))


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


@dataclass(frozen=True)
class RateFit:
    """Measured exponent in one parameter against the predicted one.

    ``standing``: ``refuted`` when the measured left-hand side decays more slowly (grows faster) than the
    bound allows and the interval excludes it; ``faster`` when it decays faster, which no upper bound forbids;
    ``consistent`` when the interval contains the prediction.
    """

    parameter: str
    x: tuple[float, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    exponent: Exponent
    predicted: float | None
    standing: Standing

    def __str__(self) -> str:
        e = self.exponent
        text = f"exponent in {self.parameter}: {e.estimate:.3f} [{e.low:.3f}, {e.high:.3f}]"
        return text if self.predicted is None else f"{text}, predicted {self.predicted:.3f}: {self.standing}"


def judge(measured: Exponent, predicted: float | None) -> Standing:
    """Where a fitted exponent stands to a predicted upper bound's, for a parameter that grows."""
    if predicted is None:
        return "no prediction"
    if measured.low > predicted:
        return "refuted"
    return "faster" if measured.high < predicted else "consistent"


def rate_fit(
    theorem: Theorem | str,
    make: Any,
    parameter: str,
    values: Sequence[float],
    *,
    variant: str = "printed",
    predicted: float | None = None,
    confidence: float = 0.95,
) -> RateFit:
    """Fit the exponent of a theorem's left-hand side in one parameter.

    Parameters
    ----------
    theorem, variant : whose left-hand side is measured and whose bound is the prediction
    make : function of one value of the parameter that gives a run at the corollary's schedule: what
        :func:`dfltheory.analysis.exact.exact_history` returns (no Monte Carlo noise), or a History
    parameter : its name, ``T``, ``K``, ``m``, ``rho``, ``sigma_l``, ``gap`` for 1 - lam...
    values : at least 3 values, increasing
    predicted : the exponent to be held against; ``None``: for ``T`` the bound's own as T -> infinity under
        its schedule, for other parameters its own over the same points
    """
    from dfltheory import bounds
    from dfltheory.analysis.compare import known_values, left_hand_side

    thm = bounds.get(theorem, variant) if isinstance(theorem, str) else theorem
    measured, bound = [], []
    known: dict[str, Any] = {}
    for value in values:
        run = make(value)
        measured.append(left_hand_side(run, thm, confidence).estimate)
        known = {k: np.mean(v) for k, v in known_values(run, thm).items() if k in thm.needs}
        whole = set(thm.needs) <= set(known) and all(np.isfinite(v) for v in known.values())
        bound.append(float(thm.evaluate(where="ignore", **known)) if whole else np.nan)
    fitted = fit_exponent(values, measured, confidence)
    if predicted is None and np.all(np.isfinite(bound)) and np.min(bound) > 0:
        predicted = (
            exponent_in_T(thm, known)
            if parameter == "T" and thm.schedule
            else fit_exponent(values, bound, confidence).estimate
        )
    x = tuple(float(v) for v in values)
    return RateFit(parameter, x, tuple(measured), tuple(bound), fitted, predicted, judge(fitted, predicted))


def exponent_in_T(theorem: Theorem, known: dict[str, Any], far: float = 1e16) -> float:
    """The exponent of the bound in T under its schedule, as T -> infinity with all else as ``known``."""
    logs = []
    for T in (far, 100 * far):
        values: dict[str, Any] = {k: float(v) for k, v in known.items()} | {"T": T}
        values.setdefault("rho0", 0.0)
        for name, rule in theorem.schedule.items():
            if name in theorem.needs:
                free = {s: values[s.name] for s in rule.free_symbols}
                values[name] = float(rule.subs(free))
        logs.append(np.log(float(theorem.evaluate(where="ignore", **values))))
    return float((logs[1] - logs[0]) / np.log(100))


@dataclass(frozen=True)
class SpeedUp:
    """``gain[k]`` = measured at the first m over that at m_k; ``linear``: is it m_k/m_0, within 10 %?"""

    m: tuple[int, ...]
    gain: tuple[float, ...]
    linear: tuple[bool, ...]


def linear_speed_up(measured: Sequence[float], m: Sequence[int], tolerance: float = 0.1) -> SpeedUp:
    """Does the error fall as 1/m?  ``measured`` at the same horizon for each number of clients."""
    y, n = np.asarray(measured, dtype=float), np.asarray(m, dtype=float)
    if y.shape != n.shape or len(y) < 2 or not (y > 0).all():
        raise InputError("give one positive measured value for each of at least two numbers of clients")
    gain = y[0] / y
    wanted = n / n[0]
    close = np.abs(gain / wanted - 1) <= tolerance
    return SpeedUp(tuple(int(v) for v in m), tuple(map(float, gain)), tuple(bool(v) for v in close))


def transient_time(one: Any, many: Any, m: int, tolerance: float = 0.1) -> int | None:
    """The first round from which on ``many`` (m clients) is m times better than ``one``; None: never.

    ``one``, ``many``: measured left-hand sides by round (R,), of one client alone and of the network.
    """
    a, b = np.asarray(one, dtype=float), np.asarray(many, dtype=float)
    late = a < (1 - tolerance) * m * b
    if late[-1]:
        return None
    return int(np.flatnonzero(late)[-1] + 1) if late.any() else 0


__all__ = [
    "Exponent",
    "RateFit",
    "Regimes",
    "SpeedUp",
    "fit_exponent",
    "fit_regimes",
    "judge",
    "linear_speed_up",
    "rate_fit",
    "transient_time",
]
