"""What ``dfltheory train`` prints and saves of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory.cli.output import (
    console,
)
from dfltheory.files import filling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dfltheory.training.history import History


def describe(history: History, task: str, topology: str | None) -> dict[str, object]:
    """Return what was run, what was measured and what was sent, as plain values.

    Measurements are means over seeds. ``sent`` has models, scalars and bits over all
    links until the end; it is empty if they were not counted.
    """
    from dataclasses import asdict

    totals = ("sent_models", "sent_scalars", "sent_bits")
    counted = history.sent()
    sent = {
        n.removeprefix("sent_"): counted[n][:, -1].mean()
        for n in totals
        if n in counted
    }
    measures = {name: array.mean(axis=0) for name, array in history.measures().items()}
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
        "measures": measures,
        "sent": sent,
        **{name: getattr(history, name) for name in copied},
    }


def save(history: History, document: dict[str, Any], out: Path) -> None:
    """Write the files of a run to a folder.

    They are history.safetensors, history.csv (tidy), curves (PNG, PDF, SVG) and
    run.json; also clients.csv if single clients were measured.
    """
    from dfltheory import plots
    from dfltheory.files import replacing, write_json

    with filling(out) as new:
        plots.save(curves(history), new / "curves")
        history.save(new / "history.safetensors")
        with replacing(new / "history.csv") as temporary:
            history.to_frame().to_csv(temporary, index=False)
        if history.clients:
            with replacing(new / "clients.csv") as temporary:
                history.clients_frame().to_csv(temporary, index=False)
        write_json(new / "run.json", document)


def curves(history: History) -> Figure:
    """Return a figure of the run: a panel for each measure that the task defines."""
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
        # at the common start the consensus error is rounding
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


def print_history(history: History, document: dict[str, Any]) -> None:
    """Print a table of at most 21 measured rounds, and what was sent in total."""
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
    shown = [name for name in names if name in document["measures"]]
    table = Table()
    table.add_column("round", justify="right")
    for name in shown:
        table.add_column(names[name], justify="right")
    count = len(history.rounds_measured)
    for i in sorted(
        {
            round(j * (count - 1) / min(20, max(count - 1, 1)))
            for j in range(min(21, count))
        }
    ):
        cells = (document["measures"][name][i] for name in shown)
        table.add_row(
            str(history.rounds_measured[i]), *(f"{cell:.4g}" for cell in cells)
        )
    print(f"{history.algorithm}\non {history.task}, {history.m} clients")
    console(130).print(table)
    if history.diverged_at is None and document["sent"]:
        print(
            "sent: "
            + ", ".join(f"{v:.6g} {unit}" for unit, v in document["sent"].items())
        )
    if history.seeds > 1:
        print(f"means over {history.seeds} seeds")
    if history.diverged_at is not None:
        print(
            f"diverged by round {history.diverged_at}: take a smaller step size (--eta)"
        )
    print(f"{history.seconds:.1f} s")


__all__ = ["curves", "describe", "print_history", "save"]
