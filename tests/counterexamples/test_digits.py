"""Conversion of fractions to text of any length."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.counterexamples.digits import about, all_digits, short_fraction

HUGE = 7**9000


@given(st.fractions())
def test_whole_is_str_where_that_has_an_answer(value):
    assert all_digits(value) == short_fraction(value) == str(value)
    assert float(about(value, 17)) == float(value)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "value", [Fraction(HUGE), Fraction(-1, HUGE), Fraction(HUGE, HUGE + 1)]
)
def test_whole_numbers_keep_every_digit(value):
    parts_of_text = all_digits(value).split("/")
    read = [
        sum(int(d) * 10**k for k, d in enumerate(reversed(n.lstrip("-"))))
        for n in parts_of_text
    ]
    assert read == [abs(value.numerator), value.denominator][: len(read)]
    assert short_fraction(value).endswith("...")
    assert len(short_fraction(value)) < 40


def test_beyond_the_floats_there_is_an_exponent():
    assert about(Fraction(10) ** 400, 3) in ("1.0e+400", "1.00e+400", "1e+400")
