"""The rules about all local steps or all rounds: means, maxima and recursions."""

from fractions import Fraction

import current
from linear import (
    PHASES,
    Linear,
    atom_vector,
    following,
    free,
    full,
    known,
    mean,
    moment_of,
    update,
)
from polynomials import DEMANDS, Quotient, need, number, symbol
from rules import ONE, need_kind, quantity, rule, single


def over(side, fact, **where):
    """Moments over all steps or rounds; coefficients that depend on k by their mean."""
    result = Linear()
    for moment, c in side.terms:
        varies = free(moment) if "steps" in where else moment.kind != "one"
        need(moment.kind != "value", "value(...) has no mean in the rules")
        need(
            not (varies and moment.rounds),
            f"{moment.kind}(...) is about the rounds {moment.rounds!r} already",
        )
        if "k" in c.names:
            need(
                not varies and where == {"steps": "mean"},
                f"the coefficient of {moment.kind}(...) depends on k; only the mean"
                " over the steps of a term whose moment does not is defined",
            )
            c = mean_over_steps(c, fact.phases)
        need(
            "steps" in where or not free(moment),
            f"{moment.kind}(...) depends on the step k; take the mean or the largest"
            " over the steps first",
        )
        if varies:
            moment = moment._replace(**where)
        result = result + Linear([(moment, c)])
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
        need(
            degree in (0, 1, 2),
            f"a coefficient contains k**({degree}); only k and k**2 can be averaged",
        )
        top = top + Quotient(rest) * means[int(degree)]
    result = top * Quotient({(): Fraction(1)}, c.bottom)
    need(
        "k" not in result.names,
        "a coefficient has k in a denominator or an exponent; it cannot be averaged",
    )
    return result


@rule("")
def average(stated, fact, index):
    """Return the mean over the steps or the rounds of an inequality between squares.

    For roots it is Minkowski's inequality.
    """
    where = {"k": {"steps": "mean"}, "t": {"rounds": "mean"}}[index]
    terms = [*fact.left.terms, *fact.right.terms]
    if any(moment.kind in ("root", "root_w") for moment, _ in terms):
        return normed(fact, ("root", "root_w"), where)
    relation = "==" if fact.equal else "<="
    return over(fact.left, fact, **where), relation, over(fact.right, fact, **where)


@rule("")
def largest(stated, fact):
    """Return the largest over the steps of a root or a square."""
    squared = any(moment.kind == "sq" for moment, _ in fact.left.terms)
    return normed(fact, ("sq",) if squared else ("root", "root_w"), {"steps": "max"})


def normed(fact, kinds, where):
    """Return a norm over the steps or the rounds of both sides."""
    need(
        free(single(fact.left, kinds)) or "rounds" in where,
        "the left-hand side of the premise does not depend on the step k",
    )
    for moment, c in fact.right.terms:
        need_kind(moment, (*kinds, "one"))
        need("k" not in c.names, "a coefficient of the premise depends on k")
        DEMANDS.append((c, ">="))
    return over(fact.left, fact, **where), "<=", over(fact.right, fact, **where)


def recursion(fact):
    """root[next](U) <= p root(U) + rest with 0 <= p < 1: U now, p and the rest."""
    after = single(fact.left, ("root", "root_w"))
    now = after._replace(rounds="")
    need(
        after.rounds == "next" and not free(now),
        "the premise must be a recursion next_t(root(U)) <= p*root(U) + ..., with U"
        " independent of the step k",
    )
    p = fact.right.get(now)
    rest = Linear([(moment, c) for moment, c in fact.right.terms if moment != now])
    for moment, c in rest.terms:
        need_kind(moment, ("root", "root_w", "one"))
        need(
            not moment.rounds and not free(moment) and "k" not in c.names,
            f"a term {moment.kind}(...) of the recursion depends on the step k or is"
            " about another round",
        )
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
    need(
        size * size * symbol("T") * (ONE - p * p) == ONE,
        "the coefficient of the start must be 1/(T*(1 - p**2))**(1/2), with the"
        " recursion's factor p",
    )
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
    need(
        begin == now._replace(rounds="start") and not start.right.terms,
        "the second premise must be start_t(root(U)) <= 0 with the U of the recursion",
    )
    for moment, _ in rest.terms:
        need_kind(moment, ("one",))
    return Linear([(now, ONE)]), "<=", rest / (ONE - p)


@rule("below, mean kept")
def telescope(stated, fact):
    """Sum up the change of E f(w^t) over the rounds.

    E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t.
    """
    w = update("mean_model")
    full(w)
    without_dual = Linear([(atom, c) for atom, c in w.terms if atom.name != "dual"])
    x = atom_vector("x")
    starts = (mean(x), atom_vector("xbar", mean=True))
    if current.proof.shared:
        starts = (mean(x.replace(block="u")) + x.replace(block="v"),)
    after = following(w)
    need(
        known(w, "", "v") and without_dual in starts and after != w,
        "mean_model must be the mean of the models (x or xbar, with a multiple of the"
        " dual), and must change in a round",
    )
    need(
        fact.left == moment_of("value", after) - moment_of("value", w),
        "the left-hand side of the premise must be value(following(mean_model)) -"
        " value(mean_model)",
    )
    need(
        not any(moment.kind in ("root", "root_w") for moment, _ in fact.right.terms),
        "the right-hand side of the premise contains a root; replace roots by squares",
    )
    gap = moment_of("one", "f") * (quantity("f0_gap") / symbol("T"))
    return Linear(), "<=", over(fact.right, fact, rounds="mean") + gap
