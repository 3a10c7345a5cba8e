"""Decoding of points of the unit cube into problems, networks, starts and algorithms.

A statement does not depend on units. A candidate is drawn with L near 1 and a step size
that the conditions admit, and is then scaled to units in which that step size and the
SAM radius are 1. So all candidates of a batch share one algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.symbols import STEP
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families import Family, RoundData
from dfltheory.counterexamples.families.piecewise import ramps, splits, starts
from dfltheory.counterexamples.families.shapes import bowl, unfitted
from dfltheory.counterexamples.networks import CandidateNetwork, computed_on, in_range
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import (
    hyperparameters,
    searched_algorithm,
    searches_convex,
)
from dfltheory.counterexamples.shared_numbers import (
    SharedNumbers,
    radius_field,
    requires_schedule,
)
from dfltheory.counterexamples.splits import Splits
from dfltheory.counterexamples.step_sizes import candidate_step_sizes

if TYPE_CHECKING:
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.theorem import Theorem


@dataclass(frozen=True, eq=False)
class DiscreteChoices:
    """The discrete choices of a search space.

    Attributes
    ----------
    name : str
    network : Draw
    counts : dict of str to int
        Numbers of local and gossip steps.
    identical : bool
        Whether all clients are identical.
    family : Family or None
        The family of problems; None for piecewise-linear problems that are not fitted
        to the network and step sizes.
    """

    name: str
    network: CandidateNetwork
    counts: dict[str, int]
    identical: bool
    family: Family | None = None


def decoded(
    theorem: Theorem, read: Reader, layout: DiscreteChoices, shared: SharedNumbers
) -> CandidateBatch:
    """Return the candidates at the points of ``read``.

    The constants of unfitted problems determine the step sizes. A family then fits its
    problems to the step sizes and networks, and all numbers are scaled to the units of
    the algorithm.
    """
    free, fixed = hyperparameters(theorem)
    two_blocks, m, P = theorem.scope.two_blocks, layout.network.m, len(read.u)
    family = layout.family
    clients = _unfitted_clients(theorem, read, layout)
    W, network, fits = layout.network.draw(read, layout.identical and not two_blocks)
    x0 = np.zeros((P, m, 1 + two_blocks)) if family else _free_starts(theorem, read, m)
    noisy = family is not None and family.noisy
    blocks = [read.log_or_zero(1e-3, 10, 0.4) * noisy for _ in range(1 + two_blocks)]
    sigma = np.stack(blocks, -1)
    rho = read.log(1e-3, 10)
    known = clients.constants()
    smooth = known["L_u" if two_blocks else "L"] > 0
    valid = fits & np.isfinite(known["f_star"]) & smooth
    drawn = {**layout.counts, **shared}
    radius = radius_field(free)
    has_radius = radius is not None and bool(shared[radius])
    constants = _usable({**known, **network}, valid)
    constants |= _computed(theorem, W, layout.network.copies, constants)
    steps, same = candidate_step_sizes(
        theorem, read, free, constants, drawn, m * layout.network.copies
    )
    first = next((name for name in steps if free[name].unit == STEP), None)
    state_noise = None
    if family is not None and first is not None:
        sam = rho if has_radius else np.zeros(P)
        round_data = _round_data(theorem, W, network["lam"], drawn, steps, first, sam)
        fitted, start = family.decode(read, round_data)
        fitted = fitted.repeated(m)
        if family.state_noise:
            state_noise = family.noise(fitted, round_data)
            sigma = state_noise.constants()["B"][:, None]
        if isinstance(clients, Splits):
            clients = _with_personal_parts(clients, fitted, m)
        else:
            clients = fitted
        x0[..., 0] = np.repeat(start, m // start.shape[1], 1)
    length_scale = 1 / rho if has_radius else np.ones(P)
    value_scale = steps[first] * length_scale**2 if first is not None else np.ones(P)
    scaled_steps, personal_scale = _scaled_steps(free, steps, first, value_scale)
    all_values = {**fixed, **drawn}
    hyper = {n: v for n, v in all_values.items() if n in {*free, *fixed}}
    hyper |= scaled_steps
    lengths = np.stack([length_scale, personal_scale][: 1 + two_blocks], -1)
    return CandidateBatch(
        searched_algorithm(theorem)(**hyper),
        clients.scaled(value_scale, length_scale, personal_scale),
        x0 * lengths[:, None],
        W,
        sigma * value_scale[:, None] / lengths,
        network,
        valid & same,
        None if state_noise is None else state_noise.scaled(value_scale, length_scale),
        layout.network.drawn,
        layout.network.one_per_round,
        layout.network.copies,
        family is not None and family.transient and requires_schedule(theorem),
    )


def _unfitted_clients(theorem: Theorem, read: Reader, layout: DiscreteChoices) -> Ramps:
    """Return clients from whose constants step sizes are drawn."""
    two_blocks, m, P = theorem.scope.two_blocks, layout.network.m, len(read.u)
    if layout.family is not None:
        if two_blocks:
            return layout.family.blocks(read)
        return bowl(P).repeated(2) if layout.family.convex else unfitted(P)
    draw = splits if two_blocks else ramps
    clients = draw(read, 1 if layout.identical else m)
    if layout.identical:
        clients = clients.repeated(m)
    if searches_convex(theorem):
        clients = clients.convex(read.log_or_zero(1e-3, 1, 0.6))
    return clients


def _free_starts(theorem: Theorem, read: Reader, m: int) -> np.ndarray:
    """Return starts (P, m, d).

    Clients start at different points only for two blocks and for consensus errors. For
    other measures the search tries fixed points of the rounds as starts.
    """
    two_blocks = theorem.scope.two_blocks
    disagreeing = two_blocks or theorem.lhs.measure == "consensus"
    common = theorem.scope.common_start or not disagreeing
    return np.stack([starts(read, m, common) for _ in range(1 + two_blocks)], -1)


def _usable(
    constants: dict[str, np.ndarray], valid: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the constants, with 1 in place of infinite ones and of zeros among L."""
    usable = {n: np.where(np.isfinite(v), v, 1.0) for n, v in constants.items()}
    for name in ("L", "L_u", "L_v"):
        if name in usable:
            positive = valid & (usable[name] > 0)
            usable[name] = np.where(positive, usable[name], 1.0)
    return usable


def _computed(
    theorem: Theorem, W: np.ndarray, copies: int, known: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the theorem's computed quantities.

    One that is not finite is replaced by an arbitrary value in its range.
    """
    columns = computed_on(theorem, W, copies, known)
    for name, values in columns.items():
        fallback = in_range(theorem.glossary[name])
        columns[name] = np.where(np.isfinite(values), values, fallback)
    return columns


def _round_data(
    theorem: Theorem,
    W: np.ndarray,
    lam: np.ndarray,
    drawn: dict[str, float],
    steps: dict[str, np.ndarray],
    first: str,
    sam: np.ndarray,
) -> RoundData:
    """Return the data of a round that a family is fitted to."""
    if W.shape[-1] == 2:
        sent_shares = W[:, 0, [0, 1], [1, 0]]
    else:
        sent_shares = (1 - lam)[:, None] / np.array([2, 2])
    with np.errstate(invalid="ignore"):  # 0/0 if clients do not communicate
        heaviest = 2 * sent_shares.max(-1) / sent_shares.sum(-1)
    names = searched_algorithm(theorem).glossary
    terms = {names.get(name, name): size for name, size in steps.items()}
    return RoundData(
        eta=steps[first],
        lam=(1 - sent_shares.sum(-1)) ** drawn.get("Q", 1),
        rho=sam,
        K=int(drawn.get("K", drawn.get("K_u", 1))),
        penalty=terms.get("lam_admm"),
        heaviest=heaviest,
    )


def _with_personal_parts(personal: Splits, shared: Ramps, m: int) -> Splits:
    """Return problems with these personal parts and shared parts."""
    if personal.m != m:
        personal = replace(personal, b=np.zeros((len(shared.left), m)))
    return replace(personal, **{name: getattr(shared, name) for name in Ramps.axes})


def _scaled_steps(
    free: dict[str, Quantity],
    steps: dict[str, np.ndarray],
    first: str | None,
    value_scale: np.ndarray,
) -> tuple[dict[str, float], np.ndarray]:
    """Return the step sizes in the units of the algorithm, in which the first is 1.

    Step sizes of the shared part have the unit of the first one, so only their ratio to
    it matters, which all candidates of a batch share. The step size of the personal
    part has its own unit of length, which is chosen so that it is 1, too.

    Parameters
    ----------
    free : dict of str to Quantity
        The hyperparameters by field.
    steps : dict of str to (P,) array
        Their step sizes, in the units in which candidates are drawn.
    first : str or None
        The first step size of the shared part; None if there is none.
    value_scale : (P,) array
        Factor by which function values are multiplied.

    Returns
    -------
    scaled : dict of str to float
        Each step size.
    personal_scale : (P,) array
        Factor by which lengths of the personal part are multiplied.
    """
    scaled: dict[str, float] = {}
    personal_scale = np.ones(len(value_scale))
    for name, size in steps.items():
        scaled[name] = 1.0
        if name == first:
            continue
        if first is not None and free[name].unit == STEP:
            scaled[name] = float(size[0] / steps[first][0])
        else:
            # a step size has the unit length^2 / value
            personal_scale = np.sqrt(value_scale / size)
    return scaled, personal_scale


__all__ = ["DiscreteChoices", "decoded"]
