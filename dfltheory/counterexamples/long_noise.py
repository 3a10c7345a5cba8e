"""Noise around a minimum over more rounds than can be simulated, in closed form.

The mean model of identical parabolas f'(x) = h (x - c) with noise +-sigma has the
expectation that :mod:`.noisy_parabola` derives. No model leaves the distance max(|x^0 -
c|, sigma/h) from c, so that the function need not be a parabola beyond it. Personal
parts are not averaged, and m is 1 for them.

:func:`noisy_instances` proposes such instances for a statement. :func:`noisy_blocks`
decides whether an instance is one; it compares the closed form with the exact
expectation of the first rounds, which is computed in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.closed_forms import blocks_of, noise_numbers
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.left_sides import SHARED_GRADIENTS, weighted_blocks
from dfltheory.counterexamples.noisy_parabola import NoisyParabola
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import hyperparameters, searched_algorithm
from dfltheory.counterexamples.score import NOISY
from dfltheory.counterexamples.splits import Splits

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.instance import Instance

LAST_ROUND = GLOSSARY["T"].symbol - 1
"""The last round of a left-hand side over all T rounds."""
COMPARED_ROUNDS = 4
"""Number of rounds whose exact expectation is compared with the closed form."""
CLOSED_FORM_TOLERANCE = 1e-9
"""Largest relative difference between the two."""
ROUNDED = 1e-12
"""Largest relative rounding error of a position, and of a row sum of W."""


ParabolaBlocks = dict[str, NoisyParabola]
"""The blocks of an instance by the name of their squared gradient."""


def noisy_blocks(instance: Instance, longer_than: int = NOISY) -> ParabolaBlocks | None:
    """Return the blocks of an instance that the closed form covers, else None.

    It must have more than ``longer_than`` rounds, by default more than the training
    core can run.
    """
    if instance.rounds <= longer_than:
        return None
    batch = CandidateBatch.of(instance)
    if not (_is_one_parabola(batch) and _is_averaged(batch) and _is_plain(batch)):
        return None
    blocks = _blocks(batch)
    # the mean of a group of clients does not have their personal parts
    fewer = batch if batch.two_blocks else batch.grouped()
    inside = _stays_inside(batch, blocks) and _agrees(fewer, blocks)
    return blocks if inside else None


def closed_form_left(
    theorem: Theorem, blocks: ParabolaBlocks, values: Mapping[str, float], T: int
) -> float:
    """Return the left-hand side over T rounds, the mean of a squared gradient.

    The result is 0, a lower limit, for other measures and aggregates.
    """
    left = theorem.lhs
    whole = (left.aggregate, left.first, left.last) == ("mean", 0, LAST_ROUND)
    if not whole:
        return 0.0
    means = {name: float(block.mean(T)) for name, block in blocks.items()}
    if left.measure in SHARED_GRADIENTS:
        shared, personal = np.array(means["grad_u_sq"]), np.array(means["grad_v_sq"])
        return float(weighted_blocks(theorem, shared, personal, values))
    return means.get(left.measure.removesuffix("_next"), 0.0)


def noisy_instances(theorem: Theorem) -> Iterator[Instance]:
    """Yield instances whose closed form exceeds the bound on a grid of numbers.

    There is at most one for each block, with W = 11'/m.
    """
    for block in blocks_of(theorem):
        numbers = noise_numbers(theorem, block)
        if numbers is not None:
            yield _instance(theorem, block, numbers)


def _instance(theorem: Theorem, block: str, numbers: Mapping[str, float]) -> Instance:
    """Return the run with these numbers, and with noise in one block."""
    start, noise = numbers["start"], numbers["noise"]
    reach = np.full((1, 1), max(start, noise))
    slopes = np.ones((1, 1, 1))
    clients = Ramps(-reach[..., None], 2 * reach[..., None], slopes, -reach)
    x0, sigma = np.array([[[start]]]), np.array([[noise]])
    if theorem.scope.two_blocks:
        clients = Splits.of(clients, np.zeros((1, 1)), np.ones(1), np.zeros(1))
        noisy = np.array([block == "shared", block == "personal"])
        x0, sigma = x0 * noisy, sigma * noisy
    batch = CandidateBatch(
        _plain_algorithm(theorem, numbers),
        clients,
        x0,
        np.ones((1, 1, 1, 1)),
        sigma,
        copies=int(numbers["m"]),
    )
    return batch.alone(0, x0, int(numbers["T"]))


def _plain_algorithm(theorem: Theorem, numbers: Mapping[str, float]) -> Algorithm:
    """Return the algorithm of the scope without SAM and momentum."""
    cls, (free, fixed) = searched_algorithm(theorem), hyperparameters(theorem)
    chosen = dict(fixed)
    for name, quantity in free.items():
        if quantity.step:
            chosen[name] = numbers["eta"]
        elif quantity.neutral is not None:
            value = quantity.neutral
            chosen[name] = int(value) if quantity.integer else value
        else:
            chosen[name] = int(numbers["K"])
    return cls(**chosen)


def _is_one_parabola(batch: CandidateBatch) -> bool:
    """Return whether all clients are one noisy parabola and start at one point."""
    clients = batch.clients
    if batch.noise_ramps is not None or not clients.affine or clients.curve.any():
        return False
    rows = [getattr(clients, name) for name, axes in clients.axes.items() if axes]
    identical = all((row == row[:, :1]).all() for row in (*rows, batch.x0))
    curved = bool((clients.slopes > 0).all())
    if isinstance(clients, Splits):
        curved = curved and bool((clients.h > 0).all())
    return identical and curved and bool(batch.sigma.any())


def _is_averaged(batch: CandidateBatch) -> bool:
    """Return whether W is constant and doubly stochastic."""
    if batch.drawn or batch.period != 1:
        return False
    W = batch.W[0, 0]
    sums = np.stack([W.sum(0), W.sum(1)])
    return bool((np.abs(sums - 1) <= ROUNDED * len(W)).all())


def _is_plain(batch: CandidateBatch) -> bool:
    """Return whether rounds are plain steps of constant size and one average.

    Only algorithms of the package are known to have no other state; which steps they
    take is compared with the closed form.
    """
    algorithm = batch.algorithm
    package = __name__.split(".", maxsplit=1)[0]
    values = algorithm.theory_values()
    neutral = all(
        value == NEUTRAL[name]
        for name, value in values.items()
        if name in NEUTRAL and name != "Q"
    )
    return (
        type(algorithm).__module__.startswith(f"{package}.")
        and type(algorithm).step is Algorithm.step
        and (algorithm.decay, algorithm.weight_decay) == (1.0, 0.0)
        and "lam_admm" not in values
        and not algorithm.draws
        and neutral
    )


def _blocks(batch: CandidateBatch) -> ParabolaBlocks:
    """Return the blocks of one client, of which all others are copies."""
    clients, values = batch.clients, batch.algorithm.theory_values()
    slope, knot = float(clients.slopes[0, 0, 0]), float(clients.knots[0, 0, 0])
    minimizer = knot - float(clients.left[0, 0]) / slope
    start = batch.x0[0, 0]
    shared = "_u" if batch.two_blocks else ""
    blocks = {
        "grad_u_sq" if batch.two_blocks else "grad_norm_sq": NoisyParabola(
            slope,
            abs(float(start[0]) - minimizer),
            float(batch.sigma[0, 0]),
            values[f"eta{shared}"],
            int(values.get(f"K{shared}", 1)),
            batch.m,
        )
    }
    if isinstance(clients, Splits):
        blocks["grad_v_sq"] = NoisyParabola(
            float(clients.h[0]),
            abs(float(start[1]) - float(clients.b[0, 0])),
            float(batch.sigma[0, 1]),
            values["eta_v"],
            int(values["K_v"]),
            1,
        )
    return blocks


def _stays_inside(batch: CandidateBatch, blocks: ParabolaBlocks) -> bool:
    """Return whether steps are short enough, and no model leaves the ramp."""
    short = all(0 < block.eta * block.curvature < 1 for block in blocks.values())
    ramp = blocks["grad_u_sq" if batch.two_blocks else "grad_norm_sq"]
    low = float(batch.clients.knots[0, 0, 0])
    high = low + float(batch.clients.widths[0, 0, 0])
    minimizer = low - float(batch.clients.left[0, 0]) / ramp.curvature
    largest_distance = max(ramp.distance, ramp.sigma / ramp.curvature)
    rounded = ROUNDED * (abs(minimizer) + largest_distance)
    return bool(
        short
        and minimizer - largest_distance >= low - rounded
        and minimizer + largest_distance <= high + rounded
    )


def _agrees(batch: CandidateBatch, blocks: ParabolaBlocks) -> bool:
    """Return whether the first rounds' exact expectation is the closed form."""
    path = simulate(batch, COMPARED_ROUNDS)
    for name, block in blocks.items():
        exact = path.left[name][:COMPARED_ROUNDS, 0]
        formula = block.expected(np.arange(len(exact)))
        if not np.allclose(exact, formula, rtol=CLOSED_FORM_TOLERANCE, atol=0.0):
            return False
    return True


__all__ = [
    "ParabolaBlocks",
    "closed_form_left",
    "noisy_blocks",
    "noisy_instances",
]
