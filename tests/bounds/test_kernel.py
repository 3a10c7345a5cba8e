"""Attacks on the kernel's rules with random finite probability spaces in exact
arithmetic.

A rule with a wrong constant is caught, facts cannot be forged, and false scripts are
rejected.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition
from dfltheory.errors import InputError
from dfltheory.proofs import comparison, facts
from dfltheory.proofs import kernel as r
from dfltheory.proofs.algorithm_rounds import ROUNDS
from dfltheory.proofs.moments import (
    DUAL,
    E_U,
    EHAT,
    G_U,
    G_V,
    MEAN,
    N_U,
    N_V,
    NOISE,
    PLAIN,
    SAMPLED,
    X_U,
    X_V,
    AlgorithmRound,
    E,
    G,
    Lag,
    N,
    RuleError,
    Vec,
    X,
    count,
    k,
    lag,
    one,
    root,
    sq,
    value,
)
from dfltheory.proofs.script import Script
from tests.bounds import proved
from tests.bounds.finite_problems import (
    FiniteProblem,
    Line,
    Problem,
    Recorder,
    admm_run,
    gossip_run,
    push_run,
    split_run,
)
from tests.bounds.vocabulary import UK, VK, U, V, gossiping, push_sum
from validation.pages import proofs as proofs_page

R = sp.Rational
GROWING = Lag(lag, count * (count + 1) / 2, count * (count + 1) * (2 * count + 1) / 6)
PATH = sp.Symbol("path", nonnegative=True)
THIRD = count * (count**2 - 1) / 3
FOURTH = count**2 * (count - 1) ** 2 / 4 + count * (count - 1) * (2 * count - 1) / 6
TURNED = (
    replace(PLAIN, path=PATH, partial=count * (count - 1) / 2),
    replace(GROWING, path=PATH, partial=(s.K * THIRD - FOURTH) / 2),
)
V_NEXT = X_V - s.eta_v * (G_V + N_V).sum(s.K_v)
TURN = X_U.mean() + V_NEXT
TWO = ROUNDS["DFedSMDC"]
RUN = gossiping(s.eta)


def given_fact(left, right, of=None) -> r.Fact:
    """Return a fact without a proof, as a premise; only tests use the token."""
    return r.Fact(
        facts._TOKEN,
        left=exactly(left),
        right=exactly(right),
        equal=False,
        demands=(),
        uses=frozenset(),
        lags=frozenset(),
        premises=(),
        rule="given",
        of=of,
    )


def exactly(form):
    return {
        m: rational(c) if isinstance(c, Fraction) else sp.sympify(c)
        for m, c in form.items()
    }


def small(rng: random.Random, low: int = -2, high: int = 2) -> Fraction:
    return Fraction(rng.randint(low, high))


def free(
    rng: random.Random, T: int = 1, dims: int | None = None, **numbers: Fraction
) -> FiniteProblem:
    """Draw random vectors on 2 to 6 outcomes, with many equal entries so that
    inequalities are sharp.
    """
    n, m, K, d = (
        rng.randint(2, 6),
        rng.randint(1, 3),
        rng.randint(1, 3),
        dims or rng.randint(1, 2),
    )
    weights = [Fraction(rng.randint(1, 3)) for _ in range(n)]
    shared_indices = (
        (),
        ("w",),
        ("w", "i"),
        ("w", "i", "k"),
        ("k",),
        ("same",),
        ("w", "i", "k", "same"),
        ("t", "k"),
    )
    flat, turned = rng.choice(shared_indices), rng.random() < 0.2 and m == 2
    held: dict = {}

    def values(name: str, w: int, t: int, step: int, i: int) -> tuple[Fraction, ...]:
        if turned and i == 1:
            return tuple(-x for x in values(name, w, t, step, 0))
        key = (
            "" if "same" in flat else name,
            0 if "w" in flat else w,
            0 if "t" in flat else t,
            0 if "k" in flat else step,
            0 if "i" in flat else i,
        )
        if key not in held:
            held[key] = tuple(small(rng) for _ in range(d))
        return held[key]

    chosen = {getattr(s, name): x for name, x in numbers.items()}
    return FiniteProblem([x / sum(weights) for x in weights], m, K, T, chosen, values)


def two(rng: random.Random):
    return Fraction(rng.randint(1, 3)), Fraction(-rng.randint(1, 3))


def shares(rng: random.Random) -> tuple[Fraction, Fraction]:
    x = Fraction(rng.randint(1, 3), 4)
    return x, 1 - x


def rational(x: Fraction) -> sp.Rational:
    return sp.Rational(x.numerator, x.denominator)


def slope(rng: random.Random, *points: Vec) -> FiniteProblem:
    """Draw linear gradients with the largest slope, or piecewise linear ones."""
    problem = Problem.draw(rng, 3)
    if rng.random() < 0.5:
        steep = Line((Fraction(0),), (Fraction(2), Fraction(2)), small(rng))
        problem = Problem(
            (steep,) * 3, (Line((Fraction(0),), (Fraction(0),) * 2, Fraction(0)),) * 3
        )
    finite_problem = free(rng, dims=1)
    finite_problem.m, finite_problem.numbers = 3, problem.constants()
    finite_problem.gradient, finite_problem.objective = problem.functions()
    return finite_problem


def constant_diversity(rng: random.Random) -> FiniteProblem:
    """Draw gradients that differ by constants, which attain the diversity's bound."""
    lines = [
        Line((Fraction(0),), (Fraction(1), Fraction(1)), Fraction(c)) for c in (-1, 1)
    ]
    finite_problem = free(rng, dims=1)
    finite_problem.m, finite_problem.numbers = 2, {s.sigma_g: Fraction(1)}
    finite_problem.gradient = lambda i, x: (lines[i](x[0]),)
    return finite_problem


def extreme(rng: random.Random, name: str, bound: sp.Symbol) -> FiniteProblem:
    """Draw vectors of the largest size that an assumption admits."""
    size = Fraction(rng.randint(1, 3))
    finite_problem = free(rng, dims=1)
    signs = [rng.choice([-1, 1]) for _ in range(64)]
    share = rng.choice([Fraction(1), Fraction(1), Fraction(1, 2)])
    finite_problem.values = lambda other, w, t, j, i: (
        signs[(7 * w + 5 * j + i) % 64] * share * size * (other == name),
    )
    finite_problem.numbers = {
        bound: size**2 if bound == s.S2 else size,
        s.L: size,
        s.rho: Fraction(1),
    }
    if name in ("e", "e^", "eu"):
        finite_problem.numbers = {s.L: Fraction(1), s.L_u: Fraction(1), s.rho: size}
    finite_problem.numbers |= {
        s.K_u: Fraction(finite_problem.K),
        s.K_v: Fraction(finite_problem.K),
    }
    return finite_problem


def sampled_run(rng: random.Random) -> FiniteProblem:
    m, K = rng.choice([(2, 2), (1, 3), (3, 1), (2, 1), (1, 2)])
    return gossip_run(rng, m, K, 1)


def pushing(rng: random.Random, balanced: bool | None = None) -> FiniteProblem:
    """Draw two clients with weights that sum to 2 and are at least delta, and one round
    of a column-stochastic matrix.
    """
    even = rng.random() < 0.5 if balanced is None else balanced
    low = Fraction(1) if even else Fraction(rng.randint(1, 3), 4)
    w = (low, 2 - low)
    c = Fraction(rng.randint(0, 4), 4)
    P = ((1 - c, c), (c, 1 - c))
    after = [sum(P[i][j] * w[j] for j in range(2)) for i in range(2)]
    x, h = (
        [small(rng) for _ in range(2)],
        [rng.choice([small(rng), Fraction(0)]) for _ in range(2)],
    )
    if rng.random() < 0.4:  # both parts in the direction that contracts least
        x, h = [Fraction(1), -w[0] / w[1]], [Fraction(-1), Fraction(1)]
    bar = sum(w[i] * x[i] for i in range(2)) / 2
    moved = [
        sum(P[i][j] * (w[j] * x[j] - h[j]) for j in range(2)) / after[i]
        for i in range(2)
    ]
    moved_bar = bar - sum(h) / 2
    # the second singular value of D'^(-1/2) P D^(1/2): its square is det^2/(w' of both)
    # times w of both
    det = abs(P[0][0] * P[1][1] - P[0][1] * P[1][0])
    square = det**2 * w[0] * w[1] / (after[0] * after[1])
    q = r_up(square)
    held = {("x", 0, 0, i): x[i] for i in range(2)} | {
        ("x", 0, 1, i): moved[i] for i in range(2)
    }
    held |= {("xbar", 0, 0): bar, ("xbar", 0, 1): moved_bar}
    held |= {("g", 0, 0, 0, i): h[i] for i in range(2)} | {
        ("n", 0, 0, 0, i): Fraction(0) for i in range(2)
    }
    held |= {("e", 0, 0, 0, i): Fraction(0) for i in range(2)}
    numbers = {s.q: q, s.delta: min(*w, *after), s.eta: Fraction(1)}
    return FiniteProblem(
        [Fraction(1)],
        2,
        1,
        1,
        numbers,
        Recorder(held),
        weights=lambda _, t, i: (after if t else w)[i],
    )


def r_up(square: Fraction) -> Fraction:
    from tests.bounds.finite_problems import enclosed_root

    return enclosed_root((square, square))[1]


PUSH = push_sum(s.eta)


def windowed(rng: random.Random) -> FiniteProblem:
    """Draw two clients whose distance is constant in one round and shrinks by q in the
    next, in turn.
    """
    q, first, T = (
        rng.choice([Fraction(0), Fraction(1, 2)]),
        rng.randint(0, 1),
        rng.choice([2, 4]),
    )
    x, held = rng.choice([small(rng), Fraction(0)]), {}
    for t in range(T + 1):
        h = rng.choice([small(rng), Fraction(0)])
        for i, sign in enumerate((1, -1)):
            held |= {("x", 0, t, i): sign * x, ("g", 0, t, 0, i): sign * h}
            held |= {(name, 0, t, 0, i): Fraction(0) for name in "ne"}
        held["xbar", 0, t] = Fraction(0)
        x = (x - h) * (q if (t + first) % 2 else 1)
    numbers = {s.q: q, s.delta: Fraction(1), s.eta: Fraction(1), s.window: Fraction(2)}
    return FiniteProblem(
        [Fraction(1)], 2, 1, T, numbers, Recorder(held), weights=lambda *_: Fraction(1)
    )


def sequence(
    rng: random.Random, p: Fraction, start: Fraction, added: Fraction, T: int
) -> FiniteProblem:
    """Draw a sequence with a_{t+1} = p a_t + c b + d exactly, from ``start``."""
    a, held = start, {}
    for t in range(T + 1):
        held |= {
            ("u", 0, t): a,
            ("v", 0, t): Fraction(1),
            ("x", 0, t): Fraction(0),
            ("dual", 0, t): a,
        }
        a = p * a + added
    return FiniteProblem([Fraction(1)], 1, 1, T, {}, Recorder(held))


def recursion(rng: random.Random, invariant: bool = False):
    case, p = rng.randint(0, 2), Fraction(1, 8)
    start, c, d, T = ((4, 0, 0, 4), (0, 1, 0, 80), (0, 0, 1, 80))[case]
    if invariant:
        start, c, d, T = 0, 0, 1, 12
    u = DUAL if invariant else U
    fact = given_fact(
        {root(u).at(rounds="next"): 1}, {root(u): R(1, 8), root(V): c, one("d"): d}, RUN
    )
    fact = given_fact(fact.left, {m: x for m, x in fact.right.items() if x}, RUN)
    finite_problem = sequence(rng, p, Fraction(start), Fraction(c + d), T)
    made = r.invariant(fact, r.dual_start(RUN)) if invariant else r.convolution(fact)
    return made, finite_problem


def summed_rounds(rng: random.Random):
    """Draw squares of which the last is 0; the others are the start, v of the round
    before, or 1.
    """
    case, T = rng.randint(0, 2), rng.choice([2, 3])
    T = 200 if case == 2 else T
    c, d = ((1, 0), (1, 0), (0, 1))[case]
    u = [Fraction(0)] * (T + 1)
    if case:
        u[1:T] = [Fraction(1)] * (T - 1)
    else:
        u[0] = Fraction(2)
    held = {("u", 0, t): u[t] for t in range(T + 1)}
    held |= {("v", 0, t): u[t + 1] for t in range(T)} | {("v", 0, T): Fraction(0)}
    right = {m: x for m, x in {sq(V): c, one("d"): d}.items() if x}
    fact = given_fact({sq(U).at(rounds="next"): 1}, right)
    finite_problem = FiniteProblem([Fraction(1)], 1, 1, T, {}, Recorder(held))
    assert finite_problem.violation(fact) is None
    return r.sum_rounds(fact), finite_problem


def single_step(rng: random.Random):
    """Return a fact about step k, in a round with one step."""
    finite_problem = free(rng)
    finite_problem.K = 1
    fact = r.minkowski(*zip(map(rational, two(rng)), (UK, VK), strict=True))
    return r.one_step(fact), finite_problem


def telescoped(rng: random.Random, rule: Callable = r.telescope):
    alg = AlgorithmRound("step", X, X - s.eta * G.sum(s.K), X.mean())
    line = Line((Fraction(0),), (Fraction(2), Fraction(2)), Fraction(0))
    start, eta = small(rng, 1, 3), rng.choice([Fraction(1, 2), Fraction(1, 4)])
    held, x = {}, start
    for t in range(3):
        held |= {("x", 0, t): x, ("g", 0, t): line(x)}
        x -= eta * line(x)
    finite_problem = FiniteProblem(
        [Fraction(1)],
        1,
        1,
        2,
        {s.eta: eta, s.f0_gap: line.integral(start), s.L: Fraction(2)},
        Recorder(held),
        lambda i, y: (line(y[0]),),
        lambda i, y: line.integral(y[0]),
    )
    w = alg.mean_model
    slack = -eta * (1 - eta)  # f(x+) - f(x) = -eta (1 - eta) f'(x)^2 for f = x^2
    fact = given_fact(
        {value(alg.following(w)): 1, value(w): -1},
        {sq(alg.full(w)): rational(slack)},
        alg,
    )
    return rule(alg, fact), finite_problem


LOCAL_SGD = ROUNDS["LocalSGD"]
LOCAL_NOISE = (N.sum(s.K) * -s.eta).dev()


def between_averages(rng: random.Random):
    """Draw two clients that move in opposite directions between exact averages.

    The noise of a round is a coin's. In the first case, all inequalities are
    equalities: the gradient is parallel to the noise, and 0 before an average.
    """
    share, other = shares(rng)
    sharp = rng.random() < 0.5
    window, T = (2, 2) if sharp else (rng.randint(1, 3), rng.randint(1, 4))
    outcomes = list(itertools.product((1, -1), repeat=T))
    drawn = [small(rng) for _ in range(T)]
    noise = other if sharp else Fraction(rng.randint(0, 2))
    held: dict[tuple, Fraction] = {}
    for w, coins in enumerate(outcomes):
        x = Fraction(0)
        for t in range(T + 1):
            for i, sign in enumerate((1, -1)):
                held["x", w, t, i] = sign * x
            if t == T:
                break
            gradient = share * coins[t] * (t % 2 == 0) if sharp else drawn[t]
            for i, sign in enumerate((1, -1)):
                held["g", w, t, 0, i] = sign * gradient
                held["n", w, t, 0, i] = sign * noise * coins[t]
                held["e", w, t, 0, i] = Fraction(0)
            x = (
                Fraction(0)
                if (t + 1) % window == 0
                else x - gradient - noise * coins[t]
            )
    numbers = {s.eta: Fraction(1), s.window: Fraction(window)}
    finite_problem = FiniteProblem(
        [Fraction(1, len(outcomes))] * len(outcomes), 2, 1, T, numbers, Recorder(held)
    )
    bounded = given_fact({sq(LOCAL_NOISE): 1}, {one("v"): noise**2}, LOCAL_SGD)
    assert finite_problem.violation(bounded) is None
    weights = (rational(share), rational(other))
    return r.exact_averages(LOCAL_SGD, bounded, weights), finite_problem


def premise(
    rng: random.Random, kind: Callable, u: Vec, parts: list, equal: bool = False
):
    return given_fact({kind(u): 1}, dict(parts))


def by(
    rng: random.Random,
    make: Callable[[], tuple[r.Fact, FiniteProblem, tuple[r.Fact, ...]]],
):
    """Draw until the premises hold."""
    for _ in range(200):
        fact, finite_problem, premises = make()
        if all(finite_problem.violation(p) is None for p in premises):
            return fact, finite_problem
    raise AssertionError("no finite problem satisfies the premises")


def tight(rng: random.Random, finite_problem: FiniteProblem):
    """Use one number everywhere, so that roots add up.

    Premises are then equalities, and Young's inequality has its best weight.
    """
    v, c, d = (
        Fraction(rng.randint(1, 3)),
        Fraction(rng.randint(1, 3)),
        Fraction(rng.randint(1, 3)),
    )
    finite_problem.values = lambda name, *_: (v if name == "v" else c * v + d,)
    finite_problem._atoms.clear()
    finite_problem._terms.clear()
    finite_problem._moments.clear()
    right_side = {root(VK): c / 2, root(V): c / 2, one("d"): d}
    step = given_fact({root(UK): 1}, right_side)
    whole = (c * v + d) ** 2 / v**2
    square = given_fact({sq(UK): 1}, {sq(VK): whole / 2, sq(V): whole / 2})
    return (
        given_fact({root(U): 1}, {root(V): c, one("d"): d}),
        step,
        square,
        c * v / (c * v + d),
    )


def linear(rng: random.Random, name: str):
    """Draw facts and premises for the rules on facts, with small coefficients."""

    def make():
        c, d = Fraction(rng.randint(1, 4), 2), Fraction(rng.randint(0, 3), 2)
        finite_problem = free(rng, T=rng.choice([1, 2]))
        most = sq(VK).at(steps="max")
        u, v, w = (
            finite_problem.moment(moment, 0, 0)[1] for moment in (sq(U), sq(V), most)
        )
        # equality where it can be
        d, e = (x - c * y if x >= c * y else d for x, y in ((u, v), (v, w)))
        a = given_fact({sq(U): 1}, {sq(V): c, one("d"): d})
        b = given_fact({sq(V): 1}, {most: c, one("e"): e})
        roots = given_fact({root(U): 1}, {root(V): c, one("d"): d})
        step = given_fact({root(UK): 1}, {root(VK): c, root(V): d, one("d"): 1})
        square = given_fact({sq(UK): 1}, {sq(VK): c, sq(V): k, one("d"): d * k**2})
        again = given_fact({sq(U): 1}, {sq(U): R(1, 2), sq(V): c})
        zero = given_fact({}, {sq(U): -rational(c), sq(V): d})
        x, y = shares(rng)
        # U = c V + d, the equality case of the triangle inequality
        if rng.random() < 0.7 and finite_problem.T == 1:
            roots, step, square, x = tight(rng, finite_problem)
            y = 1 - x
        made = {
            "chain": lambda: (r.chain(a, b), (a, b)),
            "weaken": lambda: (r.weaken(a, {sq(V): rational(c)}), (a,)),
            "label": lambda: (r.label(a, "z"), (a,)),
            "solve": lambda: rng.choice(
                [
                    lambda: (r.solve(again), (again,)),
                    lambda: (r.solve(zero, {sq(U): 1}), (zero,)),
                    lambda: (r.solve(a, {sq(U): R(1, 3), most: 1}, rational(x)), (a,)),
                ]
            )(),
            "add": lambda: (r.add((rational(x), 2), a, b), (a, b)),
            "square": lambda: (
                r.square(roots, {root(V): rational(x), one("d"): rational(y)}),
                (roots,),
            ),
            "take_root": lambda: (r.take_root(a), (a,)),
            "average": lambda: rng.choice(
                [
                    lambda: (r.average(square, "k"), (square,)),
                    lambda: (r.average(step, "k"), (step,)),
                    lambda: (r.average(roots, "t"), (roots,)),
                    lambda: (r.average(a, "t"), (a,)),
                ]
            )(),
            "largest": lambda: (r.largest(step), (step,)),
        }
        fact, premises = made[name]()
        return fact, finite_problem, premises

    return by(rng, make)


def longer_steps(rng: random.Random):
    """Draw steps that grow with the weights before them, by the stated amount."""
    finite_problem, weights = free(rng, dims=1), rng.choice(TURNED)
    v, c = (Fraction(rng.randint(1, 3)) for _ in range(2))
    before = weights.whole(k)
    sizes = [Fraction(str(before.subs(k, j))) for j in range(finite_problem.K)]
    finite_problem.values = lambda name, w, t, j, i: (
        v + c * sizes[j] if name == "u" else v,
    )
    finite_problem.numbers = {
        PATH: Fraction(
            str(weights.partial.subs({count: finite_problem.K, s.K: finite_problem.K}))
        )
    }
    fact = given_fact({root(UK): 1}, {root(V): 1, one("c"): rational(c) * before})
    assert finite_problem.violation(fact) is None
    return r.steps_sum(fact, weights), finite_problem


def bounded_noise(rng: random.Random, before_a_step: bool = False):
    finite_problem = sampled_run(rng)
    mean = rng.random() < 0.5
    vec = N.mean() if mean else rng.choice([N, NOISE])
    most = max(finite_problem.moment(sq(vec), 0, j)[1] for j in range(finite_problem.K))
    fact = given_fact({sq(vec): 1}, {one("v"): rational(most)}, RUN)
    if before_a_step:
        weights = rng.choice([PLAIN, GROWING])
        return r.largest_martingale(fact, weights), finite_problem
    n, weights = rng.choice([(s.K, PLAIN), (k, PLAIN), (s.K, GROWING)])
    return r.martingale(fact, n, weights), finite_problem


def bounded_gradients(rng: random.Random):
    first = rng.random() < 0.5
    finite_problem = extreme(rng, "x" if first else "g", s.B)
    finite_problem.gradient = lambda i, x: x
    return r.bounded(RUN, first=first), finite_problem


ATTACKS: dict[str, Callable[[random.Random], tuple[r.Fact, FiniteProblem]]] = {
    "minkowski": lambda g: (
        r.minkowski(*zip(map(rational, two(g)), (U, V), strict=True)),
        free(g),
    ),
    "young": lambda g: (
        r.young(tuple(map(rational, shares(g))), (g.choice([-3, 1, 2]), U), (1, V)),
        free(g),
    ),
    "mean_of": lambda g: (r.mean_of(U), free(g)),
    "dev_of": lambda g: (r.dev_of(U), free(g)),
    "projection": lambda g: (r.projection(U), free(g)),
    "one_step": single_step,
    "steps_mean": lambda g: (r.steps_mean(UK), free(g)),
    "steps_max": lambda g: (
        r.steps_max(
            UK,
            *g.choice(
                [
                    (k, PLAIN),
                    (s.K, PLAIN),
                    (s.K, GROWING),
                    (k, PLAIN, s.K - 1),
                    (k, GROWING, s.K),
                ]
            ),
        ),
        free(g),
    ),
    "steps_sum": longer_steps,
    "polarization": lambda g: (r.polarization(U, V), free(g)),
    "bilinear": lambda g: (r.bilinear(U, (R(2), V), (R(-1), U)), free(g)),
    "unweigh": lambda g: (r.unweigh(X), pushing(g)),
    "weigh": lambda g: (r.weigh(X), pushing(g)),
    "lipschitz": lambda g: (r.lipschitz(RUN, X, X.mean()), slope(g)),
    "descent": lambda g: (r.descent(RUN, X.mean(), DUAL.mean()), slope(g)),
    "diversity": lambda g: (r.diversity(RUN, X.mean()), constant_diversity(g)),
    "bounded": bounded_gradients,
    "second_moment": lambda g: (r.second_moment(RUN), extreme(g, "g", s.S2)),
    "variance": lambda g: (r.variance(RUN), extreme(g, "n", s.sigma_l)),
    "sam": lambda g: (
        lambda part: (r.sam(RUN, part), extreme(g, "e" if part == E else "e^", s.rho))
    )(g.choice([E, EHAT])),
    "pythagoras": lambda g: (
        r.pythagoras(RUN, g.choice([MEAN, G, RUN.local]), g.choice([N, NOISE])),
        sampled_run(g),
    ),
    "unbiased": lambda g: (
        r.unbiased(RUN, g.choice([X, RUN.full(X.mean())]), NOISE),
        sampled_run(g),
    ),
    "martingale": bounded_noise,
    "largest_martingale": partial(bounded_noise, before_a_step=True),
    "clients": lambda g: (r.clients(RUN, g.choice([N, NOISE])), sampled_run(g)),
    "gossip": lambda g: (
        r.gossip(replace(RUN, gossips=sp.S.One)),
        gossip_run(g, 2, 1, 1, common=False, steps=(1,)),
    ),
    "gossip_steps": lambda g: (
        r.gossip_steps(RUN),
        gossip_run(g, 2, 1, 1, common=False),
    ),
    "push": lambda g: (r.push(PUSH), pushing(g)),
    "push_windows": lambda g: (r.push_windows(PUSH), windowed(g)),
    "convolution": recursion,
    "sum_rounds": summed_rounds,
    "invariant": lambda g: recursion(g, invariant=True),
    "common_start": lambda g: (r.common_start(RUN), gossip_run(g, 2, 1, 1)),
    "any_start": lambda g: (
        r.any_start(RUN, size=g.choice([s.x0_spread, s.x0_sq])),
        gossip_run(g, 2, 1, 1, common=False),
    ),
    "dual_start": lambda g: (
        r.dual_start(RUN),
        sequence(g, Fraction(1, 2), Fraction(0), Fraction(1), 2),
    ),
    "telescope": telescoped,
    "telescope_to_end": partial(telescoped, rule=r.telescope_to_end),
    "exact_averages": between_averages,
    **{
        name: partial(linear, name=name)
        for name in (
            "chain",
            "weaken",
            "label",
            "solve",
            "add",
            "square",
            "take_root",
            "average",
            "largest",
        )
    },
}


def coupled(rng: random.Random) -> FiniteProblem:
    """F_i = L_u u^2/2 + L_v v^2/2 + c u v, so that each partial gradient attains its
    Lipschitz constant.
    """
    finite_problem, L_u, L_v = free(rng, dims=1), Fraction(4), Fraction(1)
    tie = rng.choice([Fraction(0), Fraction(2), Fraction(-2)])
    finite_problem.gradient = lambda i, x: (
        L_u * x[0] + tie * x[1],
        L_v * x[1] + tie * x[0],
    )
    finite_problem.objective = lambda i, x: (
        (L_u * x[0] ** 2 + L_v * x[1] ** 2) / 2 + tie * x[0] * x[1]
    )
    one_ = Fraction(1)
    finite_problem.numbers = {
        s.L_u: L_u,
        s.L_v: L_v,
        s.chi: abs(tie) / 2,
        s.K_u: one_,
        s.K_v: one_,
        s.eta_u: one_,
        s.eta_v: one_,
    }
    return finite_problem


def two_run(rng: random.Random) -> FiniteProblem:
    return split_run(
        rng, *rng.choice([(2, 1, 1, 1), (1, 2, 1, 1), (2, 1, 2, 1), (1, 1, 2, 1)])
    )


def diverse(rng: random.Random) -> FiniteProblem:
    """Draw clients' gradients that differ by 1 at the turn, whatever the personal parts
    are.
    """
    finite_problem = constant_diversity(rng)
    finite_problem.numbers = {
        s.delta_u: Fraction(1),
        s.K_v: Fraction(1),
        s.eta_v: Fraction(1),
    }
    finite_problem.gradient = lambda i, x: (x[0] + (-1) ** i, x[1])
    return finite_problem


def two_noise(rng: random.Random, before_a_step: bool = False):
    finite_problem, vec = two_run(rng), rng.choice([N_U, N_V, N_U.mean()])
    most = max(
        finite_problem.moment(sq(vec), 0, j)[1]
        for j in range(finite_problem.steps({vec.block}))
    )
    fact = given_fact({sq(vec): 1}, {one("v"): rational(most)}, TWO)
    if before_a_step:
        return r.largest_martingale(fact), finite_problem
    return r.martingale(fact, s.K_u if vec.block == "u" else s.K_v), finite_problem


SHIFTED = X_U.mean() + X_V * 2
OF_BLOCKS: dict[str, Callable[[random.Random], tuple[r.Fact, FiniteProblem]]] = {
    "lipschitz in its block": lambda g: (
        r.lipschitz(TWO, X_U + X_V, X_U.mean() + X_V, "u"),
        coupled(g),
    ),
    "lipschitz, v of u": lambda g: (
        r.lipschitz(TWO, X_U + X_V, X_U.mean() + X_V, "v"),
        coupled(g),
    ),
    "lipschitz, u of v": lambda g: (
        r.lipschitz(TWO, SHIFTED, TWO.mean_model, "u"),
        coupled(g),
    ),
    "descent in u": lambda g: (r.descent(TWO, TWO.mean_model, X_U.mean()), coupled(g)),
    "descent in v": lambda g: (r.descent(TWO, X_U + X_V, X_V), coupled(g)),
    "diversity": lambda g: (r.diversity(TWO, TURN), diverse(g)),
    "variance in u": lambda g: (r.variance(TWO, N_U), extreme(g, "nu", s.sigma_u)),
    "variance in v": lambda g: (r.variance(TWO, N_V), extreme(g, "nv", s.sigma_v)),
    "sam": lambda g: (r.sam(TWO, E_U), extreme(g, "eu", s.rho)),
    "pythagoras": lambda g: (
        r.pythagoras(TWO, g.choice([G_U, TWO.local]), N_U),
        two_run(g),
    ),
    "unbiased in u": lambda g: (
        r.unbiased(TWO, g.choice([TWO.grad(TURN), V_NEXT]), N_U),
        two_run(g),
    ),
    "unbiased in v": lambda g: (
        r.unbiased(TWO, TWO.grad(X_U + X_V, "v"), N_V),
        two_run(g),
    ),
    "martingale": two_noise,
    "largest_martingale": partial(two_noise, before_a_step=True),
    "clients": lambda g: (r.clients(TWO, g.choice([N_U, N_V])), two_run(g)),
    "gossip": lambda g: (r.gossip(TWO), split_run(g, 2, 1, 1, 1)),
    "any_start": lambda g: (r.any_start(TWO), split_run(g, 2, 1, 1, 1)),
    "steps_max": lambda g: (r.steps_max(G_U + N_U, g.choice([k, s.K_u])), two_run(g)),
    "steps_mean": lambda g: (r.steps_mean(N_U), two_run(g)),
    "largest": lambda g: (r.largest(r.minkowski((2, G_V))), two_run(g)),
    "average": lambda g: (r.average(r.young((1,), (2, N_U)), "k"), two_run(g)),
}
"""The rules about blocks, which are tested in models with two blocks."""
ATTACKS |= {f"{name}, two blocks": attack for name, attack in OF_BLOCKS.items()}
BY_THE_SCRIPTS = {"next_dual"}
"""Rules that restate a line of an algorithm; runs of the algorithms test them."""


def test_attacks_cover_every_rule():
    assert (
        set(ATTACKS) - {f"{name}, two blocks" for name in OF_BLOCKS}
    ) | BY_THE_SCRIPTS == set(r.RULES)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", sorted(ATTACKS))
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_rule_holds_in_every_finite_problem(name, seed):
    fact, finite_problem = ATTACKS[name](random.Random(seed))
    assert finite_problem.violation(fact) is None


def test_windows_keep_the_weights_bound_as_one_round_does():
    """Computed by hand at T = 8, B = 2, q = 1/2, delta = 1/4."""
    at = {s.T: 8, s.window: 2, s.q: R(1, 2), s.delta: R(1, 4)}
    start, moves = (
        sp.sympify(c).xreplace(at) for c in r.push_windows(PUSH).right.values()
    )
    assert (start, moves) == (sp.sqrt(R(1, 3)), 6)
    assert [sp.sympify(c).xreplace(at) for c in r.push(PUSH).right.values()] == [
        R(1, 2),
        1,
    ]


def test_the_only_step_is_the_sum_over_steps_for_one_step_alone():
    """With two steps the rule is false: root(U_k) <= k, but U_0 + U_1 is not 0."""
    finite_problem = free(random.Random(0))
    finite_problem.K, finite_problem.values = 2, lambda name, w, t, j, i: (Fraction(j),)
    first = given_fact({root(UK): 1}, {one("d"): k})
    assert finite_problem.violation(first) is None
    summed = r.one_step(first)
    assert [d.expr for d in summed.demands] == [1 - s.K]
    assert finite_problem.violation(given_fact(summed.left, summed.right)) is not None


def test_without_an_exchange_nothing_contracts():
    """The inequality of a push-sum step is false for a round without communication."""
    held = {("x", 0, t, i): sign for t in (0, 1) for i, sign in enumerate((1, -1))}
    held |= {("xbar", 0, t): Fraction(0) for t in (0, 1)}
    held |= {(name, 0, 0, 0, i): Fraction(0) for name in "gne" for i in (0, 1)}
    numbers = {s.q: Fraction(1, 2), s.delta: Fraction(1), s.eta: Fraction(1)}
    finite_problem = FiniteProblem([Fraction(1)], 2, 1, 1, numbers, Recorder(held))
    assert finite_problem.violation(r.push(PUSH)) is not None


def test_mean_over_rounds_of_two_roots_may_be_larger_than_of_their_sum():
    """Shows why telescoping does not accept roots.

    root(U) + root(V) <= 1 in each of two rounds, but the roots of their mean squares
    add up to more.
    """
    held = {("u", 0, 0): 1, ("u", 0, 1): 0, ("v", 0, 0): 0, ("v", 0, 1): 1}
    held = {place: Fraction(x) for place, x in held.items()}
    finite_problem = FiniteProblem([Fraction(1)], 1, 1, 2, {}, Recorder(held))
    rounds = given_fact({root(U): 1, root(V): 1}, {one("d"): 1})
    assert finite_problem.violation(rounds) is None
    means = {m.at(rounds="mean"): c for m, c in rounds.left.items()}
    assert finite_problem.violation(given_fact(means, rounds.right)) is not None


ZEROS = {
    "common_start",
    "dual_start",
    "unbiased",
    "unbiased in u, two blocks",
    "unbiased in v, two blocks",
}


def drawn(name: str) -> Iterator[tuple[r.Fact, FiniteProblem]]:
    return (ATTACKS[name](random.Random(seed)) for seed in range(120))


def late(name, *endings):
    """Mark an expensive case as slow if a cheaper one tests the same; `make test-all`
    runs it.
    """
    return (
        pytest.param(name, marks=pytest.mark.slow) if name.endswith(endings) else name
    )


@pytest.mark.drawn(12)
@pytest.mark.parametrize("name", sorted(set(ATTACKS) - ZEROS))
def test_rule_with_a_smaller_constant_is_violated(name):
    """A counterexample is found if a term's constant is reduced by one percent."""
    seen: dict[tuple[str, ...], bool] = {}
    for fact, finite_problem in drawn(name):
        for moment, c in fact.right.items():
            place = (moment.kind, moment.label, moment.steps, moment.rounds)
            if not seen.get(place):
                less = (
                    c * R(99, 100)
                    if not sp.sympify(c).could_extract_minus_sign()
                    else c * R(101, 100)
                )
                seen[place] = (
                    finite_problem.violation(fact, {**fact.right, moment: less})
                    is not None
                )
        if seen and all(seen.values()):
            break
    assert seen
    assert all(seen.values()), (
        f"terms {[p for p, found in seen.items() if not found]} have a constant to spare"
    )


@pytest.mark.parametrize("name", ["common_start", "dual_start", "unbiased"])
def test_rule_without_its_hypothesis_is_violated(name):
    """Without the hypothesis, a quantity that the rule says is zero is not."""
    fact = ATTACKS[name](random.Random(0))[0]
    finite_problems = {
        "common_start": lambda g: gossip_run(g, 2, 1, 1, common=False),
        "dual_start": lambda g: sequence(
            g, Fraction(1, 2), Fraction(1), Fraction(1), 2
        ),
        "unbiased": lambda g: biased(g),
    }
    assert any(
        finite_problems[name](random.Random(seed)).violation(fact) for seed in range(20)
    )


def biased(rng: random.Random) -> FiniteProblem:
    finite_problem = gossip_run(rng, 1, 1, 1)
    finite_problem.probabilities = [Fraction(1, 4), Fraction(3, 4)]
    return finite_problem


# -- only rules create facts


def test_fact_cannot_be_forged():
    fact = r.minkowski((1, U), (1, V))
    with pytest.raises(RuleError, match="kernel"):
        r.Fact(object(), left={}, right={})
    with pytest.raises(RuleError, match="facts"):
        fact.right = {}
    blank = object.__new__(r.Fact)
    for name in r.Fact.__slots__[1:]:
        object.__setattr__(blank, name, getattr(fact, name))
    for forged in (blank, copy.copy(fact) if hasattr(fact, "__copy__") else blank):
        with pytest.raises(RuleError) as rejected:
            r.square(forged)
        assert rejected.value.rule == "square"
    assert not r.genuine(blank)
    assert r.genuine(fact)


@pytest.mark.drawn(45)
@pytest.mark.parametrize(
    ("refused", "rule"),
    [
        (lambda: r.unbiased(RUN, RUN.local, NOISE), "unbiased"),
        (lambda: r.unbiased(RUN, X, E), "unbiased"),
        (lambda: r.unbiased(RUN, X, N + E), "unbiased"),
        (lambda: r.pythagoras(RUN, SAMPLED, N), "pythagoras"),
        (lambda: r.pythagoras(RUN, N.sum(s.K), N), "pythagoras"),
        (lambda: r.clients(RUN, G), "clients"),
        (lambda: r.clients(RUN, N.mean()), "clients"),
        (lambda: r.martingale(r.sam(RUN, E), s.K), "martingale"),
        (lambda: r.martingale(r.square(r.sam(RUN, E)), s.K), "martingale"),
        (lambda: r.largest_martingale(r.variance(RUN)), "largest_martingale"),
        (lambda: r.largest_martingale(r.square(r.sam(RUN, E))), "largest_martingale"),
        (lambda: r.unbiased(TWO, TWO.local, N_U), "unbiased"),
        (lambda: r.unbiased(TWO, TWO.grad(TURN), N_V), "unbiased"),
        (lambda: r.pythagoras(TWO, TWO.local, N_V), "pythagoras"),
        (lambda: r.minkowski((1, N_U), (1, N_V)), "minkowski"),
        (lambda: r.steps_max(N_U, s.K_v), "steps_max"),
        (lambda: r.steps_max(UK, s.K, upto=s.K - 1), "steps_max"),
        (lambda: r.steps_max(UK, k, upto=s.K - 2), "steps_max"),
        (lambda: r.diversity(TWO, TWO.mean_model), "diversity"),
        (lambda: r.variance(TWO, G_U), "variance"),
        (lambda: r.sam(TWO, E.within("v")), "sam"),
        (lambda: r.lipschitz(TWO, TWO.local, X_U + X_V), "lipschitz"),
        (lambda: TWO.grad(TURN, ""), None),
        (lambda: r.diversity(RUN, X), "diversity"),
        (lambda: r.sam(RUN, SAMPLED), "sam"),
        (lambda: r.convolution(r.minkowski((1, U), (1, V))), "convolution"),
        (
            lambda: r.telescope(RUN, r.descent(RUN, X.mean(), DUAL.mean())),
            "telescope",
        ),
        (
            lambda: r.telescope(a := replace(RUN, mean_model=X), r.variance(a)),
            "telescope",
        ),
        (
            lambda: r.telescope(a := replace(RUN, mean_model=N.mean()), r.variance(a)),
            "telescope",
        ),
        (
            lambda: r.telescope_to_end(RUN, r.descent(RUN, X.mean(), DUAL.mean())),
            "telescope_to_end",
        ),
        (lambda: r.telescope_to_end(TWO, r.variance(TWO, N_V)), "telescope_to_end"),
        (
            lambda: r.exact_averages(RUN, r.square(r.variance(RUN)), (R(1, 2),) * 2),
            "exact_averages",
        ),
        (
            lambda: r.exact_averages(
                LOCAL_SGD, r.square(r.variance(LOCAL_SGD)), (R(1, 2),) * 2
            ),
            "exact_averages",
        ),
        (
            lambda: r.exact_averages(
                LOCAL_SGD,
                given_fact({sq(LOCAL_NOISE): 1}, {sq(X): 1}, LOCAL_SGD),
                (R(1, 2),) * 2,
            ),
            "exact_averages",
        ),
        (lambda: r.chain(r.variance(RUN), r.variance(PUSH)), "chain"),
        (lambda: r.chain(r.mean_of(U), r.mean_of(V)), "chain"),
        (lambda: r.solve(r.mean_of(U), {sq(U): 1}), "solve"),
        (lambda: r.solve(r.mean_of(U), {}), "solve"),
        (lambda: r.solve(r.mean_of(U), {root(U): 1, root(V): 1}), "solve"),
        (lambda: r.square(r.minkowski((1, U), (1, V)), {root(U): 1}), "square"),
        (lambda: r.young((R(1, 2),), (1, U), (1, V)), "young"),
        (
            lambda: r.average(r.steps_max(UK, s.K), "k"),
            "average",
        ),
        (
            lambda: r.invariant(
                given_fact({root(U).at(rounds="next"): 1}, {root(U): R(1, 2)}),
                r.dual_start(RUN),
            ),
            "invariant",
        ),
        (lambda: r.dual_start(RUN, X), "dual_start"),
        (lambda: r.next_dual(RUN, DUAL - X.mean()), "next_dual"),
        (lambda: replace(TURNED[0], partial=count * (count + 1) / 2), None),
        (lambda: r.steps_sum(r.variance(RUN), PLAIN), "steps_sum"),
        (
            lambda: r.steps_sum(given_fact({root(UK): 1}, {one("c"): k**2}), TURNED[0]),
            "steps_sum",
        ),
        (
            lambda: r.steps_sum(given_fact({root(UK): 1}, {root(VK): 1}), TURNED[0]),
            "steps_sum",
        ),
        (
            lambda: r.steps_sum(given_fact({root(U): 1}, {one("c"): k}), TURNED[0]),
            "steps_sum",
        ),
        (lambda: Lag(lag, count), None),
        (lambda: Lag(2 * lag, count * (count + 1), count), None),
        (lambda: N.sum(s.K).sum(s.K), None),
        (lambda: X.pushed().mean(), None),
    ],
)
def test_rule_rejects_premises_that_do_not_imply_its_conclusion(refused, rule):
    with pytest.raises(RuleError) as rejected:
        refused()
    assert rejected.value.rule == rule


def test_roots_with_push_sum_weights_are_printed_as_such():
    assert str(r.weigh(U)).count("root_w(") == 1


def test_a_mean_over_a_weight_is_printed_as_such():
    assert str(X.mean().pushed()) == "(1)*mean(x)/w"


@pytest.mark.parametrize("other", [None, 1, "DFedAvg"])
def test_rules_of_an_algorithm_refuse_anything_else_in_its_place(other):
    for rule in (r.common_start, r.bounded, r.second_moment, r.variance, r.gossip):
        with pytest.raises(RuleError, match="no round of an algorithm"):
            rule(other)
    assert str(root(U, weighted=True)) != str(root(U))


def test_square_of_roots_has_squared_coefficients_over_their_weights():
    fact = given_fact({root(U): 1}, {root(V): 3, root(N): 2})
    squared = r.square(fact, {root(V): R(3, 4), root(N): R(1, 4)})
    assert dict(squared.left) == {sq(U): 1}
    assert dict(squared.right) == {sq(V): 12, sq(N): 16}


def test_rules_demand_the_ranges_of_weights_and_coefficients():
    assert [d.expr for d in r.young((s.q, 1 - 2 * s.q), (1, U), (1, V)).demands] == [
        s.q,
        1 - 2 * s.q,
    ]
    assert any(d.strict for d in r.young((s.alpha, s.q), (1, U), (1, V)).demands)
    recursive = given_fact({sq(U): 1}, {sq(U): s.q, sq(V): 1})
    assert [(d.expr, d.strict) for d in r.solve(recursive).demands] == [(1 - s.q, True)]
    lower = r.weaken(recursive, {sq(V): s.q})
    assert [d.expr for d in lower.demands] == [s.q - 1]


# -- the scripts


def runs(claim: str, seed: int) -> FiniteProblem:
    """Enumerate all outcomes of a run of the algorithm that a claim is about."""
    rng = random.Random(seed)
    shape = rng.choice([(2, 2, 1), (2, 1, 2), (1, 2, 2), (3, 1, 1)])
    made = {
        "dfedsam": lambda: gossip_run(
            rng,
            *shape,
            common="starts" not in claim,
            slack=12 if "starts" in claim else 8,
        ),
        "dfedadmm": lambda: admm_run(
            rng, *shape, slack=32 if "no_bounded_gradients" in claim else 2
        ),
        "dfedsgpsm": lambda: push_run(
            rng, *shape[1:], small="corrected_no_bounded_gradients" in claim
        ),
        "dfedmdc": lambda: split_run(
            rng,
            *rng.choice([(2, 1, 1, 1), (2, 1, 2, 1), (1, 2, 1, 1), (1, 1, 1, 2)]),
            sam="theorem_2" in claim,
        ),
    }
    return made[claim.split(".")[0]]()


CLAIMS = [
    (claim, case)
    for claim, script in proved.scripts().items()
    if isinstance(script, Script)
    for case in range(1 + (script.otherwise is not None))
]


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("claim", "case"), CLAIMS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_every_fact_of_every_script_holds_in_runs_of_the_algorithm(claim, case, seed):
    finite_problem, last = runs(claim, seed), proved.last_fact(claim, case)
    assert all(
        finite_problem.number(d.expr, j, {lag: sp.Integer(j + 1)})[1] >= 0
        for d in last.demands
        for j in range(finite_problem.K)
    )
    wrong = [v for v in map(finite_problem.violation, last.trail()) if v]
    assert not wrong


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "claim",
    [
        "dfedsam.theorem_4_5:corrected",
        "dfedadmm.theorem_1:corrected_second_moment",
        late("dfedadmm.theorem_1:corrected_no_bounded_gradients", ""),
        late("dfedsgpsm.theorem_1:corrected", ""),
    ],
)
@pytest.mark.parametrize("name", ["x", "n", "g"])
def test_finite_problem_of_another_algorithm_violates_a_fact(claim, name):
    """With half of a state, or of a sample's parts, the algorithm differs, and some
    fact is false.
    """

    def changed(seed):
        finite_problem = runs(claim, seed)
        true = finite_problem.values
        finite_problem.values = lambda other, w, t, j, i: tuple(
            x * (3 if other == name and (name != "x" or t == finite_problem.T) else 1)
            for x in true(other, w, t, j, i)
        )
        return finite_problem

    facts = list(proved.last_fact(claim).trail())
    assert any(
        finite_problem.violation(fact)
        for finite_problem in map(changed, range(6))
        for fact in facts
    )


POINTWISE = (
    r"3: $\|\nabla f_i(x) - \nabla f(x)\|^2 \le \sigma_g^2$ for every $i$ and $x$"
)
VACUOUS = (
    r"if $\rho > 0$: $F_i(\cdot\,, v; \xi)$ is $L_u$-smooth in $u$ for almost every"
    r" $\xi$"
)


COMPARISON = "what is derived is at most the bound"
UNPROVED = {
    # its script covers SAM, too, and the statement has rho = 0
    "dfedadmm.theorem_1:corrected_small_steps": ("is L-smooth for almost", COMPARISON),
    "dfedsgpsm.theorem_1:corrected_any_step": (COMPARISON,),
}
"""Scripts whose last inequality is not proved, and what is missing."""
PROVED = [claim for claim in proved.scripts() if claim not in UNPROVED]
HEAVY = ("corrected_no_bounded_gradients",)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("claim", [late(claim, *HEAVY) for claim in PROVED])
def test_every_script_ends_in_its_theorem(claim):
    answer = proved.checked(claim)
    assert answer.missing == ()
    vacuous = (VACUOUS,) if "dfedmdc" in claim and "theorem_1" in claim else ()
    assert answer.unused == vacuous
    assert "proved from" in str(answer)


@pytest.mark.slow
@pytest.mark.parametrize(("claim", "reasons"), UNPROVED.items())
def test_of_the_unproved_scripts_the_comparison_with_the_bound_is_missing(
    claim, reasons
):
    missing = proved.checked(claim).missing
    assert len(missing) == len(reasons)
    assert all(reason in why for reason, why in zip(reasons, missing, strict=True))


@pytest.mark.slow
def test_a_proof_in_two_cases_needs_both():
    claim = "dfedsam.theorem_4_5:corrected"
    theorem, script = registry.get(*claim.split(":")), proved.scripts()[claim]
    case = Condition("rho <= x", s.rho * s.L, s.sigma_l)
    assert proved.check(theorem, replace(script, case=case, otherwise=script)).proved
    less = replace(
        script, weights={**script.weights, "spread": (R(1, 100), R(1, 100), R(98, 100))}
    )
    for wrong in (
        replace(script, case=case, otherwise=less),
        replace(less, case=case, otherwise=script),
    ):
        assert any(
            "at most the bound" in why for why in proved.check(theorem, wrong).missing
        )


SMALLER = [
    (claim, name)
    for claim in (
        "dfedadmm.theorem_1:corrected_second_moment",
        "dfedadmm.theorem_1:corrected_any_penalty",
    )
    for name in registry.get(*claim.split(":")).parts
]


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("claim", "name"), SMALLER)
def test_a_script_does_not_prove_a_smaller_bound(claim, name):
    theorem, script = registry.get(*claim.split(":")), proved.known(claim)
    part = theorem.parts[name] * R(9, 10)
    less = replace(theorem, parts={**theorem.parts, name: part})
    missing = proved.check(less, script).missing
    assert any("at most the bound" in why for why in missing)


def test_proof_reports_assumptions_that_it_does_not_use():
    claim = "dfedadmm.theorem_1:corrected_any_penalty"
    theorem = registry.get(*claim.split(":"))
    more = replace(theorem, assumptions=(*theorem.assumptions, "clients are many"))
    answer = proved.check(more, proved.known(claim))
    assert {h.name for h in answer.idle} == {"variance", "independent"}
    assert answer.unused == ("clients are many",)


@pytest.mark.parametrize(
    ("claim", "most"),
    [
        ("dfedsgpsm.theorem_1:corrected", 1),
        *(
            pytest.param(claim, None, marks=pytest.mark.slow)
            for claim in (
                "dfedadmm.theorem_1:corrected",
                "dfedsgpsm.theorem_1:corrected",
                "dfedadmm.theorem_1:corrected_no_bounded_gradients",
                "dfedsgpsm.theorem_1:corrected_sharper",
                "dfedsgpsm.theorem_1:corrected_windows",
                "dfedmdc.theorem_2:corrected_different_steps",
            )
        ),
    ],
)
def test_without_an_assumption_nothing_is_proved(claim, most):
    theorem, script = registry.get(*claim.split(":")), proved.known(claim)
    for text in theorem.assumptions[:most]:
        less = replace(
            theorem, assumptions=tuple(t for t in theorem.assumptions if t != text)
        )
        answer = proved.check(less, script)
        assert not answer.proved
        assert all("what is not assumed" in why for why in answer.missing)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("scope", "why"),
    [
        ({"network": "column-stochastic"}, "W is doubly stochastic"),
        ({"network": "none"}, "columns of W sum to 1"),
        ({"common_start": False}, "all clients start at one model"),
    ],
)
def test_check_rejects_a_network_or_start_of_another_kind(scope, why):
    theorem = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
    other = replace(theorem, scope=replace(theorem.scope, **scope))
    answer = proved.check(
        other, proved.known("dfedadmm.theorem_1:corrected_second_moment")
    )
    assert not answer.proved
    assert any(why in said for said in answer.missing)


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [
        "dfedadmm.theorem_1:corrected_second_moment",
        "dfedadmm.theorem_1:corrected_any_penalty",
        "dfedsgpsm.theorem_1:corrected",
        "dfedsgpsm.theorem_1:corrected_windows",
        "dfedsgpsm.theorem_1:corrected_sharper",
    ],
)
def test_check_rejects_a_lower_constant(claim):
    theorem, script = registry.get(*claim.split(":")), proved.known(claim)
    for name, part in theorem.parts.items():
        lower = replace(theorem, parts={**theorem.parts, name: part * R(99, 100)})
        assert proved.check(lower, script).missing == (
            "not shown: what is derived is at most the bound",
        )


@pytest.mark.slow
def test_a_lower_constant_of_theorem_a_and_a_larger_step_are_refused():
    script, theorem = (
        f("dfedsam.theorem_4_5", "corrected")
        for f in (lambda *claim: proved.scripts()[":".join(claim)], registry.get)
    )
    less = {**theorem.parts, "optimization": theorem.parts["optimization"] * R(9, 10)}
    fact = proved.last_fact("dfedsam.theorem_4_5:corrected")
    known = replace(script, prove=lambda **_: fact)
    assert "is at most the bound" in str(
        proved.check(replace(theorem, parts=less), known)
    )
    wide = replace(theorem, conditions=theorem.conditions[1:])
    assert "range of a does not follow" in str(proved.check(wide, known))


@pytest.mark.slow
def test_theorem_b2_with_a_lower_constant_or_without_a_condition_is_refused():
    """No term can be reduced by one percent, and every condition is needed."""
    claim = "dfedadmm.theorem_1:corrected_no_bounded_gradients"
    theorem, script = registry.get(*claim.split(":")), proved.known(claim)
    for name, part in theorem.parts.items():
        lower = replace(theorem, parts={**theorem.parts, name: part * R(99, 100)})
        assert proved.check(lower, script).missing == (
            "not shown: what is derived is at most the bound",
        )
    for left_out in theorem.conditions:
        fewer = tuple(c for c in theorem.conditions if c != left_out)
        assert not proved.check(replace(theorem, conditions=fewer), script).proved


@pytest.mark.slow
def test_theorem_m_with_a_lower_constant_or_without_a_condition_is_refused():
    """Three terms cannot be reduced, and every condition is needed."""
    claim = "dfedmdc.theorem_2:corrected_different_steps"
    theorem, script = registry.get(*claim.split(":")), proved.known(claim)
    for name in ("optimization", "noise of the shared part", "sharpness"):
        lower = replace(
            theorem, parts={**theorem.parts, name: theorem.parts[name] * R(99, 100)}
        )
        assert "is at most the bound" in str(proved.check(lower, script))
    for left_out in theorem.conditions:
        fewer = tuple(c for c in theorem.conditions if c != left_out)
        assert not proved.check(replace(theorem, conditions=fewer), script).proved
    other = replace(theorem, scope=replace(theorem.scope, two_blocks=False))
    assert "another left-hand side" in str(proved.check(other, script))


@pytest.mark.slow
def test_windows_that_contract_are_no_rounds_that_do():
    """A proof for windows proves nothing about rounds, nor does q^(1/window) in place
    of q.
    """
    rounds, windows = (
        f"dfedsgpsm.theorem_1:corrected{end}" for end in ("", "_windows")
    )
    of = {claim: registry.get(*claim.split(":")) for claim in (rounds, windows)}
    for claim, other, why in (
        (windows, rounds, "in a round the difference"),
        (rounds, windows, "rounds together shrink it"),
    ):
        missing = proved.check(of[claim], proved.scripts()[other]).missing
        assert [why in missing_step for missing_step in missing] == [True]
    root_of_q = {
        n: p.subs(s.q, s.q ** (1 / s.window)) for n, p in of[rounds].parts.items()
    }
    missing = proved.check(
        replace(of[windows], parts=root_of_q), proved.scripts()[windows]
    ).missing
    assert missing == ("not shown: what is derived is at most the bound",)


@pytest.mark.slow
def test_check_rejects_another_left_hand_side():
    theorem = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
    script = proved.scripts()["dfedadmm.theorem_1:corrected_second_moment"]
    for change in (
        {"measure": "grad_norm_sq"},
        {"aggregate": "last"},
        {"first": sp.S.One},
        {"start": 1},
    ):
        other = replace(theorem, lhs=replace(theorem.lhs, **change))
        assert "another left-hand side" in str(proved.check(other, script))


def test_check_rejects_a_definition_of_another_meaning():
    theorem = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
    changed = tuple(replace(d, expr=d.expr * R(99, 100)) for d in theorem.definitions)
    answer = proved.check(
        replace(theorem, definitions=changed),
        proved.known("dfedadmm.theorem_1:corrected_second_moment"),
    )
    assert any("is not what the theorem defines" in why for why in answer.missing)


def test_a_corollary_without_the_script_of_its_parent_is_not_checked():
    corollary = proved.scripts()["dfedsam.corollary_4_6:corrected"]
    with pytest.raises(InputError, match=corollary.of):
        comparison.check(registry.get("dfedsam.corollary_4_6", "corrected"), corollary)


@pytest.mark.slow
def test_page_of_proofs_is_current():
    docs = Path(__file__).parents[2] / "docs"
    written, found = (
        (docs / "proofs.md").read_text(encoding="utf-8"),
        proofs_page.examine(),
    )
    assert written == proofs_page.markdown(found)
    assert proofs_page.proof_results(found) == json.loads(
        (docs / "proofs.json").read_text()
    )


def test_every_corrected_statement_has_a_script():
    stated = {
        f"{t.key}:{t.variant}" for t in registry.statements() if proofs_page._main(t)
    }
    assert set(proved.scripts()) == stated


def test_cell_of_the_proof_page_escapes_prose_and_keeps_formulas():
    cell = proofs_page._plain(r"a_b < c | $\|\nabla f_i(x)\| \le |B|$ *")
    assert cell == r"a\_b &lt; c \| $\Vert \nabla f_i(x)\Vert  \le \vert B\vert $ \*"


@pytest.mark.parametrize("rho", [1.0, pytest.param(None, marks=pytest.mark.slow)])
def test_hyperparameter_without_a_place_in_the_statement_is_absent(rho):
    """At rho = 0, Theorem 4.5 is proved without rho, but not if the scope fixes another
    rho.
    """
    corrected, script = (
        registry.get("dfedsam.theorem_4_5", "corrected"),
        proved.known("dfedsam.theorem_4_5:corrected"),
    )
    without_sam = replace(
        corrected,
        parts={
            name: part.subs(s.rho, 0)
            for name, part in corrected.parts.items()
            if name != "sharpness"
        },
        definitions=tuple(
            replace(d, expr=d.expr.subs(s.rho, 0)) for d in corrected.definitions
        ),
        schedule={"eta": corrected.schedule["eta"]},
    )
    script = replace(
        script,
        values={old: new for old, new in script.values.items() if not new.has(s.rho)},
        ranges=tuple(r for r in script.ranges if not r.means.has(s.rho)),
    )
    if rho is None:
        assert proved.check(without_sam, script).proved
        return
    hyperparameters = {**without_sam.scope.hyperparameters, "rho": rho}
    with_sam = replace(
        without_sam, scope=replace(without_sam.scope, hyperparameters=hyperparameters)
    )
    assert any(
        "at most the bound" in why for why in proved.check(with_sam, script).missing
    )
