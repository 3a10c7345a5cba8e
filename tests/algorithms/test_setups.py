"""The papers' set-ups, against what their text says, sentence by sentence."""

import pytest

import dfltheory.algorithms as alg
from dfltheory.errors import DFLTheoryError

PAPERS = ("dfedsam", "dfedadmm", "dfedsgpsm", "dfedmdc")


def letters(paper, method, **options):
    return alg.paper_setup(paper, method, **options).build(steps_per_epoch=4)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_all_methods_of_a_paper_share(paper):
    for method in alg.paper_methods(paper):
        setup = alg.paper_setup(paper, method)
        algorithm = setup.build(steps_per_epoch=4)
        assert setup.batch == 128
        assert setup.clients == 100
        rate = algorithm.eta_u if hasattr(algorithm, "eta_u") else algorithm.eta
        assert rate == 0.1
        if paper != "dfedmdc":
            assert algorithm.decay == 0.998
        assert getattr(algorithm, "participation", 0.1) == 0.1  # client sampling ratio of server-based ones
        assert setup.neighbours == (10 if algorithm.needs_topology else None)
        # five local epochs of four steps, one for D-PSGD and SGP
        steps = algorithm.K_u if hasattr(algorithm, "K_u") else algorithm.K
        assert steps == (4 if method in ("dpsgd", "sgp") else 20)


def test_dfedsams_paper():
    """rho = 0.01; Q = 4 for MGS; momentum 0.9 for DFedAvgM; weight decay for all but FedSAM; 1000 rounds."""
    for method in alg.paper_methods("dfedsam"):
        decay = alg.paper_setup("dfedsam", method).build(1).weight_decay
        assert decay == (0.0 if method == "fedsam" else 5e-4)
    assert letters("dfedsam", "dfedsam").rho == 0.01
    assert letters("dfedsam", "dfedsam").Q == 1
    assert letters("dfedsam", "dfedsam-mgs").Q == 4
    assert letters("dfedsam", "dfedavgm").alpha == 0.9
    assert alg.paper_setup("dfedsam", "dfedsam").rounds == 1000


def test_dfedadmms_paper():
    """rho = lambda = 0.1; weight decay for all but DFedADMM(-SAM); 500 rounds, 300 on MNIST."""
    for method in alg.paper_methods("dfedadmm"):
        algorithm = letters("dfedadmm", method)
        assert algorithm.weight_decay == (0.0 if method.startswith("dfedadmm") else 5e-4)
        assert getattr(algorithm, "rho", 0.1) in (0.1, 0.0)
    assert letters("dfedadmm", "dfedadmmsam") == alg.DFedADMMSAM(eta=0.1, K=20, lam=0.1, rho=0.1, decay=0.998)
    assert letters("dfedadmm", "dfedadmm") == alg.DFedADMM(eta=0.1, K=20, lam=0.1, decay=0.998)
    assert letters("dfedadmm", "dfedavgm").alpha == 0.9
    assert alg.paper_setup("dfedadmm", "dfedadmm", "mnist").rounds == 300
    assert alg.paper_setup("dfedadmm", "dfedadmm", "cifar100").rounds == 500


def test_dfedsgpsms_paper():
    """rho = 0.25 (symmetric), 0.1 (asymmetric); momentum 0.9, and 0.1 on CIFAR-100."""
    assert letters("dfedsgpsm", "dfedsam").rho == 0.25
    assert letters("dfedsgpsm", "dfedsgpsm") == alg.DFedSGPSM(eta=0.1, K=20, alpha=0.9, rho=0.1, decay=0.998)
    assert letters("dfedsgpsm", "dfedsgpsm-s") == letters("dfedsgpsm", "dfedsgpsm")
    assert letters("dfedsgpsm", "dfedsgpsm", dataset="cifar100").alpha == 0.1
    assert letters("dfedsgpsm", "dfedavgm", dataset="cifar100").alpha == 0.1
    assert isinstance(letters("dfedsgpsm", "sgp"), alg.OSGP)
    directed = {m for m in alg.paper_methods("dfedsgpsm") if alg.paper_setup("dfedsgpsm", m).gossip_directed}
    assert directed == {"sgp", "osgp", "dfedsgpm", "dfedsgpsm", "dfedsgpsm-s"}
    assert alg.paper_setup("dfedsgpsm", "dfedsgpsm", "mnist").rounds == 300


def test_dfedmdcs_paper():
    """eta_u = 0.1, eta_v = 0.001, decay rate 0.005, momentum 0.9, rho = 0.7; K_v 1 or 5 epochs."""
    expected = {"eta_u": 0.1, "eta_v": 0.001, "K_u": 20, "K_v": 4, "decay": 0.995, "alpha": 0.9}
    assert letters("dfedmdc", "dfedmdc") == alg.DFedMDC(**expected)
    assert letters("dfedmdc", "dfedsmdc") == alg.DFedSMDC(**expected, rho=0.7)
    assert letters("dfedmdc", "dfedmdc", pathological=True).K_v == 20
    assert letters("dfedmdc", "fedrep").K_v == 40  # ten head epochs, then five of the body
    assert letters("dfedmdc", "fedbabu").K_v == 20  # five fine-tuning epochs
    assert letters("dfedmdc", "ditto").lam == 0.75
    assert letters("dfedmdc", "dispfl").sparsity == 0.5
    assert letters("dfedmdc", "fedsam").rho == letters("dfedmdc", "dfedsam").rho == 0.7
    for method in ("local", "fedavg", "fedper", "fedbabu", "dfedavgm"):
        assert letters("dfedmdc", method).alpha == 0.9
    assert alg.paper_setup("dfedmdc", "dfedmdc", "tiny_imagenet").rounds == 300


def test_changes_win_and_unknown_names_are_told():
    assert alg.paper_setup("dfedsam", "dfedsam").build(3, rho=0.5, K=2).rho == 0.5
    for arguments, words in [
        (("dfedsan", "dfedsam"), "did you mean dfedsam"),
        (("dfedsam", "dfedsgp"), "no method in the dfedsam paper is called"),
        (("dfedsam", "dfedsam", "mnist"), "no data set in the dfedsam paper"),
    ]:
        with pytest.raises(DFLTheoryError, match=words):
            alg.paper_setup(*arguments)
    with pytest.raises(DFLTheoryError, match="steps_per_epoch = 0"):
        alg.paper_setup("dfedsam", "dfedsam").build(0)
    with pytest.raises(DFLTheoryError, match="no paper is called"):
        alg.paper_methods("fedavg")
