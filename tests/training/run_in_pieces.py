"""A run whose local work is done by a few clients at a time, with its states."""

import numpy as np

from dfltheory.training import products, train
from dfltheory.training.local import stacked
from tests.algorithms.table import network_for
from tests.training.run_cases import images

RING = np.eye(5) / 2 + np.eye(5)[[1, 2, 3, 4, 0]] / 4 + np.eye(5)[[4, 0, 1, 2, 3]] / 4


def states_and_run(algorithm, monkeypatch, chunk, rounds=4, seeds=2, x0=None):
    """Return all stacked tensors after every round, and the run, with this number of
    clients per chunk (None: all at once).
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
