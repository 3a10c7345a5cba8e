"""Lines of Shi et al. 2023 (DFedMDC and DFedSMDC) that are false, each evaluated at a
witness.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from validation.papers import bound
from validation.papers.dfedmdc.finite_problem import BlocksProblem
from validation.papers.finite_problems import Array
from validation.papers.lines import RefutedLines

LINES = RefutedLines("dfedmdc", [BlocksProblem])
Pair = tuple[Any, Any]


# -- the theorems and the tables


@LINES.refutes("Theorem 1, (3)", "Theorem 2, (4)")
def different_starts(T: int) -> Pair:
    """The left side where the bound is 0: F(ubar^1) = F^*, and u_1^1 = -u_2^1 is not 0.

    Two clients with grad_u F_i(u) = max(u, u/2), no noise, one step of 1/sqrt(T), and
    W = [[3/4, 1/4], [1/4, 3/4]].
    """
    eta, total = 1 / T**0.5, 0.0
    u = np.array([1 - eta / 2, eta - 1])
    for t in range(T + 1):
        if t > 0:
            total += np.maximum(u.mean(), u.mean() / 2) ** 2
        u = (u - eta * np.maximum(u, u / 2)) @ np.array([[3, 1], [1, 3]]) / 4
    return total / T, 0.0


def gap(W: Array) -> float:
    """1 - lambda of a mixing matrix."""
    return float(1 - np.linalg.norm(W - np.ones_like(W) / len(W), 2))


def cycle(n: int) -> Array:
    """The sum of the two shifts of a ring."""
    return np.roll(np.eye(n), 1, 0) + np.roll(np.eye(n), -1, 0)


def ring_gap(m: int) -> float:
    """1 - lambda of a ring with weights 1/3."""
    return gap((np.eye(m) + cycle(m)) / 3)


def grid_gap(m: int) -> float:
    """1 - lambda of a square torus with weights 1/5."""
    side = int(m**0.5)
    neighbors = np.kron(cycle(side), np.eye(side)) + np.kron(np.eye(side), cycle(side))
    return gap((np.eye(m) + neighbors) / 5)


@LINES.refutes("Table 1, ring")
def ring_of_table_1(m: int) -> Pair:
    """The deviation of 3 m^2 (1 - lambda)/pi^2 from 16, against a tenth of it."""
    return abs(ring_gap(m) * m**2 * 3 / np.pi**2 - 16), 1.6


@LINES.refutes("Table 1, grid")
def grid_of_table_1(m: int) -> Pair:
    """m log_2(m) (1 - lambda), which should be bounded, against 1.2 times its value at
    m = 16.
    """
    return grid_gap(m) * m * np.log2(m), 1.2 * grid_gap(16) * 16 * 4


@LINES.refutes("Remark 4, gap")
def gap_of_a_sparse_network(m: int) -> Pair:
    """The gap of the complete graph, 1, against that of a ring, which Remark 4 says is
    larger.
    """
    return 1.0, ring_gap(m)


# -- Lemmas 3 to 6


def drift_bound(problem: BlocksProblem) -> Any:
    """The right side of Lemma 3; with rho > 0 that of Lemma 4."""
    p = problem
    noise = p.sigma_u_sq + p.delta_sq + p.gradient_moment
    return 18 * p.eta**2 * p.K_u**2 * noise + 6 * p.K_u * (p.eta * p.L_u * p.rho) ** 2


@LINES.refutes("Lemma 3", "Lemma 4")
def drift_in_u(problem: BlocksProblem) -> Pair:
    """The drift with a step size that Lemma 3 does not exclude; in Lemma 4 the bias of
    SAM adds up.
    """
    return problem.moved(problem.k + 1), drift_bound(problem)


@LINES.refutes("proof of Lemma 4, bound of I, sign 1")
def square_of_a_sum_in_lemma_4(problem: BlocksProblem) -> Pair:
    """The square of a sum of two vectors against the sum of their squares."""
    p = problem
    sampled = p.run.g[p.t][p.k]
    ascended = p.run.sam[p.t][p.k] - sampled
    left = p.squared(p.u_steps[p.k] - p.u - p.eta * ascended)
    right = p.moved(p.k) + (p.eta * p.L_u) ** 2 * p.squared(p.rho * np.sign(sampled))
    factor = 1 + p.one / (2 * p.K_u - 1)
    return factor * left, factor * right


@LINES.refutes("Lemma 5", "Lemma 6")
def consensus_from_different_starts(problem: BlocksProblem) -> Pair:
    """The consensus error of devices that start at different points."""
    return problem.disagreement, drift_bound(problem) / (1 - problem.lam) ** 2


def mixing_differences(problem: BlocksProblem) -> list[Array]:
    """P - W^{t-1-j} for j < t."""
    p = problem
    average = np.ones_like(p.W) / len(p.W)
    return [average - np.linalg.matrix_power(p.W, p.t - 1 - j) for j in range(p.t)]


def convolution(problem: BlocksProblem) -> Any:
    """E||sum_j (P - W^{t-1-j}) zeta^j||^2."""
    pairs = zip(mixing_differences(problem), problem.zeta, strict=True)
    return problem.frobenius(sum((zeta @ A.T for A, zeta in pairs), 0 * problem.u))


def deviation(problem: BlocksProblem) -> Any:
    """E||U^t - P U^t||^2."""
    return problem.frobenius(problem.u - problem.mean_at_clients)


@LINES.refutes("proof of Lemma 5, convolution, sign 1")
def start_left_out(problem: BlocksProblem) -> Pair:
    """U^t - P U^t without (W^t - P) U^0."""
    return deviation(problem), convolution(problem)


@LINES.refutes("proof of Lemma 5, convolution, sign 2")
def missing_square(problem: BlocksProblem) -> Pair:
    """A square against a sum of norms that is not squared."""
    p, total = problem, np.zeros(len(problem.coins))
    for A, zeta in zip(mixing_differences(p), p.zeta, strict=True):
        total = total + np.linalg.norm(A, 2) * np.sqrt((zeta**2).sum(axis=-1))
    return convolution(p), p.mean(total)


@LINES.corrects("proof of Lemma 5, convolution, sign 2")
def square_of_the_sum(problem: BlocksProblem) -> Pair:
    """A square against the square of a sum of norms."""
    p, total = problem, 0 * problem.one
    for A, zeta in zip(mixing_differences(p), p.zeta, strict=True):
        total = total + np.linalg.norm(A.astype(float), 2) * np.sqrt(
            (zeta**2).sum(axis=-1).astype(float)
        )
    return convolution(p), p.mean(total**2)


@LINES.refutes("proof of Lemma 5, one round")
def gradients_of_another_round(problem: BlocksProblem) -> Pair:
    """The distance of the first round, bounded by the gradients of the last."""
    first = problem.run.u[0]
    return problem.frobenius(first[0] - first[-1]), problem.m * drift_bound(problem)


@LINES.corrects("proof of Lemma 5, one round")
def gradients_of_the_same_round(problem: BlocksProblem) -> Pair:
    """The distance of the first round, bounded by the gradients of the first."""
    first, v = problem.run.u[0], problem.run.v[0][-1]
    moment = problem.squared(problem.in_shared(first[0], v))
    noise = problem.sigma_u_sq + problem.delta_sq + moment
    right = 18 * problem.eta**2 * problem.K_u**2 * noise
    return problem.frobenius(first[0] - first[-1]), problem.m * right


@LINES.refutes("proof of Lemma 5, closed", "proof of Lemma 6, closed")
def deviation_closed(problem: BlocksProblem) -> Pair:
    """The deviation from the mean against the lemma's bound."""
    return deviation(problem), drift_bound(problem) / (1 - problem.lam) ** 2


# -- the descent in u


def slope_at_mean(problem: BlocksProblem) -> Array:
    """grad_u F(ubar^t, V^{t+1}) at every client."""
    return problem.at_clients(problem.in_shared(problem.mean_u, problem.v_next))


def product(problem: BlocksProblem, gradients: list[Array]) -> Any:
    """(eta_u/m) sum_i sum_k E<grad_u F(ubar^t, V^{t+1}), a_{i,k}>."""
    slope = slope_at_mean(problem)
    return problem.eta * sum(problem.mean(slope * gradient) for gradient in gradients)


@LINES.refutes("(8), sign 3", "(22), sign 3")
def gradient_of_the_wrong_round(problem: BlocksProblem) -> Pair:
    """The descent with Delta_u at V^t, where the step is at V^{t+1}."""
    p, gradients = problem, problem.run.g[problem.t]
    delta = p.squared(p.in_shared(p.mean_u, p.v))
    at_mean = p.in_u(p.mean_at_clients, p.v_next)
    lost = product(p, [at_mean - gradient for gradient in gradients])
    left = -product(p, gradients) + p.step_term
    return left, -p.eta * p.K_u * delta + lost + p.step_term


@LINES.corrects("(8), sign 3", "(22), sign 3")
def gradient_of_the_right_round(problem: BlocksProblem) -> Pair:
    """The descent with Delta_u at V^{t+1}."""
    p, gradients = problem, problem.run.g[problem.t]
    delta = p.squared(p.in_shared(p.mean_u, p.v_next))
    at_mean = p.in_u(p.mean_at_clients, p.v_next)
    lost = product(p, [at_mean - gradient for gradient in gradients])
    left = -product(p, gradients) + p.step_term
    return left, -p.eta * p.K_u * delta + lost + p.step_term


@LINES.refutes("(8), a), mean", "(22), a), mean", equality=True)
def one_batch_for_a_round(problem: BlocksProblem) -> Pair:
    """The mean of a gradient at a point that depends on its own batch."""
    p = problem
    return p.mean(p.run.g[p.t][p.k]), p.mean(p.in_u(p.u_steps[p.k], p.v_next))


@LINES.refutes("(12), sign 1", "(26), sign 1")
def square_of_a_sum(problem: BlocksProblem) -> Pair:
    """The square of a sum of K_u vectors against the sum of their squares."""
    p = problem
    squares = sum(p.squared(gradient) for gradient in p.run.sam[p.t])
    return p.step_term, p.eta**2 * p.L_u / 2 * squares


@LINES.refutes("(22), sign 2")
def step_without_sam(problem: BlocksProblem) -> Pair:
    """The step of SAM, written with the gradients at the iterates."""
    p = problem
    step = (p.next_mean_u - p.mean_u)[:, None]
    return (
        p.mean(slope_at_mean(p) * step) + p.step_term,
        -product(p, p.run.g[p.t]) + p.step_term,
    )


# -- the descent in v


def coupling(problem: BlocksProblem) -> Array:
    """grad_v F_i(ubar^t, v_i^t) - grad_v F_i(u_i^t, v_i^t)."""
    p = problem
    return p.in_v(p.mean_at_clients, p.v) - p.in_v(p.u, p.v)


def along_step(problem: BlocksProblem, gradients: Array) -> Any:
    """(1/m) sum_i E<a_i, v_i^{t+1} - v_i^t>."""
    return problem.mean(gradients * (problem.v_next - problem.v))


@LINES.refutes("(15), sign 1", "(29), sign 1")
def gradients_at_one_point(problem: BlocksProblem) -> Pair:
    """K_v gradients at v_i^{t,k}, taken for gradients at v_i^t."""
    p = problem
    there = p.in_v(p.u, p.v)
    right = -p.eta_v * p.K_v * p.mean((coupling(p) + there) * there)
    return along_step(p, p.in_v(p.mean_at_clients, p.v)), right


@LINES.corrects("(15), sign 1", "(29), sign 1", "(15), sign 2", "(29), sign 2")
def gradients_at_their_own_points(problem: BlocksProblem) -> Pair:
    """The step in v with the K_v gradients at v_i^{t,k}."""
    p = problem
    there = p.in_v(p.mean_at_clients, p.v)
    own = sum(p.in_v(p.u, v) for v in p.run.v[p.t][:-1])
    return along_step(p, there), -p.eta_v * p.mean(there * own)


@LINES.refutes("(15), sign 2", "(29), sign 2")
def drift_of_v_lost(problem: BlocksProblem) -> Pair:
    """The step in v with its drift against the one without."""
    p = problem
    there = p.in_v(p.u, p.v)
    left = along_step(p, coupling(p) + there)
    return left, -p.eta_v * p.K_v * p.squared(there) + along_step(p, coupling(p))


# -- displays against what they cite

HALF_STEP = s.eta_u * s.L_u**2 / 2
GAP = (1 - s.lam) ** 2


@LINES.refutes("(9)")
def factor_of_9() -> Pair:
    """Lemma 5 in T_1,u, a sum over K_u steps, against (9)."""
    return s.K_u * HALF_STEP * bound("dfedmdc.lemma_5"), bound("dfedmdc.eq_9")


@LINES.refutes("(23)")
def factor_of_23() -> Pair:
    """Lemma 6 in T_1,u, a sum over K_u steps, against (23)."""
    return s.K_u * HALF_STEP * bound("dfedmdc.lemma_6"), bound("dfedmdc.eq_23")


def solved(lemma: str, display: str) -> sp.Expr:
    """(10) with a lemma, solved for the gradients at the devices, in a display that has
    them.
    """
    gradients = bound("dfedmdc.eq_10").xreplace({s.Xi: bound(lemma)})
    slope = sp.diff(gradients, s.G_u)
    bounded = gradients.xreplace({s.G_u: sp.S.Zero}) / (1 - slope)
    factor = 9 * s.eta_u**3 * s.K_u**2 * s.L_u**2 / GAP
    return bound(display) + factor * (bounded - s.G_u)


@LINES.refutes("(11)")
def absorbed_share_of_11() -> Pair:
    """(10) with Lemma 5 in (9), against (11), which leaves out the share that is
    absorbed.
    """
    return solved("dfedmdc.lemma_5", "dfedmdc.eq_9"), bound("dfedmdc.eq_11")


@LINES.refutes("(25)")
def absorbed_share_of_25() -> Pair:
    """(24) with Lemma 6 in (23), against (25), which leaves out the share that is
    absorbed.
    """
    return solved("dfedmdc.lemma_6", "dfedmdc.eq_23"), bound("dfedmdc.eq_25")


@LINES.refutes("(13), second")
def coefficient_of_13(x: Fraction, L_u: Fraction, K_u: int) -> Pair:
    """4 L_u x^2/K_u with x = eta_u K_u L_u, which stands before Lemma 5 in (12),
    against 2.
    """
    return 4 * L_u * x**2 / K_u, 2


@LINES.refutes("(33), second")
def share_of_33() -> Pair:
    """(27) against the formula that replaces it in (33)."""
    return bound("dfedmdc.eq_27"), bound("dfedmdc.eq_33_u")


@LINES.refutes("(35)")
def noise_left_out_of_35() -> Pair:
    """(34) against (35), which vanishes where sigma_v alone is not 0: no constant of
    O(.) covers that.
    """
    return bound("dfedmdc.theorem_2:appendix"), bound("dfedmdc.theorem_2:appendix_eq35")


__all__ = ["LINES"]
