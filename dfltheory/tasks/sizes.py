"""Checks of task sizes against this machine's memory, before any is allocated."""

from __future__ import annotations

import math
import os

from dfltheory.errors import InputError


def refuse_beyond_memory(
    task: str, numbers: float, advice: str = "use smaller sizes", **sizes: int
) -> None:
    """Raise InputError if this machine's memory is too small for a task.

    Parameters
    ----------
    task : str
        Name of the task, for the message.
    numbers : float
        Lower bound of the number of float64 values that are needed to create it.
    advice : str
        End of the message.
    **sizes
        Sizes of the task, for the message.
    """
    needed, available = 8 * numbers, memory()
    if needed > available:
        listed = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise InputError(
            f"the task {task} with {listed} needs at least {needed / 1e9:.3g} GB of"
            f" memory, and this machine has {available / 1e9:.3g} GB: {advice}"
        )


def memory() -> float:
    """Return this machine's memory in bytes, or infinity if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf
