"""Canonical form of a statement, and its hash.

Two statements with equal canonical forms make the same claim, however they are written:
the order of terms and conditions, the names of terms and definitions, prose, the file
format and the version of SymPy do not matter. What counts: the bound, the conditions,
the left-hand side, the schedule, the scope, the quantities that a statement adds to the
glossary, and a user's functions that evaluate its definitions. A formula becomes a sum
of monomials with exact rational coefficients; products of sums are not expanded, so
that a formula that was rearranged may have another hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sympy as sp

from dfltheory.bounds.computed import read_computation
from dfltheory.bounds.measures import MEASURES
from dfltheory.bounds.symbols import GLOSSARY, WRITTEN_OUT, Quantity
from dfltheory.bounds.units import Expr, Unit

if TYPE_CHECKING:
    from dfltheory.bounds.clauses import Condition, LeftSide, Statement

FORMAT = 1
DISPLAY_ONLY = frozenset({"latex", "averaging", "carries", "notation"})
"""Fields of a left-hand side or a scope that do not change the claim; the measure
determines ``carries``.
"""
UNORDERED = frozenset({sp.Max, sp.Min})
LARGEST_POWER = 10_000
"""Numbers are raised to whole powers up to this; beyond it they stay as powers."""
LARGEST_PRIME = 1000
"""Bases of powers that are numbers are divided by primes up to this."""

PACKAGE = __name__.partition(".")[0]


# -- formulas


@dataclass(frozen=True)
class LinearCombination:
    """A sum of monomials: (monomial, coefficient) pairs, sorted, without zero
    coefficients.
    """

    terms: tuple[tuple[Monomial, Fraction], ...] = ()

    @property
    def constant(self) -> Fraction | None:
        """Its value if it is a number."""
        if not self.terms:
            return Fraction(0)
        monomial, coefficient = self.terms[0]
        is_number = len(self.terms) == 1 and not monomial
        return coefficient if is_number else None

    def __str__(self) -> str:
        return " + ".join(_term_text(*term) for term in self.terms) or "0"


Monomial = tuple[tuple[str, LinearCombination], ...]
"""A product of powers: (base, exponent) pairs, sorted by base."""

Powers = dict[str, LinearCombination]


def formula_text(formula: Expr) -> str:
    """Return the canonical form of a formula as text."""
    return str(_expression(sp.sympify(formula)))


def _term_text(monomial: Monomial, coefficient: Fraction) -> str:
    return "*".join(
        [str(coefficient), *(f"{base}^({exponent})" for base, exponent in monomial)]
    )


def _combination(terms: Mapping[Monomial, Fraction]) -> LinearCombination:
    kept = [
        (monomial, coefficient)
        for monomial, coefficient in terms.items()
        if coefficient
    ]
    return LinearCombination(tuple(sorted(kept, key=lambda term: _term_text(*term))))


def _number(value: Fraction | int) -> LinearCombination:
    return _combination({(): Fraction(value)})


ONE = _number(1)


def _base(text: str, exponent: LinearCombination = ONE) -> LinearCombination:
    return _product(Fraction(1), {text: exponent})


def _add(summands: list[LinearCombination]) -> LinearCombination:
    total: dict[Monomial, Fraction] = {}
    for summand in summands:
        for monomial, coefficient in summand.terms:
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return _combination(total)


_SUMS: dict[str, LinearCombination] = {}
"""Sums by the text that stands for them as the base of a power."""


def _sum_base(value: LinearCombination) -> str:
    """Return the text of a sum as the base of a power."""
    text = f"({value})"
    _SUMS[text] = value
    return text


def _product(coefficient: Fraction, powers: Powers) -> LinearCombination:
    """``coefficient`` times the powers.

    Powers of primes lose their whole part to the coefficient.
    """
    kept: Powers = {}
    for base, exponent in powers.items():
        value = exponent.constant
        if base.isdecimal() and value is not None and abs(value) <= LARGEST_POWER:
            whole = math.floor(value)
            coefficient *= Fraction(int(base)) ** whole
            exponent = _number(value - whole)
        if exponent.terms:
            kept[base] = exponent
    if len(kept) == 1:
        ((base, exponent),) = kept.items()
        if base in _SUMS and exponent == ONE:  # the reciprocal of a reciprocal
            return _combination(
                {part: coefficient * value for part, value in _SUMS[base].terms}
            )
    return _combination(
        {tuple(sorted(kept.items(), key=lambda power: power[0])): coefficient}
    )


def _multiply(factors: list[LinearCombination]) -> LinearCombination:
    """Return the product.

    A number times a sum is multiplied out; a product of sums is not.
    """
    coefficient = Fraction(1)
    powers: Powers = {}
    for factor in factors:
        content, primitive = _primitive(factor)
        coefficient *= content
        if len(primitive.terms) == 1:
            monomial = primitive.terms[0][0]
        elif primitive.terms:
            monomial = ((_sum_base(primitive), ONE),)
        else:
            return LinearCombination()
        for base, exponent in monomial:
            powers[base] = _add([powers.get(base, LinearCombination()), exponent])
    return _product(coefficient, powers)


def _primitive(value: LinearCombination) -> tuple[Fraction, LinearCombination]:
    """``value`` as a number times a sum whose coefficients are whole numbers without a
    common divisor; the number is positive unless ``value`` has a single term.
    """
    if not value.terms:
        return Fraction(1), value
    coefficients = [coefficient for _, coefficient in value.terms]
    if len(coefficients) == 1:
        content = coefficients[0]
    else:
        divisor = math.gcd(*(c.numerator for c in coefficients))
        multiple = math.lcm(*(c.denominator for c in coefficients))
        content = Fraction(divisor, multiple)
    return content, _combination({monomial: c / content for monomial, c in value.terms})


def _power(
    base: LinearCombination, exponent: LinearCombination, nonnegative: bool
) -> LinearCombination:
    """``base`` to ``exponent``; ``nonnegative``: every symbol in ``base`` is."""
    content, primitive = _primitive(base)
    value = exponent.constant
    whole = value is not None and value.denominator == 1
    if not base.terms or (content < 0 and not whole):
        return _base(_sum_base(base), exponent)
    powers: Powers = {}
    if len(primitive.terms) == 1:
        inner = primitive.terms[0][0]
        if not whole and not (nonnegative and all(_is_name(name) for name, _ in inner)):
            return _multiply(
                [
                    _number_power(content, exponent),
                    _base(_sum_base(primitive), exponent),
                ]
            )
        for name, old in inner:
            powers[name] = _multiply([old, exponent])
    elif value == 1:
        return base
    else:
        powers[_sum_base(primitive)] = exponent
    return _multiply([_number_power(content, exponent), _product(Fraction(1), powers)])


def _is_name(base: str) -> bool:
    return base.isidentifier() or base.isdecimal()


def _number_power(number: Fraction, exponent: LinearCombination) -> LinearCombination:
    value = exponent.constant
    if value is not None and value.denominator == 1 and abs(value) <= LARGEST_POWER:
        return _number(number ** int(value))
    minus = _multiply([_number(-1), exponent])
    powers: Powers = {}
    for prime, multiplicity in _factors(number.numerator).items():
        powers[prime] = _multiply([_number(multiplicity), exponent])
    for prime, multiplicity in _factors(number.denominator).items():
        powers[prime] = _multiply([_number(multiplicity), minus])
    return _product(Fraction(1), powers)


def _factors(number: int) -> dict[str, int]:
    """Prime factors up to ``LARGEST_PRIME`` with their multiplicities, and what
    remains.
    """
    found: dict[str, int] = {}
    for divisor in range(2, LARGEST_PRIME + 1):
        while number % divisor == 0:
            found[str(divisor)] = found.get(str(divisor), 0) + 1
            number //= divisor
    if number != 1:
        found[str(number)] = 1
    return found


def _expression(formula: Expr) -> LinearCombination:
    if not formula.args:
        return _atom(formula)
    arguments = [_expression(argument) for argument in formula.args]
    if isinstance(formula, sp.Add):
        return _add(arguments)
    if isinstance(formula, sp.Mul):
        return _multiply(arguments)
    if isinstance(formula, sp.Pow):
        nonnegative = all(symbol.is_nonnegative for symbol in formula.base.free_symbols)
        return _power(arguments[0], arguments[1], nonnegative)
    if isinstance(formula, sp.exp):
        return _base("exp(1)", arguments[0])
    texts = [str(argument) for argument in arguments]
    if formula.func in UNORDERED:
        texts = sorted(set(texts))
    return _base(f"{formula.func.__name__}({', '.join(texts)})")


def _atom(formula: Expr) -> LinearCombination:
    """Return a number, a symbol or a constant."""
    if isinstance(formula, sp.Rational):
        return _number(Fraction(int(formula.p), int(formula.q)))
    if isinstance(formula, sp.Float):
        return _number(Fraction(repr(float(formula))))
    if isinstance(formula, sp.Symbol):
        return _base(formula.name)
    if formula == sp.E:
        return _base("exp(1)")
    return _base(str(formula))


# -- statements


def canonical_document(statement: Statement) -> dict[str, Any]:
    """Return the canonical form of a statement as plain data."""
    return {
        "format": FORMAT,
        "relation": _relation(statement),
        "left": _left_side(statement.lhs),
        "bound": formula_text(statement.bound),
        "conditions": sorted(
            {_condition(statement, condition) for condition in statement.conditions}
        ),
        "schedule": {
            name: formula_text(statement.expand(e))
            for name, e in statement.schedule.items()
        },
        "scope": _fields(statement.scope),
        "quantities": _own_quantities(statement),
    } | _numeric_functions(statement)


def _left_side(left: LeftSide) -> dict[str, Any]:
    """Return the left-hand side; a measure of the package determines its unit."""
    found = _fields(left)
    if left.measure in MEASURES:
        found.pop("unit", None)
    return found


def statement_hash(statement: Statement) -> str:
    """Return a digest of the canonical form: 32 hexadecimal digits."""
    text = json.dumps(
        canonical_document(statement), sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def _relation(statement: Statement) -> str:
    """How the left-hand side relates to the bound, and whether the schedule is
    imposed.
    """
    if statement.kind in ("lower bound", "definition"):
        sign = {"lower bound": ">=", "definition": "="}[statement.kind]
        return f"{sign} O(.)" if statement.order else sign
    if statement.order:
        return "O(.)"
    if statement.kind == "corollary" and statement.schedule:
        return "<= under the schedule"
    return "<="


def _condition(statement: Statement, condition: Condition) -> str:
    left, right = (
        formula_text(statement.expand(side))
        for side in (condition.left, condition.right)
    )
    return f"{left} {'<' if condition.strict else '<='} {right}"


def _fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their defaults, so that a new field
    with a default changes no hash.
    """
    found: dict[str, Any] = {}
    for entry in fields(record):
        if entry.name in DISPLAY_ONLY:
            continue
        value = _plain(getattr(record, entry.name))
        default = entry.default
        if entry.default_factory is not MISSING:
            default = entry.default_factory()
        if default is MISSING or value != _plain(default):
            found[entry.name] = value
    return found


def _plain(value: Any) -> Any:
    """Return a field's value as plain data.

    Numbers are exact, and the order of a list does not count.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, sp.Basic):
        return formula_text(value)
    if isinstance(value, int | float):
        return _exact_number(value)
    if isinstance(value, str):
        return _name(value)
    if isinstance(value, Unit):
        return [str(exponent) for _, exponent in value.scales]
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return sorted((_plain(entry) for entry in value), key=json.dumps)
    if isinstance(value, type):
        return _name(f"{value.__module__}:{value.__qualname__}")
    return f"law: {getattr(value, '__qualname__', type(value).__name__)}"


def _exact_number(value: float) -> str:
    """Return a number as a fraction; infinities and NaN by name."""
    if isinstance(value, int):
        return str(int(value))
    if not math.isfinite(value):
        return repr(value)
    return str(Fraction(repr(float(value))))


def _name(text: str) -> str:
    """Return a class of this package by its name alone, as theorem files write it.

    Other text as it is.
    """
    module, colon, name = text.rpartition(":")
    return name if colon and module.partition(".")[0] == PACKAGE else text


def _numeric_functions(statement: Statement) -> dict[str, Any]:
    """The functions of a user that evaluate definitions in place of their formulas, by
    that formula; those of this package are tested against the formula.
    """
    found: dict[str, str] = {}
    for definition in statement.definitions:
        module = getattr(definition.numeric, "__module__", None) or ""
        if definition.numeric is not None and module.partition(".")[0] != PACKAGE:
            name = getattr(
                definition.numeric, "__qualname__", type(definition.numeric).__name__
            )
            found[formula_text(statement.expand(definition.symbol))] = (
                f"{module}:{name}"
            )
    return {"numeric": found} if found else {}


def _own_quantities(statement: Statement) -> dict[str, Any]:
    """What the statement adds to the glossary, or the glossary writes out: unit and
    range by name.
    """
    in_schedule = {
        s.name for e in statement.schedule.values() for s in sp.sympify(e).free_symbols
    }
    names = {*statement.needs, *in_schedule} - (GLOSSARY.keys() - WRITTEN_OUT)
    known = [statement.glossary[name] for name in sorted(names)]
    own = frozenset(quantity.name for quantity in statement.quantities)
    return {quantity.name: _counted(quantity, own) for quantity in known}


def _counted(quantity: Quantity, own: frozenset[str]) -> dict[str, Any]:
    """Return what counts of a quantity: its unit, its range, and how it is computed."""
    fields = ("unit", "low", "high", "open_low", "open_high")
    counted = {field: _plain(getattr(quantity, field)) for field in fields}
    counted |= {"whole": quantity.integer}
    of = quantity.of
    if of is None:
        return counted
    if callable(of):
        return counted | {"of": f"{of.__module__}:{getattr(of, '__qualname__', of)}"}
    return counted | {"of": read_computation(of, own).text}


__all__ = ["canonical_document", "formula_text", "statement_hash"]
