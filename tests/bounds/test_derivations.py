"""Declared steps of proofs: what they give, what they cite, and the points at which they are checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.checks.derivations import check_step
from dfltheory.bounds.regions import admissible, pushed
from dfltheory.bounds.steps import Step, Telescope, inherited
from dfltheory.bounds.theorem import Condition

THEOREM_A = "dfedsam.theorem_4_5"
ROUNDED = Step(f"{THEOREM_A}:corrected", "constants rounded up", f"{THEOREM_A}:corrected_sharper")


def errors(step, theorem=None):
    return [finding.message for finding in check_step(step, theorem) if finding.severity == "error"]


def test_a_step_to_larger_constants_is_right_and_one_to_half_of_a_term_is_not():
    assert errors(ROUNDED) == []
    theorem = ROUNDED.theorem
    half = replace(theorem, parts={**theorem.parts, "drift": theorem.parts["drift"] / 2})
    assert errors(ROUNDED, half)


def test_the_conditions_of_what_is_cited_must_be_those_of_the_citing_statement():
    free = replace(ROUNDED.theorem, conditions=ROUNDED.theorem.conditions[1:])
    assert any("needs a condition" in message for message in errors(ROUNDED, free))
    assert "demands eta <= 1/(8 K L)" in str(inherited(f"{THEOREM_A}:corrected"))


def test_a_theorem_cited_without_sam_says_nothing_of_sam():
    step = Step("dfedmdc.theorem_2:corrected", "the same", "dfedmdc.theorem_1:corrected")
    assert any("rho = 0" in message for message in errors(step))


def test_windows_that_decay_are_summed_over_the_rounds():
    windows = s.q ** (2 * sp.floor(s.t / s.window)) * s.x0_sq - s.G_bar
    mean = Telescope({"G_bar": sp.S.One}).apply(windows)
    assert sp.simplify(mean - (s.f0_gap + s.x0_sq * s.window / (1 - s.q**2)) / s.T) == 0


def test_windows_of_rounds_sum_to_what_stands_for_them():
    for q, B, T in ((0.3, 4, 400), (0.0, 3, 300), (0.9, 1, 3000)):
        square = sum(q ** (2 * (t // B)) for t in range(T))
        assert square == pytest.approx(B / (1 - q**2), rel=1e-9)
        assert sum(q ** (t // B) for t in range(1, T)) == pytest.approx((B - 1 + q) / (1 - q), rel=1e-9)


def test_points_are_pushed_to_where_a_condition_is_used_up():
    half = (Condition("eta <= 1/(2 L)", 2 * s.eta * s.L, sp.Integer(1)),)
    points = admissible({"eta", "L", "T"}, half, 50, np.random.default_rng(0))
    moved = pushed(points, half)
    np.testing.assert_allclose(moved["eta"], 1 / (2 * points["L"]), rtol=1e-12)
    np.testing.assert_array_equal(moved["T"], points["T"])
    late = (Condition("T >= 64 K", 64 * s.K, s.T),)
    corollary = pushed({"K": np.array([2.0]), "T": np.array([1e6])}, late)
    np.testing.assert_allclose(corollary["T"], 128, rtol=1e-12)
    assert pushed({"eta": np.ones(2)}, ()) == {"eta": pytest.approx(np.ones(2))}
