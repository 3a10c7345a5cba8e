"""The scorecard agrees with its sources, never says "holds" for refuted statements, and
fits into 80 columns.
"""

import json
import re

import pytest

from dfltheory import bounds
from dfltheory.checks.run import audit
from dfltheory.errors import InputError
from validation import claims, run_all, scorecard, searched
from validation.pages import audit as page
from validation.scorecard_rows import CORRECTED, PRINTED, Cell, Row, markdown, summary


def verdict(key, variant, kind, ratio=0.5):
    return {"key": key, "variant": variant, "kind": kind, "ratio": ratio}


def growth(key, kind, low, high):
    claim = claims.Claim(
        f"{key} [printed]", "s", "growth under O(.)", kind, 1.0, "d", growth=(low, high)
    )
    return claim.to_dict()


def made(verdicts=(), searches=()):
    return {row.key: row for row in scorecard.rows(verdicts, searches)}


@pytest.fixture(scope="module")
def rows():
    found = [verdict(key, "printed", "holds") for key in scorecard.statements()]
    found += [verdict(key, "corrected", "holds", 0.9) for key in scorecard.statements()]
    found.append(verdict("dfedsam.theorem_4_5", "printed", "violated", 1.6))
    return made(found, [growth("dfedsam.corollary_4_6", "growing", 0.31, 0.32)])


def test_every_printed_theorem_with_a_correction_has_a_row(rows):
    assert set(rows) == {
        *(
            f"dfedsam.{name}"
            for name in ("theorem_4_5", "corollary_4_6", "corollary_4_8")
        ),
        *(
            f"dfed{name}"
            for name in (
                "admm.theorem_1",
                "admm.corollary_1",
                "mdc.theorem_1",
                "mdc.theorem_2",
            )
        ),
        *("dfedsgpsm.theorem_1", "dfedsgpsm.corollary_1"),
    }
    for row in rows.values():
        assert (tuple(row.printed), tuple(row.corrected)) == (PRINTED, CORRECTED)
        assert Row.from_dict(json.loads(json.dumps(row.to_dict()))) == row


def test_what_is_refuted_is_never_said_to_hold(rows):
    known = {(key, "printed") for key in rows if bounds.get(key).status.refuted}
    for key, row in rows.items():
        said = row.printed["runs"].says
        if (key, "printed") not in known:
            assert said == "holds: 1 of 1"
        elif key == "dfedsam.theorem_4_5":
            assert (said, row.printed["runs"].tone) == ("violated: 1 of 2", "bad")
        else:
            assert said == "holds here: 1 of 1 (refuted in general)"
            assert row.printed["runs"].tone == "open"
        assert row.refuted == ((key, "printed") in known)
        assert row.printed["search"].says.startswith(
            "refuted: " if row.refuted else "not refuted: "
        )
        assert row.corrected["search"].says.startswith("not refuted: ")
    wrong = sum((key, "printed") in known for key in rows)
    start = (
        f"{wrong} of {len(rows)} main statements are refuted as printed: 3 by a bound"
    )
    assert summary(list(rows.values())).startswith(start)


def test_summary_names_corrected_statements_that_a_run_violates():
    broken = made([verdict("dfedadmm.theorem_1", "corrected", "violated", 1.2)])[
        "dfedadmm.theorem_1"
    ]
    assert broken.corrected["runs"].says == "violated: 1 of 1"
    assert broken.corrected["tightness"].says == "1.2 (runs)"
    assert "Of their corrections refuted: dfedadmm.theorem_1" in summary([broken])


def test_scorecard_shows_growth_by_its_interval(rows):
    assert (
        rows["dfedsam.corollary_4_6"].printed["growth"].says
        == "growing here: T^[0.31, 0.32]"
    )
    assert rows["dfedsam.theorem_4_5"].printed["growth"].says == "not an O(.)"
    assert rows["dfedmdc.theorem_1"].printed["growth"].says == "not examined"


def test_tightness_is_the_largest_ratio_that_was_seen(rows):
    assert rows["dfedsam.theorem_4_5"].corrected["tightness"].says == "0.9 (runs)"
    alone = made()["dfedsam.theorem_4_5"].corrected
    largest = max(
        float(one["ratio"])
        for one in searched.outcomes()
        if one["key"] == "dfedsam.theorem_4_5"
        and one["variant"].startswith("corrected")
    )
    assert alone["tightness"].says == f"{largest:.3g} (search)"
    assert alone["search"].says == f"not refuted: at most {largest:.3g} of the bound"
    assert alone["runs"].says == "no run"
    assert made()["dfedsam.corollary_4_6"].printed["runs"].says == "an O(.): see growth"


def test_the_audits_numbers_are_those_of_its_findings():
    found = audit("dfedsam.theorem_4_5", variant="printed", checks=("agreement",))
    assert {f.severity for f in found} >= {"error"}
    counts = page.counts(found)["dfedsam.theorem_4_5:printed"]
    assert counts == {
        s: sum(f.severity == s for f in found) for s in {f.severity for f in found}
    }
    one = scorecard._audit(
        "a.b", {"a.b:printed": {"error": 1, "note": 3, "warning": 2}}
    )
    assert (one.says, one.tone) == ("1 error, 2 warnings", "bad")
    assert (
        scorecard._audit("a.b", {"a.b:printed": {"warning": 4}}).marked
        == "! 4 warnings"
    )
    assert scorecard._audit("a.c", {}).says == "no finding"


def test_a_ratio_just_below_1_is_not_rounded_up_to_it():
    def said(ratio):
        one = {
            "variant": "corrected",
            "violated": False,
            "ratio": ratio,
            "evaluations": 9,
        }
        return scorecard._searched(
            "a.b", ["corrected"], {("a.b", "corrected"): one}
        ).says

    assert said(0.9797) == "not refuted: at most 0.98 of the bound"
    assert said(0.99991) == "not refuted: at most 1 - 9e-05 of the bound"
    assert said(1.0) == "not refuted: at most 1 of the bound"


def test_cell_of_a_proof_shows_the_share_of_proved_variants():
    both = scorecard._proof("dfedsam.theorem_4_5", ["corrected", "printed"])
    assert (both.says, both.tone) == ("proved: 1 of 2 variants", "good")
    assert scorecard._proof("dfedsam.theorem_4_5", ["corrected"]).says == "proved"
    alone = scorecard._proof("dfedsam.rate_quoted_dfedavg", ["printed"])
    assert (alone.says, alone.tone) == ("not examined", "open")


def test_80_columns_keep_every_label(rows, capsys):
    run_all.print_scorecard(list(rows.values()), width=80)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    first = [line[:21].strip() for line in lines]
    for key in rows:
        assert key in first
    assert first.count("corrected") == len(rows)
    printed_text = " ".join(" ".join(lines).split())
    assert summary(list(rows.values())) in printed_text


def test_a_table_in_markdown_links_what_has_evidence():
    cells = {name: Cell("yes", "good", name, "c") for name in PRINTED}
    row = Row("a.b", "A", cells, {name: Cell() for name in CORRECTED})
    text = markdown([row], {"audit": "audit.md"})
    assert "| `a.b` | [✓ yes](audit.md) | ✓ yes | ✓ yes | ✓ yes |" in text
    assert "| `a.b` | not examined | not examined |" in text


def test_proved_cells_link_to_what_is_trusted(rows):
    page, _, heading = scorecard.TRUSTED.partition("#")
    text = (scorecard.ROOT / "docs" / page).read_text(encoding="utf-8")
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    anchors = [re.sub(r"[^a-z ]", "", t.lower()).replace(" ", "-") for t in titles]
    assert anchors[0] == heading
    made = list(rows.values())
    proved = [r for r in made if r.corrected["proof"].says.startswith("proved")]
    links = scorecard.page(made).count(f"]({scorecard.TRUSTED})")
    assert links == len(made) + 1
    assert len(proved) == len(made)
    listed = text.partition(titles[0])[2].partition("\n## ")[0]
    assert len(re.findall(r"^\d+\. ", listed, re.MULTILINE)) == 10


def test_a_page_gets_the_short_form_between_its_marks(rows):
    made = list(rows.values())
    mark = scorecard.MARK
    text = scorecard.with_short_form(f"before\n{mark}\nold\n{mark}\nafter\n", made)
    assert text.startswith(f"before\n{mark}\n\n{summary(made)}\n")
    assert text.endswith(f"{mark}\nafter\n")
    assert "old" not in text
    assert text.count("| ✗ refuted: ") == sum(row.refuted for row in made)
    assert scorecard.with_short_form(text, made) == text
    with pytest.raises(InputError, match="<!--"):
        scorecard.with_short_form("no marks", made)


def test_readme_and_paper_state_the_numbers_of_the_stored_scorecard():
    stored = [
        Row.from_dict(d)
        for d in json.loads(scorecard.NUMBERS.read_text(encoding="utf-8"))
    ]
    readme = (scorecard.ROOT / "README.md").read_text(encoding="utf-8")
    paper = (scorecard.ROOT / "paper.md").read_text(encoding="utf-8")
    assert scorecard.with_short_form(readme, stored) == readme
    assert scorecard.with_sentence(paper, stored) == paper
    wrong = sum(row.refuted for row in stored)
    for text in (readme, paper):
        assert f"{wrong} of {len(stored)} main statements" in text


def test_what_runs_said_stays_when_the_rest_is_renewed(rows):
    row = rows["dfedsam.theorem_4_5"]
    stale = Row(
        row.key,
        "old",
        {**row.printed, "search": Cell("stale")},
        {**row.corrected, "proof": Cell()},
    )
    again = {r.key: r for r in scorecard.refreshed([stale])}
    assert again[row.key] == row
    assert set(again) == set(rows)


def test_the_stored_page_is_what_its_numbers_give_and_they_are_those_of_the_searches():
    stored = [
        Row.from_dict(d)
        for d in json.loads(scorecard.NUMBERS.read_text(encoding="utf-8"))
    ]
    assert scorecard.PAGE.read_text(encoding="utf-8") == scorecard.page(stored)
    again = made()
    assert [row.key for row in stored] == list(again)
    for row in stored:  # results of runs are kept; the rest must not become stale
        assert row.printed["search"] == again[row.key].printed["search"]
        assert row.printed["audit"] == again[row.key].printed["audit"]
        assert row.corrected["search"] == again[row.key].corrected["search"]
        assert row.corrected["proof"] == again[row.key].corrected["proof"]
        assert row.printed["runs"].says != "not examined"


def test_every_replayed_file_of_the_scorecard_exists():
    stored = [
        Row.from_dict(d)
        for d in json.loads(scorecard.NUMBERS.read_text(encoding="utf-8"))
    ]
    commands = [cell.command for row in stored for _, _, cell in row.cells]
    replayed = [c.partition("--replay ")[2] for c in commands if "--replay " in c]
    assert len(replayed) >= len(stored)
    missing = [name for name in replayed if not (scorecard.ROOT / name).is_file()]
    assert missing == []
