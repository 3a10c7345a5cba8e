"""Nesterov 2018, typed from pictures of pages 80 and 81: nothing here knows SymPy or
the package.

"f(x_k) - f* <= 2 (f(x_0) - f*) ||x_0 - x*||^2/(2 ||x_0 - x*||^2 + k h (2 - L h) (f(x_0)
- f*))", 0 < h < 2/L; "If h = 1/L ..., then f(x_k) - f* <= 2 L ||x_0 - x*||^2/(k + 4)".
"""

from __future__ import annotations


def theorem(T, eta, L, f0_gap, x_star_sq, **_):
    gap, k, h = f0_gap, T, eta
    return {"optimization": 1 / (1 / gap + k * h * (2 - L * h) / (2 * x_star_sq))}


def corollary(T, L, x_star_sq, **_):
    return {"optimization": L * x_star_sq / (0.5 * T + 2)}


TERMS = {
    ("nesterov2018.theorem_2_1_14", "printed"): theorem,
    ("nesterov2018.corollary_2_1_2", "printed"): corollary,
}
CONDITIONS = {
    (
        "nesterov2018.theorem_2_1_14",
        "printed",
    ): lambda L, eta, mu, sigma_l, x_star_sq, **_: [
        (L * eta, 2),
        (x_star_sq / 2, x_star_sq),
        (mu, L),
        (2 * sigma_l, sigma_l),
    ],
    ("nesterov2018.corollary_2_1_2", "printed"): lambda L, mu, sigma_l, **_: [
        (mu, L),
        (2 * sigma_l, sigma_l),
    ],
}
SCHEDULES = {("nesterov2018.corollary_2_1_2", "printed"): lambda L, **_: {"eta": 1 / L}}
LABELS = {
    "Theorem 2.1.14": ("nesterov2018.theorem_2_1_14:printed",),
    "Corollary 2.1.2": ("nesterov2018.corollary_2_1_2:printed",),
}
ROUNDS = {
    (f"nesterov2018.{name}", "printed"): ("last", range(10, 11), 0)
    for name in ("theorem_2_1_14", "corollary_2_1_2")
}
