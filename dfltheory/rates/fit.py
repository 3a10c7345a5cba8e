"""Comparison of a measured exponent with the predicted one.

A finite range of values cannot refute a rate. `RateFit.verdict` states how the measured
exponent compares with the predicted one. To test a bound, use `compare`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from dfltheory.bounds.reference import Reference, load
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.rates.measured import Measured, measure, stacked_deviations
from dfltheory.rates.objections import (
    differ,
    not_applicable,
    not_exceeded,
    other_step_sizes,
    refuse_other_schedules,
)
from dfltheory.rates.power_laws import Exponent, Limit, fit_exponent
from dfltheory.rates.predicted import (
    GAP,
    Prediction,
    RateVerdict,
    check_quantity,
    has_logarithm,
    judge,
    predict,
)
from dfltheory.rates.transient import Transient, measure_transient
from dfltheory.rates.varied import is_of_network, with_value
from dfltheory.training.history import History
from dfltheory.training.instance import Instance

FittedRun = History | Instance | Measured

_LIMITS: dict[str, Limit] = {"T": "up", "K": "up", "m": "up", GAP: "down"}
"""Limit in which the exponent of each quantity is claimed."""
_FEWEST = 3
"""Smallest number of points for an exponent with an interval."""
_NO_EXPONENT = Exponent(math.nan, -math.inf, math.inf, math.nan)


@dataclass(frozen=True)
class RateFit:
    """Comparison of a measured exponent in one quantity with the predicted one.

    Attributes
    ----------
    vary : str
        Glossary name, or "1 - lam".
    x, measured, bound : tuple of float
        Values of the quantity, of the measured left-hand side, and of the bound (nan if
        a constant is unknown).
    exponent : Exponent
        Estimate with a confidence interval [low, high].
    predicted : float or None
        Exponent of the theorem's rate, or None.
    verdict : {"consistent", "worse", "undecided"}
        ``worse`` if the left-hand side falls more slowly (grows faster) toward the
        quantity's limit than predicted, and the interval excludes the prediction. A
        faster decay is consistent with an upper bound. For a bound with constants,
        ``worse`` also requires that the theorem covers the runs and that a point
        exceeds the bound: below it, the exponent may change later on.
    reason : str
        Why the verdict is undecided; else empty.
    terms : tuple of str
        Monomials of the theorem's rate that have the predicted exponent.
    transient : Transient or None
        For vary = "m": the horizon beyond which the speed-up is linear.
    latex : str
        Symbol of ``vary`` in LaTeX, if it is a computed quantity; else empty.
    """

    vary: str
    x: tuple[float, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]
    exponent: Exponent
    predicted: float | None
    verdict: RateVerdict
    reason: str = ""
    terms: tuple[str, ...] = ()
    transient: Transient | None = None
    latex: str = ""

    def __str__(self) -> str:
        fit = self.exponent
        text = (
            f"exponent in {self.vary}: {fit.estimate:.3f} [{fit.low:.3f},"
            f" {fit.high:.3f}]"
        )
        if self.predicted is not None:
            text += f", predicted {self.predicted:.3f}"
        if self.terms:
            text += f" (from {' + '.join(self.terms)})"
        text += f": {self.verdict}"
        if self.reason:
            text += f", {self.reason}"
        return text if self.transient is None else f"{text}\n{self.transient}"

    @property
    def label(self) -> str:
        """The varied quantity as a formula for figures."""
        if self.latex:
            return f"${self.latex}$"
        if self.vary == GAP:
            return f"$1 - {GLOSSARY['lam'].latex}$"
        if self.vary in GLOSSARY:
            return f"${GLOSSARY[self.vary].latex}$"
        return self.vary

    def plot(
        self,
        ax: Axes | None = None,
        *,
        interval: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
        legend: bool = True,
        columns: int = 1,
    ) -> Axes:
        """Draw the points, the fit and the predicted slope.

        ``interval`` contains the lower and upper limits of the points; the other
        parameters are common to all figures (:mod:`dfltheory.plots`).
        """
        from dfltheory.plots.fitted_rates import rate

        fit = self.exponent
        return rate(
            self.x,
            self.measured,
            ax,
            interval=interval,
            fitted=(fit.estimate, math.exp(fit.intercept)),
            exponent_ci=(fit.low, fit.high),
            predicted=self.predicted,
            xlabel=self.label,
            ylabel="measured left-hand side",
            legend=legend,
            columns=columns,
        )


def rate_fit(
    theorem: Reference,
    experiment: Instance | Callable[[float], FittedRun],
    vary: str,
    over: Sequence[float],
    *,
    variant: str | None = None,
    predicted: float | None = None,
    confidence: float = 0.95,
) -> RateFit:
    """Fit the exponent of a theorem's left-hand side in one quantity.

    Step sizes follow the theorem's schedule.

    Parameters
    ----------
    theorem, variant : Theorem or str
        As in `compare`.
    experiment : Instance, loaded experiment file, or function
        An experiment is run at each value with the step sizes of the schedule (see
        `with_value`), using exact expectations if they can be computed. A function maps
        the value to a History, or to an Instance with its own step sizes.
    vary : str
        Glossary name: T, K, m, "1 - lam", rho, rho0, sigma_l, sigma_g... With
        ``predicted``, any quantity. A computed quantity of the network, such as a sum
        over its spectrum, is varied through the network; the exponent is compared with
        that of the bound at the points.
    over : sequence of float
        At least 3 positive values.
    predicted : float, optional
        Exponent to compare with, instead of that of the theorem's rate. The verdict
        then concerns only this number: the runs need not satisfy the theorem's
        conditions, and the points may be below its bound.
    confidence : float
        Level of the interval, which is based on independent seeds if the runs are
        random.

    Returns
    -------
    RateFit

    Raises
    ------
    UnknownNameError
        If no rate predicts an exponent in ``vary``.
    InputError
        If the runs do not follow the theorem's schedule, did not measure every round of
        its left-hand side, or a power law cannot be fitted.
    """
    if len(over) < _FEWEST:
        raise InputError(
            f"over has {len(over)} values, but an exponent with an interval needs at"
            f" least {_FEWEST}"
        )
    thm = load(theorem, variant)
    along_network = is_of_network(thm, vary)
    if predicted is None and not along_network:
        check_quantity(vary)
    runs = [_run_at(experiment, thm, vary, value) for value in over]
    points = [measure(run, thm) for run in runs]
    values = [point.values for point in points]
    prediction, reason = None, ""
    if predicted is None and thm.schedule and not along_network:
        refuse_other_schedules(thm, vary, values)
        prediction, reason = _prediction(thm, vary, over, values)
    fit = fit_points(
        vary,
        over,
        [point.estimate for point in points],
        [_bound_at(thm, point_values) for point_values in values],
        confidence,
        predicted=predicted,
        prediction=prediction,
        reason=reason,
        deviations=stacked_deviations(points),
        rounded=[point.rounded for point in points],
        has_constants=not thm.order,
    )
    obstacle = not_applicable(vary, over, points) if predicted is None else ""
    objection = obstacle
    if predicted is None and fit.verdict == "worse" and not obstacle:
        objection = other_step_sizes(thm, values)
    if objection:
        fit = replace(fit, verdict="undecided", reason=objection)
    if along_network:
        return replace(fit, latex=thm.glossary[vary].latex)
    if vary != "m" or obstacle:
        return fit
    experiments = [run for run in runs if isinstance(run, Instance)]
    return replace(fit, transient=measure_transient(thm, experiments, confidence))


def fit_points(
    vary: str,
    x: Sequence[float],
    measured: Sequence[float],
    bound: Sequence[float],
    confidence: float = 0.95,
    *,
    predicted: float | None = None,
    prediction: Prediction | None = None,
    reason: str = "",
    deviations: ArrayLike | None = None,
    rounded: Sequence[bool] | None = None,
    has_constants: bool = True,
) -> RateFit:
    """Fit the exponent of given points, for example of a sweep.

    The exponent is compared with ``prediction``, else with ``predicted``, else with the
    exponent of the bound at these points.

    Parameters
    ----------
    vary : str
        Name of the quantity.
    x, measured : (n,) sequence of float
        Its values, and the measured left-hand sides; positive.
    bound : sequence of float
        The bound at each point; nan if it is unknown.
    confidence : float
        Level of the interval.
    predicted : float, optional
        Exponent that the caller claims. Whether the points exceed the bound then does
        not matter.
    prediction : Prediction, optional
        Exponent that a theorem's rate predicts.
    reason : str
        Why there is no prediction; the verdict is then undecided.
    deviations : (seeds, n) array_like, optional
        As in `fit_exponent`.
    rounded : (n,) sequence of bool, optional
        Points dominated by rounding, which are ignored.
    has_constants : bool
        Whether the bound has constants; False for the order O(.) of a bound.

    Returns
    -------
    RateFit

    Raises
    ------
    InputError
        If a power law cannot be fitted; see `fit_exponent`.
    """
    used = np.ones(len(x), dtype=bool) if rounded is None else ~np.array(rounded)
    exponent = _NO_EXPONENT
    if used.sum() >= _FEWEST or used.all():
        exponent = fit_exponent(
            np.asarray(x, dtype=float)[used],
            np.asarray(measured, dtype=float)[used],
            confidence,
            deviations=None if deviations is None else np.asarray(deviations)[:, used],
            limit=_LIMITS.get(vary),
        )
    elif not reason:
        reason = (
            f"only {used.sum()} of {len(x)} points exceed their rounding error, but"
            f" an exponent needs {_FEWEST}: choose values with a larger left-hand side"
        )
    is_claim_of_caller = predicted is not None
    slack, terms = 0.0, ()
    if prediction is not None:
        predicted = float(prediction.exponent)
        slack, terms = prediction.slack, prediction.terms
    elif predicted is None and not reason:
        # at the points that the measured exponent is of
        values = np.asarray(bound, dtype=float)[used]
        if np.isfinite(values).all() and values.min() > 0:
            predicted = fit_exponent(np.asarray(x)[used], values).estimate
        else:
            reason = "constants of the bound are unknown"
    verdict = "undecided" if reason else judge(exponent, predicted, vary, slack)
    if verdict == "undecided" and not reason:
        reason = "the local exponents do not converge"
    if verdict == "worse" and has_constants and not is_claim_of_caller:
        reason = not_exceeded(
            np.asarray(measured, dtype=float)[used],
            np.asarray(bound, dtype=float)[used],
        )
        verdict = "undecided" if reason else verdict
    return RateFit(
        vary,
        tuple(map(float, x)),
        tuple(map(float, measured)),
        tuple(map(float, bound)),
        exponent,
        predicted,
        verdict,
        reason,
        terms,
    )


def _run_at(experiment: Any, theorem: Theorem, vary: str, value: float) -> FittedRun:
    """Return the run or experiment at one value of the quantity."""
    if isinstance(experiment, Instance):
        return with_value(experiment, theorem, vary, value)
    if hasattr(experiment, "instance"):  # a loaded experiment file
        return with_value(experiment.instance(), theorem, vary, value)
    if callable(experiment):
        run: Any = experiment(value)
        return run
    raise InputError(
        f"experiment is a {type(experiment).__name__}: pass an Instance, or a function"
        f" of {vary} that returns a History or an Instance"
    )


def _bound_at(theorem: Theorem, values: Mapping[str, float]) -> float:
    """Return the bound at the values of a run; nan if a value is unknown."""
    needed = {name: values.get(name, math.nan) for name in theorem.needs}
    if not np.isfinite(list(needed.values())).all():
        return math.nan
    return float(theorem.evaluate(where="ignore", **needed))


def _prediction(
    theorem: Theorem,
    vary: str,
    over: Sequence[float],
    values: Sequence[Mapping[str, float]],
) -> tuple[Prediction | None, str]:
    """Return the prediction of the theorem's rate, or None with the reason."""
    if has_logarithm(theorem, vary):
        return None, f"the bound contains a logarithm of {vary}"
    prediction = predict(theorem, vary, values)
    for name in sorted(prediction.quantities):
        if differ([point.get(name, math.nan) for point in values]):
            return None, f"{name} of the runs changes with {vary}"
    ratios = [
        _value_of(vary, point) / value
        for point, value in zip(values, over, strict=True)
    ]
    if differ(ratios):
        return None, f"{vary} of the runs is not proportional to the requested values"
    return prediction, ""


def _value_of(vary: str, values: Mapping[str, float]) -> float:
    """Return the varied quantity of a run; nan if it is unknown."""
    if vary == GAP:
        return 1 - values.get("lam", math.nan)
    return values.get(vary, math.nan)
