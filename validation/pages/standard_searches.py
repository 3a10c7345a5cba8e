"""Searches of the standard theorems by processor time, for docs/standard.md.

``python -m validation.pages.standard_searches KEY VARIANT [SECONDS]`` searches one
statement for the given processor time, 300 s by default, and stores the result in
``docs/standard_searches.json``.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import TYPE_CHECKING, Any

from dfltheory import bounds
from dfltheory.counterexamples.falsification import best_of, readings
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.files import write_json
from validation.pages.standard import SEARCHED

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SECONDS, SEED = 300.0, 0
Row = dict[str, Any]


def searched(theorem: Theorem, seconds: float = SECONDS) -> Row:
    """Search a statement with constants for the given processor time.

    The time is divided equally between the readings of its scope; the row is that of
    the sharpest instance.
    """
    started = time.process_time()
    asked = readings(theorem)
    found = [_best(reading, seconds / len(asked)) for _, reading in asked]
    sharpest = max(found, key=lambda row: row["ratio"])
    needed = {name for row in found for name in row["needed"]}
    return sharpest | {
        "candidates": sum(row["candidates"] for row in found),
        "refuted": any(row["refuted"] for row in found),
        "needed": [name for name in theorem.parts if name in needed],
        "seconds": round(seconds),
        "processor": round(time.process_time() - started),
    }


def _best(theorem: Theorem, seconds: float) -> Row:
    """One reading. ``needed`` are the terms whose omission a candidate refutes."""
    arms = search(
        theorem, search_spaces(theorem), seconds, SEED, math.inf, clock=processor
    )
    found = best_of(theorem, arms)
    names = list(theorem.parts)
    without = [
        max(arm.niche(len(names) + k) for arm in arms) for k in range(len(names))
    ]
    row: Row = {
        "ratio": 0.0,
        "candidates": sum(arm.evaluations for arm in arms),
        "families": len({arm.space.name for arm in arms}),
        "refuted": False,
        "instance": "no admissible candidate",
        "needed": [n for n, ratio in zip(names, without, strict=True) if ratio > 1],
    }
    if found is None:
        return row
    family, instance, certificate = found
    return row | {
        "ratio": float(certificate.exact["ratio"]),
        "refuted": bool(certificate.violated),
        "instance": family,
        "T": instance.rounds,
    }


def store(theorem: Theorem, row: Row) -> None:
    """Replace the row of a statement."""
    rows = json.loads(SEARCHED.read_text(encoding="utf-8"))
    rows[f"{theorem.key}:{theorem.variant}"] = row
    write_json(SEARCHED, rows)


def main(arguments: list[str]) -> None:
    """Search one statement and store what was found."""
    key, variant, *rest = arguments
    theorem = bounds.get(key, variant)
    seconds = float(rest[0]) if rest else SECONDS
    store(theorem, searched(theorem, seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
