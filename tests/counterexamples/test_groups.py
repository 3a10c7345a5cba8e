"""Groups of identical clients: two simulated clients represent all clients of their
groups exactly.
"""

from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DPSGD, DFedSAM
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.families.local_drift import parabolas
from dfltheory.counterexamples.networks import candidate_networks
from dfltheory.counterexamples.noisy_parabola import NoisyParabola
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.search_spaces import search_spaces

STATEMENT = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
PAIR = np.array([[0.9, 0.1], [0.1, 0.9]])


def two_groups(size, sigma=0.0, algorithm=None):
    """Return parabolas with equal curvatures (with noise) or different ones, in groups
    of a given size.
    """
    k = np.array([[1.0, 1.0 if sigma else 0.2]])
    clients = parabolas(k, 50.0)
    start = np.full((1, 2, 1), 0.7)
    algorithm = algorithm or DFedSAM(eta=0.05, K=3, rho=0.0, Q=2)
    noise = np.full((1, 1), sigma)
    return CandidateBatch(
        algorithm, clients, start, PAIR[None, None], noise, copies=size
    )


@pytest.mark.parametrize("sigma", [0.0, 0.3])
@pytest.mark.parametrize(
    "algorithm",
    [
        DFedSAM(eta=0.05, K=3, rho=0.0, Q=2),
        DPSGD(eta=0.05),
        DPSGD(eta=0.05, order="adapt-then-combine"),
    ],
)
def test_two_clients_are_as_exact_as_eight(sigma, algorithm):
    few = two_groups(4, sigma, algorithm)
    every = CandidateBatch.of(few.alone(0, few.x0, 30))
    assert every.x0.shape == (1, 8, 1)
    assert every.copies == 1
    small, large = simulate(few, 30), simulate(every, 30)
    for name in ("grad_norm_sq", "loss"):
        np.testing.assert_allclose(small.left[name], large.left[name], rtol=1e-11)
    np.testing.assert_allclose(small.value, large.value, rtol=1e-11)
    assert few.m == every.m == 8


def test_groups_are_recognized_and_nothing_else():
    few = two_groups(4)
    every = CandidateBatch.of(few.alone(0, few.x0, 3))
    again = every.grouped()
    assert again.copies == 4
    np.testing.assert_allclose(again.W, few.W)
    np.testing.assert_array_equal(again.x0, few.x0)
    np.testing.assert_array_equal(again.clients.slopes, few.clients.slopes)
    moved = replace(every, x0=every.x0 + np.arange(8)[None, :, None])
    assert moved.grouped() is moved
    W = every.W.copy()
    W[0, 0, 0, 1] += 0.01
    W[0, 0, 0, 0] -= 0.01
    other = replace(every, W=W)
    assert other.grouped() is other
    slopes = every.clients.slopes.copy()
    slopes[0, 1] = 0.5
    parts = (every.clients.knots, every.clients.widths, slopes, every.clients.left)
    other = replace(every, clients=Ramps(*parts))
    assert other.grouped() is other


def test_noise_of_sixteen_clients_is_that_of_the_closed_form():
    """One client represents 16 if all use the mean over all clients."""
    eta, K, sigma, s, m = 0.1, 2, 0.4, 0.5, 16
    far = np.full((1, 1, 1), 1e3)
    clients = Ramps(-far, 2 * far, np.ones((1, 1, 1)), -far[..., 0])
    algorithm = DFedSAM(eta=eta, K=K, rho=0.0, Q=1)
    one = np.ones((1, 1, 1, 1))
    batch = CandidateBatch(
        algorithm, clients, np.full((1, 1, 1), s), one, np.full((1, 1), sigma), copies=m
    )
    path = simulate(batch, 20)
    expected = NoisyParabola(1.0, s, sigma, eta, K, m).expected(np.arange(21))
    np.testing.assert_allclose(path.left["grad_norm_sq"][:, 0], expected, rtol=1e-10)
    assert CandidateBatch.of(batch.alone(0, batch.x0, 5)).grouped().copies == m


def test_the_statement_sees_all_clients():
    spaces = [s for s in search_spaces(STATEMENT) if "two groups" in s.name]
    assert {s.name.split(", ")[-1] for s in spaces} == {"8 clients", "64 clients"}
    for space in spaces[:2]:
        points = np.random.default_rng(0).random((3, space.dimension))
        batch = space.decode(points, {"rho": 0.0})
        assert batch.m in (8, 64)
        assert len(batch.x0[0]) == 2
        assert batch.alone(0, batch.x0, 4).task.m == batch.m


def test_groups_are_not_searched_where_single_clients_count():
    for key, variant in (
        ("dfedadmm.theorem_1", "corrected_second_moment"),
        ("dfedmdc.theorem_1", "corrected"),
    ):
        names = [net.name for net in candidate_networks(dfl.bounds.get(key, variant))]
        assert not any("groups" in name for name in names)
