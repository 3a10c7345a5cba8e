"""What ``dfltheory audit`` adds to its checks for statements that are not registered.

A short search for a counterexample, and what the statement leaves open.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.unstated import unstated
from dfltheory.checks.finding import AuditFinding, Severity
from dfltheory.errors import DFLTheoryError
from dfltheory.verdicts.rounding import UNDERFLOW_LIMIT

if TYPE_CHECKING:
    from dfltheory.counterexamples.finding import Finding as SearchFinding

SEARCH_SECONDS = 5.0
"""Time budget of the search."""


def searched(theorem: Theorem, reference: str) -> AuditFinding:
    """Search for a counterexample for five seconds; return the outcome as a finding.

    It is an error for a confirmed counterexample, a warning for a family of problems
    along which the ratio grows, and otherwise a note on what was searched, or why
    nothing was.
    """
    import dfltheory.counterexamples as engine

    command = f"dfltheory falsify {reference}"
    try:
        result = engine.falsify(theorem, seconds=SEARCH_SECONDS)
    except DFLTheoryError as wrong:
        return _finding(theorem, "note", f"no search: {wrong}", command, {})
    counts = {"evaluations": result.evaluations, "ratio": result.ratio}
    if result.violated:
        message = (
            f"a search found a counterexample: the left side is {result.ratio:.4g}"
            " times the bound, confirmed by the training core"
        )
        return _finding(theorem, "error", message, command, counts)
    if result.growing:
        return _finding(theorem, "warning", str(result.divergence), command, counts)
    message = (
        f"a search of {SEARCH_SECONDS:g} s, {result.evaluations} problems, found no"
        f" counterexample{_doubt(result)}, which proves nothing"
    )
    return _finding(theorem, "note", message, command, counts)


def _doubt(result: SearchFinding) -> str:
    """Return why a search without a counterexample says even less than usual."""
    if math.isnan(result.ratio):
        return (
            ", but none of them could be judged, since none meets the conditions with a"
            f" bound above {UNDERFLOW_LIMIT:g}"
        )
    if result.undecided:
        return f" that floating point can decide ({'; '.join(result.undecided)})"
    return ""


def left_open(theorem: Theorem, reference: str) -> list[AuditFinding]:
    """Return a note for each point that a statement leaves open about its runs."""
    return [
        AuditFinding(
            check="scope",
            severity="note",
            key=theorem.key,
            variant=theorem.variant,
            place="scope.hyperparameters",
            message=message,
            evidence={"command": f"dfltheory bound {reference}"},
        )
        for message in unstated(theorem)
    ]


def _finding(
    theorem: Theorem,
    severity: Severity,
    message: str,
    command: str,
    counts: dict[str, float],
) -> AuditFinding:
    """Return a finding of the search."""
    return AuditFinding(
        check="search",
        severity=severity,
        key=theorem.key,
        variant=theorem.variant,
        place="bound",
        message=message,
        evidence={**counts, "command": command},
    )


__all__ = ["SEARCH_SECONDS", "left_open", "searched"]
