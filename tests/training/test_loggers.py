"""Experiment trackers receive what the history reports, and are only imported when
used.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dfltheory as dfl
import dfltheory.algorithms as alg
from dfltheory.errors import InputError
from dfltheory.training import loggers
from tests.algorithms.problems import ring_matrix


def run(*log_functions, **options):
    task = dfl.tasks.quadratic(m=3, d=2)
    callbacks = [loggers.report(*log_functions)]
    return dfl.train(
        alg.DFedAvg(eta=0.1, K=1),
        task,
        ring_matrix(3),
        rounds=5,
        seeds=2,
        callbacks=callbacks,
        **options,
    )


@pytest.mark.parametrize(
    ("every", "rounds"), [(1, [0, 1, 2, 3, 4, 5]), (2, [0, 2, 4, 5])]
)
def test_every_logger_receives_each_measured_round_once(every, rounds):
    first, second = [], []
    history = run(
        lambda t, v: first.append((t, v)),
        lambda t, v: second.append((t, v)),
        evaluate_every=every,
    )
    assert first == second
    assert [t for t, _ in first] == rounds
    for name in ("loss", "consensus", "grad_norm_sq"):
        np.testing.assert_allclose(
            [v[name] for _, v in first], getattr(history, name).mean(0), rtol=1e-12
        )


def test_measures_that_need_the_next_round_do_not_come_under_the_wrong_one():
    seen = []
    task = dfl.tasks.coupled(m=3, p=2)
    history = dfl.train(
        alg.DFedMDC(eta_u=0.1, eta_v=0.1, K_u=1, K_v=1),
        task,
        ring_matrix(3),
        rounds=4,
        callbacks=[loggers.report(lambda t, v: seen.append((t, v)))],
    )
    for t, values in seen:
        for name, value in values.items():
            array = (
                history.extra[name] if name in history.extra else getattr(history, name)
            )
            assert value == pytest.approx(array[0, t]), (t, name)


class Fake:
    """Replaces a tracker's module and its runs; records every call."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*given, **named):
            self.calls.append((name, given, named))
            return self

        return call


@pytest.mark.parametrize(
    ("name", "module", "start", "logged"),
    [
        ("wandb", "wandb", ("init", (), {"project": "p"}), ("log", 2)),
        ("trackio", "trackio", ("init", (), {"project": "p"}), ("log", 2)),
        ("mlflow", "mlflow", ("start_run", (), {"project": "p"}), ("log_metrics", 2)),
    ],
)
def test_runs_of_trackers(monkeypatch, name, module, start, logged):
    fake = Fake()
    monkeypatch.setitem(sys.modules, module, fake)
    log = getattr(loggers, name)(project="p")
    log(2, {"loss": 0.5})
    assert fake.calls == [start, (logged[0], ({"loss": 0.5},), {"step": logged[1]})]


def test_scalars_of_tensorboard(monkeypatch, tmp_path):
    fake = Fake()
    monkeypatch.setitem(
        sys.modules,
        "torch.utils.tensorboard",
        SimpleNamespace(SummaryWriter=fake.writer),
    )
    run(loggers.tensorboard(tmp_path))
    scalars = [given for name, given, _ in fake.calls if name == "add_scalar"]
    assert fake.calls[0] == ("writer", (str(tmp_path),), {})
    for measure in ("loss", "consensus", "grad_norm_sq"):
        assert [t for name, _, t in scalars if name == measure] == list(range(6))


@pytest.mark.parametrize("name", ["wandb", "mlflow", "trackio"])
def test_what_is_not_installed_is_one_line(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        InputError, match=f"needs {name}, which is not installed: pip install {name}"
    ):
        getattr(loggers, name)()
