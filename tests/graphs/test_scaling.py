"""Scaling exponents of spectral gaps."""

import math

import pytest

from dfltheory import graphs
from dfltheory.errors import InputError


def test_a_gap_that_does_not_fall_has_the_exponent_zero_without_a_sign():
    flat = graphs.gap_scaling("complete", [4, 8]).exponent
    assert (flat, math.copysign(1, flat)) == (0, 1)


def test_exponents():
    sizes = [10**k for k in range(3, 7)]
    assert graphs.gap_scaling("ring", sizes).exponent == pytest.approx(2, abs=1e-4)
    assert graphs.gap_scaling("path", sizes).exponent == pytest.approx(2, abs=1e-4)
    assert graphs.gap_scaling(
        "torus", [4**k for k in range(5, 10)]
    ).exponent == pytest.approx(1, abs=1e-2)
    assert graphs.gap_scaling("star", sizes).exponent == pytest.approx(1, abs=1e-9)
    flat = graphs.gap_scaling("directed_exponential", [2**k for k in range(4, 17)])
    assert 0 < flat.exponent < 0.2
    assert flat.residual > 0.01  # no power of m
    assert graphs.gap_scaling("ring", sizes).residual < 1e-4
    assert graphs.gap_scaling("ring", [8, 16], "lazy").weights == "lazy"
    with pytest.raises(InputError, match="ms"):
        graphs.gap_scaling("ring", [8, 8])


def test_the_default_rule_of_every_directed_topology_is_reported():
    for name in ("directed_ring", "random_out_degree"):  # both complete for m <= 3
        assert graphs.gap_scaling(name, [2, 3]).weights == "column_stochastic"
    assert graphs.gap_scaling("full", [2, 3]).weights == "metropolis"
