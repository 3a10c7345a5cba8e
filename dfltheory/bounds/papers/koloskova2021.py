"""Koloskova, Lin and Stich 2021, "An Improved Analysis of Gradient Tracking": rates, and one descent step.

With lam = max(|lambda_2|, |lambda_n|) of the symmetric network, p = 1 - lam^2 and c = 1 - lambda_n^2.
"""

from __future__ import annotations

import sympy as sp
from sympy import log, sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import convex, dist_now, gap_now, mu_each, strongly_convex, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem

T, m, eta, L, sigma_l, mu = s.T, s.m, s.eta, s.L, s.sigma_l, mu_each
p, c = sp.symbols("p_gap c_gap", positive=True)
GAPS = (
    Definition(p, 1 - s.lam**2, "p", "gap of W^2"),
    Definition(c, 1 - s.lam_min**2, "c", "gap of W^2 at its least eigenvalue"),
)

PAPER = Paper(
    "Gradient tracking with noise",
    "Koloskova et al. 2021, Gradient Tracking",
    letters={
        "m": "n", "eta": r"\gamma", "sigma_l": r"\bar\sigma", "lam_min": r"\lambda_n", "mu_each": r"\mu",
        "x_star_sq": "R_0^2", "dist_now": r"\|\bar x^{(t)}-x^\star\|^2", "gap_now": "e_t",
    },
    provenance=(
        "NeurIPS 2021, as submitted (without the authors' names), a public copy of its text, Sections 3 to "
        "6: Theorem 1, (7) and (8), and Lemma 5. Not entered: the non-convex rate, whose P is not defined "
        "there; Lemmas 3 and 6, of the matrix J and of constants that are not given; Theorem 2, on consensus "
        "alone. Text not at hand: the appendix with the proofs; the paper as published"
    ),
)  # fmt: skip

SCOPE = Scope(("DSGT",), "symmetric", common_start=True, letters={"order": "adapt-then-combine"})
LONG = Condition(
    "T > (2/p) log((50/p)(1 + log(1/p)))", 2 / p * log(50 / p * (1 + log(1 / p))), T, strict=True
)


def _rate(name: str, title: str, where: str, averaging: str, parts: dict, *convexity: Condition) -> Theorem:
    return Theorem(
        key=f"koloskova2021.{name}", variant="submitted", kind="rate", title=title,
        source=f"{PAPER.citation}, {where}", parts=parts, definitions=GAPS, conditions=(LONG, *convexity),
        scope=SCOPE, order=True,
        lhs=LeftSide(
            "f_gap", r"\frac{1}{T+1}\sum_{t=0}^{T}\mathbb{E}f(\bar x^{(t)})-f^\star", "mean", last=T,
            unit=VALUE, averaging=averaging,
        ),
        remark="'There exists a constant stepsize': it is not given; O~(.) hides logarithms beside constants",
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """The rates on strongly convex and on convex clients, and the descent of the mean."""
    R_sq = x_star_sq
    return (
        _rate(
            "strongly_convex", "Gradient tracking with noise on strongly convex clients", "Theorem 1, (7)",
            "mean over the rounds 0..T, by weights $w_t$ that the text at hand does not give",
            {
                "noise": sigma_l**2 / (mu * m * T),
                "network": L * sigma_l**2 / (mu**2 * p * c**2 * T**2),
                "optimization": L * sqrt(R_sq) / (p * c) * sp.exp(-mu * p * c * T / L),
            },
            *strongly_convex(mu, L),
        ),
        _rate(
            "convex", "Gradient tracking with noise on convex clients", "Theorem 1, (8)",
            "mean over the rounds 0..T",
            {
                "noise": sqrt(R_sq * sigma_l**2 / (m * T)),
                "network": (sigma_l * sqrt(L) * R_sq / (sqrt(p) * c * T)) ** sp.Rational(2, 3),
                "optimization": L * R_sq / (p * c * T),
            },
            convex(mu, L),
        ),
        Theorem(
            key="koloskova2021.lemma_5",
            variant="submitted",
            kind="lemma",
            title="One step of the mean under gradient tracking",
            source=f"{PAPER.citation}, Lemma 5",
            lhs=LeftSide("dist_sq", r"\mathbb{E}\|\bar x^{(t+1)}-x^\star\|^2", "each", unit=LENGTH_SQ),
            parts={
                "start": (1 - eta * mu / 2) * dist_now,
                "noise": eta**2 * sigma_l**2 / m,
                "descent": -eta * gap_now,
                "consensus": 3 * L * eta * s.Xi,
            },
            conditions=(Condition("gamma <= 1/(12 L)", 12 * L * eta, sp.S.One), convex(mu, L)),
            scope=SCOPE,
            remark="Cited there from Koloskova et al. 2020, Lemma 8: the mean moves as under D-SGD",
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
