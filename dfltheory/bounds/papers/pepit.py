"""Gradient descent and one step of SGD as PEPit's library of worked examples states them: controls.

PEPit computes worst cases as semidefinite programs. Its examples give, beside the statements, values that
were computed: 0.266667 (f(x_0) - f(x_n)) for smooth functions at gamma = 1/L and n = 5, which is 4 L/(3 n);
0.166667 ||x_0 - x_*||^2 for convex ones at L = 3, gamma = 1/L and n = 4, which is L/(4 n + 2).
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import EXACT, convex, last_gap, mu, mu_each, sigma_star, x_star_sq
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import LENGTH_SQ
from dfltheory.bounds.theorem import Condition, LeftSide, Theorem

T, eta, L, f0_gap = s.T, s.eta, s.L, s.f0_gap
R = sp.Rational

PAPER = Paper(
    "Gradient descent, by PEPit",
    "Goujaud et al. 2024, PEPit",
    letters={"T": "n", "eta": r"\gamma", "sigma_star": "v", "mu_each": r"\mu"},
    provenance=(
        "PEPit/examples/nonconvex_optimization/gradient_descent.py of "
        "https://github.com/PerformanceEstimation/PEPit (MIT), commit 04a9f068a187, its docstring's "
        "'Theoretical guarantee' and 'Example'; unconstrained_convex_minimization/gradient_descent.py and "
        "stochastic_and_randomized_convex_minimization/sgd.py there, commit 27dbd73f26a8. Not entered, text "
        "not at hand: what the docstrings refer to, Taylor 2017, page 190, Abbaszadehpeivasti, de Klerk and "
        "Zamani 2021 (arXiv:2104.05468), and Drori and Teboulle 2014, Theorem 3.1"
    ),
)


def gradient_descent(variant: str = "printed") -> Theorem:
    """min over t <= n of ||grad f(x_t)||^2 <= (4/3) (L/n) (f(x_0) - f(x_n)), gamma <= 1/L; or gamma = 1/L."""
    steps = [Condition("gamma <= 1/L", L * eta, sp.S.One)]
    if variant == "example":
        steps = [Condition("gamma >= 1/L", 1 / L, eta), Condition("gamma <= 1/L", eta, 1 / L)]
    return Theorem(
        key="pepit.gradient_descent",
        variant=variant,
        kind="theorem",
        title="Gradient descent on smooth functions",
        source=f"{PAPER.citation}, examples/nonconvex_optimization/gradient_descent.py",
        lhs=LeftSide(
            "grad_norm_sq",
            r"\min_{t\le n}\|\nabla f(x_t)\|^2",
            "min",
            last=T,
            averaging="least of the rounds 0..n",
        ),
        parts={"optimization": R(4, 3) * L / T * f0_gap},
        scope=Scope(("FedAvg",), "none", common_start=True),
        conditions=(*steps, EXACT),
        remark="f(x_0) - f* stands for f(x_0) - f(x_n), which is no larger; the server's round with K = 1 is "
        "one step of gradient descent on f. The docstring says it for every gamma <= 1/L, its example "
        "computes gamma = 1/L; for small gamma nothing moves, and a bound without gamma cannot hold",
    )


def convex_descent() -> Theorem:
    """f(x_n) - f_* <= L/(4 n L gamma + 2) ||x_0 - x_*||^2, gamma <= 1/L; tight on some Huber losses."""
    return Theorem(
        key="pepit.gradient_descent_convex",
        variant="printed",
        kind="theorem",
        title="Gradient descent on convex functions",
        source=f"{PAPER.citation}, examples/unconstrained_convex_minimization/gradient_descent.py",
        lhs=last_gap(r"f(x_n)-f_\star"),
        parts={"optimization": L / (4 * T * L * eta + 2) * x_star_sq},
        scope=Scope(("FedAvg",), "none", common_start=True),
        conditions=(Condition("gamma <= 1/L", L * eta, sp.S.One), convex(mu, L), EXACT),
        remark="the server's round with K = 1 is one step of gradient descent on f",
    )


def sgd() -> Theorem:
    """E||x_1 - x_*||^2 <= (gamma (L - mu)/2 R + sqrt((1 - gamma (L + mu)/2)^2 R^2 + gamma^2 v^2))^2."""
    R_sq, across = x_star_sq, eta * (L - mu_each) / 2
    along = sp.sqrt((1 - eta * (L + mu_each) / 2) ** 2 * R_sq + eta**2 * sigma_star**2)
    return Theorem(
        key="pepit.sgd",
        variant="printed",
        kind="theorem",
        title="One step of SGD on clients that are convex",
        source=f"{PAPER.citation}, examples/stochastic_and_randomized_convex_minimization/sgd.py",
        lhs=LeftSide(
            "dist_sq", r"\mathbb{E}\|x_1-x_\star\|^2", "last", last=sp.S.One, unit=LENGTH_SQ,
            averaging="after the first round",
        ),
        parts={"both": (across * sp.sqrt(R_sq) + along) ** 2},
        scope=Scope(("FedAvg",), "none", common_start=True, participation="sampled"),
        conditions=(convex(mu_each, L), EXACT),
        remark="The index i that is picked is here a client that is sampled; of several that are sampled the "
        "mean is at most as far off in the mean, as the squared norm is convex",
    )  # fmt: skip


def statements() -> tuple[Theorem, ...]:
    """Smooth functions as the docstring's guarantee has it, and at the step of its example; convex ones."""
    return gradient_descent(), gradient_descent("example"), convex_descent(), sgd()


__all__ = ["PAPER", "statements"]
