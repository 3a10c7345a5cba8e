"""The training loop :func:`train`, for all algorithms, tasks and topologies."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.algorithms.protocol import unknown_methods_rejected
from dfltheory.errors import DivergenceError, whole_number
from dfltheory.progress import watch
from dfltheory.randomness import one_order
from dfltheory.tasks.task import Task
from dfltheory.training.checkpoint import Checkpoint
from dfltheory.training.history import History
from dfltheory.training.metrics import Metric
from dfltheory.training.recording import Callback, Recording
from dfltheory.training.run import Run
from dfltheory.training.saving import Saving
from dfltheory.training.setup import check_kinds, functions, metrics_of, seed_indices

log = logging.getLogger("dfltheory")


@torch.no_grad()
def train(
    algorithm: Algorithm,
    task: Task,
    topology: object = None,
    rounds: int = 100,
    seeds: int | Sequence[int] = 1,
    x0: Tensor | np.ndarray | None = None,
    metrics: Iterable[Metric | str] = (),
    seed: int = 0,
    progress: bool | None = None,
    *,
    evaluate_every: int = 1,
    callbacks: Iterable[Callback] = (),
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    deterministic: bool = False,
    check_topology: bool = True,
    on_divergence: Literal["mark", "raise"] = "mark",
) -> History:
    """Run rounds of ``communicate(local_update(state))`` and return the measurements.

    Parameters
    ----------
    algorithm : Algorithm
        Hyperparameters and rules, for example ``DFedSAM(eta=0.05, K=5, rho=0.01)``.
    task : Task
        The clients' objectives and data.
    topology : object, optional
        A networkx (Di)Graph, an (m, m) matrix, a sequence, a list of matrices, a
        callable t -> matrix, or the name of a topology such as "ring"; None for
        server-based algorithms and for ``Local``. If the algorithm declares ``further``
        matrices, pass a mapping from their names to such networks, or one network,
        whose links they all have.
    rounds : int
        Number of rounds T.
    seeds : int or sequence of int
        Number S of independent runs, which are batched, or a list of seed indices. The
        result of a seed does not depend on the other seeds of the batch.
    x0 : (d,), (m, d) or (S, m, d) array, optional
        Initial models; by default the task's common start.
    metrics : iterable of functions and names
        Functions (task, models (S, m, d), mean (S, d)) -> (S,), recorded under their
        names. If one returns (S, m), the values of all clients are stored in
        ``History.clients``, and their mean, extremes and quantiles become measures. The
        names "client_accuracy" and "client_loss" stand for these measures of each
        client's own model.
    seed : int
        Root seed. With the same number of threads, runs with equal seeds are
        bit-identical.
    progress : bool, optional
        Whether to show a progress bar on stderr; by default only on a terminal, and
        only if the run takes more than a second.
    evaluate_every : int
        Measure rounds 0, n, 2n, ... and the last one (full gradients on real data are
        costly).
    callbacks : iterable of functions
        Called with (t, state, recorder) after each round. The tensors of a state are
        never modified later, so a callback may keep them. If a callback returns True,
        the run ends.
    checkpoint : Checkpoint or path, optional
        File to save the run to while it runs, and to resume from if it exists, possibly
        with more ``rounds``. A path is saved about every ten seconds. Only one process
        at a time can write the file.
    deterministic : bool
        Make results bit-identical for any number of threads, by running torch on one
        thread with deterministic kernels.
    check_topology : bool
        Reject mixing matrices that violate the algorithm's assumption (doubly
        stochastic; for push-sum column-stochastic). If False, the weights need only be
        finite.
    on_divergence : {"mark", "raise"}
        ``mark`` returns the history with ``diverged_at``; ``raise`` raises
        DivergenceError.

    Returns
    -------
    History
        Its arrays are (S, R), with a row for each seed and a column for each measured
        round; R = rounds + 1 if every round is measured.

    Raises
    ------
    InputError, GraphError
        If an argument is out of range, or the network violates an assumption of the
        algorithm.
    UnsupportedError
        If the algorithm uses a method that training does not implement.
    DivergenceError
        If the run diverges and ``on_divergence`` is ``raise``.
    """
    check_kinds(algorithm, task, on_divergence)
    metrics = metrics_of(metrics)
    callbacks = functions("callbacks", callbacks)
    whole_number("rounds", rounds, at_least=0)
    whole_number("evaluate_every", evaluate_every, at_least=1)
    with contextlib.ExitStack() as exit_stack:
        exit_stack.enter_context(unknown_methods_rejected())
        if deterministic:
            exit_stack.enter_context(one_order())
        started = time.perf_counter()
        run = Run(
            algorithm,
            task,
            topology,
            rounds,
            seed_indices(seeds),
            seed,
            x0,
            check_topology,
        )
        recording = Recording(run, metrics, evaluate_every)
        saving = None
        first_round = 0
        if checkpoint is not None:
            saving = Saving(Checkpoint.of(checkpoint), run, recording, deterministic)
            exit_stack.enter_context(saving.checkpoint.held())
            first_round = saving.resume()
        _perform(
            watch(range(first_round, rounds), progress, run.label),
            run,
            recording,
            saving,
            callbacks,
        )
        history = recording.history(time.perf_counter() - started)
    if history.diverged_at is not None:
        _report_divergence(history, run.label, on_divergence == "raise")
    return history


def _perform(
    rounds: Iterable[int],
    run: Run,
    recording: Recording,
    saving: Saving | None,
    callbacks: Sequence[Callback],
) -> None:
    """Perform rounds, measuring and saving when due, until divergence or a stop."""
    for t in rounds:
        run.round(t)
        save_now = saving is not None and saving.due(t + 1)
        record_now = save_now or bool(callbacks) or recording.due(t + 1)
        record_now = record_now or recording.waits_for(t)
        if record_now and recording.record(t + 1, callbacks):
            return
        if saving is not None and save_now:
            saving.save(t + 1)


def _report_divergence(history: History, label: str, error: bool) -> None:
    """Log that a run diverged, or raise it as an error."""
    largest = np.nanmax(np.abs(history.loss), initial=0.0)
    message = (
        f"{label} diverged by round {history.diverged_at} of {history.rounds} (loss"
        f" {largest:.3g}): use a smaller step size"
    )
    if error:
        raise DivergenceError(message, history)
    log.warning(message)


__all__ = ["Callback", "train"]
