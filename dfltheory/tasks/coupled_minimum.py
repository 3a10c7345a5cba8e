"""A certified lower bound of the minimum of coupled problems, by a search over u.

With s = sin(u), one coordinate of f(u, v_1, ..., v_m) is

    g(u) = (h_u/2) mean (u - a_i)^2 + mean min_v [(h_v/2) (v - b_i)^2 + k s sin(v)].

If k < h_v, the inner problems are strongly convex, and g'' >= c with
c = h_u - k - k^2/(h_v - k). Values between two points are bounded by means of c and g'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfltheory.arrays import FloatArray

_CELLS = 9
"""Number of initial cells."""
_DIVISIONS = 40
"""Largest number of times that cells are halved."""
_NEWTON_STEPS = 8
"""Largest number of Newton steps for an inner minimizer."""
_EXACT = 1e-8
"""Derivative below which one more Newton step reaches rounding error."""
_GAP = 1e-9
"""Relative gap between the two bounds at which the search stops."""
_ROUNDING = 1e-14
"""Generous bound of the relative rounding error of a value of g."""


@dataclass(frozen=True)
class Coupling:
    """The constants h_u > 0, h_v > 0 and k >= 0 of a coupled problem."""

    h_u: float
    h_v: float
    k: float

    @property
    def curvature(self) -> float:
        """Lower bound c of g''; only for k < h_v."""
        return self.h_u - self.k - self.k**2 / (self.h_v - self.k)

    def responses(self, s: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return w = v - b near the inner minimizers, and bounds of their errors.

        Parameters
        ----------
        s : (n, 1) array
            Sines of u.
        b : (m,) array
            The clients' centers of v.

        Returns
        -------
        w, errors : (n, m) arrays
            For each u and each client.
        """
        largest = self.k * np.abs(s) / self.h_v
        convexity = self.h_v - self.k * np.abs(s)
        w = np.zeros((len(s), len(b)))
        for _ in range(_NEWTON_STEPS):
            slope = self.h_v * w + self.k * s * np.cos(b + w)
            second = self.h_v - self.k * s * np.sin(b + w)
            w = np.clip(w - slope / second, -largest, largest)
            if np.abs(slope).max() < _EXACT:
                break
        residual = np.abs(self.h_v * w + self.k * s * np.cos(b + w))
        return w, residual / convexity

    def values(
        self, u: FloatArray, a: FloatArray, b: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return bounds of g and of its derivative at points.

        Parameters
        ----------
        u : (n,) array
            The points.
        a, b : (m,) arrays
            Centers of u and of v.

        Returns
        -------
        lower, upper : (n,) arrays
            Bounds of g.
        slope : (n,) array
            Upper bounds of |g'|.
        """
        s, cosine = np.sin(u)[:, None], np.cos(u)
        w, error = self.responses(s, b)
        v = b + w
        inner = self.h_v / 2 * w**2 + self.k * s * np.sin(v)
        # the inner derivatives are Lipschitz in v with constant h_v + k
        excess = (self.h_v + self.k) / 2 * error**2
        outer = self.h_u / 2 * ((u[:, None] - a) ** 2).mean(1)
        upper = outer + inner.mean(1)
        size = outer + np.abs(inner).mean(1)
        lower = upper - excess.mean(1) - _ROUNDING * size
        slope = self.h_u * (u - a.mean()) + self.k * cosine * np.sin(v).mean(1)
        return lower, upper, np.abs(slope) + self.k * error.mean(1)

    def within(self, lower: FloatArray, slope: FloatArray, radius: float) -> FloatArray:
        """Return lower bounds (n,) of g on intervals.

        Parameters
        ----------
        lower : (n,) array
            Lower bounds of g at the centers of the intervals.
        slope : (n,) array
            Upper bounds of |g'| there.
        radius : float
            Half the length of the intervals.
        """
        c = self.curvature
        at_end = lower - slope * radius + c / 2 * radius**2
        if c <= 0:
            return at_end
        return np.where(slope < c * radius, lower - slope**2 / (2 * c), at_end)


def coordinate_floor(coupling: Coupling, a: FloatArray, b: FloatArray) -> float:
    """Return a lower bound of the minimum of g, for the centers of one coordinate.

    Cells that cannot contain the minimum are discarded; the others are halved.

    Parameters
    ----------
    coupling : Coupling
        Constants with k < h_v.
    a, b : (m,) arrays
        The clients' centers of u and of v, in this coordinate.
    """
    reach = coupling.k / coupling.h_u + _ROUNDING * abs(a.mean())
    radius = reach / _CELLS
    cells = a.mean() + np.linspace(-reach + radius, reach - radius, _CELLS)
    best, floor = np.inf, -np.inf
    for _ in range(_DIVISIONS):
        lower, upper, slope = coupling.values(cells, a, b)
        best = min(best, float(upper.min()))
        floors = coupling.within(lower, slope, radius)
        floor = max(floor, float(floors.min()))
        if best - floor <= _GAP * (1 + abs(best)):
            break
        may_have_minimum = cells[floors <= best]
        radius /= 2
        cells = np.concatenate([may_have_minimum - radius, may_have_minimum + radius])
    return floor


def coupled_floor(coupling: Coupling, a: FloatArray, b: FloatArray) -> float:
    """Return a lower bound of the minimum of f.

    If k >= h_v, each coordinate's coupling is bounded below by -k.

    Parameters
    ----------
    coupling : Coupling
    a, b : (m, p) arrays
        The clients' centers of u and of v.
    """
    if coupling.k >= coupling.h_v:
        deviations = ((a - a.mean(0)) ** 2).mean(0).sum()
        return float(coupling.h_u / 2 * deviations - coupling.k * a.shape[1])
    return sum(
        coordinate_floor(coupling, coordinate_a, coordinate_b)
        for coordinate_a, coordinate_b in zip(a.T, b.T, strict=True)
    )


__all__ = ["Coupling", "coordinate_floor", "coupled_floor"]
