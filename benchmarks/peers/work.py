"""The workload W1 for all libraries: data, start, loss and timing, in numpy only.

The scripts here run in a library's own Python, which does not have ``dfltheory``.
``python -m benchmarks.peers`` uses the same data and start, so that the losses of both
sides can be compared.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

CLIENTS, SAMPLES, FEATURES, HIDDEN, CLASSES = 100, 100, 784, 64, 10
STEPS, BATCH, ETA = 5, 20, 0.1


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return normal inputs X (clients, samples, features) and learnable labels y.

    A label is the index of the largest of ten linear functions of the input.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(CLIENTS, SAMPLES, FEATURES)).astype(np.float32)
    return X, (X @ rng.normal(size=(FEATURES, CLASSES))).argmax(-1)


def start() -> list[np.ndarray]:
    """Return weight (out, in) and bias of both layers, uniform within 1/sqrt(in).

    This is the usual initialization of linear layers.
    """
    rng = np.random.default_rng(1)
    layers = [(HIDDEN, FEATURES), (CLASSES, HIDDEN)]
    return [
        rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(fan))
        for out, fan in layers
        for shape in ((out, fan), (out,))
    ]


def module():
    """Return the MLP with the common start, for libraries that train torch modules."""
    import torch
    from torch import nn

    layers = nn.Sequential(
        nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES)
    )
    with torch.no_grad():
        for parameter, values in zip(layers.parameters(), start()):
            parameter.copy_(torch.from_numpy(values))
    return layers


def load_torchvision() -> None:
    """Import torchvision even if its compiled operators cannot be loaded.

    The wheel from PyPI is built for CUDA. With a CPU build of torch, its compiled
    operators do not load, and its import fails because two of them are undefined. They
    are declared here without an implementation. Some libraries import torchvision for
    data sets and models that W1 does not use; no operator is ever called.
    """
    from torch import library

    try:
        import torchvision  # pyright: ignore[reportMissingImports]
    except RuntimeError:
        for name in ("nms", "qnms"):
            library.define(
                f"torchvision::{name}",
                "(Tensor dets, Tensor scores, float threshold) -> Tensor",
            )
        import torchvision  # noqa: F401  # pyright: ignore[reportMissingImports]


def loss(parameters: list[np.ndarray], X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean cross-entropy over the data of all clients."""
    W1, b1, W2, b2 = parameters
    scores = np.maximum(X.reshape(-1, FEATURES) @ W1.T + b1, 0) @ W2.T + b2
    scores = scores - scores.max(1, keepdims=True)
    right = np.take_along_axis(scores, y.reshape(-1, 1), 1)[:, 0]
    return float((np.log(np.exp(scores).sum(1)) - right).mean())


def turns(parameters: Callable[[], list[np.ndarray]]) -> Iterator[None]:
    """Yield once per line on stdin, and print the CPU seconds that the caller spends.

    The caller performs one round per turn. At the end, the losses at the start and at
    ``parameters()``, the mean of the clients' models, are printed. Output of the
    library itself is discarded.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    X, y = data()
    for _ in sys.stdin:
        began = time.process_time()
        yield
        print(time.process_time() - began, file=answers, flush=True)
    print(loss(start(), X, y), loss(parameters(), X, y), file=answers, flush=True)
