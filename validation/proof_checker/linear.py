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
    """A linear combination of atoms (a vector) or of moments.

    ``terms`` are pairs of an atom or moment, and its coefficient.
    """

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


def atom_vector(name, step="", mean=False):
    """Return a vector of one atom."""
    return Linear([(Atom(name, step, mean), number(1))])


def moment_of(kind, *vectors_or_name):
    """Return one moment."""
    return Linear([(Moment(kind, *vectors_or_name), number(1))])


def update(name):
    """Return an update of the algorithm."""
    updates = current.proof.algorithm
    need(name in updates, f"the proof needs a line 'algorithm {name} = ...'")
    return updates[name]


def weights_named(name):
    """Return the declared weights of sums over steps."""
    weights = current.proof.weights
    need(
        name in weights,
        f"there are no weights {name!r}; declared are {', '.join(map(repr, weights))}",
    )
    return weights[name]


def mean(v):
    """Return the mean over the clients."""
    need(
        not any(atom.pushed for atom, _ in v.terms),
        "mean(U) is not defined for a vector over the push-sum weights",
    )
    return v.replace(mean=True)


def block_of(v):
    """Return the one block of a vector."""
    names = {atom.block for atom, _ in v.terms} or {""}
    need(
        len(names) == 1,
        f"a vector has parts in the blocks {sorted(names)}; only one is allowed here",
    )
    return names.pop()


def blocks(v):
    """Return the blocks of a vector and of the points of its gradients."""
    spend(len(v.terms))
    points = [atom.point for atom, _ in v.terms if atom.point is not None]
    return {atom.block for atom, _ in v.terms}.union(*map(blocks, points))


def phase(v):
    """Return the phase on whose step k a vector depends, or None."""
    spend(len(v.terms))
    phases = set()
    for atom, _ in v.terms:
        if atom.step == "k" or atom.step[:1] == ("k",):
            phases.add(atom.block)
    phases |= {phase(atom.point) for atom, _ in v.terms if atom.point is not None}
    phases.discard(None)
    need(len(phases) <= 1, several_phases(phases))
    return next(iter(phases), None)


def several_phases(names):
    """Return the message for a step k that belongs to several phases."""
    return (
        f"the step k belongs to the phases of the blocks {sorted(names)}; in one fact"
        " it must belong to one"
    )


def vectors(moment):
    """Return the vectors of a moment."""
    return [v for v in (moment.vec, moment.other) if type(v) is Linear]


def free(vector_or_moment):
    """Return whether a vector, or a moment, depends on the step k."""
    if type(vector_or_moment) is Moment:
        moment = vector_or_moment
        return not moment.steps and any(map(free, vectors(moment)))
    v = vector_or_moment
    points = [atom.point for atom, _ in v.terms if atom.point is not None]
    in_coefficient = any("k" in c.names for _, c in v.terms)
    return phase(v) is not None or in_coefficient or any(map(free, points))


def steps(v):
    """Return the number of steps of the phase on which a vector depends."""
    need(phase(v) is not None, "the vector does not depend on the step k")
    return symbol(PHASES[phase(v)][0])


def weighted_sum(v, n, weights="1"):
    """sum_{j<n} c(n - j) U_j."""
    weights_named(weights)
    phases = PHASES if phase(v) is None else (phase(v),)
    counts = ["k", *(PHASES[name][0] for name in phases)]
    ends = [end for end in counts if n == symbol(end)]
    need(ends, f"a sum over steps must end at one of {', '.join(counts)}")
    terms = []
    for atom, c in v.terms:
        moving_point = atom.point is not None and free(atom.point)
        need(
            type(atom.step) is str and not moving_point and "k" not in c.names,
            "a sum over steps is not defined for a vector with another sum over steps,"
            " a gradient at a point that depends on k, or k in a coefficient",
        )
        if atom.step:
            terms.append((atom._replace(step=(ends[0], weights)), c))
        else:
            terms.append((atom, c * weight_sum(weights, n)))
    return Linear(terms)


def weight_sum(name, n):
    """Return the sum of n weights."""
    weights = weights_named(name)
    for count, symbol_of_sum in (
        (symbol("K"), weights["at"]),
        (symbol("K") - number(1), weights["before"]),
    ):
        if symbol_of_sum != "-" and n == count:
            return current.proof.evaluate(symbol_of_sum)
    return current.proof.evaluate(weights["total"], count=n)


def squared_weight_sum(name, n):
    """Return the sum of n squared weights."""
    weights = weights_named(name)
    if n == symbol("K") and weights["squared"] != "-":
        return current.proof.evaluate(weights["squared"])
    return current.proof.evaluate(weights["squares"], count=n)


def gradient(point, name=None):
    """Return grad f_i(point_i), or its part of a block; g at the local models."""
    name = current.proof.shared if name is None else name
    if point == update("personal" if name == "v" else "local"):
        return atom_vector("g", "k").replace(block=name)
    return Linear([(Atom("grad", point=point, block=name), number(1))])


def full(point):
    """Return grad f at a common point."""
    shared = [atom for atom, _ in point.terms if atom.block == current.proof.shared]
    need(
        all(atom.mean and not atom.pushed for atom in shared),
        "grad f is defined at a point that is the same at all clients: a mean over the"
        " clients, not over the push-sum weights",
    )
    return mean(gradient(point))


def following(v):
    """Return a mean of states, or the dual, in the next round."""
    after = Linear()
    for atom, c in v.terms:
        need(
            not atom.pushed,
            "a vector over the push-sum weights is not known for the next round",
        )
        after = after + following_atom(atom) * c
    return after


def following_atom(atom):
    """Return the vector of an atom in the next round."""
    name = {("dual", ""): "dual_after", ("x", "v"): "kept"}.get((atom.name, atom.block))
    if name:
        after = update(name)
        return mean(after) if atom.mean else after
    need(
        atom.mean and atom.name in ("x", "xbar") and atom.block == current.proof.shared,
        f"{atom.name} is not known for the next round; only the dual, the kept block,"
        " xbar and the mean of x are",
    )
    if atom.name == "xbar":
        return atom_vector("xbar", mean=True) + mean(moved())
    return mean(update("sent"))


def moved():
    """Return what the numerators of push-sum move by."""
    move = update("sent") - atom_vector("x")
    need(
        all(atom.pushed for atom, _ in move.terms),
        "moved() needs a push-sum algorithm, where sent is x plus vectors pushed(U)",
    )
    return move.replace(pushed=False)


def noise(v):
    """Return whether a vector is a martingale difference of step k."""
    share = {}
    for atom, c in v.terms:
        is_sample = atom.name in ("n", "e", "ehat") and atom.step == "k"
        is_plain = atom.point is None and not atom.pushed
        if not (is_sample and is_plain) or atom.block != block_of(v) or "k" in c.names:
            return False
        share[atom.name, atom.mean] = c
    for is_mean in (True, False):
        of_sam = share.get(("e", is_mean), number(0))
        of_its_mean = share.get(("ehat", is_mean), number(0))
        if of_sam != -of_its_mean:
            return False
    return True


def known(v, step, block):
    """Return whether v is known before the sample of step k, or at a phase's start."""
    spend(len(v.terms))

    def is_known(atom):
        if atom.point is not None:
            return known(atom.point, step, block)
        if not atom.step:
            return atom.name in ("x", "dual", "xbar")
        if atom.block != block:
            return (atom.block, block) == ("v", "u") and atom.step[:1] == ("K_v",)
        if type(atom.step) is tuple:
            return step != "" and atom.step[0] == step
        return step != "" and atom.name in ("g", "ehat")

    return all(is_known(atom) for atom, _ in v.terms)
