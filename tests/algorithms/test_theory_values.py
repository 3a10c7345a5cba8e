"""The letters by which a theorem sees an algorithm: a wrong one makes a verdict about another bound."""

import inspect

import pytest
import torch

from dfltheory import algorithms as a


@pytest.mark.parametrize(
    ("algorithm", "letters"),
    [
        (a.DPSGD(eta=0.1), {"eta": 0.1, "K": 1, "Q": 1, "rho": 0.0, "alpha": 0.0}),
        (a.DFedAvg(eta=0.1, K=3), {"eta": 0.1, "K": 3, "Q": 1, "rho": 0.0, "alpha": 0.0}),
        (a.DFedAvgM(eta=0.1, K=3, alpha=0.5), {"eta": 0.1, "K": 3, "Q": 1, "rho": 0.0, "alpha": 0.5}),
        (a.DFedSAM(eta=0.1, K=3), {"eta": 0.1, "K": 3, "Q": 1, "rho": 0.0, "alpha": 0.0}),
        (a.DFedSAM(eta=0.1, K=3, rho=0.2, Q=4), {"eta": 0.1, "K": 3, "Q": 4, "rho": 0.2, "alpha": 0.0}),
    ],
)
def test_gossip(algorithm, letters):
    assert algorithm.theory_values() == letters


@pytest.mark.parametrize(
    ("algorithm", "letters"),
    [
        (a.SGP(eta=0.1), {"eta": 0.1, "K": 1, "alpha": 0.0, "rho": 0.0}),
        (a.OSGP(eta=0.1, K=3), {"eta": 0.1, "K": 3, "alpha": 0.0, "rho": 0.0}),
        (a.DFedSGPM(eta=0.1, K=3, alpha=0.7), {"eta": 0.1, "K": 3, "alpha": 0.7, "rho": 0.0}),
        (a.DFedSGPSM(eta=0.1, K=3, alpha=0.7, rho=0.2), {"eta": 0.1, "K": 3, "alpha": 0.7, "rho": 0.2}),
        (a.DFedADMM(0.1, 3, 0.4), {"eta": 0.1, "K": 3, "lam_admm": 0.4, "rho": 0.0, "alpha": 0.0}),
        (a.DFedADMMSAM(0.1, 3, 0.4, 0.2), {"eta": 0.1, "K": 3, "lam_admm": 0.4, "rho": 0.2, "alpha": 0.0}),
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
def test_push_sum_primal_dual_and_two_blocks(algorithm, letters):
    assert algorithm.theory_values() == letters


def test_plain_descent_is_the_default_of_sam():
    assert (a.DFedSAM(eta=0.1, K=3).rho, a.DFedSAM(eta=0.1, K=3).Q) == (0.0, 1)


def test_defaults_of_the_letters():
    assert a.DFedAvgM(eta=0.1, K=3).alpha == a.DFedSGPM(eta=0.1, K=3).alpha == 0.9
    assert a.DFedSGPSM(eta=0.1, K=3).alpha == 0.9
    assert a.DFedSGPSM(eta=0.1, K=3).rho == 0.0
    assert a.DFedADMMSAM(eta=0.1, K=3, lam=1.0).rho == a.FedSAM(eta=0.1, K=3).rho == 0.1
    assert a.DFedSMDC(eta_u=0.1, eta_v=0.1, K_u=1, K_v=1).rho == 0.7
    assert a.Ditto(eta=0.1, K=3).lam == 0.75
    assert (a.DisPFL(eta=0.1, K=3).sparsity, a.DisPFL(eta=0.1, K=3).prune) == (0.5, 0.5)


LETTERS = {
    "dpsgd": "eta order",
    "dfedavg": "eta K",
    "dfedavgm": "eta K alpha keep_momentum",
    "dfedsam": "eta K rho Q",
    "sgp": "eta",
    "osgp": "eta K",
    "dfedsgpm": "eta K alpha",
    "dfedsgpsm": "eta K alpha rho",
    "dfedadmm": "eta K lam",
    "dfedadmmsam": "eta K lam rho",
    "dfedmdc": "eta_u eta_v K_u K_v",
    "dfedsmdc": "eta_u eta_v K_u K_v rho sam",
    "dispfl": "eta K sparsity",
    "fedavg": "eta K",
    "fedsam": "eta K rho",
    "local": "eta K",
    "fedper": "eta K",
    "fedrep": "eta_u eta_v K_u K_v",
    "fedbabu": "eta K K_v",
    "fedrod": "eta K",
    "ditto": "eta K K_v lam",
}
OPTIONS = {"decay": 1.0, "weight_decay": 0.0, "participation": 1.0, "alpha": 0.0, "fresh": True, "prune": 0.5}


@pytest.mark.parametrize("name", sorted(a.ALGORITHMS))
def test_the_papers_letters_come_in_order_and_all_other_options_by_name(name):
    parameters = inspect.signature(a.get(name)).parameters.values()
    assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == LETTERS[name].split()
    options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert options == {option: OPTIONS[option] for option in options}
    assert {"decay", "weight_decay"} <= set(options)
    assert ("participation" in options) == (not a.get(name).needs_topology and name != "local")


@pytest.mark.parametrize("keep", [False, True])
def test_momentum_takes_memory_only_where_it_is_kept(keep):
    x0 = torch.ones(1, 3, 2)
    state = a.DFedAvgM(eta=0.1, K=3, keep_momentum=keep).init(x0, None)
    assert state.v.shape == (1, 3, 2 if keep else 0)


def test_the_penalty_of_admm_has_its_own_name():
    letters = a.DFedADMM(eta=0.1, K=3, lam=0.4).theory_values()
    assert letters["lam_admm"] == 0.4
    assert "lam" not in letters  # lam is the network's contraction


def test_push_sum_letters():
    letters = a.DFedSGPSM(eta=0.1, K=3, rho=0.2, alpha=0.5).theory_values()
    assert {k: letters[k] for k in ("eta", "K", "rho", "alpha")} == {
        "eta": 0.1,
        "K": 3,
        "rho": 0.2,
        "alpha": 0.5,
    }
    plain = a.OSGP(eta=0.1, K=3).theory_values()
    assert (plain["rho"], plain["alpha"]) == (0.0, 0.0)
