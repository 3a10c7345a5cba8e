"""Examples of map-style data sets and of loaders, as two tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.errors import InputError


def is_data_set(item: Any) -> bool:
    """Return whether an object is a PyTorch data set or a loader."""
    if isinstance(item, (tuple, list, str, Mapping, Tensor, np.ndarray)):
        return False
    indexed = hasattr(item, "__len__") and hasattr(item, "__getitem__")
    return indexed or hasattr(item, "batch_sampler")


def examples_of(
    item: Any, whose: str, inputs: str | None = None, targets: str = "label"
) -> tuple[Tensor, Tensor]:
    """Return all inputs and all targets of one source.

    Parameters
    ----------
    item : tuple, data set or loader
        A pair (X, y), a map-style data set, or a DataLoader.
    whose : str
        Name of the source in messages.
    inputs, targets : str
        Names of the columns of examples that are dictionaries.

    Raises
    ------
    InputError
        If the item cannot be read, or its examples differ in shape.
    """
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


__all__ = ["examples_of", "is_data_set"]
