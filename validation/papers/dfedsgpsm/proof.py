"""Theorems A and B of DFedSGPSM and the minimal repair as scripts of the kernel.

Each call is a rule, the last fact a theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs import kernel as r
from dfltheory.proofs.moments import (
    SAMPLED,
    XBAR,
    Algorithm,
    E,
    G,
    Lag,
    N,
    X,
    count,
    k,
    lag,
    one,
    root,
    sq,
)
from dfltheory.proofs.script import Corollary, Range, Script
from validation.papers.dfedsgpsm import notation as stated
from validation.papers.dfedsgpsm.notation import (
    at,
    at_before,
    dbar,
    square_form,
    sum_c2,
    total_form,
)

L, K, eta, alpha = s.L, s.K, s.eta, s.alpha
ONCE = (1 - alpha**count) / (1 - alpha)
LATE = alpha ** (K - count + 1) * ONCE
PARTIAL = (
    count * (count - 1) / 2
    - (
        count * alpha ** (K - count + 1)
        - LATE
        + alpha * (count - ONCE - LATE + count * alpha**K)
    )
    / (1 - alpha)
) / (1 - alpha) ** 2
"""sum_{j<n} c_{K-j} at(j): what the steps before each of the first n move it by,
weighted.
"""
path = sp.Symbol("path", nonnegative=True)
MOMENTUM = Lag(
    (1 - alpha**lag) / (1 - alpha),
    total_form(count),
    square_form(count),
    at,
    at_before,
    sum_c2,
    path,
    PARTIAL,
)
A = Algorithm(
    "DFedSGPSM",
    X - SAMPLED.sum(k, MOMENTUM).pushed() * eta,
    X - SAMPLED.sum(K, MOMENTUM).pushed() * eta,
    XBAR,
)
own, g = A.grad(XBAR), A.full(XBAR)


Weights = Sequence[sp.Expr]


def gradients() -> r.Fact:
    """Return G, the root of the largest stochastic gradient of a round."""
    plain = r.pythagoras(A, G, N)
    both = r.label(r.chain(plain, r.square(r.bounded(A)), r.square(r.variance(A))), "B")
    sampled = r.chain(r.minkowski((1, G + N), (1, E)), r.take_root(both), r.sam(A, E))
    return r.largest(r.label(sampled, "G"))


def drift(upto: sp.Expr | None = None) -> r.Fact:
    """Bound root(y_k - x) by the largest stochastic gradient of the steps.

    They are the steps before step k, or ``upto`` steps.
    """
    moved = SAMPLED.sum(k, MOMENTUM)
    way = r.chain(r.minkowski((-eta, moved.pushed())), r.unweigh(moved))
    return r.chain(way, r.steps_max(SAMPLED, k, MOMENTUM, upto))


def consensus(windows: bool = False, size: sp.Symbol = s.x0_spread) -> r.Fact:
    """Bound root_w[mean t](x - xbar) where rounds, or windows of rounds, contract."""
    way = (
        r.minkowski((-eta, SAMPLED.sum(K, MOMENTUM))),
        r.steps_max(SAMPLED, K, MOMENTUM),
        gradients(),
    )
    if windows:
        apart = r.chain(r.push_windows(A), r.average(r.chain(*way), "t"))
    else:
        apart = r.convolution(r.chain(r.push(A), *way))
    return r.chain(r.label(apart, "consensus"), r.any_start(A, True, size))


def near(moved: r.Fact) -> r.Fact:
    """Bound root(g_k + e_k - grad f_i(xbar)).

    It is bounded by the way of the steps, the distance from xbar and SAM.
    """
    return r.chain(
        r.minkowski((1, G - own), (1, E)),
        r.lipschitz(A, A.local, XBAR),
        r.minkowski((1, A.local - X), (1, X - XBAR)),
        moved,
        r.weigh(X - XBAR),
        r.sam(A, E),
    )


def estimate() -> r.Fact:
    """Bound root(grad f(xbar) less the mean step's estimate of it).

    It is bounded by that of one local gradient.
    """
    moved = (G + E - own).mean()
    biased = r.chain(
        r.minkowski((-1 / at, moved.sum(K, MOMENTUM))),
        r.steps_max(moved, K, MOMENTUM),
        r.largest(r.mean_of(G + E - own)),
    )
    return r.average(biased, "t")


def descended(squared: r.Fact, noise: Weights) -> r.Fact:
    """Return the descent at the mean, with a bound of the estimate's square.

    It has the noise of m clients.
    """
    mean, sampled = (
        (G + E).mean().sum(K, MOMENTUM) * (1 / at),
        N.mean().sum(K, MOMENTUM),
    )
    round_ = r.chain(
        r.descent(A, XBAR, -eta * at * mean - eta * sampled),
        r.bilinear(g, (-eta * at, mean), (-eta, sampled)),
        r.unbiased(A, g, N.mean(), MOMENTUM),
        r.polarization(g, mean),
        r.young(noise, (-eta * at, mean), (-eta, sampled)),
        r.martingale(r.chain(r.clients(A, N), r.square(r.variance(A))), K, MOMENTUM),
    )
    summed = r.telescope(A, r.weaken(round_, {sq(mean): sp.S.Zero}))
    return r.solve(r.chain(summed, squared), {sq(g).at(rounds="mean"): sp.S.One})


def theorem_a(
    far: Weights, noise: Weights, windows: bool = False, size: sp.Symbol = s.x0_spread
) -> r.Fact:
    """Return Theorem A: the distances under bounded gradients, squared.

    They are the distances of the steps, the disagreement, the start and SAM.
    """
    shares = dict(
        zip(map(one, ("drift", "consensus", "start", "sam")), far, strict=True)
    )
    distance = r.chain(
        r.average(
            r.largest(near(r.label(r.chain(drift(K - 1), gradients()), "drift"))), "t"
        ),
        consensus(windows, size),
    )
    return descended(r.square(r.chain(estimate(), distance), shares), noise)


def long_steps(far: Weights) -> r.Fact:
    """Bound the gradient at xbar where the step is long.

    It is bounded by the gradients at the states, below G, and the disagreement.
    """
    shares = dict(zip(map(one, ("gradient", "consensus", "start")), far, strict=True))
    largest, radius = one("gradient"), sp.sqrt(s.B**2 + s.sigma_l**2)
    below = r.take_root(
        r.weaken(r.square(r.bounded(A, first=True)), {largest: radius**2})
    )
    size = r.chain(
        r.mean_of(own),
        r.minkowski((1, own - A.grad(X)), (1, A.grad(X))),
        r.weaken(below, {largest: radius + L * s.rho}),
        r.lipschitz(A, XBAR, X),
        r.minkowski((-1, X - XBAR)),
        r.weigh(X - XBAR),
    )
    return r.square(r.chain(r.average(size, "t"), consensus(size=s.x0_sq)), shares)


def theorem_a_sharper(noise: Weights) -> r.Fact:
    """Take the way of each step by its own length, and one square."""
    moved = G + E - own
    biased = r.chain(
        r.minkowski((-1 / at, moved.mean().sum(K, MOMENTUM))),
        r.mean_of(moved.sum(K, MOMENTUM)),
        r.steps_sum(near(drift()), MOMENTUM),
        gradients(),
    )
    return descended(
        r.square(r.label(r.chain(r.average(biased, "t"), consensus()), "together")),
        noise,
    )


def unbounded() -> r.Fact:
    """Bound the distances without bounded gradients.

    The drift is bounded by itself, the consensus by its own recursion.
    """
    moved = r.chain(
        r.minkowski((-eta, SAMPLED.sum(k, MOMENTUM).pushed())),
        r.unweigh(SAMPLED.sum(k, MOMENTUM)),
        r.steps_max(SAMPLED, k, MOMENTUM, K),
    )
    apart = r.chain(
        r.lipschitz(A, A.local, XBAR),
        r.minkowski((1, A.local - X), (1, X - XBAR)),
        r.weigh(X - XBAR),
    )
    parts = ((1, G - own), (1, own - g), (1, g), (1, N), (1, E))
    sampled = r.chain(
        r.minkowski(*parts), apart, r.diversity(A, XBAR), r.variance(A), r.sam(A, E)
    )
    size = r.solve(r.chain(r.largest(r.label(sampled, "size")), r.largest(moved)))
    pushed = r.chain(
        r.push(A),
        r.minkowski((-eta, SAMPLED.sum(K, MOMENTUM))),
        r.steps_max(SAMPLED, K, MOMENTUM),
        size,
    )
    consensus = r.label(r.convolution(pushed), "consensus")
    near = r.chain(r.minkowski((1, G - own), (1, E)), apart, moved, size, r.sam(A, E))
    return r.chain(
        r.average(r.largest(near), "t"), consensus, r.any_start(A, pushed=True)
    )


def theorem_b(far: Weights, noise: Weights) -> r.Fact:
    """Square the distances by chosen weights, and absorb what is left of the gradient.

    The distances are those of the gradient, SAM, the start, the samples and the
    disagreement.
    """
    root_g = root(g).at(rounds="mean")
    terms = (root_g, one("sam"), one("start"), one("size"), one("consensus"))
    squared = r.square(
        r.chain(estimate(), unbounded()), dict(zip(terms, far, strict=True))
    )
    return r.solve(descended(squared, noise))


GRANTS: dict[str, tuple[h.Hypothesis, ...]] = dict(
    zip(
        (*stated.CORRECTED_ASSUMPTIONS, stated.BOUNDED, stated.DIVERSITY),
        (
            (h.BELOW,),
            (h.KEPT, h.WEIGHTS, h.PUSHES),
            (h.SMOOTH, h.SAMPLE_SMOOTH),
            (h.UNBIASED, h.VARIANCE, h.INDEPENDENT),
            (h.BOUNDED,),
            (h.DIVERSITY,),
        ),
        strict=True,
    )
)
GRANTS[stated.WINDOWS] = (h.KEPT, h.WEIGHTS, h.WINDOWED)
a = sp.Symbol("a", positive=True)
RANGES = (Range(a, eta * L * at, high=sp.Rational(1, 2)),)
c, d, x = (
    sp.Symbol("c", positive=True),
    sp.Symbol("d", positive=True),
    sp.Symbol("x", nonnegative=True),
)
B_RANGES = (
    Range(x, s.q / (1 - s.q)),
    Range(d, sp.sqrt(s.delta), high=sp.S.One),
    Range(c, eta * L * at / (s.delta * (1 - s.q)), high=sp.Rational(1, 24)),
)
B_VALUES = {s.q: x / (1 + x), s.delta: d**2, eta: c * d**2 / (1 + x) / (L * at)}
HALVES = (sp.Rational(1, 2), sp.Rational(1, 2))
A_FAR = tuple(sp.Rational(n, 6) for n in (2, 1, 1, 2))
B_FAR = tuple(sp.Rational(n, 10000) for n in (453, 3178, 3178, 1600, 1591))
SCRIPTS = (
    *(
        Script(
            f"dfedsgpsm.theorem_1:{variant}",
            prove,
            GRANTS,
            RANGES,
            {eta: a / (L * at)},
            (MOMENTUM,),
            weights={"far": A_FAR, "noise": HALVES},
        )
        for variant, prove in (
            ("corrected", theorem_a),
            ("corrected_windows", partial(theorem_a, windows=True)),
        )
    ),
    Script(
        "dfedsgpsm.theorem_1:corrected_sharper",
        theorem_a_sharper,
        GRANTS,
        RANGES,
        {eta: a / (L * at)},
        (MOMENTUM,),
        {dbar: path / at},
        weights={"noise": HALVES},
    ),
    Script(
        "dfedsgpsm.theorem_1:corrected_no_bounded_gradients",
        theorem_b,
        GRANTS,
        B_RANGES,
        B_VALUES,
        (MOMENTUM,),
        weights={"far": B_FAR, "noise": HALVES},
    ),
    Script(
        "dfedsgpsm.theorem_1:corrected_any_step",
        partial(theorem_a, size=s.x0_sq),
        GRANTS,
        RANGES,
        {eta: a / (L * at)},
        (MOMENTUM,),
        weights={"far": A_FAR, "noise": HALVES},
        case=Condition("eta L at <= 1/2", 2 * eta * L * at, sp.Integer(1)),
        otherwise=Script(
            "dfedsgpsm.theorem_1:corrected_any_step",
            long_steps,
            GRANTS,
            lags=(MOMENTUM,),
            weights={"far": tuple(sp.Rational(n, 6) for n in (4, 1, 1))},
        ),
    ),
    *(
        Corollary(f"dfedsgpsm.corollary_1:{variant}", f"dfedsgpsm.theorem_1:{variant}")
        for variant in ("corrected", "corrected_windows")
    ),
)
