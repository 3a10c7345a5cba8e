"""Local work in chunks of clients agrees with local work of all clients at once."""

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.tasks.task import Task
from dfltheory.training import products, train
from dfltheory.training.local import stacked
from tests.algorithms.problems import Rows
from tests.algorithms.table import network_for
from tests.training.run_cases import images

RING = np.eye(5) / 2 + np.eye(5)[[1, 2, 3, 4, 0]] / 4 + np.eye(5)[[4, 0, 1, 2, 3]] / 4


def states(algorithm, monkeypatch, chunk, rounds=4, seeds=2, x0=None):
    """Return all stacked tensors after every round, with this number of clients per
    chunk.
    """
    task, seen = images(), []
    monkeypatch.setattr(type(task), "chunk", lambda self, seeds: chunk)
    monkeypatch.setattr(products, "CACHE_BLOCK", 1)
    monkeypatch.setattr(products, "SMALL", 0)
    # dense, or sparse
    monkeypatch.setattr(products, "SPARSE_BELOW", 0.1 if seeds == 1 else 2.0)
    monkeypatch.setattr(products, "DENSE_UP_TO", 10**4 if seeds == 1 else 0)

    def keep(t, state, recorder):
        seen.append({name: getattr(state, name).clone() for name in stacked(state)})

    topology = network_for(algorithm, task.m) if algorithm.links == "tree" else RING
    topology = topology if algorithm.needs_topology else None
    run = train(algorithm, task, topology, rounds, seeds, x0, callbacks=[keep])
    return seen, run


@pytest.mark.parametrize("chunk", [None, 1])
def test_the_users_start_stays_as_it_was(chunk, monkeypatch):
    x0 = torch.randn(images().d, dtype=torch.float64)
    before = x0.clone()
    for algorithm in (alg.DFedADMM(eta=0.1, K=2, lam=1.0), alg.Ditto(eta=0.1, K=1)):
        states(algorithm, monkeypatch, chunk, rounds=2, x0=x0)
        assert torch.equal(x0, before)


def test_restricted_task_has_the_gradients_of_its_clients():
    theirs, rows = Rows(), slice(2, 5)
    part = theirs.restrict(rows)
    assert (theirs.m, part.m, part.d, part.dtype, part.name) == (
        5,
        3,
        4,
        theirs.dtype,
        "rows",
    )
    x = torch.randn(
        2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    for slope in ("gradient", "balanced_gradient"):
        expected = getattr(theirs, slope)(x)
        assert torch.equal(getattr(part, slope)(x[:, rows]), expected[:, rows])
        assert torch.equal(
            getattr(part.restrict(slice(1, 3)), slope)(x[:, 3:]), expected[:, 3:]
        )
        assert torch.equal(getattr(theirs, slope)(x), expected)
    ours, g = images(), torch.Generator().manual_seed(0)
    batch, y = (
        ours.sample([g, g]),
        torch.randn(2, 5, ours.d, generator=g, dtype=torch.float64),
    )
    some = ours.restrict(rows)
    torch.testing.assert_close(
        some.gradient(y[:, rows], ours.pick(batch, rows)),
        ours.gradient(y, batch)[:, rows],
    )
    assert Task.pick(ours, batch, rows) is batch
    plain = Task.restrict(ours, rows)  # the unchunked computation gives the same
    torch.testing.assert_close(
        plain.gradient(y[:, rows], batch), ours.gradient(y, batch)[:, rows]
    )
