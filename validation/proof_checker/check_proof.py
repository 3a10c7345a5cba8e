"""Check a proof of a convergence theorem that is written as flat text.

``python check_proof.py FILE`` prints what FILE proves, or its first wrong line (exit
status 1). It uses Python's standard library and ``polynomials.py``, nothing else.

A vector U is a random U_i for each client i. <U, V> = (1/m) sum_i E<U_i, V_i>, sq(U) =
<U, U>, root(U) = sq(U)^(1/2), value(U) = (1/m) sum_i E f_i(U_i), one("name") = 1. Over
the local steps, ``max_k`` is the largest and ``mean_k`` the mean square; ``mean_t`` is
the mean (square) over the rounds, ``next_t`` and ``start_t`` are at t + 1 and 0. The
rules are inequalities from textbooks: ``SCHEMAS`` and the functions under ``@rule``.
docs/proof-format.md documents the format and what is trusted.
"""

import ast
import sys
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import polynomials
from polynomials import DEMANDS, SYMBOLS, Quotient, Region, number, power, symbol

PHASES = {
    "": ("K", "L", "sigma_l", "sigma_g"),
    "v": ("K_v", "L_v", "sigma_v", "-"),
    "u": ("K_u", "L_u", "sigma_u", "delta_u"),
}
"""Block of coordinates: steps, smoothness, noise, diversity of its gradients."""
ONE = number(1)


class Wrong(Exception):
    """A line does not follow."""


class Formula(str):
    """The formula of an abbreviation, evaluated where it is used."""


def need(condition, message):
    """Reject the line where a side condition fails."""
    if not condition:
        raise Wrong(message)


# -- linear combinations of vectors, and of moments


class Atom(NamedTuple):
    """A family U_i of a round; ``step``: "", "k", or (n, weights) for a sum over j < n;
    ``mean``: over the clients; ``point``: of a gradient; ``pushed``: over the push-sum
    weights; ``block``: of coordinates.
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
        """The coefficient of an atom or a moment."""
        return next((c for k, c in self.terms if k == key), number(0))

    def replace(self, **fields):
        """The same with other fields in each atom or moment."""
        return Linear([(key._replace(**fields), c) for key, c in self.terms])


class Fact(NamedTuple):
    """left <= right, or left = right; ``phases``: of the step k it is about."""

    left: Linear
    right: Linear
    equal: bool
    phases: frozenset


def atom(name, step="", mean=False):
    """A vector of one atom."""
    return Linear([(Atom(name, step, mean), number(1))])


def moment(kind, *of):
    """One moment."""
    return Linear([(Moment(kind, *of), number(1))])


def mean(v):
    """The mean over the clients."""
    need(not any(a.pushed for a, _ in v.terms), "a mean of weighted vectors")
    return v.replace(mean=True)


def block_of(v):
    """The one block of a vector."""
    found = {a.block for a, _ in v.terms} or {""}
    need(len(found) == 1, "a vector of several blocks")
    return found.pop()


def phase(v):
    """The phase on whose step k a vector depends, or None."""
    found = {a.block for a, _ in v.terms if a.step == "k" or a.step[:1] == ("k",)}
    found |= {phase(a.point) for a, _ in v.terms if a.point is not None}
    need(len(found - {None}) <= 1, "one step k is of one phase")
    return next(iter(found - {None}), None)


def free(m):
    """Does a vector, or a moment, depend on the step k?"""
    if type(m) is Moment:
        vectors = [v for v in (m.vec, m.other) if type(v) is Linear]
        return not m.steps and any(map(free, vectors))
    return phase(m) is not None or any("k" in c.names for _, c in m.terms)


def steps(v):
    """The number of steps of the phase on which a vector depends."""
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
    """The sum of the weights of n steps."""
    own = proof.weights[weights]
    for count, name in (
        (symbol("K"), own["at"]),
        (symbol("K") - number(1), own["before"]),
    ):
        if name != "-" and n == count:
            return proof.evaluate(name)
    return proof.evaluate(own["total"], count=n)


def squares(weights, n):
    """The sum of the squared weights of n steps."""
    own = proof.weights[weights]
    if n == symbol("K") and own["squared"] != "-":
        return proof.evaluate(own["squared"])
    return proof.evaluate(own["squares"], count=n)


def gradient(point, name=None):
    """grad f_i(point_i), or its part of a block; g at the local models."""
    name = proof.shared if name is None else name
    local = proof.algorithm["personal" if name == "v" else "local"]
    if point == local:
        return atom("g", "k").replace(block=name)
    return Linear([(Atom("grad", point=point, block=name), number(1))])


def full(point):
    """grad f at a common point."""
    own = [a for a, _ in point.terms if a.block == proof.shared]
    need(all(a.mean and not a.pushed for a in own), "grad f is at a common point")
    return mean(gradient(point))


def following(v):
    """A mean of states, or the dual, in the next round."""
    after = Linear()
    for a, c in v.terms:
        own = {("dual", ""): "dual_after", ("x", "v"): "kept"}.get((a.name, a.block))
        need(not a.pushed and (own or a.mean), "not a mean of a state")
        if own:
            now = proof.algorithm[own]
            now = mean(now) if a.mean else now
        else:
            need(a.name in ("x", "xbar") and a.block == proof.shared, "not a state")
            now = (
                atom("xbar", mean=True) + mean(moved())
                if a.name == "xbar"
                else mean(proof.algorithm["sent"])
            )
        after = after + now * c
    return after


def moved():
    """What the numerators of push-sum move by."""
    move = proof.algorithm["sent"] - atom("x")
    need(all(a.pushed for a, _ in move.terms), "no push-sum algorithm")
    return move.replace(pushed=False)


def noise(v):
    """Is a vector a martingale difference of step k?"""
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
    """Is a vector known before the sample of step k of a phase, or at its start?"""

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


# -- rules: name -> hypotheses, arguments, what it says, side conditions

SCHEMAS = {
    "polarization": ["", "U V", "inner(U, V) == (sq(U) + sq(V) - sq(U - V))/2"],
    "mean_of": ["", "U", "root(mean(U)) <= root(U)"],
    "dev_of": ["", "U", "root(U - mean(U)) <= root(U)"],
    "steps_mean": ["", "U", "root(sum(U, steps(U))) <= steps(U)*mean_k(root(U))"],
    "unweigh": ["push-sum weights", "U", "root(pushed(U)) <= root(U)/delta"],
    "weigh": ["push-sum weights", "U", "root(U) <= root_w(U)/delta**(1/2)"],
    "bounded": ["bounded", "", "root(g) <= B*one('gradient')"],
    "second_moment": ["moment", "", "root(g + n + e) <= S2**(1/2)*one('moment')"],
    "variance": [
        *("variance", "U", "root(U) <= noise_size(U)*one('noise')"),
        "U == block(block_of(U), n)",
    ],
    "sam": ["sample smooth", "U", "root(U) <= sam_size()*one('sam')", "is_sam(U)"],
    "clients": [
        *("unbiased, independent", "V", "sq(mean(V)) == sq(V)/m"),
        "noise(V), not_mean(V)",
    ],
    "pythagoras": [
        *("unbiased", "U V", "sq(U + V) == sq(U) + sq(V)"),
        "noise(V), known(U, 'k', block_of(V))",
    ],
    "unbiased": [
        *("unbiased", "U V M", "inner(U, sum(V, steps(V), M)) == 0"),
        "noise(V), known(U, '', block_of(V))",
    ],
    "lipschitz": [
        *("smooth", "U V B"),
        "root(grad(U, B) - grad(V, B)) <= steepness(U, V, B)*root(U - V)",
    ],
    "descent": [
        *("smooth", "U D"),
        "value(U + D) - value(U) <= inner(slope(U, D), D) + smoothness(D)/2*sq(D)",
    ],
    "diversity": [
        *("diversity", "U"),
        "root(grad(U) - full(U)) <= diversity_size()*one('diversity')",
        "diversity_at(U)",
    ],
    "gossip": [
        *(
            "contraction",
            "",
            "next_t(root(shared_dev())) <= lam*root(sent - mean(sent))",
        ),
        "gossips == 1",
    ],
    "gossip_steps": [
        *("contraction, fresh draws", ""),
        "next_t(root(shared_dev())) <= lam**gossips*root(sent - mean(sent))",
        "gossips == Q",
    ],
    "push": [
        *("push-sum weights, push-sum", ""),
        "next_t(root_w(x - xbar)) <= q*root_w(x - xbar) + q/delta**(1/2)*root(moved())",
    ],
    "common_start": ["common start", "", "start_t(root(x - mean(x))) <= 0"],
    "any_start": [
        "",
        "",
        "start_t(root(shared_dev())) <= x0_spread**(1/2)*one('start')",
    ],
    "any_push_start": [
        *("", "", "start_t(root_w(x - xbar)) <= x0_spread**(1/2)*one('start')"),
    ],
    "dual_start": ["", "U", "start_t(root(U)) <= 0", "dual_part(U)"],
    "next_dual": ["", "U", "next_t(root(U)) == root(following(U))", "dual_part(U)"],
}


def quantity(name):
    """A quantity of the statement."""
    return proof.named(name, {})


def steepness(u, v, name):
    """L_b, or chi (L_b L_c)^(1/2) for gradients in block b at points that differ in
    c.
    """
    here = quantity(PHASES[proof.shared if name is None else name][1])
    there = quantity(PHASES[block_of(u - v)][1])
    if here == there:
        return here
    return quantity("chi") * power(here * there, number(Fraction(1, 2)))


def slope(u, d):
    """grad f_i in the block of D; grad f where D is the same at all clients."""
    g = gradient(u, block_of(d))
    common = all(a.mean and not a.pushed for a, _ in d.terms)
    return mean(g) if common else g


def is_sam(u):
    """Is it what SAM adds, its conditional mean, or their difference?"""
    e, ehat = (atom(a, "k").replace(block=proof.shared) for a in ("e", "ehat"))
    return u in (e, ehat, e - ehat)


def shared_dev():
    """x - mean x in the block that the network mixes."""
    x = atom("x").replace(block=proof.shared)
    return x - mean(x)


def diversity_at(u):
    """Is the diversity of the gradients assumed at this point?"""
    x = atom("x").replace(block="u")
    return not proof.shared or u == mean(x) + proof.algorithm["kept"]


def dual_part(u):
    """Is it the dual, its mean, or the rest, of an algorithm that has one?"""
    dual = atom("dual")
    return "dual_after" in proof.algorithm and u in (dual, mean(dual), dual - mean(dual))


RULES = {}


def rule(hypotheses):
    """A rule with premises or with any number of arguments."""

    def keep(function):
        RULES[function.__name__] = (hypotheses, function)
        return function

    return keep


def single(form, kinds):
    """The moment that is alone on the left-hand side."""
    need(len(form.terms) == 1 and form.terms[0][1] == ONE, "one moment on the left")
    need(form.terms[0][0].kind in kinds, "another kind of moment on the left")
    return form.terms[0][0]


@rule("")
def minkowski(stated, *parts):
    """root(sum_j c_j U_j) <= sum_j |c_j| root(U_j)."""
    whole_sum, right = Linear(), Linear()
    for c, v in parts:
        size = c if proof.region.holds(c, ">=") else -c
        DEMANDS.append((size, ">="))
        whole_sum, right = whole_sum + v * c, right + moment("root", v) * size
    return moment("root", whole_sum), "<=", right


@rule("")
def bilinear(stated, u, *parts):
    """<U, sum_j c_j V_j> = sum_j c_j <U, V_j>."""
    whole_sum, right = Linear(), Linear()
    for c, v in parts:
        whole_sum, right = whole_sum + v * c, right + moment("inner", u, v) * c
    return moment("inner", u, whole_sum), "==", right


@rule("")
def steps_max(stated, v, n, weights, upto=None):
    """root(sum_{j<n} c(n-j) U_j) <= (sum of n weights) root[max k](U); for n = k of
    K - 1 or K weights.
    """
    K = steps(v)
    need(upto is None or (n == symbol("k") and upto in (K - ONE, K)), "k < K")
    size = whole(weights, n if upto is None else upto)
    return (
        *(moment("root", total(v, n, weights)), "<="),
        moment("root", v).replace(steps="max") * size,
    )


@rule("unbiased")
def martingale(stated, fact, n, weights):
    """sq(sum_{j<n} c(n-j) V_j) <= (sum of squared weights) v if sq(V_j) <= v."""
    left = single(fact.left, ("sq",))
    constant = all(m.kind == "one" and "k" not in c.names for m, c in fact.right.terms)
    need(constant and noise(left.vec) and not left.steps + left.rounds, "no noise")
    summed = moment("sq", total(left.vec, n, weights))
    return summed, "<=", fact.right * squares(weights, n)


@rule("")
def square(stated, fact, weights=None):
    """root(U) <= sum_j c_j r_j gives sq(U) <= sum_j c_j^2 r_j^2/w_j, sum_j w_j <= 1."""
    single(fact.left, ("root",))
    shares = (
        Linear([(m, ONE) for m, _ in fact.right.terms]) if weights is None else weights
    )
    left_over, right = ONE, Linear()
    for m, c in fact.right.terms:
        need(m.kind in ("root", "one"), "roots only")
        share = shares.get(m)
        kind = "one" if m.kind == "one" else "sq"
        right = right + Linear([(m._replace(kind=kind), c * c / share)])
    for _, share in shares.terms:
        DEMANDS.append((share, ">"))
        left_over = left_over - share
    DEMANDS.append((left_over, ">="))
    return fact.left.replace(kind="sq"), "<=", right


@rule("")
def take_root(stated, fact):
    """sq(U) <= sum_j c_j r_j^2 gives root(U) <= sum_j c_j^(1/2) r_j."""
    single(fact.left, ("sq",))
    right = Linear()
    for m, c in fact.right.terms:
        need(m.kind in ("sq", "one"), "squares only")
        new = m._replace(kind="one" if m.kind == "one" else "root")
        size = stated[2].get(new)
        DEMANDS.append((size, ">="))
        need(size * size == c, "not the root of the coefficient")
        right = right + Linear([(new, size)])
    return fact.left.replace(kind="root"), "<=", right


@rule("")
def combine(stated, *pairs):
    """sum_j c_j (l_j - r_j) <= 0 for c_j >= 0 gives L <= R where R - L exceeds the sum
    of c_j (r_j - l_j) by squares, roots and constants of coefficients >= 0.
    """
    left, relation, right = stated
    rest = right - left
    for fact, c in pairs:
        if not fact.equal:
            DEMANDS.append((c, ">="))
        rest = rest - (fact.right - fact.left) * c
    if relation == "==":
        need(not rest.terms and all(f.equal for f, _ in pairs), "not equal")
    constants = number(0)
    for m, c in rest.terms:
        need(m.kind in ("sq", "root", "root_w", "one"), "a moment without a sign")
        if m.kind == "one":
            constants = constants + c
        else:
            DEMANDS.append((c, ">="))
    DEMANDS.append((constants, ">="))
    return stated


def over(form, fact, **where):
    """Moments over all steps or rounds; coefficients that depend on k by their mean."""
    result = Linear()
    for m, c in form.terms:
        varies = free(m) if "steps" in where else m.kind != "one"
        need(m.kind != "value" and not (varies and m.rounds), "nothing to average")
        if "k" in c.names:
            need(
                not varies and where == {"steps": "mean"}, "has no mean over the steps"
            )
            c = mean_over_steps(c, fact.phases)
        need("steps" in where or not free(m), "still depends on the step")
        result = result + Linear([(m._replace(**where) if varies else m, c)])
    return result


def mean_over_steps(c, phases):
    """(1/K) sum_{k<K} c(k) for a polynomial of degree at most 2 in k."""
    K = symbol(PHASES[next(iter(phases), "")][0])
    half, sixth = number(Fraction(1, 2)), number(Fraction(1, 6))
    means = [ONE, (K - ONE) * half, (K - ONE) * (K + K - ONE) * sixth]
    top = number(0)
    for key, value in c.top.items():
        rest = {tuple(x for x in key if x[0] != "k"): value}
        degree = dict(key).get("k", 0)
        need(degree in (0, 1, 2), "a power of k without a mean")
        top = top + Quotient(rest) * means[int(degree)]
    result = top * Quotient({(): Fraction(1)}, c.bottom)
    need("k" not in result.names, "k in a denominator or a power")
    return result


@rule("")
def average(stated, fact, index):
    """The mean over the steps or the rounds of an inequality between squares; for roots
    Minkowski's inequality.
    """
    where = {"k": {"steps": "mean"}, "t": {"rounds": "mean"}}[index]
    terms = [*fact.left.terms, *fact.right.terms]
    if any(m.kind in ("root", "root_w") for m, _ in terms):
        return normed(fact, ("root", "root_w"), where)
    relation = "==" if fact.equal else "<="
    return over(fact.left, fact, **where), relation, over(fact.right, fact, **where)


@rule("")
def largest(stated, fact):
    """The largest over the steps of a root or a square."""
    squared = any(m.kind == "sq" for m, _ in fact.left.terms)
    return normed(fact, ("sq",) if squared else ("root", "root_w"), {"steps": "max"})


def normed(fact, kinds, where):
    """A norm over the steps or the rounds of both sides."""
    need(free(single(fact.left, kinds)) or "rounds" in where, "no step to range over")
    for m, c in fact.right.terms:
        need(m.kind in (*kinds, "one") and "k" not in c.names, "another kind of moment")
        DEMANDS.append((c, ">="))
    return over(fact.left, fact, **where), "<=", over(fact.right, fact, **where)


def recursion(fact):
    """root[next](U) <= p root(U) + rest with 0 <= p < 1: U now, p and the rest."""
    after = single(fact.left, ("root", "root_w"))
    now = after._replace(rounds="")
    need(after.rounds == "next" and not free(now), "no recursion over the rounds")
    p = fact.right.get(now)
    rest = Linear([(m, c) for m, c in fact.right.terms if m != now])
    for m, c in rest.terms:
        good = m.kind in ("root", "root_w", "one") and not m.rounds and not free(m)
        need(good and "k" not in c.names, "the rest is no root of this round")
        DEMANDS.append((c, ">="))
    DEMANDS.extend([(p, ">="), (ONE - p, ">")])
    return now, p, rest


@rule("")
def convolution(stated, fact):
    """root[next](U) <= p root(U) + sum_j c_j b_j gives root[mean t](U) <=
    root[start](U)/(T (1 - p^2))^(1/2) + sum_j c_j b_j[mean t]/(1 - p).
    """
    now, p, rest = recursion(fact)
    begin = now._replace(rounds="start")
    size = stated[2].get(begin)
    need(size * size * symbol("T") * (ONE - p * p) == ONE, "not the root")
    DEMANDS.append((size, ">="))
    right = Linear([(begin, size)])
    right = right + over(rest, fact, rounds="mean") / (ONE - p)
    return Linear([(now._replace(rounds="mean"), ONE)]), "<=", right


@rule("")
def invariant(stated, fact, start):
    """root[next](U) <= p root(U) + c and root[start](U) <= 0 give root(U) <= c/(1-p)."""
    now, p, rest = recursion(fact)
    begin = single(start.left, ("root", "root_w"))
    need(begin == now._replace(rounds="start") and not start.right.terms, "the start")
    need(all(m.kind == "one" for m, _ in rest.terms), "the recursion adds constants")
    return Linear([(now, ONE)]), "<=", rest / (ONE - p)


@rule("below, mean kept")
def telescope(stated, fact):
    """E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t.
    """
    w = proof.algorithm["mean_model"]
    full(w)
    first = Linear([(a, c) for a, c in w.terms if a.name != "dual"])
    x = atom("x")
    u, v = (x.replace(block=name) for name in "uv")
    starts = (mean(u) + v,) if proof.shared else (mean(x), atom("xbar", mean=True))
    after = following(w)
    need(known(w, "", "v") and first in starts and after != w, "no mean model")
    need(fact.left == moment("value", after) - moment("value", w), "not a descent")
    gap = moment("one", "f") * (quantity("f0_gap") / symbol("T"))
    return Linear(), "<=", over(fact.right, fact, rounds="mean") + gap


# -- the lines of a file


class Proof:
    """What a file has declared and proved so far."""

    def __init__(self):
        self.claim, self.region, self.names = "", Region(), {}
        self.assumed, self.used = {}, set()
        self.algorithm, self.shared, self.weights = {}, "", {}
        plain = dict.fromkeys(("at", "before", "squared"), "-")
        self.weights["1"] = {"total": "count", "squares": "count", **plain}
        self.coordinates, self.definitions, self.conditions = {}, {}, {}
        self.terms, self.schedule, self.parent = {}, {}, None
        self.left, self.proved = None, []

    # -- expressions

    def evaluate(self, source, **own):
        """The value of an expression."""
        return self.value(ast.parse(source.strip(), mode="eval").body, own)

    def value(self, node, own):
        """The value of a node of Python's syntax tree."""
        if isinstance(node, ast.Constant):
            return number(node.value) if type(node.value) is int else node.value
        if isinstance(node, ast.Name):
            return self.named(node.id, own)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand, own)
        if isinstance(node, ast.BinOp):
            return self.operation(node, own)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(x, own) for x in node.elts)
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            parts = [self.value(m, own) * self.value(c, own) for m, c in pairs]
            return Linear([term for p in parts for term in p.terms])
        need(isinstance(node, ast.Call), "an expression that has no meaning here")
        arguments = [self.value(x, own) for x in node.args]
        return self.call(node.func.id, arguments)

    def divided(self, left, node, own):
        """A quotient by a product, one factor after the other."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.divided(self.divided(left, node.left, own), node.right, own)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = self.value(node.right, own)
            if exponent == number(2):
                return self.divided(self.divided(left, node.left, own), node.left, own)
        return left / self.value(node, own)

    def operation(self, node, own):
        """A sum, product, quotient or power."""
        if isinstance(node.op, ast.Div):
            return self.divided(self.value(node.left, own), node.right, own)
        left, right = self.value(node.left, own), self.value(node.right, own)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return right * left if type(right) is Linear else left * right
        need(isinstance(node.op, ast.Pow), "an operation that has no meaning here")
        return power(left, right)

    def named(self, name, own):
        """A name: of an argument, a declaration, a vector or a symbol."""
        if name in own:
            return own[name]
        if name in self.names:
            value = self.names[name]
            return self.evaluate(value) if type(value) is Formula else value
        if name in self.algorithm:
            return self.algorithm[name]
        if name in ("x", "dual"):
            return atom(name)
        if name in ("g", "n", "e", "ehat"):
            return atom(name, "k")
        if name == "xbar":
            return atom("xbar", mean=True)
        need(name in SYMBOLS or name in self.region.ranges, f"{name} is not declared")
        need(name != "K" or not self.shared, "K of a model of two blocks")
        return symbol(name)

    def call(self, name, arguments):
        """A moment, a moment over steps or rounds, or a vector."""
        if name in ("sq", "root", "root_w", "inner", "value"):
            atoms = [a for v in arguments for a, _ in v.terms]
            need(all(type(a) is Atom for a in atoms), "a moment is one of vectors")
            need(len(arguments) == 1 + (name == "inner"), "wrong number of vectors")
            return moment(name, *arguments)
        if name == "one":
            return moment("one", str(arguments[0]))
        if name in PLACES:
            return arguments[0].replace(**PLACES[name])
        need(name in FUNCTIONS, f"there is no function {name}")
        return FUNCTIONS[name](*arguments)

    def inequality(self, source, own=None):
        """left, relation, right."""
        node = ast.parse(source.strip(), mode="eval").body
        need(isinstance(node, ast.Compare) and len(node.ops) == 1, "no inequality")
        relation = {ast.LtE: "<=", ast.Eq: "=="}.get(type(node.ops[0]))
        need(relation, "only <= and ==")
        sides = (self.value(x, own or {}) for x in (node.left, node.comparators[0]))
        left, right = sides
        return left, relation, right

    # -- lines

    def line(self, source):
        """One line: declare or check."""
        word, _, rest = source.partition(" ")
        if hasattr(self, f"line_{word}"):
            getattr(self, f"line_{word}")(*rest.split(" | "))
        else:
            self.step(word, rest.removeprefix("= "))
        self.flush()

    def flush(self):
        """Show everything that expressions and rules demanded."""
        done = set()
        while DEMANDS:
            quotient, relation = DEMANDS.pop()
            key = (polynomials.text(quotient), relation)
            if key not in done:
                done.add(key)
                holds = self.region.holds(quotient, relation)
                need(holds, f"not shown: {shown(quotient)} {relation} 0")

    def declare(self, name, value):
        """Give a new name to a value."""
        taken = name in SYMBOLS or name in FUNCTIONS or name in RESERVED
        need(name.isidentifier() and not taken, f"{name} is taken")
        need(name not in self.names, f"{name} is declared twice")
        self.names[name] = value

    def step(self, name, source):
        """A vector, or a fact ``rule(arguments) |- left <= right``."""
        call, bar, claim = source.partition(" |- ")
        if not bar:
            value = self.evaluate(source)
            need(type(value) is Linear, "not a vector")
            return self.declare(name, value)
        node = ast.parse(call.strip(), mode="eval").body
        need(isinstance(node, ast.Call), "a fact is made by a rule")
        arguments = [self.value(x, {}) for x in node.args]
        left, relation, right = self.inequality(claim)
        left, right = linear(left), linear(right)
        own = self.apply(node.func.id, arguments, (left, relation, right))
        same = own[0] == left and own[1] == relation and own[2] == right
        need(same, "the rule says something else")
        self.declare(name, self.fact(left, relation, right, arguments))

    def apply(self, name, arguments, stated):
        """What a rule says of its arguments."""
        need(name in SCHEMAS or name in RULES, f"there is no rule {name}")
        hypotheses = (SCHEMAS.get(name) or RULES[name])[0]
        wanted = {h for h in hypotheses.split(", ") if h}
        need(wanted <= set(self.assumed), f"uses what is not assumed: {hypotheses}")
        self.used |= wanted
        if name in RULES:
            left, relation, right = RULES[name][1](stated, *arguments)
            return left, relation, right
        _, parameters, says, *sides = SCHEMAS[name]
        own = dict(zip(parameters.split(), arguments, strict=True))
        left, relation, right = self.inequality(says, own)
        for side in sides:
            need(self.side(side, own), f"not so: {side}")
        return linear(left), relation, linear(right)

    def side(self, source, own):
        """Are all side conditions met?"""
        node = ast.parse(f"({source},)", mode="eval").body
        for part in node.elts:
            if isinstance(part, ast.Compare):
                left, right = part.left, part.comparators[0]
                if self.value(left, own) != self.value(right, own):
                    return False
            elif self.value(part, own) is not True:
                return False
        return True

    def fact(self, left, relation, right, arguments):
        """A new fact, about one step k at most."""
        terms = [*left.terms, *right.terms]
        vectors = [v for m, _ in terms if not m.steps for v in (m.vec, m.other)]
        phases = {phase(v) for v in vectors if type(v) is Linear} - {None}
        if any("k" in c.names for _, c in terms):
            for premise in premises(arguments):
                phases |= premise.phases
        need(len(phases) <= 1, "the step k of a fact is of one phase")
        return Fact(left, right, relation == "==", frozenset(phases))

    # -- declarations

    def line_claim(self, name):
        """The name of the statement."""
        self.claim = name

    def line_assume(self, hypothesis, words):
        """A hypothesis, and the statement's words for it."""
        self.assumed[hypothesis] = words

    def line_condition(self, name, source):
        """An inequality that holds in the region."""
        need(" <= " in source and name not in self.conditions, "no new inequality")
        self.conditions[name] = source

    def line_coordinate(self, source, *ends):
        """A new quantity, with its range; or the range of a total of weights."""
        name, _, means = source.partition(" = ")
        value, strict = self.evaluate(means), ends[0] == "> 0"
        totals = [w["at"] for w in self.weights.values()]
        if name in totals:
            own = next(w for w in self.weights.values() if w["at"] == name)
            need(value == self.evaluate(own["total"], count=symbol("K")), "another sum")
            strict = self.region.ranges[name][2]
        else:
            need(name not in self.names and name not in SYMBOLS, f"{name} is taken")
            DEMANDS.append((value, ">" if strict else ">="))
        high = Fraction(ends[1].removeprefix("<= ")) if len(ends) > 1 else None
        if high is not None:
            DEMANDS.append((number(high) - value, ">="))
            need(high > 0, "an empty range")
        self.flush()
        self.coordinates[name] = value
        self.region.ranges[name] = (0, high, strict, high is None)

    def line_value(self, source):
        """A symbol, or a power of one, in terms of the coordinates."""
        name, _, formula = source.partition(" = ")
        old = self.evaluate(name)
        means = self.evaluate(formula, **self.coordinates)
        if means != old:
            DEMANDS.extend([(means - old, ">="), (old - means, ">=")])
            self.flush()
        (((own, degree),), one), *more = old.top.items()
        need(not more and one == degree == 1 and not old.bottom, "no symbol")
        new = self.evaluate(formula)
        if own in polynomials.POWERS:
            polynomials.POWER_VALUES[own] = new
        else:
            need(own in SYMBOLS and own not in self.names, f"{own} has a value")
            self.names[own] = new

    def line_weights(self, name, weight, *sums):
        """Weights of a sum over steps, and the closed forms of their sums."""
        at = dict(
            zip(("total", "squares", "at", "before", "squared"), sums, strict=True)
        )
        for form, term in (("total", weight), ("squares", f"({weight})**2")):
            start, now, later = (
                self.evaluate(at[form], count=n)
                for n in (number(0), symbol("count"), symbol("count") + ONE)
            )
            step = self.evaluate(term, lag=symbol("count") + ONE)
            need(not start.top and later - now == step, f"{form} is no sum")
        DEMANDS.append((self.evaluate(weight), ">="))
        self.flush()
        positive = self.region.holds(self.evaluate(weight, lag=ONE), ">")
        for key in ("at", "before", "squared"):
            if at[key].isidentifier():
                taken = at[key] in SYMBOLS or at[key] in self.names
                need(not taken and at[key] not in RESERVED, f"{at[key]} is taken")
                strict = positive and key == "at"
                self.region.ranges[at[key]] = (0, None, strict, True)
        self.weights[name] = {**at, "weight": weight}
        self.declare(name, name)
        meaning = self.meanings(name)
        if at["squared"] != "-":
            given = self.evaluate(at["squared"], **meaning)
            need(given == self.evaluate(at["squares"], count=symbol("K")), "squares")

    def meanings(self, name):
        """The symbols of weights in closed form."""
        at, K = self.weights[name], symbol("K")
        pairs = [("at", "total", K), ("before", "total", K - ONE)]
        if at["squared"].isidentifier():
            pairs.append(("squared", "squares", K))
        return {at[key]: self.evaluate(at[f], count=n) for key, f, n in pairs}

    def line_define(self, source, used=None):
        """An abbreviation of the statement, and an equal expression to be used."""
        name, _, formula = source.partition(" = ")
        if used is not None:
            closed = {}
            for weights in self.weights:
                if weights != "1":
                    closed |= self.meanings(weights)
            value = self.evaluate(formula, **closed)
            need(self.evaluate(used, **closed) == value, f"{name}: not the same")
        self.definitions[name] = (formula, used)
        if used != name:
            self.declare(name, Formula(formula if used is None else used))

    def line_algorithm(self, source):
        """An update of the algorithm."""
        name, _, formula = source.partition(" = ")
        need(name in UPDATES and name not in self.algorithm, f"{name} is no update")
        self.algorithm[name] = self.evaluate(formula)
        self.shared = "u" if "kept" in self.algorithm else ""

    def line_left(self, source):
        """The left-hand side of the statement."""
        self.left = self.evaluate(source)

    def line_term(self, source):
        """A term of the bound."""
        name, _, formula = source.partition(" = ")
        self.terms[name] = formula

    def line_hint(self, *pairs):
        """Factors of conditions; their sum is used to show later inequalities."""
        products = []
        for factor, name in (pair.split(" times ") for pair in pairs):
            left, right = map(self.evaluate, self.conditions[name].split(" <= "))
            products.append((self.evaluate(factor), right - left))
        need(self.region.add_hint(products), "a factor may be negative")

    def line_prove(self, name):
        """The fact that gives the statement."""
        fact = self.names[name]
        need(type(fact) is Fact and fact.left == self.left, "another left-hand side")
        rest = number(0)
        for formula in self.terms.values():
            rest = rest + self.evaluate(formula)
        for m, c in fact.right.terms:
            need(m.kind == "one", "the bound is not a constant")
            rest = rest - c
        DEMANDS.append((rest, ">="))
        self.flush()
        self.proved = [self.claim]

    # -- a corollary: other step sizes, or larger constants

    def line_corollary(self, name):
        """The statements that follow are those of a corollary."""
        self.parent = (self.conditions, self.definitions, self.terms)
        need(self.proved, "nothing is proved yet")
        self.conditions, self.definitions, self.terms = {}, {}, {}
        self.claim, self.coordinates = name, {}
        symbols = {w["at"] for w in self.weights.values()}
        symbols |= {key for w in self.weights.values() for key in w.values()}
        kept = {n: r for n, r in self.region.ranges.items() if n in symbols}
        self.region = Region({n: (0, None, *r[2:3], True) for n, r in kept.items()})
        self.names = {w: w for w in self.weights if w != "1"}
        polynomials.POWER_VALUES.clear()

    def line_schedule(self, source):
        """A step size of the corollary, in its range."""
        name, _, formula = source.partition(" = ")
        low, high, strict, _ = SYMBOLS[name]
        value = self.evaluate(formula)
        need(low == 0 and high is None, f"{name} has no schedule")
        DEMANDS.append((value, ">" if strict else ">="))
        self.schedule[name] = value

    def line_follows(self, _=""):
        """The parent's conditions hold, and its bound is at most the corollary's."""
        conditions, definitions, terms = self.parent
        own = dict(self.schedule)
        for name, (formula, used) in definitions.items():
            moved = {
                n.id for n in ast.walk(ast.parse(formula)) if isinstance(n, ast.Name)
            }
            fixed = used is not None and not moved & (set(own) | set(definitions))
            own[name] = self.evaluate(used if fixed else formula, **own)
        for source in conditions.values():
            left, right = (self.evaluate(side, **own) for side in source.split(" <= "))
            DEMANDS.append((right - left, ">="))
        pairs = [(self.evaluate(f), terms.get(n)) for n, f in self.terms.items()]
        differences = [mine - self.evaluate(f or "0", **own) for mine, f in pairs]
        if set(terms) != set(self.terms):
            rest = number(0)
            for formula in terms.values():
                rest = rest - self.evaluate(formula, **own)
            differences = [sum((mine for mine, _ in pairs), start=rest)]
        DEMANDS.extend((rest, ">=") for rest in differences)
        self.flush()
        self.proved.append(self.claim)


def linear(value):
    """A linear combination; 0 is one, too."""
    if type(value) is Quotient and not value.top:
        return Linear()
    need(type(value) is Linear, "not a linear combination")
    return value


def premises(arguments):
    """The facts among the arguments of a rule."""
    for given in arguments:
        if type(given) is Fact:
            yield given
        elif type(given) is tuple:
            yield from premises(given)


def shown(quotient):
    """A short text of a quotient."""
    return polynomials.text(quotient)[:300]


PLACES = {
    "max_k": {"steps": "max"},
    "mean_k": {"steps": "mean"},
    "mean_t": {"rounds": "mean"},
    "next_t": {"rounds": "next"},
    "start_t": {"rounds": "start"},
}
FUNCTIONS = {
    "mean": mean,
    "sum": total,
    "pushed": lambda v: v.replace(pushed=True),
    "block": lambda name, v: v.replace(block=name),
    "grad": lambda *of: gradient(*of),
    "full": full,
    "steps": steps,
    "block_of": block_of,
    "noise": noise,
    "not_mean": lambda v: not any(a.mean for a, _ in v.terms),
    "known": known,
    "noise_size": lambda v: quantity(PHASES[block_of(v)][2]),
    "sam_size": lambda: quantity(PHASES[proof.shared][1]) * quantity("rho"),
    "diversity_size": lambda: quantity(PHASES[proof.shared][3]),
    "diversity_at": diversity_at,
    "smoothness": lambda d: quantity(PHASES[block_of(d)][1]),
    "steepness": steepness,
    "slope": slope,
    "is_sam": is_sam,
    "shared_dev": shared_dev,
    "moved": moved,
    "following": following,
    "dual_part": dual_part,
}
UPDATES = ("local", "sent", "mean_model", "dual_after", "gossips", "personal", "kept")
RESERVED = {"x", "dual", "xbar", "g", "n", "e", "ehat", "sq", "root", "root_w"}
RESERVED |= {"inner", "value", "one", *PLACES, *UPDATES}
proof = Proof()


def check(source):
    """Check the lines of a file, and return what they prove."""
    global proof
    proof = Proof()
    for table in (DEMANDS, polynomials.POWERS, polynomials.ROOTS):
        table.clear()
    polynomials.POWER_VALUES.clear()
    for place, line in enumerate(source.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                proof.line(line)
            except Exception as error:
                raise Wrong(f"line {place}: {error}: {line[:200]}") from error
    need(proof.proved and proof.proved[-1] == proof.claim, "the claim is not proved")
    return proof


def main(arguments):
    """Check a file."""
    if len(arguments) != 2:
        print("usage: python check_proof.py FILE", file=sys.stderr)
        return 2
    try:
        found = check(Path(arguments[1]).read_text(encoding="utf-8"))
    except Wrong as error:
        print(f"not proved: {error}")
        return 1
    print("proved:", ", ".join(found.proved))
    for hypothesis in sorted(found.used):
        print(f"  from {hypothesis}: {found.assumed[hypothesis]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
