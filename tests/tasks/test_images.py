"""Readers of the official formats, checksums, hostile pickles, and the image sets
themselves.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
import pickle

import numpy as np
import pytest
import torch

from dfltheory.errors import DataError, InputError, UnknownNameError
from dfltheory.tasks import files, formats, image_task, images
from tests.tasks import official


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    """Create a data root with a tiny MNIST that the catalogue accepts as the official
    one.
    """
    sums, arrays = official.mnist_folder(tmp_path)
    entry = dataclasses.replace(files.SETS["mnist"], files=sums)
    monkeypatch.setitem(files.SETS, "mnist", entry)
    return tmp_path, arrays


def test_mnist_is_read_as_written(mnist):
    root, arrays = mnist
    found = images.load_images("mnist", root)
    np.testing.assert_array_equal(
        found.train_x[:, 0], arrays["train-images-idx3-ubyte.gz"]
    )
    np.testing.assert_array_equal(found.test_y, arrays["t10k-labels-idx1-ubyte.gz"])
    assert (found.shape, found.classes, found.white) == ((1, 28, 28), 10, 255)


def test_normalization_has_mean_zero_and_deviation_one(mnist):
    found = images.load_images("mnist", mnist[0])
    x = found.normalized(found.train_x)
    assert x.dtype == torch.float32
    assert float(x.mean()) == pytest.approx(0, abs=1e-5)
    assert float(x.std(correction=0)) == pytest.approx(1, abs=1e-5)
    mean, deviation = found.moments
    assert mean[0] == pytest.approx(found.train_x.mean() / 255)
    assert deviation[0] == pytest.approx(found.train_x.std() / 255)


def test_the_root_is_argument_then_environment_then_cache(tmp_path, monkeypatch):
    monkeypatch.setenv(files.DATA_ROOT_VARIABLE, str(tmp_path / "env"))
    assert files.data_root(tmp_path / "given") == tmp_path / "given"
    assert files.data_root() == tmp_path / "env"
    monkeypatch.delenv(files.DATA_ROOT_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "dfltheory" in str(files.data_root())
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is a file"):
        files.data_root(tmp_path / "file")


@pytest.mark.parametrize(
    ("damage", "state", "words"),
    [
        (lambda p: p.unlink(), "missing", "is missing"),
        (lambda p: p.write_bytes(b""), "empty", "is empty"),
        (
            lambda p: p.write_bytes(p.read_bytes()[:100]),
            "wrong",
            r"\(100 bytes\) has MD5",
        ),
        (lambda p: p.write_bytes(p.read_bytes()[:-1] + b"x"), "wrong", "has MD5"),
    ],
)
def test_image_set_rejects_damaged_files_in_one_line(mnist, damage, state, words):
    root, _ = mnist
    path = root / "MNIST/raw/t10k-images-idx3-ubyte.gz"
    damage(path)
    states = {s.path.name: s.state for s in files.verify("mnist", root)}
    assert states.pop(path.name) == state
    assert set(states.values()) == {"ok"}
    with pytest.raises(DataError, match=words) as caught:
        images.load_images("mnist", root)
    assert "\n" not in str(caught.value)
    assert "dfltheory data fetch mnist" in str(caught.value)
    assert str(path) in str(caught.value)


def test_changed_files_get_the_way_to_give_ones_own_images(mnist):
    root, _ = mnist
    (root / "MNIST/raw/t10k-images-idx3-ubyte.gz").write_bytes(b"changed")
    with pytest.raises(DataError, match=r"has MD5.*tasks\.ImageSet"):
        images.load_images("mnist", root)


@pytest.mark.parametrize(
    ("x", "y", "classes"),
    [
        (official.images(3, (3, 40, 40)), [0, 1, 2], 10),
        (official.images(3, (3, 32, 32)), [0, 1, 12], 10),
        (official.images(3, (3, 32, 32)), [0, 1, 2], 100),
    ],
    ids=["size", "label", "no fine labels"],
)
def test_changed_cifar_batches_get_the_way_to_give_ones_own_images(
    tmp_path, x, y, classes
):
    (tmp_path / "batch").write_bytes(official.cifar_batch(x, y, b"labels"))
    with pytest.raises(DataError, match=r"batch.*tasks\.ImageSet"):
        formats.read_cifar_batch(tmp_path / "batch", classes)


def own_images(**changed):
    x, y = official.images(6, (2, 5, 4)), np.arange(6) % 3
    arrays = {"train_x": x, "train_y": y, "test_x": x[:3], "test_y": y[:3]}
    return images.ImageSet("mine", **(arrays | changed), labels=("a", "b", "c"))


def test_images_of_ones_own_are_a_task():
    task = image_task(own_images(train_y=[0, 1, 2, 0, 1, 2]), m=2)
    assert (task.name, task.d) == ("mine", 2 * 5 * 4 * 3 + 3)
    assert task.y.dtype == torch.int64


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("train_x", official.images(6, (5, 4))),
        ("train_x", official.images(6, (2, 5, 4)).astype(float)),
        ("train_x", [[1]]),
        ("test_x", official.images(3, (2, 4, 4))),
        ("train_y", np.arange(5) % 3),
        ("train_y", np.linspace(0, 1, 6)),
        ("train_y", np.arange(6)),
        ("test_y", np.array([-1, 0, 1])),
    ],
)
def test_arrays_that_are_no_image_set_are_rejected_by_field(field, value):
    with pytest.raises(InputError, match=f"{field} of the image set mine"):
        own_images(**{field: value})


def test_unknown_sets():
    with pytest.raises(UnknownNameError, match="cifar10"):
        images.load_images("cifar")
    with pytest.raises(UnknownNameError, match="mnist"):
        files.verify("digits")


# -- idx


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("packed", [True, False])
def test_idx_round_trip(tmp_path, shape, packed):
    array = official.images(shape[0], shape[1:])
    raw = official.idx(array)
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    np.testing.assert_array_equal(formats.read_idx(path), array)


# -- CIFAR


@pytest.mark.parametrize(("classes", "key"), [(10, b"labels"), (100, b"fine_labels")])
def test_cifar_batches_are_read_as_written(tmp_path, classes, key):
    x, y = official.images(7, (3, 32, 32)), [k % classes for k in range(7)]
    (tmp_path / "batch").write_bytes(official.cifar_batch(x, y, key))
    pixels, labels = formats.read_cifar_batch(tmp_path / "batch", classes)
    np.testing.assert_array_equal(pixels, x)
    np.testing.assert_array_equal(labels, y)


class Command:
    def __init__(self, target: str):
        self.target = target

    def __reduce__(self):
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_would_run_a_command_is_refused(tmp_path, protocol):
    evil = tmp_path / "evil"
    content = {
        b"data": np.zeros((1, 3072), np.uint8),
        b"labels": [0],
        b"extra": Command(str(evil)),
    }
    (tmp_path / "batch").write_bytes(pickle.dumps(content, protocol=protocol))
    with pytest.raises(DataError, match="is rejected"):
        formats.read_cifar_batch(tmp_path / "batch", 10)
    assert not evil.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([1, 2], "has no entries"),
        ({b"data": np.zeros((1, 3072), np.uint8)}, "has no entries"),
        (
            {b"data": np.zeros((1, 3071), np.uint8), b"labels": [0]},
            "not an array of unsigned bytes",
        ),
        (
            {b"data": np.zeros((1, 3072), np.int64), b"labels": [0]},
            "not an array of unsigned bytes",
        ),
        (
            {b"data": np.zeros((1, 3072), np.uint8), b"labels": [0, 1]},
            "1 images and 2 labels",
        ),
    ],
)
def test_pickles_that_are_no_batches(tmp_path, content, words):
    (tmp_path / "batch").write_bytes(pickle.dumps(content, protocol=3))
    with pytest.raises(DataError, match=words):
        formats.read_cifar_batch(tmp_path / "batch", 10)
    with pytest.raises(DataError, match=r"label names|is rejected"):
        formats.read_cifar_names(tmp_path / "batch", 10)


def test_damaged_pickles(tmp_path):
    whole = official.cifar_batch(official.images(2, (3, 32, 32)), [0, 1])
    for k in (0, 1, 20, len(whole) // 2, len(whole) - 1):
        (tmp_path / "batch").write_bytes(whole[:k])
        with pytest.raises(DataError, match=r"damaged pickle|is rejected|no CIFAR"):
            formats.read_cifar_batch(tmp_path / "batch", 10)


@pytest.mark.parametrize("classes", [10, 100])
def test_a_whole_cifar_folder(tmp_path, monkeypatch, classes):
    name, key = f"cifar{classes}", b"labels" if classes == 10 else b"fine_labels"
    names = {
        b"label_names" if classes == 10 else b"fine_label_names": [
            b"name%d" % k for k in range(classes)
        ]
    }
    entry = files.SETS[name]
    contents, all_x = {}, []
    for k, file in enumerate(entry.files):
        x = official.images(4, (3, 32, 32), k)
        meta = "meta" in file
        contents[file] = (
            pickle.dumps(names, protocol=3)
            if meta
            else official.cifar_batch(x, [1, 2, 3, k], key)
        )
        if not meta and "test" not in file:
            all_x.append(x)
    folder = tmp_path / entry.folder
    folder.mkdir()
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    with pytest.raises(DataError, match="official file has"):
        images.load_images(name, tmp_path)
    sums = {file: official.md5(content) for file, content in contents.items()}
    monkeypatch.setitem(files.SETS, name, dataclasses.replace(entry, files=sums))
    found = images.load_images(name, tmp_path)
    np.testing.assert_array_equal(found.train_x, np.concatenate(all_x))
    assert found.labels[3] == "name3"
    assert found.classes == classes


# -- Tiny-ImageNet


def tiny(root, classes=3, per_class=2, held=4):
    from PIL import Image

    folder = root / "tiny-imagenet-200"
    ids = [f"n{k:03d}" for k in range(classes)]
    for k, wnid in enumerate(ids):
        (folder / "train" / wnid / "images").mkdir(parents=True)
        for j in range(per_class):
            colour = np.full((64, 64, 3), 40 * k + j, np.uint8)
            Image.fromarray(colour).save(
                folder / "train" / wnid / "images" / f"{wnid}_{j}.JPEG", quality=100
            )
    (folder / "val" / "images").mkdir(parents=True)
    lines = []
    for j in range(held):
        Image.fromarray(np.full((64, 64), 10 * j, np.uint8)).save(
            folder / "val/images" / f"val_{j}.JPEG", quality=100
        )
        lines.append(f"val_{j}.JPEG\t{ids[j % classes]}\t0\t0\t1\t1")
    (folder / "val" / "val_annotations.txt").write_text("\n".join(lines) + "\n")
    (folder / "wnids.txt").write_text("\n".join(reversed(ids)) + "\n")
    return folder


def test_tiny_imagenet_is_read_and_counted(tmp_path):
    folder = tiny(tmp_path)
    ids, train, held = formats.tiny_imagenet_index(folder, 3, 2, 4)
    x, y = formats.read_jpegs(train)
    assert ids == ["n000", "n001", "n002"]
    assert x.shape == (6, 3, 64, 64)
    np.testing.assert_array_equal(y, [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(x.mean((1, 2, 3)), [0, 1, 40, 41, 80, 81], atol=2)
    x, y = formats.read_jpegs(held)
    np.testing.assert_array_equal(y, [0, 1, 2, 0])
    np.testing.assert_allclose(x.mean((1, 2, 3)), [0, 10, 20, 30], atol=2)
    with pytest.raises(DataError, match=r"3 .*200"):
        images.load_images("tiny_imagenet", tmp_path)
    assert files.verify("tiny_imagenet", tmp_path)[0].state == "wrong"
    assert files.verify("tiny_imagenet", tmp_path / "nowhere")[0].state == "missing"


def test_incomplete_tiny_imagenet(tmp_path):
    folder = tiny(tmp_path)
    (folder / "val/images/val_1.JPEG").unlink()
    with pytest.raises(DataError, match=r"val_1\.JPEG"):
        formats.tiny_imagenet_index(folder, 3, 2, 4)
    (folder / "train/n001/images/n001_0.JPEG").unlink()
    with pytest.raises(DataError, match="has 1 images, not 2"):
        formats.tiny_imagenet_index(folder, 3, 2, 4)
    for k in (0, 2):
        (folder / f"train/n00{k}/images/n00{k}_0.JPEG").unlink()
    with pytest.raises(DataError, match="does not label 5"):
        formats.tiny_imagenet_index(folder, 3, 1, 5)


# -- the real files


def test_digits_are_bundled():
    found = images.load_images("digits")
    assert (found.train_x.shape, found.test_x.shape, found.white) == (
        (1442, 1, 8, 8),
        (355, 1, 8, 8),
        16,
    )
    assert found.train_x.max() == 16
    counts = np.bincount(found.train_y)
    assert counts.min() >= 139
    assert (np.bincount(found.test_y) * 4 - counts < 4).all()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "shape", "mean", "deviation", "first"),
    [
        ("mnist", (60000, 1, 28, 28), [0.1307], [0.3081], 5),
        pytest.param(
            "fashion_mnist",
            (60000, 1, 28, 28),
            [0.2860],
            [0.3530],
            9,
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "cifar10",
            (50000, 3, 32, 32),
            [0.4914, 0.4822, 0.4465],
            [0.2470, 0.2435, 0.2616],
            6,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_official_files(data_root, name, shape, mean, deviation, first):
    found = images.load_images(name, data_root)
    assert found.train_x.shape == shape
    assert len(found.test_x) == 10_000
    assert (np.bincount(found.test_y) == 1000).all() or name == "mnist"
    assert found.train_y[0] == first
    # the values that are commonly printed
    np.testing.assert_allclose(found.moments[0], mean, atol=6e-5)
    np.testing.assert_allclose(found.moments[1], deviation, atol=6e-5)


# -- the bundled digits

DIGITS = "993e8c7dc6b2290e51b554df750456c61890b201279e6d34ff5c733587347dfe"


def test_bundled_digits_keep_their_bits():
    found, digest = images.load_images("digits"), hashlib.sha256()
    for array in (found.train_x, found.train_y, found.test_x, found.test_y):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    assert digest.hexdigest() == DIGITS
    assert (found.shape, found.classes, found.white) == ((1, 8, 8), 10, 16)


def test_bundled_digits_are_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets")
    pixels, labels = datasets.load_digits(return_X_y=True)
    found = images.load_images("digits")
    both = np.concatenate([found.train_x, found.test_x]).reshape(-1, 64)
    of_both = np.concatenate([found.train_y, found.test_y])
    ours, theirs = (
        np.column_stack([x, y]) for x, y in ((both, of_both), (pixels, labels))
    )
    np.testing.assert_array_equal(np.unique(ours, axis=0), np.unique(theirs, axis=0))
    assert len(ours) == len(theirs)
