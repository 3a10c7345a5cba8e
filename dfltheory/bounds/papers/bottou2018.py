"""Bottou, Curtis and Nocedal 2018, "Optimization Methods for Large-Scale Machine Learning": SGD, Section 4.

Textbook theorems whose formal proofs are published: controls that no search may refute. The direction is the
server's mean of the clients' gradients: mu = mu_G = 1, M = sigma^2/m and M_V = 0 of their Assumption 4.3.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import last_gap, mu, offset, strongly_convex
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

T, m, eta, L, sigma_l, f0_gap = s.T, s.m, s.eta, s.L, s.sigma_l, s.f0_gap

PAPER = Paper(
    "SGD for large-scale learning",
    "Bottou et al. 2018, SGD",
    letters={"eta": r"\bar\alpha", "mu": "c", "sigma_l": r"\sqrt{m M}", "offset": r"\gamma+1"},
    provenance=(
        "SIAM Review 2018, arXiv:1606.04838v3, Section 4, Theorems 4.6 to 4.8 (PDF pages 26 to 29 and 32), "
        "as formalized in Lean 4 and proved there: BCN.StronglyConvexFixedStep, "
        "BCN.StronglyConvexDiminishingStep and BCN.NonconvexFixedStep of "
        "https://github.com/prove2me/formalpedia (Apache-2.0), status 'Proved'. Not compiled here; not "
        "entered: Theorems 4.9 and 4.10, limits without a rate. Text not at hand: the article itself"
    ),
)


def _stated(name: str, title: str, lhs: LeftSide, parts: dict, *also: Condition) -> Theorem:
    return Theorem(
        key=f"bottou2018.theorem_{name}", variant="printed", kind="theorem", title=title, lhs=lhs,
        parts=parts, source=f"{PAPER.citation}, Theorem {name.replace('_', '.')}",
        conditions=(Condition("alpha <= mu/(L M_G)", L * eta, sp.S.One), *also),
        scope=Scope(("FedAvg",), "none", common_start=True),
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """A fixed step, on strongly convex functions and on smooth ones; steps that decrease, on the former."""
    last = last_gap(r"\mathbb{E}[F(w_T)-F_\star]")
    beta = eta * offset
    worst = sp.Max(beta**2 * L * sigma_l**2 / (2 * m * (beta * mu - 1)), offset * f0_gap)
    floor, shrink = eta * L * sigma_l**2 / (2 * m * mu), (1 - eta * mu) ** T
    return (
        _stated(
            "4_6", "SGD with a fixed step on strongly convex functions",
            last, {"optimization": shrink * f0_gap, "noise": (1 - shrink) * floor}, *strongly_convex(mu, L),
        ),
        _stated(
            "4_7", "SGD with decreasing steps on strongly convex functions", last,
            {"both": worst / (offset + T)},
            Condition("beta > 1/(c mu)", sp.S.One, mu * beta, strict=True),
            Condition("gamma > 0", sp.S.One, offset, strict=True),
            *strongly_convex(mu, L),
        ),
        _stated(
            "4_8", "SGD with a fixed step on smooth functions",
            LeftSide(
                "grad_norm_sq", r"\mathbb{E}\Big[\frac1T\sum_{k=0}^{T-1}\|\nabla F(w_k)\|^2\Big]", "mean",
                averaging="mean over the rounds 0..T-1",
            ),
            {"optimization": 2 * f0_gap / (eta * T), "noise": eta * L * sigma_l**2 / m},
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
