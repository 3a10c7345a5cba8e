"""Lines of Shi et al. 2023 (DFedMDC and DFedSMDC) that are false, each at a witness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from validation.papers import bound
from validation.papers.dfedmdc.finite_problem import BlocksProblem
from validation.papers.finite_problems import (
    Array,
    Number,
    cycle,
    second_eigenvalue,
    torus,
)
from validation.papers.lines import Formulas, Pair, RefutedLines

LINES = RefutedLines("dfedmdc", [BlocksProblem])


# -- the theorems and the tables


@LINES.refutes("Theorem 1, (3)", "Theorem 2, (4)")
def different_starts(T: int) -> Pair:
    """(3) and (4): the mean squared gradient, by 0 where F(ubar^1) = F^*.

    Two clients with grad_u F_i(u) = max(u, u/2), no noise, one step of 1/sqrt(T), and
    W = [[3/4, 1/4], [1/4, 3/4]]. They start at u_1^1 = -u_2^1, which is not 0.
    """
    eta, total = 1 / T**0.5, 0.0
    u = np.array([1 - eta / 2, eta - 1])
    for t in range(T + 1):
        if t > 0:
            total += np.maximum(u.mean(), u.mean() / 2) ** 2
        u = (u - eta * np.maximum(u, u / 2)) @ np.array([[3, 1], [1, 3]]) / 4
    return total / T, 0.0


def ring_gap(m: int) -> float:
    """Return 1 - lambda of a ring with weights 1/3."""
    return 1 - second_eigenvalue((np.eye(m) + cycle(m)) / 3)


def grid_gap(m: int) -> float:
    """Return 1 - lambda of a square torus with weights 1/5."""
    return 1 - second_eigenvalue((np.eye(m) + torus(int(m**0.5))) / 5)


@LINES.refutes("Table 1, ring")
def ring_of_table_1(m: int) -> Pair:
    """Table 1: 3 m^2 (1 - lambda)/pi^2 of a ring is 16; allowed is a tenth of it."""
    return abs(ring_gap(m) * m**2 * 3 / np.pi**2 - 16), 1.6


@LINES.refutes("Table 1, grid")
def grid_of_table_1(m: int) -> Pair:
    """Table 1: m log_2(m) (1 - lambda) of a grid is bounded, by 1.2 of that at 16."""
    return grid_gap(m) * m * np.log2(m), 1.2 * grid_gap(16) * 16 * 4


@LINES.refutes("Remark 4, gap")
def gap_of_a_sparse_network(m: int) -> Pair:
    """Remark 4: the gap of the complete graph, 1, is at most that of a ring."""
    return 1.0, ring_gap(m)


# -- Lemmas 3 to 6


def noise_and_gradients(problem: BlocksProblem, gradients: Number) -> Number:
    """Return 18 eta^2 K_u^2 (sigma_u^2 + delta^2 + gradients)."""
    noise = problem.sigma_u_sq + problem.delta_sq + gradients
    return 18 * problem.eta**2 * problem.K_u**2 * noise


def drift_bound(problem: BlocksProblem) -> Number:
    """Return the right side of Lemma 3; with rho > 0 that of Lemma 4."""
    ascent = 6 * problem.K_u * (problem.eta * problem.L_u * problem.rho) ** 2
    return noise_and_gradients(problem, problem.gradient_moment) + ascent


@LINES.refutes("Lemma 3", "Lemma 4")
def drift_in_u(problem: BlocksProblem) -> Pair:
    """Lemmas 3 and 4: the drift in u, without a condition on the step size.

    In Lemma 4 the bias of SAM adds up.
    """
    return problem.moved(problem.k + 1), drift_bound(problem)


@LINES.refutes("proof of Lemma 4, bound of I, sign 1")
def square_of_a_sum_in_lemma_4(problem: BlocksProblem) -> Pair:
    """Proof of Lemma 4, I: the square of a sum of two vectors by the sum of squares."""
    k, eta = problem.k, problem.eta
    sampled = problem.run.g[problem.t][k]
    ascended = problem.run.sam[problem.t][k] - sampled
    left = problem.squared(problem.u_steps[k] - problem.u - eta * ascended)
    ascent = problem.squared(problem.rho * np.sign(sampled))
    right = problem.moved(k) + (eta * problem.L_u) ** 2 * ascent
    factor = 1 + problem.one / (2 * problem.K_u - 1)
    return factor * left, factor * right


@LINES.refutes("Lemma 5", "Lemma 6")
def consensus_from_different_starts(problem: BlocksProblem) -> Pair:
    """Lemmas 5 and 6: the consensus error of devices that start at different points."""
    return problem.disagreement, drift_bound(problem) / (1 - problem.lam) ** 2


def mixing_differences(problem: BlocksProblem) -> list[tuple[Array, Array]]:
    """Return P - W^{t-1-j} and zeta^j for j < t."""
    W, t = problem.W, problem.t
    average = np.ones_like(W) / len(W)
    powers = [np.linalg.matrix_power(W, t - 1 - j) for j in range(t)]
    return [(average - power, z) for power, z in zip(powers, problem.zeta, strict=True)]


def convolution(problem: BlocksProblem) -> Number:
    """Return E||sum_j (P - W^{t-1-j}) zeta^j||^2."""
    total = 0 * problem.u
    for difference, zeta in mixing_differences(problem):
        total = total + zeta @ difference.T
    return problem.frobenius(total)


def sum_of_norms(problem: BlocksProblem) -> Array:
    """Return sum_j ||P - W^{t-1-j}|| ||zeta^j|| in each outcome."""
    total = np.zeros(len(problem.coins))
    for difference, zeta in mixing_differences(problem):
        norms = np.sqrt((zeta**2).sum(axis=-1).astype(float))
        total = total + np.linalg.norm(difference.astype(float), 2) * norms
    return total


def deviation(problem: BlocksProblem) -> Number:
    """Return E||U^t - P U^t||^2."""
    return problem.frobenius(problem.u - problem.mean_at_clients)


@LINES.refutes("proof of Lemma 5, convolution, sign 1")
def start_left_out(problem: BlocksProblem) -> Pair:
    """Proof of Lemma 5: U^t - P U^t without (W^t - P) U^0."""
    return deviation(problem), convolution(problem)


@LINES.refutes("proof of Lemma 5, convolution, sign 2")
def missing_square(problem: BlocksProblem) -> Pair:
    """Proof of Lemma 5: a square by a sum of norms that is not squared."""
    return convolution(problem), problem.mean(sum_of_norms(problem))


@LINES.corrects("proof of Lemma 5, convolution, sign 2")
def square_of_the_sum(problem: BlocksProblem) -> Pair:
    """Proof of Lemma 5: a square by the square of a sum of norms."""
    return convolution(problem), problem.mean(sum_of_norms(problem) ** 2)


def first_distance(problem: BlocksProblem) -> Number:
    """Return E||U - Z||^2 of the first round."""
    first = problem.run.u[0]
    return problem.frobenius(first[0] - first[-1])


@LINES.refutes("proof of Lemma 5, one round")
def gradients_of_another_round(problem: BlocksProblem) -> Pair:
    """Proof of Lemma 5: the distance of the first round, by gradients of the last."""
    return first_distance(problem), problem.m * drift_bound(problem)


@LINES.corrects("proof of Lemma 5, one round")
def gradients_of_the_same_round(problem: BlocksProblem) -> Pair:
    """Proof of Lemma 5: the distance of the first round, by gradients of the first."""
    u, v = problem.run.u[0][0], problem.run.v[0][-1]
    moment = problem.squared(problem.in_shared(u, v))
    right = noise_and_gradients(problem, moment)
    return first_distance(problem), problem.m * right


@LINES.refutes("proof of Lemma 5, closed", "proof of Lemma 6, closed")
def deviation_closed(problem: BlocksProblem) -> Pair:
    """Proofs of Lemmas 5 and 6: the deviation from the mean by the lemma's bound."""
    return deviation(problem), drift_bound(problem) / (1 - problem.lam) ** 2


# -- the descent in u


def slope_at_mean(problem: BlocksProblem) -> Array:
    """Return grad_u F(ubar^t, V^{t+1}) at every client."""
    return problem.at_clients(problem.in_shared(problem.mean_u, problem.v_next))


def product(problem: BlocksProblem, gradients: list[Array]) -> Number:
    """Return (eta_u/m) sum_i sum_k E<grad_u F(ubar^t, V^{t+1}), a_{i,k}>."""
    slope = slope_at_mean(problem)
    return problem.eta * sum(problem.mean(slope * gradient) for gradient in gradients)


def descent_in_u(problem: BlocksProblem, v: Array) -> Pair:
    """Return both sides of the descent, with Delta_u at the personal models v."""
    gradients, delta_u = problem.run.g[problem.t], problem.in_shared(problem.mean_u, v)
    at_mean = problem.in_u(problem.mean_at_clients, problem.v_next)
    lost = product(problem, [at_mean - gradient for gradient in gradients])
    descent = -problem.eta * problem.K_u * problem.squared(delta_u)
    left = problem.step_term - product(problem, gradients)
    return left, descent + lost + problem.step_term


@LINES.refutes("(8), sign 3", "(22), sign 3")
def gradient_of_the_wrong_round(problem: BlocksProblem) -> Pair:
    """(8) and (22): the descent with Delta_u at V^t, where the step is at V^{t+1}."""
    return descent_in_u(problem, problem.v)


@LINES.corrects("(8), sign 3", "(22), sign 3")
def gradient_of_the_right_round(problem: BlocksProblem) -> Pair:
    """(8) and (22): the descent with Delta_u at V^{t+1}."""
    return descent_in_u(problem, problem.v_next)


@LINES.refutes("(8), a), mean", "(22), a), mean", equality=True)
def one_batch_for_a_round(problem: BlocksProblem) -> Pair:
    """(8) and (22), a): the mean of a gradient at a point that its own batch chose."""
    k = problem.k
    true = problem.in_u(problem.u_steps[k], problem.v_next)
    return problem.mean(problem.run.g[problem.t][k]), problem.mean(true)


@LINES.refutes("(12), sign 1", "(26), sign 1")
def square_of_a_sum(problem: BlocksProblem) -> Pair:
    """(12) and (26): the square of a sum of K_u vectors by the sum of their squares."""
    squares = sum(problem.squared(gradient) for gradient in problem.run.sam[problem.t])
    return problem.step_term, problem.eta**2 * problem.L_u / 2 * squares


@LINES.refutes("(22), sign 2")
def step_without_sam(problem: BlocksProblem) -> Pair:
    """(22): the step of SAM, written with the gradients at the iterates."""
    step = (problem.next_mean_u - problem.mean_u)[:, None]
    left = problem.mean(slope_at_mean(problem) * step)
    right = -product(problem, problem.run.g[problem.t])
    return left + problem.step_term, right + problem.step_term


# -- the descent in v


def coupling(problem: BlocksProblem) -> Array:
    """Return grad_v F_i(ubar^t, v_i^t) - grad_v F_i(u_i^t, v_i^t)."""
    at_mean = problem.in_v(problem.mean_at_clients, problem.v)
    return at_mean - problem.in_v(problem.u, problem.v)


def along_step(problem: BlocksProblem, gradients: Array) -> Number:
    """Return (1/m) sum_i E<a_i, v_i^{t+1} - v_i^t>."""
    return problem.mean(gradients * (problem.v_next - problem.v))


@LINES.refutes("(15), sign 1", "(29), sign 1")
def gradients_at_one_point(problem: BlocksProblem) -> Pair:
    """(15) and (29): K_v gradients at v_i^{t,k}, taken for gradients at v_i^t."""
    gradients = problem.in_v(problem.u, problem.v)
    at_mean = problem.in_v(problem.mean_at_clients, problem.v)
    product = problem.mean((coupling(problem) + gradients) * gradients)
    return along_step(problem, at_mean), -problem.eta_v * problem.K_v * product


@LINES.corrects("(15), sign 1", "(29), sign 1", "(15), sign 2", "(29), sign 2")
def gradients_at_their_own_points(problem: BlocksProblem) -> Pair:
    """(15) and (29): the step in v with the K_v gradients at v_i^{t,k}."""
    at_mean = problem.in_v(problem.mean_at_clients, problem.v)
    points = problem.run.v[problem.t][:-1]
    gradients = sum(problem.in_v(problem.u, v) for v in points)
    product = problem.mean(at_mean * gradients)
    return along_step(problem, at_mean), -problem.eta_v * product


@LINES.refutes("(15), sign 2", "(29), sign 2")
def drift_of_v_lost(problem: BlocksProblem) -> Pair:
    """(15) and (29): the step in v with its drift by the one without."""
    gradients, coupled = problem.in_v(problem.u, problem.v), coupling(problem)
    descent = -problem.eta_v * problem.K_v * problem.squared(gradients)
    left = along_step(problem, coupled + gradients)
    return left, descent + along_step(problem, coupled)


# -- displays against what they cite

HALF_STEP = s.eta_u * s.L_u**2 / 2
GAP = (1 - s.lam) ** 2


@LINES.refutes("(9)")
def factor_of_9() -> Formulas:
    """(9): T_1,u, a sum over K_u steps, by Lemma 5."""
    return s.K_u * HALF_STEP * bound("dfedmdc.lemma_5"), bound("dfedmdc.eq_9")


@LINES.refutes("(23)")
def factor_of_23() -> Formulas:
    """(23): T_1,u, a sum over K_u steps, by Lemma 6."""
    return s.K_u * HALF_STEP * bound("dfedmdc.lemma_6"), bound("dfedmdc.eq_23")


def solved(lemma: str, display: str) -> Expr:
    """Return a display with the gradients at the devices that (10) and a lemma give."""
    gradients = bound("dfedmdc.eq_10").xreplace({s.Xi: bound(lemma)})
    slope = sp.diff(gradients, s.G_u)
    bounded = gradients.xreplace({s.G_u: sp.S.Zero}) / (1 - slope)
    factor = 9 * s.eta_u**3 * s.K_u**2 * s.L_u**2 / GAP
    return bound(display) + factor * (bounded - s.G_u)


@LINES.refutes("(11)")
def absorbed_share_of_11() -> Formulas:
    """(11): (10) with Lemma 5 in (9), without the share that is absorbed."""
    return solved("dfedmdc.lemma_5", "dfedmdc.eq_9"), bound("dfedmdc.eq_11")


@LINES.refutes("(25)")
def absorbed_share_of_25() -> Formulas:
    """(25): (24) with Lemma 6 in (23), without the share that is absorbed."""
    return solved("dfedmdc.lemma_6", "dfedmdc.eq_23"), bound("dfedmdc.eq_25")


@LINES.refutes("(13), second")
def coefficient_of_13(x: Fraction, L_u: Fraction, K_u: int) -> Pair:
    """(13): 4 L_u x^2/K_u <= 2 with x = eta_u K_u L_u, the factor before Lemma 5."""
    return 4 * L_u * x**2 / K_u, 2


@LINES.refutes("(33), second")
def share_of_33() -> Formulas:
    """(33): (27) by the formula that replaces it."""
    return bound("dfedmdc.eq_27"), bound("dfedmdc.eq_33_u")


@LINES.refutes("(35)")
def noise_left_out_of_35() -> Formulas:
    """(35): (34) by an expression that is 0 where sigma_v alone is not 0.

    No constant of O(.) covers that.
    """
    theorem = "dfedmdc.theorem_2"
    return bound(f"{theorem}:appendix"), bound(f"{theorem}:appendix_eq35")
