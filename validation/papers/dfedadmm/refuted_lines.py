"""Lines of Li et al. 2023 (DFedADMM) that are false, each evaluated at a witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from validation.papers import bound
from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Recording,
    average_clients,
)
from validation.papers.lines import RefutedLines

LINES = RefutedLines("dfedadmm")
Pair = tuple[Any, Any]
THEOREM = "dfedadmm.theorem_1"


def worst(pairs: Iterator[Pair]) -> Pair:
    """The pair whose left side exceeds its right side most."""
    return max(pairs, key=lambda pair: pair[0] - pair[1])


def worst_round(
    problem: FiniteProblem,
    run: Recording,
    sides: Callable[[FiniteProblem, Recording, int], Pair],
) -> Pair:
    """Both sides in the round in which the left exceeds the right most."""
    return worst(sides(problem, run, t) for t in range(problem.T))


# -- the paper's quantities


def ratio(problem: FiniteProblem) -> Any:
    """eta_l/lambda."""
    return problem.eta / problem.penalty


def gamma(problem: FiniteProblem) -> Any:
    """gamma = 1 - (1 - eta_l/lambda)^K."""
    return 1 - (1 - ratio(problem)) ** problem.K


def blend(problem: FiniteProblem, parts: Sequence[Any]) -> Any:
    """sum_k gamma_k of the parts, gamma_k = (eta_l/lambda) (1 -
    eta_l/lambda)^(K-1-k).
    """
    r, K = ratio(problem), problem.K
    return sum(r * (1 - r) ** (K - 1 - k) * part for k, part in enumerate(parts))


def moment(problem: FiniteProblem) -> Any:
    """sigma_l^2 + B^2."""
    return problem.sigma_l_sq + problem.B_sq


def shifted_mean(problem: FiniteProblem, run: Recording, t: int) -> Array:
    """w^t = xbar^t + (1 - gamma)/gamma (xbar^t - xbar^{t-1}), with xbar^{-1} =
    xbar^0.
    """
    c, now, before = (
        gamma(problem),
        average_clients(run.x[t]),
        average_clients(run.x[max(t - 1, 0)]),
    )
    return now + (1 - c) / c * (now - before)


# -- numbers of the text and the tables


@LINES.refutes("5.2, IID minus Dir 0.3, DFedSAM", equality=True)
def accuracy_difference(iid: Fraction, dirichlet: Fraction, printed: Fraction) -> Pair:
    """A difference of two accuracies of Table 1."""
    return iid - dirichlet, printed


@LINES.refutes("5.2, the highest accuracy, MNIST, IID")
def highest_accuracy(best: Fraction, own: Fraction) -> Pair:
    """The best accuracy of Table 1 against that of DFedADMM-SAM."""
    return best, own


# -- Algorithm 1 and Lemmas 4 and 5


@LINES.refutes("Algorithm 1, line 12")
def biased_gradient(problem: FiniteProblem) -> Pair:
    """The bias of SAM's gradient, whose point was chosen by its own minibatch; unbiased
    means 0.
    """
    run, chances = problem.admm_sam, problem.probabilities[:, None, None]
    largest = 0 * problem.one
    for t in range(problem.T):
        for k in range(problem.K):
            true = problem.gradients(run.y[t][k] + run.delta[t][k])
            bias = (chances * (run.sam[t][k] - true)).sum(axis=0)
            largest = max(largest, (bias**2).sum(axis=-1).max())
    return largest, 0


@LINES.refutes("Lemma 4")
def mean_dual(problem: FiniteProblem) -> Pair:
    """The mean of the duals in mean square: for eta_l > lambda the weights gamma_k have
    both signs.
    """

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(average_clients(run.dual[t + 1])), moment(p)

    return worst_round(problem, problem.admm, sides)


@LINES.refutes("proof of Lemma 4, second")
def mean_of_blends(problem: FiniteProblem) -> Pair:
    """The mean over the clients of sum_k (gamma_k/gamma) g_k, in mean square."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(average_clients(blend(p, run.sam[t]))) / gamma(p) ** 2, moment(p)

    return worst_round(problem, problem.admm, sides)


def kept_mean(problem: FiniteProblem, run: Recording, t: int) -> Any:
    """(1 - gamma) E||mean dual||^2 + gamma (sigma_l^2 + B^2)."""
    c = gamma(problem)
    return (1 - c) * problem.sq(average_clients(run.dual[t])) + c * moment(problem)


@LINES.refutes("proof of Lemma 4, recursion, first")
def mean_recursion(problem: FiniteProblem) -> Pair:
    """The mean dual of the next round, by that of this round."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(average_clients(run.dual[t + 1])), kept_mean(p, run, t)

    return worst_round(problem, problem.admm, sides)


@LINES.refutes("proof of Lemma 4, recursion, second")
def mean_recursion_closed(problem: FiniteProblem) -> Pair:
    """A convex combination that is none where gamma exceeds 1."""
    return worst_round(
        problem, problem.admm, lambda p, run, t: (kept_mean(p, run, t), moment(p))
    )


@LINES.refutes("proof of Lemma 4, fact", "C.1, gamma, first", "C.1, gamma, second")
def gamma_below_one(k: int, x: Fraction) -> Pair:
    """gamma = 1 - (1 - x)^k < 1 for x = eta_l/lambda."""
    return 1 - (1 - x) ** k, 1


@LINES.refutes("C.1, gamma, third")
def power_by_exponential(k: int, x: Fraction) -> Pair:
    """(1 - x)^k <= e^(-k x)."""
    return float((1 - x) ** k), float(np.exp(-k * float(x)))


@LINES.refutes("Lemma 5")
def dual_of_each_client(problem: FiniteProblem) -> Pair:
    """The duals of the clients in mean square."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(run.dual[t + 1]), moment(p)

    return worst_round(problem, problem.admm, sides)


@LINES.refutes("proof of Lemma 5, (a)")
def jensen_of_two(A: Array, w: Array) -> Pair:
    """Jensen's inequality of two vectors with the weights 1 - gamma and gamma."""
    c = w.sum()
    left = (((1 - c) * A[0] + c * A[-1]) ** 2).sum()
    return left, (1 - c) * (A[0] ** 2).sum() + c * (A[-1] ** 2).sum()


@LINES.refutes("proof of Lemma 5, (b)")
def jensen_of_gradients(A: Array, w: Array) -> Pair:
    """Jensen's inequality of gradients with the weights gamma_k/gamma."""
    left = ((w @ A / w.sum()) ** 2).sum()
    return left, w @ (A**2).sum(axis=1) / w.sum()


def kept_of_clients(problem: FiniteProblem, run: Recording, t: int) -> Any:
    """(1 - gamma) mean E||dual||^2 + gamma (sigma_l^2 + B^2)."""
    c = gamma(problem)
    return (1 - c) * problem.sq(run.dual[t]) + c * moment(problem)


def blended_of_clients(problem: FiniteProblem, run: Recording, t: int) -> Any:
    """(1 - gamma) mean E||dual||^2 + sum_k gamma_k mean E||g_k||^2."""
    squares = [problem.sq(gradient) for gradient in run.sam[t]]
    return (1 - gamma(problem)) * problem.sq(run.dual[t]) + blend(problem, squares)


@LINES.refutes("proof of Lemma 5, recursion, first")
def client_recursion(problem: FiniteProblem) -> Pair:
    """The duals of the next round, by those of this round and the gradients."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(run.dual[t + 1]), blended_of_clients(p, run, t)

    return worst_round(problem, problem.admm, sides)


@LINES.refutes("proof of Lemma 5, recursion, second")
def client_recursion_bounded(problem: FiniteProblem) -> Pair:
    """Gradients with weights of both signs, bounded by their second moment."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return blended_of_clients(p, run, t), kept_of_clients(p, run, t)

    return worst_round(problem, problem.admm, sides)


@LINES.refutes("proof of Lemma 5, recursion, third")
def client_recursion_closed(problem: FiniteProblem) -> Pair:
    """A convex combination that is none where gamma exceeds 1."""
    return worst_round(
        problem, problem.admm, lambda p, run, t: (kept_of_clients(p, run, t), moment(p))
    )


# -- Lemmas 6 to 10


@LINES.refutes("proof of Lemma 6, coefficient")
def first_coefficient(k: int, x: Fraction) -> Pair:
    """(1 + a)(1 - x)^2 + (1 + 1/a)/(6 k^2) with a = 2k - 1 and x = eta_l/lambda,
    against 1 + 1/(k-1).
    """
    a = 2 * k - 1
    return (1 + a) * (1 - x) ** 2 + (1 + Fraction(1, a)) / (6 * k**2), 1 + Fraction(
        1, k - 1
    )


@LINES.refutes("proof of Lemma 6, fact")
def power_without_value(k: int) -> Pair:
    """(1 + 1/(k - 1))^k < 5 for every k >= 1: at k = 1 the left side is infinite."""
    return np.inf if k == 1 else (1 + 1 / (k - 1)) ** k, 5


@LINES.refutes("proof of Lemma 9, fourth", equality=True)
def dual_of_wrong_round(problem: FiniteProblem) -> Pair:
    """The step of the mean model with the dual of round t in place of that of round t -
    1.
    """
    return steps_of_mean(problem, later=1)


@LINES.corrects("proof of Lemma 9, fourth", equality=True)
def dual_of_right_round(problem: FiniteProblem) -> Pair:
    """The step of the mean model with the dual of round t - 1."""
    return steps_of_mean(problem, later=0)


def steps_of_mean(problem: FiniteProblem, later: int) -> Pair:
    """The steps of the mean model, and their formula with a dual that is ``later``
    rounds later than that of Lemma 2.
    """
    p, run, sides = problem, problem.admm_sam, []
    for t in range(p.T):
        dual = run.dual[t + later]
        step = -p.penalty * blend(p, run.sam[t]) + p.penalty * gamma(p) * dual
        right = average_clients(step - p.penalty * run.dual[t])
        sides.append((average_clients(run.x[t + 1] - run.x[t]), right))
    return np.array([left for left, _ in sides]), np.array(
        [right for _, right in sides]
    )


@LINES.refutes("proof of Lemma 10, sixth", equality=True)
def sign_of_second_term(problem: FiniteProblem) -> Pair:
    """xbar^t - w^t with a minus before the term of the duals."""
    return distances_from_w(problem, sign=-1)


@LINES.corrects("proof of Lemma 10, sixth", equality=True)
def right_sign_of_second_term(problem: FiniteProblem) -> Pair:
    """xbar^t - w^t with a plus before the term of the duals."""
    return distances_from_w(problem, sign=1)


def distances_from_w(problem: FiniteProblem, sign: int) -> Pair:
    """xbar^t - w^t in each round, and its formula with this sign before the duals."""
    p, run, c, sides = problem, problem.admm_sam, gamma(problem), []
    for t in range(1, p.T):
        newest = -p.penalty * average_clients(blend(p, run.sam[t - 1])) / c
        older = p.penalty * (c - 1) ** 2 / c * average_clients(run.dual[t - 1])
        sides.append(
            (
                average_clients(run.x[t]) - shifted_mean(p, run, t),
                (c - 1) * newest + sign * older,
            )
        )
    return np.array([left for left, _ in sides]), np.array(
        [right for _, right in sides]
    )


def distance_bound(problem: FiniteProblem) -> Any:
    """2 lambda^2 (gamma - 1)^2 (1 + (gamma - 1)^2/gamma^2) (sigma_l^2 + B^2)."""
    c = gamma(problem)
    return (
        2
        * problem.penalty**2
        * (c - 1) ** 2
        * (1 + (c - 1) ** 2 / c**2)
        * moment(problem)
    )


@LINES.refutes("Lemma 10", "proof of Lemma 10, (a)")
def distance_from_mean(problem: FiniteProblem) -> Pair:
    """The distance between w^t and the mean model."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(
            shifted_mean(p, run, t) - average_clients(run.x[t])
        ), distance_bound(p)

    return worst_round(problem, problem.admm, sides)


# -- the main proof, C.1


def step_of_w(problem: FiniteProblem, run: Recording, t: int) -> Array:
    """w^{t+1} - w^t."""
    return shifted_mean(problem, run, t + 1) - shifted_mean(problem, run, t)


@LINES.refutes("C.1, R1")
def squared_step(problem: FiniteProblem) -> Pair:
    """The step of w in mean square."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        return p.sq(step_of_w(p, run, t)), p.penalty**2 * moment(p)

    return worst_round(problem, problem.admm, sides)


@LINES.refutes("C.1, (22)")
def squared_step_of_22(problem: FiniteProblem) -> Pair:
    """L/2 times the step of w in mean square."""
    left, right = squared_step(problem)
    return problem.L / 2 * left, problem.L / 2 * right


def at_perturbed(problem: FiniteProblem, run: Recording, t: int) -> list[Array]:
    """grad f_i at the points where gradients are taken."""
    ascents = (
        run.delta[t]
        if run is problem.admm_sam
        else [0 * delta for delta in run.delta[t]]
    )
    return [problem.gradients(y + d) for y, d in zip(run.y[t], ascents, strict=False)]


@LINES.refutes("C.1, R2, (20)", equality=True)
def inner_product_with_sam(problem: FiniteProblem) -> Pair:
    """The inner product of R2, with E g = grad f_i at a point that the same minibatch
    chose.
    """
    p, run, sides = problem, problem.admm_sam, []
    for t in range(p.T):
        slope = p.gradient(shifted_mean(p, run, t))
        mean = average_clients(blend(p, at_perturbed(p, run, t))) / gamma(p)
        sides.append(
            (p.inner(slope, step_of_w(p, run, t)), p.penalty * p.inner(slope, -mean))
        )
    return np.array([left for left, _ in sides]), np.array(
        [right for _, right in sides]
    )


def from_w(problem: FiniteProblem, run: Recording, t: int) -> list[Array]:
    """grad f_i at the points where gradients are taken, minus grad f_i(w^t)."""
    at_w = problem.at(shifted_mean(problem, run, t))
    return [gradient - at_w for gradient in at_perturbed(problem, run, t)]


@LINES.refutes("C.1, R2.1, Jensen")
def jensen_of_differences(problem: FiniteProblem) -> Pair:
    """Jensen's inequality of differences of gradients, with weights of both signs."""

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        differences, c = from_w(p, run, t), gamma(p)
        left = p.penalty / 2 * p.sq(average_clients(blend(p, differences) / c))
        return (
            left,
            p.penalty
            / 2
            * blend(p, [p.sq(difference) for difference in differences])
            / c,
        )

    return worst_round(problem, problem.admm, sides)


def weighted_drift(
    problem: FiniteProblem, run: Recording, t: int, perturbed: bool
) -> Any:
    """lambda L^2 sum_k (gamma_k/gamma) mean E||y_k - x||^2, at the perturbed or at the
    local models.
    """
    p = problem
    ascents = [delta if perturbed else 0 * delta for delta in run.delta[t]]
    points = [y + d for y, d in zip(run.y[t], ascents, strict=False)]
    squares = [p.sq(point - run.x[t]) for point in points]
    return p.penalty * p.L**2 * blend(p, squares) / gamma(p)


def sam_term(problem: FiniteProblem) -> Any:
    """6 rho^2 lambda L^2 (sigma_l^2 + B^2)."""
    return 6 * problem.rho**2 * problem.penalty * problem.L**2 * moment(problem)


@LINES.refutes("C.1, R2.1, SAM")
def perturbation_by_moment(problem: FiniteProblem) -> Pair:
    """The perturbation has length rho; the line bounds its square by rho^2 (sigma_l^2 +
    B^2).
    """

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        left = 3 * weighted_drift(p, run, t, perturbed=True)
        return left, 6 * weighted_drift(p, run, t, perturbed=False) + sam_term(p)

    return worst_round(problem, problem.admm_sam, sides)


@LINES.refutes("C.1, R2.1")
def bound_of_R21(problem: FiniteProblem) -> Pair:
    """R2.1 against its bound by Lemmas 6, 8 and 10, with X^0 = 0."""
    p, run = problem, problem.admm_sam
    scale, local = p.penalty * p.L**2, p.eta**2 * p.K**2
    C2 = 16 * local * (
        3 * p.sigma_g_sq + 2 * p.sigma_l_sq + 4 * p.B_sq
    ) + p.penalty**2 * moment(p)

    def sides(p: FiniteProblem, run: Recording, t: int) -> Pair:
        slope = p.gradient(shifted_mean(p, run, t))
        left = -p.penalty * p.inner(
            slope, average_clients(blend(p, from_w(p, run, t)) / gamma(p))
        )
        here = p.sq(p.gradient(run.x[t]))
        C0 = 3 * p.sigma_g_sq + p.sigma_l_sq + 3 * here + moment(p)
        right = p.penalty / 2 * p.sq(slope) + 96 * scale * local * C0
        right += 6 * scale * C2 / (1 - p.lam) ** 2 + 3 * scale * distance_bound(p)
        return left, right + sam_term(p)

    return worst_round(p, run, sides)


@LINES.refutes("C.1, therefore, (a)", "C.1, rearranged", under=THEOREM)
def gamma_in_the_descent() -> Pair:
    """The first descent against the second, which uses gamma > 1 - 1/e."""
    return bound("dfedadmm.eq_descent"), bound("dfedadmm.eq_descent_last")


@LINES.refutes("C.1, telescoped", under=THEOREM)
def telescoped_descent() -> Pair:
    """The second descent summed over T rounds: the display's last term has lambda too
    many.
    """
    descent, quantity = bound("dfedadmm.eq_descent_last"), s.G_w
    rest = descent.xreplace({quantity: sp.S.Zero})
    return (s.f0_gap / s.T + rest) / -sp.diff(descent, quantity), bound(
        "dfedadmm.theorem_1:appendix"
    )


@LINES.refutes("C.1, kappa, summary", equality=True, under=THEOREM)
def kappa_with_K() -> Pair:
    """kappa with K for the K^2 of Theorem 1."""
    return bound("dfedadmm.definition_kappa"), bound(
        "dfedadmm.definition_kappa:appendix"
    )


__all__ = ["LINES"]
