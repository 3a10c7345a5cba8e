"""What the checks of a ledger's line find: proved, cited, refuted, searched, no claim, or not examined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sympy as sp

from dfltheory.bounds.checks.derivations import check_step
from dfltheory.bounds.checks.finding import Finding
from dfltheory.bounds.checks.inequalities import judge
from dfltheory.bounds.checks.run import audit_statement
from dfltheory.bounds.errata import statement
from dfltheory.bounds.ledger import Check, Identity, Line
from dfltheory.bounds.steps import Matrices, Scalar, Step

Status = Literal["proved", "cited", "refuted", "searched", "no claim", "not examined"]
ORDER: tuple[Status, ...] = ("refuted", "not examined", "searched", "cited", "proved", "no claim")
"""The worst first: a line is what the worst of its checks says. *Proved* is worked out; *cited* is a textbook
that is named by hand for an inequality which no sample refutes."""
KINDS: dict[str, Status] = {"refuted": "refuted", "searched": "searched", "textbook": "cited"}
"""The statuses of what :func:`judge` returns; every other kind is a proof."""


Known = Mapping[tuple[str, str], Sequence[Finding]]
"""What the audit found, by key and variant."""


@dataclass(frozen=True)
class Outcome:
    """``status``, and ``how`` it is known; ``mark``: of the finding that refutes it."""

    status: Status
    how: str
    mark: tuple[str, ...] = ()


def examine(line: Line, known: Known | None = None) -> Outcome:
    """What examined a line, and what it found; of several checks the worst. What is ``known`` is not run
    again."""
    if not line.by:
        return Outcome("not examined", line.why) if line.why else Outcome("no claim", "a definition")
    return worst(line.by, known)


def worst(checks: Sequence[Check], known: Known | None = None) -> Outcome:
    """The worst of what these checks find."""
    return min((_outcome(check, known or {}) for check in checks), key=lambda o: ORDER.index(o.status))


def _outcome(check: Check, known: Known) -> Outcome:
    if isinstance(check, Identity):
        rest = sp.factor(sp.simplify(check.left - check.right))
        return Outcome("proved", "identity") if rest == 0 else Outcome("refuted", f"differs by {rest}")
    if isinstance(check, Scalar | Matrices):
        kind, says = judge(check)
        if kind == "refuted":
            return Outcome(kind, says, ("inequality", check.key, "printed", check.place, ""))
        return Outcome(KINDS.get(kind, "proved"), says)
    theorem = statement(check) if isinstance(check, str) else check.theorem
    findings = known.get((theorem.key, theorem.variant))
    if isinstance(check, Step):
        same = [f for f in findings or () if (f.check, f.place) == ("derivation", check.says)]
        findings = list(check_step(check)) if findings is None else same
    elif findings is None:
        findings = audit_statement(theorem)
    errors = [f for f in findings if f.severity == "error"]
    if errors:
        return Outcome("refuted", errors[0].message, errors[0].mark)
    return Outcome("searched", "the audit found no error")


__all__ = ["KINDS", "ORDER", "Known", "Outcome", "Status", "examine", "worst"]
