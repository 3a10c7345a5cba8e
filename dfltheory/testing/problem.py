"""Small problems for the algorithm suite, and comparison of the states of two runs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dfltheory.algorithms.base import MIX, Algorithm, State
from dfltheory.graphs import Constant, MixingSequence
from dfltheory.randomness import RunGenerators
from dfltheory.tasks.supervised import Supervised
from dfltheory.tasks.task import Task
from dfltheory.training.loop import train
from dfltheory.training.mixing import RoundMix, RunNetwork
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.setup import EqualWeights

M = 5
"""Number of clients."""
TESTED_ROUNDS = 4
"""Number of rounds."""
ROOT_SEED = 3
"""Seed of all random numbers."""
TESTED_SEEDS = range(2)
"""The seeds of a run."""
PERMUTATION = [3, 0, 4, 1, 2]
"""A permutation of the clients: position k holds client ORDER[k]."""


def make_test_task(
    batch: int | None = 2,
    dtype: torch.dtype = torch.float64,
    order: Iterable[int] = range(M),
    chunk: int | None = None,
    changed: int | None = None,
) -> Supervised:
    """Return a classification task of a two-layer network with a personal head.

    Parameters
    ----------
    batch : int, optional
        Batch size; None for exact gradients.
    dtype : torch.dtype
        Precision of the models.
    order : iterable of int
        Order of the clients.
    chunk : int, optional
        Number of clients that are computed at once; by default all.
    changed : int, optional
        A client whose data are changed.

    Returns
    -------
    Supervised
        A task of ``M`` clients with six examples each.
    """
    generator = torch.Generator().manual_seed(1)
    clients: list[tuple[Tensor, Tensor]] = []
    for _ in range(M):
        inputs = 2 * torch.randn(6, 3, generator=generator)
        labels = torch.randint(3, (6,), generator=generator)
        clients.append((inputs, labels))
    if changed is not None:
        inputs, labels = clients[changed]
        clients[changed] = (-3 * inputs + 1, 2 - labels)
    ordered = [clients[i] for i in order]
    task = Supervised(_module(), ordered, batch, personal="2", dtype=dtype)

    def chunk_size(seeds: int) -> int | None:
        return chunk

    task.chunk = chunk_size  # type: ignore[method-assign]
    return task


@functools.cache  # tasks copy the module
def _module() -> nn.Module:
    """Return the network.

    It has three classes, because with two the gradients of the head come in pairs of
    equal size, whose order would be arbitrary.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))


def initial_models(algorithm: Algorithm, task: Task) -> Tensor:
    """Return random models (2, m, d), all equal if the class requires it."""
    generator = torch.Generator().manual_seed(2)
    x0 = torch.randn(2, task.m, task.d, generator=generator, dtype=torch.float64)
    x0 = (x0 / 2).to(task.dtype)
    return x0[:, :1].repeat(1, task.m, 1) if algorithm.one_start else x0


def matrix_for(algorithm: Algorithm) -> np.ndarray | None:
    """Return a mixing matrix of the law that an algorithm declares.

    Parameters
    ----------
    algorithm : Algorithm
        The algorithm; its class declares ``mixing``, ``links`` and ``symmetric``.

    Returns
    -------
    (M, M) array or None
        It is asymmetric unless the class requires symmetry, and None if the class
        needs no topology.
    """
    if not algorithm.needs_topology:
        return None
    if algorithm.links != "directed" or algorithm.symmetric:
        return _undirected_matrix(algorithm)
    shift = np.eye(M)[[1, 2, 3, 4, 0]]
    # Powers of 2 avoid rounding errors, which SAM amplifies near stationary points.
    W = np.eye(M) / 2 + shift / 4 + shift @ shift / 4
    if algorithm.mixing == "column-stochastic":
        W[0, 1] += 0.25
        W[1, 1] -= 0.25
    elif algorithm.mixing != "doubly stochastic":
        W[1, 0] += 0.25
        W[1, 1] -= 0.25
    return W


def _undirected_matrix(algorithm: Algorithm) -> np.ndarray:
    """Return weights on a path, or a ring if the class accepts cycles."""
    W = path_matrix(M)
    if algorithm.links != "tree":
        shift = np.eye(M)[[1, 2, 3, 4, 0]]
        back = np.eye(M)[[4, 0, 1, 2, 3]]
        W += back / 8 + shift / 8 - np.eye(M) / 4
    if algorithm.symmetric:
        return (np.eye(M) + W) / 2  # lazy, as some symmetric updates require
    return W


def topology_for(algorithm: Algorithm) -> np.ndarray | list[np.ndarray] | None:
    """Return :func:`matrix_for`, or a sequence with inactive clients.

    The sequence contains rounds in which only two clients are active, if the
    algorithm accepts inactive clients.
    """
    W = matrix_for(algorithm)
    if W is None or not algorithm.inactive_when_isolated:
        return W
    return [W, _pair_matrix((0, 1)), _pair_matrix((3, 4))]


def _pair_matrix(pair: tuple[int, int]) -> np.ndarray:
    """Return the matrix of a round in which only these two clients average."""
    W = np.eye(M)
    W[np.ix_(pair, pair)] = 0.5
    return W


def path_matrix(m: int) -> np.ndarray:
    """Return symmetric, doubly stochastic weights of a path."""
    W = np.diag(np.full(m - 1, 0.25), 1)
    W = W + W.T
    return W + np.diag(1 - W.sum(1))


def make_round(
    algorithm: Algorithm,
    task: Task,
    t: int,
    W: np.ndarray | None,
    kind: type[RoundMix] = RoundMix,
) -> RoundMix:
    """Return round t on a constant network.

    Parameters
    ----------
    algorithm : Algorithm
        The algorithm; its class declares further matrices.
    task : Task
        Determines the shape and precision of the models.
    t : int
        Number of the round.
    W : (m, m) array or None
        The mixing matrix; None for the mean of all clients.
    kind : type of RoundMix
        Class of the result.

    Returns
    -------
    RoundMix
        The argument ``mix`` of ``communicate``.
    """
    if W is None:
        W = np.full((M, M), 1 / M)
    like = torch.empty(0, task.m, task.d, dtype=task.dtype)
    sequences: dict[str, MixingSequence] = {MIX: Constant(W)}
    for name, law in algorithm.further.items():
        sequences[name] = EqualWeights(Constant(W), law)
    network = RunNetwork(
        sequences, algorithm, TESTED_SEEDS, ROOT_SEED, like, strict=False
    )
    return kind(network, t)


def make_oracle(
    task: Task,
    mix: RoundMix,
    t: int,
    share: float = 1.0,
    kind: type[RoundOracle] = RoundOracle,
) -> RoundOracle:
    """Return the gradient oracle of round t.

    Parameters
    ----------
    task : Task
        The task.
    mix : RoundMix
        The round's network.
    t : int
        Number of the round.
    share : float
        Fraction of the clients that participate.
    kind : type of RoundOracle
        Class of the result.

    Returns
    -------
    RoundOracle
        The argument ``grad`` of ``local_update``.
    """
    return kind(
        task, RunGenerators(ROOT_SEED, TESTED_SEEDS), t, TESTED_ROUNDS, share, mix
    )


@dataclasses.dataclass(frozen=True, eq=False)
class SimulatedRound:
    """One round, with the states before it, after local work, and after gossip."""

    mix: RoundMix
    before: State
    local: State
    after: State


def simulate_rounds(
    algorithm: Algorithm,
    task: Task,
    W: np.ndarray | None,
    rounds: int,
    x0: Tensor | None = None,
    share: float = 1.0,
    oracle_kind: type[RoundOracle] = RoundOracle,
    round_kind: type[RoundMix] = RoundMix,
) -> Iterator[SimulatedRound]:
    """Run an algorithm without the training loop.

    Parameters
    ----------
    algorithm : Algorithm
        The algorithm.
    task : Task
        The task.
    W : (m, m) array or None
        The mixing matrix; None for the mean of all clients.
    rounds : int
        Number of rounds.
    x0 : (2, m, d) tensor, optional
        Initial models; by default :func:`initial_models`.
    share : float
        Fraction of the clients that participate.
    oracle_kind, round_kind : type
        Classes of the oracle and of the round.

    Yields
    ------
    SimulatedRound
        Each round.
    """
    mix = make_round(algorithm, task, 0, W, round_kind)
    if x0 is None:
        x0 = initial_models(algorithm, task)
    state = algorithm.init(x0, make_oracle(task, mix, TESTED_ROUNDS, kind=oracle_kind))
    for t in range(rounds):
        mix = make_round(algorithm, task, t, W, round_kind)
        oracle = make_oracle(task, mix, t, share, oracle_kind)
        local = algorithm.local_update(state, oracle)
        after = algorithm.communicate(local, mix)
        yield SimulatedRound(mix, state, local, after)
        state = after


def state_fields(state: State) -> dict[str, object]:
    """Return the fields of a state by name."""
    return {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}


def record_states(algorithm: Algorithm, task: Task, **options: Any) -> list[State]:
    """Train for ``TESTED_ROUNDS`` rounds and return the states after each round.

    Parameters
    ----------
    algorithm : Algorithm
        The algorithm.
    task : Task
        The task.
    **options
        Options of :func:`dfltheory.train`; by default two seeds.

    Returns
    -------
    list of State
        The state after each round.
    """
    history: list[State] = []

    def record(t: int, state: State, recorder: object) -> None:
        history.append(state)

    callbacks = [record, *options.pop("callbacks", [])]
    seeds = options.pop("seeds", 2)
    options.setdefault("x0", initial_models(algorithm, task))
    train(
        algorithm,
        task,
        topology_for(algorithm),
        TESTED_ROUNDS,
        seeds,
        seed=ROOT_SEED,
        progress=False,
        callbacks=callbacks,
        evaluate_every=TESTED_ROUNDS,
        **options,
    )
    return history


def assert_equal(
    actual: object, expected: object, name: str, advice: str, tol: float = 1e-10
) -> None:
    """Raise AssertionError unless two values of a field agree.

    Parameters
    ----------
    actual, expected : object
        The values. The tolerance of tensors is relative to the larger of 1 and the
        largest absolute value; their shapes and types must be equal.
    name : str
        Name of the compared value, for messages.
    advice : str
        Advice to the author of the algorithm.
    tol : float
        Largest relative difference.
    """
    if not (isinstance(actual, Tensor) and isinstance(expected, Tensor)):
        is_equal = type(actual) is type(expected) and (
            actual is expected or bool(np.all(actual == expected))
        )
        assert is_equal, f"{name} is {actual!r}, expected {expected!r}: {advice}"
        return
    assert actual.shape == expected.shape, (
        f"{name} has shape {actual.shape}, expected {expected.shape}: {advice}"
    )
    assert actual.dtype == expected.dtype, (
        f"{name} is {actual.dtype}, expected {expected.dtype}: {advice}"
    )
    if actual.numel() and not torch.equal(actual, expected):
        difference = float((actual.double() - expected.double()).abs().max())
        scale = max(1.0, float(expected.double().abs().max()))
        assert difference <= tol * scale, (
            f"{name} differs by {difference:.2g}: {advice}"
        )


def assert_equal_histories(
    actual: list[State], expected: list[State], advice: str
) -> None:
    """Raise AssertionError unless two histories agree in their common last rounds.

    Parameters
    ----------
    actual, expected : list of State
        The states after each round; ``actual`` may start later.
    advice : str
        Advice to the author of the algorithm.
    """
    skipped = len(expected) - len(actual)
    pairs = zip(actual, expected[skipped:])
    for t, (state, expected_state) in enumerate(pairs, start=skipped + 1):
        for name, value in state_fields(expected_state).items():
            field = f"state.{name} after round {t}"
            assert_equal(getattr(state, name, None), value, field, advice)
