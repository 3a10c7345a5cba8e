"""The figure of a bound and its terms over one quantity."""

import numpy as np
import pytest

from dfltheory.errors import InputError
from dfltheory.plots.theorem import terms_over
from tests.verdicts.statements import SMALL_STEPS, SYMBOL, statement

BOUND = 2 * SYMBOL["f0_gap"] / (SYMBOL["eta"] * SYMBOL["T"])
VALUES = {"f0_gap": 3.0, "eta": 0.5, "T": 100.0, "L": 1.0}


def test_curve_is_the_bound_and_forbidden_values_are_gray():
    theorem = statement("grad_norm_sq", "mean", BOUND, conditions=(SMALL_STEPS,))
    (axes,) = terms_over(theorem, "eta", VALUES).axes
    eta, bound = axes.lines[0].get_data()
    np.testing.assert_allclose(bound, 2 * 3.0 / (eta * 100))
    assert eta.min() < 0.5 < 1 < eta.max()
    assert axes.collections  # where eta L > 1


def test_a_bound_that_does_not_contain_the_quantity_is_rejected():
    theorem = statement("grad_norm_sq", "mean", BOUND)
    with pytest.raises(InputError, match="sigma_l"):
        terms_over(theorem, "sigma_l", VALUES | {"sigma_l": 1.0})
