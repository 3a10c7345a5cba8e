"""Wang and Joshi 2021 (Cooperative SGD), typed from the paper's text: nothing here
knows SymPy or the package.

Theorem 1 without auxiliary variables: "2[F(u_1) - F_inf]/(eta K) + eta L sigma^2/m +
eta^2 L^2 sigma^2 ((1 + zeta^2)/(1 - zeta^2) tau - 1)", where "eta L + 5 eta^2 L^2
(tau/(1 - zeta))^2 <= 1".  Theorem 2: twice that "+ C kappa^2", where "C = 6 eta^2 L^2
tau^2/(1 - zeta) (2 zeta^2/(1 + zeta) + 2 zeta/(1 - zeta) + (tau - 1)/tau) <= 1/2" and
"eta L <= 1".  Corollary 1: "(2L[F(u_1) - F_inf] + sigma^2)/sqrt(m K) + m/K ((1 +
zeta^2)/(1 - zeta^2) tau - 1) sigma^2", where "10 m (tau/(1 - zeta))^2 <= K"; and
"2[L(F(u_1) - F_inf) + sigma^2]/sqrt(m K)", where also "m^2 m (tau/(1 - zeta))^2 <= K".
Corollaries 2 and 3 are typed one by one below. Their K is our T, tau our K, zeta lam.
"the total number of iterations K can be divided by the communication period tau".
"""

from __future__ import annotations

import math


def spread(zeta, tau):
    return (1 + zeta**2) / (1 - zeta**2) * tau - 1


def iid(steps, m, tau, zeta, eta, L, sigma, gap):
    return (
        2 * gap / (eta * steps),
        eta * L * sigma**2 / m,
        (eta * L * sigma) ** 2 * spread(zeta, tau),
    )


def dissimilarity(eta, L, tau, zeta):
    inner = 2 * zeta**2 / (1 + zeta) + 2 * zeta / (1 - zeta) + (tau - 1) / tau
    return 6 * (eta * L * tau) ** 2 / (1 - zeta) * inner


def theorem_1(T, m, lam, eta, L, sigma_l, f0_gap, **_):
    first, second, third = iid(T, m, 1, lam, eta, L, sigma_l, f0_gap)
    return {"optimization": first, "noise": second, "network": third}


def theorem_1_exact(T, m, K, eta, L, sigma_l, f0_gap, **_):
    first, second, third = iid(T, m, K, 0, eta, L, sigma_l, f0_gap)
    return {"optimization": first, "noise": second, "drift": third}


def theorem_2(sigma_g, lam, eta, L, **values):
    common = theorem_1(lam=lam, eta=eta, L=L, **values)
    return {name: 2 * value for name, value in common.items()} | {
        "heterogeneity": dissimilarity(eta, L, 1, lam) * sigma_g**2
    }


def theorem_2_exact(sigma_g, K, eta, L, **values):
    common = theorem_1_exact(K=K, eta=eta, L=L, **values)
    return {name: 2 * value for name, value in common.items()} | {
        "heterogeneity": dissimilarity(eta, L, K, 0) * sigma_g**2
    }


def theorem_1_network(T, m, K, lam, eta, L, sigma_l, f0_gap, **_):
    first, second, third = iid(T, m, K, lam, eta, L, sigma_l, f0_gap)
    return {"optimization": first, "noise": second, "network": third}


def theorem_2_network(sigma_g, K, lam, eta, L, **values):
    common = theorem_1_network(K=K, lam=lam, eta=eta, L=L, **values)
    return {name: 2 * value for name, value in common.items()} | {
        "heterogeneity": dissimilarity(eta, L, K, lam) * sigma_g**2
    }


def theorem_3(T, m, K, eta, L, sigma_l, f0_gap, **_):
    """(23): eta_eff = m/(m + v) eta with v = 1, C = 1 + 2 (1 + 1/m)^2."""
    eff = m / (m + 1) * eta
    C = 1 + 2 * (1 + 1 / m) ** 2
    return {
        "optimization": 2 * f0_gap / (eff * T),
        "noise": eff * L * sigma_l**2 / m,
        "network": 0.5 * eff**2 * L**2 * sigma_l**2 * (m + 1) * (1 + C * (K - 1)),
    }


def synchronous(steps, m, L, sigma, gap):
    return (2 * L * gap + sigma**2) / math.sqrt(m * steps)


def corollary_1(T, m, lam, L, sigma_l, f0_gap, **_):
    return {
        "synchronous": synchronous(T, m, L, sigma_l, f0_gap),
        "network": m / T * spread(lam, 1) * sigma_l**2,
    }


def corollary_1_network(T, m, K, lam, L, sigma_l, f0_gap, **_):
    return {
        "synchronous": synchronous(T, m, L, sigma_l, f0_gap),
        "network": m / T * spread(lam, K) * sigma_l**2,
    }


def corollary_1_long(T, m, L, sigma_l, f0_gap, **_):
    root = math.sqrt(m * T)
    return {"optimization": 2 * L * f0_gap / root, "noise": 2 * sigma_l**2 / root}


corollary_1_network_long = corollary_1_long


def corollary_2(T, m, K, eta, L, sigma_l, f0_gap, **_):
    return {
        "optimization": 2 * f0_gap / (eta * T),
        "noise": eta * L * sigma_l**2 / m,
        "drift": eta**2 * L**2 * sigma_l**2 * (K - 1),
    }


def corollary_2_tuned(T, m, K, L, sigma_l, f0_gap, **_):
    return {
        "synchronous": synchronous(T, m, L, sigma_l, f0_gap),
        "drift": m * (K - 1) * sigma_l**2 / T,
    }


def corollary_3(T, m, lam, eta, L, sigma_l, f0_gap, **_):
    return {
        "optimization": 2 * f0_gap / (eta * T),
        "noise": eta * L * sigma_l**2 / m,
        "network": eta**2 * L**2 * sigma_l**2 * (2 * lam**2 / (1 - lam**2)),
    }


def corollary_3_tuned(T, m, lam, L, sigma_l, f0_gap, **_):
    return {
        "synchronous": synchronous(T, m, L, sigma_l, f0_gap),
        "network": m * sigma_l**2 / T * (2 * lam**2 / (1 - lam**2)),
    }


def step_of_theorem_1(eta, L, tau, zeta):
    return (eta * L + 5 * eta**2 * L**2 * (tau / (1 - zeta)) ** 2, 1)


def when_theorem_1(eta, L, lam, sigma_g, **_):
    return [step_of_theorem_1(eta, L, 1, lam), (sigma_g, 0)]


def when_theorem_1_exact(K, eta, L, sigma_g, **_):
    return [step_of_theorem_1(eta, L, K, 0), (sigma_g, 0)]


def when_theorem_2(eta, L, lam, **_):
    return [(eta * L, 1), (dissimilarity(eta, L, 1, lam), 0.5)]


def when_theorem_2_exact(K, eta, L, **_):
    return [(eta * L, 1), (dissimilarity(eta, L, K, 0), 0.5)]


def when_corollary_1(T, m, lam, sigma_g, **_):
    return [(10 * m / (1 - lam) ** 2, T), (sigma_g, 0)]


def when_corollary_1_long(T, m, lam, sigma_g, **_):
    return [
        (10 * m / (1 - lam) ** 2, T),
        (m**2 * m / (1 - lam) ** 2, T),
        (sigma_g, 0),
    ]


def periods(T, K):
    """K*floor(T/K) >= T, where floor(T/K) is at most T/K."""
    return (0.0, K * math.floor(T / K) - T)


def when_theorem_1_network(T, K, eta, L, lam, sigma_g, **_):
    return [step_of_theorem_1(eta, L, K, lam), (sigma_g, 0), periods(T, K)]


def when_theorem_2_network(T, K, eta, L, lam, **_):
    return [
        (eta * L, 1),
        (dissimilarity(eta, L, K, lam), 0.5),
        periods(T, K),
    ]


def when_theorem_3(T, m, K, eta, L, sigma_g, **_):
    """(16) with v = 1 and zeta = m/(m + 2)."""
    eff, gap = m / (m + 1) * eta, 1 - m / (m + 2)
    left = eff * L + 5 * eff**2 * L**2 * ((1 + 1 / m) * K / gap) ** 2
    return [(left, 1), (sigma_g, 0), periods(T, K)]


def when_corollary_1_network(T, m, K, lam, sigma_g, **_):
    return [(10 * m * (K / (1 - lam)) ** 2, T), (sigma_g, 0), periods(T, K)]


def when_corollary_1_network_long(T, m, K, lam, sigma_g, **_):
    return [
        (10 * m * (K / (1 - lam)) ** 2, T),
        (m**2 * m * (K / (1 - lam)) ** 2, T),
        (sigma_g, 0),
        periods(T, K),
    ]


def when_corollary_2(K, eta, L, sigma_g, **_):
    return [
        (eta * L + eta**2 * L**2 * K * (K - 1), 1),
        (sigma_g, 0),
    ]


def when_corollary_2_tuned(T, m, K, sigma_g, **_):
    return [(10 * m * K**2, T), (sigma_g, 0)]


def when_corollary_3(eta, L, lam, sigma_g, **_):
    factor = 2 * lam / (1 - lam) * (lam / (1 + lam) + 1 / (1 - lam))
    return [(eta * L + eta**2 * L**2 * factor, 1), (sigma_g, 0)]


when_corollary_3_tuned = when_corollary_1


def step(T, m, L, **_):
    return {"eta": math.sqrt(m / T) / L}


_NAMES = [
    "theorem_1",
    "theorem_1_exact",
    "theorem_1_network",
    "corollary_1",
    "corollary_1_long",
    "corollary_1_network",
    "corollary_1_network_long",
    "theorem_2",
    "theorem_2_network",
    "theorem_3",
    "theorem_2_exact",
    "corollary_2",
    "corollary_2_tuned",
    "corollary_3",
    "corollary_3_tuned",
]
_RESTATED = {"theorem_1_exact", "theorem_2_exact", "corollary_2", "corollary_2_tuned"}


def _variant(name: str) -> str:
    """Restated: T need not be a multiple of tau."""
    return "restated" if name in _RESTATED else "printed"


TERMS = {(f"wang_joshi2021.{name}", _variant(name)): globals()[name] for name in _NAMES}
CONDITIONS = {
    (f"wang_joshi2021.{name}", _variant(name)): globals()[f"when_{name}"]
    for name in _NAMES
}
SCHEDULES = {
    (f"wang_joshi2021.{name}", _variant(name)): step
    for name in (
        "corollary_1",
        "corollary_1_long",
        "corollary_1_network",
        "corollary_1_network_long",
        "corollary_2_tuned",
        "corollary_3_tuned",
    )
}
LABELS = {
    "Theorem 1": (
        "wang_joshi2021.theorem_1:printed",
        "wang_joshi2021.theorem_1_exact:restated",
        "wang_joshi2021.theorem_1_network:printed",
    ),
    "Corollary 1, (18)": (
        "wang_joshi2021.corollary_1:printed",
        "wang_joshi2021.corollary_1_network:printed",
    ),
    "Corollary 1, after (19)": (
        "wang_joshi2021.corollary_1_long:printed",
        "wang_joshi2021.corollary_1_network_long:printed",
    ),
    "Theorem 2": (
        "wang_joshi2021.theorem_2:printed",
        "wang_joshi2021.theorem_2_exact:restated",
        "wang_joshi2021.theorem_2_network:printed",
    ),
    "Theorem 3, (23)": ("wang_joshi2021.theorem_3:printed",),
    "Corollary 2, (24)": ("wang_joshi2021.corollary_2:restated",),
    "Corollary 2, (25)": ("wang_joshi2021.corollary_2_tuned:restated",),
    "Corollary 3, (27)": ("wang_joshi2021.corollary_3:printed",),
    "Corollary 3, (28)": ("wang_joshi2021.corollary_3_tuned:printed",),
    "(10)": (
        "algorithms:DPSGD",
        "algorithms:LocalSGD",
        "algorithms:CooperativeSGD",
        "algorithms:EASGD",
    ),
}
