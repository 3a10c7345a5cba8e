"""Figures of runs, bounds and verdicts with matplotlib.

Each function takes axes and returns axes, or makes a figure for one or two columns of
a paper. Lines differ in dashes and markers as well as in color, so that figures can be
read in grayscale. Three parameters are shared:

===========  ===========================================================================
``ax``       the matplotlib axes to draw on; by default those of a new figure. Labels,
             ticks, legend and notes have 8 points on both; a title is never changed
``legend``   whether to draw a legend, below the axes; it states how far bounds are
             above the measurements, and for theorems that are not applicable, why, and
             what would make them apply
``columns``  1 or 2, the columns of a paper that a new figure spans
===========  ===========================================================================

If the figure of given axes has no layout engine, the constrained layout of matplotlib
is used so that the legend is not cut off, and the figure is made taller if the legend
would leave too little room. Axes outside of a layout have the legend inside. The first
figure sets ``pdf.fonttype`` and ``ps.fonttype`` of matplotlib to 42 (TrueType), since
publishers reject Type 3 fonts.

=======================  ===============================================================
:func:`curves`           measured left-hand side and bounds over the horizon; the first
                         figure of a paper
:func:`terms`            a bound and its terms over the horizon
:func:`tightness`        measured / bound over the horizon
:func:`ratio_over`       measured / bound over a parameter of a sweep, as K, m, Q
:func:`rates`            fitted and predicted exponents
:func:`networks`         measured value and bounds on several networks
:func:`learning_curves`  accuracy, loss or another measure of several algorithms over
                         the rounds or over the amount of communication
:func:`clients`          accuracy or loss of the individual clients of a run
:func:`comparison`       a measure of several runs over the rounds
:func:`panels`           a panel for each run of a study or a sweep
=======================  ===============================================================

:func:`save` writes a figure with embedded TrueType fonts.

>>> verdict = dfl.compare(run, "dfedsam.theorem_4_5")               # doctest: +SKIP
>>> ax = dfl.plots.curves(verdict)                                  # doctest: +SKIP
>>> dfl.plots.save(ax.figure, "bound.pdf")                          # doctest: +SKIP
"""

from dfltheory.plots.curves import curves
from dfltheory.plots.fitted_rates import rate, rates
from dfltheory.plots.groups import by_left_side, families
from dfltheory.plots.horizons import bound_over, running_left_hand_side
from dfltheory.plots.labels import formula
from dfltheory.plots.learning import clients, learning_curves
from dfltheory.plots.look import MEANINGS, looks, save, style
from dfltheory.plots.networks import networks
from dfltheory.plots.panels import along, panels
from dfltheory.plots.runs import (
    MEASURES,
    Labelled,
    band,
    comparison,
    consensus,
    terms,
    tightness,
)
from dfltheory.plots.sweeps import axis_name, ratio_over

__all__ = [
    "MEANINGS",
    "MEASURES",
    "Labelled",
    "along",
    "axis_name",
    "band",
    "bound_over",
    "by_left_side",
    "clients",
    "comparison",
    "consensus",
    "curves",
    "families",
    "formula",
    "learning_curves",
    "looks",
    "networks",
    "panels",
    "rate",
    "rates",
    "ratio_over",
    "running_left_hand_side",
    "save",
    "style",
    "terms",
    "tightness",
]
