"""A task restricted to some of its clients has the gradients of these clients."""

import torch

from dfltheory.tasks.task import Task
from tests.algorithms.problems import Rows
from tests.training.run_cases import images


def test_restricted_task_has_the_gradients_of_its_clients():
    theirs, rows = Rows(), slice(2, 5)
    part = theirs.restrict(rows)
    assert (theirs.m, part.m, part.d, part.dtype, part.name) == (
        5,
        3,
        4,
        theirs.dtype,
        "rows",
    )
    x = torch.randn(
        2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    for slope in ("gradient", "balanced_gradient"):
        expected = getattr(theirs, slope)(x)
        assert torch.equal(getattr(part, slope)(x[:, rows]), expected[:, rows])
        assert torch.equal(
            getattr(part.restrict(slice(1, 3)), slope)(x[:, 3:]), expected[:, 3:]
        )
        assert torch.equal(getattr(theirs, slope)(x), expected)
    ours, g = images(), torch.Generator().manual_seed(0)
    batch, y = (
        ours.sample([g, g]),
        torch.randn(2, 5, ours.d, generator=g, dtype=torch.float64),
    )
    some = ours.restrict(rows)
    torch.testing.assert_close(
        some.gradient(y[:, rows], ours.pick(batch, rows)),
        ours.gradient(y, batch)[:, rows],
    )
    assert Task.pick(ours, batch, rows) is batch
    plain = Task.restrict(ours, rows)  # the unchunked computation gives the same
    torch.testing.assert_close(
        plain.gradient(y[:, rows], batch), ours.gradient(y, batch)[:, rows]
    )


def test_task_of_clients_in_any_order_has_their_gradients():
    """Also with minibatches, and for a task that computes all and selects."""
    chosen = torch.tensor([4, 1, 3])
    task, g = images(weights="sizes"), torch.Generator().manual_seed(0)
    batch = task.sample([g, g])
    x = torch.randn(2, 5, task.d, generator=g, dtype=torch.float64)
    expected = task.gradient(x, batch)[:, chosen]
    part = task.restrict(chosen)
    assert part.m == 3
    own = part.gradient(x[:, chosen], task.pick(batch, chosen))
    torch.testing.assert_close(own, expected)
    every = Task.restrict(task, chosen).gradient(x[:, chosen], batch)
    torch.testing.assert_close(every, expected)
