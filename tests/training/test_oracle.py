"""What algorithms may request: participating clients, minibatches, random numbers."""

import numpy as np
import pytest
import torch

from dfltheory.randomness import RunGenerators
from dfltheory.tasks.task import number_of
from dfltheory.training.oracle import RoundOracle
from tests.algorithms.problems import Rows
from tests.training.run_cases import images


class Divided(Rows):
    """The same problem, which can be split by clients."""

    def restrict(self, rows):
        part = Divided(m=number_of(rows))
        part.rows = self.rows[rows]
        return part

    def pick(self, batch, rows):
        return batch[:, rows]


def oracle(task, t=0, seeds=(0, 1), root=3, share=1.0):
    return RoundOracle(task, RunGenerators(root, seeds), t, 9, share)


@pytest.mark.parametrize(
    ("m", "share", "count"),
    [
        (5, 0.01, 1),
        (5, 0.1, 1),
        (5, 0.3, 2),
        (5, 0.5, 2),
        (5, 0.7, 4),
        (10, 0.25, 2),
        (8, 0.99, 8),
    ],
)
def test_as_many_clients_take_part_as_the_share_says_and_at_least_one(m, share, count):
    """max(1, round(share m)), with halves rounded to even."""
    active = oracle(Rows(m=m), share=share).active
    assert active.shape == (2, m, 1)
    assert active.dtype == torch.bool
    assert active.sum((1, 2)).tolist() == [count, count]


def test_all_clients_participate_by_default():
    assert oracle(Rows()).active is None
    assert oracle(Rows(), share=1.0).active is None


def test_who_takes_part_is_drawn_anew_in_every_round_and_seed_and_fairly():
    rounds = [oracle(Rows(), t, share=0.4).active[..., 0] for t in range(600)]
    drawn = torch.stack(rounds).double()  # (T, S, m)
    frequency = drawn.mean(0)
    assert ((frequency - 0.4).abs() < 5 * (0.4 * 0.6 / 600) ** 0.5).all()
    # pairs: 2/5 * 1/4
    together = (drawn[..., :, None] * drawn[..., None, :]).mean((0, 1))
    off = together[~torch.eye(5, dtype=torch.bool)]
    assert ((off - 0.1).abs() < 5 * (0.09 / 1200) ** 0.5).all()
    same = (drawn[:, 0] == drawn[:, 1]).all(-1).double().mean()
    # ten equally likely pairs
    assert abs(float(same) - 0.1) < 5 * (0.09 / 600) ** 0.5
    again = oracle(Rows(), 7, seeds=[1], share=0.4).active[0]
    # a seed among many gives the same as the seed alone
    assert torch.equal(again, oracle(Rows(), 7, share=0.4).active[1])
    assert any(
        not torch.equal(
            oracle(Rows(), t, root=4, share=0.4).active,
            oracle(Rows(), t, share=0.4).active,
        )
        for t in range(9)
    )


def test_a_round_knows_its_place():
    task = Divided(d=6, shared=slice(0, 4), parts=((0, 3), (3, 6)))
    whole = oracle(task, t=5)
    for grad in (whole, whole.of(slice(1, 3))):
        assert (grad.t, grad.horizon, grad.shared, grad.blocks) == (
            5,
            9,
            task.shared,
            task.blocks,
        )


def test_random_numbers_are_uniform_and_separate_for_each_seed():
    uniform_numbers = oracle(Rows()).uniform((5, 4000))
    assert uniform_numbers.shape == (2, 5, 4000)
    assert uniform_numbers.dtype == torch.float64
    assert uniform_numbers.min() >= 0
    assert uniform_numbers.max() < 1
    assert abs(float(uniform_numbers.mean()) - 0.5) < 5 / np.sqrt(
        12 * uniform_numbers.numel()
    )
    assert not torch.equal(uniform_numbers[0], uniform_numbers[1])
    alone = oracle(Rows(), seeds=[1]).uniform((5, 4000))
    assert torch.equal(alone[0], uniform_numbers[1])
    assert oracle(Rows(dtype=torch.float32)).uniform((5, 2)).dtype == torch.float32


def test_clients_that_ask_at_different_times_see_the_minibatches_of_one_draw():
    task = Divided()
    whole = oracle(Divided())
    batches = [whole.sample() for _ in range(3)]
    whole = oracle(task)
    first, second = whole.of(slice(0, 2)), whole.of(slice(2, 5))
    seen = [
        second.sample(),
        first.sample(),
        first.sample(),
        first.sample(),
        second.sample(),
    ]
    for got, (k, rows) in zip(
        seen,
        [(0, slice(2, 5)), *((k, slice(0, 2)) for k in range(3)), (1, slice(2, 5))],
    ):
        assert torch.equal(got, batches[k][:, rows])
    assert len(task.drawn) == 3  # each once
    y = torch.randn(
        2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    for part, rows in ((first, slice(0, 2)), (second, slice(2, 5))):
        assert torch.equal(
            part(y[:, rows], batches[0][:, rows]), task.gradient(y, batches[0])[:, rows]
        )
        assert torch.equal(
            part.balanced(y[:, rows], batches[0][:, rows]),
            task.balanced_gradient(y, batches[0])[:, rows],
        )


def test_some_of_those_who_take_part():
    whole = oracle(Divided(), share=0.4)
    assert torch.equal(whole.of(slice(1, 4)).active, whole.active[:, 1:4])
    assert torch.equal(
        whole.of(slice(1, 4)).of(slice(1, 3)).active, whole.active[:, 2:4]
    )
    chosen = torch.tensor([4, 0, 3])
    assert torch.equal(whole.of(chosen).active, whole.active[:, chosen])
    assert torch.equal(
        whole.of(chosen).of(slice(1, 3)).active, whole.active[:, chosen[1:3]]
    )
    twice = whole.of(slice(1, 4)).of(torch.tensor([2, 0]))
    assert torch.equal(twice.active, whole.active[:, [3, 1]])
    every = oracle(Divided(), share=0.4).sample()
    assert torch.equal(twice.sample(), every[:, [3, 1]])
    assert oracle(Divided()).of(slice(1, 4)).active is None


def test_local_steps_begin_with_a_copy():
    x = torch.ones(2, 3, 4, dtype=torch.float64)
    whole = oracle(Divided())
    for grad in (whole, whole.of(slice(0, 3))):
        y = grad.begin(x)
        assert torch.equal(y, x)
        assert y.data_ptr() != x.data_ptr()


def louder(X, generators):
    """Add random numbers, as an augmentation."""
    noise = [torch.rand(X.shape[1:], generator=g, dtype=X.dtype) for g in generators]
    return X + torch.stack(noise)


@pytest.mark.parametrize("options", [{}, {"sampling": "epochs"}, {"augment": louder}])
def test_part_of_the_clients_sees_the_draws_of_a_full_round(options):
    task, rows = images(**options), slice(1, 4)
    whole, other = (oracle(task, 3, root=0) for _ in range(2))
    some = other.of(rows)
    for _ in range(3):
        every, own = whole.sample(), some.sample()
        assert torch.equal(own.X, every.X[:, rows])
        assert torch.equal(own.y, every.y[:, rows])
    fewer = some.of(slice(1, 3)).sample()
    first = oracle(task, 3, root=0).sample()
    assert torch.equal(fewer.X, first.X[:, 2:4])
    numbers = oracle(task, 3, root=0).uniform((5, 4))
    part = oracle(task, 3, root=0).of(rows).uniform((3, 4))
    assert torch.equal(part, numbers[:, rows])
