"""Figures of verdicts: the measured left-hand side and the bounds over the horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dfltheory.arrays import FloatArray
from dfltheory.plots import look
from dfltheory.plots.groups import bound_label, families, left_sides_label, side_names
from dfltheory.plots.horizons import (
    VerdictLike,
    bound_over,
    bound_where_conditions_fail,
    mean_band,
    running_left_hand_side,
    seed_curves,
)
from dfltheory.plots.labels import horizon_label
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.training.history import History


KNOWN = "known without a theorem"
"""Label of a value that is known without any theorem."""
_MOST_POINTS = 400
"""Maximum number of points of a line; more would be indistinguishable."""
LOWER_LIMIT = "lower limit of the verdict (any distribution)"
"""Label of the distribution-free lower limit of the mean."""
CONDITIONS_FAIL = "bound, where a condition fails"
"""Label of a bound at points where the theorem claims nothing."""
_MOST_SEEDS = 30
"""Maximum number of seeds that are drawn individually."""


Band = Literal["interval", "seeds"]
"""What surrounds measured values: the two-sided interval of the mean, or the curve of
each seed.
"""


@dataclass(frozen=True)
class Side:
    """One of several left-hand sides on the same axes.

    Attributes
    ----------
    name : str
        Distinguishing name, such as "least over rounds".
    index : int
        Position among the left-hand sides, which determines its line style.
    """

    name: str
    index: int


def draw_run(
    ax: Axes,
    verdicts: Sequence[VerdictLike],
    *,
    band: Band = "interval",
    show_inapplicable: bool = False,
    color: str | None = None,
    side: Side | None = None,
) -> None:
    """Draw the measured left-hand side of one run and its bounds on axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw on.
    verdicts : sequence of Verdict
        Verdicts on one run that bound the same left-hand side.
    band : {"interval", "seeds"}
        What surrounds the measured mean.
    show_inapplicable : bool
        Whether a bound is drawn in gray where its conditions fail.
    color : str, optional
        Color of all lines, which then differ only in dashes and markers. By default
        each meaning of a variant has its own color.
    side : Side, optional
        The left-hand side, if there are several on the axes.
    """
    (name,) = side_names(verdicts).values()
    first = verdicts[0]
    left: LeftHandSide = first.left_hand_side
    applicable = [v for v in verdicts if v.kind != "not applicable"]
    if not np.isnan(first.measured.estimate):
        around = _description(left.run, first.confidence, band)
        label = f"measured, {side.name if side else name} ({around})"
        line_style = look.measured_style(side.index if side else 0)
        if color is not None:
            line_style["color"] = color
        _draw_measured(ax, left, first.confidence, band, line_style, label)
    for family in families(applicable).values():
        _draw_family(ax, family, color, side.name if side else "")
    if show_inapplicable:
        _draw_where_conditions_fail(ax, verdicts)
    _draw_known_values(ax, applicable)
    ax.set(xscale="log", yscale="log")
    ax.set(xlabel=horizon_label(left.theorem), ylabel=left_sides_label(verdicts))
    ax.autoscale_view()
    ax.set_xlim(1, max(left.run.rounds, 2))


def _draw_known_values(ax: Axes, verdicts: Sequence[VerdictLike]) -> None:
    """Mark values that are known without a theorem at the right edge."""
    values = {v.trivial for v in verdicts if np.isfinite(v.trivial)}
    for value in sorted(values):
        (marker,) = ax.plot(
            1,
            value,
            "<",
            color="0.4",
            markersize=5,
            clip_on=False,
            transform=ax.get_yaxis_transform(),
        )
        marker.set_label(KNOWN)
        ax.update_datalim([(1.0, value)], updatex=False)


def _draw_measured(
    ax: Axes,
    left: LeftHandSide,
    confidence: float,
    band: Band,
    line_style: look.WideStyle,
    label: str,
) -> None:
    """Draw the measured left-hand side, its band, and its lower limit."""
    count = left.horizons.size
    kept = np.unique(np.geomspace(1, count, _MOST_POINTS).round().astype(int)) - 1
    horizons = left.horizons[kept]
    random = not left.exact and left.run.grad_norm_sq.shape[0] > 1
    estimate, low, high = (part[kept] for part in mean_band(left, confidence))
    shade = line_style["color"]
    if random and band == "seeds":
        for values in seed_curves(left)[:_MOST_SEEDS, kept]:
            ax.plot(horizons, values, color=shade, alpha=0.35, linewidth=0.5)
    elif random:
        _fill_positive(ax, horizons, estimate, low, high, shade)
    if random:
        limit = running_left_hand_side(left, confidence)[1][kept]
        visible = np.where(limit > estimate / 100, limit, np.nan)
        ax.plot(
            horizons,
            visible,
            color=shade,
            linewidth=0.6,
            linestyle=":",
            label=LOWER_LIMIT,
        )
    # a line through one point is invisible
    marker = "o" if horizons.size == 1 else None
    ax.plot(horizons, estimate, label=label, marker=marker, markersize=4, **line_style)


def _fill_positive(
    ax: Axes,
    x: np.ndarray,
    estimate: FloatArray,
    low: FloatArray,
    high: FloatArray,
    color: str,
) -> None:
    """Shade a band; a lower limit of 0 must not stretch a logarithmic axis."""
    positive = estimate[np.isfinite(estimate) & (estimate > 0)]
    floor = np.min(positive, initial=np.inf) / 5
    ax.fill_between(
        x,
        np.maximum(low, floor if np.isfinite(floor) else 0.0),
        np.where(np.isfinite(high), high, np.nan),
        color=color,
        alpha=0.25,
        linewidth=0,
    )


def _description(run: History, confidence: float, band: Band) -> str:
    """Return what surrounds the measured values of a run, in words for the legend."""
    if run.grad_norm_sq.shape[0] == 1:
        return "exact" if is_deterministic(run) else "one seed"
    if is_deterministic(run):
        return "exact"
    if band == "seeds":
        return "mean, and each seed"
    return f"{100 * confidence:g} % interval"


def _draw_where_conditions_fail(ax: Axes, verdicts: Sequence[VerdictLike]) -> None:
    """Draw bounds in gray at horizons at which the theorem claims nothing."""
    label: str | None = CONDITIONS_FAIL
    for verdict in verdicts:
        horizons = np.unique(np.geomspace(1, verdict.rounds, 200).round())
        values = bound_where_conditions_fail(verdict, horizons)
        if not np.isfinite(values).any():
            continue
        meaning = look.MEANINGS.get(verdict.variant.split("_")[0], {})
        dashes = meaning.get("linestyle", "-")
        ax.plot(
            horizons, values, color="0.6", linewidth=1.1, linestyle=dashes, label=label
        )
        label = None


@dataclass(frozen=True, eq=False)
class _BoundRange:
    """The smallest and largest bound of a family at each horizon."""

    horizons: np.ndarray
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def draw(self, ax: Axes, color: str, label: str) -> None:
        """Draw a band, or a bar if there is one horizon."""
        if self.horizons.size == 1:
            ax.vlines(
                self.horizons,
                self.low,
                self.high,
                color=color,
                alpha=0.35,
                linewidth=4,
                label=label,
                clip_on=False,
            )
            return
        # Before matplotlib 3.11 a legend of subfigures rejects fill_between.
        x = np.concatenate([self.horizons, self.horizons[::-1]])
        y = np.concatenate([self.low, self.high[::-1]])
        ax.fill(x, y, color=color, alpha=0.18, linewidth=0, label=label)


def _draw_family(
    ax: Axes, family: Sequence[VerdictLike], color: str | None, side: str
) -> None:
    """Draw the first bound as a line or a point, and the range of all as a band."""
    first = family[0]
    meaning = first.variant.split("_")[0]
    horizons = np.unique(np.geomspace(1, first.rounds, 200).round())
    bounds = np.array([bound_over(verdict, horizons) for verdict in family])
    at_one_horizon = np.isfinite(bounds[0]).sum() == 1
    line_style = look.style_of(meaning)
    (line,) = ax.plot(
        horizons,
        bounds[0],
        label=bound_label(first, side),
        clip_on=not at_one_horizon,
        markevery=None if at_one_horizon else _marker_positions(horizons),
        **line_style,
    )
    line.set_markersize(3.5)
    if color is not None:
        line.set_color(color)
    if len(family) == 1:
        return
    finite = np.isfinite(bounds).any(axis=0)
    bound_range = _BoundRange(
        horizons[finite],
        np.nanmin(bounds[:, finite], axis=0),
        np.nanmax(bounds[:, finite], axis=0),
    )
    bound_range.draw(
        ax, color or line_style["color"], f"range of the {meaning} variants"
    )


def _marker_positions(horizons: np.ndarray) -> list[int]:
    """Return indices of five markers, evenly spaced on a logarithmic axis."""
    wanted = np.geomspace(horizons[0], horizons[-1], 7)[1:-1]
    return sorted({int(np.searchsorted(horizons, horizon)) for horizon in wanted})
