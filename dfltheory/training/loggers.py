"""Logging of a run's measurements to experiment trackers, while it runs.

>>> train(algorithm, task, W, callbacks=[report(tensorboard("runs/one"), print_line)])

A logger is any function of a round and its measurements::

    def print_line(t: int, values: dict[str, float]) -> None:
        print(t, values)
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from dfltheory.algorithms.base import State
from dfltheory.errors import InputError
from dfltheory.training.metrics import Recorder
from dfltheory.training.recording import Callback

Logger = Callable[[int, dict[str, float]], object]
"""A function of the round t and of the measures by name, averaged over seeds."""


def report(*loggers: Logger) -> Callback:
    """Return a callback of ``train`` that passes measurements to loggers.

    Each logger is called once for each measured round, in order.
    """
    reported: list[int] = []

    def callback(t: int, state: State, recorder: Recorder) -> None:
        """Pass the rounds that were measured since the last call to the loggers."""
        # the first call reports the start, too, and all rounds of a resumed run
        for k in range(len(reported), len(recorder.rounds)):
            reported.append(recorder.rounds[k])
            # Measures that need the next state are one round late and are omitted.
            values = {
                name: float(v[k].mean())
                for name, v in recorder.values.items()
                if len(v) > k
            }
            for logger in loggers:
                logger(reported[-1], values)

    return callback


METHODS = ("add_scalar", "log_metrics", "log")
"""Methods by which trackers are recognized, in order of precedence."""


class Tracker:
    """A logger for an experiment tracker.

    Parameters
    ----------
    target : object
        The object that the tracker's library returns, recognized by its methods:
        ``add_scalar(name, value, step)`` (TensorBoard's SummaryWriter),
        ``log_metrics(values, step=...)`` (the module mlflow, Lightning's loggers),
        ``log(values, step=...)`` (runs of W&B and Trackio, and their modules), or else
        a function ``(values, step)``. No library is imported.
    method : str, optional
        The method to use; by default the first one that the target has.

    Raises
    ------
    InputError
        If the target is not one of these.
    """

    def __init__(self, target: Any, method: str | None = None):
        self.target = target
        self._write = _writer(target, METHODS if method is None else (method,))

    def __call__(self, t: int, values: dict[str, float]) -> None:
        """Pass the values of round t to the target."""
        self._write(values, t)

    def note(self, name: str, text: str) -> None:
        """Write a text if the tracker supports texts."""
        for method in ("add_text", "set_tag"):
            write = getattr(self.target, method, None)
            if callable(write):
                write(name, text)
                return


def _writer(
    target: Any, methods: Iterable[str]
) -> Callable[[dict[str, float], int], object]:
    """Return the function (values, step) that writes to a target."""
    if isinstance(target, Tracker):
        return target._write
    available = [name for name in methods if callable(getattr(target, name, None))]
    if available and available[0] == "add_scalar":

        def write_scalars(values: dict[str, float], step: int) -> None:
            for name, value in values.items():
                target.add_scalar(name, value, step)

        return write_scalars
    if available:
        return _with_step(getattr(target, available[0]))
    if not callable(target):
        raise InputError(
            f"logger is a {type(target).__name__}, which has none of the methods"
            f" {', '.join(METHODS)}: use a function (values, step)"
        )
    return target


def _with_step(log: Callable[..., object]) -> Callable[[dict[str, float], int], object]:
    """Return the function (values, step) that calls log(values, step=step)."""

    def write(values: dict[str, float], step: int) -> object:
        return log(values, step=step)

    return write


def tensorboard(folder: str | os.PathLike[str]) -> Logger:
    """Return a logger that writes scalars to a folder for TensorBoard."""
    writer = _module("torch.utils.tensorboard", "tensorboard").SummaryWriter(
        os.fspath(folder)
    )

    class Flushed(Tracker):
        """Flushes after each round, so that a run can be viewed while it runs."""

        def __call__(self, t: int, values: dict[str, float]) -> None:
            super().__call__(t, values)
            self.target.flush()

    return Flushed(writer, "add_scalar")


def wandb(**options: object) -> Logger:
    """Return a logger for Weights & Biases; ``options`` are those of ``wandb.init``."""
    return Tracker(_module("wandb", "wandb").init(**options), "log")


def trackio(**options: object) -> Logger:
    """Return a logger for Trackio; ``options`` are passed to ``trackio.init``."""
    return Tracker(_module("trackio", "trackio").init(**options), "log")


def mlflow(**options: object) -> Logger:
    """Return a logger for MLflow; ``options`` are passed to ``mlflow.start_run``."""
    module = _module("mlflow", "mlflow")
    module.start_run(**options)
    return Tracker(module, "log_metrics")


def _module(name: str, package: str) -> ModuleType:
    """Import a module of an experiment tracker; raise InputError if it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"this logger needs {package}, which is not installed: pip install"
            f" {package}"
        ) from error


__all__ = ["Logger", "Tracker", "mlflow", "report", "tensorboard", "trackio", "wandb"]
