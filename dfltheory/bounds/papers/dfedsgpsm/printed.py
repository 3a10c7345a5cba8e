"""Li et al. 2023, "Asymmetrically Decentralized Federated Learning" (DFedSGPSM, DFedSGPSM-S).

Theorem 1 as stated, as the appendix derives it, and re-derived; its corollary. The glossary's ``m`` is the
paper's n. The lemmas and displays of appendix B are in ``proof.py``.
"""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsgpsm import PAPER
from dfltheory.bounds.papers.dfedsgpsm.momentum import AT, at
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.constants import FRESH_ROUND, FRESH_STEP

L, K, T, m, eta, rho, rho0, alpha = s.L, s.K, s.T, s.m, s.eta, s.rho, s.rho0, s.alpha
sigma_l, sigma_g, B, f0 = s.sigma_l, s.sigma_g, s.B, s.f0_gap
delta, C, q, x0_sq = s.delta, s.C, s.q, s.x0_sq
R = sp.Rational
C1, C2 = sp.symbols("C1 C2", positive=True)

LHS = LeftSide(
    "grad_norm_sq",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla f(\bar x^t)\|^2",
    "mean",
    averaging=r"mean over the rounds 0..T-1 at the mean model; $\Delta_0 = f(\bar x^0) - f^*$",
)
ASSUMPTIONS = (
    "1: the union of any window of graphs is strongly connected",
    "2: every $f_i$ is $L$-smooth",
    r"3: stochastic gradients are unbiased with bounded variance (printed $\sigma_g^2$, here $\sigma_l^2$)",
    r"4: $\|\nabla f_i(x) - \nabla f(x)\|^2 \le \sigma_g^2$ for every $i$ and $x$",
    r"5: $\|\nabla f_i(x)\| \le B$ for every $i$ and $x$",
    r"$C$, $q$ as in Assran et al. 2019, Lemma 3; $\delta$ as in Taheri et al. 2020, Proposition 2.1",
)
SCHEDULE = {"eta": 1 / (L * K * sqrt(T)), "rho": rho0 / sqrt(T)}

C1_DEFINITION = Definition(
    C1,
    8 * K * sigma_l**2
    + 64 * K**2 * sigma_g**2
    + 32 * K**2 * alpha**2 / (1 - alpha) ** 2 * (sigma_l**2 + B**2)
    + 64 * K * L**2 * rho**2,
    "C_1",
    "drift of one round without its gradient part, Theorem 1 and Lemma 3",
)
SCOPE = Scope(
    ("DFedSGPSM", "DFedSGPM", "OSGP", "SGP"),
    "column-stochastic",
    sequence=("fixed", "periodic", "windows", FRESH_STEP, FRESH_ROUND, "any"),
    bounded_gradients=True,
    samplewise=False,
    notation=PAPER.letters,
)
PRINTED_STEP = Condition("eta < delta/(8 L K)", 8 * eta * L * K, delta, strict=True)


def theorem(variant: str, title: str, source: str, **fields: object) -> Theorem:
    """A variant of Theorem 1."""
    return Theorem(
        key="dfedsgpsm.theorem_1",
        variant=variant,
        kind="theorem",
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=LHS,
        schedule=SCHEDULE,
        **{"scope": SCOPE, **fields},  # type: ignore[arg-type]
    )


def printed() -> tuple[Theorem, ...]:
    """The main text's six terms, and the appendix' with alpha-tilde in place of K/(1 - alpha)."""
    moment = B**2 + sigma_l**2
    drift = 3 * eta**2 * L**2 / delta * (C1 + 64 * K**2 * B**2)
    start = 6 * L**2 * C**2 / (T * (1 - q**2)) * x0_sq
    sharpness = 3 * L**2 * rho**2
    common = {"conditions": (PRINTED_STEP,), "assumptions": ASSUMPTIONS}
    return (
        theorem(
            "printed",
            "Convergence of DFedSGPSM",
            "Theorem 1",
            definitions=(C1_DEFINITION,),
            parts={
                "optimization": 2 * (1 - alpha) * f0 / (T * eta * K),
                "noise": L * eta * K * sigma_l**2 / (1 - alpha),
                "drift": drift,
                "initialization": start,
                "consensus": 6 * L**2 * eta**2 * K**2 * C**2 * moment / ((1 - alpha) ** 2 * (1 - q) ** 2),
                "sharpness": sharpness,
            },
            **common,
        ),
        theorem(
            "appendix",
            "Convergence of DFedSGPSM, as derived",
            "appendix B, display before 'Finally'",
            definitions=(AT, C1_DEFINITION),
            parts={
                "optimization": 2 * f0 / (T * at * eta),
                "noise": L * eta * at * sigma_l**2,
                "drift": drift,
                "initialization": start,
                "consensus": 6 * L**2 * eta**2 * at**2 * C**2 * moment / (1 - q) ** 2,
                "sharpness": sharpness,
            },
            **common,
        ),
    )


def corollary(variant: str, title: str, source: str, parts: dict[str, Expr], **fields: object) -> Theorem:
    """A variant of Corollary 1."""
    return Theorem(
        key="dfedsgpsm.corollary_1",
        variant=variant,
        kind="corollary",
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=LHS,
        parts=parts,
        schedule=SCHEDULE,
        of=("dfedsgpsm.theorem_1", variant),
        **{"scope": SCOPE, **fields},  # type: ignore[arg-type]
    )


def corollaries() -> tuple[Theorem, ...]:
    """Corollary 1 as stated and re-derived, and the rate of Remark 2."""
    moment = B**2 + sigma_l**2
    stated = Definition(
        C2,
        sigma_l**2 / K + sigma_g**2 + alpha**2 / (1 - alpha) ** 2 * (sigma_l**2 + B**2) + 1 / (T * K),
        "C_2",
        "Corollary 1",
    )
    return (
        corollary(
            "printed",
            "Rate of DFedSGPSM",
            "Corollary 1",
            {
                "optimization": L * (1 - alpha) * f0 / sqrt(T),
                "noise": sigma_l**2 / (sqrt(T) * (1 - alpha)),
                "drift": C2 / (T * delta),
                "initialization": L**2 * C**2 / (T * (1 - q**2)) * x0_sq,
                "consensus": C**2 * moment / (T * (1 - alpha) ** 2 * (1 - q) ** 2),
                "sharpness": 1 / T,
            },
            definitions=(stated,),
            order=True,
            assumptions=ASSUMPTIONS,
        ),
        Theorem(
            key="dfedsgpsm.rate_remark_2",
            variant="printed",
            kind="rate",
            title="Rate of DFedSGPSM in T, with the share of SAM",
            source=f"{PAPER.citation}, Remark 2",
            lhs=LHS,
            parts={"rate": 1 / sqrt(T), "sharpness": 1 / T, "drift": 1 / (T**2 * K * delta)},
            schedule=SCHEDULE,
            order=True,
            scope=SCOPE,
        ),
    )


def statements() -> tuple[Theorem, ...]:
    """Theorem 1, its corollary and the quoted rate."""
    return (*printed(), *corollaries())


__all__ = ["statements"]
