"""Findings of an audit, with evidence and the command that reproduces them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec

from dfltheory.bounds import registry
from dfltheory.bounds.theorem import Theorem

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
P = ParamSpec("P")


@dataclass(frozen=True)
class AuditFinding:
    """One finding of an audit about one statement.

    Attributes
    ----------
    check : name of the check
    severity : ``error``: the statement cannot be right as displayed, or does not
        follow; ``warning``: it promises less than it could, or hides something;
        ``note``: a fact about it
    key, variant : the statement
    place : the part of the statement, such as ``term noise``
    message : what was found, in words
    evidence : numbers and texts by name, for JSON; ``term`` distinguishes several
        findings at one place
    correction : what would correct it, in words
    """

    check: str
    severity: Severity
    key: str
    variant: str
    place: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)
    correction: str | None = None

    @property
    def command(self) -> str:
        """The command that reproduces this finding.

        It is a Python call if the theorem is not registered.
        """
        if "command" in self.evidence:
            return str(self.evidence["command"])
        if not registry.known(self.key, self.variant):
            return f"dfltheory.audit(theorem, checks=({self.check!r},))"
        return (
            f"dfltheory audit {self.key} --variant {self.variant} --check {self.check}"
        )

    @property
    def mark(self) -> tuple[str, ...]:
        """Key that two findings share if they differ only in numbers and words."""
        return (
            self.check,
            self.key,
            self.variant,
            self.place,
            str(self.evidence.get("term", "")),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the command of this finding as a dictionary."""
        return {**asdict(self), "command": self.command}

    def __str__(self) -> str:
        text = (
            f"{self.severity}: {self.key} ({self.variant}), {self.place}:"
            f" {self.message} [{self.check}]"
        )
        return text + (f"; correction: {self.correction}" if self.correction else "")


def found(
    severity: Severity,
    place: str,
    message: str,
    correction: str | None = None,
    **evidence: Any,
) -> AuditFinding:
    """Return a finding; :func:`audit_check` adds its name and the statement."""
    return AuditFinding("", severity, "", "", place, message, evidence, correction)


error, warning, note = (partial(found, severity) for severity in SEVERITIES)


Check = Callable[Concatenate[Theorem, P], Iterator[AuditFinding]]


Applies = Callable[..., bool]
"""Returns whether a check has something to examine in a statement."""


def always(theorem: Theorem) -> bool:
    """Return True: every statement has something to examine."""
    return True


def audit_check(name: str) -> Callable[[Check[P]], Check[P]]:
    """Decorate a function of a theorem as the check ``name``.

    Its findings get that name, and key and variant of the theorem, unless a nested
    check has set them.
    """

    def named(function: Check[P]) -> Check[P]:
        @wraps(function)
        def checked(
            theorem: Theorem, *args: P.args, **options: P.kwargs
        ) -> Iterator[AuditFinding]:
            for finding in function(theorem, *args, **options):
                if not finding.check:
                    finding = replace(
                        finding, check=name, key=theorem.key, variant=theorem.variant
                    )
                yield finding

        return checked

    return named


def point_text(point: dict[str, float]) -> str:
    """Return a point in words: ``K = 5, L = 0.3``."""
    return ", ".join(f"{name} = {value:.4g}" for name, value in point.items())


__all__ = [
    "Applies",
    "AuditFinding",
    "SEVERITIES",
    "Severity",
    "always",
    "audit_check",
    "error",
    "found",
    "note",
    "point_text",
    "warning",
]
