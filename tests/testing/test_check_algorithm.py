"""The algorithm suite: correct algorithms pass, and each faulty one fails its check."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.base import Algorithm, State, replace
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.testing import check_algorithm
from tests.algorithms.user_algorithms import ADPSGD, EdgeADMM, Extra, RandomChoco


@dataclass(frozen=True, eq=False)
class Kept(State):
    """State with two additional fields."""

    v: Any = None
    count: int = 0


@dataclass(frozen=True)
class Right(Algorithm):
    """x <- W (x - eta (v + g)), v <- 0.5 (v + g)"""

    eta: float = 0.1

    def init(self, x0, grad):
        return Kept(x=x0, z=x0, v=torch.zeros_like(x0))

    def local_update(self, state, grad):
        v = state.v + self.slope(grad, state.x)
        return replace(state, z=state.x - self.decayed(self.eta, grad.t) * v, v=0.5 * v)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z), count=state.count + 1)


class ChangesItsInput(Right):
    def communicate(self, state, mix):
        state.v.mul_(0.9)
        return super().communicate(state, mix)


class ChangesModels(Right):
    def local_update(self, state, grad):
        return super().local_update(replace(state, x=state.x.mul_(0.9)), grad)


class LosesANumber(Right):
    """Stores the count on the algorithm, which no checkpoint contains."""

    def communicate(self, state, mix):
        object.__setattr__(self, "seen", getattr(self, "seen", 0) + 1)
        return replace(super().communicate(state, mix), v=state.v / self.seen)


class LosesAList(Right):
    def init(self, x0, grad):
        return replace(super().init(x0, grad), count=[1])

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z), count=[*state.count, 1])


class ReadsOtherClients(Right):
    def local_update(self, state, grad):
        after = super().local_update(state, grad)
        return replace(
            after, z=after.z - 0.1 * (state.x - state.x.mean(1, keepdim=True))
        )


class AveragesOverAllClients(Right):
    def communicate(self, state, mix):
        return replace(
            super().communicate(state, mix), v=state.v - state.v.mean(1, keepdim=True)
        )


class DecaysTooEarly(Right):
    def decayed(self, eta, t):
        return super().decayed(eta, t + 1)


class IgnoresDecay(Right):
    def decayed(self, eta, t):
        super().decayed(eta, t)
        return eta


class IgnoresWeightDecay(Right):
    def slope(self, grad, y, rho=0.0, block=None):
        return grad(y, grad.sample())


class FirstIsSpecial(Right):
    def communicate(self, state, mix):
        after = super().communicate(state, mix)
        some = torch.arange(1.0, after.x.shape[1] + 1, dtype=after.x.dtype)[:, None]
        return replace(after, x=after.x - 1e-6 * state.v / some)


class MixesSeeds(Right):
    def communicate(self, state, mix):
        after = super().communicate(state, mix)
        return replace(after, x=after.x - 1e-3 * state.v.mean(0, keepdim=True))


class OwnRandomness(Right):
    def local_update(self, state, grad):
        after = super().local_update(state, grad)
        return replace(after, z=after.z + 1e-3 * torch.rand_like(after.z))


class Widens(Right):
    def local_update(self, state, grad):
        return super().local_update(replace(state, v=state.v.to(state.x.dtype)), grad)

    def communicate(self, state, mix):
        return replace(super().communicate(state, mix), v=state.v.double())


class OmitsDivision(alg.SGP):
    """Push-sum without its weights."""

    def models(self, state):
        return state.x


class Crashes(Right):
    def communicate(self, state, mix):
        if not bool((state.z.abs() < 1e20).all()):
            raise ValueError("too large")
        return super().communicate(state, mix)


FAULTS = {
    ChangesItsInput: ("inputs unchanged", r"communicate .*state\.v"),
    ChangesModels: ("inputs unchanged", r"local_update .*state\.x"),
    LosesANumber: ("resumed", r"state\.\w after round \d"),
    LosesAList: ("resumed", "count is a list"),
    ReadsOtherClients: ("in pieces", r"state\.\w after round \d"),
    AveragesOverAllClients: ("locality", r"state\.[xv] .*client 4 .*communicate"),
    DecaysTooEarly: ("decay", r"state\.x after round 1"),
    IgnoresDecay: ("decay", r"state\.x after round 2"),
    IgnoresWeightDecay: ("weight decay", "weight_decay"),
    FirstIsSpecial: ("names of clients", r"state\.\w with renumbered clients"),
    MixesSeeds: ("seeds alone", r"state\.\w of seed 1 alone"),
    OwnRandomness: ("same bits", r"state\.x"),
    Widens: ("precision", r"state\.v is torch\.float64 in a torch\.float32 run"),
    OmitsDivision: ("stationary point", "minimizer .*column-stochastic"),
    Crashes: ("divergence", "ValueError: too large"),
}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_faulty_algorithm_fails_its_check(kind):
    check, message = FAULTS[kind]
    with pytest.raises(
        AssertionError,
        match=rf"(?s)^{kind.__name__} fails \d+ of 15 checks:.*{check}: .*{message}",
    ):
        check_algorithm(kind(eta=0.1))
    with pytest.raises(AssertionError, match=message):
        check_algorithm(kind(eta=0.1), checks=[check])


def test_attribute_set_by_a_run_fails_immutable():
    with pytest.raises(AssertionError, match="seen"):
        check_algorithm(LosesANumber(), checks=["immutable"])


def test_correct_algorithm_passes_all_checks():
    assert check_algorithm(Right(), checks=["decay"]) == ["decay"]
    assert len(check_algorithm(Right())) == 15


class OneNumberEach(Right):
    """Counts the steps of each client, with the shape (seeds, clients)."""

    def init(self, x0, grad):
        state = super().init(x0, grad)
        return replace(state, count=torch.zeros_like(x0[..., 0]))


def test_algorithm_with_one_number_for_each_client_passes_all_checks():
    assert len(check_algorithm(OneNumberEach())) == 15


def test_algorithm_that_rejects_decay_passes():
    assert "decay" in check_algorithm(Extra(0.1))


def twin(x, grad, W, rounds):
    v = np.zeros_like(x)
    for _ in range(rounds):
        v = v + np.array([grad(i, y) for i, y in enumerate(x)])
        x, v = W @ (x - 0.1 * v), 0.5 * v
    return x


def test_twin_is_compared_with_the_algorithm():
    assert check_algorithm(Right(), checks=["decay"], twin=twin) == ["decay", "twin"]
    with pytest.raises(AssertionError, match=r"twin"):
        check_algorithm(Right(eta=0.11), checks=["decay"], twin=twin)


def test_invalid_argument_raises_error_with_its_name():
    with pytest.raises(InputError, match="algorithm"):
        check_algorithm(Right)
    with pytest.raises(UnknownNameError, match="'resume'"):
        check_algorithm(Right(), checks=["resume"])


# -- algorithms that use more of the network than mix(z)


class SendsNothing(RandomChoco):
    """Adds up compressed messages but sends none."""

    def communicate(self, state, mix):
        known = state.known + 0.5 * (state.z - state.known)
        return replace(
            state, x=state.z + self.gamma * (mix(known, bits=0) - known), known=known
        )


class SendsTheFirstNumber(RandomChoco):
    """Sends one number, and neighbors receive all."""

    def communicate(self, state, mix):
        mix.send(state.z[..., :1])
        return replace(state, x=mix(state.z, bits=0))


class MeansOverAllClients(EdgeADMM):
    """Averages over all clients without the network."""

    def communicate(self, state, mix):
        after = super().communicate(state, mix)
        return replace(after, x=after.x + 0.1 * after.x.mean(1, keepdim=True))


class SwapsWithoutCounting(EdgeADMM):
    def communicate(self, state, mix):
        dual = mix.swap(2 * self.rho * mix.edges.own(state.z) - state.dual, bits=0)
        return replace(state, x=state.z, dual=dual)


class LosesDuals(EdgeADMM):
    """Stores the duals on the algorithm, which no checkpoint contains."""

    def communicate(self, state, mix):
        kept = getattr(self, "kept", None)
        kept = state.dual if kept is None or kept.shape != state.dual.shape else kept
        after = super().communicate(replace(state, dual=kept), mix)
        object.__setattr__(self, "kept", after.dual)
        return replace(
            after, x=after.x + 0.1 * mix.edges.sum(after.dual), dual=state.dual
        )


class ReadsOthersArcs(EdgeADMM):
    def local_update(self, state, grad):
        return super().local_update(
            replace(state, dual=state.dual - 0.1 * state.dual[:, :1]), grad
        )


class FirstArcIsSpecial(EdgeADMM):
    def communicate(self, state, mix):
        after = super().communicate(state, mix)
        return replace(
            after,
            dual=after.dual * torch.linspace(1, 1.01, len(mix.edges))[:, None].double(),
        )


class IsAlwaysActive(ADPSGD):
    def local_update(self, state, grad):
        return replace(state, z=state.x - self.eta * self.slope(grad, state.x))


class SharesRandomNumbers(RandomChoco):
    """Uses the random number of a client by its position."""

    def communicate(self, state, mix):
        uniform = mix.uniform(tuple(state.z.shape[1:]))
        q = mix.send(torch.where(uniform[:, :1] < 0.5, state.z - state.known, 0))
        known = state.known + q
        return replace(
            state, x=state.z + self.gamma * (mix(known, bits=0) - known), known=known
        )


NETWORK_FAULTS = {
    SendsNothing: ("messages counted", r"state\.z\[\.\.\., 0\]"),
    SendsTheFirstNumber: ("messages counted", r"state\.z\[\.\.\., 1\]"),
    MeansOverAllClients: ("locality", "client 4 .*communicate"),
    SwapsWithoutCounting: ("messages counted", r"state\.z\[\.\.\., 0\]"),
    LosesDuals: ("resumed", r"state\.\w+ after round \d"),
    ReadsOthersArcs: ("in pieces", r"state\.\w+ after round \d"),
    FirstArcIsSpecial: ("names of clients", r"state\.\w+ with renumbered clients"),
    IsAlwaysActive: ("who rests", r"state\.z"),
    SharesRandomNumbers: ("names of clients", r"state\.\w+ with renumbered clients"),
}


@pytest.mark.parametrize("kind", NETWORK_FAULTS, ids=lambda kind: kind.__name__)
def test_faulty_use_of_the_network_fails_its_check(kind):
    check, message = NETWORK_FAULTS[kind]
    with pytest.raises(AssertionError, match=message):
        check_algorithm(kind(0.1), checks=[check])


class FirstNeverWorks(alg.FedAvg):
    """With partial participation, skips the first client."""

    def local_update(self, state, grad):
        z = super().local_update(state, grad).z.clone()
        if grad.active is not None:
            z[:, 0] = state.x[:, 0]
        return replace(state, z=z)


def test_participation_by_number_fails_names_of_clients():
    some = {"checks": ["names of clients"]}
    check_algorithm(alg.FedAvg(eta=0.1, K=1, participation=0.4), **some)
    with pytest.raises(AssertionError, match=r"state\.x"):
        check_algorithm(FirstNeverWorks(eta=0.1, K=1, participation=0.4), **some)
