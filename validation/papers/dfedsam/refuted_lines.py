"""Lines of Shi et al. 2023 (DFedSAM) that are false, each evaluated at a witness."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from validation.papers import bound
from validation.papers.dfedsam.finite_problem import (
    bound_of_8,
    gradient_at_mean,
    length,
    mean_step,
    round_distance,
)
from validation.papers.finite_problems import (
    Array,
    FiniteProblem,
    Number,
    Recording,
    average_clients,
    centered,
    cycle,
    second_eigenvalue,
    torus,
)
from validation.papers.lines import Formulas, Pair, RefutedLines, in_worst_round, worst

LINES = RefutedLines("dfedsam")
THEOREM = "dfedsam.theorem_4_5"


# -- numbers of the text and the tables


@LINES.refutes("3.1, ring")
def ring_lambda(n: int, own_weight: float) -> Pair:
    """Section 3.1: lambda of a ring is about 16 pi^2/(3 m^2); allowed is twice that."""
    W = own_weight * np.eye(n) + (1 - own_weight) / 2 * cycle(n)
    return second_eigenvalue(W), 32 * np.pi**2 / (3 * n**2)


@LINES.refutes("3.1, grid")
def grid_lambda(side: int) -> Pair:
    """Section 3.1: lambda of a grid is O(1/(m log m)); allowed is the constant 10."""
    m = side**2
    return second_eigenvalue((np.eye(m) + torus(side)) / 5), 10 / (m * np.log2(m))


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
    """Table 1 and Section 5.2: the error is training minus validation accuracy."""
    return train - validation, printed


# -- Lemmas D.2 to D.4


@LINES.refutes("Lemma D.2")
def lemma_D2(problem: FiniteProblem) -> Pair:
    """Lemma D.2: gradients at perturbed points spread by 3 sigma_g^2 + 6 L^2 rho^2.

    The left side is the spread of the worst client instead of the average one.
    """
    points = (np.arange(25) - 12)[:, None] * problem.one / 4
    grid = np.repeat(points, problem.start.shape[1], axis=1)
    ascents = problem.ascent(problem.at(grid))
    of_clients = problem.gradients(grid[:, None, :] + ascents)
    common = problem.gradient(grid + problem.ascent(problem.gradient(grid)))
    spread = ((of_clients - common[:, None, :]) ** 2).sum(axis=-1).max()
    return spread, 3 * problem.sigma_g_sq + 6 * problem.L**2 * problem.rho**2


@LINES.refutes("Lemma D.3")
def lemma_D3(problem: FiniteProblem) -> Pair:
    """Lemma D.3: the ascents delta_{i,k} spread by 2 K^2 beta^2 eta^2 rho^2.

    They are compared with the ascent of grad f at the mean model.
    """
    run, spreads = problem.gossip, []
    for t in range(problem.T):
        gradient = problem.gradient(average_clients(run.x[t]))
        common = problem.ascent(gradient)[:, None, :]
        spreads += [problem.sq(ascents - common) for ascents in run.delta[t]]
    steps = problem.K**2 * problem.eta**2
    return max(spreads), 2 * steps * problem.beta_sq * problem.rho**2


@LINES.refutes("Lemma D.4")
def lemma_D4(K: int) -> Pair:
    """Lemma D.4: the drift of K steps of SAM, bounded with the gradient at the start.

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
        ascent = rho if slope(y) > 0 else -rho
        y -= eta * slope(y + ascent)
    bracket = 4 * K**3 * (L * eta) ** 2 * rho**4 / (2 * K - 1)
    bracket += 8 * K * eta**2 * ((L * rho) ** 2 + slope(Fraction(0)) ** 2)
    return (y - rho) ** 2, 2 * K * bracket + 2 * K * rho**2 / (2 * K - 1)


@LINES.refutes("proof of Lemma D.4, I + II")
def lemma_D4_cross_term(A: Array, K: int) -> Pair:
    """Proof of Lemma D.4, I + II: ||a + b + c||^2 without the product of a and b."""
    a, b, c = A
    parts = (1 + 1 / (2 * K - 1)) * ((a**2).sum() + (b**2).sum())
    return ((a + b + c) ** 2).sum(), parts + 2 * K * (c**2).sum()


@LINES.refutes("proof of Lemma D.4, I")
def lemma_D4_first_part(problem: FiniteProblem) -> Pair:
    """Proof of Lemma D.4, I: an ascent turns by 2 K^2 L^2 eta^2 rho^4 in one step."""
    turns = []
    for ascents in problem.gossip.delta:
        turns += [problem.sq(new - old) for old, new in pairwise(ascents)]
    step = problem.K**2 * problem.L**2 * problem.eta**2
    return max(turns), 2 * step * problem.rho**4


@LINES.refutes("proof of Lemma D.4, recursion, first")
def lemma_D4_recursion(k: int, x: Fraction, y: Fraction) -> Pair:
    """Proof of Lemma D.4, recursion: c_k <= a c_{k-1} + x with c_0 = y, solved.

    At k - 1 steps the solution has a^(k-1) y, not a y.
    """
    a = Fraction(2 * k, 2 * k - 1)
    geometric = (a ** (k - 1) - 1) / (a - 1)
    return geometric * x + a ** (k - 1) * y, a * geometric * x + a * y


# -- Lemmas D.5 and D.6


def phi_without_factor(problem: FiniteProblem) -> Number:
    """Return 1/((1 - lam)^2 m^(2(Q-1))) + 1/(1 - lam^Q)^2."""
    lam, Q = problem.lam, problem.Q
    first = problem.one / ((1 - lam) ** 2 * problem.m ** (2 * (Q - 1)))
    return first + problem.one / (1 - lam**Q) ** 2


@LINES.refutes("Lemma D.5", "Lemma D.6")
@in_worst_round("gossip")
def lemmas_D5_and_D6(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Lemmas D.5 and D.6: the consensus error, without a condition on the step size.

    The step size is beyond 1/(10 K L). Two clients start at 0 and go down the two
    sides of a hill, to where f is flat.
    """
    if problem.Q == 1:
        network = problem.one / (1 - problem.lam) ** 2
    else:
        network = (problem.lam**problem.Q + 1) * phi_without_factor(problem)
    drift = bound_of_8(problem, t, problem.sigma_l_sq)
    return problem.sq(centered(run.x[t])), drift * network


@LINES.refutes("proof of Lemma D.5, for any j", "proof of Lemma D.6, for any j")
def distance_in_round_j(problem: FiniteProblem) -> Pair:
    """Proofs of Lemmas D.5 and D.6: x^j - z^j, bounded by gradients of any round."""
    rounds = range(problem.T)
    left = max(round_distance(problem, t) for t in rounds)
    return left, min(bound_of_8(problem, t, problem.sigma_l_sq) for t in rounds)


@LINES.corrects("proof of Lemma D.5, for any j", "proof of Lemma D.6, for any j")
@in_worst_round("gossip")
def distance_in_its_own_round(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Proofs of Lemmas D.5 and D.6: x^j - z^j, bounded by gradients of round j."""
    return round_distance(problem, t), bound_of_8(problem, t, problem.sigma_l_sq)


@LINES.refutes("proof of Lemma D.6, Cauchy, first")
def norm_of_powers(problem: FiniteProblem) -> Pair:
    """Proof of Lemma D.6: ||W^n||^(Q-1) <= lam^((Q-1)n) + 1/m^(Q-1), times lam^n.

    The line bounds ||W^n - P + P||; ||P|| is 1, not 1/m.
    """
    lam, Q, pairs = problem.lam, problem.Q, []
    for n in range(1, problem.T + 1):
        norm = np.linalg.norm(np.linalg.matrix_power(problem.W, n), 2)
        right = lam ** ((Q - 1) * n) + problem.one / problem.m ** (Q - 1)
        pairs.append((lam**n * norm ** (Q - 1), lam**n * right))
    return worst(pairs)


@LINES.refutes("proof of Lemma D.6, Cauchy, third")
def square_of_two_sums(problem: FiniteProblem) -> Pair:
    """Proof of Lemma D.6: the square of two geometric series by their squares."""
    lam, Q, series = problem.lam, problem.Q, 0
    for n in range(60):
        series += lam ** (Q * n) + lam**n * problem.one / problem.m ** (Q - 1)
    return series**2, phi_without_factor(problem)


# -- the main proof, D.2 and D.3


def sum_of_squares(problem: FiniteProblem, t: int) -> Number:
    """Return the third line of (21) and (30)."""
    squares = sum(problem.sq(gradient) for gradient in problem.gossip.sam[t])
    return problem.eta**2 * problem.L / 2 * squares


def descent_of_20(problem: FiniteProblem, run: Recording, t: int) -> Number:
    """Return the first line of (20) and (29), with the gradients that SAM sees."""
    here = gradient_at_mean(problem, t)
    at_mean = problem.at(average_clients(run.x[t]))
    difference = 0 * here
    for gradient in run.sam[t]:
        difference = difference + average_clients(at_mean - gradient)
    descent = -problem.eta * problem.K * problem.sq(here)
    return descent + problem.inner(here, problem.eta * difference)


@LINES.refutes("D.2, (20), b", "D.3, (29), b")
@in_worst_round("gossip")
def line_b_of_20(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """(20) and (29), b): E(ab) by E(a) E(b), gradients' sums by points' sums."""
    here = gradient_at_mean(problem, t)
    moved = 0 * here
    for k in range(problem.K):
        moved = moved + average_clients(run.x[t] - run.y[t][k] - run.delta[t][k])
    product = problem.mean(length(here)) * problem.mean(length(problem.L * moved))
    descent = -problem.eta * problem.K * problem.sq(here)
    return descent_of_20(problem, run, t), descent + problem.eta * product


@LINES.corrects("D.2, (20), b", "D.3, (29), b")
@in_worst_round("gossip")
def young_for_each_term(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Step b) of (20) and (29): Young's inequality for each local step."""
    mean, moved = average_clients(run.x[t])[..., None, :], 0
    for k in range(problem.K):
        moved += problem.sq(mean - run.y[t][k] - run.delta[t][k])
    here = problem.sq(gradient_at_mean(problem, t))
    right = problem.eta / 2 * (problem.L**2 * moved - problem.K * here)
    return descent_of_20(problem, run, t), right


@LINES.refutes("D.2, (20), c", "D.3, (29), c")
@in_worst_round("gossip")
def dropped_consensus_error(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """Step c) of (20) and (29): the distance of clients from their mean is dropped."""
    here = gradient_at_mean(problem, t)
    drift = bound_of_8(problem, t, problem.sigma_l_sq_two_points)
    right = problem.L**2 * drift - problem.sq(here)
    left = problem.inner(here, mean_step(problem, t))
    return left, problem.eta * problem.K / 2 * right


@LINES.refutes("D.2, (21), second", "D.3, (30), second")
@in_worst_round("gossip")
def jensen_reversed(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """(21) and (30), second: the steps in mean square by the square of their mean."""
    return round_distance(problem, t), problem.sq(mean_step(problem, t))


@LINES.corrects("D.2, (21), second", "D.3, (30), second")
@in_worst_round("gossip")
def jensen(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """(21) and (30), second: the square of the mean step by the mean square."""
    return problem.sq(mean_step(problem, t)), round_distance(problem, t)


@LINES.refutes("D.2, (21), third", "D.3, (30), third")
@in_worst_round("gossip")
def square_of_a_sum(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """(21) and (30), third: the square of a sum of K vectors by the sum of squares."""
    left = problem.L / 2 * problem.sq(mean_step(problem, t))
    return left, sum_of_squares(problem, t)


@LINES.refutes("D.2, (21), a", "D.3, (30), a")
@in_worst_round("gossip")
def own_gradient_by_common_one(problem: FiniteProblem, run: Recording, t: int) -> Pair:
    """(21) and (30), a): a client's own gradient by grad f, without sigma_g."""
    here = problem.sq(problem.gradient(run.x[t]))
    moments = problem.L**2 * problem.rho**2 + problem.sigma_l_sq_two_points + here
    right = problem.one * 3 / 2 * problem.eta**2 * problem.K * problem.L * moments
    return sum_of_squares(problem, t), right


@LINES.refutes("D.2, (22)", "D.3, (31)", under=THEOREM)
def lost_factor_of_22() -> Formulas:
    """(22) and (31): the sum of (20) and (21), where gradients have lost a factor K."""
    return bound("dfedsam.eq_20") + bound("dfedsam.eq_21"), bound("dfedsam.eq_22")


def coefficient(expression: Expr) -> Expr:
    """Return the coefficient of the gradient at the clients."""
    return sp.diff(expression, s.G_x)


@LINES.refutes("D.2, (24)", under=THEOREM)
def denominator_of_24() -> Formulas:
    """(24): (23) solved for a gradient whose coefficient is at most 1."""
    return coefficient(bound("dfedsam.eq_23")), sp.S.One


@LINES.refutes("D.3, (33)", under=THEOREM)
def denominator_of_33() -> Formulas:
    """(33): (32) solved for a gradient whose coefficient is at most 1."""
    return coefficient(bound("dfedsam.eq_32")), sp.S.One


@LINES.refutes("D.3, (34), first")
def numerator_without_denominator(x: Fraction, y: Fraction) -> Pair:
    """(34), first: x/(1 - y) by x, without the denominator of (33)."""
    return x / (1 - y), x


def descent_with(claim: str) -> Expr:
    """Return (22) with a bound of the gradient at the clients."""
    return bound("dfedsam.eq_22").xreplace({s.G_x: bound(claim)})


@LINES.refutes("D.2, (25), a", under=THEOREM)
def denominator_dropped_in_25() -> Formulas:
    """(25), a): (24) in (22), with another denominator."""
    return descent_with("dfedsam.eq_24"), bound("dfedsam.eq_25")


@LINES.refutes("D.3, (34), a", under=THEOREM)
def denominator_dropped_in_34() -> Formulas:
    """(34), a): (33) in (31), with another denominator."""
    return descent_with("dfedsam.eq_33"), bound("dfedsam.eq_34")


def summed(claim: str) -> Expr:
    """Return a descent summed over T rounds and solved for the gradient at the mean."""
    descent = bound(claim)
    rest = descent.xreplace({s.G_bar: sp.S.Zero})
    return (s.f0_gap / s.T + rest) / -sp.diff(descent, s.G_bar)


@LINES.refutes("D.2, sum", under=THEOREM)
def sum_of_25() -> Formulas:
    """D.2, sum: (25) summed, where the display doubles its first term alone."""
    return summed("dfedsam.eq_25"), bound("dfedsam.theorem_4_5:appendix_q1")


@LINES.refutes("D.3, sum", under=THEOREM)
def sum_of_34() -> Formulas:
    """D.3, sum: (34) summed, where the display doubles its first term alone."""
    return summed("dfedsam.eq_34"), bound("dfedsam.theorem_4_5:appendix")


@LINES.refutes("D.3, second sum", under=THEOREM)
def second_sum_of_34() -> Formulas:
    """D.3, second sum: (34) summed, without 3 eta^2 K L, and with C_2 for C_3."""
    return summed("dfedsam.eq_34"), bound("dfedsam.eq_last")
