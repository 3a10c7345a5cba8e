"""Typical constants, used where the caller gives none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.symbols import GLOSSARY

_USUAL: dict[str, float] = {
    **dict.fromkeys(("K", "K_u", "K_v"), 5.0),
    **dict.fromkeys(("lam", "q"), 0.8),
    **dict.fromkeys(("delta", "alpha"), 0.5),
    "m": 16.0,
    "C": 2.0,
    "rho": 0.01,
    "x0_spread": 0.1,
}


def everyday(
    names: Iterable[str], glossary: Mapping[str, Quantity] = GLOSSARY
) -> dict[str, float]:
    """Return typical values by name: K = 5, lam = 0.8, m = 16, rho = 0.01, ...

    A quantity without a usual value gets 1/2 if it is at most 1, else 1; where its
    range does not contain that number, a number of its range.
    """
    values: dict[str, float] = {}
    for name in names:
        quantity = glossary[name]
        value = _USUAL.get(name, 0.5 if _is_at_most_one(quantity) else 1.0)
        in_range = bool(quantity.contains(np.asarray(value)))
        values[name] = value if in_range else quantity.inner_value()
    return values


def _is_at_most_one(quantity: Quantity) -> bool:
    return quantity.high == 1 and not quantity.integer


__all__ = ["everyday"]
