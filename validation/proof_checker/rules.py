"""The rules that take facts, or any number of arguments: inequalities from textbooks.

The functions under ``@rule`` return what the rule says, given what the line of the
proof states. The other rules are in ``schemas``.
"""

from fractions import Fraction

import current
from linear import (
    PHASES,
    Linear,
    atom_vector,
    block_of,
    gradient,
    mean,
    moment_of,
    noise,
    squared_weight_sum,
    steps,
    update,
    weight_sum,
    weighted_sum,
)
from polynomials import DEMANDS, need, number, power, symbol

ONE = number(1)
HALF = number(Fraction(1, 2))


def quantity(name):
    """Return a quantity of the statement."""
    return current.proof.named(name, {})


def steepness(u, v, name):
    """Return L_b, or chi (L_b L_c)^(1/2).

    The latter is for gradients in block b at points that differ in c.
    """
    of_gradient = PHASES[current.proof.shared if name is None else name][1]
    of_points = PHASES[block_of(u - v)][1]
    if of_gradient == of_points:
        return quantity(of_gradient)
    return quantity("chi") * power(quantity(of_gradient) * quantity(of_points), HALF)


def slope(u, d):
    """Return grad f_i in the block of D; grad f where D is the same at all clients."""
    local_gradient = gradient(u, block_of(d))
    common = all(atom.mean and not atom.pushed for atom, _ in d.terms)
    return mean(local_gradient) if common else local_gradient


def is_sam(u):
    """Return whether u is what SAM adds, its conditional mean, or their difference."""
    block = current.proof.shared
    e = atom_vector("e", "k").replace(block=block)
    ehat = atom_vector("ehat", "k").replace(block=block)
    return u in (e, ehat, e - ehat)


def shared_dev():
    """Return x - mean x in the block that the network mixes."""
    x = atom_vector("x").replace(block=current.proof.shared)
    return x - mean(x)


def diversity_at(u):
    """Return whether the diversity of the gradients is assumed at this point."""
    x = atom_vector("x").replace(block="u")
    return not current.proof.shared or u == mean(x) + update("kept")


def dual_part(u):
    """Return whether u is the dual, its mean, or the rest.

    False for algorithms without a dual.
    """
    dual = atom_vector("dual")
    return "dual_after" in current.proof.algorithm and u in (
        dual,
        mean(dual),
        dual - mean(dual),
    )


RULES = {}


def rule(hypotheses):
    """Register a rule with premises or with any number of arguments."""

    def register(function):
        RULES[function.__name__] = (hypotheses, function)
        return function

    return register


def single(side, kinds):
    """Return the moment that is alone on the left-hand side of a premise."""
    need(
        len(side.terms) == 1 and side.terms[0][1] == ONE,
        "the left-hand side of the premise must be one moment with coefficient 1;"
        f" it has {len(side.terms)} moments",
    )
    (moment, _) = side.terms[0]
    need(
        moment.kind in kinds,
        f"the left-hand side of the premise is {moment.kind}(...); it must be"
        f" {' or '.join(kinds)}",
    )
    return moment


def need_kind(moment, kinds):
    """Reject a premise whose right-hand side has a moment of another kind."""
    need(
        moment.kind in kinds,
        f"the right-hand side of the premise contains {moment.kind}(...); allowed are"
        f" {', '.join(kinds)}",
    )


@rule("")
def minkowski(stated, *parts):
    """root(sum_j c_j U_j) <= sum_j |c_j| root(U_j)."""
    vector_sum, right = Linear(), Linear()
    for c, v in parts:
        size = c if current.proof.region.holds(c, ">=") else -c
        DEMANDS.append((size, ">="))
        vector_sum = vector_sum + v * c
        right = right + moment_of("root", v) * size
    return moment_of("root", vector_sum), "<=", right


@rule("")
def bilinear(stated, u, *parts):
    """<U, sum_j c_j V_j> = sum_j c_j <U, V_j>."""
    vector_sum, right = Linear(), Linear()
    for c, v in parts:
        vector_sum = vector_sum + v * c
        right = right + moment_of("inner", u, v) * c
    return moment_of("inner", u, vector_sum), "==", right


@rule("")
def steps_max(stated, v, n, weights, upto=None):
    """Bound the root of a sum over steps by the largest root.

    root(sum_{j<n} c(n-j) U_j) <= (sum of n weights) root[max k](U); for n = k of K - 1
    or K weights.
    """
    K = steps(v)
    need(
        upto is None or (n == symbol("k") and upto in (K - ONE, K)),
        "a fourth argument is allowed where the second is k; it must be K or K - 1",
    )
    size = weight_sum(weights, n if upto is None else upto)
    left = moment_of("root", weighted_sum(v, n, weights))
    return left, "<=", moment_of("root", v).replace(steps="max") * size


@rule("unbiased")
def martingale(stated, fact, n, weights):
    """sq(sum_{j<n} c(n-j) V_j) <= (sum of squared weights) v if sq(V_j) <= v."""
    left = single(fact.left, ("sq",))
    constant = all(
        moment.kind == "one" and "k" not in c.names for moment, c in fact.right.terms
    )
    need(
        constant and noise(left.vec) and not left.steps + left.rounds,
        "the premise must be sq(V) <= a constant, with V a noise of step k (a multiple"
        " of n or e - ehat)",
    )
    summed = moment_of("sq", weighted_sum(left.vec, n, weights))
    return summed, "<=", fact.right * squared_weight_sum(weights, n)


@rule("")
def square(stated, fact, weights=None):
    """root(U) <= sum_j c_j r_j gives sq(U) <= sum_j c_j^2 r_j^2/w_j, sum_j w_j <= 1."""
    single(fact.left, ("root",))
    equal_shares = Linear([(moment, ONE) for moment, _ in fact.right.terms])
    shares = equal_shares if weights is None else weights
    left_over, right = ONE, Linear()
    for moment, c in fact.right.terms:
        need_kind(moment, ("root", "one"))
        share = shares.get(moment)
        kind = "one" if moment.kind == "one" else "sq"
        right = right + Linear([(moment._replace(kind=kind), c * c / share)])
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
    for moment, c in fact.right.terms:
        need_kind(moment, ("sq", "one"))
        root = moment._replace(kind="one" if moment.kind == "one" else "root")
        size = stated[2].get(root)
        DEMANDS.append((size, ">="))
        need(
            size * size == c,
            f"the coefficient of a term {root.kind}(...) on the right-hand side is not"
            " the square root of its coefficient in the premise",
        )
        right = right + Linear([(root, size)])
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
        need(
            not rest.terms and all(fact.equal for fact, _ in pairs),
            "an equality must be exactly the sum of equalities; write <= instead of ==",
        )
    constants = number(0)
    for moment, c in rest.terms:
        need(
            moment.kind in ("sq", "root", "root_w", "one"),
            f"a moment {moment.kind}(...) is left over; only squares, roots and"
            " constants are known to be nonnegative",
        )
        if moment.kind == "one":
            constants = constants + c
        else:
            DEMANDS.append((c, ">="))
    DEMANDS.append((constants, ">="))
    return stated
