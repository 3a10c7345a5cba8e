"""What violates the contract of an algorithm is rejected in one line, before or in the
first round.
"""

import re
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory import graphs, tasks
from dfltheory.algorithms import PushPull, State, replace
from dfltheory.errors import GraphError, InputError, UnknownNameError
from dfltheory.randomness import RunGenerators
from dfltheory.training import train
from dfltheory.training.oracle import RoundOracle
from tests.algorithms.problems import ring_matrix
from tests.algorithms.user_algorithms import Before, Damped, EdgeADMM, Extra, Plain

M, D = 8, 4
RING, STAR, PATH = (
    graphs.metropolis(graph(M)) for graph in (graphs.ring, graphs.star, graphs.path)
)
MATCHINGS = graphs.RandomMatching(M)
ROW_STOCHASTIC = graphs.row_stochastic(graphs.star(M))
ONE_WAY = 0.5 * np.eye(M) + 0.5 * np.roll(np.eye(M), 1, 0)
NO_SELF_WEIGHTS = np.roll(np.eye(M), 1, 0) / 2 + np.roll(np.eye(M), -1, 0) / 2
"""Its smallest eigenvalue is -1."""
DISCONNECTED = np.eye(M)
DISCONNECTED[: M - 1, : M - 1] = ring_matrix(M - 1)
RULES = ("init", "local_update", "communicate")


def always_ring(t):
    return RING


def run(algorithm, topology=RING, rounds=1, seeds=1, chunk=None, **options):
    """Train with this number of clients at a time (None: all)."""
    task = tasks.quadratic(m=M, d=D, zeta=1.0, sigma=0.0)

    def clients_at_a_time(seeds):
        return chunk

    task.chunk = clients_at_a_time
    return train(algorithm, task, topology, rounds, seeds, progress=False, **options)


def of(**rules):
    """Return an algorithm whose class Mine has these methods and attributes."""
    return type("Mine", (Plain,), rules)()


# -- states


def hides_in_local_update(self, state, grad):
    return replace(state, z=state.x, velocity=grad.t + getattr(state, "velocity", 0))


def hides_in_communicate(self, state, mix):
    return replace(state, x=mix(state.z), velocity=state.z)


def single_precision(self, state, mix):
    return replace(state, x=mix(state.z).float())


def nothing(state):
    return None


def models_alone(state):
    return state.x


def without_models(state):
    return replace(state, x=None)


def short_messages(state):
    return replace(state, z=state.x[..., 1:])


def models_of_one_seed(state):
    return replace(state, x=state.x[0])


NO_STATES = {
    nothing: "NoneType",
    models_alone: "Tensor",
    without_models: "x",
    short_messages: "z",
    models_of_one_seed: "x",
}
"""Changes of a state that give no state, and the field or type of the message."""


def changed_by(rule, change):
    """Return an algorithm one of whose methods returns a changed state."""

    def method(self, given, other):
        state = given if isinstance(given, State) else State(x=given, z=given)
        return change(state)

    return of(**{rule: method})


class WithoutClients(Damped):
    def init(self, x0, grad):
        return Before(x=x0, z=x0, last=x0[:, 0])


class UndeclaredArcs(EdgeADMM):
    def init(self, x0, grad):
        return Before(x=x0, z=x0, last=grad.edges.own(x0))


class Undeclared(Plain):
    step: float = 0.1


STATES = {
    "undeclared field of local work": (
        partial(run, of(local_update=hides_in_local_update)),
        InputError,
        "Mine.local_update velocity State",
    ),
    "undeclared field of local work in pieces": (
        partial(run, of(local_update=hides_in_local_update), chunk=2),
        InputError,
        "velocity State",
    ),
    "undeclared field of communication": (
        partial(run, of(communicate=hides_in_communicate)),
        InputError,
        "Mine.communicate velocity State",
    ),
    "models in another precision": (
        partial(run, of(communicate=single_precision)),
        InputError,
        "Mine.communicate x torch.float32",
    ),
    "field without an axis of clients": (
        partial(run, WithoutClients(0.1), seeds=2),
        InputError,
        "Before last",
    ),
    "field of arcs that is not in per_edge": (
        partial(run, UndeclaredArcs(0.1), seeds=2),
        InputError,
        "last per_edge",
    ),
    "hyperparameter that is no field": (
        partial(run, Undeclared()),
        InputError,
        "Undeclared step",
    ),
    "decay that has no effect": (
        partial(run, Extra(0.1, decay=0.9), rounds=2),
        InputError,
        "Extra decay",
    ),
    "clients that must have one start": (
        partial(run, alg.FedDyn(0.1, K=1), None, x0=np.arange(M * D).reshape(M, D)),
        InputError,
        "FedDyn x0",
    ),
}
STATES |= {
    f"{change.__name__} from {rule}": (
        partial(run, changed_by(rule, change)),
        InputError,
        f"Mine.{rule} {field}",
    )
    for rule in RULES
    for change, field in NO_STATES.items()
}


# -- arguments of grad and mix


def unchanged(z):
    return z


def no_tensor(z):
    return None


def other_clients(z):
    return z[:, 1:]


def one_seed(z):
    return z[0]


def half_precision(z):
    return z.half()


def calls(method, values, options):
    """Return an algorithm that passes values(z) to a method of mix."""

    def communicate(self, state, mix):
        getattr(mix, method)(values(state.z), **options)
        return replace(state, x=mix(state.z))

    return of(communicate=communicate)


CALLS = [
    ("__call__", unchanged, {"times": 0}, "times"),
    ("__call__", unchanged, {"times": -1}, "times"),
    ("__call__", unchanged, {"times": 1.5}, "times"),
    ("__call__", no_tensor, {}, "mix NoneType"),
    ("__call__", other_clients, {}, "mix"),
    ("__call__", half_precision, {}, "mix torch.float16"),
    ("send", one_seed, {}, "send"),
    ("gather", other_clients, {}, "gather"),
    ("swap", unchanged, {}, "swap"),
    ("__call__", unchanged, {"bits": "a"}, "bits"),
    ("__call__", unchanged, {"bits": float("nan")}, "bits"),
    ("send", unchanged, {"bits": float("inf")}, "bits"),
    ("__call__", unchanged, {"bits": -5}, "bits"),
    ("__call__", unchanged, {"bits": -torch.ones(1, M)}, "bits"),
    ("__call__", unchanged, {"bits": torch.ones(1, 3)}, "bits"),
    ("__call__", unchanged, {"bits": torch.ones(1, M, D)}, "bits"),
]
MESSAGES = {
    f"mix.{method}, {values.__name__} {options}": (
        partial(run, calls(method, values, options)),
        InputError,
        field,
    )
    for method, values, options, field in CALLS
}


def numbers_for_few_clients():
    task = tasks.quadratic(m=M, d=D)
    grad = RoundOracle(task, RunGenerators(0, [0]), 0, 1).of(slice(1, 3))
    grad.uniform((4,))


MESSAGES["random numbers for other clients"] = (
    numbers_for_few_clients,
    InputError,
    "uniform",
)


# -- networks


def two_steps(self, state, mix):
    return replace(state, x=mix(state.z, times=2))


def two_calls(self, state, mix):
    return replace(state, x=mix(mix(state.z), after=1))


class AsksForC(PushPull):
    def communicate(self, state, mix):
        return replace(state, x=mix(state.z, W="C"))


NETWORKS = [
    (of(communicate=two_steps), [RING, STAR], InputError, "gossip_steps"),
    (of(communicate=two_calls), [RING, STAR], InputError, "gossip_steps"),
    (AsksForC(0.1), {"W": RING, "B": RING}, UnknownNameError, "C"),
    (PushPull(0.1), {"W": RING, "C": RING}, InputError, "PushPull B C"),
    (
        PushPull(0.1),
        {"W": ROW_STOCHASTIC, "B": ROW_STOCHASTIC},
        GraphError,
        "PushPull column-stochastic",
    ),
    (alg.RelaySGD(0.1), graphs.ring(M), GraphError, "RelaySGD tree"),
    (alg.RelaySGD(0.1), DISCONNECTED, GraphError, "RelaySGD tree"),
    (alg.RelaySGD(0.1), [PATH, STAR], GraphError, "RelaySGD tree"),
    (EdgeADMM(0.1), ONE_WAY, GraphError, "EdgeADMM"),
    (EdgeADMM(0.1), MATCHINGS, InputError, "edges"),
    (alg.D2(0.1), NO_SELF_WEIGHTS, GraphError, "eigenvalue D2 lazy"),
    (alg.D2(0.1), ONE_WAY, GraphError, "D2 symmetric"),
    (alg.D2(0.1), [RING, ONE_WAY], GraphError, "D2 symmetric"),
    (alg.EXTRA(0.1), ONE_WAY, GraphError, "EXTRA symmetric"),
    (alg.EXTRA(0.1), [RING, ONE_WAY], GraphError, "EXTRA symmetric"),
    (alg.CHOCOSGD(0.1, 0.3), [RING, STAR], GraphError, "CHOCOSGD fixed"),
    (alg.CHOCOSGD(0.1, 0.3), MATCHINGS, GraphError, "CHOCOSGD fixed"),
    (alg.CHOCOSGD(0.1, 0.3), always_ring, GraphError, "CHOCOSGD fixed"),
]
REFUSALS = STATES | MESSAGES
for number, (algorithm, topology, error, words) in enumerate(NETWORKS):
    REFUSALS[f"network {number} of {words}"] = (
        partial(run, algorithm, topology),
        error,
        words,
    )
"""Call, error type, and words of the message: names of the class, method and field."""


@pytest.mark.drawn(99)
@pytest.mark.parametrize("name", REFUSALS)
def test_violation_of_the_contract_is_rejected_in_one_line(name):
    call, error, words = REFUSALS[name]
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for word in words.split():
        assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message), message


# -- what is not rejected


class Constants(Plain):
    source: ClassVar[str] = "mine"
    comment: "ClassVar" = 1


ACCEPTED = [
    (Constants(), RING),
    (Damped(0.1, decay=0.9), RING),
    (of(communicate=two_steps), RING),
    (of(communicate=two_steps), MATCHINGS),
    (of(communicate=two_calls), RING),
    (of(communicate=two_calls), MATCHINGS),
    (alg.RelaySGD(0.1), [STAR, STAR]),
    (alg.D2(0.1), graphs.ring(M)),
    (alg.D2(0.1), [RING, STAR]),
    (alg.D2(0.1, lazy=True), NO_SELF_WEIGHTS),
    (alg.EXTRA(0.1), [RING, STAR]),
    (alg.CHOCOSGD(0.1, 0.3), RING),
    (alg.CHOCOSGD(0.1, 0.3), graphs.ring(M)),
    (alg.CHOCOSGD(0.1, 0.3), graphs.Constant(RING)),
]


@pytest.mark.drawn(99)
@pytest.mark.parametrize("case", range(len(ACCEPTED)))
def test_similar_run_that_keeps_the_contract_is_accepted(case):
    algorithm, topology = ACCEPTED[case]
    assert run(algorithm, topology, rounds=2).diverged_at is None


def test_a_single_small_eigenvalue_is_refused():
    alternating = (-1.0) ** np.arange(M) / M**0.5
    one_small = 1 / M - 0.9 * np.outer(alternating, alternating)
    assert np.linalg.eigvalsh(one_small)[1] > -1e-9
    with pytest.raises(GraphError, match=r"smallest eigenvalue is -0\.9"):
        run(alg.D2(0.1), one_small)


@pytest.mark.parametrize("kind", [alg.D2, alg.EXTRA])
def test_unchecked_matrices_may_be_asymmetric(kind):
    run(kind(0.1), ONE_WAY, rounds=2, check_topology=False)
