"""P candidate problems of one algorithm, on the seeds axis of its own rounds.

One instance of an algorithm, which may be a user's own, serves the whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.counterexamples.candidate_matrices import matchings, whole_network
from dfltheory.counterexamples.problems import TASKS, RampTask, SplitTask
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.errors import InputError
from dfltheory.graphs import OnePerRound, RandomMatching, as_sequence
from dfltheory.graphs.matrices import to_dense
from dfltheory.training.instance import Instance

PATHS = 256
"""Largest number of sequences of random matrices, all of which are simulated."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidates that are simulated together for one algorithm.

    There are P of them: starts ``x0`` (P, m, d), matrices ``W`` (P, B, m, m) of which B
    take turns, or of which each gossip step draws one (``drawn``: all matchings of m
    clients), and noise ``sigma`` (P, d). With ``one_per_round`` a matrix is drawn for
    each round, for all its gossip steps.

    With ``copies`` each client stands for so many identical ones, whose models a round
    replaces by their average: W is the network of the groups. Noise is independent in
    all of them, so that the group's mean has 1/copies of its variance.

    ``clients``: those of :mod:`.problems`; with noise rounds must be affine in the
    models. ``valid`` (P,): which of them are inside the statement's scope as far as
    drawing can decide. ``led``: the ramps s of one client where noise is xi s(x), of
    one coin xi for all steps; the caller ensures that a run is the same for every xi
    (:mod:`.families.biased_sam`).
    """

    algorithm: Algorithm
    clients: Ramps
    x0: np.ndarray
    W: np.ndarray
    sigma: np.ndarray
    network: dict[str, np.ndarray] = field(default_factory=dict)
    valid: np.ndarray | bool = True
    led: Ramps | None = None
    drawn: bool = False
    one_per_round: bool = False
    copies: int = 1

    @classmethod
    def of(cls, instance: Instance) -> Batch:
        """Return a batch of one: an instance with a task of :mod:`.problems`."""
        task = instance.task
        if not isinstance(task, RampTask | SplitTask):
            raise InputError(f"the task {task.name} is not one of {', '.join(TASKS)}")
        network = instance.network
        if network is None:
            network = np.full((task.m, task.m), 1 / task.m)
        sequence = matching = as_sequence(network)
        one_per_round = isinstance(sequence, OnePerRound)
        if isinstance(sequence, OnePerRound):
            matching = sequence.of
        drawn = isinstance(matching, RandomMatching) and matching.graph is None
        if sequence.random and not drawn:
            raise InputError(
                "of random networks the exact expectation is known for random_matching"
                " alone"
            )
        if drawn:
            W = matchings(task.m)
        else:
            rng = np.random.default_rng(0)
            turns = range(getattr(sequence, "period", 1))
            W = np.array([to_dense(sequence.matrix(t, rng)) for t in turns])
        led = task.led if isinstance(task, RampTask) else None
        if drawn and any(task.sigmas):
            raise InputError(
                "of noise and a random network together no exact expectation is known"
            )
        if any(task.sigmas) and led is None and not task.problem.affine:
            raise InputError(
                "noise needs affine gradients: one ramp each, and of two blocks k = 0"
            )
        return cls(
            instance.algorithm,
            task.problem,
            np.array([instance.x0], dtype=float),
            W[None],
            np.array([task.sigmas], dtype=float),
            led=led,
            drawn=drawn,
            one_per_round=one_per_round,
        )

    def grouped(self) -> Batch:
        """Return the batch with one client for each group of identical ones.

        A round takes the mean of each group. Without such groups it is the batch
        itself.
        """
        count = self.x0.shape[1]
        fixed = self.period == 1 and not self.drawn and self.led is None
        whole = fixed and self.copies == 1 and self.algorithm.needs_topology
        sizes = [n for n in range(count, 1, -1) if whole and count % n == 0]
        for size in sizes:
            if self._consists_of_groups(size):
                return self._of_groups(size)
        return self

    def _consists_of_groups(self, size: int) -> bool:
        """Return whether consecutive clients are identical, in groups of ``size``.

        The network must have one weight for each pair of groups.
        """
        rows = [getattr(self.clients, n) for n, a in self.clients.axes.items() if a]
        matrices = [self.W[:, 0], self.W[:, 0].swapaxes(1, 2)]
        every = (*rows, self.x0, *matrices)
        return all((a == np.repeat(a[:, ::size], size, 1)).all() for a in every)

    def _of_groups(self, size: int) -> Batch:
        axes = self.clients.axes.items()
        first = {n: getattr(self.clients, n)[:, ::size] for n, a in axes if a}
        return replace(
            self,
            clients=replace(self.clients, **first),
            x0=self.x0[:, ::size],
            W=size * self.W[:, :, ::size, ::size],
            copies=size,
        )

    def alone(self, index: int, x0: np.ndarray, T: int) -> Instance:
        """Return one candidate, from x0[index] (m, d) for T rounds, as an instance."""
        fields = self._all_clients(self.clients.describe(index))
        if self.led is not None:
            noise = self.led.describe(index)
            ramps = [noise[name][0] for name in ("knots", "widths", "slopes")]
            fields["led"] = [*ramps, noise["left"]]
        sigmas = ("sigma_u", "sigma_v") if self.two else ("sigma",)
        fields |= dict(zip(sigmas, self.sigma[index].tolist(), strict=True))
        options = {name: value for name, value in fields.items() if name != "name"}
        task = TASKS[fields["name"]](**options)
        turns = [self.whole_network(W) for W in self.W[index]]
        network: object = turns if len(turns) > 1 else turns[0]
        sources: dict[str, tuple[object, dict[str, object]]] = {"task": (task, fields)}
        if self.drawn:
            network = RandomMatching(task.m)
            described: dict[str, object] = {"name": "random_matching"}
            if self.one_per_round:
                network = OnePerRound(network)
                described = {"name": "one_per_round", "of": "random_matching"}
            sources["topology"] = (network, described)
        if not self.algorithm.needs_topology:
            network = None
        start = np.repeat(x0[index], self.copies, axis=0)
        return Instance(task, self.algorithm, network, T, x0=start, sources=sources)

    def _all_clients(self, task: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a task with each client as often as it stands for."""
        if self.copies == 1:
            return task
        whole = dict(task)
        for name, axes in self.clients.axes.items():
            if axes:
                rows = task[name]
                whole[name] = [row for row in rows for _ in range(self.copies)]
        return whole

    def whole_network(self, W: np.ndarray) -> np.ndarray:
        """Expand a matrix of the groups to that of all clients."""
        return whole_network(W, self.copies)

    @property
    def m(self) -> int:
        """How many clients there are."""
        return self.x0.shape[1] * self.copies

    @property
    def sigma_of_groups(self) -> np.ndarray:
        """The noise of the mean of a group (P, d)."""
        return self.sigma / np.sqrt(self.copies)

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.x0)

    @property
    def period(self) -> int:
        """How many matrices take turns."""
        return self.W.shape[1]

    @property
    def longest(self) -> float:
        """Maximum number of rounds that can be run.

        Where matrices are drawn, all possible sequences of them must be run.
        """
        if not self.drawn or self.period == 1:
            return np.inf
        return np.log(PATHS) / np.log(self.period) // self.draws_a_round

    @property
    def draws_a_round(self) -> int:
        """How many matrices a round draws, where they are drawn."""
        return 1 if self.one_per_round else self.algorithm.gossip_steps

    @property
    def chance(self) -> bool:
        """Whether runs are random.

        They are not where noise is ``led`` such that a run is the same for every coin.
        """
        return self.drawn or (self.led is None and bool(self.sigma.any()))

    @property
    def two(self) -> bool:
        """Whether models have two blocks."""
        return self.x0.shape[-1] == 2


__all__ = ["Batch"]
