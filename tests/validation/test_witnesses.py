"""Each erratum's witness contradicts the printed line, and the corrected line is
consistent with it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from pydantic import ValidationError

from dfltheory.graphs import assran_constants
from validation.pages.errata_entries import causes_of, verdict
from validation.papers import PAPERS, statement
from validation.papers.dfedadmm.finite_problem import shifted_mean
from validation.papers.erratum import (
    BY_CHECKS,
    BY_COUNTEREXAMPLE,
    BY_LINES,
    BY_READING,
    BY_WITNESS,
    errata,
    erratum,
    notes,
)
from validation.papers.finite_problems import FiniteProblem, exact
from validation.papers.lines import refuted_lines
from validation.papers.witness import Witness
from validation.papers.witness_comparison import bound_at, compare, points

ENTRIES = [entry for paper in PAPERS for entry in errata(paper)]
EVALUATED = [e for e in ENTRIES if e.witness is not None and not e.witness.family]
WITHOUT_FUNCTION = [
    e for e in EVALUATED if e.witness.line not in refuted_lines(e.paper).corrections
]
"""Errata whose correction is a formula or a hypothesis."""
WITH_STATEMENT = [
    e
    for e in EVALUATED
    if e.witness.claim and not e.witness.line and not e.witness.along
]
"""Errata whose witness contradicts a statement with constants."""
NOT_EVALUATED = {
    "DFedADMM-E17": "a citation, which no number contradicts",
    "DFedSAM-E30": "a citation, which no number contradicts",
    "DFedSGPSM-E15": "a citation, which no number contradicts",
    # their witnesses are saved families of problems: tests/validation/test_causes.py
    "DFedSAM-E24": "",
    "DFedMDC-E22": "",
}
INEXACT = {
    "DFedMDC-E13",  # square roots of 2 x 2 minors of a random network
    "DFedSAM-E12",  # a spectral norm
}


def test_errata_without_an_evaluated_witness_are_these_with_their_reasons():
    without = {e.id: e.no_witness for e in ENTRIES if e not in EVALUATED}
    assert without == NOT_EVALUATED
    assert len(EVALUATED) == 78
    assert len(ENTRIES) == 83


@pytest.mark.drawn(24)
@pytest.mark.parametrize("entry", EVALUATED, ids=lambda entry: entry.id)
def test_the_printed_line_contradicts_the_witness_and_the_corrected_line_does_not(
    entry,
):
    found = compare(entry)
    assert not found.printed_holds, found
    assert found.corrected_holds, found
    assert found.exact == (entry.id not in INEXACT)


@pytest.mark.parametrize("entry", WITHOUT_FUNCTION, ids=lambda entry: entry.id)
def test_without_its_correction_the_witness_still_contradicts_the_line(entry):
    """Otherwise the test above would pass for any correction."""
    witness = entry.witness.model_copy(
        update={"corrected": "", "corrected_left": "", "excluded_by": ""}
    )
    bare = replace(entry, witness=witness, terms={}, conditions={}, scope={})
    assert not compare(bare).corrected_holds


CONTRADICTED = [(entry, claim) for entry in EVALUATED for claim in entry.contradicts]


def against(entry, claim):
    """The erratum with its witness against another claim."""
    return replace(entry, witness=entry.witness.model_copy(update={"claim": claim}))


@pytest.mark.parametrize(("entry", "claim"), CONTRADICTED, ids=str)
def test_a_witness_contradicts_the_further_claims_of_its_erratum(entry, claim):
    other = against(entry, claim)
    found = compare(other)
    assert not found.printed_holds
    assert found.corrected_holds
    witness = other.witness.model_copy(update={"excluded_by": ""})
    bare = replace(other, witness=witness, terms={}, conditions={}, scope={})
    assert not compare(bare).corrected_holds


def test_the_claims_that_a_witness_contradicts_are_these():
    assert {(entry.id, claim) for entry, claim in CONTRADICTED} == {
        ("DFedSAM-E13", "dfedsam.corollary_4_8"),
        ("DFedMDC-E10", "dfedmdc.theorem_2"),
    }


@pytest.mark.parametrize("entry", WITH_STATEMENT, ids=lambda entry: entry.id)
def test_a_witness_of_a_statement_satisfies_its_conditions(entry):
    theorem = statement(entry.witness.claim)
    (values,) = points(entry.witness)
    for condition, slack, holds in theorem.check_conditions(
        **{name: float(values[name]) for name in theorem.needs}
    ):
        assert holds, (condition, slack)


def test_recorded_verifications_are_those_that_exist():
    for entry in ENTRIES:
        assert (BY_WITNESS in entry.verified_by) == (entry.witness is not None)
        assert (BY_COUNTEREXAMPLE in entry.verified_by) == bool(entry.refutes)
        assert BY_LINES not in entry.verified_by or entry.lines
        assert (BY_READING in entry.verified_by) == (entry.verified_by == (BY_READING,))
        assert BY_CHECKS not in entry.verified_by or entry.found_by in (
            "a general check",
            "a declared proof step",
        )


def test_severities_that_were_judged_anew():
    assert erratum("DFedADMM-E1").severity == "the statement is false"
    assert erratum("DFedSAM-E27").severity == "typo"
    assert erratum("DFedMDC-E2").severity == "does not follow, repairable"
    assert erratum("DFedMDC-E6").severity == "the statement is false"
    rings = [erratum(name).severity for name in ("DFedSAM-E17", "DFedMDC-E17")]
    assert rings == ["constant", "constant"]


NOTES = [note for paper in PAPERS for note in notes(paper)]


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.claim)
def test_every_cause_of_a_false_statement_has_the_severity_false(note):
    theorem = statement(note.claim)
    causes = causes_of(theorem)
    assert {entry.severity for entry in causes} <= {"the statement is false"}
    assert bool(causes) == (verdict(theorem) == "false")


def test_a_witness_has_one_printed_side():
    with pytest.raises(ValidationError, match="printed"):
        Witness(left="1")
    with pytest.raises(ValidationError, match="along"):
        Witness(left="1", printed="0", along={"T": ["1", "2"]})


# -- three witnesses, checked in another way


def test_theorem_1_of_dfedadmm_is_false_for_penalties_below_the_step():
    """Enumerates all 256 outcomes of the minibatches in rational numbers; none violates
    it for eta_l = lambda.
    """
    (values,) = points(erratum("DFedADMM-E1").witness)
    slope = np.clip(np.arange(-3, 3.5, 0.5), -1, 1)
    ones = np.ones_like(slope)
    problem = exact(
        FiniteProblem(
            curve=0.0,
            tables=np.stack([[slope], [slope]]),
            noise=np.stack([[[ones], [ones]], [[-ones], [-ones]]]),
            chances=np.array([0.5, 0.5]),
            W=np.full((2, 2), 0.5),
            lam=0.0,
            start=np.zeros((2, 1)),
            eta=0.0,
            rho=0.0,
            penalty=1.0,
            K=2,
            Q=1,
            T=2,
            samplewise=False,
        )
    )
    eta = Fraction(str(values["eta"]))

    def left(penalty):
        case = replace(problem, eta=eta, penalty=penalty)
        slopes = [case.gradient(shifted_mean(case, case.admm, t)) for t in range(2)]
        return sum(case.mean((g**2).sum(axis=-1)) for g in slopes) / 2

    assert (problem.L, problem.sigma_l_sq, problem.B_sq) == (1, 1, 1)
    bound = float(bound_at(statement("dfedadmm.theorem_1"), values))
    measured = float(left(Fraction(str(values["lam_admm"]))))
    assert measured == pytest.approx(5 / 16, abs=1e-3)
    assert measured >= 5 / 16
    assert bound < measured / 30
    assert float(left(eta)) < bound


@pytest.mark.parametrize("T", [1, 4, 100])
def test_the_devices_of_dfedmdc_e10_stay_on_flat_pieces(T):
    """In fractions: the gradient max(1 - |u|, 0) is 0 at both devices in every round."""
    witness = erratum("DFedMDC-E10").witness
    shared = Fraction(1, 4 * T)
    u = [Fraction(2), Fraction(-2)]
    for _ in range(T):
        assert all(max(1 - abs(x), 0) == 0 for x in u)
        u = [(1 - shared) * u[0] + shared * u[1], shared * u[0] + (1 - shared) * u[1]]
        mean = sum(u) / 2
        assert mean == 0
        assert max(1 - abs(mean), 0) ** 2 == Fraction(witness.left)
    (values, *_) = points(witness)
    assert values["lam"] == 1 - 1 / (2 * values["T"])
    assert values["spread"] == 4


def test_the_noise_of_dfedmdc_e6_stays():
    mistake = erratum("DFedMDC-E6")
    rounds = [4, 64, 1024]
    assert mistake.witness.along["T"] == [str(T) for T in rounds]
    for T, (left, printed, _) in zip(rounds, compare(mistake).rows, strict=True):
        eta = 1 / np.sqrt(T)
        second_moments = np.zeros(T + 1)
        for t in range(T):
            second_moments[t + 1] = (1 - eta) ** 2 * second_moments[t] + eta**2
        assert float(left) == pytest.approx(second_moments[1:].mean())
        assert float(printed) == pytest.approx(second_moments[1] / 2 / np.sqrt(T))


def test_the_steps_of_dfedmdc_e20_leave_the_start():
    witness = erratum("DFedMDC-E20").witness
    (values,) = points(witness)
    u, eta = values["u0"], values["eta_u"]
    for _ in range(4):
        u = u - eta * -u  # F(u) = -u^2/2
    assert u == values["uk"] == sp.Rational(7, 6) ** 4
    assert u <= 2


def test_the_clients_of_dfedsam_e1_keep_a_gradient():
    L, x, least = 6e-6, np.zeros(2), np.inf
    for _ in range(2000):
        for _ in range(5):
            ramp = np.clip(x + 1, 0, 1)
            x = x - np.array(
                [0.009 + L * ramp[0], -0.009 + L * (ramp[1] - np.clip(x[1], 0, 1))]
            )
        x = np.array([[0.98, 0.02], [0.02, 0.98]]) @ x
        at = x.mean()
        slope = L * (2 * np.clip(at + 1, 0, 1) - np.clip(at, 0, 1)) / 2
        least = min(least, slope**2)
    assert least >= float(
        sp.Rational(erratum("DFedSAM-E1").witness.left.split("/")[0]) / 10**15
    )


@pytest.mark.parametrize("share", [5, 100, 10_000])
def test_the_family_of_corollary_1_of_dfedsgpsm(share):
    """The values in its paragraph; ``share`` is 1/(1 - alpha)."""
    T = share**3
    cited = assran_constants(m=2, D=2, diameter=1)
    values = {"L": 1, "B": 1, "K": 1, "T": T, "alpha": 1 - sp.Rational(1, share)}
    values |= dict.fromkeys(("rho", "rho0", "sigma_l", "sigma_g", "x0_sq"), 0)
    values |= {"delta": 1, "C": cited.C, "q": cited.q, "f0_gap": sp.sqrt(T) + 0.5}
    claimed = bound_at(statement("dfedsgpsm.corollary_1"), values)
    assert float(claimed) <= 1e4 / share
    x = -(T - 1) / np.sqrt(T)  # the last model that is measured
    assert np.clip(x + np.sqrt(T) + 1, 0, 1) == 1
