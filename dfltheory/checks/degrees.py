"""Growth of expressions along changes of units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from dfltheory.bounds.units import Expr, Unit


class Degree:
    """Growth of expressions in t under c = t^a, s = t^b, r = t^d.

    It is the power of t that a sum of non-negative terms has for large t, for many (a,
    b, d) at once. ``units`` as for :class:`UnitInference`; ``directions`` are rows
    (a, b, d). Of a difference it is at most that.
    """

    def __init__(self, units: Mapping[str, Unit], directions: Sequence[Sequence[int]]):
        self.units = units
        self.directions = np.array(directions, dtype=float)

    def of_unit(self, unit: Unit) -> np.ndarray:
        """Return the growth of a quantity of one unit."""
        return self.directions @ [float(e) for _, e in unit.scales]

    def of(self, expr: Expr) -> np.ndarray:
        """Return the growth of ``expr``."""
        if isinstance(expr, sp.Symbol):
            return self.of_unit(self.units[expr.name])
        if isinstance(expr, sp.Pow) and expr.exp.is_Rational:
            return self.of(expr.base) * float(expr.exp)
        arguments = expr.args if isinstance(expr, _GROWING) else ()
        parts = [self.of(argument) for argument in arguments]
        if isinstance(expr, sp.Mul):
            return np.sum(parts, axis=0)
        if isinstance(expr, (sp.Add, sp.Max)):
            return np.max(parts, axis=0)
        return np.min(parts, axis=0) if parts else np.zeros(len(self.directions))


_GROWING = (sp.Mul, sp.Add, sp.Max, sp.Min)

__all__ = ["Degree"]
