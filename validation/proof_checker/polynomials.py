"""Quotients of polynomials in exact arithmetic.

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
LATER_STEPS = "K - 1 - k"
"""The number of steps after step k; no expression can name it."""
_NONNEGATIVE = (
    *("rho", "rho0", "sigma_l", "sigma_g", "sigma_u", "sigma_v", "delta_u", "chi"),
    *("B", "S2", "f0_gap", "x0_sq", "x0_spread", "k", "count", LATER_STEPS),
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
EXPONENTS = (
    "an exponent must be a multiple of 1/2, or c*n + j with whole numbers c > 0 and j"
    f" and n one of {', '.join(OFFSET)}"
)
MOST_PRODUCTS, MOST_TERMS, MOST_DEGREE = 10_000, 50_000, 40
MOST_BITS, MOST_NAME = 2_000, 5_000
"""Larger polynomials, coefficients and names of powers and roots are rejected."""
MOST_WORK = 800_000
"""Products of monomials and comparisons of vectors in one file."""
WORK = [0]
POWERS, ROOTS = {}, {}  # symbol -> (base, n) and symbol -> radicand


class ProofError(Exception):
    """A line does not follow.

    ``line`` is its number in the file, and ``rule`` the rule or keyword of the line.
    """

    def __init__(self, message, line=None, rule=None):
        super().__init__(message)
        self.line, self.rule = line, rule


def need(condition, message):
    """Reject the line where a side condition fails."""
    if not condition:
        raise ProofError(message)


def spend(work):
    """Reject the file where it needs too much work."""
    WORK[0] += work
    if WORK[0] > MOST_WORK:
        raise ProofError(
            f"the file needs more than {MOST_WORK} products of monomials and"
            " comparisons of vectors; use shorter expressions or fewer lines"
        )


# -- quotients of polynomials: {((symbol, exponent), ...): coefficient}


def merged(pairs):
    """Return the sum of monomials, as a polynomial."""
    total = {}
    spend(len(pairs))
    for monomial, coefficient in pairs:
        value = total.get(monomial, 0) + coefficient
        total[monomial] = value
        bits = value.numerator.bit_length() + value.denominator.bit_length()
        need(bits <= MOST_BITS, f"a coefficient has more than {MOST_BITS} bits")
    return {monomial: value for monomial, value in total.items() if value}


def times(left, right):
    """Return the product of two polynomials; the square of a root is its radicand."""
    need(
        len(left) * len(right) <= MOST_PRODUCTS,
        f"a product of two polynomials has more than {MOST_PRODUCTS} terms",
    )
    spend(len(left) * len(right) + 1)
    pairs = []
    for (monomial, x), (factor, y) in itertools.product(left.items(), right.items()):
        powers = dict(monomial)
        for name, exponent in factor:
            powers[name] = powers.get(name, 0) + exponent
        root = next((n for n, e in powers.items() if n in ROOTS and e >= 2), None)
        if root:
            powers[root] -= 2
        key = tuple(sorted((n, e) for n, e in powers.items() if e))
        product = {key: x * y}
        if root:
            product = times(product, ROOTS[root])
        pairs += product.items()
    return merged(pairs)


def split(poly):
    """Return coefficient, monomial and rest of a polynomial, which is their product.

    The rest is monic, without negative exponents, and no variable divides it.
    """
    names = set().union(*map(dict, poly))
    spend(len(names) * len(poly))
    low = {}
    for name in names:
        low[name] = min(dict(key).get(name, 0) for key in poly)
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
        need(other.top, "division by 0: the denominator is 0 for all values")
        DEMANDS.append((other, "!="))
        lead, monomial, rest = split(other.top)
        bottom = {} if rest == {(): 1} else {frozenset(rest.items()): 1}
        ((key, _),) = monomial.items()
        plain = tuple((n, -e) for n, e in key if n not in ROOTS)
        result = self * Quotient({plain: 1 / Fraction(lead)}, bottom)
        for root, exponent in [(n, e) for n, e in key if n in ROOTS]:
            # 1/r^e = r^(2 - e)/r^2, and r^2 is the radicand
            rest_of_square = Quotient({((root, 2 - exponent),): Fraction(1)})
            result = result * rest_of_square / Quotient(ROOTS[root])
        for factor, power in other.bottom.items():
            for _ in range(power):
                result = result * Quotient(dict(factor))
        return result

    @property
    def names(self):
        """The symbols in it, also in the bases of its powers and in its radicands."""
        keys = [*self.top, *(key for factor in self.bottom for key, _ in factor)]
        return set().union(*(names_of(n) for key in keys for n, _ in key))


def names_of(name):
    """Return the symbols in a symbol: itself, or those of a power or a root."""
    if name in POWERS:
        base, exponent = POWERS[name]
        return base.names | {exponent}
    if name in ROOTS:
        return Quotient(ROOTS[name]).names
    return {name}


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
    need(not exponent.bottom and len(rest) <= 1, EXPONENTS)
    if rest:
        (((name, degree),), slope) = next(iter(rest.items()))
        start = number_part + slope * OFFSET.get(name, 0)
        whole = slope > 0 and slope.denominator == start.denominator == degree == 1
        need(name in OFFSET and whole, EXPONENTS)
        shifted_power = symbol_of_power(base, name)
        return power(shifted_power, number(slope)) * power(base, number(start))
    if number_part.denominator == 2:
        return power(root_of(base), exponent * number(2))
    need(number_part.denominator == 1, f"the exponent is {number_part}; {EXPONENTS}")
    need(
        abs(number_part) <= MOST_DEGREE,
        f"the exponent is {number_part}; it must be between -{MOST_DEGREE} and"
        f" {MOST_DEGREE}",
    )
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
    need(
        len(new) <= MOST_NAME,
        f"the base of a power to the {name} has more than {MOST_NAME} characters",
    )
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
    need(
        len(new) <= MOST_NAME,
        f"the radicand of a square root has more than {MOST_NAME} characters",
    )
    ROOTS[new] = inside
    return result * symbol(new)
