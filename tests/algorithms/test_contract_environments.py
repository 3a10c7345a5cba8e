"""Environments in which a round is executed provide what the contract promises, and
reject other methods.
"""

import pickle
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory import tasks
from dfltheory.algorithms import DFedAvg
from dfltheory.algorithms.base import Algorithm, Mix, Oracle, Parameters, replace
from dfltheory.algorithms.protocol import unknown_methods_rejected
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_oracle import CandidatesMix
from dfltheory.counterexamples.core import fixed_points, simulate
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.errors import UnsupportedError
from dfltheory.exact import exact_history
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.training import train
from tests.algorithms.user_algorithms import Damped, Plain

W = np.array([[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])


def assert_rejects(call, method, environment):
    with pytest.raises(UnsupportedError) as rejected, unknown_methods_rejected():
        call()
    error = rejected.value
    assert method in str(error)
    assert (error.method, error.environment) == (method, environment)


class MovesOldModels(Damped):
    """x <- x + gamma (W^2 z - x); ``state.x`` is available during communication."""

    def communicate(self, state, mix):
        change = mix(state.z, times=2, bits=0) - state.x
        return replace(state, x=state.x + self.gamma * change)


class ReadsEdges(Plain):
    def communicate(self, state, mix):
        mix.edges.own(state.z)
        return super().communicate(state, mix)


def test_the_models_from_before_local_work_are_there():
    # f_1' = x - 1, f_2' = x + 1 near 0: where it is stationary, x = W^2 (x - eta g) and
    # x_1 = -x_2
    w, eta, one = 0.1, 0.2, np.ones((1, 2, 1))
    ramps = Ramps(-5 * one, 10 * one, one, np.array([[-6.0, -4.0]]))
    x0 = np.array([[[0.3], [0.1]]])
    batch = CandidateBatch(
        MovesOldModels(eta),
        ramps,
        x0,
        np.array([[[[1 - w, w], [w, 1 - w]]]]),
        np.zeros((1, 1)),
    )
    x, lam = fixed_points(batch, x0), (1 - 2 * w) ** 2
    expected = lam * eta / (1 - lam * (1 - eta))
    np.testing.assert_allclose(x[0, :, 0], [expected, -expected], rtol=1e-10)
    assert simulate(replaced(batch, x0=x), 3).cycle[0]
    task = tasks.quadratic(m=3, d=2, zeta=1.0, sigma=0.0)
    exact, plain = (f(MovesOldModels(0.1), task, W, 5) for f in (exact_history, train))
    np.testing.assert_allclose(exact.x, plain.x, rtol=0, atol=1e-12)


def test_exact_history_rejects_edges_of_mix():
    task = tasks.quadratic(m=3, d=2, zeta=1.0, sigma=0.0)
    call = partial(exact_history, ReadsEdges(), task, W, 5)
    assert_rejects(call, "mix.edges", "exact_history")


def test_mix_of_candidates_rejects_methods_that_it_does_not_implement():
    batch = CandidateBatch(
        DFedAvg(eta=0.1, K=1),
        None,
        np.zeros((1, 3, 2)),
        W[None, None],
        np.zeros((1, 2)),
    )
    mix = CandidatesMix(batch, 1, SimpleNamespace(t=0))
    z = torch.ones(1, 3, 2, dtype=torch.float64)
    assert torch.equal(mix(z, times=2, bits=0), z)
    calls = {
        "mix(z, W='B')": partial(mix, z, W="B"),
        "mix.send(message, W='B')": partial(mix.send, z, W="B"),
        "mix.edges": partial(getattr, mix, "edges"),
        "mix.gather": partial(mix.gather, z),
        "mix.swap": partial(mix.swap, z),
        "mix.participating": partial(getattr, mix, "participating"),
        "mix.uniform": partial(mix.uniform, (3, 2)),
        "mix.broadcast": partial(getattr, mix, "broadcast"),
    }
    for method, call in calls.items():
        assert_rejects(call, method, "falsify")


def test_base_classes_reject_methods_that_a_subclass_does_not_implement():
    grad, mix = Oracle(0, 5, Parameters(None, (slice(0, 2),), ((2,),))), Mix()
    z = torch.ones(1, 3, 2)
    assert (grad.horizon, grad.shared, grad.blocks, grad.shapes, grad.active) == (
        5,
        None,
        (slice(0, 2),),
        ((2,),),
        None,
    )
    calls = {
        "grad.sample": grad.sample,
        "grad(y, batch)": partial(grad, z, None),
        "grad.uniform": partial(grad.uniform, (3, 2)),
        "grad.edges": partial(getattr, grad, "edges"),
        "grad.hessian": partial(getattr, grad, "hessian"),
        "mix(z)": partial(mix, z),
    }
    for method, call in calls.items():
        assert_rejects(call, method, "this environment")


def test_other_missing_attributes_are_errors_as_they_are():
    with pytest.raises(AttributeError, match="missing"), unknown_methods_rejected():
        object().missing  # noqa: B018


def test_unsupported_error_is_the_same_after_pickling():
    error = pickle.loads(pickle.dumps(UnsupportedError("grad.hessian", "falsify")))
    assert (error.method, error.environment) == ("grad.hessian", "falsify")


# -- a method of a third party


class WithCurvature(Quadratic):
    """A third-party task that offers algorithms another method."""

    oracle_methods = ("curvature",)

    def curvature(self, x, batch=None):
        """Return the clients' largest second derivatives, one for each client."""
        largest = self.hessian(x).diagonal(dim1=-2, dim2=-1).amax(-1)
        return largest[..., None].expand(*x.shape[:-1], 1).clone()


@dataclass(frozen=True)
class Newtonian(Algorithm):
    """A third-party algorithm whose step size is gamma over the client's curvature."""

    gamma: float = 0.5

    def local_update(self, state, grad):
        batch = grad.sample()
        step = self.decayed(self.gamma, grad.t) / grad.curvature(state.x, batch)
        return replace(state, z=state.x - step * grad(state.x, batch))

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def with_curvature(chunk=None):
    diagonals = np.array([[1.0, 2.0], [0.5, 1.0], [2.0, 4.0]])
    task = WithCurvature(
        np.stack([np.diag(row) for row in diagonals]), np.arange(6.0).reshape(3, 2)
    )
    task.chunk = lambda seeds: chunk
    return task, diagonals


@pytest.mark.parametrize("chunk", [None, 1, 2])
def test_a_third_party_algorithm_trains_with_a_method_of_a_third_party_task(chunk):
    task, diagonals = with_curvature(chunk)
    run = train(Newtonian(), task, W, rounds=3, progress=False)
    b, x = np.arange(6.0).reshape(3, 2), np.zeros((3, 2))
    for _ in range(3):
        x = W @ (x - 0.5 / diagonals.max(1, keepdims=True) * diagonals * (x - b))
    np.testing.assert_allclose(run.x[0], x, atol=1e-13)


@dataclass(frozen=True)
class CurvatureSAM(dfl.algorithms.DFedSAM):
    """DFedSAM whose local work uses the clients' curvature."""

    def local_update(self, state, grad):
        grad.curvature(state.x, grad.sample())
        return super().local_update(state, grad)


def train_on_a_task_without_curvature():
    train(Newtonian(), tasks.quadratic(m=3, d=2), W, rounds=3, progress=False)


def compute_exact_history():
    task, _ = with_curvature()
    exact_history(Newtonian(), task, W, 5)


def search_for_counterexamples():
    base = dfl.bounds.get("dfedsam.theorem_4_5")
    scope = replaced(base.scope, algorithms=(CurvatureSAM,), hyperparameters={})
    theorem = replaced(base, key="third.party", scope=scope)
    dfl.falsify(theorem, candidates=50)


ENVIRONMENTS = {
    "training": train_on_a_task_without_curvature,
    "exact_history": compute_exact_history,
    "falsify": search_for_counterexamples,
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_environment_without_a_method_of_a_third_party_rejects_it(environment):
    assert_rejects(ENVIRONMENTS[environment], "grad.curvature", environment)
