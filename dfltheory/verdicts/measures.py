"""What a run measured: its measures by name, and the magnitudes of its rounding errors.

Nothing here imports torch until it is called, for the verifier in rational numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.theorem import LeftSide, Theorem
from dfltheory.errors import InputError
from dfltheory.verdicts.unknown_sizes import gradient_size, minimum_size, model_size

if TYPE_CHECKING:
    from torch import Tensor

    from dfltheory.algorithms.base import Algorithm
    from dfltheory.tasks.task import Task
    from dfltheory.training.history import History

Array = NDArray[np.float64]
Numbers = float | Array


# -- measures: recorded by a run, or derived from what it recorded -------------------


def dist_sq(task: Task, models: Tensor, mean: Tensor) -> Tensor:
    """||xbar^t - x*||^2, for ``train(..., metrics=[dfl.verdicts.dist_sq])``.

    For tasks with a known minimizer ``x_star`` (d,) of f, such as quadratics.
    """
    x_star = getattr(task, "x_star", None)
    if x_star is None or x_star.shape != mean.shape[1:]:
        raise InputError(
            f"the task {type(task).__name__} has no minimizer x_star of f, which"
            " dist_sq needs: measure another quantity, or use a quadratic task"
        )
    return ((mean.double() - x_star.double()) ** 2).sum(-1)


METRICS = {"dist_sq": dist_sq}
"""Measures that a run records on request, by name."""


class Gap(NamedTuple):
    """f - f* at one round, and its absolute rounding error."""

    value: Any  # numbers, (S,) or (P,) arrays, or fractions
    error: Any


class Derived(NamedTuple):
    """A measure that is computed from recorded ones.

    ``compute`` returns it for every seed and measured round, (S, R), or None if one of
    its ``parts`` was not recorded.
    """

    compute: Callable[[History], Array | None]
    parts: tuple[str, ...]


def _weighted_block_gradients(run: History) -> Array | None:
    """(eta_u K_u ||grad_u F||^2 + eta_v K_v Delta_v)/4: a/(4 L_u) and b/(4 L_v) with
    a = eta_u K_u L_u and b = eta_v K_v L_v."""
    recorded = run.measures()
    if not {"grad_u_sq_next", "grad_v_sq"} <= set(recorded):
        return None
    hyperparameters = run.algorithm.theory_values()
    shared = hyperparameters["eta_u"] * hyperparameters["K_u"]
    personal = hyperparameters["eta_v"] * hyperparameters["K_v"]
    return (shared * recorded["grad_u_sq_next"] + personal * recorded["grad_v_sq"]) / 4


def _objective_gap(run: History) -> Array | None:
    """f(xbar^t) - f*."""
    if np.isnan(run.loss).all():  # not measured, of a run that was made elsewhere
        return None
    gap = gap_above_minimum(run.loss, run)
    return None if gap is None else gap.value


DERIVED: dict[str, Derived] = {
    "two_block_weighted": Derived(
        _weighted_block_gradients, ("grad_u_sq_next", "grad_v_sq")
    ),
    "f_gap": Derived(_objective_gap, ("loss",)),
}
"""Measures that no run records, by name."""


def gap_above_minimum(values: Array, run: History) -> Gap | None:
    """Values of f minus f*, and their rounding error; None if f* is unknown.

    Where the gap is within its rounding error, it is at least 0.
    """
    f_star = run.constants.f_star
    if f_star is None:
        return None
    gap = values - f_star
    error = 16 * precision(run) * (np.abs(values) + abs(f_star))
    return Gap(np.where(np.abs(gap) <= error, np.maximum(gap, 0.0), gap), error)


def measured(run: History, measure: str) -> Array | None:
    """A measure at every measured round, (S, R); None if it is neither recorded nor
    derived. User metrics count as recorded."""
    recorded = run.measures()
    if measure in recorded:
        return recorded[measure]
    if measure in DERIVED:
        return DERIVED[measure].compute(run)
    return None


def rounds_ahead(measure: str) -> int:
    """How many rounds the models that a measure depends on are ahead of its own
    round.
    """
    from dfltheory.training.metrics import AHEAD

    parts = DERIVED[measure].parts if measure in DERIVED else (measure,)
    return max(AHEAD.get(part, 0) for part in parts)


def is_deterministic(run: History) -> bool:
    """Whether nothing in the run is random, so that one seed gives the expectation."""
    if not getattr(run, "chance", True):  # computed expectations
        return True
    noiseless = (
        run.constants.sigma_l == 0 and run.constants.standing_of("sigma_l") == "exact"
    )
    facts = run.network_facts
    no_network = facts is not None and facts.kind == "none"
    fixed_network = no_network or not run.random_network
    return noiseless and not run.algorithm.draws and fixed_network


def precision(run: History) -> float:
    """Return the rounding unit of the arithmetic that the run was made in."""
    return float(np.finfo(run.x.dtype).eps) if run.facts is None else run.facts.eps


# -- the objective of a theorem


def objective(run: History, theorem: Theorem) -> Array | None:
    """What a theorem minimizes, along the run, (S, R); None if it was not measured.

    f(xbar^t), or F(ubar^t, V^t) for a theorem on a shared and a personal block.
    """
    if theorem.scope.two_blocks:
        return run.measures().get("two_block_value")
    return run.loss


def objective_at_start(run: History, theorem: Theorem) -> Array | None:
    """The objective at the theorem's first round, (S,), if measured and finite."""
    values = objective(run, theorem)
    columns = np.flatnonzero(run.rounds_measured == theorem.lhs.start)
    if values is None or not columns.size:
        return None
    start = values[:, columns[0]].astype(float)
    return start if np.isfinite(start).all() else None


def gap_at_start(run: History, theorem: Theorem) -> Gap | None:
    """f - f* of each seed, (S,), with the rounding error of the difference alone."""
    if not theorem.scope.two_blocks:
        gap = run.gap_at(theorem.lhs.start)
        return None if gap is None else Gap(*gap)
    start = objective_at_start(run, theorem)
    return None if start is None else gap_above_minimum(start, run)


# -- magnitudes, for rounding errors


class Block(NamedTuple):
    """Step size, local steps and smoothness of one block; ``None``: unknown."""

    eta: Numbers | None
    local_steps: Numbers
    L: Numbers | None


@dataclass(frozen=True)
class Sizes:
    """Magnitudes of a run that its rounding errors are multiples of.

    Numbers, or arrays of one shape.

    Attributes
    ----------
    eps, tiny : rounding unit and smallest normal number of the run's arithmetic
    rounds : T, rounds until the measurement
    size : largest root mean square of ||x_i|| over the run, plus ||x*|| where x* is
        known
    gradient : largest root mean square of ||g_i||
    f_star : |f*|;  value : largest |f(xbar)|;  slope : largest ||grad f(xbar)||
    heterogeneity : largest root mean square of ||grad f_i(xbar)||, without what all
        have in common
    eta : largest step size; ``None``: unknown;  last_eta : the smallest one
    local_steps, gossip_steps, clients : K, Q, m
    L, mu : constants of the problem; ``None``: unknown
    lam : contraction of one round's mixing matrix; ``None``: unknown
    memory : how many times an error may be repeated, as 1/(1 - alpha) for momentum
        alpha
    value_error, minimizer_error : known errors of f - f*, or of another measure's own,
        and of x*
    largest : largest value of the measure itself
    weights : of each block's squared gradient in the measure, by the suffix of its
        constants
    blocks : eta, K and L of each block, by the same suffix
    known : False if sizes are unknown, as in a run that was measured elsewhere
    """

    eps: float
    tiny: float
    rounds: Numbers
    size: Numbers
    gradient: Numbers
    f_star: Numbers = 0.0
    value: Numbers = 0.0
    slope: Numbers = 0.0
    heterogeneity: Numbers = 0.0
    eta: Numbers | None = None
    last_eta: Numbers | None = None
    local_steps: Numbers = 1
    gossip_steps: int = 1
    clients: int = 1
    L: Numbers | None = None
    mu: Numbers | None = None
    lam: Numbers | None = None
    memory: Numbers = 1.0
    value_error: Numbers = 0.0
    minimizer_error: Numbers = 0.0
    largest: Numbers = 0.0
    weights: Mapping[str, Numbers] = field(default_factory=dict)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    known: bool = True


def run_sizes(run: History, lhs: LeftSide) -> Sizes:
    """Magnitudes of a run, over all seeds and measured rounds."""
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
            block: _block(hyperparameters, constants, block)
            for block in weights
            if block
        },
        known=all(map(math.isfinite, (size, gradient, f_star))),
    )


def _consensus_error(run: History, lhs: LeftSide) -> float:
    """Error of an expected consensus that was computed from a covariance."""
    if lhs.measure != "consensus" or run.consensus_rounding is None:
        return 0.0
    span = lhs.rounds(run.rounds)
    in_span = (run.rounds_measured >= span.start) & (run.rounds_measured < span.stop)
    return _largest_finite(run.consensus_rounding[:, in_span])


def _largest_model(run: History) -> float:
    """Return the largest root mean square of ||x_i||.

    2 ||x|| + ||x - x*|| where x* is known, since ||x*|| <= ||x|| + ||x - x*||.
    """
    with np.errstate(over="ignore"):  # of a run that diverged
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
    """An upper bound of the root mean square of every client's stochastic gradient."""
    constants = {
        name: value
        for name, value in run.constants.known().items()
        if math.isfinite(value)
    }
    start = (
        0.0
        if run.x0_gradient_sq is None
        else math.sqrt(_largest_finite(run.x0_gradient_sq))
    )
    mean = math.sqrt(_largest_finite(np.abs(run.grad_norm_sq))) + constants.get(
        "sigma_g", 0.0
    )
    size = _largest_model(run)
    moved = 2 * constants.get("L", 0.0) * size if math.isfinite(size) else math.inf
    if run.stated is not None:
        return gradient_size(run, measured(run, "dist_sq"), size) + moved
    return max(start, mean) + moved + constants.get("sigma_l", 0.0)


def _largest_slope(run: History, gradient: float) -> float:
    """Return the largest ||grad f(xbar)||.

    That of the clients' gradients where it was not measured.
    """
    if "grad_norm_sq" not in run.measures():
        return gradient
    return math.sqrt(_largest_finite(np.abs(run.grad_norm_sq)))


def _block_weights(run: History, measure: str) -> dict[str, float]:
    """The weight of each block's squared gradient in a measure, by the suffix of the
    block's constants."""
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
) -> Block:
    return Block(
        eta=hyperparameters.get(f"eta{suffix}"),
        local_steps=hyperparameters.get(f"K{suffix}", 1),
        L=constants.get(f"L{suffix}"),
    )


def _largest_finite(values: Array) -> float:
    """Return the largest finite number; 0 if there is none, as after divergence."""
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))


def _smallest_normal(run: History) -> float:
    """Return the smallest normal number of the run's arithmetic."""
    import torch

    name = str(run.x.dtype) if run.facts is None else run.facts.precision
    return float(torch.finfo(getattr(torch, name)).tiny)


def memory_of(algorithm: Algorithm) -> float:
    """How many times the rounding error of one round is repeated by what an algorithm
    carries on.

    1/(1 - alpha) for momentum; unlimited (each round once) for duals, trackers and
    states of unknown use.
    """
    from dfltheory.algorithms.base import Algorithm
    from dfltheory.training.records import Recorded

    hyperparameters = algorithm.theory_values()
    alpha = hyperparameters.get("alpha")
    if alpha is not None and "lam_admm" not in hyperparameters:
        return 1 / (1 - alpha)
    unknown = (
        isinstance(algorithm, Recorded) or type(algorithm).init is not Algorithm.init
    )
    return math.inf if unknown else 1.0


__all__ = [
    "DERIVED",
    "METRICS",
    "Block",
    "Gap",
    "Sizes",
    "dist_sq",
    "gap_above_minimum",
    "gap_at_start",
    "is_deterministic",
    "measured",
    "memory_of",
    "objective",
    "objective_at_start",
    "precision",
    "rounds_ahead",
    "run_sizes",
]
