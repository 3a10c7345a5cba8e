"""The mean model of identical noisy parabolas, in closed form.

m clients with f'(x) = h (x - c) and noise of variance sigma^2 start at one point, take
K plain gradient steps and average their models. A round multiplies the distance of the
mean model from c by q = (1 - eta h)^K, and adds noise of variance eta^2 (sigma^2/m) (1
- q^2)/(1 - (1 - eta h)^2). So for every doubly stochastic W

    E f'(xbar^t)^2 = q^(2t) f'(x^0)^2 + (1 - q^(2t)) h eta sigma^2/(m (2 - eta h)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NumberOrArray = float | np.ndarray
"""A number of one problem, or an array of the numbers of many."""


@dataclass(frozen=True, eq=False)
class NoisyParabola:
    """One coordinate of identical noisy parabolas, or many such problems.

    Attributes
    ----------
    curvature : float or array
        The curvature h of all clients.
    distance : float or array
        |x^0 - c|, the distance of the start from the minimizer.
    sigma : float or array
        Standard deviation of the noise.
    eta : float or array
        Step size.
    K : int or array
        Number of local steps.
    averaged : int or array
        Number of clients whose models are averaged; 1 for personal parts.
    """

    curvature: NumberOrArray
    distance: NumberOrArray
    sigma: NumberOrArray
    eta: NumberOrArray
    K: int | np.ndarray
    averaged: int | np.ndarray

    @property
    def limit(self) -> NumberOrArray:
        """E f'^2 in the limit t -> infinity."""
        step = self.eta * self.curvature
        return step * self.sigma**2 / (self.averaged * (2 - step))

    def expected(self, t: NumberOrArray) -> NumberOrArray:
        """Return E f'^2 before the rounds t = 0, 1, ..."""
        exponent = t * self._log_contraction
        start = (self.curvature * self.distance) ** 2
        return np.exp(exponent) * start - np.expm1(exponent) * self.limit

    def mean(self, T: NumberOrArray) -> NumberOrArray:
        """Return the mean of E f'^2 over the rounds 0, ..., T - 1."""
        total = np.expm1(T * self._log_contraction) / np.expm1(self._log_contraction)
        share = total / T
        start = (self.curvature * self.distance) ** 2
        return share * start + (1 - share) * self.limit

    @property
    def _log_contraction(self) -> NumberOrArray:
        """The logarithm of q^2."""
        return 2 * self.K * np.log1p(-self.eta * self.curvature)


__all__ = ["NoisyParabola"]
