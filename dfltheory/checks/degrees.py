"""Growth of expressions along changes of units, see :mod:`dfltheory.bounds.units`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from dfltheory.bounds.units import Expr, Unit


class Degree:
    """Growth of expressions in t under the change of units c = t^a, s = t^b, r = t^d.

    The growth of a sum of nonnegative terms is its power of t for large t. For a
    difference it is an upper bound of that power.

    Parameters
    ----------
    units : the unit of every symbol, by its name
    directions : rows (a, b, d); growth is computed for all of them at once
    """

    def __init__(self, units: Mapping[str, Unit], directions: Sequence[Sequence[int]]):
        self.units = units
        self.directions = np.array(directions, dtype=float)

    def of_unit(self, unit: Unit) -> np.ndarray:
        """Return the growth of a quantity with a unit, (directions,)."""
        return self.directions @ [float(e) for _, e in unit.scales]

    def of(self, expr: Expr) -> np.ndarray:
        """Return the growth of ``expr``, (directions,)."""
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
