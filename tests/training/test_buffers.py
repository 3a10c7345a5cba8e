"""Memory is used again when, and only when, nobody can see it any more."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dfltheory.algorithms as alg
from dfltheory.tasks.buffers import Buffers
from dfltheory.training import train
from tests.algorithms.table import LETTERS
from tests.training.distributed_cases import images

SHAPE = (2, 500, 300)  # above the size that is worth keeping


def test_memory_is_used_again_once_it_is_free():
    buffers = Buffers()
    one = buffers.empty(SHAPE, torch.float64)
    place = one.data_ptr()
    del one
    assert buffers.empty(SHAPE, torch.float64).data_ptr() == place


@pytest.mark.parametrize(
    "hold",
    [lambda t: t, lambda t: t[0], lambda t: t.view(-1)[5:7], lambda t: t.numpy(), lambda t: [t.mT.detach()]],
    ids=["itself", "row", "slice", "numpy", "list"],
)
def test_memory_that_anything_refers_to_is_left_alone(hold):
    buffers = Buffers()
    one = buffers.empty(SHAPE, torch.float64)
    place = one.data_ptr()
    held = hold(one)
    del one
    another = buffers.empty(SHAPE, torch.float64)
    assert another.data_ptr() != place
    del held, another
    places = {
        t.data_ptr() for t in (buffers.empty(SHAPE, torch.float64), buffers.empty(SHAPE, torch.float64))
    }
    assert place in places


def test_memory_that_is_free_is_given_back_and_no_other():
    buffers = Buffers()
    kept, free = (buffers.empty(SHAPE, torch.float64) for _ in range(2))
    place, row = kept.data_ptr(), kept.fill_(7)[1]
    del kept, free
    buffers.release()
    assert len(buffers._arrays) == 1
    assert row.data_ptr() > place
    del row
    assert buffers.empty(SHAPE, torch.float64).data_ptr() == place
    buffers.release()
    assert not buffers._arrays


@given(keep=st.lists(st.booleans(), min_size=1, max_size=12))
def test_whatever_is_kept_keeps_its_numbers(keep):
    buffers, kept = Buffers(), []
    for k, stays in enumerate(keep):
        tensor = buffers.empty(SHAPE, torch.float64).fill_(float(k))
        if stays:
            kept.append((k, tensor[0, :1]))
        del tensor
    for k, view in kept:
        assert (view == k).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_shapes_and_precisions(dtype):
    buffers = Buffers()
    for shape in (SHAPE, (3,), (0, 4), SHAPE):
        tensor = buffers.empty(shape, dtype)
        assert tensor.shape == shape
        assert tensor.dtype == dtype


@pytest.mark.parametrize("name", sorted(alg.ALGORITHMS))
def test_writing_over_what_clients_kept_changes_no_run(name, monkeypatch):
    """Without callbacks nobody sees the states, and local work writes duals, momentum, masks over old ones;
    with one that keeps them all, nothing that it has may change.
    """
    monkeypatch.setattr("dfltheory.tasks.supervised._CACHE", 1)  # one client at a time
    monkeypatch.setattr("dfltheory.tasks.buffers._WORTH_IT", 1)
    algorithm = alg.get(name)(**LETTERS[name])
    ring = np.eye(5) / 2 + np.eye(5)[[1, 2, 3, 4, 0]] / 4 + np.eye(5)[[4, 0, 1, 2, 3]] / 4
    topology = ring if algorithm.needs_topology else None
    kept, copies = [], []

    def keep(t, state, recorder):
        tensors = {k: v for k, v in vars(state).items() if isinstance(v, torch.Tensor)}
        kept.append(tensors)
        copies.append({k: v.clone() for k, v in tensors.items()})

    alone = train(algorithm, images(), topology, rounds=5, seeds=2)
    seen = train(algorithm, images(), topology, rounds=5, seeds=2, callbacks=[keep])
    assert alone.x.tobytes() == seen.x.tobytes()
    for tensors, copy in zip(kept, copies):
        for key, value in tensors.items():
            assert torch.equal(value, copy[key])


def test_states_that_a_callback_keeps_stay_as_they_were(monkeypatch):
    """Long models take the paths that use memory again: chunks of clients, and rows of sums."""
    monkeypatch.setattr("dfltheory.tasks.supervised._CACHE", 1)
    monkeypatch.setattr("dfltheory.tasks.buffers._WORTH_IT", 1)
    monkeypatch.setattr("dfltheory.training.mixing._LONG", 1)
    monkeypatch.setattr("dfltheory.training.mixing._SMALL", 0)
    monkeypatch.setattr("dfltheory.training.mixing._SPARSE_BELOW", 2.0)
    ring = np.eye(5) / 2 + np.eye(5)[[1, 2, 3, 4, 0]] / 4 + np.eye(5)[[4, 0, 1, 2, 3]] / 4
    kept, copies = [], []

    def keep(t, state, recorder):
        kept.append(state.x)
        copies.append(state.x.clone())

    for algorithm in (alg.DFedSAM(eta=0.1, K=2, rho=0.1, Q=2), alg.DisPFL(eta=0.1, K=1), alg.DPSGD(eta=0.1)):
        kept.clear(), copies.clear()
        reused = train(algorithm, images(), ring, rounds=6, seeds=2, callbacks=[keep])
        for tensor, copy in zip(kept, copies):
            assert torch.equal(tensor, copy)
        with monkeypatch.context() as plain:
            plain.setattr("dfltheory.tasks.supervised._CACHE", 10**9)
            plain.setattr("dfltheory.tasks.buffers._WORTH_IT", 10**9)
            plain.setattr("dfltheory.training.mixing._SPARSE_BELOW", 0.0)
            fresh = train(algorithm, images(), ring, rounds=6, seeds=2)
        np.testing.assert_allclose(reused.x, fresh.x, rtol=0, atol=1e-13)
