"""Errata of Li et al. 2023 (DFedSGPSM)."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsgpsm.momentum import at
from dfltheory.bounds.papers.dfedsgpsm.printed import C1, C2
from dfltheory.bounds.units import Expr
from validation.papers.dfedsgpsm.appendix import MOMENT
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

L, K, T, eta, rho, alpha, delta, B = s.L, s.K, s.T, s.eta, s.rho, s.alpha, s.delta, s.B
C, q, t, x0_sq, f0 = s.C, s.q, s.t, s.x0_sq, s.f0_gap
momentum: Expr = 32 * K**2 * alpha**2 / (1 - alpha) ** 2 * (s.sigma_l**2 + B**2)


def _moments(noise: Expr, sam: Expr) -> Expr:
    """C_1 with these two coefficients."""
    return noise * s.sigma_l**2 + 64 * K**2 * s.sigma_g**2 + momentum + sam * L**2 * rho**2


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="DFedSGPSM-E1",
        severity=FALSE,
        place="Proof 3, last line, last term",
        cause=(
            r"$4K$ times $16K\eta_l^2L^2\rho^2$ is $64K^2\eta_l^2L^2\rho^2$; the display, and $C_1$, "
            "have $64K$."
        ),
        found_by=PROOF_STEP,
        origin="dfedsgpsm.lemma_3:appendix",
        bears_on=("dfedsgpsm.theorem_1",),
        terms={
            "dfedsgpsm.lemma_3:appendix": {
                "bound": eta**2 * _moments(8 * K**2, 64 * K**2) + 64 * K**2 * eta**2 * s.G_x
            },
        },
        corrected="dfedsgpsm.lemma_3:corrected",
        lines=("Lemma 3",),
    ),
    Erratum(
        id="DFedSGPSM-E2",
        severity=TYPO,
        place="Lemma 3 and Theorem 1, first term of $C_1$",
        cause=(
            r"The last line of the proof has $8K^2\eta_l^2\sigma_l^2$, the lemma "
            r"$8K\eta_l^2\sigma_l^2$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsgpsm.lemma_3",
        bears_on=("dfedsgpsm.theorem_1",),
        terms={
            "dfedsgpsm.lemma_3": {"bound": eta**2 * _moments(8 * K**2, 64 * K) + 64 * K**2 * eta**2 * s.G_x},
        },
        corrected="dfedsgpsm.lemma_3:corrected",
    ),
    Erratum(
        id="DFedSGPSM-E3",
        severity=CONSTANT,
        place="bound of $R_1$, first term",
        cause=(
            r"$\|z_{i,s}^t-z_i^t\|^2=\|x_{i,s}^t-x_i^t\|^2/w_i^2\le\|x_{i,s}^t-x_i^t\|^2/\delta^2$: "
            r"the display divides by $\delta$."
        ),
        found_by=PROOF_STEP,
        origin="dfedsgpsm.eq_R1",
        bears_on=("dfedsgpsm.theorem_1",),
        terms={
            "dfedsgpsm.eq_R1": {
                "bound": 3 * L**2 * eta**2 / delta**2 * (C1 + 64 * K**2 * B**2)
                + 6 * L**2 * (C**2 * q ** (2 * t) * x0_sq + eta**2 * at**2 * C**2 * MOMENT / (1 - q) ** 2)
                + 3 * L**2 * rho**2
            },
        },
        corrected="dfedsgpsm.theorem_1:corrected",
    ),
    Erratum(
        id="DFedSGPSM-E4",
        severity=FALSE,
        place="Theorem 1, first term; appendix B, 'Finally'",
        cause=(
            r"From $\tilde\alpha\le K/(1-\alpha)$ follows $1/\tilde\alpha\ge(1-\alpha)/K$; the proof "
            r"uses it the other way round. $\tilde\alpha\ge K$ gives $2(f(\bar x^0)-f^*)/(T\eta_lK)$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsgpsm.theorem_1",
        bears_on=(
            "dfedsgpsm.theorem_1",
            "dfedsgpsm.corollary_1",
        ),
        terms={
            "dfedsgpsm.theorem_1": {"optimization": 2 * f0 / (T * eta * K)},
            "dfedsgpsm.corollary_1": {"optimization": L * f0 / sp.sqrt(T)},
        },
        holds=("1/alpha-tilde <= 1/K",),
        corrected="dfedsgpsm.theorem_1:corrected",
        refutes=(
            "dfedsgpsm.theorem_1",
            "dfedsgpsm.corollary_1",
        ),
        lines=("Theorem 1",),
    ),
    Erratum(
        id="DFedSGPSM-E5",
        severity=REPAIRABLE,
        place="appendix B, after the bound of R1",
        cause=(
            r"$\eta_l<1/(KL)$ does not give $L\eta_l^2\tilde\alpha^2\le\eta_l\tilde\alpha$, as "
            r"$\tilde\alpha$ may be nearly $K/(1-\alpha)$; $\eta_lL\tilde\alpha\le1$ is what is "
            r"needed, and Theorem 1's $\eta_l<\delta/(8LK)$ gives it where $1-\alpha\ge\delta/8$."
        ),
        found_by=PROOF_STEP,
        origin="dfedsgpsm.eq_round",
        bears_on=("dfedsgpsm.theorem_1",),
        holds=("eta < (1 - alpha)/(K L) gives L eta^2 at^2 <= eta at (unit L, eta = x (1 - alpha)/K)",),
        corrected="dfedsgpsm.theorem_1:corrected",
    ),
    Erratum(
        id="DFedSGPSM-E6",
        severity=REPAIRABLE,
        place="Corollary 1, $C_2$",
        cause=(
            "Theorem 1 has $C_1+64K^2B^2$, the corollary $C_2$ alone, with $B^2$ only beside "
            r"$\alpha^2$; its fifth term has $B^2$ with $C^2/(1-q)^2$ in the place of $1/\delta$, "
            r"which covers it where $C^2\ge\delta^{-1}$: so with constants as large as those cited, "
            "but nothing says so."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsgpsm.corollary_1",
        bears_on=("dfedsgpsm.corollary_1",),
        terms={
            "dfedsgpsm.corollary_1": {"drift": (C2 + B**2) / (T * delta)},
        },
        corrected="dfedsgpsm.corollary_1:corrected",
    ),
    Erratum(
        id="DFedSGPSM-E7",
        severity=FALSE,
        place="Algorithm 1, line 9; Lemma 2; what uses them",
        cause=(
            "Line 9 takes its gradient on the minibatch that chose its point: its mean is not that of"
            r" $\nabla f_i(\check z_{i,k}^t)$, and Assumption 3 does not bound it around that. With "
            r"$\rho=0$ the lines hold."
        ),
        found_by=PROOF_LINE,
        origin="dfedsgpsm.lemma_2",
        bears_on=("dfedsgpsm.theorem_1",),
        scope={"dfedsgpsm.theorem_1:appendix": {"samplewise": True}},
        refutes=("dfedsgpsm.theorem_1:appendix",),
        lines=(
            "Algorithm 1, line 9, unbiased",
            "Lemma 2",
            "proof of Lemma 3, recursion, sign 3",
            "proof of Lemma 5, expectation, sign 1",
        ),
    ),
    Erratum(
        id="DFedSGPSM-E8",
        severity=TYPO,
        place="proof of Lemma 1",
        cause="$x_{i,-1}^t=0$; the momentum starts at 0, that is $x_{i,-1}^t=x_{i,0}^t=x_i^t$.",
        found_by=PROOF_LINE,
        bears_on=("dfedsgpsm.theorem_1",),
        lines=("proof of Lemma 1, start",),
    ),
    Erratum(
        id="DFedSGPSM-E9",
        severity=TYPO,
        place="proof of Lemma 3, second line",
        cause=r"$\eta_lg_{i,k}^t$ has lost its minus; what follows holds with either sign.",
        found_by=PROOF_LINE,
        bears_on=("dfedsgpsm.theorem_1",),
        lines=("proof of Lemma 3, recursion, sign 2",),
    ),
    Erratum(
        id="DFedSGPSM-E10",
        severity=FALSE,
        place="Lemma 4, for each client",
        cause=(
            "The distance of client $i$ from the mean is bounded by the start and the updates of "
            "client $i$ alone: a client that starts at 0 among others that do not is at $t=0$ already"
            " further away. Averaged over the clients, as Theorem 1 uses it, nothing was found "
            "against it."
        ),
        found_by=PROOF_LINE,
        origin="dfedsgpsm.lemma_4",
        bears_on=("dfedsgpsm.theorem_1",),
        lines=(
            "Lemma 4",
            "proof of Lemma 4, (6)",
            "proof of Lemma 4, closed",
        ),
    ),
    Erratum(
        id="DFedSGPSM-E11",
        severity=REPAIRABLE,
        place="proof of Lemma 4, after (6)",
        cause=r"Assumption 3 bounds a variance: it bounds $\|g\|$ in mean square, not for each sample.",
        found_by=PROOF_LINE,
        origin="dfedsgpsm.lemma_4",
        bears_on=("dfedsgpsm.theorem_1",),
        lines=("proof of Lemma 4, updates",),
    ),
    Erratum(
        id="DFedSGPSM-E12",
        severity=REPAIRABLE,
        place="bound of $R_1$, second line",
        cause=(
            r"Smoothness compares $\nabla f_i$ with $\nabla f_i(\bar x^t)$, not with $\nabla f(\bar "
            "x^t)$; as the mean over $i$ is the same, it can be put in before Jensen's inequality."
        ),
        found_by=PROOF_LINE,
        origin="dfedsgpsm.eq_R1",
        bears_on=("dfedsgpsm.theorem_1",),
        lines=("proof of Lemma 5, bound of R1, sign 2",),
    ),
    Erratum(
        id="DFedSGPSM-E13",
        severity=TYPO,
        place="Sections 5.2 and 5.3, differences of accuracies",
        cause=(
            "MNIST at Dir 0.6: 98.53 - 98.30 = 0.23, not 0.27; what SAM adds to momentum: 81.31 - "
            "78.72 = 2.59, not 4.72."
        ),
        found_by=PROOF_LINE,
        lines=(
            "Section 5.2, Dir 0.6, MNIST",
            "Section 5.3, SAM",
        ),
    ),
    Erratum(
        id="DFedSGPSM-E14",
        severity=TYPO,
        place="Assumption 3; Algorithm 1, input",
        cause=(
            r"Assumption 3 bounds the variance by $\sigma_g^2$; $\sigma_l^2$, which the statements "
            "have, is defined nowhere. $p_{j,i}^t$ is set by $|N_i^{out}(0)|$, with which the columns"
            " of later rounds do not sum to one: $|N_i^{out}(t)|$."
        ),
        found_by=READER,
    ),
    Erratum(
        id="DFedSGPSM-E15",
        severity=TYPO,
        place="Lemmas 2 and 3, proofs of Lemmas 1, 3 and 5, citations",
        cause=(
            "Lemma 2 names Assumption 4 for 3, Lemma 3 Assumption 5 alone; the bound of a gradient in"
            " its proof Assumption 3 for 4. The proof of Lemma 5 cites Lemma 3 for Lemma 1, and, at "
            "the second sign of the bound of $R_1$, Lemma 2 for Assumption 2. Lines 8, 9, 11 and 13 "
            "are 10, 11, 13 and 15."
        ),
        found_by=READER,
    ),
)

__all__ = ["ERRATA"]
