"""DFedADMM as vectors of the kernel.

With r = eta/lam_admm, K local steps move x by -lam_admm sum_{j<K} r (1-r)^(K-1-j) (s_j
- dual), where s_j is the stochastic gradient ``SAMPLED``. The auxiliary w = xbar -
lam_admm theta (mean dual) moves by -(lam_admm/gamma) times the mean over the clients of
the weighted sum of the s_j.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs.moments import (
    DUAL,
    SAMPLED,
    AlgorithmRound,
    Lag,
    X,
    count,
    k,
    lag,
)
from validation.papers.dfedadmm.notation import gamma

L, K, pen = s.L, s.K, s.lam_admm
share = s.eta / pen
BEFORE = sp.Symbol("p", nonnegative=True)
"""The sum of the weights of K - 1 steps."""
decay = 1 - share
WEIGHTS = Lag(
    weight=share * decay ** (lag - 1),
    total=1 - decay**count,
    squares=share * (1 - decay ** (2 * count)) / (2 - share),
    at=gamma,
    before=BEFORE,
    squared=share * gamma * (2 - gamma) / (2 - share),
)
# the dual of the next round
NEW = DUAL * (1 - gamma) + SAMPLED.sum(K, WEIGHTS)
THETA = (1 - gamma) / gamma
A = AlgorithmRound(
    "DFedADMM",
    local=X - (SAMPLED - DUAL).sum(k, WEIGHTS) * pen,
    sent=X - NEW * pen,
    mean_model=X.mean() - DUAL.mean() * (pen * THETA),
    dual=NEW,
)
w = A.mean_model
own, g = A.grad(w), A.full(w)
"""The clients' gradients at w, grad f_i(w), and their mean grad f(w)."""
