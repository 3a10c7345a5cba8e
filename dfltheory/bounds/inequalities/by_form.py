"""Signs and directions that an expression shows by its form: no sampling, no solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import sympy as sp

from dfltheory.bounds.symbols import GLOSSARY, Quantity
from dfltheory.bounds.units import Expr

_NAMES: ContextVar[frozenset[str] | None] = ContextVar("names", default=None)


@contextmanager
def quantities(names: Iterable[str]) -> Iterator[None]:
    """Within: only symbols of these names are quantities of the glossary.

    A proof may have a symbol of its own with the name of a quantity that another package has added.
    """
    token = _NAMES.set(frozenset(names))
    try:
        yield
    finally:
        _NAMES.reset(token)


def quantity_of(base: Expr) -> Quantity | None:
    """The glossary's entry of a symbol."""
    if not base.is_Symbol or base.name not in GLOSSARY:
        return None
    names = _NAMES.get()
    return GLOSSARY[base.name] if names is None or base.name in names else None


def monotone(term: Expr, name: str, up: bool) -> bool:
    """Is ``term`` proved monotone in ``name`` by its form: products of monotone factors of one direction?"""
    direction = _direction(term, GLOSSARY[name].symbol)
    return direction == 0 or direction == (1 if up else -1)


def _direction(expr: Expr, symbol: sp.Symbol) -> int | None:
    """+1, -1 or 0 for a non-negative expression that is increasing, decreasing or constant; None: not
    known."""
    if symbol not in expr.free_symbols:
        return 0
    if expr == symbol:
        return 1
    if expr.is_Mul and all(nonnegative(f) for f in expr.args):
        return _one({_direction(f, symbol) for f in expr.args})
    if expr.is_Add and expr == 1 - symbol:
        return -1
    if expr.is_Add:
        signs = set()
        for term in expr.args:
            if term.could_extract_minus_sign():
                inner = _direction(-term, symbol)
                signs.add(None if inner is None else -inner)
            else:
                signs.add(_direction(term, symbol))
        return _one(signs)
    if expr.is_Pow and symbol not in expr.exp.free_symbols and nonnegative(expr.base):
        inner = _direction(expr.base, symbol)
        if inner is None or not (expr.exp.is_nonnegative or expr.exp.is_negative):
            return None
        return inner if expr.exp.is_nonnegative else -inner
    if expr.is_Pow and expr.exp.has(symbol) and share(expr.base):
        inner = _direction(expr.exp, symbol)
        return None if inner is None else -inner
    return None


def _one(signs: set[int | None]) -> int | None:
    signs = signs - {0}
    if None in signs or len(signs) > 1:
        return None
    return signs.pop() if signs else 0


def share(base: Expr) -> bool:
    """A quantity between 0 and 1."""
    entry = quantity_of(base)
    return entry is not None and entry.high == 1


def _count(base: Expr) -> bool:
    entry = quantity_of(base)
    whole = entry is not None and entry.whole and entry.low >= 1
    return whole or bool(base.is_Symbol and base.is_integer and base.is_positive)


def _at_most_one(factor: Expr) -> bool:
    """A power of a share, or a negative power of a count."""
    base, power = factor.as_base_exp()
    return bool((share(base) and power.is_nonnegative) or (_count(base) and power.is_negative))


def nonnegative(expr: Expr) -> bool:
    """Non-negative by its form: SymPy's own word, 1 minus a power of a share, counts less one."""
    if expr.is_nonnegative:
        return True
    if expr.is_Pow:
        return nonnegative(expr.base) or bool(expr.exp.is_even and expr.base.is_real)
    if expr.is_Mul:
        minus, rest = _signed(expr)
        return not minus and all(nonnegative(f) for f in rest)
    if expr.is_Add:
        return _sum_nonnegative(expr)
    return False


def _signed(product: Expr) -> tuple[bool, list[Expr]]:
    """Is a product negative in its outer signs, and its factors, each sum turned so that its constant is
    positive."""
    minus, factors = False, []
    for factor in product.args:
        base, power = factor.as_base_exp()
        if factor.is_number:
            minus ^= bool(factor.is_negative)
            factors.append(abs(factor))
        elif base.is_Add and power.is_odd and not nonnegative(base):
            minus ^= True
            factors.append((-base) ** power)
        else:
            factors.append(factor)
    return minus, factors


def _sum_nonnegative(total: Expr) -> bool:
    low: Expr = sp.S.Zero
    for term in total.args:
        if term.is_number:
            low += term
        elif term.could_extract_minus_sign():
            if not all(_at_most_one(f) for f in sp.Mul.make_args(-term)):
                return False
            low -= 1
        elif nonnegative(term):
            low += _least(term)
        else:
            return False
    return bool(low >= 0)


def _least(term: Expr) -> Expr:
    """A lower bound of a non-negative term: its value at 1 where it is a product of powers of counts that
    grow with them, else 0."""
    for factor in sp.Mul.make_args(term):
        base, power = factor.as_base_exp()
        if not (factor.is_number or (_count(base) and power.is_nonnegative)):
            return sp.S.Zero
    return term.subs(dict.fromkeys(term.free_symbols, 1))


def positive(expr: Expr) -> bool:
    """Positive by its form: a product of positive factors, or 1 less powers of one share that stays below
    1."""
    if expr.is_positive:
        return True
    if expr.is_Pow:
        return positive(expr.base) or bool(expr.exp.is_even and positive(-expr.base))
    if expr.is_Mul:
        return all(positive(f) for f in expr.args)
    if expr.is_Add and len(expr.args) == 2 and sp.S.One in expr.args:
        base, power = (1 - expr).as_base_exp()
        return bool(share(base) and GLOSSARY[base.name].open_high and power.is_positive)
    return False


__all__ = ["monotone", "nonnegative", "positive", "quantities", "quantity_of", "share"]
