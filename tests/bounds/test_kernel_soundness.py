"""Scripts that try to prove false statements: arguments of rules must be real, finite
and canonical.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities import by_form as forms
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import real_expression, reality
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import ONE
from dfltheory.proofs import kernel as r
from dfltheory.proofs.algorithm_rounds import ROUNDS, same_round
from dfltheory.proofs.moments import (
    DUAL,
    EHAT,
    NOISE,
    PLAIN,
    SAMPLED,
    X_U,
    X_V,
    XBAR,
    AlgorithmRound,
    Atom,
    E,
    G,
    Lag,
    Moment,
    N,
    RuleError,
    Vec,
    X,
    count,
    is_zero,
    k,
    lag,
    one,
    root,
    sq,
)
from dfltheory.proofs.script import Corollary, Range, Script
from tests.bounds import proved
from tests.bounds.vocabulary import UK, U, gossiping, push_sum
from validation.papers.dfedsam import proof as dfedsam

CLAIM = "dfedsam.theorem_4_5:corrected"
HALF = sp.Rational(1, 2)


class Lying(sp.Symbol):
    """A symbol whose properties return false answers."""

    is_real = is_finite = is_positive = is_nonnegative = True


class LyingExpression(sp.Expr):
    is_real = is_finite = is_positive = is_nonnegative = True
    is_commutative = True


def algorithm(c: sp.Expr) -> AlgorithmRound:
    """Return an algorithm with local steps of size c and a second state."""
    return gossiping(c, dual=DUAL * c)


def two_roots() -> r.Fact:
    return r.minkowski((1, U), (1, X))


def two_squares() -> r.Fact:
    return r.square(two_roots(), dict.fromkeys((root(U), root(X)), HALF))


def weights(c: sp.Expr) -> Lag:
    return Lag(c, c * count, c**2 * count)


def telescoped(c: sp.Expr, rule: Callable[..., r.Fact] = r.telescope) -> r.Fact:
    alg = algorithm(c)
    return rule(alg, r.descent(alg, X.mean(), alg.sent.mean() - X.mean()))


def contracted(c: sp.Expr) -> r.Fact:
    alg = algorithm(c)
    return r.chain(
        r.gossip_steps(alg), r.minkowski((1, X.dev()), (-c, SAMPLED.sum(s.K).dev()))
    )


def evenly(fact: r.Fact) -> r.Fact:
    share = sp.Rational(1, len(fact.right) or 1)
    return r.square(fact, dict.fromkeys(fact.right, share))


def later_steps(c: sp.Expr) -> r.Fact:
    path = sp.Symbol("path", nonnegative=True)
    held = replace(weights(c), path=path, partial=c**2 * count * (count - 1) / 2)
    return r.steps_sum(r.variance(algorithm(s.eta)), held)


def between_averages(c: sp.Expr) -> r.Fact:
    alg = ROUNDS["LocalSGD"]
    noise = N.sum(s.K)
    bound = r.chain(
        r.young((1,), (-s.eta, noise.dev())),
        r.square(r.dev_of(noise)),
        r.square(r.one_step(r.variance(alg))),
    )
    return r.exact_averages(alg, bound, (c, HALF))


ARGUMENTS: dict[str, Callable[[sp.Expr], r.Fact]] = {
    "minkowski": lambda c: r.minkowski((c, U)),
    "young": lambda c: r.young((1,), (c, U)),
    "mean_of": lambda c: r.mean_of(U * c),
    "dev_of": lambda c: r.dev_of(U * c),
    "projection": lambda c: r.projection(U * c),
    "one_step": lambda c: r.one_step(r.minkowski((c, UK))),
    "steps_mean": lambda c: r.steps_mean(UK * c),
    "steps_max": lambda c: r.steps_max(UK, s.K, weights(c)),
    "steps_sum": later_steps,
    "polarization": lambda c: r.polarization(U * c, U),
    "bilinear": lambda c: r.bilinear(U, (c, X)),
    "unweigh": lambda c: r.unweigh(X * c),
    "weigh": lambda c: r.weigh(X * c),
    "lipschitz": lambda c: r.lipschitz(algorithm(s.eta), X * c, X),
    "descent": lambda c: r.descent(algorithm(s.eta), X, U * c),
    "diversity": lambda c: r.diversity(algorithm(s.eta), X.mean() * c),
    "bounded": lambda c: r.bounded(algorithm(c)),
    "second_moment": lambda c: r.second_moment(algorithm(c)),
    "variance": lambda c: r.variance(algorithm(c)),
    "sam": lambda c: r.sam(algorithm(c), E),
    "pythagoras": lambda c: r.pythagoras(algorithm(s.eta), G * c, N),
    "unbiased": lambda c: r.unbiased(algorithm(s.eta), X, N * c),
    "martingale": lambda c: r.martingale(
        r.square(r.variance(algorithm(s.eta))), s.K, weights(c)
    ),
    "largest_martingale": lambda c: r.largest_martingale(
        r.square(r.variance(algorithm(s.eta))), weights(c)
    ),
    "clients": lambda c: r.clients(algorithm(s.eta), N * c),
    "gossip": lambda c: r.gossip(replace(algorithm(c), gossips=sp.S.One)),
    "gossip_steps": lambda c: r.gossip_steps(algorithm(c)),
    "push": lambda c: r.push(push_sum(c)),
    "push_windows": lambda c: r.push_windows(push_sum(c)),
    "convolution": lambda c: r.convolution(contracted(c)),
    "invariant": lambda c: r.invariant(
        r.chain(r.next_dual(algorithm(c)), r.minkowski((c, DUAL))),
        r.dual_start(algorithm(c)),
    ),
    "sum_rounds": lambda c: r.sum_rounds(evenly(contracted(c))),
    "common_start": lambda c: r.common_start(algorithm(c)),
    "any_start": lambda c: r.any_start(algorithm(c)),
    "dual_start": lambda c: r.dual_start(algorithm(c)),
    "next_dual": lambda c: r.next_dual(algorithm(c)),
    "telescope": telescoped,
    "telescope_to_end": lambda c: telescoped(c, r.telescope_to_end),
    "exact_averages": between_averages,
    "average": lambda c: r.average(r.minkowski((c, U)), "t"),
    "largest": lambda c: r.largest(r.minkowski((c, UK))),
    "chain": lambda c: r.chain(r.minkowski((c, U.mean())), r.mean_of(U)),
    "weaken": lambda c: r.weaken(two_roots(), {root(U): c}),
    "label": lambda c: r.label(r.minkowski((c, U)), "z"),
    "add": lambda c: r.add((c,), two_roots()),
    "solve": lambda c: r.solve(two_squares(), {sq(U): 1}, c),
    "square": lambda c: r.square(two_roots(), {root(U): c, root(X): HALF}),
    "take_root": lambda c: r.take_root(r.young((1,), (c, U))),
}
"""Each rule with a number that the caller chooses."""

WRONG = {
    "the imaginary unit": sp.I,
    "a multiple of it": 2 * sp.I * s.eta,
    "an imaginary symbol": sp.Symbol("c", imaginary=True),
    "a symbol without a sign or a kind": sp.Symbol("c"),
    "a symbol that is 0": sp.Symbol("c", zero=True),
    "an infinite symbol": sp.Symbol("c", extended_positive=True),
    "a root of -2": sp.sqrt(-2),
    "no number": sp.nan,
    "infinity": sp.oo,
    "complex infinity": sp.zoo,
    "a binary fraction": sp.Float(0.5),
    "a Python float": 0.5,
    "text": "I",
    "the step size, imaginary": sp.Symbol("eta", imaginary=True),
    "L, negative": sp.Symbol("L", negative=True),
    "lam, real alone": sp.Symbol("lam", real=True),
    "the index of a step, real alone": sp.Symbol("k", real=True),
    "a lying symbol": Lying("c"),
    "a lying symbol in a sum": 1 + Lying("c"),
    "a lying expression": LyingExpression(),
}


def test_every_rule_has_an_argument_that_is_attacked():
    assert set(ARGUMENTS) == set(r.RULES)


@pytest.mark.drawn(45)
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_rule_accepts_a_real_number(name):
    assert r.genuine(ARGUMENTS[name](s.eta))


@pytest.mark.drawn(60)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_rule_rejects_what_is_no_real_number(name, wrong):
    with pytest.raises((RuleError, TypeError)):
        ARGUMENTS[name](WRONG[wrong])


@pytest.mark.drawn(50)
@pytest.mark.parametrize(
    ("c", "needed", "strict"),
    [
        (sp.sqrt(s.lam - 2), s.lam - 2, False),
        (sp.sqrt(1 - 2 * s.eta * s.L), 1 - 2 * s.eta * s.L, False),
        (1 / (s.eta * s.L - 1), (s.eta * s.L - 1) ** 2, True),
        (1 / s.rho, s.rho, True),
        ((1 - s.eta * s.L) ** s.omega, 1 - s.eta * s.L, False),
    ],
)
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_rule_demands_that_a_number_is_real_and_finite(name, c, needed, strict):
    fact = ARGUMENTS[name](c)
    held = [d for d in fact.demands if is_zero(d.expr - needed) and d.strict >= strict]
    assert held


def test_powers_with_whole_exponents_are_real():
    for real in (
        (1 - s.eta) ** s.K,
        (1 - s.eta) ** (s.K - 1),
        s.alpha ** (s.K - count + 1),
        s.lam ** (1 / s.Q),
    ):
        assert reality(real) == ()
    assert reality((1 - s.eta) ** (s.K - 2)) == (((1 - s.eta) ** 2, True),)
    assert reality(s.alpha ** (s.K - 2)) == ((s.alpha, True),)


def test_equal_objects_of_other_types_are_checked_again():
    true = sp.Symbol("c", positive=True)

    class Same(Lying):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return hash(true)

    assert real_expression(true) is true
    with pytest.raises(RuleError):
        real_expression(Same("c"))
    with pytest.raises(RuleError):
        real_expression(True)


# -- false theorems


def stated() -> tuple[proved.Theorem, Script]:
    script = proved.scripts()[CLAIM]
    assert isinstance(script, Script)
    return registry.get(*CLAIM.split(":")), script


def last_fact() -> r.Fact:
    return proved.last_fact(CLAIM)


def vanishing_gradient(c: sp.Expr) -> r.Fact:
    """Try to prove mean E

    grad f

    ^2 <= 0.

    The script uses sq(c g) <= c^2 sq(g) for a c with a negative square.
    """
    g = dfedsam.g
    nothing = r.weaken(
        r.solve(r.young((1,), (c, g)), {sq(g): 1}), {sq(g * c): sp.S.Zero}
    )
    about = r.add((1, 0), nothing, r.common_start(dfedsam.A))
    return r.average(about, "t")


@pytest.mark.parametrize("share", [0, sp.Rational(1, 1000)])
def test_imaginary_coefficient_proves_nothing(share):
    """It proves neither that the gradient vanishes, nor Theorem A with all constants
    divided by 1000.
    """
    theorem, script = stated()
    parts = {name: part * share for name, part in theorem.parts.items()}
    false = replace(theorem, parts=parts, assumptions=())
    for c in (sp.I, sp.sqrt(-1 - s.eta * s.L)):
        with pytest.raises(RuleError):
            proved.check(
                false,
                replace(
                    script, grants={}, prove=lambda c=c, **_: vanishing_gradient(c)
                ),
            )
    last = vanishing_gradient(sp.sqrt(s.eta * s.L - 2))
    assert not last.right
    missing = proved.check(
        replace(theorem, parts=parts), replace(script, prove=lambda **_: last)
    ).missing
    assert missing == ("not shown: sqrt(L*eta - 2) is a real number",)


def test_a_root_is_real_only_under_a_condition():
    theorem, _ = stated()
    region = proved.ScriptRegion(theorem, replace(stated()[1]))
    demand = next(d for d in r.young((1,), (sp.sqrt(1 - 2 * s.eta * s.L), U)).demands)
    assert region.holds(demand.expr)  # eta K L <= 1/8
    wide = proved.ScriptRegion(
        replace(theorem, conditions=()), replace(stated()[1], ranges=(), values={})
    )
    assert not wide.holds(demand.expr)


# -- vectors

e, ehat = Atom("e", "k"), Atom("e^", "k")


@pytest.mark.parametrize(
    "terms",
    [
        frozenset({(e, sp.Integer(1)), (e, sp.Integer(3)), (ehat, sp.Integer(-1))}),
        frozenset({(e, 1), (e, 3), (ehat, -1)}),
        frozenset({(e, sp.S.Zero)}),
        frozenset({(e, s.eta * s.K + s.eta)}),
        frozenset({("e", sp.S.One)}),
        frozenset({(e, sp.S.One, sp.S.One)}),
        frozenset({(e, sp.nan)}),
        frozenset({(e, sp.I)}),
        {e: sp.S.One},
        ((e, sp.S.One),),
    ],
)
def test_vector_is_in_normal_form(terms):
    with pytest.raises(RuleError):
        Vec(terms)


def test_rule_rejects_a_vector_that_was_changed_after_it_was_made():
    changed = E - EHAT
    object.__setattr__(
        changed,
        "terms",
        frozenset({(e, sp.Integer(1)), (e, sp.Integer(3)), (ehat, -sp.S.One)}),
    )
    with pytest.raises(RuleError):
        r.unbiased(algorithm(s.eta), X, changed)
    for made in (changed, PLAIN, root(U), e, algorithm(s.eta)):
        assert not hasattr(
            made, "__dict__"
        )  # methods of a single object cannot be replaced


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Atom("n", "k", point=X),
        lambda: Atom("e", point=X.mean()),
        lambda: Atom("grad"),
        lambda: Atom("grad", "k", point=X),
        lambda: Atom("grad", point=Atom("x")),
        lambda: Atom("n"),
        lambda: Atom("x", "k"),
        lambda: Atom("dual", (PLAIN, s.K)),
        lambda: Atom("xbar"),
        lambda: Atom("n", "j"),
        lambda: Atom("n", (PLAIN, s.K - 1)),
        lambda: Atom("n", (PLAIN, s.K, s.K)),
        lambda: Atom("n", "k", mean=1),
        lambda: Atom("n", "k", block="w"),
        lambda: Moment("square", U),
        lambda: Moment("sq", U, U),
        lambda: Moment("sq", U, rounds="last"),
        lambda: Moment("one", U),
        lambda: Moment("sq", U, label="L"),
    ],
)
def test_atom_and_moment_have_one_meaning(wrong):
    with pytest.raises(RuleError):
        wrong()


def test_noise_is_a_sample_less_its_conditional_mean():
    assert N.noise
    assert NOISE.noise
    assert (N * 2 + E.mean() - EHAT.mean()).noise
    for other in (
        E,
        E * 4 - EHAT,
        E - EHAT.mean(),
        N.sum(s.K),
        N.pushed(),
        N * k,
        X,
        U,
    ):
        assert not other.noise


def test_unknown_vector_is_not_known_before_a_sample():
    later = Vec.of(((Atom("u", (PLAIN, s.K_v), block="v"), sp.S.One),))
    assert not later.known(None, "u")
    assert not Vec.of(((Atom("u", (PLAIN, k)), sp.S.One),)).known(k, "")
    assert N.within("v").sum(s.K_v).known(None, "u")
    assert N.sum(k).known(k, "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight": count / lag, "total": count, "squares": count},
        {"weight": lag / lag * count, "total": count**2, "squares": count**3},
        {"weight": k, "total": k * count, "squares": k**2 * count},
        {"weight": sp.I, "total": sp.I * count, "squares": -count},
        {
            "weight": Lying("c"),
            "total": Lying("c") * count,
            "squares": Lying("c") ** 2 * count,
        },
        {"total": count + lag - lag + 1},
        {"at": Lying("c")},
        {
            "at": sp.Symbol("c", nonnegative=True),
            "squared": sp.Symbol("c", nonnegative=True) * count,
        },
    ],
)
def test_sum_of_weights_has_a_true_total(wrong):
    with pytest.raises(RuleError):
        Lag(**wrong)


def test_weight_is_not_defined_by_its_own_total():
    total = sp.Symbol("total", nonnegative=True)
    with pytest.raises(RuleError):
        Lag(total, total * count, total**2 * count, at=total)


# -- rules

RUN = algorithm(s.eta)


def test_step_of_size_0_has_no_descent():
    with pytest.raises(RuleError):
        r.descent(RUN, X.mean(), Vec())
    with pytest.raises(RuleError):
        r.descent(RUN, X.mean(), U - U)


def test_mean_that_does_not_move_has_no_telescoping_sum():
    still = AlgorithmRound("still", X, X, X.mean())
    zero = r.add((0,), r.common_start(still))
    with pytest.raises(RuleError):
        r.telescope(still, zero)
    with pytest.raises(RuleError):
        r.telescope(still, r.descent(still, X.mean(), RUN.sent.mean() - X.mean()))


def test_telescoping_sum_starts_where_f0_gap_is_taken():
    moved = RUN.sent.mean() - X.mean()
    r.telescope(RUN, r.descent(RUN, X.mean(), moved))
    for start in (X.mean() * 2, X.mean() + XBAR, DUAL.mean()):
        twice = replace(RUN, mean_model=start)
        with pytest.raises(RuleError):
            r.telescope(twice, r.descent(twice, start, twice.following(start) - start))


@pytest.mark.parametrize("block", ["", "v", "u"])
def test_only_a_mean_of_the_mixed_state_has_a_known_next_value(block):
    """Mixing preserves only the mean of the mixed state, in the mixed block."""
    two = ROUNDS["DFedMDC"]
    for alg in (RUN, two):
        shared = alg.shared == block
        if shared:
            assert alg.following(X.within(block).mean()) == alg.sent.mean()
        kept = alg.kept is not None and block == "v"
        for state in (X, DUAL, U.mean(), XBAR, G.mean(), N.mean(), U):
            wanted = state.within(block)
            known = state == XBAR and shared and not block
            known |= state == DUAL and not block and alg.dual is not None
            known |= state == X and kept
            if known:
                continue
            with pytest.raises(RuleError):
                alg.following(wanted)
        if not shared and not kept:
            with pytest.raises(RuleError):
                alg.following(X.within(block).mean())
        with pytest.raises(RuleError):
            alg.following(X.within(block).pushed())
        with pytest.raises(RuleError):
            alg.following(X.within(block).mean().pushed())


@pytest.mark.parametrize("times", [sp.S.Zero, -s.Q, -sp.S.One, HALF, s.Q / 2, s.T])
def test_gossip_has_a_whole_number_of_steps(times):
    with pytest.raises(RuleError):
        r.gossip_steps(replace(RUN, gossips=times))


@pytest.mark.parametrize("times", [sp.S.Zero, sp.Integer(2), s.Q, HALF])
@pytest.mark.parametrize("rule", [r.push, r.push_windows])
def test_push_sum_contracts_where_a_round_has_one_step_of_it(rule, times):
    with pytest.raises(RuleError):
        rule(replace(push_sum(s.eta), gossips=times))


def test_a_fact_about_no_step_has_no_only_step():
    for fact in (r.minkowski((1, U)), r.steps_mean(UK)):
        with pytest.raises(RuleError):
            r.one_step(fact)


@pytest.mark.parametrize(
    "fact",
    [
        lambda: r.square(r.minkowski((1, U))),
        lambda: contracted(s.eta),
        lambda: r.average(evenly(contracted(s.eta)), "t"),
    ],
)
def test_rounds_are_summed_of_a_square_at_the_next_round(fact):
    with pytest.raises(RuleError):
        r.sum_rounds(fact())


def test_rounds_are_not_summed_of_roots():
    """The root of a mean square exceeds the mean of roots, so it must not replace it
    with a minus sign.
    """
    below = r.add((1, 1), evenly(contracted(s.eta)), r.minkowski((1, U.mean()), (1, U)))
    (square,) = evenly(contracted(s.eta)).left
    mixed = r.solve(below, {square: sp.S.One}, sp.S.One)
    assert any(m.kind == "root" for m in mixed.right)
    with pytest.raises(RuleError):
        r.sum_rounds(mixed)
    progress = r.descent(RUN, X.mean(), RUN.sent.mean() - X.mean())
    rooted = r.add((1, 1), progress, r.minkowski((1, U.mean()), (1, U)))
    change = r.solve(rooted, dict(progress.left), sp.S.One)
    assert change.left == progress.left
    with pytest.raises(RuleError):
        r.telescope(RUN, change)


@pytest.mark.parametrize(
    ("make", "expr", "strict"),
    [
        (lambda c: r.young((c,), (1, U)), lambda c: c, True),
        (lambda c: r.young((c,), (1, U)), lambda c: 1 - c, False),
        (lambda c: r.square(r.minkowski((1, U)), {root(U): c}), lambda c: c, True),
        (lambda c: r.square(r.minkowski((1, U)), {root(U): c}), lambda c: 1 - c, False),
        (lambda c: r.add((c,), two_roots()), lambda c: c, False),
        (lambda c: r.weaken(two_roots(), {root(U): c}), lambda c: c - 1, False),
        (lambda c: r.solve(two_squares(), {sq(U): 1}, c), lambda c: 1 / c, True),
        (lambda c: r.solve(r.young((1,), (c, U)), {sq(U): 1}), lambda c: -(c**2), True),
        (lambda c: r.take_root(r.young((1 / c,), (1, U))), lambda c: c, False),
        (
            lambda c: r.average(r.weaken(r.minkowski((1, UK)), {one("c"): c}), "k"),
            lambda c: c,
            False,
        ),
        (
            lambda c: r.largest(r.weaken(r.minkowski((1, UK)), {one("c"): c})),
            lambda c: c,
            False,
        ),
        (lambda c: r.steps_max(UK, s.K, weights(c)), lambda c: c, False),
        (
            lambda c: r.convolution(r.weaken(contracted(s.eta), {one("c"): c})),
            lambda c: c,
            False,
        ),
        (
            lambda c: r.chain(
                r.add((1,), r.weaken(two_roots(), {root(U): c})), r.minkowski((1, U))
            ),
            lambda c: c,
            False,
        ),
    ],
)
def test_sign_of_a_number_that_may_be_negative_is_demanded(make, expr, strict):
    c = sp.Symbol("c", real=True)
    held = [
        d for d in make(c).demands if is_zero(d.expr - expr(c)) and d.strict >= strict
    ]
    assert held


@pytest.mark.parametrize(
    "make",
    [
        lambda: r.young((0,), (1, U)),
        lambda: r.square(two_roots(), {root(U): 0, root(X): 1}),
        lambda: r.solve(two_squares(), {sq(U): 1}, 0),
    ],
)
def test_nothing_is_divided_by_0(make):
    with pytest.raises(RuleError):
        make()


def test_step_of_one_phase_is_not_that_of_the_other():
    """The index k of a bound belongs to its phase even if its moments do not contain
    it.
    """
    growing = r.minkowski((1, N.within("v").sum(k)))
    later = r.add((1, 1), r.weaken(growing, {one("c"): k}), r.minkowski((1, U)))
    assert later.phases == {"v"}
    with pytest.raises(RuleError):
        r.add((1, 1), later, r.minkowski((1, G.within("u"))))


def test_powers_of_different_quantities_are_different():
    named = sp.Symbol("(x)^(n)")
    x, n = sp.Symbol("x", positive=True), sp.Symbol("n", positive=True)
    assert not is_zero(x**n - named)
    assert not is_zero(x**n - sp.Symbol("x", real=True) ** n)
    assert is_zero(x ** (2 * n) - (x**n) ** 2)


# -- scripts


@pytest.mark.slow
def test_algorithm_is_compared_by_its_updates_not_by_name():
    theorem, script = stated()
    fact = last_fact()
    known = replace(script, prove=lambda **_: fact)
    assert proved.check(theorem, known).proved
    assert same_round(replace(dfedsam.A, name="mine"), ROUNDS["DFedSAM"])
    changes = {
        "local": X - SAMPLED.sum(k) * (s.eta / 2),
        "sent": X - SAMPLED.sum(s.K) * (s.eta / 2),
        "mean_model": X.mean() * 2,
        "dual": DUAL,
        "gossips": s.Q + 1,
        "personal": X_U + X_V,
    }
    for name, change in changes.items():
        assert not same_round(replace(dfedsam.A, **{name: change}), ROUNDS["DFedSAM"])
    with pytest.raises(RuleError, match="of another block"):
        replace(dfedsam.A, kept=X_V)
    still = AlgorithmRound("DFedSAM", X, X, X.mean(), gossips=s.Q)
    false = replace(script, prove=lambda **_: r.common_start(still))
    missing = proved.check(theorem, false).missing
    assert (
        "the proof is about another algorithm than DFedSAM: an update differs"
        in missing
    )
    order = replace(
        theorem,
        scope=replace(theorem.scope, hyperparameters={"order": "combine-then-adapt"}),
    )
    assert not proved.check(order, known).proved
    theirs = replace(
        theorem, scope=replace(theorem.scope, algorithms=("other.package:DFedSAM",))
    )
    assert not proved.check(theirs, known).proved


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("dfedadmm.theorem_1:corrected_second_moment", "DFedADMMSAM"),
        ("dfedsgpsm.theorem_1:corrected", "DFedSGPSM"),
        ("dfedmdc.theorem_1:corrected", "DFedMDC"),
        ("dfedmdc.theorem_2:corrected", "DFedSMDC"),
    ],
)
def test_rounds_with_sums_of_other_names_are_the_same(claim, name):
    about = proved.last_fact(claim).of
    assert [other for other in ROUNDS if same_round(about, ROUNDS[other])] == [name]


class Agreeable(Script):
    """A script that changes the statement it has to prove."""

    def cases(self, theorem):
        return [(self, replace(theorem, conditions=()))]


def test_script_of_another_type_is_rejected():
    theorem, script = stated()
    own = {name: getattr(script, name) for name in script.__dataclass_fields__}
    with pytest.raises(RuleError):
        proved.check(theorem, Agreeable(**own))

    class Follows(Corollary):
        pass

    with pytest.raises(RuleError):
        proved.check(theorem, Follows(CLAIM, CLAIM))


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "symbol",
    [
        sp.Symbol("y", zero=True),
        sp.Symbol("y", integer=True, nonnegative=True),
        sp.Symbol("y", integer=True, positive=True),
        sp.Symbol("y", real=True),
    ],
)
def test_symbol_of_a_range_says_no_more_than_its_sign(symbol):
    theorem, script = stated()
    ranges = (*script.ranges, Range(symbol, s.eta * s.L))
    known = replace(script, prove=lambda **_: last_fact(), ranges=ranges)
    with suppress(RuleError):
        assert not proved.check(theorem, known).proved


@pytest.mark.drawn(1)
@pytest.mark.parametrize("means", [1 / (s.K - 1), 1 / s.rho, s.eta / s.sigma_l])
def test_range_is_that_of_a_finite_number(means):
    theorem, script = stated()
    ranges = (*script.ranges, Range(sp.Symbol("y", nonnegative=True), means))
    missing = proved.check(
        theorem, replace(script, prove=lambda **_: last_fact(), ranges=ranges)
    ).missing
    assert "the range of y does not follow" in missing


@pytest.mark.slow
def test_condition_of_cases_is_real():
    theorem, script = stated()
    bare = replace(script, prove=lambda **_: last_fact())
    for case, allowed in (
        (Condition("c", sp.sqrt(s.lam - 2), s.lam), False),
        (Condition("c", s.eta * s.L, s.lam), True),
    ):
        missing = proved.check(
            theorem, replace(bare, case=case, otherwise=bare)
        ).missing
        unreal = [reason for reason in missing if "real number" in reason]
        assert (not unreal) is allowed
    with pytest.raises(RuleError):
        proved.check(
            theorem, replace(bare, case=Condition("c", sp.I, sp.S.One), otherwise=bare)
        )


@pytest.mark.slow
def test_symbol_of_a_script_has_no_range_of_an_unused_quantity():
    """A symbol ``y`` is neither at most 1 nor absent because the theorem declares a
    quantity of this name.
    """
    theorem, script = stated()
    fact, y = last_fact(), sp.Symbol("y", nonnegative=True)
    more = r.weaken(fact, {one("sam"): fact.right[one("sam")] + y})
    smaller = r.add(
        (1,), r.weaken(more, {one("sam"): more.right[one("sam")] + 2 - 2 * y})
    )
    for quantity in (
        Quantity("y", "y", ONE, "theirs", high=1.0),
        Quantity("y", "y", ONE, "theirs", neutral=0.0),
    ):
        declaring = replace(theorem, quantities=(quantity,))
        for last in (more, smaller):
            checked = proved.check(
                declaring, replace(script, prove=lambda last=last, **_: last)
            )
            assert not checked.proved
        assert forms.nonnegative(1 - y, declaring.glossary) is (quantity.high == 1)
        assert not forms.nonnegative(1 - y)


def test_squares_of_complex_numbers_are_not_nonnegative():
    assert not forms.nonnegative(sp.Symbol("z") ** 2)
    assert not forms.nonnegative(sp.Symbol("z", imaginary=True) ** 2)
    assert forms.nonnegative(sp.Symbol("z", real=True) ** 2)
    region = proved.ScriptRegion(*stated())
    assert not region.holds(sp.nan)
    assert not region.holds(sp.oo)
    assert not region.holds(sp.I**2 * s.lam)
