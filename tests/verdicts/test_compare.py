"""Each kind of verdict is produced, and a false one would be caught."""

import json
from copy import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.algorithms import DPSGD, DFedAvg, DFedSAM
from dfltheory.confidence import upper_limits
from dfltheory.constants import NetworkConstants, ProblemConstants
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.exact.history import exact_history
from dfltheory.files import json_text
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.history import History
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.evidence import evidence_lower_limits, upper_limit
from dfltheory.verdicts.left_hand_side import (
    LeftHandSide,
    distribution_free_upper_end,
)
from dfltheory.verdicts.measures import is_deterministic, trivial_bound
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.verdict import ASSUMED

KEY = "dfedsam.theorem_4_5"
ROUNDS = 1000
METHODS = ("student", "bootstrap")
STEP = 1 / (10 * 5 * 1.0)  # the largest step that Theorem 4.5 admits at K = 5, L = 1


def run_with(
    samples,
    *,
    eta=STEP,
    K=5,
    sigma=0.1,
    gap=1.0,
    f_star=0.0,
    algorithm=None,
    chance=True,
    **changes,
):
    """Return a history with gradient norms ``samples`` (seeds, rounds + 1) and f - f* =
    gap.
    """
    samples = np.asarray(samples, dtype=float)
    S, R = samples.shape
    constants = ProblemConstants(L=1.0, sigma_l=sigma, sigma_g=sigma, f_star=f_star)
    fields = {
        "algorithm": algorithm or DFedSAM(eta=eta, K=K, rho=0.0),
        "rounds": R - 1,
        "rounds_measured": np.arange(R),
        "grad_norm_sq": samples,
        "consensus": np.zeros((S, R)),
        "loss": np.full((S, R), f_star + gap),
        "accuracy": None,
        "x": np.zeros((S, 4, 2)),
        "x0_sq": np.zeros(S),
        "x0_spread": np.zeros(S),
        "constants": constants,
    }
    history = History(**(fields | changes))
    history.__dict__["network"] = NetworkConstants(m=4, lam=0.5)
    history.__dict__["network_facts"] = NetworkFacts("fixed", m=4, lam=0.5)
    if not chance:
        history.__dict__["random_network"] = False
    return history


def judged(samples, variant="printed", **changes):
    """Compare such a run with the theorem's ``variant``."""
    return compare(run_with(samples, **changes), KEY, variant=variant)


def known(**changes):
    """Return the problem's constants, with some of them replaced."""
    return ProblemConstants(
        **{"L": 1.0, "sigma_l": 0.1, "sigma_g": 0.1, "f_star": 0.0} | changes
    )


def noisy(level, seeds=16, rounds=ROUNDS, scatter=0.1):
    rng = np.random.default_rng(0)
    return level * np.abs(1 + scatter * rng.normal(size=(seeds, rounds + 1)))


def the_bound(variant="printed", rounds=ROUNDS, **changes):
    """Return the bound at the constants of such a run."""
    thm = bounds.get(KEY, variant=variant)
    values = run_values(run_with(noisy(1e-3, rounds=rounds), **changes), thm)
    return float(thm.evaluate(**{n: np.mean(values[n]) for n in thm.needs}))


def test_verdict_is_holds_for_a_true_bound():
    verdict = judged(noisy(1e-3))
    assert verdict.kind == "holds"
    assert verdict.ratio_ci[0] <= verdict.ratio <= verdict.ratio_ci[1] <= 1
    assert verdict.bound == pytest.approx(the_bound())
    assert verdict.bound == pytest.approx(sum(verdict.terms.values()))


def test_verdict_is_violated_for_a_bound_that_is_too_small():
    verdict = judged(noisy(3 * the_bound()))
    assert verdict.kind == "violated"
    assert 1 < verdict.ratio_ci[0] <= verdict.ratio
    assert "exceeds" in verdict.reason


def test_one_round_below_the_bound_is_enough_for_the_minimum_to_hold():
    samples = noisy(3 * the_bound())
    samples[:, 700] *= 0.1 / 3
    assert judged(samples).kind == "holds"
    # ... but not for the mean over rounds that the corrected theorem bounds
    mean = 3 * the_bound("corrected")
    samples = noisy(mean)
    samples[:, 700] *= 0.1 / 3
    assert judged(samples, "corrected").kind == "violated"


def test_round_zero_is_outside_the_printed_minimum_and_round_T_outside_the_corrected_mean():
    samples = noisy(3 * the_bound())
    samples[:, 0] = 0.0
    assert judged(samples).kind == "violated"
    calm = noisy(1e-3)
    calm[:, -1] = 1e9
    assert judged(calm, "corrected").kind == "holds"
    calm[:, -2] = 1e9
    assert judged(calm, "corrected").kind == "violated"


def test_verdict_is_undecided_within_the_interval():
    level = the_bound()
    verdict = judged(noisy(level, seeds=2, scatter=0.5, rounds=ROUNDS))
    assert verdict.kind == "undecided"
    assert verdict.ratio_ci[0] <= 1 <= verdict.ratio_ci[1]


def test_one_seed_is_undecided_unless_the_run_is_deterministic():
    verdict = judged(noisy(1e-3, seeds=1))
    assert verdict.kind == "undecided"
    assert "seeds >= 2" in verdict.reason
    sure = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, zeta=0.1, seed=1)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    run = dfl.train(DFedSAM(eta=0.02, K=5), sure, W, rounds=600, x0=[10.0, 10.0])
    assert compare(run, KEY).kind == "holds"
    assert compare(run, KEY).measured.low == compare(run, KEY).measured.high
    assert compare(run, KEY).method == "exact"


def test_verdict_reports_the_chosen_interval_method():
    samples = noisy(1e-3) * np.random.default_rng(3).lognormal(0, 2, size=(16, 1))
    student, other = (
        compare(run_with(samples), KEY, variant="corrected", method=m) for m in METHODS
    )
    assert (student.method, other.method) == METHODS
    assert other.measured.high > student.measured.high
    assert other.measured.estimate == student.measured.estimate
    shifted = run_with(samples)
    # different starts: compare each seed
    shifted.loss = shifted.loss + np.linspace(0, 0.5, 16)[:, None]
    one, two = (compare(shifted, KEY, variant="corrected", method=m) for m in METHODS)
    assert one.measured.high != two.measured.high
    with pytest.raises(InputError, match="method"):
        compare(run_with(noisy(1e-3, seeds=3)), KEY, method="bootstrap")


def test_verdict_is_vacuous_above_the_trivial_bound():
    verdict = judged(noisy(1e-3, rounds=5), gap=1.0)
    # 2 f0_gap/(T D) alone is 2/(5 * 0.08) = 5 > 2 L f0_gap = 2
    assert verdict.kind == "vacuous"
    assert verdict.trivial == pytest.approx(2.0)
    assert verdict.bound >= verdict.trivial


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eta": 1.01 * STEP}, "10"),
        ({"algorithm": DPSGD(eta=STEP)}, "adapt-then-combine"),
        ({"algorithm": DFedSAM(eta=STEP, K=5, decay=0.998)}, "decay = 1.0"),
        (
            {"algorithm": DFedAvg(eta=STEP, K=5, weight_decay=1e-3)},
            "weight_decay = 0.0",
        ),
        (
            {
                "constants": ProblemConstants(
                    L=1.0, sigma_l=0.1, sigma_g=float("inf"), f_star=0.0
                )
            },
            "sigma_g",
        ),
        ({"constants": ProblemConstants(L=1.0, sigma_l=0.1, sigma_g=0.1)}, "f0_gap"),
        ({"stopped_at": 7}, "stopped"),
    ],
)
def test_not_applicable_verdict_gives_its_reason(changes, words):
    verdict = judged(noisy(1e-3), **changes)
    assert verdict.kind == "not applicable"
    assert words in verdict.reason
    assert np.isnan(verdict.ratio)


@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_compare_reports_not_applicable_for_another_network(rounds):
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, zeta=0.1, seed=1)
    alg = DFedSAM(eta=0.01, K=5)

    def run_on(topology, **options):
        return dfl.train(alg, task, topology, rounds=rounds, **options)

    ring = dfl.graphs.metropolis(dfl.graphs.ring(4))
    assert compare(run_on(ring), KEY).kind != "not applicable"
    # doubly stochastic, not symmetric
    directed = run_on(dfl.graphs.uniform(dfl.graphs.directed_ring(4)))
    assert "Definition 1" in compare(directed, KEY).reason
    assert compare(directed, KEY, variant="corrected").kind == "not applicable"
    changing = run_on([ring, (ring + np.eye(4)) / 2])
    assert "changes from round to round" in compare(changing, KEY).reason
    assert compare(changing, KEY, variant="corrected").kind != "not applicable"
    different_starts = run_on(ring, x0=np.eye(4, 2))
    refused = compare(different_starts, KEY, variant="corrected")
    assert "start at the same model" in refused.reason
    covered = compare(different_starts, KEY, variant="corrected_different_starts")
    assert covered.kind != "not applicable"


def test_common_start_is_detected_up_to_rounding():
    """Starts at distance 18 are different at any offset, and so are starts that differ
    by one unit of float32.
    """
    alg, ring = DFedSAM(eta=0.01, K=5), dfl.graphs.metropolis(dfl.graphs.ring(4))

    def different_starts_rejected(x0, offset=0.0, dtype="float64"):
        task = dfl.tasks.quadratic(
            m=4, d=2, sigma=0.0, zeta=0.1, seed=1, dtype=getattr(torch, dtype)
        )
        run = dfl.train(alg, task, ring, rounds=3, x0=np.asarray(x0) + offset)
        return (
            "start at the same model" in compare(run, KEY, variant="corrected").reason
        )

    for offset in (0.0, 1.0, 1e6, -1e9):
        assert different_starts_rejected(18 * np.eye(4, 2), offset), offset
        assert not different_starts_rejected(np.full((4, 2), 0.1), offset), offset
    assert different_starts_rejected(np.ones((4, 2)) + 1e-7 * np.eye(4, 2))
    # the same floating-point numbers
    assert not different_starts_rejected(
        np.ones((4, 2)) + 1e-8 * np.eye(4, 2), dtype="float32"
    )
    assert different_starts_rejected(
        np.ones((4, 2)) + 1e-7 * np.eye(4, 2), dtype="float32"
    )
    assert different_starts_rejected(
        np.ones((4, 2)) + 1e-5 * np.eye(4, 2), dtype="float32"
    )
    assert different_starts_rejected(18 * np.eye(4, 2), 1e6, "float32")


def test_compare_reports_not_applicable_for_sam_and_a_theorem_without_it():
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, zeta=0.0, seed=1)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    for rho, silent in ((0.1, True), (0.0, False)):
        method = dfl.algorithms.DFedADMMSAM(eta=0.002, K=5, lam=0.004, rho=rho)
        run = dfl.train(method, task, W, rounds=20)
        verdict = compare(
            run, "dfedadmm.theorem_1", variant="corrected_small_steps", B=10.0
        )
        assert ("rho = 0" in verdict.reason) is silent
        assert (verdict.kind == "not applicable") is silent


def test_compare_reports_not_applicable_for_an_order():
    assert "O(.)" in compare(run_with(noisy(1e-3)), "dfedsam.corollary_4_6").reason


def test_compare_uses_only_measured_rounds():
    every = np.arange(0, ROUNDS + 1, 100)
    low, high = noisy(1e-3)[:, every], noisy(1e3)[:, every]
    thin = {"rounds_measured": every, "rounds": ROUNDS}
    start = {"f0_gap": 1.0}
    assert compare(run_with(low, **thin), KEY, **start).kind == "holds"
    assert compare(run_with(high, **thin), KEY, **start).kind == "undecided"
    assert judged(low, "corrected", **thin).kind == "undecided"
    # without the round at which the printed theorem starts, f0_gap is unknown
    lacking = judged(low, **thin)
    assert lacking.kind == "not applicable"
    assert "it starts at round 1, which was not measured" in lacking.reason
    unknown = ProblemConstants(L=1.0, sigma_l=0.1, sigma_g=0.1)
    assert "f0_gap not known" in judged(noisy(1e-3), constants=unknown).reason


def test_constants_can_be_given_and_estimates_are_named():
    run = run_with(
        noisy(1e-3),
        constants=ProblemConstants(
            L=1.0, sigma_l=0.1, f_star=0.0, standing={"L": "estimate"}
        ),
    )
    assert compare(run, KEY).kind == "not applicable"
    verdict = compare(run, KEY, sigma_g=0.1)
    assert verdict.kind == "holds"
    assert verdict.estimated == ("L",)
    assert "estimated L" in str(verdict)
    with pytest.raises(
        InputError,
        match=r"sigma_l = 0\.05 .*sigma_l = 0\.1 exactly",
    ):
        compare(run, KEY, sigma_g=0.1, sigma_l=0.05)
    with pytest.raises(
        InputError,
        match=r"f0_gap = 0\.5",
    ):
        compare(run, KEY, sigma_g=0.1, f0_gap=0.5)
    # L was estimated
    weaker = compare(run, KEY, sigma_g=0.1, sigma_l=0.2, f0_gap=2.0, L=0.9)
    assert weaker.given == {"sigma_g": 0.1, "sigma_l": 0.2, "f0_gap": 2.0, "L": 0.9}
    with pytest.raises(UnknownNameError, match="sigma_g"):
        compare(run, KEY, sigmag=0.1)
    with pytest.raises(InputError, match="sigma_g"):
        compare(run, KEY, sigma_g=-0.1)
    with pytest.raises(InputError, match="confidence"):
        compare(run, KEY, confidence=95)
    with pytest.raises(UnknownNameError, match="theorem_4_5"):
        compare(run, "dfedsam.theorem_45")


@settings(max_examples=10)
@given(st.floats(0.2, 5.0))
def test_the_ratio_scales_with_the_measurement(scale):
    one, other = judged(noisy(1e-3)), judged(noisy(1e-3 * scale))
    assert other.ratio == pytest.approx(scale * one.ratio, rel=1e-9)
    assert other.bound == pytest.approx(one.bound)


@pytest.mark.parametrize(
    ("variant", "seeds"), [("printed", 16), ("corrected", 16), ("corrected", 2)]
)
def test_a_random_start_is_part_of_the_interval(variant, seeds):
    """Each seed is compared with the bound at its own start, whose optimization term is
    linear in f0_gap.
    """
    gaps = np.linspace(0.5, 1.5, seeds)
    run = run_with(np.repeat(gaps[:, None], ROUNDS + 1, axis=1) * 1e-2)
    run.loss = np.repeat(gaps[:, None], ROUNDS + 1, axis=1)
    verdict = compare(run, KEY, variant=variant)
    slope = verdict.terms["optimization"]  # at mean gap 1
    own = verdict.bound + slope * (gaps - 1)
    # a tenth of the error probability is for rounds above the minimum
    tail = 0.9 * 0.025 if variant == "printed" else 0.025
    high = upper_limits((1e-2 * gaps - slope * (gaps - 1))[:, None], tail)[0]
    assert verdict.measured.high == pytest.approx(high)
    low = evidence_lower_limits((1e-2 * gaps / own)[:, None], 0.025)[0]
    assert verdict.ratio_ci[0] == pytest.approx(low)


def test_trivial_bound():
    inf = float("inf")
    least, mean = bounds.get(KEY).lhs, bounds.get(KEY, "corrected").lhs
    values = {"L": 2.0, "f0_gap": np.array([2.0, 4.0]), "T": 5}
    assert trivial_bound(values, lhs=least) == 12.0
    # noise may lead to points with larger gradients
    assert trivial_bound(values, lhs=mean) == trivial_bound(values) == inf
    assert (
        trivial_bound(values | {"B": 2.0}, lhs=least)
        == trivial_bound(values | {"B": 2.0}, lhs=mean)
        == 4.0
    )
    assert trivial_bound(values | {"B": 9.0}, lhs=least) == 12.0
    assert trivial_bound({"B": inf}) == inf
    later = replace(least, first=sp.Integer(2))  # of other rounds than the start
    assert trivial_bound(values, lhs=later) == inf
    for measure, start, known in (
        ("grad_norm_sq_w", 0, 12.0),
        ("grad_norm_sq_w", 1, inf),
        ("two_block", 0, inf),
        ("two_block_next", 0, inf),
        ("consensus", 0, inf),
    ):
        side = replace(
            least, measure=measure, unit=None, start=start, first=sp.Integer(0)
        )
        assert trivial_bound(values, lhs=side) == known, measure
    other = replace(mean, measure="two_block", unit=None)
    assert trivial_bound(values | {"B": 2.0}, lhs=other) == inf
    guess = ProblemConstants(L=1.0, B=2.0, standing={"B": "estimate"})
    assert (
        trivial_bound(
            values | {"B": 2.0}, run_with(noisy(1e-3), constants=guess), least
        )
        == 12.0
    )


def test_what_is_called_known_is_no_less_than_the_truth():
    """The exact expectation of a mean over rounds may exceed 2 L f0_gap, since noise
    leads to larger gradients.
    """
    task = dfl.tasks.quadratic(m=4, d=2, sigma=1.0, zeta=0.1, seed=1)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    near = task.x_star + 1e-2
    run = exact_history(DFedSAM(eta=0.02, K=5, rho=0.0), task, W, 300, near)
    verdict = compare(run, KEY, variant="corrected")
    assert verdict.measured.estimate > 2 * run.constants.L * (
        run.loss[0, 0] - run.constants.f_star
    )
    assert verdict.kind == "holds"
    assert verdict.trivial == float("inf")


def test_dictionary_of_a_verdict_is_json_with_the_same_values():
    verdict = judged(noisy(1e-3))
    document = json.loads(json_text(verdict.to_dict()))
    assert document["kind"] == verdict.kind
    assert document["ratio"] == pytest.approx(verdict.ratio)
    assert set(document["terms"]) == {
        "optimization",
        "noise",
        "drift",
        "consensus",
        "sharpness",
    }
    assert any("10 K L" in line for line in document["conditions"])
    assert "_run" not in repr(verdict)  # its text is long enough without the history


def test_two_verdicts_are_equal_if_they_say_the_same_of_two_runs():
    one, other = (
        judged(noisy(0.1)),
        judged(noisy(0.1), consensus=np.ones((16, ROUNDS + 1))),
    )
    assert one.left_hand_side.run != other.left_hand_side.run
    assert one == other
    assert one != judged(noisy(0.2))


def test_verdict_reports_the_slack_of_each_condition():
    verdict = judged(noisy(1e-3), eta=STEP / 2)
    assert verdict.slack == {"eta <= 1/(10 K L)": pytest.approx(0.5)}  # 1 - 10 K L eta
    failed = judged(noisy(1e-3), eta=1.5 * STEP)
    assert failed.kind == "not applicable"
    assert failed.slack == {"eta <= 1/(10 K L)": pytest.approx(-0.5)}


def test_number_of_seeds_that_the_verdict_reports_suffices():
    level = the_bound("corrected")
    rng = np.random.default_rng(1)

    def verdict(seeds):
        samples = (
            0.9
            * level
            * (1 + rng.normal(size=(seeds, 1))) ** 2
            / 2
            * np.ones(ROUNDS + 1)
        )
        return judged(samples, "corrected")

    few = verdict(16)
    assert few.kind == "undecided"
    assert few.seeds_needed > 16
    assert f"about {few.seeds_needed} seeds" in few.reason
    assert verdict(4 * few.seeds_needed).kind == "holds"
    assert judged(noisy(1e-3)).seeds_needed is None


# -- nothing is assumed about the distribution of seeds


def seeds_that_agree(ratio, seeds, variant="corrected"):
    """Return a random run of which every seed has ``ratio`` times the bound."""
    level = the_bound(variant)
    return judged(np.full((seeds, ROUNDS + 1), ratio * level), variant)


# a minimum and a mean over rounds
@pytest.mark.parametrize("variant", ["printed", "corrected"])
def test_verdict_of_few_seeds_reports_how_many_a_violation_needs(variant):
    few = seeds_that_agree(2, 4, variant)
    assert few.kind == "undecided"
    assert "4 seeds are too few" in few.reason or "all seeds agree" in few.reason
    scattered = np.array([1.99, 2.0, 2.01, 2.0])[:, None] * np.ones(ROUNDS + 1)
    few = judged(scattered * the_bound(variant), variant)
    assert few.kind == "undecided"
    assert "4 seeds are too few to say so whatever their law" in few.reason
    assert few.seeds_needed == 7  # log(2 * 40)/log(2)
    assert "about 7 seeds" in few.reason
    assert seeds_that_agree(2, 7, variant).kind == "violated"
    assert seeds_that_agree(10, 2, variant).kind == "violated"


def test_equal_values_of_random_seeds_have_an_interval():
    for variant in ("printed", "corrected"):  # a minimum, from round 1 on, and a mean
        verdict = seeds_that_agree(0.5, 4, variant)
        assert (
            verdict.measured.low
            < verdict.measured.estimate
            < verdict.measured.high
            == float("inf")
        )
    assert (
        verdict.measured.low
        < verdict.measured.estimate
        < verdict.measured.high
        == float("inf")
    )
    assert verdict.kind == "undecided"
    assert verdict.seeds_needed is None
    quiet = known(sigma_l=0.0)
    level = the_bound("corrected", constants=quiet)
    verdict = judged(
        np.full((4, ROUNDS + 1), 0.5 * level),
        "corrected",
        constants=quiet,
        chance=False,
    )
    assert verdict.kind == "holds"  # in a deterministic run, agreement is expected
    assert verdict.measured.low == verdict.measured.high


def test_verdict_holds_states_its_assumptions():
    """No assumptions are listed if every seed has a proved bound and there are enough
    seeds to exclude rare large values.
    """
    level = the_bound("corrected")
    for seeds, B, method in (
        (16, 1.5, "bounded"),
        (16, 30.0, "student"),
        (200, 4.0, "bounded"),
    ):
        proved = known(B=B * level**0.5)
        run = run_with(noisy(0.05 * level, seeds), constants=proved)
        verdict = compare(run, KEY, variant="corrected")
        assert (verdict.kind, verdict.method) == ("holds", method)
        assert ASSUMED[method].split("{")[0] in verdict.reason
        assert (
            verdict.measured.low
            < verdict.measured.estimate
            < verdict.measured.high
            <= verdict.bound
        )
        guess = replace(proved, standing={"B": "estimate"})
        run = run_with(noisy(0.05 * level, seeds), constants=guess)
        assert compare(run, KEY, variant="corrected").method == "student"
    free = distribution_free_upper_end(
        LeftHandSide(run_with(noisy(1e-3), constants=proved), bounds.get(KEY)), 0.95
    )
    agree = np.full((16, 1), noisy(1e-3)[:, 1:].mean(axis=0).min())
    assert free == pytest.approx(upper_limit(agree, proved.B**2, 0.025), rel=0.2)


def test_seeds_that_agree_hold_where_they_are_bounded():
    level = the_bound("corrected")
    proved = known(B=1.5 * level**0.5)
    verdict = judged(
        np.full((16, ROUNDS + 1), 0.1 * level), "corrected", constants=proved
    )
    assert (verdict.kind, verdict.method) == ("holds", "bounded")
    assert (
        0
        < verdict.measured.low
        < verdict.measured.estimate
        < verdict.measured.high
        < level
    )


def test_random_masks_count_as_randomness():
    task = dfl.tasks.quadratic(m=4, d=8, sigma=0.0, zeta=0.1, seed=1)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    masked = dfl.train(dfl.algorithms.DisPFL(eta=0.01, K=1), task, W, rounds=3, seeds=4)
    assert not is_deterministic(masked)
    assert is_deterministic(dfl.train(DFedSAM(eta=0.01, K=1), task, W, rounds=3))
    half = dfl.algorithms.FedAvg(eta=0.01, K=1, participation=0.5)
    assert not is_deterministic(dfl.train(half, task, None, rounds=3))

    class Hidden(DFedAvg):
        def local_update(self, state, grad):
            grad.uniform(tuple(state.x.shape[1:]))
            return super().local_update(state, grad)

    with pytest.raises(InputError, match="uniform"):
        dfl.train(Hidden(eta=0.01, K=1), task, W, rounds=3)


def test_deterministic_run_is_judged_at_every_start():
    """Without noise, each start's bound holds for its own seed, so a single violating
    seed is enough.
    """
    quiet = known(sigma_l=0.0)
    level = the_bound("corrected", constants=quiet)
    for last, kind in ((0.6, "holds"), (1.1, "violated")):
        samples = np.full((4, ROUNDS + 1), 0.5 * level)
        samples[3] *= last / 0.5
        verdict = judged(samples, "corrected", constants=quiet, chance=False)
        assert (verdict.kind, verdict.method) == (kind, "exact")
        assert "(exact" in verdict.reason
        assert verdict.measured.low == verdict.measured.high


def test_a_minimum_from_a_common_start_on_is_no_larger_than_there():
    side = replace(
        bounds.get(KEY).lhs,
        first=sp.Integer(0),
        last=bounds.get(KEY, "corrected").lhs.last,
        start=0,
    )
    thm = replace(bounds.get(KEY), lhs=side)
    samples = 100 * noisy(1.0)
    samples[:, 0] = 1e-3
    found = compare(run_with(samples), thm)
    assert found.measured.low < found.measured.high == 1e-3
    assert found.kind == "holds"


def test_a_true_theorem_is_violated_no_more_often_than_stated():
    """For a measurement whose expectation equals the bound, the error rate is at most
    2.5 percent.
    """
    rng, trials, rounds, mean = np.random.default_rng(1), 40, 300, 0.95
    level = the_bound("corrected", rounds)
    false = 0
    for _ in range(trials):
        samples = level * (rng.random(2) >= 0.05)[:, None] / mean * np.ones(rounds + 1)
        false += judged(samples, "corrected").kind == "violated"
    assert false <= trials * 0.025 + 3 * np.sqrt(trials * 0.025)


# -- rounding


def judged_at(centers, x0, *, dtype="float64", rounds=150):
    """Compare Theorem A on (1/2)

    x - c_i

    ^2 from a common start, where it is true up to rounding.
    """
    m, d = np.shape(centers)
    task = dfl.tasks.Quadratic(A=np.eye(d), b=centers, dtype=getattr(torch, dtype))
    W = dfl.graphs.metropolis(dfl.graphs.ring(m))
    run = dfl.train(DFedAvg(eta=0.02, K=5), task, W, rounds=rounds, x0=x0)
    return compare(run, KEY, variant="corrected")


def test_a_gap_that_cancels_is_no_violation():
    """Clients at +-100 and a start 1e-6 from the optimum: in float64, f(x0) - f* is 0
    out of 5000.
    """
    centers = np.array([[100.0], [-100.0], [100.0], [-100.0]])
    for x0 in (1e-6, 1e-8, 0.0):
        verdict = judged_at(centers, [x0])
        assert verdict.kind in ("holds", "vacuous", "undecided"), str(verdict)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5])
def test_single_precision_is_no_violation(offset):
    rng = np.random.default_rng(0)
    for scale in (1e-2, 1.0, 1e2):
        centers = offset + scale * rng.normal(size=(4, 2))
        verdict = judged_at(centers, centers.mean(0) + 1e-3 * scale, dtype="float32")
        assert verdict.kind in ("holds", "vacuous", "undecided"), str(verdict)


def test_a_gap_of_minus_rounding_is_zero_and_a_larger_one_is_out_of_range():
    verdict = judged(noisy(1e-3), "corrected", gap=-5e-16, f_star=1.0)
    assert verdict.kind != "not applicable"
    assert verdict.terms["optimization"] == 0.0
    wrong = judged(noisy(1e-3), "corrected", gap=-1e-3, f_star=1.0)
    assert wrong.kind == "not applicable"
    assert "f0_gap" in wrong.reason


def test_verdict_within_rounding_is_undecided():
    """f0_gap is 0 +- 16 eps f*: at one end the measurement exceeds the bound, at the
    other it does not.
    """
    quiet = ProblemConstants(L=1.0, sigma_l=0.0, sigma_g=0.0, f_star=1e6)
    run = run_with(
        np.full((1, ROUNDS + 1), 1e-12),
        constants=quiet,
        gap=0.0,
        f_star=1e6,
        chance=False,
    )
    verdict = compare(run, KEY, variant="corrected")
    assert verdict.kind == "undecided"
    assert "rounding" in verdict.reason
    # a given value takes precedence
    assert compare(run, KEY, variant="corrected", f0_gap=0.0).kind == "violated"
    assert compare(run, KEY, variant="corrected", f0_gap=1.0).kind == "holds"


# -- different starts, measures of the next round, and constants from the caller


def coupled_run(rounds=1, seeds=4, sigma=0.3):
    task = dfl.tasks.get("coupled", m=4, p=2, sigma_u=sigma, sigma_v=sigma, seed=1)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    method = dfl.algorithms.DFedMDC(eta_u=0.01, eta_v=0.01, K_u=1, K_v=1)
    return dfl.train(
        method, task, W, rounds=rounds, seeds=seeds, x0=np.ones(task.d), progress=False
    )


@pytest.mark.parametrize(
    ("measure", "chance"),
    [
        ("two_block", False),
        ("grad_norm_sq", False),
        ("two_block_next", True),
        ("two_block_weighted", True),
    ],
)
def test_a_measure_that_looks_at_the_next_round_has_its_chance(measure, chance):
    """V^1 is random, so a round with T = 1 is only deterministic for measures at the
    start.
    """
    run, thm = coupled_run(), bounds.get("dfedmdc.theorem_1", "corrected")
    reading = LeftHandSide(
        run, replace(thm, lhs=replace(thm.lhs, measure=measure, unit=None))
    )
    assert reading.rounds.tolist() == [0]
    assert reading.exact is not chance
    assert reading.equal_rounds.tolist() == [not chance]
    assert bool(np.ptp(reading.samples) > 0) is chance


def of_own_bound(part, measure="grad_norm_sq", aggregate="mean"):
    """Return a statement like Theorem 4.5 from any start, with one term and no
    conditions.
    """
    thm = bounds.get(KEY, "corrected_different_starts")
    hyperparameters = thm.scope.hyperparameters | {
        "eta": 1e-3,
        "K": 1,
        "rho": 0.0,
        "Q": 1,
    }
    changes = {
        "scope": replace(thm.scope, hyperparameters=hyperparameters),
        "lhs": replace(thm.lhs, measure=measure, unit=None),
    }
    changes["lhs"] = replace(changes["lhs"], aggregate=aggregate)
    return replace(thm, schedule={}, conditions=(), parts={"own": part}, **changes)


def run_from_scaled_starts(scales=(1.0, 2.0, 10.0), sigma=0.0):
    """Return a run whose starts differ between seeds and clients."""
    task = dfl.tasks.quadratic(m=4, d=3, sigma=sigma, zeta=0.2, seed=0)
    W = dfl.graphs.metropolis(dfl.graphs.complete(4))
    x0 = (
        np.random.default_rng(0).normal(size=(len(scales), 4, 3))
        * np.array(scales)[:, None, None]
    )
    alg = DFedSAM(eta=1e-3, K=1, rho=0.0)
    return dfl.train(alg, task, W, rounds=3, seeds=len(scales), x0=x0, progress=False)


X0_SPREAD, F0_GAP, SMOOTH = (
    bounds.GLOSSARY[name].symbol for name in ("x0_spread", "f0_gap", "L")
)


def test_verdict_uses_the_spread_of_each_start_and_reports_the_worst():
    run = run_from_scaled_starts()
    true = compare(run, of_own_bound(X0_SPREAD * sp.Rational(11, 10), "consensus"))
    assert (true.kind, true.method) == ("holds", "exact")
    each = run.consensus[:, :-1].mean(axis=1) / (1.1 * run.x0_spread)
    assert true.ratio == pytest.approx(each.max())
    assert true.at["x0_spread"] == pytest.approx(run.x0_spread[each.argmax()])
    assert sum(true.terms.values()) == pytest.approx(true.bound)
    assert "the worst of 3 starts" in true.reason
    false = compare(
        run,
        of_own_bound(
            X0_SPREAD * sp.Rational(11, 10) * Fraction(each.max()) * 0.99, "consensus"
        ),
    )
    assert false.kind == "violated"
    assert false.ratio > 1


def test_starts_that_differ_only_by_rounding_have_a_verdict():
    """Close starts may have equal losses in single precision, but different gradients
    and errors.
    """
    run = replace(
        run_from_scaled_starts((1.0,) * 3, sigma=0.3), loss=np.ones((3, 4)), excess=None
    )
    assert compare(run, of_own_bound(2 * SMOOTH * F0_GAP * 100)).kind == "holds"


def test_scalar_f0_gap_determines_f_star_and_the_gap_of_each_start():
    run, true = run_from_scaled_starts(), of_own_bound(2 * SMOOTH * F0_GAP)
    own = compare(run, true)
    gap = float(run.f0_gap.mean())
    assert own.kind == "holds"
    given = compare(run, true, f0_gap=gap)
    assert (given.kind, given.bound) == ("holds", pytest.approx(own.bound))
    more = run_values(run, true, {"f0_gap": gap + 1})["f0_gap"]
    assert more == pytest.approx(run.f0_gap + 1)
    # due to the starts' differences
    error = run_values(run, true, {"f0_gap": gap + 1}).f0_gap_error
    assert error == pytest.approx(
        32 * np.finfo(float).eps * np.abs(run.loss[:, 0]), rel=1e-12
    )


def test_a_gap_is_no_less_than_what_the_run_itself_falls_by():
    falling = np.linspace(1.0, 0.7, ROUNDS + 1)[None].repeat(4, axis=0)
    constants = known(standing={"f_star": "bound"})
    run = run_with(noisy(1e-3, seeds=4), constants=constants, loss=falling)
    with pytest.raises(
        InputError,
        match=r"f0_gap = 1e-09",
    ):
        compare(run, KEY, variant="corrected", f0_gap=1e-9)
    assert compare(run, KEY, variant="corrected", f0_gap=0.31).given == {"f0_gap": 0.31}


def test_a_gap_may_be_any_where_the_start_was_not_measured():
    run = run_with(
        noisy(1e-3, rounds=8),
        constants=known(standing={"f_star": "bound"}),
        rounds=10,
        rounds_measured=np.arange(2, 11),
    )
    assert run_values(run, bounds.get(KEY), {"f0_gap": 1e-9})["f0_gap"] == 1e-9


def test_the_least_round_may_depend_on_the_start():
    """E[min_t Y_t | start] = 1 for every start, in different rounds: the statement is
    true, though no round's mean is 1.
    """
    run = run_from_scaled_starts((1.0,) * 16, sigma=0.3)
    levels = np.where(
        np.arange(16)[:, None] % 2, [1.0, 100, 100, 1], [100, 1.0, 100, 1]
    )
    run = replace(run, grad_norm_sq=1e-3 * levels)
    bound = sp.Rational(1, 1000) + sp.Rational(1, 10**9) * F0_GAP
    true = compare(run, of_own_bound(bound, aggregate="min"))
    assert true.kind == "undecided"
    assert true.ratio_ci[0] <= 1
    assert compare(run, of_own_bound(bound / 2, aggregate="min")).kind == "violated"


def test_a_bound_on_gradients_that_is_only_given_proves_nothing_of_the_seeds():
    level = the_bound("corrected")
    run, B = run_with(noisy(0.05 * level)), 1.5 * level**0.5
    assert run.constants.B is None
    assert compare(run, KEY, variant="corrected", B=B).method == "student"
    proved = replace(run, constants=replace(run.constants, B=B))
    proved.__dict__ |= {
        name: run.__dict__[name] for name in ("network", "network_facts")
    }
    # larger values are allowed, but prove nothing more
    verdict = compare(proved, KEY, variant="corrected", B=2 * B)
    assert verdict.method == "bounded"
    assert f"{B**2:.3g}" in verdict.reason


def test_a_contraction_that_was_estimated_can_be_given_within_three_errors_or_above():
    ring, task = (
        dfl.graphs.metropolis(dfl.graphs.ring(4)),
        dfl.tasks.quadratic(m=4, d=2, sigma=0.3, seed=0),
    )

    def mostly_silent(t, rng):
        return (
            np.eye(4)
            if rng.random() < 0.95
            else ring.toarray()
            if hasattr(ring, "toarray")
            else ring
        )

    run = dfl.train(
        DFedSAM(eta=0.01, K=1, rho=0.0), task, mostly_silent, rounds=3, progress=False
    )
    lam, error = run.network.lam, run.network.errors["lam"]
    assert 0 < error < 0.1 < lam
    for value in (0.0, lam - 3.1 * error):
        with pytest.raises(InputError, match=r"^lam = .* lam = .* \+- "):
            compare(run, KEY, variant="corrected", lam=value)
    for value in (lam - 2.9 * error, min(1.0, lam + error)):
        assert compare(run, KEY, variant="corrected", lam=value).given == {"lam": value}
    assert "lam" not in dfl.graphs.network_constants(ring).errors


def test_what_a_task_does_not_know_is_estimated_where_asked():
    rng = torch.Generator().manual_seed(0)
    data = [
        (torch.randn(6, 3, generator=rng), torch.tensor([0, 1] * 3)) for _ in range(2)
    ]
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 2)
    )
    task = dfl.tasks.Supervised(module, data, batch=3)
    run = dfl.train(
        DFedSAM(eta=0.001, K=1), task, dfl.graphs.complete(2), rounds=3, seeds=2
    )
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", variant="corrected")
    assert 'constants="estimate"' in dfl.compare(run, theorem).suggestions.note
    verdict = dfl.compare(run, theorem, constants="estimate")
    assert "at estimated L" in str(verdict)
    sent = copy(run)  # as stored and sent, without the task
    with pytest.raises(InputError, match="estimate_on=task"):
        dfl.compare(sent, theorem, constants="estimate")
    assert dfl.compare(sent, theorem, estimate_on=task) == verdict
    with pytest.raises(InputError, match='must be "known" or "estimate"'):
        dfl.compare(run, theorem, constants={"L": 1.0})
    found = dfl.tasks.estimate.of_run(task, run)
    assert verdict.kind != "not applicable"
    assert set(verdict.estimated) == {"L", "sigma_g", "sigma_l"}
    assert verdict.at["sigma_g"] == pytest.approx(found["sigma_g"].value)
    assert run.constants.L is None


def test_ratio_of_a_measurement_and_a_bound_of_zero_is_one():
    task = dfl.tasks.Quadratic(np.ones((2, 1, 1)), np.zeros((2, 1)))
    algorithm = DFedAvg(eta=0.1, K=1)
    W = np.full((2, 2), 0.5)
    run = dfl.train(algorithm, task, W, rounds=5, x0=np.zeros(1), progress=False)
    verdict = compare(run, KEY, variant="corrected")
    assert (verdict.kind, verdict.bound, verdict.measured.estimate) == ("holds", 0, 0)
    assert verdict.ratio == 1
