"""DFedADMM re-derived: Theorems B0, B1, B1' and B2, rounded and with the constants that their proofs give;
Corollary B."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp
from sympy import sqrt

from dfltheory import admm
from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedadmm.printed import (
    ASSUMPTIONS,
    ENOUGH_STEPS,
    GAMMA,
    KAPPA,
    SCHEDULE,
    SCOPE,
    gamma,
    printed_terms,
    rate,
    theorem,
)  # fmt: skip
from dfltheory.bounds.theorem import Condition, Definition, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.constants import FRESH_ROUND, FRESH_STEP

L, K, T, m, eta, rho, rho0, lam, pen = s.L, s.K, s.T, s.m, s.eta, s.rho, s.rho0, s.lam, s.lam_admm
sigma_l, sigma_g, B, f0, S2 = s.sigma_l, s.sigma_g, s.B, s.f0_gap, s.S2
R = sp.Rational
theta, p, Gamma2 = sp.symbols("theta p Gamma2", nonnegative=True)
V, Z, S = sp.symbols("V Z S", nonnegative=True)


CORRECTED_ASSUMPTIONS = (
    r"every $f_i$ is $L$-smooth; if $\rho > 0$, so is $F_i(\cdot\,; \xi)$ for almost every $\xi$",
    r"stochastic gradients are unbiased with variance at most $\sigma_l^2$; samples are independent over "
    "clients, steps and rounds",
    "$f$ is bounded below by $f^*$",
    r"$W$ symmetric doubly stochastic with $\|W - 11'/m\| = \psi < 1$",
    "neighbors mix $z_l$ (line 19), and all clients start at the same model",
)


RE_DERIVED = replace(
    SCOPE,
    network="symmetric",
    sequence=("fixed", "periodic", FRESH_STEP, FRESH_ROUND),
    samplewise=True,
)
"""A round has one gossip step, so that one draw for each round suffices."""


UNBOUNDED = replace(RE_DERIVED, bounded_gradients=False)


BOUNDED = r"$\|\nabla f_i(x)\| \le B$ for every $i$ and $x$"


DIVERSITY = r"$(1/m) \sum_i \|\nabla f_i(x) - \nabla f(x)\|^2 \le \sigma_g^2$ for all $x$"


MOMENT = r"$(1/m) \sum_i \mathbb{E}\|g_{i,k}^t\|^2 \le S^2$ for all $t$ and $k$"


THETA = Definition(
    theta,
    (1 - eta / pen) ** K / (1 - (1 - eta / pen) ** K),
    r"\theta",
    "(1 - gamma)/gamma",
    ("eta", "lam_admm", "K"),
    admm.theta,
)


P = Definition(
    p,
    1 - (1 - eta / pen) ** (K - 1),
    "p",
    "share of the way that the local steps go",
    ("eta", "lam_admm", "K"),
    lambda eta, penalty, steps: admm.gamma(eta, penalty, steps - 1),
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


def corrected_b0() -> Theorem:
    """The printed theorem holds without SAM once eta <= lam_admm."""
    return theorem(
        "corrected_b0",
        "Convergence of DFedADMM, the printed bound with its condition repaired",
        "Theorem 1 repaired (Theorem B0; rho = 0)",
        definitions=(KAPPA,),
        parts=printed_terms(),
        conditions=(
            Condition("eta < 1/(96 K L)", 96 * eta * K * L, sp.Integer(1), strict=True),
            STEP_ADMM,
            ENOUGH_STEPS,
        ),
        assumptions=(*CORRECTED_ASSUMPTIONS, ASSUMPTIONS[2], BOUNDED),
        scope=RE_DERIVED,
        schedule={name: SCHEDULE[name] for name in ("eta", "lam_admm")},
    )


def moment_terms(noise: Expr) -> dict[str, Expr]:
    """The terms of Theorem B1 with its noise."""
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
        theorem(
            "corrected",
            "Convergence of DFedADMM and DFedADMM-SAM under bounded gradients, re-derived",
            "Theorem 1 re-derived (Theorem B1 with S = sqrt(B^2 + sigma_l^2) + L rho)",
            definitions=(*weights, V_DEFINITION, S_BOUNDED),
            parts=moment_terms(noise),
            conditions=(STEP_ADMM, half),
            assumptions=(*CORRECTED_ASSUMPTIONS, BOUNDED),
            scope=RE_DERIVED,
        ),
        theorem(
            "corrected_b1",
            "Convergence of DFedADMM and DFedADMM-SAM for a second moment S2, re-derived",
            "Theorem 1 re-derived (Theorem B1)",
            definitions=(*weights, V_DEFINITION, S_MOMENT),
            parts=moment_terms(noise),
            conditions=(STEP_ADMM, half),
            assumptions=(*CORRECTED_ASSUMPTIONS, MOMENT),
            scope=UNBOUNDED,
        ),
        theorem(
            "corrected_b1_prime",
            "Convergence of DFedADMM and DFedADMM-SAM for any penalty, re-derived",
            "Theorem 1 re-derived (Theorem B1')",
            definitions=(THETA, P, S_MOMENT),
            parts=moment_terms(L * pen * S2),
            conditions=(STEP_ADMM,),
            assumptions=(*CORRECTED_ASSUMPTIONS, MOMENT),
            scope=UNBOUNDED,
        ),
    )


@dataclass(frozen=True)
class Constants:
    """The constants of Theorem B2 by term; ``noise_dual`` stands before the noise in w^t - xbar^t."""

    optimization: Expr
    noise: Expr
    noise_dual: Expr
    drift: Expr
    drift_noise: Expr
    consensus: Expr
    sharpness: Expr

    def terms(self) -> dict[str, Expr]:
        """The right-hand side with these constants."""
        spread = L * pen * lam / (1 - lam)
        return {
            "optimization": self.optimization * f0 / (pen * T),
            "noise": (self.noise * L * pen + self.noise_dual * (L * pen * theta) ** 2) * Gamma2 * V / m,
            "drift": (L * pen * p) ** 2 * (self.drift * Z + self.drift_noise * V),
            "consensus": self.consensus * spread**2 * (Z + Gamma2 * V),
            "sharpness": self.sharpness * L**2 * rho**2,
        }


ROUNDED = Constants(
    optimization=R(13, 5),
    noise=R(13, 5),
    noise_dual=R(17, 2),
    drift=sp.Integer(152),
    drift_noise=sp.Integer(76),
    consensus=sp.Integer(30),
    sharpness=sp.Integer(4),
)


def corrected_b2(variant: str = "corrected_b2", source: str = "", constants: Constants = ROUNDED) -> Theorem:
    """Theorem B2: no bounded gradients."""
    return theorem(
        variant,
        f"Convergence of DFedADMM and DFedADMM-SAM without bounded gradients, re-derived{source}",
        f"Theorem 1 re-derived (Theorem B2{source})",
        definitions=(GAMMA, THETA, P, GAMMA2, V_DEFINITION, Z_DEFINITION),
        parts=constants.terms(),
        conditions=(
            STEP_ADMM,
            Condition("lam_admm <= 1/(4 L)", 4 * L * pen, sp.Integer(1)),
            Condition("L lam_admm theta <= 1/4", 4 * L * pen * theta, sp.Integer(1)),
            Condition("L lam_admm p <= 1/32", 32 * L * pen * p, sp.Integer(1)),
            Condition("8 L lam_admm lam <= 1 - lam", 8 * L * pen * lam, 1 - lam),
        ),
        assumptions=(*CORRECTED_ASSUMPTIONS, DIVERSITY),
        scope=UNBOUNDED,
    )


def corrected_corollaries() -> tuple[Theorem, ...]:
    """Corollary B: (i) the schedule that gives 1/sqrt(KT), and (ii) the paper's own."""
    noise = Definition(V, (sigma_l + L * rho0 / sqrt(T)) ** 2, "V", "noise of a SAM gradient, mean square")
    fields = {
        "kind": "corollary",
        "order": False,
        "of": ("dfedadmm.theorem_1", "corrected_b1"),
        "assumptions": (*CORRECTED_ASSUMPTIONS, MOMENT),
        "scope": UNBOUNDED,
    }
    ratio = {pen: 1 / (L * sqrt(K * T)), eta: 1 / (L * K * sqrt(T))}
    paper = tuple(
        Definition(d.symbol, d.expr.xreplace(ratio), d.latex, d.meaning) for d in (GAMMA, THETA, P, GAMMA2)
    )
    own = {"lam_admm": sqrt(K / T) / L, "eta": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T)}

    def first(variant: str, source: str, weights: Expr, path: Expr) -> Theorem:
        """With bounds of K Gamma_2 and of theta + 2p over all K."""
        return rate(
            "corollary_1",
            variant,
            f"Rate of DFedADMM and DFedADMM-SAM under lam_admm = sqrt(K/T)/L, re-derived{source}",
            f"Corollary 1 re-derived (Corollary B(i){source})",
            {
                "optimization": 2 * L * f0 / sqrt(K * T),
                "noise": 2 * weights * V / (m * sqrt(K * T)),
                "dual, consensus and sharpness": (
                    L * rho0 / sqrt(T) + sqrt(K / T) * S * (path + lam / (1 - lam))
                )
                ** 2,
            },
            definitions=(noise, S_MOMENT),
            conditions=(Condition("T >= 4 K", 4 * K, T),),
            **{**fields, "schedule": own},
        )

    return (
        first("corrected", "", R(28, 25), R(187, 100)),
        first("corrected_sharper", ", sharper", R(10, 9), R(18463, 10000)),
        rate(
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


EXACT = Constants(
    optimization=R(1682, 649),
    noise=R(9, 4),
    noise_dual=R(5430, 649),
    drift=R(98304, 649),
    drift_noise=R(49152, 649),
    consensus=R(18432, 649),
    sharpness=R(2523, 649),
)
"""What the steps of B2's proof multiply to; ||U + N||^2 is split so that all of ||U||^2 is used up."""


def corrected_b1_sharper() -> Theorem:
    """Theorem B1 with ||U + N||^2 <= ||U||^2/(L lam_admm) + ||N||^2/(1 - L lam_admm): any L lam_admm < 1."""
    return theorem(
        "corrected_b1_sharper",
        "Convergence of DFedADMM and DFedADMM-SAM for a second moment S2, re-derived, smaller noise",
        "Theorem 1 re-derived (Theorem B1, sharper)",
        definitions=(GAMMA, THETA, P, GAMMA2, V_DEFINITION, S_MOMENT),
        parts=moment_terms(L * pen * Gamma2 * V / (m * (1 - L * pen))),
        conditions=(STEP_ADMM, Condition("lam_admm < 1/L", L * pen, sp.Integer(1), strict=True)),
        assumptions=(*CORRECTED_ASSUMPTIONS, MOMENT),
        scope=UNBOUNDED,
    )


def statements() -> tuple[Theorem, ...]:
    """Theorems B0, B1, B1', B2, the sharper forms of B1 and B2, and Corollary B."""
    return (
        *corrected(),
        corrected_b0(),
        corrected_b2(),
        corrected_b1_sharper(),
        corrected_b2("corrected_b2_sharper", ", unrounded", EXACT),
        *corrected_corollaries(),
    )


__all__ = ["statements"]
