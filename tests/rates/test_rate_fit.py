"""Fitted exponents: exact on power laws, honest intervals, and the rates of exact recursions."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.exact import exact_history
from dfltheory.rates import (
    Measured,
    Setting,
    fit_exponent,
    fit_points,
    fit_regimes,
    judge,
    predict,
    rate_fit,
    transient_fit,
    where_slopes_lead,
)
from dfltheory.rates.fit import horizon_of_speed_up
from dfltheory.rates.setting import measure, together
from dfltheory.verdicts.schedule import scheduled_algorithm
from validation.crossings import sam_trap


@given(st.floats(-3, 3), st.floats(0.01, 100))
def test_a_power_law_is_found_exactly(exponent, scale):
    x = np.geomspace(1, 1e4, 7)
    found = fit_exponent(x, scale * x**exponent)
    assert found.estimate == pytest.approx(exponent, abs=1e-10)
    assert found.low <= exponent + 1e-9
    assert found.high >= exponent - 1e-9
    assert found.high - found.low < 1e-8
    assert found.at(50.0) == pytest.approx(scale * 50.0**exponent, rel=1e-8)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    x = np.geomspace(1, 100, 8)
    noisy = x**-0.5 * np.exp(0.3 * rng.standard_normal((2000, 8)))
    inside = [f.low <= -0.5 <= f.high for f in (fit_exponent(x, y, 0.9, bend=False) for y in noisy)]
    assert 0.88 <= np.mean(inside) <= 0.92


def test_a_curve_that_bends_has_a_wide_interval():
    x = np.geomspace(1, 1e4, 9)
    found = fit_exponent(x, 1 / x + 0.1 / np.sqrt(x))
    assert found.low < -0.9
    assert found.high > -0.6


def test_two_regimes_meet_at_their_knee():
    x = np.geomspace(1, 1e6, 25)
    found = fit_regimes(x, np.maximum(100 / x, 1 / np.sqrt(x)))
    assert found.before.estimate == pytest.approx(-1, abs=0.02)
    assert found.after.estimate == pytest.approx(-0.5, abs=0.02)
    assert found.knee == pytest.approx(1e4, rel=0.3)
    assert found.gain > 10
    assert fit_regimes(x, x**-0.7 * np.exp(0.01 * np.sin(np.arange(25)))).gain < 3


def test_a_prediction_is_refuted_only_when_the_interval_excludes_it():
    x = np.geomspace(1, 100, 6)
    found = fit_exponent(x, x**-0.5)
    assert judge(found, -0.5 + 1e-6) == "faster"
    assert judge(found, -0.6) == "refuted"
    assert judge(fit_exponent(x, x**-0.5 * np.array([1, 1.1, 0.9, 1.1, 0.9, 1])), -0.55) == "consistent"
    assert judge(found, None) == "no prediction"


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1, 2]), ([1, 2, 3], [1, -1, 2]), ([1, 1, 1], [1, 2, 3])])
def test_points_that_make_no_power_law_are_refused(x, y):
    with pytest.raises(InputError):
        fit_exponent(x, y)


# -- chance, bends, and the way ahead --------------------------------------------------------------------


def planted(rng, exponent=-0.5, seeds=12, points=6, noise=0.2, common=0.0):
    """One experiment: means over seeds of x^exponent with relative noise, part of it shared by the points."""
    x = np.geomspace(1, 100, points)
    chance = noise * (
        np.sqrt(1 - common) * rng.standard_normal((seeds, points))
        + np.sqrt(common) * rng.standard_normal((seeds, 1))
    )
    samples = x**exponent * (1 + chance)
    y = samples.mean(axis=0)
    return x, y, samples / y - 1


@pytest.mark.parametrize("common", [0.0, 0.9])
def test_the_interval_over_seeds_covers_as_often_as_it_says(common):
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(1500):
        x, y, deviations = planted(rng, common=common)
        found = fit_exponent(x, y, deviations=deviations, bend=False)
        inside.append(found.low <= -0.5 <= found.high)
    assert 0.93 <= np.mean(inside) <= 0.97


def test_shared_chance_narrows_the_interval_of_the_slope():
    rng = np.random.default_rng(2)
    wide, narrow = (
        np.mean([e.high - e.low for e in (fitted(rng, common) for _ in range(50))]) for common in (0.0, 0.99)
    )
    assert narrow < 0.2 * wide


def fitted(rng, common):
    x, y, deviations = planted(rng, common=common)
    return fit_exponent(x, y, deviations=deviations, bend=False)


def test_a_right_prediction_is_seldom_refuted_and_a_wrong_one_always_at_enough_seeds():
    rng = np.random.default_rng(3)
    right, wrong = [], []
    for _ in range(400):
        x, y, deviations = planted(rng)
        found = fit_exponent(x, y, deviations=deviations, limit="up")
        right.append(judge(found, -0.5) == "refuted")
        x, y, deviations = planted(rng, exponent=-0.4, noise=0.05, seeds=24)
        wrong.append(judge(fit_exponent(x, y, deviations=deviations, limit="up"), -0.5) == "refuted")
    assert np.mean(right) <= 0.025 + 2 * np.sqrt(0.025 * 0.975 / 400)
    assert np.mean(wrong) > 0.9


def test_a_straight_line_is_seldom_called_bent_and_a_bent_one_is_seen():
    rng = np.random.default_rng(4)
    straight = []
    for _ in range(400):
        x, y, deviations = planted(rng)
        straight.append(fit_exponent(x, y, deviations=deviations).bends)
    assert np.mean(straight) <= 0.09
    x, y, deviations = planted(rng, noise=0.02)
    assert fit_exponent(x, y * (1 + 3 / x), deviations=deviations).bends
    assert not fit_exponent(x, y * (1 + 3 / x), deviations=deviations, bend=False).bends


def test_without_any_chance_at_a_point_only_an_exact_line_is_straight():
    x = np.geomspace(1, 100, 5)
    deviations = np.zeros((4, 5))
    assert not fit_exponent(x, x**-0.5, deviations=deviations).bends
    assert fit_exponent(x, x**-0.5 + 0.001 / x, deviations=deviations).bends


def test_slopes_lead_to_the_exponent_of_the_term_that_wins():
    x = 2.0 ** np.arange(10, 16)
    y = x**-0.5 + 3 / x
    slopes = np.diff(np.log(y)) / np.diff(np.log(x))
    assert abs(slopes[-1] + 0.5) > 0.005
    assert where_slopes_lead(x, y, "up") == pytest.approx(-0.5, abs=5e-4)
    assert where_slopes_lead(1 / x, y, "down") == pytest.approx(0.5, abs=5e-4)
    # from the other end: the same curve read towards small x leads to the exponent -1
    near = 2.0 ** np.arange(-6, 0)
    assert where_slopes_lead(near, near**-0.5 + 3 / near, "down") == pytest.approx(-1, abs=5e-3)


def test_slopes_that_gather_speed_lead_anywhere_and_slopes_that_waver_nowhere():
    x = 2.0 ** np.arange(6)
    assert where_slopes_lead(x, 1 / (1 + 1e-4 * x**2), "up") == -np.inf
    assert where_slopes_lead(x, 1 + 1e-4 * x**2, "up") == np.inf
    assert where_slopes_lead(x, x**-0.7, "up") == pytest.approx(-0.7, abs=1e-12)
    wavering = np.exp(np.cumsum([0, -1, -1.2, -1.0, -1.2]))
    assert where_slopes_lead(x[:5], wavering, "up") == pytest.approx(-1.2 / np.log(2))
    three = where_slopes_lead([1, np.e, np.e**2], np.exp([0, -1, -1.5]), "up")
    assert three == pytest.approx(0.0)  # slopes -1, -1/2, one change of 1/2, and as much again


def test_a_flat_start_does_not_refute_a_rate_that_is_yet_to_come():
    x = np.array([1.0, 2, 4, 8, 16])
    y = 1 / np.sqrt(1 + 0.01 * x)
    assert judge(fit_exponent(x, y), -0.5) == "refuted"
    assert judge(fit_exponent(x, y, limit="up"), -0.5) == "consistent"
    late = 2.0 ** np.arange(20, 25)
    assert judge(fit_exponent(late, late**-0.4 + 1 / late, limit="up"), -0.5) == "refuted"


def test_a_gap_shrinks_and_so_the_smaller_exponent_is_the_worse():
    x = np.geomspace(0.01, 0.1, 4)
    found = fit_exponent(x, x**-2)
    assert judge(found, -1, shrinking=True) == "refuted"
    assert judge(found, -3, shrinking=True) == "faster"
    assert judge(found, -3) == "refuted"
    assert judge(found, -2.05, slack=0.1) == "consistent"
    assert judge(found, -2.05) == "refuted"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"confidence": 1.0}, "strictly between 0 and 1"),
        ({"deviations": np.zeros((1, 4))}, r"must be \(seeds >= 2, 4 points\)"),
        ({"deviations": np.zeros((3, 3))}, r"must be \(seeds >= 2, 4 points\)"),
        ({"deviations": np.full((3, 4), np.nan)}, "must be finite"),
    ],
)
def test_impossible_intervals_are_refused(changes, message):
    x = np.geomspace(1, 8, 4)
    with pytest.raises(InputError, match=message):
        fit_exponent(x, 1 / x, **changes)


# -- measured under the schedule -------------------------------------------------------------------------

KEY = "dfedsam.corollary_4_6"
NOISE = Setting(T=10**9, sigma_l=1.0, K=2)
SPREAD = Setting(T=10**10, sigma_g=1.0, K=2, m=4, gap=0.05)


@pytest.mark.parametrize(
    ("setting", "parameter", "values", "exponent"),
    [
        (NOISE, "T", [1e8, 1e9, 1e10, 1e11], Fraction(-1, 2)),
        (NOISE, "K", [1, 2, 4, 8], Fraction(-1, 2)),
        (NOISE, "m", [2, 4, 8, 12], Fraction(-1)),
        (NOISE, "sigma_l", [0.5, 1, 2, 4], Fraction(2)),
        (SPREAD, "T", [1e9, 1e10, 1e11, 1e12], Fraction(-1)),
        (SPREAD, "K", [2, 4, 8, 16], Fraction(1)),
        (SPREAD, "gap", [0.1, 0.05, 0.025, 0.0125], Fraction(-2)),
        (SPREAD, "sigma_g", [0.5, 1, 2, 4], Fraction(2)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_exact_expectations_show_the_exponents_that_the_registry_predicts(
    setting, parameter, values, exponent
):
    found = rate_fit(KEY, setting, parameter, values, variant="corrected")
    assert found.prediction is not None
    assert found.prediction.exponent == exponent
    assert found.prediction.source == (KEY, "corrected")
    assert found.standing == "consistent"
    assert found.exponent.estimate == pytest.approx(float(exponent), abs=0.15)
    assert all(b > y for y, b in zip(found.measured, found.bound, strict=True))
    # a prediction that promises more than there is, by a quarter, is refuted
    better = 0.25 if parameter == "gap" else -0.25
    wrong = rate_fit(KEY, setting, parameter, values, variant="corrected", predicted=float(exponent) + better)
    assert wrong.standing == "refuted"
    assert wrong.prediction is None


def with_network_schedule():
    """A user's theorem whose step size contains lam: eta = (1 - lam^2)/(8 L sqrt(T))."""
    lam, L, T, m, sigma_l, f0_gap, eta = (
        GLOSSARY[name].symbol for name in ("lam", "L", "T", "m", "sigma_l", "f0_gap", "eta")
    )
    return replace(
        dfl.bounds.get(KEY, "corrected"),
        key="mine.network_schedule",
        parts={"optimization": 2 * f0_gap / (eta * T), "noise": 2 * L * eta * sigma_l**2 / m},
        schedule={"eta": (1 - lam**2) / (8 * L * sp.sqrt(T)), "rho": sp.Integer(0)},
        conditions=(),
        definitions=(),
        of=None,
    )


def test_rate_fit_takes_the_network_constant_of_the_schedule_from_the_varied_gap():
    theorem, setting = with_network_schedule(), Setting(T=10**9, sigma_l=1.0, m=4)
    gaps = [0.1, 0.05, 0.025, 0.0125]
    found = rate_fit(theorem, setting, "gap", gaps)
    assert found.predicted == 1
    assert found.standing == "consistent"
    assert found.exponent.estimate == pytest.approx(1, abs=0.05)
    etas = [setting.with_value("gap", gap).measure(theorem).values["eta"] for gap in gaps]
    expected = [(1 - (1 - gap) ** 2) / (8 * np.sqrt(1e9)) for gap in gaps]
    assert etas == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["f0_gap", "sigma_g", "sigma_l"])
def test_rate_fit_takes_every_constant_of_the_schedule_from_the_setting(name):
    symbol = GLOSSARY[name].symbol
    theorem = with_network_schedule()
    theorem = replace(theorem, schedule={"eta": symbol / 8, "rho": sp.Integer(0)})
    for value in (0.25, 0.5):
        setting = Setting(T=20, sigma_l=0.5, sigma_g=0.5, f0_gap=0.5, m=4).with_value(name, value)
        assert setting.measure(theorem).values["eta"] == pytest.approx(value / 8)


@pytest.mark.parametrize("letters", [{"lam": 0.5}, {"T": 5}, {"sigma_l": 2.0}, {"L": 3.0}])
def test_settings_reject_values_that_contradict_their_own(letters):
    with pytest.raises(InputError, match=next(iter(letters))):
        Setting(T=10, gap=0.25, sigma_l=1.0, letters=letters)


def test_scheduled_algorithm_takes_lam_from_the_network_and_rejects_another_one():
    theorem, setting = with_network_schedule(), Setting(T=100, gap=0.25, m=4)
    made = scheduled_algorithm(theorem, setting.task, 100, setting.network, K=1, L=1.0)
    assert made.eta == pytest.approx((1 - 0.75**2) / 80)
    same = scheduled_algorithm(theorem, setting.task, 100, setting.network, K=1, L=1.0, lam=0.75)
    assert same.eta == pytest.approx(made.eta)
    for wrong in ({"lam": 0.5}, {"T": 5}, {"m": 7}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            scheduled_algorithm(theorem, setting.task, 100, setting.network, K=1, L=1.0, **wrong)
    with pytest.raises(InputError, match="lam"):
        scheduled_algorithm(theorem, setting.task, 100, K=1, L=1.0)


def test_rate_fit_rejects_runs_that_do_not_follow_the_schedule():
    theorem, setting = with_network_schedule(), Setting(T=100, sigma_l=1.0, m=4)

    def run(gap, constant_step):
        point = setting.with_value("gap", gap)
        scale = 0.1 if constant_step else 3 * (1 - (1 - gap) ** 2)
        algorithm = dfl.algorithms.DFedSAM(eta=scale / 80, K=1, rho=0.0)
        return exact_history(algorithm, point.task, point.network, 100, point.start)

    gaps = [0.4, 0.2, 0.1]
    with pytest.raises(InputError, match="eta"):
        rate_fit(theorem, lambda gap: run(gap, True), "gap", gaps)
    assert rate_fit(theorem, lambda gap: run(gap, False), "gap", gaps).standing != "refuted"


def test_the_start_falls_as_the_optimization_term_and_never_refutes_it_on_the_way():
    for horizons in ([10, 20, 40, 80], [100, 400, 1600, 6400], [1e8, 1e9, 1e10, 1e11]):
        found = rate_fit(KEY, Setting(f0_gap=1.0, m=2), "T", horizons, variant="corrected")
        assert found.predicted == -0.5
        assert found.standing == "consistent"
    assert found.exponent.estimate == pytest.approx(-0.5, abs=1e-3)


def test_a_rate_that_a_paper_states_is_consistent_and_a_faster_one_refuted():
    # Remark 2 of DFedSGPSM: O(1/T^(1/2)), next to which SAM's share, O(1/T + 1/(T^2 K delta)), is neglected
    setting = Setting(sigma_l=1.0, m=4, K=2, T=10**9, letters={"alpha": 0.5})
    horizons = [1e8, 1e9, 1e10, 1e11]
    found = rate_fit("dfedsgpsm.rate_remark_2", setting, "T", horizons)
    assert found.predicted == -0.5
    assert found.standing == "consistent"
    assert str(found).endswith("(from 1 / (T^(1/2))): consistent")
    faster = rate_fit("dfedsgpsm.rate_remark_2", setting, "T", horizons, predicted=-1)
    assert faster.standing == "refuted"
    kept = rate_fit("dfedsgpsm.theorem_1", setting, "T", horizons, variant="corrected_b")
    assert kept.predicted == -0.5
    assert kept.standing == "consistent"


def test_momentum_and_admm_rates_in_clients_and_noise():
    for key, variant, letters in (
        ("dfedsgpsm.theorem_1", "corrected_b", {"alpha": 0.5}),
        ("dfedadmm.theorem_1", "corrected_b2", {}),
    ):
        setting = Setting(sigma_l=1.0, m=4, K=2, T=10**13, letters=letters)
        for parameter, values, exponent in (("m", [2, 4, 8], -1), ("sigma_l", [1, 2, 4], 2)):
            found = rate_fit(key, setting, parameter, values, variant=variant)
            assert found.exponent.estimate == pytest.approx(exponent, abs=0.01)
            assert found.predicted == exponent
            assert found.standing == "consistent"


def test_seeds_of_real_runs_make_the_interval_and_the_exponent_in_rho_is_two():
    # SAM stays at 0, where its ascent step lands on a stationary point and the slope is L rho
    W, T = np.full((2, 2), 0.5), 100

    def run(rho0):
        rho = rho0 / np.sqrt(T)
        return dfl.train(
            dfl.algorithms.DFedSAM(eta=1 / np.sqrt(T), K=1, rho=rho),
            sam_trap(2, L=1.0, rho=rho, B=2 * rho),
            W,
            rounds=T,
            seeds=2,
            x0=np.zeros(1),
            progress=False,
        )

    found = rate_fit("dfedsam.theorem_4_5", run, "rho", [0.5, 1, 2, 4])
    assert found.exponent.estimate == pytest.approx(2, abs=1e-9)
    assert found.measured[1] == pytest.approx(1 / T)
    assert found.predicted == 2
    assert found.standing == "consistent"


def test_runs_with_sam_have_seeds_and_an_interval_from_them():
    setting = Setting(T=150, K=1, m=4, gap=1.0, sigma_l=1.0, rho0=0.1, seeds=12)
    found = rate_fit("dfedsam.corollary_4_6", setting, "sigma_l", [0.5, 1, 2], variant="corrected")
    assert found.exponent.estimate == pytest.approx(2, abs=0.1)
    assert 1e-6 < found.exponent.high - found.exponent.low < 1
    assert found.standing in ("consistent", "faster")
    assert found.predicted == 2


def test_sampled_runs_and_exact_expectations_fit_the_same_exponent():
    setting = Setting(K=2, m=2, sigma_l=1.0, f0_gap=0.05, T=50)
    theorem = dfl.bounds.get(KEY, "corrected")

    def sampled(T):
        algorithm = scheduled_algorithm(theorem, setting.task, T, setting.network, K=2, L=1.0, rho0=0.0)
        runs = {"rounds": T, "x0": setting.start, "seeds": 40, "progress": False}
        return dfl.train(algorithm, setting.task, setting.network, **runs)

    horizons = [40, 80, 160, 320]
    one, other = (rate_fit(theorem, make, "T", horizons) for make in (setting, sampled))
    assert one.exponent.high - one.exponent.low < other.exponent.high - other.exponent.low
    assert other.exponent.low < one.exponent.estimate < other.exponent.high
    assert one.predicted == other.predicted == -0.5
    assert "refuted" not in (one.standing, other.standing)
    np.testing.assert_allclose(other.measured, one.measured, rtol=0.25)
    np.testing.assert_allclose(other.bound, one.bound, rtol=0.02)  # L is 1 to one, 3/4 to the other


@pytest.mark.slow
def test_two_blocks_fall_as_their_theorem_predicts():
    task, W = dfl.tasks.coupled(m=4), dfl.graphs.metropolis(dfl.graphs.complete(4))

    vars(task)["constants"] = replace(task.constants, delta_u=math.inf)

    def run(T):
        algorithm = scheduled_algorithm("dfedmdc.theorem_1", task, T, W, variant="corrected", K_u=2, K_v=2)
        return dfl.train(algorithm, task, W, rounds=T, seeds=8, progress=False)

    found = rate_fit("dfedmdc.theorem_1", run, "T", [100, 200, 400, 800], variant="corrected")
    assert found.predicted == -0.5
    assert found.prediction is not None
    assert "sigma_u^2 / (K_u L_u T^(1/2) m)" in found.prediction.monomials
    assert found.exponent.estimate == pytest.approx(-0.5, abs=0.05)
    assert found.standing == "consistent"
    assert np.isnan(found.bound).all()  # delta_u is infinite: the bound says nothing, its rate does
    assert found.bound_exponent is None


def test_a_setting_is_what_it_says():
    setting = Setting(T=50, K=3, m=5, gap=0.3, sigma_l=0.7, sigma_g=0.4, f0_gap=2.0, L=2.0)
    task, W = setting.task, setting.network
    at_zero = task.client_gradient(dfl.tasks.task.torch.zeros(1, 5, 1).double())[0, :, 0].numpy()
    assert at_zero.mean() == pytest.approx(0, abs=1e-15)
    assert np.sqrt(np.mean(at_zero**2)) == pytest.approx(0.4)
    assert float(task.A.mean()) == pytest.approx(1.5)
    assert sorted(set(np.round(task.A.numpy().ravel(), 12))) == [1.0, 1.5, 2.0]
    assert task.constants.sigma_l == pytest.approx(0.7)
    assert dfl.graphs.spectral_gap(W) == pytest.approx(0.3)
    assert W.sum(0) == pytest.approx(np.ones(5))
    start = task.client_loss(dfl.tasks.task.torch.tensor(setting.start).expand(1, 5, 1)).mean()
    assert float(start) - task.constants.f_star == pytest.approx(2.0)
    assert setting.with_value("gap", 0.1) == Setting(
        T=50, K=3, m=5, gap=0.1, sigma_l=0.7, sigma_g=0.4, f0_gap=2.0, L=2.0
    )
    assert setting.with_value("rho", 0.5).rho0 == 0.5
    assert Setting(letters={"alpha": 0.5}).with_value("alpha", 0.9).letters == {"alpha": 0.9}
    values = setting.measure(dfl.bounds.get(KEY, "corrected")).values
    assert values["lam"] == pytest.approx(0.7)
    assert (values["T"], values["m"], values["K"], values["sigma_g"]) == (50, 5, 3, 0.4)
    assert values["eta"] == pytest.approx(1 / (2 * np.sqrt(3 * 50)))
    assert values["f0_gap"] == 2.0


def test_long_horizons_are_summed_as_short_ones_are_followed():
    theorem = dfl.bounds.get(KEY, "corrected")
    setting = Setting(T=300, K=2, m=3, gap=0.4, sigma_l=0.5, sigma_g=0.5, f0_gap=0.1)
    algorithm = dfl.algorithms.DFedSAM(eta=1 / np.sqrt(600), K=2, rho=0.0)
    run = exact_history(algorithm, setting.task, setting.network, 300, setting.start)
    assert setting.measure(theorem).estimate == pytest.approx(run.grad_norm_sq[0, :300].mean(), rel=1e-9)
    least = setting.measure(dfl.bounds.get("dfedsam.theorem_4_5", "printed"))
    assert least.estimate == pytest.approx(run.grad_norm_sq[0, 1:].min(), rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"T": 0}, "T = 0 must be a whole number >= 1"),
        ({"K": 1.5}, "K = 1.5 must be a whole number"),
        ({"gap": 0.0}, r"must lie in \(0, 1\]"),
        ({"gap": 1.1}, r"must lie in \(0, 1\]"),
        ({"sigma_l": -1.0}, "must be a number >= 0"),
        ({"f0_gap": np.inf}, "must be a number >= 0"),
        ({"L": 0.0}, "must be a number > 0"),
        ({"sigma_g": 1.0, "m": 1}, "one client alone has no heterogeneity"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        Setting(**changes)


@pytest.mark.parametrize(
    ("setting", "variant"),
    [(Setting(rho0=1.0), "corrected"), (Setting(m=17), "corrected"), (Setting(f0_gap=1.0), "printed")],
    ids=["SAM", "many clients", "a minimum"],
)
def test_horizons_that_nobody_waits_for_are_refused(setting, variant):
    with pytest.raises(InputError, match="T = 1000000 rounds are too many to follow one by one"):
        setting.measure(dfl.bounds.get("dfedsam.theorem_4_5", variant))


def test_an_unknown_parameter_names_the_nearest():
    with pytest.raises(UnknownNameError, match="sigma_l"):
        rate_fit(KEY, NOISE, "sigma_1", [1, 2, 3], variant="corrected")
    with pytest.raises(UnknownNameError, match="gap"):
        Setting().with_value("gapp", 0.1)


def test_seeds_deviate_at_the_round_of_the_least_mean():
    task = dfl.tasks.quadratic(m=2, d=2, sigma=0.5, seed=0)
    run = dfl.train(dfl.algorithms.DFedSAM(eta=0.1, K=1), task, np.full((2, 2), 0.5), rounds=8, seeds=6)
    samples = run.grad_norm_sq[:, 1:]
    best = samples[:, samples.mean(axis=0).argmin()]
    least = measure(run, dfl.bounds.get("dfedsam.theorem_4_5", "printed"))
    assert least.estimate == pytest.approx(best.mean())
    np.testing.assert_allclose(least.deviations, best / best.mean() - 1)
    mean = measure(run, dfl.bounds.get("dfedsam.theorem_4_5", "corrected"))
    per_seed = run.grad_norm_sq[:, :8].mean(axis=1)
    np.testing.assert_allclose(mean.deviations, per_seed / per_seed.mean() - 1)
    assert measure(mean, dfl.bounds.get(KEY)) is mean
    sure = Measured(1.0, None, {})
    np.testing.assert_allclose(together([mean, sure])[:, 1], 0)
    np.testing.assert_allclose(together([mean, sure])[:, 0], mean.deviations)
    assert together([sure, sure]) is None
    with pytest.raises(InputError, match="as many seeds"):
        together([mean, Measured(1.0, np.zeros(3), {})])


def given(exponent, **known):
    """Points of a planted power law that know the values of a theorem."""
    return lambda T: Measured(3 * T**exponent, None, {"T": T, **known})


def test_a_statement_without_a_schedule_predicts_its_own_exponent_at_the_points():
    quoted = {"sigma_g": 0.0, "B": 0.0, "lam": 0.5}  # then only 1/sqrt(T) is left
    found = rate_fit("dfedsam.rate_quoted_dfedavg", given(-0.5, **quoted), "T", [10, 100, 1000])
    assert found.prediction is None
    assert found.predicted == pytest.approx(-0.5)
    assert found.bound_exponent == found.predicted
    assert found.bound == pytest.approx([10**-0.5, 100**-0.5, 1000**-0.5])
    assert found.measured == pytest.approx([3 * 10**-0.5, 3 * 100**-0.5, 3 * 1000**-0.5])
    assert found.regimes is None
    unknown = rate_fit("dfedsam.rate_quoted_dfedavg", given(-0.5), "T", [10, 100, 1000])
    assert (unknown.predicted, unknown.bound_exponent, unknown.standing) == (None, None, "no prediction")
    assert np.isnan(unknown.bound).all()
    assert str(unknown).endswith("]")


@pytest.mark.parametrize(
    "horizons", [[1e3, 1e4, 1e5, 1e6], [2**k for k in range(5, 12)], [1e6, 1e8, 1e10, 1e12]]
)
def test_logarithms_of_a_claim_are_divided_out_and_hidden_ones_are_named(horizons):
    """On exact data log(T)/T a claim of O(log(T)/T) stands, of O(1/T) falls, and O(1/T^2) falls for good."""

    def made(T):
        return Measured(3 * np.log(T) / T, None, {"T": T})

    asked = ("dfedsam.rate_quoted_dfedavg", made, "T", horizons)
    claimed = rate_fit(*asked, predicted=-1.0, logs=1)
    assert (claimed.standing, claimed.logs) == ("consistent", 1)
    assert claimed.exponent.estimate == pytest.approx(-1, abs=1e-9)
    assert "beside log(T)^1" in str(claimed)
    silent = rate_fit(*asked, predicted=-1.0)
    assert (silent.standing, silent.hidden_logs) == ("refuted", 1)
    assert str(silent).endswith("refuted; a factor log(T)^1 would explain it")
    false = rate_fit(*asked, predicted=-2.0)
    assert (false.standing, false.hidden_logs) == ("refuted", None)
    twice = rate_fit(asked[0], lambda T: Measured(np.log(T) ** 2 / T, None, {}), *asked[2:], predicted=-1.0)
    assert twice.hidden_logs == 2
    with pytest.raises(InputError, match="where they are positive"):
        rate_fit(*asked[:3], [0.5, 10, 100], predicted=-1.0, logs=1)


def test_the_logarithms_of_a_registered_bound_are_predicted():
    theorem, T = dfl.bounds.get(KEY, "corrected"), dfl.bounds.GLOSSARY["T"].symbol
    for power in (1, Fraction(1, 2)):
        factor = sp.log(T) ** sp.Rational(power)
        own = replace(theorem, parts={name: part * factor for name, part in theorem.parts.items()})
        point = {**dict.fromkeys(own.needs, 0.5), "T": 1e6, "K": 2, "m": 4, "Q": 1}
        found = predict(own, "T", [point])
        assert (found.exponent, found.logs) == (Fraction(-1, 2), power)
        assert f"log(T)^({power})" in str(found)
        assert predict(own, "m", [point]).logs == 0
    fit = rate_fit(
        own, lambda T: Measured((np.log(T) / T) ** 0.5, None, {**point, "T": T}), "T", [1e3, 1e5, 1e7]
    )
    assert (fit.standing, fit.logs, fit.predicted) == ("consistent", 0.5, -0.5)
    assert predict(theorem, "T", [point]).logs == 0


def test_logarithms_of_a_gap_are_those_of_its_inverse():
    gaps = np.geomspace(0.1, 1e-5, 6)
    found = fit_points("gap", gaps, np.log(1 / gaps) / gaps, [np.nan] * 6, predicted=-1.0, logs=1)
    assert found.standing == "consistent"
    assert "log(1/gap)" in str(found)
    assert fit_points("gap", gaps, np.log(1 / gaps) / gaps, [np.nan] * 6, predicted=-1.0).hidden_logs == 1


@pytest.mark.parametrize(
    ("y", "logs", "hidden"),
    [
        (lambda T: T**-0.9, 0, None),  # a power law, which no logarithm makes straighter
        (lambda T: T**-0.9, 1, None),
        (lambda T: np.log(T) ** 0.5 / T, 0, 0.5),
        (lambda T: np.log(T) / T, 0, 1),
        (lambda T: np.log(T) ** 2 / T, 0, 2),
        (lambda T: np.log(T) ** 2 / T, 1, 1),  # beside the one that the claim has
    ],
)
@pytest.mark.parametrize("points", [6, 10])
def test_hidden_logarithms_are_those_that_straighten_the_points(y, logs, hidden, points):
    T = np.geomspace(1e2, 1e7, points)
    found = fit_points("T", T, y(T), [np.nan] * points, predicted=-1.0, logs=logs)
    assert found.hidden_logs == hidden
    assert ("would explain it" in str(found)) is (hidden is not None)


def test_a_parameter_that_no_rate_names_can_be_held_against_a_number():
    setting = Setting(T=10**9, sigma_l=1.0, m=4, K=1, letters={"alpha": 0.5})
    theorem = dfl.bounds.get("dfedsgpsm.theorem_1", "corrected_b")
    found = rate_fit(theorem, setting, "alpha", [0.2, 0.4, 0.8], predicted=0.0)
    assert (found.parameter, found.predicted, found.prediction) == ("alpha", 0.0, None)
    with pytest.raises(UnknownNameError, match="alpha"):
        rate_fit(theorem, setting, "alpha", [0.2, 0.4, 0.8])


def test_two_regimes_of_a_left_hand_side_are_told_with_its_fit():
    setting = Setting(sigma_l=1.0, sigma_g=3.0, gap=0.05, m=8)
    found = rate_fit(KEY, setting, "T", list(np.geomspace(1e5, 1e13, 9)), variant="corrected")
    assert found.regimes is not None
    assert found.regimes.before.estimate < -0.75
    assert -0.55 < found.regimes.after.estimate < -0.5
    assert 1e7 < found.regimes.knee < 1e9
    assert found.regimes.gain > 10
    assert found.standing == "consistent"
    assert found.bound_exponent is not None
    assert -1 < found.bound_exponent < -0.5


def test_a_run_that_diverged_or_never_began_has_no_exponent():
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
    task = dfl.tasks.quadratic(m=2, d=2, sigma=0.5, seed=0)
    wild = dfl.train(dfl.algorithms.DFedSAM(eta=1e6, K=50), task, np.full((2, 2), 0.5), rounds=9, seeds=2)
    wild.grad_norm_sq[:, 1:] = np.inf
    with pytest.raises(InputError, match="diverged"):
        measure(wild, theorem)
    still = exact_history(dfl.algorithms.DFedAvg(eta=0.1, K=1), task, np.full((2, 2), 0.5), rounds=0)
    with pytest.raises(InputError, match="no round that dfedsam"):
        measure(still, theorem)


# -- speed-up --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "values", "predicted"),
    [
        ("m", [4, 6, 8], 2),
        pytest.param("gap", [0.08, 0.04, 0.02, 0.01], -4, marks=pytest.mark.slow),
        pytest.param("K", [1, 2, 4], 3, marks=pytest.mark.slow),
    ],
    ids=["m", "gap", "K"],
)
def test_the_transient_time_grows_as_the_registry_promises(parameter, values, predicted):
    setting = Setting(sigma_l=1.0, sigma_g=1.0, gap=0.05, m=4, K=1)
    found = transient_fit(KEY, setting, parameter, values)
    assert found.predicted == predicted
    assert found.standing == "consistent"
    assert found.exponent.estimate == pytest.approx(predicted, abs=0.5)
    assert str(found).endswith(f"predicted {predicted:.3f}: consistent")


def test_from_the_transient_time_on_the_gain_is_the_share_asked_for():
    theorem = dfl.bounds.get(KEY, "corrected")
    setting = Setting(sigma_l=1.0, sigma_g=1.0, gap=0.05, m=6, K=1)
    T = horizon_of_speed_up(theorem, setting, share=0.7)

    def gain(T):
        one = setting.with_value("sigma_g", 0.0).with_value("m", 1).with_value("T", T).measure(theorem)
        return one.estimate / setting.with_value("T", T).measure(theorem).estimate

    assert gain(T) == pytest.approx(0.7 * 6, rel=2e-3)
    assert gain(100 * T) > 0.95 * 6
    assert gain(T // 4) < 0.7 * 6
    # clients that agree feel no network: they are m times better from the first round on
    assert horizon_of_speed_up(theorem, Setting(sigma_l=1.0, m=4)) == 1
    with pytest.raises(InputError, match=r"3 times better than one by T = 1e13"):
        horizon_of_speed_up(theorem, Setting(sigma_l=1e-3, sigma_g=10.0, gap=0.01, m=6))
    with pytest.raises(InputError, match="sigma_l > 0 and m >= 2"):
        horizon_of_speed_up(theorem, Setting(sigma_g=1.0))
    with pytest.raises(InputError, match="share"):
        horizon_of_speed_up(theorem, setting, share=1.0)
