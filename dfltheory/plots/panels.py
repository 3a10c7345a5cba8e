"""The verdicts of a group of runs as one figure: a panel for each run and each left-hand side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.plots import look
from dfltheory.plots.runs import tell_points
from dfltheory.plots.verdicts import KNOWN, draw, families, left_side, refuted_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dfltheory.experiments.experiment import Outcome
    from dfltheory.verdicts.compare import Verdict

_MOST_ABREAST = 4
Block = Sequence[tuple["Outcome", Sequence["Verdict"]]]


def panels(outcomes: Sequence[Outcome]) -> Figure:
    """The verdicts of a group, one panel for each case and left-hand side, and one legend.

    A block of panels for each left-hand side, under its formula. In a block, rows are ``case.row`` and
    columns ``case.column`` where every pair of them is a case, else panels follow each other; they share
    their axes. What is not applicable is not drawn; the report's caption says why.
    """
    import matplotlib.pyplot as plt

    sides = list(dict.fromkeys(left_side(v) for o in outcomes for v in o.verdicts))
    blocks = [
        [(o, vs) for o in outcomes if (vs := [v for v in o.verdicts if left_side(v) == s])] for s in sides
    ]
    shapes = [_shape([o for o, _ in block]) for block in blocks]
    columns = max(shape[1] for shape in shapes)
    across = min(len(blocks), 2 if columns <= 2 else 1)  # blocks beside each other
    heights = [0.35 + 1.75 * max(r for r, _ in shapes[k : k + across]) for k in range(0, len(shapes), across)]
    width = min(look.TWO_COLUMNS, max(look.ONE_COLUMN, 2.4 * columns) * across)
    with look.style():
        figure = plt.figure(figsize=(width, sum(heights)), layout="constrained")
        parts = figure.subfigures(len(heights), across, squeeze=False, height_ratios=heights)
        handles: dict[str, Any] = {}
        for part, block, shape in zip(parts.flat, blocks, shapes):
            handles |= _block(part, block, shape)
            part.axes[0].set_xlim(1, max(2, *(o.run.rounds for o in outcomes)))
        order = sorted(handles, key=lambda name: (name == KNOWN, not name.startswith("measured")))
        abreast = max(1, int(width / 2.3))  # labels that fit beside each other
        figure.set_figheight(sum(heights) + 0.17 * (2 + -(-len(order) // abreast)))
        figure.legend(
            [handles[n] for n in order], order, loc="outside lower center", ncols=abreast, handlelength=3.2
        )
    return figure


def along(outcomes: Sequence[Outcome]) -> Figure:
    """Measured and bound at the last horizon over what the runs differ in: a panel for each ``case.along``
    and left-hand side. What is not applicable is not drawn."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(o.case.along for o in outcomes))
    verdicts = [v for o in outcomes for v in o.verdicts]
    sides = list(dict.fromkeys(map(left_side, verdicts)))
    with look.style():
        size = look.TWO_COLUMNS, 0.5 + 2.1 * len(sides)
        figure, grid = plt.subplots(len(sides), len(names), figsize=size, squeeze=False, layout="constrained")
        handles: dict[str, Any] = {}
        for (i, j), ax in np.ndenumerate(grid):
            mine = [v for o in outcomes if o.case.along == names[j] for v in o.verdicts]
            mine = [v for v in mine if left_side(v) == sides[i] and v.kind != "not applicable"]
            label = "$1-\\lambda$" if names[j] == "lam" else f"${GLOSSARY[names[j]].latex}$"
            ax.set(xscale="log", yscale="log", xlabel=label)
            first = next(v for v in verdicts if left_side(v) == sides[i])
            ax.set_ylabel("" if j else look.formula(first._theorem))
            if mine:
                _points(ax, mine, names[j])
            handles |= dict(zip(*reversed(ax.get_legend_handles_labels())))
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=len(handles))
    return figure


def _points(ax: Any, verdicts: Sequence[Verdict], name: str) -> None:
    """The verdicts' bounds by meaning, and what they bound with its interval, at their own values of
    ``name`` (of the gap for ``lam``)."""

    def at(verdict: Verdict) -> float:
        return 1 - verdict.at[name] if name == "lam" else verdict.at[name]

    for meaning, family in families(verdicts).items():
        told = sorted((at(v), v.bound) for v in family)
        worn = {"markersize": 3.5, **look.MEANINGS.get(meaning, {})}
        ax.plot(*zip(*told), label=f"bound, {family[0].variant}{refuted_note(family[0])}", **worn)
    told = sorted({(at(v), v.measured.estimate, v.measured.low, v.measured.high) for v in verdicts})
    x, y, low, high = map(np.array, zip(*told))
    worn = {"marker": "o", "markersize": 3.5, "elinewidth": 0.8, "capsize": 2, **look.MEASURED}
    ax.errorbar(x, y, (y - np.maximum(low, 1e-9 * y), high - y), label="measured", **worn)
    tell_points(ax, x)


def _shape(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Rows and columns of panels without a hole: those of the cases, or as many abreast as fit."""
    rows, columns = ({getattr(o.case, name) for o in outcomes} for name in ("row", "column"))
    if len(outcomes) == len(rows) * len(columns) and len(columns) <= _MOST_ABREAST + 2:
        return len(rows), len(columns)
    abreast = min(_MOST_ABREAST, len(outcomes))
    return -(-len(outcomes) // abreast), abreast


def _block(part: Any, block: Block, shape: tuple[int, int]) -> dict[str, Any]:
    """Draw the panels of one left-hand side; returns what the legend needs, by label."""
    part.suptitle(look.formula(block[0][1][0]._theorem), fontsize=8)
    grid = part.subplots(*shape, squeeze=False, sharex=True, sharey=True)
    rows = list(dict.fromkeys(outcome.case.row for outcome, _ in block))
    columns = list(dict.fromkeys(outcome.case.column for outcome, _ in block))
    matrix = shape == (len(rows), len(columns)) and len(block) == len(rows) * len(columns)
    handles: dict[str, Any] = {}
    taken = np.zeros(shape, dtype=bool)
    for k, (outcome, verdicts) in enumerate(block):
        at = (
            (rows.index(outcome.case.row), columns.index(outcome.case.column))
            if matrix
            else divmod(k, shape[1])
        )
        ax, taken[at] = grid[at], True
        draw(verdicts, ax, legend=False)
        ax.set_title(_title(outcome, 32 if shape[1] < _MOST_ABREAST else 28), pad=3)
        ax.set_ylabel("")  # the formula stands over the block
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels())))
    for (i, j), ax in np.ndenumerate(grid):
        ax.set_visible(taken[i, j])
        last, first = not taken[i + 1 :, j].any(), j == 0
        ax.tick_params(labelbottom=last, labelleft=first)  # under the last and beside the first that is there
        ax.set_xlabel("horizon $T$ (rounds)" if last else "")
    return handles


def _title(outcome: Outcome, fits: int) -> str:
    """Case and gap, on one line where that ``fits`` above its panel."""
    case, gap = outcome.case, look.gap_label(outcome.run.network.lam)
    names = look.literal(case.place)
    if len(names) + (14 if gap else 0) <= fits:
        return ", ".join(filter(None, (names, gap))) or "run"
    rest = ", ".join(filter(None, (look.literal(case.row), gap)))
    return "\n".join(filter(None, (look.literal(case.column), rest)))
