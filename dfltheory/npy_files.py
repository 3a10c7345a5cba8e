"""Checks of array files before numpy reads them."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO

from dfltheory.errors import InputError


def check_npy(
    path: str | os.PathLike[str], stream: IO[bytes], size: float, most: float
) -> None:
    """Reject an npy stream that is invalid, contains Python objects or is too large.

    Only the header is read.

    Parameters
    ----------
    path : str or path
        The file, for messages.
    stream : binary file
        Positioned at the first byte of the array.
    size : float
        Bytes of the stream.
    most : float
        Largest number of entries.

    Raises
    ------
    InputError
        If this is not an npy stream, contains Python objects, or has more entries than
        ``most`` or ``size`` allow.
    """
    from numpy.lib import format as npy

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, _, dtype = headers[npy.read_magic(stream)](stream)
    except Exception as error:  # the header's parser may raise anything
        reason = " ".join(str(error).split())
        raise InputError(
            f"{path}: not an npy array ({reason:.100}): save numbers with numpy.save"
        ) from error
    if dtype.hasobject:
        raise InputError(
            f"{path}: contains Python objects, which are never loaded: save arrays of"
            " numbers"
        )
    count = math.prod(shape)
    if any(n < 0 for n in shape) or count > most or count * dtype.itemsize > size:
        raise InputError(
            f"{path}: declares an array of shape {shape} and type {dtype}: at most"
            f" {most:.4g} numbers and the {size:.4g} bytes of the file are read"
        )


def check_npz(path: str | os.PathLike[str], most: float) -> list[str]:
    """Check an npz archive before numpy loads it, and return the names of its arrays.

    See :func:`check_npy`. ``most`` limits the entries of each array; the total size is
    limited to 8 ``most`` bytes.
    """
    if not zipfile.is_zipfile(path):
        raise InputError(
            f"{path}: not an npz archive (a zip of arrays): write it with numpy.savez"
        )
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > 8 * most:
            raise InputError(
                f"{path}: unpacks to {size:.4g} bytes: at most {8 * most:.4g} are read"
            )
        for part in archive.infolist():
            with archive.open(part) as stream:
                check_npy(path, stream, part.file_size, most)
        return [name.removesuffix(".npy") for name in archive.namelist()]


__all__ = ["check_npy", "check_npz"]
