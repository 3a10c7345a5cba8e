"""What a run measures, told to experiment trackers as it goes.

>>> train(algorithm, task, W, callbacks=[report(tensorboard("runs/one"), print_line)])

A logger is any function of a round and what was measured there::

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
    """A callback of :func:`dfltheory.train` that tells every measured round, 0 among them, to loggers."""
    told: list[int] = []

    def callback(t: int, state: Any, recorder: Any) -> None:
        for k in range(len(told), len(recorder.rounds)):
            told.append(recorder.rounds[k])
            # what needs the next round's state as well comes a round later, and is left out
            values = {name: float(v[k].mean()) for name, v in recorder.values.items() if len(v) > k}
            for logger in loggers:
                logger(told[-1], values)

    return callback


def tensorboard(folder: str | os.PathLike[str]) -> Logger:
    """Scalars in a folder that TensorBoard reads."""
    writer = _module("torch.utils.tensorboard", "tensorboard").SummaryWriter(os.fspath(folder))

    def log(t: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, t)
        writer.flush()

    return log


def wandb(**options: Any) -> Logger:
    """A run of Weights & Biases; ``options`` of ``wandb.init``."""
    run = _module("wandb", "wandb").init(**options)
    return lambda t, values: run.log(values, step=t)


def mlflow(**options: Any) -> Logger:
    """A run of MLflow; ``options`` of ``mlflow.start_run``."""
    module = _module("mlflow", "mlflow")
    module.start_run(**options)
    return lambda t, values: module.log_metrics(values, step=t)


def _module(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"this logger needs {package}, which is not installed: pip install {package}"
        ) from error


__all__ = ["Logger", "mlflow", "report", "tensorboard", "wandb"]
