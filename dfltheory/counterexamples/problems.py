r"""Problems of clients on the line about which everything is exact: many at once, and
each alone as a task.

Points x are (P, N, m, d): P problems, N points of each, m clients; or (P, N, 1, d), the
same for all clients. d = 2 where a client has a shared u and a personal v.
:class:`Ramps`,

    f_i'(x) = left_i + sum_k s_ik clip(x - a_ik, 0, w_ik) + h x

is any continuous piecewise-linear function that far away is constant, or where h > 0
rises with slope h: clipped quadratics, bumps, plateaus and traps, and what is strongly
convex. L, B, sigma_g, beta and f* are attained at finitely many points (between knots
everything is linear or quadratic), so that they are found by looking there. The tasks
are written anew for the training core, as its second witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError
from dfltheory.tasks.noise import FiniteSupport
from dfltheory.tasks.personal import Personal
from dfltheory.tasks.synthetic import Synthetic

Array = NDArray[Any]
Row = Sequence[float]


def name_of_task(task: type[Any]) -> str:
    """What a document calls one of these tasks."""
    return f"{task.__module__}:{task.__name__}"


def _by(a: Array, axes: int) -> Array:
    """One number of each problem, beside that many further axes."""
    return a.reshape(-1, *(1,) * axes)


@dataclass(frozen=True, eq=False)
class Ramps:
    """P problems of m clients with n ramps each: ``knots, widths, slopes`` (P, m, n),
    ``left`` (P, m), and the ``curve`` h >= 0 that all clients have in common, (P,) or
    one for all.
    """

    task: ClassVar[type[Any]]
    axes: ClassVar[dict[str, int]] = {"knots": 2, "widths": 2, "slopes": 2, "left": 1}
    sizes: ClassVar[frozenset[str]] = frozenset(("widths", "h", "k", "p", "q"))
    knots: Array
    widths: Array
    slopes: Array
    left: Array
    curve: Array = field(default_factory=lambda: np.zeros(1), kw_only=True)

    @classmethod
    def one(cls, *numbers: Any, curve: float = 0.0) -> Self:
        """A single problem from its numbers, in the order of the fields; InputError
        where they do not fit.
        """
        arrays: list[Array] = []
        for (name, axes), given in zip(cls.axes.items(), numbers, strict=True):
            try:
                arrays.append(np.array([given], dtype=float))
            except ValueError:  # rows of different lengths
                raise InputError(f"{name} has rows of different lengths") from None
            shape = arrays[0].shape[: 1 + axes]
            if arrays[-1].shape != shape or len(shape) != 1 + axes:
                told = " x ".join(map(str, shape[1:])) or "no list of"
                raise InputError(
                    f"{name} must have {told} numbers, as the clients have"
                )
            if name in cls.sizes and (arrays[-1] < 0).any():
                raise InputError(f"{name} must be >= 0, and has {arrays[-1].min():g}")
        if curve < 0:
            raise InputError(f"curve must be >= 0, and is {curve:g}")
        return cls(*arrays, curve=np.array([float(curve)]))

    def describe(self, index: int) -> dict[str, Any]:
        """One problem as the [task] of a document."""
        numbers = {name: getattr(self, name)[index].tolist() for name in self.axes}
        curve = float(np.broadcast_to(self.curve, len(self.left))[index])
        return (
            {"name": name_of_task(self.task)}
            | numbers
            | ({"curve": curve} if curve else {})
        )

    def alike(self, m: int) -> Self:
        """m clients: as many copies of each as there is room for."""
        own = {name: getattr(self, name) for name, axes in self.axes.items() if axes}
        return replace(
            self, **{name: np.repeat(a, m // a.shape[1], 1) for name, a in own.items()}
        )

    @property
    def m(self) -> int:
        return self.left.shape[1]

    @property
    def affine(self) -> bool:
        """Are all gradients affine wherever a run of the search goes?"""
        return self.knots.shape[-1] == 1

    @cached_property
    def _each(self) -> list[Array]:
        """knots, widths, slopes (n, P, 1, m), ramp by ramp: sums over few ramps are
        fast so.
        """
        return [
            np.moveaxis(a, -1, 0)[:, :, None].copy()
            for a in (self.knots, self.widths, self.slopes)
        ]

    def gradient(self, x: Array) -> Array:
        knots, widths, slopes = self._each
        inside = x[..., 0] - knots
        np.maximum(inside, 0.0, out=inside)
        np.minimum(inside, widths, out=inside)
        inside *= slopes
        ramps = inside.sum(0) + self.left[:, None]
        return (ramps + _by(self.curve, 2) * x[..., 0] if self.curve.any() else ramps)[
            ..., None
        ]

    def value(self, x: Array) -> Array:
        """f_i (P, N, m), with f_i(0) = -(what the ramps left of 0 have gathered)."""
        knots, widths, slopes = self._each
        reach = np.maximum(x[..., 0] - knots, 0.0)
        inside = np.minimum(reach, widths)
        area = inside**2 / 2 + widths * (reach - inside)
        bowl = _by(self.curve, 2) * x[..., 0] ** 2 / 2
        return self.left[:, None] * x[..., 0] + (slopes * area).sum(0) + bowl

    def convex(self, curve: Array) -> Ramps:
        """The same ramps, all of them upward, and a ``curve`` (P,), so that every
        client is convex.
        """
        return Ramps(
            self.knots, self.widths, np.abs(self.slopes), self.left, curve=curve
        )

    @cached_property
    def _at_knots(self) -> tuple[Array, Array]:
        """All clients' knots in order (P, n), and every client's gradient there (P, n,
        m); where f bends far away too, with a point on either side between which every
        f_i' is zero.
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
    def _exact_slopes(self) -> Array:
        """f' at the knots (P, n), where those below their rounding error are computed
        in rational numbers.
        """
        knots, at = self._at_knots
        slopes = at.mean(-1)
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

    def minimizer(self, start: Array) -> Array:
        """Of convex problems the minimizer nearest to ``start`` (P,); nan where there
        is none.
        """
        return self._nearest_zero(start, self._at_knots[1].mean(-1))

    def _nearest_zero(self, start: Array, slope: Array) -> Array:
        """Where f' is zero, nearest to ``start``; ``slope`` is f' at the knots (P,
        n).
        """
        knots = self._at_knots[0]
        rows, last = np.arange(len(knots)), knots.shape[1] - 1

        def zero(k: Array) -> Array:
            """Where f' is zero between the knots k and k + 1."""
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

    def at_minimizer(self, start: Array) -> dict[str, Array]:
        """Of convex problems, (P,) each: the squared distance of the ``start`` (P,) to
        the nearest minimizer, the root of (1/m) sum_i f_i'(x*)^2, which all minimizers
        have in common, and f* less the mean of the clients' own minima; not finite
        where there is none. All at the upper end of what rounding may do.
        """
        best, off = self.minimizer(start), self.unsure(start[:, None])["x_error"]
        there = Ramps.gradient(self, np.nan_to_num(best)[:, None, None, None])[
            :, 0, :, 0
        ]
        across = np.sqrt((there**2).mean(-1)) + off * Ramps.constants(self)["L"]
        with np.errstate(invalid="ignore"):  # of two that fall for ever
            apart = self._least() - np.mean(
                [self._least([i]) for i in range(self.m)], axis=0
            )
        Gamma = np.maximum(apart, 0.0) + 2 * self.unsure(start[:, None])["f_error"]
        return {
            "x_star_sq": (np.abs(start - best) + off) ** 2,
            "sigma_star": across,
            "Gamma": Gamma,
        }

    def unsure(self, start: Array) -> dict[str, Array]:
        """What rounding may put f at the ``start`` (P, N) or at its least, and x* of
        convex problems, off by.

        A gradient's parts add to G at most, those of a value to G times the breadth of
        knots and start, however small f itself is; and a zero of f' moves by the error
        of f' over its slope there, but not beyond the next knots, unless f' is so
        nearly zero at them that its sign is found in rational numbers.
        """
        (knots, at), own = (
            self._at_knots,
            np.concatenate([self.knots, self.knots + self.widths], axis=-1),
        )
        breadth = np.abs(own).max((1, 2)) + np.abs(start).max(1)
        parts = Ramps.parts(self, breadth)
        slope, rows, gaps = at.mean(-1), np.arange(len(knots)), np.diff(knots)
        nearest = self.minimizer(start[:, 0])
        best = np.nan_to_num(nearest)
        k = np.clip((knots < best[:, None]).sum(1) - 1, 0, gaps.shape[1] - 1)
        rise, gap = slope[rows, k + 1] - slope[rows, k], gaps[rows, k]
        moved = np.minimum(
            np.where(
                rise > 0, 1e-15 * parts.max(1) * gap / np.where(rise > 0, rise, 1), 0
            ),
            gap,
        )
        moved = np.where(best == start[:, 0], 0.0, moved)
        exact = self._nearest_zero(start[:, 0], self._exact_slopes)
        # without a minimizer by a slope below rounding: the problem with the slope 0 is
        # meant
        shift = np.where(np.isnan(exact), 0.0, np.abs(exact - best))
        moved = np.where(np.isnan(nearest), moved, np.maximum(moved, shift))
        return {
            "f_error": 1e-13 * parts.max(1) * breadth,
            "x_error": 1e-13 * breadth + moved,
        }

    def parts(self, breadth: Array) -> Array:
        """What the absolute terms of each client's gradient add to within ``breadth``
        (P,), (P, m).
        """
        steps = (np.abs(self.slopes) * self.widths).sum(-1)
        return np.abs(self.left) + steps + _by(self.curve * breadth, 1)

    def constants(self) -> dict[str, Array]:
        """``L, mu, mu_each, B, sigma_g, beta, f_star`` of every problem, (P,) each,
        exactly.
        """
        knots, at = self._at_knots
        gaps = np.diff(knots)[..., None]
        rises = np.diff(at, axis=1)
        scale = np.abs(knots).max(-1) + 1e-300
        # the slope over a hair's breadth is the same as beside it
        wide = gaps > 1e-9 * scale[:, None, None]
        steep = np.where(wide, rises / np.where(wide, gaps, 1.0), _by(self.curve, 2))
        L = np.abs(steep).max((1, 2))

        # far away it is h; and rounding bends no line
        def least(slopes: Array) -> Array:
            lowest = slopes.reshape(len(L), -1).min(-1)
            return np.where(lowest < self.curve - 1e-9 * L, lowest, self.curve)

        deviation = (at - at.mean(-1, keepdims=True)) ** 2
        return {
            "L": L,
            "mu": least(steep.mean(-1)),
            "mu_each": least(steep),
            "B": np.where(self.curve > 0, np.inf, np.abs(at).max((1, 2))),
            "sigma_g": np.sqrt(deviation.mean(-1).max(1)),
            "beta": np.sqrt(deviation.max((1, 2))),
            "f_star": self._least(),
        }

    def _least(self, clients: Any = slice(None)) -> Array:
        """min f, or of the mean of some ``clients``: at a knot, or where f' crosses
        zero between two; -inf where it falls for ever.
        """
        knots, at = self._at_knots
        slope = at[..., clients].mean(-1)
        before, after = slope[:, :-1], slope[:, 1:]
        crosses = before * after < 0
        share = np.where(crosses, before / np.where(crosses, before - after, 1.0), 0.0)
        inner = knots[:, :-1] + share * np.diff(knots)
        candidates = np.concatenate([knots, inner], axis=1)[..., None, None]
        least = Ramps.value(self, candidates)[..., clients].mean(-1).min(1)
        falls = (slope[:, 0] > 0) | (slope[:, -1] < 0)
        return np.where(falls, -np.inf, least)

    def scaled(self, f: Array, x: Array, v: Any = 1.0) -> Ramps:
        """The same problems in other units: values times f, lengths times x, (P,)
        each.
        """
        knots, widths = self.knots * _by(x, 2), self.widths * _by(x, 2)
        slopes, left = self.slopes * _by(f / x**2, 2), self.left * (f / x)[:, None]
        return Ramps(knots, widths, slopes, left, curve=self.curve * f / x**2)


@dataclass(frozen=True, eq=False)
class Splits(Ramps):
    r"""Two blocks: a shared u with ramps for a gradient r_i', a personal v in a
    parabola.

        F_i(u, v) = r_i(u) + (h/2)(v - b_i)^2 + k sin(p u) sin(q v)

    ``b`` (P, m), ``h``, ``k``, ``p``, ``q`` (P,). Without coupling (k = 0) every
    constant is exact. With it, L_u, L_v, L_uv and L_vu are suprema or above them,
    delta_u is the ramps' diversity plus k, f* the ramps' minus k: the problem is inside
    the assumptions.
    """

    axes: ClassVar[dict[str, int]] = {
        **Ramps.axes,
        "b": 1,
        "h": 0,
        "k": 0,
        "p": 0,
        "q": 0,
    }
    b: Array
    h: Array
    k: Array
    p: Array
    q: Array

    @property
    def affine(self) -> bool:
        return self.knots.shape[-1] == 1 and not self.k.any()

    @classmethod
    def of(cls, ramps: Ramps, b: Array, h: Array, k: Array) -> Splits:
        one = np.ones(len(b))
        return cls(
            ramps.knots, ramps.widths, ramps.slopes, ramps.left, b, h, k, one, one
        )

    def gradient(self, x: Array) -> Array:
        u, v = x[..., 0], x[..., 1]
        k, p, q, h = (_by(a, 2) for a in (self.k, self.p, self.q, self.h))
        body = Ramps.gradient(self, x[..., :1])[..., 0] + k * p * np.cos(
            p * u
        ) * np.sin(q * v)
        return np.stack(
            [body, h * (v - self.b[:, None]) + k * q * np.sin(p * u) * np.cos(q * v)],
            -1,
        )

    def value(self, x: Array) -> Array:
        u, v = x[..., 0], x[..., 1]
        k, p, q, h = (_by(a, 2) for a in (self.k, self.p, self.q, self.h))
        bowl = h / 2 * (v - self.b[:, None]) ** 2
        return Ramps.value(self, x[..., :1]) + bowl + k * np.sin(p * u) * np.sin(q * v)

    def parts(self, breadth: Array) -> Array:
        """The same of both blocks."""
        bowl = _by(self.h, 1) * (_by(breadth, 1) + np.abs(self.b))
        wave = _by(np.abs(self.k) * np.maximum(np.abs(self.p), np.abs(self.q)), 1)
        return Ramps.parts(self, breadth) + bowl + wave

    def constants(self) -> dict[str, Array]:
        """``L_u, L_v, L_uv, L_vu, chi, delta_u, f_star``, (P,) each."""
        known, k, p, q = Ramps.constants(self), self.k, self.p, self.q
        L_u, L_v, cross = known["L"] + k * p**2, self.h + k * q**2, k * p * q
        with np.errstate(all="ignore"):
            chi = cross / np.sqrt(L_u * L_v)
        several = float(self.m > 1)
        names = {"L_u": L_u, "L_v": L_v, "L_uv": cross, "L_vu": cross, "chi": chi}
        return names | {
            "delta_u": known["sigma_g"] + several * k * p,
            "f_star": known["f_star"] - k,
        }

    def scaled(self, f: Array, x: Array, v: Array) -> Splits:  # type: ignore[override]
        """The same problems in other units: values times f, u times x and v times v,
        (P,) each.
        """
        r = Ramps.scaled(self, f, x)
        parts = (
            self.b * v[:, None],
            self.h * f / v**2,
            self.k * f,
            self.p / x,
            self.q / v,
        )
        return Splits(r.knots, r.widths, r.slopes, r.left, *parts)


# -- one problem as a task


def _coins(sigma: float) -> Any:
    """Two-point noise: +sigma or -sigma, each with probability 1/2."""
    if sigma < 0:
        raise InputError(f"sigma = {sigma} must be >= 0")
    return FiniteSupport.signs(sigma, [1.0]) if sigma else 0.0


class RampTask(Synthetic):
    """One problem of :class:`Ramps` (d = 1) with a ``curve``, and with two-point noise
    +-sigma.

    ``led``: knots, widths, slopes of ramps and (left,): then the noise is xi s(x), xi =
    +-1 each with probability 1/2, s by these ramps, and sigma must be the largest |s|.
    Such F_i(.; xi) are not as smooth as f_i, and no theorem is told sigma_l, since most
    assume that they are.
    """

    name = "ramps"

    def __init__(
        self,
        knots: Sequence[Row],
        widths: Sequence[Row],
        slopes: Sequence[Row],
        left: Row,
        sigma: float = 0.0,
        led: Sequence[Row] = (),
        curve: float = 0.0,
    ):
        self.problem, self.sigmas = (
            Ramps.one(knots, widths, slopes, left, curve=curve),
            (sigma,),
        )
        self.led, self._curve = None, float(curve)
        if led:
            if len(led) != 4 or len(led[3]) != 1:
                raise InputError(
                    "led must be knots, widths and slopes of ramps, and one number far"
                    " left"
                )
            self.led = Ramps.one([led[0]], [led[1]], [led[2]], led[3])
            largest = float(self.led.constants()["B"][0])
            if not sigma or abs(largest - sigma) > 1e-9 * sigma:
                raise InputError(
                    f"sigma = {sigma} must be the largest |s| of led, {largest:g}"
                )
        super().__init__(self.problem.m, 1, _coins(sigma and 1.0 if led else sigma))
        arrays = (
            self.problem.knots,
            self.problem.widths,
            self.problem.slopes,
            self.problem.left,
        )
        *self._at, self._left = (torch.as_tensor(a[0]) for a in arrays)

    @cached_property
    def constants(self) -> ProblemConstants:
        known: dict[str, Any] = {
            name: float(value[0]) for name, value in self.problem.constants().items()
        }
        known.pop("mu_each")  # which theorems are given
        known["B"] = known["B"] if np.isfinite(known["B"]) else None
        return ProblemConstants(
            sigma_l=self.noise.sigma if self.led is None else None, **known
        )

    @cached_property
    def x_star(self) -> Tensor | None:
        """The minimizer (1,) of f, where a curve leaves one alone."""
        return (
            torch.as_tensor(self.problem.minimizer(np.zeros(1)))
            if self._curve
            else None
        )

    def gradient(self, x: Tensor, batch: Any | None = None) -> Tensor:
        if batch is None or self.led is None:
            return super().gradient(x, batch)
        return self.client_gradient(x) + batch * torch.as_tensor(
            self.led.gradient(x.numpy()[None])[0]
        )

    def client_gradient(self, x: Tensor) -> Tensor:
        knots, widths, slopes = self._at
        inside = torch.minimum((x - knots).clamp(min=0), widths)
        return (
            self._left.unsqueeze(-1)
            + (slopes * inside).sum(-1, keepdim=True)
            + self._curve * x
        )

    def client_loss(self, x: Tensor) -> Tensor:
        knots, widths, slopes = self._at
        reach = (x - knots).clamp(min=0)
        inside = torch.minimum(reach, widths)
        area = inside**2 / 2 + widths * (reach - inside)
        return (
            self._left * x[..., 0]
            + (slopes * area).sum(-1)
            + self._curve * x[..., 0] ** 2 / 2
        )

    def hessian(self, x: Tensor) -> Tensor:
        knots, widths, slopes = self._at
        inside = (x >= knots) & (x < knots + widths)
        return (slopes * inside).sum(-1)[..., None, None] + self._curve


class SplitTask(Personal):
    """One problem of :class:`Splits` (one shared, one personal number), with Gaussian
    noise in each block.
    """

    name = "split"

    def __init__(
        self,
        knots: Sequence[Row],
        widths: Sequence[Row],
        slopes: Sequence[Row],
        left: Row,
        b: Row,
        h: float,
        k: float,
        p: float = 1.0,
        q: float = 1.0,
        sigma_u: float = 0.0,
        sigma_v: float = 0.0,
    ):
        self.body = RampTask(knots, widths, slopes, left)
        self.problem = Splits.one(knots, widths, slopes, left, b, h, k, p, q)
        self.sigmas = (sigma_u, sigma_v)
        super().__init__(self.body.m, 1, 1, sigma_u, sigma_v)
        self._b, self._hkpq = (
            torch.as_tensor(self.problem.b[0]),
            (float(h), float(k), float(p), float(q)),
        )

    @cached_property
    def constants(self) -> ProblemConstants:
        known: dict[str, Any] = {
            name: float(v[0]) for name, v in self.problem.constants().items()
        }
        known |= {
            "sigma_u": self.block_noise.sigma_u,
            "sigma_v": self.block_noise.sigma_v,
        }
        return ProblemConstants(sigma_l=self.noise.sigma, **known)

    def client_loss(self, x: Tensor) -> Tensor:
        (h, k, p, q), u, v = self._hkpq, x[..., 0], x[..., 1]
        wave = k * (p * u).sin() * (q * v).sin()
        return self.body.client_loss(x[..., :1]) + h / 2 * (v - self._b) ** 2 + wave

    def client_gradient(self, x: Tensor) -> Tensor:
        (h, k, p, q), u, v = self._hkpq, x[..., 0], x[..., 1]
        body = (
            self.body.client_gradient(x[..., :1])[..., 0]
            + k * p * (p * u).cos() * (q * v).sin()
        )
        return torch.stack(
            [body, h * (v - self._b) + k * q * (p * u).sin() * (q * v).cos()], dim=-1
        )

    def hessian(self, x: Tensor) -> Tensor:
        (h, k, p, q), u, v = self._hkpq, x[..., 0], x[..., 1]
        same, cross = (
            -k * (p * u).sin() * (q * v).sin(),
            k * p * q * (p * u).cos() * (q * v).cos(),
        )
        body = self.body.hessian(x[..., :1])[..., 0, 0] + p**2 * same
        rows = torch.stack([body, cross], -1), torch.stack([cross, h + q**2 * same], -1)
        return torch.stack(rows, -2)


Ramps.task, Splits.task = RampTask, SplitTask
TASKS = {name_of_task(task): task for task in (RampTask, SplitTask)}
"""The tasks that a counterexample may name, as its document names them."""

__all__ = ["TASKS", "RampTask", "Ramps", "SplitTask", "Splits"]
