"""The weights of K momentum steps: closed forms for formulas, and sums that do not cancel for numbers.

After K steps v <- alpha v + g, x <- x - eta v from v = 0, the gradient of step s has moved x by
``eta c_s`` with ``c_s = (1 - alpha^(K-s+1))/(1 - alpha)``. Hence ``at = sum_s c_s`` (the papers'
alpha-tilde), ``sum_s c_s^2``, ``at(K-1)`` (the same with one step less) and ``dbar = sum_s c_s at(s-1)/at``.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Definition
from dfltheory.bounds.units import Expr

alpha, K = s.alpha, s.K
at, at_before, sum_c2, dbar = sp.symbols("at at_before sum_c2 dbar", nonnegative=True)


def total_form(steps: Expr) -> Expr:
    """sum_s c_s in closed form."""
    return (steps - alpha * (1 - alpha**steps) / (1 - alpha)) / (1 - alpha)


def square_form(steps: Expr) -> Expr:
    """sum_s c_s^2 in closed form."""
    once, twice = (1 - alpha**steps) / (1 - alpha), (1 - alpha ** (2 * steps)) / (1 - alpha**2)
    return (steps - 2 * alpha * once + alpha**2 * twice) / (1 - alpha) ** 2


def delay_form(steps: Expr) -> Expr:
    """sum_s c_s at(s-1) in closed form."""
    free = 1 - alpha
    once = alpha * (1 - alpha**steps) / free
    ramp = alpha * (1 - (steps + 1) * alpha**steps + steps * alpha ** (steps + 1)) / free**2
    return (
        (steps * (steps - 1) / 2 - steps * once + ramp) / free
        - alpha * (steps - once) / free**2
        + (once - steps * alpha ** (steps + 1)) / free**2
    ) / free


def _after(alpha: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(..., 5): c, at, sum_s c_s^2, U = at(0) + ... + at(K-1) and D = sum_s c_s at(s-1) after K steps.

    With c^2 they are linear in what they were a step before, and D_n = alpha D_{n-1} + U_n: M^K by repeated
    squaring. M has no negative entry, so that nothing cancels.
    """
    alpha, steps = np.broadcast_arrays(np.asarray(alpha, dtype=float), np.asarray(steps, dtype=float))
    counted = np.where(np.isfinite(steps), np.floor(steps), -1.0)
    pairs, places = np.unique(alpha + 1j * counted, return_inverse=True)  # often few in a large array
    a, known = pairs.real, pairs.imag >= 0
    left = np.where(known, pairs.imag, 0.0)  # not as integers: 2^63 steps are none of 64 bits
    none, one = np.zeros_like(a), np.ones_like(a)
    # columns and rows: 1, c, at, sum c^2, U, D, c^2
    rows = [
        [one, none, none, none, none, none, none],
        [one, a, none, none, none, none, none],
        [one, a, one, none, none, none, none],
        [one, 2 * a, none, one, none, none, a * a],
        [none, none, one, none, one, none, none],
        [none, none, one, none, one, a, none],
        [one, 2 * a, none, none, none, none, a * a],
    ]
    power = np.moveaxis(np.array(rows), -1, 0)
    state = np.zeros((a.size, 7, 1))
    state[:, 0] = 1
    while left.any():
        state = np.where((left % 2 == 1)[:, None, None], power @ state, state)
        left = np.floor(left / 2)
        if left.any():
            power = power @ power
    state[~known] = np.nan
    return state[places.reshape(alpha.shape), 1:6, 0]


def _total(alpha: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return _after(alpha, steps)[..., 1]


def _square(alpha: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return _after(alpha, steps)[..., 2]


def _delay(alpha: np.ndarray, steps: np.ndarray) -> np.ndarray:
    sums = _after(alpha, steps)
    return sums[..., 4] / sums[..., 1]


AT = Definition(at, total_form(K), r"\tilde\alpha", "sum of the momentum weights", ("alpha", "K"), _total)
AT_BEFORE = Definition(
    at_before,
    total_form(K - 1),
    r"\tilde\alpha_{K-1}",
    "sum of the momentum weights of K - 1 steps",
    ("alpha", "K"),
    lambda alpha, steps: _total(alpha, steps - 1),
)
SUM_C2 = Definition(
    sum_c2, square_form(K), r"\sum_s c_s^2", "sum of the squared momentum weights", ("alpha", "K"), _square
)
DBAR = Definition(
    dbar, delay_form(K) / total_form(K), r"\bar d", "mean path of the local steps", ("alpha", "K"), _delay
)

__all__ = ["AT", "AT_BEFORE", "DBAR", "SUM_C2", "at", "at_before", "dbar", "sum_c2"]
