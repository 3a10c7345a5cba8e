"""Rules of Hilbert space: norms, means, and sums over local steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import real_expression
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.facts import Fact, rule, single_moment, size_demand, young_weights
from dfltheory.proofs.moments import (
    BLOCKS,
    PLAIN,
    Atom,
    Conclusion,
    Demand,
    Form,
    Lag,
    Vec,
    combination,
    equality,
    inner,
    k,
    need,
    root,
    sq,
    upper_bound,
)

HILBERT = "Rudin, Real and Complex Analysis, ch. 3 and 4 (L^2 is a Hilbert space)"


@rule(f"Minkowski's inequality: {HILBERT}")
def minkowski(*parts: tuple[Expr, Vec]) -> Conclusion:
    """Bound the root of a sum by a sum of roots.

    root(sum_j c_j U_j) <= sum_j |c_j| root(U_j). |c_j| is c_j without its minus sign,
    and must not be negative.
    """
    sizes = tuple(size_demand(c) for c, _ in parts)
    roots = [root(v) for _, v in parts]
    terms = [(size.expr, r) for size, r in zip(sizes, roots, strict=True)]
    return upper_bound(root(_sum(parts)), combination(*terms), sizes)


@rule(
    "Young's inequality, weighted (Cauchy-Schwarz): Hardy, Littlewood and Polya,"
    " Inequalities, 2.4"
)
def young(weights: Iterable[Expr], *parts: tuple[Expr, Vec]) -> Conclusion:
    """Bound the square of a sum by a weighted sum of squares.

    sq(sum_j c_j U_j) <= sum_j c_j^2 sq(U_j)/w_j for weights w_j > 0 that sum to at most
    1.
    """
    shares = [real_expression(w) for w in weights]
    need(len(shares) == len(parts), "{} vectors need as many weights", len(parts))
    terms = []
    for w, (c, v) in zip(shares, parts, strict=True):
        terms.append((c**2 / w, sq(v)))
    return upper_bound(sq(_sum(parts)), combination(*terms), young_weights(shares))


def _sum(parts: Sequence[tuple[Expr, Vec]]) -> Vec:
    """Return ``sum_j c_j U_j``."""
    terms: list[tuple[Atom, Expr]] = []
    for c, v in parts:
        terms += (v * c).terms
    return Vec.of(terms)


@rule(
    f"Jensen's inequality for a mean; the mean is an orthogonal projection: {HILBERT}"
)
def mean_of(v: Vec) -> Conclusion:
    """Bound the mean over the clients.

    root(mean U) <= root(U).
    """
    return upper_bound(root(v.mean()), {root(v): sp.S.One})


@rule(f"Id - mean is an orthogonal projection: {HILBERT}")
def dev_of(v: Vec) -> Conclusion:
    """Bound what is left without the mean over the clients.

    root(U - mean U) <= root(U).
    """
    return upper_bound(root(v.dev()), {root(v): sp.S.One})


@rule(f"Pythagoras' theorem for the orthogonal projection on the mean: {HILBERT}")
def projection(v: Vec) -> Conclusion:
    """Split a square into those of the mean and of the rest.

    sq(mean U) = sq(U) - sq(U - mean U).
    """
    return equality(sq(v.mean()), combination((1, sq(v)), (-1, sq(v.dev()))))


@rule("a sum of one term")
def one_step(fact: Fact) -> Conclusion:
    """Write the only step of a round as the sum over the steps.

    A fact about step k gives the same fact about the sums over the steps if K <= 1,
    because then sum_{j<K} U_j = U_k. Sums over earlier steps are 0, k = 0 and K = 1; of
    two blocks, K is that of the phase.
    """
    need(len(fact.phases) == 1, "the fact does not depend on a local step: {}", fact)
    (phase,) = fact.phases
    K = BLOCKS[phase].K
    left, right = _of_only_step(fact.left, K), _of_only_step(fact.right, K)
    alone = Demand(1 - K, "a round has one local step")
    return Conclusion(left, right, (alone,), fact.equal)


def _of_only_step(linear: Form, K: Expr) -> Form:
    """Return the moments with the sum over the steps in place of step 0."""
    terms = []
    for moment, c in linear.items():
        vec, other = moment.vec.only_step(K), moment.other.only_step(K)
        summed = moment if moment.steps else replace(moment, vec=vec, other=other)
        terms.append((c.subs({k: 0, K: 1}), summed))
    return combination(*terms)


@rule(f"|| sum_j U_j || <= sum_j ||U_j|| and Cauchy-Schwarz: {HILBERT}")
def steps_mean(v: Vec) -> Conclusion:
    """Bound a sum over the steps by the mean square of the steps.

    root(sum_{j<K} U_j) <= K root[mean k](U).
    """
    K = v.count
    return upper_bound(root(v.sum(K)), {root(v).at(steps="mean"): K})


@rule(f"Minkowski's inequality for weights that are not negative: {HILBERT}")
def steps_max(
    v: Vec, n: Expr, weights: Lag = PLAIN, upto: Expr | None = None
) -> Conclusion:
    """Bound a weighted sum over steps by the largest step.

    root(sum_{j<n} c(n-j) U_j) <= (c(1) + ... + c(n)) root[max k](U), n = k or K, for
    weights c >= 0. For n = k, ``upto`` = K - 1 or K gives the sum of so many weights,
    which is no smaller and does not depend on k.
    """
    K = v.count
    need(
        upto is None or (n == k and upto in (K - 1, K)),
        "upto is allowed only for n = k, and must be K - 1 or K",
    )
    total = weights.whole(n if upto is None else upto)
    largest = root(v).at(steps="max")
    sign = Demand(weights.weight, "a weight of a step")
    return upper_bound(root(v.sum(n, weights)), {largest: total}, (sign,))


@rule(
    f"Minkowski's inequality for weights that are not negative: {HILBERT}; induction"
    " over the steps"
)
def steps_sum(fact: Fact, weights: Lag) -> Conclusion:
    """Bound a weighted sum of steps that grow with the weights before them.

    root(U_k) <= a C(k) + b, with C(k) the sum of the weights of k steps, gives
    root(sum_{j<K} c(K-j) U_j) <= a (sum_{j<K} c(K-j) C(j)) + b (sum of the weights).
    """
    u = single_moment(fact, "root").vec
    need(
        set(fact.left) == {root(u)} and u.free,
        "the left-hand side must be root(U) at a step k of this round: {}",
        fact,
    )
    K = u.count
    sum_of_late_steps, sum_of_weights = weights.late(K), weights.whole(K)
    right = {}
    for m, c in fact.right.items():
        size, total = c, sum_of_weights
        if k in c.free_symbols:
            size, total = c / weights.whole(k), sum_of_late_steps
        need(
            m.kind in ("root", "one") and not m.free and k not in size.free_symbols,
            "({}) {}: only roots independent of k and constants are allowed, with a"
            " coefficient a C(k) or one without k",
            c,
            m,
        )
        right[m] = size * total
    sign = Demand(weights.weight, "a weight")
    return upper_bound(root(u.sum(K, weights)), right, (sign,))


@rule(f"polarization: {HILBERT}")
def polarization(u: Vec, v: Vec) -> Conclusion:
    """Write a product by three squares.

    <U, V> = (sq(U) + sq(V) - sq(U - V))/2.
    """
    half = sp.S.Half
    right = combination((half, sq(u)), (half, sq(v)), (-half, sq(u - v)))
    return equality(inner(u, v), right)


@rule(f"the product is bilinear: {HILBERT}")
def bilinear(u: Vec, *parts: tuple[Expr, Vec]) -> Conclusion:
    """Expand a product with a sum.

    <U, sum_j c_j V_j> = sum_j c_j <U, V_j>.
    """
    terms = [(real_expression(c), inner(u, v)) for c, v in parts]
    return equality(inner(u, _sum(parts)), combination(*terms))


@rule("w_i >= delta: monotonicity of sums", h.WEIGHTS)
def unweigh(v: Vec) -> Conclusion:
    """Bound vectors divided by the push-sum weights.

    root(U/w) <= root(U)/delta: every push-sum weight is at least delta.
    """
    return upper_bound(root(v.pushed()), {root(v): 1 / s.delta})


@rule("w_i >= delta: monotonicity of sums", h.WEIGHTS)
def weigh(v: Vec) -> Conclusion:
    """Bound a root by the root with the push-sum weights.

    root(U) <= delta^(-1/2) root_w(U): every push-sum weight is at least delta.
    root_w(U)^2 is (1/m) sum_i E[w_i ||U_i||^2].
    """
    return upper_bound(root(v), {root(v, weighted=True): 1 / sp.sqrt(s.delta)})


__all__ = [
    "HILBERT",
    "bilinear",
    "dev_of",
    "mean_of",
    "minkowski",
    "one_step",
    "polarization",
    "projection",
    "steps_max",
    "steps_mean",
    "steps_sum",
    "unweigh",
    "weigh",
    "young",
]
