"""Networks of linear layers: inputs of any shape are flattened; the last layer is called ``head``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from dfltheory.errors import InputError


def softmax_regression(inputs: int = 784, classes: int = 10) -> nn.Sequential:
    """Logits W x + c: multinomial logistic regression under the cross-entropy. d = (inputs + 1) classes."""
    return mlp(inputs, (), classes)


def mlp(inputs: int = 784, hidden: Sequence[int] = (64,), classes: int = 10) -> nn.Sequential:
    """inputs - hidden[0] - ... - classes with ReLU between."""
    widths = [inputs, *hidden, classes]
    if any(not isinstance(w, int) or w < 1 for w in widths):
        raise InputError(f"layer widths must be whole numbers >= 1, not {widths}")
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    for k, (a, b) in enumerate(pairwise(widths[:-1]), start=1):
        layers[f"hidden{k}"] = nn.Linear(a, b)
        layers[f"relu{k}"] = nn.ReLU()
    layers["head"] = nn.Linear(widths[-2], classes)
    return nn.Sequential(layers)


def mnist_2nn(inputs: int = 784, classes: int = 10) -> nn.Sequential:
    """784 - 200 - 200 - 10, 199210 parameters: the papers' network for MNIST.   [McMahan et al. 2017]"""
    return mlp(inputs, (200, 200), classes)
