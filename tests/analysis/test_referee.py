"""The referee's page: self-contained, with the refutation that is saved and the mistakes of its statement."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dfltheory import bounds
from dfltheory.analysis import referee
from dfltheory.analysis.report import worded
from dfltheory.bounds import symbols as s
from dfltheory.cli import run
from dfltheory.errors import InputError

DOCS = Path(__file__).parents[2] / "docs"
SAVED = DOCS / "counterexamples" / "dfedsgpsm.theorem_1-printed.json"
SHORT = SAVED.with_name("dfedsgpsm.theorem_1-appendix.json")
"""The same algorithm, and it stands still after 300 rounds of 20,000."""


@pytest.fixture(scope="module")
def page():
    """With a twelfth of the ledger's lines: all of them are examined in tests/bounds/test_ledger.py."""
    known = referee.registry
    part = SimpleNamespace(
        known=known.known, papers=known.papers, ledger=lambda paper: known.ledger(paper)[::12]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(referee, "registry", part)
        return referee.referee(
            bounds.get("dfedsgpsm.theorem_1"), "dfltheory referee dfedsgpsm.theorem_1", DOCS
        )


def test_the_page_loads_nothing_and_says_what_is_wrong_and_what_holds(page):
    assert not re.search(
        r'(?:src|href)="(?!#)(?!data:)[^"]*"', re.sub(r"<svg.*?</svg>", "", page, flags=re.S)
    )
    assert "<script" not in page
    assert "is false as printed" in page
    assert "DFedSGPSM-E4" in page
    assert page.count("<svg") == 2
    assert "<math" in page
    assert "kernel-checked" in page
    assert "fresh draws each gossip step" in page
    assert "Made again by <code>dfltheory referee dfedsgpsm.theorem_1</code>" in page
    assert "$" not in re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.S)


def test_the_saved_run_lies_above_the_printed_bound_and_below_the_corrected_one():
    printed, corrected = (bounds.get("dfedsgpsm.theorem_1", v) for v in ("printed", "corrected"))
    horizons, lines = referee._along(SAVED, printed, corrected)
    assert set(lines) == {"measured", "printed", "corrected"}
    told = json.loads(SAVED.read_text(encoding="utf-8"))["exact"]
    assert horizons[-1] == told["T"]
    assert lines["measured"][-1] / lines["printed"][-1] == pytest.approx(told["ratio"], rel=1e-6)
    assert told["ratio"] > 2
    assert (lines["measured"] < lines["corrected"]).all()
    assert not np.isnan(lines["corrected"]).any()
    for side, drawn in (("mean", True), ("min", False), ("last", False)):  # of another left-hand side
        other = replace(corrected, lhs=replace(corrected.lhs, aggregate=side))
        assert ("corrected" in referee._along(SHORT, printed, other)[1]) is drawn
        least = replace(printed, lhs=replace(printed.lhs, aggregate=side))
        assert ("corrected" in referee._along(SHORT, least, corrected)[1]) is (side != "last")


def test_a_family_against_an_o_is_drawn_over_its_own_parameter():
    theorem = bounds.get("dfedmdc.theorem_2")
    drawn, words = referee._refutation(
        DOCS / "counterexamples" / "dfedmdc.theorem_2-printed.json", theorem, None
    )
    assert "<svg" in drawn
    assert "no constant covers it" in words


def test_words_are_set_and_powers_keep_their_stars():
    told = worded("**Theorem 1 (`a.b`) is false**: $x^2$ < L**2*rho**2 by `cmd <x>`")
    assert told.startswith("Theorem 1 (<code>a.b</code>) is false: <math")
    assert told.endswith("&lt; L**2*rho**2 by <code>cmd &lt;x&gt;</code>")
    assert worded("grows as $x^$") == "grows as x^"  # no formula


def test_where_a_bound_says_something_is_drawn_only_where_something_is_known_without_it():
    drawn, words = referee._phase(bounds.get("dfedsgpsm.theorem_1"))
    assert "<svg" in drawn
    assert "Vacuous" in words
    assert referee._phase(bounds.get("dfedsam.corollary_4_6")) == (None, "")


def test_a_theorem_of_ones_own_and_words_that_look_like_tags(tmp_path):
    good = bounds.get("dfedsam.theorem_4_5", "corrected")
    mine = replace(
        good,
        key="mine.theorem_1",
        source="<b>mine</b>",
        assumptions=("f_i is <i>odd</i> and grows as x^", r"$\|\nabla f_i(x)\| \le B$"),
        parts={**good.parts, "sharpness": -(s.L**2) * s.rho**2},
    )
    text = referee.referee(mine, "dfltheory referee mine.py:mine")
    assert "<b>mine</b>" not in text
    assert "&lt;b&gt;mine" in text
    assert "<i>odd" not in text
    assert "Findings that no entry explains" in text
    with pytest.raises(InputError, match=r"must end in \.html"):
        referee.write(mine, tmp_path / "page.pdf", "", None, print)


def test_the_command_writes_the_page(tmp_path, capsys):
    out = tmp_path / "page.html"
    assert run(["referee", "dfedsam.lemma_D3", "--out", str(out), "--docs", str(DOCS), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {"key": "dfedsam.lemma_D3", "variant": "printed", "page": str(out)}
    assert told.err.startswith("auditing dfedsam.lemma_D3 (printed)"), "nobody waits in silence"
    assert "DFedSAM-E9" in out.read_text(encoding="utf-8")
    assert run(["referee", "dfedsam.lemma_D33"]) == 2
