"""Two clients with piecewise linear gradients, in rational numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import inf, isqrt
from typing import Any, NamedTuple

from dfltheory.errors import InputError

ZERO = Fraction(0)


def six_digits(number: float) -> Fraction:
    """Return a number rounded to six significant digits, as a fraction."""
    return Fraction(f"{number:.6g}")


class Ramp(NamedTuple):
    """A term slope * min(max(x - start, 0), width) of a gradient."""

    start: Fraction
    width: Fraction
    slope: Fraction

    def inside(self, x: Fraction) -> Fraction:
        """Return how far x is inside the ramp, in [0, width]."""
        return min(max(x - self.start, ZERO), self.width)

    def gradient(self, x: Fraction) -> Fraction:
        return self.slope * self.inside(x)

    def value(self, x: Fraction) -> Fraction:
        """Return the integral of the gradient from -infinity to x."""
        inside = self.inside(x)
        beyond = max(x - self.start, ZERO) - inside
        return self.slope * (inside**2 / 2 + self.width * beyond)


class Hyperparameters(NamedTuple):
    """Hyperparameters of an algorithm, in rational numbers."""

    eta: Fraction
    K: int
    rho: Fraction
    Q: int
    alpha: Fraction
    lam: Fraction


class LocalWork(NamedTuple):
    """The result of one client's local steps.

    ``direction`` is the sign of its movement, and ``room`` how far it can move on in
    that direction without a change of gradients.
    """

    model: Fraction
    dual: Fraction
    direction: int
    room: Fraction | float


class RationalClients:
    """Two clients with f_i'(x) = left_i + a sum of ramps.

    The noise is stored as a third function. A random sign, the same in all steps,
    multiplies it.
    """

    def __init__(self, task: Mapping[str, Any]):
        *noise_ramps, noise_left = task.get("led") or ([], [], [], [0])
        self.coins = (1, -1) if task.get("led") else (0,)
        self.left = [six_digits(value) for value in (*task["left"], *noise_left)]
        names = ("knots", "widths", "slopes")
        columns = [
            [*task[name], row] for name, row in zip(names, noise_ramps, strict=True)
        ]
        self.ramps = []
        for rows in zip(*columns, strict=True):
            numbers = (map(six_digits, row) for row in rows)
            self.ramps.append([Ramp(*ramp) for ramp in zip(*numbers, strict=True)])
        ends = set()
        for function in self.ramps:
            for ramp in function:
                ends |= {ramp.start, ramp.start + ramp.width}
        self.knots = sorted(ends)

    def gradient(self, i: int, x: Fraction) -> Fraction:
        """Return f_i'(x), or the noise for i = 2."""
        return self.left[i] + sum((ramp.gradient(x) for ramp in self.ramps[i]), ZERO)

    def mean_gradient(self, x: Fraction) -> Fraction:
        """Return f'(x), the mean of both clients' gradients."""
        return (self.gradient(0, x) + self.gradient(1, x)) / 2

    def value(self, x: Fraction) -> Fraction:
        """Return f(x), up to a constant."""
        total = sum(self.left[:2], ZERO) * x
        for function in self.ramps[:2]:
            total += sum((ramp.value(x) for ramp in function), ZERO)
        return total / 2

    def constants(self) -> dict[str, Fraction]:
        """Return L, B, sigma_g (its root rounded up), sigma_l and f*.

        All are attained at knots or where f' is 0.
        """
        if (
            self.mean_gradient(self.knots[0]) > 0
            or self.mean_gradient(self.knots[-1]) < 0
        ):
            raise InputError("f is unbounded below, so that f* does not exist")
        L, minima = ZERO, list(self.knots)
        for a, b in pairwise(self.knots):
            for i in (0, 1):
                L = max(L, abs(self.gradient(i, b) - self.gradient(i, a)) / (b - a))
            at_a, at_b = self.mean_gradient(a), self.mean_gradient(b)
            if at_a * at_b < 0:
                minima.append(a + (b - a) * at_a / (at_a - at_b))
        deviations = [
            (self.gradient(0, p) - self.gradient(1, p)) ** 2 / 4 for p in self.knots
        ]
        return {
            "L": L,
            "B": max(abs(self.gradient(i, p)) for p in self.knots for i in (0, 1)),
            "sigma_g": _root_rounded_up(max(deviations)),
            "sigma_l": max(abs(self.gradient(2, p)) for p in self.knots),
            "f_star": min(self.value(p) for p in minima),
        }

    def steps(
        self, i: int, x: Fraction, dual: Fraction, values: Hyperparameters
    ) -> LocalWork:
        """Return the result of K local steps of client i from x.

        Raises
        ------
        InputError
            The signs of the noise lead to different models.
        """
        y, velocity, points = x, ZERO, [x]
        pull = 1 / values.lam if values.lam else ZERO
        for _ in range(values.K):
            ends = set()
            for coin in self.coins:
                gradient = self.gradient(i, y) + coin * self.gradient(2, y)
                ascent = y + values.rho * ((gradient > 0) - (gradient < 0))
                points += [y, ascent]
                perturbed = self.gradient(i, ascent) + coin * self.gradient(2, ascent)
                moved = values.alpha * velocity + perturbed
                ends.add((y - values.eta * (moved - dual + pull * (y - x)), moved))
            if len(ends) > 1:
                raise InputError("the signs of its noise lead to different states")
            ((y, velocity),) = ends
        direction = (y > x) - (y < x)
        room = self._largest_move(points, direction)
        return LocalWork(y - values.lam * dual, dual + pull * (x - y), direction, room)

    def _largest_move(self, points: list[Fraction], direction: int) -> Fraction | float:
        """Return how far all points can move in a direction with constant gradients.

        It is 0 if some gradient changes at once.
        """
        distances = [
            (knot - point) * direction for knot in self.knots for point in points
        ]
        room = min((distance for distance in distances if distance > 0), default=inf)
        for point in points:
            later = point + direction * Fraction(min(room, 1))
            if any(
                self.gradient(j, point) != self.gradient(j, later) for j in range(3)
            ):
                return 0
        return room


def _root_rounded_up(square: Fraction) -> Fraction:
    """Return the root to 20 digits, rounded up."""
    root = isqrt(square.numerator * 10**40 // square.denominator)
    return Fraction(root + bool(square), 10**20)


__all__ = ["ZERO", "Hyperparameters", "LocalWork", "RationalClients", "six_digits"]
