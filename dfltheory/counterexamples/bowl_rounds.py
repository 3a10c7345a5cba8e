"""The gradient diversity of coupled bowls in all rounds after a state.

For clients F_i = r(u) + (h/2) v^2 + k sin(p u) sin(q v) with r' = s u + r'(0) on |u| <=
R, a box |u| <= U <= R, |v| <= c U with c = k p q/h is never left if c k p q U + |r'(0)|
<= s U and both step sizes are small, eta_u s <= 1 and eta_v h <= 1:

* |v - eta_v grad_v F| <= (1 - eta_v h) c U + eta_v k q |sin(p u)| <= c U,
* |u - eta_u grad_u F| <= (1 - eta_u s) U + eta_u (|r'(0)| + k p |sin(q v)|) <= U,
* gossip replaces each u by a mean of them, with the weights of W.

So with U from the clients' last models, the gradients in u at a common u differ from
their mean by at most k p |sin(q v)| <= c k p q U in all later rounds.

Two clients with x_2 = -x_1 and W = [[1 - w, w], [w, 1 - w]] stay so, because F(-u, -v)
= F(u, v). With lam = |1 - 2 w|, beta = 1 - (1 - eta_v h)^K_v, the last |u| = u_0 and
|v| = v_0, and V the largest later |v|, rounds in that box satisfy

* |v| <- (1 - beta) |v| + beta c |u|, so that V <= v_0 + c (beta sum of |u| where v = 0
  + largest |u| that v causes),
* |u| <- lam (|u| + eta_u K_u k p q V), so that these are at most u_0/(1 - lam) and lam
  eta_u K_u k p q V/(1 - lam).

That is an inequality for V, and the gradients differ by at most k p q V.
"""

from __future__ import annotations

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.ramps import per_problem
from dfltheory.counterexamples.splits import Splits

MARGIN = 1 + 1e-9
"""Factor by which the box is enlarged, for rounding errors."""


def later_diversity(batch: CandidateBatch, x: np.ndarray) -> np.ndarray:
    """Return a bound (P,) of delta_u in all rounds after the models x (P, m, 2).

    It is infinite where no box is known that the models never leave.
    """
    clients = batch.clients
    unknown = np.full(batch.size, np.inf)
    if not isinstance(clients, Splits) or not _takes_plain_steps(batch):
        return unknown
    if clients.knots.shape[-1] > 1:
        return unknown
    slope, start = clients.slopes[:, 0, 0], -clients.knots[:, 0, 0]
    R = np.minimum(start, clients.widths[:, 0, 0] - start)
    offset = np.abs(clients.left[:, 0] + slope * start)
    coupling = np.abs(clients.k * clients.p * clients.q)
    with np.errstate(all="ignore"):  # no coupling, or no parabola
        ratio = coupling / clients.h
        of_v = np.abs(x[..., 1]) / per_problem(ratio, 1)
        U = MARGIN * np.maximum(np.abs(x[..., 0]), of_v).max(1)
        steps = batch.algorithm.theory_values(2)
        stays = (
            _is_one_bowl(clients)
            & (coupling > 0)
            & (U <= R)
            & (ratio * coupling * U + offset <= slope * U)
            & (float(steps["eta_u"]) * slope <= 1)
            & (float(steps["eta_v"]) * clients.h <= 1)
            & (batch.W >= 0).all((1, 2, 3))
        )
        opposite = _largest_opposite(batch, clients.h, x, coupling, ratio)
        # r'(0) is 0 up to rounding, which moves both clients by about r'(0)/s
        opposite = opposite + 2 * ratio * offset / slope
        return np.where(stays, coupling * np.minimum(ratio * U, opposite), np.inf)


def _largest_opposite(
    batch: CandidateBatch,
    h: np.ndarray,
    x: np.ndarray,
    coupling: np.ndarray,
    ratio: np.ndarray,
) -> np.ndarray:
    """Return V of two opposite clients (P,); inf if they are not, or V is unknown."""
    if x.shape[1] != 2 or batch.period > 1 or batch.drawn or batch.copies > 1:
        return np.full(batch.size, np.inf)
    W = batch.W[:, 0]
    is_opposite = (x[:, 0] == -x[:, 1]).all(1)
    is_symmetric = (W[:, 0, 0] == W[:, 1, 1]) & (W[:, 0, 1] == W[:, 1, 0])
    lam = np.abs(W[:, 0, 0] - W[:, 0, 1])
    steps = batch.algorithm.theory_values(2)
    beta = 1 - (1 - steps["eta_v"] * h) ** steps["K_v"]
    u, v = np.abs(x[:, 0, 0]), np.abs(x[:, 0, 1])
    from_start = v + ratio * beta * u / (1 - lam)
    returned = ratio * lam * steps["eta_u"] * steps["K_u"] * coupling / (1 - lam)
    is_known = is_opposite & is_symmetric & (lam < 1) & (returned < 1)
    return np.where(is_known, MARGIN * from_start / (1 - returned), np.inf)


def _takes_plain_steps(batch: CandidateBatch) -> bool:
    """Return whether local steps are gradient steps, without noise or other terms."""
    algorithm = batch.algorithm
    absent = ("rho", "alpha", "weight_decay")
    return not batch.sigma.any() and not any(
        getattr(algorithm, name, 0.0) for name in absent
    )


def _is_one_bowl(clients: Splits) -> np.ndarray:
    """Return where all clients have the same bowl around u = v = 0."""
    same = [
        (a == a[:, :1]).all(tuple(range(1, a.ndim)))
        for a in (clients.knots, clients.widths, clients.slopes, clients.left)
    ]
    return np.logical_and.reduce([*same, (clients.b == 0).all(1), clients.h > 0])


__all__ = ["later_diversity"]
