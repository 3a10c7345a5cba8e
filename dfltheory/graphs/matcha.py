"""MATCHA: the links of a graph as matchings that come up at random, those that connect it more often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.constants import FRESH_STEP
from dfltheory.errors import DFLTheoryError, GraphError, InputError
from dfltheory.graphs.connectivity import check_connected
from dfltheory.graphs.matrices import Matrix, adjacency, real, settle
from dfltheory.graphs.weights import convex_solver


@dataclass(frozen=True, eq=False)
class Matcha:
    """W_t = I - alpha sum_j b_j L_j: matching j of the graph's links is there (b_j = 1) with probability p_j.

    L_j is the Laplacian of matching j = 1..M, each drawn by itself; all pairs of a matching talk at once, so
    that a round takes a time of sum_j b_j. p maximizes the algebraic connectivity of the mean graph,
    sum_j p_j L_j, subject to sum_j p_j <= ``budget`` M, and alpha minimizes lambda^2 = ||E[W_t^2] - 11'/m||,
    where, as L_j^2 = 2 L_j,

        E[W_t^2] = I - 2 alpha Lbar + alpha^2 (Lbar^2 + 2 sum_j p_j (1 - p_j) L_j),   Lbar = sum_j p_j L_j.

    Symmetric, rows sum to 1; a weight on the diagonal may be negative. The matchings are the colors of a
    greedy edge coloring (fewer than twice the largest degree). p is found by clarabel through cvxpy (extra
    ``[convex]``), for m up to a few hundred.

    [Wang, Sahu, Yang, Joshi and Kar 2019; JYWa/MATCHA, graph_manager]
    """

    graph: nx.Graph
    budget: float = 0.5
    name: str = "matcha"
    random: bool = field(default=True, init=False)
    matchings: tuple[np.ndarray, ...] = field(init=False, repr=False)
    """The links {i, j} of each matching, (links, 2)."""
    p: np.ndarray = field(init=False, repr=False)
    alpha: float = field(init=False)
    lam_squared: float = field(init=False, repr=False)
    kind: ClassVar[str] = FRESH_STEP

    def __post_init__(self) -> None:
        from scipy.optimize import minimize_scalar  # slow to import, and few ask for these networks

        if not 0 < real("budget", self.budget) <= 1:
            raise InputError(f"budget = {self.budget} must be a share of the matchings in (0, 1]")
        if not isinstance(self.graph, nx.Graph) or self.graph.is_directed() or len(self.graph) < 2:
            raise GraphError("matcha needs an undirected graph of at least 2 clients")
        A = adjacency(self.graph)
        check_connected(A, self.graph)
        links = np.stack(sp.coo_array(sp.triu(A, 1)).coords, axis=1)
        by_link = nx.greedy_color(nx.line_graph(nx.Graph(links.tolist())), "DSATUR")
        color = np.array([by_link[i, j] if (i, j) in by_link else by_link[j, i] for i, j in links.tolist()])
        parts = tuple(links[color == k] for k in range(color.max() + 1))
        object.__setattr__(self, "matchings", parts)
        object.__setattr__(self, "p", self._probabilities())
        mean = self._weighed(self.p)
        square = mean @ mean + 2 * self._weighed(self.p * (1 - self.p))
        steady = np.eye(self.m) - 1.0 / self.m

        def squared(alpha: float) -> float:
            return float(np.linalg.eigvalsh(steady - 2 * alpha * mean + alpha**2 * square)[-1])

        ends = (0, 2 / float(np.linalg.eigvalsh(mean)[-1]))
        found = minimize_scalar(squared, bounds=ends, method="bounded", options={"xatol": 1e-12})
        object.__setattr__(self, "alpha", float(found.x))
        object.__setattr__(self, "lam_squared", float(found.fun))

    @property
    def m(self) -> int:
        return len(self.graph)

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        on = rng.random(len(self.p)) < self.p
        L = sum((self._laplacian(int(k)) for k in np.flatnonzero(on)), sp.csr_array((self.m, self.m)))
        return settle(sp.csr_array(sp.eye_array(self.m) - self.alpha * L), None)

    def contraction_squared(self) -> float:
        """lambda^2, the least that an alpha gives."""
        return self.lam_squared

    def _laplacian(self, k: int) -> sp.csr_array:
        i, j = self.matchings[k].T
        pairs = np.ones(len(i))
        links = sp.coo_array((np.r_[pairs, pairs], (np.r_[i, j], np.r_[j, i])), shape=(self.m, self.m))
        return sp.csr_array(sp.diags_array(links.sum(axis=1)) - links)

    def _weighed(self, weight: np.ndarray) -> np.ndarray:
        """sum_j weight_j L_j."""
        return np.sum([w * self._laplacian(k).toarray() for k, w in enumerate(weight)], axis=0)

    def _probabilities(self) -> np.ndarray:
        count, m = len(self.matchings), self.m
        if self.budget == 1:
            return np.ones(count)
        cp = convex_solver("computing MATCHA's probabilities")
        p, connectivity = cp.Variable(count), cp.Variable()
        mean = sum(p[k] * self._laplacian(k).toarray() for k in range(count))
        lifted = mean + 2.0 * count / m  # the constant vector's eigenvalue 0 to 2 M, above all others
        held = [lifted >> connectivity * np.eye(m), p >= 0, p <= 1, cp.sum(p) <= self.budget * count]
        problem = cp.Problem(cp.Maximize(connectivity), held)
        problem.solve(solver=cp.CLARABEL)
        if p.value is None:
            raise DFLTheoryError(f"the solver found no probabilities: {problem.status}")
        return np.clip(p.value, 0.0, 1.0)


__all__ = ["Matcha"]
