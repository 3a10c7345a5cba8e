"""The terms of a bound over one of its quantities, drawn without a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError
from dfltheory.plots.look import looks, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dfltheory.bounds.theorem import Theorem


def places(theorem: Theorem, name: str, values: Mapping[str, Any]) -> np.ndarray:
    """Where to draw over ``name``: around its given value, four orders of magnitude, or its whole range."""
    if name not in theorem.needs:
        raise InputError(f"{theorem} does not depend on {name!r}; it depends on {', '.join(theorem.needs)}")
    entry = GLOSSARY[name]
    if entry.high == 1:
        return np.linspace(0.01, 0.99, 200)
    center = float(values.get(name, 1000.0 if name == "T" else 1.0))
    if not (np.isfinite(center) and center > 0):
        raise InputError(f"{name} = {center:g}: the drawing is over four decades around it, so give it > 0")
    points = np.geomspace(center / 100, center * 100, 200)
    return np.unique(np.maximum(np.round(points), entry.low)) if entry.whole else points


def terms_over(theorem: Theorem, name: str, values: Mapping[str, Any]) -> Figure:
    """Each term and the bound over ``name`` on logarithmic axes; gray where a condition fails."""
    from matplotlib.figure import Figure

    over = places(theorem, name, values)
    given = {**values, name: over}
    total = np.broadcast_to(theorem.evaluate(where="ignore", **given), over.shape)
    allowed = np.isfinite(np.broadcast_to(theorem.evaluate(where="nan", **given), over.shape))
    drawn = total[np.isfinite(total) & (total > 0)]
    if not drawn.size:
        raise InputError(
            f"{theorem} is nowhere a positive number over {name} at these values: nothing to draw"
        )
    with style():
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.add_subplot()
        curves = {"bound": total, **theorem.evaluate_terms(where="ignore", **given)}
        for (term, value), look in zip(curves.items(), looks()):
            curve = np.broadcast_to(value, over.shape)
            if np.any(curve > 0):
                axes.plot(
                    over,
                    np.where(curve > 0, curve, np.nan),
                    label=term,
                    markevery=25,
                    **look,
                    linewidth=2.6 if term == "bound" else 1.3,
                )
        if not allowed.all():
            gray: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "color": "0.88"}
            axes.fill_between(over, 0, 1, where=~allowed, label="a condition fails", **gray)
        axes.set(xscale="linear" if GLOSSARY[name].high == 1 else "log", yscale="log")
        axes.set_ylim(bottom=max(axes.get_ylim()[0], float(drawn.max()) * 1e-12))
        axes.set_xlabel(rf"${GLOSSARY[name].latex}$  ({GLOSSARY[name].meaning.split(';')[0]})")
        refuted = " (refuted in general)" if theorem.status.refuted else ""
        title = f"{theorem.title} [{theorem.variant}]{refuted}"
        axes.set(ylabel="bound and its terms", title=title)
        figure.legend(loc="outside right upper")
    return figure
