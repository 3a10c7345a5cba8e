"""Verdicts on measurements of other code: the same as on a trained run, with exact
lists of what is missing, and no violation due to rounding.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import plots
from dfltheory.bounds import GLOSSARY
from dfltheory.bounds.theorem_file import theorem_file_template
from dfltheory.errors import InputError
from dfltheory.verdicts import unknown_sizes
from dfltheory.verdicts.run_sizes import run_sizes
from dfltheory.verdicts.run_values import run_values
from tests.verdicts.statements import AVERAGE, TO_LAST, statement

M, D = 6, 3
W = dfl.graphs.metropolis(dfl.graphs.ring(M))
TASK = dfl.tasks.quadratic(m=M, d=D, zeta=0.3, sigma=0.2, seed=1)
KEY = "dfedsam.theorem_4_5"
ALGORITHMS = {
    "dfedavg": dfl.algorithms.DFedAvg(eta=0.01, K=3),
    "dfedsam": dfl.algorithms.DFedSAM(eta=0.01, K=2, rho=0.01),
    "dpsgd": dfl.algorithms.DPSGD(eta=0.02, order="adapt-then-combine"),
}


def constants_of(task):
    known = task.constants.known()
    return {name: v for name, v in known.items() if np.isfinite(v) and name != "B"}


def recorded_again(run, **changes):
    """Return the measurements of a run, as if other code had recorded them."""
    given = {
        "algorithm": run.algorithm,
        "network": W,
        "constants": constants_of(TASK),
        "start": "common",
        **{name: v for name, v in run.measures().items() if name != "sent_bits"},
        "model_sq": run.model_sq,
    }
    given |= changes
    return dfl.History.from_measurements(
        **{name: value for name, value in given.items() if value is not None}
    )


@pytest.fixture(scope="module")
def runs():
    return {
        name: dfl.train(algorithm, TASK, W, rounds=40, seeds=6, progress=False)
        for name, algorithm in ALGORITHMS.items()
    }


@pytest.mark.parametrize("name", ALGORITHMS)
def test_measurements_of_a_run_get_the_verdict_of_the_run(runs, name):
    run = runs[name]
    again = recorded_again(run)
    compared = 0
    for variant in dfl.bounds.variants(KEY):
        expected = dfl.compare(run, KEY, variant=variant)
        verdict = dfl.compare(again, KEY, variant=variant)
        assert verdict.kind == expected.kind, variant
        if expected.kind != "not applicable":
            compared += 1
            assert verdict.bound == pytest.approx(expected.bound, rel=1e-9)
            assert verdict.measured.low == pytest.approx(expected.measured.low)
            assert verdict.measured.high == pytest.approx(expected.measured.high)
    assert compared >= 3


def test_verdict_survives_the_file_of_the_record(runs, tmp_path):
    again = recorded_again(runs["dfedavg"])
    loaded = dfl.History.load(again.save(tmp_path / "run.safetensors"))
    for variant in dfl.bounds.variants(KEY):
        expected = str(dfl.compare(again, KEY, variant=variant))
        assert str(dfl.compare(loaded, KEY, variant=variant)) == expected


MISSING = [
    ({}, {"L", "sigma_l", "sigma_g", "f0_gap", "network"}),
    ({"constants": {"L": 1.0, "sigma_l": 0.2}}, {"sigma_g", "f0_gap", "network"}),
    (
        {"network": W, "constants": {"L": 1.0, "sigma_g": 0.3, "f0_gap": 1.0}},
        {"sigma_l"},
    ),
    ({"network": W, "constants": constants_of(TASK)}, {"f0_gap"}),
    (
        {"constants": {"L": 1, "sigma_l": 1, "sigma_g": 1, "f0_gap": 1, "lam": 0.5}},
        {"network"},
    ),
]


@pytest.mark.parametrize(("given", "missing"), MISSING)
@pytest.mark.parametrize("start", ["common", None])
def test_missing_constants_and_facts_are_listed_exactly(runs, given, missing, start):
    run = dfl.History.from_measurements(
        runs["dfedavg"].grad_norm_sq,
        algorithm=ALGORITHMS["dfedavg"],
        start=start,
        **given,
    )
    verdict = dfl.compare(run, KEY, variant="corrected")
    assert verdict.kind == "not applicable"
    listed = verdict.reason.partition(": ")[2]
    names = {part.split()[0] for part in listed.replace("the ", "").split(", ")}
    names &= {*dfl.bounds.get(KEY).glossary, "network", "start"}
    scope = dfl.bounds.get(KEY, variant="corrected").scope
    expected = missing | ({"start"} if start is None and scope.common_start else set())
    assert names == expected


def test_constants_given_to_compare_complete_the_record(runs):
    run = recorded_again(runs["dfedavg"], constants={"L": TASK.constants.L}, loss=None)
    rest = {"sigma_l": 0.2, "sigma_g": 0.3, "f0_gap": 1.0}
    assert dfl.compare(run, KEY, variant="corrected").kind == "not applicable"
    verdict = dfl.compare(run, KEY, variant="corrected", **rest)
    assert verdict.kind in ("holds", "vacuous", "undecided")
    assert verdict.given == rest


def test_definite_obstacle_comes_before_missing_statements():
    run = dfl.History.from_measurements(
        [1.0, 0.5], algorithm=dfl.algorithms.DSGT(eta=0.1)
    )
    reason = dfl.compare(run, KEY).reason
    assert "DSGT" in reason
    other = dfl.History.from_measurements(
        [1.0, 0.5],
        algorithm=dfl.algorithms.DFedAvg(eta=0.1, K=1),
        start="different",
    )
    scope = dfl.bounds.get(KEY, variant="corrected").scope
    different = dfl.compare(other, KEY, variant="corrected").reason
    assert ("same model" in different) == scope.common_start


def test_estimated_constants_are_named_by_the_verdict(runs):
    constants = constants_of(TASK)
    problem = dfl.ProblemConstants(**constants, standing={"sigma_g": "estimate"})
    run = recorded_again(runs["dfedavg"], constants=problem)
    assert dfl.compare(run, KEY, variant="corrected").estimated == ("sigma_g",)


def test_constants_cannot_be_estimated_along_models_that_are_not_recorded(runs):
    again = recorded_again(runs["dfedavg"])
    with pytest.raises(InputError, match="estimate"):
        dfl.compare(again, KEY, constants="estimate", estimate_on=TASK)


def test_figures_are_drawn_as_of_a_trained_run(runs):
    run, again = runs["dfedavg"], recorded_again(runs["dfedavg"])
    theorem = dfl.bounds.get(KEY, variant="corrected")
    for draw in (
        lambda r: dfl.compare(r, theorem).plot(),
        lambda r: plots.tightness(dfl.compare(r, theorem)),
        lambda r: plots.terms(dfl.compare(r, theorem)),
        lambda r: plots.comparison({"run": r}, "grad_norm_sq"),
    ):
        expected = [line.get_ydata() for line in draw(run).get_lines()]
        drawn = [line.get_ydata() for line in draw(again).get_lines()]
        assert len(drawn) == len(expected) > 0
        for own, other in zip(drawn, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-9)
        plt.close("all")


# -- rounding --------------------------------------------------------------------------


def far_run(dtype=np.float32, offset=1e4, rounds=60, eta=0.05):
    """Run gradient descent of identical clients near a minimizer far from 0, where the
    gradient is a rounding error.
    """
    curvature = np.linspace(0.2, 1.0, D).astype(dtype)
    minimizer = np.full(D, offset, dtype=dtype) + np.arange(D).astype(dtype)
    x = minimizer + dtype(1e-3)
    measures = {"grad_norm_sq": [], "model_sq": []}
    for _ in range(rounds + 1):
        gradient = curvature * x - curvature * minimizer
        measures["grad_norm_sq"].append(float((gradient.astype(float) ** 2).sum()))
        measures["model_sq"].append(float((x.astype(float) ** 2).sum()))
        x = (x - dtype(eta) * gradient).astype(dtype)
    return measures


@pytest.mark.parametrize("stated", ["nothing", "model_sq", "x0_sq"])
def test_rounding_of_large_models_accuses_no_true_theorem(tmp_path, stated):
    """Without rounding, f0_gap makes the bound smaller than the errors."""
    path = tmp_path / "mine.toml"
    path.write_text(theorem_file_template(), encoding="utf-8")
    measures = far_run()
    constants = {"L": 1.0, "sigma_l": 0.0, "sigma_g": 0.0, "f0_gap": 1e-9}
    if stated == "x0_sq":
        constants["x0_sq"] = measures["model_sq"][0]
    if stated != "model_sq":
        del measures["model_sq"]
    run = dfl.History.from_measurements(
        algorithm=dfl.algorithms.DPSGD(eta=0.05, order="adapt-then-combine"),
        network=W,
        constants=constants,
        start="common",
        precision="float32",
        **measures,
    )
    verdict = dfl.compare(run, str(path))
    assert verdict.measured.estimate > 10 * verdict.bound
    assert verdict.kind == "undecided"


def false_theorem(folder):
    path = folder / "false.toml"
    text = theorem_file_template().replace("2*f0_gap/(eta*T)", "f0_gap/(10^4*eta*T)")
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("stated", ["nothing", "model_sq", "x0_sq"])
def test_false_theorem_is_refuted_once_the_sizes_of_the_models_are_known(
    tmp_path, stated
):
    measures = far_run(np.float64, offset=1.0)
    constants = {"L": 1.0, "sigma_l": 0.0, "sigma_g": 0.0, "f0_gap": 1e-6}
    if stated == "x0_sq":
        constants["x0_sq"] = measures["model_sq"][0]
    if stated != "model_sq":
        del measures["model_sq"]
    run = dfl.History.from_measurements(
        algorithm=dfl.algorithms.DPSGD(eta=0.05, order="adapt-then-combine"),
        network=W,
        constants=constants,
        start="common",
        **measures,
    )
    verdict = dfl.compare(run, false_theorem(tmp_path))
    assert verdict.kind == ("undecided" if stated == "nothing" else "violated")
    if stated == "nothing":
        assert "model_sq" in verdict.reason


def gossip_cancels_steps():
    """Two clients step in opposite directions and average back to where they were."""
    return dfl.History.from_measurements(
        algorithm=dfl.algorithms.DPSGD(eta=0.1, order="adapt-then-combine"),
        network=np.full((2, 2), 0.5),
        constants={"L": 1.0, "sigma_g": 1.0, "sigma_l": 0.0, "m": 2},
        grad_norm_sq=np.zeros((1, 4)),
        model_sq=np.zeros((1, 4)),
        start="common",
    )


def test_gradient_of_clients_is_not_bounded_by_the_size_of_mixed_models():
    left = dfl.bounds.get("dfedsam.theorem_4_5", "corrected").lhs
    assert run_sizes(gossip_cancels_steps(), left).gradient >= 1.0


def test_unknown_disagreement_does_not_make_the_size_of_models_smaller():
    algorithm = dfl.algorithms.DFedAvg(eta=0.1, K=3)
    given = {
        "algorithm": algorithm,
        "network": W,
        "constants": {"sigma_g": 5.0, "sigma_l": 0.0, "m": M},
        "grad_norm_sq": np.full((1, 4), 9.0),
        "dist_sq": np.ones((1, 4)),
        "start": {"x0_sq": 0.0},
    }
    unknown = dfl.History.from_measurements(**given)
    large = dfl.History.from_measurements(**given, consensus=np.full((1, 4), 1e-4))
    distances = np.ones((1, 4))
    without = unknown_sizes.model_size(unknown, distances, 1.0)
    assert without == unknown_sizes.distance_travelled(unknown, distances, 1.0)
    assert without > unknown_sizes.model_size(large, distances, 1.0) == 2 + 1e-2


def test_stated_bound_of_gradients_is_not_proved():
    """If it were, the interval's upper end would be finite for every distribution."""
    B = GLOSSARY["B"].symbol
    theorem = statement(
        "grad_norm_sq", "min", 0.9 * B**2, rounds=TO_LAST, bounded_gradients=True
    )
    run = dfl.History.from_measurements(
        1e-3 * np.random.default_rng(0).random((200, 5)),
        algorithm="DFedAvg",
        hyperparameters={"eta": 0.1, "K": 1},
        network=AVERAGE,
        constants={"B": 1.0, "sigma_l": 1.0, "L": 1.0, "sigma_g": 0.1, "x0_sq": 1.0},
        start="common",
    )
    assert dfl.compare(run, theorem).method == "student"


def test_a_given_gap_is_taken_as_it_is_where_the_objective_is_unknown(runs):
    again = recorded_again(runs["dfedsam"], loss=None)
    theorem = dfl.bounds.get(KEY, "corrected")
    assert run_values(again, theorem, {"f0_gap": 2.0})["f0_gap"] == 2.0
