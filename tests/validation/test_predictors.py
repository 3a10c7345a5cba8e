"""The page on predictors agrees with its stored runs, which can be repeated."""

import numpy as np
import pytest

from dfltheory.graphs import spectral_gap
from validation import predictors
from validation.predictors import NETWORKS, Row, mixing_matrix


@pytest.fixture(scope="module")
def rows():
    return predictors.stored()


def test_page_is_that_of_the_stored_runs(rows):
    assert predictors.PAGE.read_text() == predictors.page(rows)
    assert [row.network for row in rows] == list(NETWORKS)
    assert len(rows) == 12


def test_predictors_are_those_of_the_networks(rows):
    """Computed from the eigenvalues of each matrix with the formulas of the page."""
    for row in rows:
        W = mixing_matrix(row.network)
        squares = np.sort(np.linalg.eigvalsh(W) ** 2)[:-1]
        assert row.gap == pytest.approx(1 - spectral_gap(W), abs=1e-12)
        spectrum = (squares / (1 - squares)).sum() / 16
        assert row.spectrum == pytest.approx(spectrum, rel=1e-9, abs=1e-12)
        decay = 0.81
        inverse = (1 - decay) * (
            1 / (1 - decay) + (squares / (1 - decay * squares)).sum()
        )
        assert row.neighbors == pytest.approx(inverse / 16, rel=1e-9)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("network", ["ring", "star"])
def test_errors_from_heterogeneity_are_measured_again(rows, network):
    (row,) = (row for row in rows if row.network == network)
    again = predictors.excess_of_clients(
        mixing_matrix(network), zeta=1.0, sigma=0.0, seeds=1
    )
    assert again == pytest.approx(row.heterogeneity, rel=1e-6)


def test_error_from_noise_is_the_stationary_variance(rows):
    """On quadratics, a deviation along curvature h and eigenvalue l has a known
    stationary variance.

    It is eta^2 sigma^2 l^2/(d (1 - (1 - eta h)^2 l^2)), with l = 1 for the mean. The
    runs with 16 seeds agree within 15 %.
    """
    eta, d, m = predictors.ETA, predictors.DIMENSION, predictors.CLIENTS
    curvatures = np.linspace(0.1, 1.0, d)
    for row in rows:
        squares = np.linalg.eigvalsh(mixing_matrix(row.network)) ** 2
        squares[-1] = 1.0
        h, l2 = curvatures[:, None], squares[None]
        variance = eta**2 * l2 / (d * (1 - (1 - eta * h) ** 2 * l2))
        assert row.noise == pytest.approx((h / 2 * variance).sum() / m, rel=0.15)


def test_correlations_are_of_ranks():
    """A convex increasing outcome has rank correlation 1, a decreasing one -1."""
    rows = [
        Row(
            str(k),
            gap=k,
            spectrum=-k,
            neighbors=k**3,
            noise=2.0**k,
            heterogeneity=-k,
            digits=(k - 1) ** 2,
        )
        for k in range(4)
    ]
    table = predictors.correlations(rows)
    assert table["noise"] == pytest.approx({"gap": 1, "spectrum": -1, "neighbors": 1})
    assert table["heterogeneity"]["gap"] == pytest.approx(-1)
    assert table["digits"]["gap"] == pytest.approx(0.6324555320336759)
