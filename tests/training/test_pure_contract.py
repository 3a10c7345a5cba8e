"""Rounds as written in papers, implemented in users' classes at every size, do not
modify their input.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import dfltheory.algorithms as alg
from dfltheory.algorithms.base import Algorithm, State, replace
from dfltheory.errors import InputError
from dfltheory.randomness import RunGenerators
from dfltheory.tasks.supervised import Supervised
from dfltheory.training import train
from dfltheory.training.oracle import RoundOracle
from tests.algorithms.problems import ring_matrix
from tests.training.run_cases import images
from tests.training.test_local import RING


@dataclass(frozen=True)
class Damped(Algorithm):
    """x <- z + gamma (W z - z), z = x - eta g"""

    eta: float
    gamma: float = 0.5

    def local_update(self, state, grad):
        return replace(
            state,
            z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x),
        )

    def communicate(self, state, mix):
        z = state.z
        return replace(state, x=z + self.gamma * (mix(z) - z))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("d", [10, 10**6])
def test_damped_gossip_at_every_size(d):
    torch.manual_seed(0)
    clients = [(torch.randn(3, d // 10), torch.tensor([0, 1, 2])) for _ in range(4)]
    task = Supervised(nn.Linear(d // 10, 10, bias=False), clients, batch=2)
    assert task.d == d
    W, kept = ring_matrix(4), []
    run = train(
        Damped(0.1),
        task,
        W,
        rounds=3,
        callbacks=[lambda t, state, recorder: kept.append(state.x)],
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


@dataclass(frozen=True, eq=False)
class Before(State):
    """State with the models and a vector of the previous round, and whether there was
    one.
    """

    last: Any = None
    g: Any = None
    g_last: Any = None
    first: bool = True


@dataclass(frozen=True)
class Extra(Algorithm):
    """x^1 = W x^0 - a g^0;  x^{k+2} = (I + W) x^{k+1} - (I + W)/2 x^k - a (g^{k+1} -
    g^k)  [Shi 2015]
    """

    alpha: float

    def init(self, x0, grad):
        return Before(
            x=x0, z=x0, last=x0, g=torch.zeros_like(x0), g_last=torch.zeros_like(x0)
        )

    def local_update(self, state, grad):
        return replace(state, g=self.slope(grad, state.x))

    def communicate(self, state, mix):
        if state.first:
            x = mix(state.x) - self.alpha * state.g
        else:
            x = (
                state.x
                + mix(state.x)
                - (state.last + mix(state.last)) / 2
                - self.alpha * (state.g - state.g_last)
            )
        return replace(state, x=x, last=state.x, g_last=state.g, first=False)


@dataclass(frozen=True)
class Tracking(Algorithm):
    """y_i <- (W y)_i + g_i^t - g_i^{t-1};  x_i <- sum_l w_il (x_l - eta y_l)
    [DIGing]
    """

    eta: float

    def init(self, x0, grad):
        return Before(x=x0, z=x0, last=torch.zeros_like(x0), g=torch.zeros_like(x0))

    def local_update(self, state, grad):
        g = self.slope(grad, state.x)
        y = state.last + g - state.g
        return replace(state, z=state.x - self.eta * y, last=y, g=g)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z), last=mix(state.last))


@dataclass(frozen=True)
class QuasiGlobal(Algorithm):
    """x+ = W (x - eta (g + beta v));  v <- beta v + (1 - beta) (x - x+)/eta  [Lin et
    al. 2021]
    """

    eta: float
    beta: float = 0.9

    def init(self, x0, grad):
        return Before(x=x0, z=x0, last=torch.zeros_like(x0))

    def local_update(self, state, grad):
        step = self.slope(grad, state.x) + self.beta * state.last
        return replace(state, z=state.x - self.eta * step)

    def communicate(self, state, mix):
        x = mix(state.z)
        v = self.beta * state.last + (1 - self.beta) * (state.x - x) / self.eta
        return replace(state, x=x, last=v)


@dataclass(frozen=True, eq=False)
class Counted(State):
    """State with a number per client (S, m), one for all (S, 1), and a count."""

    pace: Any = None
    limit: Any = None
    rounds: int = 0


@dataclass(frozen=True)
class Paced(Algorithm):
    """Each client's step size decreases with its own gradients, as in Adagrad."""

    eta: float

    def init(self, x0, grad):
        S, m = x0.shape[:2]
        return Counted(
            x=x0, z=x0, pace=x0.new_ones(S, m), limit=x0.new_full((S, 1), 3.0)
        )

    def local_update(self, state, grad):
        g = self.slope(grad, state.x)
        pace = torch.minimum(state.pace + g.square().sum(-1), state.limit)
        return replace(state, z=state.x - self.eta / pace[..., None] * g, pace=pace)

    def communicate(self, state, mix):
        pace = mix(state.pace[..., None])[..., 0]
        return replace(state, x=mix(state.z), pace=pace, rounds=state.rounds + 1)


def test_every_callback_may_keep_what_it_gets():
    for chunked in (False, True):
        task, kept = images(), []
        if chunked:
            task.chunk = lambda seeds: 2
        train(
            alg.DFedADMM(eta=0.1, K=2, lam=1.0),
            task,
            RING,
            4,
            callbacks=[
                lambda t, state, recorder, kept=kept: kept.append(
                    (state, state.x.clone(), state.dual.clone())
                )
            ],
        )
        for state, x, dual in kept:
            assert torch.equal(state.x, x)
            assert torch.equal(state.dual, dual)


def test_state_rejects_a_tensor_without_client_or_common_shape():
    @dataclass(frozen=True)
    class Wrong(Damped):
        def init(self, x0, grad):
            return Before(x=x0, z=x0, last=x0[:, 0])

    with pytest.raises(
        InputError,
        match=r"Before: last .*\(2, \d+\).*\(2, 5, \.\.\.\)",
    ):
        train(Wrong(0.1), images(), RING, 1, 2)


def test_decay_that_the_algorithm_ignores_is_rejected():
    with pytest.raises(
        InputError,
        match=r"Extra .*decay = 0\.9",
    ):
        train(Extra(0.1, decay=0.9), images(), RING, 2)
    assert train(Damped(0.1, decay=0.9), images(), RING, 2).diverged_at is None
