"""The arguments of an algorithm's round: ``grad`` and ``mix``.

Each environment that executes rounds subclasses both: training, exact expectations, and
the search for counterexamples. A method that a subclass does not implement raises
:class:`~dfltheory.errors.UnsupportedError` with the names of the method and of the
environment. Environments execute rounds inside :func:`unknown_methods_rejected`, which
raises the same error for methods that the base classes do not have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from torch import Tensor

from dfltheory.algorithms.edges import Edges
from dfltheory.errors import UnsupportedError

MIX = "W"
"""Name of the default matrix of ``mix(z)``."""

Index = slice | Tensor
"""Coordinates of the last axis: a slice or a tensor of indices."""


class ParameterLayout(Protocol):
    """The division of the last axis of stacked models; tasks have these attributes."""

    @property
    def shared(self) -> Index | None:
        """Coordinates of the shared block u; None for tasks without two blocks."""
        ...

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Slices of the last axis, one for each parameter block."""
        ...

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each block's parameters."""
        ...


@dataclass(frozen=True, eq=False)
class Parameters:
    """A :class:`ParameterLayout` with explicit values."""

    shared: Index | None
    blocks: tuple[slice, ...]
    shapes: tuple[tuple[int, ...], ...]


class RoundArgument:
    """Base class of ``grad`` and ``mix``, the arguments of an algorithm's round."""

    environment: ClassVar[str] = "this environment"
    """Name of the environment that executes the round, for messages."""
    argument: ClassVar[str]
    """Name of the argument in algorithms."""

    def unsupported(self, method: str) -> UnsupportedError:
        """Return the error for a method that this environment does not implement."""
        return UnsupportedError(f"{self.argument}{method}", self.environment)


@contextlib.contextmanager
def unknown_methods_rejected() -> Generator[None, None, None]:
    """Raise UnsupportedError if a method of ``grad`` or ``mix`` does not exist.

    ``__getattr__`` would do the same, but makes every access to an attribute four times
    as slow.
    """
    try:
        yield
    except AttributeError as error:
        name = error.name or "_"
        if isinstance(error.obj, RoundArgument) and not name.startswith("_"):
            raise error.obj.unsupported(f".{name}") from error
        raise


class Oracle(RoundArgument):
    """Access of clients to their own data during one round.

    Subclasses implement ``sample`` and ``__call__`` and determine the type of
    minibatches.

    Parameters
    ----------
    t : int
        The round, 0, 1, ...
    horizon : int
        The total number of rounds of the run, for annealed schedules.
    parameters : ParameterLayout
        The task, or any object with ``shared``, ``blocks`` and ``shapes``.

    Attributes
    ----------
    active : Tensor or None
        Clients that participate in this round (S, m, 1), bool; None if all do.
    """

    argument = "grad"

    def __init__(self, t: int, horizon: int, parameters: ParameterLayout):
        self.t = t
        self.active: Tensor | None = None
        self._horizon = horizon
        self._parameters = parameters

    @property
    def horizon(self) -> int:
        """The total number of rounds of the run."""
        return self._horizon

    @property
    def shared(self) -> Index | None:
        """Coordinates of the shared block u of x = (u, v); None for all."""
        return self._parameters.shared

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The parameter tensors (layers) as slices of the last axis."""
        return self._parameters.blocks

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the parameter tensors."""
        return self._parameters.shapes

    @property
    def edges(self) -> Edges:
        """The arcs into these clients, for tensors with one entry per arc.

        They are for bookkeeping; nothing is received over them.
        """
        raise self.unsupported(".edges")

    def begin(self, x: Tensor) -> Tensor:
        """Return the start of local steps, a copy (S, m, d) that may be overwritten."""
        return x.clone()

    def sample(self) -> object:
        """Draw one fresh minibatch for each seed and client."""
        raise self.unsupported(".sample")

    def __call__(self, y: Tensor, batch: Any) -> Tensor:
        """Return grad F_i(y_i; xi_i) at y (S, m, d); the result may be overwritten."""
        raise self.unsupported("(y, batch)")

    def loss(self, y: Tensor, batch: Any) -> Tensor:
        """Return the losses (S, m) of the models y (S, m, d) on a minibatch.

        ``grad(y, batch)`` returns their gradients.
        """
        raise self.unsupported(".loss")

    def balanced(self, y: Tensor, batch: object) -> Tensor:
        """Return the gradients of the class-balanced risk.

        By default the ordinary gradients, as for tasks without classes.
        """
        return self(y, batch)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw numbers in [0, 1) of shape (S, m, ...), given ``shape`` = (m, ...).

        Only for algorithms whose property ``draws`` is True.
        """
        raise self.unsupported(".uniform")


class Mix(RoundArgument):
    """Communication over the network in one round.

    All calls in a round use the same matrices W_t. Every message to a neighbor is
    counted, with all numbers of the tensor in its precision. ``bits``, a number or a
    tensor (S, m), replaces this size of a client's message to one neighbor.

    Subclasses implement ``_gossip``, or ``__call__`` if they count messages or have
    further matrices.
    """

    argument = "mix"

    def __call__(
        self,
        z: Tensor,
        times: int = 1,
        W: str = MIX,
        bits: float | Tensor | None = None,
        after: int = 0,
    ) -> Tensor:
        """Return z_i <- sum_l w_il z_l, ``times`` times, as a new tensor.

        (S, m, k) -> (S, m, k).

        Parameters
        ----------
        z : (S, m, k) tensor
            Vectors to mix; not modified.
        times : int
            Number of gossip steps. The steps of round t use W_{t,0}, W_{t,1}, ...,
            which are all equal if the network is constant.
        W : str
            Name of a further matrix that the algorithm declares
            (``Algorithm.further``).
        bits : float or (S, m) tensor, optional
            Size of a message; 0 if nothing is sent because the neighbors know z from
            earlier messages.
        after : int
            Number of gossip steps of this round that were already applied to z; the
            first matrix is W_{t,after}. ``mix(mix(z), after=1)`` equals ``mix(z,
            times=2)``.
        """
        if W != MIX:
            raise self.unsupported(f"(z, W={W!r})")
        return self._gossip(z, times, after)

    def _gossip(self, z: Tensor, times: int, after: int) -> Tensor:
        """Apply W_{t,after}, ..., W_{t,after+times-1} to z."""
        raise self.unsupported("(z)")

    def send(
        self, message: Tensor, bits: float | Tensor | None = None, W: str = MIX
    ) -> Tensor:
        """Send ``message`` (S, m, ...) from clients to their neighbors; return it.

        ``W`` names the matrix that defines the neighbors.
        """
        if W != MIX:
            raise self.unsupported(f".send(message, W={W!r})")
        return message

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw numbers in [0, 1) of shape (S, m, ...), given ``shape`` = (m, ...)."""
        raise self.unsupported(".uniform")

    @property
    def participating(self) -> Tensor:
        """Clients that send or receive in W_{t,0} (S, m, 1), bool.

        This equals ``grad.active`` if the algorithm declares
        ``inactive_when_isolated``.
        """
        raise self.unsupported(".participating")

    @property
    def edges(self) -> Edges:
        """The arcs of a fixed or periodic network, with their weights in W_{t,0}."""
        raise self.unsupported(".edges")

    def gather(self, x: Tensor, bits: float | Tensor | None = None) -> Tensor:
        """Send each client's value over its arcs: (S, m, ...) -> (S, E, ...)."""
        raise self.unsupported(".gather")

    def swap(self, e: Tensor, bits: float | None = None) -> Tensor:
        """Exchange values (S, E, ...) over links: that of j -> i moves to i -> j."""
        raise self.unsupported(".swap")


__all__ = [
    "MIX",
    "Edges",
    "Index",
    "Mix",
    "Oracle",
    "ParameterLayout",
    "Parameters",
    "RoundArgument",
    "unknown_methods_rejected",
]
