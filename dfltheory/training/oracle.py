"""What one round of local work sees of the task: gradients and minibatches, never the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dfltheory.tasks.task import Task
from dfltheory.training.randomness import Generators, numpy_generator


class RoundOracle:
    """The :class:`dfltheory.algorithms.Oracle` of round t, for S seeds.

    ``participation`` < 1 lets every seed draw max(1, round(participation * m)) clients without replacement.
    """

    def __init__(
        self, task: Task, seeds: Sequence[int], root: int, t: int, horizon: int, participation: float = 1.0
    ) -> None:
        self.t, self.horizon = t, horizon
        self.shared = task.shared
        self._task = task
        self._generators: Sequence[torch.Generator] = Generators(root, seeds, t, "data", task.device)
        self._draw = task.stream(self._generators)
        self.active = self._participants(seeds, root, participation) if participation < 1 else None

    @property
    def blocks(self) -> tuple[slice, ...]:
        return self._task.blocks

    def sample(self) -> Any:
        return self._draw()

    def __call__(self, y: Tensor, batch: Any) -> Tensor:
        return self._task.gradient(y, batch)

    def balanced(self, y: Tensor, batch: Any) -> Tensor:
        return self._task.balanced_gradient(y, batch)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        task = self._task
        return torch.stack(
            [torch.rand(shape, generator=g, dtype=task.dtype, device=task.device) for g in self._generators]
        )

    def _participants(self, seeds: Sequence[int], root: int, participation: float) -> Tensor:
        m = self._task.m
        mask = torch.zeros(len(seeds), m, 1, dtype=torch.bool)
        for row, s in enumerate(seeds):
            rng = numpy_generator(root, s, self.t, "participation")
            mask[row, rng.choice(m, size=max(1, round(participation * m)), replace=False)] = True
        return mask.to(self._task.device)


__all__ = ["RoundOracle"]
