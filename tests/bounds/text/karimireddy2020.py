"""SCAFFOLD's appendix, typed from the formal statement: nothing here knows SymPy or the
package.

Lemma 15, summed, h <= 1/(81 beta), mu = 0: "V_0/(h W_T) + 12 h sigma^2/(K S) (1 +
S/eta_g^2)", W_T = T, V_0 = "||x^0 - x*||^2 + 9 N h^2/S C_0", C_0 = "N^-1 sum_i ||c_i^0
- grad f_i(x*)||^2", h = K eta_l eta_g; S = N = m of ours, eta_g = 1.
"""

from __future__ import annotations


def convex(T, K, m, eta, sigma_l, x_star_sq, sigma_star, **_):
    S = N = m
    eta_g, C_0 = 1, sigma_star**2
    step = K * eta * eta_g
    return {
        "optimization": x_star_sq / (step * T),
        "heterogeneity": 9 * N * step**2 / S * C_0 / (step * T),
        "noise": 12 * step * sigma_l**2 / (K * S) * (1 + S / eta_g**2),
    }


KEY = "karimireddy2020.convex", "lemmas"
TERMS = {KEY: convex}
CONDITIONS = {
    KEY: lambda K, eta, L, mu_each, **_: [(81 * L * K * eta, 1), (mu_each, L)]
}
SCHEDULES = {}
LABELS = {
    "Algorithm 1": ("algorithms:SCAFFOLD",),
    "Lemma 15, summed": ("karimireddy2020.convex:lemmas",),
}
