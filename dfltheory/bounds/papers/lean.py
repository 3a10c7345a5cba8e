"""Gradient descent and SGD as libraries of Lean 4 state and prove them: controls that no search may refute.

Formal statements leave nothing to be read between the lines. What is entered was read in the libraries'
files, none of which has a ``sorry`` on the way to it; nothing was compiled here.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import (
    EXACT,
    convex,
    last_distance,
    last_gap,
    mu,
    strongly_convex,
    x_star_sq,
)
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import VALUE
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

T, eta, L, S2, f0_gap = s.T, s.eta, s.L, s.S2, s.f0_gap

PAPER = Paper(
    "Gradient descent and SGD, in Lean",
    "Lean 4 libraries",
    letters={"mu": r"\mu", "S2": r"\sigma^2", "x_star_sq": r"\|x_0-x^\star\|^2"},
    provenance=(
        "Optlib/Algorithm/GD of https://github.com/optsuite/optlib (Apache-2.0), commit 37872a5577dc: "
        "gradient_method and gradient_method_strong_convex; the former also as gd_rate in "
        "Gd/Lean/Aristotle/Proof.lean of https://github.com/damek/gd-lean, commit 260539022f5f, and at step "
        "1/L as gd_convex_convergence in GradientDescent/Convergence.lean of "
        "https://github.com/velvetmonkey/gradient-descent-lean (Apache-2.0), commit 812c13df7302, whose "
        "gd_strongly_convex_convergence is the other rate; Algorithms/SGD.lean of "
        "https://github.com/Trace231/SGD_formal, commit c1781994be31: its three theorems of convergence"
    ),
)

SMALL = Condition("eta <= 1/L", L * eta, sp.S.One)
STRONG = strongly_convex(mu, L)
DISTANCE = last_distance(r"\mathbb{E}\|x_T-x^\star\|^2")
ONE_STEP = "the server's round with K = 1 is one step on f"
SECOND = f"sigma^2 bounds E||g||^2, which of the server's mean is no more than of the clients'; {ONE_STEP}"


def _stated(
    name: str,
    title: str,
    lhs: LeftSide,
    parts: dict,
    conditions: tuple,
    library: str,
    remark: str = ONE_STEP,
    bounded: bool = False,
) -> Theorem:
    return Theorem(
        key=f"lean.{name}", variant="printed", kind="theorem", title=title, lhs=lhs, parts=parts,
        source=f"{PAPER.citation}, {library}", conditions=conditions, remark=remark,
        scope=Scope(("FedAvg",), "none", common_start=True, bounded_gradients=bounded),
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Gradient descent on convex and strongly convex functions, and SGD on smooth ones beside."""
    return (
        _stated(
            "gd_convex", "Gradient descent on convex functions", last_gap(r"f(x_T)-f(x^\star)"),
            {"optimization": x_star_sq / (2 * T * eta)}, (SMALL, convex(mu, L), EXACT),
            "optlib, gradient_method",
        ),
        _stated(
            "gd_strongly_convex", "Gradient descent on strongly convex functions", DISTANCE,
            {"optimization": (1 - 2 * eta * mu * L / (mu + L)) ** T * x_star_sq},
            (Condition("eta <= 2/(mu + L)", eta * (mu + L), sp.Integer(2)), *STRONG, EXACT),
            "optlib, gradient_method_strong_convex",
        ),
        _stated(
            "gd_contraction", "Gradient descent on strongly convex functions, by mu alone", DISTANCE,
            {"optimization": (1 - eta * mu) ** T * x_star_sq}, (SMALL, *STRONG, EXACT),
            "gradient-descent-lean, gd_strongly_convex_convergence",
        ),
        _stated(
            "sgd_nonconvex", "SGD on smooth functions",
            LeftSide(
                "grad_norm_sq", r"\frac1T\sum_{t<T}\mathbb{E}\|\nabla f(w_t)\|^2", "mean",
                averaging="mean over the rounds 0..T-1",
            ),
            {"optimization": 2 * f0_gap / (eta * T), "noise": eta * L * S2}, (),
            "SGD_formal, sgd_convergence_nonconvex_v2", f"for every eta > 0; {SECOND}", bounded=True,
        ),
        _stated(
            "sgd_convex", "SGD on convex functions",
            LeftSide(
                "f_gap", r"\frac1T\sum_{t<T}\mathbb{E}f(w_t)-f(w^\star)", "mean", unit=VALUE,
                averaging="mean over the rounds 0..T-1",
            ),
            {"optimization": x_star_sq / (2 * eta * T), "noise": eta * S2 / 2}, (convex(mu, L),),
            "SGD_formal, sgd_convergence_convex_v2", f"for every eta > 0; {SECOND}", bounded=True,
        ),
        _stated(
            "sgd_strongly_convex", "SGD on strongly convex functions", DISTANCE,
            {"optimization": (1 - eta * mu) ** T * x_star_sq, "noise": eta * S2 / mu},
            (SMALL, Condition("eta mu < 1", eta * mu, sp.S.One, strict=True), *STRONG),
            "SGD_formal, sgd_convergence_strongly_convex_v2",
            f"{SECOND}. It is to do so along the run, where the proof looks; at every w, as formalized, no "
            "problem but that of dimension 0 meets it, as E||g(w)||^2 >= mu^2 ||w - w*||^2",
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
