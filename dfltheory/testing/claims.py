"""Tests of claims about algorithms and networks on random problems.

A claim states that an algorithm or network respects a theorem, or that an algorithm
reduces to another one. Step sizes are at or below the limit of the theorem's
conditions. The error of a failing claim contains the smallest instance found.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, assume, given, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky, Unsatisfiable

from dfltheory import graphs
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.reference import load
from dfltheory.bounds.regions import equalities, expanded_conditions, values_at
from dfltheory.bounds.theorem import Theorem
from dfltheory.constants import NetworkConstants
from dfltheory.errors import DFLTheoryError, InputError, checked_name
from dfltheory.exact import exactly
from dfltheory.testing.claim_problems import (
    ClaimProblem,
    Draw,
    draw_hyperparameters,
    draw_problem,
    final_models,
    instantiate,
    needs_bounded_gradients,
    network_strategy,
    smallest_instance,
)
from dfltheory.testing.networks import mixing_matrices
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.instance import Instance
from dfltheory.verdicts.admissible_steps import largest_steps, network_values
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.hyperparameters import unrestricted_steps
from dfltheory.verdicts.network_scope import law_obstacle
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.schedule import PlannedRun, covered_algorithm
from dfltheory.verdicts.value_sources import Values
from dfltheory.verdicts.verdict import Verdict

_SEEDS = 32
"""Number of seeds of a run, if its expectations cannot be computed exactly."""
_FALSE_ALARM = 1e-6
"""Maximum probability that a true claim fails."""
_NETWORK_ROUNDS = 200
"""Number of rounds for which the matrices of a network are checked."""

ClaimTrial = Callable[[Draw], str | None]
"""Draws an instance and tests it.

It returns None if the theorem covers the instance, and otherwise the reason why not. It
raises BrokenClaimError if the instance violates the claim.
"""


class StatedClaim(Protocol):
    """A claim, as stated by a decorator of :mod:`dfltheory.plugin`."""

    @property
    def kind(self) -> str:
        """Either ``respects`` or ``reduces_to``."""
        ...

    @property
    def of(self) -> Any:
        """The theorem, or the other algorithm."""
        ...

    @property
    def options(self) -> dict[str, Any]:
        """Options of the claim."""
        ...


class BrokenClaimError(AssertionError):
    """A claim fails; the message contains the smallest failing instance found."""


def check_claim(subject: Callable[..., object], claim: StatedClaim) -> None:
    """Test a claim of :func:`dfltheory.respects` or :func:`dfltheory.reduces_to`.

    Parameters
    ----------
    subject : type or callable
        The decorated class or function.
    claim : StatedClaim
        The claim.

    Raises
    ------
    BrokenClaimError
        If an instance violates the claim.
    InputError
        If the theorem covers none of the drawn instances, or ``subject`` has a
        parameter for which there are no random values.
    """
    options = dict(claim.options)
    examples = options.pop("examples")
    checked_name("kind of claim", claim.kind, ("respects", "reduces_to"))
    if claim.kind == "respects":
        trial = _RespectsTrial(subject, load(claim.of, options["variant"]), claim)
    else:
        trial = _reduction_trial(subject, claim.of, options, claim)
    reasons: list[str] = []  # why instances were not covered
    covered: list[bool] = []  # one entry for each covered instance

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        suppress_health_check=(
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
            HealthCheck.data_too_large,
        ),
        phases=(Phase.generate, Phase.target, Phase.shrink),
    )
    @given(st.data())
    def run_trials(data: st.DataObject) -> None:
        if not covered and len(reasons) > 2 * examples:
            raise Unsatisfiable
        reason = trial(data.draw)
        if reason is None:
            covered.append(True)
        else:
            reasons.append(reason)
        assume(reason is None)

    try:
        run_trials()
    except BrokenClaimError as broken:
        raise BrokenClaimError(str(broken)) from None
    except (Unsatisfiable, Flaky):  # Flaky: no instance was covered
        if covered:
            raise
    if not covered:
        raise InputError(
            f"{claim}: the theorem covers no drawn instance; the last one is not"
            f" covered because {reasons[-1]}"
        )


@dataclass(frozen=True, eq=False)
class _RespectsTrial:
    """A :data:`Trial` that an algorithm or a network respects a theorem."""

    subject: Callable[..., object]
    theorem: Theorem
    claim: StatedClaim
    rounds: st.SearchStrategy[int] = field(init=False)

    def __post_init__(self) -> None:
        if self.subject_is_network and self.theorem.scope.network == "none":
            raise InputError(
                f"{self.theorem} covers runs without a network, but the decorated"
                " function returns a network: decorate an algorithm"
            )
        rounds: st.SearchStrategy[int]
        if self.theorem.step_names or not self.theorem.schedule:
            rounds = st.integers(1, 24)
        else:  # a schedule needs large T
            rounds = st.sampled_from([16, 64, 256])
        object.__setattr__(self, "rounds", rounds)

    @property
    def subject_is_network(self) -> bool:
        """Whether the subject returns a network, not an algorithm."""
        return "m" in inspect.signature(self.subject).parameters

    @property
    def drawn_names(self) -> set[str]:
        """Glossary names of the hyperparameters to draw."""
        names = set(self.theorem.needs)
        if "rho0" in names:
            names.add("rho")
        return names

    def __call__(self, draw: Draw) -> str | None:
        """Draw an instance and test it, see :data:`ClaimTrial`."""
        name = getattr(self.subject, "__name__", str(self.subject))
        try:
            if self.subject_is_network:
                options = {
                    "m": draw(st.integers(2, 8)),
                    "seed": draw(st.integers(0, 9)),
                }
                W = instantiate(self.subject, options)
                name = f"{name}(m={options['m']})"
                violation = _network_violation(self.theorem, W)
                if violation is not None:
                    raise BrokenClaimError(f"{name} breaks {self.claim}: {violation}")
            else:
                W = draw(network_strategy(self.theorem.scope.network))
            problem = draw_problem(
                draw,
                W,
                self.rounds,
                bounded_gradients=needs_bounded_gradients(self.theorem),
                two_blocks=self.theorem.scope.two_blocks,
            )
            algorithm = self._draw_algorithm(draw, problem)
            verdict = self._verdict(algorithm, problem)
        except DFLTheoryError as error:  # raised by the subject, or a failed condition
            return str(error)
        if verdict.kind == "not applicable":
            return verdict.reason
        if verdict.kind == "violated":
            instance = smallest_instance(problem, algorithm)
            raise BrokenClaimError(
                f"{name} breaks {self.claim}: {verdict.reason}\n  {instance}"
            )
        if math.isfinite(verdict.ratio):
            target(verdict.ratio, label="measured/bound")
        return None

    def _draw_algorithm(self, draw: Draw, problem: ClaimProblem) -> object:
        """Draw hyperparameters and return the algorithm with them."""
        drawn = draw_hyperparameters(draw, self.drawn_names)
        hyperparameters: dict[str, float] = {"K": 1, **drawn}
        share = draw(st.sampled_from([1 - 1e-9, 0.5, 0.1]))
        kind = covered_algorithm(self.theorem)
        unrestricted = share / problem.task.constants.known()["L"]
        steps = dict.fromkeys(unrestricted_steps(self.theorem, kind), unrestricted)
        scheduled = _step_sizes(self.theorem, problem, hyperparameters, share)
        values = {**self.theorem.neutral, **steps, **hyperparameters, **scheduled}
        return instantiate(kind if self.subject_is_network else self.subject, values)

    def _verdict(self, algorithm: object, problem: ClaimProblem) -> Verdict:
        """Compare a run with the theorem, using exact expectations if possible."""
        checked = _checked_algorithm(algorithm)
        theorem = self.theorem
        if not self.subject_is_network:
            theorem = _extend_scope(theorem, checked)
        instance = Instance(
            problem.task, checked, problem.W, problem.rounds, _SEEDS, problem.x0
        )
        try:
            run = exactly(instance)
        except InputError:
            run = instance.run(progress=False)
        examples = self.claim.options["examples"]
        return compare(run, theorem, confidence=1 - _FALSE_ALARM / examples)


def _checked_algorithm(subject: object) -> Algorithm:
    """Return what a decorated class or function made; InputError if no algorithm."""
    if not isinstance(subject, Algorithm):
        raise InputError(
            f"{subject!r} is not an algorithm: decorate an algorithm class, or a"
            " function that returns an algorithm with its hyperparameters"
        )
    return subject


def _network_violation(theorem: Theorem, W: object) -> str | None:
    """Return which law or range of the theorem a network violates, if any."""
    try:
        sequence = graphs.as_sequence(W)
        constants = NetworkConstants(m=sequence.m)
        facts = NetworkFacts.of(sequence, _NETWORK_ROUNDS, constants)
        violation = law_obstacle(
            facts, theorem.scope, sequence, _NETWORK_ROUNDS, gossip_steps=1
        )
        if violation:
            return violation
        for name, value in network_values(theorem, sequence).items():
            if name in theorem.needs:
                theorem.glossary[name].check(value)
    except DFLTheoryError as error:
        return str(error)
    return None


def _step_sizes(
    theorem: Theorem,
    problem: ClaimProblem,
    hyperparameters: dict[str, float],
    share: float,
) -> dict[str, float]:
    """Return the step sizes of a theorem on a problem.

    A single step size is ``share`` times the largest admissible one, unless an equality
    determines it. Several step sizes are ``share`` times those of the schedule,
    increased as far as the conditions allow.
    """
    known = _known_values(theorem, problem)
    known.update(hyperparameters)
    numbers = {n: v for n, v in known.items() if isinstance(v, (int, float))}
    names = theorem.step_names
    if not names:
        return theorem.step_sizes(**numbers)
    if len(names) == 1:
        return {names[0]: _single_step_size(theorem, names[0], known, share)}
    numbers.setdefault("rho0", 0.0)
    step_sizes = theorem.step_sizes(**numbers)
    with suppress(InputError):  # no condition bounds the step sizes
        step_sizes = largest_steps(theorem, step_sizes, known, None)
    return {name: share * step_sizes[name] for name in names}


def _known_values(theorem: Theorem, problem: ClaimProblem) -> Values:
    """Return the values of quantities that a problem determines."""
    task = problem.task
    planned_run = PlannedRun(task, problem.rounds, problem.W)
    known: Values = dict(run_values(planned_run, theorem))
    x0 = torch.as_tensor(problem.x0, dtype=task.dtype)
    initial_loss = float(task.global_loss(x0[None])[0])
    known["f0_gap"] = initial_loss - known["f_star"]
    known["x0_sq"] = float(problem.x0 @ problem.x0)
    known["x0_spread"] = 0.0
    return known


def _single_step_size(
    theorem: Theorem, name: str, known: Values, share: float
) -> float:
    """Return the step size fixed by an equality, or a share of the largest one."""
    solutions = equalities(expanded_conditions(theorem), theorem.glossary)[0]
    if name in solutions:  # for example gamma = 1/L
        numbers = {n: v for n, v in known.items() if isinstance(v, (int, float))}
        point = {n: np.full(1, value) for n, value in numbers.items()}
        (values,) = values_at([solutions[name]], point)
        return float(values[0])
    needed = {n: value for n, value in known.items() if n in theorem.needs}
    largest = theorem.largest_step(name, **needed)
    return share * (largest if math.isfinite(largest) else 1 / known["L"])


def _extend_scope(theorem: Theorem, algorithm: Algorithm) -> Theorem:
    """Return the theorem with a scope that covers the claimed algorithm.

    The claim asserts that the theorem holds for the class and for the values of its
    hyperparameters that the theorem does not contain.
    """
    covered = set(theorem.needs) | set(theorem.schedule)
    values: dict[str, object] = {}
    for hyperparameter in fields(algorithm):
        name = algorithm.glossary.get(hyperparameter.name, hyperparameter.name)
        values[name] = getattr(algorithm, hyperparameter.name)
    values.update(algorithm.theory_values())
    further = {name: value for name, value in values.items() if name not in covered}
    scope = replace(
        theorem.scope, algorithms=(type(algorithm),), hyperparameters=further
    )
    return replace(theorem, scope=scope)


def _reduction_trial(
    subject: Callable[..., object],
    other: Callable[..., object],
    fixed: Mapping[str, object],
    claim: StatedClaim,
) -> ClaimTrial:
    """Return a trial that compares the final models of two algorithms."""
    parameters = set(inspect.signature(subject).parameters)
    common = parameters & set(inspect.signature(other).parameters) - set(fixed)
    name = getattr(subject, "__name__", str(subject))

    def trial(draw: Draw) -> str | None:
        """Run both algorithms on a random problem and compare their final models."""
        W = draw(mixing_matrices(1, 5))
        problem = draw_problem(draw, W, st.integers(1, 24), noise=False)
        hyperparameters = draw_hyperparameters(draw, common)
        hyperparameters["eta"] = draw(st.sampled_from([0.5, 0.1]))
        first = instantiate(subject, {**hyperparameters, **fixed})
        second = instantiate(other, hyperparameters)
        models = final_models(_checked_algorithm(first), problem)
        expected = final_models(_checked_algorithm(second), problem)
        difference = float(np.abs(models - expected).max())
        if not difference <= 1e-9 * (1 + np.abs(expected).max()):
            instance = smallest_instance(problem, f"{first} against {second}")
            raise BrokenClaimError(
                f"{name} breaks {claim}: after {problem.rounds} rounds the models"
                f" differ by {difference:.3g}\n  {instance}"
            )
        return None

    return trial


__all__ = ["BrokenClaimError", "check_claim"]
