r"""Do measured rates show the exponents that a corollary predicts?

* :func:`rate_fit` measures a theorem's left-hand side along T, K, m, 1 - lam, rho or sigma under the
  corollary's schedule (a :class:`Setting`, or runs of your own), fits the exponent with an interval, and
  compares it with the one that the registry's rate predicts (:func:`predict`). A prediction is refuted only
  when the interval excludes it.
* :func:`transient_fit`: from when on are m clients m times better, and how does that time grow?
* :func:`fit_exponent` and :func:`fit_regimes` fit one power law, or two that meet at a knee, to any points;
  :func:`predicted_regimes` tells which term of a bound rules where.

>>> noise = Setting(T=10**9, sigma_l=1.0)                                              # doctest: +SKIP
>>> print(rate_fit("dfedsam.corollary_4_6", noise, "m", [2, 4, 8], variant="corrected"))  # doctest: +SKIP
exponent in m: -1.000 [-1.000, -1.000], predicted -1.000 (from sigma_l^2 / (K^(1/2) T^(1/2) m)): consistent
"""

from __future__ import annotations

from dfltheory.rates.fit import RateFit, TransientFit, fit_points, judge, rate_fit, transient_fit
from dfltheory.rates.power_laws import Exponent, Regimes, fit_exponent, fit_regimes, where_slopes_lead
from dfltheory.rates.predicted import (
    PARAMETERS,
    Piece,
    Prediction,
    predict,
    predicted_regimes,
    predicted_transient,
)
from dfltheory.rates.setting import Measured, Setting

__all__ = ["Measured", "RateFit", "Setting", "fit_points", "judge", "rate_fit"]
__all__ += ["TransientFit", "predicted_transient", "transient_fit"]
__all__ += ["PARAMETERS", "Piece", "Prediction", "predict", "predicted_regimes"]
__all__ += ["Exponent", "Regimes", "fit_exponent", "fit_regimes", "where_slopes_lead"]
