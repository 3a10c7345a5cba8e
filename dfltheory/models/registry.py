"""Models by the names that the command line and experiment files use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from torch import nn

from dfltheory.errors import InputError, checked_name
from dfltheory.models import convolutional, dense


def _make_mlp(inputs: int, classes: int) -> nn.Module:
    """Return the default ``mlp``: one hidden layer of 64 units."""
    return dense.mlp(inputs, (64,), classes)


def _make_resnet18(classes: int, channels: int, size: int) -> nn.Module:
    """Return ``resnet18``, which accepts images of any size."""
    return convolutional.resnet18(classes, channels)


_DENSE: dict[str, Callable[[int, int], nn.Module]] = {
    "softmax": dense.softmax_regression,
    "mlp": _make_mlp,
    "mnist_2nn": dense.mnist_2nn,
}
"""Functions of (number of features, number of classes)."""
_CONVOLUTIONAL: dict[str, Callable[[int, int, int], nn.Module]] = {
    "cifar_cnn": convolutional.cifar_cnn,
    "vgg11": convolutional.vgg11,
    "resnet18": _make_resnet18,
}
"""Functions of (number of classes, number of channels, height and width)."""


def names() -> list[str]:
    """Return the names that :func:`get` accepts, sorted."""
    return sorted([*_DENSE, *_CONVOLUTIONAL])


def get(name: str, shape: Sequence[int] = (3, 32, 32), classes: int = 10) -> nn.Module:
    """Return a new, randomly initialized model for inputs of a given shape.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    shape : sequence of int
        Shape of one input without the batch axis: (features,) or
        (channels, height, width).
    classes : int
        Number of classes.

    Returns
    -------
    torch.nn.Module
        The model with torch's default initialization.

    Raises
    ------
    UnknownNameError
        If no model has this name.
    InputError
        If the model takes square images and ``shape`` is not
        (channels, side, side).
    """
    if name in _DENSE:
        return _DENSE[name](prod(shape), classes)
    checked_name("model", name, names())
    if len(shape) != 3 or shape[1] != shape[2]:
        raise InputError(
            f"shape = {tuple(shape)}: {name} takes square images (channels, side, side)"
        )
    return _CONVOLUTIONAL[name](classes, shape[0], shape[1])
