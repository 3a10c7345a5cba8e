"""Networks for candidates that satisfy the scope of a theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from dfltheory.bounds.scope import LAWS
from dfltheory.constants import FRESH_ROUND, FRESH_STEP
from dfltheory.counterexamples.candidate_matrices import (
    MATRIX_KINDS,
    Make,
    matchings,
    server,
    whole_network,
)
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.reach import hyperparameters, searched_algorithm
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs import (
    CitedConstants,
    assran_constants,
    cited_constants,
    push_sum_constants,
)
from dfltheory.verdicts.computed_values import computed_quantities, computed_values

if TYPE_CHECKING:
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.theorem import Theorem

_NAMES = ("delta", "C", "q", "window")
"""Constants of push-sum."""
DrawnNetworks = tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]
"""Matrices (P, B, m, m), their constants by name, and which of them obey the law."""
MatrixLaw = Callable[[np.ndarray], str | None]
"""Returns why a matrix violates the law; None if it satisfies it."""


@dataclass(frozen=True, eq=False)
class CandidateNetwork:
    """A kind of network.

    Attributes
    ----------
    name : str
    m : int
        Number of clients, or of groups of clients.
    draw : callable
        Returns matrices W (P, B, m, m), their constants, and which of them satisfy the
        law.
    drawn : bool
        Whether each gossip step draws one of the B matrices; otherwise they are used in
        turn.
    one_per_round : bool
        Whether one matrix is drawn for all gossip steps of a round.
    copies : int
        Number of identical clients that each of the m clients represents.
    """

    name: str
    m: int
    draw: Callable[[Reader, bool], DrawnNetworks]
    drawn: bool = False
    one_per_round: bool = False
    copies: int = 1


TURNS = ("in turn", "matchings")
"""Kinds of networks for statements about windows of rounds, by name in ``KINDS``."""
PUSHED = ("unbalanced", "random digraph")
"""Kinds of networks for push-sum."""
GROUPS = {"two groups of 4": 4, "two groups of 32": 32}
"""Sizes of groups of identical clients that each round averages. The weights are [[1 -
w, w], [w, 1 - w]] between two groups, divided evenly among their members.
"""
MATCHED = (3, 4)
"""Numbers of clients of random matchings, for statements about random networks."""


def candidate_networks(theorem: Theorem) -> list[CandidateNetwork]:
    """Return the kinds of networks to search, the simplest first.

    They satisfy the laws of the scope and of the algorithm.

    Raises
    ------
    InputError
        No matrix of the search satisfies them.
    """
    law = theorem.scope.network
    if isinstance(law, str) and law not in LAWS:
        raise InputError(
            f"falsify cannot search {theorem}: no matrices are available for the law"
            f" {law!r}"
        )
    if law == "none":
        return [_draw("server", 2, server, None)]
    pushes = searched_algorithm(theorem).mixing == "column-stochastic"
    law_function = None if isinstance(law, str) else law
    if law_function is None:
        draws = [
            _draw(name, *MATRIX_KINDS[name], None) for name in _kinds(theorem, pushes)
        ]
        if groups_matter(theorem):
            pair = draws[0]
            for name, size in GROUPS.items():
                draws.append(replace(pair, name=name, copies=size))
    else:
        names = [name for name in MATRIX_KINDS if name not in TURNS]
        if not pushes:
            names = [name for name in names if name not in PUSHED]
        draws = [
            _draw(name, *MATRIX_KINDS[name], law_function)
            for name in names
            if _fits(name, law_function)
        ]
    for kind in _drawn_kinds(theorem):
        draws += [_matched(m, kind) for m in MATCHED if _all_obey(m, law_function)]
    if not draws:
        name = getattr(law_function, "__qualname__", "its own law")
        raise InputError(
            f"falsify cannot search {theorem}: no matrix of the search satisfies its"
            f" law {name}"
        )
    return draws


def _kinds(theorem: Theorem, pushes: bool) -> list[str]:
    """Return the kinds of networks for a predefined law; ``pair`` is the first."""
    law = theorem.scope.network
    kinds = ["pair"]
    if law == "doubly stochastic" and not theorem.scope.two_blocks:
        kinds.append("circle")
    elif law == "column-stochastic" and pushes:
        kinds += ["directed", *PUSHED]
        if "windows" in theorem.scope.sequence and "window" in theorem.needs:
            kinds += TURNS
    return [*kinds, "complete", "alone"]


def _all_obey(m: int, law: MatrixLaw | None) -> bool:
    """Return whether all matchings of m clients satisfy a law function, if any."""
    return law is None or all(law(W) is None for W in matchings(m))


def _draw(name: str, m: int, make: Make, law: MatrixLaw | None) -> CandidateNetwork:
    """Return a kind of network from the function that returns its matrices."""

    def draw(read: Reader, copies: bool) -> DrawnNetworks:
        W = make(read, copies)
        return _with_constants(W if W.ndim == 4 else W[:, None], law)

    return CandidateNetwork(name, m, draw)


def group_means_suffice(theorem: Theorem) -> bool:
    """Return whether the means of groups of identical clients determine both sides.

    They do unless a side contains second moments, consensus errors or personal parts,
    which depend on single clients.
    """
    single = "S2" in theorem.needs or theorem.lhs.measure == "consensus"
    return not (theorem.scope.two_blocks or single)


def groups_matter(theorem: Theorem) -> bool:
    """Return whether to search groups, as the statement depends on m."""
    names = set(theorem.needs)
    for rule in theorem.schedule.values():
        names |= {str(symbol) for symbol in sp.sympify(rule).free_symbols}
    lawful = theorem.scope.network in ("symmetric", "doubly stochastic")
    return lawful and group_means_suffice(theorem) and "m" in names


def _drawn_kinds(theorem: Theorem) -> list[str]:
    """Return the kinds of random draws to search.

    They are those that the theorem covers, if it depends on them only by their
    mean-square contraction. One draw per round differs from one per gossip step only if
    a round may have several gossip steps.
    """
    scope, other_constants = theorem.scope, {*_NAMES, "lam_min"} & {*theorem.needs}
    keeps = callable(scope.network) or scope.network in (
        "symmetric",
        "doubly stochastic",
    )
    of_sequence = getattr(scope.network, "of", "matrix") == "sequence"
    if not keeps or scope.two_blocks or other_constants or of_sequence:
        return []
    free, _ = hyperparameters(theorem)
    if "Q" in free:
        return [kind for kind in (FRESH_STEP, FRESH_ROUND) if kind in scope.sequence]
    return [FRESH_STEP] if {FRESH_STEP, FRESH_ROUND} & {*scope.sequence} else []


def _matched(m: int, kind: str) -> CandidateNetwork:
    """Return random matchings with lam^2 = ||E W'W - 11'/m||.

    One is drawn for each gossip step or for each round.
    """
    W = matchings(m)
    lam = np.sqrt(np.linalg.norm((W.swapaxes(1, 2) @ W).mean(0) - 1 / m, 2))

    def draw(read: Reader, copies: bool) -> DrawnNetworks:
        ones = np.ones(len(read.u))
        return np.repeat(W[None], len(ones), 0), {"lam": lam * ones}, ones > 0

    name = f"random matchings of {m}"
    if kind == FRESH_STEP:
        return CandidateNetwork(name, m, draw, drawn=True)
    return CandidateNetwork(
        f"{name}, one for each round", m, draw, drawn=True, one_per_round=True
    )


def _fits(name: str, law: MatrixLaw) -> bool:
    """Return whether at least one of 64 draws satisfies the law."""
    _, make = MATRIX_KINDS[name]
    read = Reader(np.random.default_rng(0).random((64, 8)))
    return any(law(W) is None for W in make(read, False))


def _with_constants(W: np.ndarray, law: MatrixLaw | None) -> DrawnNetworks:
    """Return matrices (P, B, m, m) with their constants, and which obey the law."""
    m, ones = W.shape[-1], np.ones(len(W))
    if W.shape[1] > 1:
        return W, _push_sum(W), ones > 0 if law is None else ones < 0
    turns, W = W, W[:, 0]
    lam = np.linalg.norm(W - 1 / m, 2, axis=(1, 2))
    lam = np.where(lam < 1e-15, 0.0, np.abs(1 - 2 * W[:, 0, 1]) if m == 2 else lam)
    values = {"lam": lam, "q": lam, "delta": ones, "C": ones, "window": ones}
    if (W.swapaxes(1, 2) == W).all():
        values["lam_min"] = (
            1 - 2 * W[:, 0, 1] if m == 2 else np.linalg.eigvalsh(W)[:, 0]
        )
    if np.abs(W.sum(2) - 1).max() > 1e-12:
        values |= _push_sum(turns)
    if law is None:
        return turns, values, ones > 0
    return turns, values, np.array([law(matrix) is None for matrix in W])


def computed_on(
    theorem: Theorem, W: np.ndarray, copies: int, known: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the theorem's computed quantities (P,) on each matrix of W (P, 1, m, m).

    W is the network of groups of ``copies`` identical clients. Values are upper limits
    that allow for rounding error; nan if they cannot be computed or if W has several
    matrices per candidate.
    """
    quantities = {q.name: q for q in computed_quantities(theorem)}
    columns = {name: np.full(len(W), np.nan) for name in quantities}
    if not quantities or W.shape[1] > 1:
        return columns
    for i in range(len(W)):
        candidate = {n: v[i] for n, v in known.items() if np.shape(v) == (len(W),)}
        computed, errors = computed_values(
            theorem, candidate, whole_network(W[i, 0], copies)
        )
        for name, value in computed.items():
            with suppress(InputError):  # the rounding error may exceed its range
                columns[name][i] = quantities[name].check(value + errors[name])
    return columns


def cited_on(W: np.ndarray, copies: int, dim: int) -> dict[str, np.ndarray]:
    """Return the cited C and q of push-sum on each sequence of W (P, B, m, m).

    W is the network of groups of ``copies`` identical clients. The values are infinite
    if no window of rounds is strongly connected.
    """
    C, q = np.full(len(W), math.inf), np.full(len(W), math.inf)
    for i, matrices in enumerate(W):
        links = matrices != 0
        graph = _cited_graph(links.tobytes(), links.shape, copies)
        if graph is not None:
            D = max(graph.D, copies / float(matrices[links].min()))
            m = copies * links.shape[-1]
            cited = assran_constants(m, D, graph.diameter, graph.window, dim)
            C[i], q[i] = cited.C, cited.q
    return {"C": C, "q": q}


def in_range(quantity: Quantity) -> float:
    """Return an arbitrary value in the quantity's range, as a placeholder."""
    if quantity.high < math.inf:
        value = (quantity.low + quantity.high) / 2
    else:
        value = max(1.0, quantity.low + 1.0)
    is_allowed = math.isfinite(value) and (value == int(value) or not quantity.integer)
    return value if is_allowed else quantity.inner_value()


def _push_sum(W: np.ndarray) -> dict[str, np.ndarray]:
    """Return the push-sum constants of matrices W (P, B, m, m)."""
    matrices, index = np.unique(W, axis=0, return_inverse=True)
    rows = np.array([_constants(matrix.tobytes(), matrix.shape) for matrix in matrices])
    constants = dict(zip(_NAMES, rows[index.ravel()].T, strict=True))
    return constants | {"lam": constants["q"]}


@lru_cache(maxsize=4096)
def _constants(data: bytes, shape: tuple[int, ...]) -> tuple[float, ...]:
    """Return delta, C, q and window of matrices used in turn; nan if undefined."""
    W = np.frombuffer(data).reshape(shape)
    with suppress(GraphError):
        constants = push_sum_constants(list(W) if len(W) > 1 else W[0])
        return tuple(float(getattr(constants, name)) for name in _NAMES)
    return (float("nan"),) * len(_NAMES)


@lru_cache(maxsize=4096)
def _cited_graph(
    data: bytes, shape: tuple[int, ...], copies: int
) -> CitedConstants | None:
    """Return constants of graphs used in turn; None without a connected window."""
    links = np.frombuffer(data, dtype=bool).reshape(shape)
    weights = links / links.sum(1, keepdims=True)
    matrices = [whole_network(matrix, copies) for matrix in weights]
    with suppress(GraphError):
        return cited_constants(matrices if len(matrices) > 1 else matrices[0])
    return None


__all__ = [
    "CandidateNetwork",
    "DrawnNetworks",
    "group_means_suffice",
    "groups_matter",
    "candidate_networks",
]
