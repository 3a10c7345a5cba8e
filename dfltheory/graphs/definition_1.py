"""Checks of networks: Definition 1 of the gossip matrix, and push-sum's assumptions.

Each law is checked separately. A failure reports the round, row or entry at which the
law is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from dfltheory.errors import GraphError
from dfltheory.graphs.assumptions import (
    DEFINITION_1,
    PUSH_SUM,
    Failure,
    Report,
    select,
)
from dfltheory.graphs.connectivity import union, unreached, window
from dfltheory.graphs.graph_types import Graph
from dfltheory.graphs.matrices import (
    Matrix,
    adjacency,
    is_graph,
    is_unweighted_graph,
    support,
)
from dfltheory.graphs.matrix_laws import CheckedMatrix, broken_laws
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import (
    MixingSequence,
    Rounds,
    rounds_of,
    standing,
)
from dfltheory.graphs.user_laws import LawSelection, NetworkLaw, law
from dfltheory.graphs.weights import default_weights

DRAWS = 20
"""Number of matrices of a sequence without a period that are checked."""


def check_mixing_matrix(
    W: object,
    graph: Graph | None = None,
    *,
    laws: LawSelection = None,
    tol: float | None = None,
) -> Report:
    """Check a mixing matrix against Definition 1, or against chosen laws.

    Parameters
    ----------
    W : matrix, networkx graph or sequence
        A dense, sparse or torch matrix; a graph, with edge weights or without (then its
        default weights are checked); or a sequence. Of a periodic sequence every matrix
        of a period is checked, of others the first :data:`DRAWS` matrices.
    graph : networkx.Graph, optional
        The network that W may use. By default the links are those of W.
    laws : str, law, or iterable of both, optional
        Names of :data:`DEFINITION_1`, or a network assumption such as "doubly
        stochastic"; by default all. Laws made by :func:`dfltheory.testing.law` and
        functions of W are accepted, too.
    tol : float, optional
        Absolute tolerance. By default the rounding error of a row sum in the type of W.

    Returns
    -------
    Report
        The broken laws. If the matrix has the wrong shape or entries that are not
        finite, other laws are not checked.

    Raises
    ------
    GraphError
        If a graph without weights is not connected, or ``graph`` has another number of
        clients than W.
    UnknownNameError
        If there is no law of this name.

    Examples
    --------
    >>> print(check_mixing_matrix([[0.5, 0.5], [0.5, 0.6667]]))
    mixing matrix (m = 2): 2 laws broken ...
      row sums: row 1 sums to 1.1667, not 1 (tolerance 1e-10)
    """
    chosen, user_laws = split_laws(laws)
    names = select(chosen, DEFINITION_1)
    if isinstance(W, MixingSequence):
        return _report_of_sequence(W, graph, names, user_laws, tol)
    listed = _names_of_all(names, user_laws)
    weighted = W
    if is_unweighted_graph(W):
        weighted = default_weights(W)  # raises GraphError if it is not connected
    try:
        matrix = CheckedMatrix(weighted, tol)
    except GraphError as error:
        return Report("mixing matrix", listed, (_shape_failure(error),))
    report = _report(matrix, graph, names)
    further = _failures_of_user(user_laws, [matrix.W], tuple(matrix.broken))
    return replace(report, laws=listed, failures=(*report.failures, *further))


def _names_of_all(
    names: tuple[str, ...], user_laws: tuple[NetworkLaw, ...]
) -> tuple[str, ...]:
    """Return the names of all checked laws, with those of user-defined laws last."""
    return names + tuple(law.name for law in user_laws)


def _report_of_sequence(
    sequence: MixingSequence,
    graph: Graph | None,
    names: tuple[str, ...],
    user_laws: tuple[NetworkLaw, ...],
    tol: float | None,
) -> Report:
    """Return the first failure of each law over a period or the first rounds."""
    rounds = rounds_of(sequence, DRAWS)

    def failures_of_round(matrix: Matrix) -> tuple[Failure, ...]:
        return _report(CheckedMatrix(matrix, tol, rounds.eps), graph, names).failures

    failures = _first_failures(rounds, failures_of_round)
    further = _failures_of_user(user_laws, rounds.matrices, tuple(failures))
    details: dict[str, object] = {
        "rounds looked at": len(rounds.matrices),
        "standing": standing(rounds),
    }
    return Report(
        f"mixing sequence (m = {sequence.m})",
        _names_of_all(names, user_laws),
        (*failures.values(), *further),
        details,
    )


def split_laws(
    laws: LawSelection,
) -> tuple[str | list[str] | None, tuple[NetworkLaw, ...]]:
    """Separate the names of laws from user-defined laws.

    Parameters
    ----------
    laws : str, callable, iterable of str or callable, or None
        Plain functions are converted to laws of a matrix.

    Returns
    -------
    names : str, list of str or None
        Unchanged if there are no user-defined laws.
    user_laws : tuple of NetworkLaw
        The user-defined laws.
    """
    if laws is None or isinstance(laws, str):
        return laws, ()
    entries = (laws,) if callable(laws) else laws
    names: list[str] = []
    user_laws: list[NetworkLaw] = []
    for entry in entries:
        if isinstance(entry, NetworkLaw):
            user_laws.append(entry)
        elif callable(entry):
            user_laws.append(law(entry))
        else:
            names.append(entry)
    return names, tuple(user_laws)


def check_push_sum(
    P: object,
    *,
    rounds: int = 100,
    seed: int = 0,
    laws: Iterable[str] | None = None,
    tol: float | None = None,
) -> Report:
    """Check a matrix or a sequence against the assumptions of push-sum.

    These are Assumption 1 and the conditions on the weights. Each round of a period is
    checked, or ``rounds`` rounds if there is no period.

    Parameters
    ----------
    P : object
        Anything that ``as_sequence`` accepts.
    rounds : int
        Number of rounds to check if the sequence has no period.
    seed : int
        Seed of the draws of a random sequence.
    laws : str or iterable of str, optional
        Names of :data:`PUSH_SUM`; by default all.
    tol : float, optional
        Absolute tolerance; by default as in :func:`check_mixing_matrix`.

    Returns
    -------
    Report
        The broken laws. ``details["window"]`` is the smallest B such that the union of
        any B consecutive rounds is strongly connected. ``details["standing"]`` states
        whether the result is proved for all rounds or was seen in a sample.
    """
    names = select(laws, PUSH_SUM)
    try:
        sequence = as_sequence(P)
    except GraphError as error:
        if is_graph(P):
            raise
        failure = _shape_failure(error)
        return Report("push-sum", names, (failure,), assumption="column-stochastic")
    drawn = rounds_of(sequence, rounds, seed)

    def failures_of_round(matrix: Matrix) -> Iterator[Failure]:
        return broken_laws(CheckedMatrix(matrix, tol, drawn.eps), names)

    failures = _first_failures(drawn, failures_of_round)
    details: dict[str, object] = {}
    if "connectivity" in names and "finite" not in failures:
        B, _ = window(drawn.matrices, periodic=drawn.exact)
        details["window"] = B
        if B is None:
            failures["connectivity"] = _connectivity_failure(drawn)
    if not drawn.exact:
        details["rounds looked at"] = len(drawn.matrices)
    details["standing"] = standing(drawn)
    kind = "matrix" if getattr(sequence, "period", None) == 1 else "sequence"
    return Report(
        f"push-sum {kind} (m = {sequence.m})",
        names,
        tuple(failures.values()),
        details,
        "column-stochastic",
    )


def _connectivity_failure(rounds: Rounds) -> Failure:
    """Return the failure of rounds whose union is not strongly connected."""
    links = union([support(P) for P in rounds.matrices])
    sender, receiver = unreached(links)
    when = "ever" if rounds.exact else f"in the {len(rounds.matrices)} rounds checked"
    message = (
        f"nothing that node {sender} sends {when} reaches node {receiver}: no window of"
        " rounds is strongly connected"
    )
    place = f"from node {sender} to node {receiver}"
    return Failure("connectivity", place, float(links.nnz), 0.0, message)


def check_rounds(rounds: Rounds, laws: Iterable[str] | None = None) -> list[Report]:
    """Check the matrix of each round against laws of Definition 1.

    Parameters
    ----------
    rounds : Rounds
        The matrices, with the rounding unit of their type.
    laws : str or iterable of str, optional
        Names of :data:`DEFINITION_1`; by default all.

    Returns
    -------
    list of Report
        One report for each matrix.
    """
    names = select(laws, DEFINITION_1)
    matrices = [CheckedMatrix(W, None, rounds.eps) for W in rounds.matrices]
    return [_report(matrix, None, names) for matrix in matrices]


def _report(
    matrix: CheckedMatrix, graph: Graph | None, names: tuple[str, ...]
) -> Report:
    """Check one matrix; ``graph`` is the network that it may use, if given."""
    if graph is not None:
        nodes = graph.number_of_nodes()
        if nodes != matrix.m:
            raise GraphError(
                f"W is {matrix.m} x {matrix.m}, but the graph has {nodes} nodes: the"
                " numbers must be equal"
            )
        matrix.allowed = adjacency(graph)
    failures = tuple(broken_laws(matrix, names, graph))
    return Report(f"mixing matrix (m = {matrix.m})", names, failures)


def _first_failures(
    rounds: Rounds, failures_of_round: Callable[[Matrix], Iterable[Failure]]
) -> dict[str, Failure]:
    """Return the first failure of each law; its place names the round."""
    first: dict[str, Failure] = {}
    for t, W in enumerate(rounds.matrices):
        prefix = f"round {t}: " if len(rounds.matrices) > 1 else ""
        for failure in failures_of_round(W):
            if failure.law not in first:
                first[failure.law] = replace(
                    failure,
                    place=prefix + failure.place,
                    message=prefix + failure.message,
                )
    return first


def _failures_of_user(
    laws: Iterable[NetworkLaw], matrices: list[Matrix], broken: tuple[str, ...]
) -> list[Failure]:
    """Return the failures of user-defined laws; none if an entry is not finite."""
    if "finite" in broken:
        return []
    failures = [law.failure_of(matrices) for law in laws]
    return [failure for failure in failures if failure is not None]


def _shape_failure(error: GraphError) -> Failure:
    """Return the failure of the law "shape" for an error raised by reading a matrix."""
    return Failure("shape", "the whole matrix", float("nan"), 0.0, str(error))
