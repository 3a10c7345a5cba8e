"""Recorded documents, audit findings, replays and verdicts.

``python -m tests.oracles.results [KIND ...]`` records them in ``results.json``: one
digest or row for each statement, saved outcome or verdict. Messages are omitted,
because they may be reworded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dfltheory.bounds import registry
from dfltheory.bounds.document import theorem_to_document
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.run import audit
from dfltheory.counterexamples.saved import replay
from validation.papers import PAPERS, appendix

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_suffix(".json")
OUTCOMES = ROOT / "docs" / "counterexamples"
PROSE = ("title", "source", "assumptions", "remark", "summary", "proof")
"""Fields of a statement's document that no computation uses."""


def digest(value: Any) -> str:
    """Return a hash of a document that does not depend on the order of keys."""
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, default=str).encode()
    ).hexdigest()[:16]


def statements() -> dict[str, str]:
    """Return a hash of each statement's document, without prose."""
    found = {}
    for theorem in (*registry.statements(), *appendices()):
        document = theorem_to_document(theorem)
        found[f"{theorem.key}:{theorem.variant}"] = digest(
            {k: v for k, v in document.items() if k not in PROSE}
        )
    return found


def appendices() -> tuple[Theorem, ...]:
    """Return the statements of the papers' appendices."""
    return tuple(theorem for paper in PAPERS for theorem in appendix(paper))


def findings() -> dict[str, list[list[str]]]:
    """Return the check, severity and place of every finding of the audit."""
    every = audit(registry=registry.REGISTRY.including(appendices()))
    found: dict[str, list[list[str]]] = {}
    for finding in every:
        row = [
            finding.check,
            finding.severity,
            finding.place,
            str(finding.evidence.get("term", "")),
        ]
        found.setdefault(f"{finding.key}:{finding.variant}", []).append(row)
    return {name: sorted(rows) for name, rows in found.items()}


def replays() -> dict[str, list[Any]]:
    """Return the outcome and ratio of each saved candidate, by file name."""
    found: dict[str, list[Any]] = {}
    for path in sorted(OUTCOMES.glob("*.json")):
        outcome = replay(path)
        found[path.stem] = [outcome.violated, float(f"{outcome.ratio:.6g}")]
    return found


def verdicts() -> list[list[Any]]:
    """Return the statement, kind and ratio of each verdict of ``make validate``,
    without image sets.
    """
    from validation.run_all import EXPERIMENTS

    found = []
    for name, run in EXPERIMENTS.items():
        if name == "images":
            continue
        _, outcomes = run(True)
        for outcome in outcomes:
            for verdict in outcome.verdicts:
                ratio = (
                    float(f"{verdict.ratio:.6g}")
                    if np.isfinite(verdict.ratio)
                    else str(verdict.ratio)
                )
                found.append([name, verdict.key, verdict.variant, verdict.kind, ratio])
    return found


KINDS: dict[str, Callable[[], Any]] = {
    "statements": statements,
    "findings": findings,
    "replays": replays,
    "verdicts": verdicts,
}


def recorded() -> dict[str, Any]:
    """Return the content of the committed file."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; default: all")
    chosen = parser.parse_args().kinds or list(KINDS)
    found = recorded() | {kind: KINDS[kind]() for kind in chosen}
    FILE.write_text(
        json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
