r"""Comparison of measured rates with the exponents that a theorem predicts.

`rate_fit` measures a theorem's left-hand side over T, K, m, 1 - lam, rho or sigma under
the theorem's schedule, fits the exponent with an interval, and compares it with the one
that the theorem's rate predicts. The exponent is called worse than predicted only if
the interval excludes the prediction. For the number of clients, `rate_fit` also
measures the transient of the linear speed-up. `fit_exponent` fits a power law to any
points.

>>> task = {"name": "quadratic", "m": 4, "d": 2, "zeta": 0.0, "distance": 0.0}
>>> experiment = dfl.Instance.of({
...     "task": {**task, "sigma": 1.0},
...     "topology": {"name": "complete"},
...     "algorithm": {"name": "dfedsam", "eta": 1e-5, "K": 2, "rho": 0.0},
...     "run": {"rounds": 10**9},
... })  # doctest: +SKIP
>>> key = "dfedsam.corollary_4_6"
>>> horizons = [1e8, 1e9, 1e10]
>>> print(rate_fit(key, experiment, vary="T", over=horizons, variant="corrected"))
... # doctest: +SKIP
exponent in T: -0.500 [-0.500, -0.500], predicted -0.500
(from sigma_l^2 / (K^(1/2) T^(1/2) m)): consistent
"""

from __future__ import annotations

from dfltheory.rates.fit import RateFit, fit_points, rate_fit
from dfltheory.rates.measured import Measured, measure
from dfltheory.rates.power_laws import Exponent, fit_exponent
from dfltheory.rates.predicted import Prediction, judge, predict
from dfltheory.rates.transient import Transient, transient_time
from dfltheory.rates.varied import with_gap, with_value

__all__ = [
    "Exponent",
    "Measured",
    "Prediction",
    "RateFit",
    "Transient",
    "fit_exponent",
    "fit_points",
    "judge",
    "measure",
    "predict",
    "rate_fit",
    "transient_time",
    "with_gap",
    "with_value",
]
