"""Network constants as printed in the papers, next to the computed ones.

``python -m validation.printed_constants docs/reproduce/dfedmdc.table_1.md`` writes the
page on Table 1 of the DFedMDC paper, which needs no training.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dfltheory import graphs
from dfltheory.errors import InputError, checked_name
from dfltheory.files import write_text
from dfltheory.markdown import table
from validation.pages.templates import filled

SIZES = (16, 64, 256, 1024)
KEY = "dfedmdc.table_1"
TITLE = "Spectral gap 1 - lambda of communication topologies"
HEADS = (
    "topology",
    "m",
    "the paper states",
    "its value",
    "computed",
    "stated / computed",
)


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


_STATED: dict[str, tuple[str, str, Callable[[int], float]]] = {
    "complete": ("=", "1", one),
    "disconnected": ("=", "0", zero),
    "ring": ("~", "16 pi^2 / (3 m^2)", ring),
    "grid": ("O", "1 / (m log2 m)", grid),
    "directed_exponential": ("=", "2 / (1 + log2 m)", exponential),
}
"""Topology -> relation, formula as text, and formula as a function of m.

The expression stated for the exponential graph is that of the directed graph with
uniform weights.
"""


@dataclass(frozen=True)
class StatedGap:
    """The gap that Table 1 of DFedMDC states for a topology, and its true gap.

    Section 3.1 of DFedSAM states the same gaps.

    ``relation`` is "=", "~" (approximately) or "O" (up to a constant); ``stated`` is
    the value of ``formula``.
    """

    relation: str
    formula: str
    stated: float
    true: float

    @property
    def ratio(self) -> float:
        """Stated gap divided by the true one."""
        return self.stated / self.true if self.true else math.nan


def table1(name: str, m: int) -> StatedGap:
    """Return the gap that Table 1 states for a topology, and its true gap.

    Weights are Metropolis on undirected graphs and uniform on directed graphs.
    """
    checked_name("row of Table 1", name, _STATED)
    relation, formula, value = _STATED[name]
    gap = 0.0  # W = I: no client receives anything
    if name != "disconnected":
        weights = "uniform" if name == "directed_exponential" else "metropolis"
        gap = graphs.spectral_report(name, m=m, weights=weights).gap
    return StatedGap(relation, formula, value(m), gap)


def remark_1_q(diameter: int, window: int, a: float) -> float:
    """Return q = (1 - a^(Diam B))^(1/(Diam B + 1)) of DFedSGPSM's Remark 1.

    The remark does not name its constant a < 1.
    """
    if not 0 < a < 1:
        raise InputError(f"a = {a} must lie between 0 and 1")
    e = diameter * window
    return float((1 - a**e) ** (1 / (e + 1)))


def page() -> str:
    """Return the page on Table 1: stated and computed gaps for several m."""
    rows = []
    for name in _STATED:
        for m in SIZES:
            gap = table1(name, m)
            ratio = f"{gap.ratio:.3g}" if gap.true else "both 0"
            stated = f"{gap.relation} {gap.formula}"
            rows.append(
                (name, m, stated, f"{gap.stated:.4g}", f"{gap.true:.4g}", ratio)
            )
    return filled("spectral_gaps", title=TITLE, key=KEY, table=table(HEADS, rows))


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), page())
