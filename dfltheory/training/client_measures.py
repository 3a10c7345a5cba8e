"""Measures of each client's own model, and their summaries over clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from torch import Tensor

from dfltheory.arrays import FloatArray
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task


class Metric(Protocol):
    """A user-defined measure of the clients' models (S, m, d) and their mean (S, d).

    It returns numbers (S,), or (S, m) with one number for each client.
    """

    __name__: str

    def __call__(self, task: Task, models: Tensor, mean: Tensor) -> Tensor | np.ndarray:
        """Return the measured values."""
        ...


def client_accuracy(task: Task, models: Tensor, mean: Tensor) -> Tensor:
    """Return the accuracy of each client's own model, (S, m).

    Client i's model is evaluated on client i's own test examples, or on the common test
    set if there is no other.

    Raises
    ------
    InputError
        If the task has no test examples, or no classes.
    """
    per_client = task.client_accuracy(models)
    if per_client is not None:
        return per_client
    common = task.accuracy(models.flatten(0, 1))
    if common is None:
        raise InputError(
            f"metrics: client_accuracy is not defined for the task {task.name}, which"
            " has no test examples with classes; omit it, or pass test=(X, y)"
        )
    return common.unflatten(0, models.shape[:2])


def client_loss(task: Task, models: Tensor, mean: Tensor) -> Tensor:
    """Return f_i(x_i), the loss of every client's own model on its own data, (S, m)."""
    return task.client_loss(models)


NAMED_METRICS: dict[str, Metric] = {
    "client_accuracy": client_accuracy,
    "client_loss": client_loss,
}
"""Metrics that can be selected by name."""

SUMMARIES: dict[str, float] = {
    "min": 0.0,
    "q10": 0.1,
    "median": 0.5,
    "q90": 0.9,
    "max": 1.0,
}
"""Maps the suffix of a summary over clients to its quantile level."""


def summaries(name: str, values: FloatArray) -> dict[str, FloatArray]:
    """Return the mean and the quantiles over clients of a measure (S, m), (S,) each.

    The mean has the name of the measure; the quantiles add a suffix, as in
    ``client_loss_max``.
    """
    result = {name: values.mean(axis=-1)}
    levels = over_clients(values, tuple(SUMMARIES.values()))
    for suffix, level in zip(SUMMARIES, levels, strict=True):
        result[f"{name}_{suffix}"] = level
    return result


def over_clients(values: FloatArray, levels: float | Sequence[float]) -> FloatArray:
    """Return linear quantiles over the last axis; NaN if a value is not finite."""
    if np.isfinite(values).all():
        return np.quantile(values, levels, axis=-1)
    finite = np.where(np.isfinite(values), values, np.nan)
    return np.quantile(finite, levels, axis=-1)


__all__ = [
    "NAMED_METRICS",
    "SUMMARIES",
    "Metric",
    "client_accuracy",
    "client_loss",
    "over_clients",
    "summaries",
]
