"""The closed form of noise over long horizons, and the statements that it refutes."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DPSGD, DFedAvg, DFedMDC, DFedSAM, DFedSGPSM
from dfltheory.bounds import symbols as s
from dfltheory.counterexamples import falsification, long_noise, replay
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.certify import certify, exact_expectation
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.long_noise import noisy_blocks, noisy_instances
from dfltheory.counterexamples.noisy_parabola import NoisyParabola
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.splits import Splits

LONG = 10**16


def instance(algorithm, m=4, sigma=1.0, start=0.5, T=LONG, h=1.0, reach=None, W=None):
    """Return a run of m clients with f'(x) = h x near 0, as far as the noise leads."""
    reach = max(start, sigma / h) if reach is None else reach
    size = np.full((1, 1, 1), reach)
    two = isinstance(algorithm, DFedMDC)
    clients = Ramps(-size, 2 * size, np.full((1, 1, 1), h), -h * size[..., 0])
    if two:
        clients = Splits.of(clients, np.zeros((1, 1)), np.full(1, h), np.zeros(1))
    x0, noise = np.full((1, 1, 1 + two), start), np.full((1, 1 + two), sigma)
    groups = CandidateBatch(
        algorithm, clients, x0, np.ones((1, 1, 1, 1)), noise, copies=m
    )
    built = groups.alone(0, x0, T)
    return built if W is None else replace(built, network=W)


def expected_in_fractions(h, sigma, start, eta, K, m, T):
    """Return the mean of E f'(xbar^t)^2, step by step."""
    mean, variance, total = start, Fraction(0), Fraction(0)
    for _ in range(T):
        total += h**2 * (mean**2 + variance)
        for _ in range(K):
            mean *= 1 - eta * h
            variance = (1 - eta * h) ** 2 * variance + eta**2 * sigma**2 / m
    return total / T


@pytest.mark.parametrize("T", [1, 2, 7, 40])
@pytest.mark.parametrize(
    ("h", "sigma", "start", "eta", "K", "m"),
    [(1, 2, 0, "1/10", 1, 1), (3, 1, 2, "1/100", 5, 4), ("1/2", 1, 1, "3/4", 3, 64)],
)
def test_closed_form_is_the_recursion_in_fractions(h, sigma, start, eta, K, m, T):
    numbers = [Fraction(number) for number in (h, sigma, start, eta)]
    block = NoisyParabola(
        float(numbers[0]), float(numbers[2]), float(sigma), float(numbers[3]), K, m
    )
    exact = expected_in_fractions(*numbers, K, m, T)
    assert block.mean(T) == pytest.approx(float(exact), rel=1e-12)
    assert block.expected(np.arange(T)).mean() == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    "algorithm",
    [
        DFedAvg(eta=0.1, K=3),
        DPSGD(eta=0.3),
        DFedSAM(eta=0.1, K=2, rho=0.0, Q=3),
        DFedSGPSM(eta=0.2, K=2, alpha=0.0, rho=0.0),
        DFedMDC(eta_u=0.1, eta_v=0.3, K_u=2, K_v=3),
    ],
)
def test_closed_form_is_the_exact_expectation_of_a_simulated_run(algorithm):
    problem = instance(algorithm)
    blocks = noisy_blocks(problem)
    path = simulate(CandidateBatch.of(problem), 60)
    for name, block in blocks.items():
        measured = path.left[name][:60, 0]
        assert measured == pytest.approx(block.expected(np.arange(60)), rel=1e-9)
    assert {block.averaged for block in blocks.values()} == (
        {4, 1} if isinstance(algorithm, DFedMDC) else {4}
    )


PLAIN = DFedAvg(eta=0.1, K=3)
ONE_WAY = np.array([[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize(
    ("problem", "covered"),
    [
        (instance(PLAIN), True),
        (instance(PLAIN, T=20_000), False),
        (instance(PLAIN, reach=0.99), False),
        (instance(PLAIN, reach=2.0), True),
        (instance(PLAIN, sigma=0.0), False),
        (instance(PLAIN, m=2, W=np.full((2, 2), 0.5)), True),
        (instance(PLAIN, m=2, W=ONE_WAY), False),
        (instance(DFedAvg(eta=1.5, K=1), start=0.0), False),
        (instance(DFedAvg(eta=0.1, K=3, decay=0.9)), False),
        (instance(DFedAvg(eta=0.1, K=3, weight_decay=0.1)), False),
        (instance(DFedSAM(eta=0.1, K=3, rho=0.1, Q=1), reach=9.0), False),
        (instance(DFedSGPSM(eta=0.1, K=3, alpha=0.5, rho=0.0)), False),
    ],
)
def test_only_plain_steps_on_one_parabola_are_covered(problem, covered):
    assert (noisy_blocks(problem) is not None) is covered


def test_clients_that_start_apart_are_not_covered():
    problem = instance(PLAIN, m=2)
    apart = replace(problem, x0=np.array([[0.5], [0.25]]))
    assert noisy_blocks(apart) is None


@pytest.mark.parametrize(
    ("name", "factor"), [("limit", 1.01), ("_log_contraction", 1.1)]
)
def test_a_wrong_closed_form_is_noticed(monkeypatch, name, factor):
    right = getattr(NoisyParabola, name).fget
    monkeypatch.setattr(
        NoisyParabola, name, property(lambda block: factor * right(block))
    )
    assert noisy_blocks(instance(PLAIN)) is None


@cache
def false_statement():
    """Return a rate of which one noise term is too small by a factor K_u."""
    theorem = dfl.bounds.get("dfedmdc.rate_theorem_1", variant="corrected")
    name = "noise of the shared part"
    parts = {**theorem.parts, name: theorem.parts[name] / s.K_u}
    return replace(theorem, key="mine.theorem", parts=parts)


@cache
def its_instance():
    """Return the only noisy instance of the false statement."""
    (problem,) = noisy_instances(false_statement())
    return problem


@pytest.mark.slow
def test_noise_over_a_long_horizon_refutes_a_lost_number_of_steps(tmp_path):
    theorem = false_statement()
    finding = dfl.falsify(theorem, candidates=10)
    assert finding.violated
    assert finding.family == falsification.LONG_NOISE
    assert finding.instance.rounds > 20_000
    certificate = finding.certificate
    assert certificate.core["rounds"] == 32
    assert certificate.core_at_horizon == certificate.exact["ratio"] > 1
    exact, obstacles = exact_expectation(finding.instance, theorem)
    assert exact["ratio"] == pytest.approx(finding.ratio, rel=1e-12)
    assert not obstacles
    file = tmp_path / "found.json"
    finding.save(file)
    again = replay(file)
    assert again.violated
    assert again.ratio == pytest.approx(finding.ratio, rel=1e-12)


def test_runs_that_disagree_with_the_closed_form_confirm_nothing(monkeypatch):
    theorem = false_statement()
    problem = its_instance()
    monkeypatch.setattr("dfltheory.counterexamples.certify.FIRST_ROUNDS", 8)
    assert certify(problem, theorem).violated
    blocks = noisy_blocks(problem)
    larger = {
        name: replace(block, distance=2 * block.distance)
        for name, block in blocks.items()
    }
    monkeypatch.setattr(
        "dfltheory.counterexamples.certify.noisy_blocks", lambda _: larger
    )
    certificate = certify(problem, theorem)
    assert certificate.core_at_horizon is None
    assert not certificate.violated


def test_no_corrected_statement_is_exceeded():
    corrected = [
        theorem
        for theorem in dfl.bounds.statements()
        if theorem.variant.startswith("corrected") and not theorem.order
    ]
    assert len(corrected) > 20
    assert [t for t in corrected if [*noisy_instances(t)]] == []


def test_other_left_sides_have_the_lower_limit_zero():
    theorem = false_statement()
    problem = its_instance()
    last = replace(theorem, lhs=replace(theorem.lhs, aggregate="min"))
    blocks = noisy_blocks(problem)
    values = dict.fromkeys(theorem.needs, 1.0)
    assert long_noise.closed_form_left(theorem, blocks, values, LONG) > 0
    assert long_noise.closed_form_left(last, blocks, values, LONG) == 0.0


def test_a_second_moment_of_late_rounds_is_unknown(monkeypatch):
    monkeypatch.setattr("dfltheory.counterexamples.certify.FIRST_ROUNDS", 8)
    theorem = false_statement()
    problem = its_instance()
    second_moment = {**theorem.parts, "moment": s.S2 * s.eta_u**9}
    changed = replace(theorem, parts=second_moment)
    certificate = certify(problem, changed)
    assert certificate.exact["bound"] == float("inf")
    assert not certificate.violated
