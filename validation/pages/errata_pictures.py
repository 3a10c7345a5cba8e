"""Pictures of the counterexamples on the pages of errata."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dfltheory.bounds.growth import paces
from dfltheory.bounds.theorem import Theorem
from dfltheory.files import read_json
from validation.pages.errata_statements import exact_family
from validation.papers import statement
from validation.papers.erratum import Erratum, StatementNote, erratum
from validation.papers.witness_comparison import bound_at, evaluate, points
from validation.searched import Outcome

STYLE: Any = {
    "svg.hashsalt": "errata",
    "svg.fonttype": "path",
    "font.size": 8,
}
SIZE = (6.4, 2.4)
"""Width and height in inches."""


def draw(note: StatementNote, docs: Path, file: Path) -> None:
    """Draw the clients' gradients, and the bounds over T.

    For a statement in O(.), draw the growth of measured/claimed along its saved family.
    """
    theorem = statement(note.claim)
    name = f"{theorem.key}-{theorem.variant}.json"
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        family = exact_family(note)
        if family is not None:
            _growth(figure.subplots(), family.parameter, family.values, family.ratios)
        elif theorem.order:
            saved = read_json(docs / "counterexamples" / name)
            found = saved["divergence"]
            growing = next(iter(paces(found["parameter"])))
            _growth(figure.subplots(), growing, found["values"], found["ratios"])
        else:
            simple = docs / "counterexamples" / "simple" / name
            slopes, bounds = figure.subplots(1, 2)
            _slopes(slopes, read_json(simple)["instance"]["task"])
            _bounds(bounds, erratum(note.example), statement(note.corrected))
        figure.savefig(file, metadata={"Date": None})


def _slopes(axes: Axes, task: Outcome) -> None:
    """Draw the derivative of each client, a constant plus ramps."""
    knots, widths = np.array(task["knots"]), np.array(task["widths"])
    ends = (knots + widths).max() + 0.7
    x = np.linspace(knots.min() - 0.7, ends, 400)
    for client, left in enumerate(task["left"]):
        y = np.full_like(x, left)
        for knot, width, slope in zip(
            task["knots"][client],
            task["widths"][client],
            task["slopes"][client],
            strict=True,
        ):
            y += slope * np.clip(x - knot, 0, width)
        style = "-" if client == 0 else "--"
        axes.plot(x, y, style, label=f"$f_{client + 1}'$")
    axes.axvline(0, color="gray", linewidth=0.6, linestyle=":")
    axes.set(title="the clients' gradients; start at 0", xlabel="x")
    axes.legend()


def _bounds(axes: Axes, entry: Erratum, corrected: Theorem) -> None:
    """Draw the measured value and both bounds over T."""
    witness = entry.witness
    assert witness is not None
    (values,) = points(witness)
    last = float(values["T"])
    horizons = [int(t) for t in np.geomspace(max(last / 10**4, 10), last * 3, 40)]
    left = float(evaluate(witness.left, values))
    axes.loglog(horizons, [left] * len(horizons), "k-", label="measured")
    for theorem, style in ((statement(witness.claim), "r--"), (corrected, "g-.")):
        name = "claimed" if theorem is not corrected else "corrected"
        bounds = [float(bound_at(theorem, {**values, "T": t})) for t in horizons]
        axes.loglog(horizons, bounds, style, label=name)
    axes.axvline(last, color="gray", linewidth=0.6, linestyle=":")
    axes.set(title="squared gradient", xlabel="T")
    axes.legend()


def _growth(
    axes: Axes, growing: str, values: Sequence[float], ratios: Sequence[float]
) -> None:
    """Draw measured/claimed along the members of a family."""
    axes.loglog(values, ratios, "ko-")
    axes.set(
        title="measured / claimed along a family of problems",
        xlabel=growing,
    )


__all__ = ["draw"]
