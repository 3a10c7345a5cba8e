"""What a learning problem is to the rest of the package."""

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


class Task(abc.ABC, Generic[Minibatch]):
    """m clients with objectives f_i(x) = E F_i(x; xi) on R^d, and f = (1/m) sum_i f_i.

    Shapes: S seeds, m clients, d parameters. Everything an algorithm may see is
    ``sample`` and ``gradient``; the rest is for measuring. The type of minibatches is
    the task's own.

    Attributes
    ----------
    m, d : clients and parameters of one client's model
    dtype, device : of every tensor that the task takes and gives
    shared : coordinates of the shared block u of x = (u, v), an index of the last axis
        (slice or tensor of positions); ``None`` where everything is shared
    """

    m: int
    d: int
    dtype: torch.dtype
    device: torch.device
    name: str = "task"
    shared: slice | Tensor | None = None
    oracle_methods: ClassVar[tuple[str, ...]] = ()
    """Further methods (x, batch) -> tensor (S, m, ...), one client independent of
    another, that algorithms may call in training as ``grad.NAME(x, batch)``.
    """
    arguments: dict[str, str]
    """Digests of the arguments that the task was made with, and the name of its
    class.
    """

    def __new__(cls, *given: object, **named: object) -> Self:
        """Make the task, and keep digests of its arguments."""
        task = super().__new__(cls)
        task.arguments = {
            "class": f"{cls.__module__}.{cls.__qualname__}",
            **argument_digests(cls, given, named),
        }
        return task

    @cached_property
    def constants(self) -> ProblemConstants:
        """What is known of this problem, exactly or as a proved bound."""
        return ProblemConstants()

    @property
    def broken_assumption(self) -> str | None:
        """Why no theorem applies to runs on this task, or None.

        Theorems assume that stochastic gradients are independent and unbiased for the f
        that is measured.
        """
        return None

    # -- what an algorithm sees

    @abc.abstractmethod
    def sample(self, generators: Sequence[torch.Generator]) -> Minibatch | None:
        """Draw one minibatch xi_i for every seed (one generator each) and client.

        It is the randomness of one local step.

        The draw of a seed depends on its own generator alone, so that seed s of a run
        with many seeds sees what it sees when it runs alone.
        """

    @abc.abstractmethod
    def gradient(self, x: Tensor, batch: Minibatch | None = None) -> Tensor:
        """Return grad F_i(x_i; xi_i) at stacked models x (S, m, d).

        Without a batch it is the exact grad f_i(x_i).

        The tensor is new at every call, and the caller may overwrite it.
        """

    def stream(
        self, generators: Sequence[torch.Generator]
    ) -> Callable[[], Minibatch | None]:
        """Return the minibatches of one round: each call gives the next local step's.

        Fresh draws here; a task that walks through reshuffled epochs overrides it.
        """
        return partial(self.sample, generators)

    def balanced_gradient(self, x: Tensor, batch: Minibatch | None = None) -> Tensor:
        """Return the gradient of the class-balanced risk, for Fed-RoD.

        It is the plain one where there are no classes.
        """
        return self.gradient(x, batch)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The parameter tensors (layers) as slices of the last axis."""
        return (slice(0, self.d),)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of these tensors; vectors where a task does not say."""
        return tuple((block.stop - block.start,) for block in self.blocks)

    # -- some of the clients

    def chunk(self, seeds: int) -> int | None:
        """Return for how many clients at once local work is best done; None: all."""
        return None

    def restrict(self, rows: slice) -> Task[Minibatch]:
        """Return a task of some clients, rows.stop - rows.start, for local work.

        Here those of all are taken, and theirs are kept: right for every task, with
        nothing saved. A task that can do less overrides it, and :meth:`pick`.
        """
        part = object.__new__(type(self))
        own = vars(part)
        own.update(vars(self), m=rows.stop - rows.start)
        for name in ("gradient", "balanced_gradient", "loss", *self.oracle_methods):
            own[name] = partial(_among_all, getattr(self, name), self.m, rows)
        return part

    def pick(self, batch: Minibatch | None, rows: slice) -> Minibatch | None:
        """Return some clients' part of a minibatch, as :meth:`restrict` needs it."""
        return batch

    # -- what is measured

    @abc.abstractmethod
    def loss(self, x: Tensor, batch: Minibatch | None = None) -> Tensor:
        """F_i(x_i; xi_i), or f_i(x_i) without a batch: (S, m, d) -> (S, m)."""

    def global_loss(self, x: Tensor) -> Tensor:
        """Return f at points x (S, d) -> (S,)."""
        return self.loss(self._at_every_client(x)).mean(-1)

    def global_gradient(self, x: Tensor) -> Tensor:
        """Return grad f at points x (S, d) -> (S, d)."""
        return self.gradient(self._at_every_client(x)).mean(-2)

    def global_loss_and_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return f and grad f at points x (S, d).

        A task that gets both from one pass overrides it.
        """
        return self.global_loss(x), self.global_gradient(x)

    def excess(self, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return f(x) - f* at points x (S, d), and its rounding error.

        Both are (S,) in float64; None if the task does not compute it.

        ``None``: the task has no better way than to subtract the two, in which large
        values cancel.
        """
        return None

    def start(self, generator: torch.Generator) -> Tensor:
        """Return the default common start x^0 (d,)."""
        return torch.zeros(self.d, dtype=self.dtype, device=self.device)

    def accuracy(self, x: Tensor) -> Tensor | None:
        """Return the share of test examples that points x (S, d) classify correctly.

        (S,); None where there are no classes.
        """
        return None

    def client_accuracy(self, x: Tensor) -> Tensor | None:
        """Return each client's share of test examples that x_i classifies correctly.

        (S, m, d) -> (S, m), or None.
        """
        return None

    def client_loss(self, x: Tensor) -> Tensor:
        """Return the measured f_i(x_i): (S, m, d) -> (S, m)."""
        return self.loss(x)

    def _at_every_client(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-2).expand(*x.shape[:-1], self.m, self.d)


def _among_all(
    slope: Callable[..., Tensor],
    m: int,
    rows: slice,
    x: Tensor,
    batch: object = None,
) -> Tensor:
    all_clients = x.new_zeros(x.shape[0], m, x.shape[2])
    all_clients[:, rows] = x
    return slope(all_clients, batch)[:, rows].clone()
