"""Checks of the properties that an algorithm assumes of its mixing matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from dfltheory.algorithms.base import MIX, Algorithm
from dfltheory.errors import GraphError
from dfltheory.graphs import check_mixing_matrix
from dfltheory.graphs.matrices import DENSE_LIMIT, Matrix, is_sparse, to_dense

_TOLERANCE = 1e-6
"""Tolerance of sums; matrices may have been converted from single precision.
"""

_LAWS = {
    "doubly stochastic": ("row sums", "column sums"),
    "column-stochastic": ("range", "column sums"),
    "row-stochastic": ("range", "row sums"),
}

_ADVICE = {
    "doubly stochastic": (
        "use graphs.metropolis(graph), or on a directed graph a push-sum algorithm"
        " (SGP, OSGP, DFedSGPM, DFedSGPSM)"
    ),
    "column-stochastic": "use graphs.column_stochastic(graph)",
    "row-stochastic": "use graphs.metropolis(graph) or graphs.row_stochastic(graph)",
}


class Laws:
    """The laws that an algorithm assumes of one of its matrices.

    Parameters
    ----------
    algorithm : Algorithm
    m : int
        Number of clients.
    strict : bool
        If False, weights need only be finite.
    name : str
        Name of the matrix: "W", or one of the algorithm's ``further`` matrices.
    """

    def __init__(
        self, algorithm: Algorithm, m: int, strict: bool = True, name: str = MIX
    ):
        own = name == MIX and strict
        self._m, self._name = m, type(algorithm).__name__
        self._kind = algorithm.mixing if name == MIX else algorithm.further[name]
        self._links = algorithm.links if own else "directed"
        symmetry = ("symmetry",) if algorithm.symmetric and own else ()
        self._laws = (*_LAWS[self._kind], *symmetry) if strict else ()
        self._least = algorithm.least_eigenvalue if symmetry else -math.inf
        self._fixed = algorithm.fixed and strict

    def check(
        self, W: Any, where: str = "the mixing matrix: ", tol: float | None = _TOLERANCE
    ) -> None:
        """Raise GraphError, with a remedy, unless W satisfies the laws.

        Parameters
        ----------
        W : (m, m) array or sparse array
        where : str
            Name of the matrix in messages, for example "the matrix of round 3: ".
        tol : float, optional
            Tolerance; None for the rounding error of W's type.
        """
        if tol is not None:
            self._check_kind(W)
        report = check_mixing_matrix(W, laws=("shape", "finite", *self._laws), tol=tol)
        for failure in report.failures:
            if failure.law not in self._laws:
                raise GraphError(
                    f"{where}{failure.message}: use a matrix of finite weights"
                )
            kind = (
                f"symmetric, {self._kind}" if "symmetry" in self._laws else self._kind
            )
            raise GraphError(
                f"{where}{failure.message}; {self._name} needs {kind} matrices:"
                f" {_ADVICE[self._kind]}; check_topology=False runs it without this"
                " check"
            )
        self.check_links(W, where)

    def _check_kind(self, W: object) -> None:
        """Raise GraphError unless a sequence returned a matrix for m clients."""
        if not (is_sparse(W) or isinstance(W, np.ndarray)):
            raise GraphError(
                f"a sequence returned a {type(W).__name__} as its matrix: it must"
                " return a numpy or CSR array"
            )
        if W.shape != (self._m, self._m):
            wanted = (self._m, self._m)
            raise GraphError(
                f"a sequence of {self._m} clients returned a matrix of shape"
                f" {W.shape}: it must be {wanted}"
            )

    def check_constant(self, W: Matrix) -> None:
        """Raise GraphError if an eigenvalue of a constant W is too small."""
        # for larger m, all eigenvalues are too expensive
        if self._least == -math.inf or self._m > DENSE_LIMIT:
            return
        least = float(np.linalg.eigvalsh(np.asarray(to_dense(W), dtype=np.float64))[0])
        if least < self._least - _TOLERANCE:
            raise GraphError(
                f"the mixing matrix: its smallest eigenvalue is {least:.6g}, below"
                f" {self._least:.6g}, where {self._name} diverges: mix by (I + W)/2"
                " (lazy=True, or graphs.lazy(graph)); check_topology=False runs it"
                " without this check"
            )

    def check_fixed(self, stays: bool) -> None:
        """Raise GraphError if a fixed network is needed and this one changes."""
        if self._fixed and not stays:
            raise GraphError(
                f"the network changes, but {self._name} needs a fixed one, because a"
                " new neighbor lacks the messages of earlier rounds; use one graph or"
                " matrix; check_topology=False runs it without this check"
            )

    def check_links(self, W: Any, where: str) -> None:
        """Raise GraphError unless the links of W are of the required kind."""
        if self._links == "directed":
            return
        linked: Any = sp.csr_array(W) != 0
        receivers, senders = (linked > linked.T).nonzero()
        if len(receivers):
            raise GraphError(
                f"{where}client {receivers[0]} receives from client {senders[0]} but"
                f" sends it nothing; {self._name} needs links in both directions: use"
                " an undirected graph"
            )
        links = (linked.nnz - np.count_nonzero(linked.diagonal())) // 2
        parts = int(sp.csgraph.connected_components(linked)[0])
        if self._links == "tree" and (links != self._m - 1 or parts > 1):
            raise GraphError(
                f"{where}{self._m} clients with {links} links in {parts}"
                f" part{'s' * (parts > 1)} do not form a tree; {self._name} needs one:"
                f" use a spanning tree, or graphs.star({self._m})"
            )


__all__ = ["Laws"]
