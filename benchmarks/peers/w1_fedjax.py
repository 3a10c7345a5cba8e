"""W1 in FedJAX: federated averaging of a Haiku network, compiled by FedJAX."""

# pyright: reportMissingImports=false

import fedjax
import haiku
import jax
import jax.numpy as jnp
import work

X, y = work.data()
clients = [{"x": X[i], "y": y[i].astype("int32")} for i in range(work.CLIENTS)]
layers = ("linear", "linear_1")


def network(batch):
    return haiku.Sequential(
        [haiku.Linear(work.HIDDEN), jax.nn.relu, haiku.Linear(work.CLASSES)]
    )(batch["x"])


def loss(batch, outputs):
    return -jax.nn.log_softmax(outputs)[jnp.arange(len(batch["y"])), batch["y"]]


def mean_model():
    return [
        jax.device_get(state.params[layer][part]).T
        for layer in layers
        for part in ("w", "b")
    ]


first = {name: values[:1] for name, values in clients[0].items()}
model = fedjax.create_model_from_haiku(haiku.transform(network), first, train_loss=loss)
algorithm = fedjax.algorithms.fed_avg.federated_averaging(
    fedjax.model_grad(model),
    fedjax.optimizers.sgd(work.ETA),
    fedjax.optimizers.sgd(1.0),
    fedjax.ShuffleRepeatBatchHParams(batch_size=work.BATCH, num_steps=work.STEPS),
)
W1, b1, W2, b2 = work.start()
state = algorithm.init(
    {"linear": {"w": W1.T, "b": b1}, "linear_1": {"w": W2.T, "b": b2}}
)
data = [
    (str(i).encode(), fedjax.ClientDataset(examples), jax.random.PRNGKey(i))
    for i, examples in enumerate(clients)
]
for _ in work.turns(mean_model):
    state, _ = algorithm.apply(state, data)
    jax.block_until_ready(state.params)
