"""Reading a user's matrix or graph from a file: npy, npz, csv, txt, mtx, or an edge list."""

from __future__ import annotations

import zipfile
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


def read_matrix_file(path: str | Path, *, directed: bool = False) -> Matrix | nx.Graph:
    """The matrix in a file, or the graph of an edge list without weights.

    ``.npy`` one array; ``.npz`` one array, or a scipy sparse matrix; ``.csv`` (commas) and ``.txt`` (blanks)
    one row a line, ``#`` starts a comment; ``.mtx`` Matrix Market; ``.edgelist``, ``.edges``, ``.el`` one
    link ``u v`` or ``u v weight`` a line: with weights it is a matrix (``u u weight`` for the diagonal; each
    line is w_uv and w_vu, or with ``directed`` the weight of u -> v alone). Clients are numbered in the order
    of their numbers or names in the file: :func:`client_names`.

    Anything that cannot be read as a finite square matrix raises :class:`InputError` naming file and place.
    Pickled arrays are never loaded.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path}: cannot tell the format from {suffix or 'no suffix'!r}; known: {', '.join(SUFFIXES)}"
        )
    try:
        raw = _load(path, suffix, directed)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except InputError:
        raise
    except Exception as error:  # whatever a parser of a foreign format raises
        raise InputError(
            f"{path}: not a readable {suffix[1:]} file: {' '.join(str(error).split())}"
        ) from error
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


def _load(path: Path, suffix: str, directed: bool) -> Any:
    if suffix == ".npy":
        return _load_npy(path)
    if suffix == ".npz":
        return _load_npz(path)
    if suffix in (".csv", ".txt"):
        return _load_text(path, "," if suffix == ".csv" else None)
    if suffix == ".mtx":
        from scipy.io import mmread

        return mmread(path)
    return _load_edges(path, directed)


def _load_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        return _array(file, path)


def _array(file: Any, path: Path) -> np.ndarray:
    """The array of an npy stream; one of Python objects (pickled) is refused in our own words."""
    magic = file.read(len(NPY_MAGIC))
    if magic != NPY_MAGIC:
        raise InputError(f"{path}: does not begin as an npy file does: save the matrix with numpy.save")
    file.seek(0)
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        if "bject" not in str(error):
            raise
        raise InputError(
            f"{path}: holds Python objects, which are never loaded: save the matrix as an array of numbers"
        ) from error


def _load_npz(path: Path) -> Any:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: no npz archive (a zip of arrays): save it with numpy.savez")
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names:
            return sp.load_npz(path)
        if len(names) != 1:
            raise InputError(f"{path}: holds {len(names)} arrays ({', '.join(names)}), not one matrix")
        with zipfile.ZipFile(path) as parts, parts.open(f"{names[0]}.npy") as part:
            return _array(part, path)


def _load_text(path: Path, delimiter: str | None) -> np.ndarray:
    rows: list[list[float]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        words = line.split("#", 1)[0].strip()
        if not words:
            continue
        row = [_number(word.strip(), path, number) for word in words.split(delimiter)]
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


def _load_edges(path: Path, directed: bool) -> Any:
    return _graph_of(*_links(path), directed, path)


def _links(path: Path) -> tuple[list[tuple[str, str]], list[float | None]]:
    """The links of an edge list and their weights, all of them None or none."""
    links: list[tuple[str, str]] = []
    weights: list[float | None] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        words = line.split("#", 1)[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) not in (2, 3):
            raise InputError(f"{path}, line {number}: {len(words)} words, not `u v` or `u v weight`")
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
        raise InputError(f"{path}, line {line}: {word!r} is not a number") from None


__all__ = ["SUFFIXES", "client_names", "read_matrix_file"]
