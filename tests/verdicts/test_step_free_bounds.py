"""Bounds without a step size hold for every step size, and can be compared and
searched.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import testing
from dfltheory.algorithms import Algorithm
from dfltheory.algorithms.base import replace
from dfltheory.bounds import Scope
from dfltheory.bounds.clauses import LeftSide
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Unit
from dfltheory.errors import InputError
from dfltheory.plugin import Claim
from dfltheory.verdicts.hyperparameters import unrestricted_steps

B, LAM, T, X0_SPREAD, ETA = (
    GLOSSARY[name].symbol for name in ("B", "lam", "T", "x0_spread", "eta")
)
RING = dfl.graphs.metropolis(dfl.graphs.ring(5))


@dataclass(frozen=True)
class Gossip(Algorithm):
    """x <- W x"""

    def local_update(self, state, grad):
        return replace(state, z=state.x)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


@dataclass(frozen=True)
class GossipDescent(Algorithm):
    """x <- W (x - eta g)"""

    eta: float
    order: str = "combine-then-adapt"

    def local_update(self, state, grad):
        return replace(state, z=state.x - self.eta * self.slope(grad, state.x))

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def gradient_bound(algorithm: Any, factor: Any = 1, **changes: Any) -> Theorem:
    """mean E||grad f||^2 <= factor B^2"""
    fields: dict[str, Any] = {
        "key": "mine.gradient_bound",
        "variant": "printed",
        "kind": "theorem",
        "title": "Gradients are bounded",
        "source": "test",
        "lhs": LeftSide("grad_norm_sq", "mean of squared gradients", "mean"),
        "parts": {"gradient": factor * B**2},
        "scope": Scope(
            (algorithm,),
            "symmetric",
            bounded_gradients=True,
            hyperparameters=changes.pop("hyperparameters", {}),
        ),
    }
    return Theorem(**{**fields, **changes})


def contraction(factor: Any = 1) -> Theorem:
    """sum_i ||x_i - xbar||^2/m after T rounds <= factor lam^(2T) times the same at the
    start
    """
    return Theorem(
        key="mine.contraction",
        variant="printed",
        kind="theorem",
        title="Gossip contracts",
        source="test",
        lhs=LeftSide(
            "consensus", "consensus error", "last", last=T, unit=Unit(x=Fraction(2))
        ),
        parts={"start": factor * LAM ** (2 * T) * X0_SPREAD},
        scope=Scope((Gossip,), "symmetric"),
    )


DESCENT: dict[str, Any] = {"hyperparameters": {"order": "combine-then-adapt"}}


@pytest.mark.parametrize("eta", [0.01, 0.5, 30.0])
def test_compare_judges_bound_without_step_size_at_every_step_size(eta):
    task = dfl.tasks.clipped(m=5)
    run = dfl.train(GossipDescent(eta), task, RING, rounds=20, seeds=2, progress=False)
    assert dfl.compare(run, gradient_bound(GossipDescent, **DESCENT)).kind == "holds"
    assert (
        dfl.compare(run, gradient_bound(GossipDescent, 1e-9, **DESCENT)).kind
        == "violated"
    )


def test_compare_judges_contraction_of_algorithm_without_step_size():
    task = dfl.tasks.quadratic(m=5, d=2, sigma=0.0)
    x0 = np.random.default_rng(0).normal(size=(5, task.d))
    run = dfl.train(Gossip(), task, RING, rounds=8, x0=x0, progress=False)
    assert dfl.compare(run, contraction()).kind == "holds"
    assert dfl.compare(run, contraction(1e-6)).kind == "violated"


@pytest.mark.drawn(1)
@pytest.mark.parametrize("algorithm", [Gossip, GossipDescent])
def test_falsify_searches_bound_without_step_size(algorithm):
    changes = DESCENT if algorithm is GossipDescent else {}
    found = dfl.falsify(gradient_bound(algorithm, **changes), candidates=100)
    assert not found.violated
    assert found.ratio == pytest.approx(1, abs=0.1)
    assert dfl.falsify(
        gradient_bound(algorithm, 0.5, **changes), candidates=60
    ).violated


@pytest.mark.slow  # quickly: in test_rounding.py
def test_falsify_searches_contraction_from_starts_that_differ():
    found = dfl.falsify(contraction(0.25), candidates=700)
    assert found.violated
    assert found.instance is not None
    assert np.ptp(found.instance.x0) > 0


@pytest.mark.parametrize(
    ("true", "false"), [(8, 20), pytest.param(20, 50, marks=pytest.mark.slow)]
)
def test_plugin_draws_step_sizes_that_the_bound_does_not_contain(true, false):
    changes = {**DESCENT, "kind": "theorem"}
    half = gradient_bound(GossipDescent, 0.5, **changes)
    testing.check_claim(
        GossipDescent,
        Claim(
            "respects",
            gradient_bound(GossipDescent, **changes),
            {"variant": None, "examples": true},
        ),
    )
    with pytest.raises(AssertionError):
        testing.check_claim(
            GossipDescent, Claim("respects", half, {"variant": None, "examples": false})
        )


def test_step_sizes_stay_restricted_where_the_statement_chooses_or_contains_some():
    free = gradient_bound(GossipDescent, **DESCENT)
    assert unrestricted_steps(free, GossipDescent) == {"eta"}
    assert unrestricted_steps(free, dfl.algorithms.DFedMDC) == {"eta_u", "eta_v"}
    assert (
        unrestricted_steps(gradient_bound(GossipDescent, ETA, **DESCENT), GossipDescent)
        == set()
    )
    assert (
        unrestricted_steps(
            gradient_bound(GossipDescent, order=True, **DESCENT), GossipDescent
        )
        == set()
    )
    planned = gradient_bound(GossipDescent, schedule={"rho": 1 / T}, **DESCENT)
    assert unrestricted_steps(planned, GossipDescent) == set()
    one_block = gradient_bound(dfl.algorithms.DFedMDC, GLOSSARY["eta_u"].symbol)
    assert unrestricted_steps(one_block, dfl.algorithms.DFedMDC) == set()
    with pytest.raises(InputError, match="eta"):
        dfl.falsify(
            gradient_bound(GossipDescent, schedule={"rho": 1 / T}, **DESCENT),
            candidates=10,
        )


def test_other_hyperparameters_that_the_bound_does_not_contain_stay_restricted():
    run = dfl.train(
        GossipDescent(0.1), dfl.tasks.clipped(m=5), RING, rounds=5, progress=False
    )
    verdict = dfl.compare(run, gradient_bound(GossipDescent))
    assert verdict.kind == "not applicable"
    assert "order" in verdict.reason
