"""Terms of a bound that vanish against the left-hand side along a change of units.

Under f -> c f, x -> s x, v -> r v with c = t^a, s = t^b, r = t^d a statement about all
problems turns into a statement about all problems, as long as its conditions still
hold. If no term outgrows the left-hand side, then for large t the terms that grow more
slowly vanish against it, and the statement must hold without them. These terms are
idle.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dfltheory.bounds.inequalities.by_form import nonnegative
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr, Unit, UnitInference
from dfltheory.checks.degrees import Degree

DIRECTIONS = [d for d in itertools.product((0, 1, -1, 2, -2), repeat=3) if any(d)]
"""The exponents (a, b, d) of t that are tried."""
IDLE_ROUNDING = 1e-9


def keeps_conditions(theorem: Theorem) -> NDArray[np.bool_] | None:
    """Return for each of :data:`DIRECTIONS` whether a problem stays in the scope.

    It does where conditions that hold go on to hold, and where quantities stay in their
    ranges.

    Returns
    -------
    array (directions,) or None
        None: it is unknown, since a condition adds different units.
    """
    scaling, degree = (
        UnitInference(_units(theorem)),
        Degree(_units(theorem), DIRECTIONS),
    )
    kept = np.ones(len(DIRECTIONS), dtype=bool)
    for name in theorem.needs:
        quantity = theorem.glossary[name]
        kept &= _stays_in_range(quantity, degree.of_unit(quantity.unit))
    for c in theorem.conditions:
        if c.left == 0 or c.right == 0:  # 0 has every unit
            continue
        left, right = (
            degree.of_unit(scaling.of(theorem.expand(side)))
            for side in (c.left, c.right)
        )
        kept &= left <= right + IDLE_ROUNDING
    return None if scaling.clashes else kept


def _stays_in_range(
    quantity: Quantity, growth: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return along which directions every value of a quantity stays in its range.

    A change of units moves the quantity, and not an end of its range, unless the end is
    0 or infinite.
    """
    may_grow = quantity.low in (0, -np.inf) or quantity.low > 0
    may_grow = may_grow and (quantity.high in (0, np.inf) or quantity.high < 0)
    may_shrink = quantity.low <= 0 <= quantity.high
    stays = np.ones(growth.shape, dtype=bool)
    if not may_grow:
        stays &= growth <= IDLE_ROUNDING
    if not may_shrink:
        stays &= growth >= -IDLE_ROUNDING
    return stays


@dataclass(frozen=True, eq=False)
class _Summand:
    """Summands of a bound with one unit.

    Attributes
    ----------
    parts : the named terms that contain one of them
    growth : the growth of their sum along each direction
    positive : is none of them negative?
    """

    parts: frozenset[str]
    growth: NDArray[np.float64]
    positive: bool


def parts_with_idle_terms(theorem: Theorem) -> frozenset[str]:
    """Return the named terms of a bound with an idle summand of a wrong unit.

    Empty for O(.), which may hide constants with units, and for definitions, which
    claim nothing. A summand of a lower bound counts if it outgrows the left-hand side:
    then the statement is false. Nothing is claimed along directions in which a summand
    vanishes that may be negative: it could depend on the others.
    """
    if theorem.order or theorem.kind == "definition" or _is_invariant(theorem):
        return frozenset()
    kept = keeps_conditions(theorem)
    if kept is None:
        return frozenset()
    wanted = Degree(_units(theorem), DIRECTIONS).of_unit(theorem.lhs.unit)
    summands = list(_summands(theorem))
    if theorem.kind == "lower bound":
        return _outgrowing_parts(summands, kept, wanted)
    for summand in summands:
        kept = kept & (summand.growth <= wanted + IDLE_ROUNDING)
        if not summand.positive:
            kept = kept & (summand.growth >= wanted - IDLE_ROUNDING)
    parts: set[str] = set()
    for summand in summands:
        if (kept & (summand.growth < wanted - IDLE_ROUNDING)).any():
            parts |= summand.parts
    return frozenset(parts)


def _outgrowing_parts(
    summands: list[_Summand], kept: NDArray[np.bool_], wanted: NDArray[np.float64]
) -> frozenset[str]:
    """Return the terms of a lower bound that outgrow the left-hand side.

    The result is empty if a summand may be negative, and compensate the others.
    """
    parts: set[str] = set()
    if all(summand.positive for summand in summands):
        for summand in summands:
            if (kept & (summand.growth > wanted + IDLE_ROUNDING)).any():
                parts |= summand.parts
    return frozenset(parts)


def _summands(theorem: Theorem) -> Iterator[_Summand]:
    """Yield the summands of a bound.

    Summands of one unit are yielded together, unless they cancel. Those without a unit,
    such as sqrt(L + 1), are yielded piece by piece.
    """
    degree, scaling = (
        Degree(_units(theorem), DIRECTIONS),
        UnitInference(_units(theorem)),
    )
    by_unit: dict[Unit, list[Expr]] = {}
    parts: dict[Unit, set[str]] = {}
    units: dict[str, set[Unit]] = {}
    for name, term in theorem.terms.items():
        for summand in sp.Add.make_args(sp.expand(term)):
            unit = scaling.of(summand)
            if scaling.clashes:
                scaling.clashes.clear()
                positive = not summand.could_extract_minus_sign()
                for piece in _pieces(summand):
                    yield _Summand(frozenset({name}), degree.of(piece), positive)
            else:
                by_unit.setdefault(unit, []).append(summand)
                parts.setdefault(unit, set()).add(name)
                units.setdefault(name, set()).add(unit)
    for unit, together in by_unit.items():
        left = [x for x in sp.Add.make_args(sp.Add(*together)) if x != 0]
        if left:
            whole = all(units[name] == {unit} for name in parts[unit])
            positive = not any(x.could_extract_minus_sign() for x in left) or (
                whole and _are_nonnegative(theorem, parts[unit])
            )
            yield _Summand(frozenset(parts[unit]), degree.of_unit(unit), positive)


def _are_nonnegative(theorem: Theorem, names: Iterable[str]) -> bool:
    """Return whether the form of named terms shows that none is negative.

    A factor 1 - 1/K is not, although its last summand is.
    """
    return all(nonnegative(theorem.terms[name], theorem.glossary) for name in names)


def _units(theorem: Theorem) -> dict[str, Unit]:
    return {name: q.unit for name, q in theorem.glossary.items()}


def _is_invariant(theorem: Theorem) -> bool:
    """Return whether all terms have the unit of the left-hand side."""
    scaling = UnitInference(_units(theorem))
    units = {scaling.of(term) for term in theorem.terms.values() if term != 0}
    return not scaling.clashes and units <= {theorem.lhs.unit}


def _pieces(expr: Expr) -> Iterator[Expr]:
    """Yield expressions whose sum is as large as ``expr``, up to a numerical factor.

    Of sqrt(x + y) the pieces are sqrt(x) and sqrt(y), and of max(x, y) they are x and
    y.
    """
    if isinstance(expr, sp.Add | sp.Max):
        for argument in expr.args:
            yield from _pieces(argument)
    elif isinstance(expr, sp.Pow) and expr.exp.is_Rational and expr.exp > 0:
        for piece in _pieces(expr.base):
            yield piece**expr.exp
    elif isinstance(expr, sp.Mul):
        for factors in itertools.product(
            *(tuple(_pieces(factor)) for factor in expr.args)
        ):
            yield sp.Mul(*factors)
    else:
        yield expr


__all__ = ["DIRECTIONS", "IDLE_ROUNDING", "keeps_conditions", "parts_with_idle_terms"]
