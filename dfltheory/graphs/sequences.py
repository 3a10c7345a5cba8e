"""Sequences of mixing matrices W_0, W_1, ..., one for each round.

A sequence has ``m``, ``random`` (whether W_t is random) and
``matrix(t, rng, losses=None)``. All random numbers come from ``rng``, so equal
generators give equal matrices; without randomness W_t depends on t only. A sequence may
also have ``eps``, the rounding unit of the original type of its matrices, and ``kind``,
a name of :data:`dfltheory.constants.SEQUENCES` (see :func:`kind_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from dfltheory.constants import FRESH_ROUND, SEQUENCES
from dfltheory.errors import GraphError, InputError, checked_name
from dfltheory.graphs.matrices import ROUNDING_UNIT, Matrix, as_matrix


@runtime_checkable
class MixingSequence(Protocol):
    """The interface of a sequence of mixing matrices."""

    @property
    def m(self) -> int:
        """Number of clients."""
        ...

    @property
    def random(self) -> bool:
        """Whether W_t is random."""
        ...

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return W_t (m, m), dense or CSR.

        Parameters
        ----------
        t : int
            Round 0, 1, ...
        rng : numpy.random.Generator
            Source of all random numbers.
        losses : (m,) array, optional
            Losses of the clients, for sequences with ``needs_losses``.
        """
        ...


@dataclass(frozen=True, eq=False)
class Periodic:
    """W_t = Ws[t mod B]: a list of matrices that repeats.

    Parameters
    ----------
    Ws : tuple of (m, m) matrix
        The matrices of a period.
    name : str
        Name of the sequence.
    eps : float
        Rounding unit of their original type.
    """

    Ws: tuple[Matrix, ...]
    name: str = "periodic"
    eps: float = ROUNDING_UNIT
    random: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not self.Ws:
            raise InputError("Ws is empty: a periodic sequence needs a matrix")
        sizes = {W.shape[0] for W in self.Ws}
        if len(sizes) > 1:
            raise GraphError(
                f"the matrices of a sequence must have equal sizes, not {sorted(sizes)}"
            )

    @property
    def m(self) -> int:
        """Number of clients."""
        return self.Ws[0].shape[0]

    @property
    def period(self) -> int:
        """Number of rounds after which the matrices repeat."""
        return len(self.Ws)

    def matrix(
        self,
        t: int,
        rng: np.random.Generator | None = None,
        losses: np.ndarray | None = None,
    ) -> Matrix:
        """Return W_t."""
        return self.Ws[t % len(self.Ws)]


class Constant(Periodic):
    """W_t = W in every round.

    Parameters
    ----------
    W : (m, m) matrix
        The matrix.
    name : str
        Name of the sequence.
    eps : float
        Rounding unit of its original type.
    """

    def __init__(self, W: Matrix, name: str = "constant", eps: float = ROUNDING_UNIT):
        super().__init__((W,), name, eps)

    @property
    def W(self) -> Matrix:
        """The matrix."""
        return self.Ws[0]


@dataclass(frozen=True, eq=False)
class UserSequence:
    """A sequence defined by a function.

    Parameters
    ----------
    f : callable
        ``f(t)``, or ``f(t, rng)`` if it is random, returns W_t.
    m : int
        Number of clients.
    random : bool
        Whether ``f`` takes ``rng``.
    name : str
        Name of the sequence.
    eps : float
        Rounding unit of the original type of the matrices.
    kind : str, optional
        A name of :data:`dfltheory.constants.SEQUENCES`.
    """

    f: Callable[..., object]
    m: int
    random: bool = False
    name: str = "user"
    eps: float = ROUNDING_UNIT
    kind: str | None = None

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return W_t as a float64 matrix."""
        value = self.f(t, rng) if self.random else self.f(t)
        W = as_matrix(value, f"the matrix of round {t}")
        size = W.shape[0]
        if size != self.m:
            raise GraphError(
                f"the matrix of round {t} is {size} x {size}, not {self.m} x {self.m}"
            )
        return W


@dataclass(frozen=True, eq=False)
class Rounds:
    """Some rounds of a sequence.

    Attributes
    ----------
    matrices : list of (m, m) matrix
        One for each round.
    exact : bool
        Whether the matrices are a whole period rather than a sample.
    eps : float
        Rounding unit of their original type.
    """

    matrices: list[Matrix]
    exact: bool
    eps: float = ROUNDING_UNIT


def rounds_of(sequence: MixingSequence, rounds: int, seed: int = 0) -> Rounds:
    """Return a whole period of a sequence, or its first rounds.

    Parameters
    ----------
    sequence : MixingSequence
        The sequence. If it needs losses, all losses are set equal, and the rounds are a
        sample even if the sequence states a period.
    rounds : int
        Number of rounds if there is no period.
    seed : int
        Seed of the draws.

    Returns
    -------
    Rounds
        The rounds.
    """
    period = period_of(sequence)
    if period is None and rounds < 1:
        raise InputError(f"rounds = {rounds} must be at least 1")
    rng = np.random.default_rng(seed)
    losses = np.zeros(sequence.m) if getattr(sequence, "needs_losses", False) else None
    matrices = [sequence.matrix(t, rng, losses) for t in range(period or rounds)]
    return Rounds(matrices, period is not None, rounding(sequence))


MOST_MATRICES = 10_000
"""Largest number of matrices of a run that are examined."""


def matrices_used(sequence: MixingSequence, rounds: int, gossip_steps: int) -> int:
    """Return how many matrices of a sequence the rounds of a run use, at least 1."""
    steps = 1 if has_one_draw_per_round(sequence) else gossip_steps
    return max(1, rounds * steps)


def distinct(matrices: Iterable[Matrix]) -> dict[int, Matrix]:
    """Return the distinct matrices, keyed by the index of their first occurrence."""
    first_occurrences: dict[int, Matrix] = {}
    seen: set[tuple[bytes, ...]] = set()
    for index, W in enumerate(matrices):
        if isinstance(W, np.ndarray):
            key = (W.tobytes(),)
        else:
            key = (W.indptr.tobytes(), W.indices.tobytes(), W.data.tobytes())
        if key not in seen:
            seen.add(key)
            first_occurrences[index] = W
    return first_occurrences


def rounding(sequence: MixingSequence) -> float:
    """Return the rounding unit of a sequence; by default that of float64."""
    return getattr(sequence, "eps", ROUNDING_UNIT)


def period_of(sequence: MixingSequence) -> int | None:
    """Return the period of a sequence in rounds, or None if none is known.

    Random sequences and those that depend on the losses have no period, whatever they
    declare.
    """
    if sequence.random or getattr(sequence, "needs_losses", False):
        return None
    return getattr(sequence, "period", None)


def kind_of(sequence: MixingSequence) -> str:
    """Return the kind of a sequence, a name of :data:`dfltheory.constants.SEQUENCES`.

    Sequences with a known period are ``fixed`` or ``periodic``. Others have the kind
    that they declare, or ``any`` if they declare none or depend on the losses.

    Raises
    ------
    UnknownNameError
        If the declared kind is not in the list.
    InputError
        If the declared kind contradicts the sequence.
    """
    declared = getattr(sequence, "kind", None)
    if declared is not None:
        checked_name("kind of network sequence", declared, SEQUENCES)
    if getattr(sequence, "needs_losses", False):
        return "any"
    period = period_of(sequence)
    if sequence.random and declared in ("fixed", "periodic"):
        raise InputError(
            f"kind = {declared!r} contradicts random = True: random draws differ"
        )
    if declared == "fixed" and period != 1:
        raise InputError(
            "kind = 'fixed' needs one matrix: give the matrix itself as the network"
        )
    if declared is not None:
        return declared
    if period is None:
        return "any"
    return "fixed" if period == 1 else "periodic"


def has_one_draw_per_round(sequence: MixingSequence) -> bool:
    """Return whether all gossip steps of round t use the matrix W_t.

    This is the case if the sequence sets ``one_per_round`` or declares the kind "fresh
    draws each round".
    """
    declared = bool(getattr(sequence, "one_per_round", False))
    return declared or kind_of(sequence) == FRESH_ROUND


def standing(drawn: Rounds) -> str:
    """Describe whether results for these rounds are valid for all rounds."""
    if drawn.exact:
        return "proved for all rounds"
    return f"sampled: seen in {len(drawn.matrices)} rounds, no proof for others"
