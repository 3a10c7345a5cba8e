"""A batch of P candidate problems, simulated along the seeds axis of one algorithm.

A single instance of the algorithm, which may be a third-party one, serves the whole
batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.counterexamples.candidate_matrices import matchings, whole_network
from dfltheory.counterexamples.problems import (
    TASKS,
    RampTask,
    SplitTask,
    has_exact_expectation,
    task_of,
)
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.errors import InputError
from dfltheory.graphs import OnePerRound, RandomMatching, as_sequence
from dfltheory.graphs.matrices import to_dense
from dfltheory.training.instance import Instance

PATHS = 256
"""Maximum number of sequences of random matrices; all of them are simulated."""


@dataclass(frozen=True, eq=False)
class CandidateBatch:
    """P candidates that are simulated together for one algorithm.

    Attributes
    ----------
    algorithm : Algorithm
    clients : Ramps
        The problems. With noise, rounds must be affine in the models.
    x0 : (P, m, d) array
        Starting points.
    W : (P, B, m, m) array
        Mixing matrices, used in turn; all equally likely matrices if ``drawn``.
    sigma : (P, d) array
        Standard deviation of the noise in each coordinate.
    network : dict of str to array
        Constants of the networks by glossary name.
    valid : (P,) array of bool
        Which candidates are in the statement's scope, as far as is known when they are
        drawn.
    noise_ramps : Ramps or None
        The ramps s of one client if the noise is xi s(x), with one random sign xi for
        all steps. The caller ensures that a run is the same for both signs
        (:mod:`.families.biased_sam`).
    drawn : bool
        Whether each gossip step draws a random matching of the clients.
    one_per_round : bool
        Whether one matrix is drawn for all gossip steps of a round.
    copies : int
        Number of identical clients that each client represents. A round replaces their
        models by the average, and W is the network of the groups. Noise is independent
        in all of them, so that a group's mean has 1/copies of its variance.
    transient : bool
        Whether rounds after the simulated ones count as 0 in left-hand sides, unless
        the state repeats.
    """

    algorithm: Algorithm
    clients: Ramps
    x0: np.ndarray
    W: np.ndarray
    sigma: np.ndarray
    network: dict[str, np.ndarray] = field(default_factory=dict)
    valid: np.ndarray | bool = True
    noise_ramps: Ramps | None = None
    drawn: bool = False
    one_per_round: bool = False
    copies: int = 1
    transient: bool = False

    @classmethod
    def of(cls, instance: Instance) -> CandidateBatch:
        """Return a batch of one candidate from an instance of :mod:`.problems`."""
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
                "the exact expectation is not implemented for random networks other"
                " than random_matching"
            )
        if drawn:
            W = matchings(task.m)
        else:
            rng = np.random.default_rng(0)
            turns = range(getattr(sequence, "period", 1))
            W = np.array([to_dense(sequence.matrix(t, rng)) for t in turns])
        noise_ramps = task.led if isinstance(task, RampTask) else None
        if drawn and any(task.sigmas):
            raise InputError(
                "the exact expectation is not implemented for noise on a random network"
            )
        if not has_exact_expectation(task):
            raise InputError(
                "noise needs affine gradients: one ramp per client, and k = 0 for two"
                " blocks"
            )
        return cls(
            instance.algorithm,
            task.problem,
            np.array([instance.x0], dtype=float),
            W[None],
            np.array([task.sigmas], dtype=float),
            noise_ramps=noise_ramps,
            drawn=drawn,
            one_per_round=one_per_round,
        )

    def grouped(self) -> CandidateBatch:
        """Return the batch with each group of identical clients reduced to one client.

        A round then averages each group. Without such groups the batch itself is
        returned.
        """
        count = self.x0.shape[1]
        fixed = self.period == 1 and not self.drawn and self.noise_ramps is None
        whole = fixed and self.copies == 1 and self.algorithm.needs_topology
        sizes = [n for n in range(count, 1, -1) if whole and count % n == 0]
        for size in sizes:
            if self._consists_of_groups(size):
                return self._of_groups(size)
        return self

    def _consists_of_groups(self, size: int) -> bool:
        """Return whether consecutive groups of ``size`` clients are identical.

        The network must have one weight for each pair of groups.
        """
        rows = [getattr(self.clients, n) for n, a in self.clients.axes.items() if a]
        matrices = [self.W[:, 0], self.W[:, 0].swapaxes(1, 2)]
        arrays = (*rows, self.x0, *matrices)
        return all((a == np.repeat(a[:, ::size], size, 1)).all() for a in arrays)

    def _of_groups(self, size: int) -> CandidateBatch:
        """Return the batch with one client for each group of ``size`` clients."""
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
        """Return one candidate as an instance of T rounds from x0[index] (m, d)."""
        fields = self._all_clients(self.clients.describe(index))
        if self.noise_ramps is not None:
            noise = self.noise_ramps.describe(index)
            ramps = [noise[name][0] for name in ("knots", "widths", "slopes")]
            fields["led"] = [*ramps, noise["left"]]
        sigmas = ("sigma_u", "sigma_v") if self.two_blocks else ("sigma",)
        fields |= dict(zip(sigmas, self.sigma[index].tolist(), strict=True))
        task = task_of(fields)
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
        """Return the fields of a task with each client repeated ``copies`` times."""
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
        """Number of clients, counting copies."""
        return self.x0.shape[1] * self.copies

    @property
    def sigma_of_groups(self) -> np.ndarray:
        """Standard deviation of the noise of a group's mean, (P, d)."""
        return self.sigma / np.sqrt(self.copies)

    @property
    def size(self) -> int:
        """Number of candidates."""
        return len(self.x0)

    @property
    def period(self) -> int:
        """Number of matrices."""
        return self.W.shape[1]

    @property
    def longest(self) -> float:
        """Maximum number of rounds that can be simulated.

        For random networks all possible sequences of matrices must be simulated.
        """
        if not self.drawn or self.period == 1:
            return np.inf
        return np.log(PATHS) / np.log(self.period) // self.draws_a_round

    @property
    def draws_a_round(self) -> int:
        """Number of matrices that a round draws if networks are random."""
        return 1 if self.one_per_round else self.algorithm.gossip_steps

    @property
    def is_random(self) -> bool:
        """Whether runs are random.

        They are not if the noise is that of ``noise_ramps``, as runs are then the same
        for both signs.
        """
        return self.drawn or (self.noise_ramps is None and bool(self.sigma.any()))

    @property
    def two_blocks(self) -> bool:
        """Whether models have two blocks."""
        return self.x0.shape[-1] == 2


__all__ = ["CandidateBatch"]
