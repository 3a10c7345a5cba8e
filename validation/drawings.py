"""How each picture of docs/figures is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = Path(__file__).parent.parent / "docs/figures/linear_in_m.json"


def quadratic() -> Figure:
    """DFedSAM's Theorem 4.5 over measured runs, on four topologies, Q = 1 and 4."""
    from dfltheory.analysis.experiment import perform_all
    from dfltheory.analysis.plots import panels
    from validation.dfedsam_theorem_4_5 import quadratic_cases

    return panels(perform_all(quadratic_cases(quick=True)))


def linear_in_m() -> Figure:
    """Time of a round over the number of clients, from recorded times."""
    import matplotlib.pyplot as plt

    from dfltheory.analysis.figures import looks
    from dfltheory.analysis.plots import style
    from dfltheory.analysis.rate_fit import fit_exponent

    recorded = json.loads(TIMES.read_text(encoding="utf-8"))
    m = np.array(recorded["m"], dtype=float)
    with style():
        figure = plt.figure(figsize=(4.4, 3.0), layout="constrained")
        ax = figure.gca()
        last = max(taken[-1] for taken in recorded["seconds"].values())
        ax.plot(m, 1e3 * last * m / m[-1], color="0.6", linewidth=4, zorder=1, label="$m^1$")
        for (name, taken), look in zip(recorded["seconds"].items(), looks()):
            e = fit_exponent(m[m >= 1000], np.array(taken)[m >= 1000], bend=False)
            label = f"{name}: $m^{{{e.estimate:.2f}}}$, [{e.low:.2f}, {e.high:.2f}] for $m \\geq 1000$"
            ax.plot(m, 1e3 * np.array(taken), label=label, **look)
        ax.set(xscale="log", yscale="log", xlabel="clients $m$", ylabel="ms a round (one thread)")
        ax.legend(loc="upper left")
    return figure


def measure_times(to: Path = TIMES) -> None:
    """Record the CPU seconds of a round on rings and tori, with the benchmark's own stop-watch."""
    import platform

    from benchmarks.linear_in_m import seconds
    from dfltheory.files import write_json

    sizes = [int(m) for m in np.unique(np.geomspace(100, 30_000, 9).astype(int))]
    taken = {name: [seconds(m, name) for m in sizes] for name in ("ring", "torus")}
    measured = "median CPU seconds of a round of DFedAvg, K = 2, d = 100, float64, one thread"
    write_json(to, {"what": measured, "machine": platform.machine(), "m": sizes, "seconds": taken})


DRAWINGS: dict[str, tuple[Callable[[], Figure], str]] = {
    "quadratic": (quadratic, "the runs of `make validate` in `validation/dfedsam_theorem_4_5.py`"),
    "linear_in_m": (linear_in_m, "recorded times, `docs/figures/linear_in_m.json` (anew: `--measure`)"),
}
"""Name -> how it is drawn, and from what."""
