"""The pictures of docs/atlas.md: least bounds over planes, bounds over the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dfltheory.best_bounds import best_bounds, least, missing_computed
from dfltheory.bound_atlas import competitors
from dfltheory.typical_quadratics import expectation

PLACE: dict[str, float] = {
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
"""Where the tables are made, and what the planes' other quantities are."""

PLANES: dict[str, tuple[str, tuple[str, Any], tuple[str, Any]]] = {
    "gap": ("rounds against the network", ("T", (1, 7)), ("lam", None)),
    "knowledge": (
        "bounded gradients against heterogeneity",
        ("B", (0, 3)),
        ("sigma_g", (-1, 2)),
    ),
    "clients": ("clients against rounds", ("T", (1, 13)), ("m", (0.3, 4))),
    "noise": ("local steps against noise", ("K", (0, 2.5)), ("sigma_l", (-1, 2))),
    "start": ("rounds against the start's gap", ("T", (1, 7)), ("f0_gap", (-2, 3))),
}


def _axis(
    name: str, ends: tuple[float, float] | None, count: int = 36
) -> tuple[str, Any]:
    if ends is None:  # a share that comes close to 1
        return name, 1 - 10.0 ** np.linspace(-4, 0, count)
    values = 10.0 ** np.linspace(*ends, count)
    return name, np.unique(np.round(values)) if name in ("T", "m", "K") else values


def _power_of_ten(exponent: float) -> str:
    return f"$10^{{{exponent:.3g}}}$"


def draw(folder: Path) -> Iterator[Path]:
    """Draw the planes, and the bounds over T above the exact expectation."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    from dfltheory.files import replacing
    from dfltheory.plots import look

    known = [
        t
        for t in competitors("grad_norm_sq")
        if t.kind == "theorem" and not t.order and "lam" not in t.schedule
    ]
    known = [t for t in known if t.scope.network != "none"]
    halves = {
        "printed": [t for t in known if t.variant.split("_")[0] == "printed"],
        "corrected": [t for t in known if t.variant.split("_")[0] == "corrected"],
    }
    palette = [style["color"] for style, _ in zip(look.looks(), range(7))][1:]

    def kept(figure: Any, name: str) -> Path:
        path = folder / f"{name}.png"
        with replacing(path) as temporary, look.style():
            figure.savefig(temporary)
        plt.close(figure)
        return path

    colors: dict[str, str] = {}
    for name, (title, across, up) in PLANES.items():
        x, y = _axis(*across), _axis(*up)
        with look.style():
            figure, axes = plt.subplots(
                1, 2, figsize=(look.TWO_COLUMNS, 3.4), sharey=True, layout="constrained"
            )
            for ax, (kind, group) in zip(axes, halves.items(), strict=True):
                which, bound = least(group, x, y, PLACE)
                if {x[0], y[0]} == {"B", "sigma_g"}:  # no problem has sigma_g > B
                    beyond = (
                        np.subtract.outer(y[1], x[1]) * (1 if x[0] == "B" else -1) > 0
                    )
                    which, bound = (
                        np.where(beyond, -1, which),
                        np.where(beyond, np.nan, bound),
                    )
                height = 1 - y[1] if y[0] == "lam" else y[1]
                # before labels
                ax.set(
                    xscale="log", yscale="log", xlabel=x[0], title=f"{kind}: {title}"
                )
                for k in [k for k in np.unique(which) if k >= 0]:
                    color = colors.setdefault(
                        str(group[k]), palette[len(colors) % len(palette)]
                    )
                    paint: Any = {
                        "cmap": ListedColormap([color]),
                        "shading": "nearest",
                        "alpha": 0.55,
                    }
                    ax.pcolormesh(
                        x[1], height, np.where(which == k, 1.0, np.nan), **paint
                    )
                    ax.plot(
                        [],
                        [],
                        "s",
                        color=color,
                        alpha=0.55,
                        label=f"{group[k].key} {group[k].variant}",
                    )
                if (which >= 0).any():
                    decades = np.arange(
                        math.floor(np.nanmin(np.log10(bound))),
                        1 + np.nanmax(np.log10(bound)),
                    )
                    lines = ax.contour(
                        x[1],
                        height,
                        np.log10(bound),
                        decades,
                        colors="k",
                        linewidths=0.6,
                    )
                    ax.clabel(lines, fmt=_power_of_ten, fontsize=6)
                ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=1)
            axes[0].set_ylabel("1 - lam" if y[0] == "lam" else y[0])
        yield kept(figure, name)
    T = np.unique(np.round(10.0 ** np.linspace(0, 7, 57)))
    with look.style():
        figure, ax = plt.subplots(figsize=(look.TWO_COLUMNS, 3.6), layout="constrained")
        chosen = [
            t
            for t in known
            if t.key == "dfedsam.theorem_4_5"
            and t.variant in ("printed", "corrected", "corrected_less_noise")
        ]
        for theorem, style in zip(chosen, look.looks()):
            bound, steps = best_bounds(theorem, {**PLACE, "T": T})
            ax.loglog(
                T,
                bound,
                label=f"{theorem.variant}: bound at its best eta",
                markevery=8,
                **style,
            )
            few = range(0, len(T), 4)
            truth = [
                expectation(
                    theorem, {**PLACE, "T": T[i]}, {"eta": steps["eta"][i]}, None
                )
                for i in few
            ]
            ax.loglog(
                T[::4],
                truth,
                ":",
                color=style["color"],
                label=f"{theorem.variant}: exactly, at that eta",
            )
        ax.axhline(
            2 * PLACE["L"] * PLACE["f0_gap"],
            color="0.5",
            linewidth=0.8,
            label="known without a theorem",
        )
        ax.set(
            xlabel="T",
            ylabel="E||grad f||^2",
            title="dfedsam.theorem_4_5 over the ground truth on quadratics",
        )
        ax.legend(loc="lower left")
    yield kept(figure, "truth")
    yield kept(_over_the_floor(look), "floor")


def _over_the_floor(look: Any) -> Any:
    """Draw bounds of f - f* on convex functions above the lower bound."""
    import matplotlib.pyplot as plt

    T, place = (
        np.unique(np.round(10.0 ** np.linspace(0, 5, 41))),
        {**PLACE, "sigma_l": 0.0, "x_star_sq": 1.0},
    )
    place |= {
        "mu": 0.0,
        "mu_each": 0.0,
        "sigma_star": 0.3,
        "beta": 0.3,
        "f0_gap": PLACE["L"] / 2,
        "T": T,
    }
    asked = [
        t
        for t in competitors("f_gap")
        if {"mu", "mu_each"} & set(t.needs)
        and not t.order
        and not missing_computed(t, place)
    ]
    bounds = [(t, best_bounds(t, place)[0]) for t in asked]
    known = {t: b for t, b in bounds if np.isfinite(b).sum() > 1 and (b > 0).all()}
    least: dict[str, Any] = {}  # of each paper
    last = {theorem: bound[-1] for theorem, bound in known.items()}
    for theorem in sorted(last, key=last.__getitem__, reverse=True):
        least[f"{theorem.kind == 'lower bound'}{theorem.key.split('.')[0]}"] = theorem
    with look.style():
        figure, ax = plt.subplots(figsize=(look.TWO_COLUMNS, 3.6), layout="constrained")
        styles = look.looks()
        for theorem in least.values():
            if theorem.kind == "lower bound":
                name, bound = (
                    f"below {theorem.key}:\nno first-order method",
                    known[theorem],
                )
                ax.fill_between(T, bound, bound.min() / 10, color="0.85", label=name)
            else:
                ax.loglog(
                    T, known[theorem], label=theorem.key, markevery=8, **next(styles)
                )
        ax.set(
            xlabel="T",
            ylabel="f - f*",
            xscale="log",
            yscale="log",
            title="convex functions, exact gradients",
        )
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


__all__ = ["PLACE", "PLANES", "draw"]
