"""DFedSGPSM's formulas, typed from the text in plain floats: nothing here knows SymPy
or the package.
"""

from __future__ import annotations

from math import sqrt


def pulls(alpha, K):
    """c_s = sum_{k >= s} alpha^(k-s), s = 1..K, by the double sum of the paper."""
    return [sum(alpha ** (k - s) for k in range(s, K + 1)) for s in range(1, K + 1)]


def at(alpha, K, **_):
    return sum(pulls(alpha, K))


def squares(alpha, K, **_):
    return sum(c * c for c in pulls(alpha, K))


def path(alpha, K, **_):
    return sum(c * at(alpha, s) for s, c in enumerate(pulls(alpha, K))) / at(alpha, K)


def c1(K, sigma_l, sigma_g, alpha, B, L, rho, **_):
    far = alpha**2 / (1 - alpha) ** 2 * (sigma_l**2 + B**2)
    return (
        8 * K * sigma_l**2
        + 64 * K**2 * sigma_g**2
        + 32 * K**2 * far
        + 64 * K * (L * rho) ** 2
    )


def big_g(B, sigma_l, L, rho, **_):
    return sqrt(B**2 + sigma_l**2) + L * rho


def shared(**v):
    return {
        "drift": (
            3
            * (v["eta"] * v["L"]) ** 2
            / v["delta"]
            * (c1(**v) + 64 * v["K"] ** 2 * v["B"] ** 2)
        ),
        "initialization": (
            6 * (v["L"] * v["C"]) ** 2 * v["x0_sq"] / v["T"] / (1 - v["q"] ** 2)
        ),
        "sharpness": 3 * (v["L"] * v["rho"]) ** 2,
    }


def printed(**v):
    rest = 1 - v["alpha"]
    step = v["eta"] * v["K"]
    return {
        **shared(**v),
        "optimization": 2 * rest * v["f0_gap"] / v["T"] / step,
        "noise": v["L"] * step * v["sigma_l"] ** 2 / rest,
        "consensus": (
            6
            * (v["L"] * step * v["C"]) ** 2
            * (v["B"] ** 2 + v["sigma_l"] ** 2)
            / (rest * (1 - v["q"])) ** 2
        ),
    }


def appendix(**v):
    step = v["eta"] * at(**v)
    return {
        **shared(**v),
        "optimization": 2 * v["f0_gap"] / v["T"] / step,
        "noise": v["L"] * step * v["sigma_l"] ** 2,
        "consensus": (
            6
            * (v["L"] * step * v["C"]) ** 2
            * (v["B"] ** 2 + v["sigma_l"] ** 2)
            / (1 - v["q"]) ** 2
        ),
    }


def leading(factor, **v):
    return {
        "optimization": factor * v["f0_gap"] / (v["T"] * v["eta"] * at(**v)),
        "noise": (
            factor
            * v["L"]
            * v["eta"]
            * squares(**v)
            * v["sigma_l"] ** 2
            / (v["m"] * at(**v))
        ),
    }


def theorem_a(**v):
    g, L, d, q = big_g(**v), v["L"], v["delta"], v["q"]
    less = at(v["alpha"], v["K"] - 1)
    return {
        **leading(2, **v),
        "drift": 3 * (L * v["eta"] * less * g / d) ** 2,
        "initialization": 6 * L**2 * v["x0_spread"] / (d * v["T"] * (1 - q**2)),
        "consensus": 6 * (L * v["eta"] * at(**v) * g * q / d / (1 - q)) ** 2,
        "sharpness": 3 * (L * v["rho"]) ** 2,
    }


def over_windows(window, q, rounds=40000):
    """Sums of q^floor(t/B) over t = 1, 2, ... and of its square over t = 0, 1, ...,
    term by term.
    """
    terms = [q ** (t // window) for t in range(rounds)]
    return sum(terms[1:]), sum(x * x for x in terms)


def theorem_a_windows(**v):
    g, once, square = big_g(**v), *over_windows(v["window"], v["q"])
    front = 6 * v["L"] ** 2 / v["delta"]
    return {
        **theorem_a(**v),
        "initialization": front * v["x0_spread"] * square / v["T"],
        "consensus": front / v["delta"] * (v["eta"] * at(**v) * g * once) ** 2,
    }


def corollary_a_windows(**v):
    once, square = over_windows(v["window"], v["q"])
    root = big_g(**{**v, "rho": v["rho0"] / sqrt(v["T"])})
    return {
        **corollary_a(**v),
        "initialization": (
            6 * v["L"] ** 2 * v["x0_spread"] * square / (v["delta"] * v["T"])
        ),
        "consensus": 6 * (at(**v) / v["K"] * root * once / v["delta"]) ** 2 / v["T"],
    }


def theorem_b(**v):
    L, q = v["L"], v["q"]
    turn = (
        v["eta"]
        * L
        * at(**v)
        / v["delta"]
        * (v["sigma_g"] + v["sigma_l"] + L * v["rho"])
    )
    return {
        **leading(2.1, **v),
        "initialization": (
            3.75 * L**2 * v["x0_spread"] / (v["delta"] * v["T"] * (1 - q * q))
        ),
        "drift and consensus": turn**2 * (7.2 + 7.9 * (q / (1 - q)) ** 2),
        "sharpness": 3.3 * (L * v["rho"]) ** 2,
    }


def theorem_a_sharper(**v):
    g, d, q, eta = big_g(**v), v["delta"], v["q"], v["eta"]
    root = v["rho"] + eta * path(**v) * g / d
    root += sqrt(v["x0_spread"] / (d * v["T"] * (1 - q * q))) + eta * at(
        **v
    ) * g * q / (d * (1 - q))
    return {**leading(2, **v), "drift, consensus and sharpness": v["L"] ** 2 * root**2}


def minimal(**v):
    L, d, q = v["L"], v["delta"], v["q"]
    step = v["eta"] * at(**v)
    return {
        "optimization": 2 * v["f0_gap"] / (v["T"] * step),
        "noise": L * step * v["sigma_l"] ** 2,
        "initialization": 6 * L**2 * v["x0_sq"] / (d**2 * v["T"] * (1 - q**2)),
        "consensus": 6 * (L * step * big_g(**v) / d / (1 - q)) ** 2,
        "sharpness": 3 * (L * v["rho"]) ** 2,
    }


def c2(K, T, sigma_l, sigma_g, alpha, B, **_):
    return (
        sigma_l**2 / K
        + sigma_g**2
        + (alpha / (1 - alpha)) ** 2 * (sigma_l**2 + B**2)
        + 1 / (T * K)
    )


def corollary(**v):
    T, rest, q = v["T"], 1 - v["alpha"], v["q"]
    return {
        "optimization": v["L"] * rest * v["f0_gap"] / sqrt(T),
        "noise": v["sigma_l"] ** 2 / (sqrt(T) * rest),
        "drift": c2(**v) / (T * v["delta"]),
        "initialization": (v["L"] * v["C"]) ** 2 / (T * (1 - q * q)) * v["x0_sq"],
        "consensus": (
            v["C"] ** 2
            * (v["B"] ** 2 + v["sigma_l"] ** 2)
            / (T * (rest * (1 - q)) ** 2)
        ),
        "sharpness": 1 / T,
    }


def corollary_a(**v):
    T, K, L, d, q = v["T"], v["K"], v["L"], v["delta"], v["q"]
    g = sqrt(v["B"] ** 2 + v["sigma_l"] ** 2) + L * v["rho0"] / sqrt(T)
    return {
        "optimization": 2 * L * K * v["f0_gap"] / (at(**v) * sqrt(T)),
        "noise": (
            2 * squares(**v) * v["sigma_l"] ** 2 / (v["m"] * at(**v) * K * sqrt(T))
        ),
        "drift": 3 * (at(v["alpha"], K - 1) / K * g / d) ** 2 / T,
        "initialization": 6 * L**2 * v["x0_spread"] / (d * (1 - q * q) * T),
        "consensus": 6 * (at(**v) / K * g * q / (d * (1 - q))) ** 2 / T,
        "sharpness": 3 * (L * v["rho0"]) ** 2 / T,
    }


def lemma_3_end(K, eta, sigma_l, sigma_g, alpha, B, G_x, L, rho, **_):
    far = alpha**2 / (1 - alpha) ** 2 * (sigma_l**2 + B**2)
    inner = (
        8 * K**2 * sigma_l**2
        + 64 * K**2 * sigma_g**2
        + 32 * K**2 * far
        + 64 * K**2 * G_x
    )
    return (inner + 64 * K * (L * rho) ** 2) * eta**2


def lemma_4(**v):
    first = 2 * v["C"] ** 2 * v["q"] ** (2 * v["t"]) * v["x0_sq"]
    return first + 2 * (v["eta"] * at(**v) * v["C"] / (1 - v["q"])) ** 2 * (
        v["B"] ** 2 + v["sigma_l"] ** 2
    )


def r1(**v):
    first = (
        3
        * (v["L"] * v["eta"]) ** 2
        / v["delta"]
        * (c1(**v) + 64 * v["K"] ** 2 * v["B"] ** 2)
    )
    return first + 3 * v["L"] ** 2 * lemma_4(**v) + 3 * (v["L"] * v["rho"]) ** 2


def one_round(**v):
    step = at(**v) * v["eta"]
    return (
        -step / 2 * v["G_bar"]
        + v["L"] * step**2 * v["sigma_l"] ** 2 / 2
        + step / 2 * r1(**v)
    )


def one(f):
    return lambda **v: {"bound": f(**v)}


ONE = {
    ("lemma_2", "printed"): lambda eta, sigma_l, B, alpha: (
        2 * eta**2 * (sigma_l**2 + B**2) / (1 - alpha) ** 2
    ),
    ("lemma_3", "printed"): lambda **v: (
        (c1(**v) + 64 * v["K"] ** 2 * v["G_x"]) * v["eta"] ** 2
    ),
    ("lemma_3", "appendix"): lemma_3_end,
    ("lemma_3", "corrected"): lambda **v: (v["eta"] * at(**v) * big_g(**v)) ** 2,
    ("lemma_4", "printed"): lemma_4,
    ("eq_R1", "printed"): r1,
    ("eq_round", "printed"): one_round,
}
TERMS = {
    ("dfedsgpsm.theorem_1", "printed"): printed,
    ("dfedsgpsm.theorem_1", "appendix"): appendix,
    ("dfedsgpsm.theorem_1", "corrected"): theorem_a,
    ("dfedsgpsm.theorem_1", "corrected_sharper"): theorem_a_sharper,
    ("dfedsgpsm.theorem_1", "corrected_windows"): theorem_a_windows,
    ("dfedsgpsm.theorem_1", "corrected_no_bounded_gradients"): theorem_b,
    ("dfedsgpsm.theorem_1", "corrected_any_step"): minimal,
    ("dfedsgpsm.corollary_1", "printed"): corollary,
    ("dfedsgpsm.corollary_1", "corrected"): corollary_a,
    ("dfedsgpsm.corollary_1", "corrected_windows"): corollary_a_windows,
    ("dfedsgpsm.rate_remark_2", "printed"): lambda K, T, delta: {
        "rate": 1 / sqrt(T),
        "sharpness": 1 / T,
        "drift": 1 / (T * T * K * delta),
    },
    **{(f"dfedsgpsm.{name}", variant): one(f) for (name, variant), f in ONE.items()},
}


def eighth(eta, L, K, delta, **_):
    return [(8 * eta * L * K, delta)]


def half(**v):
    return [(2 * v["eta"] * v["L"] * at(**v), 1)]


CONDITIONS = {
    **{
        ("dfedsgpsm." + name, variant): eighth
        for name, variant in (
            ("theorem_1", "printed"),
            ("theorem_1", "appendix"),
            ("lemma_3", "printed"),
            ("lemma_3", "appendix"),
            ("eq_R1", "printed"),
            ("eq_round", "printed"),
        )
    },
    ("dfedsgpsm.theorem_1", "corrected"): half,
    ("dfedsgpsm.theorem_1", "corrected_windows"): half,
    ("dfedsgpsm.theorem_1", "corrected_sharper"): half,
    ("dfedsgpsm.theorem_1", "corrected_no_bounded_gradients"): lambda **v: [
        (24 * v["eta"] * v["L"] * at(**v) / v["delta"], 1 - v["q"])
    ],
    ("dfedsgpsm.theorem_1", "corrected_any_step"): lambda m, **_: [(2, m)],
    **{
        ("dfedsgpsm.corollary_1", variant): lambda **v: [
            (4 * (at(**v) / v["K"]) ** 2, v["T"])
        ]
        for variant in ("corrected", "corrected_windows")
    },
}


def sqrt_t(K, T, L, rho0, **_):
    return {"eta": 1 / (L * K * sqrt(T)), "rho": rho0 / sqrt(T)}


SCHEDULES = {
    name: sqrt_t
    for name in TERMS
    if name[0].split(".")[1] in ("theorem_1", "corollary_1", "rate_remark_2")
}


LABELS = {
    "(1)": ("glossary:f0_gap",),
    "Assumption 1": ("dfedsgpsm.theorem_1:printed@1:", "graphs:check_push_sum"),
    "Assumption 2": ("dfedsgpsm.theorem_1:printed@2:",),
    "Assumption 3": ("dfedsgpsm.theorem_1:printed@3:",),
    "Assumption 4": ("dfedsgpsm.theorem_1:printed@4:",),
    "Assumption 5": ("dfedsgpsm.theorem_1:printed@5:",),
    "Algorithm 1": ("algorithms:DFedSGPSM",),
    "(2)": ("graphs:LossDriven",),
    "Lemma 1, (3)-(5)": ("test:k_momentum_steps_in_closed_form",),
    "Theorem 1": ("dfedsgpsm.theorem_1:printed",),
    "Theorem 1, delta": ("glossary:delta", "graphs:push_sum_constants"),
    "Corollary 1": ("dfedsgpsm.corollary_1:printed",),
    "Remark 1, q": ("validation:remark_1_q", "graphs:assran_constants"),
    "Remark 2": ("dfedsgpsm.rate_remark_2:printed",),
    "Lemma 2": ("dfedsgpsm.lemma_2:printed",),
    "Lemma 3": ("dfedsgpsm.lemma_3:printed",),
    "Lemma 3, last line of its proof": ("dfedsgpsm.lemma_3:appendix",),
    "Lemma 4": ("dfedsgpsm.lemma_4:printed",),
    "Lemma 5 (its statement is empty), R1": ("dfedsgpsm.eq_R1:printed",),
    "Lemma 5, one round": ("dfedsgpsm.eq_round:printed",),
    "B, display before 'Finally'": ("dfedsgpsm.theorem_1:appendix",),
}

REDERIVED = {
    "4.1, windows": (
        "dfedsgpsm.theorem_1:corrected_windows",
        "dfedsgpsm.corollary_1:corrected_windows",
    ),
    "4.2, Theorem A": ("dfedsgpsm.theorem_1:corrected",),
    "4.2, Theorem A, sharper": ("dfedsgpsm.theorem_1:corrected_sharper",),
    "4.2, Corollary A": ("dfedsgpsm.corollary_1:corrected",),
    "4.3, Theorem B": ("dfedsgpsm.theorem_1:corrected_no_bounded_gradients",),
    "4.4, minimal repair": ("dfedsgpsm.theorem_1:corrected_any_step",),
    "4.5, Lemma 3": ("dfedsgpsm.lemma_3:corrected",),
}
