"""What is measured along a run: at the mean model, across the clients, and what the user adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task


class Metric(Protocol):
    """A user's measure: task, the clients' models (S, m, d), their mean (S, d) -> one number a seed (S,)."""

    __name__: str

    def __call__(self, task: Task, models: Tensor, mean: Tensor) -> Tensor | np.ndarray: ...


class Recorder:
    """Measures states and keeps the numbers, in float64: name -> list over measured rounds of (S,) arrays.

    Always: ``grad_norm_sq``, ``consensus``, ``loss``. Where it has sense: ``accuracy`` (mean model),
    ``client_accuracy`` (mean over clients of each one's model on its own test data), ``grad_norm_sq_w``
    (auxiliary sequence), ``grad_u_sq``, ``grad_v_sq`` and ``two_block`` (partial personalization).
    """

    def __init__(self, task: Task, algorithm: Algorithm, metrics: Iterable[Metric] = ()):
        self.task, self.algorithm = task, algorithm
        self.metrics: dict[str, Callable[..., Any]] = {}
        for metric in metrics:
            name = getattr(metric, "__name__", type(metric).__name__)
            if name in self.metrics:
                raise InputError(f"two metrics are called {name}: give them different names")
            self.metrics[name] = metric
        self.rounds: list[int] = []
        self.values: dict[str, list[np.ndarray]] = {}

    @torch.no_grad()
    def measure(self, t: int, state: Any) -> dict[str, np.ndarray]:
        """Measure the state after t rounds."""
        measured = {name: _numbers(value) for name, value in self._measures(state).items()}
        self.rounds.append(t)
        for name, value in measured.items():
            self.values.setdefault(name, []).append(value)
        return measured

    def _measures(self, state: Any) -> dict[str, Tensor]:
        task, algorithm = self.task, self.algorithm
        models, mean = algorithm.models(state), algorithm.mean(state)
        loss, gradient = task.global_loss_and_gradient(mean)
        measured = {
            "grad_norm_sq": square(gradient),
            "consensus": square(models - mean.unsqueeze(-2)).mean(-1),
            "loss": loss,
        }
        if (accuracy := task.accuracy(mean)) is not None:
            measured["accuracy"] = accuracy
        if (own := task.client_accuracy(models)) is not None:
            measured["client_accuracy"] = own.mean(-1)
        if (w := algorithm.auxiliary(state)) is not None:
            measured["grad_norm_sq_w"] = square(task.global_gradient(w))
        for name, metric in self.metrics.items():
            measured[name] = metric(task, models, mean)
        return measured

    def arrays(self) -> dict[str, np.ndarray]:
        """Name -> (S, len(rounds))."""
        return {name: np.stack(values, axis=-1) for name, values in self.values.items()}

    def restore(self, rounds: Iterable[int], arrays: dict[str, np.ndarray]) -> None:
        """Go on from what :meth:`arrays` gave."""
        self.rounds = [int(t) for t in rounds]
        self.values = {name: [array[:, j] for j in range(array.shape[1])] for name, array in arrays.items()}


def square(x: Tensor) -> Tensor:
    """||x||^2 along the last axis."""
    return torch.linalg.vector_norm(x, dim=-1) ** 2


def exploded(measured: dict[str, np.ndarray], first: dict[str, np.ndarray], factor: float = 1e12) -> bool:
    """Has a seed left the finite numbers, or grown ``factor`` times beyond where it started?"""
    for name in ("grad_norm_sq", "consensus", "loss"):
        now, then = measured[name], np.abs(first[name])
        scale = max(float(then.max()), 1.0) if np.isfinite(then).all() else 1.0
        if not np.isfinite(now).all() or bool((np.abs(now) > factor * scale).any()):
            return True
    return False


def _numbers(value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        value = value.detach().to(device="cpu", dtype=torch.float64).numpy()
    return np.atleast_1d(np.array(value, dtype=np.float64))


__all__ = ["Metric", "Recorder", "exploded", "square"]
