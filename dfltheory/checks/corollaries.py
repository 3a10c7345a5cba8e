"""Checks of corollaries and schedules.

They examine whether the claimed rate follows from the theorem under the schedule, and
from which T on the schedule meets the conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import sympy as sp

from dfltheory.bounds.monomials import Monomial
from dfltheory.bounds.outgrowth import outgrows
from dfltheory.bounds.rates import (
    covered,
    direction,
    leading,
    ordered,
    scheduled_region,
    with_schedule,
)
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import AuditFinding, audit_check, found, note
from dfltheory.checks.scheduled_conditions import conditions_under_schedule

HIDDEN = ("L", "rho0", "B", "sigma_l", "sigma_g", "beta", "f0_gap")
"""Constants of the problem that authors may mean to hide in O(.)."""


def has_rate(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether a claim has a rate or a schedule to check.

    It has a rate if it is derived from another statement, and a schedule is compared
    with conditions.
    """
    return _is_derived(theorem) or bool(
        theorem.schedule and _scheduled(theorem, registry).conditions
    )


def _is_derived(theorem: Theorem) -> bool:
    return theorem.kind in ("corollary", "rate") and theorem.of is not None


def _scheduled(theorem: Theorem, registry: Registry) -> Theorem:
    """Return the statement whose conditions a schedule must meet."""
    if theorem.kind == "theorem" or theorem.of is None:
        return theorem
    return _parent(theorem, registry) or theorem


@audit_check("corollary")
def check_corollary(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Check the terms against the parent, and the schedule against the conditions.

    Terms that the claim lost and terms that it need not have are reported.
    """
    if _is_derived(theorem):
        parent = _parent(theorem, registry)
        if parent is None:
            yield note(
                "of",
                f"{theorem.of} is not a known statement, so nothing is compared"
                " with it",
            )
        else:
            yield from compare_rate(theorem, parent)
    if theorem.schedule:
        yield from schedule_against_conditions(theorem, registry)


def _parent(theorem: Theorem, registry: Registry) -> Theorem | None:
    """Return the statement from which a theorem is derived; None if it is not known."""
    of = theorem.of
    if isinstance(of, tuple):
        return registry.get(*of) if registry.known(*of) else None
    assert isinstance(of, Theorem)
    return of


@audit_check("corollary")
def compare_rate(
    claim: Theorem, base: Theorem, order: int | None = None
) -> Iterator[AuditFinding]:
    """Compare a claim with the leading monomials of its base under its schedule.

    A schedule that is the minimum or maximum of several formulas is compared case by
    case.

    Parameters
    ----------
    claim : the corollary or rate
    base : the statement from which it is derived
    order : monomials down to T^(-order/2) count; by default 3 for O(.), else 2
    """
    if order is None:
        order = 3 if claim.order else 2
    messages: set[str] = set()
    for schedule, pairs in cases(claim.schedule):
        for finding in _compared(
            claim, base, order, schedule, ordered(pairs, claim.shares)
        ):
            if finding.message not in messages:
                messages.add(finding.message)
                yield finding


def cases(
    schedule: Mapping[str, Expr], known: tuple[tuple[Expr, Expr], ...] = ()
) -> Iterator[tuple[Mapping[str, Expr], tuple[tuple[Expr, Expr], ...]]]:
    """Yield schedules without Min and Max, each replaced by one of its arguments.

    With each schedule come the pairs (less, larger) of formulas for which it is the
    value; ``known`` are those of a case that is divided further.
    """
    extrema = {
        extremum
        for rule in schedule.values()
        for extremum in sp.sympify(rule).atoms(sp.Min, sp.Max)
    }
    if not extrema:
        yield schedule, known
        return
    innermost = min(extrema, key=sp.count_ops)
    for argument in innermost.args:
        others = [other for other in innermost.args if other != argument]
        pairs = [(other, argument) for other in others]
        if isinstance(innermost, sp.Min):
            pairs = [(argument, other) for other in others]
        chosen = {
            name: sp.sympify(e).xreplace({innermost: argument})
            for name, e in schedule.items()
        }
        yield from cases(chosen, (*known, *pairs))


def _compared(
    claim: Theorem,
    base: Theorem,
    order: int,
    schedule: Mapping[str, Expr],
    known: Sequence[Mapping[str, Fraction]],
) -> list[AuditFinding]:
    """Return the findings of one case of the schedule.

    Definitions that both statements share count as one factor each. They are written
    out if nothing can be proved otherwise.
    """
    shared = {d.symbol for d in claim.definitions} & {
        d.symbol for d in base.definitions
    }
    rows = list(_compared_terms(claim, base, order, schedule, known, shared))
    if shared and any("unproved" in row.evidence for row in rows):
        none: set[sp.Symbol] = set()
        return list(_compared_terms(claim, base, order, schedule, known, none))
    return rows


def _compared_terms(
    claim: Theorem,
    base: Theorem,
    order: int,
    schedule: Mapping[str, Expr],
    known: Sequence[Mapping[str, Fraction]],
    shared: set[sp.Symbol],
) -> Iterator[AuditFinding]:
    derived = leading(base, order, schedule, shared)
    claimed = leading(claim, max(order, 3), schedule, shared)
    region = [*scheduled_region(base, schedule), *scheduled_region(claim), *known]
    loose = hidden_by(claimed)
    shares = claim.shares | base.shares
    absent = dict.fromkeys((*zeros(claim), *zeros(base)), sp.S.Zero)
    given, claimed_bound = (
        with_schedule(theorem, theorem.bound, schedule).xreplace(absent)
        for theorem in (base, claim)
    )
    for mono in derived:
        if any(mono[name.name] > 0 for name in absent):
            continue
        if covered(mono, claimed, region, shares):
            continue
        soft = covered(
            mono.without(loose), [c.without(loose) for c in claimed], region, shares
        )
        hidden = [] if soft else loose
        way = direction(
            mono.without(hidden), [c.without(hidden) for c in claimed], region, shares
        )
        if way is None or not outgrows(way, given, claimed_bound, shares):
            yield note(
                "rate",
                f"it is not proved that the claim covers the term {mono} of {base},"
                " nor that it does not",
                term=str(mono),
                unproved=True,
            )
            continue
        fails = "hides" if soft else fails_how(mono, claimed)
        nearest = _describe_nearest(mono, claimed)
        yield found(
            "warning" if soft else "error",
            "rate",
            f"{base} gives the term {mono}, {FAILS[fails]}{nearest}",
            f"add {mono}",
            term=str(mono),
            claimed=[str(c) for c in claimed],
            fails=fails,
        )
    for mono in claimed:
        names = {} if "beta" in loose else {"sigma_g": "beta"}
        theirs = [_renamed(d, names).without(loose) for d in derived]
        if claim.order and not covered(mono.without(loose), theirs, region, shares):
            yield note(
                "rate",
                f"the claimed term {mono} is not needed: {base} gives nothing as large",
            )


def zeros(theorem: Theorem) -> list[sp.Symbol]:
    """Return the symbols of quantities that the conditions of a statement set to 0."""
    symbols: list[sp.Symbol] = []
    for condition in theorem.conditions:
        factor, rest = sp.expand(condition.slack).as_coeff_Mul()
        if isinstance(rest, sp.Symbol) and factor < 0:
            symbols.append(rest)
    return symbols


def hidden_by(claimed: Sequence[Monomial]) -> list[str]:
    """Return the names of constants that an O(.) may hide.

    They are L and rho0, and those of ``HIDDEN`` that no claimed monomial contains.
    """
    stated = {n for mono in claimed for n, _ in mono.exponents}
    return ["L", "rho0", *(n for n in HIDDEN if n not in stated)]


def _renamed(mono: Monomial, names: dict[str, str]) -> Monomial:
    return Monomial(
        mono.coefficient, tuple(sorted((names.get(a, a), e) for a, e in mono.exponents))
    )


FAILS = {
    "fixed": (
        "which the claim lacks, and which is slower in T than all that it has: it fails"
        " at fixed constants"
    ),
    "uniform": (
        "which is no slower in T than the claim, but which no constant covers as K, the"
        " gap or the constants vary: it fails uniformly"
    ),
    "hides": "which the claim covers only if O(.) hides constants with units",
}
"""How a claimed rate can fail, the worst first."""


def fails_how(mono: Monomial, claimed: Sequence[Monomial]) -> str:
    """Return how a term fails: ``fixed`` or ``uniform``.

    It is ``fixed`` where the term is slower in T than every claimed one.
    """
    if all(mono["T"] > other["T"] for other in claimed):
        return "fixed"
    return "uniform"


def _describe_nearest(mono: Monomial, claimed: tuple[Monomial, ...]) -> str:
    """Describe how the most similar claimed term differs from a derived one.

    It has the same constants, and its exponents differ least. The text is empty if
    there is none.
    """
    scale = sorted({"T", "K", "m", "1 - lam", "L", "rho0", "Phi"})
    own = set(mono.without(scale).exponents)
    similar = [c for c in claimed if own and own == set(c.without(scale).exponents)]
    if not similar:
        return ""

    def difference(claimed_term: Monomial) -> Fraction:
        """Return the sum of the differences of exponents."""
        differences = (abs(claimed_term[a] - mono[a]) for a in scale)
        return sum(differences, Fraction(0))

    other = min(similar, key=difference)
    wrong = [
        f"{_power(a, other[a])} should be {_power(a, mono[a])}"
        for a in scale
        if other[a] != mono[a]
    ]
    return f"; in the claimed term {other}, {' and '.join(wrong)}"


def _power(atom: str, exponent: Fraction) -> str:
    name = atom if atom.isidentifier() else f"({atom})"
    return f"{name}^{exponent}" if exponent.denominator == 1 else f"{name}^({exponent})"


@audit_check("corollary")
def schedule_against_conditions(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Yield from which T on each condition holds under the schedule."""
    yield from conditions_under_schedule(theorem, _scheduled(theorem, registry))


__all__ = [
    "FAILS",
    "check_corollary",
    "compare_rate",
    "fails_how",
    "hidden_by",
    "schedule_against_conditions",
]
