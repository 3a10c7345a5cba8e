"""Bound and conditions of a statement in rational numbers."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from fractions import Fraction

import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.tree import at_numbers
from dfltheory.errors import InputError


class RationalValues:
    """Formulas of one statement at rational numbers.

    Definitions are evaluated once each.

    Parameters
    ----------
    statement : Statement
    known : mapping
        A rational number by glossary name, for every name that the statement needs.
    """

    def __init__(self, statement: Statement, known: Mapping[str, Fraction]):
        self._statement = statement
        self._numbers: dict[sp.Symbol, sp.Expr] = {
            symbol: sp.Rational(known[name].numerator, known[name].denominator)
            for name, symbol in statement.symbols.items()
        }
        for definition in statement.definitions:
            value = at_numbers(sp.sympify(definition.expr), self._numbers)
            self._numbers[definition.symbol] = value

    def bound(self) -> Fraction:
        """Return the right-hand side.

        Raises
        ------
        InputError
            It is irrational; the message has the irrational terms.
        """
        parts = self._statement.parts
        terms = {
            name: at_numbers(sp.sympify(part), self._numbers)
            for name, part in parts.items()
        }
        total = sp.Add(*terms.values())
        if not isinstance(total, sp.Rational):
            irrational = [
                f"{name} = {_shorten(term)}"
                for name, term in terms.items()
                if not term.is_Rational
            ]
            raise InputError(
                f"the bound of {self._statement} is not a rational number here:"
                f" {', '.join(irrational)}"
            )
        return Fraction(int(total.p), int(total.q))

    def slack(self, condition: Condition) -> Fraction:
        """Return right - left of a condition.

        Raises
        ------
        InputError
            It is irrational; the message has the condition.
        """
        slack = at_numbers(sp.sympify(condition.slack), self._numbers)
        if not isinstance(slack, sp.Rational):
            raise InputError(
                f"condition {condition.name} of {self._statement} has the slack"
                f" {_shorten(slack)}, which is not a rational number"
            )
        return Fraction(int(slack.p), int(slack.q))


def _shorten(value: object) -> str:
    return reprlib.repr(str(value))


__all__ = ["RationalValues"]
