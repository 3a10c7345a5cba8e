"""Searches of the standard theorems by processor time, for docs/standard.md.

``python -m validation.pages.standard_searches KEY VARIANT`` searches one statement for
``SECONDS`` of processor time and stores the result in ``docs/standard_searches.json``.
With ``--control`` it searches weaker versions instead: the constant of the term that is
largest at the sharpest instance is divided by 2, 4, 8, ... until a counterexample is
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

SECONDS, CONTROL_SECONDS, SEED = 300.0, 20.0, 0
DIVISORS = tuple(2**k for k in range(1, 11))
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


def control(theorem: Theorem, seconds: float = CONTROL_SECONDS) -> Row:
    """Divide the constant of the main term until a search refutes the statement."""
    term = main_term(theorem)
    for divisor in DIVISORS:
        parts = {
            name: part / divisor if name == term else part
            for name, part in theorem.parts.items()
        }
        weaker = replace(theorem, variant=f"{theorem.variant}_control", parts=parts)
        arms = search(
            weaker, search_spaces(weaker), seconds, SEED, 1.05, clock=processor
        )
        found = best_of(weaker, arms)
        if found is not None and found[2].violated:
            return {"term": term, "divisor": divisor, "instance": found[0]}
    return {"term": term, "divisor": None}


def main_term(theorem: Theorem) -> str:
    """The first term, which bounds the progress from the start."""
    return next(iter(theorem.parts))


def store(theorem: Theorem, row: Row) -> None:
    """Merge a result into the row of its statement."""
    rows = json.loads(SEARCHED.read_text(encoding="utf-8"))
    name = f"{theorem.key}:{theorem.variant}"
    rows[name] = rows.get(name, {}) | row
    write_json(SEARCHED, rows)


def main(arguments: list[str]) -> None:
    """Search one statement, or its controls."""
    theorem = bounds.get(arguments[0], arguments[1])
    if "--control" in arguments:
        store(theorem, {"control": control(theorem)})
    else:
        store(theorem, searched(theorem))


if __name__ == "__main__":
    main(sys.argv[1:])
