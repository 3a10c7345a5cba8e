"""Estimates of the constants of theorems at points, with intervals.

A smoothness constant, a noise level or a heterogeneity is a supremum over all of R^d
(or over the points that a proof needs). A sample of points can only bound it from
below: ``low`` is such a bound (with the given confidence), and ``high`` bounds the
largest value over the sampled points only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.confidence import half_widths, upper_limits
from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError
from dfltheory.tasks.estimate.estimates import (
    OFF,
    Effort,
    Estimate,
    Estimates,
    evenly_spaced,
    exact_at_points,
)
from dfltheory.tasks.estimate.hessian import (
    HessianProduct,
    draw_minibatches,
    hessian_product,
)
from dfltheory.tasks.estimate.spectrum import extremes, hessian_extremes
from dfltheory.tasks.task import Task

Bracket = tuple[float, float]
"""A lower and an upper bound of a norm."""


def along(
    task: Task, points: Tensor, *, curvature_points: int = 3, **effort: Any
) -> Estimates:
    """Estimate the constants of a task at points (P, d) of a trajectory.

    These are L, L_sample, sigma_l, sigma_g, beta, B and f0_gap.

    Parameters
    ----------
    task : Task
    points : (P, d) tensor
        Points, the first of which is the start.
    curvature_points : int
        Number of evenly spaced points at which Hessians are examined.
    **effort
        Fields of :class:`~dfltheory.tasks.estimate.estimates.Effort`.

    Notes
    -----
    L
        the maximum of ||Hessian of f_i|| over ``clients`` (by default all) at
        ``curvature_points`` evenly spaced points, by ``steps`` Lanczos steps, and of
        the slopes of grad f_i between neighboring points.
    L_sample
        the smoothness of each F_i(.; xi), which the theorems assume if rho > 0: the
        same maximum, including ``minibatches`` random minibatches for each client and
        point (omitted if 0). Other minibatches may be rougher; with replacement, the
        roughest one repeats a single example.
    sigma_l
        the largest root mean square of grad F_i(x; xi) - grad f_i(x), from ``draws``
        minibatches at every point and client, with the interval of
        :func:`interval_of_noise`.
    sigma_g, beta, B
        the root mean square and the maximum over clients of ||grad f_i - grad f||, and
        max_i ||grad f_i||, all exact at the points.
    f0_gap
        f(x^0) - f* at the first point: at most f(x^0) minus the known lower bound of f,
        and at least f(x^0) minus the smallest observed f.
    """
    how, models = Effort(**effort), models_at(task, points)
    points = models[:, 0]
    # (P, m, d)
    gradients = torch.stack([task.gradient(x.unsqueeze(0))[0] for x in models])

    def whole(H: HessianProduct) -> tuple[HessianProduct, int]:
        return H, task.d

    count = max(1, min(curvature_points, len(points)))
    norms = smoothness(
        task,
        models,
        {"L": whole},
        how,
        places=sorted(evenly_spaced(len(points) - 1, count)),
        at_least=_steepest_turn(points, gradients),
        words=f", slopes between {len(points)}",
    )
    estimates = list(norms.values())
    estimates += noises(task, points, gradients, {"sigma_l": slice(None)}, how)
    estimates += _exact_at_points(gradients)
    estimates += _gap(task, points)
    return Estimates(estimates, task.constants)


def _exact_at_points(gradients: Tensor) -> list[Estimate]:
    """Return sigma_g, beta and B from exact gradients (P, m, d) at points."""
    deviations = gradients - gradients.mean(1, keepdim=True)
    squares = deviations.double().square().sum(-1)  # (P, m)
    values = {
        "sigma_g": squares.mean(1).max().sqrt(),
        "beta": squares.max().sqrt(),
        "B": gradients.double().norm(dim=-1).max(),
    }
    points, clients = squares.shape
    where = f"{points} points, {clients} clients"
    return [exact_at_points(name, float(x), where) for name, x in values.items()]


def pilot(
    task: Task,
    steps: int = 40,
    keep: int = 5,
    start: Tensor | None = None,
    seed: int = 0,
) -> Tensor:
    """Return points of gradient descent on f.

    The step size is half of 1 / ||Hessian of f|| at the start. If it is available, the
    trajectory of the run to be judged is a better choice.

    Parameters
    ----------
    task : Task
    steps : int
        Number of steps.
    keep : int
        Number of evenly spaced points to return, including the first and the last.
    start : (d,) tensor, optional
        The first point; by default the task's start.
    seed : int
        Seed of the task's start and of the estimate of the norm.

    Returns
    -------
    (keep, d) tensor
    """
    if not 1 <= keep <= steps + 1:
        raise InputError(f"keep = {keep} must be between 1 and steps + 1 = {steps + 1}")
    x = task.start(torch.Generator().manual_seed(seed)) if start is None else start
    norm = hessian_extremes(task, x, seed=seed).norm
    eta = 0.5 / norm if norm > 0 else 1.0
    chosen = evenly_spaced(steps, keep)
    kept = []
    for t in range(steps + 1):
        if t in chosen:
            kept.append(x)
        x = x - eta * task.global_gradient(x.unsqueeze(0))[0]
    return torch.stack(kept)


def piloted(task: Task) -> ProblemConstants:
    """Return the constants of a small task, estimated along a :func:`pilot`."""
    return along(task, pilot(task)).constants()


def of_run(task: Task[Any], run: object, **options: Any) -> Estimates:
    """Estimate the constants for judging a finished run with :func:`along`.

    The points are those of a :func:`pilot` from the task's start, and the final mean
    models of the run.

    Parameters
    ----------
    task : Task
    run : History or (S, m, d) tensor
        The run, or its final models.
    **options
        Options of :func:`along`.
    """
    models = torch.as_tensor(getattr(run, "x", run))
    final_means = models.to(dtype=task.dtype, device=task.device).mean(-2)
    return along(task, torch.cat([pilot(task), final_means]), **options)


def models_at(task: Task, points: Tensor, own: bool = False) -> Tensor:
    """Return points at every client, (P, m, d).

    Parameters
    ----------
    task : Task
    points : (P, d) tensor
        The points; (P, m, d), too, if ``own``.
    own : bool
        Whether each client may have points of its own.

    Raises
    ------
    InputError
        If the points have another shape, or are not finite.
    """
    points = torch.as_tensor(points).to(dtype=task.dtype, device=task.device)
    shape = tuple(points.shape)
    if points.ndim == 2:
        points = points.unsqueeze(1).expand(-1, task.m, -1)
    has_allowed_axes = own or len(shape) == 2
    fits = points.shape[1:] == (task.m, task.d) and len(points) > 0
    if not (has_allowed_axes and fits):
        more = f" or (P, {task.m}, {task.d})" if own else ""
        raise InputError(f"points have shape {shape}: pass (P, {task.d}){more}")
    if not bool(points.isfinite().all()):
        raise InputError("a point of the trajectory is not finite")
    return points


def smoothness(
    task: Task,
    points: Tensor,
    blocks: Mapping[str, Callable[[HessianProduct], tuple[HessianProduct, int]]],
    how: Effort,
    places: Sequence[int] | None = None,
    at_least: float = 0.0,
    words: str = "",
) -> dict[str, Estimate]:
    """Estimate the largest norms of blocks of the clients' Hessians.

    Parameters
    ----------
    task : Task
    points : (P, m, d) tensor
        Points of each client.
    blocks : dict of str to callable
        Maps the name of a block to a function that returns (symmetric operator, its
        size) of a Hessian.
    how : Effort
        Sampling effort.
    places : sequence of int, optional
        Indices of the points to use; by default all.
    at_least : float
        A known lower bound of the first norm.
    words : str
        Description of the origin of ``at_least``.

    Returns
    -------
    dict of str to Estimate
        One for each block. With minibatches also NAME_sample for the first block, of
        the Hessians of the F_i(.; xi).

    Raises
    ------
    InputError
        If the task has dropout, or a client does not exist.
    """
    if getattr(task, "drops", False):
        raise InputError(
            "with dropout, minibatches have gradients of a function other than the f"
            " that is measured: constants cannot be estimated"
        )
    clients = how.examined_clients(task.m)
    minibatches, seed = how.minibatches, how.seed
    places = range(len(points)) if places is None else places
    number_of_norms = len(places) * len(clients) * (len(blocks) + minibatches)
    confidence_of_each = 1 - (1 - how.confidence) / number_of_norms
    first = next(iter(blocks))
    norms: dict[str, list[Bracket]] = {name: [(0.0, 0.0)] for name in blocks}
    norms[first] = [(at_least, at_least)]
    sampled: list[Bracket] = []

    def bracket(name: str, p: int, i: int, batch: object = None) -> Bracket:
        part, size = blocks[name](hessian_product(task, points[p, i], i, batch))
        start = seed + 7919 * p + i
        spectrum = extremes(part, size, points, how.steps, confidence_of_each, start)
        return spectrum.norm_bracket

    for p in places:
        first_draw = 1 + p * minibatches
        draws = range(first_draw, first_draw + minibatches)
        batches = draw_minibatches(task, [seed + 104_729 * draw for draw in draws])
        for i in clients:
            for name in blocks:
                norms[name].append(bracket(name, p, i))
            sampled += [bracket(first, p, i, batch) for batch in batches]
    where = f"Hessians of {len(clients)} of {task.m} clients at {len(places)} points"
    off = OFF if len(clients) == task.m else f"{OFF}, other clients"

    def largest(name: str, ends: list[Bracket], words: str, off: str) -> Estimate:
        low = max(low for low, _ in ends)
        high = max(high for _, high in ends)
        return Estimate(name, low, low, high, how.confidence, words, off)

    estimates = {}
    for name, ends in norms.items():
        estimates[name] = largest(name, ends, where + words, off)
    # f_i is a mean of the F_i(.; xi), so it is not rougher than the roughest of them
    if minibatches:
        basis = f"the same, and Hessians of {minibatches} minibatches for each of them"
        name, off = f"{first}_sample", f"{off}, other minibatches"
        estimates[name] = largest(name, [*norms[first], *sampled], basis, off)
    return estimates


def _steepest_turn(points: Tensor, gradients: Tensor) -> float:
    """Return the largest slope of any grad f_i between neighboring points."""
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
    """Estimate (E||grad F_i(x; xi) - grad f_i(x)||^2)^(1/2) in blocks.

    Parameters
    ----------
    task : Task
    points : (P, d) or (P, m, d) tensor
    gradients : (P, m, d) tensor
        Exact gradients at the points.
    blocks : dict of str to slice or tensor of int
        Name of each noise level, and its coordinates.
    how : Effort
        Sampling effort.

    Returns
    -------
    list of Estimate
        The largest noise level over points and clients, for each block.
    """
    squares = torch.zeros(
        len(blocks), how.draws, len(points), task.m, dtype=torch.float64
    )
    for p, x in enumerate(points):
        models = x.expand(1, task.m, task.d)
        for k in range(how.draws):
            generator = torch.Generator(device=task.device)
            batch = task.sample([generator.manual_seed(how.seed + p * how.draws + k)])
            if batch is None:
                words = "no minibatches are drawn: gradients are exact", "nothing"
                return [Estimate(name, 0.0, 0.0, 0.0, 1.0, *words) for name in blocks]
            noise = (task.gradient(models, batch)[0] - gradients[p]).double()
            for out, block in zip(squares, blocks.values(), strict=True):
                out[k, p] = noise[:, block].square().sum(-1)
    basis = f"{how.draws} minibatches at {len(points)} points, {task.m} clients"
    estimates = []
    for name, of_block in zip(blocks, squares, strict=True):
        interval = interval_of_noise(of_block.flatten(1).numpy(), how.confidence)
        estimates.append(Estimate(name, *interval, how.confidence, basis, OFF))
    return estimates


def interval_of_noise(
    squares: np.ndarray, confidence: float
) -> tuple[float, float, float]:
    """Return (value, low, high): the largest RMS over columns, and its interval.

    ``squares`` (draws, k) has a column of squared norms for each point and client.
    ``low`` is the largest of simultaneous lower limits of the column means (Student's t
    with Bonferroni correction, which is conservative for skewed data). ``high`` is the
    largest of the upper limits of the single columns; it fails only if the limit of the
    largest mean fails, so it needs no correction. The upper limits are those for
    squared norms (:func:`dfltheory.confidence.upper_limits`), because Student's would
    fail in up to 14 instead of 2.5 of 100 cases. The stated confidence does not apply
    to noise that is much more skewed than the squared norm of a Gaussian, for example
    if one example in a thousand dominates.
    """
    tail, means = (1 - confidence) / 2, squares.mean(axis=0)
    lowers = means - half_widths(squares, tail / means.size)
    uppers = upper_limits(squares, tail)

    def root_of_largest(values: np.ndarray) -> float:
        return math.sqrt(max(float(values.max()), 0.0))

    return root_of_largest(means), root_of_largest(lowers), root_of_largest(uppers)


def _gap(task: Task, points: Tensor) -> list[Estimate]:
    """Return the estimate of f0_gap if f* has a known lower bound."""
    bound = task.constants.f_star
    if bound is None or not math.isfinite(bound):
        return []
    values = task.global_loss(points).double()
    start = float(values[0])
    high = start - bound
    if task.constants.standing_of("f_star") == "exact":
        low, known = high, "exactly"
    else:
        low, known = start - float(values.min()), f"to be >= {bound:g}"
    basis = f"f at {len(points)} points; f* is known {known}"
    off = "nothing below the bound of f*"
    return [Estimate("f0_gap", high, low, high, 1.0, basis, off)]
