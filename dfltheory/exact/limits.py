r"""Limits and long horizons in closed form.

If the round map has the same distribution in every round, the mean mu and the second
moment S = E ss' of the state together follow one affine map. Its fixed point is the
stationary distribution, and a sum over 10^9 rounds takes 30 squarings. Conserved sums
of the state (such as the sum of the corrections of gradient tracking, which is 0) cause
eigenvalues 1 of the map. They are removed from the map and keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, null_space, solve_discrete_lyapunov
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError
from dfltheory.exact.blocks import MeetingError, Step
from dfltheory.exact.engine import Engine
from dfltheory.exact.history import starting_models
from dfltheory.exact.moments import Affine, Moments, Stage, one_round
from dfltheory.exact.network import sequence_for
from dfltheory.exact.problem import problem_of
from dfltheory.tasks.task import Task

_MOMENTS = 50
"""Largest size of a problem's state for which the map of second moments is formed.
"""


_RESTS = 1e-11
"""Relative change of a sum below which it is considered conserved."""
_HORIZON = 10**9
"""The horizon passed to the algorithm."""


@dataclass(frozen=True, eq=False)
class Stationary:
    """The limit t -> infinity: measures, expected models (m, d), and convergence speed.

    ``radius`` is the spectral radius of the round map of the mean, and
    ``radius_square`` that of the second moment, which is ``radius**2`` for a constant
    matrix and larger for random ones. A limit exists if both are below 1.
    """

    measures: dict[str, float]
    x: np.ndarray
    radius: float
    radius_square: float


def stationary(algorithm: Algorithm, task: Task, topology: object = None) -> Stationary:
    """Return the stationary values of an affine recursion, from linear equations.

    Raises
    ------
    InputError
        If the round map changes with time, or its spectral radius is not below 1.
    """
    engine, parts = _engine(algorithm, task, topology, None)
    radius = max(part.radius for part in parts)
    square = max(part.radius_square for part in parts)
    if not max(radius, square) < 1 - 1e-12:
        raise InputError(
            f"the spectral radius of the round map is {max(radius, square):.9g}, not"
            " below 1 (conserved sums excluded): there is no stationary distribution"
            " (use a smaller eta, or a task with mu > 0)"
        )
    return _measured(engine, [part.fixed_point() for part in parts], radius, square)


def average_over(
    algorithm: Algorithm,
    task: Task,
    topology: object = None,
    rounds: int = 100,
    x0: Tensor | ArrayLike | None = None,
) -> dict[str, float]:
    """Return the mean over t = 0..rounds-1 of every measure.

    It takes O(log rounds) squarings, for states of at most 50 entries per decoupled
    problem (clients times blocks). Use :func:`exact_history` for larger ones.
    """
    if rounds < 1:
        raise InputError(f"rounds = {rounds!r} must be an integer >= 1")
    engine, parts = _engine(algorithm, task, topology, x0)
    return _measured(
        engine, [part.average(int(rounds)) for part in parts], 0.0, 0.0
    ).measures


def _engine(
    algorithm: Algorithm,
    task: Task,
    topology: object,
    x0: Tensor | ArrayLike | None,
    separate: bool = True,
) -> tuple[Engine, list[_Part]]:
    sequence = sequence_for(algorithm, task.m, topology)
    engine = Engine(
        algorithm,
        problem_of(task),
        sequence,
        starting_models(task, x0),
        _HORIZON,
        separate,
    )
    if not engine.autonomous:
        raise InputError(
            "limits need a round map whose distribution is constant: one matrix or"
            " RandomMixing, decay = 1, and doubly stochastic matrices for push-sum"
        )
    try:
        step, _ = engine.step(engine.template, 0)
    except MeetingError:
        return _engine(algorithm, task, topology, x0, separate=False)
    return engine, [_Part.of(engine, step, k) for k in range(len(engine.start.mu))]


def _measured(
    engine: Engine, states: list[Moments], radius: float, square: float
) -> Stationary:
    mu = np.concatenate([s.mu for s in states])
    covs = []
    for s in states:
        none = np.zeros((*s.mu.shape, *s.mu.shape[1:]))
        covs.append(none if s.cov is None else s.cov)
    state = Moments(mu, np.concatenate(covs))
    readings = engine.readings(engine.template)
    return Stationary(
        readings.expected(state), engine.models(state, readings), radius, square
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the decoupled problems, with mean recursion s' = M s + k.

    ``start`` is the state before round 0, and ``begun`` (n, columns) its dependence on
    x^0.
    """

    round: Callable[[Moments], Moments]
    random: bool
    start: Moments
    M: np.ndarray
    k: np.ndarray
    begun: np.ndarray

    @classmethod
    def of(cls, engine: Engine, step: Step, index: int) -> _Part:
        one = slice(index, index + 1)
        stages = [Stage(s.alone.part(one), s.mixed, s.times) for s in step.stages]
        start = Moments(
            engine.start.mu[one],
            None if engine.start.cov is None else engine.start.cov[one],
        )
        shape = start.mu.shape
        quiet = [Stage(s.alone.still(), s.mixed, s.times) for s in stages]
        linear = [
            Stage(Affine(s.alone.map, np.zeros_like(s.alone.shift)), s.mixed, s.times)
            for s in stages
        ]

        def mean(stages: list[Stage], mu: np.ndarray) -> np.ndarray:
            return one_round(Moments(mu.reshape(shape)), stages, step.laws).mu.ravel()

        def whole_round(state: Moments) -> Moments:
            return one_round(state, stages, step.laws)

        n = start.mu.size
        M = np.stack([mean(linear, e) for e in np.eye(n)], axis=1)
        return cls(
            whole_round,
            engine.sequence.random,
            start,
            M,
            mean(quiet, np.zeros(n)),
            block_diag(*engine.begun.map[index]),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.start.mu.shape

    @cached_property
    def kept(self) -> np.ndarray:
        """Conserved sums (r, n) of the state: no round, outcome or x^0 changes them."""
        _, sizes, rows = np.linalg.svd(np.eye(self.n) - self.M.T)
        kept = rows[sizes <= _RESTS * max(1.0, sizes[0])]
        trial = self.round(Moments(np.random.default_rng(0).normal(size=self.shape)))
        moved = [kept @ self.k, kept @ self.begun]
        for cov in (trial.cov, self.start.cov):
            moved += [] if cov is None else [kept @ cov.reshape(self.n, self.n)]
        largest = max((np.abs(part).max(initial=0.0) for part in moved), default=0.0)
        return kept if largest <= _RESTS * max(1.0, np.abs(self.k).max()) else kept[:0]

    @cached_property
    def free(self) -> np.ndarray:
        """An orthonormal basis (n, n - r) of the complement of the conserved sums."""
        return null_space(self.kept) if len(self.kept) else np.eye(self.n)

    @cached_property
    def centre(self) -> np.ndarray:
        """The stationary mean (n,), or a least-squares approximation.

        Second moments are taken about it, to avoid cancellation of large numbers.
        """
        rests = np.concatenate([np.eye(self.n) - self.M, self.kept])
        return np.linalg.lstsq(
            rests, np.append(self.k, self.kept @ self.start.mu.ravel()), rcond=None
        )[0]

    @cached_property
    def inner(self) -> np.ndarray:
        """The linear part of the round in the coordinates of ``free``."""
        return self.free.T @ self.M @ self.free

    @property
    def n(self) -> int:
        return len(self.k)

    @property
    def radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.inner)).max(initial=0.0))

    @property
    def radius_square(self) -> float:
        if not self.random:
            return self.radius**2
        r = self.free.shape[1]
        return float(
            np.abs(np.linalg.eigvals(self._together()[1 + r :, 1 + r :])).max(
                initial=0.0
            )
        )

    def fixed_point(self) -> Moments:
        """Return the stationary mean and covariance.

        They solve a linear system and a discrete Lyapunov equation.
        """
        r = self.free.shape[1]
        if not self.random:
            entered = self.round(Moments(np.zeros(self.shape))).cov
            if entered is None:
                return Moments(self.centre.reshape(self.shape))
            square = self.free.T @ entered.reshape(self.n, self.n) @ self.free
            return self._around(
                np.zeros(r), solve_discrete_lyapunov(self.inner, square)
            )
        F = self._together()
        second = np.linalg.solve(np.eye(r**2) - F[1 + r :, 1 + r :], F[1 + r :, 0])
        return self._around(np.zeros(r), second.reshape(r, r))

    def average(self, rounds: int) -> Moments:
        """Return the averages of mean and second moment over rounds from the start."""
        start = (
            self.start
            if self.start.cov is not None
            else Moments(self.start.mu, self._four(0 * self.M))
        )
        at = np.concatenate([[1.0], self._seen(start)])
        mean, r = (
            _sum_of_powers(self._together(), at, rounds) / rounds,
            self.free.shape[1],
        )
        return self._around(mean[1 : 1 + r], mean[1 + r :].reshape(r, r))

    def _around(self, mu: np.ndarray, second: np.ndarray) -> Moments:
        """Return moments from the mean and second moment about ``centre``.

        They are in the basis ``free``.
        """
        spread = self.free @ (second - np.outer(mu, mu)) @ self.free.T
        return Moments(
            (self.centre + self.free @ mu).reshape(self.shape), self._four(spread)
        )

    def _together(self) -> np.ndarray:
        """Return the linear map of one round on (1, mu, S).

        It is computed by probing, which is exact because the round is affine in mu and
        S. They enter :func:`one_round` as the mean mu and the covariance S - mu mu',
        which need not be positive.
        """
        n = self.free.shape[1]
        if n > _MOMENTS:
            raise InputError(
                f"a state of {n} entries has {n * n} second moments, too many for a"
                f" closed form (at most {_MOMENTS}**2): use exact_history over many"
                " rounds"
            )
        size = 1 + n + n * n
        F = np.zeros((size, size))
        F[0, 0] = 1
        F[1:, 0] = self._moved(np.zeros(n), np.zeros((n, n)))
        for j, e in enumerate(np.eye(size - 1)):
            F[1:, 1 + j] = self._moved(e[:n], e[n:].reshape(n, n)) - F[1:, 0]
        return F

    def _moved(self, mu: np.ndarray, second: np.ndarray) -> np.ndarray:
        return self._seen(self.round(self._around(mu, second)))

    def _seen(self, state: Moments) -> np.ndarray:
        """Return the mean and second moment about ``centre``, in the basis ``free``."""
        assert state.cov is not None
        mu = self.free.T @ (state.mu.ravel() - self.centre)
        spread = self.free.T @ state.cov.reshape(self.n, self.n) @ self.free
        return np.concatenate([mu, (spread + np.outer(mu, mu)).ravel()])

    def _four(self, square: np.ndarray) -> np.ndarray:
        return square.reshape(*self.shape, *self.shape[1:])


def _sum_of_powers(F: np.ndarray, v: np.ndarray, rounds: int) -> np.ndarray:
    """Return sum_{t < rounds} F^t v, by the binary digits of ``rounds``."""
    total, now = np.zeros_like(v), v
    power, summed = F, np.eye(len(F))  # F^(2^j), sum_{t < 2^j} F^t
    while rounds:
        if rounds & 1:
            total = total + summed @ now
            now = power @ now
        summed = summed + power @ summed
        power = power @ power
        rounds >>= 1
    return total
