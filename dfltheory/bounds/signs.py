"""Signs of expressions where a theorem's conditions hold: by the signs of coefficients on boxes, exactly."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import sympy as sp

from dfltheory.bounds.checks.forms import nonnegative, positive
from dfltheory.bounds.moments import count, is_zero, k, lag
from dfltheory.bounds.real_numbers import expression, has_poles, reality
from dfltheory.bounds.symbols import BUILT_IN, GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr

if TYPE_CHECKING:
    from dfltheory.bounds.script import Range, Script

_HALVINGS, _FACTORED = 1, 100
_SHARES = tuple(sp.Rational(n, 16) for n in (1, 8, 15, 16))
"""How far from the low ends of a box toward its high ends it is asked whether something is negative."""
_MORE = sp.Dummy("more", nonnegative=True)
_MARGIN = sp.Rational(1, 1000)


class Algebra:
    """Signs of expressions where a theorem's conditions hold, in exact arithmetic."""

    def __init__(self, theorem: Theorem, script: Script):
        self.complaints: list[str] = []
        self.box: dict[sp.Symbol, tuple[Expr, Expr]] = {}
        self.values: dict[sp.Symbol, Expr] = {}
        self.positive: dict[sp.Symbol, Expr] = {}
        self.whole: dict[Expr, sp.Symbol] = {}
        self.pending = {r.symbol for r in script.ranges}  # nothing is known of these yet
        closed = {symbol: form for weights in script.lags for symbol, form in weights.meanings.items()}
        self._definitions(theorem, script.names, closed)
        self.slacks = [(self.expand(c.slack), c) for c in theorem.conditions]
        self.traded = script.traded
        self._values(script)
        spoken = (*(x for x, _ in self.slacks), *script.values, *script.values.values(), *closed)
        self.bound = set().union({k}, *(e.free_symbols for e in spoken))
        self._sums(script)
        self._fresh(theorem, script, closed)
        for r in script.ranges:
            if not (self._follows(r, closed) and self.is_real(r.means)):
                self.complaints.append(f"the range of {r.symbol} does not follow")
                continue
            self.pending -= {r.symbol}
            self.whole[r.means] = r.symbol
            if r.high is not None:
                self.box[r.symbol] = (r.low, r.high)
                self._sums(script)
        self.complaints += [f"{old} = {new} may divide by 0" for old, new in self.values.items()
                            if not self.is_real(new)]  # fmt: skip

    def is_real(self, expr: Expr) -> bool:
        """Is it a real, finite number wherever the theorem's conditions hold?"""
        strict = [slack for slack, c in self.slacks if c.strict]
        return all(
            self.holds(sign, strict=sure) or any(_share_of(sign / slack**2) for slack in strict)
            for sign, sure in reality(expression(expr))
        )

    def _fresh(self, theorem: Theorem, script: Script, closed: Mapping[sp.Symbol, Expr]) -> None:
        """A range names a new quantity, or the positive total of a sum's weights, which is what it is."""
        defined = {str(d.symbol) for d in theorem.definitions}
        totals = {str(w.at): closed[w.at] for w in script.lags if w.at is not None}
        sums, own = {str(symbol) for symbol in closed}, {r.symbol for r in script.ranges}
        for i, r in enumerate(script.ranges):
            name, total = str(r.symbol), totals.get(str(r.symbol))
            twice = name in {str(other.symbol) for other in script.ranges[:i]}
            known = name in {*BUILT_IN, *theorem.symbols, *map(str, (k, lag, count))}
            other = name in defined | sums if total is None else not is_zero(r.means - total)
            signed = r.symbol in (sp.Symbol(name, nonnegative=True), sp.Symbol(name, positive=True))
            if twice or known or other or not signed or own & r.means.free_symbols:
                self.complaints.append(f"the range of {name} is not that of a new quantity")

    def _sums(self, script: Script) -> None:
        """The sum of K >= 1 weights is no less than the first of them, which is positive."""
        for weights in script.lags:
            first = self.holds(weights.weight.subs(lag, 1), strict=True) and self.holds(weights.weight)
            if weights.at is not None and weights.at not in self.positive and first:
                self.positive[weights.at] = sp.Symbol(weights.at.name, positive=True)

    def _definitions(
        self, theorem: Theorem, names: Mapping[sp.Symbol, Expr], closed: Mapping[sp.Symbol, Expr]
    ) -> None:
        """The theorem's own abbreviations: those of the script's sums stay, what it names otherwise is so."""
        known = {symbol: symbol for symbol in closed} | dict(names)
        for symbol, name in known.items():
            if symbol in {d.symbol for d in theorem.definitions} and not is_zero(
                theorem.expand(symbol) - sp.sympify(name).subs(list(closed.items()))
            ):
                self.complaints.append(f"{symbol} is not what the theorem defines")
        self.given = {old: known.get(old, new) for old, new in theorem.expanded_definitions(known).items()}

    def _values(self, script: Script) -> None:
        """A glossary symbol in terms of the ranges must give itself again, where the conditions that are
        equalities hold."""
        means = {r.symbol: r.means for r in script.ranges}
        zero = [x for x, _ in self.slacks if any(sp.expand(x + y) == 0 for y, _ in self.slacks)]
        for old, new in script.values.items():
            back = _merged(new.subs(dict(means)))
            roots = [sp.solve(x, old) for x in zero]
            if is_zero(back - old) or any(len(ys) == 1 and is_zero(back - ys[0]) for ys in roots):
                self.values[old] = new
            else:
                self.complaints.append(f"{old} = {new} is no identity")

    def _follows(self, r: Range, closed: Mapping[sp.Symbol, Expr]) -> bool:
        """Do the ends of a range follow from its form and from one of the theorem's conditions?"""
        sign = positive if r.symbol.is_positive else nonnegative
        strict = [slack for slack, c in self.slacks if c.strict]
        below = r.low == 0 and (
            sign(r.means.xreplace(self.positive))
            or r.symbol in self.positive.values()
            or any(_share_of(r.means * slack) for slack in strict)
            or self.holds(r.means, strict=bool(r.symbol.is_positive))
        )
        return below and (
            r.high is None
            or nonnegative(r.high - r.means)
            or any(_share_of(slack / (r.high - r.means)) for slack, _ in self.slacks)
            or self.holds((r.high - r.means).subs(dict(closed)))
        )

    def expand(self, expr: Expr) -> Expr:
        """``expr`` without the theorem's abbreviations."""
        return sp.sympify(expr).xreplace(self.given)

    def coordinates(self, expr: Expr) -> Expr:
        """``expr`` in the quantities of the ranges: what is decided wherever these lie in their box."""
        return self._there(_merged(self.expand(expr)).xreplace(self.whole))

    def holds(self, expr: Expr, strict: bool = False) -> bool:
        """Is ``expr >= 0`` (``> 0``) wherever the theorem's conditions hold? Only a proof says yes."""
        there = _merged(self.expand(expr)).xreplace(self.whole)
        if has_poles(there):
            return False
        for most in there.atoms(sp.Max):  # no less than each of what it is the largest of
            more = sp.Dummy("more", nonnegative=True)
            low = [sp.S.Zero] * any(x.is_nonnegative for x in most.args)
            return any(self.holds(there.xreplace({most: x + more}), strict) for x in (*low, *most.args))
        if strict:
            there = self._there(there)
            return self._positive(there) or self._sign(there - _MARGIN)
        if self.traded in there.free_symbols:
            return nonnegative(there) or self._apart(there) or self._trade(there, self.traded)
        return self._apart(there) or self._sign(self._there(there))

    def _trade(self, whole: Expr, x: Any) -> bool:
        """Is it a multiple of a condition, and a rest without the traded x? Both are affine in x^2."""
        for slack, _ in self.slacks:
            (start, slope), (low, down) = (_affine(part, x) for part in (whole, slack))
            if slope is None or not down:
                continue
            share = sp.factor(slope / down)
            if self._sign(self._there(share)) and self._sign(self._there(start - share * low)):
                return True
        return False

    def _there(self, expr: Expr) -> Expr:
        """In the quantities of the ranges."""
        values = {x: y for x, y in self.values.items() if not y.free_symbols & self.pending}
        there = _merged(expr.subs(values, simultaneous=True)).xreplace(self.positive)
        return there.xreplace({GLOSSARY["K"].symbol: 1 + _MORE + (k if k in there.free_symbols else 0)})

    def _apart(self, total: Expr) -> bool:
        """Is it a sum of such expressions, one for each product of symbols that no condition speaks of?"""
        others, parts = total.free_symbols - self.bound, {}
        for term in (t for u in sp.Add.make_args(total) for t in _terms(u, others)):
            c, rest = term.as_independent(*others, as_Add=False)
            parts[rest] = parts.get(rest, sp.S.Zero) + c
        return len(parts) > 1 and all(nonnegative(r) and self._sign(self._there(c)) for r, c in parts.items())

    def _sign(self, expr: Expr) -> bool:
        if expr.is_nonnegative:
            return True
        if expr.is_Pow:
            return (expr.exp.is_even and expr.base.is_real) or self._sign(expr.base)
        if expr.is_Mul:
            return all(self._sign(factor) for factor in _turned(expr).args)
        over, under = sp.fraction(sp.together(expr))
        if under != 1:
            return self._sign(under) and self._sign(over)
        if self._polynomial(expr) or nonnegative(expr):
            return True
        return not self._hopeless(expr) and self._polynomial(sp.factor(expr))

    def _hopeless(self, expr: Expr) -> bool:
        """Is it too long to be factored, or negative at one of a few rational points of the box?"""
        if sp.count_ops(expr) > _FACTORED:
            return True
        for share in _SHARES:
            point = {x: 1 + sp.ceiling(9 * share) if x.is_integer else 3 * share for x in expr.free_symbols}
            inside = {x: low + (high - low) * share for x, (low, high) in self.box.items()}
            if expr.xreplace(point | inside).is_negative:
                return True
        return False

    def _polynomial(self, expr: Expr) -> bool:
        if expr.is_Mul:
            return self._sign(expr)
        if not expr.is_polynomial(*expr.free_symbols):
            return nonnegative(expr)
        box = {x: ends for x, ends in self.box.items() if x in expr.free_symbols}
        others = [x for x in expr.free_symbols if x not in box]
        if not all(x.is_nonnegative for x in others):
            return False
        parts = sp.Poly(expr, *others).coeffs() if others else [expr]
        return all(_bernstein(part, box, _HALVINGS) for part in parts)

    def _positive(self, expr: Expr) -> bool:
        """A quotient of products of polynomials without a negative coefficient over the box, of which at
        every corner a term is positive by its symbols."""
        if positive(expr):
            return True
        if expr.is_Pow:
            return self._positive(expr.base) or (expr.exp.is_even and self._positive(sp.expand(-expr.base)))
        if self._hopeless(expr):
            return False
        over, under = sp.fraction(sp.factor(expr))
        if under != 1 or over.is_Mul:  # an even number of its factors is negative, and no other is
            factors = (*sp.Mul.make_args(over), *sp.Mul.make_args(under))
            turned = [sp.expand(-f) for f in factors if not self._positive(f)]
            return len(turned) % 2 == 0 and all(map(self._positive, turned))
        box = {x: ends for x, ends in self.box.items() if x in over.free_symbols}
        if not over.is_polynomial(*over.free_symbols):
            return False
        moved = _moved(over, box)
        inside = sp.Poly(moved, *(_inside(x) for x in box)) if box else sp.Poly(moved, sp.Dummy())
        degrees = [sp.Poly(over, x).degree() for x in box] or [0]  # those of the box, its far end included
        corners = itertools.product(*({0, d} for d in degrees))
        return all(x.is_nonnegative for c in inside.coeffs() for x in sp.Add.make_args(sp.expand(c))) and all(
            any(x.is_positive for x in sp.Add.make_args(sp.expand(inside.coeff_monomial(corner))))
            for corner in corners
        )


def _terms(product: Expr, others: set[sp.Basic]) -> tuple[Any, ...]:
    """The terms of a product, one of whose factors is a sum with some of the symbols."""
    sums = any(f.is_Add and f.free_symbols & others for f in sp.Mul.make_args(product))
    spread: Any = sp.expand_mul(product, deep=False)
    return sp.Add.make_args(spread) if sums else (product,)


def _affine(expr: Expr, x: sp.Symbol) -> tuple[Expr, Expr | None]:
    """c and d of c + d x^2; d is None where it is something else."""
    start = expr.subs(x, 0)
    slope = sp.factor((expr - start) / x**2)
    return start, None if x in slope.free_symbols else slope


def _share_of(ratio: Expr) -> bool:
    """Is a quotient positive by its form?"""
    factored: Expr = sp.factor(ratio)
    number, rest = factored.as_coeff_Mul()
    return positive(rest) if number > 0 else positive(sp.expand(-rest))


def _merged(expr: Expr) -> Expr:
    """(x^(1/Q))^Q is x for x >= 0; so for other powers, where x > 0."""
    return expr.replace(lambda e: e.is_Pow and e.base.is_Pow
                        and (e.base.base.is_nonnegative or positive(e.base.base)),
                        lambda e: e.base.base ** sp.simplify(e.base.exp * e.exp))  # fmt: skip


def _turned(product: Expr) -> Expr:
    """A negative number in front goes into the first sum among the factors that may be negative."""
    number, rest = product.as_coeff_Mul()
    sums = [f for f in sp.Mul.make_args(rest) if f.is_Add and not f.is_nonnegative]
    return -number * (rest / sums[0]) * sp.expand(-sums[0]) if number < 0 and sums else product


@cache
def _inside(x: sp.Symbol) -> sp.Symbol:
    """What x = (low + high u)/(1 + u) is written in."""
    return sp.Dummy(f"u_{x}", nonnegative=True)


def _moved(expr: Expr, box: Mapping[sp.Symbol, tuple[Expr, Expr]]) -> Expr:
    """A polynomial over a box, times powers of 1 + u, in the u >= 0 of :func:`_inside`."""
    for x, (low, high) in box.items():
        poly, u = sp.Poly(expr, x), _inside(x)
        parts = (c * (low + high * u) ** i * (1 + u) ** (poly.degree() - i) for (i,), c in poly.terms())
        expr = sum(parts, sp.S.Zero)
    return expr


def _bernstein(expr: Expr, box: Mapping[sp.Symbol, tuple[Expr, Expr]], halvings: int) -> bool:
    """Is a polynomial without negative values on a box (and for all other symbols >= 0), by the signs of its
    coefficients in the u of :func:`_moved` (Bernstein's), and by halving?"""
    moved = _moved(expr, box)
    if (
        all(c >= 0 for c in sp.Poly(moved, *moved.free_symbols).coeffs())
        if moved.free_symbols
        else moved >= 0
    ):
        return True
    if not halvings or not box:
        return False
    x = max(box, key=lambda x: box[x][1] - box[x][0])
    middle = (box[x][0] + box[x][1]) / 2
    halves = ((box[x][0], middle), (middle, box[x][1]))
    return all(_bernstein(expr, {**box, x: half}, halvings - 1) for half in halves)
