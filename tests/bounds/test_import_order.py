"""Results depend neither on the order in which papers are imported nor on installed
third-party papers.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from dfltheory import bounds
from dfltheory.errors import UnknownNameError

PAPERS = ("dfedsam", "lean", "wang2021", "khaled2019", "li2020", "yuan2016")
THIRD_PARTY = Path(__file__).parent / "third_party" / "paper.py"
NAMES = ("mu", "x_star_sq", "dist_before", "D_bar", "spare")
SCRIPT = """
import json, sys
from dfltheory import bounds
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.checks.run import audit_statement
from tests.bounds.test_import_order import known

def value(theorem):
    at = {}
    for name in theorem.needs:
        quantity = theorem.glossary[name]
        at[name] = 3 if quantity.integer else 0.5
    return theorem.evaluate(where="ignore", **at)

found = {}
for paper in sys.argv[1].split():
    for theorem in bounds.statements(paper):
        document = theorem_to_document(theorem)
        read = theorem_from_document(json.loads(json.dumps(document)))
        units = [f.message for f in audit_statement(theorem, ("units",))]
        found[str(theorem)] = [
            statement_hash(theorem), statement_hash(read), value(theorem), value(read), document,
            known(theorem), units, theorem.latex(),
        ]
print(json.dumps(found, sort_keys=True))
"""
ORDERS = {
    "sorted": tuple(sorted(PAPERS)),
    "reversed": tuple(sorted(PAPERS, reverse=True)),
    "random": tuple(random.Random(1).sample(PAPERS, len(PAPERS))),
    "random, the third-party paper first": (
        "third_party",
        *random.Random(2).sample(PAPERS, len(PAPERS)),
    ),
    "random, the third-party paper last": (
        *random.Random(3).sample(PAPERS, len(PAPERS)),
        "third_party",
    ),
}


def known(theorem):
    """Which of these names are quantities of the statement."""
    integer = {name for name, entry in theorem.glossary.items() if entry.integer}
    found = []
    for name in NAMES:
        given = {n: 1 if n in integer else 0.5 for n in (*theorem.needs, name)}
        try:
            theorem.evaluate(where="ignore", **given)
        except UnknownNameError:
            continue
        found.append(name)
    return found


def install(folder: Path) -> None:
    """Install the third-party paper as an installer does."""
    (folder / "third_party_paper.py").write_text(THIRD_PARTY.read_text())
    metadata = folder / "third_party_paper-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: third_party_paper\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[dfltheory.papers]\nthird_party = third_party_paper\n"
    )


def results(order: str, folder: Path) -> dict:
    """Return the results of all statements in a new interpreter that imports papers in
    this order.
    """
    if "third_party" in ORDERS[order]:
        install(folder)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    words = [sys.executable, "-c", SCRIPT, " ".join(ORDERS[order])]
    done = subprocess.run(
        words, capture_output=True, text=True, env=environment, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return results("sorted", tmp_path_factory.mktemp("sorted"))


@pytest.fixture(scope="module")
def with_third_party(tmp_path_factory):
    folder = tmp_path_factory.mktemp("third_party")
    return results("random, the third-party paper first", folder)


def without_third_party(found):
    return {name: row for name, row in found.items() if "third_party." not in name}


@pytest.mark.slow
def test_statements_have_the_same_results_after_a_third_party_paper(
    expected, with_third_party
):
    assert without_third_party(with_third_party) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", ["reversed", "random", "random, the third-party paper last"]
)
def test_statements_have_the_same_results_in_every_order(order, expected, tmp_path):
    assert without_third_party(results(order, tmp_path)) == expected


def test_each_statement_knows_the_glossary_and_its_own_quantities():
    found = {str(t): known(t) for paper in PAPERS for t in bounds.statements(paper)}
    assert found.pop("wang2021.lemma_1 (printed)") == ["mu", "x_star_sq", "dist_before"]
    assert found.pop("khaled2019.lemma_2 (printed)") == ["mu", "x_star_sq", "D_bar"]
    assert all(names == ["mu", "x_star_sq"] for names in found.values())


@pytest.mark.slow
def test_third_party_statement_knows_its_own_quantity(with_third_party):
    theirs = with_third_party["third_party.theorem_1 (printed)"]
    assert theirs[5] == ["mu", "x_star_sq", "spare"]
