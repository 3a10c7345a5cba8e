"""Random number generators as functions of root seed, seed index, round and purpose.

No generator has a state that lasts longer than a round. A resumed run therefore needs
no stored generator, and seed s gives the same numbers alone and among other seeds.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import torch

from dfltheory.errors import InputError

Purpose = Literal["data", "network", "start", "participation", "message"]
_PURPOSES: dict[str, int] = {
    "data": 0,
    "network": 1,
    "start": 2,
    "participation": 3,
    "message": 4,
}


def _sequence(root: int, s: int, t: int, purpose: Purpose) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy=root, spawn_key=(s, t, _PURPOSES[purpose]))


def numpy_generator(root: int, s: int, t: int, purpose: Purpose) -> np.random.Generator:
    """Return the numpy generator of one seed, round and purpose."""
    return np.random.Generator(np.random.PCG64(_sequence(root, s, t, purpose)))


def torch_generator(
    root: int, s: int, t: int, purpose: Purpose, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return the torch generator of one seed, round and purpose."""
    word = _sequence(root, s, t, purpose).generate_state(1, np.uint64)[0]
    return torch.Generator(device=device).manual_seed(int(word >> np.uint64(1)))


class Generators(Sequence[torch.Generator]):
    """One torch generator for each seed of a round, created at first use."""

    def __init__(
        self,
        root: int,
        seeds: Sequence[int],
        t: int,
        purpose: Purpose,
        device: torch.device | str = "cpu",
    ):
        self._seeds, self._make = (
            seeds,
            lambda s: torch_generator(root, s, t, purpose, device),
        )

    @cached_property
    def _made(self) -> list[torch.Generator]:
        return [self._make(s) for s in self._seeds]

    def __len__(self) -> int:
        return len(self._seeds)

    def __getitem__(self, index):  # type: ignore[override]
        return self._made[index]


def uniform(
    generators: Sequence[torch.Generator], shape: tuple[int, ...], like: torch.Tensor
) -> torch.Tensor:
    """Return uniform numbers in [0, 1) of shape (S, *shape), with dtype and device of
    ``like``.
    """
    numbers = like.new_empty((len(generators), *shape))
    for own, g in zip(numbers, generators):
        torch.rand(shape, generator=g, out=own)
    return numbers


def may_draw(shape: tuple[int, ...], m: int, draws: bool) -> None:
    """Raise InputError if the algorithm does not declare ``draws``, or the shape is not
    (m, ...).
    """
    if not draws:
        raise InputError(
            "uniform: this algorithm draws random numbers without declaring it: set"
            " draws = True in its class"
        )
    if shape[0] != m:
        raise InputError(
            f"uniform({shape}): the first axis must be the {m} clients: use"
            " (x.shape[1], ...)"
        )


@contextlib.contextmanager
def one_order() -> Iterator[None]:
    """Make torch deterministic within the block: one thread, deterministic
    algorithms.
    """
    threads, strict = (
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
    )
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    # deterministic cuBLAS requires it
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(strict, warn_only=warns)


__all__ = [
    "Generators",
    "may_draw",
    "numpy_generator",
    "one_order",
    "torch_generator",
    "uniform",
]
