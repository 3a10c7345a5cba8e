"""Vectors and algorithms that the tests of the kernel share."""

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs.moments import (
    DUAL,
    SAMPLED,
    XBAR,
    AlgorithmRound,
    Atom,
    Vec,
    X,
    k,
)

U, V = (Vec.of(((Atom(name), sp.S.One),)) for name in ("u", "v"))
UK, VK = (Vec.of(((Atom(name, "k"), sp.S.One),)) for name in ("u", "v"))


def gossiping(step: sp.Expr, dual: Vec = DUAL) -> AlgorithmRound:
    """Return an algorithm with K local steps of this size and Q gossip steps; ``dual``
    is the next second state.
    """
    local, sent = X - SAMPLED.sum(k) * step, X - SAMPLED.sum(s.K) * step
    return AlgorithmRound("run", local, sent, X.mean(), dual, s.Q)


def push_sum(step: sp.Expr) -> AlgorithmRound:
    """Return an algorithm with one push-sum step after K local steps of this size."""
    return AlgorithmRound("push", X, X - (SAMPLED.sum(s.K) * step).pushed(), XBAR)
