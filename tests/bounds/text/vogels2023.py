"""Vogels, Hendrikx and Jaggi 2023 (Beyond spectral gap), typed from the paper's text:
nothing here knows SymPy or the package.

Theorem 6: "eta <= min(beta(gamma) omega/L, 1/(4[(n_W(gamma)^-1 + omega) zeta + L]))
... L(t+1) <= (1 - eta mu) L(t) + eta^2 sigma_M^2, sigma_M^2 = 2[(1 - omega)
n_W(gamma)^-1 + omega] E||grad F_xi(x_eta) - grad F(x_eta)||^2"; "it is often convenient
to choose omega = eta L/beta(gamma)"; (33): "beta(gamma) <= lambda_i (1 - gamma
lambda_i^2)/(1 + lambda_i)".  Theorem 9: "2 (1 - eta mu)^t L(0) + 6 eta sigma_M*^2/mu +
6 eta^2 kappa p^-1 Delta_W^2, sigma_M*^2 = (n_W(gamma)^-1 + omega) E||grad F_xi(x*) -
grad F(x*)||^2, p >= 1 - lambda_2(W), Delta_W^2 = ||grad F(x*)||^2 in the norm of the
pseudoinverse of I - W"; kappa = L/mu.  (18): norms add over the n clients, and "zeta"
of functions that are L-smooth is L.  Corollary 8: "lambda_min(W) >= 1/2".
"""

from __future__ import annotations


def sigma_M_sq(neighbors, omega, variance):
    return 2 * ((1 - omega) / neighbors + omega) * variance


def one_round(eta, mu_each, n_W, omega_l, lyapunov_now, noise_star, **_):
    return {
        "contraction": (1 - eta * mu_each) * lyapunov_now,
        "noise": eta**2 * sigma_M_sq(n_W, omega_l, noise_star),
    }


def homogeneous(T, eta, L, mu_each, sigma_l, x_star_sq, n_9, beta_9, **_):
    """Theorem 6, T times, from L(0) = n ||x0 - x*||^2, over n."""
    n = 5
    variance = sigma_M_sq(n_9, eta * L / beta_9, n * sigma_l**2)
    start = n * x_star_sq * (1 - eta * mu_each) ** T
    return {
        "optimization": start / n,
        "noise": eta / mu_each * variance / n,
    }


def in_neighborhoods(
    T,
    eta,
    L,
    mu_each,
    n_W,
    omega_l,
    lyapunov_start,
    noise_star,
    Delta_W_sq,
    p_W,
    **_,
):
    kappa = L / mu_each
    return {
        "optimization": 2 * (1 - eta * mu_each) ** T * lyapunov_start,
        "noise": 6 * eta * (1 / n_W + omega_l) * noise_star / mu_each,
        "heterogeneity": 6 * eta**2 * kappa / p_W * Delta_W_sq,
    }


def of_the_mean(
    T, eta, L, mu_each, sigma_l, sigma_star, x_star_sq, lam, n_9, beta_9, **_
):
    """Theorem 9 over n; L(0) <= 2 n ||x0 - x*||^2 + 2 eta^2 kappa p^-1 Delta_W^2."""
    n = 5
    delta = n * sigma_star**2 / (1 - lam)
    start = 2 * n * x_star_sq + 2 * eta**2 * L / mu_each / (1 - lam) * delta
    terms = in_neighborhoods(
        T=T,
        eta=eta,
        L=L,
        mu_each=mu_each,
        n_W=n_9,
        omega_l=eta * L / beta_9,
        lyapunov_start=start,
        noise_star=n * sigma_l**2,
        Delta_W_sq=delta,
        p_W=1 - lam,
    )
    return {name: value / n for name, value in terms.items()}


def convex(L, mu_each, **_):
    return [(mu_each / 2, mu_each), (mu_each, L)]


def step(neighbors, omega, zeta, L):
    return 1 / (4 * ((1 / neighbors + omega) * zeta + L))


def when_printed(eta, L, zeta, n_W, beta_W, omega_l, **rest):
    return [
        (eta, beta_W * omega_l / L),
        (eta, step(n_W, omega_l, zeta, L)),
        *convex(L=L, **rest),
    ]


def when_omega_is_chosen(eta, L, n_9, beta_9, **rest):
    return [
        (eta * L, beta_9),
        (eta, step(n_9, eta * L / beta_9, L, L)),
        *convex(L=L, **rest),
    ]


def when_homogeneous(sigma_g, **rest):
    return [*when_omega_is_chosen(**rest), (sigma_g, 0)]


def when_theorem_9(lam_min, **rest):
    return [*when_printed(**rest), (0.5, lam_min)]


def when_of_the_mean(lam_min, **rest):
    return [*when_omega_is_chosen(**rest), (0.5, lam_min)]


TERMS = {
    ("vogels2023.theorem_6", "printed"): one_round,
    ("vogels2023.theorem_6", "homogeneous"): homogeneous,
    ("vogels2023.theorem_9", "printed"): in_neighborhoods,
    ("vogels2023.theorem_9", "restated"): of_the_mean,
}
CONDITIONS = {
    ("vogels2023.theorem_6", "printed"): when_printed,
    ("vogels2023.theorem_6", "homogeneous"): when_homogeneous,
    ("vogels2023.theorem_9", "printed"): when_theorem_9,
    ("vogels2023.theorem_9", "restated"): when_of_the_mean,
}
SCHEDULES = {}
ROUNDS = {
    ("vogels2023.theorem_6", "printed"): ("each", range(10), 0),
    ("vogels2023.theorem_6", "homogeneous"): ("last", range(10, 11), 0),
    ("vogels2023.theorem_9", "printed"): ("last", range(10, 11), 0),
    ("vogels2023.theorem_9", "restated"): ("last", range(10, 11), 0),
}
LABELS = {
    "Proposition 2, (6)": ("graphs:effective_neighbors",),
    "Theorem 6": (
        "vogels2023.theorem_6:printed",
        "vogels2023.theorem_6:homogeneous",
    ),
    "Theorem 9": ("vogels2023.theorem_9:printed", "vogels2023.theorem_9:restated"),
}
