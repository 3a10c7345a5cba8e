"""Supervised tasks from data sets, loaders, column tables and partitioners."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from dfltheory.errors import InputError
from dfltheory.tasks import estimate
from dfltheory.tasks.data_sets import examples_of
from dfltheory.tasks.partition import PartitionKind, partition_labels
from dfltheory.tasks.supervised import Supervised


def supervised_from(
    source: Any,
    module: nn.Module,
    *,
    inputs: str | None = None,
    targets: str = "label",
    test: object = None,
    m: int | None = None,
    partition: PartitionKind = "iid",
    alpha: float = 0.3,
    classes_per_client: int = 2,
    seed: int = 0,
    **options: Any,
) -> Supervised:
    """Return a task from data sets, loaders or a partitioner.

    See :class:`~dfltheory.tasks.Supervised`. A list has one source for each client:

    >>> task = supervised_from([loader_0, loader_1], module)

    One source, divided among the clients:

    >>> task = supervised_from(hf_dataset, module, m=10, partition="dirichlet")
    >>> partitioner = federated_dataset.partitioners["train"]
    >>> task = supervised_from(partitioner, module, weights="sizes")

    Parameters
    ----------
    source : list, item or partitioner
        A list with one item for each client, where an item is a pair (X, y), a
        map-style data set (PyTorch, Hugging Face, or any object with ``len`` and
        ``[k]``), or a DataLoader; or one such item, which is divided over ``m`` clients
        by its labels; or a partitioner with ``num_partitions`` and ``load_partition``
        (flwr-datasets).
    module : Module
        The network.
    inputs : str, optional
        Name of the column of inputs if examples are dictionaries. It may be omitted if
        there is only one column except ``targets``.
    targets : str
        Name of the column of targets if examples are dictionaries.
    test : item or list, optional
        One item for all clients, or a list with one item for each client.
    m : int, optional
        Number of clients over which one item is divided.
    partition, alpha, classes_per_client, seed
        Options of this division, see :func:`.partition_labels`.
    **options
        Options of :class:`~dfltheory.tasks.Supervised` (``batch``, ``weights``,
        ``loss``, ...). With ``constants="estimate"``, constants that are not proved are
        estimated on first access, so that ``compare`` can use them; see
        :mod:`dfltheory.tasks.estimate`.

    Raises
    ------
    InputError
        If an item cannot be read; the message names the client and the example.

    Notes
    -----
    Every example is read into memory once. A random transformation in the data set is
    therefore drawn only once (use ``augment`` for random augmentation), and a loader's
    batches and order do not matter. PIL images are converted to float32 (channels,
    height, width) in [0, 1], like torchvision's ToTensor.
    """
    if hasattr(source, "load_partition"):
        if not hasattr(source, "num_partitions"):
            raise InputError(
                "pass the partitioner of one split, for example"
                ' federated_dataset.partitioners["train"]'
            )
        source = [source.load_partition(i) for i in range(source.num_partitions)]

    named = {"inputs": inputs, "targets": targets}
    if isinstance(source, list):
        if m is not None:
            raise InputError(
                f"m = {m} applies to one data set; a list already has one item for each"
                " client"
            )
        clients = [
            examples_of(item, f"client {i}", **named) for i, item in enumerate(source)
        ]
    else:
        if m is None:
            raise InputError(
                "one data set needs m, the number of clients to divide it over; or pass"
                " a list"
            )
        X, y = examples_of(source, "the data set", **named)
        parts = partition_labels(
            np.asarray(y),
            m,
            partition,
            alpha=alpha,
            classes_per_client=classes_per_client,
            seed=seed,
        )
        indices = map(torch.from_numpy, parts.train)
        clients = [(X[of_client], y[of_client]) for of_client in indices]
    if isinstance(test, list):
        test = [
            examples_of(item, f"test set {i}", **named) for i, item in enumerate(test)
        ]
    elif test is not None:
        test = examples_of(test, "the test set", **named)
    if options.get("constants") == "estimate":
        options["constants"] = estimate.piloted
    return Supervised(module, clients, test=test, **options)
