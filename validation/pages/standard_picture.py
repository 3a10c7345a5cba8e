"""The figure of docs/standard.md, drawn from ``docs/standard.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfltheory import bounds
from dfltheory.plots import look
from validation.pages.standard import BOUNDS, SETTINGS, STEPS_BETWEEN, measured
from validation.pages.standard_table import ratio_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = ("o", "s", "^")


def label(key: str, variant: str) -> str:
    """Return a short label of a statement: author and number."""
    source = bounds.get(key, variant).source.split(", ")
    author = source[0].replace(" and Joshi", "").replace(" et al.", "")
    number = source[2].removeprefix("proof of ")
    number = number.replace("Theorem", "Thm.").replace("Corollary", "Cor.")
    steps = f", $K$ = {STEPS_BETWEEN}" if "_network" in key else ""
    long = ", long" if key.endswith("_long") else ""
    tuned = ", tuned" if key.endswith("_tuned") else ""
    return f"{author}: {number}{steps}{long}{tuned}"


def paper_standard() -> Axes:
    """Draw bound / measured value of each statement in each setting."""
    import matplotlib.pyplot as plt

    rows = {name: i for i, name in enumerate(reversed(BOUNDS))}
    with look.style():
        figure, ax = plt.subplots(figsize=(look.ONE_COLUMN, 3.8), layout="constrained")
        for setting, marker in zip(SETTINGS, MARKERS, strict=True):
            x, y = [], []
            for entry in measured():
                if entry["setting"] == setting.title and "bound" in entry:
                    x.append(ratio_of(entry))
                    y.append(rows[entry["key"], entry["variant"]])
            ax.semilogx(x, y, marker, markersize=4, label=setting.title)
        ax.axvline(1.0, color="black", linewidth=0.8)
        ax.set_yticks(list(rows.values()), [label(*name) for name in rows])
        ax.set_xlabel("bound / measured value", loc="right")
        figure.legend(loc="outside lower center")
    return ax
