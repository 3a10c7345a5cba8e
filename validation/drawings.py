"""Functions that draw the pictures of docs/figures."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.experiments.cases import perform_all
from dfltheory.files import write_json
from dfltheory.plots import curves, families, look, looks, panels, style
from dfltheory.rates import fit_exponent
from validation import crossings as experiment
from validation import experiment_cases, learning, predictors
from validation.rate_drawings import RATE, rates, speed_up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from dfltheory.experiments.cases import Outcome
    from validation.crossings import Family

    Picture = Figure | bytes

MEANINGS = ("printed", "corrected")
TIMES = Path(__file__).parent.parent / "docs/figures/linear_in_m.json"
LEGEND = {
    "measured": "measured (exact)",
    "bound, printed": "printed bound",
    "bound, corrected": "corrected bound",
    "known without a theorem": "known without a theorem",
}
"""Names of the lines in the crossings, and their labels in the legend."""


def all_crossings() -> Figure:
    """Run the crossings and draw them."""
    return crossings(perform_all(experiment.cases()), experiment.growing())


def crossings(outcomes: Sequence[Outcome], growth: Sequence[Family]) -> Figure:
    """Draw runs that exceed printed bounds (above) but not corrected ones (below)."""
    import matplotlib.pyplot as plt

    with look.style():
        figure = plt.figure(figsize=(look.TWO_COLUMNS + 1.4, 4.3), layout="constrained")
        grid = figure.subplots(2, len(outcomes) + 1, sharex="col", sharey="col")
        handles: dict[str, Line2D] = {}
        for column, outcome in zip(grid.T, outcomes):
            column[0].set_title(outcome.case.column.replace(", ", "\n"))
            for ax, meaning in zip(column, MEANINGS):
                handles |= _draw_crossing(ax, outcome, meaning)
            column[1].set_xlabel("horizon $T$ (rounds)")
        for ax, family, meaning in zip(grid[:, -1], growth, MEANINGS):
            _draw_growth(ax, family, meaning)
        grid[0, -1].set_title("DFedSMDC, Theorem 2\nan O(.): measured / expression")
        grid[1, -1].set_xlabel("horizon $T$ of the schedule")
        grid[0, 0].set_ylabel("as printed", fontsize=10)
        grid[1, 0].set_ylabel("corrected", fontsize=10)
        figure.legend(
            [handles[name] for name in LEGEND],
            list(LEGEND.values()),
            loc="outside lower center",
            ncols=4,
        )
    return figure


def _draw_crossing(ax: Axes, outcome: Outcome, meaning: str) -> dict[str, Line2D]:
    """Draw one bound with the ratio at the last horizon; return the lines by name."""
    verdict = families(outcome.verdicts)[meaning][0]
    curves([verdict], ax, legend=False)
    lines = _lines(ax)
    _shade_excess(ax, lines, 0.25)
    note = f"{verdict.kind}: measured is\n{verdict.ratio:.2g} times the bound"
    _write(ax, (0.97, 0.95), note, ha="right", va="top")
    ax.set(xlabel="", ylabel="")
    ax.tick_params(labelbottom=meaning == "corrected", labelleft=True)
    return {
        name.replace("bound", f"bound, {meaning}"): line for name, line in lines.items()
    }


def _lines(ax: Axes) -> dict[str, Line2D]:
    """Return the lines of ``ax`` by their labels up to the first comma."""
    return {str(line.get_label()).split(",")[0]: line for line in ax.get_lines()}


def _points(line: Line2D) -> tuple[FloatArray, FloatArray]:
    x, y = line.get_data()
    return np.asarray(x, dtype=float), np.asarray(y, dtype=float)


def _shade_excess(ax: Axes, lines: dict[str, Line2D], opacity: float) -> None:
    """Shade the region in which the measurement exceeds the bound."""
    at, measured = _points(lines["measured"])
    below = np.interp(at, *_points(lines["bound"]))
    ax.fill_between(
        at,
        below,
        measured,
        where=measured > below,
        color=lines["bound"].get_color(),
        alpha=opacity,
        linewidth=0,
    )


def _write(
    ax: Axes, place: tuple[float, float], text: str, ha: str = "left", va: str = ""
) -> None:
    """Write text at a position in axes coordinates (fractions of width and height)."""
    ax.text(
        *place,
        text,
        transform=ax.transAxes,
        ha=ha,
        va=va or "baseline",
        weight="bold",
        fontsize=7,
    )


def _draw_growth(ax: Axes, family: Family, meaning: str) -> None:
    """Draw the ratio of measurement to the printed O(.) or the corrected bound."""
    (line,) = ax.plot(family.horizons, family.ratios, **look.MEANINGS[meaning])
    line.set(markersize=4, linewidth=1.2)
    ax.set(xscale="log", yscale="log")
    ax.axhline(1.0, color="0.5", linewidth=0.8)
    if meaning == "printed":
        e = fit_exponent(family.horizons, family.ratios, bend=False)
        words = f"grows like $T^{{{e.estimate:.2f}}}$\nover the range shown"
        _write(ax, (0.97, 0.05), words, ha="right")
    else:
        largest = f"{max(family.ratios):.2g}"
        words = f"holds: at most {largest} of\nthe bound where it applies"
        _write(ax, (0.04, 0.95), words, va="top")


def one_theorem() -> Figure:
    """Draw Theorem 4.5 of DFedSAM as printed and corrected, on the same run."""
    import matplotlib.pyplot as plt

    outcome = perform_all(experiment.cases()[:1])[0]
    with look.style():
        figure = plt.figure(figsize=(6.4, 2.6), layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, meaning in zip(axes, MEANINGS):
            curves([families(outcome.verdicts)[meaning][0]], ax, legend=False)
            _label_curves(ax)
            ax.set(xlabel="rounds $T$", ylabel="")
        axes[0].set_title("as printed: violated")
        axes[1].set_title("corrected: holds")
        axes[0].set_ylabel("squared gradient norm")
    return figure


def _label_curves(ax: Axes) -> None:
    """Label both curves, and shade where the bound is exceeded."""
    lines = _lines(ax)
    for name, line in lines.items():
        if name.startswith("known"):
            line.remove()
    _shade_excess(ax, lines, 0.3)
    labels = (
        ("bound", "bound of the theorem", 1 / 6, (8, 4)),
        ("measured", "measured", 0, (4, -11)),
    )
    for name, text, share, offset in labels:
        x, y = _points(lines[name])
        index = max(1, int(share * len(x)))
        ax.annotate(
            text,
            (x[index], y[index]),
            xytext=offset,
            textcoords="offset points",
            color=lines[name].get_color(),
        )


def linear_in_m() -> Figure:
    """Draw recorded times of a round over the number of clients."""
    import matplotlib.pyplot as plt

    recorded = json.loads(TIMES.read_text(encoding="utf-8"))
    m = np.array(recorded["m"], dtype=float)
    with style():
        figure = plt.figure(figsize=(4.4, 3.0), layout="constrained")
        ax = figure.gca()
        last = max(taken[-1] for taken in recorded["seconds"].values())
        ax.plot(
            m, 1e3 * last * m / m[-1], color="0.6", linewidth=4, zorder=1, label="$m^1$"
        )
        for (name, taken), line_style in zip(recorded["seconds"].items(), looks()):
            e = fit_exponent(m[m >= 1000], np.array(taken)[m >= 1000], bend=False)
            label = (
                f"{name}: $m^{{{e.estimate:.2f}}}$, [{e.low:.2f}, {e.high:.2f}] for $m"
                " \\geq 1000$"
            )
            ax.plot(m, 1e3 * np.array(taken), label=label, **line_style)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="clients $m$",
            ylabel="ms a round (one thread)",
        )
        ax.legend(loc="upper left")
    return figure


def measure_times(to: Path = TIMES) -> None:
    """Measure the CPU seconds of a round on rings and tori, and store them."""
    import platform

    from benchmarks.linear_in_m import seconds

    sizes = [int(m) for m in np.unique(np.geomspace(100, 30_000, 9).astype(int))]
    taken = {}
    for name in ("ring", "torus"):
        taken[name] = [seconds(m, name) for m in sizes]
    measured = (
        "median CPU seconds of a round of DFedAvg, K = 2, d = 100, float64, one thread"
    )
    write_json(
        to,
        {"what": measured, "machine": platform.machine(), "m": sizes, "seconds": taken},
    )


def networks() -> Figure:
    """Draw bounds and measurements of DFedSAM's Theorem 4.5 on three networks."""
    return panels(perform_all(experiment_cases.network_cases()))


def quadratic() -> Figure:
    """Draw the same theorem on quadratics whose clients share one Hessian."""
    return panels(perform_all(experiment_cases.quadratic_cases()))


def stored_learning_curves() -> Figure:
    """Draw learning curves on CIFAR-10, client by client."""
    return learning.figure(learning.stored())


def stored_predictors() -> Figure:
    """Draw measured errors on twelve networks over three predictors."""
    return predictors.figure(predictors.stored())


README = Path(__file__).parent.parent / "README.md"
EXAMPLES = ("curves", "network", "training")
"""Names of the files that the README's examples write, in the order of the examples."""


def readme_example(number: int) -> Picture:
    """Execute an example of the README and return the PNG file that it writes."""
    import contextlib
    import io
    import tempfile

    text = README.read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code[number], "README.md", "exec"), {})
        return Path(f"{EXAMPLES[number]}.png").read_bytes()


DRAWINGS: dict[str, tuple[Callable[[], Picture], str]] = {
    **{
        f"readme_{name}": (
            functools.partial(readme_example, number),
            "an example of the README, which is executed",
        )
        for number, name in enumerate(EXAMPLES)
    },
    "one_theorem": (
        one_theorem,
        "the first run of `make validate` in `validation/crossings.py`",
    ),
    "crossings": (
        all_crossings,
        "the runs of `make validate` in `validation/crossings.py`",
    ),
    "networks": (
        networks,
        "the runs of `make validate` in `validation/experiments.py`",
    ),
    "quadratic": (
        quadratic,
        "the runs of `make validate` in `validation/experiments.py`",
    ),
    "rates": (
        rates,
        "exact expectations and SAM runs at the schedule, and the registry's "
        "`{}` ({})".format(*RATE),
    ),
    "speed_up": (
        speed_up,
        "exact expectations at the schedule of `{}` ({})".format(*RATE),
    ),
    "linear_in_m": (
        linear_in_m,
        "recorded times, `docs/figures/linear_in_m.json` (anew: `--measure`)",
    ),
    "cifar10": (
        stored_learning_curves,
        "stored runs, `docs/figures/cifar10-*.safetensors` (to run them again:"
        f" `{learning.COMMAND}`)",
    ),
    "predictors": (
        stored_predictors,
        "stored runs, `docs/predictors.json` (to run them again:"
        f" `{predictors.COMMAND}`)",
    ),
}
"""Name of a picture -> function that draws it, and a description of its data."""
