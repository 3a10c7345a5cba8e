"""Inequalities linear in moments, as declared proof steps claim them.

They have the two sides of a fact, so that the kernel's rules can read them, but they
are not facts: an author's claim is not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import sympy as sp

from dfltheory.bounds.real_numbers import need, real_expression, reality
from dfltheory.bounds.units import Expr
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.kernel import RULES
from dfltheory.proofs.moments import (
    Atom,
    Conclusion,
    Demand,
    Form,
    Moment,
    Vec,
    atom_text,
    combination,
    form,
    form_text,
    k,
    one,
)

ONE_MOMENT = one("")
"""The number 1, with which all constants are collected."""


@dataclass(frozen=True, eq=False)
class LinearFact:
    """An inequality ``left <= right``, or an equality if ``equal``.

    It holds where the ``demands`` hold, under the hypotheses that it ``uses``.
    """

    left: Form
    right: Form
    equal: bool = False
    demands: tuple[Demand, ...] = ()
    uses: frozenset[Hypothesis] = field(default_factory=frozenset)
    of: None = None

    def __str__(self) -> str:
        relation = "==" if self.equal else "<="
        return f"{form_text(self.left)} {relation} {form_text(self.right)}"

    @property
    def phases(self) -> set[str]:
        """The phase of the step k that it is about, if any."""
        sides = (*self.left.items(), *self.right.items())
        phases: set[str] = set()
        for moment, coefficient in sides:
            phases |= moment.phases
            if k in sp.sympify(coefficient).free_symbols:
                phases.add("")
        return phases

    def slacks(self) -> list[dict[Moment, Expr]]:
        """Return right - left, and of an equality its opposite: not negative."""
        slack = form((self.right, sp.S.One), (self.left, sp.S.NegativeOne))
        if not self.equal:
            return [slack]
        return [slack, form((slack, sp.S.NegativeOne))]

    def rewritten(
        self, moment: Callable[[Moment], Moment], coefficient: Callable[[Expr], Expr]
    ) -> LinearFact:
        """Return the same with other moments and coefficients; all constants as one."""

        def rewritten_side(side: Form) -> Form:
            terms = []
            for m, c in side.items():
                plain_moment = _without_sign_or_label(moment(m))
                terms.append((coefficient(sp.sympify(c)), plain_moment))
            return combination(*terms)

        left, right = rewritten_side(self.left), rewritten_side(self.right)
        demands = tuple(replace(d, expr=coefficient(d.expr)) for d in self.demands)
        return replace(self, left=left, right=right, demands=demands)


def _without_sign_or_label(moment: Moment) -> Moment:
    """Return a moment up to its sign, and the constant without its label."""
    if moment.kind == "one":
        return ONE_MOMENT
    if moment.kind in ("sq", "root") and _has_minus_sign(moment.vec):
        return replace(moment, vec=-moment.vec)
    return moment


def _has_minus_sign(vec: Vec) -> bool:
    """Return whether the last atom, by name, has a coefficient with a minus sign."""
    terms = sorted(vec.terms, key=_name_of_term)
    return bool(terms) and terms[-1][1].could_extract_minus_sign()


def _name_of_term(term: tuple[Atom, Expr]) -> str:
    return atom_text(term[0])


# -- moments of multiples of one vector


def scalings(moments: Iterable[Moment]) -> list[dict[Moment, Expr]]:
    """Return how moments of c U follow from those of U, as forms that are not negative.

    E||c U||^2 = c^2 E||U||^2, of roots with abs(c), of products with both factors.
    """
    nonnegative: list[dict[Moment, Expr]] = []
    for larger, smaller in combinations(dict.fromkeys(moments), 2):
        factor = _factor_between(larger, smaller)
        if factor is not None:
            difference = combination((1, larger), (-factor, smaller))
            nonnegative += [difference, form((difference, -1))]
    return nonnegative


def _factor_between(one_moment: Moment, other: Moment) -> Expr | None:
    """Return c with ``one_moment`` = c ``other``; None if it is not known."""
    if _taken(one_moment) != _taken(other):
        return None
    ratio = _ratio(one_moment.vec, other.vec)
    if ratio is None or (other.steps and k in ratio.free_symbols):
        return None
    match other.kind:
        case "sq":
            return ratio**2
        case "root":
            size = sp.Abs(ratio)
            return None if size.has(sp.Abs) else size
        case "inner":
            second = _ratio(one_moment.other, other.other)
            of_step = second is not None and other.steps and k in second.free_symbols
            return None if second is None or of_step else ratio * second
    return None


def _taken(moment: Moment) -> tuple[object, ...]:
    """Return how a moment is taken, whatever its vectors."""
    return moment.kind, moment.steps, moment.rounds, moment.weighted


def _ratio(one_vec: Vec, other: Vec) -> Expr | None:
    """Return c with ``one_vec`` = c ``other``; None if they are no multiples."""
    coefficients = dict(other.terms)
    if {atom for atom, _ in one_vec.terms} != set(coefficients):
        return None
    ratios = {sp.cancel(c / coefficients[atom]) for atom, c in one_vec.terms}
    return ratios.pop() if len(ratios) == 1 else None


def from_claim(name: str, claim: Conclusion, arguments: Iterable[object]) -> LinearFact:
    """Return what a rule states about its arguments.

    The demands and the hypotheses of the facts among them are kept.
    """
    listed = list(arguments)
    demands: dict[Demand, None] = {}
    uses = frozenset(RULES[name].uses)
    for argument in listed:
        if isinstance(argument, LinearFact):
            demands |= dict.fromkeys(argument.demands)
            uses |= argument.uses
    demands |= dict.fromkeys(claim.demands)
    for expr in sorted(_expressions(listed), key=str):
        for sign, strict in reality(real_expression(expr)):
            demands[Demand(sign, f"{expr} is a real number", strict)] = None
    open_demands = tuple(d for d in demands if not d.plain)
    fact = LinearFact(claim.left, claim.right, claim.equal, open_demands, uses)
    need(len(fact.phases) <= 1, "{}: the step k would belong to several phases", name)
    return fact


def _expressions(arguments: Iterable[object]) -> set[Expr]:
    """Return the formulas in arguments of a rule."""
    expressions: set[Expr] = set()
    for argument in arguments:
        if isinstance(argument, sp.Basic):
            expressions.add(sp.sympify(argument))
        elif isinstance(argument, Vec):
            expressions |= {c for _, c in argument.terms}
        elif isinstance(argument, (list, tuple)):
            expressions |= _expressions(argument)
        elif isinstance(argument, Mapping):
            expressions |= _expressions(argument.values())
    return expressions


__all__ = ["ONE_MOMENT", "LinearFact", "from_claim", "scalings"]
