"""Does this matrix satisfy what the theorems assume? A report with a witness for every law that fails."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dfltheory.errors import GraphError
from dfltheory.graphs.matrices import adjacency, nodes_in_order, read_matrix, support, tolerance

GOSSIP_THEOREMS = (
    "dfedsam.theorem_4_5",
    "dfedsam.corollary_4_6",
    "dfedsam.corollary_4_8",
    "dfedadmm.theorem_1",
    "dfedadmm.corollary_1",
    "dfedmdc.theorem_1",
    "dfedmdc.theorem_2",
)
"""Theorems that assume Definition 1."""

PUSH_SUM_THEOREMS = ("dfedsgpsm.theorem_1", "dfedsgpsm.corollary_1")
"""Theorems that assume a column-stochastic sequence, strongly connected over windows."""

DEFINITION_1 = {
    "finite": "every weight is a finite number",
    "range": "(i) 0 <= w_ij <= 1",
    "graph": "(i) w_ij = 0 where there is no link",
    "links": "(i) w_ij > 0 on every link",
    "self-weights": "(i) w_ii > 0",
    "symmetry": "(ii) W = W'",
    "row sums": "(iii) W 1 = 1",
    "column sums": "(iii) 1' W = 1'",
    "null space": "(iii) null(I - W) = span(1): connected",
    "spectrum": "(iv) I >= W > -I: no eigenvalue at -1 (not periodic) and none beyond 1",
}
"""The laws of Definition 1 (gossip matrix), by the names that failures carry."""

DOUBLY_STOCHASTIC = ("finite", "range", "row sums", "column sums")
"""The laws of plain double stochasticity."""


@dataclass(frozen=True)
class Failure:
    """One law that fails: where, what stands there, how far it might be off by rounding, and in words."""

    law: str
    place: str
    value: float
    tolerance: float
    message: str
    takes_away: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Report:
    """The outcome of a check: ``ok``, the ``laws`` that were looked at and the ``failures`` among them."""

    subject: str
    laws: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    @property
    def takes_away(self) -> tuple[str, ...]:
        """The theorems (keys of the registry) whose assumptions fail."""
        return tuple(dict.fromkeys(key for f in self.failures for key in f.takes_away))

    def raise_if_failed(self) -> None:
        """Raise :class:`GraphError` with the first failure."""
        if self.failures:
            raise GraphError(self.failures[0].message)

    def __str__(self) -> str:
        about = "".join(f", {k} = {v}" for k, v in self.details.items())
        if self.ok:
            return f"{self.subject}: ok ({', '.join(self.laws)}{about})"
        lines = [f"{self.subject}: {len(self.failures)} law{'s' * (len(self.failures) > 1)} broken{about}"]
        lines += [f"  {f.law}: {f.message}" for f in self.failures]
        if self.takes_away:
            lines.append(f"  takes away: {', '.join(self.takes_away)}")
        return "\n".join(lines)


def check_mixing_matrix(
    W: Any, graph: nx.Graph | None = None, *, laws: Iterable[str] | None = None, tol: float | None = None
) -> Report:
    """Check W against Definition 1 of the gossip matrix, law by law, each failure with its worst place.

    Parameters
    ----------
    W : dense, sparse or torch matrix; a networkx graph with edge weights (or without: its default weights
        are checked); or a sequence, whose every matrix of a period is checked (a random one: by draws)
    graph : the network that W may use; without it the links are those that W itself has
    laws : names of :data:`DEFINITION_1`, by default all; ``laws="doubly stochastic"`` for that alone
    tol : absolute tolerance instead of the default, rounding of the input's type over a row's length

    A matrix with the wrong shape or type raises :class:`GraphError`: there is nothing to check.

    >>> print(check_mixing_matrix([[0.5, 0.5], [0.5, 0.6667]]))
    mixing matrix (m = 2): 2 laws broken ...
      row sums: row 1 sums to 1.1667, not 1 (tolerance 1e-10)
    """
    names = _select(laws)
    if hasattr(W, "matrix") and hasattr(W, "random"):
        return _check_sequence(W, graph, names, tol)
    M = _Subject(W, tol)
    subject = f"mixing matrix (m = {M.m})"
    failures: list[Failure] = []
    for law in names:
        if failures and failures[0].law == "finite":
            break  # nothing else has a meaning
        check = _CHECKS[law]
        found = check(M, graph) if law in ("graph", "links") else check(M)
        if found is not None:
            failures.append(found)
            M.broken.add(law)
    return Report(subject, names, tuple(failures))


class _Subject:
    """A matrix under check, with its tolerances: per entry, per row and per column."""

    def __init__(self, W: Any, tol: float | None):
        if isinstance(W, nx.Graph) and not nx.is_weighted(W):
            from dfltheory.graphs.weights import default_weights

            W = default_weights(W)
        self.W, eps = read_matrix(W)
        self.m = self.W.shape[0]
        self.broken: set[str] = set()
        self.coo = sp.coo_array(self.W)
        i, j = self.coo.coords
        self.entry_tol = float(tolerance(eps, 1)) if tol is None else tol
        count = lambda index: np.bincount(index, minlength=self.m)  # noqa: E731
        self.sum_tol = [tolerance(eps, count(k)) if tol is None else np.full(self.m, tol) for k in (i, j)]

    def at(self, i: int, j: int) -> float:
        return float(self.W[i, j])  # type: ignore[index]


def _fail(law: str, place: str, value: float, tol: float, message: str) -> Failure:
    return Failure(law, place, float(value), float(tol), message, GOSSIP_THEOREMS)


def _finite(M: _Subject) -> Failure | None:
    bad = np.flatnonzero(~np.isfinite(M.coo.data))
    if not len(bad):
        return None
    i, j = (int(c[bad[0]]) for c in M.coo.coords)
    more = f" (and {len(bad) - 1} more entries)" if len(bad) > 1 else ""
    value = float(M.coo.data[bad[0]])
    return _fail(
        "finite", f"({i}, {j})", value, 0.0, f"entry ({i}, {j}) is {value}, not a finite number{more}"
    )


def _range(M: _Subject) -> Failure | None:
    over = np.maximum(-M.coo.data, M.coo.data - 1.0)
    if not len(over) or over.max() <= M.entry_tol:
        return None
    k = int(np.argmax(over))
    i, j = (int(c[k]) for c in M.coo.coords)
    value = float(M.coo.data[k])
    what = "negative" if value < 0 else "above 1"
    return _fail(
        "range",
        f"({i}, {j})",
        value,
        M.entry_tol,
        f"entry ({i}, {j}) is {value:.6g}, {what}: weights lie in [0, 1]",
    )


def _graph(M: _Subject, graph: nx.Graph | None) -> Failure | None:
    if graph is None:
        return None
    _same_size(M, graph)
    i, j = M.coo.coords
    heavy = (np.abs(M.coo.data) > M.entry_tol) & (i != j)
    used = sp.csr_array(sp.coo_array((np.abs(M.coo.data[heavy]), (i[heavy], j[heavy])), shape=(M.m, M.m)))
    A = adjacency(graph)
    outside = sp.coo_array(used - used.multiply(A))
    outside.eliminate_zeros()
    if not outside.nnz:
        return None
    a, b = (int(c[0]) for c in outside.coords)
    names = nodes_in_order(graph)
    value = M.at(a, b)
    return _fail(
        "graph",
        f"({a}, {b})",
        value,
        M.entry_tol,
        f"entry ({a}, {b}) is {value:.6g}, but the graph has no link from {names[b]} to {names[a]}",
    )


def _links(M: _Subject, graph: nx.Graph | None) -> Failure | None:
    if graph is None:
        return None
    A = sp.coo_array(adjacency(graph))
    i, j = A.coords
    weights = np.asarray(sp.csr_array(M.W)[i, j]).ravel() if len(i) else np.empty(0)
    missing = np.flatnonzero(weights == 0)
    if not len(missing):
        return None
    a, b = int(i[missing[0]]), int(j[missing[0]])
    names = nodes_in_order(graph)
    return _fail(
        "links",
        f"({a}, {b})",
        0.0,
        0.0,
        f"entry ({a}, {b}) is 0, but the graph has a link from {names[b]} to {names[a]}: "
        "its weight must be above 0",
    )


def _self_weights(M: _Subject) -> Failure | None:
    diagonal = M.W.diagonal()
    bad = np.flatnonzero(~(diagonal > 0))
    if not len(bad):
        return None
    i = int(bad[np.argmin(diagonal[bad])])
    value = float(diagonal[i])
    return _fail(
        "self-weights",
        f"({i}, {i})",
        value,
        0.0,
        f"entry ({i}, {i}) is {value:.6g}: the diagonal must be > 0",
    )


def _symmetry(M: _Subject) -> Failure | None:
    D = abs(sp.csr_array(M.W) - sp.csr_array(M.W).T) if sp.issparse(M.W) else abs(M.W - M.W.T)
    if float(D.max()) <= M.entry_tol:
        return None
    i, j = divmod(int(D.argmax()), M.m)
    i, j = min(i, j), max(i, j)
    a, b = M.at(i, j), M.at(j, i)
    return _fail(
        "symmetry",
        f"({i}, {j})",
        a - b,
        M.entry_tol,
        f"entry ({i}, {j}) is {a:.6g} but ({j}, {i}) is {b:.6g}",
    )


def _sums(M: _Subject, axis: int) -> Failure | None:
    line = ("column", "row")[axis]
    sums = np.asarray(M.W.sum(axis=axis)).ravel()
    tol = M.sum_tol[1 - axis]
    off = np.abs(sums - 1.0)
    k = int(np.argmax(off - tol))
    if off[k] <= tol[k]:
        return None
    value, bound = float(sums[k]), float(tol[k])
    shown = f"{value:.5g}" if abs(value - 1) > 1e-3 else f"{value:.12g}"
    return _fail(
        f"{line} sums",
        f"{line} {k}",
        value,
        bound,
        f"{line} {k} sums to {shown}, not 1 (tolerance {bound:.1g})",
    )


def _null_space(M: _Subject) -> Failure | None:
    """For non-negative weights the multiplicity of eigenvalue 1 is the number of closed classes: exact."""
    parts, label = connected_components(support(M.W), directed=True, connection="weak")
    if parts == 1:
        return None
    sizes = np.bincount(label)
    other = int(np.argmax(label != label[0]))
    return _fail(
        "null space",
        f"nodes 0 and {other}",
        parts,
        0.0,
        f"disconnected: no path of weights joins node 0 to node {other} ({parts} components, the smallest of "
        f"{sizes.min()} node{'s' if sizes.min() > 1 else ''})",
    )


def _spectrum(M: _Subject) -> Failure | None:
    """Non-negative weights have the eigenvalue -1 exactly where a component is bipartite with w_ii = 0."""
    if (M.coo.data < -M.entry_tol).any():
        # a wrong row sum moves the spectrum by itself, and has been told already
        return None if "row sums" in M.broken else _spectrum_by_numbers(M)
    S = support(M.W)
    parts, label = connected_components(S, directed=True, connection="weak")
    lazy = np.zeros(parts, dtype=bool)
    np.logical_or.at(lazy, label, M.W.diagonal() > 0)
    for part in np.flatnonzero(~lazy):
        nodes = np.flatnonzero(label == part)
        if len(nodes) > 1 and _bipartite(sp.csr_array(S[nodes][:, nodes])):
            return _fail(
                "spectrum",
                f"the component of node {int(nodes[0])}",
                -1.0,
                0.0,
                f"eigenvalue -1 (periodic): the {len(nodes)} nodes around node {int(nodes[0])} split in two "
                "halves that only hear each other: give some w_ii > 0",
            )
    return None


def _bipartite(S: sp.csr_array) -> bool:
    _, parent = breadth_first_order(S, 0, directed=False)
    order = breadth_first_order(S, 0, directed=False, return_predecessors=False)
    side = np.zeros(S.shape[0], dtype=bool)
    for node in order[1:]:
        side[node] = not side[parent[node]]
    i, j = S.nonzero()
    return bool((side[i] != side[j]).all())


def _spectrum_by_numbers(M: _Subject) -> Failure | None:
    from dfltheory.graphs.spectral import extreme_eigenvalues

    low, high, error = extreme_eigenvalues(M.W)
    tol = max(M.entry_tol, error)
    if low <= -1.0 + tol:
        what = "periodic" if low >= -1.0 - tol else "below -1: the iteration W^t diverges"
        return _fail(
            "spectrum",
            "the least eigenvalue",
            low,
            tol,
            f"eigenvalue {low:.6g} ({what}): it must be above -1",
        )
    if high > 1.0 + tol:
        return _fail(
            "spectrum", "the largest eigenvalue", high, tol, f"eigenvalue {high:.6g} is above 1: W^t diverges"
        )
    return None


_CHECKS: dict[str, Any] = {
    "finite": _finite,
    "range": _range,
    "graph": _graph,
    "links": _links,
    "self-weights": _self_weights,
    "symmetry": _symmetry,
    "row sums": lambda M: _sums(M, axis=1),
    "column sums": lambda M: _sums(M, axis=0),
    "null space": _null_space,
    "spectrum": _spectrum,
}


def _select(laws: Iterable[str] | str | None) -> tuple[str, ...]:
    from dfltheory.errors import UnknownNameError

    if laws is None:
        return tuple(DEFINITION_1)
    if laws == "doubly stochastic":
        return DOUBLY_STOCHASTIC
    names = (laws,) if isinstance(laws, str) else tuple(laws)
    for name in names:
        if name not in DEFINITION_1:
            raise UnknownNameError("law", name, {*DEFINITION_1, "doubly stochastic"})
    return tuple(law for law in DEFINITION_1 if law in names)


def _same_size(M: _Subject, graph: nx.Graph) -> None:
    if graph.number_of_nodes() != M.m:
        raise GraphError(f"the matrix is {M.m} x {M.m}, but the graph has {graph.number_of_nodes()} nodes")


DRAWS = 20
"""How many matrices of a random sequence a check looks at."""


def _check_sequence(
    sequence: Any, graph: nx.Graph | None, names: tuple[str, ...], tol: float | None
) -> Report:
    rounds = DRAWS if sequence.random else getattr(sequence, "period", None) or DRAWS
    rng = np.random.default_rng(0)
    failures: list[Failure] = []
    seen: set[str] = set()
    for t in range(rounds):
        report = check_mixing_matrix(sequence.matrix(t, rng), graph, laws=names, tol=tol)
        for f in report.failures:
            if f.law not in seen:
                seen.add(f.law)
                where = f"round {t}, {f.place}"
                failures.append(
                    Failure(f.law, where, f.value, f.tolerance, f"round {t}: {f.message}", f.takes_away)
                )
    return Report(f"mixing sequence (m = {sequence.m})", names, tuple(failures), {"rounds looked at": rounds})


__all__ = [
    "DEFINITION_1",
    "DOUBLY_STOCHASTIC",
    "GOSSIP_THEOREMS",
    "PUSH_SUM_THEOREMS",
    "Failure",
    "Report",
    "check_mixing_matrix",
]
