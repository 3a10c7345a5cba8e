"""Formulas as people write them in theorem files: ``2*lam^2/(1 - lam^2)`` to SymPy.

Reading never runs text. :mod:`dfltheory.bounds.formula_tokens` splits the characters
into numbers, names and signs. Each ``^`` becomes ``**`` before Python's grammar parses
the text, because Python's own ``^`` binds less tightly than ``+``. Only listed types of
nodes of the syntax tree are accepted, numbers are exact, and
:mod:`dfltheory.bounds.limited_formulas` builds every operation within limits of size.
"""

from __future__ import annotations

import ast
import difflib
from bisect import bisect_right
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NoReturn

import sympy as sp

from dfltheory.bounds.formula_tokens import FormulaError, Token, tokens_of
from dfltheory.bounds.limited_formulas import NODES, build, small
from dfltheory.bounds.symbols import PAPER_SYMBOLS
from dfltheory.bounds.tree import DEPTH
from dfltheory.bounds.units import Expr
from dfltheory.errors import DFLTheoryError

Relation = Literal["<=", "<", ">=", ">", "=="]
SUMMANDS = 10_000
"""Most terms of a sum."""
MOST_FORMULA_PARTS = 20_000
"""Most parts that are read; those of a sum count once for each of its terms."""

CALLED = {
    "sqrt": "sqrt",
    "log": "log",
    "exp": "exp",
    "abs": "Abs",
    "min": "Min",
    "max": "Max",
    "floor": "floor",
}
"""Functions of formulas, and their names in :mod:`.limited_formulas`."""
FORMULA_FUNCTIONS = (*CALLED, "sum")
"""What a formula may call."""


def read_formula(text: str, symbols: Mapping[str, Expr]) -> Expr:
    """Return the expression that ``text`` denotes.

    Parameters
    ----------
    text : a formula such as ``"4*f0_gap/(eta*K*T)"``
    symbols : the symbol, or another expression, for each name

    Raises
    ------
    FormulaError
        The text is not a formula; a name is not in ``symbols``; a limit of size is
        exceeded.
    """
    tokens = tokens_of(text)
    for token in tokens:
        if token.kind == "relation":
            raise FormulaError(
                f"{token.text!r} is a comparison, which a formula cannot contain",
                token.offset,
            )
    return _expression(tokens, symbols, len(text))


def read_comparison(
    text: str, symbols: Mapping[str, Expr]
) -> tuple[Expr, Relation, Expr]:
    """Return the left side, the sign and the right side of a comparison.

    Raises
    ------
    FormulaError
        There is no comparison, or there are several; and as for :func:`read_formula`.
    """
    tokens = tokens_of(text)
    places = [k for k, token in enumerate(tokens) if token.kind == "relation"]
    if not places:
        raise FormulaError(
            "a condition needs one of <=, <, >=, >, == between two formulas", len(text)
        )
    if len(places) > 1:
        second = tokens[places[1]]
        message = (
            f"{second.text!r} is a second comparison: write one condition for each"
        )
        raise FormulaError(message, second.offset)
    sign = tokens[places[0]]
    left = _expression(tokens[: places[0]], symbols, sign.offset)
    right = _expression(tokens[places[0] + 1 :], symbols, len(text))
    return left, sign.text, right  # type: ignore[return-value]  # the pattern has only these


def _expression(tokens: list[Token], symbols: Mapping[str, Expr], end: int) -> Expr:
    """Return the expression of some tokens.

    ``end`` is where the text ends, for messages.
    """
    if not tokens:
        raise FormulaError("a formula is missing here", end)
    if tokens[-1].kind == "sign" and tokens[-1].text != ")":
        raise FormulaError("the formula ends too early", end)
    if len(tokens) > 2 * NODES:
        raise FormulaError(
            f"a formula has at most {NODES} parts", tokens[2 * NODES].offset
        )
    starts: list[int] = []
    pieces: list[str] = []
    column = 0
    for token in tokens:
        piece = "**" if token.text == "^" else token.text
        starts.append(column)
        pieces.append(piece)
        column += len(piece) + 1
    walk = _TreeWalk(
        " ".join(pieces), starts, [token.offset for token in tokens], symbols, end
    )
    return walk.run()


class _TreeWalk:
    """Builds the expression of one syntax tree.

    Parameters
    ----------
    source : the formula in Python's grammar
    starts, offsets : of each token, its column in ``source`` and its index in the text
    symbols : expressions by name
    end : the index at which the text ends
    """

    def __init__(
        self,
        source: str,
        starts: list[int],
        offsets: list[int],
        symbols: Mapping[str, Expr],
        end: int,
    ):
        self._source = source
        self._starts = starts
        self._offsets = offsets
        self._symbols = dict(symbols)
        self._end = end
        self._nodes = 0
        self._steps = 0

    def run(self) -> Expr:
        try:
            tree = ast.parse(self._source, mode="eval")
        except SyntaxError as wrong:
            column = (wrong.offset or 1) - 1
            self._stop(
                _syntax_message(self._source, column, wrong), self._place(column)
            )
        except (RecursionError, MemoryError):
            raise FormulaError(
                f"a formula is at most {DEPTH} deep", self._offsets[0]
            ) from None
        return self._value(tree.body, 0)

    def _place(self, column: int) -> int:
        """Return the index in the text of what is at a column of the source."""
        if column >= len(self._source):
            return self._end
        return self._offsets[max(bisect_right(self._starts, column) - 1, 0)]

    def _stop(self, message: str, offset: int) -> NoReturn:
        raise FormulaError(message, offset) from None

    def _value(self, node: ast.expr, depth: int) -> Expr:
        """Return the expression of a node, after checking the limits of size."""
        self._nodes += 1
        self._steps += 1
        offset = self._place(node.col_offset)
        if self._steps > MOST_FORMULA_PARTS:
            self._stop(
                f"the sums of a formula take at most {MOST_FORMULA_PARTS} steps", offset
            )
        if self._nodes > NODES:
            self._stop(f"a formula has at most {NODES} parts", offset)
        if depth > DEPTH:
            self._stop(f"a formula is at most {DEPTH} deep", offset)
        try:
            return self._build(node, depth + 1)
        except FormulaError:
            raise
        except DFLTheoryError as wrong:
            self._stop(str(wrong), offset)

    def _build(self, node: ast.expr, depth: int) -> Expr:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name(id=name):
                return self._symbol_named(name, self._place(node.col_offset))
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return build("Mul", [sp.S.NegativeOne, self._value(inner, depth)])
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return self._value(inner, depth)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._chain(node, (ast.Add, ast.Sub), depth)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._chain(node, (ast.Mult, ast.Div), depth)
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return build(
                    "Pow", [self._value(base, depth), self._value(exponent, depth)]
                )
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, node, depth)
            case _:
                raise FormulaError(
                    "a formula consists of numbers, names, + - * / ^ and calls such as"
                    " sqrt(T)",
                    self._place(node.col_offset),
                )

    def _number(self, node: ast.Constant) -> Expr:
        digits = self._source[node.col_offset : node.end_col_offset]
        exact = Fraction(Decimal(digits))
        return small(sp.Rational(exact.numerator, exact.denominator))

    def _symbol_named(self, name: str, offset: int) -> Expr:
        if name in self._symbols:
            return self._symbols[name]
        if name in FORMULA_FUNCTIONS:
            self._stop(f"{name} is a function: write {name}(...)", offset)
        if name in PAPER_SYMBOLS and PAPER_SYMBOLS[name] in self._symbols:
            self._stop(
                f"no quantity is called {name!r}: use {PAPER_SYMBOLS[name]}", offset
            )
        near = difflib.get_close_matches(
            name[:100], sorted(self._symbols), n=3, cutoff=0.5
        )
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        message = (
            f"no quantity is called {name[:100]!r}; {hint}a quantity of your own needs "
        )
        raise FormulaError(f"{message}[quantities.NAME] or a definition", offset)

    def _chain(self, node: ast.expr, kinds: tuple[type, type], depth: int) -> Expr:
        """Return a chain such as a - b + c in one step.

        Recursion would be as deep as the chain is long. ``kinds`` are the sign that
        keeps an operand, and the one that inverts it.
        """
        operands: list[Expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
            operand = self._value(node.right, depth)
            if isinstance(node.op, kinds[1]):
                operand = _invert(operand, kinds[1])
            operands.append(operand)
            node = node.left
        operands.append(self._value(node, depth))
        name = "Add" if kinds[0] is ast.Add else "Mul"
        return build(name, operands[::-1])

    def _call(
        self, name: str, arguments: list[ast.expr], node: ast.Call, depth: int
    ) -> Expr:
        offset = self._place(node.col_offset)
        if name == "sum":
            return self._sum(arguments, offset, depth)
        if name not in CALLED:
            what = "a quantity" if name in self._symbols else "no function of formulas"
            known = ", ".join(FORMULA_FUNCTIONS)
            self._stop(
                f"{name[:40]} is {what}, and cannot be called; functions are {known}",
                offset,
            )
        if name in ("min", "max") and len(arguments) < 2:
            self._stop(
                f"{name} takes two or more arguments, not {len(arguments)}", offset
            )
        return build(
            CALLED[name], [self._value(argument, depth) for argument in arguments]
        )

    def _sum(self, arguments: list[ast.expr], offset: int, depth: int) -> Expr:
        """Return sum(expr, k, first, last) term by term.

        Its limits are whole numbers.
        """
        if len(arguments) != 4 or not isinstance(arguments[1], ast.Name):
            self._stop("a sum is written sum(formula, index, first, last)", offset)
        index = arguments[1].id
        if index in self._symbols or index in FORMULA_FUNCTIONS:
            self._stop(
                f"the index {index} of a sum has the name of something else", offset
            )
        first, last = (self._value(argument, depth) for argument in arguments[2:])
        if not (first.is_Integer and last.is_Integer):
            self._stop(
                "the limits of a sum must be whole numbers here: for others write the"
                " closed form, or a definition with a registered function",
                offset,
            )
        if last - first >= SUMMANDS:
            self._stop(
                f"a sum has at most {SUMMANDS} terms, this one {last - first + 1}",
                offset,
            )
        number: Expr = sp.S.Zero
        others: list[Expr] = []
        for value in range(int(first), int(last) + 1):
            counted = self._nodes
            self._symbols[index] = sp.Integer(value)
            term = self._value(arguments[0], depth)
            if term.is_Rational:
                number = small(number + term)
                # numbers are added up at once, and leave one part
                self._nodes = counted + 1
            else:
                others.append(term)
        self._symbols.pop(index, None)
        return build("Add", [number, *others])


def _invert(operand: Expr, kind: type) -> Expr:
    """Return -operand for a subtraction, and 1/operand for a division."""
    if kind is ast.Sub:
        return build("Mul", [sp.S.NegativeOne, operand])
    return build("Pow", [operand, sp.S.NegativeOne])


def _syntax_message(source: str, column: int, wrong: SyntaxError) -> str:
    """Describe a syntax error of Python in terms of formulas."""
    if source.count("(") != source.count(")"):
        return "parentheses do not match"
    if column >= len(source.rstrip()):
        return "the formula ends too early"
    if wrong.msg.startswith("too many nested"):
        return f"a formula is at most {DEPTH} deep"
    return "this is not a formula: two signs, or a sign without an operand"


__all__ = ["CALLED", "FORMULA_FUNCTIONS", "Relation", "read_comparison", "read_formula"]
