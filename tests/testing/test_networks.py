"""Strategies draw admissible networks, and near misses violate exactly one law."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfltheory.errors import UnknownNameError
from dfltheory.graphs import check_mixing_matrix, check_push_sum
from dfltheory.testing import (
    column_stochastic_matrices,
    connected_graphs,
    mixing_matrices,
    mixing_sequences,
    near_misses,
    push_sum_near_misses,
    push_sum_sequences,
    strongly_connected_digraphs,
)
from dfltheory.testing.claim_problems import network_strategy
from dfltheory.testing.networks import ReadableDiGraph, ReadableGraph


@given(connected_graphs())
def test_connected_graphs_are_connected(graph):
    assert nx.is_connected(graph)
    assert set(graph) == set(range(len(graph)))
    assert nx.number_of_selfloops(graph) == 0


@given(strongly_connected_digraphs())
def test_strongly_connected_digraphs_are_strongly_connected(graph):
    assert nx.is_strongly_connected(graph)
    assert nx.number_of_selfloops(graph) == 0


@given(mixing_matrices())
def test_mixing_matrices_satisfy_definition_1(W):
    assert check_mixing_matrix(W).ok
    values = np.linalg.eigvalsh(W)
    assert values[-1] == pytest.approx(1)
    assert values[0] > -1
    assert (values > 1 - 1e-9).sum() == 1


@given(mixing_sequences())
def test_mixing_sequences_satisfy_definition_1_in_every_round(sequence):
    assert check_mixing_matrix(sequence).ok


@given(column_stochastic_matrices())
def test_column_stochastic_matrices_are_admissible(P):
    assert check_push_sum(P).ok
    assert P.sum(axis=0) == pytest.approx(1)


@given(push_sum_sequences())
def test_push_sum_sequences_are_admissible_over_a_period(sequence):
    report = check_push_sum(sequence)
    assert report.ok
    assert 1 <= report.details["window"] <= sequence.period


@given(st.data())
def test_networks_of_the_law_of_a_theorem_satisfy_it(data):
    assert check_push_sum(data.draw(network_strategy("column-stochastic"))).ok
    assert check_mixing_matrix(data.draw(network_strategy("symmetric"))).ok
    assert data.draw(network_strategy("none")) is None


LAWS = [
    "finite",
    "range",
    "self-weights",
    "symmetry",
    "row sums",
    "null space",
    "spectrum",
]
FURTHER_LAWS = {"row sums": {"column sums"}, "spectrum": {"self-weights"}}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("law", LAWS)
def test_near_miss_breaks_only_its_law(law):
    @given(near_misses(law=law))
    def holds(miss):
        report = check_mixing_matrix(miss.W)
        assert {f.law for f in report.failures} == {law} | FURTHER_LAWS.get(law, set())
        failure = next(f for f in report.failures if f.law == law)
        i, j = miss.place
        if law in ("finite", "range", "symmetry"):
            # symmetry is violated at three places, other laws at one or its transpose
            assert failure.place in {f"({i}, {j})", f"({j}, {i})"} or law == "symmetry"
        elif law == "self-weights":
            assert failure.place == f"({i}, {i})"
        elif law == "row sums":
            assert failure.place == f"row {i}"
        elif law == "null space":
            assert failure.place == f"nodes 0 and {j}"
        assert str(failure) in str(report)

    holds()


@given(near_misses(law="shape"))
def test_near_miss_of_the_shape_has_a_column_less(miss):
    m, columns = miss.W.shape
    assert columns == m - 1
    assert {f.law for f in check_mixing_matrix(miss.W).failures} == {"shape"}


@given(push_sum_near_misses())
def test_push_sum_near_miss_breaks_only_its_law(miss):
    report = check_push_sum(miss.W)
    assert [f.law for f in report.failures] == [miss.law]
    assert report.breaks == ("column-stochastic",)


@pytest.mark.parametrize("strategy", [near_misses, push_sum_near_misses])
def test_near_misses_of_an_unknown_law_are_rejected(strategy):
    @settings(max_examples=1, database=None)
    @given(strategy(law="row"))
    def drawn(miss):
        pass

    with pytest.raises(UnknownNameError, match="row"):
        drawn()


@given(connected_graphs(min_m=2), strongly_connected_digraphs(min_m=2))
def test_repr_of_graph_lists_its_edges(graph, digraph):
    assert repr(graph) == f"graph of {len(graph)}: {list(graph.edges)}"
    assert repr(digraph).startswith(f"digraph of {len(digraph)}: [(")
    assert type(graph.copy()) is type(graph)


@st.composite
def weighted_graphs(draw):
    """A user's strategy that modifies a drawn graph."""
    graph = draw(connected_graphs(3, 3))
    for one, other in graph.edges:
        graph[one][other]["weight"] = 0.25
    return {"given": graph, "arcs": graph.to_directed(), "part": graph.subgraph([0, 1])}


def test_failing_example_of_a_users_composite_shows_the_graphs():
    @settings(database=None, deadline=None, max_examples=5)
    @given(weighted_graphs())
    def always_fails(graphs):
        raise AssertionError

    with pytest.raises(AssertionError) as caught:
        always_fails()
    report = "\n".join(caught.value.__notes__)
    assert "graph of 3: [(0, 1, 0.25)" in report
    assert "digraph of 3: [(0, 1, 0.25)" in report
    assert "object at 0x" not in report


def test_graphs_made_of_drawn_ones_print_readably():
    digraph = ReadableDiGraph([(0, 1), (1, 2)])
    assert repr(digraph) == "digraph of 3: [(0, 1), (1, 2)]"
    assert repr(digraph.to_undirected()) == "graph of 3: [(0, 1), (1, 2)]"
    assert repr(digraph.reverse()) == "digraph of 3: [(1, 0), (2, 1)]"
    assert repr(ReadableGraph()) == "graph of 0: []"
