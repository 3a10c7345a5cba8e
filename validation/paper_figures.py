"""Functions that draw the gallery's figures at the width of one column of a paper."""

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

KEY = "dfedsam.theorem_4_5"
ROUNDS, SEEDS = 400, 8
"""Rounds and seeds of the runs on a quadratic."""
HORIZONS = (1e8, 1e9, 1e10)
"""Horizons of the fitted rate. Expectations at these horizons are exact."""
NETWORKS = ("ring", "torus", "exponential", "complete")

LEARNERS = {
    "FedAvg": dfl.algorithms.FedAvg(eta=0.1, K=5),
    "DFedSAM": dfl.algorithms.DFedSAM(eta=0.1, K=5, rho=0.05),
}
"""Algorithms whose learning curves are drawn."""


@functools.cache
def learned(rounds: int = 40, seeds: int = 4) -> dict[str, History]:
    """Run two algorithms on digits, with metrics of every client."""
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


@functools.cache
def run_on(name: str, K: int = 5) -> History:
    """Run DFedSAM on one of the networks, with K local steps."""
    return dfl.train(
        dfl.algorithms.DFedSAM(eta=0.01, K=K, rho=0.01),
        dfl.tasks.quadratic(m=16, d=10, zeta=0.3, sigma=0.3, seed=0),
        dfl.graphs.metropolis(getattr(dfl.graphs, name)(16)),
        rounds=ROUNDS,
        seeds=SEEDS,
        progress=False,
    )


def both_variants(K: int = 5) -> list[Verdict]:
    """Compare a run on the torus with Theorem 4.5 as printed and as corrected."""
    run = run_on("torus", K)
    return [dfl.compare(run, KEY, variant=name) for name in ("printed", "corrected")]


def paper_curves() -> Axes:
    """Draw bound and measurement on the torus."""
    return dfl.plots.curves(both_variants()[1])


def paper_variants() -> Axes:
    """Draw both variants with the left-hand sides that they bound."""
    return dfl.plots.curves(both_variants())


def paper_tightness() -> Axes:
    """Draw measured / bound of both variants."""
    return dfl.plots.tightness(both_variants())


def paper_terms() -> Axes:
    """Draw the terms of the bound on the torus."""
    return dfl.plots.terms(both_variants()[1])


def paper_networks() -> Axes:
    """Draw bounds and measurements on four networks."""
    verdicts = {}
    for name in NETWORKS:
        verdicts[name] = dfl.compare(run_on(name), KEY, variant="corrected")
    return dfl.plots.networks(verdicts)


def paper_ratios() -> Axes:
    """Draw measured / bound over the number of local steps."""
    verdicts: list[Verdict] = []
    for K in (1, 2, 5, 10, 20):
        verdicts += both_variants(K)
    return dfl.plots.ratio_over("K", verdicts)


def paper_rates() -> Axes:
    """Draw fitted and predicted exponents of the noise term in T."""
    task = dfl.tasks.quadratic(m=4, d=2, zeta=0.0, distance=0.0, sigma=1.0, seed=0)
    algorithm = dfl.algorithms.DFedSAM(eta=2e-5, K=2, rho=0.0)
    experiment = dfl.Instance(task, algorithm, dfl.graphs.complete(4), rounds=10**9)
    key = "dfedsam.corollary_4_6"
    fit = dfl.rate_fit(key, experiment, vary="T", over=HORIZONS, variant="corrected")
    return dfl.plots.rates(fit)


def paper_learning() -> Axes:
    """Draw the accuracy of the mean model of two algorithms."""
    return dfl.plots.learning_curves(learned(), "accuracy")


def paper_learning_clients() -> Axes:
    """Draw the accuracy of the clients' own models of two algorithms."""
    return dfl.plots.learning_curves(learned(), "client_accuracy", band="clients")


def paper_clients() -> Axes:
    """Draw the accuracy of the clients' own models of one algorithm."""
    return dfl.plots.clients(learned()["DFedSAM"], each=True)


FIGURES: dict[str, Callable[[], Axes]] = {
    "paper_curves": paper_curves,
    "paper_variants": paper_variants,
    "paper_tightness": paper_tightness,
    "paper_terms": paper_terms,
    "paper_networks": paper_networks,
    "paper_ratios": paper_ratios,
    "paper_rates": paper_rates,
    "paper_standard": paper_standard,
    "paper_learning": paper_learning,
    "paper_learning_clients": paper_learning_clients,
    "paper_clients": paper_clients,
}
"""File name -> function that draws the figure."""
