"""Sums over local steps: their weights, and when an expression is 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import (
    RuleError,
    count,
    k,
    lag,
    need,
    real_expression,
)
from dfltheory.bounds.units import Expr


@lru_cache(maxsize=1 << 14)  # a proof asks of few expressions again and again
def is_zero(expr: Expr) -> bool:
    """Return whether SymPy shows that an expression is 0.

    If the value at a point is far from 0, the answer is no without simplification.
    """
    point = {
        symbol: sp.Rational(8 + 3 * i, 11 + i)
        for i, symbol in enumerate(sorted(expr.free_symbols, key=str))
    }
    at_point = expr.subs(point).evalf(30)
    if at_point.is_number and abs(at_point) > 1e-9:
        return False
    return sp.factor(_with_power_symbols(expr)) == 0 or sp.simplify(expr) == 0


def _with_power_symbols(expr: Expr) -> Expr:
    """Return an expression with a symbol for each power b^n, for symbols n.

    b^(2 n - 1) is the square of the symbol for b^n, divided by b.
    """
    symbols: dict[tuple[Expr, Expr], sp.Dummy] = {}

    def in_symbols(power: sp.Pow) -> Expr:
        product: Expr = sp.S.One
        base = sp.factor(power.base)
        for term in sp.Add.make_args(sp.expand(power.exp)):
            number, rest = term.as_coeff_Mul()
            if rest == 1:
                product *= base**number
            else:
                symbol = symbols.setdefault((base, rest), sp.Dummy())
                product *= symbol**number
        return product

    return expr.replace(_has_symbol_in_exponent, in_symbols)


def _has_symbol_in_exponent(expr: Expr) -> bool:
    return isinstance(expr, sp.Pow) and bool(expr.exp.free_symbols)


@lru_cache(maxsize=1 << 14)
def factored(expr: Expr) -> Expr:
    """Return SymPy's factorization of an expression, cached."""
    return sp.factor(expr)


@lru_cache(maxsize=1 << 14)
def _is_sum(closed: Expr, term: Expr) -> bool:
    """Return whether an expression is the sum of a term over the lags 1..count.

    The proof is by induction on ``count``.
    """
    difference = closed - closed.subs(count, count - 1) - term.subs(lag, count)
    return closed.subs(count, 0) == 0 and is_zero(difference)


@dataclass(frozen=True, slots=True)
class Lag:
    """Weights of a sum over steps, and closed forms of their sums.

    The sum is ``sum_{j<n} c(n - j) U_j``. The closed forms are proved by induction on n
    when the weights are made. That c >= 0 is not: rules that need it demand it, and
    ``script_region`` shows it where the sums have symbols, which are nonnegative.

    Attributes
    ----------
    weight : c(lag)
    total, squares : the sums of the weights, and of their squares, over the lags
        1..count
    at, before : symbols for the total of K and of K - 1 steps
    squared : a symbol for the squares of K steps, or an expression in ``at``
    path : a symbol for the sum over j < K of c(K - j) times the total of j steps
    partial : the same sum over j < count
    """

    weight: Expr = sp.S.One
    total: Expr = count
    squares: Expr = count
    at: sp.Symbol | None = None
    before: sp.Symbol | None = None
    squared: Expr | None = None
    path: sp.Symbol | None = None
    partial: Expr = sp.S.Zero

    def __post_init__(self) -> None:
        declared = (self.at, self.before, self.symbol_of_squares, self.path)
        symbols = [symbol for symbol in declared if symbol is not None]
        self._check_variables(set(symbols))
        self._check_symbols(symbols)
        self._check_sums()

    def _check_symbols(self, symbols: list[sp.Symbol]) -> None:
        """Check that the symbols of the sums are new, different and nonnegative."""
        reserved = {*s.GLOSSARY, *map(str, (k, lag, count))}
        names = [str(symbol) for symbol in symbols]
        used_names = {
            name for name in names if name in reserved or names.count(name) > 1
        }
        need(
            not used_names,
            f"{', '.join(sorted(used_names))}: the symbols of sums of weights must be"
            " new and different",
        )
        for symbol in symbols:
            need(
                symbol == sp.Symbol(symbol.name, nonnegative=True),
                "the symbol of a sum of weights must be nonnegative by its assumptions",
            )

    def _check_sums(self) -> None:
        """Prove the closed forms by induction on the number of weights."""
        sums = [(self.total, self.weight), (self.squares, self.weight**2)]
        if self.path is not None:
            turned = self.weight.subs(lag, s.K + 1 - lag)
            sums.append((self.partial, turned * self.total.subs(count, lag - 1)))
        for closed, term in sums:
            need(
                _is_sum(closed, term),
                "{} is not the sum of {}, lag = 1..count",
                closed,
                term,
            )
        if self.squared is not None and self.squared != self.symbol_of_squares:
            gap = (self.squares.subs(count, s.K) - self.squared).subs(self.meanings)
            need(
                is_zero(gap),
                "{} is not the sum of squares {} of K steps",
                self.squared,
                self.squares,
            )

    def _check_variables(self, variables: set[sp.Symbol]) -> None:
        """Check which symbols the weight and its sums have.

        A weight is a function of its lag, a sum of the number of its terms; neither has
        the symbols that are defined by it.
        """
        need(
            all(type(x) is sp.Symbol for x in variables),
            "the symbols of sums of weights must be plain SymPy symbols",
        )
        in_partial = variables - {self.at, self.before, self.squared}
        in_squared = variables - {self.at, self.squared}
        forbidden = {
            "weight": {count, k} | variables,
            "total": {lag, k} | variables,
            "squares": {lag, k} | variables,
            "partial": {lag, k} | in_partial,
            "squared": {lag, k, count} | in_squared,
        }
        for name, symbols in forbidden.items():
            expr = getattr(self, name)
            if expr is None:
                continue
            strange = real_expression(expr).free_symbols & symbols
            need(
                not strange,
                "{} = {} of a sum of weights must not contain {}",
                name,
                expr,
                strange,
            )

    @property
    def symbol_of_squares(self) -> sp.Symbol | None:
        """``squared`` if it is a symbol of its own, else None."""
        if type(self.squared) is sp.Symbol and self.squared != self.at:
            return self.squared
        return None

    @property
    def meanings(self) -> dict[sp.Symbol, Expr]:
        """The symbols in closed form."""
        closed_forms = {
            self.at: self.total.subs(count, s.K),
            self.before: self.total.subs(count, s.K - 1),
            self.symbol_of_squares: self.squares.subs(count, s.K),
            self.path: self.partial.subs(count, s.K),
        }
        return {
            symbol: closed
            for symbol, closed in closed_forms.items()
            if symbol is not None
        }

    def whole(self, n: Expr) -> Expr:
        """Return the sum of the weights of n steps."""
        symbol = {s.K: self.at, s.K - 1: self.before}.get(n)
        return self.total.subs(count, n) if symbol is None else symbol

    def late(self, n: Expr) -> Expr:
        """``sum_{j<K} c(K - j) C(j)``, C(j) the sum of the weights of j steps."""
        if n != s.K or self.path is None:
            raise RuleError(
                "the weights need the fields path and partial for sums before each step"
            )
        return self.path

    def square_sum(self, n: Expr) -> Expr:
        """Return the sum of the squares of the weights of n steps."""
        if n == s.K and self.squared is not None:
            return self.squared
        return self.squares.subs(count, n)


PLAIN = Lag()
