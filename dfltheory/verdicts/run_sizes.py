"""Magnitudes of a run, such as norms of models, that determine its rounding errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.bounds.theorem import LeftSide
from dfltheory.verdicts.measures import FloatOrArray, measured, precision
from dfltheory.verdicts.unknown_sizes import client_gradient, minimum_size, model_size

if TYPE_CHECKING:
    from dfltheory.algorithms.base import Algorithm
    from dfltheory.training.history import History


class BlockSteps(NamedTuple):
    """Step size, local steps and smoothness of one block; None if unknown."""

    eta: FloatOrArray | None
    local_steps: FloatOrArray
    L: FloatOrArray | None


@dataclass(frozen=True, eq=False)
class Sizes:
    """Magnitudes of a run that determine its rounding errors.

    They are numbers, or arrays of one shape. None means unknown.

    Attributes
    ----------
    eps, tiny : float
        Rounding unit and smallest normal number of the run's arithmetic.
    rounds : float or array
        T, the number of rounds before the measurement.
    size : float or array
        Largest root mean square of ||x_i|| over the run, plus ||x*|| if x* is known.
    gradient : float or array
        Largest root mean square of ||g_i||.
    f_star : float or array
        |f*|.
    value : float or array
        Largest |f(xbar)|.
    slope : float or array
        Largest ||grad f(xbar)||.
    heterogeneity : float or array
        Largest root mean square of ||grad f_i(xbar) - grad f(xbar)||.
    eta, last_eta : float, array or None
        Largest and smallest step size.
    local_steps, gossip_steps, clients : float or array, int, int
        K, Q, m.
    L, mu : float, array or None
        Constants of the problem.
    lam : float, array or None
        Contraction of the mixing matrix of one round.
    memory : float or array
        How many times an error may be repeated, such as 1/(1 - alpha) for momentum
        alpha.
    value_error : float or array
        Known error of the measure's own value.
    minimizer_error : float or array
        Known error of x*.
    largest : float or array
        Largest value of the measure.
    weights : mapping of str to float or array
        Weight of each block's squared gradient in the measure, by the suffix of the
        block's constants (``_u`` or ``_v``).
    blocks : mapping of str to Block
        Step size, local steps and smoothness of each block, by the same suffix.
    step_error : float
        Relative difference of the step sizes from those of a schedule.
    known : bool
        False if sizes are unknown, as in a run that was measured elsewhere.
    """

    eps: float
    tiny: float
    rounds: FloatOrArray
    size: FloatOrArray
    gradient: FloatOrArray
    f_star: FloatOrArray = 0.0
    value: FloatOrArray = 0.0
    slope: FloatOrArray = 0.0
    heterogeneity: FloatOrArray = 0.0
    eta: FloatOrArray | None = None
    last_eta: FloatOrArray | None = None
    local_steps: FloatOrArray = 1
    gossip_steps: int = 1
    clients: int = 1
    L: FloatOrArray | None = None
    mu: FloatOrArray | None = None
    lam: FloatOrArray | None = None
    memory: FloatOrArray = 1.0
    value_error: FloatOrArray = 0.0
    minimizer_error: FloatOrArray = 0.0
    largest: FloatOrArray = 0.0
    weights: Mapping[str, FloatOrArray] = field(default_factory=dict[str, FloatOrArray])
    blocks: Mapping[str, BlockSteps] = field(default_factory=dict[str, BlockSteps])
    step_error: float = 0.0
    known: bool = True


def run_sizes(run: History, lhs: LeftSide) -> Sizes:
    """Return the magnitudes of a run, largest over all seeds and measured rounds.

    Parameters
    ----------
    run : History
    lhs : LeftSide
        The left-hand side, whose measure has the rounding error.
    """
    constants = run.constants.known()
    hyperparameters = run.algorithm.theory_values()
    facts = run.network_facts
    eta = hyperparameters.get("eta")
    decay = float(getattr(run.algorithm, "decay", 1.0))
    L = constants.get("L")
    data = measured(run, lhs.measure)
    size, gradient = _largest_model(run), _largest_gradient(run)
    f_star, slope = abs(run.constants.f_star or 0.0), _largest_slope(run, gradient)
    if run.stated is not None and lhs.measure == "f_gap":
        f_star = minimum_size(run)
    heterogeneity = constants.get("sigma_g", math.inf)
    weights = _block_weights(run, lhs.measure)
    one_matrix = facts is not None and facts.kind == "fixed"
    return Sizes(
        eps=precision(run),
        tiny=_smallest_normal(run),
        rounds=run.rounds,
        size=size,
        gradient=gradient,
        f_star=f_star,
        value=_largest_finite(np.abs(run.loss)),
        slope=slope,
        heterogeneity=heterogeneity if math.isfinite(heterogeneity) else gradient,
        eta=eta,
        last_eta=None if eta is None else eta * decay**run.rounds,
        local_steps=hyperparameters.get("K", 1),
        gossip_steps=run.algorithm.gossip_steps if run.algorithm.needs_topology else 0,
        clients=max(run.m, 1),
        L=L if L is None or math.isfinite(L) else None,
        mu=constants.get("mu"),
        lam=run.network.known().get("lam") if one_matrix else None,
        memory=memory_of(run.algorithm),
        value_error=_consensus_error(run, lhs),
        largest=0.0 if data is None else _largest_finite(np.abs(data)),
        weights=weights,
        blocks={
            suffix: _block(hyperparameters, constants, suffix) for suffix in weights
        },
        known=all(map(math.isfinite, (size, gradient, f_star))),
    )


def _consensus_error(run: History, lhs: LeftSide) -> float:
    """Return the rounding error of an expected consensus error; 0 if it was sampled."""
    if lhs.measure != "consensus" or run.consensus_rounding is None:
        return 0.0
    span = lhs.rounds(run.rounds)
    in_span = (run.rounds_measured >= span.start) & (run.rounds_measured < span.stop)
    return _largest_finite(run.consensus_rounding[:, in_span])


def _largest_model(run: History) -> float:
    """Return the largest root mean square of ||x_i||, plus ||x*|| if x* is known.

    The latter is at most ||x|| + ||x - x*||.
    """
    with np.errstate(over="ignore"):  # a run that diverged may overflow
        squares = [run.x0_sq]
        if run.x.size:
            squares.append((run.x.astype(float) ** 2).sum(-1).mean(-1))
    if run.model_sq is not None:
        squares.append(run.model_sq)
    elif run.stated is not None:
        distances = measured(run, "dist_sq")
        return model_size(run, distances, memory_of(run.algorithm))
    size = math.sqrt(max(map(_largest_finite, squares)))
    if run.algorithm.mixing == "column-stochastic":  # its weights may favor one client
        size *= math.sqrt(run.m)
    distances = measured(run, "dist_sq")
    if distances is None:
        return size
    return 2 * size + math.sqrt(_largest_finite(distances))


def _largest_gradient(run: History) -> float:
    """Return an upper bound of the root mean square of the stochastic gradients.

    It starts from gradients at the initial models or at the mean model, to which
    smoothness adds at most 2 L ||x|| for the distance to the clients' models.
    """
    constants = {
        name: value
        for name, value in run.constants.known().items()
        if math.isfinite(value)
    }
    at_start = 0.0
    if run.x0_gradient_sq is not None:
        at_start = math.sqrt(_largest_finite(run.x0_gradient_sq))
    at_mean = math.sqrt(_largest_finite(np.abs(run.grad_norm_sq)))
    at_mean += constants.get("sigma_g", 0.0)
    size = _largest_model(run)
    by_distance = (
        2 * constants.get("L", 0.0) * size if math.isfinite(size) else math.inf
    )
    if run.stated is not None:
        return client_gradient(run, measured(run, "dist_sq")) + by_distance
    return max(at_start, at_mean) + by_distance + constants.get("sigma_l", 0.0)


def _largest_slope(run: History, gradient: float) -> float:
    """Return the largest ||grad f(xbar)||, or ``gradient`` if it was not measured."""
    if "grad_norm_sq" not in run.measures():
        return gradient
    return math.sqrt(_largest_finite(np.abs(run.grad_norm_sq)))


def _block_weights(run: History, measure: str) -> dict[str, float]:
    """Return the weight of each block's squared gradient in a measure.

    Keys are the suffixes ``_u`` and ``_v`` of the blocks' constants. The result is
    empty for measures that are not about blocks.
    """
    if measure == "two_block_weighted":
        values = run.algorithm.theory_values()
        return {
            f"_{block}": values[f"eta_{block}"] * values[f"K_{block}"] / 4
            for block in "uv"
        }
    if measure in ("grad_u_sq", "grad_u_sq_next", "grad_v_sq"):
        return {f"_{measure[5]}": 1.0}
    if measure in ("two_block", "two_block_next"):
        constants = run.constants.known()
        return {
            f"_{block}": 1 / constants[f"L_{block}"]
            for block in "uv"
            if constants.get(f"L_{block}")
        }
    return {}


def _block(
    hyperparameters: Mapping[str, float], constants: Mapping[str, float], suffix: str
) -> BlockSteps:
    """Return the magnitudes of the block with a suffix."""
    return BlockSteps(
        eta=hyperparameters.get(f"eta{suffix}"),
        local_steps=hyperparameters.get(f"K{suffix}", 1),
        L=constants.get(f"L{suffix}"),
    )


def _largest_finite(values: FloatArray) -> float:
    """Return the largest finite number; 0 if there is none, as after divergence."""
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))


def _smallest_normal(run: History) -> float:
    """Return the smallest normal number of the run's arithmetic."""
    import torch

    name = str(run.x.dtype) if run.facts is None else run.facts.precision
    return float(torch.finfo(getattr(torch, name)).tiny)


def memory_of(algorithm: Algorithm[Any]) -> float:
    """Return how many times an algorithm's state repeats the error of one round.

    It is 1/(1 - alpha) for momentum. It is inf, which means in each later round, for
    dual variables, gradient trackers and other states whose use is unknown.
    """
    from dfltheory.algorithms.base import Algorithm
    from dfltheory.training.records import Recorded

    hyperparameters = algorithm.theory_values()
    alpha = hyperparameters.get("alpha")
    if alpha is not None and "lam_admm" not in hyperparameters:
        return 1 / (1 - alpha)
    base: type[Algorithm[Any]] = Algorithm
    unknown = isinstance(algorithm, Recorded) or type(algorithm).init is not base.init
    return math.inf if unknown else 1.0


__all__ = ["BlockSteps", "Sizes", "memory_of", "run_sizes"]
