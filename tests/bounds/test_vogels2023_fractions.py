"""Theorems 6 and 9 of Vogels, Hendrikx and Jaggi (2023) in fractions.

For two clients with quadratic samples, every norm, fixed point and expectation is
rational, so no tolerance is needed. These are the printed statements, whose left-hand
sides runs do not record.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import pytest
import sympy as sp

from dfltheory import bounds

ROUNDS = 12


@dataclass(frozen=True)
class TwoClients:
    """Clients whose samples h/2 (x - c)^2 are equally likely, and one network.

    ``samples[i]`` are the pairs (h, c) of client i; ``lam`` is the second eigenvalue of
    the mixing matrix, ``gamma`` and ``omega`` are those of the Lyapunov function.
    """

    samples: tuple[tuple[tuple[Fraction, Fraction], ...], ...]
    lam: Fraction
    gamma: Fraction
    omega: Fraction
    start: Fraction

    @cached_property
    def curvatures(self):
        return [sum(h for h, _ in pairs) / len(pairs) for pairs in self.samples]

    @cached_property
    def slopes(self):
        """Return E h c of each client, whose gradient is curvature x - slope."""
        return [sum(h * c for h, c in pairs) / len(pairs) for pairs in self.samples]

    @property
    def optimum(self):
        return sum(self.slopes) / sum(self.curvatures)

    @property
    def constants(self):
        """Return L, mu, zeta, n_W and beta."""
        squares = [sum(h * h for h, _ in pairs) / len(pairs) for pairs in self.samples]
        smooth = max(q / h for q, h in zip(squares, self.curvatures, strict=True))
        square = self.lam**2
        on_difference = (1 - self.gamma) * square / (1 - self.gamma * square)
        neighbors = 2 / (1 + on_difference)
        beta = self.lam * (1 - self.gamma * square) / (1 + self.lam)
        return max(self.curvatures), min(self.curvatures), smooth, neighbors, beta

    @property
    def largest_step(self):
        """Return the step size (25)."""
        L, _, smooth, neighbors, beta = self.constants
        noise = 4 * ((1 / neighbors + self.omega) * smooth + L)
        return min(beta * self.omega / L, 1 / noise)

    def fixed_point(self, eta):
        """Return the solution of (23), eta grad F(x) + (I - W) x = 0."""
        half = (1 - self.lam) / 2
        a, b = (eta * h + half for h in self.curvatures)
        r, s = (eta * slope for slope in self.slopes)
        determinant = a * b - half**2
        return (r * b + half * s) / determinant, (a * s + half * r) / determinant

    def gradients(self, x):
        return [
            h * x_i - s
            for h, s, x_i in zip(self.curvatures, self.slopes, x, strict=True)
        ]

    def noise(self, x):
        """Return the total variance of all clients' gradients at x."""
        return sum(
            sum((h * (x_i - c)) ** 2 for h, c in pairs) / len(pairs) - g**2
            for pairs, x_i, g in zip(self.samples, x, self.gradients(x), strict=True)
        )

    def moments(self, eta, rounds):
        """Yield E x and E x x' of both clients, round by round."""
        own, other = (1 + self.lam) / 2, (1 - self.lam) / 2
        A = [[own - eta * self.curvatures[0], other]]
        A.append([other, own - eta * self.curvatures[1]])
        b = [eta * slope for slope in self.slopes]
        mean = [self.start, self.start]
        second = [[self.start**2] * 2, [self.start**2] * 2]
        yield mean, second
        for _ in range(rounds):
            extra = [self._variance(i, mean[i], second[i][i]) for i in range(2)]
            moved = [sum(A[i][j] * mean[j] for j in range(2)) for i in range(2)]
            mixed = [
                [
                    sum(
                        A[i][k] * second[k][l] * A[j][l]
                        for k in range(2)
                        for l in range(2)
                    )
                    + moved[i] * b[j]
                    + b[i] * moved[j]
                    + b[i] * b[j]
                    + (eta**2 * extra[i] if i == j else 0)
                    for j in range(2)
                ]
                for i in range(2)
            ]
            mean, second = [moved[i] + b[i] for i in range(2)], mixed
            yield mean, second

    def _variance(self, i, mean, square):
        """Return the expected variance of a client's gradient at its random model."""
        pairs = self.samples[i]
        total = sum(h**2 * (square - 2 * c * mean + c**2) for h, c in pairs) / len(
            pairs
        )
        h, s = self.curvatures[i], self.slopes[i]
        return total - (h**2 * square - 2 * h * s * mean + s**2)

    def distances(self, moments, point):
        """Return E

        x - point

        ^2 in the norms of the identity and of M.
        """
        mean, second = moments
        off = [
            [
                second[i][j]
                - point[i] * mean[j]
                - mean[i] * point[j]
                + point[i] * point[j]
                for j in range(2)
            ]
            for i in range(2)
        ]
        along = (off[0][0] + 2 * off[0][1] + off[1][1]) / 2
        across = (off[0][0] - 2 * off[0][1] + off[1][1]) / 2
        square = self.lam**2
        on_difference = (1 - self.gamma) * square / (1 - self.gamma * square)
        return along + across, along + on_difference * across

    def lyapunov(self, moments, point):
        identity, neighborhood = self.distances(moments, point)
        return (1 - self.omega) * neighborhood + self.omega * identity


def fraction(rng, low, high):
    """Return a random fraction with two digits."""
    return Fraction(rng.randint(round(100 * low), round(100 * high)), 100)


def instance(rng):
    """Return random clients with two samples each, and lambda >= 1/2 as Theorem 9
    requires.
    """
    samples = tuple(
        tuple((fraction(rng, 0.1, 2), fraction(rng, -2, 2)) for _ in range(2))
        for _ in range(2)
    )
    return TwoClients(
        samples,
        lam=fraction(rng, 0.5, 0.99),
        gamma=fraction(rng, 0, 0.99),
        omega=fraction(rng, 0.01, 1),
        start=fraction(rng, -3, 3),
    )


def values(clients, eta):
    """Return the values of the names in the files, as fractions."""
    L, mu, smooth, neighbors, beta = clients.constants
    optimum = (clients.optimum, clients.optimum)
    fixed = clients.fixed_point(eta)
    start = next(clients.moments(eta, 0))
    g, _ = clients.gradients(optimum)
    return {
        "eta": eta,
        "L": L,
        "mu_each": mu,
        "zeta": smooth,
        "n_W": neighbors,
        "beta_W": beta,
        "omega_l": clients.omega,
        "lam_min": clients.lam,
        "lyapunov_start": clients.lyapunov(start, fixed),
        "Delta_W_sq": 2 * g**2 / (1 - clients.lam),
        "p_W": 1 - clients.lam,
    }


def exact(theorem, at):
    """Return the bound as a fraction."""
    total = sp.Integer(0)
    for part in theorem.parts.values():
        numbers = {s: sp.Rational(str(at[s.name])) for s in part.free_symbols}
        total += part.subs(numbers)
    return Fraction(str(total))


INSTANCES = [instance(random.Random(seed)) for seed in range(12)]
every_instance = pytest.mark.parametrize("clients", INSTANCES, ids=range(12))


def admissible(theorem, at):
    """Return whether the conditions hold, up to the rounding error of the step size."""
    given = {name: float(value) for name, value in at.items() if name in theorem.needs}
    given |= {"eta": given["eta"] * (1 - 1e-12)}
    given |= {"T": 1} if "T" in theorem.needs else {"lyapunov_now": 1.0}
    return all(ok for _, _, ok in theorem.check_conditions(**given))


@every_instance
def test_theorem_6_holds_in_every_round(clients):
    theorem = bounds.get("vogels2023.theorem_6", "printed")
    eta = clients.largest_step
    fixed = clients.fixed_point(eta)
    at = values(clients, eta) | {"noise_star": clients.noise(fixed)}
    assert admissible(theorem, at)
    now, *later = (clients.lyapunov(m, fixed) for m in clients.moments(eta, ROUNDS))
    for after in later:
        assert after <= exact(theorem, at | {"lyapunov_now": now})
        now = after


@every_instance
def test_theorem_9_holds_with_the_square_of_its_norm(clients):
    theorem = bounds.get("vogels2023.theorem_9", "printed")
    eta = clients.largest_step
    optimum = (clients.optimum, clients.optimum)
    at = values(clients, eta) | {"noise_star": clients.noise(optimum)}
    assert admissible(theorem, at)
    for t, moments in enumerate(clients.moments(eta, ROUNDS)):
        _, left = clients.distances(moments, optimum)
        assert left <= exact(theorem, at | {"T": Fraction(t)})
        assert left <= first_display(clients, eta, t)


def first_display(clients, eta, t):
    """Return the right-hand side of (37), with the fixed point."""
    L, mu, _, neighbors, _ = clients.constants
    fixed = clients.fixed_point(eta)
    start = clients.lyapunov(next(clients.moments(eta, 0)), fixed)
    share = (1 - clients.omega) / neighbors + clients.omega
    sigma_M_sq = 2 * share * clients.noise(fixed)
    a, b = clients.gradients(fixed)
    bias_sq = ((a - b) / (1 - clients.lam)) ** 2 / 2
    noise = 2 * eta * sigma_M_sq / mu
    return 2 * (1 - eta * mu) ** t * start + noise + 2 * eta**2 * (1 + L / mu) * bias_sq


def test_theorem_9_without_the_square_fails_near_the_optimum():
    """Both displays bound the square, and a norm below 1 exceeds its square."""
    sample = ((Fraction(1), Fraction(0)),)
    half = Fraction(1, 2)
    near = TwoClients((sample, sample), half, half, half, start=Fraction(1, 10))
    eta = near.largest_step
    at = values(near, eta) | {"noise_star": Fraction(0), "T": Fraction(1)}
    theorem = bounds.get("vogels2023.theorem_9", "printed")
    assert admissible(theorem, at)
    *_, after_one_round = near.moments(eta, 1)
    _, left_sq = near.distances(after_one_round, (0, 0))
    for bound in (exact(theorem, at), first_display(near, eta, 1)):
        assert left_sq <= bound
        assert left_sq > bound**2


def test_lengths_are_squared_on_the_right_of_theorem_9():
    """Halving the unit of length divides every term of both displays by four."""
    clients = INSTANCES[0]
    shorter = TwoClients(
        tuple(tuple((h, c / 2) for h, c in pairs) for pairs in clients.samples),
        clients.lam,
        clients.gamma,
        clients.omega,
        clients.start / 2,
    )
    eta, theorem = clients.largest_step, bounds.get("vogels2023.theorem_9", "printed")
    found = []
    for case in (clients, shorter):
        optimum = (case.optimum, case.optimum)
        at = values(case, eta) | {"noise_star": case.noise(optimum), "T": Fraction(5)}
        found.append((exact(theorem, at), first_display(case, eta, 5)))
    assert all(one == 4 * other for one, other in zip(*found, strict=True))
