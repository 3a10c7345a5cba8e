"""Rules of order: sums of inequalities, means, squares and roots of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import sympy as sp

from dfltheory.bounds.real_numbers import expression
from dfltheory.bounds.units import Expr
from dfltheory.proofs.facts import Fact, over_all, rule, single_moment, young_weights
from dfltheory.proofs.moments import Claim, Demand, Form, Moment, form, k, need, one

_ORDER = "an ordered vector space"


@rule("the mean of inequalities; for roots Minkowski's inequality in L^2")
def average(fact: Fact, index: str) -> Claim:
    """Take the mean of an inequality over the steps or the rounds.

    The mean over the steps (index k) or the rounds (index t) of a fact about squares,
    or about one root whose coefficients do not depend on the index.
    """
    where = {"k": {"steps": "mean"}, "t": {"rounds": "mean"}}[index]
    if all(m.kind != "root" for m in (*fact.left, *fact.right)):
        left, right = (
            over_all(side, fact.phases, **where) for side in (fact.left, fact.right)
        )
        return Claim(left, right, equal=fact.equal)
    return _normed(fact, "root", where)


@rule("the largest of finitely many numbers")
def largest(fact: Fact) -> Claim:
    """Take the largest over the steps.

    The largest over the steps of one root or square, from a fact of this kind that
    holds at every step.
    """
    squared = any(m.kind == "sq" for m in fact.left)
    return _normed(fact, "sq" if squared else "root", {"steps": "max"})


def _normed(fact: Fact, kind: str, where: dict[str, str]) -> Claim:
    left, right = single_moment(fact, kind), fact.right
    need(left.free or "rounds" in where, "{} does not depend on the step", left)
    for m, c in right.items():
        need(
            m.kind in (kind, "one") and k not in c.free_symbols,
            "({}) {} must be a {} or a constant, with a coefficient without k",
            c,
            m,
            kind,
        )
    signs = tuple(Demand(c, "a coefficient") for c in right.values())
    return Claim(
        over_all(fact.left, set(), **where), over_all(right, set(), **where), signs
    )


@rule(_ORDER)
def chain(fact: Fact, *others: Fact) -> Claim:
    """Replace moments on the right by bounds of them.

    Moments on the right of a fact replaced by bounds of them, one after the other; a
    coefficient must not be negative, save where the two are equal.
    """
    right, demands = dict(fact.right), []
    for by in others:
        ((moment, c),) = (
            by.left.items() if len(by.left) == 1 else ((one(""), sp.S.Zero),)
        )
        need(c == 1, "the left-hand side must be a single moment: {}", by)
        need(
            moment in right,
            "the left-hand side {} does not occur on the right-hand side of {}",
            moment,
            fact,
        )
        here = right.pop(moment)
        demands += (
            [] if by.equal else [Demand(here, f"replaces {moment} by a bound of it")]
        )
        right = form((right, 1), (by.right, here))
    return Claim(
        fact.left, right, tuple(demands), fact.equal and all(f.equal for f in others)
    )


@rule(_ORDER)
def weaken(fact: Fact, new: Mapping[Moment, Expr]) -> Claim:
    """Enlarge coefficients on the right.

    Larger coefficients on the right for moments that are not negative.
    """
    need(
        all(m.kind in ("sq", "root", "one") for m in new),
        "only squares, roots and constants are known to be nonnegative",
    )
    larger = {m: expression(c) for m, c in new.items()}
    demands = (
        Demand(c - fact.right.get(m, 0), f"enlarges the coefficient of {m}")
        for m, c in larger.items()
    )
    return Claim(fact.left, {**fact.right, **larger}, tuple(demands))


@rule(_ORDER)
def label(fact: Fact, name: str) -> Claim:
    """Collect the constants on the right under one name.

    The constants on the right under one name.
    """
    total = sp.Add(*(c for m, c in fact.right.items() if m.kind == "one"))
    rest = {m: c for m, c in fact.right.items() if m.kind != "one"}
    return Claim(fact.left, form((rest, 1), ({one(name): total}, 1)), equal=fact.equal)


@rule(_ORDER)
def add(weights: Iterable[Expr], *facts: Fact) -> Claim:
    """Add inequalities with weights that are not negative.

    From l_j <= r_j to sum_j c_j l_j <= sum_j c_j r_j, where no c_j is negative.
    """
    pairs = [(f, expression(c)) for c, f in zip(weights, facts, strict=True)]
    signs = tuple(Demand(c, "a weight of a fact") for _, c in pairs)
    return Claim(
        form(*((f.left, c) for f, c in pairs)),
        form(*((f.right, c) for f, c in pairs)),
        signs,
    )


@rule(_ORDER)
def solve(fact: Fact, left: Form | None = None, times: Expr | None = None) -> Claim:
    """Bring moments to the left-hand side.

    From l <= r to M <= M + c (r - l), c > 0: M one moment (that of l by default) and
    1/c what it has in l - r, or M and c as given.
    """
    wanted, rest = dict(left or fact.left), form((fact.right, 1), (fact.left, -1))
    if times is None:
        ((moment, number),) = wanted.items()
        need(
            number == 1 and moment in rest,
            "{} must have coefficient 1 and occur in {}",
            moment,
            fact,
        )
        share = -rest.pop(moment)
    else:
        share, rest = (
            1 / expression(times),
            form((rest, 1), (wanted, 1 / expression(times))),
        )
    return Claim(
        wanted,
        form((rest, 1 / share)),
        (Demand(share, f"divides by {share}", strict=True),),
    )


@rule(
    "Young's inequality, weighted (Cauchy-Schwarz): Hardy, Littlewood and Polya,"
    " Inequalities, 2.4"
)
def square(fact: Fact, weights: Mapping[Moment, Expr] | None = None) -> Claim:
    """Square an inequality of roots.

    root(U) <= sum_j c_j r_j gives sq(U) <= sum_j c_j^2 r_j^2/w_j for weights w_j > 0
    with sum at most 1.
    """
    left = single_moment(fact, "root")
    shares = dict(weights or dict.fromkeys(fact.right, sp.S.One))
    need(
        set(fact.right) <= set(shares),
        f"each of {', '.join(map(str, fact.right))} needs a weight",
    )
    need(
        all(m.kind in ("root", "one") for m in fact.right),
        "the right-hand side must be of roots: {}",
        fact,
    )
    right = form(
        *(({_kind(m, "sq"): c**2 / shares[m]}, sp.S.One) for m, c in fact.right.items())
    )
    return Claim({_kind(left, "sq"): sp.S.One}, right, young_weights(shares.values()))


def _kind(m: Moment, kind: str) -> Moment:
    return m if m.kind == "one" else replace(m, kind=kind)


@rule(
    "(a + b)^(1/2) <= a^(1/2) + b^(1/2): Hardy, Littlewood and Polya, Inequalities,"
    " 2.10"
)
def take_root(fact: Fact) -> Claim:
    """Take the root of an inequality of squares.

    sq(U) <= sum_j c_j r_j^2 gives root(U) <= sum_j c_j^(1/2) r_j.
    """
    left = single_moment(fact, "sq")
    need(
        all(m.kind in ("sq", "one") for m in fact.right),
        "the right-hand side must be of squares: {}",
        fact,
    )
    right = form(
        *(({_kind(m, "root"): sp.sqrt(c)}, sp.S.One) for m, c in fact.right.items())
    )
    signs = tuple(Demand(c, "a root of a coefficient") for c in fact.right.values())
    return Claim({_kind(left, "root"): sp.S.One}, right, signs)


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
