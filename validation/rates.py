"""Experiments in which every constant of a rate can be chosen independently.

The clients are one-dimensional quadratics f_i(x) = a_i/2 (x - b_i)^2; f has its
minimizer at 0. The mixing matrix is W = lam I + (1 - lam) 11'/m, whose lam does not
depend on m. The step sizes follow the theorem's schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dfltheory.bounds.theorem import Theorem
from dfltheory.rates import with_gap
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.training.instance import Instance
from dfltheory.verdicts.schedule import scheduled_algorithm


def clients(
    theorem: Theorem,
    *,
    T: float = 10**6,
    K: int = 1,
    m: int = 8,
    gap: float = 0.5,
    sigma_l: float = 0.0,
    sigma_g: float = 0.0,
    rho0: float = 0.0,
    f0_gap: float = 0.0,
    L: float = 1.0,
    seeds: int = 16,
    **hyperparameters: float,
) -> Instance:
    """Return an experiment with these constants at a theorem's schedule.

    Parameters
    ----------
    T, K, m : rounds, local steps, clients
    gap : 1 - lam of the network
    sigma_l : root mean square of the gradient noise
    sigma_g : heterogeneity at the minimizer. If it is positive, curvatures alternate
        between L/2 and L: for equal curvatures the mean model would not depend on the
        network
    rho0 : SAM's radius is rho = rho0/sqrt(T)
    f0_gap : f(x^0) - f*; all clients have the same start
    L : smoothness; the mean curvature is 3 L/4
    seeds : number of runs, if SAM is used
    hyperparameters : further hyperparameters of the algorithm, such as alpha=0.9
    """
    sign = np.resize([1.0, -1.0], m)
    if m % 2:
        sign[-1] = 0.0
    directions = sign / np.sqrt(max(np.mean(sign**2), 1 / m))  # of mean square 1
    curvature = L * (0.75 + 0.25 * sign * bool(sigma_g))
    centers = -(sigma_g * directions / curvature)
    task = Quadratic.diagonal(curvature[:, None], centers[:, None], sigma_l)
    # if curvatures differ, heterogeneity is unbounded in x; but the iterates stay close
    # to the minimizer
    task.constants = replace(task.constants, L=L, sigma_g=sigma_g)
    network = with_gap(np.full((m, m), 1 / m), gap) if m > 1 else np.ones((1, 1))
    known: dict[str, Any] = {
        "K": int(K),
        "rho0": rho0,
        "f0_gap": f0_gap,
        **hyperparameters,
    }
    algorithm = scheduled_algorithm(theorem, task, int(T), network, **known)
    mean_curvature = float(task.A.mean())
    start = np.array([np.sqrt(2 * f0_gap / mean_curvature)])
    return Instance(task, algorithm, network, int(T), seeds, start)


def clients_over(
    theorem: Theorem, vary: str, **constants: float
) -> Callable[[float], Instance]:
    """Return the experiment as a function of one quantity, with the others fixed."""
    name = {"1 - lam": "gap"}.get(vary, vary)

    def instance_at(value: float) -> Instance:
        values: dict[str, Any] = dict(constants)
        values[name] = int(value) if name in ("K", "m") else value
        return clients(theorem, **values)

    return instance_at
