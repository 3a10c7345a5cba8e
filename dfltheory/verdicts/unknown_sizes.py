"""Norms of models and gradients in a run that was measured elsewhere.

Rounding errors are multiples of these norms, which other code rarely records. If
mean_i ||x_i^t||^2 was measured (``model_sq``), the size of the models is known.
Otherwise a client moves by at most eta K ||g|| in a round, and gossip does not enlarge
norms, so that

    ||x^t|| <= ||x^0|| + T eta K max ||g||,
    ||g|| <= 2 (||grad f|| + sigma_g + L rho) + sigma_l

where the factor 2 is for the local models, at which the gradients are taken. What is
not known is infinite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.arrays import FloatArray

if TYPE_CHECKING:
    from dfltheory.training.history import History


def model_size(run: History, distances: FloatArray | None, memory: float) -> float:
    """Return an upper bound of the root mean square of ||x_i||; infinite if unknown.

    Parameters
    ----------
    run : History
    distances : (S, R) array, optional
        ||xbar^t - x*||^2.
    memory : float
        How many times momentum repeats a step.
    """
    start = math.sqrt(_largest(run.x0_sq))
    by_travel = start + distance_travelled(run, distances, memory)
    if distances is None or not distances.size or run.rounds_measured[0] != 0:
        return by_travel
    spread = math.sqrt(_largest(run.consensus))
    by_distance = start + 2 * math.sqrt(_largest(distances)) + spread
    return min(by_travel, by_distance)


def distance_travelled(
    run: History, distances: FloatArray | None, memory: float
) -> float:
    """Return T eta K max ||g||, times ``memory``; infinite if a factor is unknown."""
    hyperparameters = run.algorithm.theory_values()
    eta = hyperparameters.get("eta")
    if eta is None or not math.isfinite(memory):
        return math.inf
    steps = hyperparameters.get("K", 1)
    return run.rounds * eta * steps * memory * client_gradient(run, distances)


def client_gradient(run: History, distances: FloatArray | None) -> float:
    """Return an upper bound of the root mean square of ||g_i||; infinite if unknown."""
    known = run.values()
    noise = known.get("sigma_l", math.inf)
    if "B" in known:
        return math.hypot(known["B"], noise)
    radius = run.algorithm.theory_values().get("rho", 0.0)
    perturbation = known.get("L", math.inf) * radius if radius else 0.0
    heterogeneity = known.get("sigma_g", math.inf)
    mean = _mean_gradient(run, distances, known.get("L"))
    return 2 * (mean + heterogeneity + perturbation) + noise


def _mean_gradient(
    run: History, distances: FloatArray | None, L: float | None
) -> float:
    """Return the largest ||grad f(xbar)||, or a bound by L and other measures."""
    if np.isfinite(run.grad_norm_sq).all():
        return math.sqrt(_largest(run.grad_norm_sq))
    if L is None:
        return math.inf
    if distances is not None:
        return L * math.sqrt(_largest(distances))
    gap = run.measures().get("f_gap")
    if gap is None and run.constants.f_star is not None:
        gap = run.loss - run.constants.f_star
    return math.inf if gap is None else math.sqrt(2 * L * max(_largest(gap), 0.0))


def minimum_size(run: History) -> float:
    """Return |f*|, if necessary from f and f - f*; infinite if it is unknown."""
    if run.constants.f_star is not None:
        return abs(run.constants.f_star)
    gap = run.measures().get("f_gap")
    if gap is None or not np.isfinite(run.loss).all():
        return math.inf
    return _largest(np.abs(run.loss - gap))


def _largest(values: FloatArray) -> float:
    """Return the largest value; infinite if one is unknown (NaN)."""
    largest = float(np.max(values, initial=-math.inf))
    return math.inf if math.isnan(largest) else largest


__all__ = [
    "client_gradient",
    "distance_travelled",
    "minimum_size",
    "model_size",
]
