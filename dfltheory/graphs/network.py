"""From a matrix or a sequence to the constants that the theorems ask of a network."""

from __future__ import annotations

from typing import Any

from dfltheory.constants import NetworkConstants
from dfltheory.graphs.assumptions import DOUBLY_STOCHASTIC, check_mixing_matrix
from dfltheory.graphs.sequences import as_sequence
from dfltheory.graphs.spectral import spectral_report


def network_constants(network: Any) -> NetworkConstants:
    """m, lambda and the push-sum constants of anything that ``as_sequence`` takes."""
    sequence = as_sequence(network)
    W = sequence.matrix(0, None)
    check_mixing_matrix(W, laws=DOUBLY_STOCHASTIC).raise_if_failed()
    return NetworkConstants(m=sequence.m, lam=spectral_report(W).lam)
