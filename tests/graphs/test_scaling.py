"""Table 1 beside the truth, and scaling exponents."""

import math

import pytest

from dfltheory import graphs
from dfltheory.errors import InputError, UnknownNameError


@pytest.mark.parametrize(
    ("name", "m", "stated"),
    [
        ("complete", 20, 1),
        ("disconnected", 20, 0),
        ("ring", 20, 16 * math.pi**2 / (3 * 400)),
        ("grid", 16, 1 / 64),  # 1/(16 * 4)
        ("torus", 16, 1 / 64),
        ("exponential", 16, 2 / 5),
        ("directed-exponential", 16, 2 / 5),
    ],
)
def test_table_1_as_stated(name, m, stated):
    row = graphs.table1(name, m)
    assert row.stated == pytest.approx(stated)
    assert f"{row.stated:.6g}" in str(row)
    if name != "disconnected":
        assert row.true == graphs.spectral_gap(name, m=m)


def test_what_the_table_gets_right_and_wrong():
    assert graphs.table1("complete", 30).ratio == pytest.approx(1)
    assert graphs.table1("directed_exponential", 64).ratio == pytest.approx(1)
    # the ring's gap with weights 1/3 tends to 4 pi^2/(3 m^2): the stated one is 4 times too large
    assert graphs.table1("ring", 10_000).ratio == pytest.approx(4, rel=1e-6)
    # the grid's gap falls like 1/m, not like 1/(m log m): the stated order is too small by a factor log m
    few, many = (graphs.table1("grid", 4**k, "max_degree") for k in (4, 9))
    assert many.ratio < few.ratio
    assert math.isnan(graphs.table1("disconnected", 4).ratio)
    assert graphs.table1("ring", 12, "lazy").true == pytest.approx(graphs.table1("ring", 12).true / 2)
    assert "O(1 / (m log2 m))" in str(graphs.table1("grid", 9))
    with pytest.raises(UnknownNameError, match="row of Table 1"):
        graphs.table1("starfish", 5)


def test_a_number_is_not_stated_twice():
    assert graphs.table1("complete", 5).stated_text == "= 1"
    assert graphs.table1("exponential", 16).stated_text == "= 2 / (1 + log2 m) = 0.4"


def test_a_gap_that_does_not_fall_has_the_exponent_zero_without_a_sign():
    flat = graphs.gap_scaling("complete", [4, 8]).exponent
    assert (flat, math.copysign(1, flat)) == (0, 1)


def test_exponents():
    sizes = [10**k for k in range(3, 7)]
    assert graphs.gap_scaling("ring", sizes).exponent == pytest.approx(2, abs=1e-4)
    assert graphs.gap_scaling("path", sizes).exponent == pytest.approx(2, abs=1e-4)
    assert graphs.gap_scaling("torus", [4**k for k in range(5, 10)]).exponent == pytest.approx(1, abs=1e-2)
    assert graphs.gap_scaling("star", sizes).exponent == pytest.approx(1, abs=1e-9)
    flat = graphs.gap_scaling("directed_exponential", [2**k for k in range(4, 17)])
    assert 0 < flat.exponent < 0.2
    assert flat.residual > 0.01  # no power of m
    assert graphs.gap_scaling("ring", sizes).residual < 1e-4
    assert graphs.gap_scaling("ring", [8, 16], "lazy").weights == "lazy"
    with pytest.raises(InputError, match="at least two different"):
        graphs.gap_scaling("ring", [8, 8])
