r"""Limits and long horizons in closed form.

Where the round map has the same law in every round, the mean mu and the second moment S = E ss' of the
state follow one affine map together. Its fixed point is the stationary law, and a sum over 10^9 rounds takes
30 squarings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.exact.engine import Engine, measure
from dfltheory.analysis.exact.history import starting_models
from dfltheory.analysis.exact.moments import ClientMap, Moments, one_round, start
from dfltheory.analysis.exact.network import sequence_for
from dfltheory.analysis.exact.problem import Problem, problem_of
from dfltheory.errors import InputError

Array = NDArray[Any]
_MOMENTS = 50
"""Entries of one problem's state up to which maps on second moments (their square) are written out."""


@dataclass(frozen=True, eq=False)
class Stationary:
    """The limit t -> infinity: measures, expected models (m, d), and how fast it is reached.

    ``radius`` spectral radius of the mean's round map; ``radius_square`` of the second moment's, which is
    ``radius**2`` for one constant matrix and more for random ones.  Below 1 there is a limit.
    """

    measures: dict[str, float]
    x: Array
    radius: float
    radius_square: float


def stationary(algorithm: Any, task: Any, topology: Any = None) -> Stationary:
    """The stationary values of an affine recursion, by linear equations (no iteration).

    Raises
    ------
    InputError where the round map changes with time, or its spectral radius is not below 1.
    """
    engine, problem = _engine(algorithm, task, topology)
    parts = [_Part.of(engine, k) for k in range(len(problem.A))]
    radius = max(part.radius for part in parts)
    square = max(part.radius_square for part in parts)
    if not max(radius, square) < 1 - 1e-12:
        raise InputError(
            f"the spectral radius of the round map is {max(radius, square):.9g}, not below 1: "
            "there is no stationary law (take a smaller eta, or a task with mu > 0)"
        )
    return _measured(engine, [part.fixed_point() for part in parts], radius, square)


def average_over(
    algorithm: Any, task: Any, topology: Any = None, rounds: int = 100, x0: Any = None
) -> dict[str, float]:
    """The mean over t = 0..rounds-1 of every measure, in O(log rounds) squarings.

    For states of at most 50 entries per decoupled problem (clients times blocks); use
    :func:`exact_history` beyond.
    """
    if rounds < 1:
        raise InputError(f"rounds = {rounds!r} must be an integer >= 1")
    engine, problem = _engine(algorithm, task, topology)
    rule, _ = engine.build(0, np.ones(problem.m))
    first = start(problem, rule, starting_models(task, x0) - task.x_star.double().cpu().numpy()).mu
    states = [_Part.of(engine, k).average(first[k], int(rounds)) for k in range(len(problem.A))]
    return _measured(engine, states, 0.0, 0.0).measures


def _engine(algorithm: Any, task: Any, topology: Any) -> tuple[Engine, Problem]:
    problem = problem_of(task)
    engine = Engine(algorithm, problem, sequence_for(algorithm, task.m, topology))
    if not engine.autonomous:
        raise InputError(
            "limits need a round map whose law does not change: one matrix or RandomMixing, decay = 1, and "
            "doubly stochastic matrices for push-sum"
        )
    return engine, problem


def _measured(engine: Engine, states: list[Moments], radius: float, square: float) -> Stationary:
    """Measures of states that are centred at x*."""
    problem = engine.problem
    mu = np.concatenate([s.mu for s in states])
    covs = [np.zeros((*s.mu.shape, *s.mu.shape[1:])) if s.cov is None else s.cov for s in states]
    centred = replace(problem, x_star=np.zeros_like(problem.x_star))
    ones = np.ones(problem.m)
    rule, _ = engine.build(0, ones)
    measures = measure(centred, Moments(mu, np.concatenate(covs)), rule, ones)
    return Stationary(measures, problem.models(mu[:, :, 0] + problem.x_star[:, None]), radius, square)


@dataclass(frozen=True, eq=False)
class _Part:
    """One of the decoupled problems, centred at its minimizer so that nothing large cancels."""

    engine: Engine
    round: Callable[[Moments], Moments]
    shape: tuple[int, ...]
    M: Array
    k: Array

    @classmethod
    def of(cls, engine: Engine, index: int) -> _Part:
        part = _centred(engine, index)
        one = Engine(engine.algorithm, part, engine.sequence)
        rule, local = one.build(0, np.ones(part.m))
        laws = one.laws(0, rule)
        shape = (1, part.m, rule.lift.shape[1], part.A.shape[-1])
        still = ClientMap(local.map, np.zeros_like(local.shift), np.zeros_like(local.noise))
        eye = np.eye(int(np.prod(shape)))
        columns = [one_round(Moments(e.reshape(shape)), still, rule, laws).mu.ravel() for e in eye]
        origin = Moments(np.zeros(shape))
        k = one_round(origin, replace(local, noise=still.noise), rule, laws).mu.ravel()
        return cls(one, lambda s: one_round(s, local, rule, laws), shape, np.stack(columns, axis=1), k)

    @property
    def n(self) -> int:
        return len(self.k)

    @property
    def _one_matrix(self) -> bool:
        return not self.engine.sequence.random

    @property
    def radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.M)).max())

    @property
    def radius_square(self) -> float:
        if self._one_matrix:
            return self.radius**2
        inner = self._together()[1 + self.n :, 1 + self.n :]
        return float(np.abs(np.linalg.eigvals(inner)).max())

    def fixed_point(self) -> Moments:
        """Stationary mean and covariance: a linear system, and a discrete Lyapunov equation."""
        from scipy.linalg import solve_discrete_lyapunov

        mu = np.linalg.solve(np.eye(self.n) - self.M, self.k)
        if self._one_matrix:
            entered = self.round(Moments(np.zeros(self.shape))).cov
            if entered is None:
                return Moments(mu.reshape(self.shape))
            cov = solve_discrete_lyapunov(self.M, entered.reshape(self.n, self.n))
            return Moments(mu.reshape(self.shape), self._four(cov))
        F = self._together()
        right = F[1 + self.n :, 0] + F[1 + self.n :, 1 : 1 + self.n] @ mu
        inner = F[1 + self.n :, 1 + self.n :]
        second = np.linalg.solve(np.eye(self.n**2) - inner, right).reshape(self.n, self.n)
        return Moments(mu.reshape(self.shape), self._four(second - np.outer(mu, mu)))

    def average(self, first: Array, rounds: int) -> Moments:
        """Averages of mean and second moment over ``rounds`` rounds from the state ``first``, as moments."""
        mu = first.ravel()
        at = np.concatenate([[1.0], mu, np.outer(mu, mu).ravel()])
        mu, second = self._split(_sum_of_powers(self._together(), at, rounds) / rounds)
        return Moments(mu.reshape(self.shape), self._four(second - np.outer(mu, mu)))

    def _together(self) -> Array:
        """The linear map on (1, mu, S) of one round, by probing: exact, because the round is affine in them.

        mu and S enter :func:`one_round` as mean mu and covariance S - mu mu' (positive or not).
        """
        n = self.n
        if n > _MOMENTS:
            raise InputError(
                f"a state of {n} entries has {n * n} second moments, too many for closed forms here (at most "
                f"{_MOMENTS}**2): use exact_history over many rounds"
            )
        size = 1 + n + n * n
        F = np.zeros((size, size))
        F[0, 0] = 1
        F[1:, 0] = self._moved(np.zeros(n), np.zeros((n, n)))
        for j, e in enumerate(np.eye(size - 1)):
            F[1:, 1 + j] = self._moved(e[:n], e[n:].reshape(n, n)) - F[1:, 0]
        return F

    def _moved(self, mu: Array, second: Array) -> Array:
        after = self.round(Moments(mu.reshape(self.shape), self._four(second - np.outer(mu, mu))))
        assert after.cov is not None
        new = after.mu.ravel()
        return np.concatenate([new, (after.cov.reshape(self.n, self.n) + np.outer(new, new)).ravel()])

    def _split(self, v: Array) -> tuple[Array, Array]:
        return v[1 : 1 + self.n], v[1 + self.n :].reshape(self.n, self.n)

    def _four(self, square: Array) -> Array:
        return square.reshape(*self.shape, *self.shape[1:])


def _centred(engine: Engine, k: int) -> Problem:
    """Problem k alone, in coordinates around x*; weight decay still pulls to the old origin."""
    problem = engine.problem
    one = slice(k, k + 1)
    A, x_star = problem.A[one], problem.x_star[one]
    moved = np.einsum("zmab,zb->zma", A, x_star) + engine.algorithm.weight_decay * x_star[:, None]
    return Problem(
        A,
        problem.pull[one] - moved,
        problem.noise[one],
        problem.mean_hessian[one],
        np.zeros_like(x_star),
        0.0,
        problem.basis,
    )


def _sum_of_powers(F: Array, v: Array, rounds: int) -> Array:
    """sum_{t < rounds} F^t v, by the binary digits of ``rounds``."""
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


__all__ = ["Stationary", "average_over", "stationary"]
