"""Findings of an audit, with evidence and the command that shows them again."""

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

    ``error``: the statement cannot be right as displayed, or does not follow;
    ``warning``: it promises less than it could, or hides something; ``note``: a fact
    about it. ``evidence["term"]`` distinguishes several findings at one place.
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
        """Command that shows this finding again.

        Of a theorem that is not registered, it is the call; of a search, the command in
        its evidence.
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
        """What makes two findings the same, whatever numbers they tell."""
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
    """Return a finding of the running :func:`audit_check`, about its statement."""
    return AuditFinding("", severity, "", "", place, message, evidence, correction)


error, warning, note = (partial(found, severity) for severity in SEVERITIES)


Check = Callable[Concatenate[Theorem, P], Iterator[AuditFinding]]


Applies = Callable[..., bool]
"""Does a check have something to examine in a statement?"""


def always(theorem: Theorem) -> bool:
    """Every statement has something to examine."""
    return True


def audit_check(name: str) -> Callable[[Check[P]], Check[P]]:
    """Make a function of a theorem the check ``name``.

    Its findings carry that name, and the statement that they are about.
    """

    def named(function: Check[P]) -> Check[P]:
        @wraps(function)
        def checked(
            theorem: Theorem, *args: P.args, **options: P.kwargs
        ) -> Iterator[AuditFinding]:
            for finding in function(theorem, *args, **options):
                mine = replace(
                    finding, check=name, key=theorem.key, variant=theorem.variant
                )
                yield finding if finding.check else mine

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
