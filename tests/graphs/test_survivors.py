"""Boundary cases that catch single-character mutations, each of which once survived the
tests.
"""

import math

import networkx as nx
import numpy as np
import pytest

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError


def test_the_pattern_decides_whether_a_matrix_is_a_graph_or_a_digraph():
    symmetric = graphs.from_matrix(nx.to_numpy_array(graphs.star(5)))
    assert not symmetric.is_directed()
    assert nx.is_isomorphic(symmetric, graphs.star(5))
    arcs = graphs.from_matrix(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    assert arcs.is_directed()
    one_way = np.eye(3)
    one_way[0, 1] = 0.5
    # a single entry without its transpose is enough
    assert graphs.from_matrix(one_way).is_directed()


def test_erdos_renyi_has_probability_2_log_m_over_m_by_default():
    """For 4950 pairs at p = 2 log(100)/100, 456 links are expected with standard
    deviation 20.3; 5 deviations are allowed.
    """
    p = 2 * math.log(100) / 100
    links = graphs.erdos_renyi(100, seed=0).number_of_edges()
    assert abs(links - 4950 * p) < 5 * math.sqrt(4950 * p * (1 - p))


def test_small_regular_graphs_and_cliques():
    assert graphs.random_regular(2, 1).number_of_edges() == 1
    with pytest.raises(GraphError, match="degree = 0"):
        graphs.random_regular(4, 0)
    joined = graphs.two_cliques(6, bridges=1)
    assert joined.number_of_edges() == 2 * 3 + 1
    with pytest.raises(InputError, match="bridges = 0"):
        graphs.two_cliques(6, bridges=0)


def test_an_isolated_first_client_is_the_witness():
    graph = nx.empty_graph(4)
    graph.add_edges_from([(1, 2), (2, 3)])
    with pytest.raises(GraphError, match=r"node 0 .*node 1"):
        graphs.metropolis(graph)


def test_a_thick_circulant_is_seen_as_one():
    """With 100 neighbors per client, two rows are checked before all of them, and the
    FFT gives the spectrum.
    """
    m, reach = 400, 50
    row = np.zeros(m)
    row[np.r_[0 : reach + 1, -reach:0]] = 1 / (2 * reach + 1)
    W = np.array([np.roll(row, i) for i in range(m)])
    report = graphs.spectral_report(W)
    assert report.method == "fft"
    exact = np.sort(np.abs(np.linalg.eigvalsh(W)))[-2]
    assert report.lam == pytest.approx(exact, abs=1e-12)


def test_one_client_has_no_other_to_draw():
    np.testing.assert_array_equal(
        graphs.LossDriven(1).probabilities(np.array([3.0])), [[0.0]]
    )


def test_the_cited_constants_take_a_diameter_of_at_least_zero():
    with pytest.raises(InputError, match="diameter"):
        graphs.assran_constants(4, 4, -1)


def test_a_sampled_contraction_of_zero_has_an_error_bar():
    from dfltheory.graphs.network import _estimate

    found = _estimate(np.zeros(4), "draws", 4)
    assert (found.lam, found.standard_error) == (0.0, 0.0)


def test_the_push_sum_contraction_is_the_largest_over_all_rounds():
    """q is the maximum over the transient of the weights, and no round is skipped."""
    for seed in range(4):
        P = graphs.column_stochastic(graphs.random_out_degree(7, 2, seed=seed))
        w, worst = np.ones(7), 0.0
        for _ in range(60):
            after = P @ w
            worst = max(worst, graphs.sigma_2(P, w, after))
            w = after
        assert graphs.push_sum_constants(P).q == pytest.approx(worst, rel=2e-6)
