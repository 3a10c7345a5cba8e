"""Signs and directions that an expression shows by its form: no sampling, no solver.

Ranges of symbols are those of a glossary; SymPy's assumptions hold in addition.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds.quantity import Glossary, Quantity
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr


def quantity_of(base: Expr, glossary: Glossary = GLOSSARY) -> Quantity | None:
    """Return the glossary's entry of a symbol; None for any other expression.

    A symbol with the name of a quantity and other assumptions is not the quantity.
    """
    entry = glossary.get(base.name) if isinstance(base, sp.Symbol) else None
    return entry if entry is not None and entry.symbol == base else None


def monotone(term: Expr, name: str, up: bool, glossary: Glossary = GLOSSARY) -> bool:
    """Return whether the form of a nonnegative term shows that it is monotone.

    Parameters
    ----------
    term : nonnegative in the ranges of the quantities
    name : a quantity of the glossary
    up : True for a term that must not fall with ``name``, False for one that must not
        rise
    glossary : the ranges of quantities

    Returns
    -------
    bool
        False where the form does not show it, which is no proof of the contrary.
    """
    direction = _direction(term, glossary[name].symbol, glossary)
    return direction == 0 or direction == (1 if up else -1)


def _direction(expr: Expr, symbol: sp.Symbol, glossary: Glossary) -> int | None:
    """Return +1, -1 or 0 for an increasing, decreasing or constant expression.

    The expression must be nonnegative. The result is None where the form does not show
    a direction.
    """
    if symbol not in expr.free_symbols:
        return 0
    if expr == symbol:
        return 1
    if expr.is_Mul and all(nonnegative(f, glossary) for f in expr.args):
        return _common_direction({_direction(f, symbol, glossary) for f in expr.args})
    if expr.is_Add and expr == 1 - symbol:
        return -1
    if expr.is_Add:
        return _common_direction(
            {_direction_of_term(term, symbol, glossary) for term in expr.args}
        )
    if isinstance(expr, sp.Pow):
        return _direction_of_power(expr, symbol, glossary)
    return None


def _direction_of_term(term: Expr, symbol: sp.Symbol, glossary: Glossary) -> int | None:
    """Return the direction of a term of a sum, which may be negative."""
    if not term.could_extract_minus_sign():
        return _direction(term, symbol, glossary)
    return _reverse(_direction(-term, symbol, glossary))


def _direction_of_power(
    power: sp.Pow, symbol: sp.Symbol, glossary: Glossary
) -> int | None:
    """Return the direction of a power: by its base, or by the exponent of a share."""
    base, exponent = power.base, power.exp
    if symbol not in exponent.free_symbols and nonnegative(base, glossary):
        inner = _direction(base, symbol, glossary)
        if exponent.is_nonnegative:
            return inner
        return _reverse(inner) if exponent.is_negative else None
    if exponent.has(symbol) and base != symbol and share(base, glossary):
        return _reverse(_direction(exponent, symbol, glossary))
    return None


def _reverse(direction: int | None) -> int | None:
    return None if direction is None else -direction


def _common_direction(signs: set[int | None]) -> int | None:
    signs = signs - {0}
    if None in signs or len(signs) > 1:
        return None
    return signs.pop() if signs else 0


def share(base: Expr, glossary: Glossary = GLOSSARY) -> bool:
    """Return whether an expression is a quantity between 0 and 1."""
    entry = quantity_of(base, glossary)
    return entry is not None and entry.low >= 0 and entry.high <= 1


def _is_below_one(base: Expr, glossary: Glossary) -> bool:
    """Return whether an expression is a quantity in [0, 1), or in part of it."""
    entry = quantity_of(base, glossary)
    if entry is None or not share(base, glossary):
        return False
    return entry.high < 1 or entry.open_high


def _count(base: Expr, glossary: Glossary) -> bool:
    entry = quantity_of(base, glossary)
    whole = entry is not None and entry.integer and entry.low >= 1
    return whole or bool(base.is_Symbol and base.is_integer and base.is_positive)


def _at_most_one(factor: Expr, glossary: Glossary) -> bool:
    """Return whether a factor is a power of a share, or a negative power of a count."""
    base, power = factor.as_base_exp()
    return bool(
        (share(base, glossary) and power.is_nonnegative)
        or (_count(base, glossary) and power.is_negative)
    )


def nonnegative(expr: Expr, glossary: Glossary = GLOSSARY) -> bool:
    """Return whether the form of an expression shows that it is nonnegative.

    Used are SymPy's own answer, that a power of a share is at most 1, and that a count
    is at least 1. False where the form does not show it.
    """
    if expr.is_nonnegative:
        return True
    if isinstance(expr, sp.Pow):
        return nonnegative(expr.base, glossary) or bool(
            expr.exp.is_even and expr.base.is_real
        )
    if expr.is_Mul:
        minus, rest = _split_sign(expr, glossary)
        return not minus and all(nonnegative(f, glossary) for f in rest)
    if expr.is_Add:
        return _sum_nonnegative(expr, glossary)
    return False


def _split_sign(product: Expr, glossary: Glossary) -> tuple[bool, list[Expr]]:
    """Return whether signs pulled out of a product's factors make it negative.

    The factors without these signs are returned, too: numbers as absolute values, and
    sums to an odd power with the opposite sign where their own is not shown to be
    nonnegative.
    """
    minus = False
    factors: list[Expr] = []
    for factor in product.args:
        base, power = factor.as_base_exp()
        if factor.is_number:
            minus ^= bool(factor.is_negative)
            factors.append(abs(factor))
        elif base.is_Add and power.is_odd and not nonnegative(base, glossary):
            minus ^= True
            factors.append((-base) ** power)
        else:
            factors.append(factor)
    return minus, factors


def _sum_nonnegative(total: Expr, glossary: Glossary) -> bool:
    low: Expr = sp.S.Zero
    for term in total.args:
        if term.is_number:
            low += term
        elif term.could_extract_minus_sign():
            if not all(_at_most_one(f, glossary) for f in sp.Mul.make_args(-term)):
                return False
            low -= 1
        elif nonnegative(term, glossary):
            low += _least(term, glossary)
        else:
            return False
    return bool(low.is_nonnegative)


def _least(term: Expr, glossary: Glossary) -> Expr:
    """Return a lower bound of a non-negative term.

    It is its value at 1 for products of powers of counts that grow with them, else 0.
    """
    for factor in sp.Mul.make_args(term):
        base, power = factor.as_base_exp()
        if not (factor.is_number or (_count(base, glossary) and power.is_nonnegative)):
            return sp.S.Zero
    return term.subs(dict.fromkeys(term.free_symbols, 1))


def positive(expr: Expr, glossary: Glossary = GLOSSARY) -> bool:
    """Return whether the form of an expression shows that it is positive.

    Products of positive factors are positive, and so is 1 minus a power of a share that
    is below 1. False where the form does not show it.
    """
    if expr.is_positive:
        return True
    if isinstance(expr, sp.Pow):
        return positive(expr.base, glossary) or bool(
            expr.exp.is_even and positive(-expr.base, glossary)
        )
    if expr.is_Mul:
        return all(positive(f, glossary) for f in expr.args)
    if expr.is_Add and len(expr.args) == 2 and sp.S.One in expr.args:
        base, power = (1 - expr).as_base_exp()
        return bool(_is_below_one(base, glossary) and power.is_positive)
    return False


__all__ = ["monotone", "nonnegative", "positive", "quantity_of", "share"]
