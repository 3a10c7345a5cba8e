"""Measured values and bounds of one experiment on several networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.errors import InputError
from dfltheory.plots import look
from dfltheory.plots.horizons import VerdictLike, mean_band
from dfltheory.plots.labels import formula, gap_label, literal, times_measured
from dfltheory.plots.verdicts import (
    families,
    notes,
    refuted_note,
    require_one_left_side,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALL_TICKS = 4
"""Number of names from which on they are written smaller."""


def networks(
    verdicts: Mapping[str, VerdictLike | Sequence[VerdictLike]],
    ax: Axes | None = None,
    *,
    legend: bool = True,
    columns: int = 1,
) -> Axes:
    """Draw the measured left-hand side and the bounds on several networks.

    The networks are in the order of their spectral gaps, the best connected first.
    Next to each bound is written how many times the measured value it is. Below the
    axes is written which bounds do not apply, and what would make them apply.

    Parameters
    ----------
    verdicts : mapping
        Names of networks -> verdicts on the run on that network.
    ax, legend, columns
        Axes, legend and width, as :mod:`dfltheory.plots` describes them.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If there is no verdict, or the verdicts bound different left-hand sides.
    """
    named: dict[str, list[VerdictLike]] = {}
    for name, members in verdicts.items():
        listed = list(members) if isinstance(members, Sequence) else [members]
        named[str(name)] = listed
    if not any(named.values()):
        raise InputError("there is no verdict to draw: give at least one")
    require_one_left_side([v for members in named.values() for v in members])
    contractions = {name: _lam(members[0]) for name, members in named.items()}
    ordered = sorted(named, key=contractions.__getitem__)
    from matplotlib.lines import Line2D

    with look.style():
        drawn = look.axes(ax, columns)
        _draw_measured(drawn, [named[name][0] for name in ordered])
        _draw_bounds(drawn, [named[name] for name in ordered])
        ticks = [_tick(name, contractions[name]) for name in ordered]
        drawn.set_xticks(range(len(ordered)), ticks)
        if len(ordered) >= _SMALL_TICKS:
            drawn.tick_params(axis="x", labelsize=6.5)
        drawn.set_xlim(-0.5, len(ordered) - 0.5)
        theorem = named[ordered[0]][0].theorem
        drawn.set(yscale="log", ylabel=formula(theorem))
        if legend:
            texts = _not_applicable({n: named[n] for n in ordered}, columns)
            handles, labels = drawn.get_legend_handles_labels()
            handles += [Line2D([], [], linestyle="none") for _ in texts]
            resize = ax is None
            look.legend_below(
                drawn, handles, labels + texts, columns, tick_lines=2, resize=resize
            )
    return drawn


def _lam(verdict: VerdictLike) -> float:
    lam = verdict.left_hand_side.run.network.lam
    return 1.0 if lam is None else float(lam)


def _tick(name: str, lam: float) -> str:
    return f"{literal(name)}\n{gap_label(lam)}"


def _draw_measured(ax: Axes, verdicts: Sequence[VerdictLike]) -> None:
    last = []
    for verdict in verdicts:
        limits = mean_band(verdict.left_hand_side, verdict.confidence)
        last.append([part[-1] for part in limits])
    y, low, high = np.array(last).T
    # on a logarithmic axis a lower limit of 0 becomes a bar to the lower edge
    bars = np.array([y - np.maximum(low, 1e-9 * y), high - y])
    ax.errorbar(
        np.arange(len(y)),
        y,
        np.maximum(bars, 0.0),
        label=f"measured ({100 * verdicts[0].confidence:g} % interval)",
        fmt="o",
        color=look.MEASURED["color"],
        markersize=4,
        elinewidth=0.8,
        capsize=2,
    )


def _draw_bounds(ax: Axes, verdicts: Sequence[Sequence[VerdictLike]]) -> None:
    """Draw a marker for each bound, with the factor by which it is above."""
    points: dict[str, list[tuple[int, VerdictLike]]] = {}
    for place, members in enumerate(verdicts):
        applicable = [v for v in members if v.kind != "not applicable"]
        for meaning, family in families(applicable).items():
            points.setdefault(meaning, []).append((place, family[0]))
    shifts = np.linspace(-0.18, 0.18, len(points)) if len(points) > 1 else [0.0]
    for (meaning, entries), shift in zip(points.items(), shifts):
        line_style = look.style_of(meaning)
        first = entries[0][1]
        ax.plot(
            [place + shift for place, _ in entries],
            [verdict.bound for _, verdict in entries],
            label=f"bound, {first.variant}{refuted_note(first)}",
            linestyle="none",
            marker=line_style["marker"],
            color=line_style["color"],
            markersize=4.5,
        )
        alignment = {-1: "right", 0: "center", 1: "left"}[int(np.sign(shift))]
        for place, verdict in entries:
            above = times_measured(verdict.ratio).removesuffix(" measured")
            ax.annotate(
                above,
                (place + shift, verdict.bound),
                (0, 4),
                textcoords="offset points",
                ha=alignment,
                fontsize=6.5,
                color=line_style["color"],
            )
    ax.margins(y=0.15)


def _not_applicable(
    named: Mapping[str, Sequence[VerdictLike]], columns: int
) -> list[str]:
    """Return a wrapped text for each bound that does not apply."""
    texts = []
    for name, members in named.items():
        for line in notes(members, 10_000, with_ratios=False):
            wrapped = wrap(f"{name}: {line}", look.text_width(columns))
            texts.append("\n".join(wrapped))
    return texts


__all__ = ["networks"]
