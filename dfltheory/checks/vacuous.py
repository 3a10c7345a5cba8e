"""The vacuous region of a bound.

There a bound says no more than is known without a proof; the checks find until which T.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.regions import (
    Points,
    at,
    equalities,
    expanded_conditions,
    values_at,
)
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.everyday import everyday
from dfltheory.checks.finding import AuditFinding, found, note, point_text, warning
from dfltheory.checks.logarithms import log_sum_lower_bound, monomial, rows_of

_HORIZONS = np.unique(np.round(10.0 ** np.linspace(0, 15, 121)))
_NEARBY = 1500
"""Random points near the best one, in each sweep of a search."""


def trivials(theorem: Theorem) -> list[tuple[str, Expr]]:
    """Return all that is known without a proof.

    It is B^2 under bounded gradients, for means as well; 2 L (f(x^0) - f*) for the
    least of the rounds and the start (where DFedADMM's auxiliary point is the mean
    model). A bound on the last, the largest or each gradient says more than that.
    """
    L, f0, B = (GLOSSARY[n].symbol for n in ("L", "f0_gap", "B"))
    found: list[tuple[str, Expr]] = []
    if (
        "B" in theorem.symbols
        and theorem.scope.bounded_gradients
        and _is_gradient(theorem)
    ):
        found.append(("||grad f||^2 <= B^2", theorem.lhs.of_constant(B**2)))
    starts_there = theorem.lhs.measure == "grad_norm_sq" or theorem.lhs.start == 0
    if (
        {"L", "f0_gap"} <= set(theorem.symbols)
        and _is_gradient(theorem)
        and starts_there
        and theorem.lhs.aggregate in ("mean", "min", "sum")
    ):
        at_start = theorem.lhs.of_constant(2 * L * f0)
        found.append(("min ||grad f||^2 <= 2 L (f - f*) at the start", at_start))
    return found


def _is_gradient(theorem: Theorem) -> bool:
    return theorem.lhs.measure in GRADIENT_MEASURES


def trivial(theorem: Theorem) -> tuple[str, Expr] | None:
    """Return the first of :func:`trivials`.

    It holds for a mean where there is such a one.
    """
    return next(iter(trivials(theorem)), None)


def vacuous(theorem: Theorem, points: Points) -> Iterator[AuditFinding]:
    """How often, and if always, the bound exceeds what is trivially known."""
    known = trivial(theorem)
    if known is None:
        return
    words, expr = known
    if not symbol_names([expr]) <= set(points):
        return  # what is known of a sum grows with T, and the bound does not
    (limit,) = values_at([expr], points)
    bound = np.broadcast_to(theorem.evaluate(where="ignore", **points), limit.shape)
    meant = limit > 0
    share = float(np.mean((bound >= limit)[meant])) if meant.any() else 0.0
    best, place = _best_ratio(theorem, expr, points)
    if best >= 1:
        yield warning(
            "vacuous region",
            f"no admissible point was found at which the bound says more than {words}:"
            f" at best it is {best:.4g} times that, at {point_text(place)}",
            point=place,
        )
    else:
        yield note(
            "vacuous region",
            f"at {share:.0%} of random admissible points the bound says no more than"
            f" {words}; at best it is {best:.3g} times that",
            point=place,
        )


def _best_ratio(
    theorem: Theorem, expr: Expr, points: Points
) -> tuple[float, dict[str, float]]:
    """Return the least bound/trivial among admissible points, and its point.

    Random changes of the best points are tried as well.
    """
    rng = np.random.default_rng(1)
    names = list(theorem.needs)
    best, place = np.inf, at(points, 0)
    pool = points
    for sweep in range(60):
        (limit,) = values_at([expr], pool)
        with np.errstate(all="ignore"):
            bound = np.broadcast_to(theorem.evaluate(where="nan", **pool), limit.shape)
            ratio = np.where(
                (limit > 0) & np.isfinite(bound),
                bound / np.where(limit > 0, limit, 1),
                np.inf,
            )
        i = int(np.argmin(ratio))
        if ratio[i] < best:
            best, place = float(ratio[i]), at(pool, i)
        pool = {
            n: _jitter(theorem.glossary[n], place[n], 0.5 ** (sweep / 6), rng)
            for n in names
        }
    return best, place


def _jitter(
    entry: Quantity, value: float, width: float, rng: np.random.Generator
) -> np.ndarray:
    """Return random values near a value of a quantity, inside its range.

    A third of them are ``value`` itself; ``width`` is the scale of the logarithms of
    the factors by which the others differ.
    """
    is_value = rng.random(_NEARBY) < 0.34
    factor = np.where(is_value, 1.0, np.exp(rng.normal(0, 2 * width, _NEARBY)))
    if entry.is_share and entry.low == 0:
        gap = np.clip((1 - value) * factor, 1e-4, 1)
        least = 1e-4 if entry.open_low else 0
        largest = 1 - 1e-9 if entry.open_high else 1
        moved = np.clip(1 - gap, least, largest)
    elif entry.integer:
        moved = np.maximum(np.round(value * factor), entry.low)
    else:
        inner = 1e-12 if entry.open_low else 0.0
        moved = np.maximum(value * factor, entry.low + inner)
    return np.where(is_value | ~entry.contains(moved), value, moved)


# -- proved for all constants


def vacuous_until(
    theorem: Theorem, expr: Expr
) -> tuple[int, str, tuple[str, ...]] | None:
    """Return the largest T up to which one term alone exceeds ``expr``.

    It does so wherever the conditions hold. The result has that term and the conditions
    used; None where no term is seen to.
    """
    rows = [
        row
        for c in expanded_conditions(theorem)
        for row in rows_of(c)
        if "T" not in row[1]
    ]
    T = GLOSSARY["T"].symbol
    best: tuple[int, str, tuple[str, ...]] | None = None
    for name, term in theorem.terms.items():
        found = monomial(_lower(term) * T / expr)
        if found is None or "T" in found[0]:
            continue
        answer = log_sum_lower_bound(found[0], rows, theorem.glossary)
        if answer is not None and np.isfinite(answer[0]):
            until = int(np.floor(np.exp(answer[0] + found[1]) * (1 + 1e-12)))
            if until >= max(best[0] if best else 1, 1):
                best = until, name, tuple(answer[1])
    return best


def _lower(term: Expr) -> Expr:
    """Return a product of powers below ``term``.

    Denominators a - b with b >= 0 become a.
    """
    factors = []
    for factor in sp.Mul.make_args(term):
        base, power = factor.as_base_exp()
        large = [t for t in sp.Add.make_args(base) if not t.could_extract_minus_sign()]
        factors.append(
            large[0] ** power
            if base.is_Add and power.is_negative and len(large) == 1
            else factor
        )
    return sp.Mul(*factors)


# -- from which T on


@dataclass(frozen=True)
class Useful:
    """The least T at which some admissible step makes the bound say something.

    ``first`` is inf if there is none up to 1e15. The others are the last T before, with
    its best steps, the ratio of bound and trivial bound there, and its largest term.
    """

    first: float
    before: dict[str, float]
    ratio: float
    term: str


def first_useful_round(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield below which T the bound is vacuous at typical constants.

    There it is vacuous whatever the step.
    """
    known = trivial(theorem)
    if known is None or "T" not in theorem.needs:
        return
    words, expr = known
    proof = vacuous_until(theorem, expr)
    if proof is not None:
        until, term, used = proof
        yield note(
            "vacuous region",
            f"for all T <= {until} it says no more than {words}, whatever the"
            f" constants: under {', '.join(used)} its term {term} alone exceeds that"
            " (proved)",
            until=until,
            term=term,
        )
    fixed = (n for n in theorem.needs if n != "T" and n not in theorem.step_names)
    values = everyday(fixed, theorem.glossary)
    useful = useful_round(theorem, expr, values)
    if useful is None or useful.first <= 1:
        return
    steps = "whatever the step size, " if theorem.step_names else ""
    since = (
        "for every T up to 1e15"
        if useful.first == np.inf
        else f"for every T < {useful.first:.3g}"
    )
    settings = " ".join(f"{n}={v:.12g}" for n, v in useful.before.items())
    yield found(
        "warning" if useful.first == np.inf else "note",
        "vacuous region",
        f"{steps}at {point_text(values)} the bound says no more than {words} {since}"
        f" (grid of T and steps); at T = {useful.before['T']:.4g} it is"
        f" {useful.ratio:.3g} times that at best, mostly {useful.term}",
        shown_by=(
            f"dfltheory bound {theorem.key} --variant {theorem.variant} --set"
            f" {settings}"
        ),
        first=useful.first,
        ratio=useful.ratio,
        point=useful.before,
    )


def useful_round(
    theorem: Theorem, expr: Expr, values: Mapping[str, float]
) -> Useful | None:
    """Find the best step at each T, and the first T with a bound below ``expr``.

    The T are those of a grid. The result is None where no step is admissible at any T.
    """
    equal, _ = equalities(expanded_conditions(theorem), theorem.glossary)
    steps = [n for n in theorem.step_names if n not in equal]
    sizes = 10.0 ** np.linspace(-12, 3, 601 if len(steps) < 2 else 76)
    mesh = np.meshgrid(_HORIZONS, *([sizes] * len(steps)), indexing="ij")
    points: Points = dict(zip(("T", *steps), (g.ravel() for g in mesh), strict=True))
    points |= {
        n: np.full(mesh[0].size, v) for n, v in values.items() if n not in points
    }
    for name, solution in equal.items():
        points[name] = values_at([solution], points)[0]
    bound = np.broadcast_to(theorem.evaluate(where="nan", **points), mesh[0].size)
    (limit,) = values_at([expr], points)
    ratio = np.where(np.isfinite(bound), bound / limit, np.inf).reshape(
        len(_HORIZONS), -1
    )
    best = ratio.min(axis=1)
    good = np.flatnonzero(best < 1)
    first = float(_HORIZONS[good[0]]) if len(good) else np.inf
    row = (good[0] if len(good) else len(_HORIZONS)) - 1
    while row > 0 and not np.isfinite(best[row]):
        row -= 1
    if row < 0 or not np.isfinite(best[row]):
        return Useful(first, {}, np.inf, "") if first <= 1 else None
    before = at(points, row * ratio.shape[1] + int(ratio[row].argmin()))
    terms = theorem.evaluate_terms(where="ignore", **before)
    return Useful(first, before, float(best[row]), max(terms, key=lambda n: terms[n]))


__all__ = [
    "Useful",
    "first_useful_round",
    "trivial",
    "trivials",
    "useful_round",
    "vacuous",
]
