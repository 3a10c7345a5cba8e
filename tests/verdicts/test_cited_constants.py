"""Statements whose C and q are those of a cited lemma: Scope.push_sum = "cited"."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dfltheory import bounds, graphs
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.growth import MEMBERS
from dfltheory.counterexamples.networks import cited_on
from dfltheory.counterexamples.rational import verify_rationally
from dfltheory.errors import GraphError, UnknownNameError
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.run_values import RecordedRun, run_values, with_larger

CITED = bounds.get("dfedsgpsm.theorem_1", "printed")
COMPUTED = replace(CITED, scope=replace(CITED.scope, push_sum="computed"))
"""The same statement for the smallest C and q."""
HALF = np.full((2, 2), 0.5)


def document(L=1e-3, alpha=0.95, rounds=200):
    """Return two identical clients who stay on a slope with constant gradient L."""
    return {
        "task": {
            "name": "dfltheory.counterexamples.problems:RampTask",
            "knots": [[-1.0 - L * rounds]] * 2,
            "widths": [[1.0]] * 2,
            "slopes": [[L]] * 2,
            "left": [0.0, 0.0],
            "sigma": 0.0,
        },
        "algorithm": {
            "name": "dfedsgpsm",
            "eta": 1.0,
            "K": 1,
            "alpha": alpha,
            "rho": 0.0,
        },
        "topology": {"matrix": HALF.tolist()},
        "run": {
            "rounds": rounds,
            "seed": 0,
            "evaluate_every": 1,
            "seeds": 1,
            "x0": [[0.0], [0.0]],
        },
    }


def slope(**numbers):
    """Run the instance of such a document."""
    return built(document(**numbers), CITED.scope.algorithms)


def test_compare_is_violated_only_beyond_the_cited_constants():
    run = slope().run(progress=False)
    assert compare(run, COMPUTED).kind == "violated"
    verdict = compare(run, CITED)
    assert verdict.kind != "violated"
    cited = graphs.assran_constants(2, 2, 1)
    assert verdict.at["C"] == pytest.approx(cited.C)
    assert verdict.at["q"] == pytest.approx(cited.q)


def test_compare_keeps_the_least_constants_where_they_suffice():
    run = slope(L=0.01).run(progress=False)
    verdict = compare(run, CITED)
    assert verdict.kind != "violated"
    assert verdict.at["C"] == 1


def test_compare_is_violated_where_both_bounds_are_exceeded():
    run = slope(L=1e-5, alpha=0.994, rounds=2000).run(progress=False)
    verdict = compare(run, CITED)
    assert verdict.kind == "violated"
    assert verdict.at["C"] > 20
    assert verdict.ratio < compare(run, COMPUTED).ratio


def test_compare_is_undecided_without_cited_constants(monkeypatch):
    def unknown(*_, **__):
        raise GraphError("no window")

    monkeypatch.setattr(graphs, "cited_constants", unknown)
    run = slope().run(progress=False)
    assert compare(run, CITED).kind == "undecided"
    assert compare(run, COMPUTED).kind == "violated"


def test_certificate_takes_the_larger_constants():
    assert certify(slope(), COMPUTED).violated
    assert not certify(slope(), CITED).violated


def test_rational_numbers_round_the_cited_constants_up():
    instance = document()
    exact = verify_rationally(instance, CITED)
    cited = graphs.assran_constants(2, 2, 1)
    assert cited.C < exact.values["C"] < cited.C * (1 + 1e-5)
    assert cited.q < exact.values["q"] < cited.q * (1 + 1e-5)
    assert exact.left < exact.right
    assert (
        verify_rationally(instance, COMPUTED).left
        > verify_rationally(instance, COMPUTED).right
    )


def test_growth_along_a_family_takes_the_larger_constants():
    member = MEMBERS["long slope"]
    theorem = bounds.get("dfedsgpsm.corollary_1", "printed")
    at = {"T": 4.0, "K": 1.0, "alpha": 2.0, "gap": 1.0, "L": 1.0, "slope": 1.0}
    _, values = member.measure(theorem, at)
    cited = graphs.assran_constants(2, 2, 1)
    assert values["C"] == pytest.approx(cited.C)
    assert values["q"] == pytest.approx(cited.q)
    least = replace(theorem, scope=replace(theorem.scope, push_sum="computed"))
    assert member.measure(least, at)[1]["C"] == 1


def test_given_values_replace_the_cited_ones_of_an_unknown_network():
    run = slope().run(progress=False)
    run.topology = None
    source = RecordedRun(run, refutes=True)
    assert source.cited_push_sum() == {}


def test_with_larger_takes_the_larger_of_two():
    values = with_larger({"C": 1.0, "q": 0.9, "L": 3.0}, {"C": 2.0, "q": 0.5})
    assert values == {"C": 2.0, "q": 0.9, "L": 3.0}
    assert with_larger({}, {"C": 2.0}) == {"C": 2.0}


def test_ordinary_runs_have_the_computed_constants():
    run = slope().run(progress=False)
    assert run_values(run, CITED)["C"] == 1
    assert run_values(RecordedRun(run, refutes=True), CITED)["C"] > 20
    assert run_values(RecordedRun(run, refutes=True), COMPUTED)["C"] == 1


def test_scope_rejects_another_source_of_constants():
    with pytest.raises(UnknownNameError, match="push-sum"):
        replace(CITED.scope, push_sum="largest")


def test_weights_below_the_inverse_degree_enlarge_the_constants():
    W = np.array([[0.75, 0.25], [0.25, 0.75]])
    cited = graphs.cited_constants(W)
    assert pytest.approx(4) == cited.D
    assert cited.C > graphs.cited_constants(HALF).C


@pytest.mark.parametrize("dim", [1, 3])
def test_candidates_have_the_cited_constants_of_their_network(dim):
    digraph = np.array([[0.5, 0.0, 0.2], [0.5, 0.4, 0.0], [0.0, 0.6, 0.8]])
    other = np.array([[0.9, 0.0, 0.2], [0.1, 0.4, 0.0], [0.0, 0.6, 0.8]])
    apart = np.eye(3)
    found = cited_on(np.array([[digraph], [other], [apart]]), 1, dim)
    for i, W in enumerate((digraph, other)):
        cited = graphs.cited_constants(W, dim=dim)
        assert found["C"][i] == pytest.approx(cited.C)
        assert found["q"][i] == pytest.approx(cited.q)
    assert np.isinf([found["C"][2], found["q"][2]]).all()


def test_weights_of_the_inverse_degree_leave_the_degree():
    assert math.isclose(graphs.cited_constants(HALF).D, 2)
