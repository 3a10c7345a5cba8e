"""Declared proof steps: a true proof, an error in each of its steps, and messages."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.reference import load
from dfltheory.bounds.regions import expanded_conditions
from dfltheory.bounds.theorem import Condition
from dfltheory.checks.run import audit_statement
from dfltheory.cli import run
from dfltheory.errors import InputError
from dfltheory.proofs.declared_steps import judge_steps
from dfltheory.proofs.step_points import value_at
from tests.proofs.own_theorems import theorem_with_steps

FILES = Path(__file__).parent / "proof_files"
TRUE, SLIPS = str(FILES / "proof.toml"), str(FILES / "three_slips.toml")


# an error in each step of the true proof
SLIPPED = {
    "near": "R <= L*D/2",
    "spread": "W <= L*D",
    "sent": "S <= (1 + eta)*D + eta*(sigma_g + sigma_l)",
    "contraction": "D_next <= lam^2*(1 + eta*L)*D + eta*lam*(sigma_g + sigma_l)",
    "unrolled": "D_mean <= 8/7*eta*lam*(sigma_g + sigma_l)",
    "consensus": "D2_mean <= 128/49*eta^2*lam^3*(sigma_g^2 + sigma_l^2)/(1 - lam)^2",
    "descent": "F_next - F <= -eta*P + 4*eta^2*L*U + 3/7*eta^2*L*V",
    "inner_product": "-P <= -1/2*G - 1/2*U + L*D2/2",
    "noise": "V <= sigma_l/m",
    "progress": "F_next - F <= -eta*G + eta*L^2/2*D2 + 4/7*eta^2*L*sigma_l^2/m",
    "telescoped": "G_mean <= f0_gap/(eta*T) + L^2*D2_mean + 8/7*eta*L*sigma_l^2/m",
    "theorem": "G_mean <= 0.9*bound",
}


@cache
def draft():
    return load(TRUE)


def with_claim(name, claim):
    """Return the draft with another claim in one step, without the steps that it does
    not need.
    """
    (*others, last) = needed_steps(draft(), name)
    return replace(draft(), steps=(*others, replace(last, claim=claim)))


def needed_steps(theorem, *names):
    """Return these steps and those that they need."""
    needed = set(names)
    for step in reversed(theorem.steps):
        if step.name in needed:
            needed |= set(step.premises)
    return tuple(step for step in theorem.steps if step.name in needed)


def last_judged(theorem):
    return judge_steps(theorem)[-1]


def algebra(claim, *premises, moments="abc", conditions=(), by=("algebra",)):
    """Return the verdict on a claim between the author's own quantities."""
    names = tuple(f"p{i}" for i in range(len(premises)))
    assumed = [
        ProofStep(premise, (), ("assumption",), name)
        for name, premise in zip(names, premises, strict=True)
    ]
    theorem = theorem_with_steps(
        *assumed,
        ProofStep(claim, names, by, "last"),
        moments=dict.fromkeys(moments, "nonnegative"),
        conditions=conditions,
    )
    return last_judged(theorem)


# -- the two files of the guide


@pytest.mark.slow
def test_all_twelve_steps_of_the_true_proof_follow():
    judged = judge_steps(draft())
    assert [step.outcome for step in judged] == ["follows"] * 12


@pytest.mark.parametrize(
    "checks", [("steps",), pytest.param((), marks=pytest.mark.slow)]
)
def test_the_true_proof_has_no_error_and_ends_in_the_statement(checks):
    findings = audit_statement(draft(), checks)
    assert not [f for f in findings if f.severity in ("error", "warning")]
    (summary,) = [f for f in findings if f.check == "steps"]
    assert summary.evidence["follow"] == 12
    assert summary.evidence["ends_in_statement"]


def test_the_proved_bound_is_at_most_the_registered_one():
    registered = bounds.get("dfedsam.theorem_4_5", "corrected")
    one_step = {s.K: 1, s.Q: 1, s.rho: 0}
    region = Region(expanded_conditions(draft()))
    slacks = [c.slack.subs(one_step) for c in expanded_conditions(registered)]
    assert all(map(region.holds, slacks))
    for name in ("optimization", "noise", "consensus"):
        term = registered.terms[name].subs(one_step)
        assert region.holds(sp.factor(term - draft().terms[name])), name


@pytest.mark.parametrize(
    "steps",
    [("noise",), pytest.param(tuple(SLIPPED), marks=pytest.mark.slow)],
    ids=["one", "all"],
)
def test_three_slips_are_found_and_corrected(steps):
    slips = load(SLIPS)
    wrong = {
        step.name: step
        for step in judge_steps(replace(slips, steps=needed_steps(slips, *steps)))
        if step.outcome != "follows"
    }
    assert list(wrong) == [n for n in ("sent", "consensus", "noise") if n in steps]
    assert all(step.outcome == "does not follow" for step in wrong.values())
    if "sent" in steps:
        (lost,) = wrong["sent"].corrections
        assert (lost.claimed, lost.derived) == (0, s.eta * s.sigma_g)
        (power,) = wrong["consensus"].corrections
        assert power.factors == ("(1 - lam)^-1 should be (1 - lam)^-2",)
    (clients,) = wrong["noise"].corrections
    assert clients.factors == ("m^-2 should be m^-1",)
    assert clients.derived == s.sigma_l**2 / s.m


@pytest.mark.slow
def test_the_command_line_counts_all_three_slips(capsys):
    assert run(["audit", SLIPS, "--check", "steps", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"error": 3, "warning": 0, "note": 1}
    assert run(["audit", TRUE, "--check", "steps", "--json"]) == 0


def first_steps(name, folder):
    """Return a file with the steps of another up to ``contraction``."""
    text = Path(name).read_text(encoding="utf-8")
    (folder / "first.toml").write_text(
        text.partition('[[statement.steps]]\nname = "unrolled"')[0], encoding="utf-8"
    )
    return str(folder / "first.toml")


def test_the_command_line_prints_the_first_step_and_its_correction(capsys, tmp_path):
    slip = first_steps(SLIPS, tmp_path)
    assert run(["audit", slip, "--check", "steps", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["error"] == 1
    first = found["findings"][0]
    assert "first step" in first["message"]
    assert first["evidence"]["term"] == "sent"
    assert first["evidence"]["corrections"] == ["add the term eta*sigma_g"]
    true = first_steps(TRUE, tmp_path)
    assert run(["audit", true, "--check", "steps", "--json"]) == 0


# -- an error in each step of the true proof


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", SLIPPED)
def test_a_slip_in_one_step_has_a_witness(name):
    judged = last_judged(with_claim(name, SLIPPED[name]))
    assert judged.outcome == "does not follow"
    assert judged.witness.left_over < 0
    for condition in expanded_conditions(draft()):
        assert value_at(condition.slack, judged.witness.point) >= 0


WEAKER = {
    "near": "R <= 2*L*D",
    "sent": "S <= (1 + eta*L)*D + eta*(sigma_g + 3*sigma_l)",
    "unrolled": "D_mean <= 2*eta*lam*(sigma_g + sigma_l)/(1 - lam)",
    "noise": "V <= 2*sigma_l^2/m",
    "telescoped": "G_mean <= 3*f0_gap/(eta*T) + L^2*D2_mean + 2*eta*L*sigma_l^2/m",
}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", WEAKER)
def test_a_weaker_claim_follows(name):
    assert last_judged(with_claim(name, WEAKER[name])).outcome == "follows"


# -- algebra between the author's own quantities


def test_substitution_and_absorption():
    small = (Condition("small", 4 * s.eta * s.L, sp.Integer(1)),)
    judged = algebra(
        "a <= 4/3*eta*L*c + 4/3*L",
        "a <= eta*L*b + L",
        "b <= a + c",
        conditions=small,
    )
    assert judged.outcome == "follows"
    judged = algebra(
        "a <= 5/4*eta*L*c + 4/3*L",
        "a <= eta*L*b + L",
        "b <= a + c",
        conditions=small,
    )
    assert judged.outcome == "does not follow"


def test_a_witness_is_exact_and_meets_the_premises():
    judged = algebra("a <= 2*b", "a <= 2*b + c", "c <= b")
    values = {moment.vec: value for moment, value in judged.witness.values.items()}
    assert judged.outcome == "does not follow"
    assert all(isinstance(value, Fraction) for value in values.values())
    assert judged.corrections[0].factors == ("2 should be 3",)


def test_a_premise_that_divides_by_zero_proves_nothing():
    judged = algebra("b <= 0", "a + b/(1 - lam) <= a/(1 - lam) - a*lam/(1 - lam)")
    assert judged.outcome == "follows"
    judged = algebra("a <= 0", "a/(L - eta) <= 0*b")
    assert judged.outcome != "follows"


def test_a_square_and_its_root_are_not_taken_as_independent():
    theorem = replace(
        draft(),
        moments={"D": "root(dev(x))", "D2": "sq(dev(x))"},
        steps=(
            ProofStep("D <= 2*eta", (), ("assumption",), "a"),
            ProofStep("D2 <= 4*eta^2", ("a",), ("algebra",), "b"),
        ),
    )
    assert last_judged(theorem).outcome == "not decided"
    squared = (*theorem.steps[:1], replace(theorem.steps[1], by=("square(a)",)))
    assert last_judged(replace(theorem, steps=squared)).outcome == "follows"


def test_equalities_are_two_inequalities():
    assert algebra("a == b", "a <= b", "b <= a").outcome == "follows"
    assert algebra("a == b", "a <= b").outcome == "does not follow"


def test_a_step_judges_its_own_premises_alone():
    theorem = with_claim("noise", "V <= sigma_l^2/m^2")
    progress = ProofStep("V <= sigma_l^2/m", ("noise",), ("algebra",), "later")
    judged = judge_steps(replace(theorem, steps=(*theorem.steps, progress)))
    assert [step.outcome for step in judged[-2:]] == ["does not follow", "follows"]


# -- rules


def test_weights_of_young_that_sum_to_more_than_1_fail():
    claim = "Sum2 <= eta^2*U + eta^2*V"
    theorem = replace(
        draft(),
        moments={
            "Sum2": "sq(eta*mean(g) + eta*mean(n))",
            "U": "sq(mean(g))",
            "V": "sq(mean(n))",
        },
        steps=(
            ProofStep(claim, (), ("young([1, 1], eta*mean(g), eta*mean(n))",), "a"),
        ),
    )
    assert last_judged(theorem).outcome == "does not follow"
    halves = ("young([1/2, 1/2], eta*mean(g), eta*mean(n))",)
    right = replace(theorem.steps[0], claim="Sum2 <= 2*eta^2*(U + V)", by=halves)
    assert last_judged(replace(theorem, steps=(right,))).outcome == "follows"


def test_a_parameter_of_young_is_a_quantity():
    text = Path(TRUE).read_text(encoding="utf-8")
    head = text[: text.index("[statement.moments]")]
    step = """
    [statement.moments]
    Sum2 = "sq(x + g)"
    X2 = "sq(x)"
    G2 = "sq(g)"
    [[statement.steps]]
    claim = "Sum2 <= X2/theta_ + G2/(1 - theta_)"
    by = "young([theta_, 1 - theta_], x, g)"
    """
    quantity = '[quantities.theta_]\nrange = "(0, 1)"\n[[statement]]'
    from dfltheory.bounds.theorem_file import read_theorems

    (theorem,) = read_theorems(
        head.replace("[[statement]]", quantity) + step, "young.toml"
    ).theorems
    assert last_judged(theorem).outcome == "follows"


def test_a_hypothesis_that_the_scope_lacks_is_named():
    start = with_claim("unrolled", draft().steps[4].claim)
    elsewhere = replace(start, scope=replace(start.scope, common_start=False))
    judged = last_judged(elsewhere)
    assert judged.outcome == "not decided"
    assert "start" in judged.reason


def test_a_rule_that_does_not_apply_is_not_an_accusation():
    steps = {step.name: step for step in draft().steps}
    wrong = replace(
        steps["telescoped"], premises=("noise",), by=("telescoping(noise)",)
    )
    judged = last_judged(replace(draft(), steps=(steps["noise"], wrong)))
    assert judged.outcome == "not decided"


def test_sums_over_local_steps_of_dfedavg():
    theorem = replace(
        draft(),
        scope=replace(draft().scope, algorithms=("DFedAvg",), hyperparameters={}),
        moments={"S": "sq(sum(n))", "M": "sq(mean(sum(n)))"},
        parts={"x": s.eta * s.K},
        steps=(
            ProofStep("S <= K*sigma_l^2", (), ("martingale(square(variance), K)",)),
        ),
    )
    assert last_judged(theorem).outcome == "follows"
    too_small = replace(theorem.steps[0], claim="S <= sigma_l^2")
    judged = last_judged(replace(theorem, steps=(too_small,)))
    assert judged.corrections[0].factors == ("the factor K^1 is missing",)


# -- modules that define STEPS

MODULE = """
from dfltheory import bounds
mine = bounds.get("dfedsam.theorem_4_5", "corrected")
STEPS = ("descent", "telescoping")
"""


def test_a_loose_steps_of_a_module_is_one_error(tmp_path):
    file = tmp_path / "loose.py"
    file.write_text(MODULE)
    with pytest.raises(InputError, match="STEPS"):
        load(f"{file}:mine")


def test_telescoping_a_claim_with_roots_is_not_decided():
    """D is at most 1 in the mean over rounds, but its mean square may be larger."""
    progress = ProofStep("F_next - F <= 1 - D", (), ("assumption",), "progress")
    summed = ProofStep(
        "D_mean <= f0_gap/T + 1", ("progress",), ("telescoping(progress)",), "summed"
    )
    judged = last_judged(replace(draft(), steps=(progress, summed)))
    assert judged.outcome == "not decided"
    assert "roots" in judged.reason
