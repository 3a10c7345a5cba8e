"""Errata as plain records, and the page that lists them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from dfltheory import bounds
from dfltheory.checks.finding import Finding
from dfltheory.errors import InputError
from validation.pages import audit as page
from validation.pages.errata_entries import corrected_terms
from validation.papers import PAPERS, appendix, examination, findings, statement
from validation.papers.__main__ import main as papers_command
from validation.papers.erratum import (
    FALSE,
    GENERAL_CHECK,
    PROOF_LINE,
    PROOF_STEP,
    READER,
    SEARCH,
    TYPO,
    Erratum,
    errata,
    read_errata,
)

DOCS = Path(__file__).parents[2] / "docs"
ENTRIES = [(paper, erratum) for paper in PAPERS for erratum in errata(paper)]
READ = {
    "DFedADMM-E15",
    "DFedADMM-E16",
    "DFedADMM-E17",
    "DFedSAM-E29",
    "DFedSAM-E30",
    "DFedSGPSM-E14",
    "DFedSGPSM-E15",
    "DFedMDC-E20",
    "DFedMDC-E21",
}
"""Hypotheses, citations and notation: found by reading, without a correction that is
computed.
"""


def erratum(name):
    """The erratum of this id."""
    return next(entry for _, entry in ENTRIES if entry.id == name)


def test_ids_are_used_once_and_errata_are_complete():
    ids = [entry.id for _, entry in ENTRIES]
    assert len(set(ids)) == len(ids) == 83
    for _, entry in ENTRIES:
        corrected = entry.terms or entry.conditions or entry.scope or entry.holds
        assert (
            corrected
            or entry.lines
            or entry.refutes
            or entry.corrected
            or entry.id in READ
        ), entry.id


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_of_an_erratum_is_a_statement(paper):
    for entry in errata(paper):
        claims = [
            *entry.terms,
            *entry.conditions,
            *entry.scope,
            *entry.refutes,
            *entry.bears_on,
        ]
        claims += [claim for claim in (entry.origin, entry.corrected) if claim]
        for claim in claims:
            assert statement(claim).key.startswith(f"{paper}."), (entry.id, claim)
        assert all(
            statement(claim).kind in ("theorem", "corollary", "rate")
            for claim in entry.bears_on
        )
        assert not entry.corrected or statement(entry.corrected).variant.startswith(
            "corrected"
        )


@pytest.mark.parametrize("paper", PAPERS)
def test_lines_of_errata_are_the_refuted_lines_of_the_archive(paper):
    status = {line["place"]: line["status"] for line in examination(paper)["lines"]}
    for entry in errata(paper):
        assert {status[place] for place in entry.lines} <= {"refuted"}, entry.id
    explained = {place for entry in errata(paper) for place in entry.lines}
    for line in examination(paper)["lines"]:
        assert (
            line["status"] != "refuted" or line["errata"] or line["place"] in explained
        )


@pytest.mark.parametrize("paper", PAPERS)
def test_provenance_agrees_with_the_archive_and_with_the_evidence(paper):
    archive = examination(paper)["errata"]
    assert {entry.id for entry in errata(paper)} == set(archive)
    for entry in errata(paper):
        assert archive[entry.id]["found_by"] == entry.found_by
        checks = {finding["check"] for finding in archive[entry.id].get("findings", [])}
        general = checks - {"derivation", "inequality"}
        expected = {
            GENERAL_CHECK: bool(general),
            PROOF_STEP: bool(checks) and not general,
            PROOF_LINE: not checks and bool(entry.lines),
            SEARCH: bool(entry.refutes),
            READER: not entry.lines,
        }
        assert expected[entry.found_by], entry.id


@pytest.mark.parametrize(
    "name",
    [
        "DFedSAM-E9",
        "DFedSAM-E10",
        "DFedADMM-E5",
        "DFedMDC-E4",
        "DFedSGPSM-E2",
        "DFedMDC-E8",
    ],
)
def test_general_checks_report_what_they_found(name):
    """The findings on the origin that the archive names are those of the audit
    today.
    """
    entry = erratum(name)
    checks = {
        f["check"]
        for f in examination(name.split("-")[0].lower())["errata"][name]["findings"]
    }
    found = findings(entry.origin)
    assert {f.check for f in found if f.severity != "note"} & checks


def test_command_repeats_evidence(capsys):
    assert papers_command(["dfedsgpsm.lemma_3"]) == 1
    assert "[agreement]" in capsys.readouterr().out
    assert papers_command(["dfedsam", "Lemma D.5"]) == 0
    assert "refuted: Lemma D.5" in capsys.readouterr().out
    assert papers_command(["lian2017"]) == papers_command([]) == 2


def test_corrections_change_terms_conditions_and_scope():
    right = erratum("DFedADMM-E5")
    before, after = (
        statement("dfedadmm.theorem_1"),
        right.correction("dfedadmm.theorem_1"),
    )
    assert {
        name for name in before.parts if before.parts[name] != after.parts[name]
    } == {"sharpness"}
    longer = erratum("DFedMDC-E2").correction("dfedmdc.theorem_1")
    assert len(longer.conditions) == len(statement("dfedmdc.theorem_1").conditions) + 1
    scope = erratum("DFedSGPSM-E7").correction("dfedsgpsm.theorem_1:appendix").scope
    assert scope.samplewise
    assert not statement("dfedsgpsm.theorem_1:appendix").scope.samplewise
    other = "dfedadmm.theorem_1:corrected"
    assert right.correction(other).parts == statement(other).parts
    removed = replace(right, terms={"dfedadmm.theorem_1": {"sharpness": "0"}})
    assert "sharpness" not in removed.correction("dfedadmm.theorem_1").parts


def test_errata_reject_unknown_severities_provenances_and_terms():
    fields = {"id": "X-E1", "place": "here", "cause": "so"}
    with pytest.raises(InputError, match="severity"):
        Erratum(severity="bad", found_by=READER, **fields)
    with pytest.raises(InputError, match="found_by"):
        Erratum(severity=TYPO, found_by="luck", **fields)
    lemma = "dfedsgpsm.lemma_3"
    wrong = Erratum(
        severity=TYPO, found_by=READER, terms={lemma: {"noise": "1"}}, **fields
    )
    with pytest.raises(InputError, match="noise"):
        wrong.correction(lemma)


def test_a_record_with_an_unknown_field_is_refused(tmp_path):
    file = tmp_path / "errata.toml"
    file.write_text('[[erratum]]\nid = "X-E1"\nseverity = "typo"\nplaces = "here"\n')
    with pytest.raises(InputError, match="places"):
        read_errata(file)


# -- the page


@pytest.fixture(scope="module")
def text():
    """The page with one finding, so that no audit runs."""
    finding = Finding(
        "units", "error", "dfedsam.theorem_4_5", "printed", "a term", "no unit"
    )
    return page.markdown([finding], DOCS)


def test_page_has_every_erratum_with_provenance_and_verification(text):
    ids = [entry.id for _, entry in ENTRIES]
    assert [name for name in ids if f"#### {name} " not in text] == []
    assert text.count("Found by ") == len(ids)
    assert text.count("Correction verified") + text.count(
        "The correction is refuted"
    ) == len(ids)
    counts = [int(n) for n in re.findall(r"(\d+) by an? ", text.split("####")[0])]
    assert sum(counts) == len(ids)
    (verified,) = re.findall(r"verified the correction of (\d+);", text)
    assert int(verified) == text.count("Correction verified: ")


def test_page_evaluates_refuted_lines(text):
    assert (
        "the left side"
        not in text.split("### dfedsam: coverage")[0].split("#### DFedSAM-E21 ")[1][
            :600
        ]
    )
    assert "left 49 > right 38" in text


def test_page_lists_errors_of_the_audit_and_the_archived_lines(text):
    assert "### dfedsam: errors of the audit\n\n- `error: dfedsam.theorem_4_5" in text
    for paper in PAPERS:
        assert f"Of {len(examination(paper)['lines'])} displayed lines" in text


def test_corrected_terms_of_a_false_statement_are_not_recommended():
    for _, entry in ENTRIES:
        shown = corrected_terms(entry)
        assert bool(shown) == bool(entry.terms.get(entry.origin)), entry.id
        meant = entry.severity == FALSE and not entry.corrected
        assert ("As it is meant:" in dict(shown)) == (meant and bool(shown)), entry.id


@pytest.mark.parametrize("key", ["dfedsam.corollary_4_6", "dfedsam.corollary_4_8"])
def test_headlines_of_the_corollaries_name_the_dropped_consensus_error(key):
    cause, _, others = page.headline(bounds.get(key), DOCS).partition("Further entries")
    assert "DFedSAM-E1]" in cause
    assert "DFedSAM-E24]" not in cause
    assert "DFedSAM-E24]" in others


def test_headline_of_a_refuted_theorem_links_its_counterexample():
    shown = page.headline(bounds.get("dfedsgpsm.theorem_1"), DOCS)
    assert "counterexamples/dfedsgpsm.theorem_1-printed.json" in shown
    assert shown.endswith("What holds instead: `dfedsgpsm.theorem_1:corrected`.")
    saved = json.loads(
        (DOCS / "counterexamples" / "dfedsgpsm.theorem_1-printed.json").read_text()
    )
    assert saved["violated"]


def test_headline_without_errata_says_what_was_examined():
    quoted = bounds.get("dfedsam.rate_quoted_dfedavg")
    assert (
        "`dfltheory falsify dfedsam.rate_quoted_dfedavg --variant printed`"
        in page.headline(quoted, None)
    )
    assert "2 errors" in page.headline(quoted, None, errors=2)


def test_statements_of_appendices_are_known_by_their_claims():
    for paper in PAPERS:
        assert {t.kind for t in appendix(paper)} <= {"definition", "lemma", "equation"}
        assert {"lemma", "equation"} <= {t.kind for t in appendix(paper)}
    assert sum(len(appendix(paper)) for paper in PAPERS) == 48
    assert appendix("lian2017") == errata("lian2017") == ()
