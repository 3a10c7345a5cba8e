"""W1 in gossipy: every node of a ring sends its model to a neighbour.

The neighbour averages and trains for an epoch. Gossipy has no synchronous round with
all neighbours. In one of its rounds, as many models are sent and as many epochs of five
batches are trained as there are clients, but not always one per client.
"""

# pyright: reportMissingImports=false
# ruff: noqa: E402

import random

import numpy as np
import torch
import work

work.load_torchvision()  # before the peer does

from gossipy.core import AntiEntropyProtocol, CreateModelMode, StaticP2PNetwork
from gossipy.data import DataDispatcher
from gossipy.data.handler import ClassificationDataHandler
from gossipy.model import TorchModel
from gossipy.model.handler import TorchModelHandler
from gossipy.node import GossipNode
from gossipy.simul import GossipSimulator


class Network(TorchModel):
    def __init__(self):
        super().__init__()
        self.layers = work.module()

    def init_weights(self):
        """Keep the parameters, so that all nodes start at the same point."""

    def forward(self, x):
        return self.layers(x)


torch.set_num_threads(1)
for seed in (torch.manual_seed, np.random.seed, random.seed):
    seed(0)
m, n = work.CLIENTS, work.SAMPLES
X, y = map(torch.from_numpy, work.data())
dispatcher = DataDispatcher(
    ClassificationDataHandler(X.flatten(0, 1), y.flatten(), test_size=0),
    n=m,
    eval_on_user=False,
    auto_assign=False,
)
dispatcher.set_assignments(np.arange(m * n).reshape(m, n).tolist(), None)
ring = np.roll(np.eye(m), 1, 0) + np.roll(np.eye(m), -1, 0)
handler = TorchModelHandler(
    net=Network(),
    optimizer=torch.optim.SGD,
    optimizer_params={"lr": work.ETA},
    criterion=torch.nn.CrossEntropyLoss(),
    local_epochs=1,
    batch_size=work.BATCH,
    create_model_mode=CreateModelMode.MERGE_UPDATE,
)
nodes = GossipNode.generate(
    dispatcher, StaticP2PNetwork(m, ring), handler, round_len=m, sync=True
)
simulator = GossipSimulator(
    nodes, dispatcher, delta=m, protocol=AntiEntropyProtocol.PUSH
)
simulator.init_nodes()  # trains one epoch, before any turn


def mean_model():
    models = [list(node.model_handler.model.parameters()) for node in nodes.values()]
    return [torch.stack(values).mean(0).detach().numpy() for values in zip(*models)]


for _ in work.turns(mean_model):
    simulator.start(n_rounds=1)
