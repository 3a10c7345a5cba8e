"""Files are written completely or not at all."""

import contextlib
import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dfltheory.errors import InputError
from dfltheory.files import (
    alone,
    check_writable,
    filling,
    remove_halves,
    replacing,
    write_json,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_is_made_and_permissions_are_the_users(tmp_path):
    path = tmp_path / "deep" / "er" / "a.json"
    write_json(path, {"x": 1})
    assert path.read_text() == '{\n  "x": 1\n}\n'
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_what_cannot_be_written_is_refused_before_and_nothing_is_left(tmp_path):
    (tmp_path / "file").write_text("kept")
    for path, folder in (
        ("file", True),
        (".", False),
        ("file/x", False),
        ("file/x", True),
        ("x\0y", False),
    ):
        with pytest.raises(InputError):
            check_writable(tmp_path / path, folder=folder)
    with pytest.raises(InputError, match="device"):
        check_writable("/dev/null")
    check_writable(tmp_path / "a" / "b" / "c.json")
    check_writable(tmp_path / "a" / "b", folder=True)
    assert os.listdir(tmp_path) == ["file"]
    with pytest.raises(InputError, match="folder"):
        write_text(tmp_path, "x")


HOLDER = """
import sys, time
from dfltheory.files import alone, replacing
with alone(sys.argv[1], folder=sys.argv[2] == "folder"):
    with replacing(sys.argv[1] + ("/x.txt" if sys.argv[2] == "folder" else "")):
        print("holds it", flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_one_writer_at_a_time_and_none_when_it_is_killed(tmp_path, kind):
    pytest.importorskip("fcntl")
    place = tmp_path / "run.ckpt"
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, place, kind], stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"holds it\n"
    by = f"is being written by process {other.pid} "
    with (
        pytest.raises(InputError, match=by) as caught,
        alone(place, folder=kind == "folder"),
    ):
        raise AssertionError
    assert "\n" not in str(caught.value)
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()
    left = place.iterdir() if kind == "folder" else tmp_path.iterdir()
    assert len(list(left)) == 2  # the lock and half a file
    mine, again = (alone(place, folder=kind == "folder") for _ in range(2))
    with mine, pytest.raises(InputError, match=f"process {os.getpid()} "), again:
        raise AssertionError
    if kind == "folder":
        remove_halves(place / "x.txt")
        assert os.listdir(tmp_path) == ["run.ckpt"]
        assert not os.listdir(place)
    else:
        assert not os.listdir(tmp_path)


def test_halves_of_other_files_stay(tmp_path):
    others = [
        ".run-2-abcdefgh.ckpt",
        ".run-abcdefgh.json",
        ".run-abc.ckpt",
        "run-abcdefgh.ckpt",
        "run.ckpt",
    ]
    for name in [*others, ".run-ab_de1gh.ckpt"]:
        (tmp_path / name).touch()
    remove_halves(tmp_path / "run.ckpt")
    assert sorted(os.listdir(tmp_path)) == sorted(others)


def test_the_name_of_a_lock_holder_is_no_trap_for_the_terminal(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    with open(tmp_path / ".x.lock", "w") as held:
        held.write("\x1b[2J" * 1000)
        held.flush()
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError) as caught, alone(tmp_path / "x"):
            raise AssertionError
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def fill(folder, names, word):
    """Write files that contain this word."""
    with filling(folder) as new:
        for name in names:
            write_text(new / name, f"{name} of {word}")


def contents(folder):
    """Return the text of every file in a folder."""
    return {
        p.relative_to(folder).as_posix(): p.read_text()
        for p in folder.rglob("*")
        if p.is_file()
    }


def test_filled_folder_has_new_files_and_keeps_others(tmp_path):
    fill(tmp_path, ["a.txt", "sub/b.txt"], "one")
    (tmp_path / "mine.txt").write_text("mine")
    fill(tmp_path, ["a.txt", "c.txt"], "two")
    assert contents(tmp_path) == {
        "a.txt": "a.txt of two",
        "c.txt": "c.txt of two",
        "sub/b.txt": "sub/b.txt of one",
        "mine.txt": "mine",
    }


def test_failed_filling_changes_nothing_and_removes_files_of_killed_writers(tmp_path):
    fill(tmp_path, ["a.txt"], "one")
    before = contents(tmp_path)
    with pytest.raises(FileNotFoundError), filling(tmp_path) as new:
        (write_text(new / "a.txt", "two"), os.stat(new / "b.txt"))
    assert contents(tmp_path) == before
    (tmp_path / ".new-abcd_123").mkdir()
    (tmp_path / ".new-abcd_123" / "a.txt").write_text("half")
    fill(tmp_path, ["a.txt"], "one")
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("ended", range(4))
def test_interrupted_filling_leaves_whole_files_of_one_run(
    tmp_path, monkeypatch, ended
):
    """The process is killed before each of the three moves in turn, or after all of
    them.
    """
    names, real = ["a.txt", "b.txt", "c.txt"], os.replace
    fill(tmp_path, names, "one")
    moves = []

    def move(source, to):
        if ".new-" not in str(to):
            moves.append(to)
            if len(moves) > ended:
                raise KeyboardInterrupt
        real(source, to)

    monkeypatch.setattr(os, "replace", move)
    with contextlib.suppress(KeyboardInterrupt):
        fill(tmp_path, names, "two")
    monkeypatch.undo()
    assert contents(tmp_path) == {name: f"{name} of two" for name in names[:ended]}
    fill(tmp_path, names, "two")
    assert contents(tmp_path) == {name: f"{name} of two" for name in names}


def test_tensors_on_a_full_disk_are_the_systems_error(tmp_path):
    """safetensors raises its own error, which would give a traceback and status 1 in
    commands.
    """
    from dfltheory.training import storage

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            storage.write_tensors(
                tmp_path / "history.safetensors", {"x": np.zeros(1000)}, {}
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []


def full_disk(*given, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("write", [write_text, write_json])
def test_full_disk_is_reported_with_the_name_of_the_file(write, tmp_path, monkeypatch):
    target = tmp_path / "result.json"
    target.write_text("old")
    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(OSError, match="No space left") as failure:
        write(target, "new")
    assert failure.value.filename == str(target)
    monkeypatch.undo()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_full_disk_while_a_folder_is_filled_names_a_file_in_it(tmp_path):
    with (
        pytest.raises(OSError, match="No space left") as failure,
        filling(tmp_path / "run") as new,
    ):
        raise OSError(errno.ENOSPC, "No space left", str(new / "curves.png"))
    assert failure.value.filename == str(tmp_path / "run" / "curves.png")
    with (
        pytest.raises(OSError, match="No space left") as failure,
        filling(tmp_path / "run"),
    ):
        full_disk()
    assert failure.value.filename == str(tmp_path / "run")
