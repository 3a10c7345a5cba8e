"""One round of each algorithm that proofs are about, as vectors of the kernel.

A proof is accepted for a theorem if its algorithm has the updates of the first class of
the theorem's scope, the most general one. Names do not count, nor does how a script
calls the sums of its weights. The tests compare these rounds with runs of the
algorithms, in which every outcome of every sample is enumerated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from dfltheory.proofs.moments import (
    DUAL,
    E_U,
    G_U,
    G_V,
    N_U,
    N_V,
    SAMPLED,
    X_U,
    X_V,
    XBAR,
    AlgorithmRound,
    Atom,
    G,
    Lag,
    N,
    Vec,
    X,
    count,
    is_zero,
    k,
    lag,
)

_pull = s.eta / s.lam_admm
_decay = 1 - _pull
_PENALIZED = Lag(
    weight=_pull * _decay ** (lag - 1),
    total=1 - _decay**count,
    squares=_pull * (1 - _decay ** (2 * count)) / (2 - _pull),
)
"""The weights of the gradients after n steps y <- y - eta (g - dual + (y -
x)/lam_admm).
"""
_gamma = 1 - _decay**s.K

_sum_of_powers = (1 - s.alpha**count) / (1 - s.alpha)
_sum_of_squares = (1 - s.alpha ** (2 * count)) / (1 - s.alpha**2)
_numerator = count - 2 * s.alpha * _sum_of_powers + s.alpha**2 * _sum_of_squares
_MOMENTUM = Lag(
    weight=(1 - s.alpha**lag) / (1 - s.alpha),
    total=(count - s.alpha * _sum_of_powers) / (1 - s.alpha),
    squares=_numerator / (1 - s.alpha) ** 2,
)
"""The weights of the gradients after n steps v <- alpha v + g, y <- y - eta v from
v = 0.
"""


def _gossip_sgd() -> AlgorithmRound:
    """K = 1: a sum over the steps has one term."""
    return AlgorithmRound(
        "DPSGD",
        local=X,
        sent=X - (G + N).sum(s.K) * s.eta,
        mean_model=X.mean(),
    )


def _local_sgd() -> AlgorithmRound:
    """K = 1, and an exact average in every window-th round."""
    return replace(_gossip_sgd(), name="LocalSGD", gossips=1 / s.window)


def _gossip_sam() -> AlgorithmRound:
    return AlgorithmRound(
        "DFedSAM",
        local=X - SAMPLED.sum(k) * s.eta,
        sent=X - SAMPLED.sum(s.K) * s.eta,
        mean_model=X.mean(),
        gossips=s.Q,
    )


def _admm_sam() -> AlgorithmRound:
    dual = DUAL * (1 - _gamma) + SAMPLED.sum(s.K, _PENALIZED)
    auxiliary_factor = s.lam_admm * (1 - _gamma) / _gamma
    return AlgorithmRound(
        "DFedADMMSAM",
        local=X - (SAMPLED - DUAL).sum(k, _PENALIZED) * s.lam_admm,
        sent=X - dual * s.lam_admm,
        mean_model=X.mean() - DUAL.mean() * auxiliary_factor,
        dual=dual,
    )


def _push_sum_momentum_sam() -> AlgorithmRound:
    return AlgorithmRound(
        "DFedSGPSM",
        local=X - SAMPLED.sum(k, _MOMENTUM).pushed() * s.eta,
        sent=X - SAMPLED.sum(s.K, _MOMENTUM).pushed() * s.eta,
        mean_model=XBAR,
    )


def _two_blocks(name: str, sampled: Vec) -> AlgorithmRound:
    """Return a round of a class of two blocks.

    ``sampled``: the stochastic gradient by which the shared part moves in a local step.
    """
    personal = G_V + N_V
    new_personal_part = X_V - personal.sum(s.K_v) * s.eta_v
    return AlgorithmRound(
        name,
        local=X_U - sampled.sum(k) * s.eta_u + new_personal_part,
        sent=X_U - sampled.sum(s.K_u) * s.eta_u,
        mean_model=X_U.mean() + X_V,
        personal=X_U + X_V - personal.sum(k) * s.eta_v,
        kept=new_personal_part,
    )


ROUNDS: Mapping[str, AlgorithmRound] = MappingProxyType(
    {
        "DPSGD": _gossip_sgd(),
        "LocalSGD": _local_sgd(),
        "DFedSAM": _gossip_sam(),
        "DFedADMMSAM": _admm_sam(),
        "DFedSGPSM": _push_sum_momentum_sam(),
        "DFedMDC": _two_blocks("DFedMDC", G_U + N_U),
        "DFedSMDC": _two_blocks("DFedSMDC", G_U + N_U + E_U),
    }
)
"""By the name of the package's class."""
ONE_LOCAL_STEP = frozenset({"DPSGD", "LocalSGD"})
"""The classes of which a round has one local step: K = 1."""
REQUIRED_HYPERPARAMETERS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "DPSGD": {"order": "adapt-then-combine"},
        "DFedSAM": {"order": "adapt-then-combine"},
        "DFedMDC": {"alpha": 0.0, "fresh": True, "sam": "u"},
        "DFedSMDC": {"alpha": 0.0, "fresh": True, "sam": "u"},
    }
)
"""The hyperparameters with which a class has these updates, as a theorem's scope states
them.
"""


def same_round(one: AlgorithmRound, other: AlgorithmRound) -> bool:
    """Return whether two algorithms have the same updates.

    Parameters
    ----------
    one, other : compared in every update and in the point of the theorem's gradient,
        but not by their names, nor by the symbols of their sums of weights
    """
    if not is_zero(one.gossips - other.gossips):
        return False
    vectors, other_vectors = updates(one), updates(other)
    meanings: dict[sp.Symbol, Expr] = {}
    for vector in (*vectors, *other_vectors):
        meanings |= _meanings(vector)
    for vector, other_vector in zip(vectors, other_vectors, strict=True):
        if not _same_vectors(vector, other_vector, meanings):
            return False
    return True


def updates(algorithm: AlgorithmRound) -> tuple[Vec | None, ...]:
    """Return all vectors of an algorithm; None: it has no such update."""
    return (
        algorithm.local,
        algorithm.sent,
        algorithm.mean_model,
        algorithm.dual,
        algorithm.personal,
        algorithm.kept,
    )


def _meanings(vector: Vec | None) -> dict[sp.Symbol, Expr]:
    """Return the symbols of a vector's sums of weights, in closed form."""
    meanings: dict[sp.Symbol, Expr] = {}
    for atom, _ in () if vector is None else vector.terms:
        if isinstance(atom.step, tuple):
            weights, _ = atom.step
            meanings |= weights.meanings
    return meanings


def _same_vectors(
    u: Vec | None, v: Vec | None, meanings: Mapping[sp.Symbol, Expr]
) -> bool:
    """Return whether two updates are equal, or both are absent."""
    if u is None or v is None:
        return u is v
    remaining = list(v.terms)
    for atom, c in u.terms:
        equal = []
        for other, other_c in remaining:
            if _same_atom(atom, other) and is_zero((c - other_c).subs(meanings)):
                equal.append((other, other_c))
        if len(equal) != 1:
            return False
        remaining.remove(equal[0])
    return not remaining


def _same_atom(a: Atom, b: Atom) -> bool:
    """Return whether two atoms are equal up to the symbols of their weights."""
    if _without_step(a) != _without_step(b):
        return False
    if not (isinstance(a.step, tuple) and isinstance(b.step, tuple)):
        return a.step == b.step
    (weights, n), (other_weights, other_n) = a.step, b.step
    return n == other_n and is_zero(weights.weight - other_weights.weight)


def _without_step(a: Atom) -> tuple[object, ...]:
    return (a.name, a.mean, a.point, a.pushed, a.block)


__all__ = [
    "ONE_LOCAL_STEP",
    "REQUIRED_HYPERPARAMETERS",
    "ROUNDS",
    "same_round",
    "updates",
]
