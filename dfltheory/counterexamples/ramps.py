"""Clients on the line with piecewise-linear gradients, many problems at once.

Points x have shape (P, N, m, d): N points for each of P problems and m clients, or (P,
N, 1, d) if all clients are evaluated at the same points. :class:`Ramps`,

    f_i'(x) = left_i + sum_k s_ik clip(x - a_ik, 0, w_ik) + h x

represents any continuous piecewise-linear function whose slope far away is h >= 0:
clipped quadratics, bumps, plateaus and traps, and with h > 0 strongly convex problems.
L, B, sigma_g, beta and f* are attained at finitely many points, since between knots all
functions are linear or quadratic. They are therefore exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.tasks.task import Task


def name_of_task(task: type) -> str:
    """Return the name of a task in documents."""
    return f"{task.__module__}:{task.__name__}"


def per_problem(a: np.ndarray, axes: int) -> np.ndarray:
    """Append axes to numbers (P,) of each problem, for broadcasting."""
    return a.reshape(-1, *(1,) * axes)


@dataclass(frozen=True, eq=False)
class Ramps:
    """P problems of m clients with n ramps each.

    ``knots``, ``widths`` and ``slopes`` have shape (P, m, n), and ``left`` has shape
    (P, m). The ``curve`` h >= 0, (P,) or (1,), is common to all clients.
    """

    task: ClassVar[type[Task]]
    axes: ClassVar[dict[str, int]] = {"knots": 2, "widths": 2, "slopes": 2, "left": 1}
    sizes: ClassVar[frozenset[str]] = frozenset(("widths", "h", "k", "p", "q"))
    knots: np.ndarray
    widths: np.ndarray
    slopes: np.ndarray
    left: np.ndarray
    curve: np.ndarray = field(default_factory=lambda: np.zeros(1), kw_only=True)

    @classmethod
    def one(cls, *numbers: ArrayLike, curve: float = 0.0) -> Self:
        """Return a single problem from its numbers, in the order of the fields.

        Raises
        ------
        InputError
            The shapes of the numbers do not match, or a size is negative.
        """
        arrays: list[np.ndarray] = []
        for (name, axes), values in zip(cls.axes.items(), numbers, strict=True):
            try:
                arrays.append(np.array([values], dtype=float))
            except ValueError:  # rows of different lengths
                raise InputError(f"{name} has rows of different lengths") from None
            shape = arrays[0].shape[: 1 + axes]
            if arrays[-1].shape != shape or len(shape) != 1 + axes:
                size = " x ".join(map(str, shape[1:])) or "no list of"
                raise InputError(
                    f"{name} must have {size} numbers, to match the number of clients"
                )
            if name in cls.sizes and (arrays[-1] < 0).any():
                raise InputError(f"{name} must be >= 0, and has {arrays[-1].min():g}")
        if curve < 0:
            raise InputError(f"curve must be >= 0, and is {curve:g}")
        return cls(*arrays, curve=np.array([float(curve)]))

    def describe(self, index: int) -> dict[str, Any]:
        """Return one problem as the [task] of a document."""
        fields: dict[str, Any] = {"name": name_of_task(self.task)}
        for name in self.axes:
            fields[name] = getattr(self, name)[index].tolist()
        curve = float(np.broadcast_to(self.curve, len(self.left))[index])
        if curve:
            fields["curve"] = curve
        return fields

    def repeated(self, m: int) -> Self:
        """Return the problems with each client repeated, at most m clients in all."""
        rows = {}
        for name, axes in self.axes.items():
            if axes:
                clients = getattr(self, name)
                rows[name] = np.repeat(clients, m // clients.shape[1], 1)
        return replace(self, **rows)

    @property
    def m(self) -> int:
        """Number of clients."""
        return self.left.shape[1]

    @property
    def affine(self) -> bool:
        """Whether all gradients are affine, given that runs stay on the one ramp."""
        return self.knots.shape[-1] == 1

    @cached_property
    def _by_ramp(self) -> list[np.ndarray]:
        """Knots, widths and slopes (n, P, 1, m), ramp by ramp.

        Sums over a few ramps are fast in this layout.
        """
        return [
            np.moveaxis(a, -1, 0)[:, :, None].copy()
            for a in (self.knots, self.widths, self.slopes)
        ]

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return f_i' of all clients, each at its own model of ``x``."""
        knots, widths, slopes = self._by_ramp
        inside = x[..., 0] - knots
        np.maximum(inside, 0.0, out=inside)
        np.minimum(inside, widths, out=inside)
        inside *= slopes
        slope = inside.sum(0) + self.left[:, None]
        if self.curve.any():
            slope = slope + per_problem(self.curve, 2) * x[..., 0]
        return slope[..., None]

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return f_i (P, N, m); the integrals of the ramps start at their knots."""
        knots, widths, slopes = self._by_ramp
        reach = np.maximum(x[..., 0] - knots, 0.0)
        inside = np.minimum(reach, widths)
        area = inside**2 / 2 + widths * (reach - inside)
        bowl = per_problem(self.curve, 2) * x[..., 0] ** 2 / 2
        return self.left[:, None] * x[..., 0] + (slopes * area).sum(0) + bowl

    def convex(self, curve: np.ndarray) -> Ramps:
        """Return problems with ascending ramps and a ``curve`` (P,).

        All clients are convex.
        """
        return Ramps(
            self.knots, self.widths, np.abs(self.slopes), self.left, curve=curve
        )

    @cached_property
    def _at_knots(self) -> tuple[np.ndarray, np.ndarray]:
        """All clients' sorted knots (P, n), and their gradients there (P, n, m).

        With a curve there is an additional point on either side, far enough that every
        f_i' has its zeros between these two.
        """
        both = np.concatenate([self.knots, self.knots + self.widths], axis=-1)
        knots = np.sort(both.reshape(len(both), -1), axis=-1)
        if self.curve.any():
            ends = knots[:, [0, -1]]
            steep = np.abs(Ramps.gradient(self, ends[..., None, None])[..., 0]).max(-1)
            curve = self.curve[:, None]
            far = 1 + np.where(curve > 0, steep / np.where(curve > 0, curve, 1.0), 0.0)
            knots = np.concatenate(
                [ends[:, :1] - far[:, :1], knots, ends[:, 1:] + far[:, 1:]], axis=1
            )
        return knots, Ramps.gradient(self, knots[..., None, None])[..., 0]

    @cached_property
    def _exact_slopes(self) -> np.ndarray:
        """Slopes f' at the knots (P, n).

        Those below their rounding error are recomputed in rational numbers.
        """
        knots, gradients = self._at_knots
        slopes = gradients.mean(-1)
        error = 1e-15 * Ramps.parts(self, np.abs(knots).max(1)).max(1)
        for row, k in np.argwhere(np.abs(slopes) <= error[:, None]):
            slopes[row, k] = float(self._exact_slope(int(row), float(knots[row, k])))
        return slopes

    def _exact_slope(self, row: int, point: float) -> Fraction:
        """Return f'(point) of one problem as a rational number."""
        x = Fraction(float(point))
        curve = Fraction(float(np.broadcast_to(self.curve, len(self.left))[row]))
        total = sum((Fraction(float(v)) for v in self.left[row]), self.m * curve * x)
        ramps = (
            getattr(self, name)[row].ravel() for name in ("knots", "widths", "slopes")
        )
        for knot, width, slope in zip(*ramps, strict=True):
            inside = min(
                max(x - Fraction(float(knot)), Fraction(0)), Fraction(float(width))
            )
            total += Fraction(float(slope)) * inside
        return total / self.m

    def minimizer(self, start: np.ndarray) -> np.ndarray:
        """Return the minimizer of convex problems nearest to ``start`` (P,).

        It is nan if there is none.
        """
        return self._nearest_zero(start, self._at_knots[1].mean(-1))

    def _nearest_zero(self, start: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return the zero of f' nearest to ``start`` (P,); nan if there is none.

        ``slope`` is f' at the knots (P, n).
        """
        knots = self._at_knots[0]
        rows, last = np.arange(len(knots)), knots.shape[1] - 1

        def zero(k: np.ndarray) -> np.ndarray:
            """Return the zero of f' between the knots k and k + 1."""
            k = np.clip(k, 0, last - 1)
            low, high = slope[rows, k], slope[rows, k + 1]
            share = np.where(
                high > low, -low / np.where(high > low, high - low, 1.0), 0.0
            )
            return knots[rows, k] + share * (knots[rows, k + 1] - knots[rows, k])

        first, falls = (slope >= 0).argmax(1), slope[:, -1] < 0
        ends = last - (slope <= 0)[:, ::-1].argmax(1)
        low = np.where(first == 0, -np.inf, zero(first - 1))
        high = np.where(ends == last, np.inf, zero(ends))
        return np.where(falls | (slope[:, 0] > 0), np.nan, np.clip(start, low, high))

    def at_minimizer(self, start: np.ndarray) -> dict[str, np.ndarray]:
        """Return constants of convex problems at their minimizers.

        Each is an upper limit (P,) that allows for rounding error, and not finite if
        there is no minimizer.

        Returns
        -------
        dict
            ``x_star_sq``, the squared distance of ``start`` (P,) to the nearest
            minimizer; ``sigma_star``, the root of (1/m) sum_i f_i'(x*)^2, which is the
            same at all minimizers; and ``Gamma``, f* minus the mean of the clients' own
            minima.
        """
        best, errors = self.minimizer(start), self.unsure(start[:, None])
        gradients = Ramps.gradient(self, np.nan_to_num(best)[:, None, None, None])[
            :, 0, :, 0
        ]
        sigma_star = (
            np.sqrt((gradients**2).mean(-1))
            + errors["x_error"] * Ramps.constants(self)["L"]
        )
        minima = [self._least([i]) for i in range(self.m)]
        with np.errstate(invalid="ignore"):  # inf - inf if both are unbounded
            gap = self._least() - np.mean(minima, axis=0)
        Gamma = np.maximum(gap, 0.0) + 2 * errors["f_error"]
        return {
            "x_star_sq": (np.abs(start - best) + errors["x_error"]) ** 2,
            "sigma_star": sigma_star,
            "Gamma": Gamma,
        }

    def unsure(self, start: np.ndarray) -> dict[str, np.ndarray]:
        """Return upper limits of the rounding errors of f and of its minimizer x*.

        Let R be the largest |x| of knots and starts, and G the largest sum of the
        absolute terms of a client's gradient for |x| <= R. Errors of f' are
        proportional to G, and errors of f to G R. They may be much larger than f itself
        suggests, since terms cancel.

        Parameters
        ----------
        start : (P, N) array
            N starting points of each problem.

        Returns
        -------
        dict of str to (P,) array
            ``f_error``: error of f at all starts and at its minimum. ``x_error``: error
            of the minimizer nearest to the first start, for convex problems.
        """
        ends = np.concatenate([self.knots, self.knots + self.widths], axis=-1)
        largest_x = np.abs(ends).max((1, 2)) + np.abs(start).max(1)
        largest_gradient = Ramps.parts(self, largest_x).max(1)
        moved = self._minimizer_error(start[:, 0], 1e-15 * largest_gradient)
        return {
            "f_error": 1e-13 * largest_gradient * largest_x,
            "x_error": 1e-13 * largest_x + moved,
        }

    def _minimizer_error(
        self, start: np.ndarray, slope_error: np.ndarray
    ) -> np.ndarray:
        """Return how far errors of f' may move the minimizer nearest to ``start``.

        All arrays have shape (P,). Between two knots f' is linear, so its zero moves by
        ``slope_error`` divided by f'', at most to the next knot. In addition, the sign
        of f' at a knot may be wrong, so that another zero is the nearest one. It is
        found with signs that are computed in rational numbers.
        """
        knots, gradients = self._at_knots
        slopes, lengths = gradients.mean(-1), np.diff(knots)
        nearest = self.minimizer(start)
        found = np.nan_to_num(nearest)
        rows = np.arange(len(knots))
        # the segment between two knots that contains the minimizer
        segment = np.clip((knots < found[:, None]).sum(1) - 1, 0, lengths.shape[1] - 1)
        length = lengths[rows, segment]
        rise = slopes[rows, segment + 1] - slopes[rows, segment]
        rises = rise > 0
        error = slope_error * length / np.where(rises, rise, 1)
        error = np.minimum(np.where(rises, error, 0), length)
        error = np.where(found == start, 0.0, error)
        # nan if there is a minimizer only because a slope below its error counts as 0
        exact = self._nearest_zero(start, self._exact_slopes)
        distance = np.where(np.isnan(exact), 0.0, np.abs(exact - found))
        return np.where(np.isnan(nearest), error, np.maximum(error, distance))

    def parts(self, breadth: np.ndarray) -> np.ndarray:
        """Return the sum of the absolute terms of each client's gradient, (P, m).

        It is an upper bound for |x| <= ``breadth`` (P,).
        """
        steps = (np.abs(self.slopes) * self.widths).sum(-1)
        return np.abs(self.left) + steps + per_problem(self.curve * breadth, 1)

    def constants(self) -> dict[str, np.ndarray]:
        """Return the exact constants of every problem, (P,) each.

        They are ``L, mu, mu_each, B, sigma_g, beta, f_star``.
        """
        knots, gradients = self._at_knots
        gaps = np.diff(knots)[..., None]
        rises = np.diff(gradients, axis=1)
        scale = np.abs(knots).max(-1) + 1e-300
        # segments of negligible width have no slope of their own
        wide = gaps > 1e-9 * scale[:, None, None]
        steep = np.where(
            wide, rises / np.where(wide, gaps, 1.0), per_problem(self.curve, 2)
        )
        L = np.abs(steep).max((1, 2))

        # the slope far away is h; smaller differences are rounding errors
        def least(slopes: np.ndarray) -> np.ndarray:
            lowest = slopes.reshape(len(L), -1).min(-1)
            return np.where(lowest < self.curve - 1e-9 * L, lowest, self.curve)

        deviation = (gradients - gradients.mean(-1, keepdims=True)) ** 2
        return {
            "L": L,
            "mu": least(steep.mean(-1)),
            "mu_each": least(steep),
            "B": np.where(self.curve > 0, np.inf, np.abs(gradients).max((1, 2))),
            "sigma_g": np.sqrt(deviation.mean(-1).max(1)),
            "beta": np.sqrt(deviation.max((1, 2))),
            "f_star": self._least(),
        }

    def _least(self, clients: slice | list[int] = slice(None)) -> np.ndarray:
        """Return min f, or the minimum of the mean of some ``clients``.

        It is attained at a knot or where f' crosses zero between two knots; -inf if f
        is unbounded below.
        """
        knots, gradients = self._at_knots
        slope = gradients[..., clients].mean(-1)
        before, after = slope[:, :-1], slope[:, 1:]
        crosses = before * after < 0
        share = np.where(crosses, before / np.where(crosses, before - after, 1.0), 0.0)
        inner = knots[:, :-1] + share * np.diff(knots)
        candidates = np.concatenate([knots, inner], axis=1)[..., None, None]
        minimum = Ramps.value(self, candidates)[..., clients].mean(-1).min(1)
        falls = (slope[:, 0] > 0) | (slope[:, -1] < 0)
        return np.where(falls, -np.inf, minimum)

    def scaled(
        self, f: np.ndarray, x: np.ndarray, v: np.ndarray | None = None
    ) -> Ramps:
        """Return the same problems in other units.

        Values are multiplied by f (P,) and lengths by x (P,).
        """
        return Ramps(
            self.knots * per_problem(x, 2),
            self.widths * per_problem(x, 2),
            self.slopes * per_problem(f / x**2, 2),
            self.left * (f / x)[:, None],
            curve=self.curve * f / x**2,
        )


__all__ = ["Ramps", "name_of_task", "per_problem"]
