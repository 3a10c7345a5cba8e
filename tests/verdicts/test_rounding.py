"""Rounding never makes a sharp identity violated, and statements that are false by more
than rounding are.
"""

import logging
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
import sympy as sp
import torch

import dfltheory as dfl
from dfltheory.bounds import LeftSide
from dfltheory.bounds import symbols as s
from dfltheory.bounds.symbols import (
    GRADIENT,
    GRADIENT_SQ,
    LENGTH,
    LENGTH_SQ,
    ONE,
    VALUE,
)
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.problems import RampTask
from dfltheory.training.history import History
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.lost_digits import underflows
from dfltheory.verdicts.rounding import (
    UNDERFLOW_LIMIT,
    RoundingError,
    bound_error,
    measure_error,
)
from dfltheory.verdicts.run_sizes import Sizes, memory_of
from tests.identities import IDENTITIES, Descent, Gossip, case, drawn

STARTS = 5
"""Number of starts of one run; each is a separate case."""


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def accused(name, seeds, longest):
    """Return the runs of an identity that are called violated or not applicable."""
    wrong = []
    for seed in seeds:
        draw, run, theorem = case(name, seed, STARTS, longest)
        verdict = dfl.compare(run, theorem)
        if verdict.kind not in ("holds", "undecided"):
            wrong.append((seed, draw._replace(rng=None), str(verdict)))
    return wrong


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", IDENTITIES)
def test_compare_accuses_no_identity(name):
    """Tests 9 runs with 5 starts of each identity, 540 cases in all."""
    assert accused(name, range(8), 60) == []
    assert accused(name, [8], 2000) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", IDENTITIES)
def test_compare_accuses_no_identity_in_many_runs(name):
    """Tests 340 runs with 5 starts of each identity, 20,400 cases in all."""
    assert accused(name, range(100, 340), 200) == []
    assert accused(name, range(340, 440), 2000) == []


def ordinary(name, seed):
    """Return a run in ordinary units and distances, with rounding far below 1 %."""
    rng = np.random.default_rng(seed)
    draw = drawn(rng, 10)._replace(
        share=0.3,
        lam=0.6,
        T=3,
        length=1.0,
        L=1.0,
        offset=float(rng.choice([0.0, 3.0])),
        d=2,
        reach=0.3,
    )
    return IDENTITIES[name].run(draw, 2), IDENTITIES[name].theorem


def scaled(theorem, share):
    return replace(
        theorem, parts={name: share * part for name, part in theorem.parts.items()}
    )


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in IDENTITIES
        if name not in ("gossip on a path", "exact averaging")
    ],
)
def test_compare_reports_violated_for_a_bound_below_an_identity(name):
    for seed in range(4):
        run, theorem = ordinary(name, seed)
        assert (
            dfl.compare(run, scaled(theorem, sp.Rational(99, 100))).kind == "violated"
        ), seed
        assert (
            dfl.compare(run, scaled(theorem, sp.Rational(101, 100))).kind == "holds"
        ), seed


# -- the runs of the issue


def test_compare_does_not_accuse_gradient_descent_with_eta_one_over_L():
    task = dfl.tasks.Quadratic(np.ones(2), np.array([[0.1, 0.7], [0.3, -0.2]]))
    algorithm, metrics = dfl.algorithms.FedAvg(eta=1.0, K=1), [dfl.verdicts.dist_sq]
    run = dfl.train(
        algorithm,
        task,
        None,
        200,
        metrics=metrics,
        x0=np.array([5.1, 3.3]),
        progress=False,
    )
    for key in (
        "bubeck2015.theorem_3_10",
        "lean.gd_contraction",
        "lean.gd_strongly_convex",
    ):
        verdict = dfl.compare(run, key)
        assert verdict.kind != "violated", str(verdict)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compare_does_not_accuse_gossip_of_two_unequal_weights(dtype):
    W = np.array([[0.995, 0.005], [0.005, 0.995]])
    for seed in range(3):
        rng = np.random.default_rng(seed)
        task = dfl.tasks.Quadratic(1.0, np.zeros((2, 3)), dtype=dtype)
        x0 = 20 + rng.normal(size=(2, 3))
        run = dfl.train(
            Gossip(eta=0.5), task, W, 1500, x0=x0, evaluate_every=1500, progress=False
        )
        assert dfl.compare(run, IDENTITIES["gossip"].theorem).kind != "violated"


@cache
def search_for_gossip(candidates, seed):
    return dfl.falsify(IDENTITIES["gossip"].theorem, candidates=candidates, seed=seed)


@pytest.mark.parametrize(
    ("candidates", "seed"),
    [(500, 1), *(pytest.param(1500, k, marks=pytest.mark.slow) for k in range(6))],
)
def test_falsify_does_not_refute_the_contraction_of_gossip(candidates, seed):
    found = search_for_gossip(candidates, seed)
    assert not found.violated
    assert found.ratio <= 1 + 1e-9


def test_falsify_refutes_a_contraction_that_is_too_fast():
    assert dfl.falsify(
        scaled(IDENTITIES["gossip"].theorem, sp.Rational(99, 100)), candidates=600
    ).violated


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "gossip",
        "gossip on a path",
        "exact averaging",
        "disagreement of different clients",
        "distance of gradient descent",
    ],
)
def test_falsify_refutes_no_identity_in_30_seconds(name):
    """Tests the identities that hold for all problems of the search, not only for
    quadratics.
    """
    theorem = IDENTITIES[name].theorem
    if name.startswith("disagreement"):
        theorem = replace(
            theorem, parts={"all": (s.lam * s.eta * s.B / (1 - s.lam)) ** 2}
        )
        theorem = replace(theorem, scope=replace(theorem.scope, bounded_gradients=True))
    assert not dfl.falsify(theorem, seconds=30, seed=0).violated


def frozen(T):
    """Return two clients whose averaging is rounded away, since each moves by less than
    a unit in the last place.
    """
    w = 1.7e-5
    task = RampTask([[1.0]] * 2, [[1.0]] * 2, [[1.0]] * 2, [0.0, 0.0])
    W = np.array([[1 - w, w], [w, 1 - w]])
    x0 = 21 + np.array([[0.0], [5.7e-11]])
    return dfl.Instance(task, Gossip(eta=0.5), W, rounds=T, seeds=1, x0=x0)


@pytest.mark.parametrize("T", [300, 10**5, 10**7])
def test_certify_does_not_confirm_a_state_that_only_rounding_freezes(T):
    found = certify(frozen(T), IDENTITIES["gossip"].theorem)
    assert not found.violated
    assert found.exact["ratio"] <= 1


# -- bounds that underflow


def test_compare_reports_undecided_for_a_bound_that_underflows():
    run, theorem = ordinary("gossip", 0)
    tiny = scaled(theorem, sp.Float("1e-295"))
    for below in (tiny, scaled(theorem, s.lam**4000)):
        assert dfl.compare(run, below).kind == "undecided"
    assert dfl.compare(run, scaled(theorem, sp.Float("1e-280"))).kind == "violated"
    assert dfl.compare(run, scaled(theorem, sp.S.Zero)).kind == "violated"


def test_a_bound_underflows_unless_its_formula_is_zero():
    theorem = replace(IDENTITIES["gossip"].theorem, conditions=())
    values = {"lam": 0.5, "T": 10, "x0_spread": 1.0}
    assert not underflows(theorem, values, 1e-6)
    assert underflows(theorem, values | {"T": 5000}, 0.0)
    assert not underflows(theorem, values | {"lam": 0.0}, 0.0)
    assert underflows(
        theorem,
        values | {"x0_spread": np.array([0.0, 1e-300])},
        np.array([0.0, 1e-306]),
    )


# -- the error itself


def sizes(**changes):
    known = {
        "eps": 2.0**-52,
        "tiny": 2.0**-1022,
        "rounds": 100,
        "size": 1.0,
        "gradient": 1.0,
        "eta": 0.1,
    }
    known |= {"last_eta": 0.1, "L": 1.0, "lam": 0.5, "clients": 4, "largest": 1.0}
    return Sizes(**(known | changes))


MEASURES = {
    "dist_sq": LENGTH_SQ,
    "consensus": LENGTH_SQ,
    "grad_norm_sq": GRADIENT_SQ,
    "f_gap": VALUE,
    "loss": VALUE,
    "mine": LENGTH_SQ,
    "steep": GRADIENT_SQ,
    "far": LENGTH,
    "slope": GRADIENT,
    "level": VALUE,
}
UNKNOWN = ("mine", "steep", "far", "slope", "level")


@pytest.mark.parametrize("measure", MEASURES)
def test_errors_scale_with_the_units(measure):
    x, c = 1e10, 1e-7
    unit = MEASURES[measure]
    lhs, factor = (
        LeftSide(measure, "X", "last", unit=unit),
        float(c**unit.f * x**unit.x),
    )
    one = measure_error(lhs, sizes())
    other = sizes(
        size=x, gradient=c / x, eta=0.1 * x**2 / c, last_eta=0.1 * x**2 / c, L=c / x**2
    )
    other = replace(other, largest=factor)
    scaled_error = measure_error(lhs, other)
    assert scaled_error.root**2 == pytest.approx(factor * one.root**2, rel=1e-9)
    assert scaled_error.shift == pytest.approx(factor * one.shift, rel=1e-9)
    assert one.root > 0 or one.shift > 0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "change", [{"eps": 1e-7}, {"rounds": 10**4}, {"size": 10.0}, {"memory": 10.0}]
)
def test_errors_grow_with_precision_rounds_and_sizes(measure, change):
    lhs = LeftSide(measure, "X", "last", unit=MEASURES[measure])
    known = {"lam": None, "largest": 1e-9}
    less, more = (
        measure_error(lhs, sizes(**known, **changes)).of_zero
        for changes in ({}, change)
    )
    assert more > (1.0 if measure in UNKNOWN and "size" in change else 1.5) * less


def test_gossip_damps_the_error_of_a_consensus():
    lhs = LeftSide("consensus", "X", "last", unit=LENGTH_SQ)
    roots = [
        measure_error(lhs, sizes(rounds=10**6, lam=lam, eta=1e-9)).root
        for lam in (0.5, 0.99, 1.0, None)
    ]
    assert roots[0] < roots[1] / 10 < roots[2] / 1000
    assert roots[2] == roots[3]


def test_an_unknown_metric_keeps_half_of_its_digits():
    error = measure_error(LeftSide("mine", "X", "last", unit=ONE), sizes())
    assert 1e-8 < error.root < 1e-5
    assert error.lowered(1e-16) == 0 < error.lowered(1e-3)
    assert (
        measure_error(LeftSide("sent_bits", "X", "last", unit=ONE), sizes()).of_zero
        == 0
    )


def test_lowered_and_raised_enclose_a_value_and_drop_what_underflows():
    error = measure_error(
        LeftSide("f_gap", "X", "last", unit=VALUE), sizes(f_star=2.0, heterogeneity=1.0)
    )
    values = np.array([0.0, 1e-3, 1.0, 1e3])
    assert (error.lowered(values) <= values).all()
    assert (error.raised(values) > values).all()
    assert error.lowered(1.0) == pytest.approx(1.0, rel=1e-10)
    nothing = measure_error(LeftSide("sent_bits", "X", "last", unit=ONE), sizes())
    assert (
        nothing.lowered(UNDERFLOW_LIMIT / 2) == 0 < nothing.lowered(2 * UNDERFLOW_LIMIT)
    )


def test_momentum_and_duals_repeat_errors():
    algorithms = dfl.algorithms
    assert (
        memory_of(algorithms.DFedAvg(eta=0.1, K=2)) == 1 == memory_of(Descent(eta=0.1))
    )
    assert memory_of(algorithms.DFedAvgM(eta=0.1, K=2, alpha=0.9)) == pytest.approx(10)
    assert (
        memory_of(algorithms.DFedADMM(eta=0.1, K=2, lam=1.0))
        == np.inf
        == memory_of(algorithms.DSGT(eta=0.1))
    )


def test_sizes_of_a_run_are_kept_in_its_file(tmp_path):
    run, theorem = ordinary("mean of different clients", 1)
    again = History.load(run.save(tmp_path / "run.safetensors"))
    before, after = (asdict(LeftHandSide(r, theorem).sizes) for r in (run, again))
    assert after == before
    assert run.model_sq.shape == run.loss.shape
    assert (run.x0_gradient_sq > 10 * run.grad_norm_sq[:, 0]).all()


# -- f* and identical clients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("offset", [0.1, 1000.1, 1e6 + 0.3])
def test_identical_quadratic_clients_have_no_heterogeneity(dtype, offset):
    A = np.array([[2.0, 0.3], [0.3, 1.0]])
    for hessian in (A, np.array([1.0, 3.0]), 0.7):
        task = dfl.tasks.Quadratic(hessian, np.full((7, 2), offset), dtype=dtype)
        assert task.constants.sigma_g == 0 == task.constants.beta
        assert task.zeta == 0 == task.f_star
        assert torch.equal(task.x_star, task.b[0])


def test_a_gap_that_rounding_makes_negative_is_zero():
    gap = replace(IDENTITIES["function gap of a user's descent"].theorem, conditions=())
    kinds = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        task = dfl.tasks.Quadratic(
            1.0,
            1000 + rng.normal(size=(4, 3)),
            dtype=(torch.float32, torch.float64)[seed % 2],
        )
        run = dfl.train(
            Descent(eta=0.5),
            task,
            np.full((4, 4), 0.25),
            60,
            x0=np.full(3, 1001.0),
            progress=False,
        )
        kinds.add(dfl.compare(run, gap).kind)
    assert kinds <= {"holds", "undecided"}


def test_a_gap_that_is_negative_by_more_than_rounding_is_not_judged():
    run, theorem = ordinary("function gap of a user's descent", 0)
    run.loss[:, -1] = run.constants.f_star - 1e-3
    assert dfl.compare(run, theorem).kind == "not applicable"


def test_a_search_without_a_positive_bound_reports_that_no_candidate_was_judged(capsys):
    """All first candidates have a common start or average exactly, so the left-hand
    side and the bound are 0.
    """
    from dfltheory.cli.falsify import _print

    found = dfl.falsify(IDENTITIES["gossip"].theorem, candidates=300, seed=0)
    assert np.isnan(found.ratio)
    assert not found.violated
    _print(found)
    assert "nan" not in capsys.readouterr().out
    judged = search_for_gossip(500, 1)
    assert f"{judged.ratio:.6g}" in str(judged)


# -- the formulas of the documentation, written once more in plain numbers


def test_true_values_around_a_measured_one_are_those_of_the_docstring():
    error = RoundingError(root=0.5, shift=1.0, relative=0.25)
    # (sqrt(12 * 1.25 + 1) + 1/2)^2 and (sqrt(12 * 0.75 - 1) - 1/2)^2
    assert error.raised(12) == pytest.approx(4.5**2)
    assert error.lowered(12) == pytest.approx((8**0.5 - 0.5) ** 2)
    assert error.of_zero == 1.25
    assert error.lowered([0, 12])[0] == 0  # whole numbers, too
    assert error.raised(np.array([-1, 0])).tolist() == pytest.approx([1.5**2] * 2)


def by_hand(known, rounds):
    """Error of the models after ``rounds`` rounds and their measurement: of one round
    K + Q sqrt(m) + 2 roundings of ||x|| + eta K ||g||, and twice eta K ||g||.
    """
    distance = known.eta * known.local_steps * known.gradient
    roundings = known.local_steps + known.gossip_steps * known.clients**0.5 + 2
    each = known.eps * (roundings * (known.size + distance) + 2 * distance)
    each += known.tiny * (roundings + known.eta)
    measurement = (known.clients**0.5 + 2) * (known.eps * known.size + known.tiny)
    return each * rounds * min(known.rounds, known.memory) + measurement


COARSE = {"eps": 1e-3, "tiny": 1e-4, "memory": 3.0, "local_steps": 2, "L": 2.0}


def test_errors_of_measures_are_those_of_the_docstring():
    known = sizes(**COARSE, clients=9, value_error=0.125)
    distance = measure_error(LeftSide("dist_sq", "", "mean"), known)
    minimizer = 4 * np.finfo(float).eps
    assert distance.root == pytest.approx(by_hand(known, 100) + minimizer)
    # damped after 1/(eta K L) + 1/(1 - lam) rounds, where an error of lam is 2 eps
    damped = 1 / (0.1 * 2 * 2.0) + 1 / (1 - 0.5 - 2e-3)
    gradient = measure_error(LeftSide("grad_norm_sq", "", "mean"), known)
    assert gradient.root == pytest.approx(2 * by_hand(known, damped) + 1e-3)
    # the mean's own error counts 1 + eta K L T times
    gossip = (1 + 0.1 * 2 * 2.0 * 100) / (1 - 0.5 - 2e-3)
    consensus = measure_error(LeftSide("consensus", "", "mean"), known)
    assert consensus.root == pytest.approx(by_hand(known, min(100, gossip)))
    assert consensus.shift == 0.125


def test_gradients_of_unknown_smoothness_count_one_over_the_step():
    known = replace(sizes(**COARSE), L=None)
    found = measure_error(LeftSide("grad_norm_sq", "", "mean"), known)
    damped = 1 / (0.1 * 2 / 0.1) + 1 / (1 - 0.5 - 2e-3)
    expected = by_hand(known, damped) / 0.1 + 1e-3
    assert found.root == pytest.approx(expected)


@pytest.mark.parametrize("unknown", ["last_eta", "lam"])
def test_errors_of_gradients_are_not_damped_where_it_is_unknown(unknown):
    known = replace(sizes(**COARSE), **{unknown: None})
    found = measure_error(LeftSide("grad_norm_sq", "", "mean"), known)
    assert found.root == pytest.approx(2 * by_hand(known, 100) + 1e-3)


def test_without_gossip_gradient_steps_alone_damp():
    known = sizes(**COARSE, lam=None, gossip_steps=0)
    found = measure_error(LeftSide("grad_norm_sq", "", "mean"), known)
    expected = 2 * by_hand(known, 1 / (0.1 * 2 * 2.0)) + 1e-3
    assert found.root == pytest.approx(expected)


@pytest.mark.parametrize("measure", UNKNOWN)
def test_unknown_measure_has_half_of_the_digits_and_the_error_of_its_unit(measure):
    known = sizes(**COARSE, largest=4.0)
    digits = 1e-3 * (2 + 2 + 2) * 100 * 3
    half = (min(digits, 1.0) * 4.0) ** 0.5
    found = measure_error(LeftSide(measure, "y", "mean", unit=MEASURES[measure]), known)
    peers = {LENGTH: "dist_sq", GRADIENT: "grad_norm_sq", VALUE: "loss"}
    peers |= {LENGTH_SQ: "dist_sq", GRADIENT_SQ: "grad_norm_sq"}
    peer = measure_error(LeftSide(peers[MEASURES[measure]], "", "mean"), known)
    if MEASURES[measure] in (LENGTH_SQ, GRADIENT_SQ):
        assert found.root == pytest.approx(half + peer.root)
    else:
        assert found.root == pytest.approx(half)
        error = peer.root if MEASURES[measure] != VALUE else peer.shift
        assert found.shift == pytest.approx(error)


def test_error_of_a_bound_is_the_sum_over_its_constants():
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    values = dict.fromkeys(theorem.needs, 2.0)
    values |= {name: 3 for name in theorem.needs if theorem.glossary[name].integer}
    values |= {n: 0.5 for n in theorem.needs if theorem.glossary[n].high == 1}
    eps, bound = 1e-4, theorem.evaluate(where="ignore", **values)
    expected = 0.0
    for name, value in values.items():
        quantity = theorem.glossary[name]
        if quantity.high == 1:
            moved = [value + 2 * eps]
        elif quantity.integer:
            continue
        else:
            moved = [value * (1 + 8 * eps), value * (1 - 8 * eps)]
        changes = [
            abs(theorem.evaluate(where="ignore", **(values | {name: other})) - bound)
            for other in moved
        ]
        expected += min(changes)
    assert expected > 0
    assert bound_error(theorem, values, eps) == pytest.approx(expected)
