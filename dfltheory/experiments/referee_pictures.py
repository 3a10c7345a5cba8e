"""Pictures of a referee's page: the refutation, and where a bound is informative."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.best_bounds import best_bounds, yardstick
from dfltheory.bounds.display import expression_latex
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.everyday import everyday
from dfltheory.checks.vacuous import trivials
from dfltheory.counterexamples import core, score
from dfltheory.counterexamples.aggregates import at_T
from dfltheory.counterexamples.candidate_values import counterexample_values
from dfltheory.counterexamples.document import built, read_document
from dfltheory.counterexamples.saved import instance_of
from dfltheory.experiments.html_text import html_text
from dfltheory.plots import look

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _svg(figure: Figure) -> Markup:
    """Return a figure as SVG for the page; equal figures have equal SVG."""
    import matplotlib as mpl
    from markupsafe import Markup

    out = io.StringIO()
    with look.style(), mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return Markup(out.getvalue()[out.getvalue().index("<svg") :])


def _axes(x: str, y: str) -> tuple[Figure, Axes]:
    """Return a figure with logarithmic axes that have these labels, and the axes."""
    from matplotlib.figure import Figure

    with look.style():
        figure = Figure(figsize=(look.TWO_COLUMNS, 3.5))
        return figure, figure.add_subplot(
            xscale="log", yscale="log", xlabel=x, ylabel=y
        )


def refutation_picture(
    file: Path, theorem: Theorem, instead: Theorem | None
) -> tuple[Markup | None, str]:
    """Return a picture of the saved counterexample, and its caption.

    At each horizon it shows the measured value, the printed bound and the corrected
    bound; for O(.) it shows the ratio along the family.
    """
    document = read_document(file)
    if not (document.get("violated") or document.get("growing")):
        return None, ""
    if theorem.order:
        family = document["divergence"]
        figure, axes = _axes(
            family["parameter"], "measured / claimed, relative to the first"
        )
        ratios = np.asarray(family["ratios"], dtype=float)
        axes.plot(family["values"], ratios / ratios[0], **look.MEANINGS["printed"])
        return (
            _svg(figure),
            "A family of problems inside all assumptions, along which the ratio grows.",
        )
    horizons, lines = _values_at_horizons(file, theorem, instead)
    figure, axes = _axes("rounds $T$", "left-hand side and bounds")
    for name, values in lines.items():
        axes.plot(
            horizons,
            values,
            label=name,
            markevery=10,
            **{"measured": look.MEASURED, **look.MEANINGS}[name],
        )
    axes.legend(frameon=False)
    note = ""
    if instead is not None and instead.lhs.aggregate != theorem.lhs.aggregate:
        note = _OTHER_AGGREGATE
    return (
        _svg(figure),
        (
            f"The saved instance at the horizons T: measured {document['ratio']:.3g}"
            f" times the printed bound at T = {document['exact']['T']:.3g}; its exact"
            f" constants in both bounds.{note}"
        ),
    )


_OTHER_AGGREGATE = (
    " The corrected bound is one of the mean over the rounds, which is no less than the"
    " least of them."
)


def _values_at_horizons(
    file: Path, theorem: Theorem, instead: Theorem | None
) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """Return the horizons of a saved instance, and measured values and bounds there.

    Horizons end at that of the instance, and the bounds are evaluated at its constants.
    """
    instance = built(instance_of(file)[0])
    batch, T = core.CandidateBatch.of(instance), instance.rounds
    run = instance.run(rounds=min(T + 2, 50), progress=False)
    values = counterexample_values(run, theorem, batch, T)
    path = score.followed(theorem, batch, T)
    numbers = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    data = score.measure_by_round(theorem, batch, path, numbers)
    horizons = np.unique(np.round(np.geomspace(2, max(T, 3), 60)))
    measured = [float(at_T(theorem, data, int(h), path.cycle)[0]) for h in horizons]
    lines = {"measured": np.array(measured)}
    for name, bound in (("printed", theorem), ("corrected", instead)):
        if (
            bound is not None
            and bound.lhs.measure == theorem.lhs.measure
            # a bound of the mean is also a bound of the minimum
            and (theorem.lhs.aggregate, bound.lhs.aggregate)
            in (("min", "mean"), (bound.lhs.aggregate,) * 2)
            and set(bound.needs) <= {*values, "T"}
        ):
            constants = {
                n: np.full(len(horizons), float(np.max(values[n])))
                for n in bound.needs
                if n != "T"
            }
            lines[name] = np.broadcast_to(
                bound.evaluate(where="nan", **constants, T=horizons), len(horizons)
            )
    return horizons, lines


def phase_picture(theorem: Theorem) -> tuple[Markup | None, str]:
    """Return a picture of where the bound is informative, over T and the spectral gap.

    Elsewhere the bound is vacuous, or no step size satisfies the conditions.
    """
    gap = next((name for name in ("lam", "q") if name in theorem.needs), None)
    known = trivials(theorem)
    many = len(theorem.step_names) > 2  # too many to optimize
    if not known or theorem.order or gap is None or many or "T" not in theorem.needs:
        return None, ""
    T, gaps = 10.0 ** np.linspace(0, 12, 49), 10.0 ** np.linspace(-4, 0, 33)
    over = {gap: np.repeat(1 - gaps, len(T)), "T": np.tile(np.round(T), len(gaps))}
    usual = everyday(
        (n for n in theorem.needs if n not in (*over, *theorem.step_names)),
        theorem.glossary,
    )
    bound, _ = best_bounds(theorem, usual | over)
    ratio = (bound / yardstick(theorem, usual | over)).reshape(len(gaps), len(T))
    kinds = np.select([ratio < 1, np.isfinite(ratio)], [2, 1], 0)
    figure, axes = _axes("rounds $T$", rf"$1 - {theorem.glossary[gap].latex}$")
    from matplotlib.colors import ListedColormap

    colors = ("#d9d9d9", "#f0c36d", "#63b88f")
    axes.pcolormesh(
        T,
        gaps,
        kinds,
        cmap=ListedColormap(colors),
        vmin=0,
        vmax=2,
        shading="nearest",
        rasterized=True,
    )
    for color, label in zip(
        colors, ("not applicable", "vacuous", "informative"), strict=True
    ):
        axes.plot([], [], "s", color=color, label=label)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    constants = ", ".join(
        f"${theorem.glossary[name].latex} = {value:g}$" for name, value in usual.items()
    )
    without = " or ".join(f"${expression_latex(limit, theorem)}$" for _, limit in known)
    return _svg(figure), html_text(
        f"At {constants}, with the best step sizes at each point. Vacuous: the bound"
        f" says no more than {without}, which is known without it; not applicable: no"
        " step size meets the conditions."
    )


__all__ = ["phase_picture", "refutation_picture"]
