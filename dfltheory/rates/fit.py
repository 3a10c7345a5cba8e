"""A measured exponent against the predicted one: refuted only when its interval excludes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dfltheory.bounds.reference import load
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.rates.power_laws import Exponent, Limit, Regimes, fit_exponent, fit_regimes
from dfltheory.rates.predicted import Prediction, parameter_named, predict, predicted_transient
from dfltheory.rates.setting import Measured, Setting, measure, together
from dfltheory.training.history import History

Standing = Literal["consistent", "refuted", "faster", "no prediction"]
_HIDDEN = (0.5, 1, 2)
"""Powers of a logarithm that a claim may have left out."""
_LIMITS: dict[str, Limit] = {"T": "up", "K": "up", "m": "up", "gap": "down"}
"""The end of a parameter's axis that a claim is about."""
_STRAIGHT = 1e-9
"""Misfits of log y that differ by less are equal to rounding."""
_FOREVER = 10**13
"""Rounds beyond which no speed-up is looked for."""


@dataclass(frozen=True)
class RateFit:
    """Measured exponent in one parameter against the predicted one.

    ``standing``: ``refuted`` when the measured left-hand side decays more slowly (grows faster) toward the
    parameter's limit than the rate allows and the interval excludes it; ``faster`` when it decays faster,
    which no upper bound forbids; ``consistent`` when the interval contains the prediction.

    ``prediction`` tells the monomials of the registry that predict; None where the caller did.  ``bound`` is
    the bound at each point (nan where a constant is unknown), and ``bound_exponent`` its own exponent there.
    ``regimes``: two power laws with a knee, where there are 6 points or more.  ``logs``: the power of
    log(parameter) in the claim (of log(1/gap) in the gap), which the measured values were divided by before
    the exponent was fitted.  ``hidden_logs``: a refuted claim would stand with this power more, and the
    points then lie no farther from a power law than without it.
    """

    parameter: str
    x: tuple[float, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    exponent: Exponent
    predicted: float | None
    standing: Standing
    prediction: Prediction | None = None
    bound_exponent: float | None = None
    regimes: Regimes | None = None
    logs: float = 0.0
    hidden_logs: float | None = None

    def __str__(self) -> str:
        e, beside = self.exponent, f" beside {self._log}^{self.logs:g}" if self.logs else ""
        text = f"exponent in {self.parameter}{beside}: {e.estimate:.3f} [{e.low:.3f}, {e.high:.3f}]"
        if self.predicted is None:
            return text
        origin = "" if self.prediction is None else f" (from {' + '.join(self.prediction.monomials)})"
        hidden = f"; a factor {self._log}^{self.hidden_logs:g} would explain it" if self.hidden_logs else ""
        return f"{text}, predicted {self.predicted:.3f}{origin}: {self.standing}{hidden}"

    @property
    def _log(self) -> str:
        return "log(1/gap)" if self.parameter == "gap" else f"log({self.parameter})"

    def plot(self, ax: Any = None, *, interval: Any = None, legend: bool = True) -> Any:
        """Points (``interval``: lower and upper limits), fit and predicted slope on logarithmic axes."""
        from dfltheory.plots.runs import rate

        e = self.exponent
        symbol = {"gap": "lam", "rho": "rho0"}.get(self.parameter, self.parameter)
        letter = GLOSSARY[symbol].latex if symbol in GLOSSARY else ""
        name = f"$1 - {letter}$" if self.parameter == "gap" else f"${letter}$" if letter else self.parameter
        return rate(
            self.x,
            without_logs(self.parameter, self.x, self.measured, self.logs),
            ax,
            interval=interval,
            fitted=(e.estimate, float(np.exp(e.intercept))),
            exponent_ci=(e.low, e.high),
            predicted=self.predicted,
            xlabel=name,
            ylabel="measured left-hand side" + (f" / {self._log}^{self.logs:g}" if self.logs else ""),
            legend=legend,
        )


def judge(
    measured: Exponent, predicted: float | None, shrinking: bool = False, slack: float = 0.0
) -> Standing:
    """Where a fitted exponent stands to a predicted upper bound's.

    ``shrinking``: the parameter goes to zero, as 1 - lam does, so that the smaller exponent is the worse.
    ``slack``: by how much the prediction itself may be missed at the points.
    """
    if predicted is None:
        return "no prediction"
    above, below = measured.low > predicted + slack, measured.high < predicted - slack
    if shrinking:
        above, below = below, above
    return "refuted" if above else "faster" if below else "consistent"


def rate_fit(
    theorem: Theorem | str,
    make: Setting | Callable[[float], History | Measured],
    parameter: str,
    values: Sequence[float],
    *,
    variant: str | None = None,
    predicted: float | None = None,
    logs: float | None = None,
    confidence: float = 0.95,
    negligible: float = 0.01,
) -> RateFit:
    """Fit the exponent of a theorem's left-hand side in one parameter, under the corollary's schedule.

    Parameters
    ----------
    theorem, variant : whose left-hand side is measured and whose rate is the prediction, as ``compare`` takes
        them
    make : a :class:`Setting`, of which the one parameter is varied and all else kept, step sizes by the
        schedule; or a function of one value of the parameter that gives a run: what
        :func:`dfltheory.exact.exact_history` returns (no Monte Carlo noise), or a History
    parameter : ``T``, ``K``, ``m``, ``gap`` (1 - lam), ``rho``, ``sigma_l``, ``sigma_g``...
    values : at least 3 different values, positive; 4 or more show where the slopes lead
    predicted : the exponent to compare with; ``None``: that of the theorem's rate, from the registry
        (:func:`predict`), among the terms that reach the share ``negligible`` of it
    logs : the power of log(parameter) in the claim, as 1 for O(log(T)/T); ``None``: that of the prediction

    Raises
    ------
    UnknownNameError for an unknown parameter; InputError for points that make no power law.
    """
    thm = load(theorem, variant)
    name = parameter if parameter in GLOSSARY and predicted is not None else parameter_named(parameter)
    if isinstance(make, Setting):
        points = [make.with_value(name, value).measure(thm) for value in values]
    else:
        points = [measure(make(value), thm) for value in values]
    found = None
    if predicted is None and thm.schedule:
        refuse_other_schedules(thm, name, points)
        unknown = dict.fromkeys(GLOSSARY, math.nan)
        found = predict(thm, name, [{**unknown, **p.values} for p in points], negligible)
        predicted, logs = float(found.exponent), float(found.logs) if logs is None else logs
    y, bound = [p.estimate for p in points], []
    for p in points:
        here = {n: p.values.get(n, np.nan) for n in thm.needs}
        sure = all(np.isfinite(v) for v in here.values())
        bound.append(float(thm.evaluate(where="ignore", **here)) if sure else np.nan)
    known: dict[str, Any] = {"predicted": predicted, "prediction": found, "deviations": together(points)}
    return fit_points(name, values, y, bound, confidence, logs=logs or 0.0, **known)


def refuse_other_schedules(theorem: Theorem, parameter: str, points: Sequence[Measured]) -> None:
    """Raise InputError where the measured runs do not follow the theorem's schedule.

    A constant factor is allowed, since it changes no exponent. A schedule that needs a value that the runs
    do not know is an error too; a rho0 that they do not know is the factor of rho.
    """
    factors: dict[str, list[float]] = {}
    for point in points:
        known = {n: v for n, v in point.values.items() if np.isfinite(v)}
        for name, scheduled in theorem.step_sizes(**{"rho0": 1.0, **known}).items():
            used = known.get(name, scheduled)
            factor = used / scheduled if scheduled else float(used == scheduled)
            factors.setdefault(name, []).append(factor)
    if parameter == "rho" and any("rho0" not in p.values for p in points):
        factors.pop("rho", None)  # rho0 is what the caller varies
    for name, seen in factors.items():
        if max(seen) > min(seen) * (1 + 1e-6):
            raise InputError(
                f"{name} of the runs is not the schedule of {theorem} times one factor: the factors run from "
                f"{min(seen):.6g} to {max(seen):.6g}. The rate holds under the schedule: follow it, or give "
                "predicted=..."
            )


def fit_points(
    parameter: str,
    values: Sequence[float],
    measured: Sequence[float],
    bound: Sequence[float],
    confidence: float = 0.95,
    *,
    predicted: float | None = None,
    prediction: Prediction | None = None,
    deviations: Any = None,
    logs: float = 0.0,
) -> RateFit:
    """As :func:`rate_fit`, of points that were measured elsewhere, as in a sweep.

    Without ``predicted`` the exponent is compared with the bound's own at these points; where a bound is not
    known (nan) or zero, against none.  ``deviations`` are those of :func:`fit_exponent`.
    """
    shrinking, slack = parameter == "gap", prediction.slack if prediction else 0.0
    limit = _LIMITS.get(parameter)

    def beside(power: float) -> Exponent:
        y = without_logs(parameter, values, measured, power)
        return fit_exponent(values, y, confidence, deviations=deviations, limit=limit)

    fitted = beside(logs)
    whole = bool(np.all(np.isfinite(bound))) and min(bound) > 0
    own = fit_exponent(values, bound).estimate if whole else None
    if predicted is None:
        predicted = own
    standing, hidden = judge(fitted, predicted, shrinking, slack), None
    if standing == "refuted" and _logs_of(parameter, values).min() > 0:
        for power in _HIDDEN:
            freed = beside(logs + power)
            straight = freed.misfit <= fitted.misfit + _STRAIGHT
            if straight and judge(freed, predicted, shrinking, slack) == "consistent":
                hidden = power
                break
    x, y, b = (tuple(map(float, numbers)) for numbers in (values, measured, bound))
    regimes = fit_regimes(values, measured, confidence) if len(set(values)) >= 6 else None
    return RateFit(parameter, x, y, b, fitted, predicted, standing, prediction, own, regimes, logs, hidden)


def _logs_of(parameter: str, values: Sequence[float]) -> Any:
    logs = np.log(np.asarray(values, dtype=float))
    return -logs if parameter == "gap" else logs


def without_logs(parameter: str, values: Sequence[float], measured: Sequence[float], power: float) -> Any:
    """Measured values over log(parameter)^power, over log(1/gap)^power in the gap."""
    if not power:
        return measured
    logs = _logs_of(parameter, values)
    if logs.min() <= 0:
        raise InputError(
            f"logarithms of {parameter} are divided out where they are positive, not at {values}"
        )
    return np.asarray(measured, dtype=float) / logs**power


# -- linear speed-up: from the transient time on m clients are m times better than one -----------------------


@dataclass(frozen=True)
class TransientFit:
    """Transient times over one parameter, their exponent, and what the theorem's rate promises.

    The rate bounds the terms that the speed-up waits for, and so the transient time from above:
    ``standing`` is ``refuted`` where it grows faster than promised and the interval excludes it.
    """

    parameter: str
    x: tuple[float, ...]
    rounds: tuple[int, ...]
    exponent: Exponent
    predicted: float
    standing: Standing

    def __str__(self) -> str:
        e = self.exponent
        text = f"transient time in {self.parameter}: {e.estimate:.3f} [{e.low:.3f}, {e.high:.3f}]"
        return f"{text}, predicted {self.predicted:.3f}: {self.standing}"


def transient_fit(
    theorem: Theorem | str,
    setting: Setting,
    parameter: str,
    values: Sequence[float],
    *,
    variant: str = "corrected",
    share: float = 0.5,
    confidence: float = 0.95,
) -> TransientFit:
    """Fit how the transient time grows with one parameter, the setting's other numbers kept.

    The transient time is the horizon T from which on m clients are ``share`` * m times better than one client
    alone, each at the schedule of its own T.  The exponent is predicted from the registry
    (:func:`predicted_transient`).
    """
    thm = load(theorem, variant if isinstance(theorem, str) else None)
    name = parameter_named(parameter)
    settings = [setting.with_value(name, value) for value in values]
    times = [horizon_of_speed_up(thm, each, share) for each in settings]
    fitted = fit_exponent(values, times, confidence, limit="down" if name == "gap" else "up")
    last = replace(settings[-1], T=times[-1]).measure(thm).values
    predicted = float(predicted_transient(thm, last).get(name, 0))
    x = tuple(float(v) for v in values)
    return TransientFit(name, x, tuple(times), fitted, predicted, judge(fitted, predicted, name == "gap"))


def horizon_of_speed_up(theorem: Theorem, setting: Setting, share: float = 0.5) -> int:
    """The horizon T from which on the setting's m clients are ``share`` * m times better than one alone.

    Found from infinity downwards: the last crossing.
    """
    if not 0 < share < 1:
        raise InputError(f"share = {share} must lie strictly between 0 and 1")
    if setting.sigma_l == 0 or setting.m < 2:
        raise InputError("noise is what clients average out: a speed-up needs sigma_l > 0 and m >= 2")
    alone = replace(setting, m=1, sigma_g=0.0)

    def fast(T: int) -> bool:
        one, many = (replace(s, T=T).measure(theorem).estimate for s in (alone, setting))
        return one >= share * setting.m * many

    high = _FOREVER
    if not fast(high):
        told = f"{setting.m} clients are not {share * setting.m:g} times better than one"
        raise InputError(f"{told} by T = 1e13")
    # from far away, since at short horizons the models have not yet moved, nor drifted apart
    while high > 1 and fast(max(high // 4, 1)):
        high = max(high // 4, 1)
    low = max(high // 4, 1)
    while high > 1.001 * low + 1:
        middle = min(max(int(np.sqrt(float(low) * float(high))), low + 1), high - 1)
        low, high = (low, middle) if fast(middle) else (middle, high)
    return high
