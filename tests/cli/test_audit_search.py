"""What an audit says of a search that could judge no candidate."""

from __future__ import annotations

import pytest
import sympy as sp

from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.cli import audit_search
from tests.verdicts.statements import NO_NOISE, SYMBOL, TO_LAST, statement

EQUAL = comparison_conditions("equal clients", SYMBOL["sigma_g"], "==", sp.S.Zero)


@pytest.mark.parametrize(
    ("bound", "judged"),
    [((SYMBOL["eta"] * SYMBOL["sigma_g"]) ** 2, False), (SYMBOL["f0_gap"], True)],
)
def test_search_says_whether_it_could_judge_a_candidate(monkeypatch, bound, judged):
    monkeypatch.setattr(audit_search, "SEARCH_SECONDS", 0.5)
    measure = "f_gap" if judged else "consensus"
    theorem = statement(
        measure,
        "min",
        bound,
        conditions=(NO_NOISE, *EQUAL),
        algorithm="DPSGD",
        hyperparameters={"order": "adapt-then-combine"},
        common_start=True,
        rounds=TO_LAST,
    )
    finding = audit_search.searched(theorem, "mine.toml")
    assert finding.severity == "note"
    assert ("could be judged" in finding.message) is not judged
