"""Koloskova et al. 2020, "A Unified Theory of Decentralized SGD", as far as a later paper restates it.

The text was not at hand; Koloskova, Lin and Stich 2021, who share three of its authors, compare with its rate
and use its descent lemma. Beside stands the rate of D^2 (Yuan and Alghunaim 2021) that they compare with.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import convex, dist_now, gap_now, mu_each, sigma_star, strongly_convex, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem

T, m, eta, L, sigma_l, mu = s.T, s.m, s.eta, s.L, s.sigma_l, mu_each
p = sp.Symbol("p_gap", positive=True)
GAP = Definition(p, 1 - s.lam**2, "p", "gap of W^2")

PAPER = Paper(
    "Decentralized SGD, unified",
    "Koloskova et al. 2020, Decentralized SGD",
    letters={
        "m": "n", "eta": r"\gamma", "sigma_l": r"\bar\sigma", "mu_each": r"\mu", "sigma_star": r"\zeta",
        "x_star_sq": "R_0^2", "lam_min": r"\lambda_n",
    },
    provenance=(
        "as restated in Koloskova et al. 2021, An Improved Analysis of Gradient Tracking, as submitted to "
        "NeurIPS 2021: (D-SGD) and the display on D^2 of Section 6.3, and Lemma 5, 'Descent lemma, [14, "
        "Lemma 8]'. Not entered, text not at hand: the theorems and lemmas of ICML 2020 (arXiv:2003.10422)"
    ),
)  # fmt: skip

DSGD = Scope(("DPSGD",), "symmetric", common_start=True, letters={"order": "adapt-then-combine"})


def _rate(name: str, title: str, network: sp.Expr, scope: Scope, *conditions: Condition) -> Theorem:
    return Theorem(
        key=f"koloskova2020.{name}",
        variant="restated",
        kind="rate",
        title=title,
        source=f"{PAPER.citation}, as restated in Koloskova et al. 2021, Section 6.3",
        lhs=LeftSide(
            "f_gap", r"\sum_t \frac{w_t}{W_T}\mathbb{E}f(\bar x^{(t)})-f^\star", "mean", last=T, unit=VALUE,
            averaging="mean over the rounds 0..T, by weights $w_t$ that the text at hand does not give",
        ),
        parts={
            "noise": sigma_l**2 / (mu * m * T),
            "network": L * network / (mu**2 * T**2),
            "optimization": L * x_star_sq / p * sp.exp(-mu * p * T / L),
        },
        definitions=(GAP,),
        conditions=(*conditions, *strongly_convex(mu, L)),
        scope=scope,
        order=True,
        remark="The display gives the right-hand side alone; the left is that of the rate beside it",
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """The rates of D-SGD and of D^2 on strongly convex clients, and the descent of D-SGD's mean."""
    return (
        _rate(
            "rate", "D-SGD on strongly convex clients, as restated",
            (sigma_star**2 + p * sigma_l**2) / p**2, DSGD,
        ),
        _rate(
            "rate_d2", "D^2 on strongly convex clients, as restated", sigma_l**2 / p,
            Scope(("D2",), "symmetric", common_start=True, letters={"lazy": False}),
            Condition("lambda_min > -1/3", -3 * s.lam_min, sp.S.One, strict=True),
        ),
        Theorem(
            key="koloskova2020.lemma_8",
            variant="restated",
            kind="lemma",
            title="One step of the mean under D-SGD",
            source=f"{PAPER.citation}, Lemma 8, as restated in Koloskova et al. 2021, Lemma 5",
            lhs=LeftSide("dist_sq", r"\mathbb{E}\|\bar x^{(t+1)}-x^\star\|^2", "each", unit=LENGTH_SQ),
            parts={
                "start": (1 - eta * mu / 2) * dist_now,
                "noise": eta**2 * sigma_l**2 / m,
                "descent": -eta * gap_now,
                "consensus": 3 * L * eta * s.Xi,
            },
            conditions=(Condition("gamma <= 1/(12 L)", 12 * L * eta, sp.S.One), convex(mu, L)),
            scope=DSGD,
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
