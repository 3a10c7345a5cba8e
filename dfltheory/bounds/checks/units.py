"""Units: every term scales as the left-hand side does, sums agree inside, conditions compare like with
like, and a schedule gives each step its own unit.

A wrong unit in the bound of a theorem, a corollary or a rate is an error, unless the bound is an O(.), which
may hide constants with units. Elsewhere it is a warning: unweighted Young, ``2 x y <= x^2 + y^2``, mixes
units and is true in all of them. A scaling limit that refutes a statement is always an error: along one
change of units the whole bound becomes arbitrarily small against the left-hand side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import sympy as sp

from dfltheory.bounds.checks.finding import Finding, check, error, warning
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import ONE, Degree, Expr, Scaling, Unit

_DIRECTIONS = [d for d in itertools.product((0, 1, -1, 2, -2), repeat=3) if any(d)]
_ROUNDING = 1e-9


@check("units")
def check_units(theorem: Theorem) -> Iterator[Finding]:
    """Definitions, terms, conditions and schedule; and the scaling limit of a bound that is not invariant."""
    findings = list(_not_invariant(theorem))
    yield from findings
    if findings and not theorem.order and theorem.kind != "definition":
        yield from scaling_limit(theorem)


def _not_invariant(theorem: Theorem) -> Iterator[Finding]:
    """Clashes inside definitions, terms, conditions and the schedule, and sides of different units."""
    units: dict[str, Unit] = {name: q.unit for name, q in GLOSSARY.items()}
    scaling = Scaling(units)
    hides = " (an O(.) that hides constants with units)" if theorem.order else ""
    in_bound = error if theorem.kind in ("theorem", "corollary", "rate") and not theorem.order else warning
    for d in theorem.definitions:
        units[d.symbol.name] = scaling.of(d.expr)
        yield from _clashes(scaling, f"definition {d.symbol}", in_bound)
    for name, part in theorem.parts.items():
        unit = scaling.of(part)
        yield from _clashes(scaling, f"term {name}", in_bound)
        if unit != theorem.lhs.unit:
            yield _not_invariant_finding(
                in_bound,
                f"term {name}",
                f"the term scales as {unit}, the left-hand side as {theorem.lhs.unit}{hides}",
                _mend(theorem, theorem.lhs.unit / unit),
            )
    for c in theorem.conditions:
        left, right = scaling.of(c.left), scaling.of(c.right)
        yield from _clashes(scaling, f"condition {c.name}", warning)
        if left != right and c.left != 0 and c.right != 0:  # 0 has every unit
            yield _not_invariant_finding(
                warning, f"condition {c.name}", f"{c.left} scales as {left}, {c.right} as {right}"
            )
    for name, chosen in theorem.schedule.items():
        unit = scaling.of(sp.sympify(chosen))
        yield from _clashes(scaling, f"schedule of {name}", warning)
        if chosen != 0 and unit != GLOSSARY[name].unit:
            yield _not_invariant_finding(
                warning, f"schedule of {name}", f"{chosen} scales as {unit}, {name} as {GLOSSARY[name].unit}"
            )


def _clashes(scaling: Scaling, place: str, severity: Callable[..., Finding]) -> Iterator[Finding]:
    for clash in dict.fromkeys(scaling.clashes):
        yield _not_invariant_finding(severity, place, str(clash))
    scaling.clashes.clear()


def _not_invariant_finding(
    severity: Callable[..., Finding], place: str, what: str, mend: str | None = None
) -> Finding:
    """Return a finding of the given severity, :func:`error` or :func:`warning`."""
    return severity(place, f"not invariant under units: {what}", mend)


def scaling_limit(theorem: Theorem) -> Iterator[Finding]:
    """A change of units c = t^a, s = t^b, r = t^d that keeps every condition and along which each term of the
    bound falls, for large t, against a left-hand side that is not 0: then the bound is false.

    Silent where a term of the bound is negative (the left-hand side may be, too) and where a condition is not
    invariant in itself.
    """
    units = {name: q.unit for name, q in GLOSSARY.items()}
    apart: list[Expr] = [sp.expand_mul(term) for term in theorem.terms.values()]
    terms = [t for whole in apart for t in sp.Add.make_args(whole)]
    scaling = Scaling(units)
    sides = [
        (scaling.of(theorem.expand(c.left)), scaling.of(theorem.expand(c.right)))
        for c in theorem.conditions
        if c.left != 0 and c.right != 0  # 0 has every unit
    ]
    if scaling.clashes or any(t.could_extract_minus_sign() for t in terms):
        return
    degree = Degree(units, _DIRECTIONS)
    left, right = degree.of_unit(theorem.lhs.unit), np.max([degree.of(t) for t in terms], axis=0)
    refuted = right < left - _ROUNDING
    for low, high in sides:
        refuted &= degree.of_unit(low) <= degree.of_unit(high) + _ROUNDING
    if refuted.any():
        i = int(np.argmax(refuted))
        grows, most = (Fraction(float(power[i])).limit_denominator(12) for power in (left, right))
        change = ", ".join(f"{n} = t^{e}" for n, e in zip("csr", _DIRECTIONS[i], strict=True) if e)
        yield error(
            "bound",
            f"a scaling limit refutes it: under f -> c f, x -> s x (v -> r v) with {change} the "
            f"left-hand side grows as t^({grows}), the bound at most as t^({most})",
            direction=list(_DIRECTIONS[i]),
        )


def _mend(theorem: Theorem, missing: Unit) -> str | None:
    """The simplest product of the statement's own constants that has the missing unit; none that may be 0."""
    wanted = [n for n in ("L", "eta", "lam_admm", "L_u", "L_v", "eta_u", "eta_v") if n in theorem.needs]
    wanted += ["L"] if theorem.order and "L" not in wanted and "L_u" not in theorem.needs else []
    powers = [Fraction(p, 2) for p in (2, -2, 4, -4, 1, -1)]
    for count in (1, 2):
        for names in itertools.combinations(wanted, count):
            for exponents in itertools.product(powers, repeat=count):
                unit = ONE
                for name, e in zip(names, exponents, strict=True):
                    unit = unit * GLOSSARY[name].unit ** e
                if unit == missing:
                    factor = " ".join(
                        f"{n}^{e}" if e != 1 else n for n, e in zip(names, exponents, strict=True)
                    )
                    return f"a factor {factor} would give it the right unit"
    return None


__all__ = ["check_units", "scaling_limit"]
