"""Kinds of problems, and the measurement of their left-hand sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.counterexamples.aggregates import at_T
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import CandidateRuns, needs_moments
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.left_sides import measure_by_round
from dfltheory.counterexamples.problems import SplitTask, task_of
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.reach import hyperparameters, searched_algorithm
from dfltheory.errors import InputError
from dfltheory.exact import exact_history
from dfltheory.tasks.task import Task
from dfltheory.training.history import History
from dfltheory.training.instance import Instance
from dfltheory.verdicts.measures import measured
from dfltheory.verdicts.run_values import RecordedRun, run_values, with_larger

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Numbers = dict[str, float]
INTEGER_NUMBERS = ("T", "K", "K_u", "K_v", "m")
"""Numbers of a member that are integers."""
COMPARED_SEEDS = 16
"""Number of runs of the training core that are compared with an expectation."""


@dataclass(frozen=True)
class Member:
    """One kind of problem.

    Attributes
    ----------
    name : str
    make : callable
        Maps a statement and the numbers of a member to its problem, and to the
        quantities that a run does not report.
    base : mapping
        The numbers of a first member: the choices of a count, or the ends of a
        log-uniform range.
    joint : tuple of str
        Products of parameters that grow together, such as ``T*K``.
    parameters : tuple of str
        Single parameters that grow.
    two_blocks : bool
        Whether the problem has a shared and a personal part.
    needs : str
        A quantity that the statement must contain, if any.
    different_starts : bool
        Whether the clients start at different points.
    drawn : bool
        Whether searches draw this kind. Saved families are replayed in any case.
    plain : mapping or None
        A first member whose numbers have one or two digits, with a ratio in closed form
        along the first entry of ``varied``; None if there is none.
    """

    name: str
    make: Callable[[Theorem, Numbers], tuple[Instance, Numbers]]
    base: Mapping[str, Sequence[float]]
    joint: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    two_blocks: bool = False
    needs: str = ""
    different_starts: bool = False
    drawn: bool = True
    plain: Mapping[str, float] | None = None

    def draw(self, rng: np.random.Generator) -> Numbers:
        """Draw the numbers of a first member."""
        drawn = {}
        for name, ends in self.base.items():
            low, high = ends[0], ends[-1]
            if len(ends) == 1 or low == high:
                drawn[name] = float(low)
            elif name in INTEGER_NUMBERS:
                drawn[name] = float(rng.choice(list(ends)))
            else:
                drawn[name] = float(low * (high / low) ** rng.random())
        return drawn

    @property
    def varied(self) -> tuple[str, ...]:
        """All parameters, and products of them, that can grow along a family."""
        return (*self.joint, *self.parameters)

    def measure(self, theorem: Theorem, at: Numbers) -> tuple[float, Numbers]:
        """Return the expected left-hand side, and the quantities of the expression.

        One run of the training core measures problems without noise. For two blocks and
        for noise the expectation follows from an exact recursion. The left-hand side is
        nan if the run diverges, or if it does not determine a quantity or the measure.
        """
        instance, known = self.make(theorem, at)
        if isinstance(instance.task, SplitTask):
            return _exactly(theorem, instance, known)
        history = _history(instance)
        data = measured(history, theorem.lhs.measure)
        values = {
            name: value
            for name, value in run_values(history, theorem).items()
            if np.all(np.isfinite(value))
        }
        values["sigma_l"] = 0.0
        values.update(known)
        if theorem.scope.push_sum == "cited":
            source = RecordedRun(history, refutes=True)
            values = with_larger(values, source.cited_push_sum())
        unknown = set(theorem.needs) - set(values)
        if data is None or history.diverged_at is not None or unknown:
            return float("nan"), dict.fromkeys(theorem.needs, 1.0)
        left = float(at_T(theorem, data.T, history.rounds, still=0)[0])
        return left, {name: float(values[name]) for name in theorem.needs}

    def core(self, theorem: Theorem, at: Numbers) -> float | None:
        """Return the left-hand side of two blocks in the training core.

        None for one block, where :meth:`measure` does not use the simulation of the
        search, and for measures that the core does not record.
        """
        instance, _ = self.make(theorem, at)
        if not isinstance(instance.task, SplitTask):
            return None
        T, seeds = instance.rounds, COMPARED_SEEDS if any(instance.task.sigmas) else 1
        history = instance.run(rounds=T + 1, seeds=seeds, progress=False)
        data = measured(history, theorem.lhs.measure)
        if data is None:
            return None
        return float(at_T(theorem, data.T, T, still=0).mean())


def _history(instance: Instance) -> History:
    """Return the run of one block, with expectations where it has noise."""
    if not instance.task.constants.sigma_l:
        return instance.run(progress=False)
    return exact_history(
        instance.algorithm, instance.task, instance.network, instance.rounds
    )


def _exactly(
    theorem: Theorem, instance: Instance, known: Numbers
) -> tuple[float, Numbers]:
    """Return both results of :meth:`Member.measure` by the exact recursion."""
    batch, T = CandidateBatch.of(instance), instance.rounds
    rounds = theorem.lhs.rounds(T).stop + 1
    path = simulate(batch, rounds, needs_moments(theorem, batch))
    of_run = run_values(CandidateRuns(batch, path, [T]), theorem).at_upper_gap
    values = {name: float(np.ravel(value)[0]) for name, value in of_run.items()}
    known = {n: value for n, value in known.items() if n not in ("T", "delta_u")}
    values.update(known)
    arrays = {name: np.array([value]) for name, value in values.items()}
    data = measure_by_round(theorem, batch, path, arrays)
    needed = {name: values[name] for name in theorem.needs}
    return float(at_T(theorem, data, T, still=1)[0]), needed


def algorithm(theorem: Theorem, numbers: Mapping[str, float]) -> Algorithm:
    """Return the scope's algorithm with hyperparameters from numbers and schedule.

    Raises
    ------
    InputError
        Neither the numbers nor the schedule determine a hyperparameter, such as the SAM
        radius.
    """
    cls, (free, fixed) = searched_algorithm(theorem), hyperparameters(theorem)
    known = {**theorem.step_sizes(**numbers), **numbers}
    chosen = dict(fixed)
    for name, quantity in free.items():
        symbol = cls.glossary.get(name, name)
        value = known.get(symbol, quantity.neutral)
        if value is None:
            raise InputError(
                f"{theorem} does not determine {symbol}, and statements in O(.) need a"
                " schedule"
            )
        chosen[name] = int(value) if quantity.integer else float(value)
    return cls(**chosen)


def hyperparameter(chosen: Algorithm, name: str) -> float:
    """Return one hyperparameter of an algorithm, such as ``eta``."""
    return float(getattr(chosen, name))


def counts(at: Numbers) -> Numbers:
    """Return the integer parameters of a member without SAM, by default m = 2."""
    whole = {name: round(at[name]) for name in INTEGER_NUMBERS if name in at}
    return {"m": 2, "rho0": 0.0, **whole}


def chosen_algorithm(
    theorem: Theorem, at: Numbers, **constants: float
) -> tuple[Algorithm, Numbers]:
    """Return the algorithm of a member, and the numbers that determine it.

    Parameters
    ----------
    theorem : Theorem
        Its scope and schedule determine the hyperparameters.
    at : dict of str to float
        Parameters of the member.
    **constants : float
        Constants of the problem by glossary name.
    """
    numbers = counts(at) | constants
    return algorithm(theorem, numbers), numbers


def network(at: Numbers) -> Numbers:
    """Return the constants of W with lam = 1 - 1/gap."""
    lam = 1 - 1 / at["gap"]
    return {"lam": lam, "Q": 1, "delta": 1.0, "C": 1.0, "q": lam, "window": 1}


def two_clients(
    task: Task,
    chosen: Algorithm,
    at: Numbers,
    known: Numbers,
    starts: np.ndarray | None = None,
) -> tuple[Instance, Numbers]:
    """Return a run of two clients with lam = 1 - 1/gap, and its unreported quantities.

    These are the ``known`` numbers and the constants of W.
    """
    w = 1 / (2 * at["gap"])
    W = np.array([[1 - w, w], [w, 1 - w]])
    instance = Instance(task, chosen, W, round(at["T"]), x0=starts)
    return instance, known | network(at)


def ramp_run(
    ramps: Ramps,
    chosen: Algorithm,
    at: Numbers,
    known: Numbers,
    starts: Sequence[float] = (0.0, 0.0),
) -> tuple[Instance, Numbers]:
    """Return a run of two clients on the line with these gradients."""
    task = task_of(ramps.describe(0))
    return two_clients(task, chosen, at, known, np.array(starts)[:, None])


def split_run(
    theorem: Theorem,
    at: Numbers,
    ramps: Ramps,
    *,
    h: float = 1.0,
    sigma_v: float = 0.0,
    starts: Sequence[float] = (0.0, 0.0),
) -> tuple[Instance, Numbers]:
    """Return a run of two-block problems, and the quantities that it does not report.

    The gradients in u are ``ramps``; v starts at 0 in the uncoupled parabola (h/2) v^2.
    """
    task = SplitTask(**_fields(ramps), b=[0.0, 0.0], h=h, k=0.0, sigma_v=sigma_v)
    constants = task.problem.constants()
    L_u, L_v = float(constants["L_u"][0]), float(constants["L_v"][0])
    chosen = algorithm(theorem, {**counts(at), "L_u": L_u, "L_v": L_v})
    x0 = np.array([[start, 0.0] for start in starts])
    instance, _ = two_clients(task, chosen, at, {}, x0)
    return instance, {"lam": 1 - 1 / at["gap"]}


def _fields(ramps: Ramps) -> dict[str, Any]:
    described = ramps.describe(0)
    return {name: value for name, value in described.items() if name != "name"}


__all__ = [
    "INTEGER_NUMBERS",
    "Member",
    "Numbers",
    "algorithm",
    "chosen_algorithm",
    "hyperparameter",
    "network",
    "ramp_run",
    "split_run",
    "two_clients",
]
