"""A user's theorem, algorithm and network law work without changes to the package.

Everything here is written as a user would write it, outside the package. The theorems
are true or false for known reasons: f(x^{t+1}) <= f(x^t) - eta (1 - eta L/2)

grad f

^2 for gradient descent on one client or on identical ones; Theorem A of DFedSAM's
re-derivation at K = Q = 1, rho = 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory import cli
from dfltheory.algorithms.base import Algorithm, State
from dfltheory.algorithms.base import replace as with_fields
from dfltheory.bounds import GLOSSARY, Condition, LeftSide, Scope, Theorem
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.symbols import LENGTH_SQ
from dfltheory.bounds.units import ONE
from dfltheory.counterexamples import replay

S = {name: GLOSSARY[name].symbol for name in GLOSSARY}


@dataclass(frozen=True)
class Lazy(Algorithm):
    """x_i <- x_i + gamma (sum_l w_il z_l - x_i), z_l = x_l - eta grad f_l(x_l): damped
    gossip.
    """

    eta: float
    gamma: float = 0.5

    def local_update(self, state, grad):
        eta = self.decayed(self.eta, grad.t)
        return with_fields(state, z=state.x - eta * self.slope(grad, state.x))

    def init(self, x0, grad):
        return State(x=x0, z=x0)

    def communicate(self, state, mix):
        z = state.z.clone()
        return with_fields(state, x=z + self.gamma * (mix(state.z.clone()) - z))


MEAN = LeftSide(
    "grad_norm_sq", r"\frac1T\sum_t\mathbb{E}\|\nabla f(\bar x^t)\|^2", "mean"
)


EXACT = (
    Condition("identical clients", 2 * S["sigma_g"], S["sigma_g"]),
    Condition("exact gradients", 2 * S["sigma_l"], S["sigma_l"]),
)


def descent(factor=1, algorithms=(Lazy,), **changes):
    """(1/T) sum_t ||grad f(xbar^t)||^2 <= 2 f0_gap/(eta T) for eta <= 1/L, identical
    clients, no noise.

    Without the last two conditions it is false, whatever vanishes with sigma_l and
    sigma_g: the search found two clients that leave a maximum for a well each, from a
    common start and with sigma_g = 5e-7.
    """
    fields = {
        "key": "third_party.descent",
        "variant": "printed",
        "kind": "theorem",
        "title": "Descent of damped gossip",
        "source": "a third party",
        "lhs": MEAN,
        "parts": {
            "optimization": factor * 2 * S["f0_gap"] / (S["eta"] * S["T"]),
            "noise": 40 * S["eta"] * S["L"] * S["sigma_l"] ** 2,
            "heterogeneity": (
                40 * (S["eta"] * S["L"] * S["sigma_g"] / (1 - S["lam"])) ** 2
            ),
        },
        "conditions": (
            Condition("eta <= 1/L", S["eta"] * S["L"], sp.Integer(1)),
            *EXACT,
        ),
        "scope": Scope(
            algorithms, "symmetric", common_start=True, hyperparameters={"gamma": 0.5}
        ),
        "schedule": {"eta": 1 / (S["L"] * sp.sqrt(S["T"]))},
    }
    return Theorem(**fields | changes)


RING = dfl.graphs.metropolis(dfl.graphs.ring(4))
TASK = dfl.tasks.Quadratic(np.full((4, 1, 1), 1.0), np.full((4, 1), 0.0))
START = np.full((1,), 3.0)


def run_of(algorithm, network=RING, task=TASK, rounds=30, **options):
    return dfl.train(
        algorithm,
        task,
        network,
        rounds=rounds,
        **{"x0": START, "progress": False} | options,
    )


def test_a_true_theorem_about_a_users_algorithm_holds_and_its_half_is_violated():
    run = run_of(Lazy(eta=0.5))
    verdict = dfl.compare(run, descent())
    assert verdict.kind == "holds", verdict.reason
    exact = 9 * sum(0.25**t for t in range(30)) / 30  # x^t = 3/2^t
    assert verdict.measured.estimate == pytest.approx(exact, rel=1e-12)
    assert verdict.bound == pytest.approx(2 * 4.5 / (0.5 * 30))
    sharp = run_of(Lazy(eta=1.0))  # at the minimum after one step
    assert dfl.compare(sharp, descent()).ratio == pytest.approx(1)
    assert dfl.compare(sharp, descent()).kind != "violated"
    assert dfl.compare(sharp, descent(factor=sp.Rational(1, 2))).kind == "violated"


ONE_WAY = dfl.graphs.weights(dfl.graphs.directed_exponential(4), "column_stochastic")
OUTSIDE = {
    "another algorithm": (lambda: run_of(dfl.algorithms.DPSGD(eta=0.5)), "Lazy"),
    "no network": (
        lambda: run_of(dfl.algorithms.FedAvg(eta=0.5, K=1), network=None),
        "FedAvg",
    ),
    "a directed network": (
        lambda: run_of(Lazy(eta=0.5), network=ONE_WAY, check_topology=False),
        "it is not symmetric",
    ),
    "sampled clients": (
        lambda: run_of(Lazy(eta=0.5), network=dfl.graphs.ClientSampling(4, 2)),
        "one fixed mixing matrix",
    ),
    "another hyperparameter": (lambda: run_of(Lazy(eta=0.5, gamma=0.9)), "gamma = 0.5"),
    "decayed steps": (lambda: run_of(Lazy(eta=0.5, decay=0.9)), "decay = 1.0"),
    "different starts": (
        lambda: run_of(Lazy(eta=0.5), x0=np.arange(4.0)[:, None]),
        "start at the same model",
    ),
    "a moving network": (
        lambda: run_of(Lazy(eta=0.5), network=[RING, np.eye(4) / 2 + RING / 2]),
        "one fixed mixing matrix",
    ),
    "steps too large": (lambda: run_of(Lazy(eta=1.5)), "eta <= 1/L fails"),
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_every_run_outside_the_scope_is_refused_by_name(what):
    make, words = OUTSIDE[what]
    verdict = dfl.compare(make(), descent())
    assert verdict.kind == "not applicable"
    assert words in verdict.reason


@pytest.mark.parametrize(
    "changed", [{"order": "adapt-then-combine"}, {"decay": 0.9}, {"weight_decay": 0.9}]
)
def test_a_theorem_on_d_psgd_refuses_it_in_another_order_or_with_other_steps(changed):
    mine = descent(
        scope=Scope(
            ("DPSGD",), "symmetric", hyperparameters={"order": "combine-then-adapt"}
        )
    )
    assert dfl.compare(run_of(dfl.algorithms.DPSGD(eta=0.5)), mine).kind == "holds"
    verdict = dfl.compare(run_of(dfl.algorithms.DPSGD(eta=0.5, **changed)), mine)
    ((name, value),) = changed.items()
    assert (verdict.kind, f"this run has {name} = {value}" in verdict.reason) == (
        "not applicable",
        True,
    )


def test_scope_does_not_cover_a_third_party_class_of_the_same_name():
    class DPSGD(dfl.algorithms.DPSGD):
        pass

    scope = Scope(
        ("DPSGD",), "symmetric", hyperparameters={"order": "combine-then-adapt"}
    )
    assert scope.covers(dfl.algorithms.DPSGD(eta=0.1))
    assert not scope.covers(DPSGD(eta=0.1))
    assert Scope((DPSGD,), "symmetric").covers(DPSGD)
    assert not Scope((DPSGD,), "symmetric").covers(dfl.algorithms.DPSGD)


def test_a_law_of_ones_own_for_the_network():
    def positive(W):
        return None if np.min(W) > 0 else f"the weight {np.min(W):g} is not positive"

    mine = descent(
        scope=Scope(
            (Lazy,), positive, common_start=True, hyperparameters={"gamma": 0.5}
        )
    )
    complete = np.full((4, 4), 0.25)
    assert dfl.compare(run_of(Lazy(eta=0.5), network=complete), mine).kind == "holds"
    verdict = dfl.compare(run_of(Lazy(eta=0.5)), mine)
    assert verdict.kind == "not applicable"
    assert "the weight 0 is not positive" in verdict.reason


def test_the_last_iterate_a_gap_and_a_metric_of_ones_own():
    last = replace(MEAN, measure="f_gap", unit=None, aggregate="last", last=S["T"])
    parts = {"optimization": S["f0_gap"] * sp.Rational(1, 4) ** S["T"]}
    mine = descent(
        lhs=last,
        parts=parts,
        conditions=(Condition("eta L = 1/2", S["eta"], 1 / (2 * S["L"])),),
    )
    verdict = dfl.compare(run_of(Lazy(eta=0.5), rounds=5), mine)
    assert verdict.ratio == pytest.approx(1, rel=1e-9)  # f(x^T) = f(x^0)/4^T
    assert verdict.measured.estimate == pytest.approx(4.5 / 4**5)

    def lyapunov(task, models, mean):
        return mean.pow(2).sum(-1)

    lowest = replace(MEAN, measure="lyapunov", unit=LENGTH_SQ, aggregate="min")
    own = descent(lhs=lowest, parts={"all": 2 * S["f0_gap"] / S["L"]})
    run = run_of(Lazy(eta=0.5), metrics=[lyapunov])
    assert dfl.compare(run, own).kind == "holds"
    assert (
        "is not what this run measured"
        in dfl.compare(run_of(Lazy(eta=0.5)), own).reason
    )


def test_the_exact_expectation_of_a_users_algorithm():
    noisy = dfl.tasks.Quadratic(
        np.full((4, 1, 1), 1.0), np.full((4, 1), 0.0), noise=0.1
    )
    run = dfl.exact_history(Lazy(eta=0.5), noisy, RING, 30, START)
    v, expected = 0.0, []  # var of xbar: v <- v/4 + eta^2 sigma^2/m
    for t in range(31):
        expected.append(9 / 4**t + v)
        v = v / 4 + 0.25 * noisy.constants.sigma_l**2 / 4
    np.testing.assert_allclose(run.grad_norm_sq[0], expected, rtol=1e-10)
    verdict = dfl.compare(run, descent(conditions=descent().conditions[:1]))
    assert (verdict.kind, verdict.method) == ("holds", "exact")


def test_it_is_audited_fitted_and_goes_through_a_file():
    assert not [f for f in dfl.audit(descent()) if f.severity == "error"]
    wrong = descent(
        schedule={"eta": 1 / (2 * S["L"] + S["sigma_l"] * sp.sqrt(S["T"] / S["m"]))}
    )
    assert any("not invariant" in str(f) for f in dfl.audit(wrong))
    horizons = [64, 128, 256, 512]

    @cache
    def make(T):
        return run_of(Lazy(eta=T**-0.5), rounds=int(T))

    fit = dfl.rate_fit(descent(), make, "T", horizons)
    assert fit.predicted == -0.5
    assert fit.exponent.estimate == pytest.approx(-0.5, abs=0.05)
    assert fit.verdict != "worse"
    slow = dfl.rate_fit(descent(), make, "T", horizons, predicted=-1)
    assert slow.verdict == "worse"
    back = theorem_from_document(json.loads(json.dumps(theorem_to_document(descent()))))
    assert dfl.compare(run_of(Lazy(eta=0.5)), back).kind == "holds"


@pytest.mark.parametrize("candidates", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_the_search_never_refutes_the_true_one_and_refutes_its_eighth(
    tmp_path, candidates
):
    true = dfl.falsify(descent(), candidates=candidates)
    assert not true.violated
    assert true.evaluations > 0
    assert true.ratio <= 1 + 1e-9
    false = dfl.falsify(descent(factor=sp.Rational(1, 8)), seconds=30, enough=1.2)
    assert false.violated
    assert false.ratio > 1.2
    saved = false.save(tmp_path / "half.json")
    again = replay(saved)  # the file carries the theorem, which is not registered
    assert again.violated
    assert again.ratio == pytest.approx(false.ratio, rel=1e-9)


OWN_FILE = """
from tests.test_users_theorem_and_algorithm import Lazy, descent
import sympy as sp
half = descent(factor=sp.Rational(1, 8))
"""


@pytest.mark.slow
def test_the_command_line_searches_a_file_and_a_name(tmp_path, monkeypatch, capsys):
    (tmp_path / "own.py").write_text(OWN_FILE)
    monkeypatch.chdir(tmp_path)
    assert (
        cli.run(
            ["falsify", "own.py:half", "--seconds", "30", "--enough", "1.2", "--json"]
        )
        == 1
    )
    assert json.loads(capsys.readouterr().out)["ratio"] > 1.2


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("open_low", "neutral"), [(True, 1.0), (True, None), (False, None)]
)
def test_a_hyperparameter_of_ones_own_that_is_a_share(open_low, neutral):
    name = "gamma"
    damping = dfl.bounds.Quantity(
        name, r"\gamma", ONE, "damping", high=1, open_low=open_low, neutral=neutral
    )
    optimization = 2 * S["f0_gap"] / (S["eta"] * S["T"])
    mine = descent(
        parts={"all": optimization + 40 * S["sigma_g"] ** 2 / damping.symbol},
        scope=Scope((Lazy,), "symmetric", common_start=True),
        key="third_party.share",
        quantities=(damping,),
    )
    finding = dfl.falsify(mine, candidates=16)
    assert finding.evaluations > 0
    assert isinstance(dfl.audit(mine), list | tuple)


def compressed(factor=1):
    """Return the same statement for CHOCO-SGD at gamma = 1/2 and any compressor.

    With identical clients and exact gradients, only the part that the compressor keeps
    back is lost. The terms beyond omega = 1 contain it.
    """
    kept_back = 40 * S["f0_gap"] * S["L"] * (1 / S["omega"] - 1) * (1 - S["lam_min"])
    parts = {**descent(factor).parts, "compression": kept_back}
    scope = Scope(
        ("CHOCOSGD",), "symmetric", common_start=True, hyperparameters={"gamma": 0.5}
    )
    return descent(key="third_party.compressed", parts=parts, scope=scope)


@pytest.mark.parametrize(
    ("compressor", "omega"), [("top-k", 1 / 4), ("qsgd", 1 / (1 + 4 / 16**2))]
)
def test_theorem_may_contain_compression_and_the_smallest_eigenvalue(compressor, omega):
    """Both are read from the run: top 1 of 4 numbers, 16 levels; a ring of 4 with
    weights 1/3 has -1/3.
    """
    task = dfl.tasks.Quadratic(np.full((4, 4, 4), np.eye(4)), np.zeros((4, 4)))
    algorithm = dfl.algorithms.CHOCOSGD(
        eta=0.5, gamma=0.5, compressor=compressor, share=0.25
    )
    run = run_of(algorithm, task=task, x0=np.full(4, 1.5))
    verdict = dfl.compare(run, compressed())
    # one seed of a random compressor
    assert verdict.kind in ("holds", "undecided"), verdict.reason
    assert run.values()["omega"] == pytest.approx(omega)
    assert run.values()["lam_min"] == pytest.approx(-1 / 3)
    assert verdict.bound == pytest.approx(
        2 * 4.5 / (0.5 * 30) + 40 * 4.5 * (1 / omega - 1) * 4 / 3
    )
    with pytest.raises(dfl.errors.InputError, match=r"omega = 0\.9"):
        dfl.compare(run, compressed(), omega=0.9)
    elsewhere = descent(scope=compressed().scope)
    assert "compressor" in dfl.compare(run, elsewhere).reason


def test_one_client_alone_has_the_least_eigenvalue_1():
    """It is that of its matrix, since gossip keeps nothing back."""
    task = dfl.tasks.Quadratic(np.full((1, 1, 1), 1.0), np.zeros((1, 1)))
    run = run_of(
        dfl.algorithms.CHOCOSGD(eta=0.5, gamma=0.5),
        task=task,
        network=np.ones((1, 1)),
        x0=np.full(1, 1.5),
    )
    assert run.values()["lam_min"] == 1
    assert dfl.compare(run, compressed()).kind in ("holds", "vacuous")


@pytest.mark.parametrize("candidates", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_falsify_searches_it_where_numbers_are_not_compressed(candidates):
    """In one dimension, the largest entry is the whole vector."""
    assert not dfl.falsify(compressed(), candidates=candidates).violated
    found = dfl.falsify(
        compressed(factor=sp.Rational(1, 8)), seconds=20, seed=0, enough=1.5
    )
    assert found.violated, found
    assert type(found.instance.algorithm).__name__ == "CHOCOSGD"
