r"""Special problems, one for each mechanism by which convergence theorems fail, with
exact left-hand sides.

Each is a few clients on the line whose gradients are sums of ramps, fitted to the step
size eta, the K local steps, the network's lam (that of all gossip steps of a round
together) and the SAM radius rho that a candidate has drawn, in units in which L = 1.
All clients **start at one point**, off balance apart. For every K, eta K <= 1 and lam
in [0, 1) the left-hand side that is claimed is that of gossip after K (SAM) gradient
steps; other algorithms are measured, not claimed.

**Trap** (:func:`trap`). Identical clients, f'(x) = max(w - |x|, 0) + max(x - rho, 0)
with w <= rho. At x = 0 the ascent step of SAM leads to x = rho, where f' = 0: every
local step stands still, in every round, for every W. So the left-hand side is f'(0)^2 =
w^2 for ever, whatever eta and K are; w = rho is the worst. With w = rho and a start s >
0 a step of SAM goes along f'(x + rho) = x, so that K of them map x to (1 - eta)^K x,
and the left-hand side tends to rho^2 from a start as steep as one likes.

**Opposing gradients** (:func:`opposing`). f_1' = 1 + b and f_2' = -1 + b with the bump
b(x) = max(h - |x - c|, 0); rho = 0. While both clients are outside of the bump, a round
adds -+ eta K to them, and the network shrinks their half distance r: r <- lam (r + eta
K), so that r grows to R = lam eta K/(1 - lam), while their mean stands still, for f_1'
+ f_2' = 0. From a common start both are inside the bump at first, and the mean moves
left by at most eta K h in a round. It stands still for ever at x* once |x_i - c| >= h
for both, and the left-hand side is b(x*)^2 for ever, h^2 at most, though f itself has
that slope at the mean. h < R is needed. That error is of the order of (lam eta K
sigma_g/(1 - lam))^2 with sigma_g = 1 exactly, b being common to both.

*Duals out of balance.* ADMM with penalty l takes K steps y <- y - eta (g - d + (y -
x)/l), sends y - l d and adds (x - y)/l to its dual d. With q = (1 - eta/l)^K and
gradients g_i that are constant, y = x - l (1 - q)(g - d), so that d_i = g_i (1 - q^t)
after t rounds, and -l g_i (1 - q^(t+1)) is sent: eta K above is l here, and R = lam
l/(1 - lam). A mean dual D != 0, left from the bump, moves the mean by l q D/(1 - q)
before it is gone.

*Weights far from uniform.* Push-sum with W = [[1 - a, b], [a, 1 - b]], lam = 1 - a - b,
has the weights 2 b/(a + b) and 2 a/(a + b) in the end. x_1 = (1 - a)(x_1 - eta K) + b
(x_2 + eta K) with x_1 + x_2 = s gives x_1 = (b s - lam eta K)/(a + b), so that x_1/w_1
= s/2 - lam eta K/(2 b) and x_2/w_2 = s/2 + lam eta K/(2 a): the client of the larger
weight is the nearer one, at R = lam eta K/(2 max(a, b)), and the other one as far as
one likes.

**Heads apart** (:func:`heads_apart`), of a shared u and a personal v. F_i = r(u) +
(h/2)(v -+ pi/2)^2 + sin(p u) sin(v)/p, with r' = b the bump: at v_i = +-pi/2 the
v-gradient is 0 whatever u is, and the u-gradient is b +- cos(p u). So the personal
parts pull the shared ones apart, and outside of the bump the half distance r of clients
at -+r comes again once r = lam g^K(r), g(r) = r + eta cos(p r). Their mean stands still
at 0, and is led there: beside it, at m, it moves by -eta sin(p m) sin(p r) in a step.
The left-hand side is b(0)^2/L_u.

**Drift** (:func:`drift`). f_i' = k_i (x - c_i) with k_1 = 1 >= k_2 in a range that is
never left, c_i = +-1; rho = 0. K local steps are x -> c_i + (1 - eta k_i)^K (x - c_i)
=: c_i + q_i (x - c_i), so that with lam = 0 a round maps the mean to the mean of both,
and it stands still at x* = sum_i (1 - q_i) c_i/sum_i (1
- q_i). The minimum is where eta k_i is in the place of 1 - q_i: they differ for K > 1
  as soon as k_1 != k_2. With lam > 0 the fixed point is that of a 2 x 2 linear system
  (:func:`drift_limit`), and for K = 1 too it is not the minimum. Half of the starts are
  near the minimum, where nothing is left of a bound but what holds the mean away from
  it.

**Split** (:func:`split`). Two wells that almost identical clients fall into from the
hill between them: f_i' = phi +- e, where phi is -x on [-v, w], and rises with slope 1
beyond, through the wells at -2 v and 2 w; rho = 0, start 0. e tears the clients apart
where lam (1 + eta)^K > 1. In the wells K steps map x to p_i + q (x - p_i), q = (1 -
eta)^K, with p_i = -2 v - e, 2 w + e; so that they stand still at the mean w - v, which
has the slope v - w, and at the half distance d = lam (1 - q)(w + v + e)/(1 - lam q)
(:func:`split_limit`), if d >= max(v, w). That needs 1 - lam small against eta K, and
sigma_g = e is as small as one likes.

**Off balance** (:func:`off_balance`), of starts apart. Identical clients f'(x) = max(x,
-c) at +-r, so that the mean starts at the minimum. One round moves it to ((1 - eta)^K -
1) r/2 + eta K c/2 where r - eta K c >= c, and its slope is that, or -c if that is
larger.

**Noise at rest** (:func:`noise_at_rest`). m clients f'(x) = x with noise of variance
sigma^2 that start at s, s = 0 mostly. A round multiplies the mean by q = (1 - eta)^K,
and adds noise of variance eta^2 (sigma^2/m) (1 - q^2)/(1 - (1 - eta)^2), so that E
f'(xbar^t)^2 = q^2t s^2 + (1 - q^2t) eta sigma^2/(m (2 - eta)), for every W
(:func:`noisy_square`). In a bowl (:func:`noise_in_a_bowl`), for statements about convex
problems, f'(x) = x has no end.

**Long slope** (:func:`long_slope`), of momentum near 1. Identical clients f'(x) =
min(max(x + D + 1, 0), 1) that start at 0, f(0) - f* = D + 1/2. Momentum alpha that
begins at 0 in every round makes its K steps eta v_k long, v_k = 1 + alpha + ... +
alpha^(k-1), so that the mean is at -t eta sum_k v_k before round t, for every W, and
the left-hand side is 1 for as long as that is -D or more. With K = 1 the way is that
without momentum, however near to 1 alpha is; with many steps it is eta K/(1 - alpha) a
round at most.

*Penalty and step of different order.* ADMM on it is at -l (t - q (1 - q^t)/(1 - q))
before round t, q = (1 - eta/l)^K as above: l a round at most, and next to nothing while
t (1 - q) is small.

**Led astray** (:func:`led_astray`), of SAM where F_i(.; xi) need not be smooth.
Identical clients with f' = w > 0 to the right of -rho, and noise xi s(x), xi = +-1 with
probability 1/2 each, s a continuous function with s(0) = (1 + e) w, s(rho) = -w,
s(-rho) = w and |s| <= (1 + e) w =: sigma. At x = 0 the sample's gradient w + xi s(0)
has the sign of xi, so that the ascent step of SAM leads to xi rho, where the same
sample has the gradient w + xi s(xi rho) = 0, and nearby too: every local step stands
still, for every xi, in every round, whatever eta, K and W are. So the left-hand side is
f'(0)^2 = w^2 for ever, though rho and the steps vanish; every term of a bound in which
sigma^2 is multiplied by eta is exceeded in the end. E grad F_i = f_i' and the variance
is at most sigma^2, as is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.problems import Ramps

Array = NDArray[Any]
SURE, SPARE = 1e-3, 0.25
"""By how much noise exceeds the slope that it has to outweigh; the share of rho by
which it may be missed.
"""
SLOPE = 4000
"""Rounds that the long slope is run for."""
REACH = 2.0
"""How far from their centres the parabolas' gradients become constant: beyond [-1, 1]
for both.
"""


@dataclass(frozen=True, eq=False)
class At:
    """What a special problem is fitted to, (P,) each: step size, the network's
    eigenvalue that is not 1, with its sign, for the Q gossip steps of a round together,
    SAM radius (L = 1); K; the ``penalty`` of ADMM; and the largest push-sum weight.
    """

    eta: Array
    lam: Array
    rho: Array
    K: int = 1
    penalty: Array | None = None
    heaviest: Array | float = 1.0

    @property
    def way(self) -> Array:
        """How far a client goes in a round on a slope of 1 in the long run: eta K, or
        the penalty.
        """
        return self.eta * self.K if self.penalty is None else self.penalty


@dataclass(frozen=True)
class Special:
    """``fit`` reads its free numbers from the cube and gives the problems with their
    starts (P, clients).

    ``sam``: is it about the SAM radius? ``rounds`` that must be run until it stands
    still. ``together``: is it tried with lam = 0 too, where all clients meet in every
    round? ``apart``: do clients start apart? ``curved``: is it for statements about
    convex problems, and not for others? ``heads``: do personal parts pull, so that it
    is for two blocks alone? ``noisy``: is it about noise, and identical clients, any
    number of them, whose rounds are affine? ``held``: is the limit reached in few
    rounds however small eta is? ``needs``: quantities of which a statement must speak
    of one for it to say anything. ``nets``: the kinds of :mod:`.networks` on which it
    is tried too. ``led``: the function s of noise xi s(x), where a run is the same for
    every xi.
    """

    name: str
    fit: Callable[[Reader, At], tuple[Ramps, Array]]
    sam: bool = False
    rounds: int = 300
    together: bool = False
    apart: bool = False
    curved: bool = False
    heads: bool = False
    noisy: bool = False
    held: bool = False
    needs: tuple[str, ...] = ()
    nets: tuple[str, ...] = ()
    led: Callable[[Ramps, At], Ramps] | None = None


def trap(read: Reader, at: At) -> tuple[Ramps, Array]:
    """f' = max(w - |x|, 0) + a ramp on the right, where SAM comes from; without SAM w =
    1.
    """
    rho = np.where(at.rho > 0, at.rho, 1.0)
    start = read.log_or_zero(1e-2, 100, 0.5)
    w = rho * np.where(start > 0, 1.0, read.log(0.3, 1))
    knots = np.stack([-w, 0 * w, rho], -1)[:, None]
    widths = np.stack([w, w, 1 + rho * (1 + start)], -1)[:, None]
    slopes = np.tile([1.0, -1.0, 1.0], (len(w), 1, 1))
    return Ramps(knots, widths, slopes, np.zeros((len(w), 1))).alike(2), _both(
        rho * start
    )


def opposing(read: Reader, at: At) -> tuple[Ramps, Array]:
    """+-1 + max(h - |x - c|, 0), h a share of the half distance that the clients will
    have.
    """
    h = read.between(0.05, 0.999) * np.maximum(limit_of_opposing(at), 1e-12)
    c = -h * read.between(0, 1)
    knots, widths = np.stack([c - h, c], -1), np.stack([h, h], -1)
    bump = _hill(knots, widths)
    return Ramps(
        bump.knots, bump.widths, bump.slopes, bump.left + np.array([1.0, -1.0])
    ), _both(0 * h)


def heads_apart(read: Reader, at: At) -> tuple[Ramps, Array]:
    """The bump alone: what pulls are the personal parts."""
    ramps, start = opposing(read, at)
    return replace(ramps, left=0 * ramps.left), start


def limit_of_opposing(at: At) -> Array:
    """How far from the mean the nearer of two clients is pulled, R = lam way/((1 - lam)
    max w).
    """
    return at.lam * at.way / (1 - at.lam) / at.heaviest


def drift(read: Reader, at: At) -> tuple[Ramps, Array]:
    """Parabolas around +-1 with curvatures 1 and k <= 1."""
    k = np.stack([np.ones(len(at.eta)), read.log(1e-2, 1)], -1)
    centres = np.array([1.0, -1.0])
    reach = np.full((*k.shape, 1), REACH)
    ramps = Ramps(centres[:, None] - reach, 2 * reach, k[..., None], -k * REACH)
    minimum = (1 - k[:, 1]) / (1 + k[:, 1]) + read.log(1e-6, 1e-1)
    return ramps, _both(np.where(read.unit() < 0.5, drift_start(k, at), minimum))


def drift_system(k: Array, at: At) -> tuple[Array, Array]:
    """The round x -> A x + b of the two parabolas, (P, 2, 2) and (P, 2)."""
    q = (1 - at.eta[:, None] * k) ** at.K
    w = (1 - at.lam) / 2
    W = np.stack([np.stack([1 - w, w], -1), np.stack([w, 1 - w], -1)], -2)
    return W * q[:, None, :], np.einsum(
        "pij,pj->pi", W, (1 - q) * np.array([1.0, -1.0])
    )


def drift_limit(k: Array, at: At) -> Array:
    """Where the two clients stand still, (P, 2)."""
    A, b = drift_system(k, at)
    return np.linalg.solve(np.eye(2) - A, b[..., None])[..., 0]


def drift_start(k: Array, at: At) -> Array:
    """The common start without a share of the slow eigenvector: from it only lam's pace
    is left.

    With z the left eigenvector of A of its larger eigenvalue, that start x satisfies
    z'(x 1) = z'x*.
    """
    A, _ = drift_system(k, at)
    values, left = np.linalg.eig(np.swapaxes(A, 1, 2))
    slow = np.real(left[np.arange(len(A)), :, np.abs(values).argmax(-1)])
    return (slow * drift_limit(k, at)).sum(-1) / slow.sum(-1)


def split(read: Reader, at: At) -> tuple[Ramps, Array]:
    """phi +- e with wells at -2 v and 2, v as small as they hold the clients for, or
    larger.
    """
    q = (1 - at.eta) ** at.K
    least = (1 - at.lam) / np.maximum(at.lam * (1 - q), 1e-300)
    v, e = np.minimum(least * read.log(1.02, 20), 1.0), read.log(1e-6, 1e-1)
    return wells(v, 1 + 0 * v, e), _both(0 * v)


def split_limit(v: Array, w: Array, e: Array, at: At) -> tuple[Array, Array]:
    """The mean and the half distance at which the clients stand still in their
    wells.
    """
    q = (1 - at.eta) ** at.K
    return w - v, at.lam * (1 - q) * (w + v + e) / (1 - at.lam * q)


def off_balance(read: Reader, at: At) -> tuple[Ramps, Array]:
    """max(x, -c) for both clients, at +-1 and a little to the right of it."""
    c, shift = read.log(1e-2, 0.5), read.log(1e-6, 1e-1)
    knots, widths = -c[:, None], (c + REACH)[:, None]
    ramps = Ramps(
        knots[:, None], widths[:, None], np.ones((len(c), 1, 1)), knots
    ).alike(2)
    return ramps, _both(shift) + np.array([1.0, -1.0])


def long_slope(read: Reader, at: At) -> tuple[Ramps, Array]:
    """A slope that ``SLOPE`` rounds without momentum leave by a share, or do not."""
    D = SLOPE * at.way * read.log(0.5, 20)
    one = np.ones((len(D), 1, 1))
    ramps = Ramps(-(D + 1)[:, None, None], one, one, np.zeros((len(D), 1))).alike(2)
    return ramps, _both(0 * D)


def led_astray(read: Reader, at: At) -> tuple[Ramps, Array]:
    """f' rises with slope 1 to w, which it reaches left of -rho."""
    rho = np.where(at.rho > 0, at.rho, 1.0)
    w = rho * read.log(1e-2, 1e5)
    knots, widths = (-(1 + SPARE) * rho - w)[:, None, None], w[:, None, None]
    ramps = Ramps(knots, widths, np.ones_like(knots), np.zeros((len(w), 1))).alike(2)
    return ramps, _both(0 * w)


def leading(clients: Ramps, at: At) -> Ramps:
    """s of :func:`led_astray` for its clients."""
    w, near = (
        clients.widths[:, :1, 0],
        (1 - SPARE) * np.where(at.rho > 0, at.rho, 1.0)[:, None],
    )
    steep = np.stack([SURE * w / near, -(2 + SURE) * w / near], -1)
    return Ramps(np.stack([-near, 0 * near], -1), np.stack([near, near], -1), steep, w)


def noise_at_rest(read: Reader, at: At) -> tuple[Ramps, Array]:
    """x^2/2, as far as noise leads, for one client: from its minimum mostly."""
    far, one = np.full((len(at.eta), 1), 1e3), np.ones((len(at.eta), 1, 1))
    return (
        Ramps(-far[..., None], 2 * far[..., None], one, -far),
        read.log_or_zero(1e-4, 3, 0.6)[:, None],
    )


def noise_in_a_bowl(read: Reader, at: At) -> tuple[Ramps, Array]:
    """The same, strongly convex everywhere."""
    return bowl(len(at.eta)), read.log_or_zero(1e-4, 3, 0.6)[:, None]


def noisy_square(eta: float, K: int, sigma: float, m: int, s: float, t: Array) -> Array:
    """E f'(xbar^t)^2 of m clients on x^2/2 that start at s."""
    q = (1 - eta) ** (2 * K * t)
    return q * s**2 + (1 - q) * eta * sigma**2 / (m * (2 - eta))


def unfitted(size: int) -> Ramps:
    """Two clients with L = B = 1, from whose constants steps are drawn before a problem
    is fitted to them.
    """
    one = np.ones(size)
    return wells(one, one, 0 * one)


def bowl(size: int) -> Ramps:
    """x^2/2 for one client."""
    flat = np.zeros((size, 1, 1))
    return Ramps(flat, 1 + flat, flat, flat[..., 0], curve=np.ones(size))


def wells(v: Array, w: Array, e: Array) -> Ramps:
    """phi + e and phi - e with wells at -2 v and 2 w, and a slope of 1 at most beyond
    them.
    """
    knots = np.stack([-2 * v - 1, -v, w], -1)
    widths = np.stack([v + 1, v + w, w + 1], -1)
    slopes = np.tile([1.0, -1.0, 1.0], (len(v), 1, 1))
    ramps = Ramps(knots[:, None], widths[:, None], slopes, -np.ones((len(v), 1))).alike(
        2
    )
    return Ramps(
        ramps.knots,
        ramps.widths,
        ramps.slopes,
        ramps.left + e[:, None] * np.array([1.0, -1.0]),
    )


def _both(start: Array) -> Array:
    """(P, 2): one start for both clients."""
    return np.stack([start, start], -1)


def _hill(knots: Array, widths: Array) -> Ramps:
    """Two clients whose gradients both rise and fall again with slopes 1 and -1, and
    else are 0.
    """
    slopes = np.tile([1.0, -1.0], (len(knots), 1, 1))
    return Ramps(
        knots[:, None], widths[:, None], slopes, np.zeros((len(knots), 1))
    ).alike(2)


SPECIALS = (
    Special("led astray", led_astray, sam=True, held=True, led=leading),
    Special("off balance", off_balance, together=True, apart=True),
    Special(
        "noise at rest",
        noise_at_rest,
        noisy=True,
        together=True,
        nets=("complete", "alone"),
    ),
    Special("noise in a bowl", noise_in_a_bowl, noisy=True, curved=True),
    Special("trap of SAM", trap, sam=True, held=True),
    Special(
        "opposing gradients",
        opposing,
        rounds=800,
        held=True,
        nets=("unbalanced", "random matchings of 4"),
    ),
    Special("heads apart", heads_apart, rounds=800, heads=True),
    Special("drift of local steps", drift, together=True),
    Special("split between two wells", split, rounds=1200),
    Special("long slope", long_slope, needs=("alpha", "lam_admm")),
)
"""Those that are run for few rounds first: where time is short not all are tried."""

__all__ = [
    "SPECIALS",
    "At",
    "Special",
    "drift_limit",
    "drift_start",
    "drift_system",
    "heads_apart",
    "leading",
    "led_astray",
    "limit_of_opposing",
    "long_slope",
    "noise_at_rest",
    "noisy_square",
    "off_balance",
    "split",
    "split_limit",
    "unfitted",
    "wells",
]
