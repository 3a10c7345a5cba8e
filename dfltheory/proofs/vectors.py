"""Vectors of the kernel: linear combinations of named random families.

``kernel.py`` documents their meaning; nothing here claims that anything holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import k, need, real_expression
from dfltheory.bounds.units import Expr
from dfltheory.proofs.weights import PLAIN, Lag, factored

STATES, NOISES = frozenset({"x", "dual", "xbar"}), frozenset({"n", "e", "e^"})
SAMPLES = NOISES | {"g"}
"""Names of atoms: states at the start of a round, noises of a step, and all that a step
has.
"""


@dataclass(frozen=True)
class Block:
    """Coordinates of the models that move in one phase of a round.

    Attributes
    ----------
    K : number of local steps of the phase
    L : smoothness in these coordinates
    noise, diversity : bounds of the noise of a sample, and of the differences between
        the clients' gradients
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
    """A named family of random vectors, one for each client.

    Attributes
    ----------
    name : what it is, such as ``x`` or ``g``
    step : None if there is one for a round; ``"k"`` for local step k; ``(weights, n)``
        for the weighted sum over the steps j < n
    mean : whether it is the mean over the clients, the same for all of them
    point : where a gradient is taken
    pushed : whether it is divided by the client's push-sum weight
    block : its coordinates, which are also the phase of its step
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
        need(self.block in BLOCKS, "{} is not a block of coordinates", self.block)
        need(
            self.point is None or type(self.point) is Vec,
            "a gradient is taken at a Vec",
        )
        need(
            (self.name == "grad") == (self.point is not None),
            "{}: only a gradient has a point",
            self.name,
        )
        need(
            self.step is None or self.name not in (*STATES, "grad"),
            "{} has no step",
            self.name,
        )
        need(
            self.step is not None or self.name not in SAMPLES,
            "{} must have a step",
            self.name,
        )
        need(self.name != "xbar" or self.mean, "xbar is a mean over the clients")
        self._check_step()

    def _check_step(self) -> None:
        """Check that the step is None, ``"k"``, or a sum (weights, n)."""
        if type(self.step) is tuple:
            need(
                len(self.step) == 2 and type(self.step[0]) is Lag,
                "a sum over steps has weights and an end",
            )
            need(
                real_expression(self.step[1]) in (k, *(b.K for b in BLOCKS.values())),
                "a sum over steps must end at k or K, not at {}",
                self.step[1],
            )
        else:
            need(
                self.step is None or (type(self.step) is str and self.step == "k"),
                "{} is not a step",
                self.step,
            )


@dataclass(frozen=True, slots=True)
class Vec:
    """A linear combination of atoms, in normal form.

    Each atom occurs once, with a factored coefficient that is not 0, so that equal
    combinations are equal objects.
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
            need(atom not in atoms, "{} is in a vector twice", atom_text(atom))
            need(
                isinstance(coefficient, sp.Basic),
                "a coefficient is an expression: {}",
                coefficient,
            )
            normal = factored(real_expression(coefficient))
            need(
                normal == coefficient and normal != 0,
                "{} is not a coefficient in normal form",
                coefficient,
            )
            atoms.add(atom)

    @staticmethod
    def of(pairs: Iterable[tuple[Atom, Expr]]) -> Vec:
        """Return the sum of atoms with coefficients."""
        total: dict[Atom, Expr] = {}
        for atom, coefficient in pairs:
            total[atom] = total.get(atom, sp.S.Zero) + real_expression(coefficient)
        terms = {atom: factored(real_expression(sum_)) for atom, sum_ in total.items()}
        return Vec(frozenset((atom, c) for atom, c in terms.items() if c != 0))

    def __add__(self, other: Vec) -> Vec:
        return Vec.of((*self.terms, *other.terms))

    def __sub__(self, other: Vec) -> Vec:
        return self + other * sp.S.NegativeOne

    def __mul__(self, factor: sp.Expr | int) -> Vec:
        return Vec.of((a, c * real_expression(factor)) for a, c in self.terms)

    def __rmul__(self, factor: sp.Expr | int) -> Vec:
        return self * factor

    def __neg__(self) -> Vec:
        return self * sp.S.NegativeOne

    def mean(self) -> Vec:
        """Return the mean over the clients, at every client."""
        need(
            not any(a.pushed for a, _ in self.terms),
            "the mean of vectors over push-sum weights is not defined",
        )
        return Vec.of((replace(a, mean=True), c) for a, c in self.terms)

    def dev(self) -> Vec:
        """Return what is left of every client's vector without the mean."""
        return self - self.mean()

    def sum(self, n: Expr, weights: Lag = PLAIN) -> Vec:
        """``sum_{j<n} c(n - j) U_j``."""
        phases = BLOCKS if self.phase is None else (self.phase,)
        need(
            n in (k, *(BLOCKS[b].K for b in phases)),
            "a sum over steps must end at k or K, not at {}",
            n,
        )
        pairs = []
        for atom, c in self.terms:
            need(
                not isinstance(atom.step, tuple) and k not in c.free_symbols,
                "a sum over steps of a sum over steps is not defined",
            )
            need(
                atom.point is None or not atom.point.free,
                "a sum of gradients at points that depend on the step k is not defined",
            )
            if atom.step is None:
                pairs.append((atom, c * weights.whole(n)))
            else:
                pairs.append((replace(atom, step=(weights, n)), c))
        return Vec.of(pairs)

    def only_step(self, K: Expr) -> Vec:
        """Return what step k is where K = 1, written as the sum over the steps."""
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
            "a vector is divided by the push-sum weights only once",
        )
        return Vec.of((replace(a, pushed=True), c) for a, c in self.terms)

    def within(self, block: str) -> Vec:
        """Return the vector with all its atoms in one block of coordinates."""
        return Vec.of((replace(a, block=block), c) for a, c in self.terms)

    def part(self, block: str) -> Vec:
        """Its coordinates in one block."""
        return Vec(frozenset((a, c) for a, c in self.terms if a.block == block))

    @property
    def block(self) -> str:
        """The block of its coordinates."""
        block_names = {a.block for a, _ in self.terms} or {""}
        need(
            len(block_names) == 1, "{} has parts in several blocks of coordinates", self
        )
        return block_names.pop()

    @property
    def common(self) -> bool:
        """Whether it is the same at all clients."""
        return all(a.mean and not a.pushed for a, _ in self.terms)

    @property
    def phase(self) -> str | None:
        """The phase on whose step k it depends; None: on no step."""
        phases = set()
        for a, _ in self.terms:
            stepping = a.step == "k" or (isinstance(a.step, tuple) and a.step[1] == k)
            if stepping:
                phases.add(a.block)
            if a.point is not None and a.point.phase is not None:
                phases.add(a.point.phase)
        need(len(phases) <= 1, "the step k would belong to several phases")
        return next(iter(phases), None)

    @property
    def free(self) -> bool:
        """Whether it depends on the step k, in an atom, a coefficient or a point."""
        if self.phase is not None:
            return True
        for a, c in self.terms:
            if k in c.free_symbols or (a.point is not None and a.point.free):
                return True
        return False

    @property
    def count(self) -> Expr:
        """The number of steps of the phase on whose step k it depends."""
        need(self.phase is not None, "{} does not depend on the step", self)
        return BLOCKS[self.phase or ""].K

    @property
    def noise(self) -> bool:
        """Return whether the vector is a martingale difference at step k.

        It is made of a sample's noise, and of SAM's part less its conditional mean.
        """
        share: dict[tuple[str, bool], Expr] = {}
        for a, c in self.terms:
            is_noise_of_step = (
                a.step == "k"
                and a.name in NOISES
                and a.point is None
                and not a.pushed
                and a.block == self.block
                and k not in c.free_symbols
            )
            if not is_noise_of_step:
                return False
            share[a.name, a.mean] = c
        for mean in (True, False):
            if share.get(("e", mean), 0) != -share.get(("e^", mean), 0):
                return False
        return True

    def known(self, step: Expr | None, phase: str) -> bool:
        """Return whether the vector is known before a sample is drawn.

        That is the sample of local step k of a phase, or (step None) the first of the
        phase. The personal part's phase comes first.
        """
        for a, _ in self.terms:
            if a.point is not None:
                known = a.point.known(step, phase)
            elif a.step is None:
                known = a.name in STATES
            elif a.block != phase:
                personal_part_moved = (a.block, phase) == ("v", "u")
                over_all_steps = a.step[1:] == (BLOCKS["v"].K,)
                known = personal_part_moved and over_all_steps and a.name in SAMPLES
            elif isinstance(a.step, tuple):
                known = step is not None and a.step[1] == step and a.name in SAMPLES
            else:
                known = step is not None and a.name in ("g", "e^")
            if not known:
                return False
        return True

    def __str__(self) -> str:
        return " + ".join(sorted(f"({c})*{atom_text(a)}" for a, c in self.terms)) or "0"


@lru_cache(maxsize=1 << 14)  # a proof has few atoms, and names them again and again
def atom_text(a: Atom) -> str:
    """Return the text of an atom."""
    name = a.name if a.point is None else f"{a.name}({a.point})"
    if isinstance(a.step, tuple):
        weights, n = a.step
        factor = "" if weights == PLAIN else f"[{weights.weight}]"
        name = f"sum_(j<{n}) {factor}{name}_j"
    elif a.step:
        name += "_k"
    name += f"[{a.block}]" if a.block else ""
    text = f"mean({name})" if a.mean else name
    return f"{text}/w" if a.pushed else text


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
"""The gradient of a local step."""
MEAN, NOISE = G + EHAT, N + E - EHAT
"""Its conditional mean and the rest, a martingale difference."""
X_U, G_U, N_U, E_U = (vec.within("u") for vec in (X, G, N, E))
X_V, G_V, N_V = (vec.within("v") for vec in (X, G, N))
