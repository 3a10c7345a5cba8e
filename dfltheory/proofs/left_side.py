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
    AlgorithmRound,
    Form,
    Vec,
    X,
    is_zero,
    sq,
)


def left_moments(theorem: Theorem, fact: Fact) -> Form:
    """Return the theorem's left-hand side as moments of the algorithm of a fact.

    Empty if it is not the mean of a squared gradient over the rounds 0..T-1, or of one
    block 1..T, or if it is taken at another point than the algorithm's mean model.
    """
    lhs, T, alg = theorem.lhs, GLOSSARY["T"].symbol, fact.of
    if alg is None or (lhs.aggregate, lhs.start) != ("mean", 0):
        return {}
    rounds = (lhs.first, lhs.last)
    if rounds not in ((0, T - 1), (1, T)):
        return {}
    if theorem.scope.two_blocks != (alg.kept is not None):
        return {}
    w = alg.mean_model
    if alg.kept is not None and w == X_U.mean() + X_V and rounds == (0, T - 1):
        return _two_block_moments(lhs.measure, alg, X_U.mean() + alg.kept)
    points = {"grad_norm_sq": [X.mean(), XBAR], "grad_norm_sq_w": [_auxiliary(fact)]}
    if w not in points.get(lhs.measure, ()):
        return {}
    gradient = sq(alg.full(w))
    mean = {gradient.at(rounds="mean"): sp.S.One}
    if rounds == (0, T - 1):
        return mean
    # over the rounds 1..T: round T is added, and round 0 is left out
    ends = {gradient.at(rounds="end"): 1 / T, gradient.at(rounds="start"): -1 / T}
    return mean | ends


def _two_block_moments(measure: str, alg: AlgorithmRound, next_model: Vec) -> Form:
    """Return a measure of models of two blocks; empty if it is another measure.

    It is a weighted sum of the squared gradients of the shared and the personal part.
    ``next_model``: the mean model with the personal part of the next round.
    """
    by_smoothness = (1 / s.L_u, 1 / s.L_v)
    by_steps = (s.eta_u * s.K_u / 4, s.eta_v * s.K_v / 4)
    measures = {
        "two_block": (alg.mean_model, by_smoothness),
        "two_block_next": (next_model, by_smoothness),
        "two_block_weighted": (next_model, by_steps),
    }
    if measure not in measures:
        return {}
    point, (weight_shared, weight_personal) = measures[measure]
    shared = sq(alg.full(point)).at(rounds="mean")
    personal = sq(alg.grad(X_U + X_V, "v")).at(rounds="mean")
    return {shared: weight_shared, personal: weight_personal}


def _auxiliary(fact: Fact) -> Vec:
    """Return the auxiliary point of DFedADMM.

    It is mean x - lam_admm ((1 - gamma)/gamma) mean dual, where gamma = 1 - (1 -
    eta/lam_admm)^K is the sum of the weights: the fact's symbol for it, if it has one.
    """
    gamma = 1 - (1 - s.eta / s.lam_admm) ** s.K
    for weights in fact.lags:
        symbol = weights.at
        if symbol is not None and is_zero(weights.meanings[symbol] - gamma):
            gamma = symbol
            break
    return X.mean() - DUAL.mean() * (s.lam_admm * (1 - gamma) / gamma)


__all__ = ["left_moments"]
