"""Expressions as rational functions of variables.

Roots, maxima and powers with symbolic exponents become variables.

Each new variable has an interval, and facts that relate it to the others. What is
proved for all values of the variables in their intervals, where the facts are not
negative, holds for the values that they stand for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import sympy as sp
from sympy import QQ
from sympy.external.gmpy import MPQ

from dfltheory.bounds.inequalities.by_form import Glossary, quantity_of
from dfltheory.bounds.inequalities.polynomials import VariableRange
from dfltheory.bounds.real_numbers import has_poles
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr

_EULER = (sp.Rational(367879441, 10**9), sp.Rational(367879442, 10**9))
"""Rational numbers below and above 1/e."""


PowerExponents = dict[sp.Pow, tuple[sp.Integer, sp.Integer]]
"""Power -> the whole numbers c and j of its exponent c n + j."""


class NoProofError(ValueError):
    """The expression has a form for which no proof is implemented."""


class Rewriting:
    """New variables for roots, maxima, minima and powers with symbolic exponents.

    Parameters
    ----------
    expressions : everything that is to be rewritten
    holds : returns whether an expression without symbolic exponents is proved
        nonnegative
    intervals : those of symbols that are not quantities of the glossary, or have other
        ends
    glossary : the ranges of quantities

    Attributes
    ----------
    facts : expressions in the variables that are not negative
    meanings : variable -> what it stands for

    Raises
    ------
    NoProofError
        An exponent or a base is not of a known form.
    """

    def __init__(
        self,
        expressions: Iterable[Expr],
        holds: Callable[[Expr], bool],
        intervals: Mapping[sp.Symbol, VariableRange] = MappingProxyType({}),
        glossary: Glossary = GLOSSARY,
    ):
        self.glossary = glossary
        self.facts: list[Expr] = []
        self.meanings: dict[sp.Symbol, Expr] = {}
        self._holds = holds
        self._intervals = dict(intervals)
        self._replaced: list[dict[Expr, Expr]] = []
        parts = [sp.sympify(e) for e in expressions]
        for replace_some in (self._extrema, self._powers, self._roots):
            replacements = replace_some([*parts, *self.facts])
            while replacements:
                parts = [part.xreplace(replacements) for part in parts]
                self.facts = [fact.xreplace(replacements) for fact in self.facts]
                self._replaced.append(replacements)
                replacements = replace_some([*parts, *self.facts])
        if any(map(has_poles, (*parts, *self.facts, *self.meanings.values()))):
            raise NoProofError("an expression divides by 0")

    def of(self, expr: Expr) -> Expr:
        """Return an expression in the new variables."""
        for replacements in self._replaced:
            expr = expr.xreplace(replacements)
        return expr

    def back(self, expr: Expr) -> Expr:
        """Return an expression with what the new variables stand for in their place."""
        for variable, meaning in reversed(self.meanings.items()):
            expr = expr.xreplace({variable: meaning})
        return expr

    def interval(self, symbol: sp.Symbol) -> VariableRange:
        """Return the interval of a variable.

        Raises
        ------
        NoProofError
            The variable may be negative, and no end of its interval is known.
        """
        if symbol in self._intervals:
            return self._intervals[symbol]
        return interval_of(symbol, self.glossary)

    def _new(self, name: str, meaning: Expr, interval: VariableRange) -> sp.Symbol:
        variable = sp.Dummy(name, real=True)
        self.meanings[variable], self._intervals[variable] = meaning, interval
        return variable

    # -- maxima and minima

    def _extrema(self, parts: list[Expr]) -> dict[Expr, Expr]:
        """Return variables for the innermost maxima and minima."""
        replacements: dict[Expr, Expr] = {}
        extrema = {atom for part in parts for atom in part.atoms(sp.Max, sp.Min)}
        for extremum in sorted(extrema, key=sp.default_sort_key):
            if any(part.has(sp.Max, sp.Min) for part in extremum.args):
                continue
            largest = isinstance(extremum, sp.Max)
            signs = [bool(part.is_nonnegative) for part in extremum.args]
            if not (any(signs) if largest else all(signs)):
                raise NoProofError(f"{extremum} may be negative")
            variable = self._new("extremum", extremum, VariableRange())
            replacements[extremum] = variable
            sign = 1 if largest else -1
            self.facts += [sign * (variable - x) for x in extremum.args]
        return replacements

    # -- powers with symbolic exponents

    def _powers(self, parts: list[Expr]) -> dict[Expr, Expr]:
        """Return variables for the innermost powers with symbolic exponents."""
        powers = [p for p in _sorted_powers(parts) if p.exp.free_symbols]
        powers = [p for p in powers if not _contains_other(p, p, powers)]
        replacements: dict[Expr, Expr] = {}
        groups: dict[tuple[Expr, sp.Symbol], PowerExponents] = {}
        for power in powers:
            linear = _read_exponent(power.exp, self.glossary)
            if linear is None:
                replacements[power] = self._other_power(power)
            else:
                n, slope, start = linear
                groups.setdefault((power.base, n), {})[power] = (slope, start)
        for (base, n), exponents in groups.items():
            near_euler = sp.expand(n * (1 - base)) == 1  # the base is 1 - 1/n
            if (
                near_euler
                and least_value(n, self.glossary) >= 1
                and all(c == 1 and j in (-1, 0) for c, j in exponents.values())
            ):
                replacements |= {
                    p: self._near_euler(p, j) for p, (_, j) in exponents.items()
                }
            else:
                replacements |= self._powers_of(base, n, exponents)
        return replacements

    def _other_power(self, power: sp.Pow) -> sp.Symbol:
        """Return a variable for a power of a nonnegative base.

        It is at most 1 where the base is and the exponent is not negative.
        """
        base, exponent = power.args
        if not self._holds(base):
            raise NoProofError(f"{base} may be negative")
        at_most_one = exponent.is_nonnegative and self._holds(1 - base)
        return self._new(
            "power", power, VariableRange(high=QQ(1) if at_most_one else None)
        )

    def _powers_of(
        self, base: Expr, n: sp.Symbol, exponents: PowerExponents
    ) -> dict[Expr, Expr]:
        """Return the powers of one base by one variable.

        The variable is base^(n + j) with the least j: base^(c n + i) is a power of it
        times one of the base. The variable is in [0, 1] if the base is.
        """
        least = min(math.floor(start / slope) for slope, start in exponents.values())
        first = least_value(n, self.glossary) + least
        if first < 0 or not (self._holds(base) and self._holds(1 - base)):
            return {p: self._other_power(p) for p in exponents}
        variable = self._new("power", base ** (n + least), VariableRange(high=QQ(1)))
        if first >= 1:
            self.facts.append(base - variable)
        return {
            power: variable**slope * base ** (start - slope * least)
            for power, (slope, start) in exponents.items()
        }

    def _near_euler(self, power: Expr, shift: sp.Integer) -> sp.Symbol:
        """Return a variable for (1 - 1/n)^(n + shift), with shift 0 or -1.

        (1 - 1/n)^n <= 1/e <= (1 - 1/n)^(n - 1) for n = 1, 2, ... (and 0^0 = 1).
        """
        below, above = _EULER
        interval = (
            VariableRange(high=rational(above))
            if shift == 0
            else VariableRange(rational(below), QQ(1))
        )
        return self._new("power", power, interval)

    # -- roots

    def _roots(self, parts: list[Expr]) -> dict[Expr, Expr]:
        """Return variables for the roots.

        They are roots of a symbol, which becomes a power of its root, or of a sum.
        Roots of products are products of roots first.
        """
        roots = [
            p
            for p in _sorted_powers(parts)
            if p.exp.is_Rational and not p.exp.is_Integer
        ]
        roots = [p for p in roots if not _contains_other(p.base, p, roots)]
        products: dict[Expr, Expr] = {
            p: product for p in roots if (product := self._root_of_factors(p)) != p
        }
        if products:
            return products
        replacements: dict[Expr, Expr] = {}
        for base in dict.fromkeys(p.base for p in roots):
            roots_of_base = [p for p in roots if p.base == base]
            degree = math.lcm(*(int(sp.denom(p.exp)) for p in roots_of_base))
            root = base ** sp.Rational(1, degree)
            if isinstance(base, sp.Symbol):
                variable = self._new("root", root, self._root_interval(base))
                replacements[base] = variable**degree
            else:
                variable = self._new("root", root, VariableRange())
                self.facts += [variable**degree - base, base - variable**degree]
            replacements |= {p: variable ** (p.exp * degree) for p in roots_of_base}
        return replacements

    def _root_of_factors(self, root: sp.Pow) -> Expr:
        """Return a root of a quotient as a quotient of roots of its factors.

        The factors are nonnegative; where one may be negative the root itself is
        returned.
        """
        base, exponent = root.args
        if base.is_Symbol or base.is_Integer:
            return root
        over, under = sp.fraction(sp.together(base))
        numerator, factors = sp.factor_list(over)
        denominator, divisors = sp.factor_list(under)
        number = sp.Rational(numerator) / sp.Rational(denominator)
        product: Expr = sp.S.One
        for factor, power in (*factors, *((f, -power) for f, power in divisors)):
            sign = self._sign(factor)
            if sign == 0:
                return root
            number *= sign ** abs(power)
            product *= (sign * factor) ** (power * exponent)
        return number**exponent * product if number > 0 else root

    def _sign(self, factor: Expr) -> int:
        """Return 1 or -1 if a factor or its opposite is nonnegative, else 0."""
        meaning = self.back(factor)
        return int(self._holds(meaning)) or -int(self._holds(-meaning))

    def _root_interval(self, base: sp.Symbol) -> VariableRange:
        whole = self.interval(base)
        if whole.low < 0:
            raise NoProofError(f"{base} may be negative")
        low = QQ(1) if whole.low >= 1 else QQ(0)
        high = QQ(1) if whole.high == 1 else None
        return VariableRange(
            low, high, whole.open_low and low == whole.low, whole.open_high
        )


def interval_of(symbol: sp.Symbol, glossary: Glossary = GLOSSARY) -> VariableRange:
    """Return the interval of a quantity of the glossary, or of a symbol by its sign.

    Raises
    ------
    NoProofError
        The range of the quantity has no lower end, or the symbol is no quantity and may
        be negative.
    """
    entry = quantity_of(symbol, glossary)
    if entry is not None:
        if math.isinf(entry.low):
            raise NoProofError(f"{symbol} has no least value")
        high = None if math.isinf(entry.high) else rational(entry.high)
        return VariableRange(rational(entry.low), high, entry.open_low, entry.open_high)
    if symbol.is_integer and symbol.is_positive:
        return VariableRange(QQ(1))
    if symbol.is_nonnegative:
        return VariableRange(open_low=bool(symbol.is_positive))
    raise NoProofError(f"{symbol} may be negative")


def rational(number: Expr | float) -> MPQ:
    """Return a rational number of SymPy as an element of ``QQ``.

    Raises
    ------
    NoProofError
        The number is infinite or NaN, which ``sp.Rational`` takes for 0.
    """
    if sp.sympify(number).is_finite is not True:
        raise NoProofError(f"{number} is not a number")
    exact = sp.Rational(number)
    return QQ(int(exact.p), int(exact.q))


def _contains_other(part: Expr, power: sp.Pow, powers: list[sp.Pow]) -> bool:
    """Return whether a part of a power contains another one of the powers."""
    return any(other is not power and part.has(other) for other in powers)


def _sorted_powers(parts: Iterable[Expr]) -> list[sp.Pow]:
    powers = {power for part in parts for power in part.atoms(sp.Pow)}
    return sorted(powers, key=sp.default_sort_key)


def _read_exponent(
    exponent: Expr, glossary: Glossary
) -> tuple[sp.Symbol, sp.Integer, sp.Integer] | None:
    """Return n, c and j of an exponent c n + j, for a whole number n.

    c > 0 and j are whole. The result is None for other exponents.
    """
    if len(exponent.free_symbols) != 1 or not exponent.is_polynomial():
        return None
    (n,) = exponent.free_symbols
    poly = sp.Poly(exponent, n)
    if poly.degree() != 1 or not is_whole(n, glossary):
        return None
    slope, start = poly.all_coeffs()
    if isinstance(slope, sp.Integer) and isinstance(start, sp.Integer) and slope > 0:
        return n, slope, start
    return None


def is_whole(n: sp.Symbol, glossary: Glossary = GLOSSARY) -> bool:
    """Return whether a symbol is a whole number.

    Its assumptions or the glossary state this.
    """
    entry = quantity_of(n, glossary)
    return bool(n.is_integer) or (entry is not None and entry.integer)


def least_value(n: sp.Symbol, glossary: Glossary = GLOSSARY) -> int:
    """Return the least value of a whole number."""
    return math.ceil(interval_of(n, glossary).low)


__all__ = [
    "NoProofError",
    "Rewriting",
    "interval_of",
    "is_whole",
    "least_value",
    "rational",
]
