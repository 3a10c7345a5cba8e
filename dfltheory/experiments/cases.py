"""Cases to test against theorems, and their outcomes with verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.reference import load_all
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.own import Trust
from dfltheory.progress import counted
from dfltheory.tasks.task import Task
from dfltheory.training.client_measures import Metric
from dfltheory.training.history import History
from dfltheory.training.instance import Instance
from dfltheory.verdicts.admissible_steps import StepChoice, scheduling
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.measures import METRICS
from dfltheory.verdicts.schedule import scheduled_algorithm
from dfltheory.verdicts.statistics import Method
from dfltheory.verdicts.verdict import Verdict

VARIANTS = ("printed", "appendix", "corrected")
"""Variants of a statement that are tested by default."""


def variants_of(
    key: str | Theorem, variants: Iterable[str] | None = None, *, trust: Trust = False
) -> tuple[Theorem, ...]:
    """Return the statement ``key`` in the given variants, by default in all.

    For a theorem file, all of its statements are returned.
    """
    return load_all(key, variants, trust=trust)


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """An instance, the statement that it is tested against, and its place in a study.

    Attributes
    ----------
    instance : Instance or None
        The run; None if it was measured elsewhere.
    group : str
        Cases of one group are drawn in one figure.
    row, column : str
        The panel of the figure.
    along : str
        Name of a constant. If it is set, the case is not a panel but a point over this
        constant, at the last horizon.
    key : str or Theorem
        The statement; empty for none.
    variants : sequence of str, optional
        Variants of the statement; None for all.
    note : str
        Remark for readers of the report.
    constants : mapping
        Values by glossary name that supplement or replace those of the run, for
        ``compare``.
    confidence : float
        Confidence of the two-sided intervals.
    method : str
        Method of the intervals, as for ``compare``.
    """

    instance: Instance | None
    group: str
    row: str
    column: str
    along: str = ""
    key: str | Theorem
    variants: Sequence[str] | None = VARIANTS
    note: str = ""
    constants: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.95
    method: Method = "student"

    def with_run(self, **changes: object) -> Case:
        """Return the case with changed fields of its instance, such as ``rounds``."""
        return replace(self, instance=replace(self.runnable(), **changes))

    def runnable(self) -> Instance:
        """Return the instance; InputError if the run was measured elsewhere."""
        if self.instance is None:
            raise InputError(
                f"{self.label}: this run was measured elsewhere and cannot be repeated"
            )
        return self.instance

    @property
    def place(self) -> str:
        """Column and row as text."""
        return ", ".join(filter(None, (self.column, self.row)))

    @property
    def label(self) -> str:
        """Group, column and row as text."""
        return ", ".join(filter(None, (self.group, self.place)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A case with its run, and one verdict for each variant."""

    case: Case
    run: History
    verdicts: tuple[Verdict, ...]


def perform(case: Case, progress: bool = False, run: History | None = None) -> Outcome:
    """Run a case, or use its finished ``run``, and compare it with its variants."""
    against = variants_of(case.key, case.variants) if case.key else ()
    if run is None:
        instance = case.runnable()
        metrics = needed_metrics(against, instance.task)
        run = instance.run(progress=progress, metrics=metrics)
    options: dict[str, Any] = {
        "confidence": case.confidence,
        "method": case.method,
        **case.constants,
    }
    verdicts = [compare(run, theorem, **options) for theorem in against]
    return Outcome(case, run, tuple(verdicts))


def needed_metrics(theorems: Iterable[Theorem], task: Task) -> list[Metric]:
    """Return the metrics that the statements need and the task can compute.

    They are those of the left-hand sides and, if needed, the distance to the minimizer
    at the start.
    """
    needed = set()
    for theorem in theorems:
        needed.add(theorem.lhs.measure)
        if "x_star_sq" in theorem.needs:
            needed.add("dist_sq")
    if getattr(task, "x_star", None) is None:
        needed.discard("dist_sq")
    return [METRICS[name] for name in sorted(needed) if name in METRICS]


def case_of(
    key: str | Theorem,
    task: Task,
    network: object,
    rounds: int,
    *,
    variants: Sequence[str] | None = None,
    step: StepChoice = "schedule",
    algorithm: Algorithm | type[Algorithm] | str | None = None,
    **further: Any,
) -> Case:
    """Return the case of a theorem's algorithm on a task.

    The step sizes are those of the schedule by default.

    Parameters
    ----------
    key : str or Theorem
        The statement.
    task, network, rounds
        As for :func:`dfltheory.train`.
    variants : sequence of str, optional
        Variants of the statement; by default all.
    step : str
        As for :func:`dfltheory.verdicts.schedule.scheduled_algorithm`. The schedule is
        that of the first of ``variants`` that has one.
    algorithm : object
        A name, a class or an algorithm, instead of the theorem's.
    **further
        Other fields of :class:`Case` (constants, group...) and of its instance (seeds,
        x0...), and hyperparameters of the algorithm.
    """
    of_case, of_run, hyperparameters = {}, {}, {}
    for name, value in further.items():
        if name in _names(Case):
            of_case[name] = value
        elif name in _names(Instance):
            of_run[name] = value
        else:
            hyperparameters[name] = value
    against = variants_of(key, variants)
    if algorithm is None or isinstance(algorithm, (str, type)):
        known = {**of_case.get("constants", {}), **hyperparameters}
        chosen: Algorithm = scheduled_algorithm(
            scheduling(against),
            task,
            rounds,
            network,
            step=step,
            algorithm=algorithm,
            **known,
        )
    else:
        chosen = algorithm
    case = Case(
        instance=Instance(task, chosen, network, rounds, **of_run),
        group=f"{task.name}, {against[0].key}",
        row="",
        column="",
        key=key,
        variants=tuple(theorem.variant for theorem in against),
    )
    return replace(case, **of_case)


def _names(kind: type[Case | Instance]) -> set[str]:
    """Return the names of the fields of a class."""
    return {entry.name for entry in fields(kind)}


def validate(
    key: str | Theorem,
    task: Task,
    network: object,
    rounds: int,
    *,
    progress: bool = False,
    **options: Any,
) -> Outcome:
    """Run the theorem's algorithm with its schedule, and compare run and theorem.

    Parameters
    ----------
    key, task, network, rounds
        As for :func:`case_of`.
    progress : bool
        Whether to show a progress bar on stderr.
    **options
        Those of :func:`case_of`: seeds, seed, x0, variants, step, constants,
        confidence, method, and hyperparameters such as K=5. ``step="largest"`` selects
        the largest admissible step sizes instead of those of the schedule.

    Returns
    -------
    Outcome
        The run, and a verdict for each variant.

    Examples
    --------
    >>> outcome = validate("dfedadmm.theorem_1", task, W, 500, K=5)  # doctest: +SKIP
    >>> [str(verdict) for verdict in outcome.verdicts]  # doctest: +SKIP
    """
    return perform(case_of(key, task, network, rounds, **options), progress)


def perform_all(cases: Sequence[Case], *, progress: bool = False) -> list[Outcome]:
    """Run all cases in turn and return their outcomes.

    ``progress`` shows the current case and the estimated time on stderr.
    """
    outcomes = []
    with counted(len(cases), progress) as report:
        for case in cases:
            report(case.label)
            outcomes.append(perform(case))
            report(case.label, 1)
    return outcomes


def installed_versions() -> dict[str, str]:
    """Return the versions of the packages that results depend on."""
    from importlib.metadata import version

    return {
        name: version(name)
        for name in ("dfltheory", "torch", "numpy", "scipy", "sympy")
    }
