"""What an algorithm assumes of the matrices that it mixes by, checked before the first one is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import GraphError
from dfltheory.graphs import check_mixing_matrix
from dfltheory.graphs.matrices import entries, is_sparse, line_sums

_TOLERANCE = 1e-6
"""How far a sum may be from 1: matrices may have come in single precision, and lost the mark of it."""

_LAWS = {
    "doubly stochastic": ("row sums", "column sums"),
    "column-stochastic": ("range", "column sums"),
    "row-stochastic": ("range", "row sums"),
}

_ADVICE = {
    "doubly stochastic": "take graphs.metropolis(graph), or on a directed graph a push-sum algorithm"
    " (SGP, OSGP, DFedSGPM, DFedSGPSM)",
    "column-stochastic": "take graphs.column_stochastic(graph)",
    "row-stochastic": "take graphs.metropolis(graph) or graphs.row_stochastic(graph)",
}


class Laws:
    """The laws of one algorithm's matrices; ``strict`` False: finite weights are all that is asked."""

    def __init__(self, algorithm: Algorithm, m: int, strict: bool = True):
        self._m, self._name, self._kind = m, type(algorithm).__name__, algorithm.mixing
        self._laws = _LAWS[self._kind] if strict else ()

    def check(self, W: Any, where: str = "the mixing matrix: ", tol: float | None = _TOLERANCE) -> None:
        """One clear line (law, place, value, what to do) unless W keeps the laws.

        ``where`` says which matrix it is ("the matrix of round 3: "); without ``tol`` the precision of W's
        own type counts.
        """
        if tol is not None and self._keeps(W, tol):
            return
        report = check_mixing_matrix(W, laws=("shape", "finite", *self._laws), tol=tol)
        for failure in report.failures:
            if failure.law not in self._laws:
                raise GraphError(f"{where}{failure.message}: give a matrix of finite weights")
            raise GraphError(
                f"{where}{failure.message}; {self._name} needs {self._kind} matrices: {_ADVICE[self._kind]};"
                " check_topology=False lets it run all the same"
            )

    def _keeps(self, W: Any, tol: float) -> bool:
        """The same in a few products, for matrices that are drawn in every round."""
        if not (is_sparse(W) or isinstance(W, np.ndarray)):
            raise GraphError(
                f"a sequence gives a {type(W).__name__} as its matrix: give a numpy or CSR array"
            )
        if W.shape != (self._m, self._m):
            wanted = (self._m, self._m)
            raise GraphError(f"a sequence of {self._m} clients gives a matrix of {W.shape}: give {wanted}")
        rows, columns, values = line_sums(W, axis=1), line_sums(W, axis=0), entries(W)
        if not np.isfinite(rows).all():
            return False
        kept = {
            "range": lambda: values.size == 0 or (values.min() >= -tol and values.max() <= 1 + tol),
            "row sums": lambda: np.abs(rows - 1).max() <= tol,
            "column sums": lambda: np.abs(columns - 1).max() <= tol,
        }
        return all(kept[law]() for law in self._laws)


__all__ = ["Laws"]
