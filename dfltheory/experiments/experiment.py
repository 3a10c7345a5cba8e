"""Runs tested against theorems: cases in, outcomes with their verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from dfltheory import bounds
from dfltheory.bounds.reference import load
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import UnknownNameError
from dfltheory.progress import counted
from dfltheory.tasks.task import Task
from dfltheory.training.history import History
from dfltheory.training.instance import Instance
from dfltheory.verdicts.compare import Verdict, compare
from dfltheory.verdicts.schedule import Step, scheduled_algorithm, scheduling
from dfltheory.verdicts.statistics import Method

VARIANTS = ("printed", "appendix", "corrected")


def statements(key: str | Theorem, variants: Iterable[str] | None = None) -> tuple[Theorem, ...]:
    """The statement ``key`` in these variants (None: all); of a Theorem, or FILE.py:NAME, itself alone."""
    if isinstance(key, Theorem) or ":" in key:
        found = load(key) if isinstance(key, str) else key
        for variant in variants or ():
            if variant != found.variant:
                raise UnknownNameError(f"variant of {found.key}", variant, [found.variant])
        return (found,)
    chosen = bounds.variants(key) if variants is None else variants
    return tuple(bounds.get(key, variant) for variant in chosen)


@dataclass(frozen=True, eq=False, kw_only=True)
class Case(Instance):
    """An instance, the statement that it is tested against in each of ``variants``, and its place in a study.

    ``group`` gathers the cases of one figure, in which the case is the panel at (``row``, ``column``), or a
    point at the last horizon over ``along``, the name of a constant in which some cases of the group differ.
    """

    group: str
    row: str
    column: str
    along: str = ""
    key: str | Theorem
    variants: Sequence[str] | None = VARIANTS
    """Which variants of the statement; None: all."""
    note: str = ""
    constants: Mapping[str, float] = field(default_factory=dict)
    """Glossary names that complete or replace what the run knows, for ``compare``."""
    confidence: float = 0.95
    method: Method = "student"
    """How the intervals come about, as ``compare`` takes it."""

    @property
    def place(self) -> str:
        return ", ".join(filter(None, (self.column, self.row)))

    @property
    def label(self) -> str:
        return ", ".join(filter(None, (self.group, self.place)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A case with its run and what the run says of each variant."""

    case: Case
    run: History
    verdicts: tuple[Verdict, ...]


def perform(case: Case, progress: bool = False, run: History | None = None) -> Outcome:
    """Run the case and compare it, or its finished ``run``, with its statements; none where its key is
    empty."""
    asked: dict[str, Any] = {"confidence": case.confidence, "method": case.method, **case.constants}
    run = case.run(progress=progress) if run is None else run
    against = statements(case.key, case.variants) if case.key else ()
    return Outcome(case, run, tuple(compare(run, theorem, **asked) for theorem in against))


def case_of(
    key: str | Theorem,
    task: Task,
    network: Any,
    rounds: int,
    *,
    variants: Sequence[str] | None = None,
    step: Step = "schedule",
    algorithm: Any = None,
    **further: Any,
) -> Case:
    """The case "the theorem's own algorithm, at its schedule or largest admissible step, on this task".

    Parameters
    ----------
    key : any statement of the registry, or a Theorem; ``variants``: which of it (None: every one)
    step : as in :func:`dfltheory.verdicts.schedule.scheduled_algorithm`; the schedule is that of the first of
        ``variants`` that has one
    algorithm : a name or class, or a finished algorithm, in place of the theorem's
    further : other fields of :class:`Case` (seeds, x0, constants, group...), and letters of the algorithm
    """
    own = {f.name for f in fields(Case)}
    options = {n: v for n, v in further.items() if n in own}
    letters = {n: v for n, v in further.items() if n not in own}
    against = statements(key, variants)
    if algorithm is None or isinstance(algorithm, (str, type)):
        letters = {**options.get("constants", {}), **letters}
        algorithm = scheduled_algorithm(
            scheduling(against), task, rounds, network, step=step, algorithm=algorithm, **letters
        )
    placed: dict[str, Any] = {"group": f"{task.name}, {against[0].key}", "row": "", "column": ""} | options
    chosen = tuple(t.variant for t in against)
    return Case(
        task=task, algorithm=algorithm, network=network, rounds=rounds, key=key, variants=chosen, **placed
    )


def validate(
    key: str | Theorem, task: Task, network: Any, rounds: int, *, progress: bool = False, **options: Any
) -> Outcome:
    """Run the theorem's algorithm as its schedule (or ``step="largest"``) says, and compare the two.

    ``options`` are those of :func:`case_of`: seeds, seed, x0, variants, step, constants, confidence, method,
    and letters as K=5.

    >>> outcome = validate("dfedadmm.theorem_1", task, W, 500, K=5, seeds=16)       # doctest: +SKIP
    >>> [str(verdict) for verdict in outcome.verdicts]                              # doctest: +SKIP
    """
    return perform(case_of(key, task, network, rounds, **options), progress)


def perform_all(cases: Sequence[Case], *, progress: bool = False) -> list[Outcome]:
    """Every case in turn; ``progress`` shows on stderr which one runs and how long it may take."""
    outcomes = []
    with counted(len(cases), progress) as tell:
        for case in cases:
            tell(case.label)
            outcomes.append(perform(case))
            tell(case.label, 1)
    return outcomes


def installed_versions() -> dict[str, str]:
    """The versions of the packages that the figures depend on."""
    from importlib.metadata import version

    return {name: version(name) for name in ("dfltheory", "torch", "numpy", "scipy", "sympy")}
