"""Random quadratic clients with prescribed constants."""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor

from dfltheory.errors import InputError, checked_name, whole_number
from dfltheory.number_ranges import NonnegativeFloat, PositiveFloat, PositiveInt
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.tasks.sizes import refuse_beyond_memory
from dfltheory.tasks.synthetic import of_size

Hessians = Literal["common", "diagonal", "commuting", "random"]


def quadratic(
    m: PositiveInt = 16,
    d: PositiveInt = 10,
    L: PositiveFloat = 1.0,
    mu: NonnegativeFloat = 0.1,
    zeta: NonnegativeFloat | None = None,
    sigma: NonnegativeFloat = 0.1,
    seed: int = 0,
    *,
    hessians: Hessians = "common",
    distance: NonnegativeFloat = 1.0,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Quadratic:
    """Return a random :class:`Quadratic` with prescribed constants (up to rounding).

    Parameters
    ----------
    m, d : int
        Numbers of clients and parameters.
    L, mu : float
        max_i ||A_i|| and the smallest eigenvalue of the mean Hessian, 0 <= mu <= L
        [c s^-2].
    zeta : float, optional
        sqrt((1/m) sum_i ||grad f_i(x*)||^2), by default 1 (0 if m = 1); sigma_g = zeta
        if the Hessians are equal [c s^-1].
    sigma : float
        sigma_l, the root mean square of the gradient noise [c s^-1].
    seed : int
        Seed of Hessians and minimizers.
    hessians : {"common", "diagonal", "commuting", "random"}
        ``common``: one Hessian with evenly spaced eigenvalues from mu to L and random
        eigenvectors. ``diagonal``: the same along the axes; O(m d) memory, for high
        dimensions. ``commuting``: each client has its own eigenvalues, with common
        eigenvectors. ``random``: the eigenvectors differ, too, except one of the
        eigenvalue mu, so that two-dimensional Hessians commute.
    distance : float
        ||x*||, the distance of the default start 0 from the optimum [s].
    dtype, device
        Type and device of all tensors.

    Raises
    ------
    InputError
        If constants contradict each other, or the task exceeds this machine's memory.
    """
    m = whole_number("m", m, at_least=1)
    d = whole_number("d", d, at_least=1)
    if zeta is None:
        zeta = 1.0 if m > 1 else 0.0
    if not (0 <= mu <= L and 0 < L < math.inf):
        raise InputError(
            f"the constants must satisfy 0 <= mu <= L and 0 < L, not mu = {mu}, L = {L}"
        )
    if d == 1 and mu != L:
        raise InputError(
            f"in dimension 1 the Hessian is one number, so mu = {mu} must equal L ="
            f" {L}; otherwise use d >= 2"
        )
    checked_name("kind of hessians", hessians, get_args(Hessians))
    for name, value in (("zeta", zeta), ("distance", distance)):
        if not 0 <= value < math.inf:
            raise InputError(f"{name} = {value} must be a number >= 0")
    if m == 1 and zeta:
        raise InputError(
            "a single client has no heterogeneity: zeta must be 0 for m = 1"
        )
    entries = {"common": d * d, "diagonal": d}.get(hessians, m * d * d)
    advice = 'use hessians="diagonal", or a smaller d'
    refuse_beyond_memory("quadratic", m * d + entries, advice, m=m, d=d)
    g = torch.Generator().manual_seed(seed)
    A = _random_hessians(m, d, L, mu, hessians, g)
    pull = torch.zeros(m, d, dtype=torch.float64)
    if m > 1:
        pull = torch.randn(m, d, generator=g, dtype=torch.float64)
    pull = pull - pull.mean(0)
    x_star = torch.randn(d, generator=g, dtype=torch.float64)
    # no gradient may have a component along the first eigenvector, where all f_i are
    # constant
    if mu == 0:
        flat = _first_eigenvector(A)
        pull = pull - (pull @ flat)[:, None] * flat
        x_star = x_star - (x_star @ flat) * flat
    pull = of_size(pull, zeta)
    b = of_size(x_star[None], distance) - _solve(A, pull)
    build = Quadratic.diagonal if A.ndim == 2 else Quadratic
    return build(A, b, sigma, dtype=dtype, device=device)


def _first_eigenvector(A: Tensor) -> Tensor:
    """Return the eigenvector of the smallest eigenvalue of the mean Hessian."""
    if A.ndim == 2:
        return torch.eye(A.shape[-1], dtype=torch.float64)[0]
    return torch.linalg.eigh(A.mean(0)).eigenvectors[:, 0]


def _solve(A: Tensor, pull: Tensor) -> Tensor:
    """Return the minimum-norm solutions of A_i offset_i = pull_i.

    The A_i are diagonals or matrices.
    """
    if A.ndim == 2:
        return torch.where(A > 0, pull / A.clamp_min(1e-300), torch.zeros_like(pull))
    rtol = 100 * A.shape[-1] * torch.finfo(A.dtype).eps
    inverses = torch.linalg.pinv(A, hermitian=True, rtol=rtol)
    return (inverses @ pull.unsqueeze(-1)).squeeze(-1)


def _random_hessians(
    m: int, d: int, L: float, mu: float, kind: Hessians, g: torch.Generator
) -> Tensor:
    """Return Hessians (m or 1, d, d) with max_i ||A_i|| = L and eigenvalues >= mu.

    They share an eigenvector with eigenvalue mu. For ``diagonal``, only the diagonal
    (1, d) is returned.
    """
    if kind in ("common", "diagonal") or d == 1:
        even = torch.linspace(mu, L, d, dtype=torch.float64).unsqueeze(0)
        return even if kind == "diagonal" else _rotate(even, _rotation(d, g))
    values = mu + (L - mu) * torch.rand(m, d, generator=g, dtype=torch.float64)
    values[:, 0], values[0, -1] = mu, L
    basis = _rotation(d, g)
    if kind == "commuting":
        return _rotate(values, basis)
    one = torch.ones(1, 1, dtype=torch.float64)
    rotations = [torch.block_diag(one, _rotation(d - 1, g)) for _ in range(m)]
    return _rotate(values, basis @ torch.stack(rotations))


def _rotation(d: int, g: torch.Generator) -> Tensor:
    """Return a random orthogonal matrix."""
    Q, _ = torch.linalg.qr(torch.randn(d, d, generator=g, dtype=torch.float64))
    return Q


def _rotate(values: Tensor, vectors: Tensor) -> Tensor:
    """Return the symmetric matrices with these eigenvalues and eigenvectors."""
    A = (vectors * values.unsqueeze(-2)) @ vectors.mT
    return (A + A.mT) / 2


__all__ = ["quadratic"]
