"""Conditions: can all hold together, is every denominator positive where they do, is the bound ever
better than
what is known without a proof?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy as sp

from dfltheory.bounds.checks.finding import Finding, found, numbers
from dfltheory.bounds.regions import Points, at, points_of, values_of
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError


def check_conditions(theorem: Theorem) -> Iterator[Finding]:
    """Satisfiability, denominators, and the vacuous region."""
    if theorem.kind not in ("theorem", "corollary"):
        return
    try:
        points = points_of(theorem, 3000)
    except InputError as wrong:
        yield found("conditions", "error", theorem, "conditions", f"cannot be met together: {wrong}")
        return
    yield from denominators(theorem, points)
    if not theorem.order:
        yield from vacuous(theorem, points)


def denominators(theorem: Theorem, points: Points) -> Iterator[Finding]:
    """Every denominator that is a difference must be positive wherever the conditions hold."""
    seen: set[Expr] = set()
    for name, term in theorem.terms.items():
        for power in term.atoms(sp.Pow):
            if (
                not (power.exp.is_number and power.exp.is_negative and power.base.is_Add)
                or power.base in seen
            ):
                continue
            seen.add(power.base)
            (value,) = values_of([power.base], points)
            if (value <= 0).any() and (power.exp.is_odd is not False or (value == 0).any()):
                i = int(np.argmin(value))
                place = {
                    n: v for n, v in at(points, i).items() if n in {s.name for s in power.base.free_symbols}
                }
                yield found(
                    "conditions",
                    "error",
                    theorem,
                    f"term {name}",
                    f"its denominator {power.base} is {value[i]:.3g} at {numbers(place)}, where all "
                    f"conditions hold",
                    f"demand {power.base} > 0",
                    point=at(points, i),
                )


def trivial(theorem: Theorem) -> tuple[str, Expr] | None:
    """What is known without a proof: 2 L (f(x^0) - f*) for a minimum over rounds that starts there, B^2 under
    bounded gradients, for means as well."""
    L, f0, B = (GLOSSARY[n].symbol for n in ("L", "f0_gap", "B"))
    if not theorem.lhs.measure.startswith("grad_norm_sq"):
        return None
    if "B" in theorem.symbols and any("<= B" in a for a in theorem.assumptions):
        return "||grad f||^2 <= B^2", B**2
    if {"L", "f0_gap"} <= set(theorem.symbols) and theorem.lhs.measure == "grad_norm_sq":
        return "min ||grad f||^2 <= 2 L (f - f*) at the start", 2 * L * f0
    return None


def vacuous(theorem: Theorem, points: Points) -> Iterator[Finding]:
    """How often, and if always, the bound exceeds what is trivially known."""
    known = trivial(theorem)
    if known is None:
        return
    words, expr = known
    (limit,) = values_of([expr], points)
    bound = np.broadcast_to(theorem.evaluate(where="ignore", **points), limit.shape)
    meant = limit > 0
    share = float(np.mean((bound >= limit)[meant])) if meant.any() else 0.0
    best, place = _best_ratio(theorem, expr, points)
    if best >= 1:
        yield found(
            "conditions",
            "warning",
            theorem,
            "vacuous region",
            f"no admissible point was found at which the bound says more than {words}: least ratio "
            f"{best:.4g} at "
            f"{numbers(place)}",
            point=place,
        )
    else:
        yield found(
            "conditions",
            "note",
            theorem,
            "vacuous region",
            f"{share:.0%} of random admissible points are vacuous ({words}); least ratio found {best:.3g}",
            point=place,
        )


def _best_ratio(theorem: Theorem, expr: Expr, points: Points) -> tuple[float, dict[str, float]]:
    """The least bound/trivial among admissible points and random changes of the best of them."""
    rng = np.random.default_rng(1)
    names = list(theorem.needs)
    best, place = np.inf, at(points, 0)
    pool = points
    for sweep in range(60):
        (limit,) = values_of([expr], pool)
        with np.errstate(all="ignore"):
            bound = np.broadcast_to(theorem.evaluate(where="nan", **pool), limit.shape)
            ratio = np.where((limit > 0) & np.isfinite(bound), bound / np.where(limit > 0, limit, 1), np.inf)
        i = int(np.argmin(ratio))
        if ratio[i] < best:
            best, place = float(ratio[i]), at(pool, i)
        pool = {n: _jitter(n, place[n], 0.5 ** (sweep / 6), rng) for n in names}
    return best, place


def _jitter(name: str, value: float, width: float, rng: np.random.Generator) -> np.ndarray:
    """1500 values around one, a third unchanged, inside the range of the quantity."""
    entry = GLOSSARY[name]
    factor = np.where(rng.random(1500) < 0.34, 1.0, np.exp(rng.normal(0, 2 * width, 1500)))
    if entry.high == 1:
        gap = np.clip((1 - value) * factor, 1e-4, 1)
        return np.clip(1 - gap, 1e-4 if entry.open_low else 0, 1 if not entry.open_high else 1 - 1e-9)
    moved = value * factor
    if entry.whole:
        return np.maximum(np.round(moved), entry.low)
    return np.maximum(moved, 1e-12 if entry.open_low else 0.0)


__all__ = ["check_conditions", "denominators", "trivial", "vacuous"]
