"""The papers' set-ups agree with their text, sentence by sentence."""

import pytest

import dfltheory.algorithms as alg
from dfltheory.errors import DFLTheoryError
from validation.paper_setups import PaperSetup, paper_methods, paper_setup

PAPERS = ("dfedsam", "dfedadmm", "dfedsgpsm", "dfedmdc")


def algorithm_of(paper, method, **options):
    return paper_setup(paper, method, **options).build(steps_per_epoch=4)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_all_methods_of_a_paper_share(paper):
    for method in paper_methods(paper):
        setup = paper_setup(paper, method)
        algorithm = setup.build(steps_per_epoch=4)
        assert setup.batch == 128
        assert setup.clients == 100
        rate = algorithm.eta_u if hasattr(algorithm, "eta_u") else algorithm.eta
        assert rate == 0.1
        if paper != "dfedmdc":
            assert algorithm.decay == 0.998
        # client sampling ratio of server-based ones
        assert getattr(algorithm, "participation", 0.1) == 0.1
        assert setup.neighbours == (10 if algorithm.needs_topology else None)
        # five local epochs of four steps, one for D-PSGD and SGP
        steps = algorithm.K_u if hasattr(algorithm, "K_u") else algorithm.K
        assert steps == (4 if method in ("dpsgd", "sgp") else 20)


ROUNDS = [
    ("dfedsam", {"cifar10": 1000, "cifar100": 1000}),
    ("dfedadmm", {"mnist": 300, "cifar10": 500, "cifar100": 500}),
    ("dfedsgpsm", {"mnist": 300, "cifar10": 500, "cifar100": 500}),
    ("dfedmdc", {"cifar10": 500, "cifar100": 500, "tiny_imagenet": 300}),
]


@pytest.mark.parametrize(("paper", "rounds"), ROUNDS)
def test_rounds_of_every_data_set_and_of_no_other(paper, rounds):
    for method in paper_methods(paper):
        for dataset in ("mnist", "cifar10", "cifar100", "tiny_imagenet"):
            if dataset in rounds:
                assert paper_setup(paper, method, dataset).rounds == rounds[dataset]
            else:
                with pytest.raises(DFLTheoryError, match="no data set"):
                    paper_setup(paper, method, dataset)


def test_default_paper_setup():
    """Batches of 128, 100 clients with 10 neighbours, and an undirected network."""
    plain = PaperSetup(
        "ours", "dfedavg", alg.DFedAvg, {"eta": 0.3}, {"K": 2}, rounds=7, source="here"
    )
    assert (plain.batch, plain.clients, plain.neighbours, plain.gossip_directed) == (
        128,
        100,
        10,
        False,
    )
    assert plain.build(3) == alg.DFedAvg(eta=0.3, K=6)


def test_dfedsams_paper():
    """rho = 0.01; Q = 4 for MGS; momentum 0.9 for DFedAvgM; weight decay for all but
    FedSAM.
    """
    for method in paper_methods("dfedsam"):
        decay = paper_setup("dfedsam", method).build(1).weight_decay
        assert decay == (0.0 if method == "fedsam" else 5e-4)
    assert (
        algorithm_of("dfedsam", "dfedsam").rho
        == algorithm_of("dfedsam", "dfedsam-mgs").rho
        == 0.01
    )
    assert algorithm_of("dfedsam", "dfedsam").Q == 1
    assert algorithm_of("dfedsam", "dfedsam-mgs").Q == 4
    assert algorithm_of("dfedsam", "dfedavgm").alpha == 0.9


def test_dfedadmms_paper():
    """rho = lambda = 0.1; weight decay for all but DFedADMM(-SAM)."""
    for method in paper_methods("dfedadmm"):
        algorithm = algorithm_of("dfedadmm", method)
        assert algorithm.weight_decay == (
            0.0 if method.startswith("dfedadmm") else 5e-4
        )
        assert getattr(algorithm, "rho", 0.1) in (0.1, 0.0)
    assert algorithm_of("dfedadmm", "dfedadmmsam") == alg.DFedADMMSAM(
        eta=0.1, K=20, lam=0.1, rho=0.1, decay=0.998
    )
    assert algorithm_of("dfedadmm", "dfedadmm") == alg.DFedADMM(
        eta=0.1, K=20, lam=0.1, decay=0.998
    )
    assert algorithm_of("dfedadmm", "dfedavgm").alpha == 0.9


def test_dfedsgpsms_paper():
    """rho = 0.25 (symmetric), 0.1 (asymmetric); momentum 0.9, and 0.1 on CIFAR-100."""
    assert algorithm_of("dfedsgpsm", "dfedsam").rho == 0.25
    assert algorithm_of("dfedsgpsm", "dfedsgpsm") == alg.DFedSGPSM(
        eta=0.1, K=20, alpha=0.9, rho=0.1, decay=0.998
    )
    assert algorithm_of("dfedsgpsm", "dfedsgpsm-s") == algorithm_of(
        "dfedsgpsm", "dfedsgpsm"
    )
    assert algorithm_of("dfedsgpsm", "dfedsgpsm", dataset="cifar100").alpha == 0.1
    assert algorithm_of("dfedsgpsm", "dfedavgm", dataset="cifar100").alpha == 0.1
    assert isinstance(algorithm_of("dfedsgpsm", "sgp"), alg.OSGP)
    directed = {
        m
        for m in paper_methods("dfedsgpsm")
        if paper_setup("dfedsgpsm", m).gossip_directed
    }
    assert directed == {"sgp", "osgp", "dfedsgpm", "dfedsgpsm", "dfedsgpsm-s"}


def test_dfedmdcs_paper():
    """eta_u = 0.1, eta_v = 0.001, decay rate 0.005, momentum 0.9, rho = 0.7; K_v 1 or 5
    epochs.
    """
    expected = {
        "eta_u": 0.1,
        "eta_v": 0.001,
        "K_u": 20,
        "K_v": 4,
        "decay": 0.995,
        "alpha": 0.9,
    }
    assert algorithm_of("dfedmdc", "dfedmdc") == alg.DFedMDC(**expected)
    assert algorithm_of("dfedmdc", "dfedsmdc") == alg.DFedSMDC(**expected, rho=0.7)
    assert algorithm_of("dfedmdc", "dfedmdc", pathological=True).K_v == 20
    # ten head epochs, then five of the body, both at the common rate
    fedrep = algorithm_of("dfedmdc", "fedrep")
    assert (fedrep.K_v, fedrep.K_u, fedrep.eta_v, fedrep.eta_u, fedrep.alpha) == (
        40,
        20,
        0.1,
        0.1,
        0.9,
    )
    assert algorithm_of("dfedmdc", "fedbabu").K_v == 20  # five fine-tuning epochs
    assert algorithm_of("dfedmdc", "ditto").lam == 0.75
    assert algorithm_of("dfedmdc", "dispfl").sparsity == 0.5
    assert (
        algorithm_of("dfedmdc", "fedsam").rho
        == algorithm_of("dfedmdc", "dfedsam").rho
        == 0.7
    )
    for method in ("local", "fedavg", "fedper", "fedbabu", "dfedavgm"):
        assert algorithm_of("dfedmdc", method).alpha == 0.9


def test_paper_setup_accepts_changes_and_rejects_unknown_names():
    assert paper_setup("dfedsam", "dfedsam").build(3, rho=0.5, K=2).rho == 0.5
    for arguments, words in [
        (("dfedsan", "dfedsam"), "did you mean dfedsam"),
        (("dfedsam", "dfedsgp"), "no method in the dfedsam paper is called"),
        (("dfedsam", "dfedsam", "mnist"), "no data set in the dfedsam paper"),
    ]:
        with pytest.raises(DFLTheoryError, match=words):
            paper_setup(*arguments)
    for steps in (0, -1, True, 2.0, "3"):
        with pytest.raises(DFLTheoryError, match=f"steps_per_epoch = {steps!r}"):
            paper_setup("dfedsam", "dfedsam").build(steps)
    assert paper_setup("dfedsam", "dfedsam").build(1).K == 5
    with pytest.raises(DFLTheoryError, match="no paper is called"):
        paper_methods("fedavg")


def test_an_algorithm_with_a_radius_perturbs_by_default_and_by_its_papers_radius():
    for name, cls in alg.ALGORITHMS.items():
        assert getattr(cls, "rho", 1) > 0, name
    for method in ("dfedsam", "dfedadmmsam", "dfedsgpsm", "dfedsmdc"):
        paper = {"dfedadmmsam": "dfedadmm", "dfedsmdc": "dfedmdc"}.get(method, method)
        assert alg.ALGORITHMS[method].rho == algorithm_of(paper, method).rho
