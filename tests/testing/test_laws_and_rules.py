"""Users' laws and weight rules, and strategies for sequences and given graphs."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.bounds import Scope
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs import check_mixing_matrix, metropolis
from dfltheory.graphs.connectivity import window
from dfltheory.testing import (
    b_connected_sequences,
    check_weight_rule,
    law,
    mixing_matrices,
    near_misses,
    random_sequences,
    weights_on,
)


@law
def half_stays(W):
    too_small = np.flatnonzero(W.diagonal() < 0.5)
    return too_small[0] if len(too_small) else None


@law(name="equal rounds", of="sequence")
def equal_rounds(matrices):
    return all(np.array_equal(W, matrices[0]) for W in matrices)


KEEPS_MUCH = np.array([[0.75, 0.25], [0.25, 0.75]])
KEEPS_LITTLE = np.array([[0.75, 0.25], [0.75, 0.25]])


def test_law_gives_name_and_witness():
    failure = half_stays.witness(KEEPS_LITTLE)
    assert (failure.law, failure.place) == ("half stays", "client 1")
    assert half_stays.holds(KEEPS_MUCH)
    with pytest.raises(GraphError):
        half_stays.check(KEEPS_LITTLE)


def test_law_of_sequence_gets_all_matrices():
    assert equal_rounds.holds([KEEPS_MUCH, KEEPS_MUCH])
    assert not equal_rounds.holds([KEEPS_MUCH, np.eye(2)])


def test_law_of_matrix_names_the_round():
    assert half_stays.witness([KEEPS_MUCH, KEEPS_LITTLE]).place == "round 1: client 1"


@pytest.mark.parametrize("answer", [7, (0, 2), (0, 1, 1), 0.5])
def test_law_with_another_answer_is_rejected(answer):
    with pytest.raises(InputError):
        law(lambda W: answer)(KEEPS_MUCH)


def test_check_mixing_matrix_applies_user_laws():
    report = check_mixing_matrix(KEEPS_LITTLE, laws=["range", half_stays])
    assert report.laws == ("range", "half stays")
    assert [failure.law for failure in report.failures] == ["half stays"]


def test_scope_accepts_a_law():
    scope = Scope(algorithms=("DPSGD",), network=half_stays)
    assert scope.network(KEEPS_MUCH) is None
    assert isinstance(scope.network(KEEPS_LITTLE), str)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["shape", "column sums", "graph", "links"])
def test_near_miss_by_name_breaks_its_law(name):
    @given(near_misses(law=name))
    def breaks(miss):
        report = check_mixing_matrix(miss.W, miss.graph)
        allowed = {"column sums": {"symmetry"}}.get(name, set())
        assert {failure.law for failure in report.failures} == {name} | allowed

    breaks()


@given(near_misses(law=half_stays))
def test_near_miss_of_user_law_satisfies_definition_1(miss):
    assert check_mixing_matrix(miss.W).ok
    assert miss.W[miss.place] < 0.5


@given(b_connected_sequences())
def test_b_connected_sequence_is_connected_over_its_period(sequence):
    smallest, _ = window(sequence.Ws, periodic=True)
    assert smallest is not None
    assert smallest <= sequence.period
    assert check_mixing_matrix(sequence, laws="symmetric").ok


@given(random_sequences())
def test_random_sequence_satisfies_definition_1_in_each_round(sequence):
    assert sequence.random
    assert check_mixing_matrix(sequence).ok


@given(weights_on(nx.relabel_nodes(nx.star_graph(3), dict(enumerate("cabd")))))
def test_weights_on_graph_use_exactly_its_links(W):
    graph = nx.relabel_nodes(nx.star_graph(3), dict(enumerate("cabd")))
    assert check_mixing_matrix(W, graph).ok


def test_weights_on_disconnected_graph_are_rejected():
    @given(weights_on(nx.empty_graph(2)))
    def draws(W):
        raise AssertionError("a matrix was drawn")

    with pytest.raises(GraphError):
        draws()


def test_weight_rule_that_is_right_satisfies_all_laws():
    report = check_weight_rule(metropolis, examples=5)
    assert report.ok
    assert report.held == report.laws


def test_weight_rule_that_is_wrong_gets_smallest_graph():
    def too_heavy(graph):
        W = nx.to_numpy_array(graph)
        return W + np.diag(1 - W.sum(axis=1))

    report = check_weight_rule(
        too_heavy, laws=["symmetry", "self-weights"], examples=30
    )
    assert report.held == ("symmetry",)
    assert len(report.witnesses["self-weights"].graph) == 2


def test_weight_rule_that_raises_is_reported():
    def fails_on_three(graph):
        if len(graph) > 2:
            raise ValueError("three nodes")
        return metropolis(graph)

    report = check_weight_rule(fails_on_three, laws=["symmetry"], examples=50)
    assert len(report.witnesses["returns a matrix"].graph) == 3


@given(mixing_matrices())
def test_first_check_meets_the_default_deadline(W):
    check_mixing_matrix(W, laws=["spectrum", "null space"]).raise_if_failed()


def by_largest_degree(graph):
    """Divide weights by a degree, which is 0 for one node."""
    A = nx.to_numpy_array(graph)
    W = A / (2 * A.sum(axis=1).max())
    return W + np.diag(1 - W.sum(axis=1))


def test_rule_that_divides_by_a_degree_is_not_tried_on_one_node():
    report = check_weight_rule(by_largest_degree, examples=12)
    assert report.ok


def test_matrix_that_is_not_finite_breaks_that_law_alone():
    one_node = st.just(nx.empty_graph(1))
    with np.errstate(invalid="ignore"):
        report = check_weight_rule(by_largest_degree, graphs=one_node)
    assert list(report.witnesses) == ["finite"]
