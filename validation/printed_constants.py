"""Constants of networks as the papers print them, next to the computed ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dfltheory import graphs
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.graphs.matrices import check_clients


def one(m: int) -> float:
    """Return 1."""
    return 1.0


def zero(m: int) -> float:
    """Return 0."""
    return 0.0


def ring(m: int) -> float:
    """Return 16 pi^2/(3 m^2)."""
    return 16 * math.pi**2 / (3 * m**2)


def grid(m: int) -> float:
    """Return 1/(m log2 m)."""
    return 1 / (m * math.log2(m)) if m > 1 else math.inf


def exponential(m: int) -> float:
    """Return 2/(1 + log2 m)."""
    return 2 / (1 + math.log2(m))


_TABLE_1: dict[str, tuple[str, str, Callable[[int], float]]] = {
    "complete": ("=", "1", one),
    "disconnected": ("=", "0", zero),
    "ring": ("~", "16 pi^2 / (3 m^2)", ring),
    "grid": ("O", "1 / (m log2 m)", grid),
    "exponential": ("=", "2 / (1 + log2 m)", exponential),
}
"""Topology -> how its gap is stated, as text, and as a function of m."""


@dataclass(frozen=True)
class StatedGap:
    """The gap that Table 1 of DFedMDC states for a topology, and its true gap.

    Section 3.1 of DFedSAM states the same.

    ``relation`` is how it is stated: "=", "~" (approximately) or "O" (up to a
    constant); ``stated`` the formula at this m; ``true`` the gap of ``weights`` on the
    same graph, found by ``method``; ``ratio`` = stated / true.
    """

    topology: str
    m: int
    relation: str
    formula: str
    stated: float
    weights: str
    true: float
    method: str

    @property
    def ratio(self) -> float:
        """Stated over true gap."""
        if self.true:
            return self.stated / self.true
        return math.nan if self.stated == 0 else math.inf

    @property
    def stated_text(self) -> str:
        """The statement with its value, as in "= 2 / (1 + log2 m) = 0.4"."""
        stated = (
            f"O({self.formula})"
            if self.relation == "O"
            else f"{self.relation} {self.formula}"
        )
        value = f"{self.stated:.6g}"
        return stated if self.formula == value else f"{stated} = {value}"

    def __str__(self) -> str:
        """Return both gaps in a line."""
        return (
            f"{self.topology}, m = {self.m}: stated {self.stated_text}, true"
            f" {self.true:.6g} ({self.weights} weights, {self.method}), ratio"
            f" {self.ratio:.4g}"
        )


def table1(name: str, m: int, weights: str | None = None) -> StatedGap:
    """Return what Table 1 states for the gap of a topology, with its true gap.

    Known: complete, disconnected, ring, grid (the open grid), exponential, and their
    relatives ``torus`` (read as grid) and ``directed_exponential`` (whose uniform
    weights are those that the stated formula belongs to). Weights default to Metropolis
    on undirected graphs and to uniform ones on directed graphs.
    """
    m = check_clients(m)
    key = name.replace("-", "_")
    stated_as = {"torus": "grid", "directed_exponential": "exponential"}.get(key, key)
    if stated_as not in _TABLE_1:
        raise UnknownNameError(
            "row of Table 1", name, {*_TABLE_1, "torus", "directed_exponential"}
        )
    relation, formula, value = _TABLE_1[stated_as]
    rule = weights or ("uniform" if key.startswith("directed") else "metropolis")
    if key == "disconnected":  # W = I: no client receives anything
        gap = 1.0 if m == 1 else 0.0
        return StatedGap(key, m, relation, formula, value(m), "no", gap, "closed form")
    report = graphs.spectral_report(key, m=m, weights=rule)
    return StatedGap(
        key, m, relation, formula, value(m), rule, report.gap, report.method
    )


def remark_1_q(diameter: int, window: int, a: float) -> float:
    """Return q = (1 - a^(Diam B))^(1/(Diam B + 1)) of DFedSGPSM's Remark 1.

    The remark does not name its constant a < 1.
    """
    if not 0 < a < 1:
        raise InputError(f"a = {a} must lie between 0 and 1")
    e = diameter * window
    return float((1 - a**e) ** (1 / (e + 1)))
