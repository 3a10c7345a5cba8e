"""The papers' networks, and how a network divides into a shared body and a personal head.

>>> module = get("cifar_cnn")
>>> split(module).head
('head.weight', 'head.bias')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfltheory.models.convolutional import cifar_cnn, resnet18, vgg11
    from dfltheory.models.dense import mlp, mnist_2nn, softmax_regression
    from dfltheory.models.parts import Split, split
    from dfltheory.models.registry import get, names

_NAMES = {
    "softmax_regression": "dense",
    "mlp": "dense",
    "mnist_2nn": "dense",
    "cifar_cnn": "convolutional",
    "vgg11": "convolutional",
    "resnet18": "convolutional",
    "Split": "parts",
    "split": "parts",
    "get": "registry",
    "names": "registry",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"dfltheory.models.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'dfltheory.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_NAMES)


__all__ = [
    "Split",
    "cifar_cnn",
    "get",
    "mlp",
    "mnist_2nn",
    "names",
    "resnet18",
    "softmax_regression",
    "split",
    "vgg11",
]
