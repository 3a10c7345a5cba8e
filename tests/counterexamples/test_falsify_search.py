"""The search on landscapes with known peaks: first global, then local, with preference
for the best.
"""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dfltheory as dfl
from dfltheory.counterexamples import core_evaluation
from dfltheory.counterexamples import search as module
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import candidate_values
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.families.shapes import bowl
from dfltheory.counterexamples.left_sides import LONG, measure_by_round, sizes_of
from dfltheory.counterexamples.score import Scores, better
from dfltheory.counterexamples.search import POPULATION, Arm, search
from dfltheory.counterexamples.search_spaces import SearchSpace
from dfltheory.verdicts.rounding import measure_error

THEOREM = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
CONVEX_THEOREM = dfl.bounds.get("lean.gd_contraction")
WIDE, NARROW = np.array([0.2, 0.7, 0.5]), np.array([0.8, 0.35, 0.6])


def peaks(u):
    """Evaluate a wide hill of height 0.6 and a narrow one of height 1."""
    wide, narrow = ((u - c) ** 2 @ np.ones(3) for c in (WIDE, NARROW))
    return np.maximum(0.6 * np.exp(-wide / 0.2), np.exp(-narrow / 0.01))


@pytest.fixture(autouse=True)
def landscape(monkeypatch):
    """Return a space whose candidates are points of the cube, with the height as ratio
    (nan below -1).
    """

    def score_by_height(theorem, batch, rounds, T):
        height = np.asarray(batch.height, dtype=float)
        ratio = np.where(height > -1, height, np.nan)
        fitness = np.where(height > -1, np.log10(np.abs(height) + 1e-30), -1e3)
        # the largest second coordinate
        niches = np.where(np.isfinite(ratio), batch.u[:, 1], np.nan)[:, None]
        return Scores(ratio, fitness, np.ones(len(height)), batch.u, niches)

    monkeypatch.setattr(module, "score", score_by_height)


def family(height=peaks, name="hills", dimension=3):
    return SearchSpace(
        name,
        dimension,
        10,
        lambda u, shared: SimpleNamespace(u=u, height=height(u)),
        {},
    )


@given(arrays(float, (4, 3), elements=st.floats(-1.9, 1.9)))
def test_points_that_leave_the_cube_are_reflected_into_it(u):
    back = module._reflect(u)
    assert (back >= 0).all()
    assert (back <= 1).all()
    inside = (u >= 0) & (u <= 1)
    np.testing.assert_array_equal(back[inside], u[inside])
    np.testing.assert_allclose(back[(u > 1)], 2 - u[u > 1], atol=1e-15)
    np.testing.assert_allclose(
        back[(u < 0) & (u > -1)], -u[(u < 0) & (u > -1)], atol=1e-15
    )


def test_a_population_fills_the_cube_and_counts_its_candidates():
    arm = Arm(family(), THEOREM, np.random.default_rng(0))
    assert arm.points.shape == (POPULATION, 3)
    counts = np.histogramdd(arm.points, bins=2, range=[(0, 1)] * 3)[0]
    assert counts.min() >= POPULATION / 8 - 4
    assert arm.evaluations == POPULATION
    np.testing.assert_allclose(arm.ratio, peaks(arm.points))


def test_no_generation_makes_a_point_worse_and_the_highest_hill_is_climbed():
    arm = Arm(family(), THEOREM, np.random.default_rng(1))
    for _ in range(60):
        before = arm.fitness.copy()
        arm.evolve()
        assert (arm.fitness >= before).all()
        np.testing.assert_allclose(arm.ratio, peaks(arm.points))
    assert arm.evaluations == 61 * POPULATION
    assert ((arm.points >= 0) & (arm.points <= 1)).all()
    np.testing.assert_allclose(arm.points[arm.best], NARROW, atol=5e-3)
    distance = np.minimum(*(np.abs(arm.points - c).max(1) for c in (WIDE, NARROW)))
    assert np.median(distance) < 0.05  # all have climbed a hill


def test_points_of_niches_do_not_change_with_the_population():
    arm = Arm(family(), THEOREM, np.random.default_rng(3))
    for _ in range(10):
        arm.evolve()
        for _, point, _ in arm.niches.values():
            assert not np.shares_memory(point, arm.points)
    assert arm.niches


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_infinite_and_unknown_values_fill_no_niche(monkeypatch, value):
    def score_without_niches(theorem, batch, rounds, T):
        ones = np.ones(len(batch.u))
        return Scores(ones, ones, ones, batch.u, value * ones[:, None])

    monkeypatch.setattr(module, "score", score_without_niches)
    assert not Arm(family(), THEOREM, np.random.default_rng(0)).niches


def test_steps_around_the_best_point_are_kept_only_where_they_are_better():
    arm = Arm(family(), THEOREM, np.random.default_rng(2))
    better_steps = 0
    for width in (0.3, 0.03, 0.003, 0.0003) * 5:
        before, points = arm.fitness[arm.best], arm.points.copy()
        found = arm.refine(width)
        better_steps += found
        assert found == (arm.fitness[arm.best] > before)
        moved = np.abs(arm.points - points).max(1) > 0
        assert moved.sum() == int(found)
        assert np.abs(arm.points - points).max() < 6 * width
        np.testing.assert_allclose(arm.ratio, peaks(arm.points))
    assert better_steps >= 5
    assert arm.evaluations == 21 * POPULATION


def test_a_search_climbs_the_highest_hill_of_all_families_and_puts_it_first():
    low = family(lambda u: 0.5 * peaks(u), "low")
    nowhere = family(lambda u: np.full(len(u), -5.0), "nothing admissible")
    reports = []
    arms = search(
        THEOREM,
        [nowhere, low, family()],
        60,
        0,
        1 - 1e-7,
        lambda best, n: reports.append((best, n)),
    )
    assert [arm.space.name for arm in arms] == ["hills", "low", "nothing admissible"]
    assert arms[0].ratio[arms[0].best] >= 1 - 1e-7
    assert np.isnan(arms[2].ratio).all()
    best, evaluations = (
        np.array(column, dtype=float) for column in zip(*reports, strict=True)
    )
    assert (np.diff(evaluations) > 0).all()
    assert evaluations[-1] == sum(arm.evaluations for arm in arms)
    assert best[-1] >= 1 - 1e-7
    assert (np.diff(best) >= 0).all()


def test_a_search_is_repeated_by_its_seed_and_stops_where_enough_is_found():
    def once(seed):
        return search(THEOREM, [family()], 60, seed, 0.9)[0]

    one, same, other = once(3), once(3), once(4)
    np.testing.assert_array_equal(one.points, same.points)
    assert one.evaluations == same.evaluations
    assert not np.array_equal(one.points, other.points)
    assert one.ratio[one.best] >= 0.9
    more = search(THEOREM, [family()], 60, 3, 1 - 1e-9)[0]
    assert more.evaluations > one.evaluations


def test_time_goes_to_both_phases_and_ends_the_search(monkeypatch):
    now = [0.0]

    class Counted(Arm):
        def evaluate(self, points, shared=None):
            now[0] += 1.0  # a second each
            return super().evaluate(points, shared)

        def refine(self, width):
            local.append(now[0])
            return super().refine(width)

    local = []
    monkeypatch.setattr(module, "Arm", Counted)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    arms = search(THEOREM, [family(), family(name="again")], 100, 0, math.inf)
    assert local[0] == pytest.approx(65, abs=1)  # a share of 0.35 is local
    assert now[0] == pytest.approx(100, abs=1.5)
    assert sum(arm.evaluations for arm in arms) == now[0] * POPULATION
    # better ones are tried more often, and all at least occasionally
    low = family(lambda u: 0.01 * peaks(u), "low")
    now[0] = 0.0
    good, bad = search(THEOREM, [low, family()], 400, 0, math.inf)
    assert good.evaluations > bad.evaluations > 10 * POPULATION
    assert bad.space.name == "low"
    now[0] = 0.0
    # little time: only the first arms
    assert len(search(THEOREM, [family()] * 8, 3, 0, math.inf)) == 2


def test_of_two_scores_the_fitter_is_kept_candidate_by_candidate():
    def of(ratio, fitness, T, level):
        x0, niches = np.full((2, 2, 2), level), np.full((2, 6), level)
        return Scores(np.array(ratio), np.array(fitness), np.array(T), x0, niches)

    one, other = (
        of([1.0, 2.0], [0.0, 5.0], [3, 4], 1.0),
        of([7.0, 8.0], [0.0, 4.0], [5, 6], 0.0),
    )
    kept = better(one, other)
    np.testing.assert_array_equal(kept.ratio, [7.0, 2.0])
    np.testing.assert_array_equal(kept.fitness, [0.0, 5.0])
    np.testing.assert_array_equal(kept.T, [5, 4])
    np.testing.assert_array_equal(kept.x0[:, 0, 0], [0.0, 1.0])
    np.testing.assert_array_equal(kept.niches[:, 0], [0.0, 1.0])


def test_generations_keep_niches_and_the_local_phase_improves_them():
    arm = Arm(family(), THEOREM, np.random.default_rng(8))
    for _ in range(30):
        before = arm.niche_value(0)
        arm.evolve()
        assert arm.niche_value(0) >= before
    # the population is on the hills, the niche is not
    assert arm.points[:, 1].max() < 0.9 < arm.niche_value(0)
    for _ in range(60):
        before, best = arm.niche_value(0), arm.fitness[arm.best]
        assert arm.climb(0, 0.1) == (arm.niche_value(0) > before)
        assert arm.fitness[arm.best] >= best
    assert arm.niche_value(0) > 0.999
    assert arm.niche_value(1) == 0.0


def test_a_step_of_evolution_is_at_most_nine_tenths_of_the_way_to_the_best_and_of_a_difference():
    arm = Arm(family(lambda u: np.ones(len(u))), THEOREM, np.random.default_rng(5))
    before = 0.45 + 0.1 * arm.points
    arm.points = before.copy()  # on a plateau, every trial is accepted
    width = np.ptp(before, axis=0).max()
    arm.evolve()
    moved = np.abs(arm.points - before)
    assert 0.9 * width < moved.max() <= 2 * 0.9 * width
    assert (moved.max(1) > 0).mean() > 0.95  # at least one coordinate of each


def test_arms_are_chosen_in_proportion_to_their_rank():
    rng = np.random.default_rng(6)
    heights = rng.permutation(14)
    arms = [SimpleNamespace(best_fitness=float(h)) for h in heights]
    draws = 8000
    counts = np.bincount(
        [module._choose(arms, rng) for _ in range(draws)], minlength=14
    )
    weights = 0.6 ** (13 - heights) + 0.02
    expected = draws * weights / weights.sum()
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_what_a_population_shares_drifts_only_where_its_best_gets_better(monkeypatch):
    def height(u, shared):
        return SimpleNamespace(
            u=u, height=peaks(u) / (1 + (shared["alpha"] - 0.9) ** 2)
        )

    hills = SearchSpace("hills", 3, 10, height, {}, lambda rng: {"alpha": 0.5})
    monkeypatch.setattr(module, "some_admissible", lambda *given: True)
    arm = Arm(hills, THEOREM, np.random.default_rng(7))
    for _ in range(40):
        before, shared = arm.fitness[arm.best], arm.shared
        moved = arm.drift(0.5)
        assert moved == (arm.fitness[arm.best] > before) == (arm.shared != shared)
    assert abs(arm.shared["alpha"] - 0.9) < 0.05


def test_a_search_that_is_interrupted_shows_the_best_that_it_has():
    calls = []

    def interrupted(best, n):
        calls.append(best)
        if len(calls) == 5:
            raise KeyboardInterrupt

    arms = search(THEOREM, [family()], 60, 0, math.inf, interrupted)
    assert arms[0].ratio[arms[0].best] == pytest.approx(calls[-1])
    nowhere = family(lambda u: np.full(len(u), -5.0), "nothing admissible")
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        search(THEOREM, [nowhere], 60, 0, math.inf, interrupted)


@pytest.mark.parametrize("measure", ["f_gap", "dist_sq", "consensus"])
def test_left_side_is_less_by_rounding_and_zero_later_where_a_path_moves_on(measure):
    """After the simulated rounds, a stationary path counts less its rounding error, any
    other path as 0.
    """
    theorem = SimpleNamespace(lhs=SimpleNamespace(measure=measure))
    batch = gossip_batch()
    path = simulate(batch, 3)
    path.cycle = np.array([1, 0])
    known, _ = candidate_values(CONVEX_THEOREM, batch, path, [3])
    found = measure_by_round(theorem, batch, path, known)
    raw = path.value - known["f_star"] if measure == "f_gap" else path.left[measure]
    sizes = sizes_of(theorem, batch, path, known)
    assert found.shape == (len(raw) + 1, 2)
    for row, rounds in enumerate((1, 2, 3, 4)):
        error = measure_error(theorem.lhs, replace(sizes, rounds=rounds))
        assert found[row] == pytest.approx(error.lowered(raw[row]), rel=1e-9)
        assert (found[row] < raw[row]).all()
    last = measure_error(theorem.lhs, replace(sizes, rounds=LONG[-1])).lowered(raw[-1])
    assert found[-1] == pytest.approx([last[0], 0.0], rel=1e-9)
    assert last[0] < found[-2, 0]


def gossip_batch():
    """Return two candidates with two clients on x^2/2, at distances 1 and 3, far from
    the minimum.
    """
    clients = bowl(2).repeated(2)
    x0 = np.array([[[9.0], [10.0]], [[9.0], [12.0]]])
    W = np.full((2, 1, 2, 2), 0.5) + 0.4 * np.array([[1, -1], [-1, 1]])
    network = {"lam": np.full(2, 0.8)}
    return CandidateBatch(
        dfl.algorithms.DPSGD(eta=0.01), clients, x0, W, np.zeros((2, 1)), network
    )


def test_rounds_that_were_not_run_count_only_for_a_stationary_state(
    monkeypatch,
):
    monkeypatch.setattr(
        core_evaluation,
        "lowered_measure",
        lambda run, theorem: np.array([[4.0, 3.0, 2.0, 2.0]]),
    )
    theorem = dfl.bounds.get("dfedmdc.theorem_1", "corrected")
    values = dict.fromkeys(theorem.needs, 1) | {"lam": 0.5}

    def measured(rests):
        run, batch = SimpleNamespace(rounds=4), SimpleNamespace(two_blocks=False)
        return core_evaluation.deterministic_result(
            run, theorem, values, batch, 10, True, rests
        )[0]["measured"]

    assert theorem.lhs.aggregate == "mean"
    assert [measured(rests) for rests in (0, 1)] == [11 / 10, (11 + 6 * 2) / 10]


@dataclass(frozen=True)
class OnlySize:
    size: float = 0.0


@pytest.mark.parametrize(("period", "later"), [(0, 0.0), (1, 2.0), (2, 0.0)])
def test_errors_of_models_add_up_so_that_only_a_fixed_state_counts_later(
    monkeypatch, period, later
):
    """Without rounding errors, a cycle of two states counts as 0 after the run."""
    exact = SimpleNamespace(lowered=np.asarray)
    for name, result in (
        ("lowered_measure", np.array([[4.0, 3.0, 2.0, 2.0]])),
        ("simulate", None),
        ("sizes_of", OnlySize()),
        ("measure_error", exact),
    ):
        monkeypatch.setattr(core_evaluation, name, _always(result))
    theorem = dfl.bounds.get("dfedmdc.theorem_1", "corrected")
    theorem = replace(theorem, lhs=replace(theorem.lhs, measure="consensus", unit=None))
    values = dict.fromkeys(theorem.needs, 1) | {"lam": 0.5}
    run = SimpleNamespace(rounds=4, model_sq=None)
    batch = SimpleNamespace(two_blocks=False)
    found, _ = core_evaluation.deterministic_result(
        run, theorem, values, batch, 10, True, period
    )
    assert found["measured"] == (11 + 6 * later) / 10


def _always(result):
    def function(*arguments):
        return result

    return function
