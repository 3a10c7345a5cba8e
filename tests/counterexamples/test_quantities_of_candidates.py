"""A statement may contain any quantity of the glossary: candidates have it, or the
search refuses the statement.
"""

import numpy as np
import pytest
import sympy as sp

from dfltheory.bounds import Condition
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.counterexamples.candidate_values import candidate_values
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.score import score
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.errors import InputError
from tests.verdicts.statements import SYMBOL, statement


def containing(name, two_blocks):
    """Return a statement whose bound contains one quantity and no step size."""
    algorithm, measure, fields = "DFedAvg", "grad_norm_sq", {}
    counts, steps = ("K",), ("eta",)
    if two_blocks:
        algorithm, measure, fields = "DFedMDC", "two_block", {"two_blocks": True}
        counts, steps = ("K_u", "K_v"), ("eta_u", "eta_v")
    free = {entry: "any" for entry in (*counts, *steps) if entry != name}
    bound = 1000 * (1 + SYMBOL[name])
    return statement(
        measure, "mean", bound, algorithm=algorithm, hyperparameters=free, **fields
    )


OWN = {
    False: {"L", "sigma_g", "K", "mu", "sigma_l", "f0_gap", "lam", "rho", "alpha"},
    True: {"L_u", "sigma_u", "K_u", "sigma_l", "f0_gap", "lam", "rho", "alpha"},
}


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.drawn(1)
@pytest.mark.parametrize("two_blocks", [False, True])
def test_candidates_have_each_quantity_or_the_statement_is_refused(two_blocks, every):
    searched = set()
    for name in sorted({*list(GLOSSARY)[::every], *OWN[two_blocks]}):
        theorem = containing(name, two_blocks)
        try:
            space = search_spaces(theorem)[0]
        except InputError:
            continue
        points = np.full((1, space.dimension), 0.5)
        batch = space.decode(points, space.draw(np.random.default_rng(0)))
        with np.errstate(all="ignore"):
            score(theorem, batch, 5)
        searched.add(name)
    assert searched >= OWN[two_blocks]


@pytest.mark.slow
def test_exact_gradients_of_two_blocks_are_searched():
    """The noise of a client is that of its two blocks together."""
    s = SYMBOL
    theorem = statement(
        *("two_block", "mean", 1000 * (s["f0_gap"] + s["sigma_l"])),
        algorithm="DFedMDC",
        conditions=(Condition("exact", s["sigma_l"], sp.Integer(0)),),
        hyperparameters=dict.fromkeys(("K_u", "K_v", "eta_u", "eta_v"), "any"),
        two_blocks=True,
    )
    judged = []
    for space in search_spaces(theorem):
        points = np.random.default_rng(0).random((16, space.dimension))
        batch = space.decode(points, space.draw(np.random.default_rng(0)))
        with np.errstate(all="ignore"):
            ratios = score(theorem, batch, 5).ratio
        noisy = batch.sigma.any(-1)
        assert np.isnan(ratios[noisy]).all()
        judged.append(np.isfinite(ratios[~noisy]).any())
    assert any(judged)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_hyperparameter_that_the_scope_fixes_may_occur_in_a_condition(alpha):
    """The step sizes of candidates meet the condition at the fixed value."""
    s = SYMBOL
    theorem = statement(
        *("grad_norm_sq", "mean", 1000 * s["f0_gap"] / s["eta"]),
        algorithm="DFedAvgM",
        conditions=(
            Condition("step", s["eta"] * s["K"] * s["L"], (1 - s["alpha"]) / 10),
        ),
        hyperparameters={"alpha": alpha, "keep_momentum": False},
    )
    space = search_spaces(theorem)[0]
    points = np.random.default_rng(0).random((16, space.dimension))
    batch = space.decode(points, space.draw(np.random.default_rng(0)))
    hyperparameters = batch.algorithm.theory_values()
    steps = hyperparameters["K"] * hyperparameters["eta"]
    assert hyperparameters["alpha"] == alpha
    largest = (1 - alpha) / 10 * (1 + 1e-9)
    assert np.all(steps * batch.clients.constants()["L"] <= largest)


def test_diversity_is_bounded_in_every_round():
    """A mean over rounds would refute true statements that need the bound itself."""
    theorem = containing("delta_u", two_blocks=True)
    space = search_spaces(theorem)[0]
    points = np.random.default_rng(1).random((20, space.dimension))
    batch = space.decode(points, space.draw(np.random.default_rng(0)))
    path = simulate(batch, 6)
    values, _ = candidate_values(theorem, batch, path, [2, 5])
    for horizon, delta in zip((2, 5), values["delta_u"], strict=True):
        largest = path.diversity[:horizon].max(0)
        np.testing.assert_allclose(delta**2, largest, rtol=1e-12)
    assert (path.diversity[:5].max(0) > 1.001 * path.diversity[:5].mean(0)).any()
