"""Reading a user's matrix or graph from a file: npy, npz, csv, txt, mtx, or an edge list."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import InputError
from dfltheory.files import check_npy, check_npz
from dfltheory.graphs.matrices import Matrix, read_matrix

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
"""Lines of an edge list, comments included."""
TEXT, NAME = 2**29, 100
"""Bytes of a file of text, and characters of one name of a client."""

SPARSE = ("csr", "csc", "coo")
"""Formats of ``scipy.sparse.save_npz`` that are read."""


def read_matrix_file(path: str | Path, *, directed: bool = False) -> Matrix | nx.Graph:
    """The matrix in a file, or the graph of an edge list without weights.

    ``.npy`` one array; ``.npz`` one array, or a scipy sparse matrix; ``.csv`` (commas) and ``.txt`` (blanks)
    one row a line, ``#`` starts a comment; ``.mtx`` Matrix Market; ``.edgelist``, ``.edges``, ``.el`` one
    link ``u v`` or ``u v weight`` a line: with weights it is a matrix (``u u weight`` for the diagonal; each
    line is w_uv and w_vu, or with ``directed`` the weight of u -> v alone). Clients are numbered in the order
    of their numbers or names in the file: :func:`client_names`.

    Anything that cannot be read as a finite square matrix raises :class:`InputError` naming file and place.
    Pickled arrays are never loaded, indices outside of the matrix are refused before they are used, and a
    file that promises more than :data:`NUMBERS`, :data:`CLIENTS` or :data:`LINKS` before memory is taken.
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
        raw = _load_links(path, directed) if suffix in EDGE_LISTS else _LOAD[suffix](path)
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


def _short(text: object) -> str:
    """Text from a file as one short line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
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
    with path.open("rb") as stream:
        check_npy(path, stream, path.stat().st_size, NUMBERS)
    return np.load(path, allow_pickle=False)


def _load_npz(path: Path) -> Any:
    names = check_npz(path, NUMBERS)
    if "format" in names:
        return _load_sparse(path)
    if len(names) != 1:
        listed = _short(", ".join(names))
        raise InputError(f"{path}: holds {len(names)} arrays ({listed}): save one matrix by numpy.savez")
    with np.load(path, allow_pickle=False) as arrays:
        return arrays[names[0]]


def _load_sparse(path: Path) -> Any:
    """A matrix of ``scipy.sparse.save_npz``; scipy's loops do not check the indices of a file."""
    with np.load(path, allow_pickle=False) as arrays:
        for name in {"indices", "indptr", "row", "col"} & set(arrays):
            if arrays[name].dtype.kind not in "iu":
                raise InputError(f"{path}: {name} has type {arrays[name].dtype}: save whole numbers")
    W: Any = sp.load_npz(path)
    if W.format not in SPARSE:
        raise InputError(f"{path}: has the sparse format {W.format}: save one of {', '.join(SPARSE)}")
    _hold(path, "clients", max(W.shape), CLIENTS)
    _hold_idle(path, max(W.shape), W.nnz)
    if W.format != "coo":  # scipy checks the indices of coo itself
        W.check_format(full_check=True)
    return W


def _table(path: Path, lines: Iterable[str], **options: Any) -> np.ndarray:
    """The rows of a text, as ``numpy.loadtxt`` reads them."""
    _hold(path, "bytes of text", path.stat().st_size, TEXT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="loadtxt: input contained no data")
        try:
            table = np.loadtxt(lines, ndmin=2, **options)
        except InputError:
            raise
        except ValueError as error:
            reason = _short(str(error).partition("; use")[0])
            raise InputError(f"{path}: {reason}: write rows of numbers, all of the same length") from error
    if not table.size:
        raise InputError(f"{path}: holds no rows: write numbers, or `u v` in each line of an edge list")
    return table


def _load_text(path: Path) -> np.ndarray:
    with path.open(encoding="utf-8-sig") as lines:
        table = _table(path, lines, delimiter="," if path.suffix.lower() == ".csv" else None)
    if _could_be_links(table):
        rows, columns = table.shape
        raise InputError(
            f"{path}: {rows} rows of {columns} numbers look like an edge list, not a matrix: name the file"
            f" {path.stem}.edgelist to have links read"
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
    """The names of clients 0, 1, ... in an edge list; None if these are 0, 1, ... or the file is a matrix."""
    path = Path(path)
    if path.suffix.lower() not in EDGE_LISTS:
        return None
    names = _in_order(_links(path)[:, :2])
    return None if names == [str(k) for k in range(len(names))] else names


def _links(path: Path) -> np.ndarray:
    """The words of an edge list: (links, 2), or (links, 3) with weights."""
    with path.open(encoding="utf-8-sig") as lines:
        words = _table(path, _link_lines(path, lines), dtype=object)
    if words.shape[1] not in (2, 3):
        raise InputError(f"{path}: has {words.shape[1]} words in each line: write `u v` or `u v weight`")
    for name in set(words[:, :2].ravel()):
        if len(name) > NAME or not name.isprintable():  # names are shown on terminals
            raise InputError(
                f"{path}: the client name {_short(name)!r} must be printable and of 1 to {NAME} characters"
            )
    return words


def _link_lines(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """Lines whose words are separated by blanks, at most :data:`LINKS` of them."""
    for number, line in enumerate(lines, start=1):
        _hold(path, "lines", number, LINKS)
        yield line.replace(",", " ")


def _in_order(names: np.ndarray) -> list[str]:
    unique = set(names.ravel())
    if all(name.isdecimal() for name in unique):
        return sorted(unique, key=lambda name: (int(name), name))
    return sorted(unique)


def _weights(path: Path, words: np.ndarray) -> np.ndarray:
    try:
        return words.astype(float)
    except ValueError as error:
        raise InputError(f"{path}: {_short(error)}: write the weight of each link as a number") from error


def _load_links(path: Path, directed: bool) -> Matrix | nx.Graph:
    words = _links(path)
    names = _in_order(words[:, :2])
    place = {name: k for k, name in enumerate(names)}
    links = np.array([(place[u], place[v]) for u, v in words[:, :2]])
    if words.shape[1] == 2:
        graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from(range(len(names)))
        graph.add_edges_from(links.tolist())
        return graph
    if not directed:
        links.sort(axis=1)
    weights = _weights(path, words[:, 2])
    unique, first, group = np.unique(links, axis=0, return_index=True, return_inverse=True)
    of_link = weights[first][group.ravel()]
    conflicts = np.flatnonzero((weights != of_link) & np.isfinite(weights))
    if len(conflicts):
        k = conflicts[0]
        link = f"the link {words[k, 0]} {words[k, 1]} has the weights {of_link[k]:g} and {weights[k]:g}"
        advice = "give one" if directed else "give one, or read the lines as arcs (directed)"
        raise InputError(f"{path}: {link}: {advice}")
    u, v = unique.T
    size = (len(names), len(names))
    arcs = sp.csr_array(sp.coo_array((weights[first], (v, u)), shape=size))  # u sends to v: v is the row
    return arcs if directed else sp.csr_array(arcs + sp.triu(arcs.T, k=1))


_LOAD = {".npy": _load_npy, ".npz": _load_npz, ".csv": _load_text, ".txt": _load_text, ".mtx": _load_mtx}
