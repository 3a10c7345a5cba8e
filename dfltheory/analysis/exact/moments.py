"""The recursion of mean and covariance: one round, exactly.

A state has mean ``mu`` (B, m, p, b) and covariance ``cov`` (B, m, p, b, m, p, b), for B independent problems,
m clients, p blocks and b coordinates (see :mod:`.rules` and :mod:`.problem`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.exact.network import Law
from dfltheory.analysis.exact.problem import Problem
from dfltheory.analysis.exact.rules import Rule

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (B, m, p, b) and covariance (B, m, p, b, m, p, b) of a state; ``cov`` None: no chance so far."""

    mu: Array
    cov: Array | None = None


@dataclass(frozen=True, eq=False)
class ClientMap:
    """What leaves client i after its local steps: map_i s_i + shift_i + noise of covariance noise_i.

    ``map`` (B, m, r, b, p, b), ``shift`` (B, m, r, b), ``noise`` (B, m, r, b, r, b).
    """

    map: Array
    shift: Array
    noise: Array


def start(problem: Problem, rule: Rule, x0: Array) -> Moments:
    """The state before round 0 at given models (m, d): every block but the model is zero."""
    x = problem.coordinates(x0)
    mu = np.zeros((*x.shape[:2], rule.lift.shape[1], x.shape[2]))
    mu[:, :, 0] = x
    return Moments(mu)


def client_map(problem: Problem, rule: Rule) -> ClientMap:
    """K local steps of every client, put together into one affine map."""
    B, m, b = problem.pull.shape
    q, p = rule.lift.shape
    eye = np.eye(b)
    step = _kron(rule.keep[None], eye) + _kron(rule.gain[:, None] * rule.point[:, None, :], problem.A)
    step = np.broadcast_to(step, (B, m, q * b, q * b))
    shift = (-rule.gain[:, None] * problem.pull[:, :, None, :]).reshape(B, m, q * b)
    chance = _kron(np.multiply.outer(rule.gain, rule.gain), problem.noise)
    whole = np.broadcast_to(_kron(rule.lift, eye), (B, m, q * b, p * b))
    offset, noise = np.zeros((B, m, q * b)), np.zeros((B, m, q * b, q * b))
    for _ in range(rule.K):
        whole = step @ whole
        offset = (step @ offset[..., None])[..., 0] + shift
        noise = step @ noise @ step.swapaxes(-1, -2) + chance
    send = _kron(rule.send, eye)
    r = len(rule.send)
    return ClientMap(
        (send @ whole).reshape(B, m, r, b, p, b),
        (offset @ send.T).reshape(B, m, r, b),
        (send @ noise @ send.T).reshape(B, m, r, b, r, b),
    )


def _kron(coefficients: Array, blocks: Array) -> Array:
    """(..., i, j) and (..., k, l) -> (..., i k, j l)."""
    product = coefficients[..., :, None, :, None] * blocks[..., None, :, None, :]
    *lead, i, k, j, n = product.shape
    return product.reshape(*lead, i * k, j * n)


def one_round(state: Moments, local: ClientMap, rule: Rule, laws: list[Law]) -> Moments:
    """The state after one round: local steps, the matrices of ``laws`` one after the other, receive."""
    sent = _apply(state, local)
    for law in laws:
        sent = _mix(sent, law, rule.mixed)
    mu = np.einsum("pr,zirb->zipb", rule.receive, sent.mu)
    if sent.cov is None:
        return Moments(mu)
    cov = np.einsum("pr,zirbjsc->zipbjsc", rule.receive, sent.cov)
    return Moments(mu, np.einsum("qs,zipbjsc->zipbjqc", rule.receive, cov))


def _apply(state: Moments, local: ClientMap) -> Moments:
    B, m, r, b = local.shift.shape
    p = state.mu.shape[2]
    flat = local.map.reshape(B, m, r * b, p * b)
    mu = (flat @ state.mu.reshape(B, m, p * b, 1)).reshape(B, m, r, b) + local.shift
    if state.cov is None and not local.noise.any():
        return Moments(mu)
    if state.cov is None:
        cov = np.zeros((B, m, r * b, m, r * b))
    else:
        half = flat @ state.cov.reshape(B, m, p * b, m * p * b)
        half = half.reshape(B, m * r * b, m, p * b).transpose(0, 2, 3, 1)  # (B, j, p b, i r b)
        cov = (flat @ half).reshape(B, m, r * b, m, r * b).transpose(0, 3, 4, 1, 2).copy()
    clients = np.arange(m)
    cov[:, clients, :, clients, :] += local.noise.reshape(B, m, r * b, r * b).swapaxes(0, 1)
    return Moments(mu, cov.reshape(B, m, r, b, m, r, b))


def _mix(sent: Moments, law: Law, mixed: tuple[bool, ...]) -> Moments:
    """E over the outcomes of W, by the law of total covariance: no difference of large numbers."""
    means = [_product(W, sent.mu, mixed) for _, W in law]
    mu = sum((p * mean for (p, _), mean in zip(law, means)), np.zeros_like(sent.mu))
    if sent.cov is None and len(law) == 1:
        return Moments(mu)
    shape = (*mu.shape, *mu.shape[1:])
    cov = np.zeros(shape)
    for (p, W), mean in zip(law, means):
        if sent.cov is not None:
            half = _product(W, sent.cov, mixed)
            half = half.transpose(0, 4, 5, 6, 1, 2, 3)
            cov += p * _product(W, half, mixed).transpose(0, 4, 5, 6, 1, 2, 3)
        if len(law) > 1:
            gap = mean - mu
            cov += p * gap[:, :, :, :, None, None, None] * gap[:, None, None, None]
    return Moments(mu, cov)


def _product(W: Array, x: Array, mixed: tuple[bool, ...]) -> Array:
    """W along axis 1 (clients) of x (B, m, r, ...), for the blocks that are mixed."""
    out = x.copy()
    for k, goes in enumerate(mixed):
        if goes:
            part = np.ascontiguousarray(x[:, :, k])
            out[:, :, k] = (W @ part.reshape(*part.shape[:2], -1)).reshape(part.shape)
    return out


__all__ = ["ClientMap", "Moments", "client_map", "one_round", "start"]
