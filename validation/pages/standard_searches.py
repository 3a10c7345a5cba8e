"""Search the standard theorems for counterexamples, for docs/standard.md.

``python -m validation.pages.standard_searches KEY VARIANT [SECONDS]`` searches one
statement for the given processor time, 300 s by default, and stores the result in
``docs/standard_searches.json``.
"""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING

from dfltheory import bounds
from dfltheory.counterexamples.falsification import best_of, readings
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.files import read_json, write_json
from validation.pages.standard import SEARCHED
from validation.pages.standard_table import Search

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SECONDS, SEED = 300.0, 0


def searched(theorem: Theorem, seconds: float = SECONDS) -> Search:
    """Search a statement with constants for the given processor time.

    The time is divided equally between the readings of its scope. The result has the
    sharpest instance, and the candidates and needed terms of all readings.
    """
    started = time.process_time()
    scopes = readings(theorem)
    rows = [_best(reading, seconds / len(scopes)) for _, reading in scopes]
    row = max(rows, key=_ratio)
    needed = {name for result in rows for name in result.get("needed", ())}
    row["candidates"] = sum(result["candidates"] for result in rows)
    row["refuted"] = any(result["refuted"] for result in rows)
    row["needed"] = [name for name in theorem.parts if name in needed]
    row["seconds"] = round(seconds)
    row["processor"] = round(time.process_time() - started)
    return row


def _ratio(row: Search) -> float:
    return row["ratio"]


def _best(theorem: Theorem, seconds: float) -> Search:
    """Search one reading.

    ``needed`` lists the terms without which a candidate refutes the statement.
    """
    arms = search(
        theorem, search_spaces(theorem), seconds, SEED, math.inf, clock=processor
    )
    best = best_of(theorem, arms)
    names = list(theorem.parts)
    needed = []
    for place, name in enumerate(names, start=len(names)):
        if max(arm.niche_value(place) for arm in arms) > 1:
            needed.append(name)
    row: Search = {
        "ratio": 0.0,
        "candidates": sum(arm.evaluations for arm in arms),
        "families": len({arm.space.name for arm in arms}),
        "refuted": False,
        "instance": "no admissible candidate",
        "needed": needed,
    }
    if best is not None:
        family, instance, certificate = best
        row["ratio"] = float(certificate.sides["ratio"])
        row["refuted"] = bool(certificate.violated)
        row["instance"], row["T"] = family, instance.rounds
    return row


def store(theorem: Theorem, row: Search) -> None:
    """Combine a search with the stored one of the same statement, and store it."""
    rows = read_json(SEARCHED)
    name = f"{theorem.key}:{theorem.variant}"
    rows[name] = combined(rows[name], row) if name in rows else row
    write_json(SEARCHED, rows)


def combined(first: Search, second: Search) -> Search:
    """Combine two searches of one statement.

    The result has the sharper instance, and the time and the candidates of the longer
    search. A term is needed if it is in either search.
    """
    sharper, other = sorted((first, second), key=_ratio, reverse=True)
    longer = max((first, second), key=_seconds)
    row: Search = {
        **other,
        **sharper,
        "candidates": longer["candidates"],
        "families": longer["families"],
        "refuted": first.get("refuted", False) or second.get("refuted", False),
    }
    row.pop("processor", None)
    if "seconds" in longer:
        row["seconds"] = longer["seconds"]
    if "processor" in longer:
        row["processor"] = longer["processor"]
    row["needed"] = [*first.get("needed", ())]
    for term in second.get("needed", ()):
        if term not in row["needed"]:
            row["needed"].append(term)
    return row


def _seconds(row: Search) -> float:
    return row.get("processor", row.get("seconds", 0.0))


def main(arguments: list[str]) -> None:
    """Search one statement and store the result."""
    key, variant, *budget = arguments
    theorem = bounds.get(key, variant)
    seconds = float(budget[0]) if budget else SECONDS
    store(theorem, searched(theorem, seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
