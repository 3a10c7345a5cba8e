"""Versions of the corrected theorems that may be false, planted by rule.

For every corrected theorem and corollary with constants of the registry: each term left
out; each term times one more power of each quantity in it, towards less
(:func:`lowered`); each term's constant made smaller where it was seen sharp
(:func:`smaller`); each condition left out; each assumption of the scope on starts and
samples left out; where windows of rounds contract, that rounds do. Nothing is chosen by
hand, so that some of them are true, or say nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import ONE, Expr, Scaling, Unit
from dfltheory.files import read_json
from validation.counterexamples.planted_reasons import WITHOUT_CONDITION
from validation.counterexamples.survey import outcome_file, searched

_WITHOUT = "without the assumption of"
_DRAWS = 200
KINDS = {
    "without the term": "terms left out",
    "1/": "constants made smaller",
    "one more power": "one more power",
    WITHOUT_CONDITION: "conditions left out",
    _WITHOUT: "assumptions left out",
    "with rounds": "rounds in place of windows",
}
"""How the name of a version of each kind begins, and what the kind is called."""
Version = tuple[str, Theorem]
"""What was done to a theorem, and what came of it."""


class Term(TypedDict):
    """Searches of one term, as an outcome file has them."""

    share: float | str
    without: float | str


def examined(variant: str = "corrected") -> Iterator[Theorem]:
    """Yield the corrected statements with constants that versions are made of.

    One variant of each key, and where windows of rounds contract, that one too; of
    those that say the same, the first.
    """
    seen = []
    for theorem in searched(variant=variant):
        if theorem.order:
            continue
        if theorem.variant != variant and "window" not in theorem.needs:
            continue
        content = (
            theorem.parts,
            theorem.conditions,
            theorem.lhs,
            theorem.scope,
            theorem.schedule,
        )
        if content not in seen:
            seen.append(content)
            yield theorem


def shares_of(folder: Path, theorem: Theorem) -> dict[str, Term]:
    """Return what the outcome file of a statement says of its terms.

    It is empty where there is no file.
    """
    path = outcome_file(folder, theorem)
    return read_json(path).get("terms", {}) if path.exists() else {}


def planted(
    theorem: Theorem, shares: Mapping[str, Term] | None = None
) -> Iterator[Version]:
    """Yield versions of one theorem that may be false.

    ``shares``: of each term, the largest ``share`` that measured / bound has reached
    where it rules.
    """
    if "window" in theorem.needs:  # else as without windows
        yield "with rounds in place of windows", _with_rounds(theorem)
        return
    yield from _changed_terms(theorem, shares or {})
    yield from _weaker_scopes(theorem)
    for condition in theorem.conditions:
        others = tuple(c for c in theorem.conditions if c is not condition)
        name = f"{WITHOUT_CONDITION} {condition.name}"
        yield name, replace(theorem, conditions=others)


def _with_rounds(theorem: Theorem) -> Theorem:
    parts = {
        name: part.xreplace({s.window: sp.S.One})
        for name, part in theorem.parts.items()
    }
    one = Condition("window >= 1", sp.S.One, s.window)
    return replace(theorem, parts=parts, conditions=(*theorem.conditions, one))


def _changed_terms(theorem: Theorem, shares: Mapping[str, Term]) -> Iterator[Version]:
    parts = theorem.parts
    for name in parts if len(parts) > 1 else ():
        others = {n: part for n, part in parts.items() if n != name}
        yield f"without the term {name}", replace(theorem, parts=others)
    for name, term in shares.items():
        divisor = smaller(float(term["share"]))
        if divisor:
            share = sp.Rational(1, divisor)
            yield f"1/{divisor} of the term {name}", _times(theorem, name, share)
    for name, part in parts.items():
        for words, factor in lowered(theorem, part):
            yield f"{words} in the term {name}", _times(theorem, name, factor)


def _weaker_scopes(theorem: Theorem) -> Iterator[Version]:
    scope = theorem.scope
    if scope.common_start:
        any_start = replace(scope, common_start=False)
        yield f"{_WITHOUT} a common start", replace(theorem, scope=any_start)
    if scope.samplewise and {"rho", "rho0"} & set(theorem.needs):
        any_sample = replace(scope, samplewise=False)
        yield f"{_WITHOUT} smooth samples", replace(theorem, scope=any_sample)


def smaller(share: float) -> int:
    """Return the power of two by which a bound of one term cannot be divided.

    It is 16 at most. Measured is ``share`` of the bound somewhere: 2 beyond 1/2, 4
    beyond 1/4; 0 where it was not seen sharp.
    """
    return next((n for n in (2, 4, 8, 16) if n * share > 1), 0)


def lowered(theorem: Theorem, part: Expr) -> Iterator[tuple[str, Expr]]:
    """Yield changes of a term that lower it, in words, and their factors.

    For each quantity of a term: one more power of it, or of 1/x for counts and for
    definitions that never are in (0, 1), of x or 1 - x for shares (whichever the term
    has a power of). The factor multiplies the whole term, where that is a sum, too.

    Quantities with units are counted in those of the smoothness and of f(x^0) - f*,
    which therefore keep their own exponents: an exponent of a radius rho goes up with
    rho sqrt(L/Delta).
    """
    for x in sorted(part.free_symbols, key=str):
        if str(x) not in ("f0_gap", "L", "L_u", "L_v"):
            yield from _lowered_by(theorem, part, x)


def _lowered_by(
    theorem: Theorem, part: Expr, x: sp.Symbol
) -> Iterator[tuple[str, Expr]]:
    """Yield changes of a term by a power of one of its quantities."""
    name = str(x)
    defined = {d.symbol: d.expr for d in theorem.definitions}
    if x in defined:
        meaning = defined[x].xreplace(defined)
        needs = {n: theorem.glossary[n].unit for n in theorem.needs}
        unit = Scaling(needs).of(meaning)
        counts, is_share = unit == ONE and _never_small(theorem, meaning), False
    else:
        quantity = theorem.glossary[name]
        unit, counts = quantity.unit, quantity.integer
        is_share = quantity.high == 1
    if counts:
        yield f"one more power of 1/{name}", 1 / x
    elif is_share:
        denominator: Expr = sp.factor(sp.denom(sp.together(part)))
        below = sp.Mul.make_args(denominator)
        if any(factor.subs(x, 1) == 0 for factor in below):
            yield f"one more power of 1 - {name}", 1 - x
        if part.subs(x, 0) == 0 or any(factor.subs(x, 0) == 0 for factor in below):
            yield f"one more power of {name}", x
    else:
        yield f"one more power of {name}", x / _scale(unit, theorem)


def _never_small(theorem: Theorem, expr: Expr) -> bool:
    """Return whether it is 0, or 1 and more, at all points, and at some more than 1."""
    rng = np.random.default_rng(0)
    draws: dict[str, np.ndarray] = {}
    for x in sorted(expr.free_symbols, key=str):
        entry = theorem.glossary[str(x)]
        share, size = rng.random(_DRAWS), 10.0 ** rng.uniform(-2, 2, _DRAWS)
        draws[str(x)] = share if entry.high == 1 else size
        if entry.integer:
            draws[str(x)] = rng.integers(1, 9, _DRAWS)
    values = sp.lambdify(list(draws), expr, "numpy")(*draws.values()) * np.ones(_DRAWS)
    return bool(np.all((values == 0) | (values >= 1 - 1e-9)) and (values > 1).any())


def _scale(unit: Unit, theorem: Theorem) -> Expr:
    """Return a unit, in those of f(x^0) - f* and of the smoothness."""
    body = s.L_u if theorem.scope.two_blocks else s.L
    lengths = sp.sqrt(s.f0_gap / body), sp.sqrt(s.f0_gap / s.L_v)
    return s.f0_gap**unit.f * lengths[0] ** unit.x * lengths[1] ** unit.v


def _times(theorem: Theorem, name: str, factor: Expr) -> Theorem:
    return replace(theorem, parts={**theorem.parts, name: factor * theorem.parts[name]})


__all__ = ["KINDS", "Version", "examined", "lowered", "planted", "shares_of", "smaller"]
