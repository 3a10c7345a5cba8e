"""Yuan, Ling and Yin 2016, typed from the formal statements: nothing here knows SymPy
or the package.

(10): "||h(k)|| <= D = sqrt(2 L_h sum_i (f_i(0) - f_i^o))", alpha <= (1 +
lambda_n(W))/L_h.  Lemma 1: "|| x_(i)(k) - xbar(k)|| <= alpha D/(1 - beta)".  Lemma 2:
"||g(k) - gbar(k)|| <= alpha D L_h/(1 - beta)".  Proof of Theorem 2: "rbar(k+1) <=
rbar(k) - (alpha/2)||gbar(k)||^2 + alpha^3 D^2 L_h^2/(2 (1 - beta)^2)", alpha <= 1/L.
Theorem 3: "||ebar(k)|| <= c_3^k ||ebar(0)|| + c_4/sqrt(1 - c_3^2)", c_3 = sqrt(1 -
alpha c_2/2), c_4^2 = alpha^3 (alpha + 1/delta) L_h^2 D^2/(1 - beta)^2, delta = c_2/(2
(1 - alpha c_2)), c_1 = 1/(mu + L), c_2 = mu L/(mu + L).  f_i(0) - f_i^o add up to m
(f0_gap + Gamma).
"""

from __future__ import annotations


def bound_of_gradients(L, m, f0_gap, Gamma):
    return (2 * L * (m * f0_gap + m * Gamma)) ** 0.5


def equation_10(L, m, f0_gap, Gamma, **_):
    return {"start": bound_of_gradients(L, m, f0_gap, Gamma) ** 2}


def lemma_1(L, m, eta, lam, f0_gap, Gamma, **_):
    return {"start": (eta * bound_of_gradients(L, m, f0_gap, Gamma) / (1 - lam)) ** 2}


def lemma_2(L, m, eta, lam, f0_gap, Gamma, **_):
    return {
        "start": (eta * bound_of_gradients(L, m, f0_gap, Gamma) * L / (1 - lam)) ** 2
    }


def descent(L, m, eta, lam, f0_gap, Gamma, G_bar, gap_now, **_):
    D = bound_of_gradients(L, m, f0_gap, Gamma)
    return {
        "now": gap_now,
        "descent": -(eta / 2) * G_bar,
        "consensus": eta**3 * D**2 * L**2 / (2 * (1 - lam) ** 2),
    }


def theorem_3(T, L, m, eta, mu, lam, f0_gap, Gamma, x_star_sq, **_):
    D, c_2 = bound_of_gradients(L, m, f0_gap, Gamma), mu * L / (mu + L)
    delta = c_2 / (2 * (1 - eta * c_2))
    c_3 = (1 - eta * c_2 / 2) ** 0.5
    c_4 = (eta**3 * (eta + 1 / delta) * L**2 * D**2 / (1 - lam) ** 2) ** 0.5
    return {"both": (c_3**T * x_star_sq**0.5 + c_4 / (1 - c_3**2) ** 0.5) ** 2}


def clients(L, eta, lam_min, mu_each, sigma_l, also=(), **_):
    return [(L * eta, 1 + lam_min), *also, (mu_each, L), (2 * sigma_l, sigma_l)]


TERMS = {
    (f"yuan2016.{f.__name__}", "printed"): f
    for f in (equation_10, lemma_1, lemma_2, descent, theorem_3)
}
CONDITIONS = {
    (f"yuan2016.{name}", "printed"): clients
    for name in ("equation_10", "lemma_1", "lemma_2")
} | {
    ("yuan2016.descent", "printed"): lambda L, eta, **rest: clients(
        L, eta, also=[(L * eta, 1)], **rest
    ),
    ("yuan2016.theorem_3", "printed"): lambda L, eta, mu, **rest: clients(
        L, eta, also=[(eta * (mu + L), 1), (mu / 2, mu), (mu, L)], **rest
    ),
}
SCHEDULES = {}
LABELS = {
    "(4)": ("algorithms:DPSGD",),
    "Theorem 1, (10)": ("yuan2016.equation_10:printed",),
    "Lemma 1": ("yuan2016.lemma_1:printed",),
    "Lemma 2": ("yuan2016.lemma_2:printed",),
    "proof of Theorem 2": ("yuan2016.descent:printed",),
    "Theorem 3": ("yuan2016.theorem_3:printed",),
}
ROUNDS = {("yuan2016.theorem_3", "printed"): ("last", range(10, 11), 0)}
