"""MATCHA: random matchings of a graph's links, chosen to maximize connectivity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from dfltheory.constants import FRESH_STEP
from dfltheory.errors import DFLTheoryError, GraphError, InputError
from dfltheory.graphs.connectivity import check_connected
from dfltheory.graphs.convex_weights import convex_solver
from dfltheory.graphs.graph_types import Graph, colored_nodes, line_graph
from dfltheory.graphs.matrices import (
    Matrix,
    adjacency,
    as_sparse_or_dense,
    is_graph,
    real,
)


@dataclass(frozen=True, eq=False)
class Matcha:
    """W_t = I - alpha sum_j b_j L_j with independent b_j ~ Bernoulli(p_j).

    L_j is the Laplacian of matching j = 1..M of the graph's links. All pairs of a
    matching communicate at the same time, so a round takes time sum_j b_j. The
    probabilities maximize the algebraic connectivity of sum_j p_j L_j subject to sum_j
    p_j <= ``budget`` M. Then alpha minimizes lambda^2 = ||E[W_t^2] - 11'/m||, where,
    because L_j^2 = 2 L_j,

        E[W_t^2] = I - 2 alpha Lbar + alpha^2 (Lbar^2 + 2 sum_j p_j (1 - p_j) L_j),
        Lbar = sum_j p_j L_j.

    W_t is symmetric with row sums 1; self-weights may be negative. The matchings are
    the colors of a greedy edge coloring (fewer than twice the largest degree). The
    probabilities are computed by clarabel through cvxpy (extra ``[convex]``), which is
    practical for m up to a few hundred.

    Parameters
    ----------
    graph : networkx.Graph
        Undirected, connected, with at least two nodes.
    budget : float
        Expected fraction of the matchings used in a round, in (0, 1].
    name : str
        Name of the sequence.

    Attributes
    ----------
    matchings : tuple of (links, 2) arrays
        The links {i, j} of each matching.
    p : (M,) array
        Probability of each matching.
    alpha : float
        Weight of a link.
    lam_squared : float
        The smallest lambda^2.

    References
    ----------
    Wang, Sahu, Yang, Joshi and Kar (2019); JYWa/MATCHA, graph_manager.
    """

    graph: Graph
    budget: float = 0.5
    name: str = "matcha"
    random: bool = field(default=True, init=False)
    matchings: tuple[np.ndarray, ...] = field(init=False, repr=False)
    p: np.ndarray = field(init=False, repr=False)
    alpha: float = field(init=False)
    lam_squared: float = field(init=False, repr=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        if not 0 < real("budget", self.budget) <= 1:
            raise InputError(
                f"budget = {self.budget} must be a share of the matchings in (0, 1]"
            )
        is_undirected = is_graph(self.graph) and not self.graph.is_directed()
        if not is_undirected or len(self.graph) < 2:
            raise GraphError("matcha needs an undirected graph of at least 2 clients")
        A = adjacency(self.graph)
        check_connected(A, self.graph)
        object.__setattr__(self, "matchings", _color_links(A))
        object.__setattr__(self, "p", self._probabilities())
        alpha, lam_squared = self._best_alpha()
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "lam_squared", lam_squared)

    @property
    def m(self) -> int:
        """Number of clients."""
        return len(self.graph)

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Draw W_t."""
        is_active = rng.random(len(self.p)) < self.p
        laplacian = sp.csr_array((self.m, self.m))
        for k in np.flatnonzero(is_active):
            laplacian = laplacian + self._laplacian(int(k))
        W = sp.csr_array(sp.eye_array(self.m) - self.alpha * laplacian)
        return as_sparse_or_dense(W, None)

    def contraction_squared(self) -> float:
        """Return lambda^2 for the optimal alpha."""
        return self.lam_squared

    def _laplacian(self, k: int) -> sp.csr_array:
        """Return the Laplacian of matching k."""
        i, j = self.matchings[k].T
        ones = np.ones(len(i))
        entries = (np.r_[ones, ones], (np.r_[i, j], np.r_[j, i]))
        links = sp.coo_array(entries, shape=(self.m, self.m))
        return sp.csr_array(sp.diags_array(links.sum(axis=1)) - links)

    def _weighted_sum(self, weights: np.ndarray) -> np.ndarray:
        """Return sum_j weight_j L_j."""
        terms = [w * self._laplacian(k).toarray() for k, w in enumerate(weights)]
        return np.sum(terms, axis=0)

    def _best_alpha(self) -> tuple[float, float]:
        """Return the alpha that minimizes lambda^2, and lambda^2."""
        from scipy.optimize import minimize_scalar  # slow to import

        mean = self._weighted_sum(self.p)
        square = mean @ mean + 2 * self._weighted_sum(self.p * (1 - self.p))
        deflated = np.eye(self.m) - 1.0 / self.m

        def contraction(alpha: float) -> float:
            moment = deflated - 2 * alpha * mean + alpha**2 * square
            return float(np.linalg.eigvalsh(moment)[-1])

        bounds = (0, 2 / float(np.linalg.eigvalsh(mean)[-1]))
        minimum = minimize_scalar(
            contraction, bounds=bounds, method="bounded", options={"xatol": 1e-12}
        )
        return float(minimum.x), float(minimum.fun)

    def _probabilities(self) -> np.ndarray:
        """Return the probabilities that maximize the algebraic connectivity."""
        count = len(self.matchings)
        m = self.m
        if self.budget == 1:
            return np.ones(count)
        cp = convex_solver("computing MATCHA's probabilities")
        p = cp.Variable(count)
        connectivity = cp.Variable()
        mean = sum(p[k] * self._laplacian(k).toarray() for k in range(count))
        # lifts the eigenvalue 0 of the constant vector to 2 M, above all others
        lifted = mean + 2.0 * count / m
        constraints = [
            lifted >> connectivity * np.eye(m),
            p >= 0,
            p <= 1,
            cp.sum(p) <= self.budget * count,
        ]
        problem = cp.Problem(cp.Maximize(connectivity), constraints)
        problem.solve(solver=cp.CLARABEL)
        if p.value is None:
            raise DFLTheoryError(f"the solver found no probabilities: {problem.status}")
        return np.clip(p.value, 0.0, 1.0)


def _color_links(A: sp.csr_array) -> tuple[np.ndarray, ...]:
    """Return matchings (links, 2) that partition the links of a graph."""
    links = np.stack(sp.coo_array(sp.triu(A, 1)).coords, axis=1)
    color_of_link = colored_nodes(line_graph(links.tolist()))
    colors: list[int] = []
    for i, j in links.tolist():
        link = (i, j) if (i, j) in color_of_link else (j, i)
        colors.append(color_of_link[link])
    color = np.array(colors)
    return tuple(links[color == k] for k in range(color.max() + 1))


__all__ = ["Matcha"]
