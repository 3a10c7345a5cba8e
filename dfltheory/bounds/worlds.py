"""Small worlds in which lemmas are run: every expectation is a finite sum, worked out in full.

A :class:`World` has clients with smooth functions on R^d, minibatches of finitely many atoms, a mixing
matrix, a start, and step sizes at the edge of what a lemma allows. Its runs enumerate every outcome of every
minibatch: arrays begin with the axis of outcomes, ``(outcomes, clients, d)``, and :meth:`World.sq` is
(1/m) sum_i E||.||^2. A lemma is then a :class:`~dfltheory.bounds.steps.Matrices` whose sample is a world
(:func:`worlds` draws them). All numbers are dyadic: :meth:`World.exact` is the same world in rationals, in
which a refutation is checked again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
Start = Literal["zero", "common", "any"]
LOW, STEP, KNOTS = -3, Fraction(1, 2), 13
"""Gradients are piecewise linear between LOW, LOW + STEP, ..., and flat beyond."""
TRAP = np.array([0, 0, 0, 0, 0.5, 1, 1.5, 1, 0.5, 0, 0, 0, 0])
"""max(rho - |x|, 0): the ascent of SAM leads from 0 to where its gradient is zero."""


class Run:
    """What a run makes, by the names of its quantities: ``round`` begins a new list of those of a round's
    steps, ``add`` puts arrays at the end of lists, of the last round's where there are such."""

    def __init__(self, each_round: str, each_step: str) -> None:
        self._steps = each_step.split()
        for name in (*each_round.split(), *self._steps):
            setattr(self, name, [])

    def __getattr__(self, name: str) -> list[Any]:
        raise AttributeError(f"a run without {name!r} was asked for it")

    def round(self, **found: Any) -> None:
        """Begin a round, with what it starts from."""
        for name in self._steps:
            getattr(self, name).append([])
        self.add(**found)

    def add(self, **found: Any) -> None:
        """Put these arrays at the ends of their lists."""
        for name, array in found.items():
            kept = getattr(self, name)
            (kept[-1] if name in self._steps else kept).append(array)


@dataclass(frozen=True, eq=False)
class World:
    """Client i's gradient at x is ``curve x + tables[i]`` by coordinates, on atom a plus ``noise[a, i]``.

    ``tables`` (m, d, knots) and ``noise`` (atoms, m, d, knots) hold values at the knots; ``noise`` has mean
    zero under ``chances``. ``samplewise``: L bounds every minibatch's gradient, else only the clients'.
    """

    curve: Any
    tables: Array
    noise: Array
    chances: Array
    W: Array
    lam: Any
    start: Array
    eta: Any
    rho: Any
    penalty: Any
    K: int
    Q: int
    T: int
    samplewise: bool

    @property
    def one(self) -> Any:
        """1 as this world's numbers are, so that 1/3 is rational where they are."""
        return 1 + 0 * self.curve

    @property
    def m(self) -> int:
        return self.tables.shape[0]

    @property
    def size(self) -> int:
        """Gradients of all its outcomes: what a run by hand takes; many where no rational run is."""
        return len(self.coins) * self.T * self.K * self.m * (1 if self.tables.shape[1] == 1 else 10**6)

    def made(self, kind: type[Any] | None = None, **changed: Any) -> Any:
        """This world with these values, as a world of this kind."""
        return (kind or type(self))(**{f.name: getattr(self, f.name) for f in fields(self)} | changed)

    def exact(self) -> World:
        """This world in rationals (d = 1: the direction of an ascent is then rational)."""

        def rational(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return np.array([Fraction(float(v)) for v in value.ravel()], dtype=object).reshape(
                    value.shape
                )
            return Fraction(value) if isinstance(value, float) else value

        return replace(self, **{f.name: rational(getattr(self, f.name)) for f in fields(self)})

    def changed(self, rng: np.random.Generator) -> World:
        """This world with clients alike, opposed, still or at SAM's fixed point, with more noise or noise of
        some clients alone, another radius, farther starts: what an average draw leaves out. No smoothness
        grows, so that the step sizes are allowed as they were."""
        tables, noise, (m, d, _) = self.tables.copy(), self.noise, self.tables.shape
        i, j, c = rng.integers(m), rng.integers(m), rng.integers(d)
        tables[i, c] = [tables[i, c], tables[j, c], -tables[j, c], 0 * tables[i, c], _table(rng, (1,))[0],
                        float(self.L) * TRAP][rng.integers(6)]  # fmt: skip
        noise = noise * rng.choice([0, 1, 1, 2, 8], (m, 1, 1)) if rng.random() < 0.5 else noise
        made = self.made(
            tables=tables, noise=noise, rho=self.rho * rng.choice([0, 1, 1, 1 / 8, 2]),
            start=self.start * rng.choice([1, 1, 1 / 4, 4]),
        )  # fmt: skip
        return made if all(new <= old for new, old in zip(made.steep, self.steep, strict=True)) else self

    @property
    def steep(self) -> tuple[Any, ...]:
        """The smoothness constants by which its step sizes are chosen."""
        return (self.L,)

    def __str__(self) -> str:
        sent = f"W contracts by {float(self.lam):g}, Q = {self.Q}"
        steps = f"{self._steps}{'' if self.penalty == self.eta else f', penalty = {float(self.penalty):.4g}'}"
        return f"{self._size}, {sent}, {steps}, {self._moments}"

    _size = property(lambda w: f"{w.m} clients in R^{w.tables.shape[1]}")
    _steps = property(lambda w: f"eta = {float(w.eta):.4g}, rho = {float(w.rho):g}, K = {w.K}, T = {w.T}")

    @property
    def _moments(self) -> str:
        return f"L = {float(self.L):g}, {atoms(self)}, sigma_l^2 = {float(self.sigma_l_sq):g}"

    # -- constants that hold ------------------------------------------------------------------------

    @cached_property
    def L(self) -> Any:
        """The smoothness of the clients (``samplewise``: on every minibatch); positive."""
        tables = self.tables[None] + self.noise if self.samplewise else self.tables[None]
        steep = abs(self.curve + np.diff(tables, axis=-1) / self._step).max()
        return max(steep, abs(self.curve), Fraction(1, 16) + 0 * self.curve)

    @cached_property
    def sigma_l_sq(self) -> Any:
        """The largest variance of a minibatch's gradient at one point."""
        return self._variance.max(axis=-1).sum(axis=-1).max()

    @cached_property
    def sigma_l_sq_two_points(self) -> Any:
        """max E||grad F_i(y; xi) - grad f_i(x)||^2 over all x AND y (``curve`` = 0)."""
        apart = (self.tables[..., :, None] - self.tables[..., None, :]) ** 2 + self._variance[..., :, None]
        return apart.max(axis=(-1, -2)).sum(axis=-1).max()

    @cached_property
    def sigma_g_sq(self) -> Any:
        """max (1/m) sum_i ||grad f_i - grad f||^2."""
        return ((self._apart**2).sum(axis=0) / self.m).max(axis=-1).sum()

    @cached_property
    def beta_sq(self) -> Any:
        """max_i max ||grad f_i - grad f||^2."""
        return (self._apart**2).max(axis=-1).sum(axis=-1).max()

    @cached_property
    def B_sq(self) -> Any:
        """max_i max ||grad f_i||^2 (``curve`` = 0)."""
        return (self.tables**2).max(axis=-1).sum(axis=-1).max()

    @property
    def _variance(self) -> Array:
        return (self.chances[:, None, None, None] * self.noise**2).sum(axis=0)

    @property
    def _apart(self) -> Array:
        return self.tables - self.tables.sum(axis=0) / self.m

    @cached_property
    def _step(self) -> Any:
        return STEP + 0 * self.curve

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """The indices of clients and of coordinates, which broadcast to those of a point."""
        return np.arange(self.m)[:, None], np.arange(self.tables.shape[1])

    # -- functions ----------------------------------------------------------------------------------

    def _cell(self, x: Array) -> tuple[Array, Array]:
        """The knot at or below each coordinate, and how far it is to the next, in [0, 1]."""
        scaled = (x - LOW) / self._step
        cell = np.minimum(np.maximum(np.floor(scaled), 0), KNOTS - 2).astype(int)
        return cell, np.minimum(np.maximum(scaled - cell, 0 * self.curve), self.one)

    def gradients(self, x: Array) -> Array:
        """grad f_i at ``x[..., i, :]`` for every client i."""
        return self._sloped(x, *self._cell(x))

    def _sloped(self, x: Array, cell: Array, share: Array) -> Array:
        low, high = self.tables[*self._axes, cell], self.tables[*self._axes, cell + 1]
        return self.curve * x + low + share * (high - low)

    def sampled(self, x: Array, coin: Array) -> Array:
        """grad F_i at ``x[..., i, :]`` on minibatch ``coin[..., i]``."""
        (cell, share), at = self._cell(x), (coin[..., None], *self._axes)
        low, high = self.noise[*at, cell], self.noise[*at, cell + 1]
        return self._sloped(x, cell, share) + low + share * (high - low)

    def single(self, i: int, y: Any, atom: int) -> Array:
        """grad F_i at one point, (d,), on one minibatch, the coordinates one by one."""
        found = []
        for value, table in zip(y, self.tables[i] + self.noise[atom, i], strict=True):
            cell = min(max((value - LOW) // self._step, 0), KNOTS - 2)
            share = min(max((value - LOW) / self._step - cell, 0), 1)
            low, high = table[int(cell)], table[int(cell) + 1]
            found.append(self.curve * value + (1 - share) * low + share * high)
        return np.array(found)

    def climb(self, g: Array) -> Array:
        """rho g/||g|| of one gradient, (d,)."""
        size = abs(g[0]) if len(g) == 1 else np.linalg.norm(g)
        return self.rho * g / size if size > (0 if isinstance(self.curve, Fraction) else 1e-12) else 0 * g

    def at(self, x: Array) -> Array:
        """grad f_i at the same point for every client: (..., d) to (..., m, d)."""
        return self.gradients(np.repeat(x[..., None, :], self.m, axis=-2))

    def gradient(self, x: Array) -> Array:
        """grad f at ``x``, (..., d)."""
        return self.at(x).sum(axis=-2) / self.m

    def value(self, x: Array) -> Array:
        """f at ``x``, (..., d) to (...); f(LOW, ..., LOW) is that of the quadratic."""
        table = self.tables.sum(axis=0) / self.m
        whole = np.cumsum((table[:, 1:] + table[:, :-1]) / 2 * self._step, axis=-1)
        whole = np.concatenate([0 * whole[:, :1], whole], axis=-1)
        (cell, share), c = self._cell(x), np.arange(x.shape[-1])
        low, high = table[c, cell], table[c, cell + 1]
        inside = whole[c, cell] + self._step * (share * low + share**2 * (high - low) / 2)
        ends = np.minimum(x - LOW, 0) * table[c, 0] + np.maximum(x + LOW, 0) * table[c, -1]
        return (self.curve * x**2 / 2 + inside + ends).sum(axis=-1)

    # -- expectations -------------------------------------------------------------------------------

    @cached_property
    def coins(self) -> Array:
        """Every outcome of the minibatches: (outcomes, T, K, m)."""
        cells = self.T * self.K * self.m
        every = list(itertools.product(range(len(self.chances)), repeat=cells))
        return np.array(every, dtype=int).reshape(-1, self.T, self.K, self.m)

    @cached_property
    def probabilities(self) -> Array:
        return self.chances[self.coins].reshape(len(self.coins), -1).prod(axis=1)

    def mean(self, a: Array) -> Any:
        """E of scalars, (outcomes, ...), averaged over what axes are left (clients)."""
        weights = self.probabilities.reshape(-1, *[1] * (a.ndim - 1))
        return (weights * a).sum() / (a.size // len(a))

    def inner(self, a: Array, b: Array) -> Any:
        """(1/m) sum_i E<a_i, b_i>."""
        return self.mean((a * b).sum(axis=-1))

    def sq(self, a: Array) -> Any:
        """(1/m) sum_i E||a_i||^2."""
        return self.inner(a, a)

    # -- runs ---------------------------------------------------------------------------------------

    def ascent(self, g: Array) -> Array:
        """rho g/||g||, and 0 where g = 0 (a gradient of 1e-12 is rounding); rational in one dimension."""
        least = 0 if isinstance(self.curve, Fraction) else 1e-12
        if g.shape[-1] == 1:
            return self.rho * ((g > least) * 1 - (g < -least) * 1)
        size = np.linalg.norm(g, axis=-1, keepdims=True)
        return np.where(size > least, self.rho * g / np.maximum(size, least), 0)

    def everywhere(self, x: Array) -> Array:
        """What is certain, in every outcome: (m, d) to (outcomes, m, d)."""
        return np.repeat(x[None], len(self.coins), axis=0)

    def mixed(self, z: Array, times: int = 1) -> Array:
        """W^times z by clients."""
        W = np.linalg.matrix_power(self.W, times)
        return np.swapaxes(np.tensordot(W, z, axes=(1, 1)), 0, 1)

    def _run(self, rho: Any, step: Callable[[Array, Array, Array, Array], Array], dual: bool) -> Run:
        """T rounds of y <- step(y, gradient, x, dual); with duals, z = y - penalty dual is sent, once.

        By round and step: models ``x[t]``, local models ``y[t][k]``, ascents ``delta[t][k]``, gradients
        ``g[t][k]`` at the local and ``sam[t][k]`` at the ascended models on the same minibatch, ``z[t]`` that
        is sent, and duals: ``dual[t]`` is what round t uses.
        """
        world, run = replace(self, rho=rho), Run("x z dual", "y delta g sam")
        x = self.everywhere(self.start)
        h = 0 * x
        for t in range(self.T):
            y = x
            run.round(x=x, dual=h)
            for k in range(self.K):
                coin = self.coins[:, t, k]
                g = world.sampled(y, coin)
                delta = world.ascent(g)
                sam = world.sampled(y + delta, coin)
                run.add(y=y, delta=delta, g=g, sam=sam)
                y = step(y, sam, x, h)
            run.add(y=y, z=y - self.penalty * h if dual else y)
            h = h - (y - x) / self.penalty if dual else h
            x = self.mixed(run.z[t], 1 if dual else self.Q)
        run.add(x=x, dual=h)
        return run

    def literally(self, outcome: int, sam: bool, dual: bool) -> tuple[list[Any], list[Any]]:
        """Algorithm 1 of DFedSAM, with duals of DFedADMM, as it is printed, client by client in one outcome:
        x^t for all t, and the last duals."""
        x, h = list(self.start), [0 * row for row in self.start]
        path = [x]
        for t in range(self.T):
            z, new = [], []
            for i in range(self.m):
                y = x[i]
                for k in range(self.K):
                    atom = self.coins[outcome, t, k, i]
                    g = self.single(i, y, atom)
                    g = self.single(i, y + self.climb(g), atom) if sam else g
                    y = y - self.eta * (g - h[i] + (y - x[i]) / self.penalty if dual else g)
                z.append(y - self.penalty * h[i] if dual else y)
                new.append(h[i] - (y - x[i]) / self.penalty)
            for _ in range(1 if dual else self.Q):
                z = [sum(self.W[i, j] * z[j] for j in range(self.m)) for i in range(self.m)]
            x, h = z, new if dual else h
            path.append(x)
        return path, h

    @cached_property
    def gossip(self) -> Run:
        """K steps of SAM (rho = 0: of SGD) and Q gossip steps a round: DFedSAM-MGS."""
        return self._run(self.rho, lambda y, g, x, h: y - self.eta * g, dual=False)

    def _dual_step(self, y: Array, g: Array, x: Array, h: Array) -> Array:
        return y - self.eta * (g - h + (y - x) / self.penalty)

    @cached_property
    def admm_sam(self) -> Run:
        """DFedADMM-SAM; its duals start at 0."""
        return self._run(self.rho, self._dual_step, dual=True)

    @cached_property
    def admm(self) -> Run:
        """DFedADMM."""
        return self._run(0 * self.rho, self._dual_step, dual=True)


def atoms(world: World) -> str:
    """How many outcomes a minibatch has, in words."""
    return "no noise" if len(world.chances) == 1 else f"{len(world.chances)} atoms"


# -- draws ------------------------------------------------------------------------------------------------

SIZES = [(2, 1, 3, 2), (2, 2, 1, 2), (2, 2, 2, 2), (2, 3, 1, 2), (3, 2, 1, 2), (2, 2, 1, 3), (2, 1, 2, 3),
         (3, 1, 2, 2), (2, 1, 6, 1), (2, 5, 3, 1), (3, 3, 4, 1), (2, 2, 12, 1), (6, 2, 2, 1)]  # fmt: skip
"""(m, K, T, atoms): at most 256 outcomes."""
CHANCES = {1: [[1.0]], 2: [[0.5, 0.5], [0.75, 0.25]], 3: [[0.25, 0.25, 0.5]]}


def _table(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Values at the knots: a walk, a ramp (Huber's), a trap, a level, or nothing; in quarters."""
    flat = np.empty((int(np.prod(shape)), KNOTS))
    for row in flat:
        kinds = [np.cumsum(rng.integers(-2, 3, KNOTS)) / 4, np.clip(np.arange(KNOTS) - 6, -2, 2) / 2,
                 TRAP, np.ones(KNOTS), np.zeros(KNOTS)]  # fmt: skip
        row[:] = kinds[rng.integers(len(kinds))] * rng.choice([-1, 1])
    return flat.reshape(*shape, KNOTS)


def _mixing(rng: np.random.Generator, m: int) -> tuple[Array, float]:
    """(1 - p) I + p P, with lam = |1 - p| from nearly 1 to 0, the second eigenvalue of either sign."""
    p = float(rng.choice([1, 1 / 64, 1 / 8, 1 / 2, 3 / 4, 5 / 4] + ([15 / 8] if m == 2 else [])))
    return (1 - p) * np.eye(m) + p / m, abs(1 - p)


def _dyadic(value: float) -> float:
    """The next multiple of 2^-30 below: rational without rounding."""
    return float(np.floor(value * 2**30) / 2**30)


@dataclass(frozen=True)
class Options:
    """What a lemma allows: eta at most 1/(``edge`` K L), ``bounded`` gradients (no quadratic part), and
    eta/penalty among ``ratio`` where K ratio >= 1."""

    start: Start = "common"
    edge: float = 10
    bounded: bool = False
    samplewise: bool = True
    ratio: tuple[float, ...] = (1.0,)
    Q: tuple[int, ...] = (1, 2, 3)
    sizes: tuple[tuple[int, int, int, int], ...] = tuple(SIZES)


@cache
def _world(seed: int, allowed: Options) -> World:
    rng = np.random.default_rng(seed)
    m, K, T, atoms = allowed.sizes[rng.integers(len(allowed.sizes))]
    d = int(rng.choice([1, 1, 2]))
    own, common = _table(rng, (m, d)), _table(rng, (d,))
    if rng.random() < 0.3:  # clients that pull against each other
        own[1] = -own[0]
    tables = own * rng.choice([0, 1 / 16, 1, 1]) + common * rng.choice([0, 1 / 4, 1])
    chances = np.array(CHANCES[atoms][rng.integers(len(CHANCES[atoms]))])
    first = _table(rng, (atoms - 1, m, d)) * rng.choice([1 / 8, 1, 4])
    last = -(chances[:-1, None, None, None] * first).sum(axis=0) / chances[-1]
    W, lam = _mixing(rng, m)
    starts = {
        "zero": np.zeros((m, d)),
        "common": np.repeat(rng.integers(-8, 9, (1, d)) / 4, m, axis=0),
        "any": rng.integers(-8, 9, (m, d)) / 4,
    }
    world = World(
        curve=0.0 if allowed.bounded else float(rng.choice([0, 0, 1, -1 / 2])),
        tables=tables,
        noise=np.concatenate([first, last[None]]),
        chances=chances,
        W=W,
        lam=lam,
        start=starts[allowed.start],
        eta=1.0,
        rho=float(rng.choice([0, 1 / 8, 1 / 2, 1, 1.5])),
        penalty=1.0,
        K=K,
        Q=int(rng.choice(allowed.Q)),
        T=T,
        samplewise=allowed.samplewise,
    )
    eta = max(_dyadic(rng.choice([1, 1, 1 / 2, 1 / 32]) / (allowed.edge * K * world.L)), 2.0**-30)
    ratio = float(rng.choice([r for r in allowed.ratio if r * K >= 1]))
    return replace(world, eta=eta, penalty=eta / ratio)


def worlds(**allowed: Any) -> Callable[[np.random.Generator], tuple[World]]:
    """What draws the worlds of these :class:`Options`, each seed's world and its runs once: the lines of a
    proof share them."""
    options = Options(**allowed)
    return lambda rng: (_world(int(rng.integers(2**32)), options),)


__all__ = ["Options", "Run", "World", "atoms", "worlds"]
