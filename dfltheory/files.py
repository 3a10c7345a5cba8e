"""Atomic writing of files and folders, locks, and reading of untrusted files.

A file is written to a temporary file in the same folder, flushed, and renamed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dfltheory.errors import DataError, DFLTheoryError, InputError

_STAGED = ".new-"
"""Start of the name of a temporary folder."""
_STEM = 40
"""Number of characters of a file's stem in the name of its temporary file."""


@contextlib.contextmanager
def _naming(target: Path, temporary: Path) -> Iterator[None]:
    """Add the name of the written file to errors of the operating system.

    A full disk, for example, is reported without a name, or with the name of a
    temporary file.
    """
    try:
        yield
    except OSError as error:
        named = error.filename
        if error.errno is not None and named is None:
            error.filename = str(target)
        elif isinstance(named, str) and Path(named).is_relative_to(temporary):
            error.filename = str(target / Path(named).relative_to(temporary))
        raise


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path that replaces ``path`` when the block ends.

    The temporary file has the same suffix and folder. Readers see the old file or the
    new one, never a part of it. If the block raises, the old file stays.

    >>> with replacing("table.parquet") as temporary:  # doctest: +SKIP
    ...     frame.to_parquet(temporary)
    """
    target = Path(path)
    _refuse_no_file(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_file_for(target)
    try:
        with _naming(target, temporary):
            yield temporary
            with open(temporary, "rb+") as written:
                os.fsync(written.fileno())
            temporary.chmod(0o666 & ~_umask())
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def filling(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder whose files are moved into ``folder`` at the end.

    Nothing is moved if the block raises. Files of the same names are removed before the
    first one is moved, so an interrupted process leaves files of one run only. Other
    files stay. Each move is atomic. One process at a time holds the folder
    (:func:`alone`).
    """
    target = Path(folder)
    with alone(target, folder=True):
        new = Path(tempfile.mkdtemp(prefix=_STAGED, dir=target))
        try:
            with _naming(target, new):
                yield new
            places = {
                path: target / path.relative_to(new)
                for path in sorted(new.rglob("*"))
                if path.is_file()
            }
            # removed before the first move, so files of two runs are never mixed
            for place in places.values():
                place.unlink(missing_ok=True)
            for path, place in places.items():
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, place)
        finally:
            shutil.rmtree(new, ignore_errors=True)


@contextlib.contextmanager
def alone(place: str | os.PathLike[str], *, folder: bool = False) -> Iterator[None]:
    """Lock a file, or the files of a folder, against other processes of this machine.

    Incomplete files of killed writers are removed. The lock belongs to the operating
    system and ends with its process, so a remaining lock file has no effect. Systems
    without such locks (Windows, some network disks) are not protected.

    Raises
    ------
    InputError
        If another process holds the lock; the message has its number and command.
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
        held = open(lock, "a+", encoding="utf-8")  # noqa: SIM115  (closed below, after it is unlinked)
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
        held.close()  # the previous holder removed the file in the meantime
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
    """Remove the incomplete temporary files of killed writers of these files.

    Only the process that holds the lock may call this function. A stem ``*`` matches
    every file with that suffix.
    """
    for whole in map(Path, wholes):
        stem = "[^/]*" if whole.stem == "*" else re.escape(whole.stem[:_STEM])
        half = re.compile(
            rf"\.{stem}-[a-z0-9_]{{8}}{re.escape(whole.suffix)}"
        )  # names created by _temporary_file_for
        for path in whole.parent.iterdir():
            if half.fullmatch(path.name):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Convert errors caused by the content of a file to a DataError.

    Errors of this package that name the file, and errors of the operating system (no
    such file), are not changed.
    """
    try:
        yield
    except DFLTheoryError as error:
        if str(path) in str(error):
            raise
        raise DataError(f"{path}: {error}") from error
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = " ".join(str(error).split())
        if len(reason) > 200:
            reason = f"{reason[:200]}..."
        raise DataError(
            f"{path} cannot be read as {what}: {type(error).__name__}: {reason}"
        ) from error


def read_bytes(path: str | os.PathLike[str], max_bytes: float = math.inf) -> bytes:
    """Return the content of an untrusted file.

    Raises
    ------
    InputError
        If the file does not exist, is a folder or a device, or has more than
        ``max_bytes``.
    """
    file = Path(path)
    if not file.exists():
        raise InputError(f"{path} does not exist")
    if not file.is_file():
        raise InputError(f"{path} is not a regular file")
    if file.stat().st_size > max_bytes:
        raise InputError(
            f"{path} has {file.stat().st_size} bytes: at most {max_bytes:g} are read"
        )
    return file.read_bytes()


def read_json(
    path: str | os.PathLike[str],
    max_bytes: float = math.inf,
    parse_float: Callable[[str], float] = float,
) -> Any:
    """Return the content of a JSON file (UTF-8).

    Parameters
    ----------
    path : path
        The file.
    max_bytes : float
        Largest size.
    parse_float : callable
        Parser of decimal numbers.

    Raises
    ------
    InputError
        As :func:`read_bytes`.
    DataError
        If the content is not JSON.
    """
    content = read_bytes(path, max_bytes)
    with reading(path, "JSON"):
        return json.loads(content.decode("utf-8"), parse_float=parse_float)


def check_writable(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    """Raise InputError if a file, or a file in a folder, cannot be written.

    As a test, missing folders and a temporary file are created in place and removed.

    Raises
    ------
    InputError
        If there is a folder instead of a file or vice versa, or the place is read-only,
        full or invalid.
    """
    target = Path(path)
    try:
        if folder and target.exists() and not target.is_dir():
            raise InputError(
                f"{path} is a file, but a folder is to be written there: use another"
                " name"
            )
        if folder and target.resolve() == Path(target.resolve().anchor):
            raise InputError(
                f"{path} is the root of the file system: use a folder below it, such as"
                " results/run"
            )
        if not folder:
            _refuse_no_file(target)
            if target.exists() and not os.access(target, os.W_OK):
                raise InputError(
                    f"{path} is read-only: use another name, or make it writable"
                )
        probe = target / "probe" if folder else target
        missing = [p for p in (probe.parent, *probe.parent.parents) if not p.exists()]
        try:
            probe.parent.mkdir(parents=True, exist_ok=True)
            temporary = _temporary_file_for(probe)
            try:
                temporary.write_bytes(b"a few bytes, to detect a full disk")
            finally:
                temporary.unlink()
        finally:
            for created in missing:
                with contextlib.suppress(OSError):
                    created.rmdir()
    except InputError:
        raise
    # ValueError: a name with a null byte or invalid text
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a valid file name"
        raise InputError(f"{path} cannot be written: {reason}") from error


def _refuse_no_file(target: Path) -> None:
    """Raise InputError if the target exists and is not a regular file."""
    if target.is_dir() or target.name in ("", "..") or str(target).endswith(os.sep):
        raise InputError(
            f"{target} is a folder, but a file is to be written there: use the name of"
            " a file"
        )
    if target.exists() and not target.is_file():
        raise InputError(
            f"{target} is a device or a pipe, which results must not replace: use the"
            " name of a file"
        )


def _temporary_file_for(target: Path) -> Path:
    """Create an empty temporary file with the target's folder and suffix."""
    handle, name = tempfile.mkstemp(
        prefix=f".{target.stem[:_STEM]}-", suffix=target.suffix, dir=target.parent
    )
    os.close(handle)
    return Path(name)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file (UTF-8) atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], document: object) -> None:
    """Write a JSON document, which may contain numpy and torch values, atomically."""
    write_text(path, json_text(document) + "\n")


def json_text(document: object) -> str:
    """Return the document as indented, valid JSON (see :func:`json_value`)."""
    return json.dumps(json_value(document), indent=2, allow_nan=False)


def json_value(value: object) -> Any:
    """Convert a value to JSON types.

    Infinite numbers and nan become the strings "Infinity", "-Infinity" and "NaN", which
    ``float`` can parse.
    """
    if isinstance(value, Mapping):
        return {str(k): json_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(v) for v in value]
    to_list = getattr(value, "tolist", None)
    if to_list is not None:  # numpy and torch, scalars and arrays
        return json_value(to_list())
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return "NaN"
        return "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _umask() -> int:
    """Return the permissions that this process withholds from new files."""
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask


__all__ = [
    "alone",
    "check_writable",
    "filling",
    "json_text",
    "json_value",
    "read_bytes",
    "read_json",
    "reading",
    "remove_halves",
    "replacing",
    "write_json",
    "write_text",
]
