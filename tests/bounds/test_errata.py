"""Errata: identities, mends put to the test, findings by root cause, wrong displays, and the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.checks import errata as errata_module
from dfltheory.bounds.checks.corollaries import compare_rate
from dfltheory.bounds.checks.derivations import check_step
from dfltheory.bounds.checks.errata import FOUND_BY, Entry, Errata, errata
from dfltheory.bounds.checks.finding import Finding
from dfltheory.bounds.checks.identities import monomial_factor, of_step, rational_point
from dfltheory.bounds.checks.ledger import examine
from dfltheory.bounds.errata import Mistake, carried, statement
from dfltheory.bounds.ledger import Line
from dfltheory.bounds.steps import Step, inherited
from dfltheory.bounds.theorem import Condition
from dfltheory.errors import InputError
from validation.pages import audit as page

DOCS = Path(__file__).parents[2] / "docs"
LEMMA = "dfedsgpsm.lemma_3"
READ = {"DFedADMM-E15", "DFedADMM-E16", "DFedADMM-E17", "DFedSAM-E29", "DFedSAM-E30", "DFedSGPSM-E14",
        "DFedSGPSM-E15", "DFedMDC-E20", "DFedMDC-E21"}  # fmt: skip
"""Hypotheses, citations and letters: read, not computed."""
IDS = [m.id for paper in registry.papers() for m in registry.mistakes(paper)]


@pytest.fixture(scope="module")
def lemma():
    """The errata that the findings on one lemma give."""
    return errata("dfedsgpsm", bounds.audit(LEMMA))


def step_to(claim, derived):
    """A step whose algebra gives ``derived``."""
    return Step(claim, "planted", derived)


# -- identities --------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [s.K, 1 / s.delta, sp.Integer(2), 1 / (1 - s.lam) ** 2, sp.sqrt(s.T) * 3])
def test_a_lost_factor_is_found_and_proved(factor):
    term = s.L**2 * s.eta**2 * (s.sigma_l**2 + s.B**2)
    assert sp.simplify(monomial_factor((factor - 1) * term, term) - factor) == 0
    assert monomial_factor((factor - 1) * term + s.sigma_g**2, term) is None


def test_an_identity_comes_before_a_point():
    theorem = bounds.get("dfedsam.eq_22")
    (step,) = (x for x in registry.all_steps() if x.claim == "dfedsam.eq_22")
    found = of_step(step, theorem, {})
    assert found.kind == "identity"
    assert found.says.startswith("a factor $K$ is lost in $8 G_x K^{2}")
    other = of_step(
        step_to("dfedsam.lemma_D4", statement("dfedsam.lemma_D4").bound + s.sigma_l**2),
        statement("dfedsam.lemma_D4"),
        {},
    )
    assert other.says == r"$\sigma_l^{2}$ follows, which the display lacks"


def test_a_point_is_rational_and_inside_the_hypotheses():
    inside = (Condition("L <= 1/3", s.L, sp.Rational(1, 3)),)
    found = rational_point(s.L + s.L**2, s.L, inside, {"L": 0.33333})
    assert found.says.startswith(r"at $L = \frac{3}{10}$")
    assert rational_point(s.L + s.L**2, s.L, inside, {"L": 0.9}) is None
    assert rational_point(s.L, s.L + s.L**2, inside, {"L": 0.2}) is None


# -- mends -------------------------------------------------------------------------------------------


def test_ids_stay_and_are_each_used_once():
    assert len(set(IDS)) == len(IDS)
    assert {"DFedSAM-E1", "DFedADMM-E5", "DFedSGPSM-E4", "DFedMDC-E9"} <= set(IDS)
    for paper in registry.papers():
        for m in registry.mistakes(paper):
            assert m.corrections() or m.instead or m.lines or m.refutes or m.id in READ, m.id
            assert not m.corrected or statement(m.corrected)
            assert all(statement(claim) for claim in m.refutes)


def test_what_stands_in_the_place_of_a_statement_does_so_within():
    before = bounds.get(LEMMA)
    other = replace(before, parts={"bound": sp.S.One})
    with registry.mended([other]):
        assert bounds.get(LEMMA) is other
        assert other in registry.statements("dfedsgpsm")
    assert bounds.get(LEMMA) is before


def test_a_mend_is_carried_on_along_the_proof_and_slips_below_it_stay():
    (mistake,) = (m for m in registry.mistakes("dfedsam") if m.id == "DFedSAM-E3")
    now = carried(mistake.mended())
    assert ("dfedsam.theorem_4_5", "appendix") in now
    assert ("dfedsam.lemma_D4", "printed") not in now
    with registry.mended(now.values()):
        (step,) = (x for x in registry.all_steps() if x.claim == "dfedsam.eq_22")
        assert list(check_step(step)) == []
        (later,) = (x for x in registry.all_steps() if x.claim == "dfedsam.eq_25")
        assert any(f.severity == "error" for f in check_step(later))  # its own: a denominator
    (definition,) = (m for m in registry.mistakes("dfedsgpsm") if m.id == "DFedSGPSM-E2")
    changed = carried(definition.mended())["dfedsgpsm.theorem_1", "printed"]
    assert changed.bound != bounds.get("dfedsgpsm.theorem_1").bound


def test_findings_belong_to_the_mistake_whose_mend_cures_them(lemma):
    assert not lemma.unattributed
    named = {e.mistake.id: e for e in lemma.entries if e.own}
    assert set(named) == {"DFedSGPSM-E1", "DFedSGPSM-E2"}
    assert all(e.verified for e in named.values())
    assert {f.check for f in named["DFedSGPSM-E2"].own} == {"agreement", "derivation"}
    assert named["DFedSGPSM-E1"].evidence.kind == "identity"


def test_a_wrong_mend_is_not_verified_and_its_finding_is_attributed_to_nothing(monkeypatch):
    (right,) = (m for m in registry.mistakes("dfedsgpsm") if m.id == "DFedSGPSM-E1")
    claim = f"{LEMMA}:appendix"
    wrong = replace(right, mend={claim: {"bound": statement(claim).bound + s.eta**2 * s.sigma_g**2}})
    monkeypatch.setattr(errata_module.registry, "mistakes", lambda paper: (wrong,))
    found = errata("dfedsgpsm", bounds.audit(LEMMA, "appendix"))
    assert not found.entries[0].verified
    assert [f.key for f in found.unattributed] == [LEMMA]


def test_a_mend_names_terms_that_are_there():
    with pytest.raises(InputError, match=r"mends \['noise'\]"):
        Mistake("X-E1", "typo", LEMMA, "here", "so", {LEMMA: {"noise": sp.S.One}}).mended()
    with pytest.raises(InputError, match="severity 'bad'"):
        Mistake("X-E1", "bad", LEMMA, "here", "so")


@pytest.mark.slow
@pytest.mark.parametrize("paper", registry.papers())
def test_every_error_has_an_entry_and_every_mend_that_is_told_as_verified_is_so(paper):
    findings = bounds.audit(paper)
    found = errata(paper, findings)
    assert not found.unattributed
    # no mend that a machine could check: misprints of tables, words, and lines that go without replacement
    unverified = {e.mistake.id for e in found.entries if not e.verified}
    assert unverified <= {"DFedSAM-E1", "DFedSAM-E9", "DFedSAM-E10", "DFedMDC-E17", "DFedMDC-E18"} | {
        e.mistake.id for e in found.entries if e.lines and not any(line.mended for line in e.lines)
    } | {"DFedSAM-E24", "DFedSAM-E28", *READ}  # fmt: skip
    found_of = {}
    for f in findings:
        found_of.setdefault((f.key, f.variant), []).append(f)
    told = [(line, examine(line, found_of)) for line in registry.ledger(paper)]
    refuted = [(line, outcome) for line, outcome in told if outcome.status == "refuted"]
    assert [line.place for line, outcome in refuted if not found.explain(line, outcome)] == []
    assert {line.place for e in found.entries for line in e.lines} <= {line.place for line, _ in refuted}
    assert not any(f.variant.startswith("corrected") for e in found.entries for f in (*e.own, *e.inherited))


# -- rates -------------------------------------------------------------------------------------------


def test_a_rate_fails_at_fixed_constants_or_uniformly_or_hides_constants():
    base = bounds.get("dfedsam.theorem_4_5", "corrected")
    claim = replace(bounds.get("dfedsam.corollary_4_6", "corrected"), order=True)

    def fails(**parts):
        kept = {n: p for n, p in {**claim.parts, **parts}.items() if p != 0}
        return {f.evidence["fails"] for f in compare_rate(replace(claim, parts=kept), base) if f.mend}

    assert fails() == set()
    assert "fixed" in fails(optimization=sp.S.Zero, noise=sp.S.Zero)
    assert fails(consensus=sp.S.Zero) == {"uniform"}


def test_the_conditions_of_what_is_cited_must_be_those_of_the_citing_statement():
    """Through an equation, which has none, and through the values that are put in."""
    (step,) = (x for x in registry.all_steps() if x.claim == "dfedmdc.rate_theorem_1:corrected")
    assert list(check_step(step)) == []
    free = replace(step.theorem, conditions=step.theorem.conditions[1:])
    told = [f.message for f in check_step(step, free) if f.severity == "error"]
    assert any("cites dfedmdc.theorem_1 (corrected), which demands a <= (1 - lam)/32" in x for x in told)
    assert "demands eta_v <= 1/(2 K_v L_v)" in str(inherited("dfedmdc.eq_18"))
    (used,) = (x for x in registry.all_steps() if x.claim == "dfedsgpsm.theorem_1:corrected")
    free = replace(used.theorem, conditions=())
    assert any("uses that L/2 times the square" in f.message for f in check_step(used, free))


# -- wrong displays ----------------------------------------------------------------------------------


def first_step(claim):
    return next(step for step in registry.all_steps() if step.claim == claim)


def with_half(theorem, part):
    return replace(theorem, parts={**theorem.parts, part: theorem.parts[part] / 2})


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        ("dfedsam.theorem_4_5:corrected", "drift"),
        ("dfedsgpsm.theorem_1:corrected_b", "noise"),  # its other constants are rounded up by far
    ],
)
def test_half_of_a_term_is_reported_and_the_right_display_is_not(claim, part):
    step = first_step(claim)
    assert [f for f in check_step(step) if f.severity == "error"] == []
    wrong = check_step(step, with_half(step.theorem, part))
    assert any(f.severity != "note" and f.key == step.theorem.key for f in wrong)


def test_a_theorem_cited_without_sam_says_nothing_of_sam():
    right = first_step("dfedmdc.theorem_2:corrected_same_round")
    wrong = replace(right, start="dfedmdc.theorem_1:corrected")
    assert [f for f in check_step(right) if f.severity == "error"] == []
    (found,) = (f for f in check_step(wrong) if f.severity == "error")
    assert "speaks of rho = 0 alone" in found.message


# -- the page ----------------------------------------------------------------------------------------


def test_the_page_is_an_erratum(lemma):
    text = page.markdown(bounds.audit(LEMMA), DOCS)
    assert "#### DFedSGPSM-E1" in text
    assert "a factor $K$ is lost" in text
    assert "Correction verified" in text
    assert r"\_" not in text.replace(r"\\_", "")
    assert "DFedSAM" not in text.split("-->")[1]


def test_every_erratum_is_on_the_page():
    """On the stored page, and where no check has a finding on the statement in which it begins (E20)."""
    stored = (DOCS / "audit.md").read_text(encoding="utf-8")
    assert [name for name in IDS if f"#### {name} " not in stored] == []
    entry = Entry(next(m for m in registry.mistakes("dfedsam") if m.id == "DFedSAM-E20"), (), (), (), None)
    found = Errata("dfedsam", (entry,), ())
    assert page._about(found, {"dfedsam.theorem_4_5"}) == ()
    assert "#### DFedSAM-E20 " in "\n".join(page._paper(found, set(), None, found.entries))


@pytest.mark.parametrize("paper", [paper for paper in registry.papers() if registry.mistakes(paper)])
def test_the_page_of_all_findings_shows_every_entry(paper, monkeypatch):
    entries = tuple(Entry(m, (), (), (), None) for m in registry.mistakes(paper))
    monkeypatch.setattr(page, "errata", lambda name, findings: Errata(name, entries, ()))
    monkeypatch.setattr(page, "_coverage", lambda *told: [])
    finding = Finding("units", "note", registry.statements(paper)[0].key, "printed", "", "")
    text = page.markdown([finding], whole=True)
    assert [e.mistake.id for e in entries if f"#### {e.mistake.id} " not in text] == []


def test_each_entry_states_how_it_was_found_and_verified(lemma):
    by = {e.mistake.id: e.found_by for e in lemma.entries}
    assert by["DFedSGPSM-E2"] == "a general check"
    assert by["DFedSGPSM-E1"] == "a declared proof step"
    assert by["DFedSGPSM-E8"] == "a proof line evaluated numerically"
    assert by["DFedSGPSM-E14"] == "a reader"
    assert set(by.values()) <= set(FOUND_BY)
    shown = {e.mistake.id: page.provenance(e) for e in lemma.entries}
    assert all(text.startswith(f"Found by {by[name]}") for name, text in shown.items())
    general = shown["DFedSGPSM-E2"]
    assert "agreement" in general
    assert "derivation" not in general
    text = page.markdown(bounds.audit(LEMMA), DOCS)
    counts = [int(n) for n in re.findall(r"(\d+) by an? ", text.split("####")[0])]
    assert sum(counts) == len(lemma.entries)


def test_an_entry_that_no_check_reports_is_found_by_its_lines_its_search_or_a_reader():
    mistake = Mistake("X-E1", "typo", "", "here", "so")
    line = Line("here", "x", "line", why="read")
    assert Entry(mistake, (), (), (), None).found_by == "a reader"
    assert Entry(mistake, (), (), (), None, (line,)).found_by == "a proof line evaluated numerically"
    cited = replace(mistake, refutes=("dfedsam.corollary_4_6",))
    assert Entry(cited, (), (), (), None).found_by == "a search for counterexamples"
    elsewhere = Finding("units", "error", "dfedsam.theorem_4_5", "printed", "", "")
    assert Entry(mistake, (), (elsewhere,), (), None).found_by == "a general check"
    assert (
        Entry(mistake, (), (elsewhere,), (), None, (line,)).found_by == "a proof line evaluated numerically"
    )


@pytest.mark.parametrize("key", ["dfedsam.corollary_4_6", "dfedsam.corollary_4_8"])
def test_the_headlines_of_the_corollaries_name_the_dropped_consensus_error(key):
    theorem = bounds.get(key)
    entries = tuple(Entry(m, (), (), (), None) for m in registry.mistakes("dfedsam"))
    found = Errata("dfedsam", entries, ())
    headline = page.headline(theorem, found.of(theorem), DOCS, linked=False)
    cause, _, others = headline.partition("Further entries")
    assert "DFedSAM-E1." in cause
    assert "DFedSAM-E24" not in cause
    assert "DFedSAM-E24" in others


def test_a_mend_is_shown_and_what_is_false_however_it_is_read_is_not_recommended():
    for m in (m for paper in registry.papers() for m in registry.mistakes(paper)):
        told = page.mended_terms(m)
        assert bool(told) == any(statement(c) is m.statement for c in m.mend), m.id
        assert ("As it is meant:" in dict(told)) == (m.id == "DFedSAM-E9")


def test_a_headline_names_the_mistakes_of_the_proof_and_what_holds_of_the_same_statement():
    rate = bounds.get("dfedsgpsm.corollary_1")
    told = [Entry(m, (), (), (), None) for m in registry.mistakes("dfedsgpsm")]
    found = Errata("dfedsgpsm", tuple(told), ())
    behind = {e.mistake.id for e in found.of(bounds.get("dfedsgpsm.theorem_1"))}
    assert {f"DFedSGPSM-E{n}" for n in (1, 2, 3, 4, 5)} <= behind  # by Lemma 3, R1 and the round
    assert "DFedSGPSM-E6" not in behind
    assert [e.mistake.id for e in found.of(rate)] == ["DFedSGPSM-E4", "DFedSGPSM-E6"]
    headline = page.headline(rate, found.of(rate), DOCS, linked=False)
    assert "over the range searched" in headline
    assert "DFedSGPSM-E4." in headline
    assert headline.endswith("What holds instead: `dfedsgpsm.corollary_1:corrected`.")


def test_a_headline_says_what_is_false_and_links_the_counterexample(tmp_path):
    theorem = bounds.get("dfedsgpsm.theorem_1")
    quoted = bounds.get("dfedsam.rate_quoted_dfedavg")
    told = page.headline(quoted, (), None)
    assert "no mistake" not in told
    assert "`dfltheory falsify dfedsam.rate_quoted_dfedavg --variant printed`" in told
    assert "2 errors that no entry explains" in page.headline(quoted, (), None, left=2)
    told = page.headline(theorem, (), DOCS)
    saved = json.loads((DOCS / "counterexamples" / "dfedsgpsm.theorem_1-printed.json").read_text())
    assert saved["violated"]
    assert "is false as printed" in told
    assert f"{saved['ratio']:.3g} times" in told
    assert "(counterexamples/dfedsgpsm.theorem_1-printed.json)" in told
    assert "(counterexamples/" not in page.refutation(theorem, tmp_path)  # no such file there
    assert page.refutation(quoted, DOCS) == ""
    held = bounds.get("dfedsgpsm.theorem_1", "corrected")
    assert page.refutation(held, DOCS) == ""
