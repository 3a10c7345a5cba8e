"""The recursion round by round, and what is measured of its moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.exact.moments import ClientMap, Moments, client_map, one_round, start
from dfltheory.analysis.exact.network import is_constant, law_of
from dfltheory.analysis.exact.problem import Problem
from dfltheory.analysis.exact.rules import Rule, is_push_sum, rule_of
from dfltheory.errors import InputError

Array = NDArray[Any]


@dataclass(eq=False)
class Engine:
    """One algorithm on one problem over one sequence of matrices."""

    algorithm: Any
    problem: Problem
    sequence: Any

    def __post_init__(self) -> None:
        self.push_sum = is_push_sum(self.algorithm)
        self._check_random()
        self._built: tuple[tuple, Rule, ClientMap] | None = None

    def _check_random(self) -> None:
        if not (self.push_sum and self.sequence.random):
            return
        if any(np.abs(W.sum(1) - 1).max() > 1e-12 for _, W in self.sequence.law()):
            raise InputError(
                "random push-sum weights make the recursion not affine: give matrices whose rows sum to 1 too"
            )

    def states(self, x0: Array, rounds: int) -> Iterator[tuple[Moments, Rule, Array]]:
        """State, rule and push-sum weights before rounds 0, 1, ..., ``rounds``."""
        w = np.ones(self.problem.m)
        rule, local = self.build(0, w)
        state = start(self.problem, rule, x0)
        for t in range(rounds + 1):
            rule, local = self.build(t, w)
            yield state, rule, w
            if t < rounds:
                state = one_round(state, local, rule, self.laws(t, rule))
                if self.push_sum and not self.sequence.random:
                    w = self.laws(t, rule)[0][0][1] @ w

    def build(self, t: int, w: Array) -> tuple[Rule, ClientMap]:
        """Rule and client map of round t, built anew only when step size or weights have changed."""
        key = (self.algorithm.decay**t, w.tobytes())
        if self._built is None or self._built[0] != key:
            rule = rule_of(self.algorithm, t, w)
            self._built = (key, rule, client_map(self.problem, rule))
        return self._built[1], self._built[2]

    def laws(self, t: int, rule: Rule) -> list:
        """The laws of the Q matrices of round t, in order: the q-th one has the index tQ + q."""
        return [law_of(self.sequence, t * rule.Q + q) for q in range(rule.Q)]

    @property
    def autonomous(self) -> bool:
        """Is the round map (its law) the same in every round?"""
        doubly = not self.push_sum or all(
            np.abs(W.sum(1) - 1).max() <= 1e-12 for _, W in law_of(self.sequence, 0)
        )
        return is_constant(self.sequence) and self.algorithm.decay == 1.0 and doubly


def measure(problem: Problem, state: Moments, rule: Rule, w: Array) -> dict[str, float]:
    """``grad_norm_sq``, ``loss``, ``consensus`` (and ``grad_norm_sq_w``), in expectation."""
    point = _point(state, rule.aim)
    measured = {
        "grad_norm_sq": _gradient_square(problem, *point),
        "loss": _loss(problem, *point),
        "consensus": _consensus(state, w),
    }
    if rule.auxiliary is not None:
        measured["grad_norm_sq_w"] = _gradient_square(problem, *_point(state, rule.auxiliary))
    return measured


def _point(state: Moments, aim: Array) -> tuple[Array, Array | None]:
    """Mean (B, b) and covariance (B, b, b) of (1/m) sum_i aim . s_i."""
    m = state.mu.shape[1]
    mean = np.einsum("p,zipb->zb", aim, state.mu) / m
    if state.cov is None:
        return mean, None
    return mean, np.einsum("p,zipbjsc,s->zbc", aim, state.cov, aim) / m**2


def _gradient_square(problem: Problem, mean: Array, cov: Array | None) -> float:
    H = problem.mean_hessian
    slope = (H @ (mean - problem.x_star)[..., None])[..., 0]
    spread = 0.0 if cov is None else float(np.einsum("zij,zjk,zik->", H, cov, H))
    return float((slope**2).sum()) + spread


def _loss(problem: Problem, mean: Array, cov: Array | None) -> float:
    gap = mean - problem.x_star
    H = problem.mean_hessian
    fall = np.einsum("zi,zij,zj->", gap, H, gap)
    spread = 0.0 if cov is None else np.einsum("zij,zji->", H, cov)
    return problem.f_star + float(fall + spread) / 2


def _consensus(state: Moments, w: Array) -> float:
    """(1/m) sum_i E||x_i/w_i - xbar||^2, with w = 1 outside of push-sum."""
    m = len(w)
    readout = np.diag(1 / w) - 1 / m  # row i: x_i/w_i - xbar
    gaps = np.einsum("ij,zjb->zib", readout, state.mu[:, :, 0])
    total = float((gaps**2).sum())
    if state.cov is not None:
        cov = state.cov[:, :, 0, :, :, 0, :]
        total += float(np.einsum("ij,zjbkb,ik->", readout, cov, readout, optimize=True))
    return total / m


__all__ = ["Engine", "measure"]
