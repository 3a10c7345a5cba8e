"""The rational verifier: its rounds, constants and both sides, compared with the core
and with hand calculations.
"""

import dataclasses
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import cli
from dfltheory.algorithms import DFedADMMSAM, DFedSAM, DFedSGPSM
from dfltheory.counterexamples import rational
from dfltheory.counterexamples.problems import RampTask
from dfltheory.counterexamples.rational import verify_rationally
from dfltheory.errors import InputError
from dfltheory.graphs import cited_constants

FILE = (
    Path(__file__).parents[2]
    / "docs"
    / "counterexamples"
    / "dfedsam.theorem_4_5-printed.json"
)
PRINTED = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
CORRECTED = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")


def instance_document(task, algorithm, W, x0, T):
    """Return an instance as stored in its document."""
    run = {"rounds": T, "x0": [[x] for x in x0]}
    return {"task": task, "algorithm": algorithm, "topology": {"matrix": W}, "run": run}


def trap(eta=0.002, K=5, T=10**9, **changed):
    task = {"sigma": 0.0, "left": [0.0] * 2}
    task |= {
        "knots": [[-1.0, 0.0]] * 2,
        "widths": [[1.0, 1.0]] * 2,
        "slopes": [[1.0, -1.0]] * 2,
    }
    algorithm = {
        "name": "dfedsam",
        "eta": eta,
        "K": K,
        "rho": 1.0,
        "Q": 1,
        "decay": 1.0,
    }
    whole = {
        "task": task,
        "algorithm": algorithm,
        "W": [[0.5, 0.5], [0.5, 0.5]],
        "x0": [0.0, 0.0],
        "T": T,
    }
    return instance_document(**whole | changed)


def test_the_trap_of_sam_is_what_one_computes_by_hand():
    seen = verify_rationally(trap(), PRINTED)
    assert seen.left == 1
    eta, K = Fraction(1, 500), 5
    # L = rho = 1, f0_gap = 1/2, lam = sigma_g = 0
    D = eta * K - 6 * eta**2 * K - 32 * eta**3 * K**2
    inner = (
        2
        * K
        * (4 * K**3 * eta**2 + 8 * K * eta**2 * (2 * K - 1) + 1)
        / Fraction(2 * K - 1)
    )
    sharpness = K * eta * (inner + eta) / (2 * D)
    V = 2 * K * (4 * K**3 / Fraction(2 * K - 1) + 8 * K) + Fraction(2 * K) / (
        eta**2 * (2 * K - 1)
    )
    # m^(2-2Q) and 1 of the graph
    consensus = 2 * K * eta**4 * V * (16 * K * eta + 3) / D
    assert seen.right == 2 * Fraction(1, 2) / (10**9 * D) + sharpness + consensus
    assert seen.left > seen.right
    assert "the state repeats" in seen.why


def test_verify_does_not_refute_a_true_theorem():
    seen = verify_rationally(trap(), CORRECTED)
    assert seen.left <= seen.right
    assert seen.right > Fraction(606, 271)  # of L^2 rho^2 = 1


@pytest.mark.drawn(4)
@pytest.mark.parametrize("rho", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_its_rounds_and_constants_are_those_of_the_core(seed, rho):
    rng = np.random.default_rng(seed)
    task = {
        "knots": rng.normal(size=(2, 3)),
        "widths": rng.uniform(0.1, 1, (2, 3)),
        "slopes": rng.normal(size=(2, 3)),
    }
    task = {
        n: [[float(f"{v:.4g}") for v in row] for row in rows]
        for n, rows in task.items()
    }
    ends = [
        max(0.0, -sum(w * s for w, s in zip(*rows, strict=True)))
        for rows in zip(task["widths"], task["slopes"], strict=True)
    ]
    task["widths"] = [[*row, 1.0] for row in task["widths"]]
    task["knots"] = [[*row, 2.0] for row in task["knots"]]
    task["slopes"] = [
        [*row, float(f"{end + 1:.4g}")]
        for row, end in zip(task["slopes"], ends, strict=True)
    ]
    task["left"] = [-0.1, -0.2]
    W, x0 = [[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5]
    core = dfl.train(
        DFedSAM(0.03, 2, rho, 2),
        RampTask(**task),
        np.array(W),
        rounds=6,
        x0=np.array(x0)[:, None],
    )
    algorithm = {"name": "dfedsam", "eta": 0.03, "K": 2, "rho": rho, "Q": 2}
    instance = instance_document(task, algorithm, W, x0, 5)
    loose = dataclasses.replace(CORRECTED, conditions=())
    seen = verify_rationally(instance, loose)
    assert float(seen.left) == pytest.approx(core.grad_norm_sq[0, :5].mean(), rel=1e-10)
    known = core.constants
    values = {
        "L": known.L,
        "sigma_g": known.sigma_g,
        "f0_gap": core.loss[0, 0] - known.f_star,
    }
    for name, value in values.items():
        assert float(seen.values[name]) == pytest.approx(value, rel=1e-9), name
    bound = loose.evaluate(
        where="ignore", **{n: float(v) for n, v in seen.values.items()}
    )
    assert float(seen.right) == pytest.approx(bound, rel=1e-12)
    least = verify_rationally(instance, dataclasses.replace(PRINTED, conditions=()))
    assert float(least.left) == pytest.approx(
        core.grad_norm_sq[0, 1:6].min(), rel=1e-10
    )


@pytest.mark.parametrize(
    "algorithm", [DFedADMMSAM(0.02, 3, 0.05, 0.3), DFedSGPSM(0.02, 3, 0.7, 0.3)]
)
def test_duals_and_momentum_take_the_steps_of_the_core(algorithm):
    key = "dfedadmm.theorem_1" if hasattr(algorithm, "lam") else "dfedsgpsm.theorem_1"
    theorem = dataclasses.replace(dfl.bounds.get(key, "printed"), conditions=())
    task = {
        "knots": [[-3.0], [-2.0]],
        "widths": [[5.0], [6.0]],
        "slopes": [[1.0], [0.5]],
        "left": [-2.0, -1.0],
    }
    W, x0 = [[0.75, 0.25], [0.25, 0.75]], [1.5, 1.5]
    core = dfl.train(
        algorithm, RampTask(**task), np.array(W), rounds=6, x0=np.array(x0)[:, None]
    )
    hyperparameters = {
        f.name: getattr(algorithm, f.name) for f in dataclasses.fields(algorithm)
    }
    instance = instance_document(
        task, {"name": type(algorithm).__name__.lower(), **hyperparameters}, W, x0, 6
    )
    seen = verify_rationally(instance, theorem)
    data = core.measures()[theorem.lhs.measure][0][:6]
    assert float(seen.left) == pytest.approx(data.mean(), rel=1e-10)
    constants = {
        "L": 1.0,
        "B": 3.0,
        "T": 6.0,
        "f0_gap": core.loss[0, 0] - core.constants.f_star,
    }
    for name, value in constants.items():
        assert float(seen.values[name]) == pytest.approx(value, rel=1e-9), name
    values = {n: float(v) for n, v in seen.values.items()}
    assert float(seen.right) == pytest.approx(
        theorem.evaluate(where="ignore", **values), rel=1e-12
    )
    if key.startswith("dfedsgpsm"):
        assert seen.values["x0_sq"] == Fraction(9, 4)
        # the constants of the cited lemma, which are larger than those of W
        cited = cited_constants(np.array(W))
        assert float(seen.values["C"]) == pytest.approx(cited.C, rel=1e-5)
        assert float(seen.values["q"]) == pytest.approx(1 - cited.one_minus_q, rel=1e-5)
        assert seen.values["q"] > Fraction(1, 2)


def test_of_a_mean_rounds_that_are_not_computed_count_as_nothing(monkeypatch):
    monkeypatch.setattr(rational, "MOST_ROUNDS", 3)
    mean = dataclasses.replace(CORRECTED, conditions=())
    algorithm = {"name": "dfedsam", "eta": 0.1, "K": 1, "rho": 0.0, "Q": 1}
    moving = {"x0": [0.5, 0.5], "T": 100, "algorithm": algorithm}
    task = {
        "knots": [[-1.0]] * 2,
        "widths": [[2.0]] * 2,
        "slopes": [[1.0]] * 2,
        "left": [-1.0] * 2,
        "sigma": 0,
    }
    short = verify_rationally(trap(**moving | {"task": task, "T": 4}), mean)
    long = verify_rationally(trap(**moving | {"task": task}), mean)
    assert long.left == short.left * 4 / 100
    assert "count as 0" in long.why
    least = verify_rationally(
        trap(**moving | {"task": task}), dataclasses.replace(PRINTED, conditions=())
    )
    assert (least.left, "count as 0" in least.why) == (0, True)


FOLDER = Path(__file__).parents[2] / "docs" / "counterexamples"


def fractions_are_due(path):
    """Return whether a finding is a refutation with constants."""
    outcome = json.loads(path.read_text())
    return outcome["violated"] and outcome.get("instance")


EXACT = sorted(path.name for path in FOLDER.glob("*.json") if fractions_are_due(path))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", EXACT)
def test_every_committed_refutation_with_constants_is_one_in_rational_numbers_too(
    name, capsys
):
    document = json.loads((FOLDER / name).read_text())
    seen = verify_rationally(
        document["instance"], dfl.bounds.get(document["key"], document["variant"])
    )
    assert seen.left > seen.right
    if "count as 0" not in seen.why:
        assert float(seen.left / seen.right) == pytest.approx(
            document["ratio"], rel=2e-3
        )
    first, second = document["instance"]["run"]["x0"]
    assert first == second  # a common start
    if name == FILE.name:
        assert cli.run(["falsify", "--replay", str(FILE), "--exact"]) == 1
        assert str(seen.left) in capsys.readouterr().out


def test_clients_that_meet_again_are_not_extrapolated_as_separating(monkeypatch):
    monkeypatch.setattr(rational, "MOST_ROUNDS", 40)
    document = json.loads(FILE.read_text())["instance"]
    # they swap sides in every round
    back = document | {"topology": {"matrix": [[0.1, 0.9], [0.9, 0.1]]}}
    seen = verify_rationally(back, PRINTED)
    assert seen.left == 0
    assert "count as 0" in seen.why


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x0": [0.0, 1.0]}, "common start"),
        ({"x0": [0.0]}, "two clients"),
        (
            {"algorithm": {"name": "dfedpd", "eta": 0.1, "K": 1, "lam": 1.0}},
            "two clients",
        ),
        (
            {"algorithm": {"name": "dfedsam", "eta": 0.1, "K": 5, "rho": 1.0, "Q": 1}},
            "fails by",
        ),
        ({"task": trap()["task"] | {"sigma": 1.0}}, "no noise"),
        pytest.param(
            {"task": trap()["task"] | {"left": [0.5, 0.5]}},
            "unbounded below",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_verify_rejects_other_instances_in_one_line(change, words):
    with pytest.raises(InputError, match=words):
        verify_rationally(trap(**change), CORRECTED)


@pytest.mark.slow  # quickly: in test_architecture.py
def test_the_verifier_does_not_import_torch():
    code = (
        "import sys, dfltheory.counterexamples.rational; sys.exit('torch' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
