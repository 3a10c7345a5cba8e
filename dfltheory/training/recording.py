"""The schedule of measurements of a run, and its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, State
from dfltheory.tasks.synthetic import Synthetic
from dfltheory.tasks.task import Task
from dfltheory.training.history import History
from dfltheory.training.metrics import Metric, Recorder
from dfltheory.training.norms import squared_norm
from dfltheory.training.run import Run

Callback = Callable[[int, State, Recorder], bool | None]
"""A function of (t, state, recorder), called after each round; True ends the run.
"""


class Recording:
    """The measurements of one run, including its start.

    Parameters
    ----------
    run : Run
        The run before its first round; its start is measured immediately.
    metrics : iterable of functions and names
        Further metrics.
    every : int
        Rounds 0, every, 2 every, ... and the last one are measured.

    Attributes
    ----------
    recorder : Recorder
        The measured values.
    diverged_at, stopped_at : int or None
        The round at which the run diverged or was stopped by a callback.
    """

    def __init__(self, run: Run, metrics: Iterable[Metric | str], every: int):
        self.recorder = Recorder(run.task, run.algorithm, metrics, run.network)
        self.every = every
        self.diverged_at: int | None = None
        self.stopped_at: int | None = None
        self._run = run
        start = run.algorithm.mean(run.state)
        excess = run.task.excess(start)
        self._excess = None
        if excess is not None:
            self._excess = np.stack([_array(part) for part in excess])
        self._client_gradients_sq = _client_gradients_sq(run.task, start)
        self.recorder.measure(0, run.state)

    def due(self, t: int) -> bool:
        """Return whether to measure the state after t rounds."""
        return t % self.every == 0 or t == self._run.rounds

    def waits_for(self, t: int) -> bool:
        """Return whether a measure of round t needs the next state."""
        return self.recorder.waits_for(t)

    def record(self, t: int, callbacks: Iterable[Callback]) -> bool:
        """Measure the state after t rounds if it is due, and call the callbacks.

        Returns
        -------
        bool
            Whether the run ends here.
        """
        state = self._run.state
        self.recorder.follow(t - 1, state)
        if self.due(t):
            self.recorder.measure(t, state)
            if self.recorder.diverged():
                self.diverged_at = t
                return True
        answers = [callback(t, state, self.recorder) for callback in callbacks]
        if any(answers):
            self.stopped_at = t
            return True
        return False

    def history(self, seconds: float) -> History:
        """Return the history of the run, which took ``seconds``."""
        run = self._run
        planned = [t for t in range(run.rounds + 1) if self.due(t)]
        measured = self.recorder.arrays(len(planned))
        return History(
            algorithm=run.algorithm,
            rounds=run.rounds,
            rounds_measured=np.array(planned),
            grad_norm_sq=measured.pop("grad_norm_sq"),
            consensus=measured.pop("consensus"),
            loss=measured.pop("loss"),
            accuracy=measured.pop("accuracy", None),
            sent_bits=measured.pop("sent_bits"),
            model_sq=measured.pop("model_sq"),
            extra=measured,
            clients=self.recorder.client_arrays(len(planned)),
            x=_array(run.algorithm.models(run.state)),
            x0_sq=_array(run.x0_sq),
            x0_spread=_array(run.x0_spread),
            x0_gradient_sq=self._client_gradients_sq,
            excess=self._excess,
            problem=run.task,
            task=run.task.name,
            seed=run.seed,
            topology=run.sequences.get(MIX),
            facts=run.facts,
            diverged_at=self.diverged_at,
            stopped_at=self.stopped_at,
            seconds=seconds,
        )


def _client_gradients_sq(task: Task, mean: Tensor) -> np.ndarray | None:
    """Return (1/m) sum_i ||grad f_i||^2 at points (S, d) if the f_i are formulas."""
    if not isinstance(task, Synthetic):
        return None
    at = mean.unsqueeze(-2).expand(*mean.shape[:-1], task.m, task.d)
    return _array(squared_norm(task.client_gradient(at)).mean(-1))


def _array(x: Tensor) -> np.ndarray:
    """Convert a tensor to numpy; half precision becomes float32."""
    if x.dtype in (torch.bfloat16, torch.float16):  # numpy has no bfloat16
        x = x.float()
    return x.detach().cpu().numpy()


__all__ = ["Callback", "Recording"]
