"""Adversaries that try to refute the constants that a task claims, one for each name in
the glossary.

``ATTACKS[name](task)`` is the most extreme value of the constant over points, pairs or
minibatches: the largest for an upper bound, the smallest for ``f_star`` and ``mu``.
Each starts from many scales and from the points at which the theory attains the
supremum, and ascends.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from dfltheory.tasks import Clipped, Coupled, Sinusoidal, Supervised
from dfltheory.tasks.personal import Personal

Value = Callable[[Tensor], Tensor]


def climb(
    value: Value, start: Tensor, steps: int = 150, rate: float = 0.1, patience: int = 40
) -> tuple[Tensor, Tensor]:
    """Return the largest values (S,) on gradient ascents from points (S, ...), and
    their points.

    The ascent stops early if the largest value has not increased for ``patience``
    steps.
    """
    x = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([x], lr=rate)
    best, where = (
        torch.full((len(start),), -torch.inf, dtype=start.dtype),
        start.clone(),
    )
    top, idle = -math.inf, 0
    for _ in range(steps):
        now = value(x)
        better = now.detach() > best
        best[better], where[better] = now.detach()[better], x.detach()[better]
        idle = 0 if float(best.max()) > top + 1e-7 * abs(top) else idle + 1
        top = float(best.max())
        if idle == patience:
            break
        optimizer.zero_grad()
        (-now.sum()).backward()
        optimizer.step()
    return best, where


def ascend(value: Value, start: Tensor, steps: int = 150, rate: float = 0.1) -> Tensor:
    """Return the values of :func:`climb`."""
    return climb(value, start, steps, rate)[0]


# -- starting points


def starts(task, n: int = 24, seed: int = 0) -> Tensor:
    """Return (n, d) points at many scales, some very near 0 and some far away."""
    g = torch.Generator().manual_seed(seed)
    scales = torch.logspace(-2, 2, n, dtype=torch.float64).unsqueeze(1)
    return scales * torch.randn(n, task.d, generator=g, dtype=torch.float64)


def special(task) -> Tensor:
    """Return points (n, d) at which the constants are attained, according to their
    derivation.
    """
    found = [torch.zeros(1, task.d, dtype=torch.float64)]
    if hasattr(task, "c"):
        found.append(task.c)
    if isinstance(task, Sinusoidal):
        found.append(task.c + math.pi / 2 / task.w)
    if isinstance(task, Clipped):
        found += [task.c + task.r, task.c - task.r, task.c + 10 * task.r + 10]
    if isinstance(task, Coupled):
        found.append(torch.full((1, task.d), math.pi / 2, dtype=torch.float64))
        flip = torch.ones(1, task.d, dtype=torch.float64)
        flip[:, task.d_u :] = -1
        found.append(flip * math.pi / 2)
    return torch.cat(found)


def near_pairs(task, seed: int = 0) -> Tensor:
    """Return pairs (S, 2, d) of close points, near every possible peak of a curvature,
    and far away.
    """
    x = torch.cat([starts(task, seed=seed), special(task)])
    step = 0.01 * torch.randn(
        x.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return torch.stack([x, x + step], 1)


def differing_points(task) -> Tensor:
    """Return points at which the clients' gradients may differ most.

    For separable tasks, these are the best coordinates of a fine grid.
    """
    x = torch.cat([starts(task, n=200, seed=3), special(task)])
    if isinstance(task, (Sinusoidal, Clipped)):
        grid = torch.linspace(-12, 12, 20_001, dtype=torch.float64)
        gaps = []
        for k in range(task.d):
            z = task.c[0].repeat(len(grid), 1)
            z[:, k] = grid
            g = task.gradient(at_all(task, z))[..., k]
            gaps.append((g - g.mean(1, keepdim=True)).square())
        rms = torch.stack([grid[gap.mean(1).argmax()] for gap in gaps])
        top = [
            torch.stack([grid[gap[:, i].argmax()] for gap in gaps])
            for i in range(task.m)
        ]
        x = torch.cat([x, rms.unsqueeze(0), torch.stack(top)])
    return x


def own_parts(task: Personal, n: int = 40, seed: int = 0) -> Tensor:
    """Return points (S, m, d) at which every client has its own v_i, with all signs of
    sin(v_i).
    """
    g = torch.Generator().manual_seed(seed)
    scale = torch.logspace(-1, 1, n, dtype=torch.float64)[:, None, None]
    x = scale * torch.randn(n, task.m, task.d, generator=g, dtype=torch.float64)
    peaks = torch.full((4, task.m, task.d), math.pi / 2, dtype=torch.float64)
    peaks[1, :, task.d_u :] *= -1
    peaks[2:] = 0
    signs = torch.tensor(
        list(itertools.product([-1.0, 1.0], repeat=task.m * task.d_v)),
        dtype=torch.float64,
    )
    turned = torch.zeros(len(signs), task.m, task.d, dtype=torch.float64)  # cos(u) = 1
    turned[..., task.d_u :] = math.pi / 2 * signs.view(-1, task.m, task.d_v)
    return torch.cat([x, peaks, turned])


# -- functions that are maximized


def at_all(task, x: Tensor) -> Tensor:
    """Repeat points (S, d) for every client, (S, m, d)."""
    return x.unsqueeze(1).expand(-1, task.m, -1)


def slopes(task, pair: Tensor) -> Tensor:
    """Return max_i

    grad f_i(x) - grad f_i(y)

    /

    x - y

    for pairs (S, 2, d).
    """
    x, y = (at_all(task, p) for p in pair.unbind(1))
    gap = (task.gradient(x) - task.gradient(y)).norm(dim=-1)
    return (gap / (x - y).norm(dim=-1).clamp_min(1e-6)).amax(-1)


def convexity(task, pair: Tensor) -> Tensor:
    """Return <grad f(x) - grad f(y), x - y> /

    x - y

    ^2 for pairs (S, 2, d).
    """
    x, y = pair.unbind(1)
    turned = task.global_gradient(x) - task.global_gradient(y)
    return (turned * (x - y)).sum(-1) / (x - y).square().sum(-1).clamp_min(1e-12)


def client_norms(task, x: Tensor) -> Tensor:
    """Return max_i

    grad f_i(x)

    at points x (S, d).
    """
    return task.gradient(at_all(task, x)).norm(dim=-1).amax(-1)


def heterogeneity(task, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return (root mean square, maximum) over clients of

    grad f_i(x) - grad f(x)

    at points x (S, d).
    """
    gradients = task.gradient(at_all(task, x))
    gaps = (gradients - gradients.mean(1, keepdim=True)).square().sum(-1)
    gaps = gaps.clamp_min(1e-24)  # the square root is not differentiable at 0
    return gaps.mean(-1).sqrt(), gaps.amax(-1).sqrt()


def diversity(task: Personal, x: Tensor) -> Tensor:
    """Return the root mean square over clients of grad_u F_i(u, v_i) minus their mean,
    at client 0's u.
    """
    g = task.gradient(common_u(task, x))[..., : task.d_u]
    return (
        (g - g.mean(1, keepdim=True)).square().sum(-1).mean(-1).clamp_min(1e-24).sqrt()
    )


def common_u(task: Personal, x: Tensor) -> Tensor:
    return torch.cat(
        [x[:, :1, : task.d_u].expand(-1, task.m, -1), x[..., task.d_u :]], -1
    )


def block_slope(task: Personal, of: slice, along: slice, pair: Tensor) -> Tensor:
    """(x, direction) -> max_i ||change of a block of grad F_i|| / ||step in a block||;
    pairs (S, 2, m, d).
    """
    x, step = pair.unbind(1)
    size = step[..., along].norm(dim=-1, keepdim=True).clamp_min(1e-12)
    moved = torch.zeros_like(x)
    moved[..., along] = 1e-3 * step[..., along] / size
    gap = task.gradient(x + moved) - task.gradient(x)
    return (gap[..., of].norm(dim=-1) / 1e-3).amax(-1)


# -- the attacks


def smoothness(task) -> float:
    return float(
        climb(lambda p: slopes(task, p), near_pairs(task), 120, 0.02, patience=120)[
            0
        ].max()
    )


def strong_convexity(task) -> float:
    pairs = torch.cat(
        [near_pairs(task), torch.stack([starts(task), -starts(task, seed=1)], 1)]
    )
    return -float(ascend(lambda p: -convexity(task, p), pairs, 400, 0.05).max())


def gradient_bound(task) -> float:
    return float(
        ascend(
            lambda x: client_norms(task, x), torch.cat([starts(task), special(task)])
        ).max()
    )


def spread(task, which: int) -> float:
    return float(
        ascend(
            lambda x: heterogeneity(task, x)[which], differing_points(task), 60, 0.02
        ).max()
    )


def drawn_noise(task, block: slice) -> float:
    """Estimate additive noise, which is the same everywhere, from draws."""
    xi = task.sample([torch.Generator().manual_seed(s) for s in range(5000)])
    return (
        0.0
        if xi is None
        else float(xi[..., block].square().sum(-1).mean(0).max().sqrt())
    )


def infimum(task) -> float:
    """Minimize f over x, or F over u and all v_i for two blocks, by descent."""
    if isinstance(task, Personal):

        def two_blocks(x: Tensor) -> Tensor:
            return -task.loss(common_u(task, x)).mean(-1)

        return -float(ascend(two_blocks, own_parts(task), 600, 0.05).max())
    if isinstance(task, Supervised):
        x = task.start(torch.Generator()).unsqueeze(0)
        for _ in range(100):
            x = x - 0.5 * task.global_gradient(x)
        return float(task.global_loss(x))
    return -float(ascend(lambda x: -task.global_loss(x), starts(task), 300, 0.05).max())


@functools.cache
def block_smoothness(task: Personal, of: int, along: int) -> float:
    parts = task.blocks
    x = own_parts(task)
    g = torch.Generator().manual_seed(5)
    pair = torch.stack([x, torch.randn(x.shape, generator=g, dtype=torch.float64)], 1)
    return float(
        ascend(
            lambda p: block_slope(task, parts[of], parts[along], p), pair, 120, 0.05
        ).max()
    )


def coupling(task: Personal) -> float:
    """Return chi^2 = max(L_uv, L_vu)^2 / (L_u L_v), with the attacks' values."""
    L_u, L_v, L_uv, L_vu = (
        block_smoothness(task, *b) for b in ((0, 0), (1, 1), (0, 1), (1, 0))
    )
    return max(L_uv, L_vu) / math.sqrt(L_u * L_v)


ATTACKS: dict[str, Callable[..., float]] = {
    "L": smoothness,
    "mu": strong_convexity,
    "sigma_l": lambda task: drawn_noise(task, slice(None)),
    "sigma_g": lambda task: spread(task, 0),
    "beta": lambda task: spread(task, 1),
    "B": gradient_bound,
    "f_star": infimum,
    "L_u": lambda task: block_smoothness(task, 0, 0),
    "L_v": lambda task: block_smoothness(task, 1, 1),
    "L_uv": lambda task: block_smoothness(task, 0, 1),
    "L_vu": lambda task: block_smoothness(task, 1, 0),
    "chi": coupling,
    "sigma_u": lambda task: drawn_noise(task, task.blocks[0]),
    "sigma_v": lambda task: drawn_noise(task, task.blocks[1]),
    "delta_u": lambda task: float(
        ascend(lambda x: diversity(task, x), own_parts(task), 300, 0.05).max()
    ),
}

FAR: dict[str, Callable[..., Tensor]] = {
    "sigma_g": lambda task: heterogeneity(task, 1e4 * starts(task))[0],
    "beta": lambda task: heterogeneity(task, 1e4 * starts(task))[1],
    "B": lambda task: client_norms(task, 1e4 * starts(task)),
}
"""Quantities that must grow far away, if a constant is claimed to be infinite."""
