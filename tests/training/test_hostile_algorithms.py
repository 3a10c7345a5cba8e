"""Typical mistakes in users' algorithms: each gets a one-line error before or in the
first round.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from dfltheory import algorithms as alg
from dfltheory import graphs, tasks
from dfltheory.algorithms import Algorithm, State, replace
from dfltheory.errors import GraphError, InputError
from dfltheory.own import own
from dfltheory.training import train

M, D = 8, 4
RING, STAR = graphs.metropolis(graphs.ring(M)), graphs.metropolis(graphs.star(M))


@dataclass(frozen=True)
class Plain(Algorithm):
    """x <- W (x - eta g)"""

    eta: float = 0.1

    def local_update(self, state, grad):
        return replace(
            state,
            z=state.x - self.decayed(self.eta, grad.t) * self.slope(grad, state.x),
        )

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def task(**options):
    return tasks.quadratic(m=M, d=D, zeta=1.0, sigma=0.0, **options)


def of(**rules):
    return type("Mine", (Plain,), rules)()


def refused(algorithm, words, topology=RING, rounds=1, error=InputError, **options):
    with pytest.raises(error, match=words) as caught:
        train(
            algorithm,
            options.pop("task", task()),
            topology,
            rounds,
            progress=False,
            **options,
        )
    assert "\n" not in str(caught.value)


def test_a_field_that_the_state_does_not_declare_is_refused():
    def hides(self, state, grad):
        return replace(
            state, z=state.x, velocity=grad.t + getattr(state, "velocity", 0)
        )

    def hides_later(self, state, mix):
        return replace(state, x=mix(state.z), velocity=state.z)

    refused(
        of(local_update=hides), r"Mine\.local_update: velocity is not a field of State"
    )
    refused(
        of(communicate=hides_later),
        r"Mine\.communicate: velocity is not a field of State",
    )
    in_pieces = task()
    in_pieces.chunk = lambda seeds: 2
    refused(of(local_update=hides), "velocity is not a field of State", task=in_pieces)


def test_class_whose_hyperparameters_are_no_fields_is_rejected():
    class Undeclared(Plain):
        step: float = 0.1

    refused(
        Undeclared(), r"Undeclared: step is not a field.*put @dataclass\(frozen=True\)"
    )
    with pytest.raises(InputError, match="Undeclared: step "):
        alg.register(Undeclared)
    for kind in alg.ALGORITHMS.values():
        alg.base.check_class(kind)

    class Constants(Plain):
        source: ClassVar[str] = "mine"
        comment: "ClassVar" = 1

    train(Constants(), task(), RING, 1, progress=False)


def test_rounds_do_not_overlap_on_a_network_that_moves():
    def twice(self, state, mix):
        return replace(state, x=mix(state.z, times=2))

    def again(self, state, mix):
        return replace(state, x=mix(mix(state.z), after=1))

    for rule in (twice, again):
        refused(
            of(communicate=rule), "set gossip_steps of the class to 2", [RING, STAR]
        )
        train(of(communicate=rule), task(), RING, 1, progress=False)
        train(of(communicate=rule), task(), graphs.RandomMatching(M), 1, progress=False)
    x0 = np.random.default_rng(0).normal(size=(M, D))
    still = {
        "local_update": lambda self, state, grad: replace(state, z=state.x),
        "communicate": twice,
    }
    run = train(
        of(**still, gossip_steps=2), task(), [RING, STAR], 2, x0=x0, progress=False
    )
    R, S = (
        np.asarray(W.toarray() if hasattr(W, "toarray") else W) for W in (RING, STAR)
    )
    np.testing.assert_allclose(run.x[0], S @ R @ S @ R @ x0, atol=1e-13)


def test_another_precision_than_the_task_s_is_refused():
    refused(
        of(communicate=lambda self, s, mix: replace(s, x=mix(s.z).float())),
        "x has type torch.float32",
    )
    refused(
        of(communicate=lambda self, s, mix: replace(s, x=mix(s.z.float()))),
        "mix takes the task's torch",
    )


@pytest.mark.parametrize("rule", ["init", "local_update", "communicate"])
def test_what_is_no_state_is_refused(rule):
    def returns(make):
        return of(**{rule: lambda self, given, other: make(given, other)})

    def state(given):
        return given if isinstance(given, State) else State(x=given, z=given)

    wrong: dict[str, Any] = {
        rf"Mine\.{rule} returns a NoneType": lambda s, o: None,
        rf"Mine\.{rule} returns a Tensor": lambda s, o: state(s).x,
        rf"Mine\.{rule}: the state's x is None": lambda s, o: replace(state(s), x=None),
        rf"Mine\.{rule}: the state's z has shape \(1, 8, 3\)": lambda s, o: replace(
            state(s), z=state(s).x[..., 1:]
        ),
        rf"Mine\.{rule}: the state's x has shape \(8, 4\)": lambda s, o: replace(
            state(s), x=state(s).x[0]
        ),
    }
    for words, make in wrong.items():
        refused(returns(make), words)


CALLS = {
    "mix: times = 0 must be": lambda mix, z: mix(z, times=0),
    "mix: times = -1 must be": lambda mix, z: mix(z, times=-1),
    "mix: times = 1.5 must be": lambda mix, z: mix(z, times=1.5),
    "mix takes tensors .* not a NoneType": lambda mix, z: mix(None),
    r"mix takes tensors .* must be \(1, 8\)": lambda mix, z: mix(z[:, 1:]),
    "mix takes the task's torch.float64": lambda mix, z: mix(z.half()),
    "send takes tensors": lambda mix, z: mix.send(z[0]),
    "gather takes tensors": lambda mix, z: mix.gather(z[:, :3]),
    r"swap takes tensors .* must be \(1, 16\)": lambda mix, z: mix.swap(z),
    "bits = 'a' must be a number": lambda mix, z: mix(z, bits="a"),
    "bits = nan, the size of a message, must be finite": lambda mix, z: mix(
        z, bits=float("nan")
    ),
    "bits = inf, the size of a message, must be finite": lambda mix, z: mix.send(
        z, bits=float("inf")
    ),
    "bits = -5, the size of a message, must be finite and >= 0": lambda mix, z: mix(
        z, bits=-5
    ),
    "bits = tensor.* must be finite and >= 0": lambda mix, z: mix(
        z, bits=-torch.ones(1, M)
    ),
    r"bits takes tensors \(S, m\)": lambda mix, z: mix(z, bits=torch.ones(1, 3)),
    r"bits has shape \(1, 8, 4\)": lambda mix, z: mix(z, bits=z),
}


@pytest.mark.parametrize("words", CALLS)
def test_what_the_network_cannot_send_is_refused(words):
    def communicate(self, state, mix):
        CALLS[words](mix, state.z)
        return replace(state, x=mix(state.z))

    refused(of(communicate=communicate), words)


def test_what_is_changed_in_place_is_computed_anew():
    def in_place(self, state, mix):
        return replace(state, x=mix(mix(state.z).mul_(2.0)))

    def anew(self, state, mix):
        return replace(state, x=mix(mix(state.z) * 2.0))

    x0 = np.random.default_rng(0).normal(size=(M, D))
    found = [
        train(of(communicate=rule), task(), [RING, STAR], 1, x0=x0).x
        for rule in (in_place, anew)
    ]
    np.testing.assert_array_equal(*found)


def test_trees_in_turn_are_no_tree():
    path = graphs.metropolis(graphs.path(M))
    refused(
        alg.RelaySGD(0.1),
        "all rounds together: 8 clients with 13 links",
        [path, STAR],
        error=GraphError,
    )
    train(alg.RelaySGD(0.1), task(), [STAR, STAR], 2, progress=False)


def test_a_checkpoint_keeps_views_of_one_tensor(tmp_path):
    @dataclass(frozen=True, eq=False)
    class Halves(State):
        left: Any = None
        right: Any = None

    def init(self, x0, grad):
        return Halves(x=x0, z=x0)

    def halves(self, state, mix):
        both = torch.cat([state.z, 2 * state.z], dim=1)
        return replace(state, x=mix(state.z), left=both[:, :M], right=both[:, M:])

    algorithm, kept = of(init=init, communicate=halves), tmp_path / "run.ckpt"
    train(algorithm, task(), RING, 2, checkpoint=kept, progress=False)
    run = train(algorithm, task(), RING, 4, checkpoint=kept, progress=False)
    np.testing.assert_array_equal(
        run.x, train(algorithm, task(), RING, 4, progress=False).x
    )


def test_matrices_under_which_an_update_diverges_are_refused():
    # least eigenvalue -1
    away = np.roll(np.eye(M), 1, 0) / 2 + np.roll(np.eye(M), -1, 0) / 2
    one_way = 0.5 * np.eye(M) + 0.5 * np.roll(np.eye(M), 1, 0)
    refused(
        alg.D2(0.1),
        r"smallest eigenvalue is -1, below -0.333333, where D2.*lazy=True",
        away,
        error=GraphError,
    )
    for kind in (alg.D2, alg.EXTRA):
        refused(
            kind(0.1),
            f"{kind.__name__} needs symmetric, doubly",
            one_way,
            error=GraphError,
        )
        refused(
            kind(0.1),
            f"{kind.__name__} needs symmetric, doubly",
            [RING, one_way],
            error=GraphError,
        )
        train(kind(0.1), task(), one_way, 2, check_topology=False, progress=False)
        train(kind(0.1), task(), [RING, STAR], 2, progress=False)
    train(alg.D2(0.1, lazy=True), task(), away, 2, progress=False)
    train(alg.D2(0.1), task(), graphs.ring(M), 2, progress=False)


def test_estimates_that_neighbors_keep_need_the_same_neighbors():
    for moves in ([RING, STAR], graphs.RandomMatching(M), lambda t: RING):
        refused(
            alg.CHOCOSGD(0.1, 0.3), "CHOCOSGD needs a fixed", moves, error=GraphError
        )
    for stays in (RING, graphs.ring(M), graphs.Constant(RING)):
        train(alg.CHOCOSGD(0.1, 0.3), task(), stays, 1, progress=False)


def test_text_for_numbers_and_hessians_beyond_memory_are_rejected():
    for value in ("a", [0.1]):
        with pytest.raises(InputError, match=r"Plain: eta = "):
            Plain(value)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r'8e\+03 GB .*hessians="diagonal"'):
        tasks.quadratic(m=4, d=10**6)


def test_reference_without_a_name_is_rejected():
    for reference in ("mine.py:", ":Mine", "mine:"):
        with pytest.raises(InputError, match=r"FILE\.py:NAME"):
            own(reference)
