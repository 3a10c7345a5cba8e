"""A problem for statements that bound the gradients along the run.

The gradients are almost 0 at the clients' models, and not at the mean model. A
statement with bounded gradients at the clients' models covers it with a small B
(:func:`ratio_along_run`). The search, and verdicts on runs, take a bound of all
gradients for B, with which the same statement is weaker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dfltheory.algorithms.push_sum import PushSumState
from dfltheory.counterexamples.growth.member import algorithm, network
from dfltheory.counterexamples.problems import TASKS
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.errors import InputError
from dfltheory.training.instance import Instance
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.run_values import run_values

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


STATED_ALONG_RUN = frozenset({"dfedsgpsm.theorem_1", "dfedsgpsm.corollary_1"})
"""Statements that bound the gradients at the clients' models alone, by key."""


def flat_starts(theorem: Theorem) -> Iterator[Instance]:
    """Yield clients that start on both sides of a dip and almost do not communicate.

    f'(x) = |x| - 1 for |x| < 1, and 0 elsewhere, also where the clients are.
    """
    weak = 2.0**-30
    W = np.array([[1 - weak, weak], [weak, 1 - weak]])
    ramps = Ramps.one([[-1.0, 0.0]], [[1.0, 1.0]], [[-1.0, 1.0]], [0.0]).repeated(2)
    described = ramps.describe(0)
    fields: dict[str, Any] = {**described}
    del fields["name"]
    for T in (100, 1000):
        numbers = {"m": 2, "T": T, "K": 1, "L": 1, "alpha": 0.0, "rho": 0.0}
        numbers |= {"rho0": 0.0} | network({"gap": 0.5 / weak})
        if not theorem.schedule:
            numbers["eta"] = 0.5
        task = TASKS[described["name"]](**fields)
        chosen = algorithm(theorem, numbers)
        outside = 1 + 2.0**-10
        x0 = np.array([[-outside], [outside]])
        sources = {"task": (task, described)}
        yield Instance(task, chosen, W, T, x0=x0, sources=sources)


def ratio_along_run(theorem: Theorem, instance: Instance) -> float:
    """Return measured / bound of a deterministic run, with B along the run.

    B is the largest root mean square of grad f_i at the clients' models, for K = 1 and
    push-sum weights that stay 1. The other values are those of verdicts on the run.
    """
    task = instance.task
    if getattr(instance.algorithm, "K", 1) != 1:
        raise InputError("with several local steps, B is not that of the states")
    start = torch.as_tensor(instance.x0)[None]
    squares = [float(task.gradient(start).square().mean())]

    def record(t: int, state: PushSumState, recorder: object) -> None:
        if not bool((state.w == 1).all()):
            raise InputError("the push-sum weights do not stay 1")
        squares.append(float(task.gradient(state.x).square().mean()))

    history = instance.run(seeds=1, progress=False, callbacks=[record])
    known = {**run_values(history, theorem), "B": max(squares) ** 0.5}
    needed = {name: known[name] for name in theorem.needs}
    if not all(bool(ok) for _, _, ok in theorem.check_conditions(**needed)):
        raise InputError("a condition fails")
    bound = float(np.mean(theorem.evaluate(**needed)))
    return compare(history, theorem).measured.low / bound


__all__ = ["STATED_ALONG_RUN", "flat_starts", "ratio_along_run"]
