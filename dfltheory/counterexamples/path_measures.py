"""Measures of simulated candidates in each round: exact expectations over the noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch


@dataclass(eq=False)
class Path:
    """Quantities measured before each of the first R rounds of P candidates.

    Attributes
    ----------
    left : dict of str to (R, P) array
        Left-hand sides by measure.
    value : (R, P) array
        E f(xbar^t), or F(ubar^t, V^t) for two blocks.
    moment : (P,) array, optional
        Largest (1/m) sum_i E||g||^2 over all steps.
    cycle : (P,) array
        Number of rounds after which the state repeats: 1 if it is stationary, 0 if it
        does not repeat.
    x : (P, m, d) array
        The final models, without noise.
    diversity : (R, P) array, optional
        Variance over the clients of grad_u F_i at (ubar^t, v_i^{t+1}).
    translating : (P,) array
        Last round until which all clients provably keep their velocity and cross no
        knot; 0 if they do not move at constant velocity.
    size : (P,) array
        Largest root mean square of the models over all rounds.
    """

    left: dict[str, np.ndarray]
    value: np.ndarray
    cycle: np.ndarray
    x: np.ndarray
    moment: np.ndarray | None = None
    diversity: np.ndarray | None = None
    translating: np.ndarray | float = 0.0
    size: np.ndarray | float = 0.0


def may_leave_ramp(batch: CandidateBatch, x: np.ndarray, weight: float) -> np.ndarray:
    """Return the candidates in which noise may move models x (P, R, N, m) off the ramp.

    Gradients are affine only on the ramp. The noise is a sum of responses with random
    signs, so its absolute value is at most the sum of the absolute responses.
    """
    reach = np.abs(_noise_responses(x)).sum(2).cumsum(1)
    reach = reach.sum(-1, keepdims=True) if weight > 1 else reach
    low, width = batch.clients.knots[:, None, :, 0], batch.clients.widths[:, None, :, 0]
    off = (x[:, :, 0] - reach < low) | (x[:, :, 0] + reach > low + width)
    return (off & batch.clients.slopes[:, None, :, 0].astype(bool)).any((1, 2))


def _noise_responses(a: np.ndarray) -> np.ndarray:
    """Return the response to each unit of noise: runs 1, 2, ... minus run 0."""
    return a[:, :, 1:] - a[:, :, :1]


def _total(a: np.ndarray, weight: float) -> np.ndarray:
    """Return the sum over the noise of all rounds so far, (R, P).

    ``a`` (P, R, N, n) holds the contributions of the noise of one round after 0, 1, ...
    further rounds. Noise of different rounds is independent, so that contributions add
    up.
    """
    return weight * np.cumsum(a.sum((2, 3)), axis=1).T


def mean_sq(a: np.ndarray, weight: float) -> np.ndarray:
    """Return E ||a||^2 (R, P) from the runs a (P, R, N, n).

    With noise it is the squared mean plus the variance, otherwise the average over the
    runs.
    """
    if not weight:
        return (a**2).sum(-1).mean(2).T
    return (a[:, :, 0] ** 2).sum(-1).T + _total(_noise_responses(a) ** 2, weight)


def _mean_value(
    value: np.ndarray, slope: np.ndarray, x: np.ndarray, weight: float
) -> np.ndarray:
    """Return E F (R, P) from the values (P, R, N) of F in all runs.

    The gradients ``slope`` at ``x`` (P, R, N, n) determine the contribution of the
    variance.
    """
    if not weight:
        return value.mean(2).T
    return value[:, :, 0].T + _total(
        _noise_responses(slope) * _noise_responses(x) / 2, weight
    )


def one_block(
    batch: CandidateBatch, means: np.ndarray, others: np.ndarray | None, weight: float
) -> Path:
    """Measure one-block runs, given their mean models (P, R, N, d)."""
    clients, (P, R, N, d) = batch.clients, means.shape

    def slope(points: np.ndarray) -> np.ndarray:
        return (
            clients.gradient(points.reshape(P, R * N, 1, d))
            .mean(2)
            .reshape(points.shape)
        )

    g = slope(means)
    left = {"grad_norm_sq": mean_sq(g, weight)}
    if others is not None:
        left["grad_norm_sq_w"] = mean_sq(slope(others), weight)
    # without a curve a convex problem may have several minimizers
    if (clients.curve > 0).any():
        minimizer = np.where(
            clients.curve > 0, clients.minimizer(batch.x0.mean((1, 2))), np.nan
        )
        left["dist_sq"] = mean_sq(means - minimizer[:, None, None, None], weight)
    value = clients.value(means.reshape(P, R * N, 1, d)).mean(-1).reshape(P, R, N)
    left["loss"] = value = _mean_value(value, g, means, weight)
    return Path(left, value, np.zeros(batch.size), batch.x0)


def two_blocks(batch: CandidateBatch, x: np.ndarray, weight: float) -> Path:
    """Measure two-block runs x (P, R, N, m, 2).

    Gradients are taken at the shared part before round t, and at the personal part both
    before and after it (V^{t+1}).
    """
    (P, R, N, m, _), shape = x.shape, x[:, 1:].shape

    def slope(points: np.ndarray) -> np.ndarray:
        return batch.clients.gradient(points.reshape(P, -1, m, 2)).reshape(shape)

    at_mean = x[:, :-1].copy()
    at_mean[..., 0] = at_mean[..., 0].mean(-1, keepdims=True)
    g = slope(at_mean)
    after = slope(np.stack([at_mean[..., 0], x[:, 1:, ..., 1]], -1))[..., 0]
    value = (
        batch.clients.value(at_mean.reshape(P, -1, m, 2)).mean(-1).reshape(P, R - 1, N)
    )
    flat = (P, R - 1, N, 2 * m)
    value = _mean_value(value, g.reshape(flat) / m, at_mean.reshape(flat), weight)
    left = {
        "grad_u_sq": mean_sq(g[..., 0].mean(-1)[..., None], weight),
        "grad_u_sq_next": mean_sq(after.mean(-1)[..., None], weight),
        "grad_v_sq": mean_sq(slope(x[:, :-1])[..., 1], weight) / m,
    }
    diversity = after[:, :, 0].var(-1).T
    return Path(left, value, np.zeros(P), batch.x0, diversity=diversity)


__all__ = ["Path", "may_leave_ramp", "mean_sq", "one_block", "two_blocks"]
