"""Shi et al. 2023, "Improving the Model Consistency of Decentralized Federated Learning" (DFedSAM, -MGS).

Theorem 4.5 as the main text states it, as appendix D derives it, and re-derived; its corollaries; the rates
that the paper quotes. The lemmas and displays of appendix D are in ``proof.py``.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsam import PAPER
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
from dfltheory.bounds.units import Expr

L, K, T, Q, m, eta, rho, rho0, lam = s.L, s.K, s.T, s.Q, s.m, s.eta, s.rho, s.rho0, s.lam
sigma_l, sigma_g, beta, B, f0, spread = s.sigma_l, s.sigma_g, s.beta, s.B, s.f0_gap, s.x0_spread
R = sp.Rational

D, Phi, C1, C3 = sp.symbols("D Phi C1 C3", positive=True)

MIN_1_T = LeftSide(
    "grad_norm_sq",
    r"\min_{1\le t\le T}\mathbb{E}\|\nabla f(\bar x^t)\|^2",
    "min",
    first=sp.Integer(1),
    last=T,
    start=1,
    averaging=r"minimum over the rounds 1..T at the mean model; $\Delta_0 = f(\bar x^1) - f^*$",
)

ASSUMPTIONS = (
    "4.3: every $f_i$ is $L$-smooth",
    r"4.4: stochastic gradients are unbiased with variance at most $\sigma_l^2$, and "
    r"$(1/m) \sum_i \|\nabla f_i(x) - \nabla f(x)\|^2 \le \sigma_g^2$ for all $x$",
    "Definition 4.1: $W$ is symmetric, doubly stochastic and primitive on a connected graph",
)

SCOPE = Scope(
    ("DFedSAM", "DFedAvg", "DPSGD"), "definition 1", samplewise=False,
    letters={"order": "adapt-then-combine"},
)  # fmt: skip

STEP_PRINTED = Condition("eta <= 1/(10 K L)", 10 * eta * K * L, sp.Integer(1))
SCHEDULE = {"eta": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T)}
ONE_STEP = {**SCHEDULE, "Q": sp.S.One}

PHI = Definition(
    Phi,
    (lam**Q + 1) / ((1 - lam) ** 2 * m ** (2 * (Q - 1))) + (lam**Q + 1) / (1 - lam**Q) ** 2,
    r"\Phi",
    "the network's share of the bound, eq. (6)",
)
DENOMINATOR = Definition(D, eta * K - 32 * eta**3 * K**2 * L**2 - 6 * eta**2 * K * L, "D", "Theorem 4.5")


C1_DEFINITION = Definition(
    C1,
    2
    * K
    * (
        4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
        + 8 * K * eta**2 * (L**2 * rho**2 + sigma_g**2 + sigma_l**2)
    )
    + 2 * K * rho**2 / (2 * K - 1),
    "C_1",
    "drift of one round without its gradient part, below (22)",
)
C3_DEFINITION = Definition(
    C3,
    2 * K * (4 * K**3 * L**2 * rho**4 / (2 * K - 1) + 8 * K * (L**2 * rho**2 + sigma_g**2 + sigma_l**2))
    + 2 * K * rho**2 / (eta**2 * (2 * K - 1)),
    "C_3",
    "what C_1 is called when divided by eta^2, below (24)",
)


def theorem(variant: str, title: str, source: str, **fields: object) -> Theorem:
    """A variant of Theorem 4.5."""
    return Theorem(
        key="dfedsam.theorem_4_5",
        variant=variant,
        kind="theorem",
        title=title,
        source=f"{PAPER.citation}, {source}",
        schedule=SCHEDULE,
        **{"scope": SCOPE, **fields},  # type: ignore[arg-type]
    )


def printed() -> Theorem:
    """Eq. (7): 2 f0_gap/(T D) + alpha(K, rho, eta) + Phi beta(K, rho, eta), the sum alpha split by origin."""
    front = eta * K * L / (2 * D)
    return theorem(
        "printed",
        "Convergence of DFedSAM and DFedSAM-MGS",
        "Theorem 4.5, eq. (7)",
        lhs=MIN_1_T,
        definitions=(DENOMINATOR, PHI, C3_DEFINITION),
        parts={
            "optimization": 2 * f0 / (T * D),
            "noise": front * eta * sigma_l**2,
            "drift": front * 2 * K * L * 8 * K * eta**2 * (sigma_g**2 + sigma_l**2),
            "consensus": Phi * eta**4 * K * L**3 * (16 * eta * K * L + 3) / D * C3,
            "sharpness": front
            * (
                2
                * K
                * L
                * (
                    4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
                    + 8 * K * eta**2 * L**2 * rho**2
                    + rho**2 / (2 * K - 1)
                )
                + eta * L**2 * rho**2
            ),
        },
        conditions=(STEP_PRINTED,),
        assumptions=ASSUMPTIONS,
    )


def _appendix_terms(network: Expr) -> dict[str, Expr]:
    """The display that sums (25) or (34) over t = 1..T; C_1 is split into its drift and its SAM part."""
    drift = 2 * K * 8 * K * eta**2 * (sigma_g**2 + sigma_l**2)
    sam = 2 * K * (
        4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1) + 8 * K * eta**2 * L**2 * rho**2
    ) + 2 * K * rho**2 / (2 * K - 1)
    return {
        "optimization": 2 * f0 / (T * D),
        "noise": R(3, 2) * eta**2 * K * L * sigma_l**2 / D,
        "drift": eta * L**2 * K * drift / 2 / D,
        "consensus": eta**4 * K * L**3 * C3 * (16 * eta * K * L + 3) * network / D,
        "sharpness": (eta * L**2 * K * sam / 2 + R(3, 2) * eta**2 * K * L * L**2 * rho**2) / D,
    }


def appendix() -> Theorem:
    """D.3: the display after (34), for several gossip steps."""
    return theorem(
        "appendix",
        "Convergence of DFedSAM-MGS, as derived",
        "appendix D.3, display after (34)",
        lhs=MIN_1_T,
        definitions=(DENOMINATOR, PHI, C3_DEFINITION),
        parts=_appendix_terms(Phi),
        conditions=(STEP_PRINTED,),
        assumptions=ASSUMPTIONS,
    )


def appendix_q1() -> Theorem:
    """D.2: the display after (25), for one gossip step."""
    return theorem(
        "appendix_q1",
        "Convergence of DFedSAM, as derived for one gossip step",
        "appendix D.2, display after (25)",
        lhs=MIN_1_T,
        definitions=(DENOMINATOR, C3_DEFINITION),
        parts=_appendix_terms(1 / (1 - lam) ** 2),
        conditions=(STEP_PRINTED, Condition("Q = 1", Q, sp.Integer(1))),
        assumptions=ASSUMPTIONS,
    )


def _rate(
    key: str, variant: str, title: str, source: str, parts: dict[str, Expr], **fields: object
) -> Theorem:
    """A statement in O(.) about the rounds 1..T under the corollaries' schedule."""
    return Theorem(
        key=f"dfedsam.{key}",
        variant=variant,
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=MIN_1_T,
        parts=parts,
        order=True,
        assumptions=ASSUMPTIONS,
        **{
            "kind": "corollary",
            "schedule": SCHEDULE,
            "of": ("dfedsam.theorem_4_5", "printed"),
            "scope": SCOPE,
            **fields,
        },  # type: ignore[arg-type]
    )


def _claimed(heterogeneity: Expr, network: Expr) -> dict[str, Expr]:
    """The four terms of Corollaries 4.6 and 4.8 with their network factor."""
    return {
        "optimization and noise": (f0 + sigma_l**2) / sqrt(K * T),
        "drift": K * (heterogeneity**2 + sigma_l**2) / T,
        "sharpness": L**2 / (sqrt(K) * T ** R(3, 2)),
        "consensus": (heterogeneity**2 + sigma_l**2) * network / (sqrt(K) * T ** R(3, 2)),
    }


def _claimed_any_rho(last: dict[str, Expr]) -> dict[str, Expr]:
    """The rates of appendix D before rho is chosen."""
    return {
        "optimization and noise": (f0 + L**2 * rho**2 + sigma_l**2) / sqrt(K * T),
        "drift": K * (L**2 * rho**2 + sigma_g**2 + sigma_l**2) / T,
        **last,
    }


def corollaries() -> tuple[Theorem, ...]:
    """Corollaries 4.6 (one gossip step) and 4.8 as stated, and as derived."""
    slow = sqrt(K) * T ** R(3, 2)
    any_rho = {"eta": SCHEDULE["eta"]}
    moments = L**2 * rho**2 + sigma_g**2 + sigma_l**2
    gap = 1 / (1 - lam) ** 2
    far = {
        "sharpness": K ** R(3, 2) * L**2 * rho**4 / (T ** R(3, 2) * (1 - lam) ** 2),
        "consensus": moments / (slow * (1 - lam) ** 2),
    }
    network = {"consensus": Phi * (K**2 * L**2 * rho**4 + moments) / slow}
    one, many = ("corollary_4_6", "Rate of DFedSAM"), ("corollary_4_8", "Rate of DFedSAM-MGS")

    def entry(
        which: tuple[str, str], variant: str, source: str, parts: dict[str, Expr], **fields: object
    ) -> Theorem:
        own = {"schedule": ONE_STEP} if which is one else {"definitions": (PHI,)}
        return _rate(which[0], variant, which[1], source, parts, **{**own, **fields})

    return (
        entry(one, "printed", "Corollary 4.6", _claimed(beta, gap)),
        entry(one, "appendix", "appendix D.2, before sigma_g <= beta", _claimed(sigma_g, gap)),
        entry(
            one,
            "appendix_any_rho",
            "appendix D.2, first rate",
            _claimed_any_rho(far),
            schedule={**any_rho, "Q": sp.S.One},
        ),
        entry(many, "printed", "Corollary 4.8", _claimed(beta, Phi)),
        entry(
            many, "appendix_any_rho", "appendix D.3, first rate", _claimed_any_rho(network), schedule=any_rho
        ),
    )


def quoted() -> tuple[Theorem, ...]:
    """The rates of the abstract, and the one that Remark 4.7 quotes."""
    slow = sqrt(K) * T ** R(3, 2)
    first = {"optimization": 1 / sqrt(K * T), "drift": 1 / T}
    stated = {
        "optimization": 1 / sqrt(T),
        "drift": sigma_g**2 / sqrt(T),
        "consensus": (sigma_g**2 + B**2) / ((1 - lam) ** 2 * T ** R(3, 2)),
    }
    gossip = (lam**Q + 1) / (slow * (1 - lam**Q) ** 2)
    return (
        _rate(
            "rate_abstract",
            "printed",
            "Rate of DFedSAM",
            "abstract",
            {**first, "consensus": 1 / (slow * (1 - lam) ** 2)},
            kind="rate",
            schedule=ONE_STEP,
        ),
        _rate(
            "rate_abstract_mgs",
            "printed",
            "Rate of DFedSAM-MGS",
            "abstract",
            {**first, "consensus": gossip},
            kind="rate",
        ),
        _rate(
            "rate_quoted_dfedavg",
            "printed",
            "Rate of DFedAvg as quoted from Sun et al. 2022",
            "Remark 4.7",
            stated,
            kind="rate",
            schedule={},
            of=None,
            scope=replace(SCOPE, algorithms=("DFedAvg",), letters={}),
        ),
    )


def statements() -> tuple[Theorem, ...]:
    """Theorem 4.5, its corollaries and the quoted rates."""
    return (printed(), appendix(), appendix_q1(), *corollaries(), *quoted())


__all__ = ["statements"]
