"""Any theorem with a scope can be searched, also of third-party packages; others are
rejected in one line.
"""

import dataclasses
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import algorithms
from dfltheory.algorithms import Algorithm, State
from dfltheory.algorithms.base import replace
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.counterexamples import certify, core, falsify, replay, score
from dfltheory.counterexamples.candidate_matrices import digraphs
from dfltheory.counterexamples.growth import kinds
from dfltheory.counterexamples.networks import candidate_networks
from dfltheory.counterexamples.reach import (
    SEARCHED_MEASURES,
    hyperparameters,
    searched_algorithm,
    unknown,
)
from dfltheory.counterexamples.search_spaces import PIECEWISE, search_spaces
from dfltheory.counterexamples.shared_numbers import varied
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.graphs import push_sum_constants
from tests.counterexamples.test_falsify import trap
from tests.experiments.test_every_theorem import barred

ATC = {"order": "adapt-then-combine"}


@dataclass(frozen=True)
class Mine(Algorithm):
    """A third-party class: one gradient step, then one exchange."""

    eta: float

    def local_update(self, state: State, grad) -> State:
        return replace(state, z=state.x - self.eta * grad(state.x, grad.sample()))

    def communicate(self, state: State, mix) -> State:
        return replace(state, x=mix(state.z))


@dataclass(frozen=True)
class Odd(Mine):
    """A class with a hyperparameter that no glossary contains."""

    taste: float = 2.0


class DFedSAM(algorithms.DFedSAM):
    """A user's class with the name of one of the package's."""


def mine(key="dfedsam.theorem_4_5", variant="corrected", **scope):
    """Return a copy of one of the package's theorems under another name."""
    theorem = dfl.bounds.get(key, variant)
    return dataclasses.replace(theorem, key="mine.theorem", scope=Scope(**scope))


def dpsgd(**more):
    """Return Theorem A at K = Q = 1, rho = 0, a true statement about D-PSGD."""
    given = {
        "algorithms": ("DPSGD",),
        "network": "definition 1",
        "common_start": True,
        "hyperparameters": ATC,
    } | more
    theorem = mine(**given)
    one = {
        dfl.bounds.GLOSSARY[n].symbol: v for n, v in {"K": 1, "Q": 1, "rho": 0}.items()
    }
    parts = {
        name: theorem.expand(part).subs(one) for name, part in theorem.parts.items()
    }
    conditions = tuple(
        dataclasses.replace(
            c,
            left=theorem.expand(c.left).subs(one),
            right=theorem.expand(c.right).subs(one),
        )
        for c in theorem.conditions
    )
    return dataclasses.replace(
        theorem, parts=parts, conditions=conditions, definitions=(), schedule={}
    )


def weakened(theorem, by):
    return dataclasses.replace(
        theorem, parts={name: part / by for name, part in theorem.parts.items()}
    )


def contracting(W):
    """A user's law: every weight is at least 0.1."""
    return None if W.min() >= 0.1 else "a weight is below 0.1"


@pytest.mark.slow
@pytest.mark.parametrize(
    "scope",
    [
        pytest.param({}, id="dpsgd"),
        pytest.param({"network": contracting}, id="own law"),
    ],
)
def test_falsify_refutes_only_the_false_one_of_two_third_party_theorems(
    scope, tmp_path
):
    """tests/test_users_theorem_and_algorithm.py does this for a user's own class."""
    true = dpsgd(**scope)
    found = falsify(true, candidates=200, enough=np.inf)
    assert not found.violated
    assert 0.1 < found.ratio <= 1
    false = falsify(weakened(true, 10), seconds=60, enough=1.2)
    assert false.violated, str(false)
    assert type(false.instance.algorithm) is searched_algorithm(true)
    assert len({*false.instance.x0[:, 0]}) == 1
    assert not callable(scope.get("network")) or np.min(false.instance.network) >= 0.1
    path = false.save(tmp_path / "hit.json")
    if callable(scope.get("network")):
        return  # a law is code, which files do not contain
    again = replay(path)  # it is not registered
    assert again.violated
    assert again.ratio == pytest.approx(false.ratio, rel=1e-12)


def test_replay_rejects_a_class_that_is_not_imported_in_one_line(tmp_path, monkeypatch):
    false = falsify(
        weakened(dpsgd(algorithms=(Mine,), hyperparameters={}), 10),
        seconds=60,
        enough=1.2,
    )
    path = false.save(tmp_path / "hit.json")
    monkeypatch.delattr(sys.modules[__name__], "Mine")
    with pytest.raises(DFLTheoryError, match="Mine") as caught:
        replay(path)
    assert "\n" not in str(caught.value)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "key",
    [
        "dfedsam.theorem_4_5",
        "dfedsgpsm.theorem_1",
        pytest.param("dfedadmm.theorem_1", marks=pytest.mark.slow),
        pytest.param("dfedmdc.theorem_1", marks=pytest.mark.slow),
    ],
)
def test_a_copy_of_a_true_theorem_under_another_key_is_searched_and_not_refuted(key):
    finding = falsify(
        dataclasses.replace(dfl.bounds.get(key, "corrected"), key="mine.theorem"),
        candidates=100,
    )
    assert not finding.violated
    assert finding.evaluations > 0


@pytest.mark.slow
def test_the_averaging_algorithm_with_momentum_is_searched_as_any_other():
    """No registered statement covers DFedAvgM; the scope fixes its momentum."""
    theorem = dpsgd(algorithms=("DFedAvgM",), hyperparameters={"K": 1, "alpha": 0.5})
    found = falsify(theorem, seconds=1, enough=np.inf)
    assert type(found.instance.algorithm).__name__ == "DFedAvgM"
    assert found.instance.algorithm.alpha == 0.5
    assert not found.violated  # at K = 1, from v = 0, momentum does nothing


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ({"algorithms": ("SCAFFOLD",)}, "SCAFFOLD needs"),
        ({"algorithms": (Odd,), "hyperparameters": {}}, "does not specify taste"),
        (
            {"algorithms": ("DPSGD",), "hyperparameters": {}},
            "does not specify order",
        ),
        ({"network": "none"}, "no network"),
        ({"network": lambda W: "never right"}, "no matrix of the search"),
        ({"hyperparameters": {"eta": 0.5} | ATC}, "eta"),
        ({"two_blocks": True}, "bounds grad_norm_sq"),
    ],
)
def test_falsify_rejects_a_scope_outside_of_the_search_in_one_line(scope, words):
    with pytest.raises(DFLTheoryError, match=words) as caught:
        falsify(dpsgd(**scope), seconds=1)
    assert "\n" not in str(caught.value)


def test_search_draws_only_hyperparameters_that_the_bound_contains():
    free, fixed = hyperparameters(dfl.bounds.get("dfedsam.theorem_4_5", "corrected"))
    assert set(free) == {"eta", "K", "rho", "Q"}
    assert fixed == {"decay": 1.0, "weight_decay": 0.0}
    free, fixed = hyperparameters(
        mine(
            algorithms=("DFedSAM",), network="symmetric", hyperparameters={"rho": 0.25}
        )
    )
    assert "rho" not in free
    assert fixed["rho"] == 0.25
    free, fixed = hyperparameters(
        dfl.bounds.get("dfedadmm.theorem_1", "corrected_small_steps")
    )
    assert fixed["rho"] == 0.0
    assert set(free) == {"eta", "K", "lam"}
    assert hyperparameters(mine(algorithms=(DFedSAM,), network="symmetric"))[
        0
    ].keys() == {
        "eta",
        "K",
        "rho",
        "Q",
    }


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("key", "variant"),
    [
        # one variant is enough here: others differ by their right-hand sides and a few
        # conditions
        pytest.param(
            t.key,
            t.variant,
            marks=[pytest.mark.slow]
            * (
                t.variant
                != (
                    "corrected"
                    if "corrected" in dfl.bounds.variants(t.key)
                    else "printed"
                )
                or t.key
                == "dfedsgpsm.theorem_1"  # its corollary has its hyperparameters
            ),
        )
        for t in dfl.bounds.statements()
        if t.kind in ("theorem", "corollary") and not t.order
    ],
)
def test_every_statement_with_constants_has_candidates_that_meet_its_conditions(
    key, variant
):
    from dfltheory.counterexamples.score import some_admissible

    theorem, inside = dfl.bounds.get(key, variant), 0
    rng = np.random.default_rng(0)
    if theorem.lhs.measure not in SEARCHED_MEASURES[
        theorem.scope.two_blocks
    ] or unknown(theorem):
        with pytest.raises(
            InputError, match=r"can measure only|cannot compute"
        ) as refused:
            search_spaces(theorem)
        beyond_the_search = {"dist_now", "gap_now", "offset"}
        missing = GLOSSARY.keys() & set(unknown(theorem))
        assert missing <= beyond_the_search, refused.value
        return
    for family in search_spaces(theorem):
        for _ in range(8):
            shared = family.draw(rng)
            with np.errstate(all="ignore"):
                batch = family.decode(rng.random((32, family.dimension)), shared)
                good = some_admissible(theorem, batch, family.horizon(shared))
            assert type(batch.algorithm) is searched_algorithm(theorem)
            if theorem.scope.common_start:
                assert (np.ptp(batch.x0, axis=1) == 0).all()
            if good:
                inside += 1
                break
    few = barred(theorem)  # of noise, or of clients that differ
    assert inside >= (1 if few else 0.6 * len(search_spaces(theorem)))
    general = PIECEWISE[theorem.scope.two_blocks]
    assert any(family.name.startswith(general) for family in search_spaces(theorem))


def test_networks_keep_the_law_of_the_scope():
    names = {
        law: [
            n.name
            for n in candidate_networks(mine(algorithms=("DFedSGPSM",), network=law))
        ]
        for law in ("definition 1", "column-stochastic")
    }
    more = ["complete", "alone"]
    assert names == {
        "definition 1": ["pair", *more],
        "column-stochastic": [
            "pair",
            "directed",
            "unbalanced",
            "random digraph",
            *more,
        ],
    }
    assert [n.name for n in candidate_networks(dpsgd(network=contracting))] == [
        "pair",
        "circle",
        "alone",
    ]


def test_random_digraphs_are_many_strongly_connected_and_keep_columns():
    every = digraphs()
    assert len(np.unique(every, axis=0)) == len(every) >= 64
    assert np.allclose(every.sum(1), 1, atol=1e-15)
    assert (np.linalg.matrix_power(every, 3) > 0).all()
    weights = np.array([push_sum_constants(W).delta for W in every])
    assert (weights < 1e-2).any()  # far from even
    assert (weights > 0.8).any()
    assert (
        min(np.count_nonzero(W) for W in every)
        < 10
        < max(np.count_nonzero(W) for W in every)
    )


def test_rates_are_searched_from_a_common_start():
    for key in ("dfedmdc.theorem_1", "dfedsam.corollary_4_6", "dfedsgpsm.corollary_1"):
        theorem = dfl.bounds.get(key, "printed")
        for member in kinds(theorem):
            instance, _ = member.make(theorem, member.draw(np.random.default_rng(0)))
            x0 = np.zeros((2, 1)) if instance.x0 is None else np.asarray(instance.x0)
            assert (x0 == x0[0]).all(), member.name


def test_replay_rejects_different_starts_for_a_theorem_on_a_common_start(
    tmp_path, monkeypatch
):
    for module in (core, score, certify):
        monkeypatch.setattr(module, "FULL", 600)
    monkeypatch.setattr(certify, "CORE_ROUNDS", (300,))
    found = replay(
        trap(tmp_path / "different_starts.json", "corrected", x0=(0.0, 1e-3))
    )
    assert not found.violated
    assert any(
        "start at the same model" in words for words in found.certificate.obstacles
    )
    together = replay(trap(tmp_path / "together.json", "corrected"))
    assert not any("same model" in words for words in together.certificate.obstacles)


def test_the_horizon_of_a_schedule_moves_and_a_given_one_stays():
    theorem, rng = (
        dfl.bounds.get("dfedsgpsm.corollary_1", "corrected"),
        np.random.default_rng(0),
    )
    free = search_spaces(theorem)[0]
    shared = free.draw(rng)
    assert len({free.horizon(varied(theorem, shared, 1.0, rng)) for _ in range(8)}) > 1
    assert dataclasses.replace(free, T=7).horizon(shared) == 7
