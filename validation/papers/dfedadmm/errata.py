"""Errata of Li et al. 2023 (DFedADMM)."""

from __future__ import annotations

from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedadmm.printed import kappa
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import Expr
from validation.papers import bound
from validation.papers.erratum import (
    FALSE,
    GENERAL_CHECK,
    PROOF_LINE,
    PROOF_STEP,
    READER,
    REPAIRABLE,
    TYPO,
    Erratum,
)

L, K, T, eta, rho, rho0, lam, f0 = s.L, s.K, s.T, s.eta, s.rho, s.rho0, s.lam, s.f0_gap
moment: Expr = s.B**2 + s.sigma_l**2
SHORTER = Condition("eta <= lam_admm", eta, s.lam_admm)

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="DFedADMM-E1",
        severity=REPAIRABLE,
        place=r"Theorem 1, $\eta_l\le\min\{1/(96KL),2\lambda\}$, as Lemma 5 and the last descent use it",
        cause=(
            r"For $\lambda<\eta_l\le2\lambda$ the weights "
            r"$\gamma_k=\frac{\eta_l}\lambda(1-\frac{\eta_l}\lambda)^{K-1-k}$ alternate in sign, so "
            r"that Jensen's inequality does not apply, and $\gamma>1-1/e$ fails; $\eta_l\le\lambda$ "
            "mends both."
        ),
        found_by=PROOF_STEP,
        origin="dfedadmm.lemma_5",
        bears_on=("dfedadmm.theorem_1",),
        conditions={"dfedadmm.lemma_5": (SHORTER,), "dfedadmm.eq_descent_last": (SHORTER,)},
        holds=(
            "||(1 - c) g + c h||^2 <= (1 - c) ||g||^2 + c ||h||^2 for c = gamma = sum_k gamma_k (Jensen)",
            "||sum_k w_k g_k||^2 <= sum_k w_k ||g_k||^2 for w_k = gamma_k/gamma (Jensen)",
        ),
        corrected="dfedadmm.theorem_1:corrected",
        lines=(
            "Lemma 4",
            "proof of Lemma 4, second",
            "proof of Lemma 4, recursion, first",
            "proof of Lemma 4, recursion, second",
            "proof of Lemma 4, fact",
            "Lemma 5",
            "proof of Lemma 5, recursion, first",
            "proof of Lemma 5, recursion, second",
            "proof of Lemma 5, recursion, third",
            "Lemma 10",
            "proof of Lemma 10, (a)",
            "C.1, R1",
            "C.1, (22)",
            "C.1, R2.1, Jensen",
            "C.1, gamma, first",
            "C.1, gamma, second",
            "C.1, gamma, third",
        ),
    ),
    Erratum(
        id="DFedADMM-E2",
        severity=TYPO,
        place="below (12), a = 2K - 1",
        cause=(
            "$a=2K-1$ makes the first coefficient of (12) as large as $2K$; $a=1/(2K-1)$ gives what "
            "is claimed, and the $4K$ of the next display."
        ),
        found_by=PROOF_STEP,
        origin="dfedadmm.eq_12",
        holds=("(2K/(2K-1)) (1 - r)^2 + 1/(3K) <= 1 + 1/(K-1) for r = eta/lambda",),
    ),
    Erratum(
        id="DFedADMM-E3",
        severity=TYPO,
        place="Proof 5, (a)",
        cause=(
            r"$(1+\frac1{K-1})^K<5$ is claimed for $K\ge1$; at $K=1$ it is not defined. It holds for "
            r"$K\ge2$."
        ),
        found_by=PROOF_STEP,
        origin="dfedadmm.lemma_6",
        bears_on=("dfedadmm.theorem_1",),
        holds=("(1 + 1/(K-1))^K < 5 for any K >= 2",),
    ),
    Erratum(
        id="DFedADMM-E4",
        severity=FALSE,
        place="appendix C.1, last display, and Theorem 1: last term",
        cause=(
            r"The summed descent is divided by $\lambda\kappa$, but the last term keeps its factor "
            r"$\lambda$."
        ),
        found_by=PROOF_STEP,
        origin="dfedadmm.theorem_1:appendix",
        bears_on=("dfedadmm.theorem_1",),
        terms={
            "dfedadmm.theorem_1:appendix": {"sharpness": 6 * rho**2 * L**2 * moment / kappa},
        },
        corrected="dfedadmm.theorem_1:corrected",
    ),
    Erratum(
        id="DFedADMM-E5",
        severity=FALSE,
        place="appendix C.1, bound of R2, last term; Theorem 1, last term",
        cause=(
            r"SAM's perturbation $\rho\,g/\|g\|$ has the length $\rho$, whatever $g$ is; the display "
            r"bounds its square by $\rho^2(\sigma_l^2+B^2)$, which is smaller where "
            r"$\sigma_l^2+B^2<1$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedadmm.theorem_1:appendix",
        bears_on=("dfedadmm.theorem_1",),
        terms={
            "dfedadmm.theorem_1:appendix": {"sharpness": 6 * rho**2 * L**2 / kappa},
            "dfedadmm.theorem_1": {"sharpness": 6 * rho**2 * L**2 / kappa},
        },
        holds=("Lemmas 6, 8 and 10 in R2.1",),
        corrected="dfedadmm.theorem_1:corrected",
        refutes=(
            "dfedadmm.theorem_1",
            "dfedadmm.theorem_1:appendix",
        ),
        lines=(
            "C.1, R2.1, SAM",
            "C.1, R2.1",
        ),
    ),
    Erratum(
        id="DFedADMM-E6",
        severity=TYPO,
        place="appendix C.1, last line",
        cause=(
            r"$\kappa$ is $\frac12-1152L^2\eta_l^2K^2$ in Theorem 1, which follows; the appendix has "
            "$K$ for $K^2$."
        ),
        found_by=PROOF_STEP,
        origin="dfedadmm.definition_kappa:appendix",
        terms={
            "dfedadmm.definition_kappa:appendix": {"bound": bound("dfedadmm.definition_kappa")},
        },
    ),
    Erratum(
        id="DFedADMM-E7",
        severity=FALSE,
        place="Corollary 1, first term; abstract and introduction",
        cause=(
            r"Under $\lambda=1/(L\sqrt{KT})$ the first term of Theorem 1 is at least $2L\sqrt "
            r"K(f(w^0)-f^*)/\sqrt T$, as $\kappa\le\frac12$: it grows with $\sqrt K$, and is neither "
            r"$(f(w^0)-f^*)/\sqrt T$ nor $1/\sqrt{KT}$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedadmm.corollary_1",
        bears_on=(
            "dfedadmm.corollary_1",
            "dfedadmm.corollary_1:printed_admm",
            "dfedadmm.rate_abstract",
            "dfedadmm.rate_abstract_sam",
            "dfedadmm.rate_abstract_sam:introduction",
        ),
        terms={
            "dfedadmm.corollary_1": {"start": L * f0 * sqrt(K / T)},
            "dfedadmm.corollary_1:printed_admm": {"start": L * f0 * sqrt(K / T)},
        },
        corrected="dfedadmm.corollary_1:corrected_paper_schedule",
        refutes=(
            "dfedadmm.corollary_1",
            "dfedadmm.corollary_1:printed_admm",
        ),
    ),
    Erratum(
        id="DFedADMM-E8",
        severity=FALSE,
        place="Corollary 1, term of SAM",
        cause=(
            r"With the factors of E4 and E5 put right, SAM leaves $L^2\rho_0^2/T$, not "
            r"$L(B^2+\sigma_l^2)/(\sqrt K\,T^{3/2})$; SAM's own fixed points show that no rate whose "
            "constants do not depend on $f$ can do without it."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedadmm.corollary_1",
        bears_on=("dfedadmm.corollary_1",),
        terms={
            "dfedadmm.corollary_1": {"sharpness": L**2 * rho0**2 / T},
        },
        corrected="dfedadmm.corollary_1:corrected_paper_schedule",
    ),
    Erratum(
        id="DFedADMM-E9",
        severity=REPAIRABLE,
        place="abstract and introduction, second term",
        cause=(
            r"The local steps' share of the network is of order $1/(T(1-\psi)^2)$ in Corollary 1 "
            r"itself, not $1/(KT(1-\psi)^2)$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedadmm.rate_abstract",
        bears_on=(
            "dfedadmm.rate_abstract",
            "dfedadmm.rate_abstract_sam",
            "dfedadmm.rate_abstract_sam:introduction",
        ),
        terms={
            "dfedadmm.rate_abstract": {"network": 1 / (T * (1 - lam) ** 2)},
        },
        corrected="dfedadmm.corollary_1:corrected_paper_schedule",
    ),
    Erratum(
        id="DFedADMM-E10",
        severity=REPAIRABLE,
        place="Algorithm 1, line 12; C.1, R2 by (20)",
        cause=(
            "With SAM, $g_{i,k}^t$ is taken at a point that depends on its own minibatch: given the "
            r"past its mean is not $\nabla f_i(\breve x_{i,k}^t)$. Without SAM it is."
        ),
        found_by=PROOF_LINE,
        origin="dfedadmm.eq_R2",
        bears_on=("dfedadmm.theorem_1",),
        corrected="dfedadmm.theorem_1:corrected",
        lines=(
            "Algorithm 1, line 12",
            "C.1, R2, (20)",
        ),
    ),
    Erratum(
        id="DFedADMM-E11",
        severity=TYPO,
        place="proof of Lemma 9, fourth line",
        cause=r"$\hat g_i^t$ stands for $\hat g_i^{t-1}$, which Lemma 2 and the next line have.",
        found_by=PROOF_LINE,
        bears_on=("dfedadmm.theorem_1",),
        lines=("proof of Lemma 9, fourth",),
    ),
    Erratum(
        id="DFedADMM-E12",
        severity=TYPO,
        place="proof of Lemma 10, sixth line",
        cause=("A minus before the second term, where the line before gives a plus; its square is the same."),
        found_by=PROOF_LINE,
        bears_on=("dfedadmm.theorem_1",),
        lines=("proof of Lemma 10, sixth",),
    ),
    Erratum(
        id="DFedADMM-E13",
        severity=TYPO,
        place="Section 5.2, IID against Dir 0.3",
        cause="DFedSAM's difference is 82.44 - 80.10 = 2.34 by Table 1; the text has 2.41.",
        found_by=PROOF_LINE,
        lines=("5.2, IID minus Dir 0.3, DFedSAM",),
    ),
    Erratum(
        id="DFedADMM-E14",
        severity=TYPO,
        place="Section 5.2, the highest accuracy",
        cause=(
            "On MNIST, IID, Table 1 has a method above DFedADMM-SAM; the claim holds of the "
            "decentralized ones."
        ),
        found_by=PROOF_LINE,
        lines=("5.2, the highest accuracy, MNIST, IID",),
    ),
    Erratum(
        id="DFedADMM-E15",
        severity=REPAIRABLE,
        place="Lemmas 6 to 8, their hypotheses",
        cause=(
            r"$\eta_l\le2\lambda$ and $X^0=0$ stand in their proofs alone. Theorem 1 has the first; it"
            " has neither hypothesis nor term for the second, and Algorithm 1 starts each client "
            "anywhere."
        ),
        found_by=READER,
        origin="dfedadmm.lemma_8",
        bears_on=("dfedadmm.theorem_1",),
        corrected="dfedadmm.theorem_1:corrected",
    ),
    Erratum(
        id="DFedADMM-E16",
        severity=TYPO,
        place="(8) and Algorithm 1, line 19; (21)",
        cause=(
            r"$z_i^t$ stands for $z_l^t$, without which no client hears another; and $\nabla "
            r"f(w^{t+1})$ for the $\nabla f(w^t)$ with which R2 is bounded."
        ),
        found_by=READER,
    ),
    Erratum(
        id="DFedADMM-E17",
        severity=TYPO,
        place="proofs of Lemmas 2 and 3, lines of Algorithm 1",
        cause=(
            "The local step is cited as line 11, and the dual's as line 13; they are lines 7 and 13, and 16."
        ),
        found_by=READER,
    ),
)

__all__ = ["ERRATA"]
