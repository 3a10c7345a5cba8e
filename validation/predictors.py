"""How well three network constants predict measured errors, on twelve networks.

``python -m validation.predictors --measure`` runs decentralized SGD on every network
and writes ``docs/predictors.json``. ``python -m validation.predictors`` writes the page
``docs/predictors.md`` and its figure from that file.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from matplotlib.transforms import Bbox, BboxBase
from scipy.stats import spearmanr
from torch import Tensor

import dfltheory as dfl
from dfltheory import graphs
from dfltheory.arrays import FloatArray
from dfltheory.errors import InputError
from dfltheory.files import read_json, write_json, write_text
from dfltheory.markdown import table
from dfltheory.number_format import format_number
from dfltheory.plots import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

DOCS = Path(__file__).parent.parent / "docs"
MEASURED = DOCS / "predictors.json"
PAGE = DOCS / "predictors.md"
COMMAND = "python -m validation.predictors --measure"
PICTURE = DOCS / "figures" / "predictors.png"

CLIENTS, DIMENSION, ROUNDS, SEEDS = 16, 10, 400, 16
DIGITS_ROUNDS = 200
NAMED = ("complete", "ring", "path", "star", "two_cliques")
"""Networks that are labeled in the figure."""
RADIUS = 4.0
"""Half the width of the square around a point that labels must not overlap, in pixels.
"""
NAME_SIZE = 7.0
"""Font size of the labels, in points."""
ETA, CURVATURE, NOISE = 0.1, 1.0, 1.0
DECAY = (1 - ETA * CURVATURE) ** 2
"""Factor by which a gradient step, without mixing, reduces a squared deviation along
the direction of largest curvature.
"""
NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "complete": {},
    "hypercube": {},
    "exponential": {},
    "torus": {"sides": (2, 8)},  # 4 x 4 would be the hypercube
    "grid": {},
    "ring": {},
    "path": {},
    "star": {},
    "binary_tree": {},
    "two_cliques": {},
    "random_regular": {"degree": 3, "seed": 0},
    "erdos_renyi": {"p": 0.3, "seed": 1},
}
"""Topologies with Metropolis weights."""
PREDICTORS = {
    "gap": "1 - spectral gap",
    "spectrum": "spectrum sum",
    "neighbors": "1 / effective neighbors",
}
"""Labels of the predictors; large values predict large errors."""
OUTCOMES = {
    "noise": "error from gradient noise",
    "heterogeneity": "error from heterogeneity",
    "digits": "loss on digits",
}
"""Labels of the measured quantities; small values are better."""


TEXT = """# Which number of a network predicts a run?

The spectral gap summarizes a network by its slowest eigenvector. Two other numbers use
the whole spectrum: the spectrum sum (1/m) sum l^2/(1 - l^2) over all eigenvalues but
the first, and the effective number of neighbors of Vogels, Hendrikx and Jaggi (2023),
Definition 1. This page compares the three on twelve networks of {m} clients with
Metropolis weights.

![Measured errors over three predictors](figures/predictors.png)

Each number is Spearman's rank correlation over the twelve networks. 1 means that the
predictor ranks the networks as the measurement does, 0 that it says nothing about their
order.

{ranks}

**Runs.** Decentralized SGD, mixing after the gradient step, with the step size {eta},
on quadratics with curvatures from 0.1 to 1.

- *Error from gradient noise*: clients are identical and start at the optimum.
  f(x_i) - f* is averaged over clients, {seeds} seeds and the last half of {rounds}
  rounds.
- *Error from heterogeneity*: the same without noise, for clients with different optima.
- *Loss on digits*: softmax regression on images that are divided by labels (Dirichlet
  distribution, concentration 0.3), step size 0.5, {digits} rounds, two seeds.

Effective neighbors are taken at the decay (1 - eta L)^2 = {decay}.

**Limits.** Heterogeneous clients have one arrangement on each network, which a number
of the network alone does not contain. `neighborhood_heterogeneity` of a
[theorem file](theorem-files.md) depends on the task too. The figures are those of one
step size and one number of clients.

{table}

`python -m validation.predictors --measure` performs the runs and writes this page.
"""


@dataclass(frozen=True)
class Row:
    """Predictors of one network, and the errors measured on it.

    Attributes
    ----------
    network : str
        Name of the topology.
    gap : float
        lambda = 1 - spectral gap.
    spectrum : float
        (1/m) times the sum of l^2/(1 - l^2) over all eigenvalues but the first.
    neighbors : float
        1 over the effective number of neighbors.
    noise : float
        Mean over the last half of the rounds of E f(x_i) - f*, for identical clients.
    heterogeneity : float
        The same for heterogeneous clients, without noise.
    digits : float
        Loss of the clients' linear models on images of digits, which are partitioned
        by label.
    """

    network: str
    gap: float
    spectrum: float
    neighbors: float
    noise: float
    heterogeneity: float
    digits: float


def mixing_matrix(name: str) -> FloatArray:
    """Return the Metropolis weights of one of the twelve networks."""
    graph = graphs.topology(name, CLIENTS, **NETWORKS[name])
    return np.asarray(graphs.metropolis(graph), dtype=float)


def ratio(eigenvalue: FloatArray) -> FloatArray:
    """Return l^2/(1 - l^2)."""
    return eigenvalue**2 / (1 - eigenvalue**2)


def measure(name: str) -> Row:
    """Run decentralized SGD on one network.

    The quadratics have curvatures from 0.1 to 1. All networks use the same seeds.
    """
    W = mixing_matrix(name)
    spectrum = graphs.spectrum_sum(W, ratio)
    return Row(
        name,
        gap=graphs.lam(W),
        spectrum=round(spectrum, 12) / CLIENTS,
        neighbors=1 / graphs.effective_neighbors(W, DECAY),
        noise=excess_of_clients(W, zeta=0.0, sigma=NOISE, seeds=SEEDS),
        heterogeneity=excess_of_clients(W, zeta=1.0, sigma=0.0, seeds=1),
        digits=loss_on_digits(W),
    )


def excess_of_clients(W: FloatArray, zeta: float, sigma: float, seeds: int) -> float:
    """Return the mean over clients and the last half of the rounds of f(x_i) - f*."""
    task = dfl.tasks.quadratic(
        m=CLIENTS,
        d=DIMENSION,
        L=CURVATURE,
        mu=0.1 * CURVATURE,
        zeta=zeta,
        sigma=sigma,
        distance=0.0,
    )

    run = dfl.train(
        dfl.algorithms.DPSGD(eta=ETA, order="adapt-then-combine"),
        task,
        W,
        rounds=ROUNDS,
        seeds=seeds,
        metrics=[excess_of_models],
        progress=False,
    )
    values = run.measures()["excess_of_models"]
    return float(values[:, values.shape[1] // 2 :].mean())


def loss_of_models(task: dfl.tasks.Task, models: Tensor, mean: Tensor) -> Tensor:
    """Return the mean over clients of f(x_i), (S,)."""
    points = models.flatten(0, 1)
    return task.global_loss(points).unflatten(0, models.shape[:2]).mean(-1)


def excess_of_models(task: dfl.tasks.Task, models: Tensor, mean: Tensor) -> Tensor:
    """Return the mean over clients of f(x_i) - f*, (S,)."""
    minimum = task.constants.f_star
    if minimum is None:
        raise InputError("the minimum of this task is unknown")
    return loss_of_models(task, models, mean) - minimum


def loss_on_digits(W: FloatArray) -> float:
    """Return the mean loss of the clients' models on the images of all clients.

    The mean is over clients, seeds and the last half of the rounds.
    """
    task = dfl.tasks.digits(
        m=CLIENTS, partition="dirichlet", alpha=0.3, model="softmax", seed=0
    )

    run = dfl.train(
        dfl.algorithms.DPSGD(eta=0.5, order="adapt-then-combine"),
        task,
        W,
        rounds=DIGITS_ROUNDS,
        seeds=2,
        metrics=[loss_of_models],
        evaluate_every=10,
        progress=False,
    )
    values = run.measures()["loss_of_models"]
    return float(values[:, values.shape[1] // 2 :].mean())


def correlations(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Return Spearman's rank correlation of each outcome with each predictor."""
    ranks: dict[str, dict[str, float]] = {}
    for outcome in OUTCOMES:
        measured = [getattr(row, outcome) for row in rows]
        ranks[outcome] = {}
        for predictor in PREDICTORS:
            predicted = [getattr(row, predictor) for row in rows]
            ranks[outcome][predictor] = float(spearmanr(predicted, measured).statistic)
    return ranks


def stored() -> list[Row]:
    """Load the rows that are stored in the repository."""
    return [Row(**row) for row in read_json(MEASURED)]


def figure(rows: list[Row]) -> Figure:
    """Draw each outcome over each predictor."""
    import matplotlib.pyplot as plt

    ranks = correlations(rows)
    with look.style():
        drawn, grid = plt.subplots(
            len(OUTCOMES),
            len(PREDICTORS),
            figsize=(look.TWO_COLUMNS, 5.4),
            sharex="col",
            sharey="row",
            layout="constrained",
        )
        for line, outcome in zip(grid, OUTCOMES, strict=True):
            line[0].set_ylabel(OUTCOMES[outcome])
            for ax, predictor in zip(line, PREDICTORS, strict=True):
                _draw_points(ax, rows, predictor, outcome)
                ax.set_title(f"rank correlation {ranks[outcome][predictor]:.2f}")
        for ax, predictor in zip(grid[-1], PREDICTORS, strict=True):
            ax.set_xlabel(PREDICTORS[predictor])
        drawn.draw_without_rendering()
        for ax in grid.flat:
            _name_points(ax, rows)
    return drawn


def _draw_points(ax: Axes, rows: list[Row], predictor: str, outcome: str) -> None:
    """Draw a point for each network."""
    x = np.array([getattr(row, predictor) for row in rows])
    y = np.array([getattr(row, outcome) for row in rows])
    ax.plot(x, y, "o", color="#0072B2", markersize=3.5)
    ax.margins(x=0.38, y=0.2)


def _name_points(ax: Axes, rows: list[Row]) -> None:
    """Label the networks of ``NAMED`` where labels overlap other items the least.

    The layout of the figure must be final, so that the widths of the labels are known.
    """
    points = np.asarray(ax.lines[0].get_xydata())
    taken = []
    for x, y in ax.transData.transform(points):
        marker = Bbox.from_bounds(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS)
        taken.append(marker)
    for row, (x, y) in zip(rows, points, strict=True):
        if row.network not in NAMED:
            continue
        name = ax.annotate(
            row.network.replace("_", " "),
            (float(x), float(y)),
            xytext=(0.0, 0.0),
            textcoords="offset points",
            fontsize=NAME_SIZE,
            va="center",
        )
        overlaps = []
        for distance, angle in itertools.product((5, 8, 12, 17), range(0, 360, 30)):
            _place_at(name, distance, angle)
            box = name.get_window_extent()
            count = box.count_overlaps(taken) + (not _is_inside(box, ax.bbox))
            overlaps.append((count, distance, angle))
        _, distance, angle = min(overlaps)
        _place_at(name, distance, angle)
        taken.append(name.get_window_extent())


def _is_inside(box: BboxBase, outer: BboxBase) -> bool:
    """Return whether a box lies in another one."""
    in_width = outer.containsx(box.x0) and outer.containsx(box.x1)
    in_height = outer.containsy(box.y0) and outer.containsy(box.y1)
    return in_width and in_height


def _place_at(name: Annotation, distance: int, angle: int) -> None:
    """Place a label at a distance (points) and an angle (degrees) from its point."""
    turned = np.deg2rad(angle)
    name.set_position((distance * np.cos(turned), distance * np.sin(turned)))
    if 60 < angle % 180 < 120:
        name.set_horizontalalignment("center")
    else:
        name.set_horizontalalignment("left" if np.cos(turned) > 0 else "right")


def page(rows: list[Row]) -> str:
    """Return the text of the page."""
    names = [*PREDICTORS, *OUTCOMES]
    titles = [*PREDICTORS.values(), *OUTCOMES.values()]
    measured = []
    for row in rows:
        numbers = [format_number(getattr(row, name)) for name in names]
        measured.append([row.network.replace("_", " "), *numbers])
    ranks = []
    for outcome, by_predictor in correlations(rows).items():
        numbers = [f"{value:.2f}" for value in by_predictor.values()]
        ranks.append([OUTCOMES[outcome], *numbers])
    return TEXT.format(
        m=CLIENTS,
        eta=ETA,
        decay=format_number(DECAY),
        rounds=ROUNDS,
        seeds=SEEDS,
        digits=DIGITS_ROUNDS,
        ranks=table(["measured", *PREDICTORS.values()], ranks, numbers_from=1),
        table=table(["network", *titles], measured, numbers_from=1),
    )


def main(arguments: list[str]) -> int:
    """Perform the runs if ``--measure`` is given; write the page and its figure."""
    if "--measure" in arguments:
        torch.set_num_threads(1)
        rows = [measure(name) for name in NETWORKS]
        write_json(MEASURED, [asdict(row) for row in rows])
    rows = stored()
    write_text(PAGE, page(rows))
    look.save(figure(rows), PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
