"""Expressions as plain data, so that a file can carry a formula without carrying code.

A node is a whole number, a finite float (a :class:`~dfltheory.documents.WrittenNumber`
is the rational number that its digits say), the name of a symbol, or ``[function,
argument, ...]``::

    >>> from dfltheory.bounds import symbols as s
    >>> to_tree(s.L * s.eta / 2)
    ['Mul', ['Rational', 1, 2], 'L', 'eta']
    >>> from_tree(['Pow', 'T', ['Rational', -1, 2]])
    1/sqrt(T)

Nothing is ever run: :func:`from_tree` calls the functions of ``FUNCTIONS`` and no
other, on symbols of the glossary, and what it builds is bounded in depth and size.
"""

from __future__ import annotations

import ast
import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr
from dfltheory.documents import WrittenNumber
from dfltheory.errors import InputError

Tree = int | float | str | list[Any]
DEPTH = 60
NODES = 2000
BITS = 4096
"""The longest whole number, in a tree or in what it evaluates to."""
EXPONENT = 100
"""The largest numerator and denominator of a written exponent."""

COMBINED = 10_000
"""The same of an exponent that a power of a power has."""

LARGEST_EXP = 14
"""The most bits of a number in an argument of exp, or in a symbolic exponent of a
number.
"""

COMPARED = 16
"""The most arguments of Max and Min, all of which are compared with each other."""

POWERS = 10**6
"""The most bits of a power where a formula is evaluated."""

_SAME = {
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
_ARITHMETIC = ("Add", "Mul")
FUNCTIONS = (*_SAME, "sqrt", "Rational")
"""What a tree may call."""
_ARGUMENTS = {
    "Add": (1, 5 * NODES),
    "Mul": (1, 5 * NODES),
    "Max": (1, COMPARED),
    "Min": (1, COMPARED),
    "Pow": (2, 2),
}
"""How many arguments (one of all others). Max and Min compare all of theirs with each
other.
"""


def to_tree(expr: Expr) -> Tree:
    """``expr`` as plain data, which :func:`from_tree` reads back.

    Raises
    ------
    InputError
        A function that is not in ``FUNCTIONS``, or a symbol that has the name of
        another one of the glossary.
    """
    if isinstance(expr, sp.Symbol):
        known = GLOSSARY.get(expr.name)
        if known is not None and known.symbol != expr:
            raise InputError(
                f"the symbol {expr.name!r} is not the glossary's: take it from"
                " bounds.symbols"
            )
        return expr.name
    if isinstance(expr, (int, sp.Integer)):
        return int(expr)
    if isinstance(expr, (float, sp.Float)):
        return float(expr)
    if isinstance(expr, sp.Rational):
        return ["Rational", int(expr.p), int(expr.q)]
    if expr == sp.E:
        return ["exp", 1]
    name = type(expr).__name__
    if (
        isinstance(expr, sp.Pow)
        and expr.exp.is_Integer
        and abs(int(expr.exp)) > EXPONENT
    ):
        return _large_power(to_tree(expr.base), int(expr.exp))
    if name not in _SAME:
        raise InputError(
            f"{name} cannot be written to a file; a formula may have"
            f" {', '.join(FUNCTIONS)}"
        )
    return [name, *(to_tree(argument) for argument in expr.args)]


def _large_power(base: Tree, exponent: int) -> Tree:
    """A power whose exponent is too large to be written, as a power of a power (and
    another factor).
    """
    sign = 1 if exponent > 0 else -1
    whole, rest = divmod(abs(exponent), EXPONENT)
    power: Tree = ["Pow", ["Pow", base, sign * EXPONENT], whole]
    return power if rest == 0 else ["Mul", power, ["Pow", base, sign * rest]]


def from_tree(data: Any, symbols: Mapping[str, sp.Symbol] | None = None) -> Expr:
    """Return the expression that :func:`to_tree` wrote.

    ``symbols``: further symbols by name, in addition to the glossary's (as a
    statement's own abbreviations).

    Raises
    ------
    InputError
        Anything else than numbers, known symbols and known functions; too deep, too
        long, or too large.
    """
    return _Reader(symbols or {}).read(data, 0)


def from_text(text: str, symbols: Mapping[str, sp.Symbol] | None = None) -> Expr:
    """The expression that is written ``text``, as SymPy prints it: numbers, known
    symbols, + - * / ** and ``FUNCTIONS``. Python's own grammar reads it, and nothing of
    it is run; else as :func:`from_tree`.
    """
    try:
        if len(text) > NODES:
            raise SyntaxError("too long")
        return from_tree(_tree_of(ast.parse(text, mode="eval").body), symbols)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as wrong:
        if isinstance(wrong, InputError):
            raise
        raise InputError(
            f"{reprlib.repr(text)} is not a formula: {reprlib.repr(str(wrong))}"
        ) from wrong


def _tree_of_operation(sign: ast.operator, left: Tree, right: Tree) -> Tree:
    match sign:
        case ast.Add():
            return ["Add", left, right]
        case ast.Sub():
            return ["Add", left, ["Mul", -1, right]]
        case ast.Mult():
            return ["Mul", left, right]
        case ast.Div():
            return ["Mul", left, ["Pow", right, -1]]
        case ast.Pow():
            return ["Pow", left, right]
    raise SyntaxError(f"a formula has no {type(sign).__name__}")


def _tree_of(node: ast.expr) -> Tree:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return ["Mul", -1, _tree_of(inner)]
        case ast.BinOp(left=left, op=sign, right=right):
            return _tree_of_operation(sign, _tree_of(left), _tree_of(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return [name, *(_tree_of(argument) for argument in arguments)]
    raise SyntaxError(f"a formula has no {type(node).__name__}")


def decimal_value(number: sp.Float) -> Any:
    """Return the rational number that a float of a formula means: 0.1 is 1/10.

    Of a double this is the shortest decimal number that has this double; of a number
    with another precision its binary value.
    """
    double = float(number)
    exact = sp.Rational(number)
    return sp.Rational(repr(double)) if sp.Rational(double) == exact else exact


def at_numbers(formula: Expr, numbers: Mapping[Any, Any]) -> Expr:
    """The formula at these rational numbers, from the inside out, for its powers may be
    towers.

    Floats become rational numbers first (:func:`decimal_value`), so that nothing is
    rounded.

    Raises
    ------
    InputError
        A power, an exponential or another number is too large; Max, Min, floor or Abs
        has an argument that is no rational number, of which only digits could decide.
    """
    if formula.is_Float:
        return decimal_value(formula)
    if not formula.args:
        return numbers.get(formula, formula)
    parts = [at_numbers(part, numbers) for part in formula.args]
    if isinstance(formula, (sp.Pow, sp.exp)):
        power = parts[-1]
        if not (power.is_real and abs(sp.N(power)) * _longest(parts[0]) <= POWERS):
            raise InputError(
                "a power is too large for rational numbers:"
                f" {reprlib.repr(str(formula))}"
            )
    if isinstance(formula, (sp.Max, sp.Min, sp.floor, sp.Abs)):
        for part in parts:
            if not part.is_Rational:
                raise InputError(
                    f"{type(formula).__name__} has an argument that is no rational"
                    f" number: {reprlib.repr(str(part))}"
                )
    value = formula.func(*parts)
    if _longest(value) > POWERS:
        raise InputError(
            f"a number has more than {POWERS} bits: {reprlib.repr(str(formula))}"
        )
    return value


class _Reader:
    def __init__(self, symbols: Mapping[str, sp.Symbol]):
        self.symbols, self.nodes = symbols, 0

    def read(self, data: Any, depth: int) -> Expr:
        self.nodes += 1
        if depth > DEPTH or self.nodes > NODES:
            raise InputError(
                f"a formula may be {DEPTH} deep and have {NODES} parts: this one has"
                " more"
            )
        match data:
            case int() if not isinstance(data, bool):
                return small(sp.Integer(data))
            case WrittenNumber():
                return small(
                    sp.Rational(data.fraction.numerator, data.fraction.denominator)
                )
            case float():
                if not math.isfinite(data):
                    raise InputError(f"{data!r} in a formula must be finite")
                return sp.Float(data)
            case str():
                return self._symbol(data)
            case ["Rational", *arguments]:
                return _rational(arguments)
            case [str(name), *arguments]:
                if name not in FUNCTIONS:
                    known = f"known: {', '.join(FUNCTIONS)}"
                    raise InputError(
                        f"{reprlib.repr(name)} is not a function of formulas; {known}"
                    )
                return build(
                    name, [self.read(argument, depth + 1) for argument in arguments]
                )
        raise InputError(
            f"{reprlib.repr(data)} is not part of a formula: write [function, argument,"
            " ...]"
        )

    def _symbol(self, name: str) -> sp.Symbol:
        if name in self.symbols:
            return self.symbols[name]
        if name in GLOSSARY:
            return GLOSSARY[name].symbol
        raise InputError(
            f"the glossary has no symbol {reprlib.repr(name)}, and none is given for it"
        )


def build(name: str, parts: list[Expr]) -> Expr:
    """``name`` of ``FUNCTIONS`` called with ``parts``, within the limits of this
    module.

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
    if name in _ARITHMETIC and all(part.is_Rational for part in parts):
        return _of_numbers(name, [Fraction(int(part.p), int(part.q)) for part in parts])
    if name in ("Pow", "sqrt"):
        return _power(*parts, *(() if name == "Pow" else (sp.S.Half,)))
    if name == "exp" and (parts[0].has(sp.log) or _longest(parts[0]) > LARGEST_EXP):
        # exp(n log 2) is the number 2^n, however large
        raise InputError(
            f"exp of {reprlib.repr(str(parts[0]))}: write a power, or a smaller number"
        )
    if name in ("Max", "Min"):
        _check_compared(_SAME[name], parts)
    return _made(_SAME[name], *parts)


def _of_numbers(name: str, numbers: list[Fraction]) -> Expr:
    """Return the sum or product of rational numbers, without SymPy, which is slow."""
    total = (
        sum(numbers, Fraction(0))
        if name == "Add"
        else math.prod(numbers, start=Fraction(1))
    )
    return small(sp.Rational(total.numerator, total.denominator))


def _check_compared(function: Any, parts: list[Expr]) -> None:
    """Limit the arguments of Max and Min, those of nested ones included."""
    count = sum(len(part.args) if isinstance(part, function) else 1 for part in parts)
    if count > COMPARED:
        raise InputError(
            f"{function.__name__} takes at most {COMPARED} arguments in a formula, not"
            f" {count}"
        )


def _rational(arguments: list[Any]) -> Expr:
    whole = len(arguments) == 2 and all(
        isinstance(n, int) and not isinstance(n, bool) for n in arguments
    )
    if not whole or arguments[1] == 0:
        raise InputError(
            "Rational takes two whole numbers, the second not 0:"
            f" {reprlib.repr(arguments)}"
        )
    over, under = (small(sp.Integer(n)) for n in arguments)
    return over / under


def _power(base: Expr, exponent: Expr) -> Expr:
    if exponent.is_Rational:
        if base.is_zero and exponent.is_negative:
            raise InputError("a formula divides by zero, or is not finite")
        size = max(abs(int(exponent.p)), int(exponent.q))
        if size > EXPONENT or _longest(base) * size > BITS:
            raise InputError(
                "a power in a formula is too large: exponent"
                f" {reprlib.repr(str(exponent))}"
            )
        if base.is_Rational and exponent.is_Integer:
            power = Fraction(int(base.p), int(base.q)) ** int(exponent)
            return sp.Rational(power.numerator, power.denominator)
    elif base.is_number and not (
        exponent.free_symbols and _longest(exponent) <= LARGEST_EXP
    ):
        raise InputError(
            "a number to a power must have a fraction, or a formula of symbols, for its"
            " exponent"
        )
    made = _made(sp.Pow, base, exponent)
    if (
        made.is_Pow
        and made.exp.is_Rational
        and max(abs(int(made.exp.p)), int(made.exp.q)) > COMBINED
    ):
        raise InputError(
            f"a power of powers has the exponent {reprlib.repr(str(made.exp))}: it is"
            " too large"
        )
    return made


def _may_be_complex(function: Callable[..., Expr], parts: Sequence[Expr]) -> bool:
    """Can the value be no real number although the arguments are? SymPy is slow to
    decide it.
    """
    return function is sp.log or (function is sp.Pow and not parts[1].is_Integer)


def _made(function: Callable[..., Expr], *parts: Expr) -> Expr:
    try:
        made = function(*parts)
    # as the comparison of complex numbers in Max
    except (TypeError, ValueError, ArithmeticError) as wrong:
        raise InputError(
            f"a formula cannot be built: {reprlib.repr(str(wrong))}"
        ) from wrong
    if (made.is_Rational and made.is_finite) or function in (sp.Add, sp.Mul):
        return small(made)  # of finite real numbers
    if made.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise InputError("a formula divides by zero, or is not finite")
    if made.has(sp.I) or (
        _may_be_complex(function, parts) and made.is_extended_real is False
    ):
        raise InputError("a formula has a part that is no real number")
    if made.is_number and not made.is_Rational and abs(sp.N(made)) > 2**BITS:
        raise InputError(f"a number of a formula is larger than 2^{BITS}")
    return small(made)


def small(expr: Expr) -> Expr:
    """``expr``, whose numbers must not be too long."""
    if _longest(expr) > BITS:
        raise InputError(f"a number of a formula has more than {BITS} bits")
    return expr


def _longest(expr: Expr) -> int:
    """Return the bits of the longest whole number in ``expr``, at least 1."""
    numbers = (expr,) if expr.is_Rational else expr.atoms(sp.Rational)
    return (
        max((int(n).bit_length() for r in numbers for n in (r.p, r.q)), default=1) or 1
    )
