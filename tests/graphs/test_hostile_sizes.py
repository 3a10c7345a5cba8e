"""Small matrix files that require much memory, and weights at the limits of floating
point, give one-line errors.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from dfltheory import cli, graphs
from dfltheory.errors import InputError
from dfltheory.graphs.files import IDLE


def test_millions_of_clients_without_entries(tmp_path):
    path = tmp_path / "W.npz"
    sp.save_npz(path, sp.csr_array((10**6, 10**6)))
    assert path.stat().st_size < 2**14
    with pytest.raises(InputError, match=r"1e\+06 .*65536"):
        graphs.read_matrix_file(path)
    path = tmp_path / "W.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real general\n10000000 10000000 1\n1 1 1\n"
    )
    with pytest.raises(InputError, match="clients with 1 entries"):
        graphs.read_matrix_file(path)


def test_clients_with_an_entry_each_are_read(tmp_path):
    sp.save_npz(tmp_path / "W.npz", sp.eye_array(IDLE + 1, format="csr"))
    assert graphs.read_matrix_file(tmp_path / "W.npz").shape == (IDLE + 1, IDLE + 1)


def test_sums_beyond_the_numbers_are_one_line_without_a_warning(tmp_path, capsys):
    """Warnings are errors in this test suite."""
    W = sp.csr_array(np.full((4, 4), 1.7e308))
    sp.save_npz(tmp_path / "W.npz", W)
    assert (
        cli.run(
            [
                "train",
                "--topology",
                str(tmp_path / "W.npz"),
                "--rounds",
                "1",
                "--m",
                "4",
            ]
        )
        == 2
    )
    (line,) = capsys.readouterr().err.splitlines()
    assert "sums to inf" in line
