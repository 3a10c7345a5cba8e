"""Closed forms that refute a statement at any horizon, without a search.

Each function returns the largest measured / bound over one family of problems whose
left-hand side is known exactly. A value above 1 refutes the statement; 0 means that the
family does not apply. All problems have L = 1 and satisfy every assumption of the
statements. :func:`strongest` returns the family with the largest ratio.

*Far valley.* The clients of each family stay in a bounded range forever. Outside of
that range, all clients may share an additional valley of any depth that is not steeper.
No run visits it. So f(x^0) - f* can be any number that is at least its value without
the valley, and the left-hand side does not change.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from dfltheory.counterexamples.noisy_parabola import NoisyParabola
from dfltheory.counterexamples.shared_numbers import requires_schedule

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

CLOSED_FORM_HORIZONS = 10.0 ** np.arange(2, 17)
CLOSED_FORM_STEP_SIZES = 10.0 ** np.arange(-7, 0)
"""Step sizes that are tried if the statement has no schedule."""
VALLEYS = (0.0, 1.0, 1e4, 1e8)
"""Values of f(x^0) - f* that are tried. If one is too small, its value without a valley
is used instead.
"""
FAR_HORIZONS = 10.0 ** np.arange(2, 31)
GAPS = (1.0, 0.5, 1e-1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-13)
"""Values of 1 - lam that are tried."""
SMALLEST_GRADIENT = 1e-9
"""Smaller limits of gradients are not used, since their rounding error is about 1e-15.
"""
STEEPEST, SPREAD = 2.0, 1.0
"""Largest gradient, and heterogeneity, of two parabolas around +-1 whose gradients are
constant beyond distance 2.
"""


def noise_for_ever(theorem: Theorem) -> float:
    """Return the ratio of stationary noise (:mod:`.families.stationary_noise`).

    The noise is in the shared model or in the personal part. Noise that takes the
    values +-sigma keeps x within max(s, sigma) =: B of the minimum. There is no SAM and
    no momentum, and lam = 0. The effect of noise in the personal parts does not depend
    on m, since they are not averaged.
    """
    return max(_noise(theorem, block) for block in blocks_of(theorem))


def blocks_of(theorem: Theorem) -> tuple[str, ...]:
    """Return the blocks of the models that may be noisy."""
    return ("shared", "personal") if theorem.scope.two_blocks else ("shared",)


def _noise(theorem: Theorem, block: str) -> float:
    """Return the ratio of stationary noise in one block."""
    if not _plain_steps(theorem):
        return 0.0
    grid = _noise_grid(theorem, block, (1, 2, 16, 256, 4096), VALLEYS)
    return _largest_ratio(theorem, _noise_left(theorem, block, grid), grid)


def noise_numbers(theorem: Theorem, block: str) -> dict[str, float] | None:
    """Return the numbers of the noisy problem with the largest ratio.

    They are ``m``, ``K``, ``T``, ``eta``, ``noise`` and ``start``, without a far
    valley, with at most 64 clients, and with the smallest K with which a ratio exceeds
    1. The result is None if there is none.
    """
    if not _plain_steps(theorem):
        return None
    grid = _noise_grid(theorem, block, (1, 2, 16, 64), (0.0,))
    ratios = _ratios(theorem, _noise_left(theorem, block, grid), grid)
    refuting = ratios > 1
    if not refuting.any():
        return None
    fewest = grid["K"] == grid["K"][refuting].min()
    best = int(np.where(fewest, ratios, 0.0).argmax())
    names = ("m", "K", "T", "eta", "noise", "start")
    return {name: float(grid[name][best]) for name in names}


def _noise_grid(
    theorem: Theorem, block: str, counts: tuple[int, ...], valleys: tuple[float, ...]
) -> dict[str, np.ndarray]:
    """Return the quantities of a grid of noisy problems, and ``noise`` and ``start``.

    ``counts`` are the numbers of clients, and ``valleys`` the values of f(x^0) - f*
    that are tried.
    """
    sizes = 10.0 ** np.arange(-4, 3)
    steps = np.ones(1) if requires_schedule(theorem) else CLOSED_FORM_STEP_SIZES
    local = _local_steps(theorem, (1, 5, 50))
    grid = np.meshgrid(
        sizes, sizes, counts, local, CLOSED_FORM_HORIZONS, steps, valleys, indexing="ij"
    )
    sigma, s0, m, K, T, eta, valley = (axis.ravel() for axis in grid)
    largest_gradient = np.maximum(s0, sigma)
    known = {
        "m": m,
        "K": K,
        "T": T,
        "eta": eta,
        "f0_gap": np.maximum(s0**2 / 2, valley),
        "x0_sq": s0**2,
        "B": largest_gradient,
        "S2": largest_gradient**2 + sigma**2,
        "sigma_l": sigma,
        "sigma_v" if block == "personal" else "sigma_u": sigma,
    }
    return _complete(theorem, known) | {"noise": sigma, "start": s0}


def _noise_left(
    theorem: Theorem, block: str, grid: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return the left-hand sides of a grid of noisy problems."""
    clients = np.ones(1) if block == "personal" else grid["m"]
    problems = NoisyParabola(
        1.0, grid["start"], grid["noise"], grid["eta"], grid["K"], clients
    )
    with np.errstate(all="ignore"):
        left = np.asarray(problems.mean(grid["T"]))
        if theorem.lhs.measure == "two_block_weighted":
            left = left * grid["eta"] * grid["K"] / 4
    return left


def two_parabolas(theorem: Theorem) -> float:
    """Return the ratio of two clients with f_1' = x - 1 and f_2' = k (x + 1).

    They start at their limiting mean; :func:`parabola_gradients` derives the left-hand
    side. There is no noise and no SAM, and W is a fixed matrix of two clients.
    """
    if not _plain_steps(theorem) or theorem.lhs.measure == "two_block_weighted":
        return 0.0
    steps = np.ones(1) if requires_schedule(theorem) else CLOSED_FORM_STEP_SIZES
    curvatures = (0.5, 0.1, 0.01)
    local = _local_steps(theorem, (1, 2, 16, 256, 10**4, 10**6, 10**8))
    gossips = (1, 100, 10**4) if "Q" in theorem.needs else (1,)
    grid = np.meshgrid(
        curvatures, local, GAPS, FAR_HORIZONS, steps, VALLEYS, gossips, indexing="ij"
    )
    # so that 1 - lam of a gossip step is accurate to three digits
    exact = grid[2] / grid[-1] >= GAPS[-1]
    k, K, gap, T, eta, valley, Q = (axis[exact] for axis in grid)
    per_gossip_step = (1 - gap) ** (1 / Q)
    known = {
        "m": 2,
        "K": K,
        "T": T,
        "eta": eta,
        "Q": Q,
        "q": 1 - gap,
        "lam": per_gossip_step,
    }
    known |= {"B": STEEPEST, "sigma_g": SPREAD, "delta_u": SPREAD}
    known = _complete(theorem, known)
    with np.errstate(all="ignore"):
        gradient, left = parabola_gradients(k, K, known["eta"], per_gossip_step**Q, T)
        left = np.where(np.abs(gradient) > SMALLEST_GRADIENT, left, 0.0)
        known["f0_gap"] = np.maximum(np.nan_to_num(gradient) ** 2 / (1 + k), valley)
    return _largest_ratio(theorem, left, known)


def parabola_gradients(
    k: np.ndarray, K: np.ndarray, eta: np.ndarray, lam: np.ndarray, T: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return f'(xbar^0) and the mean of f'(xbar^t)^2 over t < T of two parabolas.

    The gradients are f_1' = x - 1 and f_2' = k (x + 1). The K local steps of a round
    subtract a_i (x_i - c_i) from x_i, where c_1 = 1 and c_2 = -1 are the minimizers,
    and a_i = 1 - (1 - eta k_i)^K with k_1 = 1 and k_2 = k. W then multiplies
    (x_1 - x_2)/2 by lam. The arguments broadcast.

    *Limit.* Let x_1 and x_2 be stationary, and h = (x_1 - x_2)/2. Their mean does not
    move, so a_1 (x_1 - 1) = -a_2 (x_2 + 1) =: p. Half their difference is h - p before
    W and h after it, so h = -lam p / (1 - lam). These equations determine x_1, x_2 and
    p.

    *Transient.* Both clients start at the mean (x_1 + x_2)/2. So f'(xbar^0) is the
    limit. Deviations of (x_1, x_2) from the limit are multiplied by a 2 x 2 matrix in
    every round. Let mu_1 >= mu_2 be its eigenvalues. Then f'(xbar^t) deviates from the
    limit by f'(xbar^1) - f'(xbar^0) times (mu_1^t - mu_2^t) / (mu_1 - mu_2), and its
    squares are sums of geometric sequences.

    Parameters
    ----------
    k : array
        Curvature of the second parabola, in (0, 1].
    K : array
        Number of local steps per round.
    eta : array
        Step size, in (0, 1).
    lam : array
        lam of the mixing of a whole round, in [0, 1).
    T : array
        Horizon.

    Returns
    -------
    tuple of two arrays
        f'(xbar^0), and the mean of f'(xbar^t)^2.
    """
    a_1, a_2 = (-np.expm1(K * np.log1p(-eta * slope)) for slope in (np.ones_like(k), k))
    p = -2 / (1 / a_1 + 1 / a_2 + 2 * lam / (1 - lam))
    h = -lam * p / (1 - lam)
    limit = (p * (1 / a_1 - k / a_2) - h * (1 - k)) / 2
    first_change = (1 + k) / 2 * h * (a_1 - a_2) / 2
    # the 2 x 2 matrix: mu_1 and mu_2 are the zeros of mu^2 - trace mu + determinant
    trace = (1 + lam) / 2 * (2 - a_1 - a_2)
    determinant = lam * (1 - a_1) * (1 - a_2)
    difference = np.sqrt(np.maximum(trace**2 - 4 * determinant, 0.0))  # mu_1 - mu_2
    one_minus_mu_2 = 1 - (trace - difference) / 2
    # mu_1 may be close to 1: (1 - mu_1)(1 - mu_2) = 1 - trace + determinant, where the
    # terms near 1 cancel
    product = (1 - lam) * (a_1 + a_2) / 2 + lam * a_1 * a_2
    one_minus_mu_1 = product / one_minus_mu_2
    weight = first_change / difference
    deviations = _geometric(one_minus_mu_1, T) - _geometric(one_minus_mu_2, T)
    # sums of mu_1^(2t), of (mu_1 mu_2)^t and of mu_2^(2t)
    squared_deviations = (
        _geometric(one_minus_mu_1 * (2 - one_minus_mu_1), T)
        - 2 * _geometric(1 - determinant, T)
        + _geometric(one_minus_mu_2 * (2 - one_minus_mu_2), T)
    )
    total = 2 * limit * weight * deviations + weight**2 * squared_deviations
    return limit, limit**2 + total / T


def matrices_in_turn(theorem: Theorem) -> float:
    """Return the ratio of the two parabolas if W alternates between I and 11'/2.

    Windows of 2 rounds have q = 0.
    """
    if "windows" not in theorem.scope.sequence or not _plain_steps(theorem):
        return 0.0
    steps = np.ones(1) if requires_schedule(theorem) else CLOSED_FORM_STEP_SIZES
    local = _local_steps(theorem, (1, 2, 16))
    grid = np.meshgrid(
        (0.5, 0.1, 0.01), local, CLOSED_FORM_HORIZONS, steps, indexing="ij"
    )
    k, K, T, eta = (axis.ravel() for axis in grid)
    known = {
        "m": 2,
        "K": K,
        "T": T,
        "eta": eta,
        "window": 2,
        "q": 0,
        "B": STEEPEST,
        "sigma_g": SPREAD,
    }
    known = _complete(theorem, known)
    with np.errstate(all="ignore"):
        even, odd = gradients_in_turn(k, K, known["eta"])
    known["f0_gap"] = np.nan_to_num(even) ** 2 / (1 + k)
    left = np.where(np.abs(even) > SMALLEST_GRADIENT, (even**2 + odd**2) / 2, 0.0)
    return _largest_ratio(theorem, left, known)


def gradients_in_turn(
    k: np.ndarray, K: np.ndarray, eta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return f'(xbar^t) of two parabolas at even and at odd t.

    They start at the fixed point of two rounds, which consist of 2 K local steps and
    one average. At odd t client i is at c_i + (1 - a_i)(x - c_i), with a_i = 1 - (1 -
    eta k_i)^K.
    """
    shrink_1, shrink_2 = (
        -np.expm1(K * np.log1p(-eta * slope)) for slope in (np.ones_like(k), k)
    )
    both_1, both_2 = shrink_1 * (2 - shrink_1), shrink_2 * (2 - shrink_2)
    even = (both_1 * k - both_2) / (both_1 + both_2)
    start = (both_1 - both_2) / (both_1 + both_2)
    moved = -(shrink_1 * (start - 1) + shrink_2 * (start + 1)) / 2
    return even, even + (1 + k) / 2 * moved


CLOSED_FORMS = MappingProxyType(
    {
        "stationary noise": noise_for_ever,
        "two parabolas": two_parabolas,
        "W = I and 11'/2 in turn": matrices_in_turn,
    }
)


def strongest(theorem: Theorem) -> tuple[str, float]:
    """Return the family with the largest ratio, and that ratio."""
    ratios = {name: ratio(theorem) for name, ratio in CLOSED_FORMS.items()}
    return max(ratios.items(), key=itemgetter(1))


def _plain_steps(theorem: Theorem) -> bool:
    """Return whether a round consists of plain local steps and one average.

    The left-hand side must be the mean over the first T rounds. If the statement has no
    network, a round may be a single step, as in local SGD.
    """
    return (
        "lam_admm" not in {*theorem.needs, *theorem.schedule}
        and theorem.scope.network != "none"
        and theorem.lhs.aggregate == "mean"
        and (theorem.lhs.first, theorem.lhs.start) == (0, 0)
    )


def _local_steps(theorem: Theorem, tried: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of local steps to try; only 1 if the statement has no K."""
    return tried if {"K", "K_u", "K_v"} & {*theorem.needs} else (1,)


def _complete(
    theorem: Theorem, known: Mapping[str, float | np.ndarray]
) -> dict[str, np.ndarray]:
    """Return all quantities that a theorem needs.

    They are the ``known`` ones, the step size of the schedule, 1 for L, L_u, L_v,
    delta, Q and window, and 0 for all others.
    """
    size = np.zeros_like(known["T"])
    values = dict.fromkeys(theorem.needs, size)
    values |= dict.fromkeys(("L", "L_u", "L_v", "delta", "Q", "window"), 1 + size)
    values |= {name: size + value for name, value in known.items()}
    values |= {"K_u": values["K"], "K_v": values["K"]}
    if requires_schedule(theorem):
        rule = sp.sympify(
            next(
                theorem.schedule[name]
                for name in ("eta", "eta_u")
                if name in theorem.schedule
            )
        )
        symbols = sorted(rule.free_symbols, key=str)
        values["eta"] = sp.lambdify(symbols, rule, "numpy")(
            *(values[str(symbol)] for symbol in symbols)
        )
    return values | {"eta_u": values["eta"], "eta_v": values["eta"]}


def _largest_ratio(
    theorem: Theorem, left: np.ndarray, known: Mapping[str, np.ndarray]
) -> float:
    """Return the largest left / bound at which all conditions hold."""
    return float(_ratios(theorem, left, known).max(initial=0.0))


def _ratios(
    theorem: Theorem, left: np.ndarray, known: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return left / bound, and 0 where a condition fails.

    Step sizes must be below 1/L.
    """
    values = {name: known[name] for name in theorem.needs}
    checked = theorem.check_conditions(**values)
    conditions = [np.asarray(holds) for _, _, holds in checked]
    admissible = np.all([known["eta"] > 0, known["eta"] < 1, *conditions], axis=0)
    with np.errstate(all="ignore"):
        ratios = left / theorem.evaluate(where="nan", **values)
    return np.where(admissible & np.isfinite(ratios), ratios, 0.0)


def _geometric(below_one: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the sum of mu^t over t < T, given ``below_one`` = 1 - mu."""
    with np.errstate(divide="ignore"):  # mu = 0
        return -np.expm1(T * np.log1p(-below_one)) / below_one


__all__ = [
    "CLOSED_FORMS",
    "gradients_in_turn",
    "matrices_in_turn",
    "blocks_of",
    "noise_for_ever",
    "noise_numbers",
    "parabola_gradients",
    "strongest",
    "two_parabolas",
]
