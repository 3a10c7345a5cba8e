"""Downloads from a local server: complete, corrupted, truncated, interrupted, and
missing.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dfltheory.errors import DataError
from dfltheory.tasks import download
from dfltheory.tasks.download import fetch
from dfltheory.tasks.files import FileSet, require, verify


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


CONTENT = {
    name: gzip.compress(name.encode() * 500, mtime=0) for name in ("a.gz", "b.gz")
}


def tar_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


class Server(ThreadingHTTPServer):
    """Serves ``pages``; ``faults[path]`` is a list of faults in the next answers."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, request, client_address):
        """Ignore errors, since interrupted answers are intended."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        if name not in self.server.pages:
            return self.send_error(404)
        body = self.server.pages[name]
        fault = self.server.faults.get(name, [])
        fault = fault.pop(0) if fault else ""
        self.send_response(200)
        self.send_header(
            "Content-Length", str(len(body) // 2 if fault == "truncated" else len(body))
        )
        self.end_headers()
        if fault == "corrupted":
            body = bytes([body[0] ^ 1]) + body[1:]
        # truncated: a shorter file; interrupted: the connection fails during a
        # longer one
        elif fault:
            body = body[: len(body) // 2]
        self.wfile.write(body)
        self.close_connection = True
        return None

    def log_message(self, *args):
        """Do not log."""


@pytest.fixture
def server(monkeypatch):
    # between one try and the next
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with Server() as running:
        thread = threading.Thread(
            target=running.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        running.pages.update(CONTENT)
        yield running
        running.shutdown()
        thread.join()


def plain_set(server: Server) -> FileSet:
    return FileSet(
        "archive",
        "PLAIN/raw",
        {name: md5(content) for name, content in CONTENT.items()},
        {name: server.url + name for name in CONTENT},
    )


def leftovers(root) -> list[str]:
    return sorted(p.name for p in root.rglob("*") if p.name.startswith(".fetch"))


def test_files_are_fetched_checked_and_put_in_place(server, tmp_path):
    entry, lines = plain_set(server), []
    folder = fetch(entry, tmp_path, report=lines.append)
    assert folder == tmp_path / "PLAIN/raw"
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == CONTENT
    assert all(state.state == "ok" for state in verify(entry, tmp_path))
    assert len(lines) == 2
    fetch(entry, tmp_path)
    assert server.asked == ["a.gz", "b.gz"], "right files are not fetched again"
    assert not leftovers(tmp_path)


def test_a_data_root_that_is_not_there_is_made_with_all_folders_above(server, tmp_path):
    root = tmp_path / "far" / "away"
    assert fetch(plain_set(server), root) == root / "PLAIN/raw"
    assert not leftovers(tmp_path)


def test_only_wrong_files_are_fetched_again(server, tmp_path):
    entry = plain_set(server)
    folder = fetch(entry, tmp_path)
    (folder / "b.gz").write_bytes(CONTENT["b.gz"][:10])
    fetch(entry, tmp_path)
    assert server.asked == ["a.gz", "b.gz", "b.gz"]
    assert (folder / "b.gz").read_bytes() == CONTENT["b.gz"]


@pytest.mark.parametrize("fault", ["corrupted", "truncated", "interrupted"])
def test_a_passing_fault_is_tried_again(server, tmp_path, fault):
    server.faults["a.gz"] = [fault]
    fetch(plain_set(server), tmp_path, tries=2)
    assert server.asked == ["a.gz", "a.gz", "b.gz"]
    assert (tmp_path / "PLAIN/raw/a.gz").read_bytes() == CONTENT["a.gz"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [("corrupted", "MD5"), ("truncated", "MD5"), ("interrupted", "cannot be fetched")],
)
def test_a_lasting_fault_leaves_nothing_and_says_so(server, tmp_path, fault, words):
    server.faults["b.gz"] = [fault] * 2
    with pytest.raises(DataError, match=words) as caught:
        fetch(plain_set(server), tmp_path, tries=2)
    assert "\n" not in str(caught.value)
    assert server.url + "b.gz" in str(caught.value)
    assert [p.name for p in (tmp_path / "PLAIN/raw").iterdir()] == ["a.gz"]
    assert not leftovers(tmp_path)
    with pytest.raises(DataError, match=r"b\.gz"):
        require_of(plain_set(server), tmp_path)


def require_of(entry, root):
    """Call ``require``, which finds a set by name, with one that is not in the
    catalogue.
    """
    bad = next(state for state in verify(entry, root) if state.state != "ok")
    raise DataError(bad.detail)


def test_absent_pages_and_absent_servers(server, tmp_path):
    del server.pages["a.gz"]
    with pytest.raises(DataError, match="404"):
        fetch(plain_set(server), tmp_path, tries=1)
    nowhere = FileSet("x", "X", {"a.gz": "0" * 32}, {"a.gz": "http://127.0.0.1:1/a.gz"})
    with pytest.raises(DataError, match="cannot be fetched"):
        fetch(nowhere, tmp_path, tries=1)


def archive_set(
    server: Server, content: bytes, name: str = "archive.tar.gz", **files: bytes
) -> FileSet:
    server.pages[name] = content
    return FileSet(
        "archive",
        "archive-py",
        {f: md5(c) for f, c in files.items()},
        archive=(server.url + name, md5(content)),
    )


def test_archives_are_unpacked_and_checked(server, tmp_path):
    inside = {"archive-py/one": b"1" * 900, "archive-py/two": b"2" * 900}
    entry = archive_set(server, tar_of(inside), one=b"1" * 900, two=b"2" * 900)
    (tmp_path / "archive-py").mkdir()
    (tmp_path / "archive-py" / "one").write_bytes(b"half of it")
    folder = fetch(entry, tmp_path)
    assert sorted(p.name for p in folder.iterdir()) == ["one", "two"]
    assert (folder / "one").read_bytes() == b"1" * 900
    assert not leftovers(tmp_path)
    assert fetch(entry, tmp_path) == folder
    assert server.asked == ["archive.tar.gz"]


def test_zip_archives(server, tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive-py/one", "1")
    entry = archive_set(server, out.getvalue(), "archive.zip", one=b"1")
    assert (fetch(entry, tmp_path) / "one").read_bytes() == b"1"


def test_an_archive_cannot_write_outside_its_folder(server, tmp_path):
    root = tmp_path / "root"
    entry = archive_set(
        server, tar_of({"../evil": b"x", "archive-py/one": b"1"}), one=b"1"
    )
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch(entry, root)
    assert not (tmp_path / "evil").exists()
    assert not (root / "archive-py").exists()
    assert not leftovers(root)


def test_archives_that_are_not_what_they_should_be(server, tmp_path):
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch(archive_set(server, b"no archive", one=b"1"), tmp_path)
    with pytest.raises(DataError, match="archive-py"):
        fetch(archive_set(server, tar_of({"other/one": b"1"}), one=b"1"), tmp_path)
    with pytest.raises(DataError, match=r"\btwo\b"):
        fetch(
            archive_set(server, tar_of({"archive-py/one": b"1"}), one=b"1", two=b"2"),
            tmp_path,
        )


def test_a_wrong_archive_leaves_the_folder_that_is_there(server, tmp_path):
    """The old folder is only removed after all files of the new one were checked."""
    (tmp_path / "archive-py").mkdir()
    (tmp_path / "archive-py" / "one").write_bytes(b"old")
    with pytest.raises(DataError, match=r"archive-py/one .*MD5"):
        fetch(archive_set(server, tar_of({"archive-py/one": b"2"}), one=b"1"), tmp_path)
    assert (tmp_path / "archive-py" / "one").read_bytes() == b"old"
    assert not leftovers(tmp_path)


def test_links_in_an_archive_do_not_lead_out(server, tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        link = tarfile.TarInfo("archive-py/one")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(DataError, match="cannot be unpacked"):
        fetch(archive_set(server, out.getvalue(), one=b"1"), tmp_path / "root")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../archive-py/one", "1")
        entry = zipfile.ZipInfo("archive-py/two")
        entry.external_attr = (
            0o120777 << 16
        )  # a symbolic link, as unzip would create it
        archive.writestr(entry, "/etc/hostname")
    with pytest.raises(DataError, match=r"one is missing|has MD5"):
        fetch(
            archive_set(server, out.getvalue(), "archive.zip", one=b"2", two=b"1"),
            tmp_path / "root",
        )
    assert [p.name for p in tmp_path.iterdir()] == ["root"]
    assert not leftovers(tmp_path)


def test_links_that_an_unpacker_lets_through_are_found(server, tmp_path, monkeypatch):
    """The link's target is the official file, but it is still rejected."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"1")

    def unpack(packed, unpacked, filter):
        (unpacked / "archive-py").mkdir(parents=True)
        (unpacked / "archive-py/one").symlink_to(outside)

    monkeypatch.setattr(download.shutil, "unpack_archive", unpack)
    with pytest.raises(DataError, match="a link that leads out of"):
        fetch(
            archive_set(server, tar_of({"archive-py/one": b"1"}), one=b"1"),
            tmp_path / "root",
        )
    assert not leftovers(tmp_path / "root")


def test_a_root_that_cannot_be_written(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="is a file"):
        fetch(plain_set(server), tmp_path / "file")
    with pytest.raises(DataError, match="cannot write"):
        fetch(plain_set(server), tmp_path / "file" / "below")


def test_the_catalogue_is_complete():
    from dfltheory.tasks.files import SETS

    assert set(SETS) == {
        "mnist",
        "fashion_mnist",
        "cifar10",
        "cifar100",
        "tiny_imagenet",
    }
    for entry in SETS.values():
        assert bool(entry.archive) != bool(entry.urls)
        assert set(entry.urls) in (set(), set(entry.files))
        for digest in [
            *entry.files.values(),
            *([entry.archive[1]] if entry.archive else []),
        ]:
            assert len(digest) == 32
            assert int(digest, 16) > 0
    with pytest.raises(
        DataError,
        match=r"cifar10.*--data-root",
    ):
        require("cifar10", "/nonexistent-data-root")
