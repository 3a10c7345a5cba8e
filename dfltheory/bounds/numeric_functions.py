"""Python functions that evaluate definitions of theorem files.

They are used where double precision loses the digits of a formula. Such a definition
has both: the formula is what the statement says, and the function computes its numbers.
``function = "NAME"`` of a theorem file is a name of ``NUMERIC_FUNCTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from dfltheory.errors import checked_name

if TYPE_CHECKING:
    import numpy as np


class NumericFunction(NamedTuple):
    """A function of arrays; ``takes`` are its quantities, in this order."""

    function: Callable[..., np.ndarray]
    takes: tuple[str, ...]


_ADMM = ("eta", "lam_admm", "K")
_MOMENTUM = ("alpha", "K")

NUMERIC_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "admm.gamma": _ADMM,
    "admm.gamma_before": _ADMM,
    "admm.left": _ADMM,
    "admm.theta": _ADMM,
    "momentum.total": _MOMENTUM,
    "momentum.total_before": _MOMENTUM,
    "momentum.squares": _MOMENTUM,
    "momentum.mean_path": _MOMENTUM,
}
"""Names of the registered functions, and what they take: the modules are
:mod:`dfltheory.admm` and :mod:`dfltheory.momentum`.
"""


def numeric_function(name: str) -> NumericFunction:
    """Return the registered function of this name."""
    from dfltheory import admm, momentum  # they import NumPy

    checked_name("registered function", name, NUMERIC_FUNCTIONS)
    module, _, function = name.partition(".")
    place = {"admm": admm, "momentum": momentum}[module]
    return NumericFunction(getattr(place, function), NUMERIC_FUNCTIONS[name])


def numeric_function_name(function: Callable[..., object]) -> str | None:
    """Return the name under which a function is registered, or None."""
    return next(
        (
            name
            for name in NUMERIC_FUNCTIONS
            if numeric_function(name).function is function
        ),
        None,
    )


__all__ = [
    "NUMERIC_FUNCTIONS",
    "NumericFunction",
    "numeric_function_name",
    "numeric_function",
]
