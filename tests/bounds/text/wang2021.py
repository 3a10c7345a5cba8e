"""Wang et al. 2021, Section 6.1.2, typed from the formal statements, by nothing of
SymPy or the package.

Lemma 1: "E[A_t] <= (||x^{t,0} - x*||^2 - E||x^{t,tau} - x*||^2)/(2 eta tau) + eta
sigma^2/M + L/(M tau) sum_i sum_k E||x_i^{t,k} - xbar^{t,k}||^2".  Lemma 2: "<= 18 tau^2
eta^2 zeta^2 + 4 tau eta^2 sigma^2".  Theorem 1, eta <= 1/(4L): "D^2/(2 eta tau T) + eta
sigma^2/M + 4 tau eta^2 L sigma^2 + 18 tau^2 eta^2 L zeta^2".  (16): "min{1/(4L),
sqrt(M) D/(sqrt(tau) sqrt(T) sigma), D^(2/3)/(tau^(2/3) T^(1/3) L^(1/3) sigma^(2/3)),
D^(2/3)/ (tau T^(1/3) L^(1/3) zeta^(2/3))}".  (17): "2LD^2/(tau T) + 2 sigma D/sqrt(M
tau T) + 5 L^(1/3) sigma^(2/3) D^(4/3)/(tau^(1/3) T^(2/3)) + 19 L^(1/3) zeta^(2/3)
D^(4/3)/T^(2/3)".  T of ours is tau T of theirs.
"""

from __future__ import annotations


def lemma_1(m, K, eta, L, sigma_l, dist_before, dist_after, V_bar, **_):
    M, tau, sigma = m, K, sigma_l
    return {
        "before": dist_before / (2 * eta * tau),
        "after": -dist_after / (2 * eta * tau),
        "noise": eta * sigma**2 / M,
        "consensus": L / (M * tau) * (M * tau * V_bar),
    }


def lemma_2(K, eta, sigma_l, beta, **_):
    tau, sigma, zeta = K, sigma_l, beta
    return {
        "heterogeneity": 18 * tau**2 * eta**2 * zeta**2,
        "drift": 4 * tau * eta**2 * sigma**2,
    }


def theorem_1(T, m, K, eta, L, sigma_l, beta, x_star_sq, **_):
    M, tau, rounds = m, K, T / K
    return {
        "optimization": x_star_sq / (2 * eta * tau * rounds),
        "noise": eta * sigma_l**2 / M,
        "drift": 4 * tau * eta**2 * L * sigma_l**2,
        "heterogeneity": 18 * tau**2 * eta**2 * L * beta**2,
    }


def tuned(T, m, K, L, sigma_l, beta, x_star_sq, **_):
    D, tau, rounds = x_star_sq**0.5, K, T / K
    return {
        "optimization": 2 * L * D**2 / (tau * rounds),
        "noise": 2 * sigma_l * D / (m * tau * rounds) ** 0.5,
        "drift": (
            5
            * L ** (1 / 3)
            * sigma_l ** (2 / 3)
            * D ** (4 / 3)
            / (tau ** (1 / 3) * rounds ** (2 / 3))
        ),
        "heterogeneity": (
            19 * L ** (1 / 3) * beta ** (2 / 3) * D ** (4 / 3) / rounds ** (2 / 3)
        ),
    }


def step(T, m, K, L, sigma_l, beta, x_star_sq, **_):
    D, tau, rounds, third = x_star_sq**0.5, K, T / K, 1 / 3
    few = D ** (2 / 3) / (rounds * L) ** third
    return {
        "eta": min(
            1 / (4 * L),
            m**0.5 * D / (tau**0.5 * rounds**0.5 * sigma_l),
            few / (tau ** (2 / 3) * sigma_l ** (2 / 3)),
            few / (tau * beta ** (2 / 3)),
        )
    }


def small(L, eta, mu_each, **_):
    return [(4 * L * eta, 1), (mu_each, L)]


TERMS = {
    (f"wang2021.{f.__name__}", "printed"): f
    for f in (lemma_1, lemma_2, theorem_1, tuned)
}
CONDITIONS = {
    (f"wang2021.{name}", "printed"): small
    for name in ("lemma_1", "lemma_2", "theorem_1")
} | {
    ("wang2021.tuned", "printed"): lambda sigma_l, beta, x_star_sq, mu_each, L, **_: [
        *((x / 2, x) for x in (sigma_l, beta, x_star_sq)),
        (mu_each, L),
    ],
}
SCHEDULES = {("wang2021.tuned", "printed"): step}
LABELS = {
    "Lemma 1": ("wang2021.lemma_1:printed",),
    "Lemma 2": ("wang2021.lemma_2:printed",),
    "Theorem 1, (15)": ("wang2021.theorem_1:printed",),
    "Theorem 1, (16) and (17)": ("wang2021.tuned:printed",),
    "(11) to (14)": ("algorithms:LocalSGD",),
}
ROUNDS = {("wang2021.theorem_1", "printed"): ("mean", range(1, 11), 0)}
