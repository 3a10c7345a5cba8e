"""Conversion of map-style data sets and loaders to a pair of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dfltheory.errors import InputError


@runtime_checkable
class MapStyle(Protocol):
    """A map-style data set, as in PyTorch and Hugging Face."""

    def __len__(self) -> int:
        """Return the number of examples."""
        ...

    def __getitem__(self, k: int, /) -> object:
        """Return example k."""
        ...


@runtime_checkable
class Loader(Protocol):
    """A loader of whole batches, such as PyTorch's DataLoader."""

    batch_sampler: object

    def __iter__(self) -> Iterator[object]:
        """Yield batches."""
        ...


@runtime_checkable
class Picture(Protocol):
    """A PIL image."""

    mode: str

    def getbands(self) -> tuple[str, ...]:
        """Return the names of the channels."""
        ...

    def convert(self, mode: str, /) -> ArrayLike:
        """Return the image in another mode."""
        ...


Examples = tuple[ArrayLike | Tensor, ArrayLike | Tensor] | MapStyle | Loader
"""A pair (inputs (n, ...), targets (n, ...)) of tensors or arrays, or a PyTorch data
set.
"""


def is_data_set(item: object) -> TypeGuard[MapStyle | Loader]:
    """Return whether an object is a PyTorch data set or a loader."""
    if isinstance(item, (tuple, list, str, Mapping, Tensor, np.ndarray)):
        return False
    return isinstance(item, (MapStyle, Loader))


def examples_of(
    item: object, whose: str, inputs: str | None = None, targets: str = "label"
) -> tuple[Tensor, Tensor]:
    """Return all inputs and all targets of one source.

    Parameters
    ----------
    item : tuple, data set or loader
        A pair (X, y), a map-style data set, or a DataLoader.
    whose : str
        Name of the source in messages.
    inputs : str, optional
        Name of the column of inputs if examples are dictionaries; by default the only
        column except ``targets``.
    targets : str
        Name of the column of targets if examples are dictionaries.

    Returns
    -------
    X : (n, ...) tensor
        Images of PIL as float32 (channels, height, width) in [0, 1].
    y : (n, ...) tensor

    Raises
    ------
    InputError
        If the item cannot be read, or its examples differ in shape.
    """
    rows, batched = _rows_of(item, whose)
    columns: tuple[list[Tensor], list[Tensor]] = [], []
    for k, row in enumerate(rows):
        where = f"{whose}, {'batch' if batched else 'example'} {k}"
        pair = _pair(row, where, inputs, targets)
        for column, value in zip(columns, pair, strict=True):
            column.append(_tensor(value, where))
            shape = tuple(column[-1].shape[batched:])
            first = tuple(column[0].shape[batched:])
            if shape != first:
                raise InputError(
                    f"{where} has shape {shape}, but the first has shape {first}: all"
                    " shapes must be equal"
                )
    if not columns[0]:
        raise InputError(f"{whose} has no examples")
    X, y = map(torch.cat if batched else torch.stack, columns)
    return X, y


def _rows_of(item: object, whose: str) -> tuple[Iterable[object], bool]:
    """Return the examples or batches of a source, and whether they are batches."""
    if isinstance(item, tuple) and len(item) == 2:
        return [item], True
    if isinstance(item, Loader):
        return item, True
    if isinstance(item, MapStyle):
        return (item[k] for k in range(len(item))), False
    raise InputError(
        f"{whose} is a {type(item).__name__}: pass (X, y), a data set with len and [k],"
        " or a loader"
    )


def _pair(
    row: object, where: str, inputs: str | None, targets: str
) -> tuple[object, object]:
    """Return the input and the target of an example or a batch."""
    if isinstance(row, Mapping):
        others = [name for name in row if name != targets]
        name = inputs or (others[0] if len(others) == 1 else None)
        if targets not in row or name not in row:
            raise InputError(
                f"{where} has the columns {', '.join(row)}: select two of them by"
                " inputs= and targets="
            )
        return row[name], row[targets]
    if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 2:
        raise InputError(
            f"{where} is not a pair (input, target): wrap the data set so that it"
            " returns pairs"
        )
    return row[0], row[1]


def _tensor(value: object, where: str) -> Tensor:
    """Return an array or a PIL image as a tensor; images are scaled to [0, 1]."""
    try:
        if isinstance(value, Picture):
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
            f"{where} has a {type(value).__name__}, not an array of numbers: {why}"
        ) from None


__all__ = ["Examples", "examples_of", "is_data_set"]
