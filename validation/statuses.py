"""Writes ``dfltheory/bounds/status.json``, the status of each examined statement.

``python -m validation.statuses`` replays the saved outcomes of searches
(``docs/counterexamples``), stores their results in ``docs/searches.json``, and merges
these with the results of the proof checks (``docs/proofs.json``). An outcome counts for
the statement now registered under its name only if replaying its instance gives the
saved ratio. An outcome is not replayed again if neither its file nor the statement has
changed. A proof counts for the statement with the hash for which it was checked.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from dfltheory.bounds import registry
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.status import STATUS_FILE, STATUS_FORMAT, Status, status_from_dict
from dfltheory.counterexamples import Finding, replay
from dfltheory.counterexamples.describe import counterexample_lines, excess_words
from dfltheory.counterexamples.falsification import COMMON_START_READING
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.files import read_json, write_json
from validation.counterexamples.growth_laws import growth_laws
from validation.searched import below_one, growing, has_closed_form, ratio_of

DOCS = Path(__file__).parent.parent / "docs"
OUTCOMES = DOCS / "counterexamples"
PROOFS = DOCS / "proofs.json"
SEARCHES = DOCS / "searches.json"
TOLERANCE = 1e-6
"""Largest relative deviation of a replayed ratio from the saved one."""

Record = dict[str, Any]


def search_records(
    outcomes: Path = OUTCOMES, old: Mapping[str, Record] | None = None
) -> dict[str, Record]:
    """Return the records of saved outcomes, by file name.

    A record contains the name of the statement, digests of the file and the statement,
    and the status. Outcomes that do not replay on the registered statement are omitted.
    """
    before = old or {}
    records: dict[str, Record] = {}
    for file in sorted(outcomes.glob("*.json")):
        name, hashes = key_of(file)
        known = before.get(file.name)
        if known is not None and known["hashes"] == hashes:
            records[file.name] = known
            continue
        document = json.loads(file.read_text(encoding="utf-8"))
        finding = _replayed(file, document)
        if finding is None:
            print(
                f"{file.name} does not replay on {name}: not counted", file=sys.stderr
            )
            continue
        if finding.growing and has_closed_form(finding.key, finding.variant):
            status = _growth(document, finding, name)
        elif finding.violated:
            status = _refutation(document, finding, name, file.name)
        else:
            status = _search(document)
        records[file.name] = {
            "name": name,
            "hashes": hashes,
            "status": status.to_dict(),
        }
    return records


def key_of(file: Path) -> tuple[str, dict[str, str]]:
    """Return the name of an outcome's statement, and digests of file and statement."""
    content = file.read_bytes()
    document = json.loads(content)
    about = document.get("divergence") or document
    theorem = registry.get(about["key"], about["variant"])
    hashes = {
        "file": sha256(content).hexdigest()[:16],
        "statement": statement_hash(theorem),
    }
    return f"{theorem.key}:{theorem.variant}", hashes


def entries(
    searches: Mapping[str, Record], proofs: Mapping[str, Record]
) -> dict[str, Record]:
    """Return the names and the status of statements, by the statements' hash.

    Raises
    ------
    InputError
        If a statement is both refuted and proved.
    """
    merged: dict[str, Record] = {}
    for record in searches.values():
        digest = record["hashes"]["statement"]
        entry = {"statements": [record["name"]], "status": record["status"]}
        merged[digest] = _merged(merged.get(digest), entry)
    for digest, result in proofs.items():
        entry = {
            "statements": result["statements"],
            "status": _proof_status(result).to_dict(),
        }
        merged[digest] = _merged(merged.get(digest), entry)
    return dict(sorted(merged.items()))


def _replayed(file: Path, document: Record) -> Finding | None:
    """Replay a saved outcome; return None if the result differs from the saved one."""
    try:
        finding = replay(file)
    except DFLTheoryError as error:
        print(f"{file.name}: {error}", file=sys.stderr)
        return None
    same = finding.violated is document["violated"]
    same = same and finding.growing is document.get("growing", False)
    close = math.isclose(finding.ratio, float(document["ratio"]), rel_tol=TOLERANCE)
    return finding if same and close else None


def _refutation(document: Record, finding: Finding, name: str, file: str) -> Status:
    readings = document.get("readings") or {}
    reading = next((n for n, result in readings.items() if result["violated"]), "")
    under = f", {reading}" if reading and reading != COMMON_START_READING else ""
    return Status(
        kind="refuted",
        how=f"{excess_words(finding)}{under}",
        ratio=finding.ratio,
        counterexample=counterexample_lines(finding),
        command=f"dfltheory falsify --replay docs/counterexamples/{file}",
        search=f"found by `{document['command']}`",
        name=name,
    )


def _growth(document: Record, finding: Finding, name: str) -> Status:
    """Return the status that a family in closed form gives."""
    law = growth_laws()[finding.key]
    return Status(
        kind="refuted",
        how=f"{law.words}, by a family in closed form",
        ratio=finding.ratio,
        counterexample=law.lines,
        command=(
            "dfltheory falsify --replay docs/counterexamples/simple/"
            f"{finding.key}-{finding.variant}.json"
        ),
        search=f"growth found by `{document['command']}`",
        name=name,
    )


def _search(document: Record) -> Status:
    if document.get("growing"):
        words = (
            f"{document['evaluations']} candidates, {document['seconds']:.0f} s:"
            f" {growing(document)}, which refutes nothing"
        )
        return Status(search=words, command=document["command"])
    words = (
        f"no counterexample in {document['evaluations']} candidates,"
        f" {document['seconds']:.0f} s; largest measured/bound"
        f" {below_one(ratio_of(document))}"
    )
    return Status(search=words, command=document["command"])


def _proof_status(result: Record) -> Status:
    """Return the status that results from a proof check."""
    command = "python -m validation.pages.proofs docs/proofs.md"
    if result["method"] == "kernel-checked":
        parent = ""
        if "from" in result:
            parent = (
                f" for {result['from']}, from which it follows by its declared step"
            )
        rules = f"{result['rules']} rules, each a textbook statement"
        hypotheses = ", ".join(result["hypotheses"])
        how = (
            f"whole proof checked by the proof kernel{parent} ({rules}); hypotheses:"
            f" {hypotheses}"
        )
        return Status(kind="proved", how=how, command=command)
    cited = ", ".join(result["cited"])
    how = f"the last step was checked; it cites, without a checked proof: {cited}"
    return Status(kind="proved from cited lemmas", how=how, command=command)


def _merged(earlier: Record | None, later: Record) -> Record:
    """Merge two entries of the same statement: names, status and search."""
    if earlier is None:
        return later
    first, second = (status_from_dict(entry["status"]) for entry in (earlier, later))
    names = list(dict.fromkeys([*earlier["statements"], *later["statements"]]))
    kinds = {first.kind, second.kind} - {"not examined"}
    if "refuted" in kinds and len(kinds) > 1:
        raise InputError(
            f"{', '.join(names)}: refuted and proved; one of the two checks is wrong"
        )
    main, other = (second, first) if first.kind == "not examined" else (first, second)
    joined = replace(main, search=main.search or other.search)
    return {"statements": names, "status": joined.to_dict()}


def read(file: Path) -> dict[str, Record]:
    """Return the records of a file; empty if it does not exist."""
    return read_json(file) if file.is_file() else {}


def main(arguments: list[str]) -> int:
    """Write the records of searches and the status file."""
    if arguments:
        print("usage: python -m validation.statuses", file=sys.stderr)
        return 2
    searches = search_records(OUTCOMES, read(SEARCHES))
    write_json(SEARCHES, searches)
    write_json(
        STATUS_FILE,
        {"format": STATUS_FORMAT, "statements": entries(searches, read(PROOFS))},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
