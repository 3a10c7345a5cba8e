"""The power of the search: how many planted false versions of theorems it refutes.

    python -m validation.counterexamples.power docs/power.json --seconds 60

searches the versions of :mod:`validation.counterexamples.planted`. A version is known
to be false if a search refuted it, if a closed form violates it
(:mod:`dfltheory.counterexamples.closed_forms`), or if ``planted.toml`` lists it as
false; the last two need no search. The other versions are listed separately, with a
reason if that file has one, and do not count in the share that is refuted. Seconds are
processor time, so that results do not depend on the load of the machine.

Every row names the search that produced it (:func:`searcher`). Versions in the file are
skipped if any search refuted them, or if this search has already spent as much time on
them. So an interrupted run can be continued, and an improved search retries only the
versions that survived.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.counterexamples import closed_forms
from dfltheory.counterexamples.closed_forms import strongest
from dfltheory.counterexamples.falsification import best_of
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.files import read_json, write_json
from validation.counterexamples.planted import examined, planted, shares_of
from validation.counterexamples.planted_reasons import PlantedRow, unproved

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.counterexamples.certificate import Certificate
    from dfltheory.training.instance import Instance

SEARCH = (
    "aggregates",
    "batch",
    "candidate_oracle",
    "candidate_values",
    "certificate",
    "certify",
    "closed_forms",
    "core",
    "cube",
    "decoding",
    "left_sides",
    "long_noise",
    "networks",
    "noisy_parabola",
    "problems",
    "ramps",
    "reach",
    "score",
    "search",
    "search_spaces",
    "shared_numbers",
    "splits",
    "step_sizes",
)
"""The modules that determine the result of a search."""
ENOUGH = 1.05
"""The search of a planted version stops at this ratio."""


@dataclass(frozen=True)
class Planted:
    """A planted version of a theorem, and its name."""

    theorem: Theorem
    version: str
    changed: Theorem

    @property
    def name(self) -> tuple[str, str, str]:
        """Key, variant and version."""
        return self.theorem.key, self.theorem.variant, self.version


@dataclass(frozen=True)
class Searched:
    """Result of one search: the worst problem with its family, and the effort."""

    worst: tuple[str, Instance, Certificate] | None
    evaluations: int
    spent: float

    @property
    def refuted(self) -> bool:
        """Whether the training core confirms that the statement is violated."""
        return self.worst is not None and self.worst[2].violated

    @property
    def ratio(self) -> float | None:
        """The largest measured / bound."""
        return None if self.worst is None else self.worst[2].exact["ratio"]

    @property
    def family(self) -> str | None:
        """The family of the worst problem."""
        return None if self.worst is None else self.worst[0]


def searched_once(theorem: Theorem, seconds: float, seed: int) -> Searched:
    """Search a version for the given processor time."""
    spaces, started = search_spaces(theorem), time.process_time()
    arms = search(theorem, spaces, seconds, seed, ENOUGH, clock=processor)
    worst = best_of(theorem, arms)
    evaluations = sum(arm.evaluations for arm in arms)
    return Searched(worst, evaluations, round(time.process_time() - started, 1))


def searcher() -> str:
    """Return a fingerprint of the code of the search."""
    digest = hashlib.sha256()
    folder = Path(closed_forms.__file__).parent
    files = [folder / f"{name}.py" for name in SEARCH]
    for file in (*files, *sorted((folder / "families").glob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def known_without_search(theorem: Theorem) -> tuple[float, str | None]:
    """Return the largest measured / bound of the closed forms, and that form's name."""
    name, ratio = strongest(theorem)
    return ratio, name if ratio > 0 else None


def all_planted(folder: Path) -> list[Planted]:
    """Return all versions; ``folder`` contains the outcomes of searches."""
    return [
        Planted(theorem, version, changed)
        for theorem in examined()
        for version, changed in planted(theorem, shares_of(folder, theorem))
    ]


def main(arguments: list[str]) -> int:
    """Search every planted version that is not in the file yet.

    The file is written after each search.
    """
    options = _parser().parse_args(arguments)
    stored: list[PlantedRow] = read_json(options.file) if options.file.exists() else []
    rows = {(row["key"], row["variant"], row["version"]): row for row in stored}
    versions = all_planted(options.file.parent / "counterexamples")
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
    for version in sorted(wanted, key=priority)[: options.most]:
        row = _row(version, options.seconds, options.seed)
        rows[version.name] = row
        write_json(options.file, list(rows.values()))
        outcome = "refuted" if row["refuted"] else "survives"
        print(f"{row['key']}, {row['version']}: {outcome}, {row['ratio']}", flush=True)
    return 0


def _row(version: Planted, seconds: float, seed: int) -> PlantedRow:
    """Search a version once, and return the result as a row."""
    result = searched_once(version.changed, seconds, seed)
    ratio, form = known_without_search(version.changed)
    return {
        "key": version.theorem.key,
        "variant": version.theorem.variant,
        "version": version.version,
        "refuted": result.refuted,
        "ratio": result.ratio,
        "seconds": seconds,
        "spent": result.spent,
        "evaluations": result.evaluations,
        "family": result.family,
        "search": searcher(),
        "date": date.today().isoformat(),
        "for ever": ratio,
        "closed form": form,
    }


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
    add("--most", type=int, help="maximum number of versions to search in this call")
    add(
        "--closed-forms",
        action="store_true",
        help="only evaluate the closed forms of all rows again, without a search",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
