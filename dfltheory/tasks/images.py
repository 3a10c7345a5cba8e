"""Labeled image sets, read from their official files into memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dfltheory.errors import InputError, checked_name
from dfltheory.tasks import files, formats

NAMES = ("digits", *files.SETS)
"""Names of all image sets: the bundled digits, and those in files below a data root."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Training and test images as bytes (n, channels, height, width), with labels.

    Images may have any size and number of classes; :func:`~dfltheory.tasks.image_task`
    divides them over clients::

        animals = ImageSet("animals", x, y, test_x, test_y, labels=("cat", "dog"))
        task = image_task(animals, m=10, model=my_module)

    Attributes
    ----------
    name : str
        Name of the task.
    train_x, test_x : (n, channels, height, width) arrays of unsigned bytes
        Pixels.
    train_y, test_y : (n,) arrays of int
        Labels 0..classes-1.
    labels : tuple of str
        Names of the classes.
    white : int
        Value of a white pixel (255; 16 for the digits).

    Raises
    ------
    InputError
        If an array has the wrong type or shape, or a label has no name.
    """

    name: str
    train_x: NDArray[np.uint8]
    train_y: NDArray[np.int64]
    test_x: NDArray[np.uint8]
    test_y: NDArray[np.int64]
    labels: tuple[str, ...]
    white: int = 255

    def __post_init__(self) -> None:
        """Check the fields."""
        for part in ("train", "test"):
            pixels, labels = (getattr(self, f"{part}_{k}") for k in "xy")
            if getattr(pixels, "dtype", None) != np.uint8 or pixels.ndim != 4:
                raise InputError(
                    f"{part}_x of the image set {self.name} must be an array of"
                    " unsigned bytes of shape (n, channels, height, width); this is"
                    f" {_kind(pixels)}"
                )
            if pixels.shape[1:] != self.train_x.shape[1:]:
                raise InputError(
                    f"test_x of the image set {self.name} has images of shape"
                    f" {pixels.shape[1:]}, but train_x of shape"
                    f" {self.train_x.shape[1:]}"
                )
            object.__setattr__(self, f"{part}_y", self._labels(part, labels, pixels))

    def _labels(
        self, part: str, labels: ArrayLike, pixels: np.ndarray
    ) -> NDArray[np.int64]:
        """Check and return the labels of the training or test set."""
        y = np.asarray(labels)
        if y.dtype.kind not in "iu" or y.shape != pixels.shape[:1] or not y.size:
            raise InputError(
                f"{part}_y of the image set {self.name} must be {len(pixels)} >= 1"
                f" integers, one for each image; this is {_kind(y)}"
            )
        if y.min() < 0 or y.max() >= self.classes:
            raise InputError(
                f"{part}_y of the image set {self.name} has the labels {y.min()} to"
                f" {y.max()}, but only 0 to {self.classes - 1} have names"
            )
        return y.astype(np.int64)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, height, width) of one image."""
        _, channels, height, width = self.train_x.shape
        return channels, height, width

    @cached_property
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each channel of train_x, scaled to [0, 1]."""
        values = np.arange(256) / self.white
        means, variances = [], []
        for channel in np.moveaxis(self.train_x, 1, 0):
            frequencies = np.bincount(channel.ravel(), minlength=256) / channel.size
            mean = frequencies @ values
            means.append(mean)
            variances.append(frequencies @ (values - mean) ** 2)
        return np.array(means), np.sqrt(variances)

    def normalized(self, pixels: NDArray[np.uint8]) -> Tensor:
        """Standardize channels by the training set's mean and standard deviation.

        This is the papers' preprocessing. The result is float32 of the same shape.
        """
        return Normalize(self)(torch.from_numpy(pixels.astype(np.float32)))


def _kind(value: object) -> str:
    """Describe the type and shape of a value, for messages."""
    if not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    return f"an array of {value.dtype} of shape {value.shape}"


class Normalize:
    """Converts pixels 0..white (N, channels, height, width) to standardized float32."""

    def __init__(self, images: ImageSet):
        mean, deviation = images.moments
        self.scale = torch.tensor(1 / (images.white * deviation), dtype=torch.float32)[
            :, None, None
        ]
        self.shift = torch.tensor(mean / deviation, dtype=torch.float32)[:, None, None]

    def __call__(self, pixels: Tensor) -> Tensor:
        """Return the standardized pixels."""
        scale, shift = self.scale.to(pixels.device), self.shift.to(pixels.device)
        return (pixels.to(torch.float32) * scale).sub_(shift)


def load_images(name: str, root: str | os.PathLike[str] | None = None) -> ImageSet:
    """Return an image set by name, after verifying its files below the data root.

    Raises
    ------
    UnknownNameError
        If no image set has this name.
    DataError
        If a file is missing, truncated or not the official one.
    """
    if name == "digits":
        return _digits()
    folder = files.require(checked_name("image set", name, NAMES), root)
    if name == "mnist":
        return ImageSet(name, *formats.read_mnist(folder), labels=tuple("0123456789"))
    if name == "fashion_mnist":
        return ImageSet(name, *formats.read_mnist(folder), labels=_FASHION)
    if name == "tiny_imagenet":
        return _tiny_imagenet(name, folder)
    arrays, labels = formats.read_cifar(folder, 10 if name == "cifar10" else 100)
    return ImageSet(name, *arrays, labels=labels)


def _digits() -> ImageSet:
    """Return 1797 images of 8 x 8 pixels; every fifth of each digit is a test image.

    They are the test part of Alpaydin and Kaynak, Optical Recognition of Handwritten
    Digits (1998), UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, CC
    BY 4.0.
    """
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as arrays:
        pixels = arrays["pixels"][:, None]
        y = arrays["labels"].astype(np.int64)
    test = np.zeros(len(y), bool)
    for k in range(10):
        test[np.flatnonzero(y == k)[4::5]] = True
    return ImageSet(
        "digits",
        pixels[~test],
        y[~test],
        pixels[test],
        y[test],
        tuple("0123456789"),
        white=16,
    )


_FASHION = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def _tiny_imagenet(name: str, folder: Path) -> ImageSet:
    """Read Tiny-ImageNet; the validation images serve as test set.

    This is common practice, because the official test labels are not published.
    """
    ids, train, held = formats.tiny_imagenet_index(folder)
    return ImageSet(
        name, *formats.read_jpegs(train), *formats.read_jpegs(held), labels=tuple(ids)
    )
