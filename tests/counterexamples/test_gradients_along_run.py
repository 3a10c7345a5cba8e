"""Statements that bound the gradients along the run: B of candidates, and flat starts."""

from dataclasses import replace

import numpy as np
import pytest

from dfltheory.bounds import registry
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import (
    GRADIENT_ERROR,
    candidate_values,
    needs_moments,
)
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.flat_starts import FlatStarts
from dfltheory.counterexamples.families.piecewise import ramps
from dfltheory.counterexamples.reach import searched_algorithm
from dfltheory.counterexamples.score import score
from dfltheory.counterexamples.search import Arm
from dfltheory.counterexamples.search_spaces import search_spaces
from validation.counterexamples.true_versions.version import version

KEY = "dfedsgpsm.theorem_1"
STATEMENT = registry.get(KEY, "corrected")
LOST_POWER = (
    "dfedsgpsm.corollary_1",
    "corrected",
    "1 - lam for its square",
    "initialization",
)
STEPS, WEIGHT = 3, 0.2


def candidates(size=40, rho=0.0, sigma=0.0):
    """Return piecewise-linear problems of two clients that start anywhere."""
    rng = np.random.default_rng(0)
    clients = ramps(Reader(rng.random((size, 18))), 2)
    cls = searched_algorithm(STATEMENT)
    algorithm = cls(eta=0.3, K=STEPS, alpha=0.0, rho=rho)
    W = np.array([[1 - WEIGHT, WEIGHT], [WEIGHT, 1 - WEIGHT]])
    return CandidateBatch(
        algorithm,
        clients,
        rng.uniform(-4, 4, (size, 2, 1)),
        np.tile(W, (size, 1, 1, 1)),
        np.full((size, 1), sigma),
    )


def largest_root_mean_square(batch, rounds):
    """Return the largest gradient of the local steps, by a loop over them."""
    x, largest = batch.x0, np.zeros(batch.size)
    for _ in range(rounds):
        for _ in range(STEPS):
            g = batch.clients.gradient(x[:, None])[:, 0]
            largest = np.maximum(largest, (g**2).mean((1, 2)))
            x = x - batch.algorithm.eta * g
        x = batch.W[:, 0] @ x
    return np.sqrt(largest)


def bound_of(batch, statement=STATEMENT, rounds=12, horizon=12):
    """Return B as the search takes it."""
    path = simulate(batch, rounds, needs_moments(statement, batch))
    values, _ = candidate_values(statement, batch, path, [horizon])
    return np.broadcast_to(values["B"], (1, batch.size))[0]


def test_bound_is_the_largest_gradient_of_the_local_steps():
    batch = candidates()
    everywhere = batch.clients.constants()["B"]
    expected = largest_root_mean_square(batch, 12)
    np.testing.assert_allclose(bound_of(batch), expected, rtol=1e-12, atol=1e-12)
    assert (expected < 0.9 * everywhere).any()
    assert (expected <= everywhere).all()


@pytest.mark.parametrize("case", ["SAM", "noise", "every gradient", "not recorded"])
def test_otherwise_it_is_the_bound_of_all_gradients(case):
    statement = STATEMENT
    batch = candidates(rho=0.1 * (case == "SAM"), sigma=0.1 * (case == "noise"))
    if case == "every gradient":
        scope = replace(STATEMENT.scope, bounded_gradients=True)
        statement = replace(STATEMENT, scope=scope)
    recorded = needs_moments(statement, batch)
    assert recorded == (case == "not recorded")
    path = simulate(batch, 4)
    assert path.moment is None
    values, _ = candidate_values(statement, batch, path, [4])
    assert np.all(values["B"] == batch.clients.constants()["B"])


def test_rounds_that_are_not_simulated_are_not_assumed_to_have_small_gradients():
    batch = candidates()
    path = simulate(batch, 12, moments=True)
    everywhere = batch.clients.constants()["B"]
    moving = path.cycle == 0
    late = bound_of(batch, horizon=13)
    assert moving.any()
    np.testing.assert_array_equal(late[moving], everywhere[moving])
    known = bound_of(batch)
    np.testing.assert_array_equal(late[~moving], known[~moving])


def test_a_gradient_of_0_is_bounded_by_its_rounding_error():
    at = RoundData(np.array([0.1]), np.array([0.9]), np.zeros(1))
    clients, _ = FlatStarts().decode(Reader(np.full((1, 2), 0.5)), at)
    start = np.full((1, 2, 1), 1e4)
    batch = replace(candidates(1), clients=clients, x0=start)
    assert not clients.gradient(start[:, None]).any()
    terms = clients.parts(np.ones(1)).max() + 1e4 * clients.constants()["L"][0]
    assert bound_of(batch) == pytest.approx(GRADIENT_ERROR * terms)


def test_flat_starts_have_no_gradient_at_the_clients_and_one_at_their_mean():
    at = RoundData(np.array([0.1]), np.array([0.9]), np.zeros(1))
    clients, start = FlatStarts().decode(Reader(np.full((1, 2), 0.5)), at)
    assert not clients.gradient(start[..., None]).any()
    assert start.mean() == 0
    h = -clients.knots[0, 0, 0]
    at_mean = clients.gradient(np.zeros((1, 2, 1)))
    np.testing.assert_allclose(at_mean, -h)
    assert clients.constants()["L"] == pytest.approx(1)
    assert clients.constants()["sigma_g"] == 0


@pytest.mark.slow
def test_a_search_of_flat_starts_refutes_a_version_and_not_the_corollary():
    false = version(LOST_POWER)
    space = next(s for s in search_spaces(false) if s.name.startswith("flat starts"))
    arm = Arm(space, false, np.random.default_rng(0))
    for _ in range(5):
        arm.evolve()
    assert arm.ratio.max() > 1.5
    batch = arm.candidates(arm.points)
    T = space.horizon(arm.shared)
    worst = int(np.nanargmax(score(false, batch, space.rounds, T).ratio))
    instance = batch.alone(worst, batch.x0, T)
    assert certify(instance, false).violated
    true = certify(instance, registry.get(*LOST_POWER[:2]))
    assert not true.violated
    assert 0 < true.exact["ratio"] < 1
