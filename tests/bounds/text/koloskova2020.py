"""What Koloskova et al. 2021 restate of others, typed from its text: nothing here knows
the package.

"O(sigma^2/(mu n T) + L (zeta^2 + p sigma^2)/(mu^2 p^2 T^2) + (L R_0^2/p) exp[-mu p
T/L]) (D-SGD)"; of D^2 "O(sigma^2/(mu n T) + L sigma^2/(mu^2 p T^2) + (L R_0^2/p)
exp[-mu p T/L])", lambda_min(W) > -1/3; (13) as in koloskova2021.
"""

from __future__ import annotations

import math

from tests.bounds.text.koloskova2021 import lemma_5


def rate(T, m, L, sigma_l, mu_each, sigma_star, lam, x_star_sq, **_):
    p, mu = (1 - lam) * (1 + lam), mu_each
    return {
        "noise": sigma_l**2 / mu / m / T,
        "network": L * ((sigma_star / p) ** 2 + sigma_l**2 / p) / (mu * T) ** 2,
        "optimization": L / p * x_star_sq * math.e ** (-mu * p * T / L),
    }


def rate_d2(T, m, L, sigma_l, mu_each, lam, x_star_sq, **_):
    return rate(T, m, L, sigma_l, mu_each, 0.0, lam, x_star_sq)


TERMS = {
    ("koloskova2020.rate", "restated"): rate,
    ("koloskova2020.rate_d2", "restated"): rate_d2,
    ("koloskova2020.lemma_8", "restated"): lemma_5,
}
CONDITIONS = {
    ("koloskova2020.rate", "restated"): lambda L, mu_each, **_: [
        (mu_each / 2, mu_each),
        (mu_each, L),
    ],
    ("koloskova2020.rate_d2", "restated"): lambda L, mu_each, lam_min, **_: [
        (-3 * lam_min, 1),
        (mu_each / 2, mu_each),
        (mu_each, L),
    ],
    ("koloskova2020.lemma_8", "restated"): lambda L, eta, mu_each, **_: [
        (12 * L * eta, 1),
        (mu_each, L),
    ],
}
SCHEDULES = {}
LABELS = {
    "(D-SGD)": ("koloskova2020.rate:restated",),
    "Section 6.3, D^2": ("koloskova2020.rate_d2:restated",),
    "Lemma 8": ("koloskova2020.lemma_8:restated",),
}
