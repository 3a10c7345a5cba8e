"""``BoundLogger``: bound, ratio and applicability at each round, for every tracker.

Trackers are replaced by fakes with the real signatures; the real ones are used if
installed.
"""

from __future__ import annotations

import inspect
import logging

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.training import loggers

KEY = "dfedsam.theorem_4_5"
ALGORITHM = dfl.algorithms.DFedAvg(eta=0.01, K=3)
W = dfl.graphs.metropolis(dfl.graphs.ring(6))
TASK = dfl.tasks.quadratic(m=6, d=3, zeta=0.3, sigma=0.2, seed=1)
CONSTANTS = {
    "L": TASK.constants.L,
    "sigma_l": TASK.constants.sigma_l,
    "sigma_g": TASK.constants.sigma_g,
    "f_star": TASK.constants.f_star,
}
KNOWN = {
    "algorithm": ALGORITHM,
    "network": W,
    "constants": CONSTANTS,
    "start": {"x0_sq": 0.0, "x0_spread": 0.0},
}


class Written:
    """A function (values, step) that stores its arguments."""

    def __init__(self):
        self.calls = []

    def __call__(self, values, step):
        self.calls.append((step, dict(values)))


def bound_logger(target=None, variant="corrected", **changes):
    return dfl.BoundLogger(
        KEY, Written() if target is None else target, variant=variant, **KNOWN | changes
    )


@pytest.fixture(scope="module")
def run():
    return dfl.train(ALGORITHM, TASK, W, rounds=12, seeds=5, progress=False)


def logged(bounds, run, rounds):
    for t in rounds:
        values = {"grad_norm_sq": run.grad_norm_sq[:, t], "loss": run.loss[:, t]}
        bounds.log(t, values)
    return bounds


@pytest.mark.parametrize("variant", ["printed", "corrected"])
def test_each_round_shows_measurement_and_bound_of_the_run_that_ends_there(
    run, variant
):
    bounds = logged(bound_logger(variant=variant), run, range(13))
    calls = dict(bounds.logger.target.calls)
    for T in (3, 7, 12):
        short = dfl.train(ALGORITHM, TASK, W, rounds=T, seeds=5, progress=False)
        verdict = dfl.compare(short, KEY, variant=variant)
        last = T if variant == "printed" else T - 1  # rounds 1..T or 0..T-1
        assert calls[last][f"{KEY}/applicable"] == 1.0
        assert calls[last][f"{KEY}/bound"] == pytest.approx(verdict.bound)
        measured = verdict.measured.estimate
        assert calls[last][f"{KEY}/measured"] == pytest.approx(measured)
        assert calls[last][f"{KEY}/ratio"] == pytest.approx(verdict.ratio)


def test_history_of_the_logger_gets_the_verdict_of_the_run(run):
    bounds = logged(bound_logger(), run, range(13))
    verdict = dfl.compare(bounds.history, KEY, variant="corrected")
    trained = dfl.compare(run, KEY, variant="corrected")
    assert (verdict.kind, verdict.bound) == (trained.kind, pytest.approx(trained.bound))
    assert verdict.measured.estimate == pytest.approx(trained.measured.estimate)


def test_missing_constant_is_reported_once_and_no_bound_is_written(run, caplog):
    constants = {name: v for name, v in CONSTANTS.items() if name != "sigma_g"}
    with caplog.at_level(logging.WARNING, logger="dfltheory"):
        bounds = logged(bound_logger(constants=constants), run, range(5))
    assert len(bounds.reasons) == 1
    assert "sigma_g" in bounds.reasons[0]
    assert len([r for r in caplog.records if "sigma_g" in r.getMessage()]) == 1
    for _, values in bounds.logger.target.calls:
        assert values.keys() == {f"{KEY}/applicable", f"{KEY}/measured"}
        assert values[f"{KEY}/applicable"] == 0.0


def test_condition_that_fails_makes_the_theorem_not_applicable(run):
    large = dfl.algorithms.DFedAvg(eta=10.0, K=3)
    bounds = logged(bound_logger(algorithm=large), run, range(6))
    assert all(v[f"{KEY}/applicable"] == 0.0 for _, v in bounds.logger.target.calls)
    assert len(bounds.reasons) == 1


def test_left_hand_side_that_is_not_logged_is_the_reason(run):
    bounds = bound_logger()
    bounds.log(0, {"loss": 1.0})
    assert bounds.logger.target.calls == [(0, {f"{KEY}/applicable": 0.0})]
    assert "grad_norm_sq" in bounds.reasons[0]


def test_diverged_run_does_not_stop_the_training_loop(run):
    bounds = logged(bound_logger(), run, range(3))
    for t, value in ((3, float("nan")), (4, 1.0)):
        written = bounds.log(t, {"grad_norm_sq": [value] * 5, "loss": [1.0] * 5})
        assert written == {f"{KEY}/applicable": 0.0}
    assert len(bounds.reasons) == 1
    assert bounds.history.rounds_measured.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "calls",
    [
        [(0, {})],
        [(1, {"loss": 1.0}), (1, {"loss": 1.0})],
        [(0, {"loss": 1.0}), (1, {"grad_norm_sq": 1.0})],
        [(0, {"loss": 1.0}), (1, {"loss": [1.0, 2.0]})],
        [(-1, {"loss": 1.0})],
        [(0.5, {"loss": 1.0})],
        [(0, {"loss": "low"})],
        [(0, {"loss": 1.0, "start": 1.0})],
        [(0, {"loss": np.ones((2, 2))})],
    ],
)
def test_values_that_do_not_fit_those_before_are_refused(calls):
    bounds = bound_logger()
    *before, last = calls
    for t, values in before:
        bounds.log(t, values)
    with pytest.raises(InputError):
        bounds.log(*last)


@pytest.mark.parametrize(
    "changes", [{"algorithm": None}, {"rounds": [0]}, {"colour": 1}, {"start": "same"}]
)
def test_wrong_description_is_refused_at_the_latest_with_the_first_round(changes):
    with pytest.raises(DFLTheoryError):
        bound_logger(**changes).log(0, {"loss": 1.0})


# -- trackers ------------------------------------------------------------------------


class SummaryWriter:
    """A stand-in for TensorBoard's class."""

    def __init__(self):
        self.scalars, self.texts = [], []

    def add_scalar(
        self,
        tag,
        scalar_value,
        global_step=None,
        walltime=None,
        new_style=False,
        double_precision=False,
    ):
        self.scalars.append((global_step, tag, scalar_value))

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        self.texts.append((tag, text_string))


class RunOfWandb:
    def __init__(self):
        self.scalars = []

    def log(self, data, step=None, commit=None):
        self.scalars += [(step, *item) for item in data.items()]


class RunOfTrackio:
    def __init__(self):
        self.scalars = []

    def log(self, metrics, step=None):
        self.scalars += [(step, *item) for item in metrics.items()]


class ModuleMlflow:
    def __init__(self):
        self.scalars, self.texts = [], []

    def log_metrics(
        self,
        metrics,
        step=None,
        synchronous=None,
        run_id=None,
        timestamp=None,
        model_id=None,
        dataset=None,
    ):
        self.scalars += [(step, *item) for item in metrics.items()]

    def set_tag(self, key, value, synchronous=None):
        self.texts.append((key, value))


FAKES = [SummaryWriter, RunOfWandb, RunOfTrackio, ModuleMlflow]


@pytest.mark.parametrize("kind", FAKES)
def test_every_tracker_gets_what_a_function_gets(run, kind):
    tracker = kind()
    logged(bound_logger(tracker), run, range(4))
    plain = logged(bound_logger(), run, range(4)).logger.target
    expected = [(t, name, v) for t, values in plain.calls for name, v in values.items()]
    assert tracker.scalars == expected
    assert len(expected) == 16


@pytest.mark.parametrize("kind", [SummaryWriter, ModuleMlflow])
def test_tracker_with_a_place_for_texts_gets_the_reason_once(run, kind):
    tracker = kind()
    logged(bound_logger(tracker, network=None), run, range(4))
    assert len(tracker.texts) == 1
    assert tracker.texts[0][0] == f"{KEY}/reason"


def test_loggers_of_train_are_loggers_here(run, tmp_path):
    tracker = SummaryWriter()
    logged(bound_logger(loggers.Tracker(tracker)), run, range(2))
    assert {t for t, _, _ in tracker.scalars} == {0, 1}


@pytest.mark.parametrize("target", [3, "folder", object()])
def test_logger_rejects_other_targets(target):
    with pytest.raises(InputError):
        bound_logger(target)


def test_real_tensorboard_reads_what_was_written(run, tmp_path):
    reason = "tensorboard is not installed"
    pytest.importorskip("tensorboard", reason=reason)
    from tensorboard.backend.event_processing import event_accumulator
    from torch.utils.tensorboard import SummaryWriter as RealWriter

    writer = RealWriter(str(tmp_path))
    bounds = logged(bound_logger(writer), run, range(4))
    writer.close()
    events = event_accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    scalars = events.Scalars(f"{KEY}/bound")
    plain = logged(bound_logger(), run, range(4)).logger.target
    assert [e.step for e in scalars] == [0, 1, 2, 3]
    expected = [values[f"{KEY}/bound"] for _, values in plain.calls]
    assert [e.value for e in scalars] == pytest.approx(expected, rel=1e-6)
    assert bounds.reasons == []


def test_real_mlflow_accepts_the_calls():
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    inspect.signature(mlflow.log_metrics).bind({"loss": 1.0}, step=0)
    inspect.signature(mlflow.set_tag).bind("name", "text")


def test_real_wandb_accepts_what_is_written(run, tmp_path):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    started = wandb.init(mode="offline", dir=str(tmp_path), project="tests")
    logged(bound_logger(started), run, range(4))
    assert started.summary[f"{KEY}/applicable"] == 1.0
    started.finish()


def test_real_trackio_accepts_the_calls():
    trackio = pytest.importorskip("trackio", reason="trackio is not installed")
    inspect.signature(trackio.log).bind({"loss": 1.0}, step=0)
