"""Data sets, loaders, tables of columns and partitioners, as a task in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from dfltheory.errors import InputError
from dfltheory.tasks import estimate
from dfltheory.tasks.data_sets import examples_of
from dfltheory.tasks.partition import Kind, split
from dfltheory.tasks.supervised import Supervised


def supervised_from(
    source: Any,
    module: nn.Module,
    *,
    inputs: str | None = None,
    targets: str = "label",
    test: object = None,
    m: int | None = None,
    partition: Kind = "iid",
    alpha: float = 0.3,
    classes_per_client: int = 2,
    seed: int = 0,
    **options: Any,
) -> Supervised:
    """Return a supervised task from whatever holds the examples.

    See :class:`~dfltheory.tasks.Supervised`.

    A list with one source for each client:

    >>> task = supervised_from([loader_0, loader_1], module)

    One source, divided among the clients:

    >>> task = supervised_from(hf_dataset, module, m=10, partition="dirichlet")
    >>> partitioner = federated_dataset.partitioners["train"]
    >>> task = supervised_from(partitioner, module, weights="sizes")

    Parameters
    ----------
    source : a list with one item for each client, each a pair (X, y), a map-style data
        set (of PyTorch, Hugging Face, or anything with ``len`` and ``[k]``), or a
        DataLoader; or one such item for all, which is divided over ``m`` clients by its
        labels; or a partitioner with ``num_partitions`` and ``load_partition``
        (flwr-datasets)
    module : the network
    inputs, targets : names of the columns, where examples are dictionaries; ``inputs``
        may be left out where there is only one other column
    test : one item for all clients, or a list with one for each
    m, partition, alpha, classes_per_client, seed : of the division, see
        :func:`.partition.split`
    options : of :class:`~dfltheory.tasks.Supervised` (``batch``, ``weights``, ``loss``,
        ...); ``constants="estimate"`` measures those that are not proved when they are
        first asked for, so that ``compare`` has them: see
        :mod:`dfltheory.tasks.estimate`

    Notes
    -----
    Every example is read once, into memory: a random transformation in the data set is
    drawn once (random augmentation belongs into ``augment``), and a loader's own
    batches and order play no part. Pictures become float32 (channels, height, width) in
    [0, 1], as ToTensor has them.

    Raises InputError where an item cannot be read so, in one line that names the client
    and the example.
    """
    if hasattr(source, "load_partition"):
        if not hasattr(source, "num_partitions"):
            raise InputError(
                "give one split's partitioner, as"
                ' federated_dataset.partitioners["train"]'
            )
        source = [source.load_partition(i) for i in range(source.num_partitions)]

    named = {"inputs": inputs, "targets": targets}
    if isinstance(source, list):
        if m is not None:
            raise InputError(
                f"m = {m} divides one data set; a list has one item for each client"
                " already"
            )
        clients = [
            examples_of(item, f"client {i}", **named) for i, item in enumerate(source)
        ]
    else:
        if m is None:
            raise InputError(
                "one data set needs m, the number of clients to divide it over; or give"
                " a list"
            )
        X, y = examples_of(source, "the data set", **named)
        parts = split(
            np.asarray(y),
            m,
            partition,
            alpha=alpha,
            classes_per_client=classes_per_client,
            seed=seed,
        )
        clients = [(X[own], y[own]) for own in map(torch.from_numpy, parts.train)]
    if isinstance(test, list):
        test = [
            examples_of(item, f"test set {i}", **named) for i, item in enumerate(test)
        ]
    elif test is not None:
        test = examples_of(test, "the test set", **named)
    if options.get("constants") == "estimate":
        options["constants"] = estimate.piloted
    return Supervised(module, clients, test=test, **options)
