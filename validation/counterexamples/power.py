"""The power of the search: how many planted false versions of theorems it refutes.

    python -m validation.counterexamples.power docs/power.json --seconds 60

searches the versions of :mod:`validation.counterexamples.planted`. A version is known
to be false if a search refuted it, if a closed form violates it
(:mod:`dfltheory.counterexamples.closed_forms`), or if ``planted.toml`` lists it as
false; the last two need no search. The other versions are listed separately, with a
reason if that file has one, and do not count in the share that is refuted. Seconds are
processor time, so that results do not depend on the load of the machine.

Every row names the search that produced it (:func:`.planted_search.searcher`).
Versions in the file are skipped if any search refuted them, or if this search has
already spent as much time on them. So an interrupted run can be continued, and an
improved search retries only the versions that survived.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from joblib import Parallel, delayed

from dfltheory.files import read_json, write_json
from validation.counterexamples.planted_reasons import PlantedRow, unproved
from validation.counterexamples.planted_search import (
    Planted,
    known_without_search,
    planted_by_name,
    searched_row,
    searcher,
)


def main(arguments: list[str]) -> int:
    """Search every planted version that is not in the file yet.

    The file is written after each search.
    """
    options = _parser().parse_args(arguments)
    stored: list[PlantedRow] = read_json(options.file) if options.file.exists() else []
    rows = {(row["key"], row["variant"], row["version"]): row for row in stored}
    folder = options.file.parent / "counterexamples"
    versions = planted_by_name(folder).values()
    if options.closed_forms:
        for version in versions:
            if version.name in rows:
                ratio, form = known_without_search(version.changed)
                rows[version.name].update({"for ever": ratio, "closed form": form})
        write_json(options.file, list(rows.values()))
        return 0

    def priority(version: Planted) -> tuple[bool, bool]:
        """Sort key: new versions and those known to be false first, then fast ones."""
        row = rows.get(version.name)
        is_open = row is not None and unproved(row) is not None
        return is_open, version.theorem.scope.two_blocks

    wanted = [v for v in versions if _wanted(rows.get(v.name), options.seconds)]
    names = [version.name for version in sorted(wanted, key=priority)[: options.most]]
    calls = (
        delayed(searched_row)(folder, name, options.seconds, options.seed)
        for name in names
    )
    searches = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for row in cast("Iterable[PlantedRow]", searches(calls)):
        rows[row["key"], row["variant"], row["version"]] = row
        write_json(options.file, list(rows.values()))
        outcome = "refuted" if row["refuted"] else "survives"
        print(f"{row['key']}, {row['version']}: {outcome}, {row['ratio']}", flush=True)
    return 0


def _wanted(row: PlantedRow | None, seconds: float) -> bool:
    """Return whether a version still has to be searched."""
    if row is None:
        return True
    searched = row.get("search") == searcher() and row["seconds"] >= seconds
    return not (row["refuted"] or searched)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m validation.counterexamples.power")
    add = parser.add_argument
    add(
        "file",
        type=Path,
        help="file of rows; shares of terms are read from counterexamples/ next to it",
    )
    add(
        "--seconds",
        type=float,
        default=60.0,
        help="processor time of each version's search",
    )
    add("--seed", type=int, default=0)
    add("--jobs", type=int, default=1, help="processes that search at the same time")
    add("--most", type=int, help="maximum number of versions to search in this call")
    add(
        "--closed-forms",
        action="store_true",
        help="only evaluate the closed forms of all rows again, without a search",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
