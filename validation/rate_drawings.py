"""Functions that draw measured and predicted rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory import bounds
from dfltheory.arrays import FloatArray
from dfltheory.plots import look, looks, style
from dfltheory.rates import measure, rate_fit, transient_time
from validation.rates import clients, clients_over

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE = ("dfedsam.corollary_4_6", "corrected")
RATES: dict[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "T": ("noise alone", {"sigma_l": 1.0, "K": 2}, (1e8, 1e9, 1e10, 1e11)),
    "K": ("noise alone", {"T": 10**9, "sigma_l": 1.0}, (1, 2, 4, 8, 16)),
    "m": ("noise alone", {"T": 10**9, "sigma_l": 1.0, "K": 2}, (2, 4, 8, 16)),
    "sigma_l": ("noise alone", {"T": 10**9, "K": 2}, (0.5, 1, 2, 4)),
    "1 - lam": (
        "heterogeneity alone",
        {"T": 10**10, "sigma_g": 1.0, "K": 2, "m": 4},
        (0.1, 0.05, 0.025, 0.0125),
    ),
    "rho0": (
        "SAM, real runs",
        {"T": 400, "sigma_g": 1.0, "m": 4, "gap": 1.0, "seeds": 1},
        (1, 2, 4, 8),
    ),
}
"""Varied quantity -> the only source of error, the constants of the experiment, and the
values of the quantity.
"""


def rates() -> Figure:
    """Draw measured exponents and those predicted by DFedSAM's corrected rate.

    The left-hand side and the bound under the schedule are drawn over T, K, m, sigma_l,
    1 - lam and rho0.
    """
    import matplotlib.pyplot as plt

    with style():
        figure, grid = plt.subplots(2, 3, figsize=(7.4, 4.6), layout="constrained")
        theorem = bounds.get(*RATE)
        for ax, (vary, (alone, given, values)) in zip(grid.flat, RATES.items()):
            fit = rate_fit(theorem, clients_over(theorem, vary, **given), vary, values)
            fit.plot(ax, legend=False)
            line_style = look.MEANINGS["corrected"] | {"markersize": 3}
            ax.plot(fit.x, fit.bound, label="bound", **line_style)
            e = fit.exponent
            note = (
                f"{e.estimate:.2f} [{e.low:.2f}, {e.high:.2f}], predicted"
                f" {fit.predicted:.3g}"
            )
            ax.set_title(f"{alone}: {fit.verdict}\n{note}")
            ax.set_ylabel(ax.get_ylabel() if ax in grid[:, 0] else "")
        names = {
            "measured": "measured",
            "fit": "fitted power law",
            "predicted": "predicted by the registry",
            "bound": "bound, corrected",
        }
        handles, labels = grid[0, 0].get_legend_handles_labels()
        drawn = dict(zip((label.split(",")[0] for label in labels), handles))
        shown = [drawn[label] for label in names]
        figure.legend(shown, list(names.values()), loc="outside lower center", ncols=4)
    return figure


def speed_up() -> Figure:
    """Draw by which factor m clients improve on one, and the transient times.

    Averaging over clients reduces the noise, but on a poorly connected network not the
    error from heterogeneity.
    """
    import matplotlib.pyplot as plt

    theorem, horizons = bounds.get(*RATE), np.geomspace(1e4, 1e13, 28)

    def left_hand_sides(m: int, sigma_g: float) -> FloatArray:
        values = []
        for horizon in horizons:
            experiment = clients(
                theorem, T=horizon, m=m, sigma_l=1.0, sigma_g=sigma_g, gap=0.05
            )
            values.append(measure(experiment, theorem).estimate)
        return np.array(values)

    single_client = left_hand_sides(m=1, sigma_g=0.0)
    with style():
        figure, ax = plt.subplots(figsize=(4.4, 3.2), layout="constrained")
        for m, line_style in zip((2, 4, 8, 16), looks()):
            speed_ups = single_client / left_hand_sides(m=m, sigma_g=3.0)
            ax.plot(horizons, speed_ups, markevery=3, label=f"m = {m}", **line_style)
            ax.axhline(m, color="0.7", linewidth=0.8, zorder=0)
            time = transient_time(
                theorem, clients(theorem, m=m, sigma_l=1.0, sigma_g=3.0, gap=0.05)
            )
            assert time is not None
            ax.plot([time], [m / 2], "*", color="black", markersize=7, zorder=3)
        ax.plot([], [], "k*", linestyle="none", label="transient time")
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="horizon $T$",
            ylabel="times better than one client",
        )
        ax.set_yticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        ax.minorticks_off()
        ax.set_ylim(0.7, 20)
        ax.set_title("linear speed-up, half of it from the transient time on")
        ax.legend(loc="upper left")
    return figure
