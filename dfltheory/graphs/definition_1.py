"""Definition 1 of the gossip matrix, and what push-sum assumes: law by law, the worst place as witness."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import GraphError
from dfltheory.graphs.assumptions import DEFINITION_1, PUSH_SUM, Failure, Report, select
from dfltheory.graphs.connectivity import components, union, unreached, window
from dfltheory.graphs.eigen import extreme_eigenvalues
from dfltheory.graphs.matrices import adjacency, line_sums, nodes_in_order, read_matrix, support, tolerance
from dfltheory.graphs.sequences import Rounds, as_sequence, rounds_of, standing
from dfltheory.graphs.weights import default_weights

DRAWS = 20
"""How many matrices of a random sequence a check looks at."""


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

    Notes
    -----
    After a failure of ``shape`` or ``finite`` nothing else is looked at: it would have no meaning.

    Examples
    --------
    >>> print(check_mixing_matrix([[0.5, 0.5], [0.5, 0.6667]]))
    mixing matrix (m = 2): 2 laws broken ...
      row sums: row 1 sums to 1.1667, not 1 (tolerance 1e-10)
    """
    names = select(laws, DEFINITION_1)
    if hasattr(W, "matrix") and hasattr(W, "random"):
        drawn = rounds_of(W, DRAWS)
        broken = first_broken(drawn, lambda W: _judge(Subject(W, tol, drawn.eps), graph, names).failures)
        about = {"rounds looked at": len(drawn.matrices), "standing": standing(drawn)}
        return Report(f"mixing sequence (m = {W.m})", names, tuple(broken.values()), about)
    if isinstance(W, nx.Graph) and not nx.is_weighted(W):
        W = default_weights(W)  # raises where the graph is not connected
    try:
        M = Subject(W, tol)
    except GraphError as error:
        return Report("mixing matrix", names, (misshapen(error),))
    return _judge(M, graph, names)


def check_push_sum(
    P: Any,
    *,
    rounds: int = 100,
    seed: int = 0,
    laws: Iterable[str] | None = None,
    tol: float | None = None,
) -> Report:
    """Check a matrix or a sequence against what push-sum assumes (Assumption 1 and the weights' form).

    Column stochasticity and self-weights are checked in every round of a period (or in ``rounds`` rounds,
    drawn from ``seed``, where there is none); for B-bounded strong connectivity the smallest window B is
    found and stands in ``report.details["window"]``; ``details["standing"]`` says whether
    the outcome is proved for all rounds or seen in a sample. Anything that ``as_sequence`` takes is accepted.
    """
    names = select(laws, PUSH_SUM)
    try:
        sequence = as_sequence(P)
    except GraphError as error:
        if isinstance(P, nx.Graph):
            raise
        return Report("push-sum", names, (misshapen(error),), assumption="column-stochastic")
    drawn = rounds_of(sequence, rounds, seed)
    matrices = drawn.matrices
    broken = first_broken(drawn, lambda W: failures(Subject(W, tol, drawn.eps), names))
    details: dict[str, Any] = {}
    if "connectivity" in names and "finite" not in broken:
        B, _ = window(matrices, periodic=drawn.exact)
        details["window"] = B
        if B is None:
            pair = unreached(links := union([support(P) for P in matrices]))
            when = "ever" if drawn.exact else f"in the {len(matrices)} rounds looked at"
            told = f"nothing that node {pair[0]} sends {when} reaches node {pair[1]}: no window of rounds is "
            place = f"from node {pair[0]} to node {pair[1]}"
            broken["connectivity"] = Failure(
                "connectivity", place, float(links.nnz), 0.0, f"{told}strongly connected"
            )
    if not drawn.exact:
        details["rounds looked at"] = len(matrices)
    details["standing"] = standing(drawn)
    kind = "matrix" if getattr(sequence, "period", None) == 1 else "sequence"
    subject = f"push-sum {kind} (m = {sequence.m})"
    return Report(subject, names, tuple(broken.values()), details, "column-stochastic")


def check_rounds(drawn: Rounds, laws: Iterable[str] | None = None) -> list[Report]:
    """The check of every matrix of some rounds, to the rounding that the sequence tells."""
    names = select(laws, DEFINITION_1)
    return [_judge(Subject(W, None, drawn.eps), None, names) for W in drawn.matrices]


def _judge(M: Subject, graph: nx.Graph | None, names: tuple[str, ...]) -> Report:
    if graph is not None and graph.number_of_nodes() != M.m:
        raise GraphError(f"the matrix is {M.m} x {M.m}, but the graph has {graph.number_of_nodes()} nodes")
    M.allowed = None if graph is None else adjacency(graph)
    return Report(f"mixing matrix (m = {M.m})", names, tuple(failures(M, names, graph)))


def failures(M: Subject, names: Iterable[str], graph: nx.Graph | None = None) -> Iterator[Failure]:
    """The laws among ``names`` that one matrix breaks; after one that is not finite there is no other."""
    for law in names:
        found = _CHECKS[law](M, graph) if law in _CHECKS else None
        if found is not None:
            M.broken.add(law)
            place, value, tol, message = found
            yield Failure(law, place, float(value), float(tol), message)
            if law == "finite":
                return


def misshapen(error: GraphError) -> Failure:
    """The failure of the law ``shape`` that reading the matrix has raised."""
    return Failure("shape", "the whole matrix", float("nan"), 0.0, str(error))


Found = tuple[str, float, float, str] | None
"""The worst place, the value there, its tolerance, and the failure in words."""


class Subject:
    """A matrix under check, with its tolerances: per entry, per row and per column."""

    def __init__(self, W: Any, tol: float | None, eps: float = 0.0):
        """``eps``: the rounding unit of the type that W came in, where W itself no longer tells."""
        self.W, own = read_matrix(W)
        eps = max(eps, own)
        self.m = self.W.shape[0]
        self.broken: set[str] = set()
        self.allowed: sp.csr_array | None = None  # the links of the network that W may use
        self.coo = sp.coo_array(self.W)
        i, j = self.coo.coords
        self.entry_tol = float(tolerance(eps, 1)) if tol is None else tol
        count = lambda index: np.bincount(index, minlength=self.m)  # noqa: E731
        self.sum_tol = [tolerance(eps, count(k)) if tol is None else np.full(self.m, tol) for k in (i, j)]

    @functools.cached_property
    def links(self) -> sp.csr_array:
        return support(self.W)

    @functools.cached_property
    def parts(self) -> tuple[int, np.ndarray]:
        return components(self.links)

    def at(self, i: int, j: int) -> float:
        return float(self.W[i, j])  # type: ignore[index]

    def stored(self, k: int) -> tuple[int, int, float]:
        """Place and value of the k-th entry."""
        i, j = (int(c[k]) for c in self.coo.coords)
        return i, j, float(self.coo.data[k])


def _finite(M: Subject, graph: nx.Graph | None) -> Found:
    bad = np.flatnonzero(~np.isfinite(M.coo.data))
    if not len(bad):
        return None
    i, j, value = M.stored(bad[0])
    more = f" (and {len(bad) - 1} more entries)" if len(bad) > 1 else ""
    return f"({i}, {j})", value, 0.0, f"entry ({i}, {j}) is {value}, not a finite number{more}"


def _range(M: Subject, graph: nx.Graph | None) -> Found:
    over = np.maximum(-M.coo.data, M.coo.data - 1.0)
    if not len(over) or over.max() <= M.entry_tol:
        return None
    i, j, value = M.stored(int(np.argmax(over)))
    what = "negative" if value < 0 else "above 1"
    message = f"entry ({i}, {j}) is {value:.6g}, {what}: weights lie in [0, 1]"
    return f"({i}, {j})", value, M.entry_tol, message


def _graph(M: Subject, graph: nx.Graph | None) -> Found:
    if graph is None or M.allowed is None:
        return None
    i, j = M.coo.coords
    heavy = (np.abs(M.coo.data) > M.entry_tol) & (i != j)
    used = sp.csr_array(sp.coo_array((np.abs(M.coo.data[heavy]), (i[heavy], j[heavy])), shape=(M.m, M.m)))
    outside = sp.coo_array(used - used.multiply(M.allowed))
    outside.eliminate_zeros()
    if not outside.nnz:
        return None
    a, b = (int(c[0]) for c in outside.coords)
    names, value = nodes_in_order(graph), M.at(a, b)
    message = f"entry ({a}, {b}) is {value:.6g}, but the graph has no link from {names[b]} to {names[a]}"
    return f"({a}, {b})", value, M.entry_tol, message


def _links(M: Subject, graph: nx.Graph | None) -> Found:
    if graph is None or M.allowed is None:
        return None
    i, j = sp.coo_array(M.allowed).coords
    weights = np.asarray(sp.csr_array(M.W)[i, j]).ravel() if len(i) else np.empty(0)
    missing = np.flatnonzero(weights == 0)
    if not len(missing):
        return None
    a, b = int(i[missing[0]]), int(j[missing[0]])
    names = nodes_in_order(graph)
    told = f"entry ({a}, {b}) is 0, but the graph has a link from {names[b]} to {names[a]}"
    return f"({a}, {b})", 0.0, 0.0, f"{told}: its weight must be above 0"


def _self_weights(M: Subject, graph: nx.Graph | None) -> Found:
    diagonal = M.W.diagonal()
    bad = np.flatnonzero(~(diagonal > 0))
    if not len(bad):
        return None
    i = int(bad[np.argmin(diagonal[bad])])
    message = f"entry ({i}, {i}) is {diagonal[i]:.6g}: the diagonal must be > 0"
    return f"({i}, {i})", diagonal[i], 0.0, message


def _symmetry(M: Subject, graph: nx.Graph | None) -> Found:
    D = abs(M.W - M.W.T)
    if float(D.max()) <= M.entry_tol:
        return None
    i, j = sorted(divmod(int(D.argmax()), M.m))  # type: ignore[arg-type]
    a, b = M.at(i, j), M.at(j, i)
    return f"({i}, {j})", a - b, M.entry_tol, f"entry ({i}, {j}) is {a:.6g} but ({j}, {i}) is {b:.6g}"


def _sums(M: Subject, axis: int) -> Found:
    sums, tol = line_sums(M.W, axis=axis), M.sum_tol[1 - axis]
    off = np.abs(sums - 1.0)
    k = int(np.argmax(off - tol))
    if off[k] <= tol[k]:
        return None
    value, line = float(sums[k]), f"{('column', 'row')[axis]} {k}"
    shown = f"{value:.5g}" if abs(value - 1) > 1e-3 else f"{value:.12g}"
    return line, value, tol[k], f"{line} sums to {shown}, not 1 (tolerance {tol[k]:.1g})"


def _null_space(M: Subject, graph: nx.Graph | None) -> Found:
    """For non-negative weights the multiplicity of eigenvalue 1 is the number of closed classes: exact."""
    parts, label = M.parts
    if parts == 1:
        return None
    least, other = int(np.bincount(label).min()), int(np.argmax(label != label[0]))
    told = f"disconnected: no path of weights joins node 0 to node {other} ({parts} components, the smallest"
    return f"nodes 0 and {other}", parts, 0.0, f"{told} of {least} node{'s' * (least > 1)})"


def _spectrum(M: Subject, graph: nx.Graph | None) -> Found:
    """Non-negative weights have the eigenvalue -1 exactly where a component is bipartite with w_ii = 0."""
    if (M.coo.data < -M.entry_tol).any():
        # a wrong row sum moves the spectrum by itself, and has been told already
        if "row sums" in M.broken:
            return None
        low, high, error = extreme_eigenvalues(M.W)
        tol = max(M.entry_tol, error)
        if low <= -1.0 + tol:
            what = "periodic" if low >= -1.0 - tol else "below -1: the iteration W^t diverges"
            return "the least eigenvalue", low, tol, f"eigenvalue {low:.6g} ({what}): it must be above -1"
        told = f"eigenvalue {high:.6g} is above 1: W^t diverges"
        return ("the largest eigenvalue", high, tol, told) if high > 1.0 + tol else None
    parts, label = M.parts
    lazy = np.zeros(parts, dtype=bool)
    np.logical_or.at(lazy, label, M.W.diagonal() > 0)
    for part in np.flatnonzero(~lazy):
        nodes = np.flatnonzero(label == part)
        if len(nodes) > 1 and nx.is_bipartite(nx.from_scipy_sparse_array(M.links[nodes][:, nodes])):
            near, halves = int(nodes[0]), "split in two halves that only hear each other: give some w_ii > 0"
            told = f"eigenvalue -1 (periodic): the {len(nodes)} nodes around node {near} {halves}"
            return f"the component of node {near}", -1.0, 0.0, told
    return None


_CHECKS: dict[str, Callable[[Subject, nx.Graph | None], Found]] = {
    "finite": _finite, "range": _range, "graph": _graph, "links": _links, "self-weights": _self_weights,
    "symmetry": _symmetry, "row sums": lambda M, _: _sums(M, axis=1),
    "column sums": lambda M, _: _sums(M, axis=0), "null space": _null_space, "spectrum": _spectrum,
}  # fmt: skip


def first_broken(drawn: Rounds, broken: Callable[[Any], Iterable[Failure]]) -> dict[str, Failure]:
    """law -> its first failure over some rounds, with the round (of more than one) in its place."""
    first: dict[str, Failure] = {}
    for t, W in enumerate(drawn.matrices):
        where = f"round {t}: " if len(drawn.matrices) > 1 else ""
        for f in broken(W):
            first.setdefault(f.law, replace(f, place=where + f.place, message=where + f.message))
    return first
