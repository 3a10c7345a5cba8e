"""Tasks of user-supplied npz files and networks, which the command line can name."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn

from dfltheory import models
from dfltheory.documents import short_text
from dfltheory.errors import InputError
from dfltheory.npy_files import check_npz
from dfltheory.number_ranges import (
    NonnegativeFloat,
    NonnegativeInt,
    PositiveFloat,
    PositiveInt,
)
from dfltheory.own import own
from dfltheory.tasks import sizes
from dfltheory.tasks.partition import PartitionKind
from dfltheory.tasks.sources import supervised_from
from dfltheory.tasks.supervised import Supervised

LabeledArrays = tuple[np.ndarray, np.ndarray]
"""Inputs (n, ...) and targets (n, ...)."""

MOST_CLASSES = 100_000
"""Largest number of classes for a model of this package."""


def npz(
    data: Path,
    model: str | nn.Module = "softmax",
    m: PositiveInt | None = None,
    partition: PartitionKind = "iid",
    alpha: PositiveFloat = 0.3,
    classes_per_client: PositiveInt = 2,
    batch: PositiveInt | None = 20,
    seed: NonnegativeInt = 0,
    *,
    weight_decay: NonnegativeFloat = 0.0,
    sampling: Literal["iid", "epochs"] = "iid",
    weights: Literal["uniform", "sizes"] = "uniform",
    dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
) -> Supervised:
    """Return the task of the examples in a file written by ``numpy.savez``.

    Constants that are not proved are estimated on first access.

    Parameters
    ----------
    data : Path
        A file with ``X`` (n, ...) and ``y`` (n,), divided over m clients by the labels.
        With ``client`` (n,), the owner 0..m-1 of each example, it is divided by owner.
        ``X_0``, ``y_0``, ``X_1``, ... are the examples of each client. ``X_test`` and
        ``y_test`` are the common test set.
    model : str or Module
        MODULE:CLASS or FILE.py:CLASS of a ``torch.nn.Module`` without required
        arguments, or of a function that returns one (this executes its code); a name of
        :func:`dfltheory.models.names`; or a module.
    m : int, optional
        Number of clients; by default that of the file, or 10 if the file does not
        define clients.
    partition, alpha, classes_per_client
        Options of the partition, see :func:`.partition_labels`.
    batch : int or None
        Number of examples per minibatch; None for all of a client's examples.
    seed : int
        Seed of the partition and of the network's initial parameters.
    weight_decay, sampling, weights, dtype, device
        See :class:`Supervised`.

    Raises
    ------
    InputError
        If the file is not such an archive or contains Python objects (which are never
        loaded), if ``m`` contradicts it, or if ``model`` is not a network.
    """
    data = Path(data)
    arrays = _arrays(data)
    test = tuple(arrays.pop(name) for name in ("X_test", "y_test") if name in arrays)
    if len(test) == 1:
        raise InputError(f"{data}: X_test and y_test need each other: save both")
    examples = _clients(data, arrays)
    if not isinstance(examples, list):
        network = _network(model, [examples], seed)
        m = m or 10
    elif m in (None, len(examples)):
        network = _network(model, examples, seed)
        m = None  # the file defines the clients
    else:
        raise InputError(
            f"m = {m}, but {data} has {len(examples)} clients: leave m out"
        )
    return supervised_from(
        examples,
        network,
        m=m,
        test=test or None,
        constants="estimate",
        name=data.stem,
        dtype=dtype,
        device=device,
        partition=partition,
        alpha=alpha,
        classes_per_client=classes_per_client,
        seed=seed,
        batch=batch,
        weight_decay=weight_decay,
        sampling=sampling,
        weights=weights,
    )


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an npz archive by name, after checking their sizes."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: pass the .npz file with X and y")
    try:
        check_npz(path, sizes.memory() / 8)
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except Exception as error:  # whatever zipfile and numpy raise
        raise InputError(
            f"{path}: not a readable npz archive ({error}): write it with numpy.savez"
        ) from error


def _clients(
    data: Path, arrays: dict[str, np.ndarray]
) -> LabeledArrays | list[LabeledArrays]:
    """Return one pair (X, y), or one for each client."""
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.ndim == 0:
            raise InputError(
                f"{data}: {name} must be an array of numbers, not {array.dtype}"
                f" {array.shape}"
            )
    client = arrays.pop("client", None)
    count = len(arrays) // 2
    pairs_of_names = [(f"X_{i}", f"y_{i}") for i in range(count)]
    names_of_pairs = set(itertools.chain.from_iterable(pairs_of_names))
    if arrays and client is None and set(arrays) == names_of_pairs:
        return [(arrays[X], arrays[y]) for X, y in pairs_of_names]
    if set(arrays) != {"X", "y"}:
        names = ", ".join(sorted(arrays)[:8]) or "nothing"
        raise InputError(
            f"{data} contains {names}: save X and y, with or without client, or X_0,"
            " y_0, X_1, ..."
        )
    X, y = arrays["X"], arrays["y"]
    if len(X) != len(y):
        raise InputError(
            f"{data}: X has {len(X)} examples and y {len(y)}: the numbers must be equal"
        )
    if client is None:
        return X, y
    if client.shape != (len(X),) or client.dtype.kind not in "iu":
        raise InputError(
            f"{data}: client must contain one integer for each of the {len(X)} examples"
        )
    numbers = np.unique(client)
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise InputError(
            f"{data}: client has the numbers {short_text(numbers.tolist())}, but"
            " clients must be numbered 0, 1, ..., each with at least one example"
        )
    return [(X[client == i], y[client == i]) for i in numbers]


def _network(
    model: str | nn.Module, clients: list[LabeledArrays], seed: int
) -> nn.Module:
    """Return a module unchanged, or create the network that ``model`` names."""
    # preserve the caller's random state
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(model, str) and ":" not in model:
            if any(y.dtype.kind not in "iu" or y.ndim != 1 for _, y in clients):
                raise InputError(
                    f"{model} takes labels 0, 1, ...: save y as integers, or pass a"
                    " model class of your own"
                )
            classes = 1 + max(int(y.max(initial=0)) for _, y in clients)
            if classes > MOST_CLASSES:
                raise InputError(
                    f"y has the label {classes - 1}; {model} takes labels 0 to"
                    f" {MOST_CLASSES - 1}: number the classes 0, 1, ..."
                )
            return models.get(model, clients[0][0].shape[1:], classes)
        network = own(model) if isinstance(model, str) else model
        try:
            if callable(network) and not isinstance(network, nn.Module):
                network = network()
        except Exception as wrong:  # whatever a user's own code raises
            reason = " ".join(f"{type(wrong).__name__}: {wrong}".split())
            raise InputError(
                f"model = {model} cannot be created without arguments: {reason}"
            ) from wrong
    if not isinstance(network, nn.Module):
        raise InputError(f"model = {model} neither is nor returns a torch.nn.Module")
    return network
