"""The simplified counterexamples, derived from the papers' formulas in fractions.

Nothing is imported from the package: rounds and bounds are written out.
"""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "counterexamples" / "simple"
HALF = Fraction(1, 2)
CITED = Fraction(2 ** (26 / 3) / (1 - 2 ** (-1 / 3)) ** 2)
"""[C/(1 - q)]^2 of the lemma that DFedSGPSM cites (Assran et al. 2019, Lemma 3), for
two clients with weights 1/2: C = 2^(13/3), q = 2^(-1/3).
"""


def stored(name):
    """Return the saved instance, with every decimal number as an exact fraction."""
    text = (FOLDER / f"{name}-printed.json").read_text(encoding="utf-8")
    return json.loads(text, parse_float=Fraction, parse_int=Fraction)


def clients(task):
    """Return f_i' of each client, a constant plus ramps."""

    def client(i):
        rows = zip(task["knots"][i], task["widths"][i], task["slopes"][i], strict=True)
        ramps = list(rows)
        return lambda x: (
            task["left"][i]
            + sum(
                slope * min(max(x - knot, Fraction(0)), width)
                for knot, width, slope in ramps
            )
        )

    return [client(i) for i in range(len(task["left"]))]


def area(g, a, b):
    """Return the integral over [0, 1] of a function that is linear between multiples of
    a unit.
    """
    return (g(a) + g(b)) / 2 * (b - a)


def test_admm_stays_at_zero_and_exceeds_the_bound_of_theorem_1():
    document = stored("dfedadmm.theorem_1")
    (f, _), run = (
        clients(document["instance"]["task"]),
        document["instance"]["algorithm"],
    )
    K, eta, pen, rho = run["K"], run["eta"], run["lam"], run["rho"]
    T = document["instance"]["run"]["rounds"]
    assert f(Fraction(0)) > 0 == f(0 + rho)  # the ascent point 0 + rho is stationary
    L = B = max(f(Fraction(k, 10)) for k in range(-20, 21))
    gap = area(f, Fraction(-1), Fraction(0))  # f attains its minimum left of -1
    kappa = Fraction(1, 2) - 1152 * K**2 * L**2 * eta**2
    dual = 3 * L**2 * pen**2 * B**2
    local = 96 * K**2 * L**2 * eta**2
    bound = (
        gap / (T * pen)
        + local * B**2
        + dual * (1 + 4 * local)
        + L * pen * B**2 / 2
        + local * (1 + 2 * local) * 4 * B**2  # lam = 0 for W with equal weights
        + 2 * dual * (1 + 2 * local)
        + 6 * L**2 * pen * rho**2 * B**2
    ) / kappa
    ratio = f(Fraction(0)) ** 2 / bound
    assert ratio > 10_000
    assert float(ratio) == pytest.approx(float(document["ratio"]), rel=1e-9)


@pytest.mark.slow
def test_momentum_restarts_each_round_and_exceeds_the_bound_of_theorem_1():
    document = stored("dfedsgpsm.theorem_1")
    (f, _), run = (
        clients(document["instance"]["task"]),
        document["instance"]["algorithm"],
    )
    K, eta, alpha = run["K"], run["eta"], run["alpha"]
    T, x = int(document["instance"]["run"]["rounds"]), Fraction(0)
    knot, width = document["instance"]["task"]["knots"][0][0], Fraction(1)
    gradients = []
    for _ in range(T):  # one step a round: momentum starts at 0 and is not used
        gradients.append(f(x) ** 2)
        x -= eta * f(x)
    L = B = f(Fraction(0))
    gap = area(f, knot, knot + width) + B * (0 - knot - width)
    assert K == 1
    drift = 3 * L**2 * eta**2 * (64 * B**2 + 32 * alpha**2 * B**2 / (1 - alpha) ** 2)
    consensus = 6 * L**2 * eta**2 * B**2 / (1 - alpha) ** 2  # q = 0, C = delta = 1
    rest = 2 * gap * (1 - alpha) / (eta * K * T) + drift
    measured = sum(gradients) / T
    assert measured / (rest + consensus) > 14
    ratio = measured / (rest + CITED * consensus)
    assert ratio > 7
    assert float(ratio) == pytest.approx(float(document["ratio"]), rel=1e-6)


def test_clients_of_dfedsam_diverge_and_exceed_the_bound_of_theorem_4_5():
    document = stored("dfedsam.theorem_4_5")
    fs, run = clients(document["instance"]["task"]), document["instance"]["algorithm"]
    K, eta, T = int(run["K"]), run["eta"], document["instance"]["run"]["rounds"]
    w = document["instance"]["topology"]["matrix"][0][1]
    assert run["rho"] == 0
    assert run["Q"] == 1

    def slope(x):
        return (fs[0](x) + fs[1](x)) / 2

    x, means = [Fraction(0), Fraction(0)], []
    while not x[0] + 1 < 0 < 1 < x[1] or len(means) < 3 or means[-1] != means[-2]:
        y = list(x)
        for _ in range(K):
            y = [y[i] - eta * fs[i](y[i]) for i in (0, 1)]
        x = [(1 - w) * y[0] + w * y[1], w * y[0] + (1 - w) * y[1]]
        means.append((x[0] + x[1]) / 2)
    assert fs[0](x[0]) == -fs[1](x[1])  # opposite constants: the mean never moves again
    left = min(slope(mean) ** 2 for mean in means)
    L = max(abs(s) for row in document["instance"]["task"]["slopes"] for s in row)
    corners = (Fraction(-1), Fraction(0), Fraction(1))
    sigma_sq = max(((fs[0](c) - fs[1](c)) / 2) ** 2 for c in corners)
    first = means[0]  # Delta_0 = f(xbar^1) - f*; f attains its minimum left of -1
    gap = area(slope, Fraction(-1), first)
    lam = 1 - 2 * w
    D = eta * K - 32 * eta**3 * K**2 * L**2 - 6 * eta**2 * K * L
    phi = 2 * (1 + lam) / (1 - lam) ** 2
    C3 = 16 * K**2 * sigma_sq
    bound = (
        2 * gap / T
        + 8 * eta**3 * K**3 * L**2 * sigma_sq
        + eta**4 * K * L**3 * C3 * phi * (16 * eta * K * L + 3)
    ) / D
    assert left / bound > 26
    assert float(left / bound) == pytest.approx(float(document["ratio"]), rel=1e-6)


# -- the six families that refute statements in O(.), in closed form


def family(key):
    """Return the first parameters and ratios of a stored family."""
    path = FOLDER / f"{key}-printed.json"
    saved = json.loads(path.read_text(encoding="utf-8"))["divergence"]
    pairs = zip(saved["values"], saved["ratios"], strict=True)
    return {int(value): ratio for value, ratio in pairs}


def test_noise_of_the_personal_part_is_missing_in_dfedmdc_theorem_2():
    for T, stored_ratio in family("dfedmdc.theorem_2").items():
        if T > 256:
            continue
        n = math.isqrt(T)
        variance, total = Fraction(0), Fraction(0)
        gap = Fraction(1, n**2) / 2  # of the variance after the first round
        for _ in range(T):  # v <- (1 - 1/n) v + noise/n
            variance = (1 - Fraction(1, n)) ** 2 * variance + Fraction(1, n**2)
            total += variance
        ratio = total / T / (gap / n)
        assert ratio >= T * (1 - Fraction(1, 2 * n - 1))
        assert float(ratio) == pytest.approx(stored_ratio, rel=1e-6)


def test_distant_starts_are_missing_in_dfedmdc_theorem_1():
    def slope(u):  # for the two clients, with minima at -1 and 2
        clip = (min(max(u + 2, 0), Fraction(3, 2)), min(max(u + HALF, 0), 1))
        return clip[0] - clip[1] + min(max(u - Fraction(3, 2), 0), 3) - 1

    for T in (16, 64):
        n, w = math.isqrt(T), Fraction(1, 2 * T)
        a, b = Fraction(-1), Fraction(2)
        total = Fraction(0)
        for _ in range(T):
            a, b = a - slope(a) / n, b - slope(b) / n
            a, b = (1 - w) * a + w * b, w * a + (1 - w) * b
            total += slope((a + b) / 2) ** 2
        corners = (HALF, Fraction(3, 2), Fraction(2))
        gap = -sum(area(slope, s, e) for s, e in itertools.pairwise(corners))
        ratio = total / T / (gap / n)
        assert ratio == Fraction(2 * n, 5)
        assert float(ratio) == pytest.approx(family("dfedmdc.theorem_1")[T], rel=1e-8)


def test_a_root_of_k_is_missing_in_dfedadmm_corollary_1():
    T = K = 16
    eta, penalty = Fraction(1, K * math.isqrt(T)), Fraction(1, math.isqrt(K * T))
    kept = (1 - eta / penalty) ** K  # 1 - gamma
    x, dual, points = Fraction(0), Fraction(0), [Fraction(0)]
    for _ in range(T):
        y = x
        for _ in range(K):  # the gradient is 1 on the slope
            y -= eta * (1 - dual + (y - x) / penalty)
        dual += (x - y) / penalty
        old, x = x, x - penalty * dual
        points.append(x + kept / (1 - kept) * (x - old))
    assert points == [-penalty * t for t in range(T + 1)]
    assert min(points) >= -1  # the slope ends there
    gap = 1 + HALF
    terms = (gap + Fraction(1, 4)) / 4, Fraction(1, T), Fraction(1, K * T)
    ratio = 1 / (sum(terms) + Fraction(1, 4 * 64))
    assert ratio == Fraction(T**2, 96 + 2 * T + 2)
    stored_ratio = family("dfedadmm.corollary_1")[T]
    assert float(ratio) == pytest.approx(stored_ratio, rel=1e-8)


@pytest.mark.parametrize(("key", "constant"), [("4_6", 75), ("4_8", 225)])
def test_the_spectral_gap_is_divided_by_too_large_a_root_in_dfedsam(key, constant):
    def step(x):
        return min(max(x + 1, 0), 1)

    for gap, stored_ratio in family(f"dfedsam.corollary_{key}").items():
        n = 2 * gap
        T, lam, w = n**2, 1 - Fraction(2, n), Fraction(1, n)
        x, means = [Fraction(0), Fraction(0)], []
        while not x[0] < -1 < 1 < x[1]:
            forces = (10 + step(x[0]), -10 + step(x[1]) - min(max(x[1], 0), 1))
            y = [place - force / n for place, force in zip(x, forces, strict=True)]
            x = [(1 - w) * y[0] + w * y[1], w * y[0] + (1 - w) * y[1]]
            means.append((x[0] + x[1]) / 2)
        left = min(
            (1 + mean) ** 2 for mean in means
        )  # the gradients cancel from now on
        assert Fraction(9, 16) <= left
        beta_sq = (10 + HALF) ** 2
        phi = 2 * (1 + lam) if key == "4_8" else 1
        bound = (1 + means[0]) ** 2 / 2 / n + beta_sq / T + Fraction(1, n**3)
        bound += phi * beta_sq / (n**3 * (1 - lam) ** 2)
        assert left / bound >= Fraction(n, constant)
        assert float(left / bound) == pytest.approx(stored_ratio, rel=1e-8)


def test_momentum_is_not_kept_between_rounds_in_dfedsgpsm_corollary_1():
    for a in (2, 8, 32):
        T = a**3 // 2
        n = math.isqrt(T)
        gap = T * Fraction(1, n) + HALF  # T steps of 1/n, and the end of the slope
        drift = ((a - 1) ** 2 + Fraction(1, T)) / T
        least = gap / a / n + drift + Fraction(a**2, T) + Fraction(1, T)
        assert 1 / least > Fraction(a, 5)
        bound = least + (CITED - 1) * Fraction(a**2, T)
        stored_ratio = family("dfedsgpsm.corollary_1")[a]
        assert float(1 / bound) == pytest.approx(stored_ratio, rel=1e-6)
        assert 1 / bound > Fraction(a, 19101)
