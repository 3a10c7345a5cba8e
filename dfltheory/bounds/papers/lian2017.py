"""Lian et al. 2017, "Can Decentralized Algorithms Outperform Centralized Algorithms?" (D-PSGD), NeurIPS 2017.

The text of its Theorem 1 and Corollary 2 was not at hand: they are not entered, and nothing here is written
from memory. Entered is the rate that a later paper, which shares three of the authors, states for D-PSGD.
"""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import LeftSide, Theorem

T, m, sigma_l, sigma_g = s.T, s.m, s.sigma_l, s.sigma_g
R = sp.Rational

PAPER = Paper(
    "D-PSGD",
    "Lian et al. 2017, D-PSGD",
    letters={"m": "n", "sigma_l": r"\sigma", "sigma_g": r"\zeta"},
    provenance=(
        "as restated in the abstract of Tang, Lian, Yan, Zhang and Liu, D^2: Decentralized Training over "
        "Decentralized Data, ICML 2018 (PMLR 80:4848-4856; arXiv:1803.07068). Not entered, text not at hand: "
        "Theorem 1, Corollary 2 and Theorem 3 of Lian et al. (NeurIPS 2017; arXiv:1705.09056)"
    ),
)


def rate() -> Theorem:
    """sigma/sqrt(n T) + (n zeta^2)^(1/3)/T^(2/3), in O(.)."""
    return Theorem(
        key="lian2017.rate",
        variant="restated",
        kind="rate",
        title="Rate of D-PSGD as restated",
        source=f"{PAPER.citation}, as restated in Tang et al. 2018, D^2, abstract",
        lhs=LeftSide(
            "grad_norm_sq",
            r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla f(\bar x^t)\|^2",
            "mean",
            averaging="mean over the rounds 0..T-1 at the mean model",
        ),
        parts={
            "noise": sigma_l / sqrt(m * T),
            "heterogeneity": (m * sigma_g**2) ** R(1, 3) / T ** R(2, 3),
        },
        scope=Scope(("DPSGD",), "definition 1", common_start=True, letters={"order": "combine-then-adapt"}),
        order=True,
        remark="The abstract gives the rate alone: the left-hand side, the network and the common start are "
        "ours, and no step size is stated",
    )


def statements() -> tuple[Theorem, ...]:
    """The restated rate."""
    return (rate(),)


__all__ = ["PAPER", "statements"]
