"""The small problems that the contract suite runs an algorithm on, and how two courses of it are compared."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dfltheory.algorithms.base import MIX, Algorithm
from dfltheory.graphs import Constant
from dfltheory.tasks.supervised import Supervised
from dfltheory.tasks.task import Task
from dfltheory.training.loop import train
from dfltheory.training.mixing import Network, Round
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.setup import EqualWeights

M, ROUNDS = 5, 4
ORDER = [3, 0, 4, 1, 2]
"""Clients by other names: i is called ORDER[i]."""


def task_of(
    batch: int | None = 2,
    dtype: torch.dtype = torch.float64,
    order: Iterable[int] = range(M),
    chunk: int | None = None,
    changed: int | None = None,
) -> Supervised:
    """A network of two layers with a personal head; ``changed``: this client has other data."""
    g = torch.Generator().manual_seed(1)
    clients = [(2 * torch.randn(6, 3, generator=g), torch.randint(3, (6,), generator=g)) for _ in range(M)]
    if changed is not None:
        clients[changed] = (-3 * clients[changed][0] + 1, 2 - clients[changed][1])
    task = Supervised(_module(), [clients[i] for i in order], batch, personal="2", dtype=dtype)
    task.chunk = lambda seeds: chunk  # type: ignore[method-assign]
    return task


@functools.cache  # tasks copy it
def _module() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        # three classes: with two, gradients of the head come in pairs of equal size, whose order is nobody's
        return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))


def start_of(algorithm: Algorithm, task: Task) -> Tensor:
    """Different models (2, m, d), unless the class has all clients begin at one."""
    x0 = torch.randn(2, task.m, task.d, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    x0 = (x0 / 2).to(task.dtype)
    return x0[:, :1].repeat(1, task.m, 1) if algorithm.one_start else x0


def matrix_for(algorithm: Algorithm) -> np.ndarray | None:
    """Weights of the law that the class declares, without symmetry; None where it takes no topology."""
    if not algorithm.needs_topology:
        return None
    if algorithm.links != "directed" or algorithm.symmetric:
        W = path(M)
        if algorithm.links != "tree":
            W += np.eye(M)[[4, 0, 1, 2, 3]] / 8 + np.eye(M)[[1, 2, 3, 4, 0]] / 8 - np.eye(M) / 4
        return (np.eye(M) + W) / 2 if algorithm.symmetric else W  # such updates may need it lazy
    step = np.eye(M)[[1, 2, 3, 4, 0]]
    W = np.eye(M) / 2 + step / 4 + step @ step / 4  # without rounding: SAM leaves what is almost stationary
    if algorithm.mixing != "doubly stochastic":
        W[(0, 1) if algorithm.mixing == "column-stochastic" else (1, 0)] += 0.25
        W[1, 1] -= 0.25
    return W


def topology_for(algorithm: Algorithm) -> Any:
    """The same; where clients sleep, pairs who are awake in turn."""
    W = matrix_for(algorithm)
    if W is None or not algorithm.sleeps:
        return W
    return [W, *(_pairs(W, pair) for pair in ((0, 1), (3, 4)))]


def _pairs(W: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    alone = np.eye(M)
    alone[np.ix_(pair, pair)] = 0.5
    return alone


def round_of(
    algorithm: Algorithm, task: Task, t: int, W: np.ndarray | None, kind: type[Round] = Round
) -> Round:
    """Round t on a network of one matrix for each name; a mean of all where there is none."""
    W = np.full((M, M), 1 / M) if W is None else W
    like = torch.empty(0, task.m, task.d, dtype=task.dtype)
    names = {MIX: Constant(W)} | {n: EqualWeights(Constant(W), law) for n, law in algorithm.further.items()}
    return kind(Network(names, algorithm, range(2), 3, like, strict=False), t)


def oracle_of(
    task: Task, mix: Round, t: int, share: float = 1.0, kind: type[RoundOracle] = RoundOracle
) -> RoundOracle:
    return kind(task, range(2), 3, t, ROUNDS, share, mix)


def by_hand(
    algorithm: Algorithm,
    task: Task,
    W: np.ndarray | None,
    rounds: int,
    x0: Tensor | None = None,
    share: float = 1.0,
    kinds: tuple[type[RoundOracle], type[Round]] = (RoundOracle, Round),
) -> Iterator[tuple[Round, Any, Any, Any]]:
    """Rounds without the loop: their mix, and the states before and after local work and at the end."""
    ask, exchange = kinds
    mix = round_of(algorithm, task, 0, W, exchange)
    state = algorithm.init(
        start_of(algorithm, task) if x0 is None else x0, oracle_of(task, mix, ROUNDS, kind=ask)
    )
    for t in range(rounds):
        mix, before = round_of(algorithm, task, t, W, exchange), state
        local = algorithm.local_update(before, oracle_of(task, mix, t, share, ask))
        state = algorithm.communicate(local, mix)
        yield mix, before, local, state


def path(m: int) -> np.ndarray:
    """A line of clients, symmetric and doubly stochastic."""
    W = np.diag(np.full(m - 1, 0.25), 1)
    W = W + W.T
    return W + np.diag(1 - W.sum(1))


def fields_of(state: Any) -> dict[str, Any]:
    return {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}


def course(algorithm: Algorithm, task: Task, **options: Any) -> list[dict[str, Any]]:
    """Every field of the state after every round."""
    kept: list[dict[str, Any]] = []
    options.setdefault("x0", start_of(algorithm, task))
    keeps = options.pop("callbacks", [])
    train(
        algorithm, task, topology_for(algorithm), ROUNDS, options.pop("seeds", 2), seed=3, progress=False,
        callbacks=[lambda t, state, recorder: kept.append(fields_of(state)), *keeps], evaluate_every=ROUNDS,
        **options,
    )  # fmt: skip
    return kept


def same(found: Any, expected: Any, what: str, advice: str, tol: float = 1e-10) -> None:
    """Two values of one field agree."""
    if not (isinstance(found, Tensor) and isinstance(expected, Tensor)):
        alike = type(found) is type(expected) and (found is expected or bool(np.all(found == expected)))
        assert alike, f"{what} is {found!r}, not {expected!r}: {advice}"
        return
    assert found.shape == expected.shape, (
        f"{what} has shape {tuple(found.shape)}, not {tuple(expected.shape)}: {advice}"
    )
    assert found.dtype == expected.dtype, f"{what} is {found.dtype}, not {expected.dtype}: {advice}"
    if found.numel() and not torch.equal(found, expected):
        apart = float((found.double() - expected.double()).abs().max())
        assert apart <= tol * max(1.0, float(expected.double().abs().max())), (
            f"{what} is {apart:.2g} off: {advice}"
        )


def same_course(found: list[dict[str, Any]], expected: list[dict[str, Any]], advice: str) -> None:
    first = len(expected) - len(found)
    for t, (one, other) in enumerate(zip(found, expected[first:]), start=first + 1):
        for name, value in other.items():
            same(one.get(name), value, f"state.{name} after round {t}", advice)
