"""How the figures of the gallery are drawn, at the width of one column of a paper."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import dfltheory as dfl
from validation.pages.standard_picture import paper_standard

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.training.history import History
    from dfltheory.verdicts.verdict import Verdict

NETWORKS = ("ring", "torus", "exponential", "complete")
KEY = "dfedsam.theorem_4_5"


LEARNERS = {
    "FedAvg": dfl.algorithms.FedAvg(eta=0.1, K=5),
    "DFedAvg": dfl.algorithms.DFedAvg(eta=0.1, K=5),
    "DFedSAM": dfl.algorithms.DFedSAM(eta=0.1, K=5, rho=0.05),
}
"""Algorithms of the learning curves."""


@functools.cache
def learned(rounds: int = 40, seeds: int = 4) -> dict[str, History]:
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


def verdicts_on_networks(rounds: int = 400, seeds: int = 8) -> dict[str, Verdict]:
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
