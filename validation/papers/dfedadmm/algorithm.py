"""DFedADMM as vectors of the kernel.

With r = eta/lam_admm, K local steps move x by -lam_admm sum_{j<K} r (1-r)^(K-1-j) (g_j
- dual), and the auxiliary w = xbar - lam_admm theta (mean dual) moves by
-(lam_admm/gamma) times the mean of the weighted sum.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs.moments import DUAL, SAMPLED, Algorithm, Lag, X, count, k, lag
from validation.papers.dfedadmm.notation import gamma

L, K, pen = s.L, s.K, s.lam_admm
share = s.eta / pen
BEFORE = sp.Symbol("p", nonnegative=True)
WEIGHTS = Lag(
    share * (1 - share) ** (lag - 1),
    1 - (1 - share) ** count,
    share * (1 - (1 - share) ** (2 * count)) / (2 - share),
    gamma,
    BEFORE,
    share * gamma * (2 - gamma) / (2 - share),
)
NEW = DUAL * (1 - gamma) + SAMPLED.sum(K, WEIGHTS)
THETA = (1 - gamma) / gamma
A = Algorithm(
    "DFedADMM",
    X - (SAMPLED - DUAL).sum(k, WEIGHTS) * pen,
    X - NEW * pen,
    X.mean() - DUAL.mean() * (pen * THETA),
    NEW,
)
w = A.mean_model
own, g = A.grad(w), A.full(w)
