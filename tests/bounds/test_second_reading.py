"""The files of the standard theorems agree with a second reading of the papers.

The second reading (tests/bounds/text/standard_second_reading.py) uses the papers'
notation and plain floats. Statements are compared at random points, and their
conditions at step sizes and horizons on both sides of the limit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from dfltheory import bounds
from dfltheory.bounds.measures import MEASURES_OF_RUNS
from tests.bounds.text import standard_second_reading as text

POINTS = 60


@dataclass(frozen=True)
class Reading:
    """A statement of a paper: right-hand side, conditions and step size, if any."""

    value: Callable[[dict], float]
    holds: Callable[[dict], bool] | None = None
    step: Callable[[dict], float] | None = None


def point(rng):
    """Return a random value for each name in the statements of the four papers."""
    eigenvalues = sorted(rng.uniform(-0.8, 0.95) for _ in range(2))
    K = rng.randint(1, 8)
    values = {
        "m": rng.randint(2, 20),
        "K": K,
        "T": K * round(10 ** rng.uniform(0.5, 6)),
        "L": 10 ** rng.uniform(-1, 1),
        "sigma_l": rng.uniform(0.1, 3),
        "sigma_g": 0.0,
        "f0_gap": rng.uniform(0.1, 3),
        "x_star_sq": rng.uniform(0.1, 3),
        "sigma_star": rng.uniform(0.1, 3),
        "D_bar": rng.uniform(0.1, 3),
        "z_start": rng.uniform(0.1, 3),
        "lam_min": eigenvalues[0],
        "lam_2": eigenvalues[1],
        "lam": max(abs(value) for value in eigenvalues),
        "n_W": rng.uniform(1, 9),
        "n_9": rng.uniform(1, 9),
        "beta_W": rng.uniform(0.01, 0.5),
        "beta_9": rng.uniform(0.01, 0.5),
        "omega_l": rng.uniform(0, 1),
        "zeta": rng.uniform(0.5, 20),
        "lyapunov_now": rng.uniform(0.1, 3),
        "lyapunov_start": rng.uniform(0.1, 3),
        "noise_star": rng.uniform(0.1, 3),
        "Delta_W_sq": rng.uniform(0.1, 3),
        "p_W": rng.uniform(0.05, 1),
        "D_graph": rng.randint(1, 9),
    }
    values["mu_each"] = values["L"] * rng.uniform(0.05, 1)
    values["eta"] = 10 ** rng.uniform(-3.5, 0) / values["L"]
    return values


def wang_joshi(at):
    """Return the arguments that all bounds of Wang and Joshi share."""
    return {
        "gap": at["f0_gap"],
        "L": at["L"],
        "sigma": at["sigma_l"],
        "m": at["m"],
        "K": at["T"],
    }


def theorem_1(tau: str | None, *, exact: bool = False) -> Reading:
    """Return Theorem 1 with the name of its steps, on a network or before exact
    averages.
    """

    def gossip(at):
        zeta = 0.0 if exact else at["lam"]
        return {"v": 0, "zeta": zeta, "tau": at[tau] if tau else 1}

    def value(at):
        return text.wj_theorem_1(eta=at["eta"], **wang_joshi(at), **gossip(at))

    def holds(at):
        return text.wj_theorem_1_holds(at["eta"], at["L"], at["m"], **gossip(at))

    return Reading(value, holds)


def theorem_2(tau: str | None, *, exact: bool = False) -> Reading:
    """Return Theorem 2, likewise."""

    def gossip(at):
        zeta = 0.0 if exact else at["lam"]
        return {"v": 0, "zeta": zeta, "tau": at[tau] if tau else 1}

    def value(at):
        return text.wj_theorem_2(
            eta=at["eta"], kappa=at["sigma_g"], **wang_joshi(at), **gossip(at)
        )

    def holds(at):
        return text.wj_theorem_2_holds(at["eta"], at["L"], at["m"], **gossip(at))

    return Reading(value, holds)


def corollary_1(tau: str | None, *, long: bool = False) -> Reading:
    """Return Corollary 1, (18), or its last sentence."""

    def gossip(at):
        return {"v": 0, "zeta": at["lam"], "tau": at[tau] if tau else 1}

    def value(at):
        if long:
            return text.wj_corollary_1_long(**wang_joshi(at))
        return text.wj_corollary_1(**wang_joshi(at), **gossip(at))

    def holds(at):
        condition = (
            text.wj_corollary_1_long_holds if long else text.wj_corollary_1_holds
        )
        return condition(at["m"], K=at["T"], **gossip(at))

    def step(at):
        return text.wj_corollary_1_step(at["L"], at["m"], 0, at["T"])

    return Reading(value, holds, step)


def theorem_3_holds(at):
    """Evaluate (16) with v = 1 and zeta = m/(m + 2), which implies Theorem 3."""
    zeta = at["m"] / (at["m"] + 2)
    return text.wj_theorem_1_holds(at["eta"], at["L"], at["m"], 1, zeta, at["K"])


def tuned_step(at):
    """Return eta = sqrt(m/K)/L of Corollaries 2 and 3."""
    return math.sqrt(at["m"] / at["T"]) / at["L"]


def lemma_10(at):
    return text.yuan_lemma_10(
        (at["T"] + 1) * at["D_bar"],
        at["z_start"],
        at["eta"],
        at["L"],
        at["sigma_l"],
        at["m"],
        at["lam_2"],
        at["lam_min"],
        at["T"],
    )


def lemma_10_of_the_clients(at, mean_gap=None):
    """Bound the mean over clients of

    x - xbar

    ^2 by

    z

    ^2/lambda-bar_n, by (17) and (21).
    """
    upper, lower, _ = text.yuan_gossip(at["lam_2"], at["lam_min"])
    gradients_sq = at["m"] * at["sigma_star"] ** 2
    start = (at["eta"] * upper) ** 2 * gradients_sq / (1 - upper)
    gap = at["D_bar"] if mean_gap is None else mean_gap
    return lemma_10(at | {"z_start": start, "D_bar": gap}) / (at["m"] * lower)


def theorem_11(at):
    return text.yuan_theorem_11(
        at["x_star_sq"],
        at["m"] * at["sigma_star"] ** 2,
        at["eta"],
        at["L"],
        at["sigma_l"],
        at["m"],
        at["lam"],
        at["lam_2"],
        at["lam_min"],
        at["T"],
    )


def consensus(at):
    return lemma_10_of_the_clients(at, theorem_11(at))


def yuan_step(condition):
    return lambda at: condition(at["eta"], at["L"], at["lam_2"], at["lam_min"])


def theorem_11_rate(at):
    """Return the rate; the text sets

    x^(0) - x*

    and |grad f_i(x*)| to 1.
    """
    distance, bias = math.sqrt(at["x_star_sq"]), at["sigma_star"]
    noise, network, start, poor = text.yuan_theorem_11_rate(
        at["L"], at["sigma_l"], at["m"], at["lam"], at["T"]
    )
    return (
        noise * distance
        + (network + start * bias ** (2 / 3)) * distance ** (4 / 3)
        + poor * distance**2
    )


def theorem_18_rate(at):
    """Return the rate; the text sets

    x^(0) - x*

    to 1.
    """
    noise, network, start = text.yuan_theorem_18_rate(
        at["L"], at["mu_each"], at["sigma_l"], at["m"], at["lam"], at["T"]
    )
    return noise + network + start * at["x_star_sq"]


def vogels_holds(at, *, neighbors="n_W", beta="beta_W", smooth="zeta", omega=None):
    """Evaluate (25) at a given omega, or at omega = eta L/beta(gamma) if it is None."""
    omega = at["eta"] * at["L"] / at[beta] if omega is None else at[omega]
    noise = 1 / (4 * ((1 / at[neighbors] + omega) * at[smooth] + at["L"]))
    consensus_limit = at[beta] * min(omega, 1.0) / at["L"]
    return at["eta"] <= min(consensus_limit * (1 + 1e-12), noise)


def theorem_6(at):
    return text.vogels_theorem_6(
        at["lyapunov_now"],
        at["eta"],
        at["mu_each"],
        at["omega_l"],
        at["n_W"],
        at["noise_star"],
    )


def theorem_6_repeated(at):
    """Apply Theorem 6 T times at omega = eta L/beta(0.9), with a geometric series for
    the noise.
    """
    omega = at["eta"] * at["L"] / at["beta_9"]
    noise = at["m"] * at["sigma_l"] ** 2
    one = text.vogels_theorem_6(0.0, at["eta"], at["mu_each"], omega, at["n_9"], noise)
    start = (1 - at["eta"] * at["mu_each"]) ** at["T"] * at["x_star_sq"]
    return start + one / (at["eta"] * at["mu_each"]) / at["m"]


def theorem_9(at):
    return text.vogels_theorem_9_at_optimum(
        at["lyapunov_start"],
        at["eta"],
        at["mu_each"],
        at["L"],
        at["omega_l"],
        at["n_W"],
        at["noise_star"],
        at["p_W"],
        at["Delta_W_sq"],
        at["T"],
    )


def theorem_9_of_the_mean(at):
    """Return Theorem 9 divided by the number of clients, with p and Delta_W^2 in terms
    of the gap and L(0) through x*.
    """
    gap, m = 1 - at["lam"], at["m"]
    bias_sq = m * at["sigma_star"] ** 2
    kappa = at["L"] / at["mu_each"]
    to_fixed_point = kappa * at["eta"] ** 2 * bias_sq / gap**2
    return (
        text.vogels_theorem_9_at_optimum(
            2 * m * at["x_star_sq"] + 2 * to_fixed_point,
            at["eta"],
            at["mu_each"],
            at["L"],
            at["eta"] * at["L"] / at["beta_9"],
            at["n_9"],
            m * at["sigma_l"] ** 2,
            gap,
            bias_sq / gap,
            at["T"],
        )
        / m
    )


def of_nine(at):
    return vogels_holds(at, neighbors="n_9", beta="beta_9", smooth="L")


def positive(at):
    return at["lam_min"] >= 0.5


def solved(count, at):
    """Return the eps^2 at which the number of iterations c/eps^power is T."""
    at_1, at_2 = count(1.0), count(2.0)
    power = math.log2(at_1 / at_2)
    return (at_1 / at["T"]) ** (2 / power)


def lu_theorem_1(at):
    def terms(eps):
        return text.lu_theorem_1(
            at["f0_gap"], at["L"], at["sigma_l"], eps, at["m"], 1, at["D_graph"]
        )

    return sum(solved(lambda eps, k=k: terms(eps)[k], at) for k in range(2))


def lu_corollary_2(at):
    def terms(eps):
        return text.lu_corollary_2(
            at["f0_gap"], at["L"], at["sigma_l"], eps, at["m"], 1, at["lam"]
        )

    return sum(solved(lambda eps, k=k: terms(eps)[k], at) for k in range(2))


READINGS = {
    "wang_joshi2021.theorem_1:printed": theorem_1(None),
    "wang_joshi2021.theorem_1_network:printed": theorem_1("K"),
    "wang_joshi2021.theorem_1_exact:restated": theorem_1("K", exact=True),
    "wang_joshi2021.theorem_2:printed": theorem_2(None),
    "wang_joshi2021.theorem_2_network:printed": theorem_2("K"),
    "wang_joshi2021.theorem_2_exact:restated": theorem_2("K", exact=True),
    "wang_joshi2021.corollary_1:printed": corollary_1(None),
    "wang_joshi2021.corollary_1_network:printed": corollary_1("K"),
    "wang_joshi2021.corollary_1_long:printed": corollary_1(None, long=True),
    "wang_joshi2021.corollary_1_network_long:printed": corollary_1("K", long=True),
    "wang_joshi2021.theorem_3:printed": Reading(
        lambda at: text.wj_theorem_3(eta=at["eta"], tau=at["K"], **wang_joshi(at)),
        theorem_3_holds,
    ),
    "wang_joshi2021.corollary_2:restated": Reading(
        lambda at: text.wj_corollary_2(eta=at["eta"], tau=at["K"], **wang_joshi(at)),
        lambda at: text.wj_corollary_2_holds(at["eta"], at["L"], at["K"]),
    ),
    "wang_joshi2021.corollary_2_tuned:restated": Reading(
        lambda at: text.wj_corollary_2_tuned(tau=at["K"], **wang_joshi(at)),
        lambda at: text.wj_corollary_2_tuned_holds(at["m"], at["K"], at["T"]),
        tuned_step,
    ),
    "wang_joshi2021.corollary_3:printed": Reading(
        lambda at: text.wj_corollary_3(eta=at["eta"], zeta=at["lam"], **wang_joshi(at)),
        lambda at: text.wj_corollary_3_holds(at["eta"], at["L"], at["lam"]),
    ),
    "wang_joshi2021.corollary_3_tuned:printed": Reading(
        lambda at: text.wj_corollary_3_tuned(zeta=at["lam"], **wang_joshi(at)),
        lambda at: text.wj_corollary_3_tuned_holds(at["m"], at["lam"], at["T"]),
        tuned_step,
    ),
    "yuan2023.lemma_10:printed": Reading(lemma_10, yuan_step(text.yuan_lemma_10_holds)),
    "yuan2023.lemma_10:restated": Reading(
        lemma_10_of_the_clients, yuan_step(text.yuan_lemma_10_holds)
    ),
    "yuan2023.theorem_11:appendix": Reading(
        theorem_11, yuan_step(text.yuan_theorem_11_holds)
    ),
    "yuan2023.consensus:composed": Reading(
        consensus, yuan_step(text.yuan_theorem_11_holds)
    ),
    "yuan2023.theorem_11:restated": Reading(theorem_11_rate),
    "yuan2023.theorem_18:restated": Reading(theorem_18_rate),
    "yuan2023.theorem_22:printed": Reading(
        lambda at: text.yuan_theorem_22(at["m"], at["lam"])
    ),
    "vogels2023.theorem_6:printed": Reading(
        theorem_6, lambda at: vogels_holds(at, omega="omega_l")
    ),
    "vogels2023.theorem_6:homogeneous": Reading(theorem_6_repeated, of_nine),
    "vogels2023.theorem_9:printed": Reading(
        theorem_9, lambda at: vogels_holds(at, omega="omega_l") and positive(at)
    ),
    "vogels2023.theorem_9:restated": Reading(
        theorem_9_of_the_mean, lambda at: of_nine(at) and positive(at)
    ),
    "lu_desa2023.theorem_1:restated": Reading(lu_theorem_1),
    "lu_desa2023.corollary_2:restated": Reading(lu_corollary_2),
}
PAPERS = ("wang_joshi2021", "yuan2023", "vogels2023", "lu_desa2023")


def test_every_statement_of_the_four_papers_has_a_second_reading():
    registered = {
        f"{theorem.key}:{theorem.variant}"
        for theorem in bounds.registry.statements()
        if theorem.key.partition(".")[0] in PAPERS
    }
    assert registered == set(READINGS)


def points_of(theorem, seed=0):
    """Yield random points, with identical objectives if the statement requires them."""
    rng = random.Random(seed)
    points = [point(rng) for _ in range(POINTS)]
    identical = any(c.name == "identical objectives" for c in theorem.conditions)
    for values in points:
        values["sigma_g"] = 0.0 if identical else rng.uniform(0, 2)
    return points


@pytest.mark.drawn(14)
@pytest.mark.parametrize("name", READINGS)
def test_bound_agrees_with_the_text_at_random_points(name):
    theorem, reading = bounds.get(*name.split(":")), READINGS[name]
    for values in points_of(theorem):
        at = {key: values[key] for key in theorem.needs}
        terms = theorem.evaluate_terms(where="ignore", **at)
        found = float(sum(terms.values()))
        np.testing.assert_allclose(found, reading.value(values), rtol=1e-11)


CONDITIONS = {name: r.holds for name, r in READINGS.items() if r.holds is not None}
STEPS = {name: r.step for name, r in READINGS.items() if r.step is not None}


@pytest.mark.drawn(8)
@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions_agree_with_the_text_on_both_sides_of_their_limits(name):
    theorem, reading = bounds.get(*name.split(":")), CONDITIONS[name]
    outcomes = set()
    for values in points_of(theorem, seed=1):
        at = {key: values[key] for key in theorem.needs}
        holds = all(ok for _, _, ok in theorem.check_conditions(**at))
        assert holds == reading(values), values
        outcomes.add(holds)
    assert outcomes == {False, True}


@pytest.mark.parametrize("name", STEPS)
def test_step_size_agrees_with_the_text(name):
    theorem, reading = bounds.get(*name.split(":")), STEPS[name]
    for values in points_of(theorem):
        step = theorem.schedule["eta"]
        found = step.subs({s: values[s.name] for s in step.free_symbols})
        assert float(found) == pytest.approx(reading(values), rel=1e-12)


def test_mean_of_theorem_18_is_weighted_and_no_measure_of_runs():
    """Without noise, the unweighted mean exceeds (33), since it is at least the first
    gap over T + 1.
    """
    theorem = bounds.get("yuan2023.theorem_18", "restated")
    assert theorem.lhs.measure not in MEASURES_OF_RUNS
    T, first_gap = 2000, 0.5
    terms = text.yuan_theorem_18_rate(L=1.0, mu=1.0, sigma=0.0, n=8, beta=0.5, T=T)
    assert sum(terms) < 1e-6 * first_gap / (T + 1)
