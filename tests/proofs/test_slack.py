"""The committed table of constants in proofs that could be smaller."""

from __future__ import annotations

import json
from functools import cache

import pytest

from dfltheory.bounds import registry
from validation.proof_checker.slack import FILE, LastInequality, proved_theorems

TABLE = json.loads(FILE.read_text(encoding="utf-8"))
QUICK = "dfedsgpsm.theorem_1:corrected"
ROWS = [
    pytest.param(claim, term, marks=[pytest.mark.slow] * (claim != QUICK))
    for claim, terms in TABLE.items()
    for term in terms
]

last_inequality = cache(LastInequality)


def test_table_has_a_row_for_each_term_of_its_theorems():
    assert set(TABLE) <= set(proved_theorems())
    for claim, terms in TABLE.items():
        assert set(terms) == set(registry.get(*claim.split(":")).parts)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("claim", "term"), ROWS)
def test_smallest_share_of_a_term_is_accepted_and_a_smaller_one_rejected(claim, term):
    share = TABLE[claim][term]
    assert 0 < share <= 100
    assert last_inequality(claim).is_shown(term, share)
    assert not last_inequality(claim).is_shown(term, share - 1)
