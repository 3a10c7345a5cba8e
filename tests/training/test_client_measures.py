"""Measures of every client: values, summaries, files and checkpoints."""

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.tasks import Supervised, measured_on, quadratic
from dfltheory.training import Checkpoint, History, train
from dfltheory.training.client_measures import summaries
from tests.algorithms.problems import ring_matrix

BOTH = ["client_accuracy", "client_loss"]


def labelled(n, seed):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 3, generator=generator)
    return X, torch.randint(2, (n,), generator=generator)


def classes(test="own", m=5):
    clients = [labelled(6 + i, i) for i in range(m)]
    tests = [labelled(9, 100 + i) for i in range(m)]
    torch.manual_seed(0)
    return Supervised(
        torch.nn.Linear(3, 2),
        clients,
        batch=3,
        test=tests if test == "own" else tests[0],
        dtype=torch.float64,
    )


def run(task, rounds=4, **options):
    W = ring_matrix(task.m)
    return train(alg.DFedAvg(eta=0.5, K=3), task, W, rounds=rounds, seeds=2, **options)


def test_every_client_is_measured_at_its_own_model_on_its_own_data():
    task = classes()
    history = run(task, metrics=BOTH)
    models = torch.from_numpy(history.x)
    loss, accuracy = (history.clients[f"client_{k}"] for k in ("loss", "accuracy"))
    assert loss.shape == accuracy.shape == (2, 5, 5)
    np.testing.assert_allclose(loss[:, -1], task.loss(models), rtol=1e-12)
    np.testing.assert_allclose(accuracy[:, -1], task.client_accuracy(models))
    X, y = labelled(6 + 3, 3)  # client 3, computed explicitly
    W, b = models[1, 3, :6].view(2, 3), models[1, 3, 6:]
    expected = torch.nn.functional.cross_entropy(X.double() @ W.T + b, y)
    assert loss[1, -1, 3] == pytest.approx(float(expected), rel=1e-12)


def test_summaries_over_clients_are_measures():
    history = run(classes(), metrics=BOTH)
    measures = history.measures()
    for name in BOTH:
        values = history.clients[name]
        np.testing.assert_allclose(measures[name], values.mean(-1))
        np.testing.assert_allclose(measures[f"{name}_min"], values.min(-1))
        np.testing.assert_allclose(measures[f"{name}_max"], values.max(-1))
        np.testing.assert_allclose(measures[f"{name}_median"], np.median(values, -1))
        # numpy's linear interpolation among 5 clients: 0.4 of the way
        low = np.sort(values)[..., :2]
        np.testing.assert_allclose(
            measures[f"{name}_q10"], low[..., 0] + 0.4 * (low[..., 1] - low[..., 0])
        )
        high = np.sort(values)[..., -2:]
        np.testing.assert_allclose(
            measures[f"{name}_q90"], high[..., 0] + 0.6 * (high[..., 1] - high[..., 0])
        )
        np.testing.assert_allclose(
            history.client_quantiles(name), np.quantile(values, (0.1, 0.5, 0.9), -1)
        )
        assert history.client_quantiles(name, 0.25).shape == (2, 5)
    plain = run(classes())
    np.testing.assert_array_equal(
        plain.measures()["client_accuracy"], measures["client_accuracy"]
    )
    assert plain.clients == {}


def test_summary_with_a_client_without_a_number_has_none():
    values = summaries("loss", np.array([[1.0, np.nan], [1.0, 3.0]]))
    assert values.keys() == {
        "loss",
        *(f"loss_{s}" for s in ("min", "q10", "median", "q90", "max")),
    }
    for array in values.values():
        assert np.isnan(array[0])
        assert np.isfinite(array[1])


def test_clients_of_a_common_test_set_are_evaluated_on_all_of_it():
    task = classes(test="all")
    history = run(task, metrics=["client_accuracy"])
    models = torch.from_numpy(history.x)
    each = torch.stack([task.accuracy(models[:, i]) for i in range(5)], dim=1)
    np.testing.assert_array_equal(history.clients["client_accuracy"][:, -1], each)
    assert len(set(each.flatten().tolist())) > 1


def test_client_loss_is_measured_on_the_part_that_f_is_measured_on():
    task = measured_on(classes(), examples=10)
    history = run(task, metrics=["client_loss"])
    models = torch.from_numpy(history.x)
    measured = history.clients["client_loss"][:, -1]
    np.testing.assert_allclose(measured, task.measured.loss(models))
    assert not np.allclose(measured, task.loss(models))


def test_client_loss_is_defined_on_every_task_and_averages_to_f_at_consensus():
    task = quadratic(m=6, d=3, zeta=1.0, seed=0)
    history = run(task, metrics=["client_loss"])
    start = history.clients["client_loss"][:, 0].mean(-1)
    np.testing.assert_allclose(start, history.loss[:, 0], rtol=1e-12)
    with pytest.raises(InputError, match="client_accuracy"):
        run(task, metrics=["client_accuracy"])


def test_metric_of_ones_own_may_give_a_number_for_each_client():
    def distance(task, models, mean):
        return (models - mean.unsqueeze(1)).square().sum(-1)

    history = run(quadratic(m=6, d=3, zeta=1.0, seed=0), metrics=[distance])
    assert history.clients["distance"].shape == (2, 5, 6)
    np.testing.assert_allclose(history.measures()["distance"], history.consensus)

    def transposed(task, models, mean):
        return torch.zeros(6, 2)

    with pytest.raises(InputError, match="transposed"):
        run(quadratic(m=6, d=3, seed=0), metrics=[transposed])


@pytest.mark.parametrize("metrics", ["client_loss", 3, [3]])
def test_metrics_must_be_a_list_of_functions_and_names(metrics):
    with pytest.raises(InputError, match="metrics"):
        run(quadratic(m=6, d=3, seed=0), metrics=metrics)
    with pytest.raises(UnknownNameError, match="metric"):
        run(quadratic(m=6, d=3, seed=0), metrics=["client_los"])
    with pytest.raises(InputError, match="client_loss"):
        run(quadratic(m=6, d=3, seed=0), metrics=["client_loss", "client_loss"])


def test_file_brings_the_measures_of_clients_back(tmp_path):
    history = run(classes(), metrics=BOTH)
    back = History.load(history.save(tmp_path / "run"))
    assert back == history
    assert back.clients.keys() == history.clients.keys()
    changed = History.load(tmp_path / "run")
    changed.clients["client_loss"][0, 0, 0] += 1
    assert changed != history
    content = bytearray((tmp_path / "run").read_bytes())
    content[-1] ^= 1
    (tmp_path / "changed").write_bytes(content)
    with pytest.raises(InputError, match="digest"):
        History.load(tmp_path / "changed")


def test_unknown_measure_and_level_are_rejected_by_name():
    history = run(classes(), metrics=["client_loss"])
    with pytest.raises(InputError, match="measure = 'client_accuracy'"):
        history.of_clients("client_accuracy")
    with pytest.raises(InputError, match="levels"):
        history.client_quantiles("client_loss", 90)


def test_frame_of_clients_has_a_row_for_each_value():
    history = run(classes(), metrics=BOTH, evaluate_every=3)
    frame = history.clients_frame()
    assert len(frame) == 2 * 2 * 3 * 5
    row = frame.query("seed == 1 and round == 3 and client == 2")
    values = dict(zip(row["measure"], row["value"]))
    assert values["client_loss"] == history.clients["client_loss"][1, 1, 2]
    assert len(run(classes()).clients_frame()) == 0


def test_ended_run_has_no_numbers_for_clients_after_its_end():
    history = run(
        classes(), metrics=BOTH, callbacks=[lambda t, state, recorder: t == 2]
    )
    values = history.clients["client_loss"]
    assert np.isfinite(values[:, :3]).all()
    assert np.isnan(values[:, 3:]).all()


def test_resumed_run_has_the_same_measures_of_clients(tmp_path):
    whole = run(classes(), rounds=6, metrics=BOTH, evaluate_every=2)
    saved = Checkpoint(tmp_path / "run.ckpt", every=3)

    def interrupt(t, state, recorder):
        if t == 4:
            raise KeyboardInterrupt

    options = {"rounds": 6, "metrics": BOTH, "evaluate_every": 2, "checkpoint": saved}
    with pytest.raises(KeyboardInterrupt):
        run(classes(), callbacks=[interrupt], **options)
    resumed = run(classes(), **options)
    for name, values in whole.clients.items():
        assert values.tobytes() == resumed.clients[name].tobytes()
    # a round measured only because it was the last is no longer measured
    short = Checkpoint(tmp_path / "short.ckpt", every=3)
    run(classes(), rounds=3, metrics=BOTH, evaluate_every=2, checkpoint=short)
    longer = run(classes(), **(options | {"checkpoint": short}))
    for name, values in whole.clients.items():
        assert values.tobytes() == longer.clients[name].tobytes()
