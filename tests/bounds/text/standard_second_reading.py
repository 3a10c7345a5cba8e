"""The standard theorems in plain floats and in the notation of their papers.

A second reading of the texts of Wang and Joshi (2021), Yuan, Alghunaim and Huang (2023),
Vogels, Hendrikx and Jaggi (2023) and Lu and De Sa (2023), made without the theorem files
and without the first reading in this folder. Each function returns the right-hand side
of a statement, and each ``..._holds`` function whether its conditions hold. ``gap`` is
F(u_1) - F_inf and ``sigma`` the standard deviation of the noise.
"""

from __future__ import annotations

import math

# Wang and Joshi 2021: K iterations, communication period tau, v auxiliary variables


def wj_theorem_1(gap, eta, L, sigma, m, v, zeta, tau, K):
    """Right-hand side of (17)."""
    eta_eff = m * eta / (m + v)
    synchronous = 2 * gap / (eta_eff * K) + eta_eff * L * sigma**2 / m
    spread = (1 + zeta**2) / (1 - zeta**2) * tau - 1
    return synchronous + (eta_eff * L * sigma * (1 + v / m)) ** 2 * spread


def wj_theorem_1_holds(eta, L, m, v, zeta, tau):
    """Condition (16)."""
    eta_eff = m * eta / (m + v)
    periods = (1 + v / m) * tau / (1 - zeta)
    return eta_eff * L + 5 * (eta_eff * L * periods) ** 2 <= 1


def wj_theorem_1_before_simplification_holds(eta, L, m, v, zeta, tau):
    """Condition (143) of the appendix with beta = 0, as written in (145)."""
    drift = 2 * zeta**2 / (1 + zeta) + 2 * zeta / (1 - zeta) + (tau - 1) / tau
    return m * eta * L / (m + v) + (eta * L * tau) ** 2 / (1 - zeta) * drift <= 1


def wj_corollary_1(gap, L, sigma, m, v, zeta, tau, K):
    """Right-hand side of (18)."""
    spread = (1 + zeta**2) / (1 - zeta**2) * tau - 1
    network = m / K * (1 + v / m) ** 2 * spread * sigma**2
    return (2 * L * gap + sigma**2) / math.sqrt(m * K) + network


def wj_corollary_1_step(L, m, v, K):
    """The learning rate eta of Corollary 1."""
    return (m + v) / (L * m) * math.sqrt(m / K)


def wj_corollary_1_holds(m, v, zeta, tau, K):
    """Condition above (18)."""
    return 10 * m * ((1 + v / m) * tau / (1 - zeta)) ** 2 <= K


def wj_corollary_1_long(gap, L, sigma, m, K):
    """Bound of the last sentence of Corollary 1."""
    return 2 * (L * gap + sigma**2) / math.sqrt(m * K)


def wj_corollary_1_long_holds(m, v, zeta, tau, K):
    """Both conditions: that of (18) and that of the last sentence."""
    periods = (1 + v / m) * tau / (1 - zeta)
    return max(10 * m, (m + v) ** 2 * m) * periods**2 <= K


def wj_theorem_2_constant(eta, L, zeta, tau):
    """The constant C of (21)."""
    drift = 2 * zeta**2 / (1 + zeta) + 2 * zeta / (1 - zeta) + (tau - 1) / tau
    return 6 * (eta * L * tau) ** 2 / (1 - zeta) * drift


def wj_theorem_2(gap, eta, L, sigma, kappa, m, v, zeta, tau, K):
    """Right-hand side of (20)."""
    homogeneous = wj_theorem_1(gap, eta, L, sigma, m, v, zeta, tau, K)
    return 2 * homogeneous + wj_theorem_2_constant(eta, L, zeta, tau) * kappa**2


def wj_theorem_2_holds(eta, L, m, v, zeta, tau):
    """Conditions of Theorem 2: eta_eff L <= 1, and C <= 1/2 by (21)."""
    constant = wj_theorem_2_constant(eta, L, zeta, tau)
    return m * eta / (m + v) * L <= 1 and constant <= 0.5


def wj_theorem_3(gap, eta, L, sigma, m, tau, K):
    """Right-hand side of (23): EASGD with alpha = 2/(m + 2)."""
    eta_eff = m * eta / (m + 1)
    C = 1 + 2 * (1 + 1 / m) ** 2
    network = eta_eff**2 * L**2 * sigma**2 * (m + 1) / 2 * (1 + C * (tau - 1))
    return 2 * gap / (eta_eff * K) + eta_eff * L * sigma**2 / m + network


def wj_corollary_2(gap, eta, L, sigma, m, tau, K):
    """Right-hand side of (24)."""
    noise = eta * L * sigma**2 / m + (eta * L * sigma) ** 2 * (tau - 1)
    return 2 * gap / (eta * K) + noise


def wj_corollary_2_holds(eta, L, tau):
    """Condition above (24)."""
    return eta * L + (eta * L) ** 2 * tau * (tau - 1) <= 1


def wj_corollary_2_tuned(gap, L, sigma, m, tau, K):
    """Right-hand side of (25), at eta = sqrt(m/K)/L."""
    speed_up = (2 * L * gap + sigma**2) / math.sqrt(m * K)
    return speed_up + m * (tau - 1) * sigma**2 / K


def wj_corollary_2_tuned_holds(m, tau, K):
    """Condition above (25)."""
    return 10 * m * tau**2 <= K


def wj_corollary_3(gap, eta, L, sigma, m, zeta, K):
    """Right-hand side of (27)."""
    network = (eta * L * sigma) ** 2 * 2 * zeta**2 / (1 - zeta**2)
    return 2 * gap / (eta * K) + eta * L * sigma**2 / m + network


def wj_corollary_3_holds(eta, L, zeta):
    """Condition above (27)."""
    drift = 2 * zeta / (1 - zeta) * (zeta / (1 + zeta) + 1 / (1 - zeta))
    return eta * L + (eta * L) ** 2 * drift <= 1


def wj_corollary_3_tuned(gap, L, sigma, m, zeta, K):
    """Right-hand side of (28), at eta = sqrt(m/K)/L."""
    speed_up = (2 * L * gap + sigma**2) / math.sqrt(m * K)
    return speed_up + m * sigma**2 / K * 2 * zeta**2 / (1 - zeta**2)


def wj_corollary_3_tuned_holds(m, zeta, K):
    """Condition above (28)."""
    return 10 * m / (1 - zeta) ** 2 <= K


# Yuan, Alghunaim and Huang 2023: averages over k = 0, ..., T with weight 1/(T + 1)


def yuan_gossip(lam_2, lam_n):
    """Return lambda-bar_2, lambda-bar_n and beta_1 of (16) and Lemma 9."""
    upper, lower = (1 + lam_2) / 2, (1 + lam_n) / 2
    return upper, lower, math.sqrt(upper)


def yuan_lemma_10(sum_of_gaps, z_sq, gamma, L, sigma, n, lam_2, lam_n, T):
    """Right-hand side of (26)."""
    upper, _, beta_1 = yuan_gossip(lam_2, lam_n)
    descent = 32 * n * (gamma * upper) ** 2 * L / (1 - beta_1) ** 2 / (T + 1)
    noise = 8 * n * (gamma * upper * sigma) ** 2 / (1 - beta_1)
    return descent * sum_of_gaps + noise + 3 * z_sq / ((1 - beta_1) * (T + 1))


def yuan_lemma_10_holds(gamma, L, lam_2, lam_n):
    """Step size of Lemma 9."""
    upper, lower, beta_1 = yuan_gossip(lam_2, lam_n)
    return gamma <= (1 - beta_1) * math.sqrt(lower) / (4 * upper * L)


def yuan_theorem_11(x_sq, gradients_sq, gamma, L, sigma, n, beta, lam_2, lam_n, T):
    """Right-hand side of (82); ``gradients_sq`` is the sum of |grad f_i(x*)|^2."""
    upper, lower, beta_1 = yuan_gossip(lam_2, lam_n)
    noise = 24 * L * (gamma * upper * sigma) ** 2 / ((1 - beta_1) * lower)
    noise += 2 * gamma * sigma**2 / n
    start = 2 * x_sq / (gamma * (T + 1))
    bias = 18 * L * (gamma * upper) ** 2 * gradients_sq
    return noise + start + bias / (n * (T + 1) * (1 - beta_1) * (1 - beta) * lower)


def yuan_theorem_11_holds(gamma, L, lam_2, lam_n):
    """Step sizes of Lemma 8 (gamma <= 1/(4 L) at its end) and below (82)."""
    upper, lower, beta_1 = yuan_gossip(lam_2, lam_n)
    return gamma <= min(1 / (4 * L), (1 - beta_1) * math.sqrt(lower) / (10 * L * upper))


def yuan_theorem_11_rate(L, sigma, n, beta, T):
    """The terms of the O(.) of Theorem 11."""
    poor = 1 - beta
    return [
        sigma / math.sqrt(n * T),
        (L * sigma**2 / poor) ** (1 / 3) / T ** (2 / 3),
        L ** (1 / 3) / (poor ** (2 / 3) * T),
        L / (poor * T),
    ]


def yuan_theorem_18_rate(L, mu, sigma, n, beta, T):
    """The terms of the O(.) with logarithms of Theorem 18, eq. (33)."""
    poor = 1 - beta
    return [
        sigma**2 / (mu * n * T),
        L * sigma**2 / (mu**2 * poor * T**2),
        L / poor * math.exp(-mu * poor * T / L),
    ]


def yuan_theorem_22(n, beta):
    """The order of the transient time of homogeneous D-SGD."""
    return n / (1 - beta)


# Vogels, Hendrikx and Jaggi 2023: the eigenvalues of W are given


def vogels_neighbors(eigenvalues, gamma):
    """The effective number of neighbors (6)."""
    mean = sum(l**2 / (1 - gamma * l**2) for l in eigenvalues) / len(eigenvalues)
    return 1 / (1 - gamma) / mean


def vogels_beta(eigenvalues, gamma):
    """The largest beta of (22): least of the right-hand side of (33)."""
    others = [l for l in eigenvalues if abs(l - 1) > 1e-9]
    return min(l * (1 - gamma * l**2) / (1 + l) for l in others)


def vogels_theorem_6_step(L, smooth, omega, neighbors, beta):
    """The largest step size (25); ``smooth`` is the paper's zeta."""
    return min(beta * omega / L, 1 / (4 * ((1 / neighbors + omega) * smooth + L)))


def vogels_theorem_6(lyapunov, eta, mu, omega, neighbors, noise_sq):
    """Right-hand side of Theorem 6; ``noise_sq`` is the sum of all clients' noise."""
    sigma_M_sq = 2 * ((1 - omega) / neighbors + omega) * noise_sq
    return (1 - eta * mu) * lyapunov + eta**2 * sigma_M_sq


def vogels_theorem_9(lyapunov, eta, mu, L, omega, neighbors, noise_sq, bias_sq, t):
    """Right-hand side of (37); ``bias_sq`` is |L_W^+ grad F(x*_eta)|^2."""
    sigma_M_sq = 2 * ((1 - omega) / neighbors + omega) * noise_sq
    start = 2 * (1 - eta * mu) ** t * lyapunov
    return start + 2 * eta * sigma_M_sq / mu + 2 * eta**2 * (1 + L / mu) * bias_sq


def vogels_theorem_9_at_optimum(
    lyapunov, eta, mu, L, omega, neighbors, noise_sq, p, Delta_sq, t
):
    """Second bound of Theorem 9, without x*_eta."""
    sigma_sq = (1 / neighbors + omega) * noise_sq
    start = 2 * (1 - eta * mu) ** t * lyapunov
    return start + 6 * eta * sigma_sq / mu + 6 * eta**2 * L / mu / p * Delta_sq


# Lu and De Sa 2023: orders of the number of iterations to |grad f| <= eps


def lu_theorem_1(Delta, L, sigma, eps, n, B, D):
    """The terms of (10)."""
    return [Delta * L * sigma**2 / (n * B * eps**4), Delta * L * D / eps**2]


def lu_corollary_2(Delta, L, sigma, eps, n, B, lam):
    """The terms of (11)."""
    return [
        Delta * L * sigma**2 / (n * B * eps**4),
        Delta * L / (eps**2 * math.sqrt(1 - lam)),
    ]
