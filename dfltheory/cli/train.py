"""``dfltheory train``: run one algorithm and print what was measured.

It runs on one task over one network.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dfltheory.cli.guard import keeping
from dfltheory.cli.output import (
    AsJson,
    Data,
    Force,
    TaskOptions,
    Trust,
    changes,
    emit,
    first_task,
    leave,
    network_field,
    on_the_line,
    values_of,
)
from dfltheory.cli.run_output import describe, print_history, save
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.training.history import History
    from dfltheory.training.instance import Instance

FIELDS = {
    **{name: f"{name}.name" for name in ("algorithm", "task")},
    **{name: f"run.{name}" for name in ("rounds", "seeds", "seed", "evaluate_every")},
    **{
        name: f"task.{name}"
        for name in ("data", "m", "model", "partition", "batch", "data_root")
    },
    **{name: f"algorithm.{name}" for name in ("eta", "rho", "alpha", "lam")},
    "dirichlet": "task.alpha",
    "metric": "run.metrics",
    "k": "algorithm.K",
    "q": "algorithm.Q",
    "weights": "topology.weights",
}
"""Each option's field in the document of the run."""


def train(
    context: typer.Context,
    algorithm: Annotated[
        str,
        typer.Option(
            help=(
                "dfedsam, dpsgd, ...: the paper's name; MODULE:CLASS or FILE.py:CLASS"
                " for your own."
            )
        ),
    ] = "dfedsam",
    task: Annotated[
        str,
        typer.Option(
            help=(
                "quadratic, digits, cifar10, ...: the problem; MODULE:NAME or"
                " FILE.py:NAME for your own."
            )
        ),
    ] = "digits",
    topology: Annotated[
        str,
        typer.Option(
            help=(
                "ring, torus, exponential, ... (`dfltheory topology --list`), or a"
                " matrix's file."
            )
        ),
    ] = "ring",
    weights: Annotated[
        str | None,
        typer.Option(help="Weight rule. Default: metropolis, or column_stochastic."),
    ] = None,
    m: Annotated[int, typer.Option("--m", help="Clients.")] = 10,
    rounds: Annotated[int, typer.Option(help="Communication rounds.")] = 20,
    seeds: Annotated[int, typer.Option(help="Independent runs, side by side.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    eta: Annotated[
        float | None, typer.Option("--eta", help="Step size. Default: 0.1.")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--K",
            help="Local steps a round. Default: 5; on images one epoch, at most 50.",
        ),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(
            "--rho", help="SAM radius. Default: the paper's, as 0.01 for dfedsam."
        ),
    ] = None,
    q: Annotated[int | None, typer.Option("--Q", help="Gossip steps a round.")] = None,
    alpha: Annotated[float | None, typer.Option("--alpha", help="Momentum.")] = None,
    lam: Annotated[
        float | None, typer.Option("--lam", help="Penalty of DFedADMM.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE...",
            help=(
                "A hyperparameter, as decay=0.998, or field of the document, as"
                " run.seeds=4."
            ),
        ),
    ] = None,
    data: Data = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=(
                "softmax, mlp, mnist_2nn, cifar_cnn, vgg11, resnet18; with --data"
                " MODULE:CLASS or "
                "FILE.py:CLASS of your own."
            )
        ),
    ] = None,
    partition: Annotated[
        str | None, typer.Option(help="How images are divided: iid, dirichlet, shards.")
    ] = None,
    dirichlet: Annotated[
        float | None,
        typer.Option(
            help=(
                "Dirichlet concentration of the division; small is heterogeneous."
                " Implies "
                "--partition dirichlet."
            )
        ),
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Examples in a minibatch.")] = None,
    option: TaskOptions = None,
    data_root: Annotated[
        Path | None, typer.Option(help="Folder of the official image files.")
    ] = None,
    evaluate_every: Annotated[
        int | None,
        typer.Option(
            help="Rounds between measurements. Default: 20 times; 5 times on images."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help=(
                "client_accuracy, client_loss: of every client's own model; mean, worst"
                " and quantiles are printed and drawn."
            ),
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An experiment file (TOML, JSON); options change what it says.",
        ),
    ] = None,
    trust: Trust = False,
    force: Force = False,
    measure_on: Annotated[
        int,
        typer.Option(
            help="Images that loss and gradient are measured on; 0: all of them."
        ),
    ] = 10000,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for history, table, curves and configuration."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File to save the run to as it goes, and to go on from."),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(help="Rounds between saves. Default: about every ten seconds."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train, and print what is measured over the rounds.

    These are loss, gradient norm, consensus error and accuracy.

    Hyperparameters that the algorithm lacks are refused; those that are not given take
    its defaults.

    Examples:

        dfltheory train --task digits --algorithm dfedsam --topology ring --m 16
        --rounds 50 --rho 0.05

        dfltheory train --task quadratic --algorithm dfedadmm --lam 0.1 --task-option
        zeta=1.0 --seeds 8

        dfltheory train --config experiment.toml --set run.rounds=10 --out results/mine

        dfltheory train --data mine.npz --model my_models.py:Net --topology ring
        --rounds 20

        dfltheory train --task cifar10 --model cifar_cnn --topology ring --m 10 --rounds
        10 --data-root DIR
    """
    from dfltheory import algorithms, tasks
    from dfltheory.training.checkpoint import Checkpoint

    if measure_on < 0:
        raise InputError(
            f"--measure-on {measure_on} must be a number of images, or 0 for all of"
            " them"
        )
    saved = (
        Checkpoint(checkpoint, checkpoint_every, force)
        if checkpoint is not None
        else None
    )
    if out is not None:
        check_writable(out, folder=True)
        if checkpoint is not None and checkpoint.resolve() == out.resolve():
            raise InputError(
                f"--checkpoint {checkpoint} is the folder of --out: give the checkpoint"
                f" a name of its own, as in {out / 'run.ckpt'}"
            )
    kept = "nothing is kept; --checkpoint FILE saves a run as it goes"
    if checkpoint is not None:
        kept = (
            f"{checkpoint} has the run, as last saved: the same command goes on from"
            " there"
        )
    values = values_of(context, set_)
    further = {}
    for name, value in values.items():
        further[name if "." in name else f"algorithm.{name}"] = value
    given = changes(context, FIELDS, option, further)
    if on_the_line(context, "alpha") or "alpha" in values:
        _reject_ambiguous_alpha(given, task, config)
    if on_the_line(context, "dirichlet"):
        given.setdefault(
            "task.partition", _written_task(config).get("partition", "dirichlet")
        )
        if not str(given["task.partition"]).startswith("dirichlet"):
            raise InputError(
                f"--dirichlet: the partition is {given['task.partition']}, not"
                " dirichlet"
            )
    if on_the_line(context, "topology") or (
        config is None and algorithms.spoken(algorithm)[2] is None
    ):
        given |= dict(
            [network_field(topology, Path() if config is None else config.parent)]
        )

    from dfltheory.experiments.experiment_file import load_experiment, read_experiment

    with keeping(kept):
        if config is not None:
            cell = load_experiment(config, given, trust=trust, force=force).cell
            instance = cell.instance()
        else:
            document = _default_document(algorithm, given.get("task.name", task))
            cell = read_experiment(document, "", Path(), given, trust=True).cell
            instance = _with_image_defaults(cell.instance(), given)
        if on_the_line(context, "topology") and not instance.algorithm.needs_topology:
            name = type(instance.algorithm).__name__
            raise InputError(
                f"--topology {topology}: {name} does not use a network; leave it out"
            )
        on_some_images = measure_on > 0 and (
            config is None or on_the_line(context, "measure_on")
        )
        if on_some_images and isinstance(instance.task, tasks.Supervised):
            instance = replace(
                instance, task=tasks.measured_on(instance.task, measure_on)
            )
        history = instance.run(checkpoint=saved, progress=False if as_json else None)
    network = cell["topology"].get("name") or cell["topology"].get("file")
    _print_and_save(history, cell["task"]["name"], network, out, as_json)


def _written_task(config: Path | None) -> dict[str, object]:
    """Return the [task] of an experiment file, unchecked; empty without a file."""
    from dfltheory.experiments.experiment_file import load_document

    written = {} if config is None else load_document(config).get("task")
    return written if isinstance(written, dict) else {}


def _reject_ambiguous_alpha(
    given: dict[str, object], task: str, config: Path | None
) -> None:
    """Raise InputError for an ambiguous --alpha.

    It could be the momentum or the Dirichlet concentration.
    """
    written = _written_task(config)
    name = given.get("task.name", written.get("name", task))
    kind = given.get("task.partition", written.get("partition")) or _default_partition(
        name
    )
    if "task.alpha" not in given and str(kind).startswith("dirichlet"):
        raise InputError(
            "--alpha is ambiguous with a Dirichlet partition: give --dirichlet for the"
            " concentration, or --set algorithm.alpha=... for the momentum"
        )


def _default_partition(task: object) -> object:
    """Return the default partition of a task of the package; None without one."""
    from dfltheory import tasks
    from dfltheory.training.options import options_of

    if not isinstance(task, str) or task not in tasks.names():
        return None
    option = options_of("task", task).get("partition")
    return None if option is None else option.default


DEFAULT_HYPERPARAMETERS = {
    "eta": 0.1,
    "eta_u": 0.1,
    "eta_v": 0.1,
    "K": 5,
    "K_u": 5,
    "K_v": 1,
    "lam": 0.1,
    "gamma": 0.1,
}
"""Values of required hyperparameters that neither the command line nor a file gives."""


def _default_document(algorithm: str, task: str) -> dict[str, object]:
    """Return the document of a run without a file.

    The options of the command line are not in it yet.
    """
    from dfltheory.training.options import options_of

    section: dict[str, object] = {"name": algorithm}
    for name, option in options_of("algorithm", algorithm).items():
        if option.required and name in DEFAULT_HYPERPARAMETERS:
            section[name] = DEFAULT_HYPERPARAMETERS[name]
    return {"task": first_task(task, m=10), "algorithm": section, "run": {"rounds": 20}}


def _with_image_defaults(instance: Instance, given: dict[str, object]) -> Instance:
    """Return an instance with the defaults of its kind of task.

    On images a round has one epoch of local steps, and there are 5 measurements in
    place of 20, since a full gradient over all images costs about as much as a round.
    """
    from dfltheory import tasks

    measurements = 20
    if isinstance(instance.task, tasks.Supervised):
        measurements = 5
        steps = min(instance.task.steps_per_epoch, 50)
        names = [name for name in ("K", "K_u") if hasattr(instance.algorithm, name)]
        changed = {name: steps for name in names if f"algorithm.{name}" not in given}
        instance = replace(instance, algorithm=replace(instance.algorithm, **changed))
    if "run.evaluate_every" in given:
        return instance
    return replace(instance, evaluate_every=max(1, instance.rounds // measurements))


def _print_and_save(
    history: History, task: str, topology: str | None, out: Path | None, as_json: bool
) -> None:
    """Print a run, and save it if a folder is given."""
    document = describe(history, task, topology) | {"out": out}
    emit(document, partial(print_history, history), as_json)
    if out is not None:
        save(history, document, out)
        if not as_json:
            print(f"written to {out}")
    leave(history.diverged_at is None)


__all__ = []
