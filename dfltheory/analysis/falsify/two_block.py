"""DFedMDC and DFedSMDC on P two-block candidates at once, and what Theorem M says of them.

Points have shape (P, 1, m). Noise is allowed where the recursion of its variance is known: in v without
coupling, in u where all r_i are parabolas of one curvature on all points that are visited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.falsify.score import FLOOR, LONG, Scores, judged
from dfltheory.analysis.falsify.splits import Splits

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TwoBatch:
    """P candidates: problems, starts ``u0, v0`` (P, m), ``W`` (P, m, m), steps and noise (P,)."""

    clients: Splits
    u0: Array
    v0: Array
    W: Array
    eta_u: Array
    eta_v: Array
    K_u: int
    K_v: int
    rho: Array
    sigma_u: Array
    sigma_v: Array

    paper = "dfedmdc"

    @property
    def size(self) -> int:
        return len(self.eta_u)

    @property
    def x0(self) -> Array:
        return np.stack([self.u0, self.v0], axis=-1)


@dataclass(eq=False)
class TwoPath:
    """(R + 1, P) each: squares of grad_u F(ubar^t, V^t), the same at V^{t+1}, mean squares of grad_v F_i, the
    diversity of grad_u F_i at (ubar^t, v_i^{t+1}), F(ubar^t, V^t); ``still`` (P,): nothing moves any more."""

    body: Array
    body_next: Array
    head: Array
    diversity: Array
    value: Array
    still: Array


def run(batch: TwoBatch, rounds: int) -> TwoPath:
    """Simulate ``rounds`` rounds, the last measure included."""
    clients = batch.clients
    u, v = batch.u0[:, None], batch.v0[:, None]
    told: list[list[Array]] = [[] for _ in range(5)]
    still = np.ones(batch.size, dtype=bool)
    eta_u, eta_v, rho = (_column(n) for n in (batch.eta_u, batch.eta_v, batch.rho))
    for _ in range(rounds + 1):
        mean = np.repeat(u.mean(-1, keepdims=True), clients.m, axis=-1)
        head, new = clients.gradient_v(u, v), v
        for _ in range(batch.K_v):
            new = new - eta_v * clients.gradient_v(u, new)
        ahead = clients.gradient_u(mean, new)
        row = (
            clients.gradient_u(mean, v).mean(-1)[:, 0] ** 2,
            ahead.mean(-1)[:, 0] ** 2,
            (head**2).mean((-1, -2)),
            ahead.var(-1)[:, 0],
            clients.value(mean, v).mean((-1, -2)),
        )
        for kept, value in zip(told, row, strict=True):
            kept.append(value)
        z = u
        for _ in range(batch.K_u):
            g = clients.gradient_u(z, new)
            z = z - eta_u * (clients.gradient_u(z + rho * np.sign(g), new) if batch.rho.any() else g)
        z = np.einsum("pij,pnj->pni", batch.W, z)
        moved = np.maximum(np.abs(z - u).max((1, 2)), np.abs(new - v).max((1, 2)))
        still = moved <= 4e-16 * (np.abs(z).max((1, 2)) + np.abs(new).max((1, 2)) + 1e-300)
        u, v = z, new
    path = TwoPath(*(np.array(kept) for kept in told), still=still)
    return _with_noise(batch, path) if batch.sigma_u.any() or batch.sigma_v.any() else path


def _with_noise(batch: TwoBatch, path: TwoPath) -> TwoPath:
    """What the variances of ubar and of the v_i add, round by round; noisy states never stand still."""
    rounds = len(path.value)
    h_u = batch.clients.ramps.constants()["L"]
    shared = _variances(batch.eta_u * h_u, batch.eta_u * batch.sigma_u, batch.K_u, rounds) / batch.clients.m
    own = _variances(batch.eta_v * batch.clients.h, batch.eta_v * batch.sigma_v, batch.K_v, rounds)
    path.body, path.body_next = path.body + h_u**2 * shared, path.body_next + h_u**2 * shared
    path.head = path.head + batch.clients.h**2 * own
    path.value = path.value + h_u / 2 * shared + batch.clients.h / 2 * own
    path.still = path.still & (batch.sigma_u == 0) & (batch.sigma_v == 0)
    return path


def _variances(step: Array, kick: Array, K: int, rounds: int) -> Array:
    """Var before rounds 0, 1, ... of y <- (1 - step) y - kick xi, K times a round, from 0."""
    shrink = (1 - step) ** (2 * K)
    fresh = kick**2 * sum((1 - step) ** (2 * j) for j in range(K))
    kept = [np.zeros_like(fresh)]
    for _ in range(rounds - 1):
        kept.append(shrink * kept[-1] + fresh)
    return np.array(kept)


def left_side(theorem: Theorem, path: TwoPath, values: dict[str, Array]) -> Array:
    """The measure of the theorem in every round, (R + 1, P)."""
    L_u, L_v = values["L_u"], values["L_v"]
    if theorem.lhs.measure == "two_block":
        return path.body / L_u + path.head / L_v
    if theorem.lhs.measure == "two_block_next":
        return path.body_next / L_u + path.head / L_v
    a, b = values["eta_u"] * values["K_u"], values["eta_v"] * values["K_v"]
    return (a * path.body_next + b * path.head) / 4


def glossary(batch: TwoBatch, path: TwoPath, start: int, network: dict[str, Array]) -> dict[str, Array]:
    """Every quantity that a two-block statement may ask for, (P,) each; ``delta_u`` for all u and V."""
    known = batch.clients.constants()
    ones = np.ones(batch.size)
    gap = path.value[min(start, len(path.value) - 1)] - known["f_star"]
    values = {name: v for name, v in known.items() if name != "f_star"}
    values |= {"f0_gap": np.maximum(gap, 0.0) + 1e-13 * np.abs(known["f_star"])}
    values |= {"x0_spread": batch.u0.var(-1), "m": batch.clients.m * ones, "lam": network["lam"] * ones}
    names = ("eta_u", "eta_v", "rho", "sigma_u", "sigma_v")
    values |= {name: getattr(batch, name) * ones for name in names}
    return values | {"K_u": batch.K_u * ones, "K_v": batch.K_v * ones}


def score(theorem: Theorem, batch: TwoBatch, network: dict[str, Array], rounds: int) -> Scores:
    """Measured over bound, each candidate at its worst horizon.

    Theorem M asks for the diversity along the trajectory alone, so that its mean square there is taken.
    """
    path = run(batch, rounds)
    known = batch.clients.constants()
    values = glossary(batch, path, theorem.lhs.start, network)
    valid = np.isfinite(known["f_star"]) & (known["L_u"] > 0) & np.isfinite(path.value).all(0)
    if "rho" not in theorem.needs:
        valid &= batch.rho == 0
    data = left_side(theorem, path, values)
    horizons = np.unique(np.round(np.geomspace(2, rounds, 14)).astype(int))
    horizons = np.array([*horizons, *LONG])
    left = np.stack([_mean(theorem, data, int(T), path.still) for T in horizons])
    left = np.where(left < FLOOR * data.max(0), 0.0, left)
    diversity = np.stack([_along(path.diversity, int(T)) for T in horizons])
    grid = {name: np.broadcast_to(v, left.shape) for name, v in values.items()}
    grid |= {"T": np.repeat(horizons[:, None], batch.size, 1), "delta_u": np.sqrt(diversity)}
    grid = {n: np.where(valid & np.isfinite(v), v, 0.5 if n == "lam" else 1.0) for n, v in grid.items()}
    return judged(theorem, left, grid, valid, batch.x0)


def _mean(theorem: Theorem, data: Array, T: int, still: Array) -> Array:
    span = theorem.lhs.rounds(T)
    have = data[span.start : min(span.stop, len(data))]
    value = (have.sum(0) + (len(span) - len(have)) * data[-1]) / len(span)
    return value if span.stop <= len(data) else np.where(still, value, np.nan)


def _along(diversity: Array, T: int) -> Array:
    """The mean diversity of rounds 0..T-1; the last one repeats."""
    have = diversity[:T]
    return (have.sum(0) + (T - len(have)) * diversity[-1]) / T


def diversity_along(batch: TwoBatch, T: int) -> float:
    """The root mean square diversity of one candidate's trajectory over T rounds."""
    return float(np.sqrt(_along(run(batch, min(T, 3000)).diversity, T)[0]))


def at_horizon(theorem: Theorem, batch: TwoBatch, values: dict[str, Any], T: int) -> dict[str, float]:
    """Measured, bound and ratio of a batch of one candidate at one horizon, as for the other papers."""
    path = run(batch, min(T, 3000))
    numbers = {name: np.asarray(v, dtype=float) for name, v in values.items()}
    measured = float(_mean(theorem, left_side(theorem, path, numbers), T, np.array([True]))[0])
    bound = float(np.asarray(theorem.evaluate(where="ignore", **(values | {"T": T}))))
    ratio = measured / bound if bound > 0 else float("inf")
    return {"T": T, "measured": measured, "bound": bound, "ratio": ratio, "still": bool(path.still[0])}


def _column(value: Array) -> Array:
    return value.reshape(-1, 1, 1)


__all__ = ["TwoBatch", "TwoPath", "at_horizon", "diversity_along", "glossary", "left_side", "run", "score"]
