"""Constants measured on a task: curvature, noise, heterogeneity.

Each says what was and what was not looked at.

>>> found = of_run(task, run)                       # for judging a finished run
>>> points = pilot(task)                            # or any points (P, d)
>>> found = along(task, points)
>>> print(found["L"])                               # value, interval, what was sampled
>>> task = task.with_constants(found.constants())   # marked ``estimate``
"""

from dfltheory.tasks.estimate.blocks import blocks
from dfltheory.tasks.estimate.constants import (
    Estimate,
    Estimates,
    along,
    of_run,
    pilot,
    piloted,
)
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
