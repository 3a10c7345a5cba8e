"""What one round of local work sees of the task: gradients and minibatches, never the network."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from dfltheory.algorithms.base import Mix, sampled
from dfltheory.algorithms.edges import Edges
from dfltheory.randomness import Generators, may_draw, numpy_generator, uniform
from dfltheory.tasks.task import Task


class RoundOracle:
    """The :class:`dfltheory.algorithms.Oracle` of round t, for S seeds and all clients, or ``of`` some.

    ``participation`` < 1 lets every seed draw max(1, round(participation * m)) clients without replacement.
    ``mix`` gives the network's arcs; ``asked`` is told what of the run's length was asked for.
    """

    def __init__(
        self,
        task: Task,
        seeds: Sequence[int],
        root: int,
        t: int,
        horizon: int,
        participation: float = 1.0,
        mix: Mix | None = None,
        asked: set[str] | None = None,
        draws: bool = True,
    ) -> None:
        self.t, self.shared, self._draws = t, task.shared, draws
        self._horizon, self._mix, self._asked = horizon, mix, asked
        self._task = self._everybody = task
        self._rows: slice | None = None
        self._generators: Sequence[torch.Generator] = Generators(root, seeds, t, "data", task.device)
        self._stream = task.stream(self._generators)
        self._kept: list[Any] = []
        self.active = self._participants(seeds, root, participation) if participation < 1 else None

    @property
    def horizon(self) -> int:
        if self._asked is not None:
            self._asked.add("horizon")
        return self._horizon

    @property
    def edges(self) -> Edges:
        assert self._mix is not None, "given by the run"
        return self._mix.edges if self._rows is None else self._mix.edges.of(self._rows)

    @property
    def blocks(self) -> tuple[slice, ...]:
        return self._everybody.blocks

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return self._everybody.shapes

    def begin(self, x: Tensor) -> Tensor:
        return x.clone()

    def sample(self) -> Any:
        batch = self._next(self._stream)
        return batch if self._rows is None else self._everybody.pick(batch, self._rows)

    def __call__(self, y: Tensor, batch: Any) -> Tensor:
        return self._task.gradient(y, batch)

    def balanced(self, y: Tensor, batch: Any) -> Tensor:
        return self._task.balanced_gradient(y, batch)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        task = self._everybody
        may_draw(shape, self._task.m, self._draws)
        like = torch.empty(0, dtype=task.dtype, device=task.device)
        drawn = self._next(lambda: uniform(self._generators, (task.m, *shape[1:]), like))
        return drawn if self._rows is None else drawn[:, self._rows].clone()

    def of(self, rows: slice) -> Self:
        """The same round for some of these clients: they see the draws that they would see among all."""
        first = 0 if self._rows is None else self._rows.start
        part = copy.copy(self)
        part._rows, part._k = slice(first + rows.start, first + rows.stop), 0
        part._task = self._everybody.restrict(part._rows)
        part.active = None if self.active is None else self.active[:, rows]
        return part

    def _next(self, draw: Callable[[], Any]) -> Any:
        """The next draw of all clients; for some of them it is kept, since others will ask for it too."""
        if self._rows is None:
            return draw()
        if self._k == len(self._kept):
            self._kept.append(draw())
        self._k += 1
        return self._kept[self._k - 1]

    def _participants(self, seeds: Sequence[int], root: int, participation: float) -> Tensor:
        m = self._task.m
        mask = torch.zeros(len(seeds), m, 1, dtype=torch.bool)
        for own, s in zip(mask, seeds, strict=True):
            rng = numpy_generator(root, s, self.t, "participation")
            own[rng.choice(m, size=sampled(participation, m), replace=False)] = True
        return mask.to(self._task.device)


__all__ = ["RoundOracle"]
