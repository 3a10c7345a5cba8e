"""Families of candidates: points of the unit cube, decoded into problems, networks and
starts.

A statement's units are free, so that a candidate is drawn with L near 1 and a step size
inside the region that the theorem's own conditions leave, and then told in units in
which that step size, and the SAM radius, are 1: one algorithm serves the whole batch.
What has no unit (steps, momentum, the ratio of two step sizes, the horizon of a
schedule) is shared by the batch and varied between batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dfltheory.bounds.regions import compiled, conditions_of, equalities
from dfltheory.bounds.symbols import GLOSSARY, STEP
from dfltheory.counterexamples.core import Batch
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.networks import Draw, computed_on, in_range, networks
from dfltheory.counterexamples.problems import Ramps, Splits
from dfltheory.counterexamples.reach import (
    algorithm_class,
    check,
    convex,
    hyperparameters,
)
from dfltheory.counterexamples.score import NOISY
from dfltheory.counterexamples.special import SPECIALS, At, Special, bowl, unfitted

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]
Shared = dict[str, float]
ROUNDS = {False: 300, True: 400}
"""Rounds that are simulated of one block, and of two, where no schedule fixes the
horizon.
"""
SCHEDULED = 2000
"""The horizon of a schedule that is run in full; beyond it the last round counts where
nothing moves.
"""
COUNTS = {0: ((),), 1: ((1,), (2,), (5,)), 2: ((1, 1), (2, 1), (1, 3), (2, 3))}
"""Numbers of local steps, of one kind and of two."""
_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class Family:
    """One arm of the search: ``decode`` maps (P, dimension) points of the unit cube,
    with the numbers that a batch shares, to candidates; ``T``: the one horizon that is
    looked at, where there is one.
    """

    name: str
    dimension: int
    rounds: int
    decode: Callable[[Array, Shared], Batch]
    letters: dict[str, int]
    draw: Callable[[np.random.Generator], Shared] = lambda rng: {}
    T: int = 0

    def horizon(self, shared: Shared) -> int:
        """The one horizon of the batch, or 0: the worst one is sought."""
        return self.T or int(shared.get("T", 0))


# -- problems


def _one_client(read: Reader) -> tuple[Array, Array, Array, Array]:
    """A clipped quadratic plus a bump: ramps (P, 3) and the slope far left (P,); 9
    numbers.
    """
    steep, centre = read.log(1e-2, 1), read.between(-1, 1)
    low, high = read.log_or_zero(1e-3, 3, 0.3), read.log_or_zero(1e-3, 3, 0.3)
    rise, fall = read.log(0.1, 1), read.log(0.1, 1)
    sign = np.where(read.unit() < 0.5, -1.0, 1.0)
    height, place = read.log_or_zero(1e-2, 3, 0.2), read.between(-2, 2)
    knots = np.stack([centre - low / steep, place - height / rise, place], -1)
    widths = np.stack([(low + high) / steep, height / rise, height / fall], -1)
    slopes = np.stack([steep, sign * rise, -sign * fall], -1)
    return knots, widths, slopes, -low


def ramps(read: Reader, clients: int) -> Ramps:
    parts = [_one_client(read) for _ in range(clients)]
    return Ramps(*(np.stack([part[k] for part in parts], axis=1) for k in range(4)))


def splits(read: Reader, clients: int) -> Splits:
    """Ramps, parabolas and a coupling of both blocks; with one set of ramps there are
    two copies of it.
    """
    b = np.stack([read.between(-3, 3), read.between(-3, 3)], -1)
    return Splits.of(
        ramps(read, clients), b, read.log(1e-2, 10), read.log_or_zero(1e-3, 3, 0.4)
    )


def unfitted_two(read: Reader, heads: bool) -> Splits:
    """Personal parts in a parabola around 0, where they start; or ``heads`` at +-pi/2,
    uncoupled there, of which the shared parts have gradients +-cos(p u).
    """
    base, h, one = unfitted(len(read.u)), read.log(1e-2, 10), np.ones(len(read.u))
    p = read.log(1e-2, 10) if heads else one
    parts = (
        heads * np.pi / 2 * np.array([[1, -1]]) * one[:, None],
        h,
        heads / p,
        p,
        one,
    )
    return Splits(base.knots, base.widths, base.slopes, base.left, *parts)


# -- arms


def families_of(theorem: Theorem) -> list[Family]:
    """Every arm of the search for a statement with constants; InputError where there is
    none.
    """
    check(theorem)
    free, _ = hyperparameters(theorem)
    counts = [name for name, q in free.items() if q.integer and q.neutral is None]
    more = [name for name, q in free.items() if q.integer and q.neutral is not None]
    levels = COUNTS.get(len(counts), ((1,) * len(counts), (2,) * len(counts)))
    settings = [dict(zip(counts, level, strict=True)) for level in levels]
    base = dict.fromkeys(more, 1)
    nets = networks(theorem)
    plain, others = nets[0], nets[1:]
    noisy = bool({"sigma_l", "S2", "sigma_u", "sigma_v"} & set(theorem.needs))
    arms: list[Family] = []

    def add(
        kind: str | Special, net: Draw, letters: dict[str, int], *several: bool
    ) -> None:
        arms.extend(
            _family(theorem, kind, net, base | letters, copies) for copies in several
        )

    if theorem.scope.two_blocks:
        for letters in settings[:3]:
            add("two blocks, ramps", plain, letters, True, False)
    else:
        for letters in settings:
            add("piecewise", plain, letters, True, False)
        for name, value in [(name, value) for name in more for value in (2, 4)]:
            add(
                "piecewise",
                plain,
                settings[min(1, len(settings) - 1)] | {name: value},
                False,
            )
        for net in others:
            for letters in settings[:2] if 2 <= net.m <= 4 else ():
                if not net.drawn:
                    add(net.name, net, letters, True)
                if net.one_per_round and letters is settings[0]:
                    add(net.name, net, letters | {"Q": 4}, False)
                elif not net.drawn or letters is settings[0]:
                    add(net.name, net, letters, False)
    general, scope, radius = len(arms), theorem.scope, _radius(free) is not None
    speaks = [
        special
        for special in SPECIALS
        if special.curved == convex(theorem)
        and (not special.needs or {*special.needs} & {*theorem.needs})
        and special.sam <= radius
        and special.noisy <= noisy
        and not (special.apart and scope.common_start)
        and special.heads <= scope.two_blocks
        and not (special.led and (scope.samplewise or scope.two_blocks or not noisy))
    ]
    for letters in settings[:: max(1, len(settings) - 1)]:
        for special in speaks if plain.m == 2 else ():
            add(special, plain, letters, False)
            if special.together:
                add(
                    replace(special, name=f"{special.name}, lam = 0"),
                    _together(plain),
                    letters,
                    False,
                )
    for special, net in [
        (s, net) for s in speaks for net in nets if net.name in s.nets
    ]:
        own = _together(net) if special.together else net
        add(
            replace(special, name=f"{special.name}, {net.name}"),
            own,
            settings[0],
            False,
        )
    # where time is short the first ones alone are tried
    return [*arms[:2], *arms[general:], *arms[2:general]]


def _together(net: Draw) -> Draw:
    """The same kind of network with lam = 0, as for copies of one client."""
    return replace(net, draw=lambda read, copies: net.draw(read, True))


def _family(
    theorem: Theorem,
    kind: str | Special,
    net: Draw,
    letters: dict[str, int],
    copies: bool,
) -> Family:
    special = kind if isinstance(kind, Special) else None
    radius = _radius(hyperparameters(theorem)[0])

    def decode(u: Array, shared: Shared) -> Batch:
        return _decode(theorem, Reader(u), net, letters, copies, shared, special)

    def draw(rng: np.random.Generator) -> Shared:
        told = _shared(theorem, rng, special)
        if radius in told and special is not None:
            told[radius] = float(special.sam)  # what is proved of it asks for this
        if net.drawn and "T" in told:
            told["T"] = float(rng.integers(1, 6))  # few rounds can be run in all ways
        return told

    probe = Reader(np.full((1, 0), 0.5))
    _decode(
        theorem, probe, net, letters, copies, draw(np.random.default_rng(0)), special
    )
    label = (special.name if special else str(kind)) + "".join(
        f", {n} = {v}" for n, v in letters.items() if v != 1 or n in ("K", "K_u", "K_v")
    )
    clients = {1: "one client", 2: "two clients", 3: "three clients", 4: "four clients"}
    label += (
        ", identical clients"
        if copies
        else f", {clients.get(net.m, f'{net.m} clients')}"
    )
    rounds = max(ROUNDS[theorem.scope.two_blocks], special.rounds if special else 0)
    return Family(label, probe.at, rounds, decode, letters, draw)


def scheduled(theorem: Theorem) -> bool:
    """Does the statement hold for its own step sizes alone?"""
    return theorem.kind == "corollary" and bool(theorem.schedule)


def _shared(
    theorem: Theorem, rng: np.random.Generator, special: Special | None
) -> Shared:
    """What a batch shares: numbers without a unit, ratios of step sizes, is there SAM,
    the horizon.
    """
    free, _ = hyperparameters(theorem)
    told: Shared = {}
    first = True
    for name, q in free.items():
        if q.step and q.unit == STEP:
            told |= (
                {}
                if first
                else {name: float(rng.choice([1.0, 1000.0 ** rng.random()]))}
            )
            first = False
        elif not (q.step or q.integer) and q.high == 1:
            absent = q.neutral if q.neutral is not None else 0.5 if q.open_low else 0.0
            near = rng.choice([3, 9])
            told[name] = (
                1 - 10.0 ** -(near * rng.random()) if rng.random() < 0.75 else absent
            )
        elif name == _radius(free):
            told[name] = float(rng.random() < 0.8)  # 0, or 1 unit of length
        elif not (q.step or q.integer):
            told[name] = 10.0 ** rng.uniform(-2, 2)
    if scheduled(theorem):
        held = special is not None and special.held
        noisy = special is not None and special.noisy
        far = rng.random() < (0.8 if held else 0.2)
        low, high = (SCHEDULED, NOISY) if noisy else (1e5 if held else SCHEDULED, 1e8)
        low, high = (low, high) if far else (1.0, SCHEDULED)
        told["T"] = float(np.floor(low * (high / low) ** rng.random()))
    return told


def varied(
    theorem: Theorem, shared: Shared, width: float, rng: np.random.Generator
) -> Shared:
    """The shared numbers, each moved a little: shares towards 1, ratios and horizons by
    a factor.
    """
    new = dict(shared)
    for name, value in shared.items():
        step = width * rng.standard_normal()
        share = theorem.glossary.get(name)
        if share is not None and share.high == 1 and not share.step:
            least = 1e-3 if share.open_low else 0.0
            new[name] = 1 - min((1 - value) * 10.0**step, 1 - least) if value else value
        elif name == "T":
            new[name] = max(1.0, np.floor(value * 10.0**step))
        elif value >= 1 and name != "rho":
            new[name] = max(1.0, value * 10.0**step)
        elif 0 < value < 1:
            new[name] = 1 - min((1 - value) * 10.0**step, 1.0)
    return new


# -- decoding


def _decode(
    theorem: Theorem,
    read: Reader,
    net: Draw,
    letters: dict[str, int],
    copies: bool,
    shared: Shared,
    special: Special | None,
) -> Batch:
    free, fixed = hyperparameters(theorem)
    two, m, P = theorem.scope.two_blocks, net.m, len(read.u)
    if special is not None:
        one = bowl(P).alike(2) if special.curved else unfitted(P)
        clients: Any = unfitted_two(read, special.heads) if two else one
    else:
        clients = (splits if two else ramps)(read, 1 if copies else m)
        clients = clients.alike(m) if copies else clients
        clients = (
            clients.convex(read.log_or_zero(1e-3, 1, 0.6))
            if convex(theorem)
            else clients
        )
    W, network, fits = net.draw(read, copies and not two)
    x0 = np.zeros((P, m, 1 + two))
    if special is None:
        # of one block fixed points of the rounds are starts too; a consensus error
        # starts with disagreement
        disagreeing = two or theorem.lhs.measure == "consensus"
        common = theorem.scope.common_start or not disagreeing
        x0 = np.stack([_start(read, m, common) for _ in range(1 + two)], -1)
    led, noisy = None, special is not None and special.noisy
    sigma = np.stack(
        [read.log_or_zero(1e-3, 10, 0.4) * noisy for _ in range(1 + two)], -1
    )
    rho = read.log(1e-3, 10)
    known = clients.constants()
    valid = fits & np.isfinite(known["f_star"]) & (known["L_u" if two else "L"] > 0)
    numbers = {
        n: np.where(np.isfinite(v), v, 1.0) for n, v in {**known, **network}.items()
    }
    for name, L in (("L", "L"), ("L_u", "L_u"), ("L_v", "L_v")):
        if L in numbers:
            numbers[name] = np.where(valid & (numbers[L] > 0), numbers[L], 1.0)
    for name, values in computed_on(theorem, W, numbers).items():
        fallback = in_range(theorem.glossary[name])
        numbers[name] = np.where(np.isfinite(values), values, fallback)
    drawn = {**letters, **shared}
    radius = _radius(free)
    if radius is not None:
        drawn[radius] = shared[radius]
    steps, same = _steps(theorem, read, free, numbers, drawn, P, m)
    sizes = {n: v for n, v in steps.items() if free[n].unit == STEP}
    first = next(iter(sizes), None)
    if special is not None and first is not None:
        sam = rho if radius is not None and shared[radius] else np.zeros(P)
        given = (
            W[:, 0, [0, 1], [1, 0]]
            if m == 2
            else (1 - network["lam"])[:, None] / np.array([2, 2])
        )
        lam, heaviest = (
            (1 - given.sum(-1)) ** drawn.get("Q", 1),
            2 * given.max(-1) / given.sum(-1),
        )
        names = algorithm_class(theorem).glossary
        penalty = next(
            (v for n, v in steps.items() if names.get(n, n) == "lam_admm"), None
        )
        K = letters.get("K", letters.get("K_u", 1))
        at = At(sizes[first], lam, sam, K, penalty, heaviest)
        u, start = special.fit(read, at)
        u = u.alike(m)
        if special.led is not None:
            led = special.led(u, at)
            sigma = led.constants()["B"][:, None]
        if two:
            several = (
                clients if clients.m == m else replace(clients, b=np.zeros((P, m)))
            )
            u = replace(several, **{name: getattr(u, name) for name in Ramps.axes})
        clients = u
        x0[..., 0] = np.repeat(start, m // start.shape[1], 1)
    X = 1 / rho if radius is not None and shared[radius] else np.ones(P)
    f = sizes[first] * X**2 if first is not None else np.ones(P)
    V = np.ones(P)
    hyper: dict[str, Any] = {
        n: v for n, v in {**fixed, **drawn}.items() if n in {*free, *fixed}
    }
    for name, size in steps.items():
        if name == first:
            hyper[name] = 1.0
        elif first is not None and name in sizes:
            hyper[name] = float(size[0] / sizes[first][0])
        else:
            V, hyper[name] = np.sqrt(f / size), 1.0
    algorithm = algorithm_class(theorem)(**hyper)
    lengths = np.stack([X, V][: 1 + two], -1)
    moved = clients.scaled(f, X, V)
    return Batch(
        algorithm,
        moved,
        x0 * lengths[:, None],
        W,
        sigma * f[:, None] / lengths,
        network,
        valid & same,
        None if led is None else led.scaled(f, X),
        net.drawn,
        net.one_per_round,
    )


def _radius(free: dict[str, Any]) -> str | None:
    """The field that the glossary calls the SAM radius, if the statement speaks of
    it.
    """
    return next((n for n, q in free.items() if q is GLOSSARY["rho"]), None)


def _start(read: Reader, m: int, common: bool) -> Array:
    """(P, m): one point for all; or, half of the time, one for each."""
    points = np.stack([read.between(-4, 4) for _ in range(1 if common else m)], -1)
    if common:
        return np.repeat(points, m, axis=1)
    return np.where((read.unit() < 0.5)[:, None], points, points[:, :1])


def _steps(
    theorem: Theorem,
    read: Reader,
    free: dict[str, Any],
    known: Any,
    shared: Any,
    P: int,
    m: int,
) -> tuple[dict[str, Array], Array]:
    """Step sizes (P,) each, by field; and for which candidates they keep the ratios
    that the batch shares.
    """
    cls = algorithm_class(theorem)
    names = {name: cls.glossary.get(name, name) for name, q in free.items() if q.step}
    values = {
        cls.glossary.get(n, n): np.broadcast_to(float(v), P) for n, v in shared.items()
    }
    values = (
        {n: np.ones(P) for n in theorem.needs}
        | known
        | values
        | {"m": np.full(P, float(m))}
    )
    if "T" not in shared:
        values["T"] = np.full(P, 1000.0)
    if scheduled(theorem):
        read.share()
        found = {}
        for name, told in names.items():
            takes, rule = _rules(theorem)[told]
            found[name] = np.broadcast_to(rule(*(values[n] for n in takes)), P) * 1.0
        first = next(iter(found.values()), np.ones(P))
        same = np.ones(P, dtype=bool)
        for name, size in found.items():
            if free[name].unit == STEP:
                same &= np.isclose(size / first, size[0] / first[0], rtol=1e-9)
        return found, same
    towards: dict[str, Array] = {}
    for name, told in names.items():
        if free[name].unit == STEP:
            towards[told] = np.broadcast_to(
                shared.get(name, 1.0) / known["L_u" if "L_u" in known else "L"], P
            )
        else:
            towards[told] = read.log(1e-3, 1e2) / known["L_v"]
    largest = _largest(theorem, towards, values)
    part = largest * read.share()
    sizes = {told: direction * part for told, direction in towards.items()}
    for told, takes, rule in _ties(theorem):
        if told in sizes:
            sizes[told] = rule(*((values | sizes)[n] for n in takes))
    return {name: sizes[told] for name, told in names.items()}, np.ones(P, dtype=bool)


def _largest(
    theorem: Theorem, towards: dict[str, Array], values: dict[str, Array]
) -> Array:
    """The largest multiple (P,) of the step sizes ``towards`` that all conditions on
    them admit, at most 100.

    1e-3 where there is none: the candidate is outside, and its fitness says by how
    much.
    """
    ties = _ties(theorem)
    sizes = {*towards, *(told for told, _, _ in ties)}
    asks = {
        c.name
        for c in conditions_of(theorem)
        if sizes & {s.name for s in c.slack.free_symbols}
    }

    def allowed(size: Array) -> Array:
        at = values | {n: v * size for n, v in towards.items()}
        for told, takes, rule in ties:
            at[told] = np.broadcast_to(rule(*(at[n] for n in takes)), size.shape) * (
                1 - 1e-12
            )
        good = np.ones(size.shape, dtype=bool)
        with np.errstate(all="ignore"):
            for c, slack, ok in theorem.check_conditions(
                **{n: np.broadcast_to(at[n], size.shape) for n in theorem.needs}
            ):
                scale = 1e-9 if c.name in _tied_names(theorem) else 0.0
                good &= ok | (np.abs(slack) <= scale) | (c.name not in asks)
        return good

    P = len(next(iter(values.values())))
    grid = np.repeat((100 * 10.0 ** (-np.arange(0, 40) / 5))[:, None], P, axis=1)
    good = allowed(grid)
    top = good.argmax(0)
    high = grid[top, np.arange(P)]
    low, high = high, np.where(top > 0, high * 10**0.2, high)
    for _ in range(12):
        middle = np.sqrt(low * high)
        inside = allowed(middle[None])[0]
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(good.any(0), low * (1 - _MARGIN), 1e-3)


@lru_cache(maxsize=64)
def _ties(theorem: Theorem) -> list[tuple[str, list[str], Any]]:
    """Step sizes that an equality among the conditions fixes: name, what it takes, and
    the rule.
    """
    told = []
    for name, solution in equalities(conditions_of(theorem), theorem.glossary)[
        0
    ].items():
        takes, function = compiled([solution])
        told.append((name, takes, lambda *a, g=function: g(*a)[0]))  # type: ignore[operator]
    return told


@lru_cache(maxsize=64)
def _tied_names(theorem: Theorem) -> frozenset[str]:
    conditions = conditions_of(theorem)
    untied = equalities(conditions, theorem.glossary)[1]
    return frozenset(c.name for c in conditions) - frozenset(c.name for c in untied)


@lru_cache(maxsize=64)
def _rules(theorem: Theorem) -> dict[str, tuple[list[str], Any]]:
    """The schedule: what each step size takes, and the rule."""
    rules = {}
    for name, rule in theorem.schedule.items():
        symbols = sorted(sp.sympify(rule).free_symbols, key=str)
        rules[name] = ([str(s) for s in symbols], sp.lambdify(symbols, rule, "numpy"))
    return rules


__all__ = ["Family", "Reader", "families_of", "scheduled", "varied"]
