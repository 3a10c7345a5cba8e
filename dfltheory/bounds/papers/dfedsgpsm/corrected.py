"""DFedSGPSM re-derived: Theorem A under bounded gradients, where every round contracts and where only windows
do, Theorem B without bounded gradients, the printed theorem's minimal repair, and Corollary A."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import sympy as sp
from sympy import sqrt

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsgpsm import printed
from dfltheory.bounds.papers.dfedsgpsm.momentum import (
    AT,
    AT_BEFORE,
    DBAR,
    SUM_C2,
    at,
    at_before,
    dbar,
    sum_c2,
)
from dfltheory.bounds.theorem import Condition, Definition, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.constants import FRESH_ROUND, FRESH_STEP

L, K, T, m, eta, rho, rho0 = s.L, s.K, s.T, s.m, s.eta, s.rho, s.rho0
sigma_l, sigma_g, B, f0 = s.sigma_l, s.sigma_g, s.B, s.f0_gap
delta, q, window, x0_sq, x0_spread = s.delta, s.q, s.window, s.x0_sq, s.x0_spread
R = sp.Rational
G = sp.Symbol("G", nonnegative=True)
RE_DERIVED = replace(
    printed.SCOPE,
    sequence=("fixed", "periodic", FRESH_STEP, FRESH_ROUND, "any"),
    samplewise=True,
)
"""q and delta are the worst of all rounds, along each path, so that it does not matter how P^t arises."""
RE_DERIVED_WINDOWS = replace(RE_DERIVED, sequence=printed.SCOPE.sequence)
theorem = partial(printed.theorem, scope=RE_DERIVED)
corollary = partial(printed.corollary, scope=RE_DERIVED)


CORRECTED_ASSUMPTIONS = (
    "$f$ is bounded below by $f^*$",
    r"$P^t$ column-stochastic with least push-sum weight $\delta$ and one-step contraction $q < 1$ (in the "
    "norm weighted by the push-sum weights)",
    r"every $f_i$ is $L$-smooth; if $\rho > 0$, so is $F_i(\cdot\,; \xi)$ for almost every $\xi$",
    r"fresh unbiased samples, independent over clients, steps and rounds, with variance at most $\sigma_l^2$",
)


BOUNDED = r"$(1/n) \sum_i \mathbb{E}\|\nabla f_i(z_{i,s}^t)\|^2 \le B^2$ for all $s$ and $t$"


DIVERSITY = r"$(1/n) \sum_i \|\nabla f_i(x) - \nabla f(x)\|^2 \le \sigma_g^2$ for all $x$"


WINDOWS = (
    r"$P^t$ column-stochastic with least push-sum weight $\delta$; products over $B_w$ rounds contract by "
    "$q < 1$ (in the norm weighted by the push-sum weights)"
)


WINDOW_ASSUMPTIONS = (CORRECTED_ASSUMPTIONS[0], WINDOWS, *CORRECTED_ASSUMPTIONS[2:])


G_DEFINITION = Definition(G, sqrt(B**2 + sigma_l**2) + L * rho, "G", "second moment of a SAM gradient, root")


ONE_STEP: tuple[Expr, Expr] = (q / (1 - q), 1 / (1 - q**2))
"""The sums of q^t and of q^(2t) over t >= 1 and t >= 0, where every round contracts."""


PER_WINDOW: tuple[Expr, Expr] = ((window - 1 + q) / (1 - q), window / (1 - q**2))
"""The same of q^floor(t/window), where only windows contract. The root q^(1/window) in ``ONE_STEP`` would be
too small: for q = 0 it says that one round averages exactly."""


def corrected() -> tuple[Theorem, ...]:
    """Theorem A, the same where only windows of rounds contract, and with its last three terms under one
    square."""
    step = Condition("eta L at <= 1/2", 2 * eta * L * at, sp.Integer(1))
    first = {
        "optimization": 2 * f0 / (T * eta * at),
        "noise": 2 * L * eta * sum_c2 * sigma_l**2 / (m * at),
    }
    together = (
        rho
        + eta * dbar * G / delta
        + sqrt(x0_spread / (delta * T * (1 - q**2)))
        + eta * at * G * q / (delta * (1 - q))
    )
    common = {"conditions": (step,), "assumptions": (*CORRECTED_ASSUMPTIONS, BOUNDED)}

    def bounded(
        variant: str, title: str, source: str, sums: tuple[Expr, Expr], *assumed: str, **more: Any
    ) -> Theorem:
        return theorem(
            variant,
            f"Convergence of DFedSGPSM under bounded gradients{title}, re-derived",
            f"Theorem 1 re-derived (Theorem A{source})",
            definitions=(AT, AT_BEFORE, SUM_C2, G_DEFINITION),
            parts={
                **first,
                "drift": 3 * L**2 * eta**2 * at_before**2 * G**2 / delta**2,
                "initialization": 3 * L**2 * 2 * x0_spread * sums[1] / (delta * T),
                "consensus": 3 * L**2 * 2 * eta**2 * at**2 * G**2 * sums[0] ** 2 / delta**2,
                "sharpness": 3 * L**2 * rho**2,
            },
            conditions=(step,),
            assumptions=(*assumed, BOUNDED),
            **more,
        )

    return (
        bounded("corrected", "", "", ONE_STEP, *CORRECTED_ASSUMPTIONS),
        bounded(
            "corrected_windows",
            " where only windows of rounds contract",
            " with windows",
            PER_WINDOW,
            *WINDOW_ASSUMPTIONS,
            scope=RE_DERIVED_WINDOWS,
        ),
        theorem(
            "corrected_sharper",
            "Convergence of DFedSGPSM under bounded gradients, re-derived, last terms together",
            "Theorem 1 re-derived (Theorem A, sharper)",
            definitions=(AT, SUM_C2, DBAR, G_DEFINITION),
            parts={**first, "drift, consensus and sharpness": L**2 * together**2},
            **common,
        ),
    )


def corrected_b() -> Theorem:
    """Theorem B: no bounded gradients. Its recursion is of one round, and windows have no form of it."""
    size = sigma_g + sigma_l + L * rho
    return theorem(
        "corrected_b",
        "Convergence of DFedSGPSM without bounded gradients, re-derived",
        "Theorem 1 re-derived (Theorem B)",
        definitions=(AT, SUM_C2),
        parts={
            "optimization": 4 * f0 / (T * eta * at),
            "noise": 4 * L * eta * sum_c2 * sigma_l**2 / (m * at),
            "initialization": 17 * L**2 * x0_spread / (delta * T * (1 - q)),
            "drift and consensus": (eta * L * at / delta) ** 2 * (96 + 390 * q**2 / (1 - q) ** 2) * size**2,
            "sharpness": 6 * L**2 * rho**2,
        },
        conditions=(Condition("24 eta L at/delta <= 1 - q", 24 * eta * L * at / delta, 1 - q),),
        assumptions=(*CORRECTED_ASSUMPTIONS, DIVERSITY),
        scope=replace(RE_DERIVED, bounded_gradients=False),
    )


def corrected_minimal() -> Theorem:
    """The printed theorem with as little changed as makes it true."""
    return theorem(
        "corrected_minimal",
        "Convergence of DFedSGPSM, the appendix' bound with its least repair",
        "Theorem 1 repaired (C = 1/delta; the drift term is not needed)",
        definitions=(AT, G_DEFINITION),
        parts={
            "optimization": 2 * f0 / (T * at * eta),
            "noise": L * eta * at * sigma_l**2,
            "initialization": 6 * L**2 * x0_sq / (delta**2 * T * (1 - q**2)),
            "consensus": 6 * L**2 * eta**2 * at**2 * G**2 / (delta**2 * (1 - q) ** 2),
            "sharpness": 3 * L**2 * rho**2,
        },
        conditions=(Condition("m >= 2", sp.Integer(2), m),),
        assumptions=(*CORRECTED_ASSUMPTIONS, BOUNDED),
    )


def corrected_corollaries() -> tuple[Theorem, ...]:
    """Corollary A, and where only windows of rounds contract."""
    radius = Definition(
        G, sqrt(B**2 + sigma_l**2) + L * rho0 / sqrt(T), "G", "second moment of a SAM gradient, root"
    )

    def bounded(
        variant: str, title: str, source: str, sums: tuple[Expr, Expr], *assumed: str, **more: Any
    ) -> Theorem:
        return corollary(
            variant,
            f"Rate of DFedSGPSM under bounded gradients{title}, re-derived",
            f"Corollary 1 re-derived (Corollary A{source})",
            {
                "optimization": 2 * L * K * f0 / (at * sqrt(T)),
                "noise": 2 * sum_c2 * sigma_l**2 / (m * at * K * sqrt(T)),
                "drift": 3 * (at_before / K) ** 2 * G**2 / delta**2 / T,
                "initialization": 6 * L**2 * x0_spread * sums[1] / delta / T,
                "consensus": 6 * (at / K) ** 2 * G**2 * sums[0] ** 2 / delta**2 / T,
                "sharpness": 3 * L**2 * rho0**2 / T,
            },
            definitions=(AT, AT_BEFORE, SUM_C2, radius),
            conditions=(Condition("T >= 4 (at/K)^2", 4 * (at / K) ** 2, T),),
            assumptions=(*assumed, BOUNDED),
            **more,
        )

    return (
        bounded("corrected", "", "", ONE_STEP, *CORRECTED_ASSUMPTIONS),
        bounded(
            "corrected_windows",
            " where only windows of rounds contract",
            " with windows",
            PER_WINDOW,
            *WINDOW_ASSUMPTIONS,
            scope=RE_DERIVED_WINDOWS,
        ),
    )


def corrected_b_sharper() -> Theorem:
    """Theorem B by Minkowski's inequality over clients and rounds; squared once, with weights.

    With r(.) the root mean square over t < T and th = eta L at/delta <= (1-q)/24: the drift d obeys
    L d <= th/(1-th) (L k + g + s), and the consensus L k' <= q/(1-th) L k + q th/(1-th) (g + s), so that
    r(L k) <= sqrt(24/23) I + (24/23) q th/(1-q) (r(g) + s) with I = L sqrt(x0_spread/(delta T
    (1-q^2))). In the descent r(A - grad f) <= L rho + (24/23) r(L k) + (24/23) th (r(g) + s); r(g) has a
    coefficient of at most (24/23)^2/24 there. Squared with the weights 24^3/23^2/24^2 = 0.0454 for r(g)
    and 0.3183, 0.3182, 0.1589, 0.1577 for L rho, I, th s and q th s/(1-q), which sum to less than 1.
    """
    size = sigma_g + sigma_l + L * rho
    return theorem(
        "corrected_b_sharper",
        "Convergence of DFedSGPSM without bounded gradients, re-derived, smaller constants",
        "Theorem 1 re-derived (Theorem B, sharper)",
        definitions=(AT, SUM_C2),
        parts={
            "optimization": R(21, 10) * s.f0_gap / (T * eta * at),
            "noise": R(21, 10) * L * eta * sum_c2 * sigma_l**2 / (m * at),
            "initialization": R(15, 4) * L**2 * s.x0_spread / (delta * T * (1 - q**2)),
            "drift and consensus": (eta * L * at / delta) ** 2
            * (R(36, 5) + R(79, 10) * q**2 / (1 - q) ** 2)
            * size**2,
            "sharpness": R(33, 10) * L**2 * rho**2,
        },
        conditions=(Condition("24 eta L at/delta <= 1 - q", 24 * eta * L * at / delta, 1 - q),),
        assumptions=(*CORRECTED_ASSUMPTIONS, DIVERSITY),
        scope=replace(RE_DERIVED, bounded_gradients=False),
    )


def statements() -> tuple[Theorem, ...]:
    """Theorems A and B, the minimal repair, and Corollary A."""
    return (
        *corrected(),
        corrected_b(),
        corrected_b_sharper(),
        corrected_minimal(),
        *corrected_corollaries(),
    )


__all__ = ["statements"]
