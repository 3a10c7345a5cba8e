"""Constants as printed in the papers, next to the computed ones."""

import math
from pathlib import Path

import pytest

from dfltheory import graphs
from dfltheory.errors import InputError, UnknownNameError
from validation.printed_constants import KEY, page, remark_1_q, table1

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "m", "stated"),
    [
        ("complete", 20, 1),
        ("disconnected", 20, 0),
        ("ring", 20, 16 * math.pi**2 / (3 * 400)),
        ("grid", 16, 1 / 64),  # 1/(16 * 4)
        ("directed_exponential", 16, 2 / 5),
    ],
)
def test_table_1_as_stated(name, m, stated):
    row = table1(name, m)
    assert row.stated == pytest.approx(stated)
    if name != "disconnected":
        assert row.true == graphs.spectral_gap(name, m=m)


@pytest.mark.parametrize(
    ("long", "exponents"),
    [(500, (2, 4)), pytest.param(10_000, (4, 7), marks=pytest.mark.slow)],
)
def test_what_the_table_gets_right_and_wrong(long, exponents):
    assert table1("complete", 30).ratio == pytest.approx(1)
    assert table1("directed_exponential", 64).ratio == pytest.approx(1)
    # the ring's gap with weights 1/3 tends to 4 pi^2/(3 m^2); the stated one is 4 times
    # too large
    assert table1("ring", long).ratio == pytest.approx(4, rel=100 / long**2)
    # the grid's gap falls like 1/m, not like 1/(m log m): the stated order is too small
    # by a factor log m
    few, many = (table1("grid", 4**k) for k in exponents)
    assert many.ratio < few.ratio
    assert math.isnan(table1("disconnected", 4).ratio)
    with pytest.raises(UnknownNameError, match="row of Table 1"):
        table1("starfish", 5)


def test_stated_gaps_are_next_to_computed_ones():
    ring = table1("ring", 64)
    assert ring.true == pytest.approx(
        2 / 3 * (1 - math.cos(2 * math.pi / 64)), rel=1e-12
    )
    assert "| ring | 64 |" in page()
    assert (DOCS / "reproduce" / f"{KEY}.md").read_text() == page()


def test_one_client_has_no_gap_of_a_grid():
    assert table1("grid", 1).stated == math.inf


def test_q_of_remark_1_by_hand():
    assert remark_1_q(3, 2, 0.5) == pytest.approx((1 - 0.5**6) ** (1 / 7))
    with pytest.raises(InputError, match="a = 1"):
        remark_1_q(3, 2, 1)
