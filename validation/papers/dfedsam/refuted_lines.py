"""Lines of Shi et al. 2023 (DFedSAM) that are false, each evaluated at a witness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from validation.papers import bound
from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    average_clients,
    centered,
)
from validation.papers.lines import RefutedLines

LINES = RefutedLines("dfedsam")
Pair = tuple[Any, Any]
THEOREM = "dfedsam.theorem_4_5"


def worst(pairs: Iterator[Pair]) -> Pair:
    """The pair whose left side exceeds its right side most."""
    return max(pairs, key=lambda pair: pair[0] - pair[1])


def worst_round(
    problem: FiniteProblem, sides: Callable[[FiniteProblem, int], Pair]
) -> Pair:
    """Both sides in the round in which the left exceeds the right most."""
    return worst(sides(problem, t) for t in range(problem.T))


# -- numbers of the text and the tables


def second_eigenvalue(W: Array) -> float:
    return float(np.linalg.norm(W - np.ones_like(W) / len(W), 2))


def cycle(n: int) -> Array:
    """The sum of the two shifts of a ring."""
    return np.roll(np.eye(n), 1, 0) + np.roll(np.eye(n), -1, 0)


@LINES.refutes("3.1, ring")
def ring_lambda(n: int, own_weight: float) -> Pair:
    """The claim that lambda of a ring is about 16 pi^2/(3 m^2), with twice that on the
    right.
    """
    W = own_weight * np.eye(n) + (1 - own_weight) / 2 * cycle(n)
    return second_eigenvalue(W), 32 * np.pi**2 / (3 * n**2)


@LINES.refutes("3.1, grid")
def grid_lambda(side: int) -> Pair:
    """The claim that lambda of a grid is O(1/(m log m)), with a factor 10 on the
    right.
    """
    W = (
        np.eye(side**2)
        + np.kron(cycle(side), np.eye(side))
        + np.kron(np.eye(side), cycle(side))
    ) / 5
    return second_eigenvalue(W), 10 / (side**2 * np.log2(side**2))


@LINES.refutes(
    "Table 1, CIFAR-10: FedSAM, Dir 0.3",
    "Table 1, CIFAR-10: DFedAvgM, Dir 0.6",
    "Table 1, CIFAR-100: D-PSGD, IID",
    "Table 1, CIFAR-100: DFedAvg, Dir 0.3",
    "Table 1, CIFAR-100: DFedAvg, IID",
    "5.2, non-IID, DFedSAM, IID",
    "5.2, non-IID, FedAvg, IID",
    equality=True,
)
def generalization_error(
    train: Fraction, validation: Fraction, printed: Fraction
) -> Pair:
    """Training accuracy minus validation accuracy, against the printed generalization
    error.
    """
    return train - validation, printed


# -- Lemmas D.2 to D.4


@LINES.refutes("Lemma D.2")
def lemma_D2(problem: FiniteProblem) -> Pair:
    """The spread of gradients at perturbed points, for the worst client instead of the
    average one.
    """
    grid = np.repeat(
        (np.arange(25) - 12)[:, None] * problem.one / 4, problem.start.shape[1], axis=1
    )
    own = problem.gradients(grid[:, None, :] + problem.ascent(problem.at(grid)))
    common = problem.gradient(grid + problem.ascent(problem.gradient(grid)))
    spread = ((own - common[:, None, :]) ** 2).sum(axis=-1).max()
    return spread, 3 * problem.sigma_g_sq + 6 * problem.L**2 * problem.rho**2


@LINES.refutes("Lemma D.3")
def lemma_D3(problem: FiniteProblem) -> Pair:
    """The spread of the ascents delta_{i,k}, with grad f at the mean model for grad
    F(x).
    """
    run, spreads = problem.gossip, []
    for t in range(problem.T):
        common = problem.ascent(problem.gradient(average_clients(run.x[t])))[:, None, :]
        spreads += [problem.sq(own - common) for own in run.delta[t]]
    return (
        max(spreads),
        2 * problem.K**2 * problem.beta_sq * problem.eta**2 * problem.rho**2,
    )


@LINES.refutes("Lemma D.4")
def lemma_D4(K: int) -> Pair:
    """The drift of K steps of SAM that step over a flat minimum.

    All clients have the slope max(y, 0) + s (y - z) with s = 2^-20, whose zero z is
    passed in the last step: the ascent of length rho then points away from the start.
    """
    steepness, rho = Fraction(1, 2**20), Fraction(1, 64)
    L = 1 + steepness
    eta = Fraction(13, 200) / (K * L)
    path = [Fraction(0)]
    for _ in range(K - 1):
        path.append(path[-1] - eta * (path[-1] + rho))
    zero = (path[-2] + path[-1]) / 2

    def slope(y: Fraction) -> Fraction:
        return max(y, Fraction(0)) + steepness * (y - zero)

    y = Fraction(0)
    for _ in range(K - 1):
        y -= eta * slope(y + (rho if slope(y) > 0 else -rho))
    bracket = 4 * K**3 * (L * eta) ** 2 * rho**4 / (2 * K - 1)
    bracket += 8 * K * eta**2 * ((L * rho) ** 2 + slope(Fraction(0)) ** 2)
    return (y - rho) ** 2, 2 * K * bracket + 2 * K * rho**2 / (2 * K - 1)


@LINES.refutes("proof of Lemma D.4, I + II")
def lemma_D4_cross_term(A: Array, K: int) -> Pair:
    """||a + b + c||^2 without the cross term of a and b."""
    a, b, c = A
    left = ((a + b + c) ** 2).sum()
    return (
        left,
        (1 + 1 / (2 * K - 1)) * ((a**2).sum() + (b**2).sum()) + 2 * K * (c**2).sum(),
    )


@LINES.refutes("proof of Lemma D.4, I")
def lemma_D4_first_part(problem: FiniteProblem) -> Pair:
    """How far the ascent turns in one local step."""
    run = problem.gossip
    turns = [
        problem.sq(run.delta[t][k] - run.delta[t][k - 1])
        for t in range(problem.T)
        for k in range(1, problem.K)
    ]
    return max(turns), 2 * problem.K**2 * problem.L**2 * problem.eta**2 * problem.rho**4


@LINES.refutes("proof of Lemma D.4, recursion, first")
def lemma_D4_recursion(k: int, x: Fraction, y: Fraction) -> Pair:
    """c_k <= a c_{k-1} + x with c_0 = y, solved: a^(k-1) y at k - 1 steps, not a y."""
    a = Fraction(2 * k, 2 * k - 1)
    geometric = (a ** (k - 1) - 1) / (a - 1)
    return geometric * x + a ** (k - 1) * y, a * geometric * x + a * y


def bound_of_8(problem: FiniteProblem, t: int, noise: Any) -> Any:
    """The right side of (8), with ``noise`` for sigma_l^2; C_2 eta^2."""
    p, n = problem, 2 * problem.K - 1
    here = p.sq(p.gradient(p.gossip.x[t]))
    moments = p.L**2 * p.rho**2 + p.sigma_g_sq + noise + here
    bracket = (
        p.one * 4 * p.K**3 * p.L**2 * p.eta**2 * p.rho**4 / n
        + 8 * p.K * p.eta**2 * moments
    )
    return 2 * p.K * bracket + p.one * 2 * p.K * p.rho**2 / n


# -- Lemmas D.5 and D.6


def phi_without_factor(problem: FiniteProblem) -> Any:
    """1/((1 - lam)^2 m^(2(Q-1))) + 1/(1 - lam^Q)^2."""
    p = problem
    return (
        p.one / ((1 - p.lam) ** 2 * p.m ** (2 * (p.Q - 1)))
        + p.one / (1 - p.lam**p.Q) ** 2
    )


@LINES.refutes("Lemma D.5", "Lemma D.6")
def lemmas_D5_and_D6(problem: FiniteProblem) -> Pair:
    """The consensus error with a step size beyond 1/(10 K L), which the lemmas do not
    exclude.

    Two clients start at 0 and go down the two sides of a hill, to where f is flat.
    """
    p = problem
    network = (
        p.one / (1 - p.lam) ** 2
        if p.Q == 1
        else (p.lam**p.Q + 1) * phi_without_factor(p)
    )

    def sides(p: FiniteProblem, t: int) -> Pair:
        return p.sq(centered(p.gossip.x[t])), bound_of_8(p, t, p.sigma_l_sq) * network

    return worst_round(p, sides)


@LINES.refutes("proof of Lemma D.5, for any j", "proof of Lemma D.6, for any j")
def distance_in_round_j(problem: FiniteProblem) -> Pair:
    """The distance of one round, bounded by the gradients of another round."""
    run, rounds = problem.gossip, range(problem.T)
    left = max(problem.sq(run.x[t] - run.z[t]) for t in rounds)
    return left, min(bound_of_8(problem, t, problem.sigma_l_sq) for t in rounds)


@LINES.corrects("proof of Lemma D.5, for any j", "proof of Lemma D.6, for any j")
def distance_in_its_own_round(problem: FiniteProblem) -> Pair:
    """The distance of one round, bounded by the gradients of the same round."""

    def sides(p: FiniteProblem, t: int) -> Pair:
        run = p.gossip
        return p.sq(run.x[t] - run.z[t]), bound_of_8(p, t, p.sigma_l_sq)

    return worst_round(problem, sides)


@LINES.refutes("proof of Lemma D.6, Cauchy, first")
def norm_of_powers(problem: FiniteProblem) -> Pair:
    """||W^n - P + P||^(Q-1) against lam^((Q-1)n) + 1/m^(Q-1), times lam^n: ||P|| is 1,
    not 1/m.
    """
    p, pairs = problem, []
    for n in range(1, p.T + 1):
        power = np.linalg.norm(np.linalg.matrix_power(p.W, n), 2) ** (p.Q - 1)
        pairs.append(
            (
                p.lam**n * power,
                p.lam**n * (p.lam ** ((p.Q - 1) * n) + p.one / p.m ** (p.Q - 1)),
            )
        )
    return worst(iter(pairs))


@LINES.refutes("proof of Lemma D.6, Cauchy, third")
def square_of_two_sums(problem: FiniteProblem) -> Pair:
    """The square of a sum of two geometric series, bounded by the sum of their
    squares.
    """
    p = problem
    series = sum(
        p.lam ** (p.Q * n) + p.lam**n * p.one / p.m ** (p.Q - 1) for n in range(60)
    )
    return series**2, phi_without_factor(p)


# -- the main proof, D.2 and D.3


def mean_step(problem: FiniteProblem, t: int) -> Array:
    """zbar^t - xbar^t."""
    return average_clients(problem.gossip.z[t] - problem.gossip.x[t])


def gradient_at_mean(problem: FiniteProblem, t: int) -> Array:
    return problem.gradient(average_clients(problem.gossip.x[t]))


def length(u: Array) -> Any:
    return abs(u[..., 0]) if u.shape[-1] == 1 else np.sqrt((u**2).sum(axis=-1))


def inner_product(problem: FiniteProblem, t: int) -> Any:
    """E<grad f(xbar^t), zbar^t - xbar^t>, the left side of (20) and (29)."""
    return problem.inner(gradient_at_mean(problem, t), mean_step(problem, t))


def line_c_of_20(problem: FiniteProblem, t: int, noise: Any) -> Any:
    """The last line of (20) and (29)."""
    p = problem
    descent = -p.eta * p.K / 2 * p.sq(gradient_at_mean(p, t))
    return descent + p.eta * p.L**2 * p.K / 2 * bound_of_8(p, t, noise)


def line_a_of_21(problem: FiniteProblem, t: int, noise: Any) -> Any:
    """The last line of (21) and (30)."""
    p = problem
    here = p.sq(p.gradient(p.gossip.x[t]))
    return p.one * 3 / 2 * p.eta**2 * p.K * p.L * (p.L**2 * p.rho**2 + noise + here)


def sum_of_squares(problem: FiniteProblem, t: int) -> Any:
    """The third line of (21) and (30)."""
    squares = sum(problem.sq(gradient) for gradient in problem.gossip.sam[t])
    return problem.eta**2 * problem.L / 2 * squares


@LINES.refutes("D.2, (20), b", "D.3, (29), b")
def line_b_of_20(problem: FiniteProblem) -> Pair:
    """E(ab) <= E(a) E(b), and a norm of summed gradients by a norm of summed points."""

    def sides(p: FiniteProblem, t: int) -> Pair:
        run, here = p.gossip, gradient_at_mean(p, t)
        at_mean = p.at(average_clients(run.x[t]))
        difference = sum(average_clients(at_mean - gradient) for gradient in run.sam[t])
        moved = p.L * sum(
            average_clients(run.x[t] - run.y[t][k] - run.delta[t][k])
            for k in range(p.K)
        )
        descent = -p.eta * p.K * p.sq(here)
        left = descent + p.inner(here, p.eta * difference)
        return left, descent + p.eta * p.mean(length(here)) * p.mean(length(moved))

    return worst_round(problem, sides)


@LINES.corrects("D.2, (20), b", "D.3, (29), b")
def young_for_each_term(problem: FiniteProblem) -> Pair:
    """The left side of step b), bounded by Young's inequality for each local step."""

    def sides(p: FiniteProblem, t: int) -> Pair:
        run, here = p.gossip, gradient_at_mean(p, t)
        mean = average_clients(run.x[t])
        at_mean = p.at(mean)
        difference = sum(average_clients(at_mean - gradient) for gradient in run.sam[t])
        left = -p.eta * p.K * p.sq(here) + p.inner(here, p.eta * difference)
        points = [run.y[t][k] + run.delta[t][k] for k in range(p.K)]
        moved = sum(p.sq(mean[..., None, :] - point) for point in points)
        return left, p.eta / 2 * (p.L**2 * moved - p.K * p.sq(here))

    return worst_round(problem, sides)


@LINES.refutes("D.2, (20), c", "D.3, (29), c")
def dropped_consensus_error(problem: FiniteProblem) -> Pair:
    """The whole chain (20): the distance between the clients and their mean is
    dropped.
    """
    noise = problem.sigma_l_sq_two_points
    return worst_round(
        problem, lambda p, t: (inner_product(p, t), line_c_of_20(p, t, noise))
    )


@LINES.refutes("D.2, (21), second", "D.3, (30), second")
def jensen_reversed(problem: FiniteProblem) -> Pair:
    """The clients' steps in mean square against the square of their mean."""

    def sides(p: FiniteProblem, t: int) -> Pair:
        return p.sq(p.gossip.z[t] - p.gossip.x[t]), p.sq(mean_step(p, t))

    return worst_round(problem, sides)


@LINES.corrects("D.2, (21), second", "D.3, (30), second")
def jensen(problem: FiniteProblem) -> Pair:
    """The square of the clients' mean step against the mean square of their steps."""

    def sides(p: FiniteProblem, t: int) -> Pair:
        return p.sq(mean_step(p, t)), p.sq(p.gossip.z[t] - p.gossip.x[t])

    return worst_round(problem, sides)


@LINES.refutes("D.2, (21), third", "D.3, (30), third")
def square_of_a_sum(problem: FiniteProblem) -> Pair:
    """The square of a sum of K vectors against the sum of their squares."""

    def sides(p: FiniteProblem, t: int) -> Pair:
        return p.L / 2 * p.sq(mean_step(p, t)), sum_of_squares(p, t)

    return worst_round(problem, sides)


@LINES.refutes("D.2, (21), a", "D.3, (30), a")
def own_gradient_by_common_one(problem: FiniteProblem) -> Pair:
    """A client's own gradient, bounded by grad f without sigma_g."""
    noise = problem.sigma_l_sq_two_points
    return worst_round(
        problem, lambda p, t: (sum_of_squares(p, t), line_a_of_21(p, t, noise))
    )


@LINES.refutes("D.2, (22)", "D.3, (31)", under=THEOREM)
def lost_factor_of_22() -> Pair:
    """(20) plus (21) against (22): the gradients at the clients have lost a factor
    K.
    """
    return bound("dfedsam.eq_20") + bound("dfedsam.eq_21"), bound("dfedsam.eq_22")


def coefficient(expression: sp.Expr) -> sp.Expr:
    """The coefficient of the gradient at the clients."""
    return sp.diff(expression, s.G_x)


@LINES.refutes("D.2, (24)", under=THEOREM)
def denominator_of_24() -> Pair:
    """(23) is solved for the gradient at the clients, whose coefficient may exceed
    1.
    """
    return coefficient(bound("dfedsam.eq_23")), sp.S.One


@LINES.refutes("D.3, (33)", under=THEOREM)
def denominator_of_33() -> Pair:
    """(32) is solved for the gradient at the clients, whose coefficient may exceed
    1.
    """
    return coefficient(bound("dfedsam.eq_32")), sp.S.One


@LINES.refutes("D.3, (34), first")
def numerator_without_denominator(x: Fraction, y: Fraction) -> Pair:
    """x/(1 - y) against x: the denominator of (33) is left out."""
    return x / (1 - y), x


def descent_with(claim: str) -> sp.Expr:
    """(22) with a bound of the gradient at the clients."""
    return bound("dfedsam.eq_22").xreplace({s.G_x: bound(claim)})


@LINES.refutes("D.2, (25), a", under=THEOREM)
def denominator_dropped_in_25() -> Pair:
    """(24) in (22) against (25), which has another denominator."""
    return descent_with("dfedsam.eq_24"), bound("dfedsam.eq_25")


@LINES.refutes("D.3, (34), a", under=THEOREM)
def denominator_dropped_in_34() -> Pair:
    """(33) in (31) against (34), which has another denominator."""
    return descent_with("dfedsam.eq_33"), bound("dfedsam.eq_34")


def summed(claim: str) -> sp.Expr:
    """A descent summed over T rounds, and divided by the coefficient of the gradient at
    the mean model.
    """
    descent = bound(claim)
    rest = descent.xreplace({s.G_bar: sp.S.Zero})
    return (s.f0_gap / s.T + rest) / -sp.diff(descent, s.G_bar)


@LINES.refutes("D.2, sum", under=THEOREM)
def sum_of_25() -> Pair:
    """(25) summed: the display doubles its first term alone."""
    return summed("dfedsam.eq_25"), bound("dfedsam.theorem_4_5:appendix_q1")


@LINES.refutes("D.3, sum", under=THEOREM)
def sum_of_34() -> Pair:
    """(34) summed: the display doubles its first term alone."""
    return summed("dfedsam.eq_34"), bound("dfedsam.theorem_4_5:appendix")


@LINES.refutes("D.3, second sum", under=THEOREM)
def second_sum_of_34() -> Pair:
    """(34) summed, against the display that has lost 3 eta^2 K L and has C_2 for
    C_3.
    """
    return summed("dfedsam.eq_34"), bound("dfedsam.eq_last")


__all__ = ["LINES"]
