"""Errata as plain records, and the pages that list them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dfltheory import bounds
from dfltheory.checks.finding import AuditFinding
from dfltheory.counterexamples.divergence import Divergence
from dfltheory.errors import InputError, UnknownNameError
from validation.counterexamples.growth_laws import growth_laws
from validation.pages import audit as audit_page
from validation.pages import errata as page
from validation.pages import errata_entries as entries_page
from validation.pages.errata_statements import (
    exact_family,
    exact_growth_caption,
    growth_caption,
    in_terms_of,
)
from validation.papers import PAPERS, appendix, examination, findings, statement
from validation.papers.__main__ import main as papers_command
from validation.papers.erratum import (
    GENERAL_CHECK,
    PROOF_LINE,
    PROOF_STEP,
    READER,
    SEARCH,
    TYPO,
    errata,
    erratum,
    notes,
    read_errata,
)
from validation.papers.witness_comparison import bound_at, compare, points

DOCS = Path(__file__).parents[2] / "docs"
ENTRIES = [(paper, erratum) for paper in PAPERS for erratum in errata(paper)]


def test_ids_are_used_once_and_errata_are_complete():
    ids = [entry.id for _, entry in ENTRIES]
    assert len(set(ids)) == len(ids) == 83
    for _, entry in ENTRIES:
        assert entry.quotation
        assert entry.correction


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


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "name",
    [
        "DFedSAM-E9",
        "DFedSAM-E10",
        "DFedADMM-E5",
        "DFedMDC-E4",
        "DFedSGPSM-E2",
        "DFedMDC-E9",
    ],
)
def test_general_checks_report_what_they_found(name):
    """The archived findings on the origin agree with those of the current audit."""
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
    assert papers_command(["DFedSAM-E1"]) == 0
    assert "printed line holds: False" in capsys.readouterr().out
    assert papers_command(["DFedSAM-E30"]) == 0
    assert papers_command(["lian2017"]) == papers_command([]) == 2


def test_corrections_change_terms_conditions_and_scope():
    right = erratum("DFedADMM-E5")
    before, after = (
        statement("dfedadmm.theorem_1"),
        right.corrected_statement("dfedadmm.theorem_1"),
    )
    assert {
        name for name in before.parts if before.parts[name] != after.parts[name]
    } == {"sharpness"}
    longer = erratum("DFedMDC-E22").corrected_statement("dfedmdc.theorem_1")
    assert len(longer.conditions) == len(statement("dfedmdc.theorem_1").conditions) + 1
    scope = (
        erratum("DFedSGPSM-E7")
        .corrected_statement("dfedsgpsm.theorem_1:appendix")
        .scope
    )
    assert scope.samplewise
    assert not statement("dfedsgpsm.theorem_1:appendix").scope.samplewise
    other = "dfedadmm.theorem_1:corrected"
    assert right.corrected_statement(other).parts == statement(other).parts
    removed = replace(right, terms={"dfedadmm.theorem_1": {"sharpness": "0"}})
    assert "sharpness" not in removed.corrected_statement("dfedadmm.theorem_1").parts


RECORD = {
    "id": "X-E1",
    "severity": TYPO,
    "place": "here",
    "quotation": "x",
    "cause": "so",
    "correction": "y",
    "found_by": READER,
    "verified_by": ["reading"],
    "no_witness": "none",
}


def written(folder, **fields):
    """Write a file with one record in which some fields differ."""
    record = {**RECORD, **fields}
    lines = [f"{name} = {json.dumps(value)}" for name, value in record.items()]
    file = folder / "errata.toml"
    file.write_text("[[erratum]]\n" + "\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize(
    "fields",
    [
        {"severity": "bad"},
        {"found_by": "guess"},
        {"verified_by": ["hope"]},
        {"places": "here"},
        {"no_witness": ""},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_record_with_a_wrong_field_is_refused(tmp_path, fields):
    (record,) = read_errata(written(tmp_path))
    assert record.paper == "x"
    with pytest.raises(InputError, match=next(iter(fields))):
        read_errata(written(tmp_path, **fields))


def test_a_correction_of_a_term_that_a_statement_does_not_have_is_refused(tmp_path):
    lemma = "dfedsgpsm.lemma_3"
    (record,) = read_errata(written(tmp_path))
    wrong = replace(record, terms={lemma: {"noise": "1"}})
    with pytest.raises(InputError, match="noise"):
        wrong.corrected_statement(lemma)


# -- the pages


def test_a_name_that_no_erratum_has_is_refused():
    with pytest.raises(UnknownNameError):
        erratum("DFedSAM-E99")


@pytest.fixture(scope="module")
def pages():
    """The text of each page of errata."""
    return {paper: page.paper_page(paper, DOCS) for paper in PAPERS}


def test_the_pages_of_errata_are_what_their_records_say(pages):
    assert (DOCS / "errata" / "index.md").read_text(encoding="utf-8") == page.index()
    for paper, text in pages.items():
        assert (DOCS / "errata" / f"{paper}.md").read_text(encoding="utf-8") == text
        assert len(text.splitlines()) <= 300
        stored = (DOCS / "errata" / f"coverage-{paper}.json").read_text(
            encoding="utf-8"
        )
        assert json.loads(stored) == page.coverage(paper)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_erratum_has_its_anchor_and_every_anchor_that_is_linked_exists(
    paper, pages
):
    text = pages[paper]
    for entry in errata(paper):
        assert text.count(f"{{: #{entry.id.lower()} }}") == 1
        assert entry.quotation.rstrip(".") in text
    anchors = set(re.findall(r"\{: #([\w-]+) \}", text))
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= anchors
    shown = set(re.findall(rf"\({paper}\.md#([\w-]+)\)", page.index()))
    assert shown <= anchors
    pictures = re.findall(r"!\[[^]]*\]\((\S+)\)", text)
    assert pictures
    assert all((DOCS / "errata" / name).is_file() for name in pictures)


@pytest.mark.parametrize("paper", PAPERS)
def test_notes_cover_the_printed_theorems_corollaries_and_name_what_holds(paper):
    claims = {note.claim for note in notes(paper)}
    for theorem in bounds.statements(paper):
        printed = theorem.variant.startswith("printed")
        if printed and theorem.kind in ("theorem", "corollary"):
            assert entries_page.claim_of(theorem) in claims
    for note in notes(paper):
        assert statement(note.corrected).status.kind == "proved"
        for name in filter(None, (note.example, note.also)):
            assert erratum(name).paper == paper


def test_every_word_of_a_witness_is_filled_in(pages):
    assert not re.findall(
        r"\{(left|printed|corrected|ratio|growth)\}", "".join(pages.values())
    )


def test_every_false_statement_in_o_has_a_picture_and_says_what_its_growth_proves(
    pages,
):
    for paper in PAPERS:
        for note in notes(paper):
            theorem = statement(note.claim)
            if not (theorem.order and theorem.status.refuted):
                continue
            section = pages[paper].split(f"{{: #{page.anchor(note)} }}")[1]
            section = section.split("\n## ")[0]
            assert f"({page.picture_name(note)})" in section
            assert exact_family(note) is not None, note.claim
            assert "grow without limit" in section


def test_growth_without_a_closed_form_is_not_called_a_proof():
    note = next(n for n in notes("dfedsam") if n.claim == "dfedsam.corollary_4_6")
    other = replace(note, claim="dfedsam.corollary_4_6:appendix", example="DFedSAM-E1")
    file = DOCS / "counterexamples" / "dfedsam.corollary_4_6-appendix.json"
    assert exact_family(other) is None
    assert "does not prove" in growth_caption(file)
    assert "no constant is large enough" in exact_growth_caption(
        note, exact_family(note)
    )


def test_corrected_statement_has_no_quantity_that_the_printed_one_fixes():
    printed = statement("dfedsam.corollary_4_6")
    corrected, fixed = in_terms_of(
        statement("dfedsam.corollary_4_6:corrected"), printed
    )
    assert fixed == {"Q": 1}
    assert "Q" not in corrected.needs
    assert "rho0" in corrected.needs
    several = statement("dfedsam.corollary_4_8")
    assert in_terms_of(corrected, several) == (corrected, {})


@pytest.mark.parametrize("paper", PAPERS)
def test_pages_quote_nothing_from_memory_and_print_no_labels_of_assumptions(
    paper, pages
):
    assert "from memory" not in pages[paper]
    assert "by machine" not in pages[paper]
    assert not re.findall(r"; and \d+(?:\.\d+)?: ", pages[paper])


def test_a_page_counts_the_lines_that_were_examined():
    for paper in PAPERS:
        coverage = page.coverage(paper)
        assert len(coverage["lines"]) == sum(coverage["counts"].values())
        named = {name for line in coverage["lines"] for name in line["errata"]}
        assert {entry.id for entry in errata(paper) if entry.lines} <= named


@pytest.mark.parametrize(
    ("claim", "expected", "causes"),
    [
        ("dfedsam.theorem_4_5", "false", ["DFedSAM-E1", "DFedSAM-E24"]),
        ("dfedsam.rate_abstract", "does not follow", []),
        ("dfedadmm.theorem_1", "false", ["DFedADMM-E1", "DFedADMM-E4", "DFedADMM-E5"]),
        ("dfedmdc.theorem_1", "false", ["DFedMDC-E10", "DFedMDC-E22"]),
        ("dfedmdc.theorem_2", "false", ["DFedMDC-E6", "DFedMDC-E9", "DFedMDC-E10"]),
        (
            "dfedsam.corollary_4_8",
            "false",
            ["DFedSAM-E1", "DFedSAM-E13", "DFedSAM-E24"],
        ),
        ("dfedsgpsm.theorem_1", "false", ["DFedSGPSM-E4"]),
        ("lian2017.rate:restated", "nothing found", []),
    ],
)
def test_verdicts_name_the_errata_that_make_a_statement_false(claim, expected, causes):
    theorem = statement(claim)
    assert entries_page.verdict(theorem) == expected
    assert [entry.id for entry in entries_page.causes_of(theorem)] == causes


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(5, 16), r"\frac{5}{16}"),
        (Fraction(117, 50), "2.34"),
        (3, "3"),
        (8.78e-14, r"8.78\cdot10^{-14}"),
        (float("inf"), r"\infty"),
    ],
)
def test_numbers_are_fractions_decimals_or_three_digits(value, shown):
    assert entries_page.number(value) == shown


# -- the page of the audit


def test_the_audit_page_starts_with_the_papers_that_have_errors():
    def finding(key, severity):
        return AuditFinding("units", severity, key, "printed", "a term", "no unit")

    text = audit_page.markdown(
        [
            finding("bottou2018.theorem_4_6", "warning"),
            finding("dfedsam.theorem_4_5", "error"),
            finding("dfedsam.theorem_4_5", "error"),
            finding("dfedmdc.theorem_1", "error"),
        ]
    )
    order = [
        "{: #dfedsam }",
        "{: #dfedmdc }",
        "## Papers without errors",
        "`bottou2018.",
    ]
    assert [text.index(name) for name in order] == sorted(map(text.index, order))
    assert "| `dfedsam.theorem_4_5` | printed | 2 (units 2) |" in text
    assert "`dfltheory audit dfedsam.theorem_4_5 --variant printed`" in text


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("first", "shown"), [(316.0, "316"), (float("inf"), "none up to 10^15")]
)
def test_the_audit_page_shows_vacuous_regions(first, shown):
    evidence = {"first": first, "ratio": 1.75}
    finding = AuditFinding(
        *("conditions", "note", "dfedsam.theorem_4_5", "printed"),
        *("vacuous region", "no more than known", evidence),
    )
    text = audit_page.markdown([finding])
    assert "{: #vacuous }" in text
    assert f"| `dfedsam.theorem_4_5` | printed | {shown} | 1.75 |" in text


def test_statements_of_appendices_are_known_by_their_claims():
    for paper in PAPERS:
        assert {t.kind for t in appendix(paper)} <= {"definition", "lemma", "equation"}
        assert {"lemma", "equation"} <= {t.kind for t in appendix(paper)}
    assert sum(len(appendix(paper)) for paper in PAPERS) == 48
    assert appendix("lian2017") == errata("lian2017") == ()


def test_ratios_of_an_exact_family_are_those_of_its_witness():
    note = next(n for n in notes("dfedadmm") if n.claim == "dfedadmm.corollary_1")
    family = exact_family(note)
    rows = compare(erratum(note.example)).rows
    assert family.parameter == "K"
    assert family.values == (16, 256, 4096)
    assert family.ratios == pytest.approx(
        [float(left / right) for left, right, _ in rows]
    )


def test_family_in_closed_form_is_shown_where_the_example_is_one_problem():
    note = next(n for n in notes("dfedsgpsm") if n.claim == "dfedsgpsm.corollary_1")
    family = exact_family(note)
    assert family.source == "the family in closed form"
    law = growth_laws()[note.claim]
    assert family.ratios == tuple(map(law.ratio_at, family.values))
    assert family.ratios[-1] > 1000 * family.ratios[1]


def test_ratios_of_a_family_are_taken_against_the_statement_of_the_note():
    """Corollary 1 with SAM has one term more, so that the ratios of E7 are smaller."""
    by_claim = {note.claim: note for note in notes("dfedadmm")}
    with_sam = exact_family(by_claim["dfedadmm.corollary_1"])
    without = exact_family(by_claim["dfedadmm.corollary_1:printed_admm"])
    assert with_sam.values == without.values
    pairs = zip(with_sam.ratios, without.ratios, strict=True)
    assert all(smaller < larger for smaller, larger in pairs)
    assert exact_family(by_claim["dfedadmm.theorem_1"]) is None


def test_searches_that_a_caption_cites_found_a_growing_ratio():
    shown = [n for paper in PAPERS for n in notes(paper) if exact_family(n)]
    assert len(shown) == 7
    for note in shown:
        theorem = statement(note.claim)
        file = DOCS / "counterexamples" / f"{theorem.key}-{theorem.variant}.json"
        saved = json.loads(file.read_text(encoding="utf-8"))["divergence"]
        assert Divergence(**saved).grows, note.claim


def test_least_constants_of_push_sum_give_what_dfedsgpsm_e4_says(pages):
    (values,) = points(erratum("DFedSGPSM-E4").witness)
    least = {**values, "C": 1, "q": 0}
    bound = float(bound_at(statement("dfedsgpsm.theorem_1"), least))
    assert 7.01e-12 < bound <= 7.02e-12
    assert r"7.02\cdot10^{-12}" in pages["dfedsgpsm"]


def test_definition_that_its_symbols_state_is_not_printed():
    theorem = statement("dfedadmm.corollary_1:corrected")
    assert any(d.latex == "S" for d in theorem.definitions)
    assert "S &=" not in theorem.latex()
    assert "V &=" in theorem.latex()


def test_hypotheses_that_two_statements_share_are_printed_once(pages):
    page_text = pages["dfedadmm"]
    assert page_text.count("every $f_i$ is $L$-smooth; 2:") == 1
    assert page_text.count("under the assumptions of Theorem 1") == 3


def test_two_clients_with_flat_pieces_stay_apart_as_e24_says():
    """f' = max(1 - |x|, 0) and starts at +-2: the mean stays where f' = 1."""
    T = 400
    keep = 1 - 1 / (4 * T)
    W = np.array([[keep, 1 - keep], [1 - keep, keep]])
    x = np.array([2.0, -2.0])
    for _ in range(T):
        x = W @ (x - np.maximum(1 - np.abs(x), 0) / np.sqrt(T))
        assert x.mean() == pytest.approx(0, abs=1e-12)
    assert 1 < np.abs(x).min() < 1.3
    assert sorted(np.abs(np.linalg.eigvalsh(W)))[0] == pytest.approx(1 - 1 / (2 * T))


@pytest.mark.parametrize("T", [144, 10**4, 10**8])
def test_theorem_4_5_claims_at_most_what_e24_says(T):
    theorem = statement("dfedsam.theorem_4_5")
    zero = dict.fromkeys(("rho", "sigma_l", "sigma_g"), 0.0)
    bound = theorem.evaluate(
        **zero, m=2, K=1, Q=1, L=1.0, T=T, eta=T**-0.5, f0_gap=0.5, lam=1 - 1 / (2 * T)
    )
    assert bound <= 4 / T**0.5 < 1


def test_bound_that_holds_is_shown_with_the_example(pages):
    entry = erratum("DFedSAM-E1")
    (point,) = points(entry.witness)
    holds = float(bound_at(statement(entry.corrected), point))
    assert "6.56" in pages["dfedsam"]
    assert holds == pytest.approx(6.56e-10, rel=1e-3)
    assert holds > float(compare(entry).rows[0][0])


def test_family_in_closed_form_is_on_the_page_once(pages):
    words = " ".join(pages["dfedsam"].split())
    for line in growth_laws()["dfedsam.corollary_4_6"].lines:
        assert words.count(line) == 1
    assert "family-corollary-4-6" in pages["dfedsam"]


@pytest.mark.parametrize(
    ("T", "left", "claimed"),
    [
        (256, "0.532", "0.207"),
        (4096, "0.844", "0.0510"),
        pytest.param(65536, "0.951", "0.0127", marks=pytest.mark.slow),
    ],
)
def test_clients_of_e22_part_into_two_wells(T, left, claimed, pages):
    """The example in the cause of DFedMDC-E22, simulated, with the printed claim."""

    def slope(u):
        return np.where(u <= -0.5, u + 1, np.where(u <= 1.5, -u, u - 3))

    apart = np.array([1.0, -1.0]) / T
    w = 1 / (2 * T)
    W = np.array([[1 - w, w], [w, 1 - w]])
    u, squares = np.zeros(2), []
    for _ in range(T):
        u = W @ (u - (slope(u) + apart) / np.sqrt(T))
        squares.append(float(slope(u.mean())) ** 2)
    theorem = statement("dfedmdc.theorem_1")
    zero = dict.fromkeys(("sigma_u", "sigma_v", "chi", "L_vu", "rho"), 0.0)
    constants = {"L_u": 1.0, "L_v": 1.0, "K_u": 1, "K_v": 1, "lam": 1 - 1 / T, "T": T}
    known = zero | constants | {"delta_u": 1 / T, "f0_gap": 2.25}
    bound = theorem.evaluate(**{name: known[name] for name in theorem.needs})
    assert f"{np.mean(squares):.3g}" == left
    assert f"{float(bound):.3g}" == claimed.rstrip("0")
    assert f"${left}$" in pages["dfedmdc"]
    assert f"${claimed}$" in pages["dfedmdc"]


def test_the_drift_of_dfedsgpsm_e1_is_that_of_its_closed_form():
    eta, x = 1e-4, 0.0
    for _ in range(99):
        x -= eta * (0.001 + min(max(x + 1, 0), 1.1))
    left, printed, corrected = compare(erratum("DFedSGPSM-E1")).rows[0]
    assert float(left) == pytest.approx(x**2, rel=1e-9)
    assert printed < left < corrected
