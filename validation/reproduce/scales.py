"""Sizes at which a table is run: the paper's size, and reduced ones.

The fields of a scale contain everything that it changes, and :meth:`Scale.reductions`
describes these changes. A scale does not change the method: update rules, step sizes,
momentum, penalty, decay and local epochs, so that a client's local work is that of the
paper, on fewer images. SAM's radius is a distance in parameter space; if the network
differs, it is scaled by the norms of the initial parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import nn

PAPERS_CLIENTS = 100


@dataclass(frozen=True)
class DataScale:
    """Size of one image set.

    Attributes
    ----------
    clients : number of clients in place of the paper's 100
    images : training images per client; None for all
    batch : minibatch size
    rounds, model : None for the paper's
    tests : number of test images; None for all
    """

    clients: int = PAPERS_CLIENTS
    images: int | None = None
    batch: int = 128
    rounds: int | None = None
    model: str | None = None
    tests: int | None = None


@dataclass(frozen=True)
class Scale:
    """The size of each image set, and the number of measurements in a run."""

    name: str
    measurements: int
    data: Mapping[str, DataScale] = field(default_factory=dict)

    def of(self, dataset: str) -> DataScale:
        """Return the size of an image set, by its name."""
        return self.data.get(dataset, DataScale())

    def scaled(self, count: int, dataset: str) -> int:
        """Scale a number of the paper's 100 clients to ours; at least 1."""
        return max(1, round(count * self.of(dataset).clients / PAPERS_CLIENTS))

    def reductions(
        self, dataset: str, rounds: int, model: str, clients: int = PAPERS_CLIENTS
    ) -> list[str]:
        """Describe the changes from the paper; empty at full scale."""
        size, lines = self.of(dataset), []
        if size.clients != PAPERS_CLIENTS:
            lines.append(
                f"{self.scaled(clients, dataset)} clients for the paper's {clients}"
            )
            lines.append(
                f"servers sample {self.scaled(10, dataset)} clients for its 10"
            )
            lines.append(
                "random neighbors are the paper's 10, of"
                f" {self.scaled(clients, dataset) - 1} others"
            )
        if size.rounds is not None:
            lines.append(f"{size.rounds} rounds for its {rounds}")
        if size.images is not None:
            batches = ""
            if size.batch != 128:
                batches = f", minibatches of {size.batch} for its 128"
            lines.append(f"{size.images} training images a client{batches}")
        if size.tests is not None:
            lines.append(f"{size.tests} test images")
        if size.model is not None and size.model != model:
            lines.append(f"the network {size.model} for its {model}")
            lines.append(
                "SAM radii scaled by the two networks' initial norms, as large relative"
                " to the weights"
            )
        return lines


FULL = Scale("full", measurements=50)
# as many images per client as in the paper
_DENSE = DataScale(clients=16, images=600, rounds=20)
_COLOUR = DataScale(
    clients=16, images=200, batch=50, rounds=15, model="pooled_cnn", tests=4000
)
# 20 clients with 5 classes each, as in the papers, cover all 100 classes
_MANY = replace(_COLOUR, clients=20)
SMALL = Scale(
    "small",
    measurements=5,
    data={
        "mnist": _DENSE,
        "fashion_mnist": _DENSE,
        "cifar10": _COLOUR,
        "cifar100": _MANY,
        "tiny_imagenet": _MANY,
    },
)
_LEAST = DataScale(clients=8, images=20, batch=10, rounds=2, model="softmax", tests=40)
TINY = Scale(
    "tiny",
    measurements=2,
    data={
        **dict.fromkeys(SMALL.data, _LEAST),
        "cifar100": replace(_LEAST, clients=20),
        "tiny_imagenet": replace(_LEAST, clients=20),
    },
)
"""A smoke test, whose results say nothing about the methods."""

SCALES = {scale.name: scale for scale in (FULL, SMALL, TINY)}


def pooled_cnn(channels: int, side: int, classes: int) -> nn.Module:
    """Return a small convolutional network for runs on CPUs.

    It halves the resolution of the images, and has two 3 x 3 convolutions with 16 and
    32 channels, group norm (as in the papers' deep networks) and pooling, and a linear
    classifier. For 3 x 32 x 32 images and 10 classes it has 10,314 parameters.
    """
    side_after_pooling = side // 8
    return nn.Sequential(
        nn.AvgPool2d(2),
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.GroupNorm(8, 32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * side_after_pooling**2, classes),
    )
