"""Each erratum's correction alone must explain the counterexamples that it cites."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dfltheory.bounds import get
from dfltheory.bounds import symbols as s
from dfltheory.counterexamples import replay
from dfltheory.counterexamples.divergence import family_along
from dfltheory.counterexamples.growth import MEMBERS, kinds, replayed
from dfltheory.errors import InputError
from validation.pages.errata_entries import saved_growth, witness_words
from validation.papers import PAPERS, statement
from validation.papers.causes import citations, explain, explain_file
from validation.papers.erratum import errata

DOCS = Path(__file__).parents[2] / "docs"
SAVED = DOCS / "counterexamples"
PAIRS = list(citations())
QUICK = ("dfedmdc.theorem_1",)
"""Statements in O(.) whose families are fast to measure."""


def erratum(name):
    """Return the erratum with this id."""
    return next(e for paper in PAPERS for e in errata(paper) if e.id == name)


def pairs(quick=QUICK):
    """Return every erratum with every saved counterexample that it cites.

    Statements in O(.) are slow except those in ``quick``.
    """
    for mistake, claim in PAIRS:
        long = statement(claim).order and claim not in quick
        marks = [pytest.mark.slow] if long else []
        yield pytest.param(mistake, claim, marks=marks, id=f"{mistake.id}-{claim}")


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("mistake", "claim"), list(pairs()))
def test_the_correction_of_an_erratum_alone_explains_the_counterexample_it_cites(
    mistake, claim
):
    found = explain(mistake, claim, SAVED)
    assert found.explained, found
    assert found.kind == "bound covers it" or found.excluded_by


@pytest.mark.drawn(3)
@pytest.mark.parametrize(("mistake", "claim"), list(pairs(quick=())))
def test_without_its_correction_an_erratum_explains_no_counterexample(mistake, claim):
    """The statement as printed fails the check that its correction passes."""
    found = explain(replace(mistake, terms={}, conditions={}, scope={}), claim, SAVED)
    assert not found.explained, found


def test_every_saved_refutation_and_growing_family_of_a_paper_is_cited():
    cited = {f"{statement(claim).key}-{statement(claim).variant}" for _, claim in PAIRS}
    files = [path for path in SAVED.glob("*.json") if path.name.split(".")[0] in PAPERS]
    exceeded = set()
    for path in files:
        outcome = json.loads(path.read_text(encoding="utf-8"))
        if outcome["violated"] or outcome.get("growing"):
            exceeded.add(path.stem)
    assert exceeded
    assert cited == exceeded


@pytest.mark.slow
def test_a_common_start_does_not_explain_families_that_have_one():
    """The missing common start is a separate mistake (E24), not the cause of the saved
    families.
    """
    found = explain(erratum("DFedMDC-E10"), "dfedmdc.theorem_1", SAVED)
    assert found.kind == "not explained"
    assert found.after == pytest.approx(0.59, abs=0.05)


@pytest.mark.parametrize("share", [1e-3, 1.0])
def test_a_correction_that_is_too_small_explains_nothing(share):
    right = erratum("DFedADMM-E5")
    small = {
        claim: {name: f"{share}*({term})" for name, term in terms.items()}
        for claim, terms in right.terms.items()
        if claim.startswith("dfedadmm.theorem_1")
    }
    found = explain(replace(right, terms=small), "dfedadmm.theorem_1", SAVED)
    assert found.explained is (share == 1.0)
    assert found.before > 1e4


def test_a_hypothesis_that_the_instance_meets_explains_nothing():
    right = erratum("DFedSGPSM-E7")
    claim = "dfedsgpsm.theorem_1:appendix"
    assert explain(right, claim, SAVED).excluded_by == "smooth samples"
    together = replace(right, scope={claim: {"common_start": True}})
    assert not explain(replace(right, scope={}), claim, SAVED).explained
    assert not explain(together, claim, SAVED).explained


def test_only_a_refutation_can_be_explained():
    with pytest.raises(InputError):
        explain(erratum("DFedSAM-E1"), "dfedsam.theorem_4_5:corrected", SAVED)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("key", ["dfedsam.corollary_4_6", "dfedsam.corollary_4_8"])
def test_without_a_common_start_the_corollaries_of_dfedsam_fail(key):
    """As E24 says, clients in two wells stay there, and the gradient at their mean does
    not change.
    """
    theorem = get(key)
    assert not theorem.scope.common_start
    base = {"T": 16.0, "gap": 16.0}

    def family(starts):
        member = MEMBERS["separate wells"]
        make = (
            member.make
            if starts is None
            else lambda thm, at: _started(*member.make(thm, at), starts)
        )
        return family_along(theorem, replace(member, make=make), base, "T*gap")

    assert family(None).grows
    together = family([0.5, 0.5])
    assert together is None or not together.grows


def _started(instance, numbers, starts):
    return replace(instance, x0=np.array(starts)[:, None]), numbers


WITNESSED = [
    entry
    for paper in PAPERS
    for entry in errata(paper)
    if entry.witness and entry.witness.family
]


def test_every_witness_is_cited_and_every_cited_witness_is_saved():
    cited = {mistake.id: statement(mistake.witness.family) for mistake in WITNESSED}
    assert {"DFedSAM-E24", "DFedMDC-E22"} <= set(cited)
    saved = {}
    for path in (DOCS / "witnesses").glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        saved[path.stem] = statement(f"{document['key']}:{document['variant']}")
    assert saved == cited


@pytest.mark.slow
@pytest.mark.parametrize("mistake", WITNESSED, ids=lambda mistake: mistake.id)
def test_a_saved_witness_refutes_again_and_its_erratum_alone_excludes_it(mistake):
    file = DOCS / "witnesses" / f"{mistake.id}.json"
    saved = json.loads(file.read_text(encoding="utf-8"))
    again = replay(file)
    assert again.violated or again.growing
    assert again.ratio == pytest.approx(saved["ratio"], rel=1e-9)
    assert (
        explain_file(mistake, mistake.witness.family, file).kind
        == "hypothesis excludes it"
    )
    bare = replace(mistake, scope={}, conditions={})
    other = explain_file(bare, mistake.witness.family, file)
    assert not other.explained


@pytest.mark.parametrize("mistake", WITNESSED, ids=lambda mistake: mistake.id)
def test_the_page_shows_the_witness_of_an_erratum(mistake):
    saved = json.loads(
        (DOCS / "witnesses" / f"{mistake.id}.json").read_text(encoding="utf-8")
    )
    assert f"(../witnesses/{mistake.id}.json)" in witness_words(mistake)
    shown = saved_growth(DOCS / "witnesses" / f"{mistake.id}.json")
    assert all(f"{ratio:.3g}" in shown for ratio in saved["divergence"]["ratios"])


def test_search_draws_no_different_starts():
    theorem = get("dfedsam.corollary_4_6")
    member = MEMBERS["separate wells"]
    assert member not in kinds(theorem)
    assert replayed(theorem, member)
    common = replace(theorem, scope=replace(theorem.scope, common_start=True))
    assert not replayed(common, member)


def test_headlines_name_the_dropped_consensus_error_and_not_the_start():
    for key in ("dfedsam.corollary_4_6", "dfedsam.corollary_4_8"):
        theorem = get(key)
        cited = [m.id for m, claim in PAIRS if statement(claim) is theorem]
        assert cited == ["DFedSAM-E1"]


@pytest.mark.parametrize(
    ("lam", "Q", "m"), [(0.5, 3, 16), (0.9, 1, 2), (0.99, 4, 64), (0.0, 2, 8)]
)
def test_the_network_factor_of_lemma_d6_is_valid_and_no_erratum_enlarges_it(lam, Q, m):
    """Lemma D.1 alone gives 1/(1 - lam^Q)^2, which the printed factor covers."""
    lemma = statement("dfedsam.lemma_D6")
    factor = next(d.expr for d in lemma.definitions if str(d.symbol) == "Phi")
    printed = float(factor.subs({s.lam: lam, s.Q: Q, s.m: m}))
    assert 1 / (1 - lam**Q) ** 2 <= printed
    for number in (11, 12):
        assert "dfedsam.lemma_D6" not in erratum(f"DFedSAM-E{number}").terms
    if (lam, Q, m) == (0.5, 3, 16):
        assert 1 / (1 - lam**Q) ** 2 == pytest.approx(1.306, abs=1e-3)
        assert printed == pytest.approx(1.470, abs=1e-3)


def test_the_norm_that_replaces_the_false_line_of_lemma_d6_holds():
    """

    P - W^(Qn)

    <= lam^(Qn), which is sharp: half of it does not hold.
    """
    rng = np.random.default_rng(0)
    for m in (2, 3, 5):
        P, shuffled = np.full((m, m), 1 / m), np.eye(m)[rng.permutation(m)]
        W = 0.4 * np.eye(m) + 0.3 * (shuffled + shuffled.T)
        lam = np.linalg.norm(W - P, 2)
        for power in (2, 4, 6):
            norm = np.linalg.norm(P - np.linalg.matrix_power(W, power), 2)
            assert lam**power / 2 < norm <= lam**power * (1 + 1e-9)
