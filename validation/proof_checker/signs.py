"""Signs of quotients of polynomials in nonnegative symbols, by coefficients."""

import itertools
import math
from fractions import Fraction

from polynomials import (
    LATER_STEPS,
    MOST_DEGREE,
    MOST_TERMS,
    POWERS,
    ROOTS,
    SYMBOLS,
    Quotient,
    merged,
    need,
    number,
    spend,
    times,
)


class Region:
    """Where the conditions of a theorem hold.

    ``ranges``: those of new symbols; ``hints``: sums of products of a factor and a
    condition, which are not negative.
    """

    def __init__(self, ranges=()):
        self.ranges, self.hints = dict(ranges), []

    def holds(self, quotient, relation):
        """Return whether a quotient is shown to be >= 0, > 0 or != 0."""
        if relation == "!=":
            return self.holds(quotient, ">") or self.holds(-quotient, ">")
        strict = relation == ">"
        if self.plain(quotient, strict):
            return True
        return any(self.plain(quotient - hint, strict) for hint in self.hints)

    def add_hint(self, products):
        """Keep a sum of factors times conditions, if no factor is negative."""
        total = number(0)
        for factor, condition in products:
            if not self.plain(factor, False):
                return False
            total = total + factor * condition
        self.hints.append(total)
        return True

    def plain(self, quotient, strict):
        """Return whether a quotient is nonnegative (positive) by its coefficients.

        Then its denominator is not 0.
        """
        top = quotient.top
        for factor, degree in quotient.bottom.items():
            if degree % 2 and not self.by_coefficients(dict(factor), False):
                top = times(top, {(): -1})
                if not self.by_coefficients(times(dict(factor), {(): -1}), False):
                    return False
        return self.by_coefficients(top, strict)

    def by_coefficients(self, poly, strict):
        """Return whether all coefficients in s and t are nonnegative.

        Strict: one of them is positive wherever s or t may be 0.
        """
        terms, corners = self.in_slacks(with_later_steps(poly))
        if min(terms.values(), default=0) < 0:
            return False
        if not strict:
            return True
        spend(math.prod(map(len, corners)) * len(terms))
        variables = [set(dict(monomial)) for monomial in terms]
        for zeros_by_symbol in itertools.product(*corners):
            zeros = set().union(*zeros_by_symbol)
            if all(names & zeros for names in variables):
                return False
        return True

    def in_slacks(self, poly):
        """Return a polynomial, times a positive number, in variables s, t >= 0.

        x^(1/d) is low + s, or (low t + high s)/(s + t). Also, for each x, which of s, t
        may be 0.
        """
        corners = []
        for name in sorted({n for key in poly for n, _ in key}):
            spend(len(poly))
            exponents = [Fraction(dict(key).get(name, 0)) for key in poly]
            degree = math.lcm(*(e.denominator for e in exponents))
            first, second, ends = self.ends(name, degree)
            lowest, pairs = min(*exponents, 0), []
            most = int((max(exponents) - lowest) * degree)
            need(
                most <= MOST_DEGREE and len(poly) <= MOST_TERMS,
                f"an inequality is too long to be shown: its degree in {name} is"
                f" {most} (at most {MOST_DEGREE}), and it has {len(poly)} terms (at"
                f" most {MOST_TERMS})",
            )
            powers = [
                times(raised(first, n), raised(second, most - n))
                for n in range(most + 1)
            ]
            for (key, c), exponent in zip(poly.items(), exponents, strict=True):
                n = int((exponent - lowest) * degree)
                rest = {tuple(k for k in key if k[0] != name): c}
                pairs += times(rest, powers[n]).items()
            poly = merged(pairs)
            corners.append(ends or [set()])
        return poly, corners

    def ends(self, name, degree):
        """Return x^(1/degree) as a quotient in s and t, and which of these may be 0."""
        low, high, open_low, open_high = self.range(name)
        if degree > 1:
            open_low = open_low or low > 1
            low, high = int(low >= 1), 1 if high == 1 else None
        s, t = ((name, 1),), ((name + "'", 1),)
        at_low = [] if open_low else [{name}]
        if high is None:
            return {s: Fraction(1), (): Fraction(low)}, {(): Fraction(1)}, at_low
        at_high = [] if open_high else [{name + "'"}]
        one = Fraction(1)
        return {s: one * high, t: one * low}, {s: one, t: one}, at_low + at_high

    def range(self, name):
        """Return the range of a symbol, a power or a root."""
        if name in ROOTS:
            return 0, None, self.plain(Quotient(ROOTS[name]), True), True
        if name in POWERS:
            base, n = POWERS[name]
            high = 1 if self.holds(number(1) - base, ">=") else None
            below = n == "Q" and self.holds(number(1) - base, ">")
            return 0, high, False, high is None or below
        return self.ranges[name] if name in self.ranges else SYMBOLS[name]


def raised(poly, degree):
    """Return a power of a polynomial."""
    result = {(): Fraction(1)}
    for _ in range(degree):
        result = times(result, poly)
    return result


def with_later_steps(poly):
    """Return a polynomial in which the step k < K is used, if it contains k.

    It is multiplied by a power of K, and K = k + 1 + LATER_STEPS.
    """
    if not any(n == "k" for key in poly for n, _ in key):
        return poly
    one = Fraction(1)
    steps = {(("k", 1),): one, ((LATER_STEPS, 1),): one, (): one}
    lowest = min(dict(key).get("K", 0) for key in poly)
    pairs = []
    for key, c in poly.items():
        n = dict(key).get("K", 0) - lowest
        if n != int(n):
            return poly
        rest = {tuple(x for x in key if x[0] != "K"): c}
        pairs += times(rest, raised(steps, int(n))).items()
    return merged(pairs)
