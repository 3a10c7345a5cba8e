"""What the audit finds of the drawn slips: a table, and the false alarms.

``python -m validation.drawn_slip_results FILE`` reads the draws of
:mod:`validation.drawn_slips`. A slip is found by an error or a warning that the
statement without it does not have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dfltheory import bounds
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.finding import Finding
from dfltheory.checks.run import audit_statement
from validation.drawn_slips import own, slipped


def alarms(theorem: Theorem) -> list[Finding]:
    """Errors and warnings."""
    return [f for f in audit_statement(theorem) if f.severity != "note"]


def new_alarms(theorem: Theorem, wrong: Theorem) -> tuple[list[Finding], list[Finding]]:
    """Return the errors on the right statement, and what only the wrong one has."""
    before = alarms(theorem)
    known = {(f.check, f.severity, f.place) for f in before}
    after = [f for f in alarms(wrong) if (f.check, f.severity, f.place) not in known]
    return [f for f in before if f.severity == "error"], after


def main(arguments: list[str]) -> int:
    """Print one line for each draw, and the sums."""
    if len(arguments) != 1:
        print("usage: python -m validation.drawn_slip_results FILE", file=sys.stderr)
        return 2
    found, false = 0, 0
    for row in json.loads(Path(arguments[0]).read_text(encoding="utf-8")):
        theorem = own(bounds.get(row["key"], variant=row["variant"]))
        wrong = slipped(theorem, row["kind"], row["place"])
        errors, after = new_alarms(theorem, wrong)
        false += bool(errors)
        found += bool(after)
        marks = sorted({f"{f.check} {f.severity}" for f in after})
        text = ", ".join(marks) or "not found"
        print(f"{row['key']}: {row['kind']} ({row['place']}): {text}", flush=True)
        for error in errors:
            print(f"  false alarm: {error}")
    print(f"{found} found, {false} statements with a false alarm")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
