"""``dfltheory validate``: run an algorithm and compare it with its theorem on several topologies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfltheory.cli.guard import keeping
from dfltheory.cli.output import (
    AsJson,
    Change,
    Data,
    Force,
    TaskOptions,
    Trust,
    assignments,
    changes,
    emit,
    first_task,
    leave,
    network_field,
    on_the_line,
)
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.experiments.report import Study

FIELDS = {
    **{name: f"run.{name}" for name in ("rounds", "seeds", "seed")},
    **{name: f"theorem.{name}" for name in ("key", "confidence", "method")},
    "task": "task.name",
    "algorithm": "algorithm.name",
    **{name: f"task.{name}" for name in ("data", "model", "m")},
    "rho0": "theorem.constants.rho0",
    "variant": "theorem.variants",
}
"""Each option's field in the document of the study."""
NETWORKS = ["ring", "torus", "exponential", "complete"]


def validate(
    context: typer.Context,
    key: Annotated[
        str, typer.Argument(help="The theorem, as listed by `dfltheory bound`; or FILE.py:NAME for your own.")
    ] = "dfedsam.theorem_4_5",
    task: Annotated[
        str | None,
        typer.Option(
            help="quadratic, digits, ...: the problem, or MODULE:NAME for your own. Default: quadratic; "
            "sinusoidal where gradients are assumed bounded, coupled for partial personalization."
        ),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="In place of the theorem's: a name, or MODULE:CLASS for your own.")
    ] = None,
    topology: Annotated[
        list[str] | None,
        typer.Option(
            help="A name or a matrix's file; again for more. Default: ring, torus, exponential, complete."
        ),
    ] = None,
    m: Annotated[int, typer.Option(help="Clients.")] = 16,
    q: Annotated[
        list[int] | None, typer.Option("--Q", help="Gossip steps a round; give it again for more.")
    ] = None,
    k: Annotated[int, typer.Option("--K", help="Local steps a round.")] = 5,
    rounds: Annotated[int, typer.Option(help="Horizon T; the schedule's step sizes follow from it.")] = 1000,
    seeds: Annotated[int, typer.Option(help="Independent runs; the interval is over them.")] = 16,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    rho0: Annotated[float, typer.Option(help="rho = rho0 / sqrt(T).")] = 1.0,
    variant: Annotated[list[str] | None, typer.Option(help="Give it again for more. Default: all.")] = None,
    data: Data = None,
    model: Annotated[
        str | None,
        typer.Option(help="Of --data: MODULE:CLASS or FILE.py:CLASS of a module, or softmax, mlp."),
    ] = None,
    option: TaskOptions = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An experiment file (TOML, JSON) with [theorem]; options change what it says.",
        ),
    ] = None,
    change: Change = None,
    trust: Trust = False,
    force: Force = False,
    confidence: Annotated[float, typer.Option(help="Of the two-sided interval.")] = 0.95,
    method: Annotated[
        str, typer.Option(help="student, or bootstrap (8 seeds or more; where a few seeds rule the mean).")
    ] = "student",
    out: Annotated[
        Path | None, typer.Option(help="Folder for table, figures and report; none: print only.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the theorem's algorithm at the corollary's step sizes and say whether the bound holds.

    Exit status 1 when a bound is violated.

    Examples:

        dfltheory validate --topology ring --Q 1 --Q 4 --rounds 1000

        dfltheory validate --task digits --rounds 600 --seeds 4 --out results/digits

        dfltheory validate --task-option zeta=1.0 --task-option sigma=0.1 --json

        dfltheory validate --config experiment.toml --set run.seeds=32 --out results/mine
    """
    if Path(key).suffix.lower() in (".toml", ".json"):
        raise InputError(f"{key} is no theorem: an experiment file is given as --config {key}")
    if out is not None:
        check_writable(out, folder=True)
    given: dict[str, Any] = changes(context, FIELDS, option, assignments(change))
    from dfltheory.experiments.config import load_document, read_plan
    from dfltheory.experiments.experiment import perform_all
    from dfltheory.experiments.report import Study

    if config is not None:
        document, folder, networks = load_document(config), config.parent, topology or []
        given |= {"algorithm.K": k} if on_the_line(context, "k") else {}
    else:
        first = _first(key, k, algorithm, given)
        document, folder, networks = first, Path(), topology or NETWORKS
    axes = [[network_field(name, folder) for name in networks], [("algorithm.Q", n) for n in q or ()]]
    for axis in axes:
        if len({field for field, _ in axis}) == 1 and (len(axis) > 1 or config is None):
            document.setdefault("sweep", {})[axis[0][0]] = [value for _, value in axis]
        elif len(axis) > 1:
            document.setdefault("sweep", {})["topology"] = [{f.split(".")[1]: v} for f, v in axis]
        else:
            given |= dict(axis)
    source = "" if config is None else str(config)
    plan = read_plan(document, source, folder, given, trust=trust or config is None, force=force)
    with keeping("nothing is written"):
        outcomes = perform_all(plan.cases(), progress=not as_json)
    study = Study(
        title=plan.title,
        outcomes=outcomes,
        not_tested=["Other horizons, problems and networks than those shown; the limits of the theorem."],
        command="dfltheory validate" + (f" --config {config.name}" if config is not None else ""),
    )
    _tell(study, out, as_json)


def _first(key: str, K: int, algorithm: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The study of a line without a file: the theorem's own algorithm at its own schedule."""
    from dfltheory.experiments.experiment import VARIANTS, statements
    from dfltheory.training.document import REQUIRED, name_of, options_of
    from dfltheory.verdicts.schedule import TWO_BLOCKS, algorithm_class

    against = statements(key)
    theorem, variants = against[0], [t.variant for t in against if t.variant in VARIANTS]
    name, schedule = algorithm or name_of(algorithm_class(theorem)), any(t.schedule for t in against)
    usual = "sinusoidal" if theorem.scope.bounded_gradients else "quadratic"
    task = given.get("task.name") or (TWO_BLOCKS if theorem.scope.two_blocks else usual)
    options = options_of("algorithm", name)
    letters = {n: K for n in ("K", "K_u", "K_v") if n in options}
    needed = {n for n, option in options.items() if option.default is REQUIRED} - set(letters)
    lacking = [n for n in sorted(needed) if f"algorithm.{n}" not in given]
    if lacking and not schedule:
        told, give = ", ".join(lacking), " ".join(f"--set algorithm.{n}=..." for n in lacking)
        raise InputError(f"[algorithm] lacks {told}, and {theorem.key} has no schedule: give {give}")
    return {
        "title": f"{theorem.key} against measured runs",
        "task": first_task(task, m=16, seed=given.get("run.seed", 0)),
        "algorithm": {"name": name} | letters,
        "run": {"rounds": 1000, "seeds": 16},
        "theorem": {"key": key, "schedule": schedule, "constants": {"rho0": 1.0}}
        | ({"variants": variants} if variants else {}),
    }


def _tell(study: Study, out: Path | None, as_json: bool) -> None:
    from dfltheory.experiments.report import print_study

    report = out / "report.html" if out is not None else None
    documents = [{"case": case.label} | verdict.to_dict() for case, verdict in study.verdicts]

    emit({"verdicts": documents, "report": report}, lambda: print_study(study), as_json)
    if out is not None:
        study.save(out)
        if not as_json:
            print(f"report: {report}")
    leave(all(verdict.kind != "violated" for _, verdict in study.verdicts))
