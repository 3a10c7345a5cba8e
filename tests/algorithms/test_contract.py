"""The contract of an algorithm: a round is communicate(local_update(state)).

Both are pure functions of declared fields, and seeds and clients are independent.
"""

import dataclasses

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn

import dfltheory.algorithms as alg
from dfltheory import graphs, tasks
from dfltheory.algorithms.base import replace
from dfltheory.randomness import RunGenerators
from dfltheory.tasks.supervised import Supervised
from dfltheory.testing import check_algorithm
from dfltheory.training import train
from dfltheory.training.oracle import RoundOracle
from tests.algorithms.problems import Rows, dense_mix, ring_matrix
from tests.algorithms.table import NAMES, make_algorithm, network_for
from tests.algorithms.user_algorithms import (
    USER_ALGORITHMS,
    Damped,
    Plain,
)

WITHOUT_ARCS = [
    name for name in NAMES if alg.get(name.split(",")[0]).links == "directed"
]
"""Algorithms whose network can be replaced by a matrix product; the public contract
covers the others as well.
"""
D = 6


def unmasked(name):
    """Disable masks, which are drawn in the run's precision and on its device."""
    algorithm = make_algorithm(name)
    if hasattr(algorithm, "sparsity"):
        return make_algorithm(name, sparsity=0.0)
    return algorithm


def problem(batch=2, dtype=torch.float64, **options):
    return Rows(
        d=D,
        batch=batch,
        shared=slice(0, 4),
        parts=((0, 3), (3, D)),
        dtype=dtype,
        **options,
    )


def tensors(state):
    values = {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}
    return {k: v for k, v in values.items() if isinstance(v, torch.Tensor)}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", NAMES)
def test_algorithm_keeps_the_public_contract(name):
    check_algorithm(make_algorithm(name))
    if unmasked(name) != make_algorithm(name):
        check_algorithm(unmasked(name), checks=["stationary point"])


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", USER_ALGORITHMS)
def test_algorithm_of_a_user_keeps_the_public_contract(name):
    check_algorithm(USER_ALGORITHMS[name])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", NAMES)
def test_algorithm_trains_in_other_precisions(name, dtype):
    algorithm = unmasked(name)
    topology = network_for(algorithm, 5)
    run, fine = (
        train(algorithm, problem(dtype=kind), topology, rounds=3, seeds=2)
        for kind in (dtype, torch.float64)
    )
    assert run.x.dtype == np.float32  # numpy has no bfloat16
    assert run.diverged_at is None
    tolerance = 1e-4 if dtype == torch.float32 else 0.1
    np.testing.assert_allclose(run.loss, fine.loss, rtol=0, atol=tolerance)


class OnMetaDevice(Rows):
    """The same problem on a simulated device whose tensors cannot be combined with CPU
    tensors.
    """

    def __init__(self):
        super().__init__(d=D, shared=slice(0, 4), parts=((0, 3), (3, D)), batch=None)
        self.device = torch.device("meta")
        self.rows = self.rows.to(self.device)


class OracleOnMetaDevice(RoundOracle):
    """Random numbers without values, on a device without a generator."""

    def uniform(self, shape):
        return torch.empty(
            len(self._generators),
            *shape,
            dtype=self._task.dtype,
            device=self._task.device,
        )


@pytest.mark.parametrize("name", WITHOUT_ARCS)
def test_algorithm_stays_on_the_device_of_its_models(name):
    """Combining with a tensor on another device, or reading values on the host, raises
    an error.
    """
    task, algorithm = OnMetaDevice(), make_algorithm(name)
    generators = RunGenerators(3, range(2))
    grad = OracleOnMetaDevice(task, generators, 0, 5)
    state = algorithm.init(
        torch.zeros(2, task.m, D, dtype=torch.float64, device="meta"), grad
    )
    W = torch.zeros(task.m, task.m, device="meta")
    for t in range(2):
        grad = OracleOnMetaDevice(task, generators, t, 5)
        state = algorithm.communicate(algorithm.local_update(state, grad), dense_mix(W))
    state = algorithm.finish(state, grad)
    for tensor in (
        *tensors(state).values(),
        algorithm.models(state),
        algorithm.mean(state),
    ):
        assert tensor.device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("name", NAMES)
def test_algorithm_runs_on_a_gpu(name):
    from dfltheory.tasks import quadratic

    algorithm = unmasked(name)
    topology = network_for(algorithm, 5)
    runs = [
        train(
            algorithm,
            quadratic(m=5, d=4, sigma=0.0, seed=0, device=device),
            topology,
            rounds=3,
        )
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=0, atol=1e-10)


@pytest.mark.parametrize("d", [10, pytest.param(10**6, marks=pytest.mark.slow)])
def test_rounds_of_a_users_algorithm_are_those_of_its_formula_at_every_size(d):
    torch.manual_seed(0)
    clients = [(torch.randn(3, d // 10), torch.tensor([0, 1, 2])) for _ in range(4)]
    task = Supervised(nn.Linear(d // 10, 10, bias=False), clients, batch=2)
    assert task.d == d
    W, kept = ring_matrix(4), []

    def keep(t, state, recorder):
        kept.append(state.x)

    run = train(
        Damped(0.1),
        task,
        W,
        rounds=3,
        callbacks=[keep],
    )
    x = task.start(torch.Generator()).expand(1, 4, d)
    for t in range(3):
        grad = RoundOracle(task, RunGenerators(0, [0]), t, 3)
        z = x - 0.1 * grad(x, grad.sample())
        x = z + 0.5 * (
            torch.einsum("il,sld->sid", torch.tensor(W, dtype=z.dtype), z) - z
        )
        # each as it was in its round
        torch.testing.assert_close(kept[t], x, rtol=0, atol=1e-5)
    np.testing.assert_allclose(run.x, x, rtol=0, atol=1e-5)


# -- several gossip steps in one round


def test_rounds_with_two_gossip_steps_use_two_matrices_each():
    class MixesTwoSteps(Plain):
        gossip_steps = 2

        def local_update(self, state, grad):
            return replace(state, z=state.x)

        def communicate(self, state, mix):
            return replace(state, x=mix(state.z, times=2))

    x0 = np.random.default_rng(0).normal(size=(8, 4))
    ring, star = (graphs.metropolis(graph(8)) for graph in (graphs.ring, graphs.star))
    task = tasks.quadratic(m=8, d=4, sigma=0.0)
    run = train(MixesTwoSteps(), task, [ring, star], 2, x0=x0, progress=False)
    np.testing.assert_allclose(
        run.x[0], star @ ring @ star @ ring @ x0, rtol=0, atol=1e-13
    )


def test_mixed_values_that_are_changed_in_place_are_mixed_as_changed():
    class InPlace(Plain):
        def communicate(self, state, mix):
            return replace(state, x=mix(mix(state.z).mul_(2.0)))

    class AsCopy(Plain):
        def communicate(self, state, mix):
            return replace(state, x=mix(mix(state.z) * 2.0))

    x0 = np.random.default_rng(0).normal(size=(8, 4))
    ring, star = (graphs.metropolis(graph(8)) for graph in (graphs.ring, graphs.star))
    task = tasks.quadratic(m=8, d=4, zeta=1.0, sigma=0.0)
    in_place, as_copy = (
        train(algorithm, task, [ring, star], 1, x0=x0, progress=False).x
        for algorithm in (InPlace(), AsCopy())
    )
    np.testing.assert_array_equal(in_place, as_copy)


def test_matrices_come_by_name_or_from_one_graph_whose_links_both_have():
    graph = nx.cycle_graph(6, create_using=nx.DiGraph)
    graph.add_edges_from([(0, 3), (4, 1), (2, 0)])
    task = tasks.quadratic(m=6, d=3, sigma=0.0, zeta=2.0, hessians="random", seed=1)
    named = {"W": graphs.row_stochastic(graph), "B": graphs.column_stochastic(graph)}
    of_graph = train(alg.PushPull(0.1), task, graph, 20, progress=False)
    of_names = train(alg.PushPull(0.1), task, named, 20, progress=False)
    np.testing.assert_array_equal(of_graph.x, of_names.x)
