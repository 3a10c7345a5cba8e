"""``audit``: all checks on one statement, or on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dfltheory.bounds.reference import Reference, load_all
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.agreement import check_agreement, has_agreement
from dfltheory.checks.conditions import check_conditions, has_conditions
from dfltheory.checks.corollaries import check_corollary, has_rate
from dfltheory.checks.declared_steps import check_declared_steps, has_steps
from dfltheory.checks.extremes import check_extremes, has_limits
from dfltheory.checks.finding import SEVERITIES, Applies, AuditFinding, always
from dfltheory.checks.floors import check_floors, has_floors
from dfltheory.checks.measured import check_measured, has_left_source
from dfltheory.checks.monotone import check_monotone, has_monotonicity
from dfltheory.checks.neutral import check_neutral, has_neutral
from dfltheory.checks.quoted import check_quoted, has_source
from dfltheory.checks.units import check_units
from dfltheory.errors import UnknownNameError
from dfltheory.own import Trust

CHECKS: dict[str, Callable[..., Iterator[AuditFinding]]] = {
    "units": check_units,
    "limits": check_extremes,
    "floors": check_floors,
    "neutral": check_neutral,
    "monotone": check_monotone,
    "agreement": check_agreement,
    "corollary": check_corollary,
    "quoted": check_quoted,
    "measured": check_measured,
    "conditions": check_conditions,
    "steps": check_declared_steps,
}
APPLIES: dict[str, Applies] = {
    "units": always,
    "limits": has_limits,
    "floors": has_floors,
    "neutral": has_neutral,
    "monotone": has_monotonicity,
    "agreement": has_agreement,
    "corollary": has_rate,
    "quoted": has_source,
    "measured": has_left_source,
    "conditions": has_conditions,
    "steps": has_steps,
}
"""Check -> function that returns whether it has something to examine in a statement."""

COMPARING = frozenset(
    ("limits", "neutral", "agreement", "corollary", "quoted", "measured")
)
"""Checks that compare a statement with others of a registry."""


def applicable_checks(
    theorem: Theorem, registry: Registry = REGISTRY
) -> tuple[str, ...]:
    """Return the names of the checks that have something to examine in a statement.

    They are in the order in which they run.
    """
    return tuple(
        name for name in CHECKS if APPLIES[name](theorem, **_options(name, registry))
    )


def _options(check: str, registry: Registry) -> dict[str, Registry]:
    return {"registry": registry} if check in COMPARING else {}


def audit_statement(
    theorem: Theorem, checks: tuple[str, ...] = (), registry: Registry = REGISTRY
) -> list[AuditFinding]:
    """Return the findings on one statement, errors first.

    ``checks`` are names of :data:`CHECKS`; by default all run.

    Raises
    ------
    UnknownNameError
        There is no check of a given name.
    """
    for name in checks:
        if name not in CHECKS:
            raise UnknownNameError("check", name, set(CHECKS))
    findings: list[AuditFinding] = []
    for name, check in CHECKS.items():
        if not checks or name in checks:
            findings += check(theorem, **_options(name, registry))
    return sorted(findings, key=_severity)


def _severity(finding: AuditFinding) -> int:
    return SEVERITIES.index(finding.severity)


def audit(
    key: Reference | None = None,
    variant: str | None = None,
    checks: tuple[str, ...] = (),
    registry: Registry = REGISTRY,
    *,
    trust: Trust = False,
) -> list[AuditFinding]:
    """Return the findings on a statement, or on the whole registry without a key.

    They cover all variants of the statement, or one. A theorem in the place of the key
    is audited as it is, registered or not. Every finding carries its evidence and the
    command that shows it again.

    Parameters
    ----------
    key : a theorem, or the key of a statement or the name of a paper of ``registry``;
        None: all statements
    variant : of a statement that is named by its key; None: all
    checks : names of :data:`CHECKS`; none: all
    registry : the statements among which keys, other variants and parents of
        corollaries are looked up
    trust : may a theorem file import code? See :func:`dfltheory.bounds.load`
    """
    theorems: tuple[Theorem, ...]
    if key is None:
        theorems = registry.statements()
    elif isinstance(key, str) and key in registry.papers():
        theorems = registry.statements(key)
    else:
        theorems = load_all(
            key, None if variant is None else (variant,), trust=trust, registry=registry
        )
    return [
        finding
        for theorem in theorems
        for finding in audit_statement(theorem, checks, registry)
    ]


__all__ = ["APPLIES", "CHECKS", "applicable_checks", "audit", "audit_statement"]
