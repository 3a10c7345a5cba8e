"""Estimates of a task's constants: curvature, noise, heterogeneity.

Each estimate states what was sampled and what was not.

>>> estimates = of_run(task, run)                       # for judging a finished run
>>> points = pilot(task)                                # or any points (P, d)
>>> estimates = along(task, points)
>>> print(estimates["L"])                               # value, interval, sample
>>> task = task.with_constants(estimates.constants())   # marked ``estimate``
"""

from dfltheory.tasks.estimate.blocks import blocks
from dfltheory.tasks.estimate.constants import along, of_run, pilot, piloted
from dfltheory.tasks.estimate.estimates import Estimate, Estimates
from dfltheory.tasks.estimate.hessian import hessian_product
from dfltheory.tasks.estimate.spectrum import (
    Extremes,
    extremes,
    hessian_extremes,
    lanczos,
    largest_hessian_eigenvalue,
)

__all__ = [
    "Estimate",
    "Estimates",
    "Extremes",
    "along",
    "blocks",
    "extremes",
    "hessian_extremes",
    "hessian_product",
    "lanczos",
    "largest_hessian_eigenvalue",
    "of_run",
    "pilot",
    "piloted",
]
