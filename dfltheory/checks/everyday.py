"""Typical constants, used where the caller gives none."""

from __future__ import annotations

import math
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
        values[name] = _USUAL[name] if name in _USUAL else _default(glossary[name])
    return values


def _default(quantity: Quantity) -> float:
    """Return 1/2 or 1 if it is in the range of a quantity, else an inner number."""
    value = 0.5 if quantity.high == 1 and not quantity.integer else 1.0
    if quantity.contains(np.asarray(value)):
        return value
    if quantity.integer:
        return _whole_number(quantity)
    if math.isinf(quantity.low):
        return quantity.high - 1.0
    if math.isinf(quantity.high):
        return quantity.low + 1.0
    return (quantity.low + quantity.high) / 2


def _whole_number(quantity: Quantity) -> float:
    """Return the least whole number of a range, or the largest if there is no least."""
    if math.isfinite(quantity.low):
        low = math.ceil(quantity.low)
        return float(low + (quantity.open_low and low == quantity.low))
    high = math.floor(quantity.high)
    return float(high - (quantity.open_high and high == quantity.high))


__all__ = ["everyday"]
