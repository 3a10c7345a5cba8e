"""Divergence detection, relative to the problem's own scale."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from dfltheory.randomness import torch_generator
from dfltheory.tasks.task import Task

GROWTH = 1e12
"""Largest increase of the norms of gradients and models that is not divergence.
"""

JUDGED = ("grad_norm_sq", "consensus", "loss")
"""The measures that are used to detect divergence."""


class Scale:
    """Reference sizes of gradients and models for detecting divergence of a run.

    Gradients: ||grad f(xbar^t)|| is compared with the maximum of ||grad f(xbar^0)|| and
    of the clients' stochastic gradients at xbar^0, 0 and 2 xbar^0 (root mean square
    over clients). The latter account for heterogeneity, noise and curvature if the mean
    gradient vanishes at the start; they are computed only if needed. Models: the root
    mean square of ||x_i^t|| is compared with its values at the start and at the first
    measurement after it.

    A reference of 0 is ignored. If the loss of a seed does not exceed its initial
    value, only the clients' distance from their mean is judged, because an escape from
    a saddle point or a maximum may start with gradients of the size of rounding errors.

    Parameters
    ----------
    task : Task
    start : (S, d) tensor
        xbar^0.
    *sizes : (S,) arrays
        mean_i ||x_i||^2 at the start, and at the first measurement after it, if there
        was one.
    """

    def __init__(self, task: Task, start: Tensor, *sizes: np.ndarray):
        self._task = task
        self._start = start.clone()
        self._largest_client_rms: float | None = None  # computed if needed
        self._first_gradient_norm: float | None = None
        self.sizes = [float(np.max(size)) for size in sizes]

    def has_left(
        self,
        measured: dict[str, np.ndarray],
        first: dict[str, np.ndarray],
        size: np.ndarray,
    ) -> bool:
        """Return whether a run has left the scale, or is not finite.

        Parameters
        ----------
        measured, first : dict of str to (S,) array
            The measures in this round and in the first one.
        size : (S,) array
            mean_i ||x_i||^2 in this round.
        """
        if self._is_within(measured, first, size):
            return False
        if not np.isfinite([measured[name] for name in JUDGED]).all():
            return True
        if len(self.sizes) < 2 or max(self.sizes) == 0:
            self.sizes.append(float(size.max()))
        # True also if the loss at the start is NaN
        higher = ~(measured["loss"] <= first["loss"])
        far = (
            float(np.where(higher, size, measured["consensus"]).max())
            > GROWTH**2 * max(self.sizes)
            > 0
        )
        slopes = np.where(higher, measured["grad_norm_sq"], 0.0)
        return far or self._is_steeper(slopes, first["grad_norm_sq"])

    def _is_within(
        self,
        measured: dict[str, np.ndarray],
        first: dict[str, np.ndarray],
        size: np.ndarray,
    ) -> bool:
        """Return whether all seeds are finite and within scale, regardless of losses.

        This is cheaper than the exact test and suffices in most rounds.
        """
        if len(self.sizes) < 2:
            return False
        # largest magnitudes, NaN if a value is NaN
        values = np.array([*(measured[name] for name in JUDGED), size])
        gradient_sq, consensus, loss, largest = np.abs(values).max(axis=1).tolist()
        return (
            math.isfinite(consensus)
            and math.isfinite(loss)
            and largest < GROWTH**2 * max(self.sizes)
            and gradient_sq**0.5
            < GROWTH * self._gradient_at_start(first["grad_norm_sq"])
        )

    def _gradient_at_start(self, first_squares: np.ndarray) -> float:
        """Return the largest finite ||grad f(xbar^0)||, given the squares (S,)."""
        norm = self._first_gradient_norm
        if norm is None:
            finite = first_squares[np.isfinite(first_squares)]
            norm = float(finite.max(initial=0.0)) ** 0.5
            self._first_gradient_norm = norm
        return norm

    def _is_steeper(self, squares: np.ndarray, first_squares: np.ndarray) -> bool:
        """Return whether a gradient exceeds both references, given squares (S,)."""
        norm = float(squares.max()) ** 0.5
        if norm <= GROWTH * self._gradient_at_start(first_squares):
            return False
        if self._largest_client_rms is None:
            self._largest_client_rms = self._of_clients()
        return norm > GROWTH * self._largest_client_rms > 0

    def _of_clients(self) -> float:
        """Return the largest RMS of stochastic client gradients near the start."""
        task, largest = self._task, 0.0
        for s, x in enumerate(self._start):
            for point in (x, torch.zeros_like(x), 2 * x):
                stacked = point.expand(1, task.m, task.d)
                batch = task.sample([torch_generator(0, s, 0, "start", task.device)])
                norms = torch.linalg.vector_norm(
                    task.gradient(stacked, batch), dim=-1, dtype=torch.float64
                )
                value = float(norms.square().mean().sqrt())
                largest = max(largest, value) if np.isfinite(value) else largest
        return largest


__all__ = ["GROWTH", "JUDGED", "Scale"]
