"""Ranges of numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.errors import InputError
from dfltheory.number_ranges import COUNT, NONNEGATIVE, POSITIVE, NumberRange

ENDS = st.floats(-1e6, 1e6)


@given(
    low=ENDS | st.just(-math.inf),
    length=st.floats(1e-3, 1e6) | st.just(math.inf),
    open_low=st.booleans(),
    open_high=st.booleans(),
    integer=st.booleans(),
)
def test_example_is_in_the_range(low, length, open_low, open_high, integer):
    high = math.inf if math.isinf(low) else low + length
    if integer:
        high += 2  # so that there is an integer between the ends
    allowed = NumberRange(low, high, open_low, open_high, integer)
    assert allowed.example() in allowed
    assert not integer or allowed.example() == int(allowed.example())


@pytest.mark.parametrize(
    ("allowed", "example"), [(POSITIVE, 1e-3), (NONNEGATIVE, 1e-3), (COUNT, 1)]
)
def test_example_is_small_if_the_range_has_small_numbers(allowed, example):
    assert allowed.example() == example


def test_empty_range_has_no_example():
    with pytest.raises(InputError):
        NumberRange(1, 1, open_low=True).example()
