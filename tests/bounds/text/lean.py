"""Gradient descent and SGD, typed from the files in Lean: nothing here knows SymPy or
the package.

optlib: "f (alg.x (k + 1)) - f xm <= 1 / (2 * (k + 1) * alg.a) * ||x0 - xm|| ^ 2", alg.a
<= 1 / alg.l; and "||alg.x k - xm|| ^ 2 <= (1 - alg.a * (2 * m * alg.l / (m + alg.l))) ^
k * ||x0 - xm|| ^ 2", alg.a <= 2 / (m + alg.l).  gradient-descent-lean: "||x k - xstar||
^ 2 <= (1 - alpha * mu) ^ k * ||x0 - xstar|| ^ 2", alpha <= 1 / L.  SGD_formal: "2 * (f
w0 - f_star) / (eta * T) + eta * L * sigma ^ 2"; "||w0 - wStar|| ^ 2 / (2 * eta * T) +
eta * sigma ^ 2 / 2"; "(1 - eta * mu) ^ T * ||w0 - wStar|| ^ 2 + eta * sigma ^ 2 / mu",
eta <= 1 / L, eta * mu < 1.
"""

from __future__ import annotations


def gd_convex(T, eta, x_star_sq, **_):
    k = T - 1
    return {"optimization": 1 / (2 * (k + 1) * eta) * x_star_sq}


def gd_strongly_convex(T, eta, L, mu, x_star_sq, **_):
    m, a, l = mu, eta, L
    return {"optimization": (1 - a * (2 * m * l / (m + l))) ** T * x_star_sq}


def gd_contraction(T, eta, mu, x_star_sq, **_):
    return {"optimization": (1 - eta * mu) ** T * x_star_sq}


def sgd_nonconvex(T, eta, L, S2, f0_gap, **_):
    return {"optimization": 2 * f0_gap / (eta * T), "noise": eta * L * S2}


def sgd_convex(T, eta, S2, x_star_sq, **_):
    return {"optimization": x_star_sq / (2 * eta * T), "noise": eta * S2 / 2}


def sgd_strongly_convex(T, eta, mu, S2, x_star_sq, **_):
    return {"optimization": (1 - eta * mu) ** T * x_star_sq, "noise": eta * S2 / mu}


def exact(sigma_l):
    return (2 * sigma_l, sigma_l)


TERMS = {
    (f"lean.{f.__name__}", "printed"): f
    for f in (
        gd_convex,
        gd_strongly_convex,
        gd_contraction,
        sgd_nonconvex,
        sgd_convex,
        sgd_strongly_convex,
    )
}
CONDITIONS = {
    ("lean.gd_convex", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (L * eta, 1),
        (mu, L),
        exact(sigma_l),
    ],
    ("lean.gd_strongly_convex", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (eta * (mu + L), 2),
        (mu / 2, mu),
        (mu, L),
        exact(sigma_l),
    ],
    ("lean.gd_contraction", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (L * eta, 1),
        (mu / 2, mu),
        (mu, L),
        exact(sigma_l),
    ],
    ("lean.sgd_convex", "printed"): lambda L, mu, **_: [(mu, L)],
    ("lean.sgd_strongly_convex", "printed"): lambda L, eta, mu, **_: [
        (L * eta, 1),
        (eta * mu, 1),
        (mu / 2, mu),
        (mu, L),
    ],
}
SCHEDULES = {}
LABELS = {key: (f"{key}:{variant}",) for key, variant in TERMS}
ROUNDS = {
    name: ("last", range(10, 11), 0)
    for name in TERMS
    if name[0] not in ("lean.sgd_nonconvex", "lean.sgd_convex")
}
