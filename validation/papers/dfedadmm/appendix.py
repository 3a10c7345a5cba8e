"""DFedADMM, appendix C: definitions, lemmas and displayed inequalities as printed, mistakes included."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedadmm import PAPER
from dfltheory.bounds.papers.dfedadmm.printed import (
    ASSUMPTIONS,
    C2,
    C2_DEFINITION,
    ENOUGH_STEPS,
    GAMMA,
    KAPPA,
    LEFT,
    SCOPE,
    gamma,
    left,
)  # fmt: skip
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import Condition, Definition, LeftSide, Theorem
from dfltheory.bounds.units import ONE, Expr

L, K, eta, rho, lam, pen, a, t = s.L, s.K, s.eta, s.rho, s.lam, s.lam_admm, s.young, s.t
sigma_l, sigma_g, B, G_x, G_w = s.sigma_l, s.sigma_g, s.B, s.G_x, s.G_w
R = sp.Rational
C0 = sp.Symbol("C0", positive=True)
MOMENT = sigma_l**2 + B**2

C0_DEFINITION = Definition(
    C0, (3 * sigma_g**2 + sigma_l**2) + 3 * G_x + (sigma_l**2 + B**2), "C_0", "Lemma 6"
)
SMALL = Condition("eta < 1/(6 K L)", 6 * eta * K * L, sp.Integer(1), strict=True)
DRIFT = LeftSide("drift", r"\frac1m\sum_i\mathbb{E}\|x_{i,k}^t-x_i^t\|^2", unit=LENGTH_SQ)
ROUND = LeftSide("descent", r"\mathbb{E}f(w^{t+1})-\mathbb{E}f(w^t)", unit=VALUE)


def _entry(
    kind: str, name: str, lhs: LeftSide, bound: Expr, source: str, title: str, **fields: object
) -> Theorem:
    return Theorem(
        key=f"dfedadmm.{name}",
        kind=kind,  # type: ignore[arg-type]
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=lhs,
        parts={"bound": bound},
        scope=SCOPE,
        **{"variant": "printed", **fields},  # type: ignore[arg-type]
    )


def definitions() -> tuple[Theorem, ...]:
    """gamma, C_0, C_2, and kappa twice, as Theorem 1 and as the end of appendix C.1 give it."""
    step_sq = LeftSide("definition", "C_2", unit=LENGTH_SQ)
    dual = LeftSide("definition", "C_0", unit=GRADIENT_SQ)
    share, rate = LeftSide("definition", r"\gamma", unit=ONE), LeftSide("definition", r"\kappa", unit=ONE)
    return (
        _entry(
            "definition", "definition_gamma", share, GAMMA.expr, "(7), Lemma 2", "Weight of the gradients"
        ),
        _entry(
            "definition", "definition_C0", dual, C0_DEFINITION.expr, "Lemma 6", "Moments of the local steps"
        ),
        _entry("definition", "definition_C2", step_sq, C2_DEFINITION.expr, "Lemma 8", "Step of one round"),
        _entry("definition", "definition_kappa", rate, KAPPA.expr, "Theorem 1", "Share of the descent"),
        _entry(
            "definition",
            "definition_kappa",
            rate,
            R(1, 2) - 1152 * L**2 * eta**2 * K,
            "appendix C.1, last line",
            "Share of the descent",
            variant="appendix",
        ),
    )


def lemmas() -> tuple[Theorem, ...]:
    """Lemmas 1, 4 to 8 and 10 (2, 3 and 9 are identities)."""
    power = LeftSide("operator_norm", r"\|W^t-P\|_{op}", unit=ONE)
    mean_dual = LeftSide("dual_mean_sq", r"\mathbb{E}\|\frac1m\sum_i\hat g_i^t\|^2")
    dual = LeftSide("dual_sq", r"\frac1m\sum_i\mathbb{E}\|\hat g_i^t\|^2")
    weighted = LeftSide(
        "drift_weighted",
        r"\frac1m\sum_i\sum_k\frac{\gamma_k}{\gamma}\mathbb{E}\|x_{i,k}^t-x_i^t\|^2",
        unit=LENGTH_SQ,
    )
    consensus = LeftSide("consensus", r"\frac1m\sum_i\mathbb{E}\|x_i^t-\bar x^t\|^2", unit=LENGTH_SQ)
    auxiliary = LeftSide("auxiliary", r"\frac1m\sum_i\mathbb{E}\|w^t-\bar x^t\|^2", unit=LENGTH_SQ)
    drift = 16 * eta**2 * K**2 * C0
    small = {"conditions": (SMALL,), "definitions": (C0_DEFINITION,)}
    return (
        _entry("lemma", "lemma_1", power, lam**t, "Lemma 1", "Powers of the mixing matrix"),
        _entry("lemma", "lemma_4", mean_dual, MOMENT, "Lemma 4", "Mean of the duals"),
        _entry("lemma", "lemma_5", dual, MOMENT, "Lemma 5", "Duals"),
        _entry("lemma", "lemma_6", weighted, drift, "Lemma 6, (11)", "Drift, weighted over steps", **small),
        _entry("lemma", "lemma_7", DRIFT, drift, "Lemma 7, (14)", "Drift at every step", **small),
        _entry(
            "lemma",
            "lemma_8",
            consensus,
            2 * C2 / (1 - lam) ** 2,
            "Lemma 8",
            "Consensus",
            definitions=(C2_DEFINITION,),
            conditions=(SMALL,),
            assumptions=ASSUMPTIONS,
        ),
        _entry(
            "lemma",
            "lemma_10",
            auxiliary,
            2 * pen**2 * left**2 * (1 + left**2 / gamma**2) * MOMENT,
            "Lemma 10",
            "Distance of the auxiliary sequence",
            definitions=(GAMMA, LEFT),
        ),
    )


def _local_part() -> Expr:
    return 96 * pen * L**2 * eta**2 * K**2 * (3 * sigma_g**2 + 2 * sigma_l**2 + B**2)


def displays() -> tuple[Theorem, ...]:
    """(12)'s coefficient, R1 (22), R2, (23), and the two forms of the descent that C.1 displays."""
    distance = left**2 * (1 + (left / gamma) ** 2) * MOMENT
    sam = 6 * rho**2 * pen * L**2 * MOMENT
    smoothness = L / 2 * pen**2 * MOMENT
    more, most = 1 + 192 * L**2 * eta**2 * K**2, 1 + 384 * L**2 * eta**2 * K**2
    gap = (1 - lam) ** 2
    first = LeftSide("mean_step_sq", r"\frac L2\mathbb{E}\|w^{t+1}-w^t\|^2", unit=VALUE)
    second = LeftSide("inner_product", r"\mathbb{E}\langle\nabla f(w^t),w^{t+1}-w^t\rangle", unit=VALUE)
    local = LeftSide("client_gradient_sq", r"\frac1m\sum_i\mathbb{E}\|\nabla f(x_i^t)\|^2")
    growth = LeftSide("coefficient", r"c_k^t/c_{k-1}^t", unit=ONE)
    own = (C2_DEFINITION, GAMMA, LEFT)
    share = R(1, 2) - 1152 * L**2 * eta**2 * K**2
    return (
        _entry(
            "equation",
            "eq_12",
            growth,
            (1 + a) * (1 - eta / pen) ** 2 + (1 + 1 / a) * 6 * eta**2 * L**2,
            "(12), first coefficient",
            "Growth of the drift by one local step",
        ),
        _entry("equation", "eq_22", first, smoothness, "(22)", "Square of the auxiliary step"),
        _entry(
            "equation",
            "eq_R2",
            second,
            _local_part()
            + 288 * pen * L**2 * eta**2 * K**2 * G_x
            + 6 * pen * L**2 * C2 / gap
            + 6 * pen**3 * L**2 * distance
            - pen / 2 * G_w
            + sam,
            "appendix C.1, bound of R2",
            "Inner product of the descent",
            definitions=own,
        ),
        _entry(
            "equation",
            "eq_23",
            local,
            4 * L**2 * C2 / gap + 8 * L**2 * pen**2 * distance + 4 * G_w,
            "(23)",
            "Gradient at the clients",
            definitions=own,
        ),
        _entry(
            "equation",
            "eq_descent",
            ROUND,
            -share * pen * G_w
            + _local_part()
            + 6 * pen**3 * L**2 * most * distance
            + smoothness
            + 6 * pen * L**2 * more * C2 / gap
            + sam,
            "appendix C.1, first descent after (23)",
            "Descent of one round",
            definitions=own,
        ),
        _entry(
            "equation",
            "eq_descent_last",
            ROUND,
            -share * pen * G_w
            + _local_part()
            + 3 * pen**3 * L**2 * most * MOMENT
            + smoothness
            + 6 * pen * L**2 * more * C2 / gap
            + sam,
            "appendix C.1, second descent after (23)",
            "Descent of one round without gamma",
            definitions=(C2_DEFINITION,),
            conditions=(ENOUGH_STEPS, Condition("eta <= 2 lam_admm", eta, 2 * pen)),
        ),
    )


def statements() -> tuple[Theorem, ...]:
    """Everything of appendix C that the registry holds."""
    return (*definitions(), *lemmas(), *displays())
