"""Models by name, as the command line and experiment files call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from torch import nn

from dfltheory.errors import InputError, one_of
from dfltheory.models import convolutional, dense

_DENSE: dict[str, Callable[[int, int], nn.Module]] = {
    "softmax": dense.softmax_regression,
    "mlp": lambda inputs, classes: dense.mlp(inputs, (64,), classes),
    "mnist_2nn": dense.mnist_2nn,
}
_CONVOLUTIONAL: dict[str, Callable[[int, int, int], nn.Module]] = {
    "cifar_cnn": convolutional.cifar_cnn,
    "vgg11": convolutional.vgg11,
    "resnet18": lambda classes, channels, _: convolutional.resnet18(classes, channels),
}


def names() -> list[str]:
    """The names that :func:`get` knows."""
    return sorted([*_DENSE, *_CONVOLUTIONAL])


def get(name: str, shape: Sequence[int] = (3, 32, 32), classes: int = 10) -> nn.Module:
    """A new module of that name for inputs of a shape, randomly initialized as torch does.

    ``shape``: of one input without the batch, (features,) or (channels, height, width).
    """
    if name in _DENSE:
        return _DENSE[name](prod(shape), classes)
    one_of("model", name, names())
    if len(shape) != 3 or shape[1] != shape[2]:
        raise InputError(
            f"{name} takes square images (channels, side, side), not inputs of shape {tuple(shape)}"
        )
    return _CONVOLUTIONAL[name](classes, shape[0], shape[1])
