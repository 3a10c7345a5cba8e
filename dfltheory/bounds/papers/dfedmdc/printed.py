"""DFedMDC and DFedSMDC: decentralized federated learning with a shared part u and personal parts v_i.

Theorems 1 and 2 as stated, as appendix C derives them; the rates quoted in
Remark 4. The lemmas and displays of appendix C are in ``proof.py``.
"""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedmdc import PAPER
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import VALUE
from dfltheory.bounds.theorem import Definition, LeftSide, Theorem
from dfltheory.bounds.units import Expr

T, m, rho, rho0, lam, f0 = s.T, s.m, s.rho, s.rho0, s.lam, s.f0_gap
K, sigma_l, sigma_g, B = s.K, s.sigma_l, s.sigma_g, s.B
K_u, K_v, eta_u, eta_v, L_u, L_v = s.K_u, s.K_v, s.eta_u, s.eta_v, s.L_u, s.L_v
L_vu, chi, sigma_u, sigma_v, delta_u, k0_sq = s.L_vu, s.chi, s.sigma_u, s.sigma_v, s.delta_u, s.x0_spread
R = sp.Rational
sigma1, sigma2, sigma3, sigma4, sigma = sp.symbols("sigma1 sigma2 sigma3 sigma4 sigma", nonnegative=True)

PAIR = r"\Big(\frac{1}{L_u}\mathbb{E}\Delta_{\bar u}^t+\frac{1}{L_v}\mathbb{E}\Delta_v^t\Big)"

PRINTED_LHS = LeftSide(
    "two_block",
    r"\frac1T\sum_{t=1}^{T}" + PAIR,
    "mean",
    first=sp.Integer(1),
    last=T,
    start=1,
    unit=VALUE,
    averaging=r"mean over the rounds 1..T of $\|\nabla_u F(\bar u^t, V^t)\|^2/L_u + (1/m) \sum_i "
    r"\|\nabla_v F_i(u_i^t, v_i^t)\|^2/L_v$; $\Delta_0 = F(\bar u^1, V^1) - F^*$",
    carries=("L_u", "L_v"),
)
ASSUMPTIONS = (
    r"1: $\nabla_u F_i$ is $L_u$-Lipschitz in $u$ and $L_{uv}$ in $v$, "
    r"$\nabla_v F_i$ is $L_v$-Lipschitz in $v$ and $L_{vu}$ in $u$",
    r"2: stochastic gradients with variances at most $\sigma_u^2$ and $\sigma_v^2$",
    r"3: $(1/m) \sum_i \|\nabla_u F_i(u_i, v_i) - \nabla_u F(u_i, V)\|^2 \le \delta^2$",
    "Definition 1: $W$ is symmetric, doubly stochastic and primitive on a connected graph",
    "$F$ is bounded below by $F^*$",
)
PLAIN = {"alpha": 0.0, "fresh": True, "sam": "u"}
"""No momentum, new samples in every step, SAM on the shared part."""
SCOPES = {
    1: Scope(("DFedMDC", "DFedSMDC"), "definition 1", two_blocks=True, letters=PLAIN, notation=PAPER.letters),
    2: Scope(("DFedSMDC", "DFedMDC"), "definition 1", two_blocks=True, letters=PLAIN, notation=PAPER.letters),
}
"""What Theorems 1 and 2 speak of."""
SCHEDULE = {"eta_u": 1 / (L_u * K_u * sqrt(T)), "eta_v": 1 / (L_v * K_v * sqrt(T))}
SCHEDULE_SAM = {**SCHEDULE, "rho": rho0 / sqrt(T)}


def theorem(
    number: int, variant: str, source: str, lhs: LeftSide, parts: dict[str, Expr], **fields: object
) -> Theorem:
    """A variant of Theorem 1 or 2."""
    name, schedule = ("DFedMDC", SCHEDULE) if number == 1 else ("DFedSMDC", SCHEDULE_SAM)
    own = "" if variant == "printed" else ", as derived" if variant.startswith("appendix") else ", re-derived"
    return Theorem(
        key=f"dfedmdc.theorem_{number}",
        variant=variant,
        kind="theorem",
        title=f"Convergence of {name}{own}",
        source=f"{PAPER.citation}, {source}",
        lhs=lhs,
        parts=parts,
        schedule=schedule,
        **{"scope": SCOPES[number], **fields},  # type: ignore[arg-type]
    )


def theorem_1() -> tuple[Theorem, ...]:
    """Eq. (3) = (21), and eq. (20) of the appendix."""
    var = sigma_u**2 + delta_u**2
    gap = (1 - lam) ** 2
    stated = (
        Definition(sigma1, chi**2 * L_v * var / L_u + var / L_u**2, r"\sigma_1^2", "Theorem 1"),
        Definition(sigma2, sigma_v**2 * (L_v + 1) / L_v**2 + var / (K_u * L_u), r"\sigma_2^2", "Theorem 1"),
        Definition(sigma3, var / (K_u * L_u), r"\sigma_3^2", "Theorem 1"),
    )
    common = {"order": True, "assumptions": ASSUMPTIONS}
    return (
        theorem(
            1,
            "printed",
            "Theorem 1, eq. (3)",
            PRINTED_LHS,
            {
                "optimization": f0 / sqrt(T),
                "consensus": sigma1 / (gap * sqrt(T)),
                "noise": sigma2 / sqrt(T),
                "drift": sigma3 / (gap * T),
            },
            definitions=stated,
            of=("dfedmdc.theorem_1", "appendix"),
            **common,
        ),
        theorem(
            1,
            "appendix",
            "eq. (20)",
            PRINTED_LHS,
            {
                "optimization": f0 / sqrt(T),
                "noise of the personal part": sigma_v**2 * (L_v + 1) / (L_v**2 * sqrt(T)),
                "consensus": (L_vu**2 + 1) * var / (L_u**2 * gap * sqrt(T)),
                "noise of the shared part": var / (K_u * L_u * sqrt(T)),
                "drift": var / (K_u * L_u * gap * T),
            },
            of=("dfedmdc.eq_19", "printed"),
            **common,
        ),
    )


def theorem_2() -> tuple[Theorem, ...]:
    """Eq. (4) of the main text, eq. (34) and eq. (35) of the appendix."""
    var = sigma_u**2 + delta_u**2
    gap = (1 - lam) ** 2
    small = Definition(sigma, rho**2 / K_u + var / L_u**2, r"\sigma^2", "Theorem 2")
    unused = Definition(
        sigma4,
        sigma_v**2 * (L_v + 1) / L_v**2 + (L_u**2 * rho**2 + var) / (K_u * L_u),
        r"\sigma_4^2",
        "Theorem 2",
    )
    common = {"order": True, "assumptions": ASSUMPTIONS}
    last = sigma * L_u / (gap * T)
    return (
        theorem(
            2,
            "printed",
            "Theorem 2, eq. (4)",
            PRINTED_LHS,
            {
                "optimization": f0 / sqrt(T),
                "consensus": sigma * L_vu**2 / (gap * sqrt(T)),
                "noise": sigma / sqrt(T),
                "drift": last,
            },
            definitions=(small, unused),
            of=("dfedmdc.theorem_2", "appendix_eq35"),
            **common,
        ),
        theorem(
            2,
            "appendix",
            "eq. (34)",
            PRINTED_LHS,
            {
                "optimization": f0 / sqrt(T),
                "noise of the personal part": sigma_v**2 * (L_v + 1) / (L_v**2 * sqrt(T)),
                "noise of the shared part": (L_u**2 * rho**2 + var) / (L_u * K_u * sqrt(T)),
                "consensus": L_vu**2 / (gap * sqrt(T)) * (rho**2 / K_u + var / L_u**2),
                "drift": L_u / (gap * T) * (rho**2 / K_u + var / L_u**2),
            },
            of=("dfedmdc.eq_33", "printed"),
            **common,
        ),
        theorem(
            2,
            "appendix_eq35",
            "eq. (35)",
            PRINTED_LHS,
            {
                "optimization": f0 / sqrt(T),
                "consensus": sigma * L_vu / (gap * sqrt(T)),
                "noise": sigma * L_u / sqrt(T),
                "drift": last,
            },
            definitions=(small, unused),
            of=("dfedmdc.theorem_2", "appendix"),
            **common,
        ),
    )


def quoted() -> tuple[Theorem, ...]:
    """The rates that Remark 4 attributes to DFedAvg and to DFedSAM."""
    slow = T ** R(3, 2) * (1 - lam) ** 2
    mean = LeftSide("grad_norm_sq", r"\min_{1\le t\le T}\mathbb{E}\|\nabla f(\bar x^t)\|^2", "min")
    rows = (
        (
            "DFedAvg",
            {
                "optimization": 1 / sqrt(T),
                "drift": (sigma_l**2 + K * sigma_g**2) / (K * sqrt(T)),
                "consensus": (sigma_l**2 + K * sigma_g**2 + K * B**2) / (K * slow),
            },
        ),
        (
            "DFedSAM",
            {
                "optimization": 1 / sqrt(K * T),
                "drift": K * (sigma_g**2 + sigma_l**2) / T,
                "consensus": (sigma_g**2 + sigma_l**2) / (sqrt(K) * slow),
            },
        ),
    )
    return tuple(
        Theorem(
            key=f"dfedmdc.rate_quoted_{algorithm.lower()}",
            variant="printed",
            kind="rate",
            title=f"Rate of {algorithm} as quoted",
            source=f"{PAPER.citation}, Remark 4",
            lhs=mean,
            parts=parts,
            order=True,
            scope=Scope((algorithm,), "definition 1"),
        )
        for algorithm, parts in rows
    )


def statements() -> tuple[Theorem, ...]:
    """Theorems 1 and 2 as printed and as derived, and the quoted rates."""
    return (*theorem_1(), *theorem_2(), *quoted())


__all__ = ["statements"]
