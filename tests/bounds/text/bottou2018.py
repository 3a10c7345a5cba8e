"""Bottou et al. 2018, typed from the formal statements: nothing here knows SymPy or the
package.

Theorem 4.6: "a L M/(2 c mu) + (1 - a c mu)^k (Delta_0 - a L M/(2 c mu))"; Theorem 4.8:
"a L M/mu + 2 (F(w_0) - F_inf)/(K mu a)"; both a <= mu/(L M_G).  Theorem 4.7: "alpha_k =
beta/(gamma + k + 1) ... nu = max{beta^2 L M/(2 (beta c mu - 1)), (gamma + 1) Delta_0}
... Delta_k <= nu/(gamma + k + 1)", beta > 1/(c mu), gamma > 0 and beta/(gamma + 1) <=
mu/(L M_G): its eta is alpha_0, its offset gamma + 1. mu = M_G = 1 and M = sigma_l^2/m
here.
"""

from __future__ import annotations


def theorem_4_6(T, m, eta, L, mu, sigma_l, f0_gap, **_):
    c, a, M = mu, eta, sigma_l**2 / m
    rest = a * L * M / (2 * c)
    power = (1 - a * c) ** T
    return {"optimization": power * f0_gap, "noise": rest + power * (0 - rest)}


def theorem_4_8(T, m, eta, L, sigma_l, f0_gap, **_):
    return {"optimization": 2 * f0_gap / (T * eta), "noise": eta * L * (sigma_l**2 / m)}


def theorem_4_7(T, m, eta, L, mu, sigma_l, f0_gap, offset, **_):
    gamma, M = offset - 1, sigma_l**2 / m
    beta = eta * (gamma + 1)
    nu = max(beta**2 * L * M / (2 * (beta * mu - 1)), (gamma + 1) * f0_gap)
    return {"both": nu / (gamma + T + 1)}


TERMS = {
    (f"bottou2018.{f.__name__}", "printed"): f
    for f in (theorem_4_6, theorem_4_7, theorem_4_8)
}
CONDITIONS = {
    ("bottou2018.theorem_4_6", "printed"): lambda L, eta, mu, **_: [
        (L * eta, 1),
        (mu / 2, mu),
        (mu, L),
    ],
    ("bottou2018.theorem_4_7", "printed"): lambda L, eta, mu, offset, **_: [
        (L * eta, 1),
        (1, mu * eta * offset),
        (1, offset),
        (mu / 2, mu),
        (mu, L),
    ],
    ("bottou2018.theorem_4_8", "printed"): lambda L, eta, **_: [(L * eta, 1)],
}
SCHEDULES = {}
LABELS = {key: (f"{key}:{variant}",) for key, variant in TERMS}
ROUNDS = {
    (f"bottou2018.theorem_4_{k}", "printed"): ("last", range(10, 11), 0) for k in (6, 7)
}
