"""Bounds compared with measured gradient norms on MNIST and CIFAR-10.

The constants are estimated, first along a short pilot run, to choose the step sizes,
and then along the run that is judged. Every verdict states that it is about the theorem
with estimated constants. Step sizes are just small enough for the theorem's condition,
so the models learn little in so few rounds. The official image files must be below
``DFLTHEORY_DATA_ROOT``; without them nothing is run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

import dfltheory as dfl
from dfltheory.algorithms.base import Algorithm, State
from dfltheory.constants import ProblemConstants
from dfltheory.experiments.cases import Case, Outcome
from dfltheory.graphs.matrices import Matrix
from dfltheory.tasks import estimate
from dfltheory.verdicts.compare import compare
from validation.claims import Claim, bound_claims
from validation.experiment_cases import with_constants

NOT_TESTED = (
    "The assumptions away from the run's iterates; the complete image sets (subsets"
    " are used); the papers' horizons."
)
M, K = 4, 3
Constants = Mapping[str, float]


def run(quick: bool = True) -> tuple:
    """Return (claims, outcomes); without image files, a claim that nothing was run."""
    if not os.environ.get("DFLTHEORY_DATA_ROOT"):
        why = (
            "nothing was run: set DFLTHEORY_DATA_ROOT to a folder with the official"
            " image files"
        )
        return [
            Claim(
                "bounds on MNIST and CIFAR-10",
                "all four",
                "not run",
                "not applicable",
                None,
                why,
            )
        ], []
    rounds, outcomes = 40 if quick else 1000, []
    for task in tasks(quick):
        outcomes += held(task, rounds)
    return bound_claims(outcomes, NOT_TESTED), outcomes


def tasks(quick: bool) -> list[dfl.tasks.Supervised]:
    """Return subsets of MNIST and CIFAR-10, with the papers' networks if not quick."""
    sizes = (
        {"mnist": 160, "cifar10": 160} if quick else {"mnist": 4000, "cifar10": 1000}
    )
    divided: dict[str, Any] = {"partition": "dirichlet", "alpha": 0.6, "batch": 10}
    models = (
        dict.fromkeys(sizes, "mlp")
        if quick
        else {"mnist": "mnist_2nn", "cifar10": "cifar_cnn"}
    )
    return [
        dfl.tasks.image_task(
            name, m=M, model=models[name], examples=n, test_examples=200, **divided
        )
        for name, n in sizes.items()
    ]


def dfedsam(c: Constants) -> Algorithm:
    """Return DFedSAM with eta just below 1/(10 K L)."""
    return dfl.algorithms.DFedSAM(eta=0.9 / (10 * K * c["L"]), K=K, rho=0.01)


def dfedadmm(c: Constants) -> Algorithm:
    """Return DFedADMM with eta just below 1/(96 K L), lambda = sqrt(K) eta.

    This is the lambda of the corollary. Without SAM, S2 is known.
    """
    unit = 0.9 / (96 * K * c["L"])
    return dfl.algorithms.DFedADMM(eta=unit, K=K, lam=K**0.5 * unit)


def dfedsgpsm(c: Constants) -> Algorithm:
    """Return DFedSGPSM with eta just below delta/(8 K L), delta = 1 on the ring."""
    eta = 0.9 / (8 * K * c["L"])
    return dfl.algorithms.DFedSGPSM(eta=eta, K=K, alpha=0.5, rho=0.01)


def dfedmdc(c: Constants) -> Algorithm:
    """Return DFedMDC with eta_u K_u L_u = eta_v K_v L_v just below 1/32.

    This is the condition at lambda = 0.
    """
    eta_u, eta_v = 0.9 / (32 * K * c["L_u"]), 0.9 / (32 * K * c["L_v"])
    return dfl.algorithms.DFedMDC(eta_u=eta_u, eta_v=eta_v, K_u=K, K_v=K)


ALGORITHMS = {
    "dfedsam.theorem_4_5": dfedsam,
    "dfedadmm.theorem_1": dfedadmm,
    "dfedsgpsm.theorem_1": dfedsgpsm,
    "dfedmdc.theorem_1": dfedmdc,
}
"""Statement -> function of the constants that returns its algorithm, with step sizes
just small enough for the statement's condition.
"""


def held(task: dfl.tasks.Supervised, rounds: int) -> list[Outcome]:
    """Run each paper's algorithm and compare it with the paper's theorem."""
    first = constants_along(task, estimate.pilot(task, steps=10, keep=2))
    task = task.with_constants(first)
    W = dfl.graphs.metropolis(dfl.graphs.complete(M))
    P = dfl.graphs.column_stochastic(dfl.graphs.directed_ring(M))
    outcomes = []
    for key, build in ALGORITHMS.items():
        algorithm = build(first.known())
        network = P if algorithm.mixing == "column-stochastic" else W
        outcomes.append(judged(task, key, algorithm, network, rounds))
    return outcomes


def judged(
    task: dfl.tasks.Supervised, key: str, algorithm: Algorithm, W: Matrix, rounds: int
) -> Outcome:
    """Run, estimate constants along the run, and compare variants with constants."""
    means: list[torch.Tensor] = []
    case = Case(
        group=f"{task.name}, constants estimated along the run",
        row=type(algorithm).__name__,
        column=f"m = {M}",
        instance=dfl.Instance(task, algorithm, W, rounds=rounds, seeds=2),
        key=key,
        variants=with_constants(key),
        note=(
            f"{M} clients, {int(task.sizes.sum())} images, K = {K}, T = {rounds}; step"
            " sizes just inside the condition."
        ),
    )
    history = case.runnable().run(callbacks=[keep(means, algorithm, rounds)])
    uses_sam = getattr(algorithm, "rho", 0.0) > 0
    constants = constants_along(task, torch.stack(means), uses_sam)
    history = replace(history, constants=constants)
    verdicts = [compare(history, key, variant=v) for v in case.variants or ()]
    return Outcome(case, history, tuple(verdicts))


def keep(
    means: list[torch.Tensor], algorithm: Algorithm, rounds: int
) -> Callable[..., None]:
    """Return a callback that appends mean models of the first seed to ``means``.

    It stores the models after the first, a middle and the last round.
    """

    def callback(t: int, state: State, recorder: object) -> None:
        if t in (1, rounds // 2, rounds):
            means.append(algorithm.mean(state)[0].detach().clone())

    return callback


def constants_along(
    task: dfl.tasks.Supervised, points: torch.Tensor, sample_wise: bool = True
) -> ProblemConstants:
    """Return constants of f and of its two blocks, estimated at points (P, d).

    If ``sample_wise``, L covers every minibatch, as SAM's theorems require; otherwise
    it covers the f_i.
    """
    estimates = estimate.along(task, points, draws=16, steps=10, curvature_points=2)
    block_estimates = estimate.blocks(
        task, points[-1:], draws=16, steps=10, clients=range(2)
    )
    names = ("L_u", "L_v", "L_uv", "L_vu", "chi", "sigma_u", "sigma_v", "delta_u")
    block_constants = block_estimates.constants(sample_wise)
    of_blocks = {name: getattr(block_constants, name) for name in names}
    constants = estimates.constants(sample_wise)
    return replace(
        constants,
        **of_blocks,
        standing={**constants.standing, **block_constants.standing},
    )
