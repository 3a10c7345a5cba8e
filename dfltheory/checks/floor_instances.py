"""Instances on which the left side of a theorem is known from below: floors.

A floor is a lower bound of the left-hand side. Each formula contains only sums,
products, quotients and whole powers, so that it can be evaluated in fractions as well
as in floats. ``tests/bounds/test_floors.py`` simulates every instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dfltheory.checks.effective_steps import (
    DUAL,
    LASTING_MOMENTUM,
    MOMENTUM,
    PLAIN_STEPS,
    SAM,
    SPANS,
    FamilyConstants,
    is_local_descent,
    is_travel_exact,
    travel,
)

Constants = dict[str, np.ndarray]


@dataclass(frozen=True)
class FloorInstance:
    """A family of problems with its constants and a lower bound of the left side.

    Attributes
    ----------
    name : name of the floor
    words : the problem in words
    algorithms : class names to which the derivation applies
    measures : measures of which ``value`` is a lower bound
    aggregates : aggregates over rounds for which it is
    gossip : does the network have a given lambda? Otherwise it averages exactly
    constants : returns all constants of the problem by glossary name, for a measure
    value : returns a lower bound of the aggregated left side, for a measure
    everywhere : does it hold for every network and every variant of the algorithms?
    mechanism : quantities of which a statement must contain at least one, if any
    halves : do the clients form two halves, so that m is even?
    """

    name: str
    words: str
    algorithms: tuple[str, ...]
    measures: tuple[str, ...]
    aggregates: tuple[str, ...]
    gossip: bool
    constants: Callable[[FamilyConstants, str], Constants]
    value: Callable[[FamilyConstants, str], np.ndarray]
    everywhere: bool = False
    mechanism: tuple[str, ...] = ()
    halves: bool = False


_NOTHING = (
    *("sigma_l", "sigma_g", "beta", "rho", "rho0", "x0_spread", "x0_sq", "mu"),
    *("mu_each", "sigma_star", "Gamma", "f0_gap", "x_star_sq", "lam", "q"),
)
"""Constants that are 0 in an instance unless it sets them."""
_ONE = ("Q", "delta", "C", "window")
"""Constants that are 1 in an instance unless it sets them."""
_GIVEN = ("L", "m", "T", "K", "eta", "alpha", "lam_admm")


def _without(at: FamilyConstants) -> Constants:
    """Return the constants with all that may be absent set to 0, the rest as given.

    Averaging is exact, so that the push-sum weights are 1 and C = 1.
    """
    known = dict.fromkeys(_NOTHING, 0 * at.L)
    known |= dict.fromkeys(_ONE, 1 + 0 * at.L)
    given = at.arrays()
    return {**known, **{name: given[name] for name in _GIVEN}}


# -- averaged noise


def noise_constants(at: FamilyConstants, measure: str) -> Constants:
    """Constants of :func:`noise_floor`; W averages exactly."""
    known = {**_without(at), "sigma_l": at.size, "B": at.size}
    known |= dict.fromkeys(("mu", "mu_each"), at.L)
    return {**known, "S2": 2 * at.size**2}


def _impulse_response(at: FamilyConstants) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two sums of the response of local steps to one gradient, and a test of it.

    The steps are y' = y - eta v', v' = alpha v + L y on the parabola, and h_n is what a
    gradient 1 has moved y by, over -eta, after n further steps. Returned are the sums
    of h_n and of h_n^2 over n < K, and whether every h_n >= 0 and eta L times the first
    sum is at most 1.
    """
    drift, alpha, steps = at.eta * at.L, at.alpha, at.steps
    moved = speed = 1 + 0 * drift
    total = square = 0 * drift
    positive = drift > 0
    for n in range(int(np.max(np.asarray(steps, dtype=float)))):
        inside = steps > n
        total = total + inside * moved
        square = square + inside * moved**2
        positive = positive & ((moved >= 0) | (steps <= n))
        speed = alpha * speed - drift * moved
        moved = moved + speed
    return total, square, positive & (drift * total <= 1)


def noise_floor(at: FamilyConstants, measure: str) -> np.ndarray:
    """Return the floor of averaged gradient noise.

    f_i(x) = L x^2/2, and stochastic gradients are L x + xi with independent xi = sigma
    or -sigma with probability 1/2 each.

    A round is linear in the start y and in the noise: with h_n from
    ``_impulse_response``, H the sum of h_n over n < K and a = 1 - eta L H, the mean
    model obeys y' = a y - eta times the sum of h_(K-1-k) mean(xi_k), for every network
    that keeps the mean. For alpha = 0 h_n = (1 - eta L)^n. From 0 its variance is v (1
    - a^(2 t)) after t rounds, v = eta^2 (sigma^2/m) (sum of h_n^2)/(1 - a^2). The
    gradient is L y, f - f* = L y^2/2. Since r^t <= 1/(1 + t (1 - r)) and the powers of
    r = a^2 sum up to at most 1/(1 - r), the mean over N rounds is at least v (1 - 1/(N
    (1 - r))), and the value of round t at least v (1 - 1/(1 + t (1 - r))).

    If every h_n >= 0 and eta L H <= 1, a local model moves towards the noise over L by
    a share of the way, and stays in abs(x) <= sigma/L. So the gradients are bounded by
    B = sigma there, f may be linear beyond, and S^2 = 2 sigma^2 bounds the second
    moments. Without strong convexity the floor is the same.
    """
    total, square, bounded = _impulse_response(at)
    scale = {"f_gap": at.L / 2, "dist_sq": 1}.get(measure, at.L**2)
    drift = at.eta * at.L * total
    gap = drift * (2 - drift)  # 1 - a^2
    limit = (at.eta * at.size) ** 2 * square / (at.m * gap)
    if at.aggregate == "mean":
        share = 1 - 1 / ((at.last - at.first + 1) * gap)
    else:
        share = 1 - 1 / (1 + at.last * gap)
    return scale * limit * share * (bounded & is_local_descent(at))


# -- the way to the minimum


def descent_constants(at: FamilyConstants, measure: str) -> Constants:
    """Constants of :func:`descent_floor`."""
    known = _without(at)
    way = travel(at) * at.last
    if measure == "f_gap":
        start = at.size
        slope = at.L * start / (2 * way * at.L + 1)
    else:
        slope = at.size
        start = slope / at.L + way * slope
    known["f0_gap"] = slope * start - slope**2 / (2 * at.L)
    known["x_star_sq"] = start**2
    return {**known, "B": slope, "S2": slope**2}


def descent_floor(at: FamilyConstants, measure: str) -> np.ndarray:
    """Return the floor of the way to the minimum.

    f_i = f, f(x) = L x^2/2 for abs(x) <= g/L, else g abs(x) - g^2/(2 L), and gradients
    are exact: all clients make the same step.

    As long as abs(x) >= g/L, a round moves by at most s g, with the effective step s of
    ``travel`` (s = eta K for gradient descent). After t rounds from x_0 = g/L + s g t
    the gradient still is g, with f(x_0) - f* = g x_0 - g^2/(2 L). From x_0 = R with
    g = L R/(2 t s L + 1) (Drori and Teboulle 2014) the model after t rounds is at
    least x_0 - t s g >= g/L, and f - f* = L R^2/(2 (2 t s L + 1)) there; f falls along
    the way. Where the origin enters, it is x_0.
    """
    way = travel(at) * at.last
    if measure == "f_gap":
        floor = at.L * at.size**2 / (2 * (2 * way * at.L + 1))
    else:
        floor = at.size**2
    return floor * is_travel_exact(at)


# -- a late slope


def late_constants(at: FamilyConstants, measure: str) -> Constants:
    """Constants of :func:`late_floor`."""
    known = {**_without(at), "f0_gap": at.size**2 / at.L, "B": at.size}
    del known["mu"], known["mu_each"]
    return {**known, "S2": at.size**2}


def late_floor(at: FamilyConstants, measure: str) -> np.ndarray:
    """Return the floor of a slope that is reached late.

    f_i = f and gradients are exact: f(x) = -L x^2/2 for 0 <= x <= X = g/L, then slope
    -g on a part of length L x_0^2/(2 g), then f' = -L (y - x) down to its zero y; f = 0
    for x < 0.

    Each step multiplies x by 1 + eta L, so that from x_0 = X (1 + eta L)^(-N) the
    gradient after N steps is -g. With momentum the models grow as well, in proportion
    to x_0, and some x_0 leads to X. From x = X on f falls by L x_0^2/2 + g^2/(2 L), so
    that f(x_0) - inf f = g^2/L. Only the last round is bounded.
    """
    return at.size**2


# -- opposing gradients


def _radius(at: FamilyConstants) -> np.ndarray:
    """Return rho of :func:`consensus_floor`."""
    local = travel(at)
    drift = local * at.L
    spread = at.lam * (1 - at.lam**at.n) / (1 - at.lam)
    slowed = 1 + drift * at.n + drift**2 * at.n * spread
    return local * spread * at.size / slowed


def consensus_constants(at: FamilyConstants, measure: str) -> Constants:
    """Constants of :func:`consensus_floor`."""
    radius = _radius(at)
    known = {**_without(at), "sigma_g": at.size, "lam": at.lam, "q": at.lam}
    known["f0_gap"] = at.L * radius**2 / 2
    known["B"] = known["beta"] = at.size + at.L * radius
    known["S2"] = known["B"] ** 2
    for name in ("mu", "mu_each", "C"):
        del known[name]
    return known


def consensus_floor(at: FamilyConstants, measure: str) -> np.ndarray:
    """Return the floor of opposing gradients.

    Half of the clients have f_i(x) = h(x) - b x, half h(x) + b x, h'(x) =
    L max(rho - abs(x), 0), with exact gradients and the common start 0. W averages in
    both halves, and has one more eigenvalue lambda.

    sigma_g = b, f(0) - inf f = L rho^2/2. Let y be half the distance of the two halves,
    z their mean and e the effective step of ``travel`` (eta K for gradient descent).
    In the local steps of a round z moves by at most e L rho, to the left; y grows by
    at least e (b - L abs(z)) with the last z of the round, and at most e b: the
    gradients enter with weights that are not negative and sum up to e. Combining
    multiplies y by lambda. So within n rounds abs(z) <= c n rho, c = e L, and y after
    n rounds is at least e s (b - c n L rho), s = lambda (1 - lambda^n)/(1 - lambda).
    For rho = e s b/(1 + c n + c^2 n s) that is at least rho + c n rho: both halves are
    where h' = 0, y grows to e b lambda/(1 - lambda), and z stays. In every round the
    gradient at the mean model is L (rho - abs(z)) >= L rho (1 - c n). For small c
    and large n its square is almost (e L)^2 sigma_g^2 lambda^2/(1 - lambda)^2. W is
    symmetric, so that push-sum has the weights 1 and q = lambda.
    """
    kept = 1 - travel(at) * at.L * at.n
    positive = kept * (kept > 0)
    return (at.L * _radius(at) * positive) ** 2 * is_local_descent(at)


# -- all methods


def span_constants(at: FamilyConstants, measure: str) -> Constants:
    """Constants of :func:`span_floor`; f(x_0) - f* is not among them."""
    known = {**_without(at), "x_star_sq": at.size**2}
    del known["f0_gap"]
    return known


def span_floor(at: FamilyConstants, measure: str) -> np.ndarray:
    """Return the floor of Theorem 3.14 of Bubeck (2015).

    Some convex quadratic function, here the objective of every client, has f(x) - f* >=
    3 L norm(x_0 - x*)^2/(32 (N + 2)^2) at all points of the span of x_0 and N
    gradients.
    """
    steps = at.steps * at.last
    return 3 * at.L * at.size**2 / (32 * (steps + 2) ** 2)


# -- SAM's fixed point


def sam_constants(at: FamilyConstants, measure: str) -> Constants:
    """Constants of :func:`sam_floor`; network and blocks are arbitrary."""
    known = {**_without(at), "rho": at.rho, "rho0": at.rho0, "lam": at.lam}
    known |= {"q": at.lam, "S2": 0 * at.L, "B": at.L * at.rho}
    known["f0_gap"] = at.L * at.rho**2 / 2
    known |= dict.fromkeys(("K_u", "K_v"), at.K)
    known |= dict.fromkeys(("eta_u", "eta_v"), at.eta)
    known |= dict.fromkeys(("L_u", "L_v"), at.L)
    absent = ("L_uv", "L_vu", "chi", "sigma_u", "sigma_v", "delta_u")
    known |= dict.fromkeys(absent, 0 * at.L)
    for name in ("mu", "mu_each"):
        del known[name]
    return known


def sam_floor(at: FamilyConstants, measure: str) -> np.ndarray:
    """Return the floor of SAM's fixed point.

    f_i = f with f'(x) = L max(rho - abs(x), 0), exact gradients and the common start 0.

    The gradient at 0 is L rho and that at 0 + rho is 0, so that no step moves, for
    every network, step size, momentum and penalty. f(0) - inf f = L rho^2/2. With two
    blocks f depends on the shared one alone, and the left side is L_u rho^2.
    """
    if measure.startswith("two_block"):
        return at.L * at.rho**2
    return (at.L * at.rho) ** 2


INSTANCES = (
    FloorInstance(
        name="averaged noise",
        words="f(x) = L x^2/2 at every client, noise sigma_l or -sigma_l, start 0",
        algorithms=(*MOMENTUM, *PLAIN_STEPS, *DUAL),
        measures=("grad_norm_sq", "grad_norm_sq_w", "f_gap", "dist_sq"),
        aggregates=("mean", "last"),
        gossip=False,
        constants=noise_constants,
        value=noise_floor,
    ),
    FloorInstance(
        name="the way to the minimum",
        words="one objective, linear up to a parabola around 0, exact gradients",
        algorithms=(*MOMENTUM, *PLAIN_STEPS, LASTING_MOMENTUM, *DUAL),
        measures=("grad_norm_sq", "grad_norm_sq_w", "f_gap"),
        aggregates=("mean", "last", "min"),
        gossip=False,
        constants=descent_constants,
        value=descent_floor,
    ),
    FloorInstance(
        name="a late slope",
        words="one objective, flat at the start and steep later, exact gradients",
        algorithms=(*MOMENTUM, *PLAIN_STEPS),
        measures=("grad_norm_sq",),
        aggregates=("last",),
        gossip=False,
        constants=late_constants,
        value=late_floor,
    ),
    FloorInstance(
        name="opposing gradients",
        words=(
            "halves of the clients with gradients h'(x) + sigma_g and h'(x) - sigma_g,"
            " h'(x) = L max(r - abs(x), 0), exact gradients, start 0"
        ),
        algorithms=(*MOMENTUM, *PLAIN_STEPS, *DUAL),
        measures=("grad_norm_sq", "grad_norm_sq_w"),
        aggregates=("mean", "last", "min"),
        gossip=True,
        constants=consensus_constants,
        value=consensus_floor,
        halves=True,
    ),
    FloorInstance(
        name="all first-order methods",
        words="Nesterov's quadratic function at every client, exact gradients",
        algorithms=SPANS,
        measures=("f_gap",),
        aggregates=("mean", "last", "min"),
        gossip=False,
        constants=span_constants,
        value=span_floor,
    ),
    FloorInstance(
        name="SAM's fixed point",
        words="f'(x) = L max(rho - abs(x), 0) at every client, no noise, start 0",
        algorithms=SAM,
        measures=("grad_norm_sq", "grad_norm_sq_w", "two_block", "two_block_next"),
        aggregates=("mean", "last", "min", "max", "each"),
        gossip=False,
        constants=sam_constants,
        value=sam_floor,
        everywhere=True,
        mechanism=("rho", "rho0"),
    ),
)

__all__ = ["INSTANCES", "Constants", "FloorInstance"]
