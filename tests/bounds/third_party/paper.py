"""A third-party paper: descent by D-PSGD on identical clients with exact gradients and
a common start.
"""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import strongly_convex
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH_SQ, Quantity
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

T, L, eta, mu_each, x_star_sq = s.T, s.L, s.eta, s.mu_each, s.x_star_sq
SPARE = Quantity(
    "spare", r"\epsilon", GRADIENT_SQ, "a margin of the third-party theorem"
)
PAPER = Paper(
    "Descent of D-PSGD",
    "Third party 2026",
    notation={"m": "n"},
    provenance="written for a test",
)
SCOPE = Scope(
    ("DPSGD",),
    "symmetric",
    common_start=True,
    hyperparameters={"order": "combine-then-adapt"},
)
EXACT = (
    Condition("identical clients", 2 * s.sigma_g, s.sigma_g),
    Condition("exact gradients", 2 * s.sigma_l, s.sigma_l),
)
STEP = Condition("eta <= 1/L", eta * L, sp.S.One)
MEAN = LeftSide(
    "grad_norm_sq",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla f(\bar x^t)\|^2",
    "mean",
    averaging="mean over the rounds 0..T-1 at the mean model",
)
LAST = LeftSide(
    "dist_sq", r"\|\bar x^T-x_\star\|^2", "last", first=T, last=T, unit=LENGTH_SQ
)
DESCENT = {"optimization": 2 * s.f0_gap / (eta * T)}
SLOW = {"optimization": 2 * L * s.f0_gap / sqrt(T)}


def stated(
    name, kind, parts, conditions=(STEP, *EXACT), lhs=MEAN, variant="printed", **more
) -> Theorem:
    words = {
        "key": f"third_party.{name}",
        "variant": variant,
        "kind": kind,
        "title": f"Descent: {name}",
    }
    given = {"lhs": lhs, "parts": parts, "conditions": conditions, "scope": SCOPE}
    return Theorem(source=f"{PAPER.citation}, {name}", **words, **given, **more)


def statements() -> tuple[Theorem, ...]:
    steps = {"eta": 1 / (L * sqrt(T))}
    contraction = {"optimization": (1 - eta * mu_each) ** T * x_star_sq}
    convex = (STEP, *EXACT, *strongly_convex(mu_each, L))
    return (
        stated(
            "theorem_1",
            "theorem",
            DESCENT | {"spare": SPARE.symbol / T},
            quantities=(SPARE,),
        ),
        stated("theorem_1", "theorem", DESCENT, variant="corrected"),
        stated("theorem_2", "theorem", contraction, convex, LAST),
        stated(
            "corollary_1",
            "corollary",
            SLOW,
            EXACT,
            schedule=steps,
            of=("third_party.theorem_1", "corrected"),
        ),
        stated("rate", "rate", {"optimization": 1 / sqrt(T)}, EXACT, order=True),
    )


__all__ = ["PAPER", "statements"]
