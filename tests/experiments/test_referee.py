"""The referee's page is self-contained, with the saved refutation and the errors of its
statement.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from markupsafe import escape
from matplotlib.axes import Axes

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.checks.headlines import examined
from dfltheory.checks.run import CHECKS, applicable_checks
from dfltheory.cli import run
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.experiments import referee, referee_pictures
from dfltheory.experiments.html_text import html_text

DOCS = Path(__file__).parents[2] / "docs"
SAVED = DOCS / "counterexamples" / "dfedsgpsm.theorem_1-printed.json"
SHORT = SAVED.with_name("dfedsgpsm.theorem_1-appendix.json")
"""The same algorithm, which is stationary after 300 of 20,000 rounds."""


@pytest.fixture(scope="module")
def page():
    """Return the page on a refuted theorem with its saved counterexample."""
    return referee.referee(
        bounds.get("dfedsgpsm.theorem_1"),
        "dfltheory referee dfedsgpsm.theorem_1",
        SAVED,
    )


@pytest.mark.slow
def test_the_page_loads_nothing_and_says_what_is_wrong_and_what_holds(page):
    assert not re.search(
        r'(?:src|href)="(?!#)(?!data:)[^"]*"',
        re.sub(r"<svg.*?</svg>", "", page, flags=re.S),
    )
    assert "<script" not in page
    assert "is false as printed" in page
    assert "<li>error: dfedsgpsm.theorem_1" in page
    assert page.count("<svg") == 2
    assert "<math" in page
    assert "fresh draws each gossip step" in page
    assert "proved (whole proof checked by the proof kernel" in page
    assert "7.06 times the bound" in page
    assert f"dfltheory falsify --replay {SAVED}" in page
    assert "Repeat with <code>dfltheory referee dfedsgpsm.theorem_1</code>" in page
    assert "$" not in re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.S)


@pytest.mark.slow
def test_the_saved_run_lies_above_the_printed_bound_and_below_the_corrected_one():
    printed, corrected = (
        bounds.get("dfedsgpsm.theorem_1", v) for v in ("printed", "corrected")
    )
    horizons, lines = referee_pictures._values_at_horizons(SAVED, printed, corrected)
    assert set(lines) == {"measured", "printed", "corrected"}
    exact = json.loads(SAVED.read_text(encoding="utf-8"))["exact"]
    assert horizons[-1] == exact["T"]
    assert lines["measured"][-1] / lines["printed"][-1] == pytest.approx(
        exact["ratio"], rel=1e-6
    )
    assert exact["ratio"] > 2
    assert (lines["measured"] < lines["corrected"]).all()
    assert not np.isnan(lines["corrected"]).any()
    # of another left-hand side
    for side, drawn in (("mean", True), ("min", False), ("last", False)):
        other = replace(corrected, lhs=replace(corrected.lhs, aggregate=side))
        assert (
            "corrected"
            in referee_pictures._values_at_horizons(SHORT, printed, other)[1]
        ) is drawn
        least = replace(printed, lhs=replace(printed.lhs, aggregate=side))
        assert (
            "corrected"
            in referee_pictures._values_at_horizons(SHORT, least, corrected)[1]
        ) is (side != "last")


def test_a_family_against_an_o_is_drawn_over_its_own_parameter():
    theorem = bounds.get("dfedmdc.theorem_2")
    drawn, words = referee_pictures.refutation_picture(
        DOCS / "counterexamples" / "dfedmdc.theorem_2-printed.json", theorem, None
    )
    assert "<svg" in drawn
    assert "the ratio grows" in words


def test_words_are_set_and_powers_keep_their_stars():
    rendered = html_text(
        "**Theorem 1 (`a.b`) is false**: $x^2$ < L**2*rho**2 by `cmd <x>`"
    )
    assert rendered.startswith("Theorem 1 (<code>a.b</code>) is false: <math")
    assert rendered.endswith("&lt; L**2*rho**2 by <code>cmd &lt;x&gt;</code>")
    assert html_text("grows as $x^$") == "grows as x^"  # no formula


def test_where_a_bound_says_something_is_drawn_only_where_something_is_known_without_it():
    drawn, words = referee_pictures.phase_picture(bounds.get("dfedsgpsm.theorem_1"))
    assert "<svg" in drawn
    assert "Vacuous" in words
    assert referee_pictures.phase_picture(bounds.get("dfedsam.corollary_4_6")) == (
        None,
        "",
    )


def test_phase_picture_has_logarithmic_axes_and_one_color_for_each_kind(monkeypatch):
    """The colors do not depend on which kinds occur."""
    meshes, draw = [], Axes.pcolormesh

    def drawn(axes, *arguments, **options):
        meshes.append(draw(axes, *arguments, **options))
        return meshes[-1]

    monkeypatch.setattr(Axes, "pcolormesh", drawn)
    monkeypatch.setattr(referee_pictures, "_svg", lambda figure: "")
    for bound in (0.0, np.inf):  # informative everywhere, and not applicable
        monkeypatch.setattr(
            referee_pictures,
            "best_bounds",
            lambda theorem, values, bound=bound: (np.full(len(values["T"]), bound), {}),
        )
        referee_pictures.phase_picture(bounds.get("dfedsgpsm.theorem_1"))
    informative, impossible = meshes
    assert set(informative.get_array().ravel()) == {2}
    assert set(impossible.get_array().ravel()) == {0}
    for mesh in meshes:
        assert mesh.get_clim() == (0, 2)
        assert mesh.axes.get_xscale() == mesh.axes.get_yscale() == "log"


def test_a_theorem_of_ones_own_and_words_that_look_like_tags(tmp_path, monkeypatch):
    monkeypatch.setattr(referee, "phase_picture", lambda theorem: (None, ""))
    good = bounds.get("dfedsam.theorem_4_5", "corrected")
    mine = replace(
        good,
        key="mine.theorem_1",
        source="<b>mine</b>",
        assumptions=("f_i is <i>odd</i> and grows as x^", r"$\|\nabla f_i(x)\| \le B$"),
        parts={**good.parts, "sharpness": -(s.L**2) * s.rho**2},
    )
    text = referee.referee(mine, "dfltheory referee mine.py:mine")
    assert "not searched for a counterexample" in text
    assert "its proof was not checked" in text
    assert "<b>mine</b>" not in text
    assert "&lt;b&gt;mine" in text
    assert "<i>odd" not in text
    assert "the audit reports" in text
    with pytest.raises(InputError, match=r"\.html"):
        referee.write_page(mine, tmp_path / "page.pdf", "", None, print)


def test_command_writes_page_and_claim_and_reports_progress(tmp_path, capsys):
    out = tmp_path / "page.html"
    assert run(["referee", "yuan2016.lemma_1", "--out", str(out), "--json"]) == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert answer["outcome"] == "NOT APPLICABLE"
    assert answer["page"] == str(out)
    assert answer["counterexample"] is None
    assert shown.err.startswith("auditing yuan2016.lemma_1 (printed)")
    assert "Lemma 1" in out.read_text(encoding="utf-8")
    claim = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    assert claim["search"]["outcome"] == "not searched"
    assert all(control["outcome"] == "not run" for control in claim["controls"])
    assert run(["referee", "yuan2016.lemma_11"]) == 2


def test_command_does_not_replace_the_claim_of_another_page(tmp_path, capsys):
    (tmp_path / "claim.json").write_text('{"page": "other.html"}')
    out = tmp_path / "page.html"
    assert run(["referee", "yuan2016.lemma_1", "--out", str(out)]) == 2
    assert not out.exists()


# -- what was examined, and a counterexample from the caller


@pytest.fixture
def quick(monkeypatch):
    """Skip the audit and the pictures, which have their own tests."""
    monkeypatch.setattr(referee, "_findings", lambda theorem: [])
    monkeypatch.setattr(referee, "phase_picture", lambda theorem: (None, ""))


def test_a_stored_refutation_is_reported_from_any_folder(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    theorem = bounds.get("dfedsam.theorem_4_5")
    text = referee.referee(theorem, "dfltheory referee dfedsam.theorem_4_5")
    assert "is false as printed" in text
    assert "52.7 times the bound" in text
    assert all(str(escape(line)) in text for line in theorem.status.counterexample)
    assert "no mistake was found" not in text.lower()


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("key", "variant", "said"),
    [
        (
            "dfedsam.rate_quoted_dfedavg",
            "printed",
            "dfltheory falsify dfedsam.rate_quoted_dfedavg",
        ),
        ("yuan2016.lemma_1", "printed", "does not search a lemma"),
        ("pepit.sgd", "printed", "840002 candidates, 362 s"),
        ("dfedsam.theorem_4_5", "corrected", "whole proof checked by the proof kernel"),
    ],
)
def test_what_ran_is_reported_and_what_did_not_has_its_command(
    key, variant, said, quick
):
    text = referee.referee(bounds.get(key, variant), "dfltheory referee")
    assert said in text
    assert "no mistake was found" not in text.lower()
    assert all(check in text for check in CHECKS)
    assert "report no error" in text or "reports no error" in text


def test_errors_of_the_audit_are_counted_where_it_is_said_what_ran(quick, monkeypatch):
    theorem = bounds.get("dfedsam.theorem_4_5")
    finding = SimpleNamespace(severity="error")
    monkeypatch.setattr(referee, "_findings", lambda theorem: [finding, finding])
    text = referee.referee(theorem, "dfltheory referee")
    assert "checks report 2 errors" in text
    assert "report no error" not in text


def test_only_checks_that_examined_something_are_counted():
    theorem = bounds.get("yuan2016.lemma_1")
    ran = applicable_checks(theorem)
    assert "units" in ran
    assert set(ran) < set(CHECKS)
    said = examined(theorem, theorem.status)
    counted, _, idle = said.partition("nothing to examine: ")
    assert all(name in counted for name in ran)
    assert all(
        name in idle.partition(")")[0].split(", ") for name in set(CHECKS) - set(ran)
    )
    assert f"{len(ran)} check" in idle


def test_the_search_command_names_the_file_of_ones_own_statement(quick):
    mine = own_statement()
    text = referee.referee(
        mine, "dfltheory referee mine.py:mine", reference="my theorems.py:mine"
    )
    assert str(escape("dfltheory falsify 'my theorems.py:mine'")) in text
    assert "FILE.py" not in text
    assert "dfltheory.falsify(theorem)" in referee.referee(
        mine, "dfltheory referee mine.py:mine"
    )


@pytest.mark.slow
def test_the_command_passes_the_name_of_the_file_on(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = (
        "import dataclasses\nfrom dfltheory import bounds\nmine ="
        " dataclasses.replace(bounds.get('dfedsam.theorem_4_5', 'corrected'),"
        " key='mine.theorem_1', conditions=())\n"
    )
    (tmp_path / "mine_file.py").write_text(source)
    budget = ["--candidates", "1"]
    run(["referee", "mine_file.py:mine", "--out", "page.html", *budget])
    claim = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    commands = [claim[part]["command"] for part in ("audit", "search")]
    assert all("mine_file.py:mine" in command for command in commands)


def own_statement():
    """Return an unregistered statement: the bound of a registered one divided by a
    hundred.
    """
    good = bounds.get("dfedsgpsm.theorem_1", "printed")
    parts = {name: part / 100 for name, part in good.parts.items()}
    return replace(good, key="mine.theorem_1", variant="draft", parts=parts)


@pytest.fixture
def counterexample(tmp_path):
    """Return a file about a user's statement, as ``dfltheory falsify`` writes it."""
    saved = json.loads(SHORT.read_text(encoding="utf-8"))
    mine = own_statement()
    names = {
        "kind": "dfltheory.counterexample",
        "key": mine.key,
        "variant": mine.variant,
    }
    kept = {n: v for n, v in saved.items() if n not in ("command", "families")}
    file = tmp_path / "counterexample.json"
    file.write_text(
        json.dumps(kept | names | {"theorem": bounds.theorem_to_document(mine)})
    )
    return file


@pytest.mark.slow
def test_a_counterexample_file_refutes_after_its_replay(quick, counterexample):
    mine = own_statement()
    assert mine.status.kind == "not examined"
    text = referee.referee(mine, "dfltheory referee mine.py:mine", counterexample)
    assert "is false as printed" in text
    assert "not searched for a counterexample" not in text
    assert str(counterexample) in text


def test_a_counterexample_file_is_not_believed(quick, counterexample, tmp_path):
    mine = own_statement()
    other = replace(mine, parts={name: 2 * part for name, part in mine.parts.items()})
    with pytest.raises(DFLTheoryError, match=r"mine\.theorem_1"):
        referee.referee(other, "", counterexample)
    with pytest.raises(DFLTheoryError, match="is about"):
        referee.referee(bounds.get("dfedsam.theorem_4_5"), "", counterexample)
    corrected = DOCS / "counterexamples" / "dfedsam.theorem_4_5-corrected.json"
    claimed = json.loads(corrected.read_text(encoding="utf-8")) | {
        "violated": True,
        "ratio": 2.0,
    }
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(claimed))
    with pytest.raises(InputError, match="does not violate"):
        referee.referee(bounds.get("dfedsam.theorem_4_5", "corrected"), "", forged)
