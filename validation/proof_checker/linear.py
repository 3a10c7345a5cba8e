"""Vectors, moments, and linear combinations of them.

A vector U is a random U_i for each client i: a linear combination of atoms. <U, V> =
(1/m) sum_i E<U_i, V_i>, sq(U) = <U, U>, root(U) = sq(U)^(1/2), value(U) = (1/m) sum_i E
f_i(U_i). Names of atoms: the models x and their weighted mean xbar (push-sum), a second
state dual; at local step k the gradient g, the noise n of its sample, what SAM adds e
and its conditional mean ehat; grad at a point.
"""

from typing import NamedTuple

import current
from polynomials import need, number, spend, symbol

PHASES = {
    "": ("K", "L", "sigma_l", "sigma_g"),
    "v": ("K_v", "L_v", "sigma_v", "-"),
    "u": ("K_u", "L_u", "sigma_u", "delta_u"),
}
"""Block of coordinates: steps, smoothness, noise, diversity of its gradients."""


class Atom(NamedTuple):
    """A family U_i of a round.

    ``step``: "", "k", or (n, weights) for a sum over j < n; ``mean``: over the clients;
    ``point``: of a gradient; ``pushed``: over the push-sum weights; ``block``: of
    coordinates.
    """

    name: str
    step: object = ""
    mean: bool = False
    point: object = None
    pushed: bool = False
    block: str = ""


class Moment(NamedTuple):
    """``kind``: sq, root, root_w (clients weigh w_i/m), inner, value or one."""

    kind: str
    vec: object = None
    other: object = None
    steps: str = ""
    rounds: str = ""


class Linear:
    """A linear combination of atoms (a vector) or of moments."""

    def __init__(self, terms=()):
        self.terms = []
        for key, c in terms:
            spend(len(self.terms))
            place = next((i for i, t in enumerate(self.terms) if t[0] == key), None)
            if place is None:
                self.terms.append((key, c))
            else:
                self.terms[place] = (key, self.terms[place][1] + c)
        self.terms = [(key, c) for key, c in self.terms if c.top]

    def __add__(self, other):
        return Linear([*self.terms, *other.terms])

    def __mul__(self, factor):
        return Linear([(key, c * factor) for key, c in self.terms])

    def __neg__(self):
        return self * number(-1)

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * (number(1) / other)

    def __eq__(self, other):
        return type(other) is Linear and not (self - other).terms

    def get(self, key):
        """Return the coefficient of an atom or a moment."""
        return next((c for k, c in self.terms if k == key), number(0))

    def replace(self, **fields):
        """Return the same with other fields in each atom or moment."""
        return Linear([(key._replace(**fields), c) for key, c in self.terms])


class Fact(NamedTuple):
    """left <= right, or left = right; ``phases``: of the step k it is about."""

    left: Linear
    right: Linear
    equal: bool
    phases: frozenset


def atom(name, step="", mean=False):
    """Return a vector of one atom."""
    return Linear([(Atom(name, step, mean), number(1))])


def moment(kind, *of):
    """One moment."""
    return Linear([(Moment(kind, *of), number(1))])


def mean(v):
    """Return the mean over the clients."""
    need(not any(a.pushed for a, _ in v.terms), "a mean of weighted vectors")
    return v.replace(mean=True)


def block_of(v):
    """Return the one block of a vector."""
    found = {a.block for a, _ in v.terms} or {""}
    need(len(found) == 1, "a vector of several blocks")
    return found.pop()


def blocks(v):
    """Return the blocks of a vector and of the points of its gradients."""
    spend(len(v.terms))
    points = [a.point for a, _ in v.terms if a.point is not None]
    return {a.block for a, _ in v.terms}.union(*map(blocks, points))


def phase(v):
    """Return the phase on whose step k a vector depends, or None."""
    spend(len(v.terms))
    found = {a.block for a, _ in v.terms if a.step == "k" or a.step[:1] == ("k",)}
    found |= {phase(a.point) for a, _ in v.terms if a.point is not None}
    need(len(found - {None}) <= 1, "one step k is of one phase")
    return next(iter(found - {None}), None)


def vectors(m):
    """Return the vectors of a moment."""
    return [v for v in (m.vec, m.other) if type(v) is Linear]


def free(m):
    """Return whether a vector, or a moment, depends on the step k."""
    if type(m) is Moment:
        return not m.steps and any(map(free, vectors(m)))
    return phase(m) is not None or any("k" in c.names for _, c in m.terms)


def steps(v):
    """Return the number of steps of the phase on which a vector depends."""
    need(phase(v) is not None, "the vector does not depend on the step")
    return symbol(PHASES[phase(v)][0])


def total(v, n, weights="1"):
    """sum_{j<n} c(n - j) U_j."""
    phases = PHASES if phase(v) is None else (phase(v),)
    ends = [e for e in ("k", *(PHASES[p][0] for p in phases)) if n == symbol(e)]
    need(ends, "a sum over steps ends at k or K")
    terms = []
    for a, c in v.terms:
        moving = a.point is not None and free(a.point)
        need(type(a.step) is str and not moving and "k" not in c.names, "a sum of sums")
        fixed = number(1) if a.step else whole(weights, n)
        terms.append((a._replace(step=(ends[0], weights)) if a.step else a, c * fixed))
    return Linear(terms)


def whole(weights, n):
    """Return the sum of the weights of n steps."""
    own = current.proof.weights[weights]
    for count, name in (
        (symbol("K"), own["at"]),
        (symbol("K") - number(1), own["before"]),
    ):
        if name != "-" and n == count:
            return current.proof.evaluate(name)
    return current.proof.evaluate(own["total"], count=n)


def squares(weights, n):
    """Return the sum of the squared weights of n steps."""
    own = current.proof.weights[weights]
    if n == symbol("K") and own["squared"] != "-":
        return current.proof.evaluate(own["squared"])
    return current.proof.evaluate(own["squares"], count=n)


def gradient(point, name=None):
    """Return grad f_i(point_i), or its part of a block; g at the local models."""
    name = current.proof.shared if name is None else name
    local = current.proof.algorithm["personal" if name == "v" else "local"]
    if point == local:
        return atom("g", "k").replace(block=name)
    return Linear([(Atom("grad", point=point, block=name), number(1))])


def full(point):
    """Return grad f at a common point."""
    own = [a for a, _ in point.terms if a.block == current.proof.shared]
    need(all(a.mean and not a.pushed for a in own), "grad f is at a common point")
    return mean(gradient(point))


def following(v):
    """Return a mean of states, or the dual, in the next round."""
    after = Linear()
    for a, c in v.terms:
        own = {("dual", ""): "dual_after", ("x", "v"): "kept"}.get((a.name, a.block))
        need(not a.pushed and (own or a.mean), "not a mean of a state")
        if own:
            now = current.proof.algorithm[own]
            now = mean(now) if a.mean else now
        else:
            need(
                a.name in ("x", "xbar") and a.block == current.proof.shared,
                "not a state",
            )
            now = (
                atom("xbar", mean=True) + mean(moved())
                if a.name == "xbar"
                else mean(current.proof.algorithm["sent"])
            )
        after = after + now * c
    return after


def moved():
    """Return what the numerators of push-sum move by."""
    move = current.proof.algorithm["sent"] - atom("x")
    need(all(a.pushed for a, _ in move.terms), "no push-sum algorithm")
    return move.replace(pushed=False)


def noise(v):
    """Return whether a vector is a martingale difference of step k."""
    share = {(a.name, a.mean): c for a, c in v.terms}
    return all(
        a.step == "k"
        and a.point is None
        and not a.pushed
        and a.block == block_of(v)
        and a.name in ("n", "e", "ehat")
        and "k" not in c.names
        for a, c in v.terms
    ) and all(
        share.get(("e", m), number(0)) == -share.get(("ehat", m), number(0))
        for m in (True, False)
    )


def known(v, step, of):
    """Return whether v is known before the sample of step k, or at a phase's start."""
    spend(len(v.terms))

    def is_known(a):
        if a.point is not None:
            return known(a.point, step, of)
        if not a.step:
            return a.name in ("x", "dual", "xbar")
        if a.block != of:
            return (a.block, of) == ("v", "u") and a.step[:1] == ("K_v",)
        if type(a.step) is tuple:
            return step != "" and a.step[0] == step
        return step != "" and a.name in ("g", "ehat")

    return all(is_known(a) for a, _ in v.terms)
