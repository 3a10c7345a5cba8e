"""Users' data becomes a task with the same examples, whatever its container; weights of
clients.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import dfltheory as dfl
import dfltheory.algorithms as alg
from dfltheory import tasks
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.tasks.estimate import hessian_product
from tests.algorithms.problems import ring_matrix

SIZES = (5, 8, 3)


def arrays(shape=(4,), sizes=SIZES, classes=3):
    rng = np.random.default_rng(0)
    return [
        (rng.normal(size=(n, *shape)).astype(np.float32), rng.integers(classes, size=n))
        for n in sizes
    ]


def linear(inputs=4, classes=3, bias=True):
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, classes, bias=bias))


class Pairs(Dataset):
    """A user's map-style data set."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, k):
        return self.X[k], int(self.y[k])


class Table:
    """A stand-in for a Hugging Face data set."""

    def __init__(self, X, y, inputs="x", targets="label", **more):
        self.columns = {inputs: X, targets: y, **more}

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, k):
        return {name: values[k].tolist() for name, values in self.columns.items()}


class Partitioner:
    """A stand-in for a partitioner of flwr-datasets."""

    def __init__(self, parts):
        self.parts = parts

    @property
    def num_partitions(self):
        return len(self.parts)

    def load_partition(self, partition_id):
        return self.parts[partition_id]


SOURCES = {
    "pairs": lambda data: data,
    "own data sets": lambda data: [Pairs(X, y) for X, y in data],
    "tensor data sets": lambda data: [
        TensorDataset(torch.tensor(X), torch.tensor(y)) for X, y in data
    ],
    "loaders": lambda data: [DataLoader(Pairs(X, y), batch_size=2) for X, y in data],
    "tables": lambda data: [Table(X, y) for X, y in data],
    "partitioner": lambda data: Partitioner([Table(X, y) for X, y in data]),
    "lists of examples": lambda data: [list(zip(X, y)) for X, y in data],
    "a mixture": lambda data: [data[0], Pairs(*data[1]), Table(*data[2])],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_examples(kind):
    data = arrays()
    task = tasks.supervised_from(
        SOURCES[kind](data), linear(), batch=2, test=Pairs(*data[0])
    )
    assert (task.m, tuple(task.sizes.tolist()), task.batch) == (3, SIZES, 2)
    assert torch.equal(task.X, torch.cat([torch.tensor(X) for X, _ in data]))
    assert torch.equal(task.y, torch.cat([torch.tensor(y) for _, y in data]))
    assert task.accuracy(task.start(torch.Generator())[None]) is not None


@pytest.mark.parametrize("kind", ["own data sets", "tensor data sets", "loaders"])
def test_supervised_takes_data_sets(kind):
    data = arrays()
    pairs = tasks.Supervised(linear(), data, batch=2, test=data)
    sets = SOURCES[kind](data)
    task = tasks.Supervised(linear(), sets, batch=2, test=sets)
    x = torch.randn(2, 3, task.d, generator=torch.Generator().manual_seed(0))
    assert task.sizes.tolist() == list(SIZES)
    assert torch.equal(task.loss(x), pairs.loss(x))
    assert torch.equal(task.client_accuracy(x), pairs.client_accuracy(x))
    common = tasks.Supervised(linear(), sets, test=sets[1])
    expected = tasks.Supervised(linear(), data, test=data[1])
    assert torch.equal(common.accuracy(x[:, 0]), expected.accuracy(x[:, 0]))
    two = tasks.Supervised(linear(), sets[:2], test=tuple(sets[:2]))
    assert two.client_accuracy(x[:, :2]).shape == (2, 2), "two sets are not a pair"


def test_parts_of_one_data_set_are_clients():
    X, y = arrays(sizes=(12,))[0]
    parts = torch.utils.data.random_split(
        Pairs(X, y), [7, 5], generator=torch.Generator().manual_seed(0)
    )
    task = tasks.Supervised(linear(), parts)
    chosen = np.concatenate([part.indices for part in parts])
    assert torch.equal(task.X, torch.from_numpy(X[chosen]))


def test_one_data_set_for_all_clients_is_rejected_with_the_way_to_divide_it():
    X, y = arrays()[0]
    for given in (Pairs(X, y), DataLoader(Pairs(X, y))):
        with pytest.raises(InputError, match=r"clients.*supervised_from"):
            tasks.Supervised(linear(), given)
    with pytest.raises(InputError, match="client 1, example 0"):
        tasks.Supervised(linear(), [(X, y), Triples()])


class Triples(Dataset):
    """Examples that are triples, not pairs."""

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return torch.zeros(4), 1, 2


def test_tasks_of_other_data_sets_are_other_tasks():
    (X, y), _, _ = arrays()
    same = [tasks.Supervised(linear(), [Pairs(X, y)]).arguments for _ in range(2)]
    assert same[0] == same[1]
    other = tasks.Supervised(linear(), [Pairs(X + 1, y)]).arguments
    assert other["clients"] != same[0]["clients"]


def test_one_data_set_is_divided_by_its_labels():
    X, y = arrays(sizes=(90,))[0]
    task = tasks.supervised_from(
        Pairs(X, y), linear(), m=3, partition="shards", classes_per_client=1
    )
    parts = tasks.partition.partition_labels(y, 3, "shards", classes_per_client=1)
    assert task.sizes.tolist() == [len(own) for own in parts.train]
    assert torch.equal(task.X, torch.from_numpy(X[np.concatenate(parts.train)]))
    tests = [Pairs(X[own], y[own]) for own in parts.train]
    own = tasks.supervised_from(
        Pairs(X, y), linear(), m=3, partition="shards", test=tests
    )
    assert own.client_accuracy(torch.zeros(1, 3, own.d)).shape == (1, 3)


@pytest.mark.slow  # quickly: in test_compare.py
def test_constants_can_be_estimated_so_that_a_run_can_be_compared():
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 3))
    task = tasks.supervised_from(
        arrays(), module, batch=2, constants="estimate", name="own"
    )
    run = dfl.train(
        alg.DFedSAM(eta=0.001, K=1, rho=0.001), task, ring_matrix(3), rounds=2, seeds=2
    )
    verdict = dfl.compare(run, "dfedsam.theorem_4_5")
    assert {
        run.constants.standing_of(name) for name in ("L", "sigma_l", "sigma_g", "B")
    } == {"estimate"}
    assert "estimate" in str(verdict)
    assert tasks.supervised_from(arrays(), module).constants.L is None


def test_columns_by_name():
    X, y = arrays()[0]
    task = tasks.supervised_from(
        [Table(X, y, "image", "fine", coarse=y)],
        linear(),
        inputs="image",
        targets="fine",
    )
    assert torch.equal(task.y, torch.tensor(y))


@pytest.mark.parametrize("mode", ["L", "RGB", "P"])
def test_pictures_become_channels_first_in_0_to_1(mode):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels).convert(mode)
    task = tasks.supervised_from(
        [[(picture, 0), (picture, 1)]], linear(30 if mode == "L" else 90)
    )
    seen = (
        np.asarray(picture if mode == "L" else picture.convert("RGB"), np.float32) / 255
    )
    expected = seen[None] if mode == "L" else seen.transpose(2, 0, 1)
    assert task.X.dtype == torch.float32
    np.testing.assert_array_equal(task.X[1], expected)


class Endless:
    def __iter__(self):
        return iter(int, 1)


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        (Endless(), {"m": 2}, "the data set is a Endless: pass"),
        (Pairs(*arrays()[0]), {}, "needs m, the number of clients"),
        (
            [Pairs(*arrays()[0])],
            {"m": 2},
            "a list already has one item for each client",
        ),
        (
            [Table(*arrays()[0], coarse=arrays()[0][1])],
            {},
            "columns x, label, coarse: select two",
        ),
        ([Table(*arrays()[0])], {"targets": "y"}, "columns x, label: select two"),
        ([[(1.0, 2, 3)]], {}, "client 0, example 0 is not a pair"),
        ([[("a", 1)]], {}, "client 0, example 0 has a str, not an array"),
        (
            [[([1.0], 0), ([1.0, 2.0], 0)]],
            {},
            "example 1 has shape .2,., but the first has shape .1,.",
        ),
        ([[]], {}, "client 0 has no examples"),
        (
            type("Federated", (), {"load_partition": None})(),
            {},
            "partitioner of one split",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line(source, options, words):
    with pytest.raises(InputError, match=words) as caught:
        tasks.supervised_from(source, linear(1), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (
            nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6)),
            r"1 is a batch norm, .*GroupNorm\(groups, 6\)",
        ),
        (
            nn.Sequential(
                nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 3)
            ),
            "0 is a batch norm",
        ),
    ],
)
def test_layers_that_train_another_function_are_refused_with_the_way_around(
    module, words
):
    with pytest.raises(InputError, match=words) as caught:
        tasks.Supervised(module, arrays())
    assert "\n" not in str(caught.value)


# -- weights


def weighted(weights, batch=None, **options):
    return tasks.Supervised(
        linear(), arrays(), batch, weights=weights, dtype=torch.float64, **options
    )


def pooled_loss(task, x):
    """Return the mean over all examples of all clients, and its gradient, by plain
    autograd.
    """
    point = x.clone().requires_grad_()
    views = dict(zip(task.layout.names, task.layout.views(point)))
    loss = nn.functional.cross_entropy(
        torch.func.functional_call(task.network, views, (task.X,)), task.y
    )
    return loss.detach(), torch.autograd.grad(loss, point)[0]


def test_weights_by_size_make_every_example_count_the_same():
    task = weighted("sizes", weight_decay=0.2)
    x = torch.randn(task.d, dtype=torch.float64)
    loss, gradient = pooled_loss(task, x)
    loss, gradient = loss + 0.1 * x @ x, gradient + 0.2 * x
    everywhere = x.expand(1, 3, -1)
    for value in (task.global_loss(x[None])[0], task.loss(everywhere).mean()):
        assert float(value) == pytest.approx(float(loss), rel=1e-12)
    for value in (
        task.global_gradient(x[None])[0],
        task.gradient(everywhere)[0].mean(0),
    ):
        torch.testing.assert_close(value, gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("strategy", ["batched", "loop"])
def test_weights_enter_every_clients_loss_gradient_and_hessian(strategy):
    p = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64)
    task, plain = (weighted(w, batch=2, strategy=strategy) for w in (p, "uniform"))
    x = torch.randn(2, 3, task.d, dtype=torch.float64)
    batch = plain.sample([torch.Generator().manual_seed(s) for s in (0, 1)])
    factor = 3 * p
    for chosen in (batch, None):
        torch.testing.assert_close(task.loss(x, chosen), plain.loss(x, chosen) * factor)
        wanted = plain.gradient(x, chosen) * factor[:, None]
        torch.testing.assert_close(task.gradient(x, chosen), wanted)
    rows = slice(1, 3)
    torch.testing.assert_close(
        task.restrict(rows).gradient(x[:, rows], batch.rows(rows)),
        task.gradient(x, batch)[:, rows],
    )
    v, one = torch.randn(task.d, dtype=torch.float64), plain.sample([torch.Generator()])
    for chosen in (None, one):
        torch.testing.assert_close(
            hessian_product(task, x[0, 0], 1, chosen)(v),
            hessian_product(plain, x[0, 0], 1, chosen)(v) * factor[1],
        )
    mean = sum(hessian_product(task, x[0, 0], i)(v) for i in range(3)) / 3
    torch.testing.assert_close(hessian_product(task, x[0, 0])(v), mean)


def test_one_local_step_is_fedavgs_weighted_average():
    task, eta = weighted("sizes"), 0.3
    n = torch.tensor(SIZES, dtype=torch.float64)
    run = dfl.train(alg.FedAvg(eta=eta, K=1), task, rounds=4)
    plain, x = (
        weighted("uniform"),
        torch.zeros(task.d, dtype=torch.float64) + task.start(torch.Generator()),
    )
    for _ in range(4):
        steps = x - eta * plain.gradient(x.expand(1, 3, -1))[0]
        x = (n / n.sum()) @ steps
    np.testing.assert_allclose(run.x[0].mean(0), x, rtol=1e-12)


@pytest.mark.slow
def test_gossip_reaches_the_minimizer_of_the_weighted_mean():
    """With or without gradient tracking, plain averaging minimizes f, which contains
    the weights.
    """
    task = weighted("sizes", weight_decay=0.5)
    run = dfl.train(
        alg.DFedAvg(eta=0.03, K=1), task, ring_matrix(3), rounds=500, evaluate_every=500
    )
    _, gradient = pooled_loss(task, x := torch.as_tensor(run.x[0].mean(0)))
    assert float((gradient + 0.5 * x).norm()) < 3e-3
    uniform = weighted("uniform", weight_decay=0.5)
    assert float(uniform.global_gradient(x[None]).norm()) > 1e-2, (
        "the two minimizers differ"
    )


def test_equal_sizes_have_uniform_weights_to_the_bit():
    data = arrays(sizes=(4, 4, 4))
    task, plain = (
        tasks.Supervised(linear(), data, 2, weights=w) for w in ("sizes", "uniform")
    )
    assert task.scale is plain.scale is None
    assert task.arguments != plain.arguments, (
        "a checkpoint distinguishes them nevertheless"
    )


@pytest.mark.parametrize(
    "weights", [[0.5, 0.5], [0.5, 0.6, 0.1], [1.0, 0.0, 0.0], [0.5, 0.75, -0.25]]
)
def test_weights_that_are_none(weights):
    with pytest.raises(InputError, match="weights"):
        weighted(weights)
    with pytest.raises(UnknownNameError, match="weights"):
        weighted("size")


# -- a run's models as modules


def test_a_finished_run_is_an_ordinary_module_again(tmp_path):
    data = arrays()
    task = tasks.Supervised(linear(), data, 2, test=data[0])
    slow = 0.7 * np.eye(3) + 0.1  # the clients keep different models
    run = dfl.train(alg.DFedSAM(eta=0.1, K=2, rho=0.05), task, slow, rounds=3, seeds=2)
    X = torch.tensor(data[1][0])
    for module, x in (
        (task.module(run), run.x[0].mean(0)),
        (task.module(run, client=2, seed=1), run.x[1, 2]),
        (task.module(run.x[1], client=2), run.x[1, 2]),
        (task.module(run.x[0, 1]), run.x[0, 1]),
    ):
        assert type(module) is nn.Sequential
        flat = torch.cat([p.reshape(-1) for p in module.parameters()]).detach()
        np.testing.assert_allclose(flat, x, rtol=1e-6)
        assert all(p.requires_grad for p in module.parameters())
        torch.save(module.state_dict(), tmp_path / "model.pt")
        other = linear()
        other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
        assert torch.equal(other(X), module(X))
    before = run.x.copy()
    with torch.no_grad():
        task.module(run)[1].weight.zero_()
    assert np.array_equal(run.x, before), "the module is a copy"
    right = (
        (
            task.module(run)(torch.tensor(data[0][0])).argmax(-1)
            == torch.tensor(data[0][1])
        )
        .double()
        .mean()
    )
    assert float(right) == pytest.approx(run.accuracy[0, -1])


def test_there_is_no_such_module():
    task = tasks.Supervised(linear(), arrays(), 2)
    x = np.zeros((2, 3, task.d), np.float32)
    for options, words in (
        ({"client": 3}, "client = 3 must be in 0..2"),
        ({"client": -1}, "client = -1 must be in 0..2"),
        ({"seed": 2}, "seed = 2 must be in 0..1"),
    ):
        with pytest.raises(InputError, match=words):
            task.module(x, **options)
    with pytest.raises(InputError, match="d = 15"):
        task.module(x[..., :-1])


# -- the proved smoothness of linear models


def hessian(task, x, client, batch=None):
    product = hessian_product(task, x, client, batch)
    return torch.stack([product(v) for v in torch.eye(task.d, dtype=x.dtype)])


def far_along_two_classes(task, classes):
    """Return biases under which two classes share every example evenly and the others
    get nothing.
    """
    x = torch.zeros(task.d, dtype=torch.float64)
    x[-classes:] = -40.0
    x[-classes : 2 - classes or None] = 0.0
    return x


@pytest.mark.parametrize("weights", ["uniform", "sizes"])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_L_of_softmax_regression_is_the_supremum(shape, weights):
    inputs = int(np.prod(shape))
    task = tasks.Supervised(
        linear(inputs),
        arrays(shape),
        None,
        dtype=torch.float64,
        weight_decay=0.3,
        weights=weights,
    )
    L = task.constants.L
    assert task.constants.standing_of("L") == "exact"
    far = far_along_two_classes(task, 3)
    norms = [
        float(torch.linalg.matrix_norm(hessian(task, far, i), 2)) for i in range(3)
    ]
    assert max(norms) == pytest.approx(L, rel=1e-9)
    for s in range(5):
        x = 3 * torch.randn(
            task.d, dtype=torch.float64, generator=torch.Generator().manual_seed(s)
        )
        assert (
            max(
                float(torch.linalg.matrix_norm(hessian(task, x, i), 2))
                for i in range(3)
            )
            < L
        )


def test_L_of_minibatches_bounds_the_roughest_and_is_nearly_attained():
    task = tasks.Supervised(linear(), arrays(), 2, dtype=torch.float64)
    assert task.constants.standing_of("L") == "bound"
    L, far = task.constants.L, far_along_two_classes(task, 3)
    norms = []
    for s in range(24):
        batch = task.sample([torch.Generator().manual_seed(s)])
        norms += [
            float(torch.linalg.matrix_norm(hessian(task, far, i, batch), 2))
            for i in range(3)
        ]
    assert 0.9 * L < max(norms) <= L * (1 + 1e-12)
    assert (
        pytest.approx(
            max((X.astype(float) ** 2).sum(1).max() + 1 for X, _ in arrays()) / 2
        )
        == L
    )


@pytest.mark.parametrize(
    ("classes", "bias", "standing"), [(3, False, "bound"), (2, False, "exact")]
)
def test_without_biases_two_classes_alone_attain_it(classes, bias, standing):
    data = arrays(classes=classes)
    task = tasks.Supervised(linear(4, classes, bias), data, None, dtype=torch.float64)
    assert task.constants.standing_of("L") == standing
    at_zero = torch.zeros(task.d, dtype=torch.float64)
    top = max(
        float(torch.linalg.matrix_norm(hessian(task, at_zero, i), 2)) for i in range(3)
    )
    # at 0 every class has probability 1/C: the norm of diag(q) - q q' is 1/C
    assert top == pytest.approx(task.constants.L * 2 / classes, rel=1e-9)


@pytest.mark.parametrize("outputs", [1, 3])
def test_L_of_linear_least_squares(outputs):
    data = [(X, np.ones((len(X), outputs), np.float32)) for X, _ in arrays()]
    task = tasks.Supervised(linear(4, outputs), data, None, dtype=torch.float64)
    x = torch.randn(task.d, dtype=torch.float64)
    top = max(float(torch.linalg.matrix_norm(hessian(task, x, i), 2)) for i in range(3))
    assert pytest.approx(top, rel=1e-9) == task.constants.L
    assert task.constants.standing_of("L") == "exact"


@pytest.mark.parametrize(
    "options",
    [
        {"module": nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3))},
        {"loss": lambda out, y: out.square().mean()},
        {"augment": lambda X, generators: X},
    ],
)
def test_nothing_is_said_where_nothing_is_proved(options):
    task = tasks.Supervised(**{"module": linear(), "clients": arrays(), **options})
    assert task.constants.L is None


def test_L_of_the_digits():
    task = tasks.digits(m=1)
    L = tasks.Supervised.known(task).L
    assert (
        pytest.approx(
            0.5 * float(1 + task.X.flatten(1).square().sum(1).max()), rel=1e-6
        )
        == L
    )
