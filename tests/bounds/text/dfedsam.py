"""DFedSAM's formulas, typed from the paper's text in plain floats: nothing here knows
SymPy or the package.

Each entry: the named terms as a function of the glossary's names, and the conditions as
(left, right) pairs.
"""

from __future__ import annotations

from math import sqrt


def bracket(K, L, rho, sigma_g, sigma_l, scale, tail):
    """2K(4K^3 L^2 [eta^2] rho^4/(2K-1) + 8K [eta^2](L^2 rho^2 + sg^2 + sl^2)) + tail *
    2K rho^2/(2K-1).
    """
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
        big += 8 * K * eta**2 * (L**2 * rho**2 + sigma_g**2 + sigma_l**2) + rho**2 / (
            2 * K - 1
        )
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
        "drift": (
            eta * L**2 * K * bracket(K, L, 0.0, sigma_g, sigma_l, eta**2, 1.0) / 2 / d
        ),
        "consensus": eta**4 * K * L**3 * c3 * (16 * eta * K * L + 3) * network / d,
        "sharpness": (
            (
                eta * L**2 * K * bracket(K, L, rho, 0.0, 0.0, eta**2, 1.0) / 2
                + 3 * eta**2 * K * L / 2 * L**2 * rho**2
            )
            / d
        ),
    }


def appendix(m, K, T, Q, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
    return appendix_terms(phi(lam, m, Q), K, T, eta, rho, L, sigma_l, sigma_g, f0_gap)


def appendix_q1(K, T, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
    return appendix_terms((1 - lam) ** -2, K, T, eta, rho, L, sigma_l, sigma_g, f0_gap)


def theorem_a(
    front, first=2.25, noise=2.25, sharp=2.25, drift=8, drift_noise=12, local=None
):
    def terms(m, K, T, Q, eta, rho, L, sigma_l, sigma_g, f0_gap, lam, **_):
        v, z = (sigma_l + L * rho) ** 2, (sigma_g + L * rho) ** 2
        step = eta * K * L
        leak = lam**Q / (1 - lam**Q)
        return {
            "optimization": first * f0_gap / eta / K / T,
            "noise": noise * eta * L * v / m,
            "drift": step**2 * (K - 1) / K * (drift * z + drift_noise * v / K),
            "consensus": (step * leak) ** 2 * (front * z + (local or front) * v / K),
            "sharpness": sharp * (L * rho) ** 2,
        }

    return terms


def theorem_a_init(share, *constants):
    def terms(x0_spread, **v):
        start = (
            share * v["L"] ** 2 * x0_spread / (1 - v["lam"] ** (2 * v["Q"])) / v["T"]
        )
        return {**theorem_a(*constants)(**v), "initialization": start}

    return terms


def tenth(eta, K, L, **_):
    return [(eta / 0.1 * K * L, 1)]


def mixing_step(share):
    def conditions(eta, K, L, lam, Q, **_):
        p = lam**Q
        return [(eta * 8 * K * L, 1), (share * eta * K * L * p, 1 - p)]

    return conditions


def sqrt_kt(K, T, L, rho0, **_):
    return {"eta": 1 / (L * sqrt(K * T)), "rho": rho0 / sqrt(T), "Q": 1}


def one(f):
    """A statement with a single term."""
    return lambda **v: {"bound": f(**v)}


def c1(K, L, rho, sigma_g, sigma_l, eta, **_):
    return bracket(K, L, rho, sigma_g, sigma_l, eta**2, 1.0)


def c3(K, L, rho, sigma_g, sigma_l, eta, **_):
    return bracket(K, L, rho, sigma_g, sigma_l, 1.0, eta**-2)


def c2(G_x, **v):
    return c3(**v) + 16 * v["K"] ** 2 * G_x


def lemma_d4(G_x, **v):
    return c1(**v) + 16 * v["K"] ** 2 * v["eta"] ** 2 * G_x


def gap(lam, **_):
    return 1 / (1 - lam) ** 2


def net(lam, m, Q, **_):
    return phi(lam, m, Q)


def eq_21(eta, K, L, rho, sigma_l, G_x, **_):
    return 3 * eta**2 * K * L / 2 * (L**2 * rho**2 + sigma_l**2 + G_x)


def eq_22(**v):
    eta, K, L = v["eta"], v["K"], v["L"]
    first = -eta * K * v["G_bar"] / 2 + eta * L**2 * K * c1(**v) / 2
    return first + 8 * eta**3 * K**2 * L**2 * v["G_x"] + eq_21(**v)


def local_gradient(network):
    return lambda **v: (
        2 * v["L"] ** 2 * c2(**v) * v["eta"] ** 2 * network(**v) + 2 * v["G_bar"]
    )


def eq_24(**v):
    g = (1 - v["lam"]) ** 2
    over = 2 * v["L"] ** 2 * c3(**v) * v["eta"] ** 2 + 2 * g * v["G_bar"]
    return over / (g - 32 * (v["L"] * v["eta"] * v["K"]) ** 2)


def eq_33(**v):
    over = 2 * v["L"] ** 2 * c3(**v) * v["eta"] ** 2 * net(**v) + 2 * v["G_bar"]
    return over / (1 - 32 * (v["L"] * v["eta"] * v["K"]) ** 2 * net(**v))


def descent(network):
    def value(**v):
        eta, K, L = v["eta"], v["K"], v["L"]
        gradient = (16 * eta**3 * K**2 * L**2 - eta * K / 2 + 3 * eta**2 * K * L) * v[
            "G_bar"
        ]
        noise = 3 * eta**2 * K * L / 2 * ((L * v["rho"]) ** 2 + v["sigma_l"] ** 2)
        far = (
            (16 * eta**5 * K**2 * L**4 + 3 * eta**4 * K * L**3) * c3(**v) * network(**v)
        )
        return gradient + noise + eta * K * L**2 * c1(**v) / 2 + far

    return value


def eq_last(**v):
    eta, K, L = v["eta"], v["K"], v["L"]
    d = eta * K - 32 * eta**3 * K**2 * L**2
    return {
        "optimization": 2 * v["f0_gap"] / v["T"] / d,
        "local": eta * L**2 * K * c1(**v) / 2 / d,
        "consensus": 16 * c2(**v) * eta**5 * K**2 * L**4 * net(**v) / d,
    }


def rate(who, network):
    def terms(K, T, L, sigma_l, f0_gap, **v):
        h = v[who] ** 2 + sigma_l**2
        slow = K**0.5 * T**1.5
        return {
            "optimization and noise": (f0_gap + sigma_l**2) / sqrt(K * T),
            "drift": K * h / T,
            "sharpness": L * L / slow,
            "consensus": network(**v) * h / slow,
        }

    return terms


def any_rho(K, T, L, rho, sigma_l, sigma_g, f0_gap, **v):
    r = (L * rho) ** 2
    slow = K**0.5 * T**1.5
    both = {
        "optimization and noise": (f0_gap + r + sigma_l**2) / sqrt(K * T),
        "drift": K * (r + sigma_g**2 + sigma_l**2) / T,
    }
    last = r + sigma_g**2 + sigma_l**2
    if "Q" in v:
        return {
            **both,
            "consensus": (
                phi(v["lam"], v["m"], v["Q"]) * (K**2 * r * rho**2 + last) / slow
            ),
        }
    far = (1 - v["lam"]) ** -2
    return {
        **both,
        "sharpness": K**1.5 * r * rho**2 / T**1.5 * far,
        "consensus": last / slow * far,
    }


def corollary_a(K, T, Q, L, m, lam, sigma_l, sigma_g, f0_gap, rho0, **_):
    move = L * rho0 / sqrt(T)
    v, z = (sigma_l + move) ** 2, (sigma_g + move) ** 2
    leak = lam**Q / (1 - lam**Q)
    return {
        "optimization": 9 * L * f0_gap / (4 * sqrt(K * T)),
        "noise": 9 * v / (4 * m * sqrt(K * T)),
        "drift": (K - 1) / T * (8 * z + 12 * v / K),
        "consensus": 16 * K / T * leak * leak * (z + v / K),
        "sharpness": 9 * move**2 / 4,
    }


def corollary_a_conditions(K, T, Q, lam, **_):
    return [(64 * K, T), (64 * K * lam ** (2 * Q), T * (1 - lam**Q) ** 2)]


ONE = {
    "lemma_D2": lambda sigma_g, L, rho: 3 * sigma_g**2 + 6 * L**2 * rho**2,
    "lemma_D3": lambda K, beta, eta, rho, **_: 2 * (K * beta * eta * rho) ** 2,
    "lemma_D4": lemma_d4,
    "lemma_D5": lambda **v: c2(**v) * v["eta"] ** 2 * gap(**v),
    "lemma_D6": lambda **v: c2(**v) * v["eta"] ** 2 * net(**v),
    "eq_20": lambda **v: (
        -v["eta"] * v["K"] * v["G_bar"] / 2
        + v["eta"] * v["L"] ** 2 * v["K"] / 2 * lemma_d4(**v)
    ),
    "eq_21": eq_21,
    "eq_22": eq_22,
    "eq_23": local_gradient(gap),
    "eq_24": eq_24,
    "eq_25": descent(gap),
    "eq_32": local_gradient(net),
    "eq_33": eq_33,
    "eq_34": descent(net),
}
TERMS = {
    ("dfedsam.theorem_4_5", "printed"): theorem_4_5,
    ("dfedsam.theorem_4_5", "appendix"): appendix,
    ("dfedsam.theorem_4_5", "appendix_q1"): appendix_q1,
    ("dfedsam.theorem_4_5", "corrected"): theorem_a(
        4224 / 271, 606 / 271, 606 / 271, 606 / 271, 2048 / 271, 2944 / 271
    ),
    ("dfedsam.theorem_4_5", "corrected_less_noise"): theorem_a(
        13.6, 2.209, 1.263, 2.2493, 7.98, 11.93
    ),
    ("dfedsam.theorem_4_5", "corrected_less_consensus"): theorem_a(
        4.082, 2.179, 1.915, 3.919, 11.39, 14.97, local=11.75
    ),
    ("dfedsam.theorem_4_5", "corrected_different_starts"): theorem_a_init(
        1056 / 103, 3168 / 103, 230 / 103, 230 / 103, 230 / 103, 768 / 103, 1104 / 103
    ),
    ("dfedsam.eq_last", "printed"): eq_last,
    ("dfedsam.corollary_4_6", "printed"): rate("beta", gap),
    ("dfedsam.corollary_4_6", "appendix"): rate("sigma_g", gap),
    ("dfedsam.corollary_4_6", "appendix_any_rho"): any_rho,
    ("dfedsam.corollary_4_6", "corrected"): corollary_a,
    ("dfedsam.corollary_4_8", "printed"): rate("beta", net),
    ("dfedsam.corollary_4_8", "appendix_any_rho"): any_rho,
    ("dfedsam.corollary_4_8", "corrected"): corollary_a,
    ("dfedsam.rate_abstract", "printed"): lambda K, T, lam: {
        "optimization": (K * T) ** -0.5,
        "drift": 1 / T,
        "consensus": K**-0.5 * T**-1.5 / (1 - lam) ** 2,
    },
    ("dfedsam.rate_abstract_mgs", "printed"): lambda K, T, lam, Q: {
        "optimization": (K * T) ** -0.5,
        "drift": 1 / T,
        "consensus": (lam**Q + 1) * K**-0.5 * T**-1.5 / (1 - lam**Q) ** 2,
    },
    ("dfedsam.rate_quoted_dfedavg", "printed"): lambda T, sigma_g, B, lam: {
        "optimization": T**-0.5,
        "drift": sigma_g**2 * T**-0.5,
        "consensus": (sigma_g**2 + B**2) / ((1 - lam) ** 2 * T**1.5),
    },
    **{(f"dfedsam.{name}", "printed"): one(f) for name, f in ONE.items()},
}
CONDITIONS = {
    ("dfedsam.theorem_4_5", "printed"): tenth,
    ("dfedsam.theorem_4_5", "appendix"): tenth,
    ("dfedsam.theorem_4_5", "appendix_q1"): lambda Q, **v: [*tenth(**v), (Q, 1)],
    ("dfedsam.theorem_4_5", "corrected"): mixing_step(8),
    ("dfedsam.theorem_4_5", "corrected_less_noise"): mixing_step(8),
    ("dfedsam.theorem_4_5", "corrected_less_consensus"): mixing_step(8),
    ("dfedsam.theorem_4_5", "corrected_different_starts"): mixing_step(12),
    ("dfedsam.corollary_4_6", "corrected"): corollary_a_conditions,
    ("dfedsam.corollary_4_8", "corrected"): corollary_a_conditions,
    ("dfedsam.lemma_D3", "printed"): lambda eta, K, L, **_: [(4 * eta * K * L, 1)],
    ("dfedsam.lemma_D4", "printed"): tenth,
    ("dfedsam.eq_last", "printed"): tenth,
}
SCHEDULED = (
    "theorem_4_5",
    "corollary_4_6",
    "corollary_4_8",
    "rate_abstract",
    "rate_abstract_mgs",
)
SCHEDULES = {name: sqrt_kt for name in TERMS if name[0].split(".")[1] in SCHEDULED}


LABELS = {
    "(1)": ("graphs:DEFINITION_1",),
    "Definition 4.1": (
        "dfedsam.theorem_4_5:printed@Definition 4.1",
        "graphs:check_mixing_matrix",
    ),
    "Definition 4.2": ("glossary:beta",),
    "Assumption 4.3": ("dfedsam.theorem_4_5:printed@4.3",),
    "Assumption 4.4": ("dfedsam.theorem_4_5:printed@4.4",),
    "Algorithm 1, (2)-(4)": (
        "algorithms:DFedSAM",
        "test:sam_moves_by_rho_along_the_gradient",
    ),
    "(5)": ("test:reduction",),
    "Theorem 4.5, eq. (7)": ("dfedsam.theorem_4_5:printed",),
    "Corollary 4.6": ("dfedsam.corollary_4_6:printed",),
    "Corollary 4.8": ("dfedsam.corollary_4_8:printed",),
    "abstract, DFedSAM": ("dfedsam.rate_abstract:printed",),
    "abstract, DFedSAM-MGS": ("dfedsam.rate_abstract_mgs:printed",),
    "Remark 4.7, DFedAvg": ("dfedsam.rate_quoted_dfedavg:printed",),
    "Remark 4.10": ("line:dfedsam Remark 4.10, bound",),
    "Lemma D.2": ("dfedsam.lemma_D2:printed",),
    "Lemma D.3": ("dfedsam.lemma_D3:printed",),
    "Lemma D.4, (8)": ("dfedsam.lemma_D4:printed",),
    "Lemma D.5": ("dfedsam.lemma_D5:printed",),
    "Lemma D.6": ("dfedsam.lemma_D6:printed",),
    "(20)c, (29)c": ("dfedsam.eq_20:printed",),
    "(21), (30)": ("dfedsam.eq_21:printed",),
    "(22), (31)": ("dfedsam.eq_22:printed",),
    "(23)": ("dfedsam.eq_23:printed",),
    "(24)": ("dfedsam.eq_24:printed",),
    "(25)a": ("dfedsam.eq_25:printed",),
    "(32)": ("dfedsam.eq_32:printed",),
    "(33)": ("dfedsam.eq_33:printed",),
    "(34)a": ("dfedsam.eq_34:printed",),
    "D.2, display after (25)": ("dfedsam.theorem_4_5:appendix_q1",),
    "D.3, display after (34)": ("dfedsam.theorem_4_5:appendix",),
    "D.3, second display after (34)": ("dfedsam.eq_last:printed",),
    "D.2, rate for any rho": ("dfedsam.corollary_4_6:appendix_any_rho",),
    "D.2, rate with sigma_g": ("dfedsam.corollary_4_6:appendix",),
    "D.3, rate for any rho": ("dfedsam.corollary_4_8:appendix_any_rho",),
}

REDERIVED = {
    "Theorem A": ("dfedsam.theorem_4_5:corrected",),
    "Theorem A, arbitrary initialization": (
        "dfedsam.theorem_4_5:corrected_different_starts",
    ),
    "Theorem A, less noise": ("dfedsam.theorem_4_5:corrected_less_noise",),
    "Theorem A, less consensus": ("dfedsam.theorem_4_5:corrected_less_consensus",),
    "Corollary A": (
        "dfedsam.corollary_4_6:corrected",
        "dfedsam.corollary_4_8:corrected",
    ),
}
ROUNDS = {
    name: ("min", range(1, 11), 1)
    for name in TERMS
    if name[0].split(".")[1] in SCHEDULED[:3] and not name[1].startswith("corrected")
}
