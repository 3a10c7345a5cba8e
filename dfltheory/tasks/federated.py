"""Federated tasks of real image sets: load, partition, and select a network."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from dfltheory import models
from dfltheory.errors import InputError, checked_name, whole_number
from dfltheory.identity import value_digest
from dfltheory.number_ranges import (
    NonnegativeFloat,
    NonnegativeInt,
    PositiveFloat,
    PositiveInt,
)
from dfltheory.tasks import estimate
from dfltheory.tasks.data_sets import Examples
from dfltheory.tasks.images import ImageSet, Normalize, load_images
from dfltheory.tasks.partition import PartitionKind, partition_labels
from dfltheory.tasks.supervised import Supervised

_DEFAULT_MODEL = {
    "mnist": "mnist_2nn",
    "fashion_mnist": "mnist_2nn",
    "cifar10": "cifar_cnn",
    "cifar100": "resnet18",
    "tiny_imagenet": "resnet18",
}
"""Default network of each image set, as in the papers; ``softmax`` for others.
"""

_LARGE = 10**8
"""Number of training pixels above which images are stored as bytes until used."""


def image_task(
    name: str | ImageSet,
    m: PositiveInt = 10,
    model: str | nn.Module | None = None,
    partition: PartitionKind = "iid",
    alpha: PositiveFloat = 0.3,
    classes_per_client: PositiveInt = 2,
    batch: PositiveInt | None = 20,
    seed: NonnegativeInt = 0,
    *,
    data_root: str | os.PathLike[str] | None = None,
    test: Literal["all", "own"] = "all",
    examples: PositiveInt | None = None,
    test_examples: PositiveInt | None = None,
    personal: str | Sequence[str] | None = None,
    weight_decay: NonnegativeFloat = 0.0,
    sampling: Literal["iid", "epochs"] = "iid",
    weights: Literal["uniform", "sizes"] = "uniform",
    start: Literal["module", "fresh"] = "module",
    strategy: str = "auto",
    dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
) -> Supervised:
    """Return the task of training a network on an image set divided over m clients.

    Parameters
    ----------
    name : str or ImageSet
        Name of an image set (see :data:`dfltheory.tasks.images.NAMES`), or your own
        images, of any size and number of classes.
    m : int
        Number of clients.
    model : str or Module, optional
        A name of :func:`dfltheory.models.names`, or any module. By default the network
        of the papers.
    partition : {"iid", "dirichlet", "dirichlet_by_image", "shards"}
        How images are divided over the clients, see :func:`.partition_labels`.
    alpha : float
        Parameter of the Dirichlet partitions.
    classes_per_client : int
        Number of labels of each client for the partition ``shards``.
    batch : int or None
        Number of examples per minibatch; None for all of a client's examples.
    seed : int
        Seed of the partition, of the network's initial parameters, and of the choice of
        ``examples``.
    data_root : path, optional
        Folder of the official files. By default $DFLTHEORY_DATA_ROOT, or else the
        user's cache folder.
    test : {"all", "own"}
        Whether to measure accuracy on all of the test set, or on each client's own
        part, which has the label distribution of its training data.
    examples, test_examples : int, optional
        Size of a random subset of the training and test images, for quick experiments.
    personal, weight_decay, sampling, weights, start, strategy, dtype, device
        See :class:`Supervised`.

    Returns
    -------
    Supervised
        Constants that are not proved are estimated only for ``digits``.

    Raises
    ------
    InputError
        If an argument is out of range, or the images cannot be divided in this way.
    DataError
        If an official file is missing or damaged.

    Notes
    -----
    The loss is the cross-entropy. Each channel is normalized by its mean and standard
    deviation over the training set.
    """
    all_images = load_images(name, data_root) if isinstance(name, str) else name
    images = _random_subset(all_images, examples, test_examples, seed)
    parts = partition_labels(
        images.train_y,
        m,
        partition,
        alpha=alpha,
        classes_per_client=classes_per_client,
        seed=seed,
        test_labels=images.test_y,
    )
    as_bytes = images.train_x.nbytes > _LARGE
    to_tensor = torch.from_numpy if as_bytes else images.normalized

    def pairs(
        x: np.ndarray, y: np.ndarray, client_indices: Sequence[np.ndarray]
    ) -> list[Examples]:
        """Return each client's images and labels."""
        return [(to_tensor(x[indices]), y[indices]) for indices in client_indices]

    test_sets: Examples | list[Examples]
    if checked_name("choice of test sets", test, {"all", "own"}) == "all":
        # torch warns of arrays that are not writable, such as those read from a file
        test_x = np.require(images.test_x, requirements="W")
        test_sets = to_tensor(test_x), images.test_y
    else:
        test_sets = pairs(images.test_x, images.test_y, parts.test)
    return Supervised(
        _network(images, model, seed),
        pairs(images.train_x, images.train_y, parts.train),
        batch,
        test=test_sets,
        preprocess=Normalize(images) if as_bytes else None,
        personal=personal,
        weight_decay=weight_decay,
        sampling=sampling,
        weights=weights,
        start=start,
        strategy=strategy,
        dtype=dtype,
        device=device,
        constants=estimate.piloted if images.name == "digits" else None,
        name=images.name,
    )


def digits(
    m: int = 10,
    model: str | nn.Module | None = None,
    partition: PartitionKind = "iid",
    **options: Any,
) -> Supervised:
    """Return the task of the bundled handwritten digits, divided over m clients.

    These are 1442 training and 355 test images of 8 x 8 pixels; no download is needed.
    Constants that are not proved are estimated (and marked so) along a short gradient
    descent on first access.

    Parameters
    ----------
    m : int
        Number of clients.
    model : str or Module, optional
        ``softmax`` (default), ``mlp``, or any module.
    partition : str
        As for :func:`image_task`.
    **options
        Other options of :func:`image_task`.
    """
    return image_task("digits", m, model, partition, **options)


def measured_on(task: Supervised, examples: int, seed: int = 0) -> Supervised:
    """Return the task with f and grad f measured on a random subset of the data.

    The same fraction of each client's data is chosen. Training and accuracy do not
    change. The name of the task states the subset, because measurements are then
    estimates of f, which permit no verdict on f itself.

    Parameters
    ----------
    task : Supervised
    examples : int
        Approximate number of examples of the subset, >= 1; each client has at least
        one. If the task has no more examples, it is returned unchanged.
    seed : int
        Seed of the choice.

    Returns
    -------
    Supervised
        A copy that shares the data and the network of the task.

    Raises
    ------
    InputError
        Unless examples >= 1.
    """
    examples = whole_number("examples", examples, at_least=1)
    total = int(task.sizes.sum())
    if examples >= total:
        return task
    generator = torch.Generator().manual_seed(seed)
    sizes, offsets = task.sizes.tolist(), task.offsets.tolist()
    counts, chosen = [], []
    for n, offset in zip(sizes, offsets, strict=True):
        count = max(1, n * examples // total)
        counts.append(count)
        chosen.append(offset + torch.randperm(n, generator=generator)[:count])
    places = torch.cat(chosen).to(task.X.device)
    subset, whole = copy.copy(task), copy.copy(task)
    subset.X, subset.y = task.X[places], task.y[places]
    subset.sizes = torch.tensor(counts, device=task.sizes.device)
    subset.offsets = torch.cumsum(subset.sizes, 0) - subset.sizes
    whole.measured = subset
    whole.arguments = {**task.arguments, "measured on": value_digest([examples, seed])}
    whole.name = f"{task.name} (f measured on {sum(counts)} of {total} examples)"
    return whole


def _network(images: ImageSet, model: str | nn.Module | None, seed: int) -> nn.Module:
    """Return a module unchanged, or a new network of the given or default name."""
    if isinstance(model, nn.Module):
        return model
    # preserve the caller's random state
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        name = model or _DEFAULT_MODEL.get(images.name, "softmax")
        return models.get(name, images.shape, images.classes)


def _random_subset(
    images: ImageSet, examples: int | None, test_examples: int | None, seed: int
) -> ImageSet:
    """Return an image set reduced to the requested numbers of examples."""
    rng = np.random.default_rng([whole_number("seed", seed, at_least=0), 1])
    for what, count, part in (
        ("examples", examples, "train"),
        ("test_examples", test_examples, "test"),
    ):
        if count is None:
            continue
        x, y = getattr(images, f"{part}_x"), getattr(images, f"{part}_y")
        n = len(y)
        if whole_number(what, count, at_least=1) > n:
            raise InputError(
                f"{what} = {count} must be at most {n}, the number that {images.name}"
                " has"
            )
        keep = np.sort(rng.choice(n, count, replace=False))
        columns = {f"{part}_x": x[keep], f"{part}_y": y[keep]}
        images = replace(images, **columns)
    return images
