"""``History.from_measurements``: stated values, unknown values, and rejected input."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory.constants import ProblemConstants
from dfltheory.errors import DFLTheoryError, InputError

ALGORITHM = dfl.algorithms.DFedAvg(eta=0.01, K=3)
W = dfl.graphs.metropolis(dfl.graphs.ring(4))
VALUES = np.array([[3.0, 2.0, 1.0], [4.0, 2.0, 0.5]])


def record(*arguments, **changes):
    given = {"algorithm": ALGORITHM, "network": W} | changes
    if not arguments and not {"grad_norm_sq", "loss", "f_gap"} & set(given):
        arguments = (VALUES,)
    return dfl.History.from_measurements(*arguments, **given)


def test_columns_are_rounds_from_the_start_and_last_one_is_the_horizon():
    run = record()
    assert run.rounds_measured.tolist() == [0, 1, 2]
    assert (run.rounds, run.seeds, run.m) == (2, 2, 4)
    later = record(rounds=[0, 5, 10], constants={"T": 12})
    assert (later.rounds_measured.tolist(), later.rounds) == ([0, 5, 10], 12)


@pytest.mark.parametrize("kind", [list, tuple, torch.tensor, np.array])
def test_one_seed_may_be_a_vector_of_any_kind(kind):
    run = record(grad_norm_sq=kind([3.0, 2.0, 1.0]))
    np.testing.assert_array_equal(run.grad_norm_sq, [[3.0, 2.0, 1.0]])


def test_measures_are_those_given_and_no_others():
    run = record(loss=VALUES, my_metric=VALUES + 1, accuracy=VALUES / 10)
    assert run.measures().keys() == {"loss", "accuracy", "my_metric"}
    assert set(run.to_frame()["measure"]) == {"loss", "accuracy", "my_metric"}
    assert "grad_norm_sq" not in repr(run)


def test_nothing_that_is_not_stated_is_among_the_values():
    run = record(network=None)
    known = {"T", "eta", "K", "Q", "rho", "alpha"}
    assert set(run.values()) <= known
    assert run.m == 0
    assert run.network_facts is None
    assert run.facts.common_start is None
    assert "unknown" in repr(run)


def test_constants_are_known_by_their_glossary_names():
    run = record(constants={"L": 2.0, "f0_gap": 3.0, "x0_sq": 5.0, "m": 4})
    values = run.values()
    assert (values["L"], values["f0_gap"], values["x0_sq"]) == (2.0, 3.0, 5.0)
    assert values["lam"] == pytest.approx(dfl.graphs.spectral_report(W).lam)
    assert run.constants.standing_of("L") == "bound"
    estimate = ProblemConstants(L=2.0, standing={"L": "estimate"})
    assert record(constants=estimate).constants is estimate


def test_network_constants_are_stated_only_without_a_network():
    values = record(network=None, constants={"lam": 0.5, "m": 9}).values()
    assert (values["lam"], values["m"]) == (0.5, 9)
    with pytest.raises(InputError, match="lam"):
        record(constants={"lam": 0.5})
    with pytest.raises(InputError, match="m"):
        record(constants={"m": 5})


@pytest.mark.parametrize(
    ("start", "consensus", "common"),
    [
        ("common", None, True),
        ("different", None, False),
        ({"x0_spread": 0.0}, None, True),
        ({"x0_spread": 2.0}, None, False),
        (None, [[0.0, 1.0, 1.0]], True),
        (None, [[2.0, 1.0, 1.0]], None),
        (None, None, None),
    ],
)
def test_start_is_common_only_if_that_is_stated_or_measured(start, consensus, common):
    measures = {"grad_norm_sq": VALUES[:1]}
    if consensus is not None:
        measures["consensus"] = consensus
    run = record(start=start, **measures)
    assert run.facts.common_start is common


def test_start_is_measured_by_models_and_consensus_of_round_0():
    run = record(model_sq=VALUES, consensus=VALUES / 2, grad_norm_sq=VALUES)
    np.testing.assert_array_equal(run.x0_sq, VALUES[:, 0])
    np.testing.assert_array_equal(run.x0_spread, VALUES[:, 0] / 2)
    late = record(model_sq=VALUES, grad_norm_sq=VALUES, rounds=[1, 2, 3])
    assert np.isnan(late.x0_sq).all()


def test_gap_follows_from_loss_and_f_star_or_is_measured():
    by_loss = record(loss=VALUES, constants={"f_star": 0.25})
    np.testing.assert_allclose(by_loss.f0_gap, VALUES[:, 0] - 0.25)
    measured = record(f_gap=VALUES)
    np.testing.assert_array_equal(measured.f0_gap, VALUES[:, 0])
    assert record(loss=VALUES).f0_gap is None


def test_gap_and_distance_of_the_start_are_stated_of_measures_at_late_rounds():
    stated = {"f0_gap": 9.0, "x_star_sq": 9.0}
    late = record(f_gap=VALUES, dist_sq=VALUES, constants=stated, rounds=[1, 2, 3])
    assert {name: late.values()[name] for name in stated} == stated


def test_saved_record_is_read_back_equal(tmp_path):
    runs = [
        record(),
        record(network=None, loss=VALUES, own=VALUES, constants={"f0_gap": 3.0}),
        record(grad_norm_sq=VALUES, model_sq=VALUES, start="common"),
    ]
    for k, run in enumerate(runs):
        loaded = dfl.History.load(run.save(tmp_path / f"{k}.safetensors"))
        assert loaded == run
        assert loaded.stated == run.stated
        assert loaded.values() == run.values()


def test_names_and_hyperparameters_make_the_algorithm():
    by_name = record(algorithm="dfedavg", hyperparameters={"eta": 0.01, "K": 3})
    assert by_name.algorithm == ALGORITHM


@pytest.mark.parametrize(
    ("name", "given", "lacking"),
    [
        ("dfedavg", {"K": 3}, "eta"),
        ("dfedsam", {"eta": 0.1, "K": 3}, "rho"),
        ("dpsgd", {"eta": 0.1}, "order"),
    ],
)
def test_defaults_that_choose_a_mechanism_are_not_assumed(name, given, lacking):
    with pytest.raises(InputError, match=lacking):
        record(algorithm=name, hyperparameters=given)


BAD = {
    "nan": {"grad_norm_sq": [[1.0, np.nan]]},
    "infinite": {"loss": [[1.0, np.inf]]},
    "negative square": {"grad_norm_sq": [[1.0, -1.0]]},
    "text": {"loss": "low"},
    "three axes": {"loss": np.ones((1, 2, 3))},
    "empty": {"loss": np.ones((2, 0))},
    "two shapes": {"loss": np.ones((2, 3)), "f_gap": np.ones((3, 2))},
    "no measure": {"grad_norm_sq": None},
    "rounds too short": {"rounds": [0, 1]},
    "rounds repeat": {"rounds": [0, 1, 1]},
    "rounds negative": {"rounds": [-1, 0, 1]},
    "T before the last round": {"constants": {"T": 1}},
    "T no whole number": {"constants": {"T": 2.5}},
    "constant is no number": {"constants": {"L": "1"}},
    "constant is infinite": {"constants": {"L": float("inf")}},
    "constant is negative": {"constants": {"sigma_l": -1.0}},
    "constant of the algorithm": {"constants": {"eta": 0.1}},
    "gap measured and stated": {"f_gap": VALUES, "constants": {"f0_gap": 1.0}},
    "start unknown word": {"start": "equal"},
    "start unknown fact": {"start": {"x0": 0.0}},
    "start negative": {"start": {"x0_sq": -1.0}},
    "start twice": {"start": {"x0_sq": 1.0}, "constants": {"x0_sq": 1.0}},
    "start contradicts": {"start": {"x0_sq": 1.0}, "model_sq": VALUES},
    "common contradicts": {
        "start": "common",
        "consensus": VALUES,
        "model_sq": VALUES,
    },
    "unweighted graph": {"network": nx.path_graph(4)},
    "name of a network": {"network": "ring"},
    "no network": {"network": 3},
    "ragged network": {"network": [[1.0, 2.0], [3.0]]},
    "rounds is a number": {"rounds": 3},
    "constants are no mapping": {"constants": 3},
    "constant without a name": {"constants": {3: 1.0}},
    "constant beyond floats": {"constants": {"L": 10**400}},
    "too many clients": {"network": None, "constants": {"m": 2**62}},
    "hyperparameters are no mapping": {
        "algorithm": "dfedavg",
        "hyperparameters": 3,
    },
    "hyperparameter is text": {
        "algorithm": "dfedavg",
        "hyperparameters": {"eta": "x", "K": 1},
    },
    "precision is a list": {"precision": ["float64"]},
    "precision": {"precision": "double"},
    "class": {"algorithm": dfl.algorithms.DFedAvg},
    "algorithm": {"algorithm": "dfedavgg", "hyperparameters": {}},
    "hyperparameters twice": {"hyperparameters": {"eta": 1.0}},
    "server with network": {"algorithm": dfl.algorithms.LocalSGD(eta=0.1, K=2)},
}


@pytest.mark.parametrize("case", BAD)
def test_bad_statement_is_refused_with_an_input_error(case):
    changes = BAD[case]
    with pytest.raises(DFLTheoryError) as refused:
        record(**changes)
    assert "\n" not in str(refused.value)


FLAT = [[1.0, 1.0, 1.0]]
FALLING = [[5.0, 3.0, 1.0]]
CONTRADICTIONS = {
    "f0_gap": {"loss": FALLING, "constants": {"f0_gap": 0.01}},
    "B": {"grad_norm_sq": FLAT, "constants": {"B": 0.1}},
    "f_gap": {
        "loss": [[5.0, 4.0, 4.0]],
        "f_gap": [[0.1, 0.05, 0.05]],
        "constants": {"f_star": 0.0},
    },
    "f_star": {"loss": [[1.0, 0.5, 0.2]], "constants": {"f_star": 0.9}},
    "f - f* = -3": {"f_gap": [[-3.0, 0.1, 0.1]]},
    "L = 1": {
        "grad_norm_sq": [[100.0] * 3],
        "constants": {"f0_gap": 0.01, "L": 1.0, "x0_sq": 1.0},
    },
    "L = 1:": {
        "grad_norm_sq": [[1.0, 1.0, 9.0]],
        "loss": FLAT,
        "model_sq": FLAT,
        "constants": {"f_star": 0.0, "L": 1.0},
    },
    "mu = 0.5": {
        "grad_norm_sq": [[1.0, 1.0, 0.1]],
        "loss": FLAT,
        "model_sq": FLAT,
        "constants": {"f_star": 0.0, "L": 4.0, "mu": 0.5},
    },
    "mu": {"grad_norm_sq": FLAT, "constants": {"L": 1.0, "mu": 10.0}},
    "model_sq": {"consensus": [[0.0, 9.0, 9.0]], "model_sq": FLAT},
    "independent": {
        "grad_norm_sq": [[2.0, 2.9, 3.1]] * 2 + [[2.0, 2.7, 3.0]],
        "constants": {"sigma_l": 5.0},
    },
}


@pytest.mark.parametrize("named", CONTRADICTIONS)
def test_statements_that_contradict_each_other_are_refused(named):
    parts = CONTRADICTIONS[named]
    with pytest.raises(InputError) as refused:
        stated(**parts)
    assert named in str(refused.value)
    # estimates may be inaccurate
    constants = dict(parts.get("constants", {}))
    if "B" in constants:
        estimate = ProblemConstants(**constants, standing={"B": "estimate"})
        stated(**parts | {"constants": estimate})


def stated(**parts):
    description = {"algorithm": "DFedAvg", "hyperparameters": {"eta": 0.1, "K": 1}}
    return dfl.History.from_measurements(**description | parts)


def test_statements_that_agree_are_accepted():
    stated(loss=FALLING, constants={"f0_gap": 4.0})
    stated(grad_norm_sq=FLAT, constants={"B": 1.0})
    stated(loss=FALLING, f_gap=[[4.5, 2.5, 0.5]], constants={"f_star": 0.5})
    stated(
        grad_norm_sq=FLAT,
        loss=FLAT,
        model_sq=FLAT,
        constants={"f_star": 0.5, "L": 1.0, "mu": 1.0},
    )
    stated(consensus=FLAT, model_sq=FLAT)


def test_upper_bound_of_the_gap_does_not_contradict_strong_convexity():
    parts = {"grad_norm_sq": FLAT, "model_sq": FLAT}
    stated(**parts, constants={"f0_gap": 10.0, "L": 1.0, "mu": 0.5})
    below = ProblemConstants(
        f_star=-9.0, L=1.0, mu=0.5, standing={"f_star": "bound", "L": "bound"}
    )
    stated(**parts, loss=FLAT, constants=below)


def test_seeds_without_noise_or_from_one_start_may_be_equal():
    stated(grad_norm_sq=FLAT * 3, constants={"sigma_l": 0.0})
    stated(grad_norm_sq=FLAT * 3)
    stated(grad_norm_sq=[[1.0]] * 3, constants={"sigma_l": 5.0})
    stated(
        accuracy=[[0.1, 0.5]] * 2,
        loss=[[1.0, 0.5], [1.0, 0.4]],
        constants={"sigma_l": 5.0},
    )


@pytest.mark.parametrize("precision", ["float64", "float32", "float16"])
def test_rounding_is_no_contradiction(precision):
    eps = torch.finfo(getattr(torch, precision)).eps
    loss = np.array([[1.0, 0.75, 0.5]])
    stated(loss=loss, constants={"f_star": 0.5 * (1 + 8 * eps)}, precision=precision)
    stated(
        grad_norm_sq=2 * (loss - 0.5) * (1 + 8 * eps),
        loss=loss,
        model_sq=loss,
        constants={"f_star": 0.5, "L": 1.0},
        precision=precision,
    )
