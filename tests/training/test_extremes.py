"""Hyperparameters and constants at the limits of double precision: a one-line error, a
marked divergence, or finite measures.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import graphs, tasks
from dfltheory.algorithms import ALGORITHMS, DFedSAM
from dfltheory.errors import DFLTheoryError
from dfltheory.tasks.registry import _FACTORIES, factory
from tests.algorithms.table import HYPERPARAMETERS, PERSONAL, network_for

ENDS = (1e300, 1e155, 1e-300, 5e-324, float("inf"), float("nan"), 0, -1)


def ends_well(algorithm, task, network, rounds=3):
    run = dfl.train(algorithm, task, network, rounds=rounds, seeds=2, progress=False)
    measures = {
        name: values
        for name, values in run.measures().items()
        if not name.endswith("_next")
    }
    # the square of a finite point overflows
    far = measures.pop("grad_norm_sq_w", np.zeros(1))
    finite = (
        all(np.isfinite(v).all() for v in measures.values()) and not np.isnan(far).any()
    )
    assert run.diverged_at is not None or finite, measures
    assert run.network.m == task.m


@pytest.mark.drawn(5)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_training_handles_extreme_hyperparameters(name):
    kind, hyperparameters = ALGORITHMS[name], HYPERPARAMETERS[name]
    sizes = {"p": 2} if name in PERSONAL else {"d": 3}
    build = tasks.coupled if name in PERSONAL else tasks.quadratic
    usual, network = kind(**hyperparameters), network_for(kind(**hyperparameters), 4)
    ends_well(usual, build(m=4, **sizes), network, rounds=0)
    ends_well(usual, build(m=1, **sizes), network_for(usual, 1))
    asked = [{"decay": 1e-300, "weight_decay": 1e300}]
    asked += [
        {k: v}
        for k, old in hyperparameters.items()
        if not isinstance(old, bool | str)
        for v in ENDS
    ]
    if (
        usual.needs_topology
        and usual.mixing == "doubly stochastic"
        and usual.links != "tree"
    ):
        far = np.roll(np.eye(4), 1, 0) + np.roll(np.eye(4), -1, 0)
        for weight in (5e-324, 1e-310):
            ends_well(
                usual, build(m=4, **sizes), (1 - 2 * weight) * np.eye(4) + weight * far
            )
    for words in asked:
        try:
            ends_well(replace(usual, **words), build(m=4, **sizes), network)
        except DFLTheoryError as refused:
            assert "\n" not in str(refused), words  # noqa: PT017


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", _FACTORIES)
def test_training_handles_extreme_task_options(name):
    algorithm, refusals = DFedSAM(eta=0.01, K=2, rho=0.01), 0
    for parameter_name, parameter in inspect.signature(
        factory(name)
    ).parameters.items():
        if isinstance(parameter.default, bool | str) or parameter_name in (
            "seed",
            "dtype",
            "device",
            "hessians",
        ):
            continue
        for value in (0, -1, 1) if isinstance(parameter.default, int) else ENDS:
            try:
                task = tasks.get(name, **{"m": 4, parameter_name: value})
                ends_well(algorithm, task, graphs.ring(task.m))
            except DFLTheoryError as refused:
                refusals += 1
                assert "\n" not in str(refused), (parameter_name, value)  # noqa: PT017
    assert refusals > 5
