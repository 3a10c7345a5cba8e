"""Simplify the saved refutations of statements with constants.

    python -m validation.counterexamples.simple docs/counterexamples [KEY-VARIANT ...]

The results are written to FOLDER/simple/KEY-VARIANT.json, and their descriptions in a
few lines are stored for ``dfltheory falsify --show``. Refutations of statements in O(.)
are families of problems, which are described by their growth law.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dfltheory.bounds.canonical import statement_hash
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.saved import replay, single_instance
from dfltheory.counterexamples.simplify import simplify
from dfltheory.counterexamples.simplify.growing import simplify_family
from dfltheory.counterexamples.simplify.lines import hand_check_lines
from dfltheory.counterexamples.simplify.stored import STORED_FILE
from dfltheory.files import write_json
from validation.counterexamples.growth_laws import growth_laws

NAMES = (
    "dfedadmm.theorem_1-printed",
    "dfedsam.theorem_4_5-printed",
    "dfedsgpsm.theorem_1-printed",
    "dfedadmm.corollary_1-printed",
    "dfedmdc.theorem_1-printed",
    "dfedmdc.theorem_2-printed",
    "dfedsam.corollary_4_6-printed",
    "dfedsam.corollary_4_8-printed",
    "dfedsgpsm.corollary_1-printed",
)


def simplified(file: Path) -> Finding:
    """Simplify a saved counterexample."""
    saved = json.loads(file.read_text(encoding="utf-8"))
    if saved.get("divergence") is None:
        instance, theorem, family = single_instance(file)
        return simplify(instance, theorem, family=family).finding
    return simplify_family(replay(file))


def lines_of(finding: Finding) -> tuple[str, ...]:
    """Return the lines that describe a finding; for a family, its growth law's."""
    if finding.divergence is not None:
        return growth_laws()[finding.key].lines
    return hand_check_lines(finding)


def main(folder: Path, names: list[str]) -> None:
    """Simplify the named counterexamples; store the lines of all simplified ones."""
    (folder / "simple").mkdir(exist_ok=True)
    for name in names:
        finding = simplified(folder / f"{name}.json")
        finding.save(folder / "simple" / f"{name}.json")
        print(finding, flush=True)
    stored: dict[str, dict[str, object]] = {}
    for file in sorted((folder / "simple").glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        finding = replay(file)
        if finding.theorem is not None:
            stored[statement_hash(finding.theorem)] = {
                "name": f"{document['key']}:{document['variant']}",
                "lines": list(lines_of(finding)),
            }
    write_json(STORED_FILE, stored)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(NAMES))
