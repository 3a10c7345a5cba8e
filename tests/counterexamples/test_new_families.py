"""Families with exact limits: the derivations in their files agree with exact
fractions.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DFedSAM
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.falsification import best_of
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.distant_start import DistantStart
from dfltheory.counterexamples.families.late_descent import LateDescent
from dfltheory.counterexamples.families.local_drift import drift_limit
from dfltheory.counterexamples.families.start_at_minimum import StartAtMinimum
from dfltheory.counterexamples.score import STATIONARY_HORIZONS
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import refused_families, search_spaces
from validation.counterexamples.survey import searched

CORRECTED = [t for t in searched(variant="corrected") if not t.order]
NEW = ("distant start", "start at the minimum", "two groups")


def fitted(kind, eta=0.1, K=3, lam=0.5, cube=0.5):
    at = RoundData(np.array([eta]), np.array([lam]), np.zeros(1), K)
    clients, start = kind().decode(Reader(np.full((1, 4), cube)), at)
    return clients, start, at


def linear_round(x, k, eta, K, lam):
    """Perform K local steps and one average of f_i' = k_i (x - c_i), in fractions."""
    c = (Fraction(1), Fraction(-1))
    y = [c[i] + (1 - eta * k[i]) ** K * (x[i] - c[i]) for i in (0, 1)]
    w = (1 - lam) / 2
    return [(1 - w) * y[0] + w * y[1], w * y[0] + (1 - w) * y[1]]


def test_a_distant_start_converges_to_the_limit_in_fractions():
    eta, K, lam = Fraction(1, 10), 3, Fraction(1, 2)
    clients, start, at = fitted(DistantStart)
    k = [Fraction(float(s)) for s in clients.slopes[0, :, 0]]
    assert abs(start[0, 0]) == pytest.approx(1e3)
    assert start[0, 0] == start[0, 1]
    ends = clients.knots[0, :, 0], (clients.knots + clients.widths)[0, :, 0]
    assert ends[0].max() < -abs(start[0, 0])  # linear as far as the start
    assert ends[1].min() > abs(start[0, 0])
    limit = drift_limit(clients.slopes[..., 0], at)[0]
    x = [Fraction(float(v)) for v in limit]
    again = linear_round(x, k, eta, K, lam)
    assert max(abs(float(a - b)) for a, b in zip(x, again, strict=True)) < 1e-15
    x = [Fraction(int(start[0, 0]))] * 2
    for _ in range(60):
        x = [Fraction(round(float(v), 14)) for v in linear_round(x, k, eta, K, lam)]
    q = float((1 - eta * min(k)) ** K)
    distance = max(abs(float(a) - b) for a, b in zip(x, limit, strict=True))
    assert distance < 2 * q**60 * abs(start[0, 0])


def test_the_gradient_of_a_distant_start_is_that_of_its_limit_at_any_horizon():
    clients, start, at = fitted(DistantStart, eta=0.3, K=5, cube=0.9)
    W = np.array([[[[0.75, 0.25], [0.25, 0.75]]]])
    algorithm = DFedSAM(eta=0.3, K=5, rho=0.0, Q=1)
    batch = CandidateBatch(algorithm, clients, start[..., None], W, np.zeros((1, 1)))
    path = simulate(batch, 1200)
    assert path.cycle[0]
    limit = drift_limit(clients.slopes[..., 0], replace(at, lam=np.array([0.5])))[0]
    k = clients.slopes[0, :, 0]
    slope = (k * (limit.mean() - np.array([1.0, -1.0]))).mean()
    assert path.left["grad_norm_sq"][-1, 0] == pytest.approx(slope**2, rel=1e-9)


def test_two_parabolas_that_start_at_the_minimum_have_no_gap_and_leave_it():
    clients, start, _ = fitted(StartAtMinimum)
    k = [Fraction(float(s)) for s in clients.slopes[0, :, 0]]
    exact = (k[0] - k[1]) / (k[0] + k[1])
    assert start[0, 0] == pytest.approx(float(exact), rel=1e-15)
    value = clients.value(start.reshape(1, 1, 2, 1)).mean()
    gap = value - clients.constants()["f_star"][0]
    assert abs(gap) < 1e-15
    W = np.array([np.eye(2), np.full((2, 2), 0.5)])[None]
    algorithm = DFedSAM(eta=0.2, K=2, rho=0.0, Q=1)
    batch = CandidateBatch(algorithm, clients, start[..., None], W, np.zeros((1, 1)))
    path = simulate(batch, 400)
    both = drift_limit(
        clients.slopes[..., 0], RoundData(np.array([0.2]), np.zeros(1), np.zeros(1), 4)
    )[0]
    slope = (clients.slopes[0, :, 0] * (both - np.array([1.0, -1.0]))).mean()
    after_average = path.left["grad_norm_sq"][::2, 0]
    assert after_average[-1] == pytest.approx(slope**2, rel=1e-9)
    assert slope**2 > 1e-4


def test_a_late_descent_is_gentle_first_and_steep_at_its_end():
    """The gradients of gradient descent in floats are those of the formula."""
    eta = 0.1
    clients, start, _ = fitted(LateDescent, eta=eta, K=1)
    flat, x = np.sqrt(0.01 * 0.5), start[0, 0]
    rounds = np.sqrt(3 * 1000)
    assert x == pytest.approx(flat * eta * rounds)
    gradients = []
    for _ in range(150):
        gradients.append(clients.gradient(np.full((1, 1, 2, 1), x))[0, 0, 0, 0])
        x -= eta * gradients[-1]
    gentle = int(rounds) + 1
    assert gradients[:gentle] == pytest.approx([flat] * gentle)
    assert max(gradients) == pytest.approx(1.0)
    assert gradients[-1] < 0.01
    assert clients.constants()["L"][0] == pytest.approx(1.0)


@pytest.mark.slow
def test_a_late_descent_refutes_the_last_round_in_place_of_the_mean():
    theorem = dfl.bounds.get("dfedsam.corollary_4_6", "corrected")
    assert "late descent" in refused_families(theorem)
    last = replace(theorem, lhs=replace(theorem.lhs, aggregate="last"))
    spaces = [
        s for s in search_spaces(last) if s.name.startswith("late descent, K = 1")
    ]
    arms = search(last, spaces, 12, 0, 1e300, clock=float)
    _, _, certificate = best_of(last, arms)
    assert certificate.violated


@pytest.mark.slow
def test_horizons_reach_1e16_where_the_state_repeats():
    """A false version without a term for drift is refuted at such a horizon."""
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    parts = {"optimization": theorem.parts["optimization"]}
    false = replace(theorem, parts=parts, schedule={})
    spaces = [
        s for s in search_spaces(false) if s.name.startswith("distant start, K = 5")
    ]
    arms = search(false, spaces, 400, 0, 1e300, clock=float)
    _, instance, certificate = best_of(false, arms)
    assert certificate.violated
    assert instance.rounds in STATIONARY_HORIZONS
    assert certificate.exact["ratio"] > 1e6


@pytest.mark.slow
@pytest.mark.parametrize("theorem", CORRECTED, ids=str)
def test_new_families_do_not_refute_a_corrected_statement(theorem):
    spaces = [s for s in search_spaces(theorem) if s.name.startswith(NEW)]
    spaces += [s for s in search_spaces(theorem) if "two groups" in s.name]
    if not spaces:
        return
    arms = search(theorem, spaces, 10.0, 1, 1.0, clock=processor)
    found = best_of(theorem, arms)
    assert found is None or not found[2].violated
