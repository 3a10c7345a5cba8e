"""A gradient at a point that depends on the step k depends on k.

A mean over k that left such a gradient as it was proved that all clients' gradients are
equal, and with it DFedSAM's theorem for two local steps without the term of consensus.
"""

from __future__ import annotations

import pytest
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs import kernel
from dfltheory.proofs.algorithm_rounds import ROUNDS
from dfltheory.proofs.moments import N, RuleError, Vec, X, is_zero, k, one, root, sq

A = ROUNDS["DFedSAM"]
XBAR = A.mean_model
APART = X.dev()
OWN = A.grad(XBAR)


def between(weight: sp.Expr) -> Vec:
    """Return the gradients at xbar + weight (x - xbar)."""
    return A.grad(XBAR + APART * weight)


def near_mean() -> kernel.Fact:
    """Bound sq(grad f_i(xbar + k (x - xbar)) - grad f_i(xbar))."""
    steep = kernel.lipschitz(A, XBAR + APART * k, XBAR)
    return kernel.square(kernel.chain(steep, kernel.minkowski((k, APART))))


def equal_gradients() -> kernel.Fact:
    """Claim root(grad f_i(x) - grad f_i(xbar)) <= 0 for K = 2.

    The weight 1 - k is 0 but at step 0, where the bound of ``near_mean`` is 0. The
    weight k is 0 but at step 1, where xbar + k (x - xbar) is x.
    """
    near = kernel.average(kernel.add((1 - k,), near_mean()), "k")
    near = kernel.solve(near, {sq(between(k) - OWN): sp.S.One}, 2 / (3 - s.K))
    near = kernel.weaken(near, {sq(APART): sp.S.Zero})
    own = A.grad(X)
    both = kernel.chain(
        kernel.minkowski((1, own - between(k)), (1, between(k) - OWN)),
        kernel.lipschitz(A, X, XBAR + APART * k),
        kernel.minkowski((1 - k, APART)),
    )
    halves = dict.fromkeys((root(APART), root(between(k) - OWN)), sp.S.Half)
    both = kernel.chain(kernel.square(both, halves), near)
    both = kernel.average(kernel.add((k,), both), "k")
    both = kernel.solve(both, {sq(own - OWN): sp.S.One}, 2 / (s.K - 1))
    return kernel.take_root(kernel.weaken(both, {sq(APART): sp.S.Zero}))


def test_gradients_of_all_clients_are_not_equal():
    with pytest.raises(RuleError) as rejected:
        equal_gradients()
    assert rejected.value.rule == "average"


def test_mean_over_steps_is_taken_of_gradients_at_points_of_steps():
    averaged = kernel.average(near_mean(), "k")
    (moment,) = averaged.left
    assert moment == sq(between(k) - OWN).at(steps="mean")


@pytest.mark.parametrize(
    "vector",
    [X * k, A.grad(X * k), A.grad(X * k).mean(), A.grad(X + A.grad(XBAR * k)), A.local],
)
def test_vector_depends_on_the_step_in_a_coefficient_or_a_point(vector):
    assert vector.free
    assert sq(vector).free
    assert not sq(vector).at(steps="mean").free


@pytest.mark.parametrize("vector", [X, XBAR, A.grad(X), A.full(XBAR), A.sent])
def test_vector_of_a_round_does_not_depend_on_the_step(vector):
    assert not vector.free


NOISE = kernel.variance(A)
ZERO = kernel.square(kernel.minkowski())
WRONG_ARGUMENTS = {
    "average": (NOISE, "z"),
    "add": ((1, 1), NOISE),
    "solve": (NOISE, {root(N): "c"}, 1),
    "square": (NOISE, {one("noise"): "1"}),
}


@pytest.mark.parametrize("rule", WRONG_ARGUMENTS)
def test_rule_rejects_an_argument_of_another_kind(rule):
    apply = getattr(kernel, rule)
    with pytest.raises(RuleError) as rejected:
        apply(*WRONG_ARGUMENTS[rule])
    assert rejected.value.rule == rule


@pytest.mark.parametrize("c", [1 / (k + 1), sp.sqrt(k), s.alpha**k, sp.Max(k, 2)])
def test_only_polynomials_in_k_have_a_known_mean(c):
    with pytest.raises(RuleError) as rejected:
        kernel.average(kernel.weaken(ZERO, {sq(X): c}), "k")
    assert rejected.value.rule == "average"


@pytest.mark.parametrize("c", [k, s.eta * k**2, (k + s.alpha) ** 3 / (1 + s.alpha)])
def test_mean_of_a_polynomial_is_that_of_its_values(c):
    mean = kernel.average(kernel.weaken(ZERO, {sq(X): c}), "k").right[sq(X)]
    for K in range(1, 5):
        values = [c.subs(k, step) for step in range(K)]
        assert is_zero(mean.subs(s.K, K) - sp.Add(*values) / K)


def test_weight_of_a_square_may_be_an_int():
    assert kernel.square(NOISE, {one("noise"): 1}).left
