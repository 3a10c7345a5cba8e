"""All implementations of mixing agree with the matrix product, and Q steps over
changing networks use Q matrices.
"""

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.algorithms import DFedSAM, Local, PushPull
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.graphs import as_sequence
from dfltheory.training import products
from dfltheory.training.mixing import RunNetwork
from dfltheory.training.products import mixing_product
from dfltheory.training.server import ServerNetwork
from tests.algorithms.problems import Matrices, permuted_average, ring_matrix


def plainly(W, z, times=1):
    W = torch.as_tensor(W.toarray() if sp.issparse(W) else W, dtype=torch.float64)
    for _ in range(times):
        z = torch.stack([W @ zs for zs in z])
    return z


WAYS = {
    "dense": {"SPARSE_BELOW": 0.0},
    "scipy": {"SPARSE_BELOW": 2.0, "SMALL": 0, "DENSE_UP_TO": 0},
    "chosen": {},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("width", [4, 600])
def test_every_way_is_the_same_product(way, seeds, sparse, times, width, monkeypatch):
    for name, value in WAYS[way].items():
        monkeypatch.setattr(products, name, value)
    monkeypatch.setattr(products, "CACHE_BLOCK", width * 8 * 8)
    W = ring_matrix(8)
    W[3] = 0  # and a client without in-neighbors
    z = torch.randn(
        seeds, 8, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    before, expected = z.clone(), plainly(W, z, times)
    step = mixing_product(
        sp.csr_array(W) if sparse else W, z.dtype, z.device, times, d=6
    )
    torch.testing.assert_close(step(z), expected, rtol=0, atol=1e-14)
    assert torch.equal(z, before)
    view = torch.cat([z, z], dim=1)[:, 4:12].copy_(z)  # of more
    torch.testing.assert_close(step(view), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("m", [6, 600])  # dense, and sparse
def test_other_precisions(dtype, m):
    W = ring_matrix(m)
    z = torch.randn(2, m, 5, dtype=torch.float64)
    twice = mixing_product(W, dtype, z.device, 2, d=5)(z.to(dtype))
    torch.testing.assert_close(twice.double(), plainly(W, z, 2), rtol=0, atol=0.05)
    mixed = mixing_product(W, dtype, z.device, d=5)(z.to(dtype))
    assert mixed.dtype == dtype
    torch.testing.assert_close(
        mixed.double(),
        plainly(W, z),
        rtol=0,
        atol={torch.float32: 1e-6}.get(dtype, 0.05),
    )


def way_of(step):
    """Return the name of the function that multiplies, in whatever precision."""
    if step.func is products._in_precision:
        step = step.args[1]
    return step.func.__name__


@pytest.mark.parametrize(
    ("m", "times", "d", "way"),
    [
        (30, 1, 10**4, "_dense"),  # 3 m weights are a tenth of m^2
        (31, 1, 10**4, "_sparse"),
        # one dense product with W^2 for two sparse ones with W
        (31, 2, 10**4, "_dense"),
        (62, 2, 10**4, "_sparse"),
        (62, 3, 10**4, "_dense"),
        # 10^5 multiplications: faster than the overhead of a sparse product
        (50, 1, 40, "_dense"),
        (50, 1, 41, "_sparse"),
        (31, 1, 10**6, "_sparse"),
    ],
)
def test_the_cheaper_way_is_taken(m, times, d, way):
    W = ring_matrix(m)
    for given_as in (W, sp.csr_array(W)):
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            assert way_of(mixing_product(given_as, dtype, "cpu", times, d=d)) == way


def test_a_power_of_a_sparse_matrix_is_held_as_a_dense_one_up_to_a_size(monkeypatch):
    monkeypatch.setattr(products, "DENSE_UP_TO", 40)
    for m, way in ((40, "_dense"), (41, "_sparse")):
        assert (
            mixing_product(
                ring_matrix(m), torch.float64, "cpu", 9, d=10**4
            ).func.__name__
            == way
        )
    full = np.full((41, 41), 1 / 41)  # no larger than the input
    assert (
        mixing_product(full, torch.float64, "cpu", 9, d=10**4).func is products._dense
    )


def test_ten_thousand_clients_make_no_dense_matrix():
    W = graphs.metropolis(graphs.ring(10_000))
    assert sp.issparse(W)
    step = mixing_product(W, torch.float64, "cpu", times=4, d=3)
    assert step.func is products._sparse
    z = torch.randn(1, 10_000, 3, dtype=torch.float64)
    third = (z + z.roll(1, 1) + z.roll(-1, 1)) / 3
    torch.testing.assert_close(mixing_product(W, torch.float64, "cpu", d=3)(z), third)


def network_of(sequence, seeds, root, like, steps=1):
    return RunNetwork(
        {"W": sequence}, DFedSAM(eta=0.1, K=1, Q=steps), seeds, root, like, strict=False
    )


def test_a_network_keeps_no_copy_of_the_models_that_it_is_made_for():
    models = torch.zeros(2, 6, 3)
    held, network = (
        weakref.ref(models),
        network_of(as_sequence(ring_matrix(6)), [0, 1], 0, models),
    )
    del models
    assert held() is None
    assert network.at(0)(torch.ones(2, 6, 3)).shape == (2, 6, 3)


def asked(network, t, times):
    """Return the rounds for which a sequence was called."""
    calls = []
    sequence = network.sources["W"].sequence
    original = sequence.matrix

    def matrix(step, rng, losses=None):
        calls.append(step)
        return original(step, rng)

    sequence.matrix = matrix
    network.at(t)(torch.zeros(1, sequence.m, 2, dtype=torch.float64), times=times)
    return calls


def like(m, d=2):
    return torch.zeros(1, m, d, dtype=torch.float64)


def test_gossip_steps_move_on_through_a_moving_network():
    matrices = [permuted_average(4, np.random.default_rng(k)) for k in range(5)]
    network = network_of(Matrices(matrices), [0], 0, like(4), steps=3)
    assert asked(network, 2, 3) == [6, 7, 8]
    z = torch.randn(1, 4, 2, dtype=torch.float64)
    expected = z
    for k in (6, 7, 8):
        expected = plainly(matrices[k % 5], expected)
    torch.testing.assert_close(network.at(2)(z, times=3), expected)


@pytest.mark.parametrize("random", [False, True])
def test_mixing_twice_is_mixing_by_two_fresh_matrices(random):
    """Everything mixed in one call uses the same matrices, whatever was mixed before
    it.
    """
    matrices = [permuted_average(4, np.random.default_rng(k)) for k in range(9)]
    z = torch.randn(
        2, 4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    mix = network_of(Matrices(matrices, random), [0, 1], 0, like(4), steps=3).at(1)
    thrice = network_of(Matrices(matrices, random), [0, 1], 0, like(4), steps=3).at(1)(
        z, times=3
    )
    once = mix(z)
    continued = (
        mix(mix(once, after=1), after=2),
        mix(once, times=2, after=1),
        mix(mix(z, times=2), after=2),
        mix(z, times=3),
    )
    for mixed in continued:
        torch.testing.assert_close(mixed, thrice, rtol=0, atol=1e-14)
    assert torch.equal(mix(z), once)
    # without ``after``, start again at the first matrix
    assert torch.equal(mix(once), mix(once.clone()))
    assert not torch.allclose(mix(once), mix(once, after=1))


@pytest.mark.parametrize("after", [-1, 0.5])
def test_mix_rejects_a_number_of_earlier_steps_that_is_no_whole_number(after):
    mix = network_of(as_sequence(ring_matrix(4)), [0], 0, like(4)).at(0)
    with pytest.raises(InputError, match="after"):
        mix(like(4), after=after)


def test_mix_rejects_to_continue_into_the_matrices_of_the_next_round():
    matrices = [permuted_average(4, np.random.default_rng(k)) for k in range(9)]
    mix = network_of(Matrices(matrices), [0], 0, like(4), steps=2).at(0)
    mix(like(4), after=1)
    with pytest.raises(InputError, match="gossip_steps"):
        mix(like(4), after=2)


def test_a_matrix_that_stays_is_prepared_once_and_multiplied_by_its_power():
    W = ring_matrix(6)
    source = network_of(Matrices([W]), [0], 0, like(6)).sources["W"]
    cubed = source.step([W] * 3)
    torch.testing.assert_close(cubed.args[0], torch.from_numpy(W @ W @ W))
    assert source.step([W] * 3) is cubed
    torch.testing.assert_close(source.step([W]).args[0], torch.from_numpy(W))


def test_random_networks_are_fresh_for_every_step_and_seed_and_one_in_a_round():
    matrices = [permuted_average(5, np.random.default_rng(k)) for k in range(50)]
    network = network_of(Matrices(matrices, random=True), [0, 1, 7], 3, like(5))
    z = torch.eye(5, dtype=torch.float64).expand(3, 5, 5)
    mix = network.at(4)
    first = mix(z)
    assert torch.equal(first, mix(z))  # x and w of push-sum use the same matrix
    assert torch.equal(first, network.at(4)(z))
    assert not torch.equal(first, network.at(5)(z))
    assert not torch.equal(first[0], first[1])
    twice = network.at(4)(z, times=2)
    for s in range(3):
        torch.testing.assert_close(
            twice[s] @ torch.linalg.inv(first[s]),
            next_matrix(twice[s], first[s], matrices),
        )
    alone = network_of(Matrices(matrices, random=True), [7], 3, like(5))
    assert torch.equal(alone.at(4)(z[:1])[0], first[2])


def test_numbers_of_clients_are_mixed_with_an_axis_more():
    with pytest.raises(InputError, match=r"mix .*\(S, m, k\).*\(2, 5\)"):
        network_of(Matrices([ring_matrix(5)]), [0, 1], 0, like(5)).at(0)(
            torch.zeros(2, 5)
        )


def next_matrix(product_, first, matrices):
    """Return the matrix that gives the product after the first one; it must be one of
    those given.
    """
    found = [
        W
        for W in matrices
        if np.allclose(W @ first.numpy(), product_.numpy(), atol=1e-12)
    ]
    assert len(found) == 1
    assert not np.allclose(found[0], first.numpy())
    return torch.from_numpy(found[0])


def test_losses_choose_the_neighbours():
    class Chooses:
        m, random, needs_losses = 3, True, True

        def matrix(self, t, rng, losses=None):
            return np.eye(3)[np.argsort(losses)]

    network = network_of(Chooses(), [0, 1], 0, like(3))
    losses = torch.tensor([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    z = torch.tensor([[10.0], [20.0], [30.0]], dtype=torch.float64).expand(2, 3, 1)
    mixed = network.at(0, losses)(z)[..., 0]
    assert mixed.tolist() == [[20.0, 30.0, 10.0], [10.0, 20.0, 30.0]]


@given(m=st.integers(1, 6), seed=st.integers(0, 99))
def test_server_sends_the_mean_of_participating_clients_to_all(m, seed):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2, m, 3, generator=generator, dtype=torch.float64)
    active = torch.rand(2, m, 1, generator=generator) < 0.5
    active[:, 0] = True
    server = ServerNetwork({}, Local(eta=0.1, K=1), [0, 1], 0, z)
    equally_many = torch.stack((active[0], active[0].roll(1, 0)))
    for mask in (active, equally_many):
        before, mixed = z.clone(), server.with_clients(0, mask)(z)
        assert torch.equal(z, before)
        assert mixed.is_contiguous()
        for s in range(2):
            mean = z[s][mask[s, :, 0]].mean(0)
            torch.testing.assert_close(mixed[s], mean.expand(m, 3))
    torch.testing.assert_close(server.at(1)(z), z.mean(1, keepdim=True).expand_as(z))


@pytest.mark.parametrize("times", [1, 3])
def test_the_product_of_gpus_is_the_same(times):
    W = ring_matrix(7)
    z = torch.randn(
        2, 7, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    W = products._coo_tensor(sp.csr_array(W))
    found = products._on_device([W] * times, z)
    torch.testing.assert_close(
        found, plainly(W.to_dense().numpy(), z, times), rtol=0, atol=1e-14
    )


def test_arcs_of_a_period_carry_what_their_round_lets_through():
    """0 <-> 1 in even rounds, 1 -> 2 in odd ones; all arcs exist in both, with the
    weights of the round.
    """
    even, odd = np.eye(3), np.eye(3)
    even[:2, :2] = [[0.75, 0.25], [0.5, 0.5]]
    odd[2] = [0, 0.125, 0.875]
    network = network_of(as_sequence([even, odd]), [0, 1], 0, like(3))
    x = torch.tensor([[[1.0], [2.0], [4.0]]], dtype=torch.float64).expand(2, 3, 1)
    for t, weights, gathered in (
        (0, [0.25, 0.5, 0], [2, 1, 0]),
        (1, [0, 0, 0.125], [0, 0, 2]),
    ):
        mix = network.at(t)
        edges = mix.edges
        assert (edges.receivers.tolist(), edges.senders.tolist()) == (
            [0, 1, 2],
            [1, 0, 1],
        )
        assert edges.reverse.tolist() == [1, 0, -1]
        assert edges.weights.tolist() == weights
        before = network.sent.copy()
        assert mix.gather(x)[1, :, 0].tolist() == gathered
        assert (network.sent - before).tolist() == [64 * (2 - t)] * 2
        assert edges.own(x)[0, :, 0].tolist() == [1, 2, 4]
        assert edges.sum(edges.own(x) + 1)[0, :, 0].tolist() == [2, 3, 5]
    with pytest.raises(InputError, match="swap "):
        network.at(0).swap(edges.own(x))
    part = edges.of(slice(1, 3))
    assert (part.receivers.tolist(), part.senders.tolist(), part.first) == (
        [0, 1],
        [0, 1],
        (0, 1, 2),
    )
    part = edges.of(torch.tensor([2, 0]))
    assert (part.receivers.tolist(), part.senders.tolist(), part.first) == (
        [0, 1],
        [1, 1],
        (0, 1, 2),
    )
    assert part.weights.tolist() == [edges.weights[2], edges.weights[0]]
    assert edges.part(torch.tensor([2, 0])).tolist() == [2, 0]
    star = network_of(as_sequence(graphs.star(4)), [0], 0, like(4)).at(0).edges
    part = star.of(torch.tensor([2, 0]))
    assert (part.receivers.tolist(), part.senders.tolist(), part.first) == (
        [0, 1, 1, 1],
        [0, 1, 2, 3],
        (0, 1, 4),
    )
    both = network_of(as_sequence([even, even.T]), [0], 0, like(3)).at(0)
    assert both.swap(torch.tensor([[[5.0], [7.0]]], dtype=torch.float64))[
        0, :, 0
    ].tolist() == [7, 5]


def test_messages_over_a_further_matrix_are_counted_over_its_links():
    W, B, z = np.full((3, 3), 1 / 3), np.eye(3), like(3).expand(2, -1, -1)
    B[:2, :2] = [[0.5, 0], [0.5, 1]]  # only 1 has another in-neighbor
    pair = {"W": as_sequence(W), "B": as_sequence(B)}
    network = RunNetwork(pair, PushPull(eta=0.1), [0, 1], 0, z)
    server = ServerNetwork({}, PushPull(eta=0.1), [0, 1], 0, z)
    sent_bits = []
    for name in ("W", "B"):
        before = network.sent
        network.at(0).send(z, 7, W=name)
        sent_bits.append((network.sent - before).tolist())
    assert sent_bits == [[42, 42], [7, 7]]
    for mix in (network.at(0), server.at(0)):
        for ask in (mix, mix.send):
            with pytest.raises(UnknownNameError, match="'C'"):
                ask(z, W="C")


def test_clients_that_only_send_or_only_receive_participate():
    W = np.eye(4)
    W[2, 1] = 0.5
    mix = network_of(as_sequence(W), [0, 1], 0, like(4)).at(0)
    assert mix.participating[:, :, 0].tolist() == [[False, True, True, False]] * 2


def test_bits_are_a_number_or_each_clients_own():
    W = np.full((3, 3), 1 / 3)
    W[0, 2] = 0  # 0 receives nothing from 2
    network = network_of(as_sequence(W), [0, 1], 0, like(3))
    z = torch.zeros(2, 3, 2, dtype=torch.float32)
    sent_bits = []
    for bits in (
        None,
        7,
        torch.tensor([[1, 10, 100], [0, 0, 1000]]),
        torch.zeros(2, 3, 1),
    ):
        before = network.sent.copy()
        network.at(0)(z.double(), bits=bits)
        network.at(0).send(z, bits)
        sent_bits.append((network.sent - before).tolist())
    assert sent_bits == [
        [5 * 128 + 5 * 64] * 2,
        [70, 70],
        [2 * (2 + 20 + 100), 2 * 1000],
        [0, 0],
    ]
