"""DFedADMM's formulas, typed from the text in plain floats: nothing here knows SymPy or
the package.
"""

from __future__ import annotations

from math import sqrt


def weights(eta, lam_admm, K, **_):
    """gamma_k = (eta/lambda)(1 - eta/lambda)^(K-1-k), k = 0..K-1."""
    r = eta / lam_admm
    return [r * (1 - r) ** (K - 1 - k) for k in range(K)]


def gamma(**v):
    return sum(weights(**v))


def dual_distance(**v):
    # 1 - gamma, without its cancellation
    rest = (1 - v["eta"] / v["lam_admm"]) ** v["K"]
    return rest**2 * (1 + rest**2 / gamma(**v) ** 2) * (v["sigma_l"] ** 2 + v["B"] ** 2)


def moment(sigma_l, B, **_):
    return sigma_l**2 + B**2


def spread(sigma_g, sigma_l, B, share, **_):
    return 3 * sigma_g**2 + 2 * sigma_l**2 + share * B**2


def kappa(L, eta, K, **_):
    return 0.5 - 1152 * L**2 * eta**2 * K**2


def c2(**v):
    return 16 * (v["eta"] * v["K"]) ** 2 * spread(share=4, **v) + v[
        "lam_admm"
    ] ** 2 * moment(**v)


def c0(sigma_g, sigma_l, B, G_x, **_):
    return 3 * sigma_g**2 + sigma_l**2 + 3 * G_x + sigma_l**2 + B**2


def basic(**v):
    k, e = kappa(**v), (v["L"] * v["eta"] * v["K"]) ** 2
    pen, L = v["lam_admm"], v["L"]
    return {
        "optimization": v["f0_gap"] / pen / k / v["T"],
        "drift": 96 * e / k * spread(share=1, **v),
        "dual": 3 * (pen * L) ** 2 * (1 + 384 * e) / k * moment(**v),
        "noise": L * pen / 2 / k * moment(**v),
    }


def far(**v):
    k, e = kappa(**v), (v["L"] * v["eta"] * v["K"]) ** 2
    g = (1 - v["lam"]) ** 2
    return {
        "consensus of the local steps": (
            96 * e * (1 + 192 * e) * spread(share=4, **v) / k / g
        ),
        "consensus of the dual": (
            6 * (v["lam_admm"] * v["L"]) ** 2 * (1 + 192 * e) * moment(**v) / k / g
        ),
    }


def sharp(**v):
    return {
        "sharpness": (
            6 * v["rho"] ** 2 * v["lam_admm"] * v["L"] ** 2 * moment(**v) / kappa(**v)
        )
    }


def appendix(**v):
    e = (v["L"] * v["eta"] * v["K"]) ** 2
    merged = (
        6 * v["L"] ** 2 * (1 + 192 * e) / kappa(**v) * c2(**v) / (1 - v["lam"]) ** 2
    )
    return {**basic(**v), "consensus": merged, **sharp(**v)}


def theta(**v):
    g = gamma(**v)
    return (1 - g) / g


def progress(eta, lam_admm, K, **_):
    return 1 - (1 - eta / lam_admm) ** (K - 1)


def gamma2(**v):
    g = gamma(**v)
    return sum((w / g) ** 2 for w in weights(**v))


def b1(second, prime=False):
    def terms(**v):
        pen, L, s = v["lam_admm"], v["L"], second(**v)
        noise_sq = (v["sigma_l"] + L * v["rho"]) ** 2 if "sigma_l" in v else 0.0
        noise = (
            L * pen * s**2 if prime else 2 * L * pen * gamma2(**v) * noise_sq / v["m"]
        )
        walk = theta(**v) + v["lam"] / (1 - v["lam"]) + 2 * progress(**v)
        return {
            "optimization": 2 * v["f0_gap"] / (pen * v["T"]),
            "noise": noise,
            "dual, consensus and sharpness": (L * v["rho"] + L * pen * s * walk) ** 2,
        }

    return terms


def s_bounded(B, sigma_l, L, rho, **_):
    return sqrt(B**2 + sigma_l**2) + L * rho


def s_moment(S2, **_):
    return S2**0.5


def b1_sharper(**v):
    c = v["L"] * v["lam_admm"]
    noise = c * gamma2(**v) * (v["sigma_l"] + v["L"] * v["rho"]) ** 2 / v["m"] / (1 - c)
    return {**b1(s_moment)(**v), "noise": noise}


def b2(**v):
    L, c = v["L"], v["L"] * v["lam_admm"]
    noise, bias = (v["sigma_l"] + L * v["rho"]) ** 2, (v["sigma_g"] + L * v["rho"]) ** 2
    leak = c * v["lam"] / (1 - v["lam"])
    parts = {
        "optimization": 1682 * v["f0_gap"] / (v["lam_admm"] * v["T"]),
        "noise": (
            (649 * 2.25 * c + 5430 * (c * theta(**v)) ** 2)
            * gamma2(**v)
            * noise
            / v["m"]
        ),
        "drift": 49152 * (c * progress(**v)) ** 2 * (2 * bias + noise),
        "consensus": 18432 * leak**2 * (bias + gamma2(**v) * noise),
        "sharpness": 2523 * (L * v["rho"]) ** 2,
    }
    return {name: value / 649 for name, value in parts.items()}


def corollary(sam):
    def terms(K, T, L, f0_gap, B, sigma_l, sigma_g, lam=0.0, **_):
        s = B**2 + sigma_l**2
        found = {
            "optimization and noise": (f0_gap + K**-0.5 * s) / T**0.5,
            "consensus of the local steps": (s + sigma_g**2) / T / (1 - lam) ** 2,
            "consensus of the dual": s / (T * K) / (1 - lam) ** 2,
        }
        return {**found, "sharpness": L * s / (T**1.5 * K**0.5)} if sam else found

    def without(**v):
        return terms(L=1.0, **v)

    return terms if sam else without


def corollary_b(share, path):
    def terms(K, T, m, L, f0_gap, sigma_l, rho0, lam, S2, **_):
        noise = (sigma_l + L * rho0 / sqrt(T)) ** 2
        root = L * rho0 / sqrt(T) + sqrt(K * S2 / T) * (path + lam / (1 - lam))
        return {
            "optimization": 2 * L * f0_gap / sqrt(K * T),
            "noise": share * noise / m / sqrt(K * T),
            "dual, consensus and sharpness": root**2,
        }

    return terms


def corollary_b_paper(K, T, m, L, f0_gap, sigma_l, rho0, lam, S2, **_):
    own = {"eta": 1 / (L * K * sqrt(T)), "lam_admm": 1 / (L * sqrt(K * T)), "K": K}
    noise = (sigma_l + L * rho0 / sqrt(T)) ** 2
    walk = theta(**own) + lam / (1 - lam) + 2 * progress(**own)
    return {
        "optimization": 2 * L * sqrt(K / T) * f0_gap,
        "noise": 2 * gamma2(**own) * noise / m / sqrt(K * T),
        "dual, consensus and sharpness": (
            (L * rho0 / sqrt(T) + sqrt(S2 / (K * T)) * walk) ** 2
        ),
    }


def gap(lam, **_):
    return (1 - lam) ** 2


def local_part(**v):
    return 96 * v["lam_admm"] * (v["L"] * v["eta"] * v["K"]) ** 2 * spread(share=1, **v)


def sam_part(**v):
    return 6 * v["rho"] ** 2 * v["lam_admm"] * v["L"] ** 2 * moment(**v)


def r2(**v):
    pen, L = v["lam_admm"], v["L"]
    total = local_part(**v) + 288 * pen * (L * v["eta"] * v["K"]) ** 2 * v["G_x"]
    total += 6 * pen * L**2 * c2(**v) / gap(**v) + 6 * pen**3 * L**2 * dual_distance(
        **v
    )
    return total - 0.5 * pen * v["G_w"] + sam_part(**v)


def descent(dual):
    def value(**v):
        pen, L = v["lam_admm"], v["L"]
        e = (L * v["eta"] * v["K"]) ** 2
        total = -kappa(**v) * pen * v["G_w"] + local_part(**v)
        total += dual(**v) * pen**3 * L**2 * (1 + 384 * e) + L / 2 * pen**2 * moment(
            **v
        )
        return (
            total + 6 * pen * L**2 * (1 + 192 * e) * c2(**v) / gap(**v) + sam_part(**v)
        )

    return value


def one(f):
    return lambda **v: {"bound": f(**v)}


ONE = {
    "definition_kappa": kappa,
    "lemma_5": moment,
    "lemma_6": lambda **v: 16 * (v["eta"] * v["K"]) ** 2 * c0(**v),
    "lemma_8": lambda **v: 2 * c2(**v) / gap(**v),
    "eq_12": lambda young, eta, lam_admm, L: (
        (1 + young) * (1 - eta / lam_admm) ** 2 + (1 + 1 / young) * 6 * (eta * L) ** 2
    ),
    "eq_R2": r2,
    "eq_descent": descent(lambda **v: 6 * dual_distance(**v)),
    "eq_descent_last": descent(lambda **v: 3 * moment(**v)),
}
RATE = {
    "optimization": lambda K, T, lam: (K * T) ** -0.5,
    "consensus": lambda K, T, lam: 1 / (K * T * (1 - lam) ** 2),
    "sharpness": lambda K, T, lam: T**-1.5 * K**-0.5,
}


def rate(*names):
    return lambda **v: {name: RATE[name](**v) for name in names}


TERMS = {
    ("dfedadmm.theorem_1", "printed"): lambda **v: {
        **basic(**v),
        **far(**v),
        **sharp(**v),
    },
    ("dfedadmm.theorem_1", "appendix"): appendix,
    ("dfedadmm.theorem_1", "corrected"): b1(s_bounded),
    ("dfedadmm.theorem_1", "corrected_small_steps"): lambda **v: {
        **basic(**v),
        **far(**v),
    },
    ("dfedadmm.theorem_1", "corrected_second_moment"): b1(s_moment),
    ("dfedadmm.theorem_1", "corrected_any_penalty"): b1(s_moment, prime=True),
    ("dfedadmm.theorem_1", "corrected_larger_penalty"): b1_sharper,
    ("dfedadmm.theorem_1", "corrected_no_bounded_gradients"): b2,
    ("dfedadmm.corollary_1", "printed"): corollary(sam=True),
    ("dfedadmm.corollary_1", "printed_admm"): corollary(sam=False),
    ("dfedadmm.corollary_1", "corrected"): corollary_b(20 / 9, 1.8463),
    ("dfedadmm.corollary_1", "corrected_paper_schedule"): corollary_b_paper,
    ("dfedadmm.rate_abstract", "printed"): rate("optimization", "consensus"),
    ("dfedadmm.rate_abstract_sam", "printed"): rate(
        "optimization", "consensus", "sharpness"
    ),
    ("dfedadmm.definition_kappa", "appendix"): one(
        lambda L, eta, K: 0.5 - 1152 * L**2 * eta**2 * K
    ),
    **{(f"dfedadmm.{name}", "printed"): one(f) for name, f in ONE.items()},
}


def printed_conditions(eta, lam_admm, K, L, **_):
    return [
        (96 * eta * K * L, 1),
        (eta, 2 * lam_admm),
        (lam_admm, K * eta),
        (1152 * (L * eta * K) ** 2, 0.5),
    ]


def sixth(eta, K, L, **_):
    return [(6 * eta * K * L, 1)]


def b2_conditions(**v):
    eta, pen, L, lam = v["eta"], v["lam_admm"], v["L"], v["lam"]
    return [
        (eta, pen),
        (4 * L * pen, 1),
        (4 * L * pen * theta(**v), 1),
        (32 * L * pen * progress(**v), 1),
        (8 * L * pen * lam, 1 - lam),
    ]


CONDITIONS = {
    ("dfedadmm.theorem_1", "printed"): printed_conditions,
    ("dfedadmm.theorem_1", "appendix"): printed_conditions,
    ("dfedadmm.theorem_1", "corrected_small_steps"): lambda eta, lam_admm, K, L, **_: [
        (96 * eta * K * L, 1),
        (eta, lam_admm),
        (lam_admm, K * eta),
    ],
    ("dfedadmm.theorem_1", "corrected"): lambda eta, lam_admm, L, **_: [
        (eta, lam_admm),
        (2 * L * lam_admm, 1),
    ],
    ("dfedadmm.theorem_1", "corrected_second_moment"): lambda eta, lam_admm, L, **_: [
        (eta, lam_admm),
        (2 * L * lam_admm, 1),
    ],
    ("dfedadmm.theorem_1", "corrected_any_penalty"): lambda eta, lam_admm, **_: [
        (eta, lam_admm)
    ],
    ("dfedadmm.theorem_1", "corrected_no_bounded_gradients"): b2_conditions,
    ("dfedadmm.theorem_1", "corrected_larger_penalty"): lambda eta, lam_admm, L, **_: [
        (eta, lam_admm),
        (L * lam_admm, 1),
    ],
    ("dfedadmm.corollary_1", "corrected"): lambda K, T, **_: [(4 * K, T)],
    ("dfedadmm.corollary_1", "corrected_paper_schedule"): lambda K, T, **_: [
        (4, K * T)
    ],
    ("dfedadmm.lemma_6", "printed"): sixth,
    ("dfedadmm.lemma_8", "printed"): sixth,
    ("dfedadmm.eq_descent_last", "printed"): lambda eta, lam_admm, K, **_: [
        (lam_admm, K * eta),
        (eta, 2 * lam_admm),
    ],
}


def paper(K, T, L, rho0=0.0, **_):
    return {
        "eta": 1 / (L * K * sqrt(T)),
        "lam_admm": 1 / (L * sqrt(K * T)),
        "rho": rho0 / sqrt(T),
    }


def without_sam(**v):
    return {**paper(**v), "rho": 0.0}


def longer(K, T, L, rho0, **_):
    return {
        "lam_admm": sqrt(K / T) / L,
        "eta": sqrt(K / T) / L / K,
        "rho": rho0 / sqrt(T),
    }


SCHEDULES = {
    **{
        name: paper
        for name in TERMS
        if name[0].split(".")[1] in ("theorem_1", "corollary_1", "rate_abstract_sam")
    },
    ("dfedadmm.corollary_1", "printed_admm"): without_sam,
    ("dfedadmm.rate_abstract", "printed"): without_sam,
    ("dfedadmm.corollary_1", "corrected"): longer,
}


LABELS = {
    "Definition 1": ("dfedadmm.theorem_1:printed@Definition 1",),
    "Assumption 1": ("dfedadmm.theorem_1:printed@1:",),
    "Assumption 2": ("dfedadmm.theorem_1:printed@2:",),
    "Assumption 3": ("dfedadmm.theorem_1:printed@3:",),
    "Assumption 4": ("dfedadmm.theorem_1:printed@4:",),
    "Algorithm 1, (6), (8)": ("algorithms:DFedADMM", "algorithms:DFedADMMSAM"),
    "(7), (9), Lemma 2, gamma": ("test:what_dfedadmm_sends_is_its_new_dual",),
    "Lemma 3, (10)": ("test:what_dfedadmm_sends_is_its_new_dual",),
    "Lemma 9, (20)": ("test:dfedadmms_auxiliary_sequence",),
    "Theorem 1": ("dfedadmm.theorem_1:printed",),
    "Theorem 1, kappa": ("dfedadmm.definition_kappa:printed",),
    "Corollary 1": ("dfedadmm.corollary_1:printed",),
    "Corollary 1, rho = 0": ("dfedadmm.corollary_1:printed_admm",),
    "abstract, DFedADMM": ("dfedadmm.rate_abstract:printed",),
    "abstract, DFedADMM-SAM": ("dfedadmm.rate_abstract_sam:printed",),
    "introduction, DFedADMM-SAM": ("dfedadmm.rate_abstract_sam:printed",),
    "Lemma 5": ("dfedadmm.lemma_5:printed",),
    "Lemma 6, (11)": ("dfedadmm.lemma_6:printed",),
    "(12)": ("dfedadmm.eq_12:printed",),
    "Lemma 8": ("dfedadmm.lemma_8:printed",),
    "C.1, R2": ("dfedadmm.eq_R2:printed",),
    "C.1, first descent after (23)": ("dfedadmm.eq_descent:printed",),
    "C.1, second descent after (23)": ("dfedadmm.eq_descent_last:printed",),
    "C.1, last display": ("dfedadmm.theorem_1:appendix",),
    "C.1, kappa in the last line": ("dfedadmm.definition_kappa:appendix",),
}

REDERIVED = {
    "Theorem B0": ("dfedadmm.theorem_1:corrected_small_steps",),
    "Theorem B1": ("dfedadmm.theorem_1:corrected_second_moment",),
    "Theorem B1 with bounded gradients": ("dfedadmm.theorem_1:corrected",),
    "Theorem B1'": ("dfedadmm.theorem_1:corrected_any_penalty",),
    "Theorem B2": ("dfedadmm.theorem_1:corrected_no_bounded_gradients",),
    "Theorem B1, noise for any L lam < 1": (
        "dfedadmm.theorem_1:corrected_larger_penalty",
    ),
    "Corollary B(i)": ("dfedadmm.corollary_1:corrected",),
    "Corollary B(ii)": ("dfedadmm.corollary_1:corrected_paper_schedule",),
}
