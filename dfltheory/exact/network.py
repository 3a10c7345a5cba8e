"""Mixing matrices for expectations: deterministic, or random with finite support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.constants import FRESH_STEP
from dfltheory.errors import InputError
from dfltheory.graphs import MixingSequence, as_sequence
from dfltheory.graphs.matrices import Matrix
from dfltheory.graphs.sequences import has_one_draw_per_round

MatrixDistribution = list[tuple[float, np.ndarray]]
"""A distribution of matrices: the outcomes (m, m), each after its probability."""


@runtime_checkable
class KnownLaw(Protocol):
    """A random sequence of matrices whose distribution is known."""

    def law(self) -> MatrixDistribution:
        """Return every outcome with its probability."""
        ...


class RandomMixing:
    """Mixing matrices W_t that are drawn independently in every round.

    It is a sequence like any other for training. Since its distribution is known,
    expectations are exact.

    Parameters
    ----------
    matrices : sequence of (m, m) arrays, sparse arrays or tensors
        The possible matrices.
    probabilities : sequence of float, optional
        Probability of each matrix; by default all are equally likely.
    """

    random = True
    name = "random mixing"
    kind = FRESH_STEP

    def __init__(
        self,
        matrices: Sequence[Matrix | Tensor],
        probabilities: Sequence[float] | None = None,
    ):
        self.matrices = [dense(W) for W in matrices]
        if not self.matrices or len({W.shape for W in self.matrices}) != 1:
            raise InputError(
                "random mixing needs at least one matrix, all of one shape; the shapes"
                f" are {[W.shape for W in self.matrices]}"
            )
        n = len(self.matrices)
        p = (
            np.full(n, 1 / n)
            if probabilities is None
            else np.asarray(probabilities, dtype=float)
        )
        if p.shape != (n,) or (p < 0).any() or abs(p.sum() - 1) > 1e-12:
            raise InputError(
                f"probabilities = {p.tolist()} must be numbers >= 0 that sum to 1, one"
                f" for each of the {n} matrices"
            )
        self.probabilities = p
        self.m = self.matrices[0].shape[0]

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw the matrix of round ``t``; the draws are independent."""
        return self.matrices[int(rng.choice(len(self.matrices), p=self.probabilities))]

    def contraction_squared(self) -> float:
        """Return lambda^2 = ||E[W'W] - 11'/m||, for doubly stochastic matrices."""
        square = sum(p * W.T @ W for p, W in self.law())
        return float(np.linalg.norm(square - 1 / self.m, 2))

    def law(self) -> MatrixDistribution:
        """Return every outcome with its probability."""
        return [
            (float(p), W) for p, W in zip(self.probabilities, self.matrices) if p > 0
        ]


def dense(W: Matrix | Tensor) -> np.ndarray:
    """Return a matrix of any kind as a dense float array."""
    return np.asarray(W.toarray() if sp.issparse(W) else W, dtype=float)


def sequence_for(algorithm: Algorithm, m: int, topology: object) -> MixingSequence:
    """Return the mixing matrices of an algorithm as a sequence.

    Parameters
    ----------
    algorithm : Algorithm
    m : int
        Number of clients.
    topology : object
        As for :func:`dfltheory.train`. It is ignored for a server with full
        participation and for ``Local``.

    Raises
    ------
    InputError
        If the topology is missing, has another number of clients, or is random with an
        unknown distribution.
    """
    if not algorithm.needs_topology:  # a server, or no exchange
        participation = getattr(algorithm, "participation", 1.0)
        if participation < 1:
            raise InputError(
                f"participation = {participation:g}: rounds with sampled"
                " clients have no exact expectations here: set participation = 1"
            )
        return as_sequence(np.full((m, m), 1 / m))
    if topology is None:
        raise InputError(
            f"{type(algorithm).__name__} needs a topology: a graph, a matrix, or a"
            " sequence"
        )
    sequence = as_sequence(topology)
    if sequence.m != m:
        raise InputError(
            f"the topology has {sequence.m} clients, but the task has {m}: make them"
            " equal"
        )
    if sequence.random and not isinstance(sequence, KnownLaw):
        raise InputError(
            "the distribution of this random sequence is not given, so its expectation"
            " is unknown: pass RandomMixing(matrices, probabilities)"
        )
    return sequence


def law_of(sequence: MixingSequence, index: int) -> MatrixDistribution:
    """Return the outcomes of the matrix with this index, with their probabilities."""
    if sequence.random:
        assert isinstance(sequence, KnownLaw)
        return sequence.law()
    return [(1.0, dense(sequence.matrix(index, np.random.default_rng(0))))]


def laws_of(sequence: MixingSequence, t: int, times: int) -> list[MatrixDistribution]:
    """Return the distributions of the independent factors of a round's mixing.

    Parameters
    ----------
    sequence : MixingSequence
    t : int
        The round.
    times : int
        Number of gossip steps of the round.

    Returns
    -------
    list of Law
        In order; a single one if a matrix is drawn once for all steps of the round.
    """
    if not has_one_draw_per_round(sequence):
        return [law_of(sequence, t * times + q) for q in range(times)]
    if times == 0:
        return []
    return [[(p, np.linalg.matrix_power(W, times)) for p, W in law_of(sequence, t)]]


def is_constant(sequence: MixingSequence) -> bool:
    """Return whether the law of W_t is the same in every round."""
    return bool(sequence.random) or getattr(sequence, "period", None) == 1
