"""Reports of a run's measurements to experiment trackers, while it runs.

>>> train(algorithm, task, W, callbacks=[report(tensorboard("runs/one"), print_line)])

A logger is any function of a round and of what was measured there::

    def print_line(t: int, values: dict[str, float]) -> None:
        print(t, values)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from dfltheory.errors import InputError

Logger = Callable[[int, dict[str, float]], object]
"""(t, measure -> its mean over the run's seeds)."""


def report(*loggers: Logger) -> Callable[[int, Any, Any], None]:
    """Return a callback of :func:`dfltheory.train` that passes every measured round to
    the loggers.
    """
    reported: list[int] = []

    def callback(t: int, state: Any, recorder: Any) -> None:
        for k in range(len(reported), len(recorder.rounds)):
            reported.append(recorder.rounds[k])
            # measures that need the state after the next round are one round late, and
            # are left out
            values = {
                name: float(v[k].mean())
                for name, v in recorder.values.items()
                if len(v) > k
            }
            for logger in loggers:
                logger(reported[-1], values)

    return callback


def tensorboard(folder: str | os.PathLike[str]) -> Logger:
    """Return a logger that writes scalars to a folder that TensorBoard reads."""
    writer = _module("torch.utils.tensorboard", "tensorboard").SummaryWriter(
        os.fspath(folder)
    )

    def log(t: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, t)
        writer.flush()

    return log


def wandb(**options: Any) -> Logger:
    """Return a logger to a run of Weights & Biases; ``options`` of ``wandb.init``."""
    run = _module("wandb", "wandb").init(**options)

    def log(t: int, values: dict[str, float]) -> None:
        run.log(values, step=t)

    return log


def mlflow(**options: Any) -> Logger:
    """Return a logger to a run of MLflow; ``options`` of ``mlflow.start_run``."""
    module = _module("mlflow", "mlflow")
    module.start_run(**options)

    def log(t: int, values: dict[str, float]) -> None:
        module.log_metrics(values, step=t)

    return log


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"this logger needs {package}, which is not installed: pip install"
            f" {package}"
        ) from error


__all__ = ["Logger", "mlflow", "report", "tensorboard", "wandb"]
