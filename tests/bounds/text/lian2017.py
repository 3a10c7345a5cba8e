"""D-PSGD's rate, typed from the abstract of Tang et al. 2018 (D^2): nothing here knows
SymPy or the package.

"... improves the convergence rate from O(sigma / sqrt(n T) + (n zeta^2)^(1/3) /
T^(2/3)) ... where zeta^2 denotes the variance among data on different workers."  There
n is our m, sigma sigma_l, zeta sigma_g.
"""

from __future__ import annotations


def rate(m, T, sigma_l, sigma_g):
    variance = sigma_g * sigma_g
    return {
        "noise": sigma_l * (m * T) ** -0.5,
        "heterogeneity": (m * variance / T**2) ** (1 / 3),
    }


TERMS = {("lian2017.rate", "restated"): rate}
CONDITIONS = {}
SCHEDULES = {}
LABELS = {"Tang et al. 2018, abstract": ("lian2017.rate:restated",)}
