"""Bubeck 2015, typed from the copy of its text: nothing here knows SymPy or the
package.

"Theorem 3.7 ... f(x_t) - f(x*) <= (3 beta ||x_1 - x*||^2 + f(x_1) - f(x*))/t"; "Theorem
3.10 ... ||x_{t+1} - x*||^2 <= exp(-t/kappa) ||x_1 - x*||^2"; "Theorem 3.12 ...
f(x_{t+1}) - f(x*) <= beta/2 exp(-4t/(kappa+1)) ||x_1 - x*||^2"; "Theorem 3.14 ... min
over 1 <= s <= t of f(x_s) - f(x*) >= 3 beta/32 ||x_1 - x*||^2/(t+1)^2"; "Theorem 3.15
... f(x_t) - f(x*) >= alpha/2 ((sqrt(kappa)-1)/(sqrt(kappa)+1))^(2(t-1)) ||x_1 -
x*||^2". T steps lead from x_1 to x_(T+1).
"""

from __future__ import annotations

import math


def theorem_3_7(T, L, x_star_sq, f0_gap, **_):
    t = T + 1
    return {"optimization": (3 * L * x_star_sq + f0_gap) / t}


def theorem_3_10(T, L, mu, x_star_sq, **_):
    return {"optimization": math.e ** (-T * mu / L) * x_star_sq}


def theorem_3_12(T, L, mu, x_star_sq, **_):
    return {"optimization": 0.5 * L * math.e ** (-4 * T * mu / (L + mu)) * x_star_sq}


def theorem_3_14(T, L, x_star_sq, **_):
    t = T + 1
    return {"optimization": 3 * L / 32 * x_star_sq / (t + 1) ** 2}


def theorem_3_15(T, L, mu, x_star_sq, **_):
    t, root = T + 1, (L / mu) ** 0.5
    return {
        "optimization": mu / 2 * ((root - 1) / (root + 1)) ** (2 * (t - 1)) * x_star_sq
    }


TERMS = {
    (f"bubeck2015.{f.__name__}", "printed"): f
    for f in (theorem_3_7, theorem_3_10, theorem_3_12, theorem_3_14, theorem_3_15)
}
CONDITIONS = {
    ("bubeck2015.theorem_3_7", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (eta, 1 / L),
        (1 / L, eta),
        (mu, L),
        (2 * sigma_l, sigma_l),
    ],
    ("bubeck2015.theorem_3_10", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (eta, 1 / L),
        (1 / L, eta),
        (mu / 2, mu),
        (mu, L),
        (2 * sigma_l, sigma_l),
    ],
    ("bubeck2015.theorem_3_12", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (eta, 2 / (mu + L)),
        (2 / (mu + L), eta),
        (mu / 2, mu),
        (mu, L),
        (2 * sigma_l, sigma_l),
    ],
    ("bubeck2015.theorem_3_14", "printed"): lambda L, mu, **_: [(mu, L)],
    ("bubeck2015.theorem_3_15", "printed"): lambda L, mu, **_: [(mu / 2, mu), (mu, L)],
}
SCHEDULES = {}
LABELS = {key.split(".")[1]: (f"{key}:{variant}",) for key, variant in TERMS}
ROUNDS = {
    (f"bubeck2015.{name}", "printed"): ("last", range(10, 11), 0)
    for name in ("theorem_3_7", "theorem_3_10", "theorem_3_12")
}
