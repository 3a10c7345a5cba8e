"""Typical constants at which bounds and findings are evaluated by default.

They are used where the caller gives no point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    """Return typical values: K = 5, lam = 0.8, m = 16, rho = 0.01, ...

    The value is 1 for what has no usual value, and 1/2 for a share.
    """
    found = {}
    for name in names:
        default = 0.5 if glossary[name].high == 1 else 1.0
        found[name] = _USUAL.get(name, default)
    return found


__all__ = ["everyday"]
