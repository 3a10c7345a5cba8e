"""Processor seconds of audits.

``python -m validation.audit_times [NAME ...]`` audits the statements of papers, or
those of one key, or all, without a search for counterexamples. It prints the five
slowest, and the check that takes longest in each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dfltheory.bounds.registry import REGISTRY
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.run import CHECKS, audit_statement

SHOWN = 5


@dataclass(frozen=True)
class AuditTime:
    """Seconds of the audit of one statement, by check."""

    name: str
    seconds: Mapping[str, float]

    @property
    def total(self) -> float:
        """Seconds of all checks."""
        return sum(self.seconds.values())

    def __str__(self) -> str:
        slowest = max(self.seconds, key=self.seconds.__getitem__)
        return (
            f"{self.total:8.2f} s  {self.name}, of which {slowest}"
            f" {self.seconds[slowest]:.2f} s"
        )


def audit_time(
    theorem: Theorem, clock: Callable[[], float] = time.process_time
) -> AuditTime:
    """Audit a statement, one check after the other."""
    seconds = {}
    for check in CHECKS:
        start = clock()
        audit_statement(theorem, (check,))
        seconds[check] = clock() - start
    return AuditTime(f"{theorem.key}:{theorem.variant}", seconds)


def slowest(theorems: Iterable[Theorem], shown: int = SHOWN) -> list[AuditTime]:
    """Return the audits that take longest, the slowest first."""
    return sorted(map(audit_time, theorems), key=lambda a: a.total, reverse=True)[
        :shown
    ]


def selected(names: Iterable[str]) -> list[Theorem]:
    """Return the statements of papers and keys; all where no name is given."""
    wanted = set(names)
    return [
        theorem
        for theorem in REGISTRY.statements()
        if not wanted or {theorem.key, theorem.key.partition(".")[0]} & wanted
    ]


def main(names: list[str]) -> int:
    """Print the slowest audits."""
    theorems = selected(names)
    if not theorems:
        print(f"no statement is called {' or '.join(names)}", file=sys.stderr)
        return 2
    for audited in slowest(theorems):
        print(audited)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
