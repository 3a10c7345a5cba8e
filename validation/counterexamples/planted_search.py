"""One search of a planted version of a theorem, as a row of the file of power."""

from __future__ import annotations

import functools
import hashlib
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.counterexamples import closed_forms
from dfltheory.counterexamples.closed_forms import strongest
from dfltheory.counterexamples.crowd_search import CrowdSearch
from dfltheory.counterexamples.falsification import best_of
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from validation.counterexamples.planted import examined, planted, shares_of
from validation.counterexamples.planted_reasons import PlantedRow

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
    "crowd_search",
    "crowds",
    "cube",
    "decoding",
    "left_sides",
    "long_noise",
    "networks",
    "noisy_parabola",
    "problems",
    "ramps",
    "reach",
    "run_certificate",
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
        return None if self.worst is None else self.worst[2].sides["ratio"]

    @property
    def family(self) -> str | None:
        """The family of the worst problem."""
        return None if self.worst is None else self.worst[0]


def searched_once(theorem: Theorem, seconds: float, seed: int) -> Searched:
    """Search a version for the given processor time.

    Confirmation by the training core takes additional time.
    """
    spaces, started = search_spaces(theorem), time.process_time()
    crowds = CrowdSearch.within(theorem, seconds)
    main_search = (1 - crowds.reserved_share) * seconds
    arms = search(theorem, spaces, main_search, seed, ENOUGH, clock=processor)
    worst = best_of(theorem, arms)
    if worst is None or not worst[2].violated:
        worst = crowds.refutation() or worst
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


@functools.cache
def planted_by_name(folder: Path) -> dict[tuple[str, str, str], Planted]:
    """Return all versions by name; each process computes them once."""
    return {version.name: version for version in all_planted(folder)}


def searched_row(
    folder: Path, name: tuple[str, str, str], seconds: float, seed: int
) -> PlantedRow:
    """Search a version once, and return the result as a row."""
    version = planted_by_name(folder)[name]
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
