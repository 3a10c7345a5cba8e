"""Small files in the official formats, written from the formats' descriptions."""

from __future__ import annotations

import gzip
import hashlib
import pickle
import struct
from pathlib import Path

import numpy as np


def idx(array: np.ndarray, kind: int = 8) -> bytes:
    return (
        bytes([0, 0, kind, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def cifar_batch(x: np.ndarray, y: list[int], key: bytes = b"labels") -> bytes:
    """Write byte strings and numpy's old module path, as the official batches (from
    Python 2) do.
    """
    raw = pickle.dumps({b"data": x.reshape(len(x), -1), key: y}, protocol=3)
    return raw.replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def images(n: int, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, *shape), dtype=np.uint8)


def mnist_folder(root: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Create a tiny MNIST under root; return its checksums by file, and its arrays."""
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    arrays = {
        "train-images-idx3-ubyte.gz": images(30, (28, 28)),
        "train-labels-idx1-ubyte.gz": (np.arange(30) % 10).astype(np.uint8),
        "t10k-images-idx3-ubyte.gz": images(20, (28, 28), 1),
        "t10k-labels-idx1-ubyte.gz": (np.arange(20) % 10).astype(np.uint8),
    }
    sums = {}
    for name, array in arrays.items():
        content = gzip.compress(idx(array), mtime=0)
        (folder / name).write_bytes(content)
        sums[name] = md5(content)
    return sums, arrays
