"""Hostile files of matrices and graphs get a one-line error, execute nothing and take
little memory.

Every file differs from a valid one only by its fault. scipy's loops in C would follow
the forged indices out of their arrays (a segmentation fault), and the declared sizes
would exhaust any memory.
"""

import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from dfltheory import cli, graphs
from dfltheory.errors import InputError
from dfltheory.graphs.files import (
    LINKS,
    LONGEST_CLIENT_NAME,
    MOST_ENTRIES,
    MOST_SPARSE_CLIENTS,
    client_names,
)

W = graphs.metropolis(graphs.ring(4))
S = sp.csr_array(W)
HUGE = 10**12
MEMORY = 64 * 2**20


def npy(array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=True)
    return stream.getvalue()


def promise(
    shape: str, kind: str = "'<f8'", version: int = 1, body: bytes = bytes(128)
) -> bytes:
    """Return an npy file with this header, whatever its body contains."""
    head = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + len(head).to_bytes(2 * min(version, 2), "little")
        + head
        + body
    )


def npz(**parts) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(
                f"{name}.npy", part if isinstance(part, bytes) else npy(part)
            )
    return stream.getvalue()


def sparse(kind="csr", **change) -> bytes:
    """Return what scipy's save_npz writes for the ring, with some arrays changed."""
    A = S.asformat(kind)
    names = ("data",) if kind == "coo" else ("data", "indices", "indptr")
    parts = {name: getattr(A, name) for name in names}
    if kind == "coo":
        parts |= {"row": A.coords[0], "col": A.coords[1]}
    parts |= {"format": np.array(kind.encode()), "shape": np.array(A.shape)} | change
    return npz(**{name: part for name, part in parts.items() if part is not None})


def at(array, place, value):
    array = np.array(array, dtype=np.int64)
    array[place] = value
    return array


class Executed:
    def __reduce__(self):
        return os.mkdir, ("executed",)


def zipped_bomb() -> bytes:
    """Return a nonsquare matrix of zeros that is a thousand times larger than the
    archive.
    """
    return npz(W=promise("(3, 100000000)", body=bytes(2**20)))


def mtx(head: str, body: str = "1 1 0.5\n") -> bytes:
    return f"%%MatrixMarket matrix coordinate real general\n{head}\n{body}".encode()


OBJECTS = np.array([[Executed(), 1], [1, 1]], dtype=object)
P, I = S.indptr, S.indices
HOSTILE = {
    "objects.npy": npy(OBJECTS),
    "only a pickle.npy": pickle.dumps(Executed()),
    "a pickle in a header.npy": promise(
        shape="(2, 2)", kind="'|O'", body=pickle.dumps(Executed())
    ),
    "code in a header.npy": promise(shape="__import__('os').mkdir('executed')"),
    "deep header.npy": promise(shape="(" * 5000),
    "promises terabytes.npy": promise(f"({HUGE}, {HUGE})"),
    "promises gigabytes.npy": promise("(16000, 16000)"),
    "overflows.npy": promise(f"({2**32}, {2**32})"),
    "negative.npy": promise("(-4, -4)"),
    "fields.npy": promise("(1, 1)", kind="[('a', '|O'), ('b', '<f8')]"),
    "wide words.npy": promise("(1, 1)", kind=f"'|V{2**31 - 1}'"),
    "version 3.npy": promise("(4, 4)", version=3),
    "version 9.npy": promise("(4, 4)", version=9),
    "empty.npy": b"",
    "cut.npy": npy(W)[:-8],
    "text.npy": npy(np.array([["a", "b"], ["c", "d"]])),
    "objects.npz": npz(W=OBJECTS),
    "pickle.npz": npz(W=pickle.dumps(Executed())),
    "promises.npz": npz(W=promise(f"({HUGE}, {HUGE})")),
    "bomb.npz": zipped_bomb(),
    "two arrays.npz": npz(a=W, b=W),
    "ansi names.npz": npz(**{"\x1b[2J": W, "b" * 5000: W}),
    "empty.npz": npz(),
    "no zip.npz": b"PK\x03\x04" + bytes(100),
    "cut.npz": sparse()[:-40],
    "far column.npz": sparse(indices=at(I, 3, HUGE)),
    "next column.npz": sparse(indices=at(I, 3, 4)),
    "negative column.npz": sparse(indices=at(I, 3, -1)),
    "falling.npz": sparse(indptr=at(P, 2, 10**9)),
    "negative pointer.npz": sparse(indptr=at(P, 1, -HUGE)),
    "starts late.npz": sparse(indptr=at(P, 0, 1)),
    "ends late.npz": sparse(indptr=at(P, 4, 10**9)),
    "short pointers.npz": sparse(indptr=P[:-1]),
    "no pointers.npz": sparse(indptr=P[:0]),
    "flat pointers.npz": sparse(indptr=P.reshape(1, -1)),
    "fewer columns.npz": sparse(indices=I[:-1]),
    "fractions.npz": sparse(indices=I + 0.5),
    "objects in indices.npz": sparse(indices=np.array([Executed()], dtype=object)),
    "wide data.npz": sparse(data=np.ones((12, 2))),
    "million million clients.npz": sparse(shape=np.array([HUGE, HUGE])),
    "not square.npz": sparse(shape=np.array([4, HUGE])),
    "negative shape.npz": sparse(shape=np.array([-4, 4])),
    "shape in words.npz": sparse(shape=np.array(["4", "4"])),
    "one number of shape.npz": sparse(shape=np.array([4])),
    "format without a reader.npz": sparse(format=np.array(b"dia")),
    "unknown format.npz": sparse(format=np.array(b"exec")),
    "format of objects.npz": sparse(format=np.array(Executed(), dtype=object)),
    "two formats.npz": sparse(format=np.array([b"csr", b"csc"])),
    "no data.npz": sparse(data=None),
    "csc, far row.npz": sparse("csc", indices=at(I, 0, 2**31)),
    "csc, pointers.npz": sparse("csc", indptr=at(P, 1, 99)),
    "coo, far.npz": sparse("coo", row=at(S.tocoo().coords[0], 0, HUGE)),
    "coo, negative.npz": sparse("coo", col=at(S.tocoo().coords[1], 0, -5)),
    "coo, short.npz": sparse("coo", row=np.array([0])),
    "promises.mtx": mtx(f"{HUGE} {HUGE} 1"),
    "promises entries.mtx": mtx(f"4 4 {10**8}"),
    "promises an array.mtx": (
        f"%%MatrixMarket matrix array real general\n{10**6} {10**6}\n1\n".encode()
    ),
    "entry out of it.mtx": mtx("4 4 1", "9 9 0.5\n"),
    "entry 0.mtx": mtx("4 4 1", "0 1 0.5\n"),
    "negative.mtx": mtx("-4 -4 1"),
    "complex.mtx": (
        mtx("2 2 1").replace(b"real", b"complex").replace(b"0.5", b"0.5 0.5")
    ),
    "long number.mtx": mtx("4 4 1", "9" * 10**5 + " 1 1\n"),
    "empty.mtx": b"",
    "binary.csv": bytes(range(256)),
    "long line.csv": b"0," * 2**20,
    "long word.csv": b"x" * 5000,
    "ansi.csv": b"\x1b[31mred,1\n0,1\n",
    "code.csv": b"__import__('os').mkdir('executed'),1\n1,1\n",
    "infinite.csv": b"1e400,0\n0,1\n",
    "long digits.csv": b"9" * 5000 + b",0\n0,1\n",
    "ansi names.edgelist": b"\x1b[2Ja b\n",
    "long name.edgelist": b"n" * (LONGEST_CLIENT_NAME + 1) + b" b\n",
    "many words.edgelist": b"0 1 1 1 1\n",
    "long digits.edgelist": b"0 1 " + b"9" * 400 + b"\n",
    "utf-16.edgelist": "0 1".encode("utf-16"),
}


def refused(path) -> str:
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            graphs.read_matrix_file(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY
    line = str(caught.value)
    assert "\n" not in line
    assert line.isprintable()
    assert len(line) < 700 + len(str(path))
    assert str(path) in line
    return line


@pytest.mark.parametrize("name", HOSTILE)
def test_each_gets_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    refused(path)
    assert os.listdir(tmp_path) == [name]  # nothing was executed


@pytest.mark.parametrize(
    "words",
    {
        "objects.npy": "never loaded",
        "promises terabytes.npy": f"at most {MOST_ENTRIES:.4g} numbers",
        "promises gigabytes.npy": "the 256 bytes of the file",
        "far column.npz": "indices must be < 4",
        "falling.npz": "indptr must be a non-decreasing sequence",
        "million million clients.npz": "index pointer size",
        "promises.mtx": f"1e+12 clients; 0 to {MOST_SPARSE_CLIENTS}",
        "promises entries.mtx": "entries in",
    }.items(),
    ids=lambda pair: pair[0],
)
def test_the_line_says_what_is_wrong(tmp_path, words):
    path = tmp_path / words[0]
    path.write_bytes(HOSTILE[words[0]])
    assert words[1] in refused(path)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_without_its_fault_each_is_read(tmp_path, kind):
    path = tmp_path / "W.npz"
    path.write_bytes(sparse(kind))
    np.testing.assert_array_equal(graphs.read_matrix_file(path).toarray(), W)
    path = tmp_path / "W.npy"
    path.write_bytes(promise("(4, 4)", body=np.asarray(W).tobytes()))
    np.testing.assert_array_equal(graphs.read_matrix_file(path), W)


@pytest.mark.parametrize("count", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_any_byte_of_a_sparse_file_may_be_another(count, tmp_path):
    """Changing single bytes gives a one-line error or a matrix of the same kind."""
    rng, path, lines = np.random.default_rng(0), tmp_path / "W.npz", 0
    parts = {
        "indices": npy(I),
        "indptr": npy(P),
        "shape": npy(np.array(S.shape)),
        "data": npy(S.data),
    }
    for name in parts:
        for _ in range(count):
            part = bytearray(parts[name])
            part[rng.integers(len(part))] = rng.integers(256)
            path.write_bytes(sparse(**{name: bytes(part)}))
            try:
                found = graphs.read_matrix_file(path)
            except InputError:
                lines += 1
            else:
                assert found.shape == W.shape
    assert lines > count


def test_links_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("dfltheory.graphs.files.LINKS", 3)
    path = tmp_path / "links.el"
    path.write_text("0 1\n1 2\n2 3\n3 4\n")
    assert "4 lines; 0 to 3" in refused(path)
    assert LINKS > 10**6  # a million clients on a ring are


def test_clients_with_large_numbers_are_as_many_as_are_named(tmp_path):
    path = tmp_path / "links.edgelist"
    path.write_text(f"0 {HUGE}\n{HUGE} {10**30}\n")
    assert graphs.read_matrix_file(path).number_of_nodes() == 3
    assert client_names(path) == ["0", str(HUGE), str(10**30)]


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "W.csv")
    assert "not a regular file" in refused(tmp_path / "W.csv")


@pytest.mark.parametrize(
    "name", ["falling.npz", "objects.npy", "promises.mtx", "ansi names.edgelist"]
)
def test_the_command_ends_with_status_2(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    assert cli.run(["topology", "check", str(path)]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err.count("\n") == 1
