"""Push-sum constants as papers cite them; they depend on sizes and degrees only.

They can be far larger than the computed constants of a matrix: on a directed ring of
100 clients, the cited [C/(1-q)]^2 is 1e121 and the computed one is 4e6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.connectivity import directed_diameter, union
from dfltheory.graphs.connectivity import window as smallest_window
from dfltheory.graphs.matrices import Matrix, support
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import rounds_of


@dataclass(frozen=True)
class CitedConstants:
    """C and q of Assran et al. (2019), Lemma 3, as DFedSGPSM's Theorem 1 cites them.

    The lemma bounds ||z_i^t - xbar^t|| by C q^t (...).

    Attributes
    ----------
    D : float
        Largest out-degree, self-loop included, or the inverse of the smallest weight if
        that is larger.
    diameter : int
        Largest diameter of the graphs of the windows.
    window : int
        Number of rounds B of a window.
    lam : float
        1 - m D^-e with e = (diameter + 1) B.
    one_minus_q : float
        1 - q, to full precision.
    C : float
        Factor of the bound; infinite if it exceeds the range of floats.
    """

    D: float
    diameter: int
    window: int
    lam: float
    one_minus_q: float
    C: float

    @property
    def q(self) -> float:
        """The rate q = lam^(1/(e+1)), rounded."""
        return 1.0 - self.one_minus_q


def assran_constants(
    m: int, D: float, diameter: int, window: int = 1, dim: int = 1
) -> CitedConstants:
    """Return the constants of Assran et al. (2019), Lemma 3.

    With e = (diameter + 1) * window: lambda = 1 - m D^-e, q = lambda^(1/(e+1)) and
    C = 2 sqrt(dim) D^e / lambda^((e+2)/(e+1)). The lemma's own constant is smaller than
    this C. The formulas were written from memory and have not been compared with the
    text of the lemma.

    Parameters
    ----------
    m : int
        Number of clients.
    D : float
        Largest out-degree, self-loop included, for weights 1/out-degree; otherwise the
        inverse of the smallest weight.
    diameter : int
        Largest diameter of the graphs of the windows.
    window : int
        Number of rounds of a window.
    dim : int
        Number of parameters.

    Returns
    -------
    CitedConstants
        The constants; C is infinite if it exceeds the range of floats.

    Raises
    ------
    InputError
        If an argument is out of range.
    """
    least = {"m": 1, "D": 1, "diameter": 0, "window": 1, "dim": 1}
    given = {"m": m, "D": D, "diameter": diameter, "window": window, "dim": dim}
    for name, value in given.items():
        if value < least[name]:
            raise InputError(f"{name} = {value} must be at least {least[name]}")
    e = (diameter + 1) * window
    share = math.exp(math.log(m) - e * math.log(D))  # m D^-e
    if share >= 1:
        return CitedConstants(D, diameter, window, 0.0, 1.0, math.inf)
    log_lam = math.log1p(-share)
    log_root_dim = math.log(dim) / 2
    log_C = math.log(2) + log_root_dim + e * math.log(D) - log_lam * (e + 2) / (e + 1)
    C = math.exp(log_C) if log_C < 709 else math.inf
    one_minus_q = -math.expm1(log_lam / (e + 1))
    return CitedConstants(D, diameter, window, 1 - share, one_minus_q, C)


def cited_constants(
    network: object, *, dim: int = 1, rounds: int = 100, seed: int = 0
) -> CitedConstants:
    """Return :func:`assran_constants` of a matrix or sequence.

    Parameters
    ----------
    network : object
        Anything that ``as_sequence`` accepts.
    dim : int
        Number of parameters.
    rounds : int
        Number of rounds to examine if the sequence has no period.
    seed : int
        Seed of the draws of a random sequence.

    Returns
    -------
    CitedConstants
        The constants.

    Raises
    ------
    GraphError
        If no window of rounds is strongly connected.
    """
    sequence = as_sequence(network)
    drawn = rounds_of(sequence, rounds, seed)
    B, _ = smallest_window(drawn.matrices, periodic=drawn.exact)
    if B is None:
        raise GraphError(
            "the network is not strongly connected over any window of rounds"
        )
    links = [support(P) for P in drawn.matrices]
    T = len(links)
    D = max(_inverse_weight(P, S) for P, S in zip(drawn.matrices, links, strict=True))
    starts = range(T) if drawn.exact else range(T - B + 1)
    diameters: list[float] = []
    for start in starts:
        in_window = [links[(start + k) % T] for k in range(B)]
        diameters.append(directed_diameter(union(in_window)))
    return assran_constants(sequence.m, D, int(max(diameters)), B, dim)


def _inverse_weight(P: Matrix, links: sp.csr_array) -> float:
    """Return the larger of the out-degree and the inverse of the smallest weight."""
    degree = int(np.diff(sp.csc_array(links).indptr).max()) + 1
    weights = sp.csr_array(P).data
    inverse = float(1 / weights[weights > 0].min())
    return degree if inverse <= degree * (1 + 1e-9) else inverse
