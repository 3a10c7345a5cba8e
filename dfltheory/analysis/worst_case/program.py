"""The semidefinite program of a worst case, and its solution by Clarabel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from dfltheory.analysis.worst_case.trace import traced
from dfltheory.errors import DFLTheoryError, InputError

if TYPE_CHECKING:
    from dfltheory.algorithms.base import Algorithm
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]


class MissingExtraError(DFLTheoryError):
    """An optional part of the installation is not there."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The solver's word and value; multipliers of the rules, of the left-hand sides, of the network's
    rules."""

    status: str
    value: float
    rules: Array
    weights: Array
    network: list[Array]


@dataclass(eq=False)
class Program:
    """Gradients at ``points``, and exchanges, of all rounds of a left-hand side, in units in which L = f0_gap
    = 1. ``means``: the gradients at means over clients, ``asked`` those of the left-hand side, ``start``
    that where f0_gap is told."""

    n: int
    points: Array
    exchanged: list[tuple[Array, int]]
    means: list[int]
    asked: list[int]
    start: int
    theorem: Theorem
    values: dict[str, float]

    @classmethod
    def of(cls, theorem: Theorem, made: Algorithm, values: dict[str, float]) -> Program:
        """Run the algorithm on coordinates: once to count, once in earnest, once in another unit."""
        counted, *_ = traced(theorem, made, values, 0, 0)
        n, exchanges = len(counted.points), len(counted.exchanged)
        trace, means, left, start = traced(theorem, made, values, n, exchanges)
        double, *_ = traced(theorem, made, values, n, exchanges, 2.0)
        if any(not torch.allclose(2 * a, b) for a, b in zip(trace.points, double.points, strict=True)):
            raise InputError(f"{type(made).__name__}'s rounds are not linear in the gradients")
        unit = np.ones(2 * n + exchanges)
        unit[: 2 * n] = values["L"]
        points = np.stack([point.numpy() * unit for point in trace.points])
        exchanged = [(z.numpy() * unit, times) for z, times in trace.exchanged]
        return cls(n, points, exchanged, means, left, start, theorem, values)

    def solve(self, trace: bool) -> Solution:
        """The largest left-hand side; or the largest sum of all squares, ``trace``."""
        try:
            import cvxpy as cp
        except ImportError as missing:
            raise MissingExtraError(
                "worst cases need cvxpy, which is not installed: pip install '.[pep]'"
            ) from missing
        n, size = self.n, self.points.shape[1] - self.n
        M, D = cp.Variable((n, n), PSD=True), cp.Variable((size, size), PSD=True)
        unknown = cp.hstack([cp.vec(M, order="C"), cp.vec(D, order="C"), cp.Variable(n + 1)])
        rows, right = self.rules
        rules, worst = [rows @ unknown <= right], cp.Variable()
        aim = worst if not trace else cp.trace(M) + cp.trace(D)
        rules += [] if trace else [self.left @ unknown >= worst]
        maps = self.one_network
        if maps is not None:
            before, after, shrinks = maps
            gap, cross = shrinks * before @ D @ before.T - after @ D @ after.T, after @ D @ before.T
            rules += [(gap + gap.T) / 2 >> 0]
            rules += [cross == cross.T] if self.theorem.scope.network != "doubly stochastic" else []
        problem = cp.Problem(cp.Maximize(aim), rules)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the solver's status says it too
            try:
                problem.solve(solver="CLARABEL")
            except (cp.SolverError, ValueError) as failed:  # numbers beyond what it can hold
                raise InputError(f"the semidefinite program was not solved: {failed}") from failed
        value = float("nan") if problem.value is None else float(np.real(np.asarray(problem.value)))
        if not np.isfinite(value):
            raise InputError(f"the semidefinite program was not solved ({problem.status}): take fewer rounds")
        duals = [np.asarray(rule.dual_value) for rule in rules]
        weights = np.zeros(0) if trace else np.atleast_1d(duals.pop(1))
        return Solution(str(problem.status), value, duals[0], weights, duals[1:])

    @property
    def square(self) -> float:
        """The unit of squared gradients."""
        return self.values["L"] * self.values["f0_gap"]

    @cached_property
    def _gradients(self) -> Array:
        """The gradients at all points, as coordinates."""
        k, g = np.arange(self.n), np.zeros_like(self.points)
        g[k, k] = g[k, self.n + k] = 1.0
        return g

    def mean(self, a: Array, b: Array) -> Array:
        """<mean of a, mean of b>, as coefficients of (M, D, f, f*)."""
        return self._coefficients(a[: self.n], b[: self.n], 0 * a[self.n :])

    def deviation(self, a: Array, b: Array) -> Array:
        """The mean over clients of <deviation of a, deviation of b>."""
        return self._coefficients(0 * a[: self.n], 0 * b[: self.n], a[self.n :], b[self.n :])

    def product(self, a: Array, b: Array) -> Array:
        """<a_i, b_i> of one client."""
        return self.mean(a, b) + self.deviation(a, b)

    def _coefficients(self, a: Array, b: Array, c: Array, d: Array | None = None) -> Array:
        both = (np.outer(a, b), np.outer(c, c if d is None else d))
        return np.concatenate([*((x + x.T).ravel() / 2 for x in both), np.zeros(self.n + 1)])

    def _value(self, k: int) -> Array:
        """The coefficients of f at point k; of f* at -1."""
        row = np.zeros(self.n**2 + (self.points.shape[1] - self.n) ** 2 + self.n + 1)
        row[row.size - 1 - self.n + k if k >= 0 else -1] = 1.0
        return row

    @property
    def below(self) -> dict[int, int]:
        """Which rule has f* <= f at which mean."""
        first = self.n * (self.n - 1)
        return {k: first + number for number, k in enumerate(self.means)}

    @property
    def gap(self) -> int:
        """Which rule has f0_gap."""
        return self.n * (self.n - 1) + len(self.means)

    @cached_property
    def left(self) -> Array:
        """The left-hand side, or those of which the least counts, (H, numbers)."""
        rows = np.stack([self.mean(g, g) for g in self._gradients[self.asked]])
        match self.theorem.lhs.aggregate:
            case "mean":
                return rows.mean(0, keepdims=True)
            case "min" | "last":
                return rows
        raise InputError(f"worst cases of the {self.theorem.lhs.aggregate} over rounds are not computed")

    @cached_property
    def rules(self) -> tuple[Array, Array]:
        """All inequalities ``rows`` (M, D, f, f*) <= ``right``."""
        known, g, rows = self.values, self._gradients, list[tuple[Array, float]]()
        for i, j in permutations(range(self.n), 2):
            x, dg = self.points[i] - self.points[j], g[i] - g[j]
            curved = self.product(g[i] + g[j], x) / 2 + self.product(dg, dg) / 4 - self.product(x, x) / 4
            rows.append((self._value(j) + curved - self._value(i), 0.0))
        rows += [(self._value(-1) + self.mean(g[k], g[k]) / 2 - self._value(k), 0.0) for k in self.means]
        rows.append((self._value(self.start) - self._value(-1), 1.0))
        for k in self.means if "sigma_g" in known else ():
            rows.append((self.deviation(g[k], g[k]), known["sigma_g"] ** 2 / self.square))
        bounded = {"B": 2} if self.theorem.scope.bounded_gradients else {}
        for name, power in ({"S2": 1} | bounded).items():
            if name in known:
                rows += [(self.product(one, one), known[name] ** power / self.square) for one in g]
        for d, (z, times) in zip(self._left_over, self.exchanged, strict=True):
            shrinks = known["lam"] ** (2 * times)
            rows.append((self.deviation(d, d) - shrinks * self.deviation(z, z), 0.0))
        return np.stack([row for row, _ in rows]), np.array([right for _, right in rows])

    @cached_property
    def _left_over(self) -> Array:
        """What exchanges leave of deviations, as coordinates."""
        k = np.arange(len(self.exchanged))
        d = np.zeros((len(k), self.points.shape[1]))
        d[k, 2 * self.n + k] = 1.0
        return d

    @cached_property
    def one_network(self) -> tuple[Array, Array, float] | None:
        """Deviations before and after all exchanges, and lam^2Q, where one W is that of all of them."""
        counts = {times for _, times in self.exchanged}
        if self.theorem.scope.sequence != ("fixed",) or len(counts) != 1:
            return None
        before = np.stack([z for z, _ in self.exchanged])[:, self.n :]
        return before, self._left_over[:, self.n :], self.values["lam"] ** (2 * counts.pop())


__all__ = ["Program", "Solution"]
