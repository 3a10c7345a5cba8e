"""Files of matrices and graphs: every format round-trips; errors have one line with a
position.
"""

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from dfltheory import graphs
from dfltheory.errors import InputError
from dfltheory.graphs.files import client_names
from dfltheory.graphs.matrices import to_dense

W = graphs.metropolis(graphs.star(4))


def write(path, form):
    match form:
        case "npy":
            np.save(path, W)
        case "npz":
            np.savez(path, W=W)
        case "sparse.npz":
            sp.save_npz(path, sp.csr_array(W))
        case "csv":
            np.savetxt(path, W, delimiter=",", header="a star", fmt="%.17g")
        case "txt":
            np.savetxt(path, W, fmt="%.17g")
        case "mtx":
            scipy.io.mmwrite(path, W, precision=17)
        case "edgelist":
            lines = [
                f"{i} {j} {W[i, j]:.17g}"
                for i in range(4)
                for j in range(i, 4)
                if W[i, j]
            ]
            path.write_text("# u v weight\n\n" + "\n".join(lines))


@pytest.mark.parametrize(
    "form", ["npy", "npz", "sparse.npz", "csv", "txt", "mtx", "edgelist"]
)
def test_round_trip(tmp_path, form):
    path = tmp_path / f"W.{form}"
    write(path, form)
    np.testing.assert_array_equal(to_dense(graphs.read_matrix_file(path)), W)


@pytest.mark.parametrize("form", ["npy", "npz", "sparse.npz", "npy16"])
def test_the_precision_of_the_file_is_kept(tmp_path, form):
    path = tmp_path / f"W.{form.removesuffix('16')}"
    even = np.full((7, 7), 1 / 7, dtype=np.float16 if form == "npy16" else np.float32)
    if form == "sparse.npz":
        sp.save_npz(path, sp.csr_array(even))
    else:
        (np.savez if form == "npz" else np.save)(path, even)
    read = graphs.read_matrix_file(path)
    assert read.dtype == even.dtype
    assert graphs.check_mixing_matrix(read).ok
    assert graphs.check_push_sum(read).ok


def test_both_directions_of_an_undirected_link_are_one_link(tmp_path):
    path = tmp_path / "W.el"
    path.write_text("0 1 0.25\n1 0 0.25\n0 0 0.75\n1 1 0.75\n")
    np.testing.assert_array_equal(
        to_dense(graphs.read_matrix_file(path)), [[0.75, 0.25], [0.25, 0.75]]
    )
    path.write_text("0 1 0.25\n1 0 0.35\n")
    with pytest.raises(InputError, match=r"1 0 .*0\.25.*0\.35.*directed") as caught:
        graphs.read_matrix_file(path)
    assert "\n" not in str(caught.value)
    arcs = to_dense(graphs.read_matrix_file(path, directed=True))
    np.testing.assert_array_equal(arcs, [[0, 0.35], [0.25, 0]])
    path.write_text("0 1 0.25\n0 1 0.35\n")
    with pytest.raises(InputError, match=r"0\.25 and 0\.35"):
        graphs.read_matrix_file(path, directed=True)


def test_edge_list_reports_clients_with_other_numbers(tmp_path):
    path = tmp_path / "G.edgelist"
    for text, names in (
        ("0 1\n1 5\n", ["0", "1", "5"]),
        ("1 2\n2 3\n", ["1", "2", "3"]),
        ("0 1 0.5\n1 10 0.5\n2 0 0.5\n", ["0", "1", "2", "10"]),
        ("b a\n", ["a", "b"]),
        ("1 0\n2 1\n", None),
    ):
        path.write_text(text)
        assert client_names(path) == names
    np.save(tmp_path / "W.npy", W)
    assert client_names(tmp_path / "W.npy") is None


def test_a_byte_order_mark_is_no_number(tmp_path):
    (tmp_path / "W.csv").write_bytes("0.5,0.5\n0.5,0.5\n".encode("utf-8-sig"))
    np.testing.assert_array_equal(
        graphs.read_matrix_file(tmp_path / "W.csv"), np.full((2, 2), 0.5)
    )
    (tmp_path / "G.el").write_bytes("0 1\n".encode("utf-8-sig"))
    assert set(graphs.read_matrix_file(tmp_path / "G.el").edges) == {(0, 1)}


def test_directed_edge_lists_are_arcs(tmp_path):
    path = tmp_path / "P.edges"
    path.write_text("0 1 0.25\n0 0 0.75\n1 1 1\n")
    P = to_dense(graphs.read_matrix_file(path, directed=True))
    np.testing.assert_array_equal(P, [[0.75, 0], [0.25, 1]])


def test_edge_lists_without_weights_are_graphs(tmp_path):
    path = tmp_path / "G.el"
    path.write_text("10, 2\n2 7  # a comment\n")
    graph = graphs.read_matrix_file(path)
    assert isinstance(graph, nx.Graph)
    # 2, 7, 10 in numerical order
    assert set(graph.edges) == {(0, 2), (0, 1)}
    arcs = graphs.read_matrix_file(path, directed=True)
    assert arcs.is_directed()
    assert set(arcs.edges) == {(2, 0), (0, 1)}
    path.write_text("b a\na c\n")
    assert set(graphs.read_matrix_file(path).edges) == {(0, 1), (0, 2)}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("W.csv", "0.5,nan\n0.5,0.5\n", r"entry \(0, 1\) is nan, not a finite number"),
        ("W.csv", "0.5,0.5\n0.5,inf\n", r"entry \(1, 1\) is inf"),
        ("W.csv", "0.5,0.5\n0.5\n", "columns changed from 2 to 1 at row 2"),
        ("W.csv", "0.5,0.5\n0.5,half\n", "'half'.* at row 1, column 2"),
        ("W.csv", "0.5,0.5,0\n0.5,0.5,0\n", "shape 2x3: it must be m x m"),
        ("W.csv", "# nothing\n", "no rows"),
        ("W.npy", "garbage", "not an npy array"),
        ("W.npz", "garbage", "not an npz archive"),
        ("W.csv", "0,1\n1,2\n2,0\n", "W.edgelist"),
        ("W.mtx", "garbage", "mtx"),
        ("W.edges", "0 1 2 3\n", "4 words in each line"),
        ("W.edges", "0 1 0.5\n1 2\n", "columns changed from 3 to 2 at row 2"),
        ("W.edges", "\n", "no rows"),
        ("W.edges", "0 1 nan\n", r"entry \(0, 1\) is nan"),
        ("W.edges", "0 1 x\n", "'x'"),
        ("W.pkl", "x", "format '.pkl'"),
        ("W", "x", "format 'no suffix'"),
    ],
)
def test_bad_files_get_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        graphs.read_matrix_file(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_crowded_archives(tmp_path):
    with pytest.raises(InputError, match=r"none\.npy"):
        graphs.read_matrix_file(tmp_path / "none.npy")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="directory"):
        graphs.read_matrix_file(tmp_path / "folder.csv")
    np.savez(tmp_path / "two.npz", a=W, b=W)
    with pytest.raises(InputError, match=r"\(a, b\)"):
        graphs.read_matrix_file(tmp_path / "two.npz")


def test_small_adjacency_matrices_are_no_edge_lists(tmp_path):
    (tmp_path / "A.txt").write_text("0 1\n1 0\n")
    np.testing.assert_array_equal(
        graphs.read_matrix_file(tmp_path / "A.txt"), [[0, 1], [1, 0]]
    )
    (tmp_path / "W.csv").write_text("1,0,0\n0,1,0\n0,0,1\n")
    np.testing.assert_array_equal(
        graphs.read_matrix_file(tmp_path / "W.csv"), np.eye(3)
    )
