"""Theorems B0, B1, B1' and B2 of DFedADMM as scripts of the kernel.

The functions return facts or tuples of them. Except for B0, the last fact of a script
implies its theorem: B1 is ``by_steps``, B1' ``by_moment(assumed_moment)`` and B2
``theorem_b2``. B0 is tried by ``by_moment(bounded_moment)``, but the kernel does not
show that its bound follows.

The algorithm and its names (pen is lam_admm, share is eta/lam_admm) are in
``algorithm.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs import kernel as r
from dfltheory.proofs.moments import (
    DUAL,
    EHAT,
    MEAN,
    NOISE,
    SAMPLED,
    E,
    G,
    N,
    Vec,
    X,
    k,
    one,
    root,
    sq,
)
from dfltheory.proofs.script import Corollary, Script
from validation.papers.dfedadmm import notation as stated
from validation.papers.dfedadmm.algorithm import (
    BEFORE,
    NEW,
    THETA,
    WEIGHTS,
    A,
    K,
    L,
    g,
    own,
    pen,
    w,
)
from validation.papers.dfedadmm.boxes import ANY, BELOW_ONE, SMALL, WITHOUT, Box
from validation.papers.dfedadmm.notation import gamma

# Young's weights: two equal ones; of the mean step and its noise, and of the terms
# of the drift, both for B2
HALF = (sp.Rational(1, 2), sp.Rational(1, 2))
NOISE_B2 = (sp.Rational(25, 59), sp.Rational(34, 59))
DRIFT_B2 = (sp.Rational(1, 2), *[sp.Rational(1, 8)] * 4)
Bounds = tuple[r.Fact, ...]
"""Facts that :func:`r.chain` inserts into another fact, in this order."""
Weights = Sequence[sp.Expr]
NOISE_OF_SAM = E - EHAT
MEAN_STEPS = MEAN.mean().sum(K, WEIGHTS)
"""The weighted sum over the steps of the clients' mean of the expected gradients m_k.

Divided by gamma, it is the estimate of grad f(w).
"""
NOISE_STEPS = NOISE.mean().sum(K, WEIGHTS)
"""The same sum of the noise."""
STEPS = SAMPLED.sum(K, WEIGHTS)
"""The weighted sum of the stochastic gradients of a round."""


def bounded_moment() -> r.Fact:
    """Bound root(g_k + n_k + e_k) by S, from gradients bounded by B."""
    plain = r.pythagoras(A, G, N)
    square = r.chain(plain, r.square(r.bounded(A)), r.square(r.variance(A)))
    # one constant "B", whose root is sqrt(B^2 + sigma_l^2), not B + sigma_l
    plain_root = r.take_root(r.label(square, "B"))
    sampled = r.chain(r.minkowski((1, G + N), (1, E)), plain_root, r.sam(A, E))
    return r.label(sampled, "S")


def estimate(*far: r.Fact) -> r.Fact:
    """Bound root(grad f(w) less its estimate by the mean step).

    ``far`` bounds root(y_k - w), the distance of the local model y_k from w.
    """
    bias = MEAN - own
    bias_of_step = r.chain(
        r.minkowski((1, G - own), (1, EHAT)),
        r.lipschitz(A, A.local, w),
        *far,
        r.sam(A, EHAT),
    )
    return r.chain(
        # grad f(w) - MEAN_STEPS/gamma, because the weights sum to gamma
        r.minkowski((-1 / gamma, bias.mean().sum(K, WEIGHTS))),
        r.steps_max(bias.mean(), K, WEIGHTS),
        r.largest(r.mean_of(bias)),
        r.largest(bias_of_step),
    )


def distances(moment: r.Fact) -> r.Fact:
    """Bound sq(grad f(w) less its estimate by the mean step), mean over rounds.

    The bound is (L lam_admm S (lam/(1 - lam) + 2 p + theta) + L rho)^2: consensus,
    local steps, dual, SAM.
    """
    size = r.largest(moment)
    dual_parts = ((1 - gamma, DUAL), (1, STEPS))
    next_dual = r.chain(
        r.next_dual(A),
        r.minkowski(*dual_parts),
        r.steps_max(SAMPLED, K, WEIGHTS),
        size,
    )
    # the dual is at most S, because S = (1 - gamma) S + gamma S
    dual = r.label(r.invariant(next_dual, r.dual_start(A)), "S")
    new = r.chain(
        r.minkowski(*dual_parts), r.steps_max(SAMPLED, K, WEIGHTS), size, dual
    )
    sent = r.chain(
        r.minkowski((1, X.dev()), (-pen, NEW.dev())), r.dev_of(NEW), r.label(new, "S")
    )
    disagreement = r.chain(r.convolution(r.chain(r.gossip(A), sent)), r.common_start(A))
    step = r.chain(r.minkowski((1, SAMPLED), (-1, DUAL)), moment, dual)
    moved = r.chain(
        r.minkowski((-pen, (SAMPLED - DUAL).sum(k, WEIGHTS))),
        r.steps_max(SAMPLED - DUAL, k, WEIGHTS, K - 1),
        r.largest(step),
    )
    from_w = ((1, A.local - X), (1, X.dev()), (pen * THETA, DUAL.mean()))
    path = estimate(r.minkowski(*from_w), moved, r.mean_of(DUAL), dual)
    over_rounds = r.chain(r.average(path, "t"), disagreement)
    return r.square(r.label(over_rounds, "path"))


def descended(square_of_step: Bounds, *errors: r.Fact) -> r.Fact:
    """Sum the descent at w over the rounds, and solve for sq[mean t](grad f(w)).

    The square of the estimate U of grad f(w) is dropped, since its factor is at most 0.
    ``square_of_step`` bounds the square of the step. The first of ``errors`` bounds
    sq[mean t](grad f(w) - U), and the others what this bound contains.
    """
    U, noise = MEAN_STEPS * (1 / gamma), NOISE_STEPS * (1 / gamma)
    round_ = r.chain(
        r.descent(A, w, -pen * U - pen * noise),
        r.bilinear(g, (-pen, U), (-pen / gamma, NOISE_STEPS)),
        r.unbiased(A, g, NOISE.mean(), WEIGHTS),
        r.polarization(g, U),
        *square_of_step,
    )
    summed = r.chain(r.telescope(A, round_), *errors)
    # its factor is at most 0: with Young's weights 1/2, L lam_admm^2 - lam_admm/2; in
    # by_moment -lam_admm/2; with L lam_admm and 1 - L lam_admm, 0; in B2 see the boxes
    without_square = r.weaken(summed, {sq(U).at(rounds="mean"): sp.S.Zero})
    return r.solve(without_square, {sq(g).at(rounds="mean"): sp.S.One})


def noise_of_a_step() -> r.Fact:
    """Bound root(n_k + e_k - e^_k) by sigma_l + L rho."""
    parts = r.minkowski((1, N), (1, NOISE_OF_SAM))
    return r.label(r.chain(parts, r.variance(A), r.sam(A, NOISE_OF_SAM)), "V")


def split(weights: Weights, size: sp.Expr = -pen) -> Bounds:
    """Bound sq(size (U + noise)) by sq(U) and the noise of m clients and K steps.

    U is MEAN_STEPS/gamma, the estimate of grad f(w), and noise is NOISE_STEPS/gamma.
    """
    parts = ((size, MEAN_STEPS * (1 / gamma)), (size / gamma, NOISE_STEPS))
    noise = r.chain(r.clients(A, NOISE), r.square(noise_of_a_step()))
    return r.young(weights, *parts), r.martingale(noise, K, WEIGHTS)


def whole(moment: r.Fact) -> Bounds:
    """Bound sq(pen (U + noise)) by the second moment of the stochastic gradients."""
    step = SAMPLED.mean()
    size = r.chain(
        r.minkowski((-pen / gamma, step.sum(K, WEIGHTS))),
        r.steps_max(step, K, WEIGHTS),
        r.largest(r.mean_of(SAMPLED)),
        r.largest(moment),
    )
    return (r.square(size),)


def by_steps(moment: Callable[[], r.Fact], noise: Weights) -> r.Fact:
    """Bound sq[mean t](grad f(w)) by f0_gap, the distances and the noise of the steps.

    ``noise``: Young's weights of the mean step and of its noise.
    """
    return descended(split(noise), distances(moment()))


def by_moment(moment: Callable[[], r.Fact]) -> r.Fact:
    """Bound sq[mean t](grad f(w)) by f0_gap, the distances and the second moment."""
    return descended(whole(moment()), distances(moment()))


# -- without bounded gradients: every distance by the others, in the mean over rounds.
# m_k is MEAN, the expected gradient of step k; the labels Z and V are of constants with
# sigma_g + L rho and sigma_l + L rho as coefficients.

xbar = X.mean()
own_bar, g_bar, apart = A.grad(xbar), A.full(xbar), A.local - xbar


def evenly(fact: r.Fact) -> r.Fact:
    """Square a bound of a root by n terms: at most n times the sum of their squares."""
    weight = sp.Rational(1, len(fact.right))
    return r.square(fact, dict.fromkeys(fact.right, weight))


def dual_by(part: Vec, part_of_sum: Vec) -> r.Fact:
    """Bound a part of the dual by the same part of the weighted sum.

    root[mean t](a part of the dual) <= root[mean t](the same of the weighted
    sum)/gamma.
    """
    parts = r.minkowski((1 - gamma, part), (1, part_of_sum))
    new = r.chain(r.next_dual(A, part), parts)
    return r.chain(r.convolution(new), r.dual_start(A, part))


def local_mean() -> r.Fact:
    """Bound root(m_k - grad f(xbar)) by the distance from xbar and sigma_g + L rho."""
    parts = ((1, G - own_bar), (1, EHAT), (1, own_bar - g_bar))
    deviation = r.chain(
        r.minkowski(*parts),
        r.lipschitz(A, A.local, xbar),
        r.sam(A, EHAT),
        r.diversity(A, xbar),
    )
    return r.label(deviation, "Z")


def spread() -> r.Fact:
    """Bound the disagreement sq[mean t](x - mean x) by the drift, Z and the noise."""
    expected, noises = (MEAN - g_bar).sum(K, WEIGHTS), NOISE.sum(K, WEIGHTS)
    noise = r.martingale(r.square(noise_of_a_step()), K, WEIGHTS)
    steps_apart = r.chain(
        r.minkowski((1, expected.dev()), (1, noises.dev())),
        r.dev_of(expected),
        r.steps_max(MEAN - g_bar, K, WEIGHTS),
        r.largest(local_mean()),
        r.dev_of(noises),
        r.take_root(noise),
    )
    new = r.average(r.minkowski((1 - gamma, DUAL.dev()), (1, STEPS.dev())), "t")
    mixed = r.chain(r.gossip(A), r.minkowski((1, X.dev()), (-pen, NEW.dev())))
    rounds = r.chain(
        r.convolution(mixed), r.common_start(A), new, dual_by(DUAL.dev(), STEPS.dev())
    )
    return evenly(r.chain(rounds, r.average(steps_apart, "t")))


def duals() -> r.Fact:
    """Bound sq[mean t](dual) by the gradient at mean x, the drift, Z and the noise."""
    expected = evenly(r.chain(r.minkowski((1, MEAN - g_bar), (1, g_bar)), local_mean()))
    noise = r.square(noise_of_a_step())
    step = r.largest(r.chain(r.pythagoras(A, MEAN, NOISE), expected, noise))
    largest_step = r.average(r.steps_max(SAMPLED, K, WEIGHTS), "t")
    dual = r.chain(dual_by(DUAL, STEPS), largest_step)
    return r.chain(r.square(dual), r.average(step, "t"))


def drift(way: Weights) -> r.Fact:
    """Bound sq[max k, mean t](y_k - mean x) by the gradient at mean x, Z and noise."""
    parts = ((1, MEAN - g_bar), (1, g_bar), (1, NOISE), (-1, DUAL))
    step = r.chain(r.minkowski(*parts), local_mean(), noise_of_a_step())
    steps = (SAMPLED - DUAL).sum(k, WEIGHTS)
    path = r.chain(
        r.minkowski((1, X.dev()), (-pen, steps)),
        r.steps_max(SAMPLED - DUAL, k, WEIGHTS, K - 1),
        r.largest(step),
    )
    closed = r.solve(r.largest(path))
    terms = (root(X.dev()), one("Z"), root(g_bar), one("V"), root(DUAL))
    mean = r.average(r.square(closed, dict(zip(terms, way, strict=True))), "t")
    return r.solve(r.chain(mean, spread(), duals()))


def theorem_b2(noise: Weights, dual: Weights, way: Weights) -> r.Fact:
    """Insert the distances into each other, and solve for the gradient.

    ``noise`` and ``dual`` are Young's weights of the mean step and of its noise, in the
    descent and in the dual; ``way`` has those of the terms of the drift.
    """
    bias = estimate(r.minkowski((1, apart), (pen * THETA, DUAL.mean())))
    gradient_at_mean = r.chain(
        r.minkowski((1, g), (1, g_bar - g)),
        r.mean_of(own_bar - own),
        r.lipschitz(A, xbar, w),
        r.minkowski((pen * THETA, DUAL.mean())),
    )
    mean_dual = r.square(dual_by(DUAL.mean(), STEPS.mean()))
    mean_sum = r.average(r.chain(*split(dual, gamma)), "t")
    return r.solve(
        descended(
            split(noise),
            r.average(evenly(bias), "t"),
            drift(way),
            r.average(evenly(gradient_at_mean), "t"),
            r.chain(mean_dual, mean_sum),
        )
    )


GRANTS: dict[str, tuple[h.Hypothesis, ...]] = dict(
    zip(
        (
            *stated.CORRECTED_ASSUMPTIONS,
            stated.MOMENT,
            stated.BOUNDED,
            stated.DIVERSITY,
            "every $f_i$ is $L$-smooth",
        ),
        (
            (h.SMOOTH, h.SAMPLE_SMOOTH),
            (h.UNBIASED, h.VARIANCE, h.INDEPENDENT),
            (h.BELOW,),
            (h.KEPT, h.CONTRACTS),
            (h.COMMON,),
            (h.MOMENT,),
            (h.BOUNDED,),
            (h.DIVERSITY,),
            (h.SMOOTH,),
        ),
        strict=True,
    )
)
NAMES = {
    stated.theta: THETA,
    stated.p: BEFORE,
    stated.Gamma2: WEIGHTS.square_sum(s.K) / gamma**2,
}


def script(
    variant: str, prove: Callable[..., r.Fact], box: Box, **weights: Weights
) -> Script:
    """Return the proof of a variant whose inequalities are examined in a box."""
    claim = f"dfedadmm.theorem_1:{variant}"
    return Script(claim, prove, GRANTS, *box, (WEIGHTS,), NAMES, weights=weights)


def assumed_moment() -> r.Fact:
    """Bound root(g_k + n_k + e_k) by S = sqrt(S2), the assumption itself."""
    return r.second_moment(A)


SCRIPTS = (
    script("corrected", partial(by_steps, bounded_moment), SMALL, noise=HALF),
    script(
        "corrected_second_moment", partial(by_steps, assumed_moment), SMALL, noise=HALF
    ),
    script(
        "corrected_larger_penalty",
        partial(by_steps, assumed_moment, (L * pen, 1 - L * pen)),
        BELOW_ONE,
    ),
    script("corrected_any_penalty", partial(by_moment, assumed_moment), ANY),
    script(
        "corrected_no_bounded_gradients",
        theorem_b2,
        WITHOUT,
        noise=NOISE_B2,
        dual=HALF,
        way=DRIFT_B2,
    ),
    script("corrected_small_steps", partial(by_moment, bounded_moment), ANY),
    Corollary(
        "dfedadmm.corollary_1:corrected", "dfedadmm.theorem_1:corrected_second_moment"
    ),
    Corollary(
        "dfedadmm.corollary_1:corrected_paper_schedule",
        "dfedadmm.theorem_1:corrected_second_moment",
    ),
)
