"""``dfltheory train``: run one algorithm and print its measurements.

It runs on one task and one network.
"""

from __future__ import annotations

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
    TrustOption,
    assigned_values,
    changes,
    emit,
    exit_unless,
    network_field,
    on_the_line,
)
from dfltheory.cli.run_output import print_history, run_document, save_run
from dfltheory.cli.train_defaults import (
    default_document,
    instance_measured_on,
    reject_ambiguous_alpha,
    take_dirichlet_partition,
    with_image_defaults,
)
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.training.history import History

RUN_FIELDS = {
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
"""Fields of the options in the document of the run."""


def train(
    context: typer.Context,
    algorithm: Annotated[
        str,
        typer.Option(
            help=(
                "Algorithm: dfedsam, dpsgd, ...; MODULE:CLASS or FILE.py:CLASS for your"
                " own."
            )
        ),
    ] = "dfedsam",
    task: Annotated[
        str,
        typer.Option(
            help=(
                "Task: quadratic, digits, cifar10, ...; MODULE:NAME or FILE.py:NAME for"
                " your own."
            )
        ),
    ] = "digits",
    topology: Annotated[
        str,
        typer.Option(
            help=(
                "Network: ring, torus, exponential, ... (`dfltheory topology --list`),"
                " or the file of a matrix."
            )
        ),
    ] = "ring",
    weights: Annotated[
        str | None,
        typer.Option(help="Weight rule. Default: metropolis, or column_stochastic."),
    ] = None,
    m: Annotated[int, typer.Option("--m", help="Number of clients.")] = 10,
    rounds: Annotated[int, typer.Option(help="Communication rounds.")] = 20,
    seeds: Annotated[int, typer.Option(help="Number of independent runs.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    eta: Annotated[
        float | None, typer.Option("--eta", help="Step size. Default: 0.1.")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--K",
            help="Local steps per round. Default: 5; on images one epoch, at most 50.",
        ),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(
            "--rho", help="SAM radius. Default: the paper's, such as 0.01 for dfedsam."
        ),
    ] = None,
    q: Annotated[
        int | None, typer.Option("--Q", help="Gossip steps per round.")
    ] = None,
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
                "A hyperparameter, such as decay=0.998, or a field of the experiment,"
                " such as run.seeds=4."
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
            help="Rounds between measurements. Default: such that there are 20, or 5 on"
            " images."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME...",
            help=(
                "client_accuracy or client_loss, which measure the model of each"
                " client; mean, worst and quantiles are printed and drawn."
            ),
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An experiment file (TOML, JSON), whose values other options replace.",
        ),
    ] = None,
    trust: TrustOption = False,
    force: Force = False,
    measure_on: Annotated[
        int,
        typer.Option(
            help="Number of images for measuring loss and gradient; 0: all of them."
        ),
    ] = 10000,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for history, table, curves and configuration."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File to which the run is saved regularly, and from which it resumes."
        ),
    ] = None,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(help="Rounds between saves. Default: about ten seconds of work."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train, and print loss, gradient norm, consensus error and accuracy by round.

    Hyperparameters that the algorithm does not have are rejected; those that are not
    given have its defaults.

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
    from dfltheory import algorithms
    from dfltheory.training.checkpoint import Checkpoint

    if measure_on < 0:
        raise InputError(
            f"--measure-on {measure_on} must be a number of images, or 0 for all of"
            " them"
        )
    saved, kept = None, "nothing is kept; --checkpoint FILE saves a run regularly"
    if checkpoint is not None:
        saved = Checkpoint(checkpoint, checkpoint_every, force)
        kept = (
            f"{checkpoint} contains the run as last saved: the same command continues"
            " from there"
        )
    _check_output(out, checkpoint)
    values = assigned_values(context, set_)
    further = {}
    for name, value in values.items():
        further[name if "." in name else f"algorithm.{name}"] = value
    given = changes(context, RUN_FIELDS, option, further)
    if on_the_line(context, "alpha") or "alpha" in values:
        reject_ambiguous_alpha(given, task, config)
    if on_the_line(context, "dirichlet"):
        take_dirichlet_partition(given, config)
    if on_the_line(context, "topology") or (
        config is None and algorithms.resolve_alias(algorithm)[2] is None
    ):
        folder = Path() if config is None else config.parent
        field, network = network_field(topology, folder)
        given[field] = network

    from dfltheory.experiments.experiment_file import load_experiment, read_experiment

    with keeping(kept):
        if config is not None:
            cell = load_experiment(config, given, trust=trust, force=force).cell
            instance = cell.instance()
        else:
            document = default_document(algorithm, given.get("task.name", task))
            cell = read_experiment(document, "", Path(), given, trust=True).cell
            instance = with_image_defaults(cell.instance(), given)
        if on_the_line(context, "topology") and not instance.algorithm.needs_topology:
            name = type(instance.algorithm).__name__
            raise InputError(
                f"--topology {topology}: {name} does not use a network: omit --topology"
            )
        images = measure_on
        if config is not None and not on_the_line(context, "measure_on"):
            images = 0  # all images
        instance = instance_measured_on(instance, images)
        history = instance.run(checkpoint=saved, progress=False if as_json else None)
    network = cell["topology"].get("name") or cell["topology"].get("file")
    _print_and_save(history, cell["task"]["name"], network, out, as_json)


def _check_output(out: Path | None, checkpoint: Path | None) -> None:
    """Check, before any work is done, that the run can be saved."""
    if out is None:
        return
    check_writable(out, folder=True)
    if checkpoint is not None and checkpoint.resolve() == out.resolve():
        raise InputError(
            f"--checkpoint {checkpoint} is the folder of --out: give the checkpoint"
            f" a name of its own, as in {out / 'run.ckpt'}"
        )


def _print_and_save(
    history: History, task: str, topology: str | None, out: Path | None, as_json: bool
) -> None:
    """Print a run, and save it if a folder is given."""
    document = run_document(history, task, topology) | {"out": out}
    emit(document, partial(print_history, history), as_json)
    if out is not None:
        save_run(history, document, out)
        if not as_json:
            print(f"written to {out}")
    exit_unless(history.diverged_at is None)
