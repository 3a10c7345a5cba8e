"""What an algorithm may use in a round: ``grad`` and ``mix``.

``grad`` is an :class:`Oracle`, ``mix`` a :class:`Mix`.

Each environment that executes rounds subclasses both: training, exact expectations, and
the search for counterexamples. A method that a subclass does not implement raises
:class:`~dfltheory.errors.UnsupportedError` with the names of the method and of the
environment. Environments execute rounds inside :func:`unknown_methods_rejected`, which
does the same for methods that the base classes do not have.
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
"""The name of the matrix that ``mix(z)`` means."""

Index = slice | Tensor
"""Coordinates of the last axis: a slice or a tensor of indices."""


class ParameterLayout(Protocol):
    """How the last axis of stacked models divides; tasks have these attributes."""

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
    """A :class:`ParameterLayout` of given values."""

    shared: Index | None
    blocks: tuple[slice, ...]
    shapes: tuple[tuple[int, ...], ...]


class RoundArgument:
    """Base of ``grad`` and ``mix``, the arguments of an algorithm's round."""

    environment: ClassVar[str] = "this environment"
    """What executes the round, for messages."""
    argument: ClassVar[str]
    """What algorithms call it."""

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
    """What a client may ask of its own data during one round.

    A subclass implements ``sample`` and ``__call__``, and knows the type of its
    minibatches.

    Parameters
    ----------
    t : int
        The round, 0, 1, ...
    horizon : int
        The number of rounds that the run will have, for annealed schedules.
    parameters : ParameterLayout
        The task, or what else has ``shared``, ``blocks`` and ``shapes``.

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
        """The number of rounds that the run will have."""
        return self._horizon

    @property
    def shared(self) -> Index | None:
        """Coordinates of the shared block u of x = (u, v); None: all of them."""
        return self._parameters.shared

    @property
    def blocks(self) -> tuple[slice, ...]:
        """The parameter tensors (layers) as slices of the last axis."""
        return self._parameters.blocks

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of these tensors."""
        return self._parameters.shapes

    @property
    def edges(self) -> Edges:
        """The arcs to these clients, for tensors with one entry per arc.

        Nothing is received over them.
        """
        raise self.unsupported(".edges")

    def begin(self, x: Tensor) -> Tensor:
        """Return the point where local steps start.

        It is a copy (S, m, d) that the caller may overwrite.
        """
        return x.clone()

    def sample(self) -> object:
        """Draw one fresh minibatch for every seed and client."""
        raise self.unsupported(".sample")

    def __call__(self, y: Tensor, batch: Any) -> Tensor:
        """Return grad F_i(y_i; xi_i) at stacked points y (S, m, d).

        The caller may overwrite the tensor.
        """
        raise self.unsupported("(y, batch)")

    def loss(self, y: Tensor, batch: Any) -> Tensor:
        """Return the losses (S, m) of the models y (S, m, d) on a minibatch.

        Their gradients are those that ``grad(y, batch)`` returns.
        """
        raise self.unsupported(".loss")

    def balanced(self, y: Tensor, batch: object) -> Tensor:
        """Return the gradient of the class-balanced risk.

        Here the plain one, as without classes.
        """
        return self(y, batch)

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw numbers in [0, 1) of shape (S, m, ...).

        ``shape`` is (m, ...) with m = x.shape[1].

        For algorithms whose property ``draws`` is True.
        """
        raise self.unsupported(".uniform")


class Mix(RoundArgument):
    """What the network does in one round.

    All calls in a round use the same matrices W_t.

    Messages are counted for each neighbor: all numbers of the tensor, in its own
    precision, unless ``bits`` is given: the size of one client's message to one
    neighbor, a number or a tensor (S, m).

    A subclass implements ``_gossip``, or ``__call__`` where it counts messages or has
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
            It is not changed.
        times : int
            Number of gossip steps. Those of round t use W_{t,0}, W_{t,1}, ..., which
            are one matrix if the network is constant.
        W : str
            One of the further matrices that the class declares (``Algorithm.further``).
        bits : float or (S, m) tensor, optional
            Size of a message. 0: nothing is sent, because the neighbors know z from
            earlier messages.
        after : int
            Number of gossip steps of this round that z has already been through: the
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
        """Send ``message`` (S, m, ...) from every client to its neighbors.

        They keep it; it is returned.

        ``W`` names the matrix that defines these neighbors.
        """
        if W != MIX:
            raise self.unsupported(f".send(message, W={W!r})")
        return message

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw numbers in [0, 1) for this seed and round, of shape (S, m, ...).

        ``shape`` is (m, ...).
        """
        raise self.unsupported(".uniform")

    @property
    def participating(self) -> Tensor:
        """Clients that send or receive in W_{t,0} (S, m, 1), bool.

        They are ``grad.active`` if a class declares ``inactive_when_isolated``.
        """
        raise self.unsupported(".participating")

    @property
    def edges(self) -> Edges:
        """The arcs of a fixed or periodic network, with their weights in W_{t,0}."""
        raise self.unsupported(".edges")

    def gather(self, x: Tensor, bits: float | Tensor | None = None) -> Tensor:
        """Return what the sender of each arc has: (S, m, ...) -> (S, E, ...).

        All clients send theirs.
        """
        raise self.unsupported(".gather")

    def swap(self, e: Tensor, bits: float | None = None) -> Tensor:
        """Exchange values over links.

        The value e of j -> i goes to i -> j, (S, E, ...) -> (S, E, ...).
        """
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
