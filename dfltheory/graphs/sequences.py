"""Sequences of mixing matrices W_0, W_1, ...: what the training core asks for, round by round.

A sequence has ``m``, ``random`` (does W_t depend on chance?) and ``matrix(t, rng, losses=None)``. Chance
comes from ``rng`` alone, so that the same generator gives the same matrix; round t of a sequence that is
not random depends on t alone. A sequence may also tell ``eps``, the rounding unit of the type that its
matrices came in: their sums are right to that; and its ``kind``, a name of
:data:`dfltheory.constants.SEQUENCES` (see :func:`kind_of`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import networkx as nx
import numpy as np

from dfltheory.constants import SEQUENCES
from dfltheory.errors import GraphError, InputError, one_of
from dfltheory.graphs.matrices import ROUNDING, Matrix, as_matrix, read_matrix
from dfltheory.graphs.weights import default_weights


@runtime_checkable
class MixingSequence(Protocol):
    """What every sequence of mixing matrices offers."""

    @property
    def m(self) -> int: ...

    @property
    def random(self) -> bool: ...

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        """W_t (m, m), dense or CSR, for round t = 0, 1, ..."""
        ...


@dataclass(frozen=True, eq=False)
class Periodic:
    """W_t = Ws[t mod B]: a list of matrices, over and over."""

    Ws: tuple[Matrix, ...]
    name: str = "periodic"
    eps: float = ROUNDING
    random: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not self.Ws:
            raise InputError("a periodic sequence needs at least one matrix")
        sizes = {W.shape[0] for W in self.Ws}
        if len(sizes) > 1:
            raise GraphError(f"the matrices of a sequence must have one size, not {sorted(sizes)}")

    @property
    def m(self) -> int:
        return self.Ws[0].shape[0]

    @property
    def period(self) -> int:
        return len(self.Ws)

    def matrix(
        self, t: int, rng: np.random.Generator | None = None, losses: np.ndarray | None = None
    ) -> Matrix:
        return self.Ws[t % len(self.Ws)]


class Constant(Periodic):
    """W_t = W in every round."""

    def __init__(self, W: Matrix, name: str = "constant", eps: float = ROUNDING):
        super().__init__((W,), name, eps)

    @property
    def W(self) -> Matrix:
        return self.Ws[0]


@dataclass(frozen=True, eq=False)
class UserSequence:
    """A user's callable: ``f(t)``, or ``f(t, rng)`` where it draws from chance.

    ``kind`` is what its author declares of it, a name of :data:`dfltheory.constants.SEQUENCES`.
    """

    f: Callable[..., Any]
    m: int
    random: bool = False
    name: str = "user"
    eps: float = ROUNDING
    kind: str | None = None

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        W = as_matrix(self.f(t, rng) if self.random else self.f(t), f"the matrix of round {t}")
        if W.shape[0] != self.m:
            raise GraphError(
                f"the matrix of round {t} is {W.shape[0]} x {W.shape[0]}, not {self.m} x {self.m}"
            )
        return W


@dataclass(frozen=True, eq=False)
class Rounds:
    """Some rounds of a sequence; ``exact``: they repeat for ever (a period), else they are a sample.

    ``eps`` the rounding unit of the type that they came in.
    """

    matrices: list[Matrix]
    exact: bool
    eps: float = ROUNDING


def rounds_of(sequence: MixingSequence, rounds: int, seed: int = 0) -> Rounds:
    """One whole period of the sequence where it has one, else its first ``rounds`` rounds.

    Chance comes from ``seed``; a sequence that chooses by losses is given equal ones.
    """
    period = None if sequence.random else getattr(sequence, "period", None)
    if period is None and rounds < 1:
        raise InputError(f"rounds = {rounds} must be at least 1")
    rng = np.random.default_rng(seed)
    losses = np.zeros(sequence.m) if getattr(sequence, "needs_losses", False) else None
    matrices = [sequence.matrix(t, rng, losses) for t in range(period or rounds)]
    return Rounds(matrices, period is not None, rounding(sequence))


def rounding(sequence: MixingSequence) -> float:
    """The rounding unit to which the sequence's matrices are right: float64's unless it tells another."""
    return getattr(sequence, "eps", ROUNDING)


def kind_of(sequence: Any) -> str:
    """Return which kind of sequence this is, a name of :data:`dfltheory.constants.SEQUENCES`.

    Sequences with a known period are ``fixed`` or ``periodic``. Others are what they declare as ``kind``,
    and ``any`` if they declare nothing or choose neighbors by the losses.

    Raises
    ------
    UnknownNameError
        If the declared kind is not in the list.
    InputError
        If the declared kind contradicts what is known of the sequence.
    """
    declared = getattr(sequence, "kind", None)
    if declared is not None:
        one_of("kind of network sequence", declared, SEQUENCES)
    if getattr(sequence, "needs_losses", False):
        return "any"
    period = None if sequence.random else getattr(sequence, "period", None)
    if sequence.random and declared in ("fixed", "periodic"):
        raise InputError(f"kind = {declared!r} contradicts random = True: a random sequence makes draws")
    if declared == "fixed" and period != 1:
        raise InputError("kind = 'fixed' needs one matrix: give the matrix itself as the network")
    if declared is not None:
        return declared
    if period is None:
        return "any"
    return "fixed" if period == 1 else "periodic"


def standing(drawn: Rounds) -> str:
    """What looking at these rounds says of all the others, in words."""
    if drawn.exact:
        return "proved for all rounds"
    return f"sampled: seen in {len(drawn.matrices)} rounds, no proof for others"


def as_sequence(topology: Any, kind: str | None = None) -> MixingSequence:
    """Anything that tells how to mix, as a sequence of matrices.

    A sequence stays as it is; a networkx graph gets its edge weights, or Metropolis weights (undirected)
    or out-degree column-stochastic ones (directed); a matrix (dense, sparse, torch) is constant; a list of
    matrices is periodic; a callable ``f(t)`` or ``f(t, rng)`` is asked every round. ``kind`` declares which
    of :data:`dfltheory.constants.SEQUENCES` a callable is: without it, only statements that cover ``any``
    sequence apply to its runs.
    """
    if kind is not None:
        if not callable(topology) or hasattr(topology, "matrix") or hasattr(topology, "shape"):
            raise InputError(
                f"kind = {kind!r} is for callables f(t) and f(t, rng); other networks have theirs"
            )
        declared = replace(_from_callable(topology), kind=kind)
        kind_of(declared)
        return declared
    if isinstance(topology, MixingSequence):
        return topology
    if isinstance(topology, nx.Graph):
        W = as_matrix(topology) if nx.is_weighted(topology) else default_weights(topology)
        return Constant(W, name=topology.graph.get("name") or "graph")
    if callable(topology) and not hasattr(topology, "shape"):
        return _from_callable(topology)
    if isinstance(topology, str):
        raise InputError(
            f"{topology!r} is a name: give the number of clients, as in graphs.topology({topology!r}, m)"
        )
    if isinstance(topology, Sequence) and len(topology) and np.ndim(_first(topology)) == 2:
        read = [read_matrix(W, f"matrix {k} of the list") for k, W in enumerate(topology)]
        return Periodic(tuple(W.copy() for W, _ in read), eps=max(eps for _, eps in read))
    W, eps = read_matrix(topology)
    return Constant(W.copy(), eps=eps)


def _first(items: Sequence[Any]) -> Any:
    first = items[0]
    if isinstance(first, nx.Graph):
        raise InputError("a list of graphs is not a sequence of matrices: apply a weight rule to each")
    return first if hasattr(first, "ndim") else np.asarray(first, dtype=object)


def _from_callable(f: Callable[..., Any]) -> UserSequence:
    required = [
        p
        for p in inspect.signature(f).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(required) not in (1, 2):
        raise InputError("a callable sequence takes f(t), or f(t, rng) where it is random")
    random = len(required) == 2
    first = f(0, np.random.default_rng(0)) if random else f(0)
    W, eps = read_matrix(first, "the matrix of round 0")
    return UserSequence(f, W.shape[0], random, eps=eps)
