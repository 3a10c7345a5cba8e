"""Tests of the two blocks of coordinates, for all ways to specify the shared block."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.algorithms import blocks as module
from dfltheory.algorithms.blocks import block_coordinates, exchange, parts
from dfltheory.algorithms.local_steps import is_empty

D = 6
SHARED = {
    "front": (slice(0, 4), [0, 1, 2, 3]),
    "back": (slice(2, None), [2, 3, 4, 5]),
    "middle": (slice(1, 4), [1, 2, 3]),
    "every other": (slice(0, None, 2), [0, 2, 4]),
    "every other, to the end": (slice(1, D, 2), [1, 3, 5]),
    "all": (slice(0, D), [0, 1, 2, 3, 4, 5]),
    "none": (slice(0, 0), []),
    "none, at the end": (slice(D, D), []),
    "positions": (torch.tensor([4, 1]), [1, 4]),
    "no positions": (torch.tensor([], dtype=torch.long), []),
    "unsaid": (None, [0, 1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("given_as", SHARED)
def test_blocks_are_what_is_shared_and_the_rest(given_as):
    shared, expected = SHARED[given_as]
    u, v = block_coordinates(shared, D)
    everything = torch.arange(D)
    assert everything[u].tolist() == expected
    assert everything[v].tolist() == [j for j in range(D) if j not in expected]
    assert is_empty(u) == (not expected)
    assert is_empty(v) == (len(expected) == D)


@pytest.mark.parametrize("given_as", SHARED)
def test_only_what_is_shared_is_sent_and_mixed(given_as):
    shared, expected = SHARED[given_as]
    z = torch.randn(
        2, 3, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    before, sent = z.clone(), []

    def mix(values, times=1):
        sent.append((values.shape[-1], times))
        assert values.is_contiguous()
        return values + 10.0 * times

    mixed = exchange(z, shared, mix, times=3)
    for j in range(D):
        torch.testing.assert_close(
            mixed[..., j], before[..., j] + (30.0 if j in expected else 0.0)
        )
    assert sent == ([(len(expected), 3)] if expected else [])
    assert torch.equal(z, before)


@given(start=st.integers(0, D), stop=st.integers(0, D), step=st.integers(1, 3))
def test_any_slice(start, stop, step):
    u, v = block_coordinates(slice(start, stop, step), D)
    everything = torch.arange(D)
    assert everything[u].tolist() == list(range(D))[start:stop:step]
    assert sorted(everything[u].tolist() + everything[v].tolist()) == list(range(D))


@pytest.mark.parametrize(
    ("n", "widths"),
    [
        (1, [1]),
        (4096, [4096]),
        (4097, [4096, 1]),
        (32 * 4096, [4096] * 32),
        (32 * 4096 + 1, [4097] * 31 + [32 * 4096 + 1 - 31 * 4097]),
        (320_000, [10_000] * 32),
    ],
)
@pytest.mark.parametrize("begin", [0, 7])
def test_long_blocks_are_cut_into_32_and_short_ones_not_below_4096(n, widths, begin):
    """The partition depends only on the length, and every coordinate is in exactly one
    part.
    """
    for index in (slice(begin, begin + n), torch.arange(begin, begin + n)):
        cut = parts(index)
        everything = torch.arange(begin + n + 3)
        assert [len(everything[part]) for part in cut] == widths
        assert torch.cat([everything[part] for part in cut]).tolist() == list(
            range(begin, begin + n)
        )


def test_what_is_exchanged_in_parts_is_exchanged(monkeypatch):
    monkeypatch.setattr(module, "_LEAST_WIDTH", 1)
    z = torch.randn(
        1, 3, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    sent = []

    def mix(values, times=1):
        sent.append(values.shape[-1])
        return values + 10.0

    for shared in (slice(0, 40), torch.arange(40)):
        sent.clear()
        mixed = exchange(z, shared, mix)
        torch.testing.assert_close(mixed[..., :40], z[..., :40] + 10)
        assert torch.equal(mixed[..., 40:], z[..., 40:])
        assert sent == [2] * 20
