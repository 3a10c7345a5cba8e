"""Koloskova et al. 2021 as submitted, typed from the copy of its text: nothing here
knows the package.

"(7) O~(sigma^2/(mu n T) + L sigma^2/(mu^2 p c^2 T^2) + (L R_0/(p c)) exp[-mu p c
T/L])"; "(8) O~(sqrt(R_0^2 sigma^2/(n T)) + (sigma sqrt(L) R_0^2/(sqrt(p) c T))^(2/3) +
L R_0^2/(p c T))"; p = 1 - max(|lambda_2|, |lambda_n|)^2, c = 1 - |lambda_n|^2, "if T >
(2/p) log((50/p)(1 + log(1/p)))".  "(13) E||xbar^(t+1) - x*||^2 <= (1 - gamma mu/2)
||xbar^(t) - x*||^2 + gamma^2 sigma^2/n - gamma e_t + gamma (3 L/n) sum_i ||xbar^(t) -
x_i^(t)||^2", gamma <= 1/(12 L).
"""

from __future__ import annotations

import math


def gaps(lam, lam_min):
    return (1 - lam) * (1 + lam), (1 - lam_min) * (1 + lam_min)


def strongly_convex(T, m, L, sigma_l, mu_each, lam, lam_min, x_star_sq, **_):
    (p, c), mu = gaps(lam, lam_min), mu_each
    return {
        "noise": sigma_l**2 / mu / m / T,
        "network": L / p * (sigma_l / (mu * c * T)) ** 2,
        "optimization": L * x_star_sq**0.5 / (p * c) * math.e ** (-mu * p * c * T / L),
    }


def convex(T, m, L, sigma_l, lam, lam_min, x_star_sq, **_):
    p, c = gaps(lam, lam_min)
    return {
        "noise": (x_star_sq / (m * T)) ** 0.5 * sigma_l,
        "network": (sigma_l**2 * L * x_star_sq**2 / (p * c**2 * T**2)) ** (1 / 3),
        "optimization": L * x_star_sq / (p * c * T),
    }


def lemma_5(m, eta, L, sigma_l, mu_each, dist_now, gap_now, Xi, **_):
    return {
        "start": dist_now - eta * mu_each * dist_now / 2,
        "noise": eta * eta * sigma_l * sigma_l / m,
        "descent": -eta * gap_now,
        "consensus": eta * 3 * L * Xi,
    }


def long(T, lam):
    p = gaps(lam, 0.0)[0]
    return 2 / p * math.log(50 / p * (1 + math.log(1 / p))), T


TERMS = {
    (f"koloskova2021.{f.__name__}", "submitted"): f
    for f in (strongly_convex, convex, lemma_5)
}
CONDITIONS = {
    ("koloskova2021.strongly_convex", "submitted"): lambda T, L, mu_each, lam, **_: [
        long(T, lam),
        (mu_each / 2, mu_each),
        (mu_each, L),
    ],
    ("koloskova2021.convex", "submitted"): lambda T, L, mu_each, lam, **_: [
        long(T, lam),
        (mu_each, L),
    ],
    ("koloskova2021.lemma_5", "submitted"): lambda L, eta, mu_each, **_: [
        (12 * L * eta, 1),
        (mu_each, L),
    ],
}
SCHEDULES = {}
LABELS = {
    "Theorem 1, (7)": ("koloskova2021.strongly_convex:submitted",),
    "Theorem 1, (8)": ("koloskova2021.convex:submitted",),
    "Lemma 5": ("koloskova2021.lemma_5:submitted",),
}
