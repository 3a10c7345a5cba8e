"""Dropout: each client's units are dropped independently, whether computed at once, in
chunks, or for single seeds.

Resumed runs are tested by the case ``dropout`` of tests.training.run_cases.py.
"""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

import dfltheory as dfl
from dfltheory import tasks
from dfltheory.errors import InputError
from dfltheory.tasks import estimate
from dfltheory.tasks.modules import has_dropout
from tests.training.run_cases import CASES, Pieces, images


class Recurrent(nn.Module):
    """An LSTM of two layers with dropout between them, and a linear head."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = (
            nn.LSTM(6, 3, 2, dropout=0.4, batch_first=True),
            nn.Linear(3, 3),
        )

    def forward(self, x):
        return self.head(self.cell(x.unsqueeze(1).expand(-1, 2, -1))[0][:, -1])


class Functional(nn.Module):
    """Dropout that no layer declares, after a ``normed`` layer, in training only or
    ``always``.
    """

    def __init__(self, always=False, normed=False):
        super().__init__()
        self.head, self.always = nn.Linear(6, 3), always
        if normed:
            self.head = nn.utils.parametrizations.spectral_norm(self.head)

    def forward(self, x):
        return nn.functional.dropout(
            self.head(x), 0.5, training=self.training or self.always
        )


def RandomSlopes():
    return nn.Sequential(nn.Linear(6, 3), nn.RReLU())


def of(module):
    torch.manual_seed(0)
    plain = images()
    clients = [
        (plain.X[a : a + n], plain.y[a : a + n])
        for a, n in zip(plain.offsets, plain.sizes)
    ]
    return tasks.Supervised(module(), clients, 3, dtype=torch.float64)


@pytest.mark.parametrize(
    "build",
    [
        lambda: images(drop=0.4),
        lambda: of(Recurrent),
        lambda: of(Functional),
        lambda: of(RandomSlopes),
    ],
    ids=["layer", "inside", "functional", "rrelu"],
)
def test_gradients_are_those_of_a_literal_loop(build):
    task = build()
    assert task.constants.known() == {}
    batch = task.sample([torch.Generator().manual_seed(s) for s in (5, 6)])
    x = torch.randn(
        2, 5, task.d, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    state, before = (
        torch.get_rng_state(),
        (task.gradient(x, batch), task.loss(x, batch)),
    )
    for s in range(2):
        for i in range(5):
            net = task.module(x[s, i]).train()
            torch.manual_seed(int(batch.dropped[s, i]))
            loss = nn.functional.cross_entropy(net(batch.X[s, i]), batch.y[s, i])
            g = torch.cat(
                [
                    part.flatten()
                    for part in torch.autograd.grad(loss, list(net.parameters()))
                ]
            )
            torch.testing.assert_close(before[0][s, i], g, rtol=0, atol=1e-13)
            assert float(before[1][s, i]) == pytest.approx(loss.item(), rel=1e-13)
    assert batch.dropped.unique().numel() == 10  # no two of them drop the same units
    again = task.sample([torch.Generator().manual_seed(s) for s in (5, 6)])
    torch.set_rng_state(state)
    assert torch.equal(task.gradient(x, again), before[0])
    # the caller's random state does not change
    assert torch.equal(torch.get_rng_state(), state)
    undropped = task.module(x[0, 0])  # measurements use no dropout
    own = undropped(task.X[: int(task.sizes[0])]), task.y[: int(task.sizes[0])]
    assert float(task.loss(x)[0, 0]) == pytest.approx(
        nn.functional.cross_entropy(*own).item(), rel=1e-12
    )


def test_pieces_and_seeds_alone_take_the_course_of_the_whole():
    case = CASES["dropout"]() | {"rounds": 2}
    whole = dfl.train(**case, progress=False)
    pieces = dfl.train(**case | {"task": images(Pieces, drop=0.4)}, progress=False)
    torch.testing.assert_close(
        torch.as_tensor(pieces.x), torch.as_tensor(whole.x), rtol=0, atol=1e-13
    )
    alone = dfl.train(**case | {"seeds": [1]}, progress=False)
    torch.testing.assert_close(
        torch.as_tensor(alone.x[0]), torch.as_tensor(whole.x[1]), rtol=0, atol=1e-13
    )
    plain = dfl.train(**case | {"task": images()}, progress=False)
    assert abs(plain.x - whole.x).max() > 1e-3
    assert dfl.compare(whole, "dfedsam.theorem_4_5").kind == "not applicable"


def test_what_dropout_does_not_allow_is_one_line():
    task = images(drop=0.4)
    assert task.constants.known() == {}
    with pytest.raises(
        InputError, match="a function other than the f that is measured"
    ):
        estimate.along(task, estimate.pilot(task, steps=2, keep=2))
    net = nn.Sequential(nn.Linear(6, 3), nn.Dropout(0.1))
    for options in ({"batch": None}, {"strategy": "batched"}):
        with pytest.raises(
            InputError,
            match=r'batch = .*strategy = .*"loop"',
        ):
            tasks.Supervised(net, [(task.X, task.y)], **options)
    digits = tasks.digits(
        m=3, model=nn.Sequential(nn.Flatten(), nn.Dropout(0.1), nn.Linear(64, 10))
    )
    assert digits.constants.known() == {}  # neither do estimates
    with pytest.raises(
        InputError,
        match=r"training=self\.training",
    ):
        of(lambda: Functional(always=True))
    with pytest.raises(
        InputError,
        match=r"head\.parametrizations",
    ):
        of(lambda: Functional(normed=True))
    # stays in eval mode
    spectral = of(lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(6, 3)))
    assert not spectral.drops


def test_an_interrupted_gradient_leaves_nothing_in_training_mode():
    calls = []

    def loss(out, y):
        calls.append(out)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return nn.functional.cross_entropy(out, y)

    plain = images()
    task = tasks.Supervised(
        Functional().double(), [(plain.X, plain.y)] * 2, 3, loss=loss
    )
    x = torch.randn(
        1, 2, task.d, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    before = task.global_loss(x[:, 0])
    with pytest.raises(KeyboardInterrupt):
        task.gradient(x, task.sample([torch.Generator().manual_seed(0)]))
    assert torch.equal(task.global_loss(x[:, 0]), before)


class WithOtherThread(nn.Linear):
    """A module during whose evaluation another thread draws random numbers."""

    def forward(self, x):
        other = threading.Thread(target=torch.rand, args=(1,))
        other.start()
        other.join()
        return super().forward(x)


class OfItsOwn(nn.Linear):
    """A module that draws from its own generator in training, which torch does not
    expose.
    """

    def forward(self, x):
        return super().forward(x) * (
            torch.rand(1, generator=torch.Generator()) if self.training else 1
        )


def test_has_dropout_ignores_random_numbers_of_another_thread():
    assert not has_dropout(WithOtherThread(2, 2), torch.zeros(1, 2))
    assert has_dropout(OfItsOwn(2, 2), torch.zeros(1, 2))
