"""float16 and bfloat16 for all tasks with ``dtype=``: runs in this precision, constants
in full precision.
"""

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory import algorithms, graphs, tasks
from dfltheory.tasks.registry import _FACTORIES
from dfltheory.training.history import History

HALF = (torch.float16, torch.bfloat16)


@pytest.mark.drawn(4)
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", [*_FACTORIES, "digits"])
def test_every_task_runs_in_half_precision(name, dtype, tmp_path):
    half, full = (tasks.get(name, m=4, seed=1, dtype=t) for t in (dtype, torch.float64))
    algorithm = algorithms.DFedSAM(eta=0.01, K=2, rho=0.01)
    runs = [
        dfl.train(algorithm, t, graphs.ring(4), rounds=3, seeds=2, progress=False)
        for t in (half, full)
    ]
    same, wide = (
        History.load(run.save(tmp_path / "history.safetensors")) for run in runs
    )
    close = 60 * torch.finfo(dtype).eps
    np.testing.assert_allclose(same.loss, wide.loss, rtol=close)
    np.testing.assert_allclose(same.grad_norm_sq, wide.grad_norm_sq, rtol=4 * close)
    for name, value in full.constants.known().items():
        assert getattr(half.constants, name) == pytest.approx(
            value, rel=close, abs=close
        ), name


@pytest.mark.parametrize("dtype", HALF)
def test_the_exact_history_starts_from_a_half_precise_model(dtype):
    problem = tasks.quadratic(m=4, d=3, dtype=dtype)
    algorithm, W = algorithms.DFedAvg(eta=0.01, K=2), graphs.ring(4)
    from_default, given = (
        dfl.exact_history(algorithm, problem, W, 3, x0)
        for x0 in (None, torch.zeros(3, dtype=dtype))
    )
    assert np.array_equal(from_default.grad_norm_sq, given.grad_norm_sq)
    assert from_default.grad_norm_sq[0, -1] < from_default.grad_norm_sq[0, 0]
