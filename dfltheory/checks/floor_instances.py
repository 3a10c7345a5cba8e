"""Instances on which the left side of a theorem is known from below: floors.

Each formula is made of sums, products, quotients and whole powers alone, so that it
has the same value in fractions as in arrays. ``tests/bounds/test_floors.py`` simulates
every instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Numbers = Mapping[str, Any]
"""Fractions or arrays: eta, L, m, T, K; ``steps``: gradient steps from one measured
model to the next; ``size``: a noise, gradient or distance; ``lam``; ``n``: rounds of a
transient; ``first`` and ``last``: the measured rounds; ``aggregate``: over them.
"""
PLAIN = ("DFedAvg", "DPSGD", "LocalSGD", "FedAvg", "DFedSAM")
"""Algorithms whose rounds are local gradient steps and an average: DFedSAM at rho = 0;
DPSGD where it adapts before it combines.
"""
SPANS = (*PLAIN, "DSGT", "EXTRA", "D2", "SCAFFOLD")
"""Algorithms whose models lie in the span of the start and of the gradients, where all
clients have one objective and exact gradients.
"""


@dataclass(frozen=True)
class FloorInstance:
    """A family of problems with its constants and a lower bound of the left side.

    Attributes
    ----------
    name : of the floor
    words : the problem, for readers
    algorithms : to which the derivation applies
    measures : of which ``values`` has a lower bound
    aggregates : over rounds, for which it holds
    gossip : is a network with the given lambda part of it?
    constants : all constants of the problem by glossary name
    values : a lower bound of the aggregated left side, by measure
    """

    name: str
    words: str
    algorithms: tuple[str, ...]
    measures: tuple[str, ...]
    aggregates: tuple[str, ...]
    gossip: bool
    constants: Callable[[Numbers, str], dict[str, Any]]
    value: Callable[[Numbers, str], Any]


_NOTHING = (
    *("sigma_l", "sigma_g", "beta", "rho", "rho0", "x0_spread", "x0_sq", "mu"),
    *("mu_each", "sigma_star", "Gamma", "f0_gap", "x_star_sq", "lam", "alpha"),
)


def _without(at: Numbers) -> dict[str, Any]:
    """All that may be absent set to 0, the rest as given."""
    known = dict.fromkeys(_NOTHING, 0 * at["L"])
    known["Q"] = 1 + 0 * at["L"]
    return {**known, **{name: at[name] for name in ("L", "m", "T", "K", "eta")}}


# -- averaged noise


def noise_constants(at: Numbers, measure: str) -> dict[str, Any]:
    """Constants of :func:`noise_floor`; W averages exactly."""
    convexity = dict.fromkeys(("mu", "mu_each"), at["L"])
    return {**_without(at), **convexity, "sigma_l": at["size"]}


def noise_floor(at: Numbers, measure: str) -> Any:
    """Averaged gradient noise, from f_i(x) = L x^2/2 and stochastic gradients L x + xi
    with independent xi = sigma or -sigma with probability 1/2 each.

    From x = 0 the mean model obeys y' = a y - eta mean(xi) in each local step, a =
    1 - eta L, for every network that keeps the mean. So its variance is
    v (1 - a^(2 K t)) after t rounds, where v = eta^2 (sigma^2/m)/(1 - a^2) =
    eta sigma^2/(m L (2 - eta L)). The gradient is L y, f - f* = L y^2/2. Since r^t <=
    1/(1 + t (1 - r)) and the powers of r = a^(2 K) sum up to at most 1/(1 - r), the
    mean over N rounds is at least v (1 - 1/(N (1 - r))), and the value of round t at
    least v (1 - 1/(1 + t (1 - r))).
    """
    contraction = (1 - at["eta"] * at["L"]) ** 2
    scale = {"grad_norm_sq": at["L"] ** 2, "f_gap": at["L"] / 2, "dist_sq": 1}[measure]
    limit = at["eta"] * at["size"] ** 2
    limit = limit / (at["m"] * at["L"] * (2 - at["eta"] * at["L"]))
    # r = a^(2K) <= a^2, so that 1 - r >= 1 - a^2
    gap = 1 - contraction
    if at["aggregate"] == "mean":
        share = 1 - 1 / ((at["last"] - at["first"] + 1) * gap)
    else:
        share = 1 - 1 / (1 + at["last"] * gap)
    return scale * limit * share


# -- the way to the minimum


def descent_constants(at: Numbers, measure: str) -> dict[str, Any]:
    """Constants of :func:`descent_floor`."""
    known = _without(at)
    steps = at["steps"] * at["last"]
    if measure == "grad_norm_sq":
        slope = at["size"]
        start = slope / at["L"] + at["eta"] * slope * steps
    else:
        start = at["size"]
        slope = at["L"] * start / (2 * steps * at["eta"] * at["L"] + 1)
    known["f0_gap"] = slope * start - slope**2 / (2 * at["L"])
    known["x_star_sq"] = start**2
    return {**known, "B": slope, "S2": slope**2, "x0_sq": start**2}


def descent_floor(at: Numbers, measure: str) -> Any:
    """The way to the minimum, from f_i = f, f(x) = L x^2/2 for abs(x) <= g/L, else
    g abs(x) - g^2/(2 L), and exact gradients: all clients do gradient descent.

    Each step has length eta g until abs(x) < g/L. After N = K t steps from x_0 = g/L +
    eta g N the gradient still is g, with f(x_0) - f* = g x_0 - g^2/(2 L). From x_0 = R
    with g = L R/(2 N eta L + 1) (Drori and Teboulle 2014) the model after N steps is
    x_0 - N eta g >= g/L, and f - f* = L R^2/(2 (2 N eta L + 1)) there; f falls along
    the way.
    """
    if measure == "grad_norm_sq":
        return at["size"] ** 2
    steps = at["steps"] * at["last"]
    return at["L"] * at["size"] ** 2 / (2 * (2 * steps * at["eta"] * at["L"] + 1))


# -- a late slope


def late_constants(at: Numbers, measure: str) -> dict[str, Any]:
    """Constants of :func:`late_floor`."""
    known = {**_without(at), "f0_gap": at["size"] ** 2 / at["L"], "B": at["size"]}
    del known["mu"], known["mu_each"]
    return known


def late_floor(at: Numbers, measure: str) -> Any:
    """A slope that is reached late, from f_i = f and exact gradients: f(x) = -L x^2/2
    for 0 <= x <= X = g/L, then slope -g on a part of length L x_0^2/(2 g), then f' =
    -L (y - x) down to its zero y; f = 0 for x < 0.

    Each step multiplies x by 1 + eta L, so that from x_0 = X (1 + eta L)^(-N) the
    gradient after N steps is -g. From x = X on f falls by L x_0^2/2 + g^2/(2 L), so
    that f(x_0) - inf f = g^2/L. Only the last round is bounded.
    """
    return at["size"] ** 2


# -- opposing gradients


def _radius(at: Numbers) -> Any:
    """rho of :func:`consensus_floor`."""
    local = at["eta"] * at["steps"]
    drift = local * at["L"]
    spread = at["lam"] * (1 - at["lam"] ** at["n"]) / (1 - at["lam"])
    slowed = 1 + drift * at["n"] + drift**2 * at["n"] * spread
    return local * spread * at["size"] / slowed


def consensus_constants(at: Numbers, measure: str) -> dict[str, Any]:
    """Constants of :func:`consensus_floor`."""
    radius = _radius(at)
    known = {**_without(at), "sigma_g": at["size"], "lam": at["lam"]}
    known["f0_gap"] = at["L"] * radius**2 / 2
    known["B"] = known["beta"] = at["size"] + at["L"] * radius
    del known["mu"], known["mu_each"]
    return known


def consensus_floor(at: Numbers, measure: str) -> Any:
    """Opposing gradients: half of the clients have f_i(x) = h(x) - b x, half h(x) +
    b x, h'(x) = L max(rho - abs(x), 0), exact gradients, common start 0. W averages
    in both halves, and has one more eigenvalue lambda.

    sigma_g = b, f(0) - inf f = L rho^2/2. Let y be half the distance of the two halves
    and z their mean. In a local step z moves by at most eta L rho, to the left; y
    grows by at least eta (b - L abs(z)), and at most eta b. Combining multiplies y by
    lambda. So within n rounds abs(z) <= c n rho, c = eta K L, and y after n rounds is
    at least eta K s (b - c n L rho), s = lambda (1 - lambda^n)/(1 - lambda). For rho =
    eta K s b/(1 + c n + c^2 n s) that is at least rho + c n rho: both halves are where
    h' = 0, y grows to eta K b lambda/(1 - lambda), and z stays. In every round the
    gradient at the mean model is L (rho - abs(z)) >= L rho (1 - c n). For small c
    and large n its square is almost (eta K L)^2 sigma_g^2 lambda^2/(1 - lambda)^2.
    """
    kept = 1 - at["eta"] * at["steps"] * at["L"] * at["n"]
    positive = kept * (kept > 0)
    return (at["L"] * _radius(at) * positive) ** 2


# -- all methods


def span_constants(at: Numbers, measure: str) -> dict[str, Any]:
    """Constants of :func:`span_floor`; f(x_0) - f* is not among them."""
    known = {**_without(at), "x_star_sq": at["size"] ** 2}
    del known["f0_gap"]
    return known


def span_floor(at: Numbers, measure: str) -> Any:
    """Theorem 3.14 of Bubeck (2015): some convex quadratic function, here the objective
    of every client, has f(x) - f* >= 3 L norm(x_0 - x*)^2/(32 (N + 2)^2) at all points
    of the span of x_0 and N gradients.
    """
    steps = at["steps"] * at["last"]
    return 3 * at["L"] * at["size"] ** 2 / (32 * (steps + 2) ** 2)


INSTANCES = (
    FloorInstance(
        name="averaged noise",
        words="f(x) = L x^2/2 at every client, noise sigma_l or -sigma_l, start 0",
        algorithms=PLAIN,
        measures=("grad_norm_sq", "f_gap", "dist_sq"),
        aggregates=("mean", "last"),
        gossip=False,
        constants=noise_constants,
        value=noise_floor,
    ),
    FloorInstance(
        name="the way to the minimum",
        words="one objective, linear up to a parabola around 0, exact gradients",
        algorithms=PLAIN,
        measures=("grad_norm_sq", "f_gap"),
        aggregates=("mean", "last", "min"),
        gossip=False,
        constants=descent_constants,
        value=descent_floor,
    ),
    FloorInstance(
        name="a late slope",
        words="one objective, flat at the start and steep later, exact gradients",
        algorithms=PLAIN,
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
        algorithms=PLAIN,
        measures=("grad_norm_sq",),
        aggregates=("mean", "last", "min"),
        gossip=True,
        constants=consensus_constants,
        value=consensus_floor,
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
)

__all__ = ["FloorInstance", "INSTANCES", "Numbers", "PLAIN", "SPANS"]
