"""Lines of Li et al. 2023 (DFedSGPSM) that are false, each evaluated at a witness."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dfltheory.bounds import symbols as s
from validation.papers import bound, statement
from validation.papers.dfedsgpsm.finite_problem import PushSumProblem
from validation.papers.finite_problems import Array
from validation.papers.lines import RefutedLines

LINES = RefutedLines("dfedsgpsm", [PushSumProblem])
Pair = tuple[Any, Any]
THEOREM = "dfedsgpsm.theorem_1"


@LINES.refutes("Section 5.2, Dir 0.6, MNIST", "Section 5.3, SAM", equality=True)
def accuracy_difference(first: Fraction, second: Fraction, printed: Fraction) -> Pair:
    """A difference of two accuracies of a table."""
    return first - second, printed


# -- Algorithm 1, Theorem 1, Lemmas 1 and 2


@LINES.refutes("Algorithm 1, line 9, unbiased", equality=True)
def biased_gradient(problem: PushSumProblem) -> Pair:
    """The mean of SAM's gradient, whose point was chosen by its own minibatch."""
    p = problem
    sampled, true = p.run.g[0][p.k], p.gradients_at_perturbed[p.k]
    return p.mean(sampled[:, p.i].sum(-1)), p.mean(true[:, p.i].sum(-1))


@LINES.refutes("Theorem 1")
def theorem_1(eta: Fraction) -> Pair:
    """Two clients go down a slope of -1: every ||grad f(xbar^t)||^2 is 1 while T eta <=
    1000.

    Huber's function with L = B = 1 and its minimum 2900.5 below the start, no noise, K
    = 2, rho = 0, alpha = 9/10, P = 11'/2; C and q by Assran et al., rounded up. A round
    goes 2.9 eta.
    """
    given = {
        "L": 1,
        "B": 1,
        "K": 2,
        "delta": 1,
        "sigma_l": 0,
        "sigma_g": 0,
        "rho": 0,
        "x0_sq": 0,
        "C": 21,
    }
    given |= {"alpha": Fraction(9, 10), "q": Fraction(4, 5), "eta": eta}
    given |= {"T": 1000 / eta, "f0_gap": Fraction(5801, 2)}
    values: dict[str, Any] = {name: float(value) for name, value in given.items()}
    return 1.0, statement(THEOREM).evaluate(**values)


@LINES.refutes("proof of Lemma 1, start", equality=True)
def start_at_zero(problem: PushSumProblem) -> Pair:
    """E||x_{i,0}||^2 against 0."""
    return problem.of_client(problem.x[0]), 0.0


@LINES.refutes("Lemma 2")
def lemma_2(N: int) -> Pair:
    """E||g||^2 of SAM's gradient at f = 0 in R^N, against the variance at the points
    that it visits.

    One step with alpha = 1/10 and eta = 1. Minibatch j, of probability 1/N, leads from
    0 to a point of its own, where its noise is N - 1 and that of every other minibatch
    -1: mean zero and variance N - 1.
    """
    visited = [
        [Fraction(N - 1) if a == j else Fraction(-1) for a in range(N)]
        for j in range(N)
    ]
    second_moment = sum(noise[j] ** 2 for j, noise in enumerate(visited)) / N
    variance = max(sum(value**2 for value in noise) / N for noise in visited)
    return second_moment, 2 * variance / Fraction(81, 100)


# -- Lemma 3


@LINES.refutes("Lemma 3")
def lemma_3(problem: PushSumProblem) -> Pair:
    """The drift of 100 steps in which SAM finds every gradient near L rho: a factor K
    is lost in C_1.
    """
    p = problem
    here = p.sq(p.gradient(p.run.z[0][0]))
    return p.sq(p.x[p.k + 1] - p.x[0]), p.eta**2 * (p.C1 + 64 * p.K**2 * here)


def heavy_ball(problem: PushSumProblem, sign: int, gradients: list[Array]) -> Array:
    """sign eta g_k + alpha (x_k - x_{k-1})."""
    return sign * problem.eta * gradients[problem.k] + problem.alpha * problem.last_step


def grown_distance(problem: PushSumProblem) -> Any:
    """(1 + 1/(2K - 1)) E||x_k - x_0||^2."""
    return (1 + problem.one / (2 * problem.K - 1)) * problem.moved(problem.k)


@LINES.refutes("proof of Lemma 3, recursion, sign 2")
def lost_minus(problem: PushSumProblem) -> Pair:
    """Young's inequality with +eta g on the right, where the step has -eta g."""
    p, gradients = problem, problem.run.g[0]
    left = p.of_client(p.x[p.k] - p.x[0] + heavy_ball(p, -1, gradients))
    return left, grown_distance(p) + 2 * p.K * p.of_client(heavy_ball(p, 1, gradients))


@LINES.corrects("proof of Lemma 3, recursion, sign 2")
def with_its_minus(problem: PushSumProblem) -> Pair:
    """Young's inequality with -eta g on both sides."""
    p, gradients = problem, problem.run.g[0]
    step = heavy_ball(p, -1, gradients)
    left = p.of_client(p.x[p.k] - p.x[0] + step)
    return left, grown_distance(p) + 2 * p.K * p.of_client(step)


@LINES.refutes("proof of Lemma 3, recursion, sign 3")
def noise_split_off(problem: PushSumProblem) -> Pair:
    """The variance split off from a gradient that is not unbiased."""
    p = problem
    left = grown_distance(p) + 2 * p.K * p.of_client(heavy_ball(p, 1, p.run.g[0]))
    mean_step = p.of_client(heavy_ball(p, 1, p.gradients_at_perturbed))
    return left, grown_distance(p) + 2 * p.K * (p.eta**2 * p.sigma_l_sq + mean_step)


@LINES.refutes("proof of Lemma 3, closed, sign 5", under=THEOREM)
def factor_of_sam_in_lemma_3() -> Pair:
    """4K times the terms of the recursion, against the display."""
    K, alpha, eta = s.K, s.alpha, s.eta
    momentum = (
        4 * K * alpha**2 / (1 - alpha) ** 2 * 2 * eta**2 * (s.sigma_l**2 + s.B**2)
    )
    moments = 2 * K * eta**2 * s.sigma_l**2 + 16 * K * eta**2 * (
        s.sigma_g**2 + s.G_x + s.L**2 * s.rho**2
    )
    return 4 * K * (moments + momentum), bound("dfedsgpsm.lemma_3:appendix")


@LINES.refutes("proof of Lemma 3, end", under=THEOREM)
def first_term_of_C1() -> Pair:
    """The last display of the proof against the lemma, whose C_1 has K for K^2."""
    return bound("dfedsgpsm.lemma_3:appendix"), bound("dfedsgpsm.lemma_3")


# -- Lemma 4


@LINES.refutes("Lemma 4")
def lemma_4(problem: PushSumProblem) -> Pair:
    """A client that starts at 0 among others is further away at t = 0 than its own
    start allows.
    """
    p = problem
    C, q = p.C_and_q
    updates = (p.eta * p.alpha_tilde) ** 2 * p.moment / (1 - q) ** 2
    return p.mean(p.distance_from_mean**2), 2 * C**2 * (
        q ** (2 * (p.T - 1)) * p.start_size**2 + updates
    )


def worst_outcome(problem: PushSumProblem, bounds: Any) -> Pair:
    """The distance from the mean and its bound, in the outcome in which the distance
    exceeds it most.
    """
    bounds = bounds + 0 * problem.distance_from_mean
    outcome = int(np.argmax(problem.distance_from_mean - bounds))
    return problem.distance_from_mean[outcome], bounds[outcome]


def decayed_start(problem: PushSumProblem) -> Any:
    """C q^t ||x_i^0|| at the last round."""
    C, q = problem.C_and_q
    return C * q ** (problem.T - 1) * problem.start_size


@LINES.refutes("proof of Lemma 4, (6)")
def own_updates_alone(problem: PushSumProblem) -> Pair:
    """The distance of client i by the start and the updates of client i alone."""
    C, q = problem.C_and_q
    updates = sum(
        q ** (problem.T - 1 - j) * size for j, size in enumerate(problem.update_sizes)
    )
    return worst_outcome(problem, decayed_start(problem) + C * updates)


@LINES.refutes("proof of Lemma 4, updates")
def variance_of_each_sample(problem: PushSumProblem) -> Pair:
    """A bound of the variance, used for every sample."""
    largest = max(float(size.max()) for size in problem.update_sizes)
    return largest, problem.eta * problem.alpha_tilde * np.sqrt(problem.moment)


@LINES.refutes("proof of Lemma 4, closed")
def closed_distance(problem: PushSumProblem) -> Pair:
    """(6) with the bound of the updates."""
    C, q = problem.C_and_q
    updates = C * problem.eta * problem.alpha_tilde * np.sqrt(problem.moment) / (1 - q)
    return worst_outcome(problem, decayed_start(problem) + updates)


# -- the main proof


@LINES.refutes("proof of Lemma 5, expectation, sign 1")
def descent_with_true_gradients(problem: PushSumProblem) -> Pair:
    """The descent with E g = grad f_i at a point that the same minibatch chose."""
    p = problem
    squared = p.L * p.eta**2 / 2 * p.mean((p.weighed(p.run.g[0]) ** 2).sum(axis=-1))
    product = p.mean(
        (p.gradient_at_mean * p.weighed(p.gradients_at_perturbed)).sum(axis=-1)
    )
    right = p.mean(p.value(p.mean_model)) - p.eta * product + squared
    return p.mean(p.value(p.next_mean_model)), right


@LINES.refutes("proof of Lemma 5, bound of R1, sign 2")
def smoothness_of_two_functions(problem: PushSumProblem) -> Pair:
    """grad f_i against grad f(xbar^t), bounded as if both were gradients of one
    function.
    """
    p = problem
    differences = [
        gradient - p.gradient_at_mean[:, None] for gradient in p.gradients_at_perturbed
    ]
    distances = [y - p.mean_model[:, None] for y in p.run.sam[0]]
    return p.spread(differences), p.L**2 * p.spread(distances)


@LINES.refutes("proof of Lemma 5, bound of R1, sign 4")
def delta_for_its_square(problem: PushSumProblem) -> Pair:
    """||z - z_i||^2 = ||x - x_i||^2/w_i^2, bounded with 1/delta for 1/delta^2."""
    p = problem
    z, scale = p.run.z[0], 3 * p.L**2
    rest = p.sq(z[0] - p.mean_model[:, None]) + p.rho**2
    left = p.spread([point - z[0] for point in z])
    right = p.spread([x - p.x[0] for x in p.x[:-1]]) / p.delta
    return scale * (left + rest), scale * (right + rest)


def alpha_tilde(K: int, alpha: Fraction) -> Fraction:
    """sum_{k<=K} sum_{s<=k} alpha^(k-s)."""
    return (K - alpha * (1 - alpha**K) / (1 - alpha)) / (1 - alpha)


@LINES.refutes("proof of Lemma 5, step size")
def step_size_of_the_descent(x: Fraction, alpha: Fraction, K: int) -> Pair:
    """L eta alpha-tilde for eta = x/(K L), against 1."""
    return x * alpha_tilde(K, alpha) / K, 1


@LINES.refutes("proof of Theorem 1, Finally")
def reciprocal_of_alpha_tilde(alpha: Fraction, K: int) -> Pair:
    """1/alpha-tilde against (1 - alpha)/K: alpha-tilde <= K/(1 - alpha) bounds it from
    below.
    """
    return 1 / alpha_tilde(K, alpha), (1 - alpha) / K


__all__ = ["LINES"]
