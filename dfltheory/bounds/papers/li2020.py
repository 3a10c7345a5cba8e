"""Li, Huang, Yang, Wang and Zhang 2020, "On the Convergence of FedAvg on Non-IID Data": strong convexity.

Steps that decrease from one local step to the next, a bound of the stochastic gradients along the run, and
the last iterate: Theorem 1, for full participation. It is a control: nothing is known to be wrong with it.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import Gamma, equal, last_gap, mu_each, offset, strongly_convex, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Definition, Theorem

T, K, m, eta, L, sigma_l, S2 = s.T, s.K, s.m, s.eta, s.L, s.sigma_l, s.S2
mu = mu_each

PAPER = Paper(
    "FedAvg on strongly convex functions",
    "Li et al. 2020, FedAvg on non-IID data",
    letters={
        "m": "N",
        "K": "E",
        "S2": "G^2",
        "sigma_l": r"\sigma",
        "mu_each": r"\mu",
        "x_star_sq": r"\Delta_1",
    },
    provenance=(
        "ICLR 2020 (arXiv:1907.02189), a public copy of its text, Section 3: Assumptions 1 to 4, Theorem 1, "
        "equations (4) and (5). Not entered: Theorems 2 and 3, whose sampled clients are numbers here, not "
        "shares; Theorem 4, in Omega(.); text not at hand: the appendix with the proofs"
    ),
)

kappa, gamma = sp.symbols("kappa gamma_1", positive=True)
steps = K * T
"""T - 1 in the paper, whose T is the index of the last iterate, and whose first is w_1."""


def theorem_1() -> Theorem:
    r"""kappa/(gamma+T-1) (2B/mu + mu gamma E||w_1 - w*||^2/2), B = sigma^2/N + 6 L Gamma + 8 (E-1)^2 G^2."""
    noise, heterogeneity, drift = sigma_l**2 / m, 6 * L * Gamma, 8 * (K - 1) ** 2 * S2
    share = 2 * kappa / (mu * (gamma + steps))
    first = 2 / (mu * (gamma + 1))
    return Theorem(
        key="li2020.theorem_1",
        variant="printed",
        kind="theorem",
        title="FedAvg with decreasing steps on strongly convex functions",
        source=f"{PAPER.citation}, Theorem 1",
        lhs=last_gap(r"\mathbb{E}[F(w_T)]-F^*"),
        parts={
            "optimization": kappa * mu * gamma * x_star_sq / (2 * (gamma + steps)),
            "noise": share * noise,
            "heterogeneity": share * heterogeneity,
            "drift": share * drift,
        },
        definitions=(
            Definition(kappa, L / mu, r"\kappa", "condition number"),
            Definition(gamma, sp.Max(8 * kappa, K), r"\gamma", "offset of the steps"),
        ),
        conditions=(
            *strongly_convex(mu, L),
            *equal("eta = 2/(mu (gamma + 1))", eta, first),
            *equal("gamma + 1 = the steps' offset", offset, gamma + 1),
        ),
        assumptions=(
            r"every $f_i$ is strongly convex with $\mu$ and smooth with $L$",
            r"$\mathbb{E}\|\nabla F_i(y; \xi)\|^2 \le G^2$ for every client at every point of the run",
        ),
        scope=Scope(("FedAvg",), "none", common_start=True),
        remark="Steps are counted from w_1, whose step has eta_1 = 2/(mu (gamma + 1)), and rounds of E "
        "steps from there, equal weights p_k = 1/N: T rounds of K steps end at w_(K T + 1). The assumptions "
        "meet along a run only: no strongly convex function has bounded gradients everywhere",
    )


def statements() -> tuple[Theorem, ...]:
    """Theorem 1."""
    return (theorem_1(),)


__all__ = ["PAPER", "statements"]
