"""Errata of Shi et al. 2023 (DFedMDC and DFedSMDC) about its theorems, corollaries, rates and tables."""

from __future__ import annotations

from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedmdc.printed import sigma
from dfltheory.bounds.units import Expr
from validation.papers.dfedmdc.appendix import GAP
from validation.papers.erratum import (
    CONSTANT,
    FALSE,
    GENERAL_CHECK,
    PROOF_LINE,
    PROOF_STEP,
    READER,
    TYPO,
    Erratum,
)

T, rho, L, L_v, L_vu = s.T, s.rho, s.L_u, s.L_v, s.L_vu
PERSONAL_NOISE: Expr = s.sigma_v**2 * (L_v + 1) / (L_v**2 * sqrt(T))

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="DFedMDC-E6",
        severity=FALSE,
        place="(35); Theorem 2, third term",
        cause=(
            r"(34) has the noise $\sigma_v^2(L_v+1)/(L_v^2\sqrt T)$ of the personal part, (35) and "
            r"Theorem 2 do not: $\sigma_4^2$, which has it, is defined and used nowhere."
        ),
        found_by=PROOF_STEP,
        origin="dfedmdc.theorem_2:appendix_eq35",
        bears_on=("dfedmdc.theorem_2",),
        terms={
            "dfedmdc.theorem_2:appendix_eq35": {"noise of the personal part": PERSONAL_NOISE},
            "dfedmdc.theorem_2": {"noise of the personal part": PERSONAL_NOISE},
        },
        corrected="dfedmdc.theorem_2:corrected",
        refutes=(
            "dfedmdc.theorem_2",
            "dfedmdc.theorem_2:appendix_eq35",
        ),
    ),
    Erratum(
        id="DFedMDC-E7",
        severity=TYPO,
        place="(35), second term",
        cause="$L_{vu}^2$ of (34) has become $L_{vu}$; Theorem 2 has $L_{vu}^2$ again.",
        found_by=PROOF_STEP,
        origin="dfedmdc.theorem_2:appendix_eq35",
        bears_on=("dfedmdc.theorem_2",),
        terms={
            "dfedmdc.theorem_2:appendix_eq35": {"consensus": sigma * L_vu**2 / (GAP * sqrt(T))},
        },
        corrected="dfedmdc.theorem_2:corrected",
    ),
    Erratum(
        id="DFedMDC-E8",
        severity=TYPO,
        place="Theorem 2, eq. (4), third term",
        cause=r"(35) has $L_u\sigma^2/\sqrt T$, Theorem 2 $\sigma^2/\sqrt T$: a factor $L_u$ is lost.",
        found_by=GENERAL_CHECK,
        origin="dfedmdc.theorem_2",
        bears_on=("dfedmdc.theorem_2",),
        terms={
            "dfedmdc.theorem_2": {"noise": sigma * L / sqrt(T)},
        },
        corrected="dfedmdc.theorem_2:corrected",
    ),
    Erratum(
        id="DFedMDC-E9",
        severity=FALSE,
        place="Theorem 2, from (22) on",
        cause=(
            r"The local steps use the gradient at a point that is $\rho$ away; (22) compares it with "
            "the gradient at the iterate as if it were there. What is left is "
            r"$L_u\rho^2=L_u\rho_0^2/T$; SAM's own fixed points show that no rate whose constants do "
            "not depend on $F$ can do without it."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedmdc.theorem_2",
        bears_on=("dfedmdc.theorem_2",),
        terms={
            "dfedmdc.theorem_2": {"bias of SAM": L * rho**2},
        },
        corrected="dfedmdc.theorem_2:corrected",
        lines=("(22), sign 2",),
    ),
    Erratum(
        id="DFedMDC-E10",
        severity=FALSE,
        place="Theorems 1 and 2, Lemmas 5 and 6, the start",
        cause=(
            "$(W^t-P)U^0$ is left out in the proof of Lemma 5, as if all devices had one $u^0$; "
            "Algorithm 1 starts each at random, and no statement has a hypothesis or a term for it."
        ),
        found_by=PROOF_LINE,
        origin="dfedmdc.theorem_1",
        bears_on=(
            "dfedmdc.theorem_1",
            "dfedmdc.theorem_2",
        ),
        scope={
            "dfedmdc.theorem_1": {"common_start": True},
            "dfedmdc.theorem_1:appendix": {"common_start": True},
            "dfedmdc.theorem_2": {"common_start": True},
            "dfedmdc.theorem_2:appendix": {"common_start": True},
            "dfedmdc.theorem_2:appendix_eq35": {"common_start": True},
        },
        corrected="dfedmdc.theorem_1:corrected",
        lines=(
            "Theorem 1, (3)",
            "Theorem 2, (4)",
            "Lemma 5",
            "Lemma 6",
            "proof of Lemma 5, convolution, sign 1",
            "proof of Lemma 5, closed",
            "proof of Lemma 6, closed",
        ),
    ),
    Erratum(
        id="DFedMDC-E17",
        severity=CONSTANT,
        place="Table 1, ring and grid",
        cause=(
            r"A ring with weights $1/3$ has the gap $\frac{4\pi^2}{3m^2}$ in the limit, not "
            r"$\frac{16\pi^2}{3m^2}$; a grid's is of order $1/m$, more than $1/(m\log_2m)$."
        ),
        found_by=PROOF_LINE,
        lines=(
            "Table 1, ring",
            "Table 1, grid",
        ),
    ),
    Erratum(
        id="DFedMDC-E18",
        severity=TYPO,
        place="Remark 4",
        cause=r"$1-\lambda$ decreases where a network gets sparser; what increases is $1/(1-\lambda)$.",
        found_by=PROOF_LINE,
        lines=("Remark 4, gap",),
    ),
    Erratum(
        id="DFedMDC-E21",
        severity=TYPO,
        place=r"Algorithm 1, line 13; Lemma 2; $\mathbf{II}$ of Lemmas 3 and 4; (17), (31)",
        cause=(
            "$z_i^t$ stands for $z_l^t$, without which no device hears another; $2K_u^2$ for the "
            r"$2K_u$ with which $\mathbf{II}$ is bounded; $v^{K_v-1}$ for the $v^{K_v}$ of (16) and "
            "(30); (17) and (31) cite (11) and (25) for Lemmas 5 and 6."
        ),
        found_by=READER,
    ),
)

__all__ = ["ERRATA"]
