"""W1 in fluke: FedAVG over 100 clients, one epoch of five batches, no evaluations."""

# pyright: reportMissingImports=false
# ruff: noqa: E402

import torch
import work

work.load_torchvision()  # before the peer does

from fluke import DDict, FlukeENV
from fluke.algorithms.fedavg import FedAVG
from fluke.data import DataSplitter, DummyDataContainer, FastDataLoader
from fluke.server import EarlyStopping
from fluke.utils import FederationObserver

torch.set_num_threads(1)
settings = FlukeENV()
settings.set_seed(0)
settings.set_device("cpu")
settings.set_inmemory(True)
settings.set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=False)

X, y = map(torch.from_numpy, work.data())
loaders = [
    FastDataLoader(
        X[i], y[i], num_labels=work.CLASSES, batch_size=work.BATCH, shuffle=True
    )
    for i in range(work.CLIENTS)
]
container = DummyDataContainer(loaders, [None] * work.CLIENTS, None, work.CLASSES)
network = work.module()
algorithm = FedAVG(
    work.CLIENTS,
    DataSplitter(container),
    DDict(
        model=network,
        server=DDict(weighted=False),
        client=DDict(
            batch_size=work.BATCH,
            local_epochs=1,
            loss="CrossEntropyLoss",
            optimizer=DDict(name="SGD", lr=work.ETA),
            scheduler=DDict(name="StepLR", step_size=1, gamma=1),
        ),
    ),
)


class EachRound(FederationObserver):
    """A callback that takes the turns between the rounds of one long run.

    A separate run for each round would do additional work at its end.
    """

    def __init__(self):
        self.turns = work.turns(
            lambda: [p.detach().numpy() for p in algorithm.server.model.parameters()]
        )
        next(self.turns)

    def end_round(self, round):
        if next(self.turns, "no more") == "no more":
            raise EarlyStopping(round)


algorithm.set_callbacks(EachRound())
algorithm.run(10**6, 1.0)
