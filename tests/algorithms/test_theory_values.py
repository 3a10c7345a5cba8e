"""Values of an algorithm that theorems use; wrong ones would give a verdict on another
bound.
"""

import pytest
import torch

from dfltheory import algorithms as a
from dfltheory.bounds.symbols import GLOSSARY
from tests.algorithms.table import HYPERPARAMETERS


@pytest.mark.parametrize(
    ("algorithm", "values"),
    [
        (a.DPSGD(eta=0.1), {"eta": 0.1, "K": 1, "Q": 1, "rho": 0.0, "alpha": 0.0}),
        (
            a.DFedAvg(eta=0.1, K=3),
            {"eta": 0.1, "K": 3, "Q": 1, "rho": 0.0, "alpha": 0.0},
        ),
        (
            a.DFedAvgM(eta=0.1, K=3, alpha=0.5),
            {"eta": 0.1, "K": 3, "Q": 1, "rho": 0.0, "alpha": 0.5},
        ),
        (
            a.DFedSAM(eta=0.1, K=3),
            {"eta": 0.1, "K": 3, "Q": 1, "rho": 0.01, "alpha": 0.0},
        ),
        (
            a.DFedSAM(eta=0.1, K=3, rho=0.2, Q=4),
            {"eta": 0.1, "K": 3, "Q": 4, "rho": 0.2, "alpha": 0.0},
        ),
    ],
)
def test_gossip(algorithm, values):
    assert algorithm.theory_values() == values


@pytest.mark.parametrize(
    ("algorithm", "values"),
    [
        (a.SGP(eta=0.1), {"eta": 0.1, "K": 1, "alpha": 0.0, "rho": 0.0}),
        (a.OSGP(eta=0.1, K=3), {"eta": 0.1, "K": 3, "alpha": 0.0, "rho": 0.0}),
        (
            a.DFedSGPM(eta=0.1, K=3, alpha=0.7),
            {"eta": 0.1, "K": 3, "alpha": 0.7, "rho": 0.0},
        ),
        (
            a.DFedSGPSM(eta=0.1, K=3, alpha=0.7, rho=0.2),
            {"eta": 0.1, "K": 3, "alpha": 0.7, "rho": 0.2},
        ),
        (
            a.DFedADMM(0.1, 3, 0.4),
            {"eta": 0.1, "K": 3, "lam_admm": 0.4, "rho": 0.0, "alpha": 0.0},
        ),
        (
            a.DFedADMMSAM(0.1, 3, 0.4, 0.2),
            {"eta": 0.1, "K": 3, "lam_admm": 0.4, "rho": 0.2, "alpha": 0.0},
        ),
        (
            a.DFedMDC(eta_u=0.1, eta_v=0.2, K_u=3, K_v=4),
            {"eta_u": 0.1, "eta_v": 0.2, "K_u": 3, "K_v": 4, "alpha": 0.0, "rho": 0.0},
        ),
        (
            a.DFedSMDC(eta_u=0.1, eta_v=0.2, K_u=3, K_v=4, rho=0.3),
            {"eta_u": 0.1, "eta_v": 0.2, "K_u": 3, "K_v": 4, "alpha": 0.0, "rho": 0.3},
        ),
    ],
)
def test_push_sum_primal_dual_and_two_blocks(algorithm, values):
    assert algorithm.theory_values() == values


@pytest.mark.parametrize("keep", [False, True])
def test_momentum_takes_memory_only_where_it_is_kept(keep):
    x0 = torch.ones(1, 3, 2)
    state = a.DFedAvgM(eta=0.1, K=3, keep_momentum=keep).init(x0, None)
    assert state.v.shape == (1, 3, 2 if keep else 0)


@pytest.mark.parametrize("name", sorted(a.ALGORITHMS))
def test_theory_values_have_names_of_the_glossary(name):
    """In the glossary, ``lam`` is the network's contraction, so a hyperparameter of
    that name has another one.
    """
    theirs = {
        "eta",
        "eta_u",
        "eta_v",
        "K",
        "K_u",
        "K_v",
        "Q",
        "rho",
        "alpha",
        "lam_admm",
    }
    assert (
        set(a.get(name)(**HYPERPARAMETERS[name]).theory_values()) & set(GLOSSARY)
        <= theirs
    )
