"""The one loop: every algorithm, task and topology goes through :func:`train`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import DivergenceError
from dfltheory.tasks.task import Task
from dfltheory.training.checkpoint import Checkpoint, identity
from dfltheory.training.history import History
from dfltheory.training.local import LocalWork
from dfltheory.training.metrics import Metric, Recorder, exploded, square
from dfltheory.training.mixing import Network, ServerNetwork
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.progress import watch
from dfltheory.training.setup import connect, seed_indices, starting_models, whole_number

Callback = Callable[[int, Any, Recorder], bool | None]
"""Called with (t, state, recorder) after each round; a true answer ends the run."""

log = logging.getLogger("dfltheory")


@torch.no_grad()
def train(
    algorithm: Algorithm,
    task: Task,
    topology: Any = None,
    rounds: int = 100,
    seeds: int | Sequence[int] = 1,
    x0: Tensor | np.ndarray | None = None,
    metrics: Iterable[Metric] = (),
    seed: int = 0,
    progress: bool | None = None,
    *,
    evaluate_every: int = 1,
    callbacks: Iterable[Callback] = (),
    checkpoint: Checkpoint | None = None,
    on_divergence: Literal["mark", "raise"] = "mark",
) -> History:
    """Run ``rounds`` rounds of ``communicate(local_update(state))`` and tell what was measured.

    Parameters
    ----------
    algorithm : hyperparameters and rules, for example ``DFedSAM(eta=0.05, K=5, rho=0.01)``
    task : the clients' objectives and data
    topology : networkx (Di)Graph, matrix (m, m), sequence, list of matrices or callable t -> matrix;
        ``None`` for server-based algorithms and for ``Local``
    seeds : S independent runs, batched, or a list of seed indices: each gives what it gives alone
    x0 : start; ``None``: the task's common start, else (d,) common, (m, d), or (S, m, d)
    metrics : functions (task, models (S, m, d), mean (S, d)) -> (S,), recorded under their names
    seed : root of all chance: the same seed gives the same result bit for bit
    progress : a progress bar on stderr; ``None``: only on a terminal, and only when it takes a while
    evaluate_every : measure rounds 0, n, 2n, ... and the last one (full gradients on real data are costly)
    callbacks : called with (t, state, recorder) after each round; clone what you keep of the state, whose
        memory may be used again two rounds later; a true answer ends the run
    checkpoint : save the run to a file as it goes, and go on from that file when it is there
    on_divergence : ``mark`` keeps the history, with ``diverged_at``; ``raise`` throws DivergenceError

    Returns
    -------
    History, whose arrays are (seeds, rounds + 1) for t = 0..rounds when every round is measured.
    """
    whole_number("rounds", rounds, at_least=0)
    whole_number("evaluate_every", evaluate_every, at_least=1)
    runs, callbacks = seed_indices(seeds), list(callbacks)
    started = time.perf_counter()
    sequence = connect(algorithm, task, topology)
    server = ServerNetwork()
    share = float(getattr(algorithm, "participation", 1.0))
    work = LocalWork(algorithm, task.chunk(len(runs)))
    recorder = Recorder(task, algorithm, metrics)
    x = starting_models(task, runs, x0, seed)
    network = Network(sequence, runs, seed, x) if sequence is not None else None
    state = algorithm.init(x, RoundOracle(task, runs, seed, rounds, rounds))
    spread = square(x).mean(-1), square(x - x.mean(-2, keepdim=True)).mean(-1)
    run_is = identity(
        algorithm, task, sequence, x, rounds=rounds, seeds=runs, seed=seed, every=evaluate_every
    )
    del x  # the state holds it as long as it is needed
    begin, state = (checkpoint and checkpoint.resume(state, recorder, run_is)) or (0, state)
    if begin == 0:
        recorder.measure(0, state)
    first = {name: values[0] for name, values in recorder.values.items()}
    diverged = stopped = None
    for t in watch(range(begin, rounds), progress, f"{algorithm.name} on {task.name}"):
        grad = RoundOracle(task, runs, seed, t, rounds, share)
        losses = task.loss(algorithm.models(state)) if network is not None and network.needs_losses else None
        state = work(state, grad)
        mix = network.at(t, losses) if network is not None else server.at(grad.active)
        state = algorithm.communicate(state, mix)
        if t + 1 == rounds:
            state = algorithm.finish(state, RoundOracle(task, runs, seed, rounds, rounds))
        recorder.follow(t, state)
        due = (t + 1) % evaluate_every == 0 or t + 1 == rounds
        if due and exploded(recorder.measure(t + 1, state), first):
            diverged = t + 1
            break
        if callbacks and any([callback(t + 1, state, recorder) for callback in callbacks]):  # noqa: C419
            stopped = t + 1
            break
        if checkpoint and checkpoint.due(t + 1, rounds):
            checkpoint.save(t + 1, state, recorder, run_is)
    history = _history(algorithm, task, sequence, rounds, evaluate_every, recorder, state, spread)
    history.seed, history.diverged_at, history.stopped_at = seed, diverged, stopped
    history.seconds = time.perf_counter() - started
    if diverged is not None:
        _tell_divergence(history, on_divergence)
    return history


def _tell_divergence(history: History, on_divergence: str) -> None:
    line = (
        f"{history.algorithm.name} on {history.task} diverged by round {history.diverged_at}"
        f" of {history.rounds}"
        f" (loss {np.nanmax(np.abs(history.loss)):.3g}): take a smaller step size"
    )
    if on_divergence == "raise":
        raise DivergenceError(line, history)
    log.info(line)


def _history(
    algorithm: Algorithm,
    task: Task,
    sequence: Any,
    rounds: int,
    every: int,
    recorder: Recorder,
    state: Any,
    start: tuple[Tensor, Tensor],
) -> History:
    planned = [t for t in range(rounds + 1) if t % every == 0 or t == rounds]
    missing = len(planned) - len(recorder.rounds)
    after = ((0, 0), (0, missing))
    arrays = {k: np.pad(a, after, constant_values=np.nan) for k, a in recorder.arrays().items()}
    return History(
        algorithm=algorithm,
        rounds=rounds,
        rounds_measured=np.array(planned),
        grad_norm_sq=arrays.pop("grad_norm_sq"),
        consensus=arrays.pop("consensus"),
        loss=arrays.pop("loss"),
        accuracy=arrays.pop("accuracy", None),
        extra=arrays,
        x=_array(algorithm.models(state)),
        x0_sq=_array(start[0]),
        x0_spread=_array(start[1]),
        constants=task.constants,
        task=task.name,
        topology=sequence,
    )


def _array(x: Tensor) -> np.ndarray:
    wide = x.detach().cpu()
    half = wide.dtype in (torch.bfloat16, torch.float16)  # numpy has no bfloat16
    return (wide.float() if half else wide).numpy().copy()


__all__ = ["Callback", "train"]
