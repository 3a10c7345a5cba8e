"""The public contract suite: right algorithms pass, each planted fault is caught by the check it breaks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.base import Algorithm, State, replace
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.testing import check_algorithm
from tests.training.own_networked import ADPSGD, EdgeADMM, RandomChoco
from tests.training.test_pure_contract import Damped, Extra, Paced, QuasiGlobal, Tracking


@dataclass(frozen=True, eq=False)
class Kept(State):
    """State with whatever."""

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
    """The count is kept on the algorithm, where no checkpoint finds it."""

    def communicate(self, state, mix):
        object.__setattr__(self, "seen", getattr(self, "seen", 0) + 1)
        return replace(super().communicate(state, mix), v=state.v / self.seen)


class LosesAList(Right):
    def init(self, x0, grad):
        return replace(super().init(x0, grad), count=[1])

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z), count=[*state.count, 1])


class LooksAtOthers(Right):
    def local_update(self, state, grad):
        after = super().local_update(state, grad)
        return replace(after, z=after.z - 0.1 * (state.x - state.x.mean(1, keepdim=True)))


class HearsEverybody(Right):
    def communicate(self, state, mix):
        return replace(super().communicate(state, mix), v=state.v - state.v.mean(1, keepdim=True))


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


class OwnChance(Right):
    def local_update(self, state, grad):
        after = super().local_update(state, grad)
        return replace(after, z=after.z + 1e-3 * torch.rand_like(after.z))


class Widens(Right):
    def local_update(self, state, grad):
        return super().local_update(replace(state, v=state.v.to(state.x.dtype)), grad)

    def communicate(self, state, mix):
        return replace(super().communicate(state, mix), v=state.v.double())


class ForgetsToDivide(alg.SGP):
    """Push-sum without its weights."""

    def models(self, state):
        return state.x


class Crashes(Right):
    def communicate(self, state, mix):
        if not bool((state.z.abs() < 1e20).all()):
            raise ValueError("too large")
        return super().communicate(state, mix)


FAULTS = {
    ChangesItsInput: ("inputs unchanged", r"communicate changes state\.v, .* work on v\.clone\(\)"),
    ChangesModels: ("inputs unchanged", r"local_update changes state\.x"),
    LosesANumber: (
        "resumed",
        r"state\.\w after round \d .* has to outlive a checkpoint is a field of the state",
    ),
    LosesAList: ("resumed", "count is a list, which no checkpoint can keep"),
    LooksAtOthers: ("in pieces", "nothing may depend on the other clients"),
    HearsEverybody: ("locality", r"state\.[xv] .* depends on client 4 \(communicate: mix is the only way"),
    DecaysTooEarly: ("decay", r"after round 1 .* self\.decayed\(self\.eta, grad\.t\)"),
    IgnoresDecay: ("decay", r"decay = 0\.5 changes nothing"),
    IgnoresWeightDecay: ("weight decay", r"take gradients by self\.slope"),
    FirstIsSpecial: ("names of clients", "no client may be treated by its number"),
    MixesSeeds: ("seeds alone", "know nothing of each other"),
    OwnChance: ("same bits", r"take all chance from grad\.uniform"),
    Widens: ("precision", r"state\.v is torch\.float64 in a torch\.float32 run"),
    ForgetsToDivide: ("stationary point", "a common minimizer moves by .* column-stochastic"),
    Crashes: ("divergence", "ValueError: too large"),
}


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_planted_faults_are_caught(kind):
    check, message = FAULTS[kind]
    with pytest.raises(
        AssertionError, match=rf"(?s)^{kind.__name__} fails \d+ of 15 checks:.*{check}: .*{message}"
    ):
        check_algorithm(kind(eta=0.1))
    with pytest.raises(AssertionError, match=message):
        check_algorithm(kind(eta=0.1), checks=[check])


def test_what_an_instance_remembers_is_caught():
    with pytest.raises(
        AssertionError, match=r"a run leaves seen on the algorithm: keep what changes in the state"
    ):
        check_algorithm(LosesANumber(), checks=["immutable"])


@pytest.mark.parametrize("algorithm", [Right(), Paced(0.1), Damped(0.1)], ids=lambda a: a.name)
def test_right_ones_pass(algorithm):
    assert check_algorithm(algorithm, checks=["decay"]) == ["decay"]
    assert len(check_algorithm(algorithm)) == 15


@pytest.mark.parametrize("algorithm", [Extra(0.1), Tracking(0.1), QuasiGlobal(0.1)], ids=lambda a: a.name)
def test_exact_methods_pass_and_refuse_decay(algorithm):
    assert "decay" in check_algorithm(algorithm)


def twin(x, grad, W, rounds):
    v = np.zeros_like(x)
    for _ in range(rounds):
        v = v + np.array([grad(i, y) for i, y in enumerate(x)])
        x, v = W @ (x - 0.1 * v), 0.5 * v
    return x


def test_a_twin_agrees_or_is_told():
    assert check_algorithm(Right(), twin=twin)[-1] == "twin"
    with pytest.raises(AssertionError, match=r"twin: the models are .* apart"):
        check_algorithm(Right(eta=0.11), twin=twin)


def test_what_is_no_algorithm_and_no_check_is_told():
    with pytest.raises(InputError, match="must be an algorithm with its letters"):
        check_algorithm(Right)
    with pytest.raises(UnknownNameError, match="resume"):
        check_algorithm(Right(), checks=["resume"])


# -- what a network says beside mix(z) -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "algorithm",
    [EdgeADMM(0.1), ADPSGD(0.1), RandomChoco(0.1)],
    ids=lambda a: a.name,
)
def test_families_that_ask_more_of_the_network_pass(algorithm):
    assert len(check_algorithm(algorithm)) == 15


class TellsForNothing(RandomChoco):
    """The compressed messages are added up, and never sent."""

    def communicate(self, state, mix):
        known = state.known + 0.5 * (state.z - state.known)
        return replace(state, x=state.z + self.gamma * (mix(known, bits=0) - known), known=known)


class TellsTheFirstNumber(RandomChoco):
    """One number is sent, and all of them are heard."""

    def communicate(self, state, mix):
        mix.send(state.z[..., :1])
        return replace(state, x=mix(state.z, bits=0))


class MeansOverAllClients(EdgeADMM):
    """Communication reads the models of all clients, without the network."""

    def communicate(self, state, mix):
        after = super().communicate(state, mix)
        return replace(after, x=after.x + 0.1 * after.x.mean(1, keepdim=True))


class SwapsForNothing(EdgeADMM):
    def communicate(self, state, mix):
        dual = mix.swap(2 * self.rho * mix.edges.own(state.z) - state.dual, bits=0)
        return replace(state, x=state.z, dual=dual)


class LosesDuals(EdgeADMM):
    """The duals are kept on the algorithm, where no checkpoint finds them."""

    def communicate(self, state, mix):
        kept = getattr(self, "kept", None)
        kept = state.dual if kept is None or kept.shape != state.dual.shape else kept
        after = super().communicate(replace(state, dual=kept), mix)
        object.__setattr__(self, "kept", after.dual)
        return replace(after, x=after.x + 0.1 * mix.edges.sum(after.dual), dual=state.dual)


class ReadsOthersArcs(EdgeADMM):
    def local_update(self, state, grad):
        return super().local_update(replace(state, dual=state.dual - 0.1 * state.dual[:, :1]), grad)


class FirstArcIsSpecial(EdgeADMM):
    def communicate(self, state, mix):
        after = super().communicate(state, mix)
        return replace(after, dual=after.dual * torch.linspace(1, 1.01, len(mix.edges))[:, None].double())


class NeverSleeps(ADPSGD):
    def local_update(self, state, grad):
        return replace(state, z=state.x - self.eta * self.slope(grad, state.x))


class OneLuckForAll(RandomChoco):
    """Chance that knows clients by their order."""

    def communicate(self, state, mix):
        luck = mix.uniform(tuple(state.z.shape[1:]))
        q = mix.send(torch.where(luck[:, :1] < 0.5, state.z - state.known, 0))
        known = state.known + q
        return replace(state, x=state.z + self.gamma * (mix(known, bits=0) - known), known=known)


MORE_FAULTS = {
    TellsForNothing: (
        "messages counted",
        r"neighbors hear of state\.z\[\.\.\., 0\] and nothing of it is counted",
    ),
    TellsTheFirstNumber: ("messages counted", r"state\.z\[\.\.\., 1\] and nothing of it is counted"),
    MeansOverAllClients: ("locality", "communicate: mix is the only way to hear of others"),
    SwapsForNothing: (
        "messages counted",
        r"neighbors hear of state\.z\[\.\.\., 0\] and nothing of it is counted",
    ),
    LosesDuals: ("resumed", r"has to outlive a checkpoint is a field of the state"),
    ReadsOthersArcs: ("in pieces", "nothing may depend on the other clients"),
    FirstArcIsSpecial: ("names of clients", "no client may be treated by its number"),
    NeverSleeps: ("who rests", r"state\.z of a client that does not take part: give taking_part"),
    OneLuckForAll: ("names of clients", "no client may be treated by its number"),
}


@pytest.mark.parametrize("kind", MORE_FAULTS, ids=lambda kind: kind.__name__)
def test_planted_faults_of_the_network_are_caught(kind):
    check, message = MORE_FAULTS[kind]
    with pytest.raises(AssertionError, match=message):
        check_algorithm(kind(0.1), checks=[check])


class FirstNeverWorks(alg.FedAvg):
    """Where some clients are sampled, the first of them is left out."""

    def local_update(self, state, grad):
        z = super().local_update(state, grad).z.clone()
        if grad.active is not None:
            z[:, 0] = state.x[:, 0]
        return replace(state, z=z)


def test_a_sampled_client_that_is_treated_by_its_number_is_caught():
    some = {"checks": ["names of clients"]}
    check_algorithm(alg.FedAvg(eta=0.1, K=1, participation=0.4), **some)
    with pytest.raises(AssertionError, match=r"names of clients: with clients renamed, state\.x"):
        check_algorithm(FirstNeverWorks(eta=0.1, K=1, participation=0.4), **some)
