"""The papers' experimental set-ups by name: hyperparameters of every method that a paper compares.

Local work is given in epochs there; :meth:`PaperSetup.build` turns them into local steps, so that all clients
take the same number K, as the theory has it. What the text leaves open is not filled in: it is the class's
default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dfltheory.algorithms import base, gossip, personalized, primal_dual, push_sum, server, sparse
from dfltheory.errors import InputError, one_of


@dataclass(frozen=True)
class PaperSetup:
    """One method in one paper's experiments.

    ``epochs`` gives local work by the letter that counts its steps (K, K_u, K_v); ``neighbours`` is the most
    that a client has in a round of the random time-varying topology; ``source`` says where it is printed.
    """

    paper: str
    method: str
    cls: type[base.Algorithm]
    letters: Mapping[str, Any]
    epochs: Mapping[str, int]
    rounds: int
    source: str
    batch: int = 128
    clients: int = 100
    neighbours: int | None = 10
    gossip_directed: bool = field(default=False)

    def build(self, steps_per_epoch: int, **changes: Any) -> base.Algorithm:
        """The algorithm, with E epochs as E * steps_per_epoch local steps; ``changes`` win."""
        if isinstance(steps_per_epoch, bool) or not isinstance(steps_per_epoch, int) or steps_per_epoch < 1:
            raise InputError(f"steps_per_epoch = {steps_per_epoch!r} must be an integer >= 1")
        steps = {letter: epochs * steps_per_epoch for letter, epochs in self.epochs.items()}
        return self.cls(**{**self.letters, **steps, **changes})


_DECAYING: dict[str, Any] = {"eta": 0.1, "decay": 0.998}
_REGULAR: dict[str, Any] = {**_DECAYING, "weight_decay": 5e-4}
_SAMPLED: dict[str, Any] = {"participation": 0.1}
_FIVE, _ONE = {"K": 5}, {"K": 1}

# paper -> method -> (class, letters, epochs). D-PSGD and SGP take one local epoch there: DFedAvg's and OSGP's
# update with K = one epoch, not one gradient.
_TABLE: dict[str, dict[str, tuple[type[base.Algorithm], dict[str, Any], dict[str, int]]]] = {
    "dfedsam": {
        "fedavg": (server.FedAvg, _REGULAR | _SAMPLED, _FIVE),
        "fedsam": (server.FedSAM, _DECAYING | _SAMPLED, _FIVE),
        "dpsgd": (gossip.DFedAvg, _REGULAR, _ONE),
        "dfedavg": (gossip.DFedAvg, _REGULAR, _FIVE),
        "dfedavgm": (gossip.DFedAvgM, _REGULAR | {"alpha": 0.9}, _FIVE),
        "dispfl": (sparse.DisPFL, _REGULAR, _FIVE),
        "dfedsam": (gossip.DFedSAM, _REGULAR | {"rho": 0.01, "Q": 1}, _FIVE),
        "dfedsam-mgs": (gossip.DFedSAM, _REGULAR | {"rho": 0.01, "Q": 4}, _FIVE),
    },
    "dfedadmm": {
        "fedavg": (server.FedAvg, _REGULAR | _SAMPLED, _FIVE),
        "fedsam": (server.FedSAM, _REGULAR | _SAMPLED | {"rho": 0.1}, _FIVE),
        "dpsgd": (gossip.DFedAvg, _REGULAR, _ONE),
        "dfedavg": (gossip.DFedAvg, _REGULAR, _FIVE),
        "dfedavgm": (gossip.DFedAvgM, _REGULAR | {"alpha": 0.9}, _FIVE),
        "dfedsam": (gossip.DFedSAM, _REGULAR | {"rho": 0.1}, _FIVE),
        "dfedadmm": (primal_dual.DFedADMM, _DECAYING | {"lam": 0.1}, _FIVE),
        "dfedadmmsam": (primal_dual.DFedADMMSAM, _DECAYING | {"lam": 0.1, "rho": 0.1}, _FIVE),
    },
    "dfedsgpsm": {
        "fedavg": (server.FedAvg, _DECAYING | _SAMPLED, _FIVE),
        "dpsgd": (gossip.DFedAvg, _DECAYING, _ONE),
        "dfedavg": (gossip.DFedAvg, _DECAYING, _FIVE),
        "dfedavgm": (gossip.DFedAvgM, _DECAYING | {"alpha": 0.9}, _FIVE),
        "dfedsam": (gossip.DFedSAM, _DECAYING | {"rho": 0.25}, _FIVE),
        "sgp": (push_sum.OSGP, _DECAYING, _ONE),
        "osgp": (push_sum.OSGP, _DECAYING, _FIVE),
        "dfedsgpm": (push_sum.DFedSGPM, _DECAYING | {"alpha": 0.9}, _FIVE),
        "dfedsgpsm": (push_sum.DFedSGPSM, _DECAYING | {"alpha": 0.9, "rho": 0.1}, _FIVE),
        "dfedsgpsm-s": (push_sum.DFedSGPSM, _DECAYING | {"alpha": 0.9, "rho": 0.1}, _FIVE),
    },
}
_PERSONAL = {"eta": 0.1, "alpha": 0.9}
_BLOCKS: dict[str, Any] = {"eta_u": 0.1, "eta_v": 0.001, "decay": 0.995, "alpha": 0.9}
_TABLE["dfedmdc"] = {
    "local": (server.Local, _PERSONAL, _FIVE),
    "fedavg": (server.FedAvg, _PERSONAL | _SAMPLED, _FIVE),
    "fedsam": (server.FedSAM, _PERSONAL | _SAMPLED | {"rho": 0.7}, _FIVE),
    "fedper": (server.FedPer, _PERSONAL | _SAMPLED, _FIVE),
    "fedrep": (
        server.FedRep,
        {"eta_u": 0.1, "eta_v": 0.1, "alpha": 0.9} | _SAMPLED,
        {"K_u": 5, "K_v": 10},
    ),
    "fedbabu": (server.FedBABU, _PERSONAL | _SAMPLED, {"K": 5, "K_v": 5}),
    "fedrod": (server.FedRoD, {"eta": 0.1} | _SAMPLED, _FIVE),
    "ditto": (server.Ditto, {"eta": 0.1, "lam": 0.75} | _SAMPLED, _FIVE),
    "dfedavgm": (gossip.DFedAvgM, _PERSONAL, _FIVE),
    "dispfl": (sparse.DisPFL, {"eta": 0.1, "sparsity": 0.5}, _FIVE),
    "dfedsam": (gossip.DFedSAM, {"eta": 0.1, "rho": 0.7}, _FIVE),
    "dfedmdc": (personalized.DFedMDC, _BLOCKS, {"K_u": 5, "K_v": 1}),
    "dfedsmdc": (personalized.DFedSMDC, _BLOCKS | {"rho": 0.7}, {"K_u": 5, "K_v": 1}),
}
_ROUNDS = {
    "dfedsam": {"cifar10": 1000, "cifar100": 1000},
    "dfedadmm": {"mnist": 300, "cifar10": 500, "cifar100": 500},
    "dfedsgpsm": {"mnist": 300, "cifar10": 500, "cifar100": 500},
    "dfedmdc": {"cifar10": 500, "cifar100": 500, "tiny_imagenet": 300},
}
_SOURCES = {
    "dfedsam": "Shi et al. 2023, section 5.1 and appendix B.3",
    "dfedadmm": "DFedADMM paper, appendix A.2",
    "dfedsgpsm": "DFedSGPSM paper, appendix A.2",
    "dfedmdc": "DFedMDC paper, section 5 and appendices B.2, B.3",
}
_ON: dict[tuple[str, str], dict[str, Any]] = {("dfedsgpsm", "cifar100"): {"alpha": 0.1}}
"""Letters that a paper changes on a data set, of the methods that have them."""
_DIRECTED = ("sgp", "osgp", "dfedsgpm", "dfedsgpsm", "dfedsgpsm-s")


def paper_setup(paper: str, method: str, dataset: str = "cifar10", pathological: bool = False) -> PaperSetup:
    """The set-up of a method in a paper's experiments (dfedsam, dfedadmm, dfedsgpsm or dfedmdc).

    ``dataset`` changes what the papers change with it (rounds; the momentum on CIFAR-100 in DFedSGPSM's);
    ``pathological``: DFedMDC's five head epochs on that partition, one otherwise.

    >>> paper_setup("dfedadmm", "dfedadmmsam").build(steps_per_epoch=4)
    DFedADMMSAM(eta=0.1, K=20, lam=0.1, rho=0.1, decay=0.998, weight_decay=0.0)
    """
    one_of("paper", paper, _TABLE)
    one_of(f"method in the {paper} paper", method, _TABLE[paper])
    one_of(f"data set in the {paper} paper", dataset, _ROUNDS[paper])
    cls, letters, epochs = _TABLE[paper][method]
    letters = letters | {name: v for name, v in _ON.get((paper, dataset), {}).items() if name in letters}
    if pathological and method in ("dfedmdc", "dfedsmdc"):
        epochs = {**epochs, "K_v": 5}
    return PaperSetup(
        paper=paper,
        method=method,
        cls=cls,
        letters=letters,
        epochs=epochs,
        rounds=_ROUNDS[paper][dataset],
        source=_SOURCES[paper],
        neighbours=10 if cls.needs_topology else None,
        gossip_directed=method in _DIRECTED,
    )


def paper_methods(paper: str) -> list[str]:
    """The methods that a paper compares."""
    one_of("paper", paper, _TABLE)
    return list(_TABLE[paper])


__all__ = ["PaperSetup", "paper_methods", "paper_setup"]
