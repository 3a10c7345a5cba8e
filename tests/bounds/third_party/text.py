"""The third-party theorems in plain numbers."""


def descent(f0_gap, eta, T, **_):
    return {"optimization": 2 * f0_gap / eta / T}


def exact(sigma_g, sigma_l, **_):
    return [(2 * sigma_g, sigma_g), (2 * sigma_l, sigma_l)]


def step(eta, L, **rest):
    return [(eta * L, 1), *exact(**rest)]


def convex(L, mu_each, **rest):
    return [*step(L=L, **rest), (mu_each / 2, mu_each), (mu_each, L)]


TERMS = {
    ("third_party.theorem_1", "printed"): lambda T, spare, **k: {
        **descent(T=T, **k),
        "spare": spare / T,
    },
    ("third_party.theorem_1", "corrected"): descent,
    ("third_party.theorem_2", "printed"): lambda eta, mu_each, T, x_star_sq, **_: {
        "optimization": (1 - eta * mu_each) ** T * x_star_sq
    },
    ("third_party.corollary_1", "printed"): lambda L, f0_gap, T, **_: {
        "optimization": 2 * L * f0_gap * T**-0.5
    },
    ("third_party.rate", "printed"): lambda T, **_: {"optimization": T**-0.5},
}
CONDITIONS = {
    ("third_party.theorem_1", "printed"): step,
    ("third_party.theorem_1", "corrected"): step,
    ("third_party.theorem_2", "printed"): convex,
    ("third_party.corollary_1", "printed"): exact,
    ("third_party.rate", "printed"): exact,
}
SCHEDULES = {
    ("third_party.corollary_1", "printed"): lambda L, T, **_: {"eta": 1 / (L * T**0.5)}
}
ROUNDS = {("third_party.theorem_2", "printed"): ("last", range(10, 11), 0)}
LABELS = {key: (f"{key}:printed",) for key, variant in TERMS if variant == "printed"}
REDERIVED = {"Theorem 1": ("third_party.theorem_1:corrected",)}
