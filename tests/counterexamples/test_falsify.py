"""The search for counterexamples: exact problems, controls, and replays of what it
finds.
"""

import dataclasses
import json
import time

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.bounds.scope import Scope
from dfltheory.counterexamples import certify, core, falsify, replay, score
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.core import FULL, simulate
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.problems import RampTask, SplitTask
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.errors import DFLTheoryError
from dfltheory.files import json_text

ADMM = ("DFedADMMSAM", "DFedADMM")


def halved(key, variant):
    """Return a sharp bound divided by two, which is false."""
    theorem = dfl.bounds.get(key, variant)
    parts = {name: part / 2 for name, part in theorem.parts.items()}
    return dataclasses.replace(
        theorem, parts=parts, scope=Scope(ADMM, "definition 1", common_start=True)
    )


# -- the problems


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_constants_of_ramps_are_attained_and_never_exceeded(seed, m):
    rng = np.random.default_rng(seed)
    knots, widths = rng.normal(size=(1, m, 3)), rng.uniform(0.1, 2, (1, m, 3))
    slopes, left = rng.normal(size=(1, m, 3)), -rng.uniform(0, 1, (1, m))
    ramps = Ramps(knots, widths, slopes, left)
    known = {name: float(v[0]) for name, v in ramps.constants().items()}
    # a narrow piece must not be missed
    ends = [knots + part * widths for part in (-1, -0.5, 0, 0.5, 1)]
    x = np.unique(np.concatenate([np.linspace(-12, 12, 40001), np.ravel(ends)]))[None]
    g = ramps.gradient(x[..., None, None])[0, ..., 0]
    deviation = (g - g.mean(-1, keepdims=True)) ** 2
    steps = np.abs(np.diff(g, axis=0)) / np.diff(x[0])[:, None]
    for name, seen in {
        "L": steps.max(),
        "B": np.abs(g).max(),
        "sigma_g": np.sqrt(deviation.mean(-1).max()),
        "beta": np.sqrt(deviation.max()),
    }.items():
        assert seen <= known[name] * (1 + 1e-9) + 1e-12
        assert seen >= known[name] * 0.97 - 2e-3, name
    if np.isfinite(known["f_star"]):
        least = ramps.value(x[..., None, None])[0].mean(-1).min()
        assert known["f_star"] - 1e-9 <= least + 1e-9
        assert least <= known["f_star"] + 1e-3 or left.mean() == 0


def test_a_function_that_falls_for_ever_is_no_problem():
    one = np.ones((1, 1, 1))
    assert (
        Ramps(0 * one, one, one, np.array([[0.5]])).constants()["f_star"][0] == -np.inf
    )
    assert np.isfinite(
        Ramps(0 * one, one, one, np.array([[-0.5]])).constants()["f_star"][0]
    )


@given(st.integers(0, 10**6), st.sampled_from([RampTask, SplitTask]))
def test_the_task_and_the_batch_are_one_problem(seed, kind):
    rng, d = np.random.default_rng(seed), 1 + (kind is SplitTask)
    numbers = [
        rng.normal(size=(2, 3)),
        rng.uniform(0.1, 1, (2, 3)),
        rng.normal(size=(2, 3)),
        rng.normal(size=2),
    ]
    numbers += [rng.normal(size=2), *rng.uniform(0.1, 2, 4)] if d == 2 else []
    task = kind(*numbers)
    batch = task.problem
    x = rng.normal(size=(1, 5, 2, d)) * 3
    points = torch.tensor(x[0])
    np.testing.assert_allclose(
        task.client_gradient(points), batch.gradient(x)[0], atol=1e-12
    )
    np.testing.assert_allclose(task.client_loss(points), batch.value(x)[0], atol=1e-12)
    points.requires_grad_(True)
    (slope,) = torch.autograd.grad(
        task.client_loss(points).sum(), points, create_graph=True
    )
    np.testing.assert_allclose(
        slope.detach(), task.client_gradient(points.detach()), atol=1e-12
    )
    for k in range(d):
        (row,) = torch.autograd.grad(
            slope[..., k].sum(), points, retain_graph=True, allow_unused=True
        )
        # of ramps alone the second derivative is not in the graph everywhere
        if kind is SplitTask:
            np.testing.assert_allclose(
                row, task.hessian(points.detach())[..., k, :], atol=1e-10
            )
    for name, value in batch.constants().items():
        if (
            name != "mu_each"
        ):  # not a constant of tasks: only the search provides it to theorems
            assert float(value[0]) == pytest.approx(
                getattr(task.constants, name), rel=1e-12
            ), name


# -- the search


@pytest.mark.slow  # quickly: in test_statement_pairs.py and cli/test_falsify.py
@pytest.mark.parametrize(
    "key",
    [
        "dfedsam.theorem_4_5",
        # exceeds the constants of its cited lemma; takes nearly a minute
        pytest.param("dfedsgpsm.theorem_1", marks=pytest.mark.slow),
    ],
)
def test_a_false_theorem_is_refuted_and_the_core_confirms_it(key, tmp_path):
    """Another false theorem is refuted by the command in tests/cli/test_falsify.py."""
    found = falsify(key, "printed", seconds=300, enough=1.2, seed=0)
    assert found.violated
    assert found.ratio > 1.05
    assert not found.certificate.obstacles
    assert all(c["holds"] for c in found.certificate.conditions)
    path = found.save(tmp_path / "hit.json")
    assert path.stat().st_size < 20_000
    again = replay(path)
    assert again.violated
    assert again.ratio == pytest.approx(found.ratio, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_printed_theorem_of_dfedsam_is_refuted_within_a_minute(seed):
    found = falsify("dfedsam.theorem_4_5", "printed", seconds=60, seed=seed)
    assert found.violated
    assert found.ratio > 1.5


@pytest.mark.slow  # quickly, of a smaller statement: in test_statement_pairs.py
def test_a_halved_tight_bound_is_refuted():
    found = falsify(
        halved("dfedadmm.theorem_1", "corrected_any_penalty"), seconds=300, enough=1.3
    )
    assert found.ratio > 1.1
    assert found.violated


@pytest.mark.slow
def test_the_tight_bound_itself_survives_and_is_seen_to_be_tight():
    found = falsify(
        "dfedadmm.theorem_1", "corrected_any_penalty", seconds=30, enough=np.inf
    )
    assert not found.violated
    assert 0.99 < found.ratio <= 1
    assert found.evaluations > 1000
    assert len(found.families) >= 10
    assert f"{found.evaluations} candidates of {len(found.families)} families" in str(
        found
    )
    assert "proves nothing" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "variant"),
    [
        ("dfedsam.theorem_4_5", "corrected"),
        ("dfedsam.theorem_4_5", "corrected_different_starts"),
        ("dfedadmm.theorem_1", "corrected"),
        ("dfedadmm.theorem_1", "corrected_small_steps"),
        ("dfedadmm.theorem_1", "corrected_second_moment"),
        ("dfedadmm.theorem_1", "corrected_no_bounded_gradients"),
        ("dfedsgpsm.theorem_1", "corrected"),
        ("dfedsgpsm.theorem_1", "corrected_sharper"),
        ("dfedsgpsm.theorem_1", "corrected_no_bounded_gradients"),
        ("dfedsgpsm.theorem_1", "corrected_any_step"),
        ("dfedmdc.theorem_1", "corrected"),
        ("dfedmdc.theorem_2", "corrected_different_steps"),
        ("dfedmdc.theorem_2", "corrected_same_round"),
        ("dfedsam.corollary_4_8", "corrected"),
        ("dfedadmm.corollary_1", "corrected"),
        ("dfedadmm.corollary_1", "corrected_paper_schedule"),
        ("dfedsgpsm.corollary_1", "corrected"),
    ],
)
def test_corrected_variants_survive(key, variant):
    found = falsify(key, variant, seconds=20, enough=np.inf)
    assert not found.violated
    assert 0.01 < found.ratio <= 1


@pytest.mark.slow
@pytest.mark.parametrize("full", [2500, pytest.param(FULL, marks=pytest.mark.slow)])
def test_the_ratio_of_a_corollary_is_that_of_a_run_of_the_core_under_its_schedule(
    full, monkeypatch
):
    for module in (core, score, certify):
        monkeypatch.setattr(module, "FULL", full)
    found = falsify("dfedadmm.corollary_1", "corrected", candidates=20)
    instance = found.instance
    a, T, L = instance.algorithm, instance.rounds, instance.task.constants.L
    assert a.lam == pytest.approx(np.sqrt(a.K / T) / L)
    assert a.eta == pytest.approx(1 / (L * np.sqrt(a.K * T)))
    # later rounds count as 0 if the state still changes
    most, rests = min(T, full), found.certificate.exact["still"]
    run_ = dataclasses.replace(instance, rounds=most).run(progress=False)
    theorem = dfl.bounds.get("dfedadmm.corollary_1", "corrected")
    values = run_.values() | {"rho0": getattr(a, "rho", 0.0) * np.sqrt(T), "T": T}
    values["S2"] = float(
        simulate(CandidateBatch.of(instance), most, moments=True).moment[0]
    )
    bound = theorem.evaluate(**{name: values[name] for name in theorem.needs})
    data = run_.extra["grad_norm_sq_w"][0]
    again = (
        T - most if rests else min(T - most, 1)
    )  # the model after the last round that was run is known, too
    measured = (data[:most].sum() + again * data[most]) / T
    assert measured / bound == pytest.approx(found.ratio, rel=1e-6)
    assert not found.violated
    seen = pytest.approx(found.ratio, rel=1e-6) if rests or most == T else None
    assert found.certificate.core_at_horizon == seen


@pytest.mark.slow
def test_a_halved_corollary_is_refuted_at_its_horizon():
    corollary = dfl.bounds.get("dfedsgpsm.corollary_1", "corrected")
    parts = {n: part / 3 for n, part in corollary.parts.items()}
    scope = Scope(("DFedSGPSM",), "column-stochastic")
    third = dataclasses.replace(corollary, parts=parts, scope=scope)
    found = falsify(third, seconds=300, enough=1.3)
    assert found.violated
    assert found.certificate.core["T"] == found.instance.rounds


@pytest.mark.slow  # quickly: in test_falsify_search.py
def test_a_search_keeps_its_budget_up_to_one_generation_and_the_confirmation():
    started = time.monotonic()
    found = falsify("dfedsgpsm.theorem_1", "corrected", seconds=0.2, enough=np.inf)
    assert found.evaluations > 20
    assert time.monotonic() - started < 31  # generous, for busy machines


# -- files and rejected input


def trap(path, variant="printed", x0=(0.0, 0.0), rho=1.0):
    """Return a file in which SAM is stationary at 0, with f' = L max(rho - |x|, 0) for
    two identical clients.
    """
    task = {
        "name": "dfltheory.counterexamples.problems:RampTask",
        "sigma": 0.0,
        "left": [0.0] * 2,
    }
    task |= {
        "knots": [[-rho, 0.0]] * 2,
        "widths": [[rho, rho]] * 2,
        "slopes": [[1.0, -1.0]] * 2,
    }
    instance = {
        "task": task,
        "algorithm": {"name": "dfedsam", "eta": 0.002, "K": 5, "rho": rho},
        "topology": {"matrix": [[0.5, 0.5], [0.5, 0.5]]},
        "run": {"rounds": 10**9, "x0": [[x] for x in x0]},
    }
    about = {"key": "dfedsam.theorem_4_5", "variant": variant, "family": "by hand"}
    path.write_text(
        json.dumps(
            {
                "kind": "dfltheory.counterexample",
                "format": 2,
                **about,
                "instance": instance,
            }
        )
    )
    return path


@pytest.mark.slow
def test_the_trap_of_sam_by_hand_tends_to_the_ratio_that_is_known(tmp_path):
    found = replay(trap(tmp_path / "trap.json"))
    assert found.violated
    # 2 K^2 L^2 rho^2 eta/(2 D (2 K - 1)) -> L^2 rho^2 K/(2 K - 1) as eta -> 0; here eta
    # K L = 0.01
    assert found.ratio == pytest.approx(9 / 5, rel=0.12)
    assert found.certificate.core["still"]
    assert (
        replay(found.save(tmp_path / "again.json")).to_dict()["instance"]
        == found.instance.document()
    )
    document = json.loads(json_text(found.to_dict()))
    assert {"ratio", "instance", "evaluations", "core", "exact", "conditions"} <= set(
        document
    )
    # at the minimum
    assert not replay(trap(tmp_path / "wrong.json", x0=(-3.0, -3.0))).violated


def test_replay_gives_the_reason_why_a_ratio_above_one_is_no_counterexample(tmp_path):
    found = replay(trap(tmp_path / "trap.json"))
    seen = found.certificate
    low = dataclasses.replace(
        seen, core=seen.core | {"ratio": 0.75}, core_at_horizon=0.8
    )
    outside = dataclasses.replace(
        seen, obstacles=["condition 10 eta K L <= 1 fails by 2"]
    )
    for certificate, words in (
        (low, "the training core does not confirm: 0.75 after 300 rounds"),
        (outside, "outside of the assumptions: condition 10 eta K L <= 1 fails by 2"),
    ):
        assert not certificate.violated
        text = str(dataclasses.replace(found, certificate=certificate, violated=False))
        assert "no counterexample found" in text
        assert words in text
    assert "confirm" not in str(
        dataclasses.replace(found, certificate=low, violated=False, ratio=0.5)
    )
    assert "refuted" in str(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "cannot be read as"),
        ("{}", "contains no counterexample"),
        ('{"instance": 3}', "instance = 3"),
        (
            '{"format": 1, "instance": {}}',
            "its format is 1, but this version reads format 2",
        ),
    ],
)
def test_replay_rejects_damaged_files_in_one_line(tmp_path, text, words):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(DFLTheoryError, match=words):
        replay(path)


def test_lemmas_and_wrong_budgets_are_refused():
    with pytest.raises(DFLTheoryError, match="seed = -1"):
        falsify("dfedsam.theorem_4_5", seed=-1)
    with pytest.raises(DFLTheoryError, match="inside a proof"):
        falsify("yuan2016.lemma_1")
    with pytest.raises(DFLTheoryError, match="seconds"):
        falsify("dfedsam.theorem_4_5", seconds=0)


def test_families_of_one_name_are_counted_together():
    found = dfl.falsify("pepit.gradient_descent", variant="example", candidates=100)
    assert not found.violated
    assert (
        found.evaluations
        == sum(outcome["evaluations"] for outcome in found.families.values())
        > 0
    )


@pytest.mark.slow
def test_a_condition_without_a_step_size_leaves_the_steps_alone():
    """sum_t

    grad f

    ^2 <= 2 gap/(eta (2 - L eta)) is attained on quadratics, so a bound 3 % smaller is
    false.
    """
    s = dfl.bounds.symbols
    wrong = dfl.bounds.Theorem(
        key="mine.descent",
        variant="printed",
        kind="theorem",
        title="Gradient descent",
        source="a draft",
        lhs=dfl.bounds.LeftSide("grad_norm_sq", r"\|\nabla f\|^2", "mean"),
        parts={"gap": 1.94 * s.f0_gap / (s.eta * (2 - s.L * s.eta) * s.T)},
        conditions=(
            dfl.bounds.Condition("eta <= 1.98/L", s.L * s.eta, sp.Float(1.98)),
            dfl.bounds.Condition("exact gradients", 2 * s.sigma_l, s.sigma_l),
        ),
        scope=Scope(("FedAvg",), "none", common_start=True, hyperparameters={"K": 1}),
    )
    assert falsify(wrong, candidates=2000).violated


def test_one_candidate_is_no_candidates():
    one = Finding("mine.theorem_1", "printed", False, 0.5, 1, 0.1, 0)
    assert " (1 candidate in 0 s" in str(one)
    assert " (2 candidates in 0 s" in str(dataclasses.replace(one, evaluations=2))
