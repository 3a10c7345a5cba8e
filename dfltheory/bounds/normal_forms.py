"""Formulas as sums of monomials, in an order that does not depend on SymPy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter

import sympy as sp

from dfltheory.bounds.units import Expr

UNORDERED = frozenset({sp.Max, sp.Min})
"""Functions whose value does not depend on the order of their arguments."""
LARGEST_POWER = 10_000
"""Numbers are raised to whole powers up to this; beyond it they stay as powers."""
LARGEST_PRIME = 1000
"""Bases of powers that are numbers are divided by primes up to this."""


@dataclass(frozen=True)
class LinearCombination:
    """A sum of monomials: sorted (monomial, coefficient) pairs.

    There are no zero coefficients.
    """

    terms: tuple[tuple[PowerProduct, Fraction], ...] = ()

    @property
    def constant(self) -> Fraction | None:
        """Its value if it is a number."""
        if not self.terms:
            return Fraction(0)
        monomial, coefficient = self.terms[0]
        is_number = len(self.terms) == 1 and not monomial
        return coefficient if is_number else None

    def __str__(self) -> str:
        return " + ".join(map(_term_text, self.terms)) or "0"


PowerProduct = tuple[tuple[str, LinearCombination], ...]
"""A product of powers: (base, exponent) pairs, sorted by base."""


PowersByBase = dict[str, LinearCombination]


def formula_text(formula: Expr) -> str:
    """Return the canonical form of a formula as text."""
    return str(_expression(sp.sympify(formula)))


def _term_text(term: tuple[PowerProduct, Fraction]) -> str:
    monomial, coefficient = term
    return "*".join(
        [str(coefficient), *(f"{base}^({exponent})" for base, exponent in monomial)]
    )


def _combination(terms: Mapping[PowerProduct, Fraction]) -> LinearCombination:
    nonzero_terms = [
        (monomial, coefficient)
        for monomial, coefficient in terms.items()
        if coefficient
    ]
    return LinearCombination(tuple(sorted(nonzero_terms, key=_term_text)))


def _number(value: Fraction | int) -> LinearCombination:
    return _combination({(): Fraction(value)})


ONE_POLYNOMIAL = _number(1)


def _base(text: str, exponent: LinearCombination = ONE_POLYNOMIAL) -> LinearCombination:
    """Return a power of one base as a combination."""
    return _product(Fraction(1), {text: exponent})


def _add(summands: list[LinearCombination]) -> LinearCombination:
    total: dict[PowerProduct, Fraction] = {}
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


def _product(coefficient: Fraction, powers: PowersByBase) -> LinearCombination:
    """Return ``coefficient`` times the powers.

    Integer parts of exponents of primes are multiplied into the coefficient: 2^(3/2) is
    2 times 2^(1/2).
    """
    remaining_powers: PowersByBase = {}
    for base, exponent in powers.items():
        value = exponent.constant
        if base.isdecimal() and value is not None and abs(value) <= LARGEST_POWER:
            whole = math.floor(value)
            coefficient *= Fraction(int(base)) ** whole
            exponent = _number(value - whole)
        if exponent.terms:
            remaining_powers[base] = exponent
    if len(remaining_powers) == 1:
        ((base, exponent),) = remaining_powers.items()
        if (
            base in _SUMS and exponent == ONE_POLYNOMIAL
        ):  # the reciprocal of a reciprocal
            return _combination(
                {part: coefficient * value for part, value in _SUMS[base].terms}
            )
    return _combination(
        {tuple(sorted(remaining_powers.items(), key=itemgetter(0))): coefficient}
    )


def _multiply(factors: list[LinearCombination]) -> LinearCombination:
    """Return the product.

    A number times a sum is multiplied out; a product of sums is not.
    """
    coefficient = Fraction(1)
    powers: PowersByBase = {}
    for factor in factors:
        content, primitive = _primitive(factor)
        coefficient *= content
        if len(primitive.terms) == 1:
            monomial = primitive.terms[0][0]
        elif primitive.terms:
            monomial = ((_sum_base(primitive), ONE_POLYNOMIAL),)
        else:
            return LinearCombination()
        for base, exponent in monomial:
            powers[base] = _add([powers.get(base, LinearCombination()), exponent])
    return _product(coefficient, powers)


def _primitive(value: LinearCombination) -> tuple[Fraction, LinearCombination]:
    """Return a value as a number times a sum with coprime whole coefficients.

    The number is positive unless ``value`` has a single term.
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
    """Return ``base`` to ``exponent``.

    ``nonnegative``: whether every symbol in ``base`` is nonnegative, so that a power of
    a product is the product of powers.
    """
    content, primitive = _primitive(base)
    value = exponent.constant
    whole = value is not None and value.denominator == 1
    if not base.terms or (content < 0 and not whole):
        return _base(_sum_base(base), exponent)
    powers: PowersByBase = {}
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
    powers: PowersByBase = {}
    for prime, multiplicity in _factors(number.numerator).items():
        powers[prime] = _multiply([_number(multiplicity), exponent])
    for prime, multiplicity in _factors(number.denominator).items():
        powers[prime] = _multiply([_number(multiplicity), minus])
    return _product(Fraction(1), powers)


def _factors(number: int) -> dict[str, int]:
    """Return prime factors up to ``LARGEST_PRIME``, and the remaining factor."""
    factors: dict[str, int] = {}
    for divisor in range(2, LARGEST_PRIME + 1):
        while number % divisor == 0:
            factors[str(divisor)] = factors.get(str(divisor), 0) + 1
            number //= divisor
    if number != 1:
        factors[str(number)] = 1
    return factors


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
    """Return the combination of a number, a symbol or a constant such as pi."""
    if isinstance(formula, sp.Rational):
        return _number(Fraction(int(formula.p), int(formula.q)))
    if isinstance(formula, sp.Float):
        return _number(Fraction(repr(float(formula))))
    if isinstance(formula, sp.Symbol):
        return _base(formula.name)
    if formula == sp.E:
        return _base("exp(1)")
    return _base(str(formula))


__all__ = ["formula_text"]
