"""DFedSAM, appendix D: definitions, lemmas and displayed inequalities as printed, mistakes included."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsam import PAPER
from dfltheory.bounds.papers.dfedsam.printed import (
    ASSUMPTIONS,
    C1,
    C1_DEFINITION,
    C3,
    C3_DEFINITION,
    DENOMINATOR,
    MIN_1_T,
    PHI,
    SCOPE,
    STEP_PRINTED,
    D,
    Phi,
)  # fmt: skip
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH_SQ, STEP, VALUE
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
from dfltheory.bounds.units import ONE, Expr, Unit

L, K, T, Q, m, eta, rho, lam = s.L, s.K, s.T, s.Q, s.m, s.eta, s.rho, s.lam
sigma_l, sigma_g, beta, f0, t = s.sigma_l, s.sigma_g, s.beta, s.f0_gap, s.t
G_x, G_bar = s.G_x, s.G_bar
R = sp.Rational
C2 = sp.Symbol("C2", positive=True)

C2_DEFINITION = Definition(
    C2,
    2
    * K
    * (
        4 * K**3 * L**2 * rho**4 / (2 * K - 1)
        + 8 * K * (L**2 * rho**2 + sigma_g**2 + sigma_l**2)
        + 8 * K * G_x
    )
    + 2 * K * rho**2 / (eta**2 * (2 * K - 1)),
    "C_2",
    "Lemma D.5",
)
ROUND = LeftSide("descent", r"\mathbb{E}f(\bar x^{t+1})-\mathbb{E}f(\bar x^t)", unit=VALUE)
LOCAL = LeftSide("client_gradient_sq", r"\frac1m\sum_i\mathbb{E}\|\nabla f(x^t(i))\|^2")
DRIFT = LeftSide("drift", r"\frac1m\sum_i\mathbb{E}\|y^{t,k}(i)+\delta_{i,k}-x^t(i)\|^2", unit=LENGTH_SQ)
CONSENSUS = LeftSide("consensus", r"\frac1m\sum_i\mathbb{E}\|x^{t,k}(i)-\bar x^t\|^2", unit=LENGTH_SQ)


def _entry(
    kind: str, name: str, lhs: LeftSide, bound: Expr, source: str, title: str, **fields: object
) -> Theorem:
    return Theorem(
        key=f"dfedsam.{name}",
        variant="printed",
        kind=kind,  # type: ignore[arg-type]
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=lhs,
        parts=bound if isinstance(bound, dict) else {"bound": bound},
        scope=SCOPE,
        **fields,  # type: ignore[arg-type]
    )


def _definition(name: str, definition: Definition, unit: Unit, source: str, *needed: Definition) -> Theorem:
    lhs = LeftSide("definition", definition.latex, unit=unit)
    return _entry("definition", name, lhs, definition.expr, source, definition.meaning, definitions=needed)


def definitions() -> tuple[Theorem, ...]:
    """D, Phi, alpha, beta, C_1, C_2, C_3."""
    front = eta * K * L / (2 * D)
    alpha = front * (
        2
        * K
        * L
        * (
            4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
            + 8 * K * eta**2 * (L**2 * rho**2 + sigma_g**2 + sigma_l**2)
            + rho**2 / (2 * K - 1)
        )
        + eta * (L**2 * rho**2 + sigma_l**2)
    )
    beta_function = eta**4 * K * L**3 * (16 * eta * K * L + 3) / D * C3
    symbol = sp.Symbol("alpha_K", nonnegative=True)
    return (
        _definition("definition_D", DENOMINATOR, STEP, "Theorem 4.5"),
        _definition("definition_phi", PHI, ONE, "eq. (6)"),
        _definition(
            "definition_alpha",
            Definition(symbol, alpha, r"\alpha(K,\rho,\eta)", "local part of the bound"),
            GRADIENT_SQ,
            "Theorem 4.5",
            DENOMINATOR,
        ),
        _definition(
            "definition_beta",
            Definition(symbol, beta_function, r"\beta(K,\rho,\eta)", "factor of Phi in the bound"),
            GRADIENT_SQ,
            "Theorem 4.5",
            DENOMINATOR,
            C3_DEFINITION,
        ),
        _definition("definition_C1", C1_DEFINITION, LENGTH_SQ, "below (22) and (31)"),
        _definition("definition_C2", C2_DEFINITION, GRADIENT_SQ, "Lemmas D.5 and D.6"),
        _definition("definition_C3", C3_DEFINITION, GRADIENT_SQ, "below (24) and (33)"),
    )


DRIFT_BOUND = 2 * K * (
    4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
    + 8 * K * eta**2 * (L**2 * rho**2 + sigma_g**2 + sigma_l**2)
    + 8 * K * eta**2 * G_x
) + 2 * K * rho**2 / (2 * K - 1)


def lemmas() -> tuple[Theorem, ...]:
    """Lemmas D.1 to D.6."""
    power = LeftSide("operator_norm", r"\|W^t-P\|_{op}", unit=ONE)
    spread = LeftSide("gradient_spread", r"\|\nabla f_i(x+\delta_i)-\nabla f(x+\delta)\|^2")
    ascent = LeftSide("ascent_spread", r"\frac1m\sum_i\mathbb{E}\|\delta_{i,k}-\delta\|^2", unit=LENGTH_SQ)
    small = Condition("eta <= 1/(4 K L)", 4 * eta * K * L, sp.Integer(1))
    return (
        _entry("lemma", "lemma_D1", power, lam**t, "Lemma D.1", "Powers of the mixing matrix"),
        _entry(
            "lemma",
            "lemma_D2",
            spread,
            3 * sigma_g**2 + 6 * L**2 * rho**2,
            "Lemma D.2",
            "Heterogeneity at perturbed models",
        ),
        _entry(
            "lemma",
            "lemma_D3",
            ascent,
            2 * K**2 * beta**2 * eta**2 * rho**2,
            "Lemma D.3",
            "Spread of the perturbations",
            conditions=(small,),
        ),
        _entry(
            "lemma",
            "lemma_D4",
            DRIFT,
            DRIFT_BOUND,
            "Lemma D.4, eq. (8)",
            "Drift of the local steps",
            conditions=(STEP_PRINTED,),
            assumptions=ASSUMPTIONS,
        ),
        _entry(
            "lemma",
            "lemma_D5",
            CONSENSUS,
            C2 * eta**2 / (1 - lam) ** 2,
            "Lemma D.5",
            "Consensus of DFedSAM",
            definitions=(C2_DEFINITION,),
        ),
        _entry(
            "lemma",
            "lemma_D6",
            CONSENSUS,
            C2 * eta**2 * Phi,
            "Lemma D.6",
            "Consensus of DFedSAM-MGS",
            definitions=(C2_DEFINITION, PHI),
        ),
    )


def _descent(network: Expr) -> Expr:
    """The last lines of (25) and (34)."""
    return (
        (16 * eta**3 * K**2 * L**2 - eta * K / 2 + 3 * eta**2 * K * L) * G_bar
        + R(3, 2) * eta**2 * K * L * (L**2 * rho**2 + sigma_l**2)
        + eta * K * L**2 * C1 / 2
        + (16 * eta**5 * K**2 * L**4 * C3 + 3 * eta**4 * K * L**3 * C3) * network
    )


def displays() -> tuple[Theorem, ...]:
    """The displays (20)c to (25) of D.2 and (31) to (34) of D.3, and the display that D.3 ends with."""
    gap = 1 / (1 - lam) ** 2
    inner = LeftSide(
        "inner_product", r"\mathbb{E}\langle\nabla f(\bar x^t),\bar z^t-\bar x^t\rangle", unit=VALUE
    )
    square = LeftSide("mean_step_sq", r"\frac L2\mathbb{E}\|\bar x^{t+1}-\bar x^t\|^2", unit=VALUE)
    leftover = eta * K - 32 * eta**3 * K**2 * L**2
    second = R(3, 2) * eta**2 * K * L * (L**2 * rho**2 + sigma_l**2 + G_x)
    both = (C1_DEFINITION, C3_DEFINITION)
    return (
        _entry(
            "equation",
            "eq_20",
            inner,
            -eta * K / 2 * G_bar + eta * L**2 * K**2 / (2 * K) * DRIFT_BOUND,
            "(20)c and (29)c",
            "Inner product of the descent",
        ),
        _entry("equation", "eq_21", square, second, "(21) and (30)", "Square of the mean step"),
        _entry(
            "equation",
            "eq_22",
            ROUND,
            -eta * K / 2 * G_bar + eta * L**2 * K / 2 * C1 + 8 * eta**3 * K**2 * L**2 * G_x + second,
            "(22) and (31)",
            "Descent of one round",
            definitions=(C1_DEFINITION,),
        ),
        _entry(
            "equation",
            "eq_23",
            LOCAL,
            2 * L**2 * C2 * eta**2 * gap + 2 * G_bar,
            "(23)",
            "Gradient at the clients, one gossip step",
            definitions=(C2_DEFINITION,),
        ),
        _entry(
            "equation",
            "eq_24",
            LOCAL,
            (2 * L**2 * C3 * eta**2 + 2 * (1 - lam) ** 2 * G_bar)
            / ((1 - lam) ** 2 - 32 * L**2 * eta**2 * K**2),
            "(24)",
            "Gradient at the clients, solved, one gossip step",
            definitions=(C3_DEFINITION,),
        ),
        _entry(
            "equation", "eq_25", ROUND, _descent(gap), "(25)a", "Descent, one gossip step", definitions=both
        ),
        _entry(
            "equation",
            "eq_32",
            LOCAL,
            2 * L**2 * C2 * eta**2 * Phi + 2 * G_bar,
            "(32)",
            "Gradient at the clients",
            definitions=(C2_DEFINITION, PHI),
        ),
        _entry(
            "equation",
            "eq_33",
            LOCAL,
            (2 * L**2 * C3 * eta**2 * Phi + 2 * G_bar) / (1 - 32 * L**2 * eta**2 * K**2 * Phi),
            "(33)",
            "Gradient at the clients, solved",
            definitions=(C3_DEFINITION, PHI),
        ),
        _entry("equation", "eq_34", ROUND, _descent(Phi), "(34)a", "Descent", definitions=(*both, PHI)),
        _entry(
            "equation",
            "eq_last",
            MIN_1_T,
            {
                "optimization": 2 * f0 / (T * leftover),
                "local": eta * L**2 * K * C1 / 2 / leftover,
                "consensus": 16 * C2 * eta**5 * K**2 * L**4 * Phi / leftover,
            },
            "appendix D.3, second display after (34)",
            "A second form of the bound that D.3 prints",
            definitions=(C1_DEFINITION, C2_DEFINITION, PHI),
            conditions=(STEP_PRINTED,),
        ),
    )


def statements() -> tuple[Theorem, ...]:
    """Everything of appendix D that the registry holds."""
    return (*definitions(), *lemmas(), *displays())
