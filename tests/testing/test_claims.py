"""Claims: true ones pass, false ones fail with the smallest instance."""

import dataclasses
import sys
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
from dfltheory.testing.claims import _extend_scope


def descent(factor=1):
    """Return a bound that is sharp at T = 1 and eta = 1/L, times ``factor``."""
    return Theorem(
        key="mine.descent",
        variant="printed",
        kind="theorem",
        title="One exact step a round",
        source="by the descent lemma",
        lhs=LeftSide(
            "grad_norm_sq", "g", "mean", averaging="mean over the rounds 0..T-1"
        ),
        parts={
            "optimization": factor * 2 * s.f0_gap / (s.eta * s.T),
            "noise": s.L * s.eta * s.sigma_l**2,
        },
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
    """x <- x - eta g + beta (x - previous x), which the theorem does not cover."""

    beta: float = 0.9
    personal: ClassVar[bool] = False

    def init(self, x0, grad):
        return BallState(x=x0, z=x0, last=x0)

    def local_update(self, state, grad):
        moved = (
            state.x
            - self.eta * self.slope(grad, state.x)
            + self.beta * (state.x - state.last)
        )
        return replace(state, z=moved, last=state.x)

    def communicate(self, state, mix):
        return replace(state, x=mix(state.z))


def check(subject, decorator):
    (claim,) = vars(decorator(subject))[CLAIMS]
    delattr(subject, CLAIMS)
    check_claim(subject, claim)


def failure_message(subject, decorator):
    with pytest.raises(BrokenClaimError) as caught:
        check(subject, decorator)
    return str(caught.value)


def test_true_bound_passes():
    check(sgd, dfl.respects(descent(), examples=12))


def test_half_of_sharp_bound_fails_in_one_round():
    message = failure_message(
        sgd, dfl.respects(descent(sp.Rational(1, 2)), examples=60)
    )
    assert message.startswith(
        "sgd breaks respects mine.descent (printed): measured 1 (exact) exceeds the"
        " bound 0.5"
    )
    assert "b=[[0.0]], noise=0), x0 = [1.0], T = 1" in message  # the smallest instance


@pytest.mark.slow
def test_bound_without_momentum_fails_for_momentum():
    message = failure_message(HeavyBall, dfl.respects(descent(), examples=60))
    assert "HeavyBall breaks respects mine.descent" in message
    assert "beta=0.9" in message
    assert "T = 3" in message  # x = 1, 0, -0.9: past the minimizer in the third round


def test_subclass_of_covered_algorithm_passes():
    # this class is not in the theorem's scope
    mine = type("Mine", (dfl.algorithms.DFedSAM,), {})
    check(mine, dfl.respects("dfedsam.theorem_4_5", variant="corrected", examples=6))


def test_claim_covers_each_value_of_its_algorithm_that_the_theorem_does_not_contain():
    algorithm = dfl.algorithms.DPSGD(eta=0.1)  # K = 1 and rho = 0 are implied
    scope = _extend_scope(descent(), algorithm).scope
    assert scope.covers(algorithm)
    for name, value in algorithm.theory_values().items():
        assert name in descent().needs or scope.hyperparameters[name] == value
    assert scope.hyperparameters["K"] == 1


def test_random_run_fails_only_with_significant_evidence():
    """FedSAM is simulated: the true bound passes, a thousandth of it fails."""

    def sampled(eta):
        return dfl.algorithms.FedSAM(eta=eta, K=1, rho=1e-3)

    check(sampled, dfl.respects(descent(2), examples=10))
    message = failure_message(
        sampled, dfl.respects(descent(sp.Rational(1, 1000)), examples=20)
    )
    assert "exceeds the bound" in message


@pytest.mark.drawn(1)
@pytest.mark.parametrize("examples", [1, 10])
def test_confidence_level_is_divided_by_the_number_of_examples(examples, monkeypatch):
    recorded = []

    def recording(run, theorem, confidence):
        recorded.append(confidence)
        return dfl.compare(run, theorem, confidence=confidence)

    monkeypatch.setattr("dfltheory.testing.claims.compare", recording)
    check(sgd, dfl.respects(descent(), examples=examples))
    assert set(recorded) == {1 - 1e-6 / examples}


def test_theorem_with_bounded_gradients_passes():
    def pushed(eta, K, alpha):
        return dfl.algorithms.DFedSGPM(eta=eta, K=K, alpha=alpha)

    check(pushed, dfl.respects("dfedsgpsm.theorem_1", variant="corrected", examples=6))


def ring(m):
    return dfl.graphs.metropolis(dfl.graphs.ring(m))


def one_way(m):
    return (np.eye(m) + np.roll(np.eye(m), 1, axis=0)) / 2


def test_network_passes_or_fails_the_law_of_the_theorem():
    claim = dfl.respects("dfedsam.theorem_4_5", variant="corrected", examples=8)
    check(ring, claim)
    message = failure_message(one_way, claim)
    assert message.startswith("one_way(m=3) breaks")
    assert "symmetric" in message


@pytest.mark.slow
def test_network_fails_only_for_violations_of_its_law():
    """The condition T >= 64 K does not restrict the network."""
    claim = dfl.respects("dfedsam.corollary_4_8", variant="corrected", examples=5)
    check(ring, claim)
    with pytest.raises(BrokenClaimError, match=r"alone\(m=2\) .*lam = 1"):
        check(named("alone", np.eye), claim)
    with pytest.raises(BrokenClaimError, match=r"ones.*row 0 .*2"):
        check(named("ones", lambda m: np.ones((m, m))), claim)


def named(name, network):
    def made(m):
        return network(m)

    made.__name__ = name
    return made


@pytest.mark.slow
def test_step_size_that_an_equality_fixes_is_used():
    """The theorem holds at gamma = 1/L and fails at small gamma <= 1/L."""
    check(sgd, dfl.respects("pepit.gradient_descent", variant="example", examples=6))
    message = failure_message(
        sgd, dfl.respects("pepit.gradient_descent", variant="printed", examples=60)
    )
    assert "exceeds the bound" in message


@pytest.mark.slow
def test_theorem_with_two_step_sizes_passes():
    mine = type("Mine", (dfl.algorithms.DFedADMM,), {})
    check(
        mine,
        dfl.respects(
            "dfedadmm.theorem_1", variant="corrected_no_bounded_gradients", examples=10
        ),
    )


def test_theorem_without_K_gets_one_local_step():
    recorded = []

    def local(eta, K):
        recorded.append(K)
        return dfl.algorithms.FedAvg(eta=eta, K=K)

    check(local, dfl.respects(descent(), examples=10))
    assert set(recorded) == {1}


def test_error_of_the_subject_propagates():
    """It propagates also after an instance that is not covered."""
    calls = []

    def faulty(eta):
        calls.append(eta)
        if len(calls) > 1:
            raise RuntimeError("error of the subject")
        raise InputError("not covered")

    with pytest.raises(RuntimeError, match="error of the subject"):
        check(faulty, dfl.respects(descent(), examples=10))


def test_reduction_passes_or_fails():
    mine = type("Mine", (dfl.algorithms.DFedSAM,), {})
    check(mine, dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.0, examples=15))
    message = failure_message(
        mine, dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.5, examples=15)
    )
    # (1 - 0.5) - (1 - 0.5 * 1.5), by hand
    assert "after 1 rounds the models differ by 0.25" in message


@pytest.mark.slow
def test_theorem_with_two_blocks_passes_or_fails():
    mine = type("Mine", (dfl.algorithms.DFedMDC,), {})
    check(mine, dfl.respects("dfedmdc.theorem_1", variant="corrected", examples=10))
    true = dfl.bounds.get("dfedmdc.theorem_1", "corrected")
    false = dataclasses.replace(
        true, parts={n: p / 10**5 for n, p in true.parts.items()}
    )
    message = failure_message(mine, dfl.respects(false, examples=20))
    assert "Mine breaks respects dfedmdc.theorem_1" in message
    assert (
        "task = Coupled(a=[[0.0]], b=[[0.0]], h_u=1, h_v=1, k=0, sigma_u=0, sigma_v=0)"
        in message
    )


def test_parameter_without_random_values_raises_input_error():
    with pytest.raises(InputError, match="mass"):
        check(lambda eta, mass: sgd(eta), dfl.respects(descent(), examples=5))
    with pytest.raises(InputError, match="eta"):
        check(sgd, dfl.respects("dfedmdc.theorem_1", variant="corrected", examples=5))


SUITE = """
import dfltheory as dfl

@dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.0, examples=2)
@dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.5, examples=2)
class Mine(dfl.algorithms.DFedSAM):
    pass

class Proxy:  # raises on every attribute, as the request object of web frameworks
    __slots__ = ()
    def __call__(self): pass
    def __getattr__(self, name): raise RuntimeError(name)

request = Proxy()

def test_other():
    pass
"""


def run_pytest(*words):
    """Run pytest with the plugin, in the working folder; return the exit status."""
    plugins = ["-p", "dfltheory.plugin", "-p", "no:cacheprovider"]
    places = ["--rootdir", ".", "--import-mode=importlib"]
    return pytest.main([*plugins, *places, *words])


def test_pytest_collects_a_test_for_each_claim(tmp_path, monkeypatch, capsys):
    (tmp_path / "test_claims_of_mine.py").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    assert run_pytest("-q", "test_claims_of_mine.py") == 1
    message = capsys.readouterr().out
    assert "1 failed, 2 passed" in message
    assert "Mine breaks reduces_to DFedAvg (rho=0.5)" in message
    assert "Traceback" not in message


CLAIM = """
import dfltheory as dfl

@dfl.reduces_to(dfl.algorithms.DFedAvg, rho=0.0, examples=2)
class {name}(dfl.algorithms.DFedSAM):
    def test_of_its_own(self):
        pass
"""


def collected(folder, monkeypatch, capsys, *files):
    """The ids of the tests that pytest collects in a folder."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    run_pytest("-q", "--collect-only", *files)
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if "::" in line]


@pytest.mark.slow
def test_claim_of_imported_class_is_collected_once_where_it_is_defined(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "test_claim_z.py").write_text(CLAIM.format(name="Mine"))
    for name in ("test_claim_a", "test_claim_b"):
        (tmp_path / f"{name}.py").write_text("from test_claim_z import Mine\n")
    monkeypatch.delitem(sys.modules, "test_claim_z", raising=False)
    (only,) = collected(tmp_path, monkeypatch, capsys)
    assert only.startswith("test_claim_z.py::Mine")


@pytest.mark.slow
def test_claim_of_class_outside_of_tests_is_collected_by_the_first_importing_module(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "claims_of_a_package.py").write_text(CLAIM.format(name="Mine"))
    for name in ("test_claim_c", "test_claim_d"):
        (tmp_path / f"{name}.py").write_text("from claims_of_a_package import Mine\n")
    (only,) = collected(tmp_path, monkeypatch, capsys)
    assert only.startswith("test_claim_c.py::Mine")


def test_claim_of_a_test_class_leaves_its_test_methods(tmp_path, monkeypatch, capsys):
    suite = CLAIM.format(name="TestMine").replace("(dfl.algorithms.DFedSAM)", "")
    (tmp_path / "test_claim_e.py").write_text(suite)
    claim, method = collected(tmp_path, monkeypatch, capsys)
    assert claim.startswith("test_claim_e.py::TestMine reduces_to")
    assert method == "test_claim_e.py::TestMine::test_of_its_own"
