"""Network constants that a statement gives by a formula of m, on extreme graphs.

The formula may also contain the network's diameter. Conditions such as ``q = (1 -
m^-m)^(1/m)`` restrict the networks that a statement covers. An author may believe that
such a formula holds on every network; small graphs with slow mixing or small weights
show that it does not. As a hypothesis it is admissible, and excludes these graphs. The
finding is therefore a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.regions import expanded_conditions
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import AuditFinding, warning

SIZES = range(2, 17)
"""Numbers of clients that are tried."""
DIAMETER = "network: diameter"
"""The formula (``Quantity.of``) of a quantity that is the network's diameter."""
_ROUNDS = 60
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SmallNetwork:
    """A named mixing matrix (m, m); column j is what client j sends."""

    name: str
    matrix: np.ndarray


def _metropolis(adjacency: np.ndarray) -> np.ndarray:
    """Return Metropolis weights of an undirected graph without loops."""
    degrees = adjacency.sum(axis=1)
    weights = adjacency / (1 + np.maximum.outer(degrees, degrees))
    return weights + np.diag(1 - weights.sum(axis=1))


def _uniform(sends: np.ndarray) -> np.ndarray:
    """Return the matrix in which each client sends equal shares, also to itself."""
    shares = sends + np.eye(len(sends))
    return shares / shares.sum(axis=0)


def _path(m: int) -> np.ndarray:
    """Return the adjacency matrix of a path."""
    return np.eye(m, k=1) + np.eye(m, k=-1)


def _star(m: int) -> np.ndarray:
    """Return the adjacency matrix of a star with the hub 0."""
    adjacency = np.zeros((m, m))
    adjacency[0, 1:] = adjacency[1:, 0] = 1
    return adjacency


def _directed_ring(m: int) -> np.ndarray:
    """Return the links of a directed ring: entry (i, j) is 1 if j sends to i."""
    return np.roll(np.eye(m), 1, axis=0)


def _path_with_return(m: int) -> np.ndarray:
    """Return the links of a directed path whose clients also send to client 0."""
    sends = np.eye(m, k=-1)
    sends[0, 1:] = 1
    return sends


def _two_cliques(m: int) -> np.ndarray:
    """Return the adjacency matrix of two complete graphs that one link connects.

    The diameter is at most 3, and the gap is of order 1/m^2.
    """
    half = m // 2
    adjacency = np.zeros((m, m))
    adjacency[:half, :half] = adjacency[half:, half:] = 1
    adjacency[half - 1, half] = adjacency[half, half - 1] = 1
    return adjacency - np.diag(np.diag(adjacency))


def extreme_networks(theorem: Theorem, m: int) -> list[SmallNetwork]:
    """Return small networks on m clients that the statement covers."""
    law = theorem.scope.network
    if callable(law) or law == "none":
        return []
    found = [
        SmallNetwork("complete graph", np.full((m, m), 1 / m)),
        SmallNetwork("path with Metropolis weights", _metropolis(_path(m))),
        SmallNetwork("star with Metropolis weights", _metropolis(_star(m))),
        SmallNetwork(
            "pair of linked cliques with Metropolis weights",
            _metropolis(_two_cliques(m)),
        ),
    ]
    if law in ("doubly stochastic", "column-stochastic"):
        ring = _uniform(_directed_ring(m))
        found.append(SmallNetwork("directed ring with equal shares", ring))
    if law == "column-stochastic":
        sends = {
            "star": _star(m),
            "directed path with returns": _path_with_return(m),
            "pair of linked cliques": _two_cliques(m),
        }
        found += [
            SmallNetwork(f"{name} with equal shares", _uniform(sent))
            for name, sent in sends.items()
        ]
    return found


# -- exact constants


def rounds_to_reach_all(matrix: np.ndarray) -> int:
    """Return the largest number of links on a shortest path between two clients."""
    reached, links, rounds = np.eye(len(matrix)) > 0, matrix > 0, 0
    while not reached.all():
        reached = reached | (links @ reached)
        rounds += 1
    return rounds


def contraction(matrix: np.ndarray) -> float:
    """Return ||W - 11'/m|| of a doubly stochastic matrix."""
    return float(np.linalg.norm(matrix - 1 / len(matrix), 2))


def least_rate(matrix: np.ndarray) -> float:
    """Return the second largest modulus of an eigenvalue.

    No smaller q satisfies ||z_i^t - xbar|| <= C q^t for all t, however large C is.
    """
    sizes = np.sort(np.abs(np.linalg.eigvals(matrix)))
    return float(sizes[-2])


def least_weight(matrix: np.ndarray) -> float:
    """Return the smallest push-sum weight in the first ``_ROUNDS`` rounds."""
    weights, least = np.ones(len(matrix)), 1.0
    for _ in range(_ROUNDS):
        weights = matrix @ weights
        least = min(least, float(weights.min()))
    return least


def disagreements(matrix: np.ndarray) -> np.ndarray:
    """Return max_ij |z_i^t - xbar| from x = e_j for t = 1, 2, ..., (rounds,)."""
    m, power, found = len(matrix), np.eye(len(matrix)), []
    for _ in range(_ROUNDS):
        power = matrix @ power
        models = power / power.sum(axis=1, keepdims=True)
        found.append(np.abs(models - 1 / m).max())
    return np.array(found)


@dataclass(frozen=True)
class _Constant:
    """How a constant is computed, and whether a larger or a smaller one is safe."""

    exact: Callable[[np.ndarray], float]
    meaning: str
    larger_is_safe: bool


_CONSTANTS = {
    "lam": _Constant(contraction, "||W - 11'/m||", True),
    "q": _Constant(least_rate, "the second largest modulus of an eigenvalue", True),
    "delta": _Constant(least_weight, "the least push-sum weight", False),
}


@dataclass(frozen=True)
class Formula:
    """A constant as a function of m and the network's diameter."""

    expr: Expr
    diameter: sp.Symbol | None = None

    def on(self, matrix: np.ndarray) -> float:
        """Return the stated value on a network."""
        values: dict[sp.Symbol, int] = {s.m: len(matrix)}
        if self.diameter is not None:
            values[self.diameter] = rounds_to_reach_all(matrix)
        return float(self.expr.subs(values))


def check_network_constants(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield constants that a formula of m states too optimistically on some network."""
    formulas = formulas_of_m(theorem)
    for name, formula in formulas.items():
        if name in _CONSTANTS:
            yield from _first_refuted(theorem, name, formula)
    if {"C", "q"} <= set(formulas):
        yield from _first_refuted_pair(theorem, formulas["C"], formulas["q"])


def formulas_of_m(theorem: Theorem) -> Mapping[str, Formula]:
    """Return the formulas of m and the diameter that conditions state, by constant.

    They bound lam, q and C from above, and delta from below. A number counts only if
    the constant is equal to it. ``window`` is taken as 1.
    """
    ends: dict[tuple[str, bool], Expr] = {}
    own = (q.symbol for q in theorem.quantities if q.of == DIAMETER)
    of_network = next(own, None)
    allowed = {s.m, of_network}
    for condition in expanded_conditions(theorem):
        left, right = (
            sp.sympify(side).subs(s.window, 1)
            for side in (condition.left, condition.right)
        )
        for constant, formula, is_upper in ((left, right, True), (right, left, False)):
            if isinstance(constant, sp.Symbol) and formula.free_symbols <= allowed:
                ends[constant.name, is_upper] = formula
    found = {}
    for (name, is_upper), formula in ends.items():
        if name in (*_CONSTANTS, "C") and is_upper == (name != "delta"):
            is_exact = ends.get((name, not is_upper)) == formula
            if is_exact or formula.free_symbols:
                found[name] = Formula(formula, of_network)
    return found


def _first_refuted(
    theorem: Theorem, name: str, formula: Formula
) -> Iterator[AuditFinding]:
    """Yield the smallest network on which the formula of a constant is refuted."""
    constant = _CONSTANTS[name]
    for m in SIZES:
        for network in extreme_networks(theorem, m):
            stated = formula.on(network.matrix)
            exact = constant.exact(network.matrix)
            excess = exact - stated if constant.larger_is_safe else stated - exact
            if not excess <= _ROUNDING:
                yield warning(
                    name,
                    f"{name} = {formula.expr} is {stated:.6g} for m = {m}, but on the"
                    f" {network.name} {constant.meaning} is {exact:.6g}: the condition"
                    " excludes this network",
                    m=m,
                    network=network.name,
                    stated=stated,
                    exact=exact,
                )
                return


def _first_refuted_pair(
    theorem: Theorem, C: Formula, q: Formula
) -> Iterator[AuditFinding]:
    """Yield the smallest network on which C q^t is below a disagreement."""
    rounds = np.arange(1, _ROUNDS + 1)
    for m in SIZES:
        for network in extreme_networks(theorem, m):
            stated = C.on(network.matrix) * q.on(network.matrix) ** rounds
            exact = disagreements(network.matrix)
            refuted = np.flatnonzero(exact > stated + _ROUNDING)
            if len(refuted):
                i = int(refuted[0])
                yield warning(
                    "C",
                    f"C q^t with C = {C.expr} and q = {q.expr} is {stated[i]:.6g} for m"
                    f" = {m} and t = {rounds[i]}, but on the {network.name} a model"
                    f" that starts at e_j is {exact[i]:.6g} from the mean: the"
                    " condition excludes this network",
                    m=m,
                    network=network.name,
                    stated=float(stated[i]),
                    exact=float(exact[i]),
                )
                return


__all__ = ["Formula", "check_network_constants", "extreme_networks", "formulas_of_m"]
