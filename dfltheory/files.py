"""Files that are either whole or absent: written beside their place, flushed, then renamed into it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from dfltheory.errors import DataError, DFLTheoryError, InputError

_STAGED = ".new-"
_STEM = 40
"""Characters of a file's name that its temporary file keeps: names may be too long otherwise."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, of the same suffix, that takes its place when the block ends well.

    A reader sees the old file or the new one, never a half; when the block raises, the old one stays.

    >>> with replacing("table.parquet") as temporary:  # doctest: +SKIP
    ...     frame.to_parquet(temporary)
    """
    target = Path(path)
    _refuse_no_file(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(target)
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def filling(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary folder inside ``folder``; its files are moved into ``folder`` when the block ends well.

    Nothing is moved if the block raises. Files of the same names are removed before the first one is moved,
    so that a process that ends in between leaves files of one run; other files stay. Each move is atomic.
    One process at a time (:func:`alone`).
    """
    target = Path(folder)
    with alone(target, folder=True):
        new = Path(tempfile.mkdtemp(prefix=_STAGED, dir=target))
        try:
            yield new
            places = {
                path: target / path.relative_to(new) for path in sorted(new.rglob("*")) if path.is_file()
            }
            for place in places.values():  # before any is moved: never files of two runs
                place.unlink(missing_ok=True)
            for path, place in places.items():
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, place)
        finally:
            shutil.rmtree(new, ignore_errors=True)


@contextlib.contextmanager
def alone(place: str | os.PathLike[str], *, folder: bool = False) -> Iterator[None]:
    """Be the only writer of a file, or of a folder's files, among the processes of this machine.

    What a killed writer has left of the file, or of files for the folder, half-written is removed. The lock
    is the system's own: it ends with its process, however that ends, and a lock file that is left behind
    holds nobody up. Where the system has no such locks (Windows, some network disks), nothing is held.

    Raises
    ------
    InputError
        Another process holds it: its number and command.
    """
    target = Path(place)
    lock = target / ".lock" if folder else target.with_name(f".{target.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    while True:
        held = open(lock, "a+", encoding="utf-8")  # noqa: SIM115  (closed below, after its name is gone)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.seek(0)
            holder = re.sub(r"[^ -~]", "?", held.read(200)) or "another process"
            held.close()
            raise InputError(
                f"{place} is being written by {holder}: wait for it, or write elsewhere"
            ) from None
        except OSError:  # a disk without locks
            pass
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(held.fileno()), os.stat(lock)):
                break
        held.close()  # its last holder has removed it in between
    try:
        held.truncate(0)
        held.write(f"process {os.getpid()} ({Path(sys.argv[0]).name})")
        held.flush()
        if folder:
            for staged in target.glob(f"{_STAGED}????????"):
                shutil.rmtree(staged, ignore_errors=True)
        else:
            remove_halves(target)
        yield
    finally:
        lock.unlink(missing_ok=True)
        held.close()


def remove_halves(*wholes: str | os.PathLike[str]) -> None:
    """Remove what killed writers have left of these files half-written: for their one writer alone.

    ``*`` as the stem of a name is every file of its suffix.
    """
    for whole in map(Path, wholes):
        stem = "[^/]*" if whole.stem == "*" else re.escape(whole.stem[:_STEM])
        half = re.compile(rf"\.{stem}-[a-z0-9_]{{8}}{re.escape(whole.suffix)}")  # as _beside calls them
        for path in whole.parent.iterdir():
            if half.fullmatch(path.name):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Whatever the content of a foreign or damaged file breaks while it is read is one line of DataError.

    Errors of the package itself that name the file pass, and those of the system (no such file).
    """
    try:
        yield
    except DFLTheoryError as wrong:
        if str(path) in str(wrong):
            raise
        raise DataError(f"{path}: {wrong}") from wrong
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as wrong:
        said = " ".join(str(wrong).split())
        said = said if len(said) <= 200 else f"{said[:200]}..."
        raise DataError(f"{path} cannot be read as {what}: {type(wrong).__name__}: {said}") from wrong


def check_npy(path: str | os.PathLike[str], stream: IO[bytes], size: float, most: float) -> None:
    """Refuse an npy stream that numpy should not load; only its header is read.

    Parameters
    ----------
    path : the file, for messages
    stream : at the first byte of the array
    size : bytes of the stream
    most : numbers that the array may have

    Raises
    ------
    InputError
        No npy stream; Python objects (pickled); more than ``most`` numbers, or more than ``size`` bytes hold.
    """
    from numpy.lib import format as npy

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, _, dtype = headers[npy.read_magic(stream)](stream)
    except Exception as error:  # whatever the parser of the header raises
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: not an npy array ({reason:.100}): save numbers by numpy.save") from error
    if dtype.hasobject:
        raise InputError(f"{path}: holds Python objects, which are never loaded: save arrays of numbers")
    count = math.prod(shape)
    if any(n < 0 for n in shape) or count > most or count * dtype.itemsize > size:
        raise InputError(
            f"{path}: declares an array of shape {shape} and type {dtype}: at most {most:.4g} numbers"
            f" and the {size:.4g} bytes of the file are read"
        )


def check_npz(path: str | os.PathLike[str], most: float) -> list[str]:
    """Return the names of the arrays of an npz archive that numpy may load: see :func:`check_npy`.

    ``most`` limits the numbers of each array, and the bytes of all to eight times as many.
    """
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: not an npz archive (a zip of arrays): save it by numpy.savez")
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > 8 * most:
            raise InputError(f"{path}: unpacks to {size:.4g} bytes: at most {8 * most:.4g} are read")
        for part in archive.infolist():
            with archive.open(part) as stream:
                check_npy(path, stream, part.file_size, most)
        return [name.removesuffix(".npy") for name in archive.namelist()]


def check_writable(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    """Refuse in one line, before any work is done, a file (or a folder for files) that cannot be written.

    It tries: missing folders and a temporary file are made where the real ones would be, and removed.

    Raises
    ------
    InputError
        A folder where a file is meant or the other way round; read-only, full or impossible places.
    """
    target = Path(path)
    try:
        if folder and target.exists() and not target.is_dir():
            raise InputError(f"{path} is a file, and a folder is to be written there: give another name")
        if not folder:
            _refuse_no_file(target)
            if target.exists() and not os.access(target, os.W_OK):
                raise InputError(f"{path} is read-only: give another name, or make it writable")
        probe = target / "probe" if folder else target
        missing = [p for p in (probe.parent, *probe.parent.parents) if not p.exists()]
        try:
            probe.parent.mkdir(parents=True, exist_ok=True)
            temporary = _beside(probe)
            try:
                temporary.write_bytes(b"a few bytes, so that a full disk is seen")
            finally:
                temporary.unlink()
        finally:
            for made in missing:
                with contextlib.suppress(OSError):
                    made.rmdir()
    except InputError:
        raise
    except (OSError, ValueError) as wrong:  # ValueError: a name with a null in it, or no valid text
        reason = getattr(wrong, "strerror", None) or "no file can be called so"
        raise InputError(f"{path} cannot be written: {reason}") from wrong


def _refuse_no_file(target: Path) -> None:
    """Refuse to replace what is there and is no regular file: a folder, a device, a pipe."""
    if target.is_dir() or target.name in ("", "..") or str(target).endswith(os.sep):
        raise InputError(f"{target} is a folder, and a file is to be written there: give the file's name")
    if target.exists() and not target.is_file():
        raise InputError(f"{target} is a device or a pipe, which no result can replace: give a file's name")


def _beside(target: Path) -> Path:
    """An empty temporary file in the target's folder, of the same suffix."""
    handle, name = tempfile.mkstemp(
        prefix=f".{target.stem[:_STEM]}-", suffix=target.suffix, dir=target.parent
    )
    os.close(handle)
    return Path(name)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file (UTF-8) atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], document: Any) -> None:
    """Write one JSON document atomically, numbers and arrays of any library included."""
    write_text(path, json_text(document) + "\n")


def json_text(document: Any) -> str:
    """The document as JSON, indented; valid JSON even where numbers are infinite (see :func:`plain`)."""
    return json.dumps(plain(document), indent=2, allow_nan=False)


def plain(value: Any) -> Any:
    """The value in JSON's own types. JSON knows no infinity and no nan: they become the strings
    "Infinity", "-Infinity" and "NaN", which ``float`` reads back."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # numpy and torch, scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask


__all__ = [
    "alone",
    "check_npy",
    "check_npz",
    "check_writable",
    "filling",
    "json_text",
    "plain",
    "reading",
    "remove_halves",
    "replacing",
    "write_json",
    "write_text",
]
