"""Families of candidates: points of the unit cube, decoded into problems, networks and step sizes.

Lengths and slopes are relative: L is near 1 and the problem's width near 1, for every statement that is
homogeneous in its units loses nothing by that. Exact constants are computed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.falsify.clients import Clients, Waves
from dfltheory.analysis.falsify.ramps import Ramps
from dfltheory.analysis.falsify.rounds import Batch, Paper, all_signs

Array = NDArray[Any]


@dataclass(frozen=True)
class Family:
    """One arm of the search: ``decode`` maps (P, dimension) points of the unit cube to candidates."""

    name: str
    dimension: int
    rounds: int
    decode: Callable[[Array], tuple[Batch, dict[str, Array]]]


class _Reader:
    """Takes columns of the unit cube one after the other, and turns them into numbers."""

    def __init__(self, u: Array):
        self.u, self.at = u, 0

    def unit(self) -> Array:
        self.at += 1
        return self.u[:, self.at - 1]

    def log(self, low: float, high: float) -> Array:
        return low * (high / low) ** self.unit()

    def between(self, low: float, high: float) -> Array:
        return low + (high - low) * self.unit()

    def log_or_zero(self, low: float, high: float, zero: float = 0.25) -> Array:
        """Exactly 0 for a share ``zero`` of the interval, then logarithmic."""
        u = self.unit()
        return np.where(u < zero, 0.0, low * (high / low) ** np.clip((u - zero) / (1 - zero), 0, 1))


def _one_client(read: _Reader) -> tuple[Array, Array, Array, Array]:
    """A clipped quadratic plus a bump: ramps (P, 3) and the slope far left (P,); 9 numbers."""
    steep, centre = read.log(1e-2, 1), read.between(-1, 1)
    low, high = read.log_or_zero(1e-3, 3, 0.3), read.log_or_zero(1e-3, 3, 0.3)
    rise, fall = read.log(0.1, 1), read.log(0.1, 1)
    sign = np.where(read.unit() < 0.5, -1.0, 1.0)
    height, place = read.log_or_zero(1e-2, 3, 0.2), read.between(-2, 2)
    knots = np.stack([centre - low / steep, place - height / rise, place], -1)
    widths = np.stack([(low + high) / steep, height / rise, height / fall], -1)
    slopes = np.stack([steep, sign * rise, -sign * fall], -1)
    return knots, widths, slopes, -low


_CLIENT = 9


def _ramps(read: _Reader, clients: int) -> Ramps:
    parts = [_one_client(read) for _ in range(clients)]
    return Ramps(*(np.stack([part[k] for part in parts], axis=1) for k in range(4)))


def _waves(read: _Reader, clients: int) -> Waves:
    centres = np.stack([read.between(-3, 3) for _ in range(clients)], axis=1)
    w = read.log(0.3, 3)
    return Waves(centres, 1 / w**2, w)


def _pair(read: _Reader, copies: bool) -> tuple[Array, dict[str, Array]]:
    """W = [[1 - w, w], [w, 1 - w]], its one weight free (1/2 for copies, where it does not matter)."""
    w = read.unit() * 0 + 0.5 if copies else read.log(3e-4, 0.97)
    W = np.stack([np.stack([1 - w, w], -1), np.stack([w, 1 - w], -1)], -2)
    still = np.ones_like(w)
    return W, {"lam": np.abs(1 - 2 * w), "delta": still, "C": still, "q": np.abs(1 - 2 * w)}


def _directed(read: _Reader) -> tuple[Array, dict[str, Array]]:
    """Three clients on a directed ring with a chord, weights 1/out-degree: not doubly stochastic."""
    from dfltheory.graphs import push_sum_constants

    P = np.array([[1 / 3, 0, 1 / 2], [1 / 3, 1 / 2, 0], [1 / 3, 1 / 2, 1 / 2]])
    ones = np.ones_like(read.unit())
    known = push_sum_constants(P)
    values = {"delta": known.delta, "C": known.C, "q": known.q}
    return np.repeat(P[None], len(ones), 0), {k: v * ones for k, v in values.items()} | {
        "lam": known.q * ones
    }


def families(paper: Paper) -> list[Family]:
    """Every arm of the search for the theorems of one paper."""
    arms = [_family(paper, "piecewise", K=K, copies=copies) for K in (1, 2, 5) for copies in (True, False)]
    arms += [_family(paper, "sinusoidal", K=K, copies=copies) for K in (1, 3) for copies in (True, False)]
    arms += [_family(paper, "minibatch", K=K, copies=True, T=T) for K, T in ((1, 4), (2, 2), (1, 2))]
    if paper == "dfedsam":
        arms += [_family(paper, "piecewise", K=2, copies=False, Q=Q) for Q in (2, 4)]
    if paper == "dfedsgpsm":
        arms += [_family(paper, "directed", K=K, copies=copies) for K in (1, 2) for copies in (True, False)]
    return arms


def _family(paper: Paper, kind: str, K: int, copies: bool, Q: int = 1, T: int = 0) -> Family:
    m = 3 if kind == "directed" else 2
    clients = 1 if copies else m
    signs = all_signs(T, K, m) if kind == "minibatch" else None

    def decode(u: Array) -> tuple[Batch, dict[str, Array]]:
        read = _Reader(u)
        made: Any = _waves(read, clients) if kind == "sinusoidal" else _ramps(read, clients)
        problem: Clients = _copied(made, m) if copies else made
        W, network = _directed(read) if kind == "directed" else _pair(read, copies)
        eta, rho = read.log(1e-5, 2.0), read.log_or_zero(1e-3, 10, 0.2)
        x0 = np.repeat(read.between(-4, 4)[:, None], m, axis=1)
        alpha, lam = 1 - read.log(1e-2, 1), eta * read.log(1, 300)
        sigma = read.log(1e-3, 10) if signs is not None else read.unit() * 0.0
        batch = Batch(paper, problem, x0, eta, W, K, Q, rho, alpha, lam, sigma, signs)
        return batch, network

    dimension = clients * (1 if kind == "sinusoidal" else _CLIENT) + (kind == "sinusoidal") + 7
    label = f"{kind}, K = {K}" + (f", T = {T}" if T else "") + (f", Q = {Q}" if Q > 1 else "")
    label += ", identical clients" if copies else f", {'three' if m == 3 else 'two'} clients"
    return Family(label, dimension, T or 300, decode)


def _copied(made: Any, m: int) -> Any:
    if isinstance(made, Waves):
        return Waves(np.repeat(made.centres, m, axis=1), made.a, made.w)
    return made.alike(m)


__all__ = ["Family", "families"]
