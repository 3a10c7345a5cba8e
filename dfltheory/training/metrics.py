"""What is measured along a run: at the mean model, across the clients, and what the user adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.algorithms.blocks import blocks
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task
from dfltheory.training.divergence import Scale
from dfltheory.training.mixing import Network


class Metric(Protocol):
    """A user's measure: task, the clients' models (S, m, d), their mean (S, d) -> one number a seed (S,)."""

    __name__: str

    def __call__(self, task: Task, models: Tensor, mean: Tensor) -> Tensor | np.ndarray: ...


AHEAD = {"grad_u_sq_next": 1, "two_block_next": 1}
"""Measures of a round t that look at models of round t + this; all others look at those of round t alone."""


class Recorder:
    """Measures states and keeps the numbers, in float64: name -> list over measured rounds of (S,) arrays.

    Always: ``grad_norm_sq``, ``consensus``, ``loss``, ``model_sq`` = mean_i ||x_i||^2, and ``sent_bits``,
    what the run had sent by then.
    Where it has sense: ``accuracy`` (mean model), ``client_accuracy`` (mean over clients of each one's model
    on its own test data), ``grad_norm_sq_w`` (auxiliary sequence). For partial personalization where L_u and
    L_v are known: ``grad_u_sq`` = ||grad_u F(ubar^t, V^t)||^2, ``grad_v_sq`` =
    mean_i ||grad_v F_i(u_i^t, v_i^t)||^2, ``two_block`` = grad_u_sq / L_u + grad_v_sq / L_v, and
    ``grad_u_sq_next``, ``two_block_next`` with V^{t+1} for V^t; and ``two_block_value`` = F(ubar^t, V^t).
    """

    scale: Scale  # from the first measurement on

    def __init__(
        self, task: Task, algorithm: Algorithm, metrics: Iterable[Metric] = (), network: Network | None = None
    ):
        self.task, self.algorithm, self.network = task, algorithm, network
        self.metrics: dict[str, Callable[..., Any]] = {}
        for metric in metrics:
            name = getattr(metric, "__name__", type(metric).__name__)
            if name in self.metrics:
                raise InputError(f"two metrics are called {name}: give them different names")
            self.metrics[name] = metric
        # constants are asked for last: a task may have to estimate them
        two = algorithm.personal and task.shared is not None
        self._two_block = two and bool(task.constants.L_u) and bool(task.constants.L_v)
        self._u, self._v = blocks(task.shared, task.d)
        self.rounds: list[int] = []
        self.values: dict[str, list[np.ndarray]] = {}

    @torch.no_grad()
    def measure(self, t: int, state: Any) -> dict[str, np.ndarray]:
        """Measure the state after t rounds."""
        models, mean = self.algorithm.models(state), self.algorithm.mean(state)
        measured = {name: numbers(value) for name, value in self._measures(state, models, mean).items()}
        self._size = measured["consensus"] + numbers(square(mean))
        if not self.rounds:
            self.scale = Scale(self.task, mean, self._size)
        self.rounds.append(t)
        if self.network is not None:
            measured["sent_bits"] = self.network.sent
        measured["model_sq"] = self._size
        for name, value in measured.items():
            self.values.setdefault(name, []).append(value)
        return measured

    def _measures(self, state: Any, models: Tensor, mean: Tensor) -> dict[str, Tensor]:
        task, algorithm = self.task, self.algorithm
        loss, gradient = task.global_loss_and_gradient(mean)
        measured = {"grad_norm_sq": square(gradient), "consensus": spread(models, mean), "loss": loss}
        if (accuracy := task.accuracy(mean)) is not None:
            measured["accuracy"] = accuracy
        if (own := task.client_accuracy(models)) is not None:
            measured["client_accuracy"] = own.mean(-1)
        if (w := algorithm.auxiliary(state)) is not None:
            measured["grad_norm_sq_w"] = square(task.global_gradient(w))
        if self._two_block:
            measured |= self._blocks(models, mean)
        for name, metric in self.metrics.items():
            if name in measured or name in ("sent_bits", "model_sq"):
                raise InputError(f"metric {name} has the name of a measure of every run: rename it")
            measured[name] = metric(task, models, mean)
            if (shape := numbers(measured[name]).shape) != mean.shape[:1]:
                raise InputError(
                    f"metric {name} gives shape {shape}: give one number for each seed, {(len(mean),)}"
                )
        return measured

    def _blocks(self, models: Tensor, mean: Tensor) -> dict[str, Tensor]:
        """The two-block measures at (ubar^t, V^t); ubar is kept for V^{t+1}."""
        self._ubar = mean[..., self._u]
        body, head = self._body_slope(models), square(self.task.gradient(models)[..., self._v]).mean(-1)
        both, value = self._both(body, head), self.task.loss(self._at_ubar(models)).mean(-1)
        return {"grad_u_sq": body, "grad_v_sq": head, "two_block": both, "two_block_value": value}

    def _both(self, body: Any, head: Any) -> Any:
        """The sum of both squares, each over its block's smoothness."""
        return body / self.task.constants.L_u + head / self.task.constants.L_v

    def _body_slope(self, models: Tensor) -> Tensor:
        """||grad_u F(ubar, V)||^2 for the kept ubar and the heads V of these models."""
        return square(self.task.gradient(self._at_ubar(models))[..., self._u].mean(-2))

    def _at_ubar(self, models: Tensor) -> Tensor:
        """(ubar, v_i) at every client, for the kept ubar."""
        at = models.clone()
        at[..., self._u] = self._ubar.unsqueeze(-2)
        return at

    def diverged(self) -> bool:
        """Was the last measurement out of the run's scale?"""
        first, last = ({name: v[k] for name, v in self.values.items()} for k in (0, -1))
        return self.scale.left(last, first, self._size)

    def waits_for(self, t: int) -> bool:
        """Does a measure of round t still need the state after it?"""
        return self._two_block and bool(self.rounds) and self.rounds[-1] == t

    def follow(self, t: int, state: Any) -> None:
        """After round t + 1: what the measures of round t still need, ||grad_u F(ubar^t, V^{t+1})||^2."""
        if self.waits_for(t):
            body = numbers(self._body_slope(self.algorithm.models(state)))
            both = self._both(body, self.values["grad_v_sq"][-1])
            self.values.setdefault("grad_u_sq_next", []).append(body)
            self.values.setdefault("two_block_next", []).append(both)

    def arrays(self, rounds: int) -> dict[str, np.ndarray]:
        """Name -> (S, rounds); NaN in rounds without the measure, as the last where it needs one more."""
        return {name: lengthened(np.stack(v, axis=-1), rounds) for name, v in self.values.items()}

    def told(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the measures."""
        sent = [] if self.network is None else self.network.sent.tolist()
        return {"rounds": self.rounds, "sizes": self.scale.sizes, "sent": sent}

    def restore(self, told: dict[str, Any], values: dict[str, list[np.ndarray]], state: Any) -> None:
        """Go on from what another recorder told and measured, at the state that it measured last."""
        self.rounds, self.values = [int(t) for t in told["rounds"]], values
        self.scale.sizes = told["sizes"]
        if self.network is not None:
            self.network.sent = self.network.sent + told["sent"]
        if self._two_block:
            self._ubar = self.algorithm.mean(state)[..., self._u]

    def forget_last(self) -> None:
        """Go back to before the last measurement."""
        del self.rounds[-1]
        self.values = {name: values[: len(self.rounds)] for name, values in self.values.items()}
        del self.scale.sizes[len(self.rounds) :]


def spread(x: Tensor, mean: Tensor) -> Tensor:
    """(1/m) sum_i ||x_i - mean||^2, (S, m, d) and (S, d) -> (S,), without another large tensor."""
    few = max(1, 10**6 // max(1, x.shape[0] * x.shape[-1]))
    if few >= x.shape[1]:
        return square(x - mean.unsqueeze(-2)).mean(-1)
    room = x.new_empty(x.shape[0], few, x.shape[-1])  # one for all: many large tensors in turn leave holes
    squares = [
        square(torch.sub(part, mean.unsqueeze(-2), out=room[:, : part.shape[1]]))
        for part in x.split(few, dim=1)
    ]
    return torch.cat(squares, dim=1).mean(-1)


def square(x: Tensor) -> Tensor:
    """||x||^2 along the last axis, in double precision where the squares leave the range of x's own.

    Norms are taken in single precision at least, which is fast: float16 ends at 65504, and squares of
    float32 at 1e38 and 1e-45.
    """
    norm = torch.linalg.vector_norm(x, dim=-1, dtype=torch.promote_types(x.dtype, torch.float32))
    if norm.dtype == torch.float32 and not bool(((norm > 1e-15) & (norm < 1e18)).all()):
        norm = torch.linalg.vector_norm(x, dim=-1, dtype=torch.float64)
    return norm.double() ** 2


def lengthened(array: np.ndarray, rounds: int) -> np.ndarray:
    """(S, r) -> (S, rounds): NaN for the rounds that are missing."""
    missing = rounds - array.shape[1]
    return np.pad(array, ((0, 0), (0, missing)), constant_values=np.nan) if missing else array


def numbers(value: Any) -> np.ndarray:
    """In float64, on the processor, as an array of at least one axis."""
    if isinstance(value, Tensor):
        value = value.detach().to(device="cpu", dtype=torch.float64).numpy()
    return np.atleast_1d(np.array(value, dtype=np.float64))


__all__ = ["Metric", "Recorder", "lengthened", "numbers", "spread", "square"]
