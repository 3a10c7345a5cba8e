"""Lu and De Sa 2023, typed from the paper's text: nothing here knows the package.

Theorem 1, (10): "T ... will always be lower bounded by Omega(Delta L sigma^2/(n B
eps^4) + Delta L D/eps^2)"; Corollary 2 with "Delta L/(eps^2 sqrt(1 - lambda))".  The
error eps^2 after T iterations is of the order of the larger of the two that solve T =
Delta L sigma^2/(n eps^4) and T = Delta L D/eps^2, at B = 1.
"""

from __future__ import annotations


def error(count, T):
    """eps^2 where count/eps^4 = T."""
    return (count / T) ** 0.5


def theorem_1(T, m, L, sigma_l, f0_gap, D_graph, **_):
    return {
        "samples": error(f0_gap * L * sigma_l**2 / m, T),
        "network": f0_gap * L * D_graph / T,
    }


def corollary_2(T, m, L, sigma_l, f0_gap, lam, **_):
    return {
        "samples": error(f0_gap * L * sigma_l**2 / m, T),
        "network": f0_gap * L / (T * (1 - lam) ** 0.5),
    }


TERMS = {
    ("lu_desa2023.theorem_1", "restated"): theorem_1,
    ("lu_desa2023.corollary_2", "restated"): corollary_2,
}
CONDITIONS = {}
SCHEDULES = {}
LABELS = {
    "Theorem 1, (10)": ("lu_desa2023.theorem_1:restated",),
    "Corollary 2, (11)": ("lu_desa2023.corollary_2:restated",),
}
