"""Karimireddy et al. 2020, "SCAFFOLD": over finitely many rounds, with the constants of the appendix.

The main text counts rounds in O(.). What is entered follows from Lemma 15 by summing over the rounds.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import convex, mu_each, sigma_star, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import VALUE
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

h = s.K * s.eta
"""The effective step, K eta_l eta_g of the paper at eta_g = 1."""

PAPER = Paper(
    "SCAFFOLD",
    "Karimireddy et al. 2020, SCAFFOLD",
    letters={
        "m": "N",
        "eta": r"\eta_l",
        "L": r"\beta",
        "sigma_l": r"\sigma",
        "mu_each": r"\mu",
        "x_star_sq": r"\|x^0-x^\star\|^2",
        "sigma_star": r"\sqrt{C_0}",
    },
    provenance=(
        "ICML 2020, arXiv:1910.06378v4, Appendix E.1, Lemma 15 summed over the rounds (PDF pages 30 and 31), "
        "as formalized in Lean 4 and proved there: SCAFFOLD.ConvexFiniteRoundConvergence with "
        "Definitions/Def_SCAFFOLD_Model.lean of https://github.com/prove2me/formalpedia (Apache-2.0), status "
        "'Proved'. Not compiled here. Not entered: sampled clients (S < N), eta_g > 1, weighted means "
        "(mu > 0); NonconvexFiniteRoundConvergence (Lemma 19), whose controls start from K gradients at "
        "x^0. Text not at hand: the appendix itself"
    ),
)


def convex_clients() -> Theorem:
    """Mean f(x^r) - f* <= V_0/(h T) + 12 h sigma^2/(K N) (1 + N), V_0 = ||x^0 - x*||^2 + 9 h^2 C_0."""
    return Theorem(
        key="karimireddy2020.convex",
        variant="lemmas",
        kind="theorem",
        title="SCAFFOLD on convex clients",
        source=f"{PAPER.citation}, Appendix E.1, Lemma 15, summed; of Theorem III",
        lhs=LeftSide(
            "f_gap",
            r"\frac1T\sum_{r=0}^{T-1}\mathbb{E}f(x^r)-f(x^\star)",
            "mean",
            unit=VALUE,
            averaging="mean over the rounds 0..T-1",
        ),
        parts={
            "optimization": x_star_sq / (h * s.T),
            "heterogeneity": 9 * h * sigma_star**2 / s.T,
            "noise": 12 * h * s.sigma_l**2 / (s.K * s.m) * (1 + s.m),
        },
        conditions=(Condition("K eta_l <= 1/(81 beta)", 81 * s.L * h, sp.S.One), convex(mu_each, s.L)),
        scope=Scope(("SCAFFOLD",), "none", common_start=True, letters={"option": "II", "eta_s": 1.0}),
        remark="S = N, eta_g = 1 and mu = 0 of the formal statement. C_0 is the mean of ||c_i^0 - grad "
        "f_i(x*)||^2, and c_i^0 = 0 in this package",
    )


def statements() -> tuple[Theorem, ...]:
    """On convex clients, all of which take part."""
    return (convex_clients(),)


__all__ = ["PAPER", "statements"]
