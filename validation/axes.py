"""Bound and measurement as functions of the spectral gap, local steps and clients.

The statement is the corrected Theorem 4.5 of DFedSAM at its corollary's step sizes,
without SAM. In each of three problems a different term of the bound dominates:
consensus, optimization or noise. All results are deterministic: the runs are noiseless,
or their expectations are computed exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import dfltheory as dfl
from dfltheory.counterexamples.problems import RampTask
from dfltheory.exact import exactly
from dfltheory.experiments.cases import Case, case_of, perform
from validation.claims import bound_claims
from validation.experiment_cases import slow_start

NOT_TESTED = (
    "Other values of the spectral gap, K and m, and settings in which several terms of"
    " the bound are of similar size."
)
GROUP = "bound and measured over the spectral gap, K and m"
NOTE = (
    "Over 1 − λ: one client is convex where the other is concave, so their"
    " disagreement over W = λI + (1 − λ)11ᵀ/m moves their mean, which starts close to"
    " the minimizer. The optimization term dominates on a well-connected network, and"
    " the consensus term, whose constant 16 is the loosest, on a poorly connected one."
    " Over K: noiseless descent along the flattest direction of a quadratic. Over m:"
    " noise only, starting at the minimizer."
)


def cases(quick: bool = True) -> Iterator[Case]:
    """Yield a run for each point of the three axes."""
    T = 1000 if quick else 10000
    # f_1' = 1 + x and f_2' = -1 - x/2 where |x| <= 0.3, constant beyond
    curved = RampTask([[-0.3], [-0.3]], [[0.6], [0.6]], [[1.0], [-0.5]], [0.7, -0.85])
    for gap in (0.95, 0.8, 0.6, 0.4, 0.3):
        near = torch.tensor([-0.15], dtype=curved.dtype)
        yield _case("lam", f"1 − λ = {gap}", curved, T, 1, gap, x0=near)
    flat = dfl.tasks.quadratic(m=4, d=2, L=1.0, mu=0.01, zeta=0.0, sigma=0.0, seed=0)
    for K in (1, 2, 4, 8):
        yield _case("K", f"K = {K}", flat, T, K, x0=slow_start(flat))
    for m in (2, 4, 8, 16):
        noisy = dfl.tasks.quadratic(
            m=m, d=1, L=1.0, mu=1.0, zeta=0.0, sigma=1.0, seed=0
        )
        yield _case("m", f"m = {m}", noisy, T, 1, x0=noisy.x_star)


def _case(
    along: str,
    column: str,
    task: dfl.tasks.Task,
    T: int,
    K: int,
    gap: float = 1.0,
    **further: Any,
) -> Case:
    W = (1 - gap) * np.eye(task.m) + gap / task.m
    placed = {
        "group": GROUP,
        "note": NOTE,
        "along": along,
        "column": column,
        "variants": ["corrected"],
    }
    return case_of(
        "dfedsam.theorem_4_5", task, W, T, K=K, rho0=0.0, seeds=1, **placed, **further
    )


def run(quick: bool = True) -> tuple:
    """Return (claims, outcomes)."""
    outcomes = []
    for case in cases(quick):
        run = exactly(case.runnable()) if case.along == "m" else None
        outcomes.append(perform(case, run=run))
    return bound_claims(outcomes, NOT_TESTED), outcomes
