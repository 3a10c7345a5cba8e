"""Mixing matrices for candidates.

They are those of the package that keep the law of a theorem's scope.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dfltheory.bounds.scope import LAWS
from dfltheory.constants import FRESH_ROUND, FRESH_STEP
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.reach import algorithm_class, hyperparameters
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs import push_sum_constants
from dfltheory.verdicts.computed_values import computed_quantities, computed_values

if TYPE_CHECKING:
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.theorem import Theorem

_NAMES = ("delta", "C", "q", "window")
Drawn = tuple[np.ndarray, dict[str, np.ndarray], Any]


@dataclass(frozen=True, eq=False)
class Draw:
    """A kind of network of m clients.

    ``draw`` gives W (P, B, m, m), of which B take turns, its constants, and which of
    them fit; ``drawn``: each gossip step draws one of them, or with ``one_per_round``
    each round, for all its gossip steps. With ``copies`` each of the m clients
    represents so many identical ones.
    """

    name: str
    m: int
    draw: Callable[[Any, bool], Drawn]
    drawn: bool = False
    one_per_round: bool = False
    copies: int = 1


def _pair(read: Any, copies: bool) -> np.ndarray:
    """Return [[1 - w, w], [w, 1 - w]], whose one weight is free.

    It is 1/2 for copies, where it does not matter.
    """
    w = read.log(1e-6, 0.97)
    w = np.full_like(w, 0.5) if copies else w
    return np.stack([np.stack([1 - w, w], -1), np.stack([w, 1 - w], -1)], -2)


def _alone(read: Any, copies: bool) -> np.ndarray:
    """One client."""
    return np.ones((len(read.unit()), 1, 1))


def _circle(read: Any, copies: bool) -> np.ndarray:
    """Return a I + b S + c S' of three clients, with S the cyclic shift.

    It is doubly stochastic, and symmetric where b = c.
    """
    share, side = read.log(1e-2, 0.98), read.unit()
    shift = np.roll(np.eye(3), 1, axis=0)
    b, c = share * side, share * (1 - side)
    by = lambda a: a[:, None, None]  # noqa: E731
    return by(1 - share) * np.eye(3) + by(b) * shift + by(c) * shift.T


def _even(read: Any, copies: bool) -> np.ndarray:
    """Return a circle of four with one weight on both sides: symmetric."""
    w = read.log(1e-2, 0.49)
    ring = np.roll(np.eye(4), 1, axis=0) + np.roll(np.eye(4), -1, axis=0)
    return (1 - 2 * w)[:, None, None] * np.eye(4) + w[:, None, None] * ring


def _directed(read: Any, copies: bool) -> np.ndarray:
    """Return three clients on a directed ring with a chord.

    Weights are 1/out-degree, and W is not doubly stochastic.
    """
    P = np.array([[1 / 3, 0, 1 / 2], [1 / 3, 1 / 2, 0], [1 / 3, 1 / 2, 1 / 2]])
    return np.repeat(P[None], len(read.unit()), 0)


def _level(read: Any) -> np.ndarray:
    """Return one of few shares from 1e-3 to 0.97.

    They are few so that the constants of few matrices are computed.
    """
    return 1e-3 * 970 ** (np.round(12 * read.unit()) / 12)


def _unbalanced(read: Any, copies: bool) -> np.ndarray:
    """Return two clients that give each other different shares.

    Their push-sum weights are as b : a.
    """
    return _speaks(_level(read), 0) @ _speaks(_level(read), 1)


def _in_turn(read: Any, copies: bool) -> np.ndarray:
    """Return matrices without communication in even rounds.

    Windows of two rounds contract, but not each of the rounds.
    """
    W = _unbalanced(read, copies)
    return np.stack([np.eye(2) + 0 * W, W], 1)


def _matchings(read: Any, copies: bool) -> np.ndarray:
    """Return four clients in pairs, in odd rounds other pairs than in even ones.

    No single round connects them.
    """
    w = _level(read)[:, None, None, None]
    return (1 - w) * np.eye(4) + w * np.eye(4)[[[1, 0, 3, 2], [3, 2, 1, 0]]]


@lru_cache(maxsize=1)
def digraphs() -> np.ndarray:
    """Return strongly connected digraphs of four clients, drawn once, (B, 4, 4).

    Each is a ring, to which any other arc is added with probability 1/2; each client
    gives away shares in random ratios, from even ones to 1 : 1e-3. They are few, so
    that the constants of each are computed once.
    """
    rng, n, ring = (
        np.random.default_rng(0),
        64,
        np.roll(np.eye(4), 1, axis=0) + np.eye(4),
    )
    arcs = np.maximum(ring, rng.random((n, 4, 4)) < 0.5)
    W = arcs * 10.0 ** (-3 * rng.random((n, 1, 1)) * rng.random((n, 4, 4)))
    return W / W.sum(1, keepdims=True)


def _random_digraph(read: Any, copies: bool) -> np.ndarray:
    """One of :func:`digraphs`."""
    every = digraphs()
    return every[np.minimum((len(every) * read.unit()).astype(int), len(every) - 1)]


def matchings(m: int) -> np.ndarray:
    """Return all matrices of :class:`~dfltheory.graphs.RandomMatching`, (B, m, m).

    Each is as likely as the others.
    """
    every = np.repeat(np.eye(m)[None], math.factorial(m), 0)
    for W, order in zip(every, permutations(range(m)), strict=True):
        for pair in zip(order[: m - m % 2 : 2], order[1::2], strict=True):
            W[np.ix_(pair, pair)] = 0.5
    return np.unique(every, axis=0)


def _speaks(share: np.ndarray, who: int) -> np.ndarray:
    """Two clients, of whom one gives away a share."""
    W = np.repeat(np.eye(2)[None], len(share), 0)
    W[:, who, who], W[:, 1 - who, who] = 1 - share, share
    return W


def _complete(read: Any, copies: bool) -> np.ndarray:
    """Return sixteen clients, each with one weight for all others.

    W is lam I + (1 - lam) times the mean; for copies lam = 0.
    """
    lam = read.between(0, 1 - copies)[:, None, None]
    return lam * np.eye(16) + (1 - lam) / 16


def _everybody(read: Any, copies: bool) -> np.ndarray:
    """Return a server's mean."""
    return np.full((len(read.unit()), 1, 2, 2), 0.5)


def _always(
    make: Callable[[Any, bool], np.ndarray],
) -> Callable[[Any, bool], np.ndarray]:
    """One matrix for all rounds, (P, 1, m, m)."""
    return lambda read, copies: make(read, copies)[:, None]


KINDS: dict[str, tuple[int, Callable[[Any, bool], np.ndarray]]] = {
    "pair": (2, _always(_pair)),
    "circle": (3, _always(_circle)),
    "even circle": (4, _always(_even)),
    "directed": (3, _always(_directed)),
    "unbalanced": (2, _always(_unbalanced)),
    "random digraph": (4, _always(_random_digraph)),
    "in turn": (2, _in_turn),
    "matchings": (4, _matchings),
    "complete": (16, _always(_complete)),
    "alone": (1, _always(_alone)),
}
"""Clients, and the matrices that take turns, (P, B, m, m)."""
TURNS = ("in turn", "matchings")
"""For statements about windows of rounds alone."""
PUSHED = ("unbalanced", "random digraph")
"""For push-sum alone."""
GROUPS = {"two groups of 4": 4, "two groups of 32": 32}
"""Sizes of groups of identical clients, whose average each round takes: [[1 - w, w],
[w, 1 - w]] between two groups, and 1/size of it between their members.
"""
MATCHED = (3, 4)
"""Clients of whom each round draws a matching, for statements about random networks."""


def networks(theorem: Theorem) -> list[Draw]:
    """Return the kinds of networks to search, the simplest first.

    They keep the scope's law and the algorithm's own.

    Raises
    ------
    InputError
        No matrix of the search does.
    """
    law = theorem.scope.network
    if isinstance(law, str) and law not in LAWS:
        raise InputError(
            f"falsify cannot search {theorem}: it has no matrices of the law {law!r}"
        )
    if law == "none":
        return [
            Draw(
                "server", 2, lambda read, copies: _known(_everybody(read, copies), None)
            )
        ]
    kinds, pushes = ["pair"], algorithm_class(theorem).mixing == "column-stochastic"
    windowed = "windows" in theorem.scope.sequence and "window" in theorem.needs
    if not isinstance(law, str):
        kinds = [
            name
            for name in KINDS
            if name not in TURNS and (pushes or name not in PUSHED)
        ]
    elif law == "doubly stochastic" and not theorem.scope.two_blocks:
        kinds.append("circle")
    elif law == "column-stochastic" and pushes:
        kinds += ["directed", *PUSHED, *(TURNS if windowed else ())]
    if isinstance(law, str):
        kinds += ["complete", "alone"]
    own = None if isinstance(law, str) else law
    found = [_draw(name, own) for name in kinds if own is None or _fits(name, own)]
    if own is None and groups_matter(theorem):
        pair = _draw("pair", None)
        found += [
            replace(pair, name=name, copies=size) for name, size in GROUPS.items()
        ]
    for kind in _drawn_kinds(theorem):
        allowed = [
            m
            for m in MATCHED
            if own is None or all(own(W) is None for W in matchings(m))
        ]
        found += [_matched(m, kind) for m in allowed]
    if not found:
        name = getattr(own, "__qualname__", "its own law")
        raise InputError(
            f"falsify cannot search {theorem}: no matrix of the search obeys its law"
            f" {name}"
        )
    return found


def _draw(name: str, law: Callable[[Any], str | None] | None) -> Draw:
    m, make = KINDS[name]
    return Draw(name, m, lambda read, copies: _known(make(read, copies), law))


def group_means_suffice(theorem: Theorem) -> bool:
    """Return whether the means of groups of identical clients determine both sides.

    They do if neither second moments nor errors of single clients, nor personal parts,
    are in them.
    """
    single = "S2" in theorem.needs or theorem.lhs.measure == "consensus"
    return not (theorem.scope.two_blocks or single)


def groups_matter(theorem: Theorem) -> bool:
    """Whether groups are searched: the number of clients is in the statement."""
    scheduled = {
        str(s)
        for rule in theorem.schedule.values()
        for s in sp.sympify(rule).free_symbols
    }
    lawful = theorem.scope.network in ("symmetric", "doubly stochastic")
    return (
        lawful and group_means_suffice(theorem) and "m" in {*theorem.needs, *scheduled}
    )


def _drawn_kinds(theorem: Theorem) -> list[str]:
    """Return the kinds of draws to search.

    These are the ones that the theorem covers, by their mean-square contraction alone.
    One draw for each round differs from one for each gossip step if a round may have
    several.
    """
    scope, asked = theorem.scope, {*_NAMES, "lam_min"} & {*theorem.needs}
    keeps = callable(scope.network) or scope.network in (
        "symmetric",
        "doubly stochastic",
    )
    of_sequence = getattr(scope.network, "of", "matrix") == "sequence"
    if not keeps or scope.two_blocks or asked or of_sequence:
        return []
    free, _ = hyperparameters(theorem)
    if "Q" in free:
        return [kind for kind in (FRESH_STEP, FRESH_ROUND) if kind in scope.sequence]
    return [FRESH_STEP] if {FRESH_STEP, FRESH_ROUND} & {*scope.sequence} else []


def _matched(m: int, kind: str) -> Draw:
    """Return matchings with lam^2 = ||E W'W - 11'/m||.

    They are drawn for each gossip step or for each round.
    """
    W = matchings(m)
    lam = np.sqrt(np.linalg.norm((W.swapaxes(1, 2) @ W).mean(0) - 1 / m, 2))

    def draw(read: Any, copies: bool) -> Drawn:
        ones = np.ones(len(read.u))
        return np.repeat(W[None], len(ones), 0), {"lam": lam * ones}, ones > 0

    name = f"random matchings of {m}"
    if kind == FRESH_STEP:
        return Draw(name, m, draw, drawn=True)
    return Draw(f"{name}, one for each round", m, draw, drawn=True, one_per_round=True)


def _fits(name: str, law: Callable[[Any], str | None]) -> bool:
    """Return whether one of many draws obeys the law."""
    _, make = KINDS[name]
    read = Reader(np.random.default_rng(0).random((64, 8)))
    return any(law(W) is None for W in make(read, False)[:, 0])


def _known(W: np.ndarray, law: Callable[[Any], str | None] | None) -> Drawn:
    """Return the matrices with the constants that the glossary has for them."""
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
    fits: Any = ones > 0
    if law is not None:
        fits = np.array([law(one) is None for one in W])
    return turns, values, fits


def whole_network(W: np.ndarray, copies: int) -> np.ndarray:
    """Expand a matrix of groups of identical clients to that of all clients."""
    if copies == 1:
        return W
    return np.kron(W, np.full((copies, copies), 1 / copies))


def computed_on(
    theorem: Theorem, W: np.ndarray, copies: int, known: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return the theorem's computed quantities on each matrix of W (P, 1, m, m).

    They are (P,) each. W is that of groups of ``copies`` identical clients.

    A value is at the upper end of its rounding error; nan where it cannot be computed,
    or where several matrices take turns.
    """
    quantities = {q.name: q for q in computed_quantities(theorem)}
    columns = {name: np.full(len(W), np.nan) for name in quantities}
    if not quantities or W.shape[1] > 1:
        return columns
    for i in range(len(W)):
        own = {n: v[i] for n, v in known.items() if np.shape(v) == (len(W),)}
        found, errors = computed_values(theorem, own, whole_network(W[i, 0], copies))
        for name, value in found.items():
            with suppress(InputError):  # beyond its range by its rounding error
                columns[name][i] = quantities[name].check(value + errors[name])
    return columns


def in_range(quantity: Quantity) -> float:
    """Return a value of the quantity, for candidates that have none."""
    if quantity.high < math.inf:
        return (quantity.low + quantity.high) / 2
    return max(1.0, quantity.low + 1.0)


def _push_sum(W: np.ndarray) -> dict[str, np.ndarray]:
    matrices, at = np.unique(W, axis=0, return_inverse=True)
    rows = np.array([_constants(one.tobytes(), one.shape) for one in matrices])
    told = dict(zip(_NAMES, rows[at.ravel()].T, strict=True))
    return told | {"lam": told["q"]}


@lru_cache(maxsize=4096)
def _constants(data: bytes, shape: tuple[int, ...]) -> tuple[float, ...]:
    """delta, C, q and window of matrices that take turns; nan where there are none."""
    W = np.frombuffer(data).reshape(shape)
    with suppress(GraphError):
        told = push_sum_constants(list(W) if len(W) > 1 else W[0])
        return tuple(float(getattr(told, name)) for name in _NAMES)
    return (float("nan"),) * len(_NAMES)


__all__ = [
    "KINDS",
    "Draw",
    "digraphs",
    "group_means_suffice",
    "groups_matter",
    "whole_network",
    "matchings",
    "networks",
]
