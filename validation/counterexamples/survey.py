"""Every theorem and corollary searched, one outcome file each.

    python -m validation.counterexamples.survey DIR --variant corrected --seconds 300

writes DIR/KEY-VARIANT.json: what was searched and for how long, the best ratio, and the
best candidate, which ``dfltheory falsify --replay`` runs again. Statements whose file
is there already are left out, so that a survey that was stopped goes on; with
``--again`` they are searched once more, and the file has the best of both, with all
candidates and seconds. Exit status 1 when a corrected statement was refuted.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.counterexamples.document import read_document
from dfltheory.counterexamples.falsification import falsify, largest, together
from dfltheory.files import json_text, write_json
from validation.searched import Outcome

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def searched(prefix: str = "", variant: str = "") -> Iterator[Theorem]:
    """Yield the theorems and corollaries that :func:`falsify` searches.

    They are in the registry's order: those whose left-hand side it measures, and all of
    whose constants it knows.
    """
    from dfltheory import bounds
    from dfltheory.counterexamples.reach import MEASURES, unknown

    for theorem in bounds.statements():
        wanted = theorem.key.startswith(prefix) and theorem.variant.startswith(variant)
        measured = theorem.lhs.measure in MEASURES[
            theorem.scope.two_blocks
        ] and not unknown(theorem)
        if wanted and measured and theorem.kind in ("theorem", "corollary"):
            yield theorem


def outcome_file(folder: Path, theorem: Theorem) -> Path:
    """Where the outcome of a statement is kept."""
    return folder / f"{theorem.key}-{theorem.variant}.json"


def command(theorem: Theorem, seconds: float, seed: int, enough: float) -> str:
    """Return the command that repeats the search."""
    more = "" if enough == math.inf else f" --enough {enough:g}"
    what = f"dfltheory falsify {theorem.key} --variant {theorem.variant}"
    return f"{what} --seconds {seconds:g} --seed {seed}{more}"


def _rank(outcome: Outcome) -> tuple[bool, float]:
    """Refutations and growing families come last, then the largest ratio."""
    hit = outcome["violated"] or outcome.get("growing", False)
    return hit, float(outcome["ratio"])


def both(before: Outcome, now: Outcome) -> Outcome:
    """Combine the outcomes of two searches of one statement.

    It is that of the better one, with what both looked at.
    """
    better = max(before, now, key=_rank)
    sums = {name: before[name] + now[name] for name in ("evaluations", "seconds")}
    told = [
        (n, row["ratio"], row["evaluations"])
        for one in (before, now)
        for n, row in one["families"].items()
    ]
    terms = largest([one.get("terms", {}) for one in (before, now)])
    first = min((one["first"] for one in (before, now) if "first" in one), default=None)
    sums["families"] = together(
        (name, float(ratio), count) for name, ratio, count in told
    )
    return better | sums | {n: v for n, v in (("terms", terms), ("first", first)) if v}


def main(arguments: list[str]) -> int:
    """Search, write, tell."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.counterexamples.survey", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="budget of each statement"
    )
    parser.add_argument(
        "--variant",
        default="",
        help="variants that begin so; corrected is the nightly survey",
    )
    parser.add_argument("--key", default="", help="keys that begin so")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--again", action="store_true", help="search those that have a file, too"
    )
    parser.add_argument(
        "--enough", type=float, default=math.inf, help="stop a search beyond this ratio"
    )
    given = parser.parse_args(arguments)
    status = 0
    for theorem in searched(given.key, given.variant):
        path = outcome_file(given.folder, theorem)
        if path.exists() and not given.again:
            continue
        found = falsify(
            theorem, seconds=given.seconds, seed=given.seed, enough=given.enough
        )
        print(found, flush=True)
        try:
            before = read_document(path) if path.exists() else None
            found.record(
                path, command(theorem, given.seconds, given.seed, given.enough)
            )
            if before is not None:
                write_json(path, both(before, read_document(path)))
        except OSError:
            # what was found must not be lost
            print(json_text(found.to_dict()), flush=True)
            raise
        if found.violated and theorem.variant.startswith("corrected"):
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
