"""Defaults of ``dfltheory train`` that neither the command nor a file overrides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.cli.output import first_task
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.training.instance import Instance


def take_dirichlet_partition(given: dict[str, object], config: Path | None) -> None:
    """Set the partition that --dirichlet implies, in the changes ``given`` by field.

    Raises
    ------
    InputError
        Another partition is given on the command line or in the file.
    """
    written = _written_task(config).get("partition", "dirichlet")
    partition = given.setdefault("task.partition", written)
    if not str(partition).startswith("dirichlet"):
        raise InputError(
            f"--dirichlet is for a Dirichlet partition, but the partition is"
            f" {partition}: omit one of them"
        )


def _written_task(config: Path | None) -> dict[str, object]:
    """Return the unchecked [task] of an experiment file; empty without a file."""
    from dfltheory.experiments.experiment_file import load_document

    written = {} if config is None else load_document(config).get("task")
    return written if isinstance(written, dict) else {}


def reject_ambiguous_alpha(
    given: dict[str, object], task: str, config: Path | None
) -> None:
    """Raise InputError for an ambiguous --alpha.

    With a Dirichlet partition it could be the momentum or the concentration.
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
    """Return the default partition of a task of the package, if it has one."""
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
"""Values of required hyperparameters if neither the command line nor a file has any."""


def default_document(algorithm: str, task: str) -> dict[str, object]:
    """Return the default document of a run without an experiment file.

    The options of the command line change it later.
    """
    from dfltheory.training.options import options_of

    section: dict[str, object] = {"name": algorithm}
    for name, option in options_of("algorithm", algorithm).items():
        if option.required and name in DEFAULT_HYPERPARAMETERS:
            section[name] = DEFAULT_HYPERPARAMETERS[name]
    return {"task": first_task(task, m=10), "algorithm": section, "run": {"rounds": 20}}


def with_image_defaults(instance: Instance, given: dict[str, object]) -> Instance:
    """Return an instance with the defaults of its kind of task.

    On images a round has one epoch of local steps, and there are 5 measurements instead
    of 20, since a full gradient over all images is about as expensive as a round.
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


def instance_measured_on(instance: Instance, images: int) -> Instance:
    """Return an instance that is measured on this number of images; 0 means all."""
    from dfltheory import tasks

    if not images or not isinstance(instance.task, tasks.Supervised):
        return instance
    return replace(instance, task=tasks.measured_on(instance.task, images))


__all__ = [
    "default_document",
    "instance_measured_on",
    "reject_ambiguous_alpha",
    "take_dirichlet_partition",
    "with_image_defaults",
]
