"""Rules of Hilbert space: norms, means, and sums over local steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import expression
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.facts import Fact, rule, single_moment, size_demand, young_weights
from dfltheory.proofs.moments import (
    BLOCKS,
    PLAIN,
    Claim,
    Demand,
    Form,
    Lag,
    Vec,
    form,
    inner,
    k,
    need,
    root,
    sq,
)

HILBERT = "Rudin, Real and Complex Analysis, ch. 3 and 4 (L^2 is a Hilbert space)"


@rule(f"Minkowski's inequality: {HILBERT}")
def minkowski(*parts: tuple[Expr, Vec]) -> Claim:
    """Bound the root of a sum by a sum of roots.

    root(sum_j c_j U_j) <= sum_j |c_j| root(U_j).
    """
    sizes = tuple(size_demand(c) for c, _ in parts)
    right = form(
        *(({root(v): d.expr}, sp.S.One) for d, (_, v) in zip(sizes, parts, strict=True))
    )
    return Claim({root(_sum(parts)): sp.S.One}, right, sizes)


@rule(
    "Young's inequality, weighted (Cauchy-Schwarz): Hardy, Littlewood and Polya,"
    " Inequalities, 2.4"
)
def young(weights: Iterable[Expr], *parts: tuple[Expr, Vec]) -> Claim:
    """Bound the square of a sum by a weighted sum of squares.

    sq(sum_j c_j U_j) <= sum_j c_j^2 sq(U_j)/w_j for weights w_j > 0 that sum to at most
    1.
    """
    shares = [expression(w) for w in weights]
    need(len(shares) == len(parts), "{} vectors need as many weights", len(parts))
    right = form(
        *(
            ({sq(v): c**2 / w}, sp.S.One)
            for w, (c, v) in zip(shares, parts, strict=True)
        )
    )
    return Claim({sq(_sum(parts)): sp.S.One}, right, young_weights(shares))


def _sum(parts: Iterable[tuple[Expr, Vec]]) -> Vec:
    return Vec.of(pair for c, v in parts for pair in (v * c).terms)


@rule(
    f"Jensen's inequality for a mean; the mean is an orthogonal projection: {HILBERT}"
)
def mean_of(v: Vec) -> Claim:
    """Bound the mean over the clients.

    root(mean U) <= root(U).
    """
    return Claim({root(v.mean()): sp.S.One}, {root(v): sp.S.One})


@rule(f"Id - mean is an orthogonal projection: {HILBERT}")
def dev_of(v: Vec) -> Claim:
    """Bound what is left without the mean over the clients.

    root(U - mean U) <= root(U).
    """
    return Claim({root(v.dev()): sp.S.One}, {root(v): sp.S.One})


@rule(f"Pythagoras' theorem for the orthogonal projection on the mean: {HILBERT}")
def projection(v: Vec) -> Claim:
    """Split a square into those of the mean and of the rest.

    sq(mean U) = sq(U) - sq(U - mean U).
    """
    right = form(({sq(v): sp.S.One}, 1), ({sq(v.dev()): sp.S.One}, -1))
    return Claim({sq(v.mean()): sp.S.One}, right, equal=True)


@rule("a sum of one term")
def one_step(fact: Fact) -> Claim:
    """Write the only step of a round as the sum over the steps.

    A fact about step k gives the same fact about the sums over the steps if K <= 1,
    because then sum_{j<K} U_j = U_k.
    """
    need(len(fact.phases) == 1, "the fact does not depend on a local step: {}", fact)
    (phase,) = fact.phases
    K = BLOCKS[phase].K
    left, right = _of_only_step(fact.left, K), _of_only_step(fact.right, K)
    alone = Demand(1 - K, "a round has one local step")
    return Claim(left, right, (alone,), fact.equal)


def _of_only_step(linear: Form, K: Expr) -> Form:
    """Return the moments with the sum over the steps in place of step 0."""
    parts = []
    for moment, c in linear.items():
        vec, other = moment.vec.only_step(K), moment.other.only_step(K)
        summed = moment if moment.steps else replace(moment, vec=vec, other=other)
        parts.append(({summed: c.subs({k: 0, K: 1})}, sp.S.One))
    return form(*parts)


@rule(f"|| sum_j U_j || <= sum_j ||U_j|| and Cauchy-Schwarz: {HILBERT}")
def steps_mean(v: Vec) -> Claim:
    """Bound a sum over the steps by the mean square of the steps.

    root(sum_{j<K} U_j) <= K root[mean k](U).
    """
    K = v.count
    return Claim({root(v.sum(K)): sp.S.One}, {root(v).at(steps="mean"): K})


@rule(f"Minkowski's inequality for weights that are not negative: {HILBERT}")
def steps_max(v: Vec, n: Expr, weights: Lag = PLAIN, upto: Expr | None = None) -> Claim:
    """Bound a weighted sum over steps by the largest step.

    root(sum_{j<n} c(n-j) U_j) <= (sum of the weights) root[max k](U), n = k or K; for n
    = k the weights of all k, or no less: of ``upto`` = K - 1 or K steps.
    """
    K = v.count
    need(
        upto is None or (n == k and upto in (K - 1, K)),
        "upto is allowed only for n = k, and must be K - 1 or K",
    )
    total = weights.whole(n if upto is None else upto)
    return Claim(
        {root(v.sum(n, weights)): sp.S.One},
        {root(v).at(steps="max"): total},
        (Demand(weights.weight, "a weight of a step"),),
    )


@rule(
    f"Minkowski's inequality for weights that are not negative: {HILBERT}; induction"
    " over the steps"
)
def steps_sum(fact: Fact, weights: Lag) -> Claim:
    """Bound a weighted sum of steps that grow with the weights before them.

    root(U_k) <= a C(k) + b, with C(k) the sum of the weights of k steps, gives
    root(sum_{j<K} c(K-j) U_j) <= a (sum_{j<K} c(K-j) C(j)) + b (sum of the weights).
    """
    u, each = single_moment(fact, "root").vec, weights.whole(k)
    need(
        set(fact.left) == {root(u)} and u.free,
        "the left-hand side must be root(U) at a step k of this round: {}",
        fact,
    )
    right, late, whole = {}, weights.late(u.count), weights.whole(u.count)
    for m, c in fact.right.items():
        size, total = (c / each, late) if k in c.free_symbols else (c, whole)
        need(
            m.kind in ("root", "one") and not m.free and k not in size.free_symbols,
            "({}) {}: only roots independent of k and constants are allowed, with a"
            " coefficient a C(k) or one without k",
            c,
            m,
        )
        right[m] = size * total
    return Claim(
        {root(u.sum(u.count, weights)): sp.S.One},
        right,
        (Demand(weights.weight, "a weight"),),
    )


@rule(f"polarization: {HILBERT}")
def polarization(u: Vec, v: Vec) -> Claim:
    """Write a product by three squares.

    <U, V> = (sq(U) + sq(V) - sq(U - V))/2.
    """
    squares = {sq(u): sp.S.One}, {sq(v): sp.S.One}, {sq(u - v): sp.S.NegativeOne}
    right = form(*((square, sp.S.Half) for square in squares))
    return Claim({inner(u, v): sp.S.One}, right, equal=True)


@rule(f"the product is bilinear: {HILBERT}")
def bilinear(u: Vec, *parts: tuple[Expr, Vec]) -> Claim:
    """Expand a product with a sum.

    <U, sum_j c_j V_j> = sum_j c_j <U, V_j>.
    """
    right = form(*(({inner(u, v): expression(c)}, sp.S.One) for c, v in parts))
    return Claim({inner(u, _sum(parts)): sp.S.One}, right, equal=True)


@rule("w_i >= delta: monotonicity of sums", h.WEIGHTS)
def unweigh(v: Vec) -> Claim:
    """Bound vectors divided by the push-sum weights.

    root(U/w) <= root(U)/delta: every push-sum weight is at least delta.
    """
    return Claim({root(v.pushed()): sp.S.One}, {root(v): 1 / s.delta})


@rule("w_i >= delta: monotonicity of sums", h.WEIGHTS)
def weigh(v: Vec) -> Claim:
    """Bound a root by the root with the push-sum weights.

    root(U) <= delta^(-1/2) (the root with the weights w_i/m): every push-sum weight is
    at least delta.
    """
    return Claim({root(v): sp.S.One}, {root(v, weighted=True): 1 / sp.sqrt(s.delta)})


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
