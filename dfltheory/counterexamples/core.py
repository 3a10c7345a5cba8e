"""P candidate problems at once on the seeds axis of an algorithm's own rounds, and what
is measured of them.

Any algorithm will do, a user's own included: one instance of it serves the whole batch.
Row p N + n of the state is run n of candidate p. Run 0 has no noise; with noise, of
which rounds must be affine, the others are the answers to one unit of it each, whose
squares add up to the variance. Where the clients can change places the answers to the
noise of the first one are those of all. Where a matrix is drawn anew in each round, the
runs are all the ways that these may come in, each as likely as the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from dataclasses import replace as changed
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, Parameters, replace
from dfltheory.algorithms.protocol import unknown_methods_rejected
from dfltheory.counterexamples.networks import matchings
from dfltheory.counterexamples.problems import TASKS, Ramps
from dfltheory.errors import InputError
from dfltheory.graphs import OnePerRound, RandomMatching, as_sequence
from dfltheory.graphs.matrices import to_dense
from dfltheory.training.instance import Instance

Array = NDArray[Any]
REST = 4e-16
"""What moves by less than this share of itself stands still."""
CYCLE = 4
"""States that are looked for whether they come again after so many rounds, at most."""
FULL = 20000
"""Rounds beyond which nobody is followed who moves on and on, as the training core runs
no more in full.
"""
_LOOK = 16
PATHS = 256
"""Ways at most that matrices which are drawn in each round may take: all are run."""


@dataclass(frozen=True, eq=False)
class Batch:
    """P candidates for one algorithm: starts ``x0`` (P, m, d), matrices ``W`` (P, B, m,
    m) of which B take turns, or of which each gossip step draws one (``drawn``: all
    matchings of m clients), and noise ``sigma`` (P, d). With ``one_per_round`` a matrix
    is drawn for each round, for all its gossip steps.

    ``clients``: those of :mod:`.problems`; with noise rounds must be affine in the
    models. ``valid`` (P,): which of them are inside the statement's scope as far as
    drawing can tell. ``led``: the ramps s of one client where noise is xi s(x), of one
    coin xi for all steps; whoever gives it knows that a run is the same for every xi
    (:func:`.special.led_astray`).
    """

    algorithm: Algorithm
    clients: Any
    x0: Array
    W: Array
    sigma: Array
    network: dict[str, Array] = field(default_factory=dict)
    valid: Array | bool = True
    led: Ramps | None = None
    drawn: bool = False
    one_per_round: bool = False

    @classmethod
    def of(cls, instance: Instance) -> Batch:
        """A batch of one: an instance with a task of :mod:`.problems`."""
        task: Any = instance.task
        network = (
            np.full((task.m, task.m), 1 / task.m)
            if instance.network is None
            else instance.network
        )
        sequence, rng = as_sequence(network), np.random.default_rng(0)
        one_per_round = isinstance(sequence, OnePerRound)
        matching = sequence.of if isinstance(sequence, OnePerRound) else sequence
        drawn = isinstance(matching, RandomMatching) and matching.graph is None
        if sequence.random and not drawn:
            raise InputError(
                "of random networks the exact expectation is known for random_matching"
                " alone"
            )
        turns = range(getattr(sequence, "period", 1))
        W = (
            matchings(task.m)
            if drawn
            else [to_dense(sequence.matrix(t, rng)) for t in turns]
        )
        x0, sigma = (
            np.array([instance.x0], dtype=float),
            np.array([task.sigmas], dtype=float),
        )
        led = getattr(task, "led", None)
        if drawn and any(task.sigmas):
            raise InputError(
                "of noise and a random network together no exact expectation is known"
            )
        if any(task.sigmas) and led is None and not task.problem.affine:
            raise InputError(
                "noise needs affine gradients: one ramp each, and of two blocks k = 0"
            )
        return cls(
            instance.algorithm,
            task.problem,
            x0,
            np.array([W]),
            sigma,
            led=led,
            drawn=drawn,
            one_per_round=one_per_round,
        )

    def alone(self, index: int, x0: Array, T: int) -> Instance:
        """One candidate from a start x0[index] (m, d) for T rounds, as an instance of
        learning.
        """
        told = self.clients.describe(index)
        if self.led is not None:
            numbers = self.led.describe(index)
            told["led"] = [numbers[n][0] for n in ("knots", "widths", "slopes")] + [
                numbers["left"]
            ]
        told |= dict(
            zip(
                ("sigma_u", "sigma_v") if self.two else ("sigma",),
                self.sigma[index].tolist(),
            )
        )
        task = TASKS[told["name"]](**{n: v for n, v in told.items() if n != "name"})
        turns = list(self.W[index])
        W: Any = turns if len(turns) > 1 else turns[0]
        made: dict[str, Any] = {"task": (task, told)}
        if self.drawn:
            W = (
                OnePerRound(RandomMatching(task.m))
                if self.one_per_round
                else RandomMatching(task.m)
            )
            described = {"name": "random_matching"}
            if self.one_per_round:
                described = {"name": "one_per_round", "of": "random_matching"}
            made["topology"] = (W, described)
        W = W if self.algorithm.needs_topology else None
        return Instance(task, self.algorithm, W, T, x0=x0[index], sources=made)

    @property
    def size(self) -> int:
        return len(self.x0)

    @property
    def period(self) -> int:
        """How many matrices take turns."""
        return self.W.shape[1]

    @property
    def longest(self) -> float:
        """Rounds that can be run at most: of matrices that are drawn, all the ways must
        be.
        """
        steps = (
            np.log(PATHS) / np.log(self.period)
            if self.drawn and self.period > 1
            else np.inf
        )
        return steps // self.draws_a_round

    @property
    def draws_a_round(self) -> int:
        """How many matrices a round draws, where they are drawn."""
        return 1 if self.one_per_round else self.algorithm.gossip_steps

    @property
    def chance(self) -> bool:
        """Do runs depend on chance?  Not where noise ``led`` them the same way for
        every coin.
        """
        return self.drawn or (self.led is None and bool(self.sigma.any()))

    @property
    def two(self) -> bool:
        """Two blocks?"""
        return self.x0.shape[-1] == 2


@dataclass(eq=False)
class Path:
    """What was measured of the first rounds, before each of them: (R, P) arrays.

    ``left``: by measure; ``value``: E f(xbar^t), or F(ubar^t, V^t); ``diversity``: of
    grad_u F_i at (ubar^t, v_i^{t+1}); ``moment`` (P,): sup over steps of (1/m) sum_i
    E||g||^2; ``still`` (P,): after how many rounds the state comes again, 1 where
    nothing moves any more, 0 where it does not; ``glides`` (P,): until which round all
    clients move on at the pace of the last ones and meet no knot, 0 where they do not;
    ``x`` (P, m, d): the last models, without noise; ``size`` (P,): the largest root
    mean square of models.
    """

    left: dict[str, Array]
    value: Array
    moment: Array
    still: Array
    x: Array
    diversity: Array | None = None
    glides: Array | float = 0.0
    size: Array | float = 0.0


ENVIRONMENT = "falsify"


class Candidates(Oracle):
    """The oracle of all candidates: exact gradients, and the ``noise`` of the runs;
    each of the ``answers`` to it stands for ``weight`` clients. Second moments of the
    ``moments`` steps of a round are kept.
    """

    environment = ENVIRONMENT

    def __init__(
        self,
        batch: Batch,
        horizon: int,
        runs: int = 1,
        noise: Tensor | None = None,
        weight: float = 0.0,
        moments: int = 0,
    ):
        self._clients, self._noise, self._weight, self._moments = (
            batch.clients,
            noise,
            weight,
            moments,
        )
        self._led = batch.led
        m, d = batch.x0.shape[1:]
        coordinates = tuple(slice(k, k + 1) for k in range(d))
        shared = slice(0, 1) if batch.two else None
        super().__init__(0, horizon, Parameters(shared, coordinates, ((1,),) * d))
        self.drawn = 0
        self.moment, self._last = np.zeros(batch.size), np.zeros((batch.size, 1, m, d))
        self._variances = np.zeros((moments, batch.size))
        self._shape = (batch.size, runs, m, d)

    def sample(self) -> Tensor | None:
        """The noise of the next step, (P N, m, d): all of it falls into the first
        round.
        """
        if self._moments:  # of SAM's gradients the last is stepped along
            step = (self.drawn - 1) % self._moments
            answers = (self._last[:, 1:] - self._last[:, :1]) ** 2
            self._variances[step] += self._weight * answers.sum((1, 3)).mean(-1)
            known = self._last[:, :1] if self._weight else self._last
            seen = (known**2).sum(-1).mean((1, 2))
            self.moment = np.maximum(self.moment, seen + self._variances[step])
        self.drawn += 1
        known = self._noise is not None and self.drawn <= self._noise.shape[0]
        return (
            self._noise[self.drawn - 1] if known and self._noise is not None else None
        )

    def __call__(self, y: Tensor, batch: Tensor | None) -> Tensor:
        g = torch.from_numpy(
            self._clients.gradient(y.numpy().reshape(self._shape)).reshape(y.shape)
        )
        if batch is not None:
            g += batch
        if self._led is not None:
            g += torch.from_numpy(
                self._led.gradient(y.numpy().reshape(self._shape)).reshape(y.shape)
            )
        if self._moments:
            # the algorithm goes on with g itself
            self._last = g.numpy().reshape(self._shape).copy()
        return g


class CandidatesMix(Mix):
    """The network of all candidates in the oracle's round.

    The matrices of each candidate are used in turn. If they are drawn, run n has those
    of its digits in base B, the number of matrices.
    """

    environment = ENVIRONMENT

    def __init__(self, batch: Batch, runs: int, oracle: Candidates):
        self._batch, self._runs, self._oracle = batch, runs, oracle
        copies = 1 if batch.drawn else runs
        self._weights = torch.from_numpy(
            np.repeat(np.moveaxis(batch.W, 1, 0), copies, axis=1)
        )

    def _gossip(self, z: Tensor, times: int, after: int) -> Tensor:
        for k in range(after, after + times):
            z = self._matrices(k) @ z
        return z

    def _matrices(self, k: int) -> Tensor:
        """Return the matrices of gossip step k of this round, (P N, m, m)."""
        batch, t = self._batch, self._oracle.t
        step = t if batch.one_per_round else t * batch.algorithm.gossip_steps + k
        B, m = batch.period, batch.x0.shape[1]
        if not batch.drawn:
            return self._weights[step % B]
        choices = np.arange(self._runs) // B**step % B
        return torch.from_numpy(batch.W[:, choices].reshape(-1, m, m))


@unknown_methods_rejected()
def draws_of(batch: Batch) -> int:
    """Minibatches that one round takes."""
    oracle = Candidates(batch, 1)
    x = torch.from_numpy(batch.x0.copy())
    state = batch.algorithm.init(x, oracle)
    before = oracle.drawn
    batch.algorithm.local_update(replace(state, z=x), oracle)
    return oracle.drawn - before


@unknown_methods_rejected()
def run(batch: Batch, rounds: int, moments: bool = False) -> Path:
    """Simulate ``rounds`` rounds of all candidates, fewer where nothing moves any more,
    and measure them, the gradients' second ``moments`` if asked.
    """
    noise, weight = _noise(batch)
    P, m, d = batch.x0.shape
    if rounds > batch.longest:
        raise InputError(
            f"of {rounds} rounds of a random network the ways are too many:"
            f" {batch.longest:.0f}"
        )
    ways = batch.period ** (rounds * batch.draws_a_round) if batch.drawn else 1
    N = ways if noise is None else noise.shape[1] // P
    models, means, others, moment, still = _states(
        batch, rounds, N, noise, weight, moments
    )
    shaped = lambda a: np.moveaxis(a.reshape(len(a), P, N, *a.shape[2:]), 0, 1)  # noqa: E731
    if batch.two:
        path = _two_blocks(batch, shaped(models), weight)
    else:
        path = _one_block(
            batch, shaped(means), shaped(others) if others is not None else None, weight
        )
        spread = shaped(models) - shaped(means)[..., None, :]
        if not batch.chance and batch.period == 1:
            path.glides = _glides(batch, shaped(models)[:, :, 0, :, 0])
        path.left["consensus"] = (
            _mean_sq(spread.reshape(*spread.shape[:3], -1), weight) / m
        )
    if noise is not None:
        # no expectation is known
        path.value[:, _astray(batch, shaped(models)[..., 0], weight)] = np.nan
    path.x = models[-1].reshape(P, N, m, d)[:, 0]
    path.size = np.sqrt((shaped(models)[:, :, 0] ** 2).sum(-1).mean(-1).max(1))
    path.moment, path.still = (
        moment,
        np.where(batch.drawn | (moments & batch.sigma.any(-1)), 0, still),
    )
    return path


def _glides(batch: Batch, x: Array) -> Array:
    """Path.glides of models x (P, R, m)."""
    if x.shape[1] < 3:
        return np.zeros(batch.size)
    last, pace = x[:, -1], x[:, -1] - x[:, -2]
    even = np.abs(pace - (x[:, -2] - x[:, -3])) <= 1e-9 * np.abs(pace)
    knots = np.concatenate(
        [batch.clients.knots, batch.clients.knots + batch.clients.widths], -1
    )
    ahead = (knots - last[..., None]) * np.sign(pace)[..., None]
    with np.errstate(all="ignore"):
        rounds = (np.where(ahead > 0, ahead, np.inf).min(-1) / np.abs(pace)).min(-1)
    until = np.minimum(x.shape[1] - 2 + np.floor(np.minimum(rounds, FULL)), FULL)
    return np.where((even & (pace != 0)).all(-1), until, 0.0)


def _noise(batch: Batch) -> tuple[Tensor | None, float]:
    """None; or one unit of noise of each draw, client and block of a round, (draws, P
    N, m, d), and how many clients each stands for.
    """
    P, m, d = batch.x0.shape
    if batch.drawn or not batch.chance:
        return None, 0.0
    draws, told = draws_of(batch), 1 if _alike(batch) else m
    units = np.zeros((draws, P, 1 + draws * told * d, m, d))
    for n, (k, i, j) in enumerate(np.ndindex(draws, told, d), start=1):
        units[k, :, n, i, j] = batch.sigma[:, j]
    return torch.from_numpy(units.reshape(draws, -1, m, d)), m / told


def _alike(batch: Batch) -> bool:
    """Can the clients change places, in all candidates, as far as the answers to noise
    go?
    """
    m = batch.x0.shape[1]
    if batch.period > 1:
        return False
    apart = (
        batch.W[:, 0, ~np.eye(m, dtype=bool)]
        if batch.algorithm.needs_topology
        else np.zeros((1, 1))
    )
    spread = np.ptp(apart, axis=-1).max() if apart.size else 0.0
    return spread == 0 and np.ptp(batch.clients.slopes, axis=1).max() == 0


def _states(
    batch: Batch,
    rounds: int,
    runs: int,
    noise: Tensor | None,
    weight: float,
    moments: bool,
) -> tuple[Array, Array, Array | None, Array, Array]:
    """Models (R + 1, P N, m, d), means, auxiliary points (R + 1, P N, d), second
    moment, standing still.
    """
    draws = draws_of(batch) if moments else 0
    algorithm, oracle = (
        batch.algorithm,
        Candidates(batch, rounds, runs, noise, weight, draws),
    )
    mix = CandidatesMix(batch, runs, oracle)
    x = torch.from_numpy(np.repeat(batch.x0, runs, axis=0))
    state = algorithm.init(x, oracle)
    state = replace(state, z=state.x)
    kept, still = [state], np.zeros(batch.size, dtype=int)
    oracle.drawn = 0
    for t in range(rounds):
        oracle.t = t
        state = algorithm.local_update(state, oracle)
        state = algorithm.communicate(state, mix)
        state = replace(state, z=state.x)
        kept.append(state)
        if (t + 1 == rounds or t % _LOOK == 0) and len(kept) > batch.period:
            still = _comes_again(kept, batch, runs)
            if (
                noise is None
                and not batch.drawn
                and _at_rest(
                    kept[-1 - batch.period], state, batch.size, share=0.0
                ).all()
            ):
                break
    oracle.sample()
    whole = _stacked(kept)
    shape = (len(kept), -1)
    models, mean, other = (
        algorithm.models(whole),
        algorithm.mean(whole),
        algorithm.auxiliary(whole),
    )
    told = [a.numpy().reshape(*shape, *a.shape[1:]) for a in (models, mean)]
    auxiliary = (
        None if other is None else other.numpy().reshape(*shape, *other.shape[1:])
    )
    return told[0], told[1], auxiliary, oracle.moment, still


def _stacked(states: list[Any]) -> Any:
    """The states of all rounds as one, along the axis of the seeds."""
    whole = {}
    for f in fields(states[0]):
        rows = [getattr(state, f.name) for state in states]
        if f.name != "z" and all(
            isinstance(row, Tensor) and row.ndim >= 3 for row in rows
        ):
            whole[f.name] = torch.cat(rows)
    return replace(states[-1], **whole)


def _comes_again(kept: list[Any], batch: Batch, runs: int) -> Array:
    """After how many rounds each last state comes again, once the same matrices do; 0
    where it does not.
    """
    found = np.zeros(batch.size, dtype=int)
    for lag in range(
        batch.period, min(max(CYCLE, batch.period), len(kept) - 1) + 1, batch.period
    )[::-1]:
        found = np.where(
            _at_rest(kept[-1 - lag], kept[-1], batch.size, runs), lag, found
        )
    return found


def _at_rest(
    before: Any, after: Any, size: int, runs: int = 1, share: float = REST
) -> Array:
    """Which candidates' states have not moved in any tensor that is the clients' own,
    in the first of so many runs: it has no noise, and what the others add to a variance
    only grows. Nobody rests while a number that is common to all counts.
    """
    still = np.ones(size, dtype=bool)
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
            now, then = (a.numpy().reshape(size, runs, -1)[:, 0] for a in (new, old))
            moved = np.abs(now - then).max(-1, initial=0.0)
            still &= moved <= share * (np.abs(now).max(-1, initial=0.0) + 1e-300)
    return still


def _astray(batch: Batch, x: Array, weight: float) -> Array:
    """Which candidates' noise may lead models x (P, R, N, m) off the ramp on which
    gradients are affine.

    Coins add up to the sum of all answers at most.
    """
    reach = np.abs(_answers(x)).sum(2).cumsum(1)
    reach = reach.sum(-1, keepdims=True) if weight > 1 else reach
    low, width = batch.clients.knots[:, None, :, 0], batch.clients.widths[:, None, :, 0]
    off = (x[:, :, 0] - reach < low) | (x[:, :, 0] + reach > low + width)
    return (off & batch.clients.slopes[:, None, :, 0].astype(bool)).any((1, 2))


def _answers(a: Array) -> Array:
    """What one unit of noise each changes: runs 1, 2, ... less run 0."""
    return a[:, :, 1:] - a[:, :, :1]


def _total(a: Array, weight: float) -> Array:
    """The sum over the noise of all rounds so far, (R, P): answers at lag 0, 1, ... are
    independent.
    """
    return weight * np.cumsum(a.sum((2, 3)), axis=1).T


def _mean_sq(a: Array, weight: float) -> Array:
    """E ||a||^2 of (P, R, N, n), (R, P): the squared mean and the variance; without
    noise the runs' mean.
    """
    if not weight:
        return (a**2).sum(-1).mean(2).T
    return (a[:, :, 0] ** 2).sum(-1).T + _total(_answers(a) ** 2, weight)


def _mean_value(value: Array, slope: Array, x: Array, weight: float) -> Array:
    """E F, (R, P), of its values (P, R, N); ``slope`` at ``x`` (P, R, N, n) tells the
    variance's share.
    """
    if not weight:
        return value.mean(2).T
    return value[:, :, 0].T + _total(_answers(slope) * _answers(x) / 2, weight)


def _one_block(batch: Batch, means: Array, others: Array | None, weight: float) -> Path:
    """means (P, R, N, d)."""
    clients, (P, R, N, d) = batch.clients, means.shape

    def slope(points: Array) -> Array:
        return (
            clients.gradient(points.reshape(P, R * N, 1, d))
            .mean(2)
            .reshape(points.shape)
        )

    g = slope(means)
    left = {"grad_norm_sq": _mean_sq(g, weight)}
    if others is not None:
        left["grad_norm_sq_w"] = _mean_sq(slope(others), weight)
    # the one minimizer; a convex problem without a curve may have many
    if (clients.curve > 0).any():
        least = np.where(
            clients.curve > 0, clients.minimizer(batch.x0.mean((1, 2))), np.nan
        )
        left["dist_sq"] = _mean_sq(means - least[:, None, None, None], weight)
    value = clients.value(means.reshape(P, R * N, 1, d)).mean(-1).reshape(P, R, N)
    left["loss"] = value = _mean_value(value, g, means, weight)
    zero = np.zeros(batch.size)
    return Path(left, value, zero, zero, batch.x0)


def _two_blocks(batch: Batch, x: Array, weight: float) -> Path:
    """x (P, R, N, m, 2): before round t, and after it (V^{t+1})."""
    (P, R, N, m, _), shape = x.shape, x[:, 1:].shape

    def slope(points: Array) -> Array:
        return batch.clients.gradient(points.reshape(P, -1, m, 2)).reshape(shape)

    here = x[:, :-1].copy()
    here[..., 0] = here[..., 0].mean(-1, keepdims=True)
    g = slope(here)
    after = slope(np.stack([here[..., 0], x[:, 1:, ..., 1]], -1))[..., 0]
    value = batch.clients.value(here.reshape(P, -1, m, 2)).mean(-1).reshape(P, R - 1, N)
    flat = (P, R - 1, N, 2 * m)
    value = _mean_value(value, g.reshape(flat) / m, here.reshape(flat), weight)
    left = {
        "grad_u_sq": _mean_sq(g[..., 0].mean(-1)[..., None], weight),
        "grad_u_sq_next": _mean_sq(after.mean(-1)[..., None], weight),
        "grad_v_sq": _mean_sq(slope(x[:, :-1])[..., 1], weight) / m,
    }
    zero = np.zeros(P)
    return Path(left, value, zero, zero, batch.x0, after[:, :, 0].var(-1).T)


@unknown_methods_rejected()
def fixed_points(batch: Batch, x: Array, steps: int = 6) -> Array:
    """Solutions of round(x) = x near x (P, m, d), by Newton, where a round begins with
    the models alone.

    Exact for piecewise affine rounds once the piece is right; whether what comes out
    stands still is seen when it is run.
    """
    P, m, d = x.shape
    n = m * d
    many = Batch(batch.algorithm, batch.clients, x, batch.W, np.zeros_like(batch.sigma))

    def after(points: Array) -> Array:
        """(P, N, n) -> the same, one round later."""
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
        # a candidate that overflows stays where it is
        known = np.where(np.isfinite(jacobian), jacobian, 0.0)
        inverse = np.linalg.pinv(known, rcond=1e-12)
        move = np.einsum("pij,pnj->pni", inverse, flat - now)
        flat = flat + np.clip(np.where(np.isfinite(move), move, 0.0), -1e3, 1e3)
    return flat.reshape(P, m, d)


__all__ = [
    "CYCLE",
    "FULL",
    "Batch",
    "Candidates",
    "CandidatesMix",
    "Path",
    "draws_of",
    "fixed_points",
    "run",
]
