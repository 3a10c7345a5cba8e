"""Quadratic clients f_i(x) = 1/2 (x - b_i)' A_i (x - b_i)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Unpack

import torch
from torch import Tensor

from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError
from dfltheory.tasks.noise import NoiseLike
from dfltheory.tasks.synthetic import NumbersLike, Placement, Synthetic, matrix


class Quadratic(Synthetic):
    """f_i(x) = 1/2 (x - b_i)' A_i (x - b_i), with grad F_i(x; xi) = A_i (x - b_i) + xi.

    Parameters
    ----------
    A : array or float
        Hessians [c s^-2]: symmetric (m, d, d), one for each client; (d, d) for a common
        one; (d,) for a common diagonal; or a number a for a * I. :meth:`diagonal` takes
        one diagonal for each client.
    b : (m, d) array
        The minimizers of the clients [s].
    noise : float, sequence of float, or Noise
        sigma_l, the exact root mean square of the Gaussian xi; one number per client;
        or a :class:`~dfltheory.tasks.noise.Noise` [c s^-1].
    dtype, device
        Type and device of all tensors.

    Notes
    -----
    Every constant is exact: L = max_i ||A_i||, mu = lambda_min of the mean Hessian, f*
    = f(x*). If all Hessians are equal, the heterogeneity ||grad f_i(x) - grad f(x)||
    does not depend on x, so sigma_g and beta are finite; otherwise their suprema over
    all x are infinite.

    Raises
    ------
    InputError
        If f has no minimum (the mean Hessian has a negative eigenvalue, or f decreases
        linearly along its null space).
    """

    name = "quadratic"

    def __init__(
        self,
        A: NumbersLike,
        b: NumbersLike,
        noise: NoiseLike = 0.0,
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        _diagonal: bool = False,
    ):
        b = matrix(b, "b")
        m, d = b.shape
        super().__init__(m, d, noise, dtype=dtype, device=device)
        self.b = self._tensor(b, "b")
        self.A = self._hessians(self._tensor(A, "A"), _diagonal)
        _ = self.x_star  # raises InputError now if there is no minimum

    @classmethod
    def diagonal(
        cls,
        h: NumbersLike,
        b: NumbersLike,
        noise: NoiseLike = 0.0,
        **options: Unpack[Placement],
    ) -> Quadratic:
        """Return the problem with A_i = diag(h_i), h (m, d) or (1, d)."""
        return cls(h, b, noise, _diagonal=True, **options)

    def _hessians(self, A: Tensor, diagonal: bool) -> Tensor:
        """Return A as diagonals (m or 1, d), or as matrices (m or 1, d, d)."""
        m, d = self.m, self.d
        if diagonal:
            if A.shape not in ((m, d), (1, d)):
                raise InputError(
                    f"h has shape {tuple(A.shape)}: pass ({m}, {d}) or (1, {d})"
                )
            return A
        if A.ndim <= 1:
            if A.shape not in ((), (d,)):
                raise InputError(
                    f"a common diagonal of shape {tuple(A.shape)} does not fit d = {d}"
                )
            return A.expand(1, d)
        if A.shape not in ((d, d), (1, d, d), (m, d, d)):
            raise InputError(
                f"A has shape {tuple(A.shape)}: pass ({m}, {d}, {d}), ({d}, {d}),"
                f" ({d},) or a number (one diagonal for each client:"
                " Quadratic.diagonal)"
            )
        A = A.reshape(-1, d, d)
        skew = (A - A.mT).abs().amax(dim=(1, 2))
        i = int(skew.argmax())
        tolerance = 1e-10 * float(A[i].abs().max())
        if float(skew[i]) > tolerance:
            raise InputError(
                f"A of client {i} differs from its transpose by {float(skew[i]):.3g}"
                f" (tolerance {tolerance:.3g}): pass (A + A') / 2, which has the same f"
            )
        return (A + A.mT) / 2

    @property
    def is_diagonal(self) -> bool:
        """Whether the Hessians are stored as diagonals."""
        return self.A.ndim == 2

    @cached_property
    def common_hessian(self) -> bool:
        """Whether all clients have the same Hessian, bit for bit."""
        return torch.equal(self.A, self.A[:1].expand_as(self.A))

    # -- the functions

    def client_gradient(self, x: Tensor) -> Tensor:
        """Return grad f_i(x_i): (..., m, d) -> (..., m, d)."""
        return self._times(x - self.b)

    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i(x_i): (..., m, d) -> (..., m)."""
        return ((x - self.b) * self.client_gradient(x)).sum(-1) / 2

    def global_loss_and_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return f and grad f at points x (S, d)."""
        deviation = x.unsqueeze(-2) - self.b
        gradient = self._times(deviation)
        losses = (deviation * gradient).sum(-1).mul_(0.5)
        return losses.mean(-1), gradient.mean(-2)

    def hessian(self, x: Tensor) -> Tensor:
        """Return the Hessian of f_i at x_i: (..., m, d) -> (..., m, d, d)."""
        A = torch.diag_embed(self.A) if self.is_diagonal else self.A
        return A.expand(*x.shape[:-2], self.m, self.d, self.d)

    def _times(self, r: Tensor) -> Tensor:
        """Return A_i r_i for r (..., m, d)."""
        if self.is_diagonal:
            return self.A * r
        if self.A.shape[0] == 1:
            return r @ self.A[0]
        if r.ndim != 3:
            return self._times(r.reshape(-1, self.m, self.d)).reshape(r.shape)
        # clients first: bit-identical to einsum, but faster
        return torch.bmm(r.transpose(0, 1), self.A.mT).transpose(0, 1)

    # -- minimum and constants

    @property
    def x_star(self) -> Tensor:
        """The minimizer of f (d,); the one of smallest norm if there are several."""
        return self._minimizer[0].to(self.dtype)

    @cached_property
    def _minimizer(self) -> tuple[Tensor, float]:
        """x* in float64, and the smallest nonzero eigenvalue of the mean Hessian.

        Computed relative to b_1, so that a common offset of all b_i cancels exactly.
        """
        mean, origin = self.A.mean(0, dtype=torch.float64), self.b[0].double()
        pull = self._mean_in_double(self.b.double() - origin)
        largest, eps = float(self.A.abs().max()), torch.finfo(self.dtype).eps
        eps_double = torch.finfo(torch.float64).eps
        if self.is_diagonal:
            values, vectors = mean, None
            entry_error, decomposition_error = eps * largest, 100 * eps_double * largest
        else:
            values, vectors = torch.linalg.eigh(mean)
            norms = torch.linalg.vector_norm(self.A, dim=(1, 2), dtype=torch.float64)
            entry_error = eps * norms.mean()
            decomposition_error = 100 * self.d * eps_double * largest
        rotated = pull if vectors is None else vectors.mT @ pull
        # Eigenvalues up to the rounding error of the entries and of the decomposition
        # are treated as zero.
        null = values.abs() <= entry_error + decomposition_error
        if bool((values[~null] < 0).any()):
            raise InputError(
                "f has no minimum: the mean Hessian has the eigenvalue"
                f" {float(values.min()):.6g} < 0"
            )
        slope = float(rotated[null].norm()) if bool(null.any()) else 0.0
        largest_b = max(float(self.b.abs().max()), 1e-300)
        if slope > 1e4 * self.d * eps * largest * largest_b:
            raise InputError(
                f"f has no minimum: it falls with slope {slope:.3g} along the null"
                " space of the mean Hessian"
            )
        smallest = math.inf if bool(null.all()) else float(values[~null].min())
        deviation = rotated / values.masked_fill(null, 1.0)
        if not bool(null.any()):
            return origin + _rotated_back(deviation, vectors), smallest
        rotated_origin = origin if vectors is None else vectors.mT @ origin
        solution = rotated_origin + deviation
        solution = torch.where(null, torch.zeros_like(solution), solution)
        return _rotated_back(solution, vectors), smallest

    @cached_property
    def f_star(self) -> float:
        """The minimum f(x*), computed in float64 so that no f(x) is below it."""
        offsets = self._minimizer[0] - self.b.double()
        total = 0.0
        for A, r in self._few_clients(offsets):
            total += float((r * self._in_double(A, r)).sum())
        return total / (2 * self.m)

    def _mean_in_double(self, values: Tensor) -> Tensor:
        """Return the mean of A_i values_i over the clients, (d,) in float64."""
        total = torch.zeros_like(values[0])
        for A, rows in self._few_clients(values):
            total = total + self._in_double(A, rows).sum(0)
        return total / self.m

    def _few_clients(self, values: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield Hessians and rows of ``values`` (m, d) in blocks, to limit memory."""
        if len(self.A) == 1:
            yield self.A, values
        else:
            few = max(1, 10**6 // self.A[0].numel())
            yield from zip(self.A.split(few), values.split(few), strict=True)

    def _in_double(self, A: Tensor, r: Tensor) -> Tensor:
        """Return A_i r_i in float64."""
        if self.is_diagonal:
            return A.double() * r
        return (A.double() @ r.unsqueeze(-1)).squeeze(-1)

    def excess(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return f(x) - f* = 1/2 (x - x*)' A (x - x*), where A is the mean Hessian.

        This formula has no cancellation. x* satisfies A x* = mean A_i b_i up to r = eps
        d L (||x*|| + max_i ||b_i||), and x, a mean, is accurate up to p = eps' ||x||
        with eps' of the task's precision. The error is therefore at most ||x - x*|| (r
        + L p) + r^2 / (2 lambda) + L p^2 / 2, where lambda is the smallest nonzero
        eigenvalue of A, plus a relative error of eps d.
        """
        norm = torch.linalg.vector_norm
        x_star, smallest = self._minimizer
        A, deviation = self.A.mean(0, dtype=torch.float64), x.double() - x_star
        gradient = deviation * A if self.is_diagonal else deviation @ A
        gap = (deviation * gradient).sum(-1) / 2
        largest = float(self.A.abs().max())
        L = largest if self.is_diagonal else largest * self.d
        eps = self.d * torch.finfo(torch.float64).eps
        largest_b = norm(self.b.double(), dim=-1).max()
        r = eps * L * float(norm(x_star) + largest_b)
        p = (eps + torch.finfo(self.dtype).eps) * norm(x.double(), dim=-1)
        linear_error = norm(deviation, dim=-1) * (r + L * p)
        square_error = r * r / (2 * smallest)
        return gap, linear_error + square_error + L * p**2 / 2 + eps * gap

    @cached_property
    def zeta(self) -> float:
        """Heterogeneity sqrt((1/m) sum_i ||grad f_i(x*)||^2) at the optimum."""
        if self.common_hessian:
            return float(self.gradient_deviations.square().sum(-1).mean().sqrt())
        gradients = self.client_gradient(self._at_every_client(self.x_star))
        return float(gradients.square().sum(-1).mean().sqrt())

    @cached_property
    def gradient_deviations(self) -> Tensor:
        """Deviations grad f_i(x) - grad f(x) if all Hessians are equal, (m, d).

        They are in float64 and do not depend on x. They are computed from differences
        of the b_i, so that a common offset cancels exactly and identical clients have
        deviation 0.
        """
        deviation = self.b.double() - self.b[0].double()
        return self._in_double(self.A[:1], deviation - deviation.mean(0))

    @cached_property
    def constants(self) -> ProblemConstants:
        """The exact constants of this problem."""
        # eigvalsh does not support half precision
        at_least_single = torch.promote_types(self.dtype, torch.float32)
        mean = self.A.mean(0, dtype=torch.float64)
        if self.is_diagonal:
            spectrum, mu = self.A, mean.min()
        else:
            spectrum = torch.linalg.eigvalsh(self.A.to(at_least_single))
            mu = torch.linalg.eigvalsh(mean)[0]
        sigma_g = beta = math.inf
        if self.common_hessian:
            squares = self.gradient_deviations.square().sum(-1)
            sigma_g = float(squares.mean().sqrt())
            beta = float(squares.max().sqrt())
        L = float(spectrum.abs().max())
        return ProblemConstants(
            L=L,
            mu=max(float(mu), 0.0),  # of a singular Hessian it is negative by rounding
            sigma_l=self.noise.sigma,
            sigma_g=sigma_g,
            beta=beta,
            B=0.0 if L == 0 else math.inf,
            f_star=self.f_star,
        )


def _rotated_back(z: Tensor, vectors: Tensor | None) -> Tensor:
    """Return the vector with coordinates z in a basis; None: the unit vectors."""
    return z if vectors is None else vectors @ z


__all__ = ["Quadratic"]
