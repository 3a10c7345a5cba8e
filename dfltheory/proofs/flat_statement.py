"""The statement of a proof as flat text.

It lists the hypotheses, the conditions, the bound, and the quantities in which the
inequalities are proved.

The lines come in an order in which each needs only those before it: what is free of the
totals of weighted sums, the weights, the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TypeGuard

import sympy as sp
from sympy.printing.str import StrPrinter

from dfltheory.bounds.inequalities.polynomials import VariableRange
from dfltheory.bounds.inequalities.region import EVERYWHERE, Region
from dfltheory.bounds.inequalities.rewriting import rational
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.moments import Lag, is_zero
from dfltheory.proofs.script import Range, Script

WEIGHTS_NAME = "M"
"""The name of the weights of a sum; a proof has one kind of weights at most."""


class _Printer(StrPrinter):
    """Expressions of Python with rational numbers: powers, no roots."""

    def _print_Pow(self, expr: sp.Pow, rational: bool = False) -> str:
        return super()._print_Pow(expr, rational=True)


def expression_text(expr: Expr, names: Mapping[sp.Symbol, str]) -> str:
    """Return an expression as text, its symbols under other names."""
    renamed = {old: sp.Symbol(new) for old, new in names.items()}
    return _Printer().doprint(sp.sympify(expr).xreplace(renamed))


class FlatStatement:
    """The lines of a statement.

    Parameters
    ----------
    theorem : the statement
    script : its proof
    """

    def __init__(self, theorem: Theorem, script: Script):
        self.theorem, self.script = theorem, script
        self.lines: list[str] = []
        self.closed: dict[sp.Symbol, Expr] = {}
        for weights in script.lags:
            self.closed |= weights.meanings
        self.totals = {str(symbol) for symbol in self.closed}
        self.values = {old: new for old, new in script.values.items() if not new.is_Add}
        needed = set(self.totals)
        for new in self.values.values():
            needed |= {str(symbol) for symbol in new.free_symbols}
        self.ranges = [r for r in script.ranges if str(r.symbol) in needed]
        self.names: dict[sp.Symbol, str] = {}
        for declared in self.ranges:
            name = str(declared.symbol)
            self.names[declared.symbol] = name if name in self.totals else f"c_{name}"

    def expr(self, expr: Expr) -> str:
        """Return the text of an expression."""
        return expression_text(expr, self.names)

    def coefficient(self, expr: Expr) -> str:
        """Return the text of a coefficient.

        With a sum in its denominator it is one fraction in the quantities of the
        script, which keeps later sums short.
        """
        _, under = sp.fraction(sp.together(expr))
        roots = [p for p in expr.atoms(sp.Pow) if p.base.is_Add and p.exp.is_Rational]
        if not under.atoms(sp.Add) or not all(p.exp.is_Integer for p in roots):
            return self.expr(expr)
        new = expr.subs(self._replacements()).subs(self._simple_values())
        return self.expr(sp.factor(new))

    def _simple_values(self) -> dict[Expr, Expr]:
        return {old: new for old, new in self.values.items() if not _is_root(new)}

    def _replacements(self) -> dict[Expr, Expr]:
        """Return powers with an exponent n whose value is known, as lam^Q."""
        return {
            old ** (1 / new.exp): new.base
            for old, new in self.values.items()
            if _is_root(new)
        }

    def write_statement(self, uses: Iterable[Hypothesis]) -> None:
        """Write the lines that come before the algorithm.

        ``uses``: the hypotheses of the proof.
        """
        self.lines.append(f"claim {self.theorem.key}:{self.theorem.variant}")
        for text in self.theorem.assumptions:
            for hypothesis in self.script.grants.get(text, ()):
                if hypothesis in set(uses):
                    words = text.replace(" | ", " ; ").replace("\n", " ")
                    self.lines.append(f"assume {hypothesis.name} | {words}")
        self._write_part(False)
        for weights in self.script.lags:
            self._write_weights(weights)
        self._write_part(True)
        names = {str(x) for x in self.names}
        meanings = {r.symbol: r.means for r in self.ranges}
        for old, new in self.values.items():
            difference = new.subs(meanings) - old
            if not (_is_root(new) or is_zero(difference)):
                self.write_hint(difference)
                self.write_hint(-difference)
        for old, new in self.values.items():
            if {str(x) for x in new.free_symbols} & names:
                self._write_value(old, new)
        self._write_terms()

    def _has_weight_totals(self, expr: Expr) -> bool:
        """Return whether an expression has totals of the weights."""
        return bool({str(x) for x in expr.free_symbols} & self.totals)

    def _write_part(self, late: bool) -> None:
        for definition in self.theorem.definitions:
            used = self._with_totals(definition.symbol)
            if self._has_weight_totals(used) is late:
                self._write_definition(definition.symbol, definition.expr, used)
        for number, condition in enumerate(self.theorem.conditions, start=1):
            sides = (condition.left, condition.right)
            in_totals = map(self._with_totals, sides)
            if any(map(self._has_weight_totals, in_totals)) is late:
                left, right = map(self.expr, sides)
                self.lines.append(f"condition C{number} | {left} <= {right}")
                self.lines.append(f"hint 1 times C{number}")
        for declared in self.ranges:
            is_total = str(declared.symbol) in self.totals
            if (is_total or self._has_weight_totals(declared.means)) is late:
                self._write_coordinate(declared)

    def _with_totals(self, expr: Expr) -> Expr:
        """Return an expression with the totals of the weights as symbols."""
        known = {symbol: symbol for symbol in self.closed} | dict(self.script.names)
        definitions = self.theorem.expanded_definitions(known)
        replacements = {old: known.get(old, new) for old, new in definitions.items()}
        return sp.sympify(expr).xreplace(replacements)

    def _write_definition(self, symbol: sp.Symbol, formula: Expr, used: Expr) -> None:
        line = f"define {symbol} = {self.expr(formula)}"
        if self._has_weight_totals(used):
            line += f" | {self.expr(used)}"
        self.lines.append(line)

    def _write_coordinate(self, declared: Range) -> None:
        name, means = self.names[declared.symbol], declared.means
        end = "> 0" if declared.symbol.is_positive else ">= 0"
        line = f"coordinate {name} = {self.expr(means)} | {end}"
        if declared.high is not None:
            self.write_hint(declared.high - means)
            line += f" | <= {declared.high}"
        self.lines.append(line)

    def _write_weights(self, weights: Lag) -> None:
        for power in sorted(weights.weight.atoms(sp.Pow), key=str):
            if power.exp.free_symbols:
                self.write_hint(power.base)
        total_symbol, total_before = weights.at, weights.before
        sums = [weights.weight, weights.total, weights.squares]
        parts = [self.expr(x) for x in sums]
        parts += map(self._closed_form, (total_symbol, total_before, weights.squared))
        self.lines.append(f"weights {WEIGHTS_NAME} | {' | '.join(parts)}")

    def _closed_form(self, total: Expr | None) -> str:
        return "-" if total is None else self.expr(total)

    def _write_value(self, old: sp.Symbol, new: Expr) -> None:
        left, right = self.expr(old), self.expr(new)
        if _is_root(new):
            left, right = f"{left}**{1 / new.exp}", self.expr(new.base)
        self.lines.append(f"value {left} = {right}")

    def _write_terms(self) -> None:
        for number, part in enumerate(self.theorem.parts.values(), start=1):
            self.lines.append(f"term t{number} = {self.expr(part)}")

    def write_corollary(self, source: Theorem) -> None:
        """Write the lines by which this corollary follows from ``source``."""
        self.lines.append(f"corollary {self.theorem.key}:{self.theorem.variant}")
        self._write_part(False)
        self._write_part(True)
        schedule = {}
        if source.kind == "theorem" and self.theorem.kind != "theorem":
            schedule = {
                self.theorem.glossary[name].symbol: sp.sympify(value)
                for name, value in self.theorem.schedule.items()
            }
        for name, value in schedule.items():
            self.lines.append(f"schedule {name} = {self.expr(value)}")
        unchanged: dict[sp.Symbol, Expr] = {
            symbol: symbol
            for symbol, closed in self.closed.items()
            if not closed.free_symbols & set(schedule)
        }
        definitions = source.expanded_definitions(unchanged)
        for condition in source.conditions:
            slack = condition.slack.xreplace({**definitions, **unchanged})
            self.write_hint(slack.subs(schedule, simultaneous=True))
        self._write_terms()
        self.lines.append("follows")

    def write_hint(self, target: Expr) -> None:
        """Write a factor with which a condition is the target, if there is one."""
        for number, condition in enumerate(self.theorem.conditions, start=1):
            slack = self._with_totals(condition.slack)
            base, power = _power(self._with_totals(target))
            factor = _quotient(base, slack)
            if EVERYWHERE.holds(factor):
                text = self.expr(factor * power)
                self.lines.append(f"hint {text} times C{number}")
                return

    def write_hints(self, targets: Iterable[Expr]) -> None:
        """Write factors of conditions that help to show targets.

        They remove a quantity without upper end from targets in which its highest power
        has a negative coefficient.
        """
        bounded = {str(x) for x in self.names}
        written = set()
        for number, condition in enumerate(self.theorem.conditions, start=1):
            slack = self.coordinates(condition.slack)
            symbols = sorted(slack.free_symbols, key=str)
            free = [x for x in symbols if str(x) not in bounded]
            for symbol, target in itertools.product(free, targets):
                factor = _factor(self.coordinates(target), slack, symbol)
                if factor is None or factor in written:
                    continue
                if Region(intervals=self._intervals()).holds(factor):
                    written.add(factor)
                    self.lines.append(f"hint {self.expr(factor)} times C{number}")

    def coordinates(self, expr: Expr) -> Expr:
        """Return an expression in the quantities of the script."""
        replaced = self._with_totals(expr).subs(self._replacements())
        return replaced.subs(self._simple_values(), simultaneous=True)

    def _intervals(self) -> dict[sp.Symbol, VariableRange]:
        intervals = {}
        for declared in self.ranges:
            high = None if declared.high is None else rational(declared.high)
            intervals[declared.symbol] = VariableRange(high=high)
        return intervals


def _is_root(expr: Expr) -> TypeGuard[sp.Pow]:
    """Return whether it is an n-th root for a symbol n."""
    return isinstance(expr, sp.Pow) and (1 / expr.exp).is_Symbol


def _power(expr: Expr) -> tuple[Expr, Expr]:
    """Return b and b^(n - 1) for b^n with a symbol n, else the expression and 1."""
    if isinstance(expr, sp.Pow) and expr.exp.is_Symbol:
        return expr.base, expr.base ** (expr.exp - 1)
    return expr, sp.S.One


def _factor(target: Expr, slack: Expr, symbol: sp.Symbol) -> Expr | None:
    """Return the quotient of the coefficients of the highest power of a symbol.

    None if the two are not polynomials in the symbol of the same degree, 1 or more.
    """
    leading_terms = [_leading_term(x, symbol) for x in (target, slack)]
    (target_degree, target_lead), (slack_degree, slack_lead) = leading_terms
    if target_degree != slack_degree or target_degree == 0:
        return None
    return sp.factor(target_lead / slack_lead)


def _leading_term(expr: Expr, symbol: sp.Symbol) -> tuple[int, Expr]:
    """Return the degree in a symbol and the leading coefficient; 0, 0 if none."""
    over, under = sp.fraction(sp.together(expr))
    if under.has(symbol) or not over.is_polynomial(symbol):
        return 0, sp.S.Zero
    polynomial = sp.Poly(over, symbol)
    if polynomial.is_zero:
        return 0, sp.S.Zero
    return int(polynomial.degree()), polynomial.LC() / under


def _quotient(over: Expr, under: Expr) -> Expr:
    """Return a quotient in lowest terms, as one of the roots of its symbols."""
    quotient = over / under
    denominators = [sp.fraction(power.exp)[1] for power in over.atoms(sp.Pow)]
    if 2 not in denominators:
        return sp.factor(sp.cancel(quotient))
    roots = {x: sp.Dummy(str(x), positive=True) for x in quotient.free_symbols}
    squares = {x: root**2 for x, root in roots.items()}
    in_roots = sp.factor(sp.cancel(sp.powdenest(quotient.subs(squares))))
    return in_roots.subs({root: sp.sqrt(x) for x, root in roots.items()})
