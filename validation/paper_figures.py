"""The figures of the gallery, at the width of one column of a paper.

``python -m validation.paper_figures`` writes each of them as PNG (300 pixels an inch)
and as PDF (TrueType fonts) to ``docs/figures``, the same ones each time; ``--only
NAME...`` writes these alone.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dfltheory as dfl
from validation.pages.standard_picture import paper_standard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent.parent / "docs/figures"
NETWORKS = ("ring", "torus", "exponential", "complete")
KEY = "dfedsam.theorem_4_5"


LEARNERS = {
    "FedAvg": dfl.algorithms.FedAvg(eta=0.1, K=5),
    "DFedAvg": dfl.algorithms.DFedAvg(eta=0.1, K=5),
    "DFedSAM": dfl.algorithms.DFedSAM(eta=0.1, K=5, rho=0.05),
}
"""Algorithms of the learning curves."""


@functools.cache
def learned(rounds: int = 40, seeds: int = 4) -> dict[str, Any]:
    """Return runs of three algorithms on digits, with the measures of every client."""
    task = dfl.tasks.digits(m=10, partition="dirichlet", alpha=0.3, test="own")
    ring = dfl.graphs.ring(10)
    runs = {}
    for name, algorithm in LEARNERS.items():
        runs[name] = dfl.train(
            algorithm,
            task,
            ring if algorithm.needs_topology else None,
            rounds=rounds,
            seeds=seeds,
            metrics=["client_accuracy", "client_loss"],
            progress=False,
        )
    return runs


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
    """Draw the terms of the bound on the torus."""
    return dfl.plots.terms(verdicts_on_networks()["torus"])


def paper_networks() -> Axes:
    """Bounds and measurements on four networks."""
    return dfl.plots.networks(verdicts_on_networks())


def paper_learning() -> Axes:
    """Accuracy of the mean model of three algorithms."""
    return dfl.plots.learning_curves(learned(), "accuracy")


def paper_learning_clients() -> Axes:
    """Accuracy of the clients' own models of three algorithms."""
    return dfl.plots.learning_curves(learned(), "client_accuracy", band="clients")


def paper_clients() -> Axes:
    """Accuracy of the clients' own models of one algorithm."""
    return dfl.plots.clients(learned()["DFedSAM"], each=True)


FIGURES: dict[str, Callable[[], Axes]] = {
    "paper_curves": paper_curves,
    "paper_terms": paper_terms,
    "paper_networks": paper_networks,
    "paper_standard": paper_standard,
    "paper_learning": paper_learning,
    "paper_learning_clients": paper_learning_clients,
    "paper_clients": paper_clients,
}
"""Name of a file -> how it is drawn."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every figure, or those of the names given."""
    parser = argparse.ArgumentParser(prog="python -m validation.paper_figures")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=list(FIGURES))
    for name in parser.parse_args(arguments).only:
        figure: Any = FIGURES[name]().get_figure()
        for suffix in (".png", ".pdf"):
            for path in dfl.plots.save(figure, FOLDER / f"{name}{suffix}"):
                print(path.relative_to(FOLDER.parent.parent))


if __name__ == "__main__":
    main()
