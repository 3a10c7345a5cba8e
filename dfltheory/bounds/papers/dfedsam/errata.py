"""DFedSAM: where its mistakes begin, and what mends them."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.claims import EVERYWHERE, norm, power, without_a_factor, x, y
from dfltheory.bounds.errata import CONSTANT, FALSE, REPAIRABLE, TYPO, Errata, Mistake
from dfltheory.bounds.papers.dfedsam.printed import (
    C1,
    C1_DEFINITION,
    C3,
    C3_DEFINITION,
    DENOMINATOR,
    PHI,
    D,
    Phi,
)
from dfltheory.bounds.papers.dfedsam.proof import C2, C2_DEFINITION, DRIFT_BOUND
from dfltheory.bounds.steps import Matrices, Scalar
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import Expr

e = "dfedsam."
L, K, T, Q, eta, rho, rho0, lam, f0 = s.L, s.K, s.T, s.Q, s.eta, s.rho, s.rho0, s.lam, s.f0_gap
sigma_l, sigma_g, beta, G_x, G_bar = s.sigma_l, s.sigma_g, s.beta, s.G_x, s.G_bar
R = sp.Rational
GAP, slow = (1 - lam) ** 2, sqrt(K) * T ** R(3, 2)
CORRECTED, RATE = "theorem_4_5:corrected", "corollary_4_6:corrected"
own: Expr = R(3, 2) * eta**2 * K * L * (L**2 * rho**2 + sigma_l**2)
one: Expr = 32 * K**2 * L**2 * eta**2


def _descent(network: Expr) -> Expr:
    """(25) and (34) with the denominator of (24) and (33) kept; ``network``: what stands for 1/(1 -
    lam)^2."""
    solved = (2 * L**2 * C3 * eta**2 * network + 2 * G_bar) / (1 - one * network)
    return (
        -eta * K / 2 * G_bar + own + eta * K * L**2 * C1 / 2
        + (8 * eta**3 * K**2 * L**2 + R(3, 2) * eta**2 * K * L) * solved
    )  # fmt: skip


def _twice(network: Expr) -> dict[str, Expr]:
    """All but the first term of the displays that sum (25) and (34), doubled: the descent has D/2."""
    return {
        "noise": 3 * eta**2 * K * L * sigma_l**2 / D,
        "drift": 16 * eta**3 * L**2 * K**3 * (sigma_g**2 + sigma_l**2) / D,
        "consensus": 2 * eta**4 * K * L**3 * C3 * (16 * eta * K * L + 3) * network / D,
        "sharpness": (
            eta * L**2 * K
            * (
                2 * K * (4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1) + 8 * K * eta**2 * L**2 * rho**2)
                + 2 * K * rho**2 / (2 * K - 1)
            )
            + 3 * eta**2 * K * L**3 * rho**2
        ) / D,
    }  # fmt: skip


def _with_rho(expr: Expr) -> Expr:
    """4 K^3 L^2 eta^2 rho^2 in the place of ... rho^4."""
    return expr.xreplace({rho**4: rho**2})


twice = _twice(Phi)
moments: Expr = sigma_g**2 + sigma_l**2
heterogeneity = {"printed": beta**2 + sigma_l**2, "appendix": moments, "appendix_any_rho": moments}
bias = {"printed": L**2 * rho0**2 / T, "appendix": L**2 * rho0**2 / T}
free: Expr = L**2 * rho**2 + K**2 * L**2 * rho**4 / T
"""What SAM leaves where rho is not chosen yet."""


disagreement: dict[str, Expr] = {v: K * h / T + L**2 * rho0**2 / T for v, h in heterogeneity.items()} | {
    "appendix_any_rho": K * (moments + L**2 * rho**2) / T + K**2 * L**2 * rho**4 / T + L**2 * rho**2
}
"""2 eta^2 L^2 C_2 under the schedule: what E1 drops, but for the factor of the network."""
COROLLARIES = (
    "corollary_4_6",
    "corollary_4_6:appendix",
    "corollary_4_6:appendix_any_rho",
    "corollary_4_8",
    "corollary_4_8:appendix_any_rho",
)


def _rates(name: str, one_step: dict[str, Expr], many: dict[str, Expr]) -> dict[str, dict[str, Expr]]:
    """A further term of the variants of Corollaries 4.6 and 4.8."""
    return {f"corollary_4_6:{v}": {name: t} for v, t in one_step.items()} | {
        f"corollary_4_8:{v}": {name: t} for v, t in many.items()
    }


mistake = Errata("DFedSAM")
MISTAKES: tuple[Mistake, ...] = (
    mistake(1, FALSE, "eq_20", "(20) and (29), steps b) and c)",
        r"Smoothness compares each client's gradient at $\bar x^t$ with that at its own local models, and so "
        r"leaves $\|\bar x^t-(y^{t,k}(i)+\delta_{i,k})\|^2$; under the sum of step b) (E26) the means $\bar "
        r"x^t$ and $x^t(i)$ are the same, and step c) puts in Lemma D.4, which bounds the distance from "
        r"$x^t(i)$: the distance between $x^t(i)$ and $\bar x^t$ is dropped, and with it the largest "
        "share of the network.",
        {"eq_20": -eta * K / 2 * G_bar + eta * L**2 * K / 2 * (2 * DRIFT_BOUND + 2 * C2 * eta**2 * Phi),
        **_rates("disagreement of the clients", {v: t / GAP for v, t in disagreement.items()},
        {v: t * Phi for v, t in disagreement.items() if v != "appendix"})},
        where=(C2_DEFINITION, PHI), corrected=CORRECTED, refutes=("theorem_4_5", "theorem_4_5:appendix",
        "theorem_4_5:appendix_q1", *COROLLARIES), lines=("D.2, (20), c", "D.3, (29), c")),
    mistake(2, REPAIRABLE, "eq_21", "(21) and (30), third line",
        "The square of a sum of $K$ vectors is taken for the sum of their squares: a factor $K$ is lost.",
        {"eq_21": R(3, 2) * eta**2 * K**2 * L * (L**2 * rho**2 + sigma_l**2 + G_x)},
        instead=(replace(without_a_factor(e + "eq_21", "third line"),
        says="||sum_k a_k||^2 <= K sum_k ||a_k||^2", right=lambda A: len(A) * (A**2).sum()),),
        corrected=CORRECTED),
    mistake(3, CONSTANT, "eq_22", "(22) and (31), third term",
        r"(20)c gives $8\eta^3K^3L^2$ before the gradients at the clients, (22) has $8\eta^3K^2L^2$; the "
        r"$32\eta^3K^2L^2$ of $D$ in Theorem 4.5 comes of it.",
        {"eq_22": -eta * K / 2 * G_bar + eta * L**2 * K / 2 * C1 + 8 * eta**3 * K**3 * L**2 * G_x + own +
        R(3, 2) * eta**2 * K * L * G_x}, corrected=CORRECTED),
    mistake(4, REPAIRABLE, "eq_24", "(24) and (33)",
        r"(23) is divided by $1-32\eta^2K^2L^2/(1-\lambda)^2$, (32) by $1-32\eta^2K^2L^2\Phi$, which the "
        r"stated $\eta\le1/(10KL)$ does not make positive: it knows nothing of the network.",
        demand={"eq_24": (Condition("64 (eta K L)^2 <= (1 - lam)^2", 2 * one, GAP),),
        "eq_33": (Condition("64 (eta K L)^2 Phi <= 1", 2 * one * Phi, sp.S.One),)}, corrected=CORRECTED),
    mistake(5, REPAIRABLE, "eq_25", "(25)a and (34)a",
        r"The denominators $(1-\lambda)^2-32\eta^2K^2L^2$ of (24) and $1-32\eta^2K^2L^2\Phi$ of (33) are "
        r"replaced by the larger $(1-\lambda)^2$ and $1$: right in the limit of a 'very small' $\eta$, an "
        r"upper bound at no $\eta>0$.",
        {"eq_25": _descent(1 / GAP), "eq_34": _descent(Phi)}, corrected=CORRECTED,
        lines=("D.3, (34), first",)),
    mistake(6, CONSTANT, "theorem_4_5:appendix", "the displays that sum (25) and (34)",
        r"The descent has $-\tfrac12D\,\mathbb E\|\nabla f(\bar x^t)\|^2$: division by $D/2$ doubles every "
        "term, the displays double the first alone.",
        {"theorem_4_5:appendix": twice, "theorem_4_5:appendix_q1": _twice(1 / GAP)}, corrected=CORRECTED),
    mistake(7, CONSTANT, "theorem_4_5", "(7), last term of alpha(K, rho, eta)",
        r"The appendix derives $\tfrac32\eta^2KL(L^2\rho^2+\sigma_l^2)/D$, the main text has a third of it.",
        {"theorem_4_5": {"noise": R(3, 2) * eta**2 * K * L * sigma_l**2 / D, "sharpness": twice["sharpness"] /
        2}}, corrected=CORRECTED),
    mistake(8, REPAIRABLE, "eq_last", "D.3, second display after (34)",
        r"The summed descent is divided by $\eta K-32\eta^3K^2L^2$, without $6\eta^2KL$, and its terms are "
        "not those of (34). The display before it has both as in (34), and nothing uses this one.",
        {"eq_last": {"optimization": 2 * f0 / (T * D), "local": (eta * K * L**2 * C1 + 2 * own) / D,
        "consensus": 2 * eta**4 * K * L**3 * C3 * (16 * eta * K * L + 3) * Phi / D}},
        where=(DENOMINATOR, C3_DEFINITION), corrected=CORRECTED),
    mistake(9, FALSE, "lemma_D3", "Lemma D.3",
        r"The cited lemma has the constant of smoothness, which is $\beta$ there and $L$ here; $\beta$ is "
        "the parameter of homogeneity here. The lemma is false read so, too: no smoothness brings "
        "normalized gradients together. The corrected theorem does without it.",
        {"lemma_D3": 2 * K**2 * L**2 * eta**2 * rho**2}, lines=("Lemma D.3", "proof of Lemma D.4, I")),
    mistake(10, FALSE, "lemma_D4", "Lemma D.4, display I",
        r"Lemma D.3 gives $2K^2L^2\eta^2\rho^2$, display I has $\rho^4$: the sum adds a length to the power "
        r"4 to squares of lengths. It stays in $C_1$, $C_2$, $C_3$ and $\alpha(K,\rho,\eta)$. Where $\rho$ "
        r"is small the lemma is false with it: $\delta_{i,k}$ may turn by $2\rho$ in one step.",
        {"lemma_D4": _with_rho(DRIFT_BOUND), "eq_20": -eta * K / 2 * G_bar + eta * L**2 * K / 2 *
        _with_rho(DRIFT_BOUND), "definition_C1": _with_rho(C1_DEFINITION.expr),
        "definition_C2": _with_rho(C2_DEFINITION.expr), "definition_C3": _with_rho(C3_DEFINITION.expr)},
        corrected=CORRECTED, lines=("Lemma D.4",)),
    mistake(11, REPAIRABLE, "lemma_D6", "Lemma D.6, after (16), third line",
        r"$(x+y)^2\le x^2+y^2$ is used of the two geometric sums, which is false. The second sum is not "
        r"needed: Lemma D.1 gives $\|P-W^{Qn}\|\le\lambda^{Qn}$ (E12), so that the network's factor is "
        r"$1/(1-\lambda^Q)^2\le\Phi$, and the lemma's $\Phi$ is valid.",
        instead=(Scalar(e + "lemma_D6", "after (16), third line", "(x + y)^2 <= 2 x^2 + 2 y^2", (x + y) ** 2,
        2 * x**2 + 2 * y**2, EVERYWHERE),), corrected=CORRECTED,
        lines=("proof of Lemma D.6, Cauchy, third",)),
    mistake(12, REPAIRABLE, "lemma_D6", "Lemma D.6, before Cauchy",
        r"$\|P\|=1$, not $1/m$: $\|(W^n-P)+P\|^{Q-1}$ is $1$, so that the factor $m^{2(Q-1)}$ in the "
        r"denominator of $\Phi$ has no reason. Lemma D.1 gives $\|P-W^{Qn}\|\le\lambda^{Qn}$ at once, and "
        r"with it $1/(1-\lambda^Q)^2$, which is at most $\Phi$: the lemma's bound needs no larger constant.",
        instead=(Matrices(e + "lemma_D6", "before Cauchy", "||P - W^(Qn)|| <= lam^(Qn), Q = 2", "mixing",
        lambda W, n: norm(power(W, 2 * n) - 1 / len(W)),
        lambda W, n: norm(W - 1 / len(W)) ** (2 * n)),), corrected=CORRECTED,
        lines=("proof of Lemma D.6, Cauchy, first",)),
    mistake(13, FALSE, "corollary_4_6", "Corollaries 4.6 and 4.8, third term",
        r"$C_1$ has the bias of SAM, $\rho^2$ once per local step: under $\rho=\rho_0/\sqrt T$ it leaves "
        r"$L^2\rho_0^2/T$, where the corollaries have $L^2/(\sqrt K\,T^{3/2})$. SAM's own fixed points show "
        "that no rate whose constants do not depend on $f$ can do without it.",
        _rates("bias of SAM", bias | {"appendix_any_rho": free},
        {"printed": bias["printed"], "appendix_any_rho": free}), corrected=RATE),
    mistake(14, REPAIRABLE, "corollary_4_6", "Corollaries 4.6 and 4.8, last term",
        r"$C_3$ has $16K^2(\sigma_g^2+\sigma_l^2)$: the last term is of order $K^{1/2}$, not $K^{-1/2}$.",
        _rates("consensus again", {v: K * h / (slow * GAP) for v, h in heterogeneity.items()}, {v: Phi * K * h
        / slow for v, h in heterogeneity.items() if v != "appendix"}), corrected=RATE),
    mistake(15, REPAIRABLE, "corollary_4_6", "Corollaries 4.6 and 4.8, last term",
        r"$C_3$ has $2K\rho^2/(\eta^2(2K-1))$, of order $KL^2T\rho^2$ under the schedule: the last term "
        r"lacks $L^2\rho_0^2$ (before $\rho$ is chosen, $L^2\rho^2T$).",
        _rates("network's share of SAM", dict.fromkeys(bias, L ** 2 * rho0 ** 2 / (slow * GAP)) |
        {"appendix_any_rho": L**2 * rho**2 / (sqrt(K * T) * GAP)}, {"printed": Phi * L**2 * rho0**2 / slow,
        "appendix_any_rho": Phi * L**2 * rho**2 / sqrt(K * T)}), corrected=RATE),
    mistake(16, REPAIRABLE, "rate_abstract", "abstract",
        r"$1/T$ stands for a term of order $K/T$, and $1/(\sqrt K\,T^{3/2})$ for one of order $\sqrt "
        r"K/T^{3/2}$. Where $T\ge K^3$ and $T(1-\lambda)^2\ge K$, which is not said, the first term covers "
        "both.",
        {"rate_abstract": {"drift": K / T, "consensus": K / (slow * GAP)}, "rate_abstract_mgs": {"drift": K /
        T, "consensus": K * (lam**Q + 1) / (slow * (1 - lam**Q) ** 2) + K * (lam**Q + 1) /
        (slow * GAP * s.m ** (2 * Q - 2))}}, corrected=RATE),
    mistake(17, TYPO, "", "Section 3.1, ring and grid",
        r"What is given for $\lambda$ is, in order, the gap $1-\lambda$.",
        lines=("3.1, ring", "3.1, grid")),
    mistake(18, TYPO, "", "Table 1, generalization errors",
        "In five cells the error is not the training accuracy less the validation accuracy.",
        lines=("Table 1, CIFAR-10: FedSAM, Dir 0.3", "Table 1, CIFAR-10: DFedAvgM, Dir 0.6",
        "Table 1, CIFAR-100: D-PSGD, IID", "Table 1, CIFAR-100: DFedAvg, Dir 0.3",
        "Table 1, CIFAR-100: DFedAvg, IID")),
    mistake(19, TYPO, "", "Section 5.2, generalization errors in the text",
        "14.10 stands for the 14.14 of Table 1, and 15.27 for its 15.29.",
        lines=("5.2, non-IID, DFedSAM, IID", "5.2, non-IID, FedAvg, IID")),
    mistake(20, FALSE, "lemma_D2", "Lemma D.2",
        r"Assumption 4.4 bounds $\|\nabla f_i-\nabla f\|^2$ on average over the clients; the lemma is "
        "stated for a single client. It holds for the average.",
        lines=("Lemma D.2",)),
    mistake(21, REPAIRABLE, "lemma_D4", "proof of Lemma D.4, I + II",
        "The cross term of the first two vectors is lost in "
        r"$\|a+b+c\|^2\le(1+\frac1{2K-1})(\|a\|^2+\|b\|^2)+2K\|c\|^2$.",
        corrected=CORRECTED, lines=("proof of Lemma D.4, I + II",)),
    mistake(22, CONSTANT, "lemma_D4", "proof of Lemma D.4, the recursion solved",
        r"$c_k\le ac_{k-1}+b$ gives $a^kc_0$ with $a=1+\frac1{2K-1}$; the display has $ac_0=a\rho^2$.",
        corrected=CORRECTED, lines=("proof of Lemma D.4, recursion, first",)),
    mistake(23, FALSE, "lemma_D5", "Lemmas D.5 and D.6, hypotheses",
        r"Both are stated for any learning rate; Lemma D.4, on which they rest, needs $\eta\le1/(10KL)$.",
        corrected=CORRECTED, lines=("Lemma D.5", "Lemma D.6")),
    mistake(24, FALSE, "corollary_4_6", "Corollaries 4.6 and 4.8, the start",
        "Algorithm 1 initializes each client at random, the proofs of Lemmas D.5 and D.6 set $X^0=0$, and "
        "no statement has a hypothesis or a term for the distance between the starts: two identical clients "
        r"that start in two wells stay apart for a time of order $1/(1-\lambda)$.",
        corrected="theorem_4_5:corrected_init", witness="corollary_4_6",
        scope={claim: {"common_start": True} for claim in COROLLARIES}),
    mistake(25, REPAIRABLE, "lemma_D5", "proofs of Lemmas D.5 and D.6, 'for any j'",
        "Lemma D.4 bounds round $j$ by the gradients of round $j$; the displays have those of round $t$.",
        corrected=CORRECTED, lines=("proof of Lemma D.5, for any j", "proof of Lemma D.6, for any j")),
    mistake(26, REPAIRABLE, "eq_20", "(20) and (29), step b)",
        r"$\mathbb E(ab)\le\mathbb E(a)\,\mathbb E(b)$ and $\|\sum(g(x)-g(y))\|\le L\|\sum(x-y)\|$ are "
        "used; Young's inequality, term by term, does without them.",
        corrected=CORRECTED, lines=("D.2, (20), b", "D.3, (29), b")),
    mistake(27, REPAIRABLE, "eq_21", "(21) and (30), second line",
        "The second line is at most the first, by Jensen, not at least; (18) gives the second line itself.",
        corrected=CORRECTED, lines=("D.2, (21), second", "D.3, (30), second")),
    mistake(28, REPAIRABLE, "eq_21", "(21)a and (30)a",
        r"A client's own gradient $\nabla f_i(x^t)$ is bounded by $\nabla f(x^t(i))$ without $\sigma_g^2$. "
        r"Where it means the latter, as in the proof of Lemma D.4, no assumption bounds its distance from "
        r"$\nabla F_i(y;\xi)$; and where Assumption 4.4 is read at one point, the drift is lost as well.",
        corrected=CORRECTED, lines=("D.2, (21), a", "D.3, (30), a")),
    mistake(29, REPAIRABLE, "", "Assumptions 4.3 and 4.4, as they are used",
        r"The proofs use what is not assumed: that each sample's gradient $\nabla F_i(\cdot;\xi)$ "
        r"is Lipschitz, where Assumption 4.3 has $\nabla f_i$; that it is unbiased, in (20)a; and a variance "
        "bounded at one point. Assumption 4.4 bounds it between any two points, which no strongly convex "
        "$f_i$ allows."),
    mistake(30, TYPO, "", "Corollaries 4.6 and 4.8; proofs of Lemmas D.5 and D.6, citations",
        "The corollaries cite Theorem 4.6 for 4.5, the proofs an Assumption 3 for Assumptions 4.3 and 4.4."),
)  # fmt: skip

__all__ = ["MISTAKES"]
