"""Figures of runs, bounds and verdicts with matplotlib.

Most functions take axes and return axes. Lines differ in dashes and markers as well as
in color, so that figures can be read in grayscale.

``verdicts`` draws the verdicts on one run, ``panels`` those on a group of runs.
``runs`` compares runs with each other, ``sweeps`` the cells of a sweep, and ``theorem``
draws a bound without a run. ``horizons`` evaluates what is drawn over the horizon, and
``look`` holds the shared style. :func:`save` writes PNG, PDF and SVG files.

>>> ax = plots.consensus({"ring": run_ring, "complete": run_complete})  # doctest: +SKIP
>>> plots.save(ax.figure, "figures", "consensus")                       # doctest: +SKIP
"""

from dfltheory.plots.horizons import bound_over, running_left_hand_side
from dfltheory.plots.look import MEANINGS, formula, looks, save, style
from dfltheory.plots.panels import along, panels
from dfltheory.plots.runs import (
    MEASURES,
    Labelled,
    band,
    bound_versus_empirical,
    comparison,
    consensus,
    terms,
    tightness,
)
from dfltheory.plots.sweeps import rate, ratios
from dfltheory.plots.verdicts import by_left_side, draw, families

__all__ = [
    "MEANINGS",
    "MEASURES",
    "Labelled",
    "along",
    "band",
    "bound_over",
    "bound_versus_empirical",
    "by_left_side",
    "comparison",
    "consensus",
    "draw",
    "families",
    "formula",
    "looks",
    "panels",
    "rate",
    "ratios",
    "running_left_hand_side",
    "save",
    "style",
    "terms",
    "tightness",
]
