"""Monotonicity and sign: a bound must not be negative, and worse constants must not improve it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy as sp

from dfltheory.bounds.checks.finding import Finding, found, numbers
from dfltheory.bounds.regions import Points, at, points_of
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

WORSE_UP = (
    "L",
    "sigma_l",
    "sigma_g",
    "beta",
    "B",
    "S2",
    "f0_gap",
    "x0_sq",
    "x0_spread",
    "rho",
    "rho0",
    "lam",
    "C",
    "q",
    "L_u",
    "L_v",
    "L_vu",
    "chi",
    "sigma_u",
    "sigma_v",
    "delta_u",
)
WORSE_DOWN = ("T", "delta", "Q")
_OPERATIONS = 120


def check_monotone(theorem: Theorem) -> Iterator[Finding]:
    """The bound in each constant over the admissible region: proved where possible, else sampled and
    said so."""
    if theorem.kind != "theorem":
        return
    try:
        points = points_of(theorem, 1500)
    except InputError:
        return
    size = len(next(iter(points.values())))
    value = np.broadcast_to(theorem.evaluate(where="ignore", **points), size)
    if (value < 0).any():
        i = int(np.argmin(value))
        yield found(
            "monotone",
            "error",
            theorem,
            "bound",
            f"it is negative, {value[i]:.4g}, at {numbers(at(points, i))}",
            point=at(points, i),
        )
    proofs, samples = [], []
    for name in theorem.needs:
        if name not in (*WORSE_UP, *WORSE_DOWN):
            continue
        up = name in WORSE_UP
        if all(monotone(term, name, up) for term in theorem.terms.values()):
            proofs.append(name)
            continue
        finding = _sampled(theorem, name, up, points, value)
        if finding is None:
            samples.append(name)
        else:
            yield finding
    yield found(
        "monotone",
        "note",
        theorem,
        "bound",
        f"monotone as it should be in: {', '.join(proofs) or 'none'} (proved); "
        f"{', '.join(samples) or 'none'} (sampled)",
    )


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
    if expr.is_Mul and all(_nonnegative(f) for f in expr.args):
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
    if expr.is_Pow and symbol not in expr.exp.free_symbols and _nonnegative(expr.base):
        inner = _direction(expr.base, symbol)
        if inner is None or not (expr.exp.is_nonnegative or expr.exp.is_negative):
            return None
        return inner if expr.exp.is_nonnegative else -inner
    if expr.is_Pow and expr.exp.has(symbol) and _share(expr.base):
        inner = _direction(expr.exp, symbol)
        return None if inner is None else -inner
    return None


def _one(signs: set[int | None]) -> int | None:
    signs = signs - {0}
    if None in signs or len(signs) > 1:
        return None
    return signs.pop() if signs else 0


def _share(base: Expr) -> bool:
    return base.is_Symbol and base.name in GLOSSARY and GLOSSARY[base.name].high == 1


def _at_most_one(factor: Expr) -> bool:
    """A power of a share, or a negative power of a count."""
    base, power = factor.as_base_exp()
    count = base.is_Symbol and base.name in GLOSSARY and GLOSSARY[base.name].whole
    return bool((_share(base) and power.is_nonnegative) or (count and power.is_negative))


def _nonnegative(expr: Expr) -> bool:
    """Non-negative by its form: SymPy's own word, 1 minus a power of a share, counts less one."""
    if expr.is_nonnegative:
        return True
    if expr.is_Pow:
        return _nonnegative(expr.base) or bool(expr.exp.is_even)
    if expr.is_Mul:
        return all(_nonnegative(f) for f in expr.args)
    if expr.is_Add:
        low = sp.S.Zero
        for term in expr.args:
            if term.is_number:
                low += term
            elif term.could_extract_minus_sign():
                base = -term
                if not all(_at_most_one(f) for f in sp.Mul.make_args(base)):
                    return False
                low -= 1
            elif _nonnegative(term):
                whole = [s for s in term.free_symbols if s.name in GLOSSARY and GLOSSARY[s.name].whole]
                low += term.subs(dict.fromkeys(whole, 1)) if len(whole) == len(term.free_symbols) else 0
            else:
                return False
        return bool(low >= 0)
    return False


def _sampled(theorem: Theorem, name: str, up: bool, points: Points, value: np.ndarray) -> Finding | None:
    entry = GLOSSARY[name]
    if entry.whole:
        moved = points[name] + 1
    elif entry.high == 1:
        moved = points[name] + 0.01 * (1 - points[name])
    else:
        moved = points[name] * 1.01 + 1e-9
    after = np.broadcast_to(theorem.evaluate(where="nan", **{**points, name: moved}), value.shape)
    gain = (value - after) if up else (after - value)
    relative = np.where(np.isfinite(gain), gain / np.maximum(np.abs(value), 1e-300), -np.inf)
    i = int(np.argmax(relative))
    if relative[i] <= 1e-9:
        return None
    return found(
        "monotone",
        "warning",
        theorem,
        name,
        f"a worse {name} gives a better bound: from {points[name][i]:.4g} to {moved[i]:.4g} it moves from "
        f"{value[i]:.6g} to {after[i]:.6g} (others: {numbers(at(points, i))})",
        "the assumption only gets weaker that way, so the better value holds there too",
        point=at(points, i),
    )


__all__ = ["check_monotone", "monotone"]
