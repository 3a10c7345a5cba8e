"""The family of clients that start on both sides of the minimum."""

from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.counterexamples.candidate_values import extrapolated
from dfltheory.counterexamples.falsification import best_of
from dfltheory.counterexamples.families.distant_clients import DistantClients
from dfltheory.counterexamples.score import score
from dfltheory.counterexamples.search import POPULATION, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.counterexamples.shared_numbers import drawn_numbers

FAMILY = DistantClients()
SAME_ROUND = ("dfedmdc.theorem_2", "corrected_same_round")
DIFFERENT = ("dfedmdc.theorem_1", "corrected_different_steps")
RATE = ("dfedmdc.rate_theorem_1", "corrected")


def test_distant_clients_start_at_the_minimum_on_average():
    theorem = dfl.bounds.get(*SAME_ROUND)
    spaces = of_family(theorem)
    batch = spaces[0].decode(np.random.default_rng(0).random((32, 9)), {"rho": 0.0})
    assert (batch.x0[:, 0, 0] == -batch.x0[:, 1, 0]).all()
    assert (batch.x0[..., 1] == 0).all()
    clients = batch.clients
    start = batch.x0.mean(1, keepdims=True)[:, None].repeat(2, 2)
    gap = clients.value(start).mean((1, 2)) - clients.constants()["f_star"]
    assert (gap > 0).all()
    size = clients.k + np.abs(clients.left * clients.widths[..., 0]).max(1)
    assert (gap < 1e-12 * size).all()
    share = (
        clients.k * clients.p * clients.q / np.sqrt(clients.h * clients.slopes[:, 0, 0])
    )
    assert share.min() >= 0.1 - 1e-9
    assert share.max() <= 1 + 1e-9


def of_family(theorem, part=""):
    return [
        s for s in search_spaces(theorem) if s.name.startswith(f"{FAMILY.name}{part}")
    ]


def false_version(key, factor):
    """Return a statement whose term of the initialization has a further factor."""
    theorem = dfl.bounds.get(*key)
    term = theorem.parts["initialization"] * factor
    return replace(theorem, parts={**theorem.parts, "initialization": term})


def searched(theorem, spaces, candidates):
    return best_of(theorem, search(theorem, spaces, candidates, 0, 1.05, clock=float))


def test_family_needs_two_blocks_and_different_starts():
    theorem = dfl.bounds.get(*SAME_ROUND)
    assert FAMILY.admits(theorem)
    common = replace(theorem, scope=replace(theorem.scope, common_start=True))
    assert "different points" in FAMILY.refusal(common)
    one_block = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    apart = replace(one_block, scope=replace(one_block.scope, common_start=False))
    assert "two blocks" in FAMILY.refusal(apart)


def test_many_local_steps_of_either_kind_are_searched_for_few_rounds():
    spaces = search_spaces(dfl.bounds.get(*DIFFERENT))
    many = [s for s in spaces if FAMILY.many_steps in s.counts.values()]
    assert [s.counts for s in many] == [{"K_u": 64, "K_v": 1}, {"K_u": 1, "K_v": 64}]
    assert {s.rounds for s in many} == {FAMILY.rounds // 64}
    assert all(s.name.startswith(FAMILY.name) for s in many)


def test_a_lost_number_of_personal_steps_exceeds_the_bound_and_the_theorem_does_not():
    theorem = dfl.bounds.get(*DIFFERENT)
    false = false_version(DIFFERENT, 1 / theorem.symbols["K_v"])
    spaces = of_family(false, ", K_u = 1, K_v = 64")
    ratios = []
    for statement in (false, theorem):
        (arm,) = search(statement, spaces, 1, 0, 1.05, clock=float)
        assert arm.evaluations == POPULATION
        ratios.append(arm.ratio[arm.best])
    assert ratios[0] > 3
    assert ratios[1] < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("key", [SAME_ROUND, RATE])
def test_a_lost_factor_of_the_spectral_gap_is_refuted_and_the_theorem_is_not(key):
    false = false_version(key, 1 - dfl.bounds.get(*key).symbols["lam"])
    spaces = of_family(false, ", K_u = 1, K_v = 1")
    assert searched(false, spaces, 960)[2].violated
    assert not searched(dfl.bounds.get(*key), spaces, 960)[2].violated


@pytest.mark.parametrize("T", [1e9, 1e12, 1e15])
def test_a_term_that_is_lost_at_lam_0_is_refuted_at_long_horizons(T):
    theorem = dfl.bounds.get("dfedmdc.rate_theorem_2", "corrected")
    factor = theorem.symbols["lam"]
    false = false_version((theorem.key, theorem.variant), factor)
    (space,) = of_family(false, ", lam = 0, K_u = 1, K_v = 1")
    points = np.random.default_rng(0).random((4, space.dimension))
    batch = space.decode(points, {"rho": 0.0, "T": T})
    assert score(false, batch, 50, int(T)).ratio.max() > 100
    assert score(theorem, batch, 50, int(T)).ratio.max() < 1


def test_horizons_of_a_transient_family_are_long():
    theorem, rng = dfl.bounds.get(*RATE), np.random.default_rng(0)
    horizons = [drawn_numbers(theorem, rng, FAMILY)["T"] for _ in range(200)]
    long = [T for T in horizons if T > 1e8]
    assert 0.7 < len(long) / len(horizons) < 0.9
    assert 1e9 <= min(long) < 1e10
    assert 1e14 < max(long) <= 1e15


def test_rounds_beyond_the_simulated_ones_count_only_for_a_schedule():
    for key, transient in ((RATE, True), (SAME_ROUND, False)):
        theorem = dfl.bounds.get(*key)
        space = of_family(theorem)[0]
        shared = space.draw(np.random.default_rng(0))
        batch = space.decode(np.full((1, space.dimension), 0.5), shared)
        assert batch.transient is transient


def test_limit_of_a_geometric_series_is_extrapolated():
    t = np.arange(41)[:, None]
    limits = np.array([1.0, 5.0])
    series = limits * (1 - np.array([0.9, 0.99]) ** t)
    upper = np.full(2, 10.0)
    np.testing.assert_allclose(extrapolated(series, upper), limits, rtol=1e-9)
    np.testing.assert_allclose(extrapolated(series, limits / 1.1), limits / 1.1)


@pytest.mark.parametrize(
    ("series", "limit"),
    [
        (np.linspace(0, 1, 41), 9.0),  # grows linearly
        (np.linspace(0, 1, 41) ** 2, 9.0),
        (np.ones(41), 0.0),
        (1 + 1e-15 * np.arange(41) ** 2, 0.0),  # grows by rounding errors
        (1 + 1e-11 * np.arange(41), 9.0),
        (np.linspace(1, 0, 41), 0.0),
        (np.array([0.0, 1.0, 2.0]), 0.0),  # too short
    ],
)
def test_series_that_do_not_slow_down_or_do_not_grow(series, limit):
    assert extrapolated(series[:, None], np.array([9.0])) == limit
