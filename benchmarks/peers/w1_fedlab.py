"""W1 in FedLab: its standalone pipeline of federated averaging with all clients."""

# pyright: reportMissingImports=false
# ruff: noqa: E402

import torch
import work

work.load_torchvision()  # before the peer does

from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.contrib.dataset.basic_dataset import FedDataset
from fedlab.core.standalone import StandalonePipeline
from torch.utils.data import DataLoader, TensorDataset


class Clients(FedDataset):
    def __init__(self):
        super().__init__()
        self.num = work.CLIENTS
        self.sets = [
            TensorDataset(*client)
            for client in zip(*map(torch.from_numpy, work.data()))
        ]

    def get_dataset(self, id, type="train"):
        return self.sets[id]

    def get_dataloader(self, id, batch_size, type="train"):
        return DataLoader(self.sets[id], batch_size=batch_size, shuffle=True)


class Pipeline(StandalonePipeline):
    def evaluate(self):
        """Do nothing; a round of W1 has no evaluation."""


torch.set_num_threads(1)
torch.manual_seed(0)
server = SyncServerHandler(work.module(), global_round=0, sample_ratio=1.0)
trainer = SGDSerialClientTrainer(work.module(), work.CLIENTS)
trainer.setup_dataset(Clients())
trainer.setup_optim(epochs=1, batch_size=work.BATCH, lr=work.ETA)
pipeline = Pipeline(server, trainer)
for _ in work.turns(lambda: [p.detach().numpy() for p in server.model.parameters()]):
    server.global_round += 1
    pipeline.main()
