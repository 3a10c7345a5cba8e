"""The figures of the gallery, at the width of one column of a paper.

``python -m validation.paper_figures`` writes each of them as PNG (300 pixels an inch)
and as PDF (TrueType fonts) to ``docs/figures``, the same ones each time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dfltheory as dfl
from validation.pages.standard_picture import paper_standard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent.parent / "docs/figures"
NETWORKS = ("ring", "torus", "exponential", "complete")
KEY = "dfedsam.theorem_4_5"


def verdicts_on_networks(rounds: int = 400, seeds: int = 8) -> dict[str, Any]:
    """One experiment on four networks, against the corrected Theorem 4.5."""
    task = dfl.tasks.quadratic(m=16, d=10, zeta=0.3, sigma=0.3, seed=0)
    algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=5, rho=0.01)
    found = {}
    for name in NETWORKS:
        network = dfl.graphs.metropolis(getattr(dfl.graphs, name)(16))
        run = dfl.train(
            algorithm, task, network, rounds=rounds, seeds=seeds, progress=False
        )
        found[name] = dfl.compare(run, KEY, variant="corrected")
    return found


def paper_curves() -> Axes:
    """Bound and measurement on the torus."""
    return dfl.plots.curves(verdicts_on_networks()["torus"])


def paper_terms() -> Axes:
    """The terms of the bound on the torus."""
    return dfl.plots.terms(verdicts_on_networks()["torus"])


def paper_networks() -> Axes:
    """Bounds and measurements on four networks."""
    return dfl.plots.networks(verdicts_on_networks())


FIGURES: dict[str, Callable[[], Axes]] = {
    "paper_curves": paper_curves,
    "paper_terms": paper_terms,
    "paper_networks": paper_networks,
    "paper_standard": paper_standard,
}
"""Name of a file -> how it is drawn."""


def main() -> None:
    """Write every figure."""
    for name, draw in FIGURES.items():
        figure: Any = draw().get_figure()
        for suffix in (".png", ".pdf"):
            for path in dfl.plots.save(figure, FOLDER / f"{name}{suffix}"):
                print(path.relative_to(FOLDER.parent.parent))


if __name__ == "__main__":
    main()
