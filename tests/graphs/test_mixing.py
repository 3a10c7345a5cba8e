"""The number of rounds for a given contraction agrees with its definition by powers of
W.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.testing import mixing_matrices


@given(mixing_matrices(min_m=2, max_m=8), st.sampled_from([0.5, 0.25, 0.01]))
def test_mixing_rounds_are_the_first_within_epsilon(W, epsilon):
    gap = graphs.spectral_gap(W)
    assume(gap >= 0.01)
    rounds, near = graphs.mixing_rounds(gap, epsilon), epsilon * (1 + 1e-9)

    # never increases with t, because ||W|| = 1: two rounds determine the first
    def distance(t):
        return np.linalg.norm(np.linalg.matrix_power(W, t) - 1 / len(W), 2)

    assert distance(rounds) <= near
    assert rounds == 1 or distance(rounds - 1) > near


def test_mixing_rounds_by_name_and_at_the_ends():
    # lambda = 2/3 on the ring of 6: (2/3)^3 > 1/4 >= (2/3)^4
    assert graphs.mixing_rounds(graphs.spectral_gap("ring", m=6)) == 4
    assert graphs.mixing_rounds(graphs.spectral_gap("complete", m=9)) == 1
    rounds = graphs.mixing_rounds(graphs.spectral_gap("ring", m=10**6))
    assert rounds == pytest.approx(math.log(4) * 3 * 1e12 / (4 * math.pi**2), rel=1e-6)
    assert graphs.mixing_rounds(0) == math.inf
