"""DFedMDC and DFedSMDC: where their mistakes begin, and what mends them."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.claims import without_a_factor
from dfltheory.bounds.errata import CONSTANT, FALSE, REPAIRABLE, TYPO, Errata, Mistake
from dfltheory.bounds.papers.dfedmdc.printed import sigma
from dfltheory.bounds.papers.dfedmdc.proof import GAP, VAR
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import Expr

e = "dfedmdc."
T, rho, K, eta, L, L_v, L_vu = s.T, s.rho, s.K_u, s.eta_u, s.L_u, s.L_v, s.L_vu
R = sp.Rational
first, second = "theorem_1:corrected", "theorem_2:corrected"
sam: Expr = L**2 * rho**2
front: Expr = 9 * eta**3 * K**2 * L**2 / GAP
front_sam: Expr = 3 * eta**3 * K * L**2 / GAP
spread: Expr = 36 * eta**2 * K**2 * L**2 / GAP
"""2 L_u^2 times the factor of Lemma 5."""
twice: Expr = 2 * K * (1 + GAP)
"""Twice Lemma 5 and twice Lemma 3, K_u times."""
more: Expr = 4 * eta**2 * K * L**3 + eta * L**2
noise: Expr = s.sigma_v**2 * (L_v + 1) / (L_v**2 * sqrt(T))
CONTRACTS = ("theorem_1", "theorem_1:appendix", "theorem_2:appendix")
"""The statements that need the share of (10) and Lemma 5 to be at most 1/2."""
VARIANTS = ("theorem_2", "theorem_2:appendix", "theorem_2:appendix_eq35")

mistake = Errata("DFedMDC")
MISTAKES: tuple[Mistake, ...] = (
    mistake(1, CONSTANT, "eq_9", "(9) and (23)",
        r"$\mathcal T_{1,u}$ sums $\|u_i^{t,k}-\bar u^t\|^2$ over $K_u$ local steps: a factor $K_u$ is lost, "
        r"and the local drift of Lemma 3 (Lemma 4), for Lemma 5 (Lemma 6) bounds $\|u_i^t-\bar u^t\|^2$.",
        {"eq_9": twice * front * (VAR + s.G_u), "eq_23": twice * front_sam * (sam + 3 * K *
        (VAR + s.G_u))}, corrected=first),
    mistake(2, FALSE, "eq_11", "(11) and (25)",
        r"(10) and Lemma 5 in (9) leave $36\eta_u^2K_u^2L_u^2/(1-\lambda)^2$ of $\mathcal T_{3,u}$ on the "
        "right; a step size that is 'much smaller' makes this share small, not absent; (31) drops it again.",
        {"eq_11": front * (VAR + 2 * s.D_u) / (1 - spread), "eq_25": front_sam *
        (sam + 3 * K * (VAR + 2 * s.D_u)) / (1 - spread)}, demand=dict.fromkeys(CONTRACTS, (Condition(
        "T >= 72/(1 - lam)^2", sp.Integer(72), T * GAP),)), corrected=first, refutes=CONTRACTS),
    mistake(3, REPAIRABLE, "eq_12", "(12), first line, and (26) alike",
        "The square of a sum of $K_u$ vectors is taken for the sum of their squares: a factor $K_u$ is lost.",
        {"eq_12": 2 * eta**2 * K**2 * L * (VAR + s.D_u) + 2 * eta**2 * K**2 * L**3 * s.Xi},
        instead=(replace(without_a_factor(e + "eq_12", "first line"),
        says="||sum_k a_k||^2 <= K_u sum_k ||a_k||^2", right=lambda A: len(A) * (A**2).sum()),),
        corrected=first, lines=("(26), sign 1",)),
    mistake(4, CONSTANT, "eq_13", "(13), terms of the network",
        r"Lemma 5 stands before $2\eta_u^2K_uL_u^3$ in (12): the $2$ in $2+\eta_uL_u^2$ should be "
        r"$4\eta_u^2K_uL_u^3$.",
        {"eq_13": (-eta * K / 2 + 2 * eta**2 * K * L + 18 * eta**2 * K**2 * more / GAP) * s.D_u + 2 * eta**2 *
        K * L * VAR + 9 * eta**2 * K**2 * more / GAP * VAR}, corrected=first, lines=("(13), second",)),
    mistake(5, REPAIRABLE, "eq_33_u", "(33), first two lines",
        "What stands for (27) is another formula than (27): its share of the descent, "
        r"$\eta_uK_u-\eta_u/2$, is up to twice that of (27).",
        {"eq_33_u": e + "eq_27"}, corrected=second),
    mistake(6, FALSE, "theorem_2:appendix_eq35", "(35); Theorem 2, third term",
        r"(34) has the noise $\sigma_v^2(L_v+1)/(L_v^2\sqrt T)$ of the personal part, (35) and Theorem 2 do "
        r"not: $\sigma_4^2$, which has it, is defined and used nowhere.",
        {claim: {"noise of the personal part": noise} for claim in (VARIANTS[2], VARIANTS[0])},
        corrected=second, refutes=(VARIANTS[0], VARIANTS[2])),
    mistake(7, TYPO, "theorem_2:appendix_eq35", "(35), second term",
        "$L_{vu}^2$ of (34) has become $L_{vu}$; Theorem 2 has $L_{vu}^2$ again.",
        {"theorem_2:appendix_eq35": {"consensus": sigma * L_vu**2 / (GAP * sqrt(T))}}, corrected=second),
    mistake(8, TYPO, "theorem_2", "Theorem 2, eq. (4), third term",
        r"(35) has $L_u\sigma^2/\sqrt T$, Theorem 2 $\sigma^2/\sqrt T$: a factor $L_u$ is lost.",
        {"theorem_2": {"noise": sigma * L / sqrt(T)}}, corrected=second),
    mistake(9, FALSE, "theorem_2", "Theorem 2, from (22) on",
        r"The local steps use the gradient at a point that is $\rho$ away; (22) compares it with the "
        r"gradient at the iterate as if it were there. What is left is $L_u\rho^2=L_u\rho_0^2/T$; SAM's own "
        "fixed points show that no rate whose constants do not depend on $F$ can do without it.",
        {claim: {"bias of SAM": L * rho**2} for claim in VARIANTS}, corrected=second,
        lines=("(22), sign 2",)),
    mistake(10, FALSE, "theorem_1", "Theorems 1 and 2, Lemmas 5 and 6, the start",
        "$(W^t-P)U^0$ is left out in the proof of Lemma 5, as if all devices had one $u^0$; Algorithm 1 "
        "starts each at random, and no statement has a hypothesis or a term for it.",
        corrected=first, scope={claim: {"common_start": True} for claim in ("theorem_1",
        "theorem_1:appendix", *VARIANTS)}, lines=("Theorem 1, (3)",
        "Theorem 2, (4)", "Lemma 5", "Lemma 6", "proof of Lemma 5, convolution, sign 1",
        "proof of Lemma 5, closed", "proof of Lemma 6, closed")),
    mistake(11, FALSE, "lemma_3", "Lemma 3, its hypotheses",
        r"It has no condition on $\eta_u$; its proof needs one of the size $1/(L_uK_u)$, which Theorem 1's "
        "schedule gives up to a constant.",
        corrected=first, lines=("Lemma 3",)),
    mistake(12, FALSE, "lemma_4", "Lemma 4",
        r"The square of a sum is taken for the sum of the squares in the bound of $\mathbf I$; the bias of "
        r"SAM adds up over the steps: $K_u^2L_u^2\rho^2$ should stand for $K_uL_u^2\rho^2$.",
        corrected=second, lines=("Lemma 4", "proof of Lemma 4, bound of I, sign 1")),
    mistake(13, TYPO, "", "proof of Lemma 5, second inequality",
        "The square of the sum is missing; the next line has it.",
        lines=("proof of Lemma 5, convolution, sign 2",)),
    mistake(14, REPAIRABLE, "lemma_5", "proof of Lemma 5, one round",
        "Lemma 3 bounds round $j$ by the gradients of round $j$, and steps $k<K_u$; the display has the "
        "gradients of round $t$, and $k=K_u$.",
        corrected=first, lines=("proof of Lemma 5, one round",)),
    mistake(15, REPAIRABLE, "eq_8", "(8) and (22), third inequality",
        r"The descent in $u$ is at $V^{t+1}$; $\Delta_{\bar u}^t$ is defined, and bounded in the theorems, "
        "at $V^t$. From the one to the other there is a term with $L_{uv}$.",
        corrected="theorem_1:corrected_same_round", lines=("(8), sign 3", "(22), sign 3")),
    mistake(16, REPAIRABLE, "eq_15", "(15) and (29), first two inequalities",
        "The $K_v$ gradients at $v_i^{t,k}$ are taken for gradients at $v_i^t$: for $K_v>1$ the drift of "
        "$v$ is lost.",
        corrected=first, lines=("(15), sign 1", "(15), sign 2", "(29), sign 1", "(29), sign 2")),
    mistake(17, CONSTANT, "", "Table 1, ring and grid",
        r"A ring with weights $1/3$ has the gap $\frac{4\pi^2}{3m^2}$ in the limit, not "
        r"$\frac{16\pi^2}{3m^2}$; a grid's is of order $1/m$, more than $1/(m\log_2m)$.",
        lines=("Table 1, ring", "Table 1, grid")),
    mistake(18, TYPO, "", "Remark 4",
        r"$1-\lambda$ decreases where a network gets sparser; what increases is $1/(1-\lambda)$.",
        lines=("Remark 4, gap",)),
    mistake(19, REPAIRABLE, "eq_8", "Algorithm 1, line 5; Assumption 2; (8)a and (22)a",
        r"One batch $\xi_i$ is drawn per round, before the steps in $v$ and $u$: $v_i^{t+1}$ and $u_i^{t,k}$ "
        r"depend on it, and $\mathbb E\nabla_uF_i(u_i^{t,k},v_i^{t+1};\xi_i)$ is not what it is taken for. "
        "With a fresh batch in every step it is, if a batch is unbiased, which Assumption 2 leaves out.",
        corrected=first, lines=("(8), a), mean", "(22), a), mean")),
    mistake(20, REPAIRABLE, "lemma_3", r"proofs of Lemmas 3 and 4, $\mathbf{II}$; (12), (26), second line",
        r"$\nabla_uF_i(u_i^{t,k},v_i^{t+1})$ is taken for $\nabla_uF_i(u_i^t,v_i^{t+1})$, which Assumption 3 "
        r"speaks of: $L_u^2\|u_i^{t,k}-u_i^t\|^2$ is lost. A small step leaves room for it in the constants.",
        corrected=first),
    mistake(21, TYPO, "", r"Algorithm 1, line 13; Lemma 2; $\mathbf{II}$ of Lemmas 3 and 4; (17), (31)",
        r"$z_i^t$ stands for $z_l^t$, without which no device hears another; $2K_u^2$ for the $2K_u$ with "
        r"which $\mathbf{II}$ is bounded; $v^{K_v-1}$ for the $v^{K_v}$ of (16) and (30); (17) and (31) cite "
        "(11) and (25) for Lemmas 5 and 6."),
)  # fmt: skip

__all__ = ["MISTAKES"]
