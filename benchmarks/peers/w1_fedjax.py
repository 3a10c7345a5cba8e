"""W1 in FedJAX: one round of federated averaging for every line on stdin, its CPU seconds on stdout."""

import sys
import time

import fedjax
import haiku
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)
clients = [
    {"x": rng.normal(size=(100, 784)).astype(np.float32), "y": rng.integers(10, size=100).astype(np.int32)}
    for _ in range(100)
]


def network(batch):
    return haiku.Sequential([haiku.Linear(64), jax.nn.relu, haiku.Linear(10)])(batch["x"])


def loss(batch, outputs):
    return -jax.nn.log_softmax(outputs)[jnp.arange(len(batch["y"])), batch["y"]]


first = {name: values[:1] for name, values in clients[0].items()}
model = fedjax.create_model_from_haiku(haiku.transform(network), first, train_loss=loss)
algorithm = fedjax.algorithms.fed_avg.federated_averaging(
    fedjax.model_grad(model),
    fedjax.optimizers.sgd(0.1),
    fedjax.optimizers.sgd(1.0),
    fedjax.ShuffleRepeatBatchHParams(batch_size=20, num_steps=5),
)
state = algorithm.init(model.init(jax.random.PRNGKey(0)))
data = [
    (str(i).encode(), fedjax.ClientDataset(examples), jax.random.PRNGKey(i))
    for i, examples in enumerate(clients)
]
for _ in sys.stdin:
    start = time.process_time()
    state, _ = algorithm.apply(state, data)
    jax.block_until_ready(state.params)
    print(time.process_time() - start, flush=True)
