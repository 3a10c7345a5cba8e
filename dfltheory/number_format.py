"""Numbers as people read them: on pages, in tables, in LaTeX."""

from __future__ import annotations


def number(value: float | None, digits: int = 3, nothing: str = "–") -> str:
    """So many digits, and seven near the 1 that a ratio is held against, to which they might round;
    ``nothing`` where there is no number."""
    if value is None or value != value:
        return nothing
    near = abs(value - 1) < 0.5 * 10 ** (1 - digits)
    return f"{value:.{7 if near else digits}g}"


def tex(value: float) -> str:
    r"""The same for a formula: 0.0123, 1.23 \cdot 10^{-5}, \infty."""
    mantissa, _, power = number(value, nothing="nan").partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa.replace("inf", r"\infty")
