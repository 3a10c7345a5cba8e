"""Push-sum constants: a table of reference values, the definition, and proved
properties.

The reference values are those of the table in section 4.1 of the theory, with three
digits. Each is also recomputed here from the definition sigma_2(S^t) with plain numpy.
"""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.connectivity import window
from dfltheory.testing import column_stochastic_matrices, push_sum_sequences


def cycle_one_link_per_round(n=6):
    Ps = []
    for t in range(n):
        P = np.eye(n)
        P[t, t] = P[(t + 1) % n, t] = 0.5
        Ps.append(P)
    return Ps


def literal(Ps, B, rounds, long=4000):
    """Return (q_B, delta, w_max) by the definition, over the given rounds and one more
    period once settled.
    """
    n = len(Ps[0])
    w = [np.ones(n)]
    for t in range(long + len(Ps) + B):
        w.append(Ps[t % len(Ps)] @ w[-1])
    q = 0.0
    for t in [*range(rounds), *range(long, long + len(Ps))]:
        product = np.eye(n)
        for k in range(B):
            product = Ps[(t + k) % len(Ps)] @ product
        S = np.diag(w[t + B] ** -0.5) @ product @ np.diag(w[t] ** 0.5)
        q = max(q, np.linalg.svd(S)[1][1] if n > 1 else 0.0)
    return q, min(x.min() for x in w), max(x.max() for x in w)


# -- the golden table

TABLE = [
    # name, graph, computed q, delta, C, [C/(1-q)]^2, cited 1-q, C, [C/(1-q)]^2
    (
        "directed ring 8",
        graphs.directed_ring(8),
        0.9239,
        1,
        1,
        173,
        3.5e-3,
        530,
        2.3e10,
    ),
    ("exponential 8", graphs.directed_exponential(8), 0.5, 1, 1, 4, 6.3e-3, 532, 7.1e9),
    ("complete 8", graphs.complete(8), 0, 1, 1, 1, 0.0435, 153, 1.2e7),
    (
        "ring 100",
        graphs.directed_ring(100),
        0.9995,
        1,
        1,
        4.1e6,
        7.8e-31,
        2.5e30,
        1.0e121,
    ),
    (
        "exponential 100",
        graphs.directed_exponential(100),
        0.75,
        1,
        1,
        16,
        5.5e-5,
        5.3e5,
        9e19,
    ),
    ("complete 100", graphs.complete(100), 0, 1, 1, 1, 3.3e-3, 2.0e4, 3.7e13),
]


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_golden_table(row):
    _, graph, q, delta, C, square, gap_cited, C_cited, square_cited = row
    c = graphs.push_sum_constants(graph)
    assert c.q == pytest.approx(q, abs=6e-5)
    assert (c.delta, c.C) == pytest.approx((delta, C), rel=1e-12)
    assert (c.C / (1 - c.q)) ** 2 == pytest.approx(square, rel=0.01)
    assert c.exact
    assert c.window == 1
    cited = graphs.cited_constants(graph)
    assert cited.one_minus_q == pytest.approx(gap_cited, rel=0.015)
    assert pytest.approx(C_cited, rel=0.015) == cited.C
    assert (cited.C / cited.one_minus_q) ** 2 == pytest.approx(square_cited, rel=0.06)


def test_golden_table_window():
    """6-cycle, one link per round: B = 6, q_B = .710, q = .945, delta = .5; cited
    2.4e-12, 1.4e11, 3e45.
    """
    Ps = cycle_one_link_per_round()
    c = graphs.push_sum_constants(Ps)
    assert c.window == 6
    assert c.q == pytest.approx(0.710, abs=5e-4)
    assert c.delta == pytest.approx(0.5, rel=1e-12)
    assert c.pair[1] == pytest.approx(0.945, abs=5e-4)
    # the table's C = 1/(delta q_B) = 2.8 bounds q_B^floor(t/B) by q_B^(t/B - 1);
    # q_B^((t-B+1)/B) is sharper
    assert c.C / c.q == pytest.approx(2.8, abs=0.05)
    assert c.pair[0] == pytest.approx(c.C / c.pair[1] ** 5)
    cited = graphs.cited_constants(Ps)
    assert (cited.D, cited.diameter, cited.window) == (2, 5, 6)
    assert cited.one_minus_q == pytest.approx(2.4e-12, rel=0.02)
    assert pytest.approx(1.4e11, rel=0.03) == cited.C
    assert (cited.C / cited.one_minus_q) ** 2 == pytest.approx(3e45, rel=0.2)


def test_golden_table_random_out_degree_10_of_100():
    # the table's graph is not recorded: D = 11 and a diameter of 4 give its cited
    # constants
    cited = graphs.assran_constants(100, D=11, diameter=4)
    assert cited.one_minus_q == pytest.approx(1.0e-4, rel=0.04)
    assert pytest.approx(3.2e5, rel=0.02) == cited.C
    assert (cited.C / cited.one_minus_q) ** 2 == pytest.approx(9.7e18, rel=0.02)
    # q and delta vary from draw to draw around the table's .55 and .44
    fixed = graphs.push_sum_constants(graphs.random_out_degree(100, 10, seed=1))
    assert fixed.q == pytest.approx(0.55, abs=0.04)
    assert fixed.delta == pytest.approx(0.44, abs=0.12)
    moving = graphs.push_sum_constants(
        graphs.RandomNeighbors(100, 10, directed=True), rounds=40
    )
    assert moving.q == pytest.approx(0.57, abs=0.04)
    assert 0.1 < moving.delta < 0.25
    assert not moving.exact
    assert moving.rounds == 40


# -- the definition


@pytest.mark.slow
@given(column_stochastic_matrices())
def test_constants_of_a_matrix_are_the_definition(P):
    c = graphs.push_sum_constants(P)
    q, delta, w_max = literal([P], 1, 300)
    assert c.q == pytest.approx(q, abs=2e-6)
    assert c.delta == pytest.approx(delta, rel=1e-9)
    assert c.w_max == pytest.approx(w_max, rel=1e-9)
    for form in (sp.csr_array(P), P.tolist()):
        again = graphs.push_sum_constants(form)
        assert (again.q, again.delta) == pytest.approx((c.q, c.delta), abs=1e-9)


@pytest.mark.slow
@given(push_sum_sequences())
def test_constants_of_a_periodic_sequence_are_the_definition(sequence):
    c = graphs.push_sum_constants(sequence)
    Ps = list(sequence.Ws)
    q, delta, _ = literal(Ps, c.window, 200)
    assert c.q < 1
    assert c.q >= q - 2e-6 * (1 - q)
    assert c.q <= q + 1e-5
    assert c.delta == pytest.approx(delta, rel=1e-6)
    one_step, _, _ = literal(Ps, 1, 200)
    assert (c.window == 1) == (one_step < 1 - 1e-12)


@given(column_stochastic_matrices(min_m=2), st.integers(0, 20))
def test_the_models_contract_as_stated(P, seed):
    """Checks (**) of 4.1 without gradients: the w-weighted distance decreases by q, the
    plain one stays below C q^t.
    """
    rng = np.random.default_rng(seed)
    c = graphs.push_sum_constants(P)
    m = len(P)
    x, w = rng.standard_normal((m, 3)), np.ones(m)
    mean = x.mean(axis=0)
    start = ((x - mean) ** 2).sum() / m
    weighted = start
    for t in range(1, 25):
        x, w = P @ x, P @ w
        z = x / w[:, None]
        now = (w * ((z - mean) ** 2).sum(axis=1)).sum() / m
        assert now <= c.q**2 * weighted * (1 + 1e-6) + 1e-20
        assert ((z - mean) ** 2).sum() / m <= c.q ** (2 * t) * start / c.delta * (
            1 + 1e-6
        ) + 1e-18
        weighted = now


@given(push_sum_sequences(), st.integers(0, 20))
def test_windows_contract_as_stated_and_the_pair_covers_them(sequence, seed):
    rng = np.random.default_rng(seed)
    c = graphs.push_sum_constants(sequence)
    C, q = c.pair
    m = sequence.m
    x, w = rng.standard_normal(m), np.ones(m)
    mean, start = x.mean(), math.sqrt(((x - x.mean()) ** 2).mean())
    for t in range(30):
        distance = math.sqrt(((x / w - mean) ** 2).mean())
        bound = c.q ** (t // c.window) * start / math.sqrt(c.delta)
        assert distance <= bound * (1 + 1e-5) + 1e-12
        assert c.q ** (t // c.window) / c.delta <= C * q**t * (1 + 1e-9)
        P = sequence.matrix(t)
        x, w = P @ x, P @ w


def test_window_factors_and_why_the_root_is_wrong():
    """With n = 2 and P alternating between I and (1/2)11', q_B = 0, yet errors persist
    for up to B - 1 rounds.
    """
    c = graphs.push_sum_constants([np.eye(2), np.full((2, 2), 0.5)])
    assert (c.window, c.q, c.delta) == (2, 0, 1)
    # q/(1-q) >= (B - 1 + q_B)/(1 - q_B) = 1, where the root of q_B would say 0, asks
    # for 1/2, and 1/(1-q^2) >= B/(1 - q_B^2) = 2 for sqrt(1/2)
    assert c.q_effective == pytest.approx(math.sqrt(0.5))
    for q_B, B in ((0.3, 1), (0.0, 4), (0.71, 6), (0.99, 3)):
        k = graphs.PushSumConstants(5, 0.5, q_B, B, 2.0, 10, True)
        e = k.q_effective
        assert e / (1 - e) >= (B - 1 + q_B) / (1 - q_B) * (1 - 1e-12)
        assert 1 / (1 - e * e) >= B / (1 - q_B**2) * (1 - 1e-12)
        if B == 1:
            assert e == q_B


def test_a_window_can_be_forced():
    P = graphs.column_stochastic(graphs.random_out_degree(8, 2, seed=1))
    one, three = (graphs.push_sum_constants(P, window=B) for B in (1, 3))
    assert three.window == 3
    assert three.q <= one.q**3 + 1e-9
    assert three.q == pytest.approx(literal([P], 3, 200)[0], abs=2e-6)
    with pytest.raises(InputError, match="window = 0"):
        graphs.push_sum_constants(P, window=0)
    with pytest.raises(InputError, match="window = 9"):
        graphs.push_sum_constants(
            graphs.RandomNeighbors(5, 2, directed=True), rounds=5, window=9
        )


def test_sigma_2_by_lanczos_agrees_with_lapack(monkeypatch):
    P = graphs.column_stochastic(graphs.random_out_degree(60, 4, seed=2), sparse=True)
    w = np.random.default_rng(0).uniform(0.5, 2, 60)
    w *= 60 / w.sum()
    dense = graphs.sigma_2(P, w, P @ w)
    monkeypatch.setattr("dfltheory.graphs.push_sum.DENSE_SINGULAR", 10)
    assert graphs.sigma_2(P, w, P @ w) == pytest.approx(dense, abs=1e-9)
    assert graphs.sigma_2(np.eye(1), np.ones(1), np.ones(1)) == 0
    assert graphs.sigma_2(np.eye(4), np.ones(4), np.ones(4)) == pytest.approx(1)


def test_cited_formulas_by_hand():
    # m = 3, D = 2, Diam = 1, B = 2, d = 4: e = 4, lambda = 1 - 3/16
    c = graphs.assran_constants(3, D=2, diameter=1, window=2, dim=4)
    lam = 1 - 3 / 16
    assert c.lam == pytest.approx(lam)
    assert c.q == pytest.approx(lam ** (1 / 5))
    assert pytest.approx(2 * 2 * 2**4 / lam ** (6 / 5)) == c.C
    assert graphs.assran_constants(1, D=1, diameter=0).one_minus_q == 1
    with pytest.raises(InputError, match="at least 1"):
        graphs.assran_constants(3, D=0, diameter=1)
    assert math.inf == graphs.assran_constants(10, D=10, diameter=400).C


# -- check_push_sum


def test_the_smallest_window_is_reported():
    assert graphs.check_push_sum(graphs.directed_ring(5)).details["window"] == 1
    assert graphs.check_push_sum(cycle_one_link_per_round()).details["window"] == 6
    # of the hops 1, 2, 4 of 8 clients, only hop 1 connects all, so every window
    # must contain it
    assert graphs.check_push_sum(graphs.one_peer_exponential(8)).details["window"] == 3


@given(push_sum_sequences())
def test_the_window_is_the_smallest(sequence):
    import networkx as nx

    Ps, T = sequence.Ws, sequence.period
    found = graphs.check_push_sum(sequence).details["window"]

    def serves(B):
        for l in range(T):
            total = sum(Ps[(l + k) % T] for k in range(B))
            if not nx.is_strongly_connected(
                nx.from_numpy_array(total, create_using=nx.DiGraph)
            ):
                return False
        return True

    assert serves(found)
    assert found == 1 or not serves(found - 1)


R, I = graphs.column_stochastic(graphs.directed_ring(4)), np.eye(4)


@pytest.mark.parametrize(
    ("rounds", "for_ever", "once"),
    [
        ([R, R], 1, 1),
        ([R, I], 2, 2),
        ([R, R, I], 2, 2),
        ([R, I, I], 3, 3),
        # the window of the last and the first round counts only where the list repeats
        ([I, R, I], 3, 2),
        ([R, I, R, I], 2, 2),
        ([R, I, I, R], 3, 3),
        ([I, I, R, I, I, R, R], 3, 3),
        ([I, I, R, R, I, I], 5, 3),
        ([I, I], None, None),
    ],
)
def test_windows_by_hand(rounds, for_ever, once):
    assert graphs.check_push_sum(rounds).details["window"] == for_ever
    sampled = graphs.check_push_sum(lambda t: rounds[t], rounds=len(rounds))
    assert sampled.details["window"] == once
    found, start = window([np.asarray(W) for W in rounds], periodic=True)
    assert found == for_ever
    short = [
        rounds[(start + k) % len(rounds)] for k in range((found or len(rounds) + 1) - 1)
    ]
    assert all(W is I for W in short)  # there a window that is one round shorter fails


def test_laws_can_be_chosen_and_several_can_break():
    # column 0 sums to 1.2, entry (0, 1) is negative
    twice = np.array([[0.5, -0.2], [0.7, 1.3]])
    report = graphs.check_push_sum(twice)
    assert [f.law for f in report.failures] == ["range", "column sums"]
    report = graphs.check_push_sum(twice, laws=["column sums"])
    assert [f.law for f in report.failures] == ["column sums"]
    assert "window" not in report.details
    spoilt = graphs.check_push_sum(np.array([[np.nan, 0.2], [0.7, 1.3]]))
    assert [f.law for f in spoilt.failures] == ["finite"]
    assert "window" not in spoilt.details
    assert str(graphs.check_push_sum(R)).startswith("push-sum matrix (m = 4): ok")
    assert str(graphs.check_push_sum([R, I])).startswith(
        "push-sum sequence (m = 4): ok"
    )


def test_failures_name_round_and_place():
    Ps = cycle_one_link_per_round()
    Ps[3] = Ps[3].copy()
    Ps[3][0, 2] += 0.2
    report = graphs.check_push_sum(Ps)
    assert [f.law for f in report.failures] == ["column sums"]
    assert (
        report.failures[0].message
        == "round 3: column 2 sums to 1.2, not 1 (tolerance 1e-10)"
    )
    (f,) = graphs.check_push_sum(np.array([[1.0, 0.5], [0.0, 0.5]])).failures
    assert f.law == "connectivity"
    assert f.place == "from node 0 to node 1"
    (f,) = graphs.check_push_sum(np.ones((2, 3))).failures
    assert f.law == "shape"
    with pytest.raises(GraphError, match="disconnected"):
        graphs.check_push_sum(graphs.from_matrix(np.eye(3)))


def test_sampled_sequences_say_how_far_was_looked():
    report = graphs.check_push_sum(
        graphs.RandomNeighbors(20, 3, directed=True), rounds=10
    )
    assert report.ok
    assert report.details["rounds looked at"] == 10
    assert (
        report.details["standing"] == "sampled: seen in 10 rounds, no proof for others"
    )
    assert "no proof for others" in str(report)
    assert graphs.check_push_sum([R, I]).details["standing"] == "proved for all rounds"
    report = graphs.check_push_sum(lambda t: np.eye(3), rounds=4)
    assert "in the 4 rounds" in report.failures[0].message


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.6]], "column 1 sums to 1.1, not 1"),
        ([[1.5, 0.0], [-0.5, 1.0]], "negative weight, -0.5"),
        ([[np.nan, 0.0], [0.5, 1.0]], "not finite"),
        (np.eye(3), "strongly connected"),
    ],
)
def test_constants_refuse_what_they_do_not_hold_for(P, message):
    with pytest.raises(GraphError, match=message):
        graphs.push_sum_constants(P)


def test_constants_of_sampled_rounds_are_called_estimates():
    sampled = graphs.push_sum_constants(
        graphs.RandomNeighbors(12, 3, directed=True), rounds=7
    )
    assert sampled.standing == "estimate"
    assert str(sampled).endswith("(estimates from 7 rounds)")
    held = graphs.push_sum_constants([R, I])
    assert held.standing == "computed"
    assert str(held).startswith(
        "delta = 1, q = 0.707107, C = 1 over windows of 2 rounds (computed"
    )
    assert (
        str(graphs.push_sum_constants(R))
        == "delta = 1, q = 0.707107, C = 1 (computed, for all rounds)"
    )
