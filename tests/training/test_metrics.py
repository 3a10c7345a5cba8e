"""Metrics along a run, and the detection of divergence."""

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError
from dfltheory.tasks import Supervised
from dfltheory.training import train
from dfltheory.training.metrics import Recorder, lengthened
from dfltheory.training.norms import spread, squared_norm
from tests.algorithms.problems import Rows, ring_matrix


@pytest.mark.parametrize(
    "shape",
    [(1, 3, 4), (2, 5, 1), (2, 7, 3), (1, 1, 2), (1, 5, 400_000), (2, 2, 600_000)],
)
def test_consensus_of_any_size(shape):
    """Large models are processed in chunks of clients."""
    x = torch.randn(
        shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    before = x.clone()
    expected = ((x - x.mean(1, keepdim=True)) ** 2).sum(-1).mean(-1)
    torch.testing.assert_close(spread(x, x.mean(1)), expected)
    assert torch.equal(x, before)


def test_spread_is_about_the_point_that_is_given():
    x = torch.tensor([[[1.0, 0.0], [3.0, 0.0]]], dtype=torch.float64)
    mean = torch.tensor([[0.0, 2.0]], dtype=torch.float64)
    assert spread(x, mean).tolist() == [(1 + 4 + 9 + 4) / 2]
    assert squared_norm(x).tolist() == [[1.0, 9.0]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_measured_in_single_precision(dtype):
    x = 40 * torch.randn(
        2, 3, 100, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).to(dtype)
    exact = x.double().square().sum(-1)
    assert exact.min() > torch.finfo(torch.float16).max
    torch.testing.assert_close(squared_norm(x).double(), exact, rtol=1e-6, atol=0)
    torch.testing.assert_close(
        spread(x, torch.zeros(2, 100, dtype=dtype)).double(),
        exact.mean(-1),
        rtol=1e-6,
        atol=0,
    )


def test_rounds_that_are_missing_are_no_numbers():
    array = np.arange(6.0).reshape(2, 3)
    assert lengthened(array, 3) is array
    longer = lengthened(array, 5)
    np.testing.assert_array_equal(longer[:, :3], array)
    assert longer.shape == (2, 5)
    assert np.isnan(longer[:, 3:]).all()


class Known(Rows):
    constants = ProblemConstants(L_u=2.0, L_v=4.0)


def test_accuracies_are_of_the_mean_model_and_of_each_ones_own():
    g = torch.Generator().manual_seed(0)
    data = [
        (torch.randn(7, 3, generator=g), torch.randint(2, (7,), generator=g))
        for _ in range(5)
    ]
    torch.manual_seed(0)
    task = Supervised(torch.nn.Linear(3, 2), data, batch=3, test=data)
    x0 = torch.randn(2, 5, task.d, generator=g)
    run = train(
        alg.DFedAvg(eta=0.5, K=3), task, ring_matrix(5), rounds=2, seeds=2, x0=x0
    )
    for t, x in ((0, x0), (-1, torch.from_numpy(run.x))):
        np.testing.assert_allclose(
            run.extra["client_accuracy"][:, t], task.client_accuracy(x).mean(1)
        )
        np.testing.assert_allclose(run.accuracy[:, t], task.accuracy(x.mean(1)))
    assert run.accuracy[0, 0] != run.accuracy[1, 0]


def two_blocks(**options):
    algorithm = alg.DFedMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1)
    task = options.pop("task", Known)(d=5, shared=slice(0, 3), batch=2)
    return train(algorithm, task, ring_matrix(5), rounds=7, seeds=2, **options)


def test_the_two_block_measures_do_not_depend_on_how_often_is_measured():
    """V^{t+1} consists of the heads of the next round, which need not be measured
    itself.
    """
    full, thin = two_blocks(), two_blocks(evaluate_every=3)
    assert {"two_block", "two_block_next", "grad_u_sq_next", "two_block_value"} <= set(
        full.extra
    )
    assert thin.measures().keys() == full.measures().keys()
    for name, array in thin.measures().items():
        np.testing.assert_array_equal(
            array, full.measures()[name][:, [0, 3, 6, 7]], err_msg=name
        )


def test_the_two_block_value_is_f_at_the_mean_body_and_each_own_head():
    states = []
    run = two_blocks(
        callbacks=[lambda t, state, recorder: states.append(state.x.numpy().copy())]
    )
    task = Known(d=5, shared=slice(0, 3))
    for t, x in enumerate(states, start=1):
        at = x.copy()
        at[..., :3] = x[..., :3].mean(1, keepdims=True)
        expected = task.loss(torch.from_numpy(at)).mean(-1).numpy()
        np.testing.assert_allclose(run.extra["two_block_value"][:, t], expected)
    extra_measures = run.extra
    np.testing.assert_allclose(
        extra_measures["two_block"],
        extra_measures["grad_u_sq"] / 2 + extra_measures["grad_v_sq"] / 4,
    )


@pytest.mark.parametrize("missing", ["L_u", "L_v", "shared", "algorithm"])
def test_no_two_blocks_where_they_have_no_sense(missing):
    task = Known(d=5, shared=None if missing == "shared" else slice(0, 3))
    task.constants = ProblemConstants(
        **{k: v for k, v in {"L_u": 2.0, "L_v": 4.0}.items() if k != missing}
    )
    plain, two = (
        alg.DFedAvg(eta=0.1, K=1),
        alg.DFedMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1),
    )
    run = train(
        plain if missing == "algorithm" else two, task, ring_matrix(5), rounds=2
    )
    assert not run.extra
    full = train(two, Known(d=5, shared=slice(0, 3)), ring_matrix(5), rounds=2)
    assert set(full.extra) == {
        "grad_u_sq",
        "grad_v_sq",
        "two_block",
        "two_block_value",
        "grad_u_sq_next",
        "two_block_next",
    }


def test_constants_are_not_asked_for_where_no_two_blocks_are():
    class Costly(Rows):
        @property
        def constants(self):
            raise AssertionError("estimates take longer than training")

    Recorder(Costly(shared=slice(0, 2)), alg.DFedAvg(eta=0.1, K=1))
    Recorder(Costly(), alg.DFedMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1))


@pytest.mark.parametrize(
    "name", ["loss", "consensus", "grad_norm_sq", "two_block", "accuracy"]
)
def test_a_users_metric_does_not_take_the_place_of_a_measure(name):
    """Verdicts and divergence depend on the measures."""

    def mine(task, models, mean):
        return mean[:, 0]

    mine.__name__ = name
    if name == "accuracy":  # which a task without classes does not have
        assert two_blocks(metrics=[mine]).accuracy.shape == (2, 8)
        return
    with pytest.raises(
        InputError,
        match=f"metric {name} has the name of a built-in measure: rename it$",
    ):
        two_blocks(metrics=[mine])


@pytest.mark.parametrize("kind", ["tensor", "array", "bfloat16", "integers", "object"])
def test_metrics_of_any_kind_are_numbers_in_double_precision(kind):
    class Mine:
        def __call__(self, task, models, mean):
            return np.array([2.0, 3.0])

    metric = {
        "tensor": lambda task, models, mean: models.mean((1, 2)),
        "array": lambda task, models, mean: models.numpy().mean((1, 2)),
        "bfloat16": lambda task, models, mean: models.mean((1, 2)).bfloat16(),
        "integers": lambda task, models, mean: torch.tensor([1, 2]),
        "object": Mine(),
    }[kind]
    recorder = Recorder(Rows(), alg.DFedAvg(eta=0.1, K=1), [metric])
    state = alg.base.State(*(torch.ones(2, 5, 4, dtype=torch.float64),) * 2)
    values = recorder.measure(4, state)["Mine" if kind == "object" else "<lambda>"]
    assert values.dtype == np.float64
    assert values.shape == (2,)
    assert recorder.rounds == [4]
