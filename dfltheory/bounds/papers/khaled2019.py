"""Khaled, Mishchenko and Richtarik 2019, "First Analysis of Local GD on Heterogeneous Data".

Local gradient descent on convex clients without any bound of their dissimilarity, told step by step: a round
is one step here, and T, as in the paper, counts steps.
"""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import EXACT, convex, dist_now, gap_now, mu_each, sigma_star, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ, VALUE, Quantity, define
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

T, K, m, eta, L, sigma_l = s.T, s.K, s.m, s.eta, s.L, s.sigma_l
D_bar = define(Quantity("D_bar", r"\bar D", VALUE, "mean of f(xbar^t) - f* over the steps of one epoch"))

PAPER = Paper(
    "Local gradient descent on heterogeneous data",
    "Khaled et al. 2019, Local GD",
    letters={"m": "M", "K": "H", "eta": r"\gamma", "sigma_star": r"\sigma", "x_star_sq": r"\|x_0-x_*\|^2"},
    provenance=(
        "NeurIPS 2019 Workshop on Federated Learning (arXiv:1909.04715), a public copy of its text, Sections "
        "1 and 2: Assumption 1, Algorithm 1, Lemmas 1 and 2, Theorem 1 and Corollary 1, whose constants "
        "agree with each other. Text not at hand: the proofs"
    ),
)

SCOPE = Scope(("LocalSGD",), "none", common_start=True)
CONVEX = (convex(mu_each, L), EXACT)
MEAN = LeftSide(
    "f_gap",
    r"\frac1T\sum_{t=0}^{T-1} f(\hat x_t)-f(x_*)",
    "mean",
    unit=VALUE,
    averaging="mean over the steps 0..T-1 at the mean model",
)


def theorem_1() -> Theorem:
    """f(xbar_T) - f* <= 2 ||x_0 - x*||^2/(gamma T) + 24 gamma^2 sigma^2 H^2 L, gamma <= 1/(4 L H)."""
    return Theorem(
        key="khaled2019.theorem_1",
        variant="lemmas",
        kind="theorem",
        title="Local gradient descent on convex clients",
        source=f"{PAPER.citation}, Theorem 1",
        lhs=MEAN,
        parts={
            "optimization": 2 * x_star_sq / (eta * T),
            "heterogeneity": 24 * eta**2 * sigma_star**2 * K**2 * L,
        },
        conditions=(Condition("gamma <= 1/(4 L H)", 4 * L * K * eta, sp.S.One), *CONVEX),
        assumptions=("every $f_m$ is convex and smooth with $L$, and $f$ has a minimizer",),
        scope=SCOPE,
        remark="Theorem 1 is printed for f at the mean of the steps' mean models. Its two lemmas, summed "
        "over the steps, give the same bound of the mean of f there, here, which is no less as f is convex: "
        "where this holds, so does what is printed. Averages come every H steps here, at most H there",
    )


def corollary_1() -> Theorem:
    """8 L ||x_0 - x*||^2/sqrt(M T) + 3 M sigma^2 H^2/(2 L T), gamma = sqrt(M/T)/(4 L), H <= sqrt(T/M)."""
    return Theorem(
        key="khaled2019.corollary_1",
        variant="lemmas",
        kind="corollary",
        title="Local gradient descent with a step for T steps",
        source=f"{PAPER.citation}, Corollary 1",
        lhs=MEAN,
        parts={
            "optimization": 8 * L * x_star_sq / sqrt(m * T),
            "heterogeneity": 3 * m * sigma_star**2 * K**2 / (2 * L * T),
        },
        conditions=(Condition("H <= sqrt(T/M)", K, sqrt(T / m)), *CONVEX),
        schedule={"eta": sqrt(m) / (4 * L * sqrt(T))},
        scope=SCOPE,
        of=("khaled2019.theorem_1", "lemmas"),
    )


def lemma_1() -> Theorem:
    """r_{t+1}^2 <= r_t^2 + gamma L (1 + 2 gamma L) V_t - 2 gamma (1 - 2 gamma L) D_f(xhat_t, x*)."""
    return Theorem(
        key="khaled2019.lemma_1",
        variant="printed",
        kind="lemma",
        title="One step of local gradient descent",
        source=f"{PAPER.citation}, Lemma 1",
        lhs=LeftSide("dist_sq", r"\|\hat x_{t+1}-x_*\|^2", "each", unit=LENGTH_SQ),
        parts={
            "start": dist_now,
            "consensus": eta * L * (1 + 2 * eta * L) * s.Xi,
            "descent": -2 * eta * (1 - 2 * eta * L) * gap_now,
        },
        conditions=CONVEX,
        scope=SCOPE,
    )


def lemma_2() -> Theorem:
    """The mean of V_t over an epoch <= 5 L gamma^2 H^2 that of D_f(xhat_t, x*) + 8 gamma^2 H^2 sigma^2."""
    return Theorem(
        key="khaled2019.lemma_2",
        variant="printed",
        kind="lemma",
        title="How far apart the clients are, over an epoch",
        source=f"{PAPER.citation}, Lemma 2, first inequality, divided by the steps of the epoch",
        lhs=LeftSide(
            "consensus", r"\frac1H\sum_{t=t_p}^{t_{p+1}-1} V_t", "each", unit=LENGTH_SQ,
            averaging="mean over the steps of one epoch",
        ),
        parts={
            "optimization": 5 * L * eta**2 * K**2 * D_bar,
            "heterogeneity": 8 * eta**2 * K**2 * sigma_star**2,
        },
        conditions=(Condition("gamma <= 1/(4 L H)", 4 * L * K * eta, sp.S.One), *CONVEX),
        scope=SCOPE,
        remark="The second inequality is this one times 3 L/2, with gamma L H <= 1/4",
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Both lemmas, the theorem and its corollary."""
    return lemma_1(), lemma_2(), theorem_1(), corollary_1()


__all__ = ["PAPER", "statements"]
