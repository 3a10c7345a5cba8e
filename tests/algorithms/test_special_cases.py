"""The special cases that the audit compares theorems by are special cases."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import dfltheory.algorithms as alg
from dfltheory.bounds.special_cases import SPECIAL_CASES, SpecialCase, reductions
from dfltheory.tasks import Quadratic
from dfltheory.training import train
from tests.algorithms.problems import ring_matrix

CLIENTS = 5
SIZES = {
    "eta": 0.05,
    "eta_u": 0.05,
    "eta_v": 0.03,
    "K": 3,
    "K_u": 3,
    "K_v": 2,
    "alpha": 0.6,
    "rho": 0.3,
    "Q": 2,
    "lam": 0.4,
}
"""Values at which every mechanism is present."""
NAMES = [f"{case.general} is {case.simpler}" for case in SPECIAL_CASES]


def problem(personal):
    generator = np.random.default_rng(1)
    factors = generator.normal(size=(CLIENTS, 4, 4))
    matrices = factors @ factors.transpose(0, 2, 1)
    task = Quadratic(matrices, generator.normal(size=(CLIENTS, 4)), 0.3)
    if personal:
        task.shared = slice(0, 2)
    return task


def path(name, values, network):
    kind = alg.get(name)
    own = {f.name for f in fields(kind)}
    given = {n: v for n, v in {**SIZES, **values}.items() if n in own}
    algorithm = kind(**given)
    run = train(
        algorithm,
        problem(personal="eta_u" in own),
        network if algorithm.needs_topology else None,
        rounds=4,
        seeds=1,
        seed=3,
        x0=np.linspace(-1, 1, 4),
    )
    return np.asarray(run.x)


def network_of(case):
    if case.network == "complete":
        return np.full((CLIENTS, CLIENTS), 1 / CLIENTS)
    return ring_matrix(CLIENTS)


@pytest.mark.drawn(len(NAMES))
@pytest.mark.parametrize("case", SPECIAL_CASES, ids=NAMES)
def test_both_algorithms_of_a_special_case_have_equal_trajectories(case):
    network = network_of(case)
    general = path(case.general, case.values, network)
    simpler = path(case.simpler, case.values, network)
    np.testing.assert_allclose(general, simpler, rtol=0, atol=1e-12)


@pytest.mark.drawn(len(NAMES))
@pytest.mark.parametrize("case", SPECIAL_CASES, ids=NAMES)
def test_every_value_of_a_special_case_is_needed(case):
    """Without one of its values the two algorithms differ, so the table has no slack."""
    network = network_of(case)
    other_order = {"order": "combine-then-adapt"}
    for name in case.values:
        values = {n: v for n, v in case.values.items() if n != name}
        values |= other_order if name == "order" else {}
        paths = [path(a, values, network) for a in (case.general, case.simpler)]
        assert not np.allclose(*paths, rtol=0, atol=1e-9)


def test_reductions_combine_the_values_of_several_steps():
    (found,) = (r for r in reductions("DFedSAM") if r.simpler == "DPSGD")
    assert dict(found.values) == {
        "rho": 0,
        "Q": 1,
        "K": 1,
        "order": "adapt-then-combine",
    }
    assert not found.networks
    assert "DFedSAM" not in {r.simpler for r in reductions("DFedSAM")}


def test_a_special_case_that_is_none_is_noticed():
    case = SpecialCase("DFedSAM", "DFedAvg", {"Q": 1})
    with pytest.raises(AssertionError):
        test_both_algorithms_of_a_special_case_have_equal_trajectories(case)
