"""Estimates of the two-block constants of partial personalization."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.tasks.estimate.constants import models_at, noises, smoothness
from dfltheory.tasks.estimate.estimates import (
    Effort,
    Estimate,
    Estimates,
    exact_at_points,
)
from dfltheory.tasks.estimate.hessian import HessianProduct
from dfltheory.tasks.task import Task


def blocks(task: Task, points: Tensor, **effort: Any) -> Estimates:
    """Estimate the two-block constants of a task at points (P, m, d) or (P, d).

    These are L_u, L_v, L_uv, L_vu, chi, sigma_u, sigma_v and delta_u.

    The smoothness constants are norms of blocks of the clients' Hessians, estimated by
    the Lanczos method (L_uv = L_vu by symmetry). delta_u, the root mean square over
    clients of grad_u F_i - grad_u F, is exact at the points. L_u_sample is L_u of each
    F_i(., v_i; xi), which SAM on the shared part needs (compare L_sample of
    :func:`along`).

    Parameters
    ----------
    task : Task
        Its ``shared`` block and the rest must not be empty.
    points : (P, m, d) or (P, d) tensor
        Each client's (u_i, v_i); u is set to the mean of the u_i.
    **effort
        Fields of :class:`~dfltheory.tasks.estimate.estimates.Effort`.
    """
    how, (u, v) = Effort(**effort), _positions(task)
    models = models_at(task, points, own=True)
    x = models.clone()
    x[..., u] = models[..., u].mean(1, keepdim=True)

    def cross(H: HessianProduct) -> tuple[HessianProduct, int]:
        """Return w -> H_vu H_uv w, whose norm is that of H_uv squared."""
        to_u, to_v = _block(H, u, v, task.d), _block(H, v, u, task.d)

        def product(w: Tensor) -> Tensor:
            return to_v(to_u(w))

        return product, len(v)

    def diagonal(rows: Tensor, H: HessianProduct) -> tuple[HessianProduct, int]:
        """Return w -> H w on the coordinates ``rows``."""
        return _block(H, rows, rows, task.d), len(rows)

    parts = {"L_u": partial(diagonal, u), "L_v": partial(diagonal, v), "L_uv": cross}
    norms = smoothness(task, x, parts, how)
    square = norms["L_uv"]
    low, high = math.sqrt(square.low), math.sqrt(square.high)
    for name in ("L_uv", "L_vu"):
        norms[name] = replace(square, name=name, value=low, low=low, high=high)
    estimates = list(norms.values())
    estimates += _chi(norms["L_u"], norms["L_v"], norms["L_uv"])
    gradients = torch.stack([task.gradient(point.unsqueeze(0))[0] for point in x])
    estimates += noises(task, x, gradients, {"sigma_u": u, "sigma_v": v}, how)
    shared = gradients[..., u].double()
    deviations = shared - shared.mean(1, keepdim=True)
    delta = float(deviations.square().sum(-1).mean(1).max().sqrt())
    estimates.append(exact_at_points("delta_u", delta, f"{len(x)} points"))
    return Estimates(estimates, task.constants)


def _chi(L_u: Estimate, L_v: Estimate, L_uv: Estimate) -> list[Estimate]:
    """Return the estimate of L_uv / sqrt(L_u L_v), if it is finite.

    The ends of a ratio use opposite ends of numerator and denominator.
    """
    if not L_u.low * L_v.low > 0:
        return []
    smallest_root = math.sqrt(L_u.low * L_v.low)
    largest_root = math.sqrt(L_u.high * L_v.high)
    return [
        replace(
            L_uv,
            name="chi",
            value=L_uv.low / smallest_root,
            low=L_uv.low / largest_root,
            high=L_uv.high / smallest_root,
        )
    ]


def _positions(task: Task) -> tuple[Tensor, Tensor]:
    """Return the coordinates of u and of v."""
    mask = torch.zeros(task.d, dtype=torch.bool, device=task.device)
    mask[slice(None) if task.shared is None else task.shared] = True
    if bool(mask.all()) or not bool(mask.any()):
        raise InputError(
            "two-block constants need a shared and a personal part, both with"
            " parameters"
        )
    return mask.nonzero().squeeze(1), (~mask).nonzero().squeeze(1)


def _block(H: HessianProduct, rows: Tensor, columns: Tensor, d: int) -> HessianProduct:
    """Return w -> (H w)[rows] for w supported on the coordinates ``columns``."""

    def product(w: Tensor) -> Tensor:
        full = w.new_zeros(d)
        full[columns] = w
        return H(full)[rows]

    return product
