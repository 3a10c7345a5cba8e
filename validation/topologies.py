"""The papers' claims about topologies: spectral gaps and rankings.

The stated gaps are those of Table 1 of the DFedMDC paper; they are compared with
computed ones. Topologies are ranked by the measured consensus error of DFedSAM on a
quadratic, with equal step sizes.
"""

from __future__ import annotations

import numpy as np

import dfltheory as dfl
from validation.claims import Claim, ordering_claim, value_claim
from validation.printed_constants import table1

SOURCE_GAPS = "DFedMDC paper, Table 1"
SOURCE_RANK = (
    "Shi et al. 2023 (DFedSAM), Section 4: the denser the graph, the smaller lambda and"
    " the error"
)


def run(quick: bool = True) -> tuple:
    """Return (claims, no outcomes)."""
    return [*gap_claims(), *ranking_claims(quick)], []


def gap_claims(m: int = 64) -> list[Claim]:
    """Return claims that stated gaps agree with computed ones to 10 percent.

    Gaps in O(.) are compared by their change from m to 4 m.
    """
    claims = []
    for name in ("complete", "ring", "grid", "directed_exponential"):
        small, large = table1(name, m), table1(name, 4 * m)
        if small.relation == "O":
            claim, limits = (
                f"gap of the {name} = O({small.formula})",
                "the constant of an O(.)",
            )
            stated, true = large.stated / small.stated, large.true / small.true
            claims.append(
                value_claim(
                    f"{claim}: from m = {m} to {4 * m}",
                    SOURCE_GAPS,
                    stated,
                    true,
                    0.1,
                    limits,
                )
            )
        else:
            claim = f"gap of the {name} {small.relation} {small.formula} at m = {m}"
            claims.append(
                value_claim(
                    claim, SOURCE_GAPS, small.stated, small.true, 0.1, "other weights"
                )
            )
    return claims


def consensus(name: str, Q: int, quick: bool) -> np.ndarray:
    """Return each seed's mean consensus error over the second half of a run."""
    task = dfl.tasks.quadratic(m=16, d=10, mu=0.1, zeta=0.3, sigma=0.3, seed=0)
    W = dfl.graphs.metropolis(dfl.graphs.topology(name, 16))
    method = dfl.algorithms.DFedSAM(eta=0.02, K=5, rho=0.01, Q=Q)
    run = dfl.train(method, task, W, rounds=300 if quick else 3000, seeds=8)
    return run.consensus[:, run.consensus.shape[1] // 2 :].mean(axis=1)


def ranking_claims(quick: bool) -> list[Claim]:
    """Claim that the consensus error decreases with density and gossip steps."""
    other = "m other than 16; losses other than quadratics; test accuracy"
    names = ("ring", "torus", "exponential", "complete")
    graphs = {name: consensus(name, 1, quick) for name in names}
    steps = {f"Q = {Q}": consensus("ring", Q, quick) for Q in (1, 2, 4, 8)}
    return [
        ordering_claim(
            "consensus error: ring > torus > exponential > complete",
            SOURCE_RANK,
            graphs,
            other,
        ),
        ordering_claim(
            "consensus error on the ring falls with Q (MGS)", SOURCE_RANK, steps, other
        ),
    ]
