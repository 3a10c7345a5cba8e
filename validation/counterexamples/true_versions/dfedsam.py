"""Proofs of versions of DFedSAM's theorem 4.5 with 1 - lam^2 in place of 1 - lam.

Their bounds are smaller than those of the corrected theorem, so that the proofs are
sharper in three ways:

* The distance of a local model from the mean model is split into the difference from
  the mean of the clients and the distance of this mean, which are orthogonal. Only the
  first contains the heterogeneity, and only the second the gradient.
* The error of a client's mean step is split in the same way. What disagrees in it
  enlarges the disagreement, and does not bias the mean step.
* Noise is orthogonal to the disagreement at the start of the round, and to the
  difference of the clients' gradients at the mean model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs import kernel as r
from dfltheory.proofs.comparison import check
from dfltheory.proofs.moments import (
    MEAN,
    NOISE,
    AlgorithmRound,
    Vec,
    X,
    k,
    one,
    root,
    sq,
)
from dfltheory.proofs.script import Range, Script
from validation.counterexamples.true_versions.version import Missing, Name, version
from validation.papers.dfedsam.proof import (
    GRANTS,
    VALUES,
    A,
    K,
    L,
    a,
    error,
    eta,
    g,
    offset,
    own,
    q,
    steps,
    v,
    z,
)

R = sp.Rational
WEAK = R(1, 64)
"""A bound of (eta L (K - 1))^2, by the first condition."""


@dataclass(frozen=True)
class Weights:
    """Weights of the terms of a sum when it is squared; they sum to at most 1.

    D and M are the mean and the largest of sq(offset) over the steps, Xi is the
    disagreement ``sq(X.dev())``, and Z and V are those of the theorem.

    Attributes
    ----------
    bias : of sqrt(D) and rho, which bound the error of the mean step
    difference, difference_most : of sqrt(Xi), sqrt(M), sqrt(Z) and sqrt(V), which bound
        the difference of a local model from the mean local model: in the mean over the
        steps, and at the last step
    middle, middle_most : of root(g), sqrt(M), rho and sqrt(V/m), which bound the
        distance of the mean local model, in the same way
    noise : of the mean step and its noise
    spread : two numbers tau and share; with p = lam^Q, the disagreement at the start of
        a round has the weight 1 - tau (1 - p), the error of the mean steps tau (1 - p)
        share, and the difference of the gradients what is left
    """

    bias: Sequence[Expr]
    difference: Sequence[Expr]
    difference_most: Sequence[Expr]
    middle: Sequence[Expr]
    middle_most: Sequence[Expr]
    noise: Sequence[Expr]
    spread: Sequence[Expr]


def thousandths(*numbers: int) -> tuple[Expr, ...]:
    """Return multiples of 1/1000."""
    return tuple(R(number, 1000) for number in numbers)


CONSENSUS = Weights(
    bias=thousandths(459, 541),
    difference=thousandths(382, 366, 126, 126),
    difference_most=thousandths(272, 448, 146, 134),
    middle=thousandths(601, 126, 90, 183),
    middle_most=thousandths(622, 131, 92, 155),
    noise=(R(1, 8), R(7, 8)),
    spread=thousandths(990, 99),
)
LESS_CONSENSUS = Weights(
    bias=thousandths(727, 273),
    difference=thousandths(808, 87, 50, 55),
    difference_most=thousandths(720, 134, 77, 69),
    middle=thousandths(400, 339, 109, 152),
    middle_most=thousandths(411, 349, 112, 128),
    noise=(R(1, 8), R(7, 8)),
    spread=thousandths(990, 30),
)
ANY_START = Weights(
    bias=thousandths(465, 535),
    difference=thousandths(567, 179, 126, 128),
    difference_most=thousandths(444, 243, 171, 142),
    middle=thousandths(567, 141, 106, 186),
    middle_most=thousandths(587, 146, 109, 158),
    noise=(R(1, 8), R(7, 8)),
    spread=thousandths(180, 161),
)
"""Found by a numerical search over all weights, and rounded."""


# -- facts that hold for all vectors


def same(u: Vec) -> r.Fact:
    """Return sq(u) <= sq(u)."""
    return r.young((sp.S.One,), (sp.S.One, u))


def split(u: Vec) -> r.Fact:
    """Bound sq(u) by the squares of its mean over the clients and of the rest."""
    difference = {sq(u): sp.S.One, sq(u.mean()): sp.S.NegativeOne}
    without_mean = r.chain(r.solve(same(u), difference, sp.S.One), r.projection(u))
    return r.solve(without_mean, {sq(u): sp.S.One})


def with_noise(u: Vec, noise: Vec) -> r.Fact:
    """Bound sq(u - noise of all steps), where u is known when the round starts."""
    total = noise.sum(K)
    orthogonal = r.chain(
        r.polarization(u, total * eta),
        r.young((sp.S.One,), (eta, total)),
    )
    product = r.chain(r.bilinear(u, (eta, total)), r.unbiased(A, u, noise))
    moved = r.solve(orthogonal, {sq(u - total * eta): sp.S.One})
    return r.chain(moved, product)


# -- the theorem


def mean_error(w: Weights) -> r.Fact:
    """Bound sq(g - U), the error of the mean step U, without what disagrees in it."""
    bias, _, _ = steps()
    average_of_errors = r.chain(
        # g - U is -1/K times the sum of the mean errors
        r.minkowski((-1 / K, error.mean().sum(K))),
        r.steps_mean(error.mean()),
    )
    terms = (root(offset), one("sam"))
    of_clients = r.square(bias, dict(zip(terms, w.bias, strict=True)))
    return r.chain(
        r.square(average_of_errors),
        r.average(r.projection(error), "k"),
        r.average(of_clients, "k"),
    )


def descent(w: Weights) -> r.Fact:
    """Bound the mean over rounds of E||grad f(xbar)||^2, as in the theorem's proof."""
    _, _, noise = steps()
    U, noise_sum = MEAN.mean().sum(K) * (1 / K), NOISE.mean().sum(K)
    mean_step, noise_step = (-eta * K, U), (-eta, noise_sum)
    noise_of_clients = r.chain(r.clients(A, NOISE), r.square(noise))
    round_ = r.chain(
        r.descent(A, A.mean_model, -eta * K * U - eta * noise_sum),
        r.bilinear(g, mean_step, noise_step),
        r.unbiased(A, g, NOISE.mean()),
        r.polarization(g, U),
        r.young(w.noise, mean_step, noise_step),
        r.martingale(noise_of_clients, K),
    )
    without_step = r.weaken(round_, {sq(U): sp.S.Zero})
    summed = r.telescope(A, r.chain(without_step, mean_error(w)))
    return r.solve(summed, {sq(g).at(rounds="mean"): sp.S.One})


def difference() -> r.Fact:
    """Bound the root of the difference of a local model from the mean local model."""
    _, deviation, noise = steps()
    expected, noises = (MEAN - g).sum(k), NOISE.sum(k)
    return r.chain(
        r.minkowski((1, X.dev()), (-eta, expected.dev()), (-eta, noises.dev())),
        r.dev_of(expected),
        r.steps_max(MEAN - g, k),
        r.largest(deviation),
        r.dev_of(noises),
        r.take_root(r.martingale(r.square(noise), k)),
    )


def middle() -> r.Fact:
    """Bound the root of the distance of the mean local model from the mean model."""
    bias, _, noise = steps()
    size = r.chain(
        r.minkowski((1, error.mean()), (1, g)),
        r.mean_of(error),
        bias,
    )
    noise_of_clients = r.chain(r.clients(A, NOISE), r.square(noise))
    noise_of_mean = r.label(noise_of_clients, "V/m")
    return r.chain(
        r.minkowski((-eta, MEAN.mean().sum(k)), (-eta, NOISE.mean().sum(k))),
        r.steps_max(MEAN.mean(), k),
        r.largest(size),
        r.take_root(r.martingale(noise_of_mean, k)),
    )


def distance(of_difference: Sequence[Expr], of_middle: Sequence[Expr]) -> r.Fact:
    """Bound sq(offset) at step k."""
    most = root(offset).at(steps="max")
    terms = (root(X.dev()), most, one("Z"), one("V"))
    from_mean = r.square(difference(), dict(zip(terms, of_difference, strict=True)))
    terms = (root(g), most, one("sam"), one("V/m"))
    of_mean = r.square(middle(), dict(zip(terms, of_middle, strict=True)))
    return r.chain(split(offset), from_mean, of_mean)


def drift(w: Weights) -> r.Fact:
    """Bound the offsets by the disagreement, gradient, heterogeneity and noise."""
    most = sq(offset).at(steps="max")
    at_step = distance(w.difference_most, w.middle_most)
    at_last_step = {}
    for m, c in at_step.right.items():
        if m != sq(X.dev()):
            at_last_step[m] = c.subs(k, K - 1)
    at_last_step[most] = WEAK * (1 / w.difference_most[1] + 1 / w.middle_most[1])
    largest = r.solve(r.largest(r.weaken(at_step, at_last_step)))
    mean = r.average(distance(w.difference, w.middle), "k")
    # the mean of k^2 over the steps, (K - 1)(2K - 1)/6, at most K(K - 1)/3
    rounded_up = {}
    for m in (most, one("Z"), sq(g), one("sam")):
        rounded_up[m] = mean.right[m] * 2 * K / (2 * K - 1)
    return r.average(r.chain(r.weaken(mean, rounded_up), largest), "t")


def spread(w: Weights, start: r.Fact) -> r.Fact:
    """Bound the disagreement in the mean over the rounds."""
    _, _, noise = steps()
    tau, share = w.spread
    contraction = s.lam**s.Q
    of_error = tau * share * (1 - contraction)
    of_gradients = tau * (1 - share) * (1 - contraction)
    of_disagreement = 1 - tau * (1 - contraction)
    at_mean = X.dev() - (own - g) * (eta * K)
    errors, noises = error.dev(), NOISE.dev()
    known = at_mean - noises.sum(K) * eta
    diversity = r.label(r.diversity(A, A.mean_model), "Z")
    # sigma_g is at most sigma_g + L rho, the root of Z
    heterogeneity = r.square(r.weaken(diversity, {one("Z"): s.sigma_g + L * s.rho}))
    noise_of_clients = r.chain(r.square(r.dev_of(NOISE)), r.square(noise))
    rest = 1 - of_error
    sent = r.chain(
        r.young((rest, of_error), (1, known), (-eta, errors.sum(K))),
        with_noise(at_mean, noises),
        r.martingale(noise_of_clients, K),
        r.young(
            (of_disagreement / rest, of_gradients / rest),
            (1, X.dev()),
            (-eta * K, own - g),
        ),
        heterogeneity,
        r.square(r.steps_mean(errors)),
    )
    mixed = r.chain(r.square(r.gossip_steps(A)), sent)
    rounds = r.solve(r.chain(r.sum_rounds(mixed), r.square(start)))
    if one("start") not in rounds.right:
        return rounds
    # (1 + p)(1 - tau (1 - p))/(1 + p - tau) <= 2/(2 - tau), because p <= 1
    of_start = 2 * s.x0_spread / ((2 - tau) * s.T * (1 - contraction**2))
    return r.weaken(rounds, {one("start"): of_start})


def theorem(w: Weights, start: r.Fact) -> r.Fact:
    """Insert the facts above, and solve for the gradient."""
    offsets = r.chain(drift(w), spread(w, start))
    disagreeing = sq(error.dev()).at(steps="mean", rounds="mean")
    bound = r.weaken(r.chain(descent(w), offsets), {disagreeing: sp.S.Zero})
    return r.solve(bound)


def script(
    statement: Theorem,
    w: Weights,
    start: Callable[[AlgorithmRound], r.Fact],
    divisor: int,
) -> Script:
    """Return the proof of a version of a variant of Theorem 4.5.

    Its inequalities are shown in the quantities of the theorem's proof, that of the
    start by itself.
    """
    contraction = s.lam**s.Q
    ranges = (
        Range(a, eta * K * L, high=R(1, 8)),
        Range(q, eta * K * L * contraction / (1 - contraction), high=R(1, divisor)),
        Range(v, s.sigma_l + L * s.rho),
        Range(z, s.sigma_g + L * s.rho),
    )

    def prove(**weights: Sequence[Expr]) -> r.Fact:
        bound = theorem(Weights(**weights), start(A))
        if "initialization" not in statement.parts:
            return bound
        return r.weaken(bound, {one("start"): statement.parts["initialization"]})

    claim = f"{statement.key}:{statement.variant}"
    return Script(claim, prove, GRANTS, ranges, VALUES, weights=vars(w))


def smaller_consensus(name: Name) -> Missing:
    """Prove the version with 1 - lam^2 in the term consensus."""
    weights = CONSENSUS if name[1] == "corrected" else LESS_CONSENSUS
    statement = version(name)
    proof = script(statement, weights, r.common_start, 8)
    return [*check(statement, proof).missing]


def smaller_initialization(name: Name) -> Missing:
    """Prove the version with 1 - lam^2 in the term of the start."""
    statement = version(name)
    return [*check(statement, script(statement, ANY_START, r.any_start, 12)).missing]


KEY, MISTAKE = "dfedsam.theorem_4_5", "1 - lam^2 for 1 - lam"
PROOFS = {
    (KEY, "corrected", MISTAKE, "consensus"): smaller_consensus,
    (KEY, "corrected_less_consensus", MISTAKE, "consensus"): smaller_consensus,
    (KEY, "corrected_different_starts", MISTAKE, "initialization"): (
        smaller_initialization
    ),
}
"""Functions of the name of a version that return what is not proved of it."""

__all__ = ["PROOFS"]
