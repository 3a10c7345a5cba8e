"""``dfltheory atlas``: all theorems about one left-hand side; ``dfltheory tune``: what to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dfltheory.cli.output import AsJson, Trust, Values, emit, values_of
from dfltheory.errors import InputError


def atlas(
    context: typer.Context,
    key: Annotated[
        list[str] | None, typer.Option(help="A theorem in all variants (repeat); without it, all.")
    ] = None,
    measure: Annotated[str, typer.Option(help="The left-hand side, as grad_norm_sq.")] = "grad_norm_sq",
    topology: Annotated[
        str | None, typer.Option(help="A topology's name, for m clients: its lam is taken.")
    ] = None,
    instance: Annotated[
        Path | None, typer.Option(help="An experiment file: hold its run against every theorem.")
    ] = None,
    trust: Trust = False,
    truth: Annotated[
        bool,
        typer.Option(
            "--truth", help="Also the exact expectation on quadratics at each theorem's best steps."
        ),
    ] = False,
    set_: Values = None,
    as_json: AsJson = False,
) -> None:
    """Compare all theorems about one left-hand side: which apply, which are vacuous, which is least.

    Constants that are not given take typical values, which are listed; a symbol of your own must be given.
    Each theorem takes its own best step sizes.

    Examples:

        dfltheory atlas --set T=10000 m=16 lam=0.8

        dfltheory atlas --key dfedsam.theorem_4_5 --topology ring --truth --set T=10000 m=16
    """
    from dfltheory.analysis import atlas as engine

    values = values_of(context, set_)
    engine.competitors(measure, key)  # a theorem of the user's may define symbols of its own
    engine.check_constants(values)
    network = None
    if topology is not None:
        from dfltheory import graphs

        if "m" not in values:
            raise InputError("--topology needs the number of clients: give --set m=16")
        network = graphs.topology(topology, values["m"])
    run = None
    if instance is not None:
        from dfltheory.analysis.config import load_experiment

        run = load_experiment(instance, trust=trust).instance()
    found = engine.atlas(run, measure=measure, theorems=key or None, topology=network, truth=truth, **values)
    return emit(found.to_dict(), str(found), as_json)


def tune(
    context: typer.Context,
    key: Annotated[
        list[str] | None, typer.Option(help="A theorem (repeat); without it, every corrected one.")
    ] = None,
    variant: Annotated[str | None, typer.Option(help="Of the theorems of --key.")] = None,
    topology: Annotated[
        list[str] | None, typer.Option(help="A topology that may be chosen, by name (repeat).")
    ] = None,
    weights: Annotated[
        list[str] | None, typer.Option(help="A weight rule that may be chosen (repeat).")
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Budget: communication rounds.")] = None,
    gradients: Annotated[int | None, typer.Option(help="Budget: stochastic gradients per client.")] = None,
    models: Annotated[int | None, typer.Option(help="Budget: models that the busiest client sends.")] = None,
    bytes_: Annotated[
        int | None, typer.Option("--bytes", help="Budget: bytes that all clients send; give --numbers too.")
    ] = None,
    numbers: Annotated[
        int | None, typer.Option(help="How many numbers, of 4 bytes each, a model has.")
    ] = None,
    set_: Values = None,
    as_json: AsJson = False,
) -> None:
    """Choose topology, weights, eta, K, Q, rho and alpha by the least valid bound within a budget.

    A hyperparameter in --set (K=5) stays fixed. Where every bound is vacuous the command says so, and chooses
    by the exact expectation on quadratics.

    Examples:

        dfltheory tune --rounds 10000 --models 40000 --set m=16 L=1 sigma_l=1 sigma_g=1 f0_gap=1
    """
    from dfltheory.analysis import tune as engine
    from dfltheory.analysis.atlas import check_constants
    from dfltheory.bounds.reference import load

    values = values_of(context, set_)
    check_constants(values)
    if "m" not in values:
        raise InputError("the number of clients is not stated: give --set m=16")
    theorems = None if not key else [load(k, variant) for k in key]
    if variant is not None and not key:
        raise InputError("--variant is of the theorems of --key: give at least one key")
    options = {n: v for n, v in (("topologies", topology), ("weights", weights)) if v}
    options |= {n: [values.pop(n)] for n in ("K", "Q", "rho", "alpha") if n in values}
    budget = engine.Budget(rounds=rounds, gradients=gradients, models=models, bytes=bytes_, numbers=numbers)
    found = engine.tune(budget, theorems=theorems, **options, **values)
    return emit(found.to_dict(), str(found), as_json)
