"""At least one problem of every Task class, in every regime that its constants
distinguish.
"""

from __future__ import annotations

import functools

import torch
from torch import nn

from dfltheory import tasks
from dfltheory.tasks import FiniteSupport, Gaussian, Quadratic, Supervised


def small_network(sizes=(7, 7, 7), batch=3, **options) -> Supervised:
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    clients = [
        (torch.randn(n, 4, generator=g).double(), torch.randint(3, (n,), generator=g))
        for n in sizes
    ]
    module = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    return Supervised(module, clients, batch, **options)


def random_support(sigma, n, d, seed=0) -> FiniteSupport:
    """Return n random shifts in R^d with mean zero and mean square exactly sigma^2."""
    v = torch.randn(
        n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    v -= v.mean(0)
    return FiniteSupport(v * (sigma / v.square().sum(-1).mean().sqrt()))


QUADRATICS = {
    "quadratic": lambda: tasks.quadratic(4, 3, 1.7, 0.2, 1.0, seed=5),
    "quadratic, flat": lambda: tasks.quadratic(4, 3, mu=0.0, sigma=0.0, seed=6),
    "quadratic, diagonal": lambda: tasks.quadratic(
        4, 3, 1.7, 0.2, 1.0, seed=5, hessians="diagonal"
    ),
    "quadratic, commuting": lambda: tasks.quadratic(
        4, 3, 1.7, 0.2, 1.0, seed=5, hessians="commuting"
    ),
    "quadratic, random": lambda: tasks.quadratic(
        4, 3, 1.7, 0.2, 1.0, seed=5, hessians="random"
    ),
    "quadratic, one client": lambda: tasks.quadratic(1, 3, seed=5),
    "quadratic, a client turned around": lambda: Quadratic(
        [[[-3.0, 0.0], [0.0, 1.0]], [[5.0, 0.0], [0.0, 1.0]]],
        [[1.0, 0.0], [0.0, 2.0]],
        Gaussian([0.1, 0.7]),
    ),
    "quadratic, finite noise": lambda: Quadratic(
        2.0, [[0.1, 1.0], [0.4, -1.0]], random_support(0.7, 5, 2)
    ),
}

SYNTHETIC = {
    "sinusoidal": lambda: tasks.sinusoidal(m=5, d=3, L=2.0, B=1.5, sigma=0.3, seed=1),
    "sinusoidal, distant clients": lambda: tasks.sinusoidal(
        m=4, d=1, L=1.0, B=1.0, spread=3.0, seed=2
    ),
    "clipped": lambda: tasks.clipped(m=5, d=3, L=2.0, B=1.5, sigma=0.3, seed=1),
    "clipped, distant clients": lambda: tasks.clipped(
        m=4, d=2, L=1.0, B=1.0, spread=6.0, seed=2
    ),
}

PERSONAL = {
    "coupled": lambda: tasks.coupled(m=4, p=2, L_u=2.0, L_v=1.0, chi=0.6, seed=1),
    "coupled, odd": lambda: tasks.coupled(
        m=5, p=1, L_u=1.0, L_v=3.0, chi=0.2, spread=2.0, seed=2
    ),
    "coupled, alone": lambda: tasks.coupled(m=1, p=3, seed=2),
    "coupled, quadratic": lambda: tasks.coupled(m=4, p=2, chi=0.0, seed=4),
}

MEASURED = {"network": small_network, "digits": lambda: tasks.digits(m=3, examples=90)}

PROBLEMS = {
    name: functools.cache(build)  # tasks are created once and never changed
    for name, build in {**QUADRATICS, **SYNTHETIC, **PERSONAL, **MEASURED}.items()
}
