"""``dfltheory atlas``: all theorems about one left-hand side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dfltheory.cli.output import (
    AsJson,
    TrustOption,
    ValuesOption,
    assigned_values,
    emit,
)
from dfltheory.errors import InputError


def atlas(
    context: typer.Context,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="A theorem in all variants, or KEY:VARIANT (repeat); without it, all."
        ),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="Measure of the left-hand side, such as grad_norm_sq.")
    ] = "grad_norm_sq",
    topology: Annotated[
        str | None,
        typer.Option(help="Name of a topology of m clients, which determines lam."),
    ] = None,
    instance: Annotated[
        Path | None,
        typer.Option(help="An experiment file; its run is compared with all theorems."),
    ] = None,
    trust: TrustOption = False,
    truth: Annotated[
        bool,
        typer.Option(
            "--truth",
            help=(
                "Also print the exact expectation on quadratics, at the best step sizes"
                " of each theorem."
            ),
        ),
    ] = False,
    set_: ValuesOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare all theorems about one left-hand side.

    The output states which theorems apply, which are vacuous, and which bound is the
    smallest.

    Constants that are not given have typical values, which are listed. Quantities that
    only your own theorem has must be given. Each theorem is evaluated at its own best
    step sizes.

    Examples:

        dfltheory atlas --set T=10000 m=16 lam=0.8

        dfltheory atlas --key dfedsam.theorem_4_5 --topology ring --truth --set T=10000
        m=16
    """
    from dfltheory import bound_atlas as engine
    from dfltheory.best_bounds import check_constants
    from dfltheory.bounds.reference import load_all

    values: dict[str, Any] = {**assigned_values(context, set_)}  # checked below
    theorems = None
    if key:
        theorems = [t for name in key for t in load_all(name, trust=trust)]
    check_constants(values, engine.competitors(measure, theorems))
    network = None
    if topology is not None:
        from dfltheory import graphs

        if "m" not in values:
            raise InputError("--topology needs the number of clients: add --set m=16")
        network = graphs.topology(topology, int(values["m"]))
    run = None
    if instance is not None:
        from dfltheory.experiments.experiment_file import load_experiment

        run = load_experiment(instance, trust=trust).instance()
    result = engine.atlas(
        run,
        measure=measure,
        theorems=theorems,
        topology=network,
        truth=truth,
        **values,
    )
    return emit(result.to_dict(), str(result), as_json)
