"""Exact propagation of mean and covariance through affine client maps and mixing.

A state has mean ``mu`` (B, m, p) and covariance ``cov`` (B, m, p, m, p), for B
independent problems, m clients and p entries per client: (B, p) = (d, blocks) if
coordinates are decoupled, else (1, all).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfltheory.exact.network import MatrixDistribution


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (B, m, p) and covariance (B, m, p, m, p) of a state.

    ``cov`` is None if the state is deterministic.
    """

    mu: np.ndarray
    cov: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Affine:
    """Affine maps of clients: s -> map_i s + shift_i + noise of covariance noise_i.

    Attributes
    ----------
    map : (..., m, q, p) array
    shift : (..., m, q) array
    noise : (..., m, q, q) array, optional
        None if there is no noise.
    """

    map: np.ndarray
    shift: np.ndarray
    noise: np.ndarray | None = None

    def after(self, first: Affine) -> Affine:
        """Return the composition self(first(s)) as one map."""
        noise = self.noise
        if first.noise is not None:
            noise = self.map @ first.noise @ self.map.swapaxes(-1, -2)
            if self.noise is not None:
                noise = noise + self.noise
        shift = _times(self.map, first.shift) + self.shift
        return Affine(self.map @ first.map, shift, noise)

    def part(self, which: slice) -> Affine:
        """Return the maps of some of the B problems."""
        noise = None if self.noise is None else self.noise[which]
        return Affine(self.map[which], self.shift[which], noise)

    def without_noise(self) -> Affine:
        """Return the map without noise."""
        return Affine(self.map, self.shift)


@dataclass(frozen=True, eq=False)
class Stage:
    """Local maps of the clients, and the exchange that follows.

    Attributes
    ----------
    local_map : Affine
        The local maps.
    mixed : int
        Number of entries, the first ones, that are multiplied by W in the exchange.
    times : int
        Number of multiplications.
    """

    local_map: Affine
    mixed: int = 0
    times: int = 0


def apply(state: Moments, by: Affine) -> Moments:
    """Return the moments after the clients' local maps."""
    B, m, q, p = by.map.shape
    mu = _times(by.map, state.mu) + by.shift
    if state.cov is None and (by.noise is None or not by.noise.any()):
        return Moments(mu)
    if state.cov is None:
        cov = np.zeros((B, m, q, m, q))
    else:
        half = by.map @ state.cov.reshape(B, m, p, m * p)
        half = half.reshape(B, m * q, m, p).transpose(0, 2, 3, 1)  # (B, j, p, i q)
        cov = (by.map @ half).reshape(B, m, q, m, q).transpose(0, 3, 4, 1, 2).copy()
    if by.noise is not None:
        clients = np.arange(m)
        cov[:, clients, :, clients, :] += by.noise.swapaxes(0, 1)
    return Moments(mu, cov)


def mix(sent: Moments, law: MatrixDistribution, mixed: int) -> Moments:
    """Return the moments after an exchange with a random matrix W.

    They follow from the law of total covariance, which avoids differences of large
    numbers.

    Parameters
    ----------
    sent : Moments
        The moments before.
    law : list of (float, (m, m) array)
        Each outcome of W with its probability.
    mixed : int
        Number of entries, the first ones, that are multiplied by W.
    """
    means = [mix_clients(W, sent.mu, mixed) for _, W in law]
    mu = sum((p * mean for (p, _), mean in zip(law, means)), np.zeros_like(sent.mu))
    if sent.cov is None and len(law) == 1:
        return Moments(mu)
    cov = np.zeros((*mu.shape, *mu.shape[1:]))
    for (p, W), mean in zip(law, means):
        if sent.cov is not None:
            half = mix_clients(W, sent.cov, mixed).transpose(0, 3, 4, 1, 2)
            cov += p * mix_clients(W, half, mixed).transpose(0, 3, 4, 1, 2)
        if len(law) > 1:
            deviation = mean - mu
            cov += p * deviation[:, :, :, None, None] * deviation[:, None, None]
    return Moments(mu, cov)


def mix_clients(W: np.ndarray, x: np.ndarray, mixed: int) -> np.ndarray:
    """Return the product of W with x (B, m, q, ...) along axis 1 (clients).

    Only the first ``mixed`` of the q entries are multiplied; the others are copied.
    """
    mixed_x = x.copy()
    sent = np.ascontiguousarray(x[:, :, :mixed])
    mixed_x[:, :, :mixed] = (W @ sent.reshape(*sent.shape[:2], -1)).reshape(sent.shape)
    return mixed_x


def one_round(
    state: Moments, stages: list[Stage], laws: list[list[MatrixDistribution]]
) -> Moments:
    """Return the moments of the state after one round.

    Parameters
    ----------
    state : Moments
        The moments before it.
    stages : list of Stage
    laws : list of list of Law
        For each stage, the distributions of the matrices of its exchange, in order.
    """
    for stage, chain in zip(stages, laws):
        state = apply(state, stage.local_map)
        for law in chain:
            state = mix(state, law, stage.mixed)
    return state


def backward(
    rows: np.ndarray, stages: list[Stage], laws: list[list[MatrixDistribution]]
) -> tuple[np.ndarray, float]:
    """Express linear functions of the state after a round by the state before it.

    Parameters
    ----------
    rows : (B, m, p, k) array
        k linear functions of the state after the round.
    stages : list of Stage
    laws : list of list of Law
        As for :func:`one_round`.

    Returns
    -------
    rows : (B, m, p, k) array
        The same functions of the state before the round, in the mean.
    added : float
        Variance that the noise of the round adds, summed over the functions. It is
        valid for deterministic matrices.
    """
    added = 0.0
    for stage, chain in zip(stages[::-1], laws[::-1]):
        for law in chain[::-1]:
            mean_matrix = np.sum([p * W for p, W in law], axis=0)
            rows = mix_clients(mean_matrix.T, rows, stage.mixed)
        if stage.local_map.noise is not None:
            added += float((rows * (stage.local_map.noise @ rows)).sum())
        rows = stage.local_map.map.swapaxes(-1, -2) @ rows
    return rows, added


def _times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the products (..., q) of matrices (..., q, p) and vectors (..., p)."""
    return (matrices @ vectors[..., None])[..., 0]
