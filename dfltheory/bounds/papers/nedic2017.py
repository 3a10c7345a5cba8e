"""Nedic, Olshevsky and Shi 2017, "Achieving Geometric Convergence ...": DIGing, gradient tracking by name."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import EXACT, last_distance, mu_each, strongly_convex
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Condition, Definition, Theorem

PAPER = Paper(
    "Gradient tracking: DIGing",
    "Nedic et al. 2017, DIGing",
    letters={"m": "n", "eta": r"\alpha", "lam": r"\delta", "mu_each": r"\bar\mu"},
    provenance=(
        "SIAM J. Optim. 2017, arXiv:1607.03218v3, Theorem 10 (page 16), as stated in Lean 4 (without proof) "
        "in DIGing.Undir.theorem_10 with its Setting, envs/0df444a of "
        "https://github.com/prove2me/formalpedia (Apache-2.0), commit cc1b5f740993. Read there too, not "
        "entered: the second case of the step, networks that contract over B > 1 rounds, Theorem 18 "
        "(Push-DIGing), its 'constant C > 0' and Q_1 near n^(nB). Text not at hand: the paper itself"
    ),
)


def theorem_10() -> Theorem:
    """||x(T) - 1 x*'||_F = O(lambda^T), lambda = sqrt(1 - alpha mu/1.5), for small alpha and B = 1."""
    J, kappa = sp.symbols("J_1 kappa", positive=True)
    delta, mu = s.lam, mu_each
    split = (sp.sqrt(J**2 + (1 - delta**2) * J) - delta * J) ** 2 / (J * (J + 1) ** 2)
    return Theorem(
        key="nedic2017.theorem_10",
        variant="printed",
        kind="rate",
        title="Rate of DIGing on strongly convex functions",
        source=f"{PAPER.citation}, Theorem 10, first case, B = 1",
        lhs=last_distance(r"\frac1n\|\mathbf{x}(T)-\mathbf{1}(x^\star)^\top\|_F^2"),
        parts={"optimization": (1 - s.eta * mu / sp.Rational(3, 2)) ** s.T},
        definitions=(
            Definition(kappa, s.L / mu, r"\bar\kappa", "condition number"),
            Definition(J, 3 * kappa * (1 + 4 * sp.sqrt(s.m) * sp.sqrt(kappa)), "J_1"),
        ),
        conditions=(
            Condition("alpha in the first case", mu * s.eta, sp.Rational(3, 2) * split),
            EXACT,
            *strongly_convex(mu, s.L),
        ),
        assumptions=(r"every $f_i$ is strongly convex with $\mu$ and smooth with $L$",),
        scope=Scope(("DSGT",), "symmetric", letters={"order": "combine-then-adapt"}),
        order=True,
        remark="'A constant C > 0 exists': it is not given, and may depend on the run's start",
    )


def statements() -> tuple[Theorem, ...]:
    """The linear rate on undirected networks."""
    return (theorem_10(),)


__all__ = ["PAPER", "statements"]
