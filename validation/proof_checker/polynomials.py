"""Quotients of polynomials in exact arithmetic, and their signs.

A polynomial is a dictionary {((symbol, exponent), ...): coefficient} of fractions. All
symbols are nonnegative numbers, so exponents may be fractions. b^n with a symbol n, and
the square root of a polynomial, are symbols of their own. What an expression needs to
be a real number (no division by 0, no root of a negative number) is collected in
``DEMANDS`` and shown by the caller.
"""

import itertools
import math
from fractions import Fraction

_UNITS = ("lam", "alpha", "q")
_COUNTS = ("m", "K", "T", "Q", "K_u", "K_v", "lag")
_POSITIVE = ("L", "L_u", "L_v", "eta", "eta_u", "eta_v", "lam_admm")
_NONNEGATIVE = (
    *("rho", "rho0", "sigma_l", "sigma_g", "sigma_u", "sigma_v", "delta_u", "chi"),
    *("B", "S2", "f0_gap", "x0_sq", "x0_spread", "k", "count", "later_steps"),
)
SYMBOLS = {
    **dict.fromkeys(_UNITS, (0, 1, False, True)),
    **dict.fromkeys(_COUNTS, (1, None, False, True)),
    **dict.fromkeys(_POSITIVE, (0, None, True, True)),
    **dict.fromkeys(_NONNEGATIVE, (0, None, False, True)),
    "delta": (0, 1, True, False),
}
"""Symbol: lower end, upper end, is the lower end open, is the upper end open."""
POWER_VALUES = {}
"""What a power b^(n - offset) is in other symbols."""
DEMANDS = []
"""Pairs of a quotient and ">=", ">" or "!=" 0."""
OFFSET = {"K": 1, "lag": 1, "Q": 0, "count": 0, "k": 0}
"""b^n is written as b^offset times the power b^(n - offset), a symbol of its own."""
MOST_PRODUCTS, MOST_TERMS, MOST_DEGREE = 10_000, 50_000, 40
MOST_BITS, MOST_NAME = 2_000, 5_000
"""Larger polynomials, coefficients and names of powers and roots are rejected."""
MOST_WORK = 800_000
"""Products of monomials and comparisons of vectors in one file."""
WORK = [0]
POWERS, ROOTS = {}, {}  # symbol -> (base, n) and symbol -> radicand


class ProofError(Exception):
    """A line does not follow."""


def need(condition, message):
    """Reject the line where a side condition fails."""
    if not condition:
        raise ProofError(message)


def spend(work):
    """Reject the file where it needs too much work."""
    WORK[0] += work
    need(WORK[0] <= MOST_WORK, "the proof needs too much work")


# -- quotients of polynomials: {((symbol, exponent), ...): coefficient}


def merged(pairs):
    """Return the sum of monomials, as a polynomial."""
    total = {}
    spend(len(pairs))
    for key, c in pairs:
        total[key] = total.get(key, 0) + c
        size = total[key].numerator.bit_length() + total[key].denominator.bit_length()
        need(size <= MOST_BITS, "a coefficient is too large")
    return {key: c for key, c in total.items() if c}


def times(left, right):
    """Return the product of two polynomials; the square of a root is its radicand."""
    need(len(left) * len(right) <= MOST_PRODUCTS, "the polynomials are too long")
    spend(len(left) * len(right) + 1)
    pairs = []
    for (a, x), (b, y) in itertools.product(left.items(), right.items()):
        powers = dict(a)
        for name, e in b:
            powers[name] = powers.get(name, 0) + e
        root = next((n for n, e in powers.items() if n in ROOTS and e >= 2), None)
        if root:
            powers[root] -= 2
        key = tuple(sorted((n, e) for n, e in powers.items() if e))
        part = times({key: x * y}, ROOTS[root]) if root else {key: x * y}
        pairs += part.items()
    return merged(pairs)


def split(poly):
    """Return coefficient, monomial and rest of a polynomial, which is their product.

    The rest is monic, without negative exponents, and no variable divides it.
    """
    names = {n for key in poly for n, _ in key}
    spend(len(names) * len(poly))
    low = {n: min(dict(key).get(n, 0) for key in poly) for n in names}
    monomial = {tuple(sorted((n, e) for n, e in low.items() if e)): 1}
    inverse = {tuple((n, -e) for n, e in key): 1 for key in monomial}
    rest = times(poly, inverse)
    lead = rest[max(rest)]
    return lead, monomial, {key: c / lead for key, c in rest.items()}


class Quotient:
    """A polynomial over a product of powers of polynomials."""

    def __init__(self, top, bottom=()):
        self.top, self.bottom = top, dict(bottom)

    def over(self, bottom):
        """Return the numerator over a larger denominator."""
        top = self.top
        for factor, power in bottom.items():
            for _ in range(power - self.bottom.get(factor, 0)):
                top = times(top, dict(factor))
        return top

    def __add__(self, other):
        bottom = dict(self.bottom)
        for factor, power in other.bottom.items():
            bottom[factor] = max(power, bottom.get(factor, 0))
        pairs = [*self.over(bottom).items(), *other.over(bottom).items()]
        return Quotient(merged(pairs), bottom)

    def __mul__(self, other):
        bottom = dict(self.bottom)
        for factor, power in other.bottom.items():
            bottom[factor] = power + bottom.get(factor, 0)
        return Quotient(times(self.top, other.top), bottom)

    def __neg__(self):
        return self * number(-1)

    def __sub__(self, other):
        return self + -other

    def __eq__(self, other):
        return type(other) is Quotient and not (self - other).top

    def __truediv__(self, other):
        need(other.top, "division by 0")
        DEMANDS.append((other, "!="))
        lead, monomial, rest = split(other.top)
        bottom = {} if rest == {(): 1} else {frozenset(rest.items()): 1}
        ((key, _),) = monomial.items()
        plain = tuple((n, -e) for n, e in key if n not in ROOTS)
        result = self * Quotient({plain: 1 / Fraction(lead)}, bottom)
        for root in [n for n, _ in key if n in ROOTS]:
            result = result * symbol(root) / Quotient(ROOTS[root])
        for factor, power in other.bottom.items():
            for _ in range(power):
                result = result * Quotient(dict(factor))
        return result

    @property
    def names(self):
        """The symbols in it."""
        keys = [*self.top, *(key for factor in self.bottom for key, _ in factor)]
        return {n for key in keys for n, _ in key}


def number(value):
    """Return a rational number."""
    return Quotient({(): Fraction(value)} if value else {})


def symbol(name):
    """Return a symbol."""
    return Quotient({((name, 1),): Fraction(1)})


def power(base, exponent):
    """base^exponent: a multiple of 1/2, or c n + j with whole numbers c > 0 and j."""
    number_part = Fraction(exponent.top.get((), 0))
    rest = {key: c for key, c in exponent.top.items() if key}
    need(not exponent.bottom and len(rest) <= 1, "an exponent is c n + j")
    if rest:
        (((name, degree),), slope) = next(iter(rest.items()))
        start = number_part + slope * OFFSET.get(name, 0)
        whole = slope > 0 and slope.denominator == start.denominator == degree == 1
        need(name in OFFSET and whole, "an exponent is c n + j")
        own = symbol_of_power(base, name)
        return power(own, number(slope)) * power(base, number(start))
    if number_part.denominator == 2:
        return power(root_of(base), exponent * number(2))
    need(number_part.denominator == 1, "roots are square roots")
    need(abs(number_part) <= MOST_DEGREE, "the exponent is too large")
    result = number(1)
    for _ in range(abs(int(number_part))):
        result = result * base
    return result if number_part >= 0 else number(1) / result


def text(quotient):
    """Return a name of a quotient: equal texts are equal quotients."""
    spend(len(quotient.top))
    factors = sorted((text_of(f), p) for f, p in quotient.bottom.items())
    return f"{text_of(quotient.top.items())}/{factors}"


def text_of(poly):
    """Return a name of a polynomial, in which equal numbers have equal texts."""
    return str(sorted((monomial_text(key), str(Fraction(c))) for key, c in poly))


def monomial_text(key):
    """Return a name of a monomial."""
    return " ".join(f"{n}^{Fraction(e)}" for n, e in key)


def symbol_of_power(base, name):
    """Return the symbol of base^(n - offset)."""
    DEMANDS.append((base, ">="))
    new = f"[{text(base)}]^{name}"
    need(len(new) <= MOST_NAME, "the base of a power is too long")
    POWERS[new] = (base, name)
    return POWER_VALUES.get(new, symbol(new))


def root_of(quotient):
    """Return the square root of a quotient.

    It consists of roots of squares and of monomials, and a symbol for what is left.
    """
    DEMANDS.append((quotient, ">="))
    top, bottom = quotient.top, {}
    for factor, degree in quotient.bottom.items():
        DEMANDS.append((Quotient(dict(factor)), ">"))
        bottom[factor] = (degree + 1) // 2
        top = times(top, dict(factor)) if degree % 2 else top
    if not top:
        return number(0)
    lead, monomial, rest = split(top)
    over, under = math.isqrt(abs(lead.numerator)), math.isqrt(lead.denominator)
    if Fraction(over, under) ** 2 == abs(lead):
        lead //= abs(lead)
    else:
        over, under = 1, 1
    inside = {key: lead * c for key, c in rest.items()}
    ((key, _),) = monomial.items()
    halves = tuple((n, Fraction(e) / 2) for n, e in key)
    result = Quotient({halves: Fraction(over, under)}, bottom)
    if inside == {(): 1}:
        return result
    new = f"sqrt{text(Quotient(inside))}"
    need(len(new) <= MOST_NAME, "the radicand is too long")
    ROOTS[new] = inside
    return result * symbol(new)


# -- signs: in nonnegative variables, by coefficients that are not negative


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
        """Is it nonnegative (positive) by its coefficients? It has no denominator 0."""
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
        kept = [{n for n, _ in key} for key in terms]
        zeros = [set().union(*zero) for zero in itertools.product(*corners)]
        return all(any(not k & zero for k in kept) for zero in zeros)

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
            need(most <= MOST_DEGREE and len(poly) <= MOST_TERMS, "too long")
            powers = [
                times(raised(first, n), raised(second, most - n))
                for n in range(most + 1)
            ]
            for key, c in poly.items():
                n = int((Fraction(dict(key).get(name, 0)) - lowest) * degree)
                rest = {tuple(k for k in key if k[0] != name): c}
                pairs += times(rest, powers[n]).items()
            poly = merged(pairs)
            corners.append(ends or [set()])
        return poly, corners

    def ends(self, name, degree):
        """Numerator and denominator of x^(1/degree) in s and t; which may be 0."""
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

    It is multiplied by a power of K, and K = k + 1 + later_steps.
    """
    if not any(n == "k" for key in poly for n, _ in key):
        return poly
    one = Fraction(1)
    steps = {(("k", 1),): one, (("later_steps", 1),): one, (): one}
    lowest = min(dict(key).get("K", 0) for key in poly)
    pairs = []
    for key, c in poly.items():
        n = dict(key).get("K", 0) - lowest
        if n != int(n):
            return poly
        rest = {tuple(x for x in key if x[0] != "K"): c}
        pairs += times(rest, raised(steps, int(n))).items()
    return merged(pairs)
