"""Measured exponents under a theorem's schedule are compared with those that its rate
predicts.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.exact import exact_history
from dfltheory.rates import Measured, fit_exponent, measure, rate_fit, with_value
from dfltheory.rates.measured import stacked_deviations
from dfltheory.verdicts.schedule import scheduled_algorithm
from validation.crossings import sam_trap
from validation.rates import clients, clients_over

KEY = "dfedsam.corollary_4_6"
COROLLARY = dfl.bounds.get(KEY, "corrected")
NOISE = {"T": 10**9, "sigma_l": 1.0, "K": 2}
SPREAD = {"T": 10**10, "sigma_g": 1.0, "K": 2, "m": 4, "gap": 0.05}


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("constants", "vary", "over", "exponent"),
    [
        (NOISE, "T", [1e8, 1e9, 1e10, 1e11], -0.5),
        (NOISE, "K", [1, 2, 4, 8], -0.5),
        (NOISE, "sigma_l", [0.5, 1, 2, 4], 2.0),
        (SPREAD, "T", [1e9, 1e10, 1e11, 1e12], -1.0),
        (SPREAD, "K", [2, 4, 8, 16], 1.0),
        (SPREAD, "1 - lam", [0.1, 0.05, 0.025, 0.0125], -2.0),
        (SPREAD, "sigma_g", [0.5, 1, 2, 4], 2.0),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_exact_expectations_have_the_exponents_that_the_rate_predicts(
    constants, vary, over, exponent
):
    experiment = clients_over(COROLLARY, vary, **constants)
    found = rate_fit(COROLLARY, experiment, vary, over)
    assert (found.predicted, found.verdict, found.reason) == (
        exponent,
        "consistent",
        "",
    )
    assert found.terms
    assert found.transient is None
    assert found.exponent.estimate == pytest.approx(exponent, abs=0.15)
    assert all(b > y for y, b in zip(found.measured, found.bound, strict=True))
    # measured exponents are worse than a prediction that promises a quarter more
    better = 0.25 if vary == "1 - lam" else -0.25
    wrong = rate_fit(COROLLARY, experiment, vary, over, predicted=exponent + better)
    assert (wrong.verdict, wrong.terms) == ("worse", ())


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("constants", "vary", "over"),
    [
        (NOISE, "T", [1e8, 1e9, 1e10]),
        (NOISE, "K", [1, 2, 4]),
        (SPREAD, "1 - lam", [0.1, 0.05, 0.025]),
        (
            {"T": 40, "sigma_g": 1.0, "m": 2, "gap": 1.0, "rho0": 0.5, "seeds": 1},
            "rho0",
            [1, 2, 4],
        ),
    ],
)
def test_an_experiment_whose_field_is_set_measures_what_a_function_of_the_value_does(
    constants, vary, over
):
    one = rate_fit(COROLLARY, clients(COROLLARY, **constants), vary, over)
    other = rate_fit(COROLLARY, clients_over(COROLLARY, vary, **constants), vary, over)
    np.testing.assert_allclose(one.measured, other.measured, rtol=1e-9)
    np.testing.assert_allclose(one.bound, other.bound, rtol=1e-9)
    assert (one.predicted, one.verdict) == (other.predicted, other.verdict)


# -- the schedule


def with_network_schedule():
    """Return a user's theorem whose step size contains lam: eta = (1 - lam^2)/(8 L
    sqrt(T)).
    """
    lam, L, T, m, sigma_l, f0_gap, eta = (
        GLOSSARY[name].symbol
        for name in ("lam", "L", "T", "m", "sigma_l", "f0_gap", "eta")
    )
    return replace(
        COROLLARY,
        key="mine.network_schedule",
        parts={
            "optimization": 2 * f0_gap / (eta * T),
            "noise": 2 * L * eta * sigma_l**2 / m,
        },
        schedule={"eta": (1 - lam**2) / (8 * L * sp.sqrt(T)), "rho": sp.Integer(0)},
        conditions=(),
        definitions=(),
        of=None,
    )


def test_rate_fit_takes_the_network_constant_of_the_schedule_from_the_varied_gap():
    theorem = with_network_schedule()
    experiment = clients(theorem, T=10**9, sigma_l=1.0, m=4)
    gaps = [0.1, 0.05, 0.025, 0.0125]
    found = rate_fit(theorem, experiment, "1 - lam", gaps)
    assert (found.predicted, found.verdict) == (1, "consistent")
    assert found.exponent.estimate == pytest.approx(1, abs=0.05)
    etas = [
        with_value(experiment, theorem, "1 - lam", gap).algorithm.eta for gap in gaps
    ]
    expected = [(1 - (1 - gap) ** 2) / (8 * np.sqrt(1e9)) for gap in gaps]
    assert etas == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["f0_gap", "sigma_g", "sigma_l"])
def test_rate_fit_takes_every_constant_of_the_schedule_from_the_experiment(name):
    theorem = replace(
        with_network_schedule(),
        schedule={"eta": GLOSSARY[name].symbol / 8, "rho": sp.Integer(0)},
    )
    for value in (0.25, 0.5):
        constants = {"sigma_l": 0.5, "sigma_g": 0.5, "f0_gap": 0.5, name: value}
        experiment = clients(theorem, T=20, m=4, **constants)
        twice = replace(
            experiment, algorithm=replace(experiment.algorithm, eta=value / 4)
        )
        for made, factor in ((experiment, 1), (twice, 2)):
            eta = with_value(made, theorem, "1 - lam", 0.4).algorithm.eta
            assert eta == pytest.approx(factor * value / 8)


def test_scheduled_algorithm_takes_lam_from_the_network_and_rejects_another_one():
    theorem = with_network_schedule()
    experiment = clients(theorem, T=100, gap=0.25, m=4)
    task, network = experiment.task, experiment.network
    made = scheduled_algorithm(theorem, task, 100, network, K=1, L=1.0)
    assert made.eta == pytest.approx((1 - 0.75**2) / 80)
    same = scheduled_algorithm(theorem, task, 100, network, K=1, L=1.0, lam=0.75)
    assert same.eta == pytest.approx(made.eta)
    for wrong in ({"lam": 0.5}, {"T": 5}, {"m": 7}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            scheduled_algorithm(theorem, task, 100, network, K=1, L=1.0, **wrong)
    with pytest.raises(InputError, match="lam"):
        scheduled_algorithm(theorem, task, 100, K=1, L=1.0)


def test_rate_fit_rejects_runs_that_do_not_follow_the_schedule():
    theorem = with_network_schedule()

    def run(gap, scale):
        point = clients(theorem, T=100, sigma_l=1.0, m=4, gap=gap)
        algorithm = dfl.algorithms.DFedSAM(eta=scale / 80, K=1, rho=0.0)
        return exact_history(algorithm, point.task, point.network, 100, point.x0)

    def constant_step(gap):
        return run(gap, 0.1)

    def three_times_the_schedule(gap):
        return run(gap, 3 * (1 - (1 - gap) ** 2))

    with pytest.raises(InputError, match="eta"):
        rate_fit(theorem, constant_step, "1 - lam", [0.4, 0.2, 0.1])
    assert (
        rate_fit(theorem, three_times_the_schedule, "1 - lam", [0.4, 0.2, 0.1]).verdict
        != "worse"
    )


# -- what must not be refuted


def test_constants_that_change_with_the_varied_quantity_decide_nothing():
    """On a ring, lam increases with m, so the left-hand side does not show the exponent
    at fixed lam.
    """

    def ring(m):
        made = clients(COROLLARY, T=10**7, sigma_g=1.0, m=m)
        order = [*range(0, m, 2), *range(1, m, 2)]  # equal clients are neighbors
        W = np.empty((m, m))
        W[np.ix_(order, order)] = dfl.graphs.metropolis(dfl.graphs.ring(m))
        return replace(made, network=W)

    found = rate_fit(COROLLARY, ring, "m", [4, 8, 12])
    assert (found.verdict, found.predicted) == ("undecided", None)
    assert "lam" in found.reason
    at_fixed_lam = clients_over(COROLLARY, "m", T=10**7, sigma_g=1.0, gap=0.1)
    assert rate_fit(COROLLARY, at_fixed_lam, "m", [4, 8, 12]).verdict == "consistent"
    assert found.exponent.low > 1  # and would have been called worse


def test_runs_that_ignore_the_varied_quantity_decide_nothing():
    experiment = clients(COROLLARY, **NOISE)
    found = rate_fit(COROLLARY, lambda sigma_l: experiment, "sigma_l", [1, 2, 4])
    assert (found.verdict, "sigma_l" in found.reason) == ("undecided", True)


def with_logarithm(theorem):
    """Return the theorem with a bound that is log T times as large."""
    factor = sp.log(GLOSSARY["T"].symbol)
    parts = {name: part * factor for name, part in theorem.parts.items()}
    return replace(theorem, parts=parts)


def test_a_logarithm_in_the_bound_decides_nothing():
    own = with_logarithm(COROLLARY)
    found = rate_fit(own, clients(COROLLARY, **NOISE), "T", [1e8, 1e9, 1e10])
    assert (found.verdict, found.predicted) == ("undecided", None)


@pytest.mark.slow
def test_a_logarithm_does_not_change_an_exponent_in_another_quantity():
    own = with_logarithm(COROLLARY)
    found = rate_fit(own, clients(COROLLARY, **NOISE), "K", [1, 2, 4])
    assert found.verdict == "consistent"


@pytest.mark.parametrize(
    ("horizons", "far"),
    [
        ([10, 20, 40, 80], False),
        pytest.param([100, 400, 1600, 6400], False, marks=pytest.mark.slow),
        pytest.param([1e8, 1e9, 1e10, 1e11], True, marks=pytest.mark.slow),
    ],
)
def test_the_start_falls_as_the_optimization_term_and_never_refutes_it_on_the_way(
    horizons, far
):
    experiment = clients(COROLLARY, T=100, f0_gap=1.0, m=2)
    found = rate_fit(KEY, experiment, "T", horizons, variant="corrected")
    assert found.predicted == -0.5
    assert found.verdict != "worse"
    if far:
        assert found.verdict == "consistent"
        assert found.exponent.estimate == pytest.approx(-0.5, abs=1e-3)


@pytest.mark.slow
def test_a_rate_that_a_paper_states_is_consistent_and_a_faster_one_is_not():
    # Remark 2 of DFedSGPSM: O(1/T^(1/2)), next to which SAM's share, O(1/T + 1/(T^2 K
    # delta)), is neglected
    remark = dfl.bounds.get("dfedsgpsm.rate_remark_2")
    experiment = clients(remark, sigma_l=1.0, m=4, K=2, T=10**9, alpha=0.5)
    horizons = [1e8, 1e9, 1e10]
    found = rate_fit(remark, experiment, "T", horizons)
    assert (found.predicted, found.terms) == (-0.5, ("1 / (T^(1/2))",))
    # gradients of quadratics are not bounded, as the remark assumes
    assert (found.verdict, "bounded" in found.reason) == ("undecided", True)
    claimed = rate_fit(remark, experiment, "T", horizons, predicted=-0.5)
    assert str(claimed).endswith("predicted -0.500: consistent")
    assert rate_fit(remark, experiment, "T", horizons, predicted=-1).verdict == "worse"
    kept = rate_fit(
        "dfedsgpsm.theorem_1",
        experiment,
        "T",
        horizons,
        variant="corrected_no_bounded_gradients",
    )
    assert (kept.predicted, kept.verdict) == (-0.5, "consistent")


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("key", "variant", "hyperparameters"),
    [
        ("dfedsgpsm.theorem_1", "corrected_no_bounded_gradients", {"alpha": 0.5}),
        ("dfedadmm.theorem_1", "corrected_no_bounded_gradients", {}),
    ],
)
def test_momentum_and_admm_rates_in_the_noise(key, variant, hyperparameters):
    theorem = dfl.bounds.get(key, variant)
    experiment = clients_over(theorem, "sigma_l", m=4, K=2, T=10**13, **hyperparameters)
    found = rate_fit(theorem, experiment, "sigma_l", [1, 2, 4])
    assert found.exponent.estimate == pytest.approx(2, abs=0.01)
    assert (found.predicted, found.verdict) == (2, "consistent")


# -- runs, seeds, and points measured elsewhere


@pytest.mark.slow
def test_histories_of_a_function_make_the_exponent_in_rho():
    # SAM stays at 0, where its ascent step lands on a stationary point and the slope is
    # L rho
    W, T = np.full((2, 2), 0.5), 100

    def run(rho0):
        rho = rho0 / np.sqrt(T)
        task = sam_trap(2, L=1.0, rho=rho, B=2 * rho)
        algorithm = dfl.algorithms.DFedSAM(eta=1 / np.sqrt(T), K=1, rho=rho)
        return dfl.train(
            algorithm, task, W, rounds=T, seeds=2, x0=np.zeros(1), progress=False
        )

    found = rate_fit("dfedsam.theorem_4_5", run, "rho", [0.5, 1, 2, 4], predicted=2.0)
    assert found.exponent.estimate == pytest.approx(2, abs=1e-9)
    assert found.measured[1] == pytest.approx(1 / T)
    assert found.verdict == "consistent"
    # the task depends on rho, so the theorem predicts nothing here
    found = rate_fit("dfedsam.theorem_4_5", run, "rho", [0.5, 1, 2, 4])
    assert (found.verdict, "f0_gap" in found.reason) == ("undecided", True)


def test_runs_with_sam_have_seeds_and_an_interval_from_them():
    experiment = clients_over(
        COROLLARY, "sigma_l", T=150, m=4, gap=1.0, rho0=0.1, seeds=12
    )
    found = rate_fit(COROLLARY, experiment, "sigma_l", [0.5, 1, 2])
    assert found.exponent.estimate == pytest.approx(2, abs=0.1)
    assert 1e-6 < found.exponent.high - found.exponent.low < 1
    assert (found.predicted, found.verdict) == (2, "consistent")
    # the interval is based on the seeds or, without them, on the scatter about the line
    seeds = stacked_deviations(
        [measure(experiment(value), COROLLARY) for value in found.x]
    )
    assert found.exponent == fit_exponent(found.x, found.measured, deviations=seeds)
    assert found.exponent != fit_exponent(found.x, found.measured)


def test_sam_is_sampled_however_small_rho_is():
    experiment = clients(COROLLARY, T=5, m=2, sigma_l=1.0, rho0=1e-12, seeds=3)
    assert measure(experiment, COROLLARY).deviations is not None
    without = clients(COROLLARY, T=5, m=2, sigma_l=1.0, seeds=3)
    assert measure(without, COROLLARY).deviations is None


def test_sampled_runs_and_exact_expectations_fit_the_same_exponent():
    experiment = clients(COROLLARY, K=2, m=2, sigma_l=1.0, f0_gap=0.05, T=50, seeds=40)

    def sampled(T):
        return with_value(experiment, COROLLARY, "T", T).run(progress=False)

    horizons = [40, 80, 160, 320]
    one, other = (
        rate_fit(COROLLARY, given, "T", horizons) for given in (experiment, sampled)
    )
    assert (
        one.exponent.high - one.exponent.low < other.exponent.high - other.exponent.low
    )
    assert other.exponent.low < one.exponent.estimate < other.exponent.high
    assert one.predicted == other.predicted == -0.5
    assert "worse" not in (one.verdict, other.verdict)
    np.testing.assert_allclose(other.measured, one.measured, rtol=0.25)
    np.testing.assert_allclose(other.bound, one.bound, rtol=1e-9)


@pytest.mark.slow
def test_two_blocks_fall_as_their_theorem_predicts():
    task, W = dfl.tasks.coupled(m=4), dfl.graphs.metropolis(dfl.graphs.complete(4))
    vars(task)["constants"] = replace(task.constants, delta_u=math.inf)

    @cache
    def run(T):
        algorithm = scheduled_algorithm(
            "dfedmdc.theorem_1", task, T, W, variant="corrected", K_u=2, K_v=2
        )
        return dfl.train(algorithm, task, W, rounds=T, seeds=8, progress=False)

    found = rate_fit(
        "dfedmdc.theorem_1", run, "T", [100, 200, 400, 800], variant="corrected"
    )
    assert "sigma_u^2 / (K_u L_u T^(1/2) m)" in found.terms
    assert found.exponent.estimate == pytest.approx(-0.5, abs=0.05)
    # the conditions on the step sizes hold from T = 1024 on
    assert (found.predicted, found.verdict) == (-0.5, "undecided")
    assert "(1 - lam)/32" in found.reason
    # delta_u is infinite: the bound is vacuous, its rate is not
    assert np.isnan(found.bound).all()
    claimed = rate_fit(
        "dfedmdc.theorem_1",
        run,
        "T",
        [100, 200, 400, 800],
        variant="corrected",
        predicted=-0.5,
    )
    assert claimed.verdict == "consistent"


def test_long_horizons_are_summed_as_short_ones_are_simulated():
    experiment = clients(
        COROLLARY, T=300, K=2, m=3, gap=0.4, sigma_l=0.5, sigma_g=0.5, f0_gap=0.1
    )
    run = exact_history(
        experiment.algorithm, experiment.task, experiment.network, 300, experiment.x0
    )
    assert measure(experiment, COROLLARY).estimate == pytest.approx(
        run.grad_norm_sq[0, :300].mean(), rel=1e-9
    )
    least = measure(experiment, dfl.bounds.get("dfedsam.theorem_4_5", "printed"))
    assert least.estimate == pytest.approx(run.grad_norm_sq[0, 1:].min(), rel=1e-9)
    values = measure(experiment, COROLLARY).values
    assert (values["T"], values["m"], values["K"], values["rho0"]) == (300, 3, 2, 0)
    assert values["lam"] == pytest.approx(0.6)
    assert values["eta"] == pytest.approx(1 / np.sqrt(600))
    assert values["f0_gap"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("constants", "variant"),
    [
        ({"rho0": 1.0}, "corrected"),
        ({"m": 17}, "corrected"),
        ({"f0_gap": 1.0}, "printed"),
    ],
    ids=["SAM", "many clients", "a minimum"],
)
def test_horizons_that_are_too_long_to_simulate_are_rejected(constants, variant):
    experiment = clients(COROLLARY, **constants)
    with pytest.raises(InputError, match="T = 1000000"):
        measure(experiment, dfl.bounds.get("dfedsam.theorem_4_5", variant))


def test_impossible_arguments_are_rejected():
    experiment = clients(COROLLARY, **NOISE)
    with pytest.raises(UnknownNameError, match="sigma_l"):
        rate_fit(COROLLARY, experiment, "sigma_1", [1, 2, 3])
    with pytest.raises(UnknownNameError, match="alpha"):
        rate_fit(COROLLARY, experiment, "alpha", [0.2, 0.4, 0.8])
    with pytest.raises(InputError, match="experiment"):
        rate_fit(COROLLARY, 3.0, "T", [1, 2, 3])


def test_seeds_deviate_at_the_round_of_the_least_mean():
    task = dfl.tasks.quadratic(m=2, d=2, sigma=0.5, seed=0)
    run = dfl.train(
        dfl.algorithms.DFedSAM(eta=0.1, K=1),
        task,
        np.full((2, 2), 0.5),
        rounds=8,
        seeds=6,
    )
    samples = run.grad_norm_sq[:, 1:]
    best = samples[:, samples.mean(axis=0).argmin()]
    least = measure(run, dfl.bounds.get("dfedsam.theorem_4_5", "printed"))
    assert least.estimate == pytest.approx(best.mean())
    np.testing.assert_allclose(least.deviations, best / best.mean() - 1)
    mean = measure(run, dfl.bounds.get("dfedsam.theorem_4_5", "corrected"))
    per_seed = run.grad_norm_sq[:, :8].mean(axis=1)
    np.testing.assert_allclose(mean.deviations, per_seed / per_seed.mean() - 1)
    assert measure(mean, COROLLARY) is mean
    sure = Measured(1.0, None, {})
    np.testing.assert_allclose(stacked_deviations([mean, sure])[:, 1], 0)
    np.testing.assert_allclose(stacked_deviations([mean, sure])[:, 0], mean.deviations)
    assert stacked_deviations([sure, sure]) is None
    with pytest.raises(InputError, match="seeds"):
        stacked_deviations([mean, Measured(1.0, np.zeros(3), {})])


def planted(exponent, **known):
    """Return points of a power law with the values of a theorem's quantities."""
    return lambda T: Measured(3 * T**exponent, None, {"T": T, **known})


def test_a_statement_without_a_schedule_predicts_the_exponent_of_its_bound_at_the_points():
    quoted = {"sigma_g": 0.0, "B": 0.0, "lam": 0.5}  # then only 1/sqrt(T) is left
    found = rate_fit(
        "dfedsam.rate_quoted_dfedavg", planted(-0.5, **quoted), "T", [10, 100, 1000]
    )
    assert (found.predicted, found.verdict, found.terms) == (
        pytest.approx(-0.5),
        "consistent",
        (),
    )
    assert found.bound == pytest.approx([10**-0.5, 100**-0.5, 1000**-0.5])
    assert found.measured == pytest.approx(
        [3 * 10**-0.5, 3 * 100**-0.5, 3 * 1000**-0.5]
    )
    unknown = rate_fit(
        "dfedsam.rate_quoted_dfedavg", planted(-0.5), "T", [10, 100, 1000]
    )
    assert (unknown.predicted, unknown.verdict) == (None, "undecided")
    assert unknown.reason
    assert np.isnan(unknown.bound).all()


def test_a_quantity_of_no_rate_can_be_compared_with_a_number():
    theorem = dfl.bounds.get("dfedsgpsm.theorem_1", "corrected_no_bounded_gradients")
    experiment = clients(theorem, T=10**9, sigma_l=1.0, m=4, alpha=0.5)
    found = rate_fit(theorem, experiment, "alpha", [0.2, 0.4, 0.8], predicted=0.0)
    assert (found.vary, found.predicted) == ("alpha", 0.0)
    with pytest.raises(UnknownNameError, match="alpha"):
        rate_fit(theorem, experiment, "alpha", [0.2, 0.4, 0.8])


def test_a_run_that_diverged_or_never_began_has_no_exponent():
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
    task = dfl.tasks.quadratic(m=2, d=2, sigma=0.5, seed=0)
    wild = dfl.train(
        dfl.algorithms.DFedSAM(eta=1e6, K=50),
        task,
        np.full((2, 2), 0.5),
        rounds=9,
        seeds=2,
    )
    wild.grad_norm_sq[:, 1:] = np.inf
    with pytest.raises(InputError, match="diverged"):
        measure(wild, theorem)
    still = exact_history(
        dfl.algorithms.DFedAvg(eta=0.1, K=1), task, np.full((2, 2), 0.5), rounds=0
    )
    with pytest.raises(InputError, match="round"):
        measure(still, theorem)
