"""Quantities of DFedADMM in a finite problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    Recording,
    average_clients,
)

Blended = TypeVar("Blended", Number, Array)


def ratio(problem: FiniteProblem) -> Number:
    """Return eta_l/lambda."""
    return problem.eta / problem.penalty


def gamma(problem: FiniteProblem) -> Number:
    """Return gamma = 1 - (1 - eta_l/lambda)^K."""
    return 1 - (1 - ratio(problem)) ** problem.K


def blend(problem: FiniteProblem, parts: Sequence[Blended]) -> Blended:
    """Return sum_k gamma_k part_k, gamma_k = r (1 - r)^(K-1-k), r = eta_l/lambda."""
    r = ratio(problem)
    total = 0 * parts[0]
    for k, part in enumerate(parts):
        total = total + r * (1 - r) ** (problem.K - 1 - k) * part
    return total


def blended_squares(problem: FiniteProblem, parts: Sequence[Array]) -> Number:
    """Return sum_k gamma_k of the mean squares of the parts."""
    return blend(problem, [problem.sq(part) for part in parts])


def moment(problem: FiniteProblem) -> Number:
    """Return sigma_l^2 + B^2."""
    return problem.sigma_l_sq + problem.B_sq


def shifted_mean(problem: FiniteProblem, run: Recording, t: int) -> Array:
    """Return w^t = xbar^t + (1 - gamma)/gamma (xbar^t - xbar^{t-1})."""
    c, now = gamma(problem), average_clients(run.x[t])
    before = average_clients(run.x[max(t - 1, 0)])
    return now + (1 - c) / c * (now - before)
