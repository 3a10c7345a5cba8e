"""The papers' claims about hyperparameters, compared with exact expectations.

The hyperparameters are K, m, rho, the penalty lambda and the momentum alpha.

On quadratics without SAM the expectations are exact (``dfl.exact_history``), so
rankings have no statistical error. With SAM they are means over seeds.
"""

from __future__ import annotations

import numpy as np

import dfltheory as dfl
from validation.claims import Claim, ordering_claim, value_claim

OTHER = "losses other than quadratics; other constants than these"


def run(quick: bool = True) -> tuple:
    """Return (claims, no outcomes)."""
    makers = (more_clients, more_local_steps, momentum, penalty, radius)
    return [claim for make in makers for claim in make(quick)], []


def late(history: dfl.training.History) -> np.ndarray:
    """Return each seed's mean of ||grad f(xbar^t)||^2 over the last tenth of a run."""
    values = history.grad_norm_sq
    return values[:, -max(1, values.shape[1] // 10) :].mean(axis=1)


def more_clients(quick: bool) -> list[Claim]:
    """Claim that the noise floor decreases as 1/m, the linear speed-up.

    If all clients share one Hessian, the floor is exactly c/m.
    """
    rounds, floors = 400 if quick else 4000, {}
    for m in (4, 16, 64):
        task = dfl.tasks.quadratic(m=m, d=4, mu=0.5, zeta=0.3, sigma=0.3, seed=0)
        method = dfl.algorithms.DFedAvg(eta=0.05, K=5)
        floors[m] = late(
            dfl.exact_history(method, task, dfl.graphs.complete(m), rounds=rounds)
        )
    source = (
        "DFedADMM paper, remark on the linear speed-up; the corrected noise terms"
        " sigma_l^2/m"
    )
    claim = "the noise floor falls as 1/m: from m = 4 to 64"
    return [
        value_claim(
            claim, source, 16.0, float(floors[4][0] / floors[64][0]), 0.05, OTHER
        )
    ]


def more_local_steps(quick: bool) -> list[Claim]:
    """Claim that more local steps reach a small gradient in fewer rounds.

    The step size is fixed, and optimization error dominates.
    """
    task = dfl.tasks.quadratic(m=16, d=10, mu=0.05, zeta=0.0, sigma=0.0, seed=0)
    after = {}
    for K in (1, 5, 25):
        method = dfl.algorithms.DFedAvg(eta=0.02, K=K)
        history = dfl.exact_history(method, task, dfl.graphs.complete(16), rounds=60)
        after[f"K = {K}"] = history.grad_norm_sq[:, -1]
    source = "Shi et al. 2023 (DFedSAM), Corollary 4.6: the rate 1/sqrt(K T)"
    return [
        ordering_claim(
            "gradient norm after 60 rounds falls with K", source, after, OTHER
        )
    ]


def momentum(quick: bool) -> list[Claim]:
    """Claim that momentum speeds up the first rounds and raises the noise floor."""
    early, floor = {}, {}
    for alpha in (0.0, 0.5, 0.9):
        method = dfl.algorithms.DFedSGPM(eta=0.02, K=5, alpha=alpha)
        P = dfl.graphs.column_stochastic(dfl.graphs.directed_exponential(8))
        calm = dfl.tasks.quadratic(m=8, d=4, mu=0.1, zeta=0.0, sigma=0.0, seed=0)
        noisy = dfl.tasks.quadratic(m=8, d=4, mu=0.1, zeta=0.0, sigma=0.3, seed=0)
        first_rounds = dfl.exact_history(method, calm, P, rounds=40)
        long_run = dfl.exact_history(method, noisy, P, rounds=600 if quick else 6000)
        early[f"alpha = {alpha}"] = first_rounds.grad_norm_sq[:, -1]
        floor[f"alpha = {alpha}"] = late(long_run)
    source = "DFedSGPSM paper, Theorem 1: (1 - alpha) f0_gap and sigma_l^2/(1 - alpha)"
    rising = dict(reversed(floor.items()))
    return [
        ordering_claim(
            "gradient norm after 40 rounds falls with alpha", source, early, OTHER
        ),
        ordering_claim("the noise floor rises with alpha", source, rising, OTHER),
    ]


def penalty(quick: bool) -> list[Claim]:
    """Claim that a smaller penalty parameter of DFedADMM reduces the disagreement."""
    task = dfl.tasks.quadratic(m=8, d=4, mu=0.1, zeta=0.3, sigma=0.1, seed=0)
    errors = {}
    for lam in (0.4, 0.2, 0.1):
        method = dfl.algorithms.DFedADMM(eta=0.02, K=10, lam=lam)
        history = dfl.exact_history(
            method, task, dfl.graphs.ring(8), rounds=300 if quick else 3000
        )
        errors[f"lambda = {lam}"] = history.consensus[:, -30:].mean(axis=1)
    source = "DFedADMM paper, Theorem 1: the consensus term grows with lambda"
    return [
        ordering_claim(
            "consensus error falls with the penalty parameter lambda",
            source,
            errors,
            OTHER,
        )
    ]


def radius(quick: bool) -> list[Claim]:
    """Claim that the floor grows with rho, as the sharpness term ~ L^2 rho^2 does."""
    task = dfl.tasks.quadratic(m=8, d=4, mu=0.1, zeta=0.0, sigma=0.1, seed=0)
    floors = {}
    for rho in (0.2, 0.1, 0.0):
        method = dfl.algorithms.DFedSAM(eta=0.05, K=5, rho=rho)
        history = dfl.train(
            method, task, dfl.graphs.ring(8), rounds=400 if quick else 4000, seeds=16
        )
        floors[f"rho = {rho}"] = late(history)
    source = "Shi et al. 2023 (DFedSAM), Theorem 4.5: the sharpness term ~ L^2 rho^2"
    return [
        ordering_claim(
            "the floor of the gradient norm falls with rho", source, floors, OTHER
        )
    ]
