"""The language of the kernel: random vectors, their moments, and one round of an
algorithm.

The meaning of all this is documented in ``kernel.py``; nothing here claims that
anything holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import RuleError as RuleError
from dfltheory.bounds.real_numbers import count, expression, has_poles, k, lag, need
from dfltheory.bounds.units import Expr
from dfltheory.proofs.hypotheses import Hypothesis


@lru_cache(maxsize=1 << 14)  # a proof asks of few expressions again and again
def is_zero(expr: Expr) -> bool:
    """Is it 0 for SymPy? At a point far from 0, where no symbol is 1, it is not
    asked.
    """
    points = {
        v: sp.Rational(8 + 3 * i, 11 + i)
        for i, v in enumerate(sorted(expr.free_symbols, key=str))
    }
    there = expr.subs(points).evalf(30)
    if there.is_number and abs(there) > 1e-9:
        return False
    symbols: dict[tuple[Expr, Expr], sp.Dummy] = {}

    def powers(power: Expr) -> Expr:
        """b^(2 n - 1) as the square of a symbol for b^n, over b; n counts."""
        product, factored = sp.S.One, sp.factor(power.base)
        for term in sp.Add.make_args(sp.expand(power.exp)):
            number, rest = term.as_coeff_Mul()
            base = (
                factored
                if rest == 1
                else symbols.setdefault((factored, rest), sp.Dummy())
            )
            product *= base**number
        return product

    by_powers = sp.factor(
        expr.replace(lambda e: e.is_Pow and e.exp.free_symbols, powers)
    )
    return by_powers == 0 or sp.simplify(expr) == 0


@lru_cache(maxsize=1 << 14)
def _factored(expr: Expr) -> Expr:
    return sp.factor(expr)


# -- vectors


@dataclass(frozen=True, slots=True)
class Lag:
    """Weights of a sum over steps: ``sum_{j<n} c(n - j) U_j``, with c >= 0, its total
    and the sum of squares over the lags 1..n in closed form. Both are proved by
    induction on n when they are stated. ``at``, ``before`` and ``squared``: symbols for
    the total of K and of K - 1 steps and for the squares of K (which may be an
    expression in ``at``). ``path``: a symbol for the sum over j < K of c(K - j) times
    the total of j steps, whose ``partial`` sums over j < count are proved likewise.
    """

    weight: Expr = sp.S.One
    total: Expr = count
    squares: Expr = count
    at: sp.Symbol | None = None
    before: sp.Symbol | None = None
    squared: Expr | None = None
    path: sp.Symbol | None = None
    partial: Expr = sp.S.Zero

    def __post_init__(self) -> None:
        given = (self.at, self.before, self.symbol_of_squares, self.path)
        symbols = [x for x in given if x is not None]
        self._check_variables(set(symbols))
        names = [str(x) for x in symbols]
        taken = {name for name in names if name in s.GLOSSARY or names.count(name) > 1}
        taken |= set(names) & {str(x) for x in (k, lag, count)}
        need(
            not taken,
            f"{', '.join(sorted(taken))}: a sum of weights has a symbol of its own",
        )
        plain = {x: sp.Symbol(x.name, nonnegative=True) for x in symbols}
        need(
            all(x == y for x, y in plain.items()),
            "of a sum of weights its symbol says that it is >= 0",
        )
        sums = [(self.total, self.weight), (self.squares, self.weight**2)]
        if self.path is not None:
            turned = self.weight.subs(lag, s.K + 1 - lag)
            sums.append((self.partial, turned * self.total.subs(count, lag - 1)))
        for closed, term in sums:
            difference = closed - closed.subs(count, count - 1) - term.subs(lag, count)
            need(
                closed.subs(count, 0) == 0 and is_zero(difference),
                f"{closed} is not the sum of {term}, lag = 1..count",
            )
        if self.squared is not None and self.squared != self.symbol_of_squares:
            gap = (self.squares.subs(count, s.K) - self.squared).subs(self.meanings)
            need(
                is_zero(gap),
                "{} is not the sum of squares {} of K steps",
                self.squared,
                self.squares,
            )

    def _check_variables(self, own: set[sp.Symbol]) -> None:
        """A weight is a function of its lag, a sum of the number of its terms; neither
        has the symbols that are defined by it.
        """
        need(
            all(type(x) is sp.Symbol for x in own),
            "of a sum of weights the symbols are plain symbols",
        )
        for name, expr, absent in (
            ("weight", self.weight, {count, k}),
            ("total", self.total, {lag, k}),
            ("squares", self.squares, {lag, k}),
            ("partial", self.partial, {lag, k}),
            ("squared", self.squared, {lag, k, count}),
        ):
            if expr is None:
                continue
            other = own - ({self.at, self.squared} if name == "squared" else set())
            other -= (
                {self.at, self.before, self.squared} if name == "partial" else set()
            )
            strange = expression(expr).free_symbols & (absent | other)
            need(not strange, "{} = {} of a sum of weights has {}", name, expr, strange)

    @property
    def symbol_of_squares(self) -> sp.Symbol | None:
        """A symbol that is nothing but the sum of squares."""
        return (
            self.squared
            if type(self.squared) is sp.Symbol and self.squared != self.at
            else None
        )

    @property
    def meanings(self) -> dict[sp.Symbol, Expr]:
        """The symbols in closed form."""
        pairs = (
            (self.at, self.total.subs(count, s.K)),
            (self.before, self.total.subs(count, s.K - 1)),
            (self.symbol_of_squares, self.squares.subs(count, s.K)),
            (self.path, self.partial.subs(count, s.K)),
        )
        return {symbol: closed for symbol, closed in pairs if symbol is not None}

    def whole(self, n: Expr) -> Expr:
        """The sum of the weights of n steps."""
        symbol = {s.K: self.at, s.K - 1: self.before}.get(n)
        return self.total.subs(count, n) if symbol is None else symbol

    def late(self, n: Expr) -> Expr:
        """``sum_{j<K} c(K - j) C(j)``, C(j) the sum of the weights of j steps."""
        need(
            n == s.K and self.path is not None,
            "the sums of these weights before each step have no name",
        )
        return self.path

    def square_sum(self, n: Expr) -> Expr:
        """The sum of their squares."""
        return (
            self.squares.subs(count, n)
            if n != s.K or self.squared is None
            else self.squared
        )


PLAIN = Lag()


STATES, NOISES = frozenset({"x", "dual", "xbar"}), frozenset({"n", "e", "e^"})
SAMPLES = NOISES | {"g"}
"""Names of atoms: states at the start of a round, noises of a step, and all that a step
has.
"""


@dataclass(frozen=True)
class Block:
    """Coordinates of the models that move in one phase of a round: its local steps, the
    smoothness in them, the noise and the diversity of their gradients.
    """

    K: Expr
    L: Expr
    noise: Expr
    diversity: Expr


BLOCKS: Mapping[str, Block] = MappingProxyType(
    {
        "": Block(s.K, s.L, s.sigma_l, s.sigma_g),
        "v": Block(s.K_v, s.L_v, s.sigma_v, sp.oo),
        "u": Block(s.K_u, s.L_u, s.sigma_u, s.delta_u),
    }
)
"""All coordinates; or the personal part v, which moves first and is not mixed, and then
the shared part u. A model of two blocks is the sum of its parts, which are
orthogonal.
"""


@dataclass(frozen=True, slots=True)
class Atom:
    """A named family; ``step``: none, ``"k"``, or a sum ``(weights, n)`` over j < n;
    ``mean``: over the clients (the same for all of them); ``point``: where a gradient
    is taken; ``pushed``: divided by the client's push-sum weight; ``block``: its
    coordinates, and the phase whose steps those are.
    """

    name: str
    step: str | tuple[Lag, Expr] | None = None
    mean: bool = False
    point: Vec | None = None
    pushed: bool = False
    block: str = ""

    def __post_init__(self) -> None:
        need(
            type(self.name) is str and type(self.block) is str,
            "an atom has names of type str",
        )
        need(
            type(self.mean) is bool and type(self.pushed) is bool,
            "mean and pushed are True or False",
        )
        need(self.block in BLOCKS, "{} is no block of coordinates", self.block)
        need(
            self.point is None or type(self.point) is Vec,
            "a gradient is taken at a Vec",
        )
        need(
            (self.name == "grad") == (self.point is not None),
            "{}: a gradient alone has a point",
            self.name,
        )
        need(
            self.step is None or self.name not in (*STATES, "grad"),
            "{} has no step",
            self.name,
        )
        need(
            self.step is not None or self.name not in SAMPLES,
            "{} is one of a step",
            self.name,
        )
        need(self.name != "xbar" or self.mean, "xbar is a mean over the clients")
        if type(self.step) is tuple:
            need(
                len(self.step) == 2 and type(self.step[0]) is Lag,
                "a sum over steps has weights and an end",
            )
            need(
                expression(self.step[1]) in (k, *(b.K for b in BLOCKS.values())),
                "a sum over steps runs below k or K, not {}",
                self.step[1],
            )
        else:
            need(
                self.step is None or (type(self.step) is str and self.step == "k"),
                "{} is no step",
                self.step,
            )


@dataclass(frozen=True, slots=True)
class Vec:
    """A linear combination of atoms, in normal form, so that equal vectors are equal
    objects: each atom once, with a factored coefficient that is not 0.
    """

    terms: frozenset[tuple[Atom, Expr]] = frozenset()

    def __post_init__(self) -> None:
        need(type(self.terms) is frozenset, "the terms of a vector are a frozenset")
        atoms = set()
        for term in self.terms:
            need(
                type(term) is tuple and len(term) == 2,
                "a term of a vector is an atom and a coefficient",
            )
            atom, coefficient = term
            need(
                type(atom) is Atom, "a term of a vector has an atom, not {}", type(atom)
            )
            need(atom not in atoms, "{} is in a vector twice", shown(atom))
            need(
                isinstance(coefficient, sp.Basic),
                "a coefficient is an expression: {}",
                coefficient,
            )
            normal = _factored(expression(coefficient))
            need(
                normal == coefficient and normal != 0,
                "{} is not a coefficient in normal form",
                coefficient,
            )
            atoms.add(atom)

    @staticmethod
    def of(pairs: Iterable[tuple[Atom, Expr]]) -> Vec:
        total: dict[Atom, Expr] = {}
        for atom, coefficient in pairs:
            total[atom] = total.get(atom, sp.S.Zero) + expression(coefficient)
        factored = {atom: _factored(expression(sum_)) for atom, sum_ in total.items()}
        return Vec(frozenset((atom, c) for atom, c in factored.items() if c != 0))

    def __add__(self, other: Vec) -> Vec:
        return Vec.of((*self.terms, *other.terms))

    def __sub__(self, other: Vec) -> Vec:
        return self + other * sp.S.NegativeOne

    def __mul__(self, factor: Any) -> Vec:
        return Vec.of((a, c * expression(factor)) for a, c in self.terms)

    def __rmul__(self, factor: Any) -> Vec:
        return self * factor

    def __neg__(self) -> Vec:
        return self * sp.S.NegativeOne

    def mean(self) -> Vec:
        """The mean over the clients, at every client."""
        need(
            not any(a.pushed for a, _ in self.terms),
            "the mean of vectors over push-sum weights has no name",
        )
        return Vec.of((replace(a, mean=True), c) for a, c in self.terms)

    def dev(self) -> Vec:
        """What is left of every client's vector without the mean."""
        return self - self.mean()

    def sum(self, n: Expr, weights: Lag = PLAIN) -> Vec:
        """``sum_{j<n} c(n - j) U_j``."""
        phases = BLOCKS if self.phase is None else (self.phase,)
        need(
            n in (k, *(BLOCKS[b].K for b in phases)),
            "a sum over steps runs below k or K, not {}",
            n,
        )
        pairs = []
        for atom, c in self.terms:
            need(
                not isinstance(atom.step, tuple) and k not in c.free_symbols,
                "a sum of sums has no name",
            )
            need(
                atom.point is None or not atom.point.free,
                "gradients at points of each step have no sum",
            )
            moved = atom if atom.step is None else replace(atom, step=(weights, n))
            pairs.append((moved, c * (weights.whole(n) if atom.step is None else 1)))
        return Vec.of(pairs)

    def only_step(self, K: Expr) -> Vec:
        """What step k is where K = 1, written as the sum over the steps."""
        pairs = []
        for atom, c in self.terms:
            if isinstance(atom.step, tuple) and atom.step[1] == k:
                continue  # there is no earlier step
            point = None if atom.point is None else atom.point.only_step(K)
            step = (PLAIN, K) if atom.step == "k" else atom.step
            moved = replace(atom, point=point, step=step)
            pairs.append((moved, c.subs({k: 0, K: 1})))
        return Vec.of(pairs)

    def pushed(self) -> Vec:
        """Every client's vector divided by its push-sum weight."""
        need(
            not any(a.pushed for a, _ in self.terms),
            "a vector is divided by the weights once",
        )
        return Vec.of((replace(a, pushed=True), c) for a, c in self.terms)

    def within(self, block: str) -> Vec:
        """The same of one block of coordinates."""
        return Vec.of((replace(a, block=block), c) for a, c in self.terms)

    def part(self, block: str) -> Vec:
        """Its coordinates in one block."""
        return Vec(frozenset((a, c) for a, c in self.terms if a.block == block))

    @property
    def block(self) -> str:
        """The block of its coordinates."""
        found = {a.block for a, _ in self.terms} or {""}
        need(len(found) == 1, "{} is of several blocks", self)
        return found.pop()

    @property
    def common(self) -> bool:
        """Is it the same at all clients?"""
        return all(a.mean and not a.pushed for a, _ in self.terms)

    @property
    def phase(self) -> str | None:
        """The phase on whose step k it depends; None: on no step."""
        found = set()
        for a, _ in self.terms:
            stepping = a.step == "k" or (isinstance(a.step, tuple) and a.step[1] == k)
            found |= {a.block} if stepping else set()
            found |= {a.point.phase} if a.point is not None else set()
        need(len(found - {None}) <= 1, "one step index k is of one phase")
        return next(iter(found - {None}), None)

    @property
    def free(self) -> bool:
        """Does it depend on the step k?"""
        return self.phase is not None or any(k in c.free_symbols for _, c in self.terms)

    @property
    def count(self) -> Expr:
        """How many steps has the phase on whose step k it depends?"""
        need(self.phase is not None, "{} does not depend on the step", self)
        return BLOCKS[self.phase or ""].K

    @property
    def noise(self) -> bool:
        """Is it a martingale difference at step k: a sample's noise, SAM's part less
        its conditional mean?
        """
        share: dict[tuple[str, bool], Expr] = {}
        for a, c in self.terms:
            if (
                a.step != "k"
                or a.name not in NOISES
                or a.point is not None
                or a.pushed
                or a.block != self.block
                or k in c.free_symbols
            ):
                return False
            share[a.name, a.mean] = c
        return all(
            share.get(("e", mean), 0) == -share.get(("e^", mean), 0)
            for mean in (True, False)
        )

    def known(self, step: Expr | None, phase: str) -> bool:
        """Is it known before the sample of local step k of a phase is drawn, or (step
        None) when the phase starts? The personal part's phase comes first.
        """
        for a, _ in self.terms:
            if a.point is not None:
                known = a.point.known(step, phase)
            elif a.step is None:
                known = a.name in STATES
            elif a.block != phase:
                before = (a.block, phase) == ("v", "u") and a.step[1:] == (
                    BLOCKS["v"].K,
                )
                known = before and a.name in SAMPLES
            elif isinstance(a.step, tuple):
                known = step is not None and a.step[1] == step and a.name in SAMPLES
            else:
                known = step is not None and a.name in ("g", "e^")
            if not known:
                return False
        return True

    def __str__(self) -> str:
        return " + ".join(sorted(f"({c})*{shown(a)}" for a, c in self.terms)) or "0"


def shown(a: Atom) -> str:
    name = a.name if a.point is None else f"{a.name}({a.point})"
    if isinstance(a.step, tuple):
        name = (
            f"sum_(j<{a.step[1]})"
            f" {'' if a.step[0] == PLAIN else f'[{a.step[0].weight}]'}{name}_j"
        )
    elif a.step:
        name += "_k"
    name += f"[{a.block}]" if a.block else ""
    return f"mean({name})" if a.mean else f"{name}/w" if a.pushed else name


def _atom(name: str, step: str | None = None, mean: bool = False) -> Vec:
    return Vec.of(((Atom(name, step, mean), sp.S.One),))


X, DUAL = _atom("x"), _atom("dual")
"""The clients' models at the round's start (push-sum: x/w), and a second state."""
XBAR = _atom("xbar", mean=True)
"""Push-sum: the mean of the numerators, that is the mean of x weighted by w."""
G, N, E, EHAT = _atom("g", "k"), _atom("n", "k"), _atom("e", "k"), _atom("e^", "k")
"""At local step k: the full gradient grad f_i, the noise of its sample, what SAM's
second gradient on the same minibatch adds, and the conditional mean of the latter given
all before the sample.
"""
SAMPLED = G + N + E
"""What a client moves by in one local step."""
MEAN, NOISE = G + EHAT, N + E - EHAT
"""Its conditional mean and the rest, a martingale difference."""
X_U, G_U, N_U, E_U = (vec.within("u") for vec in (X, G, N, E))
X_V, G_V, N_V = (vec.within("v") for vec in (X, G, N))


# -- one round


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One round: gradients are taken at ``local`` (step k); ``sent`` is what the
    network mixes: x <- W sent, ``gossips`` times. ``mean_model``: where the theorem's
    gradient is; ``dual``: what becomes of a second state, which starts at 0. Of two
    blocks: ``personal``: where the gradients of the personal part are taken in the
    first phase; ``kept``: what becomes of that part.
    """

    name: str
    local: Vec
    sent: Vec
    mean_model: Vec
    dual: Vec | None = None
    gossips: Expr = sp.S.One
    personal: Vec | None = None
    kept: Vec | None = None

    @property
    def shared(self) -> str:
        """The block that the network mixes."""
        return "" if self.kept is None else "u"

    def grad(self, point: Vec, block: str | None = None) -> Vec:
        """(grad f_i(point_i))_i, or its part of a block; of the shared one where none
        is named.
        """
        part = self.shared if block is None else block
        need(
            part in {self.shared, "v" if self.shared else ""},
            "{} has no block {}",
            self.name,
            part,
        )
        if point == (self.personal if part == "v" else self.local):
            return G.within(part)
        return Vec.of(((Atom("grad", point=point, block=part), sp.S.One),))

    @property
    def first(self) -> Vec:
        """Where the local steps start: no sum over steps is there yet."""
        return Vec(frozenset((a, c) for a, c in self.local.terms if a.step is None))

    @property
    def moved(self) -> Vec:
        """Push-sum: what the numerators have moved by when they are sent."""
        moved = self.sent - X
        need(
            all(a.pushed for a, _ in moved.terms),
            "push-sum sends x plus vectors divided by the weights",
        )
        return Vec.of((replace(a, pushed=False), c) for a, c in moved.terms)

    def following(self, v: Vec) -> Vec:
        """Where states are in the next round: of what is mixed the mean, where the
        network keeps it.
        """
        after = Vec()
        for a, c in v.terms:
            own = {("dual", ""): self.dual, ("x", "v"): self.kept}.get(
                (a.name, a.block)
            )
            need(not a.pushed, "{} is divided by weights of this round", shown(a))
            if own is not None:
                now = own.mean() if a.mean else own
            else:
                need(
                    a.mean and a.name in ("x", "xbar") and a.block == self.shared,
                    "{} is no mean of a state",
                    shown(a),
                )
                now = XBAR + self.moved.mean() if a.name == "xbar" else self.sent.mean()
            after += now * c
        return after

    def root_of_dual(self, v: Vec) -> Moment:
        """root(U) for the dual, its mean, or what is left of it without the mean."""
        need(self.dual is not None, "{} has no second state", self.name)
        need(v in (DUAL, DUAL.mean(), DUAL.dev()), "{} is no part of the dual", v)
        return root(v)

    def full(self, point: Vec) -> Vec:
        """grad f, or its shared part, at a common point."""
        need(
            point.part(self.shared).common,
            "grad f is taken at a common point, not {}",
            point,
        )
        return self.grad(point).mean()


# -- moments and facts


@dataclass(frozen=True, slots=True)
class Moment:
    """See ``kernel.py``; ``one``: the number 1 under a ``label``, so that constants
    are kept separately; ``weighted``: the clients weigh w_i/m instead of 1/m.
    """

    kind: str
    vec: Vec = Vec()
    other: Vec = Vec()
    steps: str = ""
    rounds: str = ""
    weighted: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        words = (self.kind, self.steps, self.rounds, self.label)
        need(all(type(word) is str for word in words), "a moment has words of type str")
        need(
            self.kind in ("sq", "root", "inner", "value", "one"),
            "{} is no kind of moment",
            self.kind,
        )
        need(
            self.steps in ("", "mean", "max"),
            "{} says nothing of the steps",
            self.steps,
        )
        need(
            self.rounds in ("", "mean", "next", "start"),
            "{} says nothing of the rounds",
            self.rounds,
        )
        need(type(self.weighted) is bool, "weighted is True or False")
        need(
            type(self.vec) is Vec and type(self.other) is Vec,
            "a moment is one of a Vec",
        )
        need(
            self.kind == "inner" or not self.other.terms,
            "a product alone has two vectors",
        )
        need(self.kind == "one" or not self.label, "a constant alone has a label")
        need(self.kind != "one" or not self.vec.terms, "a constant has no vector")

    @property
    def free(self) -> bool:
        return not self.steps and (self.vec.free or self.other.free)

    @property
    def phases(self) -> set[str]:
        """The phases on whose step k it depends."""
        return {
            v.phase
            for v in (self.vec, self.other)
            if v.phase is not None and not self.steps
        }

    def at(self, **where: str) -> Moment:
        """The same ``steps=`` or ``rounds=`` elsewhere."""
        return replace(self, **where)  # type: ignore[arg-type]

    def __str__(self) -> str:
        inside = f"{self.vec}, {self.other}" if self.kind == "inner" else str(self.vec)
        marks = ", ".join(
            x for x in (f"{self.steps} k" if self.steps else "", self.rounds) if x
        )
        return (
            f"1[{self.label}]"
            if self.kind == "one"
            else f"{self.kind}[{marks}]({inside})"
        )


def sq(v: Vec) -> Moment:
    return Moment("sq", v)


def root(v: Vec, weighted: bool = False) -> Moment:
    return Moment("root", v, weighted=weighted)


def inner(u: Vec, v: Vec) -> Moment:
    return Moment("inner", u, v)


def value(u: Vec) -> Moment:
    return Moment("value", u)


def one(label: str) -> Moment:
    return Moment("one", label=label)


Form = Mapping[Moment, Expr]
"""A linear combination of moments."""


def form(*parts: tuple[Form, Expr]) -> dict[Moment, Expr]:
    """``sum_j factor_j form_j`` without moments of coefficient 0."""
    total: dict[Moment, Expr] = {}
    for one_form, factor in parts:
        for moment, c in one_form.items():
            total[moment] = total.get(moment, sp.S.Zero) + sp.sympify(c) * factor
    need(
        not any(map(has_poles, total.values())),
        "a coefficient is infinite, imaginary or no number",
    )
    return {moment: c for moment, c in total.items() if not is_zero(c)}


# -- what rules say


@dataclass(frozen=True)
class Demand:
    """``expr >= 0`` (``> 0`` if strict), for ``why``."""

    expr: Expr
    why: str
    strict: bool = False

    @property
    def plain(self) -> bool:
        """Does SymPy's own word on signs settle it?"""
        return bool(self.expr.is_positive if self.strict else self.expr.is_nonnegative)


@dataclass(frozen=True)
class Claim:
    """What a rule says to the kernel; it becomes a Fact by ``@rule`` alone."""

    left: Form
    right: Form
    demands: tuple[Demand, ...] = ()
    equal: bool = False


@dataclass(frozen=True)
class Rule:
    """A rule for people: its name, what it says, its textbook statement and the
    hypotheses it uses.
    """

    name: str
    says: str
    cites: str
    uses: tuple[Hypothesis, ...]
