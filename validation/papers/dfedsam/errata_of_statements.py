"""Errata of Shi et al. 2023 (DFedSAM) about its theorems, corollaries, rates and tables."""

from __future__ import annotations

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsam.printed import C1, C3, PHI, D, Phi
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import Expr
from validation.papers import bound
from validation.papers.dfedsam.appendix import C2, C2_DEFINITION, DRIFT_BOUND
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

L, K, T, eta, rho, rho0, lam, f0 = s.L, s.K, s.T, s.eta, s.rho, s.rho0, s.lam, s.f0_gap
sigma_l, sigma_g, beta, G_x, G_bar = s.sigma_l, s.sigma_g, s.beta, s.G_x, s.G_bar
R = sp.Rational
GAP, slow = (1 - lam) ** 2, sqrt(K) * T ** R(3, 2)
own: Expr = R(3, 2) * eta**2 * K * L * (L**2 * rho**2 + sigma_l**2)
one: Expr = 32 * K**2 * L**2 * eta**2


def _descent(network: Expr) -> Expr:
    """(25) and (34) with the denominator of (24) and (33) kept; ``network`` in place of 1/(1 - lam)^2."""
    solved = (2 * L**2 * C3 * eta**2 * network + 2 * G_bar) / (1 - one * network)
    local = -eta * K / 2 * G_bar + own + eta * K * L**2 * C1 / 2
    return local + (8 * eta**3 * K**2 * L**2 + R(3, 2) * eta**2 * K * L) * solved


def _twice(network: Expr) -> dict[str, Expr]:
    """All but the first term of the displays that sum (25) and (34), doubled: the descent has D/2."""
    bracket = 4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1) + 8 * K * eta**2 * L**2 * rho**2
    drift = 2 * K * bracket + 2 * K * rho**2 / (2 * K - 1)
    return {
        "noise": 3 * eta**2 * K * L * sigma_l**2 / D,
        "drift": 16 * eta**3 * L**2 * K**3 * (sigma_g**2 + sigma_l**2) / D,
        "consensus": 2 * eta**4 * K * L**3 * C3 * (16 * eta * K * L + 3) * network / D,
        "sharpness": (eta * L**2 * K * drift + 3 * eta**2 * K * L**3 * rho**2) / D,
    }


def _kept_disagreement(drift: Expr) -> Expr:
    """The last line of (20) with this bound of the distance from the mean model."""
    return -eta * K / 2 * G_bar + eta * L**2 * K / 2 * drift


def _summed(first: Expr, network: Expr) -> Expr:
    """``first`` plus (21), with the gradient at the clients bounded by (23), summed over T rounds."""
    disagreement = C2_DEFINITION.expr * eta**2 * network
    at_clients = 2 * L**2 * disagreement + 2 * G_bar
    slope = sp.diff(at_clients, G_x)
    solved = at_clients.xreplace({G_x: sp.S.Zero}) / (1 - slope)
    descent = (first + bound("dfedsam.eq_21")).xreplace({G_x: solved})
    return (f0 / T + descent.xreplace({G_bar: sp.S.Zero})) / -sp.diff(descent, G_bar)


def _dropped(network: Expr) -> Expr:
    """The share of Theorem 4.5 that (20) drops with the distance between the clients and their mean."""
    kept = _kept_disagreement(2 * DRIFT_BOUND + 2 * C2_DEFINITION.expr * eta**2 * network)
    return _summed(kept, network) - _summed(_kept_disagreement(DRIFT_BOUND), network)


DISAGREEMENT = "disagreement of the clients"
moments: Expr = sigma_g**2 + sigma_l**2
printed_moments: Expr = beta**2 + sigma_l**2
any_rho: Expr = K * (moments + L**2 * rho**2) / T + K**2 * L**2 * rho**4 / T + L**2 * rho**2
"""2 eta^2 L^2 C_2 under the schedule, before rho is chosen."""

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        id="DFedSAM-E1",
        severity=FALSE,
        place="(20) and (29), steps b) and c)",
        cause=(
            r"Smoothness compares each client's gradient at $\bar x^t$ with that at its own local "
            r"models, and so leaves $\|\bar x^t-(y^{t,k}(i)+\delta_{i,k})\|^2$; under the sum of step "
            r"b) (E26) the means $\bar x^t$ and $x^t(i)$ are the same, and step c) puts in Lemma D.4, "
            r"which bounds the distance from $x^t(i)$: the distance between $x^t(i)$ and $\bar x^t$ is"
            " dropped, and with it the largest share of the network."
        ),
        found_by=PROOF_LINE,
        origin="dfedsam.eq_20",
        bears_on=(
            "dfedsam.theorem_4_5",
            "dfedsam.corollary_4_6",
            "dfedsam.corollary_4_8",
        ),
        terms={
            "dfedsam.eq_20": {
                "bound": _kept_disagreement(2 * DRIFT_BOUND + 2 * C2 * eta**2 * Phi),
            },
            "dfedsam.theorem_4_5": {DISAGREEMENT: _dropped(Phi)},
            "dfedsam.theorem_4_5:appendix": {DISAGREEMENT: _dropped(Phi)},
            "dfedsam.theorem_4_5:appendix_q1": {DISAGREEMENT: _dropped(1 / GAP)},
            "dfedsam.corollary_4_6": {
                DISAGREEMENT: (K * printed_moments / T + L**2 * rho0**2 / T) / GAP,
            },
            "dfedsam.corollary_4_6:appendix": {
                DISAGREEMENT: (K * moments / T + L**2 * rho0**2 / T) / GAP,
            },
            "dfedsam.corollary_4_6:appendix_any_rho": {DISAGREEMENT: any_rho / GAP},
            "dfedsam.corollary_4_8": {
                DISAGREEMENT: (K * printed_moments / T + L**2 * rho0**2 / T) * Phi,
            },
            "dfedsam.corollary_4_8:appendix_any_rho": {DISAGREEMENT: any_rho * Phi},
        },
        definitions=(C2_DEFINITION, PHI),
        corrected="dfedsam.theorem_4_5:corrected",
        refutes=(
            "dfedsam.theorem_4_5",
            "dfedsam.theorem_4_5:appendix",
            "dfedsam.theorem_4_5:appendix_q1",
            "dfedsam.corollary_4_6",
            "dfedsam.corollary_4_6:appendix",
            "dfedsam.corollary_4_6:appendix_any_rho",
            "dfedsam.corollary_4_8",
            "dfedsam.corollary_4_8:appendix_any_rho",
        ),
        lines=(
            "D.2, (20), c",
            "D.3, (29), c",
        ),
    ),
    Erratum(
        id="DFedSAM-E4",
        severity=REPAIRABLE,
        place="(24) and (33)",
        cause=(
            r"(23) is divided by $1-32\eta^2K^2L^2/(1-\lambda)^2$, (32) by $1-32\eta^2K^2L^2\Phi$, "
            r"which the stated $\eta\le1/(10KL)$ does not make positive: it knows nothing of the "
            "network."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.eq_24",
        bears_on=("dfedsam.theorem_4_5",),
        conditions={
            "dfedsam.eq_24": (Condition("64 (eta K L)^2 <= (1 - lam)^2", 2 * one, GAP),),
            "dfedsam.eq_33": (Condition("64 (eta K L)^2 Phi <= 1", 2 * one * Phi, sp.S.One),),
        },
        corrected="dfedsam.theorem_4_5:corrected",
    ),
    Erratum(
        id="DFedSAM-E5",
        severity=REPAIRABLE,
        place="(25)a and (34)a",
        cause=(
            r"The denominators $(1-\lambda)^2-32\eta^2K^2L^2$ of (24) and $1-32\eta^2K^2L^2\Phi$ of "
            r"(33) are replaced by the larger $(1-\lambda)^2$ and $1$: right in the limit of a 'very "
            r"small' $\eta$, an upper bound at no $\eta>0$."
        ),
        found_by=PROOF_STEP,
        origin="dfedsam.eq_25",
        bears_on=("dfedsam.theorem_4_5",),
        terms={
            "dfedsam.eq_25": {"bound": _descent(1 / GAP)},
        },
        corrected="dfedsam.theorem_4_5:corrected",
        lines=("D.3, (34), first",),
    ),
    Erratum(
        id="DFedSAM-E6",
        severity=CONSTANT,
        place="the displays that sum (25) and (34)",
        cause=(
            r"The descent has $-\tfrac12D\,\mathbb E\|\nabla f(\bar x^t)\|^2$: division by $D/2$ "
            "doubles every term, the displays double the first alone."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.theorem_4_5:appendix",
        bears_on=("dfedsam.theorem_4_5",),
        terms={
            "dfedsam.theorem_4_5:appendix": _twice(Phi),
        },
        corrected="dfedsam.theorem_4_5:corrected",
    ),
    Erratum(
        id="DFedSAM-E7",
        severity=CONSTANT,
        place="(7), last term of alpha(K, rho, eta)",
        cause=(
            r"The appendix derives $\tfrac32\eta^2KL(L^2\rho^2+\sigma_l^2)/D$, the main text has a "
            "third of it."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.theorem_4_5",
        bears_on=("dfedsam.theorem_4_5",),
        terms={
            "dfedsam.theorem_4_5": {
                "noise": R(3, 2) * eta**2 * K * L * sigma_l**2 / D,
                "sharpness": _twice(Phi)["sharpness"] / 2,
            },
        },
        corrected="dfedsam.theorem_4_5:corrected",
    ),
    Erratum(
        id="DFedSAM-E13",
        severity=FALSE,
        place="Corollaries 4.6 and 4.8, third term",
        cause=(
            r"$C_1$ has the bias of SAM, $\rho^2$ once per local step: under $\rho=\rho_0/\sqrt T$ it "
            r"leaves $L^2\rho_0^2/T$, where the corollaries have $L^2/(\sqrt K\,T^{3/2})$. SAM's own "
            "fixed points show that no rate whose constants do not depend on $f$ can do without it."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.corollary_4_6",
        bears_on=(
            "dfedsam.corollary_4_6",
            "dfedsam.corollary_4_8",
        ),
        terms={"dfedsam.corollary_4_6": {"bias of SAM": L**2 * rho0**2 / T}},
        corrected="dfedsam.corollary_4_6:corrected",
    ),
    Erratum(
        id="DFedSAM-E14",
        severity=REPAIRABLE,
        place="Corollaries 4.6 and 4.8, last term",
        cause=(
            r"$C_3$ has $16K^2(\sigma_g^2+\sigma_l^2)$: the last term is of order $K^{1/2}$, not "
            "$K^{-1/2}$."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.corollary_4_6",
        bears_on=(
            "dfedsam.corollary_4_6",
            "dfedsam.corollary_4_8",
        ),
        terms={"dfedsam.corollary_4_6": {"consensus again": K * printed_moments / (slow * GAP)}},
        corrected="dfedsam.corollary_4_6:corrected",
    ),
    Erratum(
        id="DFedSAM-E15",
        severity=REPAIRABLE,
        place="Corollaries 4.6 and 4.8, last term",
        cause=(
            r"$C_3$ has $2K\rho^2/(\eta^2(2K-1))$, of order $KL^2T\rho^2$ under the schedule: the last"
            r" term lacks $L^2\rho_0^2$ (before $\rho$ is chosen, $L^2\rho^2T$)."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.corollary_4_6",
        bears_on=(
            "dfedsam.corollary_4_6",
            "dfedsam.corollary_4_8",
        ),
        terms={"dfedsam.corollary_4_6": {"network's share of SAM": L**2 * rho0**2 / (slow * GAP)}},
        corrected="dfedsam.corollary_4_6:corrected",
    ),
    Erratum(
        id="DFedSAM-E16",
        severity=REPAIRABLE,
        place="abstract",
        cause=(
            r"$1/T$ stands for a term of order $K/T$, and $1/(\sqrt K\,T^{3/2})$ for one of order "
            r"$\sqrt K/T^{3/2}$. Where $T\ge K^3$ and $T(1-\lambda)^2\ge K$, which is not said, the "
            "first term covers both."
        ),
        found_by=GENERAL_CHECK,
        origin="dfedsam.rate_abstract",
        bears_on=(
            "dfedsam.rate_abstract",
            "dfedsam.rate_abstract_mgs",
        ),
        terms={
            "dfedsam.rate_abstract": {"drift": K / T, "consensus": K / (slow * GAP)},
        },
        corrected="dfedsam.corollary_4_6:corrected",
    ),
    Erratum(
        id="DFedSAM-E17",
        severity=TYPO,
        place="Section 3.1, ring and grid",
        cause=r"What is given for $\lambda$ is, in order, the gap $1-\lambda$.",
        found_by=PROOF_LINE,
        lines=(
            "3.1, ring",
            "3.1, grid",
        ),
    ),
    Erratum(
        id="DFedSAM-E18",
        severity=TYPO,
        place="Table 1, generalization errors",
        cause="In five cells the error is not the training accuracy less the validation accuracy.",
        found_by=PROOF_LINE,
        lines=(
            "Table 1, CIFAR-10: FedSAM, Dir 0.3",
            "Table 1, CIFAR-10: DFedAvgM, Dir 0.6",
            "Table 1, CIFAR-100: D-PSGD, IID",
            "Table 1, CIFAR-100: DFedAvg, Dir 0.3",
            "Table 1, CIFAR-100: DFedAvg, IID",
        ),
    ),
    Erratum(
        id="DFedSAM-E19",
        severity=TYPO,
        place="Section 5.2, generalization errors in the text",
        cause="14.10 stands for the 14.14 of Table 1, and 15.27 for its 15.29.",
        found_by=PROOF_LINE,
        lines=(
            "5.2, non-IID, DFedSAM, IID",
            "5.2, non-IID, FedAvg, IID",
        ),
    ),
    Erratum(
        id="DFedSAM-E24",
        severity=FALSE,
        place="Corollaries 4.6 and 4.8, the start",
        cause=(
            "Algorithm 1 initializes each client at random, the proofs of Lemmas D.5 and D.6 set "
            "$X^0=0$, and no statement has a hypothesis or a term for the distance between the "
            "starts: two identical clients that start in two wells stay apart for a time of order "
            r"$1/(1-\lambda)$."
        ),
        found_by=READER,
        origin="dfedsam.corollary_4_6",
        bears_on=(
            "dfedsam.corollary_4_6",
            "dfedsam.corollary_4_8",
        ),
        scope={
            "dfedsam.corollary_4_6": {"common_start": True},
            "dfedsam.corollary_4_6:appendix": {"common_start": True},
            "dfedsam.corollary_4_6:appendix_any_rho": {"common_start": True},
            "dfedsam.corollary_4_8": {"common_start": True},
            "dfedsam.corollary_4_8:appendix_any_rho": {"common_start": True},
        },
        corrected="dfedsam.theorem_4_5:corrected_init",
        witness="dfedsam.corollary_4_6",
    ),
    Erratum(
        id="DFedSAM-E29",
        severity=REPAIRABLE,
        place="Assumptions 4.3 and 4.4, as they are used",
        cause=(
            r"The proofs use what is not assumed: that each sample's gradient $\nabla F_i(\cdot;\xi)$ "
            r"is Lipschitz, where Assumption 4.3 has $\nabla f_i$; that it is unbiased, in (20)a; and "
            "a variance bounded at one point. Assumption 4.4 bounds it between any two points, which "
            "no strongly convex $f_i$ allows."
        ),
        found_by=READER,
    ),
    Erratum(
        id="DFedSAM-E30",
        severity=TYPO,
        place="Corollaries 4.6 and 4.8; proofs of Lemmas D.5 and D.6, citations",
        cause=(
            "The corollaries cite Theorem 4.6 for 4.5, the proofs an Assumption 3 for Assumptions 4.3"
            " and 4.4."
        ),
        found_by=READER,
    ),
)

__all__ = ["ERRATA"]
