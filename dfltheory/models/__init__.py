"""Neural networks of the papers, and the split into a shared body and a personal head.

>>> module = get("cifar_cnn")
>>> split(module).head
('head.weight', 'head.bias')
"""

from dfltheory.models.convolutional import cifar_cnn, resnet18, vgg11
from dfltheory.models.dense import mlp, mnist_2nn, softmax_regression
from dfltheory.models.parts import Split, split
from dfltheory.models.registry import get, names

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
