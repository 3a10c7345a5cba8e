"""A checkpoint belongs to one run: changing any argument of tasks, algorithms, networks
or ``train`` gives another run.
"""

import dataclasses
import inspect

import numpy as np
import pytest

from dfltheory import algorithms, graphs, tasks
from dfltheory.errors import InputError
from dfltheory.identity import value_digest
from dfltheory.tasks import registry
from dfltheory.training import train
from dfltheory.training.checkpoint import Checkpoint, identity

W = graphs.metropolis(graphs.ring(4))
SMALL = {"m": 4, "d": 3, "d_u": 2, "d_v": 2}
WORDS = {"spectrum": "random", "hessians": "same", "noise": "finite"}


def first(task, models, mean):
    return mean[:, 0]


def last(task, models, mean):
    return mean[:, -1]


def called(name, measure):
    """Return another measure with the same name."""

    def metric(task, models, mean):
        return measure(task, models, mean)

    metric.__name__ = name
    return metric


class Own:
    """A user's network that depends on losses; for equal losses, all its attributes
    look the same.
    """

    m, random, needs_losses = 4, True, True

    def __init__(self, steep):
        self.steep = steep

    def matrix(self, t, rng, losses):
        return W if np.ptp(losses) < self.steep else np.eye(4)


def go(path, network=W, **options):
    task = tasks.quadratic(m=4, d=3, sigma=0.1)
    common = {
        "task": task,
        "rounds": 2,
        "progress": False,
        "checkpoint": path,
        "topology": network,
    }
    return train(algorithms.DFedSGPSM(eta=0.01, K=1, alpha=0.5), **common | options)


@pytest.mark.parametrize("name", ["quadratic", "sinusoidal", "clipped", "coupled"])
def test_every_number_a_task_is_made_with_counts(name):
    known = inspect.signature(registry.factory(name)).parameters
    base = {option: value for option, value in SMALL.items() if option in known}
    plain, tried = registry.get(name, **base).arguments, 0
    for option, parameter in known.items():
        value = base.get(option, parameter.default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        other = value + 1 if isinstance(value, int) else 0.8 * value + 0.05
        assert registry.get(name, **base | {option: other}).arguments != plain, option
        tried += 1
    assert tried >= 4


def test_identity_of_a_run_contains_every_hyperparameter():
    """Tests all numerical hyperparameters that can take another value."""
    task, tried = tasks.quadratic(m=4, d=3), 0
    x0 = task.start(None).expand(1, 4, 3)

    def of(algorithm):
        return identity(algorithm, task, {}, x0, rounds=2, seeds=[0], seed=0)[
            "algorithm"
        ]

    for name in algorithms.names():
        kind = algorithms.get(name)
        needed = [
            f for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING
        ]
        plain = kind(**{f.name: 2 if "int" in str(f.type) else 0.1 for f in needed})
        for f in dataclasses.fields(kind):
            value = getattr(plain, f.name)
            for other in (0.15, 3, 0.9, "half"):
                try:
                    changed = dataclasses.replace(plain, **{f.name: other})
                except (InputError, TypeError, ValueError):
                    continue
                if other != value:
                    assert of(changed) != of(plain), (name, f.name)
                    tried += 1
                    break
    assert tried > 100


def test_a_task_that_is_measured_on_other_examples_is_another():
    task = tasks.digits(m=4, examples=100)
    arguments_of_measures = [
        tasks.measured_on(task, n, seed).arguments
        for n, seed in ((20, 0), (20, 1), (21, 0))
    ]
    assert (
        len({str(arguments) for arguments in (*arguments_of_measures, task.arguments)})
        == 4
    )


def test_digests_of_metrics_differ_if_their_values_differ():
    assert value_digest(called("f", first)) != value_digest(called("f", last))


def of_own(rule, base=algorithms.DFedSGPSM, **members):
    """Return a user's class with this rule, under a fixed name."""
    return type("Mine", (base,), {"__module__": "mine", "init": rule, **members})


def test_another_rule_of_the_users_class_is_another_run(tmp_path):
    hyperparameters = {"eta": 0.01, "K": 1, "alpha": 0.5}

    def half(self, x, grad):
        return algorithms.DFedSGPSM.init(self, x / 2, grad)

    def third(self, x, grad):
        return algorithms.DFedSGPSM.init(self, x / 3, grad)

    def run(kind):
        train(
            kind(**hyperparameters),
            tasks.quadratic(m=4, d=3),
            W,
            rounds=2,
            progress=False,
            checkpoint=tmp_path / "c",
        )

    run(of_own(half))
    run(of_own(half))
    with pytest.raises(InputError, match=r"\bcode\b"):
        run(of_own(third))
    with pytest.raises(InputError, match=r"\bcode\b"):
        run(of_own(half, scale=2.0))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"metrics": [called("f", first)]}, {"metrics": [called("f", last)]}),
        ({"network": Own(1.0)}, {"network": Own(1e-9)}),
        ({"seed": 0}, {"seed": 5}),
        ({"x0": np.zeros(3)}, {"x0": np.ones(3)}),
    ],
    ids=["metrics", "network", "seed", "start"],
)
def test_force_resumes_a_changed_run_and_logs_it(one, two, tmp_path, caplog):
    path = tmp_path / "c"
    go(path, **one)
    with pytest.raises(InputError):
        go(path, rounds=3, **two)
    history = go(Checkpoint(path, force=True), rounds=3, **two)
    assert history.loss.shape == (1, 4)
    assert "another" in caplog.text
    # the file now belongs to this run; measurements from another start are kept
    go(Checkpoint(path, force="x0" in two), rounds=3, **two)


@pytest.mark.parametrize(
    "change",
    [
        {"seeds": 2},
        {"rounds": 1},
        {"evaluate_every": 2},
        {"metrics": [first]},
        {"task": 4},
    ],
    ids=lambda change: next(iter(change)),
)
def test_force_cannot_change_the_shape_of_what_is_stored(change, tmp_path):
    path = tmp_path / "c"
    go(path)
    if "task" in change:
        change = {"task": tasks.quadratic(m=4, d=change["task"], sigma=0.1)}
    with pytest.raises(InputError):
        go(Checkpoint(path, force=True), **change)
