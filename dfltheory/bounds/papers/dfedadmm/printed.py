"""Li et al. 2023, "DFedADMM: Dual Constraints Controlled Model Inconsistency for Decentralized FL".

Theorem 1 as stated and as derived, its corollary, and the rates of abstract and introduction. The glossary's
``lam`` is the paper's psi, ``lam_admm`` its penalty lambda. The lemmas and displays of appendix C are in
``proof.py``.
"""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory import admm
from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedadmm import PAPER
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
from dfltheory.bounds.units import Expr

L, K, T, m, eta, rho, rho0, lam, pen = s.L, s.K, s.T, s.m, s.eta, s.rho, s.rho0, s.lam, s.lam_admm
sigma_l, sigma_g, B, f0, S2 = s.sigma_l, s.sigma_g, s.B, s.f0_gap, s.S2
R = sp.Rational

kappa = sp.Symbol("kappa", positive=True)
C2 = sp.Symbol("C2", positive=True)
gamma, left = sp.symbols("gamma left", nonnegative=True)

LHS = LeftSide(
    "grad_norm_sq_w",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla f(w^t)\|^2",
    "mean",
    averaging=r"mean over the rounds 0..T-1 at "
    r"$w^t = \bar x^t + ((1-\gamma)/\gamma)(\bar x^t - \bar x^{t-1})$, $w^0 = \bar x^0$",
)
ASSUMPTIONS = (
    "1: every $f_i$ is $L$-smooth",
    r"2: stochastic gradients are unbiased with variance at most $\sigma_l^2$",
    r"3: $\|\nabla f_i(x) - \nabla f(x)\|^2 \le \sigma_g^2$ for every $i$ and $x$",
    r"4: $\|\nabla f_i(x)\| \le B$ for every $i$ and $x$",
    "Definition 1: $W$ is symmetric, doubly stochastic and primitive on a connected graph",
)
SCHEDULE = {"eta": 1 / (L * K * sqrt(T)), "lam_admm": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T)}

KAPPA = Definition(kappa, R(1, 2) - 1152 * L**2 * eta**2 * K**2, r"\kappa", "Theorem 1")
C2_DEFINITION = Definition(
    C2,
    16 * eta**2 * K**2 * (3 * sigma_g**2 + 2 * sigma_l**2 + 4 * B**2) + pen**2 * (sigma_l**2 + B**2),
    "C_2",
    "Lemma 8",
)


GAMMA = Definition(
    gamma,
    1 - (1 - eta / pen) ** K,
    r"\gamma",
    "weight of the newest gradients",
    ("eta", "lam_admm", "K"),
    admm.gamma,
)


LEFT = Definition(
    left,
    (1 - eta / pen) ** K,
    r"(1-\gamma)",
    "weight of what was there before the round",
    ("eta", "lam_admm", "K"),
    admm.left,
)
SCOPE = Scope(
    ("DFedADMMSAM", "DFedADMM"),
    "definition 1",
    common_start=True,
    bounded_gradients=True,
    samplewise=False,
    notation=PAPER.letters,
)
"""Lemma 8 sets X^0 = 0: one start."""
ENOUGH_STEPS = Condition("K >= lam_admm/eta", pen, K * eta)


def theorem(variant: str, title: str, source: str, **fields: object) -> Theorem:
    """A variant of Theorem 1."""
    return Theorem(
        key="dfedadmm.theorem_1",
        variant=variant,
        kind="theorem",
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=LHS,
        **{"schedule": SCHEDULE, "scope": SCOPE, **fields},  # type: ignore[arg-type]
    )


def printed_terms() -> dict[str, Expr]:
    """The main text's terms without SAM."""
    lots = 1 + 192 * L**2 * eta**2 * K**2
    moment = sigma_l**2 + B**2
    return {
        "optimization": f0 / (pen * kappa * T),
        "drift": 96 * L**2 * eta**2 * K**2 / kappa * (3 * sigma_g**2 + 2 * sigma_l**2 + B**2),
        "dual": 3 * pen**2 * L**2 * (1 + 384 * L**2 * eta**2 * K**2) / kappa * moment,
        "noise": L * pen / (2 * kappa) * moment,
        "consensus of the local steps": 96
        * eta**2
        * K**2
        * L**2
        * lots
        * (3 * sigma_g**2 + 2 * sigma_l**2 + 4 * B**2)
        / (kappa * (1 - lam) ** 2),
        "consensus of the dual": 6 * pen**2 * L**2 * lots * moment / (kappa * (1 - lam) ** 2),
    }


def printed() -> tuple[Theorem, ...]:
    """The main text's seven terms; the appendix merges the two consensus terms through C_2."""
    sharpness = 6 * rho**2 * pen * L**2 / kappa * (sigma_l**2 + B**2)
    conditions = (
        Condition("eta <= 1/(96 K L)", 96 * eta * K * L, sp.Integer(1)),
        Condition("eta <= 2 lam_admm", eta, 2 * pen),
        ENOUGH_STEPS,
        Condition("kappa > 0", 1152 * L**2 * eta**2 * K**2, R(1, 2), strict=True),
    )
    terms = printed_terms()
    apart = {name: term for name, term in terms.items() if not name.startswith("consensus")}
    merged = 6 * L**2 * (1 + 192 * L**2 * eta**2 * K**2) / kappa * C2 / (1 - lam) ** 2
    common = {"conditions": conditions, "assumptions": ASSUMPTIONS}
    return (
        theorem(
            "printed",
            "Convergence of DFedADMM and DFedADMM-SAM",
            "Theorem 1",
            definitions=(KAPPA,),
            parts={**terms, "sharpness": sharpness},
            **common,
        ),
        theorem(
            "appendix",
            "Convergence of DFedADMM and DFedADMM-SAM, as derived",
            "appendix C.1, last display",
            definitions=(KAPPA, C2_DEFINITION),
            parts={**apart, "consensus": merged, "sharpness": sharpness},
            **common,
        ),
    )


def rate(
    key: str, variant: str, title: str, source: str, parts: dict[str, Expr], **fields: object
) -> Theorem:
    """A statement in O(.) under the corollary's schedule."""
    return Theorem(
        key=f"dfedadmm.{key}",
        variant=variant,
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=LHS,
        parts=parts,
        **{
            "kind": "corollary",
            "schedule": SCHEDULE,
            "order": True,
            "assumptions": ASSUMPTIONS,
            "of": ("dfedadmm.theorem_1", "printed"),
            "scope": SCOPE,
            **fields,
        },  # type: ignore[arg-type]
    )


def corollaries() -> tuple[Theorem, ...]:
    """Corollary 1 with and without SAM, as stated."""
    moment = B**2 + sigma_l**2
    terms = {
        "optimization and noise": (f0 + moment / sqrt(K)) / sqrt(T),
        "consensus of the local steps": (moment + sigma_g**2) / (T * (1 - lam) ** 2),
        "consensus of the dual": moment / (T * K * (1 - lam) ** 2),
    }
    sharpness = {"sharpness": L * moment / (T ** R(3, 2) * sqrt(K))}
    admm, sam = "Rate of DFedADMM", "Rate of DFedADMM-SAM"
    no_sam = {"eta": SCHEDULE["eta"], "lam_admm": SCHEDULE["lam_admm"], "rho": sp.S.Zero}
    first = {"optimization": 1 / sqrt(K * T), "consensus": 1 / (K * T * (1 - lam) ** 2)}
    third = {"sharpness": 1 / (T ** R(3, 2) * sqrt(K))}
    again = {"repeated": 1 / (K * T * (1 - lam) ** 2)}
    return (
        rate("corollary_1", "printed", sam, "Corollary 1", {**terms, **sharpness}),
        rate("corollary_1", "printed_admm", admm, "Corollary 1, rho = 0", terms, schedule=no_sam),
        rate("rate_abstract", "printed", admm, "abstract", first, kind="rate", schedule=no_sam),
        rate("rate_abstract_sam", "printed", sam, "abstract", {**first, **third}, kind="rate"),
        rate(
            "rate_abstract_sam", "introduction", sam, "introduction, before the contributions",
            {**first, **again}, kind="rate",
        ),
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Theorem 1, its corollary and the quoted rates."""
    return (*printed(), *corollaries())


__all__ = ["statements"]
