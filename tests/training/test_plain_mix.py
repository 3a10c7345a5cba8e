"""Analyses that know mix(z, times) alone: what the contract promises is there, and more is refused."""

from dataclasses import dataclass
from dataclasses import replace as replaced
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dfltheory import tasks
from dfltheory.algorithms import DFedAvg, PushPull
from dfltheory.algorithms.base import Algorithm, replace
from dfltheory.counterexamples.core import Batch, fixed_points, mixer, run
from dfltheory.counterexamples.problems import Ramps
from dfltheory.errors import InputError
from dfltheory.exact import exact_history
from dfltheory.training import train

W = np.array([[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])


@dataclass(frozen=True)
class Damped(Algorithm):
    """x <- x + gamma (W z - x): ``state.x`` is there when clients communicate."""

    eta: float
    gamma: float = 0.5
    asks: str = "times"

    def local_update(self, state, grad):
        return replace(state, z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x))

    def communicate(self, state, mix):
        if self.asks == "send":
            mix.send(state.z)
        if self.asks == "edges":
            mix.edges.own(state.z)
        return replace(state, x=state.x + self.gamma * (mix(state.z, times=2, bits=0) - state.x))


def test_the_models_from_before_local_work_are_there():
    # f_1' = x - 1, f_2' = x + 1 near 0: where it stands still, x = W^2 (x - eta g) and x_1 = -x_2
    w, eta, one = 0.1, 0.2, np.ones((1, 2, 1))
    ramps = Ramps(-5 * one, 10 * one, one, np.array([[-6.0, -4.0]]))
    x0 = np.array([[[0.3], [0.1]]])
    batch = Batch(Damped(eta), ramps, x0, np.array([[[[1 - w, w], [w, 1 - w]]]]), np.zeros((1, 1)))
    x, lam = fixed_points(batch, x0), (1 - 2 * w) ** 2
    expected = lam * eta / (1 - lam * (1 - eta))
    np.testing.assert_allclose(x[0, :, 0], [expected, -expected], rtol=1e-10)
    assert run(replaced(batch, x0=x), 3).still[0]
    task = tasks.quadratic(m=3, d=2, zeta=1.0, sigma=0.0)
    exact, plain = (f(Damped(0.1), task, W, 5) for f in (exact_history, train))
    np.testing.assert_allclose(exact.x, plain.x, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("algorithm", "asked"),
    [
        (PushPull(0.1), r"for mix\(z, W='B'\): measure its runs by dfltheory\.train$"),
        (Damped(0.1, asks="edges"), r"for mix\.edges: measure its runs"),
    ],
)
def test_who_asks_for_more_is_told_so_in_one_line(algorithm, asked):
    with pytest.raises(InputError, match=asked):
        exact_history(algorithm, tasks.quadratic(m=3, d=2, zeta=1.0, sigma=0.0), W, 5)


def test_falsification_names_what_was_asked():
    batch = Batch(DFedAvg(eta=0.1, K=1), None, np.zeros((1, 3, 2)), W[None, None], np.zeros((1, 2)))
    mix = mixer(batch, 1, SimpleNamespace(t=0))
    z = torch.ones(1, 3, 2, dtype=torch.float64)
    assert torch.equal(mix(z, times=2, bits=0), z)
    for ask in (lambda: mix(z, W="B"), lambda: mix.edges, lambda: mix.gather(z), lambda: mix.awake):
        with pytest.raises(InputError, match="falsification and minimal counterexamples run algorithms that"):
            ask()
