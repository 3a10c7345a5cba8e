"""Laws for an algorithm's mixing matrices: each violation is rejected in one line, and
nothing valid up to rounding is.
"""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

import dfltheory.algorithms as alg
from dfltheory import graphs
from dfltheory.errors import GraphError
from dfltheory.tasks import quadratic
from dfltheory.training import train
from dfltheory.training.laws import Laws
from tests.algorithms.problems import Matrices, permuted_average, ring_matrix
from tests.algorithms.table import HYPERPARAMETERS

GOSSIP, PUSH, SPARSE = "doubly stochastic", "column-stochastic", "row-stochastic"
ONE = {GOSSIP: "dfedavg", PUSH: "osgp", SPARSE: "dispfl"}


def run(kind, topology, rounds=2, **options):
    algorithm = alg.get(ONE[kind])(**HYPERPARAMETERS[ONE[kind]])
    task = quadratic(m=6, d=3, L=1.0, mu=0.2, zeta=1.0, sigma=0.3, seed=4)
    return train(algorithm, task, topology, rounds=rounds, progress=False, **options)


def refused(kind, topology, **options):
    with pytest.raises(GraphError) as caught:
        run(kind, topology, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_entry(value, i=2, j=3):
    W = ring_matrix(6)
    W[i, j] = value
    return W


LOPSIDED = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)])
ROWS, COLUMNS = (ring_matrix(6) for _ in range(2))
ROWS[0] = COLUMNS[:, 0] = np.eye(6)[0]


WAYS = {
    "dense": lambda W: W,
    "sparse": sp.csr_array,
    "torch": torch.tensor,
    "list": lambda W: [ring_matrix(6), W],
    "callable": lambda W: lambda t: ring_matrix(6) if t == 0 else W,
    "random callable": lambda W: lambda t, rng: W,
    "sequence": lambda W: Matrices([W]),
    "random sequence": lambda W: Matrices([W], random=True),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ONE)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_weight_that_is_not_finite_never_runs(way, kind, strict, value):
    message = refused(kind, WAYS[way](with_entry(value)), check_topology=strict)
    assert (
        f"entry (2, 3) is {value}, not a finite number: use a matrix of finite weights"
        in message
    )
    assert ("round 1: " in message) == (way in ("list", "callable"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("kind", "W", "words"),
    [
        (GOSSIP, ROWS, "column 0 sums to 1.6667, not 1"),
        (GOSSIP, COLUMNS, "row 0 sums to 1.6667, not 1"),
        (GOSSIP, 2 * ring_matrix(6), "row 0 sums to 2, not 1"),
        (PUSH, ROWS, "column 0 sums to 1.6667, not 1"),
        (
            PUSH,
            np.eye(6) * 2 - ring_matrix(6),
            "entry (0, 0) is 1.66667, above 1: weights lie in [0, 1]",
        ),
        (SPARSE, COLUMNS, "row 0 sums to 1.6667, not 1"),
        (
            SPARSE,
            np.eye(6) * 1.5 - ring_matrix(6) / 2,
            "entry (0, 0) is 1.33333, above 1",
        ),
    ],
)
def test_broken_law_is_reported_with_its_place_and_a_remedy(way, kind, W, words):
    message = refused(kind, WAYS[way](W))
    assert words in message
    assert f"needs {kind} matrices: use graphs." in message
    assert "check_topology=False" in message
    assert np.isfinite(run(kind, WAYS[way](W), check_topology=False).x).all()


def test_negative_weights_where_a_bound_on_the_spectrum_is_all_that_gossip_needs():
    """Xiao and Boyd's best constant gives a star's hub a negative self-weight."""
    W = graphs.laplacian(graphs.star(6))
    assert W.min() < 0
    assert run(GOSSIP, W).diverged_at is None
    assert "negative: weights lie in [0, 1]" in refused(PUSH, W)


def test_a_directed_graph_is_for_push_sum():
    message = refused(GOSSIP, LOPSIDED)
    assert "row 3 sums to 1.3333, not 1" in message
    assert (
        "on a directed graph a push-sum algorithm (SGP, OSGP, DFedSGPM, DFedSGPSM)"
        in message
    )
    assert run(PUSH, LOPSIDED).diverged_at is None
    # balanced: doubly stochastic
    assert run(GOSSIP, graphs.directed_ring(6)).diverged_at is None
    drawn = graphs.RandomNeighbors(6, 2, directed=True)
    assert "the matrix of round 0: row" in refused(GOSSIP, drawn)
    assert run(PUSH, drawn).diverged_at is None


@pytest.mark.parametrize(
    ("topology", "words"),
    [
        (np.ones((6, 5)), "the mixing matrix has shape 6x5: it must be m x m"),
        (np.ones(6), "it must be m x m"),
        (ring_matrix(6).astype(complex), "complex: weights are real numbers"),
        (np.full((6, 6), "a"), "has the type"),
        (3, "a single number: it must be m x m"),
        (nx.empty_graph(6), "the graph is disconnected"),
        (nx.Graph(), "the graph has 0 nodes"),
        (
            lambda t: np.ones((6 - t, 6 - t)) / (6 - t),
            "the matrix of round 1 is 5 x 5, not 6 x 6",
        ),
    ],
)
def test_what_is_no_matrix_of_the_clients(topology, words):
    assert words in refused(GOSSIP, topology)


def test_sequences_that_give_no_matrix():
    class Gives:
        m, random = 6, False

        def __init__(self, W):
            self.W = W

        def matrix(self, t, rng, losses=None):
            return self.W

    assert "a sequence returned a list as its matrix" in refused(
        GOSSIP, Gives(ring_matrix(6).tolist())
    )
    assert "returned a matrix of shape (5, 5): it must be (6, 6)" in refused(
        GOSSIP, Gives(ring_matrix(5))
    )
    assert run(GOSSIP, Gives(ring_matrix(6))).diverged_at is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("kind", ONE)
def test_matrices_right_to_their_own_precision_are_no_false_alarm(kind, dtype):
    W = torch.tensor(graphs.metropolis(graphs.erdos_renyi(6, 0.6, seed=1))).to(dtype)
    assert run(kind, W).diverged_at is None
    if dtype != torch.bfloat16:
        assert run(kind, [W, W]).diverged_at is None


def test_weights_of_a_graph_may_have_come_in_single_precision():
    G = nx.cycle_graph(6)
    G.add_edges_from((i, i) for i in range(6))
    nx.set_edge_attributes(G, float(np.float32(1 / 3)), "weight")
    assert run(GOSSIP, G).diverged_at is None
    nx.set_edge_attributes(G, 0.333, "weight")
    assert "sums to 0.999, not 1" in refused(GOSSIP, G)


def laws_of(kind, m=6):
    return Laws(alg.get(ONE[kind])(**HYPERPARAMETERS[ONE[kind]]), m)


def column(*weights, m=6):
    """Return the identity with these weights in the first column."""
    W = np.eye(m)
    W[: len(weights), 0] = weights
    return W


RIGHT = {
    GOSSIP: [
        column(1 + 9e-7),
        column(1 - 9e-7),
        column(1.5, -0.5) @ column(1 / 1.5, 0.5 / 1.5),
    ],
    PUSH: [
        column(0.25, 0.75),
        column(1 - 9e-7),
        column(1 + 9e-7),
        column(1 + 9e-7, -9e-7),
    ],
}
RIGHT[SPARSE] = [W.T for W in RIGHT[PUSH]]
WRONG = {
    GOSSIP: [
        column(1 + 11e-7),
        column(1 - 11e-7),
        column(0.25, 0.75),
        column(0.25, 0.75).T,
    ],
    PUSH: [
        column(1 + 11e-7),
        column(1 - 11e-7),
        column(1 + 11e-7, -6e-7, -5e-7),
        column(0.5, 0.5 + 11e-7, -11e-7),
        column(0.25, 0.75).T,
        column(3.0, -1.0, -1.0),
        np.zeros((6, 6)),
    ],
}
WRONG[SPARSE] = [W.T for W in WRONG[PUSH]]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ONE)
def test_sums_and_weights_are_right_to_a_millionth(kind, sparse):
    def given(W):
        return sp.csr_array(W) if sparse else W

    laws = laws_of(kind)
    for W in WRONG[kind]:
        with pytest.raises(GraphError, match=r"the mixing matrix: .* needs"):
            laws.check(given(W))

    for W in [np.eye(6), ring_matrix(6), *RIGHT[kind]]:
        laws.check(given(W))
    for m in (1, 9):
        laws_of(kind, m).check(given(permuted_average(m, np.random.default_rng(m))))
    Laws(alg.DFedAvg(eta=0.1, K=1), 6, strict=False).check(given(7 * ring_matrix(6)))


@pytest.mark.parametrize("kind", ONE)
def test_check_reports_the_broken_law_and_not_one_broken_by_a_millionth(kind):
    W = np.eye(6)
    if kind == GOSSIP:  # rows first
        W[0, :2] = 1 - 1e-3, 1e-3
        W[2, 2] += 5e-7
    else:  # weights between 0 and 1 first
        W[0, 0] = 0.95
        W[2:4, 2] = 1 + 5e-7, -5e-7
    expected_messages = {
        GOSSIP: r"column 0 sums to 0.999",
        PUSH: "column 0 sums to 0.95",
        SPARSE: "row 0 sums to 0.95",
    }
    with pytest.raises(GraphError, match=expected_messages[kind]):
        laws_of(kind).check(W.T if kind == SPARSE else W)
