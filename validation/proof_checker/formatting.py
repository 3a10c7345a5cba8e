"""Values of a proof as text in the format of proofs, for messages."""

from linear import Atom, Fact, Linear
from polynomials import OFFSET, POWERS, ROOTS, Quotient

MOST_SHOWN = 300
"""Characters of a value in a message."""


def shown(value):
    """Return a value as text, cut where it is long."""
    text = text_of(value)
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + " ..."


def text_of(value):
    """Return a value as text."""
    if type(value) is Quotient:
        return quotient_text(value)
    if type(value) is Linear:
        return linear_text(value)
    if type(value) is Fact:
        relation = "==" if value.equal else "<="
        return f"{linear_text(value.left)} {relation} {linear_text(value.right)}"
    return repr(value)


def quotient_text(quotient):
    """Return a quotient as text."""
    text = polynomial_text(quotient.top)
    if not quotient.bottom:
        return text
    factors = [
        f"({polynomial_text(dict(factor))})" + exponent_text(degree)
        for factor, degree in quotient.bottom.items()
    ]
    denominator = "*".join(factors)
    return f"({text})/{denominator if len(factors) == 1 else f'({denominator})'}"


def polynomial_text(polynomial):
    """Return a polynomial as text, its largest monomial first."""
    terms = [
        monomial_text(monomial, coefficient)
        for monomial, coefficient in sorted(polynomial.items(), reverse=True)
    ]
    return " + ".join(terms).replace("+ -", "- ") or "0"


def monomial_text(monomial, coefficient):
    """Return a monomial with its coefficient as text."""
    factors = [name_text(name) + exponent_text(exponent) for name, exponent in monomial]
    if not factors or abs(coefficient) != 1:
        factors.insert(0, str(coefficient))
    elif coefficient < 0:
        factors[0] = f"-{factors[0]}"
    return "*".join(factors)


def name_text(name):
    """Return a symbol, a power b^(n - offset) or the root of a polynomial as text."""
    if name in POWERS:
        base, n = POWERS[name]
        exponent = f"({n} - {OFFSET[n]})" if OFFSET[n] else n
        return f"(({quotient_text(base)})**{exponent})"
    if name in ROOTS:
        return f"(({polynomial_text(ROOTS[name])})**(1/2))"
    return name


def exponent_text(exponent):
    """Return an exponent as text, empty for 1."""
    if exponent == 1:
        return ""
    return f"**{exponent}" if exponent == int(exponent) > 0 else f"**({exponent})"


def linear_text(combination):
    """Return a linear combination of atoms or moments as text."""
    terms = []
    for key, coefficient in combination.terms:
        name = atom_text(key) if type(key) is Atom else moment_text(key)
        factor = quotient_text(coefficient)
        terms.append(name if factor == "1" else f"({factor})*{name}")
    return " + ".join(terms) or "0"


def atom_text(atom):
    """Return a vector of one atom as text."""
    text = atom.name
    if atom.point is not None:
        text = f'grad({linear_text(atom.point)}, "{atom.block}")'
    elif atom.block:
        text = f'block("{atom.block}", {text})'
    if type(atom.step) is tuple:
        end, weights = atom.step
        text = f'sum({text}, {end}, "{weights}")'
    if atom.pushed:
        text = f"pushed({text})"
    return f"mean({text})" if atom.mean and atom.name != "xbar" else text


def moment_text(moment):
    """Return a moment as text."""
    if moment.kind == "one":
        text = f'one("{moment.vec}")'
    else:
        vectors = [v for v in (moment.vec, moment.other) if v is not None]
        text = f"{moment.kind}({', '.join(map(linear_text, vectors))})"
    if moment.steps:
        text = f"{moment.steps}_k({text})"
    return f"{moment.rounds}_t({text})" if moment.rounds else text
