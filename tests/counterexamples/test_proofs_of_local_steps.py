"""Proofs of versions of Wang and Joshi (2021): their facts, constants and conditions."""

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.comparison import check
from dfltheory.proofs.left_side import left_moments
from dfltheory.proofs.script import Script
from tests.bounds.finite_problems import FiniteProblem, Line, Problem, Recorder
from validation.counterexamples.true_versions import wang_joshi2021 as proofs
from validation.counterexamples.true_versions.version import version

GOSSIP = ("wang_joshi2021.theorem_1", "printed", "index off by one", "rounds")
LOCAL = ("wang_joshi2021.corollary_2", "restated", "index off by one", "rounds")
EXACT = (
    "wang_joshi2021.theorem_1_exact",
    "restated",
    "a condition weakened by 2",
    "(16)",
)
TOO_LARGE = "not shown: what is derived is at most the bound"
ROUNDS = 3
LAM = Fraction(1, 3)
WINDOW = 2


def last_fact(algorithm, to_end):
    """Return the last fact of the proof for one of the two algorithms."""
    disagreement = (
        proofs.disagreement_of_gossip
        if algorithm == "DPSGD"
        else proofs.disagreement_between_averages
    )
    return proofs.mean_gradient(proofs.ROUNDS[algorithm], disagreement(), to_end)


def mixed(sent, t, algorithm):
    """Return the models after round t of two clients that send these."""
    mean = (sent[0] + sent[1]) / 2
    if algorithm == "DPSGD":
        return [mean + LAM * (x - mean) for x in sent]
    return [mean, mean] if (t + 1) % WINDOW == 0 else sent


def run(seed, algorithm):
    """Draw two clients with one objective and enumerate the coins of their samples."""
    rng = random.Random(seed)
    kinks = sorted(Fraction(x, 2) for x in rng.sample(range(-3, 4), 2))
    slopes = (Fraction(1), Fraction(rng.choice([-1, 0, 1])), Fraction(1))
    line = Line(tuple(kinks), slopes, Fraction(rng.randint(-1, 1)))
    eta = Fraction(1, rng.choice([4, 5]))
    noise, start = Fraction(rng.randint(0, 2)), Fraction(rng.randint(-4, 4), 2)
    outcomes = list(itertools.product((1, -1), repeat=2 * ROUNDS))
    held = {}
    for w, coins in enumerate(outcomes):
        x = [start, start]
        for t in range(ROUNDS + 1):
            sent = []
            for i in range(2):
                sample = noise * coins[2 * t + i] if t < ROUNDS else Fraction(0)
                held["x", w, t, i] = x[i]
                held["g", w, t, 0, i] = line(x[i])
                held["n", w, t, 0, i] = sample
                sent.append(x[i] - eta * (line(x[i]) + sample))
            x = mixed(sent, t, algorithm)
    zero = Line((Fraction(0),), (Fraction(0),) * 2, Fraction(0))
    least = Problem((line, line), (zero, zero)).least()
    numbers = {
        s.eta: eta,
        s.L: Fraction(1),
        s.sigma_l: noise,
        s.sigma_g: Fraction(0),
        s.f0_gap: line.integral(start) - least,
        s.lam: LAM,
        s.window: Fraction(WINDOW),
    }
    return FiniteProblem(
        [Fraction(1, len(outcomes))] * len(outcomes),
        2,
        1,
        ROUNDS,
        numbers,
        Recorder(held),
        lambda i, y: (line(y[0]),),
        lambda i, y: line.integral(y[0]),
    )


@pytest.mark.drawn(3)
@pytest.mark.parametrize("algorithm", ["DPSGD", "LocalSGD"])
@pytest.mark.parametrize("to_end", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_fact_holds_in_runs_of_the_algorithm(algorithm, to_end, seed):
    problem, last = run(seed, algorithm), last_fact(algorithm, to_end)
    assert all(problem.number(demand.expr)[0] >= 0 for demand in last.demands)
    for fact in last.trail():
        assert problem.violation(fact) is None


def test_facts_on_exact_averages_fail_in_a_run_without_averages(monkeypatch):
    monkeypatch.setattr(f"{__name__}.mixed", lambda sent, t, algorithm: sent)
    facts = last_fact("LocalSGD", to_end=False).trail()
    problem = run(1, "LocalSGD")
    problem.numbers = {**problem.numbers, s.window: Fraction(1)}
    rules = {fact.rule for fact in facts if problem.violation(fact) is not None}
    assert "exact_averages" in rules


# -- what the proofs need


def test_half_of_the_condition_does_not_exclude_large_steps():
    condition = version(GOSSIP).conditions[0]
    assert proofs.large_step_is_excluded(condition) == []
    half = replace(condition, left=condition.left / 2)
    assert proofs.large_step_is_excluded(half)


def test_a_quarter_of_the_condition_does_not_imply_that_of_the_corollary():
    condition = version(EXACT).conditions[0]
    assert proofs.step_of_corollary(condition) == []
    half = replace(condition, left=condition.left / 2)
    assert proofs.step_of_corollary(half)


@pytest.mark.slow
@pytest.mark.parametrize("term", ["optimization", "noise", "drift"])
def test_corollary_with_a_smaller_term_is_not_proved(term):
    stated = version(LOCAL)
    parts = {**stated.parts, term: stated.parts[term] * sp.Rational(99, 100)}
    assert proofs.of_local_sgd(replace(stated, parts=parts), to_end=True) == [TOO_LARGE]


@pytest.mark.slow
def test_corollary_under_a_weaker_condition_is_not_proved():
    stated = version(LOCAL)
    step, *others = stated.conditions
    weaker = replace(step, left=step.left * sp.Rational(99, 100))
    theorem = replace(stated, conditions=(weaker, *others))
    missing = proofs.of_local_sgd(theorem, to_end=True)
    lost = "not shown: enlarges the coefficient of sq[mean t]"
    assert any(message.startswith(lost) for message in missing)


def test_a_proof_for_the_first_rounds_is_none_for_the_later_ones():
    stated = proofs.with_window(version(LOCAL))
    facts = {to_end: last_fact("LocalSGD", to_end) for to_end in (False, True)}
    assert left_moments(stated, facts[True]) == facts[True].left
    assert left_moments(stated, facts[False]) != facts[False].left
    for ends in ({"first": 0}, {"last": s.T - 1}, {"last": s.T + 1}):
        other = replace(stated, lhs=replace(stated.lhs, **ends))
        assert left_moments(other, facts[True]) == {}


def test_exact_averages_are_granted_to_local_sgd_alone():
    scope = version(LOCAL).scope
    assert h.AVERAGES.scope(scope)
    assert h.KEPT.scope(scope)
    for names in (("FedAvg",), ("DPSGD",), ("LocalSGD", "FedAvg")):
        other = replace(scope, algorithms=names)
        assert not h.AVERAGES.scope(other)
        assert not h.KEPT.scope(other)


def test_a_proof_for_local_sgd_is_none_for_gossip():
    stated = replace(version(GOSSIP), assumptions=proofs.OF_LOCAL_SGD)
    fact = last_fact("LocalSGD", to_end=True)
    script = Script("", lambda: fact, proofs.GRANTS_OF_LOCAL_SGD)
    missing = check(stated, script).missing
    assert any("another algorithm than DPSGD" in message for message in missing)


def test_averages_are_not_made_in_every_round_where_a_statement_has_no_window():
    stated = proofs.with_window(version(LOCAL))
    after_each_round = replace(
        stated,
        parts={name: part.subs(s.window, 1) for name, part in stated.parts.items()},
        conditions=tuple(
            replace(c, left=c.left.subs(s.window, 1)) for c in stated.conditions
        ),
    )
    fact = last_fact("LocalSGD", to_end=True)
    script = Script("", lambda: fact, proofs.GRANTS_OF_LOCAL_SGD)
    assert TOO_LARGE in check(after_each_round, script).missing
