"""Expressions as plain data, so that a file can carry a formula without carrying code.

A node is a whole number, a finite float, the name of a symbol, or ``[function,
argument, ...]``. A :class:`~dfltheory.documents.WrittenNumber` is read as the rational
number of its decimal digits::

    >>> from dfltheory.bounds import symbols as s
    >>> to_tree(s.L * s.eta / 2)
    ['Mul', ['Rational', 1, 2], 'L', 'eta']
    >>> from_tree(['Pow', 'T', ['Rational', -1, 2]])
    1/sqrt(T)

Nothing is ever run: :func:`from_tree` calls the functions of ``TREE_FUNCTIONS`` and no
other, on symbols of the glossary, and what it builds is bounded in depth and size.
"""

from __future__ import annotations

import ast
import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import sympy as sp

from dfltheory.bounds.limited_formulas import (
    CLASSES,
    EXPONENT,
    NODES,
    build,
    longest,
    small,
)
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr
from dfltheory.documents import WrittenNumber, is_sequence
from dfltheory.errors import InputError

Tree: TypeAlias = "int | float | str | list[Tree]"
DEPTH = 60
"""Most levels of a formula."""
MOST_POWER_BITS = 10**6
"""Most bits of a power in the evaluation of a formula."""

TREE_FUNCTIONS = (*CLASSES, "sqrt", "Rational")
"""What a tree may call."""


def to_tree(expr: sp.Basic) -> Tree:
    """Return ``expr`` as plain data, which :func:`from_tree` reads back.

    Raises
    ------
    InputError
        ``expr`` contains a function that is not in ``TREE_FUNCTIONS``, or a symbol with
        the name of a quantity of the glossary and other assumptions.
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
    if name not in CLASSES:
        raise InputError(
            f"{name} cannot be written to a file; a formula may have"
            f" {', '.join(TREE_FUNCTIONS)}"
        )
    return [name, *(to_tree(argument) for argument in expr.args)]


def _large_power(base: Tree, exponent: int) -> Tree:
    """Return a power with a large exponent as a power of a power."""
    sign = 1 if exponent > 0 else -1
    whole, rest = divmod(abs(exponent), EXPONENT)
    power: Tree = ["Pow", ["Pow", base, sign * EXPONENT], whole]
    return power if rest == 0 else ["Mul", power, ["Pow", base, sign * rest]]


def from_tree(data: object, symbols: Mapping[str, sp.Symbol] | None = None) -> Expr:
    """Return the expression that :func:`to_tree` wrote.

    ``symbols`` are further symbols by name, in addition to the glossary's, such as
    those of a statement's definitions.

    Raises
    ------
    InputError
        The data contain something else than numbers, known symbols and known
        functions, or exceed a limit of size.
    """
    return _Reader(symbols or {}).read(data, 0)


def from_text(text: str, symbols: Mapping[str, sp.Symbol] | None = None) -> Expr:
    """Return the expression that SymPy prints as ``text``.

    It contains numbers, known symbols, + - * / ** and ``TREE_FUNCTIONS``. Python's
    grammar parses the text, and nothing of it is run. For ``symbols`` and errors see
    :func:`from_tree`.
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
        case _:
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
        case _:
            raise SyntaxError(f"a formula has no {type(node).__name__}")


def decimal_value(number: sp.Float) -> sp.Rational:
    """Return the rational number that a float of a formula means: 0.1 is 1/10.

    For a number in double precision it is the shortest decimal that rounds to it, and
    for other precisions the binary value.
    """
    double = float(number)
    exact = sp.Rational(number)
    return sp.Rational(repr(double)) if sp.Rational(double) == exact else exact


def at_numbers(formula: Expr, numbers: Mapping[sp.Symbol, Expr]) -> Expr:
    """Return the formula at rational numbers, without rounding.

    Floats in it become rational numbers (:func:`decimal_value`). It is evaluated from
    the inside out, so that the size of each power is checked before it is computed.

    Raises
    ------
    InputError
        A power, an exponential or another number is too large; Max, Min, floor or Abs
        has an argument that is not a rational number, so that only digits could decide.
    """
    if isinstance(formula, sp.Float):
        return decimal_value(formula)
    if not formula.args:
        return formula.xreplace(numbers)
    parts = [at_numbers(part, numbers) for part in formula.args]
    if isinstance(formula, (sp.Pow, sp.exp)):
        power = parts[-1]
        if not (
            power.is_real and abs(sp.N(power)) * longest(parts[0]) <= MOST_POWER_BITS
        ):
            raise InputError(
                "a power is too large for rational numbers:"
                f" {reprlib.repr(str(formula))}"
            )
    if isinstance(formula, (sp.Max, sp.Min, sp.floor, sp.Abs)):
        for part in parts:
            if not part.is_Rational:
                raise InputError(
                    f"{type(formula).__name__} has an argument that is not a rational"
                    f" number: {reprlib.repr(str(part))}"
                )
    value = formula.func(*parts)
    if longest(value) > MOST_POWER_BITS:
        raise InputError(
            f"a number has more than {MOST_POWER_BITS} bits:"
            f" {reprlib.repr(str(formula))}"
        )
    return value


class _Reader:
    """Builds an expression from a tree, and counts its nodes."""

    def __init__(self, symbols: Mapping[str, sp.Symbol]):
        self.symbols = symbols
        self.nodes = 0

    def read(self, data: object, depth: int) -> Expr:
        """Return the expression of one node at a depth of the tree."""
        self.nodes += 1
        if depth > DEPTH or self.nodes > NODES:
            raise InputError(
                f"a formula may be {DEPTH} deep and have {NODES} parts: this one has"
                " more"
            )
        if is_sequence(data):
            return self._call(data, depth)
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
            case _:
                raise _no_part(data)

    def _call(self, node: Sequence[object], depth: int) -> Expr:
        match node:
            case ["Rational", *arguments]:
                return _rational(arguments)
            case [str(name), *arguments]:
                if name not in TREE_FUNCTIONS:
                    known = f"known: {', '.join(TREE_FUNCTIONS)}"
                    raise InputError(
                        f"{reprlib.repr(name)} is not a function of formulas; {known}"
                    )
                return build(
                    name, [self.read(argument, depth + 1) for argument in arguments]
                )
            case _:
                raise _no_part(node)

    def _symbol(self, name: str) -> sp.Symbol:
        if name in self.symbols:
            return self.symbols[name]
        if name in GLOSSARY:
            return GLOSSARY[name].symbol
        raise InputError(
            f"{reprlib.repr(name)} is neither a quantity of the glossary nor one of the"
            " given symbols"
        )


def _no_part(data: object) -> InputError:
    return InputError(
        f"{reprlib.repr(data)} is not part of a formula: write [function, argument,"
        " ...]"
    )


def _rational(arguments: list[object]) -> Expr:
    numbers = [
        small(sp.Integer(n))
        for n in arguments
        if isinstance(n, int) and not isinstance(n, bool)
    ]
    if len(arguments) != 2 or len(numbers) != 2 or numbers[1] == 0:
        raise InputError(
            "Rational takes two whole numbers, the second not 0:"
            f" {reprlib.repr(arguments)}"
        )
    return numbers[0] / numbers[1]


__all__ = []
