"""Twelve comparisons that a newcomer might try first: four networks, three statements.

``python -m validation.first_attempts [FOLDER]`` runs DFedSAM on each network, compares
the run with each statement, and draws the bound. If a statement does not apply, it
prints which changes would make it apply.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx

import dfltheory as dfl
from dfltheory.training.history import History

if TYPE_CHECKING:
    from dfltheory.verdicts.verdict import Verdict

CLIENTS, ROUNDS, SEEDS = 16, 50, 2
STATEMENTS = (
    ("dfedsam.theorem_4_5", "printed"),
    ("dfedsam.theorem_4_5", "corrected"),
    ("dfedsam.corollary_4_6", "corrected"),
)


def random_network(m: int) -> nx.Graph:
    """Return an Erdos-Renyi graph with edge probability 0.3."""
    return dfl.graphs.erdos_renyi(m, 0.3, seed=0)


NETWORKS: dict[str, Callable[[int], nx.Graph]] = {
    "ring": dfl.graphs.ring,
    "grid": dfl.graphs.torus,
    "exponential": dfl.graphs.exponential,
    "random": random_network,
}


def run_on(name: str) -> History:
    """Run DFedSAM with plausible step sizes on one of the networks."""
    return dfl.train(
        dfl.algorithms.DFedSAM(eta=0.01, K=5, rho=0.01),
        dfl.tasks.quadratic(m=CLIENTS, d=4, sigma=0.1, seed=0),
        dfl.graphs.metropolis(NETWORKS[name](CLIENTS)),
        rounds=ROUNDS,
        seeds=SEEDS,
        progress=False,
    )


def verdicts_on(name: str) -> Iterator[Verdict]:
    """Compare the run on a network with each statement."""
    run = run_on(name)
    for key, variant in STATEMENTS:
        yield dfl.compare(run, key, variant=variant)


def main(folder: Path | None = None) -> int:
    """Print the bound or suggestions of each attempt; draw bounds into ``folder``."""
    for name in NETWORKS:
        for verdict in verdicts_on(name):
            print(f"{name}, {verdict.key} ({verdict.variant}):")
            if verdict.kind == "not applicable":
                print(f"  not applicable; {verdict.suggestions}")
                continue
            print(f"  bound {verdict.bound:.4g}, measured / bound {verdict.ratio:.3g}")
            if folder is not None:
                file = folder / f"{name}-{verdict.key}-{verdict.variant}.png"
                figure = dfl.plots.curves(verdict).get_figure(root=True)
                assert figure is not None
                dfl.plots.save(figure, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
