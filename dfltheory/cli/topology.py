"""``dfltheory topology``: constants, matrix checks, and comparison of topologies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from dfltheory.cli.guard import Command
from dfltheory.cli.output import AsJson, assignments, check_picture, emit, exit_unless
from dfltheory.errors import InputError


class _NameFirst(TyperGroup):
    """A group in which ``topology NAME ...`` means ``topology show NAME ...``."""

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="topology",
    cls=_NameFirst,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@app.callback()
def topology_commands() -> None:
    """Show the constants of a communication topology.

    They are lambda, the spectral gap, Phi(lambda, m, Q) and push-sum constants.

    Examples:

        dfltheory topology ring --m 16 --weights metropolis --Q 4

        dfltheory topology torus --m 64 --plot torus.pdf

        dfltheory topology check my_matrix.npy

        dfltheory topology compare ring torus exponential --m 16 64 256 1024

    `dfltheory topology NAME` is short for `dfltheory topology show NAME`.
    """


@app.command("show", cls=Command)
def show_topology(
    name: Annotated[
        str,
        typer.Argument(
            help="ring, torus, grid, exponential, complete, star, ... (see --list)."
        ),
    ] = "",
    m: Annotated[int, typer.Option("--m", help="Number of clients.")] = 16,
    weights: Annotated[
        str | None,
        typer.Option(
            help=(
                "Weight rule. Default: metropolis; column_stochastic on directed"
                " graphs."
            )
        ),
    ] = None,
    q: Annotated[
        int,
        typer.Option("--Q", help="Gossip steps per round, for Phi(lambda, m, Q)."),
    ] = 1,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            help="NAME=VALUE of the topology: degree=4, p=0.2, seed=1, sides=4x8.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw graph and spectrum to this file (png, pdf, svg)."),
    ] = None,
    list_names: Annotated[
        bool, typer.Option("--list", help="List topologies and weight rules.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show constants and checks of one topology.

    A million clients are possible if a closed form is known (ring, torus, exponential,
    ...). In this case no matrix is built, and only constants in closed form are
    printed. Exit status 1 if an assumption fails.

    Examples:

        dfltheory topology ring --m 1000000

        dfltheory topology star --m 16 --weights uniform

        dfltheory topology random-out-degree --m 100 --option degree=10 --option seed=1
    """
    from dfltheory import graphs

    if list_names:
        names = {
            "topologies": sorted(graphs.TOPOLOGIES),
            "weights": sorted(graphs.WEIGHT_RULES),
        }
        emit(
            names,
            "\n".join(f"{kind}: {', '.join(known)}" for kind, known in names.items()),
            as_json,
        )
        return
    if not name:
        raise InputError(
            "the name of a topology is missing: pass one, as in `dfltheory topology"
            " ring`; --list shows all"
        )
    from dfltheory.cli.topology_report import (
        describe_large,
        description_text,
        draw_topology,
        topology_document,
    )

    options = _options(option)
    if (key := graphs.topology_key(name)) not in graphs.TOPOLOGIES:
        if Path(name).is_file():
            raise InputError(
                f"{name} is a file: `dfltheory topology check {name}` checks the matrix"
                " in it"
            )
        # imports torch, which valid names do not need
        from dfltheory.training.setup import network_builders

        if key in network_builders():
            raise InputError(
                f"{name} is a sequence, with a network for each round: it has no single"
                f" lambda; `dfltheory train --topology {name}` runs on it"
            )
    if plot is not None:
        check_picture(plot)
    document = describe_large(name, m, weights, q, options) if plot is None else None
    network = None
    if document is None:
        document, graph, matrix = topology_document(name, m, weights, q, options)
        network = graph, matrix
    if plot is not None:
        document["plot"] = str(plot)
    emit(document, description_text(document), as_json)
    if plot is not None and network is not None:
        draw_topology(*network, document["weights"], plot)
    exit_unless(document["ok"])


@app.command("check", cls=Command)
def check_matrix_file(
    file: Annotated[
        Path, typer.Argument(help="A matrix (npy, npz, csv, txt, mtx) or an edge list.")
    ],
    push_sum: Annotated[
        bool,
        typer.Option(
            "--push-sum", help="Check what push-sum assumes instead of Definition 1."
        ),
    ] = False,
    directed: Annotated[
        bool,
        typer.Option(
            "--directed", help="The edge list is one of arcs `from to [weight]`."
        ),
    ] = False,
    graph: Annotated[
        Path | None,
        typer.Option(
            help="Edge list or adjacency matrix that the weights must respect."
        ),
    ] = None,
    tol: Annotated[
        float | None, typer.Option(help="Tolerance instead of rounding error.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a matrix of your own.

    The output lists each assumption that fails, where it fails, and which theorems need
    it.

    Exit status 0 if all hold, 1 if one fails, 2 if the file cannot be read or is not a
    finite square matrix. Edge lists without weights get Metropolis weights (out-degree
    weights with --directed).

    Examples:

        dfltheory topology check W.csv

        dfltheory topology check P.npz --push-sum --json

        dfltheory topology check W.npy --graph links.edgelist
    """
    from dfltheory import graphs
    from dfltheory.cli.topology_report import report_document
    from dfltheory.graphs.files import client_names, read_matrix_file

    matrix = read_matrix_file(file, directed=directed)
    names = client_names(file)
    if push_sum:
        report = graphs.check_push_sum(matrix, tol=tol)
    else:
        links = (
            None
            if graph is None
            else graphs.as_graph(read_matrix_file(graph, directed=directed))
        )
        report = graphs.check_mixing_matrix(matrix, links, tol=tol)
    document = (
        {"file": str(file)}
        | ({"clients": names} if names else {})
        | report_document(report)
    )
    emit(document, str(report) + _numbering(names), as_json)
    exit_unless(report.ok)


def _numbering(names: list[str] | None) -> str:
    """Return a text on how the clients of an edge list are numbered.

    It is empty if the file does not name them differently.
    """
    if names is None:
        return ""
    shown = ", ".join(names if len(names) <= 8 else [*names[:4], "...", names[-1]])
    return (
        f"\n  clients 0 to {len(names) - 1} are {shown} in the file; a name without a"
        " line is not a client"
    )


@app.command("compare", cls=Command)
def compare_topologies(
    names: Annotated[
        list[str],
        typer.Argument(help="Topologies. A number among them is a further value of m."),
    ],
    m: Annotated[
        list[int] | None,
        typer.Option("--m", help="Numbers of clients. Default: 16 64 256 1024."),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="Weight rule for all of them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the spectral gaps of several topologies at several numbers of clients.

    The exponent p of gap ~ m^-p is fitted.

    Examples:

        dfltheory topology compare ring torus exponential --m 16 64 256 1024

        dfltheory topology compare ring path --m 100 10000 1000000 --json
    """
    from dfltheory.cli.topology_report import compare_gaps, comparison_text

    given: set[int] = {*(m or []), *(int(n) for n in names if n.isdecimal())}
    sizes = sorted(given) or [16, 64, 256, 1024]
    document = compare_gaps([n for n in names if not n.isdecimal()], sizes, weights)
    emit(document, partial(comparison_text, document), as_json)


def _options(items: list[str] | None) -> dict[str, object]:
    """Return the options of a topology; ``sides=4x8`` becomes (4, 8)."""
    options: dict[str, object] = {**assignments(items)}
    if "sides" in options:
        try:
            options["sides"] = tuple(int(s) for s in str(options["sides"]).split("x"))
        except ValueError:
            raise InputError(
                f"sides={options['sides']} must be two integers, as in sides=4x8"
            ) from None
    return options
