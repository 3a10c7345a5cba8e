"""DFedSAM's formulas, typed from the paper's text in plain floats: nothing here knows SymPy or the package.

Each entry: the named terms as a function of the glossary's names, and the conditions as (left, right) pairs.
"""

from __future__ import annotations

from math import sqrt


def bracket(K, L, rho, sigma_g, sigma_l, scale, tail):
    """2K(4K^3 L^2 [eta^2] rho^4/(2K-1) + 8K [eta^2](L^2 rho^2 + sg^2 + sl^2)) + tail * 2K rho^2/(2K-1)."""
    inner = 4 * K**3 * L * L * scale * rho**4 / (2 * K - 1)
    inner += 8 * K * scale * (L * L * rho * rho + sigma_g**2 + sigma_l**2)
    return 2 * K * inner + tail * 2 * K * rho * rho / (2 * K - 1)


def phi(lam, m, Q):
    p = lam**Q
    return (p + 1) / ((1 - lam) ** 2 * m ** (2 * (Q - 1))) + (p + 1) / (1 - p) ** 2


def denominator(eta, K, L):
    return eta * K - 32 * eta**3 * K**2 * L**2 - 6 * eta**2 * K * L


def theorem_4_5(m, K, T, Q, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
    d = denominator(eta, K, L)

    def alpha(rho, sigma_l, sigma_g, last):
        big = 4 * K**3 * L**2 * eta**2 * rho**4 / (2 * K - 1)
        big += 8 * K * eta**2 * (L**2 * rho**2 + sigma_g**2 + sigma_l**2) + rho**2 / (2 * K - 1)
        return eta * K * L / (2 * d) * (2 * K * L * big + eta * (L**2 * rho**2 + last))

    beta = eta**4 * K * L**3 * (16 * eta * K * L + 3) / d
    beta *= bracket(K, L, rho, sigma_g, sigma_l, 1.0, eta**-2)
    return {
        "optimization": 2 * f0_gap / (T * d),
        "noise": alpha(0.0, 0.0, 0.0, sigma_l**2),
        "drift": alpha(0.0, sigma_l, sigma_g, 0.0),
        "consensus": phi(lam, m, Q) * beta,
        "sharpness": alpha(rho, 0.0, 0.0, 0.0),
    }


def appendix_terms(network, K, T, eta, rho, L, sigma_l, sigma_g, f0_gap):
    d = denominator(eta, K, L)
    c3 = bracket(K, L, rho, sigma_g, sigma_l, 1.0, eta**-2)
    return {
        "optimization": 2 * f0_gap / (T * d),
        "noise": 3 * eta**2 * K * L / 2 * sigma_l**2 / d,
        "drift": eta * L**2 * K * bracket(K, L, 0.0, sigma_g, sigma_l, eta**2, 1.0) / 2 / d,
        "consensus": eta**4 * K * L**3 * c3 * (16 * eta * K * L + 3) * network / d,
        "sharpness": (
            eta * L**2 * K * bracket(K, L, rho, 0.0, 0.0, eta**2, 1.0) / 2
            + 3 * eta**2 * K * L / 2 * L**2 * rho**2
        )
        / d,
    }


def appendix(m, K, T, Q, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
    return appendix_terms(phi(lam, m, Q), K, T, eta, rho, L, sigma_l, sigma_g, f0_gap)


def appendix_q1(K, T, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
    return appendix_terms((1 - lam) ** -2, K, T, eta, rho, L, sigma_l, sigma_g, f0_gap)


def theorem_a(front):
    def terms(m, K, T, Q, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
        v, z = (sigma_l + L * rho) ** 2, (sigma_g + L * rho) ** 2
        step = eta * K * L
        leak = lam**Q / (1 - lam**Q)
        return {
            "optimization": 2.25 * f0_gap / eta / K / T,
            "noise": 2.25 * eta * L * v / m,
            "drift": step**2 * (K - 1) / K * (8 * z + 12 * v / K),
            "consensus": front * (step * leak) ** 2 * (z + v / K),
            "sharpness": 2.25 * (L * rho) ** 2,
        }

    return terms


def theorem_a_init(x0_spread, **v):
    start = 11 * v["L"] ** 2 * x0_spread / (1 - v["lam"] ** (2 * v["Q"])) / v["T"]
    return {**theorem_a(32)(**v), "initialization": start}


def tenth(eta, K, L, **_):
    return [(eta / 0.1 * K * L, 1)]


def mixing_step(share):
    def conditions(eta, K, L, lam, Q, **_):
        p = lam**Q
        return [(eta * 8 * K * L, 1), (share * eta * K * L * p, 1 - p)]

    return conditions


def sqrt_kt(K, T, L, rho0, **_):
    return {"eta": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T)}


TERMS = {
    ("dfedsam.theorem_4_5", "printed"): theorem_4_5,
    ("dfedsam.theorem_4_5", "appendix"): appendix,
    ("dfedsam.theorem_4_5", "appendix_q1"): appendix_q1,
    ("dfedsam.theorem_4_5", "corrected"): theorem_a(16),
    ("dfedsam.theorem_4_5", "corrected_init"): theorem_a_init,
}
CONDITIONS = {
    ("dfedsam.theorem_4_5", "printed"): tenth,
    ("dfedsam.theorem_4_5", "appendix"): tenth,
    ("dfedsam.theorem_4_5", "appendix_q1"): lambda Q, **v: [*tenth(**v), (Q, 1)],
    ("dfedsam.theorem_4_5", "corrected"): mixing_step(8),
    ("dfedsam.theorem_4_5", "corrected_init"): mixing_step(12),
}
SCHEDULES = {(key, variant): sqrt_kt for key, variant in TERMS if key == "dfedsam.theorem_4_5"}
