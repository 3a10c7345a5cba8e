"""Construction of formulas within limits of their size.

SymPy evaluates numbers at once, so that a short text such as ``9^9^9`` could use all
memory. Here each operation is checked before SymPy performs it.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from fractions import Fraction

import sympy as sp

from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

CLASSES = {
    "Add": sp.Add,
    "Mul": sp.Mul,
    "Max": sp.Max,
    "Min": sp.Min,
    "Pow": sp.Pow,
    "exp": sp.exp,
    "log": sp.log,
    "Abs": sp.Abs,
    "floor": sp.floor,
}
"""Functions and operations of formulas by name."""
NODES = 2000
"""Most parts of a formula: numbers, symbols, operations and functions."""
BITS = 4096
"""Most bits of a whole number in a formula or in its value."""
EXPONENT = 100
"""Largest numerator and denominator of an exponent as it is written."""
COMBINED = 10_000
"""Largest numerator and denominator of an exponent that SymPy combines from several."""
LARGEST_EXP = 14
"""Most bits of a number in an argument of exp or in a symbolic exponent of a number."""
MOST_COMPARED_ARGUMENTS = 16
"""Most arguments of Max and Min, all of which are compared with each other."""
_ARITHMETIC = ("Add", "Mul")
_ARGUMENTS = {
    "Add": (1, 5 * NODES),
    "Mul": (1, 5 * NODES),
    "Max": (1, MOST_COMPARED_ARGUMENTS),
    "Min": (1, MOST_COMPARED_ARGUMENTS),
    "Pow": (2, 2),
}
"""Least and largest number of arguments; other functions take one."""


def build(name: str, parts: list[Expr]) -> Expr:
    """Return ``sqrt`` or a function of :data:`CLASSES`, called with ``parts``.

    Raises
    ------
    InputError
        The number of arguments is wrong; the value is not a real, finite number, or too
        large.
    """
    least, most = _ARGUMENTS.get(name, (1, 1))
    if not least <= len(parts) <= most:
        counts = str(least) if least == most else f"{least} to {most}"
        raise InputError(
            f"{name} takes {counts} arguments in a formula, not {len(parts)}"
        )
    if name in _ARITHMETIC:
        numbers = [part for part in parts if isinstance(part, sp.Rational)]
        if len(numbers) == len(parts):
            return _of_numbers(name, [_fraction(number) for number in numbers])
    if name == "Pow":
        return _power(*parts)
    if name == "sqrt":
        return _power(parts[0], sp.S.Half)
    if name == "exp" and (parts[0].has(sp.log) or longest(parts[0]) > LARGEST_EXP):
        # exp(n log 2) is the number 2^n, however large
        raise InputError(
            f"exp of {reprlib.repr(str(parts[0]))}: write a power, or a smaller number"
        )
    if name in ("Max", "Min"):
        _check_compared(CLASSES[name], parts)
    return _build_checked(CLASSES[name], *parts)


def _fraction(number: sp.Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _of_numbers(name: str, numbers: list[Fraction]) -> Expr:
    """Return the sum or product of rational numbers, without SymPy, which is slow."""
    total = (
        sum(numbers, Fraction(0))
        if name == "Add"
        else math.prod(numbers, start=Fraction(1))
    )
    return small(sp.Rational(total.numerator, total.denominator))


def _check_compared(function: type[sp.Basic], parts: list[Expr]) -> None:
    """Limit the arguments of Max and Min, those of nested ones included."""
    count = 0
    for part in parts:
        count += len(part.args) if isinstance(part, function) else 1
    if count > MOST_COMPARED_ARGUMENTS:
        raise InputError(
            f"{function.__name__} takes at most {MOST_COMPARED_ARGUMENTS} arguments in"
            " a formula, not"
            f" {count}"
        )


def _power(base: Expr, exponent: Expr) -> Expr:
    if isinstance(exponent, sp.Rational):
        if exponent.is_negative and base.is_zero:
            raise InputError("a formula divides by zero, or is not finite")
        size = max(abs(int(exponent.p)), int(exponent.q))
        if size > EXPONENT or longest(base) * size > BITS:
            raise InputError(
                "a power in a formula is too large: exponent"
                f" {reprlib.repr(str(exponent))}"
            )
        if isinstance(base, sp.Rational) and exponent.is_Integer:
            power = _fraction(base) ** int(exponent)
            return sp.Rational(power.numerator, power.denominator)
    elif base.is_number and not (
        exponent.free_symbols and longest(exponent) <= LARGEST_EXP
    ):
        raise InputError(
            "the exponent of a number must be a fraction or a formula of symbols, not"
            f" {reprlib.repr(str(exponent))}"
        )
    result = _build_checked(sp.Pow, base, exponent)
    if (
        isinstance(result, sp.Pow)
        and isinstance(result.exp, sp.Rational)
        and max(abs(int(result.exp.p)), int(result.exp.q)) > COMBINED
    ):
        raise InputError(
            f"a power of powers has the exponent {reprlib.repr(str(result.exp))}: it is"
            " too large"
        )
    return result


def _may_be_complex(function: Callable[..., Expr], parts: Sequence[Expr]) -> bool:
    """Return whether a function of real arguments may have a complex value.

    Only then SymPy is asked for the value, because it decides slowly.
    """
    return function is sp.log or (function is sp.Pow and not parts[1].is_Integer)


def _build_checked(function: Callable[..., Expr], *parts: Expr) -> Expr:
    try:
        result = function(*parts)
    # for example, Max of complex numbers
    except (TypeError, ValueError, ArithmeticError) as wrong:
        raise InputError(
            f"a formula cannot be built: {reprlib.repr(str(wrong))}"
        ) from wrong
    if (result.is_Rational and result.is_finite) or function in (sp.Add, sp.Mul):
        return small(result)  # of finite real numbers
    if result.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise InputError("a formula divides by zero, or is not finite")
    if result.has(sp.I) or (
        _may_be_complex(function, parts) and result.is_extended_real is False
    ):
        raise InputError(
            f"a formula contains {reprlib.repr(str(result))}, which is not a real"
            " number"
        )
    if result.is_number and not result.is_Rational and abs(sp.N(result)) > 2**BITS:
        raise InputError(f"a number of a formula is larger than 2^{BITS}")
    return small(result)


def small(expr: Expr) -> Expr:
    """Return ``expr``; InputError if a number in it has more than ``BITS`` bits."""
    if longest(expr) > BITS:
        raise InputError(f"a number of a formula has more than {BITS} bits")
    return expr


def longest(expr: Expr) -> int:
    """Return the bits of the longest whole number in ``expr``, at least 1."""
    numbers = {expr} if isinstance(expr, sp.Rational) else expr.atoms(sp.Rational)
    return (
        max((int(n).bit_length() for r in numbers for n in (r.p, r.q)), default=1) or 1
    )


__all__ = ["EXPONENT", "NODES", "CLASSES", "longest", "build", "small"]
