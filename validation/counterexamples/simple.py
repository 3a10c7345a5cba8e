"""Simplify the saved refutations of statements with constants: ``python -m
validation.counterexamples.simple docs/counterexamples [KEY-VARIANT ...]``.

Each result is FOLDER/simple/KEY-VARIANT.json, and its lines are stored for ``dfltheory
falsify --show``. Refutations of statements in O(.) are families of problems, and are
skipped.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dfltheory.bounds.canonical import statement_hash
from dfltheory.counterexamples.finding import replay, single_instance
from dfltheory.counterexamples.simplify import simplify
from dfltheory.counterexamples.simplify.lines import hand_check_lines
from dfltheory.counterexamples.simplify.stored import FILE
from dfltheory.files import write_json

NAMES = (
    "dfedadmm.theorem_1-printed",
    "dfedsam.theorem_4_5-printed",
    "dfedsgpsm.theorem_1-printed",
)


def main(folder: Path, names: list[str]) -> None:
    """Simplify these files of the folder, and store the lines of all simple ones."""
    (folder / "simple").mkdir(exist_ok=True)
    for name in names:
        instance, theorem, family = single_instance(folder / f"{name}.json")
        simpler = simplify(instance, theorem, family=family)
        simpler.finding.save(folder / "simple" / f"{name}.json")
        print(f"{name}: {simpler}")
    stored: dict[str, dict[str, object]] = {}
    for file in sorted((folder / "simple").glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        finding = replay(file)
        if finding.theorem is not None:
            stored[statement_hash(finding.theorem)] = {
                "name": f"{document['key']}:{document['variant']}",
                "lines": list(hand_check_lines(finding)),
            }
    write_json(FILE, stored)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(NAMES))
