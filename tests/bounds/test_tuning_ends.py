"""Step sizes at the limits of floating point give an error message of the package,
never one of scipy or numpy.
"""

from dataclasses import replace

import numpy as np
import pytest

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.errors import ConditionError, InputError

VALUES = {"L": 2, "K": 5, "T": 1000, "Q": 1, "m": 16, "rho": 0.01, "lam": 0.8}
VALUES |= {"sigma_l": 1, "sigma_g": 1, "f0_gap": 1}
THEOREM = bounds.get("dfedsam.theorem_4_5", "corrected")


@pytest.mark.parametrize("change", [{"L": np.inf}, {"L": 5e-324}, {"f0_gap": np.nan}])
def test_where_no_step_is_admissible_one_line_says_so(change):
    with pytest.raises((ConditionError, InputError)) as caught:
        THEOREM.best_step(**VALUES | change)
    assert "\n" not in str(caught.value)


def test_a_bound_that_is_a_number_nowhere_has_no_best_step(monkeypatch):
    monkeypatch.setattr(
        type(THEOREM), "evaluate", lambda *_, **given: np.nan * given["eta"]
    )
    with pytest.raises(ConditionError, match=r"\beta\b"):
        THEOREM.best_step(**VALUES)


def test_several_values_of_a_quantity_are_refused():
    with pytest.raises(InputError, match=r"\blam\b"):
        THEOREM.best_step(**VALUES | {"lam": [0.1, 0.8]})
    with pytest.raises(InputError, match=r"\bK\b"):
        bounds.admissible_steps(THEOREM, **VALUES | {"K": np.array([1, 5])})


def test_infinite_terms_have_no_shares_and_say_so():
    with pytest.raises(InputError, match="T = 1"):
        bounds.dominance(THEOREM, "T", [1, 10], **VALUES | {"eta": 0.001, "K": 1e300})


def test_shares_add_up_to_one_also_where_the_terms_add_up_to_no_number():
    two = replace(
        THEOREM, parts={"less": 11 * s.f0_gap / s.T, "more": 12 * s.f0_gap / s.T}
    )
    for gap in (1, 1e307, 0):
        (found,) = bounds.dominance(
            two, "T", [1], **VALUES | {"eta": 0.001, "f0_gap": gap}
        )
        shares = ("more", pytest.approx(12 / 23)) if gap else ("less", 0.0)
        assert (found.term, found.share_low) == (found.term, found.share_high) == shares
