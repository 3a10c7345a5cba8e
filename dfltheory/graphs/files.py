"""Reading a user's matrix or graph from a file: npy, npz, csv, txt, mtx, or an edge list."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import Matrix, read_matrix

NPY_MAGIC = b"\x93NUMPY"
EDGE_LISTS = (".edgelist", ".edges", ".el")
SUFFIXES = (".npy", ".npz", ".csv", ".txt", ".mtx", *EDGE_LISTS)

# What a file may promise; it is held to this before memory is taken.
NUMBERS = 2**28
"""Numbers in one matrix: 2 GiB of float64, a dense matrix of 16,384 clients."""
CLIENTS = 10**7
"""Clients of a sparse matrix."""
IDLE = 2**16
"""Clients of a sparse matrix that has fewer entries than clients."""
LINKS = 2**22
"""Lines of an edge list."""
TEXT, LINE, NAME = 2**29, 2**20, 100
"""Bytes of a file of text, characters of one of its lines, and of one name of a client."""

_SPARSE: dict[str, tuple[str, ...]] = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "coo": ("row", "col"),
}
"""The formats of ``scipy.sparse.save_npz``, and the arrays that hold the places of each."""


def read_matrix_file(path: str | Path, *, directed: bool = False) -> Matrix | nx.Graph:
    """The matrix in a file, or the graph of an edge list without weights.

    ``.npy`` one array; ``.npz`` one array, or a scipy sparse matrix; ``.csv`` (commas) and ``.txt`` (blanks)
    one row a line, ``#`` starts a comment; ``.mtx`` Matrix Market; ``.edgelist``, ``.edges``, ``.el`` one
    link ``u v`` or ``u v weight`` a line: with weights it is a matrix (``u u weight`` for the diagonal; each
    line is w_uv and w_vu, or with ``directed`` the weight of u -> v alone). Clients are numbered in the order
    of their numbers or names in the file: :func:`client_names`.

    Anything that cannot be read as a finite square matrix raises :class:`InputError` naming file and place.
    Pickled arrays are never loaded, places out of the matrix are refused before they are used, and a file
    that promises more than :data:`NUMBERS`, :data:`CLIENTS` or :data:`LINKS` before memory is taken for it.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path}: cannot tell the format from {suffix or 'no suffix'!r}; known: {', '.join(SUFFIXES)}"
        )
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would be waited for
        raise InputError(f"{path}: not a regular file")
    try:
        raw = _graph_of(*_links(path), directed, path) if suffix in EDGE_LISTS else _LOAD[suffix](path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except InputError:
        raise
    except Exception as error:  # whatever a parser of a foreign format raises
        raise InputError(f"{path}: not a readable {suffix[1:]} file: {_short(error)}") from error
    if isinstance(raw, nx.Graph):
        return raw
    try:
        W, _ = read_matrix(raw, "the matrix")
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    entries = sp.coo_array(W)
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad):
        i, j = (int(c[bad[0]]) for c in entries.coords)
        raise InputError(f"{path}: entry ({i}, {j}) is {entries.data[bad[0]]}, not a finite number")
    if raw.dtype in (np.float16, np.float32):  # its sums are right to the rounding of its own type
        return W.astype(raw.dtype)  # type: ignore[return-value]
    return W


def _hold(path: Path, what: str, count: int, most: int) -> None:
    """Refuse a file that promises more than ``most`` of something."""
    if not 0 <= count <= most:
        raise InputError(f"{path}: asks for {count:.4g} {what}: 0 to {most} are read")


def _hold_idle(path: Path, clients: int, entries: int) -> None:
    """Refuse millions of clients that share a few entries: small files that ask for much work."""
    _hold(path, f"clients with {entries} entries", clients, max(IDLE, entries))


def _short(told: object) -> str:
    """What a file says, as one short line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(told)).split())
    return line if len(line) <= 200 else f"{line[:200]}..."


def _load_mtx(path: Path) -> Any:
    from scipy.io import mminfo, mmread

    rows, columns, entries, form, *_ = mminfo(path)
    for size in (rows, columns):
        _hold(path, "clients", size, CLIENTS)
    _hold(path, "numbers", rows * columns if form == "array" else entries, NUMBERS)
    _hold(path, f"entries in {path.stat().st_size} bytes", entries, path.stat().st_size // 2)
    if form != "array":
        _hold_idle(path, max(rows, columns), entries)
    return mmread(path)


def _load_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        return _array(file, path, path.stat().st_size)


def _array(file: Any, path: Path, size: int) -> np.ndarray:
    """The array of an npy stream of ``size`` bytes; one of Python objects (pickled), and one that promises
    more than there is, are refused in our own words before memory is taken."""
    magic = file.read(len(NPY_MAGIC))
    if magic != NPY_MAGIC:
        raise InputError(f"{path}: does not begin as an npy file does: save the matrix with numpy.save")
    file.seek(0)
    version = np.lib.format.read_magic(file)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in headers:
        raise InputError(f"{path}: has npy version {version[0]}.{version[1]}, which no matrix needs")
    shape, _, dtype = headers[version](file)
    if dtype.hasobject:
        raise InputError(
            f"{path}: holds Python objects, which are never loaded: save the matrix as an array of numbers"
        )
    if any(n < 0 for n in shape):
        raise InputError(f"{path}: declares an array of shape {shape}")
    _hold(path, "numbers", math.prod(shape), NUMBERS)
    _hold(path, f"bytes of numbers in a file of {size}", math.prod(shape) * dtype.itemsize, size)
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _load_npz(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: not an npz archive (a zip of arrays): save it with numpy.savez")
    with zipfile.ZipFile(path) as archive:
        parts = {part.filename.removesuffix(".npy"): part for part in archive.infolist()}

        def array(name: str) -> np.ndarray:
            if name not in parts:
                raise InputError(f"{path}: lacks the array {name} of a sparse matrix")
            with archive.open(parts[name]) as file:
                return _array(file, path, parts[name].file_size)

        if "format" in parts:
            return _sparse(array, path)
        if len(parts) != 1:
            names = _short(", ".join(parts))
            raise InputError(f"{path}: holds {len(parts)} arrays ({names}), not one matrix")
        return array(*parts)


def _sparse(array: Any, path: Path) -> Any:
    """What ``scipy.sparse.save_npz`` wrote. scipy's loops follow the places in a file without looking where
    they lead, so all of them are looked at here."""
    word = array("format")
    kind = word.item() if word.shape == () else word
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    if not isinstance(kind, str) or kind not in _SPARSE:
        raise InputError(f"{path}: not a sparse matrix in one of the formats {', '.join(_SPARSE)}")
    told = array("shape")
    if told.shape != (2,) or told.dtype.kind not in "iu":
        raise InputError(f"{path}: the shape of a sparse matrix is two whole numbers")
    shape = int(told[0]), int(told[1])
    for size in shape:
        _hold(path, "clients", size, CLIENTS)
    data, *places = (array(name) for name in ("data", *_SPARSE[kind]))
    for name, place in zip(_SPARSE[kind], places):
        if place.dtype.kind not in "iu" or place.ndim != 1:
            raise InputError(f"{path}: {name} is not a list of whole numbers")
    _hold_idle(path, max(shape), len(data))
    if kind == "coo":
        return sp.coo_array((data, tuple(places)), shape=shape)  # which looks at the places itself
    A = {"csr": sp.csr_array, "csc": sp.csc_array}[kind]((data, *places), shape=shape)
    A.check_format(full_check=True)
    if len(A.data) != len(data):
        raise InputError(f"{path}: indptr must lead from 0 to the {len(data)} entries")
    return A


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines with something in them, and their numbers; ``#`` starts a comment."""
    _hold(path, "bytes of text", path.stat().st_size, TEXT)
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if len(line) > LINE:
                raise InputError(f"{path}, line {number}: has {len(line)} characters: {LINE} are read")
            if words := line.split("#", 1)[0].strip():
                yield number, words


def _load_text(path: Path) -> np.ndarray:
    rows: list[np.ndarray] = []
    delimiter = "," if path.suffix.lower() == ".csv" else None
    for number, words in _lines(path):
        row = np.array([_number(word.strip(), path, number) for word in words.split(delimiter)])
        if rows and len(row) != len(rows[0]):
            raise InputError(
                f"{path}, line {number}: {len(row)} numbers where the first row has {len(rows[0])}"
            )
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: holds no numbers")
    table = np.array(rows)
    if _could_be_links(table):
        raise InputError(
            f"{path}: {len(rows)} rows of {len(rows[0])} numbers look like an edge list, not a matrix: name "
            f"the file {path.stem}.edgelist to have links read"
        )
    return table


def _could_be_links(table: np.ndarray) -> bool:
    """Whether the lines read as links `u v` or `u v weight` better than as rows of weights.

    They start with two client numbers, and are not square or name a client 2 or more, which no weight is.
    """
    count, width = table.shape
    if width not in (2, 3):
        return False
    ends = table[:, :2]
    if not (np.isfinite(ends).all() and (ends >= 0).all() and (ends == np.floor(ends)).all()):
        return False
    return count != width or bool(ends.max() > 1)


def client_names(path: str | Path) -> list[str] | None:
    """What an edge list calls clients 0, 1, ...; None where it calls them so too, or where it is a matrix."""
    path = Path(path)
    if path.suffix.lower() not in EDGE_LISTS:
        return None
    names = _in_order({name for link in _links(path)[0] for name in link})
    return None if names == [str(k) for k in range(len(names))] else names


def _links(path: Path) -> tuple[list[tuple[str, str]], list[float | None]]:
    """The links of an edge list and their weights, all of them None or none."""
    links: list[tuple[str, str]] = []
    weights: list[float | None] = []
    for number, line in _lines(path):
        words = line.replace(",", " ").split()
        if len(words) not in (2, 3):
            raise InputError(f"{path}, line {number}: {len(words)} words, not `u v` or `u v weight`")
        for name in words[:2]:
            if len(name) > NAME or not name.isprintable():  # names are shown on terminals
                raise InputError(
                    f"{path}, line {number}: {_short(name)!r} is not a printable name of 1 to {NAME}"
                )
        _hold(path, "links", len(links) + 1, LINKS)
        links.append((words[0], words[1]))
        weights.append(_number(words[2], path, number) if len(words) == 3 else None)
    if not links:
        raise InputError(f"{path}: holds no links")
    given = [w is not None for w in weights]
    if any(given) and not all(given):
        raise InputError(f"{path}: some links have a weight and some have none")
    return links, weights


def _in_order(names: set[str]) -> list[str]:
    numbers = all(name.isdecimal() for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if numbers else None)


def _graph_of(links: list[tuple[str, str]], weights: list[float | None], directed: bool, path: Path) -> Any:
    ordered = _in_order({name for link in links for name in link})
    place = {name: k for k, name in enumerate(ordered)}
    u, v = (np.array([place[link[end]] for link in links]) for end in (0, 1))
    if weights[0] is None:
        graph: nx.Graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from(range(len(ordered)))
        graph.add_edges_from(zip(u.tolist(), v.tolist()))
        return graph
    given: dict[tuple[int, int], float] = {}
    for (a, b), end, other, weight in zip(links, u.tolist(), v.tolist(), weights):
        pair = (end, other) if directed else (min(end, other), max(end, other))
        if given.setdefault(pair, weight or 0.0) != (weight or 0.0):
            way_out = "give one" if directed else "give one, or read the lines as arcs (directed)"
            raise InputError(
                f"{path}: the link {a} {b} has two weights, {given[pair]:g} and {weight:g}: {way_out}"
            )
    u, v = np.array(list(given)).T
    w = np.array(list(given.values()))
    size = (len(ordered), len(ordered))
    if directed:  # u sends to v: v is the row
        return sp.csr_array(sp.coo_array((w, (v, u)), shape=size))
    off = u != v
    return sp.csr_array(sp.coo_array((np.r_[w, w[off]], (np.r_[u, v[off]], np.r_[v, u[off]])), shape=size))


def _number(word: str, path: Path, line: int) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(f"{path}, line {line}: {_short(word)!r} is not a number") from None


_LOAD = {".npy": _load_npy, ".npz": _load_npz, ".csv": _load_text, ".txt": _load_text, ".mtx": _load_mtx}
