"""Theorem 1 of Li et al. 2020, typed from its text: nothing here knows SymPy or the
package.

"E[F(w_T)] - F* <= kappa/(gamma + T - 1) (2B/mu + (mu gamma/2) E||w_1 - w*||^2), B =
sum_k p_k^2 sigma_k^2 + 6 L Gamma + 8 (E - 1)^2 G^2", with kappa = L/mu, gamma = max{8
kappa, E}, eta_t = 2/(mu (gamma + t)). There N is our m, E our K, G^2 our S2, and p_k =
1/N; w_1 is the first iterate, so that T - 1 steps are K T of ours.
"""

from __future__ import annotations


def theorem_1(L, mu_each, K, T, m, sigma_l, S2, Gamma, x_star_sq, **_):
    mu = mu_each
    kappa, last = L / mu, K * T + 1
    gamma = max(8 * kappa, K)
    before = kappa / (gamma + last - 1)
    p = 1 / m
    variances = m * p * p * sigma_l * sigma_l
    return {
        "optimization": before * (mu * gamma / 2) * x_star_sq,
        "noise": before * (2 / mu) * variances,
        "heterogeneity": before * (2 / mu) * 6 * L * Gamma,
        "drift": before * (2 / mu) * 8 * (K - 1) * (K - 1) * S2,
    }


def conditions(L, mu_each, K, eta, offset, **_):
    mu = mu_each
    gamma = max(8 * L / mu, K)
    step = 2 / (mu * (gamma + 1))  # eta_1
    return [
        (mu / 2, mu),
        (mu, L),
        (eta, step),
        (step, eta),
        (offset, gamma + 1),
        (gamma + 1, offset),
    ]


TERMS = {("li2020.theorem_1", "printed"): theorem_1}
CONDITIONS = {("li2020.theorem_1", "printed"): conditions}
SCHEDULES = {}
LABELS = {"Theorem 1": ("li2020.theorem_1:printed",)}
ROUNDS = dict.fromkeys(TERMS, ("last", range(10, 11), 0))
