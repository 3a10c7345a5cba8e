"""Claims in continuous integration: true ones pass, planted false ones fail with the smallest instance."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import sympy as sp
from torch import Tensor

import dfltheory as dfl
from dfltheory.algorithms.base import State, replace
from dfltheory.bounds import Condition, LeftSide, Scope, Theorem
from dfltheory.bounds import symbols as s
from dfltheory.errors import InputError
from dfltheory.plugin import CLAIMS
from dfltheory.testing import BrokenClaimError, check_claim


def descent(factor=1):
    """(1/T) sum E||grad f||^2 <= 2 (f - f*)/(eta T) + L eta sigma^2: sharp at T = 1, eta = 1/L."""
    return Theorem(
        key="mine.descent",
        variant="printed",
        kind="theorem",
        title="One exact step a round",
        source="by the descent lemma",
        lhs=LeftSide("grad_norm_sq", "g", "mean", averaging="mean over the rounds 0..T-1"),
        parts={"optimization": factor * 2 * s.f0_gap / (s.eta * s.T), "noise": s.L * s.eta * s.sigma_l**2},
        scope=Scope(("FedAvg",), "none", common_start=True),
        conditions=(Condition("eta L <= 1", s.eta * s.L, sp.Integer(1)),),
    )


def sgd(eta):
    return dfl.algorithms.FedAvg(eta=eta, K=1)


@dataclass(frozen=True, eq=False)
class BallState(State):
    last: Tensor | None = None


@dataclass(frozen=True)
class HeavyBall(dfl.algorithms.FedAvg):
    """x <- x - eta g + beta (x - x of the round before): momentum where the theorem has none."""

    beta: float = 0.9
    personal: ClassVar[bool] = False

    def init(self, x0, grad):
        return BallState(x=x0, z=x0, last=x0)

    def local_update(self, state, grad):
        moved = state.x - self.eta * self.slope(grad, state.x) + self.beta * (state.x - state.last)
        return replace(state, z=moved, last=state.x)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def tried(subject, decorator):
    (claim,) = vars(decorator(subject))[CLAIMS]
    delattr(subject, CLAIMS)
    check_claim(subject, claim)


def broken(subject, decorator):
    with pytest.raises(BrokenClaimError) as told:
        tried(subject, decorator)
    return str(told.value)


def test_a_true_bound_is_kept():
    tried(sgd, dfl.respects(descent(), examples=30))


def test_half_of_a_sharp_bound_breaks_in_one_round():
    told = broken(sgd, dfl.respects(descent(sp.Rational(1, 2)), examples=60))
    assert told.startswith(
        "sgd breaks respects mine.descent (printed): measured 1 (exact) exceeds the bound 0.5"
    )
    assert "b=[[0.0]], noise=0), x0 = [1.0], T = 1" in told  # the smallest instance


def test_momentum_breaks_what_is_true_without():
    told = broken(HeavyBall, dfl.respects(descent(), examples=60))
    assert "HeavyBall breaks respects mine.descent" in told
    assert "beta=0.9" in told
    assert "T = 3" in told  # x = 1, 0, -0.9, ...: it is past the optimum in the third round


def test_the_corrected_theorem_is_kept_by_its_own_algorithm():
    mine = type("Mine", (dfl.algorithms.DFedSAM,), {})  # no class of the theorem's scope
    tried(mine, dfl.respects("dfedsam.theorem_4_5", variant="corrected", examples=15))


def test_of_chance_only_evidence_accuses():
    """SAM's rounds are sampled: with the true bound nothing is said, a thousandth of it is refuted."""

    def sampled(eta):
        return dfl.algorithms.FedSAM(eta=eta, K=1, rho=1e-3)

    tried(sampled, dfl.respects(descent(2), examples=10))
    told = broken(sampled, dfl.respects(descent(sp.Rational(1, 1000)), examples=20))
    assert "exceeds the bound" in told


@pytest.mark.parametrize("examples", [1, 25])
def test_all_examples_together_accuse_by_chance_once_in_a_million(examples, monkeypatch):
    seen = []

    def noted(run, theorem, confidence):
        seen.append(confidence)
        return dfl.compare(run, theorem, confidence=confidence)

    monkeypatch.setattr("dfltheory.testing.respects.compare", noted)
    tried(sgd, dfl.respects(descent(), examples=examples))
    assert set(seen) == {1 - 1e-6 / examples}


def test_bounded_gradients_are_drawn():
    def pushed(eta, K, alpha):
        return dfl.algorithms.DFedSGPM(eta=eta, K=K, alpha=alpha)

    tried(pushed, dfl.respects("dfedsgpsm.theorem_1", variant="corrected", examples=15))


def ring(m):
    return dfl.graphs.metropolis(dfl.graphs.ring(m))


def one_way(m):
    return (np.eye(m) + np.roll(np.eye(m), 1, axis=0)) / 2


def test_a_network_keeps_the_law_or_not():
    claim = dfl.respects("dfedsam.theorem_4_5", variant="corrected", examples=15)
    tried(ring, claim)
    told = broken(one_way, claim)
    assert told.startswith("one_way(m=3) breaks")
    assert "it is not symmetric" in told


def test_only_the_network_is_accused_of_what_is_the_networks():
    """T >= 64 K is no law of a network; a disconnected one, and rows that do not sum to 1, break its law."""
    claim = dfl.respects("dfedsam.corollary_4_8", variant="corrected", examples=5)
    tried(ring, claim)
    with pytest.raises(BrokenClaimError, match=r"alone\(m=2\) breaks .*lam = 1"):
        tried(named("alone", np.eye), claim)
    with pytest.raises(BrokenClaimError, match=r"ones.*row 0 sums to 2"):
        tried(named("ones", lambda m: np.ones((m, m))), claim)


def named(name, network):
    def made(m):
        return network(m)

    made.__name__ = name
    return made


def test_a_step_that_an_equality_fixes_is_taken():
    """The control at gamma = 1/L is kept; with no step at all, from gamma <= 1/L, it is broken."""
    tried(sgd, dfl.respects("pepit.gradient_descent", variant="example", examples=15))
    told = broken(sgd, dfl.respects("pepit.gradient_descent", variant="printed", examples=60))
    assert "exceeds the bound" in told


def test_two_step_sizes_lie_at_the_edge_of_their_conditions():
    mine = type("Mine", (dfl.algorithms.DFedADMM,), {})
    tried(mine, dfl.respects("dfedadmm.theorem_1", variant="corrected_b2_sharper", examples=10))


def test_a_theorem_without_K_speaks_of_one_local_step():
    seen = []

    def local(eta, K):
        seen.append(K)
        return dfl.algorithms.FedAvg(eta=eta, K=K)

    tried(local, dfl.respects(descent(), examples=10))
    assert set(seen) == {1}


def test_a_fault_of_the_subject_is_told_as_it_is():
    """After a problem of which the theorem says nothing, too."""
    calls = []

    def faulty(eta):
        calls.append(eta)
        if len(calls) > 1:
            raise RuntimeError("its own fault")
        raise InputError("not here")

    with pytest.raises(RuntimeError, match="its own fault"):
        tried(faulty, dfl.respects(descent(), examples=10))


def test_a_reduction_holds_or_not():
    mine = type("Mine", (dfl.algorithms.DFedSAM,), {})
    tried(mine, dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.0, examples=15))
    told = broken(mine, dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.5, examples=15))
    assert "after 1 rounds the models are 0.25 apart" in told  # (1 - 0.5) - (1 - 0.5 * 1.5), by hand


def test_two_blocks_are_drawn():
    mine = type("Mine", (dfl.algorithms.DFedMDC,), {})
    tried(mine, dfl.respects("dfedmdc.theorem_1", variant="corrected", examples=10))
    true = dfl.bounds.get("dfedmdc.theorem_1", "corrected")
    false = dataclasses.replace(true, parts={n: p / 10**5 for n, p in true.parts.items()})
    told = broken(mine, dfl.respects(false, examples=20))
    assert "Mine breaks respects dfedmdc.theorem_1" in told
    assert "task = Coupled(a=[[0.0]], b=[[0.0]], h_u=1, h_v=1, k=0, sigma_u=0, sigma_v=0)" in told


def test_what_cannot_be_tried_is_said():
    with pytest.raises(InputError, match="takes mass, which is not drawn"):
        tried(lambda eta, mass: sgd(eta), dfl.respects(descent(), examples=5))
    with pytest.raises(InputError, match="sgd takes eta"):
        tried(sgd, dfl.respects("dfedmdc.theorem_1", variant="corrected", examples=5))


SUITE = """
import dfltheory as dfl

@dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.0, examples=5)
@dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.5, examples=5)
class Mine(dfl.algorithms.DFedSAM):
    pass

class Proxy:  # as a web framework's request outside of one
    __slots__ = ()
    def __call__(self): pass
    def __getattr__(self, name): raise RuntimeError(name)

request = Proxy()

def test_other():
    pass
"""


def test_pytest_makes_a_test_of_each_claim(tmp_path, monkeypatch, capsys):
    (tmp_path / "test_claims_of_mine.py").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    words = ["-p", "dfltheory.plugin", "-p", "no:cacheprovider", "--rootdir", ".", "--import-mode=importlib"]
    assert pytest.main([*words, "-q", "test_claims_of_mine.py"]) == 1
    told = capsys.readouterr().out
    assert "1 failed, 2 passed" in told
    assert "Mine breaks reduces_to DFedAvg (rho=0.5)" in told
    assert "Traceback" not in told
