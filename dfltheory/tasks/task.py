"""The interface of learning problems."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import ClassVar, Generic, Self, TypeVar

import torch
from torch import Tensor

from dfltheory.constants import ProblemConstants
from dfltheory.identity import argument_digests

Minibatch = TypeVar("Minibatch")

Clients = slice | Tensor
"""Some clients: a slice, or a tensor of their different numbers."""


def number_of(clients: Clients) -> int:
    """Return how many clients a slice with two ends, or a tensor, selects."""
    if isinstance(clients, Tensor):
        return len(clients)
    return int(clients.stop - clients.start)


class Task(abc.ABC, Generic[Minibatch]):
    """m clients with objectives f_i(x) = E F_i(x; xi) on R^d, and f = (1/m) sum_i f_i.

    Shapes: S seeds, m clients, d parameters. Algorithms use only ``sample`` and
    ``gradient``; the other methods are for measurements. Each task has its own type of
    minibatches.

    Attributes
    ----------
    m, d : int
        Number of clients, and number of parameters of a client's model.
    dtype, device
        Type and device of all tensors that the task takes and returns.
    name : str
        Name in messages and results.
    shared : slice or tensor of int, optional
        Coordinates of the shared block u of x = (u, v), as an index of the last axis;
        None if everything is shared.
    """

    m: int
    d: int
    dtype: torch.dtype
    device: torch.device
    name: str = "task"
    shared: slice | Tensor | None = None
    oracle_methods: ClassVar[tuple[str, ...]] = ()
    """Names of further methods (x, batch) -> tensor (S, m, ...) that algorithms may
    call in training as ``grad.NAME(x, batch)``. Clients must be independent of each
    other.
    """
    arguments: dict[str, str]
    """Digests of the arguments of the constructor, and the name of the class.
    """

    def __new__(cls, *given: object, **named: object) -> Self:
        """Create the task, and store digests of its arguments."""
        task = super().__new__(cls)
        task.arguments = {
            "class": f"{cls.__module__}.{cls.__qualname__}",
            **argument_digests(cls, given, named),
        }
        return task

    @cached_property
    def constants(self) -> ProblemConstants:
        """Constants of this problem that are known exactly or as a proved bound."""
        return ProblemConstants()

    @property
    def broken_assumption(self) -> str | None:
        """Why no theorem applies to runs on this task, or None.

        Theorems assume that stochastic gradients are independent and unbiased for the f
        that is measured.
        """
        return None

    # -- the interface for algorithms

    @abc.abstractmethod
    def sample(self, generators: Sequence[torch.Generator]) -> Minibatch | None:
        """Draw one minibatch xi_i for each seed (one generator each) and client.

        It contains all randomness of one local step. The draw of a seed depends only on
        its own generator, so a seed of a run with many seeds gives the same results as
        a run with that seed alone.
        """

    @abc.abstractmethod
    def gradient(self, x: Tensor, batch: Minibatch | None = None) -> Tensor:
        """Return grad F_i(x_i; xi_i) at stacked models x (S, m, d).

        Without a batch, return the exact grad f_i(x_i). Each call returns a new tensor,
        which the caller may overwrite.
        """

    def stream(
        self, generators: Sequence[torch.Generator]
    ) -> Callable[[], Minibatch | None]:
        """Return a function that draws the minibatches of one round in turn.

        By default each draw is independent; tasks with reshuffled epochs override this
        method.
        """
        return partial(self.sample, generators)

    def balanced_gradient(self, x: Tensor, batch: Minibatch | None = None) -> Tensor:
        """Return the gradients of the class-balanced risk, for Fed-RoD.

        They are the ordinary gradients if the task has no classes.
        """
        return self.gradient(x, batch)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The parameter tensors (layers) as slices of the last axis."""
        return (slice(0, self.d),)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the parameter tensors; by default vectors."""
        return tuple((block.stop - block.start,) for block in self.blocks)

    # -- subsets of clients

    def chunk(self, seeds: int) -> int | None:
        """Return how many clients to process at once in local steps; None for all."""
        return None

    def restrict(self, rows: Clients) -> Task[Minibatch]:
        """Return the task restricted to some clients, for local steps.

        The default computes the values of all clients and selects those of ``rows``,
        which is correct for every task but saves no work. Tasks that can compute less
        override this method and :meth:`pick`. ``rows`` is a slice with two ends, or a
        tensor of the numbers of the clients that participate in a round.
        """
        part = object.__new__(type(self))
        attributes = vars(part)
        attributes.update(vars(self), m=number_of(rows))
        for name in ("gradient", "balanced_gradient", "loss", *self.oracle_methods):
            attributes[name] = partial(_among_all, getattr(self, name), self.m, rows)
        return part

    def pick(self, batch: Minibatch | None, rows: Clients) -> Minibatch | None:
        """Return the part of a minibatch for the task of :meth:`restrict`."""
        return batch

    # -- measurements

    @abc.abstractmethod
    def loss(self, x: Tensor, batch: Minibatch | None = None) -> Tensor:
        """Return F_i(x_i; xi_i), or f_i(x_i) without a batch: (S, m, d) -> (S, m)."""

    def global_loss(self, x: Tensor) -> Tensor:
        """Return f at points x (S, d) -> (S,)."""
        return self.loss(self._at_every_client(x)).mean(-1)

    def global_gradient(self, x: Tensor) -> Tensor:
        """Return grad f at points x (S, d) -> (S, d)."""
        return self.gradient(self._at_every_client(x)).mean(-2)

    def global_loss_and_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return f and grad f at points x (S, d).

        Tasks that can compute both in one pass override this method.
        """
        return self.global_loss(x), self.global_gradient(x)

    def excess(self, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return f(x) - f* at points x (S, d), and its rounding error.

        Both are (S,) in float64. None if the task can only subtract f* from f(x), in
        which large values cancel.
        """
        return None

    def start(self, generator: torch.Generator) -> Tensor:
        """Return the default common start x^0 (d,)."""
        return torch.zeros(self.d, dtype=self.dtype, device=self.device)

    def accuracy(self, x: Tensor) -> Tensor | None:
        """Return the fraction of correct test predictions of x (S, d), as (S,).

        None if the task has no classes.
        """
        return None

    def client_accuracy(self, x: Tensor) -> Tensor | None:
        """Return the fraction of correct predictions of x_i on client i's test set.

        Maps (S, m, d) to (S, m), or returns None.
        """
        return None

    def client_loss(self, x: Tensor) -> Tensor:
        """Return the measured f_i(x_i): (S, m, d) -> (S, m)."""
        return self.loss(x)

    def _at_every_client(self, x: Tensor) -> Tensor:
        """Return points (..., d) as the models of all clients, a view (..., m, d)."""
        return x.unsqueeze(-2).expand(*x.shape[:-1], self.m, self.d)


def _among_all(
    method: Callable[..., Tensor],
    m: int,
    rows: Clients,
    x: Tensor,
    batch: object = None,
) -> Tensor:
    """Return a task's method for the clients ``rows`` with models x (S, rows, d).

    The method is evaluated for all m clients, of which the others have models 0.
    """
    all_clients = x.new_zeros(x.shape[0], m, x.shape[2])
    all_clients[:, rows] = x
    return method(all_clients, batch)[:, rows].clone()
