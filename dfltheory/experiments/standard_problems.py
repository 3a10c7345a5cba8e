"""Verdicts on a statement for three standard problems: one task on three networks.

The task has known constants. Its settings are tried in a fixed order until the theorem
applies: heterogeneous clients, identical clients, and identical clients without noise,
each for 400 and for 4000 rounds. Step sizes are those of the schedule, or else the
largest ones that the conditions admit, or else 0.1 and 0.01. The tasks have L = 1.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import product
from typing import Any

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.symbols import step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import DFLTheoryError
from dfltheory.experiments.cases import Case, perform
from dfltheory.progress import silent
from dfltheory.tasks.task import Task
from dfltheory.training.instance import Instance
from dfltheory.training.options import options_of
from dfltheory.training.sections import make_network, make_task
from dfltheory.verdicts.given_values import BOUNDED_GRADIENTS, TWO_BLOCKS
from dfltheory.verdicts.hyperparameters import hyperparameter_fields, quantities_of
from dfltheory.verdicts.schedule import covered_algorithm, scheduled_algorithm
from dfltheory.verdicts.verdict import Verdict, VerdictKind

STANDARD_NETWORKS = ("ring", "exponential", "complete")
"""The networks, in the order of their verdicts."""
STANDARD_CLIENTS = 16
STANDARD_SEEDS = 8
STANDARD_ROUNDS = (400, 4000)
"""Horizons in the order they are tried."""
LOCAL_STEPS = 5
STANDARD_CONFIDENCE = 0.999
"""Confidence level of the intervals, which limits the probability of reporting a true
statement as violated on each problem.
"""
STANDARD_OPTIONS: tuple[dict[str, float], ...] = (
    {},
    {"zeta": 0.0},
    {"zeta": 0.0, "sigma": 0.0},
)
"""Options of the task in the order they are tried; a task may lack some of them."""


STANDARD_STEP_SIZES = ("0.1", "0.01")
"""Step sizes to try if neither schedule nor conditions determine any."""


@dataclass(frozen=True)
class Setting:
    """Options of the task, the horizon, and the choice of step sizes.

    ``step`` is ``schedule``, ``largest``, or a number.
    """

    options: Mapping[str, float]
    rounds: int
    step: str

    def __str__(self) -> str:
        options = "".join(f", {n} = {value:g}" for n, value in self.options.items())
        return f"{self.rounds} rounds{options}, step sizes: {self.step}"


@dataclass(frozen=True)
class StandardVerdict:
    """The verdict on one standard problem.

    Attributes
    ----------
    network, task : str
        Names of network and task.
    options : dict
        Options of the task that differ from its defaults.
    rounds : int
        The horizon.
    hyperparameters : dict
        Hyperparameters of the algorithm that differ from its defaults; empty if none
        satisfy the conditions.
    verdict : Verdict or None
        None if no hyperparameters could be chosen.
    kind, reason : str
        As in a verdict.
    """

    network: str
    task: str
    options: Mapping[str, float]
    rounds: int
    hyperparameters: Mapping[str, float | str]
    verdict: Verdict | None
    kind: VerdictKind
    reason: str

    def command(self, reference: str) -> str:
        """Return the command that repeats the verdict.

        ``reference`` is the statement, quoted and with its variant.
        """
        if self.verdict is None:
            return ""
        words = ["--task", self.task]
        for name, value in self.options.items():
            words += ["--task-option", f"{name}={value!r}"]
        words += ["--topology", self.network, "--rounds", str(self.rounds)]
        words += [
            "--seeds",
            str(STANDARD_SEEDS),
            "--confidence",
            str(STANDARD_CONFIDENCE),
        ]
        for name, value in self.hyperparameters.items():
            words += ["--set", f"algorithm.{name}={value}"]
        return f"dfltheory validate {reference} {shlex.join(words)}"


def standard_verdicts(
    theorem: Theorem, say: Callable[[str], None] = silent
) -> list[StandardVerdict]:
    """Return the verdict on each of the three standard problems."""
    verdicts = []
    settings = list(_settings(theorem))
    for network in STANDARD_NETWORKS:
        result, position = _first_that_applies(theorem, network, settings, say)
        verdicts.append(result)
        settings = settings[position:]
    return verdicts


def _first_that_applies(
    theorem: Theorem,
    network: str,
    settings: Sequence[Setting],
    say: Callable[[str], None],
) -> tuple[StandardVerdict, int]:
    """Return the verdict for the first setting that the theorem covers.

    The second result is the setting's position. If the theorem covers none, the result
    is that of the first setting.
    """
    first = None
    for position, setting in enumerate(settings):
        say(f"{network}, {setting}")
        result = _on(theorem, network, setting)
        if result.kind != "not applicable":
            return result, position
        first = first or result
    assert first is not None, "there is at least one setting"
    return first, 0


def task_name(theorem: Theorem) -> str:
    """Return the name of the task that satisfies the assumptions of a theorem."""
    if theorem.scope.two_blocks:
        return TWO_BLOCKS
    return BOUNDED_GRADIENTS if theorem.scope.bounded_gradients else "quadratic"


def _settings(theorem: Theorem) -> Iterator[Setting]:
    """Yield the settings in the order they are tried."""
    known = options_of("task", task_name(theorem))
    steps = _steps(theorem)
    if theorem.order:
        # the constant is unknown in every setting
        yield Setting({}, STANDARD_ROUNDS[0], steps[0])
        return
    for options, rounds, step in product(STANDARD_OPTIONS, STANDARD_ROUNDS, steps):
        if set(options) <= set(known):
            yield Setting(options, rounds, step)


def _steps(theorem: Theorem) -> tuple[str, ...]:
    """Return the choices of step sizes in the order they are tried."""
    schedule = ("schedule",) if theorem.schedule else ()
    names = {
        symbol.name
        for condition in theorem.conditions
        for symbol in theorem.expand(condition.slack).free_symbols
    }
    bounded = names & set(step_names(theorem.glossary))
    return schedule + (("largest",) if bounded else STANDARD_STEP_SIZES)


def _on(theorem: Theorem, network: str, setting: Setting) -> StandardVerdict:
    """Return the verdict in one setting."""
    name = task_name(theorem)
    hyperparameters: dict[str, float | str] = {}
    verdict, reason = None, ""
    try:
        document = {"name": name, "m": STANDARD_CLIENTS, "seed": 0, **setting.options}
        task = make_task(document, None)
        matrix = make_network({"name": network}, STANDARD_CLIENTS, None)
        algorithm = _algorithm(theorem, task, setting, matrix)
        hyperparameters = _changed_fields(algorithm)
        instance = Instance(
            task, algorithm, matrix, setting.rounds, seeds=STANDARD_SEEDS
        )
        case = Case(
            instance=instance,
            group=theorem.key,
            row="",
            column=network,
            key=theorem,
            variants=None,
            confidence=STANDARD_CONFIDENCE,
        )
        verdict = perform(case).verdicts[0]
    except DFLTheoryError as error:
        reason = " ".join(str(error).split())
    return StandardVerdict(
        network=network,
        task=name,
        options=dict(setting.options),
        rounds=setting.rounds,
        hyperparameters=hyperparameters,
        verdict=verdict,
        kind="not applicable" if verdict is None else verdict.kind,
        reason=reason if verdict is None else verdict.reason,
    )


def _algorithm(
    theorem: Theorem, task: Task, setting: Setting, network: object
) -> Algorithm:
    """Return the theorem's algorithm with the step sizes of the setting."""
    contained = quantities_of(theorem)
    chosen_values: dict[str, float] = {
        name: LOCAL_STEPS for name in ("K", "K_u", "K_v") if name in contained
    }
    step = setting.step
    if step not in ("schedule", "largest"):
        chosen_values |= dict.fromkeys(step_names(theorem.glossary), float(step))
        step = "schedule"
    kind = covered_algorithm(theorem)
    hyperparameters: dict[str, Any] = {
        name: value
        for name, value in chosen_values.items()
        if hyperparameter_fields(kind, {name: value})
    }
    return scheduled_algorithm(
        theorem, task, setting.rounds, network, step=step, **hyperparameters
    )


def _changed_fields(algorithm: Algorithm) -> dict[str, float | str]:
    """Return the hyperparameters that differ from their defaults."""
    changed = {}
    for entry in fields(algorithm):
        value = getattr(algorithm, entry.name)
        plain = isinstance(value, int | float | str)
        if plain and (entry.default is MISSING or value != entry.default):
            changed[entry.name] = value
    return changed


__all__ = ["STANDARD_NETWORKS", "StandardVerdict", "standard_verdicts", "task_name"]
