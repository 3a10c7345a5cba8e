"""The power of the search: how many planted false versions of theorems it refutes.

    python -m validation.counterexamples.power docs/power.json --seconds 60

searches the versions of :mod:`validation.counterexamples.planted`. Which are false is
known of those that a search has refuted, of those that a closed form violates
(:mod:`dfltheory.counterexamples.closed_forms`), and of those that ``planted.toml``
lists as false. Only the last two are known without a search. Others are listed
separately, with a reason where that file has one, and are no part of the share that is
refuted. Seconds are of the processor, so that a busy machine counts no less.

Every row says which search made it (:func:`searcher`). Rows that are in the file
already are left out where the version was refuted, whichever search did, or where this
search has looked as long: a run that was stopped goes on, and a better search tries
again what survived.
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
    from dfltheory.counterexamples.certify import Certificate
    from dfltheory.training.instance import Instance

SEARCH = (
    "batch",
    "candidate_oracle",
    "candidate_values",
    "certify",
    "core",
    "cube",
    "decoding",
    "left_sides",
    "networks",
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
"""The modules on which it depends what a search finds."""
ENOUGH = 1.05
"""The search for a planted version ends beyond this ratio."""


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
    """One search: the worst problem with its family, if any, and the effort."""

    found: tuple[str, Instance, Certificate] | None
    evaluations: int
    spent: float

    @property
    def refuted(self) -> bool:
        """Whether the training core confirms that a problem violates the statement."""
        return self.found is not None and self.found[2].violated

    @property
    def ratio(self) -> float | None:
        """The largest measured / bound."""
        return None if self.found is None else self.found[2].exact["ratio"]

    @property
    def family(self) -> str | None:
        """The family of the worst problem."""
        return None if self.found is None else self.found[0]


def searched_once(theorem: Theorem, seconds: float, seed: int) -> Searched:
    """Search a version for the given processor time."""
    spaces, started = search_spaces(theorem), time.process_time()
    arms = search(theorem, spaces, seconds, seed, ENOUGH, clock=processor)
    found = best_of(theorem, arms)
    evaluations = sum(arm.evaluations for arm in arms)
    return Searched(found, evaluations, round(time.process_time() - started, 1))


def searcher() -> str:
    """Return a fingerprint of the search: of its code."""
    digest = hashlib.sha256()
    folder = Path(closed_forms.__file__).parent
    files = [folder / f"{name}.py" for name in SEARCH]
    for file in (*files, *sorted((folder / "families").glob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def known_without_search(theorem: Theorem) -> tuple[float, str | None]:
    """Return the largest measured / bound of the closed forms, and its name."""
    name, ratio = strongest(theorem)
    return ratio, name if ratio > 0 else None


def all_planted(folder: Path) -> list[Planted]:
    """Return every version; ``folder`` has the outcomes of searches."""
    return [
        Planted(theorem, version, changed)
        for theorem in examined()
        for version, changed in planted(theorem, shares_of(folder, theorem))
    ]


def main(arguments: list[str]) -> int:
    """Search every planted version that the file does not have.

    The file is written after each.
    """
    given = _parser().parse_args(arguments)
    stored: list[PlantedRow] = read_json(given.file) if given.file.exists() else []
    rows = {(row["key"], row["variant"], row["version"]): row for row in stored}
    versions = all_planted(given.file.parent / "counterexamples")
    if given.closed_forms:
        for one in versions:
            if one.name in rows:
                ratio, form = known_without_search(one.changed)
                rows[one.name].update({"for ever": ratio, "closed form": form})
        write_json(given.file, list(rows.values()))
        return 0

    def priority(one: Planted) -> tuple[bool, bool]:
        """First what is not searched or known to be false, and what is fast."""
        row = rows.get(one.name)
        open_ = row is not None and unproved(row) is not None
        return open_, one.theorem.scope.two_blocks

    wanted = [one for one in versions if _wanted(rows.get(one.name), given.seconds)]
    for one in sorted(wanted, key=priority)[: given.most]:
        row = _row(one, given.seconds, given.seed)
        rows[one.name] = row
        write_json(given.file, list(rows.values()))
        outcome = "refuted" if row["refuted"] else "survives"
        print(f"{row['key']}, {row['version']}: {outcome}, {row['ratio']}", flush=True)
    return 0


def _row(one: Planted, seconds: float, seed: int) -> PlantedRow:
    """Search a version once, and return what was found."""
    result = searched_once(one.changed, seconds, seed)
    ratio, form = known_without_search(one.changed)
    return {
        "key": one.theorem.key,
        "variant": one.theorem.variant,
        "version": one.version,
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
    """Return whether a version is still to be searched."""
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
        help="rows; shares of terms are read from counterexamples/ next to it",
    )
    add(
        "--seconds",
        type=float,
        default=60.0,
        help="processor time of each version's search",
    )
    add("--seed", type=int, default=0)
    add("--most", type=int, help="versions to be searched in this call at most")
    add(
        "--closed-forms",
        action="store_true",
        help="evaluate the closed forms of all rows again; no search",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
