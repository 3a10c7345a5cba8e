"""The linear speed-up and the transient time after which it occurs."""

import pytest

import dfltheory as dfl
from dfltheory.exact import exact_history
from dfltheory.rates import measure, rate_fit, transient_time, with_value
from validation.rates import clients, clients_over

COROLLARY = dfl.bounds.get("dfedsam.corollary_4_6", "corrected")
NOISE = {"T": 10**9, "sigma_l": 1.0, "K": 2}
POOR_NETWORK = {"sigma_l": 1.0, "sigma_g": 1.0, "gap": 0.05}


@pytest.mark.slow
@pytest.mark.parametrize("over", [[2, 3, 4], [4, 6, 8]])
def test_the_transient_of_the_speed_up_grows_as_the_rate_promises(over):
    found = rate_fit(
        COROLLARY, clients_over(COROLLARY, "m", T=10**11, **POOR_NETWORK), "m", over
    )
    assert found.transient.m == tuple(over)
    assert (found.transient.predicted, found.transient.verdict) == (2, "consistent")
    assert found.transient.exponent.estimate == pytest.approx(2, abs=0.5)
    assert str(found.transient) in str(found)


@pytest.mark.slow
def test_the_exponent_in_m_comes_with_the_transient_of_the_speed_up():
    experiment = clients_over(COROLLARY, "m", **NOISE)
    found = rate_fit(COROLLARY, experiment, "m", [2, 3, 4])
    assert (found.predicted, found.verdict) == (-1, "consistent")
    assert found.exponent.estimate == pytest.approx(-1, abs=1e-3)
    # identical clients do not depend on the network: they are m times better from the
    # first round on
    assert (found.transient.rounds, found.transient.predicted) == ((1, 1, 1), 2)
    # exact histories cannot be continued to other horizons
    histories = rate_fit(COROLLARY, lambda m: history_of(experiment(m)), "m", [2, 3, 4])
    assert histories.transient is None


def history_of(experiment):
    short = with_value(experiment, COROLLARY, "T", 30)
    return exact_history(short.algorithm, short.task, short.network, 30, short.x0)


@pytest.mark.parametrize("later", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_from_the_transient_time_on_m_clients_are_half_of_m_times_better(later):
    m = 3
    T = transient_time(COROLLARY, clients(COROLLARY, m=m, **POOR_NETWORK))

    def gain(T):
        one = measure(clients(COROLLARY, m=1, sigma_l=1.0, gap=0.05, T=T), COROLLARY)
        return (
            one.estimate
            / measure(clients(COROLLARY, m=m, T=T, **POOR_NETWORK), COROLLARY).estimate
        )

    assert gain(T) == pytest.approx(0.5 * m, rel=0.01)
    if later:
        assert gain(100 * T) > 0.85 * m
        assert gain(T // 4) < 0.5 * m


def test_without_a_linear_speed_up_there_is_no_transient():
    far_away = {"sigma_l": 1e-3, "sigma_g": 10.0, "gap": 0.01, "m": 3}
    assert transient_time(COROLLARY, clients(COROLLARY, **far_away)) is None
    # no noise to average
    assert transient_time(COROLLARY, clients(COROLLARY, sigma_g=1.0, m=3)) is None
    assert (
        transient_time(COROLLARY, clients(COROLLARY, sigma_l=1.0, f0_gap=1.0, m=3))
        is None
    )
    # SAM
    assert (
        transient_time(COROLLARY, clients(COROLLARY, sigma_l=1.0, rho0=1.0, T=20, m=3))
        is None
    )
