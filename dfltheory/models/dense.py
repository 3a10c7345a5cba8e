"""Fully connected networks.

Inputs of any shape are flattened. The last layer is called ``head``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from dfltheory.errors import InputError


def softmax_regression(inputs: int = 784, classes: int = 10) -> nn.Sequential:
    """Return one linear layer: with the cross-entropy, multinomial logistic regression.

    Parameters
    ----------
    inputs : int
        Number of features.
    classes : int
        Number of classes.

    Returns
    -------
    torch.nn.Sequential
        Maps (batch, ...) to logits W x + c (batch, classes), with (inputs + 1) *
        classes parameters.
    """
    return mlp(inputs, (), classes)


def mlp(
    inputs: int = 784, hidden: Sequence[int] = (64,), classes: int = 10
) -> nn.Sequential:
    """Return a network with layers inputs - hidden[0] - ... - classes and ReLU.

    Parameters
    ----------
    inputs : int
        Number of features.
    hidden : sequence of int
        Widths of the hidden layers.
    classes : int
        Number of classes.

    Returns
    -------
    torch.nn.Sequential
        Maps (batch, ...) to logits (batch, classes).

    Raises
    ------
    InputError
        If a width is not an integer >= 1.
    """
    widths = [inputs, *hidden, classes]
    for width in widths:
        if not isinstance(width, int) or width < 1:
            raise InputError(
                f"widths = {widths}: every layer width must be an integer >= 1"
            )
    layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
    for index, (width, out) in enumerate(pairwise(widths[:-1]), start=1):
        layers[f"hidden{index}"] = nn.Linear(width, out)
        layers[f"relu{index}"] = nn.ReLU()
    layers["head"] = nn.Linear(widths[-2], classes)
    return nn.Sequential(layers)


def mnist_2nn(inputs: int = 784, classes: int = 10) -> nn.Sequential:
    """Return the papers' network for MNIST: 784 - 200 - 200 - 10, 199210 parameters.

    Parameters
    ----------
    inputs : int
        Number of features.
    classes : int
        Number of classes.

    Returns
    -------
    torch.nn.Sequential
        Maps (batch, ...) to logits (batch, classes).

    References
    ----------
    McMahan et al. (2017).
    """
    return mlp(inputs, (200, 200), classes)
