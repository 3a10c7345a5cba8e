"""How each picture of docs/figures is drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


RATE = ("dfedsam.corollary_4_6", "corrected")
RATES: dict[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "T": ("noise alone", {"sigma_l": 1.0, "K": 2}, (1e8, 1e9, 1e10, 1e11)),
    "K": ("noise alone", {"T": 10**9, "sigma_l": 1.0}, (1, 2, 4, 8, 16)),
    "m": ("noise alone", {"T": 10**9, "sigma_l": 1.0, "K": 2}, (2, 4, 8, 16)),
    "sigma_l": ("noise alone", {"T": 10**9, "K": 2}, (0.5, 1, 2, 4)),
    "gap": ("heterogeneity alone", {"T": 10**10, "sigma_g": 1.0, "K": 2, "m": 4}, (0.1, 0.05, 0.025, 0.0125)),
    "rho": ("SAM, real runs", {"T": 400, "sigma_g": 1.0, "m": 4, "gap": 1.0, "seeds": 1}, (1, 2, 4, 8)),
}
"""Parameter -> what is alone there, the setting in which it is, and the values."""


def rates() -> Figure:
    """Six exponents of DFedSAM's corrected corollary, measured at its schedule and predicted by its rate."""
    import matplotlib.pyplot as plt

    from dfltheory.analysis.plots import style
    from dfltheory.analysis.rate_fit import Setting, rate_fit

    with style():
        figure, grid = plt.subplots(2, 3, figsize=(7.4, 4.6), layout="constrained")
        for ax, (parameter, (alone, given, values)) in zip(grid.flat, RATES.items()):
            fit = rate_fit(RATE[0], Setting(**given), parameter, values, variant=RATE[1])
            fit.plot(ax, legend=False)
            e = fit.exponent
            told = f"{e.estimate:.2f} [{e.low:.2f}, {e.high:.2f}], predicted {fit.predicted:.3g}"
            ax.set_title(f"{alone}: {fit.standing}\n{told}")
            ax.set_ylabel(ax.get_ylabel() if ax in grid[:, 0] else "")
        names = ("measured", "fitted power law", "predicted by the registry")
        drawn = dict(zip((h.get_label().split(",")[0] for h in _handles(grid[0, 0])), _handles(grid[0, 0])))
        handles = [drawn[label] for label in ("measured", "fit", "predicted")]
        figure.legend(handles, names, loc="outside lower center", ncols=3)
    return figure


def _handles(ax: Any) -> list[Any]:
    return ax.get_legend_handles_labels()[0]


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
    "rates": (
        rates,
        "exact expectations and SAM runs at the schedule, and the registry's `{}` ({})".format(*RATE),
    ),
    "linear_in_m": (linear_in_m, "recorded times, `docs/figures/linear_in_m.json` (anew: `--measure`)"),
}
"""Name -> how it is drawn, and from what."""
