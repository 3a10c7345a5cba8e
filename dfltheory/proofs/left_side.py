"""The left-hand side of a theorem as moments of the algorithm of a proof."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.proofs.kernel import Fact
from dfltheory.proofs.moments import (
    DUAL,
    X_U,
    X_V,
    XBAR,
    Form,
    Vec,
    X,
    is_zero,
    sq,
)


def left_moments(theorem: Theorem, fact: Fact) -> Form:
    """Return the moments that the theorem's left-hand side is, or none.

    The algorithm is that of the fact.
    """
    lhs, T, alg = theorem.lhs, GLOSSARY["T"].symbol, fact.of
    if alg is None or (lhs.aggregate, lhs.first, lhs.last, lhs.start) != (
        "mean",
        0,
        T - 1,
        0,
    ):
        return {}
    w = alg.mean_model
    if theorem.scope.two_blocks != (alg.kept is not None):
        return {}
    if alg.kept is not None and w == X_U.mean() + X_V:
        later, shares = X_U.mean() + alg.kept, (1 / s.L_u, 1 / s.L_v)
        halved = (s.eta_u * s.K_u / 4, s.eta_v * s.K_v / 4)
        measured = {
            "two_block": (w, shares),
            "two_block_next": (later, shares),
            "two_block_weighted": (later, halved),
        }
        if lhs.measure not in measured:
            return {}
        mean_point, (first, second) = measured[lhs.measure]
        pair = {sq(alg.full(mean_point)): first, sq(alg.grad(X_U + X_V, "v")): second}
        return {m.at(rounds="mean"): c for m, c in pair.items()}
    measured = {"grad_norm_sq": (X.mean(), XBAR), "grad_norm_sq_w": (_auxiliary(fact),)}
    return (
        {sq(alg.full(w)).at(rounds="mean"): sp.S.One}
        if w in measured.get(lhs.measure, ())
        else {}
    )


def _auxiliary(fact: Fact) -> Vec:
    """Return the auxiliary point of DFedADMM, for the weights of the fact.

    Xbar - lam_admm ((1 - gamma)/gamma) mean dual, gamma = 1 - (1 - eta/lam_admm)^K the
    weights' sum.
    """
    share = s.eta / s.lam_admm
    gamma = 1 - (1 - share) ** s.K
    totals = [
        w.at
        for w in fact.lags
        if w.at is not None and is_zero(w.meanings[w.at] - gamma)
    ]
    total = totals[0] if totals else gamma
    return X.mean() - DUAL.mean() * (s.lam_admm * (1 - total) / total)


__all__ = ["left_moments"]
