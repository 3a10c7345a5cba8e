"""Single problems of :class:`.Ramps` or :class:`.Splits` as tasks of the training core.

The tasks share no code with the simulation of candidates, which they check
independently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.constants import ProblemConstants
from dfltheory.counterexamples.ramps import Ramps, name_of_task
from dfltheory.counterexamples.splits import Splits
from dfltheory.errors import InputError
from dfltheory.tasks.noise import FiniteSupport
from dfltheory.tasks.personal import Personal
from dfltheory.tasks.synthetic import Synthetic

NumberRow = Sequence[float]


def _two_point_noise(sigma: float) -> FiniteSupport | float:
    """Two-point noise: +sigma or -sigma, each with probability 1/2."""
    if sigma < 0:
        raise InputError(f"sigma = {sigma} must be >= 0")
    return FiniteSupport.signs(sigma, [1.0]) if sigma else 0.0


class RampTask(Synthetic):
    """A single problem of :class:`Ramps` (d = 1), with a ``curve``.

    Its noise takes the values +-sigma. With ``led`` the noise is xi s(x), where xi =
    +-1 with probability 1/2 each, and s is the sum of ramps that ``led`` lists: knots,
    widths, slopes, and (left,). Then sigma must be the largest |s|. Such sample losses
    F_i(.; xi) are less smooth than f_i, so no sigma_l is reported: most theorems assume
    that samples are as smooth as the clients.
    """

    name = "ramps"

    def __init__(
        self,
        knots: Sequence[NumberRow],
        widths: Sequence[NumberRow],
        slopes: Sequence[NumberRow],
        left: NumberRow,
        sigma: float = 0.0,
        led: Sequence[NumberRow] = (),
        curve: float = 0.0,
    ):
        self.problem = Ramps.one(knots, widths, slopes, left, curve=curve)
        self.sigmas = (sigma,)
        self.led: Ramps | None = None
        self._curve = float(curve)
        if led:
            if len(led) != 4 or len(led[3]) != 1:
                raise InputError(
                    "led must list knots, widths and slopes of ramps, and the one value"
                    " to the left of all ramps"
                )
            self.led = Ramps.one([led[0]], [led[1]], [led[2]], led[3])
            largest = float(self.led.constants()["B"][0])
            if not sigma or abs(largest - sigma) > 1e-9 * sigma:
                raise InputError(
                    f"sigma = {sigma} must be the largest |s| of led, {largest:g}"
                )
        super().__init__(
            self.problem.m, 1, _two_point_noise(sigma and 1.0 if led else sigma)
        )
        problem = self.problem
        self._left = torch.as_tensor(problem.left[0])
        self._ramps = [
            torch.as_tensor(array[0])
            for array in (problem.knots, problem.widths, problem.slopes)
        ]

    @cached_property
    def constants(self) -> ProblemConstants:
        """Return the problem's constants; B is None if it is infinite.

        sigma_l is None if the noise is ``led``.
        """
        known = {
            name: float(value[0]) for name, value in self.problem.constants().items()
        }
        known.pop("mu_each")  # which theorems are given
        if not np.isfinite(known["B"]):
            known.pop("B")
        sigma_l = self.noise.sigma if self.led is None else None
        return replace(ProblemConstants(sigma_l=sigma_l), **known)

    @cached_property
    def x_star(self) -> Tensor | None:
        """The minimizer (1,) of f; None without a curve, as it need not be unique."""
        return (
            torch.as_tensor(self.problem.minimizer(np.zeros(1)))
            if self._curve
            else None
        )

    def gradient(self, x: Tensor, batch: Tensor | None = None) -> Tensor:
        """Return the gradients at ``x``, with the noise of the ``batch``.

        With ``led``, ``batch`` holds the signs xi that multiply s(x).
        """
        if batch is None or self.led is None:
            return super().gradient(x, batch)
        return self.client_gradient(x) + batch * torch.as_tensor(
            self.led.gradient(x.numpy()[None])[0]
        )

    def client_gradient(self, x: Tensor) -> Tensor:
        """Return f_i' of all clients, each at its own model."""
        knots, widths, slopes = self._ramps
        inside = torch.minimum((x - knots).clamp(min=0), widths)
        return (
            self._left.unsqueeze(-1)
            + (slopes * inside).sum(-1, keepdim=True)
            + self._curve * x
        )

    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i of all clients, the integral of f_i' from 0 on each ramp."""
        knots, widths, slopes = self._ramps
        reach = (x - knots).clamp(min=0)
        inside = torch.minimum(reach, widths)
        area = inside**2 / 2 + widths * (reach - inside)
        return (
            self._left * x[..., 0]
            + (slopes * area).sum(-1)
            + self._curve * x[..., 0] ** 2 / 2
        )

    def hessian(self, x: Tensor) -> Tensor:
        """Return f_i'' of all clients: slope of the ramps at ``x``, plus the curve."""
        knots, widths, slopes = self._ramps
        inside = (x >= knots) & (x < knots + widths)
        return (slopes * inside).sum(-1)[..., None, None] + self._curve


class SplitTask(Personal):
    """A single problem of :class:`Splits`: one shared and one personal coordinate.

    Both blocks have Gaussian noise.
    """

    name = "split"

    def __init__(
        self,
        knots: Sequence[NumberRow],
        widths: Sequence[NumberRow],
        slopes: Sequence[NumberRow],
        left: NumberRow,
        b: NumberRow,
        h: float,
        k: float,
        p: float = 1.0,
        q: float = 1.0,
        sigma_u: float = 0.0,
        sigma_v: float = 0.0,
    ):
        self.body = RampTask(knots, widths, slopes, left)
        self.problem = Splits.one(knots, widths, slopes, left, b, h, k, p, q)
        self.sigmas = (sigma_u, sigma_v)
        super().__init__(self.body.m, 1, 1, sigma_u, sigma_v)
        self._b = torch.as_tensor(self.problem.b[0])
        self._hkpq = float(h), float(k), float(p), float(q)

    @cached_property
    def constants(self) -> ProblemConstants:
        """Return the problem's constants with the noise of both blocks."""
        known = {name: float(v[0]) for name, v in self.problem.constants().items()}
        noise = ProblemConstants(
            sigma_l=self.noise.sigma,
            sigma_u=self.block_noise.sigma_u,
            sigma_v=self.block_noise.sigma_v,
        )
        return replace(noise, **known)

    def client_loss(self, x: Tensor) -> Tensor:
        """Return F_i(u, v) of all clients: ramps, parabola and coupling."""
        (h, k, p, q), u, v = self._hkpq, x[..., 0], x[..., 1]
        wave = k * (p * u).sin() * (q * v).sin()
        return self.body.client_loss(x[..., :1]) + h / 2 * (v - self._b) ** 2 + wave

    def client_gradient(self, x: Tensor) -> Tensor:
        """Return the gradients of F_i in u and in v, stacked on the last axis."""
        (h, k, p, q), u, v = self._hkpq, x[..., 0], x[..., 1]
        ramps = self.body.client_gradient(x[..., :1])[..., 0]
        body = ramps + k * p * (p * u).cos() * (q * v).sin()
        head = h * (v - self._b) + k * q * (p * u).sin() * (q * v).cos()
        return torch.stack([body, head], dim=-1)

    def hessian(self, x: Tensor) -> Tensor:
        """Return the 2 x 2 second derivatives of F_i in (u, v)."""
        (h, k, p, q), u, v = self._hkpq, x[..., 0], x[..., 1]
        same = -k * (p * u).sin() * (q * v).sin()
        cross = k * p * q * (p * u).cos() * (q * v).cos()
        body = self.body.hessian(x[..., :1])[..., 0, 0] + p**2 * same
        head = h + q**2 * same
        shared_row = torch.stack([body, cross], -1)
        personal_row = torch.stack([cross, head], -1)
        return torch.stack([shared_row, personal_row], -2)


Ramps.task, Splits.task = RampTask, SplitTask
TASKS = {name_of_task(task): task for task in (RampTask, SplitTask)}
"""Tasks of counterexamples, by the name in a document."""


def task_of(described: Mapping[str, Any]) -> RampTask | SplitTask:
    """Return the task with these fields, one of which is its name."""
    fields = {name: value for name, value in described.items() if name != "name"}
    return TASKS[described["name"]](**fields)


def has_exact_expectation(task: RampTask | SplitTask) -> bool:
    """Return whether the expectation of runs is known.

    It is without noise, with ``led`` noise, and if gradients are affine.
    """
    is_led = isinstance(task, RampTask) and task.led is not None
    return is_led or not any(task.sigmas) or task.problem.affine


__all__ = ["TASKS", "RampTask", "SplitTask", "has_exact_expectation", "task_of"]
