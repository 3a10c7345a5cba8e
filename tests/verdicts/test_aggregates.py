"""Maxima and sums over rounds, in every function that evaluates left-hand sides; other
aggregates are rejected.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bound_atlas import competitors
from dfltheory.bounds import GLOSSARY, LeftSide, Scope, Theorem
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.measures import AGGREGATES
from dfltheory.bounds.symbols import VALUE
from dfltheory.checks.vacuous import trivials
from dfltheory.counterexamples import core_evaluation, rational
from dfltheory.counterexamples.aggregates import at_T
from dfltheory.counterexamples.left_sides import measure_by_round, weighted_blocks
from dfltheory.counterexamples.networks import candidate_networks
from dfltheory.counterexamples.score import ratio_at
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.verdicts import running_left_hand_side
from dfltheory.rates import measure as measure_left_hand_side
from dfltheory.testing.claim_problems import network_strategy
from dfltheory.verdicts import evidence
from dfltheory.verdicts.left_hand_side import (
    LeftHandSide,
    distribution_free_upper_end,
    measured_interval,
)
from dfltheory.verdicts.measures import trivial_bound
from dfltheory.verdicts.rounding import RoundingError
from dfltheory.verdicts.statistics import max_interval, upper_of_maximum
from tests.counterexamples.test_rational import PRINTED, trap
from validation.rates import clients

S = {name: entry.symbol for name, entry in GLOSSARY.items()}
ETA = {"order": "combine-then-adapt", "eta": 0.5}
SCOPE = Scope(("DPSGD",), "symmetric", common_start=True, hyperparameters=ETA)
RING = dfl.graphs.metropolis(dfl.graphs.ring(4))
JUDGED = ("mean", "min", "max", "sum", "last")


def about(aggregate, bound, measure="grad_norm_sq", **changes):
    lhs = LeftSide(measure, "X", aggregate)
    fields = {"scope": SCOPE, "parts": {"all": sp.sympify(bound)}, **changes}
    return Theorem("mine.a", "printed", "theorem", "own", "here", lhs, **fields)


def trained(sigma=0.0, rounds=20, seeds=1, x0=3.0, **options):
    task = dfl.tasks.Quadratic(np.ones((4, 1, 1)), np.zeros((4, 1)), noise=sigma)
    start = np.full(1, x0) if np.isscalar(x0) else x0
    run = {"rounds": rounds, "seeds": seeds, "x0": start, "progress": False, **options}
    return dfl.train(dfl.algorithms.DPSGD(eta=0.5), task, RING, **run)


def expected(aggregate, rounds=20):
    """Return

    grad f(x^t)

    ^2 = 9/4^t for f = x^2/2, x^0 = 3 and eta = 1/2.
    """
    values = 9 / 4.0 ** np.arange(rounds)
    pick = {
        "mean": np.mean,
        "min": np.min,
        "max": np.max,
        "sum": np.sum,
        "last": lambda v: v[-1],
    }
    return float(pick[aggregate](values))


def with_aggregate(theorem, aggregate):
    """Return the theorem with an aggregate that its constructor rejects."""
    forged = replace(theorem.lhs)
    object.__setattr__(forged, "aggregate", aggregate)
    return replace(theorem, lhs=forged)


# -- the constructor


@pytest.mark.parametrize("aggregate", ["avg", "weighted", "Sum", "maximum", ""])
def test_an_unknown_aggregate_is_rejected(aggregate):
    with pytest.raises(UnknownNameError, match="aggregate"):
        LeftSide("grad_norm_sq", "X", aggregate)


@pytest.mark.parametrize("aggregate", [None, 1, ["mean"]])
def test_an_aggregate_that_is_no_text_is_rejected(aggregate):
    with pytest.raises(InputError, match="aggregate"):
        LeftSide("grad_norm_sq", "X", aggregate)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_aggregates_survive_a_document(aggregate):
    document = json.loads(json.dumps(theorem_to_document(about(aggregate, 1))))
    assert theorem_from_document(document).lhs == about(aggregate, 1).lhs
    document["lhs"]["aggregate"] = "avg"
    with pytest.raises(InputError, match="aggregate"):
        theorem_from_document(document)


@pytest.mark.parametrize(
    ("aggregate", "written"),
    [
        (
            "max",
            r"\max_{0 \le t \le T - 1} \mathbb{E}\big[\|\nabla f(\bar x^t)\|^2\big]",
        ),
        ("sum", r"\sum_{t=0}^{T - 1} \mathbb{E}\big[\|\nabla f(\bar x^t)\|^2\big]"),
    ],
)
def test_latex_follows_from_measure_and_aggregate(aggregate, written):
    lhs = LeftSide("grad_norm_sq", aggregate=aggregate)
    assert lhs.latex == written
    assert aggregate in lhs.words or AGGREGATES[aggregate] in lhs.words
    assert written in replace(about(aggregate, 1), lhs=lhs).latex()


# -- verdicts


@pytest.mark.parametrize("aggregate", JUDGED)
def test_exact_values_decide_both_ways(aggregate):
    run, value = trained(), expected(aggregate)
    verdict = dfl.compare(run, about(aggregate, 1.001 * value))
    assert (verdict.kind, verdict.method) == ("holds", "exact")
    assert verdict.measured.estimate == pytest.approx(value, rel=1e-9)
    assert dfl.compare(run, about(aggregate, 0.999 * value)).kind == "violated"


def test_a_sum_above_its_bound_is_violated_where_the_mean_is_within():
    bound = 2 * expected("mean")
    assert dfl.compare(trained(), about("mean", bound)).kind == "holds"
    assert dfl.compare(trained(), about("sum", bound)).kind == "violated"


@pytest.mark.parametrize("aggregate", JUDGED)
def test_random_runs_are_decided_both_ways(aggregate):
    run = trained(sigma=0.3, seeds=24, rounds=10)
    verdict = dfl.compare(run, about(aggregate, 1e-9))
    assert verdict.kind == "violated"
    assert verdict.measured.low <= verdict.measured.estimate <= verdict.measured.high
    bound = (
        0.9 if aggregate == "min" else 1e3
    )  # the trivial bound of a minimum is 2 L f0_gap
    assert dfl.compare(run, about(aggregate, bound)).kind == "holds"


def test_a_bound_on_a_minimum_without_f0_gap_is_held_against_that_of_the_run():
    """The trivial bound of the minimum is 2 L f0_gap = 9, though the bound does not
    contain f0_gap.
    """
    assert dfl.compare(trained(), about("min", 8.9)).kind == "holds"
    assert dfl.compare(trained(), about("min", 9.1)).kind == "vacuous"


def test_an_interval_of_a_sum_is_that_of_the_mean_times_the_rounds():
    run = trained(sigma=0.3, seeds=8)
    mean, total = (
        measured_interval(LeftHandSide(run, about(a, 1)), 0.95) for a in ("mean", "sum")
    )
    for end in ("low", "estimate", "high"):
        assert getattr(total, end) == pytest.approx(20 * getattr(mean, end), rel=1e-9)


def test_a_maximum_holds_only_if_every_round_is_within():
    run = trained(sigma=0.3, seeds=24, rounds=10)
    reading = LeftHandSide(run, about("max", 1))
    interval = measured_interval(reading, 0.95)
    assert interval.estimate == run.grad_norm_sq[:, :10].mean(axis=0).max()
    later = replace(
        about("max", 1), lhs=LeftSide("grad_norm_sq", "X", "max", first=sp.Integer(3))
    )
    assert measured_interval(LeftHandSide(run, later), 0.95).high < interval.high


def test_a_maximum_of_many_rounds_at_their_bound_is_not_accused():
    """With 400 rounds, some are far above their mean by chance, and would violate the
    bound on their own.
    """
    rng = np.random.default_rng(1)
    samples = rng.chisquare(1, size=(16, 400))
    each = evidence.log_evidence(samples)
    assert each.max() > np.log(40)
    assert evidence.log_evidence_of_any(samples) < np.log(40)
    assert max_interval(samples, 0.95).low <= 1 <= max_interval(samples, 0.95).high


def test_evidence_of_any_round_is_the_mean_of_the_e_values():
    samples = np.random.default_rng(0).chisquare(1, size=(5, 7)) * 2
    mean = np.exp(evidence.log_evidence(samples)).mean()
    assert np.exp(evidence.log_evidence_of_any(samples)) == pytest.approx(mean)


def test_lower_limits_of_a_maximum_account_for_the_choice_of_the_round():
    """If 200 rounds have expectation 1, a limit for the largest round on its own
    exceeds 1.
    """
    rng = np.random.default_rng(0)
    uncorrected, corrected = [], []
    for _ in range(10):
        samples = rng.chisquare(1, size=(10, 200))
        uncorrected.append(evidence.evidence_lower_limits(samples, 0.025).max() > 1)
        corrected.append(evidence.largest_lower_limit(samples, 0.025) > 1)
    assert sum(uncorrected) >= 3
    assert sum(corrected) == 0


def test_upper_limits_of_a_maximum_cover_it():
    """One round has expectation 1 and the others 0.01: the limit's error rate is that
    of a single round.
    """
    rng, fails = np.random.default_rng(0), 0
    for _ in range(400):
        samples = rng.chisquare(4, size=(6, 3)) / 4 * np.array([0.01, 1, 0.01])
        fails += upper_of_maximum(samples, 0.1) < 1
    assert fails / 400 < 0.15


def test_round_with_equal_random_seeds_has_no_upper_limit():
    samples = np.random.default_rng(0).chisquare(1, size=(8, 3))
    samples[:, 1] = 0.5
    assert upper_of_maximum(samples, 0.025) == np.inf
    assert np.isfinite(upper_of_maximum(samples, 0.025, np.array([False, True, False])))


def test_a_bounded_maximum_has_an_upper_limit_whatever_the_law():
    samples = np.random.default_rng(0).uniform(size=(200, 4)) * np.array(
        [1, 0.1, 0.5, 0.2]
    )
    limit = evidence.upper_limit_of_largest(samples, 1.0, 0.025)
    assert samples.mean(axis=0).max() < limit < 0.7
    worst = evidence.upper_limit(samples[:, :1], 1.0, 0.025)
    assert limit == pytest.approx(worst, rel=1e-6)


def test_bounded_gradients_bound_a_sum_by_the_number_of_rounds():
    run = trained(sigma=0.3, seeds=64)
    run.constants = replace(run.constants, B=4.0, standing={})
    limits = {
        a: distribution_free_upper_end(LeftHandSide(run, about(a, 1)), 0.95)
        for a in ("mean", "sum")
    }
    assert limits["sum"] == pytest.approx(20 * limits["mean"], rel=1e-6)
    for aggregate, known in (("mean", 16), ("max", 16), ("sum", 16 * 20)):
        lhs = about(aggregate, 1).lhs
        assert trivial_bound({"B": 4.0, "T": 20}, lhs=lhs) == known


def test_starts_that_differ_are_held_against_their_own_bounds():
    starts = np.array([1.0, 2.0, 5.0])[:, None, None] * np.ones((3, 4, 1))
    run = trained(seeds=3, x0=starts)
    for aggregate in ("max", "sum"):
        per_gap = 2 * expected(aggregate) / 9  # f0_gap = x^2/2
        holds = dfl.compare(run, about(aggregate, 1.001 * per_gap * S["f0_gap"]))
        fails = dfl.compare(run, about(aggregate, 0.999 * per_gap * S["f0_gap"]))
        assert (holds.kind, fails.kind) == ("holds", "violated")


def test_some_rounds_do_not_state_a_sum_and_violate_a_maximum():
    run = trained(evaluate_every=5)
    assert dfl.compare(run, about("sum", 1e9)).kind == "not applicable"
    assert dfl.compare(run, about("sum", 1e-9)).kind == "not applicable"
    assert dfl.compare(run, about("max", 1e9)).kind == "undecided"
    assert dfl.compare(run, about("max", 1e-3)).kind == "violated"


def test_rounding_errors_of_a_sum_add_up():
    run = trained(rounds=50)
    reading = LeftHandSide(run, about("sum", 1))
    reading.__dict__["rounding"] = RoundingError(root=1e-3)
    value = expected("sum", 50)
    one_round = LeftHandSide(run, about("mean", 1))
    one_round.__dict__["rounding"] = RoundingError(root=1e-3)
    assert reading.raised(value) == pytest.approx(
        50 * one_round.raised(value / 50), rel=1e-12
    )
    assert reading.lowered(value) == pytest.approx(
        50 * one_round.lowered(value / 50), rel=1e-12
    )
    assert reading.raised(value) > value * (1 + 1e-6)


@pytest.mark.drawn(4)
@pytest.mark.parametrize("aggregate", JUDGED)
@pytest.mark.parametrize("seeds", [1, 8])
def test_curves_end_at_the_left_hand_side(aggregate, seeds):
    run = trained(sigma=0.3 * (seeds > 1), seeds=seeds)
    reading = LeftHandSide(run, about(aggregate, 1))
    estimate, low, high = running_left_hand_side(reading, 0.95)
    assert estimate[-1] == pytest.approx(measured_interval(reading, 0.95).estimate)
    assert low[-1] <= estimate[-1] <= high[-1]
    if aggregate in ("max", "sum"):
        assert (np.diff(estimate) >= 0).all()
    axes = dfl.compare(run, about(aggregate, 1)).plot()
    plt.close(axes.figure)


# -- searches


@pytest.mark.parametrize("aggregate", ["mean", "min", "max", "sum", "last"])
@pytest.mark.parametrize("T", [3, 8, 21])
def test_the_search_evaluates_every_aggregate(aggregate, T):
    """Rounds beyond the data repeat its last row."""
    lhs = LeftSide("grad_norm_sq", "X", aggregate, last=S["T"] - 1, first=sp.Integer(1))
    theorem = replace(about(aggregate, 1), lhs=lhs)
    data = np.random.default_rng(0).uniform(size=(8, 5))
    data[-1] = 2.0
    whole = np.concatenate([data, np.repeat(data[-1:], 20, axis=0)])[1:T]
    value = {
        "mean": whole.mean,
        "min": whole.min,
        "max": whole.max,
        "sum": whole.sum,
    }.get(aggregate)
    want = whole[-1] if value is None else value(axis=0)
    np.testing.assert_allclose(at_T(theorem, data, T, 1), want)


def test_the_search_takes_the_floor_of_a_sum_per_round():
    data, values = np.full(10, 0.5), {"L": 1.0}
    assert ratio_at(about("sum", 1), data, values, 10, floor=0.4)["measured"] == 5.0
    assert ratio_at(about("sum", 1), data, values, 10, floor=0.6)["measured"] == 0.0


def test_candidates_below_the_floor_of_a_sum_count_as_zero(monkeypatch):
    """Every round is half of the possible rounding error, so the sum exceeds a single
    error but counts as zero.
    """
    from dfltheory.counterexamples import score

    seen = []
    path = SimpleNamespace(
        cycle=np.ones(1, dtype=int), glides=np.zeros(1), diversity=None
    )
    monkeypatch.setattr(
        score,
        "candidate_values",
        lambda *_: ({"rho": np.zeros(1)}, np.ones(1, dtype=bool)),
    )
    monkeypatch.setattr(score, "measure_by_round", lambda *_: np.full((20, 1), 0.5))
    monkeypatch.setattr(score, "floor", lambda *_: np.ones(1))
    monkeypatch.setattr(score, "judged", lambda theorem, left, *_: seen.append(left))
    score.compared(
        about("sum", 1, "consensus"),
        SimpleNamespace(size=1, x0=None, transient=False),
        path,
        np.array([20]),
    )
    assert seen[0].tolist() == [[0.0]]


@pytest.mark.parametrize("aggregate", ["max", "sum", "mean", "min"])
def test_the_core_of_the_search_has_an_interval(aggregate):
    samples = np.random.default_rng(0).chisquare(1, size=(50, 10))
    pick = {"max": np.max, "sum": np.sum, "mean": np.mean, "min": np.min}[aggregate]
    interval = core_evaluation._interval(about(aggregate, 1), samples, 0.95)
    assert interval.estimate == pytest.approx(pick(samples.mean(axis=0)))
    assert interval.low < interval.estimate < interval.high


@pytest.mark.slow
@pytest.mark.parametrize("aggregate", ["max", "sum"])
def test_the_search_refutes_a_false_bound(aggregate):
    false = S["f0_gap"] / (100 * S["eta"])
    scope = Scope(
        ("DPSGD",),
        "symmetric",
        common_start=True,
        hyperparameters={"order": "combine-then-adapt"},
    )
    step = dfl.bounds.Condition("step", S["eta"] * S["L"], sp.Integer(1))
    found = dfl.falsify(
        about(aggregate, false, scope=scope, conditions=(step,)), seconds=20, enough=1.2
    )
    assert found.violated
    assert found.ratio > 1.2


def test_rational_numbers_evaluate_maxima_and_sums():
    instance = trap()
    lhs, T = PRINTED.lhs, instance["run"]["rounds"]
    sides = {}
    for aggregate in ("mean", "min", "max", "sum"):
        theorem = replace(PRINTED, lhs=replace(lhs, aggregate=aggregate))
        sides[aggregate] = rational.verify_rationally(instance, theorem).left
    assert sides["sum"] == sides["mean"] * len(lhs.rounds(T))
    assert sides["min"] <= sides["mean"] <= sides["max"] <= sides["sum"]
    assert isinstance(sides["max"], Fraction)


def test_a_rate_of_a_sum_is_that_of_the_mean_times_the_rounds():
    theorem = dfl.bounds.get("dfedsam.corollary_4_6", "corrected")
    theorem = replace(
        theorem,
        lhs=replace(theorem.lhs, aggregate="mean", first=sp.S.Zero, last=S["T"] - 1),
    )
    total = replace(theorem, lhs=replace(theorem.lhs, aggregate="sum"))
    for T in (100, 10**7):
        experiment = clients(theorem, T=T, sigma_l=1.0)
        mean, added = (
            measure_left_hand_side(experiment, t).estimate for t in (theorem, total)
        )
        assert added == pytest.approx(T * mean, rel=1e-9)


def test_what_is_known_of_a_sum_grows_with_the_rounds():
    bound = S["f0_gap"] * S["L"] * S["B"] ** 2 / S["B"] ** 2 + S["B"] ** 2
    bounded = replace(SCOPE, bounded_gradients=True)
    known = {
        a: dict(trivials(about(a, bound, scope=bounded)))
        for a in ("mean", "min", "sum")
    }
    for words, expression in known["mean"].items():
        assert sp.simplify(known["sum"][words] - S["T"] * expression) == 0
        assert known["min"][words] == expression


def test_sums_are_not_ranked_with_means():
    with pytest.raises(InputError, match="sum"):
        competitors("grad_norm_sq", [about("sum", 1), about("mean", 1)])
    assert len(competitors("grad_norm_sq", [about("sum", 1), about("sum", 2)])) == 2


def with_measure(theorem, measure):
    forged = replace(theorem.lhs)
    object.__setattr__(forged, "measure", measure)
    return replace(theorem, lhs=forged)


def test_a_measure_that_only_begins_like_another_is_not_evaluated_as_it():
    own = replace(
        about("mean", 1), lhs=LeftSide("two_block_own", "X", "mean", unit=VALUE)
    )
    path = SimpleNamespace(left={}, value=np.zeros((3, 2)))
    assert np.isnan(measure_by_round(own, None, path, {})).all()
    value = with_measure(own, "two_block_value")
    assert np.isnan(measure_by_round(value, None, path, {})).all()
    with pytest.raises(InputError, match="two_block_value"):
        weighted_blocks(value, np.ones(1), np.ones(1), {"L_u": 1.0, "L_v": 1.0})
    with pytest.raises(InputError):
        rational.verify_rationally(
            trap(),
            replace(
                PRINTED, lhs=LeftSide("grad_norm_sq_of_mine", "X", "mean", unit=VALUE)
            ),
        )


def test_matrices_of_an_unknown_law_are_not_drawn():
    scope = replace(SCOPE)
    object.__setattr__(scope, "network", "symetric")
    with pytest.raises(InputError, match="symetric"):
        candidate_networks(replace(about("mean", 1), scope=scope))
    with pytest.raises(InputError, match="symetric"):
        network_strategy("symetric")


# -- no function treats an unknown aggregate as a known one


def test_every_dispatch_on_an_aggregate_is_exhaustive():
    forged, run = with_aggregate(about("mean", 1), "avg"), trained(sigma=0.1, seeds=2)
    for evaluate in (
        lambda: LeftHandSide(run, forged).columns,
        lambda: measured_interval(LeftHandSide(run, forged), 0.95),
        lambda: running_left_hand_side(LeftHandSide(run, forged), 0.95),
        lambda: at_T(forged, np.ones((5, 1)), 3, 1),
        lambda: core_evaluation._interval(forged, np.ones((2, 3)), 0.95),
        lambda: forged.lhs.of_constant(S["L"]),
        lambda: rational.verify_rationally(trap(), with_aggregate(PRINTED, "avg")),
    ):
        with pytest.raises(InputError, match="avg"):
            evaluate()


def test_bound_on_each_round_without_the_horizon_is_a_bound_on_the_maximum():
    """f' = x, so that

    grad f

    ^2 is 9 at the start and decreases.
    """
    run = trained()
    for bound, kind in ((9.1, "holds"), (8.9, "violated")):
        assert dfl.compare(run, about("max", bound)).kind == kind
        verdict = dfl.compare(run, about("each", bound))
        assert verdict.kind == kind
        assert verdict.measured == dfl.compare(run, about("max", bound)).measured


def test_bound_on_each_round_with_the_horizon_is_not_applicable():
    verdict = dfl.compare(trained(), about("each", 100 / S["T"], measure="f_gap"))
    assert verdict.kind == "not applicable"
    assert "horizon" in verdict.reason
