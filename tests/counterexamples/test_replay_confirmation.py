"""A replay with a subnormal or infinite bound is undecided; a refutation is confirmed
with 50 digits.
"""

import json
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds, cli
from dfltheory.bounds import symbols as s
from dfltheory.bounds.document import theorem_to_document
from dfltheory.bounds.enclosures import Evaluation
from dfltheory.counterexamples import (
    certify,
    core,
    core_evaluation,
    divergence,
    replay,
    score,
)
from dfltheory.counterexamples.certificate import Certificate
from dfltheory.counterexamples.confirm import abnormal, unconfirmed
from dfltheory.counterexamples.core import FULL
from dfltheory.counterexamples.document import built, read_document
from dfltheory.errors import InputError

FILE = (
    Path(__file__).parents[2]
    / "docs"
    / "counterexamples"
    / "dfedadmm.theorem_1-printed.json"
)
THEOREM = bounds.get("dfedadmm.theorem_1", "printed")
NEXT, LATER = s.T + 1, s.T + 2
TINY = s.eta + s.K + s.m


def sent(tmp_path, theorem, rounds=10**9):
    """Return the saved instance, which violates the printed bound, with another
    statement and horizon.
    """
    counterexample = {
        k: v
        for k, v in json.loads(FILE.read_text()).items()
        if k not in ("families", "command")
    }
    counterexample |= {
        "kind": "dfltheory.counterexample",
        "key": theorem.key,
        "variant": theorem.variant,
    }
    counterexample["theorem"] = theorem_to_document(theorem)
    counterexample["instance"]["run"]["rounds"] = rounds
    file = tmp_path / "sent.json"
    file.write_text(json.dumps(counterexample))
    return file


def about(bound, *conditions):
    hyperparameters = {"eta": 1.0, "K": 1, "lam_admm": 1.0, "rho": 1.0}
    return replace(
        THEOREM,
        key="own.statement",
        variant="own",
        parts={"all": sp.sympify(bound)},
        definitions=(),
        conditions=conditions,
        schedule={},
        scope=replace(
            THEOREM.scope,
            hyperparameters={**THEOREM.scope.hyperparameters, **hyperparameters},
        ),
    )


def held(left, right, strict=False):
    return bounds.Condition("of this test", sp.sympify(left), sp.sympify(right), strict)


UNEVALUABLE = {
    "overflow times underflow": sp.Mul(LATER**400, NEXT**-400),
    "underflow under a root": (
        10**33 * (NEXT**-400 + LATER**-400) ** sp.Rational(1, 100)
    ),
    "underflow to zero": NEXT**-400,
    "subnormal": sp.Rational(1, 10**35) ** s.K * sp.Rational(1, 10**275),
    "overflow": NEXT**400,
    "no real number": sp.sqrt(s.K - 2),
    "zero": sp.S.Zero,
    "wrong, and a normal number": (
        sp.Rational(1, 10**12)
        + 10**27 * (NEXT**-400 + LATER**-400) ** sp.Rational(1, 100)
    ),
    "cancellation": (
        NEXT**3 - s.T * (s.T**2 + 3 * s.T + 3) - 1 + sp.Rational(1, 10**9) * TINY
    ),
}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", UNEVALUABLE)
def test_a_bound_that_floating_point_cannot_evaluate_is_undecided(
    name, tmp_path, capsys
):
    file = sent(tmp_path, about(UNEVALUABLE[name]))
    assert cli.run(["falsify", "--replay", str(file), "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["undecided"]
    assert document["violated"] is False


def test_an_undecided_finding_is_saved_and_read(tmp_path):
    found = replay(sent(tmp_path, about(UNEVALUABLE["wrong, and a normal number"])))
    assert not found.violated
    assert "undecided" in str(found)
    again = read_document(found.save(tmp_path / "again.json"))
    assert again["undecided"] == found.undecided


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "condition",
    [
        held(NEXT**-400, 1),
        held(1, NEXT**400),
        held(sp.Mul(LATER**400, NEXT**-400), 2),
        held(NEXT**3 - s.T**3 - 3 * s.T**2 - 3 * s.T - 1 + sp.Rational(1, 10**30), 0),
        held(1, 1 + sp.Rational(1, 10**18), strict=True),
        held(1 + sp.Rational(1, 10**14) * s.K, 1),
    ],
)
def test_a_condition_that_floating_point_cannot_evaluate_leads_to_no_refutation(
    condition, tmp_path
):
    found = replay(sent(tmp_path, about(sp.Rational(1, 10**12), condition)))
    assert not found.violated
    assert found.undecided or found.certificate.obstacles


def test_a_plain_refutation_stays_one(tmp_path):
    true_conditions = (held(0, s.rho), held(s.eta - 1, 0), held(s.eta, 2, strict=True))
    file = sent(
        tmp_path, about(sp.Rational(1, 10**12) + s.K / s.T**2, *true_conditions)
    )
    found = replay(file)
    assert found.violated
    assert not found.undecided
    assert cli.run(["falsify", "--replay", str(file)]) == 1


def test_a_core_that_exceeds_the_bound_at_another_horizon_is_confirmed_there(
    monkeypatch,
):
    """The second evaluation covers both horizons."""
    exact = {"T": 10**9, "measured": 2.0, "bound": 1.0, "ratio": 2.0}
    core = {"T": 5, "measured": 2.0, "bound": 1.0, "ratio": 2.0, "rounds": 9}
    seen = []
    monkeypatch.setattr(certify, "abnormal", lambda *a: [])
    monkeypatch.setattr(
        certify,
        "unconfirmed",
        lambda t, v, *a, **k: seen.append(v["T"]) or ["no"] * (v["T"] == 5),
    )
    one = Certificate(exact, core, None)
    assert certify._doubts(THEOREM, {}, one) == ["no"]
    assert seen == [10**9, 5]


@pytest.mark.parametrize("measured", [1.0, 1 + 1e-12])
def test_the_second_evaluation_compares_with_the_bound_at_50_digits(measured):
    theorem = about(s.K + sp.Rational(1, 10**13) * 5)
    reasons = unconfirmed(theorem, {"K": 1, "T": 5}, 1.0, measured)
    assert bool(reasons) == (measured == 1.0)
    # another bound in floating point
    assert unconfirmed(theorem, {"K": 1, "T": 5}, 1.1, 5.0)


def test_a_side_of_a_condition_may_be_zero_and_not_a_number_that_underflows():
    values = {"K": 1.0, "T": 1e9, "rho": 0.0}
    fine = {"bound": 1.0, "measured": 2.0}
    for side, underflows in ((s.rho, False), (s.K - 1, False), (NEXT**-400, True)):
        assert bool(abnormal(about(s.K, held(side, 1)), values, fine)) is underflows


def test_values_that_are_no_normal_numbers_are_named():
    theorem = about(s.K, held(0, s.rho))
    fine = {"bound": 1.0, "measured": 2.0}
    assert not abnormal(theorem, {"K": 1, "rho": 0.0}, fine)
    for name, value in (
        ("bound", np.nan),
        ("bound", 1e-310),
        ("bound", np.inf),
        ("measured", np.inf),
    ):
        assert abnormal(theorem, {"K": 1, "rho": 0.0}, fine | {name: value})


def test_the_expressions_of_a_family_are_evaluated_at_50_digits():
    theorem = about(s.K + sp.Mul(LATER**40, NEXT**-40), held(0, s.rho))
    values = {"K": 1.0, "T": 50.0, "rho": 0.0}
    bound = theorem.evaluate(where="nan", **values)
    for factor, confirmed in ((1.0, True), (1.001, False)):
        assert (
            divergence._confirmed(theorem, [(1.0, 2.0, bound * factor, values)])
            is confirmed
        )


def test_a_decimal_of_a_statement_means_its_digits_at_50_digits():
    product = sp.Mul(sp.Float(0.29), 100, sp.Rational(1, 29), evaluate=False)
    share = sp.floor(product, evaluate=False)
    theorem = about(s.K + share, held(0, s.rho))
    assert Evaluation(theorem, dict.fromkeys(theorem.symbols, 1.0))._value(share) == 1


@pytest.mark.parametrize(("K", "fits"), [(68.0, True), (69.0, False)])
def test_number_whose_exponent_has_more_than_a_hundred_bits_is_refused(K, fits):
    """exp(69) is below 2^100, but the exponent of 2 in exp(exp(69)) is above."""
    theorem = about(sp.exp(sp.exp(s.K)), held(0, s.rho))
    evaluation = Evaluation(theorem, {**dict.fromkeys(theorem.symbols, 1.0), "K": K})
    if fits:
        low, high = evaluation.bound
        assert mpmath.log(mpmath.log(low)) <= K <= mpmath.log(mpmath.log(high))
    else:
        with pytest.raises(InputError, match="too large"):
            _ = evaluation.bound


@pytest.mark.slow
def test_a_family_whose_expression_is_not_confirmed_does_not_count(monkeypatch):
    file = FILE.with_name("dfedsam.corollary_4_6-printed.json")
    assert replay(file).growing
    monkeypatch.setattr(divergence, "unconfirmed", lambda *a, **k: ["deviates"])
    with pytest.raises(divergence.DataError):
        replay(file)


STILL_MOVING = {
    "task": {
        "name": "dfltheory.counterexamples.problems:RampTask",
        "knots": [[-0.2, 0.6], [-3.0, -2.0]],
        "widths": [[0.1, 0.02], [9.0, 2.0]],
        "slopes": [[2e-5, -2e-5], [4e-6, 4e-6]],
        "left": [-3e-6, -9e-6],
        "sigma": 0.0,
    },
    "algorithm": {"name": "dfedadmm", "eta": 1.0, "K": 1, "lam": 1.0},
    "topology": {"matrix": [[0.9, 0.1], [0.1, 0.9]]},
    "run": {"rounds": 10**16, "seed": 0, "seeds": 1, "x0": [[-4.0], [-4.0]]},
}
"""A run that is not stationary when the core ends it."""


@pytest.mark.parametrize("full", [320, pytest.param(FULL, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("aggregate", "violated"),
    [
        ("max", True),
        ("mean", False),
        pytest.param("min", False, marks=pytest.mark.slow),
    ],
)
def test_first_rounds_refute_a_bound_on_the_maximum_at_any_horizon(
    aggregate, violated, full, monkeypatch
):
    for module in (core, score, certify):
        monkeypatch.setattr(module, "FULL", full)
    monkeypatch.setattr(certify, "CORE_ROUNDS", (300, full))
    theorem = bounds.get("dfedadmm.theorem_1", "corrected_no_bounded_gradients")
    changed = replace(theorem, lhs=replace(theorem.lhs, aggregate=aggregate))
    instance = built(STILL_MOVING, theorem.scope.algorithms)
    certificate = certify.certify(instance, changed)
    assert certificate.violated is violated
    assert certificate.exact["still"] is False
    assert ("by its first 300 rounds alone" in str(certificate)) is violated
    seen = certificate.core_at_horizon
    exact = pytest.approx(certificate.exact["ratio"], rel=1e-3)
    assert seen == (exact if violated else None)


@pytest.mark.slow
def test_unknown_rounds_of_a_measure_with_a_sign_do_not_count_as_zero(monkeypatch):
    theorem = bounds.get("dfedadmm.theorem_1", "corrected_no_bounded_gradients")
    changed = replace(theorem, lhs=replace(theorem.lhs, aggregate="max"))
    instance = built(STILL_MOVING, theorem.scope.algorithms)
    monkeypatch.setattr(core_evaluation, "SIGNED_MEASURES", (theorem.lhs.measure,))
    monkeypatch.setattr(certify, "CORE_ROUNDS", (300,))
    certificate = certify.certify(instance, changed)
    assert certificate.core_at_horizon is None
    assert not certificate.violated


NOISY = {
    "task": {
        "name": "dfltheory.counterexamples.problems:RampTask",
        "knots": [[-1000.0], [-1000.0]],
        "widths": [[2000.0], [2000.0]],
        "slopes": [[1.0], [1.0]],
        "left": [-1000.0, -1000.0],
        "sigma": 1.0,
    },
    "algorithm": {"name": "dfedsam", "eta": 0.1, "K": 1, "rho": 0.0, "Q": 1},
    "topology": {"matrix": [[0.5, 0.5], [0.5, 0.5]]},
    "run": {"rounds": 40, "seed": 0, "seeds": 1, "x0": [[0.0], [0.0]]},
}


@pytest.mark.parametrize(("divisor", "violated"), [(1, False), (100, True)])
def test_noise_is_run_16_times_if_the_bound_holds_or_is_far_exceeded(divisor, violated):
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    parts = {name: part / divisor for name, part in theorem.parts.items()}
    instance = built(NOISY, theorem.scope.algorithms)
    certificate = certify.certify(instance, replace(theorem, parts=parts))
    assert certificate.violated is violated
    assert (certificate.exact["ratio"] > 1) is violated
    assert certificate.core["seeds"] == 16
