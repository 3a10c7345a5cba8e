"""Units of terms, sums, conditions and schedules.

Every term scales as the left-hand side does, sums agree inside, conditions compare like
with like, and a schedule gives each step its own unit.

A bound with a wrong unit says something different in each system of units. A statement
about all problems must hold in all of them. Whether that is possible decides between an
error and a warning, in every kind of statement:

* A term is an *error* if some change of units keeps every condition, makes the term
  arbitrarily small against the left-hand side, and lets no other term outgrow it.
  Either the statement is false or the terms that vanish contribute nothing: in that
  limit it must hold without them.
* It is a *warning* if there is no such change of units. Unweighted Young, ``2 x y <=
  x^2 + y^2``, mixes units and is true in all of them: what makes one square small makes
  the other one large. So is a bound ``f0/sqrt(T) + L sigma^2/sqrt(T)`` that belongs to
  the step size ``1/sqrt(T)``.
* A bound in O(.) may hide constants with units: a *warning*.
* A definition claims nothing. It is an *error* if its formula has one unit, and that is
  not the declared one; a sum of different units is a *warning*.
* A condition or a step size with a wrong unit restricts the statement, and makes it
  neither false nor true: a *warning*.
* A logarithm, an exponential or a power of a quantity with a unit has no growth in
  powers of a unit. It is an *error* in a theorem, a corollary or a rate, and a
  *warning* elsewhere.

A scaling limit that refutes a statement is always an error: along one change of units
the whole bound becomes arbitrarily small against the left-hand side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import sympy as sp

from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import ONE, Expr, Unit, UnitInference
from dfltheory.checks.degrees import Degree
from dfltheory.checks.finding import AuditFinding, audit_check, error, warning
from dfltheory.checks.idle_terms import (
    DIRECTIONS,
    IDLE_ROUNDING,
    keeps_conditions,
    parts_with_idle_terms,
)

_BOUNDS_A_RUN = ("theorem", "corollary", "rate")
FindingBuilder = Callable[..., AuditFinding]
"""Builds a finding: :func:`error` or :func:`warning`."""


@audit_check("units")
def check_units(theorem: Theorem) -> Iterator[AuditFinding]:
    """Check the units of definitions, terms, conditions and schedule.

    The scaling limit of a bound that is not invariant is checked, too.
    """
    findings = list(_not_invariant(theorem))
    yield from findings
    if findings and not theorem.order and theorem.kind != "definition":
        yield from scaling_limit(theorem)


def _not_invariant(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield clashes of units, and sides of different units.

    The clashes are inside definitions, terms, conditions and the schedule.
    """
    units: dict[str, Unit] = {name: q.unit for name, q in theorem.glossary.items()}
    scaling = UnitInference(units)
    wrong = parts_with_idle_terms(theorem)
    wrong_definitions = _definitions_of(theorem, wrong)
    for d in theorem.definitions:
        units[d.symbol.name] = scaling.of(d.expr)
        severity = error if d.symbol in wrong_definitions else warning
        yield from _clashes(theorem, scaling, f"definition {d.symbol}", severity)
    for name, part in theorem.parts.items():
        yield from _term(
            theorem, scaling, name, part, error if name in wrong else warning
        )
    for c in theorem.conditions:
        left, right = scaling.of(c.left), scaling.of(c.right)
        yield from _clashes(theorem, scaling, f"condition {c.name}", warning)
        if left != right and c.left != 0 and c.right != 0:  # 0 has every unit
            yield _not_invariant_finding(
                warning,
                f"condition {c.name}",
                f"{c.left} scales as {left}, {c.right} as {right}",
            )
    for name, chosen in theorem.schedule.items():
        unit, wanted = scaling.of(sp.sympify(chosen)), units[name]
        yield from _clashes(theorem, scaling, f"schedule of {name}", warning)
        if chosen != 0 and unit != wanted:
            yield _not_invariant_finding(
                warning,
                f"schedule of {name}",
                f"{chosen} scales as {unit}, {name} as {wanted}",
            )


def _term(
    theorem: Theorem,
    scaling: UnitInference,
    name: str,
    part: Expr,
    severity: FindingBuilder,
) -> Iterator[AuditFinding]:
    """Yield clashes inside one term of the bound, and a wrong unit.

    A unit is wrong if it is not the left-hand side's.
    """
    unit, wanted = scaling.of(part), theorem.lhs.unit
    mixed = bool(scaling.clashes)
    yield from _clashes(theorem, scaling, f"term {name}", severity)
    if unit == wanted or part == 0:  # 0 has every unit
        return
    if theorem.kind == "definition" and not mixed and not theorem.order:
        severity = error
    hides = " (an O(.) that hides constants with units)" if theorem.order else ""
    yield _not_invariant_finding(
        severity,
        f"term {name}",
        f"the term scales as {unit}, the left-hand side as {wanted}{hides}",
        _missing_factor(theorem, wanted / unit),
    )


def _definitions_of(theorem: Theorem, names: frozenset[str]) -> set[sp.Symbol]:
    """Return the symbols of the definitions on which these terms depend."""
    found: set[sp.Symbol] = set()
    for name in names:
        found |= theorem.parts[name].free_symbols
    for d in reversed(theorem.definitions):  # each may contain those before it
        if d.symbol in found:
            found |= d.expr.free_symbols
    return found


def _clashes(
    theorem: Theorem, scaling: UnitInference, place: str, severity: FindingBuilder
) -> Iterator[AuditFinding]:
    """Yield the clashes that were collected at one place, once each."""
    of_bound = place.startswith(("definition ", "term "))
    claims = theorem.kind in _BOUNDS_A_RUN and not theorem.order and of_bound
    for clash in dict.fromkeys(scaling.clashes):
        without_unit = not isinstance(clash.where, sp.Add | sp.Max | sp.Min)
        yield _not_invariant_finding(
            error if claims and without_unit else severity, place, str(clash)
        )
    scaling.clashes.clear()


def _not_invariant_finding(
    severity: FindingBuilder, place: str, what: str, correction: str | None = None
) -> AuditFinding:
    """Return a finding of the given severity, :func:`error` or :func:`warning`."""
    return severity(place, f"not invariant under units: {what}", correction)


def scaling_limit(theorem: Theorem) -> Iterator[AuditFinding]:
    """Find a change of units that refutes the bound.

    It is a change c = t^a, s = t^b, r = t^d that keeps every condition and along which
    each term of the bound falls, for large t, against a left-hand side that is not 0:
    then the bound is false.

    A lower bound is false if one of its terms grows against the left-hand side. Silent
    where a term of the bound is negative (the left-hand side may be, too) and where a
    condition is not invariant in itself.
    """
    units = {name: q.unit for name, q in theorem.glossary.items()}
    summands: list[Expr] = [sp.expand_mul(term) for term in theorem.terms.values()]
    terms = [t for whole in summands for t in sp.Add.make_args(whole)]
    kept = keeps_conditions(theorem)
    if kept is None or any(t.could_extract_minus_sign() for t in terms):
        return
    degree = Degree(units, DIRECTIONS)
    left, right = (
        degree.of_unit(theorem.lhs.unit),
        np.max([degree.of(t) for t in terms], axis=0),
    )
    below = theorem.kind == "lower bound"
    refuted = kept & (
        right > left + IDLE_ROUNDING if below else right < left - IDLE_ROUNDING
    )
    if refuted.any():
        i = int(np.argmax(refuted))
        grows, most = (
            Fraction(float(power[i])).limit_denominator(12) for power in (left, right)
        )
        change = ", ".join(
            f"{n} = t^{e}" for n, e in zip("csr", DIRECTIONS[i], strict=True) if e
        )
        yield error(
            "bound",
            "a scaling limit refutes it: under f -> c f, x -> s x (v -> r v) with"
            f" {change} the left-hand side grows as t^({grows}), the bound"
            f" {'' if below else 'at most '}as t^({most})",
            direction=list(DIRECTIONS[i]),
        )


def _missing_factor(theorem: Theorem, missing: Unit) -> str | None:
    """Return the simplest product of constants that has the missing unit.

    The constants are the statement's own. It contains no constant that may be 0.
    """
    wanted = [
        n
        for n in ("L", "eta", "lam_admm", "L_u", "L_v", "eta_u", "eta_v")
        if n in theorem.needs
    ]
    wanted += (
        ["L"]
        if theorem.order and "L" not in wanted and "L_u" not in theorem.needs
        else []
    )
    powers = [Fraction(p, 2) for p in (2, -2, 4, -4, 1, -1)]
    for count in (1, 2):
        for names in itertools.combinations(wanted, count):
            for exponents in itertools.product(powers, repeat=count):
                unit = ONE
                for name, e in zip(names, exponents, strict=True):
                    unit = unit * theorem.glossary[name].unit ** e
                if unit == missing:
                    pairs = zip(names, exponents, strict=True)
                    factor = " ".join(_power_text(n, e) for n, e in pairs)
                    return f"a factor {factor} would give it the right unit"
    return None


def _power_text(name: str, exponent: Fraction) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


__all__ = ["check_units", "scaling_limit"]
