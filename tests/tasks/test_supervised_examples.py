"""Passes over the clients' examples: chunks, batching over clients, types, and number
of calls.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dfltheory.errors import InputError
from dfltheory.tasks import Supervised


def clients(*sizes: int, d: int = 3, classes: int = 2):
    g = torch.Generator().manual_seed(0)
    return [
        (
            torch.randn(n, d, generator=g, dtype=torch.float64),
            torch.randint(classes, (n,), generator=g),
        )
        for n in sizes
    ]


def task_of(*sizes: int, **options) -> Supervised:
    torch.manual_seed(0)
    return Supervised(
        nn.Linear(3, 2), clients(*sizes), **({"dtype": torch.float64} | options)
    )


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(s) for s in seeds]


def of_shapes(monkeypatch, owner, name: str, argument: int) -> list[tuple[int, ...]]:
    """Return the shapes of one argument in all calls of a method."""
    seen, method = [], getattr(owner, name)
    monkeypatch.setattr(
        owner, name, lambda *a: seen.append(tuple(a[argument].shape)) or method(*a)
    )
    return seen


@pytest.mark.parametrize(
    ("sizes", "piece", "examples"),
    [
        # equal clients are batched: a pass for each would take most of the time
        ((4, 4, 4), 12, [12]),
        ((4, 4, 4), 11, [11, 1]),
        ((4, 4, 4), 7, [7, 5]),
        ((4, 4, 4), 3, [3, 3, 3, 3]),
        ((3, 5, 5, 3), 100, [3, 10, 3]),  # all examples of a chunk have equal weight
        ((2, 2, 1), 3, [3, 1, 1]),
        ((7,), 5, [5, 2]),
    ],
)
@pytest.mark.parametrize("slope", [True, False])
def test_a_point_is_measured_on_pieces_that_are_as_large_as_can_be(
    sizes, piece, examples, slope, monkeypatch
):
    task = task_of(*sizes)
    vars(task)["_piece"] = piece
    x = torch.randn(
        1, task.d, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    everywhere = x.unsqueeze(1).expand(-1, task.m, -1)
    expected = (
        task.gradient(everywhere).mean(1) if slope else task.loss(everywhere).mean(1)
    )
    seen = of_shapes(
        monkeypatch, task._single, "loss_and_gradient" if slope else "loss", 1
    )
    torch.testing.assert_close(
        task.global_gradient(x) if slope else task.global_loss(x), expected
    )
    assert seen == [(1, n, 3) for n in examples]


@pytest.mark.parametrize(
    ("sizes", "piece", "shapes"),
    [
        ((5, 4), 10, [(2, 5, 3), (2, 4, 3)]),  # 2 seeds, one client at a time
        ((5, 4), 9, [(2, 4, 3), (2, 1, 3), (2, 4, 3)]),
        ((2, 1), 1, [(2, 1, 3), (2, 1, 3), (2, 1, 3)]),
    ],
)
@pytest.mark.parametrize("slope", [True, False])
def test_exact_values_of_all_clients_are_taken_in_pieces(
    sizes, piece, shapes, slope, monkeypatch
):
    task = task_of(*sizes, batch=None)
    g = torch.Generator().manual_seed(1)
    x = torch.randn(2, task.m, task.d, generator=g, dtype=torch.float64)
    expected = task.gradient(x) if slope else task.loss(x)
    vars(task)["_piece"] = piece
    seen = of_shapes(monkeypatch, task.strategy, "gradient" if slope else "loss", 1)
    torch.testing.assert_close(task.gradient(x) if slope else task.loss(x), expected)
    assert seen == shapes


@pytest.mark.parametrize("piece", [1, 2, 5, 100])
@pytest.mark.parametrize("own", [False, True])
def test_tests_are_gone_through_in_pieces_of_one_set(piece, own):
    sets = clients(5, 3, 1)
    task = task_of(4, 4, 4, test=sets if own else sets[0])
    vars(task)["_piece"] = piece
    g = torch.Generator().manual_seed(1)
    x = torch.randn(2, 3, task.d, generator=g, dtype=torch.float64)

    def right(point, X, y):
        return float(
            ((X @ point[:6].view(2, 3).T + point[6:]).argmax(-1) == y).double().mean()
        )

    for s in range(2):
        everywhere = [right(x[s, 0], *each) for each in (sets if own else sets[:1])]
        assert float(task.accuracy(x[:, 0])[s]) == pytest.approx(
            sum(everywhere) / len(everywhere)
        )
        if own:
            each = [right(x[s, i], *sets[i]) for i in range(3)]
            assert task.client_accuracy(x)[s].tolist() == pytest.approx(each)
        else:
            assert task.client_accuracy(x) is None


def test_regression_has_no_accuracy():
    X = torch.ones(3, 3)
    task = Supervised(
        nn.Linear(3, 1), [(X, torch.zeros(3))], test=[(X, torch.zeros(3))]
    )
    x = torch.zeros(1, 1, task.d)
    assert task.accuracy(x[:, 0]) is None
    assert task.client_accuracy(x) is None
    with pytest.raises(InputError, match="needs integer targets"):
        task.balanced_gradient(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_everything_is_of_the_tasks_type(dtype):
    data = clients(4, 4)
    task = task_of(4, 4, dtype=dtype, batch=2, weight_decay=0.1, test=data)
    generator = torch.Generator().manual_seed(0)
    x, batch = task.start(generator).expand(2, 2, -1), task.sample(generators(0, 1))
    assert (task.X.dtype, task.y.dtype, batch.X.dtype, batch.y.dtype) == (
        dtype,
        torch.int64,
        dtype,
        torch.int64,
    )
    for value in (
        x,
        task.gradient(x),
        task.gradient(x, batch),
        task.balanced_gradient(x, batch),
        task.loss(x),
        task.loss(x, batch),
        task.global_loss(x[:, 0]),
        task.global_gradient(x[:, 0]),
        *task.global_loss_and_gradient(x[:, 0]),
        task.log_frequencies,
    ):
        assert value.dtype == dtype
    assert task.client_accuracy(x).dtype == torch.float64, "shares of many examples"


X, LABELS = torch.ones(2, 3), torch.tensor([0, 1])
PAIR = (X, LABELS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"clients": [(X, LABELS, 3)]},
            r"client 0 is neither a pair \(X, y\) of tensors or arrays nor .*: too many",
        ),
        ({"clients": [PAIR, X.T]}, "client 1 is neither a pair"),
        (
            {"clients": [PAIR, (3.0, 1)]},
            "client 1 is neither a pair .*: a single number",
        ),
        ({"clients": {0: PAIR}}, "client 0 is neither a pair"),
        (
            {"clients": [torch.utils.data.TensorDataset(X)]},
            "client 0, example 0 is not a pair",
        ),
        ({"clients": [PAIR], "test": [X, LABELS]}, "2 test sets for 1 clients"),
        ({"clients": [PAIR] * 2, "test": [PAIR, X[0]]}, "test set 1 is neither a pair"),
        ({"weight_decay": float("nan")}, "weight_decay = nan must be a number >= 0"),
        ({"weight_decay": float("inf")}, "weight_decay = inf must be a number >= 0"),
        (
            {"clients": [(X, LABELS[:, None])]},
            (
                r"cannot compare outputs of shape \(2,\) with targets of shape \(1,\):"
                r" .*target"
            ),
        ),
        (
            # two outputs for one number: torch would broadcast the numbers
            {"clients": [(X, LABELS.float())]},
            (
                r"cannot compare outputs of shape \(2,\) with targets of shape \(\):"
                r" Using a target size"
            ),
        ),
        (
            {"clients": [(X, torch.ones(2, 3))]},
            r"outputs of shape \(2,\) with targets of shape \(3,\)",
        ),
        (
            {"clients": [(X, LABELS + 1)]},
            "example 1 has the label 2: the module has the classes 0 to 1",
        ),
        (
            {"clients": [(X, LABELS + 9)]},
            "example 0 has the label 9: the module has the classes 0 to 1",
        ),
    ],
)
def test_bad_input_is_rejected_in_one_line(options, words):
    arguments = {"module": nn.Linear(3, 2), "clients": [PAIR]} | options
    with pytest.raises(InputError, match=words) as caught:
        Supervised(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("module", [nn.Linear, 3])
def test_what_is_no_module_is_rejected_in_one_line(module):
    with pytest.raises(InputError, match=r"pass a torch.nn.Module, such") as caught:
        Supervised(module, [PAIR])
    assert "\n" not in str(caught.value)


def test_what_users_have_is_taken():
    module, one = (
        nn.Linear(3, 2),
        Supervised(nn.Linear(3, 2), [PAIR, PAIR], test=[PAIR, PAIR]),
    )
    x = torch.ones(1, 2, one.d)
    lists = (X.tolist(), LABELS.tolist())
    for clients_, test in (
        ((PAIR for _ in range(2)), (PAIR, PAIR)),
        ([lists, lists], (lists, lists)),
        ([[X, LABELS], (X.numpy(), LABELS.numpy())], [[X, LABELS], PAIR]),
    ):
        task = Supervised(module, clients_, test=test)
        assert (task.m, task.batch) == (2, 20)
        assert torch.equal(task.client_accuracy(x), one.client_accuracy(x))
        torch.testing.assert_close(task.gradient(x), one.gradient(x))
    for common in (PAIR, lists):
        task = Supervised(module, [PAIR, PAIR], test=common)
        assert torch.equal(task.accuracy(x[:, 0]), one.accuracy(x[:, 0]))
        assert task.client_accuracy(x) is None
    soft = Supervised(
        module, [(X, torch.tensor([[0.3, 0.7], [0.0, 1.0]]))], loss="cross_entropy"
    )
    assert float(soft.loss(torch.zeros(1, 1, 8))) == pytest.approx(0.6931472)
    column = Supervised(nn.Linear(3, 1), [(X, LABELS.float())], batch=None)
    assert float(column.loss(torch.zeros(1, 1, 4))) == pytest.approx(0.5)


def test_one_example_makes_a_minibatch():
    task = task_of(3, 5, batch=1)
    batch = task.sample(generators(0, 1, 2))
    assert batch.X.shape == (3, 2, 1, 3)
    assert batch.y.shape == (3, 2, 1)
    for wrong in (0, -1, True, 2.0):
        with pytest.raises(InputError, match="must be an integer >= 1, or None"):
            task_of(3, batch=wrong)


@pytest.mark.parametrize(
    ("sizes", "batch", "steps"),
    [
        ((8, 8), 4, 2),
        ((8, 9, 10), 3, 3),
        ((2, 2), 20, 1),
        ((10, 40), 10, 2),
        ((11, 11), 2, 6),
        ((9,), None, 1),
    ],
)
def test_steps_that_make_a_pass(sizes, batch, steps):
    """The number of steps is the mean size over the batch, rounded half to even, and at
    least 1.
    """
    assert task_of(*sizes, batch=batch).steps_per_epoch == steps


def test_a_chunk_is_as_many_clients_as_a_cache_holds(monkeypatch):
    # bytes; a model has 8 numbers
    monkeypatch.setattr("dfltheory.tasks.minibatches._CACHE", 1000)
    assert task_of(3, 3, 3).chunk(1) == 1000 // 64 == 15
    assert task_of(3, 3, 3).chunk(4) == 3
    assert task_of(3, 3, 3, dtype=torch.float32).chunk(4) == 7
    assert task_of(3, 3, 3).chunk(100) == 1
    assert task_of(3, 3, 3, batch=None).chunk(1) is None
    assert task_of(3, 3, 3, augment=lambda X, generators: X).chunk(1) is None


def test_some_clients_have_their_own_examples_and_frequencies():
    task = task_of(3, 5, 4, 6, batch=2)
    whole = task.log_frequencies
    part = task.restrict(slice(1, 3))
    assert (part.m, part.sizes.tolist(), part.offsets.tolist()) == (2, [5, 4], [3, 8])
    torch.testing.assert_close(part.log_frequencies, whole[1:3])
    assert task.log_frequencies is whole
    assert task.m == 4
    g = torch.Generator().manual_seed(1)
    x = torch.randn(2, 4, task.d, generator=g, dtype=torch.float64)
    batch = task.sample(generators(0, 1))
    own = task.pick(batch, slice(1, 3))
    for method in ("gradient", "balanced_gradient", "loss"):
        torch.testing.assert_close(
            getattr(part, method)(x[:, 1:3], own),
            getattr(task, method)(x, batch)[:, 1:3],
        )
        if method != "balanced_gradient":
            torch.testing.assert_close(
                getattr(part, method)(x[:, 1:3]), getattr(task, method)(x)[:, 1:3]
            )
    assert task.pick(None, slice(1, 3)) is None


def test_frequencies_are_logarithms_of_shares_and_finite():
    data = [
        (torch.ones(4, 3), torch.tensor([0, 0, 0, 1])),
        (torch.ones(2, 3), torch.tensor([1, 1])),
    ]
    found = Supervised(nn.Linear(3, 2), data, dtype=torch.float64).log_frequencies
    expected = torch.tensor([[0.75, 0.25], [0.0, 1.0]], dtype=torch.float64).log()
    expected[1, 0] = -1e4
    torch.testing.assert_close(found, expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("augment", ["none", "function"])
@pytest.mark.parametrize("asked", [False, True])
def test_rows_of_a_minibatch_are_the_clients_own(augment, asked):
    g = torch.Generator().manual_seed(0)
    data = [
        (torch.rand(5, 1, 4, 4, generator=g), torch.randint(2, (5,), generator=g))
        for _ in range(4)
    ]
    change = {
        "none": None,
        "function": lambda X, own: (
            X + torch.stack([torch.rand(X.shape[1:], generator=h) for h in own])
        ),
    }[augment]
    module = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    task = Supervised(module, data, batch=3, augment=change)
    whole, batch = task.sample(generators(0, 1)), task.sample(generators(0, 1))
    if asked:
        assert torch.equal(batch.X, whole.X)
    own = batch.rows(slice(1, 3))
    assert torch.equal(own.places, whole.places[:, 1:3])
    assert torch.equal(own.X, whole.X[:, 1:3])
    assert torch.equal(own.y, whole.y[:, 1:3])
    plain = task.gathered(whole.places)
    assert torch.equal(whole.X, plain) == (augment == "none")


def test_task_accepts_given_constants():
    from dfltheory.constants import ProblemConstants

    task = task_of(3, 3)
    other = task.with_constants(ProblemConstants(L=2.0))
    assert (other.constants.L, other.constants.f_star, task.constants.L != 2.0) == (
        2.0,
        None,
        True,
    )
    assert task_of(3, 3, constants=ProblemConstants(L=2.0)).constants.f_star is None
    for loss in (None, "cross_entropy"):
        assert task_of(3, 3, loss=loss).constants.f_star == 0.0
