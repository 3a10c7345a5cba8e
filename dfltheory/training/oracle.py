"""The oracle in training: gradients and minibatches of the task."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from dfltheory.algorithms.base import Edges, Mix, Oracle, sampled
from dfltheory.randomness import RunGenerators, may_draw, uniform_numbers
from dfltheory.tasks.task import Clients, Task

DrawnSample = TypeVar("DrawnSample")


class RoundOracle(Oracle):
    """The oracle of round t, for S seeds and all or some clients (see :meth:`of`).

    The methods that a task lists in ``oracle_methods`` are available, too.

    Parameters
    ----------
    task : Task
        Source of minibatches and gradients.
    randomness : RunGenerators
        Random numbers of the run's seeds.
    t, horizon : int
        The round, and the total number of rounds.
    participation : float
        If below 1, each seed draws max(1, round(participation * m)) clients without
        replacement.
    mix : Mix, optional
        Source of the arcs of the network.
    asked : set of str, optional
        Receives ``"horizon"`` if the algorithm reads the number of rounds.
    draws : bool
        Whether the algorithm may draw random numbers.
    """

    environment = "training"

    def __init__(
        self,
        task: Task,
        randomness: RunGenerators,
        t: int,
        horizon: int,
        participation: float = 1.0,
        mix: Mix | None = None,
        asked: set[str] | None = None,
        draws: bool = True,
    ) -> None:
        super().__init__(t, horizon, task)
        self._draws, self._mix, self._asked = draws, mix, asked
        self._task = self._all_clients = task
        self._rows: Clients | None = None
        self._generators = randomness.at(t, "data")
        self._stream = task.stream(self._generators)
        self._kept: list[Any] = []
        self._position = 0
        self._add_methods_of_task()
        if participation < 1:
            self.active = self._participants(randomness, participation)

    @property
    def horizon(self) -> int:
        """The total number of rounds; reading it is recorded as a dependency."""
        if self._asked is not None:
            self._asked.add("horizon")
        return self._horizon

    @property
    def edges(self) -> Edges:
        """The arcs into these clients."""
        if self._mix is None:
            raise self.unsupported(".edges")
        return self._mix.edges if self._rows is None else self._mix.edges.of(self._rows)

    def sample(self) -> object:
        """Draw the next minibatch of each seed and client."""
        batch = self._next(self._stream)
        return (
            batch if self._rows is None else self._all_clients.pick(batch, self._rows)
        )

    def __call__(self, y: Tensor, batch: object) -> Tensor:
        """Return the task's stochastic gradients at y (S, m, d)."""
        return self._task.gradient(y, batch)

    def loss(self, y: Tensor, batch: object) -> Tensor:
        """Return the task's losses (S, m) at y (S, m, d) on a minibatch."""
        return self._task.loss(y, batch)

    def balanced(self, y: Tensor, batch: object) -> Tensor:
        """Return the task's class-balanced gradients at y (S, m, d)."""
        return self._task.balanced_gradient(y, batch)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw numbers in [0, 1) of shape (S, m, ...), given ``shape`` = (m, ...)."""
        task = self._all_clients
        may_draw(shape, self._task.m, self._draws)
        like = torch.empty(0, dtype=task.dtype, device=task.device)
        full_shape = (task.m, *shape[1:])
        drawn = self._next(partial(uniform_numbers, self._generators, full_shape, like))
        return drawn if self._rows is None else drawn[:, self._rows].clone()

    def of(self, rows: Clients) -> Self:
        """Return the oracle of the same round for some clients, with the same draws."""
        part = copy.copy(self)
        part._rows = rows if self._rows is None else _selected(self._rows, rows)
        part._position = 0
        part._task = self._all_clients.restrict(part._rows)
        part._add_methods_of_task()
        part.active = None if self.active is None else self.active[:, rows]
        return part

    def _add_methods_of_task(self) -> None:
        """Add the further methods that the task lists."""
        for name in self._task.oracle_methods:
            setattr(self, name, getattr(self._task, name))

    def _next(self, draw: Callable[[], DrawnSample]) -> DrawnSample:
        """Return the next draw for all clients.

        If this oracle is for some clients, the draw is stored for the other ones.
        """
        if self._rows is None:
            return draw()
        if self._position == len(self._kept):
            self._kept.append(draw())
        self._position += 1
        return self._kept[self._position - 1]

    def _participants(self, randomness: RunGenerators, participation: float) -> Tensor:
        """Draw the participating clients of each seed, (S, m, 1)."""
        m, device = self._task.m, self._task.device
        like = torch.empty(0, dtype=torch.float64)
        numbers = uniform_numbers(randomness.at(self.t, "participation"), (m,), like)
        chosen = numbers.topk(sampled(participation, m), largest=False).indices
        mask = torch.zeros(numbers.shape, dtype=torch.bool).scatter_(1, chosen, True)
        return mask.unsqueeze(-1).to(device)


def _selected(rows: Clients, some: Clients) -> Clients:
    """Return which clients ``some`` of the clients ``rows`` are."""
    if isinstance(rows, Tensor):
        return rows[some]
    if isinstance(some, Tensor):
        return some + rows.start
    return slice(rows.start + some.start, rows.start + some.stop)


__all__ = ["RoundOracle"]
