"""DFedMDC's formulas, typed from the text in plain floats: nothing here knows SymPy or
the package.
"""

from __future__ import annotations

from math import sqrt


def var(sigma_u, delta_u, **_):
    return sigma_u**2 + delta_u**2


def gap(lam, **_):
    return (1 - lam) ** 2


def theorem_1(T, f0_gap, chi, L_u, L_v, K_u, sigma_v, **v):
    s = var(**v)
    one = chi**2 * L_v * s / L_u + s / L_u**2
    two = sigma_v**2 * (L_v + 1) / L_v**2 + s / (K_u * L_u)
    return {
        "optimization": f0_gap / sqrt(T),
        "consensus": one / gap(**v) / sqrt(T),
        "noise": two / sqrt(T),
        "drift": s / (K_u * L_u) / gap(**v) / T,
    }


def eq_20(T, f0_gap, L_vu, L_u, L_v, K_u, sigma_v, **v):
    s = var(**v)
    return {
        "optimization": f0_gap / sqrt(T),
        "noise of the personal part": sigma_v**2 * (L_v + 1) / L_v**2 / sqrt(T),
        "consensus": (L_vu**2 + 1) * s / L_u**2 / gap(**v) / sqrt(T),
        "noise of the shared part": s / K_u / L_u / sqrt(T),
        "drift": s / K_u / L_u / gap(**v) / T,
    }


def small(rho, K_u, L_u, **v):
    return rho**2 / K_u + var(**v) / L_u**2


def eq_4(**v):
    s, T = small(**v), v["T"]
    return {
        "optimization": v["f0_gap"] / sqrt(T),
        "consensus": s * v["L_vu"] ** 2 / gap(**v) / sqrt(T),
        "noise": s / sqrt(T),
        "drift": s * v["L_u"] / gap(**v) / T,
    }


def eq_34(**v):
    s, T, L_v, L_u = small(**v), v["T"], v["L_v"], v["L_u"]
    return {
        "optimization": v["f0_gap"] / sqrt(T),
        "noise of the personal part": v["sigma_v"] ** 2 * (L_v + 1) / L_v**2 / sqrt(T),
        "noise of the shared part": (
            ((L_u * v["rho"]) ** 2 + var(**v)) / (L_u * v["K_u"] * sqrt(T))
        ),
        "consensus": v["L_vu"] ** 2 * s / gap(**v) / sqrt(T),
        "drift": L_u * s / gap(**v) / T,
    }


def eq_35(**v):
    s, T = small(**v), v["T"]
    return {
        "optimization": v["f0_gap"] / sqrt(T),
        "consensus": s * v["L_vu"] / gap(**v) / sqrt(T),
        "noise": s * v["L_u"] / sqrt(T),
        "drift": s * v["L_u"] / gap(**v) / T,
    }


def steps(eta_u, K_u, L_u, eta_v=0.0, K_v=0, L_v=0.0, **_):
    return eta_u * K_u * L_u, eta_v * K_v * L_v


def size(sigma_u, delta_u, L_u, rho=0.0, **_):
    return sigma_u + delta_u + L_u * rho


def with_radius(terms, name, value, **v):
    return {**terms, name: value(**v)} if "rho" in v else terms


def m_equal(start=None, stay=18, **v):
    a, _ = steps(**v)
    start = 8 / 3 if start is None else start / (1 + v["lam"])
    s, T, L_u, rest = size(**v), v["T"], v["L_u"], 1 - v["lam"]
    factor = 6.04 + 6 * v["chi"] ** 2
    terms = {
        "optimization": 4 * v["f0_gap"] / (a * T),
        "initialization": factor * start * L_u * v["x0_spread"] / (T * rest),
        "consensus": factor * stay * (v["lam"] * a * s / rest) ** 2 / L_u,
        "drift": 25.6 * (a * s) ** 2 / L_u,
        "noise of the shared part": (
            4 * a * v["sigma_u"] ** 2 / (v["m"] * v["K_u"] * L_u)
        ),
        "noise of the personal part": 5.6 * a * v["sigma_v"] ** 2 / v["L_v"],
    }
    return with_radius(terms, "sharpness", lambda rho, L_u, **_: 6 * L_u * rho**2, **v)


def m_weighted(start=None, stay=18, **v):
    a, b = steps(**v)
    start = 8 / 3 if start is None else start / (1 + v["lam"])
    s, T, L_u, rest = size(**v), v["T"], v["L_u"], 1 - v["lam"]
    c1 = 1.51 * a + 1.5 * b * v["chi"] ** 2
    terms = {
        "optimization": v["f0_gap"] / T,
        "initialization": c1 / L_u * start * L_u**2 * v["x0_spread"] / (T * rest),
        "consensus": c1 / L_u * stay * (v["lam"] * a * s / rest) ** 2,
        "drift": 6.4 * a**3 * s**2 / L_u,
        "noise of the shared part": (a * v["sigma_u"]) ** 2 / (v["m"] * v["K_u"] * L_u),
        "noise of the personal part": 1.4 * (b * v["sigma_v"]) ** 2 / v["L_v"],
    }
    return with_radius(
        terms, "sharpness", lambda rho, L_u, **_: 1.5 * a * L_u * rho**2, **v
    )


def m_same_round(**v):
    _, b = steps(**v)
    x = 4.6 * (v["chi"] * b) ** 2
    moved = {name: max(2.0, 1 + x) * value for name, value in m_equal(**v).items()}
    return {**moved, "change of the personal part": x * v["sigma_v"] ** 2 / v["L_v"]}


def m_rate(**v):
    """Theorem M at a = b = 1/sqrt(T), rho = rho0/sqrt(T): the steps are put in as
    numbers.
    """
    root = 1 / sqrt(v["T"])
    radius = {"rho": v["rho0"] * root} if "rho0" in v else {}
    return m_equal(**{**v, "eta_u": root / (v["K_u"] * v["L_u"]), **radius})


def lemma_3(eta_u, K_u, G_u, **v):
    return 18 * (eta_u * K_u) ** 2 * (var(**v) + G_u)


def lemma_4(rho, L_u, **v):
    return 6 * v["eta_u"] ** 2 * v["K_u"] * (L_u * rho) ** 2 + lemma_3(**v)


def eq_9(G_u, **v):
    return (
        9
        * v["eta_u"] ** 3
        * v["K_u"] ** 2
        * v["L_u"] ** 2
        / gap(**v)
        * (var(**v) + G_u)
    )


def eq_12(eta_u, K_u, L_u, D_u, Xi, **v):
    return 2 * eta_u**2 * K_u * L_u * (var(**v) + D_u + L_u**2 * Xi)


def u_step(eta_u, K_u, L_u, D_u, **v):
    tail = 9 * (eta_u * K_u) ** 2 * (2 + eta_u * L_u**2) / gap(**v)
    main = 2 * eta_u**2 * K_u * L_u
    return (-eta_u * K_u / 2 + main + 2 * tail) * D_u + (main + tail) * var(**v)


def coupling(eta_u, K_u, L_vu, D_u, **v):
    return 18 * (L_vu * eta_u * K_u) ** 2 * (var(**v) + 2 * D_u) / gap(**v)


def v_step(eta_v, K_v, L_v, D_v, sigma_v, **_):
    e = (eta_v * K_v) ** 2
    return (-eta_v * K_v + 8 * e * (L_v + 1)) * D_v + 4 * e * sigma_v**2 * (L_v + 1)


def eq_23(G_u, **v):
    sam = (v["L_u"] * v["rho"]) ** 2
    front = 3 * v["eta_u"] ** 3 * v["K_u"] * v["L_u"] ** 2 / gap(**v)
    return front * (sam + 3 * v["K_u"] * (var(**v) + G_u))


def eq_27(eta_u, K_u, L_u, D_u, rho, **v):
    sam, g = (L_u * rho) ** 2, gap(**v)
    turn = eta_u * K_u * L_u
    slope = (
        -eta_u * K_u / 2
        + 2.5 * eta_u**2 * K_u * L_u
        + 18 * eta_u * turn**2 * (1 + 5 * turn) / g
    )
    inner = sam + 3 * K_u * var(**v)
    rest = 3 * eta_u**3 * K_u * L_u**2 / g * inner + 2.5 * eta_u**2 * K_u * L_u * (
        sam + var(**v)
    )
    return slope * D_u + rest + 15 * eta_u**4 * K_u**2 * L_u**3 / g * inner


def coupling_sam(eta_u, K_u, L_vu, D_u, L_u, rho, **v):
    inner = 3 * eta_u**2 * K_u * (L_u * rho) ** 2 + 9 * (eta_u * K_u) ** 2 * (
        var(**v) + 2 * D_u
    )
    return L_vu**2 * inner / gap(**v)


def eq_33(**v):
    eta_u, K_u, L_u = v["eta_u"], v["K_u"], v["L_u"]
    sam, g = (L_u * v["rho"]) ** 2, gap(**v)
    total = (
        eta_u / 2 - eta_u * K_u + 54 * eta_u * (eta_u * K_u) ** 2 * K_u * L_u**2 / g
    ) * v["D_u"]
    total += 2.5 * eta_u**2 * K_u * L_u * (sam + var(**v))
    total += (
        1.5
        * eta_u
        * K_u
        * L_u**2
        / g
        * (6 * eta_u**2 * K_u * sam + 18 * (eta_u * K_u) ** 2 * var(**v))
    )
    return total + v_step(**v) + coupling_sam(**v)


def eq_33_u(**v):
    return eq_33(**v, sigma_v=0.0, D_v=0.0, L_vu=0.0, eta_v=0.0, K_v=1, L_v=1.0)


def one(f):
    return lambda **v: {"bound": f(**v)}


ONE = {
    ("lemma_3", "printed"): lemma_3,
    ("lemma_4", "printed"): lemma_4,
    ("lemma_5", "printed"): lambda **v: lemma_3(**v) / gap(**v),
    ("lemma_6", "printed"): lambda **v: lemma_4(**v) / gap(**v),
    ("eq_9", "printed"): eq_9,
    ("eq_10", "printed"): lambda L_u, Xi, D_u: 2 * L_u**2 * Xi + 2 * D_u,
    ("eq_11", "printed"): lambda D_u, **v: eq_9(G_u=2 * D_u, **v),
    ("eq_12", "printed"): eq_12,
    ("eq_13", "printed"): u_step,
    ("eq_19", "printed"): lambda **v: u_step(**v) + v_step(**v) + coupling(**v),
    ("eq_23", "printed"): eq_23,
    ("eq_25", "printed"): lambda D_u, **v: eq_23(G_u=2 * D_u, **v),
    ("eq_27", "printed"): eq_27,
    ("eq_33", "printed"): eq_33,
    ("eq_33_u", "printed"): eq_33_u,
    ("eq_8", "printed"): lambda eta_u, K_u, L_u, D_u, drift_u, step_u: (
        -eta_u * K_u * D_u / 2 + eta_u * L_u**2 * drift_u / 2 + L_u * step_u / 2
    ),
    ("eq_15", "printed"): lambda eta_v, K_v, L_vu, D_v, Xi, step_v: (
        -eta_v * K_v * D_v + L_vu**2 * Xi / 2 + step_v / 2
    ),
}
M = {
    "corrected_same_round": m_same_round,
    "corrected": lambda **v: m_equal(start=2.07, stay=4.27, **v),
    "corrected_different_steps": lambda **v: m_weighted(start=2.07, stay=4.27, **v),
}
TERMS = {
    ("dfedmdc.theorem_1", "printed"): theorem_1,
    ("dfedmdc.theorem_1", "appendix"): eq_20,
    ("dfedmdc.theorem_2", "printed"): eq_4,
    ("dfedmdc.theorem_2", "appendix"): eq_34,
    ("dfedmdc.theorem_2", "appendix_eq35"): eq_35,
    **{
        (f"dfedmdc.theorem_{n}", variant): f for n in (1, 2) for variant, f in M.items()
    },
    **{(f"dfedmdc.rate_theorem_{n}", "corrected"): m_rate for n in (1, 2)},
    ("dfedmdc.rate_quoted_dfedavg", "printed"): lambda T, K, sigma_l, sigma_g, B, lam: {
        "optimization": T**-0.5,
        "drift": (sigma_l**2 + K * sigma_g**2) / K * T**-0.5,
        "consensus": (
            (sigma_l**2 + K * sigma_g**2 + K * B**2) / (K * (1 - lam) ** 2 * T**1.5)
        ),
    },
    ("dfedmdc.rate_quoted_dfedsam", "printed"): lambda T, K, sigma_l, sigma_g, lam: {
        "optimization": (K * T) ** -0.5,
        "drift": K * (sigma_g**2 + sigma_l**2) / T,
        "consensus": (sigma_g**2 + sigma_l**2) / (sqrt(K) * (1 - lam) ** 2 * T**1.5),
    },
    **{(f"dfedmdc.{name}", variant): one(f) for (name, variant), f in ONE.items()},
}


def three(coupling=125, **v):
    a, b = steps(**v)
    rest = 1 - v["lam"]
    return [
        (32 * a, rest),
        (16 * b, 1),
        (coupling * (v["lam"] * v["chi"]) ** 2 * a * b, rest**2),
    ]


def five(coupling=125, **v):
    a, b = steps(**v)
    return [*three(coupling, **v), (a, b), (b, a)]


def conditions_of(variant):
    law = three if variant == "corrected_different_steps" else five
    return lambda **v: law(125 if variant == "corrected_same_round" else 27, **v)


def late(T, lam, chi, **_):
    return [(1024, T * (1 - lam) ** 2), (125 * (lam * chi) ** 2, T * (1 - lam) ** 2)]


CONDITIONS = {
    **{
        (f"dfedmdc.theorem_{n}", variant): conditions_of(variant)
        for n in (1, 2)
        for variant in M
    },
    **{(f"dfedmdc.rate_theorem_{n}", "corrected"): late for n in (1, 2)},
    **{
        (f"dfedmdc.{name}", "printed"): lambda eta_u, K_u, L_u, lam, **_: [
            # the root of 2 alone; <<: a tenth
            (30 * sqrt(2) * eta_u * K_u * L_u, 1 - lam)
        ]
        for name in ("eq_11", "eq_25")
    },
}


def sqrt_t(K_u, K_v, L_u, L_v, T, rho0=0.0, **_):
    return {
        "eta_u": 1 / (L_u * K_u * sqrt(T)),
        "eta_v": 1 / (L_v * K_v * sqrt(T)),
        "rho": rho0 / sqrt(T),
    }


SCHEDULES = {name: sqrt_t for name in TERMS if "theorem_" in name[0]}


def sigma_4(K_u, L_u, L_v, rho, sigma_v, **v):
    return sigma_v**2 * (L_v + 1) / L_v**2 + ((L_u * rho) ** 2 + var(**v)) / (L_u * K_u)


DEFINITIONS = {
    ("dfedmdc.theorem_2", variant): {"sigma4": sigma_4}
    for variant in ("printed", "appendix_eq35")
}


LABELS = {
    "(1), (2)": ("glossary:K_u", "glossary:K_v"),
    "Definition 1": ("dfedmdc.theorem_1:printed@Definition 1",),
    "Assumption 1": ("dfedmdc.theorem_1:printed@1:", "glossary:chi"),
    "Assumption 2": ("dfedmdc.theorem_1:printed@2:",),
    "Assumption 3": ("dfedmdc.theorem_1:printed@3:", "glossary:delta_u"),
    "Algorithm 1": ("algorithms:DFedMDC", "algorithms:DFedSMDC"),
    "Theorem 1, (3), (21)": ("dfedmdc.theorem_1:printed",),
    "Theorem 1, sigma_1": ("dfedmdc.theorem_1:printed#sigma1",),
    "Theorem 1, sigma_2": ("dfedmdc.theorem_1:printed#sigma2",),
    "Theorem 1, sigma_3": ("dfedmdc.theorem_1:printed#sigma3",),
    "Theorem 2, (4)": ("dfedmdc.theorem_2:printed",),
    "Theorem 2, sigma": ("dfedmdc.theorem_2:printed#sigma",),
    "Theorem 2, sigma_4": ("dfedmdc.theorem_2:printed#sigma4",),
    "Remark 4, DFedAvg": ("dfedmdc.rate_quoted_dfedavg:printed",),
    "Remark 4, DFedSAM": ("dfedmdc.rate_quoted_dfedsam:printed",),
    "Lemma 3": ("dfedmdc.lemma_3:printed",),
    "Lemma 4": ("dfedmdc.lemma_4:printed",),
    "Lemma 5": ("dfedmdc.lemma_5:printed",),
    "Lemma 6": ("dfedmdc.lemma_6:printed",),
    "(5)": ("line:dfedmdc (5)",),
    "(6), (14), (28)": (
        "line:dfedmdc (6), sign 1",
        "line:dfedmdc (14)",
        "line:dfedmdc (28)",
    ),
    "(7)": ("line:dfedmdc (7)",),
    "(8), (22)": ("dfedmdc.eq_8:printed",),
    "(9)": ("dfedmdc.eq_9:printed",),
    "(10), (24)": ("dfedmdc.eq_10:printed",),
    "(11)": ("dfedmdc.eq_11:printed",),
    "(12)": ("dfedmdc.eq_12:printed",),
    "(13)": ("dfedmdc.eq_13:printed",),
    "(15), (29)": ("dfedmdc.eq_15:printed",),
    "(19)": ("dfedmdc.eq_19:printed",),
    "(20)": ("dfedmdc.theorem_1:appendix",),
    "(23)": ("dfedmdc.eq_23:printed",),
    "(25)": ("dfedmdc.eq_25:printed",),
    "(27)": ("dfedmdc.eq_27:printed",),
    "(33)": ("dfedmdc.eq_33:printed",),
    "(33), u-part": ("dfedmdc.eq_33_u:printed",),
    "(34)": ("dfedmdc.theorem_2:appendix",),
    "(35)": ("dfedmdc.theorem_2:appendix_eq35",),
}

REDERIVED = {
    "4.6, Theorem M, a = b": (
        "dfedmdc.theorem_1:corrected",
        "dfedmdc.theorem_2:corrected",
    ),
    "4.6, Theorem M": (
        "dfedmdc.theorem_1:corrected_different_steps",
        "dfedmdc.theorem_2:corrected_different_steps",
    ),
    "4.6, Theorem M at V^t": (
        "dfedmdc.theorem_1:corrected_same_round",
        "dfedmdc.theorem_2:corrected_same_round",
    ),
    "4.6, a = b = 1/sqrt(T)": (
        "dfedmdc.rate_theorem_1:corrected",
        "dfedmdc.rate_theorem_2:corrected",
    ),
}
ROUNDS = {
    name: ("mean", range(1, 11), 1)
    for name in TERMS
    if name[0].startswith("dfedmdc.theorem_") and not name[1].startswith("corrected")
}
