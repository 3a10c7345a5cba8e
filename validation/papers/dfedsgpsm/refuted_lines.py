"""Lines of Li et al. 2023 (DFedSGPSM) that are false, each evaluated at a witness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from validation.papers import bound, statement
from validation.papers.dfedsgpsm.finite_problem import PushSumProblem
from validation.papers.finite_problems import Array, Number
from validation.papers.lines import Formulas, Pair, RefutedLines

LINES = RefutedLines("dfedsgpsm", [PushSumProblem])
THEOREM = "dfedsgpsm.theorem_1"


@LINES.refutes("Section 5.2, Dir 0.6, MNIST", "Section 5.3, SAM", equality=True)
def accuracy_difference(first: Fraction, second: Fraction, printed: Fraction) -> Pair:
    """Sections 5.2 and 5.3: a difference of two accuracies of a table."""
    return first - second, printed


# -- Algorithm 1, Theorem 1, Lemmas 1 and 2


@LINES.refutes("Algorithm 1, line 9, unbiased", equality=True)
def biased_gradient(problem: PushSumProblem) -> Pair:
    """Algorithm 1, line 9: SAM's gradient is unbiased.

    It is biased: its point was chosen by its own minibatch.
    """
    i, k = problem.i, problem.k
    sampled, true = problem.run.g[0][k], problem.gradients_at_perturbed[k]
    return problem.mean(sampled[:, i].sum(-1)), problem.mean(true[:, i].sum(-1))


@LINES.refutes("Theorem 1")
def theorem_1(eta: Fraction) -> Pair:
    """Theorem 1: the mean squared gradient of T rounds, which is 1 here.

    Two clients go down a slope of -1 while T eta <= 1000. Huber's function with
    L = B = 1 and its minimum 2900.5 below the start, no noise, K = 2, rho = 0,
    alpha = 9/10, P = 11'/2; C and q by Assran et al., rounded up. A round goes 2.9 eta.
    """
    right = statement(THEOREM).evaluate(
        L=1.0,
        B=1.0,
        K=2.0,
        T=float(1000 / eta),
        eta=float(eta),
        alpha=0.9,
        rho=0.0,
        delta=1.0,
        C=21.0,
        q=0.8,
        sigma_l=0.0,
        sigma_g=0.0,
        x0_sq=0.0,
        f0_gap=2900.5,
    )
    return 1.0, float(right)


@LINES.refutes("proof of Lemma 1, start", equality=True)
def start_at_zero(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 1: E||x_{i,0}||^2 is 0."""
    return problem.of_client(problem.x[0]), 0.0


@LINES.refutes("Lemma 2")
def lemma_2(N: int) -> Pair:
    """Lemma 2: E||g||^2 of SAM's gradient by the variance at the points that it visits.

    Here f = 0 in R^N. One step with alpha = 1/10 and eta = 1. Minibatch j, of
    probability 1/N, leads from 0 to a point of its own, where its noise is N - 1 and
    that of every other minibatch -1: mean zero and variance N - 1.
    """
    of_own_minibatch, of_others = Fraction(N - 1), Fraction(-1)
    second_moment = N * of_own_minibatch**2 / N
    variance = (of_own_minibatch**2 + (N - 1) * of_others**2) / N
    return second_moment, 2 * variance / Fraction(81, 100)


# -- Lemma 3


@LINES.refutes("Lemma 3")
def lemma_3(problem: PushSumProblem) -> Pair:
    """Lemma 3: the drift by C_1, which has lost a factor K.

    In 100 steps SAM finds every gradient near L rho.
    """
    here = problem.sq(problem.gradient(problem.run.z[0][0]))
    drift = problem.sq(problem.x[problem.k + 1] - problem.x[0])
    return drift, problem.eta**2 * (problem.C1 + 64 * problem.K**2 * here)


def heavy_ball(problem: PushSumProblem, sign: int, gradients: list[Array]) -> Array:
    """Return sign eta g_k + alpha (x_k - x_{k-1})."""
    return sign * problem.eta * gradients[problem.k] + problem.alpha * problem.last_step


def young_of_recursion(problem: PushSumProblem, sign: int) -> Pair:
    """Return both sides of Young's inequality, with this sign of the gradient."""
    gradients = problem.run.g[0]
    step = heavy_ball(problem, -1, gradients)
    left = problem.of_client(problem.x[problem.k] - problem.x[0] + step)
    moved = problem.of_client(heavy_ball(problem, sign, gradients))
    return left, grown_distance(problem) + 2 * problem.K * moved


def grown_distance(problem: PushSumProblem) -> Number:
    """Return (1 + 1/(2K - 1)) E||x_k - x_0||^2."""
    return (1 + problem.one / (2 * problem.K - 1)) * problem.moved(problem.k)


@LINES.refutes("proof of Lemma 3, recursion, sign 2")
def lost_minus(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 3, recursion: Young's inequality with +eta g on the right.

    The step has -eta g.
    """
    return young_of_recursion(problem, sign=1)


@LINES.corrects("proof of Lemma 3, recursion, sign 2")
def with_its_minus(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 3, recursion: Young's inequality with -eta g on both sides."""
    return young_of_recursion(problem, sign=-1)


@LINES.refutes("proof of Lemma 3, recursion, sign 3")
def noise_split_off(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 3, recursion: the variance of a gradient that is not unbiased."""
    distance, factor = grown_distance(problem), 2 * problem.K
    step = problem.of_client(heavy_ball(problem, 1, problem.run.g[0]))
    true_gradients = problem.gradients_at_perturbed
    mean_step = problem.of_client(heavy_ball(problem, 1, true_gradients))
    noise = problem.eta**2 * problem.sigma_l_sq
    return distance + factor * step, distance + factor * (noise + mean_step)


@LINES.refutes("proof of Lemma 3, closed, sign 5", under=THEOREM)
def factor_of_sam_in_lemma_3() -> Formulas:
    """Proof of Lemma 3, closed: 4K times the terms of the recursion."""
    K, alpha, eta = s.K, s.alpha, s.eta
    noise = s.sigma_l**2
    momentum = 8 * K * alpha**2 / (1 - alpha) ** 2 * eta**2 * (noise + s.B**2)
    gradients = 16 * K * eta**2 * (s.sigma_g**2 + s.G_x + s.L**2 * s.rho**2)
    recursion: Expr = 2 * K * eta**2 * noise + gradients + momentum
    return 4 * K * recursion, bound("dfedsgpsm.lemma_3:appendix")


@LINES.refutes("proof of Lemma 3, end", under=THEOREM)
def first_term_of_C1() -> Formulas:
    """Proof of Lemma 3, end: the last display by the lemma, whose C_1 has K for K^2."""
    return bound("dfedsgpsm.lemma_3:appendix"), bound("dfedsgpsm.lemma_3")


# -- Lemma 4


@LINES.refutes("Lemma 4")
def lemma_4(problem: PushSumProblem) -> Pair:
    """Lemma 4: the distance from the mean by the client's own start and updates.

    A client that starts at 0 among others is further away at t = 0.
    """
    C, q = problem.C_and_q
    step = problem.eta * problem.alpha_tilde
    updates = step**2 * problem.moment / (1 - q) ** 2
    start = q ** (2 * (problem.T - 1)) * problem.start_size**2
    distance = problem.mean(problem.distance_from_mean**2)
    return distance, 2 * C**2 * (start + updates)


def worst_outcome(problem: PushSumProblem, bounds: Number | Array) -> Pair:
    """Return the distance from the mean and its bound in the outcome of most excess."""
    bounds = bounds + 0 * problem.distance_from_mean
    outcome = int(np.argmax(problem.distance_from_mean - bounds))
    return problem.distance_from_mean[outcome], bounds[outcome]


def decayed_start(problem: PushSumProblem) -> Number:
    """Return C q^t ||x_i^0|| at the last round."""
    C, q = problem.C_and_q
    return C * q ** (problem.T - 1) * problem.start_size


@LINES.refutes("proof of Lemma 4, (6)")
def own_updates_alone(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 4, (6): the distance by start and updates of client i alone."""
    C, q = problem.C_and_q
    updates = sum(
        q ** (problem.T - 1 - j) * size for j, size in enumerate(problem.update_sizes)
    )
    return worst_outcome(problem, decayed_start(problem) + C * updates)


@LINES.refutes("proof of Lemma 4, updates")
def variance_of_each_sample(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 4: a bound of the mean square, used for every sample."""
    largest = max(float(size.max()) for size in problem.update_sizes)
    return largest, problem.eta * problem.alpha_tilde * np.sqrt(problem.moment)


@LINES.refutes("proof of Lemma 4, closed")
def closed_distance(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 4, closed: (6) with the bound of the updates."""
    C, q = problem.C_and_q
    updates = C * problem.eta * problem.alpha_tilde * np.sqrt(problem.moment) / (1 - q)
    return worst_outcome(problem, decayed_start(problem) + updates)


# -- the main proof


@LINES.refutes("proof of Lemma 5, expectation, sign 1")
def descent_with_true_gradients(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 5: E g = grad f_i at a point that the same minibatch chose."""
    eta, before = problem.eta, problem.mean(problem.value(problem.mean_model))
    steps = problem.weighed(problem.run.g[0])
    true_steps = problem.weighed(problem.gradients_at_perturbed)
    squared = problem.mean((steps**2).sum(axis=-1))
    product = problem.mean((problem.gradient_at_mean * true_steps).sum(axis=-1))
    right = before - eta * product + problem.L * eta**2 / 2 * squared
    return problem.mean(problem.value(problem.next_mean_model)), right


@LINES.refutes("proof of Lemma 5, bound of R1, sign 2")
def smoothness_of_two_functions(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 5, R1: grad f_i and grad f, as gradients of one function."""
    mean, slope = problem.mean_model[:, None], problem.gradient_at_mean[:, None]
    differences = [gradient - slope for gradient in problem.gradients_at_perturbed]
    distances = [point - mean for point in problem.run.sam[0]]
    return problem.spread(differences), problem.L**2 * problem.spread(distances)


@LINES.refutes("proof of Lemma 5, bound of R1, sign 4")
def delta_for_its_square(problem: PushSumProblem) -> Pair:
    """Proof of Lemma 5, R1: ||z - z_i||^2 = ||x - x_i||^2/w_i^2, with 1/delta.

    It takes 1/delta^2.
    """
    z, x, scale = problem.run.z[0], problem.x, 3 * problem.L**2
    rest = problem.sq(z[0] - problem.mean_model[:, None]) + problem.rho**2
    left = problem.spread([point - z[0] for point in z])
    right = problem.spread([point - x[0] for point in x[:-1]]) / problem.delta
    return scale * (left + rest), scale * (right + rest)


def alpha_tilde(K: int, alpha: Fraction) -> Fraction:
    """Return sum_{k<=K} sum_{s<=k} alpha^(k-s)."""
    return (K - alpha * (1 - alpha**K) / (1 - alpha)) / (1 - alpha)


@LINES.refutes("proof of Lemma 5, step size")
def step_size_of_the_descent(x: Fraction, alpha: Fraction, K: int) -> Pair:
    """Proof of Lemma 5: L eta alpha-tilde <= 1 for eta = x/(K L)."""
    return x * alpha_tilde(K, alpha) / K, 1


@LINES.refutes("proof of Theorem 1, Finally")
def reciprocal_of_alpha_tilde(alpha: Fraction, K: int) -> Pair:
    """Proof of Theorem 1: 1/alpha-tilde by (1 - alpha)/K, which is a lower bound."""
    return 1 / alpha_tilde(K, alpha), (1 - alpha) / K
