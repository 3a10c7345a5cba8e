"""``audit``: all checks on one statement, or on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dfltheory.bounds import registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.agreement import check_agreement, has_agreement
from dfltheory.checks.conditions import check_conditions, has_conditions
from dfltheory.checks.corollaries import check_corollary, has_rate
from dfltheory.checks.extremes import check_extremes, has_limits
from dfltheory.checks.finding import ORDER, Applies, Finding, always
from dfltheory.checks.monotone import check_monotone, has_monotonicity
from dfltheory.checks.units import check_units
from dfltheory.errors import InputError, UnknownNameError

CHECKS: dict[str, Callable[[Theorem], Iterator[Finding]]] = {
    "units": check_units,
    "limits": check_extremes,
    "monotone": check_monotone,
    "agreement": check_agreement,
    "corollary": check_corollary,
    "conditions": check_conditions,
}
APPLIES: dict[str, Applies] = {
    "units": always,
    "limits": has_limits,
    "monotone": has_monotonicity,
    "agreement": has_agreement,
    "corollary": has_rate,
    "conditions": has_conditions,
}
"""Check -> does it have something to examine in a statement?"""


def applicable_checks(theorem: Theorem) -> tuple[str, ...]:
    """The names of the checks that have something to examine in a statement, in the order in which they
    run."""
    return tuple(name for name in CHECKS if APPLIES[name](theorem))


def audit_statement(theorem: Theorem, checks: tuple[str, ...] = ()) -> list[Finding]:
    """What the checks (by name; all if none is named) find in one statement, errors first."""
    for name in checks:
        if name not in CHECKS:
            raise UnknownNameError("check", name, set(CHECKS))
    found = [f for name, check in CHECKS.items() if not checks or name in checks for f in check(theorem)]
    return sorted(found, key=lambda f: ORDER.index(f.severity))


def audit(
    key: str | Theorem | None = None, variant: str | None = None, checks: tuple[str, ...] = ()
) -> list[Finding]:
    """The findings on a statement: all its variants, or one; without a key, on the whole registry.

    A theorem in the place of the key is audited as it is, registered or not. Every finding carries its
    evidence and the command that shows it again.
    """
    if isinstance(key, Theorem):
        if variant not in (None, key.variant):
            raise InputError(
                f"variant {variant!r} of a theorem that is given is {key.variant!r}: leave it out"
            )
        theorems: tuple[Theorem, ...] = (key,)
    elif key is None:
        theorems = registry.statements()
    elif key in registry.papers():
        theorems = registry.statements(key)
    else:
        names = registry.variants(key) if variant is None else (variant,)
        theorems = tuple(registry.get(key, name) for name in names)
    return [finding for theorem in theorems for finding in audit_statement(theorem, checks)]


__all__ = ["APPLIES", "CHECKS", "applicable_checks", "audit", "audit_statement"]
