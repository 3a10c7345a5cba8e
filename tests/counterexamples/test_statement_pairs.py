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
QUICK = ("convex_constant", "descent_index")


def budgets():
    """Yield each pair with a number of candidates; few suffice for some slips."""
    for file in FILES:
        yield pytest.param(file, 1500, marks=pytest.mark.slow, id=file.stem)
        if file.stem in QUICK:
            yield pytest.param(file, 150, id=f"{file.stem}, few candidates")


def test_pairs_state_different_claims_and_justify_the_true_one():
    for file in FILES:
        true, false = (bounds.load(str(file), v) for v in ("true", "false"))
        assert statement_hash(true) != statement_hash(false)
        assert true.remark
        assert false.remark.startswith("slip: ")
    assert set(QUICK) <= {file.stem for file in FILES}
    assert len(FILES) == 12


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("file", "candidates"), list(budgets()))
def test_search_refutes_the_false_statement_and_not_the_true_one(file, candidates):
    false, true = (
        dfl.falsify(bounds.load(str(file), v), candidates=candidates, enough=1.01)
        for v in ("false", "true")
    )
    assert false.violated
    assert not true.violated
    assert true.ratio > 0
