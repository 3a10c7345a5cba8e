"""The family of clients that start on both sides of the minimum."""

from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DFedSMDC
from dfltheory.counterexamples.bowl_rounds import later_diversity
from dfltheory.counterexamples.candidate_values import candidate_values
from dfltheory.counterexamples.core import simulate
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


# -- the diversity of rounds that are not simulated


def bowls(size=8, **changed):
    """Return candidates of the family under the schedule of 10^6 rounds."""
    theorem = dfl.bounds.get(*RATE)
    space = of_family(theorem)[0]
    points = np.random.default_rng(0).random((size, space.dimension))
    return replace(space.decode(points, {"rho": 0.0, "T": 1e6}), **changed)


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0])
def test_later_rounds_are_as_alike_as_the_box_says(eta):
    batch = bowls(40)
    known = batch.clients.constants()
    step = eta / np.max([known["L_u"], known["L_v"]])
    algorithm = replace(batch.algorithm, eta_u=step, eta_v=step, K_u=2, K_v=3)
    batch = replace(batch, algorithm=algorithm)
    path = simulate(batch, 60)
    seen = np.sqrt(path.diversity)
    for rounds in (2, 10, 30):
        x = simulate(batch, rounds).x
        bound = later_diversity(batch, x)
        assert np.isfinite(bound).mean() > 0.8
        assert (seen[rounds:].max(0) <= bound).all()


def test_the_bound_is_sharp_for_small_models():
    """The personal part tends to -k sin(u)/h where the shared part does not move."""
    batch = bowls(1, W=np.array([[[[0.6, 0.4], [0.3, 0.7]]]]))
    clients = batch.clients
    k, h = clients.k[0], clients.h[0]
    p, q = clients.p[0], clients.q[0]
    u = 1e-3 / p
    x = np.array([[[u, 0.0], [-u, 0.0]]])
    limit = k * p * np.sin(k * q * np.sin(p * u) / h * q)
    assert later_diversity(batch, x)[0] == pytest.approx(limit, rel=1e-3)


def test_gossip_leaves_opposite_clients_almost_no_time_to_move():
    """The personal parts move by about eta_v k p q sum(lam^t u) in all later rounds."""
    batch = bowls(40)
    x = batch.x0
    lam = np.abs(batch.W[:, 0, 0, 0] - batch.W[:, 0, 0, 1])
    clients, algorithm = batch.clients, batch.algorithm
    coupling = clients.k * clients.p * clients.q
    moved = algorithm.eta_v * coupling * x[:, 0, 0] / (1 - lam)
    bound = later_diversity(batch, x)
    few = lam < 0.999
    assert few.any()
    share = bound[few] / (coupling * moved)[few]
    assert 1 <= share.min() < np.median(share) < 1.05
    assert share.max() < 1.6
    unlike = np.stack([x[:, 0], 0.99 * x[:, 1]], 1)
    assert (later_diversity(batch, unlike)[few] > 2 * bound[few]).all()


@pytest.mark.parametrize(
    "case", ["large step", "SAM", "momentum", "different", "far", "negative weight"]
)
def test_otherwise_nothing_is_known_of_later_rounds(case):
    batch, x = bowls(), bowls().x0
    assert np.isfinite(later_diversity(batch, x)).all()
    algorithm, clients = batch.algorithm, batch.clients
    slope = clients.slopes[:, 0, 0].min()
    changed = {
        "large step": {"algorithm": replace(algorithm, eta_u=1e3 / slope)},
        "momentum": {"algorithm": replace(algorithm, alpha=0.1)},
        "SAM": {"algorithm": DFedSMDC(eta_u=1e-9, eta_v=1e-9, K_u=1, K_v=1, rho=0.1)},
        "different": {
            "clients": replace(clients, slopes=clients.slopes * [[[1.0], [0.9]]])
        },
        "negative weight": {"W": np.where(np.eye(2) == 1, 1.1, -0.1) + 0 * batch.W},
        "far": {},
    }
    if case == "far":
        x = x * 1e6
    other = replace(batch, **changed[case])
    assert np.isinf(later_diversity(other, x)).all()


def test_diversity_of_a_run_that_is_not_simulated_is_that_of_later_rounds():
    batch = bowls()
    theorem = dfl.bounds.get(*RATE)
    path = simulate(batch, 6)
    values, _ = candidate_values(theorem, batch, path, [5, 10**9])
    moves = path.cycle == 0
    assert moves.any()
    later = np.maximum(later_diversity(batch, path.x), values["delta_u"][0])
    np.testing.assert_allclose(values["delta_u"][1, moves], later[moves])
    far = replace(batch, x0=batch.x0 * 1e6)
    values, _ = candidate_values(theorem, far, simulate(far, 6), [5, 10**9])
    everywhere = far.clients.constants()["delta_u"]
    np.testing.assert_allclose(values["delta_u"][1], everywhere)
