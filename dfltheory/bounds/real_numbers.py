"""Expressions that may enter a proof: exact types and known symbols.

:func:`real_expression` accepts a number or an expression of exact SymPy types.
:func:`reality` returns the signs that make it a real, finite number wherever its
symbols are in their ranges. Rules add them to their demands.
"""

from __future__ import annotations

from functools import cache, lru_cache
from types import MappingProxyType

import sympy as sp
from sympy.core.numbers import Half, NegativeOne, One, Zero

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError


class RuleError(InputError):
    """A rule does not apply to its arguments.

    ``rule`` is its name; None outside of rules.
    """

    rule: str | None = None


def need(condition: object, message: str, *about: object) -> None:
    """Raise RuleError with a message if the condition is false.

    ``about`` is put in place of ``{}``, so that formulas are printed only if needed.
    """
    if not condition:
        raise RuleError(message.format(*about) if about else message)


k = sp.Symbol("k", integer=True, nonnegative=True)
"""The local step that a fact with a free step is about: 0 <= k < K."""
lag = sp.Symbol("lag", integer=True, positive=True)
"""Difference of two local steps: 0 < lag <= K."""
count = sp.Symbol("count", integer=True, nonnegative=True)
"""Number of local steps: 0 <= count <= K."""
STEP_SYMBOLS = frozenset({k, lag, count})
"""Symbols that proofs bind: what holds of them holds for each of their values."""

_NUMBERS = (sp.Integer, sp.Rational, Zero, One, NegativeOne, Half)
_OPERATIONS = (sp.Add, sp.Mul, sp.Pow, sp.Max, sp.Min)
_RESERVED = MappingProxyType(
    {name: entry.symbol for name, entry in GLOSSARY.items()}
    | {"k": k, "lag": lag, "count": count}
)
_WHOLE = MappingProxyType(
    {
        entry.symbol: sp.Dummy(
            name, integer=True, positive=entry.low > 0, nonnegative=True
        )
        for name, entry in GLOSSARY.items()
        if entry.integer
    }
)
_REST = sp.Dummy("rest", integer=True, nonnegative=True)
_POLES = frozenset({sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I})

_MOST = 1 << 16
_checked: dict[int, Expr] = {}
"""Expressions that passed, by identity: an equal object of another type is not the same
object.
"""


def real_expression(given: object) -> Expr:
    """Return ``given`` as an expression that may enter a proof.

    Parameters
    ----------
    given : int or sympy.Expr
        A SymPy expression of rational numbers, symbols, sums, products, powers, Max and
        Min. Subclasses of these types are rejected, since they could answer questions
        about signs falsely.

    Raises
    ------
    RuleError
        A part has another type (I, NaN, infinity and floating-point numbers too), or a
        symbol has the name of a quantity of the glossary without its assumptions, or is
        not real.
    """
    if type(given) is int:
        return sp.Integer(given)
    expr = _checked.get(id(given))
    if expr is None or expr is not given:
        expr = _exact_expression(given)
    if len(_checked) > _MOST:
        _checked.clear()
    _checked[id(given)] = expr
    return expr


def _exact_expression(given: object) -> Expr:
    """Return ``given`` if every part has an exact type that is allowed.

    Raises
    ------
    RuleError
        A part has another type.
    """
    if type(given) is sp.Symbol:
        _check_symbol(given)
        return given
    kind = type(given)
    if not isinstance(given, Expr) or kind not in (*_NUMBERS, *_OPERATIONS):
        raise RuleError(f"a proof has no expressions of type {kind.__name__}")
    for part in given.args if kind in _OPERATIONS else ():
        real_expression(part)
    return given


@cache
def _permitted_symbols(name: str) -> tuple[sp.Symbol, ...]:
    """Return the symbols that a script may bring: real, with a sign, or whole."""
    signs: tuple[dict[str, bool], ...] = ({}, {"nonnegative": True}, {"positive": True})
    return tuple(
        sp.Symbol(name, **dict.fromkeys(("real", kind), True), **sign)
        for sign in signs
        for kind in ("real", "integer")
    )


def _check_symbol(symbol: sp.Symbol) -> None:
    name = symbol.name
    need(
        type(name) is str,
        "a symbol has a name of type str, not {}",
        type(name).__name__,
    )
    if name in _RESERVED:
        need(
            symbol == _RESERVED[name],
            "{}: the glossary's symbol has other assumptions",
            name,
        )
    allowed = (*_permitted_symbols(name), _RESERVED.get(name))
    need(
        symbol in allowed,
        "{}: a symbol is real, and perhaps nonnegative, positive or integer",
        name,
    )


def has_poles(expr: Expr) -> bool:
    """Return whether an expression contains infinity, NaN or the imaginary unit."""
    return any(node in _POLES for node in sp.preorder_traversal(expr))


@lru_cache(maxsize=1 << 14)
def reality(expr: Expr) -> tuple[tuple[Expr, bool], ...]:
    """Return requirements that make an expression real and finite.

    Each is an expression that must be >= 0, and whether it must be > 0.

    Raises
    ------
    RuleError
        SymPy knows that it is not real, or not finite.
    """
    need(
        not has_poles(expr)
        and expr.is_real is not False
        and expr.is_finite is not False,
        "{} is not a real, finite number",
        expr,
    )
    requirements: dict[tuple[Expr, bool], None] = {}
    for node in sp.preorder_traversal(expr):
        if isinstance(node, sp.Pow):
            requirements |= dict.fromkeys(_of_power(*node.args))
    return tuple(requirements)


def _of_power(base: Expr, exponent: Expr) -> tuple[tuple[Expr, bool], ...]:
    """Return the requirements of one power, see :func:`reality`.

    It must not divide by 0, nor be a root of a negative number.
    """
    whole, sign = _exponent(exponent)
    if whole:
        if sign or base.is_zero is False:
            return ()
        need(base.is_zero is not True, "{}^({}) divides by 0", base, exponent)
        return ((base, True),) if base.is_nonnegative else ((base**2, True),)
    need(not base.is_negative, "({})^({}) is not real", base, exponent)
    need(sign or base.is_zero is not True, "{}^({}) divides by 0", base, exponent)
    if base.is_positive or (sign and base.is_nonnegative):
        return ()
    return ((base, not sign),)


def _exponent(exponent: Expr) -> tuple[bool, bool]:
    """Return whether an exponent is whole, and whether its sign is known.

    The sign is nonnegative for whole exponents, and positive for others. Steps, lags
    and counts are at most K.
    """
    K = GLOSSARY["K"].symbol
    forms = [exponent]
    for steps, rest in ((k, _REST + 1), (lag, _REST), (count, _REST)):
        if steps in exponent.free_symbols:
            forms.append(exponent.subs(K, steps + rest))
    forms = [form.xreplace(_WHOLE) for form in forms]
    if forms[0].is_integer:
        return True, any(form.is_nonnegative for form in forms)
    return False, any(form.is_positive for form in forms)


def sign_of(expression: Expr) -> str:
    """Return the sign that SymPy knows: ``positive``, ``nonnegative`` or ``real``."""
    if expression.is_positive:
        return "positive"
    return "nonnegative" if expression.is_nonnegative else "real"


def signed_symbol(name: str, sign: str) -> sp.Symbol:
    """Return a symbol with an assumption, as :func:`sign_of` returns it."""
    return sp.Symbol(name, **dict.fromkeys((sign,), True))


def sign_is_shown(symbol: sp.Symbol, formula: Expr) -> bool:
    """Return whether SymPy knows of a formula what its symbol's assumptions say."""
    said_and_known = [
        (symbol.is_positive, formula.is_positive),
        (symbol.is_nonnegative, formula.is_nonnegative),
        (symbol.is_integer, formula.is_integer),
    ]
    return all(known or not said for said, known in said_and_known)


__all__ = [
    "STEP_SYMBOLS",
    "RuleError",
    "count",
    "real_expression",
    "has_poles",
    "k",
    "lag",
    "need",
    "reality",
    "sign_is_shown",
]
