"""Problems with objectives in closed form, so that their constants can be known."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dfltheory.errors import InputError, whole_number
from dfltheory.tasks.noise import NoiseLike, as_noise
from dfltheory.tasks.task import Task

NumbersLike = ArrayLike | Tensor
"""A tensor, an array, nested sequences of numbers, or one number."""


class Placement(TypedDict, total=False):
    """Options of every synthetic task: the type and device of its tensors."""

    dtype: torch.dtype
    device: torch.device | str


def full_precision(value: NumbersLike) -> Tensor:
    """Convert a value to a tensor in full precision.

    The conversion uses numpy, because torch rounds Python floats to float32.
    """
    try:
        return (
            value if isinstance(value, Tensor) else torch.as_tensor(np.asarray(value))
        )
    except (TypeError, ValueError):
        raise InputError(
            f"a {type(value).__name__} is not an array of numbers: {value!r:.60}"
        ) from None


def matrix(value: NumbersLike, name: str) -> Tensor:
    """Convert a value to a tensor (m, k), with one row for each client."""
    rows = full_precision(value)
    if rows.ndim != 2:
        raise InputError(
            f"{name} has shape {tuple(rows.shape)}: it must be (m, d), one row for each"
            " client"
        )
    return rows


def of_size(deviations: Tensor, size: float) -> Tensor:
    """Scale vectors (m, d) to the given root mean square norm over clients."""
    now = float(deviations.square().sum(-1).mean().sqrt())
    return deviations * (size / now if now > 0 else 0.0)


class Synthetic(Task[Tensor]):
    """A task with f_i in closed form and additive noise: F_i(x; xi) = f_i(x) + <xi, x>.

    Subclasses define :meth:`client_loss` and :meth:`client_gradient` for points (...,
    m, d). The minibatch of a step is the tensor xi (S, m, d) itself, or None if there
    is no noise.

    Parameters
    ----------
    m, d : int
        Numbers of clients and parameters, >= 1.
    noise : float, sequence of float, or Noise
        Root mean square of Gaussian xi, one number or one per client; or a
        :class:`~dfltheory.tasks.noise.Noise`.
    dtype, device
        Type and device of all tensors.
    """

    def __init__(
        self,
        m: int,
        d: int,
        noise: NoiseLike = 0.0,
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ):
        self.m = whole_number("m", m, at_least=1)
        self.d = whole_number("d", d, at_least=1)
        if not dtype.is_floating_point:
            raise InputError(
                f"dtype = {dtype} must be a floating-point type such as torch.float64"
            )
        self.dtype = dtype
        self.device = torch.device(device)
        self.noise = as_noise(noise)
        self.noise.check(m, d)
        self._like = torch.empty(0, dtype=dtype, device=self.device)

    @abc.abstractmethod
    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i(x_i): (..., m, d) -> (..., m)."""

    @abc.abstractmethod
    def client_gradient(self, x: Tensor) -> Tensor:
        """Return grad f_i(x_i): (..., m, d) -> (..., m, d)."""

    def hessian(self, x: Tensor) -> Tensor:
        """Return the Hessian of f_i at x_i: (..., m, d) -> (..., m, d, d).

        At a kink, this is the Hessian on one side.
        """
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            # f_i depends on x_i only
            slopes = self.client_gradient(x).sum(tuple(range(x.ndim - 1)))
            each = (
                torch.autograd.grad(s, x, retain_graph=True, materialize_grads=True)[0]
                for s in slopes
            )
            return torch.stack(list(each), -2)

    def global_hessian(self, x: Tensor) -> Tensor:
        """Return the Hessian of f at points (..., d) -> (..., d, d)."""
        return self.hessian(self._at_every_client(x)).mean(-3)

    def sample(self, generators: Sequence[torch.Generator]) -> Tensor | None:
        """Draw xi for each seed and client."""
        return self.noise.sample(generators, self.m, self.d, self._like)

    def gradient(self, x: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return the gradients at stacked models."""
        gradient = self.client_gradient(x)
        return gradient if batch is None else gradient + batch

    def loss(self, x: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return the losses (S, m) at stacked models."""
        loss = self.client_loss(x)
        return loss if batch is None else loss + (batch * x).sum(-1)

    def _tensor(self, value: NumbersLike, name: str) -> Tensor:
        """Convert a value to a finite tensor of this task's dtype and device."""
        tensor = full_precision(value)
        if tensor.is_complex():
            raise InputError(f"{name} is complex: use real numbers")
        tensor = tensor.to(dtype=self.dtype, device=self.device)
        if not bool(tensor.isfinite().all()):
            raise InputError(f"{name} has an entry that is not finite")
        return tensor
