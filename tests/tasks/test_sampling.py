"""The examples in minibatches agree with a literal implementation: one seed, client and
pass at a time.
"""

from __future__ import annotations

import pytest
import torch

from dfltheory.tasks.examples import Epochs, iid

SIZES = [6, 1, 4, 9]


def generators(seeds) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(s) for s in seeds]


def literal_pass(generator: torch.Generator, sizes: list[int]) -> list[list[int]]:
    """Return one order of every client's examples, sorted by a random number per
    example.
    """
    keys = torch.rand(
        len(sizes), max(sizes), generator=generator, dtype=torch.float64
    ).tolist()
    return [
        sorted(range(n), key=own.__getitem__)
        for n, own in zip(sizes, keys, strict=True)
    ]


@pytest.mark.parametrize("batch", [1, 3, 4, 20])
@pytest.mark.parametrize("sizes", [SIZES, [5, 5, 5], [1]])
def test_epochs_walk_through_one_shuffled_pass_after_the_other(batch, sizes):
    epochs = Epochs(torch.tensor(sizes), batch, generators((4, 7)))
    drawn = torch.cat([epochs.draw() for _ in range(7)], dim=-1)
    assert drawn.shape == (2, len(sizes), 7 * batch)
    for s, generator in enumerate(generators((4, 7))):
        walks: list[list[int]] = [[] for _ in sizes]
        while min(map(len, walks)) < 7 * batch:
            for walk, order in zip(walks, literal_pass(generator, sizes), strict=True):
                walk += order
        assert drawn[s].tolist() == [walk[: 7 * batch] for walk in walks]


@pytest.mark.parametrize("draw", ["epochs", "iid"])
def test_a_seed_draws_alone_as_among_others_and_leaves_the_callers_chance_alone(draw):
    def positions(seeds):
        own, sizes = generators(seeds), torch.tensor(SIZES)
        epochs = Epochs(sizes, 5, own)
        return torch.stack(
            [
                epochs.draw() if draw == "epochs" else iid(sizes, 5, own)
                for _ in range(4)
            ]
        )

    before = torch.get_rng_state()
    many = positions((0, 1, 2))
    assert torch.equal(many[:, 1:2], positions((1,)))
    assert not torch.equal(many[:, 0], many[:, 1])
    assert torch.equal(torch.get_rng_state(), before)


def test_draws_with_replacement_are_parts_of_each_clients_range():
    found = iid(torch.tensor(SIZES), 50, generators((3, 5)))
    for s, generator in enumerate(generators((3, 5))):
        uniform_numbers = torch.rand(
            len(SIZES), 50, generator=generator, dtype=torch.float64
        ).tolist()
        assert found[s].tolist() == [
            [int(u * n) for u in own]
            for n, own in zip(SIZES, uniform_numbers, strict=True)
        ]
