"""Forged files in a data root get a one-line error, execute nothing, and take little
memory.
"""

from __future__ import annotations

import dataclasses
import gzip
import io
import os
import pickle
import struct
import tracemalloc
import zlib
from functools import partial

import numpy as np
import pytest

from dfltheory.errors import DataError
from dfltheory.tasks import files, formats
from dfltheory.tasks.download import fetch
from tests.tasks import official

MOST_MEMORY = 40_000_000
"""Peak memory, in bytes, that reading a hostile file may take."""


def refused(call, words: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=words) as caught:
            call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert peak < MOST_MEMORY, f"{peak / 1e6:.0f} MB"


# -- idx


def header(*shape: int, kind: int = 8) -> bytes:
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)


def bomb(head: bytes, megabytes: int = 200) -> bytes:
    """Return a small file that unpacks to a huge one."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as stream:
        stream.write(head)
        for _ in range(megabytes):
            stream.write(bytes(1_000_000))
    return out.getvalue()


IDX = {
    "terabytes": (header(2**20, 2**20), "declares 1.1e.12 bytes"),
    "terabytes, packed": (
        gzip.compress(header(2**32 - 1, 2**32 - 1)),
        "declares 1.84e.19 bytes",
    ),
    "a product that overflows to 0": (
        header(2**32 - 1, 2**32 - 1, 2**32 - 1, 2**31),
        "declares",
    ),
    "a product that overflows to what is there": (
        header(2**31, 2**31, 4, 1),
        "declares",
    ),
    "just beyond the limit": (header(2**29 + 1) + b"x", "declares 5.37e.08 bytes"),
    "255 dimensions": (
        bytes([0, 0, 8, 255]) + struct.pack(">255I", *[1] * 255) + b"x",
        "not an idx file",
    ),
    "no dimension": (bytes([0, 0, 8, 0]) + b"x", "not an idx file"),
    "an empty dimension": (header(0, 28, 28), "declares 0 x 28 x 28 bytes"),
    "an empty dimension next to huge ones": (
        header(2**32 - 1, 0, 2**32 - 1),
        "declares",
    ),
    "half a header": (header(3, 3)[:6], "declares"),
    "floats": (header(1, kind=13) + bytes(4), "idx type 13"),
    "less than announced": (header(4) + b"123", "declares 4 bytes and contains 3"),
    "more than announced": (header(2) + bytes(10**6), "contains more"),
    "a bomb that hides behind a small header": (
        partial(bomb, header(2)),
        "contains more",
    ),
    "a bomb without a header": (partial(bomb, b"\1\2\3\4", 1), "not an idx file"),
    "gzip in gzip": (gzip.compress(gzip.compress(header(1) + b"x")), "not an idx file"),
    "gzip with a wrong sum": (
        gzip.compress(header(1) + b"x")[:-8] + bytes(8),
        "truncated or damaged",
    ),
    "gzip that breaks off": (
        gzip.compress(header(99) + bytes(99), mtime=0)[:20],
        "truncated or damaged",
    ),
    "junk that starts as gzip does": (
        b"\x1f\x8b" + b"junk" * 10,
        "truncated or damaged",
    ),
    "deflate without gzip's header": (
        zlib.compress(header(1) + b"x"),
        "not an idx file",
    ),
    "a pickle": (pickle.dumps([1]), "not an idx file"),
    "nothing": (b"", "not an idx file"),
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", IDX)
def test_idx_files(tmp_path, name):
    content, words = IDX[name]
    if callable(content):
        content = content()
    (tmp_path / "x").write_bytes(content)
    refused(lambda: formats.read_idx(tmp_path / "x"), words)


# -- pickles

PIXELS, ARRAY = (
    bytes(3072),
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01bt",
)
BYTE_STATE = b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
BYTE = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR" + BYTE_STATE
OBJECT = b"cnumpy\ndtype\n(U\x02O8K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb"
FORGED = b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNK\x08K\x08K?tb"
"""Bytes are given by name and references by state; numpy would follow forged pointers
if it built this array.
"""


def text(value: bytes) -> bytes:
    return b"T" + struct.pack("<i", len(value)) + value


def array(
    kind: bytes = BYTE, shape: bytes = b"K\x01M\x00\x0c\x86", data: bytes = text(PIXELS)
) -> bytes:
    return ARRAY + b"R(K\x01" + shape + kind + b"\x89" + data + b"tb"


def batch(data: bytes, labels: bytes = b"](K\x07e") -> bytes:
    return b"\x80\x02}(U\x04data" + data + b"U\x06labels" + labels + b"u."


DEPTH = 60
TWICE = [b"q%ch%c" % (k, k) for k in range(DEPTH)]
LISTS = b"](" * DEPTH + b"]" + b"".join(twice + b"e" for twice in TWICE)
TUPLES = b"(t" + b"".join(twice + b"\x86" for twice in TWICE)
"""Each tuple contains the previous one twice: hashing or printing it visits 2^60
leaves.
"""
PICKLES = {
    "an object array": (batch(array(OBJECT)), "not an array of unsigned bytes"),
    "objects in a list for an array": (
        batch(array(data=b"](NNe")),
        "not an array of unsigned bytes",
    ),
    "no type": (batch(array(b"N")), "not an array of unsigned bytes"),
    "text for a type": (batch(array(b"U\x05dtype")), "not an array of unsigned bytes"),
    "fewer bytes than a picture has": (
        batch(array(data=text(PIXELS[1:]))),
        "not an array of unsigned bytes",
    ),
    "a shape of floats": (
        batch(array(shape=b"G?\xf0\0\0\0\0\0\0M\x00\x0c\x86")),
        "opcode BINFLOAT",
    ),
    "a command": (batch(b"cos\nsystem\n(U\x04truetR"), "it calls 'os system'"),
    "eval": (batch(b"cbuiltins\neval\n(U\x011tR"), "it calls 'builtins eval'"),
    "a reader of files": (batch(b"cnumpy\nload\n(U\x01xtR"), "it calls 'numpy load'"),
    "an instance": (batch(b"(cos\nsystem\nU\x04trueo"), "it calls 'os system'"),
    "an instance of an array": (batch(b"(cnumpy\nndarray\nU\x04trueo"), "opcode OBJ"),
    "an old instance": (batch(b"(U\x04trueios\nsystem\n"), "opcode INST"),
    "a new object": (batch(b"cnumpy\nndarray\n)\x81"), "opcode EMPTY_TUPLE"),
    "a global of a later protocol": (
        batch(b"\x8c\x02os\x8c\x06system\x93"),
        "opcode SHORT_BINUNICODE",
    ),
    "a persistent object": (batch(b"U\x01xQ"), "opcode BINPERSID"),
    "an extension": (batch(b"\x82\x01"), "opcode EXT1"),
    "a buffer from elsewhere": (batch(b"\x97"), "opcode NEXT_BUFFER"),
    "a matrix for an array": (
        batch(array().replace(b"ndarray\n", b"matrix\n")),
        "it calls 'numpy matrix'",
    ),
    "a place beyond all memory": (
        batch(b"]r\xf0\xff\xff\xff" + b"(K\x01e"),
        "not an array of unsigned",
    ),
    "a number of many digits": (
        batch(b"L" + b"9" * 10**5 + b"L\n"),
        "damaged pickle|opcode LONG",
    ),
    "a text that is longer than the file": (
        batch(b"T\xff\xff\xff\x7fx"),
        "damaged pickle",
    ),
    "a text of negative length": (batch(b"T\xff\xff\xff\xffx"), "damaged pickle"),
    "half a million lists and more": (
        batch(b"](" + b"]" * 500_001 + b"e"),
        "more than 500000 opcodes",
    ),
    "lists of lists of lists": (batch(LISTS), "not an array of unsigned bytes"),
    "tuples of tuples as a name": (b"\x80\x02}" + TUPLES + b"K\x01s.", "no entries"),
    "itself": (b"\x80\x02]q\x00h\x00a.", "no entries"),
    "labels beyond the classes": (batch(array(), b"](K\x0ae"), "list of labels"),
    "labels that are truths": (batch(array(), b"](\x88e"), "list of labels"),
    "an empty stack": (b"\x80\x02u.", "no entries"),
    "no end": (b"\x80\x02}", "damaged pickle"),
}
HARMLESS = {
    "bytes whose state says objects": array(FORGED),
    "a type with fields": array(BYTE.replace(b"U\x01|NNN", b"U\x01|NU\x01a}")),
    "a shape that is too large": array(shape=b"J\xff\xff\xff\x7fM\x00\x0c\x86"),
    "a negative shape": array(shape=b"J\xff\xff\xff\xffM\x00\xf4\x86"),
    "tuples of tuples next to an array": TUPLES + array(),
    "lists of lists next to an array": LISTS + array(),
    "the state of a list": b"]}b" + array(),
    "text that is a name": b"U\x0cnumpy dtype(U\x02u1tR" + array(),
}
"""These only matter if they are built; here their bytes are the pixels, and the rest is
not read.
"""


def test_the_forged_batches_differ_from_a_good_one_by_their_fault_only(tmp_path):
    (tmp_path / "x").write_bytes(batch(array()))
    pixels, labels = formats.read_cifar_batch(tmp_path / "x", 10)
    assert pixels.shape == (1, 3, 32, 32)
    assert labels.tolist() == [7]
    # it loads
    assert pickle.loads(
        batch(array(OBJECT).replace(text(PIXELS), b"](" + b"N" * 3072 + b"e"))
    )


@pytest.mark.parametrize("name", HARMLESS)
def test_reader_builds_nothing_of_a_pickle_except_its_bytes(tmp_path, name):
    (tmp_path / "x").write_bytes(batch(HARMLESS[name]))
    tracemalloc.start()
    pixels, labels = formats.read_cifar_batch(tmp_path / "x", 10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (pixels.shape, int(pixels.max()), labels.tolist()) == (
        (1, 3, 32, 32),
        0,
        [7],
    )
    assert peak < MOST_MEMORY


@pytest.mark.parametrize("name", PICKLES)
def test_pickles(tmp_path, name):
    content, words = PICKLES[name]
    (tmp_path / "x").write_bytes(content)
    refused(lambda: formats.read_cifar_batch(tmp_path / "x", 10), words)


# -- images and lists of names


def picture(kind: str, side: int = 64) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (side, side)).save(out, kind)
    return out.getvalue()


def wide(side: int) -> bytes:
    """Return a JPEG of 64 x 64 whose header says side x side."""
    jpeg = picture("JPEG")
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", side, side) + jpeg[at + 4 :]


IMAGES = {
    "an EPS, which Ghostscript would run": (
        lambda: (
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64"
            b" 64\n%%EndComments\nshowpage\n"
        ),
        "JPEG",
    ),
    "a PNG": (lambda: picture("PNG"), "not a readable JPEG"),
    "a GIF": (lambda: picture("GIF"), "not a readable JPEG"),
    "a TIFF": (lambda: picture("TIFF"), "not a readable JPEG"),
    "a bomb of 4 gigapixels": (lambda: wide(65535), "not a readable JPEG"),
    "a bomb below Pillow's limit": (
        lambda: wide(9000),
        "9000 x 9000 pixels, not 64 x 64",
    ),
    "a JPEG that breaks off": (lambda: picture("JPEG")[:400], "not a readable JPEG"),
    "another size": (lambda: picture("JPEG", 32), "32 x 32 pixels"),
    "nothing": (lambda: b"", "not a readable JPEG"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images(tmp_path, name):
    content, words = IMAGES[name]
    (tmp_path / "x.JPEG").write_bytes(content())
    refused(lambda: formats.read_jpegs([(tmp_path / "x.JPEG", 0)]), words)


def tiny(root, wnid: str = "n0", name: str = "a.JPEG"):
    """Create a folder with one class and one image each for training and validation."""
    folder = root / "tiny-imagenet-200"
    (folder / "train" / "n0" / "images").mkdir(parents=True)
    (folder / "val" / "images").mkdir(parents=True)
    for where in ("train/n0/images", "val/images"):
        (folder / where / "a.JPEG").write_bytes(picture("JPEG"))
    (folder / "wnids.txt").write_text(wnid)
    (folder / "val" / "val_annotations.txt").write_text(f"{name}\t{wnid}\n")
    return folder


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"wnid": "../../secrets"}, "not a plain file name"),
        ({"wnid": "/etc"}, "not a plain file name"),
        ({"wnid": ".."}, "not a plain file name"),
        ({"wnid": "n*"}, "not a plain file name"),
        ({"name": "../../../outside.JPEG"}, "not a plain file name"),
        ({"name": "a\0b"}, "not a plain file name"),
        ({"name": ""}, "not a plain file name|does not label"),
    ],
)
def test_names_that_lead_elsewhere(tmp_path, changed, words):
    (tmp_path / "outside.JPEG").write_bytes(picture("JPEG"))
    folder = tiny(tmp_path / "root", **changed)
    refused(lambda: formats.tiny_imagenet_index(folder, 1, 1, 1), words)


def test_a_list_of_names_without_end(tmp_path):
    folder = tiny(tmp_path)
    with (folder / "wnids.txt").open("wb") as stream:
        stream.truncate(10**10)  # a hole: it takes no room on the disk
    refused(lambda: formats.tiny_imagenet_index(folder, 1, 1, 1), "not a list of names")


# -- links and special files


@pytest.mark.parametrize(
    "what",
    ["train/n0/images/a.JPEG", "val/images/a.JPEG", "train/n0", "val/images", ""],
)
def test_images_are_read_through_links(tmp_path, what):
    folder, outside = tiny(tmp_path / "root"), tmp_path / "outside"
    before = formats.tiny_imagenet_index(folder, 1, 1, 1)
    (folder / what).rename(outside)
    (folder / what).symlink_to(outside)
    assert formats.tiny_imagenet_index(folder, 1, 1, 1) == before


def test_links_to_what_is_no_image_are_refused(tmp_path):
    folder = tiny(tmp_path / "root")
    for image in ("train/n0/images/a.JPEG", "val/images/a.JPEG"):
        content = (folder / image).read_bytes()
        for target in (os.devnull, tmp_path / "pipe", tmp_path / "absent"):
            if target == tmp_path / "pipe" and not target.exists():
                os.mkfifo(target)
            (folder / image).unlink()
            (folder / image).symlink_to(target)
            refused(
                lambda: formats.tiny_imagenet_index(folder, 1, 1, 1),
                "not a regular file",
            )
        (folder / image).unlink()
        (folder / image).write_bytes(content)


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    sums, _ = official.mnist_folder(tmp_path / "root")
    monkeypatch.setitem(
        files.SETS, "mnist", dataclasses.replace(files.SETS["mnist"], files=sums)
    )
    return tmp_path / "root"


@pytest.mark.parametrize(
    "what", ["MNIST", "MNIST/raw", "MNIST/raw/t10k-labels-idx1-ubyte.gz"]
)
def test_a_data_root_may_contain_links(mnist, tmp_path, what):
    """Official files are recognized by their checksums, wherever they are stored."""
    (mnist / what).rename(tmp_path / "outside")
    (mnist / what).symlink_to(tmp_path / "outside")
    assert files.require("mnist", mnist) == mnist / "MNIST/raw"
    assert fetch("mnist", mnist) == mnist / "MNIST/raw", "nothing is missing"


@pytest.mark.parametrize("what", ["MNIST", "MNIST/raw"])
def test_nothing_is_written_through_a_link(mnist, tmp_path, what):
    (mnist / what).rename(tmp_path / "outside")
    (mnist / what).symlink_to(tmp_path / "outside")
    file = mnist / "MNIST/raw/t10k-labels-idx1-ubyte.gz"
    file.unlink()
    before = sorted(tmp_path.rglob("*"))
    refused(lambda: fetch("mnist", mnist), "a link that leads out of")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_to_what_is_not_the_official_file_is_refused(mnist, tmp_path):
    file = mnist / "MNIST/raw/t10k-labels-idx1-ubyte.gz"
    file.unlink()
    targets = {
        tmp_path / "secret": "has MD5",
        tmp_path / "absent": "does not exist",
        tmp_path / "pipe": "does not exist|is missing",
        file: "does not exist|is missing",
    }
    (tmp_path / "secret").write_text("no image")
    os.mkfifo(tmp_path / "pipe")
    for target, words in targets.items():
        file.symlink_to(target)
        refused(lambda: files.require("mnist", mnist), words)
        file.unlink()


def test_links_that_stay_inside_are_followed(mnist):
    (mnist / "MNIST/raw").rename(mnist / "elsewhere")
    (mnist / "MNIST/raw").symlink_to(mnist / "elsewhere")
    assert {state.state for state in files.verify("mnist", mnist)} == {"ok"}


def test_a_root_that_is_a_link_itself_is_the_users_choice(mnist, tmp_path):
    (tmp_path / "link").symlink_to(mnist)
    assert files.require("mnist", tmp_path / "link") == tmp_path / "link/MNIST/raw"


@pytest.mark.parametrize("read", [formats.read_idx, formats.read_constants])
def test_what_is_no_file_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    refused(lambda: read(tmp_path / "pipe"), "not a regular file")
    refused(lambda: read(tmp_path), "not a regular file")
    refused(lambda: read(tmp_path / "absent"), "cannot be read")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(lambda: read(tmp_path / "loop"), "cannot be read")


def test_a_pickle_of_many_gigabytes_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "LARGEST_IMAGE_FILE", 10**6)
    with (tmp_path / "x").open("wb") as stream:
        stream.truncate(10**10)
    refused(lambda: formats.read_constants(tmp_path / "x"), "no official file has more")
    assert formats.LARGEST_IMAGE_FILE < 2**30


def test_good_arrays_of_both_orders(tmp_path):
    """The pixels are those that numpy wrote, in row-major or column-major order."""
    x = official.images(2, (3072,))
    for given in (x, np.asfortranarray(x)):
        content = pickle.dumps({b"data": given, b"labels": [1, 2]}, protocol=3).replace(
            b"_core", b"core"
        )
        (tmp_path / "x").write_bytes(content)
        np.testing.assert_array_equal(
            formats.read_cifar_batch(tmp_path / "x", 10)[0].reshape(2, -1), x
        )
