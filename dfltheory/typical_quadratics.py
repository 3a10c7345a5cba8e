"""Quadratic clients with given constants, and exact expectations on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.best_bounds import constants
from dfltheory.checks.everyday import everyday
from dfltheory.errors import InputError
from dfltheory.verdicts.hyperparameters import hyperparameter_fields
from dfltheory.verdicts.schedule import covered_algorithm

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.tasks.quadratics import Quadratic


def model(values: Mapping[str, float], d: int = 6, seed: int = 0) -> Quadratic:
    """Return m quadratic clients with the given L, sigma_l, sigma_g and f0_gap.

    The start is 0, and the common Hessian has eigenvalues from L/10 to L.
    """
    from dfltheory.tasks.random_quadratics import quadratic

    known = everyday(("L", "sigma_l", "sigma_g", "f0_gap", "m")) | dict(values)
    m, L = int(known["m"]), float(known["L"])
    zeta = float(known["sigma_g"]) if m > 1 else 0.0
    sigma = float(known["sigma_l"])
    far = quadratic(m, d, L, L / 10, zeta=zeta, sigma=sigma, seed=seed)
    start_loss = float(far.global_loss(far.x_star[None] * 0)[0])
    gap = start_loss - float(far.constants.f_star or 0.0)
    distance = math.sqrt(float(known["f0_gap"]) / gap)
    return quadratic(
        m, d, L, L / 10, zeta=zeta, sigma=sigma, seed=seed, distance=distance
    )


def expectation(
    theorem: Theorem,
    values: Mapping[str, float],
    steps: Mapping[str, float],
    topology: object,
) -> float:
    """Return the exact mean over rounds 0..T-1 of E||grad f(xbar^t)||^2 on a model.

    It is an upper bound of the minimum over rounds, and nan if the theorem's algorithm
    is not affine.

    Without a ``topology`` the network is (1 - lam) 11'/m + lam I, whose contraction is
    lam.
    """
    from dfltheory.exact import average_over

    of_a_mean = theorem.lhs.measure == "grad_norm_sq" and theorem.lhs.aggregate in (
        "mean",
        "min",
    )
    if not of_a_mean or theorem.scope.two_blocks:
        return math.nan
    known = {**values, **constants(theorem, values), **steps}
    task = model(known)
    W = topology
    if W is None:
        lam = float(known.get("lam", known.get("q", 0.0)))
        W = lam * np.eye(task.m) + (1 - lam) / task.m
    kind, rounds = covered_algorithm(theorem), int(known["T"])
    try:
        if not steps:  # a corollary contains its schedule
            given = {"m": task.m, **everyday(("L", "f0_gap")), **known}
            known |= theorem.step_sizes(**given)
        algorithm = kind(**hyperparameter_fields(kind, {**theorem.neutral, **known}))
        return average_over(
            algorithm, task, W if kind.needs_topology else None, rounds
        )["grad_norm_sq"]
    # SAM is not affine; a TypeError means that a hyperparameter has no value
    except (InputError, TypeError):
        return math.nan


__all__ = ["expectation", "model"]
