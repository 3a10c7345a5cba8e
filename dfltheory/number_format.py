"""Formatting of numbers for pages, tables and LaTeX."""

from __future__ import annotations


def format_number(value: float | None, digits: int = 3, nothing: str = "–") -> str:
    """Return a number as text with ``digits`` significant digits.

    None and nan give ``nothing``. Numbers that would round to 1 have seven digits, so
    that ratios near 1 are not misread.
    """
    if value is None or value != value:
        return nothing
    near = abs(value - 1) < 0.5 * 10 ** (1 - digits)
    return f"{value:.{7 if near else digits}g}"


def tex(value: float) -> str:
    r"""Return a number in LaTeX: 0.0123, 1.23 \cdot 10^{-5}, \infty."""
    mantissa, _, power = format_number(value, nothing="nan").partition("e")
    if power:
        return rf"{mantissa} \cdot 10^{{{int(power)}}}"
    return mantissa.replace("inf", r"\infty")
