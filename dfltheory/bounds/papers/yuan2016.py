"""Yuan, Ling and Yin 2016, "On the Convergence of Decentralized Gradient Descent" (DGD).

Exact gradients, convex clients, one symmetric network, all from one start. What bounds the gradients along a
run, D^2 = 2 L_h sum_i (f_i(x^0) - f_i*), is 2 L m (f(x^0) - f* + Gamma) in the glossary's words.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import (
    EXACT,
    Gamma,
    convex,
    gap_now,
    last_distance,
    mu,
    mu_each,
    strongly_convex,
    x_star_sq,
)
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import Condition, Kind, LeftSide, Theorem

T, m, eta, L, lam, G_bar = s.T, s.m, s.eta, s.L, s.lam, s.G_bar

PAPER = Paper(
    "Decentralized gradient descent",
    "Yuan et al. 2016, DGD",
    letters={"m": "n", "eta": r"\alpha", "L": "L_h", "lam": r"\beta", "lam_min": r"\lambda_n(W)",
             "mu": r"\mu_{\bar f}", "x_star_sq": r"\|\bar e(0)\|^2"},
    provenance=(
        "SIAM J. Optim. 2016, arXiv:1310.7063v3, (10), Lemmas 1 and 2, the descent in the proof of Theorem 2 "
        "and Theorem 3 (pages 7 to 13), as stated in Lean 4 (without proof) in YuanDGD.Sublinear and "
        "YuanDGD.Linear with their Settings, envs/0df444a of https://github.com/prove2me/formalpedia "
        "(Apache-2.0), commit cc1b5f740993. Not entered: Theorem 2 itself, whose constant needs a minimizer "
        "of the Lyapunov function; Corollary 1, of each client; restricted strong convexity. Text not at "
        "hand: the paper itself"
    ),
)  # fmt: skip

D_sq = 2 * L * m * (s.f0_gap + Gamma)
apart = eta**2 * D_sq / (1 - lam) ** 2
STEP = Condition("alpha <= (1 + lambda_n(W))/L_h", L * eta, 1 + s.lam_min)
EACH = (convex(mu_each, L), EXACT)


def _stated(
    name: str, kind: Kind, title: str, where: str, lhs: LeftSide, parts: dict, *also: Condition, **more
) -> Theorem:
    return Theorem(
        key=f"yuan2016.{name}", variant="printed", kind=kind, title=title, lhs=lhs, parts=parts,
        source=f"{PAPER.citation}, {where}", conditions=(STEP, *also, *EACH),
        scope=Scope(
            ("DPSGD",), "definition 1", common_start=True, letters={"order": "combine-then-adapt"}
        ), **more,
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Bounded gradients, bounded disagreement, its two consequences, and linear convergence."""
    c2 = mu * L / (mu + L)
    shrink = (1 - eta * c2 / 2) ** (T / 2)
    around = eta * L * sp.sqrt(D_sq) / (1 - lam) * sp.sqrt(4 / c2**2 - 2 * eta / c2)
    return (
        _stated(
            "equation_10", "equation", "Gradients stay bounded along DGD", "Theorem 1, (10)",
            LeftSide("own_grad_sq", r"\sum_i\|\nabla f_i(x_{(i)}(k))\|^2", "each"), {"start": D_sq},
        ),
        _stated(
            "lemma_1", "lemma", "Disagreement of DGD", "Lemma 1",
            LeftSide("consensus", r"\|x_{(i)}(k)-\bar x(k)\|^2", "each", unit=LENGTH_SQ), {"start": apart},
            remark="Stated for each client, here for their mean",
        ),
        _stated(
            "lemma_2", "lemma", "Error of DGD's mean direction", "Lemma 2",
            LeftSide("bias", r"\|g(k)-\bar g(k)\|^2", "each"), {"start": L**2 * apart},
        ),
        _stated(
            "descent", "lemma", "Descent of DGD's mean", "proof of Theorem 2",
            LeftSide("f_gap", r"\bar f(\bar x(k+1))-\bar f^\star", "each", unit=VALUE),
            {"now": gap_now, "descent": -eta / 2 * G_bar, "consensus": eta * L**2 * apart / 2},
            Condition("alpha <= 1/L", L * eta, sp.S.One),
        ),
        _stated(
            "theorem_3", "theorem", "DGD on strongly convex functions", "Theorem 3, 'in particular'",
            last_distance(r"\|\bar x(T)-x^\star\|^2"),
            {"both": (shrink * sp.sqrt(x_star_sq) + around) ** 2},
            Condition("alpha <= 1/(mu + L)", eta * (mu + L), sp.S.One), *strongly_convex(mu, L),
            remark="c_4/sqrt(1 - c_3^2) of its proof, where the theorem has O(alpha/(1 - beta)); for "
            "the mean of the clients' L stands the largest",
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
