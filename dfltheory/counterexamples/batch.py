"""P candidate problems of one algorithm, on the seeds axis of its own rounds.

Any algorithm will do, a user's own included: one instance of it serves the whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.algorithms.base import Algorithm
from dfltheory.counterexamples.networks import matchings
from dfltheory.counterexamples.problems import TASKS, Ramps
from dfltheory.errors import InputError
from dfltheory.graphs import OnePerRound, RandomMatching, as_sequence
from dfltheory.graphs.matrices import to_dense
from dfltheory.training.instance import Instance

Array = NDArray[Any]
PATHS = 256
"""Largest number of sequences of random matrices, all of which are simulated."""


@dataclass(frozen=True, eq=False)
class Batch:
    """P candidates for one algorithm: starts ``x0`` (P, m, d), matrices ``W`` (P, B, m,
    m) of which B take turns, or of which each gossip step draws one (``drawn``: all
    matchings of m clients), and noise ``sigma`` (P, d). With ``one_per_round`` a matrix
    is drawn for each round, for all its gossip steps.

    ``clients``: those of :mod:`.problems`; with noise rounds must be affine in the
    models. ``valid`` (P,): which of them are inside the statement's scope as far as
    drawing can tell. ``led``: the ramps s of one client where noise is xi s(x), of one
    coin xi for all steps; whoever gives it knows that a run is the same for every xi
    (:mod:`.families.biased_sam`).
    """

    algorithm: Algorithm
    clients: Any
    x0: Array
    W: Array
    sigma: Array
    network: dict[str, Array] = field(default_factory=dict)
    valid: Array | bool = True
    led: Ramps | None = None
    drawn: bool = False
    one_per_round: bool = False

    @classmethod
    def of(cls, instance: Instance) -> Batch:
        """A batch of one: an instance with a task of :mod:`.problems`."""
        task: Any = instance.task
        network = (
            np.full((task.m, task.m), 1 / task.m)
            if instance.network is None
            else instance.network
        )
        sequence, rng = as_sequence(network), np.random.default_rng(0)
        one_per_round = isinstance(sequence, OnePerRound)
        matching = sequence.of if isinstance(sequence, OnePerRound) else sequence
        drawn = isinstance(matching, RandomMatching) and matching.graph is None
        if sequence.random and not drawn:
            raise InputError(
                "of random networks the exact expectation is known for random_matching"
                " alone"
            )
        turns = range(getattr(sequence, "period", 1))
        W = (
            matchings(task.m)
            if drawn
            else [to_dense(sequence.matrix(t, rng)) for t in turns]
        )
        x0, sigma = (
            np.array([instance.x0], dtype=float),
            np.array([task.sigmas], dtype=float),
        )
        led = getattr(task, "led", None)
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
            x0,
            np.array([W]),
            sigma,
            led=led,
            drawn=drawn,
            one_per_round=one_per_round,
        )

    def alone(self, index: int, x0: Array, T: int) -> Instance:
        """One candidate from a start x0[index] (m, d) for T rounds, as an instance of
        learning.
        """
        told = self.clients.describe(index)
        if self.led is not None:
            numbers = self.led.describe(index)
            told["led"] = [numbers[n][0] for n in ("knots", "widths", "slopes")] + [
                numbers["left"]
            ]
        told |= dict(
            zip(
                ("sigma_u", "sigma_v") if self.two else ("sigma",),
                self.sigma[index].tolist(),
            )
        )
        task = TASKS[told["name"]](**{n: v for n, v in told.items() if n != "name"})
        turns = list(self.W[index])
        W: Any = turns if len(turns) > 1 else turns[0]
        made: dict[str, Any] = {"task": (task, told)}
        if self.drawn:
            W = (
                OnePerRound(RandomMatching(task.m))
                if self.one_per_round
                else RandomMatching(task.m)
            )
            described = {"name": "random_matching"}
            if self.one_per_round:
                described = {"name": "one_per_round", "of": "random_matching"}
            made["topology"] = (W, described)
        W = W if self.algorithm.needs_topology else None
        return Instance(task, self.algorithm, W, T, x0=x0[index], sources=made)

    @property
    def size(self) -> int:
        return len(self.x0)

    @property
    def period(self) -> int:
        """How many matrices take turns."""
        return self.W.shape[1]

    @property
    def longest(self) -> float:
        """Rounds that can be run at most: of matrices that are drawn, all the ways must
        be.
        """
        steps = (
            np.log(PATHS) / np.log(self.period)
            if self.drawn and self.period > 1
            else np.inf
        )
        return steps // self.draws_a_round

    @property
    def draws_a_round(self) -> int:
        """How many matrices a round draws, where they are drawn."""
        return 1 if self.one_per_round else self.algorithm.gossip_steps

    @property
    def chance(self) -> bool:
        """Do runs depend on chance?  Not where noise ``led`` them the same way for
        every coin.
        """
        return self.drawn or (self.led is None and bool(self.sigma.any()))

    @property
    def two(self) -> bool:
        """Two blocks?"""
        return self.x0.shape[-1] == 2


__all__ = ["Batch"]
