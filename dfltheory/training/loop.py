"""The one loop: every algorithm, task and topology goes through :func:`train`."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm, replace
from dfltheory.errors import DivergenceError, InputError, whole_number
from dfltheory.identity import value_digest
from dfltheory.progress import watch
from dfltheory.randomness import one_order
from dfltheory.tasks.synthetic import Synthetic
from dfltheory.tasks.task import Task
from dfltheory.training.checkpoint import Checkpoint, identity, kept_values
from dfltheory.training.facts import RunFacts
from dfltheory.training.history import History
from dfltheory.training.local import check_shapes, check_state, in_pieces
from dfltheory.training.metrics import Metric, Recorder, spread, square
from dfltheory.training.mixing import Network, Round
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.setup import check_kinds, connect, functions, seed_indices, starting_models

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
    checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    deterministic: bool = False,
    check_topology: bool = True,
    on_divergence: Literal["mark", "raise"] = "mark",
) -> History:
    """Run ``rounds`` rounds of ``communicate(local_update(state))`` and tell what was measured.

    Parameters
    ----------
    algorithm : hyperparameters and rules, for example ``DFedSAM(eta=0.05, K=5, rho=0.01)``
    task : the clients' objectives and data
    topology : networkx (Di)Graph, matrix (m, m), sequence, list of matrices or callable t -> matrix;
        ``None`` for server-based algorithms and for ``Local``; where a class declares ``further`` matrices a
        mapping from their names to such networks, or one network, whose links all of them get
    seeds : S independent runs, batched, or a list of seed indices: each gives what it gives alone
    x0 : start; ``None``: the task's common start, else (d,) common, (m, d), or (S, m, d)
    metrics : functions (task, models (S, m, d), mean (S, d)) -> (S,), recorded under their names
    seed : root of all chance: the same seed gives the same result bit for bit, on as many threads
    progress : a progress bar on stderr; ``None``: only on a terminal, and only when it takes a while
    evaluate_every : measure rounds 0, n, 2n, ... and the last one (full gradients on real data are costly)
    callbacks : called with (t, state, recorder) after each round; what they keep of the state stays as it
        is; a true answer ends the run
    checkpoint : save the run to a file as it goes, and go on from that file when it is there, to more
        ``rounds`` too; a path: about every ten seconds. One process at a time writes it
    deterministic : the same bits whatever the number of threads is: torch adds in one order, on one thread
    check_topology : refuse matrices that are not what the algorithm assumes (doubly stochastic; for push-sum
        column-stochastic); False: run all the same, to see what comes of it, if the weights are finite
    on_divergence : ``mark`` keeps the history, with ``diverged_at``; ``raise`` throws DivergenceError

    Returns
    -------
    History, whose arrays are (seeds, rounds + 1) for t = 0..rounds when every round is measured.
    """
    check_kinds(algorithm, task, on_divergence)
    metrics, callbacks = functions("metrics", metrics), functions("callbacks", callbacks)
    whole_number("rounds", rounds, at_least=0)
    whole_number("evaluate_every", evaluate_every, at_least=1)
    with contextlib.ExitStack() as held:
        if deterministic:
            held.enter_context(one_order())
        started = time.perf_counter()
        run = Run(algorithm, task, topology, rounds, seed_indices(seeds), seed, x0, check_topology)
        recorder = Recorder(task, algorithm, metrics, run.network)
        begin, state, name, saved = 0, run.state, {}, time.monotonic()
        excess = task.excess(algorithm.mean(state))
        steep = _client_gradients(task, algorithm.mean(state))
        recorder.measure(0, state)
        checkpoint = Checkpoint.of(checkpoint)
        if checkpoint is not None:
            measures = {measure: value_digest(f) for measure, f in recorder.metrics.items()}
            options = {"evaluate_every": evaluate_every, "metrics": measures, "deterministic": deterministic}

            def identify(rounds: int) -> dict[str, Any]:
                return run.identity(rounds) | options

            held.enter_context(checkpoint.held())
            name = identify(rounds)
            state, begin = checkpoint.resume(state, recorder, rounds, identify)
        diverged = stopped = None
        run.state, label = state, f"{algorithm.name} on {task.name}"
        for t in watch(range(begin, rounds), progress, label):
            state = None  # nothing but the run holds the old models
            run.round(t)
            due = (t + 1) % evaluate_every == 0 or t + 1 == rounds
            save = checkpoint is not None and checkpoint.due(t + 1, rounds, time.monotonic() - saved)
            if not (due or save or callbacks or recorder.waits_for(t)):
                continue
            state = run.state
            recorder.follow(t, state)
            if due:
                recorder.measure(t + 1, state)
            if due and recorder.diverged():
                diverged = t + 1
                break
            if callbacks and any([callback(t + 1, state, recorder) for callback in callbacks]):  # noqa: C419
                stopped = t + 1
                break
            if save and checkpoint is not None:
                checkpoint.save(t + 1, state, recorder, name | {"depends_on": sorted(run.asked)})
                saved = time.monotonic()
        history = _history(run, evaluate_every, recorder, algorithm.models(state))
        history.excess = None if excess is None else np.stack([_array(part) for part in excess])
        history.x0_gradient_sq = None if steep is None else _array(steep)
        history.diverged_at, history.stopped_at = diverged, stopped
        history.seconds = time.perf_counter() - started
        if diverged is not None:
            worst = f"(loss {np.nanmax(np.abs(history.loss), initial=0.0):.3g})"
            line = f"{label} diverged by round {diverged} of {rounds} {worst}: take a smaller step size"
            if on_divergence == "raise":
                raise DivergenceError(line, history)
            log.warning(line)
        return history


class Run:
    """One run's parts, put together: ``state``, at first its start, and how it takes one round.

    Each round makes new tensors: while clients communicate there are three copies of the stacked parameters,
    x, what is sent, and the next x; what else the state has (duals, momentum) comes on top.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        task: Task,
        topology: Any,
        rounds: int,
        seeds: Sequence[int],
        seed: int,
        x0: Any = None,
        strict: bool = True,
    ):
        whole_number("seed", seed, at_least=0)
        self.algorithm, self.task, self.rounds, self.seeds, self.seed = algorithm, task, rounds, seeds, seed
        self.sequences = connect(algorithm, task, topology, strict)
        self._share = float(getattr(algorithm, "participation", 1.0))
        self._chunk = task.chunk(len(seeds))
        x = starting_models(task, seeds, x0, seed).clone(memory_format=torch.contiguous_format)
        self.facts = RunFacts.of(x)
        if algorithm.one_start and not self.facts.common_start:
            raise InputError(f"{type(algorithm).__name__} begins at one model: give all clients the same x0")
        self.network = Network(self.sequences, algorithm, seeds, seed, x, strict)
        self.asked = set[str]()
        start = self.network.at(0)
        before = self._oracle(rounds, start)
        self.state: Any = algorithm.init(x, before)
        self._check(before, x, "init")  # what no file can hold is told before the first round
        self.x0_sq, self.x0_spread = square(x).mean(-1), spread(x, x.mean(-2))

    def identity(self, rounds: int) -> dict[str, Any]:
        """What a checkpoint remembers of this run, of so many rounds."""
        sizes = {"rounds": rounds, "seeds": self.seeds, "seed": self.seed}
        return identity(self.algorithm, self.task, self.sequences, self.state.x, **sizes)

    def round(self, t: int) -> None:
        """Round t: state <- communicate(local_update(state))."""
        algorithm, network, losses = self.algorithm, self.network, None
        if network.needs_losses:
            # a run that has diverged goes on to its next measurement, which says so
            losses = self.task.loss(algorithm.models(self.state)).nan_to_num()
        mix = network.at(t, losses)
        grad = self._oracle(t, mix, self._share)
        if algorithm.sleeps:
            grad.active = mix.awake
        if not network.sources and grad.active is not None:
            mix = network.at(t, active=grad.active)
        before = self.state.x
        self._alone(self._first if t == 0 else algorithm.local_update, grad)
        self.state = algorithm.communicate(self.state, mix)
        if t == 0:
            self._check(grad, before, "communicate")
            algorithm.refuse_ignored_decay()
        if t + 1 == self.rounds and type(algorithm).finish is not Algorithm.finish:
            self.state = replace(self.state, z=self.state.x)
            self._alone(algorithm.finish, self._oracle(self.rounds, network.at(0)))
        self.state = replace(self.state, z=self.state.x)  # what was sent has been used

    def _oracle(self, t: int, mix: Round, share: float = 1.0) -> RoundOracle:
        """What clients may ask of their data in round t; round T is what comes before 0 and after T - 1."""
        given = self.task, self.seeds, self.seed, t, self.rounds, share
        return RoundOracle(*given, mix, self.asked, self.network.draws)

    def _alone(self, update: Callable[[Any, Any], Any], grad: RoundOracle) -> None:
        """Let each client work alone."""
        self.state = in_pieces(update, self.state, grad, self._chunk)

    def _first(self, state: Any, grad: RoundOracle) -> Any:
        """The first local update, checked where it comes from: it may be one of several pieces."""
        where = f"{type(self.algorithm).__name__}.local_update"
        return check_state(self.algorithm.local_update(state, grad), state.x, where)

    def _check(self, grad: RoundOracle, like: Tensor, rule: str) -> None:
        check_state(self.state, like, f"{type(self.algorithm).__name__}.{rule}")
        self.state = replace(self.state, z=self.state.x)
        check_shapes(self.state, grad)
        kept_values(self.state)


def _history(run: Run, every: int, recorder: Recorder, models: Tensor) -> History:
    planned = [t for t in range(run.rounds + 1) if t % every == 0 or t == run.rounds]
    arrays = recorder.arrays(len(planned))
    own = ("grad_norm_sq", "consensus", "loss", "accuracy", "sent_bits", "model_sq")
    return History.of(
        run.task,
        **{name: arrays.pop(name, None) for name in own},
        algorithm=run.algorithm,
        rounds=run.rounds,
        rounds_measured=np.array(planned),
        x=_array(models),
        x0_sq=_array(run.x0_sq),
        x0_spread=_array(run.x0_spread),
        task=run.task.name,
        seed=run.seed,
        topology=run.sequences.get(MIX),
        extra=arrays,
        facts=run.facts,
    )


def _client_gradients(task: Task, mean: Tensor) -> Tensor | None:
    """(1/m) sum_i ||grad f_i||^2 at points (S, d), for tasks whose client gradients are formulas."""
    if not isinstance(task, Synthetic):
        return None
    at = mean.unsqueeze(-2).expand(*mean.shape[:-1], task.m, task.d)
    return square(task.client_gradient(at)).mean(-1)


def _array(x: Tensor) -> np.ndarray:
    half = x.dtype in (torch.bfloat16, torch.float16)  # numpy has no bfloat16
    return (x.float() if half else x).detach().cpu().numpy()


__all__ = ["Callback", "train"]
