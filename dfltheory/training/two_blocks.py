"""Measures of partial personalization, at the mean shared block and personal blocks."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from torch import Tensor

from dfltheory.algorithms.blocks import block_coordinates
from dfltheory.tasks.task import Task
from dfltheory.training.norms import squared_norm

Squares = TypeVar("Squares", Tensor, np.ndarray)


class TwoBlockMeasures:
    """Squared gradients of F(u, V) at (ubar^t, V^t).

    The mean shared block ubar^t of the last measurement is stored for the measures with
    V^{t+1}.

    Parameters
    ----------
    task : Task
        Its ``shared`` block is u.
    L_u, L_v : float
        Smoothness constants > 0 of the blocks.
    """

    def __init__(self, task: Task, L_u: float, L_v: float):
        self._task, self._L_u, self._L_v = task, L_u, L_v
        self._u, self._v = block_coordinates(task.shared, task.d)
        self._shared_mean: Tensor

    def measure(self, models: Tensor, mean: Tensor) -> dict[str, Tensor]:
        """Measure the models (S, m, d) with their mean (S, d)."""
        self.keep(mean)
        shared = self.shared_gradient_sq(models)
        personal = squared_norm(self._task.gradient(models)[..., self._v]).mean(-1)
        return {
            "grad_u_sq": shared,
            "grad_v_sq": personal,
            "two_block": self.weighted_sum(shared, personal),
            "two_block_value": self._task.loss(self._at_shared_mean(models)).mean(-1),
        }

    def keep(self, mean: Tensor) -> None:
        """Store the shared block of the mean model (S, d)."""
        self._shared_mean = mean[..., self._u]

    def weighted_sum(self, shared: Squares, personal: Squares) -> Squares:
        """Return the sum of both squares, each divided by its block's smoothness."""
        return shared / self._L_u + personal / self._L_v

    def shared_gradient_sq(self, models: Tensor) -> Tensor:
        """Return ||grad_u F(ubar, V)||^2 for the stored ubar and the models' V."""
        gradients = self._task.gradient(self._at_shared_mean(models))
        return squared_norm(gradients[..., self._u].mean(-2))

    def _at_shared_mean(self, models: Tensor) -> Tensor:
        """Return (ubar, v_i) for each client, with the stored ubar."""
        at = models.clone()
        at[..., self._u] = self._shared_mean.unsqueeze(-2)
        return at


__all__ = ["TwoBlockMeasures"]
