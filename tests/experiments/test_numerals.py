"""Number formatting, which never shows 1 for a ratio different from 1."""

import math

import pytest

from dfltheory.counterexamples.certificate import four_digits as four
from dfltheory.number_format import format_number, tex


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.012345, "0.0123"),
        (123456.0, "1.23e+05"),
        (1, "1"),
        (0.9996, "0.9996"),
        (1.003, "1.003"),
        (0.994, "0.994"),
        (math.inf, "inf"),
        (None, "–"),
        (math.nan, "–"),
        (-1.0, "-1"),
        (0.0, "0"),
    ],
)
def test_three_digits(value, expected):
    assert format_number(value) == expected


def test_other_digits_and_other_words():
    assert format_number(0.12345, 2) == "0.12"
    assert format_number(0.996, 2) == "0.996"
    assert format_number(None, nothing="") == ""
    assert four(0.123456) == "0.1235"
    assert four(math.nan) == "none"
    assert (tex(1.234e-5), tex(0.5), tex(math.inf)) == (
        r"1.23 \cdot 10^{-5}",
        "0.5",
        r"\infty",
    )
