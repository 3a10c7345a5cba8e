"""Pairs of a true and a slightly false statement: with the same budget, the search
refutes only the false one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds.canonical import statement_hash

FILES = sorted((Path(__file__).parent / "pairs").glob("*.toml"))
QUICK = ("convex_constant", "descent_index", "descent_constant")
CANDIDATES = 1500


def marked(file):
    slow = [] if file.stem in QUICK else [pytest.mark.slow]
    return pytest.param(file, marks=slow, id=file.stem)


def test_pairs_state_different_claims_and_justify_the_true_one():
    for file in FILES:
        true, false = (bounds.load(str(file), v) for v in ("true", "false"))
        assert statement_hash(true) != statement_hash(false)
        assert true.remark
        assert false.remark.startswith("slip: ")
    assert set(QUICK) <= {file.stem for file in FILES}
    assert len(FILES) == 12


@pytest.mark.drawn(1)
@pytest.mark.parametrize("file", [marked(file) for file in FILES])
def test_search_refutes_the_false_statement_and_not_the_true_one(file):
    false, true = (
        dfl.falsify(bounds.load(str(file), v), candidates=CANDIDATES, enough=1.01)
        for v in ("false", "true")
    )
    assert false.violated
    assert not true.violated
    assert true.ratio > 0
