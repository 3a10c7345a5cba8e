"""Data as its users have it, as a task in one call: data sets, loaders, tables of
columns, partitioners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dfltheory.errors import InputError
from dfltheory.tasks import estimate
from dfltheory.tasks.partition import Kind, split
from dfltheory.tasks.supervised import Supervised


def supervised_from(
    source: Any,
    module: nn.Module,
    *,
    inputs: str | None = None,
    targets: str = "label",
    test: Any = None,
    m: int | None = None,
    partition: Kind = "iid",
    alpha: float = 0.3,
    classes_per_client: int = 2,
    seed: int = 0,
    **options: Any,
) -> Supervised:
    """A :class:`~dfltheory.tasks.Supervised` task from whatever holds the examples.

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
            _examples(item, f"client {i}", **named) for i, item in enumerate(source)
        ]
    else:
        if m is None:
            raise InputError(
                "one data set needs m, the number of clients to divide it over; or give"
                " a list"
            )
        X, y = _examples(source, "the data set", **named)
        labels = {
            "alpha": alpha,
            "classes_per_client": classes_per_client,
            "seed": seed,
        }
        parts = split(np.asarray(y), m, partition, **labels)
        clients = [(X[own], y[own]) for own in map(torch.from_numpy, parts.train)]
    if isinstance(test, list):
        test = [
            _examples(item, f"test set {i}", **named) for i, item in enumerate(test)
        ]
    elif test is not None:
        test = _examples(test, "the test set", **named)
    if options.get("constants") == "estimate":
        options["constants"] = estimate.piloted
    return Supervised(module, clients, test=test, **options)


def _examples(
    item: Any, whose: str, inputs: str | None, targets: str
) -> tuple[Tensor, Tensor]:
    """All inputs and all targets of one item."""
    batched = hasattr(item, "batch_sampler")  # a loader: it gives whole batches
    if isinstance(item, tuple) and len(item) == 2:
        item, batched = [item], True
    elif not batched and not (
        hasattr(item, "__len__") and hasattr(item, "__getitem__")
    ):
        raise InputError(
            f"{whose} is a {type(item).__name__}: give (X, y), a data set with len and"
            " [k], or a loader"
        )
    columns: tuple[list[Tensor], list[Tensor]] = [], []
    for k, row in enumerate(item if batched else (item[k] for k in range(len(item)))):
        where = f"{whose}, {'batch' if batched else 'example'} {k}"
        for column, value in zip(
            columns, _pair(row, where, inputs, targets), strict=True
        ):
            column.append(_tensor(value, where))
            shape, first = (
                tuple(part.shape[batched:]) for part in (column[-1], column[0])
            )
            if shape != first:
                raise InputError(
                    f"{where} has the shape {shape}, the first {first}: make them one"
                    " shape"
                )
    if not columns[0]:
        raise InputError(f"{whose} has no examples")
    X, y = map(torch.cat if batched else torch.stack, columns)
    return X, y


def _pair(row: Any, where: str, inputs: str | None, targets: str) -> tuple[Any, Any]:
    if isinstance(row, Mapping):
        others = [name for name in row if name != targets]
        name = inputs or (others[0] if len(others) == 1 else None)
        if targets not in row or name not in row:
            raise InputError(
                f"{where} has the columns {', '.join(row)}: name two of them, inputs="
                " and targets="
            )
        return row[name], row[targets]
    if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 2:
        raise InputError(
            f"{where} is not a pair (input, target): wrap the data set so that it"
            " gives one"
        )
    return row[0], row[1]


def _tensor(value: Any, where: str) -> Tensor:
    try:
        if hasattr(value, "getbands"):  # a picture of PIL's
            pixels = torch.from_numpy(
                np.array(value.convert("L" if value.mode in ("1", "L") else "RGB"))
            )
            return pixels.view(*pixels.shape[:2], -1).movedim(-1, 0) / 255
        return torch.as_tensor(
            np.asarray(value) if not isinstance(value, Tensor) else value
        )
    except (TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:100]
        raise InputError(
            f"{where} has a {type(value).__name__} that is no array of numbers: {why}"
        ) from None
