"""Wang et al. 2021, "A Field Guide to Federated Optimization": FedAvg on convex functions, Section 6.1.

Told step by step, as the paper looks at the clients' mean after every local step: a round is one step here,
and T counts steps, tau T of the paper.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import convex, mu_each, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ, VALUE, Quantity, define
from dfltheory.bounds.theorem import Condition, Kind, LeftSide, Theorem

T, K, m, eta, L, sigma_l, beta = s.T, s.K, s.m, s.eta, s.L, s.sigma_l, s.beta
before = define(Quantity("dist_before", r"d_t^2", LENGTH_SQ, "||xbar - x*||^2 at the start of a round"))
after = define(Quantity("dist_after", r"d_{t+1}^2", LENGTH_SQ, "E||xbar - x*||^2 at the end of a round"))
V_bar = define(Quantity("V_bar", r"\bar V", LENGTH_SQ, "mean of E||x_i - xbar||^2 over a round's steps"))

PAPER = Paper(
    "FedAvg in the field guide",
    "Wang et al. 2021, Field Guide",
    letters={"m": "M", "K": r"\tau", "sigma_l": r"\sigma", "beta": r"\zeta", "x_star_sq": "D^2"},
    provenance=(
        "arXiv:2107.06917v1, Section 6.1 (PDF pages 40 and 41), as formalized in Lean 4 and proved there: "
        "FedAvg.PerRoundProgress, BoundedClientDrift, ConvexFedAvgConvergence and "
        "TunedConvexFedAvgConvergence with Definitions/Def_FedAvg_Model.lean in envs/c5ea003 of "
        "https://github.com/prove2me/formalpedia (Apache-2.0), commit 0a2e92aafbf0. Not compiled here; text "
        "not at hand: the paper itself"
    ),
)

SCOPE = Scope(("LocalSGD",), "none", common_start=True)
CONVEX = convex(mu_each, L)
SMALL = Condition("eta <= 1/(4 L)", 4 * L * eta, sp.S.One)
MEAN = LeftSide(
    "f_gap",
    r"\mathbb{E}\Big[\frac{1}{\tau T}\sum_{t=0}^{T-1}\sum_{k=1}^{\tau} F(\bar x^{(t,k)})-F(x^\star)\Big]",
    "mean",
    first=sp.S.One,
    last=T,
    unit=VALUE,
    averaging="mean over the steps 1..T at the mean model",
)
NOISE = (
    "sigma^2 bounds every client's variance there; it enters by squares that are averaged over the clients, "
    "as the glossary's does"
)


def _stated(name: str, kind: Kind, title: str, where: str, lhs: LeftSide, parts: dict, **more) -> Theorem:
    return Theorem(
        key=f"wang2021.{name}", variant="printed", kind=kind, title=title, lhs=lhs, parts=parts,
        source=f"{PAPER.citation}, {where}", scope=SCOPE, **more,
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Both lemmas, Theorem 1, and what it gives at the step that it chooses."""
    D, cubic = sp.sqrt(x_star_sq), sp.Rational(1, 3)
    drift = {"drift": 4 * K * eta**2 * sigma_l**2, "heterogeneity": 18 * K**2 * eta**2 * beta**2}
    steps = (
        1 / (4 * L),
        sp.sqrt(m / T) * D / sigma_l,
        (x_star_sq / (K * T * L * sigma_l**2)) ** cubic,
        (x_star_sq / (K**2 * T * L * beta**2)) ** cubic,
    )
    positive = tuple(Condition(f"{x} > 0", x / 2, x, strict=True) for x in (sigma_l, beta, x_star_sq))
    return (
        _stated(
            "lemma_1", "lemma", "Progress of FedAvg in a round", "Lemma 1",
            LeftSide(
                "f_gap", r"\frac1\tau\sum_{k=1}^{\tau}\mathbb{E}F(\bar x^{(t,k)})-F(x^\star)", "each",
                unit=VALUE, averaging="mean over the steps of one round",
            ),
            {"before": before / (2 * eta * K), "after": -after / (2 * eta * K),
             "noise": eta * sigma_l**2 / m, "consensus": L * V_bar},
            conditions=(SMALL, CONVEX),
        ),
        _stated(
            "lemma_2", "lemma", "Drift of FedAvg's clients", "Lemma 2",
            LeftSide("consensus", r"\mathbb{E}\|x_i^{(t,k)}-\bar x^{(t,k)}\|^2", "each", unit=LENGTH_SQ),
            drift, conditions=(SMALL, CONVEX), remark=f"Stated for each client, here for their mean; {NOISE}",
        ),
        _stated(
            "theorem_1", "theorem", "FedAvg on convex clients", "Theorem 1, (15)", MEAN,
            {"optimization": x_star_sq / (2 * eta * T), "noise": eta * sigma_l**2 / m}
            | {name: L * part for name, part in drift.items()},
            conditions=(SMALL, CONVEX),
            remark="T need not be a multiple of tau: both lemmas hold for a last round of fewer steps too, "
            f"whose drift is less. {NOISE}",
        ),
        _stated(
            "tuned", "rate", "FedAvg on convex clients with a step for T steps",
            "Theorem 1, (16) and (17)", MEAN,
            {
                "optimization": 2 * L * x_star_sq / T,
                "noise": 2 * sigma_l * D / sp.sqrt(m * T),
                "drift": 5 * (K * L * sigma_l**2 * x_star_sq**2 / T**2) ** cubic,
                "heterogeneity": 19 * (K**2 * L * beta**2 * x_star_sq**2 / T**2) ** cubic,
            },
            conditions=(*positive, CONVEX), schedule={"eta": sp.Min(*steps)},
            of=("wang2021.theorem_1", "printed"),
            remark="Where sigma, zeta or D is 0, (16) is no step size",
        ),
    )  # fmt: skip


__all__ = ["PAPER", "statements"]
