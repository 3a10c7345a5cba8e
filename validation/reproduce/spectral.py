"""The table of spectral gaps, which is computed and not trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dfltheory.markdown import table
from validation.printed_constants import table1

SIZES = (16, 64, 256, 1024)


@dataclass(frozen=True)
class Spectral:
    """The table: what the paper states of a topology next to the gap at several m."""

    key: str
    title: str
    source: str
    papers_datasets: tuple[str, ...] = ()
    """No image set is asked for."""

    def gaps(self) -> dict[tuple[str, int], Any]:
        """Return the stated and the true 1 - lambda by (topology, m)."""
        names = ("complete", "disconnected", "ring", "grid", "directed_exponential")
        return {(name, m): table1(name, m) for name in names for m in SIZES}

    def page(self) -> str:
        """Stated next to computed, at several m."""
        lines = [
            f"# {self.title}",
            (
                f"Source: {self.source}. Command: `python -m validation.reproduce"
                f" {self.key}`"
            ),
            (
                "Metropolis weights on undirected graphs; uniform ones on the directed"
                " exponential graph, to which the stated expression belongs. An O(.) is"
                " given the constant 1: only how it falls with m can be compared."
            ),
        ]
        rows = []
        for (name, m), gap in self.gaps().items():
            ratio = f"{gap.stated / gap.true:.3g}" if gap.true else "both 0"
            stated = f"{gap.relation} {gap.formula}"
            rows.append(
                (name, m, stated, f"{gap.stated:.4g}", f"{gap.true:.4g}", ratio)
            )
        heads = (
            "topology",
            "m",
            "the paper states",
            "its value",
            "computed",
            "stated / computed",
        )
        lines.append(table(heads, rows))
        return "\n\n".join(lines) + "\n"


SPECTRAL = Spectral(
    "dfedmdc.table_1",
    "Spectral gap 1 - lambda of communication topologies",
    "DFedMDC paper, table 1",
)
