"""All rounds of an exact recursion as a training history, for ``compare``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError, UnknownNameError, whole_number
from dfltheory.exact.blocks import MeetingError, Square, Step
from dfltheory.exact.engine import Engine
from dfltheory.exact.moments import Moments, Stage, backward, one_round
from dfltheory.exact.network import sequence_for
from dfltheory.exact.problem import QuadraticProblem, problem_of
from dfltheory.graphs import MixingSequence
from dfltheory.tasks.task import Task
from dfltheory.training.history import History

if TYPE_CHECKING:
    from dfltheory.training.instance import Instance

CovarianceForm = Literal["auto", "dense", "low-rank"]
_LARGE = 600
"""Size 2 m d above which ``auto`` selects the low-rank form, if coordinates couple."""


@dataclass(eq=False, repr=False)
class ExactHistory(History):
    """A training history of expectations, with one row for each measure.

    ``x`` contains the expected final models (1, m, d). ``chance`` is False, so
    intervals have zero width.
    """

    chance: bool = False


def exact_history(
    algorithm: Algorithm,
    task: Task,
    topology: object = None,
    rounds: int = 100,
    x0: Tensor | ArrayLike | None = None,
    *,
    form: CovarianceForm = "auto",
) -> ExactHistory:
    """Return exact expectations of the measures for t = 0..rounds.

    These are E||grad f(xbar^t)||^2, E f(xbar^t) and the expected consensus error.

    Parameters
    ----------
    algorithm : Algorithm
        Any algorithm, built-in or user-defined, whose round is affine in its state; its
        methods are probed.
    task : Task
        A task of quadratic clients. Of its noise, only the covariance matters.
    topology : object, optional
        As for :func:`dfltheory.train`; a random sequence must have a known distribution
        (:class:`RandomMixing`).
    rounds : int
        Number of rounds T >= 0.
    x0 : (d,) or (m, d) array or tensor, optional
        Deterministic start; by default the task's common start.
    form : {"auto", "dense", "low-rank"}
        ``dense`` propagates the covariance of the whole state (in decoupled scalar
        problems if the Hessians commute); ``low-rank`` propagates only what the mean
        model needs (no consensus error); ``auto`` selects one.

    Returns
    -------
    ExactHistory
        Its measures have the shape (1, rounds + 1). In the low-rank form the consensus
        error is nan.

    Raises
    ------
    InputError
        If the recursion is not affine (SAM with rho > 0, masks, client sampling, random
        sequences of unknown distribution, other tasks), or x0 has another shape.
    UnknownNameError
        If there is no such form.
    """
    if form not in get_args(CovarianceForm):
        raise UnknownNameError("form", form, set(get_args(CovarianceForm)))
    rounds = whole_number("rounds", rounds, at_least=0)
    started = time.perf_counter()
    problem = problem_of(task)
    sequence = sequence_for(algorithm, task.m, topology)
    x = exact_starting_models(task, x0)
    arrays, last = _measured(algorithm, problem, sequence, x, rounds, form)
    deviations = x - x.mean(0)
    rows = {name: values[None] for name, values in arrays.items()}
    return ExactHistory(
        algorithm=algorithm,
        rounds=rounds,
        rounds_measured=np.arange(rounds + 1),
        grad_norm_sq=rows.pop("grad_norm_sq"),
        consensus=rows.pop("consensus"),
        consensus_rounding=rows.pop("consensus_rounding", None),
        loss=rows.pop("loss"),
        accuracy=None,
        extra=rows,
        x=last[None],
        x0_sq=np.array([(x**2).sum(-1).mean()]),
        x0_spread=np.array([(deviations**2).sum(-1).mean()]),
        constants=task.constants,
        task=task.name,
        topology=sequence if algorithm.needs_topology else None,
        seconds=time.perf_counter() - started,
    )


def _measured(
    algorithm: Algorithm,
    problem: QuadraticProblem,
    sequence: MixingSequence,
    x0: np.ndarray,
    rounds: int,
    form: CovarianceForm,
    separate: bool = True,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return every measure of every round, and the final models (m, d)."""
    try:
        engine = Engine(algorithm, problem, sequence, x0, rounds, separate)
        large = 2 * x0.size > _LARGE and not engine.separate
        if form == "low-rank" or (
            form == "auto" and large and _has_low_rank_form(engine)
        ):
            return _low_rank(engine)
        return _every_round(engine)
    except MeetingError:
        return _measured(algorithm, problem, sequence, x0, rounds, form, separate=False)


def _every_round(engine: Engine) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return every measure and the final models (m, d), computed round by round."""
    columns: dict[str, list[float]] = {}
    before = None  # the previous state, its round, and its measures of two blocks
    models = np.zeros(0)
    for state, readings, step in engine.states():
        measures = readings.expected(state)
        consensus = readings.squares["consensus"]
        measures["consensus_rounding"] = consensus.rounding(state)
        if before is not None:
            last_state, last_step, blocks = before
            measures |= blocks.following(last_state, last_step, state)
        for name, value in measures.items():
            columns.setdefault(name, []).append(value)
        before = None
        if step is not None and readings.blocks is not None:
            before = state, step, readings.blocks
        models = engine.models(state, readings)
    arrays = {}
    for name, column in columns.items():
        missing = engine.rounds + 1 - len(column)
        arrays[name] = np.pad(np.array(column), (0, missing), constant_values=np.nan)
    return arrays, models


# -- the low-rank form: the mean model depends on only d directions of the state -------


def _has_low_rank_form(engine: Engine) -> bool:
    """Return whether the round map is deterministic and the same in all rounds."""
    plain = type(engine.algorithm).finish is Algorithm.finish
    return plain and not engine.sequence.random and engine.autonomous


def _low_rank(engine: Engine) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return every measure (``consensus`` is nan) and final models, in low-rank form.

    With a constant round map s' = M s + k + noise of covariance C and the mean model
    xbar = R s (d rows), Cov xbar^t = sum_{k < t} (R M^k) C (R M^k)'. So d rows are
    propagated backward instead of a covariance of (p m)^2 entries. The consensus error
    has full rank and is not computed.
    """
    if not _has_low_rank_form(engine):
        raise InputError(
            "form = 'low-rank' needs one constant matrix and a constant step size: use"
            " form = 'dense'"
        )
    readings = engine.readings(engine.template, consensus=False)
    step, _ = engine.step(engine.template, 0)
    without_noise = [
        Stage(stage.local_map.without_noise(), stage.mixed, stage.times)
        for stage in step.stages
    ]
    measures = {
        name: _spreads(square, engine, step)
        for name, square in readings.squares.items()
    }
    measures["consensus"] = np.full(engine.rounds + 1, np.nan)
    state = Moments(engine.start.mu)
    for t in range(engine.rounds + 1):
        for name, square in readings.squares.items():
            measures[name][t] += square.expected(state)
        if t < engine.rounds:
            state = one_round(state, without_noise, step.laws)
    return measures, engine.models(state, readings)


def _spreads(square: Square, engine: Engine, step: Step) -> np.ndarray:
    """Return the trace of the covariance of G s after 0..rounds rounds."""
    rows = square.G.transpose(0, 2, 3, 1)  # (B, m, p, k)
    B, m, p, k = rows.shape
    n = m * p
    cov = None if engine.start.cov is None else engine.start.cov.reshape(B, n, n)
    spreads = np.zeros(engine.rounds + 1)
    by_noise = 0.0
    for t in range(engine.rounds + 1):
        by_start = 0.0
        if cov is not None:
            flat = rows.reshape(B, n, k)
            by_start = (flat * (cov @ flat)).sum()
        spreads[t] = by_noise + by_start
        rows, by_noise_of_round = backward(rows, step.stages, step.laws)
        by_noise += by_noise_of_round
    return spreads


def exact_starting_models(task: Task, x0: Tensor | ArrayLike | None) -> np.ndarray:
    """Return x^0 (m, d), the task's common start or the given one."""
    if x0 is None:
        x0 = task.start(torch.Generator().manual_seed(0))
    # numpy has no bfloat16
    x = np.asarray(x0.double() if isinstance(x0, Tensor) else x0, dtype=float)
    if x.shape not in ((task.d,), (task.m, task.d)):
        raise InputError(
            f"x0 has shape {x.shape}; it must be (d,) = ({task.d},) or (m, d) ="
            f" ({task.m}, {task.d})"
        )
    if not np.isfinite(x).all():
        raise InputError(
            f"x0 contains {x[~np.isfinite(x)][0]}; all entries must be finite"
        )
    return np.array(np.broadcast_to(x, (task.m, task.d)))


def exactly(instance: Instance) -> ExactHistory:
    """Return the exact expectations of an instance; see :func:`exact_history`."""
    return exact_history(
        instance.algorithm,
        instance.task,
        instance.network,
        instance.rounds,
        instance.x0,
    )
