"""Storage of all clients' examples in common tensors, and selection of minibatches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dfltheory.errors import InputError, checked_name
from dfltheory.randomness import uniform_numbers
from dfltheory.tasks.data_sets import Examples, examples_of, is_data_set

ExampleArrays = tuple[Tensor, Tensor, Tensor, Tensor]
"""All inputs, all targets, and the number of examples and first index of each client.
"""


def in_a_row(
    clients: Sequence[Examples], what: str, dtype: torch.dtype, device: torch.device
) -> ExampleArrays:
    """Concatenate the examples of all clients.

    Parameters
    ----------
    clients : sequence
        One pair (X, y) or data set for each client.
    what : str
        Name of an item in messages, which is followed by its number.
    dtype : torch.dtype
        Type of floating-point inputs and targets; integer targets become int64.
    device : torch.device

    Returns
    -------
    X, y : (n, ...) tensors
        Inputs and targets of all clients.
    sizes, offsets : (m,) tensors
        Number of examples and first index of each client.

    Raises
    ------
    InputError
        If a client has no examples, or they are not finite or of different shapes.
    """
    if not len(clients):
        raise InputError("a task needs at least one client")
    columns: tuple[list[Tensor], list[Tensor]] = [], []
    for i, client in enumerate(clients):
        pair = _pair(f"{what} {i}", client)
        n, targets = map(len, pair)
        if n == 0 or n != targets:
            raise InputError(
                f"{what} {i} has {n} inputs and {targets} targets: the numbers must be"
                " equal and at least 1"
            )
        for kind, values, column in zip(("inputs", "targets"), pair, columns):
            shape = tuple(values.shape[1:])
            first = tuple(column[0].shape[1:]) if column else shape
            if shape != first:
                raise InputError(
                    f"{what} {i} has {kind} of shape {shape}, but the first has"
                    f" {first}: all shapes must be equal"
                )
            at = first_not_finite(values)
            if at is not None:
                raise InputError(
                    f"{what} {i}: example {at} has {kind} that are not finite: remove"
                    " the example, or replace the values"
                )
            if values.is_floating_point():
                column.append(values.to(dtype))
            else:
                column.append(values if kind == "inputs" else values.long())
    inputs, targets = columns
    sizes = torch.tensor([len(X) for X in inputs])
    offsets = torch.cumsum(sizes, 0) - sizes
    X, y = torch.cat(inputs), torch.cat(targets)
    return X.to(device), y.to(device), sizes.to(device), offsets.to(device)


def tests_in_a_row(
    test: Any,
    m: int,
    dtype: torch.dtype,
    device: torch.device,
) -> ExampleArrays | None:
    """Return test sets as :func:`in_a_row` returns examples; None without a test set.

    Parameters
    ----------
    test : pair, data set, list or None
        One item for all clients, or a list with one for each client.
    m : int
        Number of clients.
    dtype, device
        As for :func:`in_a_row`.

    Raises
    ------
    InputError
        If the number of test sets is neither 1 nor m, or one is invalid.
    """
    if test is None:
        return None
    is_pair = isinstance(test, tuple) and len(test) == 2
    if is_data_set(test) or (
        is_pair and not isinstance(test[0], tuple) and not is_data_set(test[0])
    ):
        return in_a_row([test], "the test set", dtype, device)
    if len(test) != m:
        raise InputError(
            f"{len(test)} test sets for {m} clients: pass one for each client, or one"
            " pair for all"
        )
    return in_a_row(test, "test set", dtype, device)


def _pair(whose: str, examples: Examples) -> tuple[Tensor, Tensor]:
    """Return inputs and targets as tensors; ``whose`` names them in messages."""
    if is_data_set(examples):
        return examples_of(examples, whose)
    try:
        X, y = (torch.as_tensor(part) for part in examples)
        if X.ndim == 0 or y.ndim == 0:
            raise ValueError("a single number")
    except (TypeError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:100]
        raise InputError(
            f"{whose} is neither a pair (X, y) of tensors or arrays nor a data set:"
            f" {why}"
        ) from error
    return X, y


def first_not_finite(values: Tensor) -> int | None:
    """Return the index of the first example with a nonfinite value, or None.

    A finite sum implies that all values are finite, and is faster to test.
    """
    if not values.is_floating_point() or bool(values.sum().isfinite()):
        return None
    finite = values.reshape(len(values), -1).isfinite().all(-1)
    return None if bool(finite.all()) else int((~finite).nonzero()[0])


def client_weights(
    weights: str | Sequence[float] | Tensor, sizes: Tensor
) -> Tensor | None:
    """Return m p_i (m,) in float64, or None if all are 1.

    ``weights`` is "uniform", "sizes" (p_i = n_i / n), or p_i > 0 that sum to 1.
    """
    m = len(sizes)
    if isinstance(weights, str):
        if (
            checked_name("choice of weights", weights, {"uniform", "sizes"})
            == "uniform"
        ):
            return None
        p = sizes.double() / sizes.sum()
    else:
        p = torch.as_tensor(weights, dtype=torch.float64, device=sizes.device)
        if p.shape != (m,) or not bool((p > 0).all()) or abs(float(p.sum()) - 1) > 1e-6:
            raise InputError(
                f"weights must be {m} numbers > 0 that sum to 1, one for each client"
            )
    return None if len(set(p.tolist())) == 1 else m * p


# -- minibatches


def iid(sizes: Tensor, batch: int, generators: Sequence[torch.Generator]) -> Tensor:
    """Draw positions of examples, uniform on 0..n_i - 1 with replacement.

    Parameters
    ----------
    sizes : (m,) tensor
        Number n_i of each client's examples.
    batch : int
        Number of draws of each client.
    generators : sequence of S generators
        One for each seed.

    Returns
    -------
    (S, m, batch) tensor of int
    """
    numbers = uniform_numbers(generators, (len(sizes), batch), sizes.double())
    return (numbers * sizes.unsqueeze(-1)).long()


class Epochs:
    """Minibatches of clients that pass through their own reshuffled data.

    A minibatch may contain the end of one pass and the start of the next. For the
    parameters see :func:`iid`.
    """

    def __init__(
        self, sizes: Tensor, batch: int, generators: Sequence[torch.Generator]
    ):
        self._sizes, self._batch, self._generators = sizes, batch, generators
        self._passes: list[Tensor] = []
        self._taken = 0

    def draw(self) -> Tensor:
        """Return the next positions (S, m, batch)."""
        n = self._sizes.unsqueeze(-1)
        position = torch.arange(self._taken, self._taken + self._batch, device=n.device)
        self._taken += self._batch
        which, within = position // n, position % n
        while len(self._passes) <= int(which.max()):
            self._passes.append(self._shuffled())
        orders = torch.stack(self._passes)  # (passes, S, m, n_max)
        client = torch.arange(len(n), device=n.device).unsqueeze(-1)
        return orders[which, :, client, within].movedim(-1, 0)

    def _shuffled(self) -> Tensor:
        """Return a random order (S, m, n_max) of each client's n_i examples."""
        n = self._sizes.double()
        absent = torch.arange(int(n.max()), device=n.device) >= n.unsqueeze(-1)
        return (
            uniform_numbers(self._generators, absent.shape, n)
            .masked_fill(absent, 2.0)
            .argsort(-1)
        )
