"""The official files of the image sets: paths, checksums and verification."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dfltheory.errors import DataError, checked_name
from dfltheory.tasks.formats import OTHER_IMAGES, tiny_imagenet_index

DATA_ROOT_VARIABLE = "DFLTHEORY_DATA_ROOT"
"""Environment variable with the folder of the data files."""


@dataclass(frozen=True)
class FileSet:
    """The files of an image set as published by its authors.

    Attributes
    ----------
    name : str
    folder : str
        Folder below the data root, named as in torchvision.
    files : dict of str to str
        MD5 checksum of each file; empty if only the archive has one.
    urls : dict of str to str
        Address of each file, unless there is an archive.
    archive : tuple of str, optional
        (address, MD5) of an archive that unpacks into ``folder``.
    """

    name: str
    folder: str
    files: Mapping[str, str]
    urls: Mapping[str, str] = field(default_factory=dict)
    archive: tuple[str, str] | None = None


_TORONTO = "https://www.cs.toronto.edu/~kriz/"
_IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def _idx_set(
    name: str, folder: str, address: str, md5: tuple[str, str, str, str]
) -> FileSet:
    """Return a set of four IDX files at one address."""
    files: dict[str, str] = {}
    urls: dict[str, str] = {}
    for file, checksum in zip(_IDX, md5, strict=True):
        files[file] = checksum
        urls[file] = address + file
    return FileSet(name, folder, files, urls)


_SETS = (
    _idx_set(
        "mnist",
        "MNIST/raw",
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        (
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "9fb629c4189551a2d022fa330f9573f3",
            "ec29112dd5afa0611ce80d1b7f02629c",
        ),
    ),
    _idx_set(
        "fashion_mnist",
        "FashionMNIST/raw",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        (
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "25c81989df183df01b3e8a0aad5dffbe",
            "bef4ecab320f06d8554ea6380940ec79",
            "bb300cfdad3c16e7a12a480ee83cd310",
        ),
    ),
    FileSet(
        "cifar10",
        "cifar-10-batches-py",
        {
            "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
            "data_batch_1": "c99cafc152244af753f735de768cd75f",
            "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
            "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
            "data_batch_4": "634d18415352ddfa80567beed471001a",
            "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
            "test_batch": "40351d587109b95175f43aff81a1287e",
        },
        archive=(
            _TORONTO + "cifar-10-python.tar.gz",
            "c58f30108f718f92721af3b95e74349a",
        ),
    ),
    FileSet(
        "cifar100",
        "cifar-100-python",
        {
            "meta": "7973b15100ade9c7d40fb424638fde48",
            "train": "16019d7e3df5f24257cddd939b257f8d",
            "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
        },
        archive=(
            _TORONTO + "cifar-100-python.tar.gz",
            "eb9058c3a382ffc7106e4002c42a8d85",
        ),
    ),
    # The 120000 JPEG files have no individual checksums; only the archive has one, and
    # the reader counts the files.
    FileSet(
        "tiny_imagenet",
        "tiny-imagenet-200",
        {},
        archive=(
            "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            "90528d7ca1a48142e341f4ef8d21d0de",
        ),
    ),
)
SETS: dict[str, FileSet] = {s.name: s for s in _SETS}
"""The image sets that are read from official files, by name."""


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the data files.

    It is the first of these that is set: ``root``, $DFLTHEORY_DATA_ROOT,
    $XDG_CACHE_HOME/dfltheory, ~/.cache/dfltheory. It need not exist.

    Raises
    ------
    DataError
        If it is a file.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    path = Path(
        root or os.environ.get(DATA_ROOT_VARIABLE) or caches / "dfltheory"
    ).expanduser()
    if path.exists() and not path.is_dir():
        raise DataError(f"the data root {path} is a file: it must be a folder")
    return path


@dataclass(frozen=True)
class FileState:
    """Result of the verification of a file.

    Attributes
    ----------
    path : Path
    state : {"ok", "missing", "empty", "wrong"}
    detail : str
        What is wrong, or what is present.
    """

    path: Path
    state: str
    detail: str = ""


def verify(
    name: str | FileSet, root: str | os.PathLike[str] | None = None
) -> list[FileState]:
    """Return the state of every file of an image set below a data root.

    Tiny-ImageNet is verified as one folder by its number of images.
    """
    entry = (
        SETS[checked_name("image set with files", name, SETS)]
        if isinstance(name, str)
        else name
    )
    base = data_root(root) / entry.folder
    if not entry.files:
        try:
            tiny_imagenet_index(base)
        except DataError as wrong:
            return [
                FileState(base, "wrong" if base.exists() else "missing", str(wrong))
            ]
        return [
            FileState(
                base, "ok", "100000 training and 10000 validation images are present"
            )
        ]
    return [_state(base / file, md5) for file, md5 in entry.files.items()]


def _state(path: Path, md5: str) -> FileState:
    """Return the state of one file, given the MD5 of the official one."""
    if not path.is_file():
        problem = "is missing"
        if path.is_symlink():
            problem = "is a link to a file that does not exist"
        return FileState(path, "missing", f"{path} {problem}")
    size = path.stat().st_size
    if size == 0:
        return FileState(path, "empty", f"{path} is empty")
    with path.open("rb") as stream:
        actual = hashlib.file_digest(stream, "md5").hexdigest()
    if actual == md5:
        return FileState(path, "ok")
    detail = f"{path} ({size} bytes) has MD5 {actual}, the official file has {md5}"
    return FileState(path, "wrong", detail)


def require(name: str, root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of an image set after verifying its files.

    Raises
    ------
    DataError
        For the first file that is missing or wrong.
    """
    for state in verify(name, root):
        if state.state != "ok":
            hint = f"; {OTHER_IMAGES}"
            if state.state == "missing":
                hint = (
                    f", or point --data-root or ${DATA_ROOT_VARIABLE} at a folder that"
                    " has"
                    f" {SETS[name].folder}"
                )
            raise DataError(
                f"{name}: {state.detail}; run `dfltheory data fetch {name}`{hint}"
            )
    return data_root(root) / SETS[name].folder
