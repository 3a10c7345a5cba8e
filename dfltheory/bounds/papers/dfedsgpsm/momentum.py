"""The weights of K momentum steps: closed forms for formulas, and sums that do not cancel for numbers.

After K steps v <- alpha v + g, x <- x - eta v from v = 0, the gradient of step s has moved x by
``eta c_s`` with ``c_s = (1 - alpha^(K-s+1))/(1 - alpha)``. Hence ``at = sum_s c_s`` (the papers'
alpha-tilde), ``sum_s c_s^2``, ``at(K-1)`` (the same with one step less) and ``dbar = sum_s c_s at(s-1)/at``.
"""

from __future__ import annotations

import sympy as sp

from dfltheory import momentum
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


AT = Definition(
    at, total_form(K), r"\tilde\alpha", "sum of the momentum weights", ("alpha", "K"), momentum.total
)
AT_BEFORE = Definition(
    at_before,
    total_form(K - 1),
    r"\tilde\alpha_{K-1}",
    "sum of the momentum weights of K - 1 steps",
    ("alpha", "K"),
    momentum.total_before,
)
SUM_C2 = Definition(
    sum_c2,
    square_form(K),
    r"\sum_s c_s^2",
    "sum of the squared momentum weights",
    ("alpha", "K"),
    momentum.squares,
)
DBAR = Definition(
    dbar,
    delay_form(K) / total_form(K),
    r"\bar d",
    "mean path of the local steps",
    ("alpha", "K"),
    momentum.mean_path,
)

__all__ = ["AT", "AT_BEFORE", "DBAR", "SUM_C2", "at", "at_before", "dbar", "sum_c2"]
