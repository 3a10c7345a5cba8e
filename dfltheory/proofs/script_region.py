"""The region of a theorem in the quantities of a proof script.

A script names quantities without unit (``ranges``), the glossary's symbols in terms of
them (``values``), and the symbols of its weighted sums (``lags``). Each declaration is
proved before it is used; those that are not are listed in ``complaints``, and a proof
with complaints proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.polynomials import VariableRange
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.inequalities.rewriting import rational
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import real_expression, reality
from dfltheory.bounds.symbols import GLOSSARY, with_quantities
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs.moments import count, is_zero, k, lag

if TYPE_CHECKING:
    from dfltheory.proofs.script import Range, Script

_K = GLOSSARY["K"].symbol


def glossary_of(theorem: Theorem) -> Mapping[str, Quantity]:
    """Return the glossary with the quantities that a theorem adds and uses.

    A script may have a symbol with the name of one that the theorem only declares.
    """
    return with_quantities(q for q in theorem.quantities if q.name in theorem.symbols)


class ScriptRegion:
    """Where a theorem's conditions hold, in the quantities of a script.

    Attributes
    ----------
    complaints : declarations of the script that were not proved
    intervals : those of the quantities whose range was proved
    """

    def __init__(self, theorem: Theorem, script: Script):
        self.complaints: list[str] = []
        # of two blocks, k counts the steps of a phase: K_v or K_u of them, not K
        self._has_one_phase = not theorem.scope.two_blocks
        self.glossary = glossary_of(theorem)
        self.intervals: dict[sp.Symbol, VariableRange] = {}
        self._values: dict[sp.Symbol, Expr] = {}
        self._totals: dict[sp.Symbol, Expr] = {}
        self._symbols: dict[Expr, sp.Symbol] = {}
        # nothing is known of these yet
        self._pending = {r.symbol for r in script.ranges}
        self._sum_formulas = {
            symbol: form
            for weights in script.lags
            for symbol, form in weights.meanings.items()
        }
        self._check_definitions(theorem, script.names)
        self._slacks = [(self.expand(c.slack), c.strict) for c in theorem.conditions]
        self._check_values(script)
        self._find_positive_totals(script)
        self._check_new_symbols(theorem, script)
        for declared in script.ranges:
            self._check_range(declared, script)
        self._check_weights(theorem, script)
        self.complaints += [
            f"{old} = {new} may divide by 0"
            for old, new in self._values.items()
            if not self.is_real(new)
        ]

    # -- questions

    def holds(self, expr: Expr, strict: bool = False) -> bool:
        """Return whether ``expr >= 0`` (``> 0``) is proved under the conditions."""
        in_coordinates = self.coordinates(expr)
        conditions = []
        for slack, is_strict in self._slacks:
            right = self._in_quantities(slack)
            conditions.append(Condition("condition", sp.S.Zero, right, is_strict))
        symbols = in_coordinates.free_symbols
        if self._has_one_phase and k in symbols:
            conditions.append(Condition("steps", k + 1, _K))
        if self._has_one_phase and lag in symbols:
            conditions.append(Condition("steps", lag, _K))
        region = Region(conditions, self.intervals, glossary=self.glossary)
        return region.holds(in_coordinates, strict)

    def is_real(self, expr: Expr) -> bool:
        """Return whether it is a real, finite number under the conditions."""
        return all(
            self.holds(sign, strict) for sign, strict in reality(real_expression(expr))
        )

    def expand(self, expr: Expr) -> Expr:
        """``expr`` without the theorem's abbreviations."""
        return sp.sympify(expr).xreplace(self._given)

    def coordinates(self, expr: Expr) -> Expr:
        """``expr`` in the quantities of the ranges."""
        return self._in_quantities(self.expand(expr))

    def _in_quantities(self, expr: Expr) -> Expr:
        known = {
            old: new
            for old, new in self._values.items()
            if not new.free_symbols & self._pending
        }
        with_ranges = _merge_powers(expr).xreplace(self._symbols)
        in_symbols = with_ranges.subs(known, simultaneous=True)
        return _merge_powers(in_symbols).xreplace(self._totals)

    # -- declarations

    def _check_definitions(
        self, theorem: Theorem, names: Mapping[sp.Symbol, Expr]
    ) -> None:
        """Check the script's formulas of the theorem's abbreviations.

        The theorem's abbreviations that are sums of the script stay as they are, and
        the script's formulas of the others must equal the theorem's.
        """
        known: dict[sp.Symbol, Expr] = {symbol: symbol for symbol in self._sum_formulas}
        known |= names
        defined = {d.symbol for d in theorem.definitions}
        for symbol in known.keys() & defined:
            meaning = sp.sympify(known[symbol]).subs(list(self._sum_formulas.items()))
            if not is_zero(theorem.expand(symbol) - meaning):
                self.complaints.append(f"{symbol} is not what the theorem defines")
        self._given = {
            old: known.get(old, new)
            for old, new in theorem.expanded_definitions(known).items()
        }

    def _check_values(self, script: Script) -> None:
        """Check that values of symbols are identities.

        A glossary symbol in terms of the ranges must give itself again, where the
        conditions that are equalities hold.
        """
        meanings = {r.symbol: r.means for r in script.ranges}
        slacks = [slack for slack, _ in self._slacks]
        pairs = itertools.product(slacks, slacks)
        equations = list(dict.fromkeys(x for x, y in pairs if sp.expand(x + y) == 0))
        for old, new in script.values.items():
            back = _merge_powers(new.subs(meanings))
            if is_zero(back - old) or any(
                self._is_only_solution(back, equation, old) for equation in equations
            ):
                self._values[old] = new
            else:
                self.complaints.append(f"{old} = {new} is not an identity")

    def _is_only_solution(
        self, value: Expr, equation: Expr, unknown: sp.Symbol
    ) -> bool:
        """Return whether ``equation = 0`` gives an unknown this value.

        The equation must be linear in the unknown, with a slope that is not 0 wherever
        the conditions hold: rho eta = rho c does not give eta = c, as rho may be 0.
        """
        slope = sp.factor(sp.diff(equation, unknown))
        if unknown in slope.free_symbols | value.free_symbols:
            return False
        return is_zero(equation.subs(unknown, value)) and (
            self.holds(slope, strict=True) or self.holds(-slope, strict=True)
        )

    def _find_positive_totals(self, script: Script) -> None:
        """Note which totals of weights are positive.

        The sum of K >= 1 weights is at least the first of them, which is positive.
        """
        for weights in script.lags:
            total = weights.at
            if total is None or total in self._totals:
                continue
            first_weight = weights.weight.subs(lag, 1)
            if self.holds(first_weight, strict=True) and self.holds(weights.weight):
                self._totals[total] = sp.Symbol(total.name, positive=True)

    def _check_weights(self, theorem: Theorem, script: Script) -> None:
        """Check that weights are not negative, as the symbols of their sums are not.

        The conditions are without these symbols: their signs are what is to be proved.
        """
        sums = list(self._sum_formulas.items())
        conditions = []
        if self._has_one_phase:
            conditions.append(Condition("steps", lag, _K))
        for c in theorem.conditions:
            slack = theorem.expand(c.slack).subs(sums)
            if not slack.free_symbols & self._sum_formulas.keys():
                conditions.append(Condition(c.name, sp.S.Zero, slack, c.strict))
        region = Region(conditions, glossary=self.glossary)
        for weights in script.lags:
            weight = weights.weight
            in_sums = weight.free_symbols & self._sum_formulas.keys()
            if weights.meanings and (in_sums or not region.holds(weight)):
                self.complaints.append(f"the weight {weight} of a sum may be negative")

    def _check_new_symbols(self, theorem: Theorem, script: Script) -> None:
        """Check that a range names a new quantity, or a positive total of weights."""
        symbols_in_use = [*(d.symbol for d in theorem.definitions), *self._sum_formulas]
        names_in_use = {*self.glossary, *map(str, (k, lag, count, *symbols_in_use))}
        totals = {}
        for weights in script.lags:
            if weights.at is not None:
                totals[str(weights.at)] = self._sum_formulas[weights.at]
        names = [str(r.symbol) for r in script.ranges]
        new_symbols = {r.symbol for r in script.ranges}
        for name, declared in zip(names, script.ranges, strict=True):
            if name in totals:
                is_total = is_zero(declared.means - totals[name])
                is_new = name not in self.glossary and is_total
            else:
                is_new = name not in names_in_use
            nonnegative = sp.Symbol(name, nonnegative=True)
            positive = sp.Symbol(name, positive=True)
            has_sign = declared.symbol in (nonnegative, positive)
            is_explained = not new_symbols & declared.means.free_symbols
            is_unique = names.count(name) == 1
            if not (is_new and is_unique and has_sign and is_explained):
                self.complaints.append(
                    f"the range of {name} is not that of a new quantity"
                )

    def _check_range(self, declared: Range, script: Script) -> None:
        """Take a quantity into the coordinates if its range is proved."""
        if not (self._ends_follow(declared) and self.is_real(declared.means)):
            self.complaints.append(f"the range of {declared.symbol} does not follow")
            return
        self._pending -= {declared.symbol}
        self._symbols[declared.means] = declared.symbol
        high = None if declared.high is None else rational(declared.high)
        self.intervals[declared.symbol] = VariableRange(
            high=high, open_low=bool(declared.symbol.is_positive)
        )
        self._find_positive_totals(script)

    def _ends_follow(self, declared: Range) -> bool:
        """Return whether the ends of a range follow from the conditions."""
        means = declared.means
        at_least = declared.symbol in self._totals.values() or self.holds(
            means, strict=bool(declared.symbol.is_positive)
        )
        if not at_least or declared.low != 0 or declared.high is None:
            return at_least and declared.low == 0
        forms = (means, means.subs(self._sum_formulas))
        return bool(declared.high.is_Rational) and any(
            self.holds(declared.high - form) for form in forms
        )


def _merge_powers(expr: Expr) -> Expr:
    """Return an expression with x^(a b) for (x^a)^b, where x >= 0."""

    def is_power_of_power(e: Expr) -> bool:
        if not (isinstance(e, sp.Pow) and isinstance(e.base, sp.Pow)):
            return False
        return bool(e.base.base.is_nonnegative)

    def merged(e: sp.Pow) -> Expr:
        base, inner_exponent = e.base.args
        return base ** sp.simplify(inner_exponent * e.exp)

    return expr.replace(is_power_of_power, merged)


__all__ = ["ScriptRegion"]
