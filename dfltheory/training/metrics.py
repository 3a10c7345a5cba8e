"""Measurements along a run, at the mean model and across clients.

Users can add their own metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, State
from dfltheory.errors import InputError
from dfltheory.tasks.task import Task
from dfltheory.training.client_measures import NAMED_METRICS, Metric, summaries
from dfltheory.training.divergence import JUDGED, Scale
from dfltheory.training.mixing import RunNetwork
from dfltheory.training.norms import norm, spread, squared_norm
from dfltheory.training.two_blocks import TwoBlockMeasures


class RecorderDocument(TypedDict):
    """Content of a :class:`Recorder` that checkpoints store in addition to its values.

    Attributes
    ----------
    rounds : list of int
        The measured rounds.
    sizes : list of float
        Sizes of the models for detecting divergence, see :class:`.divergence.Scale`.
    sent : list of float
        Bits sent so far, for each seed.
    """

    rounds: list[int]
    sizes: list[float]
    sent: list[float]


AHEAD = {"grad_u_sq_next": 1, "two_block_next": 1}
"""Measures of round t that need the models of round t + 1.
"""

ALWAYS = frozenset({"grad_norm_sq", "consensus", "loss", "sent_bits", "model_sq"})
"""Measures of every run."""


class Recorder:
    """Measures states and stores the values in float64.

    These are always measured: ``grad_norm_sq``, ``consensus``, ``loss``, ``model_sq`` =
    mean_i ||x_i||^2, and ``sent_bits``, the bits sent so far. If defined: ``accuracy``
    (mean model), ``client_accuracy`` (mean over clients of the accuracy of each
    client's model on its own test data), and ``grad_norm_sq_w`` (auxiliary sequence).

    The values of a metric with one number for each client are stored in ``clients``,
    and their mean and quantiles (:func:`.client_measures.summaries`) in ``values``.

    For partial personalization with known L_u and L_v: ``grad_u_sq`` = ||grad_u
    F(ubar^t, V^t)||^2, ``grad_v_sq`` = mean_i ||grad_v F_i(u_i^t, v_i^t)||^2,
    ``two_block`` = grad_u_sq / L_u + grad_v_sq / L_v, ``grad_u_sq_next`` and
    ``two_block_next`` with V^{t+1} in place of V^t, and ``two_block_value`` = F(ubar^t,
    V^t).

    Parameters
    ----------
    task : Task
    algorithm : Algorithm
    metrics : iterable of Metric or str
        Further measures, or their names.
    network : RunNetwork, optional
        Counts the bits sent.

    Attributes
    ----------
    rounds : list of int
        The measured rounds.
    values : dict
        Maps the name of a measure to its arrays (S,), one for each measured round.
    clients : dict
        Maps the name of a metric to its arrays (S, m), one for each measured round.
    """

    scale: Scale
    """Reference for detecting divergence, set by the first measurement."""

    def __init__(
        self,
        task: Task,
        algorithm: Algorithm,
        metrics: Iterable[Metric | str] = (),
        network: RunNetwork | None = None,
    ):
        self.task, self.algorithm, self.network = task, algorithm, network
        self.metrics: dict[str, Metric] = {}
        for selected in metrics:
            metric = NAMED_METRICS[selected] if isinstance(selected, str) else selected
            name = getattr(metric, "__name__", type(metric).__name__)
            if name in self.metrics:
                raise InputError(
                    f"two metrics are called {name}: give them different names"
                )
            self.metrics[name] = metric
        self._two_blocks: TwoBlockMeasures | None = None
        # constants are read last, because a task may have to estimate them
        if algorithm.personal and task.shared is not None:
            L_u, L_v = task.constants.L_u, task.constants.L_v
            if L_u and L_v:
                self._two_blocks = TwoBlockMeasures(task, L_u, L_v)
        self.rounds: list[int] = []
        self.values: dict[str, list[np.ndarray]] = {}
        self.clients: dict[str, list[np.ndarray]] = {}

    def measure(self, t: int, state: State) -> dict[str, np.ndarray]:
        """Measure the state after t rounds."""
        models, mean = self.algorithm.models(state), self.algorithm.mean(state)
        loss, gradient = self.task.global_loss_and_gradient(mean)
        # converted together, because each conversion synchronizes with the device
        parts = norm(gradient), norm(mean), spread(models, mean), loss.double()
        gradient_norm, mean_norm, consensus, losses = torch.stack(parts).cpu().numpy()
        with np.errstate(over="ignore"):  # infinite squares are unknown values
            squares = gradient_norm**2, mean_norm**2
        measured = {
            "grad_norm_sq": squares[0],
            "consensus": consensus,
            "loss": losses,
        }
        for name, value in self._optional_measures(state, models, mean).items():
            measured[name] = float_array(value)
        self._size = consensus + squares[1]
        if not self.rounds:
            self.scale = Scale(self.task, mean, self._size)
        self.rounds.append(t)
        if self.network is not None:
            measured["sent_bits"] = self.network.sent
        measured["model_sq"] = self._size
        for name, value in measured.items():
            self.values.setdefault(name, []).append(value)
        return measured

    def _optional_measures(
        self, state: State, models: Tensor, mean: Tensor
    ) -> dict[str, Tensor | np.ndarray]:
        """Return the measures that only some tasks, algorithms and metrics define."""
        task = self.task
        measured: dict[str, Tensor | np.ndarray] = {}
        accuracy = task.accuracy(mean)
        if accuracy is not None:
            measured["accuracy"] = accuracy
        if self.metrics.get("client_accuracy") is not NAMED_METRICS["client_accuracy"]:
            client_accuracy = task.client_accuracy(models)
            if client_accuracy is not None:
                measured["client_accuracy"] = client_accuracy.mean(-1)
        auxiliary = self.algorithm.auxiliary(state)
        if auxiliary is not None:
            measured["grad_norm_sq_w"] = squared_norm(task.global_gradient(auxiliary))
        if self._two_blocks is not None:
            measured |= self._two_blocks.measure(models, mean)
        for metric in self.metrics.values():
            for name, values in self._of_metric(metric, models, mean).items():
                if name in measured or name in ALWAYS:
                    raise InputError(
                        f"metric {name} has the name of a built-in measure: rename it"
                    )
                measured[name] = values
        return measured

    def _of_metric(
        self, metric: Metric, models: Tensor, mean: Tensor
    ) -> dict[str, np.ndarray]:
        """Return the values of a metric, or summaries of a metric of single clients."""
        name = getattr(metric, "__name__", type(metric).__name__)
        values = float_array(metric(self.task, models, mean))
        if values.shape == mean.shape[:1]:
            return {name: values}
        if values.shape != models.shape[:2]:
            raise InputError(
                f"metric {name} returned shape {values.shape}: return one number for"
                f" each seed, {tuple(mean.shape[:1])}, or for each seed and client,"
                f" {tuple(models.shape[:2])}"
            )
        self.clients.setdefault(name, []).append(values)
        return summaries(name, values)

    def diverged(self) -> bool:
        """Return whether the last measurement indicates divergence."""
        first = {name: self.values[name][0] for name in JUDGED}
        last = {name: self.values[name][-1] for name in JUDGED}
        return self.scale.has_left(last, first, self._size)

    def waits_for(self, t: int) -> bool:
        """Return whether a measure of round t still needs the next state."""
        return (
            self._two_blocks is not None and bool(self.rounds) and self.rounds[-1] == t
        )

    def follow(self, t: int, state: State) -> None:
        """Complete the measures of round t that need the next state.

        These are ||grad_u F(ubar^t, V^{t+1})||^2 and the weighted sum with it.
        """
        if self._two_blocks is None or not self.waits_for(t):
            return
        shared = float_array(
            self._two_blocks.shared_gradient_sq(self.algorithm.models(state))
        )
        both = self._two_blocks.weighted_sum(shared, self.values["grad_v_sq"][-1])
        self.values.setdefault("grad_u_sq_next", []).append(shared)
        self.values.setdefault("two_block_next", []).append(both)

    def arrays(self, rounds: int) -> dict[str, np.ndarray]:
        """Return every measure as an array (S, rounds), NaN where not measured."""
        return _by_name(self.values, rounds)

    def client_arrays(self, rounds: int) -> dict[str, np.ndarray]:
        """Return every measure of single clients as an array (S, rounds, m).

        It is NaN in rounds that were not measured.
        """
        return _by_name(self.clients, rounds)

    def document(self) -> RecorderDocument:
        """Return what a checkpoint stores in addition to the values."""
        sent = [] if self.network is None else self.network.sent.tolist()
        return {"rounds": self.rounds, "sizes": self.scale.sizes, "sent": sent}

    def restore(
        self,
        document: RecorderDocument,
        values: dict[str, list[np.ndarray]],
        clients: dict[str, list[np.ndarray]],
        state: State,
    ) -> None:
        """Restore the measurements of a checkpoint.

        Parameters
        ----------
        document : RecorderDocument
            Content of :meth:`document`.
        values, clients : dict
            Measures, as the attributes of the same names.
        state : State
            The state that was measured last.
        """
        self.rounds = [int(t) for t in document["rounds"]]
        self.values, self.clients = values, clients
        self.scale.sizes = document["sizes"]
        if self.network is not None:
            self.network.sent = self.network.sent + document["sent"]
        if self._two_blocks is not None:
            self._two_blocks.keep(self.algorithm.mean(state))

    def forget_last(self) -> None:
        """Remove the last measurement."""
        del self.rounds[-1]
        count = len(self.rounds)
        self.values = {name: v[:count] for name, v in self.values.items()}
        self.clients = {name: v[:count] for name, v in self.clients.items()}
        del self.scale.sizes[len(self.rounds) :]


def _by_name(
    values: Mapping[str, list[np.ndarray]], rounds: int
) -> dict[str, np.ndarray]:
    arrays = {name: np.stack(measured, axis=1) for name, measured in values.items()}
    return {name: lengthened(array, rounds) for name, array in arrays.items()}


def lengthened(array: np.ndarray, rounds: int) -> np.ndarray:
    """Extend an array (S, r, ...) to (S, rounds, ...) with NaN."""
    missing = rounds - array.shape[1]
    if not missing:
        return array
    width = [(0, 0)] * array.ndim
    width[1] = (0, missing)
    return np.pad(array, width, constant_values=np.nan)


def float_array(value: ArrayLike | Tensor) -> np.ndarray:
    """Convert values to a float64 numpy array with at least one axis."""
    if isinstance(value, Tensor):
        value = value.detach().to(device="cpu", dtype=torch.float64).numpy()
    return np.atleast_1d(np.array(value, dtype=np.float64))


__all__ = ["Metric", "Recorder", "lengthened", "float_array"]
