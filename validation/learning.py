"""Learning curves of FedAvg, DFedAvg and DFedSAM on CIFAR-10, client by client.

``make validate`` performs the runs if ``DFLTHEORY_DATA_ROOT`` contains CIFAR-10, and
draws the stored runs otherwise. ``python -m validation.learning`` performs and stores
them again, which takes about two minutes on one core.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

import dfltheory as dfl
from dfltheory.errors import DataError
from dfltheory.plots import clients, learning_curves, look
from dfltheory.training.history import History

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parent.parent / "docs/figures"
COMMAND = "DFLTHEORY_DATA_ROOT=DIR python -m validation.learning"
TITLE = "CIFAR-10, client by client"
NAMES = ("FedAvg", "DFedAvg", "DFedSAM")
M, K, ETA = 10, 5, 0.1


def small_network(channels: int = 3, side: int = 32, classes: int = 10) -> nn.Module:
    """Return a network of two convolutions and a linear layer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(channels, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * (side // 4) ** 2, classes),
        )


def run(rounds: int = 20) -> dict[str, History]:
    """Train on a subset of CIFAR-10 and return histories without models.

    Raises
    ------
    DataError
        If the official files are not below the data root.
    """
    task = dfl.tasks.image_task(
        "cifar10",
        m=M,
        model=small_network(),
        partition="dirichlet",
        alpha=0.3,
        test="own",
        examples=2000,
        test_examples=1000,
    )
    ring = dfl.graphs.metropolis(dfl.graphs.ring(M))
    algorithms = {
        "FedAvg": (dfl.algorithms.FedAvg(eta=ETA, K=K), None),
        "DFedAvg": (dfl.algorithms.DFedAvg(eta=ETA, K=K), ring),
        "DFedSAM": (dfl.algorithms.DFedSAM(eta=ETA, K=K, rho=0.05), ring),
    }
    histories = {}
    for name, (algorithm, network) in algorithms.items():
        history = dfl.train(
            algorithm,
            task,
            network,
            rounds=rounds,
            metrics=["client_accuracy", "client_loss"],
            evaluate_every=2,
            progress=False,
        )
        without_models = history.x[..., :0]
        histories[name] = replace(history, x=without_models, seconds=0.0)
    return histories


def stored() -> dict[str, History]:
    """Load the runs that are stored in the repository."""
    return {name: History.load(_file(name)) for name in NAMES}


def store(runs: Mapping[str, History]) -> None:
    """Store the runs in the repository."""
    for name, history in runs.items():
        history.save(_file(name))


def _file(name: str) -> Path:
    return FOLDER / f"cifar10-{name.lower()}.safetensors"


def figure(runs: Mapping[str, History]) -> Figure:
    """Draw the mean model, the clients, and one algorithm client by client."""
    import matplotlib.pyplot as plt

    with look.style():
        drawn = plt.figure(figsize=(look.TWO_COLUMNS + 2.0, 3.1), layout="constrained")
        left, middle, right = drawn.subplots(1, 3)
        learning_curves(runs, "accuracy", left)
        learning_curves(runs, "client_accuracy", middle, band="clients")
        clients(runs["DFedSAM"], "client_accuracy", right, each=True)
        for ax, title in (
            (left, "mean model"),
            (middle, "own models, 10 % to 90 % of clients"),
            (right, "DFedSAM, each client"),
        ):
            ax.set_title(title)
            ax.set_ylim(0, 1)
            ax.set_ylabel("test accuracy")
    return drawn


def panel() -> tuple[str, Callable[[], Figure], str]:
    """Return title, drawing function and caption of the report's figure."""
    settings = (
        f"{M} clients on a ring (FedAvg: with a server), 2000 training and 1000 test"
        f" images divided by a Dirichlet distribution with concentration 0.3, K = {K},"
        f" step size {ETA}, one seed."
    )
    try:
        runs = run()
    except DataError:
        runs = stored()
        settings += (
            " These are stored runs, because no data root contains CIFAR-10; to run"
            f" them again: {COMMAND}"
        )
    return TITLE, functools.partial(figure, runs), settings


def main() -> int:
    """Run the experiment and store it."""
    torch.set_num_threads(1)
    store(run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
