"""Arbitrary modules on clients' tensors: batching strategies, sampling, constants and
measures.
"""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import dfltheory as dfl
import dfltheory.algorithms as alg
from dfltheory.errors import DFLTheoryError
from dfltheory.tasks.batching import choose, dense_layers
from dfltheory.tasks.modules import Layout
from dfltheory.tasks.supervised import Supervised
from dfltheory.training import train
from tests.algorithms.problems import ring_matrix


def mlp(classes=3):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(8, 5),
        nn.ReLU(),
        nn.Linear(5, 4),
        nn.Tanh(),
        nn.Linear(4, 4),
        nn.Sigmoid(),
        nn.Linear(4, classes),
    )


def convolution():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3),
        nn.GroupNorm(3, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(12, 3),
    )


def softmax():
    torch.manual_seed(2)
    return nn.Sequential(nn.Flatten(), nn.Linear(8, 3, bias=False))


def clients(shape, m=4, sizes=(7, 5, 9, 5), seed=0, classes=3):
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(n, *shape)), rng.integers(classes, size=n)) for n in sizes[:m]
    ]


CASES = {
    "mlp": (mlp, (2, 4)),
    "softmax": (softmax, (8,)),
    "convolution": (convolution, (1, 4, 4)),
}


def build(case, **options):
    module, shape = CASES[case]
    return Supervised(module(), clients(shape), batch=3, dtype=torch.float64, **options)


def literal_loss(task, i, x, X, y):
    """Return the mean loss of one client from a fresh copy of the module with loaded
    parameters.
    """
    import copy

    module = copy.deepcopy(task.network)
    end = 0
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(x[end : end + p.numel()].view_as(p))
            end += p.numel()
    loss = task.criterion(module(X), y)
    return loss, torch.cat(
        [g.reshape(-1) for g in torch.autograd.grad(loss, list(module.parameters()))]
    )


@pytest.mark.drawn(4)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("strategy", ["auto", "batched", "loop"])
def test_every_strategy_gives_every_clients_gradient(case, strategy):
    if strategy == "batched" and case == "convolution":
        with pytest.raises(DFLTheoryError, match="linear layers"):
            build(case, strategy=strategy)
        return
    task = build(case, strategy=strategy, weight_decay=0.3)
    generators = [torch.Generator().manual_seed(s) for s in (1, 2)]
    x = torch.randn(2, 4, task.d, dtype=torch.float64)
    batch = task.sample(generators)
    gradient, loss = task.gradient(x, batch), task.loss(x, batch)
    exact, full = task.gradient(x), task.loss(x)
    data = clients(CASES[case][1])
    for s in range(2):
        for i in range(4):
            value, g = literal_loss(task, i, x[s, i], batch.X[s, i], batch.y[s, i])
            torch.testing.assert_close(
                gradient[s, i], g + 0.3 * x[s, i], rtol=1e-10, atol=1e-12
            )
            torch.testing.assert_close(
                loss[s, i], value.detach() + 0.15 * x[s, i] @ x[s, i]
            )
            X, y = (torch.as_tensor(a) for a in data[i])
            value, g = literal_loss(task, i, x[s, i], X, y)
            torch.testing.assert_close(
                exact[s, i], g + 0.3 * x[s, i], rtol=1e-10, atol=1e-12
            )
            torch.testing.assert_close(
                full[s, i], value.detach() + 0.15 * x[s, i] @ x[s, i]
            )


def test_a_piece_is_counted_in_bytes_and_larger_for_dense_networks():
    """A CIFAR image in float32 has 3 * 32 * 32 * 4 bytes."""
    X, y = torch.zeros(1, 3, 32, 32), torch.zeros(1, dtype=torch.long)
    dense = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 2))
    convolution = torch.nn.Sequential(
        torch.nn.Conv2d(3, 1, 1), torch.nn.Flatten(), torch.nn.Linear(1024, 2)
    )
    for module, size in ((convolution, 1_250_000), (dense, 5_000_000)):
        X_and_y = [(X, y)]
        assert dfl.tasks.Supervised(module, X_and_y)._piece == size // 12288
        double = dfl.tasks.Supervised(module, X_and_y, dtype=torch.float64)
        assert double._piece == size // 24576


def trajectory(task):
    """Return the models after every round of momentum, SAM and class-balanced steps."""
    path = []

    def keep(t, state, recorder):
        path.append(state.x.clone())

    for algorithm in (
        alg.DFedSAM(eta=0.1, K=3, rho=0.05),
        alg.DFedAvgM(eta=0.1, K=2, alpha=0.9),
        alg.FedRoD(eta=0.1, K=2),
    ):
        topology = ring_matrix(4) if algorithm.needs_topology else None
        train(algorithm, task, topology, rounds=2, seeds=2, callbacks=[keep])
    return torch.stack(path)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("case", CASES)
def test_strategies_give_one_trajectory(case, monkeypatch):
    """Batched products and the loop over views, for one client or all at a time."""
    expected = trajectory(build(case, strategy="loop"))
    for strategy in ("auto", *(("batched",) if case != "convolution" else ())):
        torch.testing.assert_close(
            trajectory(build(case, strategy=strategy)),
            expected,
            rtol=0,
            atol=1e-12,
            msg=strategy,
        )
    monkeypatch.setattr("dfltheory.tasks.minibatches._CACHE", 1)  # one client at a time
    for strategy in ("loop", "auto"):
        torch.testing.assert_close(
            trajectory(build(case, strategy=strategy)),
            expected,
            rtol=0,
            atol=1e-12,
            msg=strategy,
        )


def test_automatic_choice():
    def chosen(module):
        made_of = module, functional.cross_entropy, Layout.of(module)
        return choose("auto", made_of, False).name

    assert chosen(mlp()) == "batched"
    assert chosen(softmax()) == "batched"
    assert chosen(convolution()) == "loop"
    assert dense_layers(nn.Linear(3, 2)) == [("weight", "bias", None)]
    assert dense_layers(nn.Sequential(nn.Linear(3, 2), nn.ReLU())) is None
    assert (
        dense_layers(nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2), nn.Linear(2, 2)))
        is None
    )
    shared = nn.Linear(3, 3)
    assert dense_layers(nn.Sequential(shared, nn.ReLU(), shared)) is None
    tied = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
    tied[2].weight = tied[0].weight
    for one in (
        nn.Sequential(shared, shared),
        tied,
        nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)),
        type(
            "Doubled",
            (nn.Linear,),
            {"forward": lambda self, x: 2 * nn.Linear.forward(self, x)},
        )(3, 3),
    ):  # their result is not determined by their layers alone
        assert (dense_layers(one), chosen(one)) == (None, "loop")


def test_regression_and_own_losses():
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(6, 3)), rng.normal(size=6)) for _ in range(3)]
    module = nn.Linear(3, 1)
    task = Supervised(module, data, batch=None, dtype=torch.float64)
    x = torch.randn(1, 3, 4, dtype=torch.float64)
    for i, (X, y) in enumerate(data):
        r = X @ x[0, i, :3].numpy() + float(x[0, i, 3]) - y
        np.testing.assert_allclose(task.loss(x)[0, i], np.mean(r**2))
        np.testing.assert_allclose(task.gradient(x)[0, i, :3], 2 * X.T @ r / 6)
    assert task.sample([torch.Generator()]) is None

    def quartic(outputs, targets):
        return ((outputs.squeeze(-1) - targets) ** 4).mean()

    own = Supervised(module, data, batch=2, dtype=torch.float64, loss=quartic)
    np.testing.assert_allclose(own.loss(x)[0, 2], np.mean(r**4))
    np.testing.assert_allclose(own.gradient(x)[0, 2, :3], 4 * X.T @ r**3 / 6)
    assert own.constants.f_star is None
    assert task.constants.f_star == 0.0
    assert task.constants.standing_of("f_star") == "bound"


def numbered(sizes, **options):
    """Return clients whose inputs are their own numbers, so that a minibatch shows its
    examples.
    """
    data = [
        (np.arange(n, dtype=float)[:, None] + 100 * i, np.zeros(n))
        for i, n in enumerate(sizes)
    ]
    return Supervised(nn.Linear(1, 1), data, dtype=torch.float64, **options)


def test_epochs_visit_every_example_once_a_pass():
    task = numbered([6, 4, 9], batch=3, sampling="epochs")
    draw = task.stream([torch.Generator().manual_seed(s) for s in (0, 1)])
    seen = torch.cat([draw().X for _ in range(12)], dim=2)[..., 0]  # (S, m, 36)
    for s in range(2):
        for i, n in enumerate([6, 4, 9]):
            for k in range(36 // n):
                part = seen[s, i, k * n : (k + 1) * n]
                assert sorted(part.tolist()) == [100 * i + j for j in range(n)]
    assert not torch.equal(seen[0, 0, :6], seen[0, 0, 6:12])
    assert not torch.equal(seen[0], seen[1])


def test_balanced_risk_reweighs_the_classes():
    task = build("softmax")
    x = torch.randn(1, 4, task.d, dtype=torch.float64)
    batch = task.sample([torch.Generator().manual_seed(3)])
    got = task.balanced_gradient(x, batch)
    for i, (_, y) in enumerate(clients((8,))):
        share = np.bincount(y, minlength=3) / len(y)
        weights = x[0, i].view(3, 8)
        logits = batch.X[0, i] @ weights.T
        p = torch.as_tensor(share) * logits.exp()
        p = p / p.sum(-1, keepdim=True) - functional.one_hot(batch.y[0, i], 3)
        torch.testing.assert_close(got[0, i].view(3, 8), p.T @ batch.X[0, i] / 3)


def test_starts():
    module = mlp()
    task = Supervised(module, clients((2, 4)), batch=3)
    flat = torch.cat([p.detach().reshape(-1) for p in module.parameters()])
    torch.testing.assert_close(task.start(torch.Generator()), flat)
    fresh = Supervised(module, clients((2, 4)), batch=3, start="fresh")
    before = torch.random.get_rng_state()
    one, two, three = (fresh.start(torch.Generator().manual_seed(s)) for s in (5, 5, 6))
    assert torch.equal(one, two)
    assert not torch.equal(one, three)
    assert torch.equal(before, torch.random.get_rng_state())
    with torch.no_grad():
        module[1].weight.zero_()
    # the user's module is not the task's
    torch.testing.assert_close(task.start(torch.Generator()), flat)


def test_shared_and_personal_coordinates():
    assert build("mlp").shared == slice(0, 8 * 5 + 5 + 5 * 4 + 4 + 4 * 4 + 4)
    task = build("mlp", personal="1")
    assert task.shared == slice(45, 45 + 24 + 20 + 15)
    middle = build("mlp", personal="3")
    assert middle.shared.tolist() == [*range(45), *range(69, 104)]


def test_preprocess_and_augment():
    data = [(np.full((4, 1), 2, dtype=np.uint8), np.zeros(4)) for _ in range(2)]

    def louder(X, generators):
        assert len(generators) == 1
        return X + 10

    task = Supervised(
        nn.Linear(1, 1),
        data,
        batch=2,
        dtype=torch.float64,
        preprocess=lambda X: X.double() / 2,
        augment=louder,
    )
    assert task.X.dtype == torch.uint8
    assert task.chunk(1) is None  # the function needs all clients at once
    assert task.sample([torch.Generator()]).X.unique().tolist() == [11.0]
    x = torch.ones(1, 2, 2, dtype=torch.float64)
    torch.testing.assert_close(
        task.loss(x), torch.full((1, 2), 4.0, dtype=torch.float64)
    )  # (1 * 1 + 1 - 0)^2


def frozen():
    module = nn.Linear(8, 3)
    module.weight.requires_grad_(False)
    return module


def whole_numbers():
    module = nn.Linear(8, 3)
    module.weight = nn.Parameter(
        torch.zeros(3, 8, dtype=torch.long), requires_grad=False
    )
    return module


def holed(part, value):
    """Return regression data of four clients with one changed value.

    The value is in the inputs (0) or targets (1) of the third client's second example.
    """
    data = [(X, y.astype(float)) for X, y in clients((8,))]
    data[2][part][(1, 4)[: 2 - part]] = value
    return data


def test_large_finite_inputs_are_no_false_alarm():
    """Their sum overflows."""
    X = np.full((3, 8), 3e38, dtype=np.float32)
    assert Supervised(softmax(), [(X, np.zeros(3, int))]).sizes.tolist() == [3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clients": []}, "at least one client"),
        ({"clients": [(np.zeros((0, 8)), np.zeros(0, int))]}, "client 0 has 0 inputs"),
        (
            {"clients": [(np.zeros((3, 8)), np.zeros(2, int))]},
            "client 0 has 3 inputs and 2 targets",
        ),
        ({"batch": 0}, "batch = 0 must be an integer >= 1"),
        ({"weight_decay": -1}, "weight_decay = -1"),
        ({"loss": "cross"}, "did you mean cross_entropy"),
        ({"strategy": "lop"}, "did you mean loop"),
        ({"sampling": "epoch"}, "did you mean epochs"),
        (
            {"module": nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))},
            "1 is a batch norm",
        ),
        ({"module": nn.ReLU()}, "without parameters"),
        ({"test": [(np.zeros((3, 8)), np.zeros(3, int))]}, "1 test sets for 4 clients"),
        ({"module": frozen()}, "parameter weight is frozen .*: unfreeze it"),
        (
            {"module": whole_numbers()},
            "parameter weight is torch.int64: gradients need floating-point",
        ),
        ({"dtype": torch.int32}, "dtype = torch.int32 must be a floating-point type"),
        (
            {"clients": holed(0, np.nan)},
            "client 2: example 1 has inputs that are not finite",
        ),
        (
            {"clients": holed(1, np.inf)},
            "client 2: example 1 has targets that are not finite",
        ),
        (
            {"clients": [*clients((8,)), *clients((7,))]},
            r"client 4 has inputs of shape \(7,\), but .* \(8,\)",
        ),
        (
            {"clients": [(np.zeros((3, 8), int), np.zeros(3, int))]},
            r"integers \(torch.int64; pass X.float",
        ),
        (
            {"test": holed(0, -np.inf)},
            "test set 2: example 1 has inputs that are not finite",
        ),
    ],
)
def test_bad_input_is_rejected_in_one_line(change, words):
    arguments = {"module": softmax(), "clients": clients((8,))} | change
    with pytest.raises(DFLTheoryError, match=words) as caught:
        Supervised(**arguments)
    assert "\n" not in str(caught.value)


def test_measuring_on_some_examples_changes_what_is_measured_and_nothing_else():
    """The measured f is the mean over clients of the mean over a subset of their
    examples; training does not use it.
    """
    task = build("mlp", weight_decay=0.1)
    part = dfl.tasks.measured_on(task, 7, seed=3)
    whole = dfl.tasks.measured_on(task, 10**6)
    assert whole is task
    assert part.measured is not None
    counts = part.measured.sizes.tolist()
    assert counts == [
        max(1, n * 7 // int(task.sizes.sum())) for n in task.sizes.tolist()
    ]
    assert f"measured on {sum(counts)} of {int(task.sizes.sum())} examples" in part.name
    x = torch.randn(2, task.d, dtype=torch.float64)
    begin, expected = 0, torch.zeros(2, dtype=torch.float64)
    for i, n in enumerate(counts):
        X, y = part.measured.X[begin : begin + n], part.measured.y[begin : begin + n]
        begin += n
        own = task.X[task.offsets[i] : task.offsets[i] + task.sizes[i]]
        assert all(any(torch.equal(row, other) for other in own) for row in X), (
            "another client's example"
        )
        values = [literal_loss(task, i, point, X, y)[0].detach() for point in x]
        expected += torch.stack(values) / len(counts)
    torch.testing.assert_close(part.global_loss(x), expected + 0.05 * (x * x).sum(-1))
    assert not torch.allclose(part.global_loss(x), task.global_loss(x))
    runs = [
        train(alg.DFedAvg(eta=0.1, K=2), t, ring_matrix(4), rounds=3)
        for t in (task, part)
    ]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    with pytest.raises(DFLTheoryError, match="examples = 0"):
        dfl.tasks.measured_on(task, 0)


@pytest.mark.parametrize(
    ("module", "X", "y", "words"),
    [
        (
            nn.Linear(3, 2),
            torch.zeros(4, 5),
            torch.zeros(4, dtype=torch.long),
            "inputs of shape (5,)",
        ),
        (
            nn.LSTM(3, 2),
            torch.zeros(4, 1, 3),
            torch.zeros(4, dtype=torch.long),
            "returns a tuple",
        ),
        (
            nn.Linear(3, 2),
            torch.zeros(4, 3),
            torch.tensor([0, 1, 2, 0]),
            "example 2 has the label 2: the module",
        ),
        (
            nn.Linear(3, 2),
            torch.zeros(4, 3),
            torch.tensor([0, -1, 1, 0]),
            "example 1 has the label -1",
        ),
    ],
)
def test_data_that_the_module_cannot_take_get_one_line(module, X, y, words):
    with pytest.raises(DFLTheoryError) as caught:
        Supervised(module, [(X, y)])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
