"""The smallest bound over step sizes does not depend on the units of f and x."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfltheory import bounds
from dfltheory.best_bounds import best_bounds, first_nonvacuous_horizon
from dfltheory.checks.everyday import everyday
from dfltheory.step_scales import step_scales

SCALES = st.floats(-15, 15).map(lambda power: 10.0**power)
THEOREMS = [
    theorem
    for theorem in bounds.statements()
    if theorem.kind == "theorem"
    and theorem.variant.startswith("corrected")  # printed ones may mix units
    and not theorem.order
    and 1 <= len(theorem.step_names) <= 2
    and theorem.lhs.measure == "grad_norm_sq"
    and not any(quantity.of for quantity in theorem.quantities)
][:6]


def in_units(theorem, c, s, r, **changes):
    """Return typical constants with f in units of c, x of s and v of r."""
    names = [name for name in theorem.needs if name not in theorem.step_names]
    values = everyday(names, theorem.glossary) | {"T": 1e4} | changes
    for name in names:
        unit = theorem.glossary[name].unit
        values[name] *= c ** float(unit.f) * s ** float(unit.x) * r ** float(unit.v)
    return {name: values[name] for name in names}


@pytest.mark.parametrize("theorem", THEOREMS, ids=str)
@given(c=SCALES, s=SCALES)
@settings(max_examples=8, deadline=None)
def test_the_least_bound_is_the_same_in_all_units(theorem, c, s):
    here = best_bounds(theorem, in_units(theorem, 1.0, 1.0, 1.0))[0]
    there = best_bounds(theorem, in_units(theorem, c, s, s))[0]
    np.testing.assert_allclose(there / (c / s) ** 2, here, rtol=1e-9)


@pytest.mark.parametrize("L", [1e-8, 1e15, 3.0])
def test_the_largest_admissible_step_is_found_whatever_the_smoothness(L):
    theorem = next(t for t in THEOREMS if t.step_names == ("eta",))
    values = in_units(theorem, 1.0, 1.0, 1.0)
    reference = best_bounds(theorem, values)[1]["eta"] * values["L"]
    scaled = in_units(theorem, 1.0, L**-0.5, L**-0.5)
    assert scaled["L"] == pytest.approx(L)
    eta = best_bounds(theorem, scaled)[1]["eta"]
    np.testing.assert_allclose(eta * L, reference, rtol=1e-9)


def test_the_first_useful_round_is_the_same_in_all_units():
    theorem = THEOREMS[0]
    rounds = []
    for c, s in ((1.0, 1.0), (1e-9, 1e4), (1e12, 1e-3)):
        values = in_units(theorem, c, s, s)
        del values["T"]
        rounds.append(first_nonvacuous_horizon(theorem, values))
    assert rounds[0] == rounds[1] == rounds[2]


def test_scales_follow_from_the_constants_that_are_known():
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    scales = step_scales(theorem, {"L": 4.0, "f0_gap": 9.0, "sigma_l": 7.0})
    assert scales["eta"] == pytest.approx(1 / 4)
    without_gap = step_scales(theorem, {"L": 4.0, "f0_gap": 0.0, "sigma_l": 6.0})
    assert without_gap["eta"] == pytest.approx(1 / 4)
    many = step_scales(theorem, {"L": np.array([1.0, 4.0]), "m": 5})
    np.testing.assert_allclose(many["eta"], [1, 1 / 4])
    assert step_scales(theorem, {"m": 5})["eta"] == pytest.approx(1)
