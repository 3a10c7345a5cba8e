"""The atlas: nonvacuous, vacuous and smallest bounds, first rounds, transients, and
measured values.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory import bounds, cli
from dfltheory.best_bounds import (
    HORIZONS,
    best_bounds,
    first_nonvacuous_horizon,
    least_bounds,
    transient,
    yardstick,
)
from dfltheory.bound_atlas import competitors
from dfltheory.bounds import Condition, LeftSide, Scope, Theorem
from dfltheory.bounds import symbols as s
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.typical_quadratics import expectation, model
from validation.pages import atlas as atlas_page


def own(parts, conditions=(), key="own.theorem", algorithms=("DFedAvg",)):
    return Theorem(
        key=key,
        variant="printed",
        kind="theorem",
        title="t",
        source="s",
        lhs=LeftSide(
            "grad_norm_sq", "g", "mean", averaging="mean over the rounds 0..T-1"
        ),
        parts=parts,
        scope=Scope(algorithms, "symmetric", common_start=True),
        conditions=tuple(conditions),
    )


STEP = Condition("eta L <= 1", s.eta * s.L, sp.Integer(1))
DESCENT = own(
    {
        "optimization": 2 * s.f0_gap / (s.eta * s.T),
        "noise": s.L * s.eta * s.sigma_l**2 / s.m,
    },
    [STEP],
)
PLACE = {"L": 2.0, "f0_gap": 3.0, "sigma_l": 1.0, "m": 4}


def by_hand(T, m=4.0):
    """Return the value of a/eta + b eta at eta = min(sqrt(a/b), 1/L)."""
    a, b = 2 * 3.0 / T, 2.0 / m
    eta = min(np.sqrt(a / b), 0.5)
    return a / eta + b * eta, eta


@pytest.mark.parametrize("T", [1, 10, 1000, 10**8])
def test_best_bound_is_that_of_the_best_step_size(T):
    found, steps = best_bounds(DESCENT, {**PLACE, "T": T})
    value, eta = by_hand(T)
    # on the grid, the boundary is off by 6 %
    assert found[0] == pytest.approx(value, rel=2e-3 if T > 100 else 0.06)
    assert found[0] >= value * (1 - 1e-12)
    assert steps["eta"][0] == pytest.approx(eta, rel=0.06)


def test_best_bounds_of_a_point_do_not_depend_on_the_other_points():
    T = np.array([3.0, 70.0, 9e4])
    together = best_bounds(DESCENT, {**PLACE, "T": T})[0]
    np.testing.assert_array_equal(
        together, [best_bounds(DESCENT, {**PLACE, "T": t})[0][0] for t in T]
    )


def test_a_tied_step_moves_with_the_other():
    printed = bounds.get("dfedadmm.theorem_1", "printed")
    found, steps = best_bounds(printed, {"T": 1000.0})
    values = {n: v[0] for n, v in steps.items()}
    bound = printed.evaluate(
        **{**dfl.bound_atlas.constants(printed, {"T": 1000.0}), **values}
    )
    assert bound == pytest.approx(found[0])  # and no condition fails


def test_a_tie_that_is_no_step_is_none():
    convex = dfl.atlas(
        None, measure="f_gap", theorems=["li2020.theorem_1"], mu_each=0.0
    )
    assert [e.status for e in convex.entries] == ["silent"]


def test_a_lower_bound_is_the_floor_of_its_measure_and_never_best():
    found = dfl.atlas(
        None, measure="f_gap", T=100, sigma_l=0.0, L=2.0, x_star_sq=3.0, mu=0.5
    )
    floors = {e.theorem.key: e.bound for e in found.entries if e.status == "floor"}
    assert floors["bubeck2015.theorem_3_14"] == pytest.approx(3 * 2 * 3 / (32 * 102**2))
    assert floors["bubeck2015.theorem_3_15"] == pytest.approx(0.25 * 3 * (1 / 3) ** 200)
    assert found.best is None or found.best.status == "informative"
    assert str(found).count(": floor") == 2


def test_the_first_round_is_the_first_below_the_trivial():
    first = first_nonvacuous_horizon(DESCENT, PLACE)
    for T, useful in (
        (first, True),
        (HORIZONS[np.searchsorted(HORIZONS, first) - 1], False),
    ):
        assert (
            bool(best_bounds(DESCENT, {**PLACE, "T": T})[0] < yardstick(DESCENT, PLACE))
            is useful
        )
    assert yardstick(DESCENT, PLACE) == [2 * 2.0 * 3.0]


def test_trivial_bound_is_the_smallest_known_one():
    bounded = bounds.get("dfedsgpsm.theorem_1", "corrected")
    known = {"L": 1.0, "f0_gap": 1.0, "B": np.array([1.0, 5.0])}
    np.testing.assert_array_equal(yardstick(bounded, known), [1.0, 2.0])
    auxiliary = bounds.get(
        "dfedadmm.theorem_1", "corrected_no_bounded_gradients"
    )  # which starts at the mean model
    assert yardstick(auxiliary, {"L": 3.0, "f0_gap": 2.0}) == [12.0]


def test_two_step_sizes_are_searched_as_finely_as_one():
    """The minimum of a/eta + b eta + c/lam + d lam is 2 sqrt(a b) + 2 sqrt(c d)."""
    inverse = {"a": s.f0_gap / (s.eta * s.T), "c": 3 * s.f0_gap / (s.lam_admm * s.T)}
    both = own(
        {
            **inverse,
            "b": s.L * s.eta * s.sigma_l**2,
            "d": 5 * s.L * s.lam_admm * s.sigma_l**2,
        }
    )
    found, _ = best_bounds(both, {**PLACE, "T": 777.0})
    least_value = 2 * np.sqrt(3 / 777 * 2) + 2 * np.sqrt(9 / 777 * 10)
    assert found[0] == pytest.approx(least_value, rel=5e-4)


def test_the_transient_is_where_four_times_the_clients_help():
    """Without a drift term, the noise dominates once sqrt(a/b) < 1/L; with one, no m
    helps.
    """
    T = transient(DESCENT, PLACE)
    assert np.isfinite(T)
    ratio = [by_hand(t, 16.0)[0] / by_hand(t)[0] for t in (T / 4, 4 * T)]
    assert ratio[0] > 4**-0.25 > ratio[1]
    stuck = own(
        {
            "optimization": s.f0_gap / (s.eta * s.T),
            "drift": s.L * s.eta * s.sigma_l**2 * s.m / s.m,
        },
        [STEP],
    )
    assert np.isnan(transient(stuck, PLACE))  # it does not contain m
    slow = own({"optimization": s.f0_gap / (s.eta * s.T) * (1 + 1 / s.m)}, [STEP])
    assert transient(slow, PLACE) == np.inf


def test_smallest_nonvacuous_bound_over_a_plane():
    worse = own({n: 2 * t for n, t in DESCENT.parts.items()}, [STEP], "own.worse")
    T, sigma = np.array([1.0, 30.0, 1e6]), np.array([0.1, 50.0])
    which, bound = least_bounds([worse, DESCENT], ("T", T), ("sigma_l", sigma), PLACE)
    for i, noise in enumerate(sigma):
        for j, rounds in enumerate(T):
            alone = best_bounds(DESCENT, {**PLACE, "T": rounds, "sigma_l": noise})[0][0]
            assert which[i, j] == (1 if alone < 12 else -1)
            np.testing.assert_array_equal(bound[i, j], alone if alone < 12 else np.nan)
    assert (which == -1).any()


def test_bound_equal_to_the_trivial_one_is_vacuous():
    trivial = own({"constant": 2 * s.L * s.f0_gap}, [STEP])
    assert best_bounds(trivial, PLACE)[0] == yardstick(trivial, PLACE) == 12
    axes = ("T", np.array([1.0, 30.0])), ("sigma_l", np.array([0.1]))
    which, bound = least_bounds([trivial], *axes, PLACE)
    assert (which == -1).all()
    assert np.isnan(bound).all()


# -- side by side


def statuses(found):
    return {str(e.theorem): e.status for e in found.entries}


def test_atlas_reports_the_status_of_each_statement():
    never = own(
        {"a": s.eta},
        [Condition("never", s.L * s.eta + 1, sp.Integer(1), strict=True)],
        "own.never",
    )
    large = own({"a": 100 * s.f0_gap / (s.eta * s.T)}, [STEP], "own.large")
    order = bounds.get("lian2017.rate", "restated")
    found = dfl.atlas(theorems=[DESCENT, never, large, order], **PLACE, T=50)
    assert statuses(found) == {
        "own.theorem (printed)": "informative",
        "own.large (printed)": "vacuous",
        "own.never (printed)": "silent",
        "lian2017.rate (restated)": "constant not given",
    }
    assert found.best is not None
    assert found.best.theorem is DESCENT
    # at eta = 1/L the terms are 6/25 and 1/4
    assert found.best.steps["eta"] == pytest.approx(1 / 2)
    assert "mostly noise" in found.best.reason


def test_a_bound_that_falls_with_its_step_for_ever_says_nothing():
    carried = own({"a": s.eta * s.sigma_l**2 * s.L}, key="own.carried")
    (entry,) = dfl.atlas(theorems=[carried], **PLACE).entries
    assert entry.status == "silent"
    assert "eta" in entry.reason
    (entry,) = dfl.atlas(theorems=[carried], **PLACE, eta=1e-3).entries
    assert entry.bound == pytest.approx(2e-3)


def test_the_least_bound_comes_first():
    worse = own({n: 2 * t for n, t in DESCENT.parts.items()}, [STEP], "own.worse")
    found = dfl.atlas(theorems=[worse, DESCENT], **PLACE, T=500)
    assert [e.theorem for e in found.entries] == [DESCENT, worse]
    assert found.entries[1].bound == pytest.approx(2 * found.entries[0].bound)


def test_a_run_is_held_against_every_theorem():
    task = dfl.tasks.quadratic(m=4, sigma=0.1, seed=0)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    instance = dfl.Instance(task, dfl.algorithms.DFedAvg(eta=0.01, K=2), W, 60)
    found = dfl.atlas(instance, theorems=["dfedsam.theorem_4_5", "dfedsgpsm.theorem_1"])
    status_by_statement = statuses(found)
    assert status_by_statement["dfedsam.theorem_4_5 (corrected)"] == "informative"
    assert (
        status_by_statement["dfedsgpsm.theorem_1 (corrected)"] == "silent"
    )  # another algorithm
    verdict = dfl.compare(
        dfl.exact.exactly(instance), "dfedsam.theorem_4_5", variant="corrected"
    )
    (entry,) = [
        e for e in found.entries if str(e.theorem) == "dfedsam.theorem_4_5 (corrected)"
    ]
    assert (entry.bound, entry.truth) == (verdict.bound, verdict.measured.estimate)


def test_what_a_run_refutes_is_not_best():
    task = dfl.tasks.quadratic(m=4, sigma=0.1, seed=0)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    false = own({n: t / 10**6 for n, t in DESCENT.parts.items()}, [STEP], "own.false")
    found = dfl.atlas(
        dfl.Instance(task, dfl.algorithms.DFedAvg(eta=0.01, K=1), W, 60),
        theorems=[false],
    )
    assert statuses(found) == {"own.false (printed)": "violated"}
    assert found.best is None


def test_atlas_reports_refuted_statements_and_does_not_rank_them_best():
    found = dfl.atlas(theorems=["dfedsam.theorem_4_5"], T=10_000, m=16, lam=0.8)
    entry_by_variant = {e.theorem.variant: e for e in found.entries}
    assert entry_by_variant["printed"].bound < entry_by_variant["corrected"].bound
    assert "informative (refuted in general: 52.7 times the bound" in str(
        entry_by_variant["printed"]
    )
    assert not entry_by_variant["corrected"].refuted
    assert found.best is not None
    assert found.best.theorem.variant.startswith("corrected")


def test_no_quadratic_has_bounded_gradients():
    found = dfl.atlas(
        theorems=["dfedsgpsm.theorem_1"], truth=True, T=20, m=4, B=5.0, K=2, lam=0.5
    )
    for entry in found.entries:
        assert (
            np.isfinite(entry.truth) is not entry.theorem.scope.bounded_gradients
            or entry.status == "silent"
        )


def test_unknown_words_are_refused():
    with pytest.raises(UnknownNameError, match="these theorems bound"):
        dfl.atlas(measure="two_block", theorems=[DESCENT])
    with pytest.raises(UnknownNameError, match="grad_norm_sq"):
        competitors("grad_norm")
    with pytest.raises(InputError):
        dfl.atlas(theorems=[])
    with pytest.raises(UnknownNameError, match="constant"):
        dfl.atlas(lamb=0.5)
    with pytest.raises(InputError, match="must be"):
        dfl.atlas(theorems=[DESCENT], L=-1.0)


# -- exact values


def test_the_model_has_the_constants():
    task = model({"L": 3.0, "sigma_l": 0.2, "sigma_g": 0.7, "f0_gap": 5.0, "m": 6})
    known = task.constants.known()
    assert (known["L"], known["sigma_l"]) == (pytest.approx(3.0), pytest.approx(0.2))
    assert known["sigma_g"] == pytest.approx(0.7)
    gap = float(task.global_loss(0 * task.x_star[None])[0]) - known["f_star"]
    assert gap == pytest.approx(5.0)


def test_the_truth_is_that_of_a_run():
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    values = {
        "L": 1.0,
        "sigma_l": 0.3,
        "sigma_g": 0.5,
        "f0_gap": 1.0,
        "m": 5,
        "K": 3,
        "T": 40,
        "lam": 0.6,
    }
    found = expectation(theorem, values, {"eta": 0.03}, None)
    W = 0.6 * np.eye(5) + 0.4 / 5
    run = dfl.exact_history(dfl.algorithms.DFedAvg(eta=0.03, K=3), model(values), W, 40)
    assert found == pytest.approx(run.grad_norm_sq[0, :40].mean(), rel=1e-9)
    last = replace(theorem, lhs=replace(theorem.lhs, aggregate="last"))
    assert np.isnan(expectation(last, values, {"eta": 0.03}, None))


# -- command line


def test_atlas_command_reports_the_same_as_python(capsys):
    words = [
        "--key",
        "dfedsam.theorem_4_5",
        "--topology",
        "ring",
        "--json",
        "--set",
        "T=10000",
        "m=16",
    ]
    assert cli.run(["atlas", *words]) == 0
    document = json.loads(capsys.readouterr().out)
    lam = dfl.graphs.lam(dfl.graphs.ring(16))
    found = dfl.atlas(theorems=["dfedsam.theorem_4_5"], T=10000, m=16, lam=lam)
    assert document["best"] == str(found.best.theorem)
    assert [e["bound"] for e in document["theorems"]] == pytest.approx(
        [e.bound for e in found.entries], rel=1e-9
    )


# -- the page: its numbers are those of single calls

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "atlas.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_page_of_the_atlas_is_current():
    renewal = "renew it: python -m validation.pages.atlas docs/atlas.md"
    assert atlas_page.markdown() == PAGE, renewal


def cells(start):
    (line,) = [row for row in PAGE.splitlines() if row.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_is_what_single_calls_give():
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected_less_noise")
    row = cells("| `dfedsam.theorem_4_5` corrected_less_noise |")
    bound, steps = best_bounds(theorem, atlas_page.PLACE)
    assert row[1:4] == ["informative", f"{bound[0]:.3g}", f"{bound[0] / 2:.3g}"]
    assert row[5] == f"eta = {steps['eta'][0]:.3g}"
    assert float(row[6]) == first_nonvacuous_horizon(theorem, atlas_page.PLACE)


def test_every_picture_is_there_and_is_shown():
    shown = {f"{name}.png" for name in atlas_page.PLANES}
    assert {p.name for p in (DOCS / "atlas").iterdir()} == shown
    assert all(f"(atlas/{name})" in PAGE for name in shown)


def test_atlas_compares_after_many_rounds_and_shows_no_nan_by_default():
    result = dfl.atlas(theorems=["dfedsam.theorem_4_5:corrected"])
    assert result.assumed["T"] > 1000
    assert result.best is not None
    convex = dfl.atlas(measure="f_gap", theorems=["bottou2018.theorem_4_6"])
    assert "nan" not in str(convex)


def test_a_trivial_bound_of_zero_has_no_share():
    atlas = dfl.atlas(theorems=["dfedsam.corollary_4_6"], f0_gap=0.0)
    vacuous = [entry for entry in atlas.entries if entry.status == "vacuous"]
    assert vacuous
    for entry in vacuous:
        assert entry.bound > 0
        assert np.isnan(entry.share)
