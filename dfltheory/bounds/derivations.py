"""The displayed steps of the four proofs, and the inequalities that they lean on: as the papers claim
them."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.momentum import AT
from dfltheory.bounds.steps import Inequality, Matrices, Plus, Replace, Scalar, Solve, Step, Telescope, Times
from dfltheory.bounds.units import Expr

R = sp.Rational
L, K, eta, rho, lam, pen, delta = s.L, s.K, s.eta, s.rho, s.lam, s.lam_admm, s.delta
GAP = 1 / (1 - lam) ** 2
AT_FORM: Expr = AT.expr


def dfedsam_steps() -> tuple[Step, ...]:
    """Appendix D."""
    e, under = "dfedsam.", "dfedsam.theorem_4_5"
    descent = (Plus(e + "eq_21"),)
    return (
        Step(e + "lemma_D5", "Lemma D.4 times 1/(1 - lam)^2", e + "lemma_D4", (Times(GAP),), under),
        Step(e + "eq_22", "(20) plus (21)", e + "eq_20", descent, under),
        Step(
            e + "eq_23",
            "Lemma D.5 by smoothness",
            sp.S.Zero,
            (Plus(e + "lemma_D5", 2 * L**2), Plus(2 * s.G_bar)),
            under,
        ),
        Step(e + "eq_24", "(23) solved for the gradient at the clients", e + "eq_23", (Solve("G_x"),), under),
        Step(e + "eq_25", "(24) in (22)", e + "eq_22", (Replace("G_x", e + "eq_24"),), under),
        Step(
            e + "theorem_4_5:appendix_q1",
            "(25) summed over t = 1..T",
            e + "eq_25",
            (Telescope("G_bar"),),
            under,
        ),
        Step(
            e + "eq_32",
            "Lemma D.6 by smoothness",
            sp.S.Zero,
            (Plus(e + "lemma_D6", 2 * L**2), Plus(2 * s.G_bar)),
            under,
        ),
        Step(e + "eq_33", "(32) solved for the gradient at the clients", e + "eq_32", (Solve("G_x"),), under),
        Step(e + "eq_34", "(33) in (31)", e + "eq_22", (Replace("G_x", e + "eq_33"),), under),
        Step(
            e + "theorem_4_5:appendix", "(34) summed over t = 1..T", e + "eq_34", (Telescope("G_bar"),), under
        ),
        Step(e + "eq_last", "(34) summed over t = 1..T", e + "eq_34", (Telescope("G_bar"),), under),
        Step(e + "theorem_4_5", "appendix D.3 proves eq. (7)", e + "theorem_4_5:appendix", (), under),
    )


def dfedadmm_steps() -> tuple[Step, ...]:
    """Appendix C."""
    e, under = "dfedadmm.", "dfedadmm.theorem_1"
    sam = 6 * rho**2 * pen * L**2 * (s.sigma_l**2 + s.B**2)
    return (
        Step(
            e + "lemma_8",
            "twice Lemma 7 with ||grad f|| <= B plus twice Lemma 5, over (1 - psi)^2",
            sp.S.Zero,
            (Plus(e + "lemma_7", 2), Replace("G_x", s.B**2), Plus(e + "lemma_5", 2 * pen**2), Times(GAP)),
            under,
        ),
        Step(e + "eq_22", "Lemma 4 with (20)", e + "lemma_4", (Times(L / 2 * pen**2),), under),
        Step(
            e + "eq_R2",
            "Lemmas 6, 8 and 10 in R2.1",
            -pen / 2 * s.G_w + sam,
            (
                Plus(e + "lemma_6", 6 * pen * L**2),
                Plus(e + "lemma_8", 3 * pen * L**2),
                Plus(e + "lemma_10", 3 * pen * L**2),
            ),
            under,
        ),
        Step(
            e + "eq_23",
            "Lemmas 8 and 10 by smoothness",
            4 * s.G_w,
            (Plus(e + "lemma_8", 2 * L**2), Plus(e + "lemma_10", 4 * L**2)),
            under,
        ),
        Step(
            e + "eq_descent",
            "R1 plus R2, with (23)",
            e + "eq_22",
            (Plus(e + "eq_R2"), Replace("G_x", e + "eq_23")),
            under,
        ),
        Step(e + "eq_descent_last", "gamma > 1/2 in the first descent", e + "eq_descent", (), under),
        Step(
            e + "theorem_1:appendix",
            "the second descent summed",
            e + "eq_descent_last",
            (Telescope("G_w"),),
            under,
        ),
        Step(e + "theorem_1", "C_2 written out", e + "theorem_1:appendix", (), under),
    )


def dfedsgpsm_steps() -> tuple[Step, ...]:
    """Appendix B."""
    e, under = "dfedsgpsm.", "dfedsgpsm.theorem_1"
    step = AT_FORM * eta
    noise = -step / 2 * s.G_bar + L * step**2 * s.sigma_l**2 / 2
    recursion = (
        4
        * K
        * (
            2 * K * eta**2 * s.sigma_l**2
            + 16 * K * eta**2 * s.sigma_g**2
            + 16 * K * eta**2 * s.G_x
            + 4 * K * s.alpha**2 / (1 - s.alpha) ** 2 * (2 * eta**2 * s.sigma_l**2 + 2 * eta**2 * s.B**2)
            + 16 * K * L**2 * rho**2 * eta**2
        )
    )
    return (
        Step(e + "lemma_3:appendix", "4K times the terms of the recursion", recursion, (), under),
        Step(e + "lemma_3", "the last line of its proof", e + "lemma_3:appendix", (), under),
        Step(
            e + "eq_R1",
            "Lemma 3 with ||z_{i,s} - z_i||^2 <= ||x_{i,s} - x_i||^2/delta^2, Lemma 4 and SAM",
            3 * L**2 * rho**2,
            (Plus(e + "lemma_3", 3 * L**2 / delta**2), Replace("G_x", s.B**2), Plus(e + "lemma_4", 3 * L**2)),
            under,
        ),
        Step(e + "eq_round", "R1 in the descent", noise, (Plus(e + "eq_R1", step / 2),), under),
        Step(
            e + "theorem_1:appendix", "one round summed over t", e + "eq_round", (Telescope("G_bar"),), under
        ),
        Step(e + "theorem_1", "alpha-tilde < K/(1 - alpha)", e + "theorem_1:appendix", (), under),
    )


def dfedmdc_steps() -> tuple[Step, ...]:
    """Appendix C."""
    e = "dfedmdc."
    drift = s.eta_u * s.L_u**2 * s.K_u / 2
    descent_u, descent_v = -s.eta_u * s.K_u / 2 * s.D_u, -s.eta_v * s.K_v * s.D_v
    more = 1 + 1 / s.L_v
    return (
        Step(e + "eq_9", "Lemma 5 in T_1, a sum over K_u steps", e + "lemma_5", (Times(drift),)),
        Step(
            e + "eq_11",
            "(10) and Lemma 5 in (9)",
            e + "eq_9",
            (Replace("G_u", e + "eq_10"), Replace("Xi", e + "lemma_5")),
        ),
        Step(
            e + "eq_13",
            "(11) and (12) in (8), Lemma 5 for T_4 with (10)",
            descent_u,
            (Plus(e + "eq_11"), Plus(e + "eq_12"), Replace("Xi", e + "lemma_5"), Replace("G_u", 2 * s.D_u)),
        ),
        Step(e + "eq_16", "Lemma 2", e + "lemma_2", (Times(s.L_v / 2),)),
        Step(
            e + "eq_17",
            "Lemma 5 with (10), spread left out",
            e + "lemma_5",
            (Replace("G_u", 2 * s.D_u), Times(s.L_vu**2 / 2)),
        ),
        Step(
            e + "eq_18", "(15), (16) and (17) summed", descent_v, (Plus(e + "eq_16", more), Plus(e + "eq_17"))
        ),
        Step(e + "eq_19", "(13) plus (18)", e + "eq_13", (Plus(e + "eq_18"),)),
        Step(e + "lemma_6", "Lemma 4 over (1 - lam)^2", e + "lemma_4", (Times(GAP),)),
        Step(e + "lemma_5", "Lemma 3 over (1 - lam)^2", e + "lemma_3", (Times(GAP),)),
        Step(e + "eq_23", "Lemma 6 in T_1, a sum over K_u steps", e + "lemma_6", (Times(drift),)),
        Step(
            e + "eq_25",
            "(24) and Lemma 6 in (23)",
            e + "eq_23",
            (Replace("G_u", e + "eq_10"), Replace("Xi", e + "lemma_6")),
        ),
        Step(
            e + "eq_27",
            "(25) and (26) in (22), Lemma 6 for T_4 with (24)",
            descent_u,
            (Plus(e + "eq_25"), Plus(e + "eq_26"), Replace("Xi", e + "lemma_6"), Replace("G_u", 2 * s.D_u)),
        ),
        Step(
            e + "eq_31",
            "Lemma 6 with (24), spread left out",
            e + "lemma_6",
            (Replace("G_u", 2 * s.D_u), Times(s.L_vu**2 / 2)),
        ),
        Step(
            e + "eq_32", "(29), (30) and (31) summed", descent_v, (Plus(e + "eq_16", more), Plus(e + "eq_31"))
        ),
        Step(e + "eq_33", "(27) plus (32)", e + "eq_27", (Plus(e + "eq_32"),)),
    )


def all_steps() -> tuple[Step, ...]:
    """Every declared step."""
    return (*dfedsam_steps(), *dfedadmm_steps(), *dfedsgpsm_steps(), *dfedmdc_steps())


def _norm(matrix: Any) -> Any:
    return np.linalg.norm(matrix, 2)


def _average(W: Any) -> Any:
    return np.ones_like(W) / W.shape[0]


def inequalities() -> tuple[Inequality, ...]:
    """Inequalities on numbers, vectors and matrices that the proofs use."""
    x, y, k = (sp.Symbol(n, positive=True) for n in ("x", "y", "k"))
    growth = (1 + 1 / (k - 1)) ** k
    gamma = sp.Symbol("g", positive=True)
    power, half = np.linalg.matrix_power, (1 + 1 / (2 * k - 1)) ** k
    everywhere = {"x": (1e-3, 1e3), "y": (1e-3, 1e3)}
    return (
        Scalar(
            "dfedadmm.lemma_6",
            "Proof 5, (a)",
            "(1 + 1/(K-1))^K < 5 for any K >= 1",
            growth,
            sp.Integer(5),
            {"k": (1, 1e6)},
            ("k",),
        ),
        Scalar(
            "dfedsgpsm.lemma_3",
            "Proof 3, end",
            "(1 + 1/(K-1))^K <= 5 for any K > 1",
            growth,
            sp.Integer(5),
            {"k": (2, 1e6)},
            ("k",),
        ),
        Scalar(
            "dfedmdc.lemma_3",
            "(a)",
            "(2K-1)((1 + 1/(2K-1))^K - 1) <= 3K for any K >= 1",
            (2 * k - 1) * (half - 1),
            3 * k,
            {"k": (1, 1e6)},
            ("k",),
        ),
        Scalar(
            "dfedmdc.lemma_3",
            "(a)",
            "(1 + 1/(2K-1))^K <= sqrt(5) for any K >= 1",
            half,
            sp.sqrt(5),
            {"k": (1, 1e6)},
            ("k",),
        ),
        Scalar(
            "dfedmdc.eq_9",
            "(8), a)",
            "<x, y> <= ||x||^2/2 + ||y||^2/2",
            x * y,
            x**2 / 2 + y**2 / 2,
            everywhere,
        ),
        Scalar(
            "dfedsgpsm.lemma_4",
            "Proof 4, end",
            "(x + y)^2 <= 2 x^2 + 2 y^2",
            (x + y) ** 2,
            2 * x**2 + 2 * y**2,
            everywhere,
        ),
        Scalar(
            "dfedsam.lemma_D6",
            "after (16), third line",
            "(x + y)^2 <= x^2 + y^2 for the two geometric sums",
            (x + y) ** 2,
            x**2 + y**2,
            everywhere,
        ),
        Scalar(
            "dfedadmm.eq_descent_last",
            "(a)",
            "(gamma - 1)^2 (1 + ((gamma - 1)/gamma)^2) <= 1/2 for gamma > 1 - 1/e",
            (gamma - 1) ** 2 * (1 + ((gamma - 1) / gamma) ** 2),
            R(1, 2),
            {"g": (1 - np.exp(-1), 1)},
        ),
        Scalar(
            "dfedadmm.eq_12",
            "below (12)",
            "2K (1 - r)^2 + 1/(6 K^2) (1 + 1/(2K-1)) < 1 + 1/(K-1) for r = eta/lambda",
            2 * k * (1 - x) ** 2 + (1 + 1 / (2 * k - 1)) / (6 * k**2),
            1 + 1 / (k - 1),
            {"k": (2, 64), "x": (1e-6, 2)},
            ("k",),
        ),
        Scalar(
            "dfedsgpsm.theorem_1",
            "Finally",
            "alpha-tilde <= K/(1 - alpha)",
            AT_FORM,
            K / (1 - s.alpha),
            {"alpha": (0, 0.999), "K": (1, 64)},
            ("K",),
        ),
        Scalar(
            "dfedsgpsm.theorem_1",
            "Finally",
            "1/alpha-tilde <= (1 - alpha)/K",
            1 / AT_FORM,
            (1 - s.alpha) / K,
            {"alpha": (0, 0.999), "K": (1, 64)},
            ("K",),
        ),
        Scalar(
            "dfedsgpsm.eq_round",
            "after R1",
            "eta < 1/(K L) gives L eta^2 at^2 <= eta at (unit L, eta = x/K)",
            x * AT_FORM / K,
            sp.Integer(1),
            {"x": (1e-3, 1), "alpha": (0, 0.999), "K": (1, 64)},
            ("K",),
        ),
        Matrices(
            "dfedsam.lemma_D1",
            "Lemma D.1",
            "||W^t - P|| <= ||W - P||^t",
            "mixing",
            lambda W, n: _norm(power(W, n) - _average(W)),
            lambda W, n: _norm(W - _average(W)) ** n,
        ),
        Matrices(
            "dfedsam.lemma_D6",
            "before Cauchy",
            "||W^n - P + P||^(Q-1) <= lam^((Q-1)n) + 1/m^(Q-1), Q = 2",
            "mixing",
            lambda W, n: _norm(power(W, n)),
            lambda W, n: _norm(W - _average(W)) ** n + 1 / W.shape[0],
        ),
        Matrices(
            "dfedsam.lemma_D6",
            "E||zeta||^2",
            "||W - P + P||^(2Q) <= ||W - P||^(2Q) + ||P||^(2Q)",
            "mixing",
            lambda W, n: _norm(W) ** (2 * n),
            lambda W, n: _norm(W - _average(W)) ** (2 * n) + _norm(_average(W)) ** (2 * n),
        ),
        Matrices(
            "dfedsam.lemma_D5",
            "E||zeta||^2",
            "||W x|| <= ||x||",
            "mixing",
            lambda W, n: _norm(W),
            lambda W, n: 1.0,
        ),
        Matrices(
            "dfedsam.eq_21",
            "third line",
            "||sum_k a_k||^2 <= sum_k ||a_k||^2",
            "vectors",
            lambda A: np.sum(A.sum(axis=0) ** 2),
            lambda A: np.sum(A**2),
        ),
        Matrices(
            "dfedmdc.eq_12",
            "first line",
            "||sum_k a_k||^2 <= sum_k ||a_k||^2",
            "vectors",
            lambda A: np.sum(A.sum(axis=0) ** 2),
            lambda A: np.sum(A**2),
        ),
        Matrices(
            "dfedadmm.lemma_5",
            "(a), (b)",
            "||mean_k a_k||^2 <= mean_k ||a_k||^2 (Jensen)",
            "vectors",
            lambda A: np.sum(A.mean(axis=0) ** 2),
            lambda A: np.mean(np.sum(A**2, axis=1)),
        ),
    )


__all__ = ["all_steps", "inequalities"]
