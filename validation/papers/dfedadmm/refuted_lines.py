"""Lines of Li et al. 2023 (DFedADMM) that are false, each evaluated at a witness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from validation.papers import bound
from validation.papers.dfedadmm.finite_problem import (
    blend,
    blended_squares,
    gamma,
    moment,
    shifted_mean,
)
from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    Recording,
    average_clients,
)
from validation.papers.lines import (
    Arrays,
    Formulas,
    Pair,
    RefutedLines,
    in_all_rounds,
    in_worst_round,
)

LINES = RefutedLines("dfedadmm")
THEOREM = "dfedadmm.theorem_1"


# -- numbers of the text and the tables


@LINES.refutes("5.2, IID minus Dir 0.3, DFedSAM", equality=True)
def accuracy_difference(iid: Fraction, dirichlet: Fraction, printed: Fraction) -> Pair:
    """Section 5.2: the difference of two accuracies of Table 1."""
    return iid - dirichlet, printed


@LINES.refutes("5.2, the highest accuracy, MNIST, IID")
def highest_accuracy(best: Fraction, own: Fraction) -> Pair:
    """Section 5.2: DFedADMM-SAM has the best accuracy of Table 1."""
    return best, own


# -- Algorithm 1 and Lemmas 4 and 5


@LINES.refutes("Algorithm 1, line 12")
def biased_gradient(problem: FiniteProblem) -> Pair:
    """Algorithm 1, line 12: SAM's gradient is unbiased.

    It is biased: its point was chosen by its own minibatch.
    """
    run, chances = problem.admm_sam, problem.probabilities[:, None, None]
    largest = 0 * problem.one
    for t in range(problem.T):
        for true, sampled in zip(at_perturbed(problem, run, t), run.sam[t]):
            bias = (chances * (sampled - true)).sum(axis=0)
            largest = max(largest, (bias**2).sum(axis=-1).max())
    return largest, 0


@LINES.refutes("Lemma 4")
@in_worst_round("admm")
def mean_dual(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Lemma 4: the mean of the duals has mean square at most sigma_l^2 + B^2.

    For eta_l > lambda the weights gamma_k have both signs.
    """
    return problem.sq(average_clients(run.dual[t + 1])), moment(problem)


@LINES.refutes("proof of Lemma 4, second")
@in_worst_round("admm")
def mean_of_blends(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proof of Lemma 4, second: sum_k (gamma_k/gamma) g_k, averaged, by the moment."""
    mean = average_clients(blend(problem, run.sam[t])) / gamma(problem)
    return problem.sq(mean), moment(problem)


def with_old_dual(problem: FiniteProblem, dual: Array, added: Number) -> Number:
    """Return (1 - gamma) E||dual||^2 + added."""
    return (1 - gamma(problem)) * problem.sq(dual) + added


def kept_mean(problem: FiniteProblem, run: Recording, t: int) -> Number:
    """Return (1 - gamma) E||mean dual||^2 + gamma (sigma_l^2 + B^2)."""
    added = gamma(problem) * moment(problem)
    return with_old_dual(problem, average_clients(run.dual[t]), added)


@LINES.refutes("proof of Lemma 4, recursion, first")
@in_worst_round("admm")
def mean_recursion(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proof of Lemma 4, recursion: the mean dual of round t + 1 by that of round t."""
    return problem.sq(average_clients(run.dual[t + 1])), kept_mean(problem, run, t)


@LINES.refutes("proof of Lemma 4, recursion, second")
@in_worst_round("admm")
def mean_recursion_closed(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proof of Lemma 4, recursion: a convex combination, which needs gamma <= 1."""
    return kept_mean(problem, run, t), moment(problem)


@LINES.refutes("proof of Lemma 4, fact", "C.1, gamma, first", "C.1, gamma, second")
def gamma_below_one(k: int, x: Fraction) -> Pair:
    """Proof of Lemma 4 and C.1: 1 - (1 - x)^k < 1 for x = eta_l/lambda."""
    return 1 - (1 - x) ** k, 1


@LINES.refutes("C.1, gamma, third")
def power_by_exponential(k: int, x: Fraction) -> Pair:
    """C.1, gamma, third: (1 - x)^k <= e^(-k x)."""
    return float((1 - x) ** k), float(np.exp(-k * float(x)))


@LINES.refutes("Lemma 5")
@in_worst_round("admm")
def dual_of_each_client(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Lemma 5: the duals of the clients have mean square at most sigma_l^2 + B^2."""
    return problem.sq(run.dual[t + 1]), moment(problem)


@LINES.refutes("proof of Lemma 5, (a)")
def jensen_of_two(A: Array, w: Array) -> Pair:
    """Proof of Lemma 5, (a): Jensen's inequality with weights 1 - gamma and gamma."""
    c = w.sum()
    left = (((1 - c) * A[0] + c * A[-1]) ** 2).sum()
    return left, (1 - c) * (A[0] ** 2).sum() + c * (A[-1] ** 2).sum()


@LINES.refutes("proof of Lemma 5, (b)")
def jensen_of_gradients(A: Array, w: Array) -> Pair:
    """Proof of Lemma 5, (b): Jensen's inequality with the weights gamma_k/gamma."""
    left = ((w @ A / w.sum()) ** 2).sum()
    return left, w @ (A**2).sum(axis=1) / w.sum()


def kept_of_clients(problem: FiniteProblem, run: Recording, t: int) -> Number:
    """Return (1 - gamma) mean E||dual||^2 + gamma (sigma_l^2 + B^2)."""
    return with_old_dual(problem, run.dual[t], gamma(problem) * moment(problem))


def blended_of_clients(problem: FiniteProblem, run: Recording, t: int) -> Number:
    """Return (1 - gamma) mean E||dual||^2 + sum_k gamma_k mean E||g_k||^2."""
    return with_old_dual(problem, run.dual[t], blended_squares(problem, run.sam[t]))


@LINES.refutes("proof of Lemma 5, recursion, first")
@in_worst_round("admm")
def client_recursion(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proof of Lemma 5, recursion: the duals of round t + 1 by those of round t."""
    return problem.sq(run.dual[t + 1]), blended_of_clients(problem, run, t)


@LINES.refutes("proof of Lemma 5, recursion, second")
@in_worst_round("admm")
def client_recursion_bounded(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proof of Lemma 5, recursion: gradients, with weights of both signs, by B."""
    return blended_of_clients(problem, run, t), kept_of_clients(problem, run, t)


@LINES.refutes("proof of Lemma 5, recursion, third")
@in_worst_round("admm")
def client_recursion_closed(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proof of Lemma 5, recursion: a convex combination, which needs gamma <= 1."""
    return kept_of_clients(problem, run, t), moment(problem)


# -- Lemmas 6 to 10


@LINES.refutes("proof of Lemma 6, coefficient")
def first_coefficient(k: int, x: Fraction) -> Pair:
    """Proof of Lemma 6: (1 + a)(1 - x)^2 + (1 + 1/a)/(6 k^2) <= 1 + 1/(k-1).

    Here a = 2k - 1 and x = eta_l/lambda.
    """
    a = 2 * k - 1
    left = (1 + a) * (1 - x) ** 2 + (1 + Fraction(1, a)) / (6 * k**2)
    return left, 1 + Fraction(1, k - 1)


@LINES.refutes("proof of Lemma 6, fact")
def power_without_value(k: int) -> Pair:
    """Proof of Lemma 6: (1 + 1/(k - 1))^k < 5 for k >= 1; it has no value at 1."""
    return np.inf if k == 1 else (1 + 1 / (k - 1)) ** k, 5


def steps_of_mean(
    problem: FiniteProblem, run: Recording, t: int, dual: Array
) -> Arrays:
    """Return a step of the mean model, and its formula with a dual of some round."""
    update = gamma(problem) * dual - blend(problem, run.sam[t]) - run.dual[t]
    step = average_clients(run.x[t + 1] - run.x[t])
    return step, problem.penalty * average_clients(update)


@LINES.refutes("proof of Lemma 9, fourth", equality=True)
@in_all_rounds("admm_sam")
def dual_of_wrong_round(problem: FiniteProblem, run: Recording, t: int) -> Arrays:
    """Proof of Lemma 9, fourth: the step of the mean model with the dual of round t."""
    return steps_of_mean(problem, run, t, run.dual[t + 1])


@LINES.corrects("proof of Lemma 9, fourth", equality=True)
@in_all_rounds("admm_sam")
def dual_of_right_round(problem: FiniteProblem, run: Recording, t: int) -> Arrays:
    """Proof of Lemma 9, fourth: that step with the dual of round t - 1."""
    return steps_of_mean(problem, run, t, run.dual[t])


def distances_from_w(
    problem: FiniteProblem, run: Recording, t: int, sign: int
) -> Arrays:
    """Return xbar^t - w^t, and its formula with this sign before the duals."""
    c, penalty = gamma(problem), problem.penalty
    newest = -penalty * average_clients(blend(problem, run.sam[t - 1])) / c
    older = penalty * (c - 1) ** 2 / c * average_clients(run.dual[t - 1])
    distance = average_clients(run.x[t]) - shifted_mean(problem, run, t)
    return distance, (c - 1) * newest + sign * older


@LINES.refutes("proof of Lemma 10, sixth", equality=True)
@in_all_rounds("admm_sam", first=1)
def sign_of_second_term(problem: FiniteProblem, run: Recording, t: int) -> Arrays:
    """Proof of Lemma 10, sixth: xbar^t - w^t with a minus before the duals."""
    return distances_from_w(problem, run, t, sign=-1)


@LINES.corrects("proof of Lemma 10, sixth", equality=True)
@in_all_rounds("admm_sam", first=1)
def right_sign_of_second_term(problem: FiniteProblem, run: Recording, t: int) -> Arrays:
    """Proof of Lemma 10, sixth: xbar^t - w^t with a plus before the duals."""
    return distances_from_w(problem, run, t, sign=1)


def distance_bound(problem: FiniteProblem) -> Number:
    """Return 2 lambda^2 (gamma - 1)^2 (1 + (gamma - 1)^2/gamma^2) (sigma_l^2 + B^2)."""
    c, penalty = gamma(problem), problem.penalty
    factor = 1 + (c - 1) ** 2 / c**2
    return 2 * penalty**2 * (c - 1) ** 2 * factor * moment(problem)


@LINES.refutes("Lemma 10", "proof of Lemma 10, (a)")
@in_worst_round("admm")
def distance_from_mean(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Lemma 10: the distance between w^t and the mean model."""
    distance = shifted_mean(problem, run, t) - average_clients(run.x[t])
    return problem.sq(distance), distance_bound(problem)


# -- the main proof, C.1


def step_of_w(problem: FiniteProblem, run: Recording, t: int) -> Array:
    """Return w^{t+1} - w^t."""
    return shifted_mean(problem, run, t + 1) - shifted_mean(problem, run, t)


@LINES.refutes("C.1, R1")
@in_worst_round("admm")
def squared_step(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """C.1, R1: the step of w has mean square at most lambda^2 (sigma_l^2 + B^2)."""
    left = problem.sq(step_of_w(problem, run, t))
    return left, problem.penalty**2 * moment(problem)


@LINES.refutes("C.1, (22)")
@in_worst_round("admm")
def squared_step_of_22(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """C.1, (22): R1 times L/2."""
    half = problem.L / 2
    right = half * problem.penalty**2 * moment(problem)
    return half * problem.sq(step_of_w(problem, run, t)), right


def at_perturbed(problem: FiniteProblem, run: Recording, t: int) -> list[Array]:
    """Return grad f_i at the points where the run takes gradients."""
    scale = 1 if run is problem.admm_sam else 0
    pairs = zip(run.y[t], run.delta[t])
    return [problem.gradients(y + scale * delta) for y, delta in pairs]


@LINES.refutes("C.1, R2, (20)", equality=True)
@in_all_rounds("admm_sam")
def inner_product_with_sam(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """C.1, (20): R2 with E g = grad f_i at a point that the same minibatch chose."""
    slope = problem.gradient(shifted_mean(problem, run, t))
    gradients = at_perturbed(problem, run, t)
    mean = average_clients(blend(problem, gradients)) / gamma(problem)
    left = problem.inner(slope, step_of_w(problem, run, t))
    return left, problem.penalty * problem.inner(slope, -mean)


def from_w(problem: FiniteProblem, run: Recording, t: int) -> list[Array]:
    """Return grad f_i at the points where gradients are taken, minus grad f_i(w^t)."""
    at_w = problem.at(shifted_mean(problem, run, t))
    return [gradient - at_w for gradient in at_perturbed(problem, run, t)]


@LINES.refutes("C.1, R2.1, Jensen")
@in_worst_round("admm")
def jensen_of_differences(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """C.1, R2.1: Jensen's inequality of differences, with weights of both signs."""
    differences, c = from_w(problem, run, t), gamma(problem)
    left = problem.sq(average_clients(blend(problem, differences) / c))
    right = blended_squares(problem, differences) / c
    return problem.penalty / 2 * left, problem.penalty / 2 * right


def weighted_drift(problem: FiniteProblem, points: list[Array]) -> Number:
    """Return lambda L^2 sum_k (gamma_k/gamma) mean E||point_k||^2."""
    scale = problem.penalty * problem.L**2 / gamma(problem)
    return scale * blended_squares(problem, points)


def sam_term(problem: FiniteProblem) -> Number:
    """Return 6 rho^2 lambda L^2 (sigma_l^2 + B^2)."""
    return 6 * problem.rho**2 * problem.penalty * problem.L**2 * moment(problem)


@LINES.refutes("C.1, R2.1, SAM")
@in_worst_round("admm_sam")
def perturbation_by_moment(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """C.1, R2.1: the square of a perturbation, rho^2, by rho^2 (sigma_l^2 + B^2)."""
    drifts = [y - run.x[t] for y in run.y[t][:-1]]
    perturbed = [drift + delta for drift, delta in zip(drifts, run.delta[t])]
    right = 6 * weighted_drift(problem, drifts) + sam_term(problem)
    return 3 * weighted_drift(problem, perturbed), right


@LINES.refutes("C.1, R2.1")
@in_worst_round("admm_sam")
def bound_of_R21(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """C.1, R2.1: its bound by Lemmas 6, 8 and 10, with X^0 = 0."""
    penalty, noise = problem.penalty, problem.sigma_l_sq
    scale, local = penalty * problem.L**2, problem.eta**2 * problem.K**2
    slope = problem.gradient(shifted_mean(problem, run, t))
    mean = average_clients(blend(problem, from_w(problem, run, t)) / gamma(problem))
    heterogeneity = 3 * problem.sigma_g_sq
    C2 = 16 * local * (heterogeneity + 2 * noise + 4 * problem.B_sq)
    C2 += penalty**2 * moment(problem)
    here = problem.sq(problem.gradient(run.x[t]))
    C0 = heterogeneity + noise + 3 * here + moment(problem)
    right = penalty / 2 * problem.sq(slope) + 96 * scale * local * C0
    right += 6 * scale * C2 / (1 - problem.lam) ** 2
    right += 3 * scale * distance_bound(problem) + sam_term(problem)
    return -penalty * problem.inner(slope, mean), right


@LINES.refutes("C.1, therefore, (a)", "C.1, rearranged", under=THEOREM)
def gamma_in_the_descent() -> Formulas:
    """C.1, (a): the first descent by the second, which uses gamma > 1 - 1/e."""
    return bound("dfedadmm.eq_descent"), bound("dfedadmm.eq_descent_last")


@LINES.refutes("C.1, telescoped", under=THEOREM)
def telescoped_descent() -> Formulas:
    """C.1, telescoped: the second descent summed, a factor lambda too many."""
    descent = bound("dfedadmm.eq_descent_last")
    rest = s.f0_gap / s.T + descent.xreplace({s.G_w: sp.S.Zero})
    left = rest / -sp.diff(descent, s.G_w)
    return left, bound("dfedadmm.theorem_1:appendix")


@LINES.refutes("C.1, kappa, summary", equality=True, under=THEOREM)
def kappa_with_K() -> Formulas:
    """C.1, summary: kappa with K, where Theorem 1 has K^2."""
    kappa = "dfedadmm.definition_kappa"
    return bound(kappa), bound(f"{kappa}:appendix")
