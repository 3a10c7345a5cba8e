"""DFedSGPSM, appendix B: definitions, lemmas and displayed inequalities as printed, mistakes included; and
the lemmas re-derived."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsgpsm import PAPER
from dfltheory.bounds.papers.dfedsgpsm.corrected import (
    BOUNDED,
    CORRECTED_ASSUMPTIONS,
    G_DEFINITION,
    ONE_STEP,
    PER_WINDOW,
    RE_DERIVED,
    WINDOW_ASSUMPTIONS,
    G,
)  # fmt: skip
from dfltheory.bounds.papers.dfedsgpsm.momentum import AT, at
from dfltheory.bounds.papers.dfedsgpsm.printed import C1, C1_DEFINITION, PRINTED_STEP, SCOPE
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH, LENGTH_SQ, VALUE
from dfltheory.bounds.theorem import LeftSide, Theorem
from dfltheory.bounds.units import ONE, Expr

L, K, T, eta, rho, alpha, t = s.L, s.K, s.T, s.eta, s.rho, s.alpha, s.t
sigma_l, sigma_g, B = s.sigma_l, s.sigma_g, s.B
delta, C, q, x0_sq, x0_spread = s.delta, s.C, s.q, s.x0_sq, s.x0_spread
G_x, G_bar = s.G_x, s.G_bar
R = sp.Rational
MOMENT = B**2 + sigma_l**2

STEP = LeftSide("local_step_sq", r"\mathbb{E}\|x_{i,k+1}^t-x_{i,k}^t\|^2", unit=LENGTH_SQ)
DRIFT = LeftSide("drift", r"\frac1n\sum_i\mathbb{E}\|x_{i,k}^t-x_i^t\|^2", unit=LENGTH_SQ)
CONSENSUS = LeftSide("consensus", r"\frac1n\sum_i\mathbb{E}\|z_i^t-\bar x^t\|^2", unit=LENGTH_SQ)


def _entry(
    kind: str,
    name: str,
    lhs: LeftSide,
    bound: Expr | dict[str, Expr],
    source: str,
    title: str,
    **fields: object,
) -> Theorem:
    return Theorem(
        key=f"dfedsgpsm.{name}",
        kind=kind,  # type: ignore[arg-type]
        title=title,
        source=f"{PAPER.citation}, {source}",
        lhs=lhs,
        parts=bound if isinstance(bound, dict) else {"bound": bound},
        **{"variant": "printed", "scope": SCOPE, **fields},  # type: ignore[arg-type]
    )


def lemmas() -> tuple[Theorem, ...]:
    """Lemmas 2 to 4, the last line of Lemma 3's proof, and the three re-derived."""
    small = {"conditions": (PRINTED_STEP,)}
    own = {
        "variant": "corrected",
        "definitions": (AT, G_DEFINITION),
        "assumptions": (*CORRECTED_ASSUMPTIONS, BOUNDED),
        "scope": replace(SCOPE, sequence=RE_DERIVED.sequence),
    }
    windows = {
        **own,
        "variant": "corrected_windows",
        "assumptions": (*WINDOW_ASSUMPTIONS, BOUNDED),
        "scope": SCOPE,
    }
    rms = {**own, "definitions": (G_DEFINITION,)}
    return (
        _entry(
            "lemma",
            "lemma_2",
            STEP,
            (2 * eta**2 * sigma_l**2 + 2 * eta**2 * B**2) / (1 - alpha) ** 2,
            "Lemma 2",
            "One local step",
        ),
        _entry(
            "lemma",
            "lemma_2",
            STEP,
            eta**2 * G**2 / (1 - alpha) ** 2,
            "Lemma 2 re-derived",
            "One local step",
            **rms,
        ),
        _entry(
            "lemma",
            "lemma_3",
            DRIFT,
            C1 * eta**2 + 64 * K**2 * eta**2 * G_x,
            "Lemma 3",
            "Drift of the local steps",
            definitions=(C1_DEFINITION,),
            **small,
        ),
        _entry(
            "lemma",
            "lemma_3",
            DRIFT,
            8 * K**2 * eta**2 * sigma_l**2
            + 64 * K**2 * eta**2 * sigma_g**2
            + 32 * K**2 * alpha**2 / (1 - alpha) ** 2 * (eta**2 * sigma_l**2 + eta**2 * B**2)
            + 64 * K**2 * eta**2 * G_x
            + 64 * K * L**2 * rho**2 * eta**2,
            "Lemma 3, last line of its proof",
            "Drift of the local steps, as derived",
            variant="appendix",
            **small,
        ),
        _entry(
            "lemma",
            "lemma_3",
            DRIFT,
            eta**2 * at**2 * G**2,
            "Lemma 3 re-derived",
            "Drift of the local steps",
            **own,
        ),
        _entry(
            "lemma",
            "lemma_4",
            CONSENSUS,
            2 * C**2 * q ** (2 * t) * x0_sq + 2 * eta**2 * at**2 * C**2 * MOMENT / (1 - q) ** 2,
            "Lemma 4, averaged over clients",
            "Consensus",
            definitions=(AT,),
        ),
        _entry(
            "lemma",
            "lemma_4",
            CONSENSUS,
            2 * q ** (2 * t) * x0_spread / delta + 2 * eta**2 * at**2 * G**2 * ONE_STEP[0] ** 2 / delta**2,
            "Lemma 4 re-derived",
            "Consensus",
            **own,
        ),
        _entry(
            "lemma",
            "lemma_4",
            CONSENSUS,
            2 * q ** (2 * sp.floor(t / s.window)) * x0_spread / delta
            + 2 * eta**2 * at**2 * G**2 * PER_WINDOW[0] ** 2 / delta**2,
            "Lemma 4 re-derived with windows",
            "Consensus where only windows of rounds contract",
            **windows,
        ),
    )


def displays() -> tuple[Theorem, ...]:
    """C_1, C_2, alpha-tilde, (6), the recursion of Lemma 3, R1 and the one-round inequality."""
    root = LeftSide("consensus_root", r"\|z_i^t-\bar x^t\|", unit=LENGTH)
    parts = LeftSide("definition", "C_1", unit=GRADIENT_SQ)
    rate = LeftSide("definition", "C_2", unit=GRADIENT_SQ)
    weights = LeftSide("definition", r"\tilde\alpha", unit=ONE)
    gradient = LeftSide("local_gradient_sq", r"\mathbb{E}\|\nabla f_i(\check z_{i,k}^t)\|^2")
    distance = LeftSide("bias_sq", "R_1")
    descent = LeftSide("descent", r"\mathbb{E}f(\bar x^{t+1})-\mathbb{E}f(\bar x^t)", unit=VALUE)
    second = sigma_l**2 / K + sigma_g**2 + alpha**2 / (1 - alpha) ** 2 * (sigma_l**2 + B**2) + 1 / (T * K)
    own = (AT, C1_DEFINITION)
    return (
        _entry(
            "definition",
            "definition_C1",
            parts,
            C1_DEFINITION.expr,
            "Theorem 1, Lemma 3",
            "Moments of a round",
        ),
        _entry("definition", "definition_C2", rate, second, "Corollary 1", "Moments of a round, scheduled"),
        _entry(
            "definition", "definition_alpha_tilde", weights, AT.expr, "Lemma 4", "Sum of the momentum weights"
        ),
        _entry(
            "equation",
            "eq_6",
            root,
            {
                "initialization": C * q**t * sp.sqrt(x0_sq),
                "consensus": C * s.push * (1 - q ** (t + 1)) / (1 - q),
            },
            "(6); the norms of the rounds' updates stand as their largest",
            "Consensus before squaring",
        ),
        _entry(
            "equation",
            "eq_gradient",
            gradient,
            4 * L**2 * rho**2 + 4 * sigma_g**2 + 4 * L**2 / delta**2 * s.Xi + 4 * G_x,
            "Lemma 3, bound of the local gradient; the drift ||x_{i,k}^t - x_i^t||^2 stands as Xi",
            "Gradient at a local step",
        ),
        _entry(
            "equation",
            "eq_R1",
            distance,
            3 * L**2 * eta**2 / delta * (C1 + 64 * K**2 * B**2)
            + 6 * L**2 * (C**2 * q ** (2 * t) * x0_sq + eta**2 * at**2 * C**2 * MOMENT / (1 - q) ** 2)
            + 3 * L**2 * rho**2,
            "appendix B, bound of R1 (without its factor alpha-tilde eta/2)",
            "Bias of the mean step",
            definitions=own,
            conditions=(PRINTED_STEP,),
        ),
        _entry(
            "equation",
            "eq_round",
            descent,
            -at * eta / 2 * G_bar
            + L * eta**2 * at**2 * sigma_l**2 / 2
            + 3 * at * eta**3 * L**2 / (2 * delta) * (C1 + 64 * K**2 * B**2)
            + 3 * L**2 * C**2 * q ** (2 * t) * eta * at * x0_sq
            + 3 * L**2 * eta**3 * at**3 * C**2 * MOMENT / (1 - q) ** 2
            + R(3, 2) * at * eta * L**2 * rho**2,
            "appendix B, inequality of one round",
            "Descent of one round",
            definitions=own,
            conditions=(PRINTED_STEP,),
        ),
    )


def statements() -> tuple[Theorem, ...]:
    """Everything of appendix B that the registry holds."""
    return (*lemmas(), *displays())
