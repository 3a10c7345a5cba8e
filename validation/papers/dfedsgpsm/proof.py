"""The corrected variants of DFedSGPSM's theorem 1 as scripts of the kernel.

The functions return facts. The last fact of a script implies its variant: with bounded
gradients ``theorem_a`` or, sharper, ``theorem_a_sharper``, and without ``theorem_b``.
The variant ``corrected_any_step`` is ``theorem_a`` where eta L at <= 1/2, and
``long_steps`` where this fails; the kernel does not show the last inequality of its
first case, which needs sum_c2 <= at^2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs import kernel as r
from dfltheory.proofs.moments import (
    SAMPLED,
    XBAR,
    AlgorithmRound,
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

# the weights c(l) of the momentum steps: at(n) is the sum of n of them, at that of K
# and at_before that of K - 1; sum_c2 is the sum of the squares of K
L, K, eta, alpha = s.L, s.K, s.eta, s.alpha
SUM_OF_POWERS = (1 - alpha**count) / (1 - alpha)
# only the sharper variant needs these; Lag proves the value of PARTIAL by induction.
# With n = count, BY_WEIGHTS/(1 - alpha) is sum_{j<n} j alpha^(K-j), which is lost as
# the weights are less than 1/(1 - alpha), and BY_TOTALS/(1 - alpha), which is lost as
# at(j) is less than j/(1 - alpha), is alpha sum_{j<n} (1 - alpha^(K-j)) (1 -
# alpha^j)/(1 - alpha)
LATE = alpha ** (K - count + 1) * SUM_OF_POWERS
BY_WEIGHTS = count * alpha ** (K - count + 1) - LATE
BY_TOTALS = alpha * (count - SUM_OF_POWERS - LATE + count * alpha**K)
WITHOUT_MOMENTUM = count * (count - 1) / 2
DECREASE = (BY_WEIGHTS + BY_TOTALS) / (1 - alpha)
PARTIAL = (WITHOUT_MOMENTUM - DECREASE) / (1 - alpha) ** 2
"""sum_{j<n} c_{K-j} at(j): the weight of all steps before each of the first n steps,
summed with the weights of these.
"""
path = sp.Symbol("path", nonnegative=True)
"""The sum of at(k) with the weights of the steps k < K.

The theorem's dbar is path/at.
"""
MOMENTUM = Lag(
    weight=(1 - alpha**lag) / (1 - alpha),
    total=total_form(count),
    squares=square_form(count),
    at=at,
    before=at_before,
    squared=sum_c2,
    path=path,
    partial=PARTIAL,
)
A = AlgorithmRound(
    "DFedSGPSM",
    local=X - SAMPLED.sum(k, MOMENTUM).pushed() * eta,
    sent=X - SAMPLED.sum(K, MOMENTUM).pushed() * eta,
    mean_model=XBAR,
)
own, g = A.grad(XBAR), A.full(XBAR)
"""The clients' gradients at the weighted mean model, grad f_i(xbar), and their mean."""
biased = G + E
"""The gradient of a local step, with what SAM adds, without the noise."""
Weights = Sequence[sp.Expr]


def gradients() -> r.Fact:
    """Bound the largest root(g_k + n_k + e_k) by the theorem's constant G.

    It is L rho + sqrt(B^2 + sigma_l^2); the vector G of the script is g_k.
    """
    plain = r.pythagoras(A, G, N)
    square = r.chain(plain, r.square(r.bounded(A)), r.square(r.variance(A)))
    # one constant "B", whose root is sqrt(B^2 + sigma_l^2), not B + sigma_l
    plain_root = r.take_root(r.label(square, "B"))
    sampled = r.chain(r.minkowski((1, G + N), (1, E)), plain_root, r.sam(A, E))
    return r.largest(r.label(sampled, "G"))


def drift(upto: sp.Expr | None = None) -> r.Fact:
    """Bound root(y_k - x) by the largest stochastic gradient of the steps.

    y_k is the local model of step k, and x the start of the round. The factor is
    eta/delta times the sum of the weights of the k steps before step k, or of ``upto``
    steps, which are not fewer.
    """
    moved = SAMPLED.sum(k, MOMENTUM)
    change = r.chain(r.minkowski((-eta, moved.pushed())), r.unweigh(moved))
    return r.chain(change, r.steps_max(SAMPLED, k, MOMENTUM, upto))


def consensus(windows: bool = False, size: sp.Symbol = s.x0_spread) -> r.Fact:
    """Bound root_w[mean t](x - xbar) where rounds, or windows of rounds, contract."""
    bounds_of_move = (
        r.minkowski((-eta, SAMPLED.sum(K, MOMENTUM))),
        r.steps_max(SAMPLED, K, MOMENTUM),
        gradients(),
    )
    if windows:
        moves = r.average(r.chain(*bounds_of_move), "t")
        disagreement = r.chain(r.push_windows(A), moves)
    else:
        disagreement = r.convolution(r.chain(r.push(A), *bounds_of_move))
    start = r.any_start(A, pushed=True, size=size)
    return r.chain(r.label(disagreement, "consensus"), start)


def near(moved: r.Fact) -> r.Fact:
    """Bound root(g_k + e_k - grad f_i(xbar)) by the distance of y_k from xbar and SAM.

    ``moved`` bounds root(y_k - x), how far the local model of step k has moved.
    """
    from_xbar = X - XBAR
    return r.chain(
        r.minkowski((1, G - own), (1, E)),
        r.lipschitz(A, A.local, XBAR),
        r.minkowski((1, A.local - X), (1, from_xbar)),
        moved,
        r.weigh(from_xbar),
        r.sam(A, E),
    )


def estimate() -> r.Fact:
    """Bound root[mean t](grad f(xbar) - M) by the largest error of a local gradient.

    M = (1/at) sum_j c(K - j) mean(g_j + e_j) is the estimate of grad f(xbar): the mean
    step without noise, divided by -(eta at). The error of step k is root(g_k + e_k -
    grad f_i(xbar)).
    """
    bias = biased - own
    error = r.chain(
        # grad f(xbar) less its estimate, because the weights sum to at
        r.minkowski((-1 / at, bias.mean().sum(K, MOMENTUM))),
        r.steps_max(bias.mean(), K, MOMENTUM),
        r.largest(r.mean_of(bias)),
    )
    return r.average(error, "t")


def descended(squared: r.Fact, noise: Weights) -> r.Fact:
    """Sum the descent at xbar over the rounds, and solve for sq[mean t](grad f(xbar)).

    ``squared`` bounds the square of grad f(xbar) less its estimate M (see
    :func:`estimate`). The square of M itself is dropped: with equal weights ``noise``
    of the mean step and its noise, its factor is L (eta at)^2 - (eta at)/2, which is at
    most 0 where eta L at <= 1/2.
    """
    mean = biased.mean().sum(K, MOMENTUM) * (1 / at)
    mean_step, noise_step = (-eta * at, mean), (-eta, N.mean().sum(K, MOMENTUM))
    noise_of_clients = r.chain(r.clients(A, N), r.square(r.variance(A)))
    round_ = r.chain(
        r.descent(A, XBAR, -eta * at * mean - eta * N.mean().sum(K, MOMENTUM)),
        r.bilinear(g, mean_step, noise_step),
        r.unbiased(A, g, N.mean(), MOMENTUM),
        r.polarization(g, mean),
        r.young(noise, mean_step, noise_step),
        r.martingale(noise_of_clients, K, MOMENTUM),
    )
    summed = r.telescope(A, r.weaken(round_, {sq(mean): sp.S.Zero}))
    return r.solve(r.chain(summed, squared), {sq(g).at(rounds="mean"): sp.S.One})


def theorem_a(
    far: Weights, noise: Weights, windows: bool = False, size: sp.Symbol = s.x0_spread
) -> r.Fact:
    """Return the theorem with bounded gradients.

    The error of the estimate of grad f(xbar) is squared with the weights ``far`` of its
    terms: the drift of the local steps, the consensus, the start and SAM. ``size`` is
    the square of the disagreement at the start, or what is at least as large.
    """
    terms = map(one, ("drift", "consensus", "start", "sam"))
    steps = r.label(r.chain(drift(K - 1), gradients()), "drift")
    bias = r.average(r.largest(near(steps)), "t")
    distance = r.chain(bias, consensus(windows, size))
    error = r.chain(estimate(), distance)
    return descended(r.square(error, dict(zip(terms, far, strict=True))), noise)


def long_steps(far: Weights) -> r.Fact:
    """Bound sq[mean t](grad f(xbar)) where eta L at > 1/2, without any descent.

    It is bounded by G and the consensus.
    """
    terms = map(one, ("gradient", "consensus", "start"))
    gradient, radius = one("gradient"), sp.sqrt(s.B**2 + s.sigma_l**2)
    at_states, from_xbar = A.grad(X), X - XBAR
    square_at_states = r.weaken(
        r.square(r.bounded(A, first=True)), {gradient: radius**2}
    )
    # B <= sqrt(B^2 + sigma_l^2) <= G, the constant of the theorem
    gradients_at_states = r.weaken(
        r.take_root(square_at_states), {gradient: radius + L * s.rho}
    )
    size = r.chain(
        r.mean_of(own),
        r.minkowski((1, own - at_states), (1, at_states)),
        gradients_at_states,
        r.lipschitz(A, XBAR, X),
        r.minkowski((-1, from_xbar)),
        r.weigh(from_xbar),
    )
    over_rounds = r.chain(r.average(size, "t"), consensus(size=s.x0_sq))
    return r.square(over_rounds, dict(zip(terms, far, strict=True)))


def theorem_a_sharper(noise: Weights) -> r.Fact:
    """Bound each step's drift by the steps before it; square the sum as one term."""
    bias = biased - own
    error = r.chain(
        # grad f(xbar) less its estimate, because the weights sum to at
        r.minkowski((-1 / at, bias.mean().sum(K, MOMENTUM))),
        r.mean_of(bias.sum(K, MOMENTUM)),
        r.steps_sum(near(drift()), MOMENTUM),
        gradients(),
    )
    over_rounds = r.chain(r.average(error, "t"), consensus())
    return descended(r.square(r.label(over_rounds, "together")), noise)


def unbounded() -> r.Fact:
    """Bound root[max k, mean t](g_k + e_k - grad f_i(xbar)) without bounded gradients.

    The largest stochastic gradient bounds the drift, and the drift the largest
    stochastic gradient; this is solved for the latter (``size``).
    """
    steps, from_xbar = SAMPLED.sum(k, MOMENTUM), X - XBAR
    moved = r.chain(
        r.minkowski((-eta, steps.pushed())),
        r.unweigh(steps),
        r.steps_max(SAMPLED, k, MOMENTUM, K),
    )
    apart = r.chain(
        r.lipschitz(A, A.local, XBAR),
        r.minkowski((1, A.local - X), (1, from_xbar)),
        r.weigh(from_xbar),
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
    bias = r.chain(r.minkowski((1, G - own), (1, E)), apart, moved, size, r.sam(A, E))
    over_rounds = r.average(r.largest(bias), "t")
    return r.chain(over_rounds, consensus, r.any_start(A, pushed=True))


def theorem_b(far: Weights, noise: Weights) -> r.Fact:
    """Return the theorem without bounded gradients.

    The error of the estimate of grad f(xbar) is squared with the weights ``far`` of its
    terms: the gradient, SAM, the start, the stochastic gradients and the consensus.
    """
    constants = map(one, ("sam", "start", "size", "consensus"))
    terms = (root(g).at(rounds="mean"), *constants)
    error = r.chain(estimate(), unbounded())
    squared = r.square(error, dict(zip(terms, far, strict=True)))
    return descended(squared, noise)


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
# a is eta L at; below, 1 - q = 1/(1 + x) and d = sqrt(delta)
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
LONG_FAR = tuple(sp.Rational(n, 6) for n in (4, 1, 1))
THEOREM, COROLLARY = "dfedsgpsm.theorem_1", "dfedsgpsm.corollary_1"


def short_steps(
    variant: str, prove: Callable[..., r.Fact], weights: Mapping[str, Weights]
) -> Script:
    """Return the proof of a variant in a = eta L at <= 1/2."""
    return Script(
        f"{THEOREM}:{variant}",
        prove,
        GRANTS,
        ranges=RANGES,
        values={eta: a / (L * at)},
        lags=(MOMENTUM,),
        weights=weights,
    )


A_WEIGHTS = {"far": A_FAR, "noise": HALVES}
LONG_STEPS = Script(
    f"{THEOREM}:corrected_any_step",
    long_steps,
    GRANTS,
    lags=(MOMENTUM,),
    weights={"far": LONG_FAR},
)
ANY_STEP = replace(
    short_steps(
        "corrected_any_step", partial(theorem_a, size=s.x0_sq), weights=A_WEIGHTS
    ),
    case=Condition("eta L at <= 1/2", 2 * eta * L * at, sp.Integer(1)),
    otherwise=LONG_STEPS,
)
SHARPER = replace(
    short_steps("corrected_sharper", theorem_a_sharper, weights={"noise": HALVES}),
    names={dbar: path / at},
)
UNBOUNDED = Script(
    f"{THEOREM}:corrected_no_bounded_gradients",
    theorem_b,
    GRANTS,
    ranges=B_RANGES,
    values=B_VALUES,
    lags=(MOMENTUM,),
    weights={"far": B_FAR, "noise": HALVES},
)
SCRIPTS = (
    short_steps("corrected", theorem_a, A_WEIGHTS),
    short_steps("corrected_windows", partial(theorem_a, windows=True), A_WEIGHTS),
    SHARPER,
    UNBOUNDED,
    ANY_STEP,
    Corollary(f"{COROLLARY}:corrected", f"{THEOREM}:corrected"),
    Corollary(f"{COROLLARY}:corrected_windows", f"{THEOREM}:corrected_windows"),
)
