"""``dfltheory validate``: run a theorem's algorithm, and compare the runs with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfltheory.cli.guard import keeping
from dfltheory.cli.output import (
    AsJson,
    ChangeOption,
    Data,
    Force,
    TaskOptions,
    TrustOption,
    assignments,
    changes,
    emit,
    exit_unless,
    first_task,
    network_field,
    on_the_line,
)
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.experiments.report import Study

STUDY_FIELDS = {
    **{name: f"run.{name}" for name in ("rounds", "seeds", "seed")},
    **{name: f"theorem.{name}" for name in ("key", "confidence", "method")},
    "task": "task.name",
    "algorithm": "algorithm.name",
    **{name: f"task.{name}" for name in ("data", "model", "m")},
    "rho0": "theorem.constants.rho0",
    "variant": "theorem.variants",
    "steps": "theorem.steps",
}
"""Fields of the options in the document of the study."""
DEFAULT_NETWORKS = ["ring", "torus", "exponential", "complete"]
"""Topologies of a command that names none."""


def validate(
    context: typer.Context,
    key: Annotated[
        str,
        typer.Argument(
            help=(
                "KEY or KEY:VARIANT, as listed by `dfltheory bound`; or FILE.toml,"
                " FILE.py:NAME for your own."
            )
        ),
    ] = "dfedsam.theorem_4_5",
    task: Annotated[
        str | None,
        typer.Option(
            help=(
                "Task: quadratic, digits, ..., or MODULE:NAME for your own. Default:"
                " quadratic; sinusoidal for theorems that assume bounded gradients,"
                " coupled for partial personalization."
            )
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="Algorithm instead of the theorem's: a name, or MODULE:CLASS."
        ),
    ] = None,
    topology: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Name, or file of a matrix; repeatable. Default: ring, torus,"
                " exponential, complete."
            )
        ),
    ] = None,
    m: Annotated[int, typer.Option(help="Number of clients.")] = 16,
    q: Annotated[
        list[int] | None,
        typer.Option("--Q", help="Gossip steps per round; repeatable."),
    ] = None,
    k: Annotated[
        int,
        typer.Option(
            "--K", help="Local steps per round; 1 by default if a theorem has no K."
        ),
    ] = 5,
    rounds: Annotated[
        int, typer.Option(help="Horizon T; the schedule's step sizes follow from it.")
    ] = 1000,
    seeds: Annotated[
        int, typer.Option(help="Number of independent runs, for the interval.")
    ] = 16,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    rho0: Annotated[
        float, typer.Option(help="Factor of the SAM radius rho = rho0 / sqrt(T).")
    ] = 1.0,
    steps: Annotated[
        str,
        typer.Option(
            help=(
                "Step sizes: schedule (the corollary's), admissible (the schedule's,"
                " reduced where a condition demands it), or largest (the largest at"
                " which all conditions hold)."
            )
        ),
    ] = "admissible",
    variant: Annotated[
        list[str] | None, typer.Option(help="Variant; repeatable. Default: all.")
    ] = None,
    data: Data = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=(
                "Model for --data: softmax, mlp, or MODULE:CLASS or FILE.py:CLASS of a"
                " torch module."
            )
        ),
    ] = None,
    option: TaskOptions = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=(
                "An experiment file (TOML, JSON) with [theorem], whose values other"
                " options replace."
            ),
        ),
    ] = None,
    change: ChangeOption = None,
    trust: TrustOption = False,
    force: Force = False,
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the two-sided interval.")
    ] = 0.95,
    method: Annotated[
        str,
        typer.Option(
            help=(
                "student, or bootstrap (8 seeds or more; for runs in which a few seeds"
                " dominate the mean)."
            )
        ),
    ] = "student",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for table, figures and report. Default: none."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the theorem's algorithm, and report whether the bound holds.

    Step sizes follow from the corollary. Exit status 1 if a bound is violated.

    Examples:

        dfltheory validate --topology ring --Q 1 --Q 4 --rounds 1000

        dfltheory validate --task digits --rounds 600 --seeds 4 --out results/digits

        dfltheory validate --task-option zeta=1.0 --task-option sigma=0.1 --json

        dfltheory validate --config experiment.toml --set run.seeds=32 --out
        results/mine
    """
    if Path(key).suffix.lower() == ".json":
        raise InputError(
            f"{key} is not a theorem: pass an experiment file as --config {key}"
        )
    if out is not None:
        check_writable(out, folder=True)
    given = changes(context, STUDY_FIELDS, option, assignments(change))
    from dfltheory.experiments.cases import perform_all
    from dfltheory.experiments.experiment_file import load_document, read_experiment
    from dfltheory.experiments.report import Study

    if config is not None:
        document = load_document(config)
        folder = config.parent
        networks = topology or []
        if on_the_line(context, "k"):
            given["algorithm.K"] = k
    else:
        local_steps = k if on_the_line(context, "k") else None
        document = _default_document(key, local_steps, algorithm, given, trust)
        folder = Path()
        networks = topology or DEFAULT_NETWORKS
    _add_axis(
        document,
        given,
        [network_field(name, folder) for name in networks],
        config is None,
    )
    _add_axis(
        document, given, [("algorithm.Q", steps) for steps in q or ()], config is None
    )
    source = "" if config is None else str(config)
    experiment = read_experiment(
        document, source, folder, given, trust=trust or config is None, force=force
    )
    with keeping("nothing is written"):
        outcomes = perform_all(experiment.cases(), progress=not as_json)
    study = Study(
        title=experiment.title,
        outcomes=outcomes,
        not_tested=[
            "Other horizons, problems and networks than those shown; the limits of the"
            " theorem."
        ],
        command="dfltheory validate"
        + (f" --config {config.name}" if config is not None else ""),
    )
    _print_and_save(study, out, as_json)


def _add_axis(
    document: dict[str, object],
    given: dict[str, object],
    values: Sequence[tuple[str, object]],
    sweep_one: bool,
) -> None:
    """Add options that may be given several times to a document.

    Parameters
    ----------
    document : dict
        The document, whose [sweep] gets an axis.
    given : dict
        Changes of the document by field, to which a single value is added.
    values : list of (field, value)
        The options. Different fields must be in the same section.
    sweep_one : bool
        Whether a single value is an axis, too, so that it appears in the report.
    """
    fields = {field for field, _ in values}
    sweep = document.get("sweep", {})
    if not isinstance(sweep, dict):  # the reader of the document reports it
        return
    if len(fields) == 1 and (len(values) > 1 or sweep_one):
        sweep[fields.pop()] = [value for _, value in values]
    elif len(values) > 1:
        sweep["topology"] = [
            {field.removeprefix("topology."): value} for field, value in values
        ]
    else:
        given.update(values)
        return
    document["sweep"] = sweep


def _default_document(
    key: str,
    K: int | None,
    algorithm: str | None,
    given: Mapping[str, Any],
    trust: bool,
) -> dict[str, object]:
    """Return the document of a command without an experiment file.

    It runs the theorem's algorithm with its own schedule or, without one, with the
    largest admissible step size up to 1/L.

    Parameters
    ----------
    key : str
        The theorem.
    K : int, optional
        Number of local steps. By default it is 5, or 1 if the theorem does not contain
        it and thus covers only one local step.
    algorithm : str, optional
        An algorithm to use instead of the theorem's.
    given : mapping
        Values of the command line, by field.
    trust : bool
        Whether the theorem's file may refer to code.
    """
    from dfltheory.experiments.cases import VARIANTS, variants_of
    from dfltheory.experiments.standard_problems import task_name
    from dfltheory.training.options import algorithm_name, builder, options_of
    from dfltheory.verdicts.admissible_steps import supplied_names
    from dfltheory.verdicts.hyperparameters import hyperparameter_fields, quantities_of
    from dfltheory.verdicts.schedule import (
        covered_algorithm,
        fixed_hyperparameters,
    )

    try:
        theorems = variants_of(key, trust=trust)
    except InputError as error:
        if key.lower().endswith(".toml"):
            raise InputError(
                f"{error}; pass an experiment file as --config {key}"
            ) from error
        raise
    theorem = theorems[0]
    name = algorithm or algorithm_name(covered_algorithm(theorem))
    names = supplied_names(theorems, given.get("theorem.steps", "admissible"))
    kind = builder("algorithm", name)
    supplied = hyperparameter_fields(kind, dict.fromkeys(names, 1))
    options = options_of("algorithm", name)
    contained = set().union(*map(quantities_of, theorems))
    local_steps = {}
    for step in ("K", "K_u", "K_v"):
        if step in options:
            usual = 5 if step in contained else 1
            local_steps[step] = usual if K is None else K
    fixed = {}
    if algorithm is None:
        fixed = fixed_hyperparameters(theorem, covered_algorithm(theorem))
    needed = {option for option, about in options.items() if about.required}
    needed -= {*local_steps, *fixed, *supplied}
    _check_given(
        [option for option in sorted(needed) if f"algorithm.{option}" not in given],
        theorem.key,
    )
    section: dict[str, object] = {
        "key": key,
        "schedule": bool(supplied),
        "steps": "admissible",
        "constants": {"rho0": 1.0},
    }
    variants = [variant.variant for variant in theorems if variant.variant in VARIANTS]
    if variants:
        section["variants"] = variants
    task = given.get("task.name") or task_name(theorem)
    return {
        "title": f"{theorem.key} against measured runs",
        "task": first_task(task, m=16, seed=given.get("run.seed", 0)),
        "algorithm": {"name": name, **local_steps, **fixed},
        "run": {"rounds": 1000, "seeds": 16},
        "theorem": section,
    }


def _check_given(lacking: list[str], key: str) -> None:
    """Raise InputError for hyperparameters that are missing and not scheduled."""
    if lacking:
        names = ", ".join(lacking)
        options = " ".join(f"--set algorithm.{name}=..." for name in lacking)
        raise InputError(
            f"[algorithm] lacks {names}, and {key} has no schedule for it: add"
            f" {options}"
        )


def _print_and_save(study: Study, out: Path | None, as_json: bool) -> None:
    """Print a study, and write its report if there is a folder for it."""
    from dfltheory.experiments.report import print_study

    report = out / "report.html" if out is not None else None
    documents = [
        {"case": case.label, **verdict.to_dict()} for case, verdict in study.verdicts
    ]
    emit(
        {"verdicts": documents, "report": report}, partial(print_study, study), as_json
    )
    if out is not None:
        study.save(out)
        if not as_json:
            print(f"report: {report}")
    exit_unless(all(verdict.kind != "violated" for _, verdict in study.verdicts))
