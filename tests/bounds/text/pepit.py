"""Gradient descent, typed from PEPit's docstring
(examples/nonconvex_optimization/gradient_descent.py).

"When gamma <= 1/L, an empirically tight theoretical worst-case guarantee is min_{t <=
n} ||grad f(x_t)||^2 <= 4/3 L/n (f(x_0) - f(x_n))"; the example takes gamma = 1 / L.
There n is our T and gamma our eta; the example's code has ``theoretical_tau = 4 / 3 * L
/ n``.  On convex functions: "f(x_n)-f_* <= L/(4nL gamma+2) ||x_0-x_*||^2".  SGD:
"E||x_1 - x_*||^2 <= (gamma (L-mu)/2 R + sqrt((1-gamma (L+mu)/2)^2 R^2 + gamma^2
v^2))^2".  Nothing here knows SymPy or the package.
"""

from __future__ import annotations


def guarantee(L, T, f0_gap, **_):
    tau = 4 / 3 * L / T
    return {"optimization": tau * f0_gap}


def convex(L, T, eta, x_star_sq, **_):
    return {"optimization": L * x_star_sq / (4 * T * L * eta + 2)}


def sgd(L, eta, mu_each, x_star_sq, sigma_star, **_):
    R, v, gamma, mu = x_star_sq**0.5, sigma_star, eta, mu_each
    root = ((1 - gamma * (L + mu) / 2) ** 2 * R**2 + gamma**2 * v**2) ** 0.5
    return {"both": (gamma * (L - mu) / 2 * R + root) ** 2}


def printed(L, eta, sigma_l, **_):
    return [(L * eta, 1), (2 * sigma_l, sigma_l)]


def example(L, eta, sigma_l, **_):
    return [(1 / L, eta), (eta, 1 / L), (2 * sigma_l, sigma_l)]


TERMS = {("pepit.gradient_descent", v): guarantee for v in ("printed", "example")}
TERMS |= {
    ("pepit.gradient_descent_convex", "printed"): convex,
    ("pepit.sgd", "printed"): sgd,
}
CONDITIONS = {
    ("pepit.gradient_descent", "printed"): printed,
    ("pepit.gradient_descent", "example"): example,
    ("pepit.gradient_descent_convex", "printed"): lambda L, eta, mu, sigma_l, **_: [
        (L * eta, 1),
        (mu, L),
        (2 * sigma_l, sigma_l),
    ],
    ("pepit.sgd", "printed"): lambda L, mu_each, sigma_l, **_: [
        (mu_each, L),
        (2 * sigma_l, sigma_l),
    ],
}
SCHEDULES = {}
LABELS = {
    "Theoretical guarantee": ("pepit.gradient_descent:printed",),
    "Example": ("pepit.gradient_descent:example",),
    "Convex minimization": ("pepit.gradient_descent_convex:printed",),
    "SGD": ("pepit.sgd:printed",),
}
ROUNDS = {
    ("pepit.gradient_descent", v): ("min", range(11), 0) for v in ("printed", "example")
} | {
    ("pepit.gradient_descent_convex", "printed"): ("last", range(10, 11), 0),
    ("pepit.sgd", "printed"): ("last", range(1, 2), 0),
}
