"""Versions of statements with mistakes that people typically make.

    python -m validation.counterexamples.human_mistakes draw FILE
    python -m validation.counterexamples.human_mistakes known FILE
    python -m validation.counterexamples.human_mistakes prove FILE
    python -m validation.counterexamples.human_mistakes search FILE --seconds 60

``draw`` generates all versions of the corrected statements with constants, and of the
statements of Wang and Joshi (2021), by the rules of :mod:`.mistakes`. It draws
:data:`COUNT` of them with the seed :data:`SEED`, about equally many per rule. The draw
depends on the registered statements, so a file must not be drawn again when statements
are added; the versions in a file are identified by their names. ``known`` tests each
version that is not known to be false on the saved problems of ``docs/counterexamples``,
on the problems of :mod:`.hand_made` and :mod:`.hand_made_noise` and on the closed
forms, and stores what refutes it.
``prove`` checks the proofs of :mod:`.true_versions`. ``search`` searches each version
that was not searched yet, and stores the counterexample, if any.

A version is *known to be false* if its row contains an instance that the training core
confirms, runs that exceed the bound significantly, or a closed form with a ratio above
1. It is *proved* if the kernel, or an exact comparison with a theorem that the kernel
proves, shows that it is true. With ``--again``, ``search`` also searches the versions
that the last search did not refute and that are not proved.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from dfltheory.counterexamples.certify import certify, exact_expectation
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.reach import class_of
from dfltheory.errors import DFLTheoryError
from dfltheory.files import read_json, write_json
from validation.counterexamples.hand_made import HAND_MADE
from validation.counterexamples.hand_made_noise import noisy_witness
from validation.counterexamples.mistakes import Version, versions
from validation.counterexamples.planted_search import (
    known_without_search,
    searched_once,
)
from validation.counterexamples.true_versions import PROOFS
from validation.searched import FOLDER, Outcome, outcomes

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.instance import Instance

COUNT, SEED = 60, 45
NAMES = ("key", "variant", "mistake", "place")
"""Fields of a row that identify its version."""
MOST_CONFIRMED = 3
"""Number of saved problems, with the largest ratios, that the training core runs."""


Problem = Mapping[str, object]
Witness = TypedDict("Witness", {"ratio": float, "from": str, "instance": Problem})
"""A problem that refutes a version, with its ratio and origin."""


class Runs(TypedDict):
    """Runs of a problem whose mean exceeds a bound.

    ``lower`` is a lower confidence limit of the ratio.
    """

    problem: str
    ratio: float
    lower: float
    clients: int
    runs: int


class Search(TypedDict):
    """Result of one search.

    A refutation by runs alone has no instance, as many clients need a large file.
    """

    refuted: bool
    seconds: float
    spent: float
    evaluations: int
    family: str | None
    ratio: float | None
    instance: NotRequired[Problem]
    runs: NotRequired[Runs]


Row = TypedDict(
    "Row",
    {
        "key": str,
        "variant": str,
        "mistake": str,
        "place": str,
        "saved": NotRequired[Witness | None],
        "for ever": NotRequired[float],
        "closed form": NotRequired[str | None],
        "runs": NotRequired[Runs | None],
        "proved": NotRequired[bool],
        "search": NotRequired[Search],
    },
)
"""The names of a version, what refutes it without a search, whether it is proved, and a
search of it.
"""


def drawn(count: int = COUNT, seed: int = SEED) -> list[Version]:
    """Return ``count`` random versions, taken from the rules in turn."""
    rng = np.random.default_rng(seed)
    queues = []
    for rule_versions in versions().values():
        order = rng.permutation(len(rule_versions))
        queues.append([rule_versions[index] for index in order])
    chosen: list[Version] = []
    while len(chosen) < count and any(queues):
        for queue in queues:
            if queue and len(chosen) < count:
                chosen.append(queue.pop())
    return chosen


# -- what is known of a version


def saved_witness(theorem: Theorem) -> Witness | None:
    """Return the saved problem with the largest ratio that the core confirms."""
    candidates = []
    for name, document in _saved_instances():
        if ("b" in document["task"]) == theorem.scope.two_blocks:
            instance = _built(document, theorem)
            if instance is not None:
                candidates.append((_exact_ratio(instance, theorem), name, instance))
    candidates.sort(key=itemgetter(0), reverse=True)
    return _confirmed(theorem, candidates[:MOST_CONFIRMED])


def hand_made_witness(theorem: Theorem) -> Witness | None:
    """Return the first hand-made counterexample that the training core confirms."""
    for name, problems in HAND_MADE.items():
        try:
            for instance in problems(theorem):
                ratio = _exact_ratio(instance, theorem)
                witness = _confirmed(theorem, [(ratio, name, instance)])
                if witness is not None:
                    return witness
        except DFLTheoryError:
            continue  # unsupported algorithm, or inadmissible step sizes
    return None


def witness_by_runs(theorem: Theorem) -> Runs | None:
    """Return runs of hand-made problems that refute a version, if there are any."""
    verdict = noisy_witness(theorem)
    if verdict is None:
        return None
    return Runs(
        problem="biased by noise",
        ratio=verdict.ratio,
        lower=verdict.ratio_ci[0],
        clients=round(verdict.at["m"]),
        runs=verdict.seeds,
    )


def _confirmed(
    theorem: Theorem, candidates: list[tuple[float, str, Instance]]
) -> Witness | None:
    """Return the first candidate that the training core confirms."""
    for ratio, name, instance in candidates:
        if ratio > 1 and certify(instance, theorem).violated:
            return {"ratio": ratio, "from": name, "instance": instance.document()}
    return None


@cache
def _saved_instances() -> list[tuple[str, Outcome]]:
    """Return the file names and instances of all saved outcomes with an instance."""
    return [
        (f"{outcome['key']}-{outcome['variant']}.json", outcome["instance"])
        for outcome in outcomes(FOLDER)
        if outcome.get("instance") is not None
    ]


def _built(document: Outcome, theorem: Theorem) -> Instance | None:
    """Build a saved problem; return None if no algorithm of the statement fits."""
    try:
        return built(document, theorem.scope.algorithms)
    except DFLTheoryError:
        return None


def _exact_ratio(instance: Instance, theorem: Theorem) -> float:
    """Return measured / bound by the exact expectation; 0 if it does not apply."""
    classes = tuple(class_of(name) for name in theorem.scope.algorithms)
    if not isinstance(instance.algorithm, classes):
        return 0.0
    try:
        with np.errstate(all="ignore"):
            exact, obstacles = exact_expectation(instance, theorem)
    except (DFLTheoryError, ArithmeticError):
        return 0.0
    return 0.0 if obstacles else float(exact["ratio"])


def search_result(theorem: Theorem, seconds: float, seed: int = 0) -> Search:
    """Return the result of one search, with the instance if it refutes the version."""
    result = searched_once(theorem, seconds, seed)
    row: Search = {
        "refuted": result.refuted,
        "seconds": seconds,
        "spent": result.spent,
        "evaluations": result.evaluations,
        "family": result.family,
        "ratio": result.ratio,
    }
    if result.worst is None or not result.refuted:
        return row
    family, instance, certificate = result.worst
    if certificate.exact is not None:
        row["instance"] = instance.document()
        return row
    core = certificate.core
    row["runs"] = Runs(
        problem=family,
        ratio=core["ratio"],
        lower=core["low"],
        clients=instance.task.m,
        runs=round(core["seeds"]),
    )
    return row


def known_false(row: Row) -> bool:
    """Return whether a version is known to be false without a search."""
    witnesses = (row.get("saved"), row.get("runs"))
    return any(w is not None for w in witnesses) or row.get("for ever", 0.0) > 1


def _wanted(row: Row, again: bool) -> bool:
    """Return whether a version is to be searched: again, if it may be refuted."""
    if "search" not in row:
        return True
    return again and not (row["search"]["refuted"] or row.get("proved", False))


def main(arguments: list[str]) -> int:
    """Draw versions into a file, or examine the versions of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("draw", "known", "prove", "search"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--again", action="store_true", help="search unrefuted versions again"
    )
    options = parser.parse_args(arguments)
    if options.action == "draw":
        names = [dict(zip(NAMES, version.name, strict=True)) for version in drawn()]
        write_json(options.file, names)
        return 0
    rows: list[Row] = read_json(options.file)
    available = {v.name: v.theorem for rule in versions().values() for v in rule}
    for row in rows:
        name = (row["key"], row["variant"], row["mistake"], row["place"])
        theorem = available[name]
        if options.action == "known" and not known_false(row):
            row["saved"] = saved_witness(theorem) or hand_made_witness(theorem)
            row["for ever"], row["closed form"] = known_without_search(theorem)
            if not known_false(row):
                row["runs"] = witness_by_runs(theorem)
            print(name, known_false(row), flush=True)
        elif options.action == "prove" and name in PROOFS:
            missing = PROOFS[name](name)
            row["proved"] = not missing
            print(name, "; ".join(missing) or "proved", flush=True)
        elif options.action == "search" and _wanted(row, options.again):
            row["search"] = search_result(theorem, options.seconds)
            print(name, row["search"]["refuted"], flush=True)
        write_json(options.file, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = [
    "drawn",
    "hand_made_witness",
    "known_false",
    "search_result",
    "saved_witness",
    "witness_by_runs",
]
