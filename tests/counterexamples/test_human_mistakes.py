"""Versions with mistakes that people make: what refutes them, and what proves them."""

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.counterexamples.certify import certify
from dfltheory.files import read_json
from dfltheory.proofs.moments import is_zero
from validation.counterexamples import human_mistakes
from validation.counterexamples.hand_made import distant_starts, flat_starts
from validation.counterexamples.hand_made_noise import noisy_witness
from validation.counterexamples.true_versions import (
    PROOFS,
    dfedadmm,
    dfedmdc,
    dfedsgpsm,
)
from validation.counterexamples.true_versions.version import version
from validation.pages import mistakes as page
from validation.papers.dfedmdc import proof as mdc

ROWS = {
    tuple(row[name] for name in human_mistakes.NAMES): row
    for row in read_json(page.FILE)
}
POWER = Path(__file__).parents[2] / "docs" / "power.md"
DIFFERENT = "corrected_different_steps"
LOST = ("dfedmdc.theorem_1", DIFFERENT, "a lost K", "initialization")
LONGER = ("dfedmdc.theorem_1", DIFFERENT, "T + 1 for T", "initialization")
MOMENTUM = (
    "dfedsgpsm.corollary_1",
    "corrected",
    "1 - lam for its square",
    "initialization",
)
HORIZON = ("dfedadmm.corollary_1", "corrected", "T + 1 for T", "optimization")
TOO_LARGE = "not shown: what is derived is at most the bound"
STEPS = (
    "dfedmdc.theorem_2",
    "corrected_same_round",
    "a lost K",
    "noise of the personal part",
)
CLIENTS = ("wang_joshi2021.corollary_2_tuned", "restated", "1 for m", "drift")


# -- the stored rows


def test_each_proved_version_has_a_proof_and_no_counterexample():
    proved = {name for name, row in ROWS.items() if row.get("proved")}
    assert proved == set(PROOFS)
    for name in proved:
        row = ROWS[name]
        assert not human_mistakes.known_false(row)
        assert not row["search"]["refuted"]


def test_page_on_power_has_the_section_of_today():
    assert page.section().strip() in POWER.read_text(encoding="utf-8")


def test_page_has_each_false_and_each_undecided_version():
    text = page.section()
    listed = text.partition("False, and not refuted by the search")[2]
    false_part, _, undecided_part = listed.partition("Undecided")
    for row in ROWS.values():
        line = f"| `{row['key']}` {row['variant']} | {row['mistake']}: {row['place']} |"
        is_false = human_mistakes.known_false(row)
        is_refuted = row["search"]["refuted"]
        assert (line in false_part) == (is_false and not is_refuted)
        is_open = not (is_false or is_refuted or row.get("proved"))
        assert (line in undecided_part) == is_open


# -- proofs


@pytest.mark.slow
@pytest.mark.parametrize("name", PROOFS, ids=" ".join)
def test_version_is_proved(name):
    assert PROOFS[name](name) == []


@pytest.mark.slow
def test_weights_of_the_registered_proof_are_not_enough():
    (message,) = dfedmdc.different_steps(LONGER, mdc.WEIGHTS)
    assert message.startswith(TOO_LARGE)


@pytest.mark.slow
def test_weights_of_a_true_version_do_not_prove_a_false_one():
    assert human_mistakes.known_false(ROWS[LOST])
    (message,) = dfedmdc.different_steps(LOST, dfedmdc.MORE_FOR_THE_START)
    assert message.startswith(TOO_LARGE)


@pytest.mark.slow
def test_noise_of_steps_needs_their_orthogonality(monkeypatch):
    monkeypatch.setattr(dfedmdc.MartingaleProof, "personal", mdc.Proof.personal)
    (message,) = dfedmdc.noise_of_steps(STEPS)
    assert message.startswith(TOO_LARGE)


@pytest.mark.slow
def test_noise_of_steps_does_not_prove_a_smaller_bound(monkeypatch):
    stated = version(STEPS)
    part = stated.parts["noise of the personal part"] * sp.Rational(3, 4)
    smaller = replace(
        stated, parts={**stated.parts, "noise of the personal part": part}
    )
    monkeypatch.setattr(dfedmdc, "version", lambda name: smaller)
    (message,) = dfedmdc.noise_of_steps(STEPS)
    assert message.startswith(TOO_LARGE)


def test_identities_of_the_comparison_hold_and_a_changed_bound_breaks_one():
    statement = version(("dfedsgpsm.corollary_1", "corrected", "T + 1 for T", "drift"))
    source = registry.get("dfedsgpsm.theorem_1", "corrected_sharper")
    assert all(map(is_zero, dfedsgpsm.half_of_path().values()))
    zeros = dfedsgpsm.from_sharper(statement, source)
    assert all(map(is_zero, zeros.values()))
    original = registry.get("dfedsgpsm.corollary_1", "corrected")
    wrong = dfedsgpsm.from_sharper(original, source)
    assert [name for name, expr in wrong.items() if not is_zero(expr)] == ["drift"]


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("constant", "value", "lost"),
    [
        ("PATH_LIMIT", sp.Rational(18462, 10000), "2 p + theta"),
        ("PATH_SLOPE", sp.Rational(4, 5), "2 p + theta"),
        ("PATH_SLOPE", sp.Rational(1, 2), "C >= 2 S"),
        ("SPLIT", 1, "C >= 2 S"),
        ("SPLIT", 4, "2 S <= C <= 3 S"),
    ],
)
def test_lemmas_of_the_comparison_need_their_constants(
    constant, value, lost, monkeypatch
):
    assert list(dfedadmm._lemmas(version(HORIZON))) == []
    monkeypatch.setattr(dfedadmm, constant, value)
    assert f"not shown: {lost}" in list(dfedadmm._lemmas(version(HORIZON)))


# -- problems made by hand


@pytest.mark.slow
def test_distant_starts_refute_a_version_and_not_the_theorem():
    statement = version(LOST)
    instance = next(iter(distant_starts(statement)))
    assert certify(instance, statement).violated
    assert not certify(instance, registry.get(*LOST[:2])).violated


def test_flat_starts_refute_a_version_and_not_the_corollary():
    statement = version(MOMENTUM)
    original = registry.get(*MOMENTUM[:2])
    ratios = []
    for instance in flat_starts(statement):
        certificate = certify(instance, statement)
        assert certificate.violated
        ratios.append(certificate.exact["ratio"])
        assert certify(instance, original).exact["ratio"] < 1
    assert ratios[0] == pytest.approx(ROWS[MOMENTUM]["saved"]["ratio"])
    assert max(ratios) > 20


@pytest.mark.slow
def test_disagreement_of_many_clients_exceeds_a_version_and_not_the_corollary():
    verdict = noisy_witness(version(CLIENTS))
    assert verdict.ratio_ci[0] > 1
    assert verdict.ratio == pytest.approx(ROWS[CLIENTS]["runs"]["ratio"])
    assert noisy_witness(registry.get(*CLIENTS[:2])) is None
