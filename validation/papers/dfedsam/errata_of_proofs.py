"""Errata of Shi et al. 2023 (DFedSAM) about lemmas, displays and lines of proofs."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsam.printed import C1, C3, C3_DEFINITION, DENOMINATOR, D, Phi
from dfltheory.bounds.units import Expr
from validation.papers.dfedsam.appendix import DRIFT_BOUND
from validation.papers.erratum import (
    CONSTANT,
    FALSE,
    GENERAL_CHECK,
    PROOF_LINE,
    PROOF_STEP,
    REPAIRABLE,
    Erratum,
)

L, K, T, eta, rho, f0 = s.L, s.K, s.T, s.eta, s.rho, s.f0_gap
sigma_l, G_x, G_bar = s.sigma_l, s.G_x, s.G_bar
R = sp.Rational
own: Expr = R(3, 2) * eta**2 * K * L * (L**2 * rho**2 + sigma_l**2)


def _with_rho(expression: Expr) -> Expr:
    """4 K^3 L^2 eta^2 rho^2 in place of ... rho^4."""
    return expression.xreplace({rho**4: rho**2})


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="DFedSAM-E2",
        severity=REPAIRABLE,
        place="(21) and (30), third line",
        cause=(
            "The square of a sum of $K$ vectors is taken for the sum of their squares: a factor $K$ is lost."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.eq_21",
        bears_on=("dfedsam.theorem_4_5",),
        terms={
            "dfedsam.eq_21": {"bound": R(3, 2) * eta**2 * K**2 * L * (L**2 * rho**2 + sigma_l**2 + G_x)},
        },
        holds=("||sum_k a_k||^2 <= K sum_k ||a_k||^2",),
        corrected="dfedsam.theorem_4_5:corrected",
    ),
    Erratum(
        id="DFedSAM-E3",
        severity=CONSTANT,
        place="(22) and (31), third term",
        cause=(
            r"(20)c gives $8\eta^3K^3L^2$ before the gradients at the clients, (22) has "
            r"$8\eta^3K^2L^2$; the $32\eta^3K^2L^2$ of $D$ in Theorem 4.5 comes of it."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.eq_22",
        bears_on=("dfedsam.theorem_4_5",),
        terms={
            "dfedsam.eq_22": {
                "bound": -eta * K / 2 * G_bar
                + eta * L**2 * K / 2 * C1
                + 8 * eta**3 * K**3 * L**2 * G_x
                + own
                + R(3, 2) * eta**2 * K * L * G_x
            },
        },
        corrected="dfedsam.theorem_4_5:corrected",
    ),
    Erratum(
        id="DFedSAM-E8",
        severity=REPAIRABLE,
        place="D.3, second display after (34)",
        cause=(
            r"The summed descent is divided by $\eta K-32\eta^3K^2L^2$, without $6\eta^2KL$, and its "
            "terms are not those of (34). The display before it has both as in (34), and nothing uses"
            " this one."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.eq_last",
        terms={
            "dfedsam.eq_last": {
                "optimization": 2 * f0 / (T * D),
                "local": (eta * K * L**2 * C1 + 2 * own) / D,
                "consensus": 2 * eta**4 * K * L**3 * C3 * (16 * eta * K * L + 3) * Phi / D,
            },
        },
        definitions=(DENOMINATOR, C3_DEFINITION),
        corrected="dfedsam.theorem_4_5:corrected",
    ),
    Erratum(
        id="DFedSAM-E9",
        severity=FALSE,
        place="Lemma D.3",
        cause=(
            r"The cited lemma has the constant of smoothness, which is $\beta$ there and $L$ here; "
            r"$\beta$ is the parameter of homogeneity here. The lemma is false read so, too: no "
            "smoothness brings normalized gradients together. The corrected theorem does without it."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.lemma_D3",
        terms={
            "dfedsam.lemma_D3": {"bound": 2 * K**2 * L**2 * eta**2 * rho**2},
        },
        lines=(
            "Lemma D.3",
            "proof of Lemma D.4, I",
        ),
    ),
    Erratum(
        id="DFedSAM-E10",
        severity=FALSE,
        place="Lemma D.4, display I",
        cause=(
            r"Lemma D.3 gives $2K^2L^2\eta^2\rho^2$, display I has $\rho^4$: the sum adds a length to "
            "the power 4 to squares of lengths. It stays in $C_1$, $C_2$, $C_3$ and "
            r"$\alpha(K,\rho,\eta)$. Where $\rho$ is small the lemma is false with it: $\delta_{i,k}$ "
            r"may turn by $2\rho$ in one step."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.lemma_D4",
        bears_on=("dfedsam.theorem_4_5",),
        terms={
            "dfedsam.lemma_D4": {"bound": _with_rho(DRIFT_BOUND)},
        },
        corrected="dfedsam.theorem_4_5:corrected",
        lines=("Lemma D.4",),
    ),
    Erratum(
        id="DFedSAM-E11",
        severity=REPAIRABLE,
        place="Lemma D.6, after (16), third line",
        cause=(
            r"$(x+y)^2\le x^2+y^2$ is used of the two geometric sums, which is false. The second sum "
            r"is not needed: Lemma D.1 gives $\|P-W^{Qn}\|\le\lambda^{Qn}$ (E12), so that the "
            r"network's factor is $1/(1-\lambda^Q)^2\le\Phi$, and the lemma's $\Phi$ is valid."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.lemma_D6",
        bears_on=("dfedsam.theorem_4_5",),
        holds=("(x + y)^2 <= 2 x^2 + 2 y^2",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=("proof of Lemma D.6, Cauchy, third",),
    ),
    Erratum(
        id="DFedSAM-E12",
        severity=REPAIRABLE,
        place="Lemma D.6, before Cauchy",
        cause=(
            r"$\|P\|=1$, not $1/m$: $\|(W^n-P)+P\|^{Q-1}$ is $1$, so that the factor $m^{2(Q-1)}$ in "
            r"the denominator of $\Phi$ has no reason. Lemma D.1 gives $\|P-W^{Qn}\|\le\lambda^{Qn}$ "
            r"at once, and with it $1/(1-\lambda^Q)^2$, which is at most $\Phi$: the lemma's bound "
            "needs no larger constant."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.lemma_D6",
        bears_on=("dfedsam.theorem_4_5",),
        holds=("||P - W^(Qn)|| <= lam^(Qn), Q = 2",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=("proof of Lemma D.6, Cauchy, first",),
    ),
    Erratum(
        id="DFedSAM-E20",
        severity=FALSE,
        place="Lemma D.2",
        cause=(
            r"Assumption 4.4 bounds $\|\nabla f_i-\nabla f\|^2$ on average over the clients; the lemma"
            " is stated for a single client. It holds for the average."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.lemma_D2",
        lines=("Lemma D.2",),
    ),
    Erratum(
        id="DFedSAM-E21",
        severity=REPAIRABLE,
        place="proof of Lemma D.4, I + II",
        cause=(
            "The cross term of the first two vectors is lost in "
            r"$\|a+b+c\|^2\le(1+\frac1{2K-1})(\|a\|^2+\|b\|^2)+2K\|c\|^2$."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.lemma_D4",
        corrected="dfedsam.theorem_4_5:corrected",
        lines=("proof of Lemma D.4, I + II",),
    ),
    Erratum(
        id="DFedSAM-E22",
        severity=CONSTANT,
        place="proof of Lemma D.4, the recursion solved",
        cause=(
            r"$c_k\le ac_{k-1}+b$ gives $a^kc_0$ with $a=1+\frac1{2K-1}$; the display has "
            r"$ac_0=a\rho^2$."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.lemma_D4",
        corrected="dfedsam.theorem_4_5:corrected",
        lines=("proof of Lemma D.4, recursion, first",),
    ),
    Erratum(
        id="DFedSAM-E23",
        severity=FALSE,
        place="Lemmas D.5 and D.6, hypotheses",
        cause=(
            "Both are stated for any learning rate; Lemma D.4, on which they rest, needs "
            r"$\eta\le1/(10KL)$."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.lemma_D5",
        bears_on=("dfedsam.theorem_4_5",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=(
            "Lemma D.5",
            "Lemma D.6",
        ),
    ),
    Erratum(
        id="DFedSAM-E25",
        severity=REPAIRABLE,
        place="proofs of Lemmas D.5 and D.6, 'for any j'",
        cause=(
            "Lemma D.4 bounds round $j$ by the gradients of round $j$; the displays have those of round $t$."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.lemma_D5",
        bears_on=("dfedsam.theorem_4_5",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=(
            "proof of Lemma D.5, for any j",
            "proof of Lemma D.6, for any j",
        ),
    ),
    Erratum(
        id="DFedSAM-E26",
        severity=REPAIRABLE,
        place="(20) and (29), step b)",
        cause=(
            r"$\mathbb E(ab)\le\mathbb E(a)\,\mathbb E(b)$ and $\|\sum(g(x)-g(y))\|\le L\|\sum(x-y)\|$"
            " are used; Young's inequality, term by term, does without them."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.eq_20",
        bears_on=("dfedsam.theorem_4_5",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=(
            "D.2, (20), b",
            "D.3, (29), b",
        ),
    ),
    Erratum(
        id="DFedSAM-E27",
        severity=REPAIRABLE,
        place="(21) and (30), second line",
        cause=(
            "The second line is at most the first, by Jensen, not at least; (18) gives the second "
            "line itself."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.eq_21",
        bears_on=("dfedsam.theorem_4_5",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=(
            "D.2, (21), second",
            "D.3, (30), second",
        ),
    ),
    Erratum(
        id="DFedSAM-E28",
        severity=REPAIRABLE,
        place="(21)a and (30)a",
        cause=(
            r"A client's own gradient $\nabla f_i(x^t)$ is bounded by $\nabla f(x^t(i))$ without "
            r"$\sigma_g^2$. Where it means the latter, as in the proof of Lemma D.4, no assumption "
            r"bounds its distance from $\nabla F_i(y;\xi)$; and where Assumption 4.4 is read at one "
            "point, the drift is lost as well."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.eq_21",
        bears_on=("dfedsam.theorem_4_5",),
        corrected="dfedsam.theorem_4_5:corrected",
        lines=(
            "D.2, (21), a",
            "D.3, (30), a",
        ),
    ),
)

__all__ = ["ERRATA"]
