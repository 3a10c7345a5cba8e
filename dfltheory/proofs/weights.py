"""Sums over local steps: their weights, and when an expression is 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import RuleError, count, expression, k, lag, need
from dfltheory.bounds.units import Expr


@lru_cache(maxsize=1 << 14)  # a proof asks of few expressions again and again
def is_zero(expr: Expr) -> bool:
    """Return whether an expression is 0 for SymPy.

    SymPy is not asked where the value at one point, at which no symbol is 1, is far
    from 0.
    """
    points = {
        v: sp.Rational(8 + 3 * i, 11 + i)
        for i, v in enumerate(sorted(expr.free_symbols, key=str))
    }
    there = expr.subs(points).evalf(30)
    if there.is_number and abs(there) > 1e-9:
        return False
    symbols: dict[tuple[Expr, Expr], sp.Dummy] = {}

    def powers(power: sp.Pow) -> Expr:
        """b^(2 n - 1) as the square of a symbol for b^n, over b; n counts."""
        product: Expr = sp.S.One
        factored = sp.factor(power.base)
        for term in sp.Add.make_args(sp.expand(power.exp)):
            number, rest = term.as_coeff_Mul()
            base = (
                factored
                if rest == 1
                else symbols.setdefault((factored, rest), sp.Dummy())
            )
            product *= base**number
        return product

    by_powers = sp.factor(
        expr.replace(lambda e: e.is_Pow and e.exp.free_symbols, powers)
    )
    return by_powers == 0 or sp.simplify(expr) == 0


@lru_cache(maxsize=1 << 14)
def factored(expr: Expr) -> Expr:
    """Return an expression in factors."""
    return sp.factor(expr)


@dataclass(frozen=True, slots=True)
class Lag:
    """Weights of a sum over steps, and closed forms of their sums.

    The sum is ``sum_{j<n} c(n - j) U_j`` with c >= 0. Its total and the sum of squares
    over the lags 1..n are proved by induction on n when they are stated. ``at``,
    ``before`` and ``squared``: symbols for the total of K and of K - 1 steps and for
    the squares of K (which may be an expression in ``at``). ``path``: a symbol for the
    sum over j < K of c(K - j) times the total of j steps, whose ``partial`` sums over j
    < count are proved in the same way.
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
        symbols = [x for x in declared if x is not None]
        self._check_variables(set(symbols))
        names = [str(x) for x in symbols]
        used_names = {
            name for name in names if name in s.GLOSSARY or names.count(name) > 1
        }
        used_names |= set(names) & {str(x) for x in (k, lag, count)}
        need(
            not used_names,
            f"{', '.join(sorted(used_names))}: the symbols of sums of weights must be"
            " new and different",
        )
        plain = {x: sp.Symbol(x.name, nonnegative=True) for x in symbols}
        need(
            all(x == y for x, y in plain.items()),
            "the symbol of a sum of weights must be nonnegative by its assumptions",
        )
        sums = [(self.total, self.weight), (self.squares, self.weight**2)]
        if self.path is not None:
            turned = self.weight.subs(lag, s.K + 1 - lag)
            sums.append((self.partial, turned * self.total.subs(count, lag - 1)))
        for closed, term in sums:
            difference = closed - closed.subs(count, count - 1) - term.subs(lag, count)
            need(
                closed.subs(count, 0) == 0 and is_zero(difference),
                f"{closed} is not the sum of {term}, lag = 1..count",
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
        for name, expr, absent in (
            ("weight", self.weight, {count, k}),
            ("total", self.total, {lag, k}),
            ("squares", self.squares, {lag, k}),
            ("partial", self.partial, {lag, k}),
            ("squared", self.squared, {lag, k, count}),
        ):
            if expr is None:
                continue
            other = variables - (
                {self.at, self.squared} if name == "squared" else set()
            )
            other -= (
                {self.at, self.before, self.squared} if name == "partial" else set()
            )
            strange = expression(expr).free_symbols & (absent | other)
            need(
                not strange,
                "{} = {} of a sum of weights must not contain {}",
                name,
                expr,
                strange,
            )

    @property
    def symbol_of_squares(self) -> sp.Symbol | None:
        """A symbol that is nothing but the sum of squares."""
        return (
            self.squared
            if type(self.squared) is sp.Symbol and self.squared != self.at
            else None
        )

    @property
    def meanings(self) -> dict[sp.Symbol, Expr]:
        """The symbols in closed form."""
        pairs = (
            (self.at, self.total.subs(count, s.K)),
            (self.before, self.total.subs(count, s.K - 1)),
            (self.symbol_of_squares, self.squares.subs(count, s.K)),
            (self.path, self.partial.subs(count, s.K)),
        )
        return {symbol: closed for symbol, closed in pairs if symbol is not None}

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
        """Return the sum of their squares."""
        return (
            self.squares.subs(count, n)
            if n != s.K or self.squared is None
            else self.squared
        )


PLAIN = Lag()
