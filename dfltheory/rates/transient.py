"""The transient time: the horizon from which on m clients give a linear speed-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dfltheory.bounds.theorem import Theorem
from dfltheory.rates.measured import known_values, mean_in_closed_form
from dfltheory.rates.power_laws import Exponent, fit_exponent
from dfltheory.rates.predicted import RateVerdict, judge, predicted_transient
from dfltheory.rates.varied import with_value
from dfltheory.training.instance import Instance

FAR_HORIZON = 10**13
"""Horizon at which only the slowest term of the left-hand side remains."""
_SETTLED = 0.01
"""Largest error of the local exponent in T if only the slowest term remains."""
_PRECISION = 1.01
"""Ratio of upper to lower end at which the search for a transient time stops."""


@dataclass(frozen=True)
class Transient:
    """Horizons beyond which the speed-up is linear, for each number of clients.

    Attributes
    ----------
    m, rounds : tuple
        Number of clients; horizon T beyond which the term proportional to 1/m is at
        least half of the left-hand side, so that m clients are at least m/2 times
        better than one.
    exponent : Exponent
        Fitted exponent of the horizon in m.
    predicted : float
        Exponent of the theorem's rate, an upper bound.
    verdict : {"consistent", "worse", "undecided"}
        As in `RateFit`.
    """

    m: tuple[int, ...]
    rounds: tuple[int, ...]
    exponent: Exponent
    predicted: float
    verdict: RateVerdict

    def __str__(self) -> str:
        fit = self.exponent
        interval = f"{fit.estimate:.3f} [{fit.low:.3f}, {fit.high:.3f}]"
        predicted = f"predicted {self.predicted:.3f}: {self.verdict}"
        return (
            f"exponent in m of the transient of the linear speed-up: {interval},"
            f" {predicted}"
        )


def measure_transient(
    theorem: Theorem, experiments: Sequence[Instance], confidence: float = 0.95
) -> Transient | None:
    """Measure the transient times of experiments that differ in the number of clients.

    Returns
    -------
    Transient or None
        None if there are fewer than 3 experiments, if the theorem guarantees no linear
        speed-up, or if an experiment has no closed form at long horizons.
    """
    if len(experiments) < 3 or not theorem.schedule:
        return None
    prediction = predicted_transient(theorem, known_values(experiments[-1], theorem))
    if prediction is None:
        return None
    times = []
    for experiment in experiments:
        time = transient_time(theorem, experiment)
        if time is None:
            return None
        times.append(time)
    clients = tuple(experiment.task.m for experiment in experiments)
    fitted = fit_exponent(clients, times, confidence, limit="up")
    verdict = judge(fitted, prediction.growth)
    return Transient(clients, tuple(times), fitted, prediction.growth, verdict)


def transient_time(theorem: Theorem, experiment: Instance) -> int | None:
    """Return the horizon beyond which the slowest term is half of the left-hand side.

    If it is half of it at several horizons, the last one is returned, which is searched
    from `FAR` downward: at short horizons the other terms may be small only because the
    models have not yet moved.

    Returns
    -------
    int or None
        None if no linear speed-up is predicted, if there is no closed form, or if other
        terms of the left-hand side still matter at `FAR`.
    """
    prediction = predicted_transient(theorem, known_values(experiment, theorem))
    if prediction is None:
        return None
    decay = prediction.decay

    def left_hand_side(rounds: int) -> float:
        value = mean_in_closed_form(
            with_value(experiment, theorem, "T", rounds), theorem
        )
        return math.nan if value is None else value

    far = left_hand_side(FAR_HORIZON)
    if not far > 0:
        return None
    slope = math.log(far / left_hand_side(FAR_HORIZON // 16)) / math.log(16)
    if not abs(slope - decay) < _SETTLED:
        return None

    def slowest_term_is_half(rounds: int) -> bool:
        return left_hand_side(rounds) <= 2 * far * (rounds / FAR_HORIZON) ** decay

    high = FAR_HORIZON
    while high > 1 and slowest_term_is_half(max(high // 10, 1)):
        high = max(high // 10, 1)
    low = max(high // 10, 1)
    while high > _PRECISION * low + 1:
        middle = min(max(round(math.sqrt(low) * math.sqrt(high)), low + 1), high - 1)
        if slowest_term_is_half(middle):
            high = middle
        else:
            low = middle
    return high
