"""Gradient descent as stated by PEPit: false for small step sizes, and a control at
gamma = 1/L.
"""

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.tasks.quadratics import Quadratic


def verdict_of(variant, eta, h, rounds, K=1, noise=0.0):
    """Compare two clients, f_i = x_1^2/2 + h x_2^2/2 (L = 1), started at (0, 1)."""
    task = Quadratic.diagonal([[1.0, h]], np.zeros((2, 2)), noise)
    run = dfl.exact_history(
        dfl.algorithms.FedAvg(eta=eta, K=K), task, None, rounds, x0=[0.0, 1.0]
    )
    return dfl.compare(run, bounds.get("pepit.gradient_descent", variant))


def test_as_it_reads_nothing_moves_at_small_steps():
    """

    grad f(x_0)

    ^2 = 1 and f(x_0) - f* = 1/2, so the bound is 4/(3 n) 1/2.
    """
    found = verdict_of("printed", 1e-6, 1.0, 10)
    assert found.kind == "violated"
    assert found.ratio == pytest.approx(15, rel=1e-4)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("rounds", [1, 2, 5, 20])
def test_at_the_step_of_its_example_it_holds(rounds):
    for h in np.linspace(0.01, 0.99, 12):
        found = verdict_of("example", 1.0, h, rounds)
        assert found.kind == "holds"
        by_hand = h**2 * (1 - h) ** (2 * rounds) / (4 / 3 / rounds * h / 2)
        assert found.ratio == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"noise": 0.1}, "exact gradients fails"),
        ({"K": 2}, "K = 1"),
        ({"eta": 0.5}, ">= 1/L"),
    ],
)
def test_pepit_theorem_covers_only_exact_steps_of_its_size(changes, why):
    found = verdict_of("example", **{"eta": 1.0, "h": 0.5, "rounds": 3, **changes})
    assert found.kind == "not applicable"
    assert why in found.reason
