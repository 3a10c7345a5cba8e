"""The state and the rounds of one run."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, Mix, State, replace
from dfltheory.errors import InputError, whole_number
from dfltheory.randomness import RunGenerators
from dfltheory.tasks.task import Task
from dfltheory.training.local import (
    Update,
    check_returned_state,
    check_shapes,
    in_pieces,
    kept_values,
)
from dfltheory.training.mixing import RunNetwork
from dfltheory.training.norms import spread, squared_norm
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.run_measures import RunFacts
from dfltheory.training.server import ServerNetwork
from dfltheory.training.setup import connect, starting_models


class Run:
    """One run; ``state`` is the current state, and :meth:`round` performs a round.

    Each round creates new tensors. During communication, memory holds three copies of
    the stacked parameters (x, the messages, and the next x), in addition to other
    tensors of the state such as duals and momentum.

    Parameters
    ----------
    algorithm, task, topology
        As for :func:`dfltheory.train`.
    rounds : int
        Number of rounds T.
    seeds : sequence of int
        Indices of the seeds.
    seed : int
        Root seed.
    x0 : array, optional
        Initial models.
    strict : bool
        If False, matrices need only have finite weights.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        task: Task,
        topology: object,
        rounds: int,
        seeds: Sequence[int],
        seed: int,
        x0: ArrayLike | Tensor | None = None,
        strict: bool = True,
    ):
        whole_number("seed", seed, at_least=0)
        self.algorithm, self.task = algorithm, task
        self.rounds, self.seeds, self.seed = rounds, seeds, seed
        self.sequences = connect(algorithm, task, topology, strict)
        self.dependencies = set[str]()
        """Dependencies of the rounds other than t: ``horizon``, or none."""
        self._participation = float(getattr(algorithm, "participation", 1.0))
        self._chunk = task.chunk(len(seeds))
        self._randomness = RunGenerators(seed, seeds, task.device)
        # a separate tensor, referenced only by the state
        x = starting_models(task, seeds, x0, seed).clone(
            memory_format=torch.contiguous_format
        )
        self.facts = RunFacts.of(x, task.broken_assumption)
        if algorithm.one_start and not self.facts.common_start:
            raise InputError(
                f"{type(algorithm).__name__} needs a common start: use the same x0 for"
                " all clients"
            )
        kind = RunNetwork if self.sequences else ServerNetwork
        self.network = kind(self.sequences, algorithm, seeds, seed, x, strict)
        before = self._oracle(rounds, self.network.at(0))
        self.state: State = algorithm.init(x, before)
        self._check_state(before, x, "init")
        self.x0_sq, self.x0_spread = squared_norm(x).mean(-1), spread(x, x.mean(-2))

    @property
    def label(self) -> str:
        """Name of the algorithm and of the task, for messages."""
        return f"{self.algorithm.name} on {self.task.name}"

    def round(self, t: int) -> None:
        """Perform round t: state <- communicate(local_update(state))."""
        algorithm = self.algorithm
        mix, grad = self._arguments(t)
        before = self.state.x
        self._work_locally(
            self._first_update if t == 0 else algorithm.local_update, grad
        )
        self.state = algorithm.communicate(self.state, mix)
        if t == 0:
            self._check_state(grad, before, "communicate")
            algorithm.refuse_ignored_decay()
        if t + 1 == self.rounds and type(algorithm).finish is not Algorithm.finish:
            self.state = replace(self.state, z=self.state.x)
            self._work_locally(
                algorithm.finish, self._oracle(self.rounds, self.network.at(0))
            )
        # release the messages
        self.state = replace(self.state, z=self.state.x)

    def _arguments(self, t: int) -> tuple[Mix, RoundOracle]:
        """Return the arguments ``mix`` and ``grad`` of round t."""
        network, losses = self.network, None
        if network.needs_losses:
            # a diverged run continues until the next measurement, which detects it
            losses = self.task.loss(self.algorithm.models(self.state)).nan_to_num()
        mix = network.at(t, losses)
        grad = self._oracle(t, mix, self._participation)
        if self.algorithm.inactive_when_isolated:
            grad.active = mix.participating
        if isinstance(network, ServerNetwork) and grad.active is not None:
            mix = network.with_clients(t, grad.active)
        return mix, grad

    def _oracle(self, t: int, mix: Mix, participation: float = 1.0) -> RoundOracle:
        """Return the oracle of round t; t is T before round 0 and after round T-1."""
        return RoundOracle(
            self.task,
            self._randomness,
            t,
            self.rounds,
            participation,
            mix,
            self.dependencies,
            self.network.draws,
        )

    def _work_locally(self, update: Update, grad: RoundOracle) -> None:
        """Replace the state by that after ``update``, for some clients at a time."""
        self.state = in_pieces(update, self.state, grad, self._chunk)

    def _first_update(self, state: State, grad: RoundOracle) -> State:
        """Perform and check the first local update of some clients."""
        where = f"{type(self.algorithm).__name__}.local_update"
        return check_returned_state(
            self.algorithm.local_update(state, grad), state.x, where
        )

    def _check_state(self, grad: RoundOracle, like: Tensor, method: str) -> None:
        """Raise InputError unless the core and its files can handle the state."""
        check_returned_state(
            self.state, like, f"{type(self.algorithm).__name__}.{method}"
        )
        self.state = replace(self.state, z=self.state.x)
        check_shapes(self.state, grad)
        kept_values(self.state)


__all__ = ["Run"]
