"""Rules of order: sums of inequalities, means, squares and roots of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import sympy as sp

from dfltheory.bounds.real_numbers import real_expression
from dfltheory.bounds.units import Expr
from dfltheory.proofs.averages import over_all
from dfltheory.proofs.facts import Fact, rule, single_moment, young_weights
from dfltheory.proofs.moments import (
    Conclusion,
    Demand,
    Form,
    Moment,
    RuleError,
    combination,
    form,
    form_text,
    k,
    need,
    one,
    upper_bound,
)

_ORDER = "an ordered vector space"


@rule("the mean of inequalities; for roots Minkowski's inequality in L^2")
def average(fact: Fact, index: str) -> Conclusion:
    """Take the mean of an inequality over the steps or the rounds.

    The index is k or t; the mean over the rounds is taken after that over the steps.
    Squares and products: the mean of each term; a coefficient with k must be a
    polynomial, of a moment without k, and its mean is taken. Roots: root(U) <= sum_j
    c_j r_j, with c_j >= 0 without k, gives root[mean](U) <= sum_j c_j r_j[mean].
    """
    need(index in ("k", "t"), "index = {} must be k or t", index)
    where = {"steps": "mean"} if index == "k" else {"rounds": "mean"}
    if any(m.kind == "root" for m in (*fact.left, *fact.right)):
        return _norm_over(fact, "root", where)
    left = over_all(fact.left, fact.phases, **where)
    right = over_all(fact.right, fact.phases, **where)
    return Conclusion(left, right, equal=fact.equal)


@rule("the largest of finitely many numbers")
def largest(fact: Fact) -> Conclusion:
    """Take the largest over the steps.

    root(U_k) <= sum_j c_j r_j at every step, with c_j >= 0 without k, gives root[max
    k](U) <= sum_j c_j r_j[max k]; in the same way for squares. What does not depend on
    k stays.
    """
    squared = any(m.kind == "sq" for m in fact.left)
    return _norm_over(fact, "sq" if squared else "root", {"steps": "max"})


def _norm_over(fact: Fact, kind: str, where: dict[str, str]) -> Conclusion:
    """Bound the mean or the maximum of one moment by those of the right-hand side.

    The right-hand side is a sum of moments of this kind and constants, with
    coefficients that are not negative: a norm of it is at most the sum of the norms.
    """
    moment = single_moment(fact, kind)
    need(moment.free or "rounds" in where, "{} does not depend on the step", moment)
    signs = []
    for m, c in fact.right.items():
        need(
            m.kind in (kind, "one") and k not in c.free_symbols,
            "({}) {} must be a {} or a constant, with a coefficient without k",
            c,
            m,
            kind,
        )
        signs.append(Demand(c, "a coefficient"))
    left = over_all(fact.left, set(), **where)
    right = over_all(fact.right, set(), **where)
    return Conclusion(left, right, tuple(signs))


@rule(_ORDER)
def chain(fact: Fact, *others: Fact) -> Conclusion:
    """Replace moments on the right by bounds of them.

    Moments on the right of a fact replaced by bounds of them, one after the other; a
    coefficient must not be negative, save where the two are equal.
    """
    right = dict(fact.right)
    demands: list[Demand] = []
    for by in others:
        moment = next(iter(by.left), one(""))
        need(
            by.left == {moment: 1}, "the left-hand side must be a single moment: {}", by
        )
        if moment not in right:
            raise RuleError(
                f"the left-hand side {moment} does not occur on the right-hand side,"
                f" which is now {form_text(right)}"
            )
        coefficient = right.pop(moment)
        if not by.equal:
            why = f"replaces {moment} by a bound of it"
            demands.append(Demand(coefficient, why))
        right = form((right, 1), (by.right, coefficient))
    equal = all(f.equal for f in (fact, *others))
    return Conclusion(fact.left, right, tuple(demands), equal)


@rule(_ORDER)
def weaken(fact: Fact, new: Mapping[Moment, Expr]) -> Conclusion:
    """Enlarge coefficients on the right.

    The coefficients on the right are replaced by those of ``new``, which are at least
    as large (one that is absent on the right counts as 0), for moments that are not
    negative.
    """
    need(
        all(m.kind in ("sq", "root", "one") for m in new),
        "only squares, roots and constants are known to be nonnegative",
    )
    larger = {m: real_expression(c) for m, c in new.items()}
    demands = (
        Demand(c - fact.right.get(m, 0), f"enlarges the coefficient of {m}")
        for m, c in larger.items()
    )
    return Conclusion(fact.left, {**fact.right, **larger}, tuple(demands))


@rule(_ORDER)
def label(fact: Fact, name: str) -> Conclusion:
    """Collect the constants on the right under one name.

    Their coefficients are added, whatever their names were.
    """
    right = {m: c for m, c in fact.right.items() if m.kind != "one"}
    constants = [c for m, c in fact.right.items() if m.kind == "one"]
    right[one(name)] = sp.Add(*constants)
    return Conclusion(fact.left, right, equal=fact.equal)


@rule(_ORDER)
def add(weights: Iterable[Expr], *facts: Fact) -> Conclusion:
    """Add inequalities with weights that are not negative.

    From l_j <= r_j to sum_j c_j l_j <= sum_j c_j r_j, where no c_j is negative.
    """
    factors = [real_expression(weight) for weight in weights]
    need(len(factors) == len(facts), "{} facts need as many weights", len(facts))
    left, right, signs = [], [], []
    for c, fact in zip(factors, facts, strict=True):
        left.append((fact.left, c))
        right.append((fact.right, c))
        signs.append(Demand(c, "a weight of a fact"))
    return Conclusion(form(*left), form(*right), tuple(signs))


@rule(_ORDER)
def solve(
    fact: Fact, left: Form | None = None, times: Expr | None = None
) -> Conclusion:
    """Bring moments to the left-hand side.

    From l <= r to M <= M + c (r - l), c > 0. With ``times``, c = times, and M =
    ``left`` is any combination of moments. Without, M is one moment, that of ``left``
    or of l, and 1/c is its coefficient in l - r, so that M is only on the left.
    """
    given = fact.left if left is None else left
    wanted = {m: real_expression(c) for m, c in given.items()}
    rest = form((fact.right, 1), (fact.left, -1))
    if times is None:
        need(
            len(wanted) == 1,
            "without times, left must be one moment, not {}",
            form_text(wanted),
        )
        ((moment, number),) = wanted.items()
        need(
            number == 1 and moment in rest,
            "{} must have coefficient 1 and occur in {}",
            moment,
            fact,
        )
        share = -rest.pop(moment)
    else:
        share = 1 / real_expression(times)
        rest = form((rest, 1), (wanted, share))
    positive = Demand(share, f"divides by {share}", strict=True)
    return Conclusion(wanted, form((rest, 1 / share)), (positive,))


@rule(
    "Young's inequality, weighted (Cauchy-Schwarz): Hardy, Littlewood and Polya,"
    " Inequalities, 2.4"
)
def square(fact: Fact, weights: Mapping[Moment, Expr] | None = None) -> Conclusion:
    """Square an inequality of roots.

    root(U) <= sum_j c_j r_j gives sq(U) <= sum_j c_j^2 r_j^2/w_j for weights w_j > 0
    with sum at most 1. Without weights, the right-hand side must be one term.
    """
    moment = single_moment(fact, "root")
    need(
        weights is not None or len(fact.right) <= 1,
        f"square needs a weight for each of {', '.join(map(str, fact.right))}",
    )
    given = weights or dict.fromkeys(fact.right, sp.S.One)
    shares = {m: real_expression(w) for m, w in given.items()}
    need(
        set(fact.right) <= set(shares),
        f"each of {', '.join(map(str, fact.right))} needs a weight",
    )
    terms = []
    for m, c in fact.right.items():
        need(
            m.kind in ("root", "one"), "the right-hand side must be of roots: {}", fact
        )
        terms.append((c**2 / shares[m], _with_kind(m, "sq")))
    demands = young_weights(shares.values())
    return upper_bound(_with_kind(moment, "sq"), combination(*terms), demands)


def _with_kind(moment: Moment, kind: str) -> Moment:
    """Return the square of a root, or the root of a square; constants stay."""
    return moment if moment.kind == "one" else replace(moment, kind=kind)


@rule(
    "(a + b)^(1/2) <= a^(1/2) + b^(1/2): Hardy, Littlewood and Polya, Inequalities,"
    " 2.10"
)
def take_root(fact: Fact) -> Conclusion:
    """Take the root of an inequality of squares.

    sq(U) <= sum_j c_j r_j^2 gives root(U) <= sum_j c_j^(1/2) r_j.
    """
    moment = single_moment(fact, "sq")
    terms, signs = [], []
    for m, c in fact.right.items():
        need(
            m.kind in ("sq", "one"), "the right-hand side must be of squares: {}", fact
        )
        terms.append((sp.sqrt(c), _with_kind(m, "root")))
        signs.append(Demand(c, "a root of a coefficient"))
    right = combination(*terms)
    return upper_bound(_with_kind(moment, "root"), right, tuple(signs))


__all__ = [
    "add",
    "average",
    "chain",
    "label",
    "largest",
    "solve",
    "square",
    "take_root",
    "weaken",
]
