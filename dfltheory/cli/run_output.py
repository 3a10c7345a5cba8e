"""Output and files of ``dfltheory train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.cli.output import console
from dfltheory.files import filling

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from dfltheory.training.history import History


def run_document(
    history: History, task: str, topology: str | None
) -> dict[str, object]:
    """Return the setup, measurements and communication of a run as plain values.

    Measurements are means over seeds. ``sent`` contains the total number of models,
    scalars and bits over all links; it is empty if they were not counted.
    """
    from dataclasses import asdict

    copied = (
        "rounds",
        "seeds",
        "seed",
        "rounds_measured",
        "diverged_at",
        "seconds",
        "m",
    )
    return {
        "algorithm": (
            {"name": type(history.algorithm).__name__} | asdict(history.algorithm)
        ),
        "task": task,
        "problem": history.task,
        "topology": topology,
        "measures": _mean_measures(history),
        "sent": _sent_in_total(history),
        **{name: getattr(history, name) for name in copied},
    }


def _mean_measures(history: History) -> dict[str, np.ndarray]:
    """Return the means over seeds of all measures."""
    return {name: array.mean(axis=0) for name, array in history.measures().items()}


def _sent_in_total(history: History) -> dict[str, float]:
    """Return models, scalars and bits sent over all links; empty if not counted."""
    counted = history.sent()
    sent = {}
    for unit in ("models", "scalars", "bits"):
        if f"sent_{unit}" in counted:
            sent[unit] = counted[f"sent_{unit}"][:, -1].mean()
    return sent


def save_run(history: History, document: dict[str, object], out: Path) -> None:
    """Write the files of a run to a folder.

    They are history.safetensors, history.csv (tidy), curves (PNG, PDF, SVG) and
    run.json; also clients.csv if individual clients were measured.
    """
    from dfltheory import plots
    from dfltheory.files import replacing, write_json

    with filling(out) as new:
        plots.save(measure_curves(history), new / "curves")
        history.save(new / "history.safetensors")
        with replacing(new / "history.csv") as temporary:
            history.to_frame().to_csv(temporary, index=False)
        if history.clients:
            with replacing(new / "clients.csv") as temporary:
                history.clients_frame().to_csv(temporary, index=False)
        write_json(new / "run.json", document)


def measure_curves(history: History) -> Figure:
    """Return a figure with a panel for each measure that the task defines."""
    from matplotlib.figure import Figure

    from dfltheory.plots import clients, comparison

    shown = [
        name for name in ("accuracy", "client_accuracy") if name in history.measures()
    ]
    shown += ["loss", "grad_norm_sq", "consensus"]
    shown = [name for name in shown if name not in history.clients]
    count = len(shown) + len(history.clients)
    figure = Figure(figsize=(3.4 * count, 3.0), layout="constrained")
    panels = figure.subplots(1, count)
    for ax, name in zip(panels[len(shown) :], history.clients):
        clients(history, name, ax)
    for ax, name in zip(panels, shown):
        comparison({"run": history}, name, ax, legend=False)
        later = history.measures()[name][:, 1:]
        ax.set(xscale="linear", title=None)
        # the consensus error at a common start is only rounding error
        if name in ("grad_norm_sq", "consensus"):
            ax.set_ylim(
                bottom=later[later > 0].min() / 2 if (later > 0).any() else None
            )
        else:
            ax.set(yscale="linear")
    figure.suptitle(
        f"{type(history.algorithm).__name__} on {history.task}, {history.m} clients",
        fontsize=10,
    )
    return figure


def print_history(history: History) -> None:
    """Print a table of at most 21 measured rounds, and the total amount sent."""
    from rich.table import Table

    names = {
        "loss": "loss f(xbar)",
        "grad_norm_sq": "||grad f(xbar)||^2",
        "consensus": "consensus error",
    }
    names |= {
        "accuracy": "accuracy of xbar",
        "client_accuracy": "accuracy of clients",
        "client_accuracy_min": "worst client",
        "client_loss": "loss of clients",
        "client_loss_max": "worst client",
    }
    measures = _mean_measures(history)
    shown = [name for name in names if name in measures]
    table = Table()
    table.add_column("round", justify="right")
    for name in shown:
        table.add_column(names[name], justify="right")
    count = len(history.rounds_measured)
    steps = min(20, max(count - 1, 1))
    for i in sorted({round(j * (count - 1) / steps) for j in range(min(21, count))}):
        cells = [f"{measures[name][i]:.4g}" for name in shown]
        table.add_row(str(history.rounds_measured[i]), *cells)
    print(f"{history.algorithm}\non {history.task}, {history.m} clients")
    console(130).print(table)
    sent = _sent_in_total(history)
    if history.diverged_at is None and sent:
        amounts = [f"{amount:.6g} {unit}" for unit, amount in sent.items()]
        print(f"sent: {', '.join(amounts)}")
    if history.seeds > 1:
        print(f"means over {history.seeds} seeds")
    if history.diverged_at is not None:
        print(
            f"diverged by round {history.diverged_at}: use a smaller step size (--eta)"
        )
    print(f"{history.seconds:.1f} s")


__all__ = ["measure_curves", "run_document", "print_history", "save_run"]
