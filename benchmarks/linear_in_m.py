"""Time of a round as a function of the number of clients on sparse graphs.

``python benchmarks/linear_in_m.py`` prints the median CPU time of a few rounds of
DFedAvg with two noisy local steps (d = 100, one thread), and the exponent of a power
law fitted to m >= 1000. ``python -m validation.figures --only linear_in_m --measure``
measures again and draws docs/figures/linear_in_m.png.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from dfltheory import algorithms, graphs, tasks
from dfltheory.training.run import Run

TOPOLOGIES = ("ring", "torus")


def seconds(m: int, topology: str, d: int = 100, repeat: int = 9) -> float:
    """Return the median CPU seconds of one round."""
    rng = np.random.default_rng(0)
    task = tasks.Quadratic.diagonal(
        rng.uniform(0.5, 1.5, size=(m, d)), rng.normal(size=(m, d)), 0.1
    )
    run = Run(
        algorithms.DFedAvg(eta=0.05, K=2),
        task,
        graphs.topology(topology, m),
        10**6,
        range(1),
        0,
    )
    taken = []
    with torch.no_grad():
        for t in range(repeat + 2):
            start = time.process_time()
            run.round(t)
            taken.append(time.process_time() - start)
    return statistics.median(taken[2:])


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.set_num_threads(1)
    sizes = np.unique(np.geomspace(100, 30_000, 9).astype(int))
    large = sizes >= 1000
    print("m".rjust(6), *(name.rjust(12) for name in TOPOLOGIES))
    taken = np.empty((len(sizes), len(TOPOLOGIES)))
    for row, m in zip(taken, sizes):
        row[:] = [seconds(int(m), topology) for topology in TOPOLOGIES]
        print(f"{m:6d}", *(f"{1e3 * t:9.2f} ms" for t in row))
    for topology, times in zip(TOPOLOGIES, taken.T):
        exponent = np.polyfit(np.log(sizes[large]), np.log(times[large]), 1)[0]
        print(f"{topology}: time of a round ~ m^{exponent:.2f} for m >= 1000")


if __name__ == "__main__":
    main()
