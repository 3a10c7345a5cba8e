"""Constants are rounded, as states are: no true theorem is called violated if only
rounding exceeds a sharp bound.
"""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
import torch

import dfltheory as dfl
from dfltheory.bounds import Condition, LeftSide, Scope, Theorem
from dfltheory.bounds import symbols as s
from dfltheory.bounds.convex import strongly_convex
from dfltheory.bounds.symbols import LENGTH_SQ
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.problems import RampTask
from dfltheory.training.history import History
from dfltheory.verdicts.rounding import bound_error

mu, x_star_sq = s.mu, s.x_star_sq


def disagreement(power: int) -> Theorem:
    """From a common start with

    g_i

    <= B a.s., each round multiplies the disagreement by lam and adds eta B.
    """
    return Theorem(
        key="mine.disagreement",
        variant="printed",
        kind="theorem",
        title="Consensus distance of the clients",
        source="a draft",
        lhs=LeftSide(
            "consensus",
            r"\|x_i^T-\bar x^T\|^2",
            "last",
            last=s.T,
            unit=LENGTH_SQ,
            averaging="at T",
        ),
        parts={
            "all": s.eta**2 * (s.B**2 + s.sigma_l**2) * s.lam**power / (1 - s.lam) ** 2
        },
        scope=Scope(
            ("DPSGD",),
            "definition 1",
            sequence=("fixed", "periodic"),
            common_start=True,
            bounded_gradients=True,
            hyperparameters={"order": "adapt-then-combine"},
        ),
    )


def two_opposed(lam: float, rounds: int) -> dfl.Instance:
    """For constant gradients +-g of two clients, the disagreement is eta g lam (1 + lam
    + ...).
    """
    g, w = 0.0010038308758994181, (1 - lam) / 2
    task = RampTask(
        [[1e-11, 2e-11]] * 2, [[1e-11, 1e-11]] * 2, [[0.0, 0.0]] * 2, [g, -g]
    )
    W = np.array([[1 - w, w], [w, 1 - w]])
    algorithm = dfl.algorithms.DPSGD(eta=1.0, order="adapt-then-combine")
    return dfl.Instance(task, algorithm, W, rounds=rounds, seeds=1, x0=np.zeros((2, 1)))


LAMS = [1.394482858e-07, 3.3e-10, 7.7e-6, 1e-3, 0.3, 0.9, 1 - 1e-9]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("lam", LAMS)
def test_no_sharp_theorem_is_accused_of_what_rounds_lam(lam):
    case, true = two_opposed(lam, 2), disagreement(2)
    assert not certify(case, true).violated
    assert dfl.compare(case.run(progress=False), true).kind != "violated"


@pytest.mark.parametrize("lams", [LAMS[:2], pytest.param(LAMS, marks=pytest.mark.slow)])
def test_exact_evaluation_is_not_above_a_sharp_bound_by_rounding(lams):
    """The measure counts less its rounding error, which is at least the excess of these
    states.
    """
    ratios = [
        certify(two_opposed(lam, 2), disagreement(2)).exact["ratio"] for lam in lams
    ]
    assert max(ratios) <= 1


@pytest.mark.drawn(1)
@pytest.mark.parametrize("lam", LAMS[:4])
def test_a_false_one_is_still_refuted(lam):
    case, false = two_opposed(lam, 2), disagreement(4)
    assert certify(case, false).violated
    assert dfl.compare(case.run(progress=False), false).kind == "violated"


def test_the_error_is_that_of_the_derivative():
    values = {"eta": 0.5, "B": 3.0, "sigma_l": 2.0, "lam": 0.25}
    bound, unit = disagreement(2), 8 * np.finfo(float).eps
    parts = bound.parts["all"]
    at = {s.GLOSSARY[name].symbol: value for name, value in values.items()}
    rounded = {
        name: unit * (0.25 if name == "lam" else value)
        for name, value in values.items()
    }
    by_hand = sum(
        abs(float(parts.diff(s.GLOSSARY[name].symbol).subs(at))) * off
        for name, off in rounded.items()
    )
    assert float(bound_error(bound, values)) == pytest.approx(by_hand, rel=1e-2)


def test_of_what_may_be_one_by_rounding_nothing_is_known():
    """At lam = 1 nothing is claimed, whatever the bound would be."""
    bound, eps = replace(disagreement(2), parts={"all": s.lam}), np.finfo(float).eps
    assert bound_error(bound, {"lam": 1 - 2 * eps}) == np.inf
    assert bound_error(bound, {"lam": 1 - 4 * eps}) == 2 * eps


def one_round() -> Theorem:
    """For W = lam I + (1 - lam) 11'/m, equality holds: lam^2 eta^2 (sigma_g^2 + (1 -
    1/m) sigma_l^2).
    """
    spread = s.sigma_g**2 + (1 - 1 / s.m) * s.sigma_l**2
    scope = replace(disagreement(2).scope, bounded_gradients=False)
    return replace(
        disagreement(2), parts={"all": (s.lam * s.eta * s.T) ** 2 * spread}, scope=scope
    )


@pytest.mark.drawn(1)
@pytest.mark.parametrize("lam", [0.5, 1e-3, 1e-5, 1e-8, 1 - 1e-9])
@pytest.mark.parametrize("kind", ["double", "single", "exact"])
def test_equalities_are_undecided_in_any_precision_and_in_expectation(kind, lam):
    """A consensus error of 1e-16 with a covariance of 1 is a difference of its entries;
    W may be in single precision.
    """
    for seed in range(12):
        rng = np.random.default_rng(seed)
        m, d, L = (
            int(rng.integers(2, 9)),
            int(rng.integers(1, 5)),
            10.0 ** rng.uniform(-3, 3),
        )
        noise, dtype = (
            (kind == "exact") * 10.0 ** rng.uniform(-4, 4),
            getattr(torch, kind, torch.double),
        )
        task = dfl.tasks.quadratic(
            m=m, d=d, mu=L, L=L, zeta=1.0, sigma=noise, seed=seed, dtype=dtype
        )
        W, x0 = lam * np.eye(m) + (1 - lam) / m, np.tile(rng.normal(size=d), (m, 1))
        method = dfl.algorithms.DPSGD(
            eta=float(rng.random() / L), order="adapt-then-combine"
        )
        run = (dfl.exact_history if kind == "exact" else dfl.train)(
            method, task, W, rounds=1, x0=x0
        )
        assert dfl.compare(run, one_round()).kind == "undecided", (seed, m, d)


def test_what_rounds_an_expectation_is_kept_in_its_file(tmp_path):
    task = dfl.tasks.quadratic(m=3, d=2, mu=1.0, L=1.0, zeta=1.0, sigma=1.0, seed=0)
    exact = dfl.exact_history(
        dfl.algorithms.DPSGD(eta=0.1), task, np.full((3, 3), 1 / 3), rounds=2
    )
    again = History.load(exact.save(tmp_path / "exact.safetensors"))
    assert 0 < exact.consensus_rounding[0, 1] < 1e-14
    assert np.array_equal(again.consensus_rounding, exact.consensus_rounding)


@pytest.mark.slow
def test_more_seeds_are_run_where_a_few_leave_a_small_excess_open():
    """SGD on f = mu

    x

    ^2/2 attains its bound; a bound 5 % smaller is refuted by many short runs.
    """
    shrink, noise = (
        (1 - s.eta * mu) ** 2,
        s.eta * s.sigma_l**2 / (s.m * mu * (2 - s.eta * mu)),
    )

    def sgd(share):
        return Theorem(
            key="mine.sgd",
            variant="printed",
            kind="theorem",
            title="SGD on strongly convex functions",
            source="a draft",
            lhs=LeftSide(
                "dist_sq",
                r"\|x^T-x^\star\|^2",
                "last",
                last=s.T,
                unit=LENGTH_SQ,
                averaging="at T",
            ),
            parts={"start": shrink**s.T * x_star_sq, "noise": share * noise},
            conditions=(
                Condition("eta <= 2/(mu + L)", s.eta * (mu + s.L), sp.Integer(2)),
                *strongly_convex(mu, s.L),
            ),
            scope=Scope(
                ("FedAvg",), "none", common_start=True, hyperparameters={"K": 1}
            ),
        )

    wrong = sp.Rational(95, 100)
    assert dfl.falsify(sgd(wrong), candidates=2000).violated
    assert not dfl.falsify(sgd(sp.Integer(1)), candidates=2000).violated
