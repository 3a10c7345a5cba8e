"""The left-hand side of P candidates, as a lower limit that allows for rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.core import FULL
from dfltheory.counterexamples.path_measures import Path
from dfltheory.errors import InputError
from dfltheory.verdicts.measures import FloatOrArray
from dfltheory.verdicts.rounding import measure_error
from dfltheory.verdicts.run_sizes import BlockSteps, Sizes, memory_of

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

LONG = (10**3, 10**4, FULL, 10**5, 10**6, 10**7, 10**9)
"""Horizons beyond the simulated rounds, for stationary candidates."""
ADDS_UP = ("f_gap", "dist_sq", "consensus")
"""Measures whose rounding error grows with the horizon, since errors of the models
accumulate.
"""
SHARED_GRADIENTS = {
    "two_block": "grad_u_sq",
    "two_block_next": "grad_u_sq_next",
    "two_block_weighted": "grad_u_sq_next",
}
"""The gradient of the shared block in each two-block measure."""


def measure_by_round(
    theorem: Theorem,
    batch: CandidateBatch,
    path: Path,
    known: Mapping[str, FloatOrArray],
    T: int = LONG[-1],
) -> np.ndarray:
    """Return the theorem's measure in every round, (R, P).

    Values are lower limits that allow for rounding error; nan if the algorithm does not
    define the measure.

    For measures in ``ADDS_UP``, an additional last row is a lower limit at any horizon
    up to ``T``. It covers stationary states, whose steps may be rounded away, and is 0
    for other candidates.
    """
    name = theorem.lhs.measure
    if name in SHARED_GRADIENTS:
        shared = path.left[SHARED_GRADIENTS[name]]
        data = weighted_blocks(theorem, shared, path.left["grad_v_sq"], known)
    elif name == "f_gap":
        data = path.value - known["f_star"]
    else:
        data = path.left.get(name)
    if data is None:
        return np.full_like(path.value, np.nan)
    sizes = sizes_of(theorem, batch, path, known, T)
    if name not in ADDS_UP:
        return measure_error(theorem.lhs, sizes).lowered(data)
    rounds = np.append(np.arange(1, len(data) + 1), T)[:, None]
    error = measure_error(theorem.lhs, replace(sizes, rounds=rounds))
    lower = error.lowered(np.append(data, data[-1:], 0))
    lower[-1, path.cycle != 1] = 0.0
    return lower


def sizes_of(
    theorem: Theorem,
    batch: CandidateBatch,
    path: Path,
    known: Mapping[str, FloatOrArray],
    T: int = LONG[-1],
) -> Sizes:
    """Return the magnitudes that the rounding errors of candidates are multiples of.

    Parameters
    ----------
    theorem : Theorem
        Its measure is computed from the states.
    batch : Batch
        The candidates.
    path : Path
        Their simulated rounds.
    known : dict of str to number or (P,) array
        Constants, step sizes and other quantities of the candidates by glossary name.
    T : int
        Horizon.

    Returns
    -------
    Sizes
        Each is an upper bound over the first T rounds, a number or (P,).
    """
    # a model no farther from x* than x^0 has ||x|| <= ||x^0|| + 2 ||x^0 - x*||
    largest_model = np.sqrt(known["x0_sq"]) + 2 * np.sqrt(known.get("x_star_sq", 0.0))
    size = np.maximum(path.size, largest_model)
    noise = np.sqrt((batch.sigma**2).sum(-1))
    eta = known.get("eta")
    lam = known.get("lam", known.get("q"))
    if batch.drawn:
        lam = None
    elif lam is not None:
        # lam is that of ``period`` rounds; the factor per round is at most this
        lam = 1 - (1 - lam) / batch.period
    errors = batch.clients.unsure(batch.x0[..., 0])
    blocks = {}
    for block in "uv":
        blocks[f"_{block}"] = BlockSteps(
            known.get(f"eta_{block}"),
            known.get(f"K_{block}", 1),
            known.get(f"L_{block}"),
        )
    return Sizes(
        eps=np.finfo(float).eps,
        tiny=np.finfo(float).tiny,
        rounds=min(T, batch.longest),
        size=size,
        gradient=batch.clients.parts(size).max(1) + noise,
        slope=_largest_slope(path),
        eta=eta,
        last_eta=eta,
        local_steps=known.get("K", 1),
        gossip_steps=(
            batch.algorithm.gossip_steps if batch.algorithm.needs_topology else 0
        ),
        clients=batch.m,
        L=known.get("L"),
        mu=known.get("mu"),
        lam=lam,
        # rounds that are not simulated repeat a state
        memory=min(memory_of(batch.algorithm), len(path.value)),
        value_error=errors["f_error"] if theorem.lhs.measure != "consensus" else 0.0,
        minimizer_error=errors["x_error"],
        weights=_weights(theorem, known),
        blocks=blocks,
    )


def _largest_slope(path: Path) -> np.ndarray | float:
    """Return the largest ||grad f(xbar)|| of the run; 0 if it was not measured."""
    if "grad_norm_sq" not in path.left:
        return 0.0
    return np.sqrt(np.nan_to_num(path.left["grad_norm_sq"]).max(0))


def _weights(
    theorem: Theorem, known: Mapping[str, FloatOrArray]
) -> dict[str, FloatOrArray]:
    """Return the weight of each block's squared gradient in the measure."""
    if theorem.lhs.measure == "two_block_weighted":
        return {f"_{b}": known[f"eta_{b}"] * known[f"K_{b}"] / 4 for b in "uv"}
    if theorem.lhs.measure in SHARED_GRADIENTS:
        return {f"_{b}": 1 / known[f"L_{b}"] for b in "uv"}
    return {}


def weighted_blocks(
    theorem: Theorem,
    shared: np.ndarray,
    personal: np.ndarray,
    known: Mapping[str, FloatOrArray],
) -> np.ndarray:
    """Return a two-block measure from the squared gradients of both blocks."""
    match theorem.lhs.measure:
        case "two_block_weighted":
            a, b = known["eta_u"] * known["K_u"], known["eta_v"] * known["K_v"]
            return (a * shared + b * personal) / 4
        case "two_block" | "two_block_next":
            return shared / known["L_u"] + personal / known["L_v"]
    raise InputError(
        f"{theorem}: the measure {theorem.lhs.measure!r} is not one of two blocks"
    )


__all__ = ["ADDS_UP", "LONG", "measure_by_round", "sizes_of", "weighted_blocks"]
