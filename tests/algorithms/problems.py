"""Small problems whose gradients are implemented twice: stacked in torch, and client by
client in numpy.
"""

import numpy as np
import torch

from dfltheory.constants import ProblemConstants
from dfltheory.tasks.task import Task


class Rows(Task):
    """Regularized logistic regression on rows a_r of each client.

    f_i(x) is the mean over the rows of log(1 + exp(-a_r x)), plus 0.05 |x|^2. A
    minibatch is a subset of the rows; with batch=None, it contains all of them.

    The problem is not quadratic, and its stochastic gradients differ between
    minibatches by more than a constant. So an algorithm that evaluates the two
    gradients of SAM on different minibatches has another trajectory.
    """

    name = "rows"

    def __init__(
        self,
        m=5,
        d=4,
        n=7,
        batch=2,
        seed=0,
        shared=None,
        parts=None,
        dtype=torch.float64,
        shapes=None,
    ):
        self.m, self.d, self.n, self.batch = m, d, n, batch
        self.dtype, self.device = dtype, torch.device("cpu")
        self.a = np.random.default_rng(seed).normal(size=(m, n, d)) * 2
        self.rows = torch.tensor(self.a, dtype=dtype)
        self.shared = shared
        self._parts = parts or ((0, d),)
        self._shapes = shapes or tuple((b - a,) for a, b in self._parts)
        self.drawn = []  # the rows drawn by every call of sample, for the twin

    @property
    def constants(self):
        return ProblemConstants()

    @property
    def blocks(self):
        return tuple(slice(a, b) for a, b in self._parts)

    @property
    def shapes(self):
        return self._shapes

    def sample(self, generators):
        if self.batch is None:
            return None
        picked = torch.stack(
            [
                torch.randint(self.n, (self.m, self.batch), generator=g)
                for g in generators
            ]
        )
        self.drawn.append(picked.numpy())
        return picked

    def _rows(self, batch):
        if batch is None:
            return self.rows.unsqueeze(0)
        index = batch.unsqueeze(-1).expand(*batch.shape, self.d)
        return torch.gather(self.rows.expand(batch.shape[0], -1, -1, -1), 2, index)

    def gradient(self, x, batch=None):
        a = self._rows(batch)
        slope = -torch.sigmoid(-(a * x.unsqueeze(-2)).sum(-1, keepdim=True))
        return (slope * a).mean(-2) + 0.1 * x

    def balanced_gradient(self, x, batch=None):
        return self.gradient(x, batch) + 0.2 * x.sin()

    def loss(self, x, batch=None):
        a = self._rows(batch)
        margin = (a * x.unsqueeze(-2)).sum(-1)
        return torch.nn.functional.softplus(-margin).mean(-1) + 0.05 * (x * x).sum(-1)

    def one_gradient(self, i, y, picked):
        """Return the same gradient of one client at one vector, in numpy."""
        total = np.zeros(self.d)
        for r in picked:
            a = self.a[i, r]
            total = total - a / (1 + np.exp(float(a @ y)))
        return total / len(picked) + 0.1 * y

    def one_balanced_gradient(self, i, y, picked):
        return self.one_gradient(i, y, picked) + 0.2 * np.sin(y)

    def mean_gradient(self, x):
        """Return grad f at one vector, in numpy."""
        return np.mean(
            [self.one_gradient(i, x, range(self.n)) for i in range(self.m)], axis=0
        )


class Scripted:
    """An oracle with prescribed gradients that do not depend on the point."""

    t, horizon, active, shared, uniform = 0, 1, None, None, None

    def __init__(self, gradients):
        self.gradients, self.step = list(gradients), -1
        self.blocks = (slice(0, self.gradients[0].shape[-1]),)

    def begin(self, x):
        return x.clone()

    def sample(self):
        self.step += 1
        return self.step

    def __call__(self, y, batch):
        return self.gradients[batch].clone()


def dense_mix(matrix):
    """Return a function mix(z, times) that multiplies by one fixed matrix."""
    matrix = torch.as_tensor(matrix)

    def mix(z, times=1, W=None, bits=None):
        for _ in range(times):
            z = torch.einsum("il,sld->sid", matrix.to(z.dtype), z)
        return z

    mix.send, mix.uniform = lambda message, bits=None: message, None
    return mix


class Matrices:
    """A sequence of given matrices, matrix(t) = list[t % len(list)].

    If ``random``, one of the matrices, which are doubly stochastic, is drawn in each
    round.
    """

    def __init__(self, matrices, random=False):
        self.matrices, self.random, self.m = matrices, random, matrices[0].shape[0]
        self.given = []

    def matrix(self, t, rng, losses=None):
        W = self.matrices[
            (
                int(rng.integers(len(self.matrices)))
                if self.random
                else t % len(self.matrices)
            )
        ]
        self.given.append(np.asarray(W))
        return W


def ring_matrix(m):
    W = np.zeros((m, m))
    for i in range(m):
        for j in (i - 1, i, i + 1):
            W[i, j % m] += 1 / 3
    return W


def permuted_average(m, rng):
    """Return a nonsymmetric, doubly stochastic matrix: a convex combination of
    permutations.
    """
    W = 0.4 * np.eye(m)
    for weight in (0.35, 0.25):
        W = W + weight * np.eye(m)[rng.permutation(m)]
    return W
