"""Minibatches of the clients' examples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import Literal, Self

import torch
from torch import Tensor, nn

from dfltheory.errors import InputError
from dfltheory.tasks.batching import Loop, Loss, dense_layers
from dfltheory.tasks.examples import Epochs, ExampleArrays, iid
from dfltheory.tasks.modules import Layout
from dfltheory.tasks.task import Clients, Task, number_of

_CACHE = 4_000_000
"""Bytes of stacked parameters processed at once in local steps: a processor's cache.
"""

_PIECE_BYTES = 1_250_000
"""Bytes of inputs evaluated at once when a loss is computed over all examples.

The activations of convolutions are dozens of times larger than the inputs: pieces of
about 100 color images are twice as fast as pieces of 2000, whose activations exceed the
cache.
"""

_DENSE_PIECE_BYTES = 5_000_000
"""The same limit for stacks of linear layers, whose activations are small."""


@dataclass(eq=False)
class Batch:
    """A minibatch of B examples for each seed and client.

    Inputs ``X`` and targets ``y`` (S, m, B, ...) are gathered on first access, so local
    steps of a few clients gather only their own.

    Attributes
    ----------
    task : MinibatchTask
    places : (S, m, B) tensor of int
        Indices of the examples in the task's data.
    dropped : (S, m) tensor of int, optional
        Seeds of the clients' dropout, if the network has any.
    """

    task: MinibatchTask
    places: Tensor
    dropped: Tensor | None = None

    @cached_property
    def X(self) -> Tensor:
        """Inputs (S, m, B, ...), gathered when first read."""
        return self.task.gathered(self.places)

    @cached_property
    def y(self) -> Tensor:
        """Targets (S, m, B, ...), gathered when first read."""
        return self.task.y.index_select(0, self.places.reshape(-1)).unflatten(
            0, self.places.shape
        )

    def rows(self, rows: Clients) -> Batch:
        """Return the part of the given clients."""
        part = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                vars(part)[name] = value[:, rows]
        return part


class MinibatchTask(Task[Batch]):
    """A task whose clients draw minibatches from their examples.

    Attributes
    ----------
    X, y : (n, ...) tensors
        Inputs and targets of all clients, concatenated.
    sizes, offsets : (m,) tensors of int
        Number of examples and first index of each client.
    scale : (m,) tensor, optional
        Weights m p_i of the clients' losses; None if all are 1.
    batch : int, optional
        Number of examples per minibatch; None for all of a client's examples.
    sampling : {"iid", "epochs"}
        How minibatches are drawn, see :class:`~dfltheory.tasks.Supervised`.
    network : Module
        The network, in eval mode.
    layout : Layout
        Positions of its parameters in x.
    criterion : callable
        The loss: (outputs, targets) to the mean over the examples.
    weight_decay : float
        Coefficient of ||x||^2 / 2 in every f_i.
    drops : bool
        Whether the module draws random numbers in training (dropout).
    preprocess, augment : callable, optional
        See :class:`~dfltheory.tasks.Supervised`.
    measured : MinibatchTask, optional
        The task on which f and its gradient are measured (see tasks.measured_on); None
        for this task.
    """

    X: Tensor
    y: Tensor
    sizes: Tensor
    offsets: Tensor
    scale: Tensor | None
    batch: int | None
    sampling: Literal["iid", "epochs"]
    network: nn.Module
    layout: Layout
    criterion: Loss
    weight_decay: float
    drops: bool
    preprocess: Callable[[Tensor], Tensor] | None
    augment: Callable[[Tensor, Sequence[torch.Generator]], Tensor] | None
    measured: Self | None = None
    _classes: int
    _test: ExampleArrays | None
    _single: Loop

    @property
    def broken_assumption(self) -> str | None:
        """Why no theorem applies to runs on this task, or None."""
        if self.measured is not None:
            return (
                "f and its gradient are measured on only a part of the data: measure"
                " them on all of it (--measure-on 0)"
            )
        if self.drops:
            return "with dropout, gradients are those of a function other than f"
        if self.augment is not None:
            return "augment changes minibatches: gradients are not unbiased for f"
        if self.batch is not None and self.sampling == "epochs":
            return 'with sampling = "epochs", minibatches are not independent'
        return None

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The slice of each parameter in x."""
        return self.layout.slices

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each parameter."""
        return self.layout.shapes

    @property
    def steps_per_epoch(self) -> int:
        """Average number of local steps in one pass over a client's data."""
        return max(
            1, round(float(self.sizes.double().mean()) / (self.batch or torch.inf))
        )

    def stream(
        self, generators: Sequence[torch.Generator]
    ) -> Callable[[], Batch | None]:
        """Return a function that draws the minibatches of one round in turn."""
        if self.batch is None or self.sampling == "iid":
            return partial(self.sample, generators)
        epochs = Epochs(self.sizes, self.batch, generators)

        def draw() -> Batch:
            """Return the next minibatch of the round."""
            return self._batch(epochs.draw(), generators)

        return draw

    def sample(self, generators: Sequence[torch.Generator]) -> Batch | None:
        """Draw a minibatch for each seed and client."""
        if self.batch is None:
            return None
        return self._batch(iid(self.sizes, self.batch, generators), generators)

    def _batch(self, index: Tensor, generators: Sequence[torch.Generator]) -> Batch:
        """Return the minibatch of the clients' examples ``index`` (S, m, B)."""
        batch = Batch(self, index + self.offsets.unsqueeze(-1))
        if self.augment is not None:
            batch.X = self.augment(batch.X, generators)
        if self.drops:
            seeds = [
                torch.randint(2**62, (self.m,), generator=g, device=g.device)
                for g in generators
            ]
            batch.dropped = torch.stack(seeds)
        return batch

    def gathered(self, places: Tensor) -> Tensor:
        """Return the preprocessed inputs at the given indices (...)."""
        return self._prepared(self.X.index_select(0, places.reshape(-1))).unflatten(
            0, places.shape
        )

    def chunk(self, seeds: int) -> int | None:
        """Return how many clients to process at once in local steps; None for all."""
        # Augmentation needs all clients at once, and exact gradients have their own
        # pieces.
        if self.augment is not None or self.batch is None or self.device.type != "cpu":
            return None
        return max(1, _CACHE // (seeds * self.d * self.dtype.itemsize))

    def restrict(self, rows: Clients) -> Self:
        """Return the task restricted to some clients, for local steps."""
        part = copy.copy(self)
        vars(part).pop("log_frequencies", None)
        part.sizes, part.offsets = self.sizes[rows], self.offsets[rows]
        part.m = number_of(rows)
        part.scale = None if self.scale is None else self.scale[rows]
        return part

    def pick(self, batch: Batch | None, rows: Clients) -> Batch | None:
        """Return the part of a minibatch that belongs to some clients."""
        return None if batch is None else batch.rows(rows)

    def _everything(
        self, S: int, client: int | None = None
    ) -> Iterator[tuple[Tensor, Tensor, float]]:
        """Yield the examples of one client, or of all, in pieces for S networks.

        A piece consists of inputs, targets, and the weight of its mean loss in f_i (for
        one client) or in f.
        """
        for begin, end, weight in self.pieces(max(1, self._piece // S), client):
            X, y = self._prepared(self.X[begin:end]), self.y[begin:end]
            yield X.expand(S, *X.shape), y.expand(S, *y.shape), weight

    @cached_property
    def _piece(self) -> int:
        """Number of examples that are evaluated at once."""
        dense = dense_layers(self.network) is not None
        most = _DENSE_PIECE_BYTES if dense else _PIECE_BYTES
        return max(1, most // max(1, self.X[0].numel() * self.dtype.itemsize))

    @cached_property
    def log_frequencies(self) -> Tensor:
        """Logarithms of each client's class frequencies (m, C), at least -1e4."""
        if self.y.is_floating_point():
            raise InputError("the class-balanced risk needs integer targets (classes)")
        ranges = zip(self.offsets.tolist(), self.sizes.tolist())
        rows = []
        for begin, n in ranges:
            labels = self.y[begin : begin + n]
            rows.append(torch.bincount(labels, minlength=self._classes))
        counts = torch.stack(rows).to(self.dtype)
        sizes = self.sizes.to(self.y.device).to(self.dtype)
        return (counts / sizes[:, None]).log().clamp_min(-1e4)

    def pieces(
        self, most: int, client: int | None = None
    ) -> Iterator[tuple[int, int, float]]:
        """Yield pieces of the examples of one client, or of all clients.

        Parameters
        ----------
        most : int
            Largest number of examples of a piece.
        client : int, optional
            The client; None for all.

        Yields
        ------
        begin, end : int
            First index of the piece in the task's data, and the index after the last.
        weight : float
            Weight of the piece's mean loss in f_i (for one client) or in f.
        """
        who = range(self.m) if client is None else [client]
        sizes, offsets = self.sizes.tolist(), self.offsets.tolist()
        scale = [1.0] * self.m if self.scale is None else self.scale.tolist()

        def weight_of_example(i: int) -> float:
            return scale[i] / sizes[i] / len(who)

        # consecutive clients whose examples have equal weights
        for weight, run in groupby(who, key=weight_of_example):
            clients = list(run)
            last = offsets[clients[-1]] + sizes[clients[-1]]
            for begin in range(offsets[clients[0]], last, most):
                end = min(begin + most, last)
                yield begin, end, (end - begin) * weight

    # -- accuracy

    def accuracy(self, x: Tensor) -> Tensor | None:
        """Return the fraction of test examples that x (S, d) classifies correctly."""
        if self._test is None or self.y.is_floating_point():
            return None
        _, _, sizes, _ = self._test
        at_every_set = x.unsqueeze(1).expand(-1, len(sizes), -1)
        return self._test_accuracy(at_every_set).mean(-1)

    def client_accuracy(self, x: Tensor) -> Tensor | None:
        """Return each client's fraction of correct test predictions, (S, m)."""
        if self._test is None or self.y.is_floating_point():
            return None
        _, _, sizes, _ = self._test
        return self._test_accuracy(x) if len(sizes) == self.m else None

    def _test_accuracy(self, x: Tensor) -> Tensor:
        """Return the fraction of test set k that x[:, k] classifies correctly.

        Maps (S, k, d) to (S, k), float64.
        """
        assert self._test is not None
        X, y, sizes, offsets = self._test
        share = torch.zeros(x.shape[:2], dtype=torch.float64, device=x.device)
        for k, (n, begin) in enumerate(zip(sizes.tolist(), offsets.tolist())):
            for first in range(begin, begin + n, self._piece):
                piece = slice(first, min(first + self._piece, begin + n))
                inputs = self._prepared(X[piece])[None]
                for s, models in enumerate(x):
                    outputs = self._single.outputs(models[k][None], inputs)[0]
                    is_correct = outputs.argmax(-1) == y[piece]
                    share[s, k] += is_correct.sum() / n
        return share

    def _prepared(self, X: Tensor) -> Tensor:
        """Return inputs after ``preprocess``, in the task's floating-point type."""
        X = X if self.preprocess is None else self.preprocess(X)
        return X.to(self.dtype) if X.is_floating_point() else X


__all__ = ["Batch", "MinibatchTask"]
