"""Theorems A and B of DFedSGPSM and Corollary A: the algebra of their proofs."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.papers.dfedsgpsm.corrected import ONE_STEP, PER_WINDOW
from dfltheory.bounds.papers.dfedsgpsm.momentum import AT, AT_BEFORE, DBAR, SUM_C2
from dfltheory.bounds.papers.dfedsgpsm.printed import SCHEDULE
from dfltheory.bounds.steps import Average, Given, Operation, Plus, Put, Solve, Step, Telescope, young
from dfltheory.bounds.units import Expr

R = sp.Rational
L, T, m, eta, rho, delta, q = s.L, s.T, s.m, s.eta, s.rho, s.delta, s.q
at, G = AT.expr, sp.sqrt(s.B**2 + s.sigma_l**2) + L * rho
e, key = "dfedsgpsm.", "dfedsgpsm.theorem_1"
step: Expr = eta * at
descent: Expr = -step / 2 * s.G_bar + L * eta**2 * SUM_C2.expr * s.sigma_l**2 / m


square = Given("L/2 times the square of the update is at most half of its inner product", 1 - 2 * L * step)
"""f(x - A - N) <= f(x) - <grad f, A> + (L/2) E||A + N||^2, and ||A + N||^2 <= 2 ||A||^2 + 2 ||N||^2."""


def bounded(consensus: Expr) -> tuple[Operation, ...]:
    """A - grad f(xbar) by three squares: the drift of the local steps, the consensus, and SAM."""
    drift = eta * AT_BEFORE.expr * G / delta
    return (
        square,
        Plus(step / 2 * 3 * L**2 * (drift**2 + rho**2)),
        Plus(consensus, step / 2 * 3 * L**2),
        Telescope({"G_bar": sp.S.One}),
    )


moved: Expr = 2 * eta**2 * AT.expr**2 * G**2 / delta**2
LEMMA_4: Expr = 2 * q ** (2 * s.t) * s.x0_spread / delta + moved * ONE_STEP[0] ** 2
LEMMA_4_WINDOWS: Expr = (
    2 * q ** (2 * sp.floor(s.t / s.window)) * s.x0_spread / delta + moved * PER_WINDOW[0] ** 2
)
"""The consensus error of Lemma 4, re-derived, for rounds and for windows of rounds."""
start: Expr = L * sp.sqrt(s.x0_spread / (delta * T * (1 - q**2)))
together: Expr = L * (rho + eta * DBAR.expr * G / delta + step * G * q / (delta * (1 - q))) + start
turn, size, near = eta * L * at / delta, s.sigma_g + s.sigma_l + L * rho, R(24, 23)
small = Given("24 eta L at/delta <= 1 - q, from which 24/23 is", 1 - q - 24 * turn)
far: Expr = near**2 * q * turn / (1 - q)
unbounded: Expr = (
    2 * s.f0_gap / (T * step)
    + 2 * L * eta * SUM_C2.expr * s.sigma_l**2 / (m * at)
    + young(
        (R(433, 10000), R(3182, 10000), R(3182, 10000), R(1588, 10000), R(1577, 10000)),
        (far + near * turn) ** 2 * s.G_bar,
        (L * rho) ** 2,
        near**3 * start**2,
        (near * turn * size) ** 2,
        (far * size) ** 2,
    )
)

STEPS: tuple[Step, ...] = (
    Step(f"{key}:corrected", "descent, drift, Lemma 4", descent, bounded(LEMMA_4)),
    Step(f"{key}:corrected_windows", "descent, drift, Lemma 4 with windows", descent,
        bounded(LEMMA_4_WINDOWS)),
    Step(f"{key}:corrected_sharper", "descent, Minkowski over rounds", descent,
        (square, Plus(step / 2 * together**2), Telescope({"G_bar": sp.S.One}))),
    Step(f"{key}:corrected_minimal", "Theorem A where eta L at <= 1/2", f"{key}:corrected",
        (Put({"x0_spread": s.x0_sq}),), f"{key}:corrected", otherwise=Step(f"{key}:corrected_minimal",
            "(a + b)^2 <= (3/2) a^2 + 3 b^2 for the gradients at z, below G, and Lemma 4", R(3, 2) * G**2,
            (Plus(LEMMA_4, 3 * L**2), Average(), Put({"x0_spread": s.x0_sq})))),
    Step(f"{key}:corrected_b_sharper", "Minkowski over clients and rounds", unbounded,
        (small, Solve("G_bar"))),
    Step(f"{key}:corrected_b", "with larger constants", f"{key}:corrected_b_sharper"),
    Step(e + "corollary_1:corrected", "Theorem A under its schedule", f"{key}:corrected", (Put(SCHEDULE),)),
    Step(e + "corollary_1:corrected_windows", "Theorem A with windows under its schedule",
        f"{key}:corrected_windows", (Put(SCHEDULE),)),
)  # fmt: skip
