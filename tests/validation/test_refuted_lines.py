"""Refuted lines of the papers: each is false at its witness, which satisfies the
hypotheses of its statement.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from dfltheory.bounds.regions import expanded_conditions
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError, UnknownNameError
from validation.papers import EXAMINATION, PAPERS, examination, statement
from validation.papers.dfedsgpsm.refuted_lines import alpha_tilde
from validation.papers.finite_problems import FiniteProblem, average_clients, exact
from validation.papers.lines import Evaluation, RefutedLines, refuted_lines


def problems(paper):
    """Return the finite problems of a paper's witnesses, by place."""
    lines = refuted_lines(paper)
    given = {place: lines.arguments(place).get("problem") for place in lines.by_place}
    return {place: problem for place, problem in given.items() if problem is not None}


@pytest.mark.parametrize(
    "paper",
    [pytest.param(p, marks=[pytest.mark.slow] * (p != "dfedsgpsm")) for p in PAPERS],
)
def test_every_refuted_line_is_false_at_its_witness(paper):
    lines = refuted_lines(paper)
    evaluations = [lines.evaluate(place) for place in lines.by_place]
    assert [e.place for e in evaluations if not e.refuted] == []


NUMBERS = re.compile(r"the left side is (\S+), the right side (\S+?)(?: |$)")


@pytest.mark.drawn(1)
@pytest.mark.parametrize("paper", PAPERS)
def test_sides_are_those_of_the_archived_examination(paper):
    """The archived values are from another implementation, with random problems."""
    lines, compared = refuted_lines(paper), 0
    for line in examination(paper)["lines"]:
        numbers = NUMBERS.search(line["how"])
        point = lines.witnesses.get(line["place"], {}).get("point")
        if numbers is None or line["place"] not in lines.by_place or point:
            continue
        evaluation = lines.evaluate(line["place"])
        if "undefined" in line["how"] or (paper, line["place"]) in OTHER_WITNESS:
            continue
        sides = [float(evaluation.left), float(evaluation.right)]
        assert sides == pytest.approx(
            [float(Fraction(n)) for n in numbers.groups()], rel=1e-4
        ), line["place"]
        compared += 1
    assert compared >= 8


OTHER_WITNESS = {
    ("dfedadmm", "Lemma 5"),
    ("dfedmdc", "(12), sign 1"),
    ("dfedsam", "D.2, (21), third"),
    ("dfedsam", "D.3, (30), third"),
    ("dfedsgpsm", "proof of Lemma 5, step size"),
}
"""Lines that the archive refutes by vectors, or at a point other than that of their
functions.
"""


@pytest.mark.parametrize("paper", PAPERS)
def test_refuted_lines_of_the_archive_have_functions_or_are_registered_statements(
    paper,
):
    archived = [
        line for line in examination(paper)["lines"] if line["status"] == "refuted"
    ]
    known = refuted_lines(paper).by_place
    others = [line for line in archived if line["place"] not in known]
    assert set(known) <= {line["place"] for line in archived}
    # theorems, corollaries and rates, on which the audit reports an error
    for line in others:
        assert statement(line["of"]).kind in ("theorem", "corollary", "rate"), line[
            "place"
        ]
        assert line["errata"]


def test_archive_has_all_lines_and_says_how_it_was_made():
    archive = json.loads(EXAMINATION.read_text(encoding="utf-8"))
    lines = [line for paper in PAPERS for line in archive["papers"][paper]["lines"]]
    assert len(lines) == 718
    assert sum(line["status"] == "refuted" for line in lines) == 144
    assert {"date", "command", "commit"} <= set(archive)


@pytest.mark.parametrize("paper", PAPERS)
def test_points_satisfy_the_conditions_of_their_statement(paper):
    lines = refuted_lines(paper)
    for place, line in lines.by_place.items():
        point = lines.witnesses.get(place, {}).get("point")
        if point is None:
            continue
        values = {
            GLOSSARY[name].symbol: sp.Rational(value) for name, value in point.items()
        }
        for name, value in point.items():
            assert (
                GLOSSARY[name].low is None or sp.Rational(value) >= GLOSSARY[name].low
            ), (place, name)
        for condition in (
            expanded_conditions(statement(line.under)) if line.under else ()
        ):
            slack = sp.sympify(condition.slack).subs(values)
            assert not slack.is_number or slack >= 0, (place, condition.name)


@pytest.mark.parametrize("paper", PAPERS)
def test_problems_satisfy_the_assumptions(paper):
    """Noise with mean zero, a symmetric or column-stochastic matrix, and a start of the
    right shape.
    """
    for place, problem in problems(paper).items():
        mean = (problem.chances[:, None, None, None] * problem.noise).sum(axis=0)
        np.testing.assert_allclose(mean, 0, atol=1e-12, err_msg=place)
        assert problem.chances.sum() == pytest.approx(1)
        np.testing.assert_allclose(problem.W.sum(axis=1), 1, atol=1e-12, err_msg=place)
        np.testing.assert_allclose(problem.W, problem.W.T, atol=1e-12, err_msg=place)
        average = np.full_like(problem.W, 1 / problem.m)
        assert np.linalg.norm(problem.W - average, 2) == pytest.approx(
            problem.lam, abs=1e-12
        ), place
        assert len(problem.start) == problem.m
        for P in getattr(problem, "P", ()):
            np.testing.assert_allclose(P.sum(axis=0), 1, atol=1e-12, err_msg=place)


def one_problem():
    """Return two clients with noise and SAM."""
    problem = problems("dfedadmm")["Algorithm 1, line 12"]
    assert len(problem.chances) == 2
    return problem


def test_gradients_are_derivatives_of_the_objective():
    rng, problem = np.random.default_rng(0), one_problem()
    x, h = rng.uniform(-4, 4, (40, problem.start.shape[1])), 1e-6
    for c, unit in enumerate(np.eye(x.shape[1])):
        slope = (problem.value(x + h * unit) - problem.value(x - h * unit)) / (2 * h)
        np.testing.assert_allclose(slope, problem.gradient(x)[:, c], atol=1e-6)


def test_runs_follow_the_algorithms_client_by_client():
    """Compares one outcome of DFedADMM-SAM with a computation for one client and
    coordinate at a time.
    """
    problem = one_problem()
    outcome = len(problem.coins) // 2

    def gradient(i, y, atom):
        point = np.repeat(y[None, None], problem.m, axis=1)
        return problem.sampled(point, np.full((1, problem.m), atom))[0, i]

    x, dual = list(problem.start), [0 * row for row in problem.start]
    for t in range(problem.T):
        sent, new = [], []
        for i in range(problem.m):
            y = x[i]
            for k in range(problem.K):
                atom = problem.coins[outcome, t, k, i]
                g = gradient(i, y, atom)
                size = np.linalg.norm(g)
                there = y + (problem.rho * g / size if size > 0 else 0 * g)
                step = gradient(i, there, atom) - dual[i] + (y - x[i]) / problem.penalty
                y = y - problem.eta * step
            sent.append(y - problem.penalty * dual[i])
            new.append(dual[i] - (y - x[i]) / problem.penalty)
        x, dual = list(problem.W @ np.array(sent)), new
        np.testing.assert_allclose(problem.admm_sam.x[t + 1][outcome], x, atol=1e-12)


def test_rational_problems_agree_with_floating_point():
    problem = problems("dfedsam")["D.2, (21), third"]
    rational = exact(problem)
    for t in range(problem.T + 1):
        difference = rational.gossip.x[t].astype(float) - problem.gossip.x[t]
        assert np.abs(difference).max() < 1e-12
    assert isinstance(rational.sq(rational.gossip.x[1]), Fraction)


@pytest.mark.parametrize(
    ("paper", "place"),
    [
        ("dfedsam", "Lemma D.5"),
        ("dfedsam", "D.2, (20), c"),
        ("dfedsgpsm", "Lemma 3"),
        ("dfedmdc", "Lemma 4"),
    ],
)
def test_refutations_are_evaluated_in_rational_numbers(paper, place):
    evaluation = refuted_lines(paper).evaluate(place)
    assert isinstance(evaluation.left, Fraction)
    assert evaluation.left > evaluation.right


def test_lines_hold_where_their_missing_hypothesis_does():
    """Lemma D.5 at a step size that Lemma D.4 admits; Lemma 5 of DFedMDC from a common
    start.
    """
    lines = refuted_lines("dfedsam")
    hill = problems("dfedsam")["Lemma D.5"]
    left, right = lines.by_place["Lemma D.5"].sides(
        replace(hill, eta=1 / (10 * hill.K * float(hill.L)))
    )
    assert left <= right
    blocks = problems("dfedmdc")["Lemma 5"]
    common = np.repeat(blocks.start.mean(axis=0, keepdims=True), blocks.m, axis=0)
    left, right = (
        refuted_lines("dfedmdc")
        .by_place["Lemma 5"]
        .sides(replace(blocks, start=common))
    )
    assert left <= right


def test_alpha_tilde_is_the_sum_of_the_momentum():
    alpha, K = Fraction(1, 3), 4
    assert alpha_tilde(K, alpha) == sum(
        alpha ** (k - s) for k in range(1, K + 1) for s in range(1, k + 1)
    )


def test_evaluation_of_what_holds_is_not_a_refutation():
    assert not Evaluation("x", -1.0, -1.0, equality=False).refuted
    assert Evaluation("x", 2.0, 1.0, equality=False).refuted
    assert not Evaluation("x", 2.0, 2.0, equality=True).refuted
    assert Evaluation(
        "x", np.array([1.0, 2.0]), np.array([1.0, 3.0]), equality=True
    ).refuted


def test_unknown_and_doubled_places_are_rejected():
    lines = RefutedLines("none")
    lines.refutes("here")(lambda: (1, 0))
    with pytest.raises(InputError):
        lines.refutes("here")(lambda: (1, 0))
    with pytest.raises(UnknownNameError):
        lines.evaluate("elsewhere")


def test_mean_over_clients_keeps_the_outcomes():
    a = np.arange(12.0).reshape(2, 3, 2)
    np.testing.assert_allclose(average_clients(a), a.mean(axis=1))
    assert issubclass(type(problems("dfedsgpsm")["Lemma 3"]), FiniteProblem)


def test_package_does_not_import_its_case_studies():
    package = Path(__file__).parents[2] / "dfltheory"
    importing = [
        p
        for p in package.rglob("*.py")
        if "validation.papers" in p.read_text(encoding="utf-8")
    ]
    assert importing == []
