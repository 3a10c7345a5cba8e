"""Rules of gradients and samples: smoothness, the assumptions, martingales."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.facts import Fact, rule, single_moment
from dfltheory.proofs.moments import (
    BLOCKS,
    EHAT,
    PLAIN,
    SAMPLED,
    AlgorithmRound,
    Conclusion,
    E,
    G,
    Lag,
    N,
    Vec,
    X,
    combination,
    equality,
    form,
    inner,
    k,
    need,
    one,
    root,
    sq,
    upper_bound,
    value,
)

_NESTEROV = "Nesterov, Lectures on Convex Optimization, 2nd ed., 1.2"


@rule(f"Lipschitz gradients: {_NESTEROV}", h.SMOOTH)
def lipschitz(
    alg: AlgorithmRound, u: Vec, v: Vec, block: str | None = None
) -> Conclusion:
    """Bound a difference of gradients by that of their points.

    root(grad f_i(U_i) - grad f_i(V_i)) <= L root(U - V); of blocks b and c: L_b for c =
    b, else chi sqrt(L_b L_c), for the part of the gradients in b and points that differ
    in c.
    """
    difference = alg.grad(u, block) - alg.grad(v, block)
    distance = u - v
    L_of_gradient, L_of_points = BLOCKS[difference.block].L, BLOCKS[distance.block].L
    if L_of_gradient == L_of_points:
        smoothness = L_of_gradient
    else:
        smoothness = s.chi * sp.sqrt(L_of_gradient * L_of_points)
    return upper_bound(root(difference), {root(distance): smoothness})


@rule(f"the descent lemma: {_NESTEROV}, Lemma 1.2.3", h.SMOOTH)
def descent(alg: AlgorithmRound, u: Vec, d: Vec) -> Conclusion:
    """Bound the change of f along a step.

    value(U + D) - value(U) <= <grad f_i(U_i), D> + (L/2) sq(D); for D in a block b of
    two, with the part of grad f_i in b and with L_b.
    Where all clients share D, the mean of grad f_i(U_i) over the clients stands for
    grad f_i(U_i): grad f(u) at a common u.
    """
    need(d.terms, "the step of the descent must not be 0")
    gradient = alg.grad(u, d.block)
    if d.common:
        gradient = gradient.mean()
    L = BLOCKS[d.block].L
    change = combination((1, value(u + d)), (-1, value(u)))
    return Conclusion(change, {inner(gradient, d): sp.S.One, sq(d): L / 2})


@rule("the assumption itself", h.DIVERSITY)
def diversity(alg: AlgorithmRound, u: Vec) -> Conclusion:
    """Bound the distance of the clients' gradients from their mean.

    root(grad f_i(u) - grad f(u)) <= sigma_g at a common u; of two blocks delta_u, for
    the shared part of the gradients at the mean of the shared parts and the personal
    parts of the next round, (ubar, V^{t+1}).
    """
    need(
        alg.kept is None or u == X.within("u").mean() + alg.kept,
        "bounded diversity of the gradients is not assumed at the point {}",
        u,
    )
    distance = root(alg.grad(u) - alg.full(u))
    return upper_bound(distance, {one("diversity"): BLOCKS[alg.shared].diversity})


@rule("the assumption itself", h.BOUNDED)
def bounded(alg: AlgorithmRound, first: bool = False) -> Conclusion:
    """Bound the gradients along the run.

    root(g_k) <= B: the gradients grad f_i, without noise, at the clients' local models;
    ``first``: root(grad f_i(x_i)) <= B at the models at the start of a round, if the
    local model is x plus sums over steps.
    """
    need(
        not first or alg.first == X,
        "without its sums over steps, the local model is {}, not x",
        alg.first,
    )
    gradients = alg.grad(X) if first else G
    return upper_bound(root(gradients), {one("gradient"): s.B})


@rule("the assumption itself", h.MOMENT)
def second_moment(alg: AlgorithmRound) -> Conclusion:
    """Bound the stochastic gradients along the run.

    root(g_k + n_k + e_k) <= sqrt(S2): the stochastic gradients.
    """
    return upper_bound(root(SAMPLED), {one("moment"): sp.sqrt(s.S2)})


@rule(
    "the assumption itself; given the past, the point is fixed: Williams, Probability"
    " with Martingales, 9.7",
    h.VARIANCE,
)
def variance(alg: AlgorithmRound, part: Vec = N) -> Conclusion:
    """Bound the noise of a sample.

    root(n_k) <= sigma_l; of blocks sigma_v and sigma_u. The sample of step k is fresh,
    so that its variance is bounded at the random point of step k.
    """
    need(part == N.within(part.block), "{} is not the noise of a sample", part)
    return upper_bound(root(part), {one("noise"): BLOCKS[part.block].noise})


@rule(
    "||grad F_i(y + d; xi) - grad F_i(y; xi)|| <= L ||d||, ||d|| <= rho, on one"
    " minibatch; conditional means contract L^2: Williams, Probability with"
    " Martingales, 9.7",
    h.SAMPLE_SMOOTH,
)
def sam(alg: AlgorithmRound, part: Vec) -> Conclusion:
    """Bound what the second gradient of SAM adds.

    root(U) <= L rho for U = e_k (what SAM's second gradient adds), its conditional mean
    e^_k given the past, and e_k - e^_k; of two blocks only in the shared part.
    """
    parts_of_sam = [vec.within(alg.shared) for vec in (E, EHAT, E - EHAT)]
    need(
        part in parts_of_sam,
        "{} is not what SAM adds, its conditional mean, or their difference",
        part,
    )
    return upper_bound(root(part), {one("sam"): BLOCKS[alg.shared].L * s.rho})


_WILLIAMS = (
    "martingale differences are orthogonal: Williams, Probability with Martingales,"
    " 12.1"
)


@rule(_WILLIAMS, h.UNBIASED)
def pythagoras(alg: AlgorithmRound, u: Vec, v: Vec) -> Conclusion:
    """Add the squares of noise and of what is known before it.

    sq(U + V) = sq(U) + sq(V) for the noise V of step k and a U that is known before its
    sample.
    """
    need(v.noise, "{} is not the noise of one local step", v)
    need(u.known(k, v.block), "{} is not known before the sample of step k is drawn", u)
    return equality(sq(u + v), combination((1, sq(u)), (1, sq(v))))


@rule(_WILLIAMS, h.UNBIASED)
def unbiased(alg: AlgorithmRound, u: Vec, v: Vec, weights: Lag = PLAIN) -> Conclusion:
    """Show that noise is orthogonal to what is known before it.

    <U, sum_{j<K} c(K-j) V_j> = 0 for the noises V_j of a phase's steps and a U known
    when it starts.
    """
    need(v.noise, "{} is not the noise of one local step", v)
    need(
        u.known(None, v.block), "{} is not known at the start of the round or phase", u
    )
    return equality(inner(u, v.sum(v.count, weights)), {})


@rule(_WILLIAMS, h.UNBIASED)
def martingale(bound: Fact, n: Expr, weights: Lag = PLAIN) -> Conclusion:
    """Bound the square of a weighted sum of noises.

    sq(sum_{j<n} c(n-j) V_j) <= (sum of the squared weights) v, n = k or K, for noises
    with sq(V_j) <= v at every step, v a constant. The weights may have any sign.
    """
    v = _bounded_noise(bound)
    right = form((bound.right, weights.square_sum(n)))
    return upper_bound(sq(v.sum(n, weights)), right)


@rule(_WILLIAMS, h.UNBIASED)
def largest_martingale(bound: Fact, weights: Lag = PLAIN) -> Conclusion:
    """Bound the square of the weighted sum of the noises before any step.

    sq[max k](sum_{j<k} c(k-j) V_j) <= (sum of the squares of K - 1 weights) v for
    noises with sq(V_j) <= v at every step, v a constant, because k <= K - 1. The
    weights may have any sign.
    """
    v = _bounded_noise(bound)
    right = form((bound.right, weights.square_sum(v.count - 1)))
    return upper_bound(sq(v.sum(k, weights)).at(steps="max"), right)


def _bounded_noise(bound: Fact) -> Vec:
    """Return the noise of which a fact bounds the square by constants."""
    v = single_moment(bound, "sq").vec
    need(
        set(bound.left) == {sq(v)},
        "the left-hand side must be sq(V) in this round, without a mean: {}",
        bound,
    )
    need(v.noise, "{} is not the noise of one local step", v)
    for m, c in bound.right.items():
        need(
            m.kind == "one" and k not in c.free_symbols,
            "the bound of the noise must be a constant, the same at every step",
        )
    return v


@rule(
    "the variance of a mean of m independent variables: Williams, Probability with"
    " Martingales, 7.3",
    h.UNBIASED,
    h.INDEPENDENT,
)
def clients(alg: AlgorithmRound, v: Vec) -> Conclusion:
    """Give the square of a mean of independent noises.

    sq(mean V) = sq(V)/m for the noise V of one step: given the past, the clients'
    noises are independent and have mean zero.
    """
    need(v.noise, "{} is not the noise of one local step", v)
    need(
        not any(a.mean for a, _ in v.terms), "the noise is a mean over clients already"
    )
    return equality(sq(v.mean()), {sq(v): 1 / s.m})


__all__ = [
    "bounded",
    "clients",
    "descent",
    "diversity",
    "largest_martingale",
    "lipschitz",
    "martingale",
    "pythagoras",
    "sam",
    "second_moment",
    "unbiased",
    "variance",
]
