"""Dimensionless numbers that all candidates of a batch share.

They are momentum, ratios of step sizes, whether SAM is used, and the horizon of a
schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.symbols import GLOSSARY, STEP
from dfltheory.counterexamples.families.family import Family
from dfltheory.counterexamples.reach import hyperparameters
from dfltheory.counterexamples.score import NOISY

if TYPE_CHECKING:
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.theorem import Theorem

SharedNumbers = dict[str, float]
SCHEDULED = 2000
"""Longest horizon of a schedule that is simulated in full. Longer ones need a
stationary state.
"""


def requires_schedule(theorem: Theorem) -> bool:
    """Return whether the statement holds only for its own schedule of step sizes."""
    return theorem.kind == "corollary" and bool(theorem.schedule)


def radius_field(free: dict[str, Quantity]) -> str | None:
    """Return the field that is the SAM radius; None if there is none."""
    return next((name for name, q in free.items() if q is GLOSSARY["rho"]), None)


def drawn_numbers(
    theorem: Theorem, rng: np.random.Generator, family: Family | None
) -> SharedNumbers:
    """Draw the shared numbers."""
    free, _ = hyperparameters(theorem)
    shared: SharedNumbers = {}
    first = True
    for name, quantity in free.items():
        if quantity.step and quantity.unit == STEP:
            if not first:
                shared[name] = float(rng.choice([1.0, 1000.0 ** rng.random()]))
            first = False
        elif quantity.step or quantity.integer:
            continue
        elif quantity.high == 1:
            shared[name] = _share(quantity, rng)
        elif name == radius_field(free):
            shared[name] = float(rng.random() < 0.8)  # 1 with SAM, 0 without
        else:
            shared[name] = 10.0 ** rng.uniform(-2, 2)
    if requires_schedule(theorem):
        shared["T"] = _draw_horizon(rng, family)
    return shared


def _share(quantity: Quantity, rng: np.random.Generator) -> float:
    """Draw a number in [0, 1] that is usually close to 1."""
    absent = 0.5 if quantity.open_low else 0.0
    if quantity.neutral is not None:
        absent = quantity.neutral
    near = rng.choice([3, 9])
    return 1 - 10.0 ** -(near * rng.random()) if rng.random() < 0.75 else absent


def _draw_horizon(rng: np.random.Generator, family: Family | None) -> float:
    """Draw the horizon T of a schedule, a log-uniform integer in a range.

    A short horizon is simulated in full. A long one needs a stationary state, or a
    transient family. It is drawn in 80% of the cases for families that become
    stationary in few rounds or are transient, and in 20% for others.
    """
    settles = family is not None and family.settles
    transient = family is not None and family.transient
    noisy = family is not None and family.noisy
    is_long = rng.random() < (0.8 if settles or transient else 0.2)
    low, high = 1.0, float(SCHEDULED)
    if is_long and noisy:  # the number of rounds that runs with noise can confirm
        low, high = float(SCHEDULED), float(NOISY)
    elif is_long and settles:
        low, high = 1e5, 1e8
    elif is_long and transient:
        low, high = 1e9, 1e15
    elif is_long:
        low, high = float(SCHEDULED), 1e8
    return float(np.floor(low * (high / low) ** rng.random()))


def varied(
    theorem: Theorem, shared: SharedNumbers, width: float, rng: np.random.Generator
) -> SharedNumbers:
    """Return the shared numbers with a random change of each.

    Ratios and horizons are multiplied by a random factor; for numbers in [0, 1] it is
    their distance to 1 that is multiplied.
    """
    new = dict(shared)
    for name, value in shared.items():
        step = width * rng.standard_normal()
        share = theorem.glossary.get(name)
        if share is not None and share.high == 1 and not share.step:
            smallest = 1e-3 if share.open_low else 0.0
            new[name] = (
                1 - min((1 - value) * 10.0**step, 1 - smallest) if value else value
            )
        elif name == "T":
            new[name] = max(1.0, np.floor(value * 10.0**step))
        elif value >= 1 and name != "rho":
            new[name] = max(1.0, value * 10.0**step)
        elif 0 < value < 1:
            new[name] = 1 - min((1 - value) * 10.0**step, 1.0)
    return new


__all__ = [
    "SharedNumbers",
    "drawn_numbers",
    "radius_field",
    "requires_schedule",
    "varied",
]
