"""Figures of verdicts: the measured left-hand side and the bounds, over the horizon."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import InputError
from dfltheory.plots import look
from dfltheory.plots.horizons import (
    VerdictLike,
    bound_over,
    bound_where_conditions_fail,
    mean_band,
    running_left_hand_side,
    seed_curves,
)
from dfltheory.plots.labels import formula, literal, times_measured
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import is_deterministic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.training.history import History

Floats = NDArray[np.float64]

KNOWN = "known without a theorem"
"""Label of the value that holds without any theorem."""
_AGGREGATES = {
    "min": "least over rounds",
    "max": "largest over rounds",
    "mean": "mean over rounds",
    "sum": "sum over rounds",
    "last": "at the last round",
}
_MOST_POINTS = 400
"""Largest number of points of a line; more cannot be distinguished."""
_MOST_NOTES = 2
"""Largest number of reasons that a note gives; if there are more, it counts them."""
LOWER_LIMIT = "lower limit of the verdict (any distribution)"
"""Label of the lower limit of the mean that assumes nothing of its distribution."""
CONDITIONS_FAIL = "bound, where a condition fails"
"""Label of a bound that the theorem does not claim."""
_MOST_SEEDS = 30
"""Largest number of seeds that are drawn one by one."""


Band = Literal["interval", "seeds"]
"""What is drawn around measured values: the two-sided interval of the mean, or the
curve of each seed.
"""


def draw_run(
    ax: Axes,
    verdicts: Sequence[VerdictLike],
    *,
    band: Band = "interval",
    show_inapplicable: bool = False,
    color: str | None = None,
) -> None:
    """Draw the measured left-hand side of one run and its bounds on axes.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw on.
    verdicts : sequence of Verdict
        Verdicts on one run that bound the same left-hand side.
    band : {"interval", "seeds"}
        What is drawn around the measured mean.
    show_inapplicable : bool
        Whether a bound is drawn in gray where its conditions fail.
    color : str, optional
        One color for all lines, which differ in dashes and markers; by default each
        meaning of a variant has its own.
    """
    require_one_left_side(verdicts)
    first = verdicts[0]
    left: LeftHandSide = first.left_hand_side
    applicable = [v for v in verdicts if v.kind != "not applicable"]
    if not np.isnan(first.measured.estimate):
        _draw_measured(ax, left, first.confidence, band, color)
    for family in families(applicable).values():
        _draw_family(ax, family, color)
    if show_inapplicable:
        _draw_where_conditions_fail(ax, verdicts)
    _draw_known_values(ax, applicable)
    ylabel = formula(left.theorem)
    ax.set(xscale="log", yscale="log")
    ax.set(xlabel="horizon $T$ (rounds)", ylabel=ylabel)
    ax.autoscale_view()
    ax.set_xlim(1, max(left.run.rounds, 2))


def notes(
    verdicts: Sequence[VerdictLike], width: int, *, with_ratios: bool
) -> list[str]:
    """Return lines of text on verdicts, wrapped.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Verdicts on one run.
    width : int
        Largest number of characters of a line.
    with_ratios : bool
        Whether to say how far each applicable bound is above the measurement; the
        other lines say why the others do not apply, and what would change that.
    """
    texts = [_ratios_text(verdicts)] if with_ratios else []
    texts += _not_applicable_texts(verdicts)
    lines: list[str] = []
    for text in texts:
        lines += wrap(literal(text), width)
    return lines


def _ratios_text(verdicts: Sequence[VerdictLike]) -> str:
    """Return how far applicable bounds are above the measurement; empty if none is."""
    ratios = []
    for members in families(v for v in verdicts if v.kind != "not applicable").values():
        above = times_measured(members[0].ratio)
        if above:
            factor = above.removesuffix(" measured").replace(" ", "\xa0")
            ratios.append(f"{members[0].variant}\xa0{factor}")
    return f"bound / measured: {', '.join(ratios)}" if ratios else ""


def _not_applicable_texts(verdicts: Sequence[VerdictLike]) -> list[str]:
    """Return why verdicts are not applicable, and what would change that."""
    excluded: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.kind == "not applicable":
            text = verdict.reason
            if verdict.suggestions:
                text += f"; {verdict.suggestions}"
            name = f"{verdict.variant}{refuted_note(verdict)}"
            excluded.setdefault(text, []).append(name)
    texts = []
    for text, variants in list(excluded.items())[:_MOST_NOTES]:
        names = ", ".join(variants[:2])
        more = f" and {len(variants) - 2} more" if len(variants) > 2 else ""
        unbroken = text
        for sign in ("<=", ">=", "="):  # a relation stays on one line
            unbroken = unbroken.replace(f" {sign} ", f"\xa0{sign}\xa0")
        texts.append(f"{names}{more}, not applicable: {unbroken}")
    if len(excluded) > _MOST_NOTES:
        texts.append(f"not applicable: {len(excluded) - _MOST_NOTES} more reasons")
    return texts


def require_one_left_side(verdicts: Sequence[VerdictLike]) -> None:
    """Raise InputError unless the verdicts have runs and one left-hand side."""
    for verdict in verdicts:
        if verdict.left_hand_side is None:
            raise InputError(
                f"the verdict on {verdict.key} ({verdict.variant}) has no run and"
                " cannot be drawn: pass the run to verdict_from_dict"
            )
    groups = by_left_side(verdicts)
    if len(groups) != 1:
        listed = "; ".join(map(_variants, groups))
        raise InputError(
            f"verdicts bound {len(groups)} left-hand sides, draw one only: {listed}"
        )


def _variants(verdicts: Sequence[VerdictLike]) -> str:
    return ", ".join(verdict.variant for verdict in verdicts)


def _draw_known_values(ax: Axes, verdicts: Sequence[VerdictLike]) -> None:
    """Mark the values that are known without a theorem at the left edge."""
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


def refuted_note(verdict: VerdictLike) -> str:
    """Return the suffix of a variant's label: " (refuted)" if it is refuted."""
    return " (refuted)" if verdict.status.refuted else ""


def families(verdicts: Iterable[VerdictLike]) -> dict[str, list[VerdictLike]]:
    """Group verdicts by the meaning of their variants.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts on one left-hand side.

    Returns
    -------
    dict of str to list of Verdict
        The meanings of :data:`MEANINGS` in their order, then variants without such a
        meaning by their own name. In each group the variant whose name is the
        meaning, if present, comes first: it is drawn as a line.
    """
    groups: dict[str, list[VerdictLike]] = {}
    for verdict in verdicts:
        prefix = verdict.variant.split("_")[0]
        meaning = prefix if prefix in look.MEANINGS else verdict.variant
        groups.setdefault(meaning, []).append(verdict)
    others = [meaning for meaning in groups if meaning not in look.MEANINGS]
    ordered: dict[str, list[VerdictLike]] = {}
    for meaning in [*look.MEANINGS, *others]:
        if meaning in groups:
            exact = [v for v in groups[meaning] if v.variant == meaning]
            rest = [v for v in groups[meaning] if v.variant != meaning]
            ordered[meaning] = exact + rest
    return ordered


def by_left_side(verdicts: Iterable[VerdictLike]) -> list[list[VerdictLike]]:
    """Group verdicts that bound the same measure, aggregate and rounds.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts that have their theorems.

    Returns
    -------
    list of list of Verdict
        The groups, in the order of their first verdicts.
    """
    groups: dict[LeftSide, list[VerdictLike]] = {}
    for verdict in verdicts:
        groups.setdefault(left_side(verdict), []).append(verdict)
    return list(groups.values())


def left_side(verdict: VerdictLike) -> LeftSide:
    """Return the left-hand side of a verdict without its description in words."""
    return replace(verdict.theorem.lhs, averaging="")


def _draw_measured(
    ax: Axes, left: LeftHandSide, confidence: float, band: Band, color: str | None
) -> None:
    """Draw the measured left-hand side, what surrounds it, and its lower limit."""
    count = left.horizons.size
    kept = np.unique(np.geomspace(1, count, _MOST_POINTS).round().astype(int)) - 1
    horizons = left.horizons[kept]
    line_style = look.MEASURED.copy()
    if color is not None:
        line_style["color"] = color
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
    aggregate = _AGGREGATES[left.theorem.lhs.aggregate]
    around = _description(left.run, confidence, band)
    label = f"measured, {aggregate} ({around})"
    ax.plot(horizons, estimate, label=label, marker=marker, markersize=4, **line_style)


def _fill_positive(
    ax: Axes, x: np.ndarray, estimate: Floats, low: Floats, high: Floats, color: str
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
    if run.grad_norm_sq.shape[0] == 1:
        return "exact" if is_deterministic(run) else "one seed"
    if is_deterministic(run):
        return "exact"
    if band == "seeds":
        return "mean, and each seed"
    return f"{100 * confidence:g} % interval"


def _draw_where_conditions_fail(ax: Axes, verdicts: Sequence[VerdictLike]) -> None:
    """Draw bounds in gray where the theorem does not claim them."""
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


def _draw_family(ax: Axes, family: Sequence[VerdictLike], color: str | None) -> None:
    """Draw the first bound as a line (or point) and the range of all as a band."""
    first = family[0]
    meaning = first.variant.split("_")[0]
    horizons = np.unique(np.geomspace(1, first.rounds, 200).round())
    bounds = np.array([bound_over(verdict, horizons) for verdict in family])
    at_one_horizon = np.isfinite(bounds[0]).sum() == 1
    line_style = look.style_of(meaning)
    (line,) = ax.plot(
        horizons,
        bounds[0],
        label=f"bound, {first.variant}{refuted_note(first)}",
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
