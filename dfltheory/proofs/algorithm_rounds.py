"""One round of each algorithm that proofs are about, as vectors of the kernel.

A proof is accepted for a theorem if its algorithm has the updates of the first class of
the theorem's scope, the most general one. Names do not count, nor does how a script
calls the sums of its weights. The tests compare these rounds with runs of the
algorithms, in which every outcome of every sample is enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    Algorithm,
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

_share = s.eta / s.lam_admm
_left = 1 - _share
_PENALIZED = Lag(
    weight=_share * _left ** (lag - 1),
    total=1 - _left**count,
    squares=_share * (1 - _left ** (2 * count)) / (2 - _share),
)
"""After n steps y <- y - eta (g - dual + (y - x)/lam_admm), gradients count by these
weights.
"""
_gamma = 1 - _left**s.K

_once = (1 - s.alpha**count) / (1 - s.alpha)
_twice = (1 - s.alpha ** (2 * count)) / (1 - s.alpha**2)
_MOMENTUM = Lag(
    weight=(1 - s.alpha**lag) / (1 - s.alpha),
    total=(count - s.alpha * _once) / (1 - s.alpha),
    squares=(count - 2 * s.alpha * _once + s.alpha**2 * _twice) / (1 - s.alpha) ** 2,
)
"""After n steps v <- alpha v + g, y <- y - eta v from v = 0, gradients count by these
weights.
"""


def _gossip_sgd() -> Algorithm:
    """K = 1: a sum over the steps has one term."""
    return Algorithm(
        "DPSGD",
        local=X,
        sent=X - (G + N).sum(s.K) * s.eta,
        mean_model=X.mean(),
    )


def _gossip_sam() -> Algorithm:
    return Algorithm(
        "DFedSAM",
        local=X - SAMPLED.sum(k) * s.eta,
        sent=X - SAMPLED.sum(s.K) * s.eta,
        mean_model=X.mean(),
        gossips=s.Q,
    )


def _admm_sam() -> Algorithm:
    dual = DUAL * (1 - _gamma) + SAMPLED.sum(s.K, _PENALIZED)
    return Algorithm(
        "DFedADMMSAM",
        local=X - (SAMPLED - DUAL).sum(k, _PENALIZED) * s.lam_admm,
        sent=X - dual * s.lam_admm,
        mean_model=X.mean() - DUAL.mean() * (s.lam_admm * (1 - _gamma) / _gamma),
        dual=dual,
    )


def _push_sum_momentum_sam() -> Algorithm:
    return Algorithm(
        "DFedSGPSM",
        local=X - SAMPLED.sum(k, _MOMENTUM).pushed() * s.eta,
        sent=X - SAMPLED.sum(s.K, _MOMENTUM).pushed() * s.eta,
        mean_model=XBAR,
    )


def _two_blocks(name: str, sampled: Vec) -> Algorithm:
    personal = G_V + N_V
    kept_head = X_V - personal.sum(s.K_v) * s.eta_v
    return Algorithm(
        name,
        local=X_U - sampled.sum(k) * s.eta_u + kept_head,
        sent=X_U - sampled.sum(s.K_u) * s.eta_u,
        mean_model=X_U.mean() + X_V,
        personal=X_U + X_V - personal.sum(k) * s.eta_v,
        kept=kept_head,
    )


ROUNDS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "DPSGD": _gossip_sgd(),
        "DFedSAM": _gossip_sam(),
        "DFedADMMSAM": _admm_sam(),
        "DFedSGPSM": _push_sum_momentum_sam(),
        "DFedMDC": _two_blocks("DFedMDC", G_U + N_U),
        "DFedSMDC": _two_blocks("DFedSMDC", G_U + N_U + E_U),
    }
)
"""By the name of the package's class."""
ONE_LOCAL_STEP = frozenset({"DPSGD"})
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


def same_round(one: Algorithm, other: Algorithm) -> bool:
    """Return whether two algorithms have the same updates.

    Parameters
    ----------
    one, other : compared in every update and in the point of the theorem's gradient;
    not by name, nor by the
        symbols of their sums of weights.
    """
    pairs = [
        (one.local, other.local),
        (one.sent, other.sent),
        (one.mean_model, other.mean_model),
        (one.dual, other.dual),
        (one.personal, other.personal),
        (one.kept, other.kept),
    ]
    meanings = _meanings(v for pair in pairs for v in pair if v is not None)
    return is_zero(one.gossips - other.gossips) and all(
        _same_vectors(u, v, meanings) for u, v in pairs
    )


def _meanings(vectors: Iterable[Vec]) -> dict[sp.Symbol, Expr]:
    """Return the symbols of all sums of weights in closed form."""
    meanings: dict[sp.Symbol, Expr] = {}
    for atom in (atom for v in vectors for atom, _ in v.terms):
        if isinstance(atom.step, tuple):
            meanings |= atom.step[0].meanings
    return meanings


def _same_vectors(
    u: Vec | None, v: Vec | None, meanings: Mapping[sp.Symbol, Expr]
) -> bool:
    if u is None or v is None:
        return u is v
    rest = list(v.terms)
    for atom, c in u.terms:
        equal = [
            term
            for term in rest
            if _same_atom(atom, term[0]) and is_zero((c - term[1]).subs(meanings))
        ]
        if len(equal) != 1:
            return False
        rest.remove(equal[0])
    return not rest


def _same_atom(a: Atom, b: Atom) -> bool:
    """Return the same but for the names of a sum's totals."""
    plain = (a.name, a.mean, a.point, a.pushed, a.block) == (
        b.name,
        b.mean,
        b.point,
        b.pushed,
        b.block,
    )
    if not plain or not (isinstance(a.step, tuple) and isinstance(b.step, tuple)):
        return plain and a.step == b.step
    return a.step[1] == b.step[1] and is_zero(a.step[0].weight - b.step[0].weight)


__all__ = ["REQUIRED_HYPERPARAMETERS", "ONE_LOCAL_STEP", "ROUNDS", "same_round"]
