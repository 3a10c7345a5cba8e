"""Sizes are held against this machine's memory before any is taken."""

from __future__ import annotations

import math
import os

from dfltheory.errors import InputError


def refuse_beyond_memory(
    task: str, numbers: float, advice: str = "take smaller sizes", **sizes: int
) -> None:
    """Raise InputError, with ``advice``, if so many float64 values do not fit.

    A task of these sizes needs at least so many while it is created.
    """
    needed, there = 8 * numbers, memory()
    if needed > there:
        listed = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise InputError(
            f"the task {task} with {listed} needs at least {needed / 1e9:.3g} GB of"
            f" memory, and this machine has {there / 1e9:.3g} GB: {advice}"
        )


def memory() -> float:
    """Bytes of memory of this machine; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf
