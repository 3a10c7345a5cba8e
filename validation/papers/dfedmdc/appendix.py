"""DFedMDC and DFedSMDC, appendix C: lemmas and displayed inequalities as printed, mistakes included; and the
lemmas and steps of their re-derivation."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedmdc import PAPER
from dfltheory.bounds.papers.dfedmdc.corrected import (
    A_STEP,
    B_STEP,
    CONDITIONS,
    CORRECTED_ASSUMPTIONS,
    SIZE,
    a,
    b,
    size,
)  # fmt: skip
from dfltheory.bounds.papers.dfedmdc.printed import SCOPES
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem
from dfltheory.bounds.units import ONE, Expr, unit

T, m, rho, lam, t = s.T, s.m, s.rho, s.lam, s.t
K_u, K_v, eta_u, eta_v, L_u, L_v, L_vu = s.K_u, s.K_v, s.eta_u, s.eta_v, s.L_u, s.L_v, s.L_vu
chi, sigma_u, sigma_v, delta_u, k0_sq = s.chi, s.sigma_u, s.sigma_v, s.delta_u, s.x0_spread
D_u, D_v, G_u, g_u, kap, Xi = s.D_u, s.D_v, s.G_u, s.g_u, s.kap, s.Xi
drift_u, step_u, step_v = s.drift_u, s.step_u, s.step_v
R = sp.Rational
VAR = sigma_u**2 + delta_u**2
GAP = (1 - lam) ** 2
SMALL_STEP = Condition(
    "eta_u << (1 - lam)/(3 sqrt(2) K_u L_u), read as at most a tenth",
    30 * sp.sqrt(2) * eta_u * K_u * L_u,
    1 - lam,
)
"""Printed between (10) and (11), and between (24) and (25), with K_u L_u under the root, where the
units do not fit."""

PERSONAL = LeftSide("personal_step_sq", r"\mathbb{E}\|v^{K_v-1}-v^0\|^2", unit=unit(v=2))
DRIFT = LeftSide("drift", r"\frac1m\sum_i\mathbb{E}\|u_i^{t,k}-u_i^t\|^2", unit=LENGTH_SQ)
CONSENSUS = LeftSide("consensus", r"\frac1m\sum_i\mathbb{E}\|u_i^t-\bar u^t\|^2", unit=LENGTH_SQ)
U_STEP = LeftSide("u_step", r"\mathbb{E}[F(\bar u^{t+1},V^{t+1})-F(\bar u^t,V^{t+1})]", unit=VALUE)
V_STEP = LeftSide("v_step", r"\mathbb{E}[F(\bar u^t,V^{t+1})-F(\bar u^t,V^t)]", unit=VALUE)
ROUND = LeftSide("descent", r"\mathbb{E}[F(\bar u^{t+1},V^{t+1})-F(\bar u^t,V^t)]", unit=VALUE)


def _entry(
    kind: str, name: str, lhs: LeftSide, bound: Expr, source: str, title: str, **fields: object
) -> Theorem:
    return Theorem(
        key=f"dfedmdc.{name}",
        kind=kind,  # type: ignore[arg-type]
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=lhs,
        parts={"bound": bound},
        **{"variant": "printed", "scope": SCOPES[1], **fields},  # type: ignore[arg-type]
    )


def lemmas() -> tuple[Theorem, ...]:
    """Lemmas 1 to 6, and Lemmas 3 and 5 re-derived."""
    power = LeftSide("operator_norm", r"\|W^t-P\|_{op}", unit=ONE)
    mean = LeftSide(
        "consensus_mean",
        r"\frac1T\sum_{t<T}\frac1m\sum_i\mathbb{E}\|u_i^t-\bar u^t\|^2",
        "mean",
        unit=LENGTH_SQ,
    )
    small = Condition("eta_v <= 1/(2 K_v L_v)", 2 * eta_v * K_v * L_v, sp.Integer(1))
    own = {"variant": "corrected", "assumptions": CORRECTED_ASSUMPTIONS, "conditions": CONDITIONS}
    shared, personal = 18 * eta_u**2 * K_u**2, 16 * eta_v**2 * K_v**2
    return (
        _entry("lemma", "lemma_1", power, lam**t, "Lemma 1", "Powers of the mixing matrix"),
        _entry(
            "lemma",
            "lemma_2",
            PERSONAL,
            personal * D_v + 8 * eta_v**2 * K_v**2 * sigma_v**2,
            "Lemma 2",
            "Local steps of the personal part",
            conditions=(small,),
        ),
        _entry("lemma", "lemma_3", DRIFT, shared * (VAR + G_u), "Lemma 3", "Drift of DFedMDC"),
        _entry(
            "lemma",
            "lemma_3",
            DRIFT,
            R(107, 100) * eta_u**2 * K_u**2 * (L_u * kap + g_u + size) ** 2,
            "Lemmas 3 and 4 re-derived",
            "Drift of DFedMDC and DFedSMDC",
            **own,
            definitions=(A_STEP, B_STEP, SIZE),
        ),
        _entry(
            "lemma",
            "lemma_4",
            DRIFT,
            6 * eta_u**2 * K_u * L_u**2 * rho**2 + shared * (VAR + G_u),
            "Lemma 4",
            "Drift of DFedSMDC",
        ),
        _entry("lemma", "lemma_5", CONSENSUS, shared / GAP * (VAR + G_u), "Lemma 5", "Consensus of DFedMDC"),
        _entry(
            "lemma",
            "lemma_5",
            mean,
            8 * k0_sq / (3 * T * (1 - lam)) + 18 * lam**2 * eta_u**2 * K_u**2 / GAP * (G_u + size**2),
            "Lemmas 5 and 6 re-derived; the mean of ||grad_u F(ubar^t, V^{t+1})||^2 stands as G_u",
            "Consensus of DFedMDC and DFedSMDC, mean over rounds",
            **own,
            definitions=(A_STEP, B_STEP, SIZE),
        ),
        _entry(
            "lemma",
            "lemma_6",
            CONSENSUS,
            6 * eta_u**2 * K_u / GAP * (L_u**2 * rho**2 + 3 * K_u * (VAR + G_u)),
            "Lemma 6",
            "Consensus of DFedSMDC",
        ),
    )


def _v_step(consensus: Expr) -> Expr:
    return (
        (-eta_v * K_v + 8 * eta_v**2 * K_v**2 * (L_v + 1)) * D_v
        + 4 * eta_v**2 * K_v**2 * sigma_v**2 * (L_v + 1)
        + consensus
    )


def _u_step() -> Expr:
    more = 2 + eta_u * L_u**2
    return (
        (-eta_u * K_u / 2 + 2 * eta_u**2 * K_u * L_u + 18 * eta_u**2 * K_u**2 * more / GAP) * D_u
        + 2 * eta_u**2 * K_u * L_u * VAR
        + 9 * eta_u**2 * K_u**2 * more / GAP * VAR
    )


def smoothness() -> tuple[Theorem, ...]:
    """Eqs. (8) and (15), what smoothness gives before a lemma is used; both proofs display them."""
    inner = LeftSide(
        "T1_v",
        r"\frac1m\sum_i\mathbb{E}\langle\nabla_vF_i(\bar u^t,v_i^t),v_i^{t+1}-v_i^t\rangle",
        unit=VALUE,
    )
    return (
        _entry(
            "equation",
            "eq_8",
            U_STEP,
            -eta_u * K_u / 2 * D_u + eta_u * L_u**2 / 2 * drift_u + L_u / 2 * step_u,
            "(8) and (22), last line: T_1 and T_2 written out",
            "Descent in u by smoothness",
        ),
        _entry(
            "equation",
            "eq_15",
            inner,
            -eta_v * K_v * D_v + L_vu**2 / 2 * Xi + step_v / 2,
            "(15) and (29)",
            "Inner product of the descent in v",
        ),
    )


def displays_mdc() -> tuple[Theorem, ...]:
    """Eqs. (9) to (19), the proof for DFedMDC."""
    first = LeftSide("T1_u", r"\mathcal{T}_{1,u}", unit=VALUE)
    second = LeftSide("T2_u", r"\mathcal{T}_{2,u}", unit=VALUE)
    third = LeftSide("T3_u", r"\mathcal{T}_{3,u}", unit=GRADIENT_SQ)
    personal = LeftSide("T2_v", r"\mathcal{T}_{2,v}", unit=VALUE)
    coupling = LeftSide(
        "T3_v", r"\frac{L_{vu}^2}{2m}\sum_i\mathbb{E}\|\bar u^t-u_i^t\|^2", unit=unit(f=2, v=-2)
    )
    front = 9 * eta_u**3 * K_u**2 * L_u**2 / GAP
    coupled = L_vu**2 / GAP * (18 * eta_u**2 * K_u**2 * (VAR + 2 * D_u))
    return (
        _entry("equation", "eq_9", first, front * (VAR + G_u), "(9)", "Drift from the mean"),
        _entry(
            "equation", "eq_10", third, 2 * L_u**2 * Xi + 2 * D_u, "(10) and (24)", "Gradient at the clients"
        ),
        _entry(
            "equation",
            "eq_11",
            first,
            front * (VAR + 2 * D_u),
            "(11)",
            "Drift from the mean, closed",
            conditions=(SMALL_STEP,),
        ),
        _entry(
            "equation",
            "eq_12",
            second,
            2 * eta_u**2 * K_u * L_u * (VAR + D_u) + 2 * eta_u**2 * K_u * L_u**3 * Xi,
            "(12)",
            "Square of the mean step",
        ),
        _entry("equation", "eq_13", U_STEP, _u_step(), "(13)", "Descent in u"),
        _entry(
            "equation",
            "eq_16",
            personal,
            8 * L_v * eta_v**2 * K_v**2 * D_v + 4 * L_v * eta_v**2 * K_v**2 * sigma_v**2,
            "(16) and (30)",
            "Square of the personal step",
        ),
        _entry("equation", "eq_17", coupling, coupled, "(17)", "Coupling of the blocks"),
        _entry("equation", "eq_18", V_STEP, _v_step(coupled), "(18)", "Descent in v"),
        _entry("equation", "eq_19", ROUND, _u_step() + _v_step(coupled), "(19)", "Descent of one round"),
    )


def displays_smdc() -> tuple[Theorem, ...]:
    """Eqs. (23) to (36), the proof for DFedSMDC."""
    first = LeftSide("T1_u", r"\mathcal{T}_{1,u}", unit=VALUE)
    second = LeftSide("T2_u", r"\mathcal{T}_{2,u}", unit=VALUE)
    coupling = LeftSide(
        "T3_v", r"\frac{L_{vu}^2}{2m}\sum_i\mathbb{E}\|\bar u^t-u_i^t\|^2", unit=unit(f=2, v=-2)
    )
    sam = L_u**2 * rho**2
    front = 3 * eta_u**3 * K_u * L_u**2 / GAP
    coupled = L_vu**2 / GAP * (3 * eta_u**2 * K_u * sam + 9 * eta_u**2 * K_u**2 * (VAR + 2 * D_u))
    step = (
        (
            -eta_u * K_u / 2
            + R(5, 2) * eta_u**2 * K_u * L_u
            + 18 * eta_u**3 * K_u**2 * L_u**2 * (1 + 5 * eta_u * K_u * L_u) / GAP
        )
        * D_u
        + front * (sam + 3 * K_u * VAR)
        + R(5, 2) * eta_u**2 * K_u * L_u * (sam + VAR)
        + 15 * eta_u**4 * K_u**2 * L_u**3 / GAP * (sam + 3 * K_u * VAR)
    )
    last = (
        (eta_u / 2 - eta_u * K_u + 54 * eta_u**3 * K_u**3 * L_u**2 / GAP) * D_u
        + R(5, 2) * eta_u**2 * K_u * L_u * (sam + VAR)
        + 3 * eta_u * K_u * L_u**2 / (2 * GAP) * (6 * eta_u**2 * K_u * sam + 18 * eta_u**2 * K_u**2 * VAR)
    )
    return (
        _entry(
            "equation", "eq_23", first, front * (sam + 3 * K_u * (VAR + G_u)), "(23)", "Drift from the mean"
        ),
        _entry(
            "equation",
            "eq_25",
            first,
            front * (sam + 3 * K_u * (VAR + 2 * D_u)),
            "(25)",
            "Drift from the mean, closed",
            conditions=(SMALL_STEP,),
        ),
        _entry(
            "equation",
            "eq_26",
            second,
            R(5, 2) * eta_u**2 * K_u * L_u * (sam + VAR + D_u) + R(5, 2) * eta_u**2 * K_u * L_u**3 * Xi,
            "(26)",
            "Square of the mean step",
        ),
        _entry("equation", "eq_27", U_STEP, step, "(27)", "Descent in u"),
        _entry("equation", "eq_31", coupling, coupled, "(31)", "Coupling of the blocks"),
        _entry("equation", "eq_32", V_STEP, _v_step(coupled), "(32)", "Descent in v"),
        _entry(
            "equation", "eq_33_u", U_STEP, last, "(33), first two lines, what stands for (27)", "Descent in u"
        ),
        _entry("equation", "eq_33", ROUND, last + _v_step(coupled), "(33)", "Descent of one round"),
        _entry(
            "equation",
            "eq_36",
            LeftSide("definition", r"\sigma^2", unit=LENGTH_SQ),
            1 / (K_u * T) + VAR / L_u**2,
            "(36)",
            "Noise and SAM bias under the schedule of rho",
            order=True,
            schedule={"rho": s.rho0 / sp.sqrt(T)},
        ),
    )


def steps_corrected() -> tuple[Theorem, ...]:
    """The two steps of Theorem M's proof."""
    own = {
        "variant": "corrected",
        "conditions": CONDITIONS[:2],  # the third is for what the rounds do to each other
        "assumptions": CORRECTED_ASSUMPTIONS,
        "definitions": (A_STEP, B_STEP, SIZE),
    }
    return (
        _entry(
            "equation",
            "eq_18",
            V_STEP,
            -b / (4 * L_v) * D_v + R(3, 2) * b * chi**2 * L_u * kap**2 + R(14, 10) * b**2 * sigma_v**2 / L_v,
            "(18) and (32) re-derived",
            "Descent in v",
            **{**own, "definitions": (A_STEP, B_STEP)},
        ),
        _entry(
            "equation",
            "eq_13",
            U_STEP,
            -(a / L_u) * (R(1, 2) - R(64, 10) * a**2) * g_u**2
            + (R(3, 2) * a + R(32, 10) * a**3) * L_u * kap**2
            + R(64, 10) * a**3 * size**2 / L_u
            + R(3, 2) * a * L_u * rho**2
            + a**2 * sigma_u**2 / (m * K_u * L_u),
            "(13) and (27) re-derived",
            "Descent in u",
            **own,
        ),
    )


def statements() -> tuple[Theorem, ...]:
    """Everything of appendix C that the registry holds."""
    return (*lemmas(), *smoothness(), *displays_mdc(), *displays_smdc(), *steps_corrected())
