"""Sequences in which all gossip steps of a round use the same matrix."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from dfltheory.constants import FRESH_ROUND, FRESH_STEP
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.graphs.matrices import Matrix
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import kind_of
from dfltheory.graphs.time_varying import (
    ClientSampling,
    RandomMatching,
    RandomNeighbors,
)
from dfltheory.number_ranges import PositiveInt

_FORWARDED = (
    "m",
    "random",
    "period",
    "eps",
    "needs_losses",
    "exchangeable",
    "contraction_squared",
    "law",
)
"""Attributes that :class:`OnePerRound` copies from the sequence it wraps."""


class OnePerRound:
    """A sequence whose matrix W_t is used by all gossip steps of round t.

    With Q gossip steps, round t mixes by W_t^Q, as in the printed Algorithm 1 of
    DFedSAM-MGS. Other sequences provide a new matrix for each gossip step. If draws are
    independent, E||(W_t - P)^Q x||^2 may be far larger than lambda^(2Q) ||x||^2.

    Parameters
    ----------
    sequence : object
        Anything that ``as_sequence`` accepts.
    """

    m: int
    random: bool
    one_per_round: ClassVar[bool] = True

    def __init__(self, sequence: object):
        self.of = as_sequence(sequence)
        self.name = f"one_per_round({getattr(self.of, 'name', type(self.of).__name__)})"
        for name in _FORWARDED:
            if hasattr(self.of, name):
                setattr(self, name, getattr(self.of, name))

    @property
    def kind(self) -> str:
        """Kind of the sequence; a fresh draw is made once per round."""
        kind = kind_of(self.of)
        return FRESH_ROUND if kind == FRESH_STEP else kind

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return W_t."""
        if losses is None:
            return self.of.matrix(t, rng)
        return self.of.matrix(t, rng, losses)


def one_per_round(
    m: int,
    of: Literal[
        "random_matching", "random_neighbors", "client_sampling"
    ] = "random_matching",
    k: PositiveInt | None = None,
) -> OnePerRound:
    """Return a random network with one draw for each round.

    Parameters
    ----------
    m : int
        Number of clients.
    of : {"random_matching", "random_neighbors", "client_sampling"}
        The network.
    k : int, optional
        Parameter k of the network; random_matching does not take it.

    Returns
    -------
    OnePerRound
        The sequence.

    Raises
    ------
    InputError
        If ``k`` is given for random_matching or missing for client_sampling.
    UnknownNameError
        If there is no such network.
    """
    if of == "random_matching":
        if k is not None:
            raise InputError(
                f"k = {k} is for random_neighbors and client_sampling only: omit it for"
                " random_matching"
            )
        return OnePerRound(RandomMatching(m))
    if of == "random_neighbors":
        network = RandomNeighbors(m) if k is None else RandomNeighbors(m, k)
        return OnePerRound(network)
    if of != "client_sampling":
        known = {"random_matching", "random_neighbors", "client_sampling"}
        raise UnknownNameError("random network", of, known)
    if k is None:
        raise InputError("client_sampling needs k, the number of sampled clients")
    return OnePerRound(ClientSampling(m, k))
