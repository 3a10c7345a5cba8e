"""Time of a round against the number of clients on sparse graphs: ``python benchmarks/linear_in_m.py``.

One thread, CPU time, d = 100, median of a few rounds of DFedAvg with two noisy local steps; writes a picture
and prints the exponent of a power law fitted to m >= 1000.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

from dfltheory import algorithms, graphs, tasks
from dfltheory.training.loop import Run
from dfltheory.training.ranks import OneProcess


def seconds(m: int, topology: str, d: int = 100, repeat: int = 9) -> float:
    """Median CPU seconds of one round."""
    rng = np.random.default_rng(0)
    task = tasks.Quadratic.diagonal(rng.uniform(0.5, 1.5, size=(m, d)), rng.normal(size=(m, d)), 0.1)
    run = Run(
        algorithms.DFedAvg(eta=0.05, K=2),
        task,
        graphs.topology(topology, m),
        10**6,
        range(1),
        0,
        None,
        OneProcess(),
    )
    taken = []
    with torch.no_grad():
        for t in range(repeat + 2):
            start = time.process_time()
            run.round(t)
            taken.append(time.process_time() - start)
    return statistics.median(taken[2:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="results/linear_in_m.png")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    sizes = np.unique(np.geomspace(100, 30_000, 9).astype(int))
    import matplotlib

    matplotlib.use("Agg")
    from pathlib import Path

    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for topology, marker in (("ring", "o"), ("torus", "s")):
        taken = np.array([seconds(int(m), topology) for m in sizes])
        large = sizes >= 1000
        exponent = np.polyfit(np.log(sizes[large]), np.log(taken[large]), 1)[0]
        print(
            f"{topology}: time ~ m^{exponent:.2f} for m >= 1000; {1e3 * taken[-1]:.1f} ms at m = {sizes[-1]}"
        )
        ax.loglog(sizes, 1e3 * taken, marker=marker, label=f"{topology}: $m^{{{exponent:.2f}}}$")
    ax.loglog(sizes, 1e3 * taken[-1] * sizes / sizes[-1], "k:", label="$m^1$")
    ax.set(xlabel="clients $m$", ylabel="ms a round (one thread)")
    ax.legend()
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=150)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
