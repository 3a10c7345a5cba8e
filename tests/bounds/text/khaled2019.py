"""Khaled et al. 2019, typed from the text: nothing here knows SymPy or the package.

Theorem 1: "f(xbar_T) - f(x_*) <= 2||x_0 - x_*||^2/(gamma T) + 24 gamma^2 sigma^2 H^2
L", gamma <= 1/(4LH). Corollary 1: "Choose H such that H <= sqrt(T)/sqrt(M), then gamma
= sqrt(M)/(4L sqrt(T)) <= 1/(4HL), and ... 8L||x_0 - x_*||^2/sqrt(MT) + 3M sigma^2
H^2/(2LT)".  Lemma 1: "||r_{t+1}||^2 <= ||r_t||^2 + gamma L(1 + 2 gamma L) V_t - 2
gamma(1 - 2 gamma L) D_f(xhat_t, x_*)".  Lemma 2: "sum_t V_t <= 5 L gamma^2 H^2 sum_i
D_f(xhat_i, x_*) + sum_i 8 gamma^2 H^2 sigma^2".  sigma^2 = (1/M) sum_m ||grad
f_m(x_*)||^2; M is our m, H K.
"""

from __future__ import annotations


def theorem_1(L, K, T, eta, x_star_sq, sigma_star, **_):
    gamma, H, sigma = eta, K, sigma_star
    return {
        "optimization": 2 * x_star_sq / (gamma * T),
        "heterogeneity": 24 * gamma * gamma * sigma * sigma * H * H * L,
    }


def corollary_1(L, K, T, m, x_star_sq, sigma_star, **_):
    M, H = m, K
    return {
        "optimization": 8 * L * x_star_sq / (M * T) ** 0.5,
        "heterogeneity": 3 * M * sigma_star**2 * H**2 / (2 * L * T),
    }


def lemma_1(L, eta, Xi, dist_now, gap_now, **_):
    gL = eta * L
    return {
        "start": dist_now,
        "consensus": gL * (1 + 2 * gL) * Xi,
        "descent": -2 * eta * (1 - 2 * gL) * gap_now,
    }


def lemma_2(L, K, eta, D_bar, sigma_star, **_):
    step = eta * K
    return {
        "optimization": 5 * L * step * step * D_bar,
        "heterogeneity": 8 * step * step * sigma_star**2,
    }


def clients(L, mu_each, sigma_l, **_):
    return [(mu_each, L), (2 * sigma_l, sigma_l)]


def step(L, K, eta, **rest):
    return [(4 * L * K * eta, 1), *clients(L=L, **rest)]


def few_steps(K, T, m, **rest):
    return [(K, (T / m) ** 0.5), *clients(**rest)]


_KEYS = {
    "theorem_1": "lemmas",
    "corollary_1": "lemmas",
    "lemma_1": "printed",
    "lemma_2": "printed",
}
TERMS = {
    (f"khaled2019.{name}", variant): globals()[name] for name, variant in _KEYS.items()
}
CONDITIONS = {
    ("khaled2019.theorem_1", "lemmas"): step,
    ("khaled2019.corollary_1", "lemmas"): few_steps,
    ("khaled2019.lemma_1", "printed"): clients,
    ("khaled2019.lemma_2", "printed"): step,
}
SCHEDULES = {
    ("khaled2019.corollary_1", "lemmas"): lambda L, T, m, **_: {
        "eta": m**0.5 / (4 * L * T**0.5)
    },
}
LABELS = {
    "Assumption 1": ("khaled2019.theorem_1:lemmas@every $f_m$",),
    "Algorithm 1": ("algorithms:LocalSGD",),
    "Lemma 1": ("khaled2019.lemma_1:printed",),
    "Lemma 2": ("khaled2019.lemma_2:printed",),
    "Theorem 1": ("khaled2019.theorem_1:lemmas",),
    "Corollary 1": ("khaled2019.corollary_1:lemmas",),
}
