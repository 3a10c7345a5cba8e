"""The pictures of docs/atlas.md: the smallest bounds over planes of two constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.best_bounds import least_bounds
from dfltheory.bound_atlas import competitors
from dfltheory.plots import look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem

PLACE: dict[str, Any] = {
    "m": 16,
    "K": 5,
    "T": 1e4,
    "lam": 0.8,
    "L": 1.0,
    "sigma_l": 1.0,
    "sigma_g": 1.0,
    "B": 5.0,
    "S2": 26.0,
    "f0_gap": 1.0,
    "x0_sq": 1.0,
}
"""Constants of the tables, and the constants that are fixed in the planes."""
POINTS = 36
"""Number of values of each quantity of a plane."""
OPACITY = 0.55


@dataclass(frozen=True)
class Axis:
    """Values of a quantity from 10^low to 10^high; for lam, values of 1 - lam."""

    name: str
    low: float
    high: float

    @property
    def values(self) -> FloatArray:
        """The values, equally spaced on a logarithmic axis."""
        powers = 10.0 ** np.linspace(self.low, self.high, POINTS)
        if self.name == "lam":
            return 1 - powers
        whole = self.name in ("T", "m", "K")
        return np.unique(np.round(powers)) if whole else powers


@dataclass(frozen=True)
class Plane:
    """Two quantities and the title of their picture."""

    title: str
    across: Axis
    up: Axis


PLANES = {
    "gap": Plane("rounds against the network", Axis("T", 1, 7), Axis("lam", -4, 0)),
    "knowledge": Plane(
        "bounded gradients against heterogeneity",
        Axis("B", 0, 3),
        Axis("sigma_g", -1, 2),
    ),
    "clients": Plane("clients against rounds", Axis("T", 1, 13), Axis("m", 0.3, 4)),
    "noise": Plane(
        "local steps against noise", Axis("K", 0, 2.5), Axis("sigma_l", -1, 2)
    ),
    "start": Plane(
        "rounds against the start's gap", Axis("T", 1, 7), Axis("f0_gap", -2, 3)
    ),
}


def draw(folder: Path) -> None:
    """Draw each plane, with printed theorems on the left and corrected on the right."""
    import matplotlib.pyplot as plt

    groups = {kind: _compared(kind) for kind in ("printed", "corrected")}
    colors: dict[str, str] = {}
    for name, plane in PLANES.items():
        with look.style():
            figure, axes = plt.subplots(
                1, 2, figsize=(look.TWO_COLUMNS, 3.4), sharey=True, layout="constrained"
            )
            for ax, (kind, theorems) in zip(axes, groups.items(), strict=True):
                ax.set(title=f"{kind}: {plane.title}", xlabel=plane.across.name)
                _draw_plane(ax, plane, theorems, colors)
            axes[0].set_ylabel("1 - lam" if plane.up.name == "lam" else plane.up.name)
        look.write_figure(figure, folder / f"{name}.png")


def _compared(kind: str) -> list[Theorem]:
    """Return the printed or corrected theorems on networks, with constants."""
    return [
        theorem
        for theorem in competitors("grad_norm_sq")
        if theorem.kind == "theorem"
        and not theorem.order
        and "lam" not in theorem.schedule
        and theorem.scope.network != "none"
        and theorem.variant.split("_")[0] == kind
    ]


def _draw_plane(
    ax: Axes, plane: Plane, theorems: Sequence[Theorem], colors: dict[str, str]
) -> None:
    """Color the region in which each theorem's bound is smallest; draw its contours."""
    from matplotlib.colors import ListedColormap

    x, y = plane.across.values, plane.up.values
    which, bound = least_bounds(
        theorems, (plane.across.name, x), (plane.up.name, y), PLACE
    )
    if plane.across.name == "B":  # no problem has sigma_g > B
        impossible = np.greater.outer(y, x)
        which = np.where(impossible, -1, which)
        bound = np.where(impossible, np.nan, bound)
    height = 1 - y if plane.up.name == "lam" else y
    ax.set(xscale="log", yscale="log")  # before labels
    palette = [line["color"] for line in islice(look.looks(), 1, 7)]
    for index in np.unique(which[which >= 0]):
        theorem = theorems[index]
        color = colors.setdefault(str(theorem), palette[len(colors) % len(palette)])
        ax.pcolormesh(
            x,
            height,
            np.where(which == index, 1.0, np.nan),
            cmap=ListedColormap([color]),
            shading="nearest",
            alpha=OPACITY,
        )
        label = f"{theorem.key} {theorem.variant}"
        ax.plot([], [], "s", color=color, alpha=OPACITY, label=label)
    if (which >= 0).any():
        logarithms = np.log10(bound)
        first, last = np.nanmin(logarithms), np.nanmax(logarithms)
        decades = np.arange(math.floor(first), 1 + last)
        lines = ax.contour(x, height, logarithms, decades, colors="k", linewidths=0.6)
        ax.clabel(lines, fmt=_power_of_ten, fontsize=6)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=1)


def _power_of_ten(exponent: float) -> str:
    return f"$10^{{{exponent:.3g}}}$"


__all__ = ["PLACE", "PLANES", "draw"]
