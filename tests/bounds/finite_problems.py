"""Finite test problems in exact arithmetic, in which facts of the kernel are true or
false.

A :class:`FiniteProblem` has outcomes with rational probabilities, clients, steps and rounds; a
value for every state, noise and gradient; and a value for every glossary symbol. It
evaluates vectors and moments from their meaning (as ``kernel.py`` states it) and shares
no code with the rules. Roots are enclosed between rationals.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs.kernel import Fact
from dfltheory.proofs.moments import BLOCKS, Atom, Moment, Vec, count, k, lag

SCALE = 10**40
Interval = tuple[Fraction, Fraction]
Vector = tuple[Fraction, ...]


def enclosed_root(x: Interval) -> Interval:
    """Return rational bounds of the square roots of an interval's ends."""
    low, high = (math.isqrt(int(max(e, 0) * SCALE**2)) for e in x)
    return Fraction(low, SCALE), Fraction(high + 1, SCALE) if x[1] else Fraction(0)


def product(x: Interval, y: Interval) -> Interval:
    ends = [a * b for a in x for b in y]
    return min(ends), max(ends)


@dataclass
class FiniteProblem:
    """A finite probability space with clients, steps and rounds, in exact arithmetic.

    ``values(name, outcome, round, step, client)`` is a base vector; ``gradient(i,
    point)`` and ``objective(i, point)`` belong to client i's function;
    ``weights(outcome, round, client)`` are the push-sum weights. With two blocks of one
    coordinate each, a point is (u, v), and names of vectors end with the block.
    """

    probabilities: list[Fraction]
    m: int
    K: int
    T: int
    numbers: Mapping[sp.Symbol, Fraction]
    values: Callable[[str, int, int, int, int], Vector]
    gradient: Callable[[int, Vector], Vector] = lambda i, x: x
    objective: Callable[[int, Vector], Fraction] = lambda i, x: Fraction(0)
    weights: Callable[[int, int, int], Fraction] = lambda w, t, i: Fraction(1)
    _atoms: dict = field(default_factory=dict)
    _terms: dict = field(default_factory=dict)
    _moments: dict = field(default_factory=dict)
    _numbers: dict = field(default_factory=dict)

    @cached_property
    def substitution(self) -> dict[sp.Symbol, sp.Rational]:
        known = {sp.Symbol("K", positive=True): self.K, s.T: self.T, s.m: self.m}
        given = {
            x: sp.Rational(v.numerator, v.denominator) for x, v in self.numbers.items()
        }
        return {**{x: sp.Integer(v) for x, v in known.items()}, **given}

    def number(
        self, expr, step: int | None = None, extra: Mapping | None = None
    ) -> Interval:
        """Return an enclosure of a coefficient."""
        key = (
            expr,
            step if k in getattr(expr, "free_symbols", ()) else None,
            tuple((extra or {}).items()),
        )
        if key not in self._numbers:
            self._numbers[key] = self._number(expr, step, extra)
        return self._numbers[key]

    def _number(self, expr, step: int | None, extra: Mapping | None) -> Interval:
        at = {
            **self.substitution,
            **({k: sp.Integer(step)} if step is not None else {}),
            **(extra or {}),
        }
        value = sp.sympify(expr).xreplace(at)
        if value.is_Rational:
            exact = Fraction(int(value.p), int(value.q))
            return exact, exact
        assert not value.free_symbols, f"{expr} has no value: {value.free_symbols}"
        near = value.evalf(60)
        assert near.is_real, f"{expr} is {near}"
        around, error = Fraction(str(near)), Fraction(1, SCALE)
        return around - error, around + error

    def exact(self, expr, step: int | None, extra: Mapping | None = None) -> Fraction:
        low, high = self.number(expr, step, extra)
        assert low == high, f"{expr} is not rational"
        return low

    # -- vectors

    def atom(self, a: Atom, w: int, t: int, step: int, i: int) -> Vector:
        known, key = self._atoms.setdefault(a, {}), (w, t, step, i)
        if key not in known:
            known[key] = self._atom(a, w, t, step, i)
        return known[key]

    def _atom(self, a: Atom, w: int, t: int, step: int, i: int) -> Vector:
        if a.pushed:
            whole = self.atom(replace(a, pushed=False), w, t, step, i)
            return tuple(x / self.weights(w, t, i) for x in whole)
        if a.mean and a.name != "xbar":
            every = [
                self.atom(replace(a, mean=False), w, t, step, j) for j in range(self.m)
            ]
            return tuple(sum(xs) / self.m for xs in zip(*every, strict=True))
        if isinstance(a.step, tuple):
            weights, n = a.step
            n = int(self.exact(n, step))
            parts = [self.atom(replace(a, step="k"), w, t, j, i) for j in range(n)]
            shares = [
                self.exact(weights.weight, None, {lag: sp.Integer(n - j)})
                for j in range(n)
            ]
            for form, power in ((weights.total, 1), (weights.squares, 2)):
                assert self.exact(form, None, {count: sp.Integer(n)}) == sum(
                    c**power for c in shares
                )
            zero = tuple(0 * x for x in self.atom(replace(a, step="k"), w, t, 0, i))
            scaled = [
                tuple(c * x for x in p) for c, p in zip(shares, parts, strict=True)
            ]
            return tuple(map(sum, zip(zero, *scaled, strict=True)))
        if a.point is not None:
            slope = self.gradient(i, self.vector(a.point, w, t, step, i))
            return tuple(
                x * (not a.block or "uv"[j] == a.block) for j, x in enumerate(slope)
            )
        held = self.values(a.name + a.block, w, t, step, i)
        return tuple(held[0] * (a.block == b) for b in "uv") if a.block else held

    def steps(self, phases: set[str]) -> int:
        """Return the number of steps k in a phase."""
        return int(self.exact(BLOCKS[next(iter(phases))].K, None)) if phases else self.K

    def vector(self, v: Vec, w: int, t: int, step: int, i: int) -> Vector:
        # cached for all outcomes: an atom's hash and its coefficient
        if (v, step) not in self._terms:
            known = [
                (a, self._atoms.setdefault(a, {}), self.exact(c, step))
                for a, c in v.terms
            ]
            self._terms[v, step] = known
        parts, key = [], (w, t, step, i)
        for a, known, c in self._terms[v, step]:
            at = known[key] if key in known else self.atom(a, *key)
            parts.append(tuple(c * x for x in at))
        return tuple(map(sum, zip(*parts, strict=True))) if parts else (Fraction(0),)

    # -- moments

    def moment(self, moment: Moment, t: int, step: int) -> Interval:
        key = (
            moment,
            t if moment.rounds in ("", "next") else 0,
            step if moment.free else 0,
        )
        if key not in self._moments:
            self._moments[key] = self._moment(moment, t, step)
        return self._moments[key]

    def _moment(self, moment: Moment, t: int, step: int) -> Interval:
        if moment.kind == "one":
            return Fraction(1), Fraction(1)
        rounds = {
            "": [t],
            "mean": range(self.T),
            "next": [t + 1],
            "start": [0],
            "end": [self.T],
        }[moment.rounds]
        steps = (
            range(self.steps(moment.at(steps="").phases)) if moment.steps else [step]
        )
        table = [[self._plain(moment, r, j) for j in steps] for r in rounds]
        of_steps = max if moment.steps == "max" else lambda row: sum(row) / len(row)
        value = sum(of_steps(row) for row in table) / len(table)
        return (
            enclosed_root((value, value)) if moment.kind == "root" else (value, value)
        )

    def _plain(self, moment: Moment, t: int, step: int) -> Fraction:
        total = Fraction(0)
        for w, p in enumerate(self.probabilities):
            for i in range(self.m):
                u = self.vector(moment.vec, w, t, step, i)
                if moment.kind == "value":
                    total += p * self.objective(i, u) / self.m
                    continue
                v = (
                    self.vector(moment.other, w, t, step, i)
                    if moment.kind == "inner"
                    else u
                )
                u, v = (
                    x if len(x) >= max(len(u), len(v)) else x * max(len(u), len(v))
                    for x in (u, v)
                )
                share = self.weights(w, t, i) if moment.weighted else 1
                total += (
                    p * share * sum(a * b for a, b in zip(u, v, strict=True)) / self.m
                )
        return total

    # -- facts

    def sides(
        self, left: Mapping, right: Mapping, t: int, step: int
    ) -> tuple[Interval, Interval]:
        made = []
        for form in (left, right):
            parts = [
                product(self.number(c, step), self.moment(m, t, step))
                for m, c in form.items()
            ]
            made.append((sum(p[0] for p in parts), sum(p[1] for p in parts)))
        return made[0], made[1]

    def violation(self, fact: Fact, right: Mapping | None = None) -> str | None:
        """Return where a fact is false, or None; with ``right``, another right-hand
        side is used.

        Returns None as well if a demand of the fact is not met.
        """
        right = fact.right if right is None else right
        if any(
            self.number(d.expr, j, {lag: sp.Integer(j + 1)})[1] < 0
            for d in fact.demands
            for j in range(self.K)
        ):
            return None
        for t, step in itertools.product(range(self.T), range(self.steps(fact.phases))):
            a, b = self.sides(fact.left, right, t, step)
            if a[0] > b[1] or (fact.equal and b[0] > a[1]):
                return (
                    f"round {t}, step {step}: {float(a[0])} and {float(b[1])} of"
                    f" {fact.rule}"
                )
        return None


# -- functions of one variable


@dataclass(frozen=True)
class Line:
    """A continuous piecewise linear function with rational kinks, and its integral from
    0.
    """

    kinks: tuple[Fraction, ...]
    slopes: tuple[Fraction, ...]
    level: Fraction

    def __call__(self, x: Fraction) -> Fraction:
        start, height, _, slope = self._piece(x)
        return height + slope * (x - start)

    def integral(self, x: Fraction) -> Fraction:
        start, height, area, slope = self._piece(x)
        return area + height * (x - start) + slope * (x - start) ** 2 / 2

    def _piece(self, x: Fraction) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Return the kink next to x towards 0, the values there, and the slope up to x.

        The values are those of the function and its integral.
        """
        below = bisect.bisect_left(self.kinks, x)
        return *self._ends[max(below - 1, 0)], self.slopes[below]

    @cached_property
    def _ends(self) -> list[tuple[Fraction, Fraction, Fraction]]:
        """Return (kink, value, integral from 0 to the kink) of every kink."""
        found = []
        for kink in self.kinks:
            inner = [c for c in self.kinks if min(0, kink) < c < max(0, kink)]
            stops = [Fraction(0), *sorted(inner, reverse=kink < 0), kink]
            height, area = self.level, Fraction(0)
            for a, b in itertools.pairwise(stops):
                slope = self.slopes[sum(c < (a + b) / 2 for c in self.kinks)]
                area += height * (b - a) + slope * (b - a) ** 2 / 2
                height += slope * (b - a)
            found.append((kink, height, area))
        return found


# -- runs of the algorithms, every outcome of every sample enumerated


def random_line(rng: random.Random, slopes: list[int], flat: bool = False) -> Line:
    kinks = tuple(sorted({Fraction(rng.randint(-4, 4), 2) for _ in range(2)}))
    inner = [Fraction(rng.choice(slopes)) for _ in range(len(kinks) + 1)]
    if flat:
        inner[0] = inner[-1] = Fraction(0)
    return Line(kinks, tuple(inner), Fraction(rng.randint(-2, 2)))


@dataclass(frozen=True)
class Problem:
    """Clients' gradients, the factor of the sample's coin, and constants that hold."""

    gradients: tuple[Line, ...]
    noises: tuple[Line, ...]

    @staticmethod
    def draw(rng: random.Random, m: int) -> Problem:
        common = random_line(rng, [-1, 0, 1, 2])
        common = Line(
            common.kinks, (Fraction(1), *common.slopes[1:-1], Fraction(1)), common.level
        )
        own = [random_line(rng, [-1, 0, 1], flat=True) for _ in range(m)]
        return Problem(
            tuple(_sum(common, b) for b in own),
            tuple(random_line(rng, [-1, 0, 1], True) for _ in range(m)),
        )

    @property
    def kinks(self) -> list[Fraction]:
        inner = {c for line in (*self.gradients, *self.noises) for c in line.kinks}
        return sorted({*inner, Fraction(0), min(inner) - 1, max(inner) + 1})

    def mean(self, x: Fraction) -> Fraction:
        return sum((g(x) for g in self.gradients), Fraction(0)) / len(self.gradients)

    def objective(self, x: Fraction) -> Fraction:
        return sum((g.integral(x) for g in self.gradients), Fraction(0)) / len(
            self.gradients
        )

    def functions(self) -> tuple[Callable, Callable]:
        """Return each client's gradient and objective at a point."""
        return lambda i, x: (self.gradients[i](x[0]),), lambda i, x: self.gradients[
            i
        ].integral(x[0])

    def constants(self) -> dict[sp.Symbol, Fraction]:
        """Return rational upper bounds of L, sigma_l and sigma_g."""
        pairs = list(zip(self.gradients, self.noises, strict=True))
        ends = [*self.kinks, *(2 * e for e in (self.kinks[0] - 1, self.kinks[-1] + 1))]
        steep = [
            abs(g(b) - g(a) + c * (h(b) - h(a))) / (b - a)
            for a, b in itertools.pairwise(sorted(ends))
            for g, h in pairs
            for c in (-1, 1)
        ]
        spread = max(
            sum((g(x) - self.mean(x)) ** 2 for g in self.gradients) / len(pairs)
            for x in self.kinks
        )
        noise = max(sum(h(x) ** 2 for h in self.noises) for x in self.kinks)
        single = max(abs(h(x)) for h in self.noises for x in self.kinks)
        assert noise >= single**2
        return {
            s.L: max(steep),
            s.sigma_l: single,
            s.sigma_g: enclosed_root((spread, spread))[1],
        }

    def least(self) -> Fraction:
        """The least value of f: at a kink or where the mean gradient is zero."""
        points = [*self.kinks, self.kinks[0] - 100, self.kinks[-1] + 100]
        found = list(points)
        for a, b in itertools.pairwise(sorted(points)):
            ga, gb = self.mean(a), self.mean(b)
            if ga * gb < 0:
                found.append(a - ga * (b - a) / (gb - ga))
        return min(self.objective(x) for x in found)


def _sum(a: Line, b: Line) -> Line:
    kinks = tuple(sorted({*a.kinks, *b.kinks}))
    ends = [kinks[0] - 1, *kinks, kinks[-1] + 1]
    value = lambda x: a(x) + b(x)  # noqa: E731
    slopes = tuple((value(y) - value(x)) / (y - x) for x, y in itertools.pairwise(ends))
    return Line(kinks, slopes, value(Fraction(0)))


def sign(x: Fraction) -> int:
    return (x > 0) - (x < 0)


@dataclass
class Recorder:
    """Records the quantities of a run by (name, outcome, round, step, client)."""

    held: dict = field(default_factory=dict)

    def __call__(self, name: str, w: int, t: int, step: int, i: int) -> Vector:
        for key in ((name, w, t, step, i), (name, w, t, i), (name, w, t)):
            if key in self.held:
                return (self.held[key],)
        raise KeyError((name, w, t, step, i))


def sampled(
    problem: Problem, rho: Fraction, i: int, y: Fraction, coin: int
) -> dict[str, Fraction]:
    """Return the parts of one SAM gradient at y: two gradients on one minibatch."""
    g, h = problem.gradients[i], problem.noises[i]

    def added(c: int) -> Fraction:
        there = y + rho * sign(g(y) + c * h(y))
        return g(there) + c * h(there) - g(y) - c * h(y)

    return {
        "g": g(y),
        "n": coin * h(y),
        "e": added(coin),
        "e^": (added(1) + added(-1)) / 2,
    }


def gossip_run(
    rng: random.Random,
    m: int,
    K: int,
    T: int,
    common: bool = True,
    slack: int = 8,
    steps: tuple[int, ...] = (1, 2),
    plain: bool = False,
    identical: bool = False,
) -> FiniteProblem:
    """Enumerate all 2^(m K T) outcomes of DFedSAM.

    W = (1 - p) I + p P with |1 - p| = lam, and Q gossip steps. ``plain`` sets rho = 0;
    ``identical`` gives all clients the same objective.
    """
    problem, Q = Problem.draw(rng, m), rng.choice(steps)
    if identical:
        problem = replace(problem, gradients=problem.gradients[:1] * m)
    numbers = problem.constants()
    p, rho = Fraction(rng.randint(1, 7), 4), Fraction(rng.randint(0, 2), 2)
    rho *= not plain
    lam = abs(1 - p)
    low = min(Fraction(1), (1 - lam**Q) / lam**Q if lam else Fraction(1))
    eta = low / (slack * K * numbers[s.L]) if numbers[s.L] else Fraction(1, 9)
    numbers[s.L] = numbers[s.L] or Fraction(1, 10)
    starts = [Fraction(rng.randint(-3, 3)) for _ in range(m)]
    starts = [starts[0]] * m if common else starts
    coins = list(itertools.product((-1, 1), repeat=m * K * T))
    held: dict = {}
    for w, coin in enumerate(coins):
        x = list(starts)
        for t in range(T):
            held.update({("x", w, t, i): x[i] for i in range(m)})
            sent = []
            for i in range(m):
                y = x[i]
                for j in range(K):
                    parts = sampled(problem, rho, i, y, coin[(t * K + j) * m + i])
                    held.update({(name, w, t, j, i): v for name, v in parts.items()})
                    y -= eta * (parts["g"] + parts["n"] + parts["e"])
                sent.append(y)
            for _ in range(Q):
                mean = sum(sent) / m
                sent = [(1 - p) * z + p * mean for z in sent]
            x = sent
        held.update({("x", w, T, i): x[i] for i in range(m)})
    mean = sum(starts) / m
    numbers |= {
        s.eta: eta,
        s.lam: lam,
        s.Q: Fraction(Q),
        s.rho: rho,
        s.f0_gap: problem.objective(mean) - problem.least(),
        s.x0_spread: sum((z - mean) ** 2 for z in starts) / m,
        s.x0_sq: sum(z**2 for z in starts) / m,
    }
    return FiniteProblem(
        [Fraction(1, len(coins))] * len(coins),
        m,
        K,
        T,
        numbers,
        Recorder(held),
        *problem.functions(),
    )


def _largest_square(
    held: dict, names: tuple[str, ...], n: int, m: int, K: int, T: int
) -> Fraction:
    """Return the largest over rounds and steps of (1/m) sum_i E

    sum of the named vectors

    ^2.
    """
    return max(
        sum(
            sum((held[x, w, t, j, i] for x in names), Fraction(0)) ** 2
            for w in range(n)
            for i in range(m)
        )
        / n
        / m
        for t in range(T)
        for j in range(K)
    )


def admm_run(
    rng: random.Random, m: int, K: int, T: int, slack: int = 2
) -> FiniteProblem:
    """Enumerate all outcomes of DFedADMM-SAM, with z_l in line 19 and L lam_admm =
    1/slack.
    """
    problem, p, rho = (
        Problem.draw(rng, m),
        Fraction(rng.randint(1, 7), 4),
        Fraction(rng.randint(0, 2), 2),
    )
    numbers = problem.constants()
    numbers[s.L] = numbers[s.L] or Fraction(1, 10)
    penalty, ratio = 1 / (slack * numbers[s.L]), Fraction(rng.randint(1, 4), 4)
    eta, start = ratio * penalty, Fraction(rng.randint(-3, 3))
    coins, held = list(itertools.product((-1, 1), repeat=m * K * T)), {}
    for w, coin in enumerate(coins):
        x, dual = [start] * m, [Fraction(0)] * m
        for t in range(T + 1):
            held.update(
                {("x", w, t, i): x[i] for i in range(m)}
                | {("dual", w, t, i): dual[i] for i in range(m)}
            )
            if t == T:
                break
            sent, new = [], []
            for i in range(m):
                y = x[i]
                for j in range(K):
                    parts = sampled(problem, rho, i, y, coin[(t * K + j) * m + i])
                    held.update({(name, w, t, j, i): v for name, v in parts.items()})
                    y -= eta * (
                        parts["g"]
                        + parts["n"]
                        + parts["e"]
                        - dual[i]
                        + (y - x[i]) / penalty
                    )
                sent.append(y - penalty * dual[i])
                new.append(dual[i] - (y - x[i]) / penalty)
            x, dual = [(1 - p) * z + p * sum(sent) / m for z in sent], new
    square = _largest_square(held, ("g", "n", "e"), len(coins), m, K, T)
    plain = _largest_square(held, ("g",), len(coins), m, K, T)
    weight = lambda n: 1 - (1 - ratio) ** n  # noqa: E731
    numbers |= {
        s.eta: eta,
        s.lam_admm: penalty,
        s.lam: abs(1 - p),
        s.rho: rho,
        s.S2: square,
        s.B: enclosed_root((plain, plain))[1],
        s.f0_gap: problem.objective(start) - problem.least(),
        sp.Symbol("gamma", nonnegative=True): weight(K),
        sp.Symbol("p", nonnegative=True): weight(K - 1),
    }
    return FiniteProblem(
        [Fraction(1, len(coins))] * len(coins),
        m,
        K,
        T,
        numbers,
        Recorder(held),
        *problem.functions(),
    )


def push_run(rng: random.Random, K: int, T: int, small: bool = False) -> FiniteProblem:
    """Enumerate all outcomes of DFedSGPSM on two clients.

    Momentum is reset to 0 in every round; the matrices change.
    """
    m, problem, rho = 2, Problem.draw(rng, 2), Fraction(rng.randint(0, 2), 2)
    numbers, alpha = problem.constants(), Fraction(rng.randint(0, 2), 4)
    numbers[s.L] = numbers[s.L] or Fraction(1, 10)
    c = [sum(alpha**j for j in range(n)) for n in range(1, K + 1)]
    eta = 1 / (2 * numbers[s.L] * sum(c))
    starts = [Fraction(rng.randint(-3, 3)) for _ in range(m)]
    matrices, weights, squares = [], [[Fraction(1)] * m], []
    for _ in range(T):
        a, b = Fraction(rng.randint(1, 3), 4), Fraction(rng.randint(1, 3), 4)
        P, w = ((1 - a, b), (a, 1 - b)), weights[-1]
        after = [sum(P[i][j] * w[j] for j in range(m)) for i in range(m)]
        squares.append((1 - a - b) ** 2 * w[0] * w[1] / (after[0] * after[1]))
        matrices.append(P)
        weights.append(after)
    delta = min(u for w in weights for u in w)
    q = min(Fraction(n, 64) for n in range(65) if Fraction(n, 64) ** 2 >= max(squares))
    eta *= (1 - q) * delta / 12 if small else 1  # eta L at <= delta (1 - q)/24
    coins, held = list(itertools.product((-1, 1), repeat=m * K * T)), {}
    for w, coin in enumerate(coins):
        x = list(starts)
        for t in range(T + 1):
            held.update(
                {("x", w, t, i): x[i] / weights[t][i] for i in range(m)}
                | {("xbar", w, t): sum(x) / m}
            )
            if t == T:
                break
            moved = []
            for i in range(m):
                y, v = x[i], Fraction(0)
                for j in range(K):
                    parts = sampled(
                        problem, rho, i, y / weights[t][i], coin[(t * K + j) * m + i]
                    )
                    held.update({(name, w, t, j, i): u for name, u in parts.items()})
                    v = alpha * v + parts["g"] + parts["n"] + parts["e"]
                    y -= eta * v
                moved.append(y)
            x = [sum(matrices[t][i][j] * moved[j] for j in range(m)) for i in range(m)]
    plain, mean = _largest_square(held, ("g",), len(coins), m, K, T), sum(starts) / m
    numbers |= {
        s.eta: eta,
        s.alpha: alpha,
        s.rho: rho,
        s.q: q,
        s.window: Fraction(rng.randint(1, 3)),
        s.delta: delta,
        s.B: enclosed_root((plain, plain))[1],
        s.x0_spread: sum((z - mean) ** 2 for z in starts) / m,
        s.x0_sq: sum(z**2 for z in starts) / m,
        s.f0_gap: problem.objective(mean) - problem.least(),
        sp.Symbol("at", nonnegative=True): sum(c),
        sp.Symbol("at_before", nonnegative=True): sum(c[:-1]),
        sp.Symbol("sum_c2", nonnegative=True): sum(u**2 for u in c),
        sp.Symbol("path", nonnegative=True): sum(
            u * sum(c[:j]) for j, u in enumerate(reversed(c))
        ),
    }
    return FiniteProblem(
        [Fraction(1, len(coins))] * len(coins),
        m,
        K,
        T,
        numbers,
        Recorder(held),
        *problem.functions(),
        lambda w, t, i: weights[t][i],
    )


def split_run(
    rng: random.Random, m: int, K_v: int, K_u: int, T: int, sam: bool = True
) -> FiniteProblem:
    """Enumerate all outcomes of DFedMDC (with SAM, DFedSMDC).

    Each round has K_v steps of v_i at u_i, K_u steps of u_i at the new v_i, and mixing
    of u. F_i(u, v) = phi_i(u) + psi_i(v) + c_i u v; the noise of a block depends only
    on that block.
    """
    shared, own, p = (
        Problem.draw(rng, m),
        Problem.draw(rng, m),
        Fraction(rng.randint(1, 7), 4),
    )
    rho, ties = (
        Fraction(rng.randint(0, 2), 2) * sam,
        [Fraction(rng.randint(-1, 1), 2) for _ in range(m)],
    )
    of_u, of_v, lam = shared.constants(), own.constants(), abs(1 - p)
    L_u, L_v = of_u[s.L], of_v[s.L]
    steep = max(map(abs, ties))
    chi = enclosed_root((steep**2 / (L_u * L_v),) * 2)[1]
    size = (1 - lam) / 32  # a = b, so that every variant's conditions hold
    eta_u, eta_v = size / (K_u * L_u), size / (K_v * L_v)
    starts = (
        [Fraction(rng.randint(-3, 3)) for _ in range(m)],
        [Fraction(rng.randint(-3, 3)) for _ in range(m)],
    )
    coins = list(itertools.product((-1, 1), repeat=m * (K_u + K_v) * T))
    held, diversity = {}, Fraction(0)
    for w, coin in enumerate(coins):
        u, v = map(list, starts)
        for t in range(T + 1):
            held |= {("xu", w, t, i): u[i] for i in range(m)} | {
                ("xv", w, t, i): v[i] for i in range(m)
            }
            if t == T:
                break
            sent, tossed = [], iter(coin[t * m * (K_u + K_v) :])
            for i in range(m):
                for j in range(K_v):
                    parts = {"gv": own.gradients[i](v[i]) + ties[i] * u[i]}
                    parts["nv"] = next(tossed) * own.noises[i](v[i])
                    held |= {(name, w, t, j, i): x for name, x in parts.items()}
                    v[i] -= eta_v * sum(parts.values())
                y = u[i]
                for j in range(K_u):
                    g, n, c = shared.gradients[i], shared.noises[i], next(tossed)
                    there = y + rho * sign(g(y) + ties[i] * v[i] + c * n(y))
                    parts = {"gu": g(y) + ties[i] * v[i], "nu": c * n(y)}
                    parts["eu"] = g(there) - g(y) + c * (n(there) - n(y))
                    held |= {(name, w, t, j, i): x for name, x in parts.items()}
                    y -= eta_u * sum(parts.values())
                sent.append(y)
            bar = sum(u) / m
            slopes = [shared.gradients[i](bar) + ties[i] * v[i] for i in range(m)]
            diversity = max(
                diversity, sum((x - sum(slopes) / m) ** 2 for x in slopes) / m
            )
            u = [(1 - p) * y + p * sum(sent) / m for y in sent]

    def objective(i: int, x: Vector) -> Fraction:
        return (
            shared.gradients[i].integral(x[0])
            + own.gradients[i].integral(x[1])
            + ties[i] * x[0] * x[1]
        )

    def least(problem: Problem, i: int) -> Fraction:
        """Of the client's function of one block less |c_i| x^2/2, since c u v >= -|c|
        (u^2 + v^2)/2.
        """
        less = Line((Fraction(0),), (-abs(ties[i]),) * 2, Fraction(0))
        return Problem(
            (_sum(problem.gradients[i], less),), (problem.noises[i],)
        ).least()

    bar = sum(starts[0]) / m
    start = sum(objective(i, (bar, starts[1][i])) for i in range(m)) / m
    numbers = {
        s.K_u: Fraction(K_u),
        s.K_v: Fraction(K_v),
        s.L_u: L_u,
        s.L_v: L_v,
        s.chi: chi,
        s.eta_u: eta_u,
        s.eta_v: eta_v,
        s.lam: lam,
        s.rho: rho,
        s.sigma_u: of_u[s.sigma_l],
        s.sigma_v: of_v[s.sigma_l],
        s.delta_u: enclosed_root((diversity, diversity))[1],
        s.x0_spread: sum((x - bar) ** 2 for x in starts[0]) / m,
        s.f0_gap: start - sum(least(shared, i) + least(own, i) for i in range(m)) / m,
    }
    return FiniteProblem(
        [Fraction(1, len(coins))] * len(coins),
        m,
        max(K_u, K_v),
        T,
        numbers,
        Recorder(held),
        lambda i, x: (
            shared.gradients[i](x[0]) + ties[i] * x[1],
            own.gradients[i](x[1]) + ties[i] * x[0],
        ),
        objective,
    )


__all__ = [
    "Line",
    "Problem",
    "Recorder",
    "FiniteProblem",
    "admm_run",
    "enclosed_root",
    "gossip_run",
    "push_run",
    "sampled",
    "split_run",
]
