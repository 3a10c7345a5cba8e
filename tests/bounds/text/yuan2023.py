"""Yuan, Alghunaim and Huang 2023 (D^2/Exact-Diffusion), typed from the paper's text:
nothing here knows SymPy or the package.

Lemma 10, (26): "1/(T+1) sum_{k=0}^T E||z(k)||_F^2 <= 32 n gamma^2 lb2^2 L/((1 -
beta_1)^2 (T+1)) sum_{k=0}^T (E f(xbar(k)) - f(x*)) + 8 n gamma^2 lb2^2 sigma^2/(1 -
beta_1) + 3 E||z(0)||_F^2/((1 - beta_1)(T+1))", where "gamma <= (1 - beta_1)
lbn^(1/2)/(4 lb2 L)", "beta_1 = lb2^(1/2), lb2 = (1 + lambda_2(W))/2, lbn = (1 +
lambda_n(W))/2".  (21), (17): x - xbar is c X_R,u z, and (c ||X_R||)^2 <= 1/lbn.
Proposition 7, (64): "||z(0)||_F^2 <= gamma^2 lb2^2/(1 - lb2) ||grad f(x*)||_F^2".
(82): "24 L gamma^2 lb2^2 sigma^2/((1 - beta_1) lbn) + 2 gamma sigma^2/n + 2
E||zbar(0)||^2/(gamma (T+1)) + 18 L gamma^2 lb2^2 ||grad f(x*)||_F^2/(n (T+1)(1 -
beta_1)(1 - beta) lbn)", where "gamma <= 1/(4L)" and "(1 - beta_1) lbn^(1/2)/(10 L
lb2)".  Theorem 11 and its last display with ||x0 - x*||; Theorem 18, (33): "sigma^2/(mu
n T) + L sigma^2/(mu^2 (1 - beta) T^2) + L exp{-mu (1 - beta) T/L}/(1 - beta)"; Theorem
22: "n/(1 - beta)".  Our lam_2 is lambda_2(W), lam_min lambda_n(W), lam beta.
"""

from __future__ import annotations

import math


def bars(lam_2, lam_min):
    """lb2, lbn and beta_1."""
    lb2 = 0.5 + 0.5 * lam_2
    return lb2, 0.5 + 0.5 * lam_min, lb2**0.5


def transformed(T, m, L, eta, sigma_l, lam_2, D_bar, z_start, **_):
    lb2, _, beta_1 = bars(lam_2, 0.0)
    return {
        "gap": 32 * m * (eta * lb2) ** 2 * L / (1 - beta_1) ** 2 * D_bar,
        "noise": 8 * m * (eta * lb2 * sigma_l) ** 2 / (1 - beta_1),
        "start": 3 * z_start / ((1 - beta_1) * (T + 1)),
    }


def of_the_clients(T, L, eta, sigma_l, sigma_star, lam_2, lam_min, D_bar, **_):
    """(26) over n lbn, from the start z(0) of Proposition 7; the same for every n."""
    lb2, lbn, _ = bars(lam_2, lam_min)
    n = 7
    start = (eta * lb2) ** 2 / (1 - lb2) * n * sigma_star**2
    terms = transformed(T, n, L, eta, sigma_l, lam_2, D_bar, start)
    return {name: value / (n * lbn) for name, value in terms.items()}


def display_82(T, m, L, eta, sigma_l, sigma_star, x_star_sq, lam, lam_2, lam_min, **_):
    lb2, lbn, beta_1 = bars(lam_2, lam_min)
    gradients = m * sigma_star**2
    return {
        "network": 24 * L * (eta * lb2 * sigma_l) ** 2 / ((1 - beta_1) * lbn),
        "noise": 2 * eta * sigma_l**2 / m,
        "optimization": 2 * x_star_sq / (eta * (T + 1)),
        "heterogeneity": 18
        * L
        * (eta * lb2) ** 2
        * gradients
        / (m * (T + 1) * (1 - beta_1) * (1 - lam) * lbn),
    }


def composed(**values):
    """Lemma 10 of the clients, its mean gap replaced by (82)."""
    gap = math.fsum(display_82(**values).values())
    return of_the_clients(D_bar=gap, **values)


def theorem_11(T, m, L, sigma_l, sigma_star, x_star_sq, lam, **_):
    distance, b = x_star_sq**0.5, sigma_star
    return {
        "noise": sigma_l * distance / (m * T) ** 0.5,
        "network": (L * sigma_l**2 * distance**4 / ((1 - lam) * T**2)) ** (1 / 3),
        "heterogeneity": (L * b**2 * distance**4 / (1 - lam) ** 2) ** (1 / 3) / T,
        "optimization": L * distance**2 / ((1 - lam) * T),
    }


def theorem_18(T, m, L, sigma_l, mu_each, x_star_sq, lam, **_):
    mu, gap = mu_each, 1 - lam
    return {
        "noise": sigma_l**2 / (mu * m * T),
        "network": L * sigma_l**2 / (mu**2 * gap * T**2),
        "optimization": L * x_star_sq * math.exp(-mu * gap / L * T) / gap,
    }


def theorem_22(m, lam, **_):
    return {"transient": m / (1 - lam)}


def limit(lam_2, lam_min, L, factor):
    lb2, lbn, beta_1 = bars(lam_2, lam_min)
    return (1 - beta_1) * lbn**0.5 / (factor * lb2 * L)


def when_lemma_10(eta, L, lam_2, lam_min, mu_each, **_):
    return [(eta, limit(lam_2, lam_min, L, 4)), (mu_each, L)]


def when_82(eta, L, lam_2, lam_min, mu_each, **_):
    return [
        (eta, 1 / (4 * L)),
        (eta, limit(lam_2, lam_min, L, 10)),
        (mu_each, L),
    ]


def when_convex(L, mu_each, **_):
    return [(mu_each, L)]


def when_strongly_convex(L, mu_each, **_):
    return [(mu_each / 2, mu_each), (mu_each, L)]


TERMS = {
    ("yuan2023.lemma_10", "printed"): transformed,
    ("yuan2023.lemma_10", "restated"): of_the_clients,
    ("yuan2023.consensus", "composed"): composed,
    ("yuan2023.theorem_11", "appendix"): display_82,
    ("yuan2023.theorem_11", "restated"): theorem_11,
    ("yuan2023.theorem_18", "restated"): theorem_18,
    ("yuan2023.theorem_22", "printed"): theorem_22,
}
CONDITIONS = {
    ("yuan2023.lemma_10", "printed"): when_lemma_10,
    ("yuan2023.lemma_10", "restated"): when_lemma_10,
    ("yuan2023.consensus", "composed"): when_82,
    ("yuan2023.theorem_11", "appendix"): when_82,
    ("yuan2023.theorem_11", "restated"): when_convex,
    ("yuan2023.theorem_18", "restated"): when_strongly_convex,
}
SCHEDULES = {}
ROUNDS = {
    ("yuan2023.consensus", "composed"): ("mean", range(11), 0),
    ("yuan2023.theorem_11", "appendix"): ("mean", range(11), 0),
}
LABELS = {
    "Lemma 10, (26)": (
        "yuan2023.lemma_10:printed",
        "yuan2023.lemma_10:restated",
        "yuan2023.consensus:composed",
    ),
    "Theorem 11": ("yuan2023.theorem_11:restated",),
    "(82)": ("yuan2023.theorem_11:appendix",),
    "Theorem 18, (33)": ("yuan2023.theorem_18:restated",),
    "Theorem 22": ("yuan2023.theorem_22:printed",),
}
