"""Enclosures of a statement's formulas at 50 digits.

They are the second evaluation of every refutation.

Interval arithmetic of mpmath, whose exponents have no limit: what overflows or
underflows in floating point does not do so here, and what cancels is seen as a wide
interval. Every operation is rounded outwards, so that a value lies between the two ends
that are returned. Numbers of the formulas and the values are taken as the binary
numbers that a replay uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import mpmath
import sympy as sp
from mpmath import mpf
from mpmath.ctx_iv import MPIntervalContext, ivmpf

from dfltheory.bounds.tree import at_numbers, decimal_value
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.statement import Statement

ENCLOSURE_DIGITS = 50
OPERATIONS = 50_000
"""Most operations of one evaluation; each takes some microseconds."""
SIZE = 100
"""Largest size, in bits, of an argument of exp and of an exponent of a power."""
SYMPY_DIGITS = 60
"""Digits to which SymPy evaluates functions that only theorems in Python contain."""


class Enclosure(NamedTuple):
    """An interval [low, high] that contains a value, as mpmath numbers."""

    low: mpf
    high: mpf

    @property
    def zero(self) -> bool:
        """Whether the enclosure contains only 0."""
        return bool(self.low == 0 == self.high)

    @property
    def size(self) -> mpf:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))


class Evaluation:
    """Encloses formulas of one statement at one point.

    Parameters
    ----------
    statement : Statement
        Its definitions are evaluated once each, never expanded.
    values : mapping
        Numbers by glossary name, for every name that the statement needs.
    """

    def __init__(self, statement: Statement, values: Mapping[str, float]):
        self._statement = statement
        self._interval = MPIntervalContext()
        self._interval.dps = ENCLOSURE_DIGITS
        self._operations = 0
        self._point = {
            symbol: sp.Rational(float(values[name]))
            for name, symbol in statement.symbols.items()
        }
        self._known: dict[Expr, ivmpf] = {
            s: self._rational(v) for s, v in self._point.items()
        }
        self._definitions: dict[Expr, Expr] = {
            d.symbol: d.expr for d in statement.definitions
        }
        self._functions: dict[type, Callable[[list[ivmpf]], ivmpf]] = {
            sp.Add: self._sum,
            sp.Mul: self._product,
            sp.Pow: self._power,
            sp.exp: self._exp,
            sp.log: self._log,
            sp.Max: self._max,
            sp.Min: self._min,
            sp.Abs: self._abs,
            sp.floor: self._floor,
        }

    def enclosure(self, formula: Expr) -> Enclosure:
        """Return an interval that contains the formula's value.

        Raises
        ------
        InputError
            The value is not finite or not real, or the evaluation exceeds its limits of
            size or time.
        """
        return self._enclosed_sum([formula])

    @property
    def bound(self) -> Enclosure:
        """The enclosure of the right-hand side; errors as of :meth:`enclosure`."""
        return self._enclosed_sum(list(self._statement.parts.values()))

    def _enclosed_sum(self, formulas: Sequence[Expr]) -> Enclosure:
        try:
            values = [self._value(sp.sympify(part, strict=True)) for part in formulas]
            return self._ends(self._sum(values))
        except InputError:  # its message says what is wrong
            raise
        except (
            ArithmeticError,
            TypeError,
            ValueError,
            RecursionError,
            NotImplementedError,
        ) as wrong:
            raise InputError(
                f"the evaluation at {ENCLOSURE_DIGITS} digits fails:"
                f" {type(wrong).__name__}"
            ) from wrong

    # -- one operation each

    def _value(self, formula: Expr) -> ivmpf:
        self._operations += 1
        if self._operations > OPERATIONS:
            raise InputError(
                f"the evaluation at {ENCLOSURE_DIGITS} digits takes more than"
                f" {OPERATIONS}"
                " operations"
            )
        if formula in self._known:
            return self._known[formula]
        if formula in self._definitions:
            value = self._value(sp.sympify(self._definitions[formula]))
            self._known[formula] = value
            return value
        if isinstance(formula, sp.Rational):
            return self._rational(formula)
        if isinstance(formula, sp.Float):
            return self._rational(decimal_value(formula))
        if formula == sp.E:
            return self._interval.e
        if type(formula) not in self._functions:
            return self._by_sympy(formula)
        if isinstance(formula, sp.floor):
            whole = self._whole_part(formula.args[0])
            if whole is not None:
                return self._rational(whole)
        value = self._functions[type(formula)](
            [self._value(part) for part in formula.args]
        )
        return self._check_ends(value, formula)

    def _whole_part(self, formula: Expr) -> sp.Integer | None:
        """Return the floor of a formula exactly, if its value is rational, else None.

        The ends of an interval around a whole number have different floors.
        """
        try:
            number = at_numbers(self._statement.expand(formula), self._point)
        except InputError:
            return None
        return sp.Integer(sp.floor(number)) if number.is_Rational else None

    def _check_ends(self, value: ivmpf, formula: Expr) -> ivmpf:
        ends = self._ends(value)
        if not (mpmath.isfinite(ends.low) and mpmath.isfinite(ends.high)):
            raise InputError(
                f"{type(formula).__name__} is not finite at {ENCLOSURE_DIGITS} digits"
            )
        if ends.size and abs(mpmath.mag(ends.size)) > 2**SIZE:
            raise InputError(
                f"{type(formula).__name__} is too large for the evaluation at"
                f" {ENCLOSURE_DIGITS}"
                " digits"
            )
        return value

    def _rational(self, number: sp.Rational) -> ivmpf:
        return self._interval.mpf(int(number.p)) / self._interval.mpf(int(number.q))

    def _ends(self, value: ivmpf) -> Enclosure:
        low, high = value._mpi_
        return Enclosure(mpmath.mp.make_mpf(low), mpmath.mp.make_mpf(high))

    def _hull(self, low: mpf, high: mpf) -> ivmpf:
        return self._interval.make_mpf((low._mpf_, high._mpf_))

    def _sum(self, parts: list[ivmpf]) -> ivmpf:
        return sum(parts, self._interval.mpf(0))

    def _product(self, parts: list[ivmpf]) -> ivmpf:
        product = self._interval.mpf(1)
        for part in parts:
            product = product * part
        return product

    def _power(self, parts: list[ivmpf]) -> ivmpf:
        base, exponent = (self._ends(part) for part in parts)
        if exponent.size >= 2**SIZE:
            raise InputError(
                f"an exponent is too large for the evaluation at {ENCLOSURE_DIGITS}"
                " digits"
            )
        if exponent.low == exponent.high == int(exponent.low):
            if exponent.low < 0 and base.low <= 0 <= base.high:
                raise InputError("a formula divides by zero")
            return parts[0] ** int(exponent.low)
        if base.low < 0 or (base.low == 0 and exponent.low <= 0):
            raise InputError("a power is not a real number")
        if base.zero:
            return parts[0]
        if base.low == 0:
            top = self._ends(self._power([self._hull(base.high, base.high), parts[1]]))
            return self._hull(base.low, top.high)
        return self._exp([parts[1] * self._interval.log(parts[0])])

    def _exp(self, parts: list[ivmpf]) -> ivmpf:
        if self._ends(parts[0]).size >= 2**SIZE:
            raise InputError(
                f"exp is too large for the evaluation at {ENCLOSURE_DIGITS} digits"
            )
        return self._interval.exp(parts[0])

    def _log(self, parts: list[ivmpf]) -> ivmpf:
        if self._ends(parts[0]).low <= 0:
            raise InputError("a logarithm is not a real number")
        return self._interval.log(parts[0])

    def _max(self, parts: list[ivmpf]) -> ivmpf:
        ends = [self._ends(part) for part in parts]
        return self._hull(max(e.low for e in ends), max(e.high for e in ends))

    def _min(self, parts: list[ivmpf]) -> ivmpf:
        ends = [self._ends(part) for part in parts]
        return self._hull(min(e.low for e in ends), min(e.high for e in ends))

    def _abs(self, parts: list[ivmpf]) -> ivmpf:
        return abs(parts[0])

    def _floor(self, parts: list[ivmpf]) -> ivmpf:
        ends = self._ends(parts[0])
        if ends.size and mpmath.mag(ends.size) > 10 * ENCLOSURE_DIGITS:
            return parts[0]  # a number with so large an exponent is whole
        return self._hull(mpmath.floor(ends.low), mpmath.floor(ends.high))

    def _by_sympy(self, formula: Expr) -> ivmpf:
        """Return an enclosure of a function that only a theorem in Python contains.

        SymPy computes its digits.
        """
        numbers = self._statement.expand(formula).xreplace(self._point)
        value = sp.N(numbers, SYMPY_DIGITS)
        if not (value.is_Float or value.is_Rational):
            raise InputError(
                f"{type(formula).__name__} has no real value at this point"
            )
        error = self._interval.mpf(10) ** (-ENCLOSURE_DIGITS)
        return self._rational(sp.Rational(value)) * (
            1 + self._interval.mpf([-1, 1]) * error
        )


__all__ = ["ENCLOSURE_DIGITS", "Enclosure", "Evaluation"]
