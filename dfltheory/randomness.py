"""Random number generators as functions of root seed, seed index, round and purpose.

Generators are restarted in each round. Therefore a resumed run needs no stored
generator, and a seed gives the same numbers alone and together with other seeds.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Self, TypedDict

import numpy as np
import torch

from dfltheory.errors import InputError

Purpose = Literal["data", "network", "start", "participation", "message"]
"""What random numbers are for; different purposes have independent numbers."""
_PURPOSES: dict[str, int] = {
    "data": 0,
    "network": 1,
    "start": 2,
    "participation": 3,
    "message": 4,
}

RANDOM_FORMAT = 2
"""Version of the random numbers; different versions draw different numbers."""

Distribution = Literal["normal", "uniform"]
_KINDS: tuple[Distribution, ...] = ("normal", "uniform")
_MIXING_STEPS = 18
"""Number of SFC64 steps discarded after seeding, to mix the words of the state."""
_MOST_AHEAD = 2**20
"""Largest number of values drawn in advance, for all seeds together."""


def _sequence(root: int, s: int, t: int, purpose: Purpose) -> np.random.SeedSequence:
    """Return the seed sequence of one seed, round and purpose."""
    return np.random.SeedSequence(entropy=root, spawn_key=(s, t, _PURPOSES[purpose]))


def numpy_generator(root: int, s: int, t: int, purpose: Purpose) -> np.random.Generator:
    """Return the numpy generator of one seed, round and purpose.

    Parameters
    ----------
    root : int
        Root seed of the run.
    s : int
        Index of the seed.
    t : int
        The round.
    purpose : str
        Purpose of the numbers.
    """
    return np.random.Generator(np.random.PCG64(_sequence(root, s, t, purpose)))


def torch_generator(
    root: int, s: int, t: int, purpose: Purpose, device: torch.device | str = "cpu"
) -> torch.Generator:
    """Return the torch generator of one seed, round and purpose.

    Parameters as in :func:`numpy_generator`; ``device`` is that of the generator.
    """
    word = _sequence(root, s, t, purpose).generate_state(1, np.uint64)[0]
    return torch.Generator(device=device).manual_seed(int(word >> np.uint64(1)))


class _Words(TypedDict):
    state: np.ndarray


class _SFC64State(TypedDict):
    """The state of :class:`numpy.random.SFC64`."""

    bit_generator: str
    state: _Words
    has_uint32: int
    uinteger: int


def _sfc64_state(words: np.ndarray) -> _SFC64State:
    """Return a state for ``SFC64.state``: four words and no half-used number."""
    return {
        "bit_generator": "SFC64",
        "state": {"state": words},
        "has_uint32": 0,
        "uinteger": 0,
    }


class _Stream:
    """Arrays of ``size`` numbers of one kind and precision for each seed.

    The stream is restarted in each round. As many arrays are drawn at once as the
    previous round used; this does not affect the numbers.
    """

    def __init__(self, keys: np.ndarray, size: int, kind: Distribution, single: bool):
        self._size = size
        self._type = np.float32 if single else np.float64
        # key, round, counter
        self._words = np.ones((len(keys), 4), np.uint64)
        self._words[:, :2] = keys
        self._generators = [np.random.SFC64(0) for _ in keys]
        self._starts = [_sfc64_state(words) for words in self._words]
        """States of the generators, with views of the words."""
        self._draws = []
        for generator in map(np.random.Generator, self._generators):
            draws = {"normal": generator.standard_normal, "uniform": generator.random}
            self._draws.append(draws[kind])
        self._ready: list[np.ndarray] = []
        """Arrays that are drawn but not yet taken, in reverse order."""
        self._taken = self._expected = 0

    def restart(self, t: int) -> None:
        """Go to the first array of round t.

        SFC64 streams that start with different words and equal counters (the fourth
        number) never share a state at equal counters.
        """
        self._ready = []
        self._expected, self._taken = self._taken, 0
        self._words[:, 2] = t
        for start, generator in zip(self._starts, self._generators, strict=True):
            generator.state = start
            generator.random_raw(_MIXING_STEPS)

    def take(self) -> np.ndarray:
        """Return the next array (S, size)."""
        if not self._ready:
            self._ready = self._drawn()
        self._taken += 1
        return self._ready.pop()

    def _drawn(self) -> list[np.ndarray]:
        """Draw at least one array, and return the arrays in reverse order."""
        seeds = len(self._draws)
        most = _MOST_AHEAD // max(1, seeds * self._size)
        count = max(1, min(self._expected - self._taken, most))
        numbers = np.empty((seeds, count * self._size), self._type)
        for seed_numbers, draw in zip(numbers, self._draws, strict=True):
            draw(out=seed_numbers, dtype=self._type)
        arrays = numbers.reshape(seeds, count, self._size)
        return [arrays[:, k] for k in reversed(range(count))]


class Generators(Sequence[torch.Generator]):
    """Random numbers of several seeds in one round, for one purpose.

    :func:`normal` and :func:`uniform_numbers` take them from one generator for each
    seed, whose state is a function of root seed, seed index, purpose, round, kind of
    number, precision and size of the array. As a sequence, these are torch generators,
    one for each seed, created at first use.

    Parameters
    ----------
    root : int
        Root seed.
    seeds : sequence of int
        Indices of the seeds.
    t : int
        The round.
    purpose : str
        Purpose of the numbers.
    device : torch.device or str
        Device of the torch generators.
    """

    def __init__(
        self,
        root: int,
        seeds: Sequence[int],
        t: int,
        purpose: Purpose,
        device: torch.device | str = "cpu",
    ):
        self._root, self._seeds, self._t = root, seeds, t
        self._purpose: Purpose = purpose
        self._device = device
        self._torch: list[torch.Generator] = []
        self._streams: dict[tuple[object, ...], _Stream] = {}
        self._current: set[tuple[object, ...]] = set()

    def at(self, t: int) -> Self:
        """Restart at the first random numbers of round t."""
        self._t = t
        self._torch = []
        self._current.clear()
        return self

    def __len__(self) -> int:
        return len(self._seeds)

    def __getitem__(self, index):  # type: ignore[override]
        if not self._torch:
            self._torch = [
                torch_generator(self._root, s, self._t, self._purpose, self._device)
                for s in self._seeds
            ]
        return self._torch[index]

    def numbers(
        self, kind: Distribution, shape: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        """Return the next numbers, (S, *shape); the caller may overwrite them."""
        key = kind, dtype, math.prod(shape)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = self._stream(*key)
        if key not in self._current:
            stream.restart(self._t)
            self._current.add(key)
        return torch.from_numpy(stream.take().reshape(len(self), *shape))

    def _stream(self, kind: Distribution, dtype: torch.dtype, size: int) -> _Stream:
        """Return a new stream of arrays of ``size`` numbers for each seed."""
        single = dtype == torch.float32
        place = _PURPOSES[self._purpose], _KINDS.index(kind), int(single), size
        keys = [
            np.random.SeedSequence(
                entropy=self._root, spawn_key=(s, *place)
            ).generate_state(2, np.uint64)
            for s in self._seeds
        ]
        return _Stream(np.array(keys), size, kind, single)


class RunGenerators:
    """The random numbers of a run's seeds, for all purposes.

    Parameters
    ----------
    root : int
        Root seed.
    seeds : sequence of int
        Indices of the seeds.
    device : torch.device or str
        Device of the torch generators for minibatches and messages.
    """

    def __init__(
        self, root: int, seeds: Sequence[int], device: torch.device | str = "cpu"
    ):
        self._root, self._seeds, self._device = root, seeds, device
        self._known: dict[Purpose, Generators] = {}

    def at(self, t: int, purpose: Purpose) -> Generators:
        """Return the random numbers of round t for one purpose, from the start.

        This invalidates earlier results for the same purpose and another round.
        """
        known = self._known.get(purpose)
        if known is None:
            known = Generators(self._root, self._seeds, t, purpose, self._device)
            self._known[purpose] = known
        return known.at(t)


def uniform_numbers(
    generators: Sequence[torch.Generator], shape: tuple[int, ...], like: torch.Tensor
) -> torch.Tensor:
    """Return uniform numbers in [0, 1) of shape (S, *shape).

    They have dtype and device of ``like``.
    """
    return _numbers("uniform", torch.rand, generators, shape, like)


def normal(
    generators: Sequence[torch.Generator], shape: tuple[int, ...], like: torch.Tensor
) -> torch.Tensor:
    """Return standard normal numbers of shape (S, *shape).

    They have dtype and device of ``like``.
    """
    return _numbers("normal", torch.randn, generators, shape, like)


def _numbers(
    kind: Distribution,
    draw: Callable[..., torch.Tensor],
    generators: Sequence[torch.Generator],
    shape: tuple[int, ...],
    like: torch.Tensor,
) -> torch.Tensor:
    """Draw with numpy if it supports the type, else with the torch generators."""
    by_numpy = like.is_cpu and like.dtype in (torch.float32, torch.float64)
    if isinstance(generators, Generators) and by_numpy:
        return generators.numbers(kind, shape, like.dtype)
    numbers = like.new_empty((len(generators), *shape))
    for seed_numbers, generator in zip(numbers, generators, strict=True):
        draw(shape, generator=generator, out=seed_numbers)
    return numbers


def may_draw(shape: tuple[int, ...], m: int, draws: bool) -> None:
    """Raise InputError unless ``draws`` is declared and the shape is (m, ...)."""
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
    """Run torch on one thread with deterministic algorithms within the block."""
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
    "RANDOM_FORMAT",
    "Generators",
    "RunGenerators",
    "may_draw",
    "normal",
    "numpy_generator",
    "one_order",
    "torch_generator",
    "uniform_numbers",
]
