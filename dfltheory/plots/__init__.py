"""Figures: matplotlib Axes in, Axes out; told apart by dashes and markers as well as by colors.

``verdicts`` draws what verdicts say of one run, ``panels`` those of a whole study, ``runs`` compares runs
with each other, and ``look`` is what all share; ``save`` writes PNG, PDF and SVG.

>>> ax = plots.consensus({"ring": run_ring, "complete": run_complete})  # doctest: +SKIP
>>> plots.save(ax.figure, "figures", "consensus")                       # doctest: +SKIP
"""

from dfltheory.plots.look import MEANINGS, formula, looks, save, style
from dfltheory.plots.panels import along, panels
from dfltheory.plots.runs import (
    MEASURES,
    Labelled,
    band,
    bound_versus_empirical,
    comparison,
    consensus,
    rate,
    ratios,
    terms,
    tightness,
)
from dfltheory.plots.verdicts import bound_over, by_left_side, draw, families, running_left_hand_side

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
