"""Searches of the standard theorems by processor time, for docs/standard.md.

``python -m validation.pages.standard_searches KEY VARIANT [SECONDS]`` searches one
statement for the given processor time, 300 s by default, and stores the result in
``docs/standard_searches.json``. With ``--control`` in place of the seconds it searches
false versions: each term in turn is divided by 2, 4, 8, ... until a counterexample is
found.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dfltheory import bounds
from dfltheory.counterexamples.divergence import steepest
from dfltheory.counterexamples.finding import best_of, readings, together
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.files import write_json
from validation.pages.standard import SEARCHED

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SECONDS, CONTROL_SECONDS, SEED = 300.0, 3.0, 0
ENOUGH = 1.01
"""Ratio of measured to bound at which the search for a control stops."""
DIVISORS = (2, 4, 16, 256, 65536)
Row = dict[str, Any]


def searched(theorem: Theorem, seconds: float = SECONDS) -> Row:
    """Search a statement for the given processor time, and return its sharpest instance.

    The time is divided equally between the readings of its scope.
    """
    started = time.process_time()
    found: list[Row] = []
    asked = readings(theorem)
    for _, reading in asked:
        share = seconds / len(asked)
        found.append(_order(reading, share) if theorem.order else _best(reading, share))
    sharpest = max(found, key=lambda row: row["ratio"])
    return sharpest | {
        "candidates": sum(row["candidates"] for row in found),
        "refuted": any(row["refuted"] for row in found),
        "seconds": round(seconds),
        "processor": round(time.process_time() - started),
    }


def _best(theorem: Theorem, seconds: float) -> Row:
    """One reading of a statement with constants."""
    arms = search(
        theorem, search_spaces(theorem), seconds, SEED, math.inf, clock=processor
    )
    found = best_of(theorem, arms)
    row: Row = {
        "ratio": 0.0,
        "candidates": sum(arm.evaluations for arm in arms),
        "families": len(
            together((arm.space.name, 0.0, arm.evaluations) for arm in arms)
        ),
        "refuted": False,
        "instance": "no admissible candidate",
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


def _order(theorem: Theorem, seconds: float) -> Row:
    """One reading of a statement in O(.), sought along families of problems."""
    best, families, count = steepest(theorem, seconds, SEED, processor)
    diverges = best is not None and best.diverges
    steepest_family = max(families, key=lambda name: families[name]["ratio"])
    return {
        "ratio": 0.0 if best is None else float(best.ratios[-1] / best.ratios[0]),
        "candidates": count,
        "families": len(families),
        "refuted": diverges,
        "instance": steepest_family,
    }


def controls(theorem: Theorem, seconds: float = CONTROL_SECONDS) -> Row:
    """Return, for each term, the least divisor at which a search refutes the rest."""
    return {name: divisor_of(theorem, name, seconds) for name in theorem.parts}


def divisor_of(theorem: Theorem, term: str, seconds: float) -> int | None:
    """Return the first of ``DIVISORS`` by which a term can no longer be divided."""
    for divisor in DIVISORS:
        parts = {
            name: part / divisor if name == term else part
            for name, part in theorem.parts.items()
        }
        weaker = replace(theorem, variant=f"{theorem.variant}_control", parts=parts)
        arms = search(
            weaker, search_spaces(weaker), seconds, SEED, ENOUGH, clock=processor
        )
        found = best_of(weaker, arms)
        if found is not None and found[2].violated:
            return divisor
    return None


def store(theorem: Theorem, row: Row) -> None:
    """Merge a result into the row of its statement."""
    rows = json.loads(SEARCHED.read_text(encoding="utf-8"))
    name = f"{theorem.key}:{theorem.variant}"
    rows[name] = rows.get(name, {}) | row
    write_json(SEARCHED, rows)


def main(arguments: list[str]) -> None:
    """Search one statement, or its controls."""
    key, variant, *rest = arguments
    theorem = bounds.get(key, variant)
    if rest == ["--control"]:
        store(theorem, {"controls": controls(theorem)})
    else:
        seconds = float(rest[0]) if rest else SECONDS
        store(theorem, searched(theorem, seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
