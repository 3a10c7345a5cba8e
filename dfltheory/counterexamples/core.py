"""Simulation of all candidates of a batch."""

from __future__ import annotations

from dataclasses import fields
from dataclasses import replace as changed

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import State, replace
from dfltheory.algorithms.protocol import unknown_methods_rejected
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_oracle import (
    Candidates,
    CandidatesMix,
    draws_of,
)
from dfltheory.counterexamples.path_measures import (
    Path,
    may_leave_ramp,
    mean_sq,
    one_block,
    two_blocks,
)
from dfltheory.errors import InputError

REST = 4e-16
"""A state is stationary if its relative change in a round is at most this."""
CYCLE = 4
"""Longest cycle of states, in rounds, that is detected on a fixed network."""
FULL = 20000
"""Maximum number of simulated rounds for candidates that have not converged.

The training core runs at most this many rounds, too.
"""
_TEST_EVERY = 16
"""Number of rounds between two tests for stationarity."""


@unknown_methods_rejected()
def simulate(batch: CandidateBatch, rounds: int, moments: bool = False) -> Path:
    """Simulate at most ``rounds`` rounds of all candidates, and measure them.

    The simulation ends early once no candidate moves any more. Second moments of the
    gradients are measured only if ``moments`` is true.

    Raises
    ------
    InputError
        On a random network, so many rounds have too many sequences of matrices.
    """
    noise, weight = _noise(batch)
    P, m, _ = batch.x0.shape
    if rounds > batch.longest:
        raise InputError(
            f"rounds = {rounds} is too large for a random network, of which all"
            f" sequences are simulated: at most {batch.longest:.0f}"
        )
    sequences = batch.period ** (rounds * batch.draws_a_round) if batch.drawn else 1
    N = sequences if noise is None else noise.shape[1] // P
    models, means, auxiliary, moment, cycle = _states(
        batch, rounds, N, noise, weight, moments
    )

    def by_candidate(a: np.ndarray) -> np.ndarray:
        """Reshape (R, P N, ...) to (P, R, N, ...)."""
        return np.moveaxis(a.reshape(len(a), P, N, *a.shape[2:]), 0, 1)

    models, means = by_candidate(models), by_candidate(means)  # (P, R, N, m, d)
    if batch.two_blocks:
        path = two_blocks(batch, models, weight)
    else:
        if auxiliary is not None:
            auxiliary = by_candidate(auxiliary)
        path = one_block(batch, means, auxiliary, weight)
        if not batch.is_random and batch.period == 1:
            path.translating = _translating(batch, models[:, :, 0, :, 0])
        spread = models - means[..., None, :]
        flat = spread.reshape(*spread.shape[:3], -1)
        path.left["consensus"] = mean_sq(flat, weight) / m
    if noise is not None:
        # gradients are not affine off the ramp: the expectation is unknown
        path.value[:, may_leave_ramp(batch, models[..., 0], weight)] = np.nan
    path.x = models[:, -1, 0]
    path.size = np.sqrt((models[:, :, 0] ** 2).sum(-1).mean(-1).max(1))
    path.moment = moment if moments else None
    unknown = batch.drawn | (moments & batch.sigma.any(-1))
    path.cycle = np.where(unknown, 0, cycle)
    return path


def _translating(batch: CandidateBatch, x: np.ndarray) -> np.ndarray:
    """Return :attr:`Path.translating` for models x (P, R, m)."""
    if x.shape[1] < 3:
        return np.zeros(batch.size)
    last, pace = x[:, -1], x[:, -1] - x[:, -2]
    uniform = np.abs(pace - (x[:, -2] - x[:, -3])) <= 1e-9 * np.abs(pace)
    knots = np.concatenate(
        [batch.clients.knots, batch.clients.knots + batch.clients.widths], -1
    )
    ahead = (knots - last[..., None]) * np.sign(pace)[..., None]
    with np.errstate(all="ignore"):
        rounds = (np.where(ahead > 0, ahead, np.inf).min(-1) / np.abs(pace)).min(-1)
    until = np.minimum(x.shape[1] - 2 + np.floor(np.minimum(rounds, FULL)), FULL)
    return np.where((uniform & (pace != 0)).all(-1), until, 0.0)


def _noise(batch: CandidateBatch) -> tuple[Tensor | None, float]:
    """Return unit noise for every draw, client and coordinate, and its weight.

    The noise of a round has shape (draws, P N, m, d), and each unit of it represents
    ``weight`` clients. It is None without noise, or if networks are drawn at random.
    """
    P, m, d = batch.x0.shape
    if batch.drawn or not batch.is_random:
        return None, 0.0
    draws, sources = draws_of(batch), 1 if _are_interchangeable(batch) else m
    units = np.zeros((draws, P, 1 + draws * sources * d, m, d))
    for n, (k, i, j) in enumerate(np.ndindex(draws, sources, d), start=1):
        units[k, :, n, i, j] = batch.sigma_of_groups[:, j]
    return torch.from_numpy(units.reshape(draws, -1, m, d)), m / sources


def _are_interchangeable(batch: CandidateBatch) -> bool:
    """Return whether all clients respond to noise identically in every candidate."""
    m = batch.x0.shape[1]
    if batch.period > 1 or np.ptp(batch.clients.slopes, axis=1).max() != 0:
        return False
    if not batch.algorithm.needs_topology or m == 1:
        return True
    weights = batch.W[:, 0, ~np.eye(m, dtype=bool)]
    return bool(np.ptp(weights, axis=-1).max() == 0)


def _states(
    batch: CandidateBatch,
    rounds: int,
    runs: int,
    noise: Tensor | None,
    weight: float,
    moments: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray, np.ndarray]:
    """Simulate the rounds.

    Returns
    -------
    models : (R + 1, P N, m, d) array
    means : (R + 1, P N, d) array
        Mean models.
    auxiliary : (R + 1, P N, d) array or None
        Auxiliary points of the algorithm, if it has any.
    moment : (P,) array
        As in :class:`Path`.
    cycle : (P,) array
        As in :class:`Path`.
    """
    draws = draws_of(batch) if moments else 0
    algorithm = batch.algorithm
    oracle = Candidates(batch, rounds, runs, noise, weight, draws)
    mix = CandidatesMix(batch, runs, oracle)
    x = torch.from_numpy(np.repeat(batch.x0, runs, axis=0))
    state = algorithm.init(x, oracle)
    state = replace(state, z=state.x)
    states, cycle = [state], np.zeros(batch.size, dtype=int)
    oracle.drawn = 0
    for t in range(rounds):
        oracle.t = t
        state = algorithm.local_update(state, oracle)
        state = algorithm.communicate(state, mix)
        state = replace(state, z=state.x)
        states.append(state)
        if (t + 1 == rounds or t % _TEST_EVERY == 0) and len(states) > batch.period:
            cycle = _repetition_periods(states, batch, runs)
            before = states[-1 - batch.period]
            certain = noise is None and not batch.drawn
            if certain and _stationary(before, state, batch.size, share=0.0).all():
                break
    oracle.sample()
    all_states = _stacked(states)

    def by_round(a: Tensor) -> np.ndarray:
        return a.numpy().reshape(len(states), -1, *a.shape[1:])

    other = algorithm.auxiliary(all_states)
    return (
        by_round(algorithm.models(all_states)),
        by_round(algorithm.mean(all_states)),
        None if other is None else by_round(other),
        oracle.moment,
        cycle,
    )


def _stacked(states: list[State]) -> State:
    """Stack the states of all rounds along the seeds axis."""
    whole = {}
    for f in fields(states[0]):
        rows = [getattr(state, f.name) for state in states]
        if f.name != "z" and all(
            isinstance(row, Tensor) and row.ndim >= 3 for row in rows
        ):
            whole[f.name] = torch.cat(rows)
    return replace(states[-1], **whole)


def _repetition_periods(
    states: list[State], batch: CandidateBatch, runs: int
) -> np.ndarray:
    """Return the periods (P,) with which the final states repeat; 0 without repetition.

    Only multiples of the network's own period are tested.
    """
    periods = np.zeros(batch.size, dtype=int)
    longest = min(max(CYCLE, batch.period), len(states) - 1)
    for lag in range(batch.period, longest + 1, batch.period)[::-1]:
        same = _stationary(states[-1 - lag], states[-1], batch.size, runs)
        periods = np.where(same, lag, periods)
    return periods


def _stationary(
    before: State, after: State, size: int, runs: int = 1, share: float = REST
) -> np.ndarray:
    """Return which candidates have the same state before and after.

    All tensors with one row per client are compared, in the first of the ``runs`` of a
    candidate. That run has no noise; the others only add to variances, which never
    decrease. No candidate is stationary while a scalar of the state changes, since all
    candidates share it.
    """
    stationary = np.ones(size, dtype=bool)
    for f in fields(after):
        old, new = getattr(before, f.name), getattr(after, f.name)
        if isinstance(new, (int, float)) and old != new:
            return np.zeros(size, dtype=bool)
        if (
            f.name != "z"
            and isinstance(old, Tensor)
            and isinstance(new, Tensor)
            and new.ndim == 3
        ):
            first_new, first_old = (
                a.numpy().reshape(size, runs, -1)[:, 0] for a in (new, old)
            )
            moved = np.abs(first_new - first_old).max(-1, initial=0.0)
            stationary &= moved <= share * (
                np.abs(first_new).max(-1, initial=0.0) + 1e-300
            )
    return stationary


@unknown_methods_rejected()
def fixed_points(batch: CandidateBatch, x: np.ndarray, steps: int = 6) -> np.ndarray:
    """Find fixed points of a round near the models x (P, m, d), by Newton's method.

    A round starts from the models alone, with all other state at its initial value. The
    result is exact for piecewise affine rounds once the iterates are on the right
    piece. Callers find out whether it is stationary by simulating it.
    """
    P, m, d = x.shape
    n = m * d
    many = CandidateBatch(
        batch.algorithm, batch.clients, x, batch.W, np.zeros_like(batch.sigma)
    )

    def after(points: np.ndarray) -> np.ndarray:
        """Map points (P, N, n) to those one round later."""
        N = points.shape[1]
        whole = changed(many, x0=points.reshape(P, N, m, d)[:, 0])
        oracle = Candidates(whole, 1, N)
        start = torch.from_numpy(points.reshape(P * N, m, d).copy())
        state = batch.algorithm.init(start, oracle)
        state = batch.algorithm.local_update(replace(state, z=state.x), oracle)
        state = batch.algorithm.communicate(state, CandidatesMix(whole, N, oracle))
        return state.x.numpy().reshape(P, N, n)

    flat = x.reshape(P, 1, n)
    for _ in range(steps):
        width = 1e-7 * (np.abs(flat).max(-1, keepdims=True) + 1)
        moved = after(np.concatenate([flat, flat + width * np.eye(n)], axis=1))
        now = moved[:, :1]
        jacobian = np.swapaxes((moved[:, 1:] - now) / width, 1, 2) - np.eye(n)
        # a candidate that overflows is not moved
        known = np.where(np.isfinite(jacobian), jacobian, 0.0)
        inverse = np.linalg.pinv(known, rcond=1e-12)
        move = np.einsum("pij,pnj->pni", inverse, flat - now)
        flat = flat + np.clip(np.where(np.isfinite(move), move, 0.0), -1e3, 1e3)
    return flat.reshape(P, m, d)


__all__ = [
    "CYCLE",
    "FULL",
    "fixed_points",
    "simulate",
]
