"""Natural scales of step sizes, the units of their grids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.arrays import FloatArray

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


_BELOW = 1 - 1e-12
"""Factor slightly below 1, so that rounding does not move the scale 1/L above 1/L."""


def step_scales(
    theorem: Theorem, values: Mapping[str, object]
) -> dict[str, float | FloatArray]:
    """Return a natural scale of each step size: 1/L of eta, sqrt(f0_gap/L) of rho.

    The scales of f and of x follow from L and, if it is known, f0_gap, otherwise from
    other constants. Equal problems in other units therefore have equal bounds.

    Parameters
    ----------
    values : mapping
        Constants by glossary name, numbers or arrays (P,) of equal length.
    """
    exponents: list[list[float]] = []
    logs: list[FloatArray] = []
    for name in sorted(set(values) & set(theorem.glossary), key=_reference_order):
        size = np.asarray(values[name], dtype=float)
        unit = [float(power) for _, power in theorem.glossary[name].unit.scales]
        if not (np.isfinite(size) & (size > 0)).all():
            continue
        if np.linalg.matrix_rank([*exponents, unit]) > len(exponents):
            exponents.append(unit)
            logs.append(np.log(size))
    if not exponents:
        return dict.fromkeys(theorem.step_names, _BELOW)
    inverse = np.linalg.pinv(np.array(exponents))
    scales: dict[str, float | FloatArray] = {}
    for name in theorem.step_names:
        unit = [float(power) for _, power in theorem.glossary[name].unit.scales]
        weights = np.array(unit) @ inverse
        total = sum(weight * log for weight, log in zip(weights, logs, strict=True))
        scales[name] = _BELOW * np.exp(total)
    return scales


def _reference_order(name: str) -> tuple[int, str]:
    """Return the rank of a constant as a reference of units."""
    first = ("L", "L_u", "L_v", "f0_gap")
    return (first.index(name) if name in first else len(first), name)


__all__ = ["step_scales"]
