"""DFedSGPSM: where its mistakes begin, and what mends them."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.errata import CONSTANT, FALSE, REPAIRABLE, TYPO, Errata, Mistake
from dfltheory.bounds.papers.dfedsgpsm.derivations import AT_FORM, INEQUALITIES
from dfltheory.bounds.papers.dfedsgpsm.momentum import at
from dfltheory.bounds.papers.dfedsgpsm.printed import C1, C2
from dfltheory.bounds.papers.dfedsgpsm.proof import MOMENT
from dfltheory.bounds.steps import Scalar
from dfltheory.bounds.units import Expr

e = "dfedsgpsm."
L, K, T, eta, rho, alpha, delta, B = s.L, s.K, s.T, s.eta, s.rho, s.alpha, s.delta, s.B
C, q, t, x0_sq, f0 = s.C, s.q, s.t, s.x0_sq, s.f0_gap
CORRECTED, RATE = "theorem_1:corrected", "corollary_1:corrected"
momentum: Expr = 32 * K**2 * alpha**2 / (1 - alpha) ** 2 * (s.sigma_l**2 + B**2)


def _moments(noise: Expr, sam: Expr) -> Expr:
    """C_1 with these two coefficients."""
    return noise * s.sigma_l**2 + 64 * K**2 * s.sigma_g**2 + momentum + sam * L**2 * rho**2


x = next(symbol for i in INEQUALITIES if i.place == "after R1" and isinstance(i, Scalar)
         for symbol in i.left.free_symbols if symbol.name == "x")  # fmt: skip


def _holds(place: str, says: str, left: Expr, right: Expr) -> Scalar:
    """The declared inequality of this place and left side, with what holds in its place."""
    (wrong,) = (i for i in INEQUALITIES if isinstance(i, Scalar) and i.place == place)
    return replace(wrong, says=says, left=left, right=right)


mistake = Errata("DFedSGPSM")
MISTAKES: tuple[Mistake, ...] = (
    mistake(1, FALSE, "lemma_3:appendix", "Proof 3, last line, last term",
        r"$4K$ times $16K\eta_l^2L^2\rho^2$ is $64K^2\eta_l^2L^2\rho^2$; the display, and $C_1$, have $64K$.",
        {"lemma_3:appendix": eta**2 * _moments(8 * K**2, 64 * K**2) + 64 * K**2 * eta**2 * s.G_x,
        "definition_C1": _moments(8 * K, 64 * K**2)}, corrected="lemma_3:corrected", lines=("Lemma 3",)),
    mistake(2, TYPO, "lemma_3", "Lemma 3 and Theorem 1, first term of $C_1$",
        r"The last line of the proof has $8K^2\eta_l^2\sigma_l^2$, the lemma $8K\eta_l^2\sigma_l^2$.",
        {"lemma_3": eta**2 * _moments(8 * K**2, 64 * K) + 64 * K**2 * eta**2 * s.G_x,
        "definition_C1": _moments(8 * K**2, 64 * K)}, corrected="lemma_3:corrected"),
    mistake(3, CONSTANT, "eq_R1", "bound of $R_1$, first term",
        r"$\|z_{i,s}^t-z_i^t\|^2=\|x_{i,s}^t-x_i^t\|^2/w_i^2\le\|x_{i,s}^t-x_i^t\|^2/\delta^2$: the display "
        r"divides by $\delta$.",
        {"eq_R1": 3 * L**2 * eta**2 / delta**2 * (C1 + 64 * K**2 * B**2) + 6 * L**2 * (C**2 * q ** (2 * t) *
        x0_sq + eta**2 * at**2 * C**2 * MOMENT / (1 - q) ** 2) + 3 * L**2 * rho**2}, corrected=CORRECTED),
    mistake(4, FALSE, "theorem_1", "Theorem 1, first term; appendix B, 'Finally'",
        r"From $\tilde\alpha\le K/(1-\alpha)$ follows $1/\tilde\alpha\ge(1-\alpha)/K$; the proof uses it "
        r"the other way round. $\tilde\alpha\ge K$ gives $2(f(\bar x^0)-f^*)/(T\eta_lK)$.",
        {"theorem_1": {"optimization": 2 * f0 / (T * eta * K)},
        "corollary_1": {"optimization": L * f0 / sp.sqrt(T)}}, instead=(Scalar(e + "theorem_1",
        "Finally, first term", "1/alpha-tilde <= 1/K", 1 / AT_FORM, 1 / K,
        {"alpha": (0, 0.999), "K": (1, 64)}, ("K",)),), corrected=CORRECTED,
        refutes=("theorem_1", "corollary_1"), lines=("Theorem 1",)),
    mistake(5, REPAIRABLE, "eq_round", "appendix B, after the bound of R1",
        r"$\eta_l<1/(KL)$ does not give $L\eta_l^2\tilde\alpha^2\le\eta_l\tilde\alpha$, as $\tilde\alpha$ "
        r"may be nearly $K/(1-\alpha)$; $\eta_lL\tilde\alpha\le1$ is what is needed, and Theorem 1's "
        r"$\eta_l<\delta/(8LK)$ gives it where $1-\alpha\ge\delta/8$.",
        instead=(_holds("after R1",
        "eta < (1 - alpha)/(K L) gives L eta^2 at^2 <= eta at (unit L, eta = x (1 - " "alpha)/K)", x *
        (1 - alpha) * AT_FORM / K, sp.S.One),), corrected=CORRECTED),
    mistake(6, REPAIRABLE, "corollary_1", "Corollary 1, $C_2$",
        r"Theorem 1 has $C_1+64K^2B^2$, the corollary $C_2$ alone, with $B^2$ only beside $\alpha^2$; its "
        r"fifth term has $B^2$ with $C^2/(1-q)^2$ in the place of $1/\delta$, which covers it where "
        r"$C^2\ge\delta^{-1}$: so with constants as large as those cited, but nothing says so.",
        {"corollary_1": {"drift": (C2 + B**2) / (T * delta)}}, corrected=RATE),
    mistake(7, FALSE, "lemma_2", "Algorithm 1, line 9; Lemma 2; what uses them",
        r"Line 9 takes its gradient on the minibatch that chose its point: its mean is not that of $\nabla "
        r"f_i(\check z_{i,k}^t)$, and Assumption 3 does not bound it around that. With $\rho=0$ the lines "
        "hold.",
        scope={"theorem_1:appendix": {"samplewise": True}}, refutes=("theorem_1:appendix",),
        lines=("Algorithm 1, line 9, unbiased", "Lemma 2",
        "proof of Lemma 3, recursion, sign 3", "proof of Lemma 5, expectation, sign 1")),
    mistake(8, TYPO, "", "proof of Lemma 1",
        "$x_{i,-1}^t=0$; the momentum starts at 0, that is $x_{i,-1}^t=x_{i,0}^t=x_i^t$.",
        lines=("proof of Lemma 1, start",)),
    mistake(9, TYPO, "", "proof of Lemma 3, second line",
        r"$\eta_lg_{i,k}^t$ has lost its minus; what follows holds with either sign.",
        lines=("proof of Lemma 3, recursion, sign 2",)),
    mistake(10, FALSE, "lemma_4", "Lemma 4, for each client",
        "The distance of client $i$ from the mean is bounded by the start and the updates of client $i$ "
        "alone: a client that starts at 0 among others that do not is at $t=0$ already further away. "
        "Averaged over the clients, as Theorem 1 uses it, nothing was found against it.",
        lines=("Lemma 4", "proof of Lemma 4, (6)", "proof of Lemma 4, closed")),
    mistake(11, REPAIRABLE, "lemma_4", "proof of Lemma 4, after (6)",
        r"Assumption 3 bounds a variance: it bounds $\|g\|$ in mean square, not for each sample.",
        lines=("proof of Lemma 4, updates",)),
    mistake(12, REPAIRABLE, "eq_R1", "bound of $R_1$, second line",
        r"Smoothness compares $\nabla f_i$ with $\nabla f_i(\bar x^t)$, not with $\nabla f(\bar x^t)$; as "
        "the mean over $i$ is the same, it can be put in before Jensen's inequality.",
        lines=("proof of Lemma 5, bound of R1, sign 2",)),
    mistake(13, TYPO, "", "Sections 5.2 and 5.3, differences of accuracies",
        "MNIST at Dir 0.6: 98.53 - 98.30 = 0.23, not 0.27; what SAM adds to momentum: 81.31 - 78.72 = 2.59, "
        "not 4.72.",
        lines=("Section 5.2, Dir 0.6, MNIST", "Section 5.3, SAM")),
    mistake(14, TYPO, "", "Assumption 3; Algorithm 1, input",
        r"Assumption 3 bounds the variance by $\sigma_g^2$; $\sigma_l^2$, which the statements have, is "
        r"defined nowhere. $p_{j,i}^t$ is set by $|N_i^{out}(0)|$, with which the columns of later rounds do "
        r"not sum to one: $|N_i^{out}(t)|$."),
    mistake(15, TYPO, "", "Lemmas 2 and 3, proofs of Lemmas 1, 3 and 5, citations",
        "Lemma 2 names Assumption 4 for 3, Lemma 3 Assumption 5 alone; the bound of a gradient in its proof "
        "Assumption 3 for 4. The proof of Lemma 5 cites Lemma 3 for Lemma 1, and, at the second sign of the "
        "bound of $R_1$, Lemma 2 for Assumption 2. Lines 8, 9, 11 and 13 are 10, 11, 13 and 15."),
)  # fmt: skip

__all__ = ["MISTAKES"]
