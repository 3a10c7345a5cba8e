"""A checkpoint belongs to one run: every argument of tasks, algorithms, networks and
``train`` that changes gives another run, and the error names it.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dfltheory import algorithms, tasks
from dfltheory.errors import DataError, InputError
from dfltheory.graphs import LinkFailures, LossDriven, RandomMatching, as_sequence
from dfltheory.identity import value_digest
from dfltheory.tasks import Supervised
from dfltheory.training import storage, train
from dfltheory.training.checkpoint import Checkpoint, identity
from tests.algorithms.problems import Rows, permuted_average, ring_matrix

RING = ring_matrix(5)
PERMUTED = RING[[0, 2, 1, 3, 4]][:, [0, 2, 1, 3, 4]]


# -- arguments of train


class OtherRows(Rows):
    """The same problem as another class."""


def classifier(batch=2, sampling="iid", augment=None, largest=0.0, start=0):
    """Return a classification task; ``largest`` is added to one number of the data."""
    generator = torch.Generator().manual_seed(0)
    clients = [
        (
            torch.randn(6, 3, generator=generator),
            torch.randint(2, (6,), generator=generator),
        )
        for _ in range(5)
    ]
    clients[0][0][0, 0] += largest
    torch.manual_seed(start)
    return Supervised(
        torch.nn.Linear(3, 2), clients, batch=batch, sampling=sampling, augment=augment
    )


def negative(X, generators):
    return -X


def first(task, models, mean):
    return mean[:, 0]


def last(task, models, mean):
    return mean[:, -1]


def called_metric(measure):
    """Return a metric called ``metric`` with the values of another one."""

    def metric(task, models, mean):
        return measure(task, models, mean)

    return metric


class DependsOnLosses:
    """A user's network; for equal losses, all its attributes look the same."""

    m, random, needs_losses = 5, True, True

    def __init__(self, steep):
        self.steep = steep

    def matrix(self, t, rng, losses):
        return RING if np.ptp(losses) < self.steep else np.eye(5)


def late(t):
    return np.eye(5) if t == 6 else RING


def early(t):
    return np.eye(5) if t == 2 else RING


def halved_start(self, x, grad):
    return algorithms.DFedAvg.init(self, x / 2, grad)


def third_of_start(self, x, grad):
    return algorithms.DFedAvg.init(self, x / 3, grad)


def user_algorithm(init, **members):
    """Return an algorithm of a user's class Mine with this method."""
    members |= {"__module__": "mine", "init": init}
    return type("Mine", (algorithms.DFedAvg,), members)(eta=0.2, K=2)


@dataclasses.dataclass(frozen=True)
class Change:
    """Arguments of a run that change, and the words with which they are rejected."""

    changed: Mapping[str, object]
    words: str
    base: Mapping[str, object] = dataclasses.field(default_factory=dict)
    can_be_forced: bool = True


CLASSIFIER = {"task": classifier, "x0": np.zeros(8)}
CHANGES = {
    "seed": Change({"seed": 5}, "seed 0 5"),
    "more seeds": Change({"seeds": 3}, "seeds", can_be_forced=False),
    "fewer seeds": Change({"seeds": 1}, "seeds", can_be_forced=False),
    "fewer rounds": Change({"rounds": 1}, "rounds 2 1", can_be_forced=False),
    "measured rounds": Change(
        {"evaluate_every": 2}, "evaluate_every 1 2", can_be_forced=False
    ),
    "deterministic": Change({"deterministic": True}, "deterministic False True"),
    "start": Change({"x0": np.ones(6)}, "start"),
    "another metric": Change({"metrics": [first]}, "metrics", can_be_forced=False),
    "metric of the same name": Change(
        {"metrics": [called_metric(last)]},
        "metrics",
        {"metrics": [called_metric(first)]},
    ),
    "hyperparameter": Change(
        {"algorithm": algorithms.DFedAvg(eta=0.3, K=2)}, "algorithm"
    ),
    "method of a user's class": Change(
        {"algorithm": user_algorithm(third_of_start)},
        "code",
        {"algorithm": user_algorithm(halved_start)},
    ),
    "attribute of a user's class": Change(
        {"algorithm": user_algorithm(halved_start, scale=2.0)},
        "code",
        {"algorithm": user_algorithm(halved_start)},
    ),
    "weights": Change({"topology": np.full((5, 5), 0.2)}, "network"),
    "links": Change({"topology": sp.csr_array(PERMUTED)}, "network"),
    "list of matrices": Change({"topology": [RING, np.eye(5)]}, "network"),
    "network of a user": Change(
        {"topology": DependsOnLosses(1e-9)},
        "network",
        {"topology": DependsOnLosses(1.0)},
    ),
    "network chosen by losses": Change(
        {"topology": LossDriven(5, 3)},
        "network",
        {
            "topology": LossDriven(5, 2),
            "algorithm": algorithms.DFedSGPSM(eta=0.1, K=1, alpha=0.5),
        },
    ),
    "function that differs in a later round": Change(
        {"topology": early}, "network", {"topology": late}
    ),
    "precision": Change(
        {"task": partial(Rows, d=6, dtype=torch.float32)}, "dtype", can_be_forced=False
    ),
    "number of clients": Change(
        {"task": partial(Rows, d=6, m=4), "topology": ring_matrix(4)},
        "m",
        can_be_forced=False,
    ),
    "dimension": Change({"task": partial(Rows, d=4)}, "d", can_be_forced=False),
    "seed of the task": Change({"task": partial(Rows, d=6, seed=1)}, "task seed"),
    "two arguments of the task": Change(
        {"task": partial(Rows, d=6, n=8, batch=3)}, "task batch n"
    ),
    "class of the task": Change({"task": partial(OtherRows, d=6)}, "task class"),
    "batch": Change({"task": partial(classifier, batch=3)}, "batch", CLASSIFIER),
    "sampling": Change(
        {"task": partial(classifier, sampling="epochs")}, "sampling", CLASSIFIER
    ),
    "augmentation": Change(
        {"task": partial(classifier, augment=negative)}, "augment", CLASSIFIER
    ),
    "one number of the data": Change(
        {"task": partial(classifier, largest=1e-6)}, "clients", CLASSIFIER
    ),
    "start of the module": Change(
        {"task": partial(classifier, start=1)}, "module", CLASSIFIER
    ),
}
"""One change of the arguments of a run each."""


def run(checkpoint, changes):
    arguments = {
        "task": partial(Rows, d=6),
        "algorithm": algorithms.DFedAvg(eta=0.2, K=2),
        "topology": sp.csr_array(RING),
        "rounds": 2,
        "seeds": 2,
        "progress": False,
    } | changes
    task = arguments.pop("task")
    return train(task=task(), checkpoint=checkpoint, **arguments)


@pytest.mark.drawn(5)
@pytest.mark.parametrize("name", CHANGES)
def test_changed_run_is_rejected_with_the_name_of_the_change(name, tmp_path, caplog):
    change, path = CHANGES[name], tmp_path / "c"
    first_run, same_run = (run(path, change.base) for _ in range(2))
    np.testing.assert_array_equal(first_run.x, same_run.x)
    for rounds in (2, 3):
        with pytest.raises(InputError) as caught:
            run(path, {**change.base, "rounds": rounds, **change.changed})
        message = str(caught.value)
        assert "\n" not in message
        for word in change.words.split():
            assert re.search(rf"\b{word}\b", message), message
    changed = {**change.base, "rounds": 3, **change.changed}
    if not change.can_be_forced:
        with pytest.raises((InputError, DataError)):
            run(Checkpoint(path, force=True), changed)
        return
    history = run(Checkpoint(path, force=True), changed)
    assert history.loss.shape == (2, 4)
    assert "another" in caplog.text
    # the file belongs to the changed run; measurements of another start are kept
    caplog.clear()
    run(Checkpoint(path, force=True), changed)
    assert "another" not in caplog.text


@pytest.mark.parametrize("measure", ["loss", "grad_norm_sq"])
@pytest.mark.parametrize(
    ("distance", "relative", "absolute", "differs"),
    [
        (1.0, 9e-4, 0, False),
        (1.0, -9e-4, 0, False),
        (1.0, 11e-4, 0, True),
        (1.0, -11e-4, 0, True),
        (0.0, 0, 9e-7, False),  # the start is the minimizer, and f* is 0
        (0.0, 0, 11e-7, True),
    ],
)
def test_start_that_is_equal_up_to_rounding_is_accepted(
    measure, distance, relative, absolute, differs, tmp_path
):
    """Another machine may compute it in another order, or in single precision."""
    path = tmp_path / "c"
    task = tasks.quadratic(m=5, d=3, mu=0.2, zeta=0.0, distance=distance, seed=4)
    call = partial(
        train, algorithms.DFedAvg(eta=0.1, K=1), task, RING, 2, checkpoint=path
    )
    whole = call(progress=False)
    tensors, document = storage.read(path, "dfltheory.Checkpoint")
    tensors[f"measure/{measure}"][0] *= 1 + relative
    tensors[f"measure/{measure}"][0] += absolute
    storage.write_tensors(path, tensors, document)
    if differs:
        with pytest.raises(InputError, match=rf"\b{measure} at the start\b"):
            call(progress=False)
    else:
        np.testing.assert_array_equal(call(progress=False).x, whole.x)


@pytest.mark.parametrize("version", [None, 1, 3, "2"])
def test_checkpoint_of_other_random_numbers_is_rejected_by_name(version, tmp_path):
    path = tmp_path / "c"
    run(path, {})
    tensors, document = storage.read(path, "dfltheory.Checkpoint")
    assert document.pop("random_format") == 2
    if version is not None:
        document["random_format"] = version
    storage.write_tensors(path, tensors, document)
    with pytest.raises(InputError, match="random_format"):
        run(path, {})


# -- the identity of a run


class Alternating:
    """A sequence with only the required method: two arguments, no period, no losses."""

    m, random = 5, False

    def __init__(self, dtype=np.float64):
        self.dtype = dtype

    def matrix(self, t, rng):
        return (RING if t % 2 == 0 else np.eye(5)).astype(self.dtype)


class Losses(Alternating):
    needs_losses = True

    def matrix(self, t, rng, losses):
        return RING


def constant(t):
    return RING


def drawn(t, rng):
    return permuted_average(5, rng)


def drawn_until_round_6(t, rng):
    return np.eye(5) if t == 6 else permuted_average(5, rng)


def isolated_at(step):
    """Return a network without links in one gossip step, which is a default value."""

    def network(t, step=step):
        return np.eye(5) if t == step else RING

    return network


NETWORKS = {
    "none": None,
    "ring": RING,
    "other": permuted_average(5, np.random.default_rng(3)),
    "sparse": sp.csr_array(RING),
    "list": [RING, np.eye(5)],
    "function": constant,
    "late": late,
    "gossip step 13": isolated_at(13),
    "gossip step 99": isolated_at(99),
    "random": drawn,
    "late and random": drawn_until_round_6,
    "own": Alternating(),
    "losses": Losses(),
    "matching": RandomMatching(5),
    "failures": LinkFailures(RING, 0.25),
    "fewer failures": LinkFailures(RING, 0.25 - 1e-9),
    "chosen": LossDriven(5, 2),
    "more chosen": LossDriven(5, 3),
}


def identity_of(network=None, algorithm=None):
    x0 = torch.ones(5, 4, dtype=torch.float64).expand(2, 5, 4)
    algorithm = algorithm or algorithms.DFedSAM(eta=0.1, K=1, rho=0.1, Q=2)
    sequences = {} if network is None else {"W": as_sequence(network)}
    return identity(algorithm, Rows(), sequences, x0, rounds=7, seeds=range(2), seed=1)


def test_networks_that_differ_in_any_round_have_different_identities():
    identities = {n: identity_of(W)["network"] for n, W in NETWORKS.items()}
    assert identities == {n: identity_of(W)["network"] for n, W in NETWORKS.items()}
    assert identities["none"] is None
    assert len(set(map(json.dumps, identities.values()))) == len(NETWORKS)


def test_start_is_identified_by_shape_precision_and_bytes():
    assert identity_of()["start"] == value_digest(np.ones((2, 5, 4)))
    assert identity_of()["seeds"] == [0, 1]


def test_identity_of_a_run_contains_every_hyperparameter():
    """Tests all hyperparameters that can take another one of a few values."""
    tried = 0
    for name in algorithms.names():
        kind = algorithms.get(name)
        fields = dataclasses.fields(kind)
        needed = [f for f in fields if f.default is dataclasses.MISSING]
        plain = kind(**{f.name: 2 if "int" in str(f.type) else 0.1 for f in needed})
        for f in fields:
            changed = with_another_value(plain, f.name)
            if changed is not None:
                before, after = (
                    identity_of(algorithm=algorithm)["algorithm"]
                    for algorithm in (plain, changed)
                )
                assert after != before, (name, f.name)
                tried += 1
    assert tried > 100


def with_another_value(algorithm, field):
    """Return the algorithm with another value of a field, or None if none fits."""
    for value in (0.15, 3, 0.9, "half"):
        if value == getattr(algorithm, field):
            continue
        try:
            return dataclasses.replace(algorithm, **{field: value})
        except (TypeError, ValueError):
            continue
    return None
