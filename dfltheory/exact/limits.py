r"""Limits and long horizons in closed form.

If the round map has the same distribution in every round, the mean mu and the second
moment S = E ss' of the state together follow one affine map. Its fixed point is the
stationary distribution, and a sum over 10^9 rounds takes 30 squarings. Conserved sums
of the state (such as the sum of the corrections of gradient tracking, which is 0) cause
eigenvalues 1 of the map. They are removed from the map and keep their values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag, null_space, solve_discrete_lyapunov
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError, whole_number
from dfltheory.exact.blocks import MeetingError, Step
from dfltheory.exact.engine import Engine
from dfltheory.exact.history import exact_starting_models
from dfltheory.exact.moments import Affine, Moments, Stage, one_round
from dfltheory.exact.network import sequence_for
from dfltheory.exact.problem import problem_of
from dfltheory.tasks.task import Task

_MOMENTS = 50
"""Largest size of a state for which the map of second moments is formed."""


_CONSERVED = 1e-11
"""Relative change of a sum below which it is considered conserved."""
_HORIZON = 10**9
"""Number of rounds that the algorithm is given; limits do not depend on it."""


@dataclass(frozen=True, eq=False)
class Stationary:
    """The limit t -> infinity. It exists if both spectral radii are below 1.

    Attributes
    ----------
    measures : dict of str to float
        Expectation of every measure.
    x : (m, d) array
        Expected models of the clients.
    radius : float
        Spectral radius of the round map of the mean, conserved sums excluded.
    radius_square : float
        Spectral radius of the round map of the second moment: ``radius**2`` for a
        constant matrix, and larger for random ones.
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
    engine, problems = _engine(algorithm, task, topology, None)
    radius = max(problem.radius for problem in problems)
    radius_square = max(problem.radius_square for problem in problems)
    largest = max(radius, radius_square)
    if not largest < 1 - 1e-12:
        raise InputError(
            f"the spectral radius of the round map is {largest:.9g}, not"
            " below 1 (conserved sums excluded): there is no stationary distribution"
            " (use a smaller eta, or a task with mu > 0)"
        )
    fixed_points = [problem.fixed_point() for problem in problems]
    measures, models = _measures_and_models(engine, fixed_points)
    return Stationary(measures, models, radius, radius_square)


def average_over(
    algorithm: Algorithm,
    task: Task,
    topology: object = None,
    rounds: int = 100,
    x0: Tensor | ArrayLike | None = None,
) -> dict[str, float]:
    """Return the mean over t = 0..rounds-1 of the expectation of every measure.

    It takes O(log rounds) squarings of a matrix.

    Parameters
    ----------
    algorithm : Algorithm
    task : Task
        A quadratic problem.
    topology : object, optional
        Network of the m clients; not needed for algorithms with a server.
    rounds : int
        Number of rounds >= 1; floats such as 1e9 are allowed if they are integers.
    x0 : (m, d), (d,) tensor or array, optional
        Starting models; by default the task's own.

    Returns
    -------
    dict of str to float
        The mean of each measure, by name.

    Raises
    ------
    InputError
        If the round map changes with time, or a decoupled problem has a state of more
        than 50 entries (clients times blocks); use :func:`exact_history` for these. Or
        if ``rounds`` is not an integer >= 1.
    """
    whole = int(rounds) if isinstance(rounds, float) and rounds.is_integer() else rounds
    count = whole_number("rounds", whole, at_least=1)
    engine, problems = _engine(algorithm, task, topology, x0)
    averages = [problem.average(count) for problem in problems]
    measures, _ = _measures_and_models(engine, averages)
    return measures


def _engine(
    algorithm: Algorithm,
    task: Task,
    topology: object,
    x0: Tensor | ArrayLike | None,
    separate: bool = True,
) -> tuple[Engine, list[_DecoupledProblem]]:
    """Return the engine and its problems, one for each coordinate if they decouple."""
    sequence = sequence_for(algorithm, task.m, topology)
    problem, start = problem_of(task), exact_starting_models(task, x0)
    engine = Engine(algorithm, problem, sequence, start, _HORIZON, separate)
    if not engine.autonomous:
        raise InputError(
            "limits need a round map whose distribution is constant: one matrix or"
            " RandomMixing, decay = 1, and doubly stochastic matrices for push-sum"
        )
    try:
        step, _ = engine.step(engine.template, 0)
    except MeetingError:
        return _engine(algorithm, task, topology, x0, separate=False)
    numbers = range(len(engine.start.mu))
    return engine, [_DecoupledProblem.of(engine, step, k) for k in numbers]


def _measures_and_models(
    engine: Engine, states: list[Moments]
) -> tuple[dict[str, float], np.ndarray]:
    """Return the expected measures and models, from the state of each problem."""
    means, covariances = [], []
    for state in states:
        means.append(state.mu)
        no_covariance = np.zeros((*state.mu.shape, *state.mu.shape[1:]))
        covariances.append(no_covariance if state.cov is None else state.cov)
    whole = Moments(np.concatenate(means), np.concatenate(covariances))
    readings = engine.readings(engine.template)
    return readings.expected(whole), engine.models(whole, readings)


@dataclass(frozen=True, eq=False)
class _DecoupledProblem:
    """One of the B decoupled problems, as a recursion of its state s of n numbers.

    A round maps the mean of s to M s + k. Conserved sums are linear functions of s that
    no round changes. They are separated, and the map of a round is studied in the
    coordinates z = basis' (s - center) of the rest, which have the stationary mean 0.

    Attributes
    ----------
    round : callable
        Returns the moments of the state after one round.
    random_matrices : bool
        Whether mixing matrices are drawn. Then the covariance that a round adds depends
        on the state.
    start : Moments
        The state before round 0, of shape (1, m, p) with n = m p.
    M : (n, n) array
        Linear part of the round of the mean.
    k : (n,) array
        Constant part of the round of the mean.
    start_map : (n, columns) array
        Linear map from x^0 to the state before round 0.
    """

    round: Callable[[Moments], Moments]
    random_matrices: bool
    start: Moments
    M: np.ndarray
    k: np.ndarray
    start_map: np.ndarray

    @classmethod
    def of(cls, engine: Engine, step: Step, index: int) -> _DecoupledProblem:
        """Return problem number ``index`` of an engine, with this round."""
        only_this = slice(index, index + 1)
        cov = engine.start.cov
        start_cov = None if cov is None else cov[only_this]
        start = Moments(engine.start.mu[only_this], start_cov)
        stages, without_noise, linear_parts = [], [], []
        for stage in step.stages:
            local_map = stage.local_map.part(only_this)
            linear = Affine(local_map.map, np.zeros_like(local_map.shift))
            stages.append(replace(stage, local_map=local_map))
            noiseless = local_map.without_noise()
            without_noise.append(replace(stage, local_map=noiseless))
            linear_parts.append(replace(stage, local_map=linear))

        def next_mean(stages: list[Stage], mu: np.ndarray) -> np.ndarray:
            state = Moments(mu.reshape(start.mu.shape))
            return one_round(state, stages, step.laws).mu.ravel()

        def whole_round(state: Moments) -> Moments:
            return one_round(state, stages, step.laws)

        n = start.mu.size
        columns = [next_mean(linear_parts, unit) for unit in np.eye(n)]
        return cls(
            round=whole_round,
            random_matrices=engine.sequence.random,
            start=start,
            M=np.stack(columns, axis=1),
            k=next_mean(without_noise, np.zeros(n)),
            start_map=block_diag(*engine.start_map.map[index]),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """(1, m, p)."""
        return self.start.mu.shape

    @property
    def n(self) -> int:
        """Number of entries of the state."""
        return len(self.k)

    # -- conserved sums, and coordinates z of the rest

    @cached_property
    def conserved(self) -> np.ndarray:
        """Coefficients (r, n) of the conserved sums; r = 0 if there are none.

        They are left eigenvectors of M with eigenvalue 1, whose sums neither shifts,
        noise, drawn matrices nor x^0 change. If one of these changes a sum, none counts
        as conserved.
        """
        _, singular_values, rows = np.linalg.svd(np.eye(self.n) - self.M.T)
        sums = rows[singular_values <= _CONSERVED * max(1.0, singular_values[0])]
        # the covariance that a round adds to a deterministic state
        trial = self.round(Moments(np.random.default_rng(0).normal(size=self.shape)))
        changes = [sums @ self.k, sums @ self.start_map]
        covariances = [cov for cov in (trial.cov, self.start.cov) if cov is not None]
        changes += [sums @ cov.reshape(self.n, self.n) for cov in covariances]
        largest = max(np.abs(change).max(initial=0.0) for change in changes)
        if largest <= _CONSERVED * max(1.0, np.abs(self.k).max()):
            return sums
        return sums[:0]

    @cached_property
    def basis(self) -> np.ndarray:
        """An orthonormal basis (n, n - r) of the complement of the conserved sums."""
        return null_space(self.conserved) if len(self.conserved) else np.eye(self.n)

    @cached_property
    def center(self) -> np.ndarray:
        """The stationary mean (n,), or a least-squares approximation.

        It solves (I - M) s = k and has the conserved sums of the start. Second moments
        are taken about it, to avoid cancellation of large numbers.
        """
        equations = np.concatenate([np.eye(self.n) - self.M, self.conserved])
        right = np.append(self.k, self.conserved @ self.start.mu.ravel())
        return np.linalg.lstsq(equations, right, rcond=None)[0]

    @cached_property
    def basis_map(self) -> np.ndarray:
        """The linear part (n - r, n - r) of the round of the mean of z."""
        return self.basis.T @ self.M @ self.basis

    def _from_basis(self, mean: np.ndarray, second: np.ndarray) -> Moments:
        """Return the moments of s from mean and second moment of z."""
        cov = self.basis @ (second - np.outer(mean, mean)) @ self.basis.T
        return Moments(
            (self.center + self.basis @ mean).reshape(self.shape), self._as_cov(cov)
        )

    def _to_basis(self, state: Moments) -> np.ndarray:
        """Return the mean of z, followed by the entries of its second moment."""
        assert state.cov is not None
        mean = self.basis.T @ (state.mu.ravel() - self.center)
        cov = self.basis.T @ state.cov.reshape(self.n, self.n) @ self.basis
        return np.concatenate([mean, (cov + np.outer(mean, mean)).ravel()])

    def _as_cov(self, matrix: np.ndarray) -> np.ndarray:
        """Return an (n, n) matrix in the shape (1, m, p, m, p) of a covariance."""
        return matrix.reshape(*self.shape, *self.shape[1:])

    # -- one round, as a linear map of the moments of z

    def _moment_map(self) -> np.ndarray:
        """Return the matrix of one round on (1, mean of z, second moment of z).

        It is computed by probing, which is exact because the round is affine in these
        moments. In a probe, second moment - mean mean' need not be positive, as a
        covariance is; :func:`one_round` does not require it.
        """
        n = self.basis.shape[1]
        if n > _MOMENTS:
            raise InputError(
                f"a state of {n} entries has {n * n} second moments, too many for a"
                f" closed form (at most {_MOMENTS}**2): use exact_history over many"
                " rounds"
            )

        def moments_after(mean: np.ndarray, second: np.ndarray) -> np.ndarray:
            return self._to_basis(self.round(self._from_basis(mean, second)))

        size = 1 + n + n * n
        F = np.zeros((size, size))
        F[0, 0] = 1
        F[1:, 0] = moments_after(np.zeros(n), np.zeros((n, n)))
        for j, e in enumerate(np.eye(size - 1)):
            F[1:, 1 + j] = moments_after(e[:n], e[n:].reshape(n, n)) - F[1:, 0]
        return F

    # -- results

    @property
    def radius(self) -> float:
        """Spectral radius of the round of the mean, without the conserved sums."""
        return float(np.abs(np.linalg.eigvals(self.basis_map)).max(initial=0.0))

    @property
    def radius_square(self) -> float:
        """Spectral radius of the round of the second moment."""
        if not self.random_matrices:
            return self.radius**2
        n = self.basis.shape[1]
        second_to_second = self._moment_map()[1 + n :, 1 + n :]
        return float(np.abs(np.linalg.eigvals(second_to_second)).max(initial=0.0))

    def fixed_point(self) -> Moments:
        """Return the stationary mean and covariance.

        The mean of z is 0. Its second moment solves a discrete Lyapunov equation for a
        constant matrix, and a linear system for random ones.
        """
        n = self.basis.shape[1]
        if not self.random_matrices:
            added = self.round(Moments(np.zeros(self.shape))).cov
            if added is None:
                return Moments(self.center.reshape(self.shape))
            added_to_z = self.basis.T @ added.reshape(self.n, self.n) @ self.basis
            second = solve_discrete_lyapunov(self.basis_map, added_to_z)
            return self._from_basis(np.zeros(n), second)
        F = self._moment_map()
        of_second, constant = F[1 + n :, 1 + n :], F[1 + n :, 0]
        second = np.linalg.solve(np.eye(n**2) - of_second, constant)
        return self._from_basis(np.zeros(n), second.reshape(n, n))

    def average(self, rounds: int) -> Moments:
        """Return mean and covariance of the state at a random t < ``rounds``.

        Expectations of quadratic functions of it are averages over these rounds.
        """
        start = self.start
        if start.cov is None:
            start = Moments(start.mu, self._as_cov(0 * self.M))
        n = self.basis.shape[1]
        first = np.concatenate([[1.0], self._to_basis(start)])
        means = _sum_of_powers(self._moment_map(), first, rounds) / rounds
        return self._from_basis(means[1 : 1 + n], means[1 + n :].reshape(n, n))


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
