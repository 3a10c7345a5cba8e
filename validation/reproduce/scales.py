"""Sizes at which a table is run: the paper's own, and reduced ones.

Everything that a scale changes is in its fields, and :meth:`Scale.reductions` says it
in words. What it does not change is the method: update rules, step sizes, momentum,
penalty, decay, and local epochs, so that a client's round is the paper's on fewer
images. SAM's radius is a length among the parameters: with another network it is scaled
to be as large relative to the initial ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import nn

PAPERS_CLIENTS = 100


@dataclass(frozen=True)
class DataScale:
    """Size of one image set.

    ``clients`` for the paper's 100, ``images`` a client (None: all are divided),
    ``batch``, ``rounds`` and ``model`` (None: the paper's), ``tests`` test images
    (None: all).
    """

    clients: int = PAPERS_CLIENTS
    images: int | None = None
    batch: int = 128
    rounds: int | None = None
    model: str | None = None
    tests: int | None = None


@dataclass(frozen=True)
class Scale:
    """What becomes of each image set, and how often a run is measured."""

    name: str
    measurements: int
    data: Mapping[str, DataScale] = field(default_factory=dict)

    def of(self, dataset: str) -> DataScale:
        """Return the size of an image set, by its name."""
        return self.data.get(dataset, DataScale())

    def scaled(self, count: int, dataset: str) -> int:
        """So many of the paper's 100 clients, among ours: at least one."""
        return max(1, round(count * self.of(dataset).clients / PAPERS_CLIENTS))

    def reductions(
        self, dataset: str, rounds: int, model: str, clients: int = PAPERS_CLIENTS
    ) -> list[str]:
        """Return the changes from the paper as texts; none at full scale."""
        own, lines = self.of(dataset), []
        if own.clients != PAPERS_CLIENTS:
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
        if own.rounds is not None:
            lines.append(f"{own.rounds} rounds for its {rounds}")
        if own.images is not None:
            batches = (
                "" if own.batch == 128 else f", minibatches of {own.batch} for its 128"
            )
            lines.append(f"{own.images} training images a client{batches}")
        if own.tests is not None:
            lines.append(f"{own.tests} test images")
        if own.model is not None and own.model != model:
            lines.append(f"the network {own.model} for its {model}")
            lines.append(
                "SAM radii scaled by the two networks' initial norms, as large relative"
                " to the weights"
            )
        return lines


FULL = Scale("full", measurements=50)
# a client has as much as in the paper
_DENSE = DataScale(clients=16, images=600, rounds=20)
_COLOUR = DataScale(
    clients=16, images=200, batch=50, rounds=15, model="pooled_cnn", tests=4000
)
# 20 clients with the papers' 5 of 100 classes hold them all
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
"""For trying the machinery: it shows nothing of a method."""

SCALES = {scale.name: scale for scale in (FULL, SMALL, TINY)}


def pooled_cnn(channels: int, side: int, classes: int) -> nn.Module:
    """Return a small convolutional network for runs on processors.

    Color images at half their resolution, two 3 x 3 convolutions of 16 and 32 channels
    with group norm (as the papers' deep networks have it) and pooling, and a linear
    classifier. For 3 x 32 x 32 images and 10 classes it has 10,314 parameters.
    """
    left = side // 8
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
        nn.Linear(32 * left * left, classes),
    )
