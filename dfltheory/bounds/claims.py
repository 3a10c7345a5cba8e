"""Symbols, norms and inequalities that the declared steps of several papers share."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.steps import Matrices, Telescope
from dfltheory.bounds.units import Expr

x, y, k, g = (sp.Symbol(name, positive=True) for name in ("x", "y", "k", "g"))
EVERYWHERE = {"x": (1e-3, 1e3), "y": (1e-3, 1e3)}
GAP: Expr = 1 / (1 - s.lam) ** 2
GROWTH: Expr = (1 + 1 / (k - 1)) ** k
"""The growth over k steps that each add a share 1/(k-1)."""
SUMMED = (Telescope({"G_bar": sp.S.One}),)
"""The descent at the mean model, summed over the rounds."""


def norm(matrix: Any) -> Any:
    """The operator norm."""
    return np.linalg.norm(matrix, 2)


def average(W: Any) -> Any:
    """P = 11'/m."""
    return np.ones_like(W) / W.shape[0]


def power(W: Any, n: int) -> Any:
    """W^n."""
    return np.linalg.matrix_power(W, n)


def without_a_factor(key: str, place: str) -> Matrices:
    """The square of a sum, bounded by the sum of squares."""

    def square_of_sum(A: Any) -> Any:
        return np.sum(A.sum(axis=0) ** 2)

    def sum_of_squares(A: Any) -> Any:
        return np.sum(A**2)

    return Matrices(
        key, place, "||sum_k a_k||^2 <= sum_k ||a_k||^2", "vectors", square_of_sum, sum_of_squares
    )


__all__ = [
    "EVERYWHERE",
    "GAP",
    "GROWTH",
    "SUMMED",
    "average",
    "g",
    "k",
    "norm",
    "power",
    "without_a_factor",
    "x",
    "y",
]
