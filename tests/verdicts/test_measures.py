"""Left-hand sides other than squared gradients: their sign, their rounding, and invalid
values.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds import GLOSSARY, LeftSide, Scope, Theorem
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.units import ONE
from dfltheory.errors import InputError
from dfltheory.verdicts.hyperparameters import absent_values
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.measures import DERIVED

S = {name: entry.symbol for name, entry in GLOSSARY.items()}
SCOPE = Scope(
    ("DPSGD",),
    "symmetric",
    common_start=True,
    hyperparameters={"order": "combine-then-adapt", "eta": 0.5},
)
RING = dfl.graphs.metropolis(dfl.graphs.ring(4))


def about(measure, bound, aggregate="mean", **changes):
    lhs = LeftSide(
        measure, "X", aggregate, **({"last": S["T"]} if aggregate == "last" else {})
    )
    fields = {"scope": SCOPE, **changes}
    return Theorem(
        "mine.m",
        "printed",
        "theorem",
        "own",
        "here",
        lhs,
        {"all": sp.sympify(bound)},
        **fields,
    )


def run_of(offset=0.0, sigma=0.0, rounds=20, seeds=1, x0=None, **options):
    task = dfl.tasks.Quadratic(
        np.ones((4, 2, 2)) * np.eye(2), np.full((4, 2), offset), noise=sigma, **options
    )
    start = np.full(2, offset + 3.0) if x0 is None else x0
    algorithm = dfl.algorithms.DPSGD(eta=0.5)
    return dfl.train(
        algorithm, task, RING, rounds=rounds, seeds=seeds, x0=start, progress=False
    )


@pytest.mark.parametrize("aggregate", ["mean", "min", "last"])
@pytest.mark.parametrize("sigma", [0.0, 0.1])
def test_a_negative_left_hand_side_is_not_judged(aggregate, sigma):
    run = run_of(sigma=sigma, seeds=8 if sigma else 1)
    run.loss = run.loss - 100
    verdict = dfl.compare(run, about("loss", -50.0, aggregate))
    assert verdict.kind == "not applicable"
    assert "must not be negative" in verdict.reason


def test_nan_measurement_is_reported():
    run = run_of()
    run.loss = np.full_like(run.loss, np.nan)
    assert "not a number" in dfl.compare(run, about("loss", 1.0)).reason


@pytest.mark.parametrize("offset", [1000.1, 1e6])
def test_a_gap_at_the_end_is_not_accused_by_rounding(offset):
    import torch

    run = run_of(offset, rounds=30, dtype=torch.float32)
    # f(x^T) - f* = f0_gap/4^T
    true = about("f_gap", S["f0_gap"] * sp.Rational(36, 100) ** S["T"], "last")
    assert dfl.compare(run, true).kind in ("undecided", "holds")
    assert dfl.compare(run_of(0.0, rounds=5), true).kind == "holds"
    false = about("f_gap", S["f0_gap"] * sp.Rational(1, 5) ** S["T"], "last")
    assert dfl.compare(run_of(0.0, rounds=5), false).kind == "violated"


def test_the_consensus_of_identical_clients_is_zero_up_to_rounding():
    for offset in (0.0, 1000.1):
        assert dfl.compare(run_of(offset), about("consensus", 0.0)).kind != "violated"


def test_different_starts_in_one_flat_direction_are_detected_in_float32():
    import torch

    x0 = np.full((4, 2), 1e6)
    x0[:, 1] = [0.1, -0.1, 0.1, -0.1]
    task = dfl.tasks.Quadratic(
        np.array([np.diag([1e-6, 1.0])] * 4), np.zeros((4, 2)), dtype=torch.float32
    )
    run = dfl.train(
        dfl.algorithms.DPSGD(eta=0.5), task, RING, rounds=3, x0=x0, progress=False
    )
    verdict = dfl.compare(run, about("grad_norm_sq", 1e9))
    assert verdict.kind == "not applicable"
    assert "start at the same model" in verdict.reason


def test_a_neutral_value_counts_for_the_theorem_that_states_it():
    theorem = about("grad_norm_sq", 1.0)
    quantity = Quantity("own_share", "l", ONE, "a share of one's own", neutral=0.25)
    assert absent_values(replace(theorem, quantities=(quantity,)))["own_share"] == 0.25
    assert "own_share" not in absent_values(theorem)


def test_a_quantity_of_a_file_has_no_neutral_value():
    document = theorem_to_document(about("loss", 1.0))
    quantity = {
        "name": "gamma",
        "latex": "g",
        "meaning": "a trap",
        "open_low": False,
        "open_high": False,
        "whole": False,
        "step": False,
        "neutral": 0,
        "low": "0.0",
        "high": "inf",
        "unit": [[0, 1], [0, 1], [0, 1]],
    }
    read = theorem_from_document(
        document | {"quantities": [quantity], "parts": {"all": "gamma"}}
    )
    assert read.glossary["gamma"].neutral is None
    assert "gamma" not in read.neutral


def test_a_formula_of_a_file_is_real():
    document = theorem_to_document(about("loss", 1.0))
    for tree in (["log", -1], ["Mul", "L", ["Pow", -2, ["Rational", 1, 2]]]):
        with pytest.raises(InputError, match="real number"):
            theorem_from_document(document | {"parts": {"all": tree}})


def test_a_file_cannot_forge_a_refutation_of_a_registered_theorem(tmp_path):
    import json
    from pathlib import Path

    from dfltheory.counterexamples import replay
    from dfltheory.errors import DataError

    file = (
        Path(__file__).parents[2]
        / "docs"
        / "counterexamples"
        / "dfedsam.theorem_4_5-printed.json"
    )
    document = json.loads(file.read_text())
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
    tiny = replace(
        theorem, parts={name: part * 1e-9 for name, part in theorem.parts.items()}
    )
    for carried, refused in ((theorem, False), (tiny, True)):
        forged = tmp_path / "forged.json"
        forged.write_text(
            json.dumps(document | {"theorem": theorem_to_document(carried)})
        )
        if refused:
            with pytest.raises(DataError, match="another statement under the name"):
                replay(forged)
        else:
            assert replay(forged).violated


def test_each_round_belongs_to_the_horizon_at_which_it_is_the_last():
    run = run_of(rounds=5)
    expected = {"mean": [1, 2, 3, 4, 5], "last": [5]}
    for aggregate, horizons in expected.items():
        assert (
            LeftHandSide(run, about("loss", 1.0, aggregate)).horizons.tolist()
            == horizons
        )
    # the minimum over 1 <= t <= T
    printed = replace(dfl.bounds.get("dfedsam.theorem_4_5"), scope=SCOPE)
    assert (
        LeftHandSide(run, printed).rounds.tolist()
        == [1, 2, 3, 4, 5]
        == LeftHandSide(run, printed).horizons.tolist()
    )


def test_both_ends_of_rounding_are_away_from_a_gap_by_at_least_its_own_rounding():
    import torch

    reading = LeftHandSide(
        run_of(1e6, rounds=5, dtype=torch.float32), about("f_gap", 1.0)
    )
    eps, size = np.finfo(np.float32).eps, 1e6 * np.sqrt(2)
    shift = (eps * size) ** 2 / 2  # f of a model that is rounded by one unit, L = 1
    assert reading.raised(3.0) >= 3.0 + shift
    assert reading.lowered(3.0) <= 3.0 - shift
    exact = LeftHandSide(run_of(rounds=5), about("f_gap", 1.0))
    assert exact.lowered(3.0) == pytest.approx(3.0, rel=1e-12) == exact.raised(3.0)


@pytest.mark.parametrize("f_star", [1e6, -1e6])
def test_a_gap_of_rounding_is_zero_and_a_true_one_stays(f_star):
    eps, losses = (
        2.0**-52,
        np.array([[f_star - 1e-9, f_star + 1e-9, f_star - 1e-3, f_star + 1e-3]]),
    )
    facts, constants = SimpleNamespace(eps=eps), SimpleNamespace(f_star=f_star)
    gap = DERIVED["f_gap"].compute(
        SimpleNamespace(facts=facts, constants=constants, loss=losses)
    )
    assert gap[0, 0] == 0.0 < gap[0, 1] < 2e-9  # 16 eps (|f| + |f*|) = 7.1e-9
    assert gap[0, 2:] == pytest.approx([-1e-3, 1e-3], rel=1e-5)


def test_weighted_squares_of_two_blocks_have_step_sizes_times_local_steps():
    task = dfl.tasks.get("coupled", m=4, p=2, seed=1)
    algorithm = dfl.algorithms.DFedMDC(eta_u=0.01, eta_v=0.03, K_u=2, K_v=5)
    run = dfl.train(algorithm, task, RING, rounds=3, x0=np.ones(task.d))
    parts = run.measures()
    expected = (0.02 * parts["grad_u_sq_next"] + 0.15 * parts["grad_v_sq"]) / 4
    weighted = DERIVED["two_block_weighted"].compute(run)
    np.testing.assert_allclose(weighted, expected, rtol=1e-13)
    assert np.isfinite(weighted[:, :-1]).all()
