"""A table of spectral gaps: computed, not trained, so that it is the paper's at any scale."""

from __future__ import annotations

from dataclasses import dataclass

from dfltheory import graphs

SIZES = (16, 64, 256, 1024)


@dataclass(frozen=True)
class Gap:
    """One topology at one m: the paper's expression, its value, and the gap of the weights meant."""

    topology: str
    m: int
    stated: str
    value: float
    computed: float


@dataclass(frozen=True)
class Spectral:
    """The table: what the paper states of a topology beside the gap at several m."""

    key: str
    title: str
    source: str

    def gaps(self) -> list[Gap]:
        """For each topology and m: the stated expression and the computed gap 1 - lambda."""
        found = []
        for name in ("complete", "disconnected", "ring", "grid", "directed_exponential"):
            for m in SIZES:
                row = graphs.table1(name, m)
                found.append(Gap(name, m, f"{row.relation} {row.formula}", row.stated, row.true))
        return found

    def page(self) -> str:
        """Stated beside computed, at several m."""
        lines = [
            f"# {self.title}",
            f"Source: {self.source}. Command: `python -m validation.reproduce {self.key}`",
            "Metropolis weights on undirected graphs; uniform ones on the directed exponential graph, to "
            "which the stated expression belongs. An O(.) is given the constant 1: only how it falls with m "
            "can be compared.",
            "| topology | m | the paper states | its value | computed | stated / computed |\n"
            "|---|---|---|---|---|---|",
        ]
        for gap in self.gaps():
            lines[-1] += (
                f"\n| {gap.topology} | {gap.m} | {gap.stated} | {gap.value:.4g} | {gap.computed:.4g}"
                f" | {_ratio(gap)} |"
            )
        return "\n\n".join(lines) + "\n"


def _ratio(gap: Gap) -> str:
    return f"{gap.value / gap.computed:.3g}" if gap.computed else "both 0"


__all__ = ["SIZES", "Gap", "Spectral"]
