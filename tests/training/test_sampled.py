"""If a server samples clients, only these work, and the run is the same as if all had
worked.
"""

from dataclasses import fields

import numpy as np
import pytest

import dfltheory.algorithms as alg
from dfltheory.training import train
from tests.training.test_supervised import build

SERVER = {
    cls.__name__.lower(): cls(
        **(
            {"eta": 0.1, "K": 3}
            if "eta" in {f.name for f in fields(cls)}
            else {"eta_u": 0.1, "eta_v": 0.2, "K_u": 2, "K_v": 3}
        ),
        participation=0.5,
    )
    for cls in (
        alg.FedAvg,
        alg.FedSAM,
        alg.FedPer,
        alg.FedRep,
        alg.FedBABU,
        alg.FedRoD,
        alg.Ditto,
    )
}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", SERVER)
@pytest.mark.parametrize("case", ["mlp", "convolution"])
def test_a_seed_alone_leaves_the_others_out_and_takes_the_same_course(
    name, case, monkeypatch
):
    """Several seeds sample different clients, so all at once skip no client; the
    trajectories agree.
    """
    task = build(case)
    together = train(SERVER[name], task, rounds=4, seeds=2, seed=5)
    with monkeypatch.context() as patched:
        patched.setattr(type(task), "chunk", lambda self, seeds: None)
        np.testing.assert_allclose(
            train(SERVER[name], task, rounds=4, seeds=2, seed=5).x,
            together.x,
            rtol=1e-9,
            atol=1e-12,
        )
    for s in (0, 1):
        alone = train(SERVER[name], task, rounds=4, seeds=[s], seed=5)
        np.testing.assert_allclose(alone.x[0], together.x[s], rtol=1e-9, atol=1e-12)


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    ("share", "clients"), [(0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4)]
)
@pytest.mark.parametrize("most", [1, 2, 100])
def test_only_those_that_were_sampled_are_asked_for_gradients(
    share, clients, most, monkeypatch
):
    """At most ``most`` of them at a time."""
    task, asked = build("mlp"), []
    plain = type(task).gradient

    def counted(self, x, batch=None):
        if batch is not None:
            asked.append(x.shape[1])
        return plain(self, x, batch)

    monkeypatch.setattr(type(task), "gradient", counted)
    monkeypatch.setattr(type(task), "chunk", lambda self, seeds: most)
    train(alg.FedAvg(eta=0.1, K=3, participation=share), task, rounds=5)
    assert sum(asked) == 5 * 3 * clients  # of four, three steps a round
    assert max(asked) == min(most, clients)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", SERVER)
@pytest.mark.parametrize("case", ["mlp", "convolution"])
def test_sampled_clients_several_at_a_time_work_as_one_at_a_time(
    name, case, monkeypatch
):
    task = build(case)
    models = {}
    for most in (1, 2, 100):
        monkeypatch.setattr(type(task), "chunk", lambda self, seeds, n=most: n)
        models[most] = train(SERVER[name], task, rounds=4, seeds=2, seed=5).x
    for most in (2, 100):
        np.testing.assert_allclose(models[most], models[1], rtol=1e-9, atol=1e-12)
