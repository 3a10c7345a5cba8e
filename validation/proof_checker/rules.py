"""The rules that take facts, or any number of arguments: inequalities from textbooks.

The functions under ``@rule`` return what the rule says, given what the line of the
proof states. The other rules are in ``schemas``.
"""

from fractions import Fraction

import current
from linear import (
    PHASES,
    Linear,
    atom,
    block_of,
    following,
    free,
    full,
    gradient,
    known,
    mean,
    moment,
    noise,
    squares,
    steps,
    total,
    whole,
)
from polynomials import DEMANDS, Quotient, need, number, power, symbol

ONE = number(1)
HALF = number(Fraction(1, 2))


def quantity(name):
    """Return a quantity of the statement."""
    return current.proof.named(name, {})


def steepness(u, v, name):
    """Return L_b, or chi (L_b L_c)^(1/2).

    The latter is for gradients in block b at points that differ in c.
    """
    here = quantity(PHASES[current.proof.shared if name is None else name][1])
    there = quantity(PHASES[block_of(u - v)][1])
    if here == there:
        return here
    return quantity("chi") * power(here * there, number(Fraction(1, 2)))


def slope(u, d):
    """Return grad f_i in the block of D; grad f where D is the same at all clients."""
    g = gradient(u, block_of(d))
    common = all(a.mean and not a.pushed for a, _ in d.terms)
    return mean(g) if common else g


def is_sam(u):
    """Return whether u is what SAM adds, its conditional mean, or their difference."""
    e, ehat = (atom(a, "k").replace(block=current.proof.shared) for a in ("e", "ehat"))
    return u in (e, ehat, e - ehat)


def shared_dev():
    """Return x - mean x in the block that the network mixes."""
    x = atom("x").replace(block=current.proof.shared)
    return x - mean(x)


def diversity_at(u):
    """Return whether the diversity of the gradients is assumed at this point."""
    x = atom("x").replace(block="u")
    return not current.proof.shared or u == mean(x) + current.proof.algorithm["kept"]


def dual_part(u):
    """Return whether u is the dual, its mean, or the rest.

    False for algorithms without a dual.
    """
    dual = atom("dual")
    return "dual_after" in current.proof.algorithm and u in (
        dual,
        mean(dual),
        dual - mean(dual),
    )


RULES = {}


def rule(hypotheses):
    """Register a rule with premises or with any number of arguments."""

    def keep(function):
        RULES[function.__name__] = (hypotheses, function)
        return function

    return keep


def single(form, kinds):
    """Return the moment that is alone on the left-hand side."""
    need(len(form.terms) == 1 and form.terms[0][1] == ONE, "one moment on the left")
    need(form.terms[0][0].kind in kinds, "another kind of moment on the left")
    return form.terms[0][0]


@rule("")
def minkowski(stated, *parts):
    """root(sum_j c_j U_j) <= sum_j |c_j| root(U_j)."""
    whole_sum, right = Linear(), Linear()
    for c, v in parts:
        size = c if current.proof.region.holds(c, ">=") else -c
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
    """Bound the root of a sum over steps by the largest root.

    root(sum_{j<n} c(n-j) U_j) <= (sum of n weights) root[max k](U); for n = k of K - 1
    or K weights.
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
    """Add inequalities with multipliers c_j >= 0.

    sum_j c_j (l_j - r_j) <= 0 for c_j >= 0 gives L <= R where R - L exceeds the sum of
    c_j (r_j - l_j) by squares, roots and constants of coefficients >= 0.
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
    """Return the mean over the steps or the rounds of an inequality between squares.

    For roots it is Minkowski's inequality.
    """
    where = {"k": {"steps": "mean"}, "t": {"rounds": "mean"}}[index]
    terms = [*fact.left.terms, *fact.right.terms]
    if any(m.kind in ("root", "root_w") for m, _ in terms):
        return normed(fact, ("root", "root_w"), where)
    relation = "==" if fact.equal else "<="
    return over(fact.left, fact, **where), relation, over(fact.right, fact, **where)


@rule("")
def largest(stated, fact):
    """Return the largest over the steps of a root or a square."""
    squared = any(m.kind == "sq" for m, _ in fact.left.terms)
    return normed(fact, ("sq",) if squared else ("root", "root_w"), {"steps": "max"})


def normed(fact, kinds, where):
    """Return a norm over the steps or the rounds of both sides."""
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
        need(good and "k" not in c.names, "the rest is not a root of this round")
        DEMANDS.append((c, ">="))
    DEMANDS.extend([(p, ">="), (ONE - p, ">")])
    return now, p, rest


@rule("")
def convolution(stated, fact):
    """Bound the mean over the rounds of a recursion between roots.

    root[next](U) <= p root(U) + sum_j c_j b_j gives root[mean t](U) <=
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
    """Bound a recursion between roots that starts at 0 and adds a constant.

    root[next](U) <= p root(U) + c and root[start](U) <= 0 give root(U) <= c/(1 - p).
    """
    now, p, rest = recursion(fact)
    begin = single(start.left, ("root", "root_w"))
    need(begin == now._replace(rounds="start") and not start.right.terms, "the start")
    need(all(m.kind == "one" for m, _ in rest.terms), "the recursion adds constants")
    return Linear([(now, ONE)]), "<=", rest / (ONE - p)


@rule("below, mean kept")
def telescope(stated, fact):
    """Sum up the change of E f(w^t) over the rounds.

    E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t.
    """
    w = current.proof.algorithm["mean_model"]
    full(w)
    first = Linear([(a, c) for a, c in w.terms if a.name != "dual"])
    x = atom("x")
    u, v = (x.replace(block=name) for name in "uv")
    starts = (
        (mean(u) + v,) if current.proof.shared else (mean(x), atom("xbar", mean=True))
    )
    after = following(w)
    need(known(w, "", "v") and first in starts and after != w, "no mean model")
    need(fact.left == moment("value", after) - moment("value", w), "not a descent")
    roots = [m for m, _ in fact.right.terms if m.kind in ("root", "root_w")]
    need(not roots, "roots have no mean over the rounds here")
    gap = moment("one", "f") * (quantity("f0_gap") / symbol("T"))
    return Linear(), "<=", over(fact.right, fact, rounds="mean") + gap
