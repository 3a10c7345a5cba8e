"""A bound and its terms as functions of one quantity, without a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dfltheory.bounds.reference import load
from dfltheory.errors import InputError
from dfltheory.plots.labels import literal
from dfltheory.plots.layout import set_text_size
from dfltheory.plots.look import looks, style
from dfltheory.plots.notation import in_symbols, symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dfltheory.bounds.theorem import Theorem


def places(theorem: Theorem, name: str, values: Mapping[str, float]) -> np.ndarray:
    """Return the values of a quantity at which :func:`terms_over` evaluates a bound.

    Parameters
    ----------
    theorem : Theorem
        The bound.
    name : str
        A quantity of the bound.
    values : mapping of str to float
        Values of the bound's quantities; ``values[name]`` is the center of the grid.

    Returns
    -------
    (n,) array
        Four decades around the center (by default 1, or 1000 for T), or a grid in
        (0, 1) if the quantity is at most 1. Values of integer quantities are integers.

    Raises
    ------
    InputError
        If the bound does not depend on ``name``, or its value is not positive.
    """
    if name not in theorem.needs:
        known = ", ".join(theorem.needs)
        raise InputError(
            f"{theorem} does not depend on {name!r}; choose one of {known}"
        )
    entry = theorem.glossary[name]
    if entry.high == 1:
        return np.linspace(0.01, 0.99, 200)
    center = float(values.get(name, 1000.0 if name == "T" else 1.0))
    if not (np.isfinite(center) and center > 0):
        raise InputError(
            f"{name} = {center:g} must be positive and finite (center of the axis)"
        )
    points = np.geomspace(center / 100, center * 100, 200)
    if entry.integer:
        return np.unique(np.maximum(np.round(points), entry.low))
    return points


def terms_over(
    theorem: Theorem | str, name: str, values: Mapping[str, float]
) -> Figure:
    """Draw a bound and its terms as functions of one quantity.

    The background is gray where a condition of the theorem fails.

    Parameters
    ----------
    theorem : Theorem or str
        The bound, or its key or file.
    name : str
        The quantity on the horizontal axis.
    values : mapping of str to float
        Values of all quantities of the bound; for ``name``, the center of the axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    InputError
        If the bound does not depend on ``name``, or is positive and finite nowhere.
    """
    from matplotlib.figure import Figure

    theorem = load(theorem)
    grid = places(theorem, name, values)
    arguments = {**values, name: grid}
    bound = theorem.evaluate(where="ignore", **arguments)
    bound = np.broadcast_to(bound, grid.shape)
    bound_if_allowed = theorem.evaluate(where="nan", **arguments)
    allowed = np.isfinite(np.broadcast_to(bound_if_allowed, grid.shape))
    positive = bound[np.isfinite(bound) & (bound > 0)]
    if not positive.size:
        raise InputError(
            f"{theorem}: the bound is positive and finite nowhere on the axis of {name}"
            " at these values, so there is nothing to draw"
        )
    with style():
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.add_subplot()
        terms = theorem.evaluate_terms(where="ignore", **arguments)
        _draw_curves(axes, grid, {"bound": bound, **terms})
        if not allowed.all():
            axes.fill_between(
                grid,
                0,
                1,
                where=~allowed,
                label="a condition fails",
                transform=axes.get_xaxis_transform(),
                color="0.88",
            )
        entry = theorem.glossary[name]
        axes.set(xscale="linear" if entry.high == 1 else "log", yscale="log")
        lowest = float(positive.max()) * 1e-12
        axes.set_ylim(bottom=max(axes.get_ylim()[0], lowest))
        meaning = in_symbols(entry.meaning.split(";")[0], theorem)
        axes.set_xlabel(f"{symbol(name, theorem)}  ({meaning})")
        refuted = " (refuted in general)" if theorem.status.refuted else ""
        title = literal(f"{theorem.title} [{theorem.variant}]{refuted}")
        axes.set(ylabel="bound and its terms", title=title)
        set_text_size(axes)
        figure.legend(loc="outside right upper")
    return figure


def _draw_curves(axes: Axes, grid: np.ndarray, curves: Mapping[str, ArrayLike]) -> None:
    """Draw all curves with a positive value; the bound is the widest line."""
    for (term, values), line_style in zip(curves.items(), looks()):
        curve = np.broadcast_to(values, grid.shape)
        if not np.any(curve > 0):
            continue
        axes.plot(
            grid,
            np.where(curve > 0, curve, np.nan),
            label=term,
            markevery=25,
            linewidth=2.6 if term == "bound" else 1.3,
            **line_style,
        )
