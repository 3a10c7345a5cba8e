"""W1 in pfl-research: federated averaging of a PyTorch model on the simulated backend.

It reads data sets in order and splits them into batches once, so its times include no
shuffling.
"""

# pyright: reportMissingImports=false

from dataclasses import replace

import torch
import work
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data import FederatedDataset, get_user_sampler
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Weighted
from pfl.model.pytorch import PyTorchModel
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = work.module()

    def loss(self, x, y):
        return nn.functional.cross_entropy(self.layers(x), y)

    @torch.no_grad()
    def metrics(self, x, y):
        return {"loss": Weighted(self.loss(x, y).item() * len(y), len(y))}


torch.set_num_threads(1)
X, y = map(torch.from_numpy, work.data())
users = [
    PyTorchTensorDataset((X[i], y[i]), user_id=str(i)) for i in range(work.CLIENTS)
]
all_users = get_user_sampler("minimize_reuse", list(range(work.CLIENTS)))
population = FederatedDataset(users.__getitem__, all_users)
network = Network()
model = PyTorchModel(
    network, torch.optim.SGD, torch.optim.SGD(network.parameters(), lr=1.0)
)
backend = SimulatedBackend(training_data=population, val_data=population)
algorithm = FederatedAveraging()
rounds = NNAlgorithmParams(
    central_num_iterations=0,
    evaluation_frequency=10**9,  # only in the very first round
    train_cohort_size=work.CLIENTS,
    val_cohort_size=None,
)
local = NNTrainHyperParams(
    local_num_epochs=None,
    local_num_steps=work.STEPS,
    local_learning_rate=work.ETA,
    local_batch_size=work.BATCH,
)
for _ in work.turns(lambda: [p.detach().numpy() for p in network.parameters()]):
    rounds = replace(rounds, central_num_iterations=rounds.central_num_iterations + 1)
    algorithm.run(rounds, backend, model, local, send_metrics_to_platform=False)
