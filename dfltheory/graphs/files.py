"""Readers of matrices and graphs: npy, npz, csv, txt, mtx and edge lists."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import InputError
from dfltheory.graphs.graph_types import Graph
from dfltheory.graphs.matrices import Matrix, read_matrix
from dfltheory.npy_files import check_npy, check_npz

EDGE_LISTS = (".edgelist", ".edges", ".el")
SUFFIXES = (".npy", ".npz", ".csv", ".txt", ".mtx", *EDGE_LISTS)

# Limits of the sizes that a file declares; they are checked before memory is allocated.
MOST_ENTRIES = 2**28
"""Largest number of entries of a matrix: 2 GiB of float64, 16,384 dense clients."""
MOST_SPARSE_CLIENTS = 10**7
"""Largest number of clients of a sparse matrix."""
IDLE = 2**16
"""Largest number of clients of a sparse matrix with fewer entries than clients."""
LINKS = 2**22
"""Largest number of lines of an edge list, comments included."""
TEXT = 2**29
"""Largest number of bytes of a text file."""
LONGEST_CLIENT_NAME = 100
"""Largest number of characters of the name of a client."""

Raw = np.ndarray | sp.csr_array | sp.csc_array | sp.coo_array | sp.coo_matrix | Graph
"""Content of a file before its numbers are converted to float64."""

SPARSE = ("csr", "csc", "coo")
"""Sparse formats of ``scipy.sparse.save_npz`` that can be read."""


def read_matrix_file(path: str | Path, *, directed: bool = False) -> Matrix | Graph:
    """Read a matrix, or the graph of an edge list without weights.

    The suffix selects the format:

    - ``.npy``: one array.
    - ``.npz``: one array, or a scipy sparse matrix.
    - ``.csv`` (commas) and ``.txt`` (blanks): one row per line; ``#`` starts a comment.
    - ``.mtx``: Matrix Market.
    - ``.edgelist``, ``.edges``, ``.el``: one link ``u v`` or ``u v weight`` per line.
      With weights the result is a matrix; lines ``u u weight`` set its diagonal.

    Pickled arrays are not loaded. Sizes and indices are checked before memory is
    allocated.

    Parameters
    ----------
    path : str or Path
        The file.
    directed : bool
        Whether a line of an edge list is an arc u -> v rather than a link in both
        directions.

    Returns
    -------
    matrix or networkx.Graph
        Clients are numbered in the sorted order of their names, see
        :func:`client_names`.

    Raises
    ------
    InputError
        If the file is not a finite square matrix or exceeds a limit of this module;
        the message names the file and the place.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise InputError(
            f"{path}: unknown format {suffix or 'no suffix'!r}; known: {known}"
        )
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would block
        raise InputError(f"{path}: not a regular file")
    raw = _load(path, suffix, directed)
    if isinstance(raw, nx.Graph):
        return raw
    try:
        W, _ = read_matrix(raw, "the matrix")
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error
    entries = sp.coo_array(W)
    bad = np.flatnonzero(~np.isfinite(entries.data))
    if len(bad):
        i, j = (int(index[bad[0]]) for index in entries.coords)
        value = entries.data[bad[0]]
        raise InputError(f"{path}: entry ({i}, {j}) is {value}, not a finite number")
    kind: np.dtype = raw.dtype
    if kind in (np.dtype("float16"), np.dtype("float32")):  # keeps its rounding unit
        return W.astype(kind)  # type: ignore[return-value]
    return W


def _load(path: Path, suffix: str, directed: bool) -> Raw:
    """Load a file; convert errors of third-party parsers to InputError."""
    try:
        if suffix in EDGE_LISTS:
            return _load_links(path, directed)
        return _LOADERS[suffix](path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except InputError:
        raise
    except Exception as error:
        reason = _shorten(error)
        raise InputError(
            f"{path}: not a readable {suffix[1:]} file: {reason}"
        ) from error


def _check_limit(path: Path, what: str, count: int, most: int) -> None:
    """Raise InputError if a file declares more than ``most`` of something."""
    if not 0 <= count <= most:
        raise InputError(f"{path}: {count:.4g} {what}; 0 to {most} are allowed")


def _check_idle_clients(path: Path, clients: int, entries: int) -> None:
    """Raise InputError if a small file declares millions of clients."""
    _check_limit(path, f"clients with {entries} entries", clients, max(IDLE, entries))


def _shorten(text: object) -> str:
    """Return text from a file as one short line without control characters."""
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    line = " ".join(printable.split())
    return line if len(line) <= 200 else f"{line[:200]}..."


def _load_mtx(path: Path) -> Raw:
    """Load a Matrix Market file after checking the sizes that it declares."""
    from scipy.io import mminfo, mmread

    rows, columns, entries, form, *_ = mminfo(path)
    for size in (rows, columns):
        _check_limit(path, "clients", size, MOST_SPARSE_CLIENTS)
    numbers = rows * columns if form == "array" else entries
    _check_limit(path, "numbers", numbers, MOST_ENTRIES)
    file_size = path.stat().st_size
    _check_limit(path, f"entries in {file_size} bytes", entries, file_size // 2)
    if form != "array":
        _check_idle_clients(path, max(rows, columns), entries)
    return mmread(path)


def _load_npy(path: Path) -> np.ndarray:
    """Load an npy file after checking the size that it declares."""
    with path.open("rb") as stream:
        check_npy(path, stream, path.stat().st_size, MOST_ENTRIES)
    return np.load(path, allow_pickle=False)


def _load_npz(path: Path) -> Raw:
    """Load the only array of an npz file, or a scipy sparse matrix."""
    names = check_npz(path, MOST_ENTRIES)
    if "format" in names:
        return _load_sparse(path)
    if len(names) != 1:
        listed = _shorten(", ".join(names))
        raise InputError(
            f"{path}: contains {len(names)} arrays ({listed}): save one matrix"
        )
    with np.load(path, allow_pickle=False) as arrays:
        return arrays[names[0]]


def _load_sparse(path: Path) -> Raw:
    """Load a matrix of ``scipy.sparse.save_npz``; scipy does not check its indices."""
    with np.load(path, allow_pickle=False) as arrays:
        for name in {"indices", "indptr", "row", "col"} & set(arrays):
            dtype = arrays[name].dtype
            if dtype.kind not in "iu":
                raise InputError(f"{path}: {name} has type {dtype}: it must be integer")
    W: Any = sp.load_npz(path)
    if W.format not in SPARSE:
        known = ", ".join(SPARSE)
        raise InputError(f"{path}: sparse format {W.format}: save one of {known}")
    _check_limit(path, "clients", max(W.shape), MOST_SPARSE_CLIENTS)
    _check_idle_clients(path, max(W.shape), W.nnz)
    if W.format != "coo":  # scipy checks the indices of coo itself
        W.check_format(full_check=True)
    return W


def _table(
    path: Path,
    lines: Iterable[str],
    dtype: type[Any] = float,
    delimiter: str | None = None,
) -> np.ndarray:
    """Parse the rows of a text with ``numpy.loadtxt``."""
    _check_limit(path, "bytes of text", path.stat().st_size, TEXT)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="loadtxt: input contained no data")
        try:
            table = np.loadtxt(lines, dtype=dtype, delimiter=delimiter, ndmin=2)
        except InputError:
            raise
        except ValueError as error:
            reason = _shorten(str(error).partition("; use")[0])
            raise InputError(
                f"{path}: {reason}: write rows of numbers, all of the same length"
            ) from error
    if not table.size:
        raise InputError(
            f"{path}: contains no rows: write numbers, or links `u v` in an edge list"
        )
    return table


def _load_text(path: Path) -> np.ndarray:
    """Load rows of numbers; raise InputError if they are links."""
    with path.open(encoding="utf-8-sig") as lines:
        table = _table(
            path, lines, delimiter="," if path.suffix.lower() == ".csv" else None
        )
    if _resembles_links(table):
        rows, columns = table.shape
        raise InputError(
            f"{path}: {rows} rows of {columns} numbers look like an edge list, not a"
            f" matrix: name the file {path.stem}.edgelist to read links"
        )
    return table


def _resembles_links(table: np.ndarray) -> bool:
    """Return whether a table looks like links `u v` or `u v weight`, not like a matrix.

    Such a table starts with two client numbers, and is not square or contains a client
    number above 1, which cannot be a weight.
    """
    count, width = table.shape
    if width not in (2, 3):
        return False
    ends = table[:, :2]
    are_numbers = np.isfinite(ends).all() and (ends >= 0).all()
    if not (are_numbers and (ends == np.floor(ends)).all()):
        return False
    return count != width or bool(ends.max() > 1)


def client_names(path: str | Path) -> list[str] | None:
    """Return the names of clients 0, 1, ... in an edge list.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    list of str or None
        None if the names are 0, 1, ..., or the file is not an edge list.
    """
    path = Path(path)
    if path.suffix.lower() not in EDGE_LISTS:
        return None
    names = _sorted_names(_read_links(path)[:, :2])
    numbers = list(map(str, range(len(names))))
    return None if names == numbers else names


def _read_links(path: Path) -> np.ndarray:
    """Return the fields of an edge list: (links, 2), or (links, 3) with weights."""
    with path.open(encoding="utf-8-sig") as lines:
        words = _table(path, _link_lines(path, lines), dtype=object)
    if words.shape[1] not in (2, 3):
        raise InputError(
            f"{path}: {words.shape[1]} words in each line: write `u v` or `u v weight`"
        )
    for name in set(words[:, :2].ravel()):
        if (
            len(name) > LONGEST_CLIENT_NAME or not name.isprintable()
        ):  # names appear on terminals
            raise InputError(
                f"{path}: the client name {_shorten(name)!r} must be printable and have"
                f" 1 to {LONGEST_CLIENT_NAME} characters"
            )
    return words


def _link_lines(path: Path, lines: Iterable[str]) -> Iterator[str]:
    """Yield at most :data:`LINKS` lines, with commas replaced by spaces."""
    for number, line in enumerate(lines, start=1):
        _check_limit(path, "lines", number, LINKS)
        yield line.replace(",", " ")


def _number_and_text(name: str) -> tuple[int, str]:
    """Return the sort key of a name that is a number; "01" precedes "1"."""
    return int(name), name


def _sorted_names(names: np.ndarray) -> list[str]:
    """Return the distinct names, sorted numerically if all are numbers."""
    unique = set(names.ravel())
    if all(name.isdecimal() for name in unique):
        return sorted(unique, key=_number_and_text)
    return sorted(unique)


def _parse_weights(path: Path, words: np.ndarray) -> np.ndarray:
    """Return the weights of links as floats; raise InputError if one is no number."""
    try:
        return words.astype(float)
    except ValueError as error:
        raise InputError(
            f"{path}: {_shorten(error)}: write the weight of each link as a number"
        ) from error


def _load_links(path: Path, directed: bool) -> Matrix | Graph:
    """Load an edge list: a graph, or a matrix if the links have weights."""
    words = _read_links(path)
    names = _sorted_names(words[:, :2])
    index = {name: k for k, name in enumerate(names)}
    links = np.array([(index[u], index[v]) for u, v in words[:, :2]])
    if words.shape[1] == 2:
        graph: Graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from(range(len(names)))
        graph.add_edges_from(links.tolist())
        return graph
    if not directed:
        links.sort(axis=1)
    weights = _parse_weights(path, words[:, 2])
    unique, first, group = np.unique(
        links, axis=0, return_index=True, return_inverse=True
    )
    # weight on the first line that contains the same link
    expected = weights[first][group.ravel()]
    conflicts = np.flatnonzero((weights != expected) & np.isfinite(weights))
    if len(conflicts):
        k = conflicts[0]
        advice = "keep one" if directed else "keep one, or use directed=True"
        raise InputError(
            f"{path}: the link {words[k, 0]} {words[k, 1]} has the weights"
            f" {expected[k]:g} and {weights[k]:g}: {advice}"
        )
    u, v = unique.T
    shape = (len(names), len(names))
    # u sends to v, so v is the row
    arcs = sp.csr_array(sp.coo_array((weights[first], (v, u)), shape=shape))
    return arcs if directed else sp.csr_array(arcs + sp.triu(arcs.T, k=1))


_LOADERS: dict[str, Callable[[Path], Raw]] = {
    ".npy": _load_npy,
    ".npz": _load_npz,
    ".csv": _load_text,
    ".txt": _load_text,
    ".mtx": _load_mtx,
}
