"""Tensors and a JSON document in one safetensors file, with a digest of both.

The digest detects damaged and edited files. It does not authenticate them, because it
contains no secret.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from dfltheory.documents import short_text
from dfltheory.errors import DataError, InputError
from dfltheory.files import reading, replacing

StoredValue = TypeVar("StoredValue")


def write_tensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor | np.ndarray],
    document: Mapping[str, object],
) -> Path:
    """Write a file atomically.

    Parameters
    ----------
    path : path
    tensors : mapping of str to tensor or array
        Identical views of the same memory are stored once.
    document : mapping
        Anything that JSON can represent.

    Returns
    -------
    Path
        The file.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    stored, metadata = _laid_out(tensors, document)
    with replacing(path) as temporary:
        try:
            save_file(stored, temporary, metadata)
        # errors of the system, for example a full disk
        except SafetensorError as wrong:
            raise OSError(errno.EIO, str(wrong), str(path)) from wrong
    return Path(path)


def packed(
    tensors: Mapping[str, Tensor | np.ndarray], document: Mapping[str, object]
) -> bytes:
    """Return the bytes that :func:`write_tensors` writes."""
    from safetensors.torch import save

    return save(*_laid_out(tensors, document))


def _laid_out(
    tensors: Mapping[str, Tensor | np.ndarray], document: Mapping[str, object]
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors and the metadata that safetensors stores.

    Equal views of one memory are stored once; the document lists the other names.
    """
    stored: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    memories: set[int] = set()
    seen: dict[tuple[object, ...], str] = {}
    for name, value in tensors.items():
        tensor = (
            torch.from_numpy(np.ascontiguousarray(value))
            if isinstance(value, np.ndarray)
            else value
        )
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and key in seen:
            aliases[name] = seen[key]
            continue
        seen[key] = name
        tensor = tensor.contiguous()
        memory = tensor.untyped_storage().data_ptr()
        # the format does not support views
        stored[name] = tensor.clone() if memory in memories else tensor
        memories.add(memory)
    text = _text({**document, "aliases": aliases})
    return stored, {"json": text, "sha256": digest(stored, text)}


def digest(tensors: Mapping[str, Tensor], text: str) -> str:
    """Return the SHA-256 of a text and of tensors (names, dtypes, shapes, bytes)."""
    names = sorted(tensors)
    layouts = [
        [name, str(tensors[name].dtype), list(tensors[name].shape)] for name in names
    ]
    header = [text, *layouts]
    sha256 = hashlib.sha256(json.dumps(header).encode())
    for name in names:
        content = tensors[name].detach().cpu().contiguous().reshape(-1)
        sha256.update(content.view(torch.uint8).numpy().data)
    return sha256.hexdigest()


def _verify(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Tensor],
    metadata: Mapping[str, str],
) -> None:
    """Raise InputError unless the content of a file matches its digest."""
    stated = metadata.get("sha256")
    if stated is None:
        raise InputError(
            f"{path} has no digest (sha256), so damage cannot be detected; such files"
            " were written by development versions before 0.1: run its command again"
        )
    computed = digest(tensors, metadata.get("json", "{}"))
    if stated != computed:
        raise InputError(
            f"{path} is damaged or was changed: its digest (sha256) is"
            f" {computed[:12]}..., but the file states {stated[:12]!r}...; use an"
            " intact copy, or delete it and run its command again"
        )


def _text(document: Mapping[str, object]) -> str:
    """Return a document as JSON."""
    return json.dumps(document, default=np.generic.item)  # including numpy's numbers


def read_back(document: Mapping[str, object]) -> dict[str, Any]:
    """Return a document as it would be read from a file, with lists for tuples."""
    return json.loads(_text(document))


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Tensor], Any]:
    """Read a file written by :func:`write_tensors`.

    Raises
    ------
    InputError
        If there is no file, or its content does not match its digest.
    DataError
        If it is not a safetensors file, or its document is not of this ``kind``.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise InputError(f"{path} is not a file: pass the file that was saved")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
    except SafetensorError as error:
        raise DataError(f"{path} cannot be read: {str(error)[:200]}") from error
    _verify(path, tensors, metadata)
    with reading(path, "JSON"):
        document = json.loads(metadata.get("json", "{}"))
    with reading(path, kind):
        if document.get("kind") != kind:
            raise DataError(
                f"{path} contains {short_text(document.get('kind'))}, not {kind!r}"
            )
        aliases = document.pop("aliases")
        shared = {name: tensors[first] for name, first in aliases.items()}
        return tensors | shared, document


def under(group: str, values: Mapping[str, StoredValue]) -> dict[str, StoredValue]:
    """Return the values whose names start with group/, without this prefix."""
    prefix = f"{group}/"
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


__all__ = ["digest", "read", "read_back", "under", "write_tensors"]
