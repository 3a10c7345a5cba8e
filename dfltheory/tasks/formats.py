"""Readers of the official file formats.

They run no code from a file, and check sizes before they allocate memory.
"""

from __future__ import annotations

import functools
import gzip
import math
import os
import pickletools
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dfltheory.errors import DataError

Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]

LARGEST_IMAGE_FILE = 2**29
"""Largest uncompressed file size in bytes: three times the largest official one."""

OTHER_IMAGES = (
    "for images of another size or number of classes, or modified ones, pass your"
    " arrays as a tasks.ImageSet to tasks.image_task"
)
"""Advice in messages about images that are not the official ones."""


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file, gzipped or not; convert reading errors to DataError."""
    try:
        if path.exists() and not path.is_file():  # a pipe would block
            raise DataError(f"{path} cannot be read: it is not a regular file")
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
            plain.seek(0)
            with gzip.open(plain) if packed else plain as stream:
                yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{path} cannot be decompressed ({error}): it is truncated or damaged"
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _read_at_most(stream: IO[bytes] | gzip.GzipFile, count: int) -> bytes:
    """Read at most ``count`` bytes, allocating memory only for bytes that exist."""
    parts = []
    while count > 0 and (part := stream.read(min(count, 2**20))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _refuse_large(path: Path, what: str, size: int) -> None:
    """Raise DataError if a file has, or declares, too many bytes."""
    if size > LARGEST_IMAGE_FILE:
        raise DataError(
            f"{path} {what} {size:.3g} bytes: no official file has more than"
            f" {LARGEST_IMAGE_FILE}"
        )


# -- idx (MNIST and its relatives)


def read_idx(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Read an idx file of unsigned bytes, gzipped or not.

    Bytes 0-1 are zero, byte 2 is the element type (8: unsigned byte), byte 3 the number
    of dimensions; then each dimension as a big-endian 32-bit number, then the elements
    in C order.
    """
    path = Path(path)
    with _open(path) as stream:
        start = stream.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or not 1 <= start[3] <= 4:
            raise DataError(
                f"{path} is not an idx file of 1 to 4 dimensions: it starts with"
                f" {start.hex(' ')}"
            )
        if start[2] != 8:
            raise DataError(
                f"{path} has elements of idx type {start[2]}: only unsigned bytes (8)"
                " are supported"
            )
        shape = struct.unpack(
            f">{start[3]}I", stream.read(4 * start[3]).ljust(4 * start[3], b"\0")
        )
        size = math.prod(shape)
        _refuse_large(path, "declares", size)
        raw = _read_at_most(stream, size + 1)  # the extra byte detects a file too long
    if len(raw) != size or not size:
        declared, actual = (
            " x ".join(map(str, shape)),
            "more" if len(raw) > size else len(raw),
        )
        raise DataError(
            f"{path} declares {declared} bytes and contains {actual}: it is truncated"
            " or damaged"
        )
    return np.frombuffer(raw, np.uint8).reshape(shape)


def read_mnist(folder: Path) -> tuple[Pixels, Labels, Pixels, Labels]:
    """Read training and test images (n, 1, 28, 28) of (Fashion-)MNIST, with labels."""
    arrays: list[np.ndarray] = []
    for part in ("train", "t10k"):
        pixels = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
        labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
        arrays += [pixels[:, None], labels.astype(np.int64)]
    train_x, train_y, test_x, test_y = arrays
    return train_x, train_y, test_x, test_y


# -- the CIFAR batches

_MOST_OPCODES = 500_000
"""Largest number of opcodes of a pickle, about twice that of the official files."""
_OPCODE = re.compile(
    "(?P<number>BININT[12]?|NEWTRUE|NEWFALSE)|(?P<text>(SHORT_)?BIN(BYTES|STRING)|BINUNICODE)"
    "|(?P<container>PROTO|STOP|EMPTY_DICT|EMPTY_LIST|MARK|NONE|(LONG_)?BIN(PUT|GET)|TUPLE[123]?|APPENDS?"
    "|SETITEMS?|GLOBAL|REDUCE|BUILD)"
)
_GLOBAL = re.compile("numpy[.]_?core[.]multiarray _reconstruct|numpy (dtype|ndarray)")
_KEY = re.compile(
    b"data|filenames|batch_label|num_[a-z_]+|(fine_|coarse_)?label(s|_names)"
)


@functools.cache  # called for each of many thousand opcodes
def _kind(opcode: str) -> str | None:
    """Return the kind of an opcode of a pickle; None if it is rejected."""
    known = _OPCODE.fullmatch(opcode)
    return known and known.lastgroup


PickleConstant = int | bytes
"""A number, a Boolean or a byte string of a pickle."""


def read_constants(path: str | os.PathLike[str]) -> dict[bytes, list[PickleConstant]]:
    """Return the numbers, Booleans and bytes after each key of a CIFAR pickle.

    They are in the order of the file. A pickle is a program; this function only lists
    its opcodes. Nothing is imported, called or built, and opcodes that the official
    files do not use are rejected.
    """
    path = Path(path)
    with _open(path) as stream:
        raw = _read_at_most(stream, LARGEST_IMAGE_FILE + 1)
    _refuse_large(path, "contains at least", len(raw))
    constants: list[PickleConstant] = []
    by_key: dict[bytes, list[PickleConstant]] = {}
    why = ""
    try:
        for count, (opcode, value, _) in enumerate(pickletools.genops(raw)):
            kind = _kind(opcode.name)
            if kind == "number":
                constants.append(opcode.name == "NEWTRUE" if value is None else value)
            elif kind == "text" and isinstance(value, (str, bytes)):
                text = (
                    value.encode("latin-1", "replace")
                    if isinstance(value, str)
                    else value
                )
                if _KEY.fullmatch(text):
                    constants = by_key[text] = []
                else:
                    constants.append(text)
            elif kind is None:
                why = f"it uses the opcode {opcode.name}"
            elif opcode.name == "GLOBAL" and not _GLOBAL.fullmatch(str(value)):
                why = f"it calls {str(value)[:60]!r}"
            if why or count > _MOST_OPCODES:
                why = why or f"it has more than {_MOST_OPCODES} opcodes"
                break
    except (ValueError, struct.error) as error:
        raise DataError(
            f"{path} is a damaged pickle ({type(error).__name__})"
        ) from error
    if why:
        raise DataError(
            f"{path} is rejected: {why}, but only byte strings and plain containers are"
            " read"
        )
    return by_key


def read_cifar_batch(
    path: str | os.PathLike[str], classes: int
) -> tuple[Pixels, Labels]:
    """Read one CIFAR batch: pixels (n, 3, 32, 32) and labels (n,).

    CIFAR-100 labels are the fine labels.
    """
    content, key = read_constants(path), b"labels" if classes == 10 else b"fine_labels"
    if not {b"data", key} <= set(content):
        raise DataError(
            f"{path} is not a CIFAR-{classes} batch: it has no entries 'data' and"
            f" '{key.decode()}'; {OTHER_IMAGES}"
        )
    labels = content[key]
    # a pickled array: ..., dtype, ..., whether it is in Fortran order, its bytes
    match content[b"data"]:
        case [*header, bool(by_columns), bytes(raw)] if (
            b"u1" in header and raw and len(raw) % 3072 == 0
        ):
            data = np.frombuffer(raw, np.uint8).reshape(
                (-1, 3072), order="F" if by_columns else "C"
            )
        case _:
            raise DataError(
                f"{path}: 'data' is not an array of unsigned bytes of shape (n, 3072);"
                f" {OTHER_IMAGES}"
            )
    if not all(type(y) is int and 0 <= y < classes for y in labels):
        raise DataError(
            f"{path}: '{key.decode()}' is not a list of labels 0..{classes - 1};"
            f" {OTHER_IMAGES}"
        )
    if len(labels) != len(data):
        raise DataError(f"{path} has {len(data)} images and {len(labels)} labels")
    return data.reshape(-1, 3, 32, 32), np.array(labels, dtype=np.int64)


def read_cifar_names(path: str | os.PathLike[str], classes: int) -> tuple[str, ...]:
    """Read the names of the labels."""
    names = read_constants(path).get(
        b"label_names" if classes == 10 else b"fine_label_names", []
    )
    texts = [name for name in names if isinstance(name, bytes)]
    if not len(texts) == len(names) == classes:
        raise DataError(f"{path} does not have {classes} label names; {OTHER_IMAGES}")
    return tuple(text.decode("ascii", "replace") for text in texts)


def read_cifar(
    folder: Path, classes: int
) -> tuple[tuple[Pixels, Labels, Pixels, Labels], tuple[str, ...]]:
    """Read training and test images (n, 3, 32, 32) with labels, and label names.

    The files are those of CIFAR-10 or CIFAR-100.
    """
    if classes == 10:
        names = [f"data_batch_{k}" for k in range(1, 6)]
        test_name, meta = "test_batch", "batches.meta"
    else:
        names, test_name, meta = ["train"], "test", "meta"
    batches = [read_cifar_batch(folder / name, classes) for name in names]
    train_x = np.concatenate([pixels for pixels, _ in batches])
    train_y = np.concatenate([labels for _, labels in batches])
    test_x, test_y = read_cifar_batch(folder / test_name, classes)
    return (train_x, train_y, test_x, test_y), read_cifar_names(folder / meta, classes)


# -- Tiny-ImageNet

_LARGEST_TEXT = 10**7

ImageIndex = tuple[list[str], list[tuple[Path, int]], list[tuple[Path, int]]]


def tiny_imagenet_index(
    folder: Path, classes: int = 200, per_class: int = 500, held_out: int = 10_000
) -> ImageIndex:
    """Return the classes and files of Tiny-ImageNet, after checking their numbers.

    Links are followed, because a user who can create links can also copy files.

    Parameters
    ----------
    folder : Path
    classes, per_class, held_out : int
        Required numbers of classes, of training images of each class, and of validation
        images.

    Returns
    -------
    ids : list of str
        Names of the classes, sorted; the label of a class is its position.
    train, held : lists of (Path, int)
        Training and validation images with their labels.

    Raises
    ------
    DataError
        If a number is different, a file is missing, or a listed name leads out of its
        folder.
    """
    listed, annotations = folder / "wnids.txt", folder / "val" / "val_annotations.txt"
    ids, rows = (
        sorted(_lines(listed)),
        [line.split("\t") for line in _lines(annotations) if line.strip()],
    )
    if len(ids) != classes:
        raise DataError(f"{listed} lists {len(ids)} classes, not {classes}")
    _refuse_paths(listed, ids)
    number = {wnid: k for k, wnid in enumerate(ids)}
    train: list[tuple[Path, int]] = []
    for wnid in ids:
        images = sorted((folder / "train" / wnid / "images").glob("*.JPEG"))
        if len(images) != per_class:
            raise DataError(
                f"{folder / 'train' / wnid} has {len(images)} images, not {per_class}"
            )
        train += [(image, number[wnid]) for image in images]
    if len(rows) != held_out or any(
        len(row) < 2 or row[1] not in number for row in rows
    ):
        raise DataError(f"{annotations} does not label {held_out} images")
    _refuse_paths(annotations, [row[0] for row in rows])
    held = [(folder / "val" / "images" / row[0], number[row[1]]) for row in rows]
    for path, _ in [*train, *held]:
        if not path.is_file():  # a pipe would block
            raise DataError(f"{path} is missing, or not a regular file")
    return ids, train, held


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file of limited size."""
    with _open(path) as stream:
        raw = _read_at_most(stream, _LARGEST_TEXT + 1)
    if len(raw) > _LARGEST_TEXT:
        raise DataError(
            f"{path} has more than {_LARGEST_TEXT} bytes: it is not a list of names"
        )
    return raw.decode("utf-8", "replace").splitlines()


def _refuse_paths(path: Path, names: list[str]) -> None:
    """Raise DataError if a name in a file could lead out of its folder."""
    for name in names:
        if name in ("", ".", "..") or any(c in name for c in "/\\\0*?["):
            raise DataError(
                f"{path} names {name[:60]!r}, which is not a plain file name"
            )


def refuse_links_out(root: Path, paths: Sequence[Path]) -> None:
    """Raise DataError if a path below ``root`` leads out of it through a link.

    Use this for files that are written or unpacked; files that are only read may be
    links.
    """
    inside = root.resolve()
    for path in [
        *dict.fromkeys(path.parent for path in paths),
        *(p for p in paths if p.is_symlink()),
    ]:
        if not path.resolve().is_relative_to(inside):
            raise DataError(f"{path} is a link that leads out of {root}")


def read_jpegs(files: list[tuple[Path, int]], side: int = 64) -> tuple[Pixels, Labels]:
    """Read square color images as (n, 3, side, side), decoding in several threads."""
    from concurrent.futures import ThreadPoolExecutor

    from PIL import Image

    pixels = np.empty((len(files), 3, side, side), np.uint8)

    def decode(k: int) -> None:
        """Decode image k into its place in ``pixels``."""
        path = files[k][0]
        try:
            # the size is known before decoding
            with Image.open(path, formats=["JPEG"]) as image:
                width, height = image.size
                if (width, height) != (side, side):
                    raise DataError(
                        f"{path} has {width} x {height} pixels, not {side} x {side}"
                    )
                pixels[k] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
        except (
            OSError,
            SyntaxError,
            Image.DecompressionBombError,
            Image.DecompressionBombWarning,
        ) as error:
            raise DataError(f"{path} is not a readable JPEG image: {error}") from error

    with ThreadPoolExecutor() as pool:
        list(pool.map(decode, range(len(files))))
    return pixels, np.array([label for _, label in files], dtype=np.int64)
