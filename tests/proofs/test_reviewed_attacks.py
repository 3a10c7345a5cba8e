"""False statements that a reviewer of the rules found to be accepted, and variants of
them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import ONE
from dfltheory.proofs import comparison, kernel
from dfltheory.proofs.algorithm_rounds import ROUNDS
from dfltheory.proofs.covered_runs import uncovered_runs
from dfltheory.proofs.left_side import left_moments
from dfltheory.proofs.moments import N, RuleError, Vec, X, inner, k, sq
from dfltheory.proofs.script import Corollary, Range
from tests.bounds import proved
from validation.papers.dfedmdc.proof import N_U, N_V, Proof
from validation.papers.dfedsam import proof
from validation.proof_checker.export import file_of
from validation.proof_checker.loading import ProofError, check

SCRIPT = proved.known("dfedsam.theorem_4_5:corrected")
PLAIN_SCRIPT = replace(
    SCRIPT,
    ranges=(*SCRIPT.ranges[:2], Range(proof.v, s.sigma_l), Range(proof.z, s.sigma_g)),
    values={**proof.VALUES, s.sigma_l: proof.v, s.sigma_g: proof.z},
)
"""The same proof for a statement without SAM."""
ATTACKS = Path(__file__).parent / "attacks"
CHILD = Corollary("a:corollary", SCRIPT.claim)


def mean_of_step_times_vector(noise: Vec) -> kernel.Fact:
    """Return the mean over k of <Y, k Y>, in a fact about the steps of one block."""
    vector = Proof("DFedMDC", False).g
    trivial = kernel.young((1,), (1, noise))
    product = kernel.bilinear(vector, (k, vector))
    return kernel.average(kernel.add((1, 1), product, trivial), "k")


@pytest.mark.parametrize("noise", [N_U, N_V])
def test_step_in_a_coefficient_is_not_that_of_a_block(noise):
    with pytest.raises(RuleError):
        mean_of_step_times_vector(noise)


def test_moment_with_the_step_in_a_coefficient_has_the_phase_of_one_block():
    vector = Proof("DFedMDC", False).g
    assert inner(vector, vector * k).phases == {""}
    assert inner(vector, N_U * k).phases <= {"u", ""}
    assert inner(vector, vector).phases == set()
    assert inner(vector, vector * k).at(steps="mean").phases == set()


def test_second_checker_rejects_a_step_of_two_phases():
    text = (ATTACKS / "step_of_two_phases.txt").read_text(encoding="utf-8")
    error = rejected_line(text)
    assert error.rule == "combine"
    assert "(k)*inner(v7, v7)" in text.splitlines()[error.line - 1]


def rejected_line(text):
    """Return the error for a wrong proof, with its line and rule."""
    with pytest.raises(ProofError) as rejected:
        check(text)
    return rejected.value


def without_sam():
    """Return the corrected theorem with its terms at rho = 0, which does not contain
    rho.
    """
    theorem = registry.get("dfedsam.theorem_4_5", "corrected")
    absent = {s.rho: 0}
    definitions = tuple(
        replace(d, expr=d.expr.subs(absent)) for d in theorem.definitions
    )
    parts = {n: part for n, part in theorem.parts.items() if n != "sharpness"}
    return replace(theorem, parts=parts, definitions=definitions, schedule={})


def answers_to_children(monkeypatch, parent, script, *children):
    """Return the kernel's answers to corollaries of an unregistered statement."""
    answer = comparison.check(parent, script)
    assert answer.proved, str(answer)
    monkeypatch.setitem(comparison._ANSWERS, script, answer)
    others = {script.claim: script}
    return [comparison.check(child, CHILD, others) for child in children]


@pytest.mark.slow
def test_corollary_has_no_mechanism_that_its_parent_lacks(monkeypatch):
    parent = without_sam()
    small = s.L**2 * s.rho**2 / 10**12
    child = replace(parent, parts={**parent.parts, "sharpness": small})
    (answer,) = answers_to_children(monkeypatch, parent, PLAIN_SCRIPT, child)
    assert not answer.proved
    assert any("rho = 0" in reason for reason in answer.missing)


def test_schedule_of_a_corollary_counts_as_a_mechanism(monkeypatch):
    parent = without_sam()
    step = {s.eta: 1 / (s.L * sp.sqrt(s.K * s.T))}
    schedule = {"eta": step[s.eta], "rho": s.rho0 / sp.sqrt(s.T)}
    child = replace(
        parent,
        kind="corollary",
        parts={n: parent.expand(part).subs(step) for n, part in parent.parts.items()},
        definitions=(),
        conditions=tuple(
            replace(
                c,
                left=parent.expand(c.left).subs(step),
                right=parent.expand(c.right).subs(step),
            )
            for c in parent.conditions
        ),
        schedule=schedule,
    )
    same = replace(child, schedule={"eta": schedule["eta"]})
    answer, proof = answers_to_children(monkeypatch, parent, PLAIN_SCRIPT, child, same)
    assert any("rho = 0" in reason for reason in answer.missing)
    assert proof.proved


def test_corollary_gives_a_quantity_the_range_of_its_parent(monkeypatch):
    theorem = registry.get("dfedsam.theorem_4_5", "corrected")

    def with_limit(**ends):
        limit = Quantity("cap", "c", ONE, "a limit", **ends)
        condition = Condition("limit", 8 * s.eta * s.K * s.L, limit.symbol)
        conditions = (condition, *theorem.conditions[1:])
        return replace(theorem, quantities=(limit,), conditions=conditions)

    parent = with_limit(high=1)
    children = with_limit(), parent
    answer, same = answers_to_children(monkeypatch, parent, SCRIPT, *children)
    assert any("different meanings" in reason for reason in answer.missing)
    assert same.proved


PLAIN_RUN, TWO_BLOCKS = ROUNDS["DFedSAM"], ROUNDS["DFedMDC"]


@pytest.mark.parametrize(
    "foreign",
    [
        lambda: kernel.diversity(PLAIN_RUN, X.within("u").mean()),
        lambda: kernel.variance(PLAIN_RUN, N_V),
        lambda: kernel.lipschitz(PLAIN_RUN, X.within("v"), X.within("v").mean()),
        lambda: kernel.pythagoras(PLAIN_RUN, X.within("u"), N_U),
        lambda: kernel.variance(TWO_BLOCKS, N),
        lambda: kernel.clients(TWO_BLOCKS, N),
        lambda: kernel.unbiased(TWO_BLOCKS, X, N_V),
    ],
)
def test_rules_are_about_blocks_that_the_algorithm_has(foreign):
    with pytest.raises(RuleError):
        foreign()


SAVED = {
    "plain": file_of("dfedsgpsm.theorem_1:corrected").read_text(encoding="utf-8"),
    "two blocks": file_of("dfedmdc.theorem_1:corrected").read_text(encoding="utf-8"),
}


def with_first_line(model: str, line: str) -> str:
    """Return a saved proof with another line before its first fact."""
    lines = SAVED[model].splitlines()
    place = next(i for i, text in enumerate(lines) if text.startswith("f1 = "))
    return "\n".join([*lines[:place], line, *lines[place:]])


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (
            "plain",
            'mean_of(block("u", x)) |- root(mean(block("u", x))) <= root(block("u", x))',
        ),
        (
            "plain",
            'variance(block("v", n)) |- root(block("v", n)) <= sigma_v*one("noise")',
        ),
        ("two blocks", "clients(n) |- sq(mean(n)) == (1/m)*sq(n)"),
        (
            "two blocks",
            'dev_of(grad(x, "u")) |- root(grad(x, "u") - mean(grad(x, "u")))'
            ' <= root(grad(x, "u"))',
        ),
    ],
)
def test_second_checker_accepts_own_blocks_only(model, line):
    text = with_first_line(model, f"f0 = {line}")
    error = rejected_line(text)
    assert text.splitlines()[error.line - 1] == f"f0 = {line}"
    assert error.rule == line.partition("(")[0]


def test_second_checker_accepts_a_further_fact_about_own_blocks():
    line = 'f0 = mean_of(block("u", x)) |- root(mean(block("u", x))) <= root(block("u", x))'
    # what follows it is the first that is rejected
    error = rejected_line(
        with_first_line("two blocks", f"{line}\nf0a = nothing() |- 0 <= 0")
    )
    assert error.rule == "nothing"


BLOCK_CLAIM = "dfedmdc.theorem_1:corrected_different_steps"


def nothing(vector: Vec, weight: sp.Expr) -> kernel.Fact:
    """Claim sq[mean t](Y) <= 0, which follows if the weight may be negative in the mean
    over k < K_u.
    """
    zero = kernel.square(kernel.minkowski())
    below = kernel.add((weight,), kernel.weaken(zero, {sq(vector): sp.S.One}))
    noise = kernel.young((1,), (1, N_U))
    over_steps = kernel.average(kernel.add((1, 1), below, noise), "k")
    mean_weight = weight.subs(k, (s.K_u - 1) / 2)
    solved = kernel.solve(over_steps, {sq(vector): sp.S.One}, -1 / mean_weight)
    return kernel.average(kernel.chain(solved, zero), "t")


def nothing_at_all(
    theorem: Theorem, first: kernel.Fact, weight: sp.Expr
) -> kernel.Fact:
    """Claim that the left-hand side of a theorem is at most 0."""
    left = left_moments(theorem, first)
    facts = [nothing(moment.vec, weight) for moment in left]
    return kernel.add((*left.values(), 0), *facts, first)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("weight", "conditions"),
    [
        (s.K - 1 - k, (Condition("few", 2 * s.K + 1, s.K_u),)),
        (5 - k, (Condition("few", s.K, sp.Integer(5)), Condition("many", 13, s.K_u))),
    ],
)
def test_steps_of_a_block_are_not_fewer_than_those_of_one_phase(weight, conditions):
    script = proved.scripts()[BLOCK_CLAIM]
    theorem = registry.get(*BLOCK_CLAIM.split(":"))
    wrong = replace(
        theorem,
        parts={"small": s.f0_gap / (10**9 * s.T)},
        conditions=(*theorem.conditions, *conditions),
    )

    def prove(**weights):
        return nothing_at_all(theorem, kernel.gossip(TWO_BLOCKS), weight)

    answer = comparison.check(wrong, replace(script, prove=prove))
    assert [x for x in answer.missing if "a weight of a fact" in x]


def test_plain_algorithm_has_no_steps_of_a_block():
    theorem = registry.get("dfedsam.theorem_4_5", "corrected")
    wrong = replace(
        theorem,
        parts={"small": s.f0_gap / (10**9 * s.T)},
        conditions=(*theorem.conditions, Condition("few", 2 * s.K + 1, s.K_u)),
    )

    def prove(**weights):
        first = kernel.gossip_steps(PLAIN_RUN)
        return nothing_at_all(theorem, first, s.K - 1 - k)

    answer = comparison.check(wrong, replace(SCRIPT, prove=prove))
    assert any("another algorithm" in reason for reason in answer.missing)


def test_second_checker_rejects_plain_steps_of_two_blocks():
    text = (ATTACKS / "plain_steps_of_two_blocks.txt").read_text(encoding="utf-8")
    error = rejected_line(text)
    assert text.splitlines()[error.line - 1].startswith("algorithm kept = ")


@pytest.mark.parametrize(
    ("first", "lines_after"),
    [
        ("left mean_t(sq(x))", 1),
        ("left mean_t(next_t(sq(x)))", 0),
        ("left start_t(mean_t(sq(x)))", 0),
        ("left mean_k(max_k(sq(g)))", 0),
    ],
)
def test_left_side_has_one_meaning(first, lines_after):
    text = SAVED["plain"].replace("left ", f"{first}\nleft ", 1)
    error = rejected_line(text)
    assert error.rule == "left"
    assert error.line - 1 - lines_after == text.splitlines().index(first)


# -- statements whose scope or relation the proof is not about


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", ["lower bound", "definition"])
def test_a_proof_gives_an_upper_bound(kind):
    script = proved.known("dfedsgpsm.theorem_1:corrected")
    theorem = registry.get(*script.claim.split(":"))
    answer = comparison.check(replace(theorem, kind=kind), script)
    assert answer.missing == (f"a proof gives an upper bound, not a {kind}",)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "scope",
    [
        {"algorithms": ("DFedSAM", "DFedAvg", "DFedADMM")},
        {"algorithms": ("DFedSAM", "DSGT")},
        {"algorithms": ("DFedSAM", "other_package:DFedAvg")},
        {"algorithms": ("DFedSAM", type("DFedAvg", (), {}))},
        {"hyperparameters": {"order": "adapt-then-combine", "alpha": "any"}},
        {"hyperparameters": {"order": "adapt-then-combine", "participation": 0.5}},
    ],
)
def test_a_proof_covers_special_cases_of_its_rounds_alone(scope):
    theorem = registry.get(*SCRIPT.claim.split(":"))
    wider = replace(theorem, scope=replace(theorem.scope, **scope))
    assert len(comparison.check(wider, SCRIPT).missing) == 1


@pytest.mark.parametrize(
    "hyperparameters", [{"Q": 1}, {"rho": "any"}, {"alpha": 0.0}, {"K": 1}]
)
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_hyperparameters_of_the_rounds_may_have_any_value(whole, hyperparameters):
    theorem = registry.get(*SCRIPT.claim.split(":"))
    own = {**theorem.scope.hyperparameters, **hyperparameters}
    narrower = replace(theorem, scope=replace(theorem.scope, hyperparameters=own))
    assert uncovered_runs(narrower) == []
    if whole:
        assert comparison.check(narrower, SCRIPT).proved


def test_sam_is_no_special_case_of_rounds_without_it():
    """DFedSMDC has the rounds of DFedMDC where rho is absent, that is 0."""
    theorem = registry.get("dfedmdc.theorem_1", "corrected")
    assert theorem.scope.names == ("DFedMDC", "DFedSMDC")
    small = s.L_u * s.rho**2 / 10**12
    wider = replace(theorem, parts={**theorem.parts, "sharpness": small})
    assert uncovered_runs(theorem) == []
    assert uncovered_runs(wider) == [
        "DFedSMDC is not known to be a special case of DFedMDC"
    ]


def test_smooth_samples_are_granted_by_the_scope_too():
    theorem = registry.get(*SCRIPT.claim.split(":"))
    rough = replace(theorem, scope=replace(theorem.scope, samplewise=False))
    (missing,) = comparison.check(rough, SCRIPT).missing
    assert missing.startswith("the proof uses what is not assumed: F_i(.; xi)")


@pytest.mark.parametrize("windows", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_window_of_rounds_is_not_one_round(windows):
    script = proved.known("dfedsgpsm.theorem_1:corrected_windows")
    theorem = registry.get(*script.claim.split(":"))
    one = {s.GLOSSARY["window"].symbol: 1}
    wrong = replace(theorem, parts={n: p.subs(one) for n, p in theorem.parts.items()})
    assert "windows" in wrong.scope.sequence
    if windows:
        assert not comparison.check(wrong, script).proved
        return
    others = tuple(kind for kind in wrong.scope.sequence if kind != "windows")
    right = replace(wrong, scope=replace(wrong.scope, sequence=others))
    assert comparison.check(right, script).proved
