"""The contract in pieces: local work of a few clients at a time gives the states of all
clients at once, whatever states contain, and leaves other tensors unchanged.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.base import Algorithm, replace
from dfltheory.algorithms.blocks import SharedState
from dfltheory.training import train
from tests.training.run_cases import images
from tests.training.run_in_pieces import RING, states_and_run


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


SIZES = [(1, 2), (2, 1)]
"""Numbers of seeds, and of clients at a time."""


def kinds_and_sizes():
    """Return all kinds of states with all sizes, of which one for each kind is quick."""
    cases = []
    for number, kind in enumerate(OWN):
        for place, sizes in enumerate(SIZES):
            marks = [] if number % 2 == place else [pytest.mark.slow]
            name = f"{kind.__name__}-{sizes}"
            cases.append(pytest.param(kind, *sizes, marks=marks, id=name))
    return cases


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("kind", "seeds", "chunk"), kinds_and_sizes())
def test_states_in_pieces_are_the_states_of_all_clients_at_once(
    kind, seeds, chunk, monkeypatch
):
    in_chunks, run = states_and_run(kind(), monkeypatch, chunk, rounds=5, seeds=seeds)
    at_once, plain = states_and_run(kind(), monkeypatch, None, rounds=5, seeds=seeds)
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
def test_field_that_shares_memory_with_models_of_sampled_clients_is_kept(
    chunk, monkeypatch
):
    algorithm = SampledAndHeld(eta=0.2, K=2, participation=0.4)
    found, _ = states_and_run(algorithm, monkeypatch, chunk, seeds=1)
    expected, _ = states_and_run(algorithm, monkeypatch, None, seeds=1)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one["x"], other["x"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seeds", [1, 2])
def test_new_field_of_clients_that_were_not_sampled_is_zero(seeds, monkeypatch):
    algorithm = SendsMore(eta=0.2, K=2, participation=0.4)
    (found,), _ = states_and_run(algorithm, monkeypatch, 1, rounds=1, seeds=seeds)
    (expected,), _ = states_and_run(algorithm, monkeypatch, None, rounds=1, seeds=seeds)
    torch.testing.assert_close(found["a"], expected["a"], rtol=0, atol=1e-12)
    assert (expected["a"] == 0).all(-1).any()


@pytest.mark.parametrize("chunk", [None, 2])
def test_states_that_a_callback_keeps_do_not_change(chunk, monkeypatch):
    task, kept = images(), []
    monkeypatch.setattr(type(task), "chunk", lambda self, seeds: chunk)

    def keep(t, state, recorder):
        kept.append((state, state.x.clone(), state.dual.clone()))

    algorithm = alg.DFedADMM(eta=0.1, K=2, lam=1.0)
    train(algorithm, task, RING, 4, callbacks=[keep], progress=False)
    for state, x, dual in kept:
        assert torch.equal(state.x, x)
        assert torch.equal(state.dual, dual)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("chunk", [None, 1, 2])
@pytest.mark.parametrize(
    ("algorithm", "axes"),
    [
        (alg.DFedADMM(eta=0.1, K=2, lam=1.0), "m, d"),
        (alg.DFedADMM(eta=0.1, K=2, lam=1.0), "d"),
        (alg.Ditto(eta=0.1, K=1), "d"),
    ],
)
def test_start_and_history_are_not_changed_by_later_runs(
    algorithm, axes, chunk, monkeypatch
):
    """Two runs of one algorithm on one task from one start."""
    task = images()
    monkeypatch.setattr(type(task), "chunk", lambda self, seeds: chunk)
    shape = (task.m, task.d) if axes == "m, d" else (task.d,)
    x0 = torch.randn(shape, dtype=torch.float64)
    topology = RING if algorithm.needs_topology else None
    start = x0.clone()
    first = train(algorithm, task, topology, 3, 2, x0, progress=False)
    kept = first.x.copy()
    second = train(algorithm, task, topology, 3, 2, x0, progress=False)
    np.testing.assert_array_equal(first.x, kept)
    np.testing.assert_array_equal(second.x, kept)
    assert not np.shares_memory(first.x, second.x)
    assert not np.shares_memory(first.x, x0.numpy())
    assert torch.equal(x0, start)
