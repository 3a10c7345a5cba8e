"""Users' algorithms: whatever their states contain, local work in chunks gives the same
result.
"""

from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory import graphs, tasks
from dfltheory.algorithms import PushPull, RelaySGD
from dfltheory.algorithms.base import Algorithm, replace
from dfltheory.algorithms.blocks import SharedState
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError
from dfltheory.randomness import RunGenerators, uniform
from dfltheory.training import train
from dfltheory.training.oracle import RoundOracle
from tests.algorithms.problems import ring_matrix
from tests.training.own_networked import EdgeADMM, MixesTwice, RandomChoco
from tests.training.run_cases import images
from tests.training.test_local import RING, states


@dataclass(frozen=True, eq=False)
class Several(SharedState):
    """State with fields for anything an algorithm stores."""

    a: Any = None
    b: Any = None


@dataclass(frozen=True)
class Own(Algorithm):
    """Gradient steps on x, then one exchange."""

    eta: float = 0.1

    def init(self, x0, grad):
        return Several(x=x0, z=x0, a=torch.zeros_like(x0), b=torch.zeros_like(x0))

    def local_update(self, state, grad):
        return replace(state, z=self.step(state, grad))

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))

    def step(self, state, grad):
        y = grad.begin(state.x)
        return y.sub_(self.slope(grad, y), alpha=self.eta)


class LastGradients(Own):
    """Extrapolates the step from the last two gradients: a is the last one, b the one
    before.
    """

    def local_update(self, state, grad):
        g = self.slope(grad, state.x)
        y = grad.begin(state.x).sub_(g + 0.3 * (state.a - state.b), alpha=self.eta)
        return replace(state, z=y, a=g, b=state.a)


class SendsWhatItHad(Own):
    """Sends the models of the previous round."""

    def init(self, x0, grad):
        return Several(x=x0, z=x0, a=x0)

    def local_update(self, state, grad):
        return replace(state, z=state.a, a=self.step(state, grad))


class Drops(Own):
    """A vector that is needed in every second round, and None in the others."""

    def local_update(self, state, grad):
        a = None if state.a is not None else self.slope(grad, state.x)
        return replace(state, z=self.step(state, grad), a=a)


class KeepsAView(Own):
    """All clients are pulled towards one client's model, which is a view of x."""

    def init(self, x0, grad):
        return Several(x=x0, z=x0, a=x0[:, :1], b=x0.new_zeros(()).expand_as(x0))

    def local_update(self, state, grad):
        y = self.step(state, grad).lerp_(state.a, 0.3)
        return replace(state, z=y, b=state.b * 0.5 + y)

    def communicate(self, state, mix):
        x = mix(state.z)
        return replace(state, x=x, a=x[:, :1])


class OneForAll(Own):
    """All clients share one model in memory, and a vector, which each then changes."""

    def local_update(self, state, grad):
        y = self.step(state, grad)
        return replace(state, z=y, a=state.a + y)

    def communicate(self, state, mix):
        x = mix(state.z)
        return replace(
            state,
            x=x.mean(1, keepdim=True).expand_as(x),
            a=state.a[:, -1:].clone().expand_as(state.a),
        )


class Noisy(Own):
    """Draws random numbers between two minibatches."""

    draws = True

    def local_update(self, state, grad):
        y = self.step(state, grad)
        y.add_(grad.uniform(tuple(y.shape[1:])), alpha=0.1)
        return replace(state, z=y.sub_(self.slope(grad, y), alpha=self.eta))


class Seldom(Own):
    """Some clients, depending on their gradients, keep a field that shares memory with
    x.
    """

    def init(self, x0, grad):
        return Several(x=x0, z=x0, a=x0)

    def local_update(self, state, grad):
        y = self.step(state, grad)
        # clients in the same chunk do it together
        if y.shape[1] == 1 and bool(y.sum() > 0):
            return replace(state, z=y)
        return replace(
            state, z=y, a=torch.where(y.sum(-1, keepdim=True) > 0, state.a, y)
        )

    def communicate(self, state, mix):
        x = mix(state.z)
        return replace(
            state, x=x, a=torch.cat([state.a, x], dim=-1)[..., : x.shape[-1]], b=state.a
        )


class SendsAsItIs(Own):
    """Sends the models unchanged; the step is taken elsewhere."""

    def local_update(self, state, grad):
        return replace(state, a=self.slope(grad, state.x))

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z).sub_(state.a, alpha=self.eta))


class Pairs(Own):
    """The last two gradients in one tensor (S, m, 2, d)."""

    def init(self, x0, grad):
        return Several(x=x0, z=x0, a=torch.stack([x0, x0], dim=2))

    def local_update(self, state, grad):
        g = self.slope(grad, state.x)
        y = torch.sub(state.x, g + state.a.mean(2), alpha=self.eta)
        return replace(state, z=y, a=torch.stack([state.a[:, :, 1], g], dim=2))


class Grows(Own):
    """Fields whose precision and size change during the run."""

    def local_update(self, state, grad):
        y = self.step(state, grad)
        a = y.float() if grad.t < 2 else torch.cat([state.a, state.a], dim=-1).double()
        return replace(state, z=y, a=a, b=y[..., : grad.t])


class Twice(Own):
    """Two exchanges, the second of the result of the first; and one of a copy."""

    def communicate(self, state, mix):
        return replace(state, x=mix(mix(state.z)))


class Lazy(Own):
    """x <- z + (mix(z) - z)/2"""

    def communicate(self, state, mix):
        return replace(state, x=state.z.lerp(mix(state.z), 0.5))


class Finishes(Own):
    """The last step is different."""

    def finish(self, state, grad):
        return replace(state, x=self.step(state, grad))


OWN = [
    LastGradients,
    SendsWhatItHad,
    Drops,
    KeepsAView,
    OneForAll,
    Noisy,
    Pairs,
    SendsAsItIs,
    Seldom,
    Grows,
    Twice,
    Lazy,
    Finishes,
]


@pytest.mark.drawn(4)
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize(("seeds", "chunk"), [(1, 2), (2, 1)])
def test_a_state_is_what_it_is_with_all_clients_at_once(
    kind, seeds, chunk, monkeypatch
):
    in_chunks, run = states(kind(), monkeypatch, chunk, rounds=5, seeds=seeds)
    at_once, plain = states(kind(), monkeypatch, None, rounds=5, seeds=seeds)
    for found, expected in zip(in_chunks, at_once, strict=True):
        assert found.keys() == expected.keys()
        for field in expected.keys() - {"z"}:
            assert found[field].dtype == expected[field].dtype
            torch.testing.assert_close(
                found[field], expected[field], rtol=0, atol=1e-12
            )
        assert torch.equal(found["z"], found["x"])
    np.testing.assert_allclose(run.x, plain.x, rtol=0, atol=1e-12)


class SendsMore(alg.FedAvg):
    """Sends the change of the sampled clients, in addition to the models; 0 for the
    others.
    """

    def init(self, x0, grad):
        return Several(x=x0, z=x0)

    def local_update(self, state, grad):
        z = super().local_update(state, grad).z
        return replace(state, z=z, a=z - state.x)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


class SampledAndHeld(alg.FedAvg):
    """Some clients work; then all move half of the way back to the start of the round,
    a field that is x.
    """

    def init(self, x0, grad):
        return Several(x=x0, z=x0, a=x0)

    def communicate(self, state, mix):
        x = mix(state.z).lerp_(state.a, 0.5)
        return replace(state, x=x, a=x)


@pytest.mark.parametrize("chunk", [1, 2])
def test_what_sampled_clients_share_with_a_field_is_not_written_over(
    chunk, monkeypatch
):
    algorithm = SampledAndHeld(eta=0.2, K=2, participation=0.4)
    found, _ = states(algorithm, monkeypatch, chunk, seeds=1)
    expected, _ = states(algorithm, monkeypatch, None, seeds=1)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one["x"], other["x"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seeds", [1, 2])
def test_who_was_not_sampled_has_nothing_in_a_new_field(seeds, monkeypatch):
    algorithm = SendsMore(eta=0.2, K=2, participation=0.4)
    (found,), _ = states(algorithm, monkeypatch, 1, rounds=1, seeds=seeds)
    (expected,), _ = states(algorithm, monkeypatch, None, rounds=1, seeds=seeds)
    torch.testing.assert_close(found["a"], expected["a"], rtol=0, atol=1e-12)
    assert (expected["a"] == 0).all(-1).any()


def test_numbers_are_drawn_for_clients():
    grad = RoundOracle(images(), RunGenerators(0, [0]), 0, 1).of(slice(1, 3))
    with pytest.raises(InputError, match=r"uniform\(\(4,\)\)"):
        grad.uniform((4,))


def test_a_history_is_not_touched_by_what_comes_after(monkeypatch):
    """Two runs of one algorithm on one task from one start do not affect each other."""
    task = images()
    monkeypatch.setattr(type(task), "chunk", lambda self, seeds: 2)
    x0, algorithm = (
        torch.randn(task.m, task.d, dtype=torch.float64),
        alg.DFedADMM(eta=0.1, K=2, lam=1.0),
    )
    first = train(algorithm, task, RING, 3, 2, x0)
    kept, start = first.x.copy(), x0.clone()
    second = train(algorithm, task, RING, 3, 2, x0)
    np.testing.assert_array_equal(first.x, kept)
    np.testing.assert_array_equal(second.x, kept)
    assert not np.shares_memory(first.x, second.x)
    assert not np.shares_memory(first.x, x0.numpy())
    assert torch.equal(x0, start)


# -- what a network provides besides mix(z)


def heterogeneous(m):
    return tasks.quadratic(m=m, d=3, sigma=0.0, zeta=2.0, hessians="random", seed=1)


def a_digraph():
    graph = nx.cycle_graph(6, create_using=nx.DiGraph)
    graph.add_edges_from([(0, 3), (4, 1), (2, 0)])
    return graph


def test_two_matrices_come_by_name_or_from_one_graph_whose_links_both_have():
    graph, task = a_digraph(), heterogeneous(6)
    given = {"W": graphs.row_stochastic(graph), "B": graphs.column_stochastic(graph)}
    same = train(PushPull(0.1), task, graph, 20)
    few = train(PushPull(0.1), task, given, 20)
    np.testing.assert_array_equal(same.x, few.x)
    A = given["W"]
    with pytest.raises(UnknownNameError, match="C"):
        train(Asks(0.1), task, given, 1)
    with pytest.raises(
        InputError,
        match=r"PushPull .*W, B.*W, C",
    ):
        train(PushPull(0.1), task, {"W": A, "C": given["B"]}, 1)
    with pytest.raises(
        DFLTheoryError,
        match=r"column 4 .*PushPull .*column-stochastic",
    ):
        train(PushPull(0.1), task, {"W": A, "B": A}, 1)


class Asks(PushPull):
    """Requests a matrix that is not provided."""

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z, W="C"))


def test_algorithms_reject_unsuitable_networks():
    disconnected = np.eye(7)
    disconnected[:6, :6] = ring_matrix(6)
    for network, words in (
        (graphs.ring(7), "7 links in 1 part"),
        (disconnected, "6 links in 2 parts"),
    ):
        with pytest.raises(
            DFLTheoryError,
            match=rf"7 clients with {words} do not form a tree; RelaySGD needs",
        ):
            train(RelaySGD(0.1), heterogeneous(7), network, 1)
    one_way = 0.5 * np.eye(6) + 0.5 * np.eye(6)[[1, 2, 3, 4, 5, 0]]
    with pytest.raises(DFLTheoryError, match=r"client 0 .*client 1 .*EdgeADMM"):
        train(EdgeADMM(0.1), heterogeneous(6), one_way, 1)


def test_compressed_messages_have_chance_and_a_count_of_their_own():
    task, W = heterogeneous(5), ring_matrix(5)
    run, again = (train(RandomChoco(0.05), task, W, 8, 2) for _ in range(2))
    np.testing.assert_array_equal(run.x, again.x)
    alone = train(RandomChoco(0.05), task, W, 8, [1])
    np.testing.assert_allclose(alone.x[0], run.x[1], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(alone.sent_bits[0], run.sent_bits[1])
    expected_bits = np.zeros((2, 9))
    for t in range(8):
        generators = RunGenerators(0, range(2)).at(t, "message")
        numbers = uniform(generators, (5, 3), torch.empty(0, dtype=torch.float64))
        for s in range(2):
            expected_bits[s, t + 1 :] += 2 * 64 * int((numbers[s] < 0.5).sum())
    np.testing.assert_array_equal(run.sent_bits, expected_bits)


def test_a_registered_class_is_found_by_name_and_keeps_its_place_in_documents(
    monkeypatch,
):
    from dfltheory.training.options import name_of, names_of

    monkeypatch.setattr(alg, "_OWN", {})
    assert alg.register(MixesTwice) is MixesTwice
    assert alg.register(MixesTwice) is MixesTwice  # its module may be imported again
    assert alg.get("mixes-twice") is MixesTwice
    assert "mixestwice" in names_of("algorithm")
    assert "mixestwice" not in alg.ALGORITHMS
    assert name_of(MixesTwice) == "tests.training.own_networked:MixesTwice"
    for name in ("DFedAvg", "MixesTwice"):
        with pytest.raises(InputError, match=name.lower()):
            alg.register(type(name, (Own,), {}))
    with pytest.raises(InputError, match="@register"):
        alg.register(MixesTwice())


def test_edges_reject_a_network_that_changes():
    with pytest.raises(InputError, match=r"edges .*network"):
        train(EdgeADMM(0.1), images(), graphs.RandomMatching(5), 1)

    @dataclass(frozen=True)
    class Undeclared(EdgeADMM):
        def init(self, x0, grad):
            return Several(x=x0, z=x0, a=grad.edges.own(x0))

    with pytest.raises(
        InputError,
        match=(
            r"a has shape \(2, 10, \d+\): .* list values of arcs in per_edge of the state's class"
        ),
    ):
        train(Undeclared(0.1), images(), graphs.ring(5), 1, 2)
