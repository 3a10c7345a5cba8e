"""Small runs with different algorithms, tasks and networks: name -> arguments."""

import numpy as np
import torch
from torch import nn

import dfltheory.algorithms as alg
from dfltheory import graphs, tasks
from dfltheory.tasks.supervised import Supervised
from tests.algorithms import user_algorithms as own


class Pieces(Supervised):
    """Clients work one at a time, as with large models."""

    def chunk(self, seeds):
        return 1


def directed(m):
    P = (
        np.eye(m)
        + np.eye(m)[[*range(1, m), 0]]
        + (np.random.default_rng(1).random((m, m)) < 0.4)
    )
    return P / P.sum(axis=0)


def images(kind=Supervised, drop=0.0, **options):
    rng = np.random.default_rng(0)
    clients = [
        (rng.normal(size=(n, 6)), rng.integers(3, size=n)) for n in (5, 8, 6, 7, 9)
    ]
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(6, 4),
        nn.ReLU(),
        *([nn.Dropout(drop)] if drop else []),
        nn.Linear(4, 3),
    )
    return kind(module, clients, batch=3, dtype=torch.float64, test=clients, **options)


def quadratic(m=5, **options):
    return tasks.quadratic(m=m, d=4, sigma=0.4, zeta=1.0, seed=2, **options)


CASES = {
    "dfedsam-mgs": lambda: {
        "algorithm": alg.DFedSAM(eta=0.1, K=2, rho=0.1, Q=2),
        "task": quadratic(),
        "topology": graphs.ring(5),
        "rounds": 4,
        "seeds": 2,
    },
    "sparse": lambda: {
        "algorithm": alg.DFedSAM(eta=0.1, K=1, Q=2),
        "task": quadratic(m=101),
        "topology": graphs.ring(101),
        "rounds": 3,
        "evaluate_every": 2,
    },
    "push-sum": lambda: {
        "algorithm": alg.DFedSGPSM(eta=0.1, K=2, alpha=0.5, rho=0.1),
        "task": images(sampling="epochs"),
        "topology": directed(5),
        "rounds": 4,
        "seeds": 2,
    },
    "dropout": lambda: {
        "algorithm": alg.DFedSAM(eta=0.1, K=2, rho=0.1),
        "task": images(drop=0.4),
        "topology": graphs.ring(5),
        "rounds": 4,
        "seeds": 2,
    },
    "two-blocks": lambda: {
        "algorithm": alg.DFedSMDC(eta_u=0.1, eta_v=0.2, K_u=2, K_v=1, rho=0.1),
        "task": images(),
        "topology": graphs.complete(5),
        "rounds": 4,
    },
    "dispfl": lambda: {
        "algorithm": alg.DisPFL(eta=0.1, K=2),
        "task": images(),
        "topology": graphs.ring(5),
        "rounds": 4,
    },
    "pieces": lambda: {
        "algorithm": alg.DFedSAM(eta=0.1, K=2, rho=0.1),
        "task": images(Pieces),
        "topology": graphs.ring(5),
        "rounds": 4,
        "seeds": 2,
    },
    "pieces-and-duals": lambda: {
        "algorithm": alg.DFedADMM(eta=0.1, K=2, lam=1.0),
        "task": images(Pieces),
        "topology": graphs.ring(5),
        "rounds": 4,
    },
    "server": lambda: {
        "algorithm": alg.FedRoD(eta=0.1, K=2, participation=0.4),
        "task": images(),
        "rounds": 4,
        "seeds": 2,
    },
    "push-pull": lambda: {
        "algorithm": alg.PushPull(0.1),
        "task": quadratic(),
        "topology": {"W": directed(5).T, "B": directed(5)},
        "rounds": 4,
        "seeds": 2,
    },
    "edge-duals": lambda: {
        "algorithm": own.EdgeADMM(0.1),
        "task": images(Pieces),
        "topology": graphs.star(5),
        "rounds": 4,
        "seeds": 2,
    },
    "pairs": lambda: {
        "algorithm": own.ADPSGD(0.1),
        "task": images(),
        "topology": graphs.RandomMatching(5),
        "rounds": 4,
        "seeds": 2,
    },
    "compressed": lambda: {
        "algorithm": own.RandomChoco(0.1),
        "task": quadratic(),
        "topology": graphs.ring(5),
        "rounds": 4,
        "seeds": 2,
    },
    "twice": lambda: {
        "algorithm": own.MixesTwice(),
        "task": quadratic(),
        "topology": graphs.RandomMatching(5),
        "rounds": 3,
    },
    "fine-tuned": lambda: {
        "algorithm": alg.FedBABU(eta=0.1, K=2, K_v=2),
        "task": images(),
        "rounds": 3,
    },
}
