"""dfltheory data fetch | verify | show: documents, exit statuses, pictures and error
messages.
"""

from __future__ import annotations

import dataclasses
import json

import pytest
import typer

from dfltheory.cli.data import app
from dfltheory.errors import DFLTheoryError
from dfltheory.tasks import files
from tests.tasks import official


def call(*arguments: str) -> int:
    """Return the exit status of the command line."""
    try:
        status = app(args=list(arguments), standalone_mode=False)
    except typer.Exit as stop:
        return stop.exit_code
    return status if isinstance(status, int) else 0


def document(capsys, *arguments: str) -> tuple[int, dict]:
    status = call(*arguments, "--json")
    return status, json.loads(capsys.readouterr().out)


@pytest.fixture
def root(tmp_path, monkeypatch):
    sums, _ = official.mnist_folder(tmp_path)
    monkeypatch.setitem(
        files.SETS, "mnist", dataclasses.replace(files.SETS["mnist"], files=sums)
    )
    return tmp_path


def test_data_show_counts_the_examples_of_each_client(capsys):
    options = ["--m", "6", "--partition", "dirichlet", "--alpha", "0.3"]
    status, found = document(capsys, "show", "digits", *options)
    assert status == 0
    assert sum(map(sum, found["counts"])) == 1442
    assert sum(map(sum, found["test_counts"])) == 355
    assert len(found["counts"]) == found["statistics"]["clients"] == 6
    status, again = document(capsys, "show", "digits", *options)
    assert again["counts"] == found["counts"]
    assert call("show", "digits", "--m", "3") == 0
    text = capsys.readouterr().out
    assert "1442 training and 355 test images" in text
    assert "label distance" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "digit"], "did you mean digits"),
        (["show", "digits", "--m", "2000"], "examples are too few for 2000 clients"),
        (["show", "digits", "--partition", "shard"], "did you mean shards"),
        (
            ["show", "digits", "--m", "2", "--partition", "shards"],
            "cannot cover all 10",
        ),
        (
            ["show", "cifar10", "--data-root", "/nonexistent-data-root"],
            "dfltheory data fetch cifar10",
        ),
        (["fetch", "digits"], "no image set"),
        (["verify", "cifar"], "did you mean cifar10"),
    ],
)
def test_data_rejects_bad_input_in_one_line(arguments, words):
    with pytest.raises(DFLTheoryError, match=words) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)


def test_verify_passes_and_fails(capsys, root):
    status, found = document(capsys, "verify", "--data-root", str(root))
    assert (status, found["ok"]) == (0, True)
    assert found["sets"]["mnist"]["status"] == "ok"
    assert found["sets"]["cifar10"]["status"] == "absent"
    assert document(capsys, "verify", "cifar10", "--data-root", str(root))[0] == 1
    assert document(capsys, "verify", "mnist", "--data-root", str(root))[0] == 0
    (root / "MNIST/raw/t10k-labels-idx1-ubyte.gz").write_bytes(b"half")
    status, found = document(capsys, "verify", "--data-root", str(root))
    assert (status, found["ok"], found["sets"]["mnist"]["status"]) == (
        1,
        False,
        "wrong",
    )
    assert call("verify", "--data-root", str(root)) == 1
    assert "4 bytes" in capsys.readouterr().out.replace("\n", " ")


def test_a_folder_without_any_set_does_not_verify(capsys, tmp_path):
    """Nothing was compared, so a script must not conclude that all files are valid."""
    for root in (tmp_path, tmp_path / "nowhere"):
        status, found = document(capsys, "verify", "--data-root", str(root))
        assert (status, found["ok"]) == (1, False)
        assert {one["status"] for one in found["sets"].values()} == {"absent"}
    assert call("verify", "--data-root", str(tmp_path)) == 1
    assert "nothing was compared" in capsys.readouterr().out


def test_fetch_of_what_is_there_needs_no_network(capsys, root):
    status, found = document(capsys, "fetch", "mnist", "--data-root", str(root))
    assert status == 0
    assert found["folder"] == str(root / "MNIST/raw")


def test_help_teaches(capsys):
    for command in ("fetch", "verify", "show"):
        assert call(command, "--help") == 0
        assert f"dfltheory data {command}" in capsys.readouterr().out


@pytest.mark.data
def test_the_official_files_verify(capsys, data_root):
    status, found = document(capsys, "verify", "--data-root", str(data_root))
    assert status == 0
    assert {
        found["sets"][s]["status"] for s in ("mnist", "fashion_mnist", "cifar10")
    } == {"ok"}
