"""``dfltheory compare``: the verdict on a run that was measured elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfltheory.cli.output import (
    AsJson,
    AssignedValue,
    TrustOption,
    Variant,
    assigned_values,
    check_picture,
    emit,
    exit_unless,
    on_the_line,
)
from dfltheory.errors import InputError, checked_name
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.algorithms.base import Algorithm
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.experiments.report import Study
    from dfltheory.training.history import History
    from dfltheory.verdicts.verdict import Verdict

DESCRIPTION = ("algorithm", "topology", "weights", "m", "start", "precision")
"""Options that describe a run. A saved history contains its own description."""


def compare(
    context: typer.Context,
    run: Annotated[
        Path,
        typer.Argument(
            help=(
                "Measurements with columns seed, round and measures (.csv, .jsonl,"
                " .parquet), or a saved history (.safetensors)."
            )
        ),
    ],
    theorem: Annotated[
        str,
        typer.Argument(
            help="KEY or KEY:VARIANT of the registry, FILE.toml or FILE.py:NAME."
        ),
    ],
    variant: Variant = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help=(
                "The algorithm that was run: dfedavg, dpsgd, ...; MODULE:CLASS or"
                " FILE.py:CLASS for your own."
            )
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE...",
            help=(
                "Hyperparameters and constants by glossary name, such as eta=0.1 L=1"
                " x0_sq=0; options of a topology, such as topology.degree=4."
            ),
        ),
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            help="Name of the network (ring, torus, ...), with --m and --weights; or"
            " the file of a matrix."
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(help="The weight rule that the run used: metropolis, ..."),
    ] = None,
    m: Annotated[int | None, typer.Option("--m", help="Number of clients.")] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="common: all clients start at the same model; different: they do not."
        ),
    ] = None,
    precision: Annotated[
        str, typer.Option(help="Arithmetic of the run: float64, float32, ...")
    ] = "float64",
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the two-sided interval.")
    ] = 0.95,
    method: Annotated[
        str, typer.Option(help="student, or bootstrap (8 seeds or more).")
    ] = "student",
    trust: TrustOption = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help=(
                "A figure of measurement and bound (.png, .pdf, .svg), or a folder for"
                " table, figure and report."
            )
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare measurements of your own code with a theorem.

    Round t is measured at the models after t rounds; T is the last measured round
    unless --set T=... states a later one. If a required value is not stated, the
    verdict is *not applicable* and lists it. Exit status 1 if the bound is violated.

    Examples:

        dfltheory compare run.csv mine.toml --algorithm dpsgd --set eta=0.01 L=1
        f_star=0 sigma_l=0 sigma_g=0.3 --topology ring --m 8 --weights metropolis
        --start common

        dfltheory compare run.csv dfedsam.theorem_4_5 --algorithm dfedsam --topology
        W.npy --set eta=0.01 K=5 rho=0.01 L=1 --out figure.pdf

        dfltheory compare results/history.safetensors mine.toml --set sigma_g=0.5
    """
    from dfltheory import bounds
    from dfltheory.verdicts.compare import compare as verdict_of

    values = assigned_values(context, set_)
    is_figure = out is not None and out.suffix != ""
    if out is not None and is_figure:
        check_picture(out, "--out")
    elif out is not None:
        check_writable(out, folder=True)
    statement = bounds.load(theorem, variant, trust=trust)
    settings: dict[str, Any] = {"confidence": confidence, "method": method}
    if run.suffix.lower() == ".safetensors":
        history = _saved(context, run)
        for name in values:
            checked_name("constant", name, statement.glossary)
        settings |= values
    else:
        history = _measured(run, statement, context.params, values)
    verdict = verdict_of(history, statement, **settings)
    text, written = str(verdict), out
    if out is not None and is_figure:
        from matplotlib.figure import Figure

        from dfltheory.plots.look import write_figure

        figure = verdict.plot().figure
        assert isinstance(figure, Figure)
        write_figure(figure, out)
    elif out is not None:
        written = _report(verdict, history, run).save(out)
    if written is not None:
        text += f"\nwrote {written}"
    document = verdict.to_dict() | {"run": str(run), "written": written}
    emit(document, text, as_json)
    exit_unless(verdict.kind != "violated")


def _report(verdict: Verdict, history: History, path: Path) -> Study:
    """Return a study of a single run that was measured elsewhere."""
    from dfltheory.experiments.cases import Case, Outcome
    from dfltheory.experiments.report import Study

    title = f"{verdict.key} against {path.name}"
    case = Case(
        instance=None, group=title, row="", column=path.name, key=verdict.theorem
    )
    return Study(
        title=title,
        outcomes=[Outcome(case, history, (verdict,))],
        not_tested=["How the measurements were made, and what is stated of the run."],
        command=f"dfltheory compare {path.name} ...",
    )


def _saved(context: typer.Context, path: Path) -> History:
    """Return a saved history; options that would describe it are errors."""
    from dfltheory.training.history import History

    for name in DESCRIPTION:
        if on_the_line(context, name):
            raise InputError(
                f"--{name} cannot be used with {path}, a saved history, which contains"
                f" this information: omit --{name}"
            )
    return History.load(path)


def _measured(
    path: Path,
    theorem: Theorem,
    options: Mapping[str, Any],
    values: Mapping[str, AssignedValue],
) -> History:
    """Return the history for a table of measurements and options on the run."""
    from dfltheory.training.history import History
    from dfltheory.training.measurement_files import read_measurements

    if options["algorithm"] is None:
        raise InputError(
            "--algorithm is missing: name what was run, for example --algorithm dfedavg"
        )
    kind, hyperparameters, others = _divided(options["algorithm"], values)
    # graphs.topology checks these names and values
    network_options: dict[str, Any] = {
        name.removeprefix("topology."): value
        for name, value in others.items()
        if name.startswith("topology.")
    }
    constants: dict[str, Any] = {
        name: value
        for name, value in others.items()
        if not name.startswith("topology.")
    }
    for name in constants:
        checked_name("constant", name, {*theorem.glossary, "f_star", "T", "m"})
    if options["m"] is not None and constants.get("m", options["m"]) != options["m"]:
        raise InputError(
            f"--m {options['m']} contradicts --set m={constants['m']}: omit one of them"
        )
    if options["m"] is not None:
        constants.setdefault("m", options["m"])
    table = read_measurements(path)
    measures: dict[str, Any] = dict(table.measures)
    return History.from_measurements(
        algorithm=kind(**hyperparameters),
        network=_network(options, network_options, constants.get("m")),
        constants=constants,
        start=options["start"],
        rounds=table.rounds,
        precision=options["precision"],
        task=path.name,
        **measures,
    )


def _divided(
    name: str, values: Mapping[str, AssignedValue]
) -> tuple[type[Algorithm], dict[str, Any], dict[str, AssignedValue]]:
    """Return the algorithm's class, its hyperparameters, and all other values."""
    from dataclasses import fields

    from dfltheory import algorithms
    from dfltheory.training.measurements import complete_hyperparameters
    from dfltheory.training.options import builder

    kind = builder("algorithm", name)
    by_name = {kind.glossary.get(f.name, f.name): f.name for f in fields(kind)}
    hyperparameters: dict[str, Any] = dict(algorithms.resolve_alias(name)[1])
    others = {}
    for key, value in values.items():
        if key in by_name:
            hyperparameters[by_name[key]] = value
        elif key.startswith("algorithm."):
            hyperparameters[key.removeprefix("algorithm.")] = value
        else:
            others[key] = value
    return kind, complete_hyperparameters(kind, hyperparameters), others


def _network(
    options: Mapping[str, Any], network_options: Mapping[str, Any], m: int | None
) -> object:
    """Return the matrix or network of --topology; None if it is unknown."""
    import networkx as nx

    from dfltheory import graphs
    from dfltheory.graphs.files import SUFFIXES, read_matrix_file

    name, rule = options["topology"], options["weights"]
    if name is None:
        if rule is not None or network_options:
            raise InputError(
                "--weights and --set topology.* apply to a topology: add"
                " --topology NAME"
            )
        return None
    if Path(name).suffix.lower() in SUFFIXES:
        if network_options:
            option = next(iter(network_options))
            raise InputError(
                f"--set topology.{option} does not apply to the file --topology {name},"
                " which contains the whole network: omit it"
            )
        network = read_matrix_file(name)
        if not isinstance(network, nx.Graph) and rule is None:
            return network
        if not isinstance(network, nx.Graph):
            raise InputError(
                f"--weights {rule}: {name} is a matrix, which contains the weights:"
                " omit --weights"
            )
    elif m is None:
        raise InputError(f"--topology {name} needs the number of clients: add --m")
    else:
        network = graphs.topology(name, m, **network_options)
    if rule is None:
        raise InputError(
            f"--topology {name} does not determine the mixing weights of the run: add"
            " --weights metropolis or another rule, or name the file of the matrix"
        )
    return graphs.weights(network, rule)
