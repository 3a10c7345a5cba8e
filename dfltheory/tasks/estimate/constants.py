"""The constants that theorems need, measured at points, each with its interval.

A smoothness constant, a noise level or a heterogeneity is a supremum over all of R^d
(or over what a proof visits). Points can only bound it from below: ``low`` is always
such a bound (with the stated confidence), ``high`` bounds the largest value over the
points that were looked at, and nothing is said of other points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.confidence import half_widths, upper_limits
from dfltheory.constants import ProblemConstants, Standing
from dfltheory.errors import InputError, whole_number
from dfltheory.tasks.estimate.hessian import Product, hessian_product
from dfltheory.tasks.estimate.spectrum import extremes, hessian_extremes
from dfltheory.tasks.task import Task

Bracket = tuple[float, float]
"""A lower and an upper bound of a norm."""

OFF = "points off the trajectory"
"""What no estimate has looked at."""


@dataclass(frozen=True)
class Estimate:
    """One constant: its estimate and what is known of it.

    ``low`` <= the constant, and the largest value over the sampled points <= ``high``,
    with probability at least ``confidence`` over the draws of the estimator (1: it
    draws nothing).
    """

    name: str
    value: float
    low: float
    high: float
    confidence: float
    sampled: str
    not_sampled: str

    def __str__(self) -> str:
        """Return the text for people."""
        level = "" if self.confidence == 1 else f" ({self.confidence:.0%})"
        return (
            f"{self.name} = {self.value:.6g} in [{self.low:.6g},"
            f" {self.high:.6g}]{level}: {self.sampled}"
        )


class Estimates(dict[str, Estimate]):
    """Estimates by the glossary's names."""

    def __init__(self, found: Iterable[Estimate], known: ProblemConstants):
        super().__init__((e.name, e) for e in found)
        self._known = known

    def __str__(self) -> str:
        """Return the text for people."""
        return "\n".join(str(e) for e in self.values())

    def constants(self, sample_wise: bool = True) -> ProblemConstants:
        """Return the values as a task's constants, marked ``estimate``.

        What the task knew by proof is kept.

        ``L`` (and ``L_u``) is that of every F_i(.; xi), as it is of the tasks whose
        minibatches have proved constants: with rho > 0 the theorems need it, and it
        serves the others. ``sample_wise=False``: of the f_i only.
        """
        values = self._known.known()
        standing: dict[str, Standing] = dict(self._known.standing)
        for name, estimate in self.items():
            if name in ProblemConstants.__dataclass_fields__ and name not in values:
                values[name], standing[name] = estimate.value, "estimate"
        for name in ("L", "L_u") if sample_wise else ():
            if standing.get(name) == "estimate" and f"{name}_sample" in self:
                values[name] = self[f"{name}_sample"].value
        return ProblemConstants(**values, standing=standing)


@dataclass(frozen=True)
class Effort:
    """How far an estimate looks.

    ``draws`` minibatches for each noise, ``steps`` of Lanczos' method for each norm of
    a Hessian, of these ``clients`` (None: all) and of ``minibatches`` random
    minibatches of each, too; ``confidence`` of an interval; ``seed`` of all
    random numbers.
    """

    draws: int = 64
    steps: int = 30
    clients: Sequence[int] | None = None
    minibatches: int = 1
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.draws < 2:
            raise InputError(f"a variance needs at least 2 draws, not {self.draws}")
        whole_number("minibatches", self.minibatches, at_least=0)


def along(
    task: Task, points: Tensor, *, curvature_points: int = 3, **effort: Any
) -> Estimates:
    """Estimate the constants of a task at points (P, d) of a trajectory.

    They are L, L_sample, sigma_l, sigma_g, beta, B and f0_gap.

    ``effort``: see :class:`Effort`.

    L
        the largest ||Hessian of f_i|| over ``clients`` (by default all) at
        ``curvature_points`` of the points, spread evenly, by ``steps`` Lanczos steps;
        and the largest slope of grad f_i between neighbouring points.
    L_sample
        the smoothness of every F_i(.; xi), which the theorems assume where rho > 0: the
        same of ``minibatches`` random minibatches for each client and point too; 0: not
        asked for. Minibatches that were not drawn may be rougher (drawn with
        replacement, the roughest is a single example again and again).
    sigma_l
        the largest root mean square of grad F_i(x; xi) - grad f_i(x), from ``draws``
        minibatches at every point and client, with the interval of
        :func:`interval_of_noise`.
    sigma_g, beta, B
        exact at the points: root mean square and maximum over clients of ||grad f_i -
        grad f||, and max_i ||grad f_i||.
    f0_gap
        f at the first point less f*: at most f(x^0) less the known lower bound of f, at
        least f(x^0) less the smallest f that was seen.
    """
    how, models = Effort(**effort), models_at(task, points)
    points = models[:, 0]
    # (P, m, d)
    gradients = torch.stack([task.gradient(x.unsqueeze(0))[0] for x in models])
    where = f"exact at {len(points)} points, {task.m} clients"
    # (P, m)
    gaps = (gradients - gradients.mean(1, keepdim=True)).double().square().sum(-1)
    exact = {
        "sigma_g": float(gaps.mean(1).max().sqrt()),
        "beta": float(gaps.max().sqrt()),
        "B": float(gradients.double().norm(dim=-1).max()),
    }

    def whole(H: Product) -> tuple[Product, int]:
        return H, task.d

    last, count = len(points) - 1, max(1, min(curvature_points, len(points)))
    found = smoothness(
        task,
        models,
        {"L": whole},
        how,
        places=sorted({round(k * last / max(count - 1, 1)) for k in range(count)}),
        at_least=_steepest_turn(points, gradients),
        words=f", slopes between {len(points)}",
    )
    noise = noises(task, points, gradients, {"sigma_l": slice(None)}, how)
    at_points = [
        Estimate(name, value, value, value, 1.0, where, OFF)
        for name, value in exact.items()
    ]
    return Estimates(
        [*found.values(), *noise, *at_points, *_gap(task, points)], task.constants
    )


def pilot(
    task: Task,
    steps: int = 40,
    keep: int = 5,
    start: Tensor | None = None,
    seed: int = 0,
) -> Tensor:
    """Return points (keep, d) of a gradient descent on f from the task's start.

    Its step is half of 1 / ||Hessian of f|| at the start. The trajectory of the run
    that is judged is a better place where it is at hand.
    """
    if not 1 <= keep <= steps + 1:
        raise InputError(
            f"keep = {keep} must lie between 1 and steps + 1 = {steps + 1}"
        )
    x = task.start(torch.Generator().manual_seed(seed)) if start is None else start
    norm = hessian_extremes(task, x, seed=seed).norm
    eta = 0.5 / norm if norm > 0 else 1.0
    chosen = {round(k * steps / max(keep - 1, 1)) for k in range(keep)}
    kept = []
    for t in range(steps + 1):
        if t in chosen:
            kept.append(x)
        x = x - eta * task.global_gradient(x.unsqueeze(0))[0]
    return torch.stack(kept)


def piloted(task: Task) -> ProblemConstants:
    """Return the constants of a small task, measured along a :func:`pilot`."""
    return along(task, pilot(task)).constants()


def of_run(task: Task[Any], run: object, **options: Any) -> Estimates:
    """Return the constants for judging a finished run, by :func:`along`.

    ``run`` is a History, or models (S, m, d).

    They are measured along a :func:`pilot` from the task's start, and at the mean
    models where the run ended.
    """
    ends = (
        torch.as_tensor(getattr(run, "x", run))
        .to(dtype=task.dtype, device=task.device)
        .mean(-2)
    )
    return along(task, torch.cat([pilot(task), ends]), **options)


def models_at(task: Task, points: Tensor, own: bool = False) -> Tensor:
    """Return points (P, d) at every client, (P, m, d).

    With ``own`` each client may have its own.
    """
    points = torch.as_tensor(points).to(dtype=task.dtype, device=task.device)
    shape, more = tuple(points.shape), f" or (P, {task.m}, {task.d})" if own else ""
    if points.ndim == 2:
        points = points.unsqueeze(1).expand(-1, task.m, -1)
    if (
        not (own or len(shape) == 2)
        or points.shape[1:] != (task.m, task.d)
        or len(points) == 0
    ):
        raise InputError(f"points have shape {shape}: give (P, {task.d}){more}")
    if not bool(points.isfinite().all()):
        raise InputError("a point of the trajectory is not finite")
    return points


def smoothness(
    task: Task,
    points: Tensor,
    blocks: Mapping[str, Callable[[Product], tuple[Product, int]]],
    how: Effort,
    places: Sequence[int] | None = None,
    at_least: float = 0.0,
    words: str = "",
) -> dict[str, Estimate]:
    """Return the largest norms of blocks of the clients' Hessians at points (P, m, d).

    Only ``places`` of the points are used.

    ``blocks``: name -> (symmetric operator, its size) of a Hessian. The first is at
    least ``at_least``, and with minibatches that of the F_i(.; xi) is found too, as
    NAME_sample.
    """
    if getattr(task, "drops", False):
        raise InputError(
            "with dropout, minibatches have gradients of another function than the f"
            " that is measured: no constants are estimated"
        )
    who, minibatches, seed = how.clients or range(task.m), how.minibatches, how.seed
    places = range(len(points)) if places is None else places
    each = 1 - (1 - how.confidence) / (
        len(places) * len(who) * (len(blocks) + minibatches)
    )
    first = next(iter(blocks))
    norms: dict[str, list[Bracket]] = {name: [(0.0, 0.0)] for name in blocks}
    norms[first] = [(at_least, at_least)]
    sampled: list[Bracket] = []

    def bracket(name: str, p: int, i: int, batch: object = None) -> Bracket:
        part, size = blocks[name](hessian_product(task, points[p, i], i, batch))
        start = seed + 7919 * p + i
        return extremes(part, size, points, how.steps, each, start).norm_bracket

    for p in places:
        draws = [seed + 104_729 * (1 + p * minibatches + k) for k in range(minibatches)]
        generators = [torch.Generator(task.device).manual_seed(s) for s in draws]
        batches = [task.sample([generator]) for generator in generators]
        drawn = [batch for batch in batches if batch is not None]  # else F_i is f_i
        for i in who:
            for name in blocks:
                norms[name].append(bracket(name, p, i))
            sampled += [bracket(first, p, i, batch) for batch in drawn]
    where = f"Hessians of {len(who)} of {task.m} clients at {len(places)} points"
    off = OFF + ("" if len(who) == task.m else ", other clients")

    def largest(name: str, ends: list[Bracket], words: str, off: str) -> Estimate:
        low, high = (max(values) for values in zip(*ends, strict=True))
        return Estimate(name, low, low, high, how.confidence, words, off)

    found = {
        name: largest(name, ends, where + words, off) for name, ends in norms.items()
    }
    # f_i is a mean of the F_i(.; xi): no rougher than the roughest of them
    if minibatches:
        basis = f"the same, and Hessians of {minibatches} minibatches for each of them"
        name, off = f"{first}_sample", off + ", other minibatches"
        found[name] = largest(name, [*norms[first], *sampled], basis, off)
    return found


def _steepest_turn(points: Tensor, gradients: Tensor) -> float:
    """Return the largest slope of a grad f_i between neighboring points."""
    moved = (points[1:] - points[:-1]).double().norm(dim=-1)
    turned = (gradients[1:] - gradients[:-1]).double().norm(dim=-1).amax(-1)
    slopes = turned[moved > 0] / moved[moved > 0]
    return float(slopes.max()) if len(slopes) else 0.0


def noises(
    task: Task,
    points: Tensor,
    gradients: Tensor,
    blocks: Mapping[str, slice | Tensor],
    how: Effort,
) -> list[Estimate]:
    """Estimate the noise E||grad F_i(x; xi) - grad f_i(x)||^2 in blocks, by name.

    ``points`` (P, d) or (P, m, d); ``gradients`` the exact ones (P, m, d).
    """
    squares = torch.zeros(
        len(blocks), how.draws, len(points), task.m, dtype=torch.float64
    )
    for p, x in enumerate(points):
        models = x.expand(1, task.m, task.d)
        for k in range(how.draws):
            draw = torch.Generator(device=task.device).manual_seed(
                how.seed + p * how.draws + k
            )
            if (batch := task.sample([draw])) is None:
                words = "no minibatches are drawn: gradients are exact", "nothing"
                return [Estimate(name, 0.0, 0.0, 0.0, 1.0, *words) for name in blocks]
            noise = (task.gradient(models, batch)[0] - gradients[p]).double()
            for out, block in zip(squares, blocks.values(), strict=True):
                out[k, p] = noise[:, block].square().sum(-1)
    basis = f"{how.draws} minibatches at {len(points)} points, {task.m} clients"
    ends = [
        interval_of_noise(each.flatten(1).numpy(), how.confidence) for each in squares
    ]
    return [
        Estimate(name, *found, how.confidence, basis, OFF)
        for name, found in zip(blocks, ends)
    ]


def interval_of_noise(
    squares: np.ndarray, confidence: float
) -> tuple[float, float, float]:
    """Return the largest RMS of the columns of squares (draws, k), and its interval.

    ``low`` is above it only if some lower limit is above its own mean: these limits
    hold at once (Bonferroni, Student's t, the safer one for skewed data). ``high`` is
    below it only if the limit of the largest mean fails, and needs no correction: the
    greatest of the limits for squared norms one at a time
    (:func:`dfltheory.confidence.upper_limits`; Student's would fail in up to 14 of 100
    cases for 2.5). Noise that is much more skewed than a Gaussian's squared norm, as
    one example in a thousand that outweighs the rest, is not seen by a few draws, and
    not covered as said.
    """
    tail, mean = (1 - confidence) / 2, squares.mean(axis=0)
    low = (mean - half_widths(squares, tail / mean.size)).max()
    ends = mean.max(), low, upper_limits(squares, tail).max()
    value, low, high = (math.sqrt(max(float(end), 0.0)) for end in ends)
    return value, low, high


def _gap(task: Task, points: Tensor) -> list[Estimate]:
    """f0_gap, where f* has a known lower bound."""
    bound = task.constants.f_star
    if bound is None or not math.isfinite(bound):
        return []
    values = task.global_loss(points).double()
    gap, best, known = (
        float(values[0]) - bound,
        float(values.min()),
        f"to be >= {bound:g}",
    )
    if task.constants.standing_of("f_star") == "exact":
        best, known = bound, "exactly"
    words = (
        f"f at {len(points)} points; f* is known {known}",
        "nothing below the bound of f*",
    )
    return [Estimate("f0_gap", gap, float(values[0]) - best, gap, 1.0, *words)]
