"""Search every theorem and corollary, and write an outcome file for each.

    python -m validation.counterexamples.survey DIR --variant corrected --seconds 300

writes DIR/KEY-VARIANT.json with the extent of the search, the largest ratio, and the
best candidate, which ``dfltheory falsify --replay`` runs again. Statements with an
existing file are skipped, so that an interrupted survey can be continued. With
``--again`` they are searched once more; the file then contains the better result, and
the total numbers of candidates and seconds. The exit status is 1 if a corrected
statement is refuted.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.counterexamples.document import read_document
from dfltheory.counterexamples.falsification import (
    falsify,
    largest_terms,
    merge_families,
)
from dfltheory.files import json_text, write_json
from validation.searched import Outcome

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def searched(prefix: str = "", variant: str = "") -> Iterator[Theorem]:
    """Yield the theorems and corollaries that :func:`falsify` can search.

    These are the statements with a measurable left-hand side and known constants, in
    the registry's order.
    """
    from dfltheory import bounds
    from dfltheory.counterexamples.reach import SEARCHED_MEASURES, unknown

    for theorem in bounds.statements():
        wanted = theorem.key.startswith(prefix) and theorem.variant.startswith(variant)
        measured = theorem.lhs.measure in SEARCHED_MEASURES[
            theorem.scope.two_blocks
        ] and not unknown(theorem)
        if wanted and measured and theorem.kind in ("theorem", "corollary"):
            yield theorem


def outcome_file(folder: Path, theorem: Theorem) -> Path:
    """Return the path of a statement's outcome file."""
    return folder / f"{theorem.key}-{theorem.variant}.json"


def command(theorem: Theorem, seconds: float, seed: int, enough: float) -> str:
    """Return the command that repeats the search."""
    stop_option = "" if enough == math.inf else f" --enough {enough:g}"
    search = f"dfltheory falsify {theorem.key} --variant {theorem.variant}"
    return f"{search} --seconds {seconds:g} --seed {seed}{stop_option}"


def _rank(outcome: Outcome) -> tuple[bool, float]:
    """Return the key by which outcomes are compared; larger is better.

    A refutation or a growing family is better than any other outcome, then a larger
    ratio is.
    """
    succeeded = outcome["violated"] or outcome.get("growing", False)
    return succeeded, float(outcome["ratio"])


def both(before: Outcome, now: Outcome) -> Outcome:
    """Combine the outcomes of two searches of one statement.

    The result is the better outcome, with the evaluations, seconds, families and terms
    of both.
    """
    better = max(before, now, key=_rank)
    families, times = [], []
    for outcome in (before, now):
        for name, row in outcome["families"].items():
            families.append((name, float(row["ratio"]), row["evaluations"]))
        if "first" in outcome:
            times.append(outcome["first"])
    combined = better | {
        "evaluations": before["evaluations"] + now["evaluations"],
        "seconds": before["seconds"] + now["seconds"],
        "families": merge_families(families),
    }
    terms = largest_terms([outcome.get("terms", {}) for outcome in (before, now)])
    if terms:
        combined["terms"] = terms
    first = min(times, default=None)
    if first:
        combined["first"] = first
    return combined


def main(arguments: list[str]) -> int:
    """Search statements and write their outcomes; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m validation.counterexamples.survey", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="time limit for each statement"
    )
    parser.add_argument(
        "--variant",
        default="",
        help="only variants with this prefix; the nightly survey uses 'corrected'",
    )
    parser.add_argument("--key", default="", help="only keys with this prefix")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--again", action="store_true", help="also search statements with a file"
    )
    parser.add_argument(
        "--enough", type=float, default=math.inf, help="stop a search beyond this ratio"
    )
    options = parser.parse_args(arguments)
    status = 0
    for theorem in searched(options.key, options.variant):
        path = outcome_file(options.folder, theorem)
        if path.exists() and not options.again:
            continue
        finding = falsify(
            theorem, seconds=options.seconds, seed=options.seed, enough=options.enough
        )
        print(finding, flush=True)
        try:
            before = read_document(path) if path.exists() else None
            finding.record(
                path, command(theorem, options.seconds, options.seed, options.enough)
            )
            if before is not None:
                write_json(path, both(before, read_document(path)))
        except OSError:
            # print the finding, which would otherwise be lost
            print(json_text(finding.to_dict()), flush=True)
            raise
        if finding.violated and theorem.variant.startswith("corrected"):
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
