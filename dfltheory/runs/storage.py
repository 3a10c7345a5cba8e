"""Tensors and a JSON document in one safetensors file: no pickle, and a reader sees all of it or nothing."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.documents import short
from dfltheory.errors import DataError, InputError
from dfltheory.files import check_belongs, reading, replacing


def write(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor | np.ndarray], document: Mapping[str, Any]
) -> Path:
    """Write atomically. Tensors that are one and the same in memory are stored once."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    stored, metadata = _laid_out(tensors, document)
    with replacing(path) as temporary:
        try:
            save_file(stored, temporary, metadata)
        except SafetensorError as wrong:  # the system's error, a full disk's too, in words
            raise OSError(errno.EIO, str(wrong), str(path)) from wrong
    return Path(path)


def packed(tensors: Mapping[str, Tensor | np.ndarray], document: Mapping[str, Any]) -> bytes:
    """What :func:`write` would write."""
    from safetensors.torch import save

    return save(*_laid_out(tensors, document))


def _laid_out(
    tensors: Mapping[str, Tensor | np.ndarray], document: Mapping[str, Any]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    stored: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    memories: set[int] = set()
    seen: dict[tuple[Any, ...], str] = {}
    for name, value in tensors.items():
        tensor = torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        tensor = tensor.contiguous()
        memory = tensor.untyped_storage().data_ptr()
        stored[name] = tensor.clone() if memory in memories else tensor  # the format knows no views
        memories.add(memory)
    return stored, {"json": _text({**document, "aliases": aliases})}


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, default=np.generic.item)  # numpy's numbers too


def read_back(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document as a file would give it back: with lists for tuples, and Python's own numbers."""
    return json.loads(_text(document))


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write` wrote, or say in one line what is wrong with the file."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise InputError(f"{path} is not a file: give the file that was saved")
    check_belongs(path)
    try:
        with safe_open(path, framework="pt") as file:
            with reading(path, "JSON"):
                document = json.loads((file.metadata() or {}).get("json", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
    except SafetensorError as error:
        raise DataError(f"{path} cannot be read: {str(error)[:200]}") from error
    with reading(path, kind):
        if document.get("kind") != kind:
            raise DataError(f"{path} holds {short(document.get('kind'))}, not {kind!r}")
        return tensors | {name: tensors[first] for name, first in document.pop("aliases").items()}, document


__all__ = ["read", "read_back", "write"]
