"""Errata of Shi et al. 2023 (DFedMDC and DFedSMDC) about lemmas, displays and lines of proofs."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import Expr
from validation.papers import bound
from validation.papers.dfedmdc.appendix import GAP, VAR
from validation.papers.erratum import (
    CONSTANT,
    FALSE,
    GENERAL_CHECK,
    PROOF_LINE,
    PROOF_STEP,
    READER,
    REPAIRABLE,
    TYPO,
    Erratum,
)

T, K, eta, L = s.T, s.K_u, s.eta_u, s.L_u
front: Expr = 9 * eta**3 * K**2 * L**2 / GAP
SPREAD: Expr = 36 * eta**2 * K**2 * L**2 / GAP
"""2 L_u^2 times the factor of Lemma 5."""
twice: Expr = 2 * K * (1 + GAP)
"""Twice Lemma 5 and twice Lemma 3, K_u times."""
more: Expr = 4 * eta**2 * K * L**3 + eta * L**2
LONG_ENOUGH = Condition("T >= 72/(1 - lam)^2", sp.Integer(72), T * GAP)
"""The share of (10) and Lemma 5 is then at most 1/2."""

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="DFedMDC-E1",
        severity=CONSTANT,
        place="(9) and (23)",
        cause=(
            r"$\mathcal T_{1,u}$ sums $\|u_i^{t,k}-\bar u^t\|^2$ over $K_u$ local steps: a factor "
            "$K_u$ is lost, and the local drift of Lemma 3 (Lemma 4), for Lemma 5 (Lemma 6) bounds "
            r"$\|u_i^t-\bar u^t\|^2$."
        ),
        found_by=PROOF_STEP,
        origin="dfedmdc.eq_9",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        terms={
            "dfedmdc.eq_9": {"bound": twice * front * (VAR + s.G_u)},
        },
        corrected="dfedmdc.theorem_1:corrected",
    ),
    Erratum(
        id="DFedMDC-E2",
        severity=FALSE,
        place="(11) and (25)",
        cause=(
            r"(10) and Lemma 5 in (9) leave $36\eta_u^2K_u^2L_u^2/(1-\lambda)^2$ of $\mathcal T_{3,u}$"
            " on the right; a step size that is 'much smaller' makes this share small, not absent; "
            "(31) drops it again."
        ),
        found_by=PROOF_STEP,
        origin="dfedmdc.eq_11",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        terms={
            "dfedmdc.eq_11": {"bound": front * (VAR + 2 * s.D_u) / (1 - SPREAD)},
        },
        conditions={
            "dfedmdc.theorem_1": (LONG_ENOUGH,),
            "dfedmdc.theorem_1:appendix": (LONG_ENOUGH,),
            "dfedmdc.theorem_2:appendix": (LONG_ENOUGH,),
        },
        corrected="dfedmdc.theorem_1:corrected",
        refutes=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_1:appendix",
            "dfedmdc.theorem_2:appendix",
        ),
    ),
    Erratum(
        id="DFedMDC-E3",
        severity=REPAIRABLE,
        place="(12), first line, and (26) alike",
        cause=(
            "The square of a sum of $K_u$ vectors is taken for the sum of their squares: a factor "
            "$K_u$ is lost."
        ),
        found_by=PROOF_STEP,
        origin="dfedmdc.eq_12",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        terms={
            "dfedmdc.eq_12": {
                "bound": 2 * eta**2 * K**2 * L * (VAR + s.D_u) + 2 * eta**2 * K**2 * L**3 * s.Xi
            },
        },
        holds=("||sum_k a_k||^2 <= K_u sum_k ||a_k||^2",),
        corrected="dfedmdc.theorem_1:corrected",
        lines=("(26), sign 1",),
    ),
    Erratum(
        id="DFedMDC-E4",
        severity=CONSTANT,
        place="(13), terms of the network",
        cause=(
            r"Lemma 5 stands before $2\eta_u^2K_uL_u^3$ in (12): the $2$ in $2+\eta_uL_u^2$ should be "
            r"$4\eta_u^2K_uL_u^3$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedmdc.eq_13",
        bears_on=("dfedmdc.theorem_1",),
        terms={
            "dfedmdc.eq_13": {
                "bound": (-eta * K / 2 + 2 * eta**2 * K * L + 18 * eta**2 * K**2 * more / GAP) * s.D_u
                + 2 * eta**2 * K * L * VAR
                + 9 * eta**2 * K**2 * more / GAP * VAR
            },
        },
        corrected="dfedmdc.theorem_1:corrected",
        lines=("(13), second",),
    ),
    Erratum(
        id="DFedMDC-E5",
        severity=REPAIRABLE,
        place="(33), first two lines",
        cause=(
            "What stands for (27) is another formula than (27): its share of the descent, "
            r"$\eta_uK_u-\eta_u/2$, is up to twice that of (27)."
        ),
        found_by=PROOF_STEP,
        origin="dfedmdc.eq_33_u",
        bears_on=("dfedmdc.theorem_2",),
        terms={
            "dfedmdc.eq_33_u": {"bound": bound("dfedmdc.eq_27")},
        },
        corrected="dfedmdc.theorem_2:corrected",
    ),
    Erratum(
        id="DFedMDC-E11",
        severity=FALSE,
        place="Lemma 3, its hypotheses",
        cause=(
            r"It has no condition on $\eta_u$; its proof needs one of the size $1/(L_uK_u)$, which "
            "Theorem 1's schedule gives up to a constant."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.lemma_3",
        bears_on=("dfedmdc.theorem_1",),
        corrected="dfedmdc.theorem_1:corrected",
        lines=("Lemma 3",),
    ),
    Erratum(
        id="DFedMDC-E12",
        severity=FALSE,
        place="Lemma 4",
        cause=(
            r"The square of a sum is taken for the sum of the squares in the bound of $\mathbf I$; the"
            r" bias of SAM adds up over the steps: $K_u^2L_u^2\rho^2$ should stand for "
            r"$K_uL_u^2\rho^2$."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.lemma_4",
        bears_on=("dfedmdc.theorem_2",),
        corrected="dfedmdc.theorem_2:corrected",
        lines=(
            "Lemma 4",
            "proof of Lemma 4, bound of I, sign 1",
        ),
    ),
    Erratum(
        id="DFedMDC-E13",
        severity=TYPO,
        place="proof of Lemma 5, second inequality",
        cause="The square of the sum is missing; the next line has it.",
        found_by=PROOF_LINE,
        bears_on=("dfedmdc.theorem_1",),
        lines=("proof of Lemma 5, convolution, sign 2",),
    ),
    Erratum(
        id="DFedMDC-E14",
        severity=REPAIRABLE,
        place="proof of Lemma 5, one round",
        cause=(
            "Lemma 3 bounds round $j$ by the gradients of round $j$, and steps $k<K_u$; the display "
            "has the gradients of round $t$, and $k=K_u$."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.lemma_5",
        bears_on=("dfedmdc.theorem_1",),
        corrected="dfedmdc.theorem_1:corrected",
        lines=("proof of Lemma 5, one round",),
    ),
    Erratum(
        id="DFedMDC-E15",
        severity=REPAIRABLE,
        place="(8) and (22), third inequality",
        cause=(
            r"The descent in $u$ is at $V^{t+1}$; $\Delta_{\bar u}^t$ is defined, and bounded in the "
            "theorems, at $V^t$. From the one to the other there is a term with $L_{uv}$."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.eq_8",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        corrected="dfedmdc.theorem_1:corrected_same_round",
        lines=(
            "(8), sign 3",
            "(22), sign 3",
        ),
    ),
    Erratum(
        id="DFedMDC-E16",
        severity=REPAIRABLE,
        place="(15) and (29), first two inequalities",
        cause=(
            "The $K_v$ gradients at $v_i^{t,k}$ are taken for gradients at $v_i^t$: for $K_v>1$ the "
            "drift of $v$ is lost."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.eq_15",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        corrected="dfedmdc.theorem_1:corrected",
        lines=(
            "(15), sign 1",
            "(15), sign 2",
            "(29), sign 1",
            "(29), sign 2",
        ),
    ),
    Erratum(
        id="DFedMDC-E19",
        severity=REPAIRABLE,
        place="Algorithm 1, line 5; Assumption 2; (8)a and (22)a",
        cause=(
            r"One batch $\xi_i$ is drawn per round, before the steps in $v$ and $u$: $v_i^{t+1}$ and "
            r"$u_i^{t,k}$ depend on it, and $\mathbb E\nabla_uF_i(u_i^{t,k},v_i^{t+1};\xi_i)$ is not "
            "what it is taken for. With a fresh batch in every step it is, if a batch is unbiased, "
            "which Assumption 2 leaves out."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.eq_8",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        corrected="dfedmdc.theorem_1:corrected",
        lines=(
            "(8), a), mean",
            "(22), a), mean",
        ),
    ),
    Erratum(
        id="DFedMDC-E20",
        severity=REPAIRABLE,
        place=r"proofs of Lemmas 3 and 4, $\mathbf{II}$; (12), (26), second line",
        cause=(
            r"$\nabla_uF_i(u_i^{t,k},v_i^{t+1})$ is taken for $\nabla_uF_i(u_i^t,v_i^{t+1})$, which "
            r"Assumption 3 speaks of: $L_u^2\|u_i^{t,k}-u_i^t\|^2$ is lost. A small step leaves room "
            "for it in the constants."
        ),
        found_by=READER,
        origin="dfedmdc.lemma_3",
        bears_on=("dfedmdc.theorem_1",),
        corrected="dfedmdc.theorem_1:corrected",
    ),
)

__all__ = ["ERRATA"]
