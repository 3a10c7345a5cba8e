"""Downloads of the official data files; incomplete downloads leave nothing behind."""

from __future__ import annotations

import logging
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dfltheory.errors import DataError, MissingExtraError, checked_name
from dfltheory.tasks.files import SETS, FileSet, data_root, verify
from dfltheory.tasks.formats import refuse_links_out

log = logging.getLogger("dfltheory")


def fetch(
    name: str | FileSet,
    root: str | os.PathLike[str] | None = None,
    *,
    tries: int = 3,
    report: Callable[[str], None] = log.info,
) -> Path:
    """Download the missing or damaged files of an image set, and return its folder.

    Files (or the archive) are downloaded into a temporary folder below the data root,
    compared with their official MD5, and moved into place. An interrupted or corrupted
    download leaves nothing behind and is repeated. Correct files are not downloaded
    again.

    Parameters
    ----------
    name : str or FileSet
        The image set.
    root : path, optional
        Data root; by default that of :func:`.files.data_root`.
    tries : int
        Number of attempts in all.
    report : callable
        Called with one line of text for each step.

    Returns
    -------
    Path
        The folder of the files.

    Raises
    ------
    DataError
        If a file cannot be fetched or written, or does not have the official MD5.
    MissingExtraError
        If the packages for downloads are not installed.
    """
    entry = (
        SETS[checked_name("image set with files", name, SETS)]
        if isinstance(name, str)
        else name
    )
    base = data_root(root)
    folder = base / entry.folder
    faulty_files = [state for state in verify(entry, root) if state.state != "ok"]
    if not faulty_files:
        report(f"{entry.name}: all files are present and correct")
        return folder
    _refuse_to_write_through_links(entry, base)
    try:
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=base) as temporary:

            def downloaded(address: str, md5: str) -> Path:
                report(f"{entry.name}: fetching {address}")
                return _download(address, md5, Path(temporary), tries)

            if entry.archive:
                archive = downloaded(*entry.archive)
                report(f"{entry.name}: unpacking")
                _put_in_place(entry, base, archive, Path(temporary))
            else:
                folder.mkdir(parents=True, exist_ok=True)
                for name_of_file in (state.path.name for state in faulty_files):
                    file = downloaded(
                        entry.urls[name_of_file], entry.files[name_of_file]
                    )
                    os.replace(file, folder / name_of_file)
    except OSError as error:
        raise DataError(
            f"cannot write below the data root {base}: {error.strerror or error}"
        ) from error
    return folder


def _refuse_to_write_through_links(entry: FileSet, base: Path) -> None:
    """Raise DataError if a folder below the data root is a link to another place."""
    try:
        refuse_links_out(base, [base / entry.folder / "file"])
    except DataError as wrong:
        raise DataError(
            f"{wrong}: files are read through links, but not written; copy the official"
            " files there yourself, or remove the link"
        ) from None


def _put_in_place(entry: FileSet, base: Path, packed: Path, temporary: Path) -> None:
    """Unpack an archive, and replace the old folder once all files are verified."""
    unpacked = temporary / "unpacked"
    try:
        # zip archives create no links, and names with .. are skipped
        shutil.unpack_archive(
            packed, unpacked, filter=None if packed.suffix == ".zip" else "data"
        )
    except (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"{packed.name} cannot be unpacked: {error}") from error
    refuse_links_out(unpacked, list(unpacked.rglob("*")))
    if not (unpacked / entry.folder).is_dir():
        raise DataError(f"{packed.name} does not contain the folder {entry.folder}")
    bad = next(
        (state for state in verify(entry, unpacked) if state.state != "ok"), None
    )
    if bad is not None:
        detail = bad.detail.replace(f"{unpacked}{os.sep}", "")
        raise DataError(f"{entry.name}: the archive is the official one, but {detail}")
    target = base / entry.folder
    if target.exists():
        os.replace(target, temporary / "old")
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(unpacked / entry.folder, target)


def _download(address: str, md5: str, temporary: Path, tries: int) -> Path:
    """Download a file to the temporary folder, and check its MD5."""
    try:
        import pooch
        import requests
    except ImportError:
        raise MissingExtraError("downloading data", "data") from None

    pooch.get_logger().setLevel(logging.ERROR)
    name = address.rsplit("/", 1)[-1]
    store = pooch.create(
        temporary,
        "",
        registry={name: f"md5:{md5}"},
        urls={name: address},
        retry_if_failed=tries - 1,
    )
    downloader: Any = pooch.HTTPDownloader(chunk_size=1 << 16, timeout=60)
    try:
        return Path(store.fetch(name, downloader=downloader))
    except requests.RequestException as error:
        reason = type(error).__name__
        if isinstance(error, requests.HTTPError):
            reason = str(error)
        raise DataError(
            f"{address} cannot be fetched ({reason}, {tries} tries)"
        ) from error
    except ValueError as error:  # raised by pooch if the checksum differs
        raise DataError(
            f"{address} does not have the official MD5 {md5} ({tries} tries):"
            " damaged or changed"
        ) from error
