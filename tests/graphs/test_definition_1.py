"""Definition 1: valid matrices pass up to rounding, and each violation is located."""

import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag

from dfltheory import graphs
from dfltheory.errors import GraphError, UnknownNameError
from dfltheory.graphs.assumptions import DOUBLY_STOCHASTIC, NETWORK_LAWS
from dfltheory.testing import connected_graphs, mixing_matrices

check = graphs.check_mixing_matrix


def laws(W, *args, **kwargs):
    return [f.law for f in check(W, *args, **kwargs).failures]


# -- no false alarms


@given(
    connected_graphs(max_m=20), st.sampled_from(["metropolis", "max_degree", "lazy"])
)
def test_weight_rules_pass_in_every_form(graph, rule):
    W = graphs.weights(graph, rule)
    for form in (
        W,
        sp.csr_array(W),
        W.astype(np.float32),
        torch.from_numpy(W).float(),
        W.tolist(),
    ):
        assert check(form, graph).ok


@given(mixing_matrices(min_m=2), st.integers(1, 40))
def test_powers_and_permutations_pass(W, Q):
    assert check(np.linalg.matrix_power(W, Q)).ok
    order = np.random.default_rng(Q).permutation(len(W))
    assert check(W[np.ix_(order, order)]).ok


@pytest.mark.drawn(1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["star", "grid"])
def test_no_false_alarm_at_m_100_000(name, dtype):
    W = graphs.metropolis(graphs.topology(name, 100_000))
    # rows of 100 000 terms, summed in a different order than when created
    if name == "star":
        W = sp.csr_array(W[::-1, ::-1])
    report = check(sp.csr_array(W, dtype=dtype))
    assert report.ok, report
    # a real violation in one of 100 000 rows is still found
    W = W + sp.csr_array(([1e-4], ([77_777], [77_777])), shape=W.shape)
    assert check(W, laws=["row sums"]).failures[0].place == "row 77777"


def test_tolerances_scale_with_the_length_of_a_row():
    # 1/m rounded to float32 m times: the error of a row's sum may grow with m
    for m in (10, 1000):
        W = np.full((m, m), 1 / m, dtype=np.float32)
        assert check(W).ok
        W[0, 0] += np.float32(1e-3)
        assert {"row sums", "column sums"} == set(laws(W))
    from dfltheory.graphs.matrices import entry_tolerance, sum_tolerances

    assert sum_tolerances(2.0**-52, np.array([3, 10**7])) == pytest.approx(
        [1e-10, 4 * 2.0**-52 * (1 + 10**7)]
    )
    assert sum_tolerances(2.0**-23, np.array([3, 99])) == pytest.approx(
        [16 * 2.0**-23, 400 * 2.0**-23]
    )
    for eps in (2.0**-52, 2.0**-23):
        assert entry_tolerance(eps) == sum_tolerances(eps, np.array([1]))[0]


# -- each law, by hand


def broken(change):
    W = graphs.metropolis(graphs.ring(8))
    change(W)
    return W


def set_entries(*entries):
    def change(W):
        for i, j, value in entries:
            W[i, j] = value

    return change


def test_the_message_of_the_issue():
    W = broken(set_entries((3, 4, 0.5)))  # 1/3 + 1/3 + 1/2
    report = check(W)
    assert not report.ok
    assert not report
    assert [f.law for f in report.failures] == ["symmetry", "row sums", "column sums"]
    rows = report.failures[1]
    assert rows.message == "row 3 sums to 1.1667, not 1 (tolerance 1e-10)"
    assert (rows.place, rows.tolerance) == ("row 3", 1e-10)
    assert rows.value == pytest.approx(7 / 6)
    assert report.failures[0].message == "entry (3, 4) is 0.5 but (4, 3) is 0.333333"
    assert report.failures[2].place == "column 4"
    assert report.breaks == ("definition 1", "symmetric", "doubly stochastic")
    with pytest.raises(GraphError, match=r"\(3, 4\).*0\.5") as caught:
        report.raise_if_failed()
    for part in (report.subject, *(failure.law for failure in report.failures)):
        assert part in str(caught.value)


def test_a_tiny_excess_is_shown_with_digits_enough():
    (f,) = check(broken(set_entries((2, 2, 1 / 3 + 1e-8))), laws=["row sums"]).failures
    assert f.message == "row 2 sums to 1.00000001, not 1 (tolerance 1e-10)"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite(value):
    report = check(broken(set_entries((5, 4, value), (7, 0, value))))
    (f,) = report.failures  # other values have no meaning
    assert (f.law, f.place) == ("finite", "(5, 4)")
    assert (
        f.message
        == f"entry (5, 4) is {value}, not a finite number (and 1 more entries)"
    )
    assert [
        f.law for f in check(sp.csr_array(broken(set_entries((5, 4, value))))).failures
    ] == ["finite"]


def test_wrong_shapes_are_a_failure_not_a_crash():
    for bad in (np.ones((2, 3)), np.ones(3), [[1.0], [0.5, 0.5]], np.eye(2) * 1j):
        (f,) = check(bad).failures
        assert f.law == "shape"
    assert (
        check(np.ones((2, 3))).failures[0].message
        == "the mixing matrix has shape 2x3: it must be m x m"
    )


def test_negative_and_too_large_weights():
    W = graphs.metropolis(graphs.ring(8))
    for i, j, change in ((1, 2, -0.35), (2, 1, -0.35), (1, 1, 0.35), (2, 2, 0.35)):
        W[i, j] += change
    (f,) = check(W).failures
    assert (f.law, f.place) in {("range", "(1, 2)"), ("range", "(2, 1)")}
    assert f.value == pytest.approx(1 / 3 - 0.35)
    assert "negative" in f.message
    big = [[1.5, -0.5], [-0.5, 1.5]]
    assert laws(big) == ["range", "spectrum"]
    assert "above 1" in check(big).failures[1].message
    assert check(big, laws=["range"]).failures[0].value == 1.5


def test_links_outside_the_graph_and_links_without_weight():
    W = graphs.metropolis(graphs.complete(5))
    report = check(W, graphs.ring(5))
    assert [f.law for f in report.failures] == ["graph"]
    assert (
        report.failures[0].message
        == "entry (0, 2) is 0.2, but the graph has no link from 2 to 0"
    )
    report = check(graphs.metropolis(graphs.ring(5)), graphs.complete(5))
    assert [f.law for f in report.failures] == ["links"]
    assert (
        "entry (0, 2) is 0, but the graph has a link from 2 to 0"
        in report.failures[0].message
    )
    with pytest.raises(GraphError, match=r"5 x 5.*4 nodes"):
        check(W, graphs.ring(4))
    arrow = nx.DiGraph([("a", "b")])  # a sends to b: only b may have a weight for a
    report = check(np.array([[1.0, 0.0], [0.5, 0.5]]), arrow, laws=["graph", "links"])
    assert report.ok
    report = check(np.array([[0.5, 0.5], [0.0, 1.0]]), arrow, laws=["graph", "links"])
    assert [f.law for f in report.failures] == ["graph", "links"]
    assert "no link from b to a" in report.failures[0].message


def test_disconnection_is_not_periodicity():
    W = block_diag(graphs.metropolis(graphs.ring(3)), graphs.metropolis(graphs.ring(4)))
    (f,) = check(W).failures
    assert f.law == "null space"
    assert (
        f.message
        == "disconnected: no path of weights joins node 0 to node 3 (2 components, the"
        " smallest of 3 nodes)"
    )
    assert check(np.eye(1)).ok


def test_periodic_component_fails_spectrum_with_its_place():
    # a path that keeps nothing inside: connected, bipartite, eigenvalue -1
    two = [[0, 1], [1, 0]]
    report = check(two)
    assert [f.law for f in report.failures] == ["self-weights", "spectrum"]
    assert "eigenvalue -1" in report.failures[1].message
    # a single self-weight makes the matrix aperiodic, so only (i) fails
    W = np.array([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    assert np.linalg.eigvalsh(W)[0] == pytest.approx(-0.5)
    assert laws(W) == ["self-weights"]
    # an odd ring without self-weights is not bipartite
    odd = (np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0)) / 2
    assert laws(odd) == ["self-weights"]
    # only the second component is periodic
    both = block_diag(graphs.metropolis(graphs.ring(3)), two)
    report = check(both, laws=["spectrum"])
    assert report.failures[0].place == "the component of node 3"


def test_spectrum_of_signed_weights_is_computed():
    # W = 11'/3 + 0.9 (I - 11'/3) has w_ij = 0.1/3 > 0; with -1.2 it has an eigenvalue
    # beyond -1
    P = np.full((3, 3), 1 / 3)
    signed = P - 1.2 * (np.eye(3) - P)
    report = check(signed)
    assert [f.law for f in report.failures] == ["range", "self-weights", "spectrum"]
    assert report.failures[2].value == pytest.approx(-1.2)
    assert report.failures[2].place == "the least eigenvalue"
    # signed but within (-1, 1): only the sign is reported
    gentle = (
        P + 1.1 * (np.eye(3) - P) - 0.3 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
    )
    values = np.linalg.eigvalsh(gentle)
    assert laws(gentle) == ["range", "spectrum"]
    assert values[-1] > 1


@given(mixing_matrices(min_m=3, max_m=8), st.floats(1e-8, 0.3), st.integers(0, 50))
def test_asymmetry_of_any_size_is_seen(W, size, seed):
    rng = np.random.default_rng(seed)
    i, j = rng.permutation(len(W))[:2]
    W[i, j] += size
    report = check(W)
    assert [
        f.law
        for f in report.failures
        if f.law in ("symmetry", "row sums", "column sums")
    ] == [
        "symmetry",
        "row sums",
        "column sums",
    ]
    by_law = {f.law: f for f in report.failures}
    assert by_law["row sums"].place == f"row {i}"
    assert by_law["column sums"].place == f"column {j}"
    assert by_law["symmetry"].place == f"({min(i, j)}, {max(i, j)})"


# -- selection, tolerance, other inputs


def test_laws_can_be_chosen():
    W = graphs.one_peer_exponential(8).matrix(0)
    assert check(W, laws="doubly stochastic").ok
    assert check(W, laws="doubly stochastic").laws == DOUBLY_STOCHASTIC
    assert laws(W, laws=["symmetry"]) == ["symmetry"]
    with pytest.raises(UnknownNameError, match="symmetry"):
        check(W, laws=["symetry"])


def test_a_given_tolerance_is_obeyed():
    W = np.array([[0.3333, 0.6667], [0.6667, 0.3333]]) + 1e-5
    assert not check(W).ok
    assert check(W, tol=1e-4).ok
    assert check(W, tol=1e-5).failures[0].tolerance == 1e-5


def test_graphs_and_sequences_are_checked():
    assert check(graphs.ring(6)).ok
    weighted = nx.from_numpy_array(np.array([[0.5, 0.5], [0.5, 0.6]]))
    assert laws(weighted) == ["row sums", "column sums"]
    Ws = [graphs.metropolis(graphs.ring(5)), graphs.uniform(graphs.star(5))]
    report = check(graphs.as_sequence(Ws))
    assert [f.law for f in report.failures] == ["symmetry", "column sums"]
    assert report.failures[1].message.startswith("round 1: column 0 sums to 2.2")
    assert report.details == {
        "rounds looked at": 2,
        "standing": "proved for all rounds",
    }
    assert check(graphs.RandomMatching(8), laws="doubly stochastic").ok
    assert "null space" in {f.law for f in check(graphs.RandomMatching(8)).failures}


def test_a_broken_law_takes_away_what_the_scopes_rest_on_and_nothing_else():
    from dfltheory import bounds

    def papers(report):
        return {key.split(".")[0] for key in bounds.resting_on(report.breaks)}

    assert {name for laws in NETWORK_LAWS.values() for name in laws} == {
        *graphs.DEFINITION_1,
        *graphs.PUSH_SUM,
    }
    # rows and columns sum to 1
    lopsided = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.25, 0.0, 0.75]])
    report = check(lopsided)
    assert report.breaks == ("definition 1", "symmetric")
    assert papers(report) >= {"dfedsam", "dfedadmm", "dfedmdc"}
    assert not papers(report) & {
        "dfedsgpsm",
        "khaled2019",
        "lean",
    }  # column-stochastic, and without a network
    symmetric = bounds.resting_on(["symmetric"])
    assert {key.partition(".")[0] for key in symmetric} == {
        "vogels2023",
        "wang_joshi2021",
        "yuan2023",
    }
    both = check(np.array([[0.5, 0.4], [0.4, 0.5]]))
    assert both.breaks == ("definition 1", "symmetric", "doubly stochastic")
    push = graphs.check_push_sum(np.array([[0.5, 0.4], [0.4, 0.5]]))
    assert push.breaks == ("column-stochastic",)
    assert bounds.resting_on(push.breaks) == (
        "dfedsgpsm.theorem_1",
        "dfedsgpsm.corollary_1",
    )
    assert check(np.eye(1)).breaks == () == bounds.resting_on(())
