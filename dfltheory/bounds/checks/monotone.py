"""Monotonicity and sign: a bound must not be negative, and worse constants must not improve it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds.certificates.files import REFUSED
from dfltheory.bounds.certificates.form import Form
from dfltheory.bounds.certificates.make import make
from dfltheory.bounds.certificates.statement import Statement
from dfltheory.bounds.checks.finding import Finding, check, error, note, numbers, warning
from dfltheory.bounds.checks.forms import monotone, nonnegative
from dfltheory.bounds.regions import Points, at, conditions_of, has_points, points_of
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
    "x_star_sq",
    "sigma_star",
    "Gamma",
)
WORSE_DOWN = ("T", "delta", "Q")
_LONG = 100
"""A formula with more operations is not tried: its products take minutes, and none was ever certified."""


def has_monotonicity(theorem: Theorem) -> bool:
    """Is it a theorem with admissible values?"""
    return theorem.kind == "theorem" and has_points(theorem)


@check("monotone")
def check_monotone(theorem: Theorem) -> Iterator[Finding]:
    """The bound in each constant over the admissible region: proved by its form, or by a certificate, or
    else sampled and said so."""
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
        yield error(
            "bound", f"it is negative, {value[i]:.4g}, at {numbers(at(points, i))}", point=at(points, i)
        )
    proofs, certificates, samples, left = [], [], [], {}
    moves = _moved_with(theorem)
    for name in theorem.needs:
        if name not in (*WORSE_UP, *WORSE_DOWN) or name in moves:
            continue
        up = name in WORSE_UP
        open_terms = {part: e for part, e in theorem.terms.items() if not monotone(e, name, up)}
        unproved = [part for part, e in open_terms.items() if not _certified(theorem, e, name, up)]
        if not unproved:
            (certificates if open_terms else proofs).append(name)
            continue
        finding = _sampled(theorem, name, up, points, value)
        if finding is None:
            samples.append(name)
            left |= dict.fromkeys(unproved)
        else:
            yield finding
    yield note(
        "bound",
        f"monotone as it should be in: {', '.join(proofs) or 'none'} (proved); "
        f"{', '.join(certificates) or 'none'} (certified); "
        f"{', '.join(samples) or 'none'} (sampled)"
        + (f"; no certificate was found for the terms: {', '.join(left)}" if left else ""),
    )


def _moved_with(theorem: Theorem) -> set[str]:
    """Constants with which what is bounded changes: those in the left-hand side, and those of the steps that
    the statement has put in. A bound need not be monotone in them."""
    put_in = [e for n, e in theorem.schedule.items() if n not in theorem.needs]
    return {*theorem.lhs.carries, *(s.name for e in put_in for s in sp.sympify(e).free_symbols)}


def _certified(theorem: Theorem, term: Expr, name: str, up: bool) -> bool:
    """Is it certified that a term does not fall (or does not rise) with the constant where the conditions
    hold: each side of a maximum, as the term is continuous; each part of a sum, each factor of a product that
    is not negative, and what a power is taken of; or what the whole grows by?"""
    symbol, largest = GLOSSARY[name].symbol, next(iter(term.atoms(sp.Max)), None)
    if largest is not None:
        return all(_certified(theorem, term.xreplace({largest: side}), name, up) for side in largest.args)
    if symbol not in term.free_symbols or monotone(term, name, up):
        return True
    base, power = term.as_base_exp()
    parts = [(term, up)]
    if term.is_Add:
        parts = [(part, up) for part in term.args]
    elif power != 1 and power.is_number:
        parts = [(base, up == bool(power > 0))] * _signed(theorem, base)
    elif term.is_Mul:
        parts = [(f, up) for f in term.args] * all(_signed(theorem, f) for f in term.args)
    whole = parts in ([], [(term, up)])
    return (not whole and all(_certified(theorem, part, name, way) for part, way in parts)) or _grown(
        theorem, term, symbol, up
    )


def _grown(theorem: Theorem, term: Expr, symbol: sp.Symbol, up: bool) -> bool:
    """Is there a certificate of what a term grows by, with one more where the constant is whole? Where there
    is no derivative, since a root is 0, it is continuous."""
    growth: Any = (
        term.subs(symbol, symbol + 1) - term if GLOSSARY[symbol.name].whole else sp.diff(term, symbol)
    )
    roots = {
        sp.sqrt(p.base) for p in growth.atoms(sp.Pow) if p.exp == -sp.S.Half and symbol in p.free_symbols
    }
    growth = sp.expand_mul(growth * sp.Mul(*roots)) if roots else growth
    return _made(theorem, growth if up else -growth)


def _signed(theorem: Theorem, expr: Expr) -> bool:
    """Is it certified that this is not negative?"""
    return nonnegative(expr) or _made(theorem, expr)


@lru_cache(maxsize=1000)
def _made(theorem: Theorem, claimed: Expr) -> bool:
    """Is there a certificate of 0 <= this? The same factor is asked for with each constant."""
    if sp.count_ops(claimed) > _LONG:
        return False
    return made(theorem, Statement(sp.S.Zero, claimed, conditions_of(theorem), ()))


def made(theorem: Theorem, says: Statement) -> bool:
    """Is there a certificate of this in a normal form of the theorem, or of its other variants?"""
    paper = theorem.key.partition(".")[0]
    forms = registry.forms(paper) if paper in registry.papers() else {}
    alike = {claim: form for claim, form in forms.items() if claim.startswith(f"{theorem.key}:")}
    own = alike.get(f"{theorem.key}:{theorem.variant}")
    for form in (Form(), *([own] if own else alike.values()), Form(together=True)):
        try:
            make([says], form, most=1)
        except REFUSED:
            continue
        return True
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
    return warning(
        name,
        f"a worse {name} gives a better bound: from {points[name][i]:.4g} to {moved[i]:.4g} it moves from "
        f"{value[i]:.6g} to {after[i]:.6g} (others: {numbers(at(points, i))})",
        "the assumption only gets weaker that way, so the better value holds there too",
        point=at(points, i),
    )
