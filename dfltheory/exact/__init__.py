"""Exact expectations, without Monte Carlo, of algorithms that are affine recursions.

On quadratic clients with additive noise, an algorithm without SAM maps its state
affinely from round to round; the map is found by running the algorithm itself, a user's
own too, on unit vectors. The mean and the covariance of the state then follow two exact
recursions, and with them E||grad f(xbar^t)||^2, E f(xbar^t) and the consensus error of
every round, the stationary values, and the spectral radius that says whether there are
any.

* :func:`exact_history` gives all rounds in the form that :func:`dfltheory.compare`
  reads;
* :func:`stationary` gives the limit in closed form;
* :func:`average_over` gives the mean over rounds 0..T-1 at horizons of 10^9, by
  repeated squaring;
* :class:`RandomMixing` is a random sequence W_t of finite support, for training as for
  expectations.
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
