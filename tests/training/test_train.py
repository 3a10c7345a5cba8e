"""The training loop: shapes, seeds, starts, rejected input, and its record."""

import copy
import pickle
import time
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory import graphs
from dfltheory.constants import ProblemConstants
from dfltheory.errors import DFLTheoryError, DivergenceError
from dfltheory.graphs import LossDriven
from dfltheory.randomness import torch_generator
from dfltheory.tasks import digits, quadratic
from dfltheory.training import History, train
from dfltheory.training.setup import starting_models
from tests.algorithms.problems import Matrices, Rows, permuted_average, ring_matrix

DFEDSAM = alg.DFedSAM(eta=0.02, K=3, rho=0.05, Q=2)


def problem():
    return quadratic(m=6, d=3, L=1.0, mu=0.2, zeta=1.0, sigma=0.3, seed=4)


def test_shapes_start_and_glossary():
    run = train(DFEDSAM, problem(), ring_matrix(6), rounds=7, seeds=3)
    for measure in (run.grad_norm_sq, run.consensus, run.loss):
        assert measure.shape == (3, 8)
    assert run.x.shape == (3, 6, 3)
    assert run.accuracy is None
    values = run.values()
    assert {
        "eta",
        "K",
        "rho",
        "Q",
        "T",
        "m",
        "lam",
        "L",
        "sigma_l",
        "f0_gap",
        "x0_sq",
        "x0_spread",
    } <= set(values)
    assert values["T"] == 7
    assert values["m"] == 6
    assert values["lam"] == pytest.approx(2 / 3)  # 1/3 + 2/3 cos(2 pi / 6)
    task = problem()
    # the default start draws nothing
    start = task.global_loss(task.start(None).unsqueeze(0))
    assert values["f0_gap"] == pytest.approx(float(start[0]) - task.constants.f_star)


def test_same_seed_same_bits_and_another_seed_another_path():
    one, two = (
        train(DFEDSAM, problem(), ring_matrix(6), rounds=5, seeds=2, seed=9)
        for _ in range(2)
    )
    assert one.x.tobytes() == two.x.tobytes()
    assert one.grad_norm_sq.tobytes() == two.grad_norm_sq.tobytes()
    other = train(DFEDSAM, problem(), ring_matrix(6), rounds=5, seeds=2, seed=10)
    assert not np.array_equal(one.x, other.x)


def test_seeds_are_identified_by_their_indices():
    many = train(DFEDSAM, problem(), ring_matrix(6), rounds=3, seeds=4)
    some = train(DFEDSAM, problem(), ring_matrix(6), rounds=3, seeds=(3, 0))
    np.testing.assert_allclose(some.x, many.x[[3, 0]], rtol=0, atol=1e-13)
    for wrong in ([-1], [0, 1.5], [True], []):
        with pytest.raises(
            DFLTheoryError,
            match=r"seed index = .* must be an integer >= 0|at least one",
        ):
            train(DFEDSAM, problem(), ring_matrix(6), rounds=1, seeds=wrong)


def test_a_start_of_another_type_becomes_the_tasks():
    for dtype in (torch.float32, torch.float64):
        task = quadratic(m=6, d=3, seed=4, dtype=dtype)
        for x0 in (
            np.full(3, 0.1),
            torch.full((6, 3), 0.1),
            [1, 2, 3],
            np.array([1, 2, 3]),
        ):
            run = train(DFEDSAM, task, ring_matrix(6), rounds=0, x0=x0)
            assert torch.from_numpy(run.x).dtype == dtype
            np.testing.assert_array_equal(
                run.x[0, 1], torch.as_tensor(x0).to(dtype).expand(6, 3)[1]
            )


def test_a_start_that_is_given_goes_to_the_tasks_device():
    task = SimpleNamespace(m=2, d=3, dtype=torch.float32, device=torch.device("meta"))
    assert starting_models(task, range(1), np.zeros((2, 3)), 0).device == task.device


def test_a_start_that_is_drawn_is_a_function_of_root_and_seed():
    task = digits(m=6, start="fresh")
    run = train(DFEDSAM, task, ring_matrix(6), rounds=0, seeds=[3, 0], seed=8)
    for own, s in zip(run.x, (3, 0), strict=True):
        start = task.start(torch_generator(8, s, 0, "start")).numpy()
        assert start.any()
        np.testing.assert_array_equal(own, np.tile(start, (6, 1)))


@pytest.mark.parametrize("random", [True, False])
def test_a_sequence_is_asked_in_its_rounds_and_not_before(random):
    """Its draws may depend on things that do not exist earlier."""
    network = Matrices(
        [permuted_average(6, np.random.default_rng(s)) for s in range(5)], random=random
    )
    train(alg.DFedAvg(eta=0.1, K=1), problem(), network, rounds=3, seeds=2)
    assert len(network.given) == (6 if random else 3)


def test_common_per_client_and_per_seed_starts():
    task, W = problem(), ring_matrix(6)
    rng = np.random.default_rng(0)
    one, each, full = (
        rng.normal(size=3),
        rng.normal(size=(6, 3)),
        rng.normal(size=(2, 6, 3)),
    )
    for x0 in (one, each, full):
        run = train(DFEDSAM, task, W, rounds=0, seeds=2, x0=x0)
        np.testing.assert_array_equal(run.x, np.broadcast_to(x0, (2, 6, 3)))
        np.testing.assert_allclose(run.x0_sq, (run.x**2).sum(-1).mean(-1))
        spread = ((run.x - run.x.mean(1, keepdims=True)) ** 2).sum(-1).mean(-1)
        np.testing.assert_allclose(run.x0_spread, spread, atol=1e-15)


def test_topologies_that_users_have():
    W = ring_matrix(6)
    paths = [
        train(DFEDSAM, problem(), topology, rounds=3).x
        for topology in (W, nx.cycle_graph(6), [W], lambda t: W, Matrices([W]))
    ]
    for path in paths[1:]:
        np.testing.assert_allclose(path, paths[0], atol=1e-13)


def test_measures_only_when_asked():
    full = train(DFEDSAM, problem(), ring_matrix(6), rounds=7)
    thin = train(DFEDSAM, problem(), ring_matrix(6), rounds=7, evaluate_every=3)
    np.testing.assert_array_equal(thin.rounds_measured, [0, 3, 6, 7])
    np.testing.assert_array_equal(thin.grad_norm_sq, full.grad_norm_sq[:, [0, 3, 6, 7]])


def test_users_metrics():
    def spread(task, models, mean):
        return models.std(dim=1).amax(-1)

    run = train(DFEDSAM, problem(), ring_matrix(6), rounds=2, seeds=2, metrics=[spread])
    assert run.extra["spread"].shape == (2, 3)
    np.testing.assert_allclose(
        run.extra["spread"][:, -1], run.x.std(axis=1, ddof=1).max(-1)
    )
    with pytest.raises(DFLTheoryError, match=r"metrics .*spread"):
        train(DFEDSAM, problem(), ring_matrix(6), rounds=1, metrics=[spread, spread])


def test_callbacks_see_every_round_and_may_stop():
    seen = []

    def stop_at_three(t, state, recorder):
        seen.append(t)
        assert recorder.rounds == list(range(t + 1))
        return t == 3

    run = train(DFEDSAM, problem(), ring_matrix(6), rounds=9, callbacks=[stop_at_three])
    assert seen == [1, 2, 3]
    assert run.stopped_at == 3
    assert repr(run).endswith(f"-> {run.loss[0, 3]:.3g}; stopped at round 3>")
    assert np.isfinite(run.loss[0, :4]).all()
    assert np.isnan(run.loss[0, 4:]).all()
    assert run.diverged_at is None


def test_repr_of_a_history_has_one_line():
    run = train(
        alg.DFedAvg(eta=0.1, K=1),
        problem(),
        ring_matrix(6),
        rounds=4,
        seeds=2,
        evaluate_every=3,
    )
    ends = {
        n: f"{n} {v[:, 0].mean():.3g} -> {v[:, -1].mean():.3g}"
        for n, v in run.measures().items()
    }
    measures = ", ".join(ends[name] for name in ("grad_norm_sq", "consensus", "loss"))
    assert (
        repr(run)
        == f"<History: dfedavg on quadratic, m = 6, 2 seeds, 4 rounds: {measures}>"
    )


def test_divergence_is_said_and_the_history_kept(caplog):
    wild = alg.DFedAvg(eta=100.0, K=3)
    run = train(wild, problem(), ring_matrix(6), rounds=60)
    assert run.diverged_at is not None
    (said,) = caplog.records
    assert said.levelname == "WARNING"  # which Python displays by default
    assert (
        f"dfedavg on quadratic diverged by round {run.diverged_at} of 60"
        in said.getMessage()
    )
    assert repr(run).endswith(
        f"loss {run.loss[0, 0]:.3g} -> {run.loss[0, run.diverged_at]:.3g}"
        f"; diverged by round {run.diverged_at}>"
    )
    assert np.isfinite(run.loss[0, : run.diverged_at]).all()
    assert np.isnan(run.loss[0, run.diverged_at + 1 :]).all()
    with pytest.raises(
        DivergenceError, match=r"dfedavg .*quadratic .*\d+ of 60"
    ) as caught:
        train(wild, problem(), ring_matrix(6), rounds=60, on_divergence="raise")
    assert isinstance(caught.value.history, History)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds": -1}, "rounds = -1 must be an integer >= 0"),
        ({"rounds": 2.5}, "rounds = 2.5 must be an integer >= 0"),
        ({"seeds": 0}, "seeds = 0 must be an integer >= 1"),
        ({"seeds": 10**6 + 1}, "seeds = 1000001: at most 1000000 runs are batched"),
        ({"seeds": [1, 1]}, "must be distinct indices"),
        ({"evaluate_every": 0}, "evaluate_every = 0 must be an integer >= 1"),
        (
            {"topology": ring_matrix(5)},
            "the topology has 5 clients, but the task has 6",
        ),
        ({"topology": None}, "DFedSAM needs a topology"),
        ({"x0": "here"}, "x0 is a str without numbers"),
        ({"seed": -1}, "seed = -1 must be an integer >= 0"),
        ({"on_divergence": "stop"}, "on_divergence = 'stop' must be mark or raise"),
        ({"callbacks": [3]}, r"callbacks must be a list of functions, not \[3\]"),
        ({"metrics": np.mean}, "metrics must be a list of functions"),
        (
            {"metrics": [lambda task, models, mean: models]},
            r"returned shape .*: return one number for each seed",
        ),
        ({"x0": np.zeros((2, 6, 3))}, r"x0 has shape \(2, 6, 3\)"),
        ({"x0": np.full(3, np.nan)}, "x0 has an entry that is not finite"),
        ({"x0": np.full(3, 1j)}, "x0 is complex: use real numbers"),
    ],
)
def test_bad_input_is_rejected_in_one_line(change, words):
    arguments = {"topology": ring_matrix(6), "rounds": 2} | change
    with pytest.raises(DFLTheoryError, match=words) as caught:
        train(DFEDSAM, problem(), **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("algorithm", "task", "words"),
    [
        (
            alg.DFedSAM,
            None,
            "algorithm = DFedSAM must be an Algorithm with its hyperparameters",
        ),
        (
            "dfedsam",
            None,
            "algorithm = 'dfedsam' must be an Algorithm with its hyperparameters",
        ),
        (DFEDSAM, np.eye(6), "task is a ndarray, not a task: tasks.Supervised"),
    ],
)
def test_parts_of_the_wrong_kind(algorithm, task, words):
    with pytest.raises(DFLTheoryError, match=words) as caught:
        train(algorithm, problem() if task is None else task, ring_matrix(6), rounds=1)
    assert "\n" not in str(caught.value)


def test_train_rejects_an_invalid_checkpoint_argument():
    with pytest.raises(DFLTheoryError, match=r"checkpoint = 3"):
        train(DFEDSAM, problem(), ring_matrix(6), rounds=3, checkpoint=3)


def test_a_path_is_a_checkpoint(tmp_path):
    whole = train(
        DFEDSAM, problem(), ring_matrix(6), rounds=3, checkpoint=tmp_path / "run"
    )
    assert (tmp_path / "run").exists()
    again = train(
        DFEDSAM, problem(), ring_matrix(6), rounds=3, checkpoint=str(tmp_path / "run")
    )
    assert again.x.tobytes() == whole.x.tobytes()


def test_a_run_over_a_network_without_constants_can_be_stored(tmp_path):
    # client 5 never sends: push-sum has no constants there
    one_way = np.triu(np.ones((6, 6)))
    run = train(alg.SGP(eta=0.01), problem(), one_way / one_way.sum(0), rounds=2)
    back = History.load(run.save(tmp_path / "run"))
    assert back.network.known() == {"m": 6}


def test_constants_are_computed_only_when_needed(tmp_path):
    """Some tasks have to estimate them, which takes longer than training."""
    asked = []

    class Costly(Rows):
        @property
        def constants(self):
            asked.append(1)
            return ProblemConstants(L=3.0, f_star=0.0)

    run = train(DFEDSAM, Costly(m=6), ring_matrix(6), rounds=2)
    run.to_frame()
    assert not hasattr(run, "nothing")
    assert not asked
    assert run.constants.L == 3.0
    assert run.values()["L"] == 3.0
    assert len(asked) == 1
    run = train(DFEDSAM, Costly(m=6), ring_matrix(6), rounds=2)
    assert History.load(run.save(tmp_path / "run")).constants.L == 3.0
    assert copy.copy(run).constants == pickle.loads(pickle.dumps(run)).constants
    with pytest.raises(AttributeError, match="nothing"):
        run.nothing  # noqa: B018


def test_files_that_are_no_history(tmp_path):
    with pytest.raises(DFLTheoryError, match="is not a file"):
        History.load(tmp_path / "none")
    broken = tmp_path / "broken"
    broken.write_bytes(b"not this")
    with pytest.raises(DFLTheoryError, match="cannot be read"):
        History.load(broken)


@pytest.mark.parametrize(
    "change", [{"rounds": "x"}, {"seed": 1.5}, {"diverged_at": -1}, {"seconds": True}]
)
def test_a_file_whose_numbers_are_none_is_refused_in_one_line(tmp_path, change):
    from dfltheory.training import storage

    path = train(
        alg.DFedAvg(eta=0.1, K=1), quadratic(m=4, d=2), graphs.ring(4), 2
    ).save(tmp_path / "run")
    tensors, document = storage.read(path, "dfltheory.History")
    storage.write_tensors(path, tensors, document | change)
    ((name, value),) = change.items()
    with pytest.raises(DFLTheoryError, match=rf"run: {name} = {value!r}"):
        History.load(path)


def test_history_has_the_seconds_of_the_run():
    begin = time.perf_counter()
    run = train(DFEDSAM, problem(), ring_matrix(6), rounds=3)
    assert 0 < run.seconds < time.perf_counter() - begin


def test_long_work_shows_a_bar(capsys):
    train(DFEDSAM, problem(), ring_matrix(6), rounds=3, progress=True)
    train(DFEDSAM, Rows(m=6), ring_matrix(6), rounds=3, progress=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("every", [1, 4])
def test_divergence_between_measurements_is_reported_for_networks_chosen_by_losses(
    every,
):
    task = quadratic(m=6, d=3, L=1.0, mu=1.0, zeta=1.0, sigma=0.0, seed=0)
    method = alg.DFedSGPSM(eta=1e150, K=2, alpha=0.0, rho=0.0)
    run = train(method, task, LossDriven(6, 2), rounds=8, evaluate_every=every)
    assert run.diverged_at == every
    assert np.isfinite(run.loss[0, 0])


def test_a_topology_may_be_a_name():
    task, algorithm = quadratic(m=6, d=2), alg.DFedAvg(eta=0.1, K=2)
    for name, network in [
        ("random-matching", graphs.RandomMatching(6)),
        ("ring", graphs.ring(6)),
    ]:
        named, made = (
            train(algorithm, task, W, rounds=3, seeds=2) for W in (name, network)
        )
        np.testing.assert_array_equal(named.consensus, made.consensus)
        assert named.consensus[:, -1].min() > 0
    for wrong, line in [("rign", "did you mean"), ("client_sampling", "needs k")]:
        with pytest.raises(DFLTheoryError, match=line):
            train(algorithm, task, wrong, rounds=3)
