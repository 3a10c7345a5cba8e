r"""The low-rank form: only d directions of the state matter for the mean model, whatever m is.

With a constant round map s' = M s + k + noise of covariance C, and the mean model xbar = R s (d rows),

    Cov xbar^t = sum_{k < t} (R M^k) C (R M^k)',

so that d rows are carried backwards instead of a covariance of (p m d)^2 entries: O(m^2 d^2 + m d^3) a round
in place of O(m^3 d^3). The consensus error has full rank and is not told by this form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.analysis.exact.engine import Engine, measure
from dfltheory.analysis.exact.moments import ClientMap, Moments, one_round, start
from dfltheory.analysis.exact.rules import Rule
from dfltheory.errors import InputError

Array = NDArray[Any]


def low_rank_measures(engine: Engine, x0: Array, rounds: int) -> dict[str, Array]:
    """``grad_norm_sq``, ``loss`` (and ``grad_norm_sq_w``) of rounds 0..``rounds``; ``consensus`` is nan."""
    if not engine.autonomous or engine.sequence.random:
        raise InputError(
            "the low-rank form needs one constant matrix and a constant step size: use form='dense'"
        )
    problem = engine.problem
    rule, local = engine.build(0, np.ones(problem.m))
    laws = engine.laws(0, rule)
    W = np.linalg.multi_dot([law[0][1] for law in laws[::-1]]) if len(laws) > 1 else laws[0][0][1]
    still = ClientMap(local.map, local.shift, np.zeros_like(local.noise))
    aims = {"": rule.aim} | ({"_w": rule.auxiliary} if rule.auxiliary is not None else {})
    spreads = {tag: _covariances(aim, rule, local, W, rounds) for tag, aim in aims.items()}
    state = start(problem, rule, x0)
    told: dict[str, list[float]] = {}
    ones = np.ones(problem.m)
    for t in range(rounds + 1):
        now = measure(problem, state, rule, ones)
        now["consensus"] = np.nan
        for tag, cov in spreads.items():
            H = problem.mean_hessian
            now[f"grad_norm_sq{tag}"] += float(np.einsum("zij,zjk,zik->", H, cov[t], H))
        now["loss"] += float(np.einsum("zij,zji->", problem.mean_hessian, spreads[""][t])) / 2
        for name, value in now.items():
            told.setdefault(name, []).append(value)
        state = one_round(Moments(state.mu), still, rule, laws)
    return {name: np.array(values) for name, values in told.items()}


def _covariances(aim: Array, rule: Rule, local: ClientMap, W: Array, rounds: int) -> Array:
    """Cov of (1/m) sum_i aim . s_i after 0..rounds rounds, (rounds + 1, B, b, b)."""
    B, m, r, b, p, _ = local.map.shape
    rows = np.broadcast_to(np.einsum("p,ab->apb", aim, np.eye(b)) / m, (B, m, b, p, b)).copy()
    mixed = np.array(rule.mixed)
    out = np.zeros((rounds + 1, B, b, b))
    for t in range(rounds):
        back = np.einsum("ziapb,pr->ziarb", rows, rule.receive)
        goes = back[:, :, :, mixed]
        back[:, :, :, mixed] = (W.T @ goes.reshape(B, m, -1)).reshape(goes.shape)
        flat = back.reshape(B, m, b, r * b)
        entered = flat @ local.noise.reshape(B, m, r * b, r * b) @ flat.swapaxes(-1, -2)
        out[t + 1] = out[t] + entered.sum(1)
        rows = (flat @ local.map.reshape(B, m, r * b, p * b)).reshape(B, m, b, p, b)
    return out


__all__ = ["low_rank_measures"]
