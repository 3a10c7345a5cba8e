"""How each picture of docs/figures is drawn."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.experiments.cases import perform_all
from dfltheory.files import write_json
from dfltheory.plots import curves, families, look, looks, panels, style
from dfltheory.rates import fit_exponent
from validation import crossings as experiment
from validation import experiment_cases, learning, predictors
from validation.rate_drawings import RATE, rates, speed_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Picture = Figure | bytes

TIMES = Path(__file__).parent.parent / "docs/figures/linear_in_m.json"


def crossings(outcomes: Sequence[Any] | None = None) -> Figure:
    """Draw runs that cross printed bounds (above), not corrected ones (below)."""
    import matplotlib.pyplot as plt

    outcomes = perform_all(experiment.cases()) if outcomes is None else outcomes
    with look.style():
        figure = plt.figure(figsize=(look.TWO_COLUMNS + 1.4, 4.3), layout="constrained")
        grid = figure.subplots(2, len(outcomes) + 1, sharex="col", sharey="col")
        handles: dict[str, Any] = {}
        for column, outcome in zip(grid.T, outcomes):
            column[0].set_title(outcome.case.column.replace(", ", "\n"))
            for ax, meaning in zip(column, ("printed", "corrected")):
                verdict = families(outcome.verdicts)[meaning][0]
                curves([verdict], ax, legend=False)
                _write_ratio(ax, verdict)
                ax.set(
                    ylabel="",
                    xlabel="" if meaning == "printed" else "horizon $T$ (rounds)",
                )
                ax.tick_params(labelbottom=meaning == "corrected", labelleft=True)
                shown = zip(*reversed(ax.get_legend_handles_labels()))
                handles |= {
                    name.split(",")[0].replace("bound", f"bound, {meaning}"): h
                    for name, h in shown
                }
        _growth(grid[:, -1], experiment.growing())
        grid[0, 0].set_ylabel("as printed", fontsize=10)
        grid[1, 0].set_ylabel("corrected", fontsize=10)
        order = [
            "measured",
            "bound, printed",
            "bound, corrected",
            "known without a theorem",
        ]
        names = ["measured (exact)", "printed bound", "corrected bound", order[-1]]
        figure.legend(
            [handles[n] for n in order], names, loc="outside lower center", ncols=4
        )
    return figure


def one_theorem() -> Figure:
    """Theorem 4.5 of DFedSAM as printed and corrected, on the same run."""
    import matplotlib.pyplot as plt

    outcome = perform_all(experiment.cases()[:1])[0]
    with look.style():
        figure = plt.figure(figsize=(6.4, 2.6), layout="constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, meaning in zip(axes, ("printed", "corrected")):
            verdict = families(outcome.verdicts)[meaning][0]
            curves([verdict], ax, legend=False)
            _label_curves(ax)
            ax.set(xlabel="rounds $T$", ylabel="")
        axes[0].set_title("as printed: violated")
        axes[1].set_title("corrected: holds")
        axes[0].set_ylabel("squared gradient norm")
    return figure


def _label_curves(ax: Any) -> None:
    """Name both curves, and shade where the bound is exceeded."""
    lines = {line.get_label().split(",")[0]: line for line in ax.get_lines()}
    for line in ax.get_lines():
        if line.get_label().startswith("known"):
            line.remove()
    measured, bound = lines["measured"], lines["bound"]
    at, y = (np.asarray(part, dtype=float) for part in measured.get_data())
    x, z = (np.asarray(part, dtype=float) for part in bound.get_data())
    below = np.interp(at, x, z)
    ax.fill_between(
        at, below, y, where=y > below, color=bound.get_color(), alpha=0.3, linewidth=0
    )
    ax.annotate(
        "bound of the theorem",
        (x[len(x) // 6], z[len(z) // 6]),
        xytext=(8, 4),
        textcoords="offset points",
        color=bound.get_color(),
    )
    ax.annotate(
        "measured",
        (at[1], y[1]),
        xytext=(4, -11),
        textcoords="offset points",
        color=measured.get_color(),
    )


def _write_ratio(ax: Any, verdict: Any) -> None:
    """Shade where the bound is exceeded, and write the ratio at the last horizon."""
    lines = {line.get_label().split(",")[0]: line for line in ax.get_lines()}
    at, y = (np.asarray(part, dtype=float) for part in lines["measured"].get_data())
    x, bound = (np.asarray(part, dtype=float) for part in lines["bound"].get_data())
    low = np.interp(at, x, bound)
    ax.fill_between(
        at,
        low,
        y,
        where=y > low,
        color=lines["bound"].get_color(),
        alpha=0.25,
        linewidth=0,
    )
    note = f"{verdict.kind}: measured is\n{verdict.ratio:.2g} times the bound"
    ax.text(
        0.97,
        0.95,
        note,
        transform=ax.transAxes,
        ha="right",
        va="top",
        weight="bold",
        fontsize=7,
    )


def _growth(axes: Any, families: Any) -> None:
    """Draw measured over expression of the printed O(.) and of the corrected bound."""
    axes[0].set_title("DFedSMDC, Theorem 2\nan O(.): measured / expression")
    for ax, family, meaning in zip(axes, families, ("printed", "corrected")):
        worn = look.MEANINGS[meaning] | {"markersize": 4, "linewidth": 1.2}
        ax.plot(family.horizons, family.ratios, **worn)
        ax.set(xscale="log", yscale="log")
        ax.axhline(1.0, color="0.5", linewidth=0.8)
    e = fit_exponent(families[0].horizons, families[0].ratios, bend=False)
    words = f"grows like $T^{{{e.estimate:.2f}}}$\nover the range shown"
    axes[0].text(
        0.97,
        0.05,
        words,
        transform=axes[0].transAxes,
        ha="right",
        weight="bold",
        fontsize=7,
    )
    note = (
        f"holds: at most {max(families[1].ratios):.2g} of\nthe bound where it applies"
    )
    axes[1].text(
        0.04,
        0.95,
        note,
        transform=axes[1].transAxes,
        va="top",
        weight="bold",
        fontsize=7,
    )
    axes[1].set_xlabel("horizon $T$ of the schedule")


def linear_in_m() -> Figure:
    """Time of a round over the number of clients, from recorded times."""
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
        for (name, taken), look in zip(recorded["seconds"].items(), looks()):
            e = fit_exponent(m[m >= 1000], np.array(taken)[m >= 1000], bend=False)
            label = (
                f"{name}: $m^{{{e.estimate:.2f}}}$, [{e.low:.2f}, {e.high:.2f}] for $m"
                " \\geq 1000$"
            )
            ax.plot(m, 1e3 * np.array(taken), label=label, **look)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel="clients $m$",
            ylabel="ms a round (one thread)",
        )
        ax.legend(loc="upper left")
    return figure


def measure_times(to: Path = TIMES) -> None:
    """Record the CPU seconds of a round on rings and tori, as the benchmark does."""
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
    """Bounds and measurements of Theorem 4.5 of DFedSAM on three networks."""
    return panels(perform_all(experiment_cases.network_cases()))


def quadratic() -> Figure:
    """Bounds and measurements of the same theorem on quadratics with one Hessian."""
    return panels(perform_all(experiment_cases.quadratic_cases()))


def stored_learning_curves() -> Figure:
    """Learning curves on CIFAR-10, client by client."""
    return learning.figure(learning.stored())


def stored_predictors() -> Figure:
    """Measured errors on twelve networks over three of their numbers."""
    return predictors.figure(predictors.stored())


README = Path(__file__).parent.parent / "README.md"
EXAMPLES = ("curves", "network", "training")
"""Names of the files that the README's examples write, in their order."""


def readme_example(number: int) -> Picture:
    """Return the picture that an example of the README writes, as bytes (PNG)."""
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
        crossings,
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
"""Name -> how it is drawn, and from what."""
