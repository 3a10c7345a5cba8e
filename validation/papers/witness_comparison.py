"""Both readings of an erratum at its witness, in rational numbers where possible.

A test requires that the printed term contradicts the witness and that the corrected
term does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
from sympy.parsing.sympy_parser import (
    parse_expr,
    rationalize,
    standard_transformations,
)

from dfltheory.bounds.units import Expr
from validation.papers import statement
from validation.papers.erratum import Erratum
from validation.papers.lines import Side, refuted_lines, substituted
from validation.papers.witness import Witness

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Values = Mapping[str, Expr]
Row = tuple[Side, Side, Side]
"""Left side, printed and corrected right side."""
CLOSE = sp.Rational(1, 10)
"""Relative deviation up to which the relation ``~`` holds."""
GROWTH = 2
"""Least factor by which left/printed grows from one point of a family to the next."""


@dataclass(frozen=True)
class Comparison:
    """Both readings of a line at a witness.

    Attributes
    ----------
    rows : both readings for each point
    printed_holds, corrected_holds : whether each reading is true there
    exact : all values are rational or algebraic, none is in floating point
    """

    rows: tuple[Row, ...]
    printed_holds: bool
    corrected_holds: bool
    exact: bool


def compare(erratum: Erratum) -> Comparison:
    """Evaluate the printed and the corrected line of an erratum at its witness."""
    witness = erratum.witness
    if witness is None or witness.family:
        raise ValueError(f"{erratum.id} has no witness that a formula evaluates")
    if witness.line:
        return _line(erratum, witness)
    if witness.along:
        return _family(erratum, witness)
    (values,) = points(witness)
    left = evaluate(witness.left, values)
    if witness.claim:
        printed = bound_at(statement(witness.claim), values)
        corrected = bound_at(erratum.corrected_statement(witness.claim), values)
    else:
        printed = evaluate(witness.printed, values)
        corrected = evaluate(witness.corrected or witness.printed, values)
    return _compared(witness, values, (left, printed, corrected))


def points(witness: Witness) -> Iterator[dict[str, Expr]]:
    """Yield the values of a witness by name, for each point of its family."""
    count = max((len(values) for values in witness.along.values()), default=1)
    for index in range(count):
        values: dict[str, Expr] = {}
        for name, members in witness.along.items():
            values[name] = evaluate(members[index], values)
        for name, text in witness.at.items():
            values[name] = evaluate(text, values)
        yield values


def evaluate(text: str, values: Values) -> Expr:
    """Return the value of a formula."""
    return parse_expr(
        text.replace("^", "**"),
        local_dict=dict(values),
        transformations=(*standard_transformations, rationalize),
    )


def bound_at(theorem: Theorem, values: Mapping[str, object]) -> Expr:
    """Return the bound of a statement, by the names of its symbols."""
    return substituted(theorem.bound, values)


def _compared(
    witness: Witness, values: Values, sides: tuple[Expr, Expr, Expr]
) -> Comparison:
    """Compare the left side of a statement with its printed and its corrected side."""
    left, printed, corrected = sides
    corrected_left = left
    if witness.corrected_left:
        corrected_left = evaluate(witness.corrected_left, values)
    if witness.excluded_by:
        corrected_holds = not bool(evaluate(witness.excluded_by, values))
    else:
        corrected_holds = _holds(corrected_left, corrected, witness.relation)
    return Comparison(
        rows=((left, printed, corrected),),
        printed_holds=_holds(left, printed, witness.relation),
        corrected_holds=corrected_holds,
        exact=all(map(_exact, (*sides, corrected_left))),
    )


def _family(erratum: Erratum, witness: Witness) -> Comparison:
    """Return the comparison of a witness to a statement in O(.).

    left/printed grows, and left stays below the corrected expression or the correction
    excludes the family.
    """
    corrected = erratum.corrected_statement(witness.claim)
    members = list(points(witness))
    rows, ratios = [], []
    exact = True
    for values in members:
        left = evaluate(witness.left, values)
        printed = bound_at(statement(witness.claim), values)
        sides = (left, printed, bound_at(corrected, values))
        rows.append(sides)
        ratios.append(left / printed)
        exact &= all(map(_exact, sides))
    grows = all(after >= GROWTH * before for before, after in pairwise(ratios))
    if witness.excluded_by:
        allowed = [bool(evaluate(witness.excluded_by, values)) for values in members]
        corrected_holds = not any(allowed)
    else:
        corrected_holds = all(left <= right for left, _, right in rows)
    return Comparison(
        rows=tuple(rows),
        printed_holds=not grows,
        corrected_holds=corrected_holds,
        exact=exact,
    )


def _line(erratum: Erratum, witness: Witness) -> Comparison:
    """Return the comparison of a witness to a line of a proof."""
    lines = refuted_lines(erratum.paper)
    evaluation = lines.evaluate(witness.line)
    left, right = evaluation.left, evaluation.right
    if witness.line in lines.corrections:
        corrected_line = lines.evaluate_corrected(witness.line)
        sides_of_both = (left, corrected_line.left, corrected_line.right)
        return Comparison(
            rows=((left, right, corrected_line.right),),
            printed_holds=not evaluation.refuted,
            corrected_holds=not corrected_line.refuted,
            exact=all(map(_exact, sides_of_both)),
        )
    sides: dict[str, Expr] = {"left": sp.sympify(left), "right": sp.sympify(right)}
    arguments = lines.exact_arguments(witness.line)
    named = _named(arguments, f"{witness.corrected} {witness.excluded_by}")
    corrected = evaluate(witness.corrected or "right", sides | named)
    if witness.claim:
        theorem = erratum.corrected_statement(witness.claim)
        corrected = bound_at(theorem, _point(arguments))
    relation = "=" if evaluation.equality else witness.relation
    same = witness.model_copy(update={"relation": relation})
    return _compared(same, sides | named, (sides["left"], sides["right"], corrected))


def _point(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the point at which a line of two formulas is evaluated."""
    point = arguments.get("point", {})
    assert isinstance(point, dict)
    return point


def _named(arguments: Mapping[str, object], text: str) -> dict[str, Expr]:
    """Return the values of the names of a formula.

    They are arguments of a line, values of its point or attributes of its problem.
    """
    known = {**arguments, **_point(arguments)}
    problem = arguments.get("problem")
    values: dict[str, Expr] = {}
    for name in set(re.findall(r"[A-Za-z_]\w*", text)) - {"left", "right"}:
        value = known.get(name, getattr(problem, name, None))
        if value is not None:
            values[name] = sp.sympify(value)
    return values


def _holds(left: Expr, right: Expr, relation: str) -> bool:
    if relation == "=":
        return bool(sp.simplify(left - right) == 0)
    if relation == "~":
        return bool(abs(left - right) <= CLOSE * abs(right))
    return bool(left <= right)


def _exact(value: Side) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == object
    return not sp.sympify(value).has(sp.Float)


__all__ = ["Comparison", "Witness", "bound_at", "compare", "evaluate", "points"]
