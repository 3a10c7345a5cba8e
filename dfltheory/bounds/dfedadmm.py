"""Li et al. 2023, "DFedADMM: Dual Constraints Controlled Model Inconsistency for Decentralized FL".

Theorem 1 as stated and re-derived, its corollary, and the rates of abstract and introduction. The glossary's
``lam`` is the paper's psi, ``lam_admm`` its penalty lambda. The lemmas and displays of appendix C are in
:mod:`dfltheory.bounds.dfedadmm_proof`.
"""

from __future__ import annotations

import numpy as np
import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
from dfltheory.bounds.units import Expr

PAPER = "Li et al. 2023, DFedADMM"
L, K, T, m, eta, rho, rho0, lam, pen = s.L, s.K, s.T, s.m, s.eta, s.rho, s.rho0, s.lam, s.lam_admm
sigma_l, sigma_g, B, f0, S2 = s.sigma_l, s.sigma_g, s.B, s.f0_gap, s.S2
R = sp.Rational

kappa = sp.Symbol("kappa", positive=True)
C2 = sp.Symbol("C2", positive=True)
gamma, theta, p, Gamma2 = sp.symbols("gamma theta p Gamma2", nonnegative=True)
V, Z, S = sp.symbols("V Z S", nonnegative=True)

LHS = LeftSide(
    "grad_norm_sq_w",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla f(w^t)\|^2",
    "mean",
    averaging="mean over the rounds 0..T-1 at w^t = xbar^t + ((1-gamma)/gamma)(xbar^t - xbar^{t-1}), "
    "w^0 = xbar^0",
)
ASSUMPTIONS = (
    "1: every f_i is L-smooth",
    "2: stochastic gradients are unbiased with variance at most sigma_l^2",
    "3: ||grad f_i(x) - grad f(x)||^2 <= sigma_g^2 for every i and x",
    "4: ||grad f_i(x)|| <= B for every i and x",
    "Definition 1: W is symmetric, doubly stochastic and primitive on a connected graph",
)
CORRECTED_ASSUMPTIONS = (
    "every f_i is L-smooth; if rho > 0, so is F_i(.; xi) for almost every xi",
    "stochastic gradients are unbiased with variance at most sigma_l^2; samples are independent over "
    "clients, steps and rounds",
    "f is bounded below by f*",
    "W symmetric doubly stochastic with ||W - 11'/m|| = lam < 1",
    "neighbours mix z_l (line 19), and all clients start at the same model",
)
BOUNDED = "||grad f_i(x)|| <= B for every i and x"
MOMENT = "(1/m) sum_i E||g_{i,k}^t||^2 <= S2 for all t and k"
SCHEDULE = {"eta": 1 / (L * K * sqrt(T)), "lam_admm": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T)}

KAPPA = Definition(kappa, R(1, 2) - 1152 * L**2 * eta**2 * K**2, r"\kappa", "Theorem 1")
C2_DEFINITION = Definition(
    C2,
    16 * eta**2 * K**2 * (3 * sigma_g**2 + 2 * sigma_l**2 + 4 * B**2) + pen**2 * (sigma_l**2 + B**2),
    "C_2",
    "Lemma 8",
)


def _left_over(eta: np.ndarray, penalty: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(1 - eta/penalty)^steps without cancellation for small ratios; 1 for no steps."""
    ratio = eta / penalty
    stable = np.exp(steps * np.log1p(-np.minimum(ratio, 1.0)))
    return np.where(steps == 0, 1.0, np.where(ratio < 1, stable, (1 - ratio) ** steps))


def _gamma(eta: np.ndarray, penalty: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """1 - (1 - eta/penalty)^steps without cancellation for small ratios."""
    ratio = eta / penalty
    stable = -np.expm1(steps * np.log1p(-np.minimum(ratio, 1.0)))
    return np.where(steps == 0, 0.0, np.where(ratio < 1, stable, 1 - (1 - ratio) ** steps))


GAMMA = Definition(
    gamma,
    1 - (1 - eta / pen) ** K,
    r"\gamma",
    "weight of the newest gradients",
    ("eta", "lam_admm", "K"),
    _gamma,
)
THETA = Definition(
    theta,
    (1 - eta / pen) ** K / (1 - (1 - eta / pen) ** K),
    r"\theta",
    "(1 - gamma)/gamma",
    ("eta", "lam_admm", "K"),
    lambda eta, penalty, steps: _left_over(eta, penalty, steps) / _gamma(eta, penalty, steps),
)
P = Definition(
    p,
    1 - (1 - eta / pen) ** (K - 1),
    "p",
    "share of the way that the local steps go",
    ("eta", "lam_admm", "K"),
    lambda eta, penalty, steps: _gamma(eta, penalty, steps - 1),
)
GAMMA2 = Definition(
    Gamma2,
    (eta / pen) * (2 - gamma) / ((2 - eta / pen) * gamma),
    r"\Gamma_2",
    "sum_k (gamma_k/gamma)^2",
)
V_DEFINITION = Definition(V, (sigma_l + L * rho) ** 2, "V", "noise of a SAM gradient, mean square")
Z_DEFINITION = Definition(Z, (sigma_g + L * rho) ** 2, "Z", "heterogeneity of a SAM gradient, mean square")
S_BOUNDED = Definition(S, sqrt(B**2 + sigma_l**2) + L * rho, "S", "second moment of a SAM gradient, root")
S_MOMENT = Definition(S, sqrt(S2), "S", "second moment of the stochastic gradients, root")

STEP_ADMM = Condition("eta <= lam_admm", eta, pen)
ENOUGH_STEPS = Condition("K >= lam_admm/eta", pen, K * eta)


def _theorem(variant: str, title: str, source: str, **fields: object) -> Theorem:
    return Theorem(
        key="dfedadmm.theorem_1",
        variant=variant,
        kind="theorem",
        title=title,
        source=f"{PAPER}, {source}",
        lhs=LHS,
        **{"schedule": SCHEDULE, **fields},  # type: ignore[arg-type]
    )


def _printed_terms() -> dict[str, Expr]:
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
    terms = _printed_terms()
    apart = {name: term for name, term in terms.items() if not name.startswith("consensus")}
    merged = 6 * L**2 * (1 + 192 * L**2 * eta**2 * K**2) / kappa * C2 / (1 - lam) ** 2
    common = {"conditions": conditions, "assumptions": ASSUMPTIONS}
    return (
        _theorem(
            "printed",
            "Convergence of DFedADMM and DFedADMM-SAM",
            "Theorem 1",
            definitions=(KAPPA,),
            parts={**terms, "sharpness": sharpness},
            **common,
        ),
        _theorem(
            "appendix",
            "Convergence of DFedADMM and DFedADMM-SAM, as derived",
            "appendix C.1, last display",
            definitions=(KAPPA, C2_DEFINITION),
            parts={**apart, "consensus": merged, "sharpness": sharpness},
            **common,
        ),
    )


def corrected_b0() -> Theorem:
    """The printed theorem holds without SAM once eta <= lam_admm."""
    return _theorem(
        "corrected_b0",
        "Convergence of DFedADMM, the printed bound with its condition repaired",
        "Theorem 1 repaired (Theorem B0; rho = 0)",
        definitions=(KAPPA,),
        parts=_printed_terms(),
        conditions=(
            Condition("eta < 1/(96 K L)", 96 * eta * K * L, sp.Integer(1), strict=True),
            STEP_ADMM,
            ENOUGH_STEPS,
        ),
        assumptions=(*CORRECTED_ASSUMPTIONS, ASSUMPTIONS[2], BOUNDED),
        schedule={name: SCHEDULE[name] for name in ("eta", "lam_admm")},
    )


def _moment_terms(noise: Expr) -> dict[str, Expr]:
    return {
        "optimization": 2 * f0 / (pen * T),
        "noise": noise,
        "dual, consensus and sharpness": (L * rho + L * pen * S * (theta + lam / (1 - lam) + 2 * p)) ** 2,
    }


def corrected() -> tuple[Theorem, ...]:
    """Theorem B1 under the paper's bounded gradients and for a given second moment; B1'."""
    half = Condition("lam_admm <= 1/(2 L)", 2 * L * pen, sp.Integer(1))
    noise = 2 * L * pen * Gamma2 * V / m
    weights = (GAMMA, THETA, P, GAMMA2)
    return (
        _theorem(
            "corrected",
            "Convergence of DFedADMM and DFedADMM-SAM under bounded gradients, re-derived",
            "Theorem 1 re-derived (Theorem B1 with S = sqrt(B^2 + sigma_l^2) + L rho)",
            definitions=(*weights, V_DEFINITION, S_BOUNDED),
            parts=_moment_terms(noise),
            conditions=(STEP_ADMM, half),
            assumptions=(*CORRECTED_ASSUMPTIONS, BOUNDED),
        ),
        _theorem(
            "corrected_b1",
            "Convergence of DFedADMM and DFedADMM-SAM for a second moment S2, re-derived",
            "Theorem 1 re-derived (Theorem B1)",
            definitions=(*weights, V_DEFINITION, S_MOMENT),
            parts=_moment_terms(noise),
            conditions=(STEP_ADMM, half),
            assumptions=(*CORRECTED_ASSUMPTIONS, MOMENT),
        ),
        _theorem(
            "corrected_b1_prime",
            "Convergence of DFedADMM and DFedADMM-SAM for any penalty, re-derived",
            "Theorem 1 re-derived (Theorem B1')",
            definitions=(THETA, P, S_MOMENT),
            parts=_moment_terms(L * pen * S2),
            conditions=(STEP_ADMM,),
            assumptions=(*CORRECTED_ASSUMPTIONS, MOMENT),
        ),
    )


def corrected_b2() -> Theorem:
    """Theorem B2: no bounded gradients."""
    spread = L * pen * lam / (1 - lam)
    return _theorem(
        "corrected_b2",
        "Convergence of DFedADMM and DFedADMM-SAM without bounded gradients, re-derived",
        "Theorem 1 re-derived (Theorem B2)",
        definitions=(GAMMA, THETA, P, GAMMA2, V_DEFINITION, Z_DEFINITION),
        parts={
            "optimization": R(13, 5) * f0 / (pen * T),
            "noise": (R(13, 5) * L * pen + R(17, 2) * (L * pen * theta) ** 2) * Gamma2 * V / m,
            "drift": (L * pen * p) ** 2 * (152 * Z + 76 * V),
            "consensus": 30 * spread**2 * (Z + Gamma2 * V),
            "sharpness": 4 * L**2 * rho**2,
        },
        conditions=(
            STEP_ADMM,
            Condition("lam_admm <= 1/(4 L)", 4 * L * pen, sp.Integer(1)),
            Condition("L lam_admm theta <= 1/4", 4 * L * pen * theta, sp.Integer(1)),
            Condition("L lam_admm p <= 1/32", 32 * L * pen * p, sp.Integer(1)),
            Condition("8 L lam_admm lam <= 1 - lam", 8 * L * pen * lam, 1 - lam),
        ),
        assumptions=(
            *CORRECTED_ASSUMPTIONS,
            "(1/m) sum_i ||grad f_i(x) - grad f(x)||^2 <= sigma_g^2 for all x",
        ),
    )


def _rate(
    key: str, variant: str, title: str, source: str, parts: dict[str, Expr], **fields: object
) -> Theorem:
    return Theorem(
        key=f"dfedadmm.{key}",
        variant=variant,
        title=title,
        source=f"{PAPER}, {source}",
        lhs=LHS,
        parts=parts,
        **{
            "kind": "corollary",
            "schedule": SCHEDULE,
            "order": True,
            "assumptions": ASSUMPTIONS,
            "of": ("dfedadmm.theorem_1", "printed"),
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
        _rate("corollary_1", "printed", sam, "Corollary 1", {**terms, **sharpness}),
        _rate("corollary_1", "printed_admm", admm, "Corollary 1, rho = 0", terms, schedule=no_sam),
        *corrected_corollaries(),
        _rate("rate_abstract", "printed", admm, "abstract", first, kind="rate", schedule=no_sam),
        _rate("rate_abstract_sam", "printed", sam, "abstract", {**first, **third}, kind="rate"),
        _rate(
            "rate_abstract_sam", "introduction", sam, "introduction, before the contributions",
            {**first, **again}, kind="rate",
        ),
    )  # fmt: skip


def corrected_corollaries() -> tuple[Theorem, ...]:
    """Corollary B: (i) the schedule that gives 1/sqrt(KT), and (ii) the paper's own."""
    noise = Definition(V, (sigma_l + L * rho0 / sqrt(T)) ** 2, "V", "noise of a SAM gradient, mean square")
    fields = {
        "kind": "corollary",
        "order": False,
        "of": ("dfedadmm.theorem_1", "corrected_b1"),
        "assumptions": (*CORRECTED_ASSUMPTIONS, MOMENT),
    }
    ratio = {pen: 1 / (L * sqrt(K * T)), eta: 1 / (L * K * sqrt(T))}
    paper = tuple(
        Definition(d.symbol, d.expr.xreplace(ratio), d.latex, d.meaning) for d in (GAMMA, THETA, P, GAMMA2)
    )
    return (
        _rate(
            "corollary_1",
            "corrected",
            "Rate of DFedADMM and DFedADMM-SAM under lam_admm = sqrt(K/T)/L, re-derived",
            "Corollary 1 re-derived (Corollary B(i))",
            {
                "optimization": 2 * L * f0 / sqrt(K * T),
                "noise": 2 * R(28, 25) * V / (m * sqrt(K * T)),
                "dual, consensus and sharpness": (
                    L * rho0 / sqrt(T) + sqrt(K / T) * S * (R(187, 100) + lam / (1 - lam))
                )
                ** 2,
            },
            definitions=(noise, S_MOMENT),
            conditions=(Condition("T >= 4 K", 4 * K, T),),
            **{**fields, "schedule": {
                "lam_admm": sqrt(K / T) / L, "eta": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T)
            }},
        ),
        _rate(
            "corollary_1",
            "corrected_paper_schedule",
            "Rate of DFedADMM and DFedADMM-SAM under the paper's schedule, re-derived",
            "Corollary 1 re-derived (Corollary B(ii))",
            {
                "optimization": 2 * L * sqrt(K) * f0 / sqrt(T),
                "noise": 2 * Gamma2 * V / (m * sqrt(K * T)),
                "dual, consensus and sharpness": (
                    L * rho0 / sqrt(T) + S / sqrt(K * T) * (theta + lam / (1 - lam) + 2 * p)
                )
                ** 2,
            },
            definitions=(*paper, noise, S_MOMENT),
            conditions=(Condition("K T >= 4", sp.Integer(4), K * T),),
            **{**fields, "schedule": SCHEDULE},
        ),
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Theorem 1, its corollary and the quoted rates."""
    return (*printed(), *corrected(), corrected_b0(), corrected_b2(), *corollaries())


__all__ = ["statements"]
