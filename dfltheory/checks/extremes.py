"""Limits and special cases: what must vanish where its cause is absent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.monomials import Monomial
from dfltheory.bounds.outgrowth import outgrows
from dfltheory.bounds.rates import leading, with_schedule
from dfltheory.bounds.regions import at, expanded_conditions, has_points, points_of
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import AuditFinding, audit_check, warning
from dfltheory.checks.network_constants import check_network_constants
from dfltheory.checks.simpler import check_simpler, simpler_statements
from dfltheory.checks.special import (
    ENDS,
    ends_of_ranges,
    sam_fixed_point_in_order,
    simplest_case,
    vanishing_left_side,
)
from dfltheory.errors import InputError

_KINDS = ("theorem", "corollary", "lemma", "equation")


def has_limits(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether a statement has limits, or simpler statements, to examine."""
    return simpler_statements(theorem, registry=registry) != [] or (
        theorem.kind in _KINDS and has_points(theorem)
    )


@audit_check("limits")
def check_extremes(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Check a bound at the extremes of its quantities.

    The extremes are the ends of every range; the simplest case; SAM's own fixed point;
    simpler algorithms; small extreme graphs; Q -> infinity; the schedule for large T.
    """
    yield from check_simpler(theorem, registry=registry)
    yield from check_network_constants(theorem)
    if theorem.order:
        yield from sam_fixed_point_in_order(theorem)
    if theorem.kind not in _KINDS:
        return
    try:
        points = points_of(theorem, 200)
    except InputError:
        return
    yield from ends_of_ranges(theorem, points)
    yield from vanishing_left_side(theorem, points)
    if theorem.kind not in ("theorem", "corollary"):
        return
    yield from _many_gossip_steps(theorem, points)
    if theorem.kind == "theorem" and not theorem.order:
        yield from simplest_case(theorem, points)
    if theorem.schedule:
        yield from _check_vanishing(theorem)


def limits(theorem: Theorem) -> dict[str, list[str]]:
    """Return which limits of a bound are proved, and which are only sampled.

    A limit is proved if no divisor vanishes there, as the bound consists of continuous
    functions. T -> infinity is proved if the bound under the schedule is at most a
    constant over a power of T.

    Returns
    -------
    dict
        Limits such as ``K -> 1``, under ``proved`` and ``sampled``.
    """
    by_evidence: dict[str, list[str]] = {"proved": [], "sampled": []}
    for name, end in ENDS.items():
        if name in theorem.needs:
            symbol = theorem.glossary[name].symbol
            by_evidence[_continuous(theorem, theorem.bound, symbol, int(end))].append(
                f"{name} -> {end:g}"
            )
    if "Q" in theorem.needs:
        # lam^Q, which vanishes with lam and for Q -> infinity
        left = sp.Dummy("left", nonnegative=True)
        powers = {
            p: left ** (p.exp / s.Q)
            for p in theorem.bound.atoms(sp.Pow)
            if p.base == s.lam
        }
        bound = theorem.bound.xreplace(powers)
        free = bound.free_symbols & {s.lam, s.Q}
        by_evidence["sampled" if free else _continuous(theorem, bound, left, 0)].append(
            "Q -> infinity"
        )
    if theorem.schedule:
        by_evidence["proved" if _decreases_with_horizon(theorem) else "sampled"].append(
            "T -> infinity"
        )
    return by_evidence


def _continuous(theorem: Theorem, bound: Expr, symbol: sp.Symbol, end: int) -> str:
    """Return ``proved`` or ``sampled`` for the continuity at an end of a range.

    It is ``proved`` if no divisor vanishes at this end of the quantity's range.
    """
    conditions = [
        replace(c, left=c.left.subs(symbol, end), right=c.right.subs(symbol, end))
        for c in expanded_conditions(theorem)
    ]
    for power in bound.atoms(sp.Pow):
        base, exponent = power.base.subs(symbol, end), power.exp.subs(symbol, end)
        if symbol not in power.free_symbols or exponent.is_nonnegative:
            continue
        if not Region(conditions, glossary=theorem.glossary).holds(base, strict=True):
            return "sampled"
    return "proved"


def _decreases_with_horizon(theorem: Theorem) -> bool:
    """Return whether the scheduled bound is proved to vanish for T -> infinity.

    A bound that is a sum of c T^-p is proved to be at most the sum of the c over T to
    the smallest of the p, which must be positive.
    """
    x = sp.Symbol("x", positive=True)
    spread: Expr = sp.expand(with_schedule(theorem, theorem.bound).subs(s.T, x**-2))
    terms = []
    for term in sp.Add.make_args(spread):
        c, rest = term.as_independent(x)
        terms.append((c, *rest.as_base_exp()))
    if not all(base == x and p.is_Integer and p > 0 for _, base, p in terms):
        return False
    least = min(p for *_, p in terms)
    own = sp.Add(*(c * s.T ** (-p / 2) for c, _, p in terms))
    above = sp.Add(*(c * s.T ** (-least / 2) for c, _, _ in terms))
    return Region(glossary=theorem.glossary).holds(above - own)


def _many_gossip_steps(
    theorem: Theorem, points: dict[str, np.ndarray]
) -> Iterator[AuditFinding]:
    limited = any(c.name.startswith("Q") for c in theorem.conditions)
    if limited or not {"Q", "lam"} <= set(points):
        return
    averaged = {"lam": 0 * points["lam"], "Q": np.ones_like(points["Q"])}
    at_once = {**points, **averaged}
    repeated = {**points, "Q": np.full_like(points["Q"], 1e6)}
    exact = theorem.evaluate(where="nan", **at_once)
    many = theorem.evaluate(where="nan", **repeated)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.broadcast_to(exact / many, len(points["Q"]))
    ratio = np.nan_to_num(ratio, nan=1.0)
    # another check reports negative bounds
    ratio = np.where(ratio > 0, ratio, 1.0)
    i = int(np.argmax(np.abs(np.log(ratio))))
    if abs(np.log(ratio[i])) > 1e-9:
        yield warning(
            "bound",
            "Q -> infinity and lam = 0 are both exact averaging, but the bounds differ"
            f" by a factor {ratio[i]:.4g}",
            point=at(points, i),
        )


def _check_vanishing(theorem: Theorem) -> Iterator[AuditFinding]:
    bound = with_schedule(theorem, theorem.bound)
    slow = {"T": 1.0}, 0.25
    if not outgrows(slow, bound, s.T ** sp.Rational(-1, 4), theorem.shares):
        return
    for mono in leading(theorem, order=3):
        if mono["T"] >= 0 and _is_power_of_horizon(mono):
            yield warning(
                "schedule",
                f"under its schedule the bound keeps {mono}, which does not vanish for"
                " T -> infinity",
            )


def _is_power_of_horizon(mono: Monomial) -> bool:
    """Return whether no other factor than T itself depends on T, as (1 - x)^T does."""
    others = [name for name, _ in mono.exponents if name != "T"]
    return not any("T" in re.findall(r"\w+", name) for name in others)


__all__ = ["check_extremes", "limits"]
