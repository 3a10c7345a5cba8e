"""Exact expectations, without Monte Carlo, of algorithms that are affine recursions.

On quadratic clients with additive noise, a round of an algorithm without SAM is an
affine map of its state. This map is computed by running the algorithm, built-in or
user-defined, on unit vectors. The mean and the covariance of the state then follow two
exact recursions. They determine E||grad f(xbar^t)||^2, E f(xbar^t) and the consensus
error of each round, the stationary values, and the spectral radius that decides whether
these exist.

* :func:`exact_history` returns all rounds in the form that :func:`dfltheory.compare`
  takes;
* :func:`stationary` returns the limit in closed form;
* :func:`average_over` returns the mean over rounds 0..T-1, even for horizons of 10^9,
  by repeated squaring;
* :class:`RandomMixing` is a random sequence W_t with finite support, for training and
  for expectations.
"""

from __future__ import annotations

from dfltheory.exact.history import ExactHistory, exact_history, exactly
from dfltheory.exact.limits import Stationary, average_over, stationary
from dfltheory.exact.network import RandomMixing

__all__ = [
    "ExactHistory",
    "RandomMixing",
    "Stationary",
    "average_over",
    "exact_history",
    "exactly",
    "stationary",
]
