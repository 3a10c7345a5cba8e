"""W1, W2, W3: rounds of the training core against hand-written code.

Also checks that the time of a round is linear in m.
"""

from __future__ import annotations

import copy
from itertools import count

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from dfltheory import algorithms, graphs, models, tasks
from dfltheory.tasks.supervised import Supervised
from dfltheory.training import train
from dfltheory.training.run import Run

torch.set_num_threads(1)


def rounds_of(algorithm, task, topology):
    """Return a function that performs one more round per call, without measuring."""
    run = Run(algorithm, task, topology, 10**6, range(1), 0)
    rounds = count()

    @torch.no_grad()
    def one_round():
        run.round(next(rounds))

    return one_round


class ByHand:
    """W1 written by hand with stacked weights and batched products.

    It uses neither autograd nor ``nn.Module``.
    """

    def __init__(self, X, y, module, W, rho=0.0, eta=0.1, K=5, batch=20):
        self.X, self.y, self.W, self.rho, self.eta, self.K, self.batch = (
            X,
            y,
            W,
            rho,
            eta,
            K,
            batch,
        )
        self.m, self.n, features = X.shape
        self.rows = X.view(-1, features)
        self.parameters = [
            p.detach().expand(self.m, *p.shape).clone() for p in module.parameters()
        ]

    def gradient(self, parameters, x, y):
        W1, b1, W2, b2 = parameters
        h = torch.relu(torch.baddbmm(b1[:, None], x, W1.mT))
        delta = torch.softmax(torch.baddbmm(b2[:, None], h, W2.mT), -1)
        delta.scatter_add_(
            -1, y[..., None], torch.full((self.m, self.batch, 1), -1.0)
        ).div_(self.batch)
        back = (delta @ W2) * (h > 0)
        return [back.mT @ x, back.sum(1), delta.mT @ h, delta.sum(1)]

    @torch.no_grad()
    def __call__(self):
        parameters = [p.clone() for p in self.parameters]
        for _ in range(self.K):
            index = torch.randint(self.n, (self.m, self.batch))
            flat = (index + torch.arange(self.m)[:, None] * self.n).view(-1)
            x = self.rows.index_select(0, flat).view(self.m, self.batch, -1)
            y = self.y.gather(1, index)
            g = self.gradient(parameters, x, y)
            if self.rho:
                norm = (
                    torch.stack([part.flatten(1).square().sum(1) for part in g])
                    .sum(0)
                    .sqrt()
                )
                scale = [
                    (self.rho / norm).view(-1, *[1] * (p.ndim - 1)) for p in parameters
                ]
                g = self.gradient(
                    [p + s * part for p, s, part in zip(parameters, scale, g)], x, y
                )
            for p, part in zip(parameters, g):
                p.sub_(part, alpha=self.eta)
        self.parameters = [
            (self.W @ p.view(self.m, -1)).view(p.shape) for p in parameters
        ]


def w1():
    torch.manual_seed(0)
    m, n = 100, 100
    X, y = torch.randn(m, n, 784), torch.randint(10, (m, n))
    module = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    W = graphs.metropolis(graphs.ring(m))
    return X, y, module, W


@pytest.mark.parametrize("rho", [0.0, 0.05], ids=["sgd", "sam"])
def test_w1_by_hand(versus, rho):
    X, y, module, W = w1()
    task = Supervised(module, list(zip(X, y)), batch=20)
    ours = rounds_of(algorithms.DFedSAM(eta=0.1, K=5, rho=rho), task, W)
    versus(
        ours,
        ByHand(X, y, module, torch.tensor(W, dtype=torch.float32), rho),
        "goal <= 1.0",
        turns=21,
    )


def test_w1_sampled_clients(versus):
    """A server draws 10 of the 100 clients in each round."""
    X, y, module, _ = w1()
    task = Supervised(module, list(zip(X, y)), batch=20)
    algorithm = algorithms.FedAvg(eta=0.1, K=5, participation=0.1)
    mean = torch.full((10, 10), 0.1)

    def by_hand():
        chosen = torch.randperm(len(X))[:10]
        ByHand(X[chosen], y[chosen], module, mean)()

    goal = "no goal: the other clients' models are stored, too"
    versus(rounds_of(algorithm, task, None), by_hand, goal, turns=21)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_w1_sampled_or_all_clients(versus, share):
    X, y, module, _ = w1()
    task = Supervised(module, list(zip(X, y)), batch=20)
    some, every = (
        rounds_of(algorithms.FedAvg(eta=0.1, K=5, participation=p), task, None)
        for p in (share, 1.0)
    )
    versus(some, every, f"goal about {share}, against all clients")


def test_w1_other_strategy(versus):
    X, y, module, W = w1()
    sides = [
        Supervised(module, list(zip(X, y)), batch=20, strategy=strategy)
        for strategy in ("auto", "loop")
    ]
    ours, other = (
        rounds_of(algorithms.DFedAvg(eta=0.1, K=5), task, W) for task in sides
    )
    versus(ours, other, "the automatic choice against loop")


def test_gradient_of_dense_network(versus):
    """Compare the chunked gradient of f of a dense network with one backward pass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 600, 784)).astype(np.float32)
    y = rng.integers(10, size=(10, 600))
    module = models.mnist_2nn()
    task = Supervised(module, list(zip(X, y)))
    x = task.start(torch.Generator())[None]
    inputs, targets = torch.from_numpy(X).flatten(0, 1), torch.from_numpy(y).flatten()

    def by_hand():
        loss = functional.cross_entropy(module(inputs), targets)
        return torch.autograd.grad(loss, list(module.parameters()))

    versus(lambda: task.global_loss_and_gradient(x), by_hand, "goal <= 1.1")


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_w2(versus, library):
    # enough rounds to make setting up and the two measurements negligible
    m, d, rounds = 100, 50, 2000
    rng = np.random.default_rng(0)
    A = rng.normal(size=(m, d, d))
    A = A @ A.transpose(0, 2, 1) / d + np.eye(d)
    b, W = rng.normal(size=(m, d)), graphs.metropolis(graphs.ring(m))
    task = tasks.Quadratic(A, b)

    def with_numpy():
        x = np.zeros((m, d))
        for _ in range(rounds):
            x = W @ x - 0.05 * np.matmul(A, (x - b)[..., None])[..., 0]
        return x

    @torch.no_grad()
    def with_torch():
        weights, hessians, minimizers = map(torch.from_numpy, (W, A, b))
        x = torch.zeros(m, d, dtype=torch.float64)
        for _ in range(rounds):
            # rows times matrices are faster than matrices times columns
            gradient = torch.bmm((x - minimizers)[:, None], hessians.mT)[:, 0]
            x = torch.mm(weights, x).sub_(gradient, alpha=0.05)
        return x.numpy()

    by_hand = {"numpy": with_numpy, "torch": with_torch}[library]

    def ours():
        algorithm = algorithms.DPSGD(eta=0.05)
        return train(
            algorithm, task, W, rounds=rounds, evaluate_every=rounds, progress=False
        ).x[0]

    np.testing.assert_allclose(ours(), by_hand(), atol=1e-12)
    versus(ours, by_hand, f"goal <= 1.3 ({rounds} iterations)", turns=15)


@pytest.mark.parametrize("rho", [0.0, 0.05], ids=["sgd", "sam"])
@pytest.mark.parametrize("model", ["cifar_cnn", "vgg11", "resnet18"])
def test_w3_plain_training(versus, model, rho):
    """Compare a round of m clients with one model on m minibatches of the same size."""
    ours, by_hand = w3(model, rho)
    versus(
        ours,
        by_hand,
        "goal <= 2.1, mixing included" if rho else "goal <= 1.1, mixing included",
        turns=5,
    )


def w3(model, rho, layout=torch.contiguous_format):
    m, size = {"cifar_cnn": 100, "vgg11": 8, "resnet18": 4}[model], 20
    torch.manual_seed(0)
    X, y = torch.randn(m, size, 3, 32, 32), torch.randint(10, (m, size))
    module = models.get(model)
    plain = copy.deepcopy(module)
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.05)

    def by_hand():
        for images, labels in zip(X, y):
            optimizer.zero_grad()
            functional.cross_entropy(
                plain(images.contiguous(memory_format=layout)), labels
            ).backward()
            optimizer.step()

    task = Supervised(module, list(zip(X, y)), batch=size)
    return (
        rounds_of(algorithms.DFedSAM(eta=0.05, K=1, rho=rho), task, graphs.ring(m)),
        by_hand,
    )


def test_w3_plain_training_colours_last(versus):
    """Measure the overhead of the core with the same memory layout on both sides."""
    ours, by_hand = w3("cifar_cnn", 0.0, torch.channels_last)
    versus(ours, by_hand, "colours last on both sides: no goal", turns=5)


@pytest.mark.parametrize("what", ["gradient", "outputs"])
@pytest.mark.parametrize("size", [20, 100])
@pytest.mark.parametrize("model", ["cifar_cnn", "vgg11"])
def test_colours_last(versus, model, size, what):
    """Compare the channels-last memory layout of images with channels-first."""
    torch.manual_seed(0)
    images, labels = torch.randn(size, 3, 32, 32), torch.randint(10, (size,))
    module, laid = (
        models.get(model),
        images.contiguous(memory_format=torch.channels_last),
    )
    parameters = list(module.parameters())

    def gradient(X):
        torch.autograd.grad(functional.cross_entropy(module(X), labels), parameters)

    @torch.no_grad()
    def outputs(X):
        module(X)

    work = {"gradient": gradient, "outputs": outputs}[what]
    versus(
        lambda: work(laid),
        lambda: work(images),
        "the choice for torch's own layers in a row",
        turns=9,
    )


@pytest.mark.parametrize("m", [1000, 10_000])
def test_clients_on_a_sparse_graph(versus, m):
    """Compare m clients with m / 10 clients at d = 100."""
    few, many = (sparse_problem(k) for k in (m // 10, m))
    versus(many, few, "goal about 10: linear in m", turns=15)


def sparse_problem(m, d=100):
    rng = np.random.default_rng(0)
    task = tasks.Quadratic.diagonal(
        rng.uniform(0.5, 1.5, size=(m, d)), rng.normal(size=(m, d)), 0.1
    )
    return rounds_of(algorithms.DFedAvg(eta=0.05, K=2), task, graphs.ring(m))
